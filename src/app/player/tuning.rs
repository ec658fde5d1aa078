//! Tuning in the background: searches for the fastest variant and configuration run only while they do not disturb the movie.
//! After a search, the variant `auto`, which uses the fastest variant, is rebuilt.
//!
//! A search applies to the selected filter, to the device in use, to pictures of about the movie's size, and to radii near the
//! current one: sizes that share a result form a class, and so do radii. The result for a folder's filter applies to all of its
//! settings. The result is stored in the cache of tuning results. A search starts automatically when `auto` is chosen and the cache
//! has no result; on CPU devices, which also decode the movie, only in a pause. The button *Tune now* starts a search in any case.

use super::*;
use crate::app::builder::Request;
use crate::app::lane::{Slot, Task, Worker};
use base::device::DeviceKind;
use base::timing::log::{self, Event, Track};
use box_filter::tuned::{self, RADIUS_RANGES, SizeClass, radius_class};
use box_filter::{Code, Config};
use compute::cache::{self, Cache};
use compute::trial::Child;
use ladder::runner::{LadderRunner, cache_class};
use ladder::tune::{self, InitialConfigs, SearchObserver, max_trials};
use ladders::box_filter::{BoxFilter, Search, Trial};
use opencl::cl::Device;
use overlay::{JobState, Tuning};

/// The delay before a search starts after a change of device, size or radius: a slider may move on.
const SEARCH_DELAY: Duration = Duration::from_secs(1);

/// The case of a search.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    /// The index of the device.
    device: usize,
    /// A variant of the filter that is tuned.
    variant: VariantId,
    /// The group of picture sizes that share a result.
    size: SizeClass,
    /// The number of the group of radii that share a result; 0 for a folder's filter.
    radii: usize,
}

/// The background search for the fastest variant, and its results.
#[derive(Default)]
pub(super) struct BackgroundTuning {
    search: Slot<Search, Tuning>,
    key: Option<(Key, Instant)>,
    /// True if a search for `key` has ended or has found its result in the cache, so that no search starts automatically.
    is_over: bool,
    /// True if the user has requested a search, also where the cache has a result, and it has not ended.
    pub is_requested: bool,
    /// The state of the search and the times of the configurations that it has measured, as the overlay shows them.
    pub(crate) shown: Tuning,
    /// True if `shown` belongs to the current search. A search that started automatically is shown only once it measures, since
    /// it may have to wait or may find a result in the cache.
    is_shown: bool,
}

impl BackgroundTuning {
    /// Stops the search, and does not start it again automatically.
    pub(crate) fn stop(&mut self) {
        self.cancel();
        self.is_over = true;
    }

    /// Starts a search also where there is a result, or says that there is nothing to search.
    pub(super) fn request(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let Some(device) = devices.running.device() else { return };
        let filter = Filter::selected();
        match filter.and_then(|filter| nothing_to_tune(filter, device.info.kind)) {
            Some(nothing) => cx.overlay.show_message(nothing),
            None => {
                self.cancel();
                self.is_requested = true;
            }
        }
    }

    /// Stops the search; it starts again if it is wanted.
    pub(super) fn cancel(&mut self) {
        self.is_requested = false;
        if self.search.is_under_way() {
            self.search.stop();
            if self.is_shown {
                self.shown.state = JobState::Stopped;
            }
        }
    }

