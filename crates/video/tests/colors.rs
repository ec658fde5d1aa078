//! Colours of flat pictures, which are built plane by plane, converted, and compared with the standards' formulas.

use std::ffi::CStr;

use ffmpeg_next::ffi::{self, AVColorRange, AVColorSpace};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use video::color::{Matrix, Range, RgbaConverter};

/// The largest allowed difference of a channel from the exact value.
const TOLERANCE: f64 = 2.0;
const SIZES: [(u32, u32); 8] = [(16, 16), (13, 7), (1, 1), (175, 99), (66, 2), (31, 1), (2, 31), (1280, 6)];
/// Red, green, blue, white, black, two greys, skin, orange, and a dark cyan.
const COLOURS: [[u8; 3]; 10] = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [255, 255, 255],
    [0, 0, 0],
    [128, 128, 128],
    [37, 37, 37],
    [224, 172, 143],
    [250, 140, 10],
    [8, 70, 72],
];

/// Converts to YCbCr as fractions: luma 0 to 1, chroma -0.5 to 0.5.
fn ycbcr(rgb: [f64; 3], matrix: Matrix) -> [f64; 3] {
    if matrix == Matrix::Ycgco {
        let [r, g, b] = rgb;
        return [(r + 2.0 * g + b) / 4.0, (2.0 * g - r - b) / 4.0, (r - b) / 2.0];
    }
    let (kr, kb) = matrix.weights().expect("a YCbCr matrix");
    let y = kr * rgb[0] + (1.0 - kr - kb) * rgb[1] + kb * rgb[2];
    [y, (rgb[2] - y) / (2.0 * (1.0 - kb)), (rgb[0] - y) / (2.0 * (1.0 - kr))]
}

/// Converts a code triple with `depth` bits to RGB from 0 to 255, clipped.
fn rgb_of(code: [u16; 3], matrix: Matrix, range: Range, depth: u32) -> [f64; 3] {
    let unit = f64::from(1u32 << (depth - 8));
    let (y, cb, cr) = (f64::from(code[0]), f64::from(code[1]), f64::from(code[2]));
    let full = f64::from((1u32 << depth) - 1);
    let (y, cb, cr) = match range {
        Range::Limited => {
            ((y / unit - 16.0) / 219.0, (cb / unit - 128.0) / 224.0, (cr / unit - 128.0) / 224.0)
        }
        Range::Full => (y / full, (cb - 128.0 * unit) / full, (cr - 128.0 * unit) / full),
    };
    let rgb = if matrix == Matrix::Ycgco {
        [y - cb + cr, y + cb, y - cb - cr]
    } else {
        let (kr, kb) = matrix.weights().expect("a YCbCr matrix");
        let r = y + 2.0 * (1.0 - kr) * cr;
        let b = y + 2.0 * (1.0 - kb) * cb;
        [r, (y - kr * r - kb * b) / (1.0 - kr - kb), b]
    };
    rgb.map(|v| (v * 255.0).clamp(0.0, 255.0))
}

/// Returns the code triple nearest to an RGB colour.
fn code_of(rgb: [u8; 3], matrix: Matrix, range: Range, depth: u32) -> [u16; 3] {
    let [y, cb, cr] = ycbcr(rgb.map(|v| f64::from(v) / 255.0), matrix);
    let unit = f64::from(1u32 << (depth - 8));
    let full = f64::from((1u32 << depth) - 1);
    let code = match range {
        Range::Limited => [16.0 + 219.0 * y, 128.0 + 224.0 * cb, 128.0 + 224.0 * cr].map(|v| v * unit),
        Range::Full => [y * full, 128.0 * unit + cb * full, 128.0 * unit + cr * full],
    };
    code.map(|v| v.round().clamp(0.0, full) as u16)
}

fn tag(frame: &mut Video, space: AVColorSpace, range: AVColorRange) {
    // SAFETY: the frame is valid and owned; both are plain fields.
    unsafe {
        (*frame.as_mut_ptr()).colorspace = space;
        (*frame.as_mut_ptr()).color_range = range;
    }
}

/// Fills a plane with a repeated pattern of bytes.
fn fill(frame: &mut Video, plane: usize, pattern: &[u8]) {
    for (byte, value) in frame.data_mut(plane).iter_mut().zip(pattern.iter().cycle()) {
        *byte = *value;
    }
}

