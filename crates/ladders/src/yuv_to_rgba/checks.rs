//! Compares the output of conversions with the reference, on small pictures of odd sizes, with every matrix, range and siting.
//! Conversions of the movie's own format are also compared at the movie's size.

use std::fmt::Write;

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use super::{Input, Row, RunOptions};
use base::error::Result;
use base::memory::require;
use box_filter::color_kernels::{Conversion, Converter, Corrector};
use box_filter::color_test_pictures::{self, Pattern};
use opencl::cl::ClContext;
use video::color::planes::layout_of;
use video::color::{Correction, Family, Layout, Matrix, Range};

/// Decoded formats that are checked besides the movie's own. They use all programs and memory layouts.
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
/// The pixel formats in which the output of the filter on planes is checked.
pub(super) const FILTERED_FORMATS: [Pixel; 8] = [
    Pixel::YUV420P,
    Pixel::YUV422P,
    Pixel::YUV440P,
    Pixel::YUV444P,
    Pixel::YUV420P10LE,
    Pixel::YUV420P12LE,
    Pixel::GRAY8,
    Pixel::BGRA,
];
/// Picture sizes for checks: odd ones, ones of a single pixel or chroma sample, and one wider than a work-group.
const SIZES: [(u32, u32); 6] = [(1, 1), (1, 6), (2, 3), (15, 7), (34, 19), (259, 5)];
/// The first picture size for the checks of matrices, ranges and sitings. Each further picture is a pixel wider, so that nearly
/// every number of pixels that remains in a row after vectors of 16 pixels is checked.
const FIRST_TAGGED_SIZE: (u32, u32) = (21, 9);
const MATRICES: [Matrix; 6] =
    [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc, Matrix::Ycgco];
/// The chroma sitings to check; see [`Layout::siting`].
const SITINGS: [(u32, u32); 6] = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 2), (1, 2)];
/// The number of rows, each as wide as the movie, that are checked in formats other than the movie's own.
pub(super) const FEW_ROWS: u32 = 17;

/// The input of a conversion.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Planes of this pixel format; true for the output of the filter on planes.
    Planes(Pixel, bool),
    /// An RGBA picture, which is only corrected.
    Rgba,
}

impl Source {
    /// Returns the name of the source for [`Row::id`].
    pub(super) fn id(self) -> String {
        let name = |format: Pixel| format.descriptor().map_or("?", |d| d.name());
        match self {
            Source::Planes(format, false) => name(format).to_owned(),
            Source::Planes(format, true) => format!("{}-filtered", name(format)),
            Source::Rgba => "rgba".to_owned(),
        }
    }

    /// Returns true if conversions of this source may use the same kernels as conversions of `other`.
    pub(super) fn may_share_kernels(self, other: Self) -> bool {
        match (self, other) {
            (Source::Planes(_, filtered), Source::Planes(_, others)) => filtered == others,
            (Source::Rgba, Source::Rgba) => true,
            _ => false,
        }
    }

    /// Returns the layout of the planes at a size; `None` for an RGBA picture, or if no kernel converts the format.
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

/// Returns the colour correction with which the rows of the result are checked: neutral unless `corrected`.
pub(super) fn correction(corrected: bool) -> Correction {
    if corrected { Correction::VIVID } else { Correction::NEUTRAL }
}

/// The converter and the corrector of one device, whose programs are checked.
pub(super) struct Checks {
    pub cl: ClContext,
    pub converter: Converter,
    pub corrector: Corrector,
}

impl Checks {
    /// Checks the conversions of a source, and writes the outcomes to `rows`. `ask` has an input for the movie's own format, which
    /// is also checked at the movie's whole size.
    ///
    /// # Errors
    /// When memory for the pictures runs out.
    pub(super) fn check(&mut self, rows: &mut [Row], source: Source, ask: &RunOptions) -> Result<()> {
        match source {
            Source::Planes(..) => {
                let pictures = test_pictures(source, ask.input, ask.size);
                (1..).zip(pictures).try_for_each(|(seed, case)| self.check_planes(rows, case, seed))
            }
            Source::Rgba => {
                let sizes = SIZES.into_iter().chain([ask.size]);
                let matrices = MATRICES.into_iter().chain([Matrix::Rgb]).cycle();
                for (size, matrix) in sizes.zip(matrices) {
                    for row in rows.iter_mut().filter(|row| row.outcome.is_ok()) {
                        row.kernel = self.corrector.kernel_file();
                        let checked = self.corrector.check((row.to, row.to), size, matrix);
                        row.record(size, checked, || format!("{}×{}, {matrix}", size.0, size.1));
                    }
                }
                Ok(())
            }
        }
    }

    /// Checks the conversions in `rows` on one block of samples with this layout and pattern.
    fn check_planes(
        &mut self,
        rows: &mut [Row],
        (layout, pattern): (Layout, Pattern),
        seed: u32,
    ) -> Result<()> {
        // Host and device memory of pictures and planes, and the copies of the comparison.
        require(2 * layout.bytes() + 9 * layout.rgba_bytes())?;
        let block = color_test_pictures::block(&layout, pattern, seed)?;
        let plain = color_test_pictures::expected(&layout, &block, &Correction::NEUTRAL)?;
        let mut vivid = plain.clone();
        color_test_pictures::corrected(&mut vivid, &Correction::VIVID, layout.matrix);
        let queue = self.cl.queue.clone();
        for row in rows.iter_mut().filter(|row| row.outcome.is_ok()) {
            let want = if row.corrected { &vivid } else { &plain };
            let conversion = Conversion { layout, storage: row.to };
            let checked = self.converter.prepare(&conversion).and_then(|()| {
                row.kernel = self.converter.kernel_file(&conversion);
                self.converter.check(&queue, &conversion, (&block, want), correction(row.corrected))
            });
            row.record((layout.width, layout.height), checked, || describe_picture(&layout, pattern));
        }
        Ok(())
    }
}

/// Returns the pictures on which conversions of planes are checked, each as a layout and a pattern.
fn test_pictures(
    source: Source,
    input: Option<&Input>,
    (width, height): (u32, u32),
) -> Vec<(Layout, Pattern)> {
    let Some(tagged) = source.layout(FIRST_TAGGED_SIZE) else { return Vec::new() };
    let sized = SIZES.iter().filter_map(|&size| source.layout(size));
    let few = source.layout((width, height.min(FEW_ROWS)));
    let mut cases: Vec<(Layout, Pattern)> = sized.chain(few).map(|l| (l, Pattern::Mixed)).collect();
    cases.extend([(tagged, Pattern::Largest), (tagged, Pattern::Zero)]);
    if tagged.family != Family::Rgb {
        for (number, siting) in SITINGS.into_iter().enumerate() {
            for (at, range) in [Range::Limited, Range::Full].into_iter().enumerate() {
                let matrix = MATRICES[(number + at) % MATRICES.len()];
                let size = (FIRST_TAGGED_SIZE.0 + (2 * number + at) as u32, FIRST_TAGGED_SIZE.1);
                let layout = source.layout(size).unwrap_or(tagged);
                let layout = Layout { matrix, range, siting, ..layout };
                cases.push((layout, Pattern::Mixed));
                // All heights that divide rows of chroma differently.
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

/// Returns a description of a check picture by its size, colours and pattern, for [`Row::case`].
fn describe_picture(layout: &Layout, pattern: Pattern) -> String {
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
    case + ["", ", all samples at their largest", ", all samples zero"][pattern as usize]
}
