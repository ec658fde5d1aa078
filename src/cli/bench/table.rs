//! The tables of `bench`, one for each device and case.

use comfy_table::Table;

use crate::cli::deduplicate;
use crate::cli::output::{self, grouped, print_line};
use base::device::ClockState;
use base::error::Result;
use base::timing::believed;
use ladder::Outcome;
use ladder::clock_speed::ClockSpeed;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Row, Throughput};

/// Prints the table of a case on one device, and the notes below it: reasons, noise, clock, and comparisons with the reference.
pub(super) fn print_run(device: &str, run: &CaseRun, reasons: &mut Vec<String>) -> Result<()> {
    let by_wall = run.by_wall();
    let clock = match by_wall.is_empty() {
        true => "device time in ms".to_owned(),
        false if run.timed().all(|(_, measured)| measured.device.is_none()) => "wall time in ms".to_owned(),
        false => format!("device time in ms ({}: wall time)", by_wall.join(", ")),
    };
    print_line(format!("{device} · {} · {clock}", run.case.title))?;
    print_line(table(run))?;
    // The verdicts on the second folder's kernels, if the kernels of two folders were timed.
    for row in run.rows.iter().filter(|row| row.folder == Some(1)) {
        let name = &row.entry.name;
        match run.ratio_of_folders(row) {
            Some(ratio) => print_line(format!("{name} compared with A: {}", ratio.verdict()))?,
            None if row.outcome.measured().is_some() => {
                print_line(format!("{name}: too few runs for a verdict"))?;
            }
            None => {}
        }
    }
    run.clock_note().into_iter().try_for_each(print_line)?;
    // If the clock was rejected, the note above has explained why wall times are shown.
    for (row, _) in run.timed().filter(|_| !matches!(run.clock, ClockState::Rejected(_))) {
        if let Some(why) = run.clock_reason(row) {
            print_line(format!("{}: {why}", row.entry.name))?;
        }
    }
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
    let lines = reason_lines(rows.map(|(name, outcome)| (name, outcome, "")), reasons);
    lines.into_iter().try_for_each(print_line)?;
    let tuned = |row: &&Row| row.auto_choice.as_ref().is_some_and(|chosen| chosen.from_cache == Some(true));
    for row in run.rows.iter().filter(tuned) {
        print_line(format!("{}: parameters found by `clreel tune`", row.entry.name))?;
    }
    let peaks = run.timed_peaks().map(|(peak, measured)| (in_parentheses(peak.name), measured));
    let rows = run.timed().map(|(row, measured)| (row.entry.name.clone(), measured));
    let noisy = peaks.chain(rows).filter_map(|(name, measured)| Some((measured.noise()?.to_string(), name)));
    for (sentence, names) in grouped(noisy) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        print_line(format!("~ noisy: {}: {sentence}", deduplicate(&names).join(", ")))?;
    }
    // Rows that passed the same comparisons with the reference share a line.
    let key = |row: &Row| match row.accuracy {
        Some(_) => "checked, every number within its bound",
        None => "checked, every byte",
    };
    let rows = run.timed().map(|(row, _)| row).filter(|row| !row.checked.is_empty());
    for ((how, checked), names) in grouped(rows.map(|row| ((key(row), &row.checked), row.entry.id))) {
        print_line(format!("{how}: {}", names.join(", ")))?;
        checked.iter().try_for_each(|check| print_line(format!("  {check}")))?;
    }
    print_line("")
}

/// Returns the name of a peak kernel in the table.
fn in_parentheses(peak: &str) -> String {
    format!("({peak})")
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
                let mut cells = cells(&in_parentheses(name.name), peak, rates);
                cells.extend([peak.ratio(peak).unwrap_or_default(), String::new()]);
                table.add_row(cells);
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
        let mut cells = cells(&name, measured, rate_cells(run.case.throughput, measured, None));
        cells.extend(ratios.map(Option::unwrap_or_default));
        table.add_row(cells);
    }
    table
}

/// Returns the first cells of a row in the table: name, times and rates.
pub(super) fn cells(name: &str, measured: &Measurement, rates: Vec<String>) -> Vec<String> {
    let (s, precision) = (&measured.time, [measured.precision()]);
    let times = [s.min, s.p50, s.p95].map(|ms| believed(ms, &precision));
    let times = times.into_iter().chain([s.n.to_string()]);
    [name.to_owned()].into_iter().chain(times).chain(rates).collect()
}

