//! An army walks, and its shirts show the movie. In: the movie's picture, what the mouse does. Out: the army in the window, and
//! what the steps of its cloth take.
//!
//! The window's thread draws; a [`walker`] on a thread of its own moves the army. Neither waits for the other: until new vertices
//! are there, those that are there are drawn once more. Where the device shares with OpenGL, the buffer that is not drawn from is
//! lent with each order, and the device writes there.

mod army;
mod camera;
mod detail;
mod pace;
mod panel;
mod pick;
pub(crate) mod picture;
mod shadow;
mod shares;
mod taken;
mod times;
mod walker;
mod world;

#[cfg(test)]
mod shared_tests;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::{Input, Scene, Screen};
use crate::options::SceneId;
use army::Lent;
use base::error::{Error, Result};
use base::jobs::Waker;
use camera::{Camera, Point};
use detail::Detail;
use engine::frame_loop::{FrameLoop, Tick};
use engine::present::Viewport;
use engine::sharing::Sharing;
use ladders::cloth::steps::StepId;
use opencl::cl::ClContext;
use pace::Pace;
use panel::Panel;
use times::Times;
use walker::{Hand, Order, Report, Walker};
use world::{Look, World};

/// The sizes that an army can have.
const ARMIES: [usize; 5] = [1, 4, 9, 25, 100];
/// The army moves so often at most.
const STEP: Duration = Duration::from_micros(15_500);
/// OpenGL is asked so often whether it has finished with a buffer.
const ASK: Duration = Duration::from_millis(1);
/// Who has been busy for longer when another device comes is left behind.
const SILENT: Duration = Duration::from_secs(2);
/// How long the end waits for the walker.
const END: Duration = Duration::from_millis(300);

const UNSEEN: &str = "what OpenCL wrote into a vertex buffer did not reach OpenGL in a test";

/// What the mouse has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Grip {
    Nothing,
    /// It was pressed there, and it is not known yet over what.
    Unknown([f32; 2]),
    Camera,
    /// Cloth, which was there and is to be there.
    Cloth {
        was: Point,
        to: Point,
    },
}

/// The army and its world.
pub(super) struct Cloth {
    waker: Waker,
    /// Which of [`ARMIES`].
    army: usize,
    camera: Camera,
    grip: Grip,
    /// Width over height of the window.
    wide: f32,
    walker: Option<Walker>,
    /// The thread cannot be had, or came to an end: not again on this device.
    is_lame: bool,
    /// Of the frame loop's devices, the one that was asked for last; and the answer.
    device: Option<u32>,
    awaited: Option<Receiver<(ClContext, Sharing)>>,
    /// The answer, for the next order.
    changed: Option<Option<ClContext>>,
    fresh: Option<Report>,
    room: Vec<u8>,
    ordered: Option<Instant>,
    /// For how long the process had been stopped by then.
    stopped: Duration,
    /// What the last order was for.
    last: Option<(usize, [bool; 5], bool)>,
    seconds: f64,
    times: Times,
    pace: Pace,
    panel: Panel,
    world: Option<World>,
    error: Option<Error>,
}

impl Cloth {
    pub(super) fn new(waker: Waker) -> Self {
        Self {
            waker,
            army: 0,
            camera: Camera::new(ARMIES[0]),
            grip: Grip::Nothing,
            wide: 1.0,
            walker: None,
            is_lame: false,
            device: None,
            awaited: None,
            changed: None,
            fresh: None,
            room: Vec::new(),
            ordered: None,
            stopped: Duration::ZERO,
            last: None,
            seconds: 0.0,
            times: Times::default(),
            pace: Pace::default(),
            panel: Panel::default(),
            world: None,
            error: None,
        }
    }

    /// Asks for the device that the frames have, if it is another one.
    fn look_after_device(&mut self, frames: &mut FrameLoop) {
        let device = frames.devices();
        if self.device != Some(device) {
            self.device = Some(device);
            let (sender, receiver) = channel();
            self.awaited = Some(receiver);
            frames.with_pipeline(move |pipeline| {
                // Another device may be asked for meanwhile.
                let _ = sender.send((pipeline.cl().clone(), pipeline.sharing().clone()));
            });
        }
        let Some(awaited) = &self.awaited else { return };
        let (cl, sharing) = match awaited.try_recv() {
            Ok((cl, sharing)) => (Some(cl), sharing),
            Err(TryRecvError::Disconnected) => (None, Sharing::copy("there is no OpenCL device")),
            Err(TryRecvError::Empty) => return,
        };
        self.awaited = None;
        if self.walker.as_ref().and_then(Walker::busy_for).is_some_and(|busy| busy > SILENT) {
            // The driver that it asks does not answer: another one walks, from the beginning.
            self.walker = None;
        }
        self.panel.device = cl.as_ref().map(|cl| cl.device.info.name.clone());
        self.panel.copies = match sharing {
            Sharing::Copy { reason } => Some(reason),
            // It is tried also where textures are shared on the window's thread alone: NVIDIA's driver takes buffers on any.
            Sharing::ZeroCopy => None,
        };
        self.times.clear();
        self.pace.clear();
        (self.changed, self.is_lame) = (Some(cl), false);
    }

