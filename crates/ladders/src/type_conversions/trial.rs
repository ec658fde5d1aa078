//! Conversions tried in a child process: a driver that crashes or hangs costs that child alone. In: cases of one source and
//! destination, how far each is. Out: what came of the next part of their numbers, or what ended the child and at which case.
//!
//! The process itself is [`opencl::trial`]. Each child compiles and computes what is right by itself: drivers whose compiler
//! works on one program at a time do so in each process.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::compare::Wanted;
use super::device::{Memory, Program};
use super::run::{Ask, PART, State};
use super::types::{Case, Widths};
use super::values::{Depth, Values};
use base::error::{Error, Result};
use opencl::binaries;
use opencl::cl::{ClContext, Device};
use opencl::identity::{Identity, by_identity, identity_of};
use opencl::trial::{BUILD, Client, Fault, Limit, START, Talk, serve};

/// What the hidden subcommand is told that is to answer for these.
pub const NAME: &str = "conformance";
/// How much of the processors' time any step may take, unless the user says: some drivers compile at the first launch.
const LIMIT: Duration = Duration::from_secs(60);
/// So many times as long a child may sleep: for a device that others use, or another child's compiler.
const ASLEEP: u32 = 3;

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    device: Identity,
    /// Those that are to be tried, and how many numbers of each are done.
    cases: Vec<(Case, u64)>,
    widths: Widths,
    depth: Depth,
    seed: u32,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Tried(Vec<(Case, State)>, Times),
    Failed(Error),
}

/// Where the time of a test went, in seconds, those of all children added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Drivers loaded, the device made ready.
    pub start: f64,
    /// The device's compiler.
    pub compile: f64,
    /// Numbers made and brought to the device.
    pub numbers: f64,
    /// What is right for them.
    pub reference: f64,
    /// Waited for the device, and for results.
    pub device: f64,
    /// Both compared.
    pub compare: f64,
}

impl Times {
    /// Adds those of another part of the test.
    pub fn add(&mut self, other: Times) {
        self.start += other.start;
        self.compile += other.compile;
        self.numbers += other.numbers;
        self.reference += other.reference;
        self.device += other.device;
        self.compare += other.compare;
    }
}

/// Adds the time since `began`, which begins anew.
pub(super) fn clock(began: &mut Instant, time: &mut f64) {
    *time += began.elapsed().as_secs_f64();
    *began = Instant::now();
}

/// What ended a child, or kept it from answering.
#[derive(Debug)]
pub(super) enum Trouble {
    /// With this case, in a sentence.
    Case(Case, Error),
    /// With some of several cases, while they were compiled together.
    Together,
    /// With all of them: there is no such device, or no child.
    Device(Error),
}

/// A child that answers for one thread.
#[derive(Debug)]
pub(super) struct Child {
    device: Identity,
    client: Option<Client>,
    /// Whether the last question was answered.
    pub(super) answered: bool,
    pub(super) times: Times,
}

impl Child {
    /// Started when it is asked first; ends with the thread that asks.
    pub(super) fn new(device: &Device) -> Self {
        Self { device: identity_of(device), client: None, answered: false, times: Times::default() }
    }

    /// Tries the next part of the cases' numbers.
    ///
    /// # Errors
    /// When the child ends or does not answer in time; the next question starts another.
    pub(super) fn ask(
        &mut self,
        cases: &[(Case, u64)],
        ask: &Ask,
    ) -> std::result::Result<Vec<(Case, State)>, Trouble> {
        let Ask { widths, depth, seed, .. } = *ask;
        let request = Request { device: self.device.clone(), cases: cases.to_vec(), widths, depth, seed };
        let limit = |step: &str, _: Option<f64>| {
            // Compiling, and making numbers, is no conversion.
            let is_case = cases.iter().any(|(case, _)| case.to_string() == step);
            let work = ask.limit.filter(|_| is_case).unwrap_or(LIMIT);
            Limit { work, asleep: work * ASLEEP }
        };
        loop {
            let client = match self.client.take() {
                Some(client) => client,
                None => Client::start(NAME).map_err(|fault| trouble(cases, START, &fault))?,
            };
            let client = self.client.insert(client);
            let fresh = client.is_fresh();
            match client.ask(&request, &limit) {
                Ok(Answer::Tried(states, times)) => {
                    self.times.add(times);
                    self.answered = true;
                    return Ok(states);
                }
                Ok(Answer::Failed(error)) => {
                    self.client = None;
                    return Err(Trouble::Device(error));
                }
                Err(fault) => {
                    let step = client.step().to_owned();
                    self.client = None;
                    // What an earlier conversion has damaged is not this one's fault.
                    if fresh || !matches!(fault, Fault::Ended(_)) {
                        return Err(trouble(cases, &step, &fault));
                    }
                }
            }
        }
    }
}

