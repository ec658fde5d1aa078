//! The walk: the pose of a figure's bones at a given time.
//!
//! The path of the feet determines the pose. On the floor each foot moves with the floor, and rolls from heel to toe; in the
//! air it leaves the floor and comes down at the speed of the floor. The hips follow a path of their own, and the legs are bent
//! to connect hips and feet.

use std::f32::consts::TAU;

use super::geometry::{Matrix, Point, apply, compose, dot, rotation_about, sub};
use super::model::{
    ANKLE, ARMS, BONES, CHEST, ELBOW, HEAD, HIP, HIPS, KNEE, LEGS, SHOE, SHOE_SIZE, SHOULDER, SPINE,
    mirrored_to_side,
};

/// The duration of two steps of the walk, after which it repeats, in seconds.
pub(crate) const PERIOD: f32 = 1.1;
/// The speed of the figures, and of a foot on the floor, in metres per second.
pub const SPEED: f32 = 1.2;
/// The distance between neighbouring figures in a crowd, in metres.
pub const SPACING: f32 = 1.3;

/// The part of a foot's period (two steps) during which the foot is on the floor. The foot comes down at the beginning of its
/// period.
const STANCE_PART: f32 = 0.575;
/// The key frames of the angle between a foot and the floor: a part of the foot's period, and the angle in radians. The heel
/// comes down first, and the toes leave last.
const PITCH_KEYS: [[f32; 2]; 6] =
    [[0.0, -0.27], [0.11, 0.0], [0.25, 0.0], [0.61, 1.12], [0.90, -0.27], [1.0, -0.27]];
/// The centre of a shoe's path on the floor, in metres: its distance ahead of the hips, and to the side.
const STANCE_CENTER: [f32; 2] = [-0.079, 0.075];
/// The additional height of a foot in the air, in metres.
const FOOT_LIFT: f32 = 0.032;
/// The distance in metres by which the hips are on average lower while walking than in the rest pose.
const HIP_SINK: f32 = 0.036;
/// The amplitude of the hips' vertical movement, in metres.
const BOB_AMPLITUDE: f32 = 0.020;
/// The phase, as a part of a foot's period, at which the hips are lowest.
const LOWEST_PHASE: f32 = 0.026;
/// The amplitude of the hips' sideways movement toward the standing foot, in metres. With this value and those of [`HIP_SINK`]
/// and [`BOB_AMPLITUDE`] the knees are never quite straight.
const SWAY_AMPLITUDE: f32 = 0.020;

/// The walk of one figure in a crowd: its place, and its phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walk {
    /// The x and z coordinates of the place where the figure walks, in metres.
    pub at: [f32; 2],
    /// The phase of the walk at time 0, as a part of the period.
    pub phase: f32,
}

impl Walk {
    /// Returns the matrices of the bones at a time in seconds, which transform points of the rest pose.
    pub(crate) fn pose(&self, seconds: f32) -> Vec<[f32; 12]> {
        let part = (f64::from(seconds) / f64::from(PERIOD) + f64::from(self.phase)).rem_euclid(1.0) as f32;
        let wave = (part * TAU).sin();
        // The phase of the foot with negative x, which comes down when it is furthest ahead.
        let foot = part + 0.75;
        let mut bones = vec![rotation_about([0.0; 3], [0.0; 3]); BONES];
        let rise = -HIP_SINK - BOB_AMPLITUDE * (2.0 * TAU * (foot - LOWEST_PHASE)).cos();
        let aside = -SWAY_AMPLITUDE * (TAU * (foot - STANCE_PART / 2.0)).cos();
        let hips = rotation_about([0.0, 0.92, 0.0], [0.03, 0.10 * wave, 0.03 * wave]);
        let hips = translated(&hips, [self.at[0] + aside, rise, self.at[1]]);
        bones[HIPS as usize] = hips;
        let mut set = |bone: u32, parent: u32, joint: Point, angles: Point| {
            bones[bone as usize] = compose(&bones[parent as usize], &rotation_about(joint, angles));
        };
        set(SPINE, HIPS, [0.0, 1.04, 0.0], [0.02, -0.10 * wave, -0.03 * wave]);
        set(CHEST, SPINE, [0.0, 1.20, 0.0], [0.0, -0.12 * wave, 0.02 * wave]);
        set(HEAD, CHEST, [0.0, 1.50, 0.0], [-0.03, 0.10 * wave, 0.0]);
        for side in [0, 1] {
            // The other side is half a period ahead; an arm swings with the other side's leg.
            let arm = ARMS[side];
            let (wave, out) = if side == 0 { (wave, -0.06) } else { (-wave, 0.06) };
            set(arm, CHEST, mirrored_to_side(SHOULDER, side), [0.45 * wave, 0.0, out]);
            set(arm + 1, arm, mirrored_to_side(ELBOW, side), [-0.35 + 0.20 * wave, 0.0, 0.0]);
        }
        for side in [0, 1] {
            let foot = shoe_pose((foot + 0.5 * side as f32).rem_euclid(1.0), side);
            let foot = translated(&foot, [self.at[0], 0.0, self.at[1]]);
            let leg = LEGS[side] as usize;
            let [thigh, shin] = bend_leg(&hips, apply(&foot, mirrored_to_side(ANKLE, side)), side);
            bones[leg] = compose(&hips, &thigh);
            bones[leg + 1] = compose(&bones[leg], &shin);
            bones[leg + 2] = foot;
        }
        bones
    }
}

/// Returns the transformation of `matrix` followed by a translation.
fn translated(matrix: &Matrix, by: Point) -> Matrix {
    let mut moved = *matrix;
    for (at, by) in [3, 7, 11].into_iter().zip(by) {
        moved[at] += by;
    }
    moved
}

