//! An army's arrays on the host and on the device. In: which step is next, and where. Out: what it needs is there.

use std::sync::Arc;

use super::geometry::Point;
use super::host::{self, Motion, POSE, VERTEX};
use super::kernels::Program;
use super::layout::{Layout, Shape};
use super::model::{BONES, BodyVertex, Figure, PARTICLES, SHIRT_VERTICES, Walk};
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{Answer, Buffer, ClContext, Event, Queue, failed};
use opencl::guarded::bytes;
use opencl::memory::new_memory;

/// Numbers of a pose.
pub(super) const POSES: Shape = Shape { items: POSE, numbers: 1 };
/// Particles.
pub(super) const PARTICLE: Shape = Shape { items: PARTICLES, numbers: 3 };

/// Which copy of an array is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Host,
    Device,
    Both,
}

/// The same arrays in a device's memory.
#[derive(Debug)]
pub(super) struct OnDevice {
    pub queue: Queue,
    pub program: Program,
    layout: Layout,
    pub pose: Buffer,
    pub positions: Buffer,
    pub previous: Buffer,
    pub skinned: Buffer,
    pub vertices: Buffer,
    /// Where vertices go instead.
    pub target: Option<Buffer>,
    /// A pose that is on its way there: it must stay until then.
    sent: Option<(Vec<u8>, Event)>,
}

/// An army's arrays: particles have three floats, skinned vertices six, character after character.
#[derive(Debug)]
pub(super) struct Data {
    pub figure: Arc<Figure>,
    pub walks: Vec<Walk>,
    /// The body's vertices, then the drivers.
    all: Vec<BodyVertex>,
    pose: Vec<f32>,
    positions: Vec<f32>,
    previous: Vec<f32>,
    skinned: Vec<f32>,
    pub vertices: Vec<f32>,
    /// Of positions with previous ones, skinned vertices, vertices.
    right: [Right; 3],
    pub device: Option<OnDevice>,
}

const LOST: &str = "The cloth could not be copied to or from the device.";
const CLOTH: usize = 0;
const SKINNED: usize = 1;
const VERTICES: usize = 2;

impl Data {
    /// The army at the beginning of its walk.
    pub(super) fn new(
        figure: Arc<Figure>,
        walks: Vec<Walk>,
        on: Option<(&ClContext, Program)>,
    ) -> Result<Self> {
        let army = walks.len();
        let all: Vec<BodyVertex> =
            figure.body.vertices.iter().chain(&figure.shirt.drivers).copied().collect();
        let positions: Vec<f32> = walks.iter().flat_map(|walk| at_rest(&figure, walk)).collect();
        let count = army * VERTEX * (SHIRT_VERTICES + figure.body.vertices.len());
        let shape = Shape { items: all.len(), numbers: 6 };
        let device = on.map(|(cl, program)| {
            let layout = program.layout();
            let make = |floats: usize| Buffer::new(&cl.context, new_memory(cl), 4 * floats);
            let made = move || -> Answer<OnDevice> {
                Ok(OnDevice {
                    queue: cl.queue.clone(),
                    program,
                    layout,
                    pose: make(layout.len(POSES, army))?,
                    positions: make(layout.len(PARTICLE, army))?,
                    previous: make(layout.len(PARTICLE, army))?,
                    skinned: make(layout.len(shape, army))?,
                    vertices: make(count)?,
                    target: None,
                    sent: None,
                })
            };
            made().map_err(|e| failed("There is no room for the cloth on the device.", &e))
        });
        Ok(Self {
            pose: vec![0.0; army * POSE],
            previous: positions.clone(),
            positions,
            skinned: vec![0.0; army * shape.each()],
            vertices: vec![0.0; count],
            right: [Right::Host; 3],
            device: device.transpose()?,
            figure,
            walks,
            all,
        })
    }

    fn shape(&self) -> Shape {
        Shape { items: self.all.len(), numbers: 6 }
    }

