//! Two filters on one frame. In: what the other side of a wipe is filtered with, and each frame of the first side. Out: both
//! pictures of a frame, which go to the screen together, and how they differ, where that is wanted ([`pairs`]).
//!
//! ```text
//! submit ─▶ first side ─▶ engine ─▶ half ──┐
//!      └──▶ due ─▶ other side ─▶ engine ───┴─▶ (compare) ─▶ ready
//! ```
//!
//! Where both are the device's they go there in one message, so that it has work for as long as the picture before is drawn.
//!
//! What the other side takes is never the first one's: it is a stage of its own in the statistics, as the comparison is.

mod pairs;

use std::collections::VecDeque;
use std::sync::Arc;

use super::submit::Asked;
use super::{FrameLoop, NEARLY_DONE_MS, Ready};
use crate::stats;
use crate::{Difference, Pipeline, Request, Slot};
use base::error::Error;
use box_filter::VariantId;
use ladder::BackEnd;
pub(super) use pairs::{Beside, Half, Pair};
use video::Frame;

/// Which side of a wipe a frame is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// There is no other one.
    Alone,
    /// The one whose numbers are the movie's.
    First,
    /// The one beside it.
    Other,
}

/// A filter and its radius in pixels.
pub type Filter = (VariantId, u32);

/// What the window is told of a wipe on the screen.
#[derive(Debug, Clone)]
pub struct ShownWipe {
    /// How the first and the other side were filtered.
    pub sides: [Request; 2],
    /// Which of their filters' times are wall time.
    pub by_wall: [bool; 2],
    /// To be drawn beside the picture, or in its place where it is a map of the differences: what was to be seen of it
    /// ([`FrameLoop::sees`]).
    pub texture: glow::Texture,
    /// How the sides differ, where that is shown.
    pub difference: Option<Difference>,
}

/// What the loop knows of a wipe.
#[derive(Default)]
pub(super) struct Wipe {
    /// The other side, while there is one.
    other: Option<Filter>,
    /// What it was the last time.
    before: Option<Filter>,
    /// What [`VariantId::Version`] is a version of.
    former: Option<VariantId>,
    /// The sides are to be compared.
    compares: bool,
    /// What plays is shown by one filter only.
    is_away: bool,
    /// For pictures of the other side, and for maps.
    free: Vec<Slot>,
    /// A frame whose other side is to be asked for: with the first one, or after it.
    due: Option<Asked>,
    /// A first side that is done, and waits for its other one.
    half: Option<Half>,
    /// An other side that was done before its first.
    early: Option<Half>,
    /// To be compared.
    pairs: VecDeque<Pair>,
    /// Is being compared.
    compared: Option<Arc<Frame>>,
    error: Option<Error>,
}

impl Wipe {
    /// Frames that are neither in a flight nor ready.
    pub(super) fn waiting(&self) -> usize {
        usize::from(self.half.is_some()) + self.pairs.len() + usize::from(self.compared.is_some())
    }

    /// These frames.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Arc<Frame>> {
        let halves = self.half.iter().chain(self.pairs.iter().map(Pair::first));
        halves.map(Half::frame).chain(&self.compared)
    }

    /// The first side that waits for its other one.
    pub(super) fn half(&self) -> Option<&Half> {
        self.half.as_ref()
    }

    /// A frame cannot be had: neither can its other side.
    pub(super) fn without(&mut self, frame: &Arc<Frame>) {
        self.due.take_if(|due| due.is_of(frame));
    }

    /// The frame whose other side is to be asked for, if it is such a one.
    pub(super) fn take_due(&mut self, which: impl FnOnce(&Asked) -> bool) -> Option<Asked> {
        self.due.take_if(|due| which(due))
    }

    /// Whether a frame's other side is to be asked for.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Slots that wait for a picture of the other side.
    pub(super) fn free(&mut self) -> &mut Vec<Slot> {
        &mut self.free
    }
}

/// Whether both sides would take the same processors at once, and make each other's times longer.
fn must_take_turns(sides: [VariantId; 2]) -> bool {
    sides.iter().any(|id| matches!(id.back_end(), BackEnd::Native | BackEnd::Glsl))
}

impl FrameLoop {
    /// The other side, if there is one.
    pub fn other(&self) -> Option<Filter> {
        self.wipe.other
    }

    /// Whether the sides are compared.
    pub fn compares(&self) -> bool {
        self.wipe.other.is_some() && self.wipe.compares
    }

    /// Whether what plays now may be shown by two filters.
    pub fn let_wipe(&mut self, may: bool) {
        self.wipe.is_away = !may;
    }

    /// Filters frames in a second way beside the first, from the next one on, or no longer: as they were the last time, at first
    /// not at all. Returns what the other side is now.
    pub fn toggle_wipe(&mut self) -> Option<Filter> {
        let other = match self.wipe.other {
            Some(_) => None,
            None => Some(self.wipe.before.unwrap_or((VariantId::Off, self.choice.filter().1))),
        };
        self.set_other(other);
        other
    }

