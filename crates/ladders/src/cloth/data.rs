//! A crowd's arrays on the host and on the device. Each array is copied to the side on which the next step needs it.

use std::sync::Arc;

use bytemuck::cast_slice;

use super::geometry::Point;
use super::host::{self, Motion, POSE_FLOATS, VERTEX_FLOATS};
use super::kernels::{Program, StepRun};
use super::layout::{Layout, Shape};
use super::model::{BONES, BodyVertex, Figure, PARTICLES, SHIRT_VERTICES, Walk};
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{Answer, Buffer, ClContext, Event, Queue, failed};
use opencl::memory::allocation_flags;

/// The shape of the array of poses.
pub(super) const POSE_SHAPE: Shape = Shape { items: POSE_FLOATS, numbers: 1 };
/// The shape of the array of particles.
pub(super) const PARTICLE_SHAPE: Shape = Shape { items: PARTICLES, numbers: 3 };

/// The memory that has the current contents of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Host,
    Device,
    Both,
}

/// A crowd's arrays in the device's memory.
#[derive(Debug)]
pub(super) struct DeviceArrays {
    queue: Queue,
    program: Program,
    layout: Layout,
    pose: Buffer,
    positions: Buffer,
    previous: Buffer,
    skinned: Buffer,
    vertices: Buffer,
    /// The buffer that receives the vertices instead of `vertices`, if any.
    target: Option<Buffer>,
    /// A pose that is being uploaded: the driver reads these bytes until the event is complete.
    pending_pose: Option<(Vec<u8>, Event)>,
}

/// A crowd's arrays on the host and on the device: particles have three floats, skinned vertices six, character after
/// character.
#[derive(Debug)]
pub(super) struct ArmyArrays {
    pub figure: Arc<Figure>,
    pub walks: Vec<Walk>,
    /// The vertices that are skinned: those of the body, then the drivers, which are the points of its surface that particles
    /// follow.
    skinned_points: Vec<BodyVertex>,
    pose: Vec<f32>,
    positions: Vec<f32>,
    previous: Vec<f32>,
    skinned: Vec<f32>,
    pub vertices: Vec<f32>,
    /// The memory that has the current particles, skinned vertices, and vertices, in this order.
    location: [Location; 3],
    pub device: Option<DeviceArrays>,
}

/// The first sentence of the error if an array cannot be copied.
const COPY_FAILED: &str = "The cloth could not be copied to or from the device.";
/// Index of the particles in [`ArmyArrays::location`].
const CLOTH_INDEX: usize = 0;
/// Index of the skinned vertices in [`ArmyArrays::location`].
const SKINNED_INDEX: usize = 1;
/// Index of the vertices in [`ArmyArrays::location`].
const VERTICES_INDEX: usize = 2;

impl ArmyArrays {
    /// Allocates the arrays of a crowd at the beginning of its walk. Without `on` they are on the host alone.
    pub(super) fn new(
        figure: Arc<Figure>,
        walks: Vec<Walk>,
        on: Option<(&ClContext, Program)>,
    ) -> Result<Self> {
        let army = walks.len();
        let skinned_points: Vec<BodyVertex> =
            figure.body.vertices.iter().chain(&figure.shirt.drivers).copied().collect();
        let positions: Vec<f32> = walks.iter().flat_map(|walk| rest_positions(&figure, walk)).collect();
        let count = army * VERTEX_FLOATS * (SHIRT_VERTICES + figure.body.vertices.len());
        let shape = Shape { items: skinned_points.len(), numbers: 6 };
        let device = on.map(|(cl, program)| {
            let layout = program.layout;
            let make = |floats: usize| Buffer::new(&cl.context, allocation_flags(cl), 4 * floats);
            let made = move || -> Answer<DeviceArrays> {
                Ok(DeviceArrays {
                    queue: cl.queue.clone(),
                    program,
                    layout,
                    pose: make(layout.len(POSE_SHAPE, army))?,
                    positions: make(layout.len(PARTICLE_SHAPE, army))?,
                    previous: make(layout.len(PARTICLE_SHAPE, army))?,
                    skinned: make(layout.len(shape, army))?,
                    vertices: make(count)?,
                    target: None,
                    pending_pose: None,
                })
            };
            made().map_err(|e| failed("Memory for the cloth could not be allocated on the device.", &e))
        });
        Ok(Self {
            pose: vec![0.0; army * POSE_FLOATS],
            previous: positions.clone(),
            positions,
            skinned: vec![0.0; army * shape.numbers_per_character()],
            vertices: vec![0.0; count],
            location: [Location::Host; 3],
            device: device.transpose()?,
            figure,
            walks,
            skinned_points,
        })
    }

