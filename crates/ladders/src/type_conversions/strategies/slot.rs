//! The device's side of the host strategies: kernels, and memory with a queue for each part that is under way.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use ocl::ffi;

use super::{CONVERSION, SHARE, WIDTHS};
use crate::type_conversions::device::options;
use base::error::Result;
use base::timing::log::{self, Event, Track};
use opencl::cl::{self, Buffer, ClContext, Queue, Status, enqueue_unmap, failed, flush};
use opencl::kernel::{Kernel, Value, enqueue};
use opencl::memory::new_memory;
use opencl::program;
use opencl::timer::{self, DeviceClock};

const WHAT: &str = "Numbers could not be converted on the device.";

fn error(status: Status) -> base::error::Error {
    failed(WHAT, &status)
}

/// Compiled kernels by their names.
#[derive(Debug)]
pub struct Kernels {
    kernels: Vec<(&'static str, Mutex<Kernel>)>,
    items: usize,
    /// Numbers that a work-item takes at once.
    each: usize,
    group: usize,
}

impl Kernels {
    pub(super) fn compile(
        cl: &ClContext,
        file: &'static str,
        names: &[&'static str],
        group: usize,
    ) -> Result<Self> {
        let mode = format!(
            "{} -DMODE={}",
            options(&cl.device.info, CONVERSION.from, CONVERSION.to),
            CONVERSION.mode()
        );
        let program = program::build(cl, file, &program::source(file)?, &mode)?;
        let kernel = |name: &&'static str| {
            let kernel = Kernel::new(&program, name).map_err(error)?;
            Ok((*name, Mutex::new(kernel)))
        };
        let kernels = names.iter().map(kernel).collect::<Result<_>>()?;
        let units = cl.device.info.units.max(1) as usize;
        let items = if cl.is_cpu() { units * 4 } else { units * 2048 };
        let (group, each) = (group.max(1), if names == ALL_WIDTHS { 16 } else { 1 });
        Ok(Self { kernels, items: items.next_multiple_of(group), each, group })
    }
}

/// The kernels of one for all widths.
pub(super) const ALL_WIDTHS: &[&str] = &["check_all"];

/// Memory for the parts that are under way at once, and the counts.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) slots: [Slot; 2],
    /// Two small ones for each thread, without results.
    pub(super) crew: Vec<Slot>,
    /// How many results are right, for each width.
    right: Buffer,
}

/// Memory for one part, on a queue of its own: what is mapped for one waits for nothing of the other.
#[derive(Debug)]
pub(super) struct Slot {
    queue: Queue,
    pub(super) input: Buffer,
    pub(super) wanted: Buffer,
    pub(super) outputs: Vec<Buffer>,
}

/// Memory of the device that the host can reach.
pub(super) struct Mapped {
    at: NonNull<u8>,
    event: cl::Event,
    bytes: usize,
}

impl Device {
    /// For parts of so many numbers, and for as many threads.
    pub(super) fn new(cl: &ClContext, numbers: usize, threads: usize) -> Result<Self> {
        let new = |bytes: usize| {
            let buffer = Buffer::new(&cl.context, new_memory(cl), bytes);
            buffer.map_err(|e| failed("Memory for conversions could not be had on the device.", &e))
        };
        let slot = |numbers: usize, outputs: usize| {
            let (queue, bytes) = (cl.extra_queue()?, 4 * numbers);
            let outputs = (0..outputs).map(|_| new(bytes)).collect::<Result<_>>()?;
            Ok(Slot { input: new(bytes)?, wanted: new(bytes)?, outputs, queue })
        };
        let two = || Ok([slot(numbers, WIDTHS.len())?, slot(numbers, WIDTHS.len())?]);
        let crew = (0..2 * threads).map(|_| slot(numbers.min(SHARE), 0)).collect::<Result<_>>()?;
        Ok(Self { slots: two()?, crew, right: new(4 * WIDTHS.len())? })
    }

    /// Nothing is counted yet.
    pub(super) fn clear(&self) -> Result<()> {
        let buffer = &self.right;
        buffer.write(&self.slots[0].queue, &vec![0; buffer.len()]).map_err(error)
    }

    /// What was counted, when all is done.
    pub(super) fn counted(&self) -> Result<[u32; 6]> {
        self.slots.iter().chain(&self.crew).try_for_each(Slot::finish)?;
        let mut bytes = [0; 24];
        self.right.read(&self.slots[0].queue, &mut bytes[..]).map_err(error)?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(std::array::from_fn(|at| u32::from_le_bytes(words[at])))
    }

