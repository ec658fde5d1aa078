//! The effect of each improvement of the host's share of a frame: no blocking calls, host memory that the device can
//! use, two frames in flight, a queue for uploads, or one out-of-order queue with events; and a kernel that does two
//! steps at once. Prints Markdown tables; exit code 1 if one of the ways gives other bytes.
//!
//! `cargo run --release --example host_side -- [--device SEL] [--size WxH,…] [--rounds N]`
//!
//! Each way takes a series of RGBA frames through the filter: the host writes a frame (as a decoder does), the device
//! uploads, filters and downloads it, the host reads it (as OpenGL's upload does). The time of a frame is that of the
//! series divided by the number of frames. All ways take turns on the same frames, each after a short series that is not
//! timed, so that its memory is in the caches.

use std::ptr::NonNull;
use std::time::Instant;

use base::timing::{Series, ms_since};
use box_filter::VariantId;
use box_filter::color_kernels::{Converter, Corrector, KernelCache, PlaneBlock};
use box_filter::pictures::noise;
use box_filter::{BuiltVariant, Plan, Scratch};
use clap::Parser;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use ladder::measure;
use ocl::ffi;
use opencl::cl::{self, Buffer, ClContext, Event, Queue, enqueue_unmap};
use opencl::event::wait_in_queue;
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage};
use opencl::process;
use opencl::sources::Sources;
use opencl::timer;
use video::color::{Correction, RgbaColors};

type Failure = Box<dyn std::error::Error>;

const RADIUS: u32 = 7;
/// The number of frames in a series, and of different ones among them.
const SERIES: usize = 24;
const FRAMES: usize = 3;

/// Measures each improvement of the host's share of a frame.
#[derive(Parser)]
struct Arguments {
    /// Index, part of a name, cpu or gpu.
    #[arg(long)]
    device: Option<String>,
    /// Sizes of the frame, in pixels.
    #[arg(long, default_value = "1280x720,3840x2160", value_delimiter = ',')]
    size: Vec<String>,
    /// Series of each way.
    #[arg(long, default_value_t = 12)]
    rounds: usize,
}

/// The way of frames to the device and back.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    memory: Memory,
    /// Every call blocks.
    waits: bool,
    /// The number of frames in flight.
    slots: usize,
    queues: Queues,
}

#[derive(Clone, Copy, PartialEq)]
enum Queues {
    /// One in-order queue.
    One,
    /// A second in-order queue for uploads.
    Two,
    /// One out-of-order queue: each command waits for the events of those that it needs.
    OutOfOrder,
}

#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Write and read, from and to plain memory.
    Plain,
    /// Write and read, from and to memory that the driver allocated.
    Pinned,
    /// The kernels' buffers lie in host memory, and are mapped.
    Mapped,
}

const fn way(name: &'static str, memory: Memory, waits: bool, slots: usize, queues: Queues) -> Way {
    Way { name, memory, waits, slots, queues }
}

const WAYS: [Way; 12] = [
    way("each call waits; plain memory", Memory::Plain, true, 1, Queues::One),
    way("… pinned memory", Memory::Pinned, true, 1, Queues::One),
    way("… mapped", Memory::Mapped, true, 1, Queues::One),
    way("one wait a frame; plain memory", Memory::Plain, false, 1, Queues::One),
    way("… pinned memory", Memory::Pinned, false, 1, Queues::One),
    way("… mapped", Memory::Mapped, false, 1, Queues::One),
    way("two frames on their way; pinned memory", Memory::Pinned, false, 2, Queues::One),
    way("… mapped", Memory::Mapped, false, 2, Queues::One),
    way("… and a queue for uploads; pinned memory", Memory::Pinned, false, 2, Queues::Two),
    way("… mapped", Memory::Mapped, false, 2, Queues::Two),
    way("… or a queue without order; pinned memory", Memory::Pinned, false, 2, Queues::OutOfOrder),
    way("… mapped", Memory::Mapped, false, 2, Queues::OutOfOrder),
];

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments = Arguments::parse();
    let device = cl::select_device(&cl::list_devices(), arguments.device.as_deref())?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    let info = &device.info;
    println!("{} ({}, driver {}), fused, r={RADIUS}", info.name, info.version, info.driver);
    println!(
        "{} series of {SERIES} frames, ms a frame; median and least, medians of the rest",
        arguments.rounds
    );
    let mut wrong = 0;
    for size in &arguments.size {
        let (width, height) = size.split_once('x').ok_or("--size is WIDTHxHEIGHT")?;
        let bench = Bench::new(&cl, (width.parse()?, height.parse()?))?;
        wrong += bench.time_ways(size, arguments.rounds)?;
        bench.time_merged(size, arguments.rounds)?;
    }
    // PoCL may wait for its threads in its exit handlers.
    process::exit_now(u8::from(wrong > 0))
}

