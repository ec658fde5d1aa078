//! The interface between the harness and a ladder: the trait [`Ladder`], which each ladder implements, and [`LadderRunner`],
//! which builds, checks and runs the variants of a ladder on one device for [the benchmark](super::rounds) and [the
//! search](super::tune). Everything runs on the thread that made the runner.

use std::cell::{OnceCell, RefCell};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cache::Class;
use super::check::{CheckResult, ContinueCheck, VariantChecker};
use super::growth::Growth;
use super::ladder_trial;
use super::outcome::{VariantResult, fail, predict, require_match};
use super::rows::{AutoChoice, Case, CaseRun, Entry, KernelFile, PeakKernel, Throughput};
use super::sizes::Sizes;
use crate::Outcome;
use crate::clock_speed::ClockSpeed;
use crate::config::{Config, Tunable};
use crate::measure::Sample;
use crate::trial::Child;
use crate::variant::{Variant, Work};
use crate::work::KernelWork;
use base::error::{Error, Result};
use base::memory::require;
use base::verify::{self, Accuracy, Checked, Elements, MismatchReport};
use opencl::cl::{ClContext, Device, DeviceInfo, DeviceKind};
use opencl::clock::ClockState;
use opencl::clock_speed::{ClockReader, Reading};
use opencl::machine_code::{self, KernelRegisters};
use opencl::program;
use opencl::sources::Sources;

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
    /// Names of the kinds of input. The first kind is timed, unless a case names [another](CaseInfo::timed_input).
    pub inputs: &'static [&'static str],
    /// Names of the command line options that choose the cases, as in "count".
    pub options: &'static [&'static str],
    /// Values of the first of [`options`](Self::options) that clreel's window offers, the smallest first. At each of these sizes a
    /// device takes some seconds to run all variants.
    pub sizes: &'static [&'static str],
    /// Time budget for checking one case, in milliseconds. If a case exceeds the budget, its remaining inputs are left out. `None`
    /// if all checks are fast.
    pub check_budget_ms: Option<f64>,
    /// True if kernels that the user has modified are also checked with the other parameter values that tuning may choose.
    pub checks_parameters: bool,
    /// Returns a remark of one or two sentences on the times of a case on a device of this kind: the answer to the question that
    /// the ladder asks. The kind is `None` without a device. Returns `None` if there is nothing to remark.
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
    /// The title for people, as in "16,777,216 floats".
    pub title: String,
    /// A shorter title of one or two words, for use where the ladder's input is known; `None` to use the title.
    pub short: Option<String>,
    /// The label of the case in mismatch reports; `None` to use the title.
    pub mismatch_label: Option<String>,
    /// Sizes, layouts and launches of the case, for lists of what was checked. If `sizes` is empty, the case's title is listed
    /// instead.
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
    /// Bytes that a run has to move between memory and processor.
    pub bytes: f64,
    /// Floating-point operations that a run has to do; 0 if there are none.
    pub operations: f64,
    /// Size of the output in bytes.
    pub output: usize,
    /// Bytes of host memory that the case takes, checks included, if the device has no memory of its own.
    pub memory: usize,
}

impl CaseInfo {
    /// Returns the label of the case in mismatch reports.
    pub(super) fn mismatch_label(&self) -> &str {
        self.mismatch_label.as_deref().unwrap_or(&self.title)
    }

    /// Returns the entry of the case in lists of what was checked. Its list of inputs is empty; the caller adds them.
    pub(super) fn check_label(&self) -> Checked {
        match self.check_label.sizes.is_empty() {
            true => Checked { sizes: vec![self.title.clone()], ..Checked::default() },
            false => self.check_label.clone(),
        }
    }

    /// Returns the kind of input that is timed.
    pub(super) fn timed_input<L: Ladder>(&self) -> &'static str {
        self.timed_input.unwrap_or(L::INFO.inputs[0])
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
    /// Describes the elements of the output, and when two elements count as equal.
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

    /// Facts about the ladder.
    const INFO: LadderInfo;

    /// Returns the variants, from the plainest to the fastest.
    fn variants(&self) -> &'static [Variant<Self::Code, Self::Host>];

    /// Returns the cases that the command line options choose, without duplicates; the default case if no option was given.
    ///
    /// # Errors
    /// Returns a sentence for the user if a value is not allowed.
    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Self::Case>, String>;

    /// Returns the facts of a case.
    fn describe(&self, case: &Self::Case) -> CaseInfo;

