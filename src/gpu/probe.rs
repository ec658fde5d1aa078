//! Whether devices share textures with OpenGL, for `clreel devices`. In: the devices. Out: an answer for each.
//!
//! The test needs a window, which stays invisible, and a driver can crash in it: so a child process does it, as with
//! the drivers ([`super::drivers`]). It prints an answer after each device, so that a crash costs no other answer.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{WindowAttributes, WindowId};

use super::cl::{Device, exit_now, list_devices};
use super::drivers;
use super::gl::{GlWindow, Interface};
use super::sharing::{self, Sharing};

/// The hidden subcommand with which this binary tests sharing, and prints the answers.
pub const ASK: &str = "ask-sharing";

/// What the child says, one after the other.
#[derive(Serialize, Deserialize)]
enum Answer {
    /// The window's OpenGL: interface, renderer and version.
    OpenGl(String),
    /// Why there is no window.
    NoWindow(String),
    /// A device of this platform was tested; a reason why it does not share.
    Device { platform: String, reason: Option<String> },
}

/// What came of the test.
pub struct Probe {
    /// The OpenGL that was shared with, such as "GLX, llvmpipe, OpenGL 4.5"; empty where there was no window.
    pub opengl: String,
    /// An answer for each device, in their order.
    pub sharing: Vec<Sharing>,
}

/// Tests all `devices`, which must be those of [`list_devices`]. Takes as long as opening a window and listing the
/// devices, at most the drivers' time limit.
pub fn ask(devices: &[Device]) -> Probe {
    let all = |reason: &str| devices.iter().map(|_| Sharing::copy(reason)).collect();
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|n| std::env::var_os(n).is_some_and(|v| !v.is_empty()));
    if devices.is_empty() || !has_display {
        return Probe {
            opengl: String::new(),
            sharing: all("sharing with OpenGL is tested in a window, and there is no display"),
        };
    }
    let asked = match drivers::start_expendable(ASK) {
        Some(Ok(asked)) => asked,
        Some(Err(e)) => {
            return Probe {
                opengl: String::new(),
                sharing: all(&format!("sharing could not be tested: {e}")),
            };
        }
        None => {
            return Probe {
                opengl: String::new(),
                sharing: all("sharing is not tested where no driver is registered"),
            };
        }
    };
    let (printed, failure) = asked.wait(Instant::now() + drivers::time_limit());
    let (mut opengl, mut tested) = (String::new(), Vec::new());
    let mut unanswered = "the test of sharing gave no answer".to_owned();
    for answer in drivers::answers_in(&printed) {
        match answer {
            Answer::OpenGl(name) => opengl = name,
            Answer::NoWindow(why) => unanswered = format!("no window could be opened to test it: {why}"),
            // Left out here by its name, and so not among `devices`.
            Answer::Device { platform, .. } if drivers::skipped_by(&platform).is_some() => {}
            Answer::Device { reason, .. } => tested.push(reason.map_or(Sharing::ZeroCopy, Sharing::copy)),
        }
    }
    if let Some(failure) = failure {
        unanswered = format!("the driver failed in the test of sharing: {}", failure.trim_end_matches('.'));
    }
    tested.resize(devices.len(), Sharing::copy(unanswered));
    Probe { opengl, sharing: tested }
}

/// The child's part: opens a window that stays invisible, tests each device, prints the answers, ends the process.
pub fn answer() -> ! {
    drivers::be_expendable();
    let ran = EventLoop::new().and_then(|event_loop| event_loop.run_app(&mut Tester));
    if ran.is_err() {
        drivers::print_answer(&Answer::NoWindow("the display server does not answer".to_owned()));
    }
    exit_now(0)
}

/// Tests everything as soon as there can be a window.
struct Tester;

impl ApplicationHandler for Tester {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let attributes =
            WindowAttributes::default().with_visible(false).with_inner_size(PhysicalSize::new(64, 64));
        match GlWindow::open(event_loop, attributes, false, Interface::wanted(None)) {
            Ok(window) => test(&window),
            Err(e) => drivers::print_answer(&Answer::NoWindow(e.why.trim_end_matches('.').to_owned())),
        }
        exit_now(0)
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, _: WindowEvent) {}
}

fn test(window: &GlWindow) {
    drivers::print_answer(&Answer::OpenGl(format!("{}, {}", window.interface(), window.renderer)));
    for device in list_devices() {
        let reason = match sharing::open(&device, &window.gl, Ok(window.opencl_properties())) {
            Ok((_, Sharing::ZeroCopy)) => None,
            Ok((_, Sharing::Copy { reason })) => Some(reason),
            Err(e) => Some(e.why.trim_end_matches('.').to_owned()),
        };
        drivers::print_answer(&Answer::Device { platform: device.info.platform, reason });
    }
}
