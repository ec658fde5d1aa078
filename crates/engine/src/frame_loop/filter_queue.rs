//! The frames that are being filtered, and the workers that filter them. The queue reports each frame that leaves it as a
//! [`FilterEvent`]; the loop decides what to do with the frame.

use std::collections::VecDeque;
use std::sync::Arc;

use super::flights::{Flight, Flights, Origin, Pair, Pass, ReadyFrame, Step, WipeSide};
use super::wipe::must_take_turns;
use super::worker::{Event, Submission};
use super::workers::{WorkerHandle, Workers};
use crate::{Engine, Finished, Outcome, Refusal, Slot, Ticket};
use base::error::{Error, Result};
use base::jobs::Waker;
use box_filter::VariantId;
use stats::{Difference, Request, Stack};
use video::Frame;

/// The predicted time of a frame, in milliseconds, above which no further frame is submitted while the device works on it.
const SLOW_MS: f64 = 100.0;
/// The time in milliseconds after which the overlay is repainted without waiting for a frame on which the device works.
const SLOW_FRAME_MS: f64 = 50.0;

/// A result or failure that the filter queue reports to the loop.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum FilterEvent {
    /// All filters of a frame are done.
    Ready(ReadyFrame),
    /// A frame was cancelled or dropped.
    Dropped(Origin),
    /// A frame was refused and is to be filtered in another way or later. Either its filter or the device has failed, which
    /// another event reports, or something that the frame needs is not built yet.
    Refused(Origin),
    /// The frame could not be filtered as this request says, and any other filter would fail as well.
    FrameFailed(Origin, Request, Error),
    /// A variant failed or, with [`VariantId::OFF`], the colour correction.
    VariantFailed(VariantId, Error),
    /// The second side of the wipe failed.
    WipeFailed(Error),
    /// The two sides of the wipe could not be compared.
    ComparisonFailed(Error),
    /// The device failed or ran out of memory.
    DeviceFailed(Error),
}

/// The frames that are being filtered or compared, the workers, and the memory of pictures.
pub struct FilterQueue {
    pub(super) gl: Arc<glow::Context>,
    /// The workers that filter the frames.
    pub workers: Workers,
    /// The slots that wait for their next picture, indexed by the side of a wipe that they belong to, because a slot's memory on the
    /// device fits one filter. A slot is the memory and the texture of one picture. Maps of differences use those of the second side.
    pub(super) free: [Vec<Slot>; 2],
    pub(super) flights: Flights,
    pub(super) events: VecDeque<FilterEvent>,
    /// The number of the next ticket.
    next: u64,
    /// True if a frame was taken back because something that it needs is not built yet. No frame is taken until something else
    /// is built or chosen.
    pub(super) is_postponed: bool,
    /// True if the sides of a wipe are compared.
    pub(super) compares: bool,
    /// True if frames wait until the device's conversion program is built, instead of being converted on the host meanwhile.
    /// Scripts set it.
    pub waits_for_conversions: bool,
}

impl FilterQueue {
    /// Creates an empty queue. Frames that use no OpenCL device are filtered by `engine`. `waker` wakes the window's loop.
    pub(super) fn new(gl: Arc<glow::Context>, engine: Engine, waker: Waker) -> Self {
        Self {
            workers: Workers::new(engine, waker),
            free: Default::default(),
            flights: Flights::default(),
            events: VecDeque::new(),
            next: 0,
            is_postponed: false,
            compares: false,
            waits_for_conversions: false,
            gl,
        }
    }

    /// Processes the events of the workers. Never waits.
    pub fn collect(&mut self) {
        let next = |workers: &mut Workers| workers.all_mut().find_map(WorkerHandle::receive);
        while let Some(event) = next(&mut self.workers) {
            match event {
                Event::Progress(_) => self.is_postponed = false,
                Event::Finished(finished) => self.finish(finished),
                Event::Refused(ticket, slot, refusal) => self.handle_refusal(ticket, slot, refusal),
                Event::Compared(pair, map, compared) => self.handle_comparison(*pair, map, compared),
                Event::Failed(error) => self.events.push_back(FilterEvent::DeviceFailed(error)),
            }
        }
        self.complete();
    }

