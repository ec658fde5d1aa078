//! Pictures to RGBA8 by the contract of [`color`](crate::color), on the processor. In: a decoded picture of a format
//! that the contract covers. Out: the bytes that its reference and the kernels give.
//!
//! Of each row the samples become numbers of two bytes, chroma is interpolated between two of its rows and then along
//! them, and the numbers become pixels. All are plain loops over a row, which the compiler turns into vectors; where the
//! processor has AVX2 they are compiled for it.

use ffmpeg_next::frame::Video;

use super::alpha::premultiply_samples;
use super::planes::{Rows, rows_of};
use crate::color::{Coefficients, FRACTION_BITS, Family, Layout};
use base::error::{Error, Result};
use base::threads::{all_threads, share};

/// Pixels for each thread, at least: on a busy machine, waiting for another thread costs more than it saves in a small
/// picture.
const PIXELS_A_THREAD: usize = 1 << 19;
/// More threads than this are not faster.
const MOST_THREADS: usize = 4;
/// Strips for each thread, so that one that is held up does not hold up the others.
const STRIPS: usize = 4;

/// Converts `frame`, of which [`layout_of`](super::planes::layout_of) gave `layout`, to `rgba`.
///
/// # Errors
/// `layout` is another picture's, `rgba` has another size, or the frame's planes are not in memory.
pub(crate) fn convert(frame: &Video, layout: &Layout, rgba: &mut [u8]) -> Result<()> {
    let pixels = layout.width as usize * layout.height as usize;
    convert_on(frame, layout, rgba, (pixels / PIXELS_A_THREAD).clamp(1, all_threads().min(MOST_THREADS)))
}

fn convert_on(frame: &Video, layout: &Layout, rgba: &mut [u8], threads: usize) -> Result<()> {
    if rgba.len() != layout.rgba_bytes() {
        let why = format!("{} bytes do not hold {}×{} RGBA pixels.", rgba.len(), layout.width, layout.height);
        return Err(Error::new("Cannot convert the picture.", why, ""));
    }
    let picture =
        Source { layout: *layout, planes: rows_of(frame, layout)?, coefficients: Coefficients::of(layout) };
    let strips = if threads > 1 { STRIPS * threads } else { 1 };
    let rows = (layout.height as usize).div_ceil(strips);
    let strip = rows * layout.width as usize * 4;
    share(rgba.chunks_mut(strip.max(1)).enumerate(), threads, |(number, out)| {
        picture.run(number * rows, out)
    });
    Ok(())
}

/// What is converted.
struct Source<'a> {
    layout: Layout,
    planes: [Rows<'a>; 4],
    coefficients: Coefficients,
}

