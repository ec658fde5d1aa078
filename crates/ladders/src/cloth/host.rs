//! The five steps in plain Rust, one thread, one number after the other. In: a character's arrays. Out: the step's output.
//!
//! Points are three floats each, skinned vertices six: position and normal. It is what kernels are compared in speed with,
//! and what takes the place of a step where there is no OpenCL.

use super::geometry::{Point, add, cross, dot, scale, sub};
use super::model::{BONES, BodyVertex, COLUMNS, Constraint, PARTICLES, ROWS, SHIRT_VERTICES, VERTEX_COLUMNS};

/// How often all constraints are gone through in a frame.
pub(super) const ITERATIONS: usize = 4;
/// No particle moves further in a step, in metres.
pub(super) const FURTHEST: f32 = 0.25;
/// Cloth stays so far outside the body, in metres.
pub(super) const GAP: f32 = 0.004;
/// Floats of a character's pose.
pub(super) const POSE: usize = BONES * 12;
/// Floats of an OpenGL vertex: position, normal, u, v.
pub(super) const VERTEX: usize = 8;

/// What moves all particles in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motion {
    /// How much of the way of the step before is gone once more: time-corrected and damped.
    pub carry: f32,
    /// What gravity adds to y, in metres.
    pub fall: f32,
    /// Where the cloth is dragged, and one over the square of the drag's radius.
    pub at: [f32; 4],
    /// How far what is there is pulled, in metres; the last number is 0.
    pub pull: [f32; 4],
}

fn point(of: &[f32], at: usize) -> Point {
    [of[3 * at], of[3 * at + 1], of[3 * at + 2]]
}

fn put(to: &mut [f32], at: usize, point: Point) {
    to[3 * at..3 * at + 3].copy_from_slice(&point);
}

/// Moves vertices by their bones.
pub(super) fn skin(vertices: &[BodyVertex], pose: &[f32], skinned: &mut [f32]) {
    for (v, to) in vertices.iter().zip(skinned.chunks_exact_mut(6)) {
        let mut m = [0.0; 12];
        for (bone, weight) in v.bones.iter().zip(v.weights) {
            if weight == 0.0 {
                continue;
            }
            let bone = &pose[*bone as usize * 12..][..12];
            for (sum, x) in m.iter_mut().zip(bone) {
                *sum += weight * x;
            }
        }
        let ([x, y, z, _], [nx, ny, nz, _]) = (v.position, v.normal);
        let position = [0, 4, 8].map(|row| m[row] * x + m[row + 1] * y + m[row + 2] * z + m[row + 3]);
        let normal = [0, 4, 8].map(|row| m[row] * nx + m[row + 1] * ny + m[row + 2] * nz);
        let normal = scale(normal, 1.0 / dot(normal, normal).max(1e-20).sqrt());
        to[..3].copy_from_slice(&position);
        to[3..].copy_from_slice(&normal);
    }
}

/// Moves particles as they moved before, and by gravity: time-corrected Verlet (J. Dummer, "A Simple Time-Corrected Verlet
/// Integration Method", 2005).
pub(super) fn integrate(positions: &[f32], previous: &[f32], motion: &Motion, moved: &mut [f32]) {
    let Motion { carry, fall, at: [ax, ay, az, sharp], pull: [px, py, pz, _] } = *motion;
    for i in 0..PARTICLES {
        let p = point(positions, i);
        let mut step = scale(sub(p, point(previous, i)), carry);
        step[1] += fall;
        let square = dot(step, step);
        if square > FURTHEST * FURTHEST {
            step = scale(step, FURTHEST / square.sqrt());
        }
        let off = sub(p, [ax, ay, az]);
        let near = 1.0 - dot(off, off) * sharp;
        if near > 0.0 {
            step = add(step, scale([px, py, pz], near));
        }
        put(moved, i, add(p, step));
    }
}

/// Brings neighbours to their distances, one pair after the other (T. Jakobsen, "Advanced Character Physics", 2001).
pub(super) fn distances(constraints: &[Constraint], positions: &mut [f32]) {
    for _ in 0..ITERATIONS {
        for c in constraints {
            let (a, b) = (point(positions, c.a as usize), point(positions, c.b as usize));
            let between = sub(b, a);
            let error = 1.0 - c.rest / dot(between, between).max(1e-12).sqrt();
            put(positions, c.a as usize, add(a, scale(between, error * c.shares[0])));
            put(positions, c.b as usize, sub(b, scale(between, error * c.shares[1])));
        }
    }
}

/// Keeps particles outside the body and within reach of their drivers: `drivers` are their skinned vertices.
pub(super) fn drive(positions: &mut [f32], drivers: &[f32], reach: &[f32]) {
    for ((p, driver), reach) in positions.chunks_exact_mut(3).zip(drivers.chunks_exact(6)).zip(reach) {
        let (at, normal) = (point(driver, 0), point(driver, 1));
        let mut off = sub(point(p, 0), at);
        let inside = dot(off, normal) - GAP;
        if inside < 0.0 {
            off = sub(off, scale(normal, inside));
        }
        let far = dot(off, off).sqrt();
        if far > *reach {
            off = scale(off, reach / far);
        }
        put(p, 0, add(at, off));
    }
}

/// The shirt's vertices with their normals.
pub(super) fn write_shirt(positions: &[f32], vertices: &mut [f32]) {
    for (v, to) in vertices.chunks_exact_mut(VERTEX).take(SHIRT_VERTICES).enumerate() {
        let (row, along) = (v / VERTEX_COLUMNS, v % VERTEX_COLUMNS);
        let column = along % COLUMNS;
        let at = |row: usize, column: usize| point(positions, row * COLUMNS + column);
        let downward = sub(at((row + 1).min(ROWS - 1), column), at(row.saturating_sub(1), column));
        let sideward = sub(at(row, (column + 1) % COLUMNS), at(row, (column + COLUMNS - 1) % COLUMNS));
        let normal = cross(downward, sideward);
        let normal = scale(normal, 1.0 / dot(normal, normal).max(1e-20).sqrt());
        to[..3].copy_from_slice(&at(row, column));
        to[3..6].copy_from_slice(&normal);
        to[6] = along as f32 / COLUMNS as f32;
        to[7] = row as f32 / (ROWS - 1) as f32;
    }
}

/// The body's vertices.
pub(super) fn write_body(skinned: &[f32], body: &[BodyVertex], vertices: &mut [f32]) {
    for ((from, v), to) in skinned.chunks_exact(6).zip(body).zip(vertices.chunks_exact_mut(VERTEX)) {
        to[..6].copy_from_slice(from);
        to[6..].copy_from_slice(&v.uv[..2]);
    }
}
