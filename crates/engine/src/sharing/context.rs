//! OpenCL contexts that share with an OpenGL context. In: a device and what names the OpenGL context. Out: a context
//! that has proved that it shares, or one that does not and the reason.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use ocl::builders::ContextProperties;
use ocl::ffi;

use super::{OnGl, Sharing, self_test};
use base::error::Result;
use opencl::cl::{ClContext, Context, Device, DeviceInfo, Id, status_name};
use opencl::watch;

/// `CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR` of cl_gl.h.
const CURRENT_DEVICE: u32 = 0x2006;

/// Why a driver does not share that knows nothing of it.
pub const NOT_OFFERED: &str = "the driver does not offer cl_khr_gl_sharing";

/// Returns true if the device lists the extension. One that does not may share all the same.
pub fn is_listed(info: &DeviceInfo) -> bool {
    info.extensions.iter().any(|extension| extension == "cl_khr_gl_sharing")
}

/// A context and a queue on `device`, which share textures with the OpenGL context that `properties` name where a test
/// shows that they do. `properties` is `None` where the window system has no way to share, or the error why it must not.
///
/// The OpenGL context must be current. Neither the list of extensions nor a context that could be made proves anything,
/// so a pattern is written by each side and read by the other.
///
/// # Errors
/// When the device gives no context at all.
pub fn open(
    device: &Device,
    gl: &Arc<glow::Context>,
    properties: std::result::Result<ContextProperties, String>,
) -> Result<(ClContext, Sharing)> {
    open_on(device, &OnGl::Here(gl.clone()), properties)
}

/// The same with an OpenGL context that may be another thread's: the device's calls are all made on this one, without a context
/// that is current, as the frames' are.
///
/// # Errors
/// As [`open`].
pub fn open_on(
    device: &Device,
    gl: &OnGl,
    properties: std::result::Result<ContextProperties, String>,
) -> Result<(ClContext, Sharing)> {
    let _watched = watch::on_device(&device.info.name, "a context is made");
    let shared = properties.and_then(|properties| {
        let context = create(device, gl, properties)?;
        let cl = ClContext::from_context(device, context)
            .map_err(|e| format!("the driver made a context that shares, but no queue: {}", e.why))?;
        self_test::run(&cl, gl)?;
        Ok(cl)
    });
    match shared {
        Ok(cl) => Ok((cl, Sharing::ZeroCopy)),
        Err(reason) => Ok((ClContext::new(device)?, Sharing::copy(reason))),
    }
}

/// Also on devices that do not list the extension: some of them share all the same. A driver that makes it only where OpenGL's
/// context is current is asked there.
fn create(device: &Device, gl: &OnGl, properties: ContextProperties) -> std::result::Result<Context, String> {
    let properties = properties.to_raw();
    let made = match (Context::new(device, &properties), gl) {
        (Err(_), OnGl::There(..)) => {
            let device = device.clone();
            gl.call(move |_| {
                let _watched = watch::on_device(&device.info.name, "a context is made");
                Context::new(&device, &properties)
            })?
        }
        (made, _) => made,
    };
    made.map_err(|e| match e.0 {
        // It does not even know the names of OpenGL's context.
        ffi::CL_INVALID_PROPERTY if !is_listed(&device.info) => NOT_OFFERED.to_owned(),
        code => format!("the driver makes no OpenCL context for this window: {}", status_name(code)),
    })
}

/// Which of `devices` drives the OpenGL context that `properties` name, as far as the drivers tell.
pub fn driving_device<'a>(devices: &'a [Device], properties: &ContextProperties) -> Option<&'a Device> {
    let mut asked = Vec::new();
    for device in devices {
        if asked.contains(&device.platform) {
            continue;
        }
        asked.push(device.platform);
        let raw = device.properties(&properties.to_raw());
        let Some(id) = ask(device.platform, &raw) else { continue };
        if let Some(found) = devices.iter().find(|d| d.id.raw() == id) {
            return Some(found);
        }
    }
    None
}

fn ask(platform: Id, properties: &[isize]) -> Option<ffi::cl_device_id> {
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
