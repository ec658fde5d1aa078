//! Checks of conversions at small odd sizes, with every matrix, range and siting, and of the movie's own at its whole size.
//! In: a source of pictures, and its rows. Out: rows that say what is wrong, and what was compared.

use std::fmt::Write;

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use super::{Input, Row};
use crate::color_kernels::{Converter, Corrector};
use crate::color_trial::{self, Pattern};
use base::error::Result;
use base::memory::require;
use opencl::cl::ClContext;
use video::color::planes::layout_of;
use video::color::{Correction, Family, Layout, Matrix, Range};

/// Decoded formats that are checked beside the movie's own: all programs, and all ways that samples lie.
pub(super) const FORMATS: [Pixel; 19] = [
    Pixel::YUV420P,
    Pixel::YUV422P,
    Pixel::YUV440P,
    Pixel::YUV444P,
    Pixel::NV12,
    Pixel::YUYV422,
    Pixel::UYVY422,
    Pixel::YUV420P10LE,
    Pixel::YUV422P10LE,
    Pixel::YUV440P10LE,
    Pixel::YUV444P10LE,
    Pixel::YUV420P12LE,
    Pixel::P010LE,
    Pixel::GRAY8,
    Pixel::GRAY10LE,
    Pixel::RGB24,
    Pixel::BGRA,
    Pixel::GBRP,
    Pixel::GBRP10LE,
];
/// Formats whose planes are checked as the filter on planes leaves them.
pub(super) const FILTERED: [Pixel; 8] = [
    Pixel::YUV420P,
    Pixel::YUV422P,
    Pixel::YUV440P,
    Pixel::YUV444P,
    Pixel::YUV420P10LE,
    Pixel::YUV420P12LE,
    Pixel::GRAY8,
    Pixel::BGRA,
];
/// Odd sizes, those of one pixel or sample among them, and wider ones than a work-group.
const SIZES: [(u32, u32); 6] = [(1, 1), (1, 6), (2, 3), (15, 7), (34, 19), (259, 5)];
/// The size from which on matrices, ranges and sitings are gone through, each a pixel wider than the one before: what is
/// left of a row beside whole vectors of 16 pixels is then of nearly every width.
const TAGGED: (u32, u32) = (21, 9);
const MATRICES: [Matrix; 6] =
    [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc, Matrix::Ycgco];
const SITINGS: [(u32, u32); 6] = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 2), (1, 2)];
/// Rows of the movie's width that are checked of what is not the movie's own format.
pub(super) const FEW_ROWS: u32 = 17;

/// What is converted.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Planes(Pixel, bool),
    Rgba,
}

impl Source {
    pub(super) fn id(self) -> String {
        let name = |format: Pixel| format.descriptor().map_or("?", |d| d.name());
        match self {
            Source::Planes(format, false) => name(format).to_owned(),
            Source::Planes(format, true) => format!("{}-filtered", name(format)),
            Source::Rgba => "rgba".to_owned(),
        }
    }

    /// Whether its kernels are those of another one, as far as is known without building them.
    pub(super) fn has_kernels_of(self, other: Self) -> bool {
        match (self, other) {
            (Source::Planes(_, filtered), Source::Planes(_, others)) => filtered == others,
            (Source::Rgba, Source::Rgba) => true,
            _ => false,
        }
    }

    /// How its planes lie at a size.
    pub(super) fn layout(self, (width, height): (u32, u32)) -> Option<Layout> {
        match self {
            Source::Planes(format, filtered) => {
                let layout = layout_of(&Video::new(format, width, height))?;
                Some(if filtered { layout.filtered() } else { layout })
            }
            Source::Rgba => None,
        }
    }
}

pub(super) fn correction(corrected: bool) -> Correction {
    if corrected { Correction::VIVID } else { Correction::NEUTRAL }
}

pub(super) struct Checks {
    pub(super) cl: ClContext,
    pub(super) converter: Converter,
    pub(super) corrector: Corrector,
}

impl Checks {
    /// Checks the conversions of a source; `input` is there where it is the movie's own, which is checked at its whole size.
    ///
    /// # Errors
    /// When memory for the pictures runs out.
    pub(super) fn rows(
        &mut self,
        rows: &mut [Row],
        source: Source,
        input: Option<&Input>,
        size: (u32, u32),
    ) -> Result<()> {
        match source {
            Source::Planes(..) => {
                let cases = cases(source, input, size);
                (1..).zip(cases).try_for_each(|(seed, case)| self.planes(rows, case, seed))
            }
            Source::Rgba => {
                let sizes = SIZES.into_iter().chain([size]);
                let matrices = MATRICES.into_iter().chain([Matrix::Rgb]).cycle();
                sizes.zip(matrices).for_each(|(size, matrix)| self.rgba(rows, size, matrix));
                Ok(())
            }
        }
    }