/// Returns a flat YCbCr picture, opaque if its format has alpha.
fn flat(format: Pixel, size: (u32, u32), code: [u16; 3]) -> Video {
    let mut frame = Video::new(format, size.0, size.1);
    match format {
        Pixel::NV12 => {
            fill(&mut frame, 0, &[code[0] as u8]);
            fill(&mut frame, 1, &[code[1] as u8, code[2] as u8]);
        }
        Pixel::YUYV422 => {
            fill(&mut frame, 0, &[code[0] as u8, code[1] as u8, code[0] as u8, code[2] as u8]);
        }
        Pixel::YUV420P10LE | Pixel::YUV422P10LE | Pixel::YUV444P12LE | Pixel::YUV444P16LE => {
            (0..3).for_each(|plane| fill(&mut frame, plane, &code[plane].to_le_bytes()));
        }
        _ => (0..3).for_each(|plane| fill(&mut frame, plane, &[code[plane] as u8])),
    }
    if frame.planes() == 4 {
        fill(&mut frame, 3, &[255]);
    }
    frame
}

/// Converts twice into differently poisoned memory, to detect bytes that are not written.
fn convert(converter: &mut RgbaConverter, frame: &Video) -> Vec<u8> {
    let bytes = frame.width() as usize * frame.height() as usize * 4;
    let mut first = vec![0x5a; bytes];
    let mut second = vec![0xa5; bytes];
    converter.convert(frame, &mut first).expect("converts");
    converter.convert(frame, &mut second).expect("converts");
    let (format, size) = (frame.format(), (frame.width(), frame.height()));
    assert_eq!(first, second, "{format:?} {size:?}: bytes were not written");
    first
}

/// Returns the largest difference of any pixel from `expected`; alpha must be 255.
fn difference(rgba: &[u8], expected: [f64; 3]) -> f64 {
    let mut worst = 0.0_f64;
    for pixel in rgba.chunks_exact(4) {
        assert_eq!(pixel[3], 255, "alpha");
        for channel in 0..3 {
            worst = worst.max((f64::from(pixel[channel]) - expected[channel]).abs());
        }
    }
    worst
}

/// Asserts that every pixel is within the tolerance.
fn assert_near(rgba: &[u8], expected: [f64; 3], case: &str) {
    let worst = difference(rgba, expected);
    assert!(worst <= TOLERANCE, "{case}: off by {worst:.2}");
}

/// Converts to another size.
fn scale(converter: &mut RgbaConverter, frame: &Video, (width, height): (u32, u32)) -> Vec<u8> {
    let mut rgba = vec![0x5a; width as usize * height as usize * 4];
    converter.convert_scaled(frame, (width, height), &mut rgba).expect("scales");
    rgba
}

/// Gives each byte of a plane the value for its column and row.
fn paint(frame: &mut Video, plane: usize, value: impl Fn(usize, usize) -> u8) {
    let stride = frame.stride(plane);
    for (y, row) in frame.data_mut(plane).chunks_mut(stride).enumerate() {
        row.iter_mut().enumerate().for_each(|(x, byte)| *byte = value(x, y));
    }
}

fn check_flat(formats: &[(Pixel, u32)], tags: (AVColorSpace, AVColorRange), matrix: Matrix, range: Range) {
    let mut converter = RgbaConverter::new();
    for &(format, depth) in formats {
        for size in SIZES {
            // The matrix of untagged pictures depends on their size.
            let is_untagged = tags.0 == AVColorSpace::AVCOL_SPC_UNSPECIFIED;
            let matrix = if is_untagged && size.0 >= 1280 { Matrix::Bt709 } else { matrix };
            for colour in COLOURS {
                let code = code_of(colour, matrix, range, depth);
                let mut frame = flat(format, size, code);
                tag(&mut frame, tags.0, tags.1);
                let case = format!("{format:?} {size:?} {matrix} {range} colour {colour:?} code {code:?}");
                let expected = rgb_of(code, matrix, range, depth);
                let is_near = (0..3).all(|c| (expected[c] - f64::from(colour[c])).abs() <= 2.5);
                assert!(is_near, "{case}: {expected:?}");
                assert_near(&convert(&mut converter, &frame), expected, &case);
                if matrix == Matrix::Ycgco && size.0 > 12 && size.1 > 6 {
                    let scaled = scale(&mut converter, &frame, (2 * size.0, 2 * size.1));
                    assert_near(&scaled, expected, &format!("{case} scaled"));
                }
            }
        }
    }
}

