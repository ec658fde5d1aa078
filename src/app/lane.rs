//! The lane of background measurements: one of them at a time uses the device, and only while that does not disturb the movie.
//!
//! A part of the player starts a [`Task`] in its [`Slot`]. The task's thread waits at a gate before each piece of work for the
//! device. In each turn of the window, [`Lane::update`] opens the gate of the first task in the queue that the movie permits,
//! once all other tasks have arrived at their gates. A cancelled task ends after its current piece of work, which cannot be
//! interrupted.

pub(crate) mod moment;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::error::Result;
use base::jobs::{Cancel, Job, JobMessage, Reporter, Waker};
use moment::Moment;
use opencl::process::lower_priority;
use overlay::{JobState, Wait};
use parking_lot::{Condvar, Mutex};

/// The maximum time that a closing window waits for pieces of work to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// The interval at which a waiting task checks whether it was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A background measurement. Those that use the device are in the queue in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The check of the device's type conversions.
    Conversions,
    /// The benchmark of a ladder in the Lab.
    Lab,
    /// The compilation of a variant in the Lab for its machine code.
    MachineCode,
    /// The compilation of the kernels on the screen for the registers that they use.
    Registers,
    /// The comparison of the speed of two versions of edited kernels.
    Versions,
    /// The search for the fastest variant, which the user has requested or which began automatically.
    Tuning { is_requested: bool },
    /// The measurement of the device's peaks.
    Peaks,
    /// The check of kernels for data races.
    Races,
    /// The readings of the device's clock.
    Clock,
}

impl Task {
    /// Returns the name of the task's thread, the first sentence of the error if the task fails, and the reason for which other
    /// tasks wait while it uses the device: `None` if it does not use the device.
    fn facts(self) -> (&'static str, &'static str, Option<Wait>) {
        match self {
            Task::Conversions => ("conversions", "The conversions cannot be checked.", Some(Wait::Check)),
            Task::Lab => ("lab", "The ladder could not be measured.", Some(Wait::Lab)),
            Task::MachineCode => ("code", "The machine code cannot be shown.", Some(Wait::Compiler)),
            Task::Registers => ("registers", "The registers cannot be read.", Some(Wait::Compiler)),
            Task::Versions => ("compare", "The versions could not be compared.", Some(Wait::Versions)),
            Task::Tuning { .. } => ("tuner", "Nothing can be tuned in the background.", Some(Wait::Tuning)),
            Task::Peaks => ("peaks", "The peaks of the device cannot be measured.", Some(Wait::Peaks)),
            Task::Races => ("races", "The kernels could not be checked for races.", None),
            Task::Clock => ("clock", "The clock of the device cannot be read.", None),
        }
    }

    /// Returns the first sentence of the error if the task fails.
    pub(crate) fn failure(self) -> &'static str {
        self.facts().1
    }

    /// Returns true if child processes call the driver for the task. Then the task can continue when this process changes the
    /// device, and a call that hangs ends with its child process.
    fn runs_in_child(self) -> bool {
        matches!(self, Task::Conversions | Task::Lab | Task::Races)
    }

    /// Returns the reason for which other tasks wait while this one uses the device; `None` if it does not use the device.
    fn wait(self) -> Option<Wait> {
        self.facts().2
    }
}

/// The state of a task that the lane and the task's thread share.
#[derive(Default)]
struct Gate {
    is_open: bool,
    /// True while the task waits until the gate is opened.
    is_waiting: bool,
    /// True if the task waits with results that the window has to draw before the gate is opened.
    has_results: bool,
    /// The name of the current step, or of the next one if the task waits.
    step: String,
    obstacle: Option<Wait>,
    has_ended: bool,
}

/// A [`Gate`], and the signal that it was opened.
struct SharedGate(Mutex<Gate>, Condvar);

impl SharedGate {
    /// Opens the gate if there is no obstacle and no results wait to be drawn; otherwise closes it. Returns true if results
    /// wait to be drawn.
    fn set_obstacle(&self, obstacle: Option<Wait>) -> bool {
        let mut gate = self.0.lock();
        let has_results = std::mem::take(&mut gate.has_results);
        gate.is_open = obstacle.is_none() && !has_results;
        gate.obstacle = obstacle;
        if gate.is_open {
            // From now on the task works, even if the gate is closed before its thread runs.
            gate.is_waiting = false;
            self.1.notify_all();
        }
        has_results
    }

