//! Prepares a frame's commands on the OpenCL device, with their memory and kernels: a conversion or correction and then a filter that reads
//! RGBA, or a filter on planes and then their conversion, directly into the final picture. A filter that an earlier frame of the slot used
//! is reused.

use super::conversions::Trust;
use super::device_job::{Colors, DeviceJob};
use super::filter::{FrameFilter, Kernels};
use super::job::Job;
use super::picture_buffer::PictureBuffer;
use super::pipeline::not_built_error;
use super::plans::PlanKey;
use super::slot::{Slot, SlotContent, no_picture_error};
use super::{Pipeline, Refusal, TrialCase};
use base::error::Error;
use box_filter::color_kernels::{ConvertCommand, CorrectCommand};
use box_filter::{Extent, VariantId};
use opencl::memory::{Picture, Storage};
use stats::Request;
use video::color::{Correction, Layout, RgbaColors};

/// The way in which the picture of a frame, or of one before it, becomes an input of the filter.
struct InputPicture {
    /// The number of frames before the one to filter.
    back: usize,
    /// The kind of memory that the filter reads.
    read: Storage,
    /// The memory into which the picture is converted or corrected; `None` for memory that all frames use in turn.
    to: Option<Picture>,
    correction: Option<Correction>,
    colors: RgbaColors,
}

impl Pipeline {
    /// Prepares the conversion, correction and filter of the picture in the job's slot, without enqueueing anything. `colors` has the
    /// colour properties of the picture, and of those of earlier frames. Returns the filter.
    ///
    /// # Errors
    /// If the variant is not built or does not support this picture, if the trial of its kernels is pending, or if memory runs
    /// out.
    pub(super) fn prepare(
        &mut self,
        Job { request, slot, on_device, plan_key, .. }: &mut Job,
        correction: Option<Correction>,
        colors: &[RgbaColors],
    ) -> Result<Option<Box<dyn FrameFilter>>, Refusal> {
        let (Request { variant, settings, .. }, size) = (*request, slot.size);
        let planes = slot.planes.as_ref().filter(|_| slot.loaded == SlotContent::Planes);
        let layout = planes.map(|planes| *planes.layout());
        let (read, written) =
            self.storages(slot, request, layout, layout.is_some() || correction.is_some())?;
        let (output, job) = self.output(slot, request, written)?;
        let job = on_device.insert(job);
        let (sources, target, whole) = match layout {
            Some(layout) if variant.reads_planes() => {
                let source = slot.planes.as_mut().ok_or_else(no_picture_error)?.on_device(&self.cl)?.clone();
                let filtered = layout.filtered();
                let block = self.planes.get(&self.cl, Storage::Buffer, ((filtered.bytes() / 4) as u32, 1))?;
                let (planes, to) = (block.clone(), output);
                let correction = correction.unwrap_or(Correction::NEUTRAL);
                let command = ConvertCommand { layout: filtered, planes, to, correction };
                job.colors = Some(Colors::ConvertFiltered(command));
                (vec![source], block, Extent::planes(layout, settings))
            }
            _ => {
                let is_filtered = self.variants.get(request.kernels()).is_some();
                slot.require_earlier_in(read);
                let mut sources = Vec::with_capacity(colors.len());
                for (back, colors) in colors.iter().enumerate() {
                    let to = if is_filtered { None } else { Some(output.clone()) };
                    let picture = InputPicture { back, read, to, correction, colors: *colors };
                    let (source, colors) = self.rgba_source(slot.frames_back(back), picture)?;
                    sources.push(source);
                    if back == 0 {
                        job.colors = colors;
                    } else {
                        job.earlier_colors.extend(colors);
                    }
                }
                if !is_filtered {
                    if let (None, Some(Picture::Buffer(from)), Picture::Buffer(to)) =
                        (&job.colors, sources.pop(), output)
                    {
                        job.unfiltered = Some((from, to));
                    }
                    return Ok(None);
                }
                (sources, output, variant.extent(size, settings))
            }
        };
        let built = self.variants.get(request.kernels()).ok_or_else(|| not_built_error(variant))?;
        let sources: Vec<&Picture> = sources.iter().collect();
        let memory = sources.iter().copied().chain([&target]);
        let memory = memory.map(|picture| picture.mem().raw().addr()).collect();
        let key = plan_key.insert(PlanKey { number: built.number, whole, memory });
        if let Some(filter) = slot.device.plans.take(key) {
            return Ok(Some(filter));
        }
        let plan = built.plan((&sources, &target), &mut self.scratch, whole)?;
        Ok(Some(Box::new(Kernels { plan, queue: self.cl.queue.clone() })))
    }

