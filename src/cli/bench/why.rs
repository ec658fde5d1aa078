//! Explanations of each variant's time in `bench`, as a table: the work of each kernel, rates, shares of the device's peaks,
//! and sentences.

use std::path::PathBuf;

use comfy_table::Table;

use super::results::DeviceResults;
use crate::cli::BenchArgs;
use crate::cli::check_kernels;
use crate::cli::output::{print_line, table};
use base::device::DeviceKind;
use base::error::Result;
use base::numbers::thousands;
use base::stderr::print_message;
use base::timing::{believed, number};
use box_filter::VariantId;
use compute::work::KernelWork;
use ladder::measure::Measurement;
use ladder::rows::Row;
use ladder::why::{DevicePeaks, Evidence, sentences};
use opencl::sandbox::{Limit, PREPARATION};
use opencl::sources::Sources;

/// Returns the sentences that explain a variant's time; `None` if the device's peaks were not measured.
pub(super) fn why(results: &DeviceResults, row: &Row) -> Option<Vec<String>> {
    let (peaks, device) = (results.peaks?, results.device.as_ref()?);
    let mut all = Evidence::of(row).map_or_else(Vec::new, |evidence| sentences(&evidence, &peaks, device));
    all.extend(results.accesses.iter().filter(|(id, _)| *id == row.entry.id).map(|(_, text)| text.clone()));
    Some(all)
}

/// Returns sentences on how modified kernels access memory, each with the id of the variant; none if Oclgrind is not installed.
pub(super) fn accesses(
    ids: impl Iterator<Item = VariantId>,
    kind: DeviceKind,
    sources: &Sources,
    args: &BenchArgs,
) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if check_kernels::checker().is_err() {
        return all;
    }
    let limit = Limit::new(args.timeouts.kernel_timeout, PREPARATION);
    let folder = args.kernels.first().map(PathBuf::as_path);
    for id in
        ids.filter(|id| !id.reads_planes() && id.code(kind).is_some_and(|code| sources.is_changed(code.file)))
    {
        match check_kernels::accesses::sentences(id, kind == DeviceKind::Cpu, folder, limit) {
            Ok(found) => all.extend(found.into_iter().map(|sentence| (id.name, sentence))),
            Err(error) => print_message(format_args!("{id}: {error}")),
        }
    }
    all
}

/// Prints the reads, writes and operations of each variant's kernels on a device, in a table for each case, and the sentences
/// below it. Prints nothing without `--why`.
pub(super) fn print(results: &DeviceResults) -> Result<()> {
    let Some(peaks) = results.peaks else { return Ok(()) };
    let text = |name: &str, peak: Option<f64>, unit: &str| {
        peak.map_or_else(|| format!("{name} unknown"), |peak| format!("{name} {} {unit}", number(peak)))
    };
    let peaks_text = [
        text("copy", peaks.copy_gb_s, "GB/s"),
        text("plain read", peaks.read_gb_s, "GB/s"),
        text("multiply-adds", peaks.gflop_s, "GFLOP/s"),
    ];
    for run in &results.runs {
        let rows: Vec<(&Row, &KernelWork)> =
            run.rows.iter().filter_map(|row| Some((row, row.work.as_ref()?))).collect();
        print_line(format!("{} · {} · why", results.name(), run.case.title))?;
        print_line(peaks_text.join(", "))?;
        if !rows.is_empty() {
            print_line(work_table(&rows, &peaks))?;
        }
        for row in &run.rows {
            for sentence in why(results, row).unwrap_or_default() {
                print_line(format!("{}: {sentence}", row.entry.name))?;
            }
        }
        print_line("")?;
    }
    Ok(())
}

/// Creates the table of the kernels' work. It has a line for each kernel; the rates of a variant are in the line of its first
/// kernel.
fn work_table(rows: &[(&Row, &KernelWork)], peaks: &DevicePeaks) -> Table {
    let unit = rows.first().map_or("", |(_, work)| work.unit);
    let (reads, writes) = (format!("reads/{unit}"), format!("writes/{unit}"));
    let mut header = vec!["variant", "kernel", "ms", &reads, &writes];
    header.extend(["items", "group size", "barriers", "registers", "GB/s", "of copy", "GFLOP/s", "of peak"]);
    let mut table = table(header, 2..usize::MAX);
    for (row, work) in rows {
        let precision: Vec<_> = row.outcome.measured().map(Measurement::precision).into_iter().collect();
        let per_unit = |elements: u64| number(elements as f64 / work.units.max(1) as f64);
        for (index, launch) in work.launches.iter().enumerate() {
            let name = if index == 0 { row.entry.name.as_str() } else { "" };
            let registers = row.registers.iter().find(|kernel| kernel.kernel == launch.kernel);
            let mut cells = vec![
                name.to_owned(),
                launch.kernel.to_owned(),
                row.launch_ms.get(index).map_or_else(String::new, |ms| believed(*ms, &precision)),
                per_unit(launch.reads.elements),
                per_unit(launch.writes.elements),
                thousands(launch.work_items as f64),
                launch.group_size.to_string(),
                launch.barriers.map_or_else(String::new, |barriers| barriers.to_string()),
                registers.map_or_else(String::new, |kernel| kernel.registers.to_string()),
            ];
            cells.extend(if index == 0 { rate_cells(row, peaks) } else { <[String; 4]>::default() });
            table.add_row(cells);
        }
    }
    table
}

/// Returns the cells with a variant's rates and its shares of the device's peaks.
fn rate_cells(row: &Row, peaks: &DevicePeaks) -> [String; 4] {
    let Some(evidence) = Evidence::of(row) else { return Default::default() };
    let Some(rates) = evidence.rates() else { return Default::default() };
    let rate = |value: f64| believed(value, &[evidence.precision]);
    let share =
        |share: Option<f64>| share.map_or_else(String::new, |share| format!("{} %", rate(100.0 * share)));
    let operations = if rates.gflop_s > 0.0 { rate(rates.gflop_s) } else { String::new() };
    [rate(rates.gb_s), share(rates.copy_share(peaks)), operations, share(rates.operation_share(peaks))]
}
