//! The results of `bench` as tables, one for each device and case.

use comfy_table::{CellAlignment, Table, presets};

use super::conversions;
use super::reasons::Reasons;
use super::results::{Results, Subject};
use super::whole;
use crate::cli::devices::print_line;
use base::error::Result;
use base::timing::believed;
use base::verify::Checked;
use ladder::Outcome;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Row, Worth};

/// Prints them.
pub(super) fn print(results: &Results) -> Result<()> {
    for one in &results.devices {
        let mut reasons = Reasons::default();
        one.runs.iter().try_for_each(|(_, run)| print_run(one.name(), run, &mut reasons))?;
        if let Subject::Movie { size, .. } = results.subject {
            whole::print(one.name(), size, one.whole_frames.as_deref().unwrap_or_default())?;
            conversions::print(one.name(), size, &one.conversions, &mut reasons)?;
        }
    }
    Ok(())
}

fn print_run(device: &str, run: &CaseRun, reasons: &mut Reasons) -> Result<()> {
    print_line(format!("{device} · {} · device time in ms{}", run.case.title, by_wall(run)))?;
    print_line(table(run))?;
    for note in run.timed_limits().filter_map(|(limit, _)| limit.note) {
        print_line(note)?;
    }
    run.remark.iter().try_for_each(print_line)?;
    // A limit that there is not is no fault.
    let faulty = |outcome: &&Outcome| matches!(outcome, Outcome::Failed(_) | Outcome::Mismatch(_));
    let limits = run.case.limits.iter().map(|limit| in_brackets(limit.name)).zip(&run.limits);
    let limits = limits.filter(|(_, outcome)| faulty(outcome));
    let rows = limits.chain(run.rows.iter().map(|row| (row.entry.name.clone(), &row.outcome)));
    let lines = reasons.lines(rows.map(|(name, outcome)| (name, outcome, "")));
    lines.into_iter().try_for_each(print_line)?;
    let tuned = |row: &&Row| row.chosen.as_ref().is_some_and(|chosen| chosen.tuned == Some(true));
    for row in run.rows.iter().filter(tuned) {
        print_line(format!("{}: as `clreel tune` has found it", row.entry.name))?;
    }
    for line in noisy(run).into_iter().chain(checked(run)) {
        print_line(line)?;
    }
    print_line("")
}

fn in_brackets(limit: &str) -> String {
    format!("({limit})")
}

/// The sentences on noise, each with the rows that it is true of.
fn noisy(run: &CaseRun) -> Vec<String> {
    let limits = run.timed_limits().map(|(limit, measured)| (in_brackets(limit.name), measured));
    let rows = run.timed().map(|(row, measured)| (row.entry.name.clone(), measured));
    let mut sentences: Vec<(String, Vec<String>)> = Vec::new();
    for (name, measured) in limits.chain(rows) {
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

/// Which rows have the wall's time instead, since no device tells theirs.
fn by_wall(run: &CaseRun) -> String {
    let names = run.by_wall();
    if names.is_empty() { String::new() } else { format!(" ({}: wall time)", names.join(", ")) }
}

/// What was compared, for all rows of which it is the same.
fn checked(run: &CaseRun) -> Vec<String> {
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
        lines.extend(checked.iter().map(|one| format!("  {one}")));
    }
    lines
}

fn table(run: &CaseRun) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let rates: &[&str] = match run.case.worth {
        Worth::Frames => &["fps"],
        Worth::Amounts { operations: 0.0, .. } => &["GB/s"],
        Worth::Amounts { .. } => &["GB/s", "GFLOP/s"],
    };
    let of_limit = format!("× {}", run.case.limits.first().map_or("limit", |limit| limit.name));
    let header = ["variant", "min", "p50", "p95", "n"].iter().chain(rates);
    let header: Vec<&str> = header.copied().chain([of_limit.as_str(), "speed-up"]).collect();
    let empty = vec![""; header.len() - 2];
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let base = run.base().map(|(_, measured)| measured);
    let mut shown: Vec<usize> = Vec::new();
    for (index, row) in run.rows.iter().enumerate() {
        let entry = &row.entry;
        let measured = row.outcome.measured();
        // A limit stands above the first row that it is the limit of; the first one above all.
        let first = (index == 0).then_some(0);
        for at in first.into_iter().chain(entry.limit.filter(|_| measured.is_some())) {
            let limit = run.limits.get(at).and_then(Outcome::measured);
            if let (Some(limit), Some(name), false) = (limit, run.case.limits.get(at), shown.contains(&at)) {
                table.add_row(cells(run, &in_brackets(name.name), limit, Some(limit), None, name.computes));
                shown.push(at);
            }
        }
        let Some(measured) = measured else {
            table.add_row([&[entry.name.as_str(), row.outcome.word()], &empty[..]].concat());
            continue;
        };
        let name = match &row.chosen {
            Some(chosen) => format!("{}: {}", entry.name, chosen.what),
            None => entry.name.clone(),
        };
        table.add_row(cells(run, &name, measured, run.limit_of(row), base, true));
    }
    table
}

/// A row of the table: its times, and what they are worth.
fn cells(
    run: &CaseRun,
    name: &str,
    m: &Measurement,
    limit: Option<&Measurement>,
    base: Option<&Measurement>,
    computes: bool,
) -> Vec<String> {
    let (s, noise) = (&m.time, [m.noise()]);
    let ratio = |a: Option<&Measurement>, b: Option<&Measurement>| match (a, b) {
        (Some(a), Some(b)) => a.ratio(b),
        _ => None,
    };
    let a_second = |amount: f64| believed(amount / s.p50.max(1e-6), &noise);
    let rates = match run.case.worth {
        Worth::Frames => vec![a_second(1000.0)],
        Worth::Amounts { bytes, operations: 0.0 } => vec![a_second(bytes / 1e6)],
        // A limit moves the bytes and computes nothing, or the other way round.
        Worth::Amounts { bytes, .. } if !computes => vec![a_second(bytes / 1e6), String::new()],
        Worth::Amounts { operations, .. } if base.is_none() => {
            vec![String::new(), a_second(operations / 1e6)]
        }
        Worth::Amounts { bytes, operations } => vec![a_second(bytes / 1e6), a_second(operations / 1e6)],
    };
    let times = [s.min, s.p50, s.p95].map(|ms| believed(ms, &noise));
    let mut cells = vec![name.to_owned()];
    cells.extend(times);
    cells.push(s.n.to_string());
    cells.extend(rates);
    cells.extend([ratio(Some(m), limit), ratio(base, Some(m))].map(Option::unwrap_or_default));
    cells
}
