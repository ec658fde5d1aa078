//! [`LadderRunner`] builds, checks and runs the variants of a ladder on one device for [the benchmark](super::rounds) and [the
//! search](super::tune). Everything runs on the thread that created the runner.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::convert::Infallible;

use super::check::{CheckResult, ContinueCheck, VariantChecker};
pub use super::definition::{
    CaseInfo, Expected, Ladder, LadderInfo, Output, Part, cache_class, describe_case,
};
use super::growth::{SmallerBuffers, predict_if_long};
use super::ladder_trial::Task;
use super::outcome::{VariantResult, fail, predict, require_match};
use super::rows::{AutoChoice, Entry, Row};
use super::search::{MAX_RATIO_TO_BEST, TrialResult, coordinate_descent};
use crate::Outcome;
use base::device::ClockState;
use base::error::{Error, Result};
use base::memory::require;
use base::verify::{self, Accuracy, Checked, MismatchReport};
use compute::KernelFile;
use compute::cache::Cache;
use compute::config::{Config, Tunable};
use compute::sample::Sample;
use compute::trial::{Child, Request};
use compute::variant::{Variant, Work};
use opencl::cl::{ClContext, Device};
use opencl::clock;
use opencl::clock_speed::ClockReader;
use opencl::machine_code;
use opencl::program;
use opencl::sources::Sources;

/// A runner, which builds, checks and runs the variants of a ladder on one device, or without a device.
pub struct LadderRunner<'a, L: Ladder> {
    pub(super) ladder: &'a L,
    pub(super) cl: Option<ClContext>,
    /// The outcome of variants that need a device, for use if there is no usable device.
    no_device: Box<Outcome>,
    /// The child process (the sandbox) for the trials of edited kernels.
    child: RefCell<&'a mut Child>,
    clock: OnceCell<ClockState>,
    /// The reader of the device's clock speed, or the reason why the speed cannot be read, as a sentence.
    pub(super) clock_reader: Result<ClockReader, String>,
}

/// The memory in which variants compute a case: one allocation for each kind of memory (buffers or images) that the variants
/// use.
pub struct CaseBuffers<L: Ladder> {
    pub(super) case: L::Case,
    allocations: Vec<Allocation<L>>,
    /// Smaller cases, whose times predict the time of this case.
    smaller: SmallerBuffers<L>,
    /// The outcome of variants that need the device, if the device has not enough memory for the case; else `None`.
    no_device_memory: Option<Box<Outcome>>,
}

/// Memory for a case that is loaded with an input, and the expected output for that input.
struct Allocation<L: Ladder> {
    case: L::Case,
    buffers: L::Buffers,
    expected: Expected,
    /// True if `expected` belongs to the input of a single round, because in this ladder each round has its own input.
    is_of_round: bool,
}

impl<L: Ladder> Allocation<L> {
    /// Allocates memory for a case and loads the input that is timed. If `cl` is `None`, all memory is on the host.
    fn new(ladder: &L, cl: Option<&ClContext>, case: &L::Case) -> Result<Self> {
        let mut buffers = ladder.allocate(cl, case, 0)?;
        let expected = ladder.load(&mut buffers, ladder.describe(case).timed_input(ladder.info()))?;
        Ok(Self { case: case.clone(), buffers, expected, is_of_round: false })
    }
}

/// A variant that has been built and has passed a first check, with a prediction of its time.
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
    /// Adds to a row the kernel file, the parameters, and the exact reads, writes and operations of the variant's kernels at a
    /// case. Those of edited kernels are not known. If `registers` is true, also adds the number of registers of each kernel; the
    /// kernels are compiled once more to determine it.
    pub(super) fn describe(&self, runner: &LadderRunner<L>, case: &L::Case, registers: bool, row: &mut Row) {
        row.auto_choice = self.auto_choice.clone();
        let (Some(cl), Some((_, config))) = (&runner.cl, &self.kernels) else { return };
        let (file, sources) = (config.code().file(), cl.sources());
        row.kernel = KernelFile::of(file, sources);
        row.parameters = Some(config.to_string()).filter(|parameters| !parameters.is_empty());
        if !sources.is_changed(file) {
            let case = runner.ladder.case_of(&self.built, case);
            row.work = runner.ladder.work(config, &cl.device.info, &case);
        }
        if registers && let Ok((binary, log)) = program::binary_and_log(cl, file, &config.options()) {
            row.registers = machine_code::registers(&binary, &log);
        }
    }
}

