//! The window. In: `clreel [FILE]` and what the user does. Out: the movie on the screen, and when it ends the
//! screenshot and the statistics that were asked for.
//!
//! Everything that touches OpenGL or enqueues OpenCL commands runs on this thread; the decoder, the builder
//! and the driver's callbacks only wake it.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use glow::HasContext as _;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Fullscreen, Window, WindowAttributes, WindowId};

use super::builder::{Builder, Built};
use super::frame_loop::{DrawTimes, FrameLoop};
use super::input::{self, Command};
use crate::cli::{MAX_RADIUS, PlayArgs};
use crate::error::{Error, Result};
use crate::gpu::cl::{Device, DeviceInfo, list_devices, select_device};
use crate::gpu::event::Waker;
use crate::gpu::gl::GlWindow;
use crate::gpu::sharing::Sharing;
use crate::ladder::VariantId;
use crate::ladder::box_filter;
use crate::media::{Decoder, OpenOptions, bundled_clip};
use crate::overlay::{Action, MovieSummary, Notice, Overlay, VariantRow, VariantStatus, View};
use crate::pipeline::Pipeline;
use crate::present::{VideoQuad, letterbox};
use crate::stats::{self, CpuLoad, ExportContext, Recorder};

/// Interval of the overlay while a frame takes long: the overlay must answer while the device is busy.
const BUSY_REPAINT: Duration = Duration::from_millis(25);
/// Interval of the overlay while nothing else asks for it: the CPU load goes on changing.
const IDLE_REPAINT: Duration = Duration::from_millis(500);
/// Mouse moves do not repaint faster than this.
const INPUT_REPAINT: Duration = Duration::from_millis(16);

/// What wakes the window's loop from other threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// Something is ready: look.
    Look,
    /// The process was asked to end.
    Quit,
}

/// Opens the window and plays until the user quits.
///
/// # Errors
/// When the file cannot be played, the device that was named does not exist, or there is no display or no
/// OpenGL; also when the statistics or the screenshot cannot be written at the end.
pub fn run(args: &PlayArgs) -> Result<()> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => bundled_clip()?,
    };
    let device = match &args.filter.device {
        Some(selector) => Some(select_device(&list_devices(), Some(selector))?),
        None => None,
    };
    let proxy: Arc<OnceLock<EventLoopProxy<Wake>>> = Arc::default();
    let waker: Waker = {
        let proxy = proxy.clone();
        Arc::new(move || {
            if let Some(proxy) = proxy.get() {
                // The loop is gone only when the window is.
                let _ = proxy.send_event(Wake::Look);
            }
        })
    };
    let options = OpenOptions { start_s: args.start, looping: true, preload: args.preload };
    let wake_decoder = waker.clone();
    let decoder = Decoder::open(&path, options, Box::new(move || wake_decoder()))?;
    if let Some(warning) = decoder.warning() {
        eprintln!("clreel: {warning}");
    }

    let event_loop = EventLoop::<Wake>::with_user_event().build().map_err(|_| no_display())?;
    let _ = proxy.set(event_loop.create_proxy());
    quit_on_signals(event_loop.create_proxy());

    let mut app =
        App { args, path: &path, device, waker, decoder: Some(decoder), window: None, result: Ok(()) };
    let ran = event_loop.run_app(&mut app);
    app.finish();
    app.result?;
    ran.map_err(|e| {
        Error::new(
            "The window's event loop ended.",
            format!("{e}."),
            "Check that the display server still runs.",
        )
    })
}

/// Winit's own text names source files of its own, so the reason is said anew.
fn no_display() -> Error {
    let named: Vec<String> = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .filter_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()).map(|v| format!("{name}={v}")))
        .collect();
    let why = if named.is_empty() {
        "There is no display: neither WAYLAND_DISPLAY nor DISPLAY is set.".to_owned()
    } else {
        format!("No display server answers at {}.", named.join(" or "))
    };
    Error::new(
        "No window can be opened.",
        why,
        "Run clreel in a desktop session, or with xvfb-run; `clreel snapshot` and `clreel bench` need no display.",
    )
}

/// SIGINT, SIGTERM and SIGHUP end the window as `q` does, so that statistics are written.
fn quit_on_signals(proxy: EventLoopProxy<Wake>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    // Without the thread the signals would do nothing at all; then leave them as they were.
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            if proxy.send_event(Wake::Quit).is_err() {
                return;
            }
        }
    });
    drop(thread);
}

