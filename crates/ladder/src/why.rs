//! Explains the time of a variant: computes its rates and their shares of the device's measured peaks, and words sentences that
//! follow from these numbers. The explanations are independent of the variants' names.

use serde::{Deserialize, Serialize};

use super::rows::Row;
use base::device::{DeviceInfo, DeviceKind, KernelRegisters};
use base::numbers::{counted, thousands};
use base::timing::{Precision, believed, number};
use compute::work::{KernelWork, LaunchWork, WorkTotals};

/// The measured peak rates of a device; `None` for a peak that could not be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DevicePeaks {
    /// The rate at which a copy within the device's memory reads and writes bytes, in GB/s.
    pub copy_gb_s: Option<f64>,
    /// The rate at which a kernel reads bytes if it does nothing else, in GB/s.
    pub read_gb_s: Option<f64>,
    /// The rate at which a kernel multiplies and adds floats that are in registers, in GFLOP/s.
    pub gflop_s: Option<f64>,
}

impl DevicePeaks {
    /// Returns the higher one of each of two measurements' peaks. Whatever disturbs a measurement makes it lower.
    pub fn highest(self, other: Self) -> Self {
        let max = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Self {
            copy_gb_s: max(self.copy_gb_s, other.copy_gb_s),
            read_gb_s: max(self.read_gb_s, other.read_gb_s),
            gflop_s: max(self.gflop_s, other.gflop_s),
        }
    }
}

/// The rates at which a variant moves bytes and does operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// The bytes that any implementation must move at the case, divided by the time of a run, in GB/s.
    pub gb_s: f64,
    /// The operations of the variant's kernels, divided by the time of a run, in billions per second.
    pub gflop_s: f64,
}

impl Rates {
    /// Returns the rates of kernels that do this work in `ms` milliseconds; `None` if the time is too short for that.
    pub fn new(work: WorkTotals, ms: f64) -> Option<Self> {
        let ns = ms * 1e6;
        let rates = Self { gb_s: work.least_bytes as f64 / ns, gflop_s: work.operations as f64 / ns };
        (ns > 0.0 && rates.gb_s.is_finite()).then_some(rates)
    }

    /// Returns the variant's rate of bytes as a share of the device's peak for copying; 1 means that it reaches the peak,
    /// `None` that the peak is not known.
    pub fn copy_share(&self, peaks: &DevicePeaks) -> Option<f64> {
        peaks.copy_gb_s.map(|peak| self.gb_s / peak)
    }

    /// Returns the variant's rate of bytes as a share of the device's peak for reading; 1 means that it reaches the peak,
    /// `None` that the peak is not known.
    pub fn read_share(&self, peaks: &DevicePeaks) -> Option<f64> {
        peaks.read_gb_s.map(|peak| self.gb_s / peak)
    }

    /// Returns the variant's rate of operations as a share of the device's peak for multiplying and adding; 1 means that it
    /// reaches the peak. `None` if the variant does no operations or the peak is not known.
    pub fn operation_share(&self, peaks: &DevicePeaks) -> Option<f64> {
        peaks.gflop_s.filter(|_| self.gflop_s > 0.0).map(|peak| self.gflop_s / peak)
    }
}

/// The average number of reads of each input element above which a kernel is said to read its input many times.
const MANY_READS: f64 = 8.0;
/// The share of a peak above which a variant counts as near the peak, since little is left to gain.
const NEAR_PEAK: f64 = 0.7;
/// The share of a peak above which the percentage that is shown exceeds 100, so that the peak does not bound the variant.
const ABOVE_PEAK: f64 = 1.005;
/// The share of a peak below which a variant counts as far from the peak, so that the peak does not explain its time.
const FAR_FROM_PEAK: f64 = 0.5;
/// The share of the total time of all kernels above which one of them is named as the slowest.
const MOST_OF_TIME: f64 = 0.6;
/// The minimum number of work-items that a compute unit of a GPU runs at the same time.
const ITEMS_PER_UNIT: u64 = 64;

/// The measured numbers of a variant from which its time is explained, on the command line and in the window.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The median time of the variant's runs, in milliseconds.
    pub ms: f64,
    /// The number of significant digits of the time.
    pub precision: Precision,
    /// The reads, writes and operations of the variant's kernels; `None` if they are not known.
    pub work: Option<&'a KernelWork>,
    /// The median time of each launch in milliseconds, in the order of `work`; empty if it is not known.
    pub launch_ms: &'a [f64],
    /// The registers and spilled bytes of each kernel; empty if the driver does not report them.
    pub registers: &'a [KernelRegisters],
}

