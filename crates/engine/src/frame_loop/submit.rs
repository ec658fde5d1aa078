//! The first half of a frame's way: take, load into a slot, and hand over to the device. In: the decoder's queue. Out:
//! a [`Flight`] on the device, or one that waits until the overlay has announced it.

use std::sync::Arc;
use std::time::Instant;

use super::lent::{Done, Until};
use super::{Filter, Flight, FrameLoop, Side};
use crate::stats::Stage;
use crate::{Engine, Progress, Refusal, Request, Slot, Stages, Ticket};
use base::error::{Error, Result};
use box_filter::VariantId;
use video::Frame;

/// Frames that may be on their way at once, beside the one on the screen.
pub(super) const AHEAD: usize = 2;
/// A frame that takes longer than this on the device is not followed by a second one before it is done.
const SLOW_MS: f64 = 100.0;

/// What comes of asking for a frame.
pub(super) type Came = std::result::Result<Ticket, (Slot, Refusal)>;

/// The other side of a frame, which goes to the device together with the first one: what came of it, or the slot where it was not
/// asked for yet.
pub(super) type Along = (Asked, std::result::Result<Came, Slot>);

/// A frame that the engine is asked for.
pub(super) struct Asked {
    frame: Arc<Frame>,
    request: Request,
    stages: Stages,
    again: bool,
    generation: u64,
    device: u32,
    /// What was asked for first could not be had.
    instead: bool,
    side: Side,
}

impl Asked {
    /// Whether this is the other side of that frame.
    pub(super) fn is_other_of(&self, flight: &Flight) -> bool {
        flight.side == Side::First && self.is_of(&flight.frame)
    }

    /// Whether it is of that frame.
    pub(super) fn is_of(&self, frame: &Arc<Frame>) -> bool {
        Arc::ptr_eq(&self.frame, frame)
    }

    /// Asks the engine: both sides of a frame share what they can.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    fn submit(&self, first: Option<Ticket>, engine: &mut Engine, slot: Slot) -> Came {
        let (frame, request) = (&self.frame, self.request);
        match (self.side, first) {
            (Side::First, _) => engine.submit_first(frame, request, slot),
            (Side::Other, Some(first)) => engine.submit_beside(first, frame, request, slot),
            _ => engine.submit(frame, request, slot),
        }
    }

    /// What filters it.
    pub(super) fn variant(&self) -> VariantId {
        self.request.variant
    }
}

impl FrameLoop {
    /// Submits one frame if there is room for it and one is due; returns whether it did, and may go on.
    pub(super) fn submit(&mut self) -> bool {
        if self.lent.engine().is_none() {
            return false;
        }
        // Before frames are dropped that are late then.
        self.look_for_stop();
        if self.is_holding() {
            if self.held_was_announced {
                self.held_was_announced = false;
                self.lend("a frame is filtered", Until::Done, |engine| {
                    engine.let_go();
                    Done::Nothing
                });
            }
            return false;
        }
        if self.wipe.is_due() {
            return self.ask_other();
        }
        let began = Instant::now();
        // Settled here for this frame, whatever is chosen meanwhile.
        let request = self.wanted();
        let taken = match self.frame_to_filter_again(&request) {
            Some(_) if self.is_device_busy() => None,
            Some(frame) => Some((frame, true)),
            None => self.take_frame().map(|frame| (frame, false)),
        };
        let Some((frame, again)) = taken else { return false };
        let other = self.wanted_other();
        let other_waits = self
            .other()
            .zip(other)
            .is_some_and(|(filter, other)| self.is_to_wait(&frame, &other, filter, true));
        if self.is_to_wait(&frame, &request, self.choice.filter(), other.is_some()) || other_waits {
            if !again {
                self.returned.push_front((frame, 0));
            }
            return false;
        }
        let mut stages = Stages::default();
        stages.did(Stage::Take, began);
        let (generation, device, instead) = (self.generation, self.devices, false);
        let other = other.map(|request| {
            let (frame, stages, side) = (frame.clone(), Stages::default(), Side::Other);
            Asked { frame, request, stages, again, generation, device, instead, side }
        });
        let side = if other.is_some() { Side::First } else { Side::Alone };
        // First: the one that is asked for now may be done at once.
        other.into_iter().for_each(|other| self.other_is_due(other));
        self.ask_for(Asked { frame, request, stages, again, generation, device, instead, side });
        self.lent.engine().is_some()
    }

