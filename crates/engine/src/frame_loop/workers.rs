//! The workers: one for frames that use no OpenCL device, and one for the device, if there is one. This module also keeps their
//! last reports on unfinished frames and on the device.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::flights::{Pair, Pass};
use super::worker::{Event, Report, Submission, ThreadWorker, WindowWorker, Worker};
use crate::pipeline::SlotPreparation;
use crate::{DeviceStatus, Engine, Finished, Need, Pipeline, Progress, Slot, Ticket};
use base::jobs::Waker;
use opencl::device_thread::DeviceThread;
use stats::AutoChoice;
use video::color::Staging;

/// The maximum time for which closing the window is delayed until the workers have finished and abandoned devices are released.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);

/// A worker, and the state that it has last reported.
pub(super) struct WorkerHandle {
    pub worker: Box<dyn Worker>,
    report: Report,
    /// The tickets of the unfinished frames, including frames that the worker has not reported yet.
    pub sent: Vec<Ticket>,
    /// The number of functions for the device's pipeline that were sent.
    installs: usize,
}

impl WorkerHandle {
    /// Creates the handle of a worker without frames, with this status of its device.
    fn new(worker: impl Worker + 'static, status: DeviceStatus) -> Self {
        let report = Report { status, ..Report::default() };
        Self { worker: Box::new(worker), report, sent: Vec::new(), installs: 0 }
    }

    /// Returns the worker's next event, and updates the state with it.
    pub(super) fn receive(&mut self) -> Option<Event> {
        let mut event = self.worker.receive()?;
        match &mut event {
            Event::Progress(report) => {
                let mut needs = std::mem::take(&mut self.report.needs);
                self.report = std::mem::take(report);
                needs.append(&mut self.report.needs);
                self.report.needs = needs;
            }
            Event::Finished(Finished { ticket, .. }) | Event::Refused(ticket, ..) => {
                self.sent.retain(|sent| sent != ticket);
            }
            Event::Compared(..) | Event::Failed(_) => {}
        }
        Some(event)
    }

    /// Returns the progress of a frame; `None` if the worker does not have the frame or has not reported it yet.
    fn progress(&self, ticket: Ticket) -> Option<Progress> {
        let sent = self.sent.iter().find(|sent| **sent == ticket)?;
        self.report.jobs.iter().find(|(known, _)| known == sent).map(|(_, progress)| *progress)
    }

    /// Returns the progress of the unfinished frames.
    pub(super) fn jobs(&self) -> impl Iterator<Item = Progress> {
        self.sent.iter().map(|ticket| self.progress(*ticket).unwrap_or_default())
    }
}

/// The OpenCL device in use, with its worker.
struct DeviceInUse {
    state: WorkerHandle,
    preparation: SlotPreparation,
    staging: Option<Staging>,
    /// The group of picture sizes with the same fastest kernels for which the scopes' kernels were last requested; `None` until
    /// the first request.
    requested_scopes: Option<&'static str>,
    is_comparer_requested: bool,
    /// The picture size and radius at which the worker reports the variant that `auto` runs; `None` until [`Workers::auto`] is
    /// called.
    auto_for: Option<((u32, u32), u32)>,
}

/// The workers, and the last reported state of the device.
pub struct Workers {
    /// The worker for frames that use no OpenCL device.
    local: WorkerHandle,
    device: Option<DeviceInUse>,
    pub(super) abandoned: AbandonedDevices,
    /// Wakes the window's loop.
    pub waker: Waker,
}

impl Workers {
    pub(super) fn new(engine: Engine, waker: Waker) -> Self {
        Self {
            local: WorkerHandle::new(WindowWorker::new(engine, None), DeviceStatus::default()),
            device: None,
            abandoned: AbandonedDevices::default(),
            waker,
        }
    }

