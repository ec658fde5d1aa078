//! Tuning in spare time. In: what the window does. Out: searches on the tuner's thread, which run only while they
//! disturb nobody, and the variant `auto` built anew from what they have found.
//!
//! A search is for the running device, the movie's class of sizes and the radius's class. One begins by itself when
//! `auto` is chosen and nothing is known; on CPU devices, which are the movie's own processor, only in a pause. The
//! button begins one anyway.

use std::time::{Duration, Instant};

use super::With;
use super::devices::Devices;
use crate::app::tuner::{self, News, Order, Told, Tuner};
use base::error::Result;
use base::jobs::{Job, Waker};
use box_filter::VariantId;
use box_filter::tune;
use box_filter::tuned::{self, RADII, SizeClass, radius_class};
use engine::stats::{FrameSample, Stage};
use ladder::cache::Cache;
use opencl::cl::{Device, DeviceKind};
use overlay::{Tuning, TuningState, Wait};

/// Who moves a slider across several classes does not want them all searched.
const SETTLED: Duration = Duration::from_secs(1);
/// The part of a frame's interval that the movie may take for itself; beyond it there is no time to spare.
const BUDGET: f64 = 0.5;
/// Frames of this many seconds count.
const RECENT_S: f64 = 2.0;

/// What a search is for: the device's index, the class of sizes and that of radii.
type Key = (usize, SizeClass, usize);

/// The state of tuning.
pub(super) struct SpareTime {
    tuner: Option<Tuner>,
    key: Option<(Key, Instant)>,
    /// Whether the cache has nothing for the key; `None` until it was asked.
    unknown: Option<bool>,
    /// It is being asked.
    looking: Option<Job<bool>>,
    /// The button was pressed.
    asked: bool,
    /// A search is under way, with the number of the last one.
    under_way: bool,
    number: u64,
    shown: Tuning,
    /// Who wants the device for itself.
    yields: Option<Wait>,
}

impl Default for SpareTime {
    fn default() -> Self {
        Self {
            tuner: None,
            key: None,
            unknown: None,
            looking: None,
            asked: false,
            under_way: false,
            number: 0,
            shown: Tuning::NONE,
            yields: None,
        }
    }
}

impl SpareTime {
    /// What the overlay shows of it.
    pub(crate) fn shown(&self) -> &Tuning {
        &self.shown
    }

    /// Ends the search; it does not begin again by itself.
    pub(crate) fn stop(&mut self) {
        self.cancel();
        (self.unknown, self.looking) = (Some(false), None);
    }

    /// Leaves the device to whoever wants it for itself; `None`: nobody does.
    pub(super) fn yield_to(&mut self, other: Option<Wait>) {
        self.yields = other;
    }

    /// Holds the search, until it is looked after again.
    pub(crate) fn hold(&self) {
        if let Some(tuner) = &self.tuner {
            tuner.set_open(false);
        }
    }

    /// Asks the cache, which is a file, whether it has something for the key; a thread reads it.
    fn look_up(&mut self, device: &Device, key: Key, waker: &Waker) -> Result<()> {
        if self.unknown.is_none() && self.looking.is_none() {
            let info = device.info.clone();
            let look = move |_: &_| {
                let known = tuned::choices(&Cache::load(), &info);
                Ok(!known.iter().any(|c| (c.size, c.radius_class) == (key.1, key.2)))
            };
            self.looking = Some(Job::spawn("look-up", "What was tuned before cannot be read.", waker, look)?);
        }
        if let Some(unknown) = self.looking.as_ref().and_then(|job| job.wait(Duration::ZERO)) {
            self.looking = None;
            self.unknown = Some(unknown?);
        }
        Ok(())
    }

    fn cancel(&mut self) {
        (self.under_way, self.asked) = (false, false);
        if let Some(tuner) = &self.tuner {
            tuner.cancel();
        }
        if self.shown.is_under_way() {
            self.shown.state = TuningState::Idle;
        }
    }

    /// Ends the thread; whether it has ended.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.tuner.as_mut().is_none_or(Tuner::shut_down)
    }
}

/// What the window does, as far as a search may disturb it.
struct Moment<'a> {
    still: bool,
    slow: bool,
    unpaced: bool,
    cpu: bool,
    budget_ms: Option<f64>,
    /// The frames of late.
    recent: Vec<&'a FrameSample>,
}

