//! The interface between the benchmark harness and a ladder: the trait [`Ladder`], which each ladder implements, and the types
//! of its methods.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::outcome::VariantResult;
use super::rows::{Case, CaseRun, PeakKernel, Throughput};
use super::sizes::Sizes;
use base::device::{DeviceInfo, DeviceKind};
use base::error::Result;
use base::verify::{Checked, Elements};
use compute::cache::Class;
use compute::config::{Config, Tunable};
use compute::sample::Sample;
use compute::variant::Variant;
use compute::work::KernelWork;
use opencl::cl::{ClContext, Device};
use opencl::sources::Sources;

/// The properties of a ladder that all of its cases share: names, peak kernels, kinds of input, and rules for checks.
#[derive(Debug)]
pub struct LadderInfo {
    /// The ladder's name in JSON.
    pub name: &'static str,
    /// The peak kernels of the ladder. A peak kernel moves the same bytes or does the same operations as the variants and
    /// nothing else, so that no variant can be faster. The first peak kernel is always timed, another one only if a timed
    /// variant is compared with it.
    pub peaks: &'static [PeakKernel],
    /// The path of the kernel file with the peak kernels; empty if the ladder has none.
    pub peak_file: &'static str,
    /// The names of the kinds of input values, such as random ones. The first kind is timed, unless a case names
    /// [another](CaseInfo::timed_input).
    pub inputs: &'static [&'static str],
    /// The names of the command line options that choose the cases, such as "count".
    pub options: &'static [&'static str],
    /// The sizes that clreel's window offers, as values of the first of [`options`](Self::options), the smallest first. At each
    /// size, running all variants takes some seconds on a device.
    pub sizes: &'static [&'static str],
    /// The time budget for checking a variant at one case, in milliseconds. If a case exceeds the budget, its remaining kinds
    /// of input are not checked. `None` if all checks are fast.
    pub check_budget_ms: Option<f64>,
    /// True if kernels that the user has edited are checked not only with the default parameter values, but also with the
    /// others that tuning may choose.
    pub checks_parameters: bool,
    /// Returns one or two sentences on what the times of a case show, for a device of this kind; the kind is `None` without a
    /// device. Returns `None` if there is nothing to remark.
    pub remark: fn(Option<DeviceKind>, &CaseRun) -> Option<String>,
}

impl LadderInfo {
    /// The defaults for a ladder's description: it has no name, peak kernels, options, time budget and remarks.
    pub const DEFAULT: Self = Self {
        name: "",
        peaks: &[],
        peak_file: "",
        inputs: &[],
        options: &[],
        sizes: &[],
        check_budget_ms: None,
        checks_parameters: false,
        remark: |_, _| None,
    };
}

/// The properties of one case of a ladder: titles, rules for checks, and the work of a run.
#[derive(Debug, Default)]
pub struct CaseInfo {
    /// The title for people, such as "16,777,216 floats".
    pub title: String,
    /// A title of one or two words, for use where the ladder's input is clear from the context; `None` to use the title.
    pub short: Option<String>,
    /// The label of the case in mismatch reports; `None` to use the title.
    pub mismatch_label: Option<String>,
    /// The entry of the case in lists of what was checked: its sizes, layouts and launches. If its `sizes` are empty, the
    /// case's title is listed instead.
    pub check_label: Checked,
    /// The name of the kind of input with which variants are timed; `None` for the ladder's first kind.
    pub timed_input: Option<&'static str>,
    /// The number of kinds of input with which variants are checked at this case, counted from the first of
    /// [`LadderInfo::inputs`]; `None` for all kinds.
    pub input_count: Option<usize>,
    /// The longest predicted time of a run at this case that is made only to check a variant, in milliseconds; `None` for one
    /// second.
    pub max_check_run_ms: Option<f64>,
    /// The parameters of the case in JSON, for reports.
    pub json: Value,
    /// The name of the case's class. A class is a group of similar cases that share a tuning result: a result for one of them
    /// is used for all.
    pub class: &'static str,
    /// The fields that identify the case's class in the tuning cache; `None` if the name in [`class`](Self::class) suffices.
    pub cache_class: Option<Class>,
    /// True if all variants run with the parameters that tuning found for them; false if only those with
    /// [`Work::Fastest`](compute::variant::Work::Fastest) use tuning results.
    pub uses_tuned: bool,
    /// True if each run computes a frame, so that throughput is shown in frames per second instead of bytes and operations per
    /// second.
    pub is_frame: bool,
    /// The number of bytes that any implementation has to move between memory and device in a run.
    pub bytes: f64,
    /// The number of floating-point operations that any implementation has to do in a run; 0 if there are none.
    pub operations: f64,
    /// The size of the output in bytes.
    pub output: usize,
    /// The host memory in bytes that the case and its checks take on a device without memory of its own.
    pub memory: usize,
}

