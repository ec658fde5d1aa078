//! Tuning in the background: searches for the fastest variant run only while they do not disturb the movie. After a search, the
//! variant `auto`, which uses the fastest one, is rebuilt.
//!
//! A search is made for the running device, the movie's class of sizes and the radius's class of radii. A search starts
//! automatically when `auto` is chosen and the cache has no result; on CPU devices, which decode the movie too, only in a
//! pause. The button *Tune* starts a search in any case.

use std::time::{Duration, Instant};

use super::PlayerContext;
use super::devices::Devices;
use crate::app::builder::Request;
use crate::app::tuner::{self, Progress, SearchRequest, Tuner};
use base::error::Result;
use base::jobs::{Job, JobMessage};
use box_filter::VariantId;
use box_filter::tuned::{self, RADIUS_RANGES, Search, SizeClass, radius_class};
use engine::stats::{FrameSample, Stage};
use ladder::cache::Cache;
use ladder::tune::max_trials;
use opencl::cl::{Device, DeviceKind};
use overlay::{JobState, Tuning, Wait};

/// The time after the last change of device, size or radius until a search starts: a slider may move across several classes.
const SEARCH_DELAY: Duration = Duration::from_secs(1);
/// The maximum fraction of a frame's interval that the movie itself may use. If it uses more, there is no time for a search.
const MAX_MOVIE_SHARE: f64 = 0.5;
/// The number of seconds whose frames decide whether there is time for a search.
const RECENT_S: f64 = 2.0;

/// The subject of a search: the device's index, the class of sizes, and the number of the class of radii.
type Key = (usize, SizeClass, usize);

/// The search for the fastest variant in the background, and its results.
#[derive(Default)]
pub(super) struct BackgroundTuning {
    /// The search, until its thread has ended, even if it was cancelled.
    tuner: Option<Tuner>,
    key: Option<(Key, Instant)>,
    /// True if the cache has no result for `key`; `None` until the cache was read.
    is_unknown: Option<bool>,
    /// The job that reads the cache of tuning results.
    lookup: Option<Job<bool>>,
    /// True if the user has requested a search for the fastest variant.
    is_requested: bool,
    shown: Tuning,
    /// Other work that needs the device for itself, so that the search must wait.
    yields: Option<Wait>,
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

    /// Sets the reason why other work needs the device for itself; `None` if there is no such work.
    pub(super) fn yield_to(&mut self, other: Option<Wait>) {
        self.yields = other;
    }

    /// Returns the reason why no other background work should use the device now: a search that runs, or a movie that needs the time.
    pub(super) fn obstacle(&self, devices: &Devices, cx: &PlayerContext) -> Option<Wait> {
        if self.is_running() {
            return Some(Wait::Tuning);
        }
        devices.running.device().and_then(|device| activity(device, cx).obstacle(true))
    }

    /// Pauses the search until the next call of [`Self::update`].
    pub(crate) fn pause(&self) {
        if let Some(tuner) = &self.tuner {
            tuner.set_open(false);
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

    /// Returns true if a search is running or waiting, and was not cancelled.
    fn is_searching(&self) -> bool {
        self.tuner.as_ref().is_some_and(|tuner| !tuner.is_cancelled())
    }

    /// Returns true if a search uses the device.
    pub(super) fn is_running(&self) -> bool {
        self.is_searching() && matches!(self.shown.state, JobState::Running(_))
    }

    /// Cancels the search.
    fn cancel(&mut self) {
        self.is_requested = false;
        if let Some(tuner) = &self.tuner {
            tuner.cancel();
        }
        if self.shown.state.is_under_way() {
            self.shown.state = JobState::Stopped;
        }
    }

    /// Ends the search; returns true if its thread has ended.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.tuner.as_mut().is_none_or(Tuner::shut_down)
    }
}

/// The activity of the window that a search for the fastest variant may disturb.
struct Activity<'a> {
    still: bool,
    slow: bool,
    unpaced: bool,
    cpu: bool,
    budget_ms: Option<f64>,
    /// The frames of the last [`RECENT_S`] seconds.
    recent: Vec<&'a FrameSample>,
}

