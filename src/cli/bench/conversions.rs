//! The conversions in `bench`. In: the movie and the device. Out: rows of the table, and entries of the JSON.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::reasons::Reasons;
use crate::cli::devices::print_line;
use base::error::Result;
use base::timing::noise::Noisy;
use base::timing::{Series, believed};
use box_filter::yuv_to_rgba::{Input, Row};
use ladder::Outcome;
use ladder::measure::Measurement;
use opencl::memory::Storage;
use video::{References, read_frame_at};

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
    checked: Checked<'a>,
}

#[derive(Serialize)]
struct Checked<'a> {
    sizes: &'a [(u32, u32)],
    pictures: usize,
}

/// What the movie's pictures are like, scaled to `size`; `None` where no kernel converts them.
///
/// # Errors
/// When the movie gives no frame.
pub(super) fn input(file: &Path, size: (u32, u32), references: References) -> Result<Option<Input>> {
    let (frame, _) = read_frame_at(file, 0.0, references)?;
    Ok(Input::of(&frame.picture, size))
}

fn word(row: &Row) -> &'static str {
    row.outcome.as_ref().err().map_or("ok", Outcome::word)
}

fn measured(row: &Row) -> Option<&Measurement> {
    row.outcome.as_ref().ok().and_then(Option::as_ref)
}

/// Why a conversion is not ok, and with which picture.
fn why(row: &Row) -> Option<String> {
    let outcome = row.outcome.as_ref().err()?;
    let case = if row.case.is_empty() { String::new() } else { format!("{}: ", row.case) };
    outcome.reason().map(|reason| format!("{case}{reason}"))
}

fn to(row: &Row) -> &'static str {
    match row.to {
        Storage::Buffer => "buffer",
        Storage::Image => "image",
    }
}

/// What a row is called.
pub(super) fn name(row: &Row) -> String {
    let corrected = if row.corrected { ", corrected" } else { "" };
    format!("{} to {}{corrected}", row.id, to(row))
}

/// The times of rows that have them, by their names.
pub(super) fn times(rows: &[Row]) -> impl Iterator<Item = (String, &Measurement)> {
    rows.iter().filter_map(|row| Some((name(row), measured(row)?)))
}

pub(super) fn entry(row: &Row) -> Entry<'_> {
    let times = measured(row);
    Entry {
        id: &row.id,
        kernel: row.kernel,
        to: to(row),
        corrected: row.corrected,
        outcome: word(row),
        reason: why(row),
        max_abs_diff: match &row.outcome {
            Ok(_) => Some(0),
            Err(Outcome::Mismatch(report)) => Some(report.max_abs_diff.ceil() as u8),
            Err(_) => None,
        },
        device_ms: times.and_then(|m| m.device),
        dispatch_ms: times.and_then(|m| m.dispatch),
        wall_ms: times.and_then(|m| m.wall),
        noisy: Noisy(times.and_then(Measurement::noise)),
        checked: Checked { sizes: &row.sizes, pictures: row.pictures },
    }
}

/// Prints the rows that have times, how many were checked, and what is wrong.
pub(super) fn print(
    device: &str,
    (width, height): (u32, u32),
    rows: &[Row],
    reasons: &mut Reasons,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    print_line(format!("{device} · {width}×{height} · conversions to RGBA · device time in ms"))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(["conversion", "min", "p50", "p95", "n", "fps"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (name, m) in times(rows) {
        let (s, noise) = (&m.time, [m.noise()]);
        table.add_row([
            name,
            believed(s.min, &noise),
            believed(s.p50, &noise),
            believed(s.p95, &noise),
            s.n.to_string(),
            believed(1000.0 / s.p50.max(1e-6), &noise),
        ]);
    }
    if times(rows).next().is_some() {
        print_line(table)?;
    }
    let right = rows.iter().filter(|row| row.outcome.is_ok()).count();
    let pictures: usize = rows.iter().map(|row| row.pictures).sum();
    print_line(format!("{right} of {} conversions are exact, by {pictures} pictures", rows.len()))?;
    let called = |row: &Row| match row.kernel {
        "" => name(row),
        kernel => format!("{} ({kernel})", name(row)),
    };
    let wrong =
        rows.iter().filter_map(|row| Some((called(row), row.outcome.as_ref().err()?, row.case.as_str())));
    reasons.lines(wrong).into_iter().try_for_each(print_line)?;
    print_line("")
}

/// Whether one of them differs, and whether one could not be run.
pub(super) fn wrong(rows: &[Row]) -> (bool, bool) {
    let any = |is: fn(&Outcome) -> bool| rows.iter().filter_map(|row| row.outcome.as_ref().err()).any(is);
    (any(|o| matches!(o, Outcome::Mismatch(_))), any(|o| matches!(o, Outcome::Failed(_))))
}
