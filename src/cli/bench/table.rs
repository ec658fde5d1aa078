//! The results of `bench` as tables, one for each device and case.

use comfy_table::{CellAlignment, Table, presets};

use super::results::{Results, Subject};
use super::{conversions, reason};
use crate::cli::devices::print_line;
use crate::error::Result;
use crate::ladder::Outcome;
use crate::ladder::measure::Measurement;
use crate::ladder::rows::{CaseRun, Row, Worth};
use crate::timing::{Noise, noise};
use crate::verify::Checked;

/// Prints them.
pub(super) fn print(results: &Results) -> Result<()> {
    for one in &results.devices {
        one.runs.iter().try_for_each(|(_, run)| print_run(one.name(), run))?;
        if let Subject::Movie { size, .. } = results.subject {
            conversions::print(one.name(), size, &one.conversions)?;
        }
    }
    Ok(())
}

fn print_run(device: &str, run: &CaseRun) -> Result<()> {
    print_line(format!("{device} · {} · device time in ms{}", run.case.title, by_wall(run)))?;
    print_line(table(run))?;
    for note in run.timed_limits().filter_map(|(limit, _)| limit.note) {
        print_line(note)?;
    }
    // A limit that there is not is no fault.
    let faulty = |outcome: &&Outcome| matches!(outcome, Outcome::Failed(_));
    let limits = run.case.limits.iter().map(|limit| in_brackets(limit.name)).zip(&run.limits);
    let limits = limits.filter(|(_, outcome)| faulty(outcome));
    for (name, outcome) in limits.chain(run.rows.iter().map(|row| (row.entry.name.clone(), &row.outcome))) {
        if let Some(reason) = reason(outcome) {
            print_line(format!("{name}: {}. {reason}", outcome.word()))?;
        }
    }
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
    let rows = run.timed().map(|(row, measured)| (row.entry.id.to_owned(), measured));
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
    let mut names: Vec<&str> = Vec::new();
    for (row, measured) in run.timed() {
        if measured.device.is_none() && !names.contains(&row.entry.id) {
            names.push(row.entry.id);
        }
    }
    if names.is_empty() { String::new() } else { format!(" ({}: wall time)", names.join(", ")) }
}

/// What was compared, for all rows of which it is the same.
fn checked(run: &CaseRun) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, &[Checked])> = Vec::new();
    for (row, _) in run.timed().filter(|(row, _)| !row.checked.is_empty()) {
        let (name, checked) = (row.entry.id, row.checked.as_slice());
        match all.iter_mut().find(|(_, known)| *known == checked) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], checked)),
        }
    }
    let mut lines = Vec::new();
    for (names, checked) in all {
        lines.push(format!("checked, every byte: {}", names.join(", ")));
        lines.extend(checked.iter().map(|one| format!("  {one}")));
    }
    lines
}

/// So many significant digits, so that 0.035 and 701 read equally well.
fn rounded(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let (value, decimals) = noise::significant(value, digits);
    format!("{value:.decimals$}")
}

/// Three significant digits.
pub(crate) fn number(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { rounded(value, 3) }
}

/// A number that rests on rows of such noise: all its digits, or a mark and those that can be believed.
pub(crate) fn believed(value: f64, noise: &[Option<Noise>]) -> String {
    match noise.iter().all(Option::is_none) {
        true => number(value),
        false => format!("~{}", rounded(value, noise::digits(noise))),
    }
}

fn table(run: &CaseRun) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let rates: &[&str] = match run.case.worth {
        Worth::Frames => &["fps"],
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
    let slowest = run.timed().map(|(_, m)| m).max_by(|a, b| f64::total_cmp(&a.time.p50, &b.time.p50));
    let base = run.timed().find(|(row, _)| row.entry.id == run.case.base).map(|(_, m)| m).or(slowest);
    let mut shown: Vec<usize> = Vec::new();
    for (index, row) in run.rows.iter().enumerate() {
        let entry = &row.entry;
        let measured = row.outcome.measured();
        // A limit stands above the first row that it is the limit of; the first one above all.
        let first = (index == 0).then_some(0);
        for at in first.into_iter().chain(entry.limit.filter(|_| measured.is_some())) {
            let limit = run.limits.get(at).and_then(Outcome::measured);
            if let (Some(limit), Some(name), false) = (limit, run.case.limits.get(at), shown.contains(&at)) {
                table.add_row(cells(run, &in_brackets(name.name), limit, Some(limit), None));
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
        table.add_row(cells(run, &name, measured, run.limit_of(row), base));
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
) -> Vec<String> {
    let (s, noise) = (&m.time, [m.noise()]);
    let ratio = |a: Option<&Measurement>, b: Option<&Measurement>| match (a, b) {
        (Some(a), Some(b)) if b.time.p50 > 0.0 => {
            format!("{}×", believed(a.time.p50 / b.time.p50, &[a.noise(), b.noise()]))
        }
        _ => String::new(),
    };
    let a_second = |amount: f64| believed(amount / s.p50.max(1e-6), &noise);
    let rates = match run.case.worth {
        Worth::Frames => vec![a_second(1000.0)],
        // A limit moves the bytes, and computes nothing.
        Worth::Amounts { bytes, .. } if base.is_none() => vec![a_second(bytes / 1e6), String::new()],
        Worth::Amounts { bytes, operations } => vec![a_second(bytes / 1e6), a_second(operations / 1e6)],
    };
    let times = [s.min, s.p50, s.p95].map(|ms| believed(ms, &noise));
    let mut cells = vec![name.to_owned()];
    cells.extend(times);
    cells.push(s.n.to_string());
    cells.extend(rates);
    cells.extend([ratio(Some(m), limit), ratio(base, Some(m))]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Series;

    #[test]
    fn numbers_keep_three_digits() {
        let values = [701.4, 3.2, 0.0351, 12.34, 9.996, 1234.5, 0.0];
        assert_eq!(values.map(number), ["701", "3.20", "0.0351", "12.3", "10.0", "1234", "0"]);
    }

    #[test]
    fn noisy_numbers_keep_the_digits_that_can_be_believed() {
        let of = |samples: &[f64]| Noise::of(&Series::of(samples).unwrap(), None);
        let (few, far) = (of(&[1.0; 3]), of(&[1.0, 1.0, 1.0, 1.0, 1.0, 3.0]));
        assert_eq!(believed(267.4, &[None, None]), "267");
        assert_eq!(believed(267.4, &[None, few]), "~270");
        assert_eq!(believed(267.4, &[far, few]), "~300");
        assert_eq!(believed(0.0351, &[far]), "~0.04");
        assert_eq!([believed(0.96, &[far]), believed(9.96, &[few])], ["~1", "~10"]);
        assert_eq!(believed(15_271.0, &[few]), "~15000");
    }
}