struct App<'a> {
    args: &'a PlayArgs,
    path: &'a Path,
    device: Option<Device>,
    waker: Waker,
    /// Until the window takes it over.
    decoder: Option<Decoder>,
    window: Option<Player<'a>>,
    result: Result<()>,
}

impl App<'_> {
    fn open(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        let Some(decoder) = self.decoder.take() else { return Ok(()) };
        let player =
            Player::open(event_loop, self.args, self.path, decoder, self.device.clone(), &self.waker)?;
        self.window = Some(player);
        Ok(())
    }

    fn check(&mut self, event_loop: &ActiveEventLoop, result: Result<()>) {
        if let Err(error) = result {
            self.result = Err(error);
            event_loop.exit();
        } else if self.window.as_ref().is_some_and(|w| w.quit) {
            event_loop.exit();
        }
    }

    /// Writes what was asked for and takes the window down.
    fn finish(&mut self) {
        if let Some(player) = self.window.take() {
            let written = player.close();
            if self.result.is_ok() {
                self.result = written;
            }
        }
    }
}

impl ApplicationHandler<Wake> for App<'_> {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.window.is_none() {
            let opened = self.open(event_loop);
            self.check(event_loop, opened);
        }
    }

    fn user_event(&mut self, _: &ActiveEventLoop, event: Wake) {
        if let (Wake::Quit, Some(window)) = (event, &mut self.window) {
            window.quit = true;
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let Some(window) = &mut self.window {
            let result = window.event(&event);
            self.check(event_loop, result);
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(window) = &mut self.window {
            window.turn(event_loop);
        }
        self.check(event_loop, Ok(()));
    }
}

/// The open window. Fields drop in order: everything that lives in the OpenGL context before the window.
struct Player<'a> {
    args: &'a PlayArgs,
    frames: FrameLoop,
    quad: VideoQuad,
    painter: egui_glow::Painter,
    egui: egui::Context,
    egui_input: egui_winit::State,
    overlay: Overlay,
    builder: Builder,
    waker: Waker,
    device: Option<DeviceInfo>,
    status: Vec<(VariantId, VariantStatus)>,
    sharing: Sharing,
    movie: MovieSummary,
    nominal_fps: Option<f64>,
    cpu: CpuLoad,
    notices: Vec<Notice>,
    decoder_warned: bool,
    variant: VariantId,
    radius: u32,
    repaint_at: Option<Instant>,
    last_draw: Instant,
    presented: u64,
    /// What the title says: the filter of the picture on the screen, and whether it is paused.
    titled: (Option<(VariantId, u32)>, bool),
    screenshot: Option<Vec<u8>>,
    quit: bool,
    gl_window: GlWindow,
}

impl<'a> Player<'a> {
    fn open(
        event_loop: &ActiveEventLoop,
        args: &'a PlayArgs,
        path: &Path,
        decoder: Decoder,
        device: Option<Device>,
        waker: &Waker,
    ) -> Result<Self> {
        let info = decoder.info();
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        let size = window_size(event_loop, info.width, info.height);
        let attributes = attributes(&name, size);
        let gl_window = GlWindow::open(event_loop, attributes, !args.unpaced)?;
        let gl = gl_window.gl.clone();
        let quad = VideoQuad::new(gl.clone())?;
        let painter = egui_glow::Painter::new(gl.clone(), "", None, false).map_err(|e| {
            Error::new("The overlay could not be started.", e.to_string(), "Update the OpenGL driver.")
        })?;
        let egui = egui::Context::default();
        Overlay::style(&egui);
        let egui_input = egui_winit::State::new(
            egui.clone(),
            egui::ViewportId::ROOT,
            event_loop,
            None,
            None,
            Some(painter.max_texture_side()),
        );
        let movie = MovieSummary {
            file_name: name,
            width: info.width,
            height: info.height,
            fps: info.fps,
            codec: info.codec.clone(),
            position_s: 0.0,
            duration_s: info.duration_s,
        };
        let nominal_fps = info.fps;
        let builder = Builder::spawn(device, args.filter.variant, waker.clone())?;
        let recorder = Recorder::new(args.stats.is_some());
        let mut frames = FrameLoop::new(gl, decoder, recorder, args.unpaced);
        frames.choose(args.filter.variant, args.filter.radius);
        let status = VariantId::ALL
            .into_iter()
            .map(|id| (id, if id == VariantId::Off { VariantStatus::Ready } else { VariantStatus::Building }))
            .collect();
        Ok(Self {
            args,
            frames,
            quad,
            painter,
            egui,
            egui_input,
            overlay: Overlay::new(),
            builder,
            waker: waker.clone(),
            device: None,
            status,
            sharing: Sharing::of_this_version(args.no_sharing),
            movie,
            nominal_fps,
            cpu: CpuLoad::new(),
            notices: Vec::new(),
            decoder_warned: false,
            variant: args.filter.variant,
            radius: args.filter.radius,
            repaint_at: None,
            last_draw: Instant::now(),
            presented: 0,
            titled: (None, false),
            screenshot: None,
            quit: false,
            gl_window,
        })
    }

