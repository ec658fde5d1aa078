//! The test of sharing between OpenGL and OpenCL. In each of its cases, objects of one format exchange pseudo-random bytes in
//! one direction, with one order of calls.
//!
//! The start-up test ([`self_test`](super::self_test)) runs two of the cases. Drivers crash in some cases, so they run in a
//! child process first.

mod format;
mod object;

use glow::HasContext as _;
use opencl::cl::{ClContext, Event, Mem, Status, event_of_fence, hand_over, reason};
use opengl::names::{ContextThread, GlObject, delete_pending};
use serde::{Deserialize, Serialize};
use stats::named_values;

use super::GlAccess;
use base::random::Xorshift;
pub use format::Format;
use object::Object;

/// The sizes of a case's textures (width and height); buffers have three bytes for each pixel. All are odd, so that rows have
/// gaps if the driver aligns them.
const SIZES: [(u32, u32); 3] = [(1, 1), (67, 35), (641, 359)];

named_values! {
    /// The direction in which bytes are exchanged.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Direction {
        /// OpenGL writes, and OpenCL reads.
        ToCl = "OpenGL to OpenCL",
        /// OpenCL writes, and OpenGL reads.
        ToGl = "OpenCL to OpenGL",
    }
}

named_values! {
    /// The order of the calls that hand objects over.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Order {
        /// `glFinish` before objects are acquired, `clFinish` after they are released.
        Finish = "finish",
        /// `glFinish` before objects are acquired, `clWaitForEvents` for their release: the order that clreel uses for frames.
        Wait = "wait",
        /// OpenCL's acquire command waits for a fence of OpenGL (`clCreateEventFromGLsyncKHR`); for the release command, the host
        /// waits.
        Fence = "fence",
        /// The host waits for neither API: with `cl_khr_gl_event` the commands of one thread wait for each other.
        Implicit = "implicit",
        /// Like [`Order::Finish`], with all objects in one acquire and one release command.
        Several = "together",
        /// Like [`Order::Finish`], with another release and acquire in between.
        Repeated = "repeated",
    }
}

/// The result of a test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Every byte arrived.
    Ok,
    /// Bytes of an object differ.
    Wrong {
        /// The number of bytes that differ.
        wrong: usize,
        /// The number of bytes of the object.
        bytes: usize,
        /// The first byte that differs, as text: "byte 0 of pixel (3, 4) of 67×35 is 0x12, expected 0x34".
        first: String,
    },
    /// The driver does not support the case, for this reason: a sentence without its full stop.
    Unsupported(String),
    /// The case failed, for this reason: a sentence without its full stop.
    Failed(String),
}

/// A test case: objects of one format exchange bytes in one direction, with one order of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The format of the objects.
    pub format: Format,
    /// The direction in which the bytes are exchanged.
    pub direction: Direction,
    /// The order of the calls.
    pub order: Order,
}

impl Case {
    /// The first of [`Case::all`]. A driver that does not support this case shares nothing.
    pub const BASIC: Self =
        Self { format: Format::ALL[0], direction: Direction::ALL[0], order: Order::ALL[0] };

    /// Returns all cases: for each format both directions, each with every order.
    pub fn all() -> Vec<Self> {
        let both = Format::ALL.into_iter().flat_map(|format| Direction::ALL.map(|to| (format, to)));
        let every =
            both.flat_map(|(format, direction)| Order::ALL.map(|order| Self { format, direction, order }));
        every.collect()
    }

    /// Runs the case; `cl` must share with the OpenGL context of `gl`. Equal seeds give equal bytes.
    pub fn run(self, cl: &ClContext, gl: &GlAccess, seed: u32) -> Outcome {
        let lists_events = || cl.device.info.extensions.iter().any(|listed| listed == "cl_khr_gl_event");
        if matches!(self.order, Order::Fence | Order::Implicit) && !lists_events() {
            return Outcome::Unsupported("the device does not list cl_khr_gl_event".to_owned());
        }
        with_objects(cl, gl, (self.format, &SIZES), seed, |objects| {
            let group = if self.order == Order::Several { objects.len() } else { 1 };
            objects.chunks_mut(group).try_for_each(|objects| self.exchange(cl, gl, objects))
        })
    }

