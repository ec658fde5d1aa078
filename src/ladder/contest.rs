//! A benchmark of any ladder on one device. In: a [`Ladder`], rungs, cases. Out: for each case the time of the ladder's
//! limit and the outcome of each rung.
//!
//! Every rung is checked at small and odd cases, among canaries, before it is timed; and the output of its first timed run
//! is compared, every element. All rungs and the limit take turns on the same memory.

use std::cell::RefCell;
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Device, DeviceInfo};
use crate::gpu::identity::{Identity, by_identity, identity_of};
use crate::gpu::parts::require_sub_buffers;
use crate::gpu::program::is_changed;
use crate::gpu::trial::{START, Talk, serve};
use crate::ladder::Outcome;
use crate::ladder::cache::{Cache, Class};
use crate::ladder::config::{Config, Tunable};
use crate::ladder::measure::{self, Contender, Measurement, Results, Sample, Timed};
use crate::ladder::rung::{Rung, Work};
use crate::ladder::search::{Attempt, descend};
use crate::ladder::trial::Child;
use crate::memory::require;
use crate::verify::{self, Checked, Elements, MismatchReport};

/// One computation, written several times: its cases, its rungs, and how they run. What is common to all ladders is here
/// and in the modules beside; a ladder brings only what is its own.
pub trait Ladder {
    /// What is computed once: a count, three sizes, a pair of types.
    type Case: Clone + PartialEq;
    /// The kernels of a rung.
    type Code: Tunable;
    /// A rung that can run: compiled kernels, or threads.
    type Built;
    /// Inputs and output of a case, in the memory of host and device.
    type Room;
    /// What its output is made of.
    type Elements: Elements;

    /// Its name in JSON.
    const NAME: &'static str;
    /// What nothing that moves its bytes can pass, in words.
    const LIMIT: &'static str;
    /// The kernel file of the limit.
    const LIMIT_FILE: &'static str;
    /// Names of the kinds of input; the first is the one that is timed.
    const INPUTS: &'static [&'static str];

    /// Its rungs, in order.
    fn rungs(&self) -> &'static [Rung<Self::Code>];

    /// Small and odd cases in which a kernel's faults show.
    fn small(&self) -> Vec<Self::Case>;

    /// A case as a person would say it, as in "16,777,216 floats".
    fn title(&self, case: &Self::Case) -> String;

    /// A case in JSON.
    fn json(&self, case: &Self::Case) -> Value;

    /// The class of a case in a word: what is the fastest for one is taken for all of its class.
    fn class(&self, case: &Self::Case) -> &'static str;

    /// The case of a [`json`](Ladder::json), if it is one.
    fn case(&self, json: &Value) -> Option<Self::Case>;

    /// Bytes that have to be moved between memory and processor.
    fn bytes(&self, case: &Self::Case) -> f64;

    /// Operations that have to be done.
    fn operations(&self, case: &Self::Case) -> f64;

    /// Bytes of the output.
    fn output_bytes(&self, case: &Self::Case) -> usize;

    /// Bytes of the host's memory that a case takes, checks included, where the device has no memory of its own.
    fn memory(&self, case: &Self::Case) -> usize;

    /// Whether the device can hold a case; otherwise why not, in a sentence.
    ///
    /// # Errors
    /// The sentence.
    fn supports(&self, device: &DeviceInfo, case: &Self::Case) -> std::result::Result<(), String>;

    /// Threads of this process.
    fn host(&self, rung: &Rung<Self::Code>) -> Self::Built;

    /// Kernels with these parameters.
    ///
    /// # Errors
    /// When they do not compile, or the device cannot run them.
    fn compile(&self, cl: &ClContext, config: &Config<Self::Code>) -> Result<Self::Built>;

    /// The limit.
    ///
    /// # Errors
    /// As [`Ladder::compile`].
    fn compile_limit(&self, cl: &ClContext) -> Result<Self::Built>;

    /// Memory for a case, with so many bytes on both sides of output and inputs.
    ///
    /// # Errors
    /// When there is not enough of it.
    fn room(&self, cl: Option<&ClContext>, case: &Self::Case, guard: usize) -> Result<Self::Room>;

    /// Puts an input in place; what is right for it, by the reference.
    ///
    /// # Errors
    /// When the device fails.
    fn load(&self, room: &mut Self::Room, input: &str) -> Result<Vec<u8>>;

    /// Fills the output, what lies on both sides of it included, where `built` writes it.
    ///
    /// # Errors
    /// When the device fails.
    fn write(&self, built: &Self::Built, room: &mut Self::Room, bytes: &[u8]) -> Result<()>;

    /// The output, what lies on both sides of it included.
    ///
    /// # Errors
    /// When the device fails.
    fn read(&self, built: &Self::Built, room: &Self::Room) -> Result<Vec<u8>>;

    /// How many bytes of the inputs are not as [`Ladder::load`] left them.
    ///
    /// # Errors
    /// When the device fails.
    fn changed(&self, built: &Self::Built, room: &Self::Room) -> Result<usize>;

    /// One complete run, waited for.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&self, built: &Self::Built, room: &mut Self::Room) -> Result<Sample>;

    /// What its output is made of.
    fn elements(&self) -> Self::Elements;
}

