//! Loads a frame into its slot, as planes for the device's conversion or as RGBA, and prepares the filter that its [`Request`] names.

use std::rc::Rc;
use std::time::Instant;

use super::device_job::DeviceJob;
use super::filter::{FrameFilter, NativeFilter, TextureFilter};
use super::plans::PlanKey;
use super::request::KernelsId;
use super::scopes::{HostMeasurements, Readings};
use super::slot::SlotContent;
use super::{Measurements, Pipeline, Refusal, Request, Slot, Stages};
use crate::glsl::GlslFilter;
use crate::stats::Stage;
use base::error::Error;
use box_filter::VariantId;
use compute::BackEnd;
use opencl::event::Waker;
use video::Frame;
use video::color::{RgbaColors, RgbaConverter, correct_reference};

/// A prepared filter, and the key under which the slot keeps it for later frames.
pub(super) type KeyedFilter = (Option<PlanKey>, Box<dyn FrameFilter>);

/// The prepared work of a frame, to be started later.
#[derive(Default)]
pub(super) struct PreparedFrame {
    /// The commands on the OpenCL device; `None` if the frame does not use it.
    pub(super) on_device: Option<DeviceJob>,
    pub(super) filter: Option<KeyedFilter>,
    /// True if the picture is in the slot's texture already, for shaders to filter it there.
    pub(super) in_texture: bool,
    /// The scopes' readings if the host has measured the unfiltered picture already.
    pub(super) readings: Option<Readings>,
}

/// Loads frames, and prepares filters that use no OpenCL.
pub(super) struct Loader {
    /// The thread of the Rust filter, which is started when it is first needed.
    native: Option<NativeFilter>,
    /// The compiled shaders of the variant `glsl`, or the error that makes it unavailable.
    pub(super) glsl: Result<Rc<GlslFilter>, Error>,
    /// The converter of frames to RGBA on the host.
    converter: RgbaConverter,
    /// True if frames are converted on the device only with programs that were checked for the frames' pixel format.
    pub(super) only_checked: bool,
    waker: Waker,
}

impl Loader {
    /// Creates a loader; `glsl` has the compiled shaders, or the reason why there are none. `waker` is called when the Rust
    /// filter has finished a picture.
    pub(super) fn new(glsl: Result<Rc<GlslFilter>, Error>, waker: Waker) -> Self {
        let converter = RgbaConverter::new();
        Self { native: None, glsl, converter, only_checked: false, waker }
    }

    /// Returns true if frames of this format cannot be converted on the device yet for these kernels, but will be once the
    /// conversion's program is built and, where required, checked. `to_texture` is true if the picture goes into a texture.
    pub(super) fn lacks_conversion(
        &self,
        pipeline: &mut Pipeline,
        frame: &Frame,
        kernels: KernelsId,
        to_texture: bool,
    ) -> bool {
        let picture = &frame.picture;
        pipeline.conversion(picture, kernels, to_texture, self.only_checked).is_none()
            && pipeline.will_convert(picture, kernels, to_texture)
    }

    /// Loads the frame into the slot and prepares the requested filter; starts nothing. `pipeline` is the device's, for variants that may
    /// use OpenCL.
    ///
    /// # Errors
    /// If the request is refused.
    pub(super) fn load_and_prepare(
        &mut self,
        mut pipeline: Option<&mut Pipeline>,
        frame: &Frame,
        request: &Request,
        slot: &mut Slot,
        stages: &mut Stages,
    ) -> Result<PreparedFrame, Refusal> {
        let colors = self.load(pipeline.as_deref_mut(), frame, request, slot, stages)?;
        self.prepare(pipeline, request, slot, colors, stages)
    }

    /// Loads the frame into the slot: its planes if the device converts it, else its RGBA picture. Returns the colour properties of the
    /// RGBA picture, which a correction needs.
    ///
    /// # Errors
    /// If memory runs out, or the frame has no picture.
    fn load(
        &mut self,
        pipeline: Option<&mut Pipeline>,
        frame: &Frame,
        request: &Request,
        slot: &mut Slot,
        stages: &mut Stages,
    ) -> Result<RgbaColors, Refusal> {
        let to_texture = slot.texture().is_some();
        // Other back ends than OpenCL take RGBA from the host, whatever the device could convert.
        if let Some(pipeline) = pipeline {
            pipeline.took_planes = false;
            if let Some(layout) =
                pipeline.conversion(&frame.picture, request.kernels(), to_texture, self.only_checked)
            {
                let began = Instant::now();
                stages.pack_ms = pipeline.load_planes(slot, frame, &layout).map_err(Refusal::NotLoaded)?;
                stages.record(Stage::Upload, began);
                pipeline.took_planes = true;
                return Ok(RgbaColors::of_layout(&layout));
            }
        }
        let began = Instant::now();
        let input = slot.input().map_err(Refusal::NotLoaded)?;
        self.converter.convert(&frame.picture, input).map_err(Refusal::NotLoaded)?;
        stages.record(Stage::Convert, began);
        Ok(RgbaColors::of_picture(&frame.picture))
    }

