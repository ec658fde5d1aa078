//! The five steps in plain Rust, on one thread. The benchmark compares their times with those of the kernels, and the
//! simulation runs them if there is no OpenCL.
//!
//! Points are three floats each, skinned vertices six: position and normal.

use super::geometry::{Point, add, cross, dot, scale, sub};
use super::model::{BONES, BodyVertex, COLUMNS, Constraint, Figure, ROWS, SHIRT_VERTICES, VERTEX_COLUMNS};
use super::steps::StepId;
use base::threads::share;

/// The number of passes over all constraints in a time step.
pub(super) const ITERATIONS: usize = 4;
/// The longest distance by which a particle moves in a step, in metres.
pub(super) const MAX_MOVE: f32 = 0.25;
/// The distance that cloth keeps from the body, in metres.
pub(super) const GAP: f32 = 0.004;
/// The number of floats in the pose of a character.
pub(super) const POSE_FLOATS: usize = BONES * 12;
/// The number of floats in a vertex for OpenGL: position, normal, u, v.
pub(super) const VERTEX_FLOATS: usize = 8;

/// The forces on all particles in a time step, as movements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motion {
    /// The part of the last step's movement that is repeated, corrected for the lengths of both steps, and damped.
    pub carry: f32,
    /// The movement along y by gravity, in metres.
    pub fall: f32,
    /// The centre of the drag in metres, followed by 1 divided by the square of the drag's radius.
    pub at: [f32; 4],
    /// The movement of particles at the centre of the drag, in metres; the last number is 0.
    pub pull: [f32; 4],
}

/// Returns the point with the index `at` in a flat array of coordinates.
fn point(points: &[f32], at: usize) -> Point {
    [points[3 * at], points[3 * at + 1], points[3 * at + 2]]
}

/// Sets the point with the index `at` in a flat array of coordinates.
fn set_point(to: &mut [f32], at: usize, point: Point) {
    to[3 * at..3 * at + 3].copy_from_slice(&point);
}

/// Transforms vertices by the weighted matrices of their bones. Each vertex in `skinned` has a position and a normal.
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

/// Moves particles by their speed, gravity and the drag: time-corrected Verlet (J. Dummer, "A Simple Time-Corrected Verlet
/// Integration Method", 2005).
pub(super) fn integrate(positions: &[f32], previous: &[f32], motion: &Motion, moved: &mut [f32]) {
    let Motion { carry, fall, at: [ax, ay, az, sharp], pull: [px, py, pz, _] } = *motion;
    for i in 0..positions.len() / 3 {
        let p = point(positions, i);
        let mut step = scale(sub(p, point(previous, i)), carry);
        step[1] += fall;
        let square = dot(step, step);
        if square > MAX_MOVE * MAX_MOVE {
            step = scale(step, MAX_MOVE / square.sqrt());
        }
        let off = sub(p, [ax, ay, az]);
        let near = 1.0 - dot(off, off) * sharp;
        if near > 0.0 {
            step = add(step, scale([px, py, pz], near));
        }
        set_point(moved, i, add(p, step));
    }
}

/// Moves each pair of constrained particles to the distance that they have at rest, one pair after the other (T. Jakobsen,
/// "Advanced Character Physics", 2001).
pub(super) fn distances(constraints: &[Constraint], positions: &mut [f32]) {
    for _ in 0..ITERATIONS {
        for c in constraints {
            let (a, b) = (point(positions, c.a as usize), point(positions, c.b as usize));
            let between = sub(b, a);
            let error = 1.0 - c.rest / dot(between, between).max(1e-12).sqrt();
            set_point(positions, c.a as usize, add(a, scale(between, error * c.shares[0])));
            set_point(positions, c.b as usize, sub(b, scale(between, error * c.shares[1])));
        }
    }
}

/// Keeps particles outside the body and within reach of their drivers, the points of the body's surface that they follow.
/// `drivers` has the position and the normal of each driver after skinning, `reach` the greatest distance of each particle from
/// its driver.
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
        set_point(p, 0, add(at, off));
    }
}

