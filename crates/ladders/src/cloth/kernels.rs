//! The five steps on an OpenCL device. In: a configuration, and arrays in the device's memory. Out: launches on a queue.

use super::codes::{Code, Spread, Way};
use super::host::{ITERATIONS, Motion};
use super::layout::Layout;
use super::model::{COLUMNS, Figure, PARTICLES, ROWS, SHIRT_VERTICES};
use super::steps::StepId;
use base::error::Result;
use ladder::config::Config;
use opencl::cl::{Answer, Buffer, ClContext, Event, Mem, Queue, failed};
use opencl::guarded::bytes;
use opencl::kernel::{Kernel, Value, enqueue_after, expect_types};
use opencl::memory::new_memory;
use opencl::program;

/// Memory that a step reads and writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory<'a> {
    pub pose: &'a Mem,
    pub positions: &'a Mem,
    pub previous: &'a Mem,
    /// Where particles go: it may be `positions`, but for [`StepId::Integrate`], which may have `previous` there.
    pub moved: &'a Mem,
    pub skinned: &'a Mem,
    pub vertices: &'a Mem,
}

/// What is the same in each frame.
#[derive(Debug)]
struct Still {
    vertices: Buffer,
    pairs: Buffer,
    lengths: Buffer,
    ends: Buffer,
    reach: Buffer,
    uv: Buffer,
}

/// Compiled kernels of a file, and the figure in the device's memory.
#[derive(Debug)]
pub struct Program {
    spread: Spread,
    way: Way,
    apart: bool,
    layout: Layout,
    group: usize,
    /// Indices of a work-item.
    items: usize,
    /// The queue of skinning, where it has one of its own.
    pub(super) beside: Option<Queue>,
    is_cpu: bool,
    body: usize,
    colours: Vec<std::ops::Range<usize>>,
    still: Still,
    skin: Kernel,
    integrate: Kernel,
    distances: Kernel,
    drive: Kernel,
    write: [Kernel; 2],
    copy: Option<Kernel>,
}

const WHAT: &str = "The cloth could not be moved on the device.";

