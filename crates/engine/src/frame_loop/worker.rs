//! Workers: each owns an engine, with the device's pipeline and the frames that it filters, and stays on one thread. The frame
//! loop sends [`Command`]s to it and receives [`Event`]s.
//!
//! A [`ThreadWorker`] has a thread of its own, so that a driver's call that hangs stops nothing else: the picture stands still,
//! the overlay is drawn, and another device gets a worker of its own. A [`WindowWorker`] runs on the window's thread: for
//! shaders, for the filter in Rust, which has a thread of its own, and for drivers that need OpenGL's context.
//!
//! OpenGL's part of a frame is done on the window's thread before the frame is submitted, so that a worker makes no OpenGL
//! calls except those of its filters.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::choice::Filter;
use super::flights::{Pair, Picture};
use crate::job::Job;
use crate::stats::{Span, Stage};
use crate::{
    DeviceBuffers, DeviceStatus, Difference, Engine, Finished, Need, Pipeline, Progress, Refusal,
    RemovedDevice, Request, Slot, Stages, Ticket,
};
use base::error::Result;
use base::jobs::Waker;
use opencl::device_thread::DeviceThread;
use opencl::watch;
use parking_lot::Mutex;
use video::Frame;
use video::color::Staging;

/// The interval at which frames are polled, for drivers without callbacks.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The longest time that a worker without frames waits for a command in one call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// A frame to be filtered.
pub(super) struct Submission {
    pub(super) ticket: Ticket,
    pub(super) frame: Arc<Frame>,
    pub(super) request: Request,
    pub(super) slot: Slot,
    /// The chosen filter, if the frame waits until everything that this filter needs is built. If `None`, the frame waits only
    /// for the conversion that a variant that filters planes needs.
    pub(super) waits_for: Option<Filter>,
}

/// A function that runs with the device's pipeline on the worker's thread.
pub(super) type PipelineWork = Box<dyn FnOnce(&mut Pipeline) + Send>;

/// The message that ends a worker: what it has to release, and the receiver of its events.
pub(super) struct Leave {
    /// The device's memory objects of slots whose frames are not being filtered.
    buffers: Vec<DeviceBuffers>,
    events: Receiver<Event>,
    /// The sender of true when everything is released, or of false if the device could not finish its commands.
    released: Sender<bool>,
}

/// A command to a worker.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Command {
    /// Filters a frame.
    Submit(Box<Submission>),
    /// Cancels the unstarted work of a frame if its filter is predicted to take longer than this number of milliseconds from
    /// now.
    Cancel(Ticket, f64),
    /// Starts the frame that is held back because its filter will take long.
    StartHeld,
    /// Compares the pictures of the two sides of a wipe. The map of their differences is written to the slot.
    Compare(Box<Pair>, Slot),
    /// Runs a function with the device's pipeline, for example to add programs that were built. Drops the function if there is
    /// no device.
    Install(PipelineWork),
    /// Polls the frames, because a command of the device has completed.
    Poll,
    /// Releases the device with everything that is on it, and ends the worker.
    Leave(Box<Leave>),
}

impl Command {
    /// Returns a description of what the worker does, for messages about drivers that do not respond.
    fn description(&self) -> &'static str {
        match self {
            Self::Submit(_) => "a frame is handed over",
            Self::Cancel(..) | Self::StartHeld | Self::Poll => "a frame is filtered",
            Self::Compare(..) => "two pictures are compared",
            Self::Install(_) => "what was built is taken over",
            Self::Leave(_) => "it is left",
        }
    }
}

/// The state of a worker.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    /// The unfinished frames, each with its progress.
    pub(super) jobs: Vec<(Ticket, Progress)>,
    /// True if a frame is held back because its filter will take long.
    pub(super) is_holding: bool,
    /// The number of [`Command::Install`]s that were carried out so far.
    pub(super) installed: usize,
    /// The abilities of the device, such as the variants that are built for it.
    pub(super) status: DeviceStatus,
    /// The programs and results that frames need, that are missing, and that were not in an earlier report.
    pub(super) needs: Vec<Need>,
}

