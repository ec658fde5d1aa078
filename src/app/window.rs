//! The window. In: `clreel [FILE]` and what the user does. Out: the movie on the screen, and when it ends the
//! screenshot and the statistics that were asked for.
//!
//! Everything that touches OpenGL runs on this thread. OpenCL's calls are made elsewhere; the devices' threads, the decoder, the
//! builder and the driver's callbacks only wake it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop, EventLoopProxy};
use winit::raw_window_handle::HasDisplayHandle as _;
use winit::window::WindowId;

use super::player::Player;
use super::playlist::Playlist;
use super::size::{DEFAULT, WindowSize, upright};
use crate::app::display;
use crate::options::{PlayArgs, SceneId};
use crate::scene;
use base::error::{Error, Result};
use base::timing::log;
use opencl::cl::{Selection, list_devices, select};
use opencl::event::Waker;
use video::{Decoder, OpenOptions, bundled_clip};

/// So long the window waits for its movie, whose size it takes. Later it appears without.
const FIRST_WAIT: Duration = Duration::from_millis(700);

/// What wakes the window's loop from other threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// Something is ready: look.
    Look,
    /// The process was asked to end.
    Quit,
}

/// Opens the window and plays until the user quits. Does not return, but ends the process, where a kernel or
/// a compiler still runs that cannot be stopped.
///
/// # Errors
/// When the file cannot be played, the device that was named does not exist, or there is no display or no
/// OpenGL; also when the statistics or the screenshot cannot be written at the end. When the display goes away
/// while it plays, the statistics are written and the process ends.
pub(crate) fn run(args: &PlayArgs) -> Result<()> {
    // What happened just now can be saved any time.
    log::start(if args.trace.trace.is_some() { log::KEPT_EVENTS } else { log::RECENT_EVENTS });
    let needs_movie = args.scene != SceneId::Card;
    let files = match (args.files.is_empty(), bundled_clip()) {
        (false, _) => args.files.clone(),
        (true, Ok(clip)) => vec![clip],
        // The test card does without.
        (true, Err(_)) if !needs_movie => Vec::new(),
        (true, Err(error)) => return Err(error),
    };
    let proxy: Arc<OnceLock<EventLoopProxy<Wake>>> = Arc::default();
    quit_on_signals(proxy.clone());
    let device = match &args.filter.device {
        Some(selector) => Some(select(&list_devices(), Some(selector))?),
        None => None,
    };
    let waker: Waker = {
        let proxy = proxy.clone();
        Arc::new(move || {
            if let Some(proxy) = proxy.get() {
                // The loop is gone only when the window is.
                let _ = proxy.send_event(Wake::Look);
            }
        })
    };
    let options = OpenOptions {
        start_s: args.start,
        preload: args.preload,
        references: args.references.get(),
        ..OpenOptions::default()
    };
    let mut playlist = Playlist::new(files, options, waker.clone());
    // The test card appears at once, its window has its own size, and it does without a movie.
    let decoder = if needs_movie { playlist.first(FIRST_WAIT)? } else { None };

    let event_loop = EventLoop::<Wake>::with_user_event().build().map_err(|_| no_display())?;
    let _ = proxy.set(event_loop.create_proxy());
    if let Ok(handle) = event_loop.display_handle() {
        display::watch(handle.as_raw(), waker.clone());
        be_silent_without_a_display();
    }

    let mut app = App {
        args,
        device,
        waker,
        movies: Some((playlist, decoder)),
        window: None,
        quit: false,
        result: Ok(()),
    };
    // Winit panics where an answer of the X server does not come any more.
    let ran = catch_unwind(AssertUnwindSafe(|| event_loop.run_app(&mut app)));
    app.leave_if_lost();
    let ran = match ran {
        // Winit's loop on Wayland ends like this when the compositor is gone.
        Ok(ran) => ran.map_err(|e| display_gone(&format!("The window's event loop ended: {e}."))),
        Err(panic) => resume_unwind(panic),
    };
    let idle = app.finish();
    let result = app.result.and(ran);
    // A device may be asked still whether it shares.
    base::leftovers::remove_all();
    if !idle {
        opencl::process::exit_now(base::exit::report(result.map(|()| base::exit::DONE)));
    }
    result
}

