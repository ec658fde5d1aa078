//! The cost of each kind of OpenCL memory on a device, for a frame from a decoder through a kernel and back.
//! Prints a Markdown table for each size; exit code 1 if a byte comes back wrong.
//!
//! `cargo run --release --example host_pointers -- [--device SEL] [--size WxH,…] [--rounds N]`
//!
//! A turn writes an RGBA frame into memory for the device (*fill*, as a decoder would), hands it over (*up*), runs a
//! kernel that reads and writes each byte once (*kernel*), requests the result (*back*), and reads it on the host
//! (*take*, as OpenGL's upload would). Each step is waited for and timed by the host's clock. All kinds take turns on
//! the same frames, each after a turn that is not timed, so that its memory is in the caches. Medians; the last column
//! is the minimum.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::time::Instant;

use base::timing::{Series, ms_since};
use box_filter::pictures::noise;
use clap::Parser;
use ocl::ffi;
use opencl::cl::{self, Buffer, ClContext, Program, enqueue_unmap};
use opencl::host_block::HostBlock;
use opencl::kernel::{self, Value};
use opencl::process;
use opencl::sources::Sources;

type Failure = Box<dyn std::error::Error>;

const INVERT: &CStr = c"__kernel void invert(__global const uint4 *from, __global uint4 *to, int n) {
    int i = get_global_id(0);
    if (i < n) to[i] = ~from[i];
}";
/// Different frames, so that no cache keeps an old result right.
const FRAMES: usize = 3;
/// Turns that are not counted: drivers allocate memory at the first use.
const WARM: usize = 3;

/// Measures host memory on the way to a device and back.
#[derive(Parser)]
struct Arguments {
    /// Index, part of a name, cpu or gpu.
    #[arg(long)]
    device: Option<String>,
    /// Sizes of the frame, in pixels.
    #[arg(long, default_value = "1280x720,1920x1080,3840x2160", value_delimiter = ',')]
    size: Vec<String>,
    /// Timed turns of each kind.
    #[arg(long, default_value_t = 40)]
    rounds: usize,
}

fn main() -> Result<(), Failure> {
    process::prepare();
    let arguments = Arguments::parse();
    let device = cl::select_device(&cl::list_devices(), arguments.device.as_deref())?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    let info = &device.info;
    println!(
        "{} ({}, driver {}), medians of {} turns in ms",
        info.name, info.version, info.driver, arguments.rounds
    );
    let mut wrong = 0;
    for size in &arguments.size {
        let (width, height) = size.split_once('x').ok_or("--size is WIDTHxHEIGHT")?;
        wrong +=
            measure(&cl, size, width.parse::<usize>()? * height.parse::<usize>()? * 4, arguments.rounds)?;
    }
    if wrong > 0 {
        eprintln!("{wrong} frames came back wrong");
    }
    // PoCL may wait for its threads in its exit handlers.
    process::exit_now(u8::from(wrong > 0))
}

