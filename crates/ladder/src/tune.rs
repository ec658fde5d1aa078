//! Tuning: finds the fastest variant and parameters for a device by trying configurations. The results are a [`Trial`] for each
//! configuration, and the best of each variant for the [cache](super::cache).
//!
//! From a variant's default configuration each parameter is varied in turn and the best value is kept: coordinate descent, a
//! few dozen trials instead of all combinations. Around the best configuration of all variants, every pair of values of the two
//! parameters with the most values is tried as well, which finds values that are good only together, and makes a [heat
//! map](super::heat). A configuration whose output differs from the reference is never timed. A configuration that is predicted
//! to take far longer than the best one so far is abandoned after the prediction.

use std::cell::RefCell;
use std::time::Instant;

use crate::Outcome;
use crate::cache::{Class, Entry};
use crate::clock_speed::ClockSpeed;
use crate::config::{Config, Param, Tunable};
use crate::measure::{self, Measurement, Sample, TimedTask};
use crate::outcome::to_error;
use crate::runner::{CaseBuffers, Ladder, LadderRunner, Part};
use crate::search::{MAX_RATIO_TO_BEST, TrialResult, coordinate_descent};
use base::error::{Error, Result};
use base::timing::{CpuTimes, Noise, ms_since};
use base::verify::{Checked, MismatchReport};
use opencl::cl::{ClContext, DeviceInfo};
use opencl::clock::ClockState;
use opencl::clock_speed::{ClockReader, Reading};
use opencl::sources::Sources;
use opencl::watch;

/// The predicted time in milliseconds below which a prediction is repeated once before its configuration is abandoned, since a
/// short run is easily disturbed.
const SHORT_MS: f64 = 50.0;
/// The number of timed runs of a trial.
const ROUNDS: u32 = 12;
/// The number of timed runs of each finalist, that is of the best configuration of each variant.
const FINAL_ROUNDS: u32 = 40;

/// The result of trying a configuration.
#[derive(Debug, Clone)]
pub enum Status {
    /// The output is exact; holds the time in milliseconds of the fastest run, which is the least disturbed one.
    Scored(f64),
    /// The configuration is too slow to be timed; holds the predicted time in milliseconds.
    Abandoned(f64),
    /// The output differs from the reference; holds a report of the difference.
    Mismatch(MismatchReport),
    /// The configuration could not be built or run; holds the reason as a sentence.
    Failed(String),
}

impl Status {
    /// Converts an outcome without times to a status.
    fn from_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Mismatch(report) => Self::Mismatch(report),
            other => Self::Failed(to_error(other).to_string()),
        }
    }
}

/// A configuration that was tried.
#[derive(Debug)]
pub struct Trial<C: 'static> {
    /// The variant's id.
    pub variant: &'static str,
    /// The parameters.
    pub config: Config<C>,
    /// Time to compile the kernels and launch them once, in milliseconds; `None` if they were not compiled in this process.
    pub compile_ms: Option<f64>,
    /// The result of trying the configuration.
    pub status: Status,
    /// The median time in milliseconds of the final runs, in which the best configurations of all variants run in turn; `None`
    /// if this is not the best configuration of its variant. Other trials are compared by their minimum, since their runs do
    /// not alternate.
    pub median_ms: Option<f64>,
    /// The disturbances of the timed runs, or of the final runs if [`median_ms`](Self::median_ms) is set; `None` if the runs
    /// were not disturbed or there were none.
    pub noise: Option<Noise>,
}

impl<C> Clone for Trial<C> {
    fn clone(&self) -> Self {
        let Self { variant, config, compile_ms, status, median_ms, noise } = self;
        let (config, status) = (config.clone(), status.clone());
        Self { variant, config, compile_ms: *compile_ms, status, median_ms: *median_ms, noise: *noise }
    }
}

impl<C> Trial<C> {
    /// Returns the minimum time in milliseconds, by which trials are scored; `None` if the configuration was not timed.
    pub fn ms(&self) -> Option<f64> {
        if let Status::Scored(ms) = self.status { Some(ms) } else { None }
    }
}

/// The results of a search.
#[derive(Debug)]
pub struct Search<C: 'static> {
    /// The times of the ladder's first peak kernel, measured in turn with the finalists; `None` if the peak kernel has no
    /// times.
    pub peak: Option<Measurement>,
    /// All trials, in the order in which they were made.
    pub trials: Vec<Trial<C>>,
    /// The comparisons made before a configuration was timed, taken from the first configuration that passed them.
    pub checked: Vec<Checked>,
    /// How far the device's times were used.
    pub clock: ClockState,
    /// The speed of the device's clock during the final runs, or the reason why it is unknown, as a sentence.
    pub clock_speed: std::result::Result<ClockSpeed, String>,
    /// The texts that the kernels were compiled from.
    sources: Sources,
}