pub(super) fn write_shirt(positions: &[f32], vertices: &mut [f32]) {
    for (v, to) in vertices.chunks_exact_mut(VERTEX_FLOATS).take(SHIRT_VERTICES).enumerate() {
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

pub(super) fn write_body(skinned: &[f32], body: &[BodyVertex], vertices: &mut [f32]) {
    for ((from, v), to) in skinned.chunks_exact(6).zip(body).zip(vertices.chunks_exact_mut(VERTEX_FLOATS)) {
        to[..6].copy_from_slice(from);
        to[6..].copy_from_slice(&v.uv[..2]);
    }
}

/// The inputs of the simulation steps: those of one character, or of several characters of the same figure, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Characters<'a> {
    pub figure: &'a Figure,
    /// The vertices that are skinned: first those of the body, then the drivers.
    pub points: &'a [BodyVertex],
    pub motion: &'a Motion,
    /// The poses, the positions, the previous positions, and the skinned vertices.
    pub inputs: [&'a [f32]; 4],
}

impl<'a> Characters<'a> {
    /// Returns the inputs of one of `army` characters.
    pub(super) fn one(&self, character: usize, army: usize) -> Self {
        let of_one = |all: &'a [f32]| {
            let each = all.len() / army;
            &all[each * character..][..each]
        };
        Self { inputs: self.inputs.map(of_one), ..*self }
    }

    /// Runs a step of `army` characters on `threads` threads, or all steps in a row if `step` is `None`. In an output of
    /// vertices, all shirts come before the bodies.
    pub(super) fn run(&self, step: Option<StepId>, (army, threads): (usize, usize), output: &mut [f32]) {
        let is_vertices = matches!(step, Some(StepId::Write) | None);
        let shirts = if is_vertices { army * SHIRT_VERTICES * VERTEX_FLOATS } else { output.len() };
        let (first, second) = output.split_at_mut(shirts);
        let first = first.chunks_exact_mut(shirts / army);
        // Only an output of vertices has a second part.
        let mut second = second.chunks_exact_mut(self.figure.body.vertices.len() * VERTEX_FLOATS);
        let second = std::iter::repeat_with(move || second.next().unwrap_or_default());
        share((0..army).zip(first.zip(second)), threads, |(character, (first, second))| {
            self.one(character, army).run_one(step, first, second);
        });
    }

    /// Runs a step of one character, or all steps in a row, and writes the output to `first`. In an output of vertices, `first`
    /// receives those of the shirt and `second` those of the body.
    fn run_one(&self, step: Option<StepId>, first: &mut [f32], second: &mut [f32]) {
        let Self { points, motion, inputs: [pose, positions, previous, skinned], .. } = *self;
        let Figure { body, shirt } = self.figure;
        let drivers = 6 * body.vertices.len();
        match step {
            Some(StepId::Skin) => skin(points, pose, first),
            Some(StepId::Integrate) => integrate(positions, previous, motion, first),
            Some(StepId::Distances) => {
                first.copy_from_slice(positions);
                distances(&shirt.constraints, first);
            }
            Some(StepId::Drive) => {
                first.copy_from_slice(positions);
                drive(first, &skinned[drivers..], &shirt.reach);
            }
            Some(StepId::Write) => {
                write_shirt(positions, first);
                write_body(&skinned[..drivers], &body.vertices, second);
            }
            None => {
                let (mut skinned, mut moved) = (vec![0.0; skinned.len()], vec![0.0; positions.len()]);
                skin(points, pose, &mut skinned);
                integrate(positions, previous, motion, &mut moved);
                distances(&shirt.constraints, &mut moved);
                drive(&mut moved, &skinned[drivers..], &shirt.reach);
                write_shirt(&moved, first);
                write_body(&skinned[..drivers], &body.vertices, second);
            }
        }
    }
}
