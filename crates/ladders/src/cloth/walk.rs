//! How a figure walks. In: a time. Out: the pose of its bones.
//!
//! Feet come first: on the floor each goes with it, and rolls over it from heel to toe; in the air it goes on as fast as it left the
//! floor, and comes down as fast as the floor is. The hips go their own way above, and the legs are bent to where hips and feet are.

use std::f32::consts::TAU;

use super::geometry::{Matrix, Point, about, apply, dot, sub, then};
use super::model::{
    ANKLE, ARMS, BONES, CHEST, ELBOW, HEAD, HIP, HIPS, KNEE, LEGS, SHOE, SHOE_SIZE, SHOULDER, SPINE, on_side,
};

/// How long two steps take, in seconds.
pub(crate) const PERIOD: f32 = 1.1;
/// How fast they walk, in metres a second: the speed of the foot on the floor.
pub const SPEED: f32 = 1.2;
/// How far apart the figures of an army stand, in metres.
pub const APART: f32 = 1.3;

/// The part of its own period for which a foot is on the floor. It comes down at 0.
const STANCE: f32 = 0.575;
/// The foot's angle at times of its period, in radians: the heel comes first, the toes leave last.
const PITCH: [[f32; 2]; 6] =
    [[0.0, -0.27], [0.11, 0.0], [0.25, 0.0], [0.61, 1.12], [0.90, -0.27], [1.0, -0.27]];
/// The middle of a shoe's way on the floor is so far before the hips, and so far to the side.
const UNDER: [f32; 2] = [-0.079, 0.075];
/// How high a foot is lifted above what rolling gives, in metres.
const LIFT: f32 = 0.032;
/// How much lower the hips are than at rest, by the mean; how much that goes up and down, and when a foot is down and they are
/// lowest; how far they go to the side of the foot on which the figure stands. So the knees are never quite straight.
const SINK: f32 = 0.036;
const BOB: f32 = 0.020;
const LOWEST: f32 = 0.026;
const SWAY: f32 = 0.020;

/// One figure of an army: where it stands, and how far its walk is ahead of the others'.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walk {
    /// x and z of where it stands, in metres.
    pub at: [f32; 2],
    /// A part of the period.
    pub phase: f32,
}

impl Walk {
    /// The bones at a time: matrices of three rows and four columns that bring what no bone has moved to its place.
    pub(crate) fn pose(&self, seconds: f32) -> Vec<[f32; 12]> {
        let part = (f64::from(seconds) / f64::from(PERIOD) + f64::from(self.phase)).rem_euclid(1.0) as f32;
        let wave = (part * TAU).sin();
        // Of the foot with negative x: it comes down when it is furthest ahead.
        let foot = part + 0.75;
        let mut bones = vec![about([0.0; 3], [0.0; 3]); BONES];
        let rise = -SINK - BOB * (2.0 * TAU * (foot - LOWEST)).cos();
        let aside = -SWAY * (TAU * (foot - STANCE / 2.0)).cos();
        let hips = about([0.0, 0.92, 0.0], [0.03, 0.10 * wave, 0.03 * wave]);
        let hips = moved(&hips, [self.at[0] + aside, rise, self.at[1]]);
        bones[HIPS as usize] = hips;
        let mut set = |bone: u32, parent: u32, joint: Point, angles: Point| {
            bones[bone as usize] = then(&bones[parent as usize], &about(joint, angles));
        };
        set(SPINE, HIPS, [0.0, 1.04, 0.0], [0.02, -0.10 * wave, -0.03 * wave]);
        set(CHEST, SPINE, [0.0, 1.20, 0.0], [0.0, -0.12 * wave, 0.02 * wave]);
        set(HEAD, CHEST, [0.0, 1.50, 0.0], [-0.03, 0.10 * wave, 0.0]);
        for side in [0, 1] {
            // The other side is half a period ahead; an arm swings with the other side's leg.
            let arm = ARMS[side];
            let (wave, out) = if side == 0 { (wave, -0.06) } else { (-wave, 0.06) };
            set(arm, CHEST, on_side(SHOULDER, side), [0.45 * wave, 0.0, out]);
            set(arm + 1, arm, on_side(ELBOW, side), [-0.35 + 0.20 * wave, 0.0, 0.0]);
        }
        for side in [0, 1] {
            let foot = shoe((foot + 0.5 * side as f32).rem_euclid(1.0), side);
            let foot = moved(&foot, [self.at[0], 0.0, self.at[1]]);
            let leg = LEGS[side] as usize;
            let [thigh, shin] = bent(&hips, apply(&foot, on_side(ANKLE, side)), side);
            bones[leg] = then(&hips, &thigh);
            bones[leg + 1] = then(&bones[leg], &shin);
            bones[leg + 2] = foot;
        }
        bones
    }
}

fn moved(matrix: &Matrix, by: Point) -> Matrix {
    let mut moved = *matrix;
    for (at, by) in [3, 7, 11].into_iter().zip(by) {
        moved[at] += by;
    }
    moved
}

