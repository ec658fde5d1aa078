//! Releases shared textures on a thread of its own. In: an acquired texture whose commands are in the queue. Out: the
//! event of its release, to be polled for.
//!
//! NVIDIA's driver (580, GLX) sleeps 0.3 ms in clEnqueueReleaseGLObjects where an OpenGL context is current on the calling
//! thread, whatever the texture's size and whatever is in the queue; on a thread without one the call takes 0.02 ms
//! (`examples/handover_cost`). OpenCL asks for no context there; what it then does not do is to hold OpenGL back by itself,
//! and nobody relies on that: a texture is not drawn before the event of its release is complete.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::texture::Shared;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::gpu::event::{Waker, wake_after};

/// A call that takes longer than this has hung.
const PATIENCE: Duration = Duration::from_secs(5);

/// A release that was called.
pub struct Released {
    /// Complete when the texture is OpenGL's again.
    pub event: ocl::Event,
    /// When the call began.
    pub began: Instant,
    /// When it had returned, and the queue was flushed.
    pub ended: Instant,
}

impl Released {
    fn call(cl: &ClContext, texture: &Shared) -> Result<Self> {
        let began = Instant::now();
        let event = texture.release(cl)?;
        cl.queue.flush().map_err(|e| failed("The OpenCL queue could not be started.", &e))?;
        Ok(Self { event, began, ended: Instant::now() })
    }
}

/// A release that was asked for.
pub struct Releasing(Receiver<Result<Released>>);

impl Releasing {
    /// The release, or why it failed, once it was called. Never waits.
    pub fn poll(&self) -> Option<Result<Released>> {
        match self.0.try_recv() {
            Ok(released) => Some(released),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ended())),
        }
    }

    /// The same, waited for; `None` where the driver does not return. For tests at the start.
    pub(super) fn wait(self) -> Option<Result<Released>> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(released) => Some(released),
            Err(RecvTimeoutError::Disconnected) => Some(Err(ended())),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

/// Releases that are asked for and not called yet.
#[derive(Default)]
struct UnderWay {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl UnderWay {
    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = change(*count);
        self.fewer.notify_all();
    }
}

/// The thread. It ends when this drops, which waits for it.
pub struct Releaser {
    textures: Option<Sender<(Shared, Sender<Result<Released>>)>>,
    under_way: Arc<UnderWay>,
    thread: Option<JoinHandle<()>>,
}

impl Releaser {
    /// Starts the thread, for textures of `cl`. `waker` is called when there is something to poll for: the event of a
    /// release is complete, or a release has failed.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(cl: &ClContext, waker: Waker) -> Result<Self> {
        let (textures, todo) = mpsc::channel::<(Shared, Sender<Result<Released>>)>();
        let under_way = Arc::<UnderWay>::default();
        let (cl, counted) = (cl.clone(), under_way.clone());
        let work = move || {
            for (texture, answer) in todo {
                let released = Released::call(&cl, &texture);
                let event = released.as_ref().ok().map(|released| released.event.clone());
                drop(texture);
                // Who asked may have given the frame up.
                let _ = answer.send(released);
                counted.change(|count| count.saturating_sub(1));
                match event {
                    Some(event) => wake_after(&event, &waker),
                    None => waker(),
                }
            }
        };
        let thread = std::thread::Builder::new().name("release".into()).spawn(work).map_err(|e| {
            let why = format!("The system says: {e}.");
            Error::new("The thread that hands textures back could not be started.", why, "")
        })?;
        Ok(Self { textures: Some(textures), under_way, thread: Some(thread) })
    }

    /// Has an acquired texture released after the commands that are in the queue now. Never waits.
    pub(super) fn release(&self, texture: &Shared) -> Releasing {
        let (answer, releasing) = mpsc::channel();
        self.under_way.change(|count| count + 1);
        let sent = self.textures.as_ref().is_some_and(|to| to.send((texture.clone(), answer)).is_ok());
        if !sent {
            self.under_way.change(|count| count.saturating_sub(1));
        }
        Releasing(releasing)
    }

    /// Waits until every release that was asked for is in the queue; `false` where the driver does not return from one.
    pub fn drain(&self) -> bool {
        let count = self.under_way.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.under_way.fewer.wait_timeout_while(count, PATIENCE, |count| *count > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for Releaser {
    fn drop(&mut self) {
        self.textures = None;
        // It has nothing to do any more, unless the driver hangs.
        if let (true, Some(thread)) = (self.drain(), self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn ended() -> Error {
    Error::new(
        "A texture could not be handed back to OpenGL.",
        "The thread for it has ended.",
        "Choose another device, or start with --no-sharing.",
    )
}