    /// Returns small and odd cases for checking a variant that is timed at `timed`; the first case is the smallest. If checks have
    /// [a time budget](LadderInfo::check_budget_ms), the time of one case predicts the time of the next.
    fn small(&self, built: &Self::Built, timed: &Self::Case) -> Vec<Self::Case>;

    /// Returns smaller cases than the given one, the smallest first. Their times predict the time of a run of the given case before
    /// its first run. Empty if no run takes long.
    fn smaller(&self, _case: &Self::Case) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Checks that the device has memory for a case, and that it can run the kernels `code` for the case.
    ///
    /// # Errors
    /// Returns a sentence that states why the device cannot run the case.
    fn supports(
        &self,
        device: &Device,
        code: Option<&Self::Code>,
        case: &Self::Case,
    ) -> std::result::Result<(), String>;

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

    /// Fills the inputs with a kind of input; returns the expected output, computed by the reference.
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

    /// Checks the variant once more, through the code path by which the rest of clreel uses it. Returns a description of the
    /// comparison, or `None` if the ladder has no such check.
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
        peaks: L::INFO.peaks.to_vec(),
    }
}

/// Returns the class of cases under which the tuning cache keeps results for this case.
pub fn cache_class<L: Ladder>(ladder: &L, case: &L::Case) -> Class {
    let CaseInfo { class, cache_class, .. } = ladder.describe(case);
    cache_class.unwrap_or_else(|| Class::new(L::INFO.name, class))
}

/// The predicted time in milliseconds above which a run counts as long. The time of a long run is predicted from smaller cases,
/// without making the run.
const LONG_MS: f64 = 2000.0;

/// Smaller cases with their loaded buffers, for predicting the times of larger cases.
type SmallerBuffers<L> = Vec<(<L as Ladder>::Case, <L as Ladder>::Buffers)>;

/// Predicts the time in milliseconds of a run that takes long, from runs of [smaller cases](Ladder::smaller); `None` if the run
/// does not take long, or the ladder has no smaller cases. `smaller` keeps the buffers of the smaller cases from one call to the
/// next.
pub(super) fn predict_if_long<L: Ladder>(
    ladder: &L,
    cl: Option<&ClContext>,
    built: &L::Built,
    case: &L::Case,
    smaller: &mut SmallerBuffers<L>,
) -> Result<Option<f64>> {
    let operations = |case: &L::Case| ladder.describe(case).operations.max(1.0);
    let mut growth = Growth::default();
    for (index, small) in ladder.smaller(case).into_iter().enumerate() {
        if growth.predict_ms(operations(&small)) > LONG_MS {
            break;
        }
        if smaller.get(index).is_none_or(|(known, _)| *known != small) {
            let mut buffers = ladder.allocate(cl, &small, 0)?;
            ladder.load(&mut buffers, L::INFO.inputs[0])?;
            smaller.truncate(index);
            smaller.push((small.clone(), buffers));
        }
        let (_, buffers) = &mut smaller[index];
        growth.record(operations(&small), predict(|| ladder.run(built, buffers))?);
    }
    let predicted = growth.predict_ms(operations(case));
    Ok((predicted > LONG_MS).then_some(predicted))
}

/// Builds, checks and runs the variants of a ladder on one device, or without one.
pub struct LadderRunner<'a, L: Ladder> {
    pub(super) ladder: &'a L,
    pub(super) cl: Option<ClContext>,
    /// The outcome of variants that need a device, if there is no usable device.
    no_device: Box<Outcome>,
    /// The child process in which modified kernels run first.
    child: RefCell<&'a mut Child>,
    clock: OnceCell<ClockState>,
    /// Reads the speed of the device's clock, or the reason why that is not possible, as a sentence.
    pub(super) clock_reader: std::result::Result<ClockReader, String>,
}

/// Memory for a case: one allocation for each kind of memory that the variants use.
pub struct CaseBuffers<L: Ladder> {
    pub(super) case: L::Case,
    allocations: Vec<Allocation<L>>,
    /// Smaller cases by which the time of this case is predicted.
    smaller: SmallerBuffers<L>,
    /// The outcome of variants that need the device, if it has no memory for the case.
    no_device_memory: Option<Box<Outcome>>,
}

