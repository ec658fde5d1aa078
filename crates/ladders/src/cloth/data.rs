//! The arrays of a crowd on the host and on the device. Each array is copied to the side on which the next step needs it.

use std::sync::Arc;
use std::time::Instant;

use bytemuck::cast_slice;

use super::codes;
use super::host::{self, Characters, Motion, POSE_FLOATS, VERTEX_FLOATS};
use super::kernels::{Program, StepRun};
use super::layout::{Layout, Shape};
use super::model::{BONES, BodyVertex, Figure, PARTICLES, SHIRT_VERTICES, Walk, army};
use super::steps::StepId;
use base::error::{Error, Result};
use compute::config::Config;
use opencl::cl::{Buffer, ClContext, Event, Queue, Status, failed};
use opencl::memory::allocation_flags;

/// The shape of the array of poses.
pub(super) const POSE_SHAPE: Shape = Shape { items: POSE_FLOATS, numbers: 1 };
/// The shape of the array of particles.
pub(super) const PARTICLE_SHAPE: Shape = Shape { items: PARTICLES, numbers: 3 };

/// The memory that has the current contents of an array: the host's, the device's or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Host,
    Device,
    Both,
}

/// An array with the data of all characters of a crowd.
#[derive(Debug)]
struct Array {
    /// The number of items of each character, and of numbers in each item.
    shape: Shape,
    /// The layout on the device.
    layout: Layout,
    host: Vec<f32>,
    location: Location,
}

/// The device that simulates a crowd, with its queue, kernels and memory.
#[derive(Debug)]
struct ArmyDevice {
    queue: Queue,
    program: Program,
    /// The memory of the arrays, in the order of the indices from [`POSE`] to [`VERTICES`].
    buffers: [Buffer; 5],
    /// The buffer into which the vertices are written; `None` for the device's own array.
    target: Option<Buffer>,
    /// The bytes of a pose that is being uploaded, and the upload's event. The driver reads the bytes until the event is
    /// complete.
    pending_pose: Option<(Vec<u8>, Event)>,
}

/// A crowd of figures in shirts, and the five steps that simulate it.
#[derive(Debug)]
pub struct Chain {
    /// The figure of which the crowd has copies.
    pub figure: Arc<Figure>,
    pub(super) walks: Vec<Walk>,
    /// The vertices that are skinned, of the body and the drivers.
    points: Vec<BodyVertex>,
    /// The arrays, in the order of the indices from [`POSE`] to [`VERTICES`].
    arrays: [Array; 5],
    /// Memory for positions that the next step on the host computes.
    spare: Vec<f32>,
    device: Option<ArmyDevice>,
    /// True for each step that runs on the host. Without a device all steps do.
    on_host: [bool; 5],
    /// The time for which the crowd has walked, in seconds.
    pub seconds: f64,
    /// The length of the last step in seconds.
    pub(super) dt: f32,
}

/// The indices of the arrays: poses, positions of the particles, their positions one step earlier, skinned vertices, vertices
/// for OpenGL.
const POSE: usize = 0;
const POSITIONS: usize = 1;
const PREVIOUS: usize = 2;
const SKINNED: usize = 3;
const VERTICES: usize = 4;

/// Returns the indices of the arrays that a step reads, except the pose.
fn reads(step: StepId) -> &'static [usize] {
    match step {
        StepId::Skin => &[],
        StepId::Integrate | StepId::Distances => &[POSITIONS, PREVIOUS],
        StepId::Drive | StepId::Write => &[POSITIONS, PREVIOUS, SKINNED],
    }
}

/// Returns the indices of the arrays that a step writes.
fn writes(step: StepId) -> &'static [usize] {
    match step {
        StepId::Skin => &[SKINNED],
        StepId::Write => &[VERTICES],
        _ => &[POSITIONS, PREVIOUS],
    }
}