impl CaseInfo {
    /// Returns the entry of the case in lists of what was checked, without the kinds of input, which the caller adds.
    pub(super) fn check_label(&self) -> Checked {
        match self.check_label.sizes.is_empty() {
            true => Checked { sizes: vec![self.title.clone()], ..Checked::default() },
            false => self.check_label.clone(),
        }
    }

    /// Returns the name of the kind of input with which variants are timed at this case.
    pub(super) fn timed_input(&self, info: &LadderInfo) -> &'static str {
        self.timed_input.unwrap_or(info.inputs[0])
    }
}

/// A variant or peak kernel for [`Ladder::build`] to compile or prepare.
#[derive(Debug)]
pub enum Part<'a, C: 'static, H> {
    /// A variant that runs on threads of this process.
    Host(H),
    /// The kernels of a variant, to be compiled with the parameters of this configuration.
    Kernels(&'a ClContext, &'a Config<C>),
    /// The peak kernel with this index in [`LadderInfo::peaks`].
    Peak(&'a ClContext, usize),
}

/// The expected output of a case, and the rules for comparing an output with it.
#[derive(Debug)]
pub struct Expected {
    /// The output of the reference.
    pub bytes: Vec<u8>,
    /// The types of the output's elements, and the rule for when two elements count as equal.
    pub elements: Box<dyn Elements>,
}

impl Expected {
    /// Creates an expected output whose elements are compared by the rules of `elements`.
    pub fn new(bytes: Vec<u8>, elements: impl Elements + 'static) -> Self {
        Self { bytes, elements: Box::new(elements) }
    }
}

/// The output of a run as it was read back, and the number of input bytes that the run has changed by mistake.
#[derive(Debug)]
pub struct Output {
    /// The bytes of the output, with the guards before and after it.
    pub bytes: Vec<u8>,
    /// The number of input bytes that are no longer as they were loaded; not 0 if the variant has overwritten its input.
    pub changed: usize,
}

/// A computation with several implementations, called variants. An implementation of this trait provides the cases, the inputs,
/// the reference and the variants, and builds and runs a variant. Everything else is the same for all ladders and is in this
/// crate.
pub trait Ladder {
    /// One size or kind of the computation's input, such as a count of numbers. The sandbox receives it as JSON.
    type Case: Clone + PartialEq + Serialize + DeserializeOwned;
    /// The type of a description of a variant's kernels: their file and tuning parameters.
    type Code: Tunable;
    /// The type of an implementation that runs on threads of this process.
    type Host: Copy + 'static;
    /// The type of a variant that is ready to run: compiled kernels, or an implementation on threads.
    type Built;
    /// Memory for the inputs and the output of a case, on the host and on the device.
    type Buffers;

    /// Returns the properties of the ladder that all of its cases share.
    fn info(&self) -> &LadderInfo;

    /// Prepares the ladder for a trial in a child process with these sources, before its variants are used. Does nothing unless
    /// the variants depend on the sources.
    fn prepare_trial(&self, _sources: &Sources) {}

    /// Returns the variants, from the plainest to the fastest.
    fn variants(&self) -> &'static [Variant<Self::Code, Self::Host>];

    /// Returns the cases that the command line options choose, without duplicates; the default case if no option was given.
    ///
    /// # Errors
    /// Returns a sentence for the user if a value is not allowed.
    fn cases(&self, sizes: &Sizes) -> Result<Vec<Self::Case>, String>;

    /// Returns the titles, the work of a run and other properties of a case.
    fn describe(&self, case: &Self::Case) -> CaseInfo;

    /// Returns the small and odd cases at which the variant `built` is checked before it is timed at the case `timed`; the
    /// first case is the smallest. If checks have [a time budget](LadderInfo::check_budget_ms), the time at one case predicts
    /// the time at the next.
    fn small(&self, built: &Self::Built, timed: &Self::Case) -> Vec<Self::Case>;

