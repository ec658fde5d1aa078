//! Hands the engine from the window's thread to the device's thread and back.
//!
//! All OpenCL calls for frames are made on the device's thread, so the engine goes there for each of them. While the window draws a
//! picture, the engine stays there and finishes frames: drawing and the device's calls run at the same time, and a frame costs one message
//! in each direction. Otherwise a turn of the loop waits up to [`RECLAIM_TIMEOUT`] for the engine. If a call stalls, the loop continues
//! without the engine: the picture stands still, the overlay is drawn, and another device gets a new engine. The stalled thread keeps the
//! old engine, for ever if the call never returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::Filter;
use super::abandoned::AbandonedDevices;
use super::flights::Pass;
use super::pairs::Pair;
use super::signal::{CompletionSignal, WakeReason};
use super::submit::{PendingSubmit, SubmitResult};
use crate::{
    AutoChoice, DeviceBuffers, Difference, Engine, Finished, Pipeline, Progress, Request, Slot, ThreadRole,
    Ticket,
};
use base::error::{Error, Result};
use base::jobs::Waker;
use opencl::device_thread::DeviceThread;
use video::Frame;

/// How long a turn of the loop waits for the engine. Calls that do not stall take a small part of this time.
const RECLAIM_TIMEOUT: Duration = Duration::from_millis(20);
/// How long closing the window waits for the engine to return from the device's thread, and for the release of devices that were given up.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);
/// The longest time for which the engine stays on the device's thread to finish frames.
const STAY_TIMEOUT: Duration = Duration::from_millis(100);
/// Interval in which a driver without callbacks is polled.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The result of work that was done with the engine on the device's thread.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum WorkResult {
    /// A frame was submitted, or refused.
    Submitted(PendingSubmit, SubmitResult),
    /// The two sides of a wipe were compared. The slot has the map of their differences; the result has the differences and the device's
    /// time in milliseconds.
    Compared(Box<Pair>, Slot, Result<(Difference, f64)>),
    Nothing,
}

/// The results that return to the window's thread together with the engine.
pub(super) struct Handback {
    pub(super) result: WorkResult,
    /// The frames that the engine finished on the device's thread.
    pub(super) finished: Vec<Finished>,
}

/// The condition under which the device's thread returns the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnWhen {
    /// As soon as the work is done.
    WorkDone,
    /// When the frames in the engine are finished as well, when the window's thread reclaims the engine, or after [`STAY_TIMEOUT`].
    Reclaimed,
}

/// Work with the device's pipeline, to be run on the thread that makes the device's calls.
type PipelineWork = Box<dyn FnOnce(&mut Pipeline) + Send>;

/// The state of the hand-off while the engine is lent to the device's thread.
pub(super) struct Loan {
    returned: Receiver<(Box<Engine>, Handback)>,
    /// True after a timeout: the returning engine must wake the window's loop, because the window's thread does not wait for it any more.
    wakes_window: Arc<AtomicBool>,
    since: Instant,
    reclaimed_at: Option<Instant>,
    /// The progress of the engine's frames when it was handed over.
    progress: Vec<(Ticket, Progress)>,
}

impl Loan {
    /// Returns the engine and its results if the device's thread has returned them. Never waits.
    pub(super) fn try_receive(&self) -> Option<(Box<Engine>, Handback)> {
        self.returned.try_recv().ok()
    }

    /// Waits for the engine. If it does not return in time, its return wakes the window's loop.
    fn receive(&self, timeout: Duration) -> Option<(Box<Engine>, Handback)> {
        match self.returned.recv_timeout(timeout) {
            Err(RecvTimeoutError::Timeout) => {
                self.wakes_window.store(true, Ordering::SeqCst);
                // The engine may have returned right before that.
                self.try_receive()
            }
            received => received.ok(),
        }
    }

