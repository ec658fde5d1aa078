//! A crowd of walking figures whose shirts show the movie. The code calls the crowd `army`; an integer of this name is the
//! number of figures.
//!
//! The window's thread draws the figures; another thread, the [`walker`], simulates them. Neither waits for the other: until
//! there are new vertices, the old ones are drawn again. If the device shares buffers with OpenGL, each request to the walker
//! lends it the buffer that is not being drawn, and the device writes into that buffer.

mod army;
mod camera;
mod pace;
mod panel;
pub(crate) mod picture;
mod shared_buffers;
mod walker;
mod world;

#[cfg(test)]
mod shared_tests;

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::{Scene, Screen};
use army::{Detail, LendResult};
use base::error::{Error, Result};
use camera::Camera;
use engine::frame_loop::{FrameLoop, Tick};
use engine::present::Viewport;
use ladders::cloth::geometry::Point;
use ladders::cloth::steps::StepId;
use opencl::cl::ClContext;
use opengl::renderer::is_software;
use overlay::Action;
use pace::Pace;
use panel::{ClothPanel, Times};
use stats::Sharing;
use walker::{FrameRequest, Hand, Report, Walker};
use world::World;

/// The numbers of figures that the user can choose.
const ARMIES: [usize; 5] = [1, 4, 9, 25, 100];
/// The minimum time between two requests to the walker, the thread that simulates the figures.
const MIN_REQUEST_INTERVAL: Duration = Duration::from_micros(15_500);
/// The interval at which OpenGL is polled until it has finished with a vertex buffer.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The time for which the walker must have been busy with a request to be abandoned when the user changes the device.
const STALL_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum time that a closing window waits for the walker's thread.
const THREAD_TIMEOUT: Duration = Duration::from_millis(300);

/// The object that the user drags in the cloth scene since the mouse button was pressed.
#[derive(Default, Clone, Copy)]
enum Grip {
    #[default]
    Nothing,
    /// The button was pressed at this position in the window; the walker has not found out yet what is there.
    Unknown([f32; 2]),
    Camera,
    /// A piece of cloth was grabbed at the point `was`, and is pulled to the point `to`.
    Cloth {
        was: Point,
        to: Point,
    },
}

/// The scene with walking figures whose shirts show the movie: its walker, its camera, and its OpenGL objects.
#[derive(Default)]
pub(super) struct Cloth {
    /// The index in [`ARMIES`] of the chosen number of figures.
    army: usize,
    camera: Camera,
    grip: Grip,
    /// The window's width divided by its height.
    wide: f32,
    walker: Option<Walker>,
    /// True if the walker's thread could not be started, or has ended unexpectedly. It is not started again on this device.
    has_failed: bool,
    /// The number that the frame loop gives to the device whose context was requested last; `None` before the first request.
    device: Option<u32>,
    /// The channel through which the requested context of the device arrives; `None` if no context is awaited.
    awaited: Option<Receiver<(ClContext, Sharing)>>,
    /// `Some` if the next request must change the walker's device: to the device of this context, or to the host if the inner
    /// value is `None`.
    changed: Option<Option<ClContext>>,
    fresh: Option<Report>,
    memory: Vec<u8>,
    requested_at: Option<Instant>,
    /// The total time for which the process had been stopped (by Ctrl+Z, for example) when the last request was sent to the
    /// walker.
    stopped: Duration,
    /// The parameters of the last request to the walker: the number of figures, for each simulation step true if it runs on the
    /// host, and true if the buffer is handed over twice.
    last: Option<(usize, [bool; 5], bool)>,
    seconds: f64,
    times: Times,
    pace: Pace,
    panel: ClothPanel,
    world: Option<World>,
    error: Option<Error>,
}

impl Cloth {
    /// Creates the scene; nothing is simulated yet.
    pub(super) fn new() -> Self {
        Self { camera: Camera::new(ARMIES[0]), wide: 1.0, ..Self::default() }
    }

    /// Requests the context of the frame loop's device, if the device has changed.
    fn update_device(&mut self, frames: &mut FrameLoop) {
        let device = frames.device_changes;
        if self.device != Some(device) {
            self.device = Some(device);
            let (sender, receiver) = channel();
            self.awaited = Some(receiver);
            frames.filters.workers.with_pipeline(move |pipeline| {
                // Another device may have been requested meanwhile.
                let _ = sender.send((pipeline.cl.clone(), pipeline.sharing.clone()));
            });
        }
        let Some(awaited) = &self.awaited else { return };
        let (cl, sharing) = match awaited.try_recv() {
            Ok((cl, sharing)) => (Some(cl), sharing),
            Err(TryRecvError::Disconnected) => (None, Sharing::copy("there is no OpenCL device")),
            Err(TryRecvError::Empty) => return,
        };
        self.awaited = None;
        if self.walker.as_ref().and_then(Walker::busy_for).is_some_and(|busy| busy > STALL_TIMEOUT) {
            // The device's driver does not respond: a new walker begins again.
            self.walker = None;
        }
        self.panel.device = cl.as_ref().map(|cl| cl.device.info.name.clone());
        // Sharing is attempted even if textures are shared on the window's thread only: NVIDIA's driver shares buffers on any
        // thread.
        self.panel.copies = (sharing != Sharing::ZeroCopy).then(|| sharing.reason().to_owned());
        (self.times, self.pace) = (Times::default(), Pace::default());
        (self.changed, self.has_failed) = (Some(cl), false);
    }

