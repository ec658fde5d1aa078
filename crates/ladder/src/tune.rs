//! Tuning: finds the fastest variant and parameters for a device by measuring configurations. A search results in a [`Trial`]
//! for each configuration, and in the best configuration of each variant, which goes into the [cache](compute::cache).
//!
//! Starting at a variant's default configuration, coordinate descent varies one parameter after the other and keeps the best
//! value of each, which takes a few dozen measurements instead of all combinations. Then, around the best configuration of all
//! variants, every pair of values of the two parameters with the most values is measured. This finds values that are good only
//! together, and fills a [heat map](super::heat). A configuration whose output differs from the reference is never timed. A
//! configuration that is predicted to take far longer than the best one so far is abandoned after the prediction.
//!
//! At the end, the best configuration of each variant and the default configurations are timed in turn. The fastest one is kept
//! for the variant `auto`. If it is not shown to be faster than a default configuration, the default one is kept instead.

use std::cell::RefCell;
use std::time::Instant;

use crate::Outcome;
use crate::clock_speed::ClockSpeed;
use crate::measure::{self, Alternation, Measurement};
use crate::outcome::to_error;
use crate::rows::{CaseRun, Row};
use crate::runner::{CaseBuffers, Ladder, LadderRunner, Part, describe_case};
use crate::search::{MAX_RATIO_TO_BEST, TrialResult, coordinate_descent};
use base::device::{ClockState, DeviceInfo, Reading};
use base::error::{Error, Result};
use base::timing::{CpuTimes, Noise, Ratio, Verdict, ms_since};
use base::verify::{Checked, MismatchReport};
use compute::KernelFile;
use compute::cache::{Class, Entry};
use compute::config::{Config, Param, Tunable};
use compute::sample::{Sample, named};
use opencl::cl::ClContext;
use opencl::clock_speed::ClockReader;
use opencl::sources::Sources;
use opencl::watch;

/// The predicted time in milliseconds below which a prediction is repeated once before its configuration is abandoned, because
/// a short run is easily disturbed by other work of the machine.
const SHORT_MS: f64 = 50.0;
/// The number of timed runs of each configuration, before the final runs.
const ROUNDS: u32 = 12;
/// The number of timed runs of each finalist. Finalists are the best configuration of each variant and the default
/// configurations.
const FINAL_ROUNDS: u32 = 40;

/// The result of measuring a configuration in a search: its time, or the reason why it has none.
#[derive(Debug, Clone)]
pub enum Status {
    /// The output is right. The value is the time in milliseconds of the fastest run, which is the least disturbed one.
    Scored(f64),
    /// The configuration is too slow to be timed. The value is the predicted time in milliseconds.
    Abandoned(f64),
    /// The output differs from the reference. The value is a report of the difference.
    Mismatch(MismatchReport),
    /// The configuration could not be built or run. The value is the reason as a sentence.
    Failed(String),
}

impl Status {
    fn from_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Mismatch(report) => Self::Mismatch(report),
            other => Self::Failed(to_error(other).to_string()),
        }
    }
}

/// A trial: one configuration that a search has measured, and the result.
#[derive(Debug, Clone)]
pub struct Trial<C: 'static> {
    /// The variant's id.
    pub variant: &'static str,
    /// The configuration: the values of the parameters.
    pub config: Config<C>,
    /// The time to compile the kernels and launch them once, in milliseconds; `None` if they were not compiled in this process.
    pub compile_ms: Option<f64>,
    /// The time of the configuration, or the reason why it has none.
    pub status: Status,
    /// The median time of the final runs in milliseconds, in which the best configurations of all variants and the default ones
    /// run in turn; `None` for configurations without final runs. Those are compared by their minimum times, because their runs
    /// do not alternate.
    pub median_ms: Option<f64>,
    /// True if this is the configuration that the search keeps for the variant `auto`.
    pub is_kept: bool,
    /// The reasons why the times are noisy: those of the final runs if [`median_ms`](Self::median_ms) is set, else those of the
    /// timed runs; `None` if the times are not noisy or there are none.
    pub noise: Option<Noise>,
}

