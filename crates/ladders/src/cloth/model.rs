//! A figure and its shirt, all made by rules. Out: the body's vertices with their weights, and the cloth's particles, constraints
//! and triangles.
//!
//! Units: metres and seconds, y upward. The figure stands on y = 0, is 1.8 high, and looks along +z.

use std::f32::consts::TAU;
use std::ops::Range;

use super::geometry::{Point, add, cross, normal_or_up, scale, sub, triangles};
use super::shirt;
use super::thin::Tube;
pub(crate) use super::walk::Walk;
pub use super::walk::{APART, SPEED, army};

/// Particles round the torso. The first column runs down the back, the next ones come by the side with negative x.
pub const COLUMNS: usize = 40;
/// Particles from the collar down to the hem.
pub(crate) const ROWS: usize = 25;
/// Particles of a shirt: row after row, the collar first.
pub const PARTICLES: usize = COLUMNS * ROWS;
/// Vertices of a shirt's row: the first particle once more at its end, with the picture's other edge.
pub const VERTEX_COLUMNS: usize = COLUMNS + 1;
/// Vertices of a shirt, row after row.
pub const SHIRT_VERTICES: usize = VERTEX_COLUMNS * ROWS;
/// Bones of a figure.
pub(crate) const BONES: usize = 14;

pub(super) const HIPS: u32 = 0;
pub(super) const SPINE: u32 = 1;
pub(super) const CHEST: u32 = 2;
pub(super) const HEAD: u32 = 3;
/// The first bone of the arm on the left of the picture (0) and on its right (1): upper arm, then forearm.
pub(super) const ARMS: [u32; 2] = [4, 6];
/// The first bone of each leg: thigh, shin, foot.
pub(super) const LEGS: [u32; 2] = [8, 11];

/// A vertex of the body, 80 bytes: where it is when no bone has moved, and the bones that move it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyVertex {
    /// Metres; the last number is 1.
    pub position: [f32; 4],
    /// Of length 1; the last number is 0.
    pub normal: [f32; 4],
    /// How much each bone counts; the sum is 1.
    pub weights: [f32; 4],
    /// The bones.
    pub bones: [u32; 4],
    /// u, v, 0, 0. The whole part of v is what the body is made of there: 0 trousers, 1 skin, 2 the head, 3 shoes, 4 the shirt's
    /// sleeves.
    pub uv: [f32; 4],
}

/// Two particles and their distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraint {
    /// One of them.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// Their distance at rest, in metres.
    pub rest: f32,
    /// Which part of the error moves `a`, and which `b`; 0 for what is pinned.
    pub shares: [f32; 2],
}

/// The body without its shirt.
#[derive(Debug, Clone)]
pub struct Body {
    /// Its vertices.
    pub vertices: Vec<BodyVertex>,
    /// Triangles, three vertices each, counter-clockwise seen from outside.
    pub indices: Vec<u32>,
    /// What it is made of.
    pub tubes: Vec<Tube>,
}

/// A shirt.
#[derive(Debug, Clone)]
pub struct Shirt {
    /// Where its particles are at rest, round a body on which no bone has moved.
    pub rest: Vec<[f32; 3]>,
    /// The point of the body's surface that drives each particle.
    pub drivers: Vec<BodyVertex>,
    /// How far each particle may be from its driver, in metres; 0 is pinned.
    pub reach: Vec<f32>,
    /// All constraints, one colour after the other.
    pub constraints: Vec<Constraint>,
    /// Where each colour's constraints stand: no two of them share a particle.
    pub colours: Vec<Range<usize>>,
    /// u and v of the vertices. u runs once round the torso and is 0.5 in the middle of the chest, v runs downward.
    pub uv: Vec<[f32; 2]>,
    /// Triangles of the vertices, counter-clockwise seen from outside.
    pub indices: Vec<u32>,
}

/// A figure and its shirt.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The body.
    pub body: Body,
    /// The shirt.
    pub shirt: Shirt,
}

impl Figure {
    /// Makes it, the same each time.
    pub fn new() -> Self {
        Self { body: body(), shirt: shirt::new() }
    }
}

impl Default for Figure {
    fn default() -> Self {
        Self::new()
    }
}

/// Half the torso's width and depth at a height, from the collar down.
const PROFILE: [[f32; 3]; 10] = [
    [1.475, 0.085, 0.072],
    [1.455, 0.125, 0.085],
    [1.425, 0.165, 0.100],
    [1.360, 0.182, 0.118],
    [1.260, 0.172, 0.122],
    [1.150, 0.152, 0.108],
    [1.060, 0.146, 0.102],
    [0.960, 0.165, 0.118],
    [0.880, 0.172, 0.124],
    [0.820, 0.168, 0.120],
];

