//! Tests of the engine on the first OpenCL device, in memory and in textures. They need OpenCL and OpenGL.

mod engine;
mod frame_loop;

use opencl::cl::{ClContext, list_devices, select_device};
use opencl::sources::Sources;

/// Returns a context on the first OpenCL device.
fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device, Sources::default()).expect("a context on the device")
}