    /// Submits the filter of the first side of a frame that was taken. [`FilterQueue::submit_second`] submits that of the second side.
    pub(super) fn submit(&mut self, flight: Flight) {
        match self.take_slot(&flight.origin.frame, WipeSide::First) {
            Ok(slot) => {
                self.flights.list.push_back(flight);
                self.submit_side(self.flights.list.len() - 1, WipeSide::First, slot);
            }
            Err(error) => {
                let Flight { origin, first, .. } = flight;
                self.events.push_back(FilterEvent::FrameFailed(origin, first.request, error));
            }
        }
    }

    /// Submits the filter of the wipe's second side for the first flight that waits for it. Returns `None` if no flight waits,
    /// `Some(false)` if the filter has to wait for the first side's, and `Some(true)` if another frame may be submitted.
    pub(super) fn submit_second(&mut self) -> Option<bool> {
        let is_due = |flight: &Flight| flight.second.as_ref().is_some_and(Pass::is_due);
        let (index, flight) = self.flights.list.iter().enumerate().find(|(_, flight)| is_due(flight))?;
        let variants = [flight.first.request.variant, flight.second.as_ref()?.request.variant];
        if must_take_turns(variants) && !flight.first.is_done() {
            return Some(false);
        }
        let frame = flight.origin.frame.clone();
        match self.take_slot(&frame, WipeSide::Second) {
            Ok(slot) => self.submit_side(index, WipeSide::Second, slot),
            Err(error) => {
                self.events.push_back(FilterEvent::WipeFailed(error));
                self.drop_second_side(index);
            }
        }
        Some(true)
    }

    /// Submits the filter of one side of the flight at `index`; the picture goes into `slot`.
    fn submit_side(&mut self, index: usize, side: WipeSide, slot: Slot) {
        let Some(flight) = self.flights.list.get_mut(index) else { return };
        let frame = flight.origin.frame.clone();
        let Some(pass) = flight.passes_mut().nth(side as usize) else { return };
        let (ticket, request, waits_for) = (Ticket(self.next), pass.request, pass.waits_for);
        self.next += 1;
        pass.step = Step::Submitted(ticket);
        self.workers.submit(Submission { ticket, frame, request, slot, waits_for }, pass);
        // A frame without a filter is done already.
        if request.variant == VariantId::OFF {
            self.collect();
        }
    }

    /// Handles the refusal of a request. While the trial of the first side's kernels is pending, the frame is submitted without
    /// a filter instead.
    fn handle_refusal(&mut self, ticket: Ticket, slot: Slot, refusal: Refusal) {
        let Some((index, side, pass)) = self.flights.find(ticket) else { return self.workers.discard(slot) };
        let (request, is_first) = (pass.request, side == WipeSide::First);
        let can_go_without = request.variant != VariantId::OFF || request.correction.is_some();
        match refusal {
            Refusal::TrialPending if is_first => {
                // Shown unfiltered until the trial of the kernels is over.
                pass.request = Request { variant: VariantId::OFF, stack: Stack::default(), ..request };
                (pass.version, pass.waits_for) = (1, None);
                return self.submit_side(index, side, slot);
            }
            Refusal::NotReady => {
                self.is_postponed = true;
                self.put_slots([(side, slot)]);
                // Also if it is the second side: both wait.
                return self.leave(index, FilterEvent::Refused);
            }
            // The first side is shown alone until then.
            Refusal::TrialPending => {}
            Refusal::Failed(error) => self.events.push_back(FilterEvent::DeviceFailed(error)),
            // Without its filter, or as the last resort without the correction, the frame can be shown.
            Refusal::Unsupported(error) if is_first && can_go_without => {
                self.events.push_back(FilterEvent::VariantFailed(request.variant, error));
            }
            Refusal::Unsupported(error) | Refusal::NotLoaded(error) if is_first => {
                self.workers.discard(slot);
                return self.leave(index, |origin| FilterEvent::FrameFailed(origin, request, error));
            }
            Refusal::Unsupported(error) | Refusal::NotLoaded(error) => {
                self.events.push_back(FilterEvent::WipeFailed(error));
            }
        }
        self.workers.discard(slot);
        self.drop_side(index, side, FilterEvent::Refused);
    }

    /// Finds the [`Flight`] of a frame that an engine has finished, and completes or drops the flight.
    fn finish(&mut self, finished: Finished) {
        let Finished { ticket, outcome, slot, stages, readings } = finished;
        let Some((index, side, pass)) = self.flights.find(ticket) else {
            // The flight was dropped.
            return self.workers.discard(slot);
        };
        pass.stages.add(stages);
        if let Outcome::Done = outcome {
            pass.step = Step::Done(slot, readings);
            return self.complete();
        }
        pass.step = Step::Due;
        if let Outcome::Failed(error) = outcome {
            self.events.push_back(match side {
                WipeSide::First => FilterEvent::VariantFailed(pass.request.variant, error),
                WipeSide::Second => FilterEvent::WipeFailed(error),
            });
        }
        self.put_slots([(side, slot)]);
        self.drop_side(index, side, FilterEvent::Dropped);
    }