const YCBCR: [(Pixel, u32); 8] = [
    (Pixel::YUV420P, 8),
    (Pixel::YUV422P, 8),
    (Pixel::YUV444P, 8),
    (Pixel::NV12, 8),
    (Pixel::YUYV422, 8),
    (Pixel::YUV420P10LE, 10),
    (Pixel::YUV422P10LE, 10),
    (Pixel::YUV444P12LE, 12),
];

#[test]
fn flat_pictures_follow_the_standards() {
    let [mpeg, jpeg] = [AVColorRange::AVCOL_RANGE_MPEG, AVColorRange::AVCOL_RANGE_JPEG];
    let unspecified = AVColorRange::AVCOL_RANGE_UNSPECIFIED;
    let [limited, full] = [Range::Limited, Range::Full];
    let one = &YCBCR[..1];
    // With formats whose samples are copied to other planes first.
    let others = [(Pixel::YUV444P16LE, 16), (Pixel::YUV411P, 8), (Pixel::YUVA444P, 8), (Pixel::YUVA420P, 8)];
    let all = &[&YCBCR[..], &others].concat()[..];
    let ycgco = AVColorSpace::AVCOL_SPC_YCGCO;
    for (formats, space, tag, matrix, range) in [
        (&YCBCR[..], AVColorSpace::AVCOL_SPC_SMPTE170M, mpeg, Matrix::Bt601, limited),
        (&YCBCR, AVColorSpace::AVCOL_SPC_BT709, mpeg, Matrix::Bt709, limited),
        (&YCBCR, AVColorSpace::AVCOL_SPC_BT470BG, jpeg, Matrix::Bt601, full),
        (&YCBCR, AVColorSpace::AVCOL_SPC_BT709, jpeg, Matrix::Bt709, full),
        (one, AVColorSpace::AVCOL_SPC_BT2020_NCL, mpeg, Matrix::Bt2020, limited),
        (one, AVColorSpace::AVCOL_SPC_SMPTE240M, mpeg, Matrix::Smpte240m, limited),
        (all, ycgco, mpeg, Matrix::Ycgco, limited),
        (all, ycgco, unspecified, Matrix::Ycgco, limited),
        (all, ycgco, jpeg, Matrix::Ycgco, full),
    ] {
        check_flat(formats, (space, tag), matrix, range);
    }
    // JPEG formats are full range without a tag.
    let formats = [(Pixel::YUVJ420P, 8), (Pixel::YUVJ422P, 8), (Pixel::YUVJ444P, 8)];
    check_flat(&formats, (AVColorSpace::AVCOL_SPC_UNSPECIFIED, unspecified), Matrix::Bt601, full);
}

/// By the rule of mpv and libplacebo, films that are cropped to 1280×536 are of high definition, and 576 lines are not. Both
/// for the conversion by rows and for scaling by swscale.
#[test]
fn untagged_pictures_change_their_matrix_with_their_size() {
    let mut converter = RgbaConverter::new();
    for (size, matrix) in [
        ((64, 480), Matrix::Bt601),
        ((64, 576), Matrix::Bt601),
        ((1279, 576), Matrix::Bt601),
        ((64, 577), Matrix::Bt709),
        ((608, 1080), Matrix::Bt709),
        ((1280, 536), Matrix::Bt709),
        ((1920, 500), Matrix::Bt709),
        ((1280, 2), Matrix::Bt709),
    ] {
        // Saturated green: the two matrices differ by some 20 levels here.
        let code = code_of([0, 200, 0], matrix, Range::Limited, 8);
        let frame = flat(Pixel::YUV420P, size, code);
        let expected = rgb_of(code, matrix, Range::Limited, 8);
        assert_near(&convert(&mut converter, &frame), expected, &format!("{size:?}"));
        let scaled = scale(&mut converter, &frame, (size.0 / 2, size.1));
        assert_near(&scaled, expected, &format!("{size:?} scaled"));
    }
}

