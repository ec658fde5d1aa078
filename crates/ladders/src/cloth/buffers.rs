//! The inputs and the output of a case: on the host, and on the device in each layout that a variant uses. The output lies
//! between two guards (known values that reveal writes outside the output).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use bytemuck::cast_slice;

use super::case::Case;
use super::codes::Transfer;
use super::data::{PARTICLE_SHAPE, POSE_SHAPE, floats, rest_positions};
use super::host::{self, Characters, Motion, POSE_FLOATS};
use super::kernels::{Program, StepRun};
use super::layout::{Layout, Shape};
use super::model::{BodyVertex, Figure, PARTICLES, Walk, army};
use super::reference::expected;
use super::steps::StepId;
use super::transfers::{DeviceArrays, HostCopies};
use base::error::{Error, Result};
use base::random::mix;
use base::timing::ms_since;
use base::verify;
use compute::plan;
use compute::plan::Operands;
use compute::sample::{Sample, sample};
use opencl::cl::ClContext;
use opencl::guarded::GuardedArray;

/// The names of the kinds of input; the first one is timed.
pub(super) const INPUT_NAMES: &[&str] = &["walking", "dragged", "tangled"];

/// The way in which a variant keeps its arrays on the device: their layout, and how they are transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrangement {
    pub layout: Layout,
    pub transfer: Transfer,
}

impl Arrangement {
    /// The arrangement of the peak kernel.
    pub(super) const PEAK: Self = Self { layout: Layout::Planes(1), transfer: Transfer::Resident };

    /// Returns the arrangement that the compiled kernels of `program` expect.
    pub(super) fn new(program: &Program) -> Self {
        Self { layout: program.layout, transfer: program.scheme().transfer }
    }
}

/// The inputs and the output of a case, on the host and on the device.
#[derive(Debug)]
pub struct Buffers {
    pub(super) case: Case,
    pub(super) figure: Arc<Figure>,
    /// The vertices that are skinned, of the body and the drivers.
    all: Vec<BodyVertex>,
    motion: Motion,
    cl: Option<ClContext>,
    /// The number of floats in each guard, before and after the output.
    guard: usize,
    /// The input arrays on the host: pose, positions, previous positions, skinned vertices.
    inputs: [Vec<f32>; 4],
    /// The output on the host with its guards.
    output: Vec<f32>,
    device: BTreeMap<Arrangement, DeviceArrays>,
}

/// Returns a pseudo-random number from -1 to 1 for the index `i`.
fn noise(i: usize) -> f32 {
    (mix(i as u32) >> 8) as f32 / (1 << 23) as f32 - 1.0
}

impl Buffers {
    /// Creates the memory of a case, with guards of `guard` bytes. Arrays on the device are allocated when a variant first uses
    /// them.
    pub(super) fn new(cl: Option<&ClContext>, case: Case, figure: Arc<Figure>, guard: usize) -> Self {
        let (all, guard) = (figure.skinned_points(), guard / 4);
        let output = vec![0.0; case.army as usize * case.output(&figure).numbers_per_character() + 2 * guard];
        let motion = Motion { carry: 0.97, fall: -0.0027, at: [0.0, 1.1, 0.1, 0.0], pull: [0.0; 4] };
        let (inputs, device) = (Default::default(), BTreeMap::new());
        Self { case, figure, all, motion, cl: cl.cloned(), guard, inputs, output, device }
    }

    fn army(&self) -> usize {
        self.case.army as usize
    }

    /// Returns the shapes of the input arrays.
    fn shapes(&self) -> [Shape; 4] {
        [POSE_SHAPE, PARTICLE_SHAPE, PARTICLE_SHAPE, Shape { items: self.all.len(), numbers: 6 }]
    }

    /// Fills the input arrays on the host with the kind of input called `input`; returns the expected output as bytes.
    pub(super) fn load(&mut self, input: &str) -> Vec<u8> {
        let walks: Vec<Walk> = army(self.army());
        let seconds = 0.4;
        let rest: Vec<f32> = walks.iter().flat_map(|walk| rest_positions(&self.figure, walk)).collect();
        let pose: Vec<f32> = walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let mut skinned = vec![0.0; self.army() * 6 * self.all.len()];
        for (pose, to) in pose.chunks_exact(POSE_FLOATS).zip(skinned.chunks_exact_mut(6 * self.all.len())) {
            host::skin(&self.all, pose, to);
        }
        let tangled = input == "tangled";
        let dragged = if input == "dragged" { 1.0 } else { 0.0 };
        self.motion.at[3] = 4.0 * dragged;
        self.motion.pull = [0.11 * dragged, -0.07 * dragged, 0.05 * dragged, 0.0];
        let folds = |(at, x): (usize, &f32)| {
            let (i, k) = (at / 3 % PARTICLES, at % 3);
            x + 0.012 * (0.7 * i as f32 + 2.0 * k as f32).sin()
                + if tangled { 0.004 * noise(at) } else { 0.0 }
        };
        let positions: Vec<f32> = rest.iter().enumerate().map(folds).collect();
        // Some particles are faster than [`MAX_MOVE`](super::host::MAX_MOVE) allows.
        let before = |(at, x): (usize, &f32)| {
            let slow = 0.01 * (0.3 * at as f32).cos();
            if tangled && at % 7 == 0 { x + 0.4 * noise(at + 5) } else { x + slow }
        };
        let previous = positions.iter().enumerate().map(before).collect();
        self.inputs = [pose, positions, previous, skinned];
        self.device.values_mut().for_each(|device| device.loaded = false);
        cast_slice(&self.reference()).to_vec()
    }

