//! Tests that each variant is right in each step, by the comparison that is made before timing.

use ocl::ffi::CL_MEM_READ_WRITE;

use super::super::steps::StepId;
use super::*;
use base::verify::{self, Elements};
use compute::config::Config;
use compute::trial::Child;
use compute::variant::Work;
use ladder::Outcome;
use ladder::runner::LadderRunner;
use opencl::cl::{Buffer, ClContext, list_devices};
use opencl::sources::Sources;

#[test]
fn every_variant_is_right() {
    let devices = list_devices();
    let device = devices.first();
    assert!(device.is_some(), "an OpenCL device");
    let mut child = Child::new(Cloth.info().name, None);
    let runner = LadderRunner::new(&Cloth, device, Sources::default(), &mut child);
    let mut ran = 0;
    // The changes of other variants also affect the chain.
    let is_tried = |case: &Case| matches!(case.step, Some(StepId::Skin | StepId::Distances) | None);
    for case in Case::all(10).filter(is_tried) {
        let mut buffers = runner.allocate(&case).unwrap();
        for variant in codes::VARIANTS.iter().filter(|variant| !matches!(variant.work, Work::Fastest(_))) {
            let prepared = match runner.prepare(variant, &mut buffers) {
                Ok(prepared) => prepared,
                Err(outcome) => {
                    let is_unsupported = matches!(*outcome, Outcome::Unsupported(_));
                    assert!(is_unsupported, "{} {}: {outcome:?}", variant.id, case.title());
                    continue;
                }
            };
            let checked = runner.check(variant.id, &prepared, &mut buffers);
            let compared =
                checked.and_then(|_| runner.run_compared((None, false), &prepared.built, &mut buffers));
            let (_, accuracy) =
                compared.unwrap_or_else(|outcome| panic!("{} {}: {outcome:?}", variant.id, case.title()));
            let times = [0; 5].map(|_| runner.run(&prepared.built, &mut buffers).unwrap().ms());
            let best = times.into_iter().fold(f64::MAX, f64::min);
            println!("{:30} {:10} {best:9.3} ms {:?}", case.title(), variant.id, accuracy);
            ran += 1;
        }
    }
    assert_eq!(ran, 3 * 2 + 7 + 8 + 14);
}

/// Skinning is delayed in its own queue: a driving step that does not wait for it reads drivers that are not there yet.
#[test]
fn driving_waits_for_the_skinning_queue() {
    let device = list_devices().into_iter().next().expect("an OpenCL device");
    let cl = ClContext::new(&device, Sources::default()).unwrap();
    let config = Config::for_device(&codes::TWO_QUEUES, &device.info);
    let built = Cloth.build(Part::Kernels(&cl, &config)).unwrap();
    let Built::Kernels(program) = &built else { panic!("kernels") };
    let mut buffers = Cloth.allocate(Some(&cl), &Case { step: None, army: 3 }, 0).unwrap();
    let Expected { bytes: want, elements } = Cloth.load(&mut buffers, buffers::INPUT_NAMES[0]).unwrap();
    Cloth.write(&built, &mut buffers, &verify::poisoned(&want)).unwrap();
    let long = Buffer::new(&cl.context, CL_MEM_READ_WRITE, 1 << 28).unwrap();
    let filled = long.enqueue_fill(program.skin_queue.as_ref().unwrap(), &[1; 4], long.len()).unwrap();
    Cloth.run(&built, &mut buffers).unwrap();
    let got = Cloth.read(&built, &buffers).unwrap().bytes;
    assert!(verify::compare(&want, &got, elements.as_ref(), 0).is_none());
    filled.wait_for().unwrap();
}

#[test]
fn values_outside_the_bounds_and_nan_are_not_near() {
    for case in Case::all(2) {
        let near = NearElements { case, shape: case.output(&FIGURE) };
        let bound = case.bound();
        assert!(near.is_close(0, 1.0 + 0.9 * bound, 1.0) && !near.is_close(0, 1.0 + 1.1 * bound, 1.0));
        assert!(!near.is_close(0, f64::NAN, 1.0) && !near.is_close(0, f64::INFINITY, 1.0));
        let normal = near.shape.numbers > 3;
        assert_eq!(near.is_close(4, 1.0 + 9.0 * bound, 1.0), normal, "{}", case.title());
    }
}
