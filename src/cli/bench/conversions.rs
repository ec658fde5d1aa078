//! Results of the YUV to RGBA conversions in `bench`, as a table and as JSON.

use serde_json::json;

use super::table::{cells, rate_cells, reason_lines};
use crate::cli::output::{print_line, table};
use base::error::Result;
use base::verify::Checked;
use compute::BackEnd;
use ladder::measure::Measurement;
use ladder::results::{RowReport, RunReport};
use ladder::rows::Throughput;
use ladder::{NOT_TIMED, Outcome};
use ladders::yuv_to_rgba::Row;
use opencl::memory::Storage;

/// Returns the word for the kind of memory that a conversion writes: buffer or image.
fn destination(row: &Row) -> &'static str {
    match row.to {
        Storage::Buffer => "buffer",
        Storage::Image => "image",
    }
}

/// Returns the name of a row's conversion, for the table.
pub(super) fn name(row: &Row) -> String {
    let corrected = if row.corrected { ", corrected" } else { "" };
    format!("{} to {}{corrected}", row.id, destination(row))
}

/// Returns the name and the times of each conversion that has times.
pub(super) fn times(rows: &[Row]) -> impl Iterator<Item = (String, &Measurement)> {
    rows.iter().filter_map(|row| Some((name(row), row.outcome.as_ref().ok()?.as_ref()?)))
}

/// Returns the results of the conversions as a case of the report; `None` if there are none. The times of each run are included
/// if `has_samples` is true.
pub(super) fn report(rows: &[Row], has_samples: bool) -> Option<RunReport> {
    let row = |row: &Row| {
        let outcome = match &row.outcome {
            Ok(Some(measured)) => Outcome::Ok(measured.clone()),
            Ok(None) => Outcome::Skipped(NOT_TIMED.to_owned()),
            Err(outcome) => outcome.clone(),
        };
        let report = RowReport::of_outcome(name(row), &outcome, has_samples);
        let case = if row.case.is_empty() { String::new() } else { format!("{}: ", row.case) };
        let checked = Checked {
            sizes: row.sizes.iter().map(|(width, height)| format!("{width}x{height}")).collect(),
            inputs: vec![format!("{} pictures", row.pictures)],
            ..Checked::default()
        };
        RowReport {
            kind: Some(BackEnd::OpenCl.as_str().to_owned()),
            outcome: row.outcome.as_ref().err().map_or("ok", Outcome::word).to_owned(),
            // The failure or the difference, with the picture concerned, or the reason why the time is wall time.
            reason: match &row.outcome {
                Ok(_) => row.clock_reason.clone(),
                Err(outcome) => outcome.reason().map(|reason| format!("{case}{reason}")),
            },
            implementation: Some(json!({
                "conversion": row.id,
                "kernel": row.kernel,
                "to": destination(row),
                "corrected": row.corrected,
                "pictures": row.pictures,
            })),
            max_error: match &row.outcome {
                Ok(_) => Some(0.0),
                Err(Outcome::Mismatch(report)) => Some(report.max_abs_diff),
                Err(_) => None,
            },
            checked: row.outcome.is_ok().then_some(checked).into_iter().collect(),
            ..report
        }
    };
    (!rows.is_empty()).then(|| RunReport {
        title: "conversions".to_owned(),
        case: json!({ "conversions": "RGBA" }),
        variants: rows.iter().map(row).collect(),
        ..RunReport::default()
    })
}

/// Prints a table of the rows with times, the number of exact conversions, and the reasons of failures.
pub(super) fn print(
    device: &str,
    (width, height): (u32, u32),
    rows: &[Row],
    reasons: &mut Vec<String>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let is_by_wall = |(_, times): (String, &Measurement)| times.device.is_none();
    let clock = if times(rows).any(is_by_wall) { "wall time" } else { "device time" };
    print_line(format!("{device} · {width}×{height} · conversions to RGBA · {clock} in ms"))?;
    let mut table = table(["conversion", "min", "p50", "p95", "n", "fps"], 1..6);
    for (name, m) in times(rows) {
        table.add_row(cells(&name, m, rate_cells(Throughput::Frames, m, None)));
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
    reason_lines(failures, reasons).into_iter().try_for_each(print_line)?;
    print_line("")
}
