//! Conversion of planes to RGBA and colour correction: the reference against the standards' formulas in f64, and the kernels
//! and the CPU code against the reference, byte for byte. The kernels' tests need an OpenCL device and fail without one.

use crate::context;
use base::random::Xorshift;
use base::verify;
use box_filter::color_kernels::{
    Conversion, ConvertCommand, Converter, CorrectCommand, Corrector, KernelCache, PlaneBlock,
};
use box_filter::guarded::GuardedPicture;
use box_filter::pictures::noise;
use ffmpeg_next::ffi::{AVChromaLocation, AVColorRange, AVColorSpace};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use opencl::cl::ClContext;
use opencl::memory::{Picture, Rgba, Storage};
use video::color::planes::{layout_of, pack};
use video::color::{Correction, Layout, convert_reference, correct_reference};
use video::color::{Matrix, Range, RgbaColors, RgbaConverter};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Ycbcr,
    Grey,
    Rgb,
}

/// A format by its documentation: bits, unused low bits, subsampled axes, and for each component the plane, and the offset
/// of the first sample and the distance between two in bytes.
struct Format(Pixel, Kind, u32, u32, (bool, bool), &'static [(usize, usize, usize)]);

const FULL: (bool, bool) = (false, false);
const HALF: (bool, bool) = (true, false);
const QUARTER: (bool, bool) = (true, true);
const BYTES: &[(usize, usize, usize)] = &[(0, 0, 1), (1, 0, 1), (2, 0, 1)];
const WORDS: &[(usize, usize, usize)] = &[(0, 0, 2), (1, 0, 2), (2, 0, 2)];

const FORMATS: [Format; 35] = [
    Format(Pixel::YUV420P, Kind::Ycbcr, 8, 0, QUARTER, BYTES),
    Format(Pixel::YUVJ420P, Kind::Ycbcr, 8, 0, QUARTER, BYTES),
    Format(Pixel::YUV422P, Kind::Ycbcr, 8, 0, HALF, BYTES),
    Format(Pixel::YUV440P, Kind::Ycbcr, 8, 0, (false, true), BYTES),
    Format(Pixel::YUV444P, Kind::Ycbcr, 8, 0, FULL, BYTES),
    Format(Pixel::NV12, Kind::Ycbcr, 8, 0, QUARTER, &[(0, 0, 1), (1, 0, 2), (1, 1, 2)]),
    Format(Pixel::NV21, Kind::Ycbcr, 8, 0, QUARTER, &[(0, 0, 1), (1, 1, 2), (1, 0, 2)]),
    Format(Pixel::NV16, Kind::Ycbcr, 8, 0, HALF, &[(0, 0, 1), (1, 0, 2), (1, 1, 2)]),
    Format(Pixel::YUYV422, Kind::Ycbcr, 8, 0, HALF, &[(0, 0, 2), (0, 1, 4), (0, 3, 4)]),
    Format(Pixel::UYVY422, Kind::Ycbcr, 8, 0, HALF, &[(0, 1, 2), (0, 0, 4), (0, 2, 4)]),
    Format(Pixel::YUV420P10LE, Kind::Ycbcr, 10, 0, QUARTER, WORDS),
    Format(Pixel::YUV422P10LE, Kind::Ycbcr, 10, 0, HALF, WORDS),
    Format(Pixel::YUV444P10LE, Kind::Ycbcr, 10, 0, FULL, WORDS),
    Format(Pixel::YUV420P12LE, Kind::Ycbcr, 12, 0, QUARTER, WORDS),
    Format(Pixel::YUV422P12LE, Kind::Ycbcr, 12, 0, HALF, WORDS),
    Format(Pixel::YUV444P12LE, Kind::Ycbcr, 12, 0, FULL, WORDS),
    Format(Pixel::YUV420P9LE, Kind::Ycbcr, 9, 0, QUARTER, WORDS),
    Format(Pixel::P010LE, Kind::Ycbcr, 10, 6, QUARTER, &[(0, 0, 2), (1, 0, 4), (1, 2, 4)]),
    Format(Pixel::GRAY8, Kind::Grey, 8, 0, FULL, &[(0, 0, 1)]),
    Format(Pixel::GRAY10LE, Kind::Grey, 10, 0, FULL, &[(0, 0, 2)]),
    Format(Pixel::GRAY12LE, Kind::Grey, 12, 0, FULL, &[(0, 0, 2)]),
    Format(Pixel::RGB24, Kind::Rgb, 8, 0, FULL, &[(0, 0, 3), (0, 1, 3), (0, 2, 3)]),
    Format(Pixel::BGR24, Kind::Rgb, 8, 0, FULL, &[(0, 2, 3), (0, 1, 3), (0, 0, 3)]),
    Format(Pixel::RGBA, Kind::Rgb, 8, 0, FULL, &[(0, 0, 4), (0, 1, 4), (0, 2, 4), (0, 3, 4)]),
    Format(Pixel::BGRA, Kind::Rgb, 8, 0, FULL, &[(0, 2, 4), (0, 1, 4), (0, 0, 4), (0, 3, 4)]),
    Format(Pixel::ARGB, Kind::Rgb, 8, 0, FULL, &[(0, 1, 4), (0, 2, 4), (0, 3, 4), (0, 0, 4)]),
    Format(Pixel::ABGR, Kind::Rgb, 8, 0, FULL, &[(0, 3, 4), (0, 2, 4), (0, 1, 4), (0, 0, 4)]),
    Format(Pixel::RGBZ, Kind::Rgb, 8, 0, FULL, &[(0, 0, 4), (0, 1, 4), (0, 2, 4)]),
    Format(Pixel::BGRZ, Kind::Rgb, 8, 0, FULL, &[(0, 2, 4), (0, 1, 4), (0, 0, 4)]),
    Format(Pixel::GBRP, Kind::Rgb, 8, 0, FULL, &[(2, 0, 1), (0, 0, 1), (1, 0, 1)]),
    Format(Pixel::GBRAP, Kind::Rgb, 8, 0, FULL, &[(2, 0, 1), (0, 0, 1), (1, 0, 1), (3, 0, 1)]),
    Format(Pixel::GBRP10LE, Kind::Rgb, 10, 0, FULL, &[(2, 0, 2), (0, 0, 2), (1, 0, 2)]),
    Format(Pixel::GBRP12LE, Kind::Rgb, 12, 0, FULL, &[(2, 0, 2), (0, 0, 2), (1, 0, 2)]),
    Format(Pixel::GBRAP10LE, Kind::Rgb, 10, 0, FULL, &[(2, 0, 2), (0, 0, 2), (1, 0, 2), (3, 0, 2)]),
    Format(Pixel::GBRAP12LE, Kind::Rgb, 12, 0, FULL, &[(2, 0, 2), (0, 0, 2), (1, 0, 2), (3, 0, 2)]),
];

const SIZES: [(u32, u32); 11] =
    [(1, 1), (1, 9), (11, 1), (2, 2), (3, 3), (4, 4), (5, 7), (13, 7), (31, 18), (66, 33), (259, 5)];

const MATRICES: [(AVColorSpace, Matrix); 4] = [
    (AVColorSpace::AVCOL_SPC_SMPTE170M, Matrix::Bt601),
    (AVColorSpace::AVCOL_SPC_BT709, Matrix::Bt709),
    (AVColorSpace::AVCOL_SPC_BT2020_NCL, Matrix::Bt2020),
    (AVColorSpace::AVCOL_SPC_YCGCO, Matrix::Ycgco),
];
const RANGES: [(AVColorRange, Range); 2] =
    [(AVColorRange::AVCOL_RANGE_MPEG, Range::Limited), (AVColorRange::AVCOL_RANGE_JPEG, Range::Full)];
/// Tags with the location of the first chroma sample, in pixels right of and below the first pixel's centre.
const SITINGS: [(AVChromaLocation, (f64, f64)); 6] = [
    (AVChromaLocation::AVCHROMA_LOC_LEFT, (0.0, 0.5)),
    (AVChromaLocation::AVCHROMA_LOC_CENTER, (0.5, 0.5)),
    (AVChromaLocation::AVCHROMA_LOC_TOPLEFT, (0.0, 0.0)),
    (AVChromaLocation::AVCHROMA_LOC_TOP, (0.5, 0.0)),
    (AVChromaLocation::AVCHROMA_LOC_BOTTOMLEFT, (0.0, 1.0)),
    (AVChromaLocation::AVCHROMA_LOC_BOTTOM, (0.5, 1.0)),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    /// Random bytes, also in bits that hold no sample.
    Noise,
    /// Each byte 0 or 255: the largest and smallest samples next to each other.
    Extremes,
    /// All samples have the largest value.
    Ones,
    Zeros,
}

const PATTERNS: [Pattern; 4] = [Pattern::Noise, Pattern::Extremes, Pattern::Ones, Pattern::Zeros];

fn frame(format: Pixel, (width, height): (u32, u32), pattern: Pattern) -> Video {
    let mut frame = Video::new(format, width, height);
    let mut random = Xorshift::new(0x9e37_79b9 ^ width << 8 ^ height);
    for plane in 0..frame.planes() {
        // Pairs of bytes, so that two-byte samples get their extremes too.
        for pair in frame.data_mut(plane).chunks_mut(2) {
            let [low, high] = match pattern {
                Pattern::Noise => (random.draw() as u16).to_le_bytes(),
                Pattern::Extremes => [if random.draw() & 8 == 0 { 0 } else { 255 }; 2],
                Pattern::Ones => [255; 2],
                Pattern::Zeros => [0; 2],
            };
            pair[0] = low;
            if let Some(second) = pair.get_mut(1) {
                *second = if pattern == Pattern::Extremes && random.draw() & 8 == 0 { !high } else { high };
            }
        }
    }
    frame
}

fn tag(frame: &mut Video, space: AVColorSpace, range: AVColorRange, siting: AVChromaLocation) {
    // SAFETY: the frame is valid and owned; all are plain fields.
    unsafe {
        (*frame.as_mut_ptr()).colorspace = space;
        (*frame.as_mut_ptr()).color_range = range;
        (*frame.as_mut_ptr()).chroma_location = siting;
    }
}

/// Reads a sample of a component from the frame by the format's documentation.
fn sample(format: &Format, frame: &Video, component: usize, x: usize, y: usize) -> f64 {
    let &Format(_, _, depth, shift, _, components) = format;
    let (plane, start, step) = components[component];
    let at = frame.stride(plane) * y + start + step * x;
    let data = frame.data(plane);
    let stored =
        if depth > 8 { u32::from(u16::from_le_bytes([data[at], data[at + 1]])) } else { data[at].into() };
    f64::from((stored >> shift) % (1 << depth))
}

/// Returns the two indices and the second one's weight for linear interpolation on one axis. The samples lie `pitch` pixels
/// apart, the first one at `first`.
fn between(pixel: usize, first: f64, pixels: u32, subsampled: bool) -> (usize, usize, f64) {
    if !subsampled {
        return (pixel, pixel, 0.0);
    }
    let last = f64::from(pixels.div_ceil(2) - 1);
    let position = ((pixel as f64 - first) / 2.0).clamp(0.0, last);
    (position.floor() as usize, position.ceil() as usize, position.fract())
}

/// Returns the rows of chroma, and the second one's weight, for the interpolation at line `y`. Each row lies `first` below a
/// line of the picture; an interlaced picture uses rows of the line's own field.
fn between_rows(y: usize, first: f64, frame: &Video, subsampled: bool) -> (usize, usize, f64) {
    if !subsampled || !frame.is_interlaced() || frame.height() < 3 {
        return between(y, first, frame.height(), subsampled);
    }
    let rows: Vec<usize> = (0..frame.height().div_ceil(2) as usize).filter(|row| row % 2 == y % 2).collect();
    let place = |row: usize| 2.0 * row as f64 + first;
    let y = y as f64;
    let above = rows.iter().rev().find(|row| place(**row) <= y);
    let below = rows.iter().find(|row| place(**row) >= y);
    match (above, below) {
        (Some(&a), Some(&b)) if a != b => (a, b, (y - place(a)) / (place(b) - place(a))),
        (Some(&row), _) | (_, Some(&row)) => (row, row, 0.0),
        (None, None) => panic!("a field without chroma"),
    }
}

/// Returns the RGBA of a pixel by the standards' formulas, clipped to 0 to 255, with premultiplied colours.
fn exact(
    format: &Format,
    frame: &Video,
    matrix: Matrix,
    range: Range,
    siting: (f64, f64),
    (x, y): (usize, usize),
) -> [f64; 4] {
    let &Format(_, kind, depth, _, subsampled, components) = format;
    let unit = f64::from(1u32 << (depth - 8));
    let full = f64::from((1u32 << depth) - 1);
    let at = |component| sample(format, frame, component, x, y);
    if kind == Kind::Rgb {
        let alpha = if components.len() > 3 { at(3) / full } else { 1.0 };
        return [at(0) / full * alpha, at(1) / full * alpha, at(2) / full * alpha, alpha].map(|v| v * 255.0);
    }
    let luma = match range {
        Range::Limited => (at(0) / unit - 16.0) / 219.0,
        Range::Full => at(0) / full,
    };
    let rgb = if kind == Kind::Grey {
        [luma; 3]
    } else {
        let (x0, x1, fx) = between(x, siting.0, frame.width(), subsampled.0);
        let (y0, y1, fy) = between_rows(y, siting.1, frame, subsampled.1);
        let chroma = |component| {
            let at = |x, y| sample(format, frame, component, x, y);
            let row = |y| at(x0, y) * (1.0 - fx) + at(x1, y) * fx;
            let code = row(y0) * (1.0 - fy) + row(y1) * fy;
            match range {
                Range::Limited => (code / unit - 128.0) / 224.0,
                Range::Full => (code - 128.0 * unit) / full,
            }
        };
        if matrix == Matrix::Ycgco {
            // ITU-T H.273, 8.3: Y is G/2 + (R + B)/4, Cg is G/2 - (R + B)/4, and Co is (R - B)/2.
            let (green, orange) = (chroma(1), chroma(2));
            [luma - green + orange, luma + green, luma - green - orange]
        } else {
            let (kr, kb) = matrix.weights().expect("a YCbCr matrix");
            let r = luma + 2.0 * (1.0 - kr) * chroma(2);
            let b = luma + 2.0 * (1.0 - kb) * chroma(1);
            [r, (luma - kr * r - kb * b) / (1.0 - kr - kb), b]
        }
    };
    let [r, g, b] = rgb.map(|v| (v * 255.0).clamp(0.0, 255.0));
    [r, g, b, 255.0]
}

/// Returns the reference's conversion of a frame, with its layout and packed block.
fn referenced(frame: &Video) -> (Layout, Vec<u8>, Vec<u8>) {
    let layout = layout_of(frame).unwrap_or_else(|| panic!("{:?} is not covered", frame.format()));
    let mut block = vec![0xc3; layout.bytes()];
    pack(frame, &layout, &mut block).expect("packs");
    let mut rgba = vec![0; layout.rgba_bytes()];
    convert_reference(&layout, &block, &mut rgba).expect("converts");
    (layout, block, rgba)
}

/// Returns the largest difference between the reference and the formulas.
fn worst(format: &Format, frame: &Video, matrix: Matrix, range: Range, siting: (f64, f64)) -> f64 {
    let (_, _, rgba) = referenced(frame);
    let width = frame.width() as usize;
    let mut worst = 0.0f64;
    for (i, pixel) in rgba.chunks_exact(4).enumerate() {
        let want = exact(format, frame, matrix, range, siting, (i % width, i / width));
        for (&got, want) in pixel.iter().zip(want) {
            worst = worst.max((f64::from(got) - want).abs());
        }
    }
    worst
}

/// The contract's error bounds for progressive and interlaced pictures, in levels.
const BOUND: f64 = 0.55;
const INTERLACED_BOUND: f64 = 0.85;
/// Additional error of premultiplying samples of more than 8 bits, which rounds at their depth: half of a quarter of a level.
const DEEP_ALPHA: f64 = 0.125;

fn set_interlaced(frame: &mut Video, interlaced: bool) {
    testkit::movie::set_fields(frame, interlaced, true);
}

#[test]
fn the_reference_follows_the_standards() {
    let mut most = 0.0f64;
    for format in &FORMATS {
        for size in SIZES {
            for pattern in [Pattern::Noise, Pattern::Extremes] {
                let mut frame = frame(format.0, size, pattern);
                for (space, matrix) in MATRICES {
                    for (range_tag, range) in RANGES {
                        // RGB is full range whatever the tags say, and so are the JPEG formats.
                        let range = match (format.0, format.1) {
                            (Pixel::YUVJ420P, _) | (_, Kind::Rgb) => Range::Full,
                            _ => range,
                        };
                        for (tagged, siting) in SITINGS {
                            tag(&mut frame, space, range_tag, tagged);
                            let off = worst(format, &frame, matrix, range, siting);
                            most = most.max(off);
                            let is_deep = format.2 > 8 && format.5.len() > 3;
                            let bound = BOUND + if is_deep { DEEP_ALPHA } else { 0.0 };
                            let case = format!("{:?} {size:?} {pattern:?} {matrix} {range}", format.0);
                            assert!(off <= bound, "{case} {tagged:?}: off by {off:.3}");
                        }
                    }
                }
            }
        }
    }
    assert!(most > 0.4, "the comparison sees rounding: {most}");
}

/// Formats with half the rows of chroma.
fn shared_rows() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.4.1)
}

