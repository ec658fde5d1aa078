//! The results of `bench` as tables, one for each device and radius.

use comfy_table::{CellAlignment, Table, presets};

use super::{DeviceRuns, Results, conversions, reason};
use crate::cli::devices::print_line;
use crate::error::Result;
use crate::ladder::measure::Measurement;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::bench::{NativeFault, RadiusRun};
use crate::ladders::box_filter::native::Lanes;
use crate::timing::{Noise, noise};
use crate::verify::Checked;

/// Prints them.
pub(super) fn print(results: &Results) -> Result<()> {
    let (width, height) = results.size;
    for DeviceRuns { device, runs, conversions: rows } in &results.devices {
        for run in runs {
            let name = device.as_ref().map_or("without OpenCL", |device| &device.name);
            print_line(format!(
                "{name} · {width}×{height} · radius {} · device time in ms{}",
                run.radius,
                by_wall(run)
            ))?;
            print_line(table(run))?;
            if run.planes_copy.is_some() {
                print_line(
                    "planar: the same frames as planes of 4:2:0, with its own reference and its own copy",
                )?;
            }
            for (id, outcome) in &run.variants {
                if let Some(reason) = reason(outcome) {
                    print_line(format!("{id}: {}. {reason}", outcome.word()))?;
                }
            }
            for line in noisy(run).into_iter().chain(checked(run)) {
                print_line(line)?;
            }
            print_line("")?;
        }
        conversions::print(device.as_ref().map_or("", |device| &device.name), results.size, rows)?;
    }
    Ok(())
}

fn noisy(run: &RadiusRun) -> Vec<String> {
    let copies = [("(copy)", run.copy.as_ref()), (PLANES_COPY, run.planes_copy.as_ref())];
    let variants = run.variants.iter().map(|(id, outcome)| (id.as_str(), outcome.measured()));
    let native = run.native.iter().map(|one| ("native", one.outcome.as_ref().ok()));
    let rows = copies.into_iter().chain(variants).chain(native);
    noisy_lines(rows.filter_map(|(name, measured)| Some((name, measured?))))
}

/// The sentences on noise, each with the rows that it is true of.
pub(super) fn noisy_lines<'a>(rows: impl Iterator<Item = (&'a str, &'a Measurement)>) -> Vec<String> {
    let mut sentences: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, measured) in rows {
        let Some(noise) = measured.noise() else { continue };
        let sentence = noise.to_string();
        match sentences.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => sentences.push((sentence, vec![name])),
        }
    }
    let line = |(sentence, names): (String, Vec<&str>)| format!("~ noisy: {}: {sentence}", names.join(", "));
    sentences.into_iter().map(line).collect()
}

/// Which rows have the wall's time instead, since no device tells theirs.
fn by_wall(run: &RadiusRun) -> String {
    let variants = run.variants.iter().map(|(id, outcome)| (id.as_str(), outcome.measured()));
    let native = run.native.iter().map(|one| ("native", one.outcome.as_ref().ok()));
    let mut names: Vec<&str> = Vec::new();
    for (name, measured) in variants.chain(native) {
        if measured.is_some_and(|m| m.device.is_none()) && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { String::new() } else { format!(" ({}: wall time)", names.join(", ")) }
}

fn checked(run: &RadiusRun) -> Vec<String> {
    let rows = run.variants.iter().zip(&run.checked);
    let timed = rows.filter(|((_, outcome), _)| outcome.measured().is_some());
    checked_lines(timed.map(|((id, _), checked)| (id.as_str(), checked.as_slice())))
}

/// What was compared, for all rows of which it is the same.
pub(super) fn checked_lines<'a>(rows: impl Iterator<Item = (&'a str, &'a [Checked])>) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, &[Checked])> = Vec::new();
    for (name, checked) in rows {
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

const PLANES_COPY: &str = "(copy of planes)";

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

fn table(run: &RadiusRun) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(["variant", "min", "p50", "p95", "n", "fps", "× copy", "speed-up"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let median = |id: VariantId| run.variants.iter().find(|(v, _)| *v == id).and_then(|(_, o)| o.measured());
    // Compared with naive; where naive has no time, with the slowest that has one.
    let all = || run.variants.iter().filter_map(|(_, outcome)| outcome.measured());
    let slowest = all().max_by(|a, b| f64::total_cmp(&a.time.p50, &b.time.p50));
    let base = median(VariantId::Naive).or(slowest);
    let ratio = |a: Option<&Measurement>, b: Option<&Measurement>| match (a, b) {
        (Some(a), Some(b)) if b.time.p50 > 0.0 => {
            format!("{}×", believed(a.time.p50 / b.time.p50, &[a.noise(), b.noise()]))
        }
        _ => String::new(),
    };
    let row = |name: &str, m: &Measurement, copy: Option<&Measurement>, base: Option<&Measurement>| {
        let (s, noise) = (&m.time, [m.noise()]);
        [
            name.to_owned(),
            believed(s.min, &noise),
            believed(s.p50, &noise),
            believed(s.p95, &noise),
            s.n.to_string(),
            believed(1000.0 / s.p50.max(1e-6), &noise),
            ratio(Some(m), copy),
            ratio(base, Some(m)),
        ]
    };
    let copy = run.copy.as_ref();
    if let Some(copy) = copy {
        table.add_row(row("(copy)", copy, Some(copy), None));
    }
    for (id, outcome) in &run.variants {
        let Some(measured) = outcome.measured() else {
            table.add_row([id.as_str(), outcome.word(), "", "", "", "", "", ""]);
            continue;
        };
        let name = match &run.auto {
            Some(chosen) if *id == VariantId::Auto => &format!("auto: {chosen}"),
            _ => id.as_str(),
        };
        // It reads fewer bytes: its copy is one of those.
        let copy = match (id, run.planes_copy.as_ref()) {
            (VariantId::Planar, Some(copy)) => {
                table.add_row(row(PLANES_COPY, copy, Some(copy), None));
                Some(copy)
            }
            _ => copy,
        };
        table.add_row(row(name, measured, copy, base));
    }
    for one in &run.native {
        let lanes = if one.lanes == Lanes::Vector { "vectors" } else { "plain" };
        let name = format!("native, {} × {lanes}", one.threads);
        match &one.outcome {
            Ok(measured) => table.add_row(row(&name, measured, copy, base)),
            Err(NativeFault::Differs) => table.add_row([name.as_str(), "It differs from the reference."]),
            Err(NativeFault::Failed(why)) => table.add_row([name.as_str(), why]),
        };
    }
    table
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
