//! Prints the comparisons of saved results as a table, Markdown, CSV or JSON.

use serde::Serialize;

use super::{CompareArgs, ResultComparison};
use crate::cli::output::{print_json, print_line, table};
use base::error::Result;
use base::text::escaped;
use base::timing::Verdict;
use ladder::compare::{Compared, Comparison};

/// The JSON output of `clreel compare`.
#[derive(Serialize)]
struct Report {
    schema: u32,
    comparisons: Vec<ComparisonEntry>,
}

/// The comparison of the first result with another one, in the JSON output.
#[derive(Serialize)]
struct ComparisonEntry {
    before: String,
    after: String,
    rows: Vec<RowEntry>,
}

/// The comparison of a row (a variant or peak kernel at a case), in the JSON and CSV outputs.
#[derive(Serialize)]
struct RowEntry {
    device: String,
    case: String,
    row: String,
    /// "faster", "slower" or "no difference shown"; without a verdict "gone", "other device", "not comparable" or "no verdict"
    verdict: &'static str,
    /// The reason why there is no verdict.
    reason: Option<String>,
    before_ms: Option<f64>,
    after_ms: Option<f64>,
    /// The earlier time divided by the later one.
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    kernel_changed: Option<bool>,
}

impl RowEntry {
    fn new(row: &Comparison) -> Self {
        let compared = row.result.as_ref().ok();
        let [before_ms, after_ms] = row.times.map(|times| times.map(|times| times.series.p50));
        Self {
            device: row.device.clone(),
            case: row.case.clone(),
            row: row.row.clone(),
            verdict: match &row.result {
                Ok(Compared { verdict: Verdict::Faster(_), .. }) => "faster",
                Ok(Compared { verdict: Verdict::Slower(_), .. }) => "slower",
                Ok(Compared { verdict: Verdict::NoDifferenceShown { .. }, .. }) => "no difference shown",
                Err(why) => why.kind.as_str(),
            },
            reason: row.result.as_ref().err().map(|why| why.reason.clone()),
            before_ms,
            after_ms,
            ratio: compared.map(|compared| compared.ratio.estimate),
            ratio_low: compared.map(|compared| compared.ratio.low),
            ratio_high: compared.map(|compared| compared.ratio.high),
            kernel_changed: compared.and_then(|compared| compared.changed_kernel),
        }
    }

    /// Returns the fields as a line of CSV.
    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", escaped(text).replace('"', "\"\""));
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let changed = self.kernel_changed.map(|changed| changed.to_string()).unwrap_or_default();
        let texts = [&self.device, &self.case, &self.row].map(|text| quoted(text));
        let numbers =
            [self.before_ms, self.after_ms, self.ratio, self.ratio_low, self.ratio_high].map(number);
        let reason = self.reason.as_deref().map(quoted).unwrap_or_default();
        [texts.join(","), self.verdict.to_owned(), reason, numbers.join(","), changed].join(",")
    }
}

/// The header line of the CSV.
const CSV_HEADER: &str =
    "device,case,row,verdict,reason,before_ms,after_ms,ratio,ratio_low,ratio_high,kernel_changed";

/// Prints all comparisons in the format that the user chose.
pub(super) fn print(args: &CompareArgs, all: &[ResultComparison]) -> Result<()> {
    let entries = |one: &ResultComparison| one.rows.iter().map(RowEntry::new).collect::<Vec<_>>();
    if args.json {
        let entry = |one: &ResultComparison| {
            let [before, after] = one.titles.clone();
            ComparisonEntry { before, after, rows: entries(one) }
        };
        return print_json(&Report { schema: 1, comparisons: all.iter().map(entry).collect() });
    }
    if args.csv {
        print_line(CSV_HEADER)?;
        return all.iter().flat_map(entries).try_for_each(|row| print_line(row.csv()));
    }
    for one in all {
        let [before, after] = &one.titles;
        let gap = if args.markdown { "  " } else { "" };
        print_line(format!("A: {before}{gap}\nB: {after}\n"))?;
        for rows in one.rows.chunk_by(|a, b| (&a.device, &a.case) == (&b.device, &b.case)) {
            let title = [rows[0].device.as_str(), rows[0].case.as_str()].map(escaped);
            let title = title.iter().filter(|part| !part.is_empty()).map(AsRef::as_ref);
            print_line(title.collect::<Vec<_>>().join(" · "))?;
            if args.markdown {
                print_markdown(rows)?
            } else {
                print_table(rows)?
            }
            print_line("")?;
        }
        print_line(summary(&one.rows))?;
    }
    Ok(())
}

/// The contents of a table cell whose time was not measured, or is not compared.
const NOT_MEASURED: &str = "–";
/// The header of tables. A is the first result, B the other one; times are in milliseconds.
const HEADER: [&str; 4] = ["row", "A ms", "B ms", "B compared with A"];

/// Returns the cells for the comparison of a row, in the order of [`HEADER`].
fn cells(row: &Comparison) -> [String; 4] {
    let [before, after] = row.medians().map(|median| median.unwrap_or_else(|| NOT_MEASURED.to_owned()));
    let result = match &row.result {
        Ok(Compared { verdict, changed_kernel: Some(true), .. }) => format!("{verdict}; other kernel"),
        Ok(Compared { verdict, .. }) => verdict.to_string(),
        Err(why) => escaped(&why.to_string()).into_owned(),
    };
    [escaped(&row.row).into_owned(), before, after, result]
}

fn print_table(rows: &[Comparison]) -> Result<()> {
    let mut table = table(HEADER, 1..3);
    for row in rows {
        table.add_row(cells(row));
    }
    print_line(table)
}

fn print_markdown(rows: &[Comparison]) -> Result<()> {
    let line = |cells: [String; 4]| {
        // Names from a file must neither end a cell nor become markup.
        let special = ['\\', '|', '<', '`', '*', '_', '['];
        let cell = |text: String| -> String {
            text.chars().flat_map(|c| special.contains(&c).then_some('\\').into_iter().chain([c])).collect()
        };
        format!("| {} |", cells.map(cell).join(" | "))
    };
    print_line("")?;
    print_line(line(HEADER.map(str::to_owned)))?;
    print_line("|---|---:|---:|---|")?;
    rows.iter().try_for_each(|row| print_line(line(cells(row))))
}

/// Returns a sentence that says how many rows have each verdict.
fn summary(rows: &[Comparison]) -> String {
    let count = |verdict: &str| rows.iter().filter(|row| RowEntry::new(row).verdict == verdict).count();
    let verdicts =
        ["faster", "slower", "no difference shown", "no verdict", "other device", "not comparable", "gone"];
    let parts = verdicts.map(|verdict| match count(verdict) {
        0 => String::new(),
        count => format!("{count} {verdict}"),
    });
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        "The results have no row in common.".to_owned()
    } else {
        format!("{}.", parts.join(", "))
    }
}
