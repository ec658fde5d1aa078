//! Finds the fastest variant and parameters for a device by trying them. In: a device, a size, a radius. Out: a
//! [`Trial`] for each configuration, and the best of each variant for the cache in [`crate::ladder::tuned`].
//!
//! From a variant's default each parameter is varied in turn, and the best value is kept: coordinate descent, a
//! few dozen trials instead of all combinations. What differs from the reference is never timed. What is
//! predicted to take far longer than the best so far is abandoned after that prediction.

use std::time::Instant;

use crate::error::Result;
use crate::gpu::cl::ClContext;
use crate::ladder::box_filter::reference::reference;
use crate::ladder::box_filter::{BuiltVariant, Config, Picture, Plan, Scratch, bench, info, run};
use crate::ladder::measure::{self, Contender, Measurement};
use crate::ladder::verify::MismatchReport;
use crate::ladder::{Storage, VariantId};

/// A configuration is abandoned when it is predicted to take so many times as long as the best.
const HOPELESS: f64 = 3.0;
/// A prediction below this is made twice before it counts.
const SHORT_MS: f64 = 50.0;
/// Timed runs of a trial, and of each finalist.
const ROUNDS: u32 = 12;
const FINAL_ROUNDS: u32 = 40;

/// The variants that are worth tuning, the likely best first: what is far behind is then abandoned soon.
pub const VARIANTS: [VariantId; 4] =
    [VariantId::Fused, VariantId::RunningSum, VariantId::Vectorized, VariantId::Flat];

/// What came of a configuration.
#[derive(Debug, Clone)]
pub enum Status {
    /// Exact; the median device time in milliseconds.
    Scored(f64),
    /// Too slow to go on with; the predicted time in milliseconds.
    Abandoned(f64),
    /// It differs from the reference.
    Mismatch(MismatchReport),
    /// It could not be built or run.
    Failed(String),
}

/// A configuration that was tried.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The variant.
    pub variant: VariantId,
    /// Its parameters.
    pub config: Config,
    /// Time to compile it and launch it once, in milliseconds.
    pub compile_ms: f64,
    /// What came of it.
    pub status: Status,
    /// Whether it is the best of its variant.
    pub best: bool,
}

impl Trial {
    /// The time of an exact one, in milliseconds.
    pub fn ms(&self) -> Option<f64> {
        if let Status::Scored(ms) = self.status { Some(ms) } else { None }
    }
}

/// What came of a search.
#[derive(Debug)]
pub struct Search {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The radius in pixels.
    pub radius: u32,
    /// Median device time of a copy of the picture, in milliseconds, beside the finalists.
    pub copy_ms: Option<f64>,
    /// Every trial in order.
    pub trials: Vec<Trial>,
}

/// The most trials that a search over these variants makes, for a progress bar.
pub fn most_trials(cl: &ClContext, variants: &[VariantId]) -> usize {
    let code = |id: &VariantId| info(*id).map(|i| i.code(cl.device.info.kind));
    let trials = |id| code(id).map_or(0, |c| 1 + c.params.iter().map(|p| p.values.len()).sum::<usize>());
    variants.iter().map(trials).sum()
}

/// Searches the parameters of `variants` for pictures of `width` by `height` pixels at `radius`. `progress` is
/// told before each trial.
///
/// # Errors
/// When the device cannot hold the pictures or fails. What goes wrong with a configuration is its [`Status`].
pub fn search(
    cl: &ClContext,
    variants: &[VariantId],
    (width, height): (u32, u32),
    radius: u32,
    progress: &mut dyn FnMut(&str),
) -> Result<Search> {
    let src = bench::noise(width as usize * height as usize * 4);
    let want = reference(&src, width as usize, height as usize, radius as usize);
    let mut tuner = Tuner { cl, size: (width, height), radius, pairs: Vec::new(), src, want, best_ms: None };
    let mut trials: Vec<Trial> = Vec::new();
    let mut finalists = Vec::new();
    for &id in variants {
        let Some(info) = info(id) else { continue };
        let kind = cl.device.info.kind;
        let mut best = Config::of(info.code(kind), kind).fitted(&cl.device.info);
        let first = trials.len();
        let mut keep: Option<(usize, Plan)> = None;
        let mut attempt = |config: &Config, trials: &mut Vec<Trial>| -> Result<()> {
            progress(&format!("{id} {config}, r={radius}"));
            let (trial, plan) = tuner.attempt(id, config)?;
            let faster = |ms| keep.as_ref().and_then(|(at, _)| trials[*at].ms()).is_none_or(|best| ms < best);
            if let Some(plan) = plan.filter(|_| trial.ms().is_some_and(faster)) {
                keep = Some((trials.len(), plan));
                best = config.clone();
            }
            trials.push(trial);
            Ok(())
        };
        let start = Config::of(info.code(kind), kind).fitted(&cl.device.info);
        attempt(&start, &mut trials)?;
        if !matches!(trials[first].status, Status::Abandoned(_)) {
            let mut base = start;
            for param in base.code().params {
                for &value in param.values {
                    let config = base.clone().with(param.name, value);
                    let known = trials[first..].iter().any(|t| t.config == config);
                    if !known && config.is_allowed(&cl.device.info) {
                        attempt(&config, &mut trials)?;
                    }
                }
                base = fastest(&trials[first..]).map_or(base, |t| t.config.clone());
            }
        }
        finalists.extend(keep);
    }
    let copy_ms = tuner.finals(&mut trials, &finalists)?;
    Ok(Search { width, height, radius, copy_ms, trials })
}