impl<C> Trial<C> {
    /// Returns the minimum time in milliseconds, by which trials are scored; `None` if the configuration was not timed.
    pub fn ms(&self) -> Option<f64> {
        if let Status::Scored(ms) = self.status { Some(ms) } else { None }
    }
}

impl<C: Tunable> Trial<C> {
    /// Returns the variant's id and the parameters, such as "one A=2".
    pub fn name(&self) -> String {
        format!("{} {}", self.variant, self.config).trim_end().to_owned()
    }
}

/// The configuration that a search keeps for the variant `auto`, and its comparison with another one.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The index of the kept configuration's trial in [`Search::trials`].
    pub kept: usize,
    /// The index of the trial with which the kept one is compared, and the verdict on the kept one (`None` if there were too
    /// few runs). If a default configuration is kept, it is compared with the configuration that has the smallest median; any
    /// other kept configuration is compared with the default one. The field is `None` if the default configuration has the
    /// smallest median, or has no times.
    pub other: Option<(usize, Option<Verdict>)>,
}

/// The results of a search for the best configurations at a case.
#[derive(Debug)]
pub struct Search<C: 'static> {
    /// The times of the ladder's first peak kernel, measured in turn with the finalists; `None` if the peak kernel has no
    /// times.
    pub peak: Option<Measurement>,
    /// All trials, in the order in which they were made.
    pub trials: Vec<Trial<C>>,
    /// The comparisons with the reference that a configuration passes before it is timed, taken from the first configuration
    /// that passed them.
    pub checked: Vec<Checked>,
    /// The extent to which the times of the device's clock were used instead of wall times.
    pub clock: ClockState,
    /// The speed of the device's clock during the final runs, or the reason why it is unknown, as a sentence.
    pub clock_speed: Result<ClockSpeed, String>,
    /// The times of the final runs of each finalist, with the index of its trial in [`trials`](Self::trials).
    pub finals: Vec<(usize, Measurement)>,
    /// The configuration that is kept for the variant `auto`; `None` if no configuration has final runs.
    pub choice: Option<Choice>,
    /// The source texts from which the kernels were compiled.
    sources: Sources,
}

