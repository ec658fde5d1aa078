//! Checks and times of conversions on one device. In: the format and size of a movie's pictures. Out: a [`Row`] for each
//! conversion: decoded planes to RGBA, filtered planes to RGBA, and RGBA corrected, into a buffer and into an image, with
//! and without correction. Every byte is compared with the reference, with poison and canaries.

mod checks;
mod time;

use std::cell::RefCell;

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use crate::color_kernels::{Converter, Corrector};
use crate::pictures::noise;
use crate::trial::{Case, Launch, Trials};
use base::error::{Error, Result};
use base::verify::MismatchReport;
use ladder::Outcome;
use ladder::measure::Measurement;
use opencl::cl::{ClContext, Device};
use opencl::memory::Storage;
use video::color::Layout;
use video::color::planes::layout_of;

use checks::{Checks, FEW_ROWS, FILTERED, FORMATS, Source};
use time::time;

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
        let Layout { matrix, range, siting, interlaced, .. } = layout_of(picture)?;
        let layout = layout_of(&Video::new(picture.format(), width, height))?.with_fields(interlaced);
        Some(Self { format: picture.format(), layout: Layout { matrix, range, siting, ..layout } })
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