    // --- events --------------------------------------------------------------------------------------------

    fn event(&mut self, event: &WindowEvent) -> Result<()> {
        match event {
            WindowEvent::RedrawRequested => return self.draw(),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => {
                self.quit = true;
                return Ok(());
            }
            WindowEvent::Resized(size) => {
                self.gl_window.resize(*size);
                self.repaint_after(Duration::ZERO);
            }
            _ => {}
        }
        let response = self.egui_input.on_window_event(&self.gl_window.window, event);
        if response.repaint {
            self.repaint_after(INPUT_REPAINT.saturating_sub(self.last_draw.elapsed()));
        }
        if let WindowEvent::KeyboardInput { event: key, .. } = event {
            // A text field that has the focus takes the keys.
            if !self.egui.egui_wants_keyboard_input() {
                if let Some(command) = input::command(key) {
                    self.obey(command);
                }
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Do(action) => self.act(action),
            Command::RadiusBy(step) => {
                let radius = self.radius.saturating_add_signed(step).min(MAX_RADIUS);
                self.act(Action::SetRadius(radius));
            }
            Command::ToggleFullscreen => {
                let window = &self.gl_window.window;
                let next = window.fullscreen().is_none().then_some(Fullscreen::Borderless(None));
                window.set_fullscreen(next);
            }
            Command::LeaveFullscreen => self.gl_window.window.set_fullscreen(None),
        }
        self.repaint_after(Duration::ZERO);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::SetVariant(id) => {
                let status = self.status.iter().find(|(v, _)| *v == id).map(|(_, status)| status.clone());
                if let Some(VariantStatus::Unavailable(error)) = status {
                    self.notify(error, true);
                    return;
                }
                self.variant = id;
                self.builder.want(id);
                self.frames.choose(self.variant, self.radius);
            }
            Action::SetRadius(radius) => {
                self.radius = radius.min(MAX_RADIUS);
                self.frames.choose(self.variant, self.radius);
            }
            Action::TogglePause => self.frames.toggle_pause(),
            Action::ToggleOverlay => self.overlay.visible = !self.overlay.visible,
            Action::DismissNotice(index) => {
                if index < self.notices.len() {
                    self.notices.remove(index);
                }
            }
            Action::Quit => self.quit = true,
        }
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

    fn turn(&mut self, event_loop: &ActiveEventLoop) {
        while let Some(message) = self.builder.poll() {
            self.built(message);
        }
        if !self.decoder_warned {
            if let Some(warning) = self.frames.decoder().warning() {
                self.decoder_warned = true;
                self.notify(warning, false);
            }
        }
        let tick = self.frames.tick();
        for (variant, error) in self.frames.take_errors() {
            if let Some(id) = variant {
                self.set_status(id, VariantStatus::Unavailable(error.clone()));
                self.variant = VariantId::Off;
            }
            self.notify(error, true);
        }
        let now = Instant::now();
        if tick.redraw || self.repaint_at.is_some_and(|at| at <= now) {
            self.gl_window.window.request_redraw();
            event_loop.set_control_flow(ControlFlow::Wait);
            return;
        }
        let wake = [tick.wake_at, self.repaint_at].into_iter().flatten().min();
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }

    fn set_status(&mut self, id: VariantId, status: VariantStatus) {
        if let Some(entry) = self.status.iter_mut().find(|(v, _)| *v == id) {
            entry.1 = status;
        }
    }

    fn built(&mut self, message: Built) {
        match message {
            Built::Context(cl) => {
                self.device = Some(cl.device.info.clone());
                self.frames.set_pipeline(Pipeline::new(cl, self.waker.clone()));
            }
            Built::NoOpenCl(error) => {
                for (id, status) in &mut self.status {
                    if *id != VariantId::Off {
                        *status = VariantStatus::Unavailable(error.clone());
                    }
                }
                self.variant = VariantId::Off;
                self.frames.choose(self.variant, self.radius);
                self.notify(error, true);
            }
            Built::Variant(built) => {
                self.set_status(built.info().id, VariantStatus::Ready);
                if let Some(pipeline) = self.frames.pipeline_mut() {
                    pipeline.add(built);
                }
            }
            Built::Failed(id, error) => {
                self.set_status(id, VariantStatus::Unavailable(error.clone()));
                if self.variant == id {
                    self.variant = VariantId::Off;
                    self.frames.choose(self.variant, self.radius);
                }
                self.notify(error, true);
            }
        }
        self.repaint_after(Duration::ZERO);
    }

    // --- drawing -------------------------------------------------------------------------------------------

    fn draw(&mut self) -> Result<()> {
        self.repaint_at = None;
        self.last_draw = Instant::now();
        let window = self.gl_window.size();
        let mut times = DrawTimes::default();

        let began = Instant::now();
        match self.frames.picture() {
            Some((texture, size, pixel_aspect)) => {
                self.quad.draw(window, Some(texture), letterbox(window, size, pixel_aspect));
            }
            None => self.quad.draw(window, None, letterbox(window, window, 1.0)),
        }
        times.present = ms_since(began);

        let began = Instant::now();
        let actions = self.paint_overlay(window);
        times.overlay = ms_since(began);

        let last = self.args.frames.is_some_and(|n| self.presented + 1 >= n);
        if self.args.screenshot.is_some() && (last || self.quit) {
            self.screenshot = Some(self.read_window(window));
        }
        let began = Instant::now();
        self.gl_window.window.pre_present_notify();
        self.gl_window.swap()?;
        times.swap = ms_since(began);

        if self.frames.swapped(times) {
            self.presented += 1;
            if self.args.frames.is_some_and(|n| self.presented >= n) {
                self.quit = true;
            }
        }
        self.update_title();
        for action in actions {
            self.act(action);
            self.repaint_after(Duration::ZERO);
        }
        if self.frames.is_slow() {
            self.repaint_after(BUSY_REPAINT.saturating_sub(self.last_draw.elapsed()));
        } else if !self.frames.is_paused() {
            self.repaint_after(IDLE_REPAINT);
        }
        Ok(())
    }

    /// The title names what is on the screen, also while the overlay is hidden: "clip.mp4 - naive, r=7".
    fn update_title(&mut self) {
        let now = (self.frames.shown_filter(), self.frames.is_paused());
        if now == self.titled {
            return;
        }
        self.titled = now;
        let filter = match now.0 {
            Some((VariantId::Off, _)) => " - off".to_owned(),
            Some((variant, radius)) => format!(" - {variant}, r={radius}"),
            None => String::new(),
        };
        let paused = if now.1 { ", paused" } else { "" };
        let title = format!("{}{filter}{paused} - clreel", self.movie.file_name);
        self.gl_window.window.set_title(&title);
    }

    fn paint_overlay(&mut self, window: (u32, u32)) -> Vec<Action> {
        self.movie.position_s = self.frames.position_s();
        let busy = self.frames.busy();
        let variants: Vec<VariantRow> = self
            .status
            .iter()
            .map(|(id, status)| {
                let (title, idea) = describe(*id);
                VariantRow { id: *id, title, idea, status: status.clone() }
            })
            .collect();
        let budget_ms = self
            .frames
            .frame_interval_ns()
            .map(|ns| ns as f64 / 1e6)
            .or(self.nominal_fps.filter(|fps| *fps > 0.0).map(|fps| 1e3 / fps));
        let view = View {
            recorder: &self.frames.recorder,
            cpu: self.cpu.sample(),
            movie: &self.movie,
            device: self.device.as_ref(),
            gl_renderer: &self.gl_window.renderer,
            sharing: self.sharing.name(),
            sharing_reason: self.sharing.reason(),
            variants: &variants,
            chosen: self.variant,
            radius: self.radius,
            paused: self.frames.is_paused(),
            unpaced: self.args.unpaced,
            busy: busy.as_ref(),
            notices: &self.notices,
            budget_ms,
            catching_up: self.frames.decoder().queue().is_catching_up(),
        };
        let raw_input = self.egui_input.take_egui_input(&self.gl_window.window);
        let overlay = &mut self.overlay;
        let mut actions = Vec::new();
        let mut output = self.egui.run_ui(raw_input, |ui| actions.extend(overlay.show(ui, &view)));
        self.egui_input.handle_platform_output(&self.gl_window.window, output.platform_output);
        let primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
        let (size, scale) = ([window.0, window.1], output.pixels_per_point);
        self.painter.paint_and_update_textures(size, scale, &primitives, &mut output.textures_delta);
        let wait = output.viewport_output.get(&egui::ViewportId::ROOT).map(|v| v.repaint_delay);
        if let Some(wait) = wait.filter(|w| *w < IDLE_REPAINT) {
            self.repaint_after(wait.max(INPUT_REPAINT));
        }
        actions
    }

    /// The window's pixels as they were just drawn: RGBA8, top row first.
    fn read_window(&self, (width, height): (u32, u32)) -> Vec<u8> {
        let row = width as usize * 4;
        let mut bottom_up = vec![0; row * height as usize];
        let gl = &self.gl_window.gl;
        // SAFETY: the context is current, and the slice has room for width·height RGBA8 pixels.
        unsafe {
            gl.pixel_store_i32(glow::PACK_ALIGNMENT, 4);
            gl.pixel_store_i32(glow::PACK_ROW_LENGTH, 0);
            let pixels = glow::PixelPackData::Slice(Some(&mut bottom_up));
            gl.read_pixels(0, 0, width as i32, height as i32, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        }
        let mut rgba: Vec<u8> = bottom_up.rchunks_exact(row).flatten().copied().collect();
        // Windows have no transparency here; some drivers leave junk in alpha.
        rgba.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
        rgba
    }

    // --- the end -------------------------------------------------------------------------------------------

    fn close(mut self) -> Result<()> {
        let mut result = Ok(());
        if let Some(path) = &self.args.screenshot {
            if self.screenshot.is_none() {
                let _ = self.draw();
            }
            let (width, height) = self.gl_window.size();
            if let Some(rgba) = &self.screenshot {
                result = crate::save::png(path, width, height, rgba);
            }
        }
        if let Some(path) = &self.args.stats {
            let context = ExportContext {
                movie: &self.movie.file_name,
                width: self.movie.width,
                height: self.movie.height,
                fps: self.movie.fps,
                device: self.device.as_ref(),
                gl_renderer: &self.gl_window.renderer,
                sharing: self.sharing.name(),
                sharing_reason: self.sharing.reason(),
                variant: self.variant,
                radius: self.radius,
                unpaced: self.args.unpaced,
            };
            let written = stats::export(path, &self.frames.recorder, &context);
            result = result.and(written);
        }
        self.quad.destroy();
        self.painter.destroy();
        self.frames.shut_down();
        result
    }
}

fn attributes(name: &str, size: PhysicalSize<u32>) -> WindowAttributes {
    use winit::platform::{wayland, x11};
    let attributes = Window::default_attributes()
        .with_title(format!("{name} - clreel"))
        .with_inner_size(size)
        .with_min_inner_size(PhysicalSize::new(320, 180));
    let attributes = x11::WindowAttributesExtX11::with_name(attributes, "clreel", "clreel");
    wayland::WindowAttributesExtWayland::with_name(attributes, "clreel", "clreel")
}

/// The movie's size, but not so small that the overlay does not fit, and not larger than the monitor.
fn window_size(event_loop: &ActiveEventLoop, width: u32, height: u32) -> PhysicalSize<u32> {
    let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    let limit = monitor.map(|m| m.size()).filter(|s| s.width > 0 && s.height > 0);
    let (w, h) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let grow = (960.0 / w).min(540.0 / h).max(1.0);
    let shrink =
        limit.map_or(1.0, |l| (f64::from(l.width) / (w * grow)).min(f64::from(l.height) / (h * grow)));
    let scale = grow * shrink.min(1.0);
    PhysicalSize::new((w * scale).round().max(320.0) as u32, (h * scale).round().max(180.0) as u32)
}

/// A variant's title and idea for the overlay.
fn describe(id: VariantId) -> (&'static str, &'static str) {
    box_filter::info(id)
        .map_or(("Off", "No filter: the frame passes through."), |info| (info.title, info.idea))
}

fn ms_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
