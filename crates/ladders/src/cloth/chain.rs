//! An army that walks. In: how much time has passed, and where the cloth is dragged. Out: vertices, in the host's memory or in
//! a buffer of the device.
//!
//! A frame is five [steps](Step) in a row. Each is an object that takes events and gives what it has begun; behind it is a
//! kernel, or plain Rust. Between two frames each step can change sides.

use std::sync::Arc;
use std::time::Instant;

use super::codes;
use super::data::{Data, OnDevice};
use super::geometry::{add, dot, scale, sub};
use super::host::{self, Motion};
use super::kernels::{Memory, Program};
use super::model::{Figure, Walk, army};
use super::steps::StepId;
use base::error::Result;
use ladder::config::Config;
use opencl::cl::{Buffer, ClContext, Event};

/// The longest step of the cloth, in seconds: a frame that comes later has several of them. In longer ones the same constraints are
/// softer, and the shirt sinks to where the legs come through.
pub const LONGEST: f32 = 1.0 / 60.0;
/// A frame that is late by less than this part of a step has no further one.
const LATE: f32 = 0.25;
/// The longest frame, in seconds: where frames come more slowly, all move more slowly.
pub const LATEST: f32 = 0.25;
/// The shortest, in seconds.
const SHORTEST: f32 = 1.0 / 2000.0;
/// The part of its speed that a particle loses in a second.
const DAMPING: f32 = 2.0;
/// What a particle's speed gains in a second, in metres a second.
const GRAVITY: f32 = -9.81;
/// The furthest that a drag pulls in a frame, in metres.
const FURTHEST_PULL: f32 = 0.2;

/// A pull at the cloth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag {
    /// Where, in metres.
    pub at: [f32; 3],
    /// How far in this frame, in metres. Particles near `at` go with it, the nearer the more.
    pub pull: [f32; 3],
    /// How far around `at`, in metres.
    pub radius: f32,
}

/// A particle that is to stay at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Its number in the army: character after character.
    pub particle: usize,
    /// Where, in metres.
    pub to: [f32; 3],
    /// How far around it others go with it, in metres.
    pub radius: f32,
}

/// What pulls at the cloth in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pull {
    /// Nothing.
    Nothing,
    /// This, in the frame's first step.
    Drag(Drag),
    /// What keeps a particle where it is to stay, in all of its steps.
    Hold(Hold),
}

/// What a step has begun.
#[derive(Debug, Clone)]
pub enum Done {
    /// Commands on the device's queue: the last one's event is that of the step.
    Device(Vec<Event>),
    /// It is done: when it began on the host, and when it was over.
    Host(Instant, Instant),
}

impl Done {
    /// What the next step waits for.
    pub(crate) fn event(&self) -> Option<&Event> {
        match self {
            Done::Device(events) => events.last(),
            Done::Host(..) => None,
        }
    }
}

/// A step of the chain: it takes events and gives one.
trait Step: std::fmt::Debug {
    fn start(&self, data: &mut Data, motion: &Motion, after: &[Event]) -> Result<Done>;
}

/// A step in plain Rust.
#[derive(Debug)]
struct Native(StepId);

/// A step as kernels.
#[derive(Debug)]
struct Kernels(StepId);

impl Step for Native {
    fn start(&self, data: &mut Data, motion: &Motion, after: &[Event]) -> Result<Done> {
        data.wait_for(after)?;
        data.bring_to_host(self.0)?;
        let begin = Instant::now();
        data.run_on_host(self.0, motion);
        Ok(Done::Host(begin, Instant::now()))
    }
}

impl Step for Kernels {
    fn start(&self, data: &mut Data, motion: &Motion, after: &[Event]) -> Result<Done> {
        data.bring_to_device(self.0)?;
        let events = {
            let Some(OnDevice {
                queue, program, pose, positions, previous, skinned, vertices, target, ..
            }) = &data.device
            else {
                return Native(self.0).start(data, motion, after);
            };
            let moved = if self.0 == StepId::Integrate { previous } else { positions };
            let memory = Memory {
                pose: pose.mem(),
                positions: positions.mem(),
                previous: previous.mem(),
                moved: moved.mem(),
                skinned: skinned.mem(),
                vertices: target.as_ref().unwrap_or(vertices).mem(),
            };
            program.start(queue, self.0, &memory, motion, data.walks.len(), after)?
        };
        data.wrote_on_device(self.0);
        Ok(Done::Device(events))
    }
}

