//! The engine's device: it comes, is asked what it can do, fails, is left. In: a [`Pipeline`]. Out: what it leaves
//! behind.

use super::beside::Share;
use super::job::Job;
use super::slot::Rest;
use super::{Engine, Pipeline, Ticket};
use base::error::Error;
use box_filter::VariantId;
use ladder::BackEnd;
use opengl::timer;
use video::Frame;
use video::color::Staging;

/// A device that is left, with all that is on it: to be ended where its calls are made.
pub(crate) struct Parting {
    /// The frames that it has.
    jobs: Vec<Job>,
    /// What it has of others, and of slots that wait.
    rests: Vec<Rest>,
    pipeline: Pipeline,
}

// SAFETY: as the engine, of which it is a part.
unsafe impl Send for Parting {}

impl Parting {
    /// The frames that are lost with it.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        self.jobs.iter().map(|job| job.ticket)
    }

    /// It may still use this, too.
    pub(crate) fn add(&mut self, rest: Rest) {
        self.rests.push(rest);
    }

    /// Memory that the decoder's thread packs planes in for it.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.pipeline.staging()
    }

    /// Waits until the device is idle, and lets everything go. Where it cannot even finish, all of it is forgotten, since the
    /// device may still use it; returns whether it was idle.
    pub(crate) fn end(self) -> bool {
        let idle = self.pipeline.drain();
        if !idle {
            // Releasing its objects would hang.
            std::mem::forget(self);
        }
        idle
    }
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
    pub(crate) fn glsl_clock(&self) -> Option<timer::Clock> {
        self.glsl.as_ref().ok().map(|filter| filter.clock())
    }

    /// Converts frames on the device only by programs that were checked for such ones.
    pub(crate) fn convert_only_checked(&mut self, only_checked: bool) {
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

    /// Whether frames that are filtered so can be measured: on the processor always, on an OpenCL device where what does that
    /// is there.
    pub fn can_measure(&self, variant: VariantId) -> bool {
        let is_there = |pipeline: &Pipeline| matches!(pipeline.scopes(), Some(Ok(())));
        match variant.back_end() {
            BackEnd::Native | BackEnd::Glsl => true,
            BackEnd::Nothing => self.pipeline.as_ref().is_none_or(is_there),
            BackEnd::OpenCl => self.pipeline.as_ref().is_some_and(is_there),
        }
    }

    /// Whether such frames will be converted on the device, as soon as the program for it is built and, where that is
    /// wanted, checked. `to_texture` says where they are wanted, `twice` that they are asked for twice.
    pub(crate) fn lacks_conversion(
        &mut self,
        frame: &Frame,
        variant: VariantId,
        to_texture: bool,
        twice: bool,
    ) -> bool {
        let (picture, only_checked) = (&frame.picture, self.only_checked);
        let share = if twice { Share::First } else { Share::Alone };
        let Some(pipeline) = self.pipeline.as_mut().filter(|_| !variant.back_end().does_without_opencl())
        else {
            return false;
        };
        let (variant, to_texture) = share.conversion(variant, to_texture);
        pipeline.conversion(picture, variant, to_texture, only_checked).is_none()
            && pipeline.will_convert(picture, variant, to_texture)
    }

    /// Takes a device, in place of the one that it has.
    pub fn set_device(&mut self, pipeline: Pipeline) {
        self.part_with_device().map(Parting::end);
        self.pace.forget_device(pipeline.cl().device.info.kind);
        self.pipeline = Some(pipeline);
    }

    /// Gives the device up, with the frames that are on it. What other back ends filter goes on: its memory on the device is
    /// all that it loses. `None` where there is no device.
    pub(crate) fn part_with_device(&mut self) -> Option<Parting> {
        let pipeline = self.pipeline.take()?;
        self.failure = None;
        self.kept = None;
        let (jobs, kept): (Vec<Job>, Vec<Job>) = self.jobs.drain(..).partition(|job| job.on_device.is_some());
        self.jobs = kept.into();
        let rests = self.jobs.iter_mut().map(|job| job.slot.take_rest_but_input()).collect();
        Some(Parting { jobs, rests, pipeline })
    }

    /// Whether the device works on a frame: that cannot be stopped, and may take minutes.
    pub(crate) fn is_device_at_work(&self) -> bool {
        self.jobs.iter().any(|job| job.on_device.is_some() && job.started.is_some())
    }
}
