//! The frames in their filters, and the engine that filters them. What becomes of a frame that leaves the queue is decided by the loop:
//! the queue reports it as a [`FilterEvent`].

use std::collections::VecDeque;
use std::sync::Arc;

use super::Origin;
use super::flights::{Flight, Flights, Step};
use super::handoff::{EngineHandoff, Handback, ReturnWhen, WorkResult};
use super::pairs::Pair;
use super::presenter::ReadyFrame;
use super::slots::{SlotPool, WipeSide};
use crate::{DeviceBuffers, Engine, Finished, Outcome, Pipeline, Request};
use base::error::Error;
use base::jobs::Waker;
use box_filter::VariantId;

/// While the device works on a frame that takes longer than this, no further frame is submitted.
const SLOW_MS: f64 = 100.0;

/// A result or failure that the filter queue reports to the loop.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum FilterEvent {
    /// All filters of a frame are done.
    Ready(ReadyFrame),
    /// A frame was cancelled or given up.
    Dropped(Origin),
    /// A frame was refused because of its filter or device, which is reported as well: the frame is to be filtered otherwise.
    Refused(Origin),
    /// This request failed for a frame, and no other filter would help.
    FrameFailed(Origin, Request, Error),
    /// A variant failed or, with [`VariantId::Off`], the colour correction.
    VariantFailed(VariantId, Error),
    /// The second side of the wipe failed.
    WipeFailed(Error),
    /// The two sides of the wipe could not be compared.
    ComparisonFailed(Error),
    /// The device failed or ran out of memory.
    DeviceFailed(Error),
}

/// The frames that are being filtered or compared, the engine, and the memory of pictures.
pub struct FilterQueue {
    pub(super) gl: Arc<glow::Context>,
    /// The engine, and the device's thread that it is handed to.
    pub handoff: EngineHandoff,
    pub(super) slots: SlotPool,
    pub(super) flights: Flights,
    /// The value of [`Origin::generation`] of frames that are not outdated by a seek or another movie.
    pub(super) generation: u64,
    pub(super) events: VecDeque<FilterEvent>,
}

impl FilterQueue {
    /// Creates an empty queue whose engine has no device. `waker` wakes the window's loop.
    pub(super) fn new(gl: Arc<glow::Context>, waker: Waker) -> Self {
        Self {
            handoff: EngineHandoff::new(gl.clone(), waker),
            slots: SlotPool::new(gl.clone()),
            flights: Flights::default(),
            generation: 0,
            events: VecDeque::new(),
            gl,
        }
    }

    /// Runs `work` with the device's pipeline on the thread that makes the device's calls. `work` waits until the engine is
    /// available.
    pub fn with_pipeline(&mut self, work: impl FnOnce(&mut Pipeline) + Send + 'static) {
        self.handoff.pipeline_work.push(Box::new(work));
        let handback = self.handoff.run_pipeline_work();
        self.handle_handback(handback);
    }

    /// Runs `work` with the engine on the device's thread, where it may call OpenCL, and handles its result. See
    /// [`EngineHandoff::run_on_device_thread`].
    pub(super) fn run_on_device_thread(
        &mut self,
        what: &'static str,
        when: ReturnWhen,
        work: impl FnOnce(&mut Engine) -> WorkResult + Send + 'static,
    ) {
        let handback = self.handoff.run_on_device_thread(what, when, work);
        self.handle_handback(handback);
    }

    /// Tries to reclaim the engine from the device's thread. The first call after each hand-over waits up to 20 ms; later calls
    /// do not wait. Returns true if the engine is back.
    pub fn try_reclaim(&mut self) -> bool {
        let handback = self.handoff.try_reclaim();
        self.handle_handback(handback)
    }