/// Heights for all differences of the fields' row counts, in luma and chroma.
const HEIGHTS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 18, 33];

#[test]
fn rows_of_chroma_belong_to_their_field() {
    let mut most = 0.0f64;
    for format in shared_rows() {
        for height in HEIGHTS {
            for pattern in [Pattern::Noise, Pattern::Extremes] {
                let mut frame = frame(format.0, (19, height), pattern);
                set_interlaced(&mut frame, true);
                for (tagged, siting) in SITINGS {
                    let (range, space) = (AVColorRange::AVCOL_RANGE_JPEG, AVColorSpace::AVCOL_SPC_BT2020_NCL);
                    tag(&mut frame, space, range, tagged);
                    let off = worst(format, &frame, Matrix::Bt2020, Range::Full, siting);
                    most = most.max(off);
                    let bound = if height > 2 { INTERLACED_BOUND } else { BOUND };
                    assert!(off <= bound, "{:?}, {height} lines, {pattern:?}, {tagged:?}: {off}", format.0);
                }
            }
        }
    }
    assert!(most > BOUND, "the comparison sees rounding: {most}");
}

/// The upper field is red and the lower one grey; neither colour may appear in the other field.
#[test]
fn fields_are_not_mixed() {
    let converted_as = |format: Pixel, size: (u32, u32), interlaced: bool| -> Vec<u8> {
        let mut frame = Video::new(format, 16, 10);
        set_interlaced(&mut frame, interlaced);
        let (space, range) = (AVColorSpace::AVCOL_SPC_SMPTE170M, AVColorRange::AVCOL_RANGE_MPEG);
        tag(&mut frame, space, range, AVChromaLocation::AVCHROMA_LOC_LEFT);
        // Samples of 8 bits; those of more have zeros below them, in either order of their bytes.
        let bytes = if matches!(format, Pixel::YUV420P16BE | Pixel::YUV420P16LE) { 2 } else { 1 };
        let at = if format == Pixel::YUV420P16LE { 1 } else { 0 };
        for plane in 0..frame.planes() {
            let stride = frame.stride(plane);
            frame.data_mut(plane).fill(0);
            for (y, row) in frame.data_mut(plane).chunks_mut(stride).enumerate() {
                let level = [[81, 90, 240, 255], [126, 128, 128, 255]][y % 2][plane];
                row[at..].iter_mut().step_by(bytes).for_each(|sample| *sample = level);
            }
        }
        let mut rgba = vec![0; (size.0 * size.1 * 4) as usize];
        RgbaConverter::new().convert_scaled(&frame, size, &mut rgba).expect("converts");
        rgba
    };
    let formats = [Pixel::YUV420P, Pixel::YUV440P, Pixel::YUVA420P, Pixel::YUV420P16LE, Pixel::YUV420P16BE];
    for format in formats {
        // swscale scales those of the same height by columns alone.
        for size in [(16, 10), (40, 10)] {
            let rgba = converted_as(format, size, true);
            for (y, row) in rgba.chunks_exact(4 * size.0 as usize).enumerate() {
                let want: [u8; 4] = [[254, 0, 0, 255], [128, 128, 128, 255]][y % 2];
                for pixel in row.chunks_exact(4) {
                    let off = pixel.iter().zip(want).map(|(a, b)| a.abs_diff(b)).max();
                    assert!(off <= Some(2), "{format:?} {size:?}, line {y}: {pixel:?}, expected {want:?}");
                }
            }
            // In the same picture as a progressive one grey lines get some of the red.
            let mixed = converted_as(format, size, false);
            let grey = &mixed[4 * (5 * size.0 + 8) as usize..][..4];
            assert!(grey[0] > 140, "{format:?}: {grey:?}");
        }
    }
}

