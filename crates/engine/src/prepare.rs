//! What the OpenCL device is to do to a frame, before any of it is there. In: a loaded [`Slot`], a variant, a radius
//! and a correction. Out: the commands around the filter, with the memory that they need, and the filter, which the
//! slot has kept where an earlier frame had the same.

use super::beside::Share;
use super::device_job::{Colors, DeviceJob};
use super::filter::{FrameFilter, OnPixels, OnPlanes};
use super::load::Prepared;
use super::pipeline::{measuring, not_built};
use super::plans::Key;
use super::slot::{Loaded, Slot};
use super::{Pipeline, Refusal, Request, TrialCase};
use base::error::Error;
use box_filter::{BuiltVariant, VariantId};
use opencl::memory::{Picture, Storage};
use video::color::{Correction, RgbaColors};

impl Pipeline {
    /// Prepares conversion, correction and filter for what is loaded in `slot`; nothing is enqueued yet. With
    /// [`VariantId::Off`] there is no filter.
    ///
    /// # Errors
    /// When the variant is not built, does not support this picture, or memory runs out.
    pub(super) fn prepare(
        &mut self,
        slot: &mut Slot,
        request: &Request,
        correction: Option<Correction>,
        rgba: RgbaColors,
        share: &Share,
    ) -> Result<Prepared, Refusal> {
        let Request { variant, radius, .. } = *request;
        if variant.reads_planes() {
            return self.prepare_planar(slot, request, correction);
        }
        let size = slot.size();
        self.require_trial(TrialCase { variant, size, radius, layout: None })?;
        let cl = &self.cl;
        let built = self.built.get(&variant);
        if variant != VariantId::Off && built.is_none() {
            return Err(Refusal::Unsupported(not_built(variant)));
        }
        if let Some(built) = built {
            let supported = built.kernels().supports(&cl.device.info, size.0, size.1);
            supported.map_err(Refusal::Unsupported)?;
        }
        let planes = slot.loaded() == Loaded::Planes;
        let to_texture = self.shares_with(slot);
        let correction = correction.filter(|_| planes || self.corrects());
        // What two filters read is a buffer; one that reads images has a copy of it in one.
        let shared = match share {
            Share::Beside(kept) => kept.on_device.clone(),
            Share::First if planes || correction.is_some() => {
                Some(self.between.get(cl, Storage::Buffer, size)?)
            }
            Share::First if !cl.uses_host_memory() => Some(slot.source(cl, Storage::Buffer)?),
            _ => None,
        };
        let is_made = matches!(share, Share::Beside(_));
        let is_unfiltered = built.is_none() && (shared.is_some() || !planes && correction.is_none());
        let storage = match built {
            Some(built) => built.kernels().storage,
            // What is measured is best a buffer.
            None if to_texture && !is_unfiltered => Storage::Image,
            None => Storage::Buffer,
        };
        // Where the last step writes, and whether that is not yet the texture.
        let output = built.map_or(storage, BuiltVariant::output);
        let wanted = measuring(&mut self.scopes, cl, request, output, size);
        let last = if to_texture { slot.shared(cl)? } else { slot.target(cl, output)? };
        let is_stretched = self.levels_write(wanted.as_ref(), &last);
        let (target, to_copy) = match (is_stretched, output) {
            (true, _) => (self.filtered.get(cl, output, size)?, None),
            (false, Storage::Buffer) if to_texture => {
                let as_it_is = shared.as_ref().filter(|_| is_unfiltered && !request.measures());
                let filtered = match as_it_is {
                    Some(shared) => shared.clone(),
                    None => self.filtered.get(cl, output, size)?,
                };
                (filtered.clone(), Some(filtered))
            }
            (false, _) => (last.clone(), None),
        };
        let source = match &shared {
            Some(shared) if is_made => Some(shared.clone()),
            _ if planes => None,
            Some(_) => Some(slot.source(cl, Storage::Buffer)?),
            None => Some(slot.source(cl, storage)?),
        };
        let unfiltered = match (shared.as_ref().or(source.as_ref()), &target) {
            (Some(from), to) if from.mem().raw() == to.mem().raw() => None,
            (Some(Picture::Buffer(from)), Picture::Buffer(to)) if is_unfiltered => {
                Some((from.clone(), to.clone()))
            }
            _ => None,
        };
        let mut colored = || match (&shared, built) {
            (Some(shared), _) => Ok(shared.clone()),
            (None, None) => Ok(target.clone()),
            (None, Some(_)) => self.between.get(cl, storage, size),
        };
        let (filter_source, colors) = match (source, correction) {
            (None, correction) => {
                let to = colored()?;
                let correction = correction.unwrap_or(Correction::NEUTRAL);
                (to.clone(), Some(Colors::Convert { correction, to }))
            }
            (Some(from), Some(correction)) => {
                let to = colored()?;
                self.known.correct(size, from.storage(), to.storage());
                (to.clone(), Some(Colors::Correct { correction, rgba, from, to }))
            }
            (Some(source), None) => (source, None),
        };
        let (filter_source, to_image) = match filter_source {
            from @ Picture::Buffer(_) if built.is_some() && storage == Storage::Image => {
                let to = self.as_image.get(cl, storage, size)?;
                (to.clone(), Some((from, to)))
            }
            source => (source, None),
        };
        let filter = match built {
            None => None,
            Some(built) => {
                let key = Key::new(built.number(), radius, None, [&filter_source, &target]);
                let filter = match slot.plans().take(&key) {
                    Some(filter) => filter,
                    None => {
                        let (scratch, (width, height)) = (&mut self.scratch, size);
                        let plan = built.plan(cl, &filter_source, &target, scratch, width, height, radius)?;
                        Box::new(OnPixels { plan, queue: cl.queue.clone() })
                    }
                };
                Some((Some(key), filter))
            }
        };
        let to = if is_stretched { last } else { target.clone() };
        let wanted = wanted.map(|wanted| (wanted, target, to));
        let on_device = Some(DeviceJob {
            colors,
            to_image,
            to_copy,
            to_texture,
            unfiltered,
            wanted,
            ..DeviceJob::default()
        });
        Ok(Prepared { on_device, filter, unfiltered: shared, ..Prepared::default() })
    }

