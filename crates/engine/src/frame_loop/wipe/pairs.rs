//! Both sides of a frame on their way. In: one after the other as the engine has done with them. Out: pictures that are ready,
//! each with the one beside it and the map of how they differ; or the first one alone, where there is no other.

use std::sync::Arc;
use std::time::Instant;

use super::{Side, must_take_turns};
use crate::frame_loop::lent::{Done, Until};
use crate::frame_loop::submit::Asked;
use crate::frame_loop::{Flight, FrameLoop};
use crate::stats::{Span, Stage};
use crate::{Difference, Readings, Request, Slot, Stages};
use base::error::Result;
use box_filter::VariantId;
use opengl::texture::Part;
use video::Frame;

/// One side's picture of a frame, whose texture may not have it yet.
pub(in crate::frame_loop) struct Half {
    pub(in crate::frame_loop) flight: Flight,
    pub(in crate::frame_loop) slot: Slot,
    /// What was measured of it.
    pub(in crate::frame_loop) readings: Option<Arc<Readings>>,
}

impl Half {
    pub(in crate::frame_loop) fn new(flight: Flight, slot: Slot, readings: Option<Arc<Readings>>) -> Self {
        Self { flight, slot, readings }
    }

    /// The frame that it is of.
    pub(super) fn frame(&self) -> &Arc<Frame> {
        &self.flight.frame
    }
}

/// Both sides of a frame.
pub(in crate::frame_loop) struct Pair {
    first: Half,
    other: Half,
}

impl Pair {
    pub(super) fn first(&self) -> &Half {
        &self.first
    }

    /// For who does without them.
    pub(in crate::frame_loop) fn into_slots(self) -> [Slot; 2] {
        [self.first.slot, self.other.slot]
    }
}

/// The other side of a picture that is shown.
pub(in crate::frame_loop) struct Beside {
    request: Request,
    /// What its filter took, in milliseconds.
    filter_ms: f64,
    by_wall: bool,
    slot: Slot,
    /// The map of the differences, in a texture of its own, and what they are.
    map: Option<(Slot, Difference)>,
    /// Which version of its kernels filtered it.
    version: u64,
    /// What it is a version of, where it is one.
    former: Option<VariantId>,
}

impl Beside {
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// Which version of its kernels filtered it, and what that is a version of, where it is one of its own.
    pub(super) fn version(&self) -> (u64, Option<VariantId>) {
        (self.version, self.former)
    }

    pub(super) fn by_wall(&self) -> bool {
        self.by_wall
    }

    pub(super) fn difference(&self) -> Option<Difference> {
        self.map.as_ref().map(|(_, difference)| *difference)
    }

    /// What is drawn: the map, where there is one.
    pub(super) fn texture(&self) -> Option<glow::Texture> {
        self.map.as_ref().map_or(&self.slot, |(map, _)| map).texture()
    }

    /// Fills the texture that is drawn, of a picture with this part at least, of a map with all of it.
    pub(in crate::frame_loop) fn show(&mut self, part: &Part) {
        match &mut self.map {
            Some((map, _)) => map.show(),
            None => self.slot.show_part(part),
        }
    }

    /// What its filter took, in milliseconds, where that is known.
    pub(in crate::frame_loop) fn filter_ms(&self) -> Option<f64> {
        Some(self.filter_ms).filter(|ms| ms.is_finite())
    }

    pub(in crate::frame_loop) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        std::iter::once(&mut self.slot).chain(self.map.iter_mut().map(|(slot, _)| slot))
    }

    pub(in crate::frame_loop) fn into_slots(self) -> impl Iterator<Item = Slot> {
        std::iter::once(self.slot).chain(self.map.map(|(slot, _)| slot))
    }
}

impl FrameLoop {
    /// The other side is to be asked for next.
    pub(in crate::frame_loop) fn other_is_due(&mut self, other: Asked) {
        self.wipe.due = Some(other);
    }

    /// Asks for the other side of the frame before; returns whether it did.
    pub(in crate::frame_loop) fn ask_other(&mut self) -> bool {
        let Some(due) = self.wipe.due.take() else { return false };
        let first = self.flights.iter().find(|flight| due.is_other_of(flight));
        let is_there = self.wipe.half.as_ref().is_some_and(|half| due.is_other_of(&half.flight));
        match first {
            Some(first) if must_take_turns([first.request.variant, due.variant()]) => {
                self.wipe.due = Some(due);
                return false;
            }
            // It was given up.
            None if !is_there => return false,
            _ => {}
        }
        self.ask_for(due);
        self.lent.engine().is_some()
    }

