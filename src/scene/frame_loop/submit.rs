//! The first half of a frame's way: take, load into a slot, and hand over to the device. In: the decoder's queue. Out:
//! a [`Flight`] on the device, or one that waits until the overlay has announced it.

use std::rc::Rc;
use std::time::Instant;

use super::{Flight, FrameLoop};
use crate::engine::{Refusal, Request, Slot, Stages, Ticket};
use crate::error::Result;
use crate::ladders::box_filter::VariantId;
use crate::media::Frame;
use crate::stats::Stage;

/// Frames that may be on their way at once, beside the one on the screen.
pub(super) const AHEAD: usize = 2;
/// A frame that takes longer than this on the device is not followed by a second one before it is done.
const SLOW_MS: f64 = 100.0;

impl FrameLoop {
    /// Submits one frame if there is room for it and one is due; returns whether it did.
    pub(super) fn submit(&mut self) -> bool {
        if self.engine.is_holding() {
            if self.held_was_announced {
                self.held_was_announced = false;
                self.engine.let_go();
            }
            return false;
        }
        let began = Instant::now();
        // Settled here for this frame, whatever is chosen meanwhile.
        let request = self.wanted();
        let taken = match self.frame_to_filter_again(&request) {
            Some(_) if self.is_device_busy() => None,
            Some(frame) => Some((frame, true)),
            None => self.take().map(|frame| (frame, false)),
        };
        let Some((frame, again)) = taken else { return false };
        if self.is_to_wait(&frame, &request) {
            if !again {
                self.returned.push_front((frame, 0));
            }
            return false;
        }
        let mut stages = Stages::default();
        stages.did(Stage::Take, began);
        match self.slot_for(&frame).and_then(|slot| self.ask_for(&frame, request, slot)) {
            Ok((ticket, request)) => {
                self.decoder.set_staging(self.engine.staging().cloned());
                self.held_was_announced = false;
                let dropped_before = if again { 0 } else { std::mem::take(&mut self.dropped) };
                let (generation, device, doubtful) = (self.generation, self.devices, false);
                self.flights.push_back(Flight {
                    ticket,
                    frame,
                    request,
                    stages,
                    dropped_before,
                    generation,
                    again,
                    doubtful,
                    device,
                });
                if request.variant == VariantId::Off {
                    // Where nothing is done to it, it is done already.
                    self.collect();
                }
            }
            Err(error) => {
                if again {
                    self.not_again = Some(request);
                } else {
                    self.dropped += 1;
                }
                self.errors.push((None, error));
            }
        }
        true
    }

    /// Asks the engine for a frame; where it cannot be had so, for what can be had instead. Returns how it was asked for.
    fn ask_for(&mut self, frame: &Frame, request: Request, slot: Slot) -> Result<(Ticket, Request)> {
        let (mut slot, refusal) = match self.engine.submit(frame, request, slot) {
            Ok(ticket) => return Ok((ticket, request)),
            Err(refused) => refused,
        };
        let instead = match refusal {
            Refusal::NotLoaded(error) => return Err(error),
            Refusal::Unsupported(error) => {
                self.do_without(request.variant, error);
                slot.leave_device(true);
                self.wanted()
            }
            // Shown unfiltered until then.
            Refusal::Untried => Request { variant: VariantId::Off, ..request },
            Refusal::Failed(error) => {
                let idle = self.device_failed(error);
                slot.leave_device(idle);
                self.wanted()
            }
        };
        self.engine
            .submit(frame, instead, slot)
            .map(|ticket| (ticket, instead))
            .map_err(|(_, refusal)| refusal.into_error())
    }

    /// What frames can be asked for now: with the chosen variant, if it is there.
    pub(super) fn wanted(&self) -> Request {
        let can = self.engine.can_filter(self.variant, self.radius);
        let variant = if can { self.variant } else { VariantId::Off };
        Request { variant, radius: self.radius, correction: self.correction }
    }

    /// Whether such a frame is to wait until what it needs is built, checked and tried. What filters planes cannot do
    /// without the device's conversion.
    fn is_to_wait(&mut self, frame: &Frame, request: &Request) -> bool {
        let waits = self.waits_for_conversions;
        let lacks = (waits || request.variant == VariantId::Planar)
            && self.engine.lacks_conversion(frame, request.variant, true);
        let (variant, radius) = (self.variant, self.radius);
        let mut is_untried = || {
            let pipeline = self.engine.pipeline_mut();
            pipeline.is_some_and(|p| p.is_untried(&frame.picture, variant, radius))
        };
        lacks || waits && is_untried()
    }

    /// The picture on the screen, when no next one comes and it was filtered otherwise than is wanted now.
    pub(super) fn frame_to_filter_again(&self, wanted: &Request) -> Option<Rc<Frame>> {
        if !self.clock.is_paused() && !self.decoder.queue().is_finished() {
            return None;
        }
        // Not while another movie's first picture is on its way.
        let shown = &self.shown.as_ref().filter(|shown| shown.flight.generation == self.generation)?.flight;
        let same = wanted.variant == shown.request.variant
            && (wanted.radius == shown.request.radius || wanted.variant == VariantId::Off)
            && wanted.correction == shown.request.correction;
        let on_their_way = self.flights.iter().chain(self.ready.iter().map(|ready| &ready.flight));
        let on_its_way = on_their_way.into_iter().any(|f| f.again && !f.doubtful);
        ((!same || shown.doubtful) && !on_its_way && self.not_again.as_ref() != Some(wanted))
            .then(|| shown.frame.clone())
    }

    /// Whether the device has a frame that takes so long that a second one would only wait behind it, or one whose
    /// bands are not all in the queue: the next one's would get between them, and all frames share the memory between
    /// the steps.
    fn is_device_busy(&self) -> bool {
        let is_slow = |flight: &Flight| self.engine.progress(flight.ticket).predicted_ms > SLOW_MS;
        self.engine.is_queue_busy() || self.flights.iter().any(is_slow)
    }

    /// Whether a next frame may be taken. Before the first picture there is no time yet: only one frame goes
    /// ahead, also during a pause.
    pub(super) fn has_room(&self) -> bool {
        let ahead = self.flights.len() + self.ready.len();
        let limit = if self.clock_runs { AHEAD } else { 1 };
        let stands = self.waits_for_filter || self.clock.is_paused() && self.clock_runs;
        ahead < limit && !stands && !self.is_device_busy()
    }

    /// The next frame, if there is room for it and it is due.
    fn take(&mut self) -> Option<Rc<Frame>> {
        if !self.has_room() {
            return None;
        }
        if let Some((frame, dropped_before)) = self.returned.pop_front() {
            self.dropped += dropped_before;
            return Some(frame);
        }
        let queue = self.decoder.queue();
        if self.unpaced || !self.clock_runs {
            return queue.take_next().map(Rc::new);
        }
        let taken = queue.take_due(self.clock.now_ns(), self.lead_ns());
        self.dropped += taken.dropped;
        taken.frame.map(Rc::new)
    }

    /// How long before its time a frame may be taken, on the movie's time: a frame interval, and at least 20 ms
    /// of real time.
    pub(super) fn lead_ns(&self) -> i64 {
        let least = (20e6 * self.clock.speed()) as i64;
        self.frame_interval_ns().unwrap_or(0).clamp(least, 5 * least)
    }

    fn slot_for(&mut self, frame: &Frame) -> Result<Slot> {
        let (width, height) = (frame.width(), frame.height());
        self.free.retain(|slot| slot.size() == (width, height));
        match self.free.pop() {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.gl, width, height),
        }
    }
}
