//! Prepares a frame's commands on the OpenCL device, with their memory and kernels: a conversion or correction and then a filter that reads
//! RGBA, or a filter on planes and then their conversion, directly into the final picture. A filter that an earlier frame of the slot used
//! is reused.

use super::conversions::Trust;
use super::device_job::{Colors, DeviceJob};
use super::filter::{FrameFilter, Kernels, Step};
use super::job::Job;
use super::picture_buffer::PictureBuffer;
use super::pipeline::not_built_error;
use super::plans::PlanKey;
use super::slot::{Slot, SlotContent, no_picture_error};
use super::{Pipeline, Refusal, TrialCase};
use base::error::Error;
use box_filter::color_kernels::{ConvertCommand, CorrectCommand};
use box_filter::{Extent, Settings, VariantId};
use opencl::memory::{Picture, Storage};
use stats::{KernelsId, Request};
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

/// A filter that makes a picture, alone or in a stack.
#[derive(Clone, Copy)]
struct Link {
    /// The index among the layers of the stack; `None` for the chosen filter.
    layer: Option<usize>,
    kernels: KernelsId,
    settings: Settings,
    /// The number of the built variant.
    number: u64,
    /// The kinds of memory (buffer or image) that the filter reads and that the last step writes.
    input: Storage,
    output: Storage,
}

impl Link {
    fn frames(&self) -> usize {
        self.kernels.0.frames()
    }
}

/// A run of one of the links, or a copy between two of them.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
enum Command {
    Filter { link: usize, sources: Vec<Picture>, target: Picture, whole: Extent },
    Copy(Picture, Picture),
}

impl Command {
    /// Adds what the command is made of to the key of the frame's filter.
    fn add_to(&self, key: &mut PlanKey, links: &[Link]) {
        let handle = |picture: &Picture| picture.mem().raw().addr();
        match self {
            Self::Filter { link, sources, target, whole } => {
                key.filters.push((links[*link].number, *whole));
                key.memory.extend(sources.iter().chain([target]).map(handle));
            }
            Self::Copy(from, to) => key.memory.extend([from, to].map(handle)),
        }
    }
}

