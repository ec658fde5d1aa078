//! The cost of the host's share of a frame, by kind of memory, number of waits, frames in flight and queues. Prints Markdown
//! tables; exit code 1 if one of the ways gives other bytes.
//!
//! `cargo run --release --example host_side -- [--device SEL] [--size WxH,…] [--rounds N]`
//!
//! Each way takes a series of RGBA frames through the filter: the host writes a frame (*fill*, as a decoder does), the device
//! gets it (*up*), filters it (*kernel*) and hands it back (*back*), and the host reads it (*read*, as OpenGL's upload does).
//! The time of a frame is that of the series divided by the number of frames; where each call waits, so are those of the steps.
//! All ways take turns on the same frames, each after a short series that is not timed, so that its memory is in the caches.

use std::ptr::{self, NonNull};
use std::time::Instant;

use base::timing::{Series, ms_since};
use box_filter::pictures::noise;
use box_filter::{BuiltVariant, Extent, Plan, Scratch, named};
use clap::Parser;
use ocl::ffi;
use opencl::cl::{self, Buffer, ClContext, Event, Queue, enqueue_unmap};
use opencl::event::wait_in_queue;
use opencl::host_block::HostBlock;
use opencl::memory::Picture;
use opencl::process;
use opencl::sources::Sources;

type Failure = Box<dyn std::error::Error>;

const RADIUS: u32 = 7;
/// The number of frames in a series, and of different ones among them.
const SERIES: usize = 24;
const FRAMES: usize = 3;
const STEPS: [&str; 5] = ["fill", "up", "kernel", "back", "read"];

/// Measures the host's share of a frame.
#[derive(Parser)]
struct Arguments {
    /// Index, part of a name, cpu or gpu.
    #[arg(long)]
    device: Option<String>,
    /// Sizes of the frame, in pixels.
    #[arg(long, default_value = "1280x720,1920x1080,3840x2160", value_delimiter = ',')]
    size: Vec<String>,
    /// Series of each way.
    #[arg(long, default_value_t = 12)]
    rounds: usize,
}

/// The memory that the host writes and reads, and how it reaches the device.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Plain memory, written to and read from plain buffers.
    Plain,
    /// Memory that the driver allocated, written to and read from plain buffers.
    Pinned,
    /// Plain buffers, mapped.
    Mapped,
    /// Buffers with `ALLOC_HOST_PTR`, mapped.
    AllocMapped,
    /// Buffers with `USE_HOST_PTR`, mapped.
    UseMapped,
}

impl Memory {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain buffers; write and read plain memory",
            Self::Pinned => "plain buffers; write and read mapped `ALLOC_HOST_PTR`",
            Self::Mapped => "plain buffers, mapped",
            Self::AllocMapped => "`ALLOC_HOST_PTR`, mapped",
            Self::UseMapped => "`USE_HOST_PTR`, mapped",
        }
    }
}

/// The path of frames to the device and back.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    memory: Memory,
    /// Every call blocks.
    waits: bool,
    /// The number of frames in flight.
    slots: usize,
    /// A second queue for uploads.
    uploads: bool,
}

/// Returns all ways: each with every kind of memory that it can differ by.
fn ways() -> Vec<Way> {
    use Memory::{AllocMapped, Mapped, Pinned, Plain, UseMapped};
    let of = |name, memories: &[Memory], waits, slots, uploads| {
        memories.iter().map(|&memory| Way { name, memory, waits, slots, uploads }).collect::<Vec<_>>()
    };
    [
        of("each call waits", &[Plain, Pinned, Mapped, AllocMapped, UseMapped], true, 1, false),
        of("one wait per frame", &[Plain, Pinned, UseMapped], false, 1, false),
        of("two frames in flight", &[Pinned, UseMapped], false, 2, false),
        of("two frames in flight, second queue for uploads", &[Pinned, UseMapped], false, 2, true),
    ]
    .concat()
}

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments = Arguments::parse();
    let device = cl::select_device(&cl::list_devices(), arguments.device.as_deref())?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    let info = &device.info;
    println!("{} ({}, driver {}), fused, r={RADIUS}", info.name, info.version, info.driver);
    println!("{} series of {SERIES} frames, medians in ms a frame", arguments.rounds);
    let mut wrong = 0;
    for size in &arguments.size {
        let (width, height) = size.split_once('x').ok_or("--size is WIDTHxHEIGHT")?;
        let (width, height) = (width.parse()?, height.parse()?);
        let len = width as usize * height as usize * 4;
        let frames = noise(FRAMES * len).chunks_exact(len).map(<[u8]>::to_vec).collect();
        let filter = BuiltVariant::build(&cl, named("fused"))?;
        let bench = Bench { cl: &cl, uploads: cl.extra_queue()?, filter, size: (width, height), frames };
        wrong += bench.time_ways(size, arguments.rounds.max(1))?;
    }
    if wrong > 0 {
        eprintln!("{wrong} ways gave other bytes than the first one");
    }
    // PoCL may wait for its threads in its exit handlers.
    process::exit_now(u8::from(wrong > 0))
}

