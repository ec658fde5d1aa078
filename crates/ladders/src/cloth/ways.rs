//! A frame of all five steps, by what the host does in it besides launching. In: arrays where a rung has them. Out: the frame's
//! commands on its queues.

use std::ptr::NonNull;

use ocl::ffi::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_ONLY, cl_map_flags};

use super::codes::Way;
use super::host::Motion;
use super::kernels::{Memory, Program};
use super::room::OnDevice;
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{self, Answer, Buffer, ClContext, Event, Queue, enqueue_unmap, failed};
use opencl::guarded::Guarded;

const WHAT: &str = "The cloth could not be brought to the device and back.";

/// Puts a frame on the context's queue. Its events in order; whoever gets an error must wait for the queue before the arrays go.
///
/// # Errors
/// When the device fails.
pub(super) fn frame(
    cl: &ClContext,
    program: &Program,
    arrays: &mut OnDevice,
    motion: &Motion,
    army: usize,
) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let made = bring(cl, program.way(), arrays, &mut events).map_err(|e| failed(WHAT, &e))?;
    let [first, second, third, _] = arrays.inputs.each_ref().map(Guarded::buffer);
    let inputs = made.as_ref().map_or([first, second, third], |made| made.each_ref());
    let [pose, positions, previous] = inputs.map(Buffer::mem);
    let [moved, skinned] = arrays.between.each_ref().map(Guarded::memory);
    let vertices = arrays.output.memory();
    let mut drivers = Vec::new();
    for step in StepId::ALL {
        let later = matches!(step, StepId::Distances | StepId::Drive | StepId::Write);
        let positions = if later { moved } else { positions };
        let memory = Memory { pose, positions, previous, moved, skinned, vertices };
        let start = |queue: &Queue, after: &[Event]| program.start(queue, step, &memory, motion, army, after);
        let begun = match (step, &program.beside) {
            (StepId::Skin, Some(beside)) => {
                drivers = start(beside, &[])?;
                // Who waits for a command of another queue must know that it will begin.
                cl::flush(beside)?;
                drivers.clone()
            }
            // It is the first that needs what is skinned.
            (StepId::Drive, Some(_)) => start(&cl.queue, &drivers)?,
            _ => start(&cl.queue, &[])?,
        };
        events.extend(begun);
    }
    take(&cl.queue, program.way(), arrays, &mut events).map_err(|e| failed(WHAT, &e))?;
    Ok(events)
}

/// Brings pose and particles to the device. Memory that was made for this frame: kernels keep it.
fn bring(
    cl: &ClContext,
    way: Way,
    arrays: &OnDevice,
    events: &mut Vec<Event>,
) -> Answer<Option<[Buffer; 3]>> {
    let inputs = arrays.inputs.iter().map(Guarded::buffer).take(3);
    match (way, &arrays.host) {
        (Way::Written, Some(host)) => {
            for (to, bytes) in inputs.zip(&host.given) {
                // SAFETY: the bytes stay as they are until the queue was waited for.
                events.push(unsafe { to.enqueue_write(&cl.queue, bytes.as_ptr(), bytes.len(), false) }?);
            }
        }
        (Way::Copied, Some(host)) => {
            let [pose, positions, previous] = &host.given;
            let copied = |bytes: &[u8]| Buffer::copied(&cl.context, CL_MEM_READ_ONLY, bytes);
            return Ok(Some([copied(pose)?, copied(positions)?, copied(previous)?]));
        }
        (Way::InPlace, _) => {
            for buffer in inputs {
                lend(&cl.queue, buffer, CL_MAP_WRITE, events)?;
            }
        }
        _ => {}
    }
    Ok(None)
}

/// Brings the vertices to the host.
fn take(queue: &Queue, way: Way, arrays: &mut OnDevice, events: &mut Vec<Event>) -> Answer<()> {
    let from = arrays.output.buffer();
    if let Some(host) = &mut arrays.host {
        let (to, len) = (host.taken.as_mut_ptr(), host.taken.len());
        // SAFETY: there is room for so many bytes, which nobody touches until the queue was waited for.
        events.push(unsafe { from.enqueue_read(queue, to, len, false, &[]) }?);
    } else if way == Way::InPlace {
        lend(queue, from, CL_MAP_READ, events)?;
    }
    Ok(())
}

/// Lends a buffer to the host and takes it back at once: what the host would do in between is no part of the way.
fn lend(queue: &Queue, buffer: &Buffer, access: cl_map_flags, events: &mut Vec<Event>) -> Answer<()> {
    let (at, mapped): (NonNull<u8>, Event) = buffer.enqueue_map(queue, access, buffer.len(), false, &[])?;
    events.extend([mapped, enqueue_unmap(queue, buffer.mem(), at)?]);
    Ok(())
}
