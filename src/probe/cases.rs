//! Runs the cases of the sharing test ([`engine::sharing::cases`]) on one device with one API of OpenGL, in child processes: a
//! case that crashes or hangs its child fails, and another child continues with the next case.

use std::time::Instant;

use engine::sharing::cases::{Case, Outcome};
use engine::sharing::{self, GlAccess};
use ocl::builders::ContextProperties;
use serde::{Deserialize, Serialize};

use super::{ChildMessage, Work};
use crate::gl_window::{GlWindow, Interface, describe_renderer, egl_properties, make_gl_visible};
use crate::window_system::WindowSystem;
use opencl::cl::Device;
use opencl::drivers;
use opencl::identity::{Identity, by_identity, identity_of};
use opencl::sandbox;
use opencl::sources::Sources;
use opengl::headless::Headless;

/// The number of crashes and timeouts after which no further case is tested.
const MAX_ENDINGS: usize = 16;

/// The API through which OpenGL's context is created: an interface in a window, or `None` for EGL without a window and without
/// a display server.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Api(Option<Interface>);

impl Api {
    /// All APIs.
    pub(crate) const ALL: [Self; 3] = [Self(Some(Interface::Glx)), Self(Some(Interface::Egl)), Self(None)];

    /// Returns the API's name for messages and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Some(Interface::Glx) => "GLX",
            Some(Interface::Egl) => "EGL",
            None => "EGL without a window",
        }
    }
}

/// The cases that a child process is to run on one device.
#[derive(Serialize, Deserialize)]
pub(super) struct CasesOfDevice {
    api: Api,
    device: Identity,
    seed: u32,
    cases: Vec<Case>,
}

/// Runs all cases of the sharing test on a device with one API. Calls `on_opengl` with OpenGL's interface, renderer and version,
/// and `on_case` with the outcome of each case. Blocks for the drivers' timeout for each case that hangs.
///
/// # Errors
/// The outcome "unsupported" with the reason if OpenGL cannot be opened or the device shares nothing with it, or "failed" if the
/// driver crashed or timed out before the first case.
pub(crate) fn run_cases(
    device: &Device,
    api: Api,
    seed: u32,
    on_opengl: impl Fn(String),
    on_case: impl Fn(Case, Outcome),
) -> Result<(), (&'static str, String)> {
    let (mut cases, mut endings) = (Case::all(), 0);
    while !cases.is_empty() {
        let work = CasesOfDevice { api, device: identity_of(device), seed, cases: cases.clone() };
        // GLX needs X11, even on a Wayland desktop.
        let interface = api.0.unwrap_or(Interface::Egl);
        let system = (interface == Interface::Glx).then_some(WindowSystem::X11);
        let started = Work::Cases(work).start(interface, system);
        let mut child = started.map_err(|e| ("failed", format!("the sandbox could not be started: {e}")))?;
        let (mut is_open, mut shares) = (false, false);
        let ending = loop {
            match child.answer(&mut Instant::now(), drivers::test_limit()) {
                Ok((ChildMessage::OpenGl(name), _)) => {
                    is_open = true;
                    on_opengl(name);
                }
                Ok((ChildMessage::NotTestable(why), _)) => return Err(("unsupported", why)),
                Ok((ChildMessage::Shares, _)) => shares = true,
                Ok((ChildMessage::Case(outcome), _)) => on_case(cases.remove(0), outcome),
                Ok((ChildMessage::Device(_) | ChildMessage::Driving(_), _)) => {}
                Err(ending) => break ending,
            }
            if cases.is_empty() {
                return Ok(());
            }
        };
        if !shares {
            let what = if is_open { "the driver" } else { "OpenGL" };
            return Err(("failed", format!("{what} {ending}")));
        }
        endings += 1;
        on_case(cases.remove(0), Outcome::Failed(format!("the driver {ending}")));
        if endings == MAX_ENDINGS {
            for case in cases.drain(..) {
                let why = format!("not tested after {MAX_ENDINGS} crashes or timeouts");
                on_case(case, Outcome::Failed(why));
            }
        }
    }
    Ok(())
}

impl CasesOfDevice {
    /// Runs the cases in the child process, with the OpenGL context of its window.
    pub(super) fn run_in(&self, window: &GlWindow) {
        if self.api.0 == Some(window.interface()) {
            self.run(GlAccess::Here(window.gl.clone()), &window.renderer, window.opencl_properties());
        } else {
            let why = window.reason.as_deref().unwrap_or("the window has another interface");
            sandbox::send(&ChildMessage::NotTestable(why.to_owned()));
        }
    }

    /// Runs the cases in the child process without a window. Returns false if they need one.
    pub(super) fn run_headless(&self) -> bool {
        if self.api.0.is_some() {
            return false;
        }
        make_gl_visible();
        match Headless::new().and_then(|headless| {
            let properties = headless.egl().ok_or("The context is not EGL's.")?;
            Ok((headless, egl_properties(properties)))
        }) {
            Ok((headless, properties)) => {
                let renderer = describe_renderer(self.api.name(), &headless.gl);
                self.run(GlAccess::Here(headless.gl.clone()), &renderer, properties);
            }
            Err(why) => sandbox::send(&ChildMessage::NotTestable(why.trim_end_matches('.').to_owned())),
        }
        true
    }

    fn run(&self, gl: GlAccess, renderer: &str, properties: ContextProperties) {
        sandbox::send(&ChildMessage::OpenGl(renderer.to_owned()));
        let device = by_identity(&self.device).ok_or("its driver no longer lists it".to_owned());
        let opened =
            device.and_then(|device| sharing::shared_context(&device, &gl, properties, Sources::default()));
        let cl = match opened {
            Ok(cl) => cl,
            Err(why) => return sandbox::send(&ChildMessage::NotTestable(why)),
        };
        sandbox::send(&ChildMessage::Shares);
        for case in &self.cases {
            match case.run(&cl, &gl, self.seed) {
                Outcome::Unsupported(why) if *case == Case::BASIC => {
                    let is_listed = sharing::lists_gl_sharing(&cl.device.info);
                    let more = if is_listed { "" } else { "; the device does not list cl_khr_gl_sharing" };
                    return sandbox::send(&ChildMessage::NotTestable(why + more));
                }
                outcome => sandbox::send(&ChildMessage::Case(outcome)),
            }
        }
    }
}