struct Bench<'a> {
    cl: &'a ClContext,
    uploads: Queue,
    filter: BuiltVariant,
    size: (u32, u32),
    frames: Vec<Vec<u8>>,
}

/// Milliseconds per frame of a series: its steps, then all.
type Taken = [f64; STEPS.len() + 1];

impl Bench<'_> {
    /// Times all ways and prints them; returns the number of ways with other bytes than the first one.
    fn time_ways(&self, size: &str, rounds: usize) -> Result<usize, Failure> {
        let with_slots = |way: Way| {
            // The kernels of all plans run on one in-order queue, so they can share scratch memory.
            let mut scratch = Scratch::new(self.cl);
            let slots = (0..way.slots).map(|_| Slot::new(self, way.memory, &mut scratch));
            Ok((way, slots.collect::<Result<Vec<_>, _>>()?, Vec::<Taken>::new()))
        };
        let mut ways = ways().into_iter().map(with_slots).collect::<Result<Vec<_>, Failure>>()?;
        let mut results: Vec<Vec<Vec<u8>>> = vec![vec![vec![0; self.frames[0].len()]; FRAMES]; ways.len()];
        for round in 0..=rounds {
            for position in 0..ways.len() {
                let at = (position + round) % ways.len();
                let (way, slots, taken) = &mut ways[at];
                self.series(way, slots, 2 * FRAMES, &mut results[at])?;
                let series = self.series(way, slots, SERIES, &mut results[at])?;
                // Drivers allocate memory at the first use.
                if round > 0 {
                    taken.push(series);
                }
            }
        }
        println!("\n| {size} | memory | {} | all |\n|---|---|{}", STEPS.join(" | "), "---:|".repeat(6));
        for (way, _, taken) in &ways {
            let median = |step: usize| {
                let samples: Vec<f64> = taken.iter().map(|t| t[step]).collect();
                Series::of(&samples).map_or(f64::NAN, |series| series.p50)
            };
            let steps = (0..STEPS.len()).map(|step| match way.waits {
                true => format!("{:.3} | ", median(step)),
                false => " | ".to_owned(),
            });
            let steps: String = steps.collect();
            println!("| {} | {} | {steps}{:.3} |", way.name, way.memory.name(), median(STEPS.len()));
        }
        Ok(results.iter().filter(|result| **result != results[0]).count())
    }

    /// Takes `count` frames through the filter; the last result of each frame is stored in `results`.
    fn series(
        &self,
        way: &Way,
        slots: &mut [Slot],
        count: usize,
        results: &mut [Vec<u8>],
    ) -> Result<Taken, Failure> {
        let queue = &self.cl.queue;
        let uploads = if way.uploads { &self.uploads } else { queue };
        let began = Instant::now();
        let (mut times, mut last) = ([0.0; STEPS.len() + 1], began);
        let mut ends = |step: usize| {
            times[step] += ms_since(last);
            last = Instant::now();
        };
        for n in 0..count + slots.len() {
            let slot = &mut slots[n % way.slots];
            if let Some(frame) = slot.frame.take() {
                slot.last.drain(..).try_for_each(|event| event.wait_for())?;
                results[frame].copy_from_slice(slot.output());
                ends(4);
            }
            if n >= count {
                continue;
            }
            slot.input().copy_from_slice(&self.frames[n % FRAMES]);
            ends(0);
            let upload = slot.upload(uploads, way.waits)?;
            if way.uploads {
                uploads.flush()?;
                wait_in_queue(queue, &upload)?;
            }
            ends(1);
            let _filtered = slot.plan.enqueue_all(queue)?;
            if way.waits {
                queue.finish()?;
            }
            ends(2);
            slot.download(queue, way.waits)?;
            queue.flush()?;
            slot.frame = Some(n % FRAMES);
            ends(3);
        }
        times[STEPS.len()] = ms_since(began);
        Ok(times.map(|ms| ms / count as f64))
    }
}

