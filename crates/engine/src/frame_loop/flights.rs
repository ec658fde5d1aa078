//! Frames between the decoder and the screen: a frame that was taken from the decoder ([`Origin`]), a frame that is being filtered once
//! or, in a wipe, twice ([`Flight`]), and a filtered frame ([`Picture`]).

use std::collections::VecDeque;
use std::sync::Arc;

use super::pairs::Pair;
use super::slots::WipeSide;
use crate::{Readings, Request, Slot, Stages, Ticket};
use video::Frame;

/// A frame that was taken from the decoder to be filtered, and the player's state at the time when it was taken.
pub(super) struct Origin {
    /// The decoded frame.
    pub(super) frame: Arc<Frame>,
    /// The number of frames that were dropped between the previous frame and this one.
    pub(super) dropped_before: u32,
    /// The value of [`Intake::generation`](super::intake::Intake) when the frame was taken: it differs after a seek or in another movie.
    pub(super) generation: u64,
    /// The value of [`FrameLoop::device_changes`](super::FrameLoop::device_changes) when the frame was taken.
    pub(super) device: u32,
    /// True if the frame is on the screen already and is filtered again because it stays there. It is no new movie frame.
    pub(super) replaces_shown: bool,
    /// True if programs that filter or convert the frame have been replaced since it was taken, so that its picture may be
    /// wrong.
    pub(super) is_outdated: bool,
}

/// The progress of one filter of a frame.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Step {
    /// The filter has not been submitted to a worker.
    Due,
    /// The filter was submitted to a worker under this ticket.
    Submitted(Ticket),
    /// The filtered picture is in the slot, though perhaps not in the slot's texture yet. The readings of the scopes come with it if they
    /// were requested.
    Done(Slot, Option<Arc<Readings>>),
}

/// One filter of a frame: a frame in a wipe has two.
pub(super) struct Pass {
    pub(super) request: Request,
    /// The version number of the kernels of the request's variant.
    pub(super) version: u64,
    pub(super) stages: Stages,
    pub(super) step: Step,
}

impl Pass {
    pub(super) fn is_due(&self) -> bool {
        matches!(self.step, Step::Due)
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.step, Step::Done(..))
    }

    /// Returns the ticket of this filter if it is submitted and not done.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        if let Step::Submitted(ticket) = self.step { Some(ticket) } else { None }
    }

    /// Returns the filtered picture; `None` if the filter is not done.
    pub(super) fn into_picture(self) -> Option<Picture> {
        let Self { request, version, stages, step } = self;
        let Step::Done(slot, readings) = step else { return None };
        Some(Picture { request, version, stages, slot, readings })
    }
}

/// A frame that is being filtered, once or, in a wipe, twice.
pub(super) struct Flight {
    pub(super) origin: Origin,
    /// The chosen filter, whose times count as the movie's.
    pub(super) first: Pass,
    /// The filter of the second side, in a wipe.
    pub(super) second: Option<Pass>,
}

impl Flight {
    /// Returns the filter of the first side and, in a wipe, that of the second.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        std::iter::once(&self.first).chain(&self.second)
    }

    fn passes_mut(&mut self) -> impl Iterator<Item = &mut Pass> {
        std::iter::once(&mut self.first).chain(&mut self.second)
    }

    /// Returns the filter of one side, to change it; `None` for the second side of a frame without a wipe.
    pub(super) fn pass_mut(&mut self, side: WipeSide) -> Option<&mut Pass> {
        match side {
            WipeSide::First => Some(&mut self.first),
            WipeSide::Second => self.second.as_mut(),
        }
    }

    /// Returns true if all filters of the frame are done.
    pub(super) fn is_done(&self) -> bool {
        self.passes().all(Pass::is_done)
    }

    /// Returns the frame's origin and the pictures of its first and, in a wipe, second side; `None` if the first filter is not
    /// done.
    pub(super) fn into_pictures(self) -> Option<(Origin, Picture, Option<Picture>)> {
        let second = self.second.map(Pass::into_picture);
        Some((self.origin, self.first.into_picture()?, second.flatten()))
    }
}

/// All frames that are being filtered or compared.
#[derive(Default)]
pub(super) struct Flights {
    /// The frames that are being filtered, in the order in which they were taken.
    pub(super) list: VecDeque<Flight>,
    /// Frames of a wipe with both sides filtered that wait to be compared.
    pub(super) pairs: VecDeque<Pair>,
    /// The frame whose sides are being compared by the device's worker.
    pub(super) comparing: Option<Arc<Frame>>,
}

impl Flights {
    /// Returns the number of frames that are being filtered or compared.
    pub(super) fn count(&self) -> usize {
        self.list.len() + self.pairs.len() + usize::from(self.comparing.is_some())
    }

    /// Returns the filters of all frames that are being filtered.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.list.iter().flat_map(Flight::passes)
    }

    /// Returns the slots of filtered pictures of frames that are being filtered.
    pub(super) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.list.iter_mut().flat_map(Flight::passes_mut).filter_map(|pass| match &mut pass.step {
            Step::Done(slot, _) => Some(slot),
            Step::Due | Step::Submitted(_) => None,
        })
    }

    /// Returns the index of the flight that has this ticket, and the side that it belongs to.
    pub(super) fn find(&self, ticket: Ticket) -> Option<(usize, WipeSide)> {
        self.list.iter().enumerate().find_map(|(index, flight)| {
            let mut sides = flight.passes().zip([WipeSide::First, WipeSide::Second]);
            let (_, side) = sides.find(|(pass, _)| pass.ticket() == Some(ticket))?;
            Some((index, side))
        })
    }

    /// Returns the frames that are being filtered or wait to be compared.
    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        let filtered = self.list.iter().map(|flight| &flight.origin);
        filtered.chain(self.pairs.iter().map(|pair| &pair.origin))
    }

    /// Marks all frames as outdated, because the programs that filter them have been replaced.
    pub(super) fn outdate(&mut self) {
        self.list.iter_mut().for_each(|flight| flight.origin.is_outdated = true);
        self.pairs.iter_mut().for_each(|pair| pair.origin.is_outdated = true);
    }
}

/// A filtered frame that is on the screen or waits to be shown.
pub(super) struct Picture {
    pub(super) request: Request,
    /// The version of the kernels that filtered it.
    pub(super) version: u64,
    pub(super) stages: Stages,
    pub(super) slot: Slot,
    /// The readings of the scopes; `None` if they were not requested.
    pub(super) readings: Option<Arc<Readings>>,
}
