//! The results of `bench` as tables, one for each device and case.

use comfy_table::Table;

use super::conversions;
use super::reasons::Reasons;
use super::results::Results;
use super::whole_frames;
use super::why;
use crate::cli::output::{self, print_line};
use base::device::ClockState;
use base::error::Result;
use base::timing::believed;
use base::verify::Checked;
use ladder::Outcome;
use ladder::clock_speed::ClockSpeed;
use ladder::measure::Measurement;
use ladder::results::Input;
use ladder::rows::{CaseRun, Row, Throughput, folder_letter};

/// Prints all tables, and the reasons and notes below them.
pub(super) fn print(results: &Results) -> Result<()> {
    for (index, folder) in results.folders().iter().enumerate() {
        print_line(format!("{}: {}", folder_letter(index), base::text::name(folder)))?;
    }
    for device in &results.devices {
        let mut reasons = Reasons::default();
        device.runs.iter().try_for_each(|(_, run)| print_run(device.name(), run, &mut reasons))?;
        // Printed once, since it is the same for all cases.
        let unread = device.runs.iter().filter(|(_, run)| run.timed().next().is_some());
        if let Some(why) = unread.filter_map(|(_, run)| run.clock_speed.as_ref().err()).next() {
            print_line(format!("The speed of this device's clock cannot be read. {why}\n"))?;
        }
        why::print(device)?;
        if let Some(Input { width, height, .. }) = &results.input {
            let size = (*width, *height);
            whole_frames::print(device.name(), size, device.whole_frames.as_deref().unwrap_or_default())?;
            conversions::print(device.name(), size, &device.conversions, &mut reasons)?;
        }
    }
    Ok(())
}

/// Prints the table of a case on one device, and the notes below it: reasons, noise, clock, and comparisons with the reference.
fn print_run(device: &str, run: &CaseRun, reasons: &mut Reasons) -> Result<()> {
    print_line(format!("{device} · {} · {}", run.case.title, clock_text(run)))?;
    print_line(table(run))?;
    comparisons(run).into_iter().try_for_each(print_line)?;
    run.clock_note().into_iter().try_for_each(print_line)?;
    clock_notes(run).into_iter().try_for_each(print_line)?;
    run.clock_speed.iter().flat_map(ClockSpeed::notes).try_for_each(print_line)?;
    for note in run.timed_peaks().filter_map(|(peak, _)| peak.note) {
        print_line(note)?;
    }
    run.remark.iter().try_for_each(print_line)?;
    // An unsupported peak needs no explanation.
    let faulty = |outcome: &&Outcome| matches!(outcome, Outcome::Failed(_) | Outcome::Mismatch(_));
    let peaks = run.case.peaks.iter().map(|peak| in_parentheses(peak.name)).zip(&run.peaks);
    let peaks = peaks.filter(|(_, outcome)| faulty(outcome));
    let rows = peaks.chain(run.rows.iter().map(|row| (row.entry.name.clone(), &row.outcome)));
    let lines = reasons.lines(rows.map(|(name, outcome)| (name, outcome, "")));
    lines.into_iter().try_for_each(print_line)?;
    let tuned = |row: &&Row| row.auto_choice.as_ref().is_some_and(|chosen| chosen.from_cache == Some(true));
    for row in run.rows.iter().filter(tuned) {
        print_line(format!("{}: parameters found by `clreel tune`", row.entry.name))?;
    }
    for line in noise_notes(run).into_iter().chain(check_notes(run)) {
        print_line(line)?;
    }
    print_line("")
}

/// Returns a line with the verdict on the second folder's kernels for each variant, if the kernels of two folders were timed.
fn comparisons(run: &CaseRun) -> Vec<String> {
    let line = |row: &Row| match (row.folder, row.outcome.measured(), run.ratio_of_folders(row)) {
        (Some(1), _, Some(ratio)) => Some(format!("{} compared with A: {}", row.entry.name, ratio.verdict())),
        (Some(1), Some(_), None) => Some(format!("{}: too few runs for a verdict", row.entry.name)),
        _ => None,
    };
    run.rows.iter().filter_map(line).collect()
}

/// Returns the name of a peak kernel in the table.
fn in_parentheses(peak: &str) -> String {
    format!("({peak})")
}

/// Returns a line for each reason why times are noisy, with the names of the rows concerned.
fn noise_notes(run: &CaseRun) -> Vec<String> {
    let peaks = run.timed_peaks().map(|(peak, measured)| (in_parentheses(peak.name), measured));
    let rows = run.timed().map(|(row, measured)| (row.entry.name.clone(), measured));
    let mut sentences: Vec<(String, Vec<String>)> = Vec::new();
    for (name, measured) in peaks.chain(rows) {
        let Some(noise) = measured.noise() else { continue };
        let sentence = noise.to_string();
        match sentences.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => sentences.push((sentence, vec![name])),
        }
    }
    let line =
        |(sentence, names): (String, Vec<String>)| format!("~ noisy: {}: {sentence}", names.join(", "));
    sentences.into_iter().map(line).collect()
}

/// Returns a text that says which clock measured the times: device time, wall time, or device time with the names of the rows
/// that have wall time.
fn clock_text(run: &CaseRun) -> String {
    let names = run.by_wall();
    match names.is_empty() {
        true => "device time in ms".to_owned(),
        false if run.timed().all(|(_, measured)| measured.device.is_none()) => "wall time in ms".to_owned(),
        false => format!("device time in ms ({}: wall time)", names.join(", ")),
    }
}