impl Chain {
    /// Creates a crowd of `count` copies of a figure at the beginning of their walk. All steps run on the device of `cl`, or on
    /// the host if `cl` is `None`.
    ///
    /// # Errors
    /// Returns an error if the kernels do not build, or there is not enough memory.
    pub fn with_figure(figure: Arc<Figure>, count: usize, cl: Option<&ClContext>) -> Result<Self> {
        let walks = army(count.max(1));
        let compile = |cl: &ClContext| {
            // A CPU is fast with several characters in the lanes of its vectors, a GPU with a work-group for each character.
            let code = match cl.is_cpu() {
                true if walks.len() >= 4 => &codes::LANES,
                true => &codes::PLANES,
                false => &codes::GROUPED,
            };
            Program::compile(cl, &Config::for_device(code, &cl.device.info), &figure)
        };
        let program = cl.map(compile).transpose()?;
        let layout = program.as_ref().map_or(Layout::Structs, |program| program.layout);
        let (points, count) = (figure.skinned_points(), walks.len());
        let array = |shape: Shape, layout: Layout| {
            let host = vec![0.0; count * shape.numbers_per_character()];
            Array { shape, layout, host, location: Location::Host }
        };
        let particles = || {
            let host = walks.iter().flat_map(|walk| rest_positions(&figure, walk)).collect();
            Array { host, ..array(PARTICLE_SHAPE, layout) }
        };
        let vertices = VERTEX_FLOATS * (SHIRT_VERTICES + figure.body.vertices.len());
        let arrays = [
            array(POSE_SHAPE, layout),
            particles(),
            particles(),
            array(Shape { items: points.len(), numbers: 6 }, layout),
            // Vertices are stored one number after the other.
            array(Shape { items: vertices, numbers: 1 }, Layout::Structs),
        ];
        let on_device = |(cl, program): (&ClContext, Program)| -> Result<ArmyDevice> {
            let buffer = |at: usize| {
                let bytes = 4 * arrays[at].layout.len(arrays[at].shape, count);
                let made = Buffer::new(&cl.context, allocation_flags(cl), bytes);
                made.map_err(|e| failed("Memory for the cloth could not be allocated on the device.", &e))
            };
            let buffers = [buffer(0)?, buffer(1)?, buffer(2)?, buffer(3)?, buffer(4)?];
            Ok(ArmyDevice { queue: cl.queue.clone(), program, buffers, target: None, pending_pose: None })
        };
        let device = cl.zip(program).map(on_device).transpose()?;
        let on_host = [device.is_none(); 5];
        let spare = Vec::new();
        Ok(Self { figure, walks, points, arrays, spare, device, on_host, seconds: 0.0, dt: 1.0 / 60.0 })
    }

    /// Returns true if a step runs on the host.
    pub fn is_on_host(&self, step: StepId) -> bool {
        self.on_host[step as usize]
    }

    /// Moves a step to the host or to the device, from the next frame on. Without a device the step stays on the host.
    pub fn put_on_host(&mut self, step: StepId, on_host: bool) {
        self.on_host[step as usize] = on_host || self.device.is_none();
    }

    /// Sets the pose of all figures at the time for which they have walked, and starts uploading it.
    pub(super) fn set_pose(&mut self) -> Result<()> {
        let (pose, seconds) = (&mut self.arrays[POSE], self.seconds as f32);
        pose.host = self.walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let Some(device) = &mut self.device else { return Ok(()) };
        if let Some((_, event)) = &device.pending_pose {
            event.wait_for().map_err(copy_failed)?;
        }
        let packed = pose.layout.pack(pose.shape, self.walks.len(), &pose.host);
        let bytes: Vec<u8> = cast_slice(&packed).to_vec();
        // SAFETY: the bytes stay in `pending_pose`, which nobody changes, until the event is complete.
        let event = unsafe { device.buffers[POSE].enqueue_write(&device.queue, bytes.as_slice(), false) };
        device.pending_pose = Some((bytes, event.map_err(copy_failed)?));
        Ok(())
    }

    /// Sets the device buffer into which the vertices are written from the next frame on. It must belong to the chain's
    /// context; `None` selects the chain's own memory. A vertex has 32 bytes: position, normal, u, v. All shirts come first,
    /// then all bodies, in the order of the characters. Until the next frame [`Chain::vertices`] returns the vertices that the
    /// host had last, because an earlier buffer is not read any more.
    pub fn write_to(&mut self, target: Option<Buffer>) {
        if let Some(device) = &mut self.device {
            device.target = target;
            let vertices = &mut self.arrays[VERTICES];
            if vertices.location == Location::Device {
                vertices.location = Location::Host;
            }
        }
    }

