//! Submits frames to the engine, once or, in a wipe, twice, and handles refusals.

use std::sync::Arc;

use super::filter_queue::{FilterEvent, FilterQueue};
use super::flights::{Flight, Origin, Pass, Step};
use super::handoff::{ReturnWhen, WorkResult};
use super::slots::WipeSide;
use super::wipe::must_take_turns;
use crate::{Engine, Refusal, Request, Slot, Stages, Ticket};
use base::error::Error;
use box_filter::VariantId;
use video::Frame;

/// The result of submitting a frame to the engine: the ticket, or, if the engine refuses the request, the slot and the reason.
pub(super) type SubmitResult = std::result::Result<Ticket, (Slot, Refusal)>;

/// A filter of a frame that is being submitted to the engine.
pub(super) struct PendingSubmit {
    pub(super) frame: Arc<Frame>,
    pub(super) pass: Pass,
    pub(super) side: PendingSide,
    /// When the device's thread returns the engine.
    pub(super) when: ReturnWhen,
}

/// The side of a wipe that is being submitted.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum PendingSide {
    /// The first side, with the chosen filter, of a frame that was just taken. The pass of the second side is submitted later.
    First(Origin, Option<Pass>),
    /// The second side, of a frame whose first side was submitted before.
    Second,
}

impl PendingSubmit {
    /// Submits the filter to the engine.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    fn submit(&self, engine: &mut Engine, slot: Slot) -> SubmitResult {
        engine.submit(&self.frame, self.pass.request, slot)
    }
}

impl FilterQueue {
    /// Submits the filter of the wipe's second side for the first flight that waits for it, unless that filter has to wait for the first
    /// side's. Returns `None` if no flight waits, then true if another frame may be submitted.
    pub(super) fn submit_second(&mut self, when: ReturnWhen) -> Option<bool> {
        let (flight, second) = self.flights.list.iter().find_map(|flight| {
            let second = flight.second.as_ref().filter(|second| second.is_due())?;
            Some((flight, second))
        })?;
        let variants = [flight.first.request.variant, second.request.variant];
        if must_take_turns(variants) && !flight.first.is_done() {
            return Some(false);
        }
        let pass = Pass {
            request: second.request,
            version: second.version,
            stages: Stages::default(),
            step: Step::Due,
        };
        let frame = flight.origin.frame.clone();
        self.submit(PendingSubmit { frame, pass, side: PendingSide::Second, when });
        Some(self.handoff.engine().is_some())
    }

    /// Submits a filter of a frame, on the device's thread if the device filters it.
    pub(super) fn submit(&mut self, pending: PendingSubmit) {
        let side = match pending.side {
            PendingSide::First(..) => WipeSide::First,
            PendingSide::Second => WipeSide::Second,
        };
        match self.slots.take(&pending.frame, side, &self.handoff) {
            Ok(slot) => self.submit_with_slot(pending, slot),
            Err(error) => self.handle_submit_failure(pending, error),
        }
    }

    /// Submits a filter of a frame into this slot, on the device's thread if the device filters it.
    fn submit_with_slot(&mut self, mut pending: PendingSubmit, mut slot: Slot) {
        let Some(engine) = self.handoff.engine_mut() else { return };
        if engine.is_for_device(&pending.pass.request) {
            engine.make_ready(&mut slot, &pending.pass.request, &mut pending.pass.stages);
            self.run_on_device_thread("a frame is handed over", pending.when, move |engine| {
                let result = pending.submit(engine, slot);
                WorkResult::Submitted(pending, result)
            });
        } else {
            let result = pending.submit(engine, slot);
            self.handle_submit_result(pending, result);
        }
    }

    /// Handles the result of submitting a frame.
    pub(super) fn handle_submit_result(&mut self, pending: PendingSubmit, result: SubmitResult) {
        match result {
            Ok(ticket) => self.begin_flight(pending, ticket),
            Err((slot, refusal)) => self.handle_refusal(pending, slot, refusal),
        }
        // A frame without a filter is done already.
        if self.flights.passes().any(|pass| pass.request.variant == VariantId::Off) {
            self.collect_without_opencl();
        }
    }

    /// Stores the submitted filter with its ticket: in a new flight for the first side, in the frame's flight for the second.
    fn begin_flight(&mut self, PendingSubmit { frame, pass, side, .. }: PendingSubmit, ticket: Ticket) {
        // Only the next frame that is held is to be announced.
        self.handoff.take_announced_hold();
        let pass = Pass { step: Step::Submitted(ticket), ..pass };
        match side {
            PendingSide::First(origin, second) => {
                let is_current = origin.generation == self.generation;
                let second = second.filter(|_| is_current);
                self.flights.list.push_back(Flight { origin, first: pass, second });
                if !is_current {
                    self.handoff.cancel([ticket]);
                }
            }
            PendingSide::Second => {
                let index = self.flights.find_due_second(&frame);
                match index.and_then(|index| self.flights.list.get_mut(index)) {
                    Some(flight) => flight.second = Some(pass),
                    // The flight was given up meanwhile.
                    None => self.handoff.cancel([ticket]),
                }
            }
        }
    }

    /// Handles the engine's refusal of a request. While the kernels of the first side must still be tried, the frame is
    /// submitted without a filter instead.
    fn handle_refusal(&mut self, pending: PendingSubmit, slot: Slot, refusal: Refusal) {
        let request = pending.pass.request;
        let is_second = matches!(pending.side, PendingSide::Second);
        if matches!(refusal, Refusal::TrialPending) && !is_second {
            // Shown unfiltered until the kernels are tried.
            let request = Request { variant: VariantId::Off, ..request };
            let pass = Pass { request, version: 1, ..pending.pass };
            self.submit_with_slot(PendingSubmit { pass, ..pending }, slot);
            return;
        }
        self.handoff.discard(slot);
        let event = match refusal {
            // The first side is shown alone until then.
            Refusal::TrialPending => None,
            Refusal::Failed(error) => Some(FilterEvent::DeviceFailed(error)),
            // Without its filter, or as the last resort without the correction, the frame can be shown.
            Refusal::Unsupported(error)
                if !is_second && (request.variant != VariantId::Off || request.correction.is_some()) =>
            {
                Some(FilterEvent::VariantFailed(request.variant, error))
            }
            Refusal::Unsupported(error) | Refusal::NotLoaded(error) => {
                self.handle_submit_failure(pending, error);
                return;
            }
        };
        self.events.extend(event);
        match pending.side {
            PendingSide::First(origin, _) => self.events.push_back(FilterEvent::Refused(origin)),
            PendingSide::Second => self.drop_due_second_side(&pending.frame),
        }
    }

    /// Handles a request that will never succeed: the frame is dropped, or loses its second side.
    fn handle_submit_failure(
        &mut self,
        PendingSubmit { frame, pass, side, .. }: PendingSubmit,
        error: Error,
    ) {
        match side {
            PendingSide::First(origin, _) => {
                self.events.push_back(FilterEvent::FrameFailed(origin, pass.request, error));
            }
            PendingSide::Second => {
                self.events.push_back(FilterEvent::WipeFailed(error));
                self.drop_due_second_side(&frame);
            }
        }
    }

    /// Removes the filter of the wipe's second side from the flight of `frame` if that filter is not submitted yet.
    fn drop_due_second_side(&mut self, frame: &Arc<Frame>) {
        if let Some(index) = self.flights.find_due_second(frame) {
            self.drop_second_side(index);
        }
    }
}