/// Returns a rotation by `angle` radians about a line through a point, parallel to the x axis.
fn rotation_about_x([_, y, z]: Point, angle: f32) -> Matrix {
    let (sin, cos) = angle.sin_cos();
    let (up, along) = (y - cos * y + sin * z, z - sin * y - cos * z);
    [1.0, 0.0, 0.0, 0.0, 0.0, cos, -sin, up, 0.0, sin, cos, along]
}

/// Returns a smooth transition from 0 to 1, with zero first and second derivatives at both ends (K. Perlin, "Improving Noise",
/// 2002).
fn smooth(x: f32) -> f32 {
    x * x * x * (10.0 + x * (6.0 * x - 15.0))
}

/// Returns the angle between a foot and the floor, in radians, at a part of the foot's own period.
fn foot_pitch(part: f32) -> f32 {
    let between = |pair: &[[f32; 2]]| {
        let ([from, first], [to, last]) = (pair[0], pair[1]);
        (part < to).then(|| first + (last - first) * smooth((part - from) / (to - from)))
    };
    PITCH_KEYS.windows(2).find_map(between).unwrap_or(PITCH_KEYS[0][1])
}

/// Returns the height of a shoe's centre if the shoe, an ellipsoid, stands on the floor at this angle.
fn shoe_height(pitch: f32) -> f32 {
    let (sin, cos) = pitch.sin_cos();
    let (along, up) = (SHOE_SIZE[2] * sin, SHOE_SIZE[1] * cos);
    (along * along + up * up).sqrt()
}

/// Returns the distance that a shoe has rolled from lying flat to this angle. It turns about the point where it touches the
/// floor, so that its centre moves forward by its height per radian: the integral of [`shoe_height`] by five points (C. F.
/// Gauss, 1814).
fn roll_distance(pitch: f32) -> f32 {
    /// The positions and weights of the five points, on an interval from 0 to 1.
    const POINTS: [[f32; 2]; 5] = [
        [0.046_910_08, 0.118_463_44],
        [0.230_765_34, 0.239_314_34],
        [0.5, 0.284_444_44],
        [0.769_234_66, 0.239_314_34],
        [0.953_089_9, 0.118_463_44],
    ];
    pitch * POINTS.iter().map(|[at, weight]| weight * shoe_height(at * pitch)).sum::<f32>()
}

/// Returns the matrix of the foot on one side at a part of the foot's own period.
fn shoe_pose(part: f32, side: usize) -> Matrix {
    let walked = SPEED * PERIOD;
    let half = walked * STANCE_PART / 2.0;
    // The position of a flat foot.
    let (flat, lift) = if part < STANCE_PART {
        (half - walked * part, 0.0)
    } else {
        let air = (part - STANCE_PART) / (1.0 - STANCE_PART);
        let goes_on = -walked * (1.0 - STANCE_PART);
        let lift = 4.0 * air * (1.0 - air);
        (-half + goes_on * air + (2.0 * half - goes_on) * smooth(air), FOOT_LIFT * lift * lift)
    };
    let angle = foot_pitch(part);
    let to = [STANCE_CENTER[1], shoe_height(angle) + lift, STANCE_CENTER[0] + flat + roll_distance(angle)];
    let shoe = mirrored_to_side(SHOE, side);
    translated(&rotation_about_x(shoe, angle), sub(mirrored_to_side(to, side), shoe))
}

/// Returns the matrices of thigh and shin, relative to the hips, of a leg whose ankle is at a point; the knee bends forward. If
/// the ankle is too far away, the leg is straight.
fn bend_leg(hips: &Matrix, ankle: Point, side: usize) -> [Matrix; 2] {
    let [hip, knee, rest] = [HIP, KNEE, ANKLE].map(|joint| mirrored_to_side(joint, side));
    let off = sub(ankle, apply(hips, hip));
    // The vector from hip to ankle, relative to the hips.
    let to = [0, 1, 2].map(|column| (0..3).map(|row| hips[4 * row + column] * off[row]).sum::<f32>());
    let (upper, lower) = (sub(knee, hip), sub(rest, knee));
    let ([ux, uy, uz], [lx, ly, lz]) = (upper, lower);
    let (long, longer) = (uy.hypot(uz), ly.hypot(lz));
    let square = dot(to, to) - (ux + lx) * (ux + lx);
    let cos = (square - long * long - longer * longer) / (2.0 * long * longer);
    let at_rest = (uy * lz - uz * ly).atan2(uy * ly + uz * lz);
    let shin = rotation_about_x(knee, cos.clamp(-1.0, 1.0).acos() - at_rest);
    // The leg turns from the hip to the ankle: sideways first, then forward.
    let [x, y, z] = sub(apply(&shin, rest), hip);
    let sideways = -(to[0] / x.hypot(y)).clamp(-1.0, 1.0).acos() - y.atan2(x);
    let y = x * sideways.sin() + y * sideways.cos();
    let ahead = (y * to[2] - z * to[1]).atan2(y * to[1] + z * to[2]);
    [rotation_about(hip, [ahead, 0.0, sideways]), shin]
}

/// Returns the places and phases of the figures of a crowd that stands in a square, row by row, with the middle of the front at
/// the origin. No two neighbours are in phase.
pub fn army(count: usize) -> Vec<Walk> {
    let side = (1..).find(|side| side * side >= count).unwrap_or(1);
    let one = |at: usize| {
        let (row, column) = (at / side, at % side);
        let x = (column as f32 - (side - 1) as f32 / 2.0) * SPACING;
        // Multiples of the golden ratio are spread evenly (H. Weyl, 1916).
        Walk { at: [x, -(row as f32) * SPACING], phase: (at as f32 * 0.618_034).fract() }
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
