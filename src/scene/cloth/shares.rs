//! OpenGL's vertex buffers, as the device has them. In: one that is lent for a frame. Out: its memory, acquired, and then given
//! back.

use std::sync::Arc;

use base::error::Error;
use engine::sharing::vertex_buffer::{SharedVertices, VertexBuffer};
use ladders::cloth::steps::StepId;
use opencl::cl::{Buffer, ClContext, Event};

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

/// How a frame's handovers ended.
#[derive(Default)]
pub(super) struct Ended {
    /// What was written last is OpenGL's.
    pub is_written: bool,
    /// The driver has not given the buffer back: it may be OpenCL's still, so OpenGL must leave it alone.
    pub is_kept: bool,
    /// The handovers to OpenCL, and those back.
    pub events: [Vec<Event>; 2],
}

/// A buffer that is handed to OpenCL for a frame, once for the whole chain or twice.
pub(super) struct Handover<'a> {
    shares: &'a mut Shares,
    cl: &'a ClContext,
    shared: SharedVertices,
    is_new: bool,
    /// OpenGL has it back between skinning and write-back.
    twice: bool,
    /// It is OpenCL's now.
    is_held: bool,
    /// The driver has refused to give it back.
    is_kept: bool,
    /// The first step has been told of the first handover.
    is_told: bool,
    /// The handovers to OpenCL, and those back.
    events: [Vec<Event>; 2],
}

impl Handover<'_> {
    /// The buffer, for OpenCL.
    pub(super) fn memory(&self) -> &Buffer {
        self.shared.memory()
    }

    /// Whether nobody knows yet that OpenGL sees what is written there.
    pub(super) fn is_to_be_tested(&self) -> bool {
        self.is_new
    }

    /// Puts what comes before a step on the queue; what the step waits for. `None` where the driver refuses a handover after the
    /// first one: the step must not use the buffer.
    pub(super) fn before(&mut self, step: StepId) -> Option<Vec<Event>> {
        if !std::mem::replace(&mut self.is_told, true) {
            return Some(self.events[0].clone());
        }
        if !self.twice {
            return Some(Vec::new());
        }
        if self.is_held && self.events[0].len() == 1 && step != StepId::Skin {
            self.give_back();
        }
        if self.is_held || step != StepId::Write {
            return Some(Vec::new());
        }
        if self.is_kept {
            return None;
        }
        let event = self.shared.acquire(self.cl).inspect_err(|error| self.shares.refuse(error)).ok()?;
        self.is_held = true;
        self.events[0].push(event.clone());
        Some(vec![event])
    }

    /// Puts the handover back to OpenGL on the queue, if it is not there yet, whatever went wrong before.
    pub(super) fn end(mut self) -> Ended {
        let is_written = self.is_held && self.give_back();
        Ended { is_written, is_kept: self.is_kept, events: self.events }
    }

    /// Whether the driver takes it.
    fn give_back(&mut self) -> bool {
        self.is_held = false;
        let released = self.shared.release(self.cl).inspect_err(|error| self.shares.refuse(error));
        self.is_kept = released.is_err();
        self.events[1].extend(released);
        !self.is_kept
    }
}

impl Shares {
    /// Puts the handover to OpenCL on the queue; `None` where that cannot be.
    pub(super) fn begin<'a>(
        &'a mut self,
        cl: &'a ClContext,
        lent: &Arc<VertexBuffer>,
        twice: bool,
    ) -> Option<Handover<'a>> {
        if self.is_over {
            return None;
        }
        let known = self.buffers.iter().find(|shared| shared.is_of(lent)).cloned();
        let is_new = known.is_none();
        let acquired = known
            .map_or_else(|| SharedVertices::new(cl, lent), Ok)
            .and_then(|shared| shared.acquire(cl).map(|event| (shared, event)));
        let (shared, event) = acquired.inspect_err(|error| self.refuse(error)).ok()?;
        if is_new && self.buffers.len() < MOST {
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
            is_told: false,
            events,
        })
    }

    /// Lets the buffers go: those of another army come.
    pub(super) fn forget(&mut self) {
        self.buffers.clear();
    }

    fn refuse(&mut self, error: &Error) {
        self.is_over = true;
        let why = format!("{} {}", error.what, error.why);
        self.refusal = Some(why.trim_end_matches('.').to_owned());
    }

    /// Why a buffer could not be shared, if that was so since the last call.
    pub(super) fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }
}
