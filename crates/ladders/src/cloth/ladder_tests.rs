//! Every rung is right at every step, by the comparison that comes before its times.

use ocl::ffi::CL_MEM_READ_WRITE;

use super::*;
use base::verify::{self, Elements};
use ladder::Outcome;
use ladder::bench::Bench;
use ladder::contest::Contest;
use ladder::trial::Child;
use opencl::cl::{Buffer, ClContext, list_devices};

#[test]
fn every_rung_is_right() {
    let devices = list_devices();
    let device = devices.first();
    let mut child = Child::new(Cloth::NAME, None);
    let mut contest = Contest::new(&Cloth, device, &mut child);
    let mut ran = 0;
    // What the others differ in is in the chain, too.
    let is_tried = |case: &Case| matches!(case.step, Some(StepId::Skin | StepId::Distances) | None);
    for case in Case::all(10).filter(is_tried) {
        let mut room = contest.room(&case).unwrap();
        for rung in RUNGS.iter().filter(|rung| !matches!(rung.work, Work::Fastest)) {
            let prepared = match contest.prepare(rung, &mut room) {
                Ok(prepared) => prepared,
                Err(outcome) => {
                    assert!(
                        matches!(*outcome, Outcome::Unsupported(_)),
                        "{} {}: {outcome:?}",
                        rung.id,
                        case.title()
                    );
                    continue;
                }
            };
            contest.poison(&prepared.ready, &mut room).unwrap();
            let times = [0; 5].map(|_| contest.run(&prepared.ready, &mut room).unwrap().ms());
            let best = times.into_iter().fold(f64::MAX, f64::min);
            let accuracy = contest.compare(&prepared.ready, &mut room).unwrap().unwrap_or_else(|report| {
                panic!("{} {}: {report}", rung.id, case.title());
            });
            println!("{:30} {:10} {best:9.3} ms {:?}", case.title(), rung.id, accuracy);
            ran += 1;
        }
    }
    let of_device = if device.is_some() { 7 + 8 + 14 } else { 0 };
    assert_eq!(ran, 3 * 2 + of_device);
}

/// Skinning begins late in its own queue: who does not wait for it takes drivers that are not there yet.
#[test]
fn what_needs_the_drivers_waits_for_the_other_queue() {
    let Some(device) = list_devices().into_iter().next() else { return };
    let cl = ClContext::new(&device).unwrap();
    let config = Config::of(&codes::TWO_QUEUES, device.info.kind).fitted(&device.info);
    let built = Cloth.compile(&cl, &config).unwrap();
    let Built::Kernels(program) = &built else { panic!("kernels") };
    let mut room = Cloth.room(Some(&cl), &Case { step: None, army: 3 }, 0).unwrap();
    let want = Cloth.load(&mut room, room::NAMES[0]).unwrap();
    Cloth.write(&built, &mut room, &verify::poisoned(&want)).unwrap();
    let long = Buffer::new(&cl.context, CL_MEM_READ_WRITE, 1 << 28).unwrap();
    let filled = long.enqueue_fill(program.beside.as_ref().unwrap(), &[1; 4], 0, long.len()).unwrap();
    Cloth.run(&built, &mut room).unwrap();
    let got = Cloth.read(&built, &room).unwrap();
    assert!(verify::compare(&want, &got, Cloth.elements(&room), (&[], &[])).is_none());
    filled.wait_for().unwrap();
}

#[test]
fn bounds_are_kept_and_what_is_outside_or_no_number_is_not_near() {
    for case in Case::all(2) {
        let near = Near { case, shape: case.output(&figure()) };
        let bound = case.bound();
        assert!(near.is_close(0, 1.0 + 0.9 * bound, 1.0) && !near.is_close(0, 1.0 + 1.1 * bound, 1.0));
        assert!(!near.is_close(0, f64::NAN, 1.0) && !near.is_close(0, f64::INFINITY, 1.0));
        let normal = near.shape.numbers > 3;
        assert_eq!(near.is_close(4, 1.0 + 9.0 * bound, 1.0), normal, "{}", case.title());
        assert_eq!(Case::from_json(&case.json()), Some(case));
    }
    assert!(Case::from_json(&serde_json::json!({ "step": "skin", "army": 0 })).is_none());
    assert!(Case::from_json(&serde_json::json!({ "step": "sew", "army": 1 })).is_none());
}
