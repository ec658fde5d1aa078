//! What `clreel tune` shows. In: the trials of a search, and what its ladder calls what it is for. Out: a table, or JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::Value;

use crate::cli::devices::{DeviceEntry, print_line};
use base::error::Result;
use base::timing::noise::{Noise, Noisy};
use base::timing::{Series, believed, number};
use base::verify::Checked;
use box_filter::tuned::range;
use ladder::config::Tunable;
use ladder::contest::Ladder;
use ladder::judge::Status;
use ladder::measure::Measurement;
use ladder::tune::Trial;

/// What a search is for, in the words of its ladder.
#[derive(Clone)]
pub(super) struct Subject {
    json: SubjectEntry,
    /// As in `1280×720 · radius 7, kept for 4 to 15`.
    title: String,
    /// As in `r=7`.
    pub(super) short: String,
    /// What nothing that moves the same bytes can pass.
    pub(super) limit: &'static str,
    /// Bytes that have to be moved.
    bytes: f64,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum SubjectEntry {
    Pictures { width: u32, height: u32, radius: u32 },
    Case { case: Value, class: &'static str, limit: &'static str },
}

impl Subject {
    pub(super) fn pictures((width, height): (u32, u32), radius: u32) -> Self {
        let (first, last) = range(radius);
        Self {
            json: SubjectEntry::Pictures { width, height, radius },
            title: format!("{width}×{height} · radius {radius}, kept for {first} to {last}"),
            short: format!("r={radius}"),
            limit: "copy",
            bytes: f64::from(width) * f64::from(height) * 8.0,
        }
    }

    pub(super) fn case<L: Ladder>(ladder: &L, case: &L::Case) -> Self {
        let (title, class) = (ladder.title(case), ladder.class(case));
        Self {
            json: SubjectEntry::Case { case: ladder.json(case), class, limit: L::LIMIT },
            short: title.clone(),
            title: format!("{title}, kept for {class} cases"),
            limit: L::LIMIT,
            bytes: ladder.bytes(case),
        }
    }

    fn is_pictures(&self) -> bool {
        matches!(self.json, SubjectEntry::Pictures { .. })
    }
}

#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub(super) schema: u32,
    /// The box filter's where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ladder: Option<&'static str>,
    #[serde(flatten)]
    pub(super) device: DeviceEntry,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interrupted: Option<String>,
    pub(super) runs: Vec<RunEntry<'a>>,
}

#[derive(Serialize)]
pub(super) struct RunEntry<'a> {
    #[serde(flatten)]
    of: &'a SubjectEntry,
    #[serde(flatten)]
    limit: LimitEntry,
    /// What was compared of each trial that has a time.
    checked: &'a [Checked],
    trials: &'a [TrialEntry],
}

#[derive(Serialize)]
#[serde(untagged)]
enum LimitEntry {
    Copy { copy_ms: Option<f64>, copy_noisy: Noisy },
    Other { limit_ms: Option<Series>, limit_noisy: Noisy },
}

#[derive(Serialize)]
pub(super) struct TrialEntry {
    pub(super) variant: &'static str,
    pub(super) configuration: String,
    /// Null where it was not compiled in this process.
    compile_ms: Option<f64>,
    /// The median of a best one's runs in turns with the others, the minimum of any other's.
    pub(super) ms: Option<f64>,
    gb_per_s: Option<f64>,
    #[serde(flatten)]
    share: Share,
    pub(super) status: &'static str,
    reason: Option<String>,
    pub(super) noisy: Noisy,
}

/// How fast it is, in percent of the limit.
#[derive(Serialize)]
#[serde(untagged)]
enum Share {
    Copy { percent_of_copy: Option<f64> },
    Other { percent_of_limit: Option<f64> },
}

impl Share {
    fn percent(&self) -> Option<f64> {
        match self {
            Share::Copy { percent_of_copy: percent } | Share::Other { percent_of_limit: percent } => *percent,
        }
    }
}

/// What came of a search so far.
pub(super) struct Run {
    pub(super) subject: Subject,
    pub(super) limit: Option<Measurement>,
    pub(super) trials: Vec<TrialEntry>,
    checked: Vec<Checked>,
}

impl Run {
    pub(super) fn new<C: Tunable>(
        subject: &Subject,
        limit: Option<Measurement>,
        trials: &[Trial<C>],
        checked: &[Checked],
    ) -> Self {
        let trials = trials.iter().map(|trial| entry(subject, limit.as_ref(), trial)).collect();
        Self { subject: subject.clone(), limit, trials, checked: checked.to_vec() }
    }

    pub(super) fn limit_noise(&self) -> Option<Noise> {
        self.limit.as_ref().and_then(Measurement::noise)
    }

