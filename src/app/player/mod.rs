//! The open window's contents. In: window events, and a turn whenever something may be ready. Out: frames on
//! the screen with the overlay over them, and at the end the screenshot and the statistics.

mod asking;
mod built;
mod device;
mod draw;
mod events;
mod files;
mod hidden;
mod navigate;
mod opening;
mod presses;
mod recovery;
mod save;
mod texts;
mod tuning;

use std::time::{Duration, Instant};

use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::keyboard::ModifiersState;
use winit::window::WindowAttributes;

use super::builder::Builder;
use super::completion::Completion;
use super::fonts::SystemFonts;
use super::playlist::Playlist;
use super::settings::Store;
use crate::app::size::window_size;
use crate::color::Correction;
use crate::error::{Error, Result};
use crate::gpu::cl::{Device, DeviceInfo};
use crate::gpu::event::Waker;
use crate::gpu::gl::{GlWindow, Interface, max_texture_size, too_large};
use crate::gpu::sharing::Sharing;
use crate::ladder::BackEnd;
use crate::ladders::box_filter::VariantId;
use crate::media::Decoder;
use crate::options::{PlayArgs, SceneId};
use crate::overlay::{MovieSummary, Notice, Overlay, VariantStatus};
use crate::present::VideoQuad;
use crate::save as save_file;
use crate::scene::frame_loop::FrameLoop;
use crate::scene::{Input, Scenes};
use crate::stats::Recorder;
use crate::timing::CpuLoad;
use device::Devices;
use navigate::Navigation;

/// Interval of the overlay while a frame takes long: the overlay must answer while the device is busy.
const BUSY_REPAINT: Duration = Duration::from_millis(25);
/// Interval of the overlay while what was chosen is awaited, so that the time is seen to go on.
const AWAITED_REPAINT: Duration = Duration::from_millis(100);
/// Interval of the overlay while nothing else asks for it: the CPU load goes on changing.
const IDLE_REPAINT: Duration = Duration::from_millis(500);
/// Mouse moves do not repaint faster than this.
const INPUT_REPAINT: Duration = Duration::from_millis(16);

