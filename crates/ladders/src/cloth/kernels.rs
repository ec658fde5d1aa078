//! The five steps on an OpenCL device.

use super::codes::{Code, ConstraintMapping, Transfer};
use super::host::{ITERATIONS, Motion};
use super::layout::Layout;
use super::model::{COLUMNS, Figure, PARTICLES, ROWS, SHIRT_VERTICES};
use super::steps::StepId;
use crate::device::typed_kernel;
use base::error::Result;
use ladder::config::Config;
use opencl::cl::{Answer, Buffer, ClContext, Event, Mem, Queue, failed};
use opencl::guarded::bytes;
use opencl::kernel::{Kernel, Value, enqueue_after};
use opencl::memory::allocation_flags;
use opencl::program;

/// The device memory that a step reads and writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepBuffers<'a> {
    pub pose: &'a Mem,
    pub positions: &'a Mem,
    pub previous: &'a Mem,
    /// The memory that receives the particles. It may be the same memory as `positions`, or for [`StepId::Integrate`] the same
    /// as `previous`.
    pub next_positions: &'a Mem,
    pub skinned: &'a Mem,
    pub vertices: &'a Mem,
}

/// Data of the figure, which is the same in each frame.
#[derive(Debug)]
struct FigureBuffers {
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
    mapping: ConstraintMapping,
    transfer: Transfer,
    launches_per_block: bool,
    layout: Layout,
    group: usize,
    /// The number of vertices or particles that each work-item processes.
    items: usize,
    /// The queue for skinning, if skinning has a queue of its own.
    pub(super) skin_queue: Option<Queue>,
    is_cpu: bool,
    body: usize,
    colours: Vec<std::ops::Range<usize>>,
    figure_buffers: FigureBuffers,
    skin: Kernel,
    integrate: Kernel,
    distances: Kernel,
    drive: Kernel,
    write: [Kernel; 2],
    copy: Option<Kernel>,
}

/// The first sentence of the error if a step cannot be enqueued.
const ENQUEUE_FAILED: &str = "The cloth could not be moved on the device.";

