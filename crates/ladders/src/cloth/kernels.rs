//! Runs the five steps on an OpenCL device.

use std::ops::Range;

use bytemuck::cast_slice;

use super::codes::{COPY_AT, Config, ConstraintMapping, DISTANCES_AT, Launch, Scheme, Transfer, passes_of};
use super::host::{ITERATIONS, Motion};
use super::layout::Layout;
use super::model::{BodyVertex, COLUMNS, Figure, ROWS};
use super::steps::StepId;
use base::error::Result;
use compute::plan;
use compute::plan::Operands;
use opencl::cl::{Answer, Buffer, ClContext, Event, Mem, Queue, failed};
use opencl::memory::allocation_flags;

/// The parameters of a run of a step: its queue and memory, and the number of characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepRun<'a> {
    pub queue: &'a Queue,
    /// The device memory that the step reads and writes: pose, positions, previous positions, the memory that receives the
    /// particles, skinned vertices, and vertices. The memory that receives the particles may be that of the positions, or for
    /// [`StepId::Integrate`] that of the previous positions.
    pub memory: [&'a Mem; 6],
    pub motion: &'a Motion,
    /// The number of characters in the crowd.
    pub army: usize,
    /// The events after which the step begins.
    pub after: &'a [Event],
}

/// The compiled kernels of a file, and device buffers with the model of the figure.
#[derive(Debug)]
pub struct Program {
    pub(super) kernels: plan::Program<Launch, Scheme>,
    pub(super) layout: Layout,
    /// The queue for skinning; `None` if skinning uses the same queue as the other steps.
    pub(super) skin_queue: Option<Queue>,
    is_cpu: bool,
    /// The number of the body's vertices.
    body: usize,
    colours: Vec<Range<usize>>,
    /// The buffers with the parts of the model that are the same in each frame: vertices, indices of constrained particles,
    /// lengths of constraints, ends of the constraints' colours, reach of the particles, and texture coordinates.
    figure: [Buffer; 6],
}

impl Program {
    /// Compiles the kernels with the parameters of `config`, and uploads the model of the figure.
    pub(super) fn compile(cl: &ClContext, config: &Config, figure: &Figure) -> Result<Self> {
        let (code, body) = (config.code(), figure.body.vertices.len());
        let options =
            format!("-D BODY={body} -D ROWS={ROWS} -D COLUMNS={COLUMNS} -D ITERATIONS={ITERATIONS}");
        let Scheme { transfer, is_structs, .. } = code.extra;
        let lanes = config.get("LANES") as usize;
        Ok(Self {
            kernels: plan::Program::compile_with(cl, config, &cl.sources().text(code.file)?, &options)?,
            layout: if is_structs { Layout::Structs } else { Layout::Planes(lanes) },
            skin_queue: if transfer == Transfer::TwoQueues { Some(cl.extra_queue()?) } else { None },
            is_cpu: cl.is_cpu(),
            body,
            colours: figure.shirt.colours.clone(),
            figure: figure_buffers(cl, figure, is_structs)?,
        })
    }

    pub(super) fn scheme(&self) -> Scheme {
        self.kernels.config.code().extra
    }

    /// Enqueues a step; returns the events of its commands in order.
    pub(super) fn start(&self, step: StepId, run: StepRun) -> Result<Vec<Event>> {
        let blocks = self.layout.blocks(run.army);
        let (launches, each) = if self.scheme().launches_per_block { (blocks, 1) } else { (1, blocks) };
        let mut events = Vec::new();
        for first in 0..launches {
            let launch = Launch {
                motion: *run.motion,
                first: first as u32,
                blocks: each,
                army: run.army as u32,
                body: self.body,
                constraints: [0; 2],
            };
            let run = if first == 0 { run } else { StepRun { after: &[], ..run } };
            let started = match step {
                StepId::Distances => self.start_distances(&run, launch),
                _ => self.start_passes(&run, launch, passes_of(step)),
            };
            events.extend(started.map_err(|e| failed("The cloth could not be moved on the device.", &e))?);
        }
        Ok(events)
    }