    /// Reads an array whose current contents are only on the device into `to`, in the device's layout; waits for the device.
    /// Returns false, and reads nothing, if the host has the current contents.
    fn read(&self, at: usize, to: &mut Vec<u8>) -> Result<bool> {
        let Array { shape, layout, location, .. } = &self.arrays[at];
        let (Some(device), Location::Device) = (&self.device, location) else { return Ok(false) };
        let from = device.target.as_ref().filter(|_| at == VERTICES).unwrap_or(&device.buffers[at]);
        to.resize(4 * layout.len(*shape, self.walks.len()), 0);
        from.read(&device.queue, to).map_err(copy_failed)?;
        Ok(true)
    }

    /// Copies those of `arrays` from the device to the host whose current contents are only on the device.
    fn download(&mut self, arrays: &[usize]) -> Result<()> {
        for &at in arrays {
            let mut bytes = Vec::new();
            if self.read(at, &mut bytes)? {
                let array = &mut self.arrays[at];
                array.host = array.layout.unpack(array.shape, self.walks.len(), &floats(&bytes));
                array.location = Location::Both;
            }
        }
        Ok(())
    }

    /// Enqueues a step on the device, which begins after the events `after`; returns the events of its commands. Returns `None`
    /// if the step is to run on the host.
    pub(super) fn enqueue(
        &mut self,
        step: StepId,
        motion: &Motion,
        after: &[Event],
    ) -> Result<Option<Vec<Event>>> {
        let army = self.walks.len();
        let Some(device) = self.device.as_mut().filter(|_| !self.on_host[step as usize]) else {
            return Ok(None);
        };
        for &at in reads(step) {
            let Array { shape, layout, host, location } = &mut self.arrays[at];
            if *location == Location::Host {
                let packed = layout.pack(*shape, army, host);
                device.buffers[at].write(&device.queue, cast_slice(&packed)).map_err(copy_failed)?;
                *location = Location::Both;
            }
        }
        let [pose, positions, previous, skinned, vertices] = &device.buffers;
        let next = if step == StepId::Integrate { previous } else { positions };
        let vertices = device.target.as_ref().unwrap_or(vertices);
        let memory = [pose, positions, previous, next, skinned, vertices].map(Buffer::mem);
        let run = StepRun { queue: &device.queue, memory, motion, army, after };
        let events = device.program.start(step, run)?;
        for &at in writes(step) {
            self.arrays[at].location = Location::Device;
        }
        if step == StepId::Integrate {
            // The new positions are in the array that had the previous ones.
            device.buffers.swap(POSITIONS, PREVIOUS);
        }
        Ok(Some(events))
    }

    /// Runs a step for all characters on the host, after the events `after`. Returns the time at which it began, when its inputs
    /// were in the host's memory.
    pub(super) fn run_on_host(&mut self, step: StepId, motion: &Motion, after: &[Event]) -> Result<Instant> {
        after.iter().try_for_each(Event::wait_for).map_err(copy_failed)?;
        self.download(reads(step))?;
        let begin = Instant::now();
        let to = match step {
            StepId::Skin => SKINNED,
            StepId::Write => VERTICES,
            _ => POSITIONS,
        };
        // New positions are computed from the old ones; other outputs are no inputs of their step.
        let mut output = match to {
            POSITIONS => {
                let mut spare = std::mem::take(&mut self.spare);
                spare.resize(self.arrays[POSITIONS].host.len(), 0.0);
                spare
            }
            _ => std::mem::take(&mut self.arrays[to].host),
        };
        let [pose, positions, previous, skinned, _] = &self.arrays;
        let inputs = [pose, positions, previous, skinned].map(|array| array.host.as_slice());
        let characters = Characters { figure: &self.figure, points: &self.points, motion, inputs };
        characters.run(Some(step), (self.walks.len(), 1), &mut output);
        let before = std::mem::replace(&mut self.arrays[to].host, output);
        if step == StepId::Integrate {
            self.spare = std::mem::replace(&mut self.arrays[PREVIOUS].host, before);
        } else if to == POSITIONS {
            self.spare = before;
        }
        for &at in writes(step) {
            self.arrays[at].location = Location::Host;
        }
        Ok(begin)
    }

