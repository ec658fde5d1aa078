//! A frame of all five steps with its transfers between host and device.

use std::ptr::NonNull;

use ocl::ffi::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_ONLY, cl_map_flags};

use super::buffers::DeviceArrays;
use super::codes::Transfer;
use super::host::Motion;
use super::kernels::{Program, StepBuffers};
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{self, Answer, Buffer, ClContext, Event, Queue, enqueue_unmap, failed};
use opencl::guarded::GuardedArray;

/// The first sentence of the error if a transfer cannot be enqueued.
const TRANSFER_FAILED: &str = "The cloth could not be brought to the device and back.";

/// Enqueues all steps of a frame with its transfers; returns the events of the commands in order. After an error the caller
/// must wait for the queue before it drops the arrays.
///
/// # Errors
/// Returns an error if the device fails.
pub(super) fn enqueue_frame(
    cl: &ClContext,
    program: &Program,
    arrays: &mut DeviceArrays,
    motion: &Motion,
    army: usize,
) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let copies =
        upload(cl, program.transfer(), arrays, &mut events).map_err(|e| failed(TRANSFER_FAILED, &e))?;
    let [first, second, third, _] = arrays.inputs.each_ref().map(GuardedArray::buffer);
    let inputs = copies.as_ref().map_or([first, second, third], |copies| copies.each_ref());
    let [pose, positions, previous] = inputs.map(Buffer::mem);
    let [moved, skinned] = arrays.intermediate.each_ref().map(GuardedArray::memory);
    let vertices = arrays.output.memory();
    let mut drivers = Vec::new();
    for step in StepId::ALL {
        let later = matches!(step, StepId::Distances | StepId::Drive | StepId::Write);
        let positions = if later { moved } else { positions };
        let memory = StepBuffers { pose, positions, previous, next_positions: moved, skinned, vertices };
        let start = |queue: &Queue, after: &[Event]| program.start(queue, step, &memory, motion, army, after);
        let started = match (step, &program.skin_queue) {
            (StepId::Skin, Some(skin_queue)) => {
                drivers = start(skin_queue, &[])?;
                // Waiting for another queue's command requires that it was flushed.
                cl::flush(skin_queue)?;
                drivers.clone()
            }
            // The first step that needs the skinned drivers.
            (StepId::Drive, Some(_)) => start(&cl.queue, &drivers)?,
            _ => start(&cl.queue, &[])?,
        };
        events.extend(started);
    }
    download(&cl.queue, program.transfer(), arrays, &mut events).map_err(|e| failed(TRANSFER_FAILED, &e))?;
    Ok(events)
}

/// Uploads pose and particles for a frame. Returns the buffers that were made for this frame, if any; the kernels keep them
/// alive.
fn upload(
    cl: &ClContext,
    transfer: Transfer,
    arrays: &DeviceArrays,
    events: &mut Vec<Event>,
) -> Answer<Option<[Buffer; 3]>> {
    let inputs = arrays.inputs.iter().map(GuardedArray::buffer).take(3);
    match (transfer, &arrays.host) {
        (Transfer::Write, Some(host)) => {
            for (to, bytes) in inputs.zip(&host.input_bytes) {
                // SAFETY: the bytes stay as they are until the queue was waited for.
                events.push(unsafe { to.enqueue_write(&cl.queue, bytes.as_ptr(), bytes.len(), false) }?);
            }
        }
        (Transfer::Copy, Some(host)) => {
            let [pose, positions, previous] = &host.input_bytes;
            let copied = |bytes: &[u8]| Buffer::copied(&cl.context, CL_MEM_READ_ONLY, bytes);
            return Ok(Some([copied(pose)?, copied(positions)?, copied(previous)?]));
        }
        (Transfer::InPlace, _) => {
            for buffer in inputs {
                map_and_unmap(&cl.queue, buffer, CL_MAP_WRITE, events)?;
            }
        }
        _ => {}
    }
    Ok(None)
}

/// Enqueues the transfer of the vertices to the host.
fn download(
    queue: &Queue,
    transfer: Transfer,
    arrays: &mut DeviceArrays,
    events: &mut Vec<Event>,
) -> Answer<()> {
    let from = arrays.output.buffer();
    if let Some(host) = &mut arrays.host {
        let (to, len) = (host.vertex_bytes.as_mut_ptr(), host.vertex_bytes.len());
        // SAFETY: the vector has so many bytes, which nobody touches until the queue was waited for.
        events.push(unsafe { from.enqueue_read(queue, to, len, false) }?);
    } else if transfer == Transfer::InPlace {
        map_and_unmap(queue, from, CL_MAP_READ, events)?;
    }
    Ok(())
}

/// Enqueues the mapping of a buffer for the host and its immediate unmapping, so that only the transfer is measured.
fn map_and_unmap(
    queue: &Queue,
    buffer: &Buffer,
    access: cl_map_flags,
    events: &mut Vec<Event>,
) -> Answer<()> {
    let (at, mapped): (NonNull<u8>, Event) = buffer.enqueue_map(queue, access, buffer.len(), false)?;
    events.extend([mapped, enqueue_unmap(queue, buffer.mem(), at)?]);
    Ok(())
}
