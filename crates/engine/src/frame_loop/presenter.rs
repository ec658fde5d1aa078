//! The filtered frames that are ready, and the times of drawing them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::flights::{Origin, ReadyFrame};
use super::gl_times::PendingGlTimes;
use super::schedule::Schedule;
use super::screen::Screen;
use base::timing::log;
use opengl::timer::{GlTimer, Timing};
use stats::{ClothTimes, FrameSample, Lane, Recorder, Span, Stage, Stages, trace};

/// The times of drawing a frame in the window, in milliseconds.
#[derive(Default)]
pub struct DrawTimes {
    /// Drawing the picture: the calls on the window's thread.
    pub present: f64,
    /// Laying out the overlay and handing it to OpenGL.
    pub overlay: f64,
    /// Swapping the window's buffers. A software renderer draws during the swap.
    pub swap: f64,
    /// The timer queries of OpenGL's commands, in the order of [`GL_NAMES`](stats::GL_NAMES); the first one is not used.
    pub gl: [Option<Timing>; 3],
}

impl DrawTimes {
    /// Returns the time and the span of each stage, the last stage first. The stages follow each other, and the last one ends at `now`.
    fn stages(&self, now: Instant) -> [(f64, Span); 3] {
        let mut to = now;
        [(Stage::Swap, self.swap), (Stage::Overlay, self.overlay), (Stage::Present, self.present)].map(
            |(stage, ms)| {
                let time = Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default();
                let from = to.checked_sub(time).unwrap_or(to);
                (ms, Span { stage, lane: Lane::Host, from, to: std::mem::replace(&mut to, from) })
            },
        )
    }
}

/// The filtered frames that are not due yet, and the frame on the screen.
#[derive(Default)]
pub struct Presenter {
    /// The frames that are ready, in the order in which they are shown.
    pub(super) ready: VecDeque<ReadyFrame>,
    /// The frame on the screen.
    pub screen: Screen,
    /// The time when the first picture of the run was on the screen; `None` before.
    pub(super) epoch: Option<Instant>,
    pub(super) last_present: Option<Instant>,
    pub(super) last_swap: Option<Instant>,
    /// The time when the process continued after it was last stopped; `None` if it was never stopped.
    pub(super) stop_ended: Option<Instant>,
    pub(super) gl_times: PendingGlTimes,
    /// The times of the cloth simulation for the last frame, for the next row of the statistics; `None` if no figures are
    /// drawn.
    pub cloth: Option<Box<ClothTimes>>,
}