impl Activity<'_> {
    /// Returns the reason why a search must wait; `None` if it may run. `is_requested` is true if the user has requested the
    /// search.
    fn obstacle(&self, is_requested: bool) -> Option<Wait> {
        let late = || self.recent.iter().any(|f| f.late || f.dropped_before > 0);
        let spare = || {
            let Some(budget) = self.budget_ms else { return false };
            let own = |f: &&FrameSample| {
                let counted = Stage::ALL.into_iter().filter(|s| *s != Stage::Swap && *s != Stage::Take);
                counted.map(|s| f.stages[s as usize]).filter(|ms| ms.is_finite()).sum::<f64>()
            };
            let all: f64 = self.recent.iter().map(own).sum();
            all <= MAX_MOVIE_SHARE * budget * self.recent.len() as f64
        };
        if self.slow {
            Some(if self.still { Wait::Filter } else { Wait::Slow })
        } else if self.still {
            None
        } else if self.unpaced {
            Some(Wait::Unpaced)
        } else if self.cpu && !is_requested {
            Some(Wait::Cpu)
        } else if late() {
            Some(Wait::Late)
        } else if !spare() {
            Some(Wait::NoTime)
        } else {
            None
        }
    }
}

/// Returns the subject of a search for the running device and the movie on the screen, with the device and the pictures' size;
/// `None` without a device or picture.
fn search_key(devices: &Devices, cx: &PlayerContext) -> Option<(Key, Device, (u32, u32))> {
    let device = devices.running.device()?.clone();
    let size = cx.frames.presenter.screen.size()?;
    let class = radius_class(cx.frames.choice.filter().1);
    Some(((device.info.index, SizeClass::of(size.0, size.1), class), device, size))
}

/// Returns the current activity of the window.
fn activity<'a>(device: &Device, cx: &'a PlayerContext) -> Activity<'a> {
    let history = cx.frames.recorder.history();
    let last = history.back().map_or(0.0, |f| f.presented_at);
    Activity {
        still: cx.frames.schedule.is_paused() || cx.frames.is_finished(),
        slow: cx.frames.is_slow() || cx.frames.busy().is_some(),
        unpaced: cx.args.unpaced,
        cpu: device.info.kind == DeviceKind::Cpu,
        budget_ms: cx
            .frames
            .presenter
            .screen
            .frame_interval_ns()
            .map(|ns| ns as f64 / 1e6 / cx.frames.schedule.speed()),
        recent: history.iter().rev().take_while(|f| last - f.presented_at < RECENT_S).collect(),
    }
}

