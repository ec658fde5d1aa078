//! The results of `clreel tune`, printed as a table, and converted to the format that `compare` reads.

use crate::cli::output::{print_line, table};
use base::device::ClockState;
use base::error::Result;
use base::timing::noise::{Noise, Noisy};
use base::timing::{Precision, believed, number};
use base::verify::Checked;
use compute::BackEnd;
use compute::config::Tunable;
use ladder::clock_speed::ClockSpeed;
use ladder::measure::Measurement;
use ladder::results::{RowReport, RunReport, TuningReport};
use ladder::rows::{Case, CaseRun};
use ladder::runner::{CaseInfo, Ladder, describe_case};
use ladder::tune::{Search, Status, Trial};
use ladder::{NOT_TIMED, Outcome};

/// The description of the case for which a search finds the best configurations.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) case: Case,
    /// The title of the case, with the range of radii to which the result applies, such as `1280×720 · radius 7, applies to 4
    /// to 15`.
    title: String,
    class: &'static str,
    /// The number of bytes that any variant must read from and write to memory.
    bytes: f64,
}

impl Target {
    /// Creates the description of a case of a ladder. `applies_to` is a text about the other cases to which the result applies;
    /// `None` if these are only the cases of the same class.
    pub(super) fn new<L: Ladder>(ladder: &L, case: &L::Case, applies_to: Option<String>) -> Self {
        let CaseInfo { title, class, bytes, .. } = ladder.describe(case);
        let applies_to = applies_to.unwrap_or_else(|| format!("{class} cases"));
        let title = format!("{title}, applies to {applies_to}");
        Self { case: describe_case(ladder, case), title, class, bytes }
    }

    /// Returns the name of the peak kernel, which moves the same bytes as the variants and does nothing else.
    pub(super) fn peak(&self) -> &'static str {
        self.case.peaks.first().map_or("peak", |peak| peak.name)
    }
}

/// A row of the table of trials: a configuration, its times, and the reason if it has none.
pub(super) struct TrialRow {
    pub(super) variant: &'static str,
    pub(super) configuration: String,
    outcome: &'static str,
    reason: Option<String>,
    gb_s: Option<f64>,
    pub(super) noise: Option<Noise>,
    pub(super) tuning: TuningReport,
}

/// The results of a search, complete or in progress, as they are printed.
pub(super) struct Run {
    pub(super) target: Target,
    /// The results of the final runs, with the peak kernel and the state of the clock; without times while the search is in
    /// progress.
    finals: CaseRun,
    pub(super) trials: Vec<TrialRow>,
    /// A sentence that says which configuration is kept for `auto`, and why; `None` if none is kept.
    choice: Option<String>,
    /// The comparisons with the reference that were passed by each trial with a time.
    checked: Vec<Checked>,
}

impl Run {
    /// Converts the trials of a search in progress to a printable result.
    pub(super) fn in_progress<C: Tunable>(target: &Target, trials: &[Trial<C>]) -> Self {
        Self {
            target: target.clone(),
            finals: CaseRun::new(target.case.clone()),
            trials: trials.iter().map(|trial| row(target, None, trial)).collect(),
            choice: None,
            checked: Vec::new(),
        }
    }

    /// Converts a search with its final runs to a printable result.
    pub(super) fn new<C: Tunable>(target: &Target, search: &Search<C>, finals: CaseRun) -> Self {
        let trials = search.trials.iter().map(|trial| row(target, search.peak.as_ref(), trial));
        let (choice, checked) = (search.choice_text(), search.checked.clone());
        Self { target: target.clone(), finals, trials: trials.collect(), choice, checked }
    }

    /// Returns the reason, as a sentence, why the speed of the device's clock is unknown; `None` if it is known or the search
    /// is in progress.
    pub(super) fn clock_speed_error(&self) -> Option<&String> {
        self.finals.clock_speed.as_ref().err().filter(|why| *why != NOT_TIMED)
    }

    /// Returns the times of the peak kernel; `None` if it has none.
    pub(super) fn peak(&self) -> Option<&Measurement> {
        self.finals.peaks.first().and_then(Outcome::measured)
    }

