//! Work in the background: a [`Job`] runs on a named thread, reports progress, can be cancelled, and has a result. If its
//! thread cannot be started or its work panics, the job has an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::threads::join_within;

/// A callback that is called, on any thread, when there may be something new to poll. It must not call OpenCL.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A flag by which background work is cancelled; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests that the work end, without waiting for it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns true once [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A message from a job's thread.
#[derive(Debug)]
pub enum JobMessage<T, P> {
    /// Progress of the work, or a partial result.
    Progress(P),
    /// The result of the work, sent as the last message.
    Done(Result<T>),
}

/// Work that runs on a thread. Dropping the job cancels it, without waiting.
#[derive(Debug)]
pub struct Job<T, P = ()> {
    messages: Receiver<JobMessage<T, P>>,
    /// Asks the job to stop.
    pub cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

/// The handle that a job passes to its work, which reports progress with it and sees whether the job is cancelled.
pub struct Reporter<T, P = ()> {
    sender: Sender<JobMessage<T, P>>,
    /// Tells that the job is to stop.
    pub cancel: Cancel,
    waker: Waker,
}

impl<T, P> Reporter<T, P> {
    /// Sends progress to the owner of the job; returns false if the job was dropped.
    pub fn report(&self, progress: P) -> bool {
        self.send(JobMessage::Progress(progress))
    }

    /// Returns true if the job was cancelled, so that the work must end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Sends a message to the job's owner and calls the waker. Returns false if the owner has dropped the job.
    fn send(&self, message: JobMessage<T, P>) -> bool {
        let is_received = self.sender.send(message).is_ok();
        (self.waker)();
        is_received
    }
}

impl<T: Send + 'static, P: Send + 'static> Job<T, P> {
    /// Starts `work` on a thread called `name`; `waker` is called after each message. `failed` is the first sentence of the
    /// error, which is the job's result, if the thread cannot be started or the work panics.
    pub fn spawn(
        name: &'static str,
        failed: &'static str,
        waker: &Waker,
        work: impl FnOnce(&Reporter<T, P>) -> Result<T> + Send + 'static,
    ) -> Self {
        let (sender, messages) = channel();
        let cancel = Cancel::default();
        let reporter = Reporter { sender: sender.clone(), cancel: cancel.clone(), waker: waker.clone() };
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&reporter)));
            let panicked = || Error::new(failed, format!("The thread '{name}' panicked."), "");
            // The job may have been dropped.
            let _ = reporter.send(JobMessage::Done(done.unwrap_or_else(|_| Err(panicked()))));
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(run);
        if let Err(e) = &thread {
            let error = Error::new(failed, format!("A thread could not be started: {e}."), "Try again.");
            let _ = sender.send(JobMessage::Done(Err(error)));
            waker();
        }
        Self { messages, cancel, thread: thread.ok() }
    }
}

impl<T, P> Job<T, P> {
    /// Returns the next message, if there is one.
    pub fn poll(&self) -> Option<JobMessage<T, P>> {
        self.messages.try_recv().ok()
    }

    /// Waits for the result for at most `time`, skipping progress messages. Returns `None` if the job still runs after that
    /// time, or if its result was returned before.
    pub fn wait(&self, time: Duration) -> Option<Result<T>> {
        // Capped, since an `Instant` cannot hold the sum with a very long time.
        let end = Instant::now() + time.min(Duration::from_secs(1 << 30));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(JobMessage::Done(done)) => return Some(done),
                Ok(JobMessage::Progress(_)) => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for at most `time` for the result of the job in `slot`, and empties `slot` once the job is done. Returns `None` if
    /// there is no job, or if it still runs.
    pub fn take_result(slot: &mut Option<Self>, time: Duration) -> Option<Result<T>> {
        let result = slot.as_ref()?.wait(time)?;
        *slot = None;
        Some(result)
    }

    /// Requests that the work end, without waiting for it.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Separates this handle from the work's cancel flag, so that neither cancelling nor dropping the job ends the work.
    pub fn keep(&mut self) {
        self.cancel = Cancel::default();
    }

    /// Cancels the work, and waits for its thread for at most `patience`. Returns true if the thread has ended, false if it
    /// still runs.
    #[must_use]
    pub fn end(&mut self, patience: Duration) -> bool {
        self.cancel();
        join_within(&mut self.thread, patience).is_some_and(|ended| ended.is_ok())
    }
}

impl<T, P> Drop for Job<T, P> {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn counting() -> (Waker, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        (
            Arc::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
            }),
            count,
        )
    }

    #[test]
    fn a_job_reports_progress_and_its_result_and_a_panic_as_an_error() {
        let (waker, woken) = counting();
        let mut job = Job::<String, u32>::spawn("a-job", "Nothing was done.", &waker, |reporter| {
            assert!((1..=3).all(|n| reporter.report(n)));
            Ok(std::thread::current().name().unwrap_or("").to_owned())
        });
        assert!(job.end(LONG));
        for expected in 1..=3 {
            assert!(matches!(job.poll(), Some(JobMessage::Progress(n)) if n == expected));
        }
        assert!(matches!(job.poll(), Some(JobMessage::Done(Ok(name))) if name == "a-job"));
        assert!(job.poll().is_none() && job.wait(LONG).is_none() && job.end(LONG));
        assert_eq!(woken.load(Ordering::SeqCst), 4);
        let (waker, woken) = counting();
        let mut job = Job::<()>::spawn("unlucky", "Nothing was done.", &waker, |_| panic!("on purpose"));
        assert!(job.end(LONG));
        let error = job.wait(LONG).unwrap().unwrap_err();
        assert_eq!((error.what.as_str(), woken.load(Ordering::SeqCst)), ("Nothing was done.", 1));
        assert!(error.why.contains("'unlucky'"), "{error}");
    }

    #[test]
    fn a_job_that_is_dropped_is_cancelled_and_one_that_is_not_goes_on() {
        let (waker, _) = counting();
        let (ended, end) = channel();
        let job = Job::<()>::spawn("waits", "", &waker, move |reporter| {
            while !reporter.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(reporter.report(())).unwrap();
            Ok(())
        });
        assert!(job.wait(Duration::from_millis(20)).is_none(), "nobody has cancelled it");
        drop(job);
        assert_eq!(end.recv_timeout(LONG), Ok(false), "nobody receives it any more");
    }
}
