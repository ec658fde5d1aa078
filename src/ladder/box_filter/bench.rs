//! Benchmarks of the ladder on one device. In: frames, variants, radii. Out: for each radius the time of a
//! copy and the outcome of each variant. Every variant is checked before it is timed.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use super::checks::{Checks, Tried, fail, not_passed, tried as passed};
use super::glsl::Offscreen;
use super::native::{self, Lanes};
use super::planar::run as planes;
use super::planar::{PlanarFilter, PlanarPlan, planes_of};
use super::trial::{Case, Launch, Trials};
use super::{BuiltVariant, Picture, Plan, Scratch, info};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Device, failed};
use crate::ladder::measure::{self, Contender, Measurement, Results, Sample, Timed};
use crate::ladder::{Kind, Outcome, Storage, VariantId};
use crate::media::memory::{require, zeroed};
use crate::stats::ms_since;

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
    /// What `auto` chose, as in `fused STRIPS=2`; `None` where it did not take part or failed.
    pub auto: Option<String>,
    /// The same algorithm without OpenCL, by threads and vectors; empty where it was not asked for.
    pub native: Vec<NativeRun>,
}

/// Times of [`native::filter`].
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
    /// [left out](Outcome::Skipped), as [`NOT_TIMED`] says.
    fn so_far(&mut self, run: RadiusRun);
}

/// Why something that was to be timed has no time yet.
pub const NOT_TIMED: &str = "It was not timed.";

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
    // In pictures: three to check with, what is right, and the reference's table; source, destination and row sums, and
    // the same for the check.
    let pictures = 14
        + 4 * any(&|id| info(id).is_some_and(|info| info.storage == Storage::Image))
        + 4 * any(&|id| id.kind() == Kind::Glsl)
        + 2 * any(&|id| native || id.kind() == Kind::Native);
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
        let candidate = match id.kind() {
            Kind::Native => Ok(Candidate::Native),
            Kind::Glsl => offscreen(input).map(Candidate::Glsl),
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
    let mut bench = Bench { on, scratch: Scratch::new(), input, trials };
    if let Some(on) = &bench.on {
        on.pairs.load(on.cl, first)?;
    }
    radii.iter().try_for_each(|&radius| bench.radius(&built, radius, watch))
}

/// What building a variant runs, to be tried before it is built here.
const TINY: (u32, u32) = (70, 3);

fn build(cl: &ClContext, id: VariantId, input: &Input, trials: &mut Trials) -> Tried<BuiltVariant> {
    let info = info(id).ok_or_else(|| Box::new(Outcome::Skipped("It is no filter.".to_owned())))?;
    info.supports(&cl.device.info, input.width, input.height)
        .map_err(|e| Box::new(Outcome::Unsupported(e.why)))?;
    let src = noise(TINY.0 as usize * TINY.1 as usize * 4);
    match trials.variant(cl, id, None, false, &case(&src, TINY, 1)).map_err(fail)? {
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
fn case(src: &[u8], size: (u32, u32), radius: u32) -> Case<'_> {
    let longest_ms = Some(measure::SINGLE.as_secs_f64() * 1e3);
    Case { src, size, radius, launch: Launch::Whole, longest_ms, wants_picture: false }
}

fn without_device() -> Box<Outcome> {
    Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))
}

fn offscreen(input: &Input) -> Tried<Offscreen> {
    Offscreen::new(input.width, input.height)
        .map_err(|e| Box::new(Outcome::Unsupported(format!("{} {}", e.what, e.why))))
}

/// What takes part.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
enum Candidate {
    Kernels(BuiltVariant),
    Planes(PlanarFilter),
    Native,
    Glsl(Offscreen),
}

type Built = [(VariantId, Tried<Candidate>)];

/// What is timed, for one radius.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
enum Ready<'b> {
    Kernels(Plan, ocl::Queue),
    Planes(Box<Planes>),
    Native,
    Glsl(&'b Offscreen),
}

/// The planes of the frame, the filter on them, and room for a copy.
struct Planes {
    plan: PlanarPlan,
    from: Picture,
    copied: Picture,
    queue: ocl::Queue,
}

/// What a contender's times are for.
enum Row {
    Copy,
    PlanesCopy,
    /// By its place among the variants.
    Variant(usize),
    /// By its place in the grid of threads and vectors.
    Native(usize),
}

impl NativeRun {
    /// Whether its check has passed: it is timed, or will be.
    fn is_exact(&self) -> bool {
        !matches!(&self.outcome, Err(NativeFault::Differs))
    }
}

