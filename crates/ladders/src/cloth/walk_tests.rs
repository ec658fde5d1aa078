//! Tests of the properties of the walk.

use super::*;
use crate::cloth::geometry::scale;
use crate::cloth::model::{Body, BodyVertex, Figure};

const WALK: Walk = Walk { at: [2.0, -3.0], phase: 0.3 };

/// Returns times of one period, in seconds.
fn times() -> impl Iterator<Item = f32> {
    (0..220).map(|step| step as f32 * 0.005)
}

fn place(pose: &[Matrix], v: &BodyVertex) -> Point {
    let [x, y, z, _] = v.position;
    let each = v.bones.iter().zip(v.weights);
    each.fold([0.0; 3], |sum, (bone, w)| {
        let at = scale(apply(&pose[*bone as usize], [x, y, z]), w);
        std::array::from_fn(|n| sum[n] + at[n])
    })
}

/// Returns the vertices of the shoe on one side.
fn of_shoe(body: &Body, side: usize) -> Vec<BodyVertex> {
    let is_shoe = |v: &&BodyVertex| v.bones[0] == LEGS[side] + 2 && v.weights[0] == 1.0;
    body.vertices.iter().filter(is_shoe).copied().collect()
}

#[test]
fn the_walk_is_smooth_periodic_and_stands_on_the_floor() {
    let body = Figure::new().body;
    let furthest = |a: &[Matrix], b: &[Matrix]| {
        let both = a.iter().flatten().zip(b.iter().flatten());
        both.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    assert!(furthest(&WALK.pose(0.2), &WALK.pose(0.2 + 3.0 * PERIOD)) < 1e-4);
    assert!(furthest(&WALK.pose(0.2), &WALK.pose(0.2 + PERIOD / 2.0)) > 0.2);
    let (mut lows, mut jerk) = ([f32::MAX, f32::MIN], 0.0_f32);
    for seconds in times() {
        let pose = WALK.pose(seconds);
        assert_eq!(pose.len(), BONES);
        assert!(pose.iter().flatten().all(|x| x.is_finite()));
        // The changes of the speeds within 1/50 s.
        let [before, after] = [-0.01, 0.01].map(|more| WALK.pose(seconds + more));
        let middle: Vec<Matrix> =
            before.iter().zip(&after).map(|(a, b)| std::array::from_fn(|n| (a[n] + b[n]) / 2.0)).collect();
        jerk = jerk.max(furthest(&middle, &pose));
        let lowest = body.vertices.iter().map(|v| place(&pose, v)[1]).fold(f32::MAX, f32::min);
        lows = [lows[0].min(lowest), lows[1].max(lowest)];
    }
    println!("the lowest point is at {lows:?} m, the furthest from even motion {jerk}");
    assert!(lows[0] > -0.000_5 && lows[1] < 0.002, "{lows:?}");
    assert!(jerk < 0.012, "{jerk}");
}

/// A point that touches the floor does not slide over it: it moves backward as fast as the floor.
#[test]
fn a_foot_on_the_floor_does_not_slide() {
    let body = Figure::new().body;
    let shoes = [0, 1].map(|side| of_shoe(&body, side));
    // The highest speeds while one foot is on the floor, and while both are.
    let (mut worst, mut count) = ([0.0_f32; 2], [0; 2]);
    for seconds in times() {
        let poses = [-SPEED_INTERVAL_S, 0.0, SPEED_INTERVAL_S].map(|more| WALK.pose(seconds + more));
        let height = |v: &BodyVertex| place(&poses[1], v)[1];
        let mut lowest = shoes.each_ref().map(|shoe| {
            let of_all = shoe.iter().min_by(|a, b| height(a).total_cmp(&height(b)));
            of_all.unwrap()
        });
        lowest.sort_by(|a, b| height(a).total_cmp(&height(b)));
        // The lower foot stands on the floor, and the other one may.
        let stands = |(at, v): &(usize, &BodyVertex)| *at == 0 || height(v) < ON_FLOOR;
        let speed = |(_, v): (usize, &BodyVertex)| {
            let [before, _, after] = poses.each_ref().map(|pose| place(pose, v));
            let [x, z] = [0, 2].map(|n| (after[n] - before[n]) / (2.0 * SPEED_INTERVAL_S));
            x.hypot(z + SPEED)
        };
        let standing: Vec<f32> = lowest.into_iter().enumerate().filter(stands).map(speed).collect();
        let at = standing.len() - 1;
        count[at] += 1;
        worst[at] = standing.into_iter().fold(worst[at], f32::max);
    }
    println!("{worst:?} m/s over the floor at {count:?} times, where one foot stands, and where both do");
    assert!(worst[0] < SLIDES[0] && worst[1] < SLIDES[1], "{worst:?} m/s");
    // The figure walks: both feet are on the floor for about a fifth of the time.
    assert!((30..70).contains(&count[1]), "{count:?}");
}

/// The time over which speeds are measured, in seconds.
const SPEED_INTERVAL_S: f32 = 0.001;
/// The height in metres below which a point of a shoe counts as touching the floor. It is not 0, because the lowest point of a
/// shoe may lie between vertices.
const ON_FLOOR: f32 = 0.001;
/// The highest allowed speeds of a touching point over the floor, in metres per second: while one foot is on the floor, and while
/// both are. In the second case one foot has just come down or is about to be lifted, and may be some tenths of a millimetre above
/// the floor.
const SLIDES: [f32; 2] = [0.03, 0.2];

#[test]
fn legs_reach_their_feet_and_knees_bend_forward() {
    let long = |off: Point| dot(off, off).sqrt();
    let mut longest = 0.0_f32;
    for seconds in times() {
        let pose = WALK.pose(seconds);
        for (side, leg) in LEGS.map(|leg| leg as usize).into_iter().enumerate() {
            let [hip, knee, ankle] = [HIP, KNEE, ANKLE].map(|joint| mirrored_to_side(joint, side));
            let [shin, foot] = [leg + 1, leg + 2].map(|bone| apply(&pose[bone], ankle));
            let off = sub(shin, foot);
            assert!(long(off) < 1e-4, "{seconds}: a leg ends {off:?} from its foot");
            let [hip, knee] = [hip, knee].map(|joint| apply(&pose[leg], joint));
            let (whole, upper) = (sub(shin, hip), sub(knee, hip));
            longest = longest.max(long(whole) / (long(upper) + long(sub(shin, knee))));
            // The distance of the knee ahead of the line from the hip to the ankle.
            let ahead = upper[2] - whole[2] * dot(upper, whole) / dot(whole, whole);
            assert!((0.015..0.25).contains(&ahead), "{seconds}: a knee is {ahead} m ahead");
        }
    }
    println!("legs are {longest} of their length");
    assert!(longest < 0.998, "{longest}");
}

#[test]
fn an_army_stands_in_a_square() {
    for (count, side) in [(1, 1), (4, 2), (9, 3), (25, 5), (100, 10)] {
        let army = army(count);
        let wide = |at: usize| {
            let each = || army.iter().map(|walk| walk.at[at]);
            each().fold(f32::MIN, f32::max) - each().fold(f32::MAX, f32::min)
        };
        assert_eq!(army.len(), count);
        assert!([0, 1].iter().all(|at| (wide(*at) - (side - 1) as f32 * SPACING).abs() < 1e-4), "{count}");
    }
}
