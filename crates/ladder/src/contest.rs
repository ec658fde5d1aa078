//! Ladders whose kernels compute on plain memory. In: a [`Ladder`], which brings only what is its own. Out: its
//! [`Contest`], the benchmark of it on a device.
//!
//! Every rung is checked at small and odd cases, among canaries, before it is timed.

use std::cell::RefCell;

use serde_json::Value;

use super::answer::{self, Request};
use super::bench::{Bench, Compared, Prepared, Tried, fail, no_limit, or_without, passed, predict};
use super::growth::Growth;
use super::rows::{Case, CaseRun, Chosen, Entry, LimitName, Worth};
use super::sizes::Sizes;
use crate::config::{Config, Tunable};
use crate::measure::Sample;
use crate::rung::{Rung, Work};
use crate::trial::Child;
use crate::{BackEnd, Outcome};
use base::error::Result;
use base::memory::require;
use base::verify::{self, Accuracy, Checked, Elements, MismatchReport};
use opencl::cl::{ClContext, Device, DeviceInfo, DeviceKind};
use opencl::parts::require_sub_buffers;
use opencl::program::is_changed;

/// One computation, written several times: its cases, its rungs, and how they run. What is common to all ladders is here
/// and in the modules beside; a ladder brings only what is its own.
pub trait Ladder {
    /// What is computed once: a count, three sizes, a pair of types.
    type Case: Clone + PartialEq;
    /// The kernels of a rung.
    type Code: Tunable;
    /// What threads of this process do in a rung.
    type Host: Copy + 'static;
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
    /// Whether it does the operations and moves no bytes; otherwise it moves the bytes and computes nothing.
    const LIMIT_COMPUTES: bool = false;
    /// The kernel file of the limit.
    const LIMIT_FILE: &'static str;
    /// Names of the kinds of input; the first is the one that is timed.
    const INPUTS: &'static [&'static str];

    /// The options that say its cases, as in "count".
    const TAKES: &'static [&'static str];
    /// Values of the first of these options for the window's spare time, the smallest first: at each a graphics card and a
    /// processor need seconds for all rungs.
    const SIZES: &'static [&'static str];

    /// The cases that are asked for, each once; the one that is usual where none is.
    ///
    /// # Errors
    /// A sentence for the user, where there are no such cases.
    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Self::Case>, String>;

    /// Its rungs, in order.
    fn rungs(&self) -> &'static [Rung<Self::Code, Self::Host>];

    /// Small and odd cases in which a kernel's faults show.
    fn small(&self) -> Vec<Self::Case>;

    /// Those for what is timed at `case`.
    fn small_for(&self, _case: &Self::Case) -> Vec<Self::Case> {
        self.small()
    }

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

    /// Operations on floats that have to be done; 0 where there are none.
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

    /// Whether these kernels can do a case that the device can hold; otherwise why not, in a sentence.
    ///
    /// # Errors
    /// The sentence.
    fn takes(
        &self,
        _cl: &ClContext,
        _code: &Self::Code,
        _case: &Self::Case,
    ) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Smaller cases than this one, the smallest first: by them it is predicted how long a run takes before it is tried. None
    /// where no run takes long.
    fn smaller(&self, _case: &Self::Case) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Threads of this process.
    fn host(&self, host: Self::Host) -> Self::Built;

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

    /// What the output in a room is made of, after [`Ladder::load`].
    fn elements(&self, room: &Self::Room) -> Self::Elements;

    /// What the times of a case say on a device of this kind, in a sentence or two, where there is a question that they answer.
    fn remark(&self, _kind: Option<DeviceKind>, _run: &CaseRun) -> Option<String> {
        None
    }

    /// What a case is called.
    fn named(&self, case: &Self::Case) -> Case {
        let (title, json) = (self.title(case), self.json(case));
        let worth = Worth::Amounts { bytes: self.bytes(case), operations: self.operations(case) };
        let base = self.rungs().first().map_or("", |rung| rung.id);
        let limits =
            vec![LimitName { key: "limit", name: Self::LIMIT, note: None, computes: Self::LIMIT_COMPUTES }];
        Case { short: title.clone(), title, json, worth, base, limits }
    }
}

/// What is predicted to take longer, by a smaller case, is not run once more to see whether it does; in milliseconds.
const LONG_MS: f64 = 2000.0;

/// A ladder on one device, or on none.
#[derive(Debug)]
pub struct Contest<'a, L: Ladder> {
    pub(super) ladder: &'a L,
    pub(super) cl: Option<ClContext>,
    /// What stands in the place of what needs the device, where that is not there or cannot be used.
    without: Box<Outcome>,
    /// Tries changed kernels first.
    pub(super) child: RefCell<&'a mut Child>,
}

