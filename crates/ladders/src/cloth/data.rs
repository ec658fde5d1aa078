//! The arrays of a crowd on the host and on the device. Each array is copied to the side on which the next step needs it.

use std::sync::Arc;

use bytemuck::cast_slice;

use super::geometry::Point;
use super::host::{self, Motion, POSE_FLOATS, VERTEX_FLOATS};
use super::kernels::{Program, StepRun};
use super::layout::{Layout, Shape};
use super::model::{BONES, BodyVertex, Figure, PARTICLES, SHIRT_VERTICES, Walk};
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{Buffer, ClContext, Event, Queue, failed};
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

/// An array with the data of all characters of a crowd, in host and device memory.
#[derive(Debug)]
struct Array {
    /// The number of items of each character, and of numbers in each item.
    shape: Shape,
    /// The layout on the device.
    layout: Layout,
    host: Vec<f32>,
    device: Option<Buffer>,
    location: Location,
}

/// The device that simulates a crowd, with its queue and kernels.
#[derive(Debug)]
struct ArmyDevice {
    queue: Queue,
    program: Program,
    /// The buffer into which the vertices are written; `None` for the device's own array.
    target: Option<Buffer>,
    /// The bytes of a pose that is being uploaded, and the upload's event. The driver reads the bytes until the event is
    /// complete.
    pending_pose: Option<(Vec<u8>, Event)>,
}

/// The arrays of a crowd on the host and on the device.
#[derive(Debug)]
pub(super) struct ArmyArrays {
    pub figure: Arc<Figure>,
    pub walks: Vec<Walk>,
    /// The vertices that are skinned: first those of the body, then the drivers, which are the points of its surface that
    /// particles follow.
    skinned_points: Vec<BodyVertex>,
    /// The arrays, in the order of the indices from [`POSE`] to [`VERTICES`].
    arrays: [Array; 5],
    device: Option<ArmyDevice>,
}

/// The first sentence of the error if an array cannot be copied.
const COPY_FAILED: &str = "The cloth could not be copied to or from the device.";
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

impl ArmyArrays {
    /// Allocates the arrays of a crowd at the beginning of its walk. If `on` is `None`, there is no device, and the arrays are
    /// only on the host.
    pub(super) fn new(
        figure: Arc<Figure>,
        walks: Vec<Walk>,
        on: Option<(&ClContext, Program)>,
    ) -> Result<Self> {
        let skinned_points: Vec<BodyVertex> =
            figure.body.vertices.iter().chain(&figure.shirt.drivers).copied().collect();
        let positions: Vec<f32> = walks.iter().flat_map(|walk| rest_positions(&figure, walk)).collect();
        let layout = on.as_ref().map_or(Layout::Structs, |(_, program)| program.layout);
        let array = |shape: Shape, layout: Layout| -> Result<Array> {
            let make = |(cl, _): &(&ClContext, Program)| {
                let bytes = 4 * layout.len(shape, walks.len());
                let made = Buffer::new(&cl.context, allocation_flags(cl), bytes);
                made.map_err(|e| failed("Memory for the cloth could not be allocated on the device.", &e))
            };
            let host = vec![0.0; walks.len() * shape.numbers_per_character()];
            let device = on.as_ref().map(make).transpose()?;
            Ok(Array { shape, layout, host, device, location: Location::Host })
        };
        let particles = || Ok(Array { host: positions.clone(), ..array(PARTICLE_SHAPE, layout)? });
        let vertices = VERTEX_FLOATS * (SHIRT_VERTICES + figure.body.vertices.len());
        let arrays = [
            array(POSE_SHAPE, layout)?,
            particles()?,
            particles()?,
            array(Shape { items: skinned_points.len(), numbers: 6 }, layout)?,
            // Vertices are stored one number after the other.
            array(Shape { items: vertices, numbers: 1 }, Layout::Structs)?,
        ];
        let device = on.map(|(cl, program)| ArmyDevice {
            queue: cl.queue.clone(),
            program,
            target: None,
            pending_pose: None,
        });
        Ok(Self { figure, walks, skinned_points, arrays, device })
    }

    pub(super) fn has_device(&self) -> bool {
        self.device.is_some()
    }