/// What came of a rung.
#[derive(Debug)]
pub struct Row<C: 'static> {
    /// The rung.
    pub rung: &'static Rung<C>,
    /// Its times, or what stands in their place.
    pub outcome: Outcome,
    /// What was chosen for it; only where there was a choice.
    pub chosen: Option<Chosen>,
    /// What was compared; nothing of one that was not checked to its end.
    pub checked: Vec<Checked>,
}

/// What [`Work::Fastest`] is on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The rung and its parameters, as in `vector WIDTH=4`.
    pub what: String,
    /// Whether tuning had found it before; otherwise a short search did.
    pub tuned: bool,
}

impl<C> Clone for Row<C> {
    fn clone(&self) -> Self {
        let Self { rung, outcome, chosen, checked } = self;
        Self { rung, outcome: outcome.clone(), chosen: chosen.clone(), checked: checked.clone() }
    }
}

/// What came out for one case.
#[derive(Debug)]
pub struct CaseRun<L: Ladder> {
    /// The case.
    pub case: L::Case,
    /// The ladder's limit, taking turns with the rungs; `None` without a device.
    pub limit: Option<Measurement>,
    /// One for each rung, in the order asked for.
    pub rows: Vec<Row<L::Code>>,
}

impl<L: Ladder> Clone for CaseRun<L> {
    fn clone(&self) -> Self {
        Self { case: self.case.clone(), limit: self.limit, rows: self.rows.clone() }
    }
}

/// Told how a benchmark goes on.
pub trait Watch<L: Ladder> {
    /// What happens next; called once for each rung that is checked and each round that is timed.
    fn next(&mut self, what: &str);

    /// What is known so far of a case, after each of its rounds. A rung that has not had one yet is
    /// [left out](Outcome::Skipped), as [`NOT_TIMED`](super::NOT_TIMED) says.
    fn so_far(&mut self, run: CaseRun<L>);
}

/// What was asked for, or the outcome that stands in its place.
pub(super) type Tried<T> = std::result::Result<T, Box<Outcome>>;

fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

fn passed(report: Option<MismatchReport>) -> Tried<()> {
    report.map_or(Ok(()), |report| Err(Box::new(Outcome::Mismatch(report))))
}

/// Runs of a configuration in a search, of which the least disturbed counts.
const SEARCH_RUNS: usize = 5;
/// What is left out for want of a device.
const WITHOUT_DEVICE: &str = "There is no OpenCL device.";