#[test]
fn untagged_chroma_lies_left_and_for_jpeg_in_the_centre() {
    let unspecified = AVChromaLocation::AVCHROMA_LOC_UNSPECIFIED;
    for (format, siting) in [(&FORMATS[0], (0.0, 0.5)), (&FORMATS[1], (0.5, 0.5)), (&FORMATS[2], (0.0, 0.0))]
    {
        let mut frame = frame(format.0, (31, 18), Pattern::Noise);
        tag(&mut frame, AVColorSpace::AVCOL_SPC_BT709, AVColorRange::AVCOL_RANGE_JPEG, unspecified);
        let off = worst(format, &frame, Matrix::Bt709, Range::Full, siting);
        assert!(off <= BOUND, "{:?}: off by {off:.3}", format.0);
    }
}

/// The 100 % colour bars of BT.709 in 8 bits, limited range, as tables of the standard give them.
#[test]
fn colour_bars_have_their_known_values() {
    let bars: [([u8; 3], [u8; 3]); 8] = [
        ([235, 128, 128], [255, 255, 255]),
        ([219, 16, 138], [255, 255, 0]),
        ([188, 154, 16], [0, 255, 255]),
        ([173, 42, 26], [0, 255, 0]),
        ([78, 214, 230], [255, 0, 255]),
        ([63, 102, 240], [255, 0, 0]),
        ([32, 240, 118], [0, 0, 255]),
        ([16, 128, 128], [0, 0, 0]),
    ];
    for (code, rgb) in bars {
        let mut frame = Video::new(Pixel::YUV420P, 6, 4);
        (0..3).for_each(|plane| frame.data_mut(plane).fill(code[plane]));
        let (space, range) = (AVColorSpace::AVCOL_SPC_BT709, AVColorRange::AVCOL_RANGE_MPEG);
        tag(&mut frame, space, range, AVChromaLocation::AVCHROMA_LOC_LEFT);
        let (_, _, rgba) = referenced(&frame);
        for pixel in rgba.chunks_exact(4) {
            // The codes are rounded, which is worth up to 1.2 levels.
            let off = (0..3).map(|i| pixel[i].abs_diff(rgb[i])).max();
            assert!(off <= Some(1) && pixel[3] == 255, "{code:?}: {pixel:?}, expected {rgb:?}");
        }
    }
}