impl<C: Tunable> Search<C> {
    /// Returns an entry for the tuning cache for the best configuration of each variant. The entry of the configuration that is
    /// kept for `auto` is marked.
    ///
    /// # Errors
    /// Returns an error if a kernel source cannot be read.
    pub fn entries(&self, device: &DeviceInfo, class: &Class) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut variants: Vec<&str> = Vec::new();
        for trial in self.trials.iter().filter(|trial| trial.median_ms.is_some()) {
            if variants.contains(&trial.variant) {
                continue;
            }
            variants.push(trial.variant);
            let own = self.trials.iter().filter(|other| other.variant == trial.variant);
            let Some((best, ms)) = best_of(own) else { continue };
            let kernels = (best.variant, &best.config);
            let mut entry = Entry::new((device, &self.sources), class, kernels, ms)?;
            entry.kept = best.is_kept;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Returns the final runs as benchmark results, to be saved: a row for each finalist.
    pub fn case_run<L: Ladder<Code = C>>(&self, runner: &LadderRunner<L>, case: &L::Case) -> CaseRun {
        let mut run = CaseRun::new(describe_case(runner.ladder, case));
        if let (Some(outcome), Some(peak)) = (run.peaks.first_mut(), &self.peak) {
            *outcome = Outcome::Ok(peak.clone());
        }
        for (at, measured) in &self.finals {
            let Trial { variant: id, config, .. } = &self.trials[*at];
            let Some(variant) = runner.ladder.variants().iter().find(|variant| variant.id == *id) else {
                continue;
            };
            let file = config.code().file();
            run.rows.push(Row {
                kernel: KernelFile::of(file, &self.sources),
                configuration: Some(config.to_string()).filter(|text| !text.is_empty()),
                checked: self.checked.clone(),
                ..Row::new(runner.entry(variant), Outcome::Ok(measured.clone()))
            });
        }
        CaseRun { clock: self.clock.clone(), clock_speed: self.clock_speed.clone(), ..run }
    }

    /// Returns a sentence that says which configuration is kept for `auto`, and why; `None` if none is kept.
    pub fn choice_text(&self) -> Option<String> {
        let Choice { kept, other } = self.choice?;
        let name = |at: usize| self.trials[at].name();
        let kept = name(kept);
        Some(match other {
            None => format!("{kept} is kept: no other configuration has a lower median."),
            Some((other, None)) => format!(
                "{kept} is kept: the lowest median, of too few runs for a verdict against {}.",
                name(other)
            ),
            Some((other, Some(verdict @ Verdict::NoDifferenceShown { .. }))) => {
                format!("{kept} is kept, the default: {verdict} from {}.", name(other))
            }
            Some((other, Some(verdict))) => {
                format!("{kept} is kept: {verdict}, in turns with the default, {}.", name(other))
            }
        })
    }
}

/// The variants whose parameters are searched, each with the configuration at which its search starts. The variants that are
/// likely the fastest come first, so that slow ones are abandoned early.
pub type InitialConfigs<C> = Vec<(&'static str, Config<C>)>;

/// An observer of a search, which may pause or stop it.
pub trait SearchObserver<C: 'static> {
    /// Called before a configuration of `variant` is measured; `trials` are the trials so far.
    fn begin_trial(&mut self, variant: &'static str, config: &Config<C>, trials: &[Trial<C>]);

    /// Called before the search gives the device more work, which is never longer than one run. May wait, which pauses the
    /// search. Returning `false` stops the search.
    fn may_continue(&mut self) -> bool {
        true
    }

    /// Receives an error that does not stop the search.
    fn warn(&mut self, _error: &Error) {}
}

/// Returns the parameters for the axes of the heat map: the two with the most values, the one with more values first. Returns
/// fewer if the kernels have fewer parameters.
pub(crate) fn grid_params<C: Tunable>(code: &C) -> Vec<&'static Param> {
    let mut params: Vec<_> = code.params().iter().collect();
    params.sort_by_key(|p| std::cmp::Reverse(p.values.len()));
    params.truncate(2);
    params
}

/// Returns the maximum number of trials that a search over these variants can have, for a progress bar.
pub fn max_trials<C: Tunable>(variants: &InitialConfigs<C>) -> usize {
    let codes = || variants.iter().map(|(_, config)| config.code());
    let trials = |c: &'static C| 1 + c.params().iter().map(|p| p.values.len()).sum::<usize>();
    let map = |c: &'static C| match grid_params(c)[..] {
        [a, b] => a.values.len() * b.values.len(),
        _ => 0,
    };
    codes().map(trials).sum::<usize>() + codes().map(map).max().unwrap_or(0)
}

/// Returns the variants of a ladder that are worth tuning, with their default parameters for a case. They are in reverse order
/// of the ladder, since its later variants are likely faster.
pub fn initial_configs<L: Ladder>(
    ladder: &L,
    device: &DeviceInfo,
    case: &L::Case,
) -> InitialConfigs<L::Code> {
    let class = ladder.describe(case).class;
    let code = |variant: &'static compute::variant::Variant<L::Code, L::Host>| {
        Some((variant.id, variant.code(device.kind)?))
    };
    let codes = ladder.variants().iter().rev().filter_map(code).filter(|(_, code)| code.is_tuned());
    codes.map(|(id, code)| (id, Config::for_class(code, device, class))).collect()
}