impl<C: Tunable> Search<C> {
    /// Returns the cache entries for the best configuration of each variant.
    ///
    /// # Errors
    /// Returns an error if a kernel source cannot be read.
    pub fn entries(&self, device: &DeviceInfo, class: &Class) -> Result<Vec<Entry>> {
        let best = self.trials.iter().filter_map(|t| Some((t, t.median_ms?)));
        best.map(|(t, ms)| Entry::new(device, &self.sources, class, t.variant, &t.config, ms)).collect()
    }
}

/// The variants to search, each with its initial configuration. The variants that are likely the fastest come first, so that
/// slow ones are abandoned early.
pub type InitialConfigs<C> = Vec<(&'static str, Config<C>)>;

/// Observes a search, and may pause or stop it.
pub trait SearchObserver<C: 'static> {
    /// Called before a configuration of `variant` is tried; `trials` are the trials so far.
    fn begin_trial(&mut self, variant: &'static str, config: &Config<C>, trials: &[Trial<C>]);

    /// Called before each piece of work for the device; the longest piece is one run. May wait, which pauses the search.
    /// Returning `false` stops the search.
    fn may_continue(&mut self) -> bool {
        true
    }

    /// Receives an error that does not stop the search.
    fn warn(&mut self, _error: &Error) {}
}

/// Returns the parameters that span the heat map: the two with the most values, the one with more values first.
pub(crate) fn grid_params<C: Tunable>(code: &C) -> Vec<&'static Param> {
    let mut params: Vec<_> = code.params().iter().collect();
    params.sort_by_key(|p| std::cmp::Reverse(p.values.len()));
    params.truncate(2);
    params
}

/// Returns the maximum number of trials that a search over these variants can make, for a progress bar.
pub fn max_trials<C: Tunable>(variants: &InitialConfigs<C>) -> usize {
    let codes = || variants.iter().map(|(_, config)| config.code());
    let trials = |c: &'static C| 1 + c.params().iter().map(|p| p.values.len()).sum::<usize>();
    let map = |c: &'static C| match grid_params(c)[..] {
        [a, b] => a.values.len() * b.values.len(),
        _ => 0,
    };
    codes().map(trials).sum::<usize>() + codes().map(map).max().unwrap_or(0)
}

/// Returns the variants of a ladder that are worth tuning, with their default parameters for a case. Later variants of the
/// ladder are likely faster, so they come first.
pub fn initial_configs<L: Ladder>(
    ladder: &L,
    device: &DeviceInfo,
    case: &L::Case,
) -> InitialConfigs<L::Code> {
    let class = ladder.describe(case).class;
    let code = |variant: &'static crate::variant::Variant<L::Code, L::Host>| {
        Some((variant.id, variant.code(device.kind)?))
    };
    let codes = ladder.variants().iter().rev().filter_map(code).filter(|(_, code)| code.is_tuned());
    codes.map(|(id, code)| (id, Config::for_class(code, device, class))).collect()
}

/// Searches for the best parameters of `variants` for a case. Returns `None` if `observer` stopped the search.
///
/// # Errors Returns an error if there is no device, the device cannot hold the case, or the device fails. If a configuration
/// fails, only its [`Status`] says so.
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
        best_ms: None,
        trials: Vec::new(),
        checked: Vec::new(),
        finalists: Vec::new(),
        readings: Vec::new(),
        observer,
        stopped: false,
    };
    match tuner.run(variants, peak) {
        Ok(peak) => {
            let (trials, checked, sources) = (tuner.trials, tuner.checked, cl.sources().clone());
            let clock_speed = runner.clock_speed(&tuner.readings);
            Ok(Some(Search { peak, trials, checked, clock: runner.clock().clone(), clock_speed, sources }))
        }
        Err(_) if tuner.stopped => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the best trial and its time in milliseconds: the trial with the least [median](Trial::median_ms), or if no trial has
/// a median yet, the trial with the least minimum. `None` if no trial has a time.
pub fn best<C>(trials: &[Trial<C>]) -> Option<(&Trial<C>, f64)> {
    let finalists = trials.iter().filter_map(|t| Some((t, t.median_ms?)));
    let best = finalists.min_by(|a, b| f64::total_cmp(&a.1, &b.1));
    best.or_else(|| fastest(trials).map(|t| (t, min_ms(t))))
}

/// Returns the trial with the least minimum time; `None` if no trial has a time.
fn fastest<C>(trials: &[Trial<C>]) -> Option<&Trial<C>> {
    trials.iter().filter(|t| t.ms().is_some()).min_by(|a, b| f64::total_cmp(&min_ms(a), &min_ms(b)))
}

/// Returns the minimum time of a trial in milliseconds; infinity if its configuration was not timed.
fn min_ms<C>(trial: &Trial<C>) -> f64 {
    trial.ms().unwrap_or(f64::INFINITY)
}

/// The state of a search.
struct Tuner<'c, 'a, 'w, L: Ladder> {
    runner: &'c LadderRunner<'a, L>,
    cl: &'c ClContext,
    buffers: RefCell<CaseBuffers<L>>,
    /// The minimum time of the best trial so far, in milliseconds; `None` before the first trial with a time.
    best_ms: Option<f64>,
    trials: Vec<Trial<L::Code>>,
    checked: Vec<Checked>,
    /// For each variant, the index of its best trial in `trials` and the compiled kernels of that trial.
    finalists: Vec<(usize, L::Built)>,
    /// The speed of the device's clock after each round of the final runs.
    readings: Vec<Reading>,
    observer: &'w mut dyn SearchObserver<L::Code>,
    stopped: bool,
}

