//! The window and its OpenGL context, which is current on the thread that opens it.
//!
//! GLX is tried first on X11, because more drivers share textures with OpenCL under GLX than under EGL. Wayland has EGL only.

use std::ffi::{CString, c_void};
use std::num::NonZeroU32;
use std::sync::Arc;

use glow::HasContext as _;
use glutin::config::{ConfigTemplateBuilder, GlConfig as _};
use glutin::context::{
    AsRawContext as _, ContextApi, ContextAttributesBuilder, GlProfile, PossiblyCurrentContext, RawContext,
    Version,
};
use glutin::display::{
    AsRawDisplay as _, Display, DisplayApiPreference, GetGlDisplay as _, GlDisplay as _, RawDisplay,
};
use glutin::prelude::*;
use glutin::surface::{Surface, SurfaceAttributesBuilder, SwapInterval, WindowSurface};
use ocl::builders::ContextProperties;
use raw_window_handle::{HasDisplayHandle as _, HasWindowHandle as _, RawWindowHandle};
use serde::{Deserialize, Serialize};
use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowAttributes};

use base::error::{Error, Result};
use base::memory::picture_memory;

use crate::options::values::from_environment;
use crate::window_system::WindowSystem;

/// The hint in the error message if OpenGL is not available.
const HINT: &str = "Install an OpenGL driver (on Debian and Ubuntu the packages libgl1-mesa-dri and libegl1), \
                    or try a display server that offers OpenGL 3.0 or OpenGL ES 3.0.";

/// The interface between the window system and OpenGL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub enum Interface {
    /// For X11
    Glx,
    /// For Wayland and X11
    Egl,
}

impl Interface {
    /// Returns the interface to try first: `option`, or else the one that the environment variable `CLREEL_GL` names, or else
    /// GLX.
    pub fn preferred(option: Option<Self>) -> Self {
        option.or_else(|| from_environment("CLREEL_GL")).unwrap_or(Interface::Glx)
    }
}

/// A window with an OpenGL context (OpenGL 3.0 or later, or OpenGL ES 3.0) that is current on the thread that opened it.
///
/// Fields drop in order: the surface and the context must be dropped before the window, so `window` is the last field.
pub struct GlWindow {
    /// The functions of the OpenGL context, which the overlay's painter uses, too.
    pub gl: Arc<glow::Context>,
    /// OpenGL's interface, renderer and version for messages, such as "GLX, llvmpipe (LLVM 15.0.6, 256 bits), OpenGL 4.5".
    pub renderer: String,
    /// The reason why no window could be opened through the interface that was tried first; `None` if it worked.
    pub reason: Option<String>,
    surface: Surface<WindowSurface>,
    context: PossiblyCurrentContext,
    /// The window itself. It is declared last, because the surface and the context must be dropped first.
    pub window: Window,
}

impl GlWindow {
    /// Opens a window and makes its OpenGL context current on this thread. Uses the interface `first` or, if that fails, the
    /// other one.
    ///
    /// # Errors
    /// Returns an error if neither GLX nor EGL provides OpenGL 3.0 or OpenGL ES 3.0; it contains the reasons of both.
    pub fn open(
        event_loop: &ActiveEventLoop,
        attributes: WindowAttributes,
        vsync: bool,
        first: Interface,
    ) -> Result<Self> {
        make_gl_visible();
        let mut reasons = Vec::new();
        let hook = Box::new(winit::platform::x11::register_xlib_error_hook as fn(_));
        let mut interfaces = [("GLX", DisplayApiPreference::Glx(hook)), ("EGL", DisplayApiPreference::Egl)];
        if first == Interface::Egl {
            interfaces.reverse();
        }
        for (name, api) in interfaces {
            match Self::open_with(event_loop, attributes.clone(), (name, api), vsync) {
                Ok(window) => return Ok(Self { reason: reasons.pop(), ..window }),
                Err(reason) => reasons.push(format!("{name}: {reason}")),
            }
        }
        Err(Error::new("OpenGL could not be started in a window.", format!("{}.", reasons.join("; ")), HINT))
    }