/// An event that a worker reports to the frame loop.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Event {
    /// The worker's new state, after it has changed.
    Progress(Report),
    /// A frame is finished.
    Finished(Finished),
    /// The request for a frame is refused.
    Refused(Ticket, Slot, Refusal),
    /// The comparison of the two sides of a wipe has finished. The slot holds the map of their differences; the result holds
    /// the differences and the device's time in milliseconds.
    Compared(Box<Pair>, Slot, Result<(Difference, f64)>),
    /// The device has failed. The worker carries out no further command except for the release of the device.
    Failed(base::error::Error),
}

impl Event {
    fn into_slots(self) -> Vec<Slot> {
        match self {
            Self::Progress(_) | Self::Failed(_) => Vec::new(),
            Self::Finished(Finished { slot, .. }) | Self::Refused(_, slot, _) => vec![slot],
            Self::Compared(pair, map, _) => {
                pair.sides.map(|Picture { slot, .. }| slot).into_iter().chain([map]).collect()
            }
        }
    }
}

/// The frame loop's interface to a worker. Dropping a worker abandons its device.
pub(super) trait Worker {
    /// Sends a command. Never waits for a device, unless the worker runs on the calling thread.
    fn send(&mut self, command: Command);

    /// Returns the next event, if there is one. Never waits.
    fn receive(&mut self) -> Option<Event>;

    /// Returns true if the worker runs on the window's thread, where [`Worker::receive`] polls its frames.
    fn is_here(&self) -> bool {
        false
    }

    /// Returns the time for which the worker has been in its current call; zero if it waits for commands.
    fn silent_for(&self) -> Duration {
        Duration::ZERO
    }

    /// Subtracts a time in which the process was stopped from [`Worker::silent_for`], because the worker was stopped, too.
    fn exclude_stop(&mut self, _stopped: Duration) {}

    /// Takes the device's memory objects out of the slots of unfinished frames that are not filtered by the device.
    fn take_device_buffers(&mut self) -> Vec<DeviceBuffers> {
        Vec::new()
    }

    /// Abandons the device, with its frames and with `buffers`, its memory objects in other slots. Everything is released on
    /// the device's thread once its current call returns, which may be never. The receiver gets true when everything is
    /// released, and false if the device could not finish its commands.
    fn leave(&mut self, buffers: Vec<DeviceBuffers>) -> Receiver<bool>;
}

/// An engine, and the events that result from the commands it carries out.
struct WorkerCore {
    engine: Engine,
    events: VecDeque<Event>,
    reported: Report,
    installed: usize,
    has_failed: bool,
}

impl WorkerCore {
    fn new(engine: Engine) -> Self {
        let reported = Report { status: engine.status(), ..Report::default() };
        Self { engine, events: VecDeque::new(), reported, installed: 0, has_failed: false }
    }