/// Where an army was: what goes from one device to another.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Particles now and a step before: three floats each, character after character.
    pub(crate) positions: Vec<f32>,
    /// A step before.
    pub(crate) previous: Vec<f32>,
    /// How long it has walked.
    pub(crate) seconds: f64,
    /// The step before, in seconds.
    pub(crate) dt: f32,
}

/// An army of figures in shirts, and the five steps.
#[derive(Debug)]
pub struct Chain {
    data: Data,
    native: [Native; 5],
    kernels: Option<[Kernels; 5]>,
    on_host: [bool; 5],
    seconds: f64,
    dt: f32,
}

impl Chain {
    /// So many figures at the beginning of their walk, on this device; without one all steps are on the host.
    ///
    /// # Errors
    /// When the kernels do not build, or there is not enough memory.
    pub fn new(count: usize, cl: Option<&ClContext>) -> Result<Self> {
        Self::of(Arc::new(Figure::new()), count, cl)
    }

    /// The same of another figure.
    pub fn of(figure: Arc<Figure>, count: usize, cl: Option<&ClContext>) -> Result<Self> {
        let walks: Vec<Walk> = army(count.max(1));
        let mut kernels = None;
        let mut on = None;
        if let Some(cl) = cl {
            // A processor is fast with characters side by side in its vectors, a graphics card with a group for each.
            let code = if cl.is_cpu() && walks.len() >= 4 {
                &codes::LANES
            } else if cl.is_cpu() {
                &codes::PLANES
            } else {
                &codes::GROUPED
            };
            let config = Config::of(code, cl.device.info.kind).fitted(&cl.device.info);
            on = Some((cl, Program::compile(cl, &config, &figure)?));
            kernels = Some(StepId::ALL.map(Kernels));
        }
        let on_host = [kernels.is_none(); 5];
        let data = Data::new(figure, walks, on)?;
        Ok(Self { data, native: StepId::ALL.map(Native), kernels, on_host, seconds: 0.0, dt: 1.0 / 60.0 })
    }

    /// How many figures there are.
    pub fn army(&self) -> usize {
        self.data.walks.len()
    }

    /// The figure.
    pub fn figure(&self) -> &Figure {
        &self.data.figure
    }

    /// Whether a step is on the host.
    pub fn is_on_host(&self, step: StepId) -> bool {
        self.on_host[step as usize]
    }

    /// Puts a step on the host, or on the device where there is one, from the next frame on.
    pub fn put_on_host(&mut self, step: StepId, on_host: bool) {
        self.on_host[step as usize] = on_host || self.kernels.is_none();
    }

    /// Where the vertices go from the next frame on: a buffer of this device's context, or without one the chain's own memory.
    /// A vertex has 32 bytes: position, normal, u, v. The shirts come first, character after character, then the bodies. What was written elsewhere is not read there any more: until that frame
    /// the vertices are those that the host had last.
    pub fn write_to(&mut self, target: Option<Buffer>) {
        self.data.write_to(target);
    }