    /// Filters the other side with this from the next frame on, or with nothing more. Work that would take long is dropped.
    pub fn set_other(&mut self, other: Option<Filter>) {
        if other == self.wipe.other {
            return;
        }
        self.wipe.before = other.or(self.wipe.other);
        self.wipe.compares &= other.is_some();
        self.wipe.other = other;
        // With the frame that it is asked for.
        self.fetch();
        let limit_ms = if self.clock.is_paused() { 0.0 } else { NEARLY_DONE_MS };
        self.cancel_longer(limit_ms, |flight| flight.side == Side::Other);
        self.look_again();
    }

    /// Filters the other side with another version of this variant's kernels.
    pub fn set_former(&mut self, variant: VariantId, radius: u32) {
        self.wipe.former = Some(variant);
        self.set_other(Some((VariantId::Version, radius)));
    }

    /// Exchanges the sides.
    pub fn swap_sides(&mut self) {
        let Some((variant, radius)) = self.wipe.other else { return };
        let first = self.chosen();
        self.set_other(Some(first));
        self.choose(variant, radius);
    }

    /// Compares the sides, or no longer.
    pub fn compare(&mut self, compare: bool) {
        self.wipe.compares = compare;
        self.look_again();
    }

    /// Goes on without the other side, and says why.
    pub fn end_wipe(&mut self, error: Error) {
        self.wipe.error = Some(error);
        self.set_other(None);
        self.forget_other();
    }

    /// Compares the sides no longer, and says why.
    pub fn do_without_map(&mut self, error: Error) {
        self.wipe.error = Some(error);
        self.wipe.compares = false;
    }

    /// Why the wipe was ended, or compares no more, if that has happened since the last call.
    pub fn take_wipe_error(&mut self) -> Option<Error> {
        self.wipe.error.take()
    }

    /// What the other side can be asked for now, if that is wanted.
    pub(super) fn wanted_other(&self) -> Option<Request> {
        let (variant, radius) = self.wipe.other.filter(|_| !self.wipe.is_away)?;
        let engine = self.lent.engine()?;
        let can = variant == VariantId::Off || engine.can_filter(variant, radius);
        let request = self.choice.request_of((variant, radius), || engine.can_measure(variant));
        // The scopes are the first side's.
        can.then_some(Request { readings: false, ..request })
    }

    /// Whether a wipe that is wanted cannot be had yet.
    pub(super) fn lacks_other(&self) -> bool {
        self.wipe.other.is_some() && !self.wipe.is_away && self.wanted_other().is_none()
    }

    /// Whether the picture has the other side that is wanted.
    pub(super) fn is_beside(&self, shown: &Ready) -> bool {
        match (&shown.beside, self.wanted_other()) {
            (None, None) => true,
            (Some(beside), Some(wanted)) => {
                beside.request().makes_as(&wanted) && beside.difference().is_some() == self.can_compare()
            }
            _ => false,
        }
    }

    /// Whether the sides are compared, and there is a device that does it, with kernels that are built.
    pub(super) fn can_compare(&self) -> bool {
        self.wipe.compares && self.comparing_pipeline().is_some_and(Pipeline::has_comparer)
    }

    /// Whether that is wanted, and the kernels for it are not built yet.
    pub(super) fn lacks_map(&self) -> bool {
        let lacks = |pipeline: &Pipeline| !pipeline.has_comparer();
        self.compares() && !self.wipe.is_away && self.comparing_pipeline().is_some_and(lacks)
    }

    /// Whether these are to be built; told once.
    pub fn lacks_comparer(&mut self) -> bool {
        self.compares() && self.pipeline_mut().is_some_and(Pipeline::lacks_comparer)
    }

    fn comparing_pipeline(&self) -> Option<&Pipeline> {
        self.lent.engine()?.pipeline()
    }

    /// Whether no two frames may be on their way at once.
    pub(super) fn takes_turns(&self) -> bool {
        self.wipe.other.is_some_and(|(other, _)| must_take_turns([self.choice.filter().0, other]))
    }

    /// Lets memory go that only a wipe needs, where there is none any more.
    pub(super) fn tidy_wipe(&mut self) {
        if self.wipe.other.is_none() {
            std::mem::take(&mut self.wipe.free).into_iter().for_each(|slot| self.discard(slot));
        }
    }

    /// The wipe on the screen, if there is one.
    pub fn shown_wipe(&self) -> Option<ShownWipe> {
        let shown = self.shown.as_ref()?;
        let beside = shown.beside.as_ref()?;
        Some(ShownWipe {
            sides: [shown.flight.request, *beside.request()],
            by_wall: [shown.flight.stages.filter_by_wall, beside.by_wall()],
            texture: beside.texture()?,
            difference: beside.difference(),
        })
    }
}

impl Ready {
    /// The other side, for the statistics.
    pub(super) fn beside_setting(&self) -> Option<stats::Beside> {
        let beside = self.beside.as_ref()?;
        let Request { variant, radius, .. } = *beside.request();
        Some(stats::Beside { variant, radius, compared: beside.difference().is_some() })
    }

    /// Which versions of the kernels made it.
    pub(super) fn versions(&self) -> stats::Versions {
        let first = self.flight.version;
        let (beside, former) = self.beside.as_ref().map_or((1, None), |beside| beside.version());
        stats::Versions { first, beside, former }
    }
}
