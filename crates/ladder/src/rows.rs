//! The results of a benchmark as data: a [`CaseRun`] for each case, with peak kernels and rows. Tables, charts and JSON are
//! created from these types alone, so they look the same for all ladders.

use serde_json::Value;

use super::{NOT_TIMED, Outcome};
use crate::clock_speed::ClockSpeed;
use crate::measure::{Measurement, TaskResults, TaskSamples};
use base::device::{ClockState, DeviceKind, KernelRegisters};
use base::timing::{Ratio, number};
use base::verify::{Accuracy, Checked};
use compute::config::Tunable;
use compute::variant::{Variant, Work};
use compute::work::KernelWork;
use compute::{BackEnd, KernelFile};
use opencl::clock::{Clock, format_resolution};

/// A case of a ladder, with the texts and numbers that reports show.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The title for people, such as "16777216 floats".
    pub title: String,
    /// A title of one or two words, such as "r=7", for use where the ladder's input is clear from the context.
    pub short: String,
    /// The parameters of the case in JSON.
    pub json: Value,
    /// The work that a run does, from which throughput is computed.
    pub throughput: Throughput,
    /// The id of the variant to which the speed-up factors of the others relate. If that variant has no time, they relate to
    /// the slowest one.
    pub base: &'static str,
    /// The ladder's peak kernels: kernels that move the same bytes or do the same operations and nothing else.
    pub peaks: Vec<PeakKernel>,
}

/// The work that a run of a case does, from which throughput is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Throughput {
    /// A run computes one frame. Throughput is in frames per second.
    Frames,
    /// A run moves bytes and does operations. Throughput is in bytes and operations per second.
    Work {
        /// The number of bytes that have to be moved between memory and device.
        bytes: f64,
        /// The number of floating-point operations that have to be done; 0 if there are none, in which case no rate of
        /// operations is shown.
        operations: f64,
    },
}

/// The name and the kind of a peak kernel: a kernel that moves the same bytes as the variants, or does the same operations, and
/// nothing else, so that its speed is an upper bound. The names of files with peak kernels contain `limit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakKernel {
    /// The name in tables and JSON.
    pub name: &'static str,
    /// A note that is shown with the rows that are compared with this peak kernel; `None` if there is none.
    pub note: Option<&'static str>,
    /// True if the peak kernel does the operations and moves no bytes; false if it moves the bytes and computes nothing.
    pub computes: bool,
}

/// The names of a variant in a benchmark, the technology that it uses, and its peak kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// The id on the command line and in JSON.
    pub id: &'static str,
    /// The name in tables: the id, unless several rows have the same id.
    pub name: String,
    /// The title for people, one to three words.
    pub title: &'static str,
    /// The technology that the variant computes with, such as OpenCL.
    pub back_end: BackEnd,
    /// The index in [`Case::peaks`] of the peak kernel that the variant is compared with; `None` if it is not compared with
    /// one.
    pub peak: Option<usize>,
    /// A description in JSON of a row that is not a variant of the ladder, such as a library; `None` for variants.
    pub extra: Option<Value>,
}

impl Entry {
    /// Creates the entry of a variant for a benchmark on a device of this kind.
    pub fn new<C: Tunable, H>(variant: &Variant<C, H>, kind: Option<DeviceKind>) -> Self {
        let (id, title, back_end) = (variant.id, variant.title, variant.back_end());
        // Peak kernels are measured on the device, so they do not bound threads unless the device is the CPU.
        let has_limit = back_end != BackEnd::Native || kind == Some(DeviceKind::Cpu);
        let peak = has_limit.then(|| variant.code(kind.unwrap_or(DeviceKind::Cpu)).map_or(0, C::peak));
        let (name, extra) = match &variant.work {
            Work::ExtraHost(_, name, json) => (name.clone(), Some(json.clone())),
            _ => (id.to_owned(), None),
        };
        Self { id, name, title, back_end, peak, extra }
    }
}

/// Returns the letter by which tables name the folder of kernels with this index: A for the first one.
pub fn folder_letter(index: usize) -> char {
    char::from(b'A' + index.min(25) as u8)
}

/// The kernels that an automatic variant, such as `auto`, has chosen on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoChoice {
    /// The chosen variant and its parameters, such as `name WIDTH=4`; the parameters alone for a variant that only chooses these.
    pub config: String,
    /// True if the choice comes from the tuning cache, false if a short search has found it; `None` if this automatic variant
    /// neither uses the cache nor searches.
    pub from_cache: Option<bool>,
}

