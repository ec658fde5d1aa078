//! Jobs in the background that use a device only while the window permits it.
//!
//! The job has a context of its own, which shares nothing with OpenGL, so the job can still use it while the window is being
//! shut down. Before each run on the device the job waits at a [`Gate`], so at most one run or one compilation continues when
//! the window needs the device.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use base::error::Result;
use base::jobs::{Cancel, Job, JobMessage, Reporter, Waker};
use opencl::process::lower_priority;

/// How long a closing window waits for a run or a compilation of the job to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);

/// A gate that is open while a job may use the device.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Opens or closes the gate.
    fn set_open(&self, open: bool) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_open, open) != open {
            self.changed.notify_all();
        }
    }

    /// Cancels the job, and wakes it if it waits at the gate.
    fn cancel(&self, cancel: &Cancel) {
        // Locked, so that no thread is between its check and its wait.
        let _is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        cancel.cancel();
        self.changed.notify_all();
    }

    /// Waits until the gate is open or the job is cancelled; returns false if the job is cancelled.
    pub(crate) fn pass(&self, cancel: &Cancel) -> bool {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_closed = |is_open: &mut bool| !*is_open && !cancel.is_cancelled();
        drop(self.changed.wait_while(is_open, is_closed));
        !cancel.is_cancelled()
    }
}

/// The window's handle of a job that waits at a gate, which is closed at first. Dropping the handle cancels the job.
pub(crate) struct GatedJob<T, P = ()> {
    job: Job<T, P>,
    cancel: Cancel,
    gate: Arc<Gate>,
}

impl<T: Send + 'static, P: Send + 'static> GatedJob<T, P> {
    /// Starts `work` at low priority on a thread called `name`. `failed` is the first sentence of the error if the thread cannot
    /// be started or the work panics.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn spawn(
        name: &'static str,
        failed: &'static str,
        waker: &Waker,
        work: impl FnOnce(&Reporter<T, P>, &Gate) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let gate = Arc::new(Gate::default());
        let waits_at = gate.clone();
        let job = Job::spawn(name, failed, waker, move |reporter| {
            lower_priority();
            work(reporter, &waits_at)
        })?;
        Ok(Self { cancel: job.canceller(), job, gate })
    }
}

impl<T, P> GatedJob<T, P> {
    /// Permits the job to use the device, or stops it before its next run on the device.
    pub(crate) fn set_open(&self, open: bool) {
        self.gate.set_open(open);
    }

    /// Cancels the job, which ends after its current run or compilation.
    pub(crate) fn cancel(&self) {
        self.gate.cancel(&self.cancel);
    }

    /// Returns true if the job was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the next message of the job, if there is one.
    pub(crate) fn poll(&self) -> Option<JobMessage<T, P>> {
        self.job.poll()
    }

    /// Cancels the job and waits for a short time. Returns true if the job has ended, false if a run or a compiler, which
    /// cannot be interrupted, takes longer.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.cancel();
        self.job.end(SHUTDOWN_TIMEOUT)
    }
}

impl<T, P> Drop for GatedJob<T, P> {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_job_waits_until_it_may_run_and_ends_when_it_is_cancelled() {
        let (gate, cancel) = (Arc::new(Gate::default()), Cancel::default());
        let (sender, receiver) = channel();
        let (other, cancelled) = (gate.clone(), cancel.clone());
        let thread = std::thread::spawn(move || {
            sender.send(other.pass(&cancelled)).unwrap();
            // Once open, it stays open.
            sender.send(other.pass(&cancelled)).unwrap();
            other.set_open(false);
            sender.send(other.pass(&cancelled)).unwrap();
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "it is closed at first");
        gate.set_open(true);
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(true), Ok(true)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "closed again");
        gate.cancel(&cancel);
        assert_eq!(receiver.recv(), Ok(false));
        assert!(!gate.pass(&cancel));
        thread.join().unwrap();
    }
}
