//! Opens OpenCL contexts, and tests whether they share textures with an OpenGL context.

use std::ffi::c_void;
use std::ptr;

use ocl::builders::ContextProperties;
use ocl::ffi;

use super::{GlAccess, self_test};
use base::device::DeviceInfo;
use base::error::Result;
use opencl::cl::{ClContext, Context, Device, Id, status_name};
use opencl::sources::Sources;
use opencl::watch;
use stats::Sharing;

/// The number of the query `CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR` in cl_gl.h: the device that drives an OpenGL context.
const CURRENT_DEVICE: u32 = 0x2006;

/// The reason why textures are not shared if the driver has no functions for sharing with OpenGL.
pub const GL_SHARING_NOT_OFFERED: &str = "the driver does not offer cl_khr_gl_sharing";

/// Returns true if the device lists the extension `cl_khr_gl_sharing`. Some devices that do not list it share textures
/// nevertheless.
pub fn lists_gl_sharing(info: &DeviceInfo) -> bool {
    info.extensions.iter().any(|extension| extension == "cl_khr_gl_sharing")
}

/// Opens an OpenCL context and a queue on `device`. A test decides whether they share textures with the OpenGL context that
/// `properties` identifies; if not, pictures are copied. `properties` is an error with the reason if the window system cannot
/// share, or must not. Returns the context, and the path that pictures take from OpenCL to OpenGL.
///
/// The OpenGL context may be current on another thread; `gl` gives access to it. OpenCL is called on the calling thread. If the driver
/// refuses to create the OpenCL context on that thread, the call is repeated on the thread of the OpenGL context. Neither the list of
/// extensions nor a created context proves that sharing works, so the test writes a pattern on each side and reads it on the other.
/// Programs are compiled from `sources`.
///
/// # Errors
/// If no context can be created on the device.
pub fn open(
    device: &Device,
    gl: &GlAccess,
    properties: Result<ContextProperties, String>,
    sources: Sources,
) -> Result<(ClContext, Sharing)> {
    let _watched = watch::on_device(&device.info.name, "a context is made");
    let shared = properties.and_then(|properties| {
        let cl = shared_context(device, gl, properties, sources.clone())?;
        self_test::run(&cl, gl)?;
        Ok(cl)
    });
    match shared {
        Ok(cl) => Ok((cl, Sharing::ZeroCopy)),
        Err(reason) => Ok((ClContext::new(device, sources)?, Sharing::copy(reason))),
    }
}

/// Opens an OpenCL context and a queue on `device` that share with the OpenGL context that `properties` identify. Nothing is
/// tested, so sharing may still fail.
///
/// # Errors
/// If the driver refuses: one sentence without its full stop.
pub fn shared_context(
    device: &Device,
    gl: &GlAccess,
    properties: ContextProperties,
    sources: Sources,
) -> Result<ClContext, String> {
    // Also on devices that do not list the extension, because some of them share nevertheless.
    let properties = properties.to_raw();
    let made = match (Context::new(device, &properties), gl) {
        (Err(_), GlAccess::There(..)) => {
            let device = device.clone();
            gl.call(move |_| {
                let _watched = watch::on_device(&device.info.name, "a context is made");
                Context::new(&device, &properties)
            })?
        }
        (made, _) => made,
    };
    let context = made.map_err(|e| match e.0 {
        // The driver does not even know the names of the OpenGL context's properties.
        ffi::CL_INVALID_PROPERTY if !lists_gl_sharing(&device.info) => GL_SHARING_NOT_OFFERED.to_owned(),
        code => format!("the driver makes no OpenCL context for this window: {}", status_name(code)),
    })?;
    ClContext::from_context(device, context, sources)
        .map_err(|e| format!("the driver made a context that shares, but no queue: {}", e.why))
}

/// Returns the device that drives the OpenGL context in `properties`; `None` if no driver reports it.
pub fn driving_device<'a>(devices: &'a [Device], properties: &ContextProperties) -> Option<&'a Device> {
    let mut asked = Vec::new();
    for device in devices {
        if asked.contains(&device.platform) {
            continue;
        }
        asked.push(device.platform);
        let raw = device.properties(&properties.to_raw());
        let Some(id) = query_driving_device(device.platform, &raw) else { continue };
        if let Some(found) = devices.iter().find(|d| d.id.raw() == id) {
            return Some(found);
        }
    }
    None
}

/// Queries the device that drives the OpenGL context with these properties; the platform's driver answers. Returns `None` if it
/// does not report the device.
fn query_driving_device(platform: Id, properties: &[isize]) -> Option<ffi::cl_device_id> {
    /// The type of the function `clGetGLContextInfoKHR`.
    type GetGlContextInfo = unsafe extern "C" fn(*const isize, u32, usize, *mut c_void, *mut usize) -> i32;
    // SAFETY: the platform is alive and the name ends with a zero.
    let function = unsafe {
        ffi::clGetExtensionFunctionAddressForPlatform(platform.raw(), c"clGetGLContextInfoKHR".as_ptr())
    };
    if function.is_null() {
        return None;
    }
    // SAFETY: a driver that knows this name gives a function of this type (cl_gl.h).
    let function: GetGlContextInfo = unsafe { std::mem::transmute(function) };
    let mut device: ffi::cl_device_id = ptr::null_mut();
    let (size, value) = (size_of::<ffi::cl_device_id>(), ptr::from_mut(&mut device).cast());
    let mut written = 0;
    // SAFETY: the list ends with a zero, and the answer has room for one device.
    let status = unsafe { function(properties.as_ptr(), CURRENT_DEVICE, size, value, &mut written) };
    (status == 0 && written == size && !device.is_null()).then_some(device)
}