    /// The first sides that are on their way come alone.
    pub(super) fn forget_other(&mut self) {
        self.wipe.due = None;
        self.free_early();
        for flight in &mut self.flights {
            if flight.side == Side::First {
                flight.side = Side::Alone;
            }
        }
        if let Some(half) = self.wipe.half.take() {
            self.show(half, None);
        }
    }

    /// Whether the other side of this frame will come, or is asked for.
    fn awaits_other(&self, first: &Flight) -> bool {
        let is_other = |other: &Flight| other.side == Side::Other && Arc::ptr_eq(&other.frame, &first.frame);
        self.wipe.due.as_ref().is_some_and(|due| due.is_other_of(first)) || self.flights.iter().any(is_other)
    }

    /// The first side of a frame is done.
    pub(in crate::frame_loop) fn first_is_done(&mut self, half: Half) {
        if let Some(other) = self.wipe.early.take_if(|early| Arc::ptr_eq(early.frame(), half.frame())) {
            self.pair(half, other);
        } else if !self.awaits_other(&half.flight) {
            self.show(half, None);
        } else if let Some(before) = self.wipe.half.replace(half) {
            self.show(before, None);
        }
    }

    /// The other side of a frame is done: before the first one, where that takes longer.
    pub(in crate::frame_loop) fn other_is_done(&mut self, other: Half) {
        let is_first =
            |first: &Flight| first.side == Side::First && Arc::ptr_eq(&first.frame, &other.flight.frame);
        match self.half_of(&other.flight) {
            Some(first) => self.pair(first, other),
            None if self.flights.iter().any(is_first) => {
                self.free_early();
                self.wipe.early = Some(other);
            }
            None => self.free_beside(other.slot),
        }
    }

    /// Both sides of a frame are done.
    fn pair(&mut self, first: Half, other: Half) {
        let pair = Pair { first, other };
        match self.can_compare() {
            true => self.wipe.pairs.push_back(pair),
            false => self.show_pair(pair, None),
        }
    }

    /// Gives up an other side whose first is not done.
    fn free_early(&mut self) {
        if let Some(early) = self.wipe.early.take() {
            self.free_beside(early.slot);
        }
    }

    fn half_of(&mut self, other: &Flight) -> Option<Half> {
        self.wipe.half.take_if(|half| Arc::ptr_eq(half.frame(), &other.frame))
    }

    /// The other side of a frame will not come.
    pub(in crate::frame_loop) fn other_is_lost(&mut self, frame: &Arc<Frame>) {
        if let Some(half) = self.wipe.half.take_if(|half| Arc::ptr_eq(half.frame(), frame)) {
            self.show(half, None);
        }
    }

    /// The first side of a frame will not be shown: neither is the other.
    pub(in crate::frame_loop) fn first_is_lost(&mut self, flight: &Flight) {
        self.wipe.due.take_if(|due| due.is_other_of(flight));
        if self.wipe.early.as_ref().is_some_and(|early| Arc::ptr_eq(early.frame(), &flight.frame)) {
            self.free_early();
        }
        let is_other =
            |other: &&Flight| other.side == Side::Other && Arc::ptr_eq(&other.frame, &flight.frame);
        let other = self.flights.iter().find(is_other).map(|other| other.ticket);
        other.into_iter().for_each(|ticket| self.cancel(ticket));
    }

    /// Gives up what waits for another side, or to be compared.
    pub(in crate::frame_loop) fn give_up_pairs(&mut self) {
        self.wipe.due = None;
        self.wipe.compared = None;
        self.free_early();
        let pairs = std::mem::take(&mut self.wipe.pairs);
        let mut halves: Vec<Half> = self.wipe.half.take().into_iter().collect();
        for Pair { first, other } in pairs {
            self.free_beside(other.slot);
            halves.push(first);
        }
        halves.into_iter().for_each(|half| self.give_up(half.flight, Some(half.slot)));
    }

    /// What made the colours of what waits may be wrong.
    pub(in crate::frame_loop) fn doubt_pairs(&mut self) {
        let halves = self.wipe.half.iter_mut().chain(self.wipe.pairs.iter_mut().map(|pair| &mut pair.first));
        halves.for_each(|half| half.flight.doubtful = true);
    }

