//! The filter on planes: the kernels against the reference, byte for byte, and the reference against a filter after the
//! conversion, whose difference is stated here. The kernels' tests need an OpenCL device, and fail without one.

use clreel::convert::Layout;
use clreel::gpu::cl::{ClContext, DeviceKind, list_devices, select_device};
use clreel::ladder::Storage;
use clreel::ladder::box_filter::planar::{PlanarFilter, planar_reference};
use clreel::ladder::box_filter::{Picture, Scratch};
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
