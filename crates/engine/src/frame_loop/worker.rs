//! Workers: each owns an engine, with the device's pipeline and the frames that it filters, and stays on one thread. The frame
//! loop sends [`Work`] to it and receives [`Event`]s.
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

use super::flights::{Pair, Picture};
use crate::job::Job;
use crate::{
    DeviceStatus, Engine, Finished, Need, Pipeline, Progress, Refusal, RemovedDevice, Slot, Ticket, TrialCase,
};
use base::error::Result;
use base::jobs::Waker;
use box_filter::color_kernels::Converter;
use opencl::device_thread::DeviceThread;
use opencl::watch;
use parking_lot::Mutex;
use stats::{Difference, Request, Span, Stage, Stages};
use video::Frame;

/// The interval at which frames are polled, for drivers without callbacks.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The longest time that a worker without frames waits for a command in one call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// A frame to be filtered.
pub(super) struct Submission {
    pub ticket: Ticket,
    pub frame: Arc<Frame>,
    pub request: Request,
    pub slot: Slot,
    /// The chosen filter, if the frame waits until everything that this filter needs is built. If `None`, the frame waits only
    /// for the conversion that a variant that filters planes needs.
    pub waits_for: Option<Request>,
}

/// A function that a worker runs, to carry out a command.
pub(super) type Work = Box<dyn FnOnce(&mut WorkerCore) + Send>;

/// The state of a worker.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    /// The unfinished frames, each with its progress.
    pub jobs: Vec<(Ticket, Progress)>,
    /// True if a frame is held back because its filter will take long.
    pub is_holding: bool,
    /// The number of calls of [`WorkerCore::install`] so far.
    pub installed: usize,
    /// The abilities of the device, such as the variants that are built for it.
    pub status: DeviceStatus,
    /// The programs and results that frames need, that are missing, and that were not in an earlier report.
    pub needs: Vec<Need>,
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
    /// Sends a command. `what` describes for messages about drivers that do not respond what the worker does. Never waits for a device,
    /// unless the worker runs on the calling thread.
    fn send(&mut self, what: &'static str, work: Work);

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
    fn take_device_buffers(&mut self) -> Vec<Slot> {
        Vec::new()
    }

    /// Abandons the device, with its frames and with `buffers`, its memory objects in other slots. Everything is released on
    /// the device's thread once its current call returns, which may be never. The receiver gets true when everything is
    /// released, and false if the device could not finish its commands.
    fn leave(&mut self, buffers: Vec<Slot>) -> Receiver<bool>;
}

/// An engine, and the events that result from the commands it carries out.
pub(super) struct WorkerCore {
    pub engine: Engine,
    events: VecDeque<Event>,
    reported: Report,
    installed: usize,
    has_failed: bool,
    /// True once the device is released, which ends the worker.
    is_over: bool,
}

impl WorkerCore {
    fn new(engine: Engine) -> Self {
        let reported = Report { status: engine.status(), ..Report::default() };
        Self { engine, events: VecDeque::new(), reported, installed: 0, has_failed: false, is_over: false }
    }

    /// Returns true if a frame must wait until the programs that it needs are built and verified, or until a trial of its
    /// edited kernels has finished. Frames of variants that filter planes also wait for the device's conversion.
    fn must_wait(&mut self, Submission { frame, request, waits_for, .. }: &Submission) -> bool {
        let Some(pipeline) = self.engine.pipeline_mut() else { return false };
        pipeline.conversions.only_checked = waits_for.is_some();
        let (variant, kernels) = (request.variant, request.first_kernels());
        let is_for_device = !variant.back_end().does_without_opencl();
        let needs_conversion = is_for_device && (waits_for.is_some() || variant.reads_planes());
        if needs_conversion && pipeline.lacks_conversion(&frame.picture, kernels, true) {
            return true;
        }
        // The filters are those that were chosen, even if the request is for the unfiltered frame.
        waits_for.iter().flat_map(Request::filters).any(|(layer, (variant, _), settings)| {
            let layout = Converter::supports(&frame.picture).filter(|_| variant.reads_planes());
            let size = (frame.width(), frame.height());
            let version = if layer.is_none() { request.version } else { None };
            let case = TrialCase { variant, version, size, settings, layout };
            matches!(pipeline.trials.require(case), Err(Refusal::TrialPending))
        })
    }

    /// Filters a frame.
    pub(super) fn submit(&mut self, submission: Submission) {
        let must_wait = self.must_wait(&submission);
        let Submission { ticket, frame, request, slot, .. } = submission;
        let submitted = match must_wait {
            true => Err((slot, Refusal::NotReady)),
            false => self.engine.submit_job(&frame, Job::new(ticket, request, slot, Stages::default())),
        };
        let refused = submitted.err().map(|(slot, refusal)| Event::Refused(ticket, slot, refusal));
        self.events.extend(refused);
    }

    /// Cancels the unstarted work of a frame if its filter is predicted to take longer than `limit_ms` milliseconds from now.
    pub(super) fn cancel(&mut self, ticket: Ticket, limit_ms: f64) {
        if self.engine.jobs.progress(ticket).remaining_ms() > limit_ms {
            self.engine.jobs.cancel(ticket);
        }
    }