/// Memory for a case, loaded with an input, and the expected output for that input.
struct Allocation<L: Ladder> {
    case: L::Case,
    buffers: L::Buffers,
    expected: Expected,
    /// True if `expected` belongs to the input of a round that has its own.
    is_of_round: bool,
}

/// A timed run whose output is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedRun {
    /// The number of the round; `None` for a run that belongs to no round.
    pub round: Option<u32>,
    /// True if the memory keeps what earlier runs left in it, in ladders in which each round has its own input. A variant that uses
    /// results of an earlier round is then wrong; it might compute them again in memory that was overwritten.
    pub keeps_memory: bool,
}

/// A variant that was built and passed a first check, with a prediction of its time.
pub struct PreparedVariant<L: Ladder> {
    /// The variant, ready to run.
    pub built: L::Built,
    /// The predicted time of a run in milliseconds.
    pub predicted_ms: f64,
    /// The variant and parameters that an automatic variant has chosen; `None` for all other variants.
    pub auto_choice: Option<AutoChoice>,
    /// The id of the variant whose kernels run, and the kernels' parameters; `None` for variants without kernels.
    kernels: Option<(&'static str, Config<L::Code>)>,
}

impl<L: Ladder> PreparedVariant<L> {
    /// Returns the parameters of the kernels, as in `WIDTH=4 GROUP=64`; `None` if there are none.
    pub(super) fn parameters(&self) -> Option<String> {
        let (_, config) = self.kernels.as_ref()?;
        Some(config.to_string()).filter(|parameters| !parameters.is_empty())
    }
}

/// A variant's id, its parameters, and its compiled kernels.
pub(super) type BuiltConfig<L> = (&'static str, Config<<L as Ladder>::Code>, <L as Ladder>::Built);

impl<'a, L: Ladder> LadderRunner<'a, L> {
    /// Opens the device, for which kernels are compiled from `sources`. If there is none or it cannot be opened, variants
    /// without OpenCL can still be timed, but no peak kernels. Modified kernels run in `child` first.
    pub fn new(ladder: &'a L, device: Option<&Device>, sources: Sources, child: &'a mut Child) -> Self {
        let cl = device.map(|device| ClContext::new(device, sources)).transpose();
        let (cl, no_device) = match cl {
            Ok(cl) => (cl, Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))),
            Err(error) => (None, fail(error)),
        };
        let clock_reader = ClockReader::new(cl.as_ref().map(|cl| &cl.device));
        Self { ladder, cl, no_device, child: RefCell::new(child), clock: OnceCell::new(), clock_reader }
    }

    /// Returns a runner of the same ladder on the same device with other kernels: both use the same memory. Modified kernels run
    /// in `child` first.
    #[must_use]
    pub fn with_sources(&self, sources: Sources, child: &'a mut Child) -> Self {
        let cl = self.cl.as_ref().map(|cl| cl.with_sources(sources));
        let clock_reader = Err("The runner of the first kernels reads it.".to_owned());
        let (clock, no_device) = (self.clock.clone(), self.no_device.clone());
        Self { ladder: self.ladder, cl, no_device, child: RefCell::new(child), clock, clock_reader }
    }

    /// Returns how far the device's times are used.
    pub fn clock(&self) -> &ClockState {
        let calibrate = || self.cl.as_ref().map_or(ClockState::Uncalibrated(None), ClockState::calibrate);
        self.clock.get_or_init(calibrate)
    }

    /// Returns titles, peak kernels and other facts of a case for reports.
    pub fn case(&self, case: &L::Case) -> Case {
        describe_case(self.ladder, case)
    }

    /// Returns a variant's names for reports.
    pub fn entry(&self, variant: &Variant<L::Code, L::Host>) -> Entry {
        variant.entry(self.cl.as_ref().map(|cl| cl.device.info.kind))
    }

    /// Returns the ladder's remark on the times of a case; `None` if there is nothing to remark.
    pub(super) fn remark(&self, run: &CaseRun) -> Option<String> {
        (L::INFO.remark)(self.cl.as_ref().map(|cl| cl.device.info.kind), run)
    }

    /// Allocates memory for a case and loads the input that is timed.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory, or the device fails.
    pub fn allocate(&self, case: &L::Case) -> Result<CaseBuffers<L>> {
        require(self.ladder.describe(case).memory)?;
        let buffers = |allocation, no_device_memory| CaseBuffers {
            case: case.clone(),
            allocations: vec![allocation],
            smaller: Vec::new(),
            no_device_memory,
        };
        match self.allocate_input(self.cl.as_ref(), case) {
            // Variants without OpenCL need no memory of the device.
            Err(error) if self.cl.is_some() => {
                self.allocate_input(None, case).map(|memory| buffers(memory, Some(fail(error))))
            }
            made => made.map(|memory| buffers(memory, None)),
        }
    }