    /// Returns the memory from which the filter reads the RGBA picture that was loaded into `slot`, and the command that converts or
    /// corrects the picture into that memory, if it must be.
    ///
    /// # Errors
    /// If memory runs out.
    fn rgba_source(
        &mut self,
        slot: &mut Slot,
        InputPicture { back, read, to, correction, colors }: InputPicture,
    ) -> Result<(Picture, Option<Colors>), Error> {
        let (cl, size) = (&self.cl, slot.size);
        let is_planes = slot.loaded == SlotContent::Planes;
        if !is_planes && correction.is_none() {
            return Ok((slot.source(cl, read)?, None));
        }
        let to = match to {
            Some(to) => to,
            None => {
                self.between.resize_with(self.between.len().max(back + 1), PictureBuffer::default);
                self.between[back].get(cl, read, size)?
            }
        };
        let correction = correction.unwrap_or(Correction::NEUTRAL);
        let command = if is_planes {
            let block = slot.planes.as_mut().ok_or_else(no_picture_error)?;
            let (layout, planes) = (*block.layout(), block.on_device(cl)?.clone());
            Colors::Convert(ConvertCommand { layout, planes, to: to.clone(), correction })
        } else {
            let from = slot.source(cl, read)?;
            self.conversions.known.correct(size, from.storage(), to.storage());
            Colors::Correct(CorrectCommand { from, to: to.clone(), size, correction, colors })
        };
        Ok((to, Some(command)))
    }

    /// Returns the kinds of memory (buffer or image) that the filter reads and that the last step writes. `layout` is that of the planes in
    /// the slot, if it has planes, and `changes_colors` is true if the picture is converted or corrected.
    ///
    /// # Errors
    /// If the variant is not built, the trial of its kernels is pending, or the variant does not support the picture.
    fn storages(
        &mut self,
        slot: &Slot,
        request: &Request,
        layout: Option<Layout>,
        changes_colors: bool,
    ) -> Result<(Storage, Storage), Refusal> {
        let Request { variant, version, settings, .. } = *request;
        let (size, info) = (slot.size, &self.cl.device.info);
        let unchanged = if self.writes_texture_of(slot) { Storage::Image } else { Storage::Buffer };
        if variant.reads_planes() {
            let unsupported = |why: &str| {
                let hint = "Choose another variant; fused filters pictures of any format.";
                Refusal::Unsupported(Error::new(format!("'{variant}' cannot filter this movie."), why, hint))
            };
            let missing = || match self.conversions.known.trust.values().any(|trust| *trust == Trust::Refused)
            {
                true => "The program that converts its pictures on the device does not build, or is wrong.",
                false => "The device does not read the planes of its pictures' format.",
            };
            let layout = layout.ok_or_else(|| unsupported(missing()))?;
            let bytes = layout.filtered().bytes() as u64;
            self.trials.require(TrialCase { variant, version, size, settings, layout: Some(layout) })?;
            return match (self.variants.get(request.kernels()), info.has_room(bytes, bytes)) {
                (None, _) => Err(unsupported("It is not built.")),
                (_, false) => {
                    Err(unsupported("Its planes are larger than one piece of the device's memory."))
                }
                (_, true) => Ok((Storage::Buffer, unchanged)),
            };
        }
        self.trials.require(TrialCase { variant, version, size, settings, layout: None })?;
        match self.variants.get(request.kernels()) {
            Some(built) => {
                built.id().supports(info, size.0, size.1).map_err(Refusal::Unsupported)?;
                Ok(built.storages(size).into())
            }
            // This version has just been replaced by the one that the wipe is going to show.
            None if version.is_some() => Err(Refusal::TrialPending),
            None if variant != VariantId::OFF => Err(Refusal::Unsupported(not_built_error(variant))),
            None if changes_colors => Ok((unchanged, unchanged)),
            // An unchanged picture is only measured, which is best done in a buffer.
            None => Ok((Storage::Buffer, Storage::Buffer)),
        }
    }

    /// Prepares the picture that the last step writes, in memory of the kind `storage`, and the commands that use it afterwards. If textures
    /// are shared, a picture that is not an image is copied into the texture, unless auto-levels write it there.
    fn output(
        &mut self,
        slot: &mut Slot,
        request: &Request,
        storage: Storage,
    ) -> Result<(Picture, DeviceJob), Error> {
        let (size, to_texture) = (slot.size, self.writes_texture_of(slot));
        let wanted = self.meters.prepare(&self.cl, request, storage, size);
        let last = if to_texture { slot.shared(&self.cl)? } else { slot.target(&self.cl, storage)? };
        // Auto-levels then write the final picture, so that the filter must write into other memory.
        let is_leveled = matches!((&wanted, &self.meters.scopes), (Some(wanted), Some(Ok(scopes)))
            if wanted.levels && scopes.stretches_into(&last));
        let is_copied = !is_leveled && to_texture && storage == Storage::Buffer;
        let picture = match is_leveled || is_copied {
            true => self.filtered.get(&self.cl, storage, size)?,
            false => last.clone(),
        };
        let to_copy = is_copied.then(|| picture.clone());
        let to = if is_leveled { last } else { picture.clone() };
        let wanted = wanted.map(|wanted| (wanted, picture.clone(), to));
        Ok((picture, DeviceJob { to_copy, wanted, to_texture, ..DeviceJob::default() }))
    }

    /// Returns true if the device writes into the slot's texture, because the slot has one and textures are shared.
    fn writes_texture_of(&self, slot: &Slot) -> bool {
        self.to_texture() && slot.texture().is_some()
    }
}