impl Source<'_> {
    /// Converts the rows from `first` on that `out` has room for.
    fn run(&self, first: usize, out: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, the only feature that it is compiled for.
            return unsafe { self.run_avx2(first, out) };
        }
        self.rows(first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, first: usize, out: &mut [u8]) {
        self.rows(first, out);
    }

    #[inline(always)]
    fn rows(&self, first: usize, out: &mut [u8]) {
        let rows = (first..).zip(out.chunks_exact_mut(4 * self.layout.width as usize));
        match self.layout.family {
            Family::Ycbcr if self.coefficients.is_ycgco => self.ycbcr::<true>(rows),
            Family::Ycbcr => self.ycbcr::<false>(rows),
            Family::Grey => self.grey(rows),
            Family::Rgb => self.rgb(rows),
        }
    }

    /// `YCGCO`: red and blue have parts of both chroma components.
    #[inline(always)]
    fn ycbcr<'a, const YCGCO: bool>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let c = &self.coefficients;
        let mut luma = self.line(0);
        let (mut u, mut v) = (Chroma::new(self, 1), Chroma::new(self, 2));
        for (y, out) in rows {
            self.samples(0, y, &mut luma);
            u.at_row(self, y);
            v.at_row(self, y);
            for (((y, u), v), pixel) in luma.iter().zip(&u.line).zip(&v.line).zip(out.chunks_exact_mut(4)) {
                let base = c.luma * (16 * i32::from(*y) - c.black);
                let (u, v) = (i32::from(*u) - c.middle, i32::from(*v) - c.middle);
                let (mut r, g, mut b) = (base + c.rv * v, base + c.gu * u + c.gv * v, base + c.bu * u);
                if YCGCO {
                    (r, b) = (r + c.bu * u, b - c.rv * v);
                }
                pixel.copy_from_slice(&(level(r) | level(g) << 8 | level(b) << 16 | OPAQUE).to_le_bytes());
            }
        }
    }

    #[inline(always)]
    fn grey<'a>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let mut luma = self.line(0);
        for (y, out) in rows {
            self.samples(0, y, &mut luma);
            for (y, pixel) in luma.iter().zip(out.chunks_exact_mut(4)) {
                pixel.copy_from_slice(&((self.alone(*y) * 0x01_01_01) | OPAQUE).to_le_bytes());
            }
        }
    }

    #[inline(always)]
    fn rgb<'a>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let alpha = self.layout.alpha;
        let [mut r, mut g, mut b, mut a] = [0, 1, 2, 3].map(|component| self.line(component));
        for (y, out) in rows {
            for (component, line) in [&mut r, &mut g, &mut b, &mut a].into_iter().enumerate() {
                if component < 3 || alpha {
                    self.samples(component, y, line);
                }
            }
            if alpha {
                for line in [&mut r, &mut g, &mut b] {
                    premultiply_samples(line, &a, self.layout.depth);
                }
            }
            let numbers = r.iter().zip(&g).zip(&b).zip(&a);
            for ((((r, g), b), a), pixel) in numbers.zip(out.chunks_exact_mut(4)) {
                let a = if alpha { self.alone(*a) << 24 } else { OPAQUE };
                let rgb = self.alone(*r) | self.alone(*g) << 8 | self.alone(*b) << 16;
                pixel.copy_from_slice(&(rgb | a).to_le_bytes());
            }
        }
    }

    /// The level of a sample that is not mixed with others.
    #[inline(always)]
    fn alone(&self, sample: u16) -> u32 {
        level(self.coefficients.luma * (16 * i32::from(sample) - self.coefficients.black))
    }

    /// Room for a component's row.
    fn line(&self, component: usize) -> Vec<u16> {
        vec![0; self.layout.size_of(component).0 as usize]
    }

    /// The samples of a component's row `y`, counted in its own rows.
    #[inline(always)]
    fn samples(&self, component: usize, y: usize, line: &mut [u16]) {
        let (plane, start) = self.layout.first_sample_of(component);
        let row = self.planes[plane].row(y).get(start..).unwrap_or_default();
        let unit = if self.layout.wide { 2 } else { 1 };
        match (self.layout.wide, unit * self.layout.components[component].step) {
            (false, 1) => line.iter_mut().zip(row).for_each(|(to, sample)| *to = u16::from(*sample)),
            (false, 2) => every::<2>(line, row, |bytes| u16::from(bytes[0])),
            (false, 3) => every::<3>(line, row, |bytes| u16::from(bytes[0])),
            (false, 4) => every::<4>(line, row, |bytes| u16::from(bytes[0])),
            (true, 2) => every::<2>(line, row, |bytes| self.wide(bytes)),
            (true, 4) => every::<4>(line, row, |bytes| self.wide(bytes)),
            (wide, step) => {
                for (to, bytes) in line.iter_mut().zip(row.chunks(step as usize)) {
                    *to = if wide { self.wide(bytes) } else { u16::from(bytes[0]) };
                }
            }
        }
    }

    #[inline(always)]
    fn wide(&self, bytes: &[u8]) -> u16 {
        (u16::from_le_bytes([bytes[0], bytes[1]]) >> self.layout.shift) & ((1 << self.layout.depth) - 1)
    }
}

/// Calls `sample` with the bytes from each sample to the next; with fewer for the last one.
#[inline(always)]
fn every<const STEP: usize>(line: &mut [u16], row: &[u8], sample: impl Fn(&[u8]) -> u16) {
    let Some((last, line)) = line.split_last_mut() else { return };
    for (to, bytes) in line.iter_mut().zip(row.chunks_exact(STEP)) {
        *to = sample(bytes);
    }
    *last = sample(&row[line.len() * STEP..]);
}

/// One chroma component at the rows of the picture.
struct Chroma {
    component: usize,
    /// The rows of the plane that were read last, with their numbers: of each field, or of both, two that follow each other.
    read: [(Option<usize>, Vec<u16>); 4],
    /// A row of the picture, in 1/4 of a level, with its edges repeated.
    between: Vec<u16>,
    /// The same at each pixel, in 1/16 of a level; one more where the width is odd.
    line: Vec<u16>,
}

