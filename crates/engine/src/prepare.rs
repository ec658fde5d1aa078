//! Prepares a frame's commands on the OpenCL device: [`Steps`] lists the steps that are needed, and [`Pipeline::build`] creates their
//! memory and kernels. A filter that an earlier frame of the slot used is reused.

use super::device_job::{Colors, DeviceJob};
use super::filter::Kernels;
use super::job::{Job, KeyedFilter};
use super::pipeline::not_built_error;
use super::plans::PlanKey;
use super::scopes::MeasurementPlan;
use super::slot::{Slot, SlotContent, no_picture_error};
use super::{Pipeline, Refusal, Request, TrialCase};
use base::error::Error;
use box_filter::color_kernels::{ConvertCommand, CorrectCommand};
use box_filter::{Extent, VariantId};
use opencl::memory::{Picture, Storage};
use video::color::{Correction, Layout, RgbaColors};

/// The steps of the device for a frame.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
enum Steps {
    /// A conversion or correction, then a filter that reads memory of the kind `source` (buffer or image). The last of these
    /// steps writes memory of the kind `output`.
    Rgba { colors: ColorStep, has_filter: bool, source: Storage, output: Storage },
    /// A filter on planes in this layout, then their conversion to RGBA, directly into the final picture.
    Planes { layout: Layout, correction: Correction },
}

/// The colour conversion or correction before a filter that reads RGBA.
#[derive(PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
enum ColorStep {
    /// No step: the picture is RGBA already and is not corrected.
    Nothing,
    /// The conversion of planes in this layout to RGBA, with a correction that may be neutral.
    Convert(Layout, Correction),
    /// The correction of a picture that is RGBA already.
    Correct(Correction),
}

/// The picture that the last step writes, and the commands that use it afterwards.
struct Output {
    picture: Picture,
    /// The picture, if it is to be copied into the slot's texture.
    to_copy: Option<Picture>,
    /// The measurements, the picture that is measured, and the picture that auto-levels write; `None` if nothing is measured.
    wanted: Option<(MeasurementPlan, Picture, Picture)>,
}

impl Pipeline {
    /// Prepares the conversion, correction and filter of the picture in the job's slot, without enqueueing anything. Returns
    /// the filter.
    ///
    /// # Errors
    /// If the variant is not built or does not support this picture, if the trial of its kernels is pending, or if memory runs
    /// out.
    pub(super) fn prepare(
        &mut self,
        job: &mut Job,
        correction: Option<Correction>,
        colors: RgbaColors,
    ) -> Result<Option<KeyedFilter>, Refusal> {
        let steps = self.steps(&job.slot, &job.request, correction)?;
        Ok(self.build(steps, job, colors)?)
    }

    /// Returns the steps for this request; an error if the variant is not built, the trial of its kernels is pending, or the
    /// variant does not support the picture.
    fn steps(
        &mut self,
        slot: &Slot,
        request: &Request,
        correction: Option<Correction>,
    ) -> Result<Steps, Refusal> {
        let Request { variant, version, radius, .. } = *request;
        let size = slot.size;
        let planes = slot.planes.as_ref().filter(|_| slot.loaded == SlotContent::Planes);
        let layout = planes.map(|planes| *planes.layout());
        let info = &self.cl.device.info;
        if variant.reads_planes() {
            let unsupported = |why: &str| {
                let hint = "Choose another variant; fused filters pictures of any format.";
                Refusal::Unsupported(Error::new(format!("'{variant}' cannot filter this movie."), why, hint))
            };
            let layout = layout.ok_or_else(|| unsupported(self.conversions.planes_missing_reason()))?;
            let bytes = layout.filtered().bytes() as u64;
            let has_room = info.has_room(bytes, bytes);
            self.trials.require(TrialCase { variant, version, size, radius, layout: Some(layout) })?;
            return match self.variants.has(request.kernels()) {
                false => Err(unsupported("It is not built.")),
                true if !has_room => {
                    Err(unsupported("Its planes are larger than one piece of the device's memory."))
                }
                true => Ok(Steps::Planes { layout, correction: correction.unwrap_or(Correction::NEUTRAL) }),
            };
        }
        self.trials.require(TrialCase { variant, version, size, radius, layout: None })?;
        let built = self.variants.get(request.kernels());
        if let Some(built) = built {
            let supported = built.id().supports(&self.cl.device.info, size.0, size.1);
            supported.map_err(Refusal::Unsupported)?;
        } else if version.is_some() {
            // This version has just been replaced by the one that the wipe is going to show.
            return Err(Refusal::TrialPending);
        } else if variant != VariantId::OFF {
            return Err(Refusal::Unsupported(not_built_error(variant)));
        }
        let colors = match (layout, correction) {
            (Some(layout), _) => ColorStep::Convert(layout, correction.unwrap_or(Correction::NEUTRAL)),
            (None, Some(correction)) if self.conversions.can_correct() => ColorStep::Correct(correction),
            _ => ColorStep::Nothing,
        };
        let (source, output) = match built {
            Some(built) => (built.input, built.output),
            // An unchanged picture is only measured, which is best done in a buffer.
            None if self.writes_texture_of(slot) && colors != ColorStep::Nothing => {
                (Storage::Image, Storage::Image)
            }
            None => (Storage::Buffer, Storage::Buffer),
        };
        Ok(Steps::Rgba { colors, has_filter: built.is_some(), source, output })
    }