#[test]
fn rgb_formats_pass_through() {
    let mut converter = RgbaConverter::new();
    for size in SIZES {
        for [r, g, b] in COLOURS {
            let packed: [(Pixel, &[u8]); 6] = [
                (Pixel::RGB24, &[r, g, b]),
                (Pixel::BGR24, &[b, g, r]),
                (Pixel::BGRZ, &[b, g, r, 0]),
                (Pixel::RGBZ, &[r, g, b, 0]),
                (Pixel::RGBA, &[r, g, b, 255]),
                (Pixel::BGRA, &[b, g, r, 255]),
            ];
            for (format, pattern) in packed {
                let mut frame = Video::new(format, size.0, size.1);
                paint(&mut frame, 0, |x, _| pattern[x % pattern.len()]);
                // A tag meant for YCbCr must not touch RGB.
                tag(&mut frame, AVColorSpace::AVCOL_SPC_BT709, AVColorRange::AVCOL_RANGE_MPEG);
                let worst = difference(&convert(&mut converter, &frame), [r, g, b].map(f64::from));
                assert_eq!(worst, 0.0, "{format:?} {size:?} {:?}", [r, g, b]);
            }
            let mut planar = Video::new(Pixel::GBRP, size.0, size.1);
            [g, b, r].iter().enumerate().for_each(|(plane, value)| fill(&mut planar, plane, &[*value]));
            let worst = difference(&convert(&mut converter, &planar), [r, g, b].map(f64::from));
            assert_eq!(worst, 0.0, "GBRP {size:?} {:?}", [r, g, b]);
        }
    }
}

#[test]
fn grey_is_full_range_unless_it_is_tagged() {
    let mut converter = RgbaConverter::new();
    for size in SIZES {
        for value in [0, 16, 100, 235, 255] {
            let mut frame = Video::new(Pixel::GRAY8, size.0, size.1);
            fill(&mut frame, 0, &[value]);
            let rgba = convert(&mut converter, &frame);
            assert_near(&rgba, [f64::from(value); 3], &format!("{size:?} {value}"));
        }
    }
}

/// Columns and rows are in their positions at every width; each luma pixel has a different value.
#[test]
fn every_pixel_has_its_position() {
    let mut converter = RgbaConverter::new();
    for width in (1..=40).chain([175, 853]) {
        for height in [1, 2, 3, 8, 99] {
            let mut frame = flat(Pixel::YUV420P, (width, height), [0, 128, 128]);
            let luma = |x: usize, y: usize| ((x * 7 + y * 13) % 200 + 20) as u8;
            paint(&mut frame, 0, luma);
            let rgba = convert(&mut converter, &frame);
            for (i, pixel) in rgba.chunks_exact(4).enumerate() {
                let (x, y) = (i % width as usize, i / width as usize);
                let grey = ((f64::from(luma(x, y)) - 16.0) * 255.0 / 219.0).clamp(0.0, 255.0);
                assert_near(pixel, [grey; 3], &format!("{width}×{height} at {x},{y}"));
            }
        }
    }
}

/// Negative line sizes mean bottom-up rows.
#[test]
fn bottom_up_pictures_come_out_upright() {
    let mut converter = RgbaConverter::new();
    for (width, height) in [(32, 6), (13, 7)] {
        let mut frame = Video::new(Pixel::BGR24, width, height);
        paint(&mut frame, 0, |_, y| y as u8 * 10);
        let stride = frame.stride(0);
        // SAFETY: the plane has `height` rows; pointing at its last row with a negative step stays inside.
        unsafe {
            let raw = frame.as_mut_ptr();
            (*raw).data[0] = (*raw).data[0].add(stride * (height as usize - 1));
            (*raw).linesize[0] = -(stride as i32);
        }
        let rgba = convert(&mut converter, &frame);
        for (y, row) in rgba.chunks_exact(width as usize * 4).enumerate() {
            let value = f64::from((height as usize - 1 - y) as u32 * 10);
            assert_eq!(difference(row, [value; 3]), 0.0, "row {y}");
        }
    }
}