    /// The memory for the counts, as a kernel's argument.
    pub(super) fn right(&self) -> &Buffer {
        &self.right
    }
}

impl Slot {
    /// Copies to the device, and waits.
    pub(super) fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        traced("write", || to.write(&self.queue, bytes).map_err(error))
    }

    /// Copies from the device, and waits.
    pub(super) fn read(&self, from: &Buffer, bytes: &mut [u8]) -> Result<()> {
        traced("read", || from.read(&self.queue, bytes).map_err(error))
    }

    /// Enqueues a kernel over so many numbers. Its arguments are memory, then numbers.
    pub(super) fn run(
        &self,
        kernels: &Kernels,
        name: &str,
        memory: &[&Buffer],
        numbers: &[u32],
    ) -> Result<Option<cl::Event>> {
        let Some((_, kernel)) = kernels.kernels.iter().find(|(of, _)| *of == name) else { return Ok(None) };
        let kernel = kernel.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = 0;
        for buffer in memory {
            kernel.set(index, buffer.mem()).map_err(error)?;
            index += 1;
        }
        for number in numbers {
            kernel.set(index, Value::Uint(*number)).map_err(error)?;
            index += 1;
        }
        // No more of them than have something to do: each adds to the counts.
        let useful = numbers.first().map_or(1, |count| (*count as usize).div_ceil(kernels.each).max(1));
        let items = kernels.items.min(useful.next_multiple_of(kernels.group));
        let (items, group) = ([items, 1, 1], [kernels.group, 1, 1]);
        // SAFETY: the arguments are set, and the kernels look at the count.
        Ok(Some(unsafe { enqueue(&self.queue, &kernel, 1, items, group) }.map_err(error)?))
    }

    /// The device begins.
    pub(super) fn flush(&self) -> Result<()> {
        flush(&self.queue)
    }

    /// Waits for all that was enqueued.
    pub(super) fn finish(&self) -> Result<()> {
        traced("wait", || {
            self.queue.finish().map_err(|e| failed("The device failed while it was timed.", &e))
        })
    }

    /// Enqueues a mapping of so many bytes of results.
    pub(super) fn map(&self, results: &Buffer, bytes: usize) -> Result<Mapped> {
        self.mapped(results, ffi::CL_MAP_READ, bytes)
    }

    /// The same of memory that is written anew.
    pub(super) fn open(&self, buffer: &Buffer, bytes: usize) -> Result<Mapped> {
        self.mapped(buffer, ffi::CL_MAP_WRITE_INVALIDATE_REGION, bytes)
    }

    fn mapped(&self, buffer: &Buffer, flags: ffi::cl_map_flags, bytes: usize) -> Result<Mapped> {
        let mapped = buffer.enqueue_map(&self.queue, flags, bytes, false, &[]);
        let (at, event) = mapped.map_err(error)?;
        Ok(Mapped { at, event, bytes })
    }

    /// Enqueues the end of either.
    pub(super) fn unmap(&self, buffer: &Buffer, mapped: &Mapped) -> Result<()> {
        enqueue_unmap(&self.queue, buffer.mem(), mapped.at).map(drop).map_err(error)
    }
}

impl Mapped {
    /// Waits until the memory can be touched.
    pub(super) fn wait(&self) -> Result<()> {
        traced("wait", || self.event.wait_for().map_err(error))
    }

    /// The bytes; only after [`Mapped::wait`].
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has so many bytes, and nobody else touches them until it ends.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }
}

/// Does something, and records when.
pub(super) fn traced<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    log::record(|| [Event::since(what, began)]);
    done
}

/// Records when the device did what was enqueued between these times.
pub(super) fn trace_device(events: &[cl::Event], enqueued: (Instant, Instant)) {
    log::record(|| {
        let mut clock = DeviceClock::default();
        let first = events.first().filter(|first| clock.look(first, enqueued.0, enqueued.1).is_ok());
        let told = first
            .into_iter()
            .flat_map(|_| events)
            .filter_map(|event| timer::known_span_ns(event, Some(enqueued.0.elapsed())));
        let spans: Vec<Event> = told
            .filter_map(|(from, to)| Some((clock.instant(from)?, clock.instant(to)?)))
            .map(|(from, to)| Event::span(Track::Device, "convert", from, to))
            .collect();
        spans
    });
}
