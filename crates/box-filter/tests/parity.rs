//! Every variant gives exactly the bytes of the scalar reference, at all kinds of sizes, radii, patterns and bands. Needs an
//! OpenCL device and fails without one. `planar.rs` has the tests of the filter on planes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use crate::context;
use base::device::DeviceKind;
use base::random::Xorshift;
use base::verify;
use box_filter::reference::quick;
use box_filter::{BuiltVariant, Config, Extent, Scratch, filter_once, named};
use box_filter::{MAX_RADIUS, VariantId};
use ladder::check::VariantChecker;
use ladder::runner::{Ladder as _, Part};
use ladders::box_filter::BoxFilter;
use opencl::cl::ClContext;
use opencl::memory::{Picture, Rgba, Storage};

/// The largest number of reads for a case of the naive variant; an image sampler on a CPU does about 10⁸ per second.
const NAIVE_READS: f64 = 2.1e8;
/// Cases of the naive variant with more reads are checked with noise alone, since all patterns use the same code.
const NAIVE_READS_OF_ALL_PATTERNS: f64 = 1e7;
/// Sizes at which the naive variant runs all radii and patterns, besides the smaller ones of [`SMALL`].
const NAIVE: [(u32, u32); 2] = [(17, 19), (33, 7)];

const SMALL: [(u32, u32); 9] =
    [(1, 1), (1, 37), (41, 1), (2, 2), (3, 5), (13, 7), (63, 65), (127, 3), (129, 130)];
const RADII: [u32; 6] = [0, 1, 7, 31, MAX_RADIUS - 1, MAX_RADIUS];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pattern {
    White,
    Black,
    Noise,
    Gradient,
    Checkerboard,
    OnePixel,
    Saturated,
}

const PATTERNS: [Pattern; 7] = {
    use Pattern::*;
    [White, Black, Noise, Gradient, Checkerboard, OnePixel, Saturated]
};

fn picture(pattern: Pattern, width: u32, height: u32) -> Vec<u8> {
    let mut random = Xorshift::new(0x9e37_79b9);
    let mut out = Vec::with_capacity((width * height * 4) as usize);
    for y in 0..height {
        for x in 0..width {
            out.extend_from_slice(&match pattern {
                Pattern::White => [255; 4],
                Pattern::Black => [0; 4],
                Pattern::Noise => random.draw().to_le_bytes(),
                Pattern::Gradient => [(x * 3) as u8, (y * 5) as u8, (x + y) as u8, 255],
                Pattern::Checkerboard => [((x + y) % 2 * 255) as u8; 4],
                Pattern::OnePixel if (x, y) == (width / 2, height / 3) => [255; 4],
                Pattern::OnePixel => [0; 4],
                Pattern::Saturated => match (x / 8 + y / 8) % 3 {
                    0 => [255, 0, 0, 255],
                    1 => [0, 255, 0, 0],
                    _ => [0, 0, 255, 255],
                },
            });
        }
    }
    out
}

type Case = (Pattern, (u32, u32), u32);

/// Returns a picture and the reference's output. All variants are compared with the same pictures, so each is computed once.
fn case(key: Case) -> Arc<(Vec<u8>, Vec<u8>)> {
    type Cell = Arc<OnceLock<Arc<(Vec<u8>, Vec<u8>)>>>;
    static MADE: LazyLock<Mutex<HashMap<Case, Cell>>> = LazyLock::new(Mutex::default);
    let cell = MADE.lock().unwrap().entry(key).or_default().clone();
    // Not under the lock, so that other tests continue.
    let made = cell.get_or_init(|| {
        let (pattern, (width, height), radius) = key;
        let src = picture(pattern, width, height);
        let want = quick(&src, width as usize, height as usize, radius as usize);
        Arc::new((src, want))
    });
    made.clone()
}

fn reads(width: u32, height: u32, radius: u32) -> f64 {
    f64::from(width * height) * f64::from(2 * radius + 1).powi(2)
}

fn compare(got: &[u8], want: &[u8], width: u32, case: &str) {
    let report = verify::compare(want, got, &Rgba { width: width as usize }, 0);
    assert!(got == want, "{case}: {report:?}");
}

fn check(cl: &ClContext, variant: &BuiltVariant, pattern: Pattern, (width, height): (u32, u32), radius: u32) {
    let made = case((pattern, (width, height), radius));
    let (src, want) = &*made;
    let got = filter_once(cl, variant, src, Extent::rgba((width, height), radius)).unwrap();
    compare(&got, want, width, &format!("{} {pattern:?} {width}×{height} r={radius}", variant.id()));
}

