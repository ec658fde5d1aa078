//! The first half of a frame's way: into a slot, as planes for the device's converter or as RGBA, and what its request
//! is prepared with. In: a frame and a [`Request`]. Out: what is to be started, or why there is nothing.

use std::time::Instant;

use super::beside::Share;
use super::device_job::DeviceJob;
use super::filter::{FrameFilter, Measures, NativeFilter, OnTexture};
use super::plans::Key;
use super::scopes::{OnHost, Readings};
use super::slot::Loaded;
use super::{Engine, Refusal, Request, Slot, Stages};
use crate::stats::Stage;
use box_filter::VariantId;
use ladder::BackEnd;
use opencl::memory::Picture;
use video::Frame;
use video::color::{RgbaColors, correct_reference};

/// What is to be started for a frame.
#[derive(Default)]
pub(super) struct Prepared {
    /// Commands on the OpenCL device.
    pub(super) on_device: Option<DeviceJob>,
    /// The filter, and the key under which the slot keeps it.
    pub(super) filter: Option<(Option<Key>, Box<dyn FrameFilter>)>,
    /// The picture is in the slot's texture before it is filtered.
    pub(super) in_texture: bool,
    /// The unfiltered picture on the device, where another filter may read it.
    pub(super) unfiltered: Option<Picture>,
    /// What was measured already.
    pub(super) readings: Option<Readings>,
}

impl Engine {
    /// Puts the frame into the slot: its planes where the device is to convert it, else its RGBA picture. Returns what its
    /// colours are.
    ///
    /// # Errors
    /// When memory runs out, or the frame has no picture.
    pub(super) fn load(
        &mut self,
        frame: &Frame,
        request: &Request,
        slot: &mut Slot,
        stages: &mut Stages,
        share: &Share,
    ) -> Result<RgbaColors, Refusal> {
        let (variant, only_checked) = (request.variant, self.only_checked);
        let (converted_for, to_texture) = share.conversion(variant, slot.texture().is_some());
        // Other back ends than OpenCL take RGBA from the host, whatever the device could convert.
        let pipeline = self.pipeline.as_mut().filter(|_| !variant.back_end().does_without_opencl());
        self.took_planes = false;
        if let Some(pipeline) = pipeline
            && let Some(layout) = pipeline.conversion(&frame.picture, converted_for, to_texture, only_checked)
        {
            let began = Instant::now();
            stages.pack_ms = pipeline.load_planes(slot, frame, &layout).map_err(Refusal::NotLoaded)?;
            stages.did(Stage::Upload, began);
            self.took_planes = true;
            return Ok(RgbaColors::of_layout(&layout));
        }
        let began = Instant::now();
        let input = slot.input().map_err(Refusal::NotLoaded)?;
        self.converter.convert(&frame.picture, input).map_err(Refusal::NotLoaded)?;
        stages.did(Stage::Convert, began);
        Ok(RgbaColors::of_picture(&frame.picture))
    }

    /// Prepares what the request asks for with what is in the slot; nothing is started.
    ///
    /// # Errors
    /// When that cannot be had.
    pub(super) fn prepare(
        &mut self,
        request: &Request,
        slot: &mut Slot,
        colors: RgbaColors,
        stages: &mut Stages,
        share: &Share,
    ) -> Result<Prepared, Refusal> {
        let Request { variant, correction, .. } = *request;
        let is_rgba = slot.loaded() == Loaded::Rgba;
        let pipeline = self.pipeline.as_mut().filter(|_| !variant.back_end().does_without_opencl());
        let corrects = pipeline.as_ref().is_some_and(|pipeline| !is_rgba || pipeline.corrects());
        if let Some(correction) = correction.filter(|_| !corrects) {
            let began = Instant::now();
            let input = slot.input().map_err(Refusal::NotLoaded)?;
            correct_reference(input, &correction, colors.matrix);
            stages.did(Stage::Correct, began);
        }
        let correction = correction.filter(|_| corrects);
        let can = pipeline.as_ref().is_some_and(|pipeline| matches!(pipeline.scopes(), Some(Ok(()))));
        let measures = request.measures() && can;
        match (variant.back_end(), pipeline) {
            (BackEnd::Native, _) => self.prepare_native(slot, request).map_err(Refusal::Unsupported),
            (BackEnd::Glsl, _) => self.prepare_glsl(slot, request, stages).map_err(Refusal::Unsupported),
            (_, Some(pipeline))
                if !is_rgba || variant != VariantId::Off || correction.is_some() || measures =>
            {
                pipeline.prepare(slot, request, correction, colors, share)
            }
            (BackEnd::OpenCl, None) => Err(Refusal::Unsupported(super::pipeline::not_built(variant))),
            (BackEnd::Nothing, None) if request.measures() => {
                let size = slot.size();
                let input = slot.input().map_err(Refusal::NotLoaded)?;
                let measured = OnHost::of(size, input, request.readings, request.levels);
                stages.take_in(measured.spans);
                Ok(Prepared { readings: measured.readings, ..Prepared::default() })
            }
            _ => Ok(Prepared::default()),
        }
    }

    fn prepare_native(&mut self, slot: &mut Slot, request: &Request) -> base::error::Result<Prepared> {
        let native = match self.native.take() {
            Some(native) => native,
            None => NativeFilter::new(self.waker.clone())?,
        };
        let native = self.native.insert(native);
        let (input, spare) = (slot.lend_input()?, slot.spare());
        let filter = native.prepare(input, spare, slot.size(), request.radius, measures_of(request))?;
        Ok(Prepared { filter: Some((None, Box::new(filter))), ..Prepared::default() })
    }

    /// Brings the picture into the texture, too, where the shaders filter it.
    fn prepare_glsl(
        &mut self,
        slot: &mut Slot,
        request: &Request,
        stages: &mut Stages,
    ) -> base::error::Result<Prepared> {
        let filter = self.glsl.as_ref().map_err(Clone::clone)?;
        let Some(texture) = slot.texture() else {
            let why = "It draws into textures, and the picture is wanted in memory.";
            let hint = "Choose another variant.";
            return Err(base::error::Error::new("'glsl' cannot filter this picture.", why, hint));
        };
        let began = Instant::now();
        slot.show();
        stages.did(Stage::Upload, began);
        let filter =
            OnTexture::prepare(filter, texture, slot.size(), request.radius)?.measuring(measures_of(request));
        let filter: Box<dyn FrameFilter> = Box::new(filter);
        Ok(Prepared { filter: Some((None, filter)), in_texture: true, ..Prepared::default() })
    }
}

/// What the processor is to measure of such a frame.
fn measures_of(request: &Request) -> Measures {
    Measures { readings: request.readings, levels: request.levels }
}