/// Status and noise of a measured configuration.
struct TrialOutcome {
    status: Status,
    noise: Option<Noise>,
}

impl TrialOutcome {
    /// Makes the outcome of a configuration that was not timed.
    fn without_times(status: Status) -> Self {
        Self { status, noise: None }
    }
}

/// Asks the observer whether to continue; sets `stopped` to true if not.
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
    fn run(
        &mut self,
        variants: InitialConfigs<L::Code>,
        peak: Option<L::Built>,
    ) -> Result<Option<Measurement>> {
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
    /// `trials` of the first trial of this descent.
    fn descent_result(&self, first: usize) -> TrialResult {
        let Some(last) = self.trials.last() else { return TrialResult::NoTime };
        match &last.status {
            Status::Scored(ms) => TrialResult::Time(*ms),
            _ if self.trials.len() > first + 1 => TrialResult::NoTime,
            Status::Abandoned(_) => TrialResult::Stop,
            // If modified kernels fail in the sandbox, other values are not tried: each could take the whole time limit.
            Status::Failed(_) if self.cl.sources().is_changed(last.config.code().file()) => TrialResult::Stop,
            _ => TrialResult::NoTime,
        }
    }

    /// Tries all pairs of values of the two parameters with the most values, around the best configuration of all.
    fn search_grid(&mut self, device: &DeviceInfo) -> Result<()> {
        let Some(best) = fastest(&self.trials).cloned() else { return Ok(()) };
        let [a, b] = grid_params(best.config.code())[..] else { return Ok(()) };
        for &y in b.values {
            for &x in a.values {
                let config = best.config.clone().with(a.name, x).with(b.name, y);
                let known = self.trials.iter().any(|t| t.variant == best.variant && t.config == config);
                if !known && config.is_allowed(device) {
                    self.run_trial(best.variant, &config)?;
                }
            }
        }
        Ok(())
    }

    /// Tries a configuration and adds the trial to the list.
    fn run_trial(&mut self, variant: &'static str, config: &Config<L::Code>) -> Result<()> {
        check_continue(&mut *self.observer, &mut self.stopped)?;
        self.observer.begin_trial(variant, config, &self.trials);
        let mut trial = Trial {
            variant,
            config: config.clone(),
            compile_ms: None,
            status: Status::Failed(String::new()),
            median_ms: None,
            noise: None,
        };
        let tried = self.runner.check_config(&self.buffers.borrow().case, variant, config);
        if let Err(outcome) = tried {
            self.trials.push(Trial { status: Status::from_outcome(*outcome), ..trial });
            return Ok(());
        }
        let began = Instant::now();
        let built = self.runner.ladder.build(Part::Kernels(self.cl, config));
        trial.compile_ms = Some(ms_since(began));
        let measured =
            built.and_then(|ready| Ok((self.measure_config(&ready, &mut trial.compile_ms)?, ready)));
        let (TrialOutcome { status, noise }, ready) = match measured {
            Err(error) if self.stopped => return Err(error),
            Err(error) => (TrialOutcome::without_times(Status::Failed(error.to_string())), None),
            Ok((measured, ready)) => (measured, Some(ready)),
        };
        let at = self.trials.len();
        self.trials.push(Trial { status, noise, ..trial });
        let (trials, finalists) = (&self.trials, &mut self.finalists);
        if let Some(ready) = ready.filter(|_| trials[at].ms().is_some()) {
            match finalists.iter_mut().find(|(k, _)| trials[*k].variant == variant) {
                Some(kept) if min_ms(&trials[at]) < min_ms(&trials[kept.0]) => *kept = (at, ready),
                Some(_) => {}
                None => finalists.push((at, ready)),
            }
        }
        Ok(())
    }

    /// Runs the compiled kernels `built` once on the case and returns the times.
    fn sample(&self, built: &L::Built) -> Result<Sample> {
        self.runner.run(built, &mut self.buffers.borrow_mut())
    }

    /// Predicts the time of the compiled configuration `built`, checks its output, and times it. Adds the time of the first
    /// launch to `compile_ms`, since some drivers finish compiling then.
    fn measure_config(&mut self, built: &L::Built, compile_ms: &mut Option<f64>) -> Result<TrialOutcome> {
        let began = CpuTimes::now();
        let known_ms = self.best_ms;
        let hopeless = |ms| known_ms.is_some_and(|best| ms > MAX_RATIO_TO_BEST * best + 0.1);
        let differs = |report| Ok(TrialOutcome::without_times(Status::Mismatch(report)));
        check_continue(&mut *self.observer, &mut self.stopped)?;
        let (report, launched_ms) = self.runner.quick_check(built, &self.buffers.borrow())?;
        // Some drivers finish compiling at the first launch.
        *compile_ms = compile_ms.map(|compiled_ms| compiled_ms + launched_ms);
        if let Some(report) = report {
            return differs(report);
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
            return Ok(TrialOutcome::without_times(Status::Abandoned(predicted)));
        }
        let (observer, stopped) = (&mut *self.observer, &mut self.stopped);
        let all = self.runner.check_small_cases(built, "", &self.buffers.borrow(), &mut || {
            check_continue(observer, stopped)
        })?;
        let checked = match all {
            Ok(checked) => checked,
            Err(report) => return differs(*report),
        };
        check_continue(&mut *self.observer, &mut self.stopped)?;
        let first = self.runner.run_compared(built, &mut self.buffers.borrow_mut());
        let first = match first {
            Ok((sample, _)) => sample,
            Err(outcome) => {
                // The variant may have changed the input of all others.
                self.runner.reload(built, &mut self.buffers.borrow_mut())?;
                return Ok(TrialOutcome::without_times(Status::from_outcome(*outcome)));
            }
        };
        if self.checked.is_empty() {
            self.checked = checked;
        }
        let rounds = measure::rounds_for(predicted, ROUNDS, false).unwrap_or(1);
        // The minimum, the least disturbed run: trials do not run in turn, only finalists do.
        let mut samples = vec![first];
        for _ in 1..rounds {
            check_continue(&mut *self.observer, &mut self.stopped)?;
            samples.push(self.sample(built)?);
        }
        let Some(Measurement { time: series, .. }) = Measurement::from_samples(&samples) else {
            return Ok(TrialOutcome::without_times(Status::Failed("It was not measured.".to_owned())));
        };
        let others = began.and_then(|began| CpuTimes::now()?.others_since(&began));
        self.best_ms = Some(known_ms.map_or(series.min, |best| best.min(series.min)));
        let noise = Noise::of(&series, others);
        Ok(TrialOutcome { status: Status::Scored(series.min), noise })
    }

    /// Times the best configuration of each variant and the peak kernel in turn; the medians of these runs decide which is the
    /// fastest. Returns the times of the peak kernel, if there are any.
    fn time_finalists(&mut self, peak: Option<L::Built>) -> Result<Option<Measurement>> {
        let (runner, buffers) = (self.runner, &self.buffers);
        let sample = |built: &L::Built| runner.run(built, &mut buffers.borrow_mut());
        let mut tasks: Vec<TimedTask> = Vec::new();
        if let Some(peak) = &peak {
            sample(peak)?; // warm up
            tasks.push(TimedTask { rounds: FINAL_ROUNDS, run: Box::new(|_| sample(peak)) });
        }
        for (at, ready) in &self.finalists {
            let rounds = measure::rounds_for(min_ms(&self.trials[*at]), FINAL_ROUNDS, false).unwrap_or(1);
            tasks.push(TimedTask { rounds, run: Box::new(|_| sample(ready)) });
        }
        let (observer, stopped) = (&mut *self.observer, &mut self.stopped);
        let readings = &mut self.readings;
        let results = measure::alternate(FINAL_ROUNDS, &mut tasks, |round, _| {
            if round > 0 {
                readings.extend(runner.clock_reader.iter().filter_map(ClockReader::read));
            }
            check_continue(observer, stopped)
        })?;
        drop(tasks);
        let mut measured = results.into_iter().map(|timed| timed.map(|timed| timed.measurement()));
        let peak = match peak.and_then(|_| measured.next()).transpose() {
            Ok(peak) => peak.flatten(),
            Err(error) => {
                self.observer.warn(&error);
                None
            }
        };
        let mut failure = None;
        for ((at, _), measured) in self.finalists.iter().zip(measured) {
            let trial = &mut self.trials[*at];
            match measured {
                Ok(measured) => {
                    trial.median_ms = measured.as_ref().map(|m| m.time.p50);
                    trial.noise = measured.and_then(|m| m.noise());
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
            _ => Ok(peak),
        }
    }
}

#[cfg(test)]
#[path = "tune_tests.rs"]
mod tests;