impl Program {
    /// Compiles the kernels with these parameters, and uploads the figure.
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>, figure: &Figure) -> Result<Self> {
        let code = config.code();
        let body = figure.body.vertices.len();
        let options = format!("{} -D BODY={body} -D ROWS={ROWS} -D COLUMNS={COLUMNS}", config.options());
        let options = format!("{options} -D ITERATIONS={ITERATIONS}");
        let program = program::build(cl, code.file, &options)?;
        let kernel = |name: &str, types: &[&[&str]]| typed_kernel(&program, code.file, name, types);
        let (points, floats): (&[&str], &[&str]) = (&["float4*", "float*"], &["float*"]);
        let (number, count, vector): (&[&str], &[&str], &[&str]) = (&["float"], &["uint"], &["float4"]);
        let pairs: [&[&str]; 3] = [&["uint2*"], &["float4*"], &["uint*"]];
        let lanes = config.get("LANES") as usize;
        Ok(Self {
            mapping: code.mapping,
            transfer: code.transfer,
            launches_per_block: code.launches_per_block,
            layout: if code.is_structs { Layout::Structs } else { Layout::Planes(lanes) },
            group: config.get("GROUP") as usize,
            items: config.get("ITEMS").max(1) as usize,
            skin_queue: if code.transfer == Transfer::TwoQueues { Some(cl.extra_queue()?) } else { None },
            is_cpu: cl.is_cpu(),
            body,
            colours: figure.shirt.colours.clone(),
            figure_buffers: figure_buffers(cl, figure, code.is_structs)?,
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
            copy: match code.mapping {
                ConstraintMapping::Colours => Some(kernel("copy", &[floats, floats, count])?),
                _ => None,
            },
        })
    }

    /// Returns the layout of the arrays.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns how data moves between host and device.
    pub(super) fn transfer(&self) -> Transfer {
        self.transfer
    }

    /// Drops the kernels' references to memory that other objects own.
    pub(super) fn forget_memory(&self) {
        let steps = [&self.skin, &self.integrate, &self.distances, &self.drive];
        steps.into_iter().chain(&self.write).chain(&self.copy).for_each(Kernel::forget_memory);
    }

    /// Enqueues a step, to begin after the events `after`; returns the events of the step's commands in order.
    pub(super) fn start(
        &self,
        queue: &Queue,
        step: StepId,
        memory: &StepBuffers,
        motion: &Motion,
        army: usize,
        after: &[Event],
    ) -> Result<Vec<Event>> {
        let started = || -> Answer<Vec<Event>> {
            self.bind(step, memory, motion)?;
            let blocks = self.layout.blocks(army);
            let (launches, each) = if self.launches_per_block { (blocks, 1) } else { (1, blocks) };
            let mut events = Vec::new();
            for first in 0..launches {
                let range = CharacterRange { first: first as u32, blocks: each, army: army as u32 };
                self.launch(queue, step, memory, range, if first == 0 { after } else { &[] }, &mut events)?;
            }
            Ok(events)
        };
        started().map_err(|e| failed(ENQUEUE_FAILED, &e))
    }

    /// Sets the memory and the motion as arguments of a step's kernels.
    fn bind(&self, step: StepId, memory: &StepBuffers, motion: &Motion) -> Answer<()> {
        let figure_buffers = &self.figure_buffers;
        let set = |kernel: &Kernel, memory: &[&Mem]| {
            (0..).zip(memory).try_for_each(|(index, memory)| kernel.set(index, *memory))
        };
        let StepBuffers { pose, positions, previous, next_positions, skinned, vertices } = *memory;
        match step {
            StepId::Skin => set(&self.skin, &[figure_buffers.vertices.mem(), pose, skinned]),
            StepId::Integrate => {
                set(&self.integrate, &[positions, previous, next_positions])?;
                self.integrate.set(3, Value::Float4(motion.at))?;
                self.integrate.set(4, Value::Float4(motion.pull))?;
                self.integrate.set(5, Value::Float(motion.carry))?;
                self.integrate.set(6, Value::Float(motion.fall))
            }
            StepId::Distances => {
                let [pairs, lengths, ends] =
                    [&figure_buffers.pairs, &figure_buffers.lengths, &figure_buffers.ends].map(Buffer::mem);
                set(&self.distances, &[positions, next_positions, pairs, lengths, ends])
            }
            StepId::Drive => {
                set(&self.drive, &[positions, skinned, figure_buffers.reach.mem(), next_positions])
            }
            StepId::Write => {
                set(&self.write[0], &[positions, vertices])?;
                set(&self.write[1], &[skinned, figure_buffers.uv.mem(), vertices])
            }
        }
    }

    /// Enqueues a step for a range of characters, and adds the events of its commands to `events`.
    fn launch(
        &self,
        queue: &Queue,
        step: StepId,
        memory: &StepBuffers,
        range: CharacterRange,
        after: &[Event],
        events: &mut Vec<Event>,
    ) -> Answer<()> {
        let last = |kernel: &Kernel, index: u32| {
            kernel.set(index, Value::Uint(range.first))?;
            kernel.set(index + 1, Value::Uint(range.army))
        };
        let items = |count: usize| [count.div_ceil(self.items).next_multiple_of(self.group), range.blocks, 1];
        let put = |kernel: &Kernel, global: [usize; 3], group: usize, after: &[Event]| {
            let single = self.mapping == ConstraintMapping::Single;
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

    /// Enqueues [`StepId::Distances`] for a range of characters, and adds the events of its commands to `events`.
    fn launch_distances(
        &self,
        queue: &Queue,
        memory: &StepBuffers,
        range: CharacterRange,
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
        match self.mapping {
            ConstraintMapping::Single => put(0, all, [1; 3], 1, after),
            ConstraintMapping::Blocks | ConstraintMapping::Octets => {
                // A core of a CPU runs a group at a time, a GPU a warp.
                let group = if self.is_cpu || self.launches_per_block { 1 } else { 32 };
                let begin =
                    if self.mapping == ConstraintMapping::Octets { self.colours.len() as u32 } else { 0 };
                put(begin, all, [range.blocks.next_multiple_of(group), 1, 1], group, after)
            }
            ConstraintMapping::Groups => {
                put(self.colours.len() as u32, all, [self.group, range.blocks, 1], self.group, after)
            }
            ConstraintMapping::Colours => {
                let mut waits = after.to_vec();
                if let Some(copy) =
                    self.copy.as_ref().filter(|_| memory.positions.raw() != memory.next_positions.raw())
                {
                    copy.set(0, memory.positions)?;
                    copy.set(1, memory.next_positions)?;
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

/// The range of characters that a launch processes.
#[derive(Debug, Clone, Copy)]
struct CharacterRange {
    /// The first block of characters.
    first: u32,
    /// The number of blocks of characters.
    blocks: usize,
    /// The number of characters in the whole crowd.
    army: u32,
}

/// Uploads the data of the figure that is the same in each frame: as one array of structs if `is_structs`, otherwise as separate
/// arrays.
fn figure_buffers(cl: &ClContext, figure: &Figure, is_structs: bool) -> Result<FigureBuffers> {
    let make = |numbers: &[f32]| -> Answer<Buffer> {
        let bytes = bytes(numbers);
        let buffer = Buffer::new(&cl.context, allocation_flags(cl), bytes.len())?;
        buffer.write(&cl.queue, &bytes)?;
        Ok(buffer)
    };
    // Integers are stored as the floats with the same bits.
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
    let made = || -> Answer<FigureBuffers> {
        Ok(FigureBuffers {
            vertices: if is_structs { make(&numbers)? } else { make(&planes())? },
            pairs: make(&pairs)?,
            lengths: make(&lengths)?,
            ends: make(&ends)?,
            reach: make(&shirt.reach)?,
            uv: make(&uv)?,
        })
    };
    made().map_err(|e| failed("The figure could not be brought to the device.", &e))
}
