//! Loads a frame into its slot, as planes for the device's conversion or as RGBA, and prepares the filter that its [`Request`] names.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use ffmpeg_next::frame::Video;

use super::filter::{FrameFilter, NativeFilter, TextureFilter};
use super::job::Job;
use super::scopes::HostMeasurements;
use super::slot::SlotContent;
use super::{Pipeline, Refusal};
use crate::glsl::{GlslFilter, cannot_filter};
use base::error::Error;
use compute::BackEnd;
use opencl::event::Waker;
use stats::{Request, Stage};
use video::Frame;
use video::color::{Layout, RgbaColors, RgbaConverter, correct_reference};

/// Loads frames into slots, and prepares the filters that use no OpenCL.
pub(super) struct Loader {
    /// The thread of the Rust filter, which is started when it is first needed.
    pub native: Option<NativeFilter>,
    /// The compiled shaders of the variant `glsl`, or the error that makes it unavailable.
    pub glsl: Result<Rc<GlslFilter>, Error>,
    /// The converter of frames to RGBA on the host.
    pub converter: RgbaConverter,
    /// The waker that is called when the Rust filter has finished a picture.
    pub waker: Waker,
}

impl Loader {
    /// Loads the frame into the slot: its planes if the device converts it, else its RGBA picture. Loads as many earlier pictures as
    /// the filter reads in the same way. Returns the colour properties of the RGBA pictures, which a correction needs.
    ///
    /// # Errors
    /// If memory runs out, or the frame has no picture.
    pub(super) fn load(
        &mut self,
        pipeline: Option<&mut Pipeline>,
        frame: &Frame,
        Job { request, slot, stages, .. }: &mut Job,
    ) -> Result<Vec<RgbaColors>, Error> {
        let to_texture = slot.texture().is_some();
        let earlier = frame.earlier.pictures.iter().take(request.frames() - 1).map(Arc::as_ref);
        let pictures: Vec<&Video> = std::iter::once(&frame.picture).chain(earlier).collect();
        slot.set_earlier(pictures.len() - 1);
        // Other back ends than OpenCL take RGBA from the host, whatever the device could convert.
        if let Some(pipeline) = pipeline {
            pipeline.took_planes = false;
            let layout = |picture: &&Video| pipeline.conversion(picture, request.first_kernels(), to_texture);
            if let Some(layouts) = pictures.iter().map(layout).collect::<Option<Vec<Layout>>>() {
                let began = Instant::now();
                for (back, (picture, layout)) in pictures.iter().zip(&layouts).enumerate() {
                    // The lock is released before the load, which may call the driver.
                    let packed = if back == 0 { frame.packed.lock().clone() } else { None };
                    let slot = slot.frames_back(back);
                    let pack_ms = pipeline.load_planes(slot, (picture, packed), layout)?;
                    stages.pack_ms = stages.pack_ms.or(pack_ms);
                }
                stages.record(Stage::Upload, began);
                pipeline.took_planes = true;
                let colors = |layout: &Layout| RgbaColors { matrix: layout.matrix, has_alpha: layout.alpha };
                return Ok(layouts.iter().map(colors).collect());
            }
        }
        let began = Instant::now();
        for (back, picture) in pictures.iter().enumerate() {
            self.converter.convert(picture, slot.frames_back(back).input()?)?;
        }
        stages.record(Stage::Convert, began);
        Ok(pictures.into_iter().map(RgbaColors::of_picture).collect())
    }

    /// Prepares the requested filter, correction and measurements for the picture in the slot; starts nothing. `colors` has the colour
    /// properties of the picture, and of those of earlier frames. Returns the filter.
    ///
    /// # Errors
    /// If the request is refused.
    pub(super) fn prepare(
        &mut self,
        pipeline: Option<&mut Pipeline>,
        job: &mut Job,
        colors: &[RgbaColors],
    ) -> Result<Option<Box<dyn FrameFilter>>, Refusal> {
        let Job { request, slot, stages, .. } = job;
        let Request { variant, correction, measurements, .. } = *request;
        let is_filtered = request.filters().next().is_some();
        let is_rgba = slot.loaded == SlotContent::Rgba;
        let corrects =
            pipeline.as_ref().is_some_and(|pipeline| !is_rgba || pipeline.conversions.can_correct());
        if let Some(correction) = correction.filter(|_| !corrects) {
            let began = Instant::now();
            for (back, colors) in colors.iter().enumerate() {
                let input = slot.frames_back(back).input().map_err(Refusal::NotLoaded)?;
                correct_reference(input, &correction, colors.matrix);
            }
            stages.record(Stage::Correct, began);
        }
        let correction = correction.filter(|_| corrects);
        let can = pipeline.as_ref().is_some_and(|pipeline| matches!(pipeline.meters.scopes, Some(Ok(_))));
        let measures = request.measures() && can;
        if variant.back_end().does_without_opencl() && !request.stack.is_empty() {
            return Err(Refusal::Unsupported(super::prepare::not_in_a_stack(variant)));
        }
        match (variant.back_end(), pipeline) {
            (BackEnd::Native, _) => self.prepare_native(job).map(Some).map_err(Refusal::Unsupported),
            (BackEnd::Glsl, _) => self.prepare_glsl(job).map(Some).map_err(Refusal::Unsupported),
            (_, Some(pipeline)) if !is_rgba || is_filtered || correction.is_some() || measures => {
                pipeline.prepare(job, correction, colors)
            }
            (BackEnd::OpenCl, None) => Err(Refusal::Unsupported(super::pipeline::not_built_error(variant))),
            (BackEnd::Nothing, None) if request.measures() => {
                let size = slot.size;
                let input = slot.input().map_err(Refusal::NotLoaded)?;
                let measured = HostMeasurements::of(size, input, measurements);
                stages.add_spans(measured.spans);
                job.readings = measured.readings.map(Arc::new);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Prepares the filter in Rust for the picture in the slot; starts the filter's thread on first use.
    fn prepare_native(&mut self, job: &mut Job) -> Result<Box<dyn FrameFilter>, Error> {
        let native = match self.native.take() {
            Some(native) => native,
            None => NativeFilter::new(self.waker.clone())?,
        };
        Ok(Box::new(self.native.insert(native).prepare(&mut job.slot, &job.request)?))
    }

    /// Uploads the picture into the slot's texture, and prepares the filter of shaders.
    fn prepare_glsl(
        &mut self,
        Job { request, slot, stages, in_texture, .. }: &mut Job,
    ) -> Result<Box<dyn FrameFilter>, Error> {
        let filter = self.glsl.as_ref().map_err(Clone::clone)?;
        let Some(texture) = slot.texture() else {
            return Err(cannot_filter("It draws into textures, and the picture is wanted in memory."));
        };
        let began = Instant::now();
        slot.show();
        stages.record(Stage::Upload, began);
        let mut filter = TextureFilter::prepare(filter, texture, slot.size, request.settings.first())?;
        filter.measures = request.measurements;
        *in_texture = true;
        Ok(Box::new(filter))
    }
}