    /// Creates the commands, memory and kernels of these steps. Returns the filter.
    fn build(
        &mut self,
        steps: Steps,
        Job { request, slot, on_device, .. }: &mut Job,
        colors: RgbaColors,
    ) -> Result<Option<KeyedFilter>, Error> {
        let (Request { variant, radius, .. }, size) = (*request, slot.size);
        let to_texture = self.writes_texture_of(slot);
        let storage = match &steps {
            Steps::Rgba { output, .. } => *output,
            Steps::Planes { .. } if to_texture => Storage::Image,
            Steps::Planes { .. } => Storage::Buffer,
        };
        let Output { picture: output, to_copy, wanted } = self.output(slot, request, storage)?;
        let job = on_device.insert(DeviceJob { to_copy, wanted, to_texture, ..DeviceJob::default() });
        let cl = &self.cl;
        let mut planes =
            || Ok::<_, Error>(slot.planes.as_mut().ok_or_else(no_picture_error)?.on_device(cl)?.clone());
        let (source, target, whole) = match steps {
            Steps::Planes { layout, correction } => {
                let (source, filtered) = (planes()?, layout.filtered());
                let block = self.planes.get(cl, Storage::Buffer, ((filtered.bytes() / 4) as u32, 1))?;
                let (planes, to) = (block.clone(), output);
                let command = ConvertCommand { layout: filtered, planes, to, correction };
                job.colors = Some(Colors::ConvertFiltered(command));
                (source, block, Extent::planes(layout, radius))
            }
            Steps::Rgba { colors: step, has_filter, source: storage, .. } => {
                let mut converted = || match has_filter {
                    true => self.between.get(cl, storage, size),
                    false => Ok(output.clone()),
                };
                let source = match step {
                    ColorStep::Nothing => slot.source(cl, storage)?,
                    ColorStep::Convert(layout, correction) => {
                        let (planes, to) = (planes()?, converted()?);
                        let command = ConvertCommand { layout, planes, to: to.clone(), correction };
                        job.colors = Some(Colors::Convert(command));
                        to
                    }
                    ColorStep::Correct(correction) => {
                        let (from, to) = (slot.source(cl, storage)?, converted()?);
                        self.conversions.known.correct(size, from.storage(), to.storage());
                        let command = CorrectCommand { from, to: to.clone(), size, correction, colors };
                        job.colors = Some(Colors::Correct(command));
                        to
                    }
                };
                if !has_filter {
                    if let (None, Picture::Buffer(from), Picture::Buffer(to)) = (&job.colors, source, output)
                    {
                        job.unfiltered = Some((from, to));
                    }
                    return Ok(None);
                }
                (source, output, Extent::rgba(size, radius))
            }
        };
        let built = self.variants.get(request.kernels()).ok_or_else(|| not_built_error(variant))?;
        let memory = [&source, &target];
        let key = PlanKey::new(built.number, whole, memory);
        let filter = match slot.device.plans.take(&key) {
            Some(filter) => filter,
            None => {
                let plan = built.plan(memory, &mut self.scratch, whole)?;
                Box::new(Kernels { plan, queue: cl.queue.clone() })
            }
        };
        Ok(Some((Some(key), filter)))
    }

    /// Prepares the picture that the last step writes, in memory of the kind `storage`. If textures are shared, a picture that
    /// is not an image is copied into the texture, unless auto-levels write it there.
    fn output(&mut self, slot: &mut Slot, request: &Request, storage: Storage) -> Result<Output, Error> {
        let (size, to_texture) = (slot.size, self.writes_texture_of(slot));
        let wanted = self.meters.prepare(&self.cl, request, storage, size);
        let last = if to_texture { slot.shared(&self.cl)? } else { slot.target(&self.cl, storage)? };
        let is_leveled = self.meters.levels_write(wanted.as_ref(), &last);
        let is_copied = !is_leveled && to_texture && storage == Storage::Buffer;
        let picture = match is_leveled || is_copied {
            true => self.filtered.get(&self.cl, storage, size)?,
            false => last.clone(),
        };
        let to_copy = is_copied.then(|| picture.clone());
        let to = if is_leveled { last } else { picture.clone() };
        let wanted = wanted.map(|wanted| (wanted, picture.clone(), to));
        Ok(Output { picture, to_copy, wanted })
    }

    /// Returns true if the device writes into the slot's texture, because the slot has one and textures are shared.
    fn writes_texture_of(&self, slot: &Slot) -> bool {
        self.to_texture() && slot.texture().is_some()
    }
}