    /// Sets the pose of all figures at a time in seconds, and starts uploading it.
    pub(super) fn set_pose(&mut self, seconds: f32) -> Result<()> {
        let pose = &mut self.arrays[POSE];
        pose.host = self.walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let (Some(device), Some(to)) = (&mut self.device, &pose.device) else { return Ok(()) };
        if let Some((_, event)) = &device.pending_pose {
            event.wait_for().map_err(|e| failed(COPY_FAILED, &e))?;
        }
        let packed = pose.layout.pack(pose.shape, self.walks.len(), &pose.host);
        let bytes: Vec<u8> = cast_slice(&packed).to_vec();
        // SAFETY: the bytes stay in `pending_pose`, which nobody changes, until the event is complete.
        let event = unsafe { to.enqueue_write(&device.queue, bytes.as_slice(), false) };
        device.pending_pose = Some((bytes, event.map_err(|e| failed(COPY_FAILED, &e))?));
        Ok(())
    }

    /// Sets the buffer that receives the vertices; `None` selects the device's own array.
    pub(super) fn write_to(&mut self, target: Option<Buffer>) {
        if let Some(device) = &mut self.device {
            device.target = target;
            let vertices = &mut self.arrays[VERTICES];
            if vertices.location == Location::Device {
                vertices.location = Location::Host;
            }
        }
    }

    /// Waits until the commands of these events are complete.
    pub(super) fn wait_for(&self, events: &[Event]) -> Result<()> {
        events.iter().try_for_each(Event::wait_for).map_err(|e| failed(COPY_FAILED, &e))
    }

    /// Reads an array whose current contents are only on the device into `to`, in the device's layout; waits for the device.
    /// Returns false, and reads nothing, if the host has the current contents.
    fn read(&self, at: usize, to: &mut Vec<u8>) -> Result<bool> {
        let Array { shape, layout, device: own, location, .. } = &self.arrays[at];
        let (Some(device), Location::Device) = (&self.device, location) else { return Ok(false) };
        let Some(from) = device.target.as_ref().filter(|_| at == VERTICES).or(own.as_ref()) else {
            return Ok(false);
        };
        to.resize(4 * layout.len(*shape, self.walks.len()), 0);
        from.read(&device.queue, to).map_err(|e| failed(COPY_FAILED, &e))?;
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

    /// Copies those arrays from the device to the host which a step reads and whose current contents are only on the device.
    pub(super) fn download_inputs(&mut self, step: StepId) -> Result<()> {
        self.download(reads(step))
    }

    /// Enqueues a step on the device, which begins after the events `after`; returns the events of its commands. Returns `None`
    /// if there is no device.
    pub(super) fn start_on_device(
        &mut self,
        step: StepId,
        motion: &Motion,
        after: &[Event],
    ) -> Result<Option<Vec<Event>>> {
        let army = self.walks.len();
        let Some(device) = &self.device else { return Ok(None) };
        for &at in reads(step) {
            let Array { shape, layout, host, device: to, location } = &mut self.arrays[at];
            if let (Location::Host, Some(to)) = (*location, to) {
                let packed = layout.pack(*shape, army, host);
                to.write(&device.queue, cast_slice(&packed)).map_err(|e| failed(COPY_FAILED, &e))?;
                *location = Location::Both;
            }
        }
        let [Some(pose), Some(positions), Some(previous), Some(skinned), Some(vertices)] =
            self.arrays.each_ref().map(|array| array.device.as_ref())
        else {
            return Ok(None);
        };
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
            let [_, positions, previous, ..] = &mut self.arrays;
            std::mem::swap(&mut positions.device, &mut previous.device);
        }
        Ok(Some(events))
    }