    /// Returns the vertices in the host's memory. If they are on the device, waits for the device and copies them to the host.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn vertices(&mut self) -> Result<&[f32]> {
        self.download(&[VERTICES])?;
        Ok(&self.arrays[VERTICES].host)
    }

    /// Copies the vertices into `bytes` in OpenGL's format. Returns true if they were read from the device, in which case the
    /// call waited for the device.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn read_vertices(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        let is_read = self.read(VERTICES, bytes)?;
        if !is_read {
            bytes.clear();
            bytes.extend_from_slice(cast_slice(&self.arrays[VERTICES].host));
        }
        Ok(is_read)
    }

    /// Waits until all started steps are done.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn finish(&self) -> Result<()> {
        self.device.as_ref().map_or(Ok(()), |device| device.queue.finish().map_err(copy_failed))
    }

    /// Returns the state of the crowd, from which [`Chain::set_state`] can continue; waits for the device.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn state(&mut self) -> Result<State> {
        self.download(&[POSITIONS, PREVIOUS])?;
        let [positions, previous] = [POSITIONS, PREVIOUS].map(|at| self.arrays[at].host.clone());
        Ok(State { positions, previous, seconds: self.seconds, dt: self.dt })
    }

    /// Continues from the state of another simulation. Does nothing if the number of figures differs, or a position is not
    /// finite.
    pub fn set_state(&mut self, state: &State) {
        let both = [(POSITIONS, &state.positions), (PREVIOUS, &state.previous)];
        let is_sane = |(at, new): &(usize, &Vec<f32>)| {
            new.len() == self.arrays[*at].host.len() && new.iter().all(|x| x.is_finite())
        };
        if both.iter().all(is_sane) {
            for (at, new) in both {
                (self.arrays[at].host, self.arrays[at].location) = (new.clone(), Location::Host);
            }
            (self.seconds, self.dt) = (state.seconds, state.dt);
        }
    }
}

impl Drop for ArmyDevice {
    /// Waits for the upload of a pose, because the driver reads its bytes until then. If waiting fails, the bytes are leaked.
    fn drop(&mut self) {
        if let Some((pending_pose, event)) = self.pending_pose.take()
            && event.wait_for().is_err()
        {
            std::mem::forget(pending_pose);
        }
    }
}

/// The state of a crowd, from which the simulation can continue on another device.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The positions of all particles: three floats for each, one character after the other.
    pub(crate) positions: Vec<f32>,
    /// The positions of the particles one step earlier.
    pub(crate) previous: Vec<f32>,
    /// The time for which the crowd has walked, in seconds.
    pub(crate) seconds: f64,
    /// The length of the last step in seconds.
    pub(crate) dt: f32,
}

fn copy_failed(status: Status) -> Error {
    failed("The cloth could not be copied to or from the device.", &status)
}

pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

/// Returns the positions of a figure's particles at the beginning of its walk: each is moved from its position at rest by the
/// bones of its driver.
pub(super) fn rest_positions(figure: &Figure, walk: &Walk) -> Vec<f32> {
    let pose = walk.pose(0.0);
    debug_assert_eq!(pose.len(), BONES);
    let rest = figure.shirt.drivers.iter().zip(&figure.shirt.rest);
    let at_rest =
        |(driver, [x, y, z]): (&BodyVertex, &[f32; 3])| BodyVertex { position: [*x, *y, *z, 1.0], ..*driver };
    let points: Vec<BodyVertex> = rest.map(at_rest).collect();
    let mut skinned = vec![0.0; 6 * points.len()];
    host::skin(&points, pose.as_flattened(), &mut skinned);
    skinned.chunks_exact(6).flat_map(|v| [v[0], v[1], v[2]]).collect()
}