    /// Returns smaller cases than the given one, the smallest first. Their times predict the time of the first run at the given
    /// case. Returns none if no run takes long.
    fn smaller(&self, _case: &Self::Case) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Returns `Ok` if the device has enough memory for a case and can run the kernels `code` at it; `code` is `None` to test
    /// the memory only.
    ///
    /// # Errors
    /// Returns a sentence that states why the device cannot run the case.
    fn supports(&self, device: &Device, code: Option<&Self::Code>, case: &Self::Case) -> Result<(), String>;

    /// Compiles or prepares a variant or a peak kernel.
    ///
    /// # Errors
    /// Returns an error if kernels do not compile, or the device cannot run them.
    fn build(&self, part: Part<Self::Code, Self::Host>) -> Result<Self::Built>;

    /// Returns the case that the variant `built` computes when variants are timed at `case`; `case` itself by default. Ladders
    /// whose variants need different kinds of memory (buffers or images) have a case for each kind.
    fn case_of(&self, _built: &Self::Built, case: &Self::Case) -> Self::Case {
        case.clone()
    }

    /// Returns the exact reads, writes and operations of one run of kernels with these parameters on the device; `None`, the
    /// default, if they are not known.
    fn work(
        &self,
        _config: &Config<Self::Code>,
        _device: &DeviceInfo,
        _case: &Self::Case,
    ) -> Option<KernelWork> {
        None
    }

    /// Allocates memory for a case, with `guard` bytes before and after the output and each input.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    fn allocate(&self, cl: Option<&ClContext>, case: &Self::Case, guard: usize) -> Result<Self::Buffers>;

    /// Fills the inputs with values of the kind `input`; returns the expected output, computed by the reference.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn load(&self, buffers: &mut Self::Buffers, input: &str) -> Result<Expected>;

    /// Loads the input of a timed round, for ladders in which each round has its own input. Round 0 uses the input that
    /// [`Ladder::load`] loaded.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn load_round(&self, _buffers: &mut Self::Buffers, _round: u32) -> Result<()> {
        Ok(())
    }

    /// Returns the expected output for the input that [`Ladder::load_round`] has loaded for this round; `None`, the default, if all
    /// rounds have the input that [`Ladder::load`] loaded.
    ///
    /// # Errors
    /// Returns an error if the reference cannot be computed.
    fn expected_round(&self, _buffers: &Self::Buffers, _round: u32) -> Result<Option<Expected>> {
        Ok(None)
    }

    /// Overwrites the output and the guards around it with `bytes`, in the memory to which `built` writes: the host's or the
    /// device's.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn write(&self, built: &Self::Built, buffers: &mut Self::Buffers, bytes: &[u8]) -> Result<()>;

    /// Returns the output with its guards, read from the memory to which `built` writes, and the number of input bytes that have
    /// changed since [`Ladder::load`].
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn read(&self, built: &Self::Built, buffers: &Self::Buffers) -> Result<Output>;

    /// Runs the variant once, waits until it has finished, and returns the times.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn run(&self, built: &Self::Built, buffers: &mut Self::Buffers) -> Result<Sample>;

    /// Checks the variant once more, called as by the rest of clreel rather than as by the benchmark. Returns a description of
    /// the comparison, or `None` if the ladder has no such check.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    fn check_in_use(
        &self,
        _id: &str,
        _built: &Self::Built,
        _case: &Self::Case,
    ) -> VariantResult<Option<Checked>> {
        Ok(None)
    }
}

/// Returns the titles, the peak kernels and other properties of a case that reports need.
pub fn describe_case<L: Ladder>(ladder: &L, case: &L::Case) -> Case {
    let CaseInfo { title, short, json, bytes, operations, is_frame, .. } = ladder.describe(case);
    Case {
        short: short.unwrap_or_else(|| title.clone()),
        title,
        json,
        throughput: if is_frame { Throughput::Frames } else { Throughput::Work { bytes, operations } },
        base: ladder.variants().first().map_or("", |variant| variant.id),
        peaks: ladder.info().peaks.to_vec(),
    }
}

/// Returns the class of this case: the group of similar cases for which the tuning cache keeps a common result.
pub fn cache_class<L: Ladder>(ladder: &L, case: &L::Case) -> Class {
    let CaseInfo { class, cache_class, .. } = ladder.describe(case);
    cache_class.unwrap_or_else(|| Class::new(ladder.info().name, class))
}