struct Bench<'a> {
    cl: &'a ClContext,
    uploads: Queue,
    /// `None` if the device has none.
    without_order: Option<Queue>,
    filter: BuiltVariant,
    size: (u32, u32),
    frames: Vec<Vec<u8>>,
}

/// The time of a series: milliseconds per frame, and the part of the uploads that overlaps other work of the device.
struct Taken {
    frame_ms: f64,
    upload_ms: f64,
    beside_ms: f64,
}

impl<'a> Bench<'a> {
    fn new(cl: &'a ClContext, size: (u32, u32)) -> Result<Self, Failure> {
        let len = size.0 as usize * size.1 as usize * 4;
        let frames = noise(FRAMES * len).chunks_exact(len).map(<[u8]>::to_vec).collect();
        let filter = BuiltVariant::build(cl, VariantId::Fused)?;
        let properties = ffi::CL_QUEUE_PROFILING_ENABLE | ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        let without_order = Queue::new(&cl.context, &cl.device, properties, cl.clock().clone()).ok();
        Ok(Self { cl, uploads: cl.extra_queue()?, without_order, filter, size, frames })
    }

    /// Times all ways and prints them; returns the number of ways with other bytes than the first one.
    fn time_ways(&self, size: &str, rounds: usize) -> Result<usize, Failure> {
        let mut ways = Vec::new();
        for way in WAYS {
            if way.queues == Queues::OutOfOrder && self.without_order.is_none() {
                println!("The device has no queue without order.");
                continue;
            }
            ways.push((way, self.slots(&way)?, Vec::<Taken>::new()));
        }
        let mut results: Vec<Vec<Vec<u8>>> = vec![vec![Vec::new(); FRAMES]; ways.len()];
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
        println!("\n| {size} | a frame | least | upload | of it beside other work |\n|---|---|---|---|---|");
        let median = |taken: &[Taken], of: fn(&Taken) -> f64| {
            Series::of(&taken.iter().map(of).collect::<Vec<_>>()).map_or(f64::NAN, |series| series.p50)
        };
        for (way, _, taken) in &ways {
            let upload = median(taken, |t| t.upload_ms);
            let beside = median(taken, |t| t.beside_ms);
            let (frame, least) = (median(taken, |t| t.frame_ms), taken.iter().map(|t| t.frame_ms));
            let least = least.fold(f64::INFINITY, f64::min);
            println!("| {} | {frame:.3} | {least:.3} | {upload:.3} | {beside:.3} |", way.name);
        }
        let wrong = results.iter().filter(|result| **result != results[0]).count();
        if wrong > 0 {
            eprintln!("{wrong} ways gave other bytes than the first one");
        }
        Ok(wrong)
    }

    fn slots(&self, way: &Way) -> Result<Vec<Slot>, Failure> {
        // The kernels of all plans run on one in-order queue, so they can share scratch memory; out of order they cannot.
        let mut shared = Scratch::new();
        let slot = |_| match way.queues {
            Queues::OutOfOrder => Slot::new(self, way.memory, &mut Scratch::new()),
            Queues::One | Queues::Two => Slot::new(self, way.memory, &mut shared),
        };
        (0..way.slots).map(slot).collect()
    }

