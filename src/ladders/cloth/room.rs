//! Inputs and output of a case. In: a case, and the name of an input. Out: arrays on the host and, in each layout that is
//! asked for, on the device, and the output between two guards.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::case::Case;
use super::data::{PARTICLE, POSES, at_rest, floats};
use super::host::{self, Motion, POSE};
use super::kernels::{Memory, Program};
use super::layout::{Layout, Shape};
use super::model::{BodyVertex, Figure, PARTICLES, Walk, army};
use super::reference::Given;
use super::steps::StepId;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Event};
use crate::gpu::guarded::{Guarded, bytes};
use crate::ladder::measure::{Sample, sample};
use crate::verify;

/// Names of the inputs; the first is the one that is timed.
pub(super) const NAMES: &[&str] = &["walking", "dragged", "tangled"];

/// Arrays of an army on the host: pose, positions, previous ones, skinned vertices.
#[derive(Debug, Default)]
struct Inputs([Vec<f32>; 4]);

/// The same on the device, in a layout.
#[derive(Debug)]
struct OnDevice {
    inputs: [Guarded; 4],
    output: Guarded,
    /// Particles and skinned vertices that are neither input nor output.
    between: [Guarded; 2],
    /// Whether the inputs are there.
    loaded: bool,
}

/// Inputs and output of a case.
#[derive(Debug)]
pub struct Room {
    pub(super) case: Case,
    pub(super) figure: Arc<Figure>,
    pub(super) all: Vec<BodyVertex>,
    pub(super) motion: Motion,
    cl: Option<ClContext>,
    /// Floats on each side of the output.
    guard: usize,
    inputs: Inputs,
    /// With its guards.
    output: Vec<f32>,
    device: BTreeMap<usize, OnDevice>,
}

/// Of -1 to 1, by a mix of the bits of `i` (Murmur3's last step: A. Appleby, 2011).
fn noise(i: usize) -> f32 {
    let mut bits = (i as u32).wrapping_add(1);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
        bits = (bits ^ bits >> shift).wrapping_mul(factor);
    }
    bits ^= bits >> 16;
    (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
}

/// By which the arrays of a layout are found.
fn key(layout: Layout) -> usize {
    match layout {
        Layout::Structs => 0,
        Layout::Planes(lanes) => lanes,
    }
}

impl Room {
    pub(super) fn new(cl: Option<&ClContext>, case: Case, figure: Arc<Figure>, guard: usize) -> Self {
        let all = figure.body.vertices.iter().chain(&figure.shirt.drivers).copied().collect();
        let guard = guard / 4;
        let output = vec![0.0; case.army as usize * case.output(&figure).each() + 2 * guard];
        let motion = Motion { carry: 0.97, fall: -0.0027, at: [0.0, 1.1, 0.1, 0.0], pull: [0.0; 4] };
        let (inputs, device) = (Inputs::default(), BTreeMap::new());
        Self { case, figure, all, motion, cl: cl.cloned(), guard, inputs, output, device }
    }

    fn army(&self) -> usize {
        self.case.army as usize
    }

    fn shapes(&self) -> [Shape; 4] {
        [POSES, PARTICLE, PARTICLE, Shape { items: self.all.len(), numbers: 6 }]
    }

