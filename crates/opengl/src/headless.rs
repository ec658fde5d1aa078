//! OpenGL contexts without a window or a display, through EGL.

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

/// An OpenGL context without a window or surface, which draws only into textures. It is current on the thread that created it
/// as long as it exists.
pub struct Headless {
    /// The OpenGL functions of the context.
    pub gl: Arc<glow::Context>,
    context: PossiblyCurrentContext,
}

impl Headless {
    /// Creates a context of OpenGL 3.3 or OpenGL ES 3.0 on the first EGL device that supports one, and makes it current on the
    /// calling thread.
    ///
    /// # Errors
    /// Returns the reason, as a sentence, if no device supports such a context.
    pub fn new() -> Result<Self, String> {
        let devices = Device::query_devices().map_err(|e| format!("EGL lists no devices: {e}."))?;
        let mut last = "EGL lists no devices.".to_owned();
        for device in devices {
            match Self::on_device(&device) {
                Ok(headless) => return Ok(headless),
                Err(why) => last = format!("There is no OpenGL without a display: {why}."),
            }
        }
        Err(last)
    }

    /// Returns the handles of the EGL context and the EGL display, in this order, by which OpenCL identifies the OpenGL
    /// context; `None` if the context does not come from EGL.
    pub fn egl(&self) -> Option<[*mut c_void; 2]> {
        match (self.context.raw_context(), self.context.display().raw_display()) {
            (RawContext::Egl(context), RawDisplay::Egl(display)) => {
                Some([context.cast_mut(), display.cast_mut()])
            }
            _ => None,
        }
    }

    /// Creates a context on this EGL device and makes it current on the calling thread.
    fn on_device(device: &Device) -> Result<Self, String> {
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