    /// Takes `count` frames through the filter; the last result of each frame is stored in `results`.
    fn series(
        &self,
        way: &Way,
        slots: &mut [Slot],
        count: usize,
        results: &mut [Vec<u8>],
    ) -> Result<Taken, Failure> {
        let (queue, uploads) = match (way.queues, &self.without_order) {
            (Queues::OutOfOrder, Some(queue)) => (queue, queue),
            (Queues::Two, _) => (&self.cl.queue, &self.uploads),
            _ => (&self.cl.queue, &self.cl.queue),
        };
        let by_events = way.queues == Queues::OutOfOrder;
        let mut ran = Vec::new();
        results.iter_mut().for_each(|result| result.resize(self.frames[0].len(), 0));
        let began = Instant::now();
        for n in 0..count + slots.len() {
            let slot = &mut slots[n % way.slots];
            if let Some(frame) = slot.frame.take() {
                slot.finish(&mut ran)?;
                results[frame].copy_from_slice(slot.from.bytes());
            }
            if n >= count {
                continue;
            }
            let frame = n % FRAMES;
            slot.into.bytes_mut().copy_from_slice(&self.frames[frame]);
            slot.upload(uploads, way.waits)?;
            if way.queues == Queues::Two {
                uploads.flush()?;
                if let Some(upload) = slot.uploads.last() {
                    wait_in_queue(queue, upload)?;
                }
            }
            slot.work.extend(match by_events {
                true => slot.plan.enqueue_all_after(queue, &slot.uploads)?,
                false => slot.plan.enqueue_all(queue)?,
            });
            if way.waits {
                queue.finish()?;
            }
            slot.download(queue, way.waits, by_events)?;
            queue.flush()?;
            slot.frame = Some(frame);
        }
        let frame_ms = ms_since(began) / count as f64;
        let per_frame = |ns: u64| ns as f64 * 1e-6 / count as f64;
        let upload_ns = ran.iter().filter(|r| r.upload).map(|r| r.to - r.from).sum();
        Ok(Taken { frame_ms, upload_ms: per_frame(upload_ns), beside_ms: per_frame(overlap_ns(&ran)) })
    }

    /// Times conversion and correction by one kernel, and by two with a picture between them.
    fn time_merged(&self, size: &str, rounds: usize) -> Result<(), Failure> {
        let (cl, queue, (width, height)) = (self.cl, &self.cl.queue, self.size);
        let mut video = Video::new(Pixel::YUV420P, width, height);
        for plane in 0..3 {
            let len = video.data(plane).len();
            video.data_mut(plane).copy_from_slice(&noise(len + plane)[plane..]);
        }
        let layout = Converter::supports(&video).ok_or("the device converts no planes")?;
        let mut planes = PlaneBlock::new(cl, &layout)?;
        planes.fill(&video)?;
        let between = Picture::alloc(cl, Storage::Buffer, width, height)?;
        let to = Picture::alloc(cl, Storage::Buffer, width, height)?;
        let (mut converter, mut corrector) = (Converter::new(cl), Corrector::new(cl));
        let correction = Correction { brightness: 0.1, contrast: 1.2, ..Correction::NEUTRAL };
        let _uploaded = planes.to_device(cl, queue)?;
        let (block, kernels) = (planes.device_memory()?, &mut KernelCache::default());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for round in 0..=rounds * 4 {
            let merged = measure::sample(queue, |q| {
                Ok(vec![converter.enqueue(q, kernels, &layout, block, &to, &correction)?])
            })?;
            let separate = measure::sample(queue, |q| {
                let neutral = Correction::NEUTRAL;
                let converted = converter.enqueue(q, kernels, &layout, block, &between, &neutral)?;
                let corrected = corrector.enqueue(
                    q,
                    kernels,
                    &between,
                    &to,
                    self.size,
                    &correction,
                    RgbaColors::of_layout(&layout),
                )?;
                Ok(vec![converted, corrected])
            })?;
            if round > 0 {
                one.push(merged);
                two.push(separate);
            }
        }
        println!("\n| {size} | device | least | wall |\n|---|---|---|---|");
        for (name, samples) in [("conversion and correction in one kernel", one), ("in two", two)] {
            let Some(taken) = measure::Measurement::from_samples(&samples) else { continue };
            let wall = taken.wall.map_or(f64::NAN, |wall| wall.p50);
            println!("| {name} | {:.3} | {:.3} | {wall:.3} |", taken.time.p50, taken.time.min);
        }
        Ok(())
    }
}

/// A command of the device, on its clock, in nanoseconds.
struct Ran {
    upload: bool,
    from: u64,
    to: u64,
}

/// Returns how long uploads overlapped other commands.
fn overlap_ns(ran: &[Ran]) -> u64 {
    let (uploads, mut others): (Vec<&Ran>, Vec<&Ran>) = ran.iter().partition(|r| r.upload);
    others.sort_unstable_by_key(|other| other.from);
    let beside = |upload: &&Ran| {
        // Two commands that run at once are counted once.
        let mut until = upload.from;
        let mut new = |other: &&Ran| {
            let (from, to) = (other.from.max(until), other.to.min(upload.to));
            until = until.max(to);
            to.saturating_sub(from)
        };
        others.iter().map(&mut new).sum::<u64>()
    };
    uploads.iter().map(beside).sum()
}