    /// Puts a frame on the queue, or does it: `dt` seconds after the one before. `before` is asked before each step, and the step waits
    /// for the events that it names; where it has none to name, the buffer of [`Chain::write_to`] is not to be had, and the vertices go
    /// into the chain's own memory. What each step has
    /// begun; a late frame has them several times. Where no time has passed the cloth stays, and the vertices are written anew.
    ///
    /// # Errors
    /// When the device fails.
    pub fn step_between(
        &mut self,
        dt: f32,
        pull: Pull,
        before: &mut dyn FnMut(StepId) -> Option<Vec<Event>>,
    ) -> Result<Vec<(StepId, Done)>> {
        let dt = if dt.is_finite() { dt.clamp(0.0, LATEST) } else { 0.0 };
        let parts = (dt / LONGEST - LATE).ceil().max(1.0);
        let own = (dt / parts).clamp(SHORTEST, LONGEST);
        let mut done: Vec<(StepId, Done)> = Vec::new();
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
                let at = step as usize;
                let functor: &dyn Step = match &self.kernels {
                    Some(kernels) if !self.on_host[at] => &kernels[at],
                    _ => &self.native[at],
                };
                done.push((step, functor.start(&mut self.data, &motion, &after)?));
            }
            if dt > 0.0 {
                self.dt = own;
            }
        }
        Ok(done)
    }

    /// The same with nothing between the steps.
    ///
    /// # Errors
    /// When the device fails.
    pub fn step(&mut self, dt: f32, drag: Option<Drag>) -> Result<Vec<(StepId, Done)>> {
        self.step_between(dt, drag.map_or(Pull::Nothing, Pull::Drag), &mut |_| Some(Vec::new()))
    }

    /// The drag that brings a particle to where it is to stay, whatever it would do by itself in the next `dt` seconds; `None`
    /// where there is no such particle. Waits for the device where the particles are there.
    fn drag_to(&mut self, dt: f32, hold: Hold) -> Result<Option<Drag>> {
        let (positions, previous) = self.data.particles()?;
        let first = hold.particle.saturating_mul(3);
        let of =
            |all: &[f32]| -> Option<[f32; 3]> { all.get(first..first.saturating_add(3))?.try_into().ok() };
        let (Some(at), Some(before)) = (of(&positions), of(&previous)) else { return Ok(None) };
        let pull = sub(hold.to, goes_on(at, before, &motion(dt, self.dt, None)));
        Ok(Some(Drag { at, pull, radius: hold.radius }))
    }

    /// Waits until all that was begun is done.
    ///
    /// # Errors
    /// When the device fails.
    pub fn finish(&self) -> Result<()> {
        self.data.finish()
    }

    /// How long the army has walked.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Puts the vertices into `bytes`, as OpenGL takes them; waits for the device, and says whether they were there.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read_vertices(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        self.data.read_vertices(bytes)
    }

    /// The vertices in the host's memory, as floats; waits for the device where they are there.
    ///
    /// # Errors
    /// When the device fails.
    pub fn vertices(&mut self) -> Result<&[f32]> {
        self.data.vertices()
    }

    /// Where the army is.
    ///
    /// # Errors
    /// When the device fails.
    pub fn state(&mut self) -> Result<State> {
        let (positions, previous) = self.data.particles()?;
        Ok(State { positions, previous, seconds: self.seconds, dt: self.dt })
    }

    /// Puts the army where another chain's was; one of another size stays where it is.
    pub fn set_state(&mut self, state: &State) {
        if self.data.set_particles(&state.positions, &state.previous) {
            (self.seconds, self.dt) = (state.seconds, state.dt);
        }
    }
}

/// What moves all particles in a step of `dt` seconds after one of `before`.
fn motion(dt: f32, before: f32, drag: Option<Drag>) -> Motion {
    let is_sane = |drag: &Drag| {
        drag.at.iter().chain(&drag.pull).all(|x| x.is_finite())
            && drag.radius.is_finite()
            && drag.radius > 0.0
    };
    let drag = drag.filter(is_sane).unwrap_or(Drag { at: [0.0; 3], pull: [0.0; 3], radius: 1.0 });
    let [x, y, z] = drag.at;
    let length = drag.pull.iter().map(|x| x * x).sum::<f32>().sqrt();
    let shorter = if length > FURTHEST_PULL { FURTHEST_PULL / length } else { 1.0 };
    let [px, py, pz] = drag.pull.map(|x| x * shorter);
    let radius = drag.radius.clamp(0.001, 10.0);
    Motion {
        carry: dt / before * (-DAMPING * dt).exp(),
        fall: GRAVITY * dt * (dt + before) / 2.0,
        at: [x.clamp(-1e3, 1e3), y.clamp(-1e3, 1e3), z.clamp(-1e3, 1e3), 1.0 / (radius * radius)],
        pull: [px, py, pz, 0.0],
    }
}

/// Where a particle comes to that nobody drags.
fn goes_on(at: [f32; 3], before: [f32; 3], motion: &Motion) -> [f32; 3] {
    let mut step = scale(sub(at, before), motion.carry);
    step[1] += motion.fall;
    let far = dot(step, step).sqrt();
    let shorter = if far > host::FURTHEST { host::FURTHEST / far } else { 1.0 };
    add(at, scale(step, shorter))
}

/// Moves a character by plain Rust, all five steps: `[skinned, moved]` are its arrays, and the vertices of shirt and body.
pub(super) fn whole(
    figure: &Figure,
    all: &[super::model::BodyVertex],
    motion: &Motion,
    [pose, positions, previous]: [&[f32]; 3],
    [skinned, moved, shirt, body]: [&mut [f32]; 4],
) {
    host::skin(all, pose, skinned);
    host::integrate(positions, previous, motion, moved);
    host::distances(&figure.shirt.constraints, moved);
    host::drive(moved, &skinned[6 * figure.body.vertices.len()..], &figure.shirt.reach);
    host::write_shirt(moved, shirt);
    host::write_body(skinned, &figure.body.vertices, body);
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
