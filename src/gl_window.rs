//! The window and its OpenGL context. In: the event loop and a size. Out: a [`GlWindow`] whose context is
//! current on this thread, or a sentence about what is missing.
//!
//! GLX comes first on X11, because drivers share textures with OpenCL under GLX more often than under EGL.

use std::ffi::CString;
use std::num::NonZeroU32;
use std::sync::Arc;

use glow::HasContext as _;
use glutin::config::{Config, ConfigTemplateBuilder, GlConfig as _};
use glutin::context::{
    AsRawContext as _, ContextApi, ContextAttributesBuilder, GlProfile, PossiblyCurrentContext, RawContext,
    Version,
};
use glutin::display::{AsRawDisplay as _, Display, DisplayApiPreference, GlDisplay as _, RawDisplay};
use glutin::prelude::*;
use glutin::surface::{Surface, SurfaceAttributesBuilder, SwapInterval, WindowSurface};
use ocl::builders::ContextProperties;
use raw_window_handle::{HasDisplayHandle as _, HasWindowHandle as _};
use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowAttributes};

use base::error::{Error, Result};

const HINT: &str = "Install an OpenGL driver (on Debian and Ubuntu the packages libgl1-mesa-dri and libegl1), \
                    or try a display server that offers OpenGL 3.0 or OpenGL ES 3.0.";

/// A way from a window to OpenGL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Interface {
    /// X11's own.
    Glx,
    /// The one of Wayland, and of X11 too.
    Egl,
}

impl Interface {
    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Interface::Glx => "glx",
            Interface::Egl => "egl",
        }
    }

    /// The way that is tried first: the named one, else that in the environment variable `CLREEL_GL`, else GLX.
    pub fn wanted(named: Option<Self>) -> Self {
        let variable = || base::environment::text("CLREEL_GL");
        let meant = named.or_else(|| variable().and_then(|name| clap::ValueEnum::from_str(&name, true).ok()));
        meant.unwrap_or(Interface::Glx)
    }
}

/// A window with a current OpenGL context (3.0 or later, or OpenGL ES 3.0).
///
/// Fields drop in order: the surface and the context must go before the window, so `window` stands last.
pub struct GlWindow {
    /// The functions of the context; shared with the overlay's painter.
    pub gl: Arc<glow::Context>,
    /// Interface, renderer and version, for people: "GLX, llvmpipe (LLVM 15.0.6, 256 bits), OpenGL 4.5".
    pub renderer: String,
    /// Why the interface that was tried first gave no context; `None` where it did.
    pub reason: Option<String>,
    surface: Surface<WindowSurface>,
    context: PossiblyCurrentContext,
    display: Display,
    /// The window itself; declared last, because surface and context must go first.
    pub window: Window,
}

impl GlWindow {
    /// Opens a window with `attributes` and makes an OpenGL context current in it, the `first` way if that works, else the
    /// other one.
    ///
    /// # Errors
    /// When neither GLX nor EGL gives a window with OpenGL 3.0 or OpenGL ES 3.0; the reasons are in the error.
    pub fn open(
        event_loop: &ActiveEventLoop,
        attributes: WindowAttributes,
        vsync: bool,
        first: Interface,
    ) -> Result<Self> {
        make_gl_visible();
        let mut reasons = Vec::new();
        let hook = || Box::new(winit::platform::x11::register_xlib_error_hook as fn(_));
        let mut interfaces =
            vec![("GLX", DisplayApiPreference::Glx(hook())), ("EGL", DisplayApiPreference::Egl)];
        if first == Interface::Egl {
            interfaces.reverse();
        }
        for (name, api) in interfaces {
            match Self::open_with(event_loop, name, attributes.clone(), api, vsync) {
                Ok(window) => return Ok(Self { reason: reasons.pop(), ..window }),
                Err(reason) => reasons.push(format!("{name}: {reason}")),
            }
        }
        Err(Error::new("OpenGL could not be started in a window.", format!("{}.", reasons.join("; ")), HINT))
    }