/// Searches for the best parameters of `variants` for a case. Returns `None` if `observer` stopped the search.
///
/// # Errors
/// Returns an error if there is no device, the device cannot hold the case, or the device fails. The failure of a configuration
/// is no error, but its [`Status`].
pub fn search<L: Ladder>(
    runner: &LadderRunner<L>,
    case: &L::Case,
    variants: InitialConfigs<L::Code>,
    observer: &mut dyn SearchObserver<L::Code>,
) -> Result<Option<Search<L::Code>>> {
    let buffers = runner.allocate(case)?;
    let cl = runner.device(&buffers).map_err(|outcome| to_error(*outcome))?;
    let peak = runner.peak(0, &buffers).map_err(|outcome| observer.warn(&to_error(*outcome))).ok();
    let mut tuner = Tuner {
        runner,
        cl,
        buffers: RefCell::new(buffers),
        trials: Vec::new(),
        checked: Vec::new(),
        finalists: Vec::new(),
        defaults: Vec::new(),
        readings: Vec::new(),
        observer,
        stopped: false,
    };
    match tuner.run(variants, peak) {
        Ok((peak, finals)) => {
            let clock_speed = ClockSpeed::new(&runner.clock_reader, &tuner.readings);
            let Tuner { mut trials, checked, .. } = tuner;
            let choice = choose(&trials, &finals);
            if let Some(Choice { kept, .. }) = choice {
                trials[kept].is_kept = true;
            }
            let (clock, sources) = (runner.clock().clone(), cl.sources().clone());
            Ok(Some(Search { peak, trials, checked, clock, clock_speed, finals, choice, sources }))
        }
        Err(_) if tuner.stopped => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the best trial and its time in milliseconds: the trial that is kept; otherwise the one with the smallest
/// [median](Trial::median_ms); if no trial has a median yet, the one with the smallest minimum. Returns `None` if no trial has
/// a time.
pub fn best<C>(trials: &[Trial<C>]) -> Option<(&Trial<C>, f64)> {
    best_of(trials.iter())
}

/// Returns the best of some trials and its time in milliseconds, as [`best`] does.
pub(crate) fn best_of<'t, C>(
    trials: impl Iterator<Item = &'t Trial<C>> + Clone,
) -> Option<(&'t Trial<C>, f64)> {
    let finalists = trials.clone().filter_map(|t| Some((t, t.median_ms?)));
    let best = finalists.min_by(|a, b| b.0.is_kept.cmp(&a.0.is_kept).then(f64::total_cmp(&a.1, &b.1)));
    best.or_else(|| fastest(trials).map(|t| (t, min_ms(t))))
}

/// Returns the trial with the smallest minimum time; `None` if no trial has a time.
fn fastest<'t, C>(trials: impl Iterator<Item = &'t Trial<C>>) -> Option<&'t Trial<C>> {
    trials.filter(|t| t.ms().is_some()).min_by(|a, b| f64::total_cmp(&min_ms(a), &min_ms(b)))
}

/// Returns the minimum time of a trial in milliseconds; infinity if its configuration was not timed.
fn min_ms<C>(trial: &Trial<C>) -> f64 {
    trial.ms().unwrap_or(f64::INFINITY)
}

/// The times of the final runs: those of the peak kernel, and those of each finalist with the index of its trial.
type Finals = (Option<Measurement>, Vec<(usize, Measurement)>);

/// A search in progress.
struct Tuner<'c, 'a, 'w, L: Ladder> {
    runner: &'c LadderRunner<'a, L>,
    cl: &'c ClContext,
    buffers: RefCell<CaseBuffers<L>>,
    trials: Vec<Trial<L::Code>>,
    checked: Vec<Checked>,
    /// For each variant, the index in `trials` of its best trial, and the compiled kernels of that trial.
    finalists: Vec<(usize, L::Built)>,
    /// For each variant whose best trial is not its default configuration, the index in `trials` of the default configuration's
    /// trial, and the compiled kernels of that trial.
    defaults: Vec<(usize, L::Built)>,
    /// The speed of the device's clock after each round of the final runs.
    readings: Vec<Reading>,
    observer: &'w mut dyn SearchObserver<L::Code>,
    stopped: bool,
}

/// Asks the observer for permission to continue; sets `stopped` to true if it refuses.
///
/// # Errors
/// Returns an error if the search is to stop.
fn check_continue<C: 'static>(observer: &mut dyn SearchObserver<C>, stopped: &mut bool) -> Result<()> {
    *stopped = !observer.may_continue();
    if *stopped { Err(Error::new("The search was ended.", "", "")) } else { Ok(()) }
}

