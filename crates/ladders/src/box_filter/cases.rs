//! The cases of the box filter or of a folder's filter: picture sizes, settings, kinds of memory and bands; with those that checks add to the
//! timed one.

use super::BoxFilter;
use box_filter::planar::suite;
use box_filter::{Bands, Extent, MAX_RADIUS, Settings, VariantId};
use opencl::memory::Storage;
use serde::{Deserialize, Serialize};
use video::color::Layout;

/// Small picture sizes for checks, each with the divisions into bands (groups of rows that one launch filters) with which it is
/// checked. The first size is used for the first check. Variants without kernels filter whole pictures only.
pub(super) const CHECK_SIZES: [((u32, u32), &[Bands]); 6] = [
    ((5, 3), &[Bands::Whole, Bands::Odd]),
    ((1, 1), &[Bands::Whole]),
    ((48, 1), &[Bands::Whole]),
    ((1, 37), &[Bands::Whole, Bands::Odd]),
    ((67, 33), &[Bands::Whole, Bands::Odd]),
    ((129, 65), &[Bands::Whole, Bands::Odd, Bands::Steps]),
];
/// Radii for checks: for each radius at which a kernel changes its algorithm, the values just below and above.
const CHECK_RADII: [u32; 15] = [0, 1, 2, 7, 8, 15, 16, 31, 42, 43, 63, 64, 100, MAX_RADIUS - 1, MAX_RADIUS];
/// The maximum number of pixels of check pictures that stay in the cache for all radii.
pub(super) const SMALL_PIXELS: u32 = 129 * 65;
/// The predicted time of a run, in milliseconds, above which check cases at the radii of [`CHECK_RADII`] or [`PLANE_RADII`] are
/// skipped, except for those of the smallest picture.
pub(super) const OTHER_RADIUS_MS: f64 = 15.0;
/// Picture sizes at which the radii of [`CHECK_RADII`] are checked. The smaller picture is checked only at radii from
/// [`LARGE_RADIUS`] on. Slow kernels are checked with the smaller picture alone.
pub(super) const RADII_SIZES: [(u32, u32); 2] = [(5, 3), (19, 11)];
/// The smallest radius at which the smaller size of [`RADII_SIZES`] is checked.
const LARGE_RADIUS: u32 = 63;
/// Picture sizes for checks of planes: odd ones, and rows of a multiple of 16 samples (the length of a vector), one sample
/// less, and one more.
const PLANE_SIZES: [(u32, u32); 6] = [(5, 3), (1, 1), (48, 1), (1, 37), (63, 33), (139, 65)];
/// The indices in [`suite::FORMATS`] of the formats with which the kernels of folders are checked: those of most movies, samples of
/// two bytes with bits above and below, and packed ones, of which some have other numbers of planes.
const FOLDER_FORMATS: [usize; 6] = [0, 1, 8, 11, 12, 15];
/// Radii for checks of planes: for each radius at which a kernel changes its algorithm or its weights, the values just below
/// and above.
const PLANE_RADII: [u32; 13] = [0, 1, 2, 3, 8, 31, 40, 41, 64, 80, 81, MAX_RADIUS - 1, MAX_RADIUS];

/// The kind of memory from which a case's variant reads its input and into which it writes its output.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Host memory, for the filter in Rust.
    Host,
    /// OpenGL textures.
    Textures,
    /// OpenCL buffers with RGBA pixels.
    Buffer,
    /// OpenCL images with RGBA pixels.
    Image,
    /// An OpenCL image as input and a buffer as output.
    FromImage,
    /// An OpenCL buffer as input and an image as output, as in the window with shared textures.
    IntoImage,
    /// Planes in OpenCL buffers: those of the movie if `None`, otherwise those of the format with this index in
    /// [`suite::FORMATS`].
    Planes(Option<usize>),
}

/// The output of kernels on planes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum PlanesOutput {
    /// Planes with the layout of the input.
    Decoded,
    /// Planes with samples of 12 bits.
    Bits12,
    /// RGBA pixels in a buffer.
    Rgba,
    /// RGBA pixels in an image.
    RgbaImage,
}

impl PlanesOutput {
    /// Returns the output of a variant on planes, in this kind of memory if it is RGBA pixels.
    pub(super) fn of(id: VariantId, storage: Storage) -> Self {
        match (id.output_layout(Layout::planar_420(2, 2, false)), storage) {
            (Some(output), _) if output.wide => Self::Bits12,
            (Some(_), _) => Self::Decoded,
            (None, Storage::Buffer) => Self::Rgba,
            (None, Storage::Image) => Self::RgbaImage,
        }
    }
}

/// A case of the box filter: a picture size and a radius, and the properties that checks vary, such as the kind of memory and
/// the division into bands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub(super) size: (u32, u32),
    pub(super) settings: Settings,
    /// The number of frames that the filter reads.
    pub(super) frames: u32,
    pub(super) kind: Kind,
    /// The output, if the kind of memory is planes.
    pub(super) planes_output: PlanesOutput,
    pub(super) bands: Bands,
    /// True if `settings` differ from those that the benchmark times, so that the case is used for checks only.
    pub(super) is_other: bool,
    /// The number of test patterns with which the case is checked; `None` for all patterns.
    pub(super) pictures: Option<usize>,
}

