//! Inputs and output of a case. In: a case, and the name of an input. Out: arrays on the host and, in each layout that is
//! asked for, on the device, and the output between two guards.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::case::Case;
use super::codes::Way;
use super::data::{PARTICLE, POSES, at_rest, floats};
use super::host::{self, Motion, POSE};
use super::kernels::{Memory, Program};
use super::layout::{Layout, Shape};
use super::model::{BodyVertex, Figure, PARTICLES, Walk, army};
use super::reference::Given;
use super::steps::StepId;
use super::ways;
use base::error::{Error, Result};
use base::verify;
use ladder::measure::{Sample, sample};
use opencl::cl::ClContext;
use opencl::guarded::{Guarded, bytes};

/// Names of the inputs; the first is the one that is timed.
pub(super) const NAMES: &[&str] = &["walking", "dragged", "tangled"];

/// Arrays of an army on the host: pose, positions, previous ones, skinned vertices.
#[derive(Debug, Default)]
struct Inputs([Vec<f32>; 4]);

/// Where a rung's arrays are on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrangement {
    pub layout: Layout,
    pub way: Way,
}

impl Arrangement {
    pub(super) fn of(program: &Program) -> Self {
        Self { layout: program.layout(), way: program.way() }
    }
}

/// The same on the device, in a layout.
#[derive(Debug)]
pub(super) struct OnDevice {
    pub inputs: [Guarded; 4],
    pub output: Guarded,
    /// Particles and skinned vertices that are neither input nor output.
    pub between: [Guarded; 2],
    /// What is written from the host and read to it in each frame, where that is so.
    pub host: Option<OnHost>,
    /// Whether the inputs are there.
    loaded: bool,
}

/// Bytes as they lie on the device.
#[derive(Debug, Default)]
pub(super) struct OnHost {
    /// Pose, positions, previous ones.
    pub given: [Vec<u8>; 3],
    /// Vertices.
    pub taken: Vec<u8>,
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
    device: BTreeMap<Arrangement, OnDevice>,
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

    fn on_device(&mut self, arranged: Arrangement) -> Result<&mut OnDevice> {
        let (army, shapes, guard) = (self.army(), self.shapes(), self.guard);
        let Arrangement { layout, way } = arranged;
        let (lies, shape) = self.lies(layout);
        let cl = self.cl.as_ref().ok_or_else(without_memory)?;
        let device = match self.device.entry(arranged) {
            Entry::Occupied(device) => device.into_mut(),
            Entry::Vacant(room) => {
                let new = if way == Way::InPlace { Guarded::in_place } else { Guarded::new };
                let make = |at: usize| new(cl, layout.len(shapes[at], army), guard);
                room.insert(OnDevice {
                    inputs: [make(0)?, make(1)?, make(2)?, make(3)?],
                    output: new(cl, lies.len(shape, army), guard)?,
                    between: [make(1)?, make(3)?],
                    host: matches!(way, Way::Written | Way::Copied).then(OnHost::default),
                    loaded: false,
                })
            }
        };
        if !device.loaded {
            for (at, (numbers, of)) in self.inputs.0.iter().zip(shapes).enumerate() {
                let laid = layout.lay(of, army, numbers);
                let given = device.host.as_mut().and_then(|host| host.given.get_mut(at));
                // What each frame is to write is not there before it.
                let is_later = given.is_some() && way == Way::Written;
                let first = if is_later { vec![f32::NAN; laid.len()] } else { laid.clone() };
                device.inputs[at].write(&guarded(&first, guard))?;
                if let Some(given) = given {
                    *given = bytes(&laid);
                }
            }
            if let Some(host) = &mut device.host {
                host.taken.resize(4 * lies.len(shape, army), 0);
            }
            device.loaded = true;
        }
        Ok(device)
    }

    /// Fills the output with its guards, so arranged, or, without one, on the host.
    pub(super) fn write(&mut self, arranged: Option<Arrangement>, with_guards: &[u8]) -> Result<()> {
        let numbers = floats(with_guards);
        let Some(arranged) = arranged else {
            self.output = numbers;
            return Ok(());
        };
        let (guard, army) = (self.guard, self.army());
        let (lies, shape) = self.lies(arranged.layout);
        let (before, rest) = numbers.split_at(guard);
        let (middle, after) = rest.split_at(rest.len() - guard);
        let laid = lies.lay(shape, army, middle);
        let device = self.on_device(arranged)?;
        if let Some(host) = &mut device.host {
            host.taken = bytes(&laid);
        }
        device.output.write(&bytes(&[before, &laid, after].concat()))
    }

    /// The output with its guards; what lies between them is what came to the host, where that is the rung's way.
    pub(super) fn read(&self, arranged: Option<Arrangement>) -> Result<Vec<u8>> {
        let Some(arranged) = arranged else { return Ok(bytes(&self.output)) };
        let device = self.device.get(&arranged).ok_or_else(without_memory)?;
        let numbers = floats(&device.output.read()?);
        let (lies, shape) = self.lies(arranged.layout);
        let (before, rest) = numbers.split_at(self.guard);
        let (middle, after) = rest.split_at(lies.len(shape, self.army()));
        let taken = device.host.as_ref().map(|host| floats(&host.taken));
        let middle = lies.take(shape, self.army(), taken.as_deref().unwrap_or(middle));
        Ok(bytes(&[before, &middle, &after[..self.guard]].concat()))
    }

    /// How many bytes of the inputs have changed there.
    pub(super) fn changed(&self, arranged: Option<Arrangement>) -> Result<usize> {
        let Some((layout, device)) = arranged.and_then(|at| Some((at.layout, self.device.get(&at)?))) else {
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
        let device = self.on_device(Arrangement::of(program))?;
        let ran = sample(&cl.queue, |queue| {
            let Some(step) = case.step else { return ways::frame(&cl, program, device, &motion, army) };
            let [pose, positions, previous, skinned] = device.inputs.each_ref().map(Guarded::memory);
            let output = device.output.memory();
            let skinned = if step == StepId::Skin { output } else { skinned };
            let memory = Memory { pose, positions, previous, moved: output, skinned, vertices: output };
            program.start(queue, step, &memory, &motion, army, &[])
        });
        if ran.is_err() {
            // What is on its way may still use the host's memory.
            let _ = cl.queue.finish();
        }
        // Other cases have other memory.
        program.forget_memory();
        // Commands that overlap have no sum, and memory that is made is no command: there the host's clock counts.
        ran.map(|ran| match program.way() {
            Way::Resident => ran,
            _ => Sample { device_ms: None, dispatch_ms: None, ..ran },
        })
    }

    /// Input and output for the limit: as many numbers are written as the output has.
    pub(super) fn stream(&mut self) -> Result<(&opencl::cl::Mem, &opencl::cl::Mem, [usize; 2], ClContext)> {
        let arranged = Arrangement { layout: Layout::Planes(1), way: Way::Resident };
        let (army, shape) = (self.army(), self.shapes()[3]);
        let (lies, output) = self.lies(arranged.layout);
        let lens = [lies.len(output, army) / 4, arranged.layout.len(shape, army) / 4];
        let cl = self.cl.clone().ok_or_else(without_memory)?;
        let device = self.on_device(arranged)?;
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