    /// Sets the arguments of the kernel with the index `at`, for one launch.
    fn bind(&self, run: &StepRun, launch: Launch, at: usize) -> Answer<plan::Launch<'_>> {
        let memory: Vec<&Mem> = run.memory.into_iter().chain(self.figure.iter().map(Buffer::mem)).collect();
        self.kernels.bind(at, (Operands { memory: &memory, scratch: &[] }, 0), &launch)
    }

    /// Enqueues the kernels with these indices; returns their events.
    fn start_passes(&self, run: &StepRun, launch: Launch, passes: Range<usize>) -> Answer<Vec<Event>> {
        let mut after = run.after;
        passes.map(|at| self.bind(run, launch, at)?.enqueue(run.queue, std::mem::take(&mut after))).collect()
    }

    /// Enqueues [`StepId::Distances`] for a range of characters; returns the events of its commands.
    fn start_distances(&self, run: &StepRun, launch: Launch) -> Answer<Vec<Event>> {
        let Scheme { mapping, launches_per_block, .. } = self.scheme();
        let (colours, all) =
            (self.colours.len() as u32, self.colours.last().map_or(0, |last| last.end) as u32);
        let bind = |constraints| self.bind(run, Launch { constraints, ..launch }, DISTANCES_AT);
        let bound = match mapping {
            ConstraintMapping::Single => bind([0, all])?,
            ConstraintMapping::Groups => bind([colours, all])?,
            ConstraintMapping::Blocks | ConstraintMapping::Octets => {
                // On a CPU a core runs one work-group at a time, on a GPU a warp does.
                let group = if self.is_cpu || launches_per_block { 1 } else { 32 };
                let first = if mapping == ConstraintMapping::Octets { colours } else { 0 };
                bind([first, all])?.with_size([launch.blocks.div_ceil(group), 1], [group, 1])
            }
            ConstraintMapping::Colours => {
                let [_, positions, _, next, ..] = run.memory;
                let mut events = Vec::new();
                if positions.raw() != next.raw() {
                    events = self.start_passes(run, launch, COPY_AT..COPY_AT + 1)?;
                }
                let mut waits = if events.is_empty() { run.after.to_vec() } else { events.clone() };
                events.clear();
                for colour in (0..ITERATIONS).flat_map(|_| &self.colours) {
                    let bound = bind([colour.start as u32, colour.end as u32])?;
                    events.push(bound.enqueue(run.queue, &waits)?);
                    waits.clear();
                }
                return Ok(events);
            }
        };
        Ok(vec![bound.enqueue(run.queue, run.after)?])
    }
}

/// Uploads the parts of the figure's model that are the same in each frame, in the order of the kernels' arguments. The
/// vertices are one array of structures if `is_structs` is true, otherwise separate arrays.
fn figure_buffers(cl: &ClContext, figure: &Figure, is_structs: bool) -> Result<[Buffer; 6]> {
    let make = |numbers: &[f32]| -> Answer<Buffer> {
        let bytes: &[u8] = cast_slice(numbers);
        let buffer = Buffer::new(&cl.context, allocation_flags(cl), bytes.len())?;
        buffer.write(&cl.queue, bytes)?;
        Ok(buffer)
    };
    // Integers are stored as the floats with the same bits.
    let word = |number: u32| f32::from_bits(number);
    let of_vertex = |v: BodyVertex| {
        let first = v.position.into_iter().chain(v.normal).chain(v.weights);
        first.chain(v.bones.map(word)).chain(v.uv)
    };
    let numbers: Vec<f32> = figure.skinned_points().into_iter().flat_map(of_vertex).collect();
    let count = numbers.len() / 20;
    let planes = || (0..20 * count).map(|at| numbers[at % count * 20 + at / count]).collect::<Vec<f32>>();
    let shirt = &figure.shirt;
    let pairs: Vec<f32> = shirt.constraints.iter().flat_map(|c| [word(c.a), word(c.b)]).collect();
    let lengths: Vec<f32> =
        shirt.constraints.iter().flat_map(|c| [c.rest, c.shares[0], c.shares[1], 0.0]).collect();
    let ends: Vec<f32> = shirt.colours.iter().map(|colour| word(colour.end as u32)).collect();
    let uv: Vec<f32> = figure.body.vertices.iter().flat_map(|v| [v.uv[0], v.uv[1]]).collect();
    let made = || -> Answer<[Buffer; 6]> {
        let vertices = if is_structs { make(&numbers)? } else { make(&planes())? };
        Ok([vertices, make(&pairs)?, make(&lengths)?, make(&ends)?, make(&shirt.reach)?, make(&uv)?])
    };
    made().map_err(|e| failed("The figure could not be brought to the device.", &e))
}
