//! The open window's contents. In: window events, and a turn whenever something may be ready. Out: frames on
//! the screen with the overlay over them, and at the end the screenshot and the statistics.

mod colors;
mod conversions;
mod devices;
mod draw;
mod end;
mod events;
mod files;
mod hidden;
mod kernels;
mod lab;
mod movies;
mod notices;
mod presses;
mod races;
mod repaints;
mod save;
mod surface;
mod texts;
mod tuning;
mod wipe;

use std::time::{Duration, Instant};

use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::keyboard::ModifiersState;

use super::builder::Builder;
use super::playlist::Playlist;
use super::settings::{Reading, Store};
use crate::app::size::{WindowSize, frame, upright};
use crate::gl_window::{GlWindow, Interface};
use crate::options::PlayArgs;
use base::error::{Error, Result};
use base::timing::CpuLoad;
use colors::Colors;
use devices::Devices;
use engine::frame_loop::{FrameLoop, Measuring, Tick};
use engine::stats::Recorder;
use kernels::LiveKernels;
use lab::SpareLab;
use ladder::BackEnd;
use movies::Movies;
use notices::Notices;
use opencl::cl::Selection;
use opencl::event::Waker;
use opengl::renderer::{max_texture_size, too_large};
use overlay::{Overlay, Wait};
use repaints::Repaints;
use surface::Surface;
use tuning::SpareTime;
use video::Decoder;

/// Interval of the overlay while a frame takes long: the overlay must answer while the device is busy.
const BUSY_REPAINT: Duration = Duration::from_millis(25);
/// Interval of the overlay while what was chosen is awaited, so that the time is seen to go on.
const AWAITED_REPAINT: Duration = Duration::from_millis(100);
/// Interval of the overlay while nothing else asks for it: the CPU load goes on changing.
const IDLE_REPAINT: Duration = Duration::from_millis(500);
/// The open window. Fields drop in order: everything that lives in the OpenGL context before the window.
pub(crate) struct Player<'a> {
    args: &'a PlayArgs,
    frames: FrameLoop,
    surface: Surface,
    overlay: Overlay,
    movies: Movies,
    saves: save::Saves,
    last: end::LastFiles,
    settings: Store,
    colors: Colors,
    devices: Devices,
    tuning: SpareTime,
    lab: SpareLab,
    check: conversions::Check,
    kernels: LiveKernels,
    races: races::RaceCheck,
    hidden: hidden::Hidden,
    notices: Notices,
    repaints: Repaints,
    cpu: CpuLoad,
    modifiers: ModifiersState,
    waker: Waker,
    presented: u64,
    quit: bool,
    size: WindowSize,
    gl_window: GlWindow,
}

