//! The end of a frame's work: it is finished, given up, or has failed; and the end of a device.

use std::rc::Rc;
use std::time::Instant;

use super::work::Work;
use super::{Flight, FrameLoop};
use crate::color::Staging;
use crate::error::{Error, Result};
use crate::gpu::event::JobState;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::glsl::{self, GlslFilter};
use crate::pipeline::Slot;
use crate::stats::{Span, Stage};
use crate::timing::ms_since;

pub(super) fn advance_gl(filter: &mut Result<GlslFilter>, task: &mut glsl::Task) -> Result<JobState> {
    match filter {
        Ok(filter) => filter.advance(task),
        Err(error) => Err(error.clone()),
    }
}

impl FrameLoop {
    pub(super) fn collect(&mut self) {
        self.collect_gl_times();
        while let Some(mut flight) = self.flights.pop_front() {
            let began = Instant::now();
            let state = match (&mut flight.work, &mut self.pipeline) {
                (Some(Work::Device(job)), Some(pipeline)) => pipeline.advance(job, &mut flight.slot),
                (Some(Work::Native(task)), _) => task.advance(),
                (Some(Work::Gl(task)), _) => advance_gl(&mut self.glsl, task),
                _ => Ok(JobState::Done),
            };
            // Asked too often for a span each time: only that in which it was done has one.
            flight.stages.times[Stage::Collect as usize] += ms_since(began);
            if !matches!(state, Ok(JobState::Running)) {
                flight.stages.spans.push(Span::since(Stage::Collect, began));
            }
            match state {
                Ok(JobState::Running) => {
                    self.flights.push_front(flight);
                    return;
                }
                Ok(JobState::Done) => self.finish(flight),
                Ok(JobState::Cancelled) => self.give_up(flight),
                Err(error) => self.fail(flight, error),
            }
        }
    }

    /// Moves a filtered picture into its texture, unless it is there already.
    pub(super) fn finish(&mut self, mut flight: Flight) {
        let began = Instant::now();
        match &mut flight.work {
            None => flight.slot.show(false),
            Some(Work::Device(job)) if job.fills_texture() => {}
            Some(Work::Gl(_)) => {}
            Some(Work::Device(_)) => {
                flight.fetched = self.gl_timer.time_and_begin(|| flight.slot.show(true)).1
            }
            Some(Work::Native(task)) => {
                if let Some(filtered) = task.filtered() {
                    flight.slot.show_pixels(filtered);
                }
                if let Some(native) = &mut self.native {
                    native.finished(task);
                }
            }
        }
        flight.stages.did(Stage::Release, began);
        flight.stages.spans.extend(flight.work.iter().flat_map(Work::spans));
        flight.stages.filter_by_wall = flight.work.as_ref().is_some_and(Work::is_timed_by_wall);
        if let Some(times) = flight.work.as_ref().map(Work::times) {
            for (stage, ms) in [
                (Stage::Upload, times.upload),
                (Stage::Acquire, times.acquire),
                (Stage::Convert, times.convert),
                (Stage::Correct, times.correct),
                (Stage::Filter, times.filter),
                (Stage::Release, times.release),
            ] {
                flight.stages.times[stage as usize] += ms;
            }
        }
        if flight.generation != self.generation {
            self.give_up(flight);
        } else if !flight.again {
            self.ready.push_back(flight);
        } else if self.shown.as_ref().is_some_and(|shown| Rc::ptr_eq(&shown.frame, &flight.frame)) {
            self.ready.push_front(flight);
        } else {
            // The movie went on meanwhile.
            self.give_up(flight);
        }
    }

    /// Frees the slot of a frame that will not be shown as it is. During a pause the frame is kept for later,
    /// else it counts as dropped.
    pub(super) fn give_up(&mut self, mut flight: Flight) {
        if flight.again || flight.generation != self.generation {
            // It is on the screen already, or of a movie that is not played any more.
        } else if self.clock.is_paused() {
            let at = self.returned.partition_point(|(frame, _)| frame.pts_ns < flight.frame.pts_ns);
            self.returned.insert(at, (flight.frame, flight.dropped_before));
        } else {
            self.dropped += flight.dropped_before + 1;
        }
        if matches!(flight.work.take(), Some(Work::Device(job)) if !job.was_started()) {
            // Its memory objects were made for a picture that the host writes anew.
            flight.slot.drop_device_side();
        }
        self.free(flight.slot);
    }