    /// Returns the shape of the array of skinned vertices.
    fn shape(&self) -> Shape {
        Shape { items: self.skinned_points.len(), numbers: 6 }
    }

    /// Sets the pose of all figures at a time in seconds, and starts uploading it.
    pub(super) fn set_pose(&mut self, seconds: f32) -> Result<()> {
        self.pose = self.walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let army = self.walks.len();
        let Some(device) = &mut self.device else { return Ok(()) };
        if let Some((_, event)) = &device.pending_pose {
            event.wait_for().map_err(|e| failed(COPY_FAILED, &e))?;
        }
        let bytes_to_write: Vec<u8> = cast_slice(&device.layout.pack(POSE_SHAPE, army, &self.pose)).to_vec();
        // SAFETY: the bytes stay in `pending_pose`, which nobody changes, until the event is complete.
        let event = unsafe {
            device.pose.enqueue_write(&device.queue, bytes_to_write.as_ptr(), bytes_to_write.len(), false)
        };
        device.pending_pose = Some((bytes_to_write, event.map_err(|e| failed(COPY_FAILED, &e))?));
        Ok(())
    }

    /// Sets the buffer that receives the vertices; `None` selects the device's own array.
    pub(super) fn write_to(&mut self, target: Option<Buffer>) {
        if let Some(device) = &mut self.device {
            device.target = target;
            if self.location[VERTICES_INDEX] == Location::Device {
                self.location[VERTICES_INDEX] = Location::Host;
            }
        }
    }

    /// Waits until the commands of these events are complete.
    pub(super) fn wait_for(&self, events: &[Event]) -> Result<()> {
        events.iter().try_for_each(Event::wait_for).map_err(|e| failed(COPY_FAILED, &e))
    }

    /// Reads the crowd's array of shape `shape` from the device buffer `from`, and returns it in the host's layout: character
    /// after character, without padding. Waits for the device. `None` if the crowd has no device.
    fn read(&self, from: &Buffer, shape: Shape) -> Result<Option<Vec<f32>>> {
        let Some(device) = &self.device else { return Ok(None) };
        let mut bytes_to_write = vec![0; 4 * device.layout.len(shape, self.walks.len())];
        from.read(&device.queue, &mut bytes_to_write).map_err(|e| failed(COPY_FAILED, &e))?;
        Ok(Some(device.layout.unpack(shape, self.walks.len(), &floats(&bytes_to_write))))
    }

    /// Copies the particles to the host, if they are on the device.
    fn download_cloth(&mut self) -> Result<()> {
        if let (Location::Device, Some(device)) = (self.location[CLOTH_INDEX], &self.device) {
            let positions = self.read(&device.positions, PARTICLE_SHAPE)?;
            let previous = self.read(&device.previous, PARTICLE_SHAPE)?;
            (self.positions, self.previous) = (positions.unwrap_or_default(), previous.unwrap_or_default());
            self.location[CLOTH_INDEX] = Location::Both;
        }
        Ok(())
    }