    /// Allocates memory for a case and loads the input that is timed. Without `cl` the memory is on the host alone.
    fn allocate_input(&self, cl: Option<&ClContext>, case: &L::Case) -> Result<Allocation<L>> {
        let mut buffers = self.ladder.allocate(cl, case, 0)?;
        let expected = self.ladder.load(&mut buffers, self.ladder.describe(case).timed_input::<L>())?;
        Ok(Allocation { case: case.clone(), buffers, expected, is_of_round: false })
    }

    /// Returns the memory that `built` computes on. Allocates it if no earlier variant has used this kind of memory.
    fn allocation_for<'r>(
        &self,
        built: &L::Built,
        buffers: &'r mut CaseBuffers<L>,
    ) -> Result<&'r mut Allocation<L>> {
        let case = self.ladder.case_of(built, &buffers.case);
        let at = match buffers.allocations.iter().position(|memory| memory.case == case) {
            Some(at) => at,
            None => {
                buffers.allocations.push(self.allocate_input(self.device(buffers).ok(), &case)?);
                buffers.allocations.len() - 1
            }
        };
        Ok(&mut buffers.allocations[at])
    }

    /// Returns the device if it supports the case and has memory for it.
    ///
    /// # Errors
    /// Returns the outcome that replaces the times of variants that need the device.
    pub(super) fn device(&self, buffers: &CaseBuffers<L>) -> VariantResult<&ClContext> {
        let cl = self.cl.as_ref().ok_or_else(|| self.no_device.clone())?;
        let can = self.ladder.supports(&cl.device, None, &buffers.case);
        can.map_err(|why| Box::new(Outcome::Unsupported(why)))?;
        buffers.no_device_memory.clone().map_or(Ok(cl), Err)
    }

    /// Returns a checker for the variant `built`. `config_note` names the parameters that differ from the default ones; empty if
    /// none do.
    fn checker<'b>(
        &'b self,
        buffers: &CaseBuffers<L>,
        built: &'b L::Built,
        config_note: &'b str,
    ) -> VariantChecker<'b, L> {
        VariantChecker { ladder: self.ladder, cl: self.device(buffers).ok(), built, config_note }
    }

    /// Builds a variant, runs a first check, and predicts the time of a run.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub fn prepare(
        &self,
        variant: &Variant<L::Code, L::Host>,
        buffers: &mut CaseBuffers<L>,
    ) -> VariantResult<PreparedVariant<L>> {
        let (built, kernels, auto_choice) = match &variant.work {
            Work::Host(host) | Work::ExtraHost(host, ..) => {
                (self.ladder.build(Part::Host(*host)).map_err(fail)?, None, None)
            }
            Work::Shaders(host) => {
                let without = |e: Error| Box::new(Outcome::Unsupported(format!("{} {}", e.what, e.why)));
                (self.ladder.build(Part::Host(*host)).map_err(without)?, None, None)
            }
            Work::Kernels(_) | Work::ByKind { .. } => {
                let (id, config, built) = self.build_default(variant, buffers)?;
                (built, Some((id, config)), None)
            }
            Work::Fastest | Work::Tuned(_) => {
                let tuned = self.build_tuned(buffers);
                let is_tuned = matches!(variant.work, Work::Fastest).then_some(tuned.is_some());
                let (id, config, built) = match (tuned, &variant.work) {
                    (Some(tuned), _) => tuned,
                    (None, &Work::Tuned(untuned)) => {
                        let known = self.ladder.variants().iter().find(|variant| variant.id == untuned);
                        let none = || fail(Error::new("Nothing could be chosen.", "Nothing is tuned.", ""));
                        self.build_default(known.ok_or_else(none)?, buffers)?
                    }
                    _ => self.search_fastest(buffers)?,
                };
                let what = format!("{id} {config}").trim_end().to_owned();
                (built, Some((id, config)), Some(AutoChoice { config: what, from_cache: is_tuned }))
            }
        };
        require_match(self.quick_check(&built, buffers).map(|(report, _)| report))?;
        let predicted_ms = self.predict(&built, buffers).map_err(fail)?;
        Ok(PreparedVariant { built, predicted_ms, auto_choice, kernels })
    }

    /// Returns the exact work of a prepared variant; `None` if it has no kernels, if they are modified, or if the ladder does not know
    /// it.
    pub(super) fn work(&self, prepared: &PreparedVariant<L>, case: &L::Case) -> Option<KernelWork> {
        let (cl, (_, config)) = (self.cl.as_ref()?, prepared.kernels.as_ref()?);
        let is_known = !cl.sources().is_changed(config.code().file());
        let case = self.ladder.case_of(&prepared.built, case);
        is_known.then(|| self.ladder.work(config, &cl.device.info, &case)).flatten()
    }

    /// Returns the registers of a prepared variant's kernels, which are compiled again for that; empty if the driver does not report
    /// them.
    pub(super) fn registers(&self, prepared: &PreparedVariant<L>) -> Vec<KernelRegisters> {
        let (Some(cl), Some((_, config))) = (&self.cl, &prepared.kernels) else { return Vec::new() };
        let compiled = program::binary_and_log(cl, config.code().file(), &config.options());
        compiled.map_or_else(|_| Vec::new(), |(binary, log)| machine_code::registers(&binary, &log))
    }

    /// Builds a variant's kernels with the default parameters for the case.
    fn build_default(
        &self,
        variant: &Variant<L::Code, L::Host>,
        buffers: &CaseBuffers<L>,
    ) -> VariantResult<BuiltConfig<L>> {
        let cl = self.device(buffers)?;
        let none = || fail(Error::new(format!("'{}' has no kernel.", variant.id), "", ""));
        let code = variant.code(cl.device.info.kind).ok_or_else(none)?;
        let config = self.default_config(code, cl, &buffers.case);
        self.check_config(&buffers.case, variant.id, &config)?;
        let built = self.ladder.build(Part::Kernels(cl, &config)).map_err(fail)?;
        Ok((variant.id, config, built))
    }

    /// Returns the default parameters of the kernels `code` for a case on the device of `cl`.
    pub(super) fn default_config(
        &self,
        code: &'static L::Code,
        cl: &ClContext,
        case: &L::Case,
    ) -> Config<L::Code> {
        Config::for_class(code, &cl.device.info, self.ladder.describe(case).class)
    }

    /// Predicts the time of a run in milliseconds: from smaller cases if the run takes long, otherwise by running it.
    pub(super) fn predict(&self, built: &L::Built, buffers: &mut CaseBuffers<L>) -> Result<f64> {
        if let Some(predicted) = self.predict_if_long(built, buffers)? {
            return Ok(predicted);
        }
        let allocation = self.allocation_for(built, buffers)?;
        predict(|| self.ladder.run(built, &mut allocation.buffers))
    }

    /// Predicts the time in milliseconds of a run that takes long, from smaller cases, without making the run; `None` if the run
    /// does not take long.
    pub(super) fn predict_if_long(
        &self,
        built: &L::Built,
        buffers: &mut CaseBuffers<L>,
    ) -> Result<Option<f64>> {
        let case = self.ladder.case_of(built, &buffers.case);
        let cl = self.device(buffers).ok();
        predict_if_long(self.ladder, cl, built, &case, &mut buffers.smaller)
    }

    /// Returns the kernel file of a prepared variant with a hash of its text; `None` if the variant has no kernels.
    pub(super) fn kernel_file(&self, prepared: &PreparedVariant<L>) -> Option<KernelFile> {
        let (_, config) = prepared.kernels.as_ref()?;
        let file = config.code().file();
        let hash = self.cl.as_ref()?.sources().fingerprint(file).ok()?;
        Some(KernelFile { file: file.to_owned(), hash })
    }

    /// Runs all checks of a prepared variant; returns a list of the comparisons.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub fn check(
        &self,
        id: &str,
        prepared: &PreparedVariant<L>,
        buffers: &mut CaseBuffers<L>,
    ) -> VariantResult<Vec<Checked>> {
        let PreparedVariant { built, kernels, .. } = prepared;
        let mut checked = compared(self.check_small_cases(built, "", buffers, &mut || Ok(())))?;
        if let (true, Some((id, config))) = (L::INFO.checks_parameters, kernels)
            && self.cl.as_ref().is_some_and(|cl| cl.sources().is_changed(config.code().file()))
        {
            self.check_parameters(id, config, buffers, &mut checked)?;
        }
        let case = self.ladder.case_of(built, &buffers.case);
        checked.extend(self.ladder.check_in_use(id, built, &case)?);
        Ok(checked)
    }

    /// Checks a built variant at the smallest case only. Returns a report if its output differs from the reference, and the time of
    /// a run in milliseconds.
    pub(super) fn quick_check(
        &self,
        built: &L::Built,
        buffers: &CaseBuffers<L>,
    ) -> Result<(Option<MismatchReport>, f64)> {
        self.checker(buffers, built, "").quick_check(&self.ladder.case_of(built, &buffers.case))
    }

    /// Checks a built variant at the small cases. The first entry of the returned list is the timed case, whose output is compared
    /// later, in timed runs.
    pub(super) fn check_small_cases(
        &self,
        built: &L::Built,
        config_note: &str,
        buffers: &CaseBuffers<L>,
        check_continue: ContinueCheck,
    ) -> Result<CheckResult> {
        let case = self.ladder.case_of(built, &buffers.case);
        let info = self.ladder.describe(&case);
        let timed =
            Checked { inputs: vec![info.timed_input::<L>().to_owned()], timed: true, ..info.check_label() };
        let small = self.checker(buffers, built, config_note).check(&case, check_continue)?;
        Ok(small.map(|small| [timed].into_iter().chain(small).collect()))
    }

    /// Checks modified kernels with the other parameter values that tuning may choose, and adds the comparisons to `checked`.
    fn check_parameters(
        &self,
        id: &'static str,
        config: &Config<L::Code>,
        buffers: &CaseBuffers<L>,
        checked: &mut Vec<Checked>,
    ) -> VariantResult<()> {
        let cl = self.device(buffers)?;
        for other in config.neighbours(&cl.device.info) {
            match self.check_config(&buffers.case, id, &other) {
                // Values that do not build cannot be chosen.
                Err(outcome) if matches!(*outcome, Outcome::Failed(_)) && !self.child.borrow().is_fault() => {
                    continue;
                }
                came => came?,
            }
            let Ok(built) = self.ladder.build(Part::Kernels(cl, &other)) else { continue };
            let way = other.to_string();
            let all = compared(self.check_small_cases(&built, &way, buffers, &mut || Ok(())))?;
            all.into_iter().filter(|one| !one.timed).for_each(|one| one.add_to(checked));
        }
        Ok(())
    }

    /// Checks that the device supports a configuration for the case. Modified kernels are also run in the sandbox.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub(super) fn check_config(
        &self,
        case: &L::Case,
        id: &str,
        config: &Config<L::Code>,
    ) -> VariantResult<()> {
        if let Some(cl) = &self.cl {
            let can = self.ladder.supports(&cl.device, Some(config.code()), case);
            can.map_err(|why| Box::new(Outcome::Unsupported(why)))?;
        }
        let report = self.run_trial(case, config.code().file(), &format!("'{id}'"), Some((id, config)));
        // A kernel that writes outside its output would overwrite other memory of this process.
        require_match(report.map(|report| report.filter(MismatchReport::wrote_elsewhere)))
    }

    /// Runs modified kernels in the sandbox; returns a report if their output differs from the reference. Returns `None` if it is
    /// equal, or if the kernels are not modified. Without `config` the kernels of the first peak kernel are run.
    fn run_trial(
        &self,
        case: &L::Case,
        file: &str,
        name: &str,
        config: Option<(&str, &Config<L::Code>)>,
    ) -> Result<Option<MismatchReport>> {
        let changed = self.cl.as_ref().filter(|cl| cl.sources().is_changed(file));
        let Some(cl) = changed else { return Ok(None) };
        ladder_trial::run_trial::<L>(&mut self.child.borrow_mut(), name, cl, case, config)
    }

    /// Returns true if the last kernels that ran in the sandbox crashed it or did not finish there.
    pub(super) fn has_trial_crashed(&self) -> bool {
        self.child.borrow().is_fault()
    }

    /// Builds a peak kernel, given its index in [`LadderInfo::peaks`].
    ///
    /// # Errors
    /// Returns the outcome that replaces the peak kernel's times.
    pub fn peak(&self, index: usize, buffers: &CaseBuffers<L>) -> VariantResult<L::Built> {
        // Unsupported instead of failed, since the variants report a failure of the device.
        let unsupported = |outcome: Box<Outcome>| Outcome::Unsupported(outcome.reason().unwrap_or_default());
        let cl = self.device(buffers).map_err(|outcome| Box::new(unsupported(outcome)))?;
        let (file, name) = (L::INFO.peak_file, L::INFO.peaks[index].name);
        require_match(self.run_trial(&buffers.case, file, name, None))?;
        self.ladder.build(Part::Peak(cl, index)).map_err(fail)
    }

    /// Loads the input of a timed round into all memory of the case. Computes its expected output if `is_compared`; that of the
    /// first round is known.
    ///
    /// # Errors
    /// Returns an error if the device fails or the reference cannot be computed.
    pub(super) fn load_round(
        &self,
        round: u32,
        is_compared: bool,
        buffers: &mut CaseBuffers<L>,
    ) -> Result<()> {
        for memory in &mut buffers.allocations {
            self.ladder.load_round(&mut memory.buffers, round)?;
            if is_compared
                && round > 0
                && let Some(expected) = self.ladder.expected_round(&memory.buffers, round)?
            {
                (memory.expected, memory.is_of_round) = (expected, true);
            }
        }
        Ok(())
    }

    /// Returns the speed of the device's clock from the readings of the timed rounds.
    ///
    /// # Errors
    /// Returns the reason why the speed is unknown, as a sentence.
    pub(super) fn clock_speed(&self, readings: &[Reading]) -> std::result::Result<ClockSpeed, String> {
        self.clock_reader.as_ref().map_err(Clone::clone).and_then(|reader| ClockSpeed::new(reader, readings))
    }

    /// Runs a built variant once, waits for its end, and returns the times.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn run(&self, built: &L::Built, buffers: &mut CaseBuffers<L>) -> Result<Sample> {
        self.ladder.run(built, &mut self.allocation_for(built, buffers)?.buffers)
    }

    /// Makes a timed run on the input of the first round and compares every element of the output. Before it, the output is
    /// overwritten. Returns the times, and the accuracy of the output if the output need not be exact.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub fn run_compared(
        &self,
        built: &L::Built,
        buffers: &mut CaseBuffers<L>,
    ) -> VariantResult<(Sample, Option<Accuracy>)> {
        self.run_compared_in(ComparedRun { round: None, keeps_memory: false }, built, buffers)
    }

    /// Makes a timed run on the loaded input and compares every element of the output, as [`Self::run_compared`] does.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub(super) fn run_compared_in(
        &self,
        ComparedRun { round, keeps_memory }: ComparedRun,
        built: &L::Built,
        buffers: &mut CaseBuffers<L>,
    ) -> VariantResult<(Sample, Option<Accuracy>)> {
        let Allocation { case, buffers, expected, is_of_round } =
            self.allocation_for(built, buffers).map_err(fail)?;
        let Expected { bytes: expected, elements } = expected;
        if !(keeps_memory && *is_of_round) {
            self.ladder.write(built, buffers, &verify::poisoned(expected)).map_err(fail)?;
        }
        let sample = self.ladder.run(built, buffers).map_err(fail)?;
        let Output { bytes: got, changed } = self.ladder.read(built, buffers).map_err(fail)?;
        let accuracy = Accuracy::of(expected, &got, elements.as_ref());
        let report = verify::compare(expected, &got, elements.as_ref(), changed);
        let info = self.ladder.describe(case);
        let input = info.timed_input.map_or(info.title.as_str(), |input| input);
        let place = round.map(|round| format!(" in round {}", round + 1)).unwrap_or_default();
        let named = |report| MismatchReport { case: format!("{input}, as it is timed{place}"), ..report };
        require_match(Ok(report.map(named)))?;
        Ok((sample, accuracy))
    }

    /// Loads the timed input again after a faulty variant, which may have changed the input that all variants share.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub(super) fn reload(&self, built: &L::Built, buffers: &mut CaseBuffers<L>) -> Result<()> {
        let Allocation { case, buffers, .. } = self.allocation_for(built, buffers)?;
        self.ladder.load(buffers, self.ladder.describe(case).timed_input::<L>()).map(drop)
    }
}

/// Converts the result of the checks: returns the list of comparisons, or as an error the outcome that replaces the variant's
/// times.
fn compared(checked: Result<CheckResult>) -> VariantResult<Vec<Checked>> {
    checked.map_err(fail)?.map_err(|report| Box::new(Outcome::Mismatch(*report)))
}
