//! The contents of the open window: the movie with the overlay over it, and the files that are written when the window is
//! closed.
//!
//! [`Player::turn`] is called whenever a result may have arrived or a frame may be due. Each part of the player has its own
//! fields; all parts share the [`PlayerContext`].

mod conversions;
mod devices;
mod draw;
mod editor;
mod events;
mod files;
mod kernels;
mod lab;
mod movies;
mod notices;
mod peaks;
mod races;
mod save;
mod saved_run;
mod sound;
mod surface;
mod tuning;
mod visibility;
mod wipe;

use std::time::{Duration, Instant};

use egui_winit::accesskit_winit;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoopProxy};
use winit::keyboard::ModifiersState;

use self::sound::SoundControl;
use super::builder::Builder;
use super::kernels::CurrentSources;
use super::lane::Lane;
use super::lane::moment::Moment;
use super::playlist::Playlist;
use super::settings::{self, Store};
use crate::app::Wake;
use crate::app::size::{DEFAULT_SIZE, WindowSize, displayed_size, frame_size};
use crate::gl_window::{GlWindow, Interface};
use crate::options::PlayArgs;
use crate::options::values::name_of;
use crate::scene;
use crate::window_system::WindowSystem;
use base::device::DeviceKind;
use base::error::{Error, Result};
use base::jobs::Job;
use base::timing::CpuLoad;
use box_filter::{Filter, Settings, VariantId};
use compute::BackEnd;
use conversions::ConversionCheck;
use devices::Devices;
use engine::frame_loop::{FrameLoop, Tick};
use kernels::LiveKernels;
pub(crate) use kernels::{SavedMember, find_filter};
use lab::LabMeasurement;
use movies::Movies;
use notices::{Notices, Repaints};
use opencl::cl::Device;
use opencl::event::Waker;
use opencl::sandbox::builds;
use opengl::renderer::{max_texture_size, too_large};
use overlay::Overlay;
use peaks::PeakMeasurement;
use races::RaceCheck;
use saved_run::SavedRun;
use stats::{Measurements, Recorder, VariantStatus};
use surface::Surface;
use tuning::BackgroundTuning;
use video::Decoder;
use video::color::Correction;
use visibility::Visibility;

/// The interval of repaints of the overlay while filtering a frame takes long, since the overlay must respond while the device
/// is busy.
const BUSY_REPAINT: Duration = Duration::from_millis(25);
/// The interval of repaints of the overlay while the chosen variant is being built, so that the displayed elapsed time
/// advances.
const AWAITED_REPAINT: Duration = Duration::from_millis(100);
/// The interval of repaints of the overlay if nothing else requires one, so that the displayed CPU load stays current.
const IDLE_REPAINT: Duration = Duration::from_millis(500);

/// The state that all parts of the player use: the frame loop, the overlay with its messages, and the window. Fields are
/// dropped in order, and the window is the last: fields before it have objects in its OpenGL context.
struct PlayerContext<'a> {
    args: &'a PlayArgs,
    frames: FrameLoop,
    overlay: Overlay,
    notices: Notices,
    repaints: Repaints,
    lane: Lane,
    sources: CurrentSources,
    waker: Waker,
    gl_window: GlWindow,
}

impl PlayerContext<'_> {
    /// Shows a banner for an error. If `serious` is true, the banner is shown even if the overlay is hidden.
    fn notify(&mut self, error: Error, serious: bool) {
        self.notices.add(error, serious);
        self.repaints.redraw_soon();
    }

    /// Returns the value of a result. If it is an error, shows a banner and returns `None`.
    fn or_notify<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.notify(error, false)).ok()
    }

    /// Returns the value of the result of an action of the user. If it is an error, shows a banner for a while and returns
    /// `None`.
    fn or_tell<T>(&mut self, result: Result<T>) -> Option<T> {
        let show = |error| {
            self.notices.add_passing(error, true);
            self.repaints.redraw_soon();
        };
        result.map_err(show).ok()
    }

    /// Opens the gates of those background measurements that may run now, and closes the others.
    fn update_lane(&mut self, devices: &Devices) {
        let frames = &self.frames;
        let interval_ns = frames.presenter.screen.frame_interval_ns();
        let budget_ms = interval_ns.map(|ns| ns as f64 / 1e6 / frames.schedule.clock.speed);
        let moment = Moment {
            is_still: frames.schedule.is_paused() || frames.is_finished() || frames.playing().still,
            is_slow: frames.filters.is_slow() || frames.busy().is_some(),
            is_awaited: frames.choice.is_awaited(frames.presenter.screen.filter()),
            is_unpaced: self.args.unpaced,
            is_cpu: devices.running.device().is_some_and(|device| device.info.kind == DeviceKind::Cpu),
            ..Moment::default()
        };
        let moment = moment.with_frames(frames.recorder.history().iter(), budget_ms);
        if self.lane.update(devices.running.number(), &moment) {
            self.repaints.redraw_soon();
        }
        self.frames.recorder.set_other_work(self.lane.uses_device());
    }

    /// Returns the variant that the user has chosen.
    fn chosen(&self) -> VariantId {
        self.frames.choice.filter().0
    }

    /// Chooses `off` (no filter), because the chosen variant is unavailable.
    fn choose_off(&mut self) {
        self.frames.choice.choose_variant(VariantId::OFF);
        self.frames.waits_for_filter = false;
    }
}

