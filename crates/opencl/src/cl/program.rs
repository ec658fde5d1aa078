//! Programs: the driver's objects, released with their last clone.

use std::ffi::{CStr, c_void};
use std::ptr;

use ocl::ffi;

use super::device::Device;
use super::handle::{Handle, lines_of};
use super::queue::Context;
use super::status::{Answer, Status};
use base::memory::zeroed;

/// A program of kernels. Clones share it.
#[derive(Debug, Clone)]
pub struct Program(Handle);

impl Program {
    /// A program of this text, which is not built yet.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn of_source(context: &Context, text: &CStr) -> Answer<Self> {
        let (start, len) = (text.as_ptr(), text.to_bytes().len());
        let mut status = 0;
        // SAFETY: the context is alive, and there is one text of this length. The reference that comes back is given away.
        unsafe {
            let raw = ffi::clCreateProgramWithSource(context.raw(), 1, &start, &len, &mut status);
            Handle::new(raw, status, ffi::clReleaseProgram).map(Self)
        }
    }

    /// A program of what [`Program::binary`] gave, which is to be built, too.
    ///
    /// # Errors
    /// When the driver does not take it.
    pub(crate) fn of_binary(context: &Context, device: &Device, binary: &[u8]) -> Answer<Self> {
        let (mut status, mut taken) = (0, 0);
        let (id, len, start) = (device.id.raw(), binary.len(), binary.as_ptr());
        // SAFETY: context and device are alive; there is one device, with one length and one binary of that length. The
        // reference that comes back is given away.
        let program = unsafe {
            let context = context.raw();
            let raw = ffi::clCreateProgramWithBinary(context, 1, &id, &len, &start, &mut taken, &mut status);
            Handle::new(raw, status, ffi::clReleaseProgram)
        }?;
        Status::check(taken).map(|()| Self(program))
    }

    /// Compiles it for the device, with the compiler's `options`, and waits.
    ///
    /// # Errors
    /// When it does not build; [`Program::build_log`] says why.
    pub fn build(&self, device: &Device, options: &CStr) -> Answer<()> {
        let (id, options) = (device.id.raw(), options.as_ptr());
        // SAFETY: program and device are alive, the options end with a zero, and no callback is passed: the call waits.
        Status::check(unsafe { ffi::clBuildProgram(self.raw(), 1, &id, options, None, ptr::null_mut()) })
    }

    /// What the compiler said; empty where the driver does not tell.
    pub(crate) fn build_log(&self, device: &Device) -> String {
        let (id, what) = (device.id.raw(), ffi::CL_PROGRAM_BUILD_LOG);
        let log = lines_of(|size, to, length| {
            // SAFETY: program and device are alive, and there is room for `size` bytes.
            unsafe { ffi::clGetProgramBuildInfo(self.raw(), id, what, size, to, length) }
        });
        log.unwrap_or_default()
    }

    /// What the driver made of a built program for its one device; `None` where it does not tell.
    ///
    /// PoCL compiles every kernel once more for it, for groups of any size. Before version 6 it also ends the process where a
    /// kernel runs meanwhile that names its group's size and is of a program with the same text and options, in whatever
    /// context: what it notes of those two it cannot tell apart. So ask for it where none such runs.
    pub(crate) fn binary(&self) -> Option<Vec<u8>> {
        let ask = |what, size, to: *mut c_void| {
            // SAFETY: the program is alive, and `to` has room for `size` bytes.
            let status = unsafe { ffi::clGetProgramInfo(self.raw(), what, size, to, ptr::null_mut()) };
            Status::check(status).ok()
        };
        let mut length = 0_usize;
        ask(ffi::CL_PROGRAM_BINARY_SIZES, size_of::<usize>(), ptr::from_mut(&mut length).cast())?;
        let mut binary = zeroed(length).ok()?;
        let mut to = binary.as_mut_ptr();
        ask(ffi::CL_PROGRAM_BINARIES, size_of::<*mut u8>(), ptr::from_mut(&mut to).cast())?;
        Some(binary)
    }

    /// The program for a call of OpenCL's, alive while this is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}