#[test]
fn formats_outside_of_the_contract_have_no_layout() {
    for format in [
        Pixel::PAL8,
        Pixel::MonoBlack,
        Pixel::YUV410P,
        Pixel::YUV411P,
        Pixel::YUVA420P,
        Pixel::YA8,
        Pixel::RGB565LE,
        Pixel::GRAY16LE,
        Pixel::YUV420P10BE,
        Pixel::YUV444P16LE,
        Pixel::XYZ12LE,
        Pixel::X2RGB10LE,
        Pixel::GBRPF32LE,
    ] {
        assert_eq!(layout_of(&Video::new(format, 16, 16)), None, "{format:?}");
    }
    assert_eq!(layout_of(&Video::empty()), None);
}

#[test]
fn bottom_up_pictures_are_packed_upright() {
    for (format, planes) in [(Pixel::BGR24, 1), (Pixel::YUV420P, 3)] {
        let mut frame = frame(format, (13, 8), Pattern::Noise);
        let rows = [8, 4, 4];
        let (layout, block, _) = referenced(&frame);
        // SAFETY: each plane has so many rows; pointing at its last one with a negative step stays inside.
        unsafe {
            let raw = frame.as_mut_ptr();
            for (plane, rows) in rows.into_iter().enumerate().take(planes) {
                let line = (*raw).linesize[plane];
                (*raw).data[plane] = (*raw).data[plane].offset(line as isize * (rows - 1));
                (*raw).linesize[plane] = -line;
            }
        }
        let mut flipped = vec![0; layout.bytes()];
        pack(&frame, &layout, &mut flipped).unwrap();
        for plane in layout.planes.iter().filter(|plane| plane.row > 0) {
            for y in 0..plane.rows {
                let row = |block: &[u8], y| block[plane.offset + plane.stride * y..][..plane.row].to_vec();
                assert_eq!(row(&flipped, y), row(&block, plane.rows - 1 - y), "{format:?} row {y}");
            }
        }
    }
}