    /// Asks the engine for a frame, with a slot for it.
    pub(super) fn ask_for(&mut self, asked: Asked) {
        match self.slot_for(&asked.frame, asked.side) {
            Ok(slot) => self.ask_with(asked, slot),
            Err(error) => self.not_had(&asked, error),
        }
    }

    fn ask_with(&mut self, mut asked: Asked, mut slot: Slot) {
        let first = self.first_of(&asked);
        let Some(engine) = self.lent.engine_mut() else { return };
        let request = asked.request;
        if engine.is_for_device(&request) {
            engine.make_ready(&mut slot, &request, &mut asked.stages);
            let along = self.other_along(&asked);
            // Meanwhile a picture is drawn.
            let until = if self.picture_is_due() { Until::Wanted } else { Until::Done };
            self.lend("a frame is handed over", until, move |engine| {
                let came = asked.submit(first, engine, slot);
                let along = along.map(|(other, slot)| {
                    let came = match &came {
                        Ok(first) if !engine.is_holding() => Ok(other.submit(Some(*first), engine, slot)),
                        _ => Err(slot),
                    };
                    Box::new((other, came))
                });
                Done::Asked(Box::new((asked, came)), along)
            });
        } else {
            let came = asked.submit(first, engine, slot);
            self.both_asked((asked, came), None);
        }
    }

    /// The other side of a frame and a slot for it, where it can go to the device together with the first one.
    fn other_along(&mut self, first: &Asked) -> Option<(Asked, Slot)> {
        let engine = self.lent.engine()?;
        let due = self.wipe.take_due(|due| first.side == Side::First && due.is_of(&first.frame))?;
        let slot = match engine.is_for_device(&due.request) {
            true => self.slot_for(&due.frame, due.side).ok(),
            false => None,
        };
        let Some((mut slot, engine)) = slot.zip(self.lent.engine()) else {
            // It is asked for next.
            self.other_is_due(due);
            return None;
        };
        let mut due = due;
        engine.make_ready(&mut slot, &due.request, &mut due.stages);
        Some((due, slot))
    }

    /// Takes what came of both sides of a frame, or of a frame that has one.
    pub(super) fn both_asked(&mut self, (asked, came): (Asked, Came), along: Option<Along>) {
        let other = match along {
            Some((other, Ok(came))) => Some((other, came)),
            Some((other, Err(slot))) => {
                self.discard(slot);
                self.other_is_due(other);
                None
            }
            None => None,
        };
        self.asked(asked, came);
        other.into_iter().for_each(|(other, came)| self.asked(other, came));
        // Where nothing is done to it, it is done already.
        if self.flights.iter().any(|flight| flight.request.variant == VariantId::Off) {
            self.collect_here();
        }
    }

    /// The first side of the frame whose other one is asked for.
    fn first_of(&self, asked: &Asked) -> Option<Ticket> {
        let first = self.flights.iter().chain(self.wipe.half().map(|half| &half.flight));
        first.into_iter().find(|first| asked.is_other_of(first)).map(|first| first.ticket)
    }

