//! Converts pictures to RGBA8 fast on the CPU, as [`color`](crate::color) defines the conversion, with the same bytes as the
//! reference.
//!
//! The steps for each row are: samples are widened to 16 bits, chroma is interpolated vertically and then horizontally, and
//! pixels are computed. Each step is a plain loop over a row, which the compiler vectorises, with AVX2 where the CPU has it.

use super::alpha::premultiply_samples;
use super::planes::Rows;
use crate::color::{Coefficients, FRACTION_BITS, Family, Layout};
use base::error::{Error, Result};
use base::threads::{all_threads, share};

/// The size of a pixel in bytes.
pub(super) const PIXEL_BYTES: usize = 4;
/// The minimum number of pixels per thread: on a busy machine, waiting for another thread costs more than it saves in a small
/// picture.
const MIN_PIXELS_PER_THREAD: usize = 1 << 19;
/// The largest number of threads; more are not faster.
const MAX_THREADS: usize = 4;
/// The number of strips of rows per thread. With several strips, a delayed thread does not delay the others.
const STRIPS_PER_THREAD: usize = 4;

/// Returns the number of threads that convert a picture fastest.
pub(super) fn threads_for(layout: &Layout) -> usize {
    let pixels = layout.width as usize * layout.height as usize;
    (pixels / MIN_PIXELS_PER_THREAD).clamp(1, all_threads().min(MAX_THREADS))
}

/// Converts `planes` to `rgba` on this number of threads.
pub(super) fn convert(planes: [Rows; 4], layout: &Layout, rgba: &mut [u8], threads: usize) -> Result<()> {
    expect_size(rgba, (layout.width, layout.height))?;
    let picture = PictureRows { layout: *layout, planes, coefficients: Coefficients::of(layout) };
    let strips = if threads > 1 { STRIPS_PER_THREAD * threads } else { 1 };
    let rows = (layout.height as usize).div_ceil(strips);
    let strip = rows * layout.width as usize * 4;
    share(rgba.chunks_mut(strip.max(1)).enumerate(), threads, |(number, out)| {
        picture.run(number * rows, out)
    });
    Ok(())
}

/// Returns an error unless `dst` has exactly the length of a picture of this size.
pub(super) fn expect_size(dst: &[u8], (width, height): (u32, u32)) -> Result<()> {
    if width == 0 || height == 0 || dst.len() != width as usize * height as usize * PIXEL_BYTES {
        let why = format!("{} bytes do not hold {width}×{height} RGBA pixels.", dst.len());
        return Err(Error::new("Cannot convert the picture.", why, ""));
    }
    Ok(())
}

/// A picture's planes and the coefficients of its conversion.
struct PictureRows<'a> {
    layout: Layout,
    planes: [Rows<'a>; 4],
    coefficients: Coefficients,
}

impl PictureRows<'_> {
    /// Converts rows from the row `first` on, as many as fit into `out`, with AVX2 if the CPU has it.
    fn run(&self, first: usize, out: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2, the only feature that the function is compiled for.
            return unsafe { self.run_avx2(first, out) };
        }
        self.rows(first, out);
    }

    /// Converts as [`PictureRows::rows`] does, compiled for AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, first: usize, out: &mut [u8]) {
        self.rows(first, out);
    }

    /// Converts rows from the row `first` on, as many as fit into `out`.
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

    /// Converts rows of YCbCr; with `YCGCO`, red and blue depend on both chroma components.
    #[inline(always)]
    fn ycbcr<'a, const YCGCO: bool>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let c = &self.coefficients;
        let mut luma = self.new_row(0);
        let (mut u, mut v) = (Chroma::new(self, 1), Chroma::new(self, 2));
        for (y, out) in rows {
            self.read_row(0, y, &mut luma);
            u.load_row(self, y);
            v.load_row(self, y);
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

    /// Converts rows of a grey picture.
    #[inline(always)]
    fn grey<'a>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let mut luma = self.new_row(0);
        for (y, out) in rows {
            self.read_row(0, y, &mut luma);
            for (y, pixel) in luma.iter().zip(out.chunks_exact_mut(4)) {
                pixel.copy_from_slice(&((self.luma_level(*y) * 0x01_01_01) | OPAQUE).to_le_bytes());
            }
        }
    }

    /// Converts rows of RGB, with or without alpha.
    #[inline(always)]
    fn rgb<'a>(&self, rows: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let alpha = self.layout.alpha;
        let [mut r, mut g, mut b, mut a] = [0, 1, 2, 3].map(|component| self.new_row(component));
        for (y, out) in rows {
            for (component, line) in [&mut r, &mut g, &mut b, &mut a].into_iter().enumerate() {
                if component < 3 || alpha {
                    self.read_row(component, y, line);
                }
            }
            if alpha {
                for line in [&mut r, &mut g, &mut b] {
                    premultiply_samples(line, &a, self.layout.depth);
                }
            }
            let numbers = r.iter().zip(&g).zip(&b).zip(&a);
            for ((((r, g), b), a), pixel) in numbers.zip(out.chunks_exact_mut(4)) {
                let a = if alpha { self.luma_level(*a) << 24 } else { OPAQUE };
                let rgb = self.luma_level(*r) | self.luma_level(*g) << 8 | self.luma_level(*b) << 16;
                pixel.copy_from_slice(&(rgb | a).to_le_bytes());
            }
        }
    }

    /// Converts a sample of luma, grey or RGB, without chroma, to a level from 0 to 255 (steps 2 and 3 of the
    /// [contract](super)).
    #[inline(always)]
    fn luma_level(&self, sample: u16) -> u32 {
        level(self.coefficients.luma * (16 * i32::from(sample) - self.coefficients.black))
    }

    fn new_row(&self, component: usize) -> Vec<u16> {
        vec![0; self.layout.size_of(component).0 as usize]
    }

    /// Reads the samples of a component's row `y`, counted in the component's own rows, to `line`.
    #[inline(always)]
    fn read_row(&self, component: usize, y: usize, line: &mut [u16]) {
        let (plane, start) = self.layout.first_sample_of(component);
        let row = self.planes[plane].row(y).get(start..).unwrap_or_default();
        self.layout.read_row(component, row, line);
    }
}

