//! The results of `bench` as JSON: `schema` 1. Ladders that filter a movie say so in `input`, others by their name; their
//! cases, errors and rates are called as they are with them.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::conversions::{Entry, entry};
use super::results::{DeviceRuns, Results, Subject};
use super::whole;
use crate::cli::devices::{DeviceEntry, print_json};
use base::error::Result;
use base::timing::Series;
use base::timing::noise::Noisy;
use base::verify::Checked;
use engine::sharing::Sharing;
use ladder::Outcome;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Row, Worth};

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ladder: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<InputEntry<'a>>,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'a str>,
    devices: Vec<DeviceReport<'a>>,
}

#[derive(Serialize)]
struct InputEntry<'a> {
    file: &'a str,
    width: u32,
    height: u32,
    frames: usize,
}

#[derive(Serialize)]
struct DeviceReport<'a> {
    #[serde(flatten)]
    device: Option<DeviceEntry>,
    runs: Vec<RunEntry<'a>>,
    /// Only with a movie.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversions: Option<Vec<Entry<'a>>>,
    /// Only where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_frames: Option<Vec<whole::Entry>>,
}

/// A case: what it is, its limits, its rows.
struct RunEntry<'a>(&'a CaseRun);

#[derive(Serialize)]
struct BesideEntry<'a> {
    #[serde(flatten)]
    what: &'a serde_json::Value,
    outcome: &'static str,
    wall_ms: Option<Series>,
    noisy: Noisy,
}

#[derive(Serialize)]
struct RowEntry<'a> {
    id: &'static str,
    kind: &'static str,
    outcome: &'static str,
    reason: Option<String>,
    /// What was chosen, where there was a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    /// Whether `clreel tune` had found it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuned: Option<bool>,
    #[serde(flatten)]
    error: ErrorEntry,
    device_ms: Option<Series>,
    dispatch_ms: Option<Series>,
    wall_ms: Option<Series>,
    #[serde(flatten)]
    rates: Option<Rates>,
    noisy: Noisy,
    /// What was compared; nothing where it is not ok.
    checked: &'a [Checked],
}

/// The largest error, 0 where all bytes are right.
#[derive(Serialize)]
#[serde(untagged)]
enum ErrorEntry {
    Frames {
        max_abs_diff: Option<u8>,
    },
    Amounts {
        max_error: Option<f64>,
        /// The largest error that is right; `null` where results are compared by bytes.
        bound: Option<f64>,
    },
}

#[derive(Serialize)]
struct Rates {
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
}

/// Prints them. `interrupted` says what is missing.
pub(super) fn print(results: &Results, interrupted: Option<&str>) -> Result<()> {
    print_json(&of(results, interrupted))
}

/// What is printed.
pub(super) fn of<'a>(results: &'a Results, interrupted: Option<&'a str>) -> impl Serialize + use<'a> {
    let (ladder, input) = match &results.subject {
        Subject::Numbers(ladder) => (Some(*ladder), None),
        Subject::Movie { file, size: (width, height), frames } => {
            (None, Some(InputEntry { file, width: *width, height: *height, frames: *frames }))
        }
    };
    let devices = results.devices.iter().map(|one| device(one, input.is_some())).collect();
    Report { schema: 1, ladder, input, interrupted, devices }
}

fn device(one: &DeviceRuns, of_movie: bool) -> DeviceReport<'_> {
    let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
    DeviceReport {
        device: one.device.as_ref().map(|info| DeviceEntry::new(info, &sharing)),
        runs: one.runs.iter().map(|(_, run)| RunEntry(run)).collect(),
        conversions: of_movie.then(|| one.conversions.iter().map(entry).collect()),
        whole_frames: one.whole_frames.as_ref().map(|rows| rows.iter().map(whole::entry).collect()),
    }
}

fn noisy(measured: Option<&Measurement>) -> Noisy {
    Noisy(measured.and_then(Measurement::noise))
}

impl Serialize for RunEntry<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let CaseRun { case, limits, rows, remark } = self.0;
        let mut map = to.serialize_map(None)?;
        match (case.worth, case.json.as_object()) {
            (Worth::Frames, Some(fields)) => {
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
            }
            _ => {
                map.serialize_entry("case", &case.json)?;
                map.serialize_entry("limit", case.limits.first().map_or("", |limit| limit.name))?;
            }
        }
        for (index, (limit, outcome)) in case.limits.iter().zip(limits).enumerate() {
            let measured = outcome.measured();
            let failed = matches!(outcome, Outcome::Failed(_) | Outcome::Mismatch(_));
            if index == 0 || measured.is_some() || failed {
                map.serialize_entry(&format!("{}_ms", limit.key), &measured.map(|m| m.time))?;
                map.serialize_entry(&format!("{}_noisy", limit.key), &noisy(measured))?;
            }
            if failed {
                map.serialize_entry(&format!("{}_reason", limit.key), &outcome.reason())?;
            }
        }
        let (beside, rungs): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.entry.beside.is_some());
        let rungs: Vec<_> = rungs.into_iter().map(|one| row(self.0, one)).collect();
        map.serialize_entry("variants", &rungs)?;
        let beside: Vec<_> = beside.into_iter().filter_map(self::beside).collect();
        if !beside.is_empty() {
            map.serialize_entry("native", &beside)?;
        }
        if let Some(remark) = remark {
            map.serialize_entry("remark", remark)?;
        }
        map.end()
    }
}

fn row<'a>(run: &CaseRun, row: &'a Row) -> RowEntry<'a> {
    let times = row.outcome.measured();
    let a_second = |amount: f64| times.map(|m| amount / (m.time.p50 * 1e6)).filter(|rate| rate.is_finite());
    let max_error = match &row.outcome {
        Outcome::Ok(_) => Some(row.accuracy.map_or(0.0, |accuracy| accuracy.max_error)),
        Outcome::Mismatch(report) => Some(report.max_abs_diff),
        _ => None,
    };
    let (error, rates) = match run.case.worth {
        Worth::Frames => (ErrorEntry::Frames { max_abs_diff: max_error.map(|most| most.ceil() as u8) }, None),
        Worth::Amounts { bytes, operations } => (
            ErrorEntry::Amounts { max_error, bound: row.accuracy.map(|accuracy| accuracy.bound) },
            Some(Rates { gb_s: a_second(bytes), gflop_s: a_second(operations).filter(|rate| *rate > 0.0) }),
        ),
    };
    RowEntry {
        id: row.entry.id,
        kind: row.entry.back_end.as_str(),
        outcome: row.outcome.word(),
        reason: row.outcome.reason(),
        chosen: row.chosen.as_ref().map(|chosen| chosen.what.as_str()),
        tuned: row.chosen.as_ref().and_then(|chosen| chosen.tuned),
        error,
        device_ms: times.and_then(|m| m.device),
        dispatch_ms: times.and_then(|m| m.dispatch),
        wall_ms: times.and_then(|m| m.wall),
        rates,
        noisy: noisy(times),
        checked: times.map_or(&[], |_| row.checked.as_slice()),
    }
}

fn beside(row: &Row) -> Option<BesideEntry<'_>> {
    let times = row.outcome.measured();
    Some(BesideEntry {
        what: row.entry.beside.as_ref()?,
        outcome: row.outcome.word(),
        wall_ms: times.and_then(|m| m.wall),
        noisy: noisy(times),
    })
}
