//! The second half of a frame's way: which picture is due, and what is recorded when it was shown.

use std::time::{Duration, Instant};

use super::submit::AHEAD;
use super::{DrawTimes, FrameLoop};
use crate::media::Frame;
use crate::stats::{FrameSample, Stage};

impl FrameLoop {
    pub(super) fn picture_is_due(&self) -> bool {
        self.ready.front().is_some_and(|f| {
            let now = self.started.is_none() || self.unpaced && !self.clock.is_paused() || f.again;
            now || !self.clock.is_paused() && self.draw_at_ns(&f.frame) <= self.clock.now_ns()
        })
    }

    /// When to begin drawing a picture, so that it is on the screen at its time.
    fn draw_at_ns(&self, frame: &Frame) -> i64 {
        frame.pts_ns - self.draw_ns.clamp(0, frame.duration_ns / 2)
    }

    /// When something is to be done next without an event from outside.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let now = Instant::now();
        let at = |pts_ns: i64| {
            let wait = pts_ns.saturating_sub(self.clock.now_ns()).max(0);
            now + Duration::from_nanos(wait as u64)
        };
        let paused = self.clock.is_paused();
        let poll = (!self.flights.is_empty()).then(|| now + Duration::from_millis(5));
        let due = self.ready.front().filter(|_| !paused).map(|f| at(self.draw_at_ns(&f.frame)));
        let room = !paused && self.flights.len() + self.ready.len() < AHEAD && self.held.is_none();
        let take = self.decoder.queue().next_pts_ns().filter(|_| room).map(|pts| at(pts - self.lead_ns()));
        // A frame that is due already waits for a slot: the event that frees one wakes the loop.
        let take = take.map(|t| t.max(now + Duration::from_millis(1)));
        [poll, due, take].into_iter().flatten().min()
    }

    /// Puts the picture that is due on the screen's place and returns what to draw: the texture, the
    /// picture's size in pixels and its pixel aspect.
    pub fn picture(&mut self) -> Option<(glow::Texture, (u32, u32), f64)> {
        if self.picture_is_due()
            && let Some(next) = self.ready.pop_front()
        {
            self.shown_is_new = !next.again;
            if let Some(old) = self.shown.replace(next) {
                self.free.push(old.slot);
            }
        }
        let shown = self.shown.as_ref()?;
        Some((shown.slot.texture(), shown.slot.size(), shown.frame.pixel_aspect()))
    }

    /// Records that the window was swapped; returns whether it showed a new movie frame.
    pub fn swapped(&mut self, times: DrawTimes) -> bool {
        let now = Instant::now();
        if self.held.is_some() {
            self.held_was_announced = true;
        }
        if let Some(last) = self.last_swap.replace(now) {
            self.recorder.overlay_repaint(now.duration_since(last).as_secs_f64() * 1e3);
        }
        let Some(shown) = self.shown.as_mut().filter(|_| self.shown_is_new) else { return false };
        self.shown_is_new = false;
        if self.started.is_none() {
            // The movie's time begins with its first picture on the screen.
            self.started = Some(now);
            self.clock.resync(shown.frame.pts_ns);
        } else {
            let took = ((times.present + times.overlay + times.swap) * 1e6) as i64;
            self.draw_ns += (took - self.draw_ns) / 8;
        }
        shown.stages[Stage::Present as usize] = times.present;
        shown.stages[Stage::Overlay as usize] = times.overlay;
        shown.stages[Stage::Swap as usize] = times.swap;
        let interval =
            self.last_present.replace(now).map(|last| now.duration_since(last).as_secs_f64() * 1e3);
        let lateness = self.clock.now_ns() - shown.frame.pts_ns;
        let sample = FrameSample {
            pts: shown.frame.movie_s,
            presented_at: self.started.map_or(0.0, |s| now.duration_since(s).as_secs_f64()),
            interval_ms: interval,
            stages: shown.stages,
            late: !self.unpaced && lateness > shown.frame.duration_ns / 2,
            dropped_before: shown.dropped_before,
            variant: shown.variant,
            radius: shown.radius,
        };
        self.recorder.push(sample);
        true
    }
}
