//! Runs work that needs OpenGL on the thread where the OpenGL context is current.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use base::jobs::Waker;
use opencl::watch;

/// A function that another thread sends to the thread with the OpenGL context, to be run there.
pub type GlRequest = Box<dyn FnOnce(&Arc<glow::Context>) + Send>;

/// Access to the OpenGL context from any thread.
pub enum GlAccess {
    /// The context is current on the calling thread.
    Here(Arc<glow::Context>),
    /// The context is current on another thread. Requests are sent there, and the waker wakes that thread to take them.
    There(Sender<GlRequest>, Waker),
}

impl GlAccess {
    /// Creates the access for other threads, and the receiver of their requests. The calling thread, on which the OpenGL
    /// context is current, must receive the requests and run them. `waker` is called after each request.
    pub fn channel_for_others(waker: Waker) -> (Self, Receiver<GlRequest>) {
        let (requests, received) = channel();
        (GlAccess::There(requests, waker), received)
    }

    /// Runs `work` with the OpenGL context, on the thread where it is current, and waits for the result.
    ///
    /// # Errors
    /// If the other thread takes no more requests: a sentence without its full stop.
    pub(super) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<glow::Context>) -> T + Send + 'static,
    ) -> Result<T, String> {
        let gone = || "the window wants another device".to_owned();
        match self {
            GlAccess::Here(gl) => Ok(work(gl)),
            GlAccess::There(requests, waker) => {
                let _host = watch::on_host();
                let (answer, answers) = channel();
                let request: GlRequest = Box::new(move |gl| {
                    // The caller may have stopped waiting.
                    let _ = answer.send(work(gl));
                });
                requests.send(request).map_err(|_| gone())?;
                waker();
                answers.recv().map_err(|_| gone())
            }
        }
    }
}