/// The movies and the device with which the window opens, and the sender of events to it.
pub(crate) struct Setup {
    pub playlist: Playlist,
    /// The decoder of the first movie; `None` if the playlist is still opening it.
    pub decoder: Option<Decoder>,
    /// The device that the command line selects; `None` if it selects none.
    pub device: Option<(Device, Option<Error>)>,
    /// The sender of events to the window's event loop, for the requests of screen readers.
    pub proxy: EventLoopProxy<Wake>,
}

/// The open window with all parts of the player. Fields are dropped in order, and the window (in `cx`) is the last: fields
/// before it have objects in its OpenGL context.
pub(crate) struct Player<'a> {
    surface: Surface,
    movies: Movies,
    saves: save::SaveJobs,
    /// The job that waits until the user's editor ends.
    editor: Option<Job<()>>,
    saved_run: SavedRun,
    settings: Store,
    /// The values of the sliders of the colour correction.
    sliders: Correction,
    is_corrected: bool,
    devices: Devices,
    tuning: BackgroundTuning,
    lab: LabMeasurement,
    peaks: PeakMeasurement,
    check: ConversionCheck,
    kernels: LiveKernels,
    races: RaceCheck,
    sound: SoundControl,
    visibility: Visibility,
    cpu: CpuLoad,
    modifiers: ModifiersState,
    presented: u64,
    /// True if the user has quit, or the number of frames that the command line requests was presented.
    pub quit: bool,
    size: WindowSize,
    cx: PlayerContext<'a>,
}