    /// Opens a window with OpenGL through this interface.
    fn open_with(
        event_loop: &ActiveEventLoop,
        attributes: WindowAttributes,
        (name, api): (&str, DisplayApiPreference),
        vsync: bool,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let raw_display = event_loop.display_handle()?.as_raw();
        // SAFETY: the display handle is the event loop's and outlives the window.
        let display = unsafe { Display::new(raw_display, api) }?;
        let template = ConfigTemplateBuilder::new().with_depth_size(0).with_stencil_size(0).build();
        // SAFETY: no native window is named in the template.
        let config = unsafe { display.find_configs(template) }?
            .min_by_key(|c| (c.num_samples(), c.depth_size(), !c.hardware_accelerated()))
            .ok_or("no framebuffer configuration fits a window")?;
        let window = glutin_winit::finalize_window(event_loop, attributes, &config)?;
        let raw_window = window.window_handle()?.as_raw();

        let new = ContextAttributesBuilder::new;
        let core = ContextApi::OpenGl(Some(Version::new(3, 3)));
        let core = new().with_context_api(core).with_profile(GlProfile::Core);
        let any = new().with_context_api(ContextApi::OpenGl(None));
        let es = new().with_context_api(ContextApi::Gles(Some(Version::new(3, 0))));
        // SAFETY: the window handle belongs to a window that is alive.
        let create = |attributes: ContextAttributesBuilder| unsafe {
            display.create_context(&config, &attributes.build(Some(raw_window)))
        };
        let context = create(core).or_else(|_| create(any)).or_else(|_| create(es))?;
        let (width, height) = nonzero(window.inner_size());
        let surface_attributes =
            SurfaceAttributesBuilder::<WindowSurface>::new().build(raw_window, width, height);
        // SAFETY: the window handle is valid: `window` is alive.
        let surface = unsafe { display.create_window_surface(&config, &surface_attributes) }?;
        let context = context.make_current(&surface)?;
        // On Wayland, a swap with an interval waits until the compositor wants another picture, which it does not for a hidden
        // window: the window would not respond any more, and could not even be closed.
        let waits = vsync && system_of(raw_window) == WindowSystem::X11;
        let interval = if waits { SwapInterval::Wait(NonZeroU32::MIN) } else { SwapInterval::DontWait };
        // Fails on servers without vertical sync (Xvfb); the event loop paces frames by itself.
        let _ = surface.set_swap_interval(&context, interval);

        // SAFETY: the context is current, and glow only looks function names up.
        let gl = unsafe {
            glow::Context::from_loader_function(|name| {
                CString::new(name).map_or(std::ptr::null(), |name| display.get_proc_address(&name))
            })
        };
        let version = gl.version();
        if version.major < 3 {
            return Err(format!("the driver offers only OpenGL {}.{}", version.major, version.minor).into());
        }
        Ok(Self {
            renderer: describe_renderer(name, &gl),
            gl: Arc::new(gl),
            reason: None,
            surface,
            context,
            window,
        })
    }

    /// Returns the properties for an OpenCL context that shares objects with this OpenGL context. Must be called on the
    /// window's thread.
    pub fn opencl_properties(&self) -> ContextProperties {
        match (self.context.raw_context(), self.context.display().raw_display()) {
            (RawContext::Egl(context), RawDisplay::Egl(display)) => {
                egl_properties([context.cast_mut(), display.cast_mut()])
            }
            // Queries GLX for the current context, which is that of this window.
            _ => ocl_interop::get_properties_list(),
        }
    }

    /// Returns the interface that the context uses.
    pub fn interface(&self) -> Interface {
        let is_egl = matches!(self.context.raw_context(), RawContext::Egl(_));
        if is_egl { Interface::Egl } else { Interface::Glx }
    }

    pub(crate) fn window_system(&self) -> WindowSystem {
        self.window.window_handle().map_or(WindowSystem::X11, |handle| system_of(handle.as_raw()))
    }

    /// Returns true if files cannot be dropped on the window, because winit 0.30 does not support that on Wayland.
    pub(crate) fn lacks_drops(&self) -> bool {
        self.window_system() == WindowSystem::Wayland
    }

    /// Returns the size of the drawable area in pixels, at least 1×1.
    pub fn size(&self) -> (u32, u32) {
        let (w, h) = nonzero(self.window.inner_size());
        (w.get(), h.get())
    }