impl Program {
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>, figure: &Figure) -> Result<Self> {
        let code = config.code();
        let body = figure.body.vertices.len();
        let options = format!("{} -D BODY={body} -D ROWS={ROWS} -D COLUMNS={COLUMNS}", config.options());
        let options = format!("{options} -D ITERATIONS={ITERATIONS}");
        let program = program::build(cl, code.file, &program::source(code.file)?, &options)?;
        let what = format!("The kernels in {} could not be prepared.", code.file);
        let kernel = |name: &str, types: &[&[&str]]| -> Result<Kernel> {
            let kernel = Kernel::of_file(&program, code.file, name, &what)?;
            expect_types(&kernel, code.file, types)?;
            Ok(kernel)
        };
        let (points, floats): (&[&str], &[&str]) = (&["float4*", "float*"], &["float*"]);
        let (number, count, vector): (&[&str], &[&str], &[&str]) = (&["float"], &["uint"], &["float4"]);
        let pairs: [&[&str]; 3] = [&["uint2*"], &["float4*"], &["uint*"]];
        let lanes = config.get("LANES") as usize;
        Ok(Self {
            spread: code.spread,
            way: code.way,
            apart: code.apart,
            layout: if code.structs { Layout::Structs } else { Layout::Planes(lanes) },
            group: config.get("GROUP") as usize,
            items: config.get("ITEMS").max(1) as usize,
            beside: if code.way == Way::TwoQueues { Some(cl.extra_queue()?) } else { None },
            is_cpu: cl.is_cpu(),
            body,
            colours: figure.shirt.colours.clone(),
            still: still(cl, figure, code.structs)?,
            skin: kernel("skin", &[&[], floats, points, count, count])?,
            integrate: kernel(
                "integrate",
                &[points, points, points, vector, vector, number, number, count, count],
            )?,
            distances: kernel(
                "distances",
                &[points, points, pairs[0], pairs[1], pairs[2], count, count, count, count],
            )?,
            drive: kernel("drive", &[points, points, floats, points, count, count])?,
            write: [
                kernel("write_shirt", &[points, floats, count, count])?,
                kernel("write_body", &[points, &["float2*"], floats, count, count])?,
            ],
            copy: match code.spread {
                Spread::Colours => Some(kernel("copy", &[floats, floats, count])?),
                _ => None,
            },
        })
    }

    /// How its arrays lie.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// What the host does in a frame besides launching.
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// Lets memory go that is not its own.
    pub(super) fn forget_memory(&self) {
        let steps = [&self.skin, &self.integrate, &self.distances, &self.drive];
        steps.into_iter().chain(&self.write).chain(&self.copy).for_each(Kernel::forget_memory);
    }

    /// Puts a step on the queue, after these events. Its events in order.
    pub(super) fn start(
        &self,
        queue: &Queue,
        step: StepId,
        memory: &Memory,
        motion: &Motion,
        army: usize,
        after: &[Event],
    ) -> Result<Vec<Event>> {
        let started = || -> Answer<Vec<Event>> {
            self.bind(step, memory, motion)?;
            let blocks = self.layout.blocks(army);
            let (launches, each) = if self.apart { (blocks, 1) } else { (1, blocks) };
            let mut events = Vec::new();
            for first in 0..launches {
                let range = Range { first: first as u32, blocks: each, army: army as u32 };
                self.launch(queue, step, memory, range, if first == 0 { after } else { &[] }, &mut events)?;
            }
            Ok(events)
        };
        started().map_err(|e| failed(WHAT, &e))
    }

    fn bind(&self, step: StepId, memory: &Memory, motion: &Motion) -> Answer<()> {
        let still = &self.still;
        let set = |kernel: &Kernel, memory: &[&Mem]| {
            (0..).zip(memory).try_for_each(|(index, memory)| kernel.set(index, *memory))
        };
        let Memory { pose, positions, previous, moved, skinned, vertices } = *memory;
        match step {
            StepId::Skin => set(&self.skin, &[still.vertices.mem(), pose, skinned]),
            StepId::Integrate => {
                set(&self.integrate, &[positions, previous, moved])?;
                self.integrate.set(3, Value::Float4(motion.at))?;
                self.integrate.set(4, Value::Float4(motion.pull))?;
                self.integrate.set(5, Value::Float(motion.carry))?;
                self.integrate.set(6, Value::Float(motion.fall))
            }
            StepId::Distances => {
                let [pairs, lengths, ends] = [&still.pairs, &still.lengths, &still.ends].map(Buffer::mem);
                set(&self.distances, &[positions, moved, pairs, lengths, ends])
            }
            StepId::Drive => set(&self.drive, &[positions, skinned, still.reach.mem(), moved]),
            StepId::Write => {
                set(&self.write[0], &[positions, vertices])?;
                set(&self.write[1], &[skinned, still.uv.mem(), vertices])
            }
        }
    }

    fn launch(
        &self,
        queue: &Queue,
        step: StepId,
        memory: &Memory,
        range: Range,
        after: &[Event],
        events: &mut Vec<Event>,
    ) -> Answer<()> {
        let last = |kernel: &Kernel, index: u32| {
            kernel.set(index, Value::Uint(range.first))?;
            kernel.set(index + 1, Value::Uint(range.army))
        };
        let items = |count: usize| [count.div_ceil(self.items).next_multiple_of(self.group), range.blocks, 1];
        let put = |kernel: &Kernel, global: [usize; 3], group: usize, after: &[Event]| {
            let single = self.spread == Spread::Single;
            let (global, local) = if single { ([1; 3], [1; 3]) } else { (global, [group, 1, 1]) };
            // SAFETY: the arguments are set, their types were compared, and the kernels look at how much there is.
            unsafe { enqueue_after(queue, kernel, 2, global, local, after) }
        };
        let kernel = match step {
            StepId::Skin => &self.skin,
            StepId::Integrate => &self.integrate,
            StepId::Distances => return self.launch_distances(queue, memory, range, after, events),
            StepId::Drive => &self.drive,
            StepId::Write => {
                let [shirt, body] = &self.write;
                last(shirt, 2)?;
                last(body, 3)?;
                events.push(put(shirt, items(SHIRT_VERTICES), self.group, after)?);
                events.push(put(body, items(self.body), self.group, &[])?);
                return Ok(());
            }
        };
        let (index, count) = match step {
            StepId::Skin => (3, self.body + PARTICLES),
            StepId::Integrate => (7, PARTICLES),
            _ => (4, PARTICLES),
        };
        last(kernel, index)?;
        events.push(put(kernel, items(count), self.group, after)?);
        Ok(())
    }

    fn launch_distances(
        &self,
        queue: &Queue,
        memory: &Memory,
        range: Range,
        after: &[Event],
        events: &mut Vec<Event>,
    ) -> Answer<()> {
        let kernel = &self.distances;
        let all = self.colours.last().map_or(0, |last| last.end) as u32;
        kernel.set(7, Value::Uint(range.first))?;
        kernel.set(8, Value::Uint(range.army))?;
        let mut put = |begin: u32, end: u32, global: [usize; 3], group: usize, after: &[Event]| {
            kernel.set(5, Value::Uint(begin))?;
            kernel.set(6, Value::Uint(end))?;
            // SAFETY: the arguments are set, their types were compared, and the kernel looks at how much there is.
            events.push(unsafe { enqueue_after(queue, kernel, 2, global, [group, 1, 1], after) }?);
            Ok(())
        };
        match self.spread {
            Spread::Single => put(0, all, [1; 3], 1, after),
            Spread::Blocks | Spread::Octets => {
                // A processor's core takes a group at a time, a graphics card's a warp.
                let group = if self.is_cpu || self.apart { 1 } else { 32 };
                let begin = if self.spread == Spread::Octets { self.colours.len() as u32 } else { 0 };
                put(begin, all, [range.blocks.next_multiple_of(group), 1, 1], group, after)
            }
            Spread::Groups => {
                put(self.colours.len() as u32, all, [self.group, range.blocks, 1], self.group, after)
            }
            Spread::Colours => {
                let mut waits = after.to_vec();
                if let Some(copy) =
                    self.copy.as_ref().filter(|_| memory.positions.raw() != memory.moved.raw())
                {
                    copy.set(0, memory.positions)?;
                    copy.set(1, memory.moved)?;
                    copy.set(2, Value::Uint(range.first))?;
                    let global = [(3 * PARTICLES).next_multiple_of(self.group), range.blocks, 1];
                    // SAFETY: as above.
                    let copied = unsafe { enqueue_after(queue, copy, 2, global, [self.group, 1, 1], after) }?;
                    waits = vec![copied];
                }
                for colour in (0..ITERATIONS).flat_map(|_| &self.colours) {
                    let global = [colour.len().next_multiple_of(self.group), range.blocks, 1];
                    put(colour.start as u32, colour.end as u32, global, self.group, &waits)?;
                    waits.clear();
                }
                Ok(())
            }
        }
    }
}