    /// Starts or cancels the search, depending on the selected variant, the device, and the picture's size and radius; takes
    /// the results of the search.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        self.poll(devices, cx);
        // What a search would apply to now, with the device in use and the size of the pictures.
        let variant = Filter::selected().map_or(VariantId::OFF, Filter::initial);
        let radii = if variant.opened().is_none() { radius_class(cx.frames.choice.box_radius()) } else { 0 };
        let now = devices.running.device().cloned().zip(cx.frames.presenter.screen.size());
        let now = now.map(|(device, size)| {
            let key = Key { device: device.info.index, variant, size: SizeClass::of(size.0, size.1), radii };
            (key, device, size)
        });
        if now.as_ref().map(|(key, ..)| *key) != self.key.map(|(key, _)| key) {
            self.cancel();
            self.key = now.as_ref().map(|(key, ..)| (*key, Instant::now()));
            self.is_over = false;
        }
        let (Some(subject), Some((_, since))) = (now, self.key) else { return };
        let has_values = tuned::has_values(variant.filter(), subject.1.info.kind);
        // A script that counts frames measures the movie alone.
        let auto = cx.chosen().is_auto() && has_values && cx.args.frames.is_none();
        if !auto && !self.is_requested {
            return self.cancel();
        }
        let wait = SEARCH_DELAY.saturating_sub(since.elapsed());
        if self.search.is_under_way() || self.is_over && !self.is_requested {
            return;
        }
        match self.is_requested || wait.is_zero() {
            true => self.start(subject, cx),
            false => cx.repaints.redraw_within(wait),
        }
    }

    /// Starts a search on this device for pictures of this size; `key` is what the search applies to.
    fn start(&mut self, (key, device, size): (Key, Device, (u32, u32)), cx: &mut PlayerContext) {
        let filter = key.variant.filter();
        let radius = RADIUS_RANGES[key.radii.min(RADIUS_RANGES.len() - 1)].1;
        let settings = key.variant.opened().map(|_| cx.frames.choice.settings_of(key.variant));
        let tuned_settings = settings.unwrap_or(radius.into());
        let configs = initial_configs(&device, filter, (size, tuned_settings));
        let shown = Tuning {
            case: Some((size, radius)),
            settings: settings.map(|settings| key.variant.settings_text(settings)),
            radii: tuned::radius_range(radius),
            max_trials: max_trials(&configs),
            ..Tuning::default()
        };
        let progress = shown.clone();
        let (sources, kernel_timeout) = (cx.sources.clone(), cx.args.trial.timeouts.kernel_timeout);
        let is_requested = self.is_requested;
        let search = move |worker: &Worker<'_, Search, Tuning>| {
            let known = tuned::tuned_variants(filter, &Cache::load(), &device.info, &sources.get());
            if !is_requested && known.iter().any(|c| (c.size, c.radius_class) == (key.size, key.radii)) {
                return Ok(None);
            }
            cache::require_writable()?;
            let ladder = BoxFilter::on_noise(size).of_filter(filter);
            let case = ladder.case(tuned_settings);
            let mut child = Child::new(BoxFilter::INFO.name, kernel_timeout);
            let runner = LadderRunner::new(&ladder, Some(&device), sources.get(), &mut child);
            let began = Instant::now();
            let found = tune::search(&runner, &case, configs, &mut Observer { worker, progress });
            log::record(|| [Event::since("search", began)]);
            let found = found?;
            if let Some(search) = &found {
                let mut cache = Cache::load();
                cache.put(search.entries(&device.info, &cache_class(&ladder, &case))?);
                cache.store()?;
            }
            Ok(found)
        };
        let task = Task::Tuning { is_requested };
        self.search.start((&mut cx.lane, task), "the device is made ready", search);
        self.is_shown = is_requested;
        if is_requested {
            self.shown = Tuning { state: self.search.state.clone(), ..shown };
        }
        cx.repaints.redraw_soon();
    }

    /// Takes the messages and the result of the search.
    fn poll(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let news = self.search.poll();
        if let Some(shown) = news.progress.into_iter().next_back() {
            self.shown = shown;
            if !std::mem::replace(&mut self.is_shown, true) {
                // The panel is opened to show that a search uses the device.
                cx.overlay.panels.show_tuning();
            }
        }
        if news.is_new && !self.search.is_under_way() {
            (self.is_requested, self.is_over) = (false, true);
        }
        match news.result {
            Some(Ok(search)) => {
                self.shown.copy_ms = search.peak.map(|peak| peak.time.p50);
                self.shown.trials = search.trials;
                // Each variant of a folder runs with its own result.
                let filter = Filter::selected().into_iter().flat_map(Filter::variants);
                for id in filter.filter(|id| !id.is_auto()).chain([VariantId::auto()]) {
                    devices.builds.builder.request(Request::Again(id));
                }
            }
            Some(Err(error)) => {
                self.is_shown = true;
                cx.overlay.panels.show_tuning();
                cx.notify(error, false);
            }
            None => {}
        }
        if news.is_new && self.is_shown {
            self.shown.state = self.search.state.clone();
            cx.repaints.redraw_soon();
        }
    }
}

/// Returns the configurations at which a search begins, for the variants that `CLREEL_TUNE_VARIANTS` names, or all.
fn initial_configs(
    device: &Device,
    filter: &'static Filter,
    (size, settings): ((u32, u32), Settings),
) -> InitialConfigs<Code> {
    let names = base::environment::text("CLREEL_TUNE_VARIANTS").unwrap_or_default();
    let variants = selected(tuned::variants(filter), &names, |name| name.parse().ok());
    let ladder = BoxFilter::on_noise(size).of_filter(filter);
    let mut configs = tune::initial_configs(&ladder, &device.info, &ladder.case(settings));
    configs.retain(|(variant, _)| variants.iter().any(|id| id.name == *variant));
    configs
}

/// Returns the sentence for a filter that has no values to try on this kind of device; `None` if it has some.
fn nothing_to_tune(filter: &'static Filter, kind: DeviceKind) -> Option<String> {
    let name = &filter.description.name;
    (!tuned::has_values(filter, kind))
        .then(|| format!("{name}: there is nothing to tune, since no variant has `tuning` with `values`"))
}

/// The observer of a search: reports the progress to the window, and makes the search wait until it may use the device.
struct Observer<'a> {
    worker: &'a Worker<'a, Search, Tuning>,
    progress: Tuning,
}

impl SearchObserver<Code> for Observer<'_> {
    fn begin_trial(&mut self, variant: &'static str, config: &Config, trials: &[Trial]) {
        let next = format!("{variant} {config}");
        log::record(|| [Event::instant(Track::of_thread(), "next", Instant::now()).with(next.clone())]);
        self.worker.set_step(next);
        self.worker.reporter.report(Tuning { trials: trials.to_vec(), ..self.progress.clone() });
    }

    fn may_continue(&mut self) -> bool {
        self.worker.may_continue()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn a_variable_narrows_the_search_down() {
        let selected =
            |names| selected(tuned::variants(VariantId::OFF.filter()), names, |name| name.parse().ok());
        assert_eq!(selected("flat, fused"), [named("fused"), named("flat")]);
        assert_eq!(selected("flat,nonsense"), [named("flat")]);
        for nothing in ["", "nonsense", "off"] {
            assert_eq!(selected(nothing), tuned::variants(VariantId::OFF.filter()));
        }
    }
}