    /// Processes the results that came back with the engine from the device's thread, if any: a submitted frame, a comparison, and finished
    /// frames. Returns true if the window's thread has the engine now.
    pub(super) fn handle_handback(&mut self, handback: Option<Handback>) -> bool {
        if let Some(Handback { result, finished }) = handback {
            match result {
                WorkResult::Submitted(pending, result) => self.handle_submit_result(pending, result),
                WorkResult::Compared(pair, map, compared) => self.handle_comparison(*pair, map, compared),
                WorkResult::Nothing => {}
            }
            finished.into_iter().for_each(|finished| self.finish(finished));
        }
        self.handoff.engine().is_some()
    }

    /// Takes the frames that the engine has finished, and starts frames that waited for them.
    pub(super) fn collect(&mut self) {
        if !self.try_reclaim() {
            return;
        }
        let handback = self.handoff.run_pipeline_work();
        self.handle_handback(handback);
        let has_finished = self.collect_without_opencl();
        let has_device_work = self.handoff.engine().is_some_and(|engine| engine.jobs.has_device_work());
        if has_device_work && (has_finished || self.handoff.needs_poll()) {
            self.run_on_device_thread("a frame is filtered", ReturnWhen::WorkDone, |engine| {
                // A frame of the device may have waited for one that the window's thread has finished.
                engine.start_waiting();
                WorkResult::Nothing
            });
            self.collect_without_opencl();
        }
        let failure = self.handoff.engine_mut().and_then(|engine| engine.failure.take());
        self.events.extend(failure.map(FilterEvent::DeviceFailed));
    }

    /// Takes the finished frames whose end needs no OpenCL call; returns true if there was one.
    pub(super) fn collect_without_opencl(&mut self) -> bool {
        let mut has_finished = false;
        while let Some(engine) = self.handoff.engine_mut() {
            engine.start_waiting();
            let Some(finished) = engine.poll() else { break };
            self.finish(finished);
            has_finished = true;
        }
        has_finished
    }

    /// Assigns a frame that the engine has finished to its [`Flight`], and completes or gives up the flight.
    fn finish(&mut self, finished: Finished) {
        let Finished { ticket, outcome, slot, stages, readings } = finished;
        let Some((index, is_second)) = self.flights.find(ticket) else {
            // The frame was given up.
            slot.into_iter().for_each(|slot| self.handoff.discard(slot));
            return;
        };
        let Some(flight) = self.flights.list.get_mut(index) else { return };
        let pass = if is_second { flight.second.as_mut() } else { Some(&mut flight.first) };
        let Some(pass) = pass else { return };
        pass.stages.add(stages);
        let variant = pass.request.variant;
        match (outcome, slot) {
            (Outcome::Done, Some(slot)) => {
                pass.step = Step::Done(slot, readings);
                self.complete(index);
            }
            (outcome, slot) if is_second => {
                self.slots.put(slot.map(|slot| (WipeSide::Second, slot)));
                self.drop_second_side(index);
                if let Outcome::Failed(error) = outcome {
                    self.events.push_back(FilterEvent::WipeFailed(error));
                }
            }
            (outcome, slot) => {
                pass.step = Step::Due;
                if let Outcome::Failed(error) = outcome {
                    // The device itself works; its failure is reported by `collect`.
                    self.events.push_back(FilterEvent::VariantFailed(variant, error));
                }
                self.slots.put(slot.map(|slot| (WipeSide::First, slot)));
                self.give_up(index);
            }
        }
    }

    /// Removes the flight at `index` if all of its filters are done. The frame is ready then or, in a wipe, waits to be compared.
    fn complete(&mut self, index: usize) {
        if !self.flights.list.get(index).is_some_and(Flight::is_done) {
            return;
        }
        match self.flights.list.remove(index).and_then(Flight::into_pictures) {
            Some((origin, first, Some(second))) => {
                self.flights.pairs.push_back(Pair { origin, first, second });
            }
            Some((origin, picture, None)) => {
                self.events.push_back(FilterEvent::Ready(ReadyFrame::new(origin, picture, None)));
            }
            None => {}
        }
    }