    /// Returns the report on the search. If `has_samples` is true, it contains only the configurations with final runs and the
    /// time of each run, since the others have no such times.
    pub(super) fn report(&self, has_samples: bool) -> RunReport {
        let run = RunReport::of(&self.finals, None, |_| None, has_samples);
        let row = |trial: &TrialRow| {
            let configuration = Some(trial.configuration.clone()).filter(|text| !text.is_empty());
            let is_same = |row: &&RowReport| row.id == trial.variant && row.configuration == configuration;
            let finalist = run.variants.iter().find(is_same).cloned();
            RowReport {
                kind: Some(BackEnd::OpenCl.as_str().to_owned()),
                outcome: trial.outcome.to_owned(),
                reason: trial.reason.clone(),
                configuration,
                trial: Some(trial.tuning.clone()),
                gb_s: trial.gb_s,
                noisy: Noisy::from(trial.noise),
                checked: if trial.tuning.ms.is_some() { self.checked.clone() } else { Vec::new() },
                ..finalist.unwrap_or_else(|| RowReport::unknown(trial.variant))
            }
        };
        let rows = self.trials.iter().map(row);
        RunReport {
            class: Some(self.target.class.to_owned()),
            variants: rows.filter(|row| !has_samples || row.samples.is_some()).collect(),
            remark: self.choice.clone(),
            ..run
        }
    }
}

fn row<C: Tunable>(target: &Target, peak: Option<&Measurement>, trial: &Trial<C>) -> TrialRow {
    let ms = trial.median_ms.or(trial.ms());
    let (outcome, status, reason) = match &trial.status {
        Status::Scored(_) if trial.is_kept => ("ok", "kept", None),
        Status::Scored(_) if trial.median_ms.is_some() => ("ok", "finalist", None),
        Status::Scored(_) => ("ok", "ok", None),
        Status::Abandoned(ms) => {
            ("skipped", "abandoned", Some(format!("a run takes about {} ms", number(*ms))))
        }
        Status::Mismatch(report) => ("mismatch", "mismatch", Some(report.to_string())),
        Status::Failed(why) => ("failed", "failed", Some(why.clone())),
    };
    TrialRow {
        variant: trial.variant,
        configuration: trial.config.to_string(),
        outcome,
        reason,
        gb_s: ms.map(|ms| target.bytes / (ms * 1e6)),
        noise: trial.noise,
        tuning: TuningReport {
            status: status.to_owned(),
            compile_ms: trial.compile_ms,
            ms,
            min_ms: trial.ms(),
            median_ms: trial.median_ms,
            percent_of_peak: peak.zip(ms).map(|(peak, ms)| 100.0 * peak.time.p50 / ms),
        },
    }
}

/// Prints the table of a search, and the notes below it.
pub(super) fn print_run(device: &str, run: &Run) -> Result<()> {
    let clock = if matches!(run.finals.clock, ClockState::Rejected(_)) { "wall time" } else { "device time" };
    print_line(format!("{device} · {} · {clock} in ms", run.target.title))?;
    let share = format!("% of {}", run.target.peak());
    let header =
        ["variant", "configuration", "compile ms", "least ms", "median ms", "GB/s", &share, "status"];
    let mut table = table(header, 2..7);
    let show = |value: Option<f64>, precision: &[Precision]| {
        value.map(|value| believed(value, precision)).unwrap_or_default()
    };
    let mut printed: Vec<&String> = Vec::new();
    for trial in &run.trials {
        let TuningReport { status, compile_ms, min_ms, median_ms, percent_of_peak, .. } = &trial.tuning;
        let precision = [Precision::from(trial.noise)];
        let of_peak = run.peak().map(Measurement::precision);
        table.add_row([
            trial.variant.to_owned(),
            trial.configuration.clone(),
            compile_ms.map_or_else(|| "–".to_owned(), number),
            show(*min_ms, &precision),
            show(*median_ms, &precision),
            show(trial.gb_s, &precision),
            show(*percent_of_peak, &[precision[0], of_peak.unwrap_or(precision[0])]),
            match (&trial.reason, status.as_str()) {
                (Some(reason), "abandoned") => format!("abandoned: {reason}"),
                (_, status) => status.to_owned(),
            },
        ]);
        // A reason that several configurations share is printed once.
        if let (Some(reason), "mismatch" | "failed") = (&trial.reason, status.as_str())
            && !printed.contains(&reason)
        {
            table.add_row(["", reason]);
            printed.push(reason);
        }
    }
    print_line(table)?;
    run.choice.iter().try_for_each(print_line)?;
    run.finals.clock.note().into_iter().try_for_each(print_line)?;
    run.finals.clock_speed.iter().flat_map(ClockSpeed::notes).try_for_each(print_line)?;
    if run.trials.iter().any(|trial| trial.noise.is_some()) {
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
    use base::device::DeviceInfo;
    use compute::sample::Sample;
    use ladder::sizes::Sizes;
    use ladder::tune::initial_configs;
    use ladders::each_ladder;
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
        let mut run =
            Run { checked: vec![checked], ..Run::in_progress(&Target::new(ladder, case, None), &trials) };
        run.finals.peaks[0] = Outcome::Ok(Measurement::from_samples(&[sample; 9]).unwrap());
        format!(
            "# {}\n{}",
            ladder.info().name,
            shape::shape(&serde_json::to_value(run.report(false)).unwrap())
        )
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
