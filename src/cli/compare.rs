//! `clreel compare`: compares saved results of `bench` or `conformance` with the first of them. Prints a table, Markdown, CSV or
//! JSON on stdout.

mod print;

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::conformance::changes;
use super::usage;
use crate::options::values;
use base::error::Result;
use base::stderr::print_message;
use base::{exit, save};
use ladder::compare::{Comparison, compare};
use ladder::ratio_chart;
use ladder::results::{Report, kind_of};
use ladders::type_conversions::saved::Saved as SavedConformance;

/// The kind of the saved results of `clreel conformance`.
const CONFORMANCE: &str = "conformance";

/// Options of `clreel compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Saved results (`bench --save`, `conformance --save`); each is compared with the first one
    #[arg(value_name = "FILE.json", required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// Accepted slowdown in percent: the exit code is 4 if a row is slower by more, with 99 % confidence
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = values::percent)]
    pub threshold: f64,
    /// Fail with exit code 1 if another result has no times of a row of the first one
    #[arg(long)]
    pub require_all: bool,
    /// Print a table in Markdown
    #[arg(long, group = "format")]
    pub markdown: bool,
    /// Print comma-separated values
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print JSON
    #[arg(long, group = "format")]
    pub json: bool,
    /// Also write an SVG with the interval of each ratio
    #[arg(long, value_name = "FILE.svg", value_parser = values::svg_file)]
    pub chart: Option<PathBuf>,
}

/// The comparison of the first saved result with one of the others.
struct ResultComparison {
    /// The descriptions of the first result and of the other one.
    titles: [String; 2],
    rows: Vec<Comparison>,
}

/// Compares the saved results with the first of them; returns the exit code: 3 if an output was right in the first result and
/// is wrong in another, 4 if a row became slower than the threshold allows, 1 if nothing could be compared or a required row is
/// missing.
///
/// # Errors
/// If a file cannot be read or is no saved result, or the chart cannot be written.
pub(super) fn run(args: &CompareArgs) -> Result<u8> {
    let kinds = args.files.iter().map(|file| kind_of(file)).collect::<Result<Vec<_>>>()?;
    if kinds.iter().any(|kind| kind.as_deref() != Some(CONFORMANCE)) {
        let saved = args.files.iter().map(|file| Report::read(file)).collect::<Result<Vec<_>>>()?;
        return compare_benchmarks(args, &saved);
    }
    if args.markdown || args.csv || args.chart.is_some() || args.require_all {
        let why = "--markdown, --csv, --chart and --require-all apply to results of `clreel bench`";
        return Ok(usage("compare", why));
    }
    let saved = args.files.iter().map(|file| SavedConformance::read(file)).collect::<Result<Vec<_>>>()?;
    let Some((first, others)) = saved.split_first() else { return Ok(exit::USAGE) };
    let codes = others.iter().map(|other| changes::print(first, other, args.json));
    codes.collect::<Result<Vec<_>>>().map(|codes| codes.into_iter().max().unwrap_or(exit::DONE))
}

/// Compares the saved results of benchmarks with the first of them; returns the exit code.
fn compare_benchmarks(args: &CompareArgs, saved: &[Report]) -> Result<u8> {
    let Some((first, others)) = saved.split_first() else { return Ok(exit::USAGE) };
    let compared = |other: &Report| ResultComparison {
        titles: [first.describe(), other.describe()],
        rows: compare(first, other),
    };
    let all: Vec<ResultComparison> = others.iter().map(compared).collect();
    // The results are printed even if the chart cannot be written.
    let charted = args.chart.as_ref().map_or(Ok(()), |path| {
        let panels: Vec<_> = all.iter().map(|one| (one.titles[1].as_str(), one.rows.as_slice())).collect();
        let svg = ratio_chart::svg(&first.describe(), &panels);
        save::atomically(path, |file| file.write_all(svg.as_bytes()))
    });
    print::print(args, &all)?;
    charted?;
    Ok(exit_code(&all, args))
}

/// Returns the exit code that follows from all comparisons. Prints which rows are missing, or that no row has a verdict.
fn exit_code(all: &[ResultComparison], args: &CompareArgs) -> u8 {
    let rows = || all.iter().flat_map(|one| &one.rows);
    let verdicts = || rows().filter_map(|row| row.result.as_ref().ok());
    let missing = rows().filter(|row| args.require_all && row.is_missing());
    let missing: Vec<String> = missing.map(|row| format!("{} ({})", row.row, row.case)).collect();
    if !missing.is_empty() {
        print_message(format!("No times of these rows of the first result: {}.", missing.join(", ")));
    }
    if rows().any(|row| row.broke) {
        exit::MISMATCH
    } else if verdicts().any(|compared| compared.verdict.is_slower_by(args.threshold)) {
        exit::SLOWER
    } else if verdicts().next().is_none() {
        print_message("No row has a verdict.");
        exit::FAILED
    } else if missing.is_empty() {
        exit::DONE
    } else {
        exit::FAILED
    }
}
