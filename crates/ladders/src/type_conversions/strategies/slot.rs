//! The device memory of the host strategies, which are the ways in which the host keeps the device busy: slots, each with a
//! queue and the memory for one part of the numbers.

use std::ptr::NonNull;
use std::time::Instant;

use ocl::ffi;
use parking_lot::Mutex;

use super::{Launch, Program, THREAD_PART_NUMBERS, WIDTHS};
use base::device::DeviceKind;
use base::error::Result;
use base::timing::log::{self, Event};
use compute::plan::Operands;
use compute::sample::device_spans;
use opencl::cl::{self, Answer, Buffer, ClContext, Mem, Queue, Status, enqueue_unmap, failed};
use opencl::memory::allocation_flags;

pub(super) fn conversion_error(status: Status) -> base::error::Error {
    failed("Numbers could not be converted on the device.", &status)
}

/// The device memory of the host strategies: slots for the parts of the numbers that are in flight at the same time, and the
/// counts of right results.
#[derive(Debug)]
pub(super) struct DeviceBuffers {
    pub slots: [Slot; 2],
    /// Two smaller slots for each thread, without buffers for results, for the strategy in which each thread generates its own
    /// parts of the numbers.
    pub thread_slots: Vec<Slot>,
    right: Buffer,
}

/// Device memory for one part of the numbers, with a queue of its own, so that its mappings do not wait for other parts.
#[derive(Debug)]
pub(super) struct Slot {
    pub queue: Queue,
    /// The kind of the device, and its number of compute units.
    device: (DeviceKind, u32),
    pub input: Buffer,
    pub wanted: Buffer,
    pub outputs: Vec<Buffer>,
    /// The counts of right results, one for each vector width, which all slots share.
    right: Buffer,
}

/// A mapping of device memory into host memory.
pub(super) struct Mapping {
    at: NonNull<u8>,
    event: cl::Event,
    bytes: usize,
}

impl DeviceBuffers {
    /// Allocates slots for parts of `numbers` numbers, and smaller slots for `threads` threads.
    pub(super) fn new(cl: &ClContext, numbers: usize, threads: usize) -> Result<Self> {
        let new = |bytes: usize| {
            let buffer = Buffer::new(&cl.context, allocation_flags(cl), bytes);
            buffer.map_err(|e| failed("Memory for conversions could not be had on the device.", &e))
        };
        let right = new(4 * WIDTHS.len())?;
        let device = (cl.device.info.kind, cl.device.info.units);
        let slot = |numbers: usize, outputs: usize| {
            let (queue, bytes) = (cl.extra_queue()?, 4 * numbers);
            let outputs = (0..outputs).map(|_| new(bytes)).collect::<Result<_>>()?;
            Ok(Slot { input: new(bytes)?, wanted: new(bytes)?, outputs, queue, device, right: right.clone() })
        };
        let two = || Ok([slot(numbers, WIDTHS.len())?, slot(numbers, WIDTHS.len())?]);
        let thread_slots =
            (0..2 * threads).map(|_| slot(numbers.min(THREAD_PART_NUMBERS), 0)).collect::<Result<_>>()?;
        Ok(Self { slots: two()?, thread_slots, right })
    }

    /// Sets the counts of right results to 0.
    pub(super) fn clear(&self) -> Result<()> {
        let buffer = &self.right;
        buffer.write(&self.slots[0].queue, &vec![0; buffer.len()]).map_err(conversion_error)
    }

    /// Waits for all slots and returns the count of right results for each width.
    pub(super) fn read_counts(&self) -> Result<[u32; 6]> {
        self.slots.iter().chain(&self.thread_slots).try_for_each(Slot::finish)?;
        let mut bytes = [0; 24];
        self.right.read(&self.slots[0].queue, &mut bytes[..]).map_err(conversion_error)?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(std::array::from_fn(|at| u32::from_le_bytes(words[at])))
    }
}

impl Slot {
    /// Enqueues those of a variant's kernels whose indices are in `at`, for the first `count` numbers of the slot.
    pub(super) fn run(
        &self,
        program: &Mutex<Program>,
        at: impl Iterator<Item = usize>,
        count: usize,
    ) -> Result<Vec<cl::Event>> {
        let program = program.lock();
        let own = [&self.input, &self.wanted, &self.right];
        let memory: Vec<&Mem> = own.into_iter().chain(&self.outputs).map(Buffer::mem).collect();
        let on = Operands { memory: &memory, scratch: &[] };
        let launch = Launch { count, device: self.device };
        let one = |at| program.bind(at, (on, 0), &launch)?.enqueue(&self.queue, &[]);
        at.map(one).collect::<Answer<_>>().map_err(conversion_error)
    }

    /// Records in the trace when the device ran these commands of the slot's queue. `enqueued` has the times before and after
    /// they were enqueued.
    pub(super) fn trace_device(&self, events: &[cl::Event], enqueued: (Instant, Instant)) {
        log::record(|| device_spans(self.queue.clock(), "convert", events, enqueued));
    }

    /// Waits for all commands in the slot's queue.
    pub(super) fn finish(&self) -> Result<()> {
        trace("wait", || self.queue.finish().map_err(|e| failed("The device failed while it was timed.", &e)))
    }

    /// Enqueues the mapping of the first `bytes` bytes of `buffer` with these flags.
    pub(super) fn map(&self, buffer: &Buffer, flags: ffi::cl_map_flags, bytes: usize) -> Result<Mapping> {
        let mapped = buffer.enqueue_map(&self.queue, flags, bytes);
        let (at, event) = mapped.map_err(conversion_error)?;
        Ok(Mapping { at, event, bytes })
    }

    /// Enqueues the unmapping of `buffer`, which ends the mapping `mapped`.
    pub(super) fn unmap(&self, buffer: &Buffer, mapped: &Mapping) -> Result<()> {
        enqueue_unmap(&self.queue, buffer.mem(), mapped.at).map(drop).map_err(conversion_error)
    }
}

impl Mapping {
    /// Waits until the mapped memory may be accessed, and returns its bytes.
    pub(super) fn wait(&mut self) -> Result<&mut [u8]> {
        trace("wait", || self.event.wait_for().map_err(conversion_error))?;
        // SAFETY: the mapping is complete and has this many bytes, and nobody else accesses them until it ends.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) })
    }
}

/// Runs `work` and records its time in the trace under the name `what`.
pub(super) fn trace<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    log::record(|| [Event::since(what, began)]);
    done
}
