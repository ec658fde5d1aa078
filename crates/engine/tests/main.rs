//! The engine on the first OpenCL device, in memory and in textures. These tests need both.

mod engine;

use opencl::cl::{ClContext, list_devices, select_device};

/// Returns a context on the device that tests use: the first one.
fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device).expect("a context on the device")
}