/// Memory for a case, and what is right for its input.
#[derive(Debug)]
pub struct Room<L: Ladder> {
    pub(super) case: L::Case,
    pub(super) memory: L::Room,
    want: Vec<u8>,
    /// What stands in the place of what needs the device, where that had no memory for the case.
    without: Option<Box<Outcome>>,
}

impl<'a, L: Ladder> Contest<'a, L> {
    /// Without a device, or with one that cannot be used, what does without can be timed, and no limit. Changed kernels are
    /// tried in `child` first.
    pub fn new(ladder: &'a L, device: Option<&Device>, child: &'a mut Child) -> Self {
        let (cl, without) = or_without(device.map(ClContext::new).transpose());
        Self { ladder, cl, without, child: RefCell::new(child) }
    }

    /// How long a run takes, in milliseconds. Smaller cases come first: what is predicted to take long by them is not tried.
    pub(super) fn predict(&self, built: &L::Built, room: &mut Room<L>) -> Result<f64> {
        let operations = |case: &L::Case| self.ladder.operations(case).max(1.0);
        let mut known = Growth::default();
        for small in self.ladder.smaller(&room.case) {
            if known.at(operations(&small)) > LONG_MS {
                return Ok(known.at(operations(&room.case)));
            }
            let mut memory = self.ladder.room(self.device(room).ok(), &small, 0)?;
            self.ladder.load(&mut memory, L::INPUTS[0])?;
            known.note(operations(&small), predict(|| self.ladder.run(built, &mut memory))?);
        }
        match known.at(operations(&room.case)) {
            predicted if predicted > LONG_MS => Ok(predicted),
            _ => predict(|| self.ladder.run(built, &mut room.memory)),
        }
    }

    /// Tries a configuration in the child, where its kernels are not those that are built in.
    pub(super) fn try_config(&self, case: &L::Case, id: &str, config: &Config<L::Code>) -> Tried<()> {
        if let Some(cl) = &self.cl {
            let takes = self.ladder.takes(cl, config.code(), case);
            takes.map_err(|why| Box::new(Outcome::Unsupported(why)))?;
        }
        let report = self.try_first(case, Some((id, config))).map_err(fail)?;
        // In this process it would be the memory of something else.
        passed(Ok(report.filter(MismatchReport::wrote_elsewhere)))
    }

    /// Tries kernels in the child, where they are not those that are built in; how they differ, if they do. Without a
    /// configuration those of the limit.
    fn try_first(
        &self,
        case: &L::Case,
        config: Option<(&str, &Config<L::Code>)>,
    ) -> Result<Option<MismatchReport>> {
        let file = config.map_or(L::LIMIT_FILE, |(_, config)| config.code().file());
        let Some(cl) = self.cl.as_ref().filter(|_| is_changed(file)) else { return Ok(None) };
        let name = config.map_or(L::LIMIT.to_owned(), |(id, _)| format!("'{id}'"));
        answer::ask(&mut self.child.borrow_mut(), &name, Request::of(self.ladder, cl, case, config))
    }

    /// The device, if it can hold the case, and has memory for it.
    pub(super) fn device(&self, room: &Room<L>) -> Tried<&ClContext> {
        let cl = self.cl.as_ref().ok_or_else(|| self.without.clone())?;
        let can = self.ladder.supports(&cl.device.info, &room.case);
        can.map_err(|why| Box::new(Outcome::Unsupported(why)))?;
        room.without.clone().map_or(Ok(cl), Err)
    }

    fn room_on(&self, cl: Option<&ClContext>, case: &L::Case) -> Result<Room<L>> {
        let mut memory = self.ladder.room(cl, case, 0)?;
        let want = self.ladder.load(&mut memory, L::INPUTS[0])?;
        Ok(Room { case: case.clone(), memory, want, without: None })
    }
}