    /// Starts the worker of a device. The device's calls are made on `thread` or, with `calls_here`, on the window's thread.
    pub(super) fn set_device(&mut self, pipeline: Pipeline, thread: DeviceThread, calls_here: bool) {
        let (preparation, staging) = (pipeline.slot_preparation(), pipeline.staging.clone());
        let (status, name) = (pipeline.status(), pipeline.cl.device.info.name.clone());
        let engine = move |waker| {
            let mut engine = Engine::new(waker);
            engine.set_device(pipeline);
            engine
        };
        let waker = self.waker.clone();
        let state = match calls_here {
            true => WorkerHandle::new(WindowWorker::new(engine(waker), Some(thread)), status),
            false => WorkerHandle::new(ThreadWorker::start(thread, name, engine, waker), status),
        };
        self.device = Some(DeviceInUse {
            state,
            preparation,
            staging,
            requested_scopes: None,
            is_comparer_requested: false,
            auto_for: None,
        });
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &WorkerHandle> {
        self.device.iter().map(|device| &device.state).chain([&self.local])
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut WorkerHandle> {
        self.device.iter_mut().map(|device| &mut device.state).chain([&mut self.local])
    }

    /// Returns the abilities of the device, as its worker last reported them.
    pub fn status(&self) -> &DeviceStatus {
        let state = self.device.as_ref().map_or(&self.local, |device| &device.state);
        &state.report.status
    }

    /// Does OpenGL's part of a frame, and submits the frame to its worker.
    pub(super) fn submit(&mut self, mut submission: Submission, pass: &mut Pass) {
        let is_for_device = !submission.request.variant.back_end().does_without_opencl();
        let state = match self.device.as_mut().filter(|_| is_for_device) {
            Some(device) => {
                device.preparation.prepare(&mut submission.slot, &submission.request, &mut pass.stages);
                &mut device.state
            }
            None => &mut self.local,
        };
        state.sent.push(submission.ticket);
        state.worker.send("a frame is handed over", Box::new(move |core| core.submit(submission)));
    }

    /// Prepares a slot for the map of differences, and has the two sides of a wipe compared. Does nothing without a device.
    pub(super) fn compare(&mut self, pair: Box<Pair>, mut map: Slot) {
        if let Some(device) = &mut self.device {
            device.preparation.prepare_map(&mut map);
            let worker = &mut device.state.worker;
            worker.send("two pictures are compared", Box::new(move |core| core.compare(pair, map)));
        }
    }

    /// Runs the function `work` with the device's pipeline, on the thread that makes the device's calls. Drops the function if
    /// there is no device.
    pub fn with_pipeline(&mut self, work: impl FnOnce(&mut Pipeline) + Send + 'static) {
        if let Some(DeviceInUse { state, .. }) = &mut self.device {
            state.installs += 1;
            state.worker.send("what was built is taken over", Box::new(move |core| core.install(work)));
        }
    }

    /// Returns true while a function that was passed to [`Workers::with_pipeline`] has not run yet.
    pub fn is_installing(&self) -> bool {
        self.all().any(|state| state.installs != state.report.installed)
    }

    /// Cancels the unstarted work of a frame if its filter is predicted to take more than `limit_ms` milliseconds from now.
    pub(super) fn cancel(&mut self, ticket: Ticket, limit_ms: f64) {
        if let Some(state) = self.all_mut().find(|state| state.sent.contains(&ticket)) {
            state.worker.send("a frame is filtered", Box::new(move |core| core.cancel(ticket, limit_ms)));
        }
    }

    /// Drops a slot. Its memory objects on the device are released on the device's thread.
    pub(super) fn discard(&mut self, mut slot: Slot) {
        let buffers = slot.take_device_buffers(false);
        self.with_pipeline(move |_| drop(buffers));
    }

    /// Returns the progress of one filter of a frame; all zeros if the filter is not submitted or is done.
    pub(super) fn progress(&self, pass: &Pass) -> Progress {
        let ticket = pass.ticket();
        ticket.and_then(|ticket| self.all().find_map(|state| state.progress(ticket))).unwrap_or_default()
    }

    /// Returns the progress of the device's unfinished frames.
    pub(super) fn device_jobs(&self) -> impl Iterator<Item = Progress> {
        self.device.iter().flat_map(|device| device.state.jobs())
    }

    /// Returns true if the window's thread makes a device's calls, because the driver needs OpenGL's context for them. It may have to wait
    /// for the driver.
    pub(super) fn calls_drivers_here(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.state.worker.is_here())
    }

    /// Returns the memory in which the decoder should pack the planes of later frames; `None` if the last frame was not loaded as planes.
    pub(super) fn staging(&self) -> Option<&Staging> {
        self.device.as_ref().filter(|device| device.state.report.status.takes_planes)?.staging.as_ref()
    }

    /// Returns true if a frame is held back because its filter will take long.
    pub(super) fn is_holding(&self) -> bool {
        self.all().any(|state| state.report.is_holding)
    }

    /// Starts the frame that is held back, if there is one.
    pub(super) fn start_held(&mut self) {
        for state in self.all_mut().filter(|state| state.report.is_holding) {
            state.report.is_holding = false;
            state.worker.send("a frame is filtered", Box::new(|core| core.engine.start_held()));
        }
    }

    /// Returns the time for which the device has been in its current call; zero if it is in none.
    pub fn silent_for(&self) -> Duration {
        self.device.as_ref().map_or(Duration::ZERO, |device| device.state.worker.silent_for())
    }

    /// Subtracts a time in which the process was stopped from [`Workers::silent_for`].
    pub(super) fn exclude_stop(&mut self, stopped: Duration) {
        self.all_mut().for_each(|state| state.worker.exclude_stop(stopped));
    }

    /// Returns the variant and parameters that `auto` runs at this picture size and radius, as last reported; `None` if
    /// unknown.
    pub fn auto(&mut self, size: (u32, u32), radius: u32) -> Option<AutoChoice> {
        let device = self.device.as_mut()?;
        if device.auto_for.replace((size, radius)) != Some((size, radius)) {
            self.with_pipeline(move |pipeline| pipeline.auto_for = Some((size, radius)));
        }
        self.status().auto.clone()
    }

    /// Returns the programs and results that frames need, that are missing, and that were not returned by an earlier call.
    /// Returns none while a function that was passed to [`Workers::with_pipeline`] has not run. `measured` is the size of the
    /// pictures to measure, `None` if none are measured; `compares` is true if the sides of a wipe are compared.
    pub fn take_needs(&mut self, measured: Option<(u32, u32)>, compares: bool) -> Vec<Need> {
        // A function that has not run yet may start the builder again, and requests made before that would be lost.
        let is_settled = |device: &&mut DeviceInUse| device.state.installs == device.state.report.installed;
        let Some(device) = self.device.as_mut().filter(is_settled) else { return Vec::new() };
        if let Some(size) = measured {
            // All sizes of a class have the same fastest variant of the reduction, which measures pictures.
            let class = stats::case(size).class();
            if device.requested_scopes.replace(class) != Some(class) {
                device.state.report.needs.push(Need::Scopes(size));
            }
        }
        let needs_comparer = compares && !device.state.report.status.has_comparer;
        if needs_comparer && !device.is_comparer_requested {
            device.state.report.needs.push(Need::Comparer);
        }
        // After an error the comparer cannot be used again, and the comparison ends.
        device.is_comparer_requested = needs_comparer;
        std::mem::take(&mut device.state.report.needs)
    }

    /// Forgets the requests made to the builder (the thread that compiles programs), so that frames make them again.
    pub fn forget_requests(&mut self) {
        if let Some(device) = &mut self.device {
            device.state.report.needs.clear();
            (device.requested_scopes, device.is_comparer_requested) = (None, false);
            self.with_pipeline(Pipeline::forget_requests);
        }
    }

    /// Abandons the device, with its frames and with `buffers`, its memory objects in other slots: removes it without waiting
    /// for its calls. Returns the tickets of the lost frames.
    pub(super) fn abandon(&mut self, mut buffers: Vec<Slot>) -> Vec<Ticket> {
        let Some(DeviceInUse { mut state, .. }) = self.device.take() else { return Vec::new() };
        buffers.extend(self.local.worker.take_device_buffers());
        self.abandoned.unreleased.push(state.worker.leave(buffers));
        std::mem::take(&mut state.sent)
    }
}

/// The devices that were removed without waiting until they had finished their commands, and that are not released yet.
#[derive(Default)]
pub(super) struct AbandonedDevices {
    /// One receiver for each device that is not released yet; it receives true, or false if the device could not finish its
    /// commands.
    unreleased: Vec<Receiver<bool>>,
    /// True if a device could not finish its commands. Memory of OpenCL and OpenGL stays allocated for it until the process
    /// ends.
    is_lost: bool,
}

impl AbandonedDevices {
    /// Removes from the list the devices that have been released meanwhile.
    pub(super) fn reap(&mut self) {
        self.unreleased.retain(|released| {
            let released = released.try_recv();
            // The sender is gone if the thread has panicked.
            self.is_lost |= matches!(released, Ok(false) | Err(TryRecvError::Disconnected));
            released == Err(TryRecvError::Empty)
        });
    }

    /// Waits up to [`SHUTDOWN_TIMEOUT`] until all devices are released. Returns true if every abandoned device has been
    /// released and had finished its commands.
    pub(super) fn wait(&mut self) -> bool {
        let began = Instant::now();
        while !self.unreleased.is_empty() && began.elapsed() < SHUTDOWN_TIMEOUT {
            self.reap();
            std::thread::sleep(Duration::from_millis(1));
        }
        self.unreleased.is_empty() && !self.is_lost
    }
}
