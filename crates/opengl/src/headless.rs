//! OpenGL without a window or a display, for what needs neither. In: nothing. Out: a context that is current on this
//! thread as long as it lives, on the first of the system's devices that gives one.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use glow::HasContext as _;
use glutin::api::egl::context::PossiblyCurrentContext;
use glutin::api::egl::device::Device;
use glutin::api::egl::display::Display;
use glutin::config::{ConfigSurfaceTypes, ConfigTemplateBuilder};
use glutin::context::{
    AsRawContext as _, ContextApi, ContextAttributesBuilder, GlProfile, RawContext, Version,
};
use glutin::display::{AsRawDisplay as _, GetGlDisplay as _, GlDisplay as _, RawDisplay};

/// A context without a surface; it draws into textures only.
pub struct Headless {
    /// The functions of the context.
    pub gl: Arc<glow::Context>,
    context: PossiblyCurrentContext,
}

impl Headless {
    /// Makes a context current on this thread: OpenGL 3.3, or OpenGL ES 3.0, through EGL.
    ///
    /// # Errors
    /// A sentence when no device gives one.
    pub fn new() -> Result<Self, String> {
        let devices = Device::query_devices().map_err(|e| format!("EGL tells no devices: {e}."))?;
        let mut last = "EGL knows no device.".to_owned();
        for device in devices {
            match Self::on(&device) {
                Ok(headless) => return Ok(headless),
                Err(why) => last = format!("No OpenGL without a display: {why}."),
            }
        }
        Err(last)
    }

    /// Returns EGL's context and display, which name this context to OpenCL.
    pub fn egl(&self) -> Option<[*mut c_void; 2]> {
        match (self.context.raw_context(), self.context.display().raw_display()) {
            (RawContext::Egl(context), RawDisplay::Egl(display)) => {
                Some([context.cast_mut(), display.cast_mut()])
            }
            _ => None,
        }
    }

    fn on(device: &Device) -> Result<Self, String> {
        // SAFETY: no display is named that would have to outlive it.
        let display = unsafe { Display::with_device(device, None) }.map_err(|e| e.to_string())?;
        let template = ConfigTemplateBuilder::new().with_surface_type(ConfigSurfaceTypes::empty()).build();
        // SAFETY: no native window is named in the template.
        let config = unsafe { display.find_configs(template) }
            .map_err(|e| e.to_string())?
            .next()
            .ok_or("no framebuffer configuration")?;
        let desktop = ContextAttributesBuilder::new()
            .with_context_api(ContextApi::OpenGl(Some(Version::new(3, 3))))
            .with_profile(GlProfile::Core);
        let embedded =
            ContextAttributesBuilder::new().with_context_api(ContextApi::Gles(Some(Version::new(3, 0))));
        let mut last = String::new();
        for attributes in [desktop, embedded] {
            // SAFETY: no window is named in the attributes.
            let context = unsafe { display.create_context(&config, &attributes.build(None)) };
            match context.and_then(|context| context.make_current_surfaceless()) {
                Ok(context) => {
                    // SAFETY: the context is current, and glow only looks function names up.
                    let gl = unsafe {
                        glow::Context::from_loader_function(|name| {
                            CString::new(name)
                                .map_or(std::ptr::null(), |name| display.get_proc_address(&name))
                        })
                    };
                    if gl.version().major < 3 {
                        last = "the driver is older than OpenGL 3.0".to_owned();
                        continue;
                    }
                    return Ok(Self { gl: Arc::new(gl), context });
                }
                Err(e) => last = e.to_string(),
            }
        }
        Err(last)
    }
}
