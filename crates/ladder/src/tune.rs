//! Finds the fastest rung and parameters for a device by trying them. In: the rungs with their first parameters, and a
//! [`Judge`] that knows one case of a ladder. Out: a [`Trial`] for each configuration, and the best of each rung for the
//! [cache](super::cache).
//!
//! From a rung's default each parameter is varied in turn, and the best value is kept: coordinate descent, a few dozen
//! trials instead of all combinations. Around the best of all, every pair of values of the two parameters that have the
//! most is tried as well, which finds what goes well only together, and makes a [map](super::heat). What differs from the
//! reference is never timed. What is predicted to take far longer than the best so far is abandoned after that
//! prediction.

use crate::cache::{Class, Entry};
use crate::config::{Config, Param, Tunable};
use crate::judge::{Judge, Status};
use crate::measure::{self, Contender, Measurement};
use crate::search::{Attempt, descend};
use base::error::{Error, Result};
use base::timing::{CpuTimes, Noise, Series};
use base::verify::Checked;
use opencl::cl::DeviceInfo;
use opencl::program::is_changed;
use opencl::timer::IMPOSSIBLE;
use opencl::watch;

/// A configuration is abandoned when it is predicted to take so many times as long as the best.
const HOPELESS: f64 = 3.0;
/// A prediction below this is made twice before it counts.
const SHORT_MS: f64 = 50.0;
/// Timed runs of a trial, and of each finalist.
const ROUNDS: u32 = 12;
const FINAL_ROUNDS: u32 = 40;

/// A configuration that was tried.
#[derive(Debug)]
pub struct Trial<C: 'static> {
    /// The rung's name.
    pub rung: &'static str,
    /// Its parameters.
    pub config: Config<C>,
    /// Time to compile it, make it ready, and launch it once, in milliseconds; `None` where it was not compiled here.
    pub compile_ms: Option<f64>,
    /// What came of it.
    pub status: Status,
    /// Of the best of its rung: the median of its runs in turns with the other finalists, in milliseconds. All trials are
    /// scored by their minimum, because they do not take turns.
    pub median_ms: Option<f64>,
    /// What disturbed its runs; of a finalist those beside the others.
    pub noise: Option<Noise>,
}

impl<C> Clone for Trial<C> {
    fn clone(&self) -> Self {
        let Self { rung, config, compile_ms, status, median_ms, noise } = self;
        let (config, status) = (config.clone(), status.clone());
        Self { rung, config, compile_ms: *compile_ms, status, median_ms: *median_ms, noise: *noise }
    }
}

impl<C> Trial<C> {
    /// The minimum of an exact one, in milliseconds.
    pub fn ms(&self) -> Option<f64> {
        if let Status::Scored(ms) = self.status { Some(ms) } else { None }
    }
}

/// What came of a search.
#[derive(Debug)]
pub struct Search<C: 'static> {
    /// The ladder's limit, in turns with the finalists; `None` where it has no times yet.
    pub limit: Option<Measurement>,
    /// Every trial in order.
    pub trials: Vec<Trial<C>>,
    /// What was compared of each trial that has a time.
    pub checked: Vec<Checked>,
}

impl<C: Tunable> Search<C> {
    /// What the best of each rung gives the cache.
    ///
    /// # Errors
    /// When a kernel's text cannot be read.
    pub fn entries(&self, device: &DeviceInfo, class: &Class) -> Result<Vec<Entry>> {
        let best = self.trials.iter().filter_map(|t| Some((t, t.median_ms?)));
        best.map(|(t, ms)| Entry::new(device, class, t.rung, &t.config, ms)).collect()
    }
}