    /// Returns the progress that a frame had when the engine was handed over. If the frame had been started, its elapsed time
    /// includes the time since then.
    fn progress(&self, ticket: Ticket) -> Progress {
        let known = self.progress.iter().find(|(of, _)| *of == ticket);
        let before = known.map_or_else(Progress::default, |(_, progress)| *progress);
        if before.elapsed_s == 0.0 {
            return before;
        }
        Progress { elapsed_s: before.elapsed_s + self.since.elapsed().as_secs_f64(), ..before }
    }
}

/// The engine, and the hand-off of it to the device's thread and back.
pub struct EngineHandoff {
    gl: Arc<glow::Context>,
    /// The engine; `None` while it is on the device's thread.
    engine: Option<Box<Engine>>,
    loan: Option<Loan>,
    /// The signal that the engine's callbacks set when a command completes.
    signal: Arc<CompletionSignal>,
    /// When the engine was last polled for finished frames.
    polled_at: Instant,
    thread: Option<DeviceThread>,
    /// The window's thread makes the device's calls, because the driver needs OpenGL's context for them, and may have to wait for it.
    pub(super) calls_here: bool,
    /// Tickets of frames to cancel when the engine returns.
    cancels: Vec<Ticket>,
    /// Work with the device's pipeline that is done when the engine returns.
    pub(super) pipeline_work: Vec<PipelineWork>,
    pub(super) abandoned: AbandonedDevices,
    /// Frames wait for the device's conversion program instead of being converted on the host while it is built.
    pub(super) waits_for_conversions: bool,
    /// The overlay has announced that the frame that the engine holds back will take long.
    is_hold_announced: bool,
    /// The configuration of the variant `auto`, as it was when the engine last returned.
    auto: Option<AutoChoice>,
    /// The picture size and radius for which `auto` is to be updated when the engine returns.
    auto_for: Option<((u32, u32), u32)>,
    /// Why the device measures nothing for the scopes, as it was when the engine last returned.
    scopes_error: Option<Error>,
    waker: Waker,
}

impl EngineHandoff {
    /// Creates the hand-off with an engine that has no device. `waker` wakes the window's loop.
    pub(super) fn new(gl: Arc<glow::Context>, waker: Waker) -> Self {
        let (engine, signal) = new_engine(&gl, &waker);
        Self {
            gl: gl.clone(),
            engine: Some(engine),
            loan: None,
            signal,
            polled_at: Instant::now(),
            thread: None,
            calls_here: false,
            cancels: Vec::new(),
            pipeline_work: Vec::new(),
            abandoned: AbandonedDevices::new(gl),
            waits_for_conversions: false,
            is_hold_announced: false,
            auto: None,
            auto_for: None,
            scopes_error: None,
            waker,
        }
    }

    /// Returns the engine; `None` while it is on the device's thread.
    pub(super) fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    /// Returns the engine; `None` while it is on the device's thread. It must not be used for OpenCL calls.
    pub(super) fn engine_mut(&mut self) -> Option<&mut Engine> {
        self.engine.as_deref_mut()
    }