#[test]
fn blocks_of_wrong_size_are_errors() {
    let small = frame(Pixel::YUV420P, (16, 8), Pattern::Noise);
    let layout = layout_of(&small).unwrap();
    let mut block = vec![0; layout.bytes()];
    assert!(pack(&small, &layout, &mut block[1..]).is_err());
    let other = frame(Pixel::YUV420P, (16, 10), Pattern::Noise);
    assert!(pack(&other, &layout, &mut block).is_err());
    assert!(convert_reference(&layout, &block, &mut [0; 16]).is_err());
}

/// Converts on the CPU into poisoned memory with canaries on both sides, and compares with the reference.
fn convert_on_host(frame: &Video) {
    let (layout, _, want) = referenced(frame);
    let report = verify::check(&want, &Rgba { width: layout.width as usize }, |before| {
        let mut after = before.to_vec();
        RgbaConverter::new().convert(frame, &mut after[verify::guard_bytes(want.len())..][..want.len()])?;
        Ok(after)
    });
    if let Some(report) = report.expect("converts") {
        panic!("{:?} {layout:?}: {report}", frame.format());
    }
}

/// Calls `check` with a frame of each format, size and pattern; if `tags` is true, with each tag, also as an interlaced picture;
/// and as an interlaced picture of each height.
fn for_each_frame(tags: bool, mut check: impl FnMut(&Video)) {
    for format in &FORMATS {
        for size in SIZES {
            PATTERNS.into_iter().for_each(|pattern| check(&frame(format.0, size, pattern)));
        }
    }
    for format in FORMATS.iter().filter(|format| tags && format.1 != Kind::Rgb) {
        for (space, _) in MATRICES {
            for (range, _) in RANGES {
                for (siting, _) in SITINGS {
                    for pattern in [Pattern::Noise, Pattern::Extremes] {
                        let mut frame = frame(format.0, (23, 9), pattern);
                        tag(&mut frame, space, range, siting);
                        check(&frame);
                        set_interlaced(&mut frame, true);
                        check(&frame);
                    }
                }
            }
        }
    }
    for (format, height) in shared_rows().flat_map(|format| HEIGHTS.map(|height| (format, height))) {
        let mut frame = frame(format.0, (19, height), Pattern::Noise);
        set_interlaced(&mut frame, true);
        check(&frame);
    }
}

