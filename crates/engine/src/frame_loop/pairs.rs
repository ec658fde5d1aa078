//! Frames of a wipe whose both sides are filtered: they are compared if requested, and are ready to be shown after that.

use std::sync::Arc;

use super::Origin;
use super::filter_queue::{FilterEvent, FilterQueue};
use super::flights::Picture;
use super::presenter::ReadyFrame;
use super::slots::WipeSide;
use crate::stats::{self, Span, Stage};
use crate::{Difference, Request, Slot, Stages};
use base::error::Result;
use video::Frame;

/// A frame of a wipe with both sides filtered.
pub(super) struct Pair {
    pub(super) origin: Origin,
    pub(super) first: Picture,
    pub(super) second: Picture,
}

impl Pair {
    pub(super) fn frame(&self) -> &Arc<Frame> {
        &self.origin.frame
    }

    pub(super) fn into_slots(self) -> [Slot; 2] {
        [self.first.slot, self.second.slot]
    }

    /// Returns the frame, ready to be shown. `compared` has the map of the differences, the differences, and the device's time
    /// in milliseconds; `None` if the sides were not compared.
    fn into_ready(self, compared: Option<(Slot, Difference, f64)>) -> ReadyFrame {
        let Self { origin, mut first, second } = self;
        let Picture { request, version, stages, slot, .. } = second;
        let (filter_ms, by_wall) = (stages.filter_ms(), stages.filter_by_wall);
        first.stages.add_second_side(stages);
        let map = compared.map(|(map, difference, ms)| {
            first.stages.times[Stage::Difference as usize] += ms;
            (map, difference)
        });
        let second = SecondSide { request, filter_ms, by_wall, slot, map, version };
        ReadyFrame::new(origin, first, Some(Box::new(second)))
    }
}

/// The second side of a frame of a wipe that is ready or on the screen.
pub(super) struct SecondSide {
    pub(super) request: Request,
    /// The filter's time in milliseconds; NaN if unknown.
    filter_ms: f64,
    /// True if the filter's time is wall time, because no device time is available.
    pub(super) by_wall: bool,
    slot: Slot,
    /// The map of the differences in a slot of its own, and the differences; `None` if the sides were not compared.
    map: Option<(Slot, Difference)>,
    /// The version number of the kernels that filtered the second side.
    pub(super) version: u64,
}

impl SecondSide {
    /// Returns the differences of the two sides; `None` if the sides were not compared.
    pub(super) fn difference(&self) -> Option<Difference> {
        self.map.as_ref().map(|(_, difference)| *difference)
    }

    /// Returns the texture to be drawn: that of the map of differences if the sides were compared, else that of the second side's picture.
    pub(super) fn texture(&self) -> Option<glow::Texture> {
        self.map.as_ref().map_or(&self.slot, |(map, _)| map).texture()
    }

    /// Uploads the picture to draw into its texture: the map of differences or, without one, the second side's picture.
    pub(super) fn show(&mut self) {
        self.map.as_mut().map_or(&mut self.slot, |(map, _)| map).show();
    }

    /// Returns the filter's time in milliseconds; `None` if unknown.
    pub(super) fn filter_ms(&self) -> Option<f64> {
        Some(self.filter_ms).filter(|ms| ms.is_finite())
    }

    /// Returns the setting of the second side's filter, for the statistics.
    pub(super) fn setting(&self) -> stats::SecondSetting {
        let Request { variant, radius, .. } = self.request;
        stats::SecondSetting { variant, radius, compared: self.map.is_some() }
    }

    /// Returns the slots of the picture and of the map of differences.
    pub(super) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        std::iter::once(&mut self.slot).chain(self.map.iter_mut().map(|(slot, _)| slot))
    }

    /// Returns the slots of the picture and of the map of differences, each with the side whose pool it goes back to.
    pub(super) fn into_slots(self) -> impl Iterator<Item = (WipeSide, Slot)> {
        let slots = std::iter::once(self.slot).chain(self.map.map(|(slot, _)| slot));
        slots.map(|slot| (WipeSide::Second, slot))
    }
}

impl FilterQueue {
    /// Sends the next frame that waits to be compared to the device's worker. If `compares` is false or
    /// the comparison's kernels are missing, all waiting frames become ready without a comparison.
    pub(super) fn compare_next(&mut self, compares: bool) {
        if !compares || !self.workers.status().has_comparer {
            let ready = self.flights.pairs.drain(..).map(|pair| FilterEvent::Ready(pair.into_ready(None)));
            self.events.extend(ready);
            return;
        }
        if self.flights.comparing.is_some() {
            return;
        }
        let Some(mut pair) = self.flights.pairs.pop_front() else { return };
        let map = match self.slots.take(pair.frame(), WipeSide::Second, &mut self.workers) {
            Ok(map) => map,
            Err(error) => {
                self.events.extend([
                    FilterEvent::ComparisonFailed(error),
                    FilterEvent::Ready(pair.into_ready(None)),
                ]);
                return;
            }
        };
        let readable =
            [&mut pair.first, &mut pair.second].map(|picture| picture.slot.prepare_for_reading(&self.gl));
        if let Some(error) = readable.into_iter().find_map(Result::err) {
            self.handle_comparison(pair, map, Err(error));
            return;
        }
        self.flights.comparing = Some(pair.frame().clone());
        self.workers.compare(Box::new(pair), map);
    }

    /// Handles the result of a comparison: the frame becomes ready. `map` is the slot with the map of the differences;
    /// `compared` has the differences and the device's time in milliseconds.
    pub(super) fn handle_comparison(&mut self, pair: Pair, map: Slot, compared: Result<(Difference, f64)>) {
        self.flights.comparing.take_if(|frame| Arc::ptr_eq(frame, pair.frame()));
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
}

impl Stages {
    /// Adds the times of the second side's stages to those of the first side, summed up as the stage [`Stage::Wipe`].
    fn add_second_side(&mut self, second: Stages) {
        self.times[Stage::Wipe as usize] += second.times.iter().sum::<f64>();
        self.spans.extend(second.spans.into_iter().map(|span| Span { stage: Stage::Wipe, ..span }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Lane;
    use std::time::Instant;

    #[test]
    fn the_second_side_is_a_stage_of_its_own() {
        let filter_times = |stages: &[(Stage, f64)]| {
            let mut all = Stages::default();
            for (stage, ms) in stages {
                let now = Instant::now();
                all.times[*stage as usize] = *ms;
                all.spans.push(Span { stage: *stage, lane: Lane::Device, from: now, to: now });
            }
            all
        };
        let mut first = filter_times(&[(Stage::Upload, 2.0), (Stage::Filter, 3.0), (Stage::Release, 1.0)]);
        let before = first.times;
        first.add_second_side(filter_times(&[(Stage::Convert, 7.0), (Stage::Filter, 5.0)]));
        for stage in Stage::ALL {
            let others = if stage == Stage::Wipe { 12.0 } else { 0.0 };
            assert_eq!(first.times[stage as usize], before[stage as usize] + others, "{}", stage.name());
        }
        let spans: Vec<Stage> = first.spans.iter().map(|span| span.stage).collect();
        assert_eq!(spans, [Stage::Upload, Stage::Filter, Stage::Release, Stage::Wipe, Stage::Wipe]);
    }
}
