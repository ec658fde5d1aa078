//! The filter on planes: the kernels against the reference, byte for byte, and the reference against a filter after the
//! conversion, whose difference is stated here. The kernels' tests need an OpenCL device, and fail without one.

use clreel::convert::{Correction, Layout, convert_reference, correct_reference};
use clreel::gpu::cl::{ClContext, DeviceKind, list_devices, select_device};
use clreel::ladder::Storage;
use clreel::ladder::box_filter::planar::{PlanarFilter, planar_reference};
use clreel::gpu::convert::Converter;
use clreel::ladder::box_filter::reference::reference;
use clreel::ladder::box_filter::{Picture, Scratch};
use clreel::media::planes::pack;
use clreel::media::{bundled_clip, read_frame_at};
use clreel::media::planes::layout_of;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

const FORMATS: [Pixel; 22] = [
    Pixel::YUV420P,
    Pixel::YUVJ420P,
    Pixel::YUV422P,
    Pixel::YUV440P,
    Pixel::YUV444P,
    Pixel::NV12,
    Pixel::NV21,
    Pixel::NV16,
    Pixel::YUYV422,
    Pixel::UYVY422,
    Pixel::YUV420P9LE,
    Pixel::YUV420P10LE,
    Pixel::YUV422P10LE,
    Pixel::YUV444P12LE,
    Pixel::P010LE,
    Pixel::GRAY8,
    Pixel::GRAY12LE,
    Pixel::RGB24,
    Pixel::BGRA,
    Pixel::GBRP,
    Pixel::GBRAP,
    Pixel::GBRP10LE,
];

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

fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device).expect("a context on the device")
}

struct Noise(u32);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 9) as u8
    }
}

/// Any bytes, also in bits and between rows that hold no sample.
fn noise(bytes: usize) -> Vec<u8> {
    let mut noise = Noise(0x9e37_79b9);
    (0..bytes).map(|_| noise.byte()).collect()
}

fn layout(format: Pixel, (width, height): (u32, u32)) -> Layout {
    layout_of(&Video::new(format, width, height)).unwrap_or_else(|| panic!("{format:?} has a layout"))
}

fn block(cl: &ClContext, bytes: &[u8]) -> Picture {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let block = Picture::alloc(cl, Storage::Buffer, (bytes.len() / 4) as u32, 1).unwrap();
    block.write(&cl.queue, &bytes).unwrap();
    block
}

/// What lies between the rows is nobody's.
fn compare(layout: &Layout, got: &[u8], want: &[u8], case: &str) {
    let filtered = layout.filtered();
    for index in 0..filtered.count() {
        let plane = filtered.planes[index];
        for y in 0..plane.rows {
            let row = plane.offset + y * plane.stride..plane.offset + y * plane.stride + plane.row;
            if got[row.clone()] != want[row.clone()] {
                let both = got[row.clone()].chunks(2).zip(want[row].chunks(2));
                let x = both.clone().take_while(|(got, want)| got == want).count();
                let (got, want) = both.clone().nth(x).unwrap();
                panic!("{case}: component {index} at ({x}, {y}): got {got:?}, want {want:?}");
            }
        }
    }
}

fn check(cl: &ClContext, filter: &PlanarFilter, layout: &Layout, samples: &[u8], radius: u32, bands: &[u32]) {
    let want = planar_reference(layout, samples, radius).unwrap();
    let poison: Vec<u8> = want.iter().map(|v| !v).collect();
    let (from, to) = (block(cl, samples), block(cl, &poison));
    let plan = filter.plan(cl, layout, &to, &mut Scratch::new(), radius).unwrap();
    let mut start = 0;
    for end in bands.iter().copied().chain([layout.height]) {
        let _event = plan.enqueue(&cl.queue, &from, start..end).unwrap();
        start = end;
    }
    let mut got = vec![0; want.len()];
    to.read(&cl.queue, &mut got).unwrap();
    let (width, height) = (layout.width, layout.height);
    compare(layout, &got, &want, &format!("{layout:?} {width}×{height} r={radius}"));
}