    pub(super) fn entry(&self) -> RunEntry<'_> {
        let (time, noisy) = (self.limit.map(|limit| limit.time), Noisy(self.limit_noise()));
        let limit = match self.subject.is_pictures() {
            true => LimitEntry::Copy { copy_ms: time.map(|time| time.p50), copy_noisy: noisy },
            false => LimitEntry::Other { limit_ms: time, limit_noisy: noisy },
        };
        RunEntry { of: &self.subject.json, limit, checked: &self.checked, trials: &self.trials }
    }
}

fn entry<C: Tunable>(subject: &Subject, limit: Option<&Measurement>, trial: &Trial<C>) -> TrialEntry {
    let ms = trial.median_ms.or(trial.ms());
    let (status, reason) = match &trial.status {
        Status::Scored(_) if trial.median_ms.is_some() => ("best", None),
        Status::Scored(_) => ("ok", None),
        Status::Abandoned(ms) => ("abandoned", Some(format!("One run would take about {} ms.", number(*ms)))),
        Status::Mismatch(report) => ("mismatch", Some(report.to_string())),
        Status::Failed(why) => ("failed", Some(why.clone())),
    };
    let percent = limit.zip(ms).map(|(limit, ms)| 100.0 * limit.time.p50 / ms);
    TrialEntry {
        variant: trial.rung,
        configuration: trial.config.to_string(),
        compile_ms: trial.compile_ms,
        ms,
        gb_per_s: ms.map(|ms| subject.bytes / (ms * 1e6)),
        share: match subject.is_pictures() {
            true => Share::Copy { percent_of_copy: percent },
            false => Share::Other { percent_of_limit: percent },
        },
        status,
        reason,
        noisy: Noisy(trial.noise),
    }
}

pub(super) fn print_run(device: &str, run: &Run) -> Result<()> {
    print_line(format!("{device} · {} · device time in ms", run.subject.title))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let share = format!("% of {}", run.subject.limit);
    table.set_header(["variant", "configuration", "compile ms", "ms", "GB/s", &share, "status"]);
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let show = |value: Option<f64>, noise: &[Option<Noise>]| {
        value.map(|value| believed(value, noise)).unwrap_or_default()
    };
    for trial in &run.trials {
        let noise = [trial.noisy.0];
        table.add_row([
            trial.variant.to_owned(),
            trial.configuration.clone(),
            trial.compile_ms.map_or_else(|| "–".to_owned(), number),
            show(trial.ms, &noise),
            show(trial.gb_per_s, &noise),
            show(trial.share.percent(), &[trial.noisy.0, run.limit_noise()]),
            trial.status.to_owned(),
        ]);
        if let (Some(reason), "mismatch" | "failed") = (&trial.reason, trial.status) {
            table.add_row(["", reason]);
        }
    }
    print_line(table)?;
    if run.trials.iter().any(|trial| trial.noisy.0.is_some()) {
        print_line("~ noisy: only the digits that can be believed")?;
    }
    if !run.checked.is_empty() {
        print_line("compared with the reference, all of it, before a trial has a time:")?;
        run.checked.iter().try_for_each(|one| print_line(format!("  {one}")))?;
    }
    print_line("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladder::measure::Sample;
    use ladder::sizes::Sizes;
    use ladder::tune_case;
    use ladders::each_ladder;
    use opencl::cl::DeviceInfo;
    use testkit::{golden, shape};

    /// The keys of a search for the ladder's usual case, as JSON has them; nothing is searched.
    fn shape_of<L: Ladder>(ladder: &L) -> String {
        let case = &ladder.cases(&Sizes::default()).unwrap()[0];
        let device = DeviceInfo { local_memory_bytes: 1 << 16, ..DeviceInfo::made_up() };
        let trial = |(rung, config)| Trial {
            rung,
            config,
            compile_ms: Some(1.0),
            status: Status::Scored(1.0),
            median_ms: Some(1.0),
            noise: None,
        };
        let trials: Vec<_> = tune_case::rungs(ladder, &device).into_iter().map(trial).collect();
        let sample = Sample { device_ms: Some(1.0), dispatch_ms: None, wall_ms: 1.0 };
        let checked = Checked { sizes: vec![ladder.title(case)], timed: true, ..Checked::default() };
        let run = Run::new(&Subject::case(ladder, case), Measurement::of(&[sample; 9]), &trials, &[checked]);
        format!("# {}\n{}", L::NAME, shape::shape(&serde_json::to_value(run.entry()).unwrap()))
    }

    #[test]
    fn keys_of_json_of_every_ladder() {
        macro_rules! shapes {
            ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
                [$(shape_of(&$ladder)),*]
            };
        }
        golden::holds_by("json/tune-ladders.txt", &each_ladder!(shapes).concat(), shape::same);
    }
}