    /// Prepares the requested filter, correction and measurements for the picture in the slot; starts nothing.
    ///
    /// # Errors
    /// If the request is refused.
    fn prepare(
        &mut self,
        pipeline: Option<&mut Pipeline>,
        request: &Request,
        slot: &mut Slot,
        colors: RgbaColors,
        stages: &mut Stages,
    ) -> Result<PreparedFrame, Refusal> {
        let Request { variant, correction, .. } = *request;
        let is_rgba = slot.loaded == SlotContent::Rgba;
        let corrects =
            pipeline.as_ref().is_some_and(|pipeline| !is_rgba || pipeline.conversions.can_correct());
        if let Some(correction) = correction.filter(|_| !corrects) {
            let began = Instant::now();
            let input = slot.input().map_err(Refusal::NotLoaded)?;
            correct_reference(input, &correction, colors.matrix);
            stages.record(Stage::Correct, began);
        }
        let correction = correction.filter(|_| corrects);
        let can = pipeline.as_ref().is_some_and(|pipeline| matches!(pipeline.meters.scopes(), Some(Ok(()))));
        let measures = request.measures() && can;
        match (variant.back_end(), pipeline) {
            (BackEnd::Native, _) => self.prepare_native(slot, request).map_err(Refusal::Unsupported),
            (BackEnd::Glsl, _) => self.prepare_glsl(slot, request, stages).map_err(Refusal::Unsupported),
            (_, Some(pipeline))
                if !is_rgba || variant != VariantId::OFF || correction.is_some() || measures =>
            {
                pipeline.prepare(slot, request, correction, colors)
            }
            (BackEnd::OpenCl, None) => Err(Refusal::Unsupported(super::pipeline::not_built_error(variant))),
            (BackEnd::Nothing, None) if request.measures() => {
                let size = slot.size();
                let input = slot.input().map_err(Refusal::NotLoaded)?;
                let measured = HostMeasurements::of(size, input, request.readings, request.levels);
                stages.add_spans(measured.spans);
                Ok(PreparedFrame { readings: measured.readings, ..PreparedFrame::default() })
            }
            _ => Ok(PreparedFrame::default()),
        }
    }

    /// Prepares the filter in Rust for the picture in the slot; starts the filter's thread on first use.
    fn prepare_native(&mut self, slot: &mut Slot, request: &Request) -> Result<PreparedFrame, Error> {
        let native = match self.native.take() {
            Some(native) => native,
            None => NativeFilter::new(self.waker.clone())?,
        };
        let native = self.native.insert(native);
        let (input, spare) = (slot.lend_input()?, slot.host_picture.take());
        let filter = native.prepare(input, spare, slot.size(), request.radius, measures_of(request))?;
        Ok(PreparedFrame { filter: Some((None, Box::new(filter))), ..PreparedFrame::default() })
    }

    /// Uploads the picture into the slot's texture, and prepares the filter of shaders.
    fn prepare_glsl(
        &mut self,
        slot: &mut Slot,
        request: &Request,
        stages: &mut Stages,
    ) -> Result<PreparedFrame, Error> {
        let filter = self.glsl.as_ref().map_err(Clone::clone)?;
        let Some(texture) = slot.texture() else {
            let why = "It draws into textures, and the picture is wanted in memory.";
            let hint = "Choose another variant.";
            return Err(Error::new("'glsl' cannot filter this picture.", why, hint));
        };
        let began = Instant::now();
        slot.show();
        stages.record(Stage::Upload, began);
        let filter = TextureFilter::prepare(filter, texture, slot.size(), request.radius)?
            .measuring(measures_of(request));
        let filter: Box<dyn FrameFilter> = Box::new(filter);
        Ok(PreparedFrame { filter: Some((None, filter)), in_texture: true, ..PreparedFrame::default() })
    }
}

fn measures_of(request: &Request) -> Measurements {
    Measurements { readings: request.readings, levels: request.levels }
}
