//! Tuning in the background: searches for the fastest variant run only while they do not disturb the movie. After a search, the
//! variant `auto`, which uses the fastest one, is rebuilt.
//!
//! A search is made for the running device, the movie's class of sizes and the radius's class of radii; its result is stored in
//! the cache of tuning results. A search starts automatically when `auto` is chosen and the cache has no result; on CPU devices,
//! which decode the movie too, only in a pause. The button *Tune* starts a search in any case.

use std::time::{Duration, Instant};

use super::PlayerContext;
use super::devices::Devices;
use crate::app::builder::Request;
use crate::app::lane::{Slot, Task, Worker};
use base::error::Result;
use base::jobs::Job;
use base::timing::log::{self, Event, Track};
use box_filter::tuned::{self, RADIUS_RANGES, Search, SizeClass, Trial, radius_class};
use box_filter::{BoxFilter, Code, Config, VariantId};
use ladder::cache::{self, Cache};
use ladder::runner::{LadderRunner, cache_class};
use ladder::trial::Child;
use ladder::tune::{self, SearchObserver, max_trials};
use opencl::cl::Device;
use overlay::{JobState, Tuning};

/// The time after the last change of device, size or radius until a search starts: a slider may move across several classes.
const SEARCH_DELAY: Duration = Duration::from_secs(1);
/// The environment variable that names the variants to search, separated by commas.
const VARIABLE: &str = "CLREEL_TUNE_VARIANTS";

/// Returns the variants whose names are in a list separated by commas; all if none of them can be searched.
fn named_variants(names: &str) -> Vec<VariantId> {
    let named: Vec<VariantId> = names.split(',').filter_map(|name| name.trim().parse().ok()).collect();
    let known: Vec<_> = tuned::variants().into_iter().filter(|id| named.contains(id)).collect();
    if known.is_empty() { tuned::variants() } else { known }
}

/// The subject of a search: the device's index, the class of sizes, and the number of the class of radii.
type Key = (usize, SizeClass, usize);

/// The search for the fastest variant in the background, and its results.
#[derive(Default)]
pub(super) struct BackgroundTuning {
    search: Slot<Search, Vec<Trial>>,
    key: Option<(Key, Instant)>,
    /// True if the cache has no result for `key`; `None` until the cache was read.
    is_unknown: Option<bool>,
    /// The job that reads the cache of tuning results.
    lookup: Option<Job<bool>>,
    /// True if the user has requested a search for the fastest variant.
    is_requested: bool,
    shown: Tuning,
}

/// Returns the subject of a search for the running device and the movie on the screen, with the device and the pictures' size;
/// `None` without a device or picture.
fn search_key(devices: &Devices, cx: &PlayerContext) -> Option<(Key, Device, (u32, u32))> {
    let device = devices.running.device()?.clone();
    let size = cx.frames.presenter.screen.size()?;
    let class = radius_class(cx.frames.choice.filter().1);
    Some(((device.info.index, SizeClass::of(size.0, size.1), class), device, size))
}

impl BackgroundTuning {
    /// Returns the state and the trials of the search, for the overlay.
    pub(crate) fn shown(&self) -> &Tuning {
        &self.shown
    }

    /// Ends the search, which does not start again automatically.
    pub(crate) fn stop(&mut self) {
        self.cancel();
        (self.is_unknown, self.lookup) = (Some(false), None);
    }

    /// Cancels the search.
    fn cancel(&mut self) {
        self.is_requested = false;
        if self.search.is_under_way() {
            self.search.stop();
            self.shown.state = JobState::Stopped;
        }
    }

    /// Starts a job that finds out whether the cache has a result for `key`; reading the cache's file may take long.
    fn look_up_cache(&mut self, device: &Device, key: Key, cx: &PlayerContext) -> Result<()> {
        if self.is_unknown.is_none() && self.lookup.is_none() {
            let (info, sources) = (device.info.clone(), cx.sources.clone());
            let look = move |_: &_| {
                let known = tuned::tuned_variants(&Cache::load(), &info, &sources.get());
                Ok(!known.iter().any(|c| (c.size, c.radius_class) == (key.1, key.2)))
            };
            self.lookup =
                Some(Job::spawn("look-up", "What was tuned before cannot be read.", &cx.waker, look)?);
        }
        if let Some(is_unknown) = Job::take_result(&mut self.lookup, Duration::ZERO) {
            self.is_unknown = Some(is_unknown?);
        }
        Ok(())
    }

