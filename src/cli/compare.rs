//! `clreel compare`: compares saved results of `bench` or `conformance` with the first of them. Prints a table, Markdown, CSV or
//! JSON on stdout.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use super::output::{join_counts, print_json, print_line, table, write_svg};
use super::usage;
use crate::options::values;
use base::error::{Error, Result};
use base::exit;
use base::stderr::print_message;
use base::text::escaped;
use base::timing::Verdict;
use box_filter::Filter;
use ladder::compare::{Compared, Comparison, compare};
use ladder::ratio_chart;
use ladder::results::{Report, kind_of};
use ladders::type_conversions::saved::{Change, DeviceResult, Saved, changes};

/// Options of `clreel compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Saved results (`bench --save`, `conformance --save`); each is compared with the first one
    #[arg(value_name = "FILE.json", required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// Compare only results of this filter, a folder or its name; repeated for a stack, whose last filter was measured
    #[arg(long, value_name = "DIR|NAME")]
    pub filter: Vec<PathBuf>,
    /// Compare only this variant; repeatable or separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub variant: Vec<String>,
    /// Compare only results with this value of a parameter of the filter; repeatable
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true, requires = "filter")]
    pub set: Vec<String>,
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

impl CompareArgs {
    /// Removes the results that are not those of the selected filter, settings and variants.
    ///
    /// # Errors
    /// If the filter has no such parameter, or no such value of it.
    fn select(&self, report: &mut Report) -> Result<()> {
        // The command line's last filter has been read.
        let filter = Filter::selected().filter(|_| !self.filter.is_empty());
        let mut wanted = Map::new();
        if let Some(filter) = filter {
            for text in &self.set {
                let (parameters, mut settings) = (&filter.description.parameters, filter.defaults());
                settings.set(parameters, text).map_err(|why| {
                    Error::new(format!("'--set {text}' selects nothing."), format!("{why}."), "")
                })?;
                let name = text.split('=').next().unwrap_or_default().trim();
                wanted.extend(filter.settings_map(settings).into_iter().filter(|(known, _)| known == name));
            }
        }
        let below = self.filter.split_last().map_or(&[][..], |(_, below)| below);
        let stack = report.input.as_ref().and_then(|input| input.stack_filters.clone()).unwrap_or_default();
        let is_stack = below.is_empty()
            || stack
                .split(" + ")
                .map(|one| one.split('/').next())
                .eq(below.iter().map(|folder| folder.file_name().and_then(|name| name.to_str())));
        let is_wanted = |case: &Value| {
            let has = |(name, value): (&String, &Value)| case["settings"][name] == *value;
            is_stack && filter.is_none_or(|filter| case["filter"] == *filter.name) && wanted.iter().all(has)
        };
        let is_variant = |id: &str| {
            let named = |name: &String| id == name || id.rsplit_once('/').is_some_and(|(_, own)| own == name);
            self.variant.is_empty() || self.variant.iter().any(named)
        };
        for device in &mut report.devices {
            device.runs.retain(|run| is_wanted(&run.case));
            device.runs.iter_mut().for_each(|run| run.variants.retain(|row| is_variant(&row.id)));
        }
        Ok(())
    }
}

/// The description of a saved result, and the comparison of the first result with it.
type ResultComparison = (String, Vec<Comparison>);

/// Compares the saved results with the first of them; returns the exit code: 3 if an output was right in the first result and
/// is wrong in another, 4 if a row became slower than the threshold allows, 1 if nothing could be compared or a required row is
/// missing.
///
/// # Errors
/// If a file cannot be read or is no saved result, or the chart cannot be written.
pub(super) fn run(args: &CompareArgs) -> Result<u8> {
    let kinds = args.files.iter().map(|file| kind_of(file)).collect::<Result<Vec<_>>>()?;
    if kinds.iter().any(|kind| kind.as_deref() != Some("conformance")) {
        let read = |file: &PathBuf| {
            let mut report = Report::read(file)?;
            args.select(&mut report)?;
            Ok(report)
        };
        let saved = args.files.iter().map(read).collect::<Result<Vec<_>>>()?;
        let before = saved[0].describe();
        let compared = |other: &Report| (other.describe(), compare(&saved[0], other));
        let all: Vec<ResultComparison> = saved[1..].iter().map(compared).collect();
        // The results are printed even if the chart cannot be written.
        let charted = write_svg(args.chart.as_ref(), || {
            let panels: Vec<_> = all.iter().map(|(after, rows)| (after.as_str(), rows.as_slice())).collect();
            ratio_chart::svg(&before, &panels)
        });
        print(args, &before, &all)?;
        charted?;
        return Ok(exit_code(&all, args));
    }
    if args.markdown || args.csv || args.chart.is_some() || args.require_all {
        usage("compare", "--markdown, --csv, --chart and --require-all apply to results of `clreel bench`");
    }
    let saved = args.files.iter().map(|file| Saved::read(file)).collect::<Result<Vec<_>>>()?;
    let codes = saved[1..].iter().map(|other| print_changes(&saved[0], other, args.json));
    codes.collect::<Result<Vec<_>>>().map(|codes| codes.into_iter().max().unwrap_or(exit::DONE))
}

