//! Tests that the simulation stays stable, and that steps can change between host and device.

use super::*;
use crate::cloth::geometry::{add, cross, dot, scale};
use crate::cloth::model::{BodyVertex, PARTICLES, SHIRT_VERTICES, Walk};
use base::random::Xorshift;
use opencl::cl::list_devices;
use opencl::sources::Sources;

/// Returns a random number from 0 to 1.
fn draw(random: &mut Xorshift) -> f32 {
    (random.draw() >> 8) as f32 / (1 << 24) as f32
}

/// Returns a random drag around the first figure, sometimes with invalid numbers, and a time step of 0 to 1/5 s.
fn anything(random: &mut Xorshift) -> (f32, Option<Drag>) {
    let dt = [0.0, 0.001, 0.2, 0.001 + 0.199 * draw(random), 1.0 / 60.0][random.draw() as usize % 5];
    let mut point = |wide: f32| [0, 1, 2].map(|_| (draw(random) - 0.5) * wide);
    let [x, y, z] = point(0.6);
    let pull = point(3.0);
    let drag = match random.draw() % 8 {
        0 => None,
        1 => Some(Drag { at: [f32::NAN; 3], pull, radius: 0.2 }),
        2 => Some(Drag { at: [x, y, z], pull: [f32::INFINITY; 3], radius: -1.0 }),
        _ => Some(Drag { at: [x, 1.1 + y, z], pull, radius: 0.3 }),
    };
    (dt, drag)
}

/// Returns the mean energy of a particle in joules per kilogram, and the mean error of the constraints relative to their lengths.
fn energy_and_error(chain: &mut Chain) -> (f64, f64) {
    let state = chain.state().unwrap();
    let both = state.positions.iter().zip(&state.previous);
    let square = both.map(|(now, before)| f64::from((now - before) / state.dt).powi(2)).sum::<f64>();
    let height = state.positions.chunks_exact(3).map(|p| 9.81 * f64::from(p[1])).sum::<f64>();
    let particles = (state.positions.len() / 3) as f64;
    let shirt = &chain.figure.shirt;
    let error = |points: &[f32]| {
        let at = |i: u32| [0, 1, 2].map(|k| f64::from(points[3 * i as usize + k]));
        let one = |c: &crate::cloth::model::Constraint| {
            let (a, b) = (at(c.a), at(c.b));
            let far = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
            (far / f64::from(c.rest) - 1.0).abs()
        };
        shirt.constraints.iter().map(one).sum::<f64>() / shirt.constraints.len() as f64
    };
    let characters = state.positions.chunks_exact(3 * PARTICLES);
    let worst = characters.map(error).fold(0.0, f64::max);
    (square / 2.0 / particles + height / particles, worst)
}

/// Asserts that energy and error stay bounded for `steps` steps with random drags, and are low after four seconds of walking.
fn stays_sane(mut chain: Chain, steps: usize) {
    let mut random = Xorshift::new(7);
    let (mut most, mut worst) = (0.0_f64, 0.0_f64);
    for step in 0..steps {
        let (dt, drag) = anything(&mut random);
        chain.step(dt, drag).unwrap();
        if step % 50 == 0 {
            let (energy, error) = energy_and_error(&mut chain);
            (most, worst) = (most.max(energy), worst.max(error));
            assert!(chain.vertices().unwrap().iter().all(|x| x.is_finite()), "step {step}");
        }
    }
    println!("any drag: {most} J/kg, error {worst}");
    assert!(most < MAX_ENERGY && worst < MAX_ERROR, "{most} {worst}");
    for _ in 0..240 {
        chain.step(1.0 / 60.0, None).unwrap();
    }
    let (energy, error) = energy_and_error(&mut chain);
    println!("walking: {energy} J/kg, error {error}");
    assert!(energy < MAX_WALKING_ENERGY && error < MAX_WALKING_ERROR, "{energy} {error}");
}

#[test]
fn cloth_stays_sane_whatever_happens_and_comes_to_rest_in_its_place() {
    stays_sane(Chain::new(1, None).unwrap(), 10_000);
}

/// Runs this test on each device of the machine.
#[test]
fn cloth_stays_sane_on_a_device() {
    let devices = list_devices();
    assert!(!devices.is_empty(), "an OpenCL device");
    for device in devices {
        let cl = ClContext::new(&device, Sources::default()).unwrap();
        stays_sane(Chain::new(1, Some(&cl)).unwrap(), 10_000);
    }
}