/// Returns the error for a variant that cannot be one of several filters.
pub fn not_in_a_stack(variant: VariantId) -> Error {
    let what = format!("'{variant}' cannot be in a stack of filters.");
    let hint = "Choose another variant, or remove the other filters (F).";
    Error::new(what, "It does not read pictures of other filters on the device.", hint)
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
        let (variant, size) = (request.variant, slot.size);
        let planes = slot.planes.as_ref().filter(|_| slot.loaded == SlotContent::Planes);
        let layout = planes.map(|planes| *planes.layout());
        let changes_colors = layout.is_some() || correction.is_some();
        let links = self.links(slot, request, layout)?;
        let (read, written) = match (&links[..], self.writes_texture_of(slot)) {
            ([first, .., last], _) | ([first @ last], _) => (first.input, last.output),
            ([], true) if changes_colors => (Storage::Image, Storage::Image),
            // An unchanged picture is only measured, which is best done in a buffer.
            ([], _) => (Storage::Buffer, Storage::Buffer),
        };
        let (output, job) = self.output(slot, request, written)?;
        let job = on_device.insert(job);
        let commands = match layout {
            Some(layout) if variant.reads_planes() => {
                let (commands, colors) =
                    self.planes_commands(slot, &links[0], (layout, output), (correction, colors))?;
                (job.colors, job.colors_last) = (colors, true);
                commands
            }
            _ => {
                slot.require_earlier_in(read);
                let mut sources = Vec::with_capacity(colors.len());
                for (back, colors) in colors.iter().enumerate() {
                    let to = if links.is_empty() { Some(output.clone()) } else { None };
                    let picture = InputPicture { back, read, to, correction, colors: *colors };
                    let (source, colors) = self.rgba_source(slot.frames_back(back), picture)?;
                    sources.push(source);
                    if back == 0 {
                        job.colors = colors;
                    } else {
                        job.earlier_colors.extend(colors);
                    }
                }
                if links.is_empty() {
                    if let (None, Some(Picture::Buffer(from)), Picture::Buffer(to)) =
                        (&job.colors, sources.pop(), output)
                    {
                        job.unfiltered = Some((from, to));
                    }
                    return Ok(None);
                }
                self.commands(&links, sources, (output, size))?
            }
        };
        let key = plan_key.insert(PlanKey::default());
        commands.iter().for_each(|command| command.add_to(key, &links));
        if let Some(filter) = slot.device.plans.take(key) {
            return Ok(Some(filter));
        }
        let steps = commands.into_iter().map(|command| self.step(command, &links, size.1));
        let steps = steps.collect::<Result<_, Error>>()?;
        Ok(Some(Box::new(Kernels::new(steps, self.cl.queue.clone()))))
    }

    /// Returns the command by which a filter makes `output` of the planes in the slot, which have this layout, and the conversion or
    /// correction after it.
    ///
    /// # Errors
    /// If memory runs out.
    fn planes_commands(
        &mut self,
        slot: &mut Slot,
        link: &Link,
        (layout, output): (Layout, Picture),
        (correction, colors): (Option<Correction>, &[RgbaColors]),
    ) -> Result<(Vec<Command>, Option<Colors>), Error> {
        let whole = link.kernels.0.planes_extent(layout, link.settings);
        let mut sources = Vec::with_capacity(link.frames());
        for back in 0..colors.len() {
            let planes = slot.frames_back(back).planes.as_mut();
            // The nearest frame stands for one whose planes have another layout.
            let Some(planes) = planes.filter(|planes| planes.layout().is_stored_as(&layout)) else { break };
            sources.push(planes.on_device(&self.cl)?.clone());
        }
        let corrector = correction.zip(colors.first().copied()).filter(|_| self.conversions.can_correct());
        let (target, colors) = match (whole.output, corrector) {
            (Some(filtered), _) => {
                let block = self.planes.get(&self.cl, Storage::Buffer, ((whole.bytes()[1] / 4) as u32, 1))?;
                let correction = correction.unwrap_or(Correction::NEUTRAL);
                let (planes, to) = (block.clone(), output);
                let command = ConvertCommand { layout: filtered, planes, to, correction };
                (block, Some(Colors::Convert(command)))
            }
            (None, Some((correction, colors))) => {
                let (to, size) = (output, slot.size);
                self.between.resize_with(self.between.len().max(1), PictureBuffer::default);
                let from = self.between[0].get(&self.cl, link.output, size)?;
                self.conversions.known.correct(size, from.storage(), to.storage());
                let command = CorrectCommand { from: from.clone(), to, size, correction, colors };
                (from, Some(Colors::Correct(command)))
            }
            (None, None) => (output, None),
        };
        Ok((vec![Command::Filter { link: 0, sources, target, whole }], colors))
    }

    /// Returns the commands by which these filters make `output` of pictures of this size, each filter of the pictures that the one
    /// below it makes. `pictures` are those of the frame and of the frames before it, nearest first; before the movie's first frame,
    /// that one is repeated.
    ///
    /// # Errors
    /// If memory runs out.
    fn commands(
        &mut self,
        links: &[Link],
        mut pictures: Vec<Picture>,
        (output, size): (Picture, (u32, u32)),
    ) -> Result<Vec<Command>, Error> {
        let (mut commands, mut used) = (Vec::new(), 0);
        for (at, link) in links.iter().enumerate() {
            // Filters of several frames above this one read its pictures of as many frames.
            let frames = 1 + links[at + 1..].iter().map(|above| above.frames() - 1).sum::<usize>();
            let last = pictures.len() - 1;
            let mut written = Vec::new();
            for back in 0..frames.min(pictures.len()) {
                let reads = (back..back + link.frames()).map(|back| pictures[back.min(last)].clone());
                let sources = reads.collect();
                let target = match at + 1 == links.len() {
                    true => output.clone(),
                    false => self.stacked_memory(&mut used, link.output, size)?,
                };
                let whole = link.kernels.0.extent(size, link.settings);
                written.push(target.clone());
                commands.push(Command::Filter { link: at, sources, target, whole });
            }
            if let Some(above) = links.get(at + 1).filter(|above| above.input != link.output) {
                for picture in &mut written {
                    let to = self.stacked_memory(&mut used, above.input, size)?;
                    commands.push(Command::Copy(std::mem::replace(picture, to.clone()), to));
                }
            }
            pictures = written;
        }
        Ok(commands)
    }

    /// Returns the next memory for a picture between two filters of a stack.
    fn stacked_memory(
        &mut self,
        used: &mut usize,
        storage: Storage,
        size: (u32, u32),
    ) -> Result<Picture, Error> {
        if self.stacked.len() <= *used {
            self.stacked.push(PictureBuffer::default());
        }
        *used += 1;
        self.stacked[*used - 1].get(&self.cl, storage, size)
    }

    /// Returns the step of a filter that a command makes, for pictures with this number of rows.
    ///
    /// # Errors
    /// If the kernels refuse their arguments, or memory runs out.
    fn step(&mut self, command: Command, links: &[Link], rows: u32) -> Result<Step, Error> {
        Ok(match command {
            Command::Copy(from, to) => Step::Copy { from, to, rows },
            Command::Filter { link, sources, target, whole } => {
                let Link { layer, kernels, .. } = links[link];
                let built = self.variants.get(kernels).ok_or_else(|| not_built_error(kernels.0))?;
                let sources: Vec<&Picture> = sources.iter().collect();
                let plan = built.plan((&sources, &target), &mut self.scratch, whole)?;
                match layer {
                    None => Step::Chosen(plan),
                    Some(index) => Step::Layer(index, kernels, plan),
                }
            }
        })
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

    /// Returns the filters that make the picture, in their order; none if it is not filtered. Layers of a stack are left out if they
    /// are not built, or if their trial failed. `layout` is that of the planes in the slot, if it has planes.
    ///
    /// # Errors
    /// If the chosen variant is not built or does not support the picture, or the trial of any kernels is pending.
    fn links(
        &mut self,
        slot: &Slot,
        request: &Request,
        layout: Option<Layout>,
    ) -> Result<Vec<Link>, Refusal> {
        let mut links = Vec::new();
        for (layer, kernels, settings) in request.filters() {
            let case =
                TrialCase { variant: kernels.0, version: kernels.1, size: slot.size, settings, layout: None };
            let link = match layer {
                None if kernels.0.reads_planes() => self.planar_link(slot, request, layout),
                _ => {
                    self.trials.require(case).and_then(|()| self.link((layer, kernels, settings), slot.size))
                }
            };
            match link {
                Err(Refusal::Unsupported(_)) if layer.is_some() => {}
                link => links.push(link?),
            }
        }
        Ok(links)
    }

    /// Returns the link of a filter that reads RGBA pictures of this size.
    ///
    /// # Errors
    /// If it is not built, or does not support the picture.
    fn link(
        &self,
        (layer, kernels, settings): (Option<usize>, KernelsId, Settings),
        size: (u32, u32),
    ) -> Result<Link, Refusal> {
        match self.variants.get(kernels) {
            Some(built) => {
                let supported = built.id().supports(&self.cl.device.info, size.0, size.1);
                supported.map_err(Refusal::Unsupported)?;
                let (number, [input, output]) = (built.number, built.storages(size));
                Ok(Link { layer, kernels, settings, number, input, output })
            }
            // This version has just been replaced by the one that the wipe is going to show.
            None if kernels.1.is_some() => Err(Refusal::TrialPending),
            None => Err(Refusal::Unsupported(not_built_error(kernels.0))),
        }
    }

    /// Returns the link of the chosen variant, which filters planes with this layout.
    ///
    /// # Errors
    /// If it is not built, its trial is pending, it does not support the planes, or there are other filters in the stack.
    fn planar_link(
        &mut self,
        slot: &Slot,
        request: &Request,
        layout: Option<Layout>,
    ) -> Result<Link, Refusal> {
        let Request { variant, version, settings, .. } = *request;
        if !request.stack.is_empty() {
            return Err(Refusal::Unsupported(not_in_a_stack(variant)));
        }
        let unsupported = |why: &str| {
            let hint = match variant.opened() {
                None => "Choose another variant; fused filters pictures of any format.",
                Some(_) => "Choose a filter of RGBA pictures (F), or convert the movie to 8 or 10 bits.",
            };
            Refusal::Unsupported(Error::new(format!("'{variant}' cannot filter this movie."), why, hint))
        };
        let missing = || match self.conversions.known.trust.values().any(|trust| *trust == Trust::Refused) {
            true => "The program that converts its pictures on the device does not build, or is wrong.",
            false => "The device does not read the planes of its pictures' format.",
        };
        let layout = layout.ok_or_else(|| unsupported(missing()))?;
        let bytes = variant.planes_extent(layout, settings).bytes().map(|bytes| bytes as u64);
        self.trials.require(TrialCase {
            variant,
            version,
            size: slot.size,
            settings,
            layout: Some(layout),
        })?;
        let built = self.variants.get(request.kernels()).ok_or_else(|| unsupported("It is not built."))?;
        let most = bytes[0].max(bytes[1]);
        if !self.cl.device.info.has_room(most, most) {
            return Err(unsupported("Its planes are larger than one piece of the device's memory."));
        }
        let output = match variant.output_layout(layout) {
            None => built.storages(slot.size)[1],
            Some(_) if self.writes_texture_of(slot) => Storage::Image,
            Some(_) => Storage::Buffer,
        };
        let (kernels, number) = (request.kernels(), built.number);
        Ok(Link { layer: None, kernels, settings, number, input: Storage::Buffer, output })
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
