//! OpenGL's vertex buffers, as the device has them. In: one that is lent for a frame. Out: its memory, acquired, and then given
//! back.

use std::sync::Arc;

use crate::error::Error;
use crate::gpu::cl::{Buffer, ClContext, Event};
use crate::gpu::sharing::vertex_buffer::{SharedVertices, VertexBuffer};

/// More than an army has.
const MOST: usize = 4;

/// The buffers that were lent so far, on one device.
#[derive(Default)]
pub(super) struct Shares {
    buffers: Vec<SharedVertices>,
    /// Nothing is acquired any more.
    is_over: bool,
    refusal: Option<String>,
}

/// A buffer that is OpenCL's.
pub(super) struct Acquired {
    shared: SharedVertices,
    event: Event,
    is_new: bool,
}

impl Acquired {
    /// The buffer, for OpenCL.
    pub(super) fn memory(&self) -> &Buffer {
        self.shared.memory()
    }

    /// The handover.
    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    /// Whether nobody knows yet that OpenGL sees what is written there.
    pub(super) fn is_to_be_tested(&self) -> bool {
        self.is_new
    }
}

impl Shares {
    /// Puts the handover to OpenCL on the queue; `None` where that cannot be.
    pub(super) fn acquire(&mut self, cl: &ClContext, lent: &Arc<VertexBuffer>) -> Option<Acquired> {
        if self.is_over {
            return None;
        }
        let known = self.buffers.iter().find(|shared| shared.is_of(lent)).cloned();
        let is_new = known.is_none();
        let acquired = known.map_or_else(|| SharedVertices::new(cl, lent), Ok).and_then(|shared| {
            let event = shared.acquire(cl)?;
            Ok(Acquired { shared, event, is_new })
        });
        match acquired {
            Ok(acquired) => {
                if is_new && self.buffers.len() < MOST {
                    self.buffers.push(acquired.shared.clone());
                }
                Some(acquired)
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// Puts the handover back to OpenGL on the queue; `None` where that cannot be.
    pub(super) fn release(&mut self, cl: &ClContext, acquired: &Acquired) -> Option<Event> {
        match acquired.shared.release(cl) {
            Ok(event) => Some(event),
            Err(error) => self.refuse(&error),
        }
    }

    /// Lets the buffers go: those of another army come.
    pub(super) fn forget(&mut self) {
        self.buffers.clear();
    }

    fn refuse<T>(&mut self, error: &Error) -> Option<T> {
        self.is_over = true;
        let why = format!("{} {}", error.what, error.why);
        self.refusal = Some(why.trim_end_matches('.').to_owned());
        None
    }

    /// Why a buffer could not be shared, if that was so since the last call.
    pub(super) fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }
}
