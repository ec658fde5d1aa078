//! Tests of the reports that the window gets from the simulation.

use super::*;
use crate::scene::cloth::camera::Camera;
use opencl::cl::list_devices;
use opencl::sources::Sources;

const DEVICE: [bool; 5] = [false; 5];

fn order(army: usize, hand: Hand) -> FrameRequest {
    FrameRequest { army, dt: 1.0 / 60.0, hand, ..FrameRequest::default() }
}

/// Returns the position of the vertex with this index in a report.
fn place(report: &Report, vertex: usize) -> Point {
    [0, 1, 2].map(|n| {
        let at = (vertex * 8 + n) * 4;
        f32::from_ne_bytes(report.vertices[at..at + 4].try_into().unwrap())
    })
}

fn off(a: Point, b: Point) -> f32 {
    (0..3).map(|n| (a[n] - b[n]).powi(2)).sum::<f32>().sqrt()
}

/// Asserts that all numbers are finite and that the figures stand on the floor.
fn assert_sane(report: &Report) {
    assert!(!report.vertices.is_empty() && report.vertices.len().is_multiple_of(32));
    for number in report.vertices.chunks_exact(4) {
        let number = f32::from_ne_bytes(number.try_into().unwrap());
        assert!(number.is_finite() && number.abs() < 20.0, "{number}");
    }
}

#[test]
fn what_is_held_stays_where_it_is_held_and_goes_home_when_it_is_let_go() {
    let mut simulation = ArmySimulation::default();
    (0..30).for_each(|_| assert_sane(&simulation.execute(order(1, Hand::Off))));
    let ray = Ray { from: [5.0, 5.0, 5.0], along: [0.0, 1.0, 0.0] };
    let nothing = simulation.execute(order(1, Hand::Grab(ray)));
    assert_eq!(nothing.grabbed, Some(None), "the sky is no shirt");
    // The hem of the shirt, in front.
    let ray = Ray { from: [0.0, 0.87, 5.0], along: [0.0, 0.0, -1.0] };
    let grabbed = simulation.execute(order(1, Hand::Grab(ray)));
    let at = grabbed.grabbed.unwrap().unwrap();
    let to = [at[0], at[1] + 0.03, at[2] + 0.10];
    let particle = simulation.held.unwrap();
    let vertex = particle / 40 * 41 + particle % 40;
    let mut held = Vec::new();
    for _ in 0..60 {
        let report = simulation.execute(order(1, Hand::Hold(to)));
        assert_sane(&report);
        held.push(place(&report, vertex));
    }
    // Constraints pull at the particle; it swings around a position near the hand, with decreasing amplitude.
    assert!(held[20..].iter().all(|p| off(*p, to) < 0.05), "{held:?}, not {to:?}");
    let last = simulation.execute(order(1, Hand::Off));
    (0..90).for_each(|_| assert_sane(&simulation.execute(order(1, Hand::Off))));
    let home = simulation.execute(order(1, Hand::Off));
    assert!(off(place(&home, vertex), place(&last, vertex)) > 0.03, "it hangs again");
}

#[test]
fn armies_come_and_go_and_wild_orders_leave_them_sane() {
    let mut simulation = ArmySimulation::default();
    let camera = Camera::new(4);
    for (turn, army) in [1, 4, 9, 4, 1, 25].into_iter().enumerate() {
        for dt in [0.0, 1.0 / 1000.0, 0.2, f32::NAN, 1e9, -1.0] {
            let grab = Hand::Grab(camera.ray([0.5, 0.4], 1.6));
            let hand = [Hand::Off, grab, Hand::Hold([f32::NAN; 3]), Hand::Hold([9.0; 3])][turn % 4];
            let report = simulation.execute(FrameRequest { dt, ..order(army, hand) });
            assert!(report.army == army && report.error.is_none());
            assert_sane(&report);
        }
    }
    let [all, one] = [25, 1].map(|army| simulation.execute(order(army, Hand::Off)).vertices.len());
    assert_eq!(all, 25 * one);
}

#[test]
fn another_device_goes_on_where_the_one_before_was_and_each_step_changes_sides() {
    let device = list_devices().into_iter().next().expect("an OpenCL device");
    let cl = ClContext::new(&device, Sources::default()).unwrap();
    let (mut plain, mut simulation) = (ArmySimulation::default(), ArmySimulation::default());
    let mut worst = 0.0_f32;
    for frame in 0..40_usize {
        let changed = match frame {
            0 => Some(None),
            10 => Some(Some(cl.clone())),
            30 => Some(None),
            _ => None,
        };
        let mut on_host = DEVICE;
        on_host[frame % 5] = frame > 20;
        let same = plain.execute(order(4, Hand::Off));
        let report = simulation.execute(FrameRequest { device: changed, on_host, ..order(4, Hand::Off) });
        assert!(report.error.is_none(), "{:?}", report.error);
        assert!((report.seconds - same.seconds).abs() < 1e-9, "time goes on");
        let on_device = (10..30).contains(&frame);
        let [acquired, steps @ .., released, copied] = report.times.ms;
        assert_eq!(report.times.on_host, on_host.map(|on_host| !on_device || on_host), "frame {frame}");
        assert!(steps.iter().all(|ms| *ms >= 0.0), "{steps:?}");
        assert_eq!(copied.is_finite(), on_device && !on_host[4], "frame {frame}");
        assert!(acquired.is_nan() && released.is_nan() && !report.is_written, "nothing was lent");
        let far = (0..4 * 1025).map(|v| off(place(&report, v), place(&same, v))).fold(0.0, f32::max);
        worst = worst.max(far);
    }
    assert!(worst < 5e-3, "{worst} m from who walked on the host alone");
}
