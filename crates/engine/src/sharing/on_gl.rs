//! OpenGL for those who may be on another thread. In: something to do with it. Out: what came of that.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use base::jobs::Waker;
use opencl::watch;

/// Something that the thread with the OpenGL context does for another one.
pub type Ask = Box<dyn FnOnce(&Arc<glow::Context>) + Send>;

/// Where the OpenGL context is.
pub enum OnGl {
    /// It is current on this thread.
    Here(Arc<glow::Context>),
    /// The thread that has it takes what is asked for here, and is woken for that.
    There(Sender<Ask>, Waker),
}

impl OnGl {
    /// A way to ask the calling thread, which does what it finds in the receiver.
    pub fn asking(waker: Waker) -> (Self, Receiver<Ask>) {
        let (asks, asked) = channel();
        (OnGl::There(asks, waker), asked)
    }

    /// Does something with OpenGL, and waits for it.
    ///
    /// # Errors
    /// A sentence without its full stop, when nobody does it any more.
    pub(super) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<glow::Context>) -> T + Send + 'static,
    ) -> Result<T, String> {
        let gone = || "the window wants another device".to_owned();
        match self {
            OnGl::Here(gl) => Ok(work(gl)),
            OnGl::There(asks, waker) => {
                let _host = watch::on_host();
                let (answer, answers) = channel();
                let ask: Ask = Box::new(move |gl| {
                    // Who has asked may have given up.
                    let _ = answer.send(work(gl));
                });
                asks.send(ask).map_err(|_| gone())?;
                waker();
                answers.recv().map_err(|_| gone())
            }
        }
    }
}
