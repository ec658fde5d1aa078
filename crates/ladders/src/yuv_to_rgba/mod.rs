//! The benchmark of the conversion kernels on one device. It checks and times the conversions of decoded planes to RGBA, of
//! filtered planes to RGBA, and of RGBA to corrected RGBA, into a buffer and into an image, with and without correction. Every
//! byte is compared with the reference. Before a run the output is filled with bytes that differ from the expected ones, and
//! surrounded by canaries (known bytes that reveal writes outside it).

mod checks;
mod time;

use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::color_kernels::{Conversion, Converter, Corrector, storages};
use box_filter::pictures::noise;
use box_filter::trial::{self, Case, LaunchMode, Target, Trials};
use ladder::Outcome;
use ladder::measure::Measurement;
use ladder::rows::clock_reason;
use opencl::cl::ClContext;
use opencl::clock;
use opencl::memory::Storage;
use video::color::Layout;
use video::color::planes::layout_of;

use checks::{Checks, FEW_ROWS, FILTERED_FORMATS, FORMATS, Source};
use time::time;

/// The conversions to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Selection {
    /// All conversions that the device supports
    All,
    /// Those of the movie's format
    Input,
    /// None
    None,
}

/// The result of the check and the timing of one conversion, a row of the benchmark's table.
#[derive(Debug, Clone)]
pub struct Row {
    /// The id of the input: FFmpeg's name of the format, with `-filtered` if its planes are filtered; `rgba` for a correction
    /// alone.
    pub id: String,
    /// The name of the kernel file that converts; empty if none was checked.
    pub kernel: &'static str,
    /// The kind of memory, buffer or image, that the output is written to.
    pub to: Storage,
    /// True if colours are corrected.
    pub corrected: bool,
    /// The measured time (`None` if it was not measured), or the failure.
    pub outcome: Result<Option<Measurement>, Outcome>,
    /// The description of the picture on which the conversion was wrong or failed; empty if there is none.
    pub case: String,
    /// The sizes of the compared pictures, without repetitions.
    pub sizes: Vec<(u32, u32)>,
    /// The number of compared pictures.
    pub pictures: usize,
    /// The reason why the time is wall time instead of device time, or why runs are missing; `None` if neither is the case.
    pub clock_reason: Option<String>,
}

impl Row {
    /// Creates the row of a conversion that was not checked yet.
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
            clock_reason: None,
        }
    }

    /// Adds the check of a picture of this size to the row. If `checked` is a difference or an error, it becomes the row's
    /// outcome, and `case` returns the description of the picture.
    fn record(
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

/// The pixel format of a movie's pictures, and their layout.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// The pixel format.
    pub format: Pixel,
    /// The layout at the size that is timed.
    pub layout: Layout,
}

impl Input {
    /// Returns the format of `picture`, with its layout at this size; `None` if no kernel converts the format.
    pub fn of(picture: &Video, (width, height): (u32, u32)) -> Option<Self> {
        let Layout { matrix, range, siting, interlaced, .. } = layout_of(picture)?;
        let layout = layout_of(&Video::new(picture.format(), width, height))?.with_fields(interlaced);
        Some(Self { format: picture.format(), layout: Layout { matrix, range, siting, ..layout } })
    }
}

/// Options of [`run_device`].
#[derive(Debug, Clone, Copy)]
pub struct RunOptions<'a> {
    /// The movie's format, whose conversions are timed.
    pub input: Option<&'a Input>,
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// The number of timed runs of each conversion of the movie's own format.
    pub rounds: u32,
    /// The conversions to check.
    pub which: Selection,
    /// True to end the checks after the first failure.
    pub fail_fast: bool,
}

