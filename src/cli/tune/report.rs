//! The results of `clreel tune`, as a table and as JSON.

use serde::Serialize;
use serde_json::Value;

use crate::cli::devices::DeviceEntry;
use crate::cli::output::{ClockEntry, print_line, table};
use base::error::Result;
use base::timing::noise::{Noise, Noisy};
use base::timing::{Precision, Series, believed, number};
use base::verify::Checked;
use box_filter::tuned::radius_range;
use ladder::clock_speed::ClockSpeed;
use ladder::config::Tunable;
use ladder::measure::Measurement;
use ladder::runner::{CaseInfo, Ladder};
use ladder::tune::{Search, Status, Trial};
use opencl::clock::ClockState;

/// The case for which a search finds the best configurations: its description for tables and JSON.
#[derive(Clone)]
pub(super) struct Target {
    json: TargetEntry,
    /// The title of the case, as in `1280×720 · radius 7, applies to 4 to 15`.
    title: String,
    /// The short name of the case, as in `r=7`.
    pub(super) short: String,
    /// Name of the peak kernel, which moves the same bytes as fast as possible.
    pub(super) peak: &'static str,
    /// Number of bytes that must be moved between memory and processor.
    bytes: f64,
}

/// The case of a search in the JSON report.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum TargetEntry {
    Pictures {
        width: u32,
        height: u32,
        radius: u32,
    },
    Case {
        case: Value,
        class: &'static str,
        #[serde(rename = "limit")]
        peak: &'static str,
    },
}

impl Target {
    /// Describes a case of the box filter: pictures of this size, filtered with this radius.
    pub(super) fn pictures((width, height): (u32, u32), radius: u32) -> Self {
        let (first, last) = radius_range(radius);
        Self {
            json: TargetEntry::Pictures { width, height, radius },
            title: format!("{width}×{height} · radius {radius}, applies to {first} to {last}"),
            short: format!("r={radius}"),
            peak: "copy",
            bytes: f64::from(width) * f64::from(height) * 8.0,
        }
    }

    /// Describes a case of another ladder.
    pub(super) fn case<L: Ladder>(ladder: &L, case: &L::Case) -> Self {
        let CaseInfo { title, json, class, bytes, .. } = ladder.describe(case);
        let peak = L::INFO.peaks[0].name;
        Self {
            json: TargetEntry::Case { case: json, class, peak },
            short: title.clone(),
            title: format!("{title}, applies to {class} cases"),
            peak,
            bytes,
        }
    }

    /// Returns true if the case is one of the box filter.
    fn is_box_filter(&self) -> bool {
        matches!(self.json, TargetEntry::Pictures { .. })
    }
}

/// The JSON report of `clreel tune`.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub(super) schema: u32,
    /// The name of the ladder; missing for the box filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ladder: Option<&'static str>,
    #[serde(flatten)]
    pub(super) device: DeviceEntry,
    /// Sentences about missing results, if a signal ended the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interrupted: Option<String>,
    pub(super) runs: Vec<RunEntry<'a>>,
}

/// The results of one search in the JSON report.
#[derive(Serialize)]
pub(super) struct RunEntry<'a> {
    #[serde(flatten)]
    target: &'a TargetEntry,
    #[serde(flatten)]
    peak: PeakEntry,
    /// The comparisons with the reference that each trial with a time passed.
    checked: &'a [Checked],
    trials: &'a [TrialEntry],
    /// A sentence on the configuration that is kept.
    choice: Option<&'a String>,
    clock: &'static str,
    clock_reason: Option<String>,
    clock_mhz: Option<ClockEntry<'a>>,
    clock_mhz_reason: Option<&'a String>,
}

/// The time of the peak kernel in the JSON report.
#[derive(Serialize)]
#[serde(untagged)]
enum PeakEntry {
    Copy { copy_ms: Option<f64>, copy_noisy: Noisy },
    Other { limit_ms: Option<Series>, limit_noisy: Noisy },
}

/// A tried configuration in the JSON report.
#[derive(Serialize)]
pub(super) struct TrialEntry {
    pub(super) variant: &'static str,
    pub(super) configuration: String,
    /// The time to compile the configuration; `null` if it was not compiled in this process.
    compile_ms: Option<f64>,
    /// The median of interleaved runs for the best trials, the minimum for the others.
    pub(super) ms: Option<f64>,
    /// The fastest run of the trial, and the median of the final runs.
    min_ms: Option<f64>,
    median_ms: Option<f64>,
    gb_per_s: Option<f64>,
    #[serde(flatten)]
    share: Share,
    pub(super) status: &'static str,
    reason: Option<String>,
    pub(super) noisy: Noisy,
}

