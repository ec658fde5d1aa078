//! A frame is converted by a kernel or on the processor, by several paths. All give the same picture: they are compared
//! with each other on the bundled clip and on the hardest edges of chroma. Needs an OpenCL device.

use std::path::{Path, PathBuf};

use crate::common::*;
use box_filter::color_kernels::{ConvertCommand, Converter, KernelCache, PlaneBlock};
use box_filter::reference::reference;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use opencl::cl::{ClContext, list_devices, select_device};
use opencl::memory::{Picture, Storage};
use opencl::sources::Sources;
use video::color::{Correction, RgbaConverter};
use video::{References, bundled_clip, read_frame_at};

/// The largest allowed difference between two paths, in levels of 8 bits.
const BOUND: u8 = 2;

fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device, Sources::default()).expect("a context on the device")
}

/// Returns the largest difference between the paths for a frame, and the largest difference between neighbouring pixels.
fn largest_differences(cl: &ClContext, frame: &Video) -> (u8, u8) {
    let bytes = (frame.width() * frame.height() * 4) as usize;
    let (mut kernel, mut host) = (vec![0x5a; bytes], vec![0xa5; bytes]);
    RgbaConverter::new().convert(frame, &mut host).expect("converts");
    let layout = Converter::supports(frame).expect("a format of the kernels");
    let to = Picture::alloc(cl, Storage::Buffer, layout.width, layout.height).expect("has memory");
    let mut block = PlaneBlock::new(cl, &layout).expect("has memory");
    block.fill(frame).expect("packs");
    let _uploaded = block.to_device(cl, &cl.queue).expect("uploads");
    let planes = block.on_device(cl).expect("has memory").clone();
    let command = ConvertCommand { layout, planes, to, correction: Correction::NEUTRAL };
    let mut converter = Converter::new(cl);
    let _converted = converter.enqueue(&cl.queue, &mut KernelCache::default(), &command).expect("converts");
    command.to.read(&cl.queue, &mut kernel).expect("reads");
    let off = kernel.iter().zip(&host).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    let edges = host.iter().zip(&host[4.min(bytes)..]).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    (off, edges)
}

#[test]
fn all_conversion_paths_agree_on_the_clip() {
    let cl = context();
    for at in [0.0, 1.0, 2.0] {
        let (frame, _) = read_frame_at(&bundled_clip().unwrap(), at, 0, References::Refused).unwrap();
        let (off, _) = largest_differences(&cl, &frame.picture);
        assert!(off <= BOUND, "at {at} s the ways differ by {off} levels");
    }
}

/// Draws stripes or fields of `side` samples in red and blue, or black and white.
fn edges(format: Pixel, size: (u32, u32), side: usize, axes: (bool, bool)) -> Video {
    let mut frame = Video::new(format, size.0, size.1);
    // Samples of ten bits lie in the lowest bits; for P010 in the highest.
    let unit = match format {
        Pixel::YUV420P10LE | Pixel::YUV422P10LE => 4,
        Pixel::P010LE => 256,
        _ => 1,
    };
    let bytes = if unit == 1 { 1 } else { 2 };
    let packed = matches!(format, Pixel::YUYV422 | Pixel::RGB24);
    let width = if packed { 4 * side } else { side };
    for plane in 0..frame.planes() {
        let stride = frame.stride(plane);
        for (y, row) in frame.data_mut(plane).chunks_mut(stride).enumerate() {
            for (x, sample) in row.chunks_exact_mut(bytes).enumerate() {
                let (across, down) = (axes.0 && x / width % 2 == 1, axes.1 && y / side % 2 == 1);
                let high = (across != down) != (plane == 1);
                let [low, top]: [u16; 2] = match plane {
                    _ if packed => [20, 235],
                    0 => [41, 81],
                    _ => [16, 240],
                };
                let level = if high { top } else { low };
                sample.copy_from_slice(&(unit * level).to_le_bytes()[..bytes]);
            }
        }
    }
    frame
}

