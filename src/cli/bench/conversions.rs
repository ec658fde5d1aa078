//! Results of the YUV to RGBA conversions in `bench`, as a table and as JSON.

use std::path::Path;

use serde::Serialize;

use super::reasons::Reasons;
use crate::cli::output::{print_line, table};
use base::error::Result;
use base::timing::noise::Noisy;
use base::timing::{Series, believed};
use box_filter::yuv_to_rgba::{Input, Row};
use ladder::Outcome;
use ladder::measure::Measurement;
use ladder::saved::Samples;
use opencl::memory::Storage;
use video::{References, read_frame_at};

/// A conversion in the JSON report.
#[derive(Serialize)]
pub(super) struct Entry<'a> {
    id: &'a str,
    kernel: &'static str,
    to: &'static str,
    corrected: bool,
    outcome: &'static str,
    reason: Option<String>,
    max_abs_diff: Option<u8>,
    device_ms: Option<Series>,
    dispatch_ms: Option<Series>,
    wall_ms: Option<Series>,
    noisy: Noisy,
    /// The times of each run, if the results are saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
    checked: CheckedEntry<'a>,
}

/// The pictures with which a conversion was compared, in the JSON report.
#[derive(Serialize)]
struct CheckedEntry<'a> {
    sizes: &'a [(u32, u32)],
    pictures: usize,
}

/// Reads the first frame of a movie, scaled to `size`, as input for the conversions; `None` if no kernel converts its format.
///
/// # Errors
/// If the movie has no decodable frame.
pub(super) fn input(file: &Path, size: (u32, u32), references: References) -> Result<Option<Input>> {
    let (frame, _) = read_frame_at(file, 0.0, references)?;
    Ok(Input::of(&frame.picture, size))
}

/// Returns the word for a row's outcome, such as `ok`.
fn outcome_word(row: &Row) -> &'static str {
    row.outcome.as_ref().err().map_or("ok", Outcome::word)
}

/// Returns the times of a row, if it was timed.
fn measurement(row: &Row) -> Option<&Measurement> {
    row.outcome.as_ref().ok().and_then(Option::as_ref)
}

/// Returns the reason for a row's outcome: why the conversion failed or its output differs, and for which picture; for an exact
/// conversion, why its time is wall time.
fn reason(row: &Row) -> Option<String> {
    let Err(outcome) = &row.outcome else { return row.clock_reason.clone() };
    let case = if row.case.is_empty() { String::new() } else { format!("{}: ", row.case) };
    outcome.reason().map(|reason| format!("{case}{reason}"))
}

/// Returns the word for the storage that a conversion writes.
fn destination(row: &Row) -> &'static str {
    match row.to {
        Storage::Buffer => "buffer",
        Storage::Image => "image",
    }
}

/// Returns the name of a conversion in the table.
pub(super) fn name(row: &Row) -> String {
    let corrected = if row.corrected { ", corrected" } else { "" };
    format!("{} to {}{corrected}", row.id, destination(row))
}

/// Returns the name and the times of each timed row.
pub(super) fn times(rows: &[Row]) -> impl Iterator<Item = (String, &Measurement)> {
    rows.iter().filter_map(|row| Some((name(row), measurement(row)?)))
}

/// Converts a row to its entry in the JSON report, with the samples if `has_samples`.
pub(super) fn entry(row: &Row, has_samples: bool) -> Entry<'_> {
    let times = measurement(row);
    Entry {
        id: &row.id,
        kernel: row.kernel,
        to: destination(row),
        corrected: row.corrected,
        outcome: outcome_word(row),
        reason: reason(row),
        max_abs_diff: match &row.outcome {
            Ok(_) => Some(0),
            Err(Outcome::Mismatch(report)) => Some(report.max_abs_diff.ceil() as u8),
            Err(_) => None,
        },
        device_ms: times.and_then(|m| m.device),
        dispatch_ms: times.and_then(|m| m.dispatch),
        wall_ms: times.and_then(|m| m.wall),
        noisy: Noisy(times.and_then(Measurement::noise)),
        samples: times.filter(|_| has_samples).map(Samples::of),
        checked: CheckedEntry { sizes: &row.sizes, pictures: row.pictures },
    }
}

/// Prints a table of the rows with times, the number of exact conversions, and the reasons of failures.
pub(super) fn print(
    device: &str,
    (width, height): (u32, u32),
    rows: &[Row],
    reasons: &mut Reasons,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let is_by_wall = |(_, times): (String, &Measurement)| times.device.is_none();
    let clock = if times(rows).any(is_by_wall) { "wall time" } else { "device time" };
    print_line(format!("{device} · {width}×{height} · conversions to RGBA · {clock} in ms"))?;
    let mut table = table(["conversion", "min", "p50", "p95", "n", "fps"], 1..6);
    for (name, m) in times(rows) {
        let (s, precision) = (&m.time, [m.precision()]);
        table.add_row([
            name,
            believed(s.min, &precision),
            believed(s.p50, &precision),
            believed(s.p95, &precision),
            s.n.to_string(),
            believed(1000.0 / s.p50.max(1e-6), &precision),
        ]);
    }
    if times(rows).next().is_some() {
        print_line(table)?;
    }
    if let Some(reason) = rows.iter().find_map(|row| row.clock_reason.as_ref()) {
        print_line(reason)?;
    }
    let exact = rows.iter().filter(|row| row.outcome.is_ok()).count();
    let pictures: usize = rows.iter().map(|row| row.pictures).sum();
    print_line(format!("{exact} of {} conversions are exact; {pictures} pictures compared", rows.len()))?;
    let name_with_kernel = |row: &Row| match row.kernel {
        "" => name(row),
        kernel => format!("{} ({kernel})", name(row)),
    };
    let failures = rows
        .iter()
        .filter_map(|row| Some((name_with_kernel(row), row.outcome.as_ref().err()?, row.case.as_str())));
    reasons.lines(failures).into_iter().try_for_each(print_line)?;
    print_line("")
}
