//! What the loop tells the window: the picture on the screen, whether anything follows it, and what takes long.

use super::{BUSY_S, FrameLoop, OVERLAY_MS, STILL};
use crate::ladders::box_filter::VariantId;
use crate::media::Orientation;
use crate::overlay::Busy;

impl FrameLoop {
    /// Whether the movie is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// Whether there is one picture and no movie.
    pub(crate) fn is_still(&self) -> bool {
        self.shown.as_ref().is_some_and(|f| f.frame.number == 0) && self.decoder.queue().is_finished()
    }

    /// Position of the picture on the screen in the movie, in seconds.
    pub(crate) fn position_s(&self) -> f64 {
        self.shown.as_ref().map_or(0.0, |f| f.frame.movie_s)
    }

    /// Variant and radius that filtered the picture on the screen.
    pub(crate) fn shown_filter(&self) -> Option<(VariantId, u32)> {
        self.shown.as_ref().map(|f| (f.variant, f.radius))
    }

    /// Size in pixels of the picture on the screen.
    pub(crate) fn shown_size(&self) -> Option<(u32, u32)> {
        self.shown.as_ref().map(|f| f.slot.size())
    }

    /// How the picture on the screen is turned.
    pub(crate) fn shown_orientation(&self) -> Orientation {
        self.shown.as_ref().map_or_else(Orientation::default, |f| f.frame.orientation())
    }

    /// Texture of the picture on the screen, and its size in pixels.
    pub(crate) fn shown_texture(&self) -> Option<(glow::Texture, (u32, u32))> {
        self.shown.as_ref().map(|f| (f.slot.texture(), f.slot.size()))
    }

    /// Whether the picture on the screen's place was not on the screen yet.
    pub(crate) fn shown_is_new(&self) -> bool {
        self.shown_is_new
    }

    /// Interval of the movie's frames, in nanoseconds, as the picture on the screen has it.
    pub(crate) fn frame_interval_ns(&self) -> Option<i64> {
        self.shown.as_ref().map(|f| f.frame.duration_ns).filter(|ns| *ns > 0)
    }

    /// Whether every frame was shown and none will come.
    pub(crate) fn is_finished(&self) -> bool {
        self.decoder.queue().is_finished()
            && self.flights.is_empty()
            && self.ready.is_empty()
            && self.held.is_none()
            && self.returned.is_empty()
            && self.frame_to_filter_again().is_none()
    }

    /// Whether every frame was shown, and the last one for its time: a still picture for `STILL`.
    pub(crate) fn is_over(&self) -> bool {
        let Some(shown) = &self.shown else { return false };
        let still = shown.frame.number == 0;
        let time_ns = if still { STILL.as_nanos() as i64 } else { shown.frame.duration_ns };
        self.clock_runs
            && self.is_finished()
            && (self.unpaced || self.clock.now_ns() >= shown.frame.pts_ns.saturating_add(time_ns))
    }

    /// The picture that is awaited, once that takes long: of what was chosen, or of what filters every frame for long.
    pub(crate) fn busy(&self) -> Option<Busy> {
        self.awaited().or_else(|| self.long_frame())
    }

    /// Whether what was chosen is not on the screen yet.
    pub(crate) fn is_awaiting(&self) -> bool {
        let is_chosen = |(variant, radius)| {
            variant == self.variant && (radius == self.radius || variant == VariantId::Off)
        };
        let failed = self.not_again.is_some_and(|(variant, radius, _)| is_chosen((variant, radius)));
        !failed && self.shown_filter().is_some_and(|shown| !is_chosen(shown))
    }

    /// The picture of what was chosen, while another one is on the screen for longer than a blink.
    fn awaited(&self) -> Option<Busy> {
        let elapsed_s = self.chosen_at.filter(|_| self.is_awaiting())?.elapsed().as_secs_f64();
        if elapsed_s < BUSY_S && self.held.is_none() {
            return None;
        }
        let (variant, radius) = self.chosen();
        let mut on_their_way = self.held.iter().chain(&self.flights);
        let flight = on_their_way.find(|f| f.variant == variant && f.radius == radius);
        let work = flight.and_then(|f| f.work.as_ref());
        Some(Busy {
            variant,
            radius,
            fraction: work.map_or(0.0, |work| work.fraction() as f32),
            elapsed_s,
            predicted_s: work.and_then(|work| Some(elapsed_s - work.elapsed_s() + work.total_s()?)),
        })
    }

    /// The frame that has been in the filter for long, or that will be.
    fn long_frame(&self) -> Option<Busy> {
        let flight = self.held.as_ref().or(self.flights.front())?;
        let work = flight.work.as_ref()?;
        let held = self.held.is_some();
        (held || work.elapsed_s() > BUSY_S).then(|| Busy {
            variant: flight.variant,
            radius: flight.radius,
            fraction: work.fraction() as f32,
            elapsed_s: if held { 0.0 } else { work.elapsed_s() },
            predicted_s: work.total_s(),
        })
    }

    /// Whether a frame takes the device so long that the overlay has to be repainted meanwhile.
    pub(crate) fn is_slow(&self) -> bool {
        let mut work = self.flights.iter().chain(&self.held).filter_map(|f| f.work.as_ref());
        work.any(|w| w.predicted_ms().max(w.elapsed_s() * 1e3) > OVERLAY_MS)
    }
}