/// Height, half width and half depth at a part of the way from the collar to the hem, along the surface.
pub(super) fn profile(part: f32) -> [f32; 3] {
    let length = |pair: &[[f32; 3]]| (pair[0][0] - pair[1][0]).hypot(pair[0][1] - pair[1][1]);
    let whole: f32 = PROFILE.windows(2).map(length).sum();
    let mut left = part * whole;
    for pair in PROFILE.windows(2) {
        let here = length(pair);
        if left <= here {
            return std::array::from_fn(|at| pair[0][at] + (pair[1][at] - pair[0][at]) * left / here);
        }
        left -= here;
    }
    PROFILE[PROFILE.len() - 1]
}

/// A point round the torso: 0 is the back, then the side with negative x.
pub(super) fn round(turn: f32, [y, width, depth]: [f32; 3]) -> Point {
    let (sin, cos) = (turn * TAU).sin_cos();
    [-sin * width, y, -cos * depth]
}

/// The bones along the spine that move what is at this height.
fn spine(y: f32) -> [(u32, f32); 2] {
    const BETWEEN: [(u32, f32); 4] = [(HIPS, 0.90), (SPINE, 1.08), (CHEST, 1.30), (HEAD, 1.56)];
    for pair in BETWEEN.windows(2) {
        let ((lower, from), (upper, to)) = (pair[0], pair[1]);
        if y < to {
            let part = ((y - from) / (to - from)).clamp(0.0, 1.0);
            let part = part * part * (3.0 - 2.0 * part);
            return [(lower, 1.0 - part), (upper, part)];
        }
    }
    [(HEAD, 1.0), (HIPS, 0.0)]
}

/// The torso's bones at a point; at the shoulders the arms take part, at the hem the thighs, so that they keep the shirt away.
pub(super) fn torso(point: Point) -> [(u32, f32); 4] {
    // From the hip on they move as the thighs do, which lie within them.
    let leg = ((0.99 - point[1]) / 0.09).clamp(0.0, 1.0);
    if leg > 0.0 {
        let right = (0.5 + point[0] / 0.16).clamp(0.0, 1.0);
        let [lower, upper] = spine(point[1]).map(|(bone, weight)| (bone, weight * (1.0 - leg)));
        return [lower, upper, (LEGS[0], leg * (1.0 - right)), (LEGS[1], leg * right)];
    }
    let side = usize::from(point[0] > 0.0);
    let near = ((point[0].abs() - 0.11) / 0.07).clamp(0.0, 1.0);
    let high = (1.0 - (point[1] - 1.40).abs() / 0.08).clamp(0.0, 1.0);
    let arm = 0.25 * near * high;
    let [lower, upper] = spine(point[1]).map(|(bone, weight)| (bone, weight * (1.0 - arm)));
    [lower, upper, (ARMS[side], arm), (HIPS, 0.0)]
}

pub(super) fn vertex(point: Point, bones: [(u32, f32); 4], uv: [f32; 2]) -> BodyVertex {
    BodyVertex {
        position: [point[0], point[1], point[2], 1.0],
        normal: [0.0; 4],
        weights: bones.map(|(_, weight)| weight),
        bones: bones.map(|(bone, _)| bone),
        uv: [uv[0], uv[1], 0.0, 0.0],
    }
}

/// A ring of a limb: its middle, half width and depth.
type Ring = (Point, [f32; 2]);

impl Body {
    /// Adds a tube through these rings, from above downward, with so many vertices round, each of `made_of`.
    fn tube(
        &mut self,
        rings: &[Ring],
        round_it: usize,
        made_of: impl Fn(usize) -> f32,
        bones: impl Fn(Point, usize) -> [(u32, f32); 4],
    ) {
        let first = self.vertices.len() as u32;
        for (row, (middle, [width, depth])) in rings.iter().enumerate() {
            for column in 0..round_it {
                let turn = column as f32 / round_it as f32;
                let point = add(*middle, round(turn, [0.0, *width, *depth]));
                let uv = [turn, made_of(row) + 0.99 * row as f32 / (rings.len() - 1) as f32];
                self.vertices.push(vertex(point, bones(point, row), uv));
            }
        }
        let at = |row: usize, column: usize| first + (row * round_it + column % round_it) as u32;
        self.indices.extend(triangles(rings.len(), round_it, at));
        self.tubes.push(Tube { first, rows: rings.len(), columns: round_it });
    }

