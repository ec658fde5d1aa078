//! The benchmark of the box filter on one device. In: frames, what takes part, radii. Out: a [`Bench`], which the ladders'
//! common [benchmark](ladder::bench) runs. It has two limits: a device copy of a frame, and one of its planes.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use super::candidates::{Candidate, OnDevice, candidate};
use super::checks::{Checks, trial_case, tried};
use super::entrants::{Entrant, case, require_memory};
use super::native::{self, Lanes, all_threads};
use super::planar::{PlanarFilter, PlanarPlan, planes_of, run as planes};
use super::trial::Trials;
use super::whole::{Filter, Shaders, WholeFrames};
use super::{BuiltVariant, Plan, Scratch, VariantId};
use base::error::{Error, Result};
use base::memory::zeroed;
use base::timing::ms_since;
use base::verify::{self, MismatchReport};
use ladder::Outcome;
use ladder::bench::{Bench, Compared, Prepared, Tried, fail, no_limit, or_without, predict, without_device};
use ladder::measure::{self, Sample};
use ladder::rows::{Case, Chosen, Entry};
use opencl::cl::{ClContext, Device, Queue, failed};
use opencl::memory::{Picture, Rgba, Storage};

/// What is filtered.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// RGBA frames of `width` by `height` pixels, at least one. Each round takes the next one.
    pub frames: &'a [Vec<u8>],
    /// Width of the frames in pixels.
    pub width: u32,
    /// Height of the frames in pixels.
    pub height: u32,
}

/// The box filter on a device, or on none.
pub struct BoxBench<'a> {
    input: Input<'a>,
    on: Option<OnDevice>,
    /// What stands in the place of what needs the device, where that is not there or cannot be used.
    without: Box<Outcome>,
    built: HashMap<VariantId, Tried<Candidate>>,
    scratch: Scratch,
    /// Tries changed kernels first.
    trials: &'a mut Trials,
    /// Filters a frame as the window has it filtered.
    whole: &'a mut dyn WholeFrames,
}

/// A radius, and the memory that is its own.
pub struct Room<'a> {
    radius: u32,
    checks: Checks<'a>,
    planes: Option<Planes>,
    /// What the filter in Rust writes.
    out: Vec<u8>,
    /// The frame that is filtered.
    frame: usize,
}

/// The planes of a frame on the device, and room for a copy of them.
struct Planes {
    from: Picture,
    copied: Picture,
    /// The first frame's block, and what is right for it.
    first: (Vec<u8>, Vec<u8>),
}

/// What can be run at a radius.
pub enum Ready {
    /// Kernels, with source and destination.
    Kernels(Rc<BuiltVariant>, Plan, (Picture, Picture)),
    /// Kernels on planes.
    Planes(PlanarPlan),
    /// Shaders.
    Shaders(Rc<dyn Shaders>),
    /// So many threads.
    Threads(usize, Lanes),
    /// A device copy.
    Copy(Picture, Picture),
}

impl<'a> BoxBench<'a> {
    /// Builds what takes part. Without a device what does without OpenCL can be timed, and no copy. Changed kernels are
    /// tried in `trials` first. Before it is timed, each variant filters a frame by `whole`.
    ///
    /// # Errors
    /// When there is no frame, or memory runs out. A device that cannot be used fails what needs it.
    pub fn new(
        device: Option<&Device>,
        input: Input<'a>,
        entrants: &[Entrant],
        trials: &'a mut Trials,
        whole: &'a mut dyn WholeFrames,
    ) -> Result<Self> {
        let size = (input.width, input.height);
        if input.frames.is_empty() {
            return Err(Error::new("There is nothing to time.", "The movie gave no frame.", ""));
        }
        require_memory(size, entrants)?;
        let (cl, without) = or_without(device.map(ClContext::new).transpose());
        let mut built = HashMap::new();
        for entrant in entrants {
            if let Entrant::Variant(id) = *entrant {
                built.insert(id, candidate(cl.as_ref().ok_or(&*without), id, size, trials, whole));
            }
        }
        let on_device = |cl| {
            let on = OnDevice::new(cl, size, built.values())?;
            // What runs before the first round has something to filter.
            on.load(&input.frames[0])?;
            Ok(on)
        };
        let (on, without) = match cl {
            Some(cl) => or_without(on_device(cl).map(Some)),
            None => (None, without),
        };
        Ok(Self { input, on, without, built, scratch: Scratch::new(), trials, whole })
    }