impl BackgroundTuning {
    /// Starts, pauses, resumes or ends the search, depending on what the window is doing.
    pub(super) fn update(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        while let Some(message) = self.tuner.as_ref().and_then(Tuner::poll) {
            self.take(message, devices, cx);
        }
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
            if self.is_searching() {
                self.cancel();
            }
            return;
        }
        if !self.is_requested && !self.is_searching() {
            if let Err(error) = self.look_up_cache(&device, key, cx) {
                self.stop();
                cx.notify(error, false);
            }
            if self.is_unknown != Some(true) {
                return;
            }
            let wait = SEARCH_DELAY.saturating_sub(since.elapsed());
            if !wait.is_zero() {
                cx.repaints.redraw_within(wait);
                return;
            }
        }
        let obstacle = self.yields.or_else(|| activity(&device, cx).obstacle(self.is_requested));
        if !self.is_searching() {
            if obstacle.is_some() && !self.is_requested {
                return;
            }
            self.start(&device, size, key.2, cx);
        }
        let Some(tuner) = self.tuner.as_ref().filter(|tuner| !tuner.is_cancelled()) else { return };
        tuner.set_open(obstacle.is_none());
        let shown = &mut self.shown;
        match (obstacle, &shown.state) {
            (Some(reason), state) if *state != JobState::Waiting(reason) => {
                shown.state = JobState::Waiting(reason);
            }
            (None, JobState::Waiting(_)) => shown.state = JobState::Running("goes on".into()),
            _ => return,
        }
        cx.repaints.redraw_soon();
    }

    /// Requests a search for the fastest variant, even if the cache has a result.
    pub(super) fn tune_now(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        self.is_requested = devices.running.device().is_some();
        cx.repaints.redraw_soon();
    }

    /// Starts a search, unless an earlier one is still ending: then its end wakes the event loop, which calls this again.
    fn start(&mut self, device: &Device, size: (u32, u32), class: usize, cx: &mut PlayerContext) {
        if self.tuner.is_some() {
            return;
        }
        let (_, radius) = RADIUS_RANGES[class.min(RADIUS_RANGES.len() - 1)];
        let (device, variants) = (device.clone(), tuner::variants());
        let most = max_trials(&tuner::initial_configs(&variants, &device, size));
        let (sources, kernel_timeout) = (cx.sources.clone(), cx.args.trial.timeouts.kernel_timeout);
        let request = SearchRequest { device, sources, size, radius, variants, kernel_timeout };
        match tuner::start(request, &cx.waker) {
            Ok(tuner) => self.tuner = Some(tuner),
            Err(error) => {
                self.stop();
                return cx.notify(error, false);
            }
        }
        self.shown = Tuning {
            state: JobState::Running("the device is made ready".into()),
            case: Some((size, radius)),
            radii: tuned::radius_range(radius),
            max_trials: most,
            ..Tuning::default()
        };
        // The panel shows what uses the device.
        cx.overlay.panels.show_tuning();
        cx.repaints.redraw_soon();
    }

    /// Processes a message of the search.
    fn take(
        &mut self,
        message: JobMessage<Option<Search>, Progress>,
        devices: &Devices,
        cx: &mut PlayerContext,
    ) {
        let is_cancelled = !self.is_searching();
        if matches!(message, JobMessage::Done(_)) {
            self.tuner = None;
        }
        if is_cancelled {
            return;
        }
        match message {
            JobMessage::Progress(Progress { next, trials }) => {
                self.shown.trials.extend(trials);
                if let JobState::Running(now) = &mut self.shown.state {
                    *now = next;
                }
            }
            JobMessage::Done(Ok(search)) => {
                (self.is_requested, self.is_unknown) = (false, Some(false));
                if let Some(search) = search {
                    self.shown.copy_ms = search.peak.map(|peak| peak.time.p50);
                    self.shown.trials = search.trials;
                }
                self.shown.state = JobState::Done;
                devices.builds.request(Request::Again(VariantId::Auto));
            }
            JobMessage::Done(Err(error)) => {
                self.stop();
                self.shown.state = JobState::Failed(error.what.clone());
                cx.notify(error, false);
            }
        }
        cx.repaints.redraw_soon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::stats::GlTimes;

    fn frame(filter_ms: f64, late: bool) -> FrameSample {
        let mut stages = [0.0; Stage::ALL.len()];
        stages[Stage::Filter as usize] = filter_ms;
        // With the display's pace this is waiting, not work.
        stages[Stage::Swap as usize] = 15.0;
        FrameSample {
            pts: 0.0,
            presented_at: 0.0,
            interval_ms: Some(40.0),
            stages,
            filter_by_wall: false,
            work: None,
            pack_ms: None,
            gl: GlTimes::default(),
            late,
            dropped_before: 0,
            sound_lag_ms: None,
            variant: VariantId::Auto,
            radius: 7,
            size: (1280, 720),
            device: 0,
            beside: None,
            versions: Default::default(),
            beside_filter_ms: None,
            others: None,
            beside_work: false,
            cloth: None,
        }
    }

    #[test]
    fn a_search_runs_only_where_it_disturbs_nobody() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let (still, budget_ms) = (false, Some(40.0));
        let moment = |recent| Activity { still, slow: false, unpaced: false, cpu: false, budget_ms, recent };
        assert_eq!(moment(vec![&quick, &quick]).obstacle(false), None);
        assert!(moment(vec![&slow, &slow]).obstacle(true).is_some(), "no time to spare");
        assert!(moment(vec![&quick, &late]).obstacle(true).is_some(), "frames are late");
        assert!(Activity { unpaced: true, ..moment(vec![&quick]) }.obstacle(true).is_some());
        assert!(Activity { slow: true, still: true, ..moment(vec![]) }.obstacle(true).is_some());
        let cpu = || Activity { cpu: true, ..moment(vec![&quick]) };
        assert!(cpu().obstacle(false).is_some(), "the movie's own processor");
        assert_eq!(cpu().obstacle(true), None, "asked for");
        assert_eq!(Activity { still: true, ..cpu() }.obstacle(false), None, "in a pause");
        assert_eq!(Activity { still: true, ..moment(vec![&late]) }.obstacle(false), None);
    }

    #[test]
    fn a_pause_ends_the_waits_that_say_so_and_no_other() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let moment = |still, recent| Activity {
            still,
            slow: false,
            unpaced: false,
            cpu: false,
            budget_ms: Some(40.0),
            recent,
        };
        let moments = |still| {
            [
                (moment(still, vec![&slow]), Wait::NoTime),
                (moment(still, vec![&late]), Wait::Late),
                (Activity { unpaced: true, ..moment(still, vec![&quick]) }, Wait::Unpaced),
                (Activity { cpu: true, ..moment(still, vec![&quick]) }, Wait::Cpu),
                (Activity { slow: true, ..moment(still, vec![&quick]) }, Wait::Slow),
            ]
        };
        for ((plays, wait), (stands, _)) in moments(false).into_iter().zip(moments(true)) {
            assert_eq!(plays.obstacle(false), Some(wait));
            assert!(wait.ends_in_a_pause());
            assert!(!stands.obstacle(false).is_some_and(Wait::ends_in_a_pause), "{wait} in a pause");
        }
    }
}