#[test]
fn one_converter_follows_changing_pictures() {
    let mut converter = RgbaConverter::new();
    let colour = [200, 30, 90];
    for (format, size, matrix, space) in [
        (Pixel::YUV420P, (64, 48), Matrix::Bt601, AVColorSpace::AVCOL_SPC_UNSPECIFIED),
        (Pixel::YUV420P, (64, 48), Matrix::Bt709, AVColorSpace::AVCOL_SPC_BT709),
        (Pixel::YUV444P, (64, 48), Matrix::Bt709, AVColorSpace::AVCOL_SPC_BT709),
        (Pixel::YUV444P, (31, 33), Matrix::Bt2020, AVColorSpace::AVCOL_SPC_BT2020_NCL),
        (Pixel::YUV420P, (64, 48), Matrix::Bt601, AVColorSpace::AVCOL_SPC_UNSPECIFIED),
    ] {
        let code = code_of(colour, matrix, Range::Limited, 8);
        let mut frame = flat(format, size, code);
        tag(&mut frame, space, AVColorRange::AVCOL_RANGE_UNSPECIFIED);
        let expected = rgb_of(code, matrix, Range::Limited, 8);
        assert_near(&convert(&mut converter, &frame), expected, &format!("{format:?} {size:?} {matrix}"));
    }
}

#[test]
fn scaling_fills_the_target() {
    let mut converter = RgbaConverter::new();
    let code = code_of([10, 200, 60], Matrix::Bt601, Range::Limited, 8);
    let frame = flat(Pixel::YUV420P, (64, 48), code);
    let expected = rgb_of(code, Matrix::Bt601, Range::Limited, 8);
    for size in [(128, 96), (33, 17), (1, 1), (64, 47)] {
        assert_near(&scale(&mut converter, &frame, size), expected, &format!("{size:?}"));
    }
}

#[test]
fn a_wrong_destination_is_refused() {
    let frame = flat(Pixel::YUV420P, (16, 16), [16, 128, 128]);
    let error = RgbaConverter::new().convert(&frame, &mut [0; 16 * 16 * 4 - 1]).expect_err("too small");
    assert!(error.why.contains("16×16"), "{error}");
}

/// Width and height of a block of one colour, in which the middle pixel depends on no other colour.
const BLOCK: usize = 16;
/// Blocks in a row of the picture of codes.
const BLOCKS: usize = 21;
const LUMA_CODES: [u8; 9] = [0, 16, 41, 81, 126, 145, 210, 240, 255];
const CHROMA_CODES: [u8; 7] = [0, 16, 64, 128, 192, 240, 255];

/// Returns the triple of a block: every combination of luma and chroma, also those far outside of RGB.
fn triple_of(block: usize) -> [u8; 3] {
    let at = |codes: &[u8], index: usize| codes[index % codes.len()];
    [at(&LUMA_CODES, block), at(&CHROMA_CODES, block / 9), at(&CHROMA_CODES, block / 63)]
}

/// Returns all pixel formats of this FFmpeg, with their descriptions.
fn formats() -> Vec<(Pixel, &'static ffi::AVPixFmtDescriptor)> {
    let mut formats = Vec::new();
    let mut next = std::ptr::null();
    // SAFETY: descriptions are static, and the iteration begins with null.
    while let Some(format) = unsafe { ffi::av_pix_fmt_desc_next(next).as_ref() } {
        next = format;
        // SAFETY: as above.
        formats.push((unsafe { ffi::av_pix_fmt_desc_get_id(format) }.into(), format));
    }
    formats
}

/// Returns the number that stores a sample of 8 bits in a component of `depth` bits.
fn stored(code: u8, depth: u32, range: Range, is_float: bool) -> u32 {
    match (is_float, depth, range) {
        (true, 32, _) => (f32::from(code) / 255.0).to_bits(),
        // 0, 1/2 and 1 as binary16.
        (true, ..) => [0, 0x3800, 0x3c00][usize::from(code) / 127],
        (_, 0..=8, _) => u32::from(code) >> (8 - depth),
        (_, _, Range::Limited) => u32::from(code) << (depth - 8),
        _ => (u64::from(code) * ((1u64 << depth) - 1) / 255) as u32,
    }
}