    fn size(&self) -> (u32, u32) {
        (self.input.width, self.input.height)
    }

    fn on(&self) -> Tried<&OnDevice> {
        self.on.as_ref().ok_or_else(|| self.without.clone())
    }

    fn queue(&self) -> Result<&Queue> {
        let none = || Error::new("Kernels cannot run.", "There is no OpenCL device.", "");
        self.on.as_ref().map(|on| &on.cl.queue).ok_or_else(none)
    }

    fn prepare_kernels(
        &mut self,
        id: VariantId,
        variant: Rc<BuiltVariant>,
        room: &mut Room,
    ) -> Tried<Prepared<Ready>> {
        let ((width, height), radius) = (self.size(), room.radius);
        let OnDevice { cl, .. } = self.on.as_ref().ok_or_else(|| self.without.clone())?;
        let first = trial_case(&self.input.frames[0], (width, height), radius);
        tried(self.trials.variant(cl, id, None, false, &first))?;
        room.checks.first_look(cl, &variant)?;
        let (src, dst) = self.on()?.pair(variant.kernels().storage).clone();
        let plan = variant.plan(cl, &src, &dst, &mut self.scratch, width, height, radius).map_err(fail)?;
        let predicted_ms = plan.predict(&cl.queue).map_err(fail)?;
        let chosen = (id == VariantId::Auto).then(|| Chosen { what: plan.chosen(), tuned: None });
        let ready = Ready::Kernels(variant, plan, (src, dst));
        Ok(Prepared { ready, predicted_ms, chosen, checked: Vec::new() })
    }

    /// Checks the filter on planes, and puts planes on the device.
    fn prepare_planes(&mut self, filter: &PlanarFilter, room: &mut Room) -> Tried<Prepared<Ready>> {
        let (size, radius) = (self.size(), room.radius);
        let OnDevice { cl, .. } = self.on.as_ref().ok_or_else(|| self.without.clone())?;
        let (layout, block) = planes_of(&self.input.frames[0], size.0, size.1).map_err(fail)?;
        tried(self.trials.planar(cl, filter.id(), &layout, false, &trial_case(&block, size, radius)))?;
        let checked = room.checks.planes(cl, filter)?;
        let prepare = || {
            let (layout, block, want) = room.checks.first_planes()?;
            let from = Picture::block(cl, &cl.queue, &block)?;
            let copied = Picture::block(cl, &cl.queue, &block)?;
            let to = Picture::block(cl, &cl.queue, &zeroed(layout.filtered().bytes())?)?;
            let plan = filter.plan(cl, &layout, &to, &mut self.scratch, radius)?;
            let predicted_ms = predict(|| run_planes(&cl.queue, &plan, &from))?;
            room.planes = Some(Planes { from, copied, first: (block, want) });
            Ok(Prepared { ready: Ready::Planes(plan), predicted_ms, chosen: None, checked })
        };
        prepare().map_err(fail)
    }

    fn run_threads(&self, threads: usize, lanes: Lanes, room: &mut Room) -> Result<Sample> {
        let (width, height) = (self.input.width as usize, self.input.height as usize);
        let src = &self.input.frames[room.frame];
        let begin = Instant::now();
        native::filter(src, &mut room.out, (width, height), room.radius, threads, lanes)?;
        Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
    }
}

fn run_planes(queue: &Queue, plan: &PlanarPlan, from: &Picture) -> Result<Sample> {
    measure::sample(queue, |queue| Ok(vec![plan.enqueue(queue, from, 0..plan.rows())?]))
}

impl Planes {
    fn of<'b>(room: &'b Room) -> Result<&'b Self> {
        let none = || Error::new("The planes cannot be filtered.", "They are not on the device.", "");
        room.planes.as_ref().ok_or_else(none)
    }
}