impl<'a> Player<'a> {
    /// Opens the window, starts all parts, and lets screen readers read the overlay.
    ///
    /// # Errors
    /// If the window gets no OpenGL context, or OpenGL cannot build its programs.
    pub(crate) fn open(
        event_loop: &ActiveEventLoop,
        args: &'a PlayArgs,
        setup: Setup,
        waker: &Waker,
    ) -> Result<Self> {
        let Setup { playlist, decoder, device, proxy } = setup;
        let movie = || decoder.as_ref().map_or(DEFAULT_SIZE, |decoder| displayed_size(decoder.info()));
        let size = WindowSize::new(event_loop, scene::size(args.scene).unwrap_or_else(movie), (0, 0));
        let (device, remark) = device.map_or((None, None), |(device, remark)| (Some(device), remark));
        // A job reads the settings while the window is opened.
        let mut store = Store::start(settings::file(), waker);
        let (attributes, interface) = (size.attributes(), Interface::preferred(args.gl));
        let gl_window = GlWindow::open(event_loop, attributes, !args.unpaced, interface)?;
        let gl = gl_window.gl.clone();
        let other_interface = args.gl.and(gl_window.reason.as_ref()).map(|reason| {
            let what = format!(
                "--gl {} was asked for, but OpenGL runs with {}.",
                name_of(&interface),
                gl_window.renderer
            );
            let hint = match gl_window.window_system() {
                WindowSystem::Wayland => "GLX needs X11: --window-system x11.",
                WindowSystem::X11 => "",
            };
            Error::new(what, format!("{reason}."), hint)
        });
        let info = decoder.as_ref().map(Decoder::info);
        if let Some(info) = info {
            let limit = max_texture_size(&gl);
            if info.width.max(info.height) > limit {
                return Err(too_large(info.width, info.height, limit));
            }
        }
        let movies = Movies::new(playlist, info);
        let (settings, unreadable) = store.read();
        let surface = Surface::new(event_loop, &gl, settings.ui_scale, waker)?;
        let values = |variant: VariantId, radius: Option<u32>| {
            let radius = radius.unwrap_or(args.filter.radius);
            // `cli::run` has refused wrong settings.
            args.filter.folder.settings(variant, radius).unwrap_or_else(|_| radius.into())
        };
        let (variant, radius) = match args.filter.wipe {
            Some([first, _]) => first,
            None => (args.filter.variant, None),
        };
        let sources = CurrentSources::default();
        let builder = Builder::spawn(variant, args.trial.timeouts.kernel_timeout, &sources, waker);
        let is_open = decoder.is_some();
        let decoder = decoder.unwrap_or_else(Decoder::without_frames);
        let mut frames = FrameLoop::new(gl, decoder, args.unpaced, waker.clone());
        frames.recorder = Recorder::new(true);
        // The box filter's settings, until the user changes them.
        frames.choice.choose(VariantId::OFF, args.filter.radius);
        frames.choice.choose(variant, values(variant, radius));
        if let Some([_, (other, radius)]) = args.filter.wipe {
            frames.wipe.set_second(Some((other, values(other, radius)).into()));
            frames.wipe.set_comparing(args.filter.difference);
        }
        // Scripts that count frames need all of them filtered; for a user, unfiltered frames are shown until the filter is
        // built.
        frames.waits_for_filter = args.frames.is_some() && variant.back_end() == BackEnd::OpenCl;
        frames.filters.waits_for_conversions = args.frames.is_some();
        frames.waits_for_stack = args.frames.is_some() && !args.filter.folder.below().is_empty();
        let devices = Devices::new(builder, device, &frames, &sources);
        let mut cx = PlayerContext {
            args,
            frames,
            overlay: Overlay::new(settings.overlay),
            notices: Notices::default(),
            repaints: Repaints::new(),
            lane: Lane::new(waker),
            sources,
            waker: waker.clone(),
            gl_window,
        };
        let mut player = Self {
            surface,
            movies,
            saves: save::SaveJobs::begin(args.trace.trace.as_deref(), waker),
            editor: None,
            saved_run: SavedRun::default(),
            settings: store,
            sliders: Correction::NEUTRAL,
            is_corrected: false,
            devices,
            tuning: BackgroundTuning::default(),
            lab: LabMeasurement::default(),
            peaks: PeakMeasurement::default(),
            check: ConversionCheck::default(),
            kernels: LiveKernels::begin(settings.kernel_folders, &cx.sources, waker),
            races: RaceCheck::default(),
            sound: SoundControl::start(&mut cx, waker),
            visibility: Visibility::default(),
            cpu: CpuLoad::default(),
            modifiers: ModifiersState::empty(),
            presented: 0,
            quit: false,
            size,
            cx,
        };
        player.kernels.begin_stack(settings.stack, args.filter.folder.below(), waker);
        let of_movie = player.movies.remark.clone();
        if args.talk {
            player.cx.overlay.toggle_talk();
        }
        player.cx.overlay.path_prompt.recent = settings.recent_files;
        player.cx.overlay.path_prompt.clip = video::bundled_clip().ok();
        if is_open {
            player.movies.note_recent(&mut player.cx);
        }
        player.cx.overlay.lacks_drops = player.cx.gl_window.lacks_drops();
        for error in unreadable.into_iter().chain(remark).chain(other_interface).chain(of_movie) {
            player.cx.notify(error, false);
        }
        player.movies.go_to(args.scene, &mut player.cx.frames)?;
        if let Some(title) = player.movies.title(&player.cx.frames) {
            player.cx.gl_window.window.set_title(&title);
        }
        // AccessKit requires this before the window is visible for the first time.
        let window = &player.cx.gl_window.window;
        player.surface.input.init_accesskit(event_loop, window, proxy);
        window.set_visible(true);
        Ok(player)
    }

    /// Handles a request of a screen reader. Before the first request, egui does not build the overlay's accessibility tree.
    pub(crate) fn access(&mut self, event: accesskit_winit::WindowEvent) {
        use accesskit_winit::WindowEvent;
        let Surface { egui, input, .. } = &mut self.surface;
        match event {
            WindowEvent::InitialTreeRequested => egui.enable_accesskit(),
            WindowEvent::ActionRequested(request) => input.on_accesskit_action_request(request),
            WindowEvent::AccessibilityDeactivated => egui.disable_accesskit(),
        }
        self.cx.repaints.redraw_soon();
    }

    /// Makes one turn of the event loop: takes the results of other threads, advances the frames, and sets when the next turn
    /// is due.
    ///
    /// # Errors
    /// If the first picture cannot be shown.
    pub(crate) fn turn(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        self.cx.frames.update();
        let due = self.advance(event_loop)?;
        self.cx.frames.stops.wait_until(due);
        Ok(())
    }