/// Memory for a frame in flight. Pictures are dropped before the memory in which they may lie.
struct Slot {
    memory: Memory,
    plan: Plan,
    input: Buffer,
    output: Buffer,
    into: HostBlock,
    from: HostBlock,
    maps: Option<[NonNull<u8>; 2]>,
    uploads: Vec<Event>,
    work: Vec<Event>,
    last: Vec<Event>,
    frame: Option<usize>,
}

impl Slot {
    fn new(bench: &Bench, memory: Memory, scratch: &mut Scratch) -> Result<Self, Failure> {
        let (cl, (width, height)) = (bench.cl, bench.size);
        let len = bench.frames[0].len();
        let block =
            || if memory == Memory::Pinned { HostBlock::pinned(cl, len) } else { HostBlock::new(len) };
        let (into, from) = (block()?, block()?);
        let picture = |block: &HostBlock| match memory {
            // SAFETY: the block has this length, starts at a page, and drops after the picture.
            Memory::Mapped => unsafe {
                Picture::from_host(cl, Storage::Buffer, width, height, block.start().as_ptr())
            },
            _ => Picture::alloc(cl, Storage::Buffer, width, height),
        };
        let (src, dst) = (picture(&into)?, picture(&from)?);
        let plan = bench.filter.plan(cl, &src, &dst, scratch, width, height, RADIUS)?;
        let (Picture::Buffer(input), Picture::Buffer(output)) = (src, dst) else {
            return Err("a picture is no buffer".into());
        };
        let (uploads, work, last) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { memory, plan, input, output, into, from, maps: None, uploads, work, last, frame: None })
    }

    fn upload(&mut self, queue: &Queue, waits: bool) -> Result<(), Failure> {
        if self.memory == Memory::Mapped {
            for (map, buffer) in self.maps.take().into_iter().flatten().zip([&self.input, &self.output]) {
                self.uploads.push(enqueue_unmap(queue, buffer.mem(), map)?);
            }
        } else {
            let from = self.into.bytes();
            // SAFETY: the block stays untouched until `finish`.
            self.uploads.push(unsafe { self.input.enqueue_write(queue, from.as_ptr(), from.len(), waits) }?);
        }
        if waits {
            queue.finish()?;
        }
        Ok(())
    }

    /// Requests the result, after the kernels: by the queue's order or, out of order, by their events.
    fn download(&mut self, queue: &Queue, waits: bool, by_events: bool) -> Result<(), Failure> {
        let after = if by_events { &self.work[self.work.len().saturating_sub(1)..] } else { &[] };
        if self.memory == Memory::Mapped {
            // The host's block, in which the buffers lie, is not touched until `finish`.
            let flags = ffi::CL_MAP_WRITE_INVALIDATE_REGION;
            let (input, first) = self.input.enqueue_map(queue, flags, self.input.len(), waits, after)?;
            let (output, last) =
                self.output.enqueue_map(queue, ffi::CL_MAP_READ, self.output.len(), waits, after)?;
            if output != self.from.start() {
                return Err("the driver maps another address than the frame's".into());
            }
            self.maps = Some([input, output]);
            self.last.extend([first, last]);
        } else {
            let into = self.from.bytes_mut();
            // SAFETY: the block stays untouched until `finish`.
            let read =
                unsafe { self.output.enqueue_read(queue, into.as_mut_ptr(), into.len(), waits, after) };
            self.last.push(read?);
        }
        Ok(())
    }

    /// Waits for the frame, and records when its commands ran.
    fn finish(&mut self, ran: &mut Vec<Ran>) -> Result<(), Failure> {
        for last in &self.last {
            last.wait_for()?;
        }
        let uploads = self.uploads.drain(..).map(|event| (true, event));
        let others = self.work.drain(..).chain(self.last.drain(..)).map(|event| (false, event));
        for (upload, event) in uploads.chain(others) {
            let (from, to) = timer::span_ns(&event)?;
            ran.push(Ran { upload, from, to });
        }
        Ok(())
    }
}