/// The id of a variant, the parameters of its kernels, and the compiled kernels.
type BuiltConfig<L> = (&'static str, Config<<L as Ladder>::Code>, <L as Ladder>::Built);

impl<'a, L: Ladder> LadderRunner<'a, L> {
    /// Creates a runner and opens the device; kernels are compiled from `sources`. If there is no device or it cannot be
    /// opened, only variants without OpenCL can be timed, and no peak kernels. Trials of edited kernels run in the child
    /// process `child`.
    pub fn new(ladder: &'a L, device: Option<&Device>, sources: Sources, child: &'a mut Child) -> Self {
        let cl = device.map(|device| ClContext::new(device, sources)).transpose();
        let (cl, no_device) = match cl {
            Ok(cl) => (cl, Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))),
            Err(error) => (None, fail(error)),
        };
        let clock_reader = ClockReader::new(cl.as_ref().map(|cl| &cl.device));
        Self { ladder, cl, no_device, child: RefCell::new(child), clock: OnceCell::new(), clock_reader }
    }

    /// Creates a runner of the same ladder on the same device with kernels from other `sources`; both runners use the same
    /// memory. Trials of edited kernels run in the child process `child`.
    #[must_use]
    pub fn with_sources(&self, sources: Sources, child: &'a mut Child) -> Self {
        let cl = self.cl.as_ref().map(|cl| cl.with_sources(sources));
        let clock_reader = Err("The runner of the first kernels reads it.".to_owned());
        let (clock, no_device) = (self.clock.clone(), self.no_device.clone());
        Self { ladder: self.ladder, cl, no_device, child: RefCell::new(child), clock, clock_reader }
    }

    /// Returns the extent to which the times of the device's clock are used instead of wall times; calibrates the clock on the
    /// first call.
    pub fn clock(&self) -> &ClockState {
        let calibrate = || self.cl.as_ref().map_or(ClockState::Uncalibrated(None), clock::calibrate);
        self.clock.get_or_init(calibrate)
    }

    /// Returns the names, the technology and the peak kernel of a variant, for reports.
    pub fn entry(&self, variant: &Variant<L::Code, L::Host>) -> Entry {
        Entry::new(variant, self.cl.as_ref().map(|cl| cl.device.info.kind))
    }

    /// Allocates memory for a case and loads the input that is timed.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory, or the device fails.
    pub fn allocate(&self, case: &L::Case) -> Result<CaseBuffers<L>> {
        require(self.ladder.describe(case).memory)?;
        let (made, no_device_memory) = match Allocation::new(self.ladder, self.cl.as_ref(), case) {
            // Variants without OpenCL need no device memory.
            Err(error) if self.cl.is_some() => (Allocation::new(self.ladder, None, case), Some(fail(error))),
            made => (made, None),
        };
        let allocations = vec![made?];
        Ok(CaseBuffers { case: case.clone(), allocations, smaller: Vec::new(), no_device_memory })
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
                let memory = Allocation::new(self.ladder, self.device(buffers).ok(), &case)?;
                buffers.allocations.push(memory);
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
            Work::Kernels(_) => match self.build_with_results(variant, buffers) {
                Some((id, config, built)) => {
                    let choice = AutoChoice { config: config.to_string(), from_cache: Some(true) };
                    (built, Some((id, config)), Some(choice).filter(|choice| !choice.config.is_empty()))
                }
                None => {
                    let (id, config, built) = self.build_default(variant, buffers)?;
                    (built, Some((id, config)), None)
                }
            },
            &Work::Fastest(untuned) => {
                let tuned = build_tuned(self, buffers);
                let is_tuned = untuned.is_none().then_some(tuned.is_some());
                let (id, config, built) = match (tuned, untuned) {
                    (Some(tuned), _) => tuned,
                    (None, Some(untuned)) => {
                        let known = self.ladder.variants().iter().find(|variant| variant.id == untuned);
                        let none = || fail(Error::new("Nothing could be chosen.", "Nothing is tuned.", ""));
                        self.build_default(known.ok_or_else(none)?, buffers)?
                    }
                    (None, None) => search_fastest(self, buffers)?,
                };
                let what = format!("{id} {config}").trim_end().to_owned();
                (built, Some((id, config)), Some(AutoChoice { config: what, from_cache: is_tuned }))
            }
        };
        require_match(self.quick_check(&built, buffers).map(|(report, _)| report))?;
        let predicted_ms = self.predict(&built, buffers).map_err(fail)?;
        Ok(PreparedVariant { built, predicted_ms, auto_choice, kernels })
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
        let class = self.ladder.describe(&buffers.case).class;
        let config = Config::for_class(code, &cl.device.info, class);
        self.check_config(&buffers.case, variant.id, &config)?;
        let built = self.ladder.build(Part::Kernels(cl, &config)).map_err(fail)?;
        Ok((variant.id, config, built))
    }

    /// Builds a variant's kernels with the parameters that tuning found for this variant. Returns `None` if it found none, if they
    /// cannot be built any more, or if only automatic variants [use tuning results](CaseInfo::uses_tuned) at this case.
    fn build_with_results(
        &self,
        variant: &Variant<L::Code, L::Host>,
        buffers: &CaseBuffers<L>,
    ) -> Option<BuiltConfig<L>> {
        let (cl, case) = (self.device(buffers).ok()?, &buffers.case);
        self.ladder.describe(case).uses_tuned.then_some(())?;
        let (class, code) = (cache_class(self.ladder, case), variant.code(cl.device.info.kind)?);
        let device = &cl.device.info;
        let config = Cache::load().config_of(device, cl.sources(), &class, (variant.id, code))?;
        self.check_config(case, variant.id, &config).ok()?;
        let built = self.ladder.build(Part::Kernels(cl, &config)).ok()?;
        Some((variant.id, config, built))
    }

    /// Predicts the time of a run in milliseconds: from smaller cases if the run takes long, otherwise by making the run.
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
        predict_if_long((self.ladder, built), cl, &case, &mut buffers.smaller)
    }

    /// Runs all checks of a prepared variant; returns a list of the comparisons with the reference that it has passed.
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
        let mut checked = compared(self.check_small_cases((built, ""), buffers, &mut || Ok(())))?;
        if let (true, Some((id, config))) = (self.ladder.info().checks_parameters, kernels)
            && self.cl.as_ref().is_some_and(|cl| cl.sources().is_changed(config.code().file()))
        {
            self.check_parameters((id, config), buffers, &mut checked)?;
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
        let cl = self.device(buffers).ok();
        let checker = VariantChecker::new(self.ladder, cl, built);
        checker.quick_check(&self.ladder.case_of(built, &buffers.case))
    }

    /// Checks a built variant at the small cases. `note` contains the parameters that differ from the default ones, and is
    /// empty if none do. The first entry of the returned list is the timed case, whose output is compared later, in timed runs.
    pub(super) fn check_small_cases(
        &self,
        (built, config_note): (&L::Built, &str),
        buffers: &CaseBuffers<L>,
        check_continue: ContinueCheck,
    ) -> Result<CheckResult> {
        let case = self.ladder.case_of(built, &buffers.case);
        let info = self.ladder.describe(&case);
        let timed = Checked {
            inputs: vec![info.timed_input(self.ladder.info()).to_owned()],
            timed: true,
            ..info.check_label()
        };
        let cl = self.device(buffers).ok();
        let checker = VariantChecker { config_note, ..VariantChecker::new(self.ladder, cl, built) };
        let small = checker.check(&case, check_continue)?;
        Ok(small.map(|small| [timed].into_iter().chain(small).collect()))
    }

    /// Checks edited kernels with the parameter values, other than the default ones, that tuning may choose; adds the
    /// comparisons with the reference to `checked`.
    fn check_parameters(
        &self,
        (id, config): (&'static str, &Config<L::Code>),
        buffers: &CaseBuffers<L>,
        checked: &mut Vec<Checked>,
    ) -> VariantResult<()> {
        let cl = self.device(buffers)?;
        for other in config.neighbours(&cl.device.info) {
            match self.check_config(&buffers.case, id, &other) {
                // Parameter values with which the kernels do not build cannot be chosen.
                Err(outcome) if matches!(*outcome, Outcome::Failed(_)) && !self.child.borrow().is_fault() => {
                    continue;
                }
                came => came?,
            }
            let Ok(built) = self.ladder.build(Part::Kernels(cl, &other)) else { continue };
            let way = other.to_string();
            let all = compared(self.check_small_cases((&built, &way), buffers, &mut || Ok(())))?;
            all.into_iter().filter(|one| !one.timed).for_each(|one| one.add_to(checked));
        }
        Ok(())
    }

    /// Returns `Ok` if the device supports a configuration for the case. For edited kernels, also runs a trial in the sandbox.
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
        let report = self.run_trial(case, Some((id, config)));
        // A kernel that writes outside its output would overwrite other memory of this process.
        require_match(report.map(|report| report.filter(MismatchReport::wrote_elsewhere)))
    }

    /// Runs the trial of edited kernels in the sandbox, for a variant's id and configuration, or for the first peak kernel if
    /// these are `None`. Returns a report if the output differs from the reference; `None` if it does not, or if the kernels
    /// are not edited.
    fn run_trial(
        &self,
        case: &L::Case,
        kernels: Option<(&str, &Config<L::Code>)>,
    ) -> Result<Option<MismatchReport>> {
        let LadderInfo { peak_file, peaks, .. } = self.ladder.info();
        let (file, name) = match kernels {
            Some((id, config)) => (config.code().file(), format!("'{id}'")),
            None => (*peak_file, peaks[0].name.to_owned()),
        };
        let changed = self.cl.as_ref().filter(|cl| cl.sources().is_changed(file));
        let Some(cl) = changed else { return Ok(None) };
        let params = |config: &Config<L::Code>| {
            config.code().params().iter().map(|p| (p.name.to_owned(), config.get(p.name))).collect()
        };
        let kernels = kernels.map(|(id, config)| (id.to_owned(), params(config)));
        let request = Request::new(cl, Task { kernels, case: case.clone() });
        self.child.borrow_mut().ask(&name, &request, &|| Ok(Cow::Borrowed(&[])), &mut [])
    }

    /// Builds the peak kernel with this index in [`LadderInfo::peaks`].
    ///
    /// # Errors
    /// Returns the outcome that replaces the peak kernel's times.
    pub fn peak(&self, index: usize, buffers: &CaseBuffers<L>) -> VariantResult<L::Built> {
        // The outcome is not `Failed`, because the variants report a failure of the device.
        let unsupported = |outcome: Box<Outcome>| Outcome::Unsupported(outcome.reason().unwrap_or_default());
        let cl = self.device(buffers).map_err(|outcome| Box::new(unsupported(outcome)))?;
        require_match(self.run_trial(&buffers.case, None))?;
        self.ladder.build(Part::Peak(cl, index)).map_err(fail)
    }

    /// Loads the input of a timed round into all memory of the case. If `is_compared` is true, also computes the expected
    /// output for this input; for the first round it is known already.
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

    /// Runs a built variant once, waits for its end, and returns the times.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn run(&self, built: &L::Built, buffers: &mut CaseBuffers<L>) -> Result<Sample> {
        self.ladder.run(built, &mut self.allocation_for(built, buffers)?.buffers)
    }

    /// Overwrites the output, makes a timed run on the loaded input, and compares every element of the new output with the
    /// reference. Returns the times, and the accuracy of the output if it need not be exact. `round` is the number of the round;
    /// `None` for a run that belongs to no round.
    ///
    /// If `keeps_memory` is true, the results of earlier runs are left in memory, in ladders in which each round has its own input.
    /// A variant that reuses results of an earlier round instead of computing them then differs from the reference. If the memory
    /// were overwritten, it might compute them again and pass.
    ///
    /// # Errors
    /// Returns the outcome that replaces the variant's times.
    pub fn run_compared(
        &self,
        (round, keeps_memory): (Option<u32>, bool),
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
        self.ladder.load(buffers, self.ladder.describe(case).timed_input(self.ladder.info())).map(drop)
    }
}