impl<'a> Evidence<'a> {
    /// Returns the measured numbers of a row; `None` if the row has no times.
    pub fn of(row: &'a Row) -> Option<Self> {
        let measured = row.outcome.measured()?;
        Some(Self {
            ms: measured.time.p50,
            precision: measured.precision(),
            work: row.work.as_ref(),
            launch_ms: &row.launch_ms,
            registers: &row.registers,
        })
    }

    /// Returns the rates of the variant; `None` if they are not known.
    pub fn rates(&self) -> Option<Rates> {
        Rates::new(self.work?.totals(), self.ms)
    }
}

/// Returns sentences that explain a variant's time on a device from the measured numbers `evidence`; none if nothing can be
/// said.
pub fn sentences(evidence: &Evidence, peaks: &DevicePeaks, device: &DeviceInfo) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(work) = evidence.work {
        let (rates, precision) = (evidence.rates(), evidence.precision);
        sentences.extend(rates.and_then(|rates| read_sentence(work, precision, &rates, peaks)));
        sentences.extend(rates.and_then(|rates| peak_sentence(precision, &rates, peaks)));
        sentences.extend(slowest_kernel(evidence.launch_ms, work));
        sentences.extend(work.launches.iter().filter_map(|launch| idle_sentence(launch, device)));
    }
    sentences.extend(evidence.registers.iter().filter(|kernel| kernel.spilled_bytes > 0).map(|kernel| {
        format!(
            "{}: {} bytes of each work-item do not fit into its {} registers (spills).",
            kernel.kernel,
            thousands(kernel.spilled_bytes as f64),
            kernel.registers
        )
    }));
    sentences
}

/// Formats a share as a percentage, with the digits that the precision of its measurement allows.
pub fn percent(share: f64, precision: Precision) -> String {
    let percent = 100.0 * share;
    match percent >= 1.0 && !precision.is_noisy() {
        true => format!("{percent:.0} %"),
        false if precision.is_noisy() => format!("{} %", believed(percent, &[precision])),
        false => format!("{} %", number(percent)),
    }
}

/// Returns a sentence if the kernels read the input many times and are far from the device's peak for copying, else `None`.
fn read_sentence(
    work: &KernelWork,
    precision: Precision,
    rates: &Rates,
    peaks: &DevicePeaks,
) -> Option<String> {
    let reads = work.reads_per_unit();
    let share = rates.copy_share(peaks).filter(|share| reads > MANY_READS && *share < FAR_FROM_PEAK)?;
    let share = percent(share, precision);
    Some(format!("Each {} is read {reads:.0} times; {share} of the copy's bandwidth.", work.unit))
}

/// Returns a sentence if the variant is near a peak of the device, or above it, else `None`.
fn peak_sentence(precision: Precision, rates: &Rates, peaks: &DevicePeaks) -> Option<String> {
    let shares = [
        (rates.copy_share(peaks), "the copy's bandwidth", "the data is in a cache"),
        (
            rates.operation_share(peaks),
            "the multiply-adds' rate",
            "it adds shorter numbers than the peak's floats",
        ),
    ];
    let shares = shares.into_iter().filter_map(|(share, what, reason)| Some((share?, what, reason)));
    let (share, what, reason) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let shown = percent(share, precision);
    // With few digits, a share somewhat above the peak is shown as 100 %, too.
    let is_at_peak = shown.trim_start_matches('~') == "100 %";
    let text = format!("{shown} of {what}");
    match share {
        ..NEAR_PEAK => None,
        _ if share <= ABOVE_PEAK || is_at_peak => Some(format!("{text}: little is left.")),
        _ => Some(format!("{text}: {reason}, or the peak was measured on a busy machine.")),
    }
}

/// Returns a sentence if one of several kernels takes most of the time, else `None`.
fn slowest_kernel(launch_ms: &[f64], work: &KernelWork) -> Option<String> {
    let times = launch_ms.iter().zip(&work.launches);
    let is_complete = launch_ms.len() == work.launches.len() && work.launches.len() > 1;
    let total: f64 = launch_ms.iter().sum();
    let (ms, launch) = times.filter(|_| is_complete).max_by(|a, b| a.0.total_cmp(b.0))?;
    let share = ms / total;
    (share > MOST_OF_TIME).then(|| format!("{} takes {:.0} % of the time.", launch.kernel, 100.0 * share))
}