/// Which characters a launch is for.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// The first block.
    first: u32,
    blocks: usize,
    /// Characters in all.
    army: u32,
}

fn still(cl: &ClContext, figure: &Figure, structs: bool) -> Result<Still> {
    let make = |numbers: &[f32]| -> Answer<Buffer> {
        let bytes = bytes(numbers);
        let buffer = Buffer::new(&cl.context, new_memory(cl), bytes.len())?;
        buffer.write(&cl.queue, &bytes)?;
        Ok(buffer)
    };
    // Whole numbers travel as the floats with the same bits.
    let word = |number: u32| f32::from_bits(number);
    let all = figure.body.vertices.iter().chain(&figure.shirt.drivers);
    let numbers: Vec<f32> = all
        .flat_map(|v| {
            let first = v.position.into_iter().chain(v.normal).chain(v.weights);
            first.chain(v.bones.map(word)).chain(v.uv)
        })
        .collect();
    let count = numbers.len() / 20;
    let planes = || (0..20 * count).map(|at| numbers[at % count * 20 + at / count]).collect::<Vec<f32>>();
    let shirt = &figure.shirt;
    let pairs: Vec<f32> = shirt.constraints.iter().flat_map(|c| [word(c.a), word(c.b)]).collect();
    let lengths: Vec<f32> =
        shirt.constraints.iter().flat_map(|c| [c.rest, c.shares[0], c.shares[1], 0.0]).collect();
    let ends: Vec<f32> = shirt.colours.iter().map(|colour| word(colour.end as u32)).collect();
    let uv: Vec<f32> = figure.body.vertices.iter().flat_map(|v| [v.uv[0], v.uv[1]]).collect();
    let made = || -> Answer<Still> {
        Ok(Still {
            vertices: if structs { make(&numbers)? } else { make(&planes())? },
            pairs: make(&pairs)?,
            lengths: make(&lengths)?,
            ends: make(&ends)?,
            reach: make(&shirt.reach)?,
            uv: make(&uv)?,
        })
    };
    made().map_err(|e| failed("The figure could not be brought to the device.", &e))
}