    /// Returns true if a frame must wait until the programs that it needs are built and verified, or until a trial of its
    /// edited kernels has finished. Frames of variants that filter planes also wait for the device's conversion.
    fn must_wait(&mut self, Submission { frame, request, waits_for, .. }: &Submission) -> bool {
        let Some(pipeline) = self.engine.pipeline_mut() else { return false };
        pipeline.conversions.only_checked = waits_for.is_some();
        let (variant, kernels) = (request.variant, request.kernels());
        let is_for_device = !variant.back_end().does_without_opencl();
        let needs_conversion = is_for_device && (waits_for.is_some() || variant.reads_planes());
        if needs_conversion && pipeline.lacks_conversion(&frame.picture, kernels, true) {
            return true;
        }
        // The filter is the chosen one, even if the request is for the unfiltered frame.
        waits_for.is_some_and(|(variant, radius)| {
            pipeline.trials.needs_trial(&frame.picture, (variant, request.version), radius)
        })
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Submit(submission) if self.must_wait(&submission) => {
                let Submission { ticket, slot, .. } = *submission;
                self.events.push_back(Event::Refused(ticket, slot, Refusal::NotReady));
            }
            Command::Submit(submission) => {
                let Submission { ticket, frame, request, slot, .. } = *submission;
                let job = Job::new(ticket, request, slot, Stages::default());
                let submitted = self.engine.submit_job(&frame, job);
                let refused = submitted.err().map(|(slot, refusal)| Event::Refused(ticket, slot, refusal));
                self.events.extend(refused);
            }
            Command::Cancel(ticket, limit_ms) => {
                if self.engine.jobs.progress(ticket).remaining_ms() > limit_ms {
                    self.engine.jobs.cancel(ticket);
                }
            }
            Command::StartHeld => self.engine.start_held(),
            Command::Compare(mut pair, mut map) => {
                let began = Instant::now();
                let compared = self.engine.compare(&pair.sides[0].slot, &pair.sides[1].slot, &mut map);
                pair.sides[0].stages.spans.push(Span::since(Stage::Difference, began));
                self.events.push_back(Event::Compared(pair, map, compared));
            }
            Command::Install(work) => {
                self.engine.pipeline_mut().map(work);
                self.installed += 1;
            }
            Command::Poll | Command::Leave(_) => {}
        }
    }

    fn has_work(&self) -> bool {
        !self.engine.jobs.is_empty() && !self.has_failed
    }

    /// Starts and polls frames, and reports what has changed.
    fn advance(&mut self) {
        if self.has_failed {
            return;
        }
        self.engine.start_waiting();
        while let Some(finished) = self.engine.poll() {
            self.reported.jobs.retain(|(ticket, _)| *ticket != finished.ticket);
            self.events.push_back(Event::Finished(finished));
        }
        if let Some(error) = self.engine.failure.take() {
            self.has_failed = true;
            self.events.push_back(Event::Failed(error));
        }
        self.report();
    }

    /// Adds a report to the events if the worker's state has changed since the last report.
    fn report(&mut self) {
        let report = Report {
            jobs: self.engine.jobs.progress_of_all(),
            is_holding: self.engine.jobs.is_holding(),
            installed: self.installed,
            needs: self.engine.pipeline_mut().map(Pipeline::take_needs).unwrap_or_default(),
            status: self.engine.status(),
        };
        if report != self.reported {
            self.reported = Report { needs: Vec::new(), ..report.clone() };
            self.events.push_back(Event::Progress(report));
        }
    }

    /// Removes the device from the engine, with all its frames and with the slots that this worker still has.
    fn remove_device(&mut self) -> Option<RemovedDevice> {
        let mut device = self.engine.remove_device()?;
        device.add([], self.events.drain(..).flat_map(Event::into_slots));
        Some(device)
    }
}

/// Releases a device, and then its pinned memory for uploads, once no other thread uses that memory.
fn release(device: RemovedDevice, released: &Sender<bool>) {
    let staging = device.staging().cloned();
    let is_idle = device.release();
    if let Some(staging) = staging {
        release_staging(staging, is_idle);
    }
    // The receiver is gone if the window is closed.
    let _ = released.send(is_idle);
}

