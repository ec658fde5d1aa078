//! Work in the background. In: what to do, on a thread of its own that has a name. Out: what it tells meanwhile, and at the
//! end what came of it. A thread that the system does not give is an error, and so is work that panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Called on other threads when it is worth while to look; makes no OpenCL call.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Asks work to end. Clones ask the same.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Lets it end soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What a job says.
#[derive(Debug)]
pub enum Said<T, P> {
    /// This far it has come, or this it has found.
    Progress(P),
    /// This came of it: the last that it says.
    Done(Result<T>),
}

/// Work that is under way. Dropping it cancels it, and does not wait for it.
#[derive(Debug)]
pub struct Job<T, P = ()> {
    said: Receiver<Said<T, P>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

/// The work's side of a job.
pub struct Teller<T, P = ()> {
    sender: Sender<Said<T, P>>,
    cancel: Cancel,
    waker: Waker,
}

impl<T, P> Teller<T, P> {
    /// Tells something on the way; whether anybody is there to hear it.
    pub fn tell(&self, progress: P) -> bool {
        self.say(Said::Progress(progress))
    }

    /// Whether the work is to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// What asks the work to end, for what the work itself calls.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    fn say(&self, said: Said<T, P>) -> bool {
        let heard = self.sender.send(said).is_ok();
        (self.waker)();
        heard
    }
}

impl<T: Send + 'static, P: Send + 'static> Job<T, P> {
    /// Begins `work` on a thread called `name`. `failed` says, as a sentence, what has failed where there is no thread or the
    /// work panics. `waker` is called whenever the job has said something.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(
        name: &'static str,
        failed: &'static str,
        waker: &Waker,
        work: impl FnOnce(&Teller<T, P>) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let (sender, said) = channel();
        let cancel = Cancel::default();
        let teller = Teller { sender, cancel: cancel.clone(), waker: waker.clone() };
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&teller)));
            let ended = || Error::new(failed, format!("The thread '{name}' came to an unexpected end."), "");
            // Nobody may listen any more.
            let _ = teller.say(Said::Done(done.unwrap_or_else(|_| Err(ended()))));
        };
        let no_thread = |e| Error::new(failed, format!("The system gives no thread: {e}."), "Try it again.");
        let thread = std::thread::Builder::new().name(name.into()).spawn(run).map_err(no_thread)?;
        Ok(Self { said, cancel, thread: Some(thread) })
    }
}

impl<T, P> Job<T, P> {
    /// What it has said since, one after the other.
    pub fn poll(&self) -> Option<Said<T, P>> {
        self.said.try_recv().ok()
    }

    /// What came of it, of one that tells nothing on its way; waits so long for that. `None`: it goes on, or it was told.
    pub fn wait(&self, time: Duration) -> Option<Result<T>> {
        // Longer than anybody waits where it is longer than a clock can tell.
        let end = Instant::now() + time.min(Duration::from_secs(1 << 30));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let said = match left.is_zero() {
                true => self.said.try_recv().map_err(|e| e == TryRecvError::Empty),
                false => self.said.recv_timeout(left).map_err(|e| e == RecvTimeoutError::Timeout),
            };
            match said {
                Ok(Said::Done(done)) => return Some(done),
                Ok(Said::Progress(_)) => {}
                Err(_) => return None,
            }
        }
    }

    /// Asks it to end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Lets what it has made go on: dropping the job cancels nothing any more.
    pub fn keep(&mut self) {
        self.cancel = Cancel::default();
    }

    /// Asks it to end and waits so long for that; whether it has.
    #[must_use]
    pub fn end(&mut self, patience: Duration) -> bool {
        self.cancel();
        let Some(thread) = self.thread.take() else { return true };
        let end = Instant::now() + patience;
        while !thread.is_finished() {
            if Instant::now() >= end {
                self.thread = Some(thread);
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().is_ok()
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
    fn a_job_tells_how_far_it_is_and_what_came_of_it() {
        let (waker, woken) = counting();
        let mut job = Job::<String, u32>::spawn("a-job", "Nothing was done.", &waker, |teller| {
            assert!((1..=3).all(|n| teller.tell(n)));
            Ok(std::thread::current().name().unwrap_or("").to_owned())
        })
        .unwrap();
        assert!(job.end(LONG));
        for expected in 1..=3 {
            assert!(matches!(job.poll(), Some(Said::Progress(n)) if n == expected));
        }
        assert!(matches!(job.poll(), Some(Said::Done(Ok(name))) if name == "a-job"));
        assert!(job.poll().is_none() && job.wait(LONG).is_none() && job.end(LONG));
        assert_eq!(woken.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn a_panic_is_an_error() {
        let (waker, woken) = counting();
        let mut job =
            Job::<()>::spawn("unlucky", "Nothing was done.", &waker, |_| panic!("on purpose")).unwrap();
        assert!(job.end(LONG));
        let error = job.wait(LONG).unwrap().unwrap_err();
        assert_eq!((error.what.as_str(), woken.load(Ordering::SeqCst)), ("Nothing was done.", 1));
        assert!(error.why.contains("'unlucky'"), "{error}");
    }

    #[test]
    fn a_job_that_is_dropped_is_cancelled_and_one_that_is_not_goes_on() {
        let (waker, _) = counting();
        let (ended, end) = channel();
        let job = Job::<()>::spawn("waits", "", &waker, move |teller| {
            while !teller.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(teller.tell(())).unwrap();
            Ok(())
        })
        .unwrap();
        assert!(job.wait(Duration::from_millis(20)).is_none(), "nobody has cancelled it");
        drop(job);
        assert_eq!(end.recv_timeout(LONG), Ok(false), "nobody hears it any more");
    }
}