/// The highest allowed energy, in joules per kilogram. Cloth at a height of 1.5 m has 15, the rest is speed; 2300 was measured.
const MAX_ENERGY: f64 = 4000.0;
/// The highest allowed energy after four seconds of walking, in joules per kilogram.
const MAX_WALKING_ENERGY: f64 = 14.0;
/// The highest allowed error of constraints, relative to their lengths; 0.24 was measured, and 0.025 when walking.
const MAX_ERROR: f64 = 0.5;
/// The highest allowed error of constraints when walking, relative to their lengths.
const MAX_WALKING_ERROR: f64 = 0.04;

#[test]
fn no_particle_leaves_the_reach_of_its_driver_and_pauses_change_nothing() {
    let mut random = Xorshift::new(99);
    let mut chain = Chain::new(2, None).unwrap();
    for _ in 0..200 {
        let (dt, drag) = anything(&mut random);
        chain.step(dt, drag).unwrap();
    }
    let before = chain.state().unwrap();
    let vertices = chain.vertices().unwrap().to_vec();
    for dt in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        chain.step(dt, None).unwrap();
    }
    assert_eq!(chain.state().unwrap(), before);
    assert_eq!(chain.vertices().unwrap(), vertices);
    // The collar is where its drivers are.
    chain.step(1.0 / 60.0, None).unwrap();
    let state = chain.state().unwrap();
    let drivers = at_rest_at(&chain, state.seconds as f32);
    for (character, drivers) in state.positions.chunks_exact(3 * PARTICLES).zip(drivers) {
        for ((p, q), reach) in character.chunks_exact(3).zip(&drivers).zip(&chain.figure.shirt.reach) {
            let far = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f32>().sqrt();
            assert!(far <= reach + 1e-5, "{far} {reach}");
        }
    }
}

/// Returns the positions of each character's drivers at a time.
fn at_rest_at(chain: &Chain, seconds: f32) -> Vec<Vec<[f32; 3]>> {
    let drivers = &chain.figure.shirt.drivers;
    let one = |walk: &Walk| {
        let mut skinned = vec![0.0; 6 * drivers.len()];
        host::skin(drivers, walk.pose(seconds).as_flattened(), &mut skinned);
        skinned.chunks_exact(6).map(|v| [v[0], v[1], v[2]]).collect()
    };
    chain.walks.iter().map(one).collect()
}