impl Moment<'_> {
    /// Why a search must wait, if it must.
    fn obstacle(&self, asked: bool) -> Option<Wait> {
        let late = || self.recent.iter().any(|f| f.late || f.dropped_before > 0);
        let spare = || {
            let Some(budget) = self.budget_ms else { return false };
            let own = |f: &&FrameSample| {
                let counted = Stage::ALL.into_iter().filter(|s| *s != Stage::Swap && *s != Stage::Take);
                counted.map(|s| f.stages[s as usize]).filter(|ms| ms.is_finite()).sum::<f64>()
            };
            let all: f64 = self.recent.iter().map(own).sum();
            all <= BUDGET * budget * self.recent.len() as f64
        };
        if self.slow {
            Some(if self.still { Wait::Filter } else { Wait::Slow })
        } else if self.still {
            None
        } else if self.unpaced {
            Some(Wait::Unpaced)
        } else if self.cpu && !asked {
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

/// What a search would be for now.
fn key(devices: &Devices, with: &With) -> Option<(Key, Device, (u32, u32))> {
    let device = devices.running()?.clone();
    let size = with.frames.shown_size()?;
    let class = radius_class(with.frames.chosen().1);
    Some(((device.info.index, SizeClass::of(size.0, size.1), class), device, size))
}

fn moment<'a>(device: &Device, with: &'a With) -> Moment<'a> {
    let history = with.frames.recorder.history();
    let last = history.back().map_or(0.0, |f| f.presented_at);
    Moment {
        still: with.frames.is_paused() || with.frames.is_finished(),
        slow: with.frames.is_slow() || with.frames.busy().is_some(),
        unpaced: with.args.unpaced,
        cpu: device.info.kind == DeviceKind::Cpu,
        budget_ms: with.frames.frame_interval_ns().map(|ns| ns as f64 / 1e6 / with.frames.speed()),
        recent: history.iter().rev().take_while(|f| last - f.presented_at < RECENT_S).collect(),
    }
}

impl SpareTime {
    /// Begins, holds, lets go on and ends searches as the moment allows.
    pub(super) fn look_after(&mut self, devices: &Devices, with: &mut With) {
        while let Some(told) = self.tuner.as_mut().and_then(Tuner::poll) {
            self.told(told, devices, with);
        }
        let now = key(devices, with);
        if now.as_ref().map(|(key, ..)| *key) != self.key.map(|(key, _)| key) {
            self.cancel();
            self.key = now.as_ref().map(|(key, ..)| (*key, Instant::now()));
            (self.unknown, self.looking) = (None, None);
        }
        let (Some((key, device, size)), Some((_, since))) = (now, self.key) else { return };
        // Who counts frames measures the movie, and wants nothing beside it.
        let auto = with.frames.chosen().0 == VariantId::Auto && with.args.frames.is_none();
        if !auto && !self.asked {
            if self.under_way {
                self.cancel();
            }
            return;
        }
        if !self.asked && !self.under_way {
            if let Err(error) = self.look_up(&device, key, with.waker) {
                self.stop();
                with.notify(error, false);
            }
            if self.unknown != Some(true) {
                return;
            }
            let wait = SETTLED.saturating_sub(since.elapsed());
            if !wait.is_zero() {
                with.repaints.after(wait);
                return;
            }
        }
        let obstacle = self.yields.or_else(|| moment(&device, with).obstacle(self.asked));
        if !self.under_way {
            if obstacle.is_some() && !self.asked {
                return;
            }
            self.begin(&device, size, key.2, with);
        }
        let open = obstacle.is_none();
        if let Some(tuner) = &self.tuner {
            tuner.set_open(open);
        }
        let shown = &mut self.shown;
        match (obstacle, &shown.state) {
            (Some(reason), state) if *state != TuningState::Waiting(reason) => {
                shown.state = TuningState::Waiting(reason);
            }
            (None, TuningState::Waiting(_)) => shown.state = TuningState::Running("goes on".into()),
            _ => return,
        }
        with.repaints.soon();
    }

    /// The button: searches whether or not something is known.
    pub(super) fn tune_now(&mut self, devices: &Devices, with: &mut With) {
        self.asked = devices.running().is_some();
        with.repaints.soon();
    }

