//! The results of `clreel tune`, printed as a table, and converted to the format that `compare` reads.

use crate::cli::output::{print_line, table};
use base::device::ClockState;
use base::error::Result;
use base::timing::noise::{Noise, Noisy};
use base::timing::{Precision, believed, number};
use base::verify::Checked;
use compute::BackEnd;
use compute::config::Tunable;
use ladder::Outcome;
use ladder::clock_speed::ClockSpeed;
use ladder::measure::Measurement;
use ladder::results::{RowReport, RunReport, TuningReport};
use ladder::rows::{Case, CaseRun};
use ladder::runner::{CaseInfo, Ladder, describe_case};
use ladder::tune::{Search, Status, Trial};

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

/// The results of a search, complete or in progress, as they are printed.
pub(super) struct Run {
    pub(super) target: Target,
    /// The results of the final runs, with the peak kernel and the state of the clock; without times while the search is in
    /// progress.
    pub(super) finals: CaseRun,
    /// The row of each trial, with the time of each final run, and the noise of its times.
    pub(super) trials: Vec<(RowReport, Option<Noise>)>,
    /// A sentence that says which configuration is kept for `auto`, and why; `None` if none is kept.
    choice: Option<String>,
    /// The comparisons with the reference that were passed by each trial with a time.
    checked: Vec<Checked>,
}

impl Run {
    /// Converts the trials of a search in progress to a printable result.
    pub(super) fn in_progress<C: Tunable>(target: &Target, trials: &[Trial<C>]) -> Self {
        Self::of(target, None, trials, CaseRun::new(target.case.clone()))
    }

    /// Converts a search with its final runs to a printable result.
    pub(super) fn new<C: Tunable>(target: &Target, search: &Search<C>, finals: CaseRun) -> Self {
        let (choice, checked) = (search.choice_text(), search.checked.clone());
        Self { choice, checked, ..Self::of(target, search.peak.as_ref(), &search.trials, finals) }
    }

    fn of<C: Tunable>(
        target: &Target,
        peak: Option<&Measurement>,
        trials: &[Trial<C>],
        finals: CaseRun,
    ) -> Self {
        let of_finals = RunReport::of(&finals, None, |_| None, true).variants;
        let row = |trial: &Trial<C>| (row(target, peak, trial, &of_finals), trial.noise);
        let trials = trials.iter().map(row).collect();
        Self { target: target.clone(), finals, trials, choice: None, checked: Vec::new() }
    }

    /// Returns the times of the peak kernel; `None` if it has none.
    pub(super) fn peak(&self) -> Option<&Measurement> {
        self.finals.peaks.first().and_then(Outcome::measured)
    }

    /// Returns the report on the search. If `has_samples` is true, it contains only the configurations with final runs and the
    /// time of each run, since the others have no such times.
    pub(super) fn report(&self, has_samples: bool) -> RunReport {
        let row = |(row, _): &(RowReport, _)| RowReport {
            checked: match &row.trial {
                Some(TuningReport { ms: Some(_), .. }) => self.checked.clone(),
                _ => Vec::new(),
            },
            samples: row.samples.clone().filter(|_| has_samples),
            ..row.clone()
        };
        let rows = self.trials.iter().map(row);
        RunReport {
            class: Some(self.target.class.to_owned()),
            variants: rows.filter(|row| !has_samples || row.samples.is_some()).collect(),
            remark: self.choice.clone(),
            ..RunReport::of(&self.finals, None, |_| None, has_samples)
        }
    }
}

/// Returns the row of a trial. `finals` has the rows of the final runs, whose times it contains.
fn row<C: Tunable>(
    target: &Target,
    peak: Option<&Measurement>,
    trial: &Trial<C>,
    finals: &[RowReport],
) -> RowReport {
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
    let configuration = Some(trial.config.to_string()).filter(|text| !text.is_empty());
    let is_same = |row: &&RowReport| row.id == trial.variant && row.configuration == configuration;
    let finalist = finals.iter().find(is_same).cloned();
    RowReport {
        kind: Some(BackEnd::OpenCl.as_str().to_owned()),
        outcome: outcome.to_owned(),
        reason,
        configuration,
        trial: Some(TuningReport {
            status: status.to_owned(),
            compile_ms: trial.compile_ms,
            ms,
            min_ms: trial.ms(),
            median_ms: trial.median_ms,
            percent_of_peak: peak.zip(ms).map(|(peak, ms)| 100.0 * peak.time.p50 / ms),
        }),
        gb_s: ms.map(|ms| target.bytes / (ms * 1e6)),
        noisy: Noisy::from(trial.noise),
        ..finalist.unwrap_or_else(|| RowReport::unknown(trial.variant))
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
    for (row, noise) in &run.trials {
        let Some(TuningReport { status, compile_ms, min_ms, median_ms, percent_of_peak, .. }) = &row.trial
        else {
            continue;
        };
        let precision = [Precision::from(*noise)];
        let of_peak = run.peak().map(Measurement::precision);
        table.add_row([
            row.id.clone(),
            row.configuration.clone().unwrap_or_default(),
            compile_ms.map_or_else(|| "–".to_owned(), number),
            show(*min_ms, &precision),
            show(*median_ms, &precision),
            show(row.gb_s, &precision),
            show(*percent_of_peak, &[precision[0], of_peak.unwrap_or(precision[0])]),
            match (&row.reason, status.as_str()) {
                (Some(reason), "abandoned") => format!("abandoned: {reason}"),
                (_, status) => status.to_owned(),
            },
        ]);
        // A reason that several configurations share is printed once.
        if let (Some(reason), "mismatch" | "failed") = (&row.reason, status.as_str())
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
    if run.trials.iter().any(|(_, noise)| noise.is_some()) {
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
        let keys = shape::shape(&serde_json::to_value(run.report(false)).unwrap());
        format!("# {}\n{keys}", ladder.info().name)
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