    /// Keeps a slot for a next picture of the other side.
    pub(in crate::frame_loop) fn free_beside(&mut self, mut slot: Slot) {
        slot.retire();
        self.wipe.free.push(slot);
    }

    /// Compares the next pair that waits for that.
    pub(in crate::frame_loop) fn compare_next(&mut self) {
        if self.lent.engine().is_none() {
            return;
        }
        let Some(mut pair) = self.wipe.pairs.pop_front() else { return };
        let mut map = match self.slot_for(pair.first.frame(), Side::Other) {
            Ok(map) => map,
            Err(error) => {
                self.do_without_map(error);
                self.show_pair(pair, None);
                return;
            }
        };
        let readable = [&mut pair.first, &mut pair.other].map(|half| half.slot.be_readable(&self.gl));
        if let Some(error) = readable.into_iter().find_map(Result::err) {
            self.compared(pair, map, Err(error));
            return;
        }
        if let Some(engine) = self.lent.engine() {
            engine.make_map_ready(&mut map);
        }
        self.wipe.compared = Some(pair.first.frame().clone());
        self.lend("two pictures are compared", Until::Done, move |engine| {
            let began = Instant::now();
            let compared = engine.compare(&pair.first.slot, &pair.other.slot, &mut map);
            pair.first.flight.stages.spans.push(Span::since(Stage::Difference, began));
            Done::Compared(Box::new((pair, map)), compared)
        });
    }

    /// Takes what came of it: the map in its slot, how the sides differ, and what that took, in milliseconds.
    pub(in crate::frame_loop) fn compared(
        &mut self,
        pair: Pair,
        map: Slot,
        compared: Result<(Difference, f64)>,
    ) {
        self.wipe.compared.take_if(|frame| Arc::ptr_eq(frame, pair.first.frame()));
        match compared {
            Ok((difference, ms)) => self.show_pair(pair, Some((map, difference, ms))),
            Err(error) => {
                self.discard(map);
                self.do_without_map(error);
                self.show_pair(pair, None);
            }
        }
    }

    /// Both pictures are done, and the map.
    fn show_pair(&mut self, pair: Pair, compared: Option<(Slot, Difference, f64)>) {
        let Pair { mut first, other: Half { flight: of_other, slot, .. } } = pair;
        let stages = &mut first.flight.stages;
        let (filter_ms, by_wall) = (of_other.stages.filter_ms(), of_other.stages.filter_by_wall);
        stages.take_other(of_other.stages);
        let map = compared.map(|(map, difference, ms)| {
            stages.times[Stage::Difference as usize] += ms;
            (map, difference)
        });
        let former = self.wipe.former.filter(|_| of_other.request.variant == VariantId::Version);
        let Flight { request, version, .. } = of_other;
        let beside = Beside { request, filter_ms, by_wall, slot, map, version, former };
        self.show(first, Some(Box::new(beside)));
    }
}

impl Stages {
    /// Adds all that another picture of the same frame took, as one stage.
    fn take_other(&mut self, other: Stages) {
        self.times[Stage::Wipe as usize] += other.times.iter().sum::<f64>();
        self.spans.extend(other.spans.into_iter().map(|span| Span { stage: Stage::Wipe, ..span }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Lane;

    #[test]
    fn what_the_other_side_takes_is_a_stage_of_its_own_and_in_no_other() {
        let took = |stages: &[(Stage, f64)]| {
            let mut all = Stages::default();
            for (stage, ms) in stages {
                let now = Instant::now();
                all.times[*stage as usize] = *ms;
                all.spans.push(Span { stage: *stage, lane: Lane::Device, from: now, to: now });
            }
            all
        };
        let mut first = took(&[(Stage::Upload, 2.0), (Stage::Filter, 3.0), (Stage::Release, 1.0)]);
        let before = first.times;
        first.take_other(took(&[(Stage::Convert, 7.0), (Stage::Filter, 5.0)]));
        for stage in Stage::ALL {
            let others = if stage == Stage::Wipe { 12.0 } else { 0.0 };
            assert_eq!(first.times[stage as usize], before[stage as usize] + others, "{}", stage.name());
        }
        let spans: Vec<Stage> = first.spans.iter().map(|span| span.stage).collect();
        assert_eq!(spans, [Stage::Upload, Stage::Filter, Stage::Release, Stage::Wipe, Stage::Wipe]);
    }
}