    /// Gives up the frame that is being filtered at `index`: cancels its work in the engine, and frees its slots.
    fn give_up(&mut self, index: usize) {
        let Some(Flight { origin, first, second }) = self.flights.list.remove(index) else { return };
        for (pass, side) in [(Some(first), WipeSide::First), (second, WipeSide::Second)] {
            match pass.map(|pass| pass.step) {
                Some(Step::Submitted(ticket)) => self.handoff.cancel([ticket]),
                Some(Step::Done(slot, _)) => self.slots.put([(side, slot)]),
                Some(Step::Due) | None => {}
            }
        }
        self.events.push_back(FilterEvent::Dropped(origin));
    }

    /// Gives up the frames that wait for their second side or to be compared.
    pub(super) fn give_up_pairs(&mut self) {
        self.flights.comparing = None;
        while let Some(index) = self.flights.list.iter().position(|flight| flight.first.is_done()) {
            self.give_up(index);
        }
        for flight in &mut self.flights.list {
            flight.second.take_if(|second| second.is_due());
        }
        for Pair { origin, first, second } in std::mem::take(&mut self.flights.pairs) {
            self.slots.put([(WipeSide::Second, second.slot), (WipeSide::First, first.slot)]);
            self.events.push_back(FilterEvent::Dropped(origin));
        }
    }

    /// Cancels the unstarted work of each running filter for which `condition` returns true. `condition` receives the filter's
    /// flight, its side of the wipe, and its remaining time in milliseconds.
    pub(super) fn cancel(&mut self, condition: impl Fn(&Flight, WipeSide, f64) -> bool) {
        let mut tickets = Vec::new();
        for flight in &self.flights.list {
            for (pass, side) in flight.passes().zip([WipeSide::First, WipeSide::Second]) {
                let is_wanted = condition(flight, side, self.handoff.progress(pass).remaining_ms);
                tickets.extend(pass.ticket().filter(|_| is_wanted));
            }
        }
        self.handoff.cancel(tickets);
    }

    /// Removes the filter of the wipe's second side from all frames that are being filtered, and cancels that filter where it was
    /// submitted. These frames are shown with their first side only.
    pub(super) fn drop_second_sides(&mut self) {
        while let Some(index) = self.flights.list.iter().position(|flight| flight.second.is_some()) {
            self.drop_second_side(index);
        }
    }

    /// Removes the filter of the wipe's second side from the flight at `index`. The frame is shown with its first side only.
    pub(super) fn drop_second_side(&mut self, index: usize) {
        match self.flights.list.get_mut(index).and_then(|flight| flight.second.take()).map(|pass| pass.step) {
            Some(Step::Submitted(ticket)) => self.handoff.cancel([ticket]),
            Some(Step::Done(slot, _)) => self.slots.put([(WipeSide::Second, slot)]),
            Some(Step::Due) | None => {}
        }
        self.complete(index);
    }

    /// Gives the device up, with the frames that it is filtering. `buffers` are its memory objects in slots whose frames are
    /// not being filtered.
    pub(super) fn abandon_device(&mut self, mut buffers: Vec<DeviceBuffers>) {
        self.give_up_pairs();
        buffers.extend(self.slots.drain().map(|mut slot| slot.take_device_buffers(false)));
        for slot in self.flights.slots_mut() {
            // Its picture may lie in the device's memory.
            slot.show();
            buffers.push(slot.take_device_buffers(false));
        }
        for ticket in self.handoff.abandon(buffers) {
            // The engine has nothing left of them to be cancelled.
            match self.flights.find(ticket) {
                Some((index, true)) => self.drop_second_side(index),
                Some((index, false)) => self.give_up(index),
                None => {}
            }
        }
    }

    /// Returns true if no further frame should be submitted now. This is so while the engine is on the device's thread, while
    /// the device has a frame that takes so long that a second one would only wait, and while not all commands of a frame are
    /// in the device's queue: all frames share the memory between their steps, so commands of another frame must not come
    /// between.
    pub(super) fn is_busy(&self) -> bool {
        self.handoff.engine().is_none_or(|engine| engine.jobs.is_queue_busy())
            || self.flights.passes().any(|pass| self.handoff.progress(pass).predicted_ms > SLOW_MS)
    }
}
