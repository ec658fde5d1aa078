//! The first half of a frame's way: take, load into a slot, and hand over to the device. In: the decoder's queue. Out:
//! a [`Flight`] on the device, or one that waits until the overlay has announced it.

use std::rc::Rc;
use std::time::Instant;

use super::native::{NativeFilter, Task};
use super::{Flight, FrameLoop, Stages, Wanted, Work, collect::advance_gl};

use crate::color::{correct_reference, matrix};
use crate::error::Result;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::glsl;
use crate::media::Frame;
use crate::pipeline::Slot;
use crate::pipeline::{Job, Refusal};
use crate::stats::Stage;

/// Frames that may be on their way at once, beside the one on the screen.
pub(super) const AHEAD: usize = 2;
/// A frame that takes longer than this on the device is not followed by a second one before it is done.
const SLOW_MS: f64 = 100.0;
/// A frame predicted to take longer than this is announced in the overlay before it is started.
const ANNOUNCE_MS: f64 = 3000.0;

impl FrameLoop {
    /// Submits one frame if a slot is free and a frame is due; returns whether it did.
    pub(super) fn submit(&mut self) -> bool {
        if let Some(held) = self.held.take() {
            if !self.held_was_announced {
                self.held = Some(held);
                return false;
            }
            self.start(held);
            return true;
        }
        let began = Instant::now();
        let taken = match self.frame_to_filter_again() {
            Some(_) if self.is_device_busy() => None,
            Some(frame) => Some((frame, true)),
            None => self.take().map(|frame| (frame, false)),
        };
        let Some((frame, again)) = taken else { return false };
        if self.waits_for_conversion() && self.conversion_is_missing(&frame)
            || self.waits_for_conversions && self.is_untried(&frame)
        {
            if !again {
                self.returned.push_front((frame, 0));
            }
            return false;
        }
        let mut stages = Stages::default();
        stages.did(Stage::Take, began);

        let flight = self.slot_for(&frame).and_then(|slot| self.load(slot, frame, again, stages));
        match flight {
            Ok(flight) => {
                let long = flight.work.as_ref().is_some_and(|work| work.predicted_ms() > ANNOUNCE_MS);
                if long {
                    self.held_was_announced = false;
                    self.held = Some(flight);
                    return false;
                }
                self.start(flight);
            }
            Err(error) => {
                if again {
                    self.not_again = Some(self.wanted());
                } else {
                    self.dropped += 1;
                }
                self.errors.push((None, error));
            }
        }
        true
    }

    /// What frames can be filtered with now: the chosen variant, if it is built.
    fn wanted(&self) -> Wanted {
        match &self.pipeline {
            _ if self.variant.back_end().does_without_opencl() => {
                (self.variant, self.radius, self.correction)
            }
            Some(pipeline)
                if pipeline.has(self.variant) && !pipeline.awaits_trial(self.variant, self.radius) =>
            {
                (self.variant, self.radius, self.correction)
            }
            _ => (VariantId::Off, self.radius, self.correction),
        }
    }

    /// The picture on the screen, when no next one comes and it was filtered otherwise than is wanted now.
    pub(super) fn frame_to_filter_again(&self) -> Option<Rc<Frame>> {
        if !self.clock.is_paused() && !self.decoder.queue().is_finished() {
            return None;
        }
        // Not while another movie's first picture is on its way.
        let shown = self.shown.as_ref().filter(|shown| shown.generation == self.generation)?;
        let wanted = self.wanted();
        let same = wanted.0 == shown.variant
            && (wanted.1 == shown.radius || wanted.0 == VariantId::Off)
            && wanted.2 == shown.correction;
        let on_its_way = self.flights.iter().chain(&self.ready).any(|f| f.again && !f.doubtful);
        ((!same || shown.doubtful) && !on_its_way && self.not_again != Some(wanted))
            .then(|| shown.frame.clone())
    }

