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

/// Facts about a ladder that do not depend on the case.
#[derive(Debug)]
pub struct LadderInfo {
    /// The ladder's name in JSON.
    pub name: &'static str,
    /// The peak kernels of the ladder: kernels that move the same bytes or do the same operations and nothing else, so that no
    /// variant can be faster. The first peak kernel is always timed, another one only if a timed variant is compared with it.
    pub peaks: &'static [PeakKernel],
    /// The file with the peak kernels; empty if the ladder has no peak kernels.
    pub peak_file: &'static str,
    /// The names of the kinds of input. The first kind is timed, unless a case names [another](CaseInfo::timed_input).
    pub inputs: &'static [&'static str],
    /// The names of the command line options that choose the cases, such as "count".
    pub options: &'static [&'static str],
    /// The values of the first of [`options`](Self::options) that clreel's window offers, the smallest first. At each of these
    /// sizes, running all variants takes a device some seconds.
    pub sizes: &'static [&'static str],
    /// The time budget for checking one case, in milliseconds. If a case exceeds the budget, its remaining inputs are not
    /// checked. `None` if all checks are fast.
    pub check_budget_ms: Option<f64>,
    /// True if edited kernels are also checked with the other parameter values that tuning may choose.
    pub checks_parameters: bool,
    /// Returns a remark of one or two sentences on the times of a case on a device of this kind, as the answer to the ladder's
    /// question. The kind is `None` without a device. Returns `None` if there is nothing to remark.
    pub remark: fn(Option<DeviceKind>, &CaseRun) -> Option<String>,
}

impl LadderInfo {
    /// The facts of a ladder without peak kernels, options, budget and remarks.
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

/// Facts about one case of a ladder.
#[derive(Debug, Default)]
pub struct CaseInfo {
    /// The title for people, such as "16,777,216 floats".
    pub title: String,
    /// A shorter title of one or two words, for use where the ladder's input is known; `None` to use the title.
    pub short: Option<String>,
    /// The label of the case in mismatch reports; `None` to use the title.
    pub mismatch_label: Option<String>,
    /// The sizes, layouts and launches of the case, for lists of what was checked. If `sizes` is empty, the case's title is
    /// listed instead.
    pub check_label: Checked,
    /// The kind of input that is timed; `None` for the ladder's first kind.
    pub timed_input: Option<&'static str>,
    /// The number of kinds of input with which the case is checked; `None` for all kinds.
    pub input_count: Option<usize>,
    /// The longest predicted time of a run that serves only a check, in milliseconds; `None` for one second.
    pub max_check_run_ms: Option<f64>,
    /// The case in JSON.
    pub json: Value,
    /// The class of the case. A tuning result for one case is used for all cases of its class.
    pub class: &'static str,
    /// The class in the tuning cache; `None` if [`class`](Self::class) alone identifies it.
    pub cache_class: Option<Class>,
    /// True if each run computes a frame: throughput is then shown in frames per second instead of bytes and operations per
    /// second.
    pub is_frame: bool,
    /// The number of bytes that a run has to move between memory and device.
    pub bytes: f64,
    /// The number of floating-point operations that a run has to do; 0 if there are none.
    pub operations: f64,
    /// The size of the output in bytes.
    pub output: usize,
    /// The host memory in bytes that the case takes, including its checks, if the device has no memory of its own.
    pub memory: usize,
}

impl CaseInfo {
    /// Returns the label of the case in mismatch reports.
    pub(super) fn mismatch_label(&self) -> &str {
        self.mismatch_label.as_deref().unwrap_or(&self.title)
    }

    /// Returns the entry of the case in lists of what was checked. The entry has no inputs; the caller adds them.
    pub(super) fn check_label(&self) -> Checked {
        match self.check_label.sizes.is_empty() {
            true => Checked { sizes: vec![self.title.clone()], ..Checked::default() },
            false => self.check_label.clone(),
        }
    }

    /// Returns the kind of input that is timed.
    pub(super) fn timed_input(&self, info: &LadderInfo) -> &'static str {
        self.timed_input.unwrap_or(info.inputs[0])
    }
}