/// Returns a picture with a block of each triple, and opaque alpha; `None` where the description does not fit the format.
fn picture_of_codes(pixel: Pixel, format: &ffi::AVPixFmtDescriptor, range: Range) -> Option<Video> {
    let side = (BLOCK * BLOCKS) as u32;
    let mut frame = Video::new(pixel, side, side);
    for plane in 0..frame.planes() {
        frame.data_mut(plane).fill(0);
    }
    let (flags, count) = (format.flags as i32, usize::from(format.nb_components));
    let is_rgb = flags & ffi::AV_PIX_FMT_FLAG_RGB != 0;
    for (component, comp) in format.comp[..count].iter().enumerate() {
        let is_alpha = flags & ffi::AV_PIX_FMT_FLAG_ALPHA != 0 && component + 1 == count;
        let is_chroma = !is_rgb && count > 2 && (1..3).contains(&component);
        let log2 = if is_chroma { (format.log2_chroma_w, format.log2_chroma_h) } else { (0, 0) };
        let (columns, rows) = ((side as usize) >> log2.0, (side as usize) >> log2.1);
        for y in 0..rows {
            let row: Vec<u32> = (0..columns)
                .map(|x| {
                    let block = ((y << log2.1) / BLOCK) * BLOCKS + (x << log2.0) / BLOCK;
                    let (code, range) = match is_alpha {
                        true => (255, Range::Full),
                        false => (triple_of(block)[component], range),
                    };
                    stored(code, comp.depth as u32, range, flags & ffi::AV_PIX_FMT_FLAG_FLOAT != 0)
                })
                .collect();
            // SAFETY: the frame is valid, and has this row; the numbers have four bytes.
            unsafe {
                let raw = frame.as_mut_ptr();
                let planes = (&raw mut (*raw).data).cast();
                let lines = (&raw const (*raw).linesize).cast();
                let (y, component, columns) = (y as i32, component as i32, columns as i32);
                let row = row.as_ptr().cast();
                ffi::av_write_image_line2(row, planes, lines, format, 0, y, component, columns, 4);
            }
        }
    }
    Some(frame)
}

/// Checks saturated colours of every kind, in every format whose samples FFmpeg describes, by several matrices and ranges.
#[test]
fn saturated_codes_are_exact_in_every_format() {
    let mut converter = RgbaConverter::new();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (pixel, format) in formats() {
        let flags = format.flags as i32;
        let outside = ffi::AV_PIX_FMT_FLAG_PAL | ffi::AV_PIX_FMT_FLAG_HWACCEL | ffi::AV_PIX_FMT_FLAG_BAYER;
        // The description of UYYVYY411 is not that of its bytes.
        if flags & outside != 0 || matches!(pixel, Pixel::XYZ12LE | Pixel::XYZ12BE | Pixel::UYYVYY411) {
            continue;
        }
        // SAFETY: every format has a name.
        let name = unsafe { CStr::from_ptr(format.name) }.to_string_lossy();
        let is_rgb = flags & ffi::AV_PIX_FMT_FLAG_RGB != 0;
        let is_grey = format.nb_components < 3;
        for (space, matrix) in [
            (AVColorSpace::AVCOL_SPC_SMPTE170M, Matrix::Bt601),
            (AVColorSpace::AVCOL_SPC_BT709, Matrix::Bt709),
            (AVColorSpace::AVCOL_SPC_BT2020_NCL, Matrix::Bt2020),
            (AVColorSpace::AVCOL_SPC_YCGCO, Matrix::Ycgco),
        ] {
            for range in [Range::Limited, Range::Full] {
                let range = if is_rgb || name.contains("yuvj") { Range::Full } else { range };
                let mut frame = picture_of_codes(pixel, format, range).unwrap();
                let is_limited = range == Range::Limited;
                let [mpeg, jpeg] = [AVColorRange::AVCOL_RANGE_MPEG, AVColorRange::AVCOL_RANGE_JPEG];
                tag(&mut frame, space, if is_limited { mpeg } else { jpeg });
                let side = BLOCK * BLOCKS;
                let mut rgba = vec![0x5a; 4 * side * side];
                if let Err(error) = converter.convert(&frame, &mut rgba) {
                    wrong.push(format!("{name}: {error}"));
                    continue;
                }
                checked += 1;
                let mut worst = (0.0, [0; 3], [0; 3]);
                for block in 0..BLOCKS * BLOCKS {
                    let code = triple_of(block);
                    let (x, y) = (block % BLOCKS * BLOCK + BLOCK / 2, block / BLOCKS * BLOCK + BLOCK / 2);
                    let got = &rgba[4 * (y * side + x)..][..4];
                    // What is stored may have fewer bits.
                    let stored = [0, 1, 2].map(|component| {
                        let depth = format.comp[component].depth as u32;
                        match (flags & ffi::AV_PIX_FMT_FLAG_FLOAT != 0, depth) {
                            (true, 16) => [0.0, 127.5, 255.0][usize::from(code[component]) / 127],
                            (false, 1..8) => {
                                f64::from(code[component] >> (8 - depth)) * 255.0
                                    / f64::from((1 << depth) - 1)
                            }
                            _ => f64::from(code[component]),
                        }
                    });
                    let grey = |level: f64| match range {
                        Range::Limited => ((level - 16.0) * 255.0 / 219.0).clamp(0.0, 255.0),
                        Range::Full => level,
                    };
                    let expected = match (is_rgb, is_grey) {
                        (true, _) => stored,
                        (_, true) if name == "monow" => [grey(255.0 - stored[0]); 3],
                        (_, true) => [grey(stored[0]); 3],
                        _ => rgb_of(code.map(u16::from), matrix, range, 8),
                    };
                    let off = difference(got, expected);
                    if off > worst.0 {
                        worst = (off, code, [got[0], got[1], got[2]]);
                    }
                }
                if worst.0 > TOLERANCE {
                    let (off, code, got) = worst;
                    wrong.push(format!("{name} {matrix} {range}: {code:?} is {got:?}, off by {off:.1}"));
                }
            }
        }
    }
    assert!(wrong.is_empty() && checked > 500, "{checked} checked, wrong:\n{}", wrong.join("\n"));
}