    /// Copies the skinned vertices to the host, if they are on the device.
    fn download_skinned(&mut self) -> Result<()> {
        if let (Location::Device, Some(device)) = (self.location[SKINNED_INDEX], &self.device) {
            self.skinned = self.read(&device.skinned, self.shape())?.unwrap_or_default();
            self.location[SKINNED_INDEX] = Location::Both;
        }
        Ok(())
    }

    /// Copies the arrays that a step reads to the host, if they are on the device.
    pub(super) fn download_inputs(&mut self, step: StepId) -> Result<()> {
        if step != StepId::Skin {
            self.download_cloth()?;
        }
        if matches!(step, StepId::Drive | StepId::Write) {
            self.download_skinned()?;
        }
        Ok(())
    }

    /// Copies the arrays that a step reads to the device, if they are on the host.
    fn upload_inputs(&mut self, step: StepId) -> Result<()> {
        let (army, shape) = (self.walks.len(), self.shape());
        let Some(device) = &self.device else { return Ok(()) };
        let write = |to: &Buffer, shape: Shape, numbers: &[f32]| {
            let packed = device.layout.pack(shape, army, numbers);
            to.write(&device.queue, cast_slice(&packed)).map_err(|e| failed(COPY_FAILED, &e))
        };
        if step != StepId::Skin && self.location[CLOTH_INDEX] == Location::Host {
            write(&device.positions, PARTICLE_SHAPE, &self.positions)?;
            write(&device.previous, PARTICLE_SHAPE, &self.previous)?;
            self.location[CLOTH_INDEX] = Location::Both;
        }
        if matches!(step, StepId::Drive | StepId::Write) && self.location[SKINNED_INDEX] == Location::Host {
            write(&device.skinned, shape, &self.skinned)?;
            self.location[SKINNED_INDEX] = Location::Both;
        }
        Ok(())
    }

    /// Enqueues a step on the device, to begin after the events `after`; returns the events of its commands. Returns `None` if
    /// there is no device.
    pub(super) fn start_on_device(
        &mut self,
        step: StepId,
        motion: &Motion,
        after: &[Event],
    ) -> Result<Option<Vec<Event>>> {
        self.upload_inputs(step)?;
        let Some(device) = &mut self.device else { return Ok(None) };
        let next = if step == StepId::Integrate { &device.previous } else { &device.positions };
        let vertices = device.target.as_ref().unwrap_or(&device.vertices);
        let memory = [&device.pose, &device.positions, &device.previous, next, &device.skinned, vertices]
            .map(Buffer::mem);
        let run = StepRun { queue: &device.queue, memory, motion, army: self.walks.len(), after };
        let events = device.program.start(step, run)?;
        match step {
            StepId::Skin => self.location[SKINNED_INDEX] = Location::Device,
            StepId::Write => self.location[VERTICES_INDEX] = Location::Device,
            _ => self.location[CLOTH_INDEX] = Location::Device,
        }
        if step == StepId::Integrate {
            // The new positions are where the previous ones were.
            std::mem::swap(&mut device.positions, &mut device.previous);
        }
        Ok(Some(events))
    }