impl<L: Ladder> Tuner<'_, '_, '_, L> {
    /// Runs the whole search on `variants`. Returns the times of the peak kernel; `None` if there is no peak kernel or it has
    /// no times.
    fn run(&mut self, variants: InitialConfigs<L::Code>, peak: Option<L::Built>) -> Result<Finals> {
        let device = self.cl.device.info.clone();
        for (variant, first) in variants {
            let first_trial = self.trials.len();
            coordinate_descent(first, &device, |config| {
                self.run_trial(variant, config)?;
                Ok::<_, Error>(self.descent_result(first_trial))
            })?;
        }
        self.search_grid(&device)?;
        self.time_finalists(peak)
    }

    /// Converts the status of the last trial to the result that [`coordinate_descent`] expects. `first` is the index in
    /// `trials` of the first trial of the current descent.
    fn descent_result(&self, first: usize) -> TrialResult {
        let Some(last) = self.trials.last() else { return TrialResult::NoTime };
        match &last.status {
            Status::Scored(ms) => TrialResult::Time(*ms),
            _ if self.trials.len() > first + 1 => TrialResult::NoTime,
            Status::Abandoned(_) => TrialResult::Stop,
            // If edited kernels fail in the sandbox, no other values are measured, because each could take the whole time
            // limit.
            Status::Failed(_) if self.cl.sources().is_changed(last.config.code().file()) => TrialResult::Stop,
            _ => TrialResult::NoTime,
        }
    }

    /// Measures all pairs of values of the two parameters with the most values, around the best configuration of all variants.
    fn search_grid(&mut self, device: &DeviceInfo) -> Result<()> {
        let Some(best) = fastest(self.trials.iter()) else { return Ok(()) };
        let (variant, best) = (best.variant, best.config.clone());
        let [a, b] = grid_params(best.code())[..] else { return Ok(()) };
        for &y in b.values {
            for &x in a.values {
                let config = best.clone().with(a.name, x).with(b.name, y);
                let known = self.trials.iter().any(|t| t.variant == variant && t.config == config);
                if !known && config.is_allowed(device) {
                    self.run_trial(variant, &config)?;
                }
            }
        }
        Ok(())
    }

    /// Measures a configuration and adds its trial to the list.
    fn run_trial(&mut self, variant: &'static str, config: &Config<L::Code>) -> Result<()> {
        check_continue(&mut *self.observer, &mut self.stopped)?;
        self.observer.begin_trial(variant, config, &self.trials);
        let mut trial = Trial {
            variant,
            config: config.clone(),
            compile_ms: None,
            status: Status::Failed(String::new()),
            median_ms: None,
            is_kept: false,
            noise: None,
        };
        let tried = self.runner.check_config(&self.buffers.borrow().case, variant, config);
        if let Err(outcome) = tried {
            self.trials.push(Trial { status: Status::from_outcome(*outcome), ..trial });
            return Ok(());
        }
        let name = trial.name();
        let began = Instant::now();
        let built = self.runner.ladder.build(Part::Kernels(self.cl, config));
        trial.compile_ms = Some(ms_since(began));
        let measured = built.and_then(|ready| {
            let compile_ms = &mut trial.compile_ms;
            let measured = named(&name, || self.measure_config(&ready, compile_ms))?;
            Ok((measured, ready))
        });
        let ((status, noise), ready) = match measured {
            Err(error) if self.stopped => return Err(error),
            Err(error) => ((Status::Failed(error.to_string()), None), None),
            Ok((measured, ready)) => (measured, Some(ready)),
        };
        let at = self.trials.len();
        self.trials.push(Trial { status, noise, ..trial });
        let (trials, finalists) = (&self.trials, &mut self.finalists);
        if let Some(ready) = ready.filter(|_| trials[at].ms().is_some()) {
            match finalists.iter_mut().find(|(k, _)| trials[*k].variant == variant) {
                Some(kept) if min_ms(&trials[at]) < min_ms(&trials[kept.0]) => {
                    let before = std::mem::replace(kept, (at, ready));
                    // The first trial of a variant is that of its default configuration.
                    if trials.iter().position(|trial| trial.variant == variant) == Some(before.0) {
                        self.defaults.push(before);
                    }
                }
                Some(_) => {}
                None => finalists.push((at, ready)),
            }
        }
        Ok(())
    }

    /// Runs the compiled kernels `built` once at the case of the search and returns the times.
    fn sample(&self, built: &L::Built) -> Result<Sample> {
        self.runner.run(built, &mut self.buffers.borrow_mut())
    }

    /// Predicts the time of the compiled configuration `built`, checks its output, and times it. Adds the time of the first
    /// launch to `compile_ms`, because some drivers finish compiling then. Returns the status, and the noise of the times.
    fn measure_config(
        &mut self,
        built: &L::Built,
        compile_ms: &mut Option<f64>,
    ) -> Result<(Status, Option<Noise>)> {
        let began = CpuTimes::now();
        let best_ms = fastest(self.trials.iter()).map(min_ms);
        let hopeless = |ms| best_ms.is_some_and(|best| ms > MAX_RATIO_TO_BEST * best + 0.1);
        check_continue(&mut *self.observer, &mut self.stopped)?;
        let (report, launched_ms) = self.runner.quick_check(built, &self.buffers.borrow())?;
        // Some drivers finish compiling at the first launch.
        *compile_ms = compile_ms.map(|compiled_ms| compiled_ms + launched_ms);
        if let Some(report) = report {
            return Ok((Status::Mismatch(report), None));
        }
        // No time is taken before the clock is calibrated.
        let _ = self.runner.clock();
        // A run that smaller cases predict to take long is not made for a prediction.
        let long_ms = self.runner.predict_if_long(built, &mut self.buffers.borrow_mut())?;
        let mut predicted = match long_ms {
            Some(predicted) => predicted,
            None => self.sample(built)?.ms(),
        };
        if hopeless(predicted) && predicted < SHORT_MS {
            // A short run may have been disturbed, and the first run is a cold one.
            predicted = predicted.min(self.sample(built)?.ms());
        }
        let _watchdog = watch::step("a configuration is checked and timed", predicted);
        if hopeless(predicted) {
            return Ok((Status::Abandoned(predicted), None));
        }
        let (observer, stopped) = (&mut *self.observer, &mut self.stopped);
        let all = self.runner.check_small_cases((built, ""), &self.buffers.borrow(), &mut || {
            check_continue(observer, stopped)
        })?;
        let checked = match all {
            Ok(checked) => checked,
            Err(report) => return Ok((Status::Mismatch(*report), None)),
        };
        check_continue(&mut *self.observer, &mut self.stopped)?;
        let first = self.runner.run_compared((None, false), built, &mut self.buffers.borrow_mut());
        let first = match first {
            Ok((sample, _)) => sample,
            Err(outcome) => {
                // The variant may have changed the input that all others share.
                self.runner.reload(built, &mut self.buffers.borrow_mut())?;
                return Ok((Status::from_outcome(*outcome), None));
            }
        };
        if self.checked.is_empty() {
            self.checked = checked;
        }
        let rounds = measure::rounds_for(predicted, ROUNDS, false).unwrap_or(1);
        // The minimum counts, which is the least disturbed run: trials do not run in turn, only finalists do.
        let mut samples = vec![first];
        for _ in 1..rounds {
            check_continue(&mut *self.observer, &mut self.stopped)?;
            samples.push(self.sample(built)?);
        }
        let Some(Measurement { time: series, .. }) = Measurement::from_samples(&samples) else {
            return Ok((Status::Failed("It was not measured.".to_owned()), None));
        };
        let others = began.and_then(|began| CpuTimes::now()?.others_since(&began));
        Ok((Status::Scored(series.min), Noise::of(&series, others)))
    }

    /// Makes the final runs: times the best configuration of each variant, the default configurations and the peak kernel in
    /// turn. Returns the times of the peak kernel, if it has any, and those of each finalist with the index of its trial in
    /// `trials`.
    fn time_finalists(&mut self, peak: Option<L::Built>) -> Result<Finals> {
        // The default configurations of the variant that is expected to be the fastest, and of the one that is.
        let fastest = fastest(self.trials.iter()).map(|trial| trial.variant);
        let first = self.trials.first().map(|trial| trial.variant);
        let defaults = std::mem::take(&mut self.defaults).into_iter().filter(|(at, _)| {
            let variant = Some(self.trials[*at].variant);
            variant == fastest || variant == first
        });
        self.finalists.extend(defaults);
        if let Some(peak) = &peak {
            self.sample(peak)?; // warm up
        }
        let rounds = |(at, _): &(usize, _)| {
            measure::rounds_for(min_ms(&self.trials[*at]), FINAL_ROUNDS, false).unwrap_or(1)
        };
        let rounds = peak.iter().map(|_| FINAL_ROUNDS).chain(self.finalists.iter().map(rounds));
        let mut turns = Alternation::new(rounds.collect(), Vec::new());
        for round in 0..FINAL_ROUNDS {
            if round > 0 {
                self.readings.extend(self.runner.clock_reader.iter().filter_map(ClockReader::read));
            }
            check_continue(&mut *self.observer, &mut self.stopped)?;
            turns.round(round, |at, _| match (&peak, at) {
                (Some(peak), 0) => self.sample(peak),
                _ => {
                    let (trial, built) = &self.finalists[at - usize::from(peak.is_some())];
                    named(&self.trials[*trial].name(), || self.sample(built))
                }
            });
        }
        turns.finish();
        let results = turns.results.into_iter();
        let mut measured = results.map(|timed| timed.map(|timed| timed.measurement()));
        let peak = peak.and_then(|_| measured.next()).transpose();
        let peak = peak.inspect_err(|error| self.observer.warn(error)).ok().flatten().flatten();
        let (mut finals, mut failure) = (Vec::new(), None);
        for ((at, _), measured) in self.finalists.iter().zip(measured) {
            let trial = &mut self.trials[*at];
            match measured {
                Ok(measured) => {
                    trial.median_ms = measured.as_ref().map(|m| m.time.p50);
                    trial.noise = measured.as_ref().and_then(Measurement::noise);
                    finals.extend(measured.map(|measured| (*at, measured)));
                }
                Err(error) => {
                    trial.status = Status::Failed(error.to_string());
                    failure = Some(error);
                }
            }
        }
        match failure {
            // No finalist has a time: the device is at fault.
            Some(error) if self.finalists.iter().all(|(at, _)| self.trials[*at].median_ms.is_none()) => {
                Err(error)
            }
            _ => Ok((peak, finals)),
        }
    }
}