/// A configuration's speed in percent of the peak kernel's, in the JSON report.
#[derive(Serialize)]
#[serde(untagged)]
enum Share {
    Copy { percent_of_copy: Option<f64> },
    Other { percent_of_limit: Option<f64> },
}

impl Share {
    /// Returns the percentage.
    fn percent(&self) -> Option<f64> {
        match self {
            Share::Copy { percent_of_copy: percent } | Share::Other { percent_of_limit: percent } => *percent,
        }
    }
}

/// The results of a search so far.
pub(super) struct Run {
    pub(super) target: Target,
    pub(super) peak: Option<Measurement>,
    pub(super) trials: Vec<TrialEntry>,
    /// A sentence on the configuration that is kept.
    choice: Option<String>,
    checked: Vec<Checked>,
    clock: ClockState,
    /// The speed of the device's clock in the final runs; `Err` holds the reason why it is unknown, `None` means that the search
    /// has not ended.
    clock_speed: Option<std::result::Result<ClockSpeed, String>>,
}

impl Run {
    /// Converts the trials of a search in progress to a printable result.
    pub(super) fn in_progress<C: Tunable>(target: &Target, trials: &[Trial<C>]) -> Self {
        Self {
            target: target.clone(),
            peak: None,
            trials: trials.iter().map(|trial| entry(target, None, trial)).collect(),
            choice: None,
            checked: Vec::new(),
            clock: ClockState::default(),
            clock_speed: None,
        }
    }

    /// Converts a search to a printable result.
    pub(super) fn new<C: Tunable>(target: &Target, search: &Search<C>) -> Self {
        Self {
            target: target.clone(),
            peak: search.peak.clone(),
            trials: search.trials.iter().map(|trial| entry(target, search.peak.as_ref(), trial)).collect(),
            choice: search.choice_text(),
            checked: search.checked.clone(),
            clock: search.clock.clone(),
            clock_speed: Some(search.clock_speed.clone()),
        }
    }

    /// Returns the reason why the speed of the device's clock is unknown, as a sentence, if the search has ended without it.
    pub(super) fn clock_speed_error(&self) -> Option<&String> {
        self.clock_speed.as_ref().and_then(|speed| speed.as_ref().err())
    }

    /// Returns the noise of the peak kernel's time, if it is noisy.
    pub(super) fn peak_noise(&self) -> Option<Noise> {
        self.peak.as_ref().and_then(Measurement::noise)
    }

    /// Converts the result of a search to its entry in the JSON report.
    pub(super) fn entry(&self) -> RunEntry<'_> {
        let (time, noisy) = (self.peak.as_ref().map(|peak| peak.time), Noisy(self.peak_noise()));
        let peak = match self.target.is_box_filter() {
            true => PeakEntry::Copy { copy_ms: time.map(|time| time.p50), copy_noisy: noisy },
            false => PeakEntry::Other { limit_ms: time, limit_noisy: noisy },
        };
        RunEntry {
            target: &self.target.json,
            peak,
            checked: &self.checked,
            trials: &self.trials,
            choice: self.choice.as_ref(),
            clock: self.clock.json_name(),
            clock_reason: self.clock.note(),
            clock_mhz: self.clock_speed.iter().flatten().next().map(ClockEntry::new),
            clock_mhz_reason: self.clock_speed_error(),
        }
    }
}

/// Converts a trial to its entry in the JSON report.
fn entry<C: Tunable>(target: &Target, peak: Option<&Measurement>, trial: &Trial<C>) -> TrialEntry {
    let ms = trial.median_ms.or(trial.ms());
    let (status, reason) = match &trial.status {
        Status::Scored(_) if trial.is_kept => ("kept", None),
        Status::Scored(_) if trial.median_ms.is_some() => ("finalist", None),
        Status::Scored(_) => ("ok", None),
        Status::Abandoned(ms) => ("abandoned", Some(format!("a run takes about {} ms", number(*ms)))),
        Status::Mismatch(report) => ("mismatch", Some(report.to_string())),
        Status::Failed(why) => ("failed", Some(why.clone())),
    };
    let percent = peak.zip(ms).map(|(peak, ms)| 100.0 * peak.time.p50 / ms);
    TrialEntry {
        variant: trial.variant,
        configuration: trial.config.to_string(),
        compile_ms: trial.compile_ms,
        ms,
        min_ms: trial.ms(),
        median_ms: trial.median_ms,
        gb_per_s: ms.map(|ms| target.bytes / (ms * 1e6)),
        share: match target.is_box_filter() {
            true => Share::Copy { percent_of_copy: percent },
            false => Share::Other { percent_of_limit: percent },
        },
        status,
        reason,
        noisy: Noisy(trial.noise),
    }
}