    /// Adds an ellipsoid that one bone moves.
    fn ellipsoid(&mut self, middle: Point, radii: Point, bone: u32, made_of: f32) {
        let rings: Vec<Ring> = (0..=10)
            .map(|ring| {
                let (sin, cos) = (ring as f32 / 10.0 * TAU / 2.0).sin_cos();
                let size = sin.max(0.02);
                (add(middle, [0.0, cos * radii[1], 0.0]), [size * radii[0], size * radii[2]])
            })
            .collect();
        self.tube(&rings, 16, |_| made_of, |_, _| [(bone, 1.0), (HIPS, 0.0), (HIPS, 0.0), (HIPS, 0.0)]);
    }

    /// Adds a head: its jaw is narrower than its skull, and further ahead. Its u is 0 at the back and 1 at the face.
    fn head(&mut self, [x, y, z]: Point, radii: Point) {
        let rings: Vec<Ring> = (0..=10)
            .map(|ring| {
                let (sin, cos) = (ring as f32 / 10.0 * TAU / 2.0).sin_cos();
                let jaw = (-cos).max(0.0);
                let size = sin.max(0.02).powf(1.0 - 0.2 * jaw);
                let middle = [x, y + cos * radii[1], z + 0.014 * jaw];
                (middle, [size * radii[0] * (1.0 - 0.24 * jaw), size * radii[2] * (1.0 - 0.18 * jaw)])
            })
            .collect();
        let first = self.vertices.len();
        self.tube(&rings, 16, |_| HEAD_OF, |_, _| [(HEAD, 1.0), (HIPS, 0.0), (HIPS, 0.0), (HIPS, 0.0)]);
        for vertex in &mut self.vertices[first..] {
            vertex.uv[0] = 0.5 - 0.5 * (TAU * vertex.uv[0]).cos();
        }
    }

    /// Adds a limb: a tube along joints, each with its radius and the bone below it. An arm has a sleeve, which goes on with the
    /// picture at this u.
    fn limb(&mut self, joints: &[(Point, f32, u32)], sleeve: Option<f32>) {
        const EACH: usize = 8;
        let mut rings: Vec<Ring> = Vec::new();
        let mut bones = Vec::new();
        let (top, radius, bone) = joints[0];
        rings.push((add(top, [0.0, radius * 0.6, 0.0]), [radius * 0.1; 2]));
        bones.push([(bone, 1.0), (bone, 0.0)]);
        for (at, pair) in joints.windows(2).enumerate() {
            let ((from, wide, bone), (to, narrow, next)) = (pair[0], pair[1]);
            for step in 0..EACH {
                let part = step as f32 / EACH as f32;
                rings.push((add(from, scale(sub(to, from), part)), [wide + (narrow - wide) * part; 2]));
                // Half and half at a joint, and the bone alone where its part of the limb is in the middle.
                let before = if at > 0 { (0.5 - 2.0 * part).max(0.0) } else { 0.0 };
                let after = if at + 2 < joints.len() { (2.0 * part - 1.5).max(0.0) } else { 0.0 };
                let other = if before > 0.0 { joints[at - 1].2 } else { next };
                bones.push([(bone, 1.0 - before - after), (other, before + after)]);
            }
        }
        let (end, radius, bone) = joints[joints.len() - 1];
        for (down, size) in [(0.0, 1.0), (radius * 0.6, 0.1)] {
            rings.push((add(end, [0.0, -down, 0.0]), [radius * size; 2]));
            bones.push([(bone, 1.0), (bone, 0.0)]);
        }
        if sleeve.is_some() {
            for ((middle, size), (off, wide, deep, _)) in rings.iter_mut().zip(SLEEVES) {
                // Away from the body's middle.
                let outward = off * middle[0].signum();
                *middle = add(*middle, [outward, 0.0, 0.0]);
                *size = [wide, deep];
            }
            // The sleeve ends with a step inward, which is hardly seen from outside.
            rings[SLEEVE + 1].0 = add(rings[SLEEVE].0, [0.0, 0.016, 0.0]);
        }
        let made_of = |row: usize| match sleeve {
            Some(_) if row <= SLEEVE => SHIRT,
            Some(_) => SKIN,
            None => TROUSERS,
        };
        let first = self.vertices.len();
        self.tube(&rings, ROUND, made_of, |_, row| [bones[row][0], bones[row][1], (HIPS, 0.0), (HIPS, 0.0)]);
        for v in sleeve.iter().flat_map(|_| first..first + (SLEEVE + 1) * ROUND) {
            // As the shoulder goes: lower outside.
            let ring = (v - first) / ROUND;
            let outward = (self.vertices[v].position[0] - rings[ring].0[0]) * rings[ring].0[0].signum();
            self.vertices[v].position[1] -= SLEEVES[ring].3 * outward;
            let turn = self.vertices[v].uv[0];
            // From left to right for who looks at that side.
            let middle = sleeve.unwrap_or(0.5);
            let along = (turn * TAU).cos() * if middle < 0.5 { -1.0 } else { 1.0 };
            self.vertices[v].uv[0] = middle + 0.1 * along;
        }
    }

