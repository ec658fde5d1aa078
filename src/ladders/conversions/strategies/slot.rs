//! The device's side of the host strategies: kernels, and memory with a queue for each of two parts that are under way.

use std::time::Instant;

use ocl::core::{self, ArgVal, MapFlags};

use super::{CONVERSION, WIDTHS};
use crate::error::Result;
use crate::gpu::cl::{ClContext, failed, flush};
use crate::gpu::kernel::enqueue;
use crate::gpu::memory::new_memory;
use crate::gpu::program;
use crate::gpu::timer::{self, DeviceClock};
use crate::ladders::conversions::device::options;
use crate::timing::log::{self, Event, Track};

const WHAT: &str = "Numbers could not be converted on the device.";

fn error(e: core::Error) -> crate::error::Error {
    failed(WHAT, &e.into())
}

/// Compiled kernels by their names.
#[derive(Debug)]
pub struct Kernels {
    kernels: Vec<(&'static str, core::Kernel)>,
    items: usize,
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
        let kernel = |name: &&'static str| Ok((*name, core::create_kernel(&program, *name).map_err(error)?));
        let kernels = names.iter().map(kernel).collect::<Result<_>>()?;
        let units = cl.device.info.units as usize;
        let items = if cl.is_cpu() { units * 4 } else { units * 2048 };
        Ok(Self { kernels, items: items.next_multiple_of(group.max(1)), group: group.max(1) })
    }
}

/// Memory for two parts that are under way at once, and the counts.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) slots: [Slot; 2],
    /// How many results are right, for each width.
    right: ocl::Buffer<u8>,
}

/// Memory for one part, on a queue of its own: what is mapped for one waits for nothing of the other.
#[derive(Debug)]
pub(super) struct Slot {
    queue: ocl::Queue,
    pub(super) input: ocl::Buffer<u8>,
    pub(super) wanted: ocl::Buffer<u8>,
    pub(super) outputs: Vec<ocl::Buffer<u8>>,
}

/// Memory of the device that the host can reach.
pub(super) struct Mapped {
    map: core::MemMap<u8>,
    event: ocl::Event,
    bytes: usize,
}

impl Device {
    /// For parts of so many numbers.
    pub(super) fn new(cl: &ClContext, numbers: usize) -> Result<Self> {
        let new = |bytes: usize| {
            // SAFETY: no host memory is involved.
            let buffer = unsafe { ocl::Buffer::<u8>::new(&cl.context, new_memory(cl), bytes, None) };
            buffer.map_err(|e| failed("Memory for conversions could not be had on the device.", &e))
        };
        let slot = || {
            let outputs = WIDTHS.iter().map(|_| new(4 * numbers)).collect::<Result<_>>()?;
            Ok(Slot {
                queue: cl.extra_queue()?,
                input: new(4 * numbers)?,
                wanted: new(4 * numbers)?,
                outputs,
            })
        };
        Ok(Self { slots: [slot()?, slot()?], right: new(4 * WIDTHS.len())? })
    }

    /// Nothing is counted yet.
    pub(super) fn clear(&self) -> Result<()> {
        let buffer = &self.right;
        buffer
            .cmd()
            .write(&vec![0; buffer.len()])
            .queue(&self.slots[0].queue)
            .enq()
            .map_err(|e| failed(WHAT, &e))
    }

    /// What was counted, when all is done.
    pub(super) fn counted(&self) -> Result<[u32; 6]> {
        self.slots.iter().try_for_each(Slot::finish)?;
        let mut bytes = [0; 24];
        self.right
            .cmd()
            .read(&mut bytes[..])
            .queue(&self.slots[0].queue)
            .enq()
            .map_err(|e| failed(WHAT, &e))?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(std::array::from_fn(|at| u32::from_le_bytes(words[at])))
    }

    /// The memory for the counts, as a kernel's argument.
    pub(super) fn right(&self) -> &ocl::Buffer<u8> {
        &self.right
    }
}

impl Slot {
    /// Copies to the device, and waits.
    pub(super) fn write(&self, to: &ocl::Buffer<u8>, bytes: &[u8]) -> Result<()> {
        traced("write", || to.cmd().write(bytes).queue(&self.queue).enq().map_err(|e| failed(WHAT, &e)))
    }

    /// Copies from the device, and waits.
    pub(super) fn read(&self, from: &ocl::Buffer<u8>, bytes: &mut [u8]) -> Result<()> {
        traced("read", || from.cmd().read(bytes).queue(&self.queue).enq().map_err(|e| failed(WHAT, &e)))
    }

    /// Enqueues a kernel over so many numbers. Its arguments are memory, then numbers.
    pub(super) fn run(
        &self,
        kernels: &Kernels,
        name: &str,
        memory: &[&ocl::Buffer<u8>],
        numbers: &[u32],
    ) -> Result<Option<ocl::Event>> {
        let Some((_, kernel)) = kernels.kernels.iter().find(|(of, _)| *of == name) else { return Ok(None) };
        let mut index = 0;
        for buffer in memory {
            core::set_kernel_arg(kernel, index, ArgVal::mem(buffer.as_core())).map_err(error)?;
            index += 1;
        }
        for number in numbers {
            core::set_kernel_arg(kernel, index, ArgVal::scalar(number)).map_err(error)?;
            index += 1;
        }
        let (items, group) = ([kernels.items, 1, 1], [kernels.group, 1, 1]);
        // SAFETY: the arguments are set, and the kernels look at the count.
        Ok(Some(unsafe { enqueue(&self.queue, kernel, 1, items, group) }.map_err(error)?))
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

    /// Enqueues a mapping of so many bytes, to read or to write all of them anew.
    pub(super) fn map(&self, buffer: &ocl::Buffer<u8>, bytes: usize, reads: bool) -> Result<Mapped> {
        let flags = if reads { MapFlags::new().read() } else { MapFlags::new().write_invalidate_region() };
        let mut event = core::Event::null();
        // SAFETY: the buffer has so many bytes, and they are touched only when the event is complete.
        let map = unsafe {
            core::enqueue_map_buffer::<u8, _, _, _>(
                &self.queue,
                buffer.as_core(),
                false,
                flags,
                0,
                bytes,
                None::<core::Event>,
                Some(&mut event),
            )
        }
        .map_err(error)?;
        Ok(Mapped { map, event: event.into(), bytes })
    }

    /// Enqueues its end.
    pub(super) fn unmap(&self, buffer: &ocl::Buffer<u8>, mapped: &Mapped) -> Result<()> {
        let none = (None::<core::Event>, None::<&mut core::Event>);
        core::enqueue_unmap_mem_object(&self.queue, buffer.as_core(), &mapped.map, none.0, none.1)
            .map_err(error)
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
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr(), self.bytes) }
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
pub(super) fn trace_device(events: &[ocl::Event], enqueued: (Instant, Instant)) {
    log::record(|| {
        let mut clock = DeviceClock::default();
        let first = events.first().filter(|first| clock.look(first, enqueued.0, enqueued.1).is_ok());
        let told = first.into_iter().flat_map(|_| events).filter_map(|event| timer::span_ns(event).ok());
        let spans: Vec<Event> = told
            .filter_map(|(from, to)| Some((clock.instant(from)?, clock.instant(to)?)))
            .map(|(from, to)| Event::span(Track::Device, "convert", from, to))
            .collect();
        spans
    });
}