    /// Resizes the OpenGL surface after the window was resized.
    pub(crate) fn resize(&self, size: PhysicalSize<u32>) {
        let (width, height) = nonzero(size);
        self.surface.resize(&self.context, width, height);
    }

    /// Requests another size of the window. If the size changes at once, as on Wayland, no resize event follows; then the
    /// surface is resized here.
    pub(crate) fn request_size(&self, size: PhysicalSize<u32>) {
        if let Some(size) = self.window.request_inner_size(size) {
            self.resize(size);
        }
    }

    /// Swaps buffers, which shows the drawn picture.
    ///
    /// # Errors
    /// If the display server or the driver lost the surface.
    pub(crate) fn swap(&self) -> Result<()> {
        self.surface.swap_buffers(&self.context).map_err(|e| {
            Error::new("The picture could not be shown.", format!("Swapping buffers failed: {e}."), HINT)
        })
    }
}

/// Returns the pixels that were last drawn in a framebuffer of this size, as RGBA8, top row first. If `framebuffer` is `None`,
/// reads the window's own. The context must be current.
///
/// # Errors
/// If memory runs out.
pub(crate) fn read_pixels(
    gl: &glow::Context,
    framebuffer: Option<glow::Framebuffer>,
    (width, height): (u32, u32),
) -> Result<Vec<u8>> {
    let (mut bottom_up, mut rgba) = (picture_memory(width, height)?, picture_memory(width, height)?);
    // SAFETY: the context is current, and the slice has room for width·height RGBA8 pixels.
    unsafe {
        gl.bind_framebuffer(glow::FRAMEBUFFER, framebuffer);
        gl.pixel_store_i32(glow::PACK_ALIGNMENT, 4);
        gl.pixel_store_i32(glow::PACK_ROW_LENGTH, 0);
        let pixels = glow::PixelPackData::Slice(Some(&mut bottom_up));
        gl.read_pixels(0, 0, width as i32, height as i32, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        gl.bind_framebuffer(glow::FRAMEBUFFER, None);
    }
    let row = width as usize * 4;
    for (to, from) in rgba.chunks_exact_mut(row).zip(bottom_up.rchunks_exact(row)) {
        to.copy_from_slice(from);
    }
    Ok(rgba)
}

/// Returns OpenGL's interface, renderer and version for messages, such as "GLX, llvmpipe (LLVM 15.0.6, 256 bits), OpenGL 4.5".
/// The context must be current.
pub(crate) fn describe_renderer(interface: &str, gl: &glow::Context) -> String {
    // SAFETY: the context is current.
    let renderer = unsafe { gl.get_parameter_string(glow::RENDERER) };
    let (renderer, version) = (base::text::escaped(&renderer), gl.version());
    let es = if version.is_embedded { " ES" } else { "" };
    format!("{interface}, {renderer}, OpenGL{es} {}.{}", version.major, version.minor)
}

/// Returns the properties for an OpenCL context that shares objects with this EGL context on this display.
pub(crate) fn egl_properties([context, display]: [*mut c_void; 2]) -> ContextProperties {
    let mut properties = ContextProperties::new();
    properties.set_gl_context(context);
    properties.set_egl_display(display);
    properties
}

/// Loads OpenGL's libraries so that their symbols are visible to all libraries. glutin loads them with local symbols, but
/// Mesa's OpenCL drivers look `glXGetProcAddress` and `eglGetProcAddress` up globally.
pub(crate) fn make_gl_visible() {
    for library in [c"libGLX.so.0", c"libEGL.so.1"] {
        // SAFETY: the name ends with a zero; the library stays loaded. If this fails, only texture sharing is lost.
        unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
    }
}

fn system_of(window: RawWindowHandle) -> WindowSystem {
    let is_wayland = matches!(window, RawWindowHandle::Wayland(_));
    if is_wayland { WindowSystem::Wayland } else { WindowSystem::X11 }
}

/// Returns the width and height, with 1 in place of 0.
fn nonzero(size: PhysicalSize<u32>) -> (NonZeroU32, NonZeroU32) {
    let clamp = |v| NonZeroU32::new(v).unwrap_or(NonZeroU32::MIN);
    (clamp(size.width), clamp(size.height))
}