/// Compares planes with alpha and without, at the hardest possible edges.
#[test]
fn formats_with_all_rows_of_chroma_keep_their_edges() {
    for (with, without) in [(Pixel::YUVA422P, Pixel::YUV422P), (Pixel::YUVA444P, Pixel::YUV444P)] {
        for side in [1, 2, 5] {
            let [mut with, mut without] = [with, without].map(|format| Video::new(format, 66, 18));
            for frame in [&mut with, &mut without] {
                for plane in 0..frame.planes() {
                    let high = |x, y| usize::from((x / side + y / side) % 2 == plane % 2);
                    paint(frame, plane, |x, y| [[41, 16, 16, 255], [81, 240, 240, 255]][high(x, y)][plane]);
                }
            }
            let mut converter = RgbaConverter::new();
            let (with, without) = (convert(&mut converter, &with), convert(&mut converter, &without));
            let off = with.iter().zip(&without).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(off <= Some(2), "{side} samples: off by {off:?}");
        }
    }
}

/// Fills a picture with alpha (bytes or little-endian words) with transparent and half transparent colours. Returns it, and
/// an opaque copy.
fn with_alpha(format: Pixel, planes: [usize; 4], steps: [(usize, usize); 4]) -> [Video; 2] {
    const ALPHAS: [u8; 8] = [0, 1, 127, 128, 254, 255, 64, 200];
    let (components, mut both) = (planes.len(), [Video::new(format, 40, 12), Video::new(format, 40, 12)]);
    let unit = if matches!(format, Pixel::GBRAP16LE | Pixel::RGBA64LE) { 2 } else { 1 };
    for (at, frame) in both.iter_mut().enumerate() {
        for plane in 0..frame.planes() {
            frame.data_mut(plane).fill(0);
        }
        for component in 0..components {
            let (plane, (start, step)) = (planes[component], steps[component]);
            let stride = frame.stride(plane);
            for (y, row) in frame.data_mut(plane).chunks_mut(stride).enumerate() {
                for (x, sample) in row[start..].chunks_mut(step).enumerate() {
                    // Both bytes of a word are equal, so that its full range is that of a byte.
                    let unit = sample.len().min(unit);
                    sample[..unit].fill(match (component, at) {
                        (3, 0) => ALPHAS[(x / 4 + y / 4) % 8],
                        (3, _) => 255,
                        _ => ((x / 4 * 37 + y / 4 * 91 + component * 60) % 220) as u8 + 18,
                    });
                }
            }
        }
    }
    both
}

