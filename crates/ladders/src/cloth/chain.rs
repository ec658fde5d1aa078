//! The simulation of a crowd of walking figures, frame by frame. Its inputs are the elapsed time and the user's drag of the
//! cloth; its outputs are vertices, in the host's memory or in a device buffer.
//!
//! A frame consists of five [steps](StepId), one after the other. A step is started with the events that it has to wait for,
//! and returns the commands that it enqueued. It runs a kernel, or plain Rust. Between two frames each step can move from the
//! device to the host and back.

use std::sync::Arc;
use std::time::Instant;

pub use super::data::{Chain, State};
use super::geometry::sub;
use super::host::{self, Motion};
use super::model::Figure;
use super::steps::StepId;
use base::error::Result;
use opencl::cl::{ClContext, Event};

/// The longest time step of the simulation, in seconds. A longer frame is divided into several steps. In longer steps the same
/// constraints are softer, and the shirt sinks into the legs.
pub const MAX_STEP_S: f32 = 1.0 / 60.0;
/// The part of [`MAX_STEP_S`] by which a frame must exceed a whole number of steps to be divided into one more step.
const EXTRA_STEP_THRESHOLD: f32 = 0.25;
/// The longest frame that is simulated in real time, in seconds. At lower frame rates everything moves more slowly than in
/// reality.
pub const MAX_FRAME_S: f32 = 0.25;
/// The shortest step in seconds.
const MIN_STEP_S: f32 = 1.0 / 2000.0;
/// The rate, per second, at which particles lose speed.
const DAMPING: f32 = 2.0;
/// The acceleration by gravity along y, in metres per second squared.
const GRAVITY: f32 = -9.81;
/// The longest distance by which a pull of the cloth moves particles in a step, in metres.
const MAX_PULL: f32 = 0.2;

/// The user's pull of the cloth around a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag {
    /// The centre of the pulled region of cloth, in metres.
    pub at: [f32; 3],
    /// The movement in metres of particles at `at` in this frame. The movement of other particles decreases with their distance
    /// from `at`.
    pub pull: [f32; 3],
    /// The radius of the pulled region around `at`, in metres. Particles beyond it are not pulled.
    pub radius: f32,
}

/// A particle that is held at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// The index of the particle in the crowd, in which the particles are numbered character by character.
    pub particle: usize,
    /// The point at which the particle is held, in metres.
    pub to: [f32; 3],
    /// The distance from the particle, in metres, beyond which other particles do not follow it.
    pub radius: f32,
}

/// The way in which the cloth is pulled in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pull {
    /// The cloth is not pulled.
    Nothing,
    /// The user's pull around a point, which moves particles in the frame's first step only.
    Drag(Drag),
    /// A particle that is held at a point, in all steps of the frame.
    Hold(Hold),
}

/// The state of a step that was started.
#[derive(Debug, Clone)]
pub enum StepExecution {
    /// The step was enqueued on the device's queue as these commands, and ends with the last one.
    Device(Vec<Event>),
    /// The step ran on the host, from the first to the second of these times.
    Host(Instant, Instant),
}

impl Chain {
    /// Creates a crowd of `count` figures as [`Chain::with_figure`] does.
    ///
    /// # Errors
    /// Returns an error if the kernels do not build, or there is not enough memory.
    pub fn new(count: usize, cl: Option<&ClContext>) -> Result<Self> {
        Self::with_figure(Arc::new(Figure::new()), count, cl)
    }

    /// Returns the number of figures in the crowd.
    pub fn army(&self) -> usize {
        self.walks.len()
    }