    /// Fills the inputs; what is right for them.
    pub(super) fn load(&mut self, input: &str) -> Vec<u8> {
        let walks: Vec<Walk> = army(self.army());
        let seconds = 0.4;
        let rest: Vec<f32> = walks.iter().flat_map(|walk| at_rest(&self.figure, walk)).collect();
        let pose: Vec<f32> = walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let mut skinned = vec![0.0; self.army() * 6 * self.all.len()];
        for (pose, to) in pose.chunks_exact(POSE).zip(skinned.chunks_exact_mut(6 * self.all.len())) {
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
        // Some are faster than any may be.
        let before = |(at, x): (usize, &f32)| {
            let slow = 0.01 * (0.3 * at as f32).cos();
            if tangled && at % 7 == 0 { x + 0.4 * noise(at + 5) } else { x + slow }
        };
        let previous = positions.iter().enumerate().map(before).collect();
        self.inputs = Inputs([pose, positions, previous, skinned]);
        self.device.values_mut().for_each(|device| device.loaded = false);
        bytes(&self.reference())
    }

    /// What is right, character after character; of vertices first all shirts.
    fn reference(&self) -> Vec<f32> {
        let mut parts = [Vec::new(), Vec::new()];
        for character in 0..self.army() {
            let [pose, positions, previous, skinned] = self.of(character);
            let (figure, motion) = (&*self.figure, &self.motion);
            let given = Given { figure, motion, pose, positions, previous, skinned };
            let [first, second] = match self.case.step {
                Some(StepId::Skin) => [given.skin(), Vec::new()],
                Some(StepId::Integrate) => [given.integrate(), Vec::new()],
                Some(StepId::Distances) => [given.distances(), Vec::new()],
                Some(StepId::Drive) => [given.drive(), Vec::new()],
                Some(StepId::Write) => given.write(),
                None => given.chain(),
            };
            parts[0].extend(first);
            parts[1].extend(second);
        }
        parts.concat()
    }

    /// A character's inputs.
    pub(super) fn of(&self, character: usize) -> [&[f32]; 4] {
        let shapes = self.shapes();
        std::array::from_fn(|at| {
            let each = shapes[at].each();
            self.inputs.0[at].get(character * each..(character + 1) * each).unwrap_or_default()
        })
    }

    /// The output on the host, without its guards, to be written while the inputs are read.
    pub(super) fn take_output(&mut self) -> Vec<f32> {
        std::mem::take(&mut self.output)
    }

    /// Gives it back.
    pub(super) fn put_output(&mut self, output: Vec<f32>) {
        self.output = output;
    }

    /// Floats on each side of the output.
    pub(super) fn guard(&self) -> usize {
        self.guard
    }

    fn lies(&self, layout: Layout) -> (Layout, Shape) {
        let shape = self.case.output(&self.figure);
        // As one number after the other.
        let whole = Shape { items: shape.each(), numbers: 1 };
        (self.case.lies(layout), if self.case.is_vertices() { whole } else { shape })
    }

    fn on_device(&mut self, layout: Layout) -> Result<&OnDevice> {
        let (army, shapes, guard) = (self.army(), self.shapes(), self.guard);
        let (lies, shape) = self.lies(layout);
        let cl = self.cl.as_ref().ok_or_else(without_memory)?;
        let device = match self.device.entry(key(layout)) {
            Entry::Occupied(device) => device.into_mut(),
            Entry::Vacant(room) => {
                let make = |at: usize| Guarded::new(cl, layout.len(shapes[at], army), guard);
                room.insert(OnDevice {
                    inputs: [make(0)?, make(1)?, make(2)?, make(3)?],
                    output: Guarded::new(cl, lies.len(shape, army), guard)?,
                    between: [make(1)?, make(3)?],
                    loaded: false,
                })
            }
        };
        if !device.loaded {
            for ((to, numbers), shape) in device.inputs.iter().zip(&self.inputs.0).zip(shapes) {
                to.write(&guarded(&layout.lay(shape, army, numbers), guard))?;
            }
            device.loaded = true;
        }
        Ok(device)
    }

    /// Fills the output with its guards, in that layout or, without one, on the host.
    pub(super) fn write(&mut self, layout: Option<Layout>, with_guards: &[u8]) -> Result<()> {
        let numbers = floats(with_guards);
        let Some(layout) = layout else {
            self.output = numbers;
            return Ok(());
        };
        let (guard, army) = (self.guard, self.army());
        let (lies, shape) = self.lies(layout);
        let (before, rest) = numbers.split_at(guard);
        let (middle, after) = rest.split_at(rest.len() - guard);
        let laid = [before, &lies.lay(shape, army, middle), after].concat();
        self.on_device(layout)?.output.write(&bytes(&laid))
    }

    /// The output with its guards.
    pub(super) fn read(&self, layout: Option<Layout>) -> Result<Vec<u8>> {
        let Some(layout) = layout else { return Ok(bytes(&self.output)) };
        let device = self.device.get(&key(layout)).ok_or_else(without_memory)?;
        let numbers = floats(&device.output.read()?);
        let (lies, shape) = self.lies(layout);
        let (before, rest) = numbers.split_at(self.guard);
        let (middle, after) = rest.split_at(lies.len(shape, self.army()));
        Ok(bytes(&[before, &lies.take(shape, self.army(), middle), &after[..self.guard]].concat()))
    }

    /// How many bytes of the inputs have changed there.
    pub(super) fn changed(&self, layout: Option<Layout>) -> Result<usize> {
        let Some((layout, device)) = layout.and_then(|l| Some((l, self.device.get(&key(l))?))) else {
            return Ok(0);
        };
        let (army, guard) = (self.army(), self.guard);
        let each = device.inputs.iter().zip(&self.inputs.0).zip(self.shapes());
        each.map(|((array, numbers), shape)| {
            let before = guarded(&layout.lay(shape, army, numbers), guard);
            Ok(verify::changed(&before, &array.read()?))
        })
        .sum()
    }

    /// One run on the device, waited for.
    pub(super) fn run(&mut self, program: &Program) -> Result<Sample> {
        let (case, motion, army) = (self.case, self.motion, self.army());
        let cl = self.cl.clone().ok_or_else(without_memory)?;
        let OnDevice { inputs, output, between, .. } = self.on_device(program.layout())?;
        let [pose, positions, previous, skinned] = inputs.each_ref().map(Guarded::memory);
        let [moved, new_skinned] = between.each_ref().map(Guarded::memory);
        let output = output.memory();
        let ran = sample(&cl.queue, |queue| {
            let start = |step, memory: Memory| program.start(queue, step, &memory, &motion, army, &[]);
            let memory = Memory { pose, positions, previous, moved: output, skinned, vertices: output };
            match case.step {
                Some(StepId::Skin) => start(StepId::Skin, Memory { skinned: output, ..memory }),
                Some(step) => start(step, memory),
                None => {
                    let mut events: Vec<Event> = Vec::new();
                    let memory = Memory { moved, skinned: new_skinned, ..memory };
                    for step in StepId::ALL {
                        let later = matches!(step, StepId::Distances | StepId::Drive | StepId::Write);
                        let positions = if later { moved } else { positions };
                        events.extend(start(step, Memory { positions, ..memory })?);
                    }
                    Ok(events)
                }
            }
        });
        // Other cases have other memory.
        program.forget_memory();
        ran
    }

    /// Input and output for the limit: as many numbers are written as the output has.
    pub(super) fn stream(
        &mut self,
    ) -> Result<(&crate::gpu::cl::Mem, &crate::gpu::cl::Mem, [usize; 2], ClContext)> {
        let layout = Layout::Planes(1);
        let (army, shape) = (self.army(), self.shapes()[3]);
        let (lies, output) = self.lies(layout);
        let lens = [lies.len(output, army) / 4, layout.len(shape, army) / 4];
        let cl = self.cl.clone().ok_or_else(without_memory)?;
        let device = self.on_device(layout)?;
        Ok((device.inputs[3].memory(), device.output.memory(), lens, cl))
    }
}

/// Numbers between two guards that are no numbers: who reads there spoils what comes of it.
fn guarded(numbers: &[f32], guard: usize) -> Vec<u8> {
    let nothing = vec![f32::NAN; guard];
    bytes(&[&nothing, numbers, &nothing].concat())
}

fn without_memory() -> Error {
    Error::new("The cloth cannot run on the device.", "The device has no room for it.", "")
}