    /// The mean of the triangles' normals round each vertex.
    fn make_normals(&mut self) {
        let point = |v: u32| self.vertices[v as usize].position;
        let mut sums = vec![[0.0; 3]; self.vertices.len()];
        for triangle in self.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|at| point(triangle[at])).map(|[x, y, z, _]| [x, y, z]);
            let normal = cross(sub(b, a), sub(c, a));
            for &v in triangle {
                sums[v as usize] = add(sums[v as usize], normal);
            }
        }
        for (vertex, sum) in self.vertices.iter_mut().zip(sums) {
            let [x, y, z] = normal_or_up(sum);
            vertex.normal = [x, y, z, 0.0];
        }
    }
}

/// What a body is made of.
const TROUSERS: f32 = 0.0;
const SKIN: f32 = 1.0;
const HEAD_OF: f32 = 2.0;
const SHOES: f32 = 3.0;
pub(super) const SHIRT: f32 = 4.0;
/// The last ring of a sleeve.
const SLEEVE: usize = 5;
/// A sleeve's rings: how far outward from the arm's middle, half width and depth, and how much lower they are outside, for each metre.
/// The first ones lie in the shoulder, under the shirt, and go on with its slope; the last one is the widest.
const SLEEVES: [(f32, f32, f32, f32); SLEEVE + 1] = [
    (-0.048, 0.022, 0.024, 0.60),
    (-0.020, 0.055, 0.057, 0.60),
    (-0.009, 0.063, 0.065, 0.35),
    (-0.004, 0.064, 0.067, 0.15),
    (-0.002, 0.065, 0.069, 0.05),
    (0.000, 0.068, 0.072, 0.0),
];
/// Vertices round a limb.
const ROUND: usize = 12;

pub(super) const SHOULDER: Point = [0.195, 1.395, 0.0];
pub(super) const ELBOW: Point = [0.225, 1.11, -0.01];
const WRIST: Point = [0.235, 0.86, 0.01];
pub(super) const HIP: Point = [0.09, 0.90, 0.0];
pub(super) const KNEE: Point = [0.095, 0.49, 0.01];
pub(super) const ANKLE: Point = [0.095, 0.08, -0.01];
/// The middle of a shoe, and its size from there.
pub(super) const SHOE: Point = [0.095, 0.042, 0.055];
pub(super) const SHOE_SIZE: Point = [0.046, 0.042, 0.125];

/// A point on one side: 0 is that with negative x.
pub(super) fn on_side([x, y, z]: Point, side: usize) -> Point {
    [if side == 0 { -x } else { x }, y, z]
}

fn body() -> Body {
    let mut body = Body { vertices: Vec::new(), indices: Vec::new(), tubes: Vec::new() };
    let neck = [([0.0, 1.60, 0.01], [0.05, 0.055]), ([0.0, 1.53, 0.0], [0.055, 0.058])];
    // Under the shirt it is thinner than what keeps the shirt away, so that it is not seen through its folds.
    let trunk = (0..=18).map(|ring| {
        let [y, width, depth] = profile(ring as f32 / 18.0);
        let less = if ring == 0 { 0.002 } else { 0.019 };
        ([0.0, y, 0.0], [width - less, depth - less])
    });
    let below = [([0.0, 0.79, 0.0], [0.10, 0.08]), ([0.0, 0.78, 0.0], [0.005, 0.005])];
    let rings: Vec<Ring> = neck.into_iter().chain(trunk).chain(below).collect();
    body.tube(&rings, 24, |row| if row < 4 { SKIN } else { TROUSERS }, |point, _| torso(point));
    body.head([0.0, 1.675, 0.012], [0.080, 0.125, 0.1]);
    for side in [0, 1] {
        let at = |point| on_side(point, side);
        let (arm, leg) = (ARMS[side], LEGS[side]);
        let sleeve = Some(0.25 + 0.5 * side as f32);
        let joints = [(at(SHOULDER), 0.052, arm), (at(ELBOW), 0.043, arm + 1), (at(WRIST), 0.032, arm + 1)];
        body.limb(&joints, sleeve);
        body.ellipsoid(at([0.238, 0.79, 0.02]), [0.022, 0.075, 0.038], arm + 1, SKIN);
        body.limb(&[(at(HIP), 0.073, leg), (at(KNEE), 0.054, leg + 1), (at(ANKLE), 0.042, leg + 1)], None);
        body.ellipsoid(at(SHOE), SHOE_SIZE, leg + 2, SHOES);
    }
    body.make_normals();
    body
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