/// What a fault means in this step.
fn trouble(cases: &[(Case, u64)], step: &str, fault: &Fault) -> Trouble {
    let case = match cases {
        [(only, _)] if step == BUILD => Some(*only),
        _ => cases.iter().map(|(case, _)| *case).find(|case| case.to_string() == step),
    };
    let building = if step == BUILD { " while it is compiled" } else { "" };
    let what = |who: &str| match fault {
        Fault::Ended(how) => format!("{who} ends the process that runs it{building} ({how})."),
        Fault::Silent(_, limit) if step == BUILD => {
            format!("{who} was not compiled within {:.1} s.", limit.as_secs_f64())
        }
        Fault::Silent(_, limit) => format!("{who} did not end within {:.1} s.", limit.as_secs_f64()),
        Fault::NotStarted(why) => format!("{who} could not be tried in a process of its own: {why}."),
    };
    let why = "Each conversion runs in another process, so that it costs no other one.";
    match case {
        Some(case) => Trouble::Case(
            case,
            Error::new(what(&case.to_string()), why, "Try it again alone, with more time: --kernel-timeout."),
        ),
        None if step == BUILD => Trouble::Together,
        None => Trouble::Device(Error::new(what("The device"), why, "Look with `clreel devices`.")),
    }
}

/// The conversions that were compiled last, and those of them that could not be.
type Compiled = (Vec<Case>, Program, Vec<(Case, Error)>);

/// What a child keeps from one request to the next.
struct Worker {
    of: Identity,
    cl: ClContext,
    memory: Memory,
    wanted: Wanted,
    input: Vec<u8>,
    compiled: Option<Compiled>,
}

/// Answers requests until nobody asks any more, then ends the process. `frame` is the number of the shared memory, which is
/// not needed.
pub fn answer(frame: u32) -> ! {
    // The next test begins with what this one has compiled.
    binaries::keep();
    let mut worker: Option<Worker> = None;
    serve(frame, |request: Request, talk| {
        let mut times = Times::default();
        match tried(&request, &mut worker, &mut times, talk) {
            Ok(states) => Answer::Tried(states, times),
            Err(error) => Answer::Failed(error),
        }
    })
}

fn tried(
    request: &Request,
    kept: &mut Option<Worker>,
    times: &mut Times,
    talk: &mut Talk,
) -> Result<Vec<(Case, State)>> {
    talk.step(START);
    let mut began = Instant::now();
    let mut worker = match kept.take().filter(|worker| worker.of == request.device) {
        Some(known) => known,
        None => Worker::new(&request.device)?,
    };
    clock(&mut began, &mut times.start);
    let cases: Vec<Case> = request.cases.iter().map(|(case, _)| *case).collect();
    // Of those that were compiled together some may have come to their end.
    let known = worker.compiled.take().filter(|(of, program, _)| {
        program.widths == request.widths && cases.iter().all(|case| of.contains(case))
    });
    let (of, program, failures) = match known {
        Some(known) => known,
        None => {
            let (program, failures) = Program::compile(&worker.cl, &cases, request.widths)?;
            (cases, program, failures)
        }
    };
    clock(&mut began, &mut times.compile);
    let Some(from) = of.first().map(|case| case.from) else { return Ok(Vec::new()) };
    let values = Values::new(from, request.depth, request.seed);
    let first = request.cases.iter().map(|(_, done)| *done).min().unwrap_or(0).min(values.count());
    let count = (values.count() - first).min(PART as u64) as usize;
    values.fill(first, count, &mut worker.input);
    worker.memory.load(&worker.input)?;
    clock(&mut began, &mut times.numbers);
    let end = first + count as u64;
    let (mut states, mut is_lost) = (Vec::new(), false);
    for &(case, done) in &request.cases {
        let failure = failures.iter().find(|(of, _)| *of == case);
        let state = if let Some((_, error)) = failure {
            State::Failed(error.to_string())
        } else if done >= end && done < values.count() {
            // Others are not as far.
            State::Going(done)
        } else {
            talk.step(&case.to_string());
            let Worker { memory, input, wanted, .. } = &mut worker;
            match memory.check(&program, case, input, wanted, times) {
                Ok(Some(failure)) => State::Wrong(end, Box::new(failure)),
                Ok(None) if end == values.count() => State::Ok(end),
                Ok(None) => State::Going(end),
                Err(error) => {
                    is_lost = true;
                    State::Failed(error.to_string())
                }
            }
        };
        states.push((case, state));
    }
    worker.compiled = Some((of, program, failures));
    // A context whose commands fail may not come back: the next conversions are not blamed for that.
    *kept = (!is_lost).then_some(worker);
    Ok(states)
}

impl Worker {
    fn new(of: &Identity) -> Result<Self> {
        let unknown =
            || Error::new("Conversions could not be tried.", "Their device is not listed there.", "");
        let cl = ClContext::new(&by_identity(of).ok_or_else(unknown)?)?;
        let memory = Memory::new(&cl);
        let (wanted, input) = (Wanted::default(), Vec::new());
        Ok(Self { of: of.clone(), cl, memory, wanted, input, compiled: None })
    }
}