    /// Removes the flights whose filters are done, in the order in which the frames were taken. Such a frame is ready or, in a wipe whose
    /// sides are compared, sent to the device's worker, which compares one frame at a time.
    fn complete(&mut self) {
        let compares = self.compares && self.workers.status().has_comparer;
        let is_comparing = compares && self.flights.comparing.is_some();
        let is_over = |flight: &mut Flight| flight.is_done() && !(is_comparing && flight.second.is_some());
        while let Some(Flight { origin, first, second }) = self.flights.list.pop_front_if(is_over) {
            let Some(first) = first.into_picture() else { continue };
            let ready = match second.and_then(Pass::into_picture) {
                Some(second) => {
                    let pair = Pair { origin, sides: [first, second] };
                    if compares {
                        return self.compare(pair);
                    }
                    pair.into_ready(None)
                }
                None => ReadyFrame::new(origin, first, None),
            };
            self.events.push_back(FilterEvent::Ready(ready));
        }
    }

    /// Sends a frame to the device's worker, which compares the pictures of its two sides.
    fn compare(&mut self, mut pair: Pair) {
        let frame = pair.origin.frame.clone();
        let map = match self.take_slot(&frame, WipeSide::Second) {
            Ok(map) => map,
            Err(error) => {
                let ready = FilterEvent::Ready(pair.into_ready(None));
                return self.events.extend([FilterEvent::ComparisonFailed(error), ready]);
            }
        };
        let readable = pair.sides.each_mut().map(|side| side.slot.prepare_for_reading(&self.gl));
        if let Some(error) = readable.into_iter().find_map(Result::err) {
            return self.handle_comparison(pair, map, Err(error));
        }
        self.flights.comparing = Some(frame);
        self.workers.compare(Box::new(pair), map);
    }

    /// Handles the result of a comparison: the frame becomes ready. `map` is the slot with the map of the differences;
    /// `compared` has the differences and the device's time in milliseconds, or the error.
    fn handle_comparison(&mut self, pair: Pair, map: Slot, compared: Result<(Difference, f64)>) {
        self.flights.comparing.take_if(|frame| Arc::ptr_eq(frame, &pair.origin.frame));
        let compared = match compared {
            Ok((difference, ms)) => Some((map, difference, ms)),
            Err(error) => {
                self.workers.discard(map);
                self.events.push_back(FilterEvent::ComparisonFailed(error));
                None
            }
        };
        self.events.push_back(FilterEvent::Ready(pair.into_ready(compared)));
    }

    /// Removes the flight at `index`: cancels its work, frees its slots, and reports the `event` with the frame's origin.
    fn leave(&mut self, index: usize, event: impl FnOnce(Origin) -> FilterEvent) {
        let Some(Flight { origin, first, second }) = self.flights.list.remove(index) else { return };
        self.end(Some(first), WipeSide::First);
        self.end(second, WipeSide::Second);
        self.complete();
        self.events.push_back(event(origin));
    }

    /// Drops one filter of the flight at `index`. Without its first side, the frame leaves the queue with the `event`.
    fn drop_side(&mut self, index: usize, side: WipeSide, event: impl FnOnce(Origin) -> FilterEvent) {
        match side {
            WipeSide::First => self.leave(index, event),
            WipeSide::Second => self.drop_second_side(index),
        }
    }

    /// Returns a slot of the frame's size for this side of the wipe. Unused slots of another size are discarded.
    ///
    /// # Errors
    /// If the frame is larger than the driver's textures, or memory runs out.
    fn take_slot(&mut self, frame: &Frame, side: WipeSide) -> Result<Slot> {
        let size = (frame.width(), frame.height());
        let slots = &mut self.free[side as usize];
        slots.extract_if(.., |slot| slot.size != size).for_each(|slot| self.workers.discard(slot));
        slots.pop().map_or_else(|| Slot::new(&self.gl, size.0, size.1), Ok)
    }