    /// Whether the device has a frame that takes so long that a second one would only wait behind it, or one whose
    /// bands are not all in the queue: the next one's would get between them, and all frames share the memory between
    /// the steps.
    fn is_device_busy(&self) -> bool {
        let busy = |work: &Work| match work {
            Work::Device(job) if !job.is_all_enqueued() => true,
            work => work.predicted_ms() > SLOW_MS,
        };
        self.flights.iter().any(|f| f.work.as_ref().is_some_and(busy))
    }

    /// Whether a next frame may be taken. Before the first picture there is no time yet: only one frame goes
    /// ahead, also during a pause.
    pub(super) fn has_room(&self) -> bool {
        let ahead = self.flights.len() + self.ready.len();
        let limit = if self.clock_runs { AHEAD } else { 1 };
        let stands = self.waits_for_filter || self.clock.is_paused() && self.clock_runs;
        ahead < limit && !stands && self.held.is_none() && !self.is_device_busy()
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

    /// Whether no frame goes on before the device's program for its conversion is built. What filters planes cannot do
    /// without it.
    fn waits_for_conversion(&self) -> bool {
        self.waits_for_conversions || self.wanted().0 == VariantId::Planar
    }

    /// Whether the device will convert such frames as soon as its program is built.
    fn conversion_is_missing(&mut self, frame: &Frame) -> bool {
        let variant = self.wanted().0;
        if variant.back_end().does_without_opencl() {
            return false;
        }
        let only_checked = self.waits_for_conversions;
        self.pipeline.as_mut().is_some_and(|p| {
            p.conversion(&frame.picture, variant, only_checked).is_none()
                && p.will_convert(&frame.picture, variant)
        })
    }

    /// Whether the chosen variant's kernels are just being tried for such frames.
    fn is_untried(&mut self, frame: &Frame) -> bool {
        let (variant, radius) = (self.variant, self.radius);
        self.pipeline.as_mut().is_some_and(|p| p.is_untried(&frame.picture, variant, radius))
    }

    fn slot_for(&mut self, frame: &Frame) -> Result<Slot> {
        let (width, height) = (frame.width(), frame.height());
        self.free.retain(|slot| slot.size() == (width, height));
        match self.free.pop() {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.gl, width, height),
        }
    }

    /// Loads the frame into the slot, its planes for the device's converter or as RGBA, and prepares the filter.
    fn load(&mut self, mut slot: Slot, frame: Rc<Frame>, again: bool, mut stages: Stages) -> Result<Flight> {
        let (variant, radius, correction) = self.wanted();
        let mut work = None;
        let mut rgba = true;
        // Other back ends than OpenCL take RGBA from the host, whatever the device could convert.
        if !variant.back_end().does_without_opencl()
            && let Some(pipeline) = &mut self.pipeline
            && let Some(layout) = pipeline.conversion(&frame.picture, variant, self.waits_for_conversions)
        {
            let began = Instant::now();
            stages.pack_ms = pipeline.load_planes(&mut slot, &frame, &layout)?;
            stages.did(Stage::Upload, began);
            self.decoder.set_staging(pipeline.staging().cloned());
            let prepared = pipeline.prepare(&mut slot, variant, radius, correction, layout.matrix);
            work = self.prepared(&mut slot, variant, prepared).map(Work::Device);
            rgba = work.is_none();
        }
        if rgba {
            self.decoder.set_staging(None);
            let began = Instant::now();
            self.converter.convert(&frame.picture, slot.input()?)?;
            stages.did(Stage::Convert, began);
            work = self.filter_of_rgba(&mut slot, &frame, &mut stages)?;
        }
        let variant = if work.is_some() { self.wanted().0 } else { VariantId::Off };
        let dropped_before = if again { 0 } else { std::mem::take(&mut self.dropped) };
        let generation = self.generation;
        Ok(Flight {
            work,
            slot,
            frame,
            variant,
            radius,
            correction,
            stages,
            dropped_before,
            generation,
            fetched: None,
            again,
            doubtful: false,
            device: self.devices,
        })
    }

