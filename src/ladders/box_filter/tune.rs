//! Finds the fastest variant and parameters for a device by trying them. In: a device, a size, a radius. Out: a
//! [`Trial`] for each configuration, and the best of each variant for the cache in [`crate::ladders::box_filter::tuned`].
//!
//! From a variant's default each parameter is varied in turn, and the best value is kept: coordinate descent, a
//! few dozen trials instead of all combinations. Around the best of all, every pair of values of the two parameters
//! that have the most is tried as well, which finds what goes well only together, and makes a map. What differs from the
//! reference is never timed. What is predicted to take far longer than the best so far is abandoned after that
//! prediction.

use std::time::Instant;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, DeviceInfo, DeviceKind};
use crate::gpu::memory::{Picture, Rgba, Storage};
use crate::gpu::program::is_changed;
use crate::ladder::config::Param;
use crate::ladder::measure::{self, Contender, Measurement};
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::pictures::{Pattern, noise};
use crate::ladders::box_filter::reference::quick;
use crate::ladders::box_filter::run::{Bands, Checker};
use crate::ladders::box_filter::suite::{self, Subject, Suite};
use crate::ladders::box_filter::trial::{Case, Launch, Trials};
use crate::ladders::box_filter::tuned::{Entry, SizeClass};
use crate::ladders::box_filter::{BuiltVariant, Code, Config, Plan, Scratch, Work, bench};
use crate::memory::{require, zeroed};
use crate::timing::{CpuTimes, Noise, Series, ms_since};
use crate::verify::{self, Checked, MismatchReport};

/// A configuration is abandoned when it is predicted to take so many times as long as the best.
const HOPELESS: f64 = 3.0;
/// A prediction below this is made twice before it counts.
const SHORT_MS: f64 = 50.0;
/// Timed runs of a trial, and of each finalist.
const ROUNDS: u32 = 12;
const FINAL_ROUNDS: u32 = 40;

/// The variants that are worth tuning, the likely best first: what is far behind is then abandoned soon. Those that read
/// images are left out: no parameter makes them fast.
pub fn variants() -> Vec<VariantId> {
    let worth = |id: &VariantId| matches!(&id.rung().work, Work::Kernels(k) if k.storage == Storage::Buffer);
    VariantId::ALL.into_iter().rev().filter(worth).collect()
}

/// What came of a configuration.
#[derive(Debug, Clone)]
pub enum Status {
    /// Exact; the device time of its least disturbed run, in milliseconds.
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
    /// Of the best of its variant: the median of its runs beside the other finalists, in milliseconds. Its score is the
    /// least disturbed run, as that of all trials.
    pub median_ms: Option<f64>,
    /// What disturbed its runs; of a finalist those beside the others.
    pub noise: Option<Noise>,
}

impl Trial {
    /// The time of an exact one, in milliseconds.
    pub fn ms(&self) -> Option<f64> {
        if let Status::Scored(ms) = self.status { Some(ms) } else { None }
    }
}

/// What came of a search.
#[derive(Debug, Clone)]
pub struct Search {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The radius in pixels.
    pub radius: u32,
    /// Median device time of a copy of the picture, in milliseconds, beside the finalists.
    pub copy_ms: Option<f64>,
    /// What disturbed the copy.
    pub copy_noise: Option<Noise>,
    /// Every trial in order.
    pub trials: Vec<Trial>,
    /// What was compared of each trial that has a time.
    pub checked: Vec<Checked>,
}

/// Watches a search, and may hold it up or end it.
pub trait Watch {
    /// A configuration of this variant is tried next, after these trials.
    fn next(&mut self, variant: VariantId, config: &Config, trials: &[Trial]);

    /// Called before each piece of work for the device, the longest of which is one run. Returns when the search may
    /// go on; `false` ends it.
    fn may_go_on(&mut self) -> bool {
        true
    }
}

/// The two parameters with the most values, that one first: what a search is a map of.
pub fn axes(code: &Code) -> Vec<&'static Param> {
    let mut params: Vec<_> = code.params.iter().collect();
    params.sort_by_key(|p| std::cmp::Reverse(p.values.len()));
    params.truncate(2);
    params
}

/// The most trials that a search over these variants makes, for a progress bar.
pub fn most_trials(device: &DeviceInfo, variants: &[VariantId]) -> usize {
    let codes = || variants.iter().filter_map(|id| id.kernels()).map(|i| i.code(device.kind));
    let trials = |c: &'static Code| 1 + c.params.iter().map(|p| p.values.len()).sum::<usize>();
    let map = |c: &'static Code| match axes(c)[..] {
        [a, b] => a.values.len() * b.values.len(),
        _ => 0,
    };
    codes().map(trials).sum::<usize>() + codes().map(map).max().unwrap_or(0)
}

