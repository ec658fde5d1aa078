//! The engine's device: it comes, is asked what it can do, fails, is left. In: a [`Pipeline`]. Out: what it leaves
//! behind.

use super::job::{Job, lose};
use super::{Engine, Finished, Pipeline, Ticket};
use crate::color::Staging;
use crate::error::Error;
use crate::gpu::gl_timer;
use crate::ladders::box_filter::VariantId;
use crate::media::Frame;

/// What a device that was left leaves behind.
pub(crate) struct Left {
    /// It finished what it had; else its objects and memory are forgotten, since it may still use them.
    pub idle: bool,
    /// Memory that the decoder's thread packs planes in for it.
    pub staging: Option<Staging>,
    /// The frames that it had.
    pub lost: Vec<Finished>,
}

impl Engine {
    /// The device's side, if there is one.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// The same, to be given what was built for it.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// Why there is no filter by shaders, if there is none.
    pub(crate) fn glsl_error(&self) -> Option<&Error> {
        self.glsl.as_ref().err()
    }

    /// What times the variant `glsl`, if it can be had.
    pub(crate) fn glsl_clock(&self) -> Option<gl_timer::Clock> {
        self.glsl.as_ref().ok().map(|filter| filter.clock())
    }

    /// Converts frames on the device only by programs that were checked for such ones.
    pub fn convert_only_checked(&mut self, only_checked: bool) {
        self.only_checked = only_checked;
    }

    /// Where the planes of frames to come are to be packed, as it went with the last one.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.pipeline.as_ref().filter(|_| self.took_planes)?.staging()
    }

    /// Whether a variant can be asked for: it is there, and nobody is just trying it.
    pub fn can_filter(&self, variant: VariantId, radius: u32) -> bool {
        let on_device = |p: &Pipeline| p.has(variant) && !p.awaits_trial(variant, radius);
        variant.back_end().does_without_opencl() || self.pipeline.as_ref().is_some_and(on_device)
    }

    /// Whether such frames will be converted on the device, as soon as the program for it is built and, where that is
    /// wanted, checked. `to_texture` says where they are wanted.
    pub(crate) fn lacks_conversion(&mut self, frame: &Frame, variant: VariantId, to_texture: bool) -> bool {
        let (picture, only_checked) = (&frame.picture, self.only_checked);
        let Some(pipeline) = self.pipeline.as_mut().filter(|_| !variant.back_end().does_without_opencl())
        else {
            return false;
        };
        pipeline.conversion(picture, variant, to_texture, only_checked).is_none()
            && pipeline.will_convert(picture, variant, to_texture)
    }

    /// Takes a device, in place of the one that it has.
    pub fn set_device(&mut self, pipeline: Pipeline) {
        self.leave_device();
        self.pace.forget_device(pipeline.cl().device.info.kind);
        self.pipeline = Some(pipeline);
    }

    /// Waits until the device is idle, and gives it up, with the frames that are on it. What other back ends filter
    /// goes on: its memory on the device is all that it loses. `None` where there is no device.
    pub(crate) fn leave_device(&mut self) -> Option<Left> {
        let pipeline = self.pipeline.take()?;
        self.failure = None;
        let idle = pipeline.drain();
        // A frame without a filter shows the memory that a device may still be writing to.
        let is_lost = |job: &Job| job.on_device.is_some() || !idle && job.filter.is_none();
        let (lost, kept): (Vec<Job>, Vec<Job>) = self.jobs.drain(..).partition(is_lost);
        self.jobs = kept.into();
        for job in &mut self.jobs {
            job.slot.leave_device(idle);
        }
        let lost = lost.into_iter().map(|job| lose(job, idle)).collect();
        let staging = pipeline.staging().cloned();
        if !idle {
            // A context that cannot even finish is lost; releasing its objects would panic or hang.
            std::mem::forget(pipeline);
        }
        Some(Left { idle, staging, lost })
    }

    /// Ends it. Work that is still on the device is left behind with its memory, because a kernel cannot be stopped
    /// and may take minutes; returns whether the device is idle.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        let tickets: Vec<Ticket> = self.jobs.iter().map(|job| job.ticket).collect();
        tickets.into_iter().for_each(|ticket| self.cancel(ticket));
        while self.poll().is_some() {}
        let idle = !self.jobs.iter().any(|job| job.on_device.is_some() && job.started.is_some());
        if !idle {
            self.jobs.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.pipeline.take());
        }
        idle
    }
}