    /// Poses all figures.
    pub(super) fn set_pose(&mut self, seconds: f32) -> Result<()> {
        self.pose = self.walks.iter().flat_map(|walk| walk.pose(seconds)).flatten().collect();
        let army = self.walks.len();
        let Some(device) = &mut self.device else { return Ok(()) };
        if let Some((_, event)) = &device.sent {
            event.wait_for().map_err(|e| failed(LOST, &e))?;
        }
        let laid = bytes(&device.layout.lay(POSES, army, &self.pose));
        // SAFETY: the bytes stay in `sent`, which nobody changes, until the event is complete.
        let event = unsafe { device.pose.enqueue_write(&device.queue, laid.as_ptr(), laid.len(), false) };
        device.sent = Some((laid, event.map_err(|e| failed(LOST, &e))?));
        Ok(())
    }

    pub(super) fn write_to(&mut self, target: Option<Buffer>) {
        if let Some(device) = &mut self.device {
            device.target = target;
            if self.right[VERTICES] == Right::Device {
                self.right[VERTICES] = Right::Host;
            }
        }
    }

    pub(super) fn wait_for(&self, events: &[Event]) -> Result<()> {
        events.iter().try_for_each(Event::wait_for).map_err(|e| failed(LOST, &e))
    }

    fn read(&self, from: &Buffer, shape: Shape) -> Result<Option<Vec<f32>>> {
        let Some(device) = &self.device else { return Ok(None) };
        let mut laid = vec![0; 4 * device.layout.len(shape, self.walks.len())];
        from.read(&device.queue, &mut laid).map_err(|e| failed(LOST, &e))?;
        Ok(Some(device.layout.take(shape, self.walks.len(), &floats(&laid))))
    }

    fn cloth_to_host(&mut self) -> Result<()> {
        if let (Right::Device, Some(device)) = (self.right[CLOTH], &self.device) {
            let positions = self.read(&device.positions, PARTICLE)?;
            let previous = self.read(&device.previous, PARTICLE)?;
            (self.positions, self.previous) = (positions.unwrap_or_default(), previous.unwrap_or_default());
            self.right[CLOTH] = Right::Both;
        }
        Ok(())
    }

    fn skinned_to_host(&mut self) -> Result<()> {
        if let (Right::Device, Some(device)) = (self.right[SKINNED], &self.device) {
            self.skinned = self.read(&device.skinned, self.shape())?.unwrap_or_default();
            self.right[SKINNED] = Right::Both;
        }
        Ok(())
    }

    /// Brings what a step reads to the host.
    pub(super) fn bring_to_host(&mut self, step: StepId) -> Result<()> {
        if step != StepId::Skin {
            self.cloth_to_host()?;
        }
        if matches!(step, StepId::Drive | StepId::Write) {
            self.skinned_to_host()?;
        }
        Ok(())
    }

    /// Brings what a step reads to the device.
    pub(super) fn bring_to_device(&mut self, step: StepId) -> Result<()> {
        let (army, shape) = (self.walks.len(), self.shape());
        let Some(device) = &self.device else { return Ok(()) };
        let write = |to: &Buffer, shape: Shape, numbers: &[f32]| {
            let laid = bytes(&device.layout.lay(shape, army, numbers));
            to.write(&device.queue, &laid).map_err(|e| failed(LOST, &e))
        };
        if step != StepId::Skin && self.right[CLOTH] == Right::Host {
            write(&device.positions, PARTICLE, &self.positions)?;
            write(&device.previous, PARTICLE, &self.previous)?;
            self.right[CLOTH] = Right::Both;
        }
        if matches!(step, StepId::Drive | StepId::Write) && self.right[SKINNED] == Right::Host {
            write(&device.skinned, shape, &self.skinned)?;
            self.right[SKINNED] = Right::Both;
        }
        Ok(())
    }

    /// Notes that a step is on the device's queue.
    pub(super) fn wrote_on_device(&mut self, step: StepId) {
        match step {
            StepId::Skin => self.right[SKINNED] = Right::Device,
            StepId::Write => self.right[VERTICES] = Right::Device,
            _ => self.right[CLOTH] = Right::Device,
        }
        if let (StepId::Integrate, Some(device)) = (step, &mut self.device) {
            // The new positions are where the previous ones were.
            std::mem::swap(&mut device.positions, &mut device.previous);
        }
    }