/// Chooses the configuration to keep from the times of the final runs: the one with the smallest median, or a default
/// configuration if the two are not shown to differ. The default configuration of the first variant is compared first, then
/// that of the fastest variant. `None` if there are no final runs.
fn choose<C>(trials: &[Trial<C>], finals: &[(usize, Measurement)]) -> Option<Choice> {
    let (fastest, least) = finals.iter().min_by(|a, b| f64::total_cmp(&a.1.time.p50, &b.1.time.p50))?;
    let default_of =
        |variant: &str| trials.iter().position(|trial| trial.variant == variant).filter(|at| at != fastest);
    let defaults = [trials.first()?.variant, trials[*fastest].variant].into_iter().filter_map(default_of);
    let timed = |at: usize| finals.iter().find(|(known, _)| *known == at);
    // The verdict on the fastest configuration.
    let compared = defaults.filter_map(timed).map(|(at, measured)| {
        let verdict = Ratio::of_pairs(&measured.times(), &least.times()).map(Ratio::verdict);
        (*at, verdict)
    });
    let compared: Vec<(usize, Option<Verdict>)> = compared.collect();
    let is_tie =
        |(_, verdict): &&(usize, Option<Verdict>)| matches!(verdict, Some(Verdict::NoDifferenceShown { .. }));
    Some(match compared.iter().find(is_tie) {
        Some((kept, verdict)) => Choice { kept: *kept, other: Some((*fastest, *verdict)) },
        None => Choice { kept: *fastest, other: compared.last().copied() },
    })
}

#[cfg(test)]
#[path = "tune_tests.rs"]
mod tests;