/// Returns true for variants with kernels on RGBA pictures.
fn has_kernels(id: &VariantId) -> bool {
    !id.reads_planes() && id.code(DeviceKind::Cpu).is_some()
}

fn parity(id: VariantId) {
    let cl = context();
    parity_of(&cl, &BuiltVariant::build(&cl, id).unwrap());
}

fn parity_of(cl: &ClContext, variant: &BuiltVariant) {
    let id = variant.id();
    let mut cases = 0;
    let more: &[_] = if id == named("naive") { &NAIVE } else { &[] };
    for &size in SMALL.iter().chain(more) {
        for radius in RADII {
            for pattern in PATTERNS {
                let limit = if pattern == Pattern::Noise { NAIVE_READS } else { NAIVE_READS_OF_ALL_PATTERNS };
                if id == named("naive") && reads(size.0, size.1, radius) > limit {
                    continue;
                }
                check(cl, variant, pattern, size, radius);
                cases += 1;
            }
        }
    }
    let fits = |radius| id != named("naive") || reads(1280, 720, radius) <= NAIVE_READS;
    for radius in RADII.into_iter().filter(|&r| fits(r)) {
        for pattern in [Pattern::Noise, Pattern::White] {
            check(cl, variant, pattern, (1280, 720), radius);
            cases += 1;
        }
    }
    // Each small width, with windows that are smaller, as wide, and much wider.
    for width in 1..=20 {
        for radius in [0, 1, 3, 8, 40] {
            check(cl, variant, Pattern::Noise, (width, 6), radius);
            cases += 1;
        }
    }
    // Widths that leave each possible remainder for vectors of four and columns of sixteen.
    for width in 60..=80 {
        check(cl, variant, Pattern::Noise, (width, 19), 5);
        cases += 1;
    }
    assert!(cases > 300, "only {cases} cases ran");
}

/// Runs in `./dev test --quick`: every variant on three small pictures.
#[test]
fn every_variant_equals_the_reference_at_small_sizes() {
    let cl = context();
    for id in VariantId::all().filter(has_kernels) {
        let variant = BuiltVariant::build(&cl, id).unwrap();
        for size in [(1, 1), (13, 7), (63, 65)] {
            for radius in [0, 1, 7, 31] {
                check(&cl, &variant, Pattern::Noise, size, radius);
            }
        }
    }
}

#[test]
fn naive_equals_the_reference() {
    parity(named("naive"));
}

#[test]
fn all_others_equal_the_reference() {
    let others = VariantId::all().filter(|id| has_kernels(id) && !["naive", "auto"].contains(&id.name));
    std::thread::scope(|scope| others.for_each(|id| drop(scope.spawn(move || parity(id)))));
}

/// The code for GPUs gives the same bytes on any device, so it is checked on this one.
#[test]
fn fused_for_gpus_equals_the_reference() {
    let cl = context();
    parity_of(&cl, &BuiltVariant::build_as(&cl, named("fused"), DeviceKind::Gpu).unwrap());
}

/// Tests all values of the parameters of the code for GPUs, on pictures wider than a work-group and higher than a strip.
#[test]
fn fused_for_gpus_equals_the_reference_with_all_group_sizes() {
    let cl = context();
    let code = named("fused").code(DeviceKind::Gpu).unwrap();
    let cases =
        [(1203, 37, 3), (1204, 37, 31), (2051, 9, 0), (517, 70, MAX_RADIUS), (520, 3, 16), (904, 21, 7)];
    let cases = cases.map(|(width, height, radius)| {
        let src = picture(Pattern::Noise, width, height);
        let want = quick(&src, width as usize, height as usize, radius as usize);
        (width, height, radius, src, want)
    });
    let mut built = 0;
    for (columns, group) in [(4, 96), (4, 128), (8, 48), (8, 64), (8, 128), (16, 32)] {
        for (rows, ahead, start, strips) in [(1, 1, 4, 1), (2, 0, 8, 3), (1, 0, 8, 16), (2, 1, 4, 40)] {
            let values = [("COLUMNS", columns), ("GROUP", group), ("ROWS", rows), ("AHEAD", ahead)];
            let values = values.into_iter().chain([("START", start), ("STRIPS", strips)]);
            let config = values
                .fold(Config::new(code, DeviceKind::Gpu), |config, (name, value)| config.with(name, value));
            // Some devices have too little local memory for the largest ones.
            if !config.is_allowed(&cl.device.info) {
                continue;
            }
            built += 1;
            let variant = BuiltVariant::build_with(&cl, named("fused"), &config).unwrap();
            for (width, height, radius, src, want) in &cases {
                let got = filter_once(&cl, &variant, src, Extent::rgba((*width, *height), *radius)).unwrap();
                compare(&got, want, *width, &format!("{config} {width}×{height} r={radius}"));
            }
        }
    }
    assert!(built >= 12, "{built}");
    let narrow = Config::new(code, DeviceKind::Gpu).with("COLUMNS", 4).with("GROUP", 64);
    assert!(BuiltVariant::build_with(&cl, named("fused"), &narrow).is_err(), "r=128 does not fit the group");
}