    /// Takes what came of it; what cannot be had so is asked for as it can be.
    fn asked(&mut self, asked: Asked, came: Came) {
        let (slot, refusal) = match came {
            Ok(ticket) => {
                self.on_its_way(asked, ticket);
                return;
            }
            Err((slot, refusal)) if asked.instead => {
                self.discard(slot);
                self.not_had(&asked, refusal.into_error());
                return;
            }
            Err(refused) => refused,
        };
        if asked.side == Side::Other {
            self.discard(slot);
            self.other_refused(&asked.frame, refusal);
            return;
        }
        let again = |asked, request| Asked { request, instead: true, ..asked };
        match refusal {
            Refusal::NotLoaded(error) => {
                self.discard(slot);
                self.not_had(&asked, error);
            }
            // Shown unfiltered until then.
            Refusal::Untried => {
                let request = Request { variant: VariantId::Off, ..asked.request };
                self.ask_with(again(asked, request), slot);
            }
            Refusal::Unsupported(error) => {
                self.discard(slot);
                self.do_without(asked.request.variant, error);
                let request = self.wanted();
                self.ask_for(again(asked, request));
            }
            Refusal::Failed(error) => {
                self.discard(slot);
                self.device_failed(error);
                let request = self.wanted();
                self.ask_for(again(asked, request));
            }
        }
    }

    /// The other side of a wipe cannot be had.
    fn other_refused(&mut self, frame: &Arc<Frame>, refusal: Refusal) {
        match refusal {
            Refusal::Failed(error) => self.device_failed(error),
            // The first side is shown alone until then.
            Refusal::Untried => {}
            Refusal::NotLoaded(error) | Refusal::Unsupported(error) => self.end_wipe(error),
        }
        self.other_is_lost(frame);
    }

    fn on_its_way(&mut self, asked: Asked, ticket: Ticket) {
        let Asked { frame, request, stages, again, generation, device, side, .. } = asked;
        let staging = self.lent.engine().and_then(|engine| engine.staging().cloned());
        self.decoder.set_staging(staging);
        self.held_was_announced = false;
        let is_new = !again && generation == self.generation && side != Side::Other;
        let dropped_before = if is_new { std::mem::take(&mut self.dropped) } else { 0 };
        let (progress, doubtful) = (Progress::default(), false);
        let version = self.version_of(request.variant);
        self.flights.push_back(Flight {
            ticket,
            frame,
            request,
            progress,
            stages,
            dropped_before,
            generation,
            again,
            doubtful,
            device,
            side,
            version,
        });
        if generation != self.generation {
            self.cancel(ticket);
        }
    }

    /// A frame cannot be had at all.
    fn not_had(&mut self, asked: &Asked, error: Error) {
        if asked.side == Side::Other {
            self.end_wipe(error);
            self.other_is_lost(&asked.frame);
            return;
        }
        self.wipe.without(&asked.frame);
        if asked.again {
            self.choice.failed(asked.request);
        } else {
            self.dropped += 1;
        }
        self.errors.push((None, error));
    }

    /// Lets a slot go, and the device's thread what the device has of it.
    pub(super) fn discard(&mut self, mut slot: Slot) {
        let rest = slot.take_rest();
        self.lent.release(rest);
    }

    /// What frames can be asked for now: with the chosen variant, if it is there.
    pub(super) fn wanted(&self) -> Request {
        let (variant, radius) = self.choice.filter();
        let engine = self.lent.engine();
        let can_measure = |variant| engine.is_some_and(|engine| engine.can_measure(variant));
        self.choice.request(engine.is_some_and(|engine| engine.can_filter(variant, radius)), can_measure)
    }

    /// Whether such a frame is to wait until what it needs is built, checked and tried. What filters planes cannot do
    /// without the device's conversion.
    fn is_to_wait(
        &mut self,
        frame: &Frame,
        request: &Request,
        (variant, radius): Filter,
        twice: bool,
    ) -> bool {
        let waits = self.choice.waits_for_conversions;
        let lacks = (waits || request.variant.reads_planes())
            && self
                .lent
                .engine_mut()
                .is_some_and(|e| e.lacks_conversion(frame, request.variant, true, twice));
        let mut is_untried = || {
            let pipeline = self.pipeline_mut();
            pipeline.is_some_and(|p| p.is_untried(&frame.picture, variant, radius))
        };
        lacks || waits && is_untried()
    }

