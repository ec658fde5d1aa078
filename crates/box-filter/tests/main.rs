//! The kernels of the box filter and of the conversion against their references, on the first OpenCL device. They need one.

mod convert;
mod parity;
mod planar;

use opencl::cl::{ClContext, list_devices, select_device};

/// Returns a context on the device that tests use: the first one.
fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device).expect("a context on the device")
}