/// An interpolator of one chroma component, which computes the chroma of each pixel of a row.
struct Chroma {
    component: usize,
    /// The rows of chroma that were read last, each with its index in the plane: two consecutive rows of each field, or of the
    /// picture.
    cached: [(Option<usize>, Vec<u16>); 4],
    /// A row of chroma after vertical interpolation, in 1/4 of a level; its first and last sample are repeated at the edges.
    interpolated: Vec<u16>,
    /// The chroma of each pixel in a row, in 1/16 of a level; one more value if the width is odd.
    line: Vec<u16>,
}

impl Chroma {
    /// Creates the interpolator of a component of this picture, with no rows read.
    fn new(picture: &PictureRows, component: usize) -> Self {
        let columns = picture.new_row(component).len();
        let line = if picture.layout.subsampled.0 { 2 * columns } else { columns };
        Self {
            component,
            cached: std::array::from_fn(|_| (None, vec![0; columns])),
            interpolated: vec![0; columns + 2],
            line: vec![0; line],
        }
    }

    /// Computes the chroma of each pixel in the picture's row `y`, to [`Chroma::line`].
    #[inline(always)]
    fn load_row(&mut self, picture: &PictureRows, y: usize) {
        let layout = &picture.layout;
        let (above, below, weight) = if layout.subsampled.1 {
            // Rows are counted within their field if the picture is interlaced.
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
            let (number, samples) = &mut self.cached[row % 4];
            if *number != Some(row) {
                *number = Some(row);
                picture.read_row(self.component, row, samples);
            }
        }
        let columns = self.interpolated.len() - 2;
        let rows = self.cached[above % 4].1.iter().zip(&self.cached[below % 4].1);
        for (to, (above, below)) in self.interpolated[1..].iter_mut().zip(rows) {
            *to = ((8 - weight) * above + weight * below + 1) >> 1;
        }
        if !layout.subsampled.0 {
            self.line
                .iter_mut()
                .zip(&self.interpolated[1..])
                .for_each(|(to, interpolated)| *to = 4 * interpolated);
            return;
        }
        self.interpolated[0] = self.interpolated[1];
        self.interpolated[columns + 1] = self.interpolated[columns];
        let siting = layout.siting.0 as u16;
        let around = self.interpolated.iter().zip(&self.interpolated[1..]).zip(&self.interpolated[2..]);
        for (to, ((left, middle), right)) in self.line.chunks_exact_mut(2).zip(around) {
            to[0] = siting * left + (4 - siting) * middle;
            to[1] = (2 + siting) * middle + (2 - siting) * right;
        }
    }
}

/// The alpha byte 255 at its place in a four-byte pixel.
const OPAQUE: u32 = 255 << 24;

/// Rounds a fixed-point sum (step 2 of the [contract](super)) to a level, and clamps it to 0 to 255.
#[inline(always)]
fn level(sum: i32) -> u32 {
    ((sum + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS).clamp(0, 255) as u32
}

#[cfg(test)]
mod tests {
    use ffmpeg_next::format::Pixel;

    use super::*;
    use crate::color::noise;
    use crate::color::planes::{layout_of, rows_of};

    /// Checks that the number of threads, and so the division into strips, does not change the result: at the border of two
    /// strips, chroma is interpolated from rows of both.
    #[test]
    fn any_number_of_threads_gives_the_same_and_what_does_not_fit_is_refused() {
        let formats = [Pixel::YUV420P, Pixel::NV12, Pixel::YUV422P10LE, Pixel::RGB24];
        for (format, interlaced) in formats.into_iter().flat_map(|format| [(format, false), (format, true)]) {
            for (width, height) in [(37, 61), (16, 2), (5, 1)] {
                let mut frame = noise(format, width, height);
                testkit::movie::set_fields(&mut frame, interlaced, true);
                let layout = layout_of(&frame).unwrap();
                let mut whole = vec![0x5a; layout.rgba_bytes()];
                convert(rows_of(&frame, &layout).unwrap(), &layout, &mut whole, 1).unwrap();
                for threads in 2..8 {
                    let mut got: Vec<u8> = whole.iter().map(|v| !v).collect();
                    convert(rows_of(&frame, &layout).unwrap(), &layout, &mut got, threads).unwrap();
                    assert!(got == whole, "{format:?} {width}×{height} on {threads} threads");
                }
            }
        }
        let frame = noise(Pixel::YUV420P, 8, 4);
        let layout = layout_of(&frame).unwrap();
        assert!(convert(rows_of(&frame, &layout).unwrap(), &layout, &mut [0; 8 * 4 * 4 - 1], 1).is_err());
        let other = layout_of(&noise(Pixel::YUV420P, 8, 6)).unwrap();
        assert!(rows_of(&frame, &other).is_err());
    }
}