/// Checks and times `rungs` on a device for each of `cases`. Without a device those that do without are timed, and no
/// limit. Changed kernels are tried in `child` first. What has been measured goes to `watch`, the last time for each case when all of it is there.
///
/// # Errors
/// When the device cannot be used at all, or memory runs out. What goes wrong with one rung is its [`Outcome`].
pub fn run<L: Ladder>(
    ladder: &L,
    device: Option<&Device>,
    rungs: &[&'static Rung<L::Code>],
    cases: &[L::Case],
    rounds: u32,
    child: &mut Child,
    watch: &mut dyn Watch<L>,
) -> Result<()> {
    let cl = device.map(ClContext::new).transpose()?;
    let contest = |case| Contest { ladder, cl: cl.as_ref(), case, rounds };
    cases.iter().try_for_each(|case| contest(case).run(rungs, child, watch))
}

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    device: Identity,
    /// The rung whose kernels these are; `None` for the limit.
    rung: Option<String>,
    params: Vec<(String, u32)>,
    case: Value,
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// It ended well, and how it differs, if it does.
    Ran(Option<MismatchReport>),
    Failed(Error),
}

/// Answers requests until nobody asks any more, then ends the process. `frame` is the number of the shared memory.
pub fn answer<L: Ladder>(ladder: &L, frame: u32) -> ! {
    let mut known: Option<(Identity, ClContext)> = None;
    serve(frame, |request: Request, talk| {
        talk.step(START);
        let cl = match &known {
            Some((identity, cl)) if *identity == request.device => Ok(cl.clone()),
            _ => by_identity(&request.device)
                .ok_or_else(|| {
                    Error::new("Kernels could not be tried.", "Their device is not listed there.", "")
                })
                .and_then(|device| ClContext::new(&device)),
        };
        let ran = cl.and_then(|cl| {
            known = Some((request.device.clone(), cl.clone()));
            run_requested(ladder, &cl, &request, talk)
        });
        ran.map_or_else(Answer::Failed, Answer::Ran)
    })
}

/// Builds, checks at the small cases, and runs once as it is to be timed.
fn run_requested<L: Ladder>(
    ladder: &L,
    cl: &ClContext,
    request: &Request,
    talk: &mut Talk,
) -> Result<Option<MismatchReport>> {
    let unknown = || Error::new("Kernels could not be tried.", "They belong to nothing that is known.", "");
    let case = ladder.case(&request.case).ok_or_else(unknown)?;
    let built = match &request.rung {
        None => ladder.compile_limit(cl)?,
        Some(id) => {
            let rung = ladder.rungs().iter().find(|rung| rung.id == *id).ok_or_else(unknown)?;
            let Work::Kernels(code) = rung.work else { return Err(unknown()) };
            let config = Config::of(code, cl.device.info.kind);
            let config =
                request.params.iter().fold(config, |config, (name, value)| config.with(name, *value));
            ladder.compile(cl, &config)?
        }
    };
    let contest = Contest { ladder, cl: Some(cl), case: &case, rounds: 1 };
    for small in ladder.small().iter().filter(|_| request.rung.is_some()) {
        for input in L::INPUTS {
            talk.step("small");
            let report = contest.check_one(&built, small, input)?;
            if report.is_some() {
                // Without canaries round it, what it writes would be another's memory.
                return Ok(report);
            }
        }
    }
    talk.step(START);
    let mut room = ladder.room(Some(cl), &case, 0)?;
    ladder.load(&mut room, L::INPUTS[0])?;
    talk.step("whole");
    ladder.run(&built, &mut room)?;
    Ok(None)
}

/// One case on one device.
pub(super) struct Contest<'a, L: Ladder> {
    pub(super) ladder: &'a L,
    pub(super) cl: Option<&'a ClContext>,
    pub(super) case: &'a L::Case,
    pub(super) rounds: u32,
}

/// A rung that is to be timed.
struct Ready<L: Ladder> {
    built: L::Built,
    rounds: u32,
    chosen: Option<Chosen>,
    checked: Vec<Checked>,
}

