//! What takes part in a benchmark, built for one device. In: variants, and the size of the pictures. Out: their programs, or
//! the [`Outcome`] that stand in the place of their times; and pictures on the device.

use std::rc::Rc;

use super::checks::{TINY, not_passed, trial_case};
use super::pictures::noise;
use super::planar::{PlanarFilter, planes_of};
use super::trial::{Case, Launch, Trials};
use super::whole::{Shaders, WholeFrames};
use super::{BuiltVariant, VariantId};
use base::error::{Error, Result};
use ladder::bench::{Tried, fail};
use ladder::{BackEnd, Outcome};
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};

/// A variant that is built.
#[derive(Clone)]
pub(super) enum Candidate {
    Kernels(Rc<BuiltVariant>),
    Planes(Rc<PlanarFilter>),
    Threads,
    Shaders(Rc<dyn Shaders>),
}

/// Builds a variant for pictures of a size; without a device there is the outcome of what needs one.
pub(super) fn candidate(
    cl: std::result::Result<&ClContext, &Outcome>,
    id: VariantId,
    size: (u32, u32),
    trials: &mut Trials,
    whole: &mut dyn WholeFrames,
) -> Tried<Candidate> {
    match (id.back_end(), cl) {
        (BackEnd::Native, _) => Ok(Candidate::Threads),
        (BackEnd::Glsl, _) => shaders(size, whole).map(Candidate::Shaders),
        (_, Err(without)) => Err(Box::new(without.clone())),
        (_, Ok(cl)) if id.reads_planes() => {
            build_planes(cl, id, trials).map(|one| Candidate::Planes(Rc::new(one)))
        }
        (_, Ok(cl)) => build(cl, id, size, trials).map(|one| Candidate::Kernels(Rc::new(one))),
    }
}

fn build(cl: &ClContext, id: VariantId, size: (u32, u32), trials: &mut Trials) -> Tried<BuiltVariant> {
    let info = id.kernels().ok_or_else(|| Box::new(Outcome::Skipped("It is no filter.".to_owned())))?;
    info.supports(&cl.device.info, size.0, size.1).map_err(|e| Box::new(Outcome::Unsupported(e.why)))?;
    let src = noise(TINY.0 as usize * TINY.1 as usize * 4);
    let case = Case { launch: Launch::Whole, ..trial_case(&src, TINY, 1) };
    match trials.variant(cl, id, None, false, &case).map_err(fail)? {
        Some(tried) if tried.overran() => return Err(not_passed(tried)),
        _ => {}
    }
    BuiltVariant::build(cl, id).map_err(fail)
}

fn build_planes(cl: &ClContext, id: VariantId, trials: &mut Trials) -> Tried<PlanarFilter> {
    let (layout, block) =
        planes_of(&noise(TINY.0 as usize * TINY.1 as usize * 4), TINY.0, TINY.1).map_err(fail)?;
    match trials.planar(cl, id, &layout, false, &trial_case(&block, TINY, 1)).map_err(fail)? {
        Some(tried) if tried.overran() => return Err(not_passed(tried)),
        _ => {}
    }
    PlanarFilter::build(cl, id).map_err(fail)
}

fn shaders(size: (u32, u32), whole: &mut dyn WholeFrames) -> Tried<Rc<dyn Shaders>> {
    whole.shaders(size).map_err(|e| Box::new(Outcome::Unsupported(format!("{} {}", e.what, e.why))))
}

/// The device, with source and destination in each storage that is needed; buffers always, for the copy.
pub(super) struct OnDevice {
    pub cl: ClContext,
    buffer: (Picture, Picture),
    image: Option<(Picture, Picture)>,
}

impl OnDevice {
    /// Pictures of a size for what is built.
    pub(crate) fn new<'a>(
        cl: ClContext,
        (width, height): (u32, u32),
        mut built: impl Iterator<Item = &'a Tried<Candidate>>,
    ) -> Result<Self> {
        let new = |storage| Picture::alloc(&cl, storage, width, height);
        let pair = |storage| Ok::<_, Error>((new(storage)?, new(storage)?));
        let reads_images = |b: &Tried<Candidate>| matches!(b, Ok(Candidate::Kernels(b)) if b.kernels().storage == Storage::Image);
        let buffer = pair(Storage::Buffer)?;
        let image = built.any(reads_images).then(|| pair(Storage::Image)).transpose()?;
        Ok(Self { buffer, image, cl })
    }

    /// Puts a frame into the sources.
    pub(crate) fn load(&self, frame: &[u8]) -> Result<()> {
        self.buffer.0.write(&self.cl.queue, frame)?;
        self.image.as_ref().map_or(Ok(()), |(src, _)| src.write(&self.cl.queue, frame))
    }

    /// Source and destination.
    pub(crate) fn pair(&self, storage: Storage) -> &(Picture, Picture) {
        match (storage, &self.image) {
            (Storage::Image, Some(pair)) => pair,
            _ => &self.buffer,
        }
    }
}