/// Returns the cells with the rates of a row, in bytes and operations or in frames per second. `peak_computes` is `None` for a
/// variant. For a peak kernel it is true if the kernel does operations, false if it moves bytes; the other rate is then left
/// empty.
pub(super) fn rate_cells(
    throughput: Throughput,
    measured: &Measurement,
    peak_computes: Option<bool>,
) -> Vec<String> {
    let rate = |amount: f64| believed(amount / measured.time.p50.max(1e-6), &[measured.precision()]);
    match (throughput, peak_computes) {
        (Throughput::Frames, _) => vec![rate(1000.0)],
        (Throughput::Work { bytes, operations: 0.0 }, _) => vec![rate(bytes / 1e6)],
        (Throughput::Work { bytes, .. }, Some(false)) => vec![rate(bytes / 1e6), String::new()],
        (Throughput::Work { operations, .. }, Some(true)) => vec![String::new(), rate(operations / 1e6)],
        (Throughput::Work { bytes, operations }, None) => vec![rate(bytes / 1e6), rate(operations / 1e6)],
    }
}

/// The maximum number of names that are printed in full. A longer list is shortened to its first [`SHORTENED_NAMES`] names and the
/// number of the others.
const MAX_NAMES: usize = 12;
/// The number of names that a shortened list begins with.
const SHORTENED_NAMES: usize = 2;

/// Returns lines that say why rows have no times: one line for each reason, with the names of all rows to which it applies and
/// the case in which the first of them failed. Reasons count as equal if they differ only in the quoted name of the row.
///
/// `rows` contains the name of each row, its outcome, and the case in which it failed (empty if there is only one case).
/// `printed` contains the reasons that earlier calls have returned for the same device; instead of such a reason, a line has
/// "as above".
pub(super) fn reason_lines<'a>(
    rows: impl Iterator<Item = (String, &'a Outcome, &'a str)>,
    printed: &mut Vec<String>,
) -> Vec<String> {
    let keyed = rows.filter_map(|(name, outcome, case)| {
        let reason = outcome.reason()?;
        let key = reason.replace(&format!("'{name}'"), "'…'");
        Some(((outcome.word(), key), (name, reason, case)))
    });
    let mut lines = Vec::new();
    for ((word, key), rows) in grouped(keyed) {
        let names: Vec<&str> = rows.iter().map(|(name, ..)| name.as_str()).collect();
        let (_, reason, case) = &rows[0];
        let reason = if rows.len() > 1 { &key } else { reason };
        let names = match names.len() {
            ..=MAX_NAMES => names.join(", "),
            all => format!("{} and {} more", names[..SHORTENED_NAMES].join(", "), all - SHORTENED_NAMES),
        };
        if printed.contains(&key) {
            lines.push(format!("{names}: {word}, as above."));
            continue;
        }
        let case = if case.is_empty() { String::new() } else { format!("{case}: ") };
        lines.push(format!("{names}: {word}. {case}{reason}"));
        printed.push(key);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;

    #[test]
    fn each_reason_is_printed_once() {
        let failed = |why: &str| Outcome::Failed(Error::new("It cannot be used.", why, ""));
        let (same, other, no) =
            (failed("Memory."), failed("Time."), Outcome::Unsupported("No images.".into()));
        let row = |name: &str, outcome| (name.to_owned(), outcome, "");
        let mut printed = Vec::new();
        let rows = [row("naive", &same), row("flat", &no), row("fused", &same), row("auto", &other)];
        let want = [
            "naive, fused: failed. It cannot be used.\n  Memory.",
            "flat: unsupported. No images.",
            "auto: failed. It cannot be used.\n  Time.",
        ];
        assert_eq!(reason_lines(rows.into_iter(), &mut printed), want);
        let again = reason_lines([row("naive", &same)].into_iter(), &mut printed);
        assert_eq!(again, ["naive: failed, as above."]);
        let crashed = ["a", "b"]
            .map(|name| Outcome::Failed(Error::new(format!("The kernels of '{name}' crashed."), "", "")));
        let rows = ["a", "b"].into_iter().zip(&crashed).map(|(name, outcome)| row(name, outcome));
        assert_eq!(reason_lines(rows, &mut Vec::new()), ["a, b: failed. The kernels of '…' crashed."]);
        let many = (0..110).map(|n| (format!("c{n}"), &no, "1×1"));
        assert_eq!(
            reason_lines(many, &mut Vec::new()),
            ["c0, c1 and 108 more: unsupported. 1×1: No images."]
        );
    }
}