/// Winit's own text names source files of its own, so the reason is said anew.
fn no_display() -> Error {
    let named: Vec<String> = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .filter_map(|name| {
            base::environment::text(name).filter(|v| !v.is_empty()).map(|v| format!("{name}={v}"))
        })
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

fn display_gone(why: &str) -> Error {
    Error::new(
        "The display is gone.",
        why,
        "What was measured until then has been kept; start clreel again once there is a display.",
    )
}

/// A panic of winit's because the X server is gone tells nothing more than [`display_gone`] does.
fn be_silent_without_a_display() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !display::is_lost() {
            before(panic);
        }
    }));
}

/// SIGINT, SIGTERM and SIGHUP end the window as `q` does, so that statistics are written. Call it before any driver is loaded:
/// some heed signals, too (LLVM in PoCL), and who comes later is asked first, and asks the one before.
fn quit_on_signals(proxy: Arc<OnceLock<EventLoopProxy<Wake>>>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    // Without the thread the signals would do nothing at all; then leave them as they were.
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let Some(proxy) = proxy.get() else {
                // There is no window yet.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                return;
            };
            if proxy.send_event(Wake::Quit).is_err() {
                return;
            }
        }
    });
    drop(thread);
}

struct App<'a> {
    args: &'a PlayArgs,
    device: Option<Selection>,
    waker: Waker,
    /// Until the window takes it over.
    movies: Option<(Playlist, Option<Decoder>)>,
    window: Option<Player<'a>>,
    /// A signal asked the process to end.
    quit: bool,
    result: Result<()>,
}

impl App<'_> {
    fn open(&mut self, event_loop: &ActiveEventLoop) -> Result<()> {
        let Some((playlist, decoder)) = self.movies.take() else { return Ok(()) };
        let movie = || decoder.as_ref().map_or(DEFAULT, |decoder| upright(decoder.info()));
        let shown = scene::size(self.args.scene).unwrap_or_else(movie);
        let size = WindowSize::new(event_loop, shown, (0, 0));
        let device = self.device.clone();
        let player = Player::open(event_loop, size, self.args, playlist, decoder, device, &self.waker)?;
        self.window = Some(player);
        Ok(())
    }

    fn check(&mut self, event_loop: &ActiveEventLoop, result: Result<()>) {
        self.leave_if_lost();
        if let Err(error) = result {
            self.result = Err(error);
            event_loop.exit();
        } else if (self.quit || self.window.as_ref().is_some_and(Player::wants_to_quit))
            // The window answers as long as files are written.
            && self.window.as_mut().is_none_or(Player::has_ended)
        {
            event_loop.exit();
        }
    }

    /// Without a display nothing can be drawn or taken down any more: writes what was asked for and ends the
    /// process.
    fn leave_if_lost(&mut self) {
        if !display::is_lost() {
            return;
        }
        if let Some(player) = &mut self.window
            && let Err(error) = player.write()
        {
            eprintln!("clreel: {error}");
        }
        let error =
            display_gone("The connection to the X server broke: it has ended, or it ended the window.");
        opencl::process::exit_now(base::exit::report(Err(error)));
    }

    /// Writes what was asked for and takes the window down; returns whether OpenCL is idle.
    fn finish(&mut self) -> bool {
        display::forget();
        let Some(player) = self.window.take() else { return true };
        let (written, idle) = player.close();
        if self.result.is_ok() {
            self.result = written;
        }
        idle
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
        if event == Wake::Quit {
            self.quit = true;
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let Some(window) = &mut self.window {
            let result = window.event(&event);
            self.check(event_loop, result);
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        self.leave_if_lost();
        if let Some(window) = &mut self.window {
            let result = window.turn(event_loop);
            self.check(event_loop, result);
        }
    }
}
