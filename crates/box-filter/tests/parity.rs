//! Every variant gives exactly the bytes of the scalar reference: sizes, radii, patterns, and launches cut
//! into bands. Needs an OpenCL device, and fails without one. `planar.rs` does so for the filter on planes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use crate::context;
use base::random::Xorshift;
use box_filter::reference::reference;
use box_filter::suite::{Subject, Suite};
use box_filter::{BuiltVariant, Config, Scratch, filter_once};
use box_filter::{MAX_RADIUS, VariantId};
use opencl::cl::{ClContext, DeviceKind};
use opencl::memory::{Picture, Storage};

/// Reads that one case may cost the naive variant: an image sampler on a CPU manages some 10⁸ a second.
const NAIVE_READS: f64 = 2.1e8;
/// Sizes at which it can run all radii and patterns, besides the smaller ones of [`SMALL`].
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

const PATTERNS: [Pattern; 7] = [
    Pattern::White,
    Pattern::Black,
    Pattern::Noise,
    Pattern::Gradient,
    Pattern::Checkerboard,
    Pattern::OnePixel,
    Pattern::Saturated,
];

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

/// A picture, and what the reference makes of it. All variants are held against the same ones, so each is made once.
fn case(key: Case) -> Arc<(Vec<u8>, Vec<u8>)> {
    type Cell = Arc<OnceLock<Arc<(Vec<u8>, Vec<u8>)>>>;
    static MADE: LazyLock<Mutex<HashMap<Case, Cell>>> = LazyLock::new(Mutex::default);
    let cell = MADE.lock().unwrap().entry(key).or_default().clone();
    // Outside the lock: other tests go on with other cases meanwhile.
    let made = cell.get_or_init(|| {
        let (pattern, (width, height), radius) = key;
        let src = picture(pattern, width, height);
        let want = reference(&src, width as usize, height as usize, radius as usize);
        Arc::new((src, want))
    });
    made.clone()
}

fn reads(width: u32, height: u32, radius: u32) -> f64 {
    f64::from(width * height) * f64::from(2 * radius + 1).powi(2)
}

fn compare(got: &[u8], want: &[u8], width: u32, case: &str) {
    if let Some(at) = (0..want.len()).find(|&i| got[i] != want[i]) {
        let (pixel, channel) = (at / 4, at % 4);
        let differing = got.iter().zip(want).filter(|(g, w)| g != w).count();
        panic!(
            "{case}: {differing} of {} bytes differ, first at x={} y={} channel {channel}: got {}, want {}",
            want.len(),
            pixel % width as usize,
            pixel / width as usize,
            got[at],
            want[at]
        );
    }
}

fn check(cl: &ClContext, variant: &BuiltVariant, pattern: Pattern, (width, height): (u32, u32), radius: u32) {
    let made = case((pattern, (width, height), radius));
    let (src, want) = &*made;
    let got = filter_once(cl, variant, src, width, height, radius).unwrap();
    compare(&got, want, width, &format!("{} {pattern:?} {width}×{height} r={radius}", variant.kernels().id));
}

fn parity(id: VariantId) {
    let cl = context();
    parity_of(&cl, &BuiltVariant::build(&cl, id).unwrap());
}