    /// Hands objects to OpenCL and back, and compares the bytes that one API reads with those that the other has written.
    pub(super) fn exchange(
        self,
        cl: &ClContext,
        gl: &GlAccess,
        objects: &mut [Object],
    ) -> Result<(), Outcome> {
        let noun = self.format.noun();
        let failed = |what: String| move |status| failed_call(&what, &status);
        let mut after = self.write_in_opengl(cl, gl, objects)?;
        let memory: Vec<Mem> = objects.iter().map(|object| object.in_opencl.mem().clone()).collect();
        let rounds = if self.order == Order::Repeated { 2 } else { 1 };
        let mut released = None;
        for round in 0..rounds {
            hand_over(&cl.queue, &memory, true, &std::mem::take(&mut after))
                .map_err(failed(format!("handing a {noun} to OpenCL")))?;
            for object in objects.iter_mut() {
                match self.direction {
                    Direction::ToCl => object.enqueue_read(&cl.queue, round),
                    Direction::ToGl => object.enqueue_write(&cl.queue, round + 1 == rounds),
                }
                .map_err(failed(format!("a transfer of a shared {noun}")))?;
            }
            let event = hand_over(&cl.queue, &memory, false, &[]);
            released = Some(event.map_err(failed(format!("handing a {noun} back to OpenGL")))?);
        }
        match (self.order, released) {
            (Order::Implicit, _) if self.direction == Direction::ToGl => cl.queue.flush(),
            (Order::Wait | Order::Fence, Some(event)) => event.wait_for(),
            _ => cl.queue.finish(),
        }
        .map_err(failed("waiting for OpenCL".to_owned()))?;
        objects.iter().try_for_each(|object| object.compare_all(gl, self.direction, rounds))
    }

    /// Makes OpenGL write the complements of the bytes to the objects, so that no byte is right by chance, and then the bytes
    /// themselves if OpenGL is the writer. Waits for OpenGL, except where the order of calls leaves that to the driver. Returns
    /// the events for which the acquire command must wait.
    fn write_in_opengl(
        self,
        cl: &ClContext,
        gl: &GlAccess,
        objects: &[Object],
    ) -> Result<Vec<Event>, Outcome> {
        let written = objects.iter().map(|object| (object.in_opengl.clone(), object.opengl_bytes.clone()));
        let written: Vec<_> = written.collect();
        let fence = gl.call(move |gl| {
            for (memory, bytes) in &written {
                memory.write(gl, &complement(bytes));
                if self.direction == Direction::ToCl {
                    memory.write(gl, bytes);
                }
            }
            // SAFETY: the context is current. The fence is deleted at the end of the case.
            unsafe {
                match self.order {
                    Order::Implicit => Ok(None),
                    Order::Fence => gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0).map(|fence| {
                        gl.flush();
                        ContextThread::here().delete_later(GlObject::Fence(fence));
                        Some(fence.0 as usize)
                    }),
                    _ => {
                        gl.finish();
                        Ok(None)
                    }
                }
            }
        });
        let event = fence.and_then(|fence| fence).map_err(Outcome::Failed)?.map(|fence| {
            // SAFETY: the fence belongs to the OpenGL context that `cl` shares with, and is deleted after the last command.
            unsafe { event_of_fence(&cl.device, &cl.context, fence as *mut _) }
        });
        let event = event.transpose().map_err(|status| failed_call("making an event of a fence", &status))?;
        Ok(event.into_iter().collect())
    }
}

/// Creates objects of a format, one of each size in [`SIZES`], and deletes them after `exchange` has used them. Returns the
/// outcome of `exchange`, or the reason why the objects cannot be created.
pub(super) fn with_objects(
    cl: &ClContext,
    gl: &GlAccess,
    (format, sizes): (Format, &[(u32, u32)]),
    seed: u32,
    exchange: impl FnOnce(&mut [Object]) -> Result<(), Outcome>,
) -> Outcome {
    let mut random = Xorshift::new(seed | 1);
    let objects = sizes.iter().map(|size| Object::new(cl, gl, format, *size, &mut random));
    let outcome = objects.collect::<Result<Vec<_>, _>>().and_then(|mut objects| {
        let outcome = exchange(&mut objects);
        // After an error, commands that use the objects' memory may still be in the queue.
        if cl.queue.finish().is_err() {
            std::mem::forget(objects);
        }
        outcome
    });
    let deleted = gl.call(|gl| delete_pending(gl)).map_err(Outcome::Failed);
    outcome.and(deleted).err().unwrap_or(Outcome::Ok)
}

/// Returns the outcome of a case in which an OpenCL call returned `status`; `what` is the subject of the sentence.
fn failed_call(what: &str, status: &Status) -> Outcome {
    Outcome::Failed(format!("{what} failed in a test: {}", without_stop(&reason(status))))
}

fn without_stop(sentence: &str) -> String {
    sentence.trim_end_matches('.').to_owned()
}

fn complement(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}