    /// What is to be done to the RGBA picture in the slot, if anything is.
    fn filter_of_rgba(
        &mut self,
        slot: &mut Slot,
        frame: &Frame,
        stages: &mut Stages,
    ) -> Result<Option<Work>> {
        let (variant, radius, correction) = self.wanted();
        let matrix = matrix::of_picture(&frame.picture).0;
        let without_opencl = variant.back_end().does_without_opencl();
        let on_device =
            !without_opencl && self.pipeline.as_ref().is_some_and(|p| p.corrects() || correction.is_none());
        if let Some(correction) = correction.filter(|_| !on_device) {
            let began = Instant::now();
            correct_reference(slot.input()?, &correction, matrix);
            stages.did(Stage::Correct, began);
        }
        let correction = correction.filter(|_| on_device);
        if variant == VariantId::Native {
            return Ok(self.native_task(slot, radius).map(Work::Native));
        }
        if variant == VariantId::Glsl {
            let began = Instant::now();
            slot.show(false);
            stages.did(Stage::Upload, began);
            return Ok(self.gl_task(slot, radius).map(Work::Gl));
        }
        let Some(pipeline) = &mut self.pipeline else { return Ok(None) };
        if variant == VariantId::Off && correction.is_none() {
            return Ok(None);
        }
        let prepared = pipeline.prepare(slot, variant, radius, correction, matrix);
        Ok(self.prepared(slot, variant, prepared).map(Work::Device))
    }

    /// The picture in the slot's texture for the shaders, or the frame unfiltered where they cannot be had.
    fn gl_task(&mut self, slot: &Slot, radius: u32) -> Option<glsl::Task> {
        let prepared = match &mut self.glsl {
            Ok(filter) => filter.prepare(slot.texture(), slot.size(), radius),
            Err(error) => Err(error.clone()),
        };
        match prepared {
            Ok(task) => Some(task),
            Err(error) => {
                self.do_without(VariantId::Glsl, error);
                None
            }
        }
    }

    /// The picture in the slot for the filter in Rust, or the frame unfiltered where that cannot be had.
    fn native_task(&mut self, slot: &mut Slot, radius: u32) -> Option<Task> {
        let mut prepare = || {
            let native = match self.native.take() {
                Some(native) => native,
                None => NativeFilter::new(self.waker.clone())?,
            };
            self.native.insert(native).prepare(slot.lend_input()?, slot.size(), radius)
        };
        match prepare() {
            Ok(task) => Some(task),
            Err(error) => {
                self.do_without(VariantId::Native, error);
                None
            }
        }
    }

    /// The job, or the frame unfiltered where it could not be prepared.
    fn prepared(
        &mut self,
        slot: &mut Slot,
        variant: VariantId,
        prepared: std::result::Result<Job, Refusal>,
    ) -> Option<Job> {
        match prepared {
            Ok(job) => return Some(job),
            Err(Refusal::Unsupported(error)) => self.do_without(variant, error),
            // Shown unfiltered until then.
            Err(Refusal::Untried) => {}
            Err(Refusal::Failed(error)) => {
                if !self.device_failed(error) {
                    slot.forget_device_side();
                    return None;
                }
            }
        }
        slot.drop_device_side();
        None
    }

    fn start(&mut self, mut flight: Flight) {
        let started = match (&mut flight.work, &mut self.pipeline, &self.native) {
            (Some(Work::Device(job)), Some(pipeline), _) => pipeline.start(job, &mut flight.slot),
            (Some(Work::Native(task)), _, Some(native)) => native.start(task),
            // The row sums of all frames share one texture: each begins when those before it are done.
            (Some(Work::Gl(task)), ..) if self.flights.is_empty() => {
                advance_gl(&mut self.glsl, task).map(drop)
            }
            (Some(Work::Gl(_)), ..) => Ok(()),
            _ if self.flights.is_empty() => {
                self.finish(flight);
                return;
            }
            // Frames are shown in their order: an unfiltered one waits for those before it.
            _ => Ok(()),
        };
        match started {
            Ok(()) => self.flights.push_back(flight),
            Err(error) => self.fail(flight, error),
        }
    }
}