/// Written directly into an image the bytes are the same. Variants that read images, or cannot write them, are refused.
#[test]
fn fused_for_gpus_into_an_image() {
    let cl = context();
    let config = |id: VariantId| Config::new(id.code(DeviceKind::Gpu).unwrap(), DeviceKind::Gpu);
    let into_image = |id| BuiltVariant::build_into(&cl, id, &config(id), Storage::Image);
    let variant = into_image(named("fused")).unwrap();
    assert_eq!((variant.input, variant.output), (Storage::Buffer, Storage::Image));
    for (size, radius) in
        [((1, 1), 5), ((37, 11), 0), ((131, 67), 4), ((1203, 37), 31), ((64, 9), MAX_RADIUS)]
    {
        for pattern in PATTERNS {
            check(&cl, &variant, pattern, size, radius);
        }
    }
    assert!(into_image(named("flat")).is_err(), "flat writes buffers only");
}

/// Builds all variants on RGBA for this device, and the one with other code for GPUs also in that version.
fn all(cl: &ClContext) -> Vec<BuiltVariant> {
    let ids = VariantId::all().filter(has_kernels);
    let mut all: Vec<_> = ids.map(|id| BuiltVariant::build(cl, id).unwrap()).collect();
    all.push(BuiltVariant::build_as(cl, named("fused"), DeviceKind::Gpu).unwrap());
    all
}

/// On GPUs a variant has other default parameters for large pictures than for smaller ones.
#[test]
fn defaults_for_gpus_follow_the_size() {
    let cl = context();
    let (medium, large) = ((1920, 1080), (2048, 1600));
    for (id, wanted) in [
        (named("running-sum"), ["STRIP_X=64 ", "STRIP_X=256 "]),
        (named("fused"), ["COLUMNS=4 ", "COLUMNS=8 "]),
    ] {
        let variant = BuiltVariant::build_as(&cl, id, DeviceKind::Gpu).unwrap();
        for ((width, height), wanted) in [medium, large].into_iter().zip(wanted) {
            let [src, dst] = [0, 1].map(|_| Picture::alloc(&cl, Storage::Buffer, width, height).unwrap());
            let plan = variant
                .plan((&[&src], &dst), &mut Scratch::new(&cl), Extent::rgba((width, height), 7))
                .unwrap();
            assert!(plan.description().contains(wanted), "{wanted} in {}", plan.description());
        }
        if id == named("running-sum") {
            check(&cl, &variant, Pattern::Noise, large, 7);
        }
    }
}

/// Stripes as high as the window cause the largest changes of the mean from row to row. `fused` computes in fewer bits where
/// the row above limits the sum; the radii are those on both sides of each change of its algorithm.
#[test]
fn stripes_as_high_as_the_window_equal_the_reference() {
    let cl = context();
    let variant = BuiltVariant::build(&cl, named("fused")).unwrap();
    for radius in [1, 2, 7, 8, 15, 31, 41, 42, 43, 44, 47, 48, 63, 64] {
        let (width, height, side) = (23, 32 * radius, 2 * radius + 1);
        let rows = (0..height).flat_map(|y| vec![(y / side % 2 * 255) as u8; 4 * width as usize]);
        let src: Vec<u8> = rows.collect();
        let want = quick(&src, width as usize, height as usize, radius as usize);
        let got = filter_once(&cl, &variant, &src, Extent::rgba((width, height), radius)).unwrap();
        compare(&got, &want, width, &format!("fused, stripes, r={radius}"));
    }
}

/// A picture wider and higher than any strip tests the borders between strips.
#[test]
fn running_sums_continue_across_strips() {
    let cl = context();
    let variant = BuiltVariant::build(&cl, named("running-sum")).unwrap();
    for (size, radius) in [((9001, 5), 3), ((9001, 5), MAX_RADIUS), ((21, 2600), MAX_RADIUS), ((21, 2600), 1)]
    {
        check(&cl, &variant, Pattern::Noise, size, radius);
    }
}

/// Returns memory for a variant's input, which holds noise, and its output, and the noise.
fn pictures(cl: &ClContext, variant: &BuiltVariant, (width, height): (u32, u32)) -> ([Picture; 2], Vec<u8>) {
    let both = [(); 2].map(|()| Picture::alloc(cl, variant.input, width, height).unwrap());
    let pixels = picture(Pattern::Noise, width, height);
    both[0].write(&cl.queue, &pixels).unwrap();
    (both, pixels)
}