    /// Processes the walker's report; returns true if there is something new to draw.
    fn process_report(&mut self, frames: &mut FrameLoop) -> bool {
        let Some(walker) = &mut self.walker else { return false };
        let report = match walker.report() {
            Ok(None) => return false,
            Ok(Some(report)) => report,
            Err(error) => {
                (self.walker, self.has_failed, self.error) = (None, true, Some(error));
                return true;
            }
        };
        if let (Grip::Unknown(_), Some(grabbed)) = (self.grip, report.grabbed) {
            self.grip = grabbed.map_or(Grip::Camera, |was| Grip::Cloth { was, to: was });
        }
        // Times of frames during which the process was stopped are meaningless.
        if frames.stops.total == self.stopped {
            self.times.note(report.times);
            report.step.into_iter().for_each(|step| self.pace.note(step));
            frames.presenter.cloth = Some(Box::new(report.times));
        }
        self.seconds = report.seconds;
        self.take(report);
        true
    }

    /// Uses the vertices of a report for drawing from now on; keeps the report if OpenGL's objects do not exist yet.
    fn take(&mut self, mut report: Report) {
        if let Some(error) = report.error.take() {
            // The army continues on the host.
            (self.panel.device, self.error) = (None, Some(error));
        }
        // The refusal of the previous device is obsolete.
        if let Some(why) = report.refused.take().filter(|_| self.changed.is_none()) {
            self.panel.copies = Some(why);
        }
        let Some(world) = &mut self.world else {
            self.fresh = Some(report);
            return;
        };
        match world.take(&mut report) {
            Ok(false) if self.changed.is_none() => {
                self.panel.copies =
                    Some("what OpenCL wrote into a vertex buffer did not reach OpenGL in a test".to_owned());
            }
            Ok(_) => {}
            Err(error) => self.error = Some(error),
        }
        self.memory = report.vertices;
    }

    /// Sends the next request to the walker if it is due. Returns the time when it will be due; `None` if a request is running
    /// or none is needed.
    fn request_next(&mut self, frames: &FrameLoop) -> Option<Instant> {
        if self.has_failed || self.awaited.is_some() {
            return None;
        }
        let walker = self.walker.get_or_insert_with(|| Walker::start(&frames.filters.workers.waker));
        if walker.busy_for().is_some() {
            return None;
        }
        let wanted = (ARMIES[self.army], self.panel.on_host.get(), self.panel.twice.get());
        let (army, on_host, twice) = wanted;
        let is_paused = frames.schedule.is_paused();
        let grabs = matches!(self.grip, Grip::Unknown(_));
        let now = Instant::now();
        if is_paused && self.last == Some(wanted) && !grabs && self.changed.is_none() {
            // The duration of the pause does not count.
            self.requested_at = None;
            return None;
        }
        if let Some(next) = self.requested_at.map(|at| at + MIN_REQUEST_INTERVAL).filter(|next| *next > now) {
            return Some(next);
        }
        // Nothing is lent if the device shares no buffers, or if the write-back runs on the host.
        let is_shared = self.panel.device.is_some() && self.panel.copies.is_none();
        let is_lending = is_shared && !on_host[StepId::Write as usize];
        let lent = match self.world.as_mut().filter(|_| is_lending).map(|world| world.lend(army)) {
            Some(Ok(LendResult::Busy)) => return Some(now + POLL_INTERVAL),
            Some(Ok(LendResult::Buffer(buffer))) => Some(buffer),
            Some(Ok(LendResult::NoArmy)) | None => None,
            Some(Err(error)) => {
                self.error = Some(error);
                None
            }
        };
        if self.last != Some(wanted) {
            self.pace = Pace::default();
        }
        let before = std::mem::replace(&mut self.stopped, frames.stops.total);
        let stopped = self.stopped.saturating_sub(before);
        let passed = self.requested_at.map_or(MIN_REQUEST_INTERVAL, |at| (now - at).saturating_sub(stopped));
        let passed = passed.as_secs_f64() * frames.schedule.clock.speed;
        let dt = if is_paused { 0.0 } else { self.pace.limited_advance(passed) as f32 };
        self.panel.slow_pace = self.pace.slow_pace();
        let hand = match self.grip {
            Grip::Unknown(at) => Hand::Grab(self.camera.ray(at, self.wide)),
            Grip::Cloth { to, .. } => Hand::Hold(to),
            Grip::Nothing | Grip::Camera => Hand::Off,
        };
        let (device, memory) = (self.changed.take(), std::mem::take(&mut self.memory));
        self.walker.as_mut()?.send(FrameRequest { army, dt, on_host, twice, hand, device, lent, memory });
        (self.requested_at, self.last) = (Some(now), Some(wanted));
        None
    }