#[test]
fn the_processor_equals_the_reference_in_every_format_with_every_tag() {
    for_each_frame(true, convert_on_host);
}

/// Every colour with every alpha must follow the contract's formula.
#[test]
fn colours_are_multiplied_by_their_alpha() {
    for format in FORMATS.iter().filter(|format| format.2 == 8 && format.5.len() == 4) {
        let mut picture = Video::new(format.0, 256, 256);
        let strides =
            [0, 1, 2, 3].map(|plane| if plane < picture.planes() { picture.stride(plane) } else { 0 });
        for (component, &(plane, start, step)) in format.5.iter().enumerate() {
            for (y, x) in (0..256).flat_map(|y| (0..256).map(move |x| (y, x))) {
                let value = [x, 255 - x, x ^ 0x55, y][component];
                picture.data_mut(plane)[y * strides[plane] + start + step * x] = value as u8;
            }
        }
        let (_, _, rgba) = referenced(&picture);
        for (at, pixel) in rgba.chunks_exact(4).enumerate() {
            let (x, a) = (at as u32 % 256, at as u32 / 256);
            let want = [x, 255 - x, x ^ 0x55].map(|c| ((c * a + 127) / 255) as u8);
            assert_eq!(pixel, [want[0], want[1], want[2], a as u8], "{:?} {x} {a}", format.0);
        }
        convert_on_host(&picture);
    }
}