/// What is to be searched: rungs, each with the parameters to begin with, the likely fastest first: what is far behind is
/// then abandoned soon.
pub type Rungs<C> = Vec<(&'static str, Config<C>)>;

/// Watches a search, and may hold it up or end it.
pub trait Watch<C: 'static> {
    /// A configuration of this rung is tried next, after these trials.
    fn next(&mut self, rung: &'static str, config: &Config<C>, trials: &[Trial<C>]);

    /// Called before each piece of work for the device, the longest of which is one run. Returns when the search may
    /// go on; `false` ends it.
    fn may_go_on(&mut self) -> bool {
        true
    }

    /// Told what could not be done that the search goes on without.
    fn warn(&mut self, _error: &Error) {}
}

/// The two parameters with the most values, that one first: what a search is a map of.
pub(crate) fn axes<C: Tunable>(code: &C) -> Vec<&'static Param> {
    let mut params: Vec<_> = code.params().iter().collect();
    params.sort_by_key(|p| std::cmp::Reverse(p.values.len()));
    params.truncate(2);
    params
}

/// The most trials that a search over these rungs makes, for a progress bar.
pub fn most_trials<C: Tunable>(rungs: &Rungs<C>) -> usize {
    let codes = || rungs.iter().map(|(_, config)| config.code());
    let trials = |c: &'static C| 1 + c.params().iter().map(|p| p.values.len()).sum::<usize>();
    let map = |c: &'static C| match axes(c)[..] {
        [a, b] => a.values.len() * b.values.len(),
        _ => 0,
    };
    codes().map(trials).sum::<usize>() + codes().map(map).max().unwrap_or(0)
}

/// Searches the parameters of `rungs`. `None` when `watch` has ended it.
///
/// # Errors
/// When the device fails. What goes wrong with a configuration is its [`Status`].
pub fn search<J: Judge>(
    judge: J,
    rungs: Rungs<J::Code>,
    watch: &mut dyn Watch<J::Code>,
) -> Result<Option<Search<J::Code>>> {
    let (trials, checked, keep) = (Vec::new(), Vec::new(), Vec::new());
    let mut tuner = Tuner { judge, best_ms: None, trials, checked, keep, watch, ended: false };
    match tuner.run(rungs) {
        Ok(limit) => Ok(Some(Search { limit, trials: tuner.trials, checked: tuner.checked })),
        Err(_) if tuner.ended => Ok(None),
        Err(error) => Err(error),
    }
}

/// The best of a search, and its time in milliseconds: of the finalists by their medians, and before its end the fastest
/// trial so far, by its minimum.
pub fn best<C>(trials: &[Trial<C>]) -> Option<(&Trial<C>, f64)> {
    let finalists = trials.iter().filter_map(|t| Some((t, t.median_ms?)));
    let best = finalists.min_by(|a, b| f64::total_cmp(&a.1, &b.1));
    best.or_else(|| fastest(trials).map(|t| (t, ms(t))))
}

/// The exact one with the least minimum.
fn fastest<C>(trials: &[Trial<C>]) -> Option<&Trial<C>> {
    trials.iter().filter(|t| t.ms().is_some()).min_by(|a, b| f64::total_cmp(&ms(a), &ms(b)))
}

fn ms<C>(trial: &Trial<C>) -> f64 {
    trial.ms().unwrap_or(f64::INFINITY)
}

struct Tuner<'a, J: Judge> {
    judge: J,
    best_ms: Option<f64>,
    trials: Vec<Trial<J::Code>>,
    checked: Vec<Checked>,
    /// The best trial of each rung that has one.
    keep: Vec<(usize, J::Ready)>,
    watch: &'a mut dyn Watch<J::Code>,
    ended: bool,
}

/// What came of a configuration.
struct Judged {
    status: Status,
    noise: Option<Noise>,
}

impl Judged {
    fn without_times(status: Status) -> Self {
        Self { status, noise: None }
    }
}

/// Errors when the search is to end.
fn go_on<C: 'static>(watch: &mut dyn Watch<C>, ended: &mut bool) -> Result<()> {
    *ended = !watch.may_go_on();
    if *ended { Err(Error::new("The search was ended.", "", "")) } else { Ok(()) }
}

