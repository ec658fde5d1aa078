//! The lane: a queue of background measurements, of which one at a time uses the device, and only while that does not disturb
//! the movie.
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

/// The maximum time for which a closing window waits until running tasks have stopped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// The interval at which a waiting task checks whether it was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A background measurement, or other work in the background. Tasks that use the device get it in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The check of the device's type conversions (OpenCL's `convert_` functions).
    Conversions,
    /// The benchmark of a ladder (a set of variants that compute the same result) in the Lab.
    Lab,
    /// The compilation of a variant that is selected in the Lab, for its machine code.
    MachineCode,
    /// The compilation of the kernels in use, to find out how many registers they use.
    Registers,
    /// The comparison of the speed of two versions of edited kernels.
    Versions,
    /// The measurement of the device's peak rates of transfer and arithmetic, which takes a second or two.
    Peaks,
    /// The search for the fastest variant. `is_requested` is true if the user has requested it, false if it began
    /// automatically.
    Tuning { is_requested: bool },
    /// The check of kernels for data races.
    Races,
    /// The reading of the device's clock frequency, repeated once a second.
    Clock,
}

impl Task {
    /// Returns the name of the task's thread, the first sentence of the error if the task fails, and the reason that other
    /// tasks show for waiting while this task uses the device (`None` if it does not use the device).
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

    /// Returns the first sentence of the error that is shown if the task fails.
    pub(crate) fn failure(self) -> &'static str {
        self.facts().1
    }

    /// Returns the reason that other tasks show for waiting while this task uses the device; `None` if it does not use the
    /// device.
    fn wait(self) -> Option<Wait> {
        self.facts().2
    }
}

/// The state of a task, shared by the lane and the task's thread. A task passes its gate, and may use the device, while the
/// gate is open.
#[derive(Default)]
struct Gate {
    is_open: bool,
    /// True while the task waits until the gate is opened.
    is_waiting: bool,
    /// True if the task waits with results that the window must draw before the gate is opened.
    has_results: bool,
    /// The name of the task's current step or, while the task waits, of its next step.
    step: String,
    obstacle: Option<Wait>,
    has_ended: bool,
}

/// A [`Gate`], and the condition variable that is notified when the gate is opened.
struct SharedGate(Mutex<Gate>, Condvar);

/// The gate as the task's thread holds it. The task has ended once this is dropped, also if the thread could not be started.
struct WorkerGate(Arc<SharedGate>);

impl Drop for WorkerGate {
    fn drop(&mut self) {
        self.0.0.lock().has_ended = true;
    }
}

impl SharedGate {
    /// Returns the state of the task for the overlay; the task must not have ended.
    fn state(&self) -> JobState {
        let gate = self.0.lock();
        match gate.obstacle {
            Some(obstacle) if gate.is_waiting => JobState::Waiting(obstacle),
            Some(obstacle) => JobState::Ending(obstacle),
            None => JobState::Running(gate.step.clone()),
        }
    }
}

/// The handle through which a task's thread reports results and waits until it may use the device.
pub(crate) struct Worker<'a, T, P = ()> {
    pub reporter: &'a Reporter<Option<T>, P>,
    gate: WorkerGate,
    waker: Waker,
}