impl<L: Ladder> Contest<'_, L> {
    fn run(
        &self,
        rungs: &[&'static Rung<L::Code>],
        child: &mut Child,
        watch: &mut dyn Watch<L>,
    ) -> Result<()> {
        require(self.ladder.memory(self.case))?;
        let mut room = self.ladder.room(self.cl, self.case, 0)?;
        let want = self.ladder.load(&mut room, L::INPUTS[0])?;
        let mut so_far = CaseRun { case: self.case.clone(), limit: None, rows: Vec::new() };
        let mut ready = Vec::new();
        for rung in rungs {
            watch.next(&format!("checking {}, {}", rung.id, self.ladder.title(self.case)));
            let mut row = Row {
                rung,
                outcome: Outcome::Skipped(super::NOT_TIMED.to_owned()),
                chosen: None,
                checked: Vec::new(),
            };
            match self.prepare(rung, &mut room, child) {
                Ok(mut one) => {
                    row.chosen = one.chosen.take();
                    row.checked = std::mem::take(&mut one.checked);
                    ready.push((so_far.rows.len(), one));
                }
                Err(outcome) => row.outcome = *outcome,
            }
            so_far.rows.push(row);
        }
        let limit = match self.cl {
            Some(cl) if self.ladder.supports(&cl.device.info, self.case).is_ok() => {
                self.try_first(child, None, L::LIMIT, L::LIMIT_FILE, &[])?;
                let limit = self.ladder.compile_limit(cl)?;
                self.ladder.run(&limit, &mut room)?; // warm up
                Some(limit)
            }
            _ => None,
        };
        let room = RefCell::new(room);
        let mut places = Vec::new();
        let mut contenders: Vec<Contender<Box<Outcome>>> = Vec::new();
        if let Some(limit) = &limit {
            places.push(None);
            let run = || self.ladder.run(limit, &mut room.borrow_mut()).map_err(fail);
            contenders.push(Contender { rounds: self.rounds, run: Box::new(run) });
        }
        for (place, Ready { built, rounds, .. }) in &ready {
            places.push(Some(*place));
            contenders.push(Contender { rounds: *rounds, run: self.compared(built, &room, &want) });
        }
        let results = measure::alternate(self.rounds, &mut contenders, |round, results| {
            if round > 0 {
                watch.so_far(so_far.with(&places, results));
            }
            watch.next(&format!("timing {}, round {}", self.ladder.title(self.case), round + 1));
            Ok(())
        })?;
        watch.so_far(so_far.with(&places, &results));
        Ok(())
    }

    /// Runs that are timed, of which the first is compared as well.
    pub(super) fn compared<'b>(
        &'b self,
        built: &'b L::Built,
        room: &'b RefCell<L::Room>,
        want: &'b [u8],
    ) -> Box<dyn FnMut() -> Tried<Sample> + 'b> {
        let mut is_compared = false;
        Box::new(move || {
            let mut room = room.borrow_mut();
            if is_compared {
                return self.ladder.run(built, &mut room).map_err(fail);
            }
            self.ladder.write(built, &mut room, &verify::poisoned(want)).map_err(fail)?;
            let sample = self.ladder.run(built, &mut room).map_err(fail)?;
            let got = self.ladder.read(built, &room).map_err(fail)?;
            let source = self.ladder.changed(built, &room).map_err(fail)?;
            let report = verify::compare(want, &got, self.ladder.elements(), (&[], &[]));
            let report = MismatchReport { source, ..report.unwrap_or_default() };
            let case = format!("{}, as it is timed", self.ladder.title(self.case));
            passed((!report.is_empty()).then_some(MismatchReport { case, ..report }))?;
            is_compared = true;
            Ok(sample)
        })
    }

    /// Builds a rung, checks it, and decides how often it can run.
    fn prepare(
        &self,
        rung: &'static Rung<L::Code>,
        room: &mut L::Room,
        child: &mut Child,
    ) -> Tried<Ready<L>> {
        let (built, chosen) = match rung.work {
            Work::Host => (self.ladder.host(rung), None),
            Work::Kernels(code) => {
                let cl = self.device()?;
                let config = Config::of(code, cl.device.info.kind).fitted(&cl.device.info);
                self.try_config(child, rung.id, &config)?;
                (self.ladder.compile(cl, &config).map_err(fail)?, None)
            }
            Work::Fastest => {
                let (id, config, tuned) = match self.tuned(child) {
                    Some((id, config)) => (id, config, true),
                    None => self.fastest(room, child).map(|(id, config)| (id, config, false))?,
                };
                let what = format!("{id} {config}").trim_end().to_owned();
                let built = self.ladder.compile(self.device()?, &config).map_err(fail)?;
                (built, Some(Chosen { what, tuned }))
            }
        };
        let checked = self.check(&built)?;
        self.ladder.run(&built, room).map_err(fail)?; // warm up
        let predicted_ms = self.ladder.run(&built, room).map_err(fail)?.wall_ms;
        let rounds = measure::rounds_for(predicted_ms, self.rounds);
        let rounds = rounds.map_err(|why| Box::new(Outcome::Skipped(why)))?;
        Ok(Ready { built, rounds, chosen, checked })
    }

    /// The fastest of the ladder's kernels, and its parameters, by what tuning has found for such cases; `None` where it has
    /// found nothing, or what can no longer be built.
    fn tuned(&self, child: &mut Child) -> Option<(&'static str, Config<L::Code>)> {
        let cl = self.device().ok()?;
        let class = Class::of(L::NAME, self.ladder.class(self.case));
        let named = |name: &str| self.ladder.rungs().iter().find(|rung| rung.id == name);
        let (id, config) = Cache::load().fastest(&cl.device.info, &class, |name| match named(name)? {
            Rung { id, work: Work::Kernels(code), .. } => Some((*id, *code)),
            _ => None,
        })?;
        self.try_config(child, id, &config).ok()?;
        self.ladder.compile(cl, &config).ok()?;
        Some((id, config))
    }

    /// The fastest of the ladder's kernels, and its parameters, by a short search. What differs is not timed.
    fn fastest(&self, room: &mut L::Room, child: &mut Child) -> Tried<(&'static str, Config<L::Code>)> {
        let cl = self.device()?;
        let device = &cl.device.info;
        let small = self.ladder.small();
        let mut best: Option<(&'static str, Config<L::Code>, f64)> = None;
        for rung in self.ladder.rungs() {
            let &Work::Kernels(code) = &rung.work else { continue };
            let first = Config::of(code, device.kind).fitted(device);
            // Changed kernels that do not come through are not asked again with each value: that could take the limit's time.
            let found = descend(first, device, |config| {
                if self.try_config(child, rung.id, config).is_err() {
                    return Ok(if child.is_fault() { Attempt::GiveUp } else { Attempt::Without });
                }
                let mut time = || {
                    let built = self.ladder.compile(cl, config).ok()?;
                    for case in &small {
                        if !matches!(self.check_one(&built, case, L::INPUTS[0]), Ok(None)) {
                            return None;
                        }
                    }
                    let mut least = f64::INFINITY;
                    for _ in 0..SEARCH_RUNS {
                        least = least.min(self.ladder.run(&built, room).ok()?.ms());
                    }
                    Some(least)
                };
                Ok::<_, Infallible>(time().map_or(Attempt::Without, Attempt::Timed))
            });
            let Ok(found) = found;
            if let Some((config, ms)) = found.filter(|(_, ms)| best.as_ref().is_none_or(|best| *ms < best.2))
            {
                best = Some((rung.id, config, ms));
            }
        }
        let none = || fail(Error::new("Nothing could be chosen.", "None of the kernels can run.", ""));
        best.map(|(id, config, _)| (id, config)).ok_or_else(none)
    }

    /// Tries a configuration in the child, where its kernels are not those that are built in.
    pub(super) fn try_config(&self, child: &mut Child, id: &str, config: &Config<L::Code>) -> Tried<()> {
        let params = config.code().params().iter().map(|p| (p.name.to_owned(), config.get(p.name)));
        let params: Vec<_> = params.collect();
        let name = format!("'{id}'");
        let report = self.try_first(child, Some(id), &name, config.code().file(), &params).map_err(fail)?;
        // Nobody knows what an overrun does to another process.
        passed(report.filter(|report| report.overrun > 0))
    }

    /// Tries kernels in the child, where they are not those that are built in; how they differ, if they do.
    pub(super) fn try_first(
        &self,
        child: &mut Child,
        rung: Option<&str>,
        name: &str,
        file: &str,
        params: &[(String, u32)],
    ) -> Result<Option<MismatchReport>> {
        let Some(cl) = self.cl.filter(|_| is_changed(file)) else { return Ok(None) };
        let request = Request {
            device: identity_of(&cl.device),
            rung: rung.map(str::to_owned),
            params: params.to_vec(),
            case: self.ladder.json(self.case),
        };
        match child.ask(name, &request, &[])? {
            Answer::Ran(report) => {
                if report.is_some() {
                    child.end();
                }
                Ok(report)
            }
            Answer::Failed(error) => {
                child.end();
                Err(error)
            }
        }
    }

    /// The device, if it can hold the case.
    fn device(&self) -> Tried<&ClContext> {
        let cl = self.cl.ok_or_else(|| Box::new(Outcome::Unsupported(WITHOUT_DEVICE.to_owned())))?;
        self.ladder
            .supports(&cl.device.info, self.case)
            .map_err(|why| Box::new(Outcome::Unsupported(why)))?;
        Ok(cl)
    }

    /// Every kind of input at small and odd cases, among canaries.
    pub(super) fn check(&self, built: &L::Built) -> Tried<Vec<Checked>> {
        let ladder = self.ladder;
        let small = ladder.small();
        for case in &small {
            for input in L::INPUTS {
                let named = |report| {
                    let case = format!("{input}, {}", ladder.title(case));
                    MismatchReport { case, ..report }
                };
                passed(self.check_one(built, case, input).map_err(fail)?.map(named))?;
            }
        }
        let timed = Checked {
            sizes: vec![ladder.title(self.case)],
            inputs: vec![L::INPUTS[0].to_owned()],
            timed: true,
            ..Checked::default()
        };
        let beside = Checked {
            sizes: small.iter().map(|case| ladder.title(case)).collect(),
            inputs: L::INPUTS.iter().map(|&input| input.to_owned()).collect(),
            ..Checked::default()
        };
        Ok(vec![timed, beside])
    }

    pub(super) fn check_one(
        &self,
        built: &L::Built,
        case: &L::Case,
        input: &str,
    ) -> Result<Option<MismatchReport>> {
        let ladder = self.ladder;
        let mut room = ladder.room(self.cl, case, verify::guard(ladder.output_bytes(case)))?;
        let want = ladder.load(&mut room, input)?;
        let mut source = 0;
        let report = verify::check(&want, ladder.elements(), |before| {
            ladder.write(built, &mut room, before)?;
            ladder.run(built, &mut room)?;
            source = source.max(ladder.changed(built, &room)?);
            ladder.read(built, &room)
        })?;
        let report = MismatchReport { source, ..report.unwrap_or_default() };
        if report.is_empty() {
            return Ok(None);
        }
        if let Some(cl) = self.cl {
            // Before a kernel is blamed.
            require_sub_buffers(cl)?;
        }
        Ok(Some(report))
    }
}

impl<L: Ladder> CaseRun<L> {
    /// The same with what has been measured; `places` says of each result which row it is, `None` for the limit.
    fn with(&self, places: &[Option<usize>], results: &Results<Box<Outcome>>) -> Self {
        let mut run = self.clone();
        for (place, timed) in places.iter().zip(results) {
            let measured = timed.as_ref().map(Timed::measurement);
            match (place.and_then(|place| run.rows.get_mut(place)), measured) {
                (None, measured) => run.limit = measured.ok().flatten(),
                (Some(row), Ok(Some(measured))) => row.outcome = Outcome::Ok(measured),
                (Some(_), Ok(None)) => {}
                (Some(row), Err(instead)) => row.outcome = (**instead).clone(),
            }
        }
        run
    }
}