    /// Takes what the walker has done; whether there is something new to see.
    fn look_after_walker(&mut self, frames: &mut FrameLoop) -> bool {
        let Some(walker) = &mut self.walker else { return false };
        let report = match walker.report() {
            Ok(None) => return false,
            Ok(Some(report)) => report,
            Err(error) => {
                (self.walker, self.is_lame, self.error) = (None, true, Some(error));
                return true;
            }
        };
        if let (Grip::Unknown(_), Some(grabbed)) = (self.grip, report.grabbed) {
            self.grip = grabbed.map_or(Grip::Camera, |was| Grip::Cloth { was, to: was });
        }
        // What it took while the process was stopped says nothing.
        if frames.stopped_for() == self.stopped {
            self.times.note(report.times);
            report.step.into_iter().for_each(|step| self.pace.note(step));
            frames.note_cloth(Some(Box::new(report.times)));
        }
        self.seconds = report.seconds;
        self.take(report);
        true
    }

    /// Shows what the walker has done, as soon as there is a world.
    fn take(&mut self, mut report: Report) {
        self.keep_error(report.error.take());
        // That of the device before says nothing about the next one.
        if let Some(why) = report.refused.take().filter(|_| self.changed.is_none()) {
            self.panel.copies = Some(why);
        }
        let Some(world) = &mut self.world else {
            self.fresh = Some(report);
            return;
        };
        match world.take(&mut report) {
            Ok(false) if self.changed.is_none() => self.panel.copies = Some(UNSEEN.to_owned()),
            Ok(_) => {}
            Err(error) => self.error = Some(error),
        }
        self.room = report.vertices;
    }

    fn keep_error(&mut self, error: Option<Error>) {
        if let Some(error) = error {
            // It walks on by plain Rust.
            (self.panel.device, self.error) = (None, Some(error));
        }
    }

    /// Asks for the next step as soon as it is time; when that will be, if nothing is under way.
    fn order_next(&mut self, frames: &FrameLoop) -> Option<Instant> {
        if self.is_lame || self.awaited.is_some() {
            return None;
        }
        let walker = match &mut self.walker {
            Some(walker) => walker,
            None => match Walker::start(&self.waker) {
                Ok(walker) => self.walker.insert(walker),
                Err(error) => {
                    (self.is_lame, self.error) = (true, Some(error));
                    return None;
                }
            },
        };
        if walker.busy_for().is_some() {
            return None;
        }
        let army = ARMIES.get(self.army).copied().unwrap_or(1);
        let wanted = (army, self.panel.on_host(), self.panel.twice());
        let grabs = matches!(self.grip, Grip::Unknown(_));
        let stands = frames.is_paused() && self.last == Some(wanted) && !grabs && self.changed.is_none();
        let now = Instant::now();
        if stands {
            // When it goes on, the time until then has not passed for it.
            self.ordered = None;
            return None;
        }
        if let Some(next) = self.ordered.map(|at| at + STEP).filter(|next| *next > now) {
            return Some(next);
        }
        let lent = match self.lend(army, wanted.1) {
            Lent::NotYet => return Some(now + ASK),
            Lent::Nothing => None,
            Lent::Buffer(buffer) => Some(buffer),
        };
        let Some(walker) = &mut self.walker else { return None };
        if self.last != Some(wanted) {
            self.pace.clear();
        }
        let before = std::mem::replace(&mut self.stopped, frames.stopped_for());
        let stopped = self.stopped.saturating_sub(before);
        let passed = self.ordered.map_or(STEP, |at| (now - at).saturating_sub(stopped));
        let passed = passed.as_secs_f64() * frames.speed();
        let dt = if frames.is_paused() { 0.0 } else { self.pace.bounded(passed) as f32 };
        self.panel.slower = self.pace.slower();
        let hand = match self.grip {
            Grip::Unknown(at) => Hand::Grab(self.camera.ray(at, self.wide)),
            Grip::Cloth { to, .. } => Hand::Hold(to),
            Grip::Nothing | Grip::Camera => Hand::Off,
        };
        let (device, room) = (self.changed.take(), std::mem::take(&mut self.room));
        walker.order(Order { army, dt, on_host: wanted.1, twice: wanted.2, hand, device, lent, room });
        (self.ordered, self.last) = (Some(now), Some(wanted));
        None
    }