impl<J: Judge> Tuner<'_, J> {
    /// The whole search; the times of the limit.
    fn run(&mut self, rungs: Rungs<J::Code>) -> Result<Option<Measurement>> {
        let device = self.judge.device().clone();
        for (rung, first) in rungs {
            let first_trial = self.trials.len();
            descend(first, &device, |config| {
                self.attempt(rung, config)?;
                Ok::<_, Error>(self.came_of(first_trial))
            })?;
        }
        self.map(&device)?;
        self.finals()
    }

    /// What the last trial is to the descent, which began with this one.
    fn came_of(&self, first: usize) -> Attempt {
        let Some(last) = self.trials.last() else { return Attempt::Without };
        match &last.status {
            Status::Scored(ms) => Attempt::Timed(*ms),
            _ if self.trials.len() > first + 1 => Attempt::Without,
            Status::Abandoned(_) => Attempt::GiveUp,
            // Changed kernels that do not come through are not asked again with each value: that could take the limit's
            // time.
            Status::Failed(_) if is_changed(last.config.code().file()) => Attempt::GiveUp,
            _ => Attempt::Without,
        }
    }

    /// All values of the two parameters that have the most, around the best configuration of all.
    fn map(&mut self, device: &DeviceInfo) -> Result<()> {
        let Some(best) = fastest(&self.trials).cloned() else { return Ok(()) };
        let [a, b] = axes(best.config.code())[..] else { return Ok(()) };
        for &y in b.values {
            for &x in a.values {
                let config = best.config.clone().with(a.name, x).with(b.name, y);
                let known = self.trials.iter().any(|t| t.rung == best.rung && t.config == config);
                if !known && config.is_allowed(device) {
                    self.attempt(best.rung, &config)?;
                }
            }
        }
        Ok(())
    }

    /// Tries a configuration.
    fn attempt(&mut self, rung: &'static str, config: &Config<J::Code>) -> Result<()> {
        go_on(&mut *self.watch, &mut self.ended)?;
        self.watch.next(rung, config, &self.trials);
        let longest_ms =
            self.best_ms.map_or(measure::SINGLE.as_secs_f64() * 1e3, |best| SHORT_MS + HOPELESS * best);
        let mut trial = Trial {
            rung,
            config: config.clone(),
            compile_ms: None,
            status: Status::Failed(String::new()),
            median_ms: None,
            noise: None,
        };
        if let Some(status) = self.judge.try_apart(rung, config, longest_ms) {
            self.trials.push(Trial { status, ..trial });
            return Ok(());
        }
        let built = self.judge.build(rung, config, &mut trial.compile_ms);
        let judged = built.and_then(|ready| Ok((self.judge(&ready)?, ready)));
        let (Judged { status, noise }, ready) = match judged {
            Err(error) if self.ended => return Err(error),
            Err(error) => (Judged::without_times(Status::Failed(error.to_string())), None),
            Ok((judged, ready)) => (judged, Some(ready)),
        };
        let at = self.trials.len();
        self.trials.push(Trial { status, noise, ..trial });
        let (trials, keep) = (&self.trials, &mut self.keep);
        if let Some(ready) = ready.filter(|_| trials[at].ms().is_some()) {
            match keep.iter_mut().find(|(k, _)| trials[*k].rung == rung) {
                Some(kept) if ms(&trials[at]) < ms(&trials[kept.0]) => *kept = (at, ready),
                Some(_) => {}
                None => keep.push((at, ready)),
            }
        }
        Ok(())
    }

    /// Predicts, checks and times, in this order.
    fn judge(&mut self, ready: &J::Ready) -> Result<Judged> {
        let began = CpuTimes::now();
        let Self { judge, best_ms, watch, ended, checked: known, .. } = self;
        let known_ms = *best_ms;
        let hopeless = |ms| known_ms.is_some_and(|best| ms > HOPELESS * best + 0.1);
        let mut go_on = || go_on(&mut **watch, ended);
        go_on()?;
        if let Some(report) = judge.first_look(ready)? {
            return Ok(Judged::without_times(Status::Mismatch(report)));
        }
        let mut predicted = judge.predict(ready)?;
        if hopeless(predicted) && predicted < SHORT_MS {
            // A short one may have been disturbed, and its first run is a cold one.
            predicted = predicted.min(judge.predict(ready)?);
        }
        let _watched = watch::step("a configuration is checked and timed", predicted);
        if hopeless(predicted) {
            return Ok(Judged::without_times(Status::Abandoned(predicted)));
        }
        let mut checked = Vec::new();
        if let Some(report) = judge.check(ready, predicted, &mut checked, &mut go_on)? {
            return Ok(Judged::without_times(Status::Mismatch(report)));
        }
        go_on()?;
        let first = match judge.first_run(ready)? {
            Ok(sample) => sample,
            Err(report) => return Ok(Judged::without_times(Status::Mismatch(report))),
        };
        if known.is_empty() {
            *known = checked;
        }
        let rounds = measure::rounds_for(predicted, ROUNDS, false).unwrap_or(1);
        // The least disturbed run: trials do not take turns, only finalists do.
        let mut samples = vec![first.ms()];
        for _ in 1..rounds {
            go_on()?;
            samples.push(judge.run(ready)?.ms());
        }
        let Some(series) = Series::of(&samples).filter(|series| series.n == samples.len()) else {
            return Ok(Judged::without_times(Status::Failed(IMPOSSIBLE.to_owned())));
        };
        let others = began.and_then(|began| CpuTimes::now()?.others_since(&began));
        *best_ms = Some(known_ms.map_or(series.min, |best| best.min(series.min)));
        let noise = Noise::of(&series, others);
        Ok(Judged { status: Status::Scored(series.min), noise })
    }

    /// The best of each rung and the limit take turns; their medians decide.
    fn finals(&mut self) -> Result<Option<Measurement>> {
        let limit = self.judge.limit()?;
        let judge = &self.judge;
        let mut contenders: Vec<Contender> = Vec::new();
        if let Some(limit) = &limit {
            contenders.push(Contender { rounds: FINAL_ROUNDS, run: Box::new(|| judge.run_limit(limit)) });
        }
        for (at, ready) in &self.keep {
            let rounds = measure::rounds_for(ms(&self.trials[*at]), FINAL_ROUNDS, false).unwrap_or(1);
            contenders.push(Contender { rounds, run: Box::new(move || judge.run(ready)) });
        }
        let (watch, ended) = (&mut *self.watch, &mut self.ended);
        let results = measure::alternate(FINAL_ROUNDS, &mut contenders, |_, _| go_on(watch, ended))?;
        drop(contenders);
        let mut measured = results.into_iter().map(|timed| timed.map(|timed| timed.measurement()));
        let limit = match limit.and_then(|_| measured.next()).transpose() {
            Ok(limit) => limit.flatten(),
            Err(error) => {
                self.watch.warn(&error);
                None
            }
        };
        let mut failure = None;
        for ((at, _), measured) in self.keep.iter().zip(measured) {
            let trial = &mut self.trials[*at];
            match measured {
                Ok(measured) => {
                    trial.median_ms = measured.map(|m| m.time.p50);
                    trial.noise = measured.and_then(|m| m.noise());
                }
                Err(error) => {
                    trial.status = Status::Failed(error.to_string());
                    failure = Some(error);
                }
            }
        }
        match failure {
            // Nothing is left to be kept: the device is at fault.
            Some(error) if self.keep.iter().all(|(at, _)| self.trials[*at].median_ms.is_none()) => Err(error),
            _ => Ok(limit),
        }
    }
}

#[cfg(test)]
#[path = "tune_tests.rs"]
mod tests;