/// Searches the parameters of `variants` for pictures of `width` by `height` pixels at `radius`. `None` when `watch`
/// has ended it. Changed kernels are tried in `trials` first.
///
/// # Errors
/// When the device cannot hold the pictures or fails. What goes wrong with a configuration is its [`Status`].
pub fn search(
    cl: &ClContext,
    variants: &[VariantId],
    (width, height): (u32, u32),
    radius: u32,
    trials: &mut Trials,
    watch: &mut dyn Watch,
) -> Result<Option<Search>> {
    require_memory(&cl.device.info, (width, height))?;
    let src = noise(width as usize * height as usize * 4);
    let want = quick(&src, width as usize, height as usize, radius as usize);
    let mut tuner = Tuner {
        cl,
        size: (width, height),
        radius,
        pairs: Vec::new(),
        src,
        want,
        best_ms: None,
        in_child: trials,
        trials: Vec::new(),
        suite: Suite::default(),
        checked: Vec::new(),
        keep: Vec::new(),
        watch,
        ended: false,
    };
    match tuner.run(variants) {
        Ok(copy) => {
            let (copy_ms, copy_noise) = (copy.map(|m| m.time.p50), copy.and_then(|m| m.noise()));
            let (trials, checked) = (tuner.trials, tuner.checked);
            Ok(Some(Search { width, height, radius, copy_ms, copy_noise, trials, checked }))
        }
        Err(_) if tuner.ended => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is memory for a search at a size: in pictures of that size.
///
/// # Errors
/// When there is not.
pub fn require_memory(device: &DeviceInfo, (width, height): (u32, u32)) -> Result<()> {
    // The picture and what is right, and the reference's tables; after these what a check keeps beside them: source and
    // output, before and after it, each with its canaries.
    let host = 2 + 12;
    // A CPU device has the same memory: source, destination, and those of the check with their canaries; row sums of twice a
    // picture's size for the check and for the best of each variant.
    let device = if device.kind == DeviceKind::Cpu { 8 + 2 * (variants().len() + 1) } else { 0 };
    require(width as usize * height as usize * 4 * (host + device))
}

impl Search {
    /// What the best of each variant gives the cache.
    ///
    /// # Errors
    /// When a kernel's text cannot be read.
    pub fn entries(&self, device: &DeviceInfo) -> Result<Vec<Entry>> {
        let size = (self.width, self.height);
        let best = self.trials.iter().filter_map(|t| Some((t, t.median_ms?)));
        best.map(|(t, ms)| Entry::new(device, size, self.radius, t.variant, &t.config, ms)).collect()
    }
}

/// The best of a search, and its time in milliseconds: of the finalists by their medians, and before its end the fastest
/// trial so far.
pub fn best(trials: &[Trial]) -> Option<(&Trial, f64)> {
    let finalists = trials.iter().filter_map(|t| Some((t, t.median_ms?)));
    let best = finalists.min_by(|a, b| f64::total_cmp(&a.1, &b.1));
    best.or_else(|| fastest(trials).map(|t| (t, ms(t))))
}

/// The fastest exact one.
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
    in_child: &'a mut Trials,
    trials: Vec<Trial>,
    suite: Suite,
    checked: Vec<Checked>,
    /// The best trial of each variant that has one.
    keep: Vec<(usize, Plan)>,
    watch: &'a mut dyn Watch,
    ended: bool,
}

impl Tuner<'_> {
    /// The whole search; the times of a copy.
    fn run(&mut self, variants: &[VariantId]) -> Result<Option<Measurement>> {
        for &id in variants {
            self.descend(id)?;
        }
        self.map()?;
        self.finals()
    }

    /// Errors when the search is to end.
    fn go_on(&mut self) -> Result<()> {
        self.ended = !self.watch.may_go_on();
        if self.ended { Err(Error::new("The search was ended.", "", "")) } else { Ok(()) }
    }

    /// Varies each parameter of a variant in turn.
    fn descend(&mut self, id: VariantId) -> Result<()> {
        let Some(info) = id.kernels() else { return Ok(()) };
        let device = &self.cl.device.info;
        let first = self.trials.len();
        let size = SizeClass::of(self.size.0, self.size.1);
        let mut base = Config::for_size(info.code(device.kind), device.kind, size).fitted(device);
        self.attempt(id, &base)?;
        // Changed kernels that do not come through are not asked again with each value: that could take the limit's time.
        match self.trials[first].status {
            Status::Abandoned(_) => return Ok(()),
            Status::Failed(_) if is_changed(base.code().file) => return Ok(()),
            _ => {}
        }
        for param in base.code().params {
            for &value in param.values {
                self.attempt(id, &base.clone().with(param.name, value))?;
            }
            base = fastest(&self.trials[first..]).map_or(base, |t| t.config.clone());
        }
        Ok(())
    }

    /// All values of the two parameters that have the most, around the best configuration of all.
    fn map(&mut self) -> Result<()> {
        let Some(best) = fastest(&self.trials).cloned() else { return Ok(()) };
        let [a, b] = axes(best.config.code())[..] else { return Ok(()) };
        for &y in b.values {
            for &x in a.values {
                self.attempt(best.variant, &best.config.clone().with(a.name, x).with(b.name, y))?;
            }
        }
        Ok(())
    }

    /// Tries a configuration, unless that has been done or the device cannot run it.
    fn attempt(&mut self, id: VariantId, config: &Config) -> Result<()> {
        let of_variant = || self.trials.iter().enumerate().filter(|(_, t)| t.variant == id);
        let first = of_variant().next().is_none();
        if of_variant().any(|(_, t)| t.config == *config)
            || !first && !config.is_allowed(&self.cl.device.info)
        {
            return Ok(());
        }
        self.go_on()?;
        self.watch.next(id, config, &self.trials);
        if let Some(status) = self.in_child(id, config) {
            let (config, compile_ms) = (config.clone(), 0.0);
            self.trials.push(Trial { variant: id, config, compile_ms, status, median_ms: None, noise: None });
            return Ok(());
        }
        let begin = Instant::now();
        let built = BuiltVariant::build_with(self.cl, id, config);
        let compile_ms = ms_since(begin);
        let judged = built.and_then(|built| self.judge(&built));
        let Judged { status, noise, plan } = match judged {
            Err(error) if self.ended => return Err(error),
            Err(error) => Judged::without_times(Status::Failed(error.to_string())),
            Ok(judged) => judged,
        };
        let at = self.trials.len();
        let config = config.clone();
        self.trials.push(Trial { variant: id, config, compile_ms, status, median_ms: None, noise });
        let (trials, keep) = (&self.trials, &mut self.keep);
        if let Some(plan) = plan {
            match keep.iter_mut().find(|(k, _)| trials[*k].variant == id) {
                Some(kept) if ms(&trials[at]) < ms(&trials[kept.0]) => *kept = (at, plan),
                Some(_) => {}
                None => keep.push((at, plan)),
            }
        }
        Ok(())
    }

    /// Tries changed kernels in a process of their own; what came of it where they are not to be run here.
    fn in_child(&mut self, id: VariantId, config: &Config) -> Option<Status> {
        let longest_ms =
            self.best_ms.map_or(measure::SINGLE.as_secs_f64() * 1e3, |best| SHORT_MS + HOPELESS * best);
        let case = Case {
            src: &self.src,
            size: self.size,
            radius: self.radius,
            launch: Launch::Checks,
            longest_ms: Some(longest_ms),
            wants_picture: false,
        };
        match self.in_child.variant(self.cl, id, Some(config), false, &case) {
            Err(error) => Some(Status::Failed(error.to_string())),
            Ok(Some(tried)) if tried.left_out => Some(Status::Abandoned(tried.ms)),
            Ok(Some(tried)) => tried.report.map(Status::Mismatch),
            Ok(None) => None,
        }
    }

    /// Predicts, checks and times, in this order.
    fn judge(&mut self, built: &BuiltVariant) -> Result<Judged> {
        let began = CpuTimes::now();
        let ((width, height), radius) = (self.size, self.radius);
        let (src, dst) = self.pair(built.kernels().storage)?;
        let plan = built.plan(self.cl, &src, &dst, &mut Scratch::new(), width, height, radius)?;
        let best_ms = self.best_ms;
        let hopeless = |ms| best_ms.is_some_and(|best| ms > HOPELESS * best + 0.1);
        self.go_on()?;
        if let Some(report) = self.suite.first(self.cl, built, self.size, radius)? {
            return Ok(Judged::without_times(Status::Mismatch(report)));
        }
        let mut predicted = plan.predict(&self.cl.queue)?;
        if hopeless(predicted) && predicted < SHORT_MS {
            // A short one may have been disturbed, and its first run is a cold one.
            predicted = predicted.min(plan.predict(&self.cl.queue)?);
        }
        if hopeless(predicted) {
            return Ok(Judged::without_times(Status::Abandoned(predicted)));
        }
        let mut checked = Vec::new();
        let work: f64 = (0..plan.passes()).map(|pass| plan.work(pass)).sum();
        let read_ms = predicted / work.max(1.0);
        if let Some(report) = self.check(built, read_ms, &mut checked)? {
            return Ok(Judged::without_times(Status::Mismatch(report)));
        }
        // The first run of those that count: every byte of it.
        self.go_on()?;
        let queue = &self.cl.queue;
        dst.write(queue, &verify::poisoned(&self.want))?;
        let first = measure::sample(queue, |q| plan.enqueue_all(q))?;
        let (mut got, mut source) = (zeroed(self.want.len())?, zeroed(self.src.len())?);
        dst.read(queue, &mut got)?;
        src.read(queue, &mut source)?;
        if let Some(report) =
            verify::compare(&self.want, &got, Rgba { width: width as usize }, (&self.src, &source))
        {
            // All others read it.
            src.write(queue, &self.src)?;
            let case = "noise, as it is timed".to_owned();
            return Ok(Judged::without_times(Status::Mismatch(MismatchReport { case, ..report })));
        }
        if self.checked.is_empty() {
            self.checked = checked;
        }
        let rounds = measure::rounds_for(predicted, ROUNDS).unwrap_or(1);
        // The least disturbed run: trials do not take turns, only finalists do.
        let mut samples = vec![first.ms()];
        for _ in 1..rounds {
            self.go_on()?;
            samples.push(measure::sample(&self.cl.queue, |q| plan.enqueue_all(q))?.ms());
        }
        let Some(series) = Series::of(&samples) else {
            return Ok(Judged::without_times(Status::Failed("The device tells no times.".to_owned())));
        };
        let others = began.and_then(|began| CpuTimes::now()?.others_since(&began));
        self.best_ms = Some(self.best_ms.map_or(series.min, |best| best.min(series.min)));
        let noise = Noise::of(&series, others);
        Ok(Judged { status: Status::Scored(series.min), noise, plan: Some(plan) })
    }

    /// At small sizes, with radii of every range, and in bands at the size that is tuned for.
    fn check(
        &mut self,
        built: &BuiltVariant,
        read_ms: f64,
        checked: &mut Vec<Checked>,
    ) -> Result<Option<MismatchReport>> {
        let (cl, radius, size) = (self.cl, self.radius, self.size);
        let subject = Subject { cl, variant: built, of: size, way: "", read_ms };
        let mut suite = std::mem::take(&mut self.suite);
        let mut go_on = || self.go_on();
        let found = match suite.sizes(subject, radius, checked, &mut go_on) {
            Ok(None) => suite.radii(subject, checked, &mut go_on),
            found => found,
        };
        self.suite = suite;
        if let Some(report) = found? {
            return Ok(Some(report));
        }
        self.go_on()?;
        let bands = Bands::Steps;
        let report = Checker::new(cl, built, size, size, radius)?.check(&self.src, &self.want, bands)?;
        suite::done("", size, &[Pattern::Noise], &[bands], &[]).add_to(checked);
        Checked { timed: true, ..suite::done("", size, &[Pattern::Noise], &[Bands::Whole], &[]) }
            .add_to(checked);
        let case = suite::case("", Pattern::Noise.name(), size, radius, bands);
        Ok(report.map(|report| MismatchReport { case, ..report }))
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

    /// The best of each variant and a copy take turns; their medians decide.
    fn finals(&mut self) -> Result<Option<Measurement>> {
        let (from, to) = self.pair(Storage::Buffer)?;
        let queue = &self.cl.queue;
        bench::copy(queue, &from, &to)?; // warm up
        let mut contenders =
            vec![Contender { rounds: FINAL_ROUNDS, run: Box::new(|| bench::copy(queue, &from, &to)) }];
        for (at, plan) in &self.keep {
            let rounds = measure::rounds_for(ms(&self.trials[*at]), FINAL_ROUNDS).unwrap_or(1);
            let run = move || measure::sample(queue, |q| plan.enqueue_all(q));
            contenders.push(Contender { rounds, run: Box::new(run) });
        }
        let (watch, ended) = (&mut self.watch, &mut self.ended);
        let results = measure::alternate(FINAL_ROUNDS, &mut contenders, |_, _| {
            *ended = !watch.may_go_on();
            if *ended { Err(Error::new("The search was ended.", "", "")) } else { Ok(()) }
        })?;
        let mut measured = results.into_iter().map(|timed| timed.ok()?.measurement());
        let copy = measured.next().flatten();
        for ((at, _), measured) in self.keep.iter().zip(measured) {
            let trial = &mut self.trials[*at];
            (trial.median_ms, trial.noise) = (measured.map(|m| m.time.p50), measured.and_then(|m| m.noise()));
        }
        Ok(copy)
    }
}

/// What came of a configuration.
struct Judged {
    status: Status,
    noise: Option<Noise>,
    plan: Option<Plan>,
}

impl Judged {
    fn without_times(status: Status) -> Self {
        Self { status, noise: None, plan: None }
    }
}