/// Large pictures are converted by several threads.
#[test]
fn the_processor_equals_the_reference_in_a_large_picture() {
    for format in [Pixel::YUV420P, Pixel::P010LE, Pixel::BGRA] {
        convert_on_host(&frame(format, (2563, 1441), Pattern::Noise));
    }
}

/// Compares the picture that `run` writes, into poisoned memory with canaries on both sides, with `want`.
fn compare(
    cl: &ClContext,
    storage: Storage,
    size: (u32, u32),
    want: &[u8],
    case: &dyn Fn() -> String,
    mut run: impl FnMut(&Picture),
) {
    let output = GuardedPicture::of_output(cl, storage, size).expect("memory");
    let report = verify::check(want, &Rgba { width: size.0 as usize }, |before| {
        output.write(&cl.queue, before)?;
        run(&output.picture);
        let mut after = before.to_vec();
        output.read(&cl.queue, before, &mut after)?;
        Ok(after)
    });
    if let Some(report) = report.expect("runs") {
        panic!("{}: {report}", case());
    }
}

fn convert_on_device(
    cl: &ClContext,
    converter: &mut Converter,
    frame: &Video,
    storage: Storage,
    correction: &Correction,
) {
    let (layout, _, mut want) = referenced(frame);
    correct_reference(&mut want, correction, layout.matrix);
    let mut planes = PlaneBlock::new(cl, &layout).unwrap();
    planes.fill(frame).unwrap();
    let size = (layout.width, layout.height);
    let case = || format!("{:?} {layout:?} {storage:?} {correction:?}", frame.format());
    compare(cl, storage, size, &want, &case, |dst| {
        let _upload = planes.to_device(cl, &cl.queue).unwrap();
        assert!(planes.fill(frame).is_err(), "the device has the block");
        let (block, to) = (planes.on_device(cl).unwrap().clone(), dst.clone());
        let command = ConvertCommand { layout, planes: block, to, correction: *correction };
        let _event = converter.enqueue(&cl.queue, &mut KernelCache::default(), &command).unwrap();
        let _mapped = planes.to_host(cl).unwrap();
        cl.queue.finish().unwrap();
        planes.note_back_on_host();
    });
    planes.fill(frame).expect("the host has the block again");
}

#[test]
fn the_kernel_equals_the_reference_in_every_format_with_every_tag() {
    let cl = context();
    let mut converter = Converter::new(&cl);
    for storage in [Storage::Buffer, Storage::Image] {
        for_each_frame(storage == Storage::Buffer, |frame| {
            convert_on_device(&cl, &mut converter, frame, storage, &Correction::NEUTRAL);
        });
        for format in &FORMATS {
            let frame = frame(format.0, (45, 10), Pattern::Noise);
            convert_on_device(&cl, &mut converter, &frame, storage, &Correction::VIVID);
        }
    }
}

#[test]
fn the_kernel_equals_the_reference_at_720p() {
    let cl = context();
    let mut converter = Converter::new(&cl);
    for format in [Pixel::YUV420P, Pixel::NV12, Pixel::YUV422P10LE, Pixel::P010LE, Pixel::RGB24, Pixel::GRAY8]
    {
        for correction in [Correction::NEUTRAL, Correction::VIVID] {
            let frame = frame(format, (1280, 720), Pattern::Noise);
            convert_on_device(&cl, &mut converter, &frame, Storage::Buffer, &correction);
        }
    }
}

