//! The reference for the cloth ladder: the five steps of one character in double precision, written independently of the
//! kernels.

use super::host::{Characters, ITERATIONS, Motion};
use super::model::{BodyVertex, COLUMNS, Figure, ROWS, Shirt};
use super::steps::StepId;

type Vector = [f64; 3];

fn vectors(numbers: &[f32]) -> Vec<Vector> {
    numbers.chunks_exact(3).map(|p| [f64::from(p[0]), f64::from(p[1]), f64::from(p[2])]).collect()
}

/// Returns the vector of the results of `with` for each pair of components of `a` and `b`.
fn combine(a: Vector, b: Vector, with: impl Fn(f64, f64) -> f64) -> Vector {
    [with(a[0], b[0]), with(a[1], b[1]), with(a[2], b[2])]
}

fn length(a: Vector) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn dot(a: Vector, b: Vector) -> f64 {
    combine(a, b, |a, b| a * b).iter().sum()
}

/// Returns the position and the normal of each vertex after skinning.
fn skin(vertices: &[BodyVertex], pose: &[f32]) -> Vec<[Vector; 2]> {
    let one = |v: &BodyVertex| {
        let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
        for n in 0..4 {
            let (bone, weight) = (v.bones[n] as usize, f64::from(v.weights[n]));
            for row in 0..3 {
                let m: [f64; 4] = std::array::from_fn(|k| f64::from(pose[bone * 12 + row * 4 + k]));
                let times = |of: [f32; 4]| (0..4).map(|k| m[k] * f64::from(of[k])).sum::<f64>();
                position[row] += weight * times(v.position);
                normal[row] += weight * times(v.normal);
            }
        }
        let long = length(normal).max(1e-10);
        [position, normal.map(|x| x / long)]
    };
    vertices.iter().map(one).collect()
}

/// Returns the new positions of the particles after time-corrected Verlet integration.
fn integrate(positions: &[Vector], previous: &[Vector], motion: &Motion) -> Vec<Vector> {
    let [ax, ay, az, sharp] = motion.at.map(f64::from);
    let [px, py, pz, _] = motion.pull.map(f64::from);
    let one = |(p, before): (&Vector, &Vector)| {
        let mut step = combine(*p, *before, |p, before| (p - before) * f64::from(motion.carry));
        step[1] += f64::from(motion.fall);
        let shorter = (0.25 / length(step).max(1e-10)).min(1.0);
        let near = (1.0 - length(combine(*p, [ax, ay, az], |p, at| p - at)).powi(2) * sharp).max(0.0);
        let pulled = combine(step, [px, py, pz], |step, pull| step * shorter + pull * near);
        combine(*p, pulled, |p, step| p + step)
    };
    positions.iter().zip(previous).map(one).collect()
}

/// Returns the positions of the particles after all constraints were applied in order, [`ITERATIONS`] times.
fn distances(shirt: &Shirt, mut points: Vec<Vector>) -> Vec<Vector> {
    for c in (0..ITERATIONS).flat_map(|_| &shirt.constraints) {
        let (a, b) = (points[c.a as usize], points[c.b as usize]);
        let between = combine(b, a, |b, a| b - a);
        let error = 1.0 - f64::from(c.rest) / length(between).max(1e-6);
        let [to_a, to_b] = c.shares.map(|share| f64::from(share) * error);
        points[c.a as usize] = combine(a, between, |a, d| a + d * to_a);
        points[c.b as usize] = combine(b, between, |b, d| b - d * to_b);
    }
    points
}

/// Returns the positions of the particles after they were moved outside the body, and within reach of their drivers (the points
/// of the body's surface that they follow).
fn drive(points: &[Vector], drivers: &[[Vector; 2]], reach: &[f32]) -> Vec<Vector> {
    let one = |((p, [at, normal]), reach): ((&Vector, &[Vector; 2]), &f32)| {
        let off = combine(*p, *at, |p, at| p - at);
        let inside = (dot(off, *normal) - 0.004).min(0.0);
        let off = combine(off, *normal, |off, n| off - n * inside);
        let shorter = (f64::from(*reach) / length(off).max(1e-10)).min(1.0);
        combine(*at, off, |at, off| at + off * shorter)
    };
    points.iter().zip(drivers).zip(reach).map(one).collect()
}

/// Returns the vertices of a shirt whose particles are at `points`, as a flat array of eight numbers for each vertex: position,
/// normal, u, v.
fn write_shirt(points: &[Vector]) -> Vec<f32> {
    let mut numbers = Vec::new();
    for (row, along) in (0..ROWS).flat_map(|row| (0..=COLUMNS).map(move |along| (row, along))) {
        let of = |row: usize, column: usize| points[row * COLUMNS + column % COLUMNS];
        let below = if row + 1 == ROWS { row } else { row + 1 };
        let above = if row == 0 { 0 } else { row - 1 };
        let d = combine(of(below, along), of(above, along), |a, b| a - b);
        let s = combine(of(row, along + 1), of(row, along + COLUMNS - 1), |a, b| a - b);
        let normal = [d[1] * s[2] - d[2] * s[1], d[2] * s[0] - d[0] * s[2], d[0] * s[1] - d[1] * s[0]];
        let long = length(normal).max(1e-10);
        numbers.extend(of(row, along).map(|x| x as f32));
        numbers.extend(normal.map(|x| (x / long) as f32));
        numbers.extend([along as f32 / COLUMNS as f32, row as f32 / (ROWS - 1) as f32]);
    }
    numbers
}

/// Returns the vertices of the body from its skinned positions and normals, as a flat array of eight numbers for each vertex:
/// position, normal, u, v.
fn write_body(skinned: &[[Vector; 2]], body: &[BodyVertex]) -> Vec<f32> {
    let one = |([position, normal], v): (&[Vector; 2], &BodyVertex)| {
        let [x, y, z] = position.map(|x| x as f32);
        let [nx, ny, nz] = normal.map(|x| x as f32);
        [x, y, z, nx, ny, nz, v.uv[0], v.uv[1]]
    };
    skinned.iter().zip(body).flat_map(one).collect()
}

fn floats(points: &[Vector]) -> Vec<f32> {
    points.iter().flatten().map(|x| *x as f32).collect()
}

/// Returns the expected output of a step, or of all steps in a row if `step` is `None`. An output of vertices has two parts:
/// those of the shirt, and those of the body.
pub(super) fn expected(step: Option<StepId>, character: &Characters) -> [Vec<f32>; 2] {
    let Characters { points, motion, inputs: [pose, positions, previous, skinned], .. } = *character;
    let Figure { body, shirt } = character.figure;
    let (positions, previous, count) = (vectors(positions), vectors(previous), body.vertices.len());
    let skinned = || vectors(skinned).chunks_exact(2).map(|both| [both[0], both[1]]).collect::<Vec<_>>();
    let write = |points: &[Vector], skinned: &[[Vector; 2]]| {
        [write_shirt(points), write_body(&skinned[..count], &body.vertices)]
    };
    let points = match step {
        Some(StepId::Skin) => skin(points, pose).into_iter().flatten().collect(),
        Some(StepId::Integrate) => integrate(&positions, &previous, motion),
        Some(StepId::Distances) => distances(shirt, positions),
        Some(StepId::Drive) => drive(&positions, &skinned()[count..], &shirt.reach),
        Some(StepId::Write) => return write(&positions, &skinned()),
        None => {
            let skinned = skin(points, pose);
            let moved = distances(shirt, integrate(&positions, &previous, motion));
            return write(&drive(&moved, &skinned[count..], &shirt.reach), &skinned);
        }
    };
    [floats(&points), Vec::new()]
}