/// Checks that pictures whose alpha is read separately are premultiplied, like those that the kernels convert.
#[test]
fn hidden_colours_are_not_shown() {
    let mut converter = RgbaConverter::new();
    let bytes = [(0, 1); 4];
    let words = [(0, 2); 4];
    for (format, planes, steps) in [
        (Pixel::YUVA444P, [0, 1, 2, 3], bytes),
        (Pixel::YUVA422P, [0, 1, 2, 3], bytes),
        (Pixel::YUVA420P, [0, 1, 2, 3], bytes),
        (Pixel::YA8, [0, 0, 0, 0], [(0, 2), (0, 2), (0, 2), (1, 2)]),
        (Pixel::GBRAP16LE, [0, 1, 2, 3], words),
        (Pixel::RGBA64LE, [0; 4], [(0, 8), (2, 8), (4, 8), (6, 8)]),
        (Pixel::BGRA, [0; 4], [(0, 4), (1, 4), (2, 4), (3, 4)]),
    ] {
        let [hidden, opaque] = with_alpha(format, planes, steps);
        let (got, divide_alpha) = (convert(&mut converter, &hidden), convert(&mut converter, &opaque));
        let alphas: std::collections::BTreeSet<u8> = got.chunks_exact(4).map(|pixel| pixel[3]).collect();
        assert!(alphas.len() >= 8 && alphas.contains(&0) && alphas.contains(&255), "{format:?}: {alphas:?}");
        for (got, divide_alpha) in got.chunks_exact(4).zip(divide_alpha.chunks_exact(4)) {
            let alpha = u32::from(got[3]);
            assert_eq!(divide_alpha[3], 255);
            let want = [0, 1, 2].map(|at| ((u32::from(divide_alpha[at]) * alpha + 127) / 255) as u8);
            assert_eq!(got[..3], want, "{format:?}, alpha {alpha}");
        }
    }
}

#[test]
fn palettes_are_looked_up_and_may_have_alpha() {
    // Entries are 0xAARRGGBB in the machine's byte order.
    let entries: [(u32, [u8; 4]); 6] = [
        (0xffff_0000, [255, 0, 0, 255]),
        (0xff00_ff00, [0, 255, 0, 255]),
        (0xff01_02fe, [1, 2, 254, 255]),
        (0x00ff_8001, [0; 4]),
        (0x80ff_8001, [128, 64, 1, 128]),
        (0xffff_8001, [255, 128, 1, 255]),
    ];
    let mut frame = Video::new(Pixel::PAL8, 13, 7);
    // SAFETY: PAL8 frames have 256 entries of four bytes in their second plane, and 7 rows of their line size in the first.
    unsafe {
        let palette = (*frame.as_mut_ptr()).data[1].cast::<u32>();
        (0..256).for_each(|i| palette.add(i).write_unaligned(entries[i % 6].0));
        let bytes = frame.stride(0);
        (0..7).for_each(|y| (*frame.as_mut_ptr()).data[0].add(y * bytes).write_bytes(y as u8 % 6, bytes));
    }
    let rgba = convert(&mut RgbaConverter::new(), &frame);
    for (y, row) in rgba.chunks_exact(13 * 4).enumerate() {
        assert_eq!(row, entries[y % 6].1.repeat(13), "row {y}");
    }
}

/// Checks that transparent red beside blue does not appear at the edge, at any scale.
#[test]
fn scaling_mixes_no_hidden_colours() {
    let mut frame = Video::new(Pixel::RGBA, 32, 32);
    paint(&mut frame, 0, |x, y| [[255, 0, 0, 0], [0, 0, 255, 255]][(x / 16 + y / 4) % 2][x % 4]);
    for (width, height) in [(64, 64), (20, 31), (33, 7), (32, 31)] {
        let rgba = scale(&mut RgbaConverter::new(), &frame, (width, height));
        // swscale computes in YCbCr between.
        let most = rgba.chunks_exact(4).map(|pixel| pixel[0].max(pixel[1])).max();
        assert!(most <= Some(3), "{width}×{height}: {most:?} of red or green");
        assert!(rgba.chunks_exact(4).all(|pixel| pixel[2] <= pixel[3]), "{width}×{height}");
    }
}
