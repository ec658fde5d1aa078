//! OpenCL's other functions, as far as ocl can call them for this library. In: their calls. Out: the driver's answers, of
//! which each failure has a status that ocl has a name for: it panics at any other, and at an object that is null though
//! the driver reported success.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use ocl::core::Status;
use ocl::ffi::*;

use super::Next;

/// Stands for a status without a name: one that nothing here can have, as there are no pipes.
const NAMELESS: cl_int = Status::CL_INVALID_PIPE_SIZE as cl_int;
/// The last one that it stood for.
static LAST_NAMELESS: AtomicI32 = AtomicI32::new(NAMELESS);

/// The driver's own status, where ocl was told another one.
pub(crate) fn as_the_driver_said(status: i32) -> i32 {
    if status == NAMELESS { LAST_NAMELESS.load(Ordering::Relaxed) } else { status }
}

/// The status, or the one that stands for it.
fn named(status: cl_int) -> cl_int {
    // All that `Status` has. NVIDIA's own one for a wrong address is among them.
    if matches!(status, -19..=0 | -70..=-30 | -1001..=-1000 | -9999) {
        return status;
    }
    LAST_NAMELESS.store(status, Ordering::Relaxed);
    NAMELESS
}

/// Defines functions that return a status.
macro_rules! answer_with_status {
    ($($function:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "OpenCL's own name and arguments")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function($($argument: $kind),*) -> cl_int {
            static NEXT: Next = Next::new(concat!(stringify!($function), "\0"));
            type Driver = unsafe extern "C" fn($($kind),*) -> cl_int;
            // SAFETY: the library's function of this name has this type, or there is none.
            let driver = unsafe { std::mem::transmute::<*mut c_void, Option<Driver>>(NEXT.address()) };
            // SAFETY: the caller vouches for the arguments, as OpenCL asks for it.
            named(driver.map_or(CL_OUT_OF_RESOURCES, |driver| unsafe { driver($($argument),*) }))
        }
    )*};
}

/// Defines functions that return a new object, and a status as their last argument.
macro_rules! answer_with_object {
    ($($function:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "OpenCL's own name and arguments")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function($($argument: $kind,)* status: *mut cl_int) -> *mut c_void {
            static NEXT: Next = Next::new(concat!(stringify!($function), "\0"));
            type Driver = unsafe extern "C" fn($($kind,)* *mut cl_int) -> *mut c_void;
            // SAFETY: the library's function of this name has this type, or there is none.
            let driver = unsafe { std::mem::transmute::<*mut c_void, Option<Driver>>(NEXT.address()) };
            let mut answered = CL_OUT_OF_RESOURCES;
            let object = driver.map_or(std::ptr::null_mut(), |driver| {
                // SAFETY: the caller vouches for the arguments, as OpenCL asks for it.
                unsafe { driver($($argument,)* &mut answered) }
            });
            if object.is_null() && answered == CL_SUCCESS {
                answered = CL_OUT_OF_RESOURCES;
            }
            if !status.is_null() {
                // SAFETY: OpenCL asks the caller for room for a status, or none.
                unsafe { *status = named(answered) };
            }
            object
        }
    )*};
}