    /// Starts or ends the search, depending on what the window shows, and takes its results.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        self.poll(devices, cx);
        let now = search_key(devices, cx);
        if now.as_ref().map(|(key, ..)| *key) != self.key.map(|(key, _)| key) {
            self.cancel();
            self.key = now.as_ref().map(|(key, ..)| (*key, Instant::now()));
            (self.is_unknown, self.lookup) = (None, None);
        }
        let (Some((key, device, size)), Some((_, since))) = (now, self.key) else { return };
        // A script that counts frames measures the movie alone.
        let auto = cx.frames.choice.filter().0 == VariantId::Auto && cx.args.frames.is_none();
        if !auto && !self.is_requested {
            return self.cancel();
        }
        if self.search.is_under_way() {
            return;
        }
        if !self.is_requested {
            if let Err(error) = self.look_up_cache(&device, key, cx) {
                self.stop();
                cx.notify(error, false);
            }
            if self.is_unknown != Some(true) {
                return;
            }
            let wait = SEARCH_DELAY.saturating_sub(since.elapsed());
            if !wait.is_zero() {
                return cx.repaints.redraw_within(wait);
            }
            if cx.lane.obstacle(Task::Tuning { is_requested: false }).is_some() {
                return;
            }
        }
        self.start(device, size, key.2, cx);
    }

    /// Requests a search for the fastest variant, even if the cache has a result.
    pub(super) fn tune_now(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        self.is_requested = devices.running.device().is_some();
        cx.repaints.redraw_soon();
    }

    /// Starts a search for pictures of this size and a class of radii.
    fn start(&mut self, device: Device, size: (u32, u32), class: usize, cx: &mut PlayerContext) {
        let (_, radius) = RADIUS_RANGES[class.min(RADIUS_RANGES.len() - 1)];
        let variants = named_variants(&base::environment::text(VARIABLE).unwrap_or_default());
        let ladder = BoxFilter::on_noise(size);
        let mut configs = tune::initial_configs(&ladder, &device.info, &ladder.case(0));
        configs.retain(|(variant, _)| variants.iter().any(|id| id.as_str() == *variant));
        let max_trials = max_trials(&configs);
        let (sources, kernel_timeout) = (cx.sources.clone(), cx.args.trial.timeouts.kernel_timeout);
        let search = move |worker: &Worker<'_, Search, Vec<Trial>>| {
            cache::require_writable()?;
            let ladder = BoxFilter::on_noise(size);
            let case = ladder.case(radius);
            let mut child = Child::new(BoxFilter::INFO.name, kernel_timeout);
            let runner = LadderRunner::new(&ladder, Some(&device), sources.get(), &mut child);
            let began = Instant::now();
            let found = tune::search(&runner, &case, configs, &mut { worker });
            log::record(|| [Event::since("search", began)]);
            let found = found?;
            if let Some(search) = &found {
                let mut cache = Cache::load();
                cache.put(search.entries(&device.info, &cache_class(&ladder, &case))?);
                cache.store()?;
            }
            Ok(found)
        };
        let task = Task::Tuning { is_requested: self.is_requested };
        if let Err(error) = self.search.start((&mut cx.lane, task), "the device is made ready", search) {
            self.stop();
            return cx.notify(error, false);
        }
        self.shown = Tuning {
            state: self.search.state.clone(),
            case: Some((size, radius)),
            radii: tuned::radius_range(radius),
            max_trials,
            ..Tuning::default()
        };
        // The panel shows what uses the device.
        cx.overlay.panels.show_tuning();
        cx.repaints.redraw_soon();
    }

    /// Takes the messages of the search.
    fn poll(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let news = self.search.poll();
        if !news.is_new {
            return;
        }
        if let Some(trials) = news.progress.into_iter().next_back() {
            self.shown.trials = trials;
        }
        match news.result {
            Some(Ok(search)) => {
                (self.is_requested, self.is_unknown) = (false, Some(false));
                self.shown.copy_ms = search.peak.map(|peak| peak.time.p50);
                self.shown.trials = search.trials;
                devices.builds.request(Request::Again(VariantId::Auto));
            }
            Some(Err(error)) => {
                self.stop();
                cx.notify(error, false);
            }
            None => {}
        }
        self.shown.state = self.search.state.clone();
        cx.repaints.redraw_soon();
    }
}

/// Reports the progress of a search, and makes it wait until it may use the device.
impl SearchObserver<Code> for &Worker<'_, Search, Vec<Trial>> {
    fn begin_trial(&mut self, variant: &'static str, config: &Config, trials: &[Trial]) {
        let next = format!("{variant} {config}");
        log::record(|| [Event::instant(Track::of_thread(), "next", Instant::now()).with(next.clone())]);
        self.set_step(next);
        self.reporter.report(trials.to_vec());
    }

    fn may_continue(&mut self) -> bool {
        Worker::may_continue(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_narrows_the_search_down() {
        assert_eq!(named_variants("flat, fused"), [VariantId::Fused, VariantId::Flat]);
        assert_eq!(named_variants("flat,nonsense"), [VariantId::Flat]);
        for nothing in ["", "nonsense", "off"] {
            assert_eq!(named_variants(nothing), tuned::variants());
        }
    }
}