    fn open_with(
        event_loop: &ActiveEventLoop,
        name: &str,
        attributes: WindowAttributes,
        api: DisplayApiPreference,
        vsync: bool,
    ) -> std::result::Result<Self, String> {
        let raw_display = event_loop.display_handle().map_err(|e| e.to_string())?.as_raw();
        // SAFETY: the display handle is the event loop's and outlives the window.
        let display = unsafe { Display::new(raw_display, api) }.map_err(|e| e.to_string())?;
        let template = ConfigTemplateBuilder::new().with_depth_size(0).with_stencil_size(0).build();
        // SAFETY: no native window is named in the template.
        let config = unsafe { display.find_configs(template) }
            .map_err(|e| e.to_string())?
            .min_by_key(|c| (c.num_samples(), c.depth_size(), !c.hardware_accelerated()))
            .ok_or("no framebuffer configuration fits a window")?;
        let window =
            glutin_winit::finalize_window(event_loop, attributes, &config).map_err(|e| e.to_string())?;
        let raw_window = window.window_handle().map_err(|e| e.to_string())?.as_raw();

        let context = create_context(&display, &config, raw_window)?;
        let (width, height) = nonzero(window.inner_size());
        let surface_attributes =
            SurfaceAttributesBuilder::<WindowSurface>::new().build(raw_window, width, height);
        // SAFETY: the window handle is valid: `window` is alive.
        let surface = unsafe { display.create_window_surface(&config, &surface_attributes) }
            .map_err(|e| e.to_string())?;
        let context = context.make_current(&surface).map_err(|e| e.to_string())?;
        let interval = if vsync { SwapInterval::Wait(NonZeroU32::MIN) } else { SwapInterval::DontWait };
        // Servers without vertical sync (Xvfb) refuse; the loop paces itself all the same.
        let _ = surface.set_swap_interval(&context, interval);

        // SAFETY: the context is current, and glow only looks function names up.
        let gl = unsafe {
            glow::Context::from_loader_function(|name| {
                CString::new(name).map_or(std::ptr::null(), |name| display.get_proc_address(&name))
            })
        };
        let version = gl.version();
        if version.major < 3 {
            return Err(format!("the driver offers only OpenGL {}.{}", version.major, version.minor));
        }
        // SAFETY: the context is current.
        let renderer = unsafe { gl.get_parameter_string(glow::RENDERER) };
        let es = if version.is_embedded { " ES" } else { "" };
        let (renderer, version) = (base::text::escaped(&renderer), (version.major, version.minor));
        let renderer = format!("{name}, {renderer}, OpenGL{es} {}.{}", version.0, version.1);
        Ok(Self { gl: Arc::new(gl), renderer, reason: None, surface, context, display, window })
    }

    /// What names this context to OpenCL, so that it can share with it; call it on the window's thread.
    pub fn opencl_properties(&self) -> ContextProperties {
        match (self.context.raw_context(), self.display.raw_display()) {
            (RawContext::Egl(context), RawDisplay::Egl(display)) => {
                let mut properties = ContextProperties::new();
                properties.set_gl_context(context.cast_mut());
                properties.set_egl_display(display.cast_mut());
                properties
            }
            // It asks GLX for the current context, which is this one.
            _ => ocl_interop::get_properties_list(),
        }
    }

    /// The window system's way to OpenGL.
    pub fn interface(&self) -> Interface {
        match self.context.raw_context() {
            RawContext::Egl(_) => Interface::Egl,
            _ => Interface::Glx,
        }
    }

    /// Size of the window's drawable area in pixels; at least 1×1.
    pub fn size(&self) -> (u32, u32) {
        let (w, h) = nonzero(self.window.inner_size());
        (w.get(), h.get())
    }

    /// Follows a change of the window's size.
    pub(crate) fn resize(&self, size: PhysicalSize<u32>) {
        let (width, height) = nonzero(size);
        self.surface.resize(&self.context, width, height);
    }

    /// Asks for another size. Where the window has it at once, as on Wayland, no event tells of it.
    pub(crate) fn request_size(&self, size: PhysicalSize<u32>) {
        if let Some(size) = self.window.request_inner_size(size) {
            self.resize(size);
        }
    }

    /// Shows what was drawn.
    ///
    /// # Errors
    /// When the display server or the driver lost the surface.
    pub(crate) fn swap(&self) -> Result<()> {
        self.surface.swap_buffers(&self.context).map_err(|e| {
            Error::new("The picture could not be shown.", format!("Swapping buffers failed: {e}."), HINT)
        })
    }
}

/// Loads OpenGL's libraries for all to see. glutin opens them for itself alone, and open drivers for OpenCL look
/// for `glXGetProcAddress` and `eglGetProcAddress` among what everyone sees.
fn make_gl_visible() {
    for library in [c"libGLX.so.0", c"libEGL.so.1"] {
        // SAFETY: the name ends with a zero; the library stays loaded. Without it sharing is not to be had, no more.
        unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
    }
}

fn nonzero(size: PhysicalSize<u32>) -> (NonZeroU32, NonZeroU32) {
    let clamp = |v| NonZeroU32::new(v).unwrap_or(NonZeroU32::MIN);
    (clamp(size.width), clamp(size.height))
}

/// The newest API that the driver offers: OpenGL 3.3 core, any OpenGL, OpenGL ES 3.0.
fn create_context(
    display: &Display,
    config: &Config,
    window: raw_window_handle::RawWindowHandle,
) -> std::result::Result<glutin::context::NotCurrentContext, String> {
    let mut last = String::new();
    for attributes in [
        ContextAttributesBuilder::new()
            .with_context_api(ContextApi::OpenGl(Some(Version::new(3, 3))))
            .with_profile(GlProfile::Core),
        ContextAttributesBuilder::new().with_context_api(ContextApi::OpenGl(None)),
        ContextAttributesBuilder::new().with_context_api(ContextApi::Gles(Some(Version::new(3, 0)))),
    ] {
        // SAFETY: the window handle belongs to a window that is alive.
        match unsafe { display.create_context(config, &attributes.build(Some(window))) } {
            Ok(context) => return Ok(context),
            Err(e) => last = e.to_string(),
        }
    }
    Err(last)
}