impl<L: Ladder> Bench for Contest<'_, L> {
    type Case = L::Case;
    type Entrant = &'static Rung<L::Code, L::Host>;
    type Room = Room<L>;
    type Ready = L::Built;

    fn case(&self, case: &L::Case) -> Case {
        self.ladder.named(case)
    }

    fn entry(&self, rung: Self::Entrant) -> Entry {
        // A device with memory of its own says nothing of the processor's.
        let shared = self.cl.as_ref().is_some_and(|cl| cl.device.info.kind == DeviceKind::Cpu);
        let limit = (shared || rung.back_end() == BackEnd::OpenCl).then_some(0);
        Entry { limit, ..rung.entry() }
    }

    fn room(&mut self, case: &L::Case) -> Result<Room<L>> {
        require(self.ladder.memory(case))?;
        match self.room_on(self.cl.as_ref(), case) {
            // What does without the device does without its memory.
            Err(error) if self.cl.is_some() => {
                self.room_on(None, case).map(|room| Room { without: Some(fail(error)), ..room })
            }
            made => made,
        }
    }

    /// Builds a rung, and checks it at the small cases.
    fn prepare(&mut self, rung: Self::Entrant, room: &mut Room<L>) -> Tried<Prepared<L::Built>> {
        let (built, chosen) = match rung.work {
            Work::Host(host) => (self.ladder.host(host), None),
            Work::Kernels(code) => {
                let cl = self.device(room)?;
                let config = Config::of(code, cl.device.info.kind).fitted(&cl.device.info);
                self.try_config(&room.case, rung.id, &config)?;
                (self.ladder.compile(cl, &config).map_err(fail)?, None)
            }
            Work::Fastest => {
                let tuned = self.tuned(room);
                let is_tuned = Some(tuned.is_some());
                let (id, config, built) = tuned.map_or_else(|| self.fastest(room), Ok)?;
                let what = format!("{id} {config}").trim_end().to_owned();
                (built, Some(Chosen { what, tuned: is_tuned }))
            }
        };
        let checked = check(self.ladder, self.device(room).ok(), &built, &room.case)?;
        let predicted_ms = self.predict(&built, room).map_err(fail)?;
        Ok(Prepared { ready: built, predicted_ms, chosen, checked })
    }

    fn limit(&mut self, _index: usize, room: &mut Room<L>) -> Tried<L::Built> {
        let cl = self.device(room).map_err(|outcome| no_limit(&outcome))?;
        passed(self.try_first(&room.case, None))?;
        self.ladder.compile_limit(cl).map_err(fail)
    }

    fn poison(&self, built: &L::Built, room: &mut Room<L>) -> Result<()> {
        self.ladder.write(built, &mut room.memory, &verify::poisoned(&room.want))
    }

    fn run(&self, built: &L::Built, room: &mut Room<L>) -> Result<Sample> {
        self.ladder.run(built, &mut room.memory)
    }

    fn remark(&self, run: &CaseRun) -> Option<String> {
        self.ladder.remark(self.cl.as_ref().map(|cl| cl.device.info.kind), run)
    }

    fn compare(&self, built: &L::Built, room: &mut Room<L>) -> Result<Compared> {
        let Room { case, memory, want, .. } = room;
        let got = self.ladder.read(built, memory)?;
        let elements = self.ladder.elements(memory);
        let accuracy = Accuracy::of(want, &got, &elements);
        let report = verify::compare(want, &got, elements, (&[], &[]));
        let report = verify::with_source(report, self.ladder.changed(built, memory)?);
        let named = |report| MismatchReport { case: self.ladder.title(case), ..report };
        Ok(report.map_or(Ok(accuracy), |report| Err(Box::new(named(report)))))
    }
}

/// Every kind of input at small and odd cases, among canaries.
pub(super) fn check<L: Ladder>(
    ladder: &L,
    cl: Option<&ClContext>,
    built: &L::Built,
    timed: &L::Case,
) -> Tried<Vec<Checked>> {
    let small = ladder.small_for(timed);
    for case in &small {
        for input in L::INPUTS {
            let named = |report| {
                let case = format!("{input}, {}", ladder.title(case));
                MismatchReport { case, ..report }
            };
            passed(check_one(ladder, cl, built, case, input).map(|report| report.map(named)))?;
        }
    }
    let timed = Checked {
        sizes: vec![ladder.title(timed)],
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

/// One kind of input at one case, among canaries.
pub(super) fn check_one<L: Ladder>(
    ladder: &L,
    cl: Option<&ClContext>,
    built: &L::Built,
    case: &L::Case,
    input: &str,
) -> Result<Option<MismatchReport>> {
    let mut room = ladder.room(cl, case, verify::guard(ladder.output_bytes(case)))?;
    let want = ladder.load(&mut room, input)?;
    let elements = ladder.elements(&room);
    let mut source = 0;
    let report = verify::check(&want, elements, |before| {
        ladder.write(built, &mut room, before)?;
        ladder.run(built, &mut room)?;
        source = source.max(ladder.changed(built, &room)?);
        ladder.read(built, &room)
    })?;
    let report = verify::with_source(report, source);
    if let (Some(_), Some(cl)) = (&report, cl) {
        // Before a kernel is blamed.
        require_sub_buffers(cl)?;
    }
    Ok(report)
}
