//! The OpenCL device that tests use: the first one.

use opencl::cl::{ClContext, list_devices, select_device};

pub fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device).expect("a context on the device")
}