/// The open window. Fields drop in order: everything that lives in the OpenGL context before the window.
pub(crate) struct Player<'a> {
    args: &'a PlayArgs,
    frames: FrameLoop,
    quad: VideoQuad,
    painter: egui_glow::Painter,
    egui: egui::Context,
    fonts: SystemFonts,
    egui_input: egui_winit::State,
    overlay: Overlay,
    /// Size of the overlay relative to what the window's size asks for.
    ui_scale: f32,
    settings: Store,
    modifiers: ModifiersState,
    /// The mouse's last move, while it is over the window.
    moved: Option<WindowEvent>,
    /// The overlay's input that comes with its next pass.
    later: Vec<egui::Event>,
    saves: save::Saves,
    /// The picture, the window: to be saved with the next drawing.
    save_frame: bool,
    save_window: bool,
    builder: Builder,
    waker: Waker,
    device: Option<DeviceInfo>,
    devices: Devices,
    status: Vec<(VariantId, VariantStatus)>,
    sharing: Sharing,
    scenes: Scenes,
    playlist: Playlist,
    completion: Option<Completion>,
    navigation: Navigation,
    hidden: hidden::Hidden,
    tuning: tuning::SpareTime,
    texts: texts::TextFile,
    /// What the sliders say, and whether it is switched on.
    correction: Correction,
    corrects: bool,
    cpu: CpuLoad,
    notices: Vec<Notice>,
    decoder_warned: bool,
    repaint_at: Option<Instant>,
    last_draw: Instant,
    presented: u64,
    /// What the title says: the filter of the picture on the screen, and whether it is paused.
    titled: (Option<(VariantId, u32)>, bool),
    /// Width, height and RGBA8 pixels of the window as it was last.
    screenshot: Option<(u32, u32, Vec<u8>)>,
    quit: bool,
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
        attributes: WindowAttributes,
        args: &'a PlayArgs,
        playlist: Playlist,
        decoder: Option<Decoder>,
        device: Option<Device>,
        waker: &Waker,
    ) -> Result<Self> {
        let gl_window = GlWindow::open(event_loop, attributes, !args.unpaced, Interface::wanted(args.gl))?;
        let gl = gl_window.gl.clone();
        let movie = match &decoder {
            Some(decoder) => {
                check_texture_size(&gl, decoder.info().width, decoder.info().height)?;
                MovieSummary::of(playlist.current(), decoder.info())
            }
            None => MovieSummary::opening(playlist.current()),
        };
        let quad = VideoQuad::new(gl.clone())?;
        let painter = egui_glow::Painter::new(gl.clone(), "", None, false).map_err(|e| {
            Error::new("The overlay could not be started.", e.to_string(), "Update the OpenGL driver.")
        })?;
        let egui = egui::Context::default();
        Overlay::style(&egui);
        let fonts = SystemFonts::provide(&egui, waker.clone());
        let (store, settings, unreadable) = Store::open();
        // The overlay's own keys set its size.
        egui.options_mut(|options| options.zoom_with_keyboard = false);
        let mut overlay = Overlay::new();
        overlay.visible = settings.overlay_visible;
        overlay.hint_seen = settings.hint_seen;
        overlay.folded = settings.folded();
        overlay.places = settings.places();
        overlay.stages_open = settings.stages_open;
        overlay.timeline_open = settings.timeline_open;
        overlay.tuning_open = settings.tuning_open;
        overlay.devices_open = settings.devices_open;
        overlay.hatched = settings.hatched;
        let egui_input = egui_winit::State::new(
            egui.clone(),
            egui::ViewportId::ROOT,
            event_loop,
            None,
            None,
            Some(painter.max_texture_side()),
        );
        let builder = Builder::spawn(args.filter.variant, args.trial.limit(), waker.clone())?;
        let recorder = Recorder::new(true);
        let decoder = decoder.unwrap_or_else(Decoder::without_frames);
        let mut frames = FrameLoop::new(gl, decoder, recorder, args.unpaced, waker.clone());
        frames.choose(args.filter.variant, args.filter.radius);
        // Who counts frames wants all of them filtered; who watches wants to see something at once.
        frames.wait_for_filter(args.frames.is_some() && args.filter.variant.back_end() == BackEnd::OpenCl);
        frames.wait_for_conversions(args.frames.is_some());
        let mut player = Self {
            args,
            status: device::at_first(&frames),
            frames,
            quad,
            painter,
            egui,
            fonts,
            egui_input,
            overlay,
            ui_scale: settings.ui_scale,
            settings: store,
            modifiers: ModifiersState::empty(),
            moved: None,
            later: Vec::new(),
            saves: save::Saves::default(),
            save_frame: false,
            save_window: false,
            builder,
            waker: waker.clone(),
            device: None,
            devices: Devices::new(device),
            sharing: Sharing::copy("OpenCL is not there yet"),
            scenes: Scenes::new(movie, waker),
            playlist,
            completion: None,
            navigation: Navigation::default(),
            hidden: hidden::Hidden::default(),
            tuning: tuning::SpareTime::default(),
            texts: texts::TextFile::new(),
            correction: Correction::NEUTRAL,
            corrects: false,
            cpu: CpuLoad::new(),
            notices: Vec::new(),
            decoder_warned: false,
            repaint_at: None,
            last_draw: Instant::now(),
            presented: 0,
            titled: (None, false),
            screenshot: None,
            quit: false,
            gl_window,
        };
        if let Some(error) = unreadable {
            player.notify(error, false);
        }
        if let Some(Err(error)) = args.trace.trace.as_deref().map(save_file::can_write) {
            player.notify(error, false);
        }
        player.scenes.go_to(args.scene, &mut player.frames)?;
        let facts = player.scenes.now().facts();
        if facts.is_opening() {
            player.gl_window.window.set_title(&format!("{} - opening - clreel", facts.file_name));
        }
        Ok(player)
    }

    fn notify(&mut self, error: Error, serious: bool) {
        if self.notices.iter().all(|n| n.error != error) {
            eprintln!("clreel: {error}");
            self.notices.push(Notice { error, serious });
        }
        self.repaint_after(Duration::ZERO);
    }

    fn repaint_after(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.repaint_at = Some(self.repaint_at.map_or(at, |old| old.min(at)));
    }

    // --- one turn ------------------------------------------------------------------------------------------

    /// Collects what other threads have finished, moves frames along, and says when to come again.
    ///
    /// # Errors
    /// When not even the first picture can be shown.
    pub(crate) fn turn(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        if self.rests(event_loop) {
            return Ok(());
        }
        while let Some(message) = self.builder.poll() {
            self.built(message);
        }
        self.take_answers();
        self.choose_first();
        self.prepare_wanted();
        self.look_after_opening();
        self.promote_if_ready();
        self.next_movie(event_loop)?;
        self.navigate();
        if self.fonts.look(&self.egui) {
            self.repaint_after(Duration::ZERO);
        }
        if !self.decoder_warned
            && let Some(warning) = self.frames.decoder().warning()
        {
            self.decoder_warned = true;
            self.notify(warning, false);
        }
        self.look_after_files();
        let tick = self.scenes.now_mut().tick(&mut self.frames);
        self.order_conversions();
        self.look_after_tuning();
        if let Some(error) = self.frames.take_failure() {
            self.failed_in_frame(error);
        }
        let last = self.playlist.count() == 1 && self.frames.is_finished();
        if self.args.frames.is_some() && last && !self.frames.is_paused() {
            // A movie that cannot loop has fewer frames than were asked for.
            self.quit = true;
        }
        for (variant, error) in self.frames.take_errors() {
            if let Some(id) = variant {
                built::set(&mut self.status, id, VariantStatus::Unavailable(error.clone()));
            } else if self.frames.shown_size().is_none() {
                // Not even the first picture could be shown.
                return Err(error);
            }
            self.notify(error, true);
        }
        if self.frames.is_slow() {
            self.repaint_after(BUSY_REPAINT.saturating_sub(self.last_draw.elapsed()));
        }
        if self.frames.is_awaiting() {
            self.repaint_after(AWAITED_REPAINT.saturating_sub(self.last_draw.elapsed()));
        }
        let look_at = self.look_after_silence();
        let now = Instant::now();
        if tick.redraw || self.repaint_at.is_some_and(|at| at <= now) {
            self.gl_window.window.request_redraw();
            event_loop.set_control_flow(ControlFlow::Wait);
            return Ok(());
        }
        let wake = [tick.wake_at, self.repaint_at, look_at].into_iter().flatten().min();
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
        Ok(())
    }

    /// Goes on to the next movie of several when this one is over, and plays what has been opened meanwhile.
    ///
    /// # Errors
    /// When none of the first movies can be opened.
    fn next_movie(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        let several = self.playlist.count() > 1;
        let plays = self.scenes.is_movie() && !self.playlist.is_opening();
        if several && plays && !self.frames.is_paused() && self.frames.is_over() {
            self.playlist.advance();
        }
        match self.playlist.poll() {
            Some(Ok(decoder)) => {
                // More files may have been dropped while this one was being opened.
                decoder.set_looping(self.playlist.count() == 1);
                if self.scenes.movie().is_opening() && self.scenes.is_movie() {
                    // The window appeared before its movie's size was known.
                    let size = window_size(event_loop, Some(decoder.info()));
                    let _ = self.gl_window.window.request_inner_size(size);
                }
                for error in self.playlist.outlived() {
                    self.notices.retain(|notice| notice.error != error);
                }
                let facts = MovieSummary::of(self.playlist.current(), decoder.info());
                self.decoder_warned = false;
                self.titled = (None, false);
                self.navigation = Navigation::default();
                self.scenes.play(decoder, facts, &mut self.frames);
                if self.playlist.was_asked() {
                    self.go_to_scene(SceneId::Movie);
                }
                self.repaint_after(Duration::ZERO);
            }
            Some(Err(error)) if self.playlist.is_hopeless() && self.scenes.is_movie() => return Err(error),
            Some(Err(error)) => self.notify(error, true),
            None => {}
        }
        Ok(())
    }

    /// Gives the window to a scene.
    fn go_to_scene(&mut self, id: SceneId) {
        // What repeats is a part of what plays until now.
        self.frames.decoder().set_ab(None);
        self.navigation = Navigation::default();
        self.titled = (None, false);
        if let Err(error) = self.scenes.go_to(id, &mut self.frames) {
            self.notify(error, true);
        }
        self.repaint_after(Duration::ZERO);
    }

    /// Lets the scene take what the user does; whether that means something to it.
    fn input(&mut self, input: Input) -> bool {
        match self.scenes.now_mut().input(input, &mut self.frames) {
            Ok(None) => return false,
            Ok(Some(text)) if text.is_empty() => {}
            Ok(Some(text)) => self.overlay.say(text),
            Err(error) => self.notify(error, true),
        }
        self.repaint_after(Duration::ZERO);
        true
    }

    fn correct(&mut self) {
        self.frames.correct(self.corrects.then_some(self.correction));
        self.repaint_after(Duration::ZERO);
    }
}

fn check_texture_size(gl: &glow::Context, width: u32, height: u32) -> Result<()> {
    let limit = max_texture_size(gl);
    if width <= limit && height <= limit {
        return Ok(());
    }
    Err(too_large(width, height, limit))
}