impl Case {
    /// Returns a case in which one launch filters all rows, with test pictures of all patterns, at the settings that the
    /// benchmark times. Checks change some of these fields.
    pub(super) fn new(size: (u32, u32), settings: Settings, kind: Kind) -> Self {
        let (bands, planes_output) = (Bands::Whole, PlanesOutput::Bits12);
        Self { size, settings, frames: 1, kind, planes_output, bands, is_other: false, pictures: None }
    }

    /// Returns the layout of the case's planes; `None` for RGBA.
    pub(super) fn layout(&self) -> Option<Layout> {
        let (width, height) = self.size;
        match self.kind {
            Kind::Planes(None) => Some(Layout::planar_420(width, height, false)),
            Kind::Planes(Some(format)) => suite::layout(format, self.size),
            _ => None,
        }
    }

    /// Returns the extent of the whole picture.
    pub(super) fn whole(&self) -> Extent {
        let layout = self.layout();
        let output = layout.and_then(|layout| match self.planes_output {
            PlanesOutput::Decoded => Some(layout),
            PlanesOutput::Bits12 => Some(layout.filtered()),
            PlanesOutput::Rgba | PlanesOutput::RgbaImage => None,
        });
        Extent { layout, output, frames: self.frames, ..Extent::rgba(self.size, self.settings) }
    }

    /// Returns the number of bytes of the case's input and of its output.
    pub(super) fn bytes(&self) -> [usize; 2] {
        self.whole().bytes()
    }
}

/// Returns check cases for each of `sizes` at each of `radii`. They are marked as having a radius that the benchmark does not
/// time.
fn other_radius_cases<'r>(
    sizes: &'r [(u32, u32)],
    radii: &'r [u32],
    kind: Kind,
) -> impl Iterator<Item = Case> + use<'r> {
    let bands = [Bands::Whole, Bands::Odd].into_iter();
    let pictures = if kind == Kind::Planes(Some(0)) { 2 } else { 3 };
    bands.flat_map(move |bands| {
        sizes.iter().flat_map(move |&size| {
            let case = move |&radius: &u32| Case {
                bands,
                is_other: true,
                pictures: Some(pictures),
                ..Case::new(size, radius.into(), kind)
            };
            radii.iter().filter(move |radius| size != RADII_SIZES[0] || **radius >= LARGE_RADIUS).map(case)
        })
    })
}

impl BoxFilter<'_> {
    /// Returns the cases of small pictures with which a variant that is timed at `timed` is checked on this kind of memory. Variants
    /// without kernels filter whole pictures only.
    pub(super) fn small_cases_on(&self, kind: Kind, timed: &Case) -> impl Iterator<Item = Case> + use<> {
        let (filter, Case { settings, frames, .. }) = (self.filter.get(), *timed);
        let is_kernel = kind != Kind::Host;
        let sizes = CHECK_SIZES.into_iter().flat_map(move |(size, bands)| {
            // For a single pixel most patterns are the same.
            let pictures = (size == (1, 1)).then_some(2);
            let bands = if is_kernel { bands } else { &bands[..1] };
            bands.iter().map(move |&bands| Case { bands, pictures, ..Case::new(size, settings, kind) })
        });
        let radii: &[u32] = if is_kernel && filter.is_none() { &CHECK_RADII } else { &[] };
        let of_folder = filter.map_or_else(Vec::new, |filter| filter.extremes(settings));
        let of_folder = of_folder.into_iter().map(move |settings| Case {
            is_other: true,
            pictures: Some(3),
            ..Case::new(RADII_SIZES[1], settings, kind)
        });
        let all = sizes.chain(other_radius_cases(&RADII_SIZES, radii, kind)).chain(of_folder);
        all.map(move |case| Case { frames, ..case })
    }

    /// Returns the check cases of kernels on planes that are timed at `timed`: small planes of every format, and `large`.
    pub(super) fn small_planes(&self, timed: &Case, large: Case) -> Vec<Case> {
        let (filter, Case { settings, frames, planes_output, .. }) = (self.filter.get(), *timed);
        let bands = [Bands::Whole, Bands::Odd];
        let of_size = |format: usize, size| {
            let pictures = (format > 0).then_some(2);
            let case = Case { pictures, ..Case::new(size, settings, Kind::Planes(Some(format))) };
            bands.map(|bands| Case { bands, ..case })
        };
        // The reference of a folder runs in the sandbox, which takes its time.
        let formats: Vec<usize> = match filter {
            None => (0..suite::FORMATS.len()).collect(),
            Some(_) => FOLDER_FORMATS.to_vec(),
        };
        let sizes = formats
            .into_iter()
            .flat_map(|format| PLANE_SIZES.into_iter().flat_map(move |size| of_size(format, size)));
        let radii: &[u32] = if filter.is_none() { &PLANE_RADII } else { &[] };
        let radii = other_radius_cases(&RADII_SIZES[1..], radii, Kind::Planes(Some(0)));
        let extremes = filter.map_or_else(Vec::new, |filter| filter.extremes(settings)).into_iter();
        let extremes = extremes.map(|settings| Case {
            is_other: true,
            pictures: Some(2),
            ..Case::new(RADII_SIZES[1], settings, Kind::Planes(Some(0)))
        });
        let all = sizes.chain(radii).chain(extremes).filter(|case| case.layout().is_some());
        let large = Case { kind: Kind::Planes(None), ..large };
        all.chain([large]).map(|case| Case { frames, planes_output, ..case }).collect()
    }
}
