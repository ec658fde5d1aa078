//! A conformance test of one device's conversions. In: cases, how thorough, a seed. Out: what came of each case, told as soon
//! as it is known, from several threads at once.
//!
//! Cases of one source and destination are compiled together, and tried together, part by part of the numbers. Each thread
//! asks a child process of its own ([`trial`](super::trial)): while one waits for its compiler or device, another computes what
//! is right, and a driver that crashes or hangs costs the case that it was at.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use super::device::Abilities;
use super::trial::{Child, Times, Trouble};
use super::types::{Case, Widths};
use super::values::Depth;
use base::error::Result;
use base::jobs::Cancel;
use base::threads::all_threads;
use opencl::cl::{Device, DeviceKind};

/// Numbers that are tried at once.
pub(super) const PART: usize = 1 << 21;
/// Most threads: each has a process, with its memory on the device.
const MOST_THREADS: usize = 16;

/// What is asked of a test.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The cases, and how many numbers of each are done already.
    pub cases: Vec<(Case, u64)>,
    /// Which forms of each.
    pub widths: Widths,
    /// How thorough.
    pub depth: Depth,
    /// What the random numbers come from.
    pub seed: u32,
    /// How long a step may take, where the user says.
    pub limit: Option<Duration>,
}

/// What is known of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub(crate) type Watch<'a> = &'a (dyn Fn(Case, State) + Sync);

/// Tries all cases, until `stop` says so. Returns where the time went.
///
/// # Errors
/// When the device cannot be used at all.
pub fn run(device: &Device, ask: &Ask, stop: &Cancel, watch: Watch) -> Result<Times> {
    let types = Abilities::of(device).types();
    let mut groups: VecDeque<Group> = VecDeque::new();
    for &(case, done) in &ask.cases {
        if let Some(missing) = [case.from, case.to].into_iter().find(|of| !types.contains(of)) {
            watch(case, State::Unsupported(format!("The device has no {}.", missing.name())));
            continue;
        }
        let same = |group: &&mut Group| {
            group.first().is_some_and(|(of, _)| (of.from, of.to) == (case.from, case.to))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push((case, done)),
            None => groups.push_back(vec![(case, done)]),
        }
    }
    // The widest first: they take longest, and nobody waits for a last one.
    groups.make_contiguous().sort_by_key(|group| {
        std::cmp::Reverse(group.first().map(|(case, _)| case.from.bytes() + case.to.bytes()))
    });
    let threads = match device.info.kind {
        DeviceKind::Cpu => all_threads(),
        _ => all_threads().max(2),
    };
    let threads = threads.min(MOST_THREADS).min(groups.len());
    let groups = Mutex::new(groups);
    let next = || groups.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    // What cannot be used at all is one error, not one for each case.
    let ended: Mutex<(Times, Result<()>)> = Mutex::new((Times::default(), Ok(())));
    let work = || {
        let mut child = Child::new(device);
        let work = Work { ask, stop, watch };
        let mut done = Ok(());
        while let Some(group) = next().filter(|_| done.is_ok() && !stop.is_cancelled()) {
            done = work.try_group(group, &mut child);
        }
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.0.add(child.times);
        if ended.1.is_ok() && done.is_err() {
            groups.lock().unwrap_or_else(PoisonError::into_inner).clear();
            ended.1 = done;
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().name("conversions".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let (times, done) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.map(|()| times)
}

/// Cases of one source and destination, and how many numbers of each are done.
type Group = Vec<(Case, u64)>;

/// One thread's work: groups until there are no more, each case told as soon as it is known.
struct Work<'a> {
    ask: &'a Ask,
    stop: &'a Cancel,
    watch: Watch<'a>,
}

impl Work<'_> {
    /// Tries a group to its end, part by part of the numbers.
    ///
    /// # Errors
    /// When the device cannot be used at all.
    fn try_group(&self, group: Group, child: &mut Child) -> Result<()> {
        let mut waiting = vec![group];
        while let Some(mut cases) = waiting.pop() {
            while !cases.is_empty() && !self.stop.is_cancelled() {
                match child.ask(&cases, self.ask) {
                    Ok(states) => cases = self.note(&cases, states),
                    Err(Trouble::Case(case, error)) => {
                        (self.watch)(case, State::Failed(error.to_string()));
                        cases.retain(|(of, _)| *of != case);
                    }
                    // One of them: which one shows when each is compiled alone.
                    Err(Trouble::Together) => waiting.extend(cases.drain(..).map(|case| vec![case])),
                    // Once it may have been these; again at once, it is the device.
                    Err(Trouble::Device(error)) if child.answered => {
                        child.answered = false;
                        for (case, _) in cases.drain(..) {
                            (self.watch)(case, State::Failed(error.to_string()));
                        }
                    }
                    Err(Trouble::Device(error)) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Tells what came of cases; returns those that go on.
    fn note(&self, asked: &[(Case, u64)], states: Vec<(Case, State)>) -> Group {
        let mut going = Group::new();
        for (case, state) in states {
            let before = asked.iter().find(|(of, _)| *of == case).map(|(_, done)| *done);
            if let State::Going(done) = state {
                going.push((case, done));
                if before == Some(done) {
                    continue;
                }
            }
            (self.watch)(case, state);
        }
        going
    }
}