/// The result of benchmarking one variant (or one configuration of it) at one case.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The variant's names.
    pub entry: Entry,
    /// The times, or the outcome that replaces them.
    pub outcome: Outcome,
    /// The kernels that an automatic variant has chosen; `None` for all other variants.
    pub auto_choice: Option<AutoChoice>,
    /// The kernel file that the variant was built from; `None` for variants without kernels, and if the variant was not built.
    pub kernel: Option<KernelFile>,
    /// The parameters with which the kernels were built, such as `WIDTH=4 GROUP=64`; `None` for variants without kernels or
    /// without parameters, and if the variant was not built.
    pub parameters: Option<String>,
    /// The index of the folder that the kernels come from; `None` unless the kernels of several folders are compared.
    pub folder: Option<usize>,
    /// The kernels' parameters; `None` unless several configurations of the variant were timed.
    pub configuration: Option<String>,
    /// The comparisons with the reference that the variant has passed; empty if its checks were not completed.
    pub checked: Vec<Checked>,
    /// The errors of the output relative to the reference; `None` if the output has to be exact.
    pub accuracy: Option<Accuracy>,
    /// The reads, writes and operations of the kernels of a run; `None` if they are not known.
    pub work: Option<KernelWork>,
    /// The median device time of each launch in milliseconds, in the order of [`work`](Self::work); empty if the times are not
    /// known.
    pub launch_ms: Vec<f64>,
    /// The number of registers of each kernel; empty if the driver does not report it, or it was not requested.
    pub registers: Vec<KernelRegisters>,
}

impl Row {
    /// Creates a row with names and an outcome only.
    pub fn new(entry: Entry, outcome: Outcome) -> Self {
        Self { entry, outcome, ..Self::default() }
    }
}

/// The results of a benchmark for one case.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// The case that was measured.
    pub case: Case,
    /// The outcome of each of the case's peak kernels, which are timed in turn with the rows.
    pub peaks: Vec<Outcome>,
    /// A row for each selected variant, in the order of selection.
    pub rows: Vec<Row>,
    /// One or two sentences of the ladder on what the times show; `None` if there is nothing to remark.
    pub remark: Option<String>,
    /// The extent to which the times of the device's clock are used instead of wall times.
    pub clock: ClockState,
    /// The speed of the device's clock in the timed rounds, or the reason why it is unknown, as a sentence.
    pub clock_speed: Result<ClockSpeed, String>,
}

/// Returns the reason why kernels have wall times instead of device times, or why some of their runs are missing; `None` if
/// they have device times of all runs.
pub fn clock_reason(clock: &ClockState, measured: &Measurement) -> Option<String> {
    let all = measured.device.is_none();
    match (clock, measured.impossible) {
        (ClockState::Rejected(_), _) => clock.note(),
        (_, 0) => None,
        (_, n) if all => Some(format!("Its driver reported an impossible time for all {n} runs: wall time.")),
        (_, 1) => Some("Its driver reported an impossible time for 1 run, which is left out.".to_owned()),
        (_, n) => Some(format!("Its driver reported impossible times for {n} runs, which are left out.")),
    }
}

/// The peak kernel or row that a timed task belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Turn {
    /// A peak kernel, given by its index in [`CaseRun::peaks`].
    Peak(usize),
    /// A row, given by its index in [`CaseRun::rows`].
    Row(usize),
}

impl CaseRun {
    /// Creates the results of a case that has not been run yet.
    pub fn new(case: Case) -> Self {
        let peaks = vec![Outcome::default(); case.peaks.len()];
        let clock_speed = Err(NOT_TIMED.to_owned());
        Self { case, peaks, rows: Vec::new(), remark: None, clock: ClockState::default(), clock_speed }
    }

    /// Returns the peak kernels that have times, with their names.
    pub fn timed_peaks(&self) -> impl Iterator<Item = (PeakKernel, &Measurement)> {
        let peaks = self.case.peaks.iter().zip(&self.peaks);
        peaks.filter_map(|(name, outcome)| Some((*name, outcome.measured()?)))
    }

    /// Returns the times of the peak kernel with which a row is compared; `None` if there is no such kernel, or it has no times.
    pub fn peak_of(&self, row: &Row) -> Option<&Measurement> {
        row.entry.peak.and_then(|at| self.peaks.get(at)).and_then(Outcome::measured)
    }

    /// Returns the time of the first folder's kernels divided by the time of this row, whose kernels are from another folder;
    /// `None` for all other rows, and if a row has too few times.
    pub fn ratio_of_folders(&self, row: &Row) -> Option<Ratio> {
        row.folder.filter(|folder| *folder > 0)?;
        let first = self.rows.iter().find(|one| one.entry.id == row.entry.id && one.folder == Some(0))?;
        let (first, second) = (first.outcome.measured()?, row.outcome.measured()?);
        // Times by two clocks are not comparable.
        let is_same_clock = first.device.is_some() == second.device.is_some();
        is_same_clock.then(|| Ratio::of_pairs(&first.times(), &second.times())).flatten()
    }

