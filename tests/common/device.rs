//! The OpenCL device that tests use: the first one.

use opencl::cl::{ClContext, list_devices, select_device};
use opencl::sources::Sources;

pub fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device, Sources::default()).expect("a context on the device")
}