    /// Returns the state of the task, which has not ended.
    fn state(&self) -> JobState {
        let gate = self.0.lock();
        match gate.obstacle {
            Some(obstacle) if gate.is_waiting => JobState::Waiting(obstacle),
            Some(obstacle) => JobState::Ending(obstacle),
            None => JobState::Running(gate.step.clone()),
        }
    }
}

/// The handle by which a task's thread reports and waits.
pub(crate) struct Worker<'a, T, P = ()> {
    pub(crate) reporter: &'a Reporter<Option<T>, P>,
    gate: Arc<SharedGate>,
    waker: Waker,
}

impl<T, P> Worker<'_, T, P> {
    /// Sets the name of the current step, which the window shows.
    pub(crate) fn set_step(&self, step: String) {
        self.gate.0.lock().step = step;
    }

    /// Waits until the task may use the device; returns false if the task is cancelled.
    pub(crate) fn may_continue(&self) -> bool {
        let mut gate = self.gate.0.lock();
        if !gate.is_open {
            gate.is_waiting = true;
            (self.waker)();
        }
        while gate.is_waiting && !self.reporter.is_cancelled() {
            self.gate.1.wait_for(&mut gate, CANCEL_CHECK_INTERVAL);
        }
        gate.is_waiting = false;
        !self.reporter.is_cancelled()
    }

    /// Waits until the window has drawn the results so far and permits the step with this name; returns false if the task is
    /// cancelled.
    pub(crate) fn next_step(&self, step: String) -> bool {
        let mut gate = self.gate.0.lock();
        (gate.is_open, gate.has_results, gate.step) = (false, true, step);
        drop(gate);
        self.may_continue()
    }

    /// Waits for this time, or until the task is cancelled.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.reporter.is_cancelled() && Instant::now() < end {
            std::thread::sleep(CANCEL_CHECK_INTERVAL.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

impl<T, P> Drop for Worker<'_, T, P> {
    fn drop(&mut self) {
        self.gate.0.lock().has_ended = true;
    }
}

/// A task in the queue, until its thread has ended, even if it was cancelled.
struct Entry {
    task: Task,
    gate: Arc<SharedGate>,
    cancel: Cancel,
    /// True if the task uses a device in this process that is no longer in use, so that nobody waits for the task.
    is_abandoned: bool,
}

impl Entry {
    /// Returns true if the task uses the device now.
    fn is_working(&self) -> bool {
        let gate = self.gate.0.lock();
        self.task.wait().is_some() && !self.is_abandoned && !gate.is_waiting && !gate.has_ended
    }

    /// Returns true if the movie permits that the task uses the device.
    fn is_permitted(&self, moment: &Moment) -> bool {
        self.task.wait().is_some() && !self.cancel.is_cancelled() && moment.obstacle(self.task).is_none()
    }
}

/// The queue of all tasks.
pub(crate) struct Lane {
    queue: Vec<Entry>,
    waker: Waker,
    device: Option<u64>,
}

impl Lane {
    /// Creates a lane without tasks; `waker` is called when [`Self::update`] and [`Slot::poll`] are to be called.
    pub(crate) fn new(waker: &Waker) -> Self {
        Self { queue: Vec::new(), waker: waker.clone(), device: None }
    }

    /// Opens and closes the gates. `device` is the number of the device in use: tasks that use another one in this process are
    /// cancelled. Returns true if the window has to be drawn before the next call.
    pub(crate) fn update(&mut self, device: Option<u64>, moment: &Moment) -> bool {
        let is_other = std::mem::replace(&mut self.device, device) != device;
        self.queue.retain(|entry| !entry.gate.0.lock().has_ended);
        for entry in &mut self.queue {
            if is_other && entry.task.wait().is_some() && !entry.task.runs_in_child() {
                entry.cancel.cancel();
                entry.is_abandoned = true;
            }
        }
        let next = self.queue.iter().position(|entry| entry.is_permitted(moment));
        let working = self.queue.iter().position(Entry::is_working);
        let mut must_draw = false;
        for (at, entry) in self.queue.iter().enumerate() {
            let others = || [next, working].into_iter().flatten().find(|other| *other != at);
            let wait = || entry.task.wait().and_then(|_| self.queue[others()?].task.wait());
            let obstacle = moment.obstacle(entry.task).or_else(wait);
            must_draw |= entry.gate.set_obstacle(obstacle);
        }
        must_draw
    }