    /// Puts slots back for later pictures. OpenGL must have received its last command that uses their textures.
    pub(super) fn put_slots(&mut self, slots: impl IntoIterator<Item = (WipeSide, Slot)>) {
        for (side, mut slot) in slots {
            slot.retire();
            self.free[side as usize].push(slot);
        }
    }

    /// Ends one filter of a frame that is dropped: cancels its work, and frees its slot.
    fn end(&mut self, pass: Option<Pass>, side: WipeSide) {
        match pass.map(|pass| pass.step) {
            Some(Step::Submitted(ticket)) => self.workers.cancel(ticket, f64::NEG_INFINITY),
            Some(Step::Done(slot, _)) => self.put_slots([(side, slot)]),
            Some(Step::Due) | None => {}
        }
    }

    /// Drops the frames that wait for the filter of their second side or for the comparison.
    pub(super) fn give_up_pairs(&mut self) {
        self.flights.comparing = None;
        let waits_for_second = |flight: &Flight| flight.first.is_done() && flight.second.is_some();
        while let Some(index) = self.flights.list.iter().position(waits_for_second) {
            self.leave(index, FilterEvent::Dropped);
        }
        for flight in &mut self.flights.list {
            flight.second.take_if(|second| second.is_due());
        }
    }

    /// Cancels the unstarted work of each running filter that is predicted to take longer than the limit that `limit_ms` returns for its
    /// flight and its side of the wipe, in milliseconds from now.
    pub(super) fn cancel(&mut self, limit_ms: impl Fn(&Flight, WipeSide) -> f64) {
        for flight in &self.flights.list {
            for (pass, side) in flight.passes().zip([WipeSide::First, WipeSide::Second]) {
                let limit_ms = limit_ms(flight, side);
                if let Some(ticket) = pass.ticket().filter(|_| limit_ms < f64::INFINITY) {
                    self.workers.cancel(ticket, limit_ms);
                }
            }
        }
    }

    /// Removes the filter of the wipe's second side from all frames that are being filtered, and cancels that filter where it was
    /// submitted. These frames are shown with their first side only.
    pub(super) fn drop_second_sides(&mut self) {
        while let Some(index) = self.flights.list.iter().position(|flight| flight.second.is_some()) {
            self.drop_second_side(index);
        }
    }

    /// Removes the filter of the wipe's second side from the flight at `index`. The frame is shown with its first side only.
    fn drop_second_side(&mut self, index: usize) {
        let second = self.flights.list.get_mut(index).and_then(|flight| flight.second.take());
        self.end(second, WipeSide::Second);
        self.complete();
    }

    /// Abandons the device, with the frames that it is filtering: removes it without waiting for its calls. `buffers` are its
    /// memory objects in slots whose frames are not being filtered.
    pub(super) fn abandon_device(&mut self, mut buffers: Vec<Slot>) {
        self.is_postponed = false;
        self.give_up_pairs();
        let free = self.free.iter_mut().flat_map(|slots| slots.drain(..));
        buffers.extend(free.map(|mut slot| slot.take_device_buffers(false)));
        for pass in self.flights.list.iter_mut().flat_map(Flight::passes_mut) {
            if let Step::Done(slot, _) = &mut pass.step {
                // Its picture may lie in the device's memory.
                slot.show();
                buffers.push(slot.take_device_buffers(false));
            }
        }
        for ticket in self.workers.abandon(buffers) {
            // These frames left with the device's worker, so there is nothing to cancel.
            if let Some((index, side, _)) = self.flights.find(ticket) {
                self.drop_side(index, side, FilterEvent::Dropped);
            }
        }
    }

    /// Returns true if no further frame should be submitted now. The device may be filtering a frame that takes so long that a
    /// second one would only wait. Or not all commands of a frame are in the device's queue yet: frames use the same memory
    /// between their steps, so commands of two frames must not mix.
    pub(super) fn is_busy(&self) -> bool {
        // Not all commands of a frame are in its device's queue yet, so that another frame would have to wait.
        self.workers.all().any(|state| state.jobs().any(|progress| !progress.is_enqueued))
            || self.flights.passes().any(|pass| self.workers.progress(pass).predicted_ms > SLOW_MS)
    }

    /// Returns true if the device takes so long for a frame that the overlay should be repainted meanwhile.
    pub fn is_slow(&self) -> bool {
        let mut all = self.flights.passes().map(|pass| self.workers.progress(pass));
        all.any(|progress| progress.predicted_ms.max(progress.elapsed_s() * 1e3) > SLOW_FRAME_MS)
    }
}
