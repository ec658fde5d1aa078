//! What the loop tells the window: the picture on the screen, whether anything follows it, and what takes long.

use std::sync::Arc;
use std::time::Instant;

use super::{BUSY_S, Busy, FrameLoop, OVERLAY_MS, STALLED, STILL, Side};
use crate::stats::ClothTimes;
use crate::{Progress, Readings, Request};
use box_filter::VariantId;
use video::{Frame, Orientation};

impl FrameLoop {
    /// Whether the movie is paused.
    pub fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// Counted up whenever another device takes over, or none.
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// Notes what a frame of an army took that comes into the picture with the next drawing, or that there is none.
    pub fn note_cloth(&mut self, times: Option<Box<ClothTimes>>) {
        self.cloth = times;
    }

    /// Whether there is one picture and no movie.
    pub fn is_still(&self) -> bool {
        self.shown.as_ref().is_some_and(|f| f.flight.frame.number == 0) && self.decoder.queue().is_finished()
    }

    /// Position of the picture on the screen in the movie, in seconds.
    pub fn position_s(&self) -> f64 {
        self.shown.as_ref().map_or(0.0, |f| f.flight.frame.movie_s)
    }

    /// Variant and radius that filtered the picture on the screen.
    pub fn shown_filter(&self) -> Option<(VariantId, u32)> {
        self.shown.as_ref().map(|f| (f.flight.request.variant, f.flight.request.radius))
    }

    /// What was measured of the picture on the screen, if that was wanted.
    pub fn shown_readings(&self) -> Option<Arc<Readings>> {
        self.shown.as_ref().and_then(|f| f.readings.clone())
    }

    /// The movie's frame on the screen, as it was decoded.
    pub fn shown_frame(&self) -> Option<Arc<Frame>> {
        self.shown.as_ref().map(|f| f.flight.frame.clone())
    }

    /// Size in pixels of the picture on the screen.
    pub fn shown_size(&self) -> Option<(u32, u32)> {
        self.shown.as_ref().map(|f| f.slot.size())
    }

    /// How the picture on the screen is turned.
    pub fn shown_orientation(&self) -> Orientation {
        self.shown.as_ref().map_or_else(Orientation::default, |f| f.flight.frame.orientation())
    }