/// Releases a device's staging memory, the pinned host memory in which the planes of frames are packed for the upload. Waits until no other
/// thread uses the memory. If `is_idle` is false, the device may still read the memory, so the memory is leaked instead.
fn release_staging(staging: Staging, is_idle: bool) {
    if !is_idle {
        std::mem::forget(staging);
        return;
    }
    staging.close();
    let _host = watch::on_host();
    while !staging.is_unused() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A worker on the window's thread.
pub(super) struct WindowWorker {
    state: WorkerCore,
    /// The thread that releases the device, if there is one.
    thread: Option<DeviceThread>,
}

impl WindowWorker {
    pub(super) fn new(engine: Engine, thread: Option<DeviceThread>) -> Self {
        Self { state: WorkerCore::new(engine), thread }
    }
}

impl Worker for WindowWorker {
    /// Carries out the command before returning.
    fn send(&mut self, command: Command) {
        self.state.execute(command);
    }

    /// Polls the frames, and returns the next event.
    fn receive(&mut self) -> Option<Event> {
        if self.state.events.is_empty() {
            self.state.advance();
        }
        self.state.events.pop_front()
    }

    fn is_here(&self) -> bool {
        true
    }

    fn take_device_buffers(&mut self) -> Vec<DeviceBuffers> {
        self.state.engine.jobs.take_device_buffers()
    }

    fn leave(&mut self, buffers: Vec<DeviceBuffers>) -> Receiver<bool> {
        let (sender, released) = channel();
        if let (Some(mut device), Some(thread)) = (self.state.remove_device(), self.thread.take()) {
            device.add(buffers, []);
            thread.run("it is left", move || release(device, &sender));
        }
        released
    }
}

/// The time at which a worker began its current call; `None` while it waits.
#[derive(Clone, Default)]
struct BusySince(Arc<Mutex<Option<Instant>>>);

impl BusySince {
    /// Runs `call`, which uses the device, and records meanwhile that the worker is busy; `what` describes the call in
    /// messages. After a panic the worker counts as busy for ever.
    fn call<T>(&self, device: &str, what: &'static str, call: impl FnOnce() -> T) -> T {
        let _watched = watch::on_device(device, what);
        *self.0.lock() = Some(Instant::now());
        let result = call();
        *self.0.lock() = None;
        result
    }
}

/// A worker on a thread of its own.
pub(super) struct ThreadWorker {
    commands: Sender<Command>,
    /// The worker's events; `None` once its device was abandoned.
    events: Option<Receiver<Event>>,
    busy_since: BusySince,
    /// The worker's thread, which ends with the worker.
    _thread: DeviceThread,
}

impl ThreadWorker {
    /// Starts a worker on `thread`, with the engine that `engine` creates there. The function gets the waker to be called when a command
    /// of the device completes. `device` is the device's name, and `wake` wakes the window's loop.
    pub(super) fn start(
        thread: DeviceThread,
        device: String,
        engine: impl FnOnce(Waker) -> Engine + Send + 'static,
        wake: Waker,
    ) -> Self {
        let (commands, received) = channel();
        let (sender, events) = channel();
        let busy_since = BusySince::default();
        let (completed, busy) = (commands.clone(), busy_since.clone());
        thread.serve(move || {
            // The receiver is gone if the worker is.
            let waker: Waker = Arc::new(move || drop(completed.send(Command::Poll)));
            let mut state = WorkerCore::new(engine(waker));
            loop {
                let timeout = if state.has_work() { POLL_INTERVAL } else { IDLE_TIMEOUT };
                let mut next = match received.recv_timeout(timeout) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    received => received.ok(),
                };
                while let Some(command) = next {
                    let what = command.description();
                    if let Command::Leave(leave) = command {
                        return busy.call(&device, what, || end(state, *leave));
                    }
                    busy.call(&device, what, || state.execute(command));
                    next = received.try_recv().ok();
                }
                busy.call(&device, "a frame is filtered", || state.advance());
                if state.events.is_empty() {
                    continue;
                }
                // The receiver is gone only if the device was abandoned, which ends this loop.
                state.events.drain(..).for_each(|event| drop(sender.send(event)));
                wake();
            }
        });
        Self { commands, events: Some(events), busy_since, _thread: thread }
    }
}

/// Ends a worker: releases its device with everything that is on it.
fn end(mut state: WorkerCore, Leave { buffers, events, released }: Leave) {
    if let Some(mut device) = state.remove_device() {
        device.add(buffers, events.try_iter().flat_map(Event::into_slots));
        release(device, &released);
    }
}

impl Worker for ThreadWorker {
    fn send(&mut self, command: Command) {
        if let Err(refused) = self.commands.send(command) {
            // The thread has panicked. Dropping the command could call the driver on this thread.
            std::mem::forget(refused);
        }
    }

    fn receive(&mut self) -> Option<Event> {
        self.events.as_ref()?.try_recv().ok()
    }

    fn silent_for(&self) -> Duration {
        self.busy_since.0.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn exclude_stop(&mut self, stopped: Duration) {
        if let Some(since) = self.busy_since.0.lock().as_mut() {
            *since = since.checked_add(stopped).unwrap_or(*since);
        }
    }

    fn leave(&mut self, buffers: Vec<DeviceBuffers>) -> Receiver<bool> {
        let (sender, released) = channel();
        if let Some(events) = self.events.take() {
            let leave = Leave { buffers, events, released: sender };
            self.send(Command::Leave(Box::new(leave)));
        }
        released
    }
}

impl Drop for ThreadWorker {
    fn drop(&mut self) {
        drop(self.leave(Vec::new()));
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
