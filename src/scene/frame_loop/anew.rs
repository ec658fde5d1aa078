//! Frames that were made with what is not used any more before their time has come. In: what makes frames has changed. Out: those
//! that can be made anew in time are taken once more, before any other.

use std::collections::VecDeque;

use super::{Flight, FrameLoop, Ready, Side};
use crate::engine::Slot;

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

impl FrameLoop {
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
    fn a_frame_is_made_anew_unless_that_makes_it_late() {
        let has_time = |left_ns, takes_ns| Standing { left_ns, duration_ns: 40_000_000, takes_ns }.has_time();
        assert!(has_time(30_000_000, 10_000_000));
        assert!(has_time(1_000_000, 21_000_000) && !has_time(1_000_000, 22_000_000), "half of its time");
        assert!(has_time(-10_000_000, 9_000_000) && !has_time(-10_000_000, 11_000_000), "it is due");
        assert!(!has_time(30_000_000, 300_000_000), "the filter is slow");
        assert!(!has_time(-1_000_000_000, 0), "it is late as it is");
    }
}
