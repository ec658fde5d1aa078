//! The arrays of a crowd in device memory, and a frame of all five steps with its transfers between host and device.

use std::ptr::NonNull;

use ocl::ffi::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_ONLY, cl_map_flags};

use super::codes::Transfer;
use super::host::Motion;
use super::kernels::{Program, StepRun};
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{self, Answer, Buffer, ClContext, Event, Queue, enqueue_unmap, failed};
use opencl::guarded::GuardedArray;

/// The arrays of a case in device memory, with one layout and one method of transfer.
#[derive(Debug)]
pub(super) struct DeviceArrays {
    pub inputs: [GuardedArray; 4],
    pub output: GuardedArray,
    /// The particles and skinned vertices, which are neither input nor output.
    pub intermediate: [GuardedArray; 2],
    /// The host memory for the transfers in each frame; `None` if the variant transfers nothing.
    pub host: Option<HostCopies>,
    /// True once the inputs were uploaded.
    pub loaded: bool,
}

/// Host memory for the data that is transferred in each frame, in the device's layout.
#[derive(Debug, Default)]
pub(super) struct HostCopies {
    /// The bytes of the pose, the positions, and the previous positions.
    pub input_bytes: [Vec<u8>; 3],
    pub vertex_bytes: Vec<u8>,
}

impl DeviceArrays {
    /// Enqueues all steps of a frame of `army` characters with its transfers; returns the events of the commands in order. After an
    /// error the caller must wait for the queue before it drops the arrays.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub(super) fn enqueue_frame(
        &mut self,
        cl: &ClContext,
        program: &Program,
        (motion, army): (&Motion, usize),
    ) -> Result<Vec<Event>> {
        let transfer_failed = |e| failed("The cloth could not be brought to the device and back.", &e);
        let (mut events, transfer) = (Vec::new(), program.scheme().transfer);
        let copies = self.upload(cl, transfer, &mut events).map_err(transfer_failed)?;
        let [first, second, third, _] = self.inputs.each_ref().map(GuardedArray::buffer);
        let inputs = copies.as_ref().map_or([first, second, third], |copies| copies.each_ref());
        let [pose, positions, previous] = inputs.map(Buffer::mem);
        let [moved, skinned] = self.intermediate.each_ref().map(GuardedArray::memory);
        let vertices = self.output.memory();
        let mut drivers = Vec::new();
        for step in StepId::ALL {
            let later = matches!(step, StepId::Distances | StepId::Drive | StepId::Write);
            let positions = if later { moved } else { positions };
            let memory = [pose, positions, previous, moved, skinned, vertices];
            let run = StepRun { queue: &cl.queue, memory, motion, army, after: &[] };
            let started = match (step, &program.skin_queue) {
                (StepId::Skin, Some(skin_queue)) => {
                    drivers = program.start(step, StepRun { queue: skin_queue, ..run })?;
                    // Another queue may wait for these commands only if this queue was flushed.
                    cl::flush(skin_queue)?;
                    drivers.clone()
                }
                // This is the first step that needs the skinned drivers.
                (StepId::Drive, Some(_)) => program.start(step, StepRun { after: &drivers, ..run })?,
                _ => program.start(step, run)?,
            };
            events.extend(started);
        }
        self.download(&cl.queue, transfer, &mut events).map_err(transfer_failed)?;
        Ok(events)
    }

    /// Uploads pose and particles for a frame. Returns the buffers that were created for this frame, kept alive by the kernels;
    /// `None` if the variant creates none.
    fn upload(
        &self,
        cl: &ClContext,
        transfer: Transfer,
        events: &mut Vec<Event>,
    ) -> Answer<Option<[Buffer; 3]>> {
        let inputs = self.inputs.iter().map(GuardedArray::buffer).take(3);
        match (transfer, &self.host) {
            (Transfer::Write, Some(host)) => {
                for (to, bytes) in inputs.zip(&host.input_bytes) {
                    // SAFETY: the bytes stay unchanged until the queue was waited for.
                    events.push(unsafe { to.enqueue_write(&cl.queue, bytes.as_slice(), false) }?);
                }
            }
            (Transfer::Copy, Some(host)) => {
                let [pose, positions, previous] = &host.input_bytes;
                let copied = |bytes: &[u8]| Buffer::copied(&cl.context, CL_MEM_READ_ONLY, bytes);
                return Ok(Some([copied(pose)?, copied(positions)?, copied(previous)?]));
            }
            (Transfer::InPlace, _) => {
                for buffer in inputs {
                    events.extend(map_and_unmap(&cl.queue, buffer, CL_MAP_WRITE)?);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Enqueues the transfer of the vertices to the host.
    fn download(&mut self, queue: &Queue, transfer: Transfer, events: &mut Vec<Event>) -> Answer<()> {
        let from = self.output.buffer();
        if let Some(host) = &mut self.host {
            let to = host.vertex_bytes.as_mut_slice();
            // SAFETY: the vector has this many bytes, which nobody accesses until the queue was waited for.
            events.push(unsafe { from.enqueue_read(queue, to, false) }?);
        } else if transfer == Transfer::InPlace {
            events.extend(map_and_unmap(queue, from, CL_MAP_READ)?);
        }
        Ok(())
    }
}

/// Enqueues the mapping of a buffer for the host and its immediate unmapping, so that only the transfer is measured. Returns the events
/// of both.
fn map_and_unmap(queue: &Queue, buffer: &Buffer, access: cl_map_flags) -> Answer<[Event; 2]> {
    let (at, mapped): (NonNull<u8>, Event) = buffer.enqueue_map(queue, access, buffer.len())?;
    Ok([mapped, enqueue_unmap(queue, buffer.mem(), at)?])
}