/// Bands of rows, in any order and of any height, give the bytes of one launch.
#[test]
fn bands_equal_one_launch() {
    let cl = context();
    let (width, height) = (131, 67);
    for variant in all(&cl) {
        let id = variant.id();
        let ([src, dst], pixels) = pictures(&cl, &variant, (width, height));
        let mut scratch = Scratch::new(&cl);
        for radius in [0, 4, 40] {
            let whole = Extent::rgba((width, height), radius);
            let plan = variant.plan((&[&src], &dst), &mut scratch, whole).unwrap();
            let want = quick(&pixels, width as usize, height as usize, radius as usize);
            for band in [1, 2, 7, 16, 66] {
                let poison: Vec<u8> = want.iter().map(|v| !v).collect();
                dst.write(&cl.queue, &poison).unwrap();
                for pass in 0..plan.passes() {
                    let starts: Vec<u32> = (0..height).step_by(band as usize).collect();
                    for start in starts.into_iter().rev() {
                        let _event = plan.enqueue(&cl.queue, pass, start..height.min(start + band)).unwrap();
                    }
                }
                let mut got = vec![0; want.len()];
                dst.read(&cl.queue, &mut got).unwrap();
                compare(&got, &want, width, &format!("{id} r={radius} in bands of {band}"));
            }
        }
    }
}

/// A band writes its own rows and no others.
#[test]
fn a_band_writes_only_its_own_rows() {
    let cl = context();
    let (width, height) = (77, 40);
    for variant in all(&cl) {
        let id = variant.id();
        let ([src, dst], pixels) = pictures(&cl, &variant, (width, height));
        let want = quick(&pixels, width as usize, height as usize, 3);
        let poison: Vec<u8> = want.iter().map(|v| !v).collect();
        dst.write(&cl.queue, &poison).unwrap();
        let plan =
            variant.plan((&[&src], &dst), &mut Scratch::new(&cl), Extent::rgba((width, height), 3)).unwrap();
        let last = plan.passes() - 1;
        for pass in 0..last {
            let _event = plan.enqueue(&cl.queue, pass, 0..height).unwrap();
        }
        let _event = plan.enqueue(&cl.queue, last, 11..23).unwrap();
        let mut got = vec![0; want.len()];
        dst.read(&cl.queue, &mut got).unwrap();
        let row = (width * 4) as usize;
        let mut expected = poison.clone();
        expected[11 * row..23 * row].copy_from_slice(&want[11 * row..23 * row]);
        compare(&got, &expected, width, &format!("{id} rows 11 to 23"));
        assert!(plan.enqueue(&cl.queue, last, 30..41).is_err(), "{id}: a band beyond the picture is refused");
        assert!(plan.enqueue(&cl.queue, last, 5..5).is_err(), "{id}: an empty band is refused");
    }
}

/// Makes all checks of `bench` for a variant with every value of every parameter that tuning may choose.
fn every_value(id: VariantId, kind: DeviceKind) {
    let cl = context();
    let code = id.code(kind).unwrap();
    let default = Config::new(code, kind).fit_to_device(&cl.device.info);
    let mut ladder = BoxFilter::on_noise((320, 180));
    ladder.into_images = true;
    for config in default.neighbours(&cl.device.info).into_iter().chain([default]) {
        let built = ladder.build(Part::Kernels(&cl, &config)).unwrap();
        for radius in [3, 31] {
            // A busy machine must not leave checks out.
            let checker =
                VariantChecker { budget_ms: None, ..VariantChecker::new(&ladder, Some(&cl), &built) };
            let timed = ladder.case_of(&built, &ladder.case(radius));
            let checked = checker.check(&timed, &mut || Ok(())).unwrap();
            let checked = checked.unwrap_or_else(|report| panic!("{id} {config}: {report}"));
            assert!(checked.iter().any(|one| one.sizes.contains(&"67x33".to_owned())), "{checked:?}");
            assert!(checked.iter().any(|one| one.radii.contains(&MAX_RADIUS)), "{checked:?}");
        }
    }
}

#[test]
fn all_parameter_values_of_kernels_for_cpus_equal_the_reference() {
    let filters = VariantId::all().filter(|id| has_kernels(id) && *id != VariantId::auto());
    std::thread::scope(|scope| {
        filters.for_each(|id| drop(scope.spawn(move || every_value(id, DeviceKind::Cpu))));
    });
}

#[test]
fn all_parameter_values_of_the_fused_filter_for_gpus_equal_the_reference() {
    every_value(named("fused"), DeviceKind::Gpu);
}
