//! Checks and times of conversions on one device. In: the format and size of a movie's pictures. Out: a [`Row`] for each
//! conversion: decoded planes to RGBA, filtered planes to RGBA, and RGBA corrected, into a buffer and into an image, with
//! and without correction. Every byte is compared with the reference, with poison and canaries.

use std::cell::RefCell;
use std::fmt::Write;

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use crate::color::kernels::{Converter, Corrector};
use crate::color::planes::layout_of;
use crate::color::trial::{self, Pattern, VIVID};
use crate::color::{Correction, Family, Layout};
use crate::color::{Matrix, Range};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Device};
use crate::gpu::memory::{Picture, Storage};
use crate::ladder::Outcome;
use crate::ladder::measure::{self, Contender, Measurement, Timed};
use crate::ladders::box_filter::pictures::noise;
use crate::ladders::box_filter::trial::{Case, Launch, Trials};
use crate::memory::require;
use crate::verify::MismatchReport;

/// Decoded formats that are checked beside the movie's own: all programs, and all ways that samples lie.
const FORMATS: [Pixel; 19] = [
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
const FILTERED: [Pixel; 8] = [
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
const MATRICES: [Matrix; 5] = [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc];
const SITINGS: [(u32, u32); 6] = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 2), (1, 2)];
/// Rows of the movie's width that are checked of what is not the movie's own format.
const FEW_ROWS: u32 = 17;

/// Which conversions are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// All that the device could be asked for; those of the movie's own format are timed
    All,
    /// Those of the movie's own format
    Input,
    /// None
    None,
}

/// One conversion.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is converted: FFmpeg's name of the format, with `-filtered` where its planes have been filtered; `rgba` where
    /// colours are corrected only.
    pub id: String,
    /// The kernel file.
    pub kernel: &'static str,
    /// Where the picture goes.
    pub to: Storage,
    /// Whether its colours are corrected.
    pub corrected: bool,
    /// Its time, where it was timed; or what is wrong.
    pub outcome: std::result::Result<Option<Measurement>, Outcome>,
    /// The picture that is wrong.
    pub case: String,
    /// The sizes of the pictures that were compared, each once.
    pub sizes: Vec<(u32, u32)>,
    /// How many pictures were compared.
    pub pictures: usize,
}

impl Row {
    fn new(id: String, to: Storage, corrected: bool) -> Self {
        Self {
            id,
            kernel: "",
            to,
            corrected,
            outcome: Ok(None),
            case: String::new(),
            sizes: Vec::new(),
            pictures: 0,
        }
    }

    /// Notes what came of a picture of this size.
    fn note(
        &mut self,
        size: (u32, u32),
        checked: Result<Option<MismatchReport>>,
        case: impl FnOnce() -> String,
    ) {
        self.pictures += 1;
        if !self.sizes.contains(&size) {
            self.sizes.push(size);
        }
        let wrong = match checked {
            Ok(None) => return,
            Ok(Some(report)) => Outcome::Mismatch(report),
            Err(error) => Outcome::Failed(error),
        };
        self.case = case();
        self.outcome = Err(wrong);
    }
}

/// A movie's pictures: how they are stored, and their size.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// The format.
    pub format: Pixel,
    /// How its planes lie, at the size that is timed.
    pub layout: Layout,
}

impl Input {
    /// What a movie with such a picture has, at this size; `None` where no kernel converts its format.
    pub fn of(picture: &Video, (width, height): (u32, u32)) -> Option<Self> {
        let Layout { matrix, range, siting, .. } = layout_of(picture)?;
        let layout = layout_of(&Video::new(picture.format(), width, height))?;
        Some(Self { format: picture.format(), layout: Layout { matrix, range, siting, ..layout } })
    }
}

/// What is converted.
#[derive(Clone, Copy)]
enum Source {
    Planes(Pixel, bool),
    Rgba,
}

impl Source {
    fn id(self) -> String {
        let name = |format: Pixel| format.descriptor().map_or("?", |d| d.name());
        match self {
            Source::Planes(format, false) => name(format).to_owned(),
            Source::Planes(format, true) => format!("{}-filtered", name(format)),
            Source::Rgba => "rgba".to_owned(),
        }
    }

    /// Whether its kernels are those of another one, as far as is known without building them.
    fn has_kernels_of(self, other: Self) -> bool {
        match (self, other) {
            (Source::Planes(_, filtered), Source::Planes(_, others)) => filtered == others,
            (Source::Rgba, Source::Rgba) => true,
            _ => false,
        }
    }