fn fastest(trials: &[Trial]) -> Option<&Trial> {
    trials.iter().filter(|t| t.ms().is_some()).min_by(|a, b| f64::total_cmp(&ms(a), &ms(b)))
}

fn ms(trial: &Trial) -> f64 {
    trial.ms().unwrap_or(f64::INFINITY)
}

struct Tuner<'a> {
    cl: &'a ClContext,
    size: (u32, u32),
    radius: u32,
    pairs: Vec<(Storage, Picture, Picture)>,
    src: Vec<u8>,
    want: Vec<u8>,
    best_ms: Option<f64>,
}

impl Tuner<'_> {
    fn attempt(&mut self, id: VariantId, config: &Config) -> Result<(Trial, Option<Plan>)> {
        let begin = Instant::now();
        let built = BuiltVariant::build_with(self.cl, id, config);
        let compile_ms = begin.elapsed().as_secs_f64() * 1e3;
        let (status, plan) = match built {
            Err(e) => (Status::Failed(e.to_string()), None),
            Ok(built) => self.judge(&built).unwrap_or_else(|e| (Status::Failed(e.to_string()), None)),
        };
        Ok((Trial { variant: id, config: config.clone(), compile_ms, status, best: false }, plan))
    }

    /// Predicts, checks and times, in this order.
    fn judge(&mut self, built: &BuiltVariant) -> Result<(Status, Option<Plan>)> {
        let ((width, height), radius) = (self.size, self.radius);
        let (src, dst) = self.pair(built.info().storage)?;
        let plan = built.plan(self.cl, &src, &dst, &mut Scratch::new(), width, height, radius)?;
        let hopeless = |ms| self.best_ms.is_some_and(|best| ms > HOPELESS * best + 0.1);
        let mut predicted = measure::predict(&plan, &self.cl.queue)?;
        if hopeless(predicted) && predicted < SHORT_MS {
            // A short one may have been disturbed, and its first run is a cold one.
            predicted = predicted.min(measure::predict(&plan, &self.cl.queue)?);
        }
        if hopeless(predicted) {
            return Ok((Status::Abandoned(predicted), None));
        }
        let mut scratch = Scratch::new();
        let report = run::check(self.cl, built, &self.src, &self.want, width, height, radius, &mut scratch)?;
        if let Some(report) = report {
            return Ok((Status::Mismatch(report), None));
        }
        let rounds = measure::rounds_for(predicted, ROUNDS).unwrap_or(1);
        let run = || measure::sample(&self.cl.queue, |q| plan.enqueue_all(q));
        let samples = (0..rounds).map(|_| run()).collect::<Result<Vec<_>>>()?;
        // The least disturbed run: trials do not take turns, only finalists do.
        let ms = samples.iter().map(|s| s.device_ms).fold(f64::INFINITY, f64::min);
        self.best_ms = Some(self.best_ms.map_or(ms, |best| best.min(ms)));
        Ok((Status::Scored(ms), Some(plan)))
    }

    fn pair(&mut self, storage: Storage) -> Result<(Picture, Picture)> {
        if let Some((_, src, dst)) = self.pairs.iter().find(|(s, ..)| *s == storage) {
            return Ok((src.clone(), dst.clone()));
        }
        let new = || Picture::alloc(self.cl, storage, self.size.0, self.size.1);
        let (src, dst) = (new()?, new()?);
        src.write(&self.cl.queue, &self.src)?;
        self.pairs.push((storage, src.clone(), dst.clone()));
        Ok((src, dst))
    }

    /// The best of each variant and a copy take turns; their medians replace the times of the trials.
    fn finals(&mut self, trials: &mut [Trial], finalists: &[(usize, Plan)]) -> Result<Option<f64>> {
        let (from, to) = self.pair(Storage::Buffer)?;
        let queue = &self.cl.queue;
        bench::copy(queue, &from, &to)?; // warm up
        let mut contenders =
            vec![Contender { rounds: FINAL_ROUNDS, run: Box::new(|| bench::copy(queue, &from, &to)) }];
        for (at, plan) in finalists {
            let rounds = measure::rounds_for(ms(&trials[*at]), FINAL_ROUNDS).unwrap_or(1);
            let run = move || measure::sample(queue, |q| plan.enqueue_all(q));
            contenders.push(Contender { rounds, run: Box::new(run) });
        }
        let results = measure::alternate(FINAL_ROUNDS, &mut contenders, |_| Ok(()))?;
        let mut medians =
            results.into_iter().map(|samples| Measurement::of(&samples.ok()?).map(|m| m.device.p50));
        let copy_ms = medians.next().flatten();
        for ((at, _), median) in finalists.iter().zip(medians) {
            if let Some(median) = median {
                trials[*at].status = Status::Scored(median);
                trials[*at].best = true;
            }
        }
        Ok(copy_ms)
    }
}