/// Times all kinds with frames of `len` bytes and prints them; returns the number of wrong results.
fn measure(cl: &ClContext, size: &str, len: usize, rounds: usize) -> Result<usize, Failure> {
    if len == 0 || !len.is_multiple_of(16) {
        return Err("the frame's width times its height must be a multiple of 4".into());
    }
    let frames: Vec<Vec<u8>> = noise(FRAMES * len).chunks_exact(len).map(<[u8]>::to_vec).collect();
    let mut kinds = Kind::ALL.map(|kind| (kind, Memory::new(cl, kind, len), Vec::<Turn>::new()));
    // Declared after the memory in which its buffers may lie, so that it is dropped first.
    let kernel = Kernel::build(cl, len)?;
    let mut taken = vec![0; len];
    let mut wrong = 0;
    for round in 0..WARM + rounds {
        for position in 0..kinds.len() {
            // The order varies, so that each kind follows every other one.
            let (_, memory, turns) = &mut kinds[(position + round) % Kind::ALL.len()];
            let Ok(memory) = memory else { continue };
            let frame = &frames[(position + round) % FRAMES];
            memory.turn(cl, &kernel, &frames[(position + round + 1) % FRAMES], &mut taken)?;
            let turn = memory.turn(cl, &kernel, frame, &mut taken)?;
            wrong += usize::from(taken.iter().zip(frame).any(|(t, f)| *t != !f));
            if round >= WARM {
                turns.push(turn);
            }
        }
    }
    println!(
        "\n| {size} | fill | up | kernel | back | take | all | least |\n|---|---|---|---|---|---|---|---|"
    );
    for (kind, memory, turns) in &kinds {
        let mark = if kind.is_used(cl) { " ←" } else { "" };
        let cells: Vec<String> = match memory {
            Ok(_) => {
                let least = turns.iter().map(|turn| turn.iter().sum()).fold(f64::INFINITY, f64::min);
                let medians = (0..=STEPS).map(|step| median(turns, step));
                medians.chain([least]).map(|ms| format!("{ms:.3}")).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        println!("| {}{mark} | {} |", kind.name(), cells.join(" | "));
    }
    Ok(wrong)
}

const STEPS: usize = 5;
/// Milliseconds of fill, up, kernel, back and take.
type Turn = [f64; STEPS];

/// Returns the median of a step; the index after the last one stands for their sum.
fn median(turns: &[Turn], step: usize) -> f64 {
    let samples: Vec<f64> = turns.iter().map(|t| t.get(step).copied().unwrap_or(t.iter().sum())).collect();
    Series::of(&samples).map_or(f64::NAN, |series| series.p50)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Written,
    Pinned,
    Mapped,
    AllocMapped,
    UseMapped,
    Copied,
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::Written, Kind::Pinned, Kind::Mapped, Kind::AllocMapped, Kind::UseMapped, Kind::Copied];

    fn name(self) -> &'static str {
        match self {
            Kind::Written => "plain buffers, write and read from plain memory",
            Kind::Pinned => "plain buffers, write and read from mapped `ALLOC_HOST_PTR`",
            Kind::Mapped => "plain buffers, mapped",
            Kind::AllocMapped => "`ALLOC_HOST_PTR`, mapped",
            Kind::UseMapped => "`USE_HOST_PTR`, mapped",
            Kind::Copied => "`COPY_HOST_PTR` for each frame, read",
        }
    }

    /// Returns true if frames in clreel's window take this path on such a device.
    fn is_used(self, cl: &ClContext) -> bool {
        self == if cl.is_cpu() { Kind::UseMapped } else { Kind::Pinned }
    }
}

struct Kernel(kernel::Kernel);

impl Kernel {
    fn build(cl: &ClContext, len: usize) -> Result<Self, Failure> {
        let program = Program::from_source(&cl.context, INVERT)?;
        program.build(&cl.device, c"")?;
        let kernel = kernel::Kernel::new(&program, "invert")?;
        kernel.set(2, Value::Int(i32::try_from(len / 16)?))?;
        Ok(Self(kernel))
    }

    /// Runs the kernel and waits. Both buffers have the size that it was built for.
    fn run(&self, cl: &ClContext, from: &Buffer, to: &Buffer) -> Result<(), Failure> {
        self.0.set(0, from.mem())?;
        self.0.set(1, to.mem())?;
        let global = [(from.len() / 16).next_multiple_of(64), 1, 1];
        // SAFETY: all three arguments are set with their types, and the kernel stays inside the buffers.
        let _event = unsafe { kernel::enqueue(&cl.queue, &self.0, 1, global, [64, 1, 1]) }?;
        Ok(cl.queue.finish()?)
    }
}

/// Input and output of a turn. Buffers are dropped before the memory in which they may lie.
struct Memory {
    kind: Kind,
    buffers: Option<(Buffer, Buffer)>,
    blocks: Option<(HostBlock, HostBlock)>,
}