    /// Does a step for all characters.
    pub(super) fn run_on_host(&mut self, step: StepId, motion: &Motion) {
        let (each, skinned) = (PARTICLE.each(), self.shape().each());
        let body = self.figure.body.vertices.len();
        let army = self.walks.len();
        match step {
            StepId::Skin => {
                for (pose, to) in self.pose.chunks_exact(POSE).zip(self.skinned.chunks_exact_mut(skinned)) {
                    host::skin(&self.all, pose, to);
                }
                self.right[SKINNED] = Right::Host;
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
                let (shirts, bodies) = self.vertices.split_at_mut(army * SHIRT_VERTICES * VERTEX);
                let shirts = shirts.chunks_exact_mut(SHIRT_VERTICES * VERTEX);
                for (points, to) in self.positions.chunks_exact(each).zip(shirts) {
                    host::write_shirt(points, to);
                }
                let bodies = bodies.chunks_exact_mut(body * VERTEX);
                for (skinned, to) in self.skinned.chunks_exact(skinned).zip(bodies) {
                    host::write_body(&skinned[..6 * body], &self.figure.body.vertices, to);
                }
                self.right[VERTICES] = Right::Host;
                return;
            }
        }
        self.right[CLOTH] = Right::Host;
    }

    /// The vertices in the host's memory.
    pub(super) fn vertices(&mut self) -> Result<&[f32]> {
        if let (Right::Device, Some(device)) = (self.right[VERTICES], &self.device) {
            let mut read = vec![0; 4 * self.vertices.len()];
            let from = device.target.as_ref().unwrap_or(&device.vertices);
            from.read(&device.queue, &mut read).map_err(|e| failed(LOST, &e))?;
            self.vertices = floats(&read);
            self.right[VERTICES] = Right::Both;
        }
        Ok(&self.vertices)
    }

    /// The same as bytes; whether they were on the device.
    pub(super) fn read_vertices(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        if let (Right::Device, Some(device)) = (self.right[VERTICES], &self.device) {
            to.resize(4 * self.vertices.len(), 0);
            let from = device.target.as_ref().unwrap_or(&device.vertices);
            from.read(&device.queue, to).map_err(|e| failed(LOST, &e))?;
            return Ok(true);
        }
        to.clear();
        to.extend(self.vertices.iter().flat_map(|x| x.to_ne_bytes()));
        Ok(false)
    }

    /// Waits for the device's queue.
    pub(super) fn finish(&self) -> Result<()> {
        match &self.device {
            Some(device) => device.queue.finish().map_err(|e| failed(LOST, &e)),
            None => Ok(()),
        }
    }

    /// Particles now and a step before.
    pub(super) fn particles(&mut self) -> Result<(Vec<f32>, Vec<f32>)> {
        self.cloth_to_host()?;
        Ok((self.positions.clone(), self.previous.clone()))
    }

    /// Puts particles there, where they are as many as here and all finite; whether they are.
    pub(super) fn set_particles(&mut self, positions: &[f32], previous: &[f32]) -> bool {
        let is_sane = |new: &[f32]| new.len() == self.positions.len() && new.iter().all(|x| x.is_finite());
        let sane = is_sane(positions) && is_sane(previous);
        if sane {
            (self.positions, self.previous) = (positions.to_vec(), previous.to_vec());
            self.right[CLOTH] = Right::Host;
        }
        sane
    }
}

impl Drop for Data {
    /// A pose that is on its way is read by the driver until it is there.
    fn drop(&mut self) {
        if let Some((sent, event)) = self.device.as_mut().and_then(|device| device.sent.take())
            && event.wait_for().is_err()
        {
            std::mem::forget(sent);
        }
    }
}

/// Floats as they lie in memory.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

/// The cloth at rest round a figure at the beginning of its walk: moved by the bones of its drivers.
pub(super) fn at_rest(figure: &Figure, walk: &Walk) -> Vec<f32> {
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