impl Chroma {
    fn new(picture: &Source, component: usize) -> Self {
        let columns = picture.line(component).len();
        let line = if picture.layout.subsampled.0 { 2 * columns } else { columns };
        Self {
            component,
            read: std::array::from_fn(|_| (None, vec![0; columns])),
            between: vec![0; columns + 2],
            line: vec![0; line],
        }
    }

    /// Makes `line` that of the picture's row `y`.
    #[inline(always)]
    fn at_row(&mut self, picture: &Source, y: usize) {
        let layout = &picture.layout;
        let (above, below, weight) = if layout.subsampled.1 {
            // The rows of a field, or of the picture, are counted by themselves.
            let interlaced = usize::from(layout.interlaced);
            let field = y & interlaced;
            let last = ((layout.size_of(self.component).1 as usize - 1 - field) >> interlaced) as i64;
            let half_lines = 2 * y as i64 - 4 * field as i64 - i64::from(layout.siting.1);
            let eighths = half_lines << (1 - interlaced);
            let row = |index: i64| field + ((index.clamp(0, last) as usize) << interlaced);
            (row(eighths >> 3), row((eighths >> 3) + 1), (eighths & 7) as u16)
        } else {
            (y, y, 0)
        };
        for row in [above, below] {
            let (number, samples) = &mut self.read[row % 4];
            if *number != Some(row) {
                *number = Some(row);
                picture.samples(self.component, row, samples);
            }
        }
        let columns = self.between.len() - 2;
        let rows = self.read[above % 4].1.iter().zip(&self.read[below % 4].1);
        for (to, (above, below)) in self.between[1..].iter_mut().zip(rows) {
            *to = ((8 - weight) * above + weight * below + 1) >> 1;
        }
        if !layout.subsampled.0 {
            self.line.iter_mut().zip(&self.between[1..]).for_each(|(to, between)| *to = 4 * between);
            return;
        }
        self.between[0] = self.between[1];
        self.between[columns + 1] = self.between[columns];
        let siting = layout.siting.0 as u16;
        let around = self.between.iter().zip(&self.between[1..]).zip(&self.between[2..]);
        for (to, ((left, middle), right)) in self.line.chunks_exact_mut(2).zip(around) {
            to[0] = siting * left + (4 - siting) * middle;
            to[1] = (2 + siting) * middle + (2 - siting) * right;
        }
    }
}

/// An alpha of 255.
const OPAQUE: u32 = 255 << 24;

/// The contract's rounding to levels.
#[inline(always)]
fn level(sum: i32) -> u32 {
    ((sum + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS).clamp(0, 255) as u32
}

#[cfg(test)]
mod tests {
    use ffmpeg_next::format::Pixel;

    use super::*;
    use crate::color::planes::layout_of;

    /// Noise in every plane.
    fn noise(format: Pixel, width: u32, height: u32) -> Video {
        let mut frame = Video::new(format, width, height);
        let mut state = 0x9e37_79b9_u32;
        for plane in 0..frame.planes() {
            for byte in frame.data_mut(plane) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
        }
        frame
    }

    /// Where one strip ends and the next one starts, chroma comes from both.
    #[test]
    fn any_number_of_threads_gives_the_same() {
        let formats = [Pixel::YUV420P, Pixel::NV12, Pixel::YUV422P10LE, Pixel::RGB24];
        for (format, interlaced) in formats.into_iter().flat_map(|format| [(format, false), (format, true)]) {
            for (width, height) in [(37, 61), (16, 2), (5, 1)] {
                let mut frame = noise(format, width, height);
                // SAFETY: the frame is valid and owned; the field is a plain number.
                unsafe { (*frame.as_mut_ptr()).interlaced_frame = i32::from(interlaced) };
                let layout = layout_of(&frame).unwrap();
                let mut whole = vec![0x5a; layout.rgba_bytes()];
                convert_on(&frame, &layout, &mut whole, 1).unwrap();
                for threads in 2..8 {
                    let mut got: Vec<u8> = whole.iter().map(|v| !v).collect();
                    convert_on(&frame, &layout, &mut got, threads).unwrap();
                    assert!(got == whole, "{format:?} {width}×{height} on {threads} threads");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let frame = noise(Pixel::YUV420P, 8, 4);
        let layout = layout_of(&frame).unwrap();
        assert!(convert(&frame, &layout, &mut [0; 8 * 4 * 4 - 1]).is_err());
        let other = layout_of(&noise(Pixel::YUV420P, 8, 6)).unwrap();
        assert!(convert(&frame, &other, &mut [0; 8 * 6 * 4]).is_err());
    }
}