/// Returns the exit code that follows from all comparisons. Prints which rows are missing, or that no row has a verdict.
fn exit_code(all: &[ResultComparison], args: &CompareArgs) -> u8 {
    let rows = || all.iter().flat_map(|(_, rows)| rows);
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
    } else {
        let has_verdict = verdicts().next().is_some();
        if !has_verdict {
            print_message("No row has a verdict.");
        }
        exit::check_code(false, !has_verdict || !missing.is_empty())
    }
}

/// The JSON output of `clreel compare`.
#[derive(Serialize)]
struct JsonOutput<'a> {
    schema: u32,
    comparisons: Vec<ComparisonEntry<'a>>,
}

/// The comparison of the first result with another one, in the JSON output.
#[derive(Serialize)]
struct ComparisonEntry<'a> {
    before: &'a str,
    after: &'a str,
    rows: Vec<RowEntry<'a>>,
}

/// The comparison of a row (a variant or peak kernel at a case), in the JSON and CSV outputs.
#[derive(Serialize)]
struct RowEntry<'a> {
    device: &'a str,
    case: &'a str,
    row: &'a str,
    /// "faster", "slower" or "no difference shown"; without a verdict "gone", "other device", "not comparable" or "no verdict"
    verdict: &'static str,
    /// The reason why there is no verdict.
    reason: Option<&'a str>,
    before_ms: Option<f64>,
    after_ms: Option<f64>,
    /// The earlier time divided by the later one.
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    kernel_changed: Option<bool>,
    /// The hashes of the two filters of folders, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    filters: Option<&'a [String; 2]>,
}

impl<'a> RowEntry<'a> {
    fn new(row: &'a Comparison) -> Self {
        let Comparison { device, case, row, result, times, filters, .. } = row;
        let compared = result.as_ref().ok();
        let [before_ms, after_ms] = times.map(|times| times.map(|times| times.series.p50));
        Self {
            device,
            case,
            row,
            verdict: match result {
                Ok(Compared { verdict: Verdict::Faster(_), .. }) => "faster",
                Ok(Compared { verdict: Verdict::Slower(_), .. }) => "slower",
                Ok(Compared { verdict: Verdict::NoDifferenceShown { .. }, .. }) => "no difference shown",
                Err(why) => why.kind.as_str(),
            },
            reason: result.as_ref().err().map(|why| why.reason.as_str()),
            before_ms,
            after_ms,
            ratio: compared.map(|compared| compared.ratio.estimate),
            ratio_low: compared.map(|compared| compared.ratio.low),
            ratio_high: compared.map(|compared| compared.ratio.high),
            kernel_changed: compared.and_then(|compared| compared.changed_kernel),
            filters: filters.as_ref(),
        }
    }

    /// Returns the fields as a line of CSV.
    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", escaped(text).replace('"', "\"\""));
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let changed = self.kernel_changed.map(|changed| changed.to_string()).unwrap_or_default();
        let texts = [self.device, self.case, self.row].map(quoted);
        let numbers =
            [self.before_ms, self.after_ms, self.ratio, self.ratio_low, self.ratio_high].map(number);
        let reason = self.reason.map(quoted).unwrap_or_default();
        [texts.join(","), self.verdict.to_owned(), reason, numbers.join(","), changed].join(",")
    }
}