const CORRECTIONS: [Correction; 8] = [
    Correction::NEUTRAL,
    Correction::VIVID,
    Correction { brightness: -1.0, ..Correction::NEUTRAL },
    Correction { brightness: 1.0, ..Correction::NEUTRAL },
    Correction { contrast: 4.0, saturation: 4.0, ..Correction::NEUTRAL },
    Correction { saturation: 0.0, ..Correction::NEUTRAL },
    Correction { gamma: 0.1, contrast: 0.3, ..Correction::NEUTRAL },
    Correction { gamma: 10.0, brightness: -0.2, ..Correction::NEUTRAL },
];

#[test]
fn the_corrector_equals_the_reference() {
    let cl = context();
    let mut corrector = Corrector::new(&cl);
    for from in [Storage::Buffer, Storage::Image] {
        for to in [Storage::Buffer, Storage::Image] {
            for (width, height) in SIZES {
                let mut pixels = noise((width * height * 4) as usize);
                // Premultiplied: no colour is above its alpha.
                for [colors @ .., alpha] in pixels.as_chunks_mut::<4>().0 {
                    colors.iter_mut().for_each(|color| *color = (*color).min(*alpha));
                }
                let src = Picture::alloc(&cl, from, width, height).unwrap();
                src.write(&cl.queue, &pixels).unwrap();
                for correction in CORRECTIONS {
                    for matrix in [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Rgb] {
                        let mut want = pixels.clone();
                        correct_reference(&mut want, &correction, matrix);
                        let case = || format!("{from:?} to {to:?} {width}×{height} {correction:?} {matrix}");
                        let colors = RgbaColors { matrix, has_alpha: true };
                        compare(&cl, to, (width, height), &want, &case, |dst| {
                            let (from, to, size) = (src.clone(), dst.clone(), (width, height));
                            let command = CorrectCommand { from, to, size, correction, colors };
                            let event = corrector.enqueue(&cl.queue, &mut KernelCache::default(), &command);
                            event.unwrap().wait_for().unwrap();
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn only_buffers_are_corrected_in_place() {
    let cl = context();
    let mut corrector = Corrector::new(&cl);
    let pixels = noise(33 * 7 * 4);
    let mut want = pixels.clone();
    correct_reference(&mut want, &Correction::VIVID, Matrix::Bt709);
    assert_ne!(want, pixels);
    let picture = Picture::alloc(&cl, Storage::Buffer, 33, 7).unwrap();
    picture.write(&cl.queue, &pixels).unwrap();
    let run = |corrector: &mut Corrector, picture: &Picture, size| {
        let (from, to, correction) = (picture.clone(), picture.clone(), Correction::VIVID);
        let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: true };
        let command = CorrectCommand { from, to, size, correction, colors };
        corrector.enqueue(&cl.queue, &mut KernelCache::default(), &command).map(drop)
    };
    run(&mut corrector, &picture, (33, 7)).unwrap();
    let mut got = vec![0; pixels.len()];
    picture.read(&cl.queue, &mut got).unwrap();
    assert_eq!(got, want);
    assert!(run(&mut corrector, &picture, (33, 8)).is_err(), "a wrong size is refused");
    let image = Picture::alloc(&cl, Storage::Image, 33, 7).unwrap();
    assert!(run(&mut corrector, &image, (33, 7)).is_err(), "one image is refused");
}

#[test]
fn wrong_sizes_are_errors() {
    let cl = context();
    let mut converter = Converter::new(&cl);
    let frame = frame(Pixel::YUV420P, (20, 6), Pattern::Noise);
    let layout = Converter::supports(&frame).unwrap();
    let mut block = PlaneBlock::new(&cl, &layout).unwrap();
    block.fill(&frame).unwrap();
    block.to_device(&cl, &cl.queue).unwrap();
    let [buffer, image] = [Storage::Buffer, Storage::Image].map(|storage| Conversion { layout, storage });
    assert!(!converter.is_ready(&buffer));
    converter.prepare(&buffer).unwrap();
    assert!(converter.is_ready(&buffer) && !converter.is_ready(&image));
    let planes = block.on_device(&cl).unwrap();
    let mut run = |height| {
        let to = Picture::alloc(&cl, Storage::Buffer, 20, height).unwrap();
        let command = ConvertCommand { layout, planes: planes.clone(), to, correction: Correction::NEUTRAL };
        converter.enqueue(&cl.queue, &mut KernelCache::default(), &command)
    };
    assert!(run(5).is_err(), "the destination is too small");
    run(6).unwrap().wait_for().unwrap();
}