fn parity(kind: DeviceKind) {
    let cl = context();
    let filter = PlanarFilter::build_as(&cl, kind).unwrap();
    for format in FORMATS {
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
        for radius in (0..=33).chain([40, 41, 63, 64, 80, 81, 127, 128]) {
            check(&cl, &filter, &layout, &samples, radius, &[]);
        }
        // The largest sums there are.
        for radius in [40, 127, 128] {
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
        for radius in [0, 1, 7, 31, 128] {
            check(&cl, &filter, &layout, &samples, radius, &[]);
            check(&cl, &filter, &layout, &samples, radius, &[1, 2, 5, 64, 97]);
        }
    }
}

#[test]
fn kernels_for_cpus_equal_the_reference() {
    parity(DeviceKind::Cpu);
}

/// The code for GPUs gives the same bytes on any device, so it is checked on this one.
#[test]
fn kernels_for_gpus_equal_the_reference() {
    parity(DeviceKind::Gpu);
}

/// What comes out of the filter is converted and corrected as the contract of the conversion says, for each place of the
/// chroma samples.
#[test]
fn filtered_planes_are_converted_as_the_reference_does() {
    let cl = context();
    let mut converter = Converter::new(&cl);
    let bright = Correction { brightness: 0.1, saturation: 1.5, ..Correction::NEUTRAL };
    for format in FORMATS {
        for size in SIZES {
            for phase in [(0, 1), (1, 1), (0, 0), (1, 2)] {
                let layout = Layout { phase, ..layout(format, size) }.filtered();
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
                    let enqueued = converter.enqueue_block(&cl.queue, &layout, &planes, &to, &correction);
                    drop(enqueued.unwrap());
                    let mut got = vec![0; want.len()];
                    to.read(&cl.queue, &mut got).unwrap();
                    assert!(got == want, "{format:?} {size:?} {phase:?} {correction:?}");
                }
            }
        }
    }
}

/// The largest and the mean difference in levels between the filter on planes and the filter after the conversion.
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

#[test]
fn explore() {
    let clip = bundled_clip().unwrap();
    for at in [0.5, 2.0, 5.0] {
        let (frame, _) = read_frame_at(&clip, at).unwrap();
        let layout = layout_of(&frame.picture).unwrap();
        let mut samples = vec![0; layout.bytes()];
        pack(&frame.picture, &layout, &mut samples).unwrap();
        for radius in [0, 1, 2, 3, 7, 15, 31] {
            println!("clip {at} r={radius} {:?}", difference(&layout, &samples, radius));
        }
    }
    for format in [Pixel::YUV444P, Pixel::YUV420P, Pixel::YUV420P10LE] {
        let layout = layout(format, (256, 192));
        let noise = noise(layout.bytes());
        let extremes: Vec<u8> = noise.iter().map(|v| if *v > 127 { 255 } else { 0 }).collect();
        // Inside of RGB: every luma with chroma near grey.
        let inside = |amplitude: u8| {
            let mut samples = noise.clone();
            let unit = if layout.wide { 2 } else { 1 };
            for index in 0..3 {
                let plane = layout.planes[index];
                for at in plane.offset..plane.offset + plane.stride * plane.rows {
                    let v = u32::from(noise[at]);
                    let v = if index == 0 { 70 + v * 116 / 256 } else { 128 - u32::from(amplitude) / 2 + v * u32::from(amplitude) / 256 };
                    if unit == 1 { samples[at] = v as u8; }
                    else if at % 2 == 0 { let v = (4 * v as u16).to_le_bytes(); samples[at] = v[0]; samples[at + 1] = v[1]; }
                }
            }
            samples
        };
        for (name, samples) in [("noise", noise.clone()), ("extremes", extremes), ("inside40", inside(40)), ("inside16", inside(16)), ("inside0", inside(1))] {
            for radius in [0, 1, 2, 3, 7, 15, 31] {
                println!("{format:?} {name} r={radius} {:?}", difference(&layout, &samples, radius));
            }
        }
    }
}
