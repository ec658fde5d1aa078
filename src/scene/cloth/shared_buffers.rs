//! Use of OpenGL's vertex buffers in OpenCL: a buffer is acquired by OpenCL for a frame, then released to OpenGL.

use std::sync::Arc;

use base::error::Error;
use engine::sharing::vertex_buffer::{SharedVertices, VertexBuffer};
use ladders::cloth::steps::StepId;
use opencl::cl::{Buffer, ClContext, Event};

/// The maximum number of vertex buffers whose OpenCL objects are kept. A crowd of figures has two buffers; further ones replace
/// buffers that were never given back.
const MAX_BUFFERS: usize = 4;

/// The OpenCL objects of the vertex buffers that OpenGL has lent to one device.
#[derive(Default)]
pub(super) struct SharedBuffers {
    buffers: Vec<SharedVertices>,
    /// True once a call of the driver has failed. From then on, no buffer is acquired any more.
    is_over: bool,
    refusal: Option<String>,
}

/// The result of handing a vertex buffer to OpenCL for a frame and back to OpenGL.
#[derive(Default)]
pub(super) struct HandoverResult {
    /// True if the buffer was released to OpenGL with the frame's vertices in it.
    pub is_written: bool,
    /// True if the driver has failed to release the buffer to OpenGL, which must not use it then.
    pub is_kept: bool,
    /// The OpenCL events of the acquisitions (first element), and of the releases (second element).
    pub events: [Vec<Event>; 2],
}

/// A vertex buffer that is handed over to OpenCL for a frame. OpenCL acquires it once for all steps, or twice, for skinning and
/// for write-back.
pub(super) struct Handover<'a> {
    shares: &'a mut SharedBuffers,
    cl: &'a ClContext,
    shared: SharedVertices,
    /// True if it has not been verified yet that OpenGL sees what OpenCL writes into this buffer.
    pub(super) is_new: bool,
    /// True if the buffer is acquired twice, so that OpenGL has it between skinning and write-back.
    twice: bool,
    /// True while OpenCL has acquired the buffer.
    is_held: bool,
    /// True if the driver has failed to release the buffer to OpenGL.
    is_kept: bool,
    /// True once a step has been given the events of the first acquisition to wait for.
    is_first_used: bool,
    /// The OpenCL events of the acquisitions, and of the releases.
    events: [Vec<Event>; 2],
}

impl Handover<'_> {
    /// Returns the OpenCL object of the vertex buffer.
    pub(super) fn memory(&self) -> &Buffer {
        &self.shared.memory
    }

    /// Prepares the buffer for a simulation step: enqueues the acquisition or the release that must precede the step, if any.
    /// Returns the events for which the step has to wait; `None` if the buffer could not be acquired a second time, so that the
    /// step must not use it.
    pub(super) fn prepare_step(&mut self, step: StepId) -> Option<Vec<Event>> {
        if !std::mem::replace(&mut self.is_first_used, true) {
            return Some(self.events[0].clone());
        }
        if !self.twice {
            return Some(Vec::new());
        }
        if self.is_held && self.events[0].len() == 1 && step != StepId::Skin {
            self.release();
        }
        if self.is_held || step != StepId::Write {
            return Some(Vec::new());
        }
        if self.is_kept {
            return None;
        }
        let event =
            self.shared.hand_over(self.cl, true).inspect_err(|error| self.shares.refuse(error)).ok()?;
        self.is_held = true;
        self.events[0].push(event.clone());
        Some(vec![event])
    }

    /// Ends the handover: enqueues the release of the buffer to OpenGL, unless it is released already. Must be called also
    /// after an error.
    pub(super) fn end(mut self) -> HandoverResult {
        let is_written = self.is_held && self.release();
        HandoverResult { is_written, is_kept: self.is_kept, events: self.events }
    }

    /// Enqueues the release of the buffer to OpenGL; returns true if the driver accepts it.
    fn release(&mut self) -> bool {
        self.is_held = false;
        let released = self.shared.hand_over(self.cl, false).inspect_err(|error| self.shares.refuse(error));
        self.is_kept = released.is_err();
        self.events[1].extend(released);
        !self.is_kept
    }
}

impl SharedBuffers {
    /// Starts to hand over a buffer that OpenGL has lent: enqueues its acquisition by OpenCL. If `twice` is true, the buffer is
    /// released after skinning and acquired again for the write-back. Returns `None` if the acquisition fails, or an earlier
    /// one has failed.
    pub(super) fn begin<'a>(
        &'a mut self,
        cl: &'a ClContext,
        lent: &Arc<VertexBuffer>,
        twice: bool,
    ) -> Option<Handover<'a>> {
        if self.is_over {
            return None;
        }
        let known = self.buffers.iter().find(|shared| shared.belongs_to(lent)).cloned();
        let is_new = known.is_none();
        let acquired = known
            .map_or_else(|| SharedVertices::new(cl, lent), Ok)
            .and_then(|shared| shared.hand_over(cl, true).map(|event| (shared, event)));
        let (shared, event) = acquired.inspect_err(|error| self.refuse(error)).ok()?;
        if is_new && self.buffers.len() < MAX_BUFFERS {
            self.buffers.push(shared.clone());
        }
        let events = [vec![event], Vec::new()];
        Some(Handover {
            shares: self,
            cl,
            shared,
            is_new,
            twice,
            is_held: true,
            is_kept: false,
            is_first_used: false,
            events,
        })
    }

    /// Drops the OpenCL objects of all buffers, because the number of figures has changed and the new crowd has other buffers.
    pub(super) fn clear(&mut self) {
        self.buffers.clear();
    }

    /// Stops sharing buffers with OpenGL because a call of the driver has failed with this error.
    fn refuse(&mut self, error: &Error) {
        self.is_over = true;
        let why = format!("{} {}", error.what, error.why);
        self.refusal = Some(why.trim_end_matches('.').to_owned());
    }

    /// Returns the error if a driver's call for sharing a buffer has failed since the last call of this function; else `None`.
    pub(super) fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }
}