    /// Returns the device's pipeline; `None` without a device and while the engine is on the device's thread. It must not be used for
    /// OpenCL calls.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.engine_mut()?.pipeline_mut()
    }

    /// Sets whether frames wait for the device's conversion program instead of being converted on the host while it is built. For scripts.
    pub fn wait_for_conversions(&mut self, wait: bool) {
        self.waits_for_conversions = wait;
        if let Some(engine) = self.engine_mut() {
            engine.loader.only_checked = wait;
        }
    }

    /// Returns true if a frame must wait until the programs that it needs are built, checked and, if they were edited, tried in
    /// a sandbox. Variants that filter planes need the device's conversion. `filter` is the chosen filter, even if `request` is
    /// for the unfiltered frame.
    pub(super) fn must_wait(&mut self, frame: &Frame, request: &Request, (variant, radius): Filter) -> bool {
        let waits = self.waits_for_conversions;
        let Some(engine) = self.engine_mut() else { return false };
        let needs_conversion = waits || request.variant.reads_planes();
        if needs_conversion && engine.lacks_conversion(frame, request.kernels(), true) {
            return true;
        }
        let pipeline = engine.pipeline_mut().filter(|_| waits);
        let kernels = (variant, request.version);
        pipeline.is_some_and(|pipeline| pipeline.trials.needs_trial(&frame.picture, kernels, radius))
    }

    /// Gives the engine a device. The device's calls are made on `thread` or, with `calls_here`, on the window's thread.
    pub(super) fn set_device(&mut self, pipeline: Pipeline, thread: DeviceThread, calls_here: bool) {
        let Some(engine) = &mut self.engine else { return };
        engine.set_device(pipeline);
        engine.role = if calls_here { ThreadRole::Both } else { ThreadRole::Window };
        (self.thread, self.calls_here) = (Some(thread), calls_here);
    }

    /// Drops a slot. Its memory objects on the device are released on the device's thread.
    pub(super) fn discard(&self, mut slot: Slot) {
        let buffers = slot.take_device_buffers(false);
        match &self.thread {
            Some(thread) => thread.run("memory is released", move || drop(buffers)),
            None => drop(buffers),
        }
    }

    /// Leaves a time in which the process was stopped out of [`EngineHandoff::silent_for`], because the stop also stopped the
    /// device's thread.
    pub(super) fn exclude_stop(&mut self, stopped: Duration) {
        if let Some(loan) = &mut self.loan {
            loan.since = loan.since.checked_add(stopped).unwrap_or(loan.since);
        }
    }

    /// Returns how long the engine has been on the device's thread; zero if it is not there.
    pub fn silent_for(&self) -> Duration {
        self.loan.as_ref().map_or(Duration::ZERO, |loan| loan.since.elapsed())
    }

    /// Returns the variant and parameters that `auto` uses for this picture size and radius, if known. While the engine is on
    /// the device's thread, this is the choice that was known last.
    pub fn auto(&mut self, size: (u32, u32), radius: u32) -> Option<AutoChoice> {
        self.auto_for = Some((size, radius));
        self.update_copies();
        self.auto.clone()
    }

    /// Returns the error because of which the scopes cannot be used on this device, if there is one.
    pub fn scopes_error(&mut self) -> Option<&Error> {
        self.update_copies();
        self.scopes_error.as_ref()
    }

    /// Updates the copies of the engine's state that can be read while the engine is on the device's thread.
    fn update_copies(&mut self) {
        let Some(engine) = &self.engine else { return };
        if let Some((size, radius)) = self.auto_for.take() {
            self.auto = engine.pipeline().and_then(|pipeline| pipeline.variants.auto(size, radius));
        }
        let scopes = engine.pipeline().and_then(|pipeline| pipeline.meters.scopes());
        let error = scopes.and_then(std::result::Result::err);
        if error != self.scopes_error.as_ref() {
            self.scopes_error = error.cloned();
        }
    }

    /// Returns true if the engine should be polled for finished frames: a command has completed, or [`POLL_INTERVAL`] has
    /// passed, which matters for drivers without callbacks.
    pub(super) fn needs_poll(&self) -> bool {
        self.signal.take_completed() || self.polled_at.elapsed() >= POLL_INTERVAL
    }

    /// Runs `work` with the engine on the device's thread, where it may call OpenCL; `what` names the work in messages. Returns the result
    /// if the engine returns within [`RECLAIM_TIMEOUT`]; with [`ReturnWhen::Reclaimed`] the call does not wait. Does nothing while the
    /// engine is on the device's thread.
    #[must_use]
    pub(super) fn run_on_device_thread(
        &mut self,
        what: &'static str,
        when: ReturnWhen,
        work: impl FnOnce(&mut Engine) -> WorkResult + Send + 'static,
    ) -> Option<Handback> {
        let mut engine = self.engine.take()?;
        let Some(thread) = self.thread.as_ref().filter(|_| !self.calls_here) else {
            let result = work(&mut engine);
            let finished = poll_finished(&mut engine);
            return Some(self.take_back(engine, Handback { result, finished }));
        };
        let progress = engine.jobs.progress_of_all();
        let (sender, returned) = channel();
        let wakes_window = Arc::new(AtomicBool::new(false));
        let (waker, must_wake, signal) = (self.waker.clone(), wakes_window.clone(), self.signal.clone());
        self.signal.begin_handoff();
        thread.run(what, move || {
            engine.role = ThreadRole::Device;
            let result = work(&mut engine);
            let mut finished = poll_finished(&mut engine);
            if when == ReturnWhen::Reclaimed {
                poll_until_reclaimed(&mut engine, &signal, &mut finished);
            }
            engine.role = ThreadRole::Window;
            signal.end_handoff();
            if let Err(unsent) = sender.send((engine, Handback { result, finished })) {
                // The window is gone and with it the OpenGL context, so the engine's OpenGL objects cannot be deleted.
                std::mem::forget(unsent);
            }
            if must_wake.load(Ordering::SeqCst) {
                waker();
            }
        });
        self.loan =
            Some(Loan { returned, wakes_window, since: Instant::now(), reclaimed_at: None, progress });
        match when {
            ReturnWhen::WorkDone => self.try_reclaim(),
            ReturnWhen::Reclaimed => self.receive(Duration::ZERO),
        }
    }

    /// Makes the device's thread return the engine, and waits up to [`RECLAIM_TIMEOUT`] for it, counted from the first attempt. Returns the
    /// results that come back with the engine; `None` if the engine did not return, or was not on the device's thread.
    #[must_use]
    pub(super) fn try_reclaim(&mut self) -> Option<Handback> {
        let loan = self.loan.as_mut()?;
        let waited = loan.reclaimed_at.get_or_insert_with(Instant::now).elapsed();
        self.signal.reclaim();
        self.receive(RECLAIM_TIMEOUT.saturating_sub(waited))
    }

    /// Waits for the device's thread to return the engine. Returns the results that come back with the engine; `None` if the engine did not
    /// return, or was not on the device's thread.
    #[must_use]
    pub(super) fn receive(&mut self, timeout: Duration) -> Option<Handback> {
        let (mut engine, handback) = self.loan.as_ref()?.receive(timeout)?;
        self.loan = None;
        self.cancels.drain(..).for_each(|ticket| engine.jobs.cancel(ticket));
        Some(self.take_back(engine, handback))
    }

    /// Stores the engine that the device's thread has returned; returns the results that came with it.
    fn take_back(&mut self, engine: Box<Engine>, handback: Handback) -> Handback {
        self.engine = Some(engine);
        self.polled_at = Instant::now();
        self.update_copies();
        handback
    }

    /// Returns true if work that was passed to [`FilterQueue::with_pipeline`](super::FilterQueue::with_pipeline) has not been done yet.
    pub fn has_pipeline_work(&self) -> bool {
        !self.pipeline_work.is_empty()
    }

    /// Runs the queued work with the device's pipeline, unless the engine is on the device's thread. Returns the results that come back
    /// with the engine; `None` if no work was run or the engine is not back yet.
    #[must_use]
    pub(super) fn run_pipeline_work(&mut self) -> Option<Handback> {
        if self.engine.is_none() || self.pipeline_work.is_empty() {
            return None;
        }
        let queued = std::mem::take(&mut self.pipeline_work);
        self.run_on_device_thread("what was built is taken over", ReturnWhen::WorkDone, move |engine| {
            for work in queued {
                if let Some(pipeline) = engine.pipeline_mut() {
                    work(pipeline);
                }
            }
            WorkResult::Nothing
        })
    }

    /// Cancels the unstarted work of these frames, at once or when the engine returns.
    pub(super) fn cancel(&mut self, tickets: impl IntoIterator<Item = Ticket>) {
        match &mut self.engine {
            Some(engine) => tickets.into_iter().for_each(|ticket| engine.jobs.cancel(ticket)),
            None => self.cancels.extend(tickets),
        }
    }

    /// Returns the progress of one filter of a frame; all zeros if the filter is not submitted or is done. While the engine is on the
    /// device's thread, it is the progress at the hand-over, but with the current elapsed time.
    pub(super) fn progress(&self, pass: &Pass) -> Progress {
        let Some(ticket) = pass.ticket() else { return Progress::default() };
        match (&self.engine, &self.loan) {
            (Some(engine), _) => engine.jobs.progress(ticket),
            (None, loan) => loan.as_ref().map_or_else(Progress::default, |loan| loan.progress(ticket)),
        }
    }

    /// Returns true if the engine is here and holds back a frame because its filter will take long.
    pub(super) fn is_holding(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.jobs.is_holding())
    }

    /// Notes that the overlay has announced the held frame, if there is one: the frame that the engine does not start yet because its
    /// filter will take long.
    pub(super) fn announce_hold(&mut self) {
        self.is_hold_announced |= self.is_holding();
    }

    /// Returns true if, since the last call, the overlay has announced a held frame: a frame that the engine does not start yet because its
    /// filter will take long.
    pub(super) fn take_announced_hold(&mut self) -> bool {
        std::mem::take(&mut self.is_hold_announced)
    }

    /// Returns true if there is a device whose calls are made on a thread of its own.
    pub(super) fn has_device_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// Gives the device up, together with its frames and `buffers`, its memory objects of slots. The device's thread releases everything,
    /// which may take long. If the engine is on that thread, a new engine replaces it. Returns the tickets of the lost frames.
    pub(super) fn abandon(&mut self, buffers: Vec<DeviceBuffers>) -> Vec<Ticket> {
        let Some(thread) = self.thread.take() else { return Vec::new() };
        self.calls_here = false;
        self.pipeline_work.clear();
        self.cancels.clear();
        if let Some(engine) = &mut self.engine {
            engine.role = ThreadRole::Both;
            let Some(mut device) = engine.remove_device() else { return Vec::new() };
            device.add(buffers);
            let lost = device.tickets().collect();
            self.abandoned.release(thread, device);
            return lost;
        }
        let loan = self.loan.take();
        let lost = loan.iter().flat_map(|loan| &loan.progress).map(|(ticket, _)| *ticket).collect();
        self.abandoned.push(thread, loan, buffers);
        let (mut engine, signal) = new_engine(&self.gl, &self.waker);
        engine.loader.only_checked = self.waits_for_conversions;
        (self.engine, self.signal) = (Some(engine), signal);
        lost
    }
}

/// Creates an engine without a device, and the signal that its completed commands set.
fn new_engine(gl: &Arc<glow::Context>, waker: &Waker) -> (Box<Engine>, Arc<CompletionSignal>) {
    let signal = CompletionSignal::new(waker);
    (Box::new(Engine::with_opengl(gl.clone(), CompletionSignal::waker(&signal))), signal)
}

/// Polls the engine and returns all frames that are finished.
fn poll_finished(engine: &mut Engine) -> Vec<Finished> {
    std::iter::from_fn(|| engine.poll()).collect()
}

/// The work of the device's thread while it has the engine: polls the engine and collects finished frames, until the window's
/// thread reclaims the engine, no device work is left, or [`STAY_TIMEOUT`] has passed.
fn poll_until_reclaimed(engine: &mut Engine, signal: &CompletionSignal, finished_frames: &mut Vec<Finished>) {
    let began = Instant::now();
    let mut reason = WakeReason::TimedOut;
    while reason != WakeReason::Reclaimed && engine.jobs.has_device_work() && began.elapsed() < STAY_TIMEOUT {
        reason = signal.wait(POLL_INTERVAL);
        finished_frames.append(&mut poll_finished(engine));
    }
}