/// Prints the table of a search, and the notes below it.
pub(super) fn print_run(device: &str, run: &Run) -> Result<()> {
    let clock = if matches!(run.clock, ClockState::Rejected(_)) { "wall time" } else { "device time" };
    print_line(format!("{device} · {} · {clock} in ms", run.target.title))?;
    let share = format!("% of {}", run.target.peak);
    let header =
        ["variant", "configuration", "compile ms", "least ms", "median ms", "GB/s", &share, "status"];
    let mut table = table(header, 2..7);
    let show = |value: Option<f64>, precision: &[Precision]| {
        value.map(|value| believed(value, precision)).unwrap_or_default()
    };
    let mut printed: Vec<&String> = Vec::new();
    for trial in &run.trials {
        let precision = [Precision::from(trial.noisy.0)];
        let of_peak = run.peak.as_ref().map(Measurement::precision);
        table.add_row([
            trial.variant.to_owned(),
            trial.configuration.clone(),
            trial.compile_ms.map_or_else(|| "–".to_owned(), number),
            show(trial.min_ms, &precision),
            show(trial.median_ms, &precision),
            show(trial.gb_per_s, &precision),
            show(trial.share.percent(), &[precision[0], of_peak.unwrap_or(precision[0])]),
            match (&trial.reason, trial.status) {
                (Some(reason), "abandoned") => format!("abandoned: {reason}"),
                (_, status) => status.to_owned(),
            },
        ]);
        // A reason that several configurations share is printed once.
        if let (Some(reason), "mismatch" | "failed") = (&trial.reason, trial.status)
            && !printed.contains(&reason)
        {
            table.add_row(["", reason]);
            printed.push(reason);
        }
    }
    print_line(table)?;
    run.choice.iter().try_for_each(print_line)?;
    run.clock.note().into_iter().try_for_each(print_line)?;
    run.clock_speed.iter().flatten().flat_map(ClockSpeed::notes).try_for_each(print_line)?;
    if run.trials.iter().any(|trial| trial.noisy.0.is_some()) {
        print_line("~ noisy, rounded to its significant digits")?;
    }
    if !run.checked.is_empty() {
        print_line("compared with the reference before each trial was timed:")?;
        run.checked.iter().try_for_each(|check| print_line(format!("  {check}")))?;
    }
    print_line("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladder::measure::Sample;
    use ladder::sizes::Sizes;
    use ladder::tune::initial_configs;
    use ladders::each_ladder;
    use opencl::cl::DeviceInfo;
    use testkit::{golden, shape};

    /// Returns the JSON keys of a search for the ladder's default case, without running the search.
    fn shape_of<L: Ladder>(ladder: &L) -> String {
        let case = &ladder.cases(&Sizes::default()).unwrap()[0];
        let device = DeviceInfo { local_memory_bytes: 1 << 16, ..DeviceInfo::made_up() };
        let trial = |(variant, config)| Trial {
            variant,
            config,
            compile_ms: Some(1.0),
            status: Status::Scored(1.0),
            median_ms: Some(1.0),
            is_kept: true,
            noise: None,
        };
        let trials: Vec<_> = initial_configs(ladder, &device, case).into_iter().map(trial).collect();
        let sample = Sample { device_ms: Some(1.0), dispatch_ms: None, wall_ms: 1.0 };
        let checked = Checked { sizes: vec![ladder.describe(case).title], timed: true, ..Checked::default() };
        let run = Run {
            peak: Measurement::from_samples(&[sample; 9]),
            checked: vec![checked],
            ..Run::in_progress(&Target::case(ladder, case), &trials)
        };
        format!("# {}\n{}", L::INFO.name, shape::shape(&serde_json::to_value(run.entry()).unwrap()))
    }

    #[test]
    fn keys_of_json_of_every_ladder() {
        macro_rules! shapes {
            ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
                [$(shape_of(&$ladder)),*]
            };
        }
        golden::check_by("json/tune-ladders.txt", &each_ladder!(shapes).concat(), shape::same);
    }
}