    /// Compares the pictures of the two sides of a wipe. The map of their differences is written to the slot.
    pub(super) fn compare(&mut self, mut pair: Box<Pair>, mut map: Slot) {
        let began = Instant::now();
        let compared = self.engine.compare(&pair.sides[0].slot, &pair.sides[1].slot, &mut map);
        pair.sides[0].stages.spans.push(Span::since(Stage::Difference, began));
        self.events.push_back(Event::Compared(pair, map, compared));
    }

    /// Runs a function with the device's pipeline, for example to add programs that were built. Drops the function if there is no device.
    pub(super) fn install(&mut self, work: impl FnOnce(&mut Pipeline)) {
        self.engine.pipeline_mut().map(work);
        self.installed += 1;
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
            jobs: self.engine.jobs.list.iter().map(|job| (job.ticket, job.progress())).collect(),
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

    /// Removes the device from the engine, with all its frames, with the slots that this worker still has, and with `buffers`, its
    /// memory objects in other slots.
    fn remove_device(&mut self, buffers: Vec<Slot>) -> Option<RemovedDevice> {
        let mut device = self.engine.remove_device()?;
        device.slots.extend(buffers);
        device.slots.extend(self.events.drain(..).flat_map(Event::into_slots));
        Some(device)
    }
}

/// Releases a device, and then its staging memory, the pinned host memory in which the planes of frames are packed for the upload, once no
/// other thread uses that memory. If the device is not idle, it may still read the memory, so the memory is leaked instead.
fn release(device: RemovedDevice, released: &Sender<bool>) {
    let staging = device.pipeline.staging.clone();
    let is_idle = device.release();
    match staging {
        Some(staging) if is_idle => {
            staging.close();
            let _host = watch::on_host();
            while !staging.is_unused() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        staging => std::mem::forget(staging),
    }
    // The receiver is gone if the window is closed.
    let _ = released.send(is_idle);
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
    fn send(&mut self, _: &'static str, work: Work) {
        work(&mut self.state);
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

    fn take_device_buffers(&mut self) -> Vec<Slot> {
        self.state.engine.jobs.take_device_buffers()
    }

    fn leave(&mut self, buffers: Vec<Slot>) -> Receiver<bool> {
        let (sender, released) = channel();
        if let (Some(device), Some(thread)) = (self.state.remove_device(buffers), self.thread.take()) {
            thread.run("it is left", move || release(device, &sender));
        }
        released
    }
}

/// A worker on a thread of its own.
pub(super) struct ThreadWorker {
    commands: Sender<(&'static str, Work)>,
    /// The worker's events; `None` once its device was abandoned.
    events: Option<Receiver<Event>>,
    /// The time at which the worker began its current call; `None` while it waits. After a panic the worker counts as busy for ever.
    busy_since: Arc<Mutex<Option<Instant>>>,
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
        let (commands, received) = channel::<(_, Work)>();
        let (sender, events) = channel();
        let busy_since = Arc::new(Mutex::new(None));
        let (completed, busy) = (commands.clone(), busy_since.clone());
        thread.run(None, move || {
            // A command of the device has completed, so the frames are polled. The receiver is gone if the worker is.
            let poll = move || drop(completed.send(("a frame is filtered", Box::new(|_: &mut _| ()))));
            let mut core = WorkerCore::new(engine(Arc::new(poll)));
            let call = |core: &mut WorkerCore, what, work: Work| {
                let _watched = watch::on_device(&device, what);
                *busy.lock() = Some(Instant::now());
                work(core);
                *busy.lock() = None;
            };
            loop {
                let has_work = !core.engine.jobs.list.is_empty() && !core.has_failed;
                let mut next =
                    match received.recv_timeout(if has_work { POLL_INTERVAL } else { IDLE_TIMEOUT }) {
                        Err(RecvTimeoutError::Disconnected) => return,
                        received => received.ok(),
                    };
                while let Some((what, work)) = next {
                    call(&mut core, what, work);
                    if core.is_over {
                        return;
                    }
                    next = received.try_recv().ok();
                }
                call(&mut core, "a frame is filtered", Box::new(WorkerCore::advance));
                if core.events.is_empty() {
                    continue;
                }
                // The receiver is gone only if the device was abandoned, which ends this loop.
                core.events.drain(..).for_each(|event| drop(sender.send(event)));
                wake();
            }
        });
        Self { commands, events: Some(events), busy_since, _thread: thread }
    }
}

impl Worker for ThreadWorker {
    fn send(&mut self, what: &'static str, work: Work) {
        if let Err(refused) = self.commands.send((what, work)) {
            // The thread has panicked. Dropping the command could call the driver on this thread.
            std::mem::forget(refused);
        }
    }

    fn receive(&mut self) -> Option<Event> {
        self.events.as_ref()?.try_recv().ok()
    }

    fn silent_for(&self) -> Duration {
        self.busy_since.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn exclude_stop(&mut self, stopped: Duration) {
        if let Some(since) = self.busy_since.lock().as_mut() {
            *since = since.checked_add(stopped).unwrap_or(*since);
        }
    }

    fn leave(&mut self, buffers: Vec<Slot>) -> Receiver<bool> {
        let (sender, released) = channel();
        if let Some(events) = self.events.take() {
            let leave = move |core: &mut WorkerCore| {
                core.is_over = true;
                if let Some(mut device) = core.remove_device(buffers) {
                    device.slots.extend(events.try_iter().flat_map(Event::into_slots));
                    release(device, &sender);
                }
            };
            self.send("it is left", Box::new(leave));
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