/// Prints all comparisons in the format that the user chose.
fn print(args: &CompareArgs, before: &str, all: &[ResultComparison]) -> Result<()> {
    if args.json {
        let comparisons = all.iter().map(|(after, rows)| ComparisonEntry {
            before,
            after,
            rows: rows.iter().map(RowEntry::new).collect(),
        });
        return print_json(&JsonOutput { schema: 1, comparisons: comparisons.collect() });
    }
    if args.csv {
        print_line(
            "device,case,row,verdict,reason,before_ms,after_ms,ratio,ratio_low,ratio_high,kernel_changed",
        )?;
        let rows = all.iter().flat_map(|(_, rows)| rows);
        return rows.map(RowEntry::new).try_for_each(|row| print_line(row.csv()));
    }
    for (after, all_rows) in all {
        let gap = if args.markdown { "  " } else { "" };
        print_line(format!("A: {before}{gap}\nB: {after}\n"))?;
        for rows in all_rows.chunk_by(|a, b| (&a.device, &a.case) == (&b.device, &b.case)) {
            let title = [rows[0].device.as_str(), rows[0].case.as_str()].map(escaped);
            let title = title.iter().filter(|part| !part.is_empty()).map(AsRef::as_ref);
            print_line(title.collect::<Vec<_>>().join(" · "))?;
            if args.markdown {
                print_markdown(rows)?;
            } else {
                let mut table = table(HEADER, 1..3);
                rows.iter().for_each(|row| _ = table.add_row(cells(row)));
                print_line(table)?;
            }
            print_line("")?;
        }
        print_line(summary(all_rows))?;
        if let Some(row) = all_rows.iter().find(|row| row.filters.is_some()) {
            print_line(filters_text(row))?;
        }
    }
    Ok(())
}

/// Returns a sentence that says that the filters of a row are different ones; empty if they are not.
fn filters_text(row: &Comparison) -> String {
    let Some(hashes) = &row.filters else { return String::new() };
    let name = row.row.split_once('/').map_or(row.row.as_str(), |(name, _)| name);
    // Eight digits tell a few filters apart.
    let [before, after] = hashes.each_ref().map(|hash| hash.get(..8).unwrap_or(hash));
    let text = format!(
        "'{name}' in A ({before}) and in B ({after}) are different filters of one name, or different texts of one."
    );
    escaped(&text).into_owned()
}

/// The header of tables. A is the first result, B the other one; times are in milliseconds.
const HEADER: [&str; 4] = ["row", "A ms", "B ms", "B compared with A"];

/// Returns the cells for the comparison of a row, in the order of [`HEADER`].
fn cells(row: &Comparison) -> [String; 4] {
    let [before, after] = row.medians().map(|median| median.unwrap_or_else(|| "–".to_owned()));
    let result = match &row.result {
        Ok(Compared { verdict, .. }) if row.filters.is_some() => format!("{verdict}; other filter or text"),
        Ok(Compared { verdict, changed_kernel: Some(true), .. }) => format!("{verdict}; other kernel"),
        Ok(Compared { verdict, .. }) => verdict.to_string(),
        Err(why) => escaped(&why.to_string()).into_owned(),
    };
    [escaped(&row.row).into_owned(), before, after, result]
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
    match join_counts(verdicts.map(|verdict| (count(verdict), verdict))).as_str() {
        "" => "The results have no row in common.".to_owned(),
        counts => format!("{counts}."),
    }
}

/// The JSON output on the changes between two saved results.
#[derive(Serialize)]
struct ComparisonReport {
    schema: u32,
    before: Vec<String>,
    after: Vec<String>,
    changes: Vec<Change>,
}

/// Prints the changes from the saved result `before` to the saved result `after`, as text or JSON; returns the exit code: 3 if a
/// conversion is right in `before` and not in `after`.
fn print_changes(before: &Saved, after: &Saved, json: bool) -> Result<u8> {
    let changes = changes(before, after);
    let broke = changes.iter().filter(|change| change.broke).count();
    let code = if broke > 0 { exit::MISMATCH } else { exit::DONE };
    let describe =
        |device: &DeviceResult| format!("{} ({}, driver {})", device.name, device.version, device.driver);
    let names = |saved: &Saved| saved.devices.iter().map(describe).collect::<Vec<_>>();
    if json {
        print_json(&ComparisonReport { schema: 1, before: names(before), after: names(after), changes })?;
        return Ok(code);
    }
    for (word, saved) in [("before", before), ("after", after)] {
        let name = names(saved).join(", ");
        print_line(format!("{word}: {name}; {}, seed {}, {}", saved.depth, saved.seed, saved.program))?;
    }
    let several = after.devices.len() > 1;
    for change in &changes {
        let Change { device, case, before, after, reason, broke } = change;
        let mark = if *broke { "BROKE " } else { "" };
        let on = if several { format!(" on {device}") } else { String::new() };
        print_line(format!("{mark}{case}{on}: was {before}, is {after}"))?;
        if let Some(reason) = reason {
            print_line(format!("  {reason}"))?;
        }
    }
    print_line(match changes.len() {
        0 => "Nothing changed.".to_owned(),
        count => format!("{count} changed, {broke} broke."),
    })?;
    Ok(code)
}
