//! The filter on planes: the kernels against the reference, byte for byte, and the difference of the reference from a filter
//! after the conversion. The kernels' tests need an OpenCL device and fail without one.

use crate::context;
use base::device::DeviceKind;
use box_filter::color_kernels::{ConvertCommand, Converter, KernelCache};
use box_filter::pictures::noise;
use box_filter::planar::run::{self, FilteredPlanes};
use box_filter::planar::{planar_reference, suite};
use box_filter::reference::reference;
use box_filter::{BuiltVariant, MAX_RADIUS, named};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};
use video::color::planes::layout_of;
use video::color::planes::pack;
use video::color::{
    Coefficients, Correction, FRACTION_BITS, Family, Layout, Matrix, convert_reference, correct_reference,
};
use video::{References, bundled_clip, read_frame_at};

/// Returns the formats that `bench` checks, and others with the same memory layout as one of them.
fn formats() -> impl Iterator<Item = Pixel> {
    let alike = [Pixel::YUVJ420P, Pixel::NV16, Pixel::YUV420P9LE, Pixel::GBRP];
    suite::FORMATS.into_iter().chain(alike)
}

const SIZES: [(u32, u32); 12] = [
    (1, 1),
    (1, 9),
    (11, 1),
    (2, 2),
    (3, 5),
    (16, 4),
    (17, 3),
    (31, 18),
    (34, 7),
    (66, 33),
    (259, 11),
    (1203, 6),
];

fn layout(format: Pixel, (width, height): (u32, u32)) -> Layout {
    layout_of(&Video::new(format, width, height)).unwrap_or_else(|| panic!("{format:?} has a layout"))
}

fn block(cl: &ClContext, bytes: &[u8]) -> Picture {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Picture::block(cl, &cl.queue, &bytes).unwrap()
}

fn check(cl: &ClContext, filter: &BuiltVariant, layout: &Layout, samples: &[u8], radius: u32, bands: &[u32]) {
    let want = &planar_reference(layout, samples, radius).unwrap();
    let planes = FilteredPlanes { layout: *layout, radius, block: samples, want };
    let report = run::check(cl, filter, &planes, bands).unwrap();
    let (width, height) = (layout.width, layout.height);
    assert!(report.is_none(), "{layout:?} {width}×{height} r={radius} {bands:?}: {report:?}");
}

fn parity(kind: DeviceKind) {
    let cl = context();
    let filter = BuiltVariant::build_as(&cl, named("planar"), kind).unwrap();
    for format in formats() {
        for size in SIZES {
            let layout = layout(format, size);
            let samples = noise(layout.bytes());
            for radius in [0, 1, 2, 3, 7, 8, 31, 32] {
                check(&cl, &filter, &layout, &samples, radius, &[]);
            }
        }
    }
    // Every radius up to 32, and the largest, on 4:2:0.
    for format in [Pixel::YUV420P, Pixel::NV12, Pixel::P010LE] {
        let layout = layout(format, (139, 61));
        let samples = noise(layout.bytes());
        for radius in (0..=33).chain([40, 41, 63, 64, 80, 81, MAX_RADIUS - 1, MAX_RADIUS]) {
            check(&cl, &filter, &layout, &samples, radius, &[]);
        }
        // The largest possible sums.
        for radius in [40, MAX_RADIUS - 1, MAX_RADIUS] {
            check(&cl, &filter, &layout, &vec![255; layout.bytes()], radius, &[]);
        }
    }
    // Pictures with more rows than strips, wider than a work-group, and in bands.
    for (format, size) in [
        (Pixel::YUV420P, (1280, 720)),
        (Pixel::YUV420P, (2051, 203)),
        (Pixel::YUV422P10LE, (2052, 99)),
        (Pixel::NV12, (641, 480)),
        (Pixel::YUV444P, (720, 301)),
    ] {
        let layout = layout(format, size);
        let samples = noise(layout.bytes());
        for radius in [0, 1, 7, 31, MAX_RADIUS] {
            check(&cl, &filter, &layout, &samples, radius, &[]);
            check(&cl, &filter, &layout, &samples, radius, &[1, 2, 5, 64, 97]);
        }
    }
}

#[test]
fn kernels_for_cpus_equal_the_reference() {
    parity(DeviceKind::Cpu);
}

/// Checks the code for GPUs on this device, since it gives the same bytes on any device.
#[test]
fn kernels_for_gpus_equal_the_reference() {
    parity(DeviceKind::Gpu);
}