/// Returns a sentence if a launch has too few work-items for the device, else `None`.
fn idle_sentence(launch: &LaunchWork, device: &DeviceInfo) -> Option<String> {
    let units = u64::from(device.units);
    let groups = launch.work_items / launch.group_size.max(1);
    let of_device = counted(units, "compute unit");
    if groups < units {
        return Some(format!("{}: {} for {of_device}.", launch.kernel, counted(groups, "work group")));
    }
    let is_few = device.kind == DeviceKind::Gpu && launch.work_items < ITEMS_PER_UNIT * units;
    is_few.then(|| format!("{}: {} for {of_device}.", launch.kernel, counted(launch.work_items, "work-item")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, fake};
    use compute::work::Transfer;

    const PEAKS: DevicePeaks =
        DevicePeaks { copy_gb_s: Some(100.0), read_gb_s: Some(120.0), gflop_s: Some(1000.0) };

    /// Returns a row that takes `ms` and reads each of a million numbers of four bytes `reads` times.
    fn row(ms: f64, reads: u64) -> Row {
        let launch = LaunchWork {
            reads: Transfer::new(1_000_000 * reads, 4),
            writes: Transfer::new(1_000_000, 4),
            operations: 4_000_000 * reads,
            ..LaunchWork::new("own", &[1_000_000], &[100])
        };
        let work =
            KernelWork { unit: "number", units: 1_000_000, least_bytes: 8_000_000, launches: vec![launch] };
        Row { work: Some(work), ..fake::row("own", "Own", Outcome::Ok(fake::measured(ms, 9))) }
    }

    /// Returns the sentences that explain the time of a row.
    fn said(row: &Row, peaks: &DevicePeaks, device: &DeviceInfo) -> Vec<String> {
        sentences(&Evidence::of(row).unwrap(), peaks, device)
    }

    fn device() -> DeviceInfo {
        DeviceInfo { kind: DeviceKind::Gpu, units: 132, ..DeviceInfo::made_up() }
    }

    #[test]
    fn many_reads_are_a_sentence_only_far_from_the_peak() {
        // 8 MB in 4 ms are 2 GB/s.
        let slow = said(&row(4.0, 225), &PEAKS, &device());
        assert_eq!(slow, ["Each number is read 225 times; 2 % of the copy's bandwidth."]);
        assert_eq!(said(&row(4.0, 225), &DevicePeaks::default(), &device()), [""; 0], "nothing is known");
        assert_eq!(said(&row(4.0, 2), &PEAKS, &device()), [""; 0]);
        let fast = said(&row(0.1, 2), &PEAKS, &device());
        assert_eq!(fast, ["80 % of the copy's bandwidth: little is left."]);
        let cached = said(&row(0.04, 2), &PEAKS, &device());
        let reason = "the data is in a cache, or the peak was measured on a busy machine.";
        assert_eq!(cached, [format!("200 % of the copy's bandwidth: {reason}")]);
        // 2 million additions of four channels in 6 µs are 1,333 GFLOP/s. Nothing is concluded from the copy, of which the
        // same peaks give 80 %.
        let peaks = DevicePeaks { copy_gb_s: Some(1667.0), ..PEAKS };
        let reason =
            "it adds shorter numbers than the peak's floats, or the peak was measured on a busy machine.";
        assert_eq!(
            said(&row(0.006, 2), &peaks, &device()),
            [format!("133 % of the multiply-adds' rate: {reason}")]
        );
        let unknown = Row { work: None, ..row(4.0, 225) };
        assert_eq!(said(&unknown, &PEAKS, &device()), [""; 0]);
    }

    #[test]
    fn few_work_items_spills_and_a_slow_kernel_are_named() {
        let mut few = row(4.0, 2);
        let work = few.work.as_mut().unwrap();
        work.launches[0].work_items = 400;
        work.launches.push(LaunchWork { kernel: "second", work_items: 13_200, ..work.launches[0] });
        work.launches.push(LaunchWork {
            kernel: "third",
            work_items: 8_000,
            group_size: 8,
            ..work.launches[0]
        });
        few.launch_ms = vec![3.0, 0.5, 0.5];
        few.registers = vec![
            KernelRegisters { kernel: "own".to_owned(), registers: 255, spilled_bytes: 1024 },
            KernelRegisters { kernel: "second".to_owned(), registers: 32, spilled_bytes: 0 },
        ];
        let want = [
            "own takes 75 % of the time.",
            "own: 4 work groups for 132 compute units.",
            "third: 8,000 work-items for 132 compute units.",
            "own: 1,024 bytes of each work-item do not fit into its 255 registers (spills).",
        ];
        assert_eq!(said(&few, &PEAKS, &device()), want);
        let on_cpu = DeviceInfo { kind: DeviceKind::Cpu, units: 4, ..device() };
        assert!(!said(&few, &PEAKS, &on_cpu).iter().any(|sentence| sentence.contains("compute unit")));
    }
}
