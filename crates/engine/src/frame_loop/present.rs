//! The second half of a frame's way: which picture is due, and what is recorded when it was shown.

use std::time::{Duration, Instant};

use super::lent::ASK;
use super::{DrawTimes, Flight, FrameLoop, GlTimings};
use crate::stats::{FrameSample, GlTimes, Lane, Span, Stage, trace};
use base::timing::log;
use video::Frame;

/// What was drawn, and when.
#[derive(Default)]
pub(super) struct Drawn {
    /// The picture on the screen's place was not on the screen yet.
    is_new: bool,
    /// It was filtered anew, and that is not recorded yet.
    is_again: bool,
    /// When the first picture of all was on the screen.
    epoch: Option<Instant>,
    last_present: Option<Instant>,
    last_swap: Option<Instant>,
    /// When the process ran again after it had been stopped.
    stop_ended: Option<Instant>,
    /// How long drawing and swapping has taken lately.
    draw_ns: i64,
}

impl Drawn {
    /// Whether the picture on the screen's place was not on the screen yet.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether nothing was presented for so long.
    pub(super) fn has_waited(&self, time: Duration) -> bool {
        self.last_present.is_none_or(|at| at.elapsed() > time)
    }

    /// The process was stopped until now.
    pub(super) fn was_stopped(&mut self) {
        self.stop_ended = Some(Instant::now());
    }

    /// Returns true if the process was stopped while this frame was on its way: none of its times is its own.
    fn was_stopped_in(&self, flight: &Flight) -> bool {
        // Its first stage is that it was taken.
        let began = flight.stages.spans.first().map(|span| span.from);
        self.stop_ended.zip(began).is_some_and(|(ended, began)| began <= ended)
    }

    /// What comes next is no interval's end.
    pub(super) fn interrupt(&mut self) {
        (self.last_present, self.last_swap) = (None, None);
    }
}

impl FrameLoop {
    pub(super) fn picture_is_due(&self) -> bool {
        self.ready.front().map(|ready| &ready.flight).is_some_and(|f| {
            let now = !self.clock_runs || self.unpaced && !self.clock.is_paused() || f.again;
            now || !self.clock.is_paused() && self.draw_at_ns(&f.frame) <= self.clock.now_ns()
        })
    }

    /// When to begin drawing a picture, so that it is on the screen at its time.
    pub(super) fn draw_at_ns(&self, frame: &Frame) -> i64 {
        let draw_ns = (self.drawn.draw_ns as f64 * self.clock.speed()) as i64;
        frame.pts_ns - draw_ns.clamp(0, frame.duration_ns)
    }