    /// Takes the results of other threads, and advances the frames. Returns the time at which the next turn is due; `None` if
    /// only an event requires one. Events may cause an earlier turn.
    fn advance(&mut self, event_loop: &ActiveEventLoop) -> Result<Option<Instant>> {
        if self.saves.are_being_written() {
            self.wait_for_last_files(event_loop);
            return Ok(None);
        }
        // A window that was just opened may not be mapped yet.
        if !self.quit
            && self.presented > 0
            && let Some(look_at) = self.visibility.update(&mut self.cx)
        {
            event_loop.set_control_flow(ControlFlow::WaitUntil(look_at));
            return Ok(None);
        }
        let Self { movies, devices, kernels, cx, .. } = self;
        cx.frames.filters.collect();
        devices.update(cx);
        builds::release_ended_children();
        kernels.validate(devices, cx);
        if let Some(info) = movies.update(cx)? {
            self.size = WindowSize::new(event_loop, displayed_size(&info), frame_size(&cx.gl_window.window));
            cx.gl_window.request_size(self.size.given);
        }
        if self.surface.fonts.poll(&self.surface.egui) {
            cx.repaints.redraw_soon();
        }
        let (has_left, next) = cx.notices.expire();
        next.into_iter()
            .chain(has_left.then_some(Duration::ZERO))
            .for_each(|wait| cx.repaints.redraw_within(wait));
        self.update_saved_files();
        self.poll_editor();
        self.update_saved_run();
        let Self { movies, devices, kernels, cx, .. } = self;
        self.sound.update(cx);
        let (readings, levels) = (cx.overlay.needs_readings(), cx.overlay.switches.levels);
        cx.frames.choice.measuring = Measurements { readings, levels };
        wipe::update(movies, devices, cx);
        // The frames of a script wait until the first device has a context, or creating it has failed.
        let waits = cx.args.frames.is_some()
            && devices.candidate.opening().is_some()
            && devices.running.device().is_none();
        let tick = match waits {
            true => Tick { redraw: false, wake_at: None },
            false => movies.scenes.current_mut().tick(&mut cx.frames),
        };
        self.sound.publish_clock(&cx.frames.schedule);
        devices.handle_frame_needs(cx);
        cx.update_lane(devices);
        self.lab.update(kernels, cx);
        kernels.update(devices, cx);
        self.races.update(kernels, devices.running.kind(), cx);
        self.lab.update_code(devices, kernels, cx);
        kernels.compare(devices, cx);
        self.peaks.update(devices, cx);
        self.tuning.update(devices, cx);
        if self.check.update() {
            cx.repaints.redraw_soon();
        }
        // A movie that cannot loop may have fewer frames than the number requested.
        let is_finished = movies.playlist.count() == 1 && cx.frames.is_finished();
        self.quit |= cx.args.frames.is_some() && is_finished && !cx.frames.schedule.is_paused();
        for (variant, error) in std::mem::take(&mut cx.frames.errors) {
            if let Some(id) = variant {
                devices.running.statuses.set(id, VariantStatus::Unavailable(error.clone()));
            } else if cx.frames.presenter.screen.size().is_none() {
                // Not even the first picture could be shown.
                return Err(error);
            }
            cx.notify(error, true);
        }
        if cx.frames.filters.is_slow() {
            cx.repaints.redraw_every(BUSY_REPAINT);
        }
        if cx.frames.choice.is_awaited(cx.frames.presenter.screen.filter()) {
            cx.repaints.redraw_every(AWAITED_REPAINT);
        }
        let look_at = devices.check_unresponsive_drivers(cx);
        let now = Instant::now();
        if tick.redraw || cx.repaints.next_redraw.is_some_and(|at| at <= now) {
            cx.gl_window.window.request_redraw();
            event_loop.set_control_flow(ControlFlow::Wait);
            return Ok(Some(now));
        }
        let wake = [tick.wake_at, cx.repaints.next_redraw, look_at].into_iter().flatten().min();
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
        Ok(wake)
    }
}

/// Returns the items of `all` that are named in the comma-separated list `names`, whose parts `parse` reads; all items if none
/// is named.
fn selected<T: PartialEq>(all: Vec<T>, names: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let named: Vec<T> = names.split(',').filter_map(|name| parse(name.trim())).collect();
    let has_none = all.iter().all(|item| !named.contains(item));
    all.into_iter().filter(|item| has_none || named.contains(item)).collect()
}