impl<'a> Player<'a> {
    /// Opens the window and starts everything that fills it. Without a decoder the playlist is still opening its first
    /// movie.
    ///
    /// # Errors
    /// When there is no OpenGL for a window, or its programs do not build.
    pub(crate) fn open(
        event_loop: &ActiveEventLoop,
        size: WindowSize,
        args: &'a PlayArgs,
        playlist: Playlist,
        decoder: Option<Decoder>,
        device: Option<Selection>,
        waker: &Waker,
    ) -> Result<Self> {
        let (device, remark) =
            device.map_or((None, None), |Selection { device, remark }| (Some(device), remark));
        // A thread reads them while the window is opened.
        let settings = Reading::begin(waker);
        let (attributes, interface) = (size.attributes(), Interface::wanted(args.gl));
        let gl_window = GlWindow::open(event_loop, attributes, !args.unpaced, interface)?;
        let gl = gl_window.gl.clone();
        let other_interface = args.gl.and(gl_window.reason.as_ref()).map(|reason| {
            let what = format!(
                "--gl {} was asked for, but OpenGL runs with {}.",
                interface.name(),
                gl_window.renderer
            );
            Error::new(what, format!("{reason}."), "")
        });
        let info = decoder.as_ref().map(Decoder::info);
        if let Some(info) = info {
            check_texture_size(&gl, info.width, info.height)?;
        }
        let movies = Movies::new(playlist, info, waker);
        let (store, settings, unreadable) = Store::open(settings);
        let surface = Surface::new(event_loop, &gl, settings.ui_scale, waker)?;
        let (variant, radius) = match args.wipe.wipe {
            Some([(first, radius), _]) => (first, radius.unwrap_or(args.filter.radius)),
            None => (args.filter.variant, args.filter.radius),
        };
        let builder = Builder::spawn(variant, args.trial.limit(), waker)?;
        let recorder = Recorder::new(true);
        let decoder = decoder.unwrap_or_else(Decoder::without_frames);
        let mut frames = FrameLoop::new(gl, decoder, recorder, args.unpaced, waker.clone());
        frames.choose(variant, radius);
        if let Some([_, (other, radius)]) = args.wipe.wipe {
            frames.set_other(Some((other, radius.unwrap_or(args.filter.radius))));
            frames.compare(args.wipe.difference);
        }
        // Who counts frames wants all of them filtered; who watches wants to see something at once.
        frames.wait_for_filter(args.frames.is_some() && variant.back_end() == BackEnd::OpenCl);
        frames.wait_for_conversions(args.frames.is_some());
        let mut player = Self {
            args,
            surface,
            overlay: settings.overlay(),
            movies,
            saves: save::Saves::default(),
            last: end::LastFiles::begin(args.trace.trace.as_deref(), waker)?,
            settings: store,
            colors: Colors::new(),
            devices: Devices::new(builder, device, &frames),
            tuning: SpareTime::default(),
            lab: SpareLab::default(),
            check: conversions::Check::default(),
            kernels: LiveKernels::begin(waker)?,
            races: races::RaceCheck::default(),
            hidden: hidden::Hidden::default(),
            notices: Notices::default(),
            repaints: Repaints::new(),
            cpu: CpuLoad::new(),
            modifiers: ModifiersState::empty(),
            waker: waker.clone(),
            presented: 0,
            quit: false,
            size,
            gl_window,
            frames,
        };
        for error in unreadable.into_iter().chain(remark).chain(other_interface) {
            player.notify(error, false);
        }
        player.movies.go_to(args.scene, &mut player.frames)?;
        if let Some(title) = player.movies.title(&player.frames) {
            player.gl_window.window.set_title(&title);
        }
        Ok(player)
    }

    fn notify(&mut self, error: Error, serious: bool) {
        self.notices.tell(error, serious);
        self.repaints.soon();
    }

    /// The concerns, and what they reach beyond themselves.
    fn parts(&mut self) -> (&mut Movies, &mut Devices, &mut SpareTime, With<'_>) {
        let Self { args, frames, overlay, notices, repaints, waker, gl_window, .. } = self;
        let with = With { args, frames, overlay, notices, repaints, waker, gl_window };
        (&mut self.movies, &mut self.devices, &mut self.tuning, with)
    }

    /// Asks the movies for something.
    fn with<T>(&mut self, ask: impl FnOnce(&mut Movies, &mut With) -> T) -> T {
        let (movies, .., mut with) = self.parts();
        ask(movies, &mut with)
    }

    /// Asks the devices for something.
    fn with_devices<T>(&mut self, ask: impl FnOnce(&mut Devices, &mut With) -> T) -> T {
        let (_, devices, _, mut with) = self.parts();
        ask(devices, &mut with)
    }

    /// Asks for something of the searches in spare time.
    fn with_tuning<T>(&mut self, ask: impl FnOnce(&mut SpareTime, &Devices, &mut With) -> T) -> T {
        let (_, devices, tuning, mut with) = self.parts();
        ask(tuning, devices, &mut with)
    }

    // --- one turn ------------------------------------------------------------------------------------------