#[test]
fn all_conversion_paths_agree_on_edges_of_chroma() {
    let cl = context();
    for format in [
        Pixel::YUV420P,
        Pixel::YUVJ420P,
        Pixel::NV12,
        Pixel::YUV422P,
        Pixel::YUV440P,
        Pixel::YUV444P,
        Pixel::YUYV422,
        Pixel::YUV420P10LE,
        Pixel::YUV422P10LE,
        Pixel::P010LE,
        Pixel::GRAY8,
        Pixel::RGB24,
    ] {
        for size in [(64, 36), (33, 17)] {
            for side in [1, 3] {
                for axes in [(true, false), (false, true), (true, true)] {
                    let (off, steep) = largest_differences(&cl, &edges(format, size, side, axes));
                    let case = format!("{format:?} {size:?}, {side} samples, {axes:?}");
                    assert!(off <= BOUND, "{case}: the ways differ by {off} levels");
                    assert!(steep > 30 || !axes.0, "{case}: there are no edges");
                }
            }
        }
    }
}

/// Returns the path of a temporary file.
fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the pixels of a snapshot of a movie.
fn snapshot(movie: &Path, name: &str, options: &[&str]) -> Vec<u8> {
    let out = temporary(&format!("paths-{name}.png"));
    finish(clreel(None).arg("snapshot").arg(movie).arg("--out").arg(&out).args(options), 0);
    png(&out).2
}

/// Red under an alpha of 0 beside opaque blue, and a gradient of alpha over green. Each path must equal plain Rust on
/// premultiplied colours; files have straight alpha.
#[test]
fn colours_under_zero_alpha_stay_invisible_on_every_path() {
    const ALPHAS: [u8; 8] = [0, 1, 127, 128, 254, 255, 64, 200];
    let (width, height) = (67_usize, 24_usize);
    let pixel = |at: usize| match (at % width, at / width) {
        (x, _) if x < 20 => [255, 0, 0, 0],
        (x, _) if x < 40 => [0, 0, 255, 255],
        (x, y) => [x as u8, 250, (y * 10) as u8, ALPHAS[(x / 2 + y) % 8]],
    };
    let straight: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let file = temporary("paths-hidden.png");
    write_png(&file, (width as u32, height as u32), &straight);

    let multiplied = |straight: &[u8]| -> Vec<u8> {
        let by_alpha = |pixel: &[u8]| {
            let alpha = u32::from(pixel[3]);
            let colour = |at: usize| ((u32::from(pixel[at]) * alpha + 127) / 255) as u8;
            [colour(0), colour(1), colour(2), pixel[3]]
        };
        straight.chunks_exact(4).flat_map(by_alpha).collect()
    };
    for radius in [0, 1, 7] {
        let want = reference(&multiplied(&straight), width, height, radius);
        let radius = radius.to_string();
        for variant in ["off", "native", "naive", "separable", "fused", "glsl", "planar"] {
            let name = format!("hidden-{variant}-{radius}");
            let got = snapshot(&file, &name, &["--variant", variant, "--radius", &radius]);
            let want = if variant == "off" { multiplied(&straight) } else { want.clone() };
            let is_bare = |pixel: &[u8]| pixel[3] > 0 || *pixel == [0; 4];
            assert!(got.chunks_exact(4).all(is_bare), "{name}: hidden colours");
            // Filtered planes are rounded once less.
            let most = if variant == "planar" { 1 } else { 0 };
            let off = multiplied(&got).iter().zip(&want).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(off <= Some(most), "{name}: off by {off:?}");
        }
    }
    // Opaque pixels are unchanged, and no red appears at an edge.
    let off = snapshot(&file, "hidden", &["--variant", "off"]);
    assert_eq!(off[4 * 30..4 * 40], straight[4 * 30..4 * 40]);
    let blurred = snapshot(&file, "blurred", &["--variant", "fused", "--radius", "7"]);
    assert_eq!(blurred[4 * 20..4 * 21][..3], [0, 0, 255], "{:?}", &blurred[4 * 20..4 * 21]);
}

/// The kernels' filter after the conversion by a kernel or by the processor, and the filter in Rust after the processor's.
#[test]
fn snapshots_with_and_without_opencl_are_equal() {
    let shot = |name: &str, options: &[&str]| -> Vec<u8> {
        snapshot(&bundled_clip().unwrap(), name, &[&["--at", "1"], options].concat())
    };
    let native = shot("native", &["--variant", "native", "--radius", "3"]);
    let fused = shot("fused", &["--variant", "fused", "--radius", "3"]);
    assert!(native == fused, "the filter's pictures differ");
    let device = context().device.info.name.clone();
    let plain = shot("off", &["--variant", "off"]);
    let device = shot("device", &["--variant", "off", "--device", &device]);
    assert!(plain == device, "the unfiltered pictures differ");
    assert!(plain != native, "the filter does something");
}