impl Presenter {
    /// Returns the origins of the ready frames and of the frame on the screen.
    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.ready.iter().chain(self.screen.shown()).map(|ready| &ready.origin)
    }

    /// Returns the ready frames and the frame on the screen.
    pub(super) fn frames_mut(&mut self) -> impl Iterator<Item = &mut ReadyFrame> {
        self.ready.iter_mut().chain(&mut self.screen.shown)
    }

    /// Removes and returns the ready frames for which `condition` returns true.
    pub(super) fn remove(&mut self, condition: impl Fn(&ReadyFrame) -> bool) -> VecDeque<ReadyFrame> {
        let (removed, kept) = std::mem::take(&mut self.ready).into_iter().partition(condition);
        self.ready = kept;
        removed
    }

    /// Uploads the pictures of the ready frames into their textures.
    pub(super) fn upload_pictures(&mut self) {
        let timer = self.gl_times.timer.as_ref();
        self.ready.iter_mut().filter(|ready| !ready.is_filled).for_each(|ready| ready.upload_pictures(timer));
    }

    /// Returns true if the next ready frame should be drawn now.
    pub(super) fn is_due(&self, schedule: &Schedule) -> bool {
        self.ready.front().is_some_and(|next| schedule.is_due(&next.origin))
    }

    /// Puts the ready frame that is due on the screen. Skips a frame whose successor is due as well. Returns the frames that
    /// are not needed any more.
    pub(super) fn advance(&mut self, schedule: &Schedule, recorder: &mut Recorder) -> Vec<ReadyFrame> {
        let mut unused = Vec::new();
        // A frame whose time has passed is shown instead of the one before it.
        let paced = schedule.pace_ns().filter(|_| !schedule.is_paused());
        let overtakes = |next: &ReadyFrame| {
            paced.is_some_and(|now_ns| !next.origin.replaces_shown && next.origin.frame.pts_ns <= now_ns)
        };
        while self.ready.get(1).is_some_and(overtakes)
            && let Some(skipped) = self.ready.pop_front()
        {
            let Origin { replaces_shown, dropped_before, .. } = skipped.origin;
            if let Some(next) = self.ready.front_mut().filter(|_| !replaces_shown) {
                next.origin.dropped_before += dropped_before + 1;
            }
            unused.push(skipped);
        }
        self.upload_pictures();
        if self.is_due(schedule)
            && let Some(next) = self.ready.pop_front()
        {
            recorder.shown.begin(next.setting());
            self.screen.is_changed = true;
            unused.extend(self.screen.shown.replace(next));
        }
        unused
    }

    /// Leaves the interval from the last presented frame to the next one out of the statistics.
    pub(super) fn interrupt(&mut self) {
        (self.last_present, self.last_swap) = (None, None);
    }

    /// Returns the timer for OpenGL's commands if the frame on the screen is to be timed: it is a new movie frame, and timer queries
    /// measure the drawing.
    pub fn gl_timer(&self) -> Option<GlTimer> {
        self.gl_times.timer.clone().filter(|_| self.screen.is_new())
    }

    /// Records that the window's buffers were swapped, with the times of drawing. `is_idle` is true if only the user's input
    /// causes repaints. Returns true if the swap showed a new movie frame.
    pub(super) fn swapped(
        &mut self,
        times: DrawTimes,
        is_idle: bool,
        schedule: &mut Schedule,
        recorder: &mut Recorder,
    ) -> bool {
        let now = Instant::now();
        let last_swap = self.last_swap.replace(now);
        if is_idle {
            self.last_swap = None;
        } else if let Some(last) = last_swap {
            recorder.overlay_repaint(now.duration_since(last).as_secs_f64() * 1e3);
        }
        let is_new = self.screen.is_new();
        let is_changed = std::mem::take(&mut self.screen.is_changed);
        let drawn = times.stages(now);
        if !is_new {
            log::record(|| trace::repaint_events(&drawn.map(|(_, span)| span)));
        }
        let Some(shown) = self.screen.shown.as_mut().filter(|_| is_changed) else { return false };
        // Times of a frame count only if the process was not stopped since its first stage.
        let began = shown.picture.stages.spans.first().map(|span| span.from);
        let was_stopped = self.stop_ended.zip(began).is_some_and(|(ended, began)| began <= ended);
        if is_new {
            let draw_ms = times.present + times.overlay + times.swap;
            schedule.note_presented(&shown.origin.frame, Some(draw_ms).filter(|_| !was_stopped));
        }
        let epoch = *self.epoch.get_or_insert(now);
        let stages = &mut shown.picture.stages;
        for (ms, span) in drawn {
            stages.times[span.stage as usize] = ms;
            stages.spans.push(span);
        }
        if was_stopped {
            // They include the stop.
            let (times, filter_by_wall) = ([f64::NAN; Stage::ALL.len()], stages.filter_by_wall);
            *stages = Stages { times, filter_by_wall, ..Stages::default() };
        }
        let setting = shown.setting();
        let second_ms = shown.second.as_ref().map(|second| second.picture.stages.filter_ms());
        let beside_filter_ms = second_ms.filter(|ms| !was_stopped && ms.is_finite());
        let origin = &shown.origin;
        let mut sample = FrameSample {
            pts: origin.frame.movie_s,
            presented_at: now.duration_since(epoch).as_secs_f64(),
            interval_ms: None,
            stages: shown.picture.stages.clone(),
            gl: [None; 3],
            late: schedule.is_late(&origin.frame),
            dropped_before: origin.dropped_before,
            sound_lag_ms: if is_new { schedule.clock.sound_lag_ms(&origin.frame) } else { None },
            setting,
            beside_filter_ms,
            left_out_ms: None,
            others: None,
            beside_work: false,
            cloth: if is_new { self.cloth.take() } else { None },
        };
        if !is_new {
            recorder.push_refiltered(sample);
            return false;
        }
        let last = self.last_present.replace(now);
        sample.interval_ms = last.map(|last| now.duration_since(last).as_secs_f64() * 1e3);
        let [_, present, overlay] = times.gl;
        self.gl_times.push(recorder.presented, [shown.fetch_timing.take(), present, overlay]);
        log::record(|| trace::frame_events(recorder.presented, &sample));
        recorder.push(sample);
        true
    }
}