    fn begin(&mut self, device: &Device, size: (u32, u32), class: usize, with: &mut With) {
        if self.tuner.is_none() {
            match Tuner::spawn(with.waker) {
                Ok(tuner) => self.tuner = Some(tuner),
                Err(error) => {
                    self.stop();
                    with.notify(error, false);
                    return;
                }
            }
        }
        let (_, radius) = RADII[class.min(RADII.len() - 1)];
        let variants = tuner::variants();
        let tuning = self;
        tuning.number += 1;
        tuning.under_way = true;
        tuning.shown = Tuning {
            state: TuningState::Running("the device is made ready".into()),
            of: Some((size, radius)),
            radii: tuned::range(radius),
            most: tune::most_trials(&device.info, &variants),
            ..Tuning::NONE
        };
        if let Some(tuner) = &tuning.tuner {
            let (device, kernel_timeout) = (device.clone(), with.args.trial.limit());
            tuner.start(tuning.number, Order { device, size, radius, variants, kernel_timeout });
        }
        // So that it is seen what takes the time.
        with.overlay.show_tuning();
        with.repaints.soon();
    }

    fn told(&mut self, told: Told, devices: &Devices, with: &mut With) {
        let tuning = self;
        if told.number != tuning.number || !tuning.under_way {
            return;
        }
        match told.news {
            News::Next(what, new) => {
                tuning.shown.trials.extend(new);
                if let TuningState::Running(now) = &mut tuning.shown.state {
                    *now = what;
                }
            }
            News::Found(search) => {
                (tuning.under_way, tuning.asked, tuning.unknown) = (false, false, Some(false));
                tuning.shown.copy_ms = search.limit.map(|limit| limit.time.p50);
                tuning.shown.trials = search.trials;
                tuning.shown.state = TuningState::Done;
                devices.build_again(VariantId::Auto);
            }
            News::Failed(error) => {
                tuning.stop();
                tuning.shown.state = TuningState::Failed(error.what.clone());
                with.notify(error, false);
            }
        }
        with.repaints.soon();
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
            pack_ms: None,
            gl: GlTimes::default(),
            late,
            dropped_before: 0,
            variant: VariantId::Auto,
            radius: 7,
            size: (1280, 720),
            device: 0,
            beside: None,
            versions: Default::default(),
            beside_filter_ms: None,
            others: None,
            cloth: None,
        }
    }

    #[test]
    fn a_search_runs_only_where_it_disturbs_nobody() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let (still, budget_ms) = (false, Some(40.0));
        let moment = |recent| Moment { still, slow: false, unpaced: false, cpu: false, budget_ms, recent };
        assert_eq!(moment(vec![&quick, &quick]).obstacle(false), None);
        assert!(moment(vec![&slow, &slow]).obstacle(true).is_some(), "no time to spare");
        assert!(moment(vec![&quick, &late]).obstacle(true).is_some(), "frames are late");
        assert!(Moment { unpaced: true, ..moment(vec![&quick]) }.obstacle(true).is_some());
        assert!(Moment { slow: true, still: true, ..moment(vec![]) }.obstacle(true).is_some());
        let cpu = || Moment { cpu: true, ..moment(vec![&quick]) };
        assert!(cpu().obstacle(false).is_some(), "the movie's own processor");
        assert_eq!(cpu().obstacle(true), None, "asked for");
        assert_eq!(Moment { still: true, ..cpu() }.obstacle(false), None, "in a pause");
        assert_eq!(Moment { still: true, ..moment(vec![&late]) }.obstacle(false), None);
    }

    #[test]
    fn a_pause_ends_the_waits_that_say_so_and_no_other() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let moment = |still, recent| Moment {
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
                (Moment { unpaced: true, ..moment(still, vec![&quick]) }, Wait::Unpaced),
                (Moment { cpu: true, ..moment(still, vec![&quick]) }, Wait::Cpu),
                (Moment { slow: true, ..moment(still, vec![&quick]) }, Wait::Slow),
            ]
        };
        for ((plays, wait), (stands, _)) in moments(false).into_iter().zip(moments(true)) {
            assert_eq!(plays.obstacle(false), Some(wait));
            assert!(wait.ends_in_a_pause());
            assert!(!stands.obstacle(false).is_some_and(Wait::ends_in_a_pause), "{wait} in a pause");
        }
    }
}
