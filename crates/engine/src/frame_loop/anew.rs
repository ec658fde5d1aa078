//! Frames that were made with what is not used any more before their time has come, and how long the picture on the screen stays
//! there. In: what makes frames has changed. Out: frames that can be made anew in time are taken once more, before any other; and
//! the picture on the screen is filtered anew where no other one takes its place soon.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{Flight, FrameLoop, Ready, Side};
use crate::Slot;
use video::Frame;

/// A picture that stays on the screen for longer than this is filtered anew when another filter is chosen. The next frame of an
/// ordinary movie comes sooner, and is filtered as is wanted: no frame of it is filtered twice.
const HOLD: Duration = Duration::from_millis(150);

/// How a frame stands to its time, in nanoseconds of the movie.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Until it is to be drawn; less than nothing where that is over.
    left_ns: i64,
    /// How long it is shown.
    duration_ns: i64,
    /// What it takes to be made.
    takes_ns: i64,
}

impl Standing {
    /// Whether it can be made anew and is not late then: by more than half of its duration.
    fn has_time(self) -> bool {
        self.takes_ns <= self.left_ns.saturating_add(self.duration_ns / 2)
    }
}

/// Returns true if a picture whose time is over at `end` stays on the screen for longer than [`HOLD`] from `now` on: its time is
/// not over before, or was over long ago and `nothing_follows` until now.
fn is_long(end: Instant, now: Instant, nothing_follows: bool) -> bool {
    end > now + HOLD || nothing_follows && now > end + HOLD
}

impl FrameLoop {
    /// Returns true if the picture on the screen stays there: in a pause, at the movie's end, and where the next frame is due much
    /// later, as in slides, or does not come from the decoder.
    pub(super) fn picture_stays(&self) -> bool {
        if self.clock.is_paused() || self.decoder.queue().is_finished() {
            return true;
        }
        let end = self.shown.as_ref().and_then(|shown| self.end_of(&shown.flight.frame));
        end.is_some_and(|end| is_long(end, Instant::now(), self.awaits_decoder()))
    }

    /// Returns true if the time of a frame goes on for so long that it is to be shown although it has to be filtered once more.
    pub(super) fn has_long_time(&self, frame: &Frame) -> bool {
        self.end_of(frame).is_some_and(|end| is_long(end, Instant::now(), false))
    }

    /// When a frame's time is over; `None` where no time runs.
    pub(super) fn end_of(&self, frame: &Frame) -> Option<Instant> {
        let end_ns = frame.pts_ns.saturating_add(frame.duration_ns);
        self.clock.instant_of(end_ns).filter(|_| self.clock_runs && !self.unpaced)
    }

    /// Has the frames that wait for their time made anew where what made them is not used any more.
    pub(super) fn make_waiting_anew(&mut self) {
        let waiting = std::mem::take(&mut self.ready);
        let is_anew = |ready: &Ready| ready.beside.is_none() && self.is_made_anew(&ready.flight);
        let (anew, ready): (VecDeque<Ready>, _) = waiting.into_iter().partition(is_anew);
        self.ready = ready;
        anew.into_iter().for_each(|Ready { flight, slot, .. }| self.take_again(flight, slot));
    }

    /// Whether a frame that is done is to be made anew instead of being shown.
    pub(super) fn is_made_anew(&self, flight: &Flight) -> bool {
        let is_next = !flight.again && flight.side == Side::Alone && flight.generation == self.generation;
        if !flight.doubtful || !is_next || !self.clock_runs || self.unpaced {
            return false;
        }
        let takes_ms = flight.stages.times.iter().sum::<f64>() * self.clock.speed();
        let standing = Standing {
            left_ns: self.draw_at_ns(&flight.frame).saturating_sub(self.clock.now_ns()),
            duration_ns: flight.frame.duration_ns,
            takes_ns: (takes_ms * 1e6) as i64,
        };
        self.clock.is_paused() || standing.has_time()
    }

    /// Has a frame taken once more.
    pub(super) fn take_again(&mut self, flight: Flight, slot: Slot) {
        self.give_back(flight);
        self.free(slot);
    }

    /// Keeps a frame for later, in its place among those that are kept.
    pub(super) fn give_back(&mut self, flight: Flight) {
        let at = self.returned.partition_point(|(frame, _)| frame.pts_ns < flight.frame.pts_ns);
        self.returned.insert(at, (flight.frame, flight.dropped_before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stays_where_no_other_one_comes_soon() {
        let now = Instant::now() + Duration::from_secs(60);
        let ms = Duration::from_millis;
        // 25 frames a second, 10 at a quarter of their speed, and slides.
        assert!(!is_long(now + ms(40), now, false) && is_long(now + ms(400), now, false));
        assert!(is_long(now + ms(12_000), now, false) && !is_long(now + ms(100), now, false));
        // The next one is late: it is being filtered, or the decoder does not give it.
        assert!(!is_long(now - ms(12_000), now, false) && is_long(now - ms(12_000), now, true));
        assert!(!is_long(now - ms(100), now, true));
    }

    #[test]
    fn a_frame_is_made_anew_unless_that_makes_it_late() {
        let has_time = |left_ns, takes_ns| Standing { left_ns, duration_ns: 40_000_000, takes_ns }.has_time();
        assert!(has_time(30_000_000, 10_000_000));
        assert!(has_time(1_000_000, 21_000_000) && !has_time(1_000_000, 22_000_000), "half of its time");
        assert!(has_time(-10_000_000, 9_000_000) && !has_time(-10_000_000, 11_000_000), "it is due");
        assert!(!has_time(30_000_000, 300_000_000), "the filter is slow");
        assert!(!has_time(-1_000_000_000, 0), "it is late as it is");
    }
}
