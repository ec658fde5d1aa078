//! Use of OpenGL's vertex buffers in OpenCL: a buffer is acquired by OpenCL for a frame, then released to OpenGL.

use std::sync::Arc;

use base::error::Error;
use engine::sharing::vertex_buffer::{SharedVertices, VertexBuffer};
use ladders::cloth::steps::StepId;
use opencl::cl::{ClContext, Event};

/// The maximum number of vertex buffers whose OpenCL objects are kept: the two buffers of a crowd of figures, and two more for
/// buffers that replace a lent one that was not given back.
const MAX_BUFFERS: usize = 4;

/// The OpenCL objects of the vertex buffers that OpenGL has lent to one device.
#[derive(Default)]
pub(super) struct SharedBuffers {
    /// The OpenCL objects. They are dropped when the number of figures changes, since the new crowd has other buffers.
    pub(super) buffers: Vec<SharedVertices>,
    /// True once a call of the driver has failed. From then on, no buffer is acquired any more.
    is_over: bool,
    /// The error of a driver's call for sharing a buffer that has failed since the last report; else `None`.
    pub(super) refusal: Option<String>,
}

/// A vertex buffer that is handed over to OpenCL for a frame. OpenCL acquires it once for all steps, or twice, for skinning and
/// for write-back.
pub(super) struct Handover<'a> {
    shares: &'a mut SharedBuffers,
    cl: &'a ClContext,
    /// The OpenCL object of the vertex buffer.
    pub(super) shared: SharedVertices,
    /// True if it has not been verified yet that OpenGL sees what OpenCL writes into this buffer.
    pub(super) is_new: bool,
    /// True if the buffer is acquired twice, so that OpenGL has it between skinning and write-back.
    twice: bool,
    /// True while OpenCL has acquired the buffer.
    is_held: bool,
    /// True if the driver has failed to release the buffer to OpenGL.
    is_kept: bool,
    /// The events of acquisitions for which the next step has to wait.
    pending: Vec<Event>,
    /// The OpenCL events of the acquisitions, and of the releases.
    events: [Vec<Event>; 2],
}

impl Handover<'_> {
    /// Prepares the buffer for a simulation step: enqueues the acquisition or the release that must precede the step, if any.
    /// Returns the events for which the step has to wait; `None` if the buffer could not be acquired a second time, so that the
    /// step must not use it.
    pub(super) fn prepare_step(&mut self, step: StepId) -> Option<Vec<Event>> {
        if self.twice && self.is_held && self.events[0].len() == 1 && step != StepId::Skin {
            self.release();
        }
        if !self.is_held && step == StepId::Write {
            if self.is_kept {
                return None;
            }
            let event =
                self.shared.hand_over(self.cl, true).inspect_err(|error| self.shares.refuse(error)).ok()?;
            self.is_held = true;
            self.events[0].push(event.clone());
            self.pending.push(event);
        }
        Some(std::mem::take(&mut self.pending))
    }

    /// Ends the handover: enqueues the release of the buffer to OpenGL, unless it is released already. Must be called also
    /// after an error. Returns three values: true if the buffer was released with the frame's vertices in it; true if the
    /// driver has failed to release it, so that OpenGL must not use it; and the OpenCL events of the acquisitions and of the
    /// releases.
    pub(super) fn end(mut self) -> (bool, bool, [Vec<Event>; 2]) {
        let is_written = self.is_held && self.release();
        (is_written, self.is_kept, self.events)
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
        Some(Handover {
            shares: self,
            cl,
            shared,
            is_new,
            twice,
            is_held: true,
            is_kept: false,
            pending: vec![event.clone()],
            events: [vec![event], Vec::new()],
        })
    }

    /// Stops sharing buffers with OpenGL because a call of the driver has failed with this error.
    fn refuse(&mut self, error: &Error) {
        self.is_over = true;
        let why = format!("{} {}", error.what, error.why);
        self.refusal = Some(why.trim_end_matches('.').to_owned());
    }
}