/// The part of a ladder that [`Ladder::build`] prepares to run.
#[derive(Debug)]
pub enum Part<'a, C: 'static, H> {
    /// A variant that runs on threads of this process.
    Host(H),
    /// A variant's kernels with these parameters.
    Kernels(&'a ClContext, &'a Config<C>),
    /// A peak kernel, given by its index in [`LadderInfo::peaks`].
    Peak(&'a ClContext, usize),
}

/// The expected output, and the rules for comparing an output with it.
#[derive(Debug)]
pub struct Expected {
    /// The output of the reference.
    pub bytes: Vec<u8>,
    /// The description of the output's elements, which says when two elements count as equal.
    pub elements: Box<dyn Elements>,
}

impl Expected {
    /// Returns an expected output whose elements are compared by the rules of `elements`.
    pub fn new(bytes: Vec<u8>, elements: impl Elements + 'static) -> Self {
        Self { bytes, elements: Box::new(elements) }
    }
}

/// The output after a run, and a count of changed input bytes.
#[derive(Debug)]
pub struct Output {
    /// The output, including the guards before and after it.
    pub bytes: Vec<u8>,
    /// The number of input bytes that differ from the loaded input.
    pub changed: usize,
}

/// A computation with several implementations: its cases, inputs, reference and variants, and how a variant is built and run.
/// Everything that ladders have in common is in this crate.
pub trait Ladder {
    /// One size or kind of the computation's input, such as a count of numbers. The sandbox receives it as JSON.
    type Case: Clone + PartialEq + Serialize + DeserializeOwned;
    /// The kernels of a variant.
    type Code: Tunable;
    /// An implementation for variants that run on threads of this process.
    type Host: Copy + 'static;
    /// A variant that is ready to run: compiled kernels, or threads.
    type Built;
    /// Memory for the inputs and the output of a case, on the host and on the device.
    type Buffers;

    /// Returns the facts about the ladder that do not depend on the case.
    fn info(&self) -> &LadderInfo;

    /// Returns the variants, from the plainest to the fastest.
    fn variants(&self) -> &'static [Variant<Self::Code, Self::Host>];

    /// Returns the cases that the command line options choose, without duplicates; the default case if no option was given.
    ///
    /// # Errors
    /// Returns a sentence for the user if a value is not allowed.
    fn cases(&self, sizes: &Sizes) -> Result<Vec<Self::Case>, String>;

    /// Returns the facts of a case.
    fn describe(&self, case: &Self::Case) -> CaseInfo;

    /// Returns small and odd cases for checking a variant that is timed at `timed`; the first case is the smallest. If checks
    /// have [a time budget](LadderInfo::check_budget_ms), the time of one case predicts the time of the next.
    fn small(&self, built: &Self::Built, timed: &Self::Case) -> Vec<Self::Case>;

    /// Returns smaller cases than the given one, the smallest first. Their times predict the time of the first run of the given
    /// case. Empty if no run takes long.
    fn smaller(&self, _case: &Self::Case) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Returns `Ok` if the device has memory for a case and can run the kernels `code` for it.
    ///
    /// # Errors
    /// Returns a sentence that states why the device cannot run the case.
    fn supports(&self, device: &Device, code: Option<&Self::Code>, case: &Self::Case) -> Result<(), String>;

    /// Compiles or prepares a variant or a peak kernel.
    ///
    /// # Errors
    /// Returns an error if kernels do not compile, or the device cannot run them.
    fn build(&self, part: Part<Self::Code, Self::Host>) -> Result<Self::Built>;

    /// Returns the case that the variant `built` computes if `case` is to be timed; `case` itself by default. Ladders whose
    /// variants need different kinds of memory have a case for each kind.
    fn case_of(&self, _built: &Self::Built, case: &Self::Case) -> Self::Case {
        case.clone()
    }

    /// Returns the exact work of one run of kernels with these parameters on the device; `None`, the default, if it is not known.
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

    /// Checks the variant once more, in the way in which the rest of clreel uses it. Returns a description of the comparison,
    /// or `None` if the ladder has no such check.
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

/// Returns titles, peak kernels and other facts of a case for reports.
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

/// Returns the class of cases under which the tuning cache keeps results for this case.
pub fn cache_class<L: Ladder>(ladder: &L, case: &L::Case) -> Class {
    let CaseInfo { class, cache_class, .. } = ladder.describe(case);
    cache_class.unwrap_or_else(|| Class::new(ladder.info().name, class))
}