impl RadiusRun {
    /// The same with what has been measured.
    fn with(&self, rows: &[Row], results: &Results) -> Self {
        let mut run = self.clone();
        for (row, timed) in rows.iter().zip(results) {
            let measured = timed.as_ref().map(Timed::measurement);
            match (row, measured) {
                (Row::Copy, Ok(measured)) => run.copy = measured,
                (Row::PlanesCopy, Ok(measured)) => run.planes_copy = measured,
                (Row::Variant(place), measured) => {
                    if let Some((_, outcome)) = run.variants.get_mut(*place) {
                        match measured {
                            Ok(Some(measured)) => *outcome = Outcome::Ok(measured),
                            Ok(None) => {}
                            Err(e) => *outcome = Outcome::Failed(e.clone()),
                        }
                    }
                }
                (Row::Native(place), measured) => {
                    if let Some(one) = run.native.get_mut(*place) {
                        match measured {
                            Ok(Some(measured)) => one.outcome = Ok(measured),
                            Ok(None) => {}
                            Err(e) => one.outcome = Err(NativeFault::Failed(e.to_string())),
                        }
                    }
                }
                // A copy that fails has no time.
                (Row::Copy | Row::PlanesCopy, Err(_)) => {}
            }
        }
        run
    }
}

/// Source and destination in each storage that is needed; the buffers always, for the copy.
struct Pairs {
    buffer: (Picture, Picture),
    image: Option<(Picture, Picture)>,
}

impl Pairs {
    fn new(cl: &ClContext, input: &Input, built: &Built) -> Result<Self> {
        let new = |storage| Picture::alloc(cl, storage, input.width, input.height);
        let pair = |storage| Ok::<_, Error>((new(storage)?, new(storage)?));
        let images = built
            .iter()
            .any(|(_, b)| matches!(b, Ok(Candidate::Kernels(b)) if b.info().storage == Storage::Image));
        Ok(Self {
            buffer: pair(Storage::Buffer)?,
            image: if images { Some(pair(Storage::Image)?) } else { None },
        })
    }

    fn load(&self, cl: &ClContext, frame: &[u8]) -> Result<()> {
        self.buffer.0.write(&cl.queue, frame)?;
        self.image.as_ref().map_or(Ok(()), |(src, _)| src.write(&cl.queue, frame))
    }

    fn of(&self, storage: Storage) -> &(Picture, Picture) {
        match (storage, &self.image) {
            (Storage::Image, Some(pair)) => pair,
            _ => &self.buffer,
        }
    }
}

/// The device, and its pictures.
struct OnDevice<'a> {
    cl: &'a ClContext,
    pairs: Pairs,
}

struct Bench<'a> {
    on: Option<OnDevice<'a>>,
    trials: &'a mut Trials,
    input: &'a Input<'a>,
    scratch: Scratch,
}