/// Returns the list of comparisons that the checks have passed. A mismatch report or an error becomes the outcome that replaces
/// the variant's times.
fn compared(checked: Result<CheckResult>) -> VariantResult<Vec<Checked>> {
    checked.map_err(fail)?.map_err(|report| Box::new(Outcome::Mismatch(*report)))
}

/// The number of timed runs of a configuration in a search. The fastest run counts, because it is the least disturbed.
const SEARCH_RUNS: usize = 5;

/// Builds the variant with the parameters that the tuning cache has for the class of this case (the group of similar cases that
/// share a tuning result); `None` if the cache has no entry for the class, or its variant can no longer be built.
fn build_tuned<L: Ladder>(runner: &LadderRunner<L>, buffers: &CaseBuffers<L>) -> Option<BuiltConfig<L>> {
    let (cl, case) = (runner.device(buffers).ok()?, &buffers.case);
    let class = cache_class(runner.ladder, case);
    let named = |name: &str| runner.ladder.variants().iter().find(|variant| variant.id == name);
    let kind = cl.device.info.kind;
    let (id, config) = Cache::load().fastest(&cl.device.info, cl.sources(), &class, |name| {
        named(name).and_then(|variant| Some((variant.id, variant.code(kind)?)))
    })?;
    runner.check_config(case, id, &config).ok()?;
    let built = runner.ladder.build(Part::Kernels(cl, &config)).ok()?;
    Some((id, config, built))
}

