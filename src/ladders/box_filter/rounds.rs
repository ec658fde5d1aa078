//! The rounds of a benchmark at one radius. In: what takes part. Out: its times, after each round, and what was
//! compared.
//!
//! Everything takes part in turns, on the same frames. The output of each one's first run is compared with the
//! reference, every byte: what differs drops out.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use super::bench::case;
use super::bench::{
    Built, Candidate, Input, NativeFault, NativeRun, OnDevice, RadiusRun, Watch, copy, without_device,
};
use super::checks::{Checks, Tried, fail, passed, tried};
use super::glsl::Offscreen;
use super::native::{self, Lanes};
use super::planar::run as planes;
use super::planar::{PlanarFilter, PlanarPlan, planes_of};
use super::trial::Trials;
use super::{BuiltVariant, Plan, Scratch};
use crate::error::Result;
use crate::gpu::memory::Picture;
use crate::gpu::memory::Rgba;
use crate::ladder::measure::{self, Contender, Results, Sample, Timed};
use crate::ladder::{NOT_TIMED, Outcome};
use crate::ladders::box_filter::VariantId;
use crate::memory::zeroed;
use crate::timing::ms_since;
use crate::verify::{self, Checked, MismatchReport};

/// What is timed, for one radius.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
enum Ready<'b> {
    /// With source and destination.
    Kernels(Plan, (Picture, Picture)),
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
    /// The first frame's block, and what is right for it.
    first: (Vec<u8>, Vec<u8>),
}

type Run<'a> = Box<dyn FnMut() -> Tried<Sample> + 'a>;

/// Runs that are timed, of which the first is compared as well: `prepare` poisons its output.
fn compared<'a>(
    prepare: impl Fn() -> Result<()> + 'a,
    run: impl Fn() -> Result<Sample> + 'a,
    compare: impl Fn() -> Result<Option<MismatchReport>> + 'a,
) -> Run<'a> {
    let mut is_compared = false;
    Box::new(move || {
        if is_compared {
            return run().map_err(fail);
        }
        prepare().map_err(fail)?;
        let sample = run().map_err(fail)?;
        let case = "the movie, as it is timed".to_owned();
        passed(compare().map(|report| report.map(|report| MismatchReport { case, ..report })))?;
        is_compared = true;
        Ok(sample)
    })
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

/// Who takes part, and what the times are for.
struct Turns<'a> {
    rows: Vec<Row>,
    contenders: Vec<Contender<'a, Box<Outcome>>>,
}

impl<'a> Turns<'a> {
    fn add(&mut self, row: Row, rounds: u32, run: Run<'a>) {
        self.rows.push(row);
        self.contenders.push(Contender { rounds, run });
    }
}

impl NativeRun {
    /// Whether its check has passed: it is timed, or will be.
    fn is_exact(&self) -> bool {
        !matches!(&self.outcome, Err(NativeFault::Differs))
    }
}