impl Bench<'_> {
    fn radius(&mut self, built: &Built, radius: u32, watch: &mut dyn Watch) -> Result<()> {
        let mut checks = Checks::new(self.input, radius);
        let mut so_far = RadiusRun {
            radius,
            copy: None,
            planes_copy: None,
            variants: Vec::new(),
            auto: None,
            native: Vec::new(),
        };
        let mut ready: Vec<(usize, u32, Ready)> = Vec::new();
        for (id, variant) in built {
            watch.next(&format!("checking {id}, r={radius}"));
            let prepared = match variant {
                Ok(Candidate::Kernels(variant)) => {
                    self.prepare(variant, radius, &mut checks).map(|(rounds, plan, queue)| {
                        so_far.auto = (*id == VariantId::Auto).then(|| plan.chosen()).or(so_far.auto.take());
                        (rounds, Ready::Kernels(plan, queue))
                    })
                }
                Ok(Candidate::Planes(filter)) => self.prepare_planes(filter, radius, &checks),
                Ok(Candidate::Native) => {
                    let (width, height) = (self.input.width, self.input.height);
                    let check = |src: &[u8], want: &[u8]| native::check(src, want, width, height, radius);
                    checks.peer(check).and_then(|ms| self.rounds(ms)).map(|rounds| (rounds, Ready::Native))
                }
                Ok(Candidate::Glsl(offscreen)) => checks
                    .peer(|src, want| offscreen.check(src, want, radius))
                    .and_then(|ms| self.rounds(ms))
                    .map(|rounds| (rounds, Ready::Glsl(offscreen))),
                Err(outcome) => Err(outcome.clone()),
            };
            let outcome = match prepared {
                Ok((rounds, plan)) => {
                    ready.push((so_far.variants.len(), rounds, plan));
                    Outcome::Skipped(NOT_TIMED.to_owned())
                }
                Err(outcome) => *outcome,
            };
            so_far.variants.push((*id, outcome));
        }
        so_far.native = checks.native_grid()?;
        let (on, frames) = (self.on.as_ref(), self.input.frames);
        let frame = Cell::new(0);
        let out = RefCell::new(vec![0; frames.first().map_or(0, Vec::len)]);
        let (mut rows, mut contenders) = (Vec::new(), Vec::new());
        let mut add = |row, rounds, run| {
            rows.push(row);
            contenders.push(Contender { rounds, run });
        };
        if let Some(OnDevice { cl, pairs }) = on {
            let (from, to) = &pairs.buffer;
            copy(&cl.queue, from, to)?; // warm up
            add(Row::Copy, self.input.rounds, Box::new(|| copy(&cl.queue, from, to)));
        }
        let size = (self.input.width as usize, self.input.height as usize);
        let (frame, out) = (&frame, &out);
        let run_native = move |threads, lanes| {
            let begin = Instant::now();
            native::filter(&frames[frame.get()], &mut out.borrow_mut(), size, radius, threads, lanes)?;
            let ms = ms_since(begin);
            Ok(Sample { device_ms: ms, dispatch_ms: 0.0, wall_ms: ms })
        };
        for (place, rounds, ready) in &ready {
            let run: Box<dyn FnMut() -> Result<Sample>> = match ready {
                Ready::Kernels(plan, queue) => {
                    Box::new(move || measure::sample(queue, |q| plan.enqueue_all(q)))
                }
                Ready::Planes(planes) => {
                    let Planes { plan, from, copied, queue } = &**planes;
                    copy(queue, from, copied)?; // warm up
                    add(Row::PlanesCopy, self.input.rounds, Box::new(move || copy(queue, from, copied)));
                    Box::new(move || {
                        measure::sample(queue, |q| Ok(vec![plan.enqueue(q, from, 0..plan.rows())?]))
                    })
                }
                Ready::Glsl(offscreen) => Box::new(move || offscreen.run(radius)),
                Ready::Native => Box::new(move || run_native(native::all_threads(), Lanes::Vector)),
            };
            add(Row::Variant(*place), *rounds, run);
        }
        for (place, one) in so_far.native.iter().enumerate().filter(|(_, one)| one.is_exact()) {
            let (threads, lanes) = (one.threads, one.lanes);
            add(Row::Native(place), self.input.rounds, Box::new(move || run_native(threads, lanes)));
        }
        let results = measure::alternate(self.input.rounds, &mut contenders, |round, results| {
            if round > 0 {
                watch.so_far(so_far.with(&rows, results));
            }
            watch.next(&format!("timing r={radius}, round {}", round + 1));
            frame.set(round as usize % frames.len());
            let next = &frames[round as usize % frames.len()];
            for (_, candidate) in built {
                if let Ok(Candidate::Glsl(offscreen)) = candidate {
                    offscreen.load(next);
                }
            }
            for (.., ready) in &ready {
                if let Ready::Planes(planes) = ready {
                    let (_, block) = planes_of(next, self.input.width, self.input.height)?;
                    planes.from.write(&planes.queue, &block)?;
                }
            }
            on.map_or(Ok(()), |on| on.pairs.load(on.cl, next))
        })?;
        watch.so_far(so_far.with(&rows, &results));
        Ok(())
    }

    /// Decides how often the variant can run, and checks it.
    fn prepare(
        &mut self,
        variant: &BuiltVariant,
        radius: u32,
        checks: &mut Checks,
    ) -> Tried<(u32, Plan, ocl::Queue)> {
        let OnDevice { cl, pairs } = self.on.as_ref().ok_or_else(without_device)?;
        let (width, height) = (self.input.width, self.input.height);
        let tried = case(&self.input.frames[0], (width, height), radius);
        passed(self.trials.variant(cl, variant.info().id, None, false, &tried))?;
        let (src, dst) = pairs.of(variant.info().storage);
        let plan = variant.plan(cl, src, dst, &mut self.scratch, width, height, radius).map_err(fail)?;
        let predicted_ms = measure::predict(&plan, &cl.queue).map_err(fail)?;
        let rounds = self.rounds(predicted_ms)?;
        checks.variant(cl, variant, predicted_ms)?;
        Ok((rounds, plan, cl.queue.clone()))
    }

    /// Checks the filter on planes, and puts planes on the device.
    fn prepare_planes<'b>(
        &mut self,
        filter: &PlanarFilter,
        radius: u32,
        checks: &Checks,
    ) -> Tried<(u32, Ready<'b>)> {
        let cl = self.on.as_ref().ok_or_else(without_device)?.cl;
        let size = (self.input.width, self.input.height);
        let (layout, block) = planes_of(&self.input.frames[0], size.0, size.1).map_err(fail)?;
        passed(self.trials.planar(cl, &layout, false, &case(&block, size, radius)))?;
        let (layout, block) = checks.planes(cl, filter)?;
        let mut prepare = || {
            let from = planes::on_device(cl, &block)?;
            let copied = planes::on_device(cl, &block)?;
            let to = planes::on_device(cl, &zeroed(layout.filtered().bytes())?)?;
            let plan = filter.plan(cl, &layout, &to, &mut self.scratch, radius)?;
            let planes = Planes { plan, from, copied, queue: cl.queue.clone() };
            Ok((self.input.rounds, Ready::Planes(Box::new(planes))))
        };
        prepare().map_err(fail)
    }

    /// How often something that takes so long can run.
    fn rounds(&self, ms: f64) -> Tried<u32> {
        measure::rounds_for(ms, self.input.rounds).map_err(|why| Box::new(Outcome::Skipped(why)))
    }
}

/// Noise by the xorshift generator (G. Marsaglia, "Xorshift RNGs", 2003), the same each time.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 9) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
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