/// Finds the ladder's fastest kernels and their parameters by a short search, and builds them. Configurations whose output
/// differs from the reference are not timed.
///
/// # Errors
/// Returns an outcome if no variant works: a mismatch if an output differed, otherwise the reason of the first failure.
fn search_fastest<L: Ladder>(
    runner: &LadderRunner<L>,
    buffers: &mut CaseBuffers<L>,
) -> VariantResult<BuiltConfig<L>> {
    let cl = runner.device(buffers)?;
    let device = &cl.device.info;
    let mut best: Option<(&'static str, Config<L::Code>, f64)> = None;
    let mut reason: Option<Box<Outcome>> = None;
    // Later variants are likely faster, so slow ones are abandoned early.
    for variant in runner.ladder.variants().iter().rev() {
        let Some(code) = variant.code(device.kind) else { continue };
        let first = Config::for_class(code, device, runner.ladder.describe(&buffers.case).class);
        let mut is_first = true;
        let hopeless_ms = best.as_ref().map_or(f64::INFINITY, |best| MAX_RATIO_TO_BEST * best.2);
        // If edited kernels fail in their trial, no other values are searched, because each could take the whole time limit.
        let found = coordinate_descent(first, device, |config| {
            let mut time = || -> VariantResult<f64> {
                runner.check_config(&buffers.case, variant.id, config)?;
                let built = runner.ladder.build(Part::Kernels(cl, config)).map_err(fail)?;
                let predicted = runner.predict(&built, buffers).map_err(fail)?;
                if predicted > hopeless_ms {
                    return Ok(predicted);
                }
                compared(runner.check_small_cases((&built, ""), buffers, &mut || Ok(())))?;
                let mut least = f64::INFINITY;
                for _ in 0..SEARCH_RUNS {
                    least = least.min(runner.run(&built, buffers).map_err(fail)?.ms());
                }
                Ok(least)
            };
            let is_first = std::mem::replace(&mut is_first, false);
            Ok::<_, Infallible>(match time() {
                Ok(ms) if ms > hopeless_ms && is_first => TrialResult::Stop,
                Ok(ms) if ms > hopeless_ms => TrialResult::NoTime,
                Ok(ms) => TrialResult::Time(ms),
                Err(why) => {
                    let differs = |outcome: &Outcome| matches!(outcome, Outcome::Mismatch(_));
                    if reason.as_deref().is_none_or(|known| differs(&why) && !differs(known)) {
                        reason = Some(why);
                    }
                    if runner.child.borrow().is_fault() { TrialResult::Stop } else { TrialResult::NoTime }
                }
            })
        });
        let Ok(found) = found;
        if let Some((config, ms)) = found.filter(|(_, ms)| best.as_ref().is_none_or(|best| *ms < best.2)) {
            best = Some((variant.id, config, ms));
        }
    }
    let Some((id, config, _)) = best else {
        let none = || fail(Error::new("Nothing could be chosen.", "None of the kernels can run.", ""));
        return Err(reason.unwrap_or_else(none));
    };
    let built = runner.ladder.build(Part::Kernels(cl, &config)).map_err(fail)?;
    Ok((id, config, built))
}