    /// Returns true if a task uses the device.
    pub(crate) fn uses_device(&self) -> bool {
        self.queue.iter().any(Entry::is_working)
    }

    /// Closes all gates until the next call of [`Self::update`].
    pub(crate) fn hold(&self) {
        self.queue.iter().for_each(|entry| entry.gate.0.lock().is_open = false);
    }

    /// Cancels all tasks, and waits a short time for them to end. Returns true if all have ended, so that none calls a driver.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.queue.iter().for_each(|entry| entry.cancel.cancel());
        let end = Instant::now() + SHUTDOWN_TIMEOUT;
        let is_running = |entry: &Entry| !entry.gate.0.lock().has_ended;
        while self.queue.iter().any(is_running) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        !self.queue.iter().any(is_running)
    }
}

/// The messages and the result of a task since the last call of [`Slot::poll`].
pub(crate) struct News<T, P> {
    pub(crate) progress: Vec<P>,
    /// The result if the task has ended, and was not cancelled.
    pub(crate) result: Option<Result<T>>,
    /// True if there are messages or the state has changed.
    pub(crate) is_new: bool,
}

/// A task that has not ended.
type Running<T, P> = (Job<Option<T>, P>, Arc<SharedGate>);

/// One task at a time, and its state. Dropping the slot cancels the task.
pub(crate) struct Slot<T, P = ()> {
    running: Option<Running<T, P>>,
    pub(crate) state: JobState,
}

impl<T, P> Default for Slot<T, P> {
    fn default() -> Self {
        Self { running: None, state: JobState::Idle }
    }
}

impl<T: Send + 'static, P: Send + 'static> Slot<T, P> {
    /// Cancels the task in the slot and starts another one. `work` runs at low priority on a thread of its own, and begins once
    /// the task may use the device if it needs the device. `work` returns `None` if it was cancelled. Until the first step,
    /// `step` is shown.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(
        &mut self,
        (lane, task): (&mut Lane, Task),
        step: &str,
        work: impl FnOnce(&Worker<'_, T, P>) -> Result<Option<T>> + Send + 'static,
    ) -> Result<()> {
        self.stop();
        let gate = Gate { is_waiting: task.wait().is_some(), step: step.to_owned(), ..Gate::default() };
        let gate = Arc::new(SharedGate(Mutex::new(gate), Condvar::new()));
        let (of_worker, waker) = (gate.clone(), lane.waker.clone());
        let (name, failure, ..) = task.facts();
        let job = Job::spawn(name, failure, &lane.waker, move |reporter| {
            lower_priority();
            let worker = Worker { reporter, gate: of_worker, waker };
            let may_begin = task.wait().is_none() || worker.may_continue();
            if may_begin { work(&worker) } else { Ok(None) }
        });
        let job = job.inspect_err(|error| self.state = JobState::Failed(error.to_string()))?;
        let entry = Entry { task, gate: gate.clone(), cancel: job.canceller(), is_abandoned: false };
        lane.queue.push(entry);
        lane.queue.sort_by_key(|entry| entry.task);
        self.state = gate.state();
        self.running = Some((job, gate));
        Ok(())
    }
}

impl<T, P> Slot<T, P> {
    pub(crate) fn stop(&mut self) {
        if self.running.take().is_some() {
            self.state = JobState::Stopped;
        }
    }

    /// Returns true if there is a task that has not ended.
    pub(crate) fn is_under_way(&self) -> bool {
        self.running.is_some()
    }

    /// Takes the messages of the task, and updates the state.
    pub(crate) fn poll(&mut self) -> News<T, P> {
        let mut news = News { progress: Vec::new(), result: None, is_new: false };
        let Some((job, gate)) = &self.running else { return news };
        let mut state = gate.state();
        let mut has_ended = false;
        while let Some(message) = job.poll() {
            news.is_new = true;
            match message {
                JobMessage::Progress(progress) => news.progress.push(progress),
                JobMessage::Done(done) => {
                    has_ended = true;
                    news.result = done.transpose();
                    state = match &news.result {
                        None => JobState::Stopped,
                        Some(Ok(_)) => JobState::Done,
                        Some(Err(error)) => {
                            JobState::Failed(format!("{} {}", error.what, error.why).trim().to_owned())
                        }
                    };
                }
            }
        }
        if has_ended {
            self.running = None;
        }
        news.is_new |= state != self.state;
        self.state = state;
        news
    }
}