    /// A buffer for so many figures, where the device writes into such.
    fn lend(&mut self, army: usize, on_host: [bool; 5]) -> Lent {
        let is_shared = self.panel.device.is_some() && self.panel.copies.is_none();
        let Some(world) = self.world.as_mut().filter(|_| is_shared && !on_host[StepId::Write as usize])
        else {
            return Lent::Nothing;
        };
        world.lend(army).unwrap_or_else(|error| {
            self.error = Some(error);
            Lent::Nothing
        })
    }

    fn draw_world(&mut self, gl: &Arc<glow::Context>, at: Viewport, screen: &Screen) -> Result<()> {
        if self.world.is_none() {
            let detail = Detail::of(gl);
            self.panel.is_coarse = detail == Detail::Coarse;
            self.world = Some(World::new(gl, detail)?);
        }
        if let Some(report) = self.fresh.take() {
            self.take(report);
        }
        let Some(world) = &mut self.world else { return Ok(()) };
        let (picture, orientation) = (screen.picture.map(|(texture, ..)| texture), screen.orientation);
        world.draw(at, &Look { camera: &self.camera, seconds: self.seconds, picture, orientation })
    }
}

impl Scene for Cloth {
    fn id(&self) -> SceneId {
        SceneId::Cloth
    }

    /// Who walked is dismissed.
    fn leave(&mut self, frames: &mut FrameLoop) {
        (self.walker, self.device, self.awaited, self.changed) = (None, None, None, None);
        (self.ordered, self.last, self.grip, self.is_lame) = (None, None, Grip::Nothing, false);
        frames.note_cloth(None);
    }

    /// After the frames' turn: takes what has been done, and asks for the next step.
    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        let tick = frames.tick();
        self.look_after_device(frames);
        let came = self.look_after_walker(frames);
        let next = self.order_next(frames);
        let wake_at = [tick.wake_at, next].into_iter().flatten().min();
        Tick { redraw: tick.redraw || came, wake_at }
    }

    /// What went wrong with the army is told once, too.
    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        let (width, height) = screen.size;
        self.wide = width as f32 / height.max(1) as f32;
        let at = Viewport { x: 0, y: 0, width: width as i32, height: height as i32 };
        screen.quad.make_ready(screen.size);
        let drawn = self.draw_world(screen.gl, at, screen);
        if drawn.is_err() {
            screen.quad.clear(screen.size);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => drawn,
        }
    }

    fn input(&mut self, input: Input, _: &mut FrameLoop) -> Result<Option<String>> {
        match input {
            Input::Grab(at) => self.grip = Grip::Unknown(at),
            Input::LetGo => self.grip = Grip::Nothing,
            Input::Drag { by, at } => match self.grip {
                Grip::Cloth { was, .. } => {
                    let to = self.camera.beside(was, self.camera.ray(at, self.wide));
                    self.grip = Grip::Cloth { was, to };
                }
                Grip::Camera => self.camera.turn(by),
                // Without a walker there is nothing to take hold of.
                Grip::Unknown(_) if self.walker.is_none() => self.camera.turn(by),
                Grip::Unknown(_) | Grip::Nothing => {}
            },
            Input::Size(step) => {
                let before = self.army;
                self.army = self.army.saturating_add_signed(step).min(ARMIES.len() - 1);
                let count = ARMIES.get(self.army).copied().unwrap_or(1);
                if self.army != before {
                    (self.grip, self.ordered) = (Grip::Nothing, None);
                    self.camera.look_at(count);
                }
                let figures = if count == 1 { "one figure" } else { "figures" };
                let number = if count == 1 { String::new() } else { format!("{count} ") };
                return Ok(Some(format!("An army of {number}{figures}")));
            }
        }
        Ok(Some(String::new()))
    }

    fn panel(&self) -> Option<&'static str> {
        Some("Cloth")
    }

    fn panel_contents(&self, ui: &mut egui::Ui) {
        self.panel.show(ui, &self.times);
    }

    fn end(&mut self) -> bool {
        self.walker.take().is_none_or(|walker| walker.end(END))
    }

    fn destroy(&mut self) {
        if let Some(world) = self.world.take() {
            world.destroy();
        }
    }
}
