//! The comparison of the speed of two versions of the edited kernels, as a [background task](super::lane::Task::Versions). Both
//! versions are timed in turns on the frame on the screen, by the benchmark of `clreel bench --kernels A --kernels B`.
//!
//! The number of rounds does not depend on the times: a test repeated until it is significant would find differences by chance.
//! The job leaves the device to the movie for longer than it uses it, and slow kernels filter only some rows of the frame, so
//! that no launch delays the movie for long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::lane::Worker;
use base::error::{Error, Result};
use base::memory::picture_memory;
use base::timing::log::{self, Event};
use base::timing::ratio::MIN_SAMPLES;
use box_filter::{Settings, VariantId};
use compute::trial::Child;
use ladder::Outcome;
use ladder::rounds::{BenchOptions, Benchmark};
use ladder::runner::LadderRunner;
use ladders::box_filter::{BoxFilter, variant as ladder_variant};
use opencl::cl::Device;
use opencl::sources::Sources;
use overlay::SpeedState;
use video::Frame;
use video::color::RgbaConverter;

/// The number of rounds, in each of which both versions are timed once. With 200, 96 % of changes by 5 % and 98 % of changes by
/// 10 % are found (docs/compare.md).
const ROUNDS: u32 = 200;
/// The time after which no further round begins, including the pauses in which the movie has the device.
const BUDGET: Duration = Duration::from_secs(30);
/// The maximum predicted time of one run in milliseconds. If a run on the whole frame would take longer, only some rows are
/// filtered.
const MAX_RUN_MS: f64 = 10.0;
/// The number of rows that are filtered to predict the time of a run if no filter time of the movie's frames is known.
const PREDICTED_ROWS: u32 = 32;
/// The minimum number of rows that are filtered: with fewer, the work at the border would dominate the time.
const MIN_ROWS: u32 = 16;
/// The length of the pause after a round, as a multiple of the round's length.
const PAUSE_FACTOR: u32 = 2;
/// The longest pause after a round.
const MAX_PAUSE: Duration = Duration::from_millis(200);

/// Two versions of a variant's kernels, and the device, frame and settings with which they are compared.
pub(crate) struct ComparisonRequest {
    pub device: Device,
    /// The kernel sources of the earlier version and of the later version. The verdict says how fast the later one is.
    pub sources: [Sources; 2],
    pub variant: VariantId,
    pub frame: Arc<Frame>,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The filter's time for a whole frame in milliseconds; `None` if it was measured for neither version.
    pub frame_ms: Option<f64>,
    /// The user's timeout for a step of the validation of edited kernels.
    pub kernel_timeout: Option<Duration>,
}

/// Times both versions in turns on the task's thread. Reports the numbers of finished and of all pairs of runs. Returns `None` if
/// the comparison was cancelled.
///
/// # Errors
/// If the two versions cannot be compared; the error says why.
pub(crate) fn compare(
    request: &ComparisonRequest,
    worker: &Worker<'_, SpeedState, (u32, u32)>,
) -> Result<Option<SpeedState>> {
    let ComparisonRequest { device, sources, variant, settings, kernel_timeout, .. } = request;
    let began = Instant::now();
    let picture = &request.frame.picture;
    let (width, height) = (picture.width(), picture.height());
    let mut pixels = picture_memory(width, height)?;
    RgbaConverter::new().convert(picture, &mut pixels)?;
    let first_rows = |rows: u32| vec![pixels[..rows as usize * width as usize * 4].to_vec()];
    let filter = variant.filter();
    let Some(variant) = ladder_variant(*variant) else {
        return Err(Error::new(format!("'{variant}' has no kernels to compare."), "", ""));
    };
    let mut children = [(); 2].map(|()| Child::new(BoxFilter::INFO.name, *kernel_timeout));
    let [child, second_child] = &mut children;

    let affordable = match request.frame_ms {
        Some(ms) => f64::from(height) * MAX_RUN_MS / ms.max(1e-6),
        None => {
            let rows = height.min(PREDICTED_ROWS);
            let frames = first_rows(rows);
            let ladder = BoxFilter::on_frames(&frames, (width, rows)).of_filter(filter);
            let runner = LadderRunner::new(&ladder, Some(device), sources[1].clone(), &mut *child);
            let mut buffers = runner.allocate(&ladder.case(*settings))?;
            match runner.prepare(variant, &mut buffers) {
                Ok(prepared) => f64::from(rows) * MAX_RUN_MS / prepared.predicted_ms.max(1e-6),
                Err(outcome) => return Err(Error::new(reason(&outcome), "", "")),
            }
        }
    };
    let rows = (affordable.min(f64::from(height)) as u32).clamp(MIN_ROWS.min(height), height);
    let frames = first_rows(rows);
    let ladder = BoxFilter::on_frames(&frames, (width, rows)).of_filter(filter);
    let runner = LadderRunner::new(&ladder, Some(device), sources[0].clone(), child);
    let second = runner.with_sources(sources[1].clone(), second_child);
    let options = BenchOptions {
        rounds: ROUNDS,
        fail_fast: true,
        selected_by_name: true,
        registers: false,
        // The versions have been validated. The outputs of the timed runs are compared all the same.
        checks: false,
    };
    let (variants, case) = ([variant], ladder.case(*settings));
    let bench = Benchmark { runner: &runner, second: Some(&second), variants: &variants, options };
    let mut one = bench.case(&case);
    // The times at which the first and the last round began, and the number of rounds.
    let mut rounds: Option<[Instant; 2]> = None;
    let mut begun = 0;
    while let Some(step) = one.next_step() {
        if let Some([first, last]) = rounds {
            worker.pause((PAUSE_FACTOR * last.elapsed()).min(MAX_PAUSE));
            if first.elapsed() > BUDGET {
                break;
            }
        }
        if !worker.may_continue() {
            return Ok(None);
        }
        // Variants are built before the first round.
        if step.starts_with("timing") {
            let now = Instant::now();
            rounds = Some([rounds.map_or(now, |[first, _]| first), now]);
            worker.reporter.report((begun, ROUNDS));
            begun += 1;
        }
        one.step();
    }
    let run = one.finish();
    log::record(|| [Event::since("compare", began).with(variant.id)]);
    let Some(row) = run.rows.last() else { return Ok(None) };
    let Some(ratio) = run.ratio_of_folders(row) else {
        let failed = run.rows.iter().map(|row| &row.outcome).find(|outcome| outcome.measured().is_none());
        let few = || format!("Fewer than {MIN_SAMPLES} rounds fit into {} s.", BUDGET.as_secs());
        return Err(Error::new(failed.map_or_else(few, reason), "", ""));
    };
    let rounds = row.outcome.measured().map_or(0, |measured| measured.time.n);
    let rows = (rows < height).then_some(rows);
    Ok(Some(SpeedState::Compared { verdict: ratio.verdict(), rounds, rows }))
}

/// Returns the first line of the reason for which a version has no times.
fn reason(outcome: &Outcome) -> String {
    let why = outcome.reason();
    let first_line = why.as_deref().map(|why| why.lines().next().unwrap_or_default());
    first_line.unwrap_or(outcome.word()).to_owned()
}