/// Memory for a frame in flight. Buffers are dropped before the memory in which they may lie.
struct Slot {
    plan: Plan,
    buffers: [Buffer; 2],
    /// The host's memory for input and output: mapped buffers, or blocks that are copied to and from the buffers.
    host: [NonNull<u8>; 2],
    is_mapped: bool,
    _blocks: Option<[HostBlock; 2]>,
    /// The last commands of the frame.
    last: Vec<Event>,
    frame: Option<usize>,
}

impl Slot {
    fn new(bench: &Bench, memory: Memory, scratch: &mut Scratch) -> Result<Self, Failure> {
        let (cl, (width, height)) = (bench.cl, bench.size);
        let len = bench.frames[0].len();
        let block =
            || if memory == Memory::Pinned { HostBlock::pinned(cl, len) } else { HostBlock::new(len) };
        let blocks = match memory {
            Memory::Mapped | Memory::AllocMapped => None,
            Memory::Plain | Memory::Pinned | Memory::UseMapped => Some([block()?, block()?]),
        };
        let host = blocks.as_ref().map_or([NonNull::dangling(); 2], |[from, to]| [from.start(), to.start()]);
        let buffer = |at: usize| match memory {
            // SAFETY: the block has this length, and outlives the buffer: it drops after it.
            Memory::UseMapped => unsafe { Buffer::in_place(&cl.context, host[at].as_ptr(), len) },
            Memory::AllocMapped => {
                Buffer::new(&cl.context, ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_ALLOC_HOST_PTR, len)
            }
            Memory::Plain | Memory::Pinned | Memory::Mapped => {
                Buffer::new(&cl.context, ffi::CL_MEM_READ_WRITE, len)
            }
        };
        let (src, dst) = (Picture::Buffer(buffer(0)?), Picture::Buffer(buffer(1)?));
        let plan = bench.filter.plan((&[&src], &dst), scratch, Extent::rgba((width, height), RADIUS))?;
        let (Picture::Buffer(input), Picture::Buffer(output)) = (src, dst) else {
            return Err("a picture is no buffer".into());
        };
        let is_mapped = !matches!(memory, Memory::Plain | Memory::Pinned);
        let (buffers, last) = ([input, output], Vec::new());
        let mut slot = Self { plan, buffers, host, is_mapped, _blocks: blocks, last, frame: None };
        if is_mapped {
            slot.download(&cl.queue, true)?;
            slot.last.clear();
            if memory == Memory::UseMapped && slot.host != host {
                return Err("USE_HOST_PTR: the driver maps another address".into());
            }
        }
        Ok(slot)
    }

    fn input(&mut self) -> &mut [u8] {
        // SAFETY: the host's memory has this length, and is the host's until `upload`.
        unsafe { std::slice::from_raw_parts_mut(self.host[0].as_ptr(), self.buffers[0].len()) }
    }

    fn output(&self) -> &[u8] {
        // SAFETY: the host's memory has this length, and is the host's once the events of `download` have ended.
        unsafe { std::slice::from_raw_parts(self.host[1].as_ptr(), self.buffers[1].len()) }
    }

    /// Hands the input to the device; returns the event of the last command.
    fn upload(&mut self, queue: &Queue, waits: bool) -> Result<Event, Failure> {
        let ([input, output], [from, to]) = (&self.buffers, self.host);
        let event = if self.is_mapped {
            let _input = enqueue_unmap(queue, input.mem(), from)?;
            enqueue_unmap(queue, output.mem(), to)?
        } else {
            // SAFETY: the block stays untouched until the events of `download` have ended.
            unsafe {
                input.enqueue_write(queue, ptr::slice_from_raw_parts(from.as_ptr(), input.len()), waits)
            }?
        };
        if waits {
            queue.finish()?;
        }
        Ok(event)
    }

    /// Requests the output, after the kernels.
    fn download(&mut self, queue: &Queue, waits: bool) -> Result<(), Failure> {
        let [input, output] = &self.buffers;
        if self.is_mapped {
            let flags = ffi::CL_MAP_WRITE_INVALIDATE_REGION;
            let (from, first) = input.enqueue_map(queue, flags, input.len())?;
            let (to, last) = output.enqueue_map(queue, ffi::CL_MAP_READ, output.len())?;
            if waits {
                last.wait_for()?;
            }
            self.host = [from, to];
            self.last.extend([first, last]);
        } else {
            let to = ptr::slice_from_raw_parts_mut(self.host[1].as_ptr(), output.len());
            // SAFETY: the block stays untouched until this event has ended.
            self.last.push(unsafe { output.enqueue_read(queue, to, waits) }?);
        }
        Ok(())
    }
}
