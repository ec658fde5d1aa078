//! A conformance test of one device's conversions. In: cases, how thorough, a seed. Out: what came of each case, told as soon
//! as it is known, from several threads at once.
//!
//! Cases of one source and destination are compiled together, and tried together, part by part of the numbers. Each thread
//! has a context of its own: while one waits for its compiler or device, another computes what is right.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::compare::{Failure, Wanted};
use super::device::{Abilities, Memory, Program};
use super::types::{Case, Type};
use super::values::{Depth, Values};
use crate::error::Result;
use crate::gpu::cl::{ClContext, Device, DeviceKind};
use crate::threads::all_threads;

/// Numbers that are tried at once.
const PART: usize = 1 << 21;
/// Most threads: each has its memory on the device.
const MOST_THREADS: usize = 16;

/// What is asked of a test.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The cases, and how many numbers of each are done already.
    pub cases: Vec<(Case, u64)>,
    /// How thorough.
    pub depth: Depth,
    /// What the random numbers come from.
    pub seed: u32,
}

/// What is known of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It is right so far, for so many numbers.
    Going(u64),
    /// It is right, for all of so many numbers.
    Ok(u64),
    /// It is wrong, within so many numbers.
    Wrong(u64, Box<Failure>),
    /// The device has no such type.
    Unsupported(String),
    /// It could not be compiled or run.
    Failed(String),
}

/// Told what is known of a case.
pub type Watch<'a> = &'a (dyn Fn(Case, State) + Sync);

/// Tries all cases, until `stop` is set.
///
/// # Errors
/// When the device cannot be used at all.
pub fn run(device: &Device, ask: &Ask, stop: &AtomicBool, watch: Watch) -> Result<()> {
    let types = Abilities::of(device).types();
    let mut groups: VecDeque<Group> = VecDeque::new();
    for &(case, done) in &ask.cases {
        if let Some(missing) = [case.from, case.to].into_iter().find(|of| !types.contains(of)) {
            watch(case, State::Unsupported(format!("The device has no {}.", missing.name())));
            continue;
        }
        match groups.iter_mut().find(|group| (group.from, group.to) == (case.from, case.to)) {
            Some(group) => group.cases.push((case, done)),
            None => groups.push_back(Group { from: case.from, to: case.to, cases: vec![(case, done)] }),
        }
    }
    // What cannot be used at all is one error, not one for each case.
    drop(ClContext::new(device)?);
    let threads = match device.info.kind {
        DeviceKind::Cpu => all_threads(),
        _ => all_threads().max(2),
    };
    let threads = threads.min(MOST_THREADS).min(groups.len());
    let groups = Mutex::new(groups);
    let next = || groups.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let mut worker: Option<Worker> = None;
        while let Some(group) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
            if let Err(error) = group.run(device, ask, &mut worker, stop, watch) {
                for (case, _) in &group.cases {
                    watch(*case, State::Failed(error.to_string()));
                }
                // A failure may have cost the context.
                worker = None;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().name("conversions".into()).spawn_scoped(scope, work);
        }
        work();
    });
    Ok(())
}

/// A thread's context and memory.
struct Worker {
    cl: ClContext,
    memory: Memory,
    wanted: Wanted,
    input: Vec<u8>,
}

/// Cases of one source and destination.
struct Group {
    from: Type,
    to: Type,
    cases: Vec<(Case, u64)>,
}

impl Group {
    fn run(
        &self,
        device: &Device,
        ask: &Ask,
        worker: &mut Option<Worker>,
        stop: &AtomicBool,
        watch: Watch,
    ) -> Result<()> {
        let worker = match worker.take() {
            Some(known) => worker.insert(known),
            None => {
                let cl = ClContext::new(device)?;
                let memory = Memory::new(&cl);
                worker.insert(Worker { cl, memory, wanted: Wanted::default(), input: Vec::new() })
            }
        };
        let cases: Vec<Case> = self.cases.iter().map(|(case, _)| *case).collect();
        let (program, failures) = Program::compile(&worker.cl, &cases)?;
        let mut left = self.cases.clone();
        for (case, error) in failures {
            watch(case, State::Failed(error.to_string()));
            left.retain(|(of, _)| *of != case);
        }
        let values = Values::new(self.from, ask.depth, ask.seed);
        let mut first = left.iter().map(|(_, done)| *done).min().unwrap_or(0);
        while first < values.count() && !left.is_empty() {
            let count = (values.count() - first).min(PART as u64) as usize;
            values.fill(first, count, &mut worker.input);
            worker.memory.load(&worker.input)?;
            let end = first + count as u64;
            let mut going = Vec::new();
            for &(case, done) in &left {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if done >= end {
                    going.push((case, done));
                    continue;
                }
                let found = worker.memory.check(&program, case, &worker.input, &mut worker.wanted)?;
                match found {
                    Some(failure) => watch(case, State::Wrong(end, Box::new(failure))),
                    None if end == values.count() => watch(case, State::Ok(end)),
                    None => {
                        watch(case, State::Going(end));
                        going.push((case, end));
                    }
                }
            }
            left = going;
            first = end;
        }
        Ok(())
    }
}