    /// Collects what other threads have finished, moves frames along, and says when to come again.
    ///
    /// # Errors
    /// When not even the first picture can be shown.
    pub(crate) fn turn(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        self.frames.look_for_stop();
        let due = self.move_on(event_loop)?;
        self.frames.rests_until(due);
        Ok(())
    }

    /// The turn itself; returns when the next one is due, unless something happens before.
    fn move_on(&mut self, event_loop: &ActiveEventLoop) -> Result<Option<Instant>> {
        if self.last.are_on_their_way() {
            self.rest_while_written(event_loop);
            return Ok(None);
        }
        if self.rests(event_loop) {
            return Ok(None);
        }
        self.frames.fetch();
        self.with_devices(Devices::look);
        // Before the next frame has the device's side: where each one is late, there is no other moment.
        self.judge_kernels();
        if let Some(info) = self.with(Movies::look)? {
            self.size = WindowSize::new(event_loop, upright(&info), frame(&self.gl_window.window));
            self.gl_window.request_size(self.size.get());
        }
        if self.surface.look() {
            self.repaints.soon();
        }
        self.look_after_files();
        let (readings, levels) = (self.overlay.wants_readings(), self.overlay.levels);
        self.frames.measure(Measuring { readings, levels });
        self.look_after_wipe();
        // A script's frames wait until the first device has its context, or has none.
        let waits = self.args.frames.is_some() && self.devices.is_opening_first();
        let tick = match waits {
            true => Tick { redraw: false, wake_at: None },
            false => self.movies.tick(&mut self.frames),
        };
        self.with_devices(Devices::look_after_frames);
        self.look_after_lab();
        self.look_after_kernels();
        if self.races.look() {
            self.repaints.soon();
        }
        self.tuning.yield_to(match (self.lab.measures(), self.check.shown().is_under_way()) {
            (true, _) => Some(Wait::Lab),
            (_, true) => Some(Wait::Check),
            _ => None,
        });
        self.with_tuning(SpareTime::look_after);
        self.look_after_conversions();
        let last = self.movies.is_finished(&self.frames);
        if self.args.frames.is_some() && last && !self.frames.is_paused() {
            // A movie that cannot loop has fewer frames than were asked for.
            self.quit = true;
        }
        for (variant, error) in self.frames.take_errors() {
            if let Some(id) = variant {
                self.devices.cannot(id, error.clone());
            } else if self.frames.shown_size().is_none() {
                // Not even the first picture could be shown.
                return Err(error);
            }
            self.notify(error, true);
        }
        if self.frames.is_slow() {
            self.repaints.every(BUSY_REPAINT);
        }
        if self.frames.is_awaiting() {
            self.repaints.every(AWAITED_REPAINT);
        }
        let look_at = self.with_devices(Devices::look_after_silence);
        let now = Instant::now();
        if tick.redraw || self.repaints.at().is_some_and(|at| at <= now) {
            self.gl_window.window.request_redraw();
            event_loop.set_control_flow(ControlFlow::Wait);
            return Ok(Some(now));
        }
        let wake = [tick.wake_at, self.repaints.at(), look_at].into_iter().flatten().min();
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
        Ok(wake)
    }
}

/// What a concern reaches beyond itself.
struct With<'a> {
    args: &'a PlayArgs,
    frames: &'a mut FrameLoop,
    overlay: &'a mut Overlay,
    notices: &'a mut Notices,
    repaints: &'a mut Repaints,
    waker: &'a Waker,
    gl_window: &'a GlWindow,
}

impl With<'_> {
    fn notify(&mut self, error: Error, serious: bool) {
        self.notices.tell(error, serious);
        self.repaints.soon();
    }
}

fn check_texture_size(gl: &glow::Context, width: u32, height: u32) -> Result<()> {
    let limit = max_texture_size(gl);
    if width <= limit && height <= limit {
        return Ok(());
    }
    Err(too_large(width, height, limit))
}
