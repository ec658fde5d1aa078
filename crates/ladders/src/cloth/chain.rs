//! The simulation of a crowd of walking figures, frame by frame. Its inputs are the elapsed time and the user's drag of the
//! cloth; its outputs are vertices, in the host's memory or in a device buffer.
//!
//! A frame consists of five [steps](StepId), one after the other. A step is started with the events that it has to wait for,
//! and returns the commands that it enqueued. It runs a kernel, or plain Rust. Between two frames each step can move from the
//! device to the host and back.

use std::sync::Arc;
use std::time::Instant;

use super::codes;
use super::data::ArmyArrays;
use super::geometry::{add, dot, scale, sub};
use super::host::{self, Motion};
use super::kernels::Program;
use super::model::{Figure, Walk, army};
use super::steps::StepId;
use base::error::Result;
use compute::config::Config;
use opencl::cl::{Buffer, ClContext, Event};

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

impl StepExecution {
    /// Returns the event for which the next step has to wait; `None` for a step on the host, which is done already.
    pub(crate) fn event(&self) -> Option<&Event> {
        match self {
            StepExecution::Device(events) => events.last(),
            StepExecution::Host(..) => None,
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

/// A crowd of figures in shirts, and the five steps that simulate it.
#[derive(Debug)]
pub struct Chain {
    data: ArmyArrays,
    /// True for each step that runs on the host. Without a device all steps do.
    on_host: [bool; 5],
    seconds: f64,
    dt: f32,
}

impl Chain {
    /// Creates a crowd of `count` figures at the beginning of their walk. All steps run on the device of `cl`, or on the host
    /// if `cl` is `None`.
    ///
    /// # Errors
    /// Returns an error if the kernels do not build, or there is not enough memory.
    pub fn new(count: usize, cl: Option<&ClContext>) -> Result<Self> {
        Self::with_figure(Arc::new(Figure::new()), count, cl)
    }

    /// Creates a crowd as [`Chain::new`] does, of `count` copies of another figure.
    ///
    /// # Errors
    /// Returns an error if the kernels do not build, or there is not enough memory.
    pub fn with_figure(figure: Arc<Figure>, count: usize, cl: Option<&ClContext>) -> Result<Self> {
        let walks: Vec<Walk> = army(count.max(1));
        let mut on = None;
        if let Some(cl) = cl {
            // A CPU is fast with several characters in the lanes of its vectors, a GPU with a work-group for each character.
            let code = if cl.is_cpu() && walks.len() >= 4 {
                &codes::LANES
            } else if cl.is_cpu() {
                &codes::PLANES
            } else {
                &codes::GROUPED
            };
            let config = Config::for_device(code, &cl.device.info);
            on = Some((cl, Program::compile(cl, &config, &figure)?));
        }
        let on_host = [on.is_none(); 5];
        let data = ArmyArrays::new(figure, walks, on)?;
        Ok(Self { data, on_host, seconds: 0.0, dt: 1.0 / 60.0 })
    }

    /// Returns the number of figures in the crowd.
    pub fn army(&self) -> usize {
        self.data.walks.len()
    }

    /// Returns the figure whose copies form the crowd.
    pub fn figure(&self) -> &Figure {
        &self.data.figure
    }

    /// Returns true if a step runs on the host.
    pub fn is_on_host(&self, step: StepId) -> bool {
        self.on_host[step as usize]
    }

    /// Moves a step to the host or to the device, from the next frame on. Without a device the step stays on the host.
    pub fn put_on_host(&mut self, step: StepId, on_host: bool) {
        self.on_host[step as usize] = on_host || !self.data.has_device();
    }

    /// Sets the device buffer into which the vertices are written from the next frame on. It must belong to the chain's
    /// context; `None` selects the chain's own memory. A vertex has 32 bytes: position, normal, u, v. All shirts come first,
    /// then all bodies, in the order of the characters. Until the next frame [`Chain::vertices`] returns the vertices that the
    /// host had last, because an earlier buffer is not read any more.
    pub fn write_to(&mut self, target: Option<Buffer>) {
        self.data.write_to(target);
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
            self.data.set_pose(self.seconds as f32)?;
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
                    self.data.write_to(None);
                    Vec::new()
                });
                after.extend(done.last().and_then(|(_, done)| done.event()).cloned());
                done.push((step, self.start_step(step, &motion, &after)?));
            }
            if dt > 0.0 {
                self.dt = own;
            }
        }
        Ok(done)
    }

    /// Starts a step, which begins after the events `after`. A step on the host has ended when the call returns.
    fn start_step(&mut self, step: StepId, motion: &Motion, after: &[Event]) -> Result<StepExecution> {
        if !self.on_host[step as usize]
            && let Some(events) = self.data.start_on_device(step, motion, after)?
        {
            return Ok(StepExecution::Device(events));
        }
        self.data.wait_for(after)?;
        self.data.download_inputs(step)?;
        let begin = Instant::now();
        self.data.run_on_host(step, motion);
        Ok(StepExecution::Host(begin, Instant::now()))
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
        let (positions, previous) = self.data.particles()?;
        let first = hold.particle.saturating_mul(3);
        let of =
            |all: &[f32]| -> Option<[f32; 3]> { all.get(first..first.saturating_add(3))?.try_into().ok() };
        let (Some(at), Some(before)) = (of(&positions), of(&previous)) else { return Ok(None) };
        let pull = sub(hold.to, free_position(at, before, &motion(dt, self.dt, None)));
        Ok(Some(Drag { at, pull, radius: hold.radius }))
    }

    /// Waits until all started steps are done.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn finish(&self) -> Result<()> {
        self.data.finish()
    }

    /// Returns the time for which the crowd has walked, in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Copies the vertices into `bytes` in OpenGL's format. Returns true if they were read from the device, in which case the
    /// call waited for the device.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn read_vertices(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        self.data.read_vertices(bytes)
    }

    /// Returns the vertices in the host's memory. If they are on the device, waits for the device and copies them to the host.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn vertices(&mut self) -> Result<&[f32]> {
        self.data.vertices()
    }

    /// Returns the state of the crowd, from which [`Chain::set_state`] can continue; waits for the device.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn state(&mut self) -> Result<State> {
        let (positions, previous) = self.data.particles()?;
        Ok(State { positions, previous, seconds: self.seconds, dt: self.dt })
    }

    /// Continues from the state of another simulation. Does nothing if the number of figures differs, or a position is not
    /// finite.
    pub fn set_state(&mut self, state: &State) {
        if self.data.set_particles(&state.positions, &state.previous) {
            (self.seconds, self.dt) = (state.seconds, state.dt);
        }
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

/// Returns the next position of a particle that is not dragged.
fn free_position(at: [f32; 3], before: [f32; 3], motion: &Motion) -> [f32; 3] {
    let mut step = scale(sub(at, before), motion.carry);
    step[1] += motion.fall;
    let far = dot(step, step).sqrt();
    let shorter = if far > host::MAX_MOVE { host::MAX_MOVE / far } else { 1.0 };
    add(at, scale(step, shorter))
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
