//! The thread that makes a device's OpenCL calls, so that a stalled call blocks no other thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::watch;
use base::error::{Error, Result};

/// The number of device threads that are running.
static RUNNING_THREADS: AtomicUsize = AtomicUsize::new(0);

/// A function that runs on the device's thread.
type Work = Box<dyn FnOnce() + Send>;

/// A handle of the thread of a device. When it is dropped, the thread ends after finishing its queued work.
#[derive(Debug)]
pub struct DeviceThread {
    work: Sender<(Option<&'static str>, Work)>,
}

impl DeviceThread {
    /// Starts the thread for the device with the name `device`.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a thread.
    pub fn start(device: &str) -> Result<Self> {
        let (work, received) = channel::<(Option<&'static str>, Work)>();
        let name = device.to_owned();
        let run = move || {
            for (what, work) in received {
                let _watched = what.map(|what| watch::on_device(&name, what));
                work();
            }
            RUNNING_THREADS.fetch_sub(1, Ordering::SeqCst);
        };
        RUNNING_THREADS.fetch_add(1, Ordering::SeqCst);
        let started = std::thread::Builder::new().name("device".into()).spawn(run);
        let why = |e: std::io::Error| {
            RUNNING_THREADS.fetch_sub(1, Ordering::SeqCst);
            Error::new("An OpenCL device could not be used.", e.to_string(), "")
        };
        started.map(|_| Self { work }).map_err(why)
    }

    /// Waits up to `wait` until all device threads have ended; returns true if they have. As long as one of them is in a call,
    /// the drivers must not be unloaded.
    pub fn have_ended(wait: Duration) -> bool {
        let began = Instant::now();
        while RUNNING_THREADS.load(Ordering::SeqCst) > 0 {
            if began.elapsed() > wait {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Queues `work` for the thread; `what` describes the work in messages, as in "a frame is filtered". If it is `None`, the
    /// work registers its driver calls itself with [`watch`], as work does that waits for messages.
    pub fn run(&self, what: impl Into<Option<&'static str>>, work: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.work.send((what.into(), Box::new(work))) {
            // The thread has panicked. Dropping the work could call the driver on this thread.
            std::mem::forget(refused);
        }
    }
}