impl RadiusRun {
    /// The same with what has been measured.
    fn with(&self, rows: &[Row], results: &Results<Box<Outcome>>) -> Self {
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
                            Err(instead) => *outcome = (**instead).clone(),
                        }
                    }
                }
                (Row::Native(place), measured) => {
                    if let Some(one) = run.native.get_mut(*place) {
                        match measured {
                            Ok(Some(measured)) => one.outcome = Ok(measured),
                            Ok(None) => {}
                            Err(instead) => {
                                let why = if let Outcome::Failed(e) = &**instead {
                                    e.to_string()
                                } else {
                                    String::new()
                                };
                                one.outcome = Err(NativeFault::Failed(why));
                            }
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

/// Whether a variant was wrong or failed.
fn is_wrong(run: &RadiusRun) -> bool {
    run.variants.iter().any(|(_, outcome)| matches!(outcome, Outcome::Mismatch(_) | Outcome::Failed(_)))
}

/// A benchmark on one device.
pub(super) struct Bench<'a> {
    pub on: Option<OnDevice<'a>>,
    input: &'a Input<'a>,
    trials: &'a mut Trials,
    scratch: Scratch,
}

impl<'a> Bench<'a> {
    pub fn new(on: Option<OnDevice<'a>>, input: &'a Input<'a>, trials: &'a mut Trials) -> Self {
        Self { on, input, trials, scratch: Scratch::new() }
    }

    /// Checks and times everything at one radius; whether anything was wrong or failed.
    pub fn radius(&mut self, built: &Built, radius: u32, watch: &mut dyn Watch) -> Result<bool> {
        let mut checks = Checks::new(self.input, radius)?;
        let mut so_far = RadiusRun {
            radius,
            copy: None,
            planes_copy: None,
            variants: Vec::new(),
            checked: Vec::new(),
            auto: None,
            native: Vec::new(),
        };
        let mut ready: Vec<(usize, u32, Ready)> = Vec::new();
        for (id, variant) in built {
            watch.next(&format!("checking {id}, r={radius}"));
            let prepared = match variant {
                _ if self.input.fail_fast && is_wrong(&so_far) => {
                    Err(Box::new(Outcome::Skipped("Something before it is wrong.".to_owned())))
                }
                Ok(Candidate::Kernels(variant)) => {
                    self.prepare(variant, radius, &mut checks).map(|(rounds, plan, checked)| {
                        so_far.auto = (*id == VariantId::Auto).then(|| plan.chosen()).or(so_far.auto.take());
                        let pictures =
                            self.on.as_ref().map(|on| on.pairs.of(variant.kernels().storage).clone());
                        (rounds, pictures.map(|pictures| Ready::Kernels(plan, pictures)), checked)
                    })
                }
                Ok(Candidate::Planes(filter)) => {
                    let ready = self.prepare_planes(filter, radius, &checks);
                    ready.map(|(planes, checked)| (self.input.rounds, Some(Ready::Planes(planes)), checked))
                }
                Ok(Candidate::Native) => {
                    let (width, height) = (self.input.width, self.input.height);
                    let check = |src: &[u8], want: &[u8]| native::check(src, want, width, height, radius);
                    checks.without_opencl(check).and_then(|(ms, mut checked)| {
                        checks.native(&mut checked)?;
                        Ok((self.rounds(ms)?, Some(Ready::Native), checked))
                    })
                }
                Ok(Candidate::Glsl(offscreen)) => {
                    let ready = checks.without_opencl(|src, want| offscreen.check(src, want, radius));
                    let ready = ready.and_then(|(ms, checked)| Ok((self.rounds(ms)?, checked)));
                    ready.map(|(rounds, checked)| (rounds, Some(Ready::Glsl(offscreen)), checked))
                }
                Err(outcome) => Err(outcome.clone()),
            };
            let (outcome, checked) = match prepared {
                Ok((rounds, one, checked)) => {
                    ready.extend(one.map(|one| (so_far.variants.len(), rounds, one)));
                    (Outcome::Skipped(NOT_TIMED.to_owned()), checked)
                }
                Err(outcome) => (*outcome, Vec::new()),
            };
            so_far.variants.push((*id, outcome));
            so_far.checked.push(checked);
        }
        if self.input.fail_fast && is_wrong(&so_far) {
            watch.so_far(so_far);
            return Ok(true);
        }
        so_far.native = checks.native_grid()?;
        let (on, frames) = (self.on.as_ref(), self.input.frames);
        let frame = Cell::new(0);
        let out = RefCell::new(vec![0; frames.first().map_or(0, Vec::len)]);
        let mut turns = Turns { rows: Vec::new(), contenders: Vec::new() };
        let of_copy = |queue, from, to| -> Run { Box::new(move || copy(queue, from, to).map_err(fail)) };
        if let Some(OnDevice { cl, pairs }) = on {
            let (from, to) = &pairs.buffer;
            copy(&cl.queue, from, to)?; // warm up
            turns.add(Row::Copy, self.input.rounds, of_copy(&cl.queue, from, to));
        }
        let size = (self.input.width as usize, self.input.height as usize);
        let (frame, out, scratch) = (&frame, &out, &self.scratch);
        let run_native = move |threads, lanes| {
            let begin = Instant::now();
            native::filter(&frames[frame.get()], &mut out.borrow_mut(), size, radius, threads, lanes)?;
            Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
        };
        let all = native::all_threads();
        // The first frame is what the first run filters.
        let (src, want) = (&frames[0], checks.first());
        for (place, rounds, ready) in &ready {
            let run = match ready {
                Ready::Kernels(plan, (from, to)) => {
                    let Some(OnDevice { cl, .. }) = on else { continue };
                    let queue = &cl.queue;
                    compared(
                        move || {
                            to.write(queue, &verify::poisoned(want))?;
                            scratch.poison(queue)
                        },
                        move || measure::sample(queue, |q| plan.enqueue_all(q)),
                        move || {
                            let (mut got, mut source) = (zeroed(want.len())?, zeroed(src.len())?);
                            to.read(queue, &mut got)?;
                            from.read(queue, &mut source)?;
                            Ok(verify::compare(want, &got, Rgba { width: size.0 }, (src, &source)))
                        },
                    )
                }
                Ready::Planes(planes) => {
                    let Planes { plan, from, copied, queue, first: (block, want) } = &**planes;
                    copy(queue, from, copied)?; // warm up
                    turns.add(Row::PlanesCopy, self.input.rounds, of_copy(queue, from, copied));
                    compared(
                        move || {
                            plan.to().write(queue, &verify::poisoned(want))?;
                            scratch.poison(queue)
                        },
                        move || {
                            measure::sample(queue, |q| Ok(vec![plan.enqueue(q, from, 0..plan.rows())?]))
                        },
                        move || {
                            let (mut got, mut source) = (zeroed(want.len())?, zeroed(block.len())?);
                            plan.to().read(queue, &mut got)?;
                            from.read(queue, &mut source)?;
                            Ok(planes::compare(plan.layout(), want, &got, (block, &source)))
                        },
                    )
                }
                Ready::Glsl(offscreen) => compared(
                    move || {
                        offscreen.poison(&verify::poisoned(want));
                        Ok(())
                    },
                    move || offscreen.run(radius),
                    move || Ok(verify::compare(want, &offscreen.read()?, Rgba { width: size.0 }, (src, src))),
                ),
                Ready::Native => compared(
                    move || {
                        out.borrow_mut().copy_from_slice(&verify::poisoned(want));
                        Ok(())
                    },
                    move || run_native(all, Lanes::Vector),
                    move || Ok(verify::compare(want, &out.borrow(), Rgba { width: size.0 }, (src, src))),
                ),
            };
            turns.add(Row::Variant(*place), *rounds, run);
        }
        for (place, one) in so_far.native.iter().enumerate().filter(|(_, one)| one.is_exact()) {
            let (threads, lanes) = (one.threads, one.lanes);
            let run = Box::new(move || run_native(threads, lanes).map_err(fail));
            turns.add(Row::Native(place), self.input.rounds, run);
        }
        let Turns { rows, mut contenders } = turns;
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
                    let (_, mut block) = planes_of(next, self.input.width, self.input.height)?;
                    block.resize(planes.first.0.len(), 0);
                    planes.from.write(&planes.queue, &block)?;
                }
            }
            on.map_or(Ok(()), |on| on.pairs.load(on.cl, next))
        })?;
        let all = so_far.with(&rows, &results);
        let wrong = is_wrong(&all);
        watch.so_far(all);
        Ok(wrong)
    }

    /// Decides how often the variant can run, and checks it.
    fn prepare(
        &mut self,
        variant: &BuiltVariant,
        radius: u32,
        checks: &mut Checks,
    ) -> Tried<(u32, Plan, Vec<Checked>)> {
        let OnDevice { cl, pairs } = self.on.as_ref().ok_or_else(without_device)?;
        let (width, height) = (self.input.width, self.input.height);
        let picture = case(&self.input.frames[0], (width, height), radius);
        tried(self.trials.variant(cl, variant.kernels().id, None, false, &picture))?;
        checks.first_look(cl, variant)?;
        let (src, dst) = pairs.of(variant.kernels().storage);
        let plan = variant.plan(cl, src, dst, &mut self.scratch, width, height, radius).map_err(fail)?;
        let predicted_ms = plan.predict(&cl.queue).map_err(fail)?;
        let rounds = self.rounds(predicted_ms)?;
        let work = (0..plan.passes()).map(|pass| plan.work(pass)).sum();
        let checked = checks.variant(cl, variant, predicted_ms, work, self.trials)?;
        Ok((rounds, plan, checked))
    }

    /// Checks the filter on planes, and puts planes on the device.
    fn prepare_planes(
        &mut self,
        filter: &PlanarFilter,
        radius: u32,
        checks: &Checks,
    ) -> Tried<(Box<Planes>, Vec<Checked>)> {
        let cl = self.on.as_ref().ok_or_else(without_device)?.cl;
        let size = (self.input.width, self.input.height);
        let (layout, block) = planes_of(&self.input.frames[0], size.0, size.1).map_err(fail)?;
        tried(self.trials.planar(cl, &layout, false, &case(&block, size, radius)))?;
        let checked = checks.planes(cl, filter)?;
        let mut prepare = || {
            let (layout, block, want) = checks.first_planes()?;
            let from = Picture::block(cl, &cl.queue, &block)?;
            let copied = Picture::block(cl, &cl.queue, &block)?;
            let to = Picture::block(cl, &cl.queue, &zeroed(layout.filtered().bytes())?)?;
            let plan = filter.plan(cl, &layout, &to, &mut self.scratch, radius)?;
            Ok(Box::new(Planes { plan, from, copied, queue: cl.queue.clone(), first: (block, want) }))
        };
        Ok((prepare().map_err(fail)?, checked))
    }

    /// How often something that takes so long can run.
    fn rounds(&self, ms: f64) -> Tried<u32> {
        measure::rounds_for(ms, self.input.rounds).map_err(|why| Box::new(Outcome::Skipped(why)))
    }
}
