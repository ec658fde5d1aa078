//! The kernels of the box filter and of the conversion against their references, on the first OpenCL device. They need one.

mod convert;
mod parity;
mod planar;

use opencl::cl::{ClContext, list_devices, select_device};
use opencl::sources::Sources;

/// Returns a context on the first device.
fn context() -> ClContext {
    let device = select_device(&list_devices(), None).expect("these tests need an OpenCL device");
    ClContext::new(&device, Sources::default()).expect("a context on the device")
}
