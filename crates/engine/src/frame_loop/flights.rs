//! Frames between the decoder and the screen: a frame that was taken from the decoder ([`Origin`]), a frame that is being filtered once
//! or, in a wipe, twice ([`Flight`]), a filtered picture ([`Picture`]), and a frame that can be shown ([`ReadyFrame`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::slot::ResultIn;
use crate::{Slot, Ticket};
use opengl::timer::{GlTimer, Timing};
use stats::{Difference, Readings, Request, SecondSetting, Setting, Stage, Stages};
use video::Frame;

/// A side of a wipe. Without a wipe, every frame is on the first side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WipeSide {
    First,
    Second,
}

/// A frame that was taken from the decoder to be filtered, and the player's state at the time when it was taken.
pub(super) struct Origin {
    /// The decoded frame.
    pub frame: Arc<Frame>,
    /// The number of frames that were dropped between the previous frame and this one.
    pub dropped_before: u32,
    /// The value of [`Intake::generation`](super::intake::Intake) when the frame was taken: it differs after a seek or in another movie.
    pub generation: u64,
    /// The value of [`FrameLoop::device_changes`](super::FrameLoop::device_changes) when the frame was taken.
    pub device: u32,
    /// True if the frame is on the screen already and is filtered again because it stays there. It is no new movie frame.
    pub replaces_shown: bool,
    /// True if programs that filter or convert the frame have been replaced since it was taken, so that its picture may be
    /// wrong.
    pub is_outdated: bool,
}

/// The progress of one filter of a frame.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Step {
    /// The filter has not been submitted to a worker.
    Due,
    /// The filter was submitted to a worker under this ticket.
    Submitted(Ticket),
    /// The filtered picture is in the slot, though perhaps not in the slot's texture yet. It comes with the luminance measured
    /// for the scopes if that was requested.
    Done(Slot, Option<Arc<Readings>>),
}

/// One filter of a frame and its progress. A frame in a wipe has two filters.
pub(super) struct Pass {
    pub request: Request,
    /// The version number of the kernels of the request's variant.
    pub version: u64,
    pub stages: Stages,
    /// The chosen filter, if the frame waits until everything that this filter needs is built; `None` if the frame does not
    /// wait, and has another filter or none until then.
    pub waits_for: Option<Request>,
    pub step: Step,
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
        let Self { request, version, stages, step, .. } = self;
        let Step::Done(slot, readings) = step else { return None };
        Some(Picture { request, version, stages, slot, readings })
    }
}

/// A frame that is being filtered, once or, in a wipe, twice.
pub(super) struct Flight {
    pub origin: Origin,
    /// The filter of the first side. Its times are the frame's times in the statistics.
    pub first: Pass,
    /// The filter of the second side, in a wipe.
    pub second: Option<Pass>,
}

impl Flight {
    /// Returns the filter of the first side and, in a wipe, that of the second.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        std::iter::once(&self.first).chain(&self.second)
    }

    pub(super) fn passes_mut(&mut self) -> impl Iterator<Item = &mut Pass> {
        std::iter::once(&mut self.first).chain(&mut self.second)
    }

    /// Returns true if all filters of the frame are done.
    pub(super) fn is_done(&self) -> bool {
        self.passes().all(Pass::is_done)
    }
}

/// All frames that are being filtered or compared.
#[derive(Default)]
pub(super) struct Flights {
    /// The frames that are being filtered or wait to be compared, in the order in which they were taken.
    pub list: VecDeque<Flight>,
    /// The frame whose sides are being compared by the device's worker.
    pub comparing: Option<Arc<Frame>>,
}

impl Flights {
    /// Returns the number of frames that are being filtered or compared.
    pub(super) fn count(&self) -> usize {
        self.list.len() + usize::from(self.comparing.is_some())
    }

    /// Returns the filters of all frames that are being filtered.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.list.iter().flat_map(Flight::passes)
    }

    /// Returns the index of the flight to which this ticket belongs, the side of the wipe that it filters, and that filter; `None` if
    /// there is none.
    pub(super) fn find(&mut self, ticket: Ticket) -> Option<(usize, WipeSide, &mut Pass)> {
        self.list.iter_mut().enumerate().find_map(|(index, flight)| {
            let mut sides = flight.passes_mut().zip([WipeSide::First, WipeSide::Second]);
            let (pass, side) = sides.find(|(pass, _)| pass.ticket() == Some(ticket))?;
            Some((index, side, pass))
        })
    }
}

/// A filtered picture.
pub(super) struct Picture {
    pub request: Request,
    /// The version of the kernels that filtered it.
    pub version: u64,
    pub stages: Stages,
    pub slot: Slot,
    /// The luminance measured for the scopes; `None` if that was not requested.
    pub readings: Option<Arc<Readings>>,
}