impl<'a> Bench for BoxBench<'a> {
    /// A radius in pixels.
    type Case = u32;
    type Entrant = Entrant;
    type Room = Room<'a>;
    type Ready = Ready;

    fn case(&self, radius: &u32) -> Case {
        case(self.size(), *radius)
    }

    fn entry(&self, entrant: Entrant) -> Entry {
        entrant.entry(self.on.as_ref().map(|on| on.cl.device.info.kind))
    }

    fn room(&mut self, radius: &u32) -> Result<Room<'a>> {
        let first = &self.input.frames[0];
        let checks = Checks::new(first, self.size(), *radius)?;
        Ok(Room { radius: *radius, checks, planes: None, out: zeroed(first.len())?, frame: 0 })
    }

    fn prepare(&mut self, entrant: Entrant, room: &mut Room<'a>) -> Tried<Prepared<Ready>> {
        let (id, candidate) = match entrant {
            Entrant::Variant(id) => (id, self.built.get(&id).cloned().ok_or_else(without_device)??),
            Entrant::Rust(threads, lanes) => {
                let predicted_ms = predict(|| self.run_threads(threads, lanes, room)).map_err(fail)?;
                let ready = Ready::Threads(threads, lanes);
                return Ok(Prepared { ready, predicted_ms, chosen: None, checked: Vec::new() });
            }
        };
        let ((width, height), radius) = (self.size(), room.radius);
        let (ready, (predicted_ms, checked)) = match candidate {
            Candidate::Kernels(variant) => return self.prepare_kernels(id, variant, room),
            Candidate::Planes(filter) => return self.prepare_planes(&filter, room),
            Candidate::Threads => {
                let check = |src: &[u8], want: &[u8]| native::check(src, want, width, height, radius);
                let (ms, mut checked) = room.checks.without_opencl(check)?;
                room.checks.native(&mut checked)?;
                (Ready::Threads(all_threads(), Lanes::Vector), (ms, checked))
            }
            Candidate::Shaders(shaders) => {
                let checked = room.checks.without_opencl(|src, want| shaders.check(src, want, radius))?;
                (Ready::Shaders(shaders), checked)
            }
        };
        Ok(Prepared { ready, predicted_ms, chosen: None, checked })
    }

    /// Kernels on pictures, and whole frames of all: the rest was checked on the way to the prediction.
    fn check(&mut self, prepared: &mut Prepared<Ready>, room: &mut Room<'a>) -> Tried<()> {
        let on = || self.on.as_ref().ok_or_else(|| self.without.clone());
        let filter = match &prepared.ready {
            Ready::Kernels(variant, plan, _) => {
                let (cl, work) = (&on()?.cl, (0..plan.passes()).map(|pass| plan.work(pass)).sum());
                let ms = prepared.predicted_ms;
                prepared.checked = room.checks.variant(cl, variant, ms, work, self.trials)?;
                Filter::Kernels(cl, variant)
            }
            Ready::Planes(plan) => match self.built.get(&plan.id()) {
                Some(Ok(Candidate::Planes(filter))) => Filter::Planes(&on()?.cl, filter),
                _ => return Ok(()),
            },
            Ready::Shaders(_) => Filter::Shaders,
            Ready::Threads(..) if !prepared.checked.is_empty() => Filter::Threads,
            // What is beside the variants, and limits.
            Ready::Threads(..) | Ready::Copy(..) => return Ok(()),
        };
        prepared.checked.push(self.whole.check(filter, room.radius)?);
        Ok(())
    }

    fn limit(&mut self, index: usize, room: &mut Room<'a>) -> Tried<Ready> {
        let on = self.on.as_ref().ok_or_else(|| no_limit(&self.without))?;
        let (from, to) = match index {
            0 => on.pair(Storage::Buffer).clone(),
            _ => Planes::of(room).map(|planes| (planes.from.clone(), planes.copied.clone())).map_err(fail)?,
        };
        Ok(Ready::Copy(from, to))
    }

    fn load(&self, round: u32, room: &mut Room<'a>) -> Result<()> {
        room.frame = round as usize % self.input.frames.len();
        let next = &self.input.frames[room.frame];
        for built in self.built.values() {
            if let Ok(Candidate::Shaders(shaders)) = built {
                shaders.load(next);
            }
        }
        if let Some(planes) = &room.planes {
            let (_, mut block) = planes_of(next, self.input.width, self.input.height)?;
            block.resize(planes.first.0.len(), 0);
            planes.from.write(self.queue()?, &block)?;
        }
        self.on.as_ref().map_or(Ok(()), |on| on.load(next))
    }

    fn poison(&self, ready: &Ready, room: &mut Room<'a>) -> Result<()> {
        let poison = verify::poisoned(room.checks.first());
        match ready {
            Ready::Kernels(_, _, (_, to)) => {
                to.write(self.queue()?, &poison)?;
                self.scratch.poison(self.queue()?)
            }
            Ready::Planes(plan) => {
                plan.to().write(self.queue()?, &verify::poisoned(&Planes::of(room)?.first.1))?;
                self.scratch.poison(self.queue()?)
            }
            Ready::Shaders(shaders) => {
                shaders.poison(&poison);
                Ok(())
            }
            Ready::Threads(..) => {
                room.out.copy_from_slice(&poison);
                Ok(())
            }
            Ready::Copy(_, to) => to.write(self.queue()?, &poison),
        }
    }

    fn run(&self, ready: &Ready, room: &mut Room<'a>) -> Result<Sample> {
        match ready {
            Ready::Kernels(_, plan, _) => measure::sample(self.queue()?, |queue| plan.enqueue_all(queue)),
            Ready::Planes(plan) => run_planes(self.queue()?, plan, &Planes::of(room)?.from),
            Ready::Shaders(shaders) => shaders.run(room.radius),
            Ready::Threads(threads, lanes) => self.run_threads(*threads, *lanes, room),
            Ready::Copy(from, to) => copy(self.queue()?, from, to),
        }
    }

    fn compare(&self, ready: &Ready, room: &mut Room<'a>) -> Result<Compared> {
        let (src, want) = (&self.input.frames[0], room.checks.first());
        let read = |picture: &Picture, bytes: usize| {
            let mut read = zeroed(bytes)?;
            picture.read(self.queue()?, &mut read)?;
            Ok::<_, Error>(read)
        };
        let elements = Rgba { width: self.input.width as usize };
        let report = match ready {
            Ready::Kernels(_, _, (from, to)) => {
                let (got, source) = (read(to, want.len())?, read(from, src.len())?);
                verify::compare(want, &got, elements, (src, &source))
            }
            Ready::Planes(plan) => {
                let Planes { from, first: (block, want), .. } = Planes::of(room)?;
                let (got, source) = (read(plan.to(), want.len())?, read(from, block.len())?);
                planes::compare(plan.layout(), want, &got, (block, &source))
            }
            // What these read cannot be written.
            Ready::Shaders(shaders) => verify::compare(want, &shaders.read()?, elements, (&[], &[])),
            Ready::Threads(..) => verify::compare(want, &room.out, elements, (&[], &[])),
            // It takes no part: it is a limit.
            Ready::Copy(..) => None,
        };
        let named = |report| MismatchReport { case: "the movie".to_owned(), ..report };
        Ok(report.map_or(Ok(None), |report| Err(Box::new(named(report)))))
    }
}

/// Copies a buffer to another on the device, waits, and times it.
pub(crate) fn copy(queue: &Queue, from: &Picture, to: &Picture) -> Result<Sample> {
    let (Picture::Buffer(from), Picture::Buffer(to)) = (from, to) else {
        return Err(Error::new("The copy could not be timed.", "It needs buffers.", ""));
    };
    measure::sample(queue, |queue| {
        let copied = from.enqueue_copy(queue, to);
        Ok(vec![copied.map_err(|e| failed("A picture could not be copied on the device.", &e))?])
    })
}