    /// How its planes lie at a size.
    fn layout(self, (width, height): (u32, u32)) -> Option<Layout> {
        match self {
            Source::Planes(format, filtered) => {
                let layout = layout_of(&Video::new(format, width, height))?;
                Some(if filtered { layout.filtered() } else { layout })
            }
            Source::Rgba => None,
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// How often each of the movie's own is timed.
    pub rounds: u32,
    /// Which are checked.
    pub which: Which,
    /// Whether nothing is checked or timed any more after the first that is wrong or fails.
    pub fail_fast: bool,
}

/// Checks the conversions, and times those of `input`, all in turns. Changed kernels are tried in `trials` first. `next`
/// is told what comes.
///
/// # Errors
/// When the device cannot be used at all. What goes wrong with one conversion is in its row.
pub fn run_device(
    device: &Device,
    input: Option<&Input>,
    ask: &Ask,
    trials: &mut Trials,
    next: &mut dyn FnMut(&str),
) -> Result<Vec<Row>> {
    let Ask { size, rounds, which, fail_fast } = *ask;
    let cl = ClContext::new(device)?;
    let own = input.map(|input| input.format);
    let mut sources: Vec<Source> = Vec::new();
    if let Some(own) = own {
        sources.extend([Source::Planes(own, false), Source::Planes(own, true)]);
    }
    if which == Which::All {
        let others = |all: &'static [Pixel]| all.iter().copied().filter(move |format| Some(*format) != own);
        sources.extend(others(&FORMATS).map(|format| Source::Planes(format, false)));
        sources.extend(others(&FILTERED).map(|format| Source::Planes(format, true)));
    }
    sources.push(Source::Rgba);
    let mut storages = vec![Storage::Buffer];
    if cl.device.info.image_support {
        storages.push(Storage::Image);
    }
    let checks = RefCell::new(Checks {
        converter: Converter::new(&cl),
        corrector: Corrector::new(&cl),
        cl: cl.clone(),
    });
    let mut rows = Vec::new();
    let mut timed = Vec::new();
    // Kernels that did not end: each of the others could take the limit's time too.
    let mut endless: Vec<(Source, Error)> = Vec::new();
    for source in sources {
        next(&format!("checking the conversion of {}", source.id()));
        let is_own = match source {
            Source::Planes(format, _) => Some(format) == own,
            Source::Rgba => true,
        };
        let mut of_source = Vec::new();
        for &to in &storages {
            for corrected in [false, true] {
                if corrected || !matches!(source, Source::Rgba) {
                    of_source.push(Row::new(source.id(), to, corrected));
                }
            }
        }
        let own = is_own.then_some(input).flatten();
        let known = endless.iter().find(|(other, _)| other.has_kernels_of(source));
        let tried = match known {
            Some((_, error)) => Err(error.clone()),
            None => try_first(trials, &cl, source, own, size, &storages),
        };
        if let (Err(error), None, true) = (&tried, known, trials.is_fault()) {
            endless.push((source, error.clone()));
        }
        if let Err(error) = tried.and_then(|()| checks.borrow_mut().rows(&mut of_source, source, own, size)) {
            // They must not run here, or memory for the pictures ran out.
            for row in of_source.iter_mut().filter(|row| row.outcome.is_ok()) {
                row.outcome = Err(Outcome::Failed(error.clone()));
            }
        }
        for row in of_source {
            if is_own && row.outcome.is_ok() {
                timed.push((rows.len(), source, row.to, row.corrected));
            }
            rows.push(row);
        }
        if fail_fast && rows.iter().any(|row| row.outcome.is_err()) {
            return Ok(rows);
        }
    }
    next("timing conversions");
    let measured = time(&cl, &checks, &timed, input, size, rounds)?;
    for ((at, ..), measured) in timed.iter().zip(measured) {
        rows[*at].outcome = match measured {
            Ok(timed) => Ok(timed.measurement()),
            Err(error) => Err(Outcome::Failed(error)),
        };
    }
    Ok(rows)
}

/// Tries changed kernels in a process of their own, into each kind of picture.
fn try_first(
    trials: &mut Trials,
    cl: &ClContext,
    source: Source,
    input: Option<&Input>,
    (width, height): (u32, u32),
    storages: &[Storage],
) -> Result<()> {
    let sized = |src| Case {
        src,
        size: (width, height),
        radius: 0,
        launch: Launch::Whole,
        longest_ms: None,
        wants_picture: false,
    };
    let layout = match source {
        Source::Rgba => return trials.correct(cl, &sized(&noise((width * height * 4) as usize))).map(drop),
        Source::Planes(_, filtered) => match input {
            Some(input) if filtered => Some(input.layout.filtered()),
            Some(input) => Some(input.layout),
            None => source.layout((width, height.min(FEW_ROWS))),
        },
    };
    let Some(layout) = layout else { return Ok(()) };
    let block = noise(layout.bytes());
    for &to in storages {
        let case = Case { size: (layout.width, layout.height), ..sized(&block) };
        trials.convert(cl, &layout, to == Storage::Image, &case)?;
    }
    Ok(())
}

fn correction(corrected: bool) -> Correction {
    if corrected { VIVID } else { Correction::NEUTRAL }
}

struct Checks {
    cl: ClContext,
    converter: Converter,
    corrector: Corrector,
}

impl Checks {
    /// Checks the conversions of a source; `input` is there where it is the movie's own, which is checked at its whole size.
    ///
    /// # Errors
    /// When memory for the pictures runs out.
    fn rows(
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
        let block = trial::block(&layout, pattern, seed)?;
        let plain = trial::expected(&layout, &block, &Correction::NEUTRAL)?;
        let mut vivid = plain.clone();
        trial::corrected(&mut vivid, &VIVID, layout.matrix);
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
                let matrix = MATRICES[(2 * number + at) % MATRICES.len()];
                let size = (TAGGED.0 + (2 * number + at) as u32, TAGGED.1);
                let layout = source.layout(size).unwrap_or(tagged);
                cases.push((Layout { matrix, range, siting, ..layout }, Pattern::Mixed));
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
    match pattern {
        Pattern::Mixed => {}
        Pattern::Largest => case.push_str(", all samples at their largest"),
        Pattern::Zero => case.push_str(", all samples zero"),
    }
    case
}

/// One run of a conversion.
type TimedRow = (usize, Source, Storage, bool);

/// Times conversions at the whole size, in turns.
fn time(
    cl: &ClContext,
    checks: &RefCell<Checks>,
    rows: &[TimedRow],
    input: Option<&Input>,
    (width, height): (u32, u32),
    rounds: u32,
) -> Result<measure::Results> {
    let on_device = |layout: &Layout| -> Result<(Layout, Picture)> {
        let block = trial::block(layout, Pattern::Mixed, 1)?;
        let picture = Picture::alloc(cl, Storage::Buffer, (block.len() / 4) as u32, 1)?;
        picture.write(&cl.queue, &block)?;
        Ok((*layout, picture))
    };
    let planes = match input {
        Some(input) => Some((on_device(&input.layout)?, on_device(&input.layout.filtered())?)),
        None => None,
    };
    let picture = |storage| Picture::alloc(cl, storage, width, height);
    let mut pictures = vec![(picture(Storage::Buffer)?, picture(Storage::Buffer)?)];
    if rows.iter().any(|(_, _, to, _)| *to == Storage::Image) {
        pictures.push((picture(Storage::Image)?, picture(Storage::Image)?));
    }
    let rgba = trial::pixels((width, height), 1)?;
    pictures.iter().try_for_each(|(from, _)| from.write(&cl.queue, &rgba))?;
    let (planes, pictures) = (planes.as_ref(), &pictures);
    let mut contenders: Vec<Contender> = Vec::new();
    for &(_, source, to, corrected) in rows {
        let run = move || -> Result<measure::Sample> {
            let missing = || Error::new("A conversion could not be timed.", "Its memory is not there.", "");
            let (from, dst) = pictures.get(usize::from(to == Storage::Image)).ok_or_else(missing)?;
            let correction = correction(corrected);
            let mut checks = checks.borrow_mut();
            measure::sample(&cl.queue, |queue| {
                Ok(vec![match source {
                    Source::Planes(_, filtered) => {
                        let (decoded, after) = planes.ok_or_else(missing)?;
                        let (layout, block) = if filtered { after } else { decoded };
                        checks.converter.enqueue_block(queue, layout, block, dst, &correction)?
                    }
                    Source::Rgba => {
                        let size = (width, height);
                        checks.corrector.enqueue(queue, from, dst, size, &correction, Matrix::Bt709)?
                    }
                }])
            })
        };
        contenders.push(Contender { rounds, run: Box::new(run) });
    }
    // The first runs, of which nothing is kept.
    let mut ready: Vec<Result<Timed>> = Vec::new();
    for contender in &mut contenders {
        ready.push((contender.run)().map(|_| Timed::default()));
    }
    let mut results = measure::alternate(rounds, &mut contenders, |_, _| Ok(()))?;
    for (result, ready) in results.iter_mut().zip(ready) {
        if let Err(error) = ready {
            *result = Err(error);
        }
    }
    Ok(results)
}