    /// The picture on the screen, when it stays there and was filtered otherwise than is wanted now, or by another device.
    pub(super) fn frame_to_filter_again(&self, wanted: &Request) -> Option<Arc<Frame>> {
        if !self.picture_stays() {
            return None;
        }
        // Not while another movie's first picture is on its way.
        let ready = self.shown.as_ref().filter(|shown| shown.flight.generation == self.generation)?;
        let shown = &ready.flight;
        let same = wanted.makes_as(&shown.request)
            // The numbers beside the device's name are to be its own.
            && shown.device == self.devices
            // What was measured and is not wanted any more does no harm.
            && (shown.request.readings || !wanted.readings)
            && self.is_beside(ready);
        let on_their_way = self.flights.iter().chain(self.ready.iter().map(|ready| &ready.flight));
        let waits = self.wipe.waiting() > 0 || self.wipe.is_due();
        let on_its_way = waits || on_their_way.into_iter().any(|f| f.again && !f.doubtful);
        ((!same || shown.doubtful) && !on_its_way && !self.choice.has_failed(|failed| failed == wanted))
            .then(|| shown.frame.clone())
    }

    /// Whether the device has a frame that takes so long that a second one would only wait behind it, or one whose
    /// bands are not all in the queue: the next one's would get between them, and all frames share the memory between
    /// the steps.
    fn is_device_busy(&self) -> bool {
        let is_slow = |flight: &Flight| self.progress(flight).predicted_ms > SLOW_MS;
        self.lent.engine().is_none_or(|engine| engine.is_queue_busy()) || self.flights.iter().any(is_slow)
    }

    /// Whether a next frame may be taken. Before the first picture there is no time yet: only one frame goes
    /// ahead, also during a pause.
    pub(super) fn has_room(&self) -> bool {
        let ahead = self.ahead();
        let limit = if self.clock_runs { AHEAD } else { 1 };
        let is_others_turn = self.takes_turns() && ahead > self.ready.len();
        let stands = self.choice.waits_for_filter
            || self.choice.waits_for_conversions && (self.lacks_other() || self.lacks_map())
            || self.clock.is_paused() && self.clock_runs;
        ahead < limit && !stands && !is_others_turn && !self.is_device_busy()
    }

    /// The next frame, if there is room for it and it is due.
    fn take_frame(&mut self) -> Option<Arc<Frame>> {
        if !self.has_room() {
            return None;
        }
        if let Some((frame, dropped_before)) = self.returned.pop_front() {
            self.dropped += dropped_before;
            return Some(frame);
        }
        let queue = self.decoder.queue();
        if self.unpaced || !self.clock_runs {
            return queue.take_next().map(Arc::new);
        }
        let taken = queue.take_due(self.clock.now_ns(), self.lead_ns());
        self.dropped += taken.dropped;
        taken.frame.map(Arc::new)
    }

    /// How long before its time a frame may be taken, on the movie's time: a frame interval, and at least 20 ms
    /// of real time.
    pub(super) fn lead_ns(&self) -> i64 {
        let least = (20e6 * self.clock.speed()) as i64;
        self.frame_interval_ns().unwrap_or(0).clamp(least, 5 * least)
    }

    /// A slot for a picture of this frame. Each side has its own: what a slot has on the device fits one filter.
    pub(super) fn slot_for(&mut self, frame: &Frame, side: Side) -> Result<Slot> {
        let (width, height) = (frame.width(), frame.height());
        let free = if side == Side::Other { self.wipe.free() } else { &mut self.free };
        let others = free.extract_if(.., |slot| slot.size() != (width, height));
        let others: Vec<Slot> = others.collect();
        let slot = free.pop();
        others.into_iter().for_each(|slot| self.discard(slot));
        match slot {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.gl, width, height),
        }
    }
}