    /// When something is to be done next without an event from outside.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        // The driver's callbacks wake the loop; a driver without them is asked every 5 ms.
        // The engine wakes it, too, when it is back.
        let polls = !self.flights.is_empty() && self.lent.engine().is_some();
        let poll = polls.then(|| Instant::now() + ASK);
        let due = self.ready.front().and_then(|f| self.clock.instant_of(self.draw_at_ns(&f.flight.frame)));
        // Without room the event that makes some wakes the loop, without a frame the decoder does; and where a frame
        // was taken that has to wait for what filters it, the builder.
        let may_take = self.returned.is_empty() && self.has_room();
        let next = self.decoder.queue().next_pts_ns().filter(|_| may_take);
        let take = next.and_then(|pts_ns| self.clock.instant_of(pts_ns - self.lead_ns()));
        [poll, due, take].into_iter().flatten().min()
    }

    /// Puts the picture that is due on the screen's place and returns what to draw: the texture, the
    /// picture's size in pixels and its pixel aspect.
    pub fn picture(&mut self) -> Option<(glow::Texture, (u32, u32), f64)> {
        self.drop_overtaken();
        self.fill();
        if self.picture_is_due()
            && let Some(next) = self.ready.pop_front()
        {
            (self.drawn.is_new, self.drawn.is_again) = (!next.flight.again, next.flight.again);
            self.recorder.begin(next.setting());
            if let Some(old) = self.shown.replace(next) {
                self.free_ready(old);
            }
        }
        let shown = self.shown.as_ref()?;
        Some((shown.slot.texture()?, shown.slot.size(), shown.flight.frame.pixel_aspect()))
    }

    /// Where a picture and its successor are both due, only the successor is shown.
    fn drop_overtaken(&mut self) {
        if self.unpaced || !self.clock_runs || self.clock.is_paused() {
            return;
        }
        let now_ns = self.clock.now_ns();
        while self.ready.get(1).is_some_and(|next| !next.flight.again && next.flight.frame.pts_ns <= now_ns) {
            let Some(overtaken) = self.ready.pop_front() else { return };
            let lost = if overtaken.flight.again { 0 } else { overtaken.flight.dropped_before + 1 };
            if let Some(next) = self.ready.front_mut() {
                next.flight.dropped_before += lost;
            }
            self.free_ready(overtaken);
        }
    }

    /// Records that the window was swapped; returns whether it showed a new movie frame.
    pub fn swapped(&mut self, times: DrawTimes, timings: GlTimings) -> bool {
        self.look_for_stop();
        let now = Instant::now();
        if self.is_holding() {
            self.held_was_announced = true;
        }
        let last_swap = self.drawn.last_swap.replace(now);
        if self.clock.is_paused() && self.flights.is_empty() {
            // Nothing repaints the window in a pause but the user.
            self.drawn.last_swap = None;
        } else if let Some(last) = last_swap {
            self.recorder.overlay_repaint(now.duration_since(last).as_secs_f64() * 1e3);
        }
        let (new, again) = (std::mem::take(&mut self.drawn.is_new), std::mem::take(&mut self.drawn.is_again));
        // They came one after the other, and the last one is just over.
        let mut to = now;
        let drawn =
            [(Stage::Swap, times.swap), (Stage::Overlay, times.overlay), (Stage::Present, times.present)];
        let spans = drawn.map(|(stage, ms)| {
            let from =
                to.checked_sub(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()).unwrap_or(to);
            Span { stage, lane: Lane::Host, from, to: std::mem::replace(&mut to, from) }
        });
        if !new {
            log::record(|| trace::repaint_events(&spans));
        }
        let Some(shown) = self.shown.as_mut().filter(|_| new || again) else { return false };
        let epoch = *self.drawn.epoch.get_or_insert(now);
        let was_stopped = self.drawn.was_stopped_in(&shown.flight);
        if again {
            // It is no frame of the movie that was presented.
        } else if !self.clock_runs {
            // The movie's time begins with its first picture on the screen.
            self.clock_runs = true;
            self.clock.resync(shown.flight.frame.pts_ns);
        } else if !was_stopped {
            let took = ((times.present + times.overlay + times.swap) * 1e6) as i64;
            self.drawn.draw_ns += (took - self.drawn.draw_ns) / 8;
        }
        for (stage, ms) in drawn {
            shown.flight.stages.times[stage as usize] = ms;
        }
        shown.flight.stages.spans.extend(spans);
        if was_stopped {
            shown.flight.stages.forget();
        }
        let setting = shown.setting();
        let beside = shown.beside.as_ref().filter(|_| !was_stopped);
        let beside_filter_ms = beside.and_then(|beside| beside.filter_ms());
        let flight = &mut shown.flight;
        let lateness = self.clock.now_ns() - flight.frame.pts_ns;
        let mut sample = FrameSample {
            pts: flight.frame.movie_s,
            presented_at: now.duration_since(epoch).as_secs_f64(),
            interval_ms: None,
            stages: flight.stages.times,
            filter_by_wall: flight.stages.filter_by_wall,
            pack_ms: flight.stages.pack_ms,
            gl: GlTimes::default(),
            late: !self.unpaced && lateness > flight.frame.duration_ns / 2,
            dropped_before: flight.dropped_before,
            variant: setting.variant,
            radius: setting.radius,
            size: setting.size,
            device: setting.device,
            beside: setting.beside,
            versions: setting.versions,
            beside_filter_ms,
            others: None,
            cloth: if again { None } else { self.cloth.take() },
        };
        if again {
            self.recorder.push_again(sample);
            return false;
        }
        let last = self.drawn.last_present.replace(now);
        sample.interval_ms = last.map(|last| now.duration_since(last).as_secs_f64() * 1e3);
        let texture = shown.fetched.take();
        self.gl_times.push(self.recorder.presented(), GlTimings { texture, ..timings });
        let spans = std::mem::take(&mut flight.stages.spans);
        log::record(|| trace::frame_events(self.recorder.presented(), &sample, &spans));
        self.recorder.push_traced(sample, spans);
        true
    }
}
