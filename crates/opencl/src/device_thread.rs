//! The thread that makes a device's OpenCL calls: a call that stalls stops it alone. In: work, in its order. Out: what each
//! piece of it sends back by itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::watch;
use base::error::{Error, Result};

/// How many of these threads there are.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

type Work = Box<dyn FnOnce() + Send>;

/// The thread. When this is dropped it ends, after what it was given.
#[derive(Debug)]
pub struct DeviceThread {
    work: Sender<(&'static str, Work)>,
}

impl DeviceThread {
    /// Starts the thread of a device with this name.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(device: &str) -> Result<Self> {
        let (work, received) = channel::<(&'static str, Work)>();
        let name = device.to_owned();
        let run = move || {
            for (what, work) in received {
                let _watched = watch::on_device(&name, what);
                work();
            }
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        RUNNING.fetch_add(1, Ordering::SeqCst);
        let started = std::thread::Builder::new().name("device".into()).spawn(run);
        let why = |e: std::io::Error| {
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            Error::new("An OpenCL device could not be used.", e.to_string(), "")
        };
        started.map(|_| Self { work }).map_err(why)
    }

    /// Whether all of these threads end within that time: while one is in a call, the drivers must not be taken down.
    pub fn have_ended(wait: Duration) -> bool {
        let began = Instant::now();
        while RUNNING.load(Ordering::SeqCst) > 0 {
            if began.elapsed() > wait {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Has the thread do something; `what` says what that is, as in "a frame is filtered".
    pub fn run(&self, what: &'static str, work: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.work.send((what, Box::new(work))) {
            // It ended in the middle of its work: what is left of that is nobody's.
            std::mem::forget(refused);
        }
    }
}