/// Tests that a device's thread can take the chain for a frame, and return it.
#[test]
fn a_chain_can_be_sent_to_another_thread() {
    let mut chain = Chain::new(1, None).unwrap();
    let mut chain =
        std::thread::spawn(move || chain.step(0.01, None).map(|_| chain).unwrap()).join().unwrap();
    assert!(chain.state().unwrap().seconds > 0.0);
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn steps_move_between_host_and_device_with_their_state() {
    let device = list_devices().into_iter().next().expect("an OpenCL device");
    let cl = ClContext::new(&device, Sources::default()).unwrap();
    let drag = Some(Drag { at: [0.0, 1.0, 0.1], pull: [0.02, 0.01, 0.03], radius: 0.3 });
    // Eight characters fill a vector; one more needs another one.
    let (mut host, mut device) = (Chain::new(9, None).unwrap(), Chain::new(9, Some(&cl)).unwrap());
    let mut again = Chain::new(9, Some(&cl)).unwrap();
    assert!(StepId::ALL.iter().all(|step| host.is_on_host(*step) && !device.is_on_host(*step)));
    for frame in 0..24 {
        // Each step is on the host for some frames, alone and with others.
        for (at, step) in StepId::ALL.into_iter().enumerate() {
            device.put_on_host(step, frame >= 2 && (frame >> at) & 1 == 1);
        }
        let drag = drag.filter(|_| frame > 3);
        let done = device.step(1.0 / 60.0, drag).unwrap();
        for (step, done) in &done {
            assert_eq!(matches!(done, StepExecution::Host(..)), device.is_on_host(*step), "{step:?}");
        }
        host.step(1.0 / 60.0, drag).unwrap();
        again.step(1.0 / 60.0, drag).unwrap();
        let off = furthest(&host.state().unwrap().positions, &device.state().unwrap().positions);
        assert!(off < 2e-3, "frame {frame}: {off}");
    }
    let off = furthest(host.vertices().unwrap(), device.vertices().unwrap());
    assert!(off < 0.1, "{off}");
    // Another device takes over, and the same input gives the same result on the same device.
    let state = again.state().unwrap();
    let mut other = Chain::new(9, Some(&cl)).unwrap();
    other.set_state(&state);
    for _ in 0..5 {
        again.step(1.0 / 60.0, drag).unwrap();
        other.step(1.0 / 60.0, drag).unwrap();
    }
    assert_eq!(again.state().unwrap(), other.state().unwrap());
    assert_eq!(again.vertices().unwrap(), other.vertices().unwrap());
    let before = other.state().unwrap();
    other.set_state(&Chain::new(1, None).unwrap().state().unwrap());
    assert_eq!(other.state().unwrap(), before);
}

/// Returns the largest distance in metres by which legs or trunk stick out of the shirt. It is measured along the lines from
/// the centre of a ring of vertices to each of its vertices.
fn deepest(vertices: &[f32], figure: &Figure) -> f32 {
    let point = |v: usize| [vertices[8 * v], vertices[8 * v + 1], vertices[8 * v + 2]];
    let triangle = |t: &[u32]| [point(t[0] as usize), point(t[1] as usize), point(t[2] as usize)];
    let cloth: Vec<[[f32; 3]; 3]> = figure.shirt.indices.chunks_exact(3).map(triangle).collect();
    let is_leg = |v: &BodyVertex| v.bones[0] >= 8 && v.uv[1] < 1.0;
    let body = figure.body.vertices.iter().enumerate();
    let legs: Vec<usize> = body.filter(|(_, v)| is_leg(v)).map(|(at, _)| SHIRT_VERTICES + at).collect();
    assert_eq!(legs.len(), 2 * 19 * 12);
    // The rings of each leg from the hip downward, and those of the trunk from the collar.
    let thighs = legs.chunks_exact(19 * 12).flat_map(|leg| leg[12..10 * 12].chunks_exact(12));
    let trunk: Vec<usize> = (SHIRT_VERTICES + 2 * 24..SHIRT_VERTICES + 21 * 24).collect();
    let mut worst: f32 = 0.0;
    for ring in thighs.chain(trunk.chunks_exact(24)) {
        let sum = ring.iter().fold([0.0; 3], |sum, v| add(sum, point(*v)));
        let middle = scale(sum, 1.0 / ring.len() as f32);
        for way in ring.iter().map(|v| sub(point(*v), middle)) {
            let length = dot(way, way).sqrt();
            let through = cloth.iter().filter_map(|triangle| crossing(middle, way, triangle));
            worst = through.map(|part| (1.0 - part) * length).fold(worst, f32::max);
        }
    }
    worst
}

/// Returns the part of the path from `from` to a triangle (T. Möller and B. Trumbore, "Fast, Minimum Storage Ray/Triangle
/// Intersection", 1997); `None` if the path does not cross the triangle.
fn crossing(from: [f32; 3], path: [f32; 3], [a, b, c]: &[[f32; 3]; 3]) -> Option<f32> {
    let (ab, ac, off) = (sub(*b, *a), sub(*c, *a), sub(from, *a));
    let (p, q) = (cross(path, ac), cross(off, ab));
    let volume = dot(ab, p);
    let [u, v, part] = [dot(off, p), dot(path, q), dot(ac, q)].map(|x| x / volume);
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..1.0).contains(&part)).then_some(part)
}

/// Tests at several frame rates that the body does not stick out of its shirt while the figure walks.
#[test]
fn bodies_stay_inside_their_shirts() {
    for rate in [5, 12, 25, 60] {
        let mut chain = Chain::new(1, None).unwrap();
        let mut worst: f32 = 0.0;
        for frame in 0..8 * rate {
            chain.step(1.0 / rate as f32, None).unwrap();
            // The simulation begins at rest.
            if frame >= 2 * rate {
                let figure = chain.figure.clone();
                worst = worst.max(deepest(chain.vertices().unwrap(), &figure));
            }
        }
        println!("{rate} frames a second: {:.1} mm of the body are outside", worst * 1e3);
        assert!(worst < OUTSIDE, "{rate} frames a second: {worst} m");
    }
}

/// The distance by which the body may stick out of its shirt, in metres.
const OUTSIDE: f32 = 0.000_5;
