//! Runs work that needs OpenGL on the thread where the OpenGL context is current.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use base::jobs::Waker;
use opencl::watch;

/// A function that another thread sends to the thread with the OpenGL context, to be run there.
pub type GlRequest = Box<dyn FnOnce(&Arc<glow::Context>) + Send>;

/// Access to the OpenGL context from any thread.
pub enum GlAccess {
    /// The context is current on the calling thread.
    Here(Arc<glow::Context>),
    /// The context is current on another thread. Requests are sent there, and the waker wakes that thread to receive and run them.
    There(Sender<GlRequest>, Waker),
}

impl GlAccess {
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