    /// Checks all conversions of one block.
    fn planes(&mut self, rows: &mut [Row], (layout, pattern): (Layout, Pattern), seed: u32) -> Result<()> {
        // The pictures on both sides and their planes, and what the comparison copies.
        require(2 * layout.bytes() + 9 * layout.rgba_bytes())?;
        let block = color_trial::block(&layout, pattern, seed)?;
        let plain = color_trial::expected(&layout, &block, &Correction::NEUTRAL)?;
        let mut vivid = plain.clone();
        color_trial::corrected(&mut vivid, &Correction::VIVID, layout.matrix);
        let queue = self.cl.queue.clone();
        for row in rows.iter_mut().filter(|row| row.outcome.is_ok()) {
            let want = if row.corrected { &vivid } else { &plain };
            let correction = correction(row.corrected);
            let checked = self.converter.prepare(&layout, row.to).and_then(|()| {
                row.kernel = self.converter.file(&layout, row.to);
                self.converter.check(&queue, &layout, row.to, &correction, (&block, want))
            });
            row.note((layout.width, layout.height), checked, || case(&layout, pattern));
        }
        Ok(())
    }

    /// Checks all corrections of one picture.
    fn rgba(&mut self, rows: &mut [Row], size: (u32, u32), matrix: Matrix) {
        for row in rows.iter_mut().filter(|row| row.outcome.is_ok()) {
            row.kernel = self.corrector.file();
            let checked = self.corrector.check((row.to, row.to), size, matrix);
            row.note(size, checked, || format!("{}×{}, {matrix}", size.0, size.1));
        }
    }
}

/// The pictures that planes are tried with.
fn cases(source: Source, input: Option<&Input>, (width, height): (u32, u32)) -> Vec<(Layout, Pattern)> {
    let Some(tagged) = source.layout(TAGGED) else { return Vec::new() };
    let sized = SIZES.iter().filter_map(|&size| source.layout(size));
    let few = source.layout((width, height.min(FEW_ROWS)));
    let mut cases: Vec<(Layout, Pattern)> = sized.chain(few).map(|l| (l, Pattern::Mixed)).collect();
    cases.extend([(tagged, Pattern::Largest), (tagged, Pattern::Zero)]);
    if tagged.family != Family::Rgb {
        for (number, siting) in SITINGS.into_iter().enumerate() {
            for (at, range) in [Range::Limited, Range::Full].into_iter().enumerate() {
                let matrix = MATRICES[(number + at) % MATRICES.len()];
                let size = (TAGGED.0 + (2 * number + at) as u32, TAGGED.1);
                let layout = source.layout(size).unwrap_or(tagged);
                let layout = Layout { matrix, range, siting, ..layout };
                cases.push((layout, Pattern::Mixed));
                // Every height that rows of chroma can be shared out in, one after the other.
                let fields = layout.with_rows(3 + (2 * number + at) as u32 % 8).with_fields(true);
                cases.extend(fields.interlaced.then_some((fields, Pattern::Mixed)));
            }
        }
    }
    let whole = input.map(|input| match source {
        Source::Planes(_, true) => input.layout.filtered(),
        _ => input.layout,
    });
    cases.extend(whole.map(|layout| (layout, Pattern::Mixed)));
    cases
}

fn case(layout: &Layout, pattern: Pattern) -> String {
    let mut case = format!("{}×{}", layout.width, layout.height);
    if layout.family != Family::Rgb {
        let _ = write!(case, ", {}, {}", layout.matrix, layout.range);
    }
    if layout.subsampled != (false, false) && layout.family == Family::Ycbcr {
        let _ = write!(case, ", siting {} {}", layout.siting.0, layout.siting.1);
    }
    if layout.interlaced {
        case.push_str(", interlaced");
    }
    match pattern {
        Pattern::Mixed => {}
        Pattern::Largest => case.push_str(", all samples at their largest"),
        Pattern::Zero => case.push_str(", all samples zero"),
    }
    case
}