/// The filtered picture of the second side of a wipe, and its comparison with the first side.
pub(super) struct SecondSide {
    pub picture: Picture,
    /// The map of the differences in a slot of its own, and the differences; `None` if the sides were not compared.
    map: Option<(Slot, Difference)>,
}

impl SecondSide {
    /// Returns the differences of the two sides; `None` if the sides were not compared.
    pub(super) fn difference(&self) -> Option<Difference> {
        self.map.as_ref().map(|(_, difference)| *difference)
    }

    /// Returns the texture to be drawn: that of the map of differences if the sides were compared, else that of the second side's picture.
    pub(super) fn texture(&self) -> Option<glow::Texture> {
        self.map.as_ref().map_or(&self.picture.slot, |(map, _)| map).texture()
    }

    /// Uploads the picture that is drawn into its texture: the map of differences if there is one, else the second side's
    /// picture.
    fn show(&mut self) {
        self.map.as_mut().map_or(&mut self.picture.slot, |(map, _)| map).show();
    }
}

/// A frame of a wipe whose two sides have been filtered, and may be compared.
pub(super) struct Pair {
    pub origin: Origin,
    pub sides: [Picture; 2],
}

impl Pair {
    /// Returns the frame, ready to be shown. `compared` has the map of the differences, the differences, and the device's time
    /// in milliseconds; `None` if the sides were not compared.
    pub(super) fn into_ready(self, compared: Option<(Slot, Difference, f64)>) -> ReadyFrame {
        let Self { origin, sides: [mut first, mut picture] } = self;
        first.stages.add_second_side(&mut picture.stages);
        let map = compared.map(|(map, difference, ms)| {
            first.stages.times[Stage::Difference as usize] += ms;
            (map, difference)
        });
        ReadyFrame::new(origin, first, Some(SecondSide { picture, map }))
    }
}

/// A filtered frame that is on the screen or will be shown.
pub(super) struct ReadyFrame {
    pub origin: Origin,
    pub picture: Picture,
    /// True if the pictures of the frame are in their textures.
    pub is_filled: bool,
    /// The timer query for OpenGL's copy of the picture into its texture; `None` if the copy is not timed.
    pub fetch_timing: Option<Timing>,
    pub second: Option<SecondSide>,
}

impl ReadyFrame {
    /// Creates a ready frame whose pictures are not in their textures yet.
    pub(super) fn new(origin: Origin, picture: Picture, second: Option<SecondSide>) -> Self {
        Self { origin, picture, is_filled: false, fetch_timing: None, second }
    }

    /// Uploads the pictures of both sides into their textures, and adds the times to the stages.
    pub(super) fn upload_pictures(&mut self, timer: Option<&GlTimer>) {
        self.is_filled = true;
        let Picture { slot, stages, .. } = &mut self.picture;
        if let Some(second) = &mut self.second {
            let began = Instant::now();
            second.show();
            stages.record(Stage::Wipe, began);
        }
        let began = Instant::now();
        if let Some(timer) = timer.filter(|_| slot.result == ResultIn::Output) {
            self.fetch_timing = timer.time_and_begin(|| slot.show()).1;
        } else {
            slot.show();
        }
        stages.record(Stage::Release, began);
    }

    /// Returns the slots of the frame's pictures.
    pub(super) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        let second = self.second.iter_mut();
        let second = second.flat_map(|SecondSide { picture, map }| {
            std::iter::once(&mut picture.slot).chain(map.iter_mut().map(|(slot, _)| slot))
        });
        std::iter::once(&mut self.picture.slot).chain(second)
    }

    /// Returns the frame's origin and the slots of its pictures, each with the side whose pool it goes back to.
    pub(super) fn into_parts(self) -> (Origin, impl Iterator<Item = (WipeSide, Slot)>) {
        let second = self.second.into_iter().flat_map(|SecondSide { picture, map }| {
            std::iter::once(picture.slot).chain(map.map(|(slot, _)| slot))
        });
        let second = second.map(|slot| (WipeSide::Second, slot));
        (self.origin, second.chain([(WipeSide::First, self.picture.slot)]))
    }

    /// Returns the conditions under which the frame was filtered, as the statistics record them.
    pub(super) fn setting(&self) -> Setting {
        let Request { variant, settings, stack, .. } = self.picture.request;
        let second = self.second.as_ref();
        let beside = second.map(|SecondSide { picture, map }| {
            let Request { variant, settings, .. } = picture.request;
            SecondSetting { variant, settings, compared: map.is_some() }
        });
        Setting {
            variant,
            settings,
            stack,
            size: self.picture.slot.size,
            device: self.origin.device,
            version: self.picture.version,
            beside,
            beside_version: second.map(|second| second.picture.version),
        }
    }
}