    /// Enqueues or computes a frame that is `dt` seconds after the previous one. `before` is called before each step and
    /// returns the events to wait for. If `before` returns `None`, the buffer of [`Chain::write_to`] is unavailable, and the
    /// vertices go to the chain's own memory. Returns the steps that were started; a long frame has several of the same kind.
    /// If `dt` is 0, the cloth does not move, and the vertices are written again.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn step_between(
        &mut self,
        dt: f32,
        pull: Pull,
        before: &mut dyn FnMut(StepId) -> Option<Vec<Event>>,
    ) -> Result<Vec<(StepId, StepExecution)>> {
        let dt = if dt.is_finite() { dt.clamp(0.0, MAX_FRAME_S) } else { 0.0 };
        let parts = (dt / MAX_STEP_S - EXTRA_STEP_THRESHOLD).ceil().max(1.0);
        let own = (dt / parts).clamp(MIN_STEP_S, MAX_STEP_S);
        let mut done: Vec<(StepId, StepExecution)> = Vec::new();
        for part in 1..=parts as usize {
            let drag = match pull {
                Pull::Drag(drag) if part == 1 => Some(drag),
                Pull::Hold(hold) => self.drag_to(own, hold)?,
                _ => None,
            };
            let motion = motion(own, self.dt, drag);
            self.seconds += f64::from(dt / parts);
            self.set_pose()?;
            for step in StepId::ALL {
                let is_left_out = match step {
                    StepId::Skin => false,
                    StepId::Write => part < parts as usize,
                    _ => dt == 0.0,
                };
                if is_left_out {
                    continue;
                }
                let mut after = before(step).unwrap_or_else(|| {
                    self.write_to(None);
                    Vec::new()
                });
                // A step on the host is done already.
                if let Some((_, StepExecution::Device(events))) = done.last() {
                    after.extend(events.last().cloned());
                }
                let execution = match self.enqueue(step, &motion, &after)? {
                    Some(events) => StepExecution::Device(events),
                    None => {
                        let begin = self.run_on_host(step, &motion, &after)?;
                        StepExecution::Host(begin, Instant::now())
                    }
                };
                done.push((step, execution));
            }
            if dt > 0.0 {
                self.dt = own;
            }
        }
        Ok(done)
    }

    /// Enqueues or computes a frame as [`Chain::step_between`] does, without events to wait for.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn step(&mut self, dt: f32, drag: Option<Drag>) -> Result<Vec<(StepId, StepExecution)>> {
        self.step_between(dt, drag.map_or(Pull::Nothing, Pull::Drag), &mut |_| Some(Vec::new()))
    }

    /// Returns the drag that moves a held particle to the point of `hold` within the next `dt` seconds, compensating for the
    /// movement that it would have without the drag; `None` if there is no such particle. Waits for the device if the particles
    /// are in its memory.
    fn drag_to(&mut self, dt: f32, hold: Hold) -> Result<Option<Drag>> {
        let State { positions, previous, .. } = self.state()?;
        let first = hold.particle.saturating_mul(3);
        let of =
            |all: &[f32]| -> Option<[f32; 3]> { all.get(first..first.saturating_add(3))?.try_into().ok() };
        let (Some(at), Some(before)) = (of(&positions), of(&previous)) else { return Ok(None) };
        let mut free = [0.0; 3];
        host::integrate(&at, &before, &motion(dt, self.dt, None), &mut free);
        let pull = sub(hold.to, free);
        Ok(Some(Drag { at, pull, radius: hold.radius }))
    }
}

/// Computes the forces, as movements of particles, in a time step of `dt` seconds that follows a step of `before` seconds. A
/// drag with invalid numbers is ignored.
fn motion(dt: f32, before: f32, drag: Option<Drag>) -> Motion {
    let is_sane = |drag: &Drag| {
        drag.at.iter().chain(&drag.pull).all(|x| x.is_finite())
            && drag.radius.is_finite()
            && drag.radius > 0.0
    };
    let drag = drag.filter(is_sane).unwrap_or(Drag { at: [0.0; 3], pull: [0.0; 3], radius: 1.0 });
    let [x, y, z] = drag.at;
    let length = drag.pull.iter().map(|x| x * x).sum::<f32>().sqrt();
    let shorter = if length > MAX_PULL { MAX_PULL / length } else { 1.0 };
    let [px, py, pz] = drag.pull.map(|x| x * shorter);
    let radius = drag.radius.clamp(0.001, 10.0);
    Motion {
        carry: dt / before * (-DAMPING * dt).exp(),
        fall: GRAVITY * dt * (dt + before) / 2.0,
        at: [x.clamp(-1e3, 1e3), y.clamp(-1e3, 1e3), z.clamp(-1e3, 1e3), 1.0 / (radius * radius)],
        pull: [px, py, pz, 0.0],
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
