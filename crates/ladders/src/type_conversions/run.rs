//! A conformance test of a device's conversions. The result of each case is reported as soon as it is known, from several
//! threads.
//!
//! Cases with the same types are compiled together, and tested together on one part of the numbers after the other. Each thread
//! has a child process of its own ([`trial`](super::trial)): while one child waits for its compiler or device, another computes
//! expected results, and a driver that crashes or hangs costs only the case that it was running.

use std::collections::VecDeque;

use super::device::Abilities;
use super::state::{State, TestOptions, Times};
use super::trial::{Child, TrialError};
use super::types::Case;
use base::device::DeviceKind;
use base::error::Result;
use base::jobs::Cancel;
use base::threads::all_threads;
use opencl::cl::Device;
use parking_lot::Mutex;

/// The maximum number of threads. Each thread has a child process, with its own memory on the device.
const MAX_THREADS: usize = 16;

/// A callback that receives the state of a case.
pub(crate) type Observer<'a> = &'a (dyn Fn(Case, State) + Sync);

/// Tests all cases until `stop` is cancelled, and reports the state of each case to `watch`. Returns the time spent in each stage
/// of the test.
///
/// # Errors
/// Returns an error if the device cannot be used at all.
pub fn run(device: &Device, options: &TestOptions, stop: &Cancel, watch: Observer) -> Result<Times> {
    let types = Abilities::of(device).types();
    let mut groups: VecDeque<Group> = VecDeque::new();
    for &(case, done) in &options.cases {
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
    // The widest types come first, because they take longest and would otherwise delay the end.
    groups.make_contiguous().sort_by_key(|group| {
        std::cmp::Reverse(group.first().map(|(case, _)| case.from.bytes() + case.to.bytes()))
    });
    let least = if device.info.kind == DeviceKind::Cpu { 1 } else { 2 };
    let threads = all_threads().max(least).min(MAX_THREADS).min(groups.len());
    let groups = Mutex::new(groups);
    let next = || groups.lock().pop_front();
    // A device that cannot be used causes one error, not one for each case.
    let ended: Mutex<(Times, Result<()>)> = Mutex::new((Times::default(), Ok(())));
    let work = || {
        let mut child = Child::new(device);
        let mut done = Ok(());
        while let Some(group) = next().filter(|_| done.is_ok() && !stop.is_cancelled()) {
            done = try_group(group, &mut child, options, (stop, watch));
        }
        let mut ended = ended.lock();
        ended.0.add(child.times);
        if ended.1.is_ok() && done.is_err() {
            groups.lock().clear();
            ended.1 = done;
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().name("conversions".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let (times, done) = ended.into_inner();
    done.map(|()| times)
}

/// Cases with the same types, each with the number of values for which it has been tested.
type Group = Vec<(Case, u64)>;

/// Tests a group of cases completely in the child process `child`, one part of the numbers after another, until `stop` is
/// cancelled. Reports the state of each case to `watch`, if it has changed.
///
/// # Errors
/// Returns an error if the device cannot be used at all.
fn try_group(
    group: Group,
    child: &mut Child,
    options: &TestOptions,
    (stop, watch): (&Cancel, Observer),
) -> Result<()> {
    let mut waiting = vec![group];
    while let Some(mut cases) = waiting.pop() {
        while !cases.is_empty() && !stop.is_cancelled() {
            match child.ask(&cases, options) {
                Ok(states) => {
                    let asked = std::mem::take(&mut cases);
                    for (case, state) in states {
                        if let State::Partial(done) = state {
                            cases.push((case, done));
                            if asked.contains(&(case, done)) {
                                continue;
                            }
                        }
                        watch(case, state);
                    }
                }
                Err(TrialError::Case(case, error)) => {
                    watch(case, State::Failed(error.to_string()));
                    cases.retain(|(of, _)| *of != case);
                }
                // One of the cases crashed the compiler. Compiling each alone shows which one.
                Err(TrialError::FailedTogether) => waiting.extend(cases.drain(..).map(|case| vec![case])),
                // The first such error may be due to these cases; the next one is the device's.
                Err(TrialError::Device(error)) if child.has_answered => {
                    child.has_answered = false;
                    for (case, _) in cases.drain(..) {
                        watch(case, State::Failed(error.to_string()));
                    }
                }
                Err(TrialError::Device(error)) => return Err(error),
            }
        }
    }
    Ok(())
}
