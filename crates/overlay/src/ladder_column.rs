//! Columns of the ladder beside the times of the device in use: those of another device, and those of a saved run.

use std::sync::Arc;

use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::metadata::Host;
use base::text::escaped;
use base::timing::Verdict;
use box_filter::{Settings, VariantId, opened_variants};
use ladder::compare::{Compared, NoVerdict, compare};
use ladder::results::{DeviceReport, Report, RowReport, RunReport};
use stats::{Recorder, Score, settings_from_json};

use crate::device_name::short_names;
use crate::facts::variants_of_filter;
use crate::lab::BOX_FILTER;
use crate::scoreboard::Comparison;
use crate::view::View;

/// The greatest number of columns that the ladder's panel shows beside the times of the device in use.
const MAX_COLUMNS: usize = 2;

/// The times of the variants on one device, as the ladder's panel shows them in a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LadderColumn {
    /// The head of the column: a short name of the device, or the saved run's date, or the name of its machine if that is
    /// another one.
    pub title: String,
    /// The origin of the times, for the hover text and for files.
    pub about: String,
    /// The times, with any settings and size.
    pub(crate) scores: Vec<(VariantId, Score)>,
    /// The index of the device of the window whose times these are, by which the columns are sorted; `None` for a saved run.
    pub(crate) index: Option<usize>,
    /// The result that the column shows, with this device only; `None` for a device of the window.
    pub(crate) saved: Option<Arc<Report>>,
    /// The verdicts on the times of the window against those of the column.
    pub verdicts: Verdicts,
}

/// The verdicts on the times of the window against those of a saved run, with one set of settings and one size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdicts {
    /// The settings of the filter, and the width and height of the picture.
    at: (Settings, (u32, u32)),
    rows: Vec<(VariantId, Result<Compared, NoVerdict>)>,
}

impl Verdicts {
    /// Returns the sentence on the time of a variant in the window, as in "now 1.32× slower, 1.27 to 1.36", or the reason why
    /// there is no verdict; `None` if the variant was not measured in the window, or not in the saved run.
    pub fn sentence(&self, id: VariantId, at: (Settings, (u32, u32))) -> Option<String> {
        Some(match self.of(id, at)? {
            Ok(compared) => match (compared.verdict, compared.changed_kernel) {
                (Verdict::NoDifferenceShown { .. }, _) => compared.verdict.words(),
                (verdict, Some(true)) => format!("now {verdict}, with another kernel"),
                (verdict, _) => format!("now {verdict}"),
            },
            Err(why) => why.to_string(),
        })
    }

    /// Returns the verdict in two or three words, as in "1.3× slower"; `None` if there is none.
    pub(crate) fn short(&self, id: VariantId, at: (Settings, (u32, u32))) -> Option<String> {
        Some(match self.of(id, at)?.as_ref().ok()?.verdict {
            verdict if verdict.is_too_noisy() => "too noisy".to_owned(),
            Verdict::NoDifferenceShown { .. } => "no difference".to_owned(),
            verdict => verdict.short(),
        })
    }

    /// Returns the verdict on a variant, if these are verdicts with these settings and this size.
    fn of(&self, id: VariantId, at: (Settings, (u32, u32))) -> Option<&Result<Compared, NoVerdict>> {
        self.rows.iter().find(|(of, _)| *of == id && at == self.at).map(|(_, verdict)| verdict)
    }
}

