//! The event loop of the window, for `clreel [FILE]`.
//!
//! All OpenGL calls are made on this thread. OpenCL calls are made on other threads; the devices' threads, the decoder, the
//! builder and callbacks of drivers only wake this loop.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoopProxy};
use winit::raw_window_handle::HasDisplayHandle as _;
use winit::window::WindowId;

use super::player::{Player, Setup};
use super::playlist::Playlist;
use crate::app::{Wake, display};
use crate::options::{PlayArgs, SceneId};
use crate::window_system::{self, WindowSystem};
use base::error::{Error, Result};
use base::stderr::print_message;
use base::timing::log;
use opencl::cl::{list_devices, select};
use opencl::event::Waker;
use video::{OpenOptions, bundled_clip};

/// The time for which clreel waits for its first movie before it opens the window. If the movie is not open by then, the window
/// is opened without knowledge of the movie's size.
const FIRST_WAIT: Duration = Duration::from_millis(700);

/// Opens the window and plays until the user quits. Ends the process instead of returning if a kernel or a compiler still runs,
/// since these cannot be stopped.
///
/// Returns an error if the movie cannot be played, the selected device does not exist, there is no display or no OpenGL, or the
/// statistics or the screenshot cannot be written at the end. If the connection to the display is lost during playback, the
/// statistics are written and the process ends.
pub(crate) fn run(args: &PlayArgs) -> Result<()> {
    // Recent events are always recorded, so that they can be saved at any time.
    log::start(if args.trace.trace.is_some() { log::KEPT_EVENTS } else { log::RECENT_EVENTS });
    let needs_movie = args.scene != SceneId::Card;
    let files = match (args.files.is_empty(), bundled_clip()) {
        (false, _) => args.files.clone(),
        (true, Ok(clip)) => vec![clip],
        // The test card needs no movie.
        (true, Err(_)) if !needs_movie => Vec::new(),
        (true, Err(error)) => return Err(error),
    };
    let proxy: Arc<OnceLock<EventLoopProxy<Wake>>> = Arc::default();
    quit_on_signals(proxy.clone());
    let selector = args.filter.device.as_ref();
    let device = selector.map(|selector| select(&list_devices(), Some(selector))).transpose()?;
    let waker: Waker = {
        let proxy = proxy.clone();
        Arc::new(move || {
            if let Some(proxy) = proxy.get() {
                // The event loop ends only when the window is closed.
                let _ = proxy.send_event(Wake::Ready);
            }
        })
    };
    let options = OpenOptions {
        start_s: args.start,
        preload: args.preload,
        policy: args.references.policy(&args.audio_language),
        ..OpenOptions::default()
    };
    let mut playlist = Playlist::new(files, options, waker.clone());
    // The test card appears at once, and its window has its own size.
    let decoder = if needs_movie { playlist.first(FIRST_WAIT)? } else { None };

    let system = WindowSystem::preferred(args.window_system);
    let event_loop =
        window_system::event_loop::<Wake>(system).map_err(|_| window_system::no_display(system))?;
    let _ = proxy.set(event_loop.create_proxy());
    if let Ok(handle) = event_loop.display_handle() {
        display::watch(handle.as_raw(), waker.clone());
        // Winit panics when the X server is gone, which the error of `display_gone` reports.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !display::is_lost() {
                before(panic);
            }
        }));
    }

    let setup = Some(Setup { playlist, decoder, device, proxy: event_loop.create_proxy() });
    let mut app = App { args, waker, setup, window: None, quit: false, result: Ok(()) };
    // Winit panics where the X server does not answer any more.
    let ran = catch_unwind(AssertUnwindSafe(|| event_loop.run_app(&mut app)));
    app.leave_if_lost();
    let ran = match ran {
        // Winit's event loop on Wayland ends in this way when the compositor is gone.
        Ok(ran) => ran.map_err(|e| display_gone(&format!("The window's event loop ended: {e}."))),
        Err(panic) => resume_unwind(panic),
    };
    display::stop_using();
    let (written, idle) = app.window.take().map_or((Ok(()), true), Player::close);
    let result = app.result.and(written).and(ran);
    // The child process that tests sharing may still run.
    base::cleanup::remove_all();
    if !idle {
        opencl::process::exit_now(base::exit::report(result.map(|()| base::exit::DONE)));
    }
    result
}

/// Returns the error for when the connection to the display is lost; `why` is the reason.
fn display_gone(why: &str) -> Error {
    Error::new(
        "The display is gone.",
        why,
        "What was measured until then has been kept; start clreel again once there is a display.",
    )
}

/// Makes SIGINT, SIGTERM and SIGHUP close the window as the key `q` does, so that statistics are written. Must be called before
/// any driver is loaded: some drivers install signal handlers as well (LLVM in PoCL), which then call the handlers that are
/// installed here.
fn quit_on_signals(proxy: Arc<OnceLock<EventLoopProxy<Wake>>>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    // If the thread cannot be started, the handlers are removed again.
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

/// The handler of winit's events: opens the window, and passes events to it.
struct App<'a> {
    args: &'a PlayArgs,
    waker: Waker,
    /// The data with which the window is opened; `None` once it is open.
    setup: Option<Setup>,
    window: Option<Player<'a>>,
    /// True once a signal has requested that the process ends.
    quit: bool,
    result: Result<()>,
}

impl App<'_> {
    /// Ends the event loop if `result` is an error, or if the user has quit and all files are written.
    fn check(&mut self, event_loop: &ActiveEventLoop, result: Result<()>) {
        self.leave_if_lost();
        if let Err(error) = result {
            self.result = Err(error);
            event_loop.exit();
        } else if (self.quit || self.window.as_ref().is_some_and(|player| player.quit))
            // The window responds while files are written.
            && self.window.as_mut().is_none_or(Player::poll_end)
        {
            event_loop.exit();
        }
    }

    /// If the connection to the display is lost, writes all files and ends the process, since nothing can be drawn or shut down
    /// any more.
    fn leave_if_lost(&mut self) {
        if !display::is_lost() {
            return;
        }
        if let Some(player) = &mut self.window
            && let Err(error) = player.write()
        {
            print_message(&error);
        }
        let error =
            display_gone("The connection to the X server broke: it has ended, or it ended the window.");
        opencl::process::exit_now(base::exit::report(Err(error)));
    }
}

impl ApplicationHandler<Wake> for App<'_> {
    /// Opens the window when winit permits it.
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(setup) = self.setup.take() {
            let opened = Player::open(event_loop, self.args, setup, &self.waker);
            let opened = opened.map(|player| self.window = Some(player));
            self.check(event_loop, opened);
        }
    }

    /// Quits on a signal, and passes requests of screen readers to the window; other events only wake the event loop.
    fn user_event(&mut self, _: &ActiveEventLoop, event: Wake) {
        match event {
            Wake::Ready => {}
            Wake::Quit => self.quit = true,
            Wake::Access(event) => {
                if let Some(window) = &mut self.window {
                    window.access(event);
                }
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let Some(window) = &mut self.window {
            let result = window.event(&event);
            self.check(event_loop, result);
        }
    }

    /// Makes one turn of the player before the event loop waits for events.
    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        self.leave_if_lost();
        if let Some(window) = &mut self.window {
            let result = window.turn(event_loop);
            self.check(event_loop, result);
        }
    }
}