    /// Keeps a slot for a next frame; OpenGL has had its last command for what is in it.
    pub(super) fn free(&mut self, mut slot: Slot) {
        slot.retire();
        self.free.push(slot);
    }

    /// Tells an error and does without what failed: the variant, or without one the colour correction.
    pub(super) fn do_without(&mut self, variant: VariantId, error: Error) {
        if variant == VariantId::Off {
            self.correction = None;
            self.errors.push((None, error));
            return;
        }
        self.errors.push((Some(variant), error));
        if variant == self.variant {
            self.variant = VariantId::Off;
        }
    }

    /// A command failed: the loop goes on without a device, and shows the movie unfiltered until it gets another one.
    /// Another back end than OpenCL that failed is done without.
    pub(super) fn fail(&mut self, flight: Flight, error: Error) {
        if flight.work.as_ref().is_some_and(Work::does_without_opencl) {
            self.do_without(flight.variant, error);
            self.give_up(flight);
            return;
        }
        self.failure.get_or_insert(error);
        self.take_down(vec![flight]);
    }

    /// The device has failed, or has no memory left, before a frame was started.
    /// Returns whether its objects can be released.
    pub(super) fn device_failed(&mut self, error: Error) -> bool {
        self.failure.get_or_insert(error);
        self.take_down(Vec::new())
    }

    /// Waits for the device, so that the frames' memory on it can go, and gives it up.
    /// Returns whether its objects can be released.
    pub(super) fn take_down(&mut self, mut on_their_way: Vec<Flight>) -> bool {
        let Some(pipeline) = self.pipeline.take() else { return true };
        self.decoder.set_staging(None);
        let idle = pipeline.drain();
        let without_opencl = |f: &Flight| f.work.as_ref().is_some_and(Work::does_without_opencl);
        on_their_way.extend(self.flights.drain(..));
        on_their_way.extend(self.held.take_if(|f| !without_opencl(f)));
        // What other back ends filter goes on: its memory on the device is all that it loses.
        (self.flights, on_their_way) = {
            let (without_opencl, others): (Vec<_>, Vec<_>) =
                on_their_way.into_iter().partition(without_opencl);
            (without_opencl.into(), others)
        };
        let kept = self.flights.iter_mut().chain(&mut self.held);
        let kept = kept.chain(&mut self.ready).chain(&mut self.shown);
        for flight in kept {
            if idle {
                flight.work.take_if(|work| !work.does_without_opencl());
                flight.slot.drop_device_side();
            } else {
                std::mem::forget(flight.work.take_if(|work| !work.does_without_opencl()));
                flight.slot.forget_device_side();
            }
        }
        for mut flight in on_their_way {
            if idle {
                // The job's memory objects go before the memory that they lie in.
                flight.work = None;
                flight.slot.drop_device_side();
                self.give_up(flight);
            } else {
                // The device may still write into the slot's memory: it is never freed.
                self.dropped += flight.dropped_before + u32::from(!flight.again);
                std::mem::forget(flight);
            }
        }
        if idle {
            self.free.clear();
            self.give_up_packed(pipeline.staging().cloned());
        } else {
            self.left_behind = true;
            // A context that cannot even finish is lost; releasing its objects would panic or hang.
            std::mem::forget(pipeline);
            self.free.drain(..).for_each(std::mem::forget);
        }
        idle
    }

    /// Has the frames give their packed planes back, before the device goes that they are of. What other threads still
    /// have comes back later.
    fn give_up_packed(&mut self, staging: Option<Staging>) {
        let on_their_way = self.flights.iter().chain(&self.held).chain(&self.ready).chain(&self.shown);
        let frames = on_their_way.map(|flight| &flight.frame);
        for frame in frames.chain(self.returned.iter().map(|(frame, _)| frame)) {
            frame.packed.take();
        }
        if let Some(staging) = staging {
            staging.close();
            self.given_up.push(staging);
        }
    }

    /// Ends the loop. Work that is still on the device is left behind with its memory, because a kernel
    /// cannot be stopped and may take minutes; returns whether the device is idle, and no other one was
    /// left behind before.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.flights.iter_mut().filter_map(|f| f.work.as_mut()).for_each(Work::cancel);
        self.collect();
        let idle = self.flights.iter().all(|f| f.work.as_ref().is_none_or(Work::does_without_opencl));
        if !idle {
            self.flights.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.pipeline.take());
        }
        idle && !self.left_behind
    }
}