/// The filter's output is converted and corrected by the contract of the conversion, for each chroma siting.
#[test]
fn filtered_planes_are_converted_as_the_reference_does() {
    let cl = context();
    let mut converter = Converter::new(&cl);
    let bright = Correction { brightness: 0.1, saturation: 1.5, ..Correction::NEUTRAL };
    for format in formats() {
        for size in SIZES {
            for (siting, interlaced) in
                [(0, 1), (1, 1), (0, 0), (1, 2)].map(|s| [(s, false), (s, true)]).concat()
            {
                let interlaced = interlaced && layout(format, size).subsampled.1 && size.1 > 2;
                let layout = Layout { siting, interlaced, ..layout(format, size) }.filtered();
                // Alternately with YCgCo, which computes red and blue differently.
                let is_ycgco = siting.0 == 0 && layout.family == Family::Ycbcr;
                let layout = if is_ycgco { Layout { matrix: Matrix::Ycgco, ..layout } } else { layout };
                let mut samples = noise(layout.bytes());
                for sample in samples.chunks_exact_mut(2) {
                    sample[1] &= 15;
                }
                let planes = block(&cl, &samples);
                for correction in [Correction::NEUTRAL, bright] {
                    let mut want = vec![0; layout.rgba_bytes()];
                    convert_reference(&layout, &samples, &mut want).unwrap();
                    correct_reference(&mut want, &correction, layout.matrix);
                    let to = Picture::alloc(&cl, Storage::Buffer, size.0, size.1).unwrap();
                    to.write(&cl.queue, &want.iter().map(|v| !v).collect::<Vec<_>>()).unwrap();
                    let command = ConvertCommand { layout, planes: planes.clone(), to, correction };
                    let enqueued = converter.enqueue(&cl.queue, &mut KernelCache::default(), &command);
                    drop(enqueued.unwrap());
                    let mut got = vec![0; want.len()];
                    command.to.read(&cl.queue, &mut got).unwrap();
                    assert!(got == want, "{layout:?} {correction:?}");
                }
            }
        }
    }
}

/// Returns the largest and the mean difference in levels between the filter on planes and the filter after the conversion.
fn difference(layout: &Layout, samples: &[u8], radius: u32) -> (u8, f64) {
    let rgba = |layout: &Layout, samples: &[u8]| {
        let mut rgba = vec![0; layout.rgba_bytes()];
        convert_reference(layout, samples, &mut rgba).unwrap();
        rgba
    };
    let before = rgba(&layout.filtered(), &planar_reference(layout, samples, radius).unwrap());
    let (width, height) = (layout.width as usize, layout.height as usize);
    let after = reference(&rgba(layout, samples), width, height, radius as usize);
    let mut sum = 0;
    let mut most = 0;
    for (a, b) in before.chunks_exact(4).zip(after.chunks_exact(4)) {
        for channel in 0..3 {
            let difference = a[channel].abs_diff(b[channel]);
            sum += u64::from(difference);
            most = most.max(difference);
        }
        assert_eq!(a[3], b[3]);
    }
    (most, sum as f64 / (3 * width * height) as f64)
}

fn assert_within(limits: &[(u32, u8, f64)], layout: &Layout, samples: &[u8], what: &str) {
    for &(radius, most, mean) in limits {
        let found = difference(layout, samples, radius);
        println!("{what}, r={radius}: at most {}, mean {:.3}", found.0, found.1);
        assert!(found.0 <= most && found.1 <= mean, "{what} r={radius}: {found:?}");
    }
}

/// Returns noise with luma from 70 to 185 and chroma at most `amplitude` from grey: every colour is inside of RGB.
fn inside_of_rgb(layout: &Layout, amplitude: u32) -> Vec<u8> {
    let mut samples = noise(layout.bytes());
    for (index, plane) in layout.planes.iter().enumerate().take(3) {
        let level = |value: u8| match index {
            0 => 70 + u32::from(value) * 116 / 256,
            _ => 128 - amplitude + u32::from(value) * 2 * amplitude / 255,
        };
        let plane = &mut samples[plane.offset..plane.offset + plane.stride * plane.rows];
        if layout.wide {
            for sample in plane.chunks_exact_mut(2) {
                sample.copy_from_slice(&((level(sample[0]) as u16) << (layout.depth - 8)).to_le_bytes());
            }
        } else {
            plane.iter_mut().for_each(|sample| *sample = level(*sample) as u8);
        }
    }
    samples
}

/// Checks that with full chroma and colours inside of RGB, the filter on planes differs from one after the conversion by
/// rounding only: at most a level, and the mean below a tenth.
#[test]
fn full_chroma_differs_by_the_rounding() {
    for format in [Pixel::YUV444P, Pixel::YUV444P12LE] {
        let layout = layout(format, (256, 192));
        let limits = [(0, 1, 0.01), (1, 1, 0.1), (2, 1, 0.1), (7, 1, 0.1), (31, 1, 0.1)];
        assert_within(&limits, &layout, &inside_of_rgb(&layout, 20), &format!("{format:?}, noise"));
    }
}