    /// Runs a step for all characters on the host.
    pub(super) fn run_on_host(&mut self, step: StepId, motion: &Motion) {
        let (each, skinned) = (PARTICLE_SHAPE.numbers_per_character(), self.shape().numbers_per_character());
        let body = self.figure.body.vertices.len();
        let army = self.walks.len();
        match step {
            StepId::Skin => {
                for (pose, to) in
                    self.pose.chunks_exact(POSE_FLOATS).zip(self.skinned.chunks_exact_mut(skinned))
                {
                    host::skin(&self.skinned_points, pose, to);
                }
                self.location[SKINNED_INDEX] = Location::Host;
                return;
            }
            StepId::Integrate => {
                let mut moved = vec![0.0; self.positions.len()];
                let before = self.positions.chunks_exact(each).zip(self.previous.chunks_exact(each));
                for ((now, before), to) in before.zip(moved.chunks_exact_mut(each)) {
                    host::integrate(now, before, motion, to);
                }
                self.previous = std::mem::replace(&mut self.positions, moved);
            }
            StepId::Distances => {
                for points in self.positions.chunks_exact_mut(each) {
                    host::distances(&self.figure.shirt.constraints, points);
                }
            }
            StepId::Drive => {
                let both = self.positions.chunks_exact_mut(each).zip(self.skinned.chunks_exact(skinned));
                for (points, skinned) in both {
                    host::drive(points, &skinned[6 * body..], &self.figure.shirt.reach);
                }
            }
            StepId::Write => {
                let (shirts, bodies) = self.vertices.split_at_mut(army * SHIRT_VERTICES * VERTEX_FLOATS);
                let shirts = shirts.chunks_exact_mut(SHIRT_VERTICES * VERTEX_FLOATS);
                for (points, to) in self.positions.chunks_exact(each).zip(shirts) {
                    host::write_shirt(points, to);
                }
                let bodies = bodies.chunks_exact_mut(body * VERTEX_FLOATS);
                for (skinned, to) in self.skinned.chunks_exact(skinned).zip(bodies) {
                    host::write_body(&skinned[..6 * body], &self.figure.body.vertices, to);
                }
                self.location[VERTICES_INDEX] = Location::Host;
                return;
            }
        }
        self.location[CLOTH_INDEX] = Location::Host;
    }

    /// Returns the vertices in the host's memory; reads them from the device if they are there.
    pub(super) fn vertices(&mut self) -> Result<&[f32]> {
        if let (Location::Device, Some(device)) = (self.location[VERTICES_INDEX], &self.device) {
            let mut read = vec![0; 4 * self.vertices.len()];
            let from = device.target.as_ref().unwrap_or(&device.vertices);
            from.read(&device.queue, &mut read).map_err(|e| failed(COPY_FAILED, &e))?;
            self.vertices = floats(&read);
            self.location[VERTICES_INDEX] = Location::Both;
        }
        Ok(&self.vertices)
    }

    /// Copies the vertices into `to` as bytes. Returns true if they were read from the device.
    pub(super) fn read_vertices(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        if let (Location::Device, Some(device)) = (self.location[VERTICES_INDEX], &self.device) {
            to.resize(4 * self.vertices.len(), 0);
            let from = device.target.as_ref().unwrap_or(&device.vertices);
            from.read(&device.queue, to).map_err(|e| failed(COPY_FAILED, &e))?;
            return Ok(true);
        }
        to.clear();
        to.extend_from_slice(cast_slice(&self.vertices));
        Ok(false)
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
        self.download_cloth()?;
        Ok((self.positions.clone(), self.previous.clone()))
    }

    /// Sets the particles if both arrays have the right length and all numbers are finite. Returns true if they were set.
    pub(super) fn set_particles(&mut self, positions: &[f32], previous: &[f32]) -> bool {
        let is_sane = |new: &[f32]| new.len() == self.positions.len() && new.iter().all(|x| x.is_finite());
        let sane = is_sane(positions) && is_sane(previous);
        if sane {
            (self.positions, self.previous) = (positions.to_vec(), previous.to_vec());
            self.location[CLOTH_INDEX] = Location::Host;
        }
        sane
    }
}

impl Drop for ArmyArrays {
    /// Waits for the upload of a pose, since the driver reads its bytes until then. If waiting fails, the bytes are leaked.
    fn drop(&mut self) {
        if let Some((pending_pose, event)) =
            self.device.as_mut().and_then(|device| device.pending_pose.take())
            && event.wait_for().is_err()
        {
            std::mem::forget(pending_pose);
        }
    }
}

/// Converts bytes to floats.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

/// Returns the rest positions of the particles of a figure at the beginning of its walk: each is moved by the bones of its
/// driver.
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