impl LadderColumn {
    /// Creates a column with scores that were measured since the window was opened, on `device` or, if it is `None`, without
    /// OpenCL.
    pub(crate) fn of_scores<'s>(
        device: Option<&DeviceInfo>,
        score: impl Fn(VariantId) -> Option<&'s Score>,
    ) -> Self {
        let title = device.map_or_else(|| "no OpenCL".to_owned(), |device| short_names(device).0);
        let about = device.map_or_else(|| title.clone(), |device| device.name.clone());
        let scores = VariantId::with_own().chain(opened_variants());
        let scores = scores.filter_map(|id| Some((id, *score(id)?))).collect();
        let index = device.map(|device| device.index);
        Self { title, about, scores, index, ..Self::default() }
    }

    /// Returns a column for each device that was in use before.
    pub(crate) fn of_other_devices(recorder: &Recorder) -> impl Iterator<Item = Self> {
        let others = recorder.shown.other_devices();
        others.map(|(device, scores)| Self::of_scores(Some(device), |id| scores.get(&id)))
    }

    /// Creates a column for each device of a result of `clreel bench` or *Save run*, whose file is called `name`.
    ///
    /// # Errors
    /// If the result is of another ladder than the box filter, or has no times.
    pub fn of_report(name: &str, report: &Report) -> Result<Vec<Self>> {
        let here = Host::here().name;
        let of_device = |device: &DeviceReport| {
            let (date, about) = (report.metadata.date.get(..10), format!("{name}: {}", report.describe()));
            let machine = &report.metadata.host.name;
            let (title, about) = match report.devices.len() {
                1 if !machine.is_empty() && *machine != here => (machine.as_str(), about),
                1 => (date.unwrap_or(name), about),
                _ => (device.text("name"), format!("{about}, {}", device.text("name"))),
            };
            let rows = device.runs.iter().flat_map(|run| run.variants.iter().map(move |row| (run, row)));
            let scores = rows.filter_map(|(run, row)| score(run, row)).collect();
            let saved = Report { devices: vec![last_versions(device)], ..report.clone() };
            let (title, about) = (escaped(title).into_owned(), escaped(&about).into_owned());
            Self { title, about, scores, saved: Some(Arc::new(saved)), ..Self::default() }
        };
        let columns = report.devices.iter().map(of_device).filter(|column| !column.scores.is_empty());
        let columns: Vec<_> = columns.collect();
        if report.ladder == BOX_FILTER && !columns.is_empty() {
            return Ok(columns);
        }
        let why = match report.ladder == BOX_FILTER {
            true => "It has no times of the filter.".to_owned(),
            false => format!("It is a result of the ladder '{}'.", report.ladder),
        };
        let hint = "Choose a result of the box filter, by 'Save run' (Ctrl R) or `clreel bench --save`.";
        Err(Error::new(format!("'{name}' cannot be compared with the ladder in the window."), why, hint))
    }

    /// Compares the times of the window, which are saved like a run in `now`, with those of the column, as `clreel compare` does.
    /// `at` has the settings and the size of the picture. Takes some milliseconds a variant.
    pub fn compare(&self, now: &Report, at: (Settings, (u32, u32))) -> Verdicts {
        let rows = self.saved.iter().flat_map(|saved| compare(saved, now));
        let of_both = rows.filter(|row| row.times.iter().all(Option::is_some));
        let rows = of_both.filter_map(|row| Some((variant(&row.row)?, row.result)));
        Verdicts { at, rows: rows.collect() }
    }

    /// Returns the time of a variant with these settings and this size; `None` if it was not measured there.
    pub(crate) fn score(&self, id: VariantId, (settings, size): (Settings, (u32, u32))) -> Option<&Score> {
        // Of several versions of edited kernels, the last one counts.
        self.scores
            .iter()
            .rfind(|(of, score)| *of == id && score.is_at(settings, size))
            .map(|(_, score)| score)
    }

    /// Returns the baseline of the factors: the first measured kernel of the filter to which a variant belongs, `naive` as a rule.
    fn baseline(&self, id: VariantId, at: (Settings, (u32, u32))) -> Option<(VariantId, &Score)> {
        let kernels = variants_of_filter(id).into_iter().filter(|id| id.is_comparable());
        kernels.filter_map(|id| Some((id, self.score(id, at)?))).next()
    }

    /// Returns how many times as fast as the baseline a variant is, as a number and as text, with the baseline; `None` for variants
    /// that other clocks measure, and while too few frames are measured.
    pub(crate) fn factor(
        &self,
        id: VariantId,
        at: (Settings, (u32, u32)),
    ) -> Option<(f64, String, VariantId)> {
        let (base, this) = (self.baseline(id, at)?, self.score(id, at)?);
        let text =
            id.is_comparable().then(|| Comparison::between((base.0.name, base.1), (id.name, this)).factor)?;
        Some((base.1.ms / this.ms, text.ok()?, base.0))
    }
}

/// Returns the variant with this name; `None` if there is none.
fn variant(name: &str) -> Option<VariantId> {
    VariantId::with_own().chain(opened_variants()).find(|id| id.name == name)
}

/// Returns the results on a device with one row for each variant of a case: of several versions of edited kernels, the last
/// one counts.
fn last_versions(device: &DeviceReport) -> DeviceReport {
    let mut device = device.clone();
    for run in &mut device.runs {
        let rows = std::mem::take(&mut run.variants);
        for row in rows {
            run.variants.retain(|other| other.id != row.id);
            run.variants.push(RowReport { version: None, ..row });
        }
    }
    device
}

/// Returns the time of a row of a saved result; `None` if it has none, or belongs to no picture or to an unknown variant.
fn score(run: &RunReport, row: &RowReport) -> Option<(VariantId, Score)> {
    let id = variant(&row.id)?;
    let number = |key: &str| run.case[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let time = row.time().filter(|time| time.p50 > 0.0 && !row.is_wrong())?;
    let score = Score {
        ms: time.p50,
        interval: (time.p50_low, time.p50_high),
        n: time.n,
        noise: row.noise(),
        settings: settings_from_json(id, &run.case)?,
        size: (number("width")?, number("height")?),
        beside: None,
        work: None,
    };
    Some((id, score))
}

/// Returns the columns that the ladder's panel shows left of the times of the device in use, and those right of them: the saved
/// run, and the devices that were used before. Devices are sorted, so that each keeps its place when another one is used.
pub(crate) fn columns(view: &View) -> (Vec<LadderColumn>, Vec<LadderColumn>) {
    let others = LadderColumn::of_other_devices(view.recorder);
    let columns = view.saved_columns.iter().cloned().chain(others).take(MAX_COLUMNS);
    let now = view.device.map(|device| device.index);
    let (left, mut right): (Vec<_>, Vec<_>) =
        columns.partition(|column| column.index.is_some() && column.index < now);
    right.sort_by_key(|column| column.index.is_none());
    (left, right)
}