/// Compares conversions with the reference, and times those of the movie's format, interleaved. Modified kernels run in `trials`
/// first. `next` is called with a description of each step.
///
/// # Errors
/// When the device cannot be used at all. The failure of a single conversion is in its row.
pub fn run_device(
    cl: &ClContext,
    ask: &RunOptions,
    trials: &mut Trials,
    next: &mut dyn FnMut(&str),
) -> Result<Vec<Row>> {
    let RunOptions { input, which, fail_fast, .. } = *ask;
    let movie_format = input.map(|input| input.format);
    let mut sources: Vec<Source> = Vec::new();
    if let Some(format) = movie_format {
        sources.extend([Source::Planes(format, false), Source::Planes(format, true)]);
    }
    if which == Selection::All {
        let others =
            |all: &'static [Pixel]| all.iter().copied().filter(move |format| Some(*format) != movie_format);
        sources.extend(others(&FORMATS).map(|format| Source::Planes(format, false)));
        sources.extend(others(&FILTERED_FORMATS).map(|format| Source::Planes(format, true)));
    }
    sources.push(Source::Rgba);
    let mut checks = Checks { converter: Converter::new(cl), corrector: Corrector::new(cl), cl: cl.clone() };
    let mut rows = Vec::new();
    let mut timed = Vec::new();
    // Kernels that crashed or timed out are not run again for other sources.
    let mut crashed: Vec<(Source, Error)> = Vec::new();
    for source in sources {
        next(&format!("checking the conversion of {}", source.id()));
        let is_movies = !matches!(source, Source::Planes(format, _) if Some(format) != movie_format);
        let corrections = if matches!(source, Source::Rgba) { &[true][..] } else { &[false, true] };
        let rows_to =
            |&to: &Storage| corrections.iter().map(move |&corrected| Row::new(source.id(), to, corrected));
        let mut source_results: Vec<Row> = storages(cl).iter().flat_map(rows_to).collect();
        let ask = &RunOptions { input: input.filter(|_| is_movies), ..*ask };
        let known = crashed.iter().find(|(other, _)| other.may_share_kernels(source));
        let tried = match known {
            Some((_, error)) => Err(error.clone()),
            None => run_trials(trials, cl, source, ask),
        };
        if let (Err(error), None, true) = (&tried, known, trials.child.is_fault()) {
            crashed.push((source, error.clone()));
        }
        let checked = tried.and_then(|()| checks.check(&mut source_results, source, ask));
        if let Err(error) = checked {
            // The kernels must not run in this process, or memory for the pictures ran out.
            for row in source_results.iter_mut().filter(|row| row.outcome.is_ok()) {
                row.outcome = Err(Outcome::Failed(error.clone()));
            }
        }
        for row in source_results {
            if is_movies && row.outcome.is_ok() {
                timed.push((rows.len(), source, row.to, row.corrected));
            }
            rows.push(row);
        }
        if fail_fast && rows.iter().any(|row| row.outcome.is_err()) {
            return Ok(rows);
        }
    }
    next("timing conversions");
    let clock = clock::calibrate(cl);
    let measured = time(&mut checks, &timed, ask)?;
    for ((at, ..), measured) in timed.iter().zip(measured) {
        let row = &mut rows[*at];
        row.outcome = measured.map(|timed| timed.measurement()).map_err(Outcome::Failed);
        row.clock_reason =
            row.outcome.as_ref().ok().and_then(Option::as_ref).and_then(|times| clock_reason(&clock, times));
    }
    Ok(rows)
}

/// Runs modified kernels in the sandbox, once for each kind of memory that the output may be written to.
fn run_trials(trials: &mut Trials, cl: &ClContext, source: Source, ask: &RunOptions) -> Result<()> {
    let (width, height) = ask.size;
    let sized = |src| Case {
        src: trial::Source::Bytes(src),
        size: (width, height),
        settings: 0.into(),
        launch: LaunchMode::Bands,
    };
    let layout = match source {
        Source::Rgba => {
            let src = noise((width * height * 4) as usize);
            return trials.run(cl, Target::Correct, &sized(&src)).map(drop);
        }
        Source::Planes(_, filtered) => match ask.input {
            Some(input) if filtered => Some(input.layout.filtered()),
            Some(input) => Some(input.layout),
            None => source.layout((width, height.min(FEW_ROWS))),
        },
    };
    let Some(layout) = layout else { return Ok(()) };
    let block = noise(layout.bytes());
    for &storage in storages(cl) {
        let case = Case { size: (layout.width, layout.height), ..sized(&block) };
        trials.run(cl, Target::Convert(Conversion { layout, storage }), &case)?;
    }
    Ok(())
}