impl<T, P> Worker<'_, T, P> {
    /// Sets the name of the current step, which the window shows.
    pub(crate) fn set_step(&self, step: String) {
        self.gate.0.0.lock().step = step;
    }

    /// Waits until the task may use the device. Returns true then, and false if the task is cancelled.
    pub(crate) fn may_continue(&self) -> bool {
        let mut gate = self.gate.0.0.lock();
        if !gate.is_open {
            gate.is_waiting = true;
            (self.waker)();
        }
        while gate.is_waiting && !self.reporter.is_cancelled() {
            self.gate.0.1.wait_for(&mut gate, CANCEL_CHECK_INTERVAL);
        }
        gate.is_waiting = false;
        !self.reporter.is_cancelled()
    }

    /// Waits until the window has drawn the results so far and the task may use the device for the step with this name. Returns
    /// false if the task is cancelled.
    pub(crate) fn next_step(&self, step: String) -> bool {
        let mut gate = self.gate.0.0.lock();
        (gate.is_open, gate.has_results, gate.step) = (false, true, step);
        drop(gate);
        self.may_continue()
    }

    /// Waits for this time; returns earlier if the task is cancelled.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.reporter.is_cancelled() && Instant::now() < end {
            std::thread::sleep(CANCEL_CHECK_INTERVAL.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

/// A task in the queue. Cancelled tasks also stay in the queue until their threads have ended.
struct Entry {
    task: Task,
    gate: Arc<SharedGate>,
    cancel: Cancel,
    /// True if the task was using, in this process, a device that has been replaced since. No other task waits for it.
    is_abandoned: bool,
}

impl Entry {
    /// Returns true if the task uses the device now.
    fn is_working(&self) -> bool {
        let gate = self.gate.0.lock();
        self.task.wait().is_some() && !self.is_abandoned && !gate.is_waiting && !gate.has_ended
    }
}

/// The queue of all background measurements, which takes care that one at a time uses the device.
pub(crate) struct Lane {
    queue: Vec<Entry>,
    waker: Waker,
    device: Option<u64>,
}

impl Lane {
    /// Creates a lane without tasks. `waker` is called when the window is to call [`Self::update`] and [`Slot::poll`].
    pub(crate) fn new(waker: &Waker) -> Self {
        Self { queue: Vec::new(), waker: waker.clone(), device: None }
    }

    /// Opens and closes the gates of all tasks. `device` is the number of the context in use (`None` if there is none): if it
    /// has changed, tasks that use the previous one in this process are cancelled. Returns true if the window must be drawn
    /// before the next call.
    pub(crate) fn update(&mut self, device: Option<u64>, moment: &Moment) -> bool {
        let is_other = std::mem::replace(&mut self.device, device) != device;
        self.queue.retain(|entry| !entry.gate.0.lock().has_ended);
        for entry in &mut self.queue {
            // If child processes make the driver calls of a task, it can continue when this process changes to another device,
            // and a call that hangs ends with its child process.
            let runs_in_child = matches!(entry.task, Task::Conversions | Task::Lab | Task::Races);
            if is_other && entry.task.wait().is_some() && !runs_in_child {
                entry.cancel.cancel();
                entry.is_abandoned = true;
            }
        }
        let next = self.queue.iter().position(|entry| {
            // The task needs the device, is not cancelled, and may use it at this moment of the movie.
            entry.task.wait().is_some()
                && !entry.cancel.is_cancelled()
                && moment.obstacle(entry.task).is_none()
        });
        let working = self.queue.iter().position(Entry::is_working);
        let mut must_draw = false;
        for (at, entry) in self.queue.iter().enumerate() {
            let others = || [next, working].into_iter().flatten().find(|other| *other != at);
            let wait = || entry.task.wait().and_then(|_| self.queue[others()?].task.wait());
            let obstacle = moment.obstacle(entry.task).or_else(wait);
            let mut gate = entry.gate.0.lock();
            let has_results = std::mem::take(&mut gate.has_results);
            (gate.is_open, gate.obstacle) = (obstacle.is_none() && !has_results, obstacle);
            if gate.is_open {
                // The task counts as working from now on, even if the gate is closed before the task's thread runs.
                gate.is_waiting = false;
                entry.gate.1.notify_all();
            }
            must_draw |= has_results;
        }
        must_draw
    }

    /// Returns true if a task is using the device now.
    pub(crate) fn uses_device(&self) -> bool {
        self.queue.iter().any(Entry::is_working)
    }

    /// Closes all gates, so that no task continues until the next call of [`Self::update`].
    pub(crate) fn hold(&self) {
        self.queue.iter().for_each(|entry| entry.gate.0.lock().is_open = false);
    }

    /// Cancels all tasks, and waits a short time for them to end. Returns true if all have ended, so that none makes a driver
    /// call any more.
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

/// The messages and the result that a task has sent since the last call of [`Slot::poll`].
pub(crate) struct News<T, P> {
    pub progress: Vec<P>,
    /// The result, if the task has ended without being cancelled; otherwise `None`.
    pub result: Option<Result<T>>,
    /// True if messages have arrived or the task's state has changed.
    pub is_new: bool,
}

/// The job and the gate of a task that has not ended.
type RunningTask<T, P> = (Job<Option<T>, P>, Arc<SharedGate>);

/// A place for one task at a time, and the state of that task. Dropping the slot cancels the task.
pub(crate) struct Slot<T, P = ()> {
    running: Option<RunningTask<T, P>>,
    pub state: JobState,
}

impl<T, P> Default for Slot<T, P> {
    fn default() -> Self {
        Self { running: None, state: JobState::Idle }
    }
}

impl<T: Send + 'static, P: Send + 'static> Slot<T, P> {
    /// Cancels the task in the slot and starts another one. `work` runs at low priority on a thread of its own. If the task
    /// needs the device, `work` begins once the task may use the device. `work` returns `None` if it was cancelled. `step` is
    /// the name of the step that is shown at first.
    pub(crate) fn start(
        &mut self,
        (lane, task): (&mut Lane, Task),
        step: &str,
        work: impl FnOnce(&Worker<'_, T, P>) -> Result<Option<T>> + Send + 'static,
    ) {
        self.stop();
        let gate = Gate { is_waiting: task.wait().is_some(), step: step.to_owned(), ..Gate::default() };
        let gate = Arc::new(SharedGate(Mutex::new(gate), Condvar::new()));
        let (of_worker, waker) = (WorkerGate(gate.clone()), lane.waker.clone());
        let (name, failure, ..) = task.facts();
        let job = Job::spawn(name, failure, &lane.waker, move |reporter| {
            lower_priority();
            let worker = Worker { reporter, gate: of_worker, waker };
            let may_begin = task.wait().is_none() || worker.may_continue();
            if may_begin { work(&worker) } else { Ok(None) }
        });
        let entry = Entry { task, gate: gate.clone(), cancel: job.cancel.clone(), is_abandoned: false };
        lane.queue.push(entry);
        lane.queue.sort_by_key(|entry| entry.task);
        self.state = gate.state();
        self.running = Some((job, gate));
    }

    pub(crate) fn stop(&mut self) {
        if self.running.take().is_some() {
            self.state = JobState::Stopped;
        }
    }

    /// Returns true if the slot has a task that has not ended.
    pub(crate) fn is_under_way(&self) -> bool {
        self.running.is_some()
    }

    /// Takes the messages that the task has sent, and updates the task's state.
    pub(crate) fn poll(&mut self) -> News<T, P> {
        let mut news = News { progress: Vec::new(), result: None, is_new: false };
        let Some((job, gate)) = &self.running else { return news };
        let mut state = gate.state();
        while let Some(message) = job.poll() {
            news.is_new = true;
            match message {
                JobMessage::Progress(progress) => news.progress.push(progress),
                JobMessage::Done(done) => {
                    news.result = done.transpose();
                    state = match &news.result {
                        None => JobState::Stopped,
                        Some(Ok(_)) => JobState::Done,
                        Some(Err(error)) => {
                            JobState::Failed(format!("{} {}", error.what, error.why).trim().to_owned())
                        }
                    };
                    self.running = None;
                    break;
                }
            }
        }
        news.is_new |= state != self.state;
        self.state = state;
        news
    }
}
