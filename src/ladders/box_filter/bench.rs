//! Benchmarks of the ladder on one device. In: frames, variants, radii. Out: for each radius the time of a
//! copy and the outcome of each variant. Every variant is checked before and while it is timed.

use super::BuiltVariant;
use super::checks::{Tried, fail, not_passed};
use super::glsl::Offscreen;
use super::native::Lanes;
use super::pictures::noise;
use super::planar::{PlanarFilter, planes_of};
use super::rounds::Bench;
use super::trial::{Case, Launch, Trials};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Device, failed};
use crate::gpu::memory::{Picture, Storage};
use crate::ladder::measure::{self, Measurement, Sample};
use crate::ladder::{BackEnd, Outcome};
use crate::ladders::box_filter::VariantId;
use crate::memory::require;
use crate::verify::Checked;

/// What is filtered, and how often.
pub struct Input<'a> {
    /// RGBA frames of `width` by `height` pixels, at least one.
    pub frames: &'a [Vec<u8>],
    /// Width of the frames in pixels.
    pub width: u32,
    /// Height of the frames in pixels.
    pub height: u32,
    /// Timed rounds; each takes the next frame, and runs every variant once.
    pub rounds: u32,
    /// Whether the filter in Rust takes part: on one thread and on all, plain and in vectors.
    pub native: bool,
    /// Whether nothing is checked or timed any more after something that is wrong or failed.
    pub fail_fast: bool,
}

/// What came out for one radius.
#[derive(Debug, Clone)]
pub struct RadiusRun {
    /// The radius in pixels.
    pub radius: u32,
    /// A device copy of one frame, alternating with the variants.
    pub copy: Option<Measurement>,
    /// A device copy of the bytes that `planar` reads, where that takes part.
    pub planes_copy: Option<Measurement>,
    /// What came of each variant, in the order asked for.
    pub variants: Vec<(VariantId, Outcome)>,
    /// What was compared of each of them, in the same order; nothing of one that was not checked to its end.
    pub checked: Vec<Vec<Checked>>,
    /// What `auto` chose, as in `fused STRIPS=2`; `None` where it did not take part or failed.
    pub auto: Option<String>,
    /// The same algorithm without OpenCL, by threads and vectors; empty where it was not asked for.
    pub native: Vec<NativeRun>,
}

/// Times of [`filter`](super::native::filter).
#[derive(Debug, Clone)]
pub struct NativeRun {
    /// Threads.
    pub threads: usize,
    /// How a row is summed.
    pub lanes: Lanes,
    /// Wall time, or what went wrong.
    pub outcome: std::result::Result<Measurement, NativeFault>,
}

/// Told how a benchmark goes on.
pub trait Watch {
    /// What happens next; called once for each variant that is checked and each round that is timed.
    fn next(&mut self, what: &str);

    /// What is known so far at a radius, after each of its rounds. A variant that has not had one yet is
    /// [left out](Outcome::Skipped), as [`NOT_TIMED`](crate::ladder::NOT_TIMED) says.
    fn so_far(&mut self, run: RadiusRun);
}

/// Why a [`NativeRun`] has no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeFault {
    /// It differs from the reference.
    Differs,
    /// It did not run, and why.
    Failed(String),
}

/// Whether there is memory to time `variants` on frames of this size, besides the frames. On a CPU device, so that it
/// never promises too much: other devices have memory of their own.
///
/// # Errors
/// When there is not.
pub fn require_memory((width, height): (u32, u32), variants: &[VariantId], native: bool) -> Result<()> {
    let any = |filter: &dyn Fn(VariantId) -> bool| usize::from(variants.iter().any(|&id| filter(id)));
    // In pictures: two to check with, and what is right; source and output of a check, before and after it, each with its
    // canaries; the same on the device, with row sums; source, destination and row sums of what is timed.
    let pictures = 3
        + 12
        + 8
        + 4
        + 4 * any(&|id| id.kernels().is_some_and(|info| info.storage == Storage::Image))
        + 4 * any(&|id| id.back_end() == BackEnd::Glsl)
        + 2 * any(&|id| native || id.back_end() == BackEnd::Native);
    require(width as usize * height as usize * 4 * pictures)
}

/// Checks and times `variants` on a device for each of `radii`. Without a device those that do without OpenCL are
/// timed, and no copy. Changed kernels are tried in `trials` first. What has been measured goes to `watch`, the last time for
/// each radius when all of it is there.
///
/// # Errors
/// When the device cannot be used at all. What goes wrong with one variant is its [`Outcome`].
pub fn run_device(
    device: Option<&Device>,
    input: &Input,
    variants: &[VariantId],
    radii: &[u32],
    trials: &mut Trials,
    watch: &mut dyn Watch,
) -> Result<()> {
    let Some(first) = input.frames.first() else {
        return Err(Error::new("There is nothing to time.", "The movie gave no frame.", ""));
    };
    require_memory((input.width, input.height), variants, input.native)?;
    let cl = device.map(ClContext::new).transpose()?;
    let mut built = Vec::new();
    for &id in variants {
        let candidate = match id.back_end() {
            BackEnd::Native => Ok(Candidate::Native),
            BackEnd::Glsl => offscreen(input).map(Candidate::Glsl),
            _ => match &cl {
                Some(cl) if id == VariantId::Planar => build_planes(cl, trials).map(Candidate::Planes),
                Some(cl) => build(cl, id, input, trials).map(Candidate::Kernels),
                None => Err(without_device()),
            },
        };
        built.push((id, candidate));
    }
    let on = match &cl {
        Some(cl) => Some(OnDevice { pairs: Pairs::new(cl, input, &built)?, cl }),
        None => None,
    };
    let mut bench = Bench::new(on, input, trials);
    if let Some(on) = &bench.on {
        on.pairs.load(on.cl, first)?;
    }
    for &radius in radii {
        if bench.radius(&built, radius, watch)? && input.fail_fast {
            break;
        }
    }
    Ok(())
}