    /// Returns the rows that have times, with these times.
    pub fn timed(&self) -> impl Iterator<Item = (&Row, &Measurement)> + Clone {
        self.rows.iter().filter_map(|row| Some((row, row.outcome.measured()?)))
    }

    /// Returns the row with which the others are compared, and its times: the row of the case's base variant, or the slowest
    /// row if that variant has no time; `None` if no row has times.
    pub fn base(&self) -> Option<(&Row, &Measurement)> {
        let base = self.timed().find(|(row, _)| row.entry.id == self.case.base);
        base.or_else(|| self.timed().max_by(|(_, a), (_, b)| f64::total_cmp(&a.time.p50, &b.time.p50)))
    }

    /// Returns the ids of the rows that have only wall times, each id once.
    pub fn by_wall(&self) -> Vec<&'static str> {
        let mut ids = Vec::new();
        for (row, measured) in self.timed() {
            if measured.device.is_none() && !ids.contains(&row.entry.id) {
                ids.push(row.entry.id);
            }
        }
        ids
    }

    /// Replaces all device times by wall times if one of them is too short for the resolution of the device's clock, because
    /// times that were measured by two clocks must not be compared.
    pub(super) fn require_resolved(&mut self, clock: &Clock) {
        let Some(resolution_ns) = clock.resolution_ns() else { return };
        // A time of less than one step of the clock is reported as 0, which counts as impossible, and only the wall time is
        // used.
        let is_kernel = |row: &&Row| row.entry.back_end == BackEnd::OpenCl;
        let rows = self.rows.iter().filter(is_kernel).map(|row| &row.outcome);
        let all = self.peaks.iter().chain(rows).filter_map(Outcome::measured);
        let shortest = all.map(|measured| measured.time.p50).fold(f64::INFINITY, f64::min);
        if clock.resolves(shortest * 1e6) {
            return;
        }
        for outcome in self.peaks.iter_mut().chain(self.rows.iter_mut().map(|row| &mut row.outcome)) {
            if let Outcome::Ok(measured) = outcome {
                *measured = measured.by_wall();
            }
        }
        self.clock = ClockState::Rejected(format!(
            "the shortest kernel takes {} ms and the device's clock has steps of {}",
            number(shortest),
            format_resolution(resolution_ns)
        ));
    }

    /// Returns a sentence for the user if the times of the device's clock are not used, or were not compared with wall times;
    /// `None` if there is nothing to say, or no kernel has a time.
    pub fn clock_note(&self) -> Option<String> {
        let is_kernel = |(row, _): (&Row, _)| row.entry.back_end == BackEnd::OpenCl;
        self.clock.note().filter(|_| self.timed().any(is_kernel))
    }

    /// Returns the reason why a row has wall times, or why some of its runs are missing; `None` if there is none, and for rows
    /// without kernels.
    pub fn clock_reason(&self, row: &Row) -> Option<String> {
        let measured = row.outcome.measured().filter(|_| row.entry.back_end == BackEnd::OpenCl)?;
        clock_reason(&self.clock, measured)
    }

    /// Returns the outcomes of all peak kernels and rows.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.peaks.iter().chain(self.rows.iter().map(|row| &row.outcome))
    }

    /// Returns true if any output differs or anything failed.
    pub fn is_wrong(&self) -> bool {
        self.outcomes().any(|outcome| matches!(outcome, Outcome::Mismatch(_) | Outcome::Failed(_)))
    }

    /// Returns a copy of these results to which the results of the timed tasks are added. `turns` contains for each of
    /// `results` the peak kernel or row that it belongs to.
    pub(super) fn with(&self, turns: &[Turn], results: &TaskResults<Box<Outcome>>) -> Self {
        let mut run = self.clone();
        for (turn, timed) in turns.iter().zip(results) {
            let to = match *turn {
                Turn::Peak(at) => run.peaks.get_mut(at),
                Turn::Row(at) => run.rows.get_mut(at).map(|row| &mut row.outcome),
            };
            let Some(to) = to else { continue };
            match timed.as_ref().map(TaskSamples::measurement) {
                Ok(Some(measured)) => *to = Outcome::Ok(measured),
                Ok(None) => {}
                Err(instead) => *to = (**instead).clone(),
            }
        }
        run
    }
}
