//! What is to be done to a frame, before any of it is on the device. In: a loaded [`Slot`], a variant, a radius and a
//! correction. Out: a [`Job`] with the memory that its steps need.

use std::collections::VecDeque;
use std::time::Duration;

use super::estimate::Estimate;
use super::job::{Colors, Events, Filter};
use super::plans::Key;
use super::{Job, JobTimes, Pipeline, Refusal, TrialCase};
use super::{Loaded, Slot};
use crate::color::Correction;
use crate::color::Matrix;
use crate::error::Error;
use crate::gpu::memory::{Picture, Storage};
use crate::ladders::box_filter::BuiltVariant;
use crate::ladders::box_filter::VariantId;

impl Pipeline {
    /// Predicted time of a whole frame on the device, in milliseconds.
    fn predict(&self, variant: VariantId, plan: &Filter) -> f64 {
        (0..plan.passes()).map(|pass| self.pace.ms(variant, pass, plan.work(pass))).sum()
    }

    /// Prepares conversion, correction and filter for what is loaded in `slot`; nothing is enqueued yet. The job's
    /// prediction is known from here on. With [`VariantId::Off`] there is no filter.
    ///
    /// # Errors
    /// When the variant is not built, does not support this picture, or memory runs out.
    pub fn prepare(
        &mut self,
        slot: &mut Slot,
        variant: VariantId,
        radius: u32,
        correction: Option<Correction>,
        matrix: Matrix,
    ) -> std::result::Result<Job, Refusal> {
        if variant == VariantId::Planar {
            return self.prepare_planar(slot, radius, correction);
        }
        let size = slot.size();
        self.require_trial(TrialCase { variant, size, radius, layout: None })?;
        let cl = &self.cl;
        let built = self.built.get(&variant);
        if variant != VariantId::Off && built.is_none() {
            let what = format!("The variant '{variant}' is not built.");
            return Err(Refusal::Unsupported(Error::new(what, "", "Choose another variant.")));
        }
        if let Some(built) = built {
            let supported = built.kernels().supports(&cl.device.info, size.0, size.1);
            supported.map_err(Refusal::Unsupported)?;
        }
        let planes = slot.loaded() == Loaded::Planes;
        let storage = match built {
            Some(built) => built.kernels().storage,
            None if self.to_texture => Storage::Image,
            None => Storage::Buffer,
        };
        // Where the last step writes, and whether that is not yet the texture.
        let (target, to_copy) = if !self.to_texture {
            (slot.target(cl, storage)?, None)
        } else {
            let texture = slot.shared(cl)?;
            match built.map_or(storage, BuiltVariant::output) {
                Storage::Image => (texture, None),
                Storage::Buffer => {
                    let filtered = self.filtered.get(cl, storage, size)?;
                    (filtered.clone(), Some(filtered))
                }
            }
        };
        let source = if planes { None } else { Some(slot.source(cl, storage)?) };
        let correction = correction.filter(|_| planes || self.corrects());
        let mut colored = || match built {
            None => Ok(target.clone()),
            Some(_) => self.between.get(cl, storage, size),
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
                (to.clone(), Some(Colors::Correct { correction, matrix, size, from, to }))
            }
            (Some(source), None) => (source, None),
        };
        let plan = match built {
            None => None,
            Some(built) => {
                let key = Key::new(built.number(), radius, None, [&filter_source, &target]);
                let plan = match slot.plans().take(&key) {
                    Some(plan) => plan,
                    None => {
                        let scratch = &mut self.scratch;
                        let (source, to) = (&filter_source, &target);
                        Filter::Pixels(built.plan(cl, source, to, scratch, size.0, size.1, radius)?)
                    }
                };
                Some((key, plan))
            }
        };
        Ok(self.job(variant, plan, colors, to_copy))
    }

    /// The filter on the slot's planes, then the conversion of what comes out, straight to where the picture goes.
    fn prepare_planar(
        &mut self,
        slot: &mut Slot,
        radius: u32,
        correction: Option<Correction>,
    ) -> std::result::Result<Job, Refusal> {
        let unsupported = |why: &str| {
            let hint = "Choose another variant; fused filters pictures of any format.";
            Refusal::Unsupported(Error::new("'planar' cannot filter this movie.", why, hint))
        };
        let Some(layout) = slot.planes().map(|p| *p.layout()).filter(|_| slot.loaded() == Loaded::Planes)
        else {
            return Err(unsupported(self.known.why_not()));
        };
        self.require_trial(TrialCase {
            variant: VariantId::Planar,
            size: slot.size(),
            radius,
            layout: Some(layout),
        })?;
        let Some(filter) = &self.planar else { return Err(unsupported("It is not built.")) };
        let cl = &self.cl;
        let filtered = layout.filtered();
        if filtered.bytes() as u64 > cl.device.info.max_allocation_bytes {
            return Err(unsupported("Its planes are larger than one piece of the device's memory."));
        }
        let to = self.planes.get(cl, Storage::Buffer, ((filtered.bytes() / 4) as u32, 1))?;
        let key = Key::new(filter.number(), radius, Some(layout), [&to, &to]);
        let plan = match slot.plans().take(&key) {
            Some(plan) => plan,
            None => Filter::Planes(Box::new(filter.plan(cl, &layout, &to, &mut self.scratch, radius)?)),
        };
        let target = match self.to_texture {
            true => slot.shared(cl)?,
            false => slot.target(cl, Storage::Buffer)?,
        };
        let correction = correction.unwrap_or(Correction::NEUTRAL);
        let colors = Colors::Convert { correction, to: target };
        Ok(self.job(VariantId::Planar, Some((key, plan)), Some(colors), None))
    }

    fn job(
        &self,
        variant: VariantId,
        plan: Option<(Key, Filter)>,
        colors: Option<Colors>,
        to_copy: Option<Picture>,
    ) -> Job {
        Job {
            variant,
            colors,
            to_copy,
            to_texture: self.to_texture,
            next: (0, 0),
            bands: VecDeque::new(),
            events: Events::default(),
            cancelled: false,
            started: None,
            estimate: plan.as_ref().map_or_else(Estimate::default, |(_, plan)| {
                let known = |pass| self.pace.known(variant, pass);
                Estimate::new((0..plan.passes()).map(|pass| (plan.work(pass), known(pass))))
            }),
            band_after: Duration::ZERO,
            predicted_ms: plan.as_ref().map_or(0.0, |(_, plan)| self.predict(variant, plan)),
            times: JobTimes::default(),
            bands_ns: Vec::new(),
            spans: Vec::new(),
            plan,
        }
    }
}