    /// Computes the expected output of all characters, one after the other. In an output of vertices, all shirts come before
    /// the bodies.
    fn reference(&self) -> Vec<f32> {
        let mut parts = [Vec::new(), Vec::new()];
        for character in 0..self.army() {
            for (part, of_one) in
                parts.iter_mut().zip(expected(self.case.step, &self.characters().one(character, self.army())))
            {
                part.extend(of_one);
            }
        }
        parts.concat()
    }

    /// Returns the inputs of all characters.
    fn characters(&self) -> Characters<'_> {
        let inputs = self.inputs.each_ref().map(Vec::as_slice);
        Characters { figure: &self.figure, points: &self.all, motion: &self.motion, inputs }
    }

    /// Runs the case on the host on `threads` threads, each of which computes some of the characters.
    pub(super) fn run_on_host(&mut self, threads: usize) -> Sample {
        // Taken out of `self`, because it is written while the inputs are borrowed.
        let mut output = std::mem::take(&mut self.output);
        let end = output.len() - self.guard;
        let begin = Instant::now();
        self.characters().run(self.case.step, (self.army(), threads), &mut output[self.guard..end]);
        let wall_ms = ms_since(begin);
        self.output = output;
        Sample::on_host(wall_ms)
    }

    /// Returns the layout and the shape of the output on the device, for a variant whose input arrays have the layout `layout`.
    fn output_layout(&self, layout: Layout) -> (Layout, Shape) {
        let shape = self.case.output(&self.figure);
        match self.case.is_vertices() {
            // Vertices always have OpenGL's layout: one number after the other, without padding.
            true => (Layout::Structs, Shape { items: shape.numbers_per_character(), numbers: 1 }),
            false => (layout, shape),
        }
    }

    /// Returns the device's arrays in an arrangement, after allocating them and uploading the inputs if necessary.
    fn on_device(&mut self, arrangement: Arrangement) -> Result<&mut DeviceArrays> {
        let (army, shapes, guard) = (self.army(), self.shapes(), self.guard);
        let Arrangement { layout, transfer } = arrangement;
        let (output_layout, shape) = self.output_layout(layout);
        let cl = self.cl.as_ref().ok_or_else(no_device_memory)?;
        let device = match self.device.entry(arrangement) {
            Entry::Occupied(device) => device.into_mut(),
            Entry::Vacant(entry) => {
                let new =
                    if transfer == Transfer::InPlace { GuardedArray::in_place } else { GuardedArray::new };
                let make = |at: usize| new(cl, layout.len(shapes[at], army), guard);
                entry.insert(DeviceArrays {
                    inputs: [make(0)?, make(1)?, make(2)?, make(3)?],
                    output: new(cl, output_layout.len(shape, army), guard)?,
                    intermediate: [make(1)?, make(3)?],
                    host: matches!(transfer, Transfer::Write | Transfer::Copy).then(HostCopies::default),
                    loaded: false,
                })
            }
        };
        if !device.loaded {
            for (at, (numbers, of)) in self.inputs.iter().zip(shapes).enumerate() {
                let packed = layout.pack(of, army, numbers);
                let input_bytes = device.host.as_mut().and_then(|host| host.input_bytes.get_mut(at));
                // If each frame writes the inputs, they are filled with NaN before the frame.
                let is_later = input_bytes.is_some() && transfer == Transfer::Write;
                let first = if is_later { vec![f32::NAN; packed.len()] } else { packed.clone() };
                device.inputs[at].write(&with_guards(&first, guard))?;
                if let Some(input_bytes) = input_bytes {
                    *input_bytes = cast_slice(&packed).to_vec();
                }
            }
            if let Some(host) = &mut device.host {
                host.vertex_bytes.resize(4 * output_layout.len(shape, army), 0);
            }
            device.loaded = true;
        }
        Ok(device)
    }

    /// Writes the output with its guards: to the device's arrays in this arrangement, or if `arrangement` is `None` to the
    /// host's array.
    pub(super) fn write(&mut self, arrangement: Option<Arrangement>, guarded_bytes: &[u8]) -> Result<()> {
        let numbers = floats(guarded_bytes);
        let Some(arrangement) = arrangement else {
            self.output = numbers;
            return Ok(());
        };
        let (guard, army) = (self.guard, self.army());
        let (output_layout, shape) = self.output_layout(arrangement.layout);
        let (before, rest) = numbers.split_at(guard);
        let (middle, after) = rest.split_at(rest.len() - guard);
        let packed = output_layout.pack(shape, army, middle);
        let device = self.on_device(arrangement)?;
        if let Some(host) = &mut device.host {
            host.vertex_bytes = cast_slice(&packed).to_vec();
        }
        device.output.write(cast_slice(&[before, &packed, after].concat()))
    }

    /// Reads the output with its guards: from the device's arrays in this arrangement, or if `arrangement` is `None` from the
    /// host's array. If the variant transfers the vertices to the host, returns the transferred vertices.
    pub(super) fn read(&self, arrangement: Option<Arrangement>) -> Result<Vec<u8>> {
        let Some(arrangement) = arrangement else { return Ok(cast_slice(&self.output).to_vec()) };
        let device = self.device.get(&arrangement).ok_or_else(no_device_memory)?;
        let numbers = floats(&device.output.read()?);
        let (output_layout, shape) = self.output_layout(arrangement.layout);
        let (before, rest) = numbers.split_at(self.guard);
        let (middle, after) = rest.split_at(output_layout.len(shape, self.army()));
        let vertex_bytes = device.host.as_ref().map(|host| floats(&host.vertex_bytes));
        let middle = output_layout.unpack(shape, self.army(), vertex_bytes.as_deref().unwrap_or(middle));
        Ok(cast_slice(&[before, &middle, &after[..self.guard]].concat()).to_vec())
    }

    /// Returns the number of bytes that a run has changed in the input arrays on the device, in this arrangement; 0 if
    /// `arrangement` is `None`.
    pub(super) fn count_changed(&self, arrangement: Option<Arrangement>) -> Result<usize> {
        let Some((layout, device)) = arrangement.and_then(|at| Some((at.layout, self.device.get(&at)?)))
        else {
            return Ok(0);
        };
        let (army, guard) = (self.army(), self.guard);
        let each = device.inputs.iter().zip(&self.inputs).zip(self.shapes());
        each.map(|((array, numbers), shape)| {
            let before = with_guards(&layout.pack(shape, army, numbers), guard);
            Ok(verify::count_changed(&before, &array.read()?))
        })
        .sum()
    }

    /// Runs a variant's kernels once on the device, and waits until they are done.
    pub(super) fn run(&mut self, program: &Program) -> Result<Sample> {
        let (case, motion, army) = (self.case, self.motion, self.army());
        let cl = self.cl.clone().ok_or_else(no_device_memory)?;
        let device = self.on_device(Arrangement::new(program))?;
        let ran = sample(&cl.queue, |queue| {
            let Some(step) = case.step else {
                return device.enqueue_frame(&cl, program, (&motion, army));
            };
            let [pose, positions, previous, skinned] = device.inputs.each_ref().map(GuardedArray::memory);
            let output = device.output.memory();
            let skinned = if step == StepId::Skin { output } else { skinned };
            let memory = [pose, positions, previous, output, skinned, output];
            program.start(step, StepRun { queue, memory, motion: &motion, army, after: &[] })
        });
        if ran.is_err() {
            // A pending transfer may still use the host's memory.
            let _ = cl.queue.finish();
        }
        // The kernels must not keep memory of this case alive.
        program.kernels.forget_memory();
        // The times of overlapping commands cannot be added, and creating a buffer is no command: then wall time counts.
        ran.map(|ran| match program.scheme().transfer {
            Transfer::Resident => ran,
            _ => Sample::on_host(ran.wall_ms),
        })
    }

    /// Runs the peak kernel, which writes as many bytes as the output has.
    pub(super) fn run_peak(&mut self, program: &plan::Program<[usize; 2]>) -> Result<Sample> {
        let arrangement = Arrangement::PEAK;
        let (army, shape) = (self.army(), self.shapes()[3]);
        let (output_layout, output) = self.output_layout(arrangement.layout);
        let lens = [output_layout.len(output, army) / 4, arrangement.layout.len(shape, army) / 4];
        let cl = self.cl.clone().ok_or_else(no_device_memory)?;
        let device = self.on_device(arrangement)?;
        let memory = [device.inputs[3].memory(), device.output.memory()];
        sample(&cl.queue, |queue| program.enqueue(queue, Operands { memory: &memory, scratch: &[] }, &lens))
    }
}

/// Returns the bytes of `numbers` between two guards of `guard` NaNs each. A kernel that reads a guard spoils its result.
fn with_guards(numbers: &[f32], guard: usize) -> Vec<u8> {
    let nothing = vec![f32::NAN; guard];
    cast_slice(&[&nothing, numbers, &nothing].concat()).to_vec()
}

fn no_device_memory() -> Error {
    Error::new("The cloth cannot run on the device.", "The device has not enough memory for it.", "")
}