answer_with_status! {
    clGetPlatformIDs(count: cl_uint, platforms: *mut cl_platform_id, found: *mut cl_uint);
    clGetPlatformInfo(
        platform: cl_platform_id, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetDeviceIDs(
        platform: cl_platform_id, kind: cl_device_type, count: cl_uint, devices: *mut cl_device_id,
        found: *mut cl_uint);
    clGetDeviceInfo(device: cl_device_id, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetContextInfo(context: cl_context, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetCommandQueueInfo(
        queue: cl_command_queue, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetImageInfo(image: cl_mem, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetProgramInfo(program: cl_program, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetProgramBuildInfo(
        program: cl_program, device: cl_device_id, what: cl_uint, size: usize, value: *mut c_void,
        returned: *mut usize);
    clGetKernelInfo(kernel: cl_kernel, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetKernelArgInfo(
        kernel: cl_kernel, index: cl_uint, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetEventInfo(event: cl_event, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clGetEventProfilingInfo(event: cl_event, what: cl_uint, size: usize, value: *mut c_void, returned: *mut usize);
    clSetEventCallback(
        event: cl_event, kind: cl_int, call: Option<extern "C" fn(cl_event, cl_int, *mut c_void)>,
        data: *mut c_void);
    clWaitForEvents(count: cl_uint, events: *const cl_event);
    clFlush(queue: cl_command_queue);
    clFinish(queue: cl_command_queue);
    clBuildProgram(
        program: cl_program, count: cl_uint, devices: *const cl_device_id, options: *const c_char,
        call: Option<extern "C" fn(cl_program, *mut c_void)>, data: *mut c_void);
    clSetKernelArg(kernel: cl_kernel, index: cl_uint, size: usize, value: *const c_void);
    clEnqueueNDRangeKernel(
        queue: cl_command_queue, kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize,
        local: *const usize, waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event);
    clEnqueueReadBuffer(
        queue: cl_command_queue, buffer: cl_mem, waiting: cl_bool, offset: usize, size: usize, to: *mut c_void,
        waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event);
    clEnqueueWriteBuffer(
        queue: cl_command_queue, buffer: cl_mem, waiting: cl_bool, offset: usize, size: usize, from: *const c_void,
        waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event);
    clEnqueueReadImage(
        queue: cl_command_queue, image: cl_mem, waiting: cl_bool, origin: *const usize, region: *const usize,
        row: usize, slice: usize, to: *mut c_void, waits: cl_uint, wait_list: *const cl_event,
        event: *mut cl_event);
    clEnqueueWriteImage(
        queue: cl_command_queue, image: cl_mem, waiting: cl_bool, origin: *const usize, region: *const usize,
        row: usize, slice: usize, from: *const c_void, waits: cl_uint, wait_list: *const cl_event,
        event: *mut cl_event);
    clEnqueueCopyBuffer(
        queue: cl_command_queue, from: cl_mem, to: cl_mem, from_offset: usize, to_offset: usize, size: usize,
        waits: cl_uint, wait_list: *const cl_event, event: *mut cl_event);
    clEnqueueAcquireGLObjects(
        queue: cl_command_queue, count: cl_uint, objects: *const cl_mem, waits: cl_uint,
        wait_list: *const cl_event, event: *mut cl_event);
    clEnqueueReleaseGLObjects(
        queue: cl_command_queue, count: cl_uint, objects: *const cl_mem, waits: cl_uint,
        wait_list: *const cl_event, event: *mut cl_event);
}

answer_with_object! {
    clCreateContext(
        properties: *const cl_context_properties, count: cl_uint, devices: *const cl_device_id,
        call: Option<extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>, data: *mut c_void);
    clCreateCommandQueue(context: cl_context, device: cl_device_id, properties: cl_command_queue_properties);
    clCreateBuffer(context: cl_context, flags: cl_mem_flags, size: usize, host: *mut c_void);
    clCreateImage(
        context: cl_context, flags: cl_mem_flags, format: *const cl_image_format, shape: *const cl_image_desc,
        host: *mut c_void);
    clCreateFromGLTexture(
        context: cl_context, flags: cl_mem_flags, target: cl_GLenum, level: cl_GLint, texture: cl_GLuint);
    clCreateProgramWithSource(
        context: cl_context, count: cl_uint, texts: *const *const c_char, lengths: *const usize);
    clCreateKernel(program: cl_program, name: *const c_char);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_is_told_by_another_one_and_kept() {
        let nameless = [1, -20, -29, -71, -72, -999, -1002, -1092, -9998, -10_000, i32::MIN];
        for status in nameless {
            assert_eq!(named(status), NAMELESS);
            assert_eq!(as_the_driver_said(NAMELESS), status);
        }
        for status in [0, -1, -19, -30, -36, -70, -1000, -1001, -9999] {
            assert_eq!(named(status), status);
        }
        assert_eq!(as_the_driver_said(-36), -36);
    }
}