/// What building a variant runs, to be tried before it is built here.
pub(super) const TINY: (u32, u32) = (70, 3);

fn build(cl: &ClContext, id: VariantId, input: &Input, trials: &mut Trials) -> Tried<BuiltVariant> {
    let info = id.kernels().ok_or_else(|| Box::new(Outcome::Skipped("It is no filter.".to_owned())))?;
    info.supports(&cl.device.info, input.width, input.height)
        .map_err(|e| Box::new(Outcome::Unsupported(e.why)))?;
    let src = noise(TINY.0 as usize * TINY.1 as usize * 4);
    match trials
        .variant(cl, id, None, false, &Case { launch: Launch::Whole, ..case(&src, TINY, 1) })
        .map_err(fail)?
    {
        Some(tried) if tried.overran() => return Err(not_passed(tried)),
        _ => {}
    }
    BuiltVariant::build(cl, id).map_err(fail)
}

fn build_planes(cl: &ClContext, trials: &mut Trials) -> Tried<PlanarFilter> {
    let (layout, block) =
        planes_of(&noise(TINY.0 as usize * TINY.1 as usize * 4), TINY.0, TINY.1).map_err(fail)?;
    match trials.planar(cl, &layout, false, &case(&block, TINY, 1)).map_err(fail)? {
        Some(tried) if tried.overran() => return Err(not_passed(tried)),
        _ => {}
    }
    PlanarFilter::build(cl).map_err(fail)
}

/// What is tried before it is timed.
pub(super) fn case(src: &[u8], size: (u32, u32), radius: u32) -> Case<'_> {
    let longest_ms = Some(measure::SINGLE.as_secs_f64() * 1e3);
    Case { src, size, radius, launch: Launch::Checks, longest_ms, wants_picture: false }
}

pub(super) fn without_device() -> Box<Outcome> {
    Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))
}

fn offscreen(input: &Input) -> Tried<Offscreen> {
    Offscreen::new(input.width, input.height)
        .map_err(|e| Box::new(Outcome::Unsupported(format!("{} {}", e.what, e.why))))
}

/// What takes part.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Candidate {
    Kernels(BuiltVariant),
    Planes(PlanarFilter),
    Native,
    Glsl(Offscreen),
}

pub(super) type Built = [(VariantId, Tried<Candidate>)];

/// Source and destination in each storage that is needed; the buffers always, for the copy.
pub(super) struct Pairs {
    pub(super) buffer: (Picture, Picture),
    image: Option<(Picture, Picture)>,
}

impl Pairs {
    fn new(cl: &ClContext, input: &Input, built: &Built) -> Result<Self> {
        let new = |storage| Picture::alloc(cl, storage, input.width, input.height);
        let pair = |storage| Ok::<_, Error>((new(storage)?, new(storage)?));
        let images = built
            .iter()
            .any(|(_, b)| matches!(b, Ok(Candidate::Kernels(b)) if b.kernels().storage == Storage::Image));
        Ok(Self {
            buffer: pair(Storage::Buffer)?,
            image: if images { Some(pair(Storage::Image)?) } else { None },
        })
    }

    pub(super) fn load(&self, cl: &ClContext, frame: &[u8]) -> Result<()> {
        self.buffer.0.write(&cl.queue, frame)?;
        self.image.as_ref().map_or(Ok(()), |(src, _)| src.write(&cl.queue, frame))
    }

    pub(super) fn of(&self, storage: Storage) -> &(Picture, Picture) {
        match (storage, &self.image) {
            (Storage::Image, Some(pair)) => pair,
            _ => &self.buffer,
        }
    }
}

/// The device, and its pictures.
pub(super) struct OnDevice<'a> {
    pub(super) cl: &'a ClContext,
    pub(super) pairs: Pairs,
}

/// Copies a buffer to another on the device, waits, and times it.
pub(crate) fn copy(queue: &ocl::Queue, from: &Picture, to: &Picture) -> Result<Sample> {
    let (Picture::Buffer(from), Picture::Buffer(to)) = (from, to) else {
        return Err(Error::new("The copy could not be timed.", "It needs buffers.", ""));
    };
    measure::sample(queue, |queue| {
        let mut event = ocl::Event::empty();
        let copied = from.copy(to, None, None).queue(queue).enew(&mut event).enq();
        copied.map_err(|e| failed("A picture could not be copied on the device.", &e))?;
        Ok(vec![event])
    })
}