/// Returns lines about kernels whose times are wall times or that lack times of some runs, unless [`clock_text`] has stated the
/// reason.
fn clock_notes(run: &CaseRun) -> Vec<String> {
    if matches!(run.clock, ClockState::Rejected(_)) {
        return Vec::new();
    }
    let line = |(row, _): (&Row, _)| Some(format!("{}: {}", row.entry.name, run.clock_reason(row)?));
    run.timed().filter_map(line).collect()
}

/// Returns lines that list the comparisons with the reference. Rows that passed the same comparisons share a line.
fn check_notes(run: &CaseRun) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, &str, &[Checked])> = Vec::new();
    for (row, _) in run.timed().filter(|(row, _)| !row.checked.is_empty()) {
        let (name, checked) = (row.entry.id, row.checked.as_slice());
        let how = match row.accuracy {
            Some(_) => "checked, every number within its bound",
            None => "checked, every byte",
        };
        match all.iter_mut().find(|(_, known_how, known)| (*known_how, *known) == (how, checked)) {
            Some((names, ..)) => names.push(name),
            None => all.push((vec![name], how, checked)),
        }
    }
    let mut lines = Vec::new();
    for (names, how, checked) in all {
        lines.push(format!("{how}: {}", names.join(", ")));
        lines.extend(checked.iter().map(|check| format!("  {check}")));
    }
    lines
}

/// Creates the table of a case, with a row for each peak kernel and each variant.
fn table(run: &CaseRun) -> Table {
    let rates: &[&str] = match run.case.throughput {
        Throughput::Frames => &["fps"],
        Throughput::Work { operations: 0.0, .. } => &["GB/s"],
        Throughput::Work { .. } => &["GB/s", "GFLOP/s"],
    };
    let of_peak = format!("× {}", run.case.peaks.first().map_or("peak", |peak| peak.name));
    let header = ["variant", "min", "p50", "p95", "n"].iter().chain(rates);
    let header: Vec<&str> = header.copied().chain([of_peak.as_str(), "speed-up"]).collect();
    let empty = vec![""; header.len() - 2];
    let mut table = output::table(header, 1..usize::MAX);
    let base = run.base().map(|(_, measured)| measured);
    let mut shown: Vec<usize> = Vec::new();
    for (index, row) in run.rows.iter().enumerate() {
        let entry = &row.entry;
        let measured = row.outcome.measured();
        // A peak stands above the first row that it applies to; the first peak above all rows.
        let first = (index == 0).then_some(0);
        for at in first.into_iter().chain(entry.peak.filter(|_| measured.is_some())) {
            let peak = run.peaks.get(at).and_then(Outcome::measured);
            if let (Some(peak), Some(name), false) = (peak, run.case.peaks.get(at), shown.contains(&at)) {
                let rates = rate_cells(run.case.throughput, peak, Some(name.computes));
                table.add_row(cells(&in_parentheses(name.name), peak, rates, [peak.ratio(peak), None]));
                shown.push(at);
            }
        }
        let Some(measured) = measured else {
            table.add_row([&[entry.name.as_str(), row.outcome.word()], &empty[..]].concat());
            continue;
        };
        let name = match &row.auto_choice {
            Some(chosen) => format!("{}: {}", entry.name, chosen.config),
            None => entry.name.clone(),
        };
        let ratios = [
            run.peak_of(row).and_then(|peak| measured.ratio(peak)),
            base.and_then(|base| base.ratio(measured)),
        ];
        table.add_row(cells(&name, measured, rate_cells(run.case.throughput, measured, None), ratios));
    }
    table
}

/// Returns the cells of a row in the table: name, times, rates, and the ratios to the peak kernel and to the base variant.
fn cells(name: &str, measured: &Measurement, rates: Vec<String>, ratios: [Option<String>; 2]) -> Vec<String> {
    let (s, precision) = (&measured.time, [measured.precision()]);
    let times = [s.min, s.p50, s.p95].map(|ms| believed(ms, &precision));
    let times = times.into_iter().chain([s.n.to_string()]);
    let ratios = ratios.map(Option::unwrap_or_default);
    [name.to_owned()].into_iter().chain(times).chain(rates).chain(ratios).collect()
}

/// Returns the cells with the rates of a row, in bytes and operations or in frames per second. `peak_computes` is `None` for a
/// variant. For a peak kernel it is true if the kernel does operations, false if it moves bytes; the other rate is then left
/// empty.
fn rate_cells(throughput: Throughput, measured: &Measurement, peak_computes: Option<bool>) -> Vec<String> {
    let rate = |amount: f64| believed(amount / measured.time.p50.max(1e-6), &[measured.precision()]);
    match (throughput, peak_computes) {
        (Throughput::Frames, _) => vec![rate(1000.0)],
        (Throughput::Work { bytes, operations: 0.0 }, _) => vec![rate(bytes / 1e6)],
        (Throughput::Work { bytes, .. }, Some(false)) => vec![rate(bytes / 1e6), String::new()],
        (Throughput::Work { operations, .. }, Some(true)) => vec![String::new(), rate(operations / 1e6)],
        (Throughput::Work { bytes, operations }, None) => vec![rate(bytes / 1e6), rate(operations / 1e6)],
    }
}