/// Turns about x alone.
fn forward([_, y, z]: Point, angle: f32) -> Matrix {
    let (sin, cos) = angle.sin_cos();
    let (up, along) = (y - cos * y + sin * z, z - sin * y - cos * z);
    [1.0, 0.0, 0.0, 0.0, 0.0, cos, -sin, up, 0.0, sin, cos, along]
}

/// 0 to 1, with no speed and an even one at both ends (K. Perlin, "Improving Noise", 2002).
fn smooth(x: f32) -> f32 {
    x * x * x * (10.0 + x * (6.0 * x - 15.0))
}

/// A foot's angle at a part of its own period.
fn pitch(part: f32) -> f32 {
    let between = |pair: &[[f32; 2]]| {
        let ([from, first], [to, last]) = (pair[0], pair[1]);
        (part < to).then(|| first + (last - first) * smooth((part - from) / (to - from)))
    };
    PITCH.windows(2).find_map(between).unwrap_or(PITCH[0][1])
}

/// How high the middle of a shoe is that stands on the floor at this angle: a shoe is an ellipsoid.
fn high(pitch: f32) -> f32 {
    let (sin, cos) = pitch.sin_cos();
    let (along, up) = (SHOE_SIZE[2] * sin, SHOE_SIZE[1] * cos);
    (along * along + up * up).sqrt()
}

/// How far a shoe has rolled that stood flat before: it turns about the point where it touches the floor, so that its middle goes
/// forward by its height for each radian. The integral of [`high`] by five points (C. F. Gauss, 1814).
fn rolled(pitch: f32) -> f32 {
    const POINTS: [[f32; 2]; 5] = [
        [0.046_910_08, 0.118_463_44],
        [0.230_765_34, 0.239_314_34],
        [0.5, 0.284_444_44],
        [0.769_234_66, 0.239_314_34],
        [0.953_089_9, 0.118_463_44],
    ];
    pitch * POINTS.iter().map(|[at, weight]| weight * high(at * pitch)).sum::<f32>()
}

/// A foot at a part of its own period.
fn shoe(part: f32, side: usize) -> Matrix {
    let walked = SPEED * PERIOD;
    let half = walked * STANCE / 2.0;
    // Where it would be if it were flat.
    let (flat, lift) = if part < STANCE {
        (half - walked * part, 0.0)
    } else {
        let air = (part - STANCE) / (1.0 - STANCE);
        let goes_on = -walked * (1.0 - STANCE);
        let lift = 4.0 * air * (1.0 - air);
        (-half + goes_on * air + (2.0 * half - goes_on) * smooth(air), LIFT * lift * lift)
    };
    let angle = pitch(part);
    let to = [UNDER[1], high(angle) + lift, UNDER[0] + flat + rolled(angle)];
    let shoe = on_side(SHOE, side);
    moved(&forward(shoe, angle), sub(on_side(to, side), shoe))
}

/// Thigh and shin, seen from the hips, of a leg whose ankle is at a point; the knee bends forward. Where that is too far away, the leg is straight.
fn bent(hips: &Matrix, ankle: Point, side: usize) -> [Matrix; 2] {
    let [hip, knee, rest] = [HIP, KNEE, ANKLE].map(|joint| on_side(joint, side));
    let off = sub(ankle, apply(hips, hip));
    // Turned back.
    let to = [0, 1, 2].map(|column| (0..3).map(|row| hips[4 * row + column] * off[row]).sum::<f32>());
    let (upper, lower) = (sub(knee, hip), sub(rest, knee));
    let ([ux, uy, uz], [lx, ly, lz]) = (upper, lower);
    let (long, longer) = (uy.hypot(uz), ly.hypot(lz));
    let square = dot(to, to) - (ux + lx) * (ux + lx);
    let cos = (square - long * long - longer * longer) / (2.0 * long * longer);
    let at_rest = (uy * lz - uz * ly).atan2(uy * ly + uz * lz);
    let shin = forward(knee, cos.clamp(-1.0, 1.0).acos() - at_rest);
    // From the hip to the ankle of that leg before the thigh turns: first sideways, then forward.
    let [x, y, z] = sub(apply(&shin, rest), hip);
    let sideways = -(to[0] / x.hypot(y)).clamp(-1.0, 1.0).acos() - y.atan2(x);
    let y = x * sideways.sin() + y * sideways.cos();
    let ahead = (y * to[2] - z * to[1]).atan2(y * to[1] + z * to[2]);
    [about(hip, [ahead, 0.0, sideways]), shin]
}

/// An army in a square, row after row, the middle of the front at the origin; no two neighbours in step.
pub fn army(count: usize) -> Vec<Walk> {
    let side = (1..).find(|side| side * side >= count).unwrap_or(1);
    let one = |at: usize| {
        let (row, column) = (at / side, at % side);
        let x = (column as f32 - (side - 1) as f32 / 2.0) * APART;
        // Multiples of the golden ratio lie apart from each other (H. Weyl, 1916).
        Walk { at: [x, -(row as f32) * APART], phase: (at as f32 * 0.618_034).fract() }
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