    /// Returns true if the picture on the screen may have pixels that are not opaque.
    pub fn shown_has_alpha(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.flight.frame.has_alpha())
    }

    /// Texture of the picture on the screen, which has all of it then, and its size in pixels.
    pub fn whole_texture(&mut self) -> Option<(glow::Texture, (u32, u32))> {
        let shown = self.shown.as_mut()?;
        shown.slot.show();
        Some((shown.slot.texture()?, shown.slot.size()))
    }

    /// Whether the picture on the screen's place was not on the screen yet.
    pub fn shown_is_new(&self) -> bool {
        self.drawn.is_new()
    }

    /// Whether the picture on the screen was made with what is not used any more.
    pub fn is_shown_doubtful(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.flight.doubtful)
    }

    /// Interval of the movie's frames, in nanoseconds, as the picture on the screen has it.
    pub fn frame_interval_ns(&self) -> Option<i64> {
        self.shown.as_ref().map(|f| f.flight.frame.duration_ns).filter(|ns| *ns > 0)
    }

    /// Frames on their way, beside the one on the screen.
    pub(super) fn ahead(&self) -> usize {
        let flights = self.flights.iter().filter(|flight| flight.side != Side::Other).count();
        flights + self.ready.len() + self.wipe.waiting()
    }

    /// Returns true if no frame is on its way, and none waits to be taken.
    pub(super) fn awaits_decoder(&self) -> bool {
        self.ahead() == 0 && self.returned.is_empty() && self.decoder.queue().waiting() == 0
    }

    /// Whether every frame was shown and none will come.
    pub fn is_finished(&self) -> bool {
        self.lent.engine().is_some()
            && self.decoder.queue().is_finished()
            && self.flights.is_empty()
            && self.wipe.waiting() == 0
            && !self.wipe.is_due()
            && self.ready.is_empty()
            && self.returned.is_empty()
            && self.frame_to_filter_again(&self.wanted()).is_none()
    }

    /// Whether every frame was shown, and the last one for its time: a still picture for `STILL`.
    pub fn is_over(&self) -> bool {
        let Some(shown) = &self.shown else { return false };
        let frame = &shown.flight.frame;
        let still = frame.number == 0;
        let time_ns = if still { STILL.as_nanos() as i64 } else { frame.duration_ns };
        self.clock_runs
            && self.is_finished()
            && (self.unpaced || self.clock.now_ns() >= frame.pts_ns.saturating_add(time_ns))
    }

    /// Whether the first picture of another place in the movie is awaited, for longer than a blink.
    pub fn is_seeking(&self) -> bool {
        !self.clock_runs && self.shown.is_some() && self.started_over.elapsed().as_secs_f64() > BUSY_S
    }

    /// Whether the next frame has been due for longer than `STALLED`, and the decoder does not give it.
    pub fn is_stalled(&self) -> bool {
        let end = self.shown.as_ref().and_then(|shown| self.end_of(&shown.flight.frame));
        let is_overdue = end.is_some_and(|end| Instant::now() > end + STALLED);
        is_overdue && !self.clock.is_paused() && !self.decoder.queue().is_finished() && self.awaits_decoder()
    }

    /// The picture that is awaited, once that takes long: of what was chosen, or of what filters every frame for long.
    pub fn busy(&self) -> Option<Busy> {
        self.awaited().or_else(|| self.long_frame())
    }

    /// Whether what was chosen is not on the screen yet.
    pub fn is_awaiting(&self) -> bool {
        let choice = &self.choice;
        let failed = choice.has_failed(|request| choice.is((request.variant, request.radius)));
        !failed && self.shown_filter().is_some_and(|shown| !choice.is(shown))
    }

    /// The picture of what was chosen, while another one is on the screen for longer than a blink.
    fn awaited(&self) -> Option<Busy> {
        let elapsed_s = self.choice.since().filter(|_| self.is_awaiting())?.elapsed().as_secs_f64();
        if elapsed_s < BUSY_S && !self.is_holding() {
            return None;
        }
        let (variant, radius) = self.chosen();
        let is_it = |request: &Request| (request.variant, request.radius) == (variant, radius);
        let flight = self.flights.iter().find(|f| is_it(&f.request));
        let progress = flight.map(|f| self.progress(f));
        Some(Busy {
            variant,
            radius,
            fraction: progress.map_or(0.0, |progress| progress.fraction as f32),
            elapsed_s,
            predicted_s: progress.and_then(|p| Some(elapsed_s - p.elapsed_s + p.total_s?)),
        })
    }

    /// The frame that has been in the filter for long, or that will be.
    fn long_frame(&self) -> Option<Busy> {
        let flight = self.flights.front()?;
        let Progress { fraction, elapsed_s, total_s, .. } = self.progress(flight);
        // The numbers are the first side's, also while the other one takes long.
        let own = (flight.request.variant, flight.request.radius);
        let (variant, radius) = if flight.side == Side::Other { self.chosen() } else { own };
        (self.is_holding() || elapsed_s > BUSY_S).then_some(Busy {
            variant,
            radius,
            fraction: fraction as f32,
            elapsed_s,
            predicted_s: total_s,
        })
    }

    /// Whether a frame takes the device so long that the overlay has to be repainted meanwhile.
    pub fn is_slow(&self) -> bool {
        let mut all = self.flights.iter().map(|flight| self.progress(flight));
        all.any(|progress| progress.predicted_ms.max(progress.elapsed_s * 1e3) > OVERLAY_MS)
    }
}