/// Noise in subsampled chroma is the worst case of the weighted window, inside of RGB: chroma of up to 20 levels differs by
/// up to 10 levels of RGB at radius 1, by 2 at radius 7, and by the rounding at radius 31; horizontally subsampled chroma by
/// up to 8, 3 and 1. Grey pictures differ by the rounding alone.
#[test]
fn subsampled_chroma_differs_most_at_small_radii() {
    let quarter =
        [(0, 1, 0.01), (1, 10, 1.6), (2, 9, 0.9), (3, 6, 0.5), (7, 2, 0.2), (15, 1, 0.1), (31, 1, 0.1)];
    let half = [(0, 1, 0.01), (1, 8, 1.1), (2, 7, 0.6), (3, 5, 0.3), (7, 3, 0.1), (15, 1, 0.1), (31, 1, 0.1)];
    for (format, limits) in [(Pixel::YUV420P, quarter), (Pixel::YUV422P, half), (Pixel::YUV420P10LE, quarter)]
    {
        let layout = layout(format, (256, 192));
        assert_within(&limits, &layout, &inside_of_rgb(&layout, 20), &format!("{format:?}, noise"));
        let grey = [(0, 1, 0.01), (1, 1, 0.1), (7, 1, 0.1), (31, 1, 0.1)];
        assert_within(&grey, &layout, &inside_of_rgb(&layout, 0), &format!("{format:?}, grey noise"));
    }
}

/// A frame of the bundled clip with saturated colours, and the same frame with colours well inside of RGB.
#[test]
fn a_film_differs_by_a_quarter_of_a_level() {
    let (frame, _) = read_frame_at(&bundled_clip().unwrap(), 2.0, 0, References::Refused).unwrap();
    let layout = layout_of(&frame.picture).unwrap();
    assert_eq!((layout.subsampled, layout.depth), ((true, true), 8));
    let mut samples = vec![0; layout.bytes()];
    pack(&frame.picture, &layout, &mut samples).unwrap();
    assert_within(&[(0, 1, 0.01), (1, 50, 0.3), (7, 20, 0.3), (31, 6, 0.3)], &layout, &samples, "the clip");
    for (index, plane) in layout.planes.iter().enumerate().take(3) {
        for sample in &mut samples[plane.offset..plane.offset + plane.stride * plane.rows] {
            *sample = if index == 0 { 64 + *sample / 2 } else { 96 + *sample / 4 };
        }
    }
    assert_within(&[(1, 11, 0.25), (7, 4, 0.25), (31, 2, 0.25)], &layout, &samples, "the clip, muted");
}

/// Codes outside of RGB: a filter after the conversion averages clamped colours, one before it the original ones. That is
/// the whole difference: there is none from an exact conversion that is filtered and only then clamped.
#[test]
fn the_largest_differences_come_from_clamping() {
    let layout = layout(Pixel::YUV444P, (96, 64));
    let extremes: Vec<u8> = noise(layout.bytes()).iter().map(|v| if *v > 127 { 255 } else { 0 }).collect();
    for (samples, clamped) in [(noise(layout.bytes()), 5.0), (extremes, 12.0)] {
        let radius = 3;
        let (most, mean) = difference(&layout, &samples, radius);
        assert!(most > 50 && mean > clamped, "clamping shows: {most} {mean}");
        let mut got = vec![0; layout.rgba_bytes()];
        let filtered = planar_reference(&layout, &samples, radius).unwrap();
        convert_reference(&layout.filtered(), &filtered, &mut got).unwrap();
        let c = Coefficients::of(&layout);
        let (width, height, r) = (96i64, 64i64, i64::from(radius));
        let at = |index: usize, x: i64, y: i64| {
            let (x, y) = (x.clamp(0, width - 1) as usize, y.clamp(0, height - 1) as usize);
            f64::from(samples[layout.planes[index].offset + y * layout.planes[index].stride + x])
        };
        for y in 0..height {
            for x in 0..width {
                let window = (-r..=r).flat_map(|v| (-r..=r).map(move |u| (x + u, y + v)));
                let mut sums = [0.0; 3];
                for (u, v) in window {
                    let luma = f64::from(c.luma) * (16.0 * at(0, u, v) - f64::from(c.black));
                    let chroma = [1, 2].map(|index| 16.0 * at(index, u, v) - f64::from(c.middle));
                    sums[0] += luma + f64::from(c.rv) * chroma[1];
                    sums[1] += luma + f64::from(c.gu) * chroma[0] + f64::from(c.gv) * chroma[1];
                    sums[2] += luma + f64::from(c.bu) * chroma[0];
                }
                for (channel, sum) in sums.into_iter().enumerate() {
                    let exact = (sum / 49.0 / f64::from(1 << FRACTION_BITS)).clamp(0.0, 255.0);
                    let got = got[4 * (y * width + x) as usize + channel];
                    assert!((f64::from(got) - exact).abs() < 0.75, "({x}, {y}) {channel}: {got} {exact}");
                }
            }
        }
    }
}