    /// The filter on the slot's planes, then the conversion of what comes out, straight to where the picture goes.
    fn prepare_planar(
        &mut self,
        slot: &mut Slot,
        request: &Request,
        correction: Option<Correction>,
    ) -> Result<Prepared, Refusal> {
        let Request { variant, radius, .. } = *request;
        let unsupported = |why: &str| {
            let hint = "Choose another variant; fused filters pictures of any format.";
            Refusal::Unsupported(Error::new(format!("'{variant}' cannot filter this movie."), why, hint))
        };
        let Some(layout) = slot.planes().map(|p| *p.layout()).filter(|_| slot.loaded() == Loaded::Planes)
        else {
            return Err(unsupported(self.known.why_not()));
        };
        self.require_trial(TrialCase { variant, size: slot.size(), radius, layout: Some(layout) })?;
        let Some(planar) = self.planar.get(&variant) else { return Err(unsupported("It is not built.")) };
        let cl = &self.cl;
        let filtered = layout.filtered();
        let bytes = filtered.bytes() as u64;
        if !cl.device.info.has_room(bytes, bytes) {
            return Err(unsupported("Its planes are larger than one piece of the device's memory."));
        }
        let block = self.planes.get(cl, Storage::Buffer, ((filtered.bytes() / 4) as u32, 1))?;
        let from = slot.planes_for_device(cl)?;
        let key = Key::new(planar.number(), radius, Some(layout), [&from, &block]);
        let filter: Box<dyn FrameFilter> = match slot.plans().take(&key) {
            Some(filter) => filter,
            None => {
                let plan = planar.plan(cl, &layout, &block, &mut self.scratch, radius)?;
                Box::new(OnPlanes { plan, from, queue: cl.queue.clone() })
            }
        };
        let to_texture = self.shares_with(slot);
        let last = match to_texture {
            true => slot.shared(cl)?,
            false => slot.target(cl, Storage::Buffer)?,
        };
        let wanted = measuring(&mut self.scopes, cl, request, last.storage(), slot.size());
        let to = match self.levels_write(wanted.as_ref(), &last) {
            true => self.filtered.get(cl, last.storage(), slot.size())?,
            false => last.clone(),
        };
        let correction = correction.unwrap_or(Correction::NEUTRAL);
        let wanted = wanted.map(|wanted| (wanted, to.clone(), last));
        let colors = Some(Colors::ConvertFiltered { correction, layout: filtered, from: block, to });
        let on_device = Some(DeviceJob { colors, to_texture, wanted, ..DeviceJob::default() });
        Ok(Prepared { on_device, filter: Some((Some(key), filter)), ..Prepared::default() })
    }

    /// Whether the device writes into the slot's texture.
    fn shares_with(&self, slot: &Slot) -> bool {
        self.to_texture() && slot.texture().is_some()
    }
}