    /// Runs a step for all characters on the host.
    pub(super) fn run_on_host(&mut self, step: StepId, motion: &Motion) {
        let [pose, positions, previous, skinned, vertices] = &mut self.arrays;
        let (each, all) = (positions.shape.numbers_per_character(), skinned.shape.numbers_per_character());
        let Figure { body, shirt } = &*self.figure;
        let drivers = 6 * body.vertices.len();
        match step {
            StepId::Skin => {
                for (pose, to) in pose.host.chunks_exact(POSE_FLOATS).zip(skinned.host.chunks_exact_mut(all))
                {
                    host::skin(&self.skinned_points, pose, to);
                }
            }
            StepId::Integrate => {
                let mut moved = vec![0.0; positions.host.len()];
                let before = positions.host.chunks_exact(each).zip(previous.host.chunks_exact(each));
                for ((now, before), to) in before.zip(moved.chunks_exact_mut(each)) {
                    host::integrate(now, before, motion, to);
                }
                previous.host = std::mem::replace(&mut positions.host, moved);
            }
            StepId::Distances => {
                for points in positions.host.chunks_exact_mut(each) {
                    host::distances(&shirt.constraints, points);
                }
            }
            StepId::Drive => {
                let both = positions.host.chunks_exact_mut(each).zip(skinned.host.chunks_exact(all));
                for (points, skinned) in both {
                    host::drive(points, &skinned[drivers..], &shirt.reach);
                }
            }
            StepId::Write => {
                let shirt = SHIRT_VERTICES * VERTEX_FLOATS;
                let (shirts, bodies) = vertices.host.split_at_mut(self.walks.len() * shirt);
                for (points, to) in positions.host.chunks_exact(each).zip(shirts.chunks_exact_mut(shirt)) {
                    host::write_shirt(points, to);
                }
                let bodies = bodies.chunks_exact_mut(body.vertices.len() * VERTEX_FLOATS);
                for (skinned, to) in skinned.host.chunks_exact(all).zip(bodies) {
                    host::write_body(&skinned[..drivers], &body.vertices, to);
                }
            }
        }
        for &at in writes(step) {
            self.arrays[at].location = Location::Host;
        }
    }

    /// Returns the vertices in the host's memory; reads them from the device if the current ones are there.
    pub(super) fn vertices(&mut self) -> Result<&[f32]> {
        self.download(&[VERTICES])?;
        Ok(&self.arrays[VERTICES].host)
    }

    /// Copies the vertices into `to` as bytes. Returns true if they were read from the device.
    pub(super) fn read_vertices(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let is_read = self.read(VERTICES, to)?;
        if !is_read {
            to.clear();
            to.extend_from_slice(cast_slice(&self.arrays[VERTICES].host));
        }
        Ok(is_read)
    }

    /// Waits until all commands in the device's queue are complete.
    pub(super) fn finish(&self) -> Result<()> {
        match &self.device {
            Some(device) => device.queue.finish().map_err(|e| failed(COPY_FAILED, &e)),
            None => Ok(()),
        }
    }

    /// Returns the positions of the particles now and one step earlier.
    pub(super) fn particles(&mut self) -> Result<(Vec<f32>, Vec<f32>)> {
        self.download(&[POSITIONS, PREVIOUS])?;
        Ok((self.arrays[POSITIONS].host.clone(), self.arrays[PREVIOUS].host.clone()))
    }

    /// Sets the particles if both arrays have the right length and all numbers are finite. Returns true if they were set.
    pub(super) fn set_particles(&mut self, positions: &[f32], previous: &[f32]) -> bool {
        let both = [(POSITIONS, positions), (PREVIOUS, previous)];
        let is_sane = |(at, new): &(usize, &[f32])| {
            new.len() == self.arrays[*at].host.len() && new.iter().all(|x| x.is_finite())
        };
        let sane = both.iter().all(is_sane);
        for (at, new) in both.into_iter().filter(|_| sane) {
            (self.arrays[at].host, self.arrays[at].location) = (new.to_vec(), Location::Host);
        }
        sane
    }
}

impl Drop for ArmyArrays {
    /// Waits for the upload of a pose, because the driver reads its bytes until then. If waiting fails, the bytes are leaked.
    fn drop(&mut self) {
        if let Some((pending_pose, event)) =
            self.device.as_mut().and_then(|device| device.pending_pose.take())
            && event.wait_for().is_err()
        {
            std::mem::forget(pending_pose);
        }
    }
}

pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

/// Returns the positions of a figure's particles at the beginning of its walk: each is moved from its position at rest by the
/// bones of its driver.
pub(super) fn rest_positions(figure: &Figure, walk: &Walk) -> Vec<f32> {
    let pose = walk.pose(0.0);
    debug_assert_eq!(pose.len(), BONES);
    let points: Vec<BodyVertex> = figure
        .shirt
        .drivers
        .iter()
        .zip(&figure.shirt.rest)
        .map(|(driver, rest): (&BodyVertex, &Point)| BodyVertex {
            position: [rest[0], rest[1], rest[2], 1.0],
            ..*driver
        })
        .collect();
    let mut skinned = vec![0.0; 6 * points.len()];
    host::skin(&points, pose.as_flattened(), &mut skinned);
    skinned.chunks_exact(6).flat_map(|v| [v[0], v[1], v[2]]).collect()
}