impl Memory {
    fn new(cl: &ClContext, kind: Kind, len: usize) -> Result<Self, Failure> {
        let block = || if kind == Kind::Pinned { HostBlock::pinned(cl, len) } else { HostBlock::new(len) };
        let blocks = match kind {
            Kind::Mapped | Kind::AllocMapped => None,
            _ => Some((block()?, block()?)),
        };
        let buffer = |block: Option<&HostBlock>| match block.filter(|_| kind == Kind::UseMapped) {
            // SAFETY: the memory has this length, and outlives the buffer: it drops after it.
            Some(block) => unsafe { Buffer::in_place(&cl.context, block.start().as_ptr(), len) },
            None => {
                let host = if kind == Kind::AllocMapped { ffi::CL_MEM_ALLOC_HOST_PTR } else { 0 };
                Buffer::new(&cl.context, ffi::CL_MEM_READ_WRITE | host, len)
            }
        };
        let buffers = (
            buffer(blocks.as_ref().map(|(input, _)| input))?,
            buffer(blocks.as_ref().map(|(_, output)| output))?,
        );
        Ok(Self { kind, buffers: Some(buffers), blocks })
    }

    /// Takes one frame to the device, through the kernel and back to `taken`.
    fn turn(
        &mut self,
        cl: &ClContext,
        kernel: &Kernel,
        frame: &[u8],
        taken: &mut [u8],
    ) -> Result<Turn, Failure> {
        let mut steps = Steps::begin();
        let (input, output) = self.buffers.as_mut().ok_or("no buffers")?;
        let Some((into, from)) = self.blocks.as_mut().filter(|_| self.kind != Kind::UseMapped) else {
            let expected = self.blocks.as_ref().map(|(into, from)| (into.start(), from.start()));
            let map = Mapping::new(cl, input, ffi::CL_MAP_WRITE_INVALIDATE_REGION)?;
            map.expect_at(expected.map(|e| e.0))?;
            // SAFETY: mapped for writing, with as many bytes as the frame has.
            unsafe { std::slice::from_raw_parts_mut(map.0.as_ptr(), frame.len()) }.copy_from_slice(frame);
            steps.done();
            map.end(cl, input)?;
            steps.done();
            kernel.run(cl, input, output)?;
            steps.done();
            let map = Mapping::new(cl, output, ffi::CL_MAP_READ)?;
            map.expect_at(expected.map(|e| e.1))?;
            steps.done();
            // SAFETY: mapped for reading, with as many bytes as the frame has.
            taken.copy_from_slice(unsafe { std::slice::from_raw_parts(map.0.as_ptr(), frame.len()) });
            map.end(cl, output)?;
            steps.done();
            return Ok(steps.times);
        };
        into.bytes_mut().copy_from_slice(frame);
        steps.done();
        if self.kind == Kind::Copied {
            *input = Buffer::copied(&cl.context, ffi::CL_MEM_READ_ONLY, into.bytes())?;
        } else {
            input.write(&cl.queue, into.bytes())?;
        }
        cl.queue.finish()?;
        steps.done();
        kernel.run(cl, input, output)?;
        steps.done();
        output.read(&cl.queue, from.bytes_mut())?;
        steps.done();
        taken.copy_from_slice(from.bytes());
        steps.done();
        Ok(steps.times)
    }
}

/// The clock of a turn.
struct Steps {
    times: Turn,
    step: usize,
    began: Instant,
}

impl Steps {
    fn begin() -> Self {
        Self { times: [0.0; STEPS], step: 0, began: Instant::now() }
    }

    fn done(&mut self) {
        self.times[self.step] = ms_since(self.began);
        self.step += 1;
        self.began = Instant::now();
    }
}

/// A buffer while it is mapped to the host.
struct Mapping(NonNull<u8>);

impl Mapping {
    /// Maps the whole buffer, and waits.
    fn new(cl: &ClContext, buffer: &Buffer, flags: ffi::cl_map_flags) -> Result<Self, Failure> {
        let (start, _event) = buffer.enqueue_map(&cl.queue, flags, buffer.len(), true, &[])?;
        Ok(Self(start))
    }

    /// Checks that a buffer in host memory is mapped at its address.
    fn expect_at(&self, start: Option<NonNull<u8>>) -> Result<(), Failure> {
        if start.is_some_and(|start| start != self.0) {
            return Err("USE_HOST_PTR: the driver maps another address".into());
        }
        Ok(())
    }

    fn end(self, cl: &ClContext, buffer: &Buffer) -> Result<(), Failure> {
        let _event = enqueue_unmap(&cl.queue, buffer.mem(), self.0)?;
        Ok(cl.queue.finish()?)
    }
}