fn parity_of(cl: &ClContext, variant: &BuiltVariant) {
    let id = variant.kernels().id;
    let mut cases = 0;
    let more: &[_] = if id == VariantId::Naive { &NAIVE } else { &[] };
    for &size in SMALL.iter().chain(more) {
        for radius in RADII {
            for pattern in PATTERNS {
                if id == VariantId::Naive && reads(size.0, size.1, radius) > NAIVE_READS {
                    continue;
                }
                check(cl, variant, pattern, size, radius);
                cases += 1;
            }
        }
    }
    let fits = |radius| id != VariantId::Naive || reads(1280, 720, radius) <= NAIVE_READS;
    for radius in RADII.into_iter().filter(|&r| fits(r)) {
        for pattern in [Pattern::Noise, Pattern::White] {
            check(cl, variant, pattern, (1280, 720), radius);
            cases += 1;
        }
    }
    // Each small width, with windows that are smaller, as wide, and far wider.
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
fn every_variant_at_small_sizes() {
    let cl = context();
    for id in VariantId::ALL.into_iter().filter(|id| id.kernels().is_some()) {
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
    parity(VariantId::Naive);
}

#[test]
fn separable_equals_the_reference() {
    parity(VariantId::Separable);
}

#[test]
fn flat_equals_the_reference() {
    parity(VariantId::Flat);
}

#[test]
fn vectorized_equals_the_reference() {
    parity(VariantId::Vectorized);
}

#[test]
fn running_sum_equals_the_reference() {
    parity(VariantId::RunningSum);
}

#[test]
fn fused_equals_the_reference() {
    parity(VariantId::Fused);
}

/// Kernels that have no test of their own above, as new ones have not.
#[test]
fn all_others_equal_the_reference() {
    use VariantId::*;
    let above = [Naive, Separable, Flat, Vectorized, RunningSum, Fused, Auto];
    let others = VariantId::ALL.into_iter().filter(|id| id.kernels().is_some() && !above.contains(id));
    others.for_each(parity);
}

/// The code for GPUs gives the same bytes on any device, so it is checked on this one.
#[test]
fn fused_for_gpus_equals_the_reference() {
    let cl = context();
    parity_of(&cl, &BuiltVariant::build_as(&cl, VariantId::Fused, DeviceKind::Gpu).unwrap());
}

/// Every shape of the code for GPUs, on pictures that are wider than a work-group and higher than a strip.
#[test]
fn fused_for_gpus_in_every_shape() {
    let cl = context();
    let code = VariantId::Fused.kernels().unwrap().code(DeviceKind::Gpu);
    let cases =
        [(1203, 37, 3), (1204, 37, 31), (2051, 9, 0), (517, 70, MAX_RADIUS), (520, 3, 16), (904, 21, 7)];
    let cases = cases.map(|(width, height, radius)| {
        let src = picture(Pattern::Noise, width, height);
        let want = reference(&src, width as usize, height as usize, radius as usize);
        (width, height, radius, src, want)
    });
    for (columns, group) in [(4, 96), (4, 128), (8, 48), (8, 64), (8, 128), (16, 32)] {
        for (rows, ahead, start, strips) in [(1, 1, 4, 1), (2, 0, 8, 3), (1, 0, 8, 16), (2, 1, 4, 40)] {
            let config = Config::of(code, DeviceKind::Gpu)
                .with("COLUMNS", columns)
                .with("GROUP", group)
                .with("ROWS", rows)
                .with("AHEAD", ahead)
                .with("START", start)
                .with("STRIPS", strips);
            let variant = BuiltVariant::build_with(&cl, VariantId::Fused, &config).unwrap();
            for (width, height, radius, src, want) in &cases {
                let got = filter_once(&cl, &variant, src, *width, *height, *radius).unwrap();
                compare(&got, want, *width, &format!("{config} {width}×{height} r={radius}"));
            }
        }
    }
    let narrow = Config::of(code, DeviceKind::Gpu).with("COLUMNS", 4).with("GROUP", 64);
    assert!(
        BuiltVariant::build_with(&cl, VariantId::Fused, &narrow).is_err(),
        "r=128 does not fit the group"
    );
}

/// Written straight into an image the bytes are the same; what reads images or cannot write them is refused.
#[test]
fn fused_for_gpus_into_an_image() {
    let cl = context();
    let config = |id: VariantId| Config::of(id.kernels().unwrap().code(DeviceKind::Gpu), DeviceKind::Gpu);
    let into_image = |id| BuiltVariant::build_into(&cl, id, &config(id), Storage::Image);
    let variant = into_image(VariantId::Fused).unwrap();
    assert_eq!((variant.kernels().storage, variant.output()), (Storage::Buffer, Storage::Image));
    for (size, radius) in
        [((1, 1), 5), ((37, 11), 0), ((131, 67), 4), ((1203, 37), 31), ((64, 9), MAX_RADIUS)]
    {
        for pattern in PATTERNS {
            check(&cl, &variant, pattern, size, radius);
        }
    }
    assert!(into_image(VariantId::Flat).is_err(), "flat writes buffers only");
}

/// All filters on RGBA as they are built for this device, and the one that has other code for GPUs.
fn all(cl: &ClContext) -> Vec<BuiltVariant> {
    let ids = VariantId::ALL.into_iter().filter(|id| id.kernels().is_some());
    let mut all: Vec<_> = ids.map(|id| BuiltVariant::build(cl, id).unwrap()).collect();
    all.push(BuiltVariant::build_as(cl, VariantId::Fused, DeviceKind::Gpu).unwrap());
    all
}

/// The largest sums there are: a window full of white at the largest radii, where floats would fail.
#[test]
fn white_at_the_largest_radii() {
    let cl = context();
    for variant in all(&cl) {
        let id = variant.kernels().id;
        for radius in [MAX_RADIUS - 1, MAX_RADIUS] {
            let want = vec![255; 40 * 9 * 4];
            let got = filter_once(&cl, &variant, &want, 40, 9, radius).unwrap();
            compare(&got, &want, 40, &format!("{id} white r={radius}"));
        }
    }
}

/// Graphics cards have other default parameters for large pictures than for others, in the same variant.
#[test]
fn defaults_for_gpus_follow_the_size() {
    let cl = context();
    let (medium, large) = ((1920, 1080), (2048, 1600));
    for (id, wanted) in [
        (VariantId::RunningSum, ["STRIP_X=64 ", "STRIP_X=256 "]),
        (VariantId::Fused, ["COLUMNS=4 ", "COLUMNS=8 "]),
    ] {
        let variant = BuiltVariant::build_as(&cl, id, DeviceKind::Gpu).unwrap();
        for ((width, height), wanted) in [medium, large].into_iter().zip(wanted) {
            let [src, dst] = [0, 1].map(|_| Picture::alloc(&cl, Storage::Buffer, width, height).unwrap());
            let plan = variant.plan(&cl, &src, &dst, &mut Scratch::new(), width, height, 7).unwrap();
            assert!(plan.chosen().contains(wanted), "{wanted} in {}", plan.chosen());
        }
        if id == VariantId::RunningSum {
            check(&cl, &variant, Pattern::Noise, large, 7);
        }
    }
}

/// Stripes as high as the window: from row to row the mean changes by as much as it can, up and down. `fused` computes
/// in fewer bits where the row above bounds the sum; on both sides of each radius at which that changes.
#[test]
fn stripes_as_high_as_the_window() {
    let cl = context();
    let variant = BuiltVariant::build(&cl, VariantId::Fused).unwrap();
    for radius in [1, 2, 7, 8, 15, 31, 41, 42, 43, 44, 47, 48, 63, 64] {
        let (width, height, side) = (23, 32 * radius, 2 * radius + 1);
        let rows = (0..height).flat_map(|y| vec![(y / side % 2 * 255) as u8; 4 * width as usize]);
        let src: Vec<u8> = rows.collect();
        let want = reference(&src, width as usize, height as usize, radius as usize);
        let got = filter_once(&cl, &variant, &src, width, height, radius).unwrap();
        compare(&got, &want, width, &format!("fused, stripes, r={radius}"));
    }
}

/// Strips longer than the picture hide the places where one strip ends and the next begins: a picture wider
/// and higher than any strip shows them.
#[test]
fn running_sum_across_strips() {
    let cl = context();
    let variant = BuiltVariant::build(&cl, VariantId::RunningSum).unwrap();
    for (size, radius) in [((9001, 5), 3), ((9001, 5), MAX_RADIUS), ((21, 2600), MAX_RADIUS), ((21, 2600), 1)]
    {
        check(&cl, &variant, Pattern::Noise, size, radius);
    }
}

/// A launch cut into bands of rows, in any order and of any height, gives the bytes of one launch.
#[test]
fn bands_equal_one_launch() {
    let cl = context();
    let (width, height) = (131, 67);
    for variant in all(&cl) {
        let id = variant.kernels().id;
        let src = Picture::alloc(&cl, variant.kernels().storage, width, height).unwrap();
        let dst = Picture::alloc(&cl, variant.kernels().storage, width, height).unwrap();
        let pixels = picture(Pattern::Noise, width, height);
        src.write(&cl.queue, &pixels).unwrap();
        let mut scratch = Scratch::new();
        let plan = variant.plan(&cl, &src, &dst, &mut scratch, width, height, 0).unwrap();
        for radius in [0, 4, 40] {
            plan.set_radius(radius).unwrap();
            let want = reference(&pixels, width as usize, height as usize, radius as usize);
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
fn a_band_leaves_other_rows_alone() {
    let cl = context();
    let (width, height) = (77, 40);
    for variant in all(&cl) {
        let id = variant.kernels().id;
        let src = Picture::alloc(&cl, variant.kernels().storage, width, height).unwrap();
        let dst = Picture::alloc(&cl, variant.kernels().storage, width, height).unwrap();
        let pixels = picture(Pattern::Noise, width, height);
        let want = reference(&pixels, width as usize, height as usize, 3);
        let poison: Vec<u8> = want.iter().map(|v| !v).collect();
        src.write(&cl.queue, &pixels).unwrap();
        dst.write(&cl.queue, &poison).unwrap();
        let plan = variant.plan(&cl, &src, &dst, &mut Scratch::new(), width, height, 3).unwrap();
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

/// What `bench` and `tune` check of a variant, for every value of every parameter that tuning may choose.
fn every_value(id: VariantId, kind: DeviceKind) {
    let cl = context();
    let mut suite = Suite::default();
    let code = id.kernels().unwrap().code(kind);
    let default = Config::of(code, kind).fitted(&cl.device.info);
    let mut outputs = vec![id.kernels().unwrap().storage];
    outputs.extend(code.to_image.then_some(Storage::Image));
    // A pixel's read by the sampler: 10⁸ a second. The others are quick at these sizes.
    let read_ms = if id == VariantId::Naive { 1e-5 } else { 0.0 };
    for config in default.neighbours(&cl.device.info).into_iter().chain([default]) {
        for &output in &outputs {
            let built = BuiltVariant::build_into(&cl, id, &config, output).unwrap();
            let way = format!("{id} {config} into {output:?}");
            let subject = Subject { cl: &cl, variant: &built, of: (1280, 720), way: &way, read_ms };
            let mut checked = Vec::new();
            for radius in [3, 31] {
                let report = suite.sizes(subject, radius, &mut checked, &mut || Ok(())).unwrap();
                assert!(report.is_none(), "{}", report.unwrap());
            }
            let report = suite.radii(subject, &mut checked, &mut || Ok(())).unwrap();
            assert!(report.is_none(), "{}", report.unwrap());
            assert!(checked.iter().any(|one| one.sizes.contains(&"67x33".to_owned())), "{checked:?}");
            assert!(checked.iter().any(|one| one.radii.contains(&MAX_RADIUS)), "{checked:?}");
        }
    }
}

#[test]
fn every_value_of_the_ladders_parameters() {
    // Those with tests of their own below, and the one that is one of the others.
    let below = [VariantId::RunningSum, VariantId::Fused, VariantId::Auto];
    for id in VariantId::ALL.into_iter().filter(|id| id.kernels().is_some() && !below.contains(id)) {
        every_value(id, DeviceKind::Cpu);
    }
}

#[test]
fn every_value_of_the_running_sums_parameters() {
    every_value(VariantId::RunningSum, DeviceKind::Cpu);
}

#[test]
fn every_value_of_the_fused_filters_parameters() {
    every_value(VariantId::Fused, DeviceKind::Cpu);
}

#[test]
fn every_value_of_the_fused_filters_parameters_for_gpus() {
    every_value(VariantId::Fused, DeviceKind::Gpu);
}