    /// Draws the figures in the rectangle `at` of the window, with the movie's picture on their shirts.
    fn draw_world(&mut self, at: Viewport, screen: &Screen) -> Result<()> {
        if self.world.is_none() {
            let gl = screen.gl;
            self.panel.is_coarse = is_software(gl);
            let detail = if self.panel.is_coarse { Detail::Coarse } else { Detail::Fine };
            self.world = Some(World::new(gl, detail)?);
        }
        if let Some(report) = self.fresh.take() {
            self.take(report);
        }
        let Some(world) = &mut self.world else { return Ok(()) };
        let (picture, orientation) = (screen.picture.map(|(texture, ..)| texture), screen.orientation);
        world.draw(at, &self.camera, self.seconds, picture, orientation)
    }
}

impl Scene for Cloth {
    /// Ends the walker's thread.
    fn leave(&mut self, frames: &mut FrameLoop) {
        (self.walker, self.device, self.awaited, self.changed) = (None, None, None, None);
        (self.requested_at, self.last, self.grip, self.has_failed) = (None, None, Grip::Nothing, false);
        frames.presenter.cloth = None;
    }

    /// Advances the frame loop, then processes the walker's report and sends the next request.
    fn tick(&mut self, frames: &mut FrameLoop) -> Tick {
        let tick = frames.tick();
        self.update_device(frames);
        let has_report = self.process_report(frames);
        let next = self.request_next(frames);
        let wake_at = [tick.wake_at, next].into_iter().flatten().min();
        Tick { redraw: tick.redraw || has_report, wake_at }
    }

    /// Draws the figures. Returns the stored error of the simulation, if there is one, at the first call only.
    fn draw(&mut self, _: &FrameLoop, screen: &Screen) -> Result<()> {
        let (width, height) = screen.size;
        self.wide = width as f32 / height.max(1) as f32;
        let at = Viewport { x: 0, y: 0, width: width as i32, height: height as i32 };
        screen.quad.make_ready(screen.size);
        let drawn = self.draw_world(at, screen);
        if drawn.is_err() {
            screen.quad.clear(screen.size);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => drawn,
        }
    }

    /// Lets the user grab and drag the cloth, rotate the camera, and change the number of figures.
    fn input(&mut self, action: &Action, _: &mut FrameLoop) -> Result<Option<String>> {
        match *action {
            Action::StartDrag(at) => self.grip = Grip::Unknown(at),
            Action::EndDrag => self.grip = Grip::Nothing,
            Action::Drag { by, at } => match self.grip {
                Grip::Cloth { was, .. } => {
                    let to = self.camera.point_at_depth_of(was, self.camera.ray(at, self.wide));
                    self.grip = Grip::Cloth { was, to };
                }
                Grip::Camera => self.camera.turn(by),
                // Without a walker there is nothing to grab.
                Grip::Unknown(_) if self.walker.is_none() => self.camera.turn(by),
                Grip::Unknown(_) | Grip::Nothing => {}
            },
            Action::SeekChapter(step) => {
                let before = self.army;
                self.army = self.army.saturating_add_signed(step).min(ARMIES.len() - 1);
                let count = ARMIES[self.army];
                if self.army != before {
                    (self.grip, self.requested_at) = (Grip::Nothing, None);
                    self.camera.look_at(count);
                }
                return Ok(Some(match count {
                    1 => "An army of one figure".to_owned(),
                    _ => format!("An army of {count} figures"),
                }));
            }
            _ => return Ok(None),
        }
        Ok(Some(String::new()))
    }

    fn panel(&self) -> Option<&'static str> {
        Some("Cloth")
    }

    /// Lays out the cloth panel.
    fn panel_contents(&self, ui: &mut egui::Ui) {
        self.panel.show(ui, &self.times);
    }

    /// Ends the walker's thread; returns true if it has ended.
    fn end(&mut self) -> bool {
        self.walker.take().is_none_or(|walker| walker.end(THREAD_TIMEOUT))
    }
}
