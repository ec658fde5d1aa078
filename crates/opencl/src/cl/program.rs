//! Programs of a context, released with their last clone.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use ocl::ffi;

use super::device::Device;
use super::handle::{Handle, lines_of};
use super::queue::Context;
use super::status::{Answer, Status};
use base::memory::zeroed;

/// The failure to compile a program.
pub(crate) struct Refused {
    /// The status of the call that failed.
    pub status: Status,
    /// The compiler's log; empty if the driver gives none.
    pub log: String,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self { status, log: String::new() }
    }
}

/// An OpenCL program, which contains kernels. Clones share it.
#[derive(Debug, Clone)]
pub struct Program(Handle);

impl Program {
    /// Compiles a program for the device, and waits until it is built. Returns it with the compiler's log.
    ///
    /// # Errors
    /// Returns an error if the program does not compile.
    pub(crate) fn compile(
        context: &Context,
        device: &Device,
        source: &CStr,
        options: &CStr,
    ) -> Result<(Self, String), Refused> {
        let (start, len) = (source.as_ptr(), source.to_bytes().len());
        let mut status = 0;
        // SAFETY: the context is alive, and there is one text of this length. The reference that comes back is given away.
        let program = unsafe {
            let raw = ffi::clCreateProgramWithSource(context.raw(), 1, &start, &len, &mut status);
            Handle::new(raw, status, ffi::clReleaseProgram).map(Self)
        }?;
        let built = program.build(device, options);
        let log = program.build_log(device);
        match built {
            Ok(()) => Ok((program, log)),
            Err(status) => Err(Refused { status, log }),
        }
    }

    /// Creates a program from a [binary](Program::binary). The program must still be built.
    ///
    /// # Errors
    /// Returns an error if the driver rejects the binary.
    pub(crate) fn from_binary(context: &Context, device: &Device, binary: &[u8]) -> Answer<Self> {
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

    /// Builds the program for the device with the compiler options `options`, and waits until it is built.
    ///
    /// # Errors
    /// Returns an error if the program does not build; [`Program::build_log`] has the reason.
    pub fn build(&self, device: &Device, options: &CStr) -> Answer<()> {
        let (id, options) = (device.id.raw(), options.as_ptr());
        // SAFETY: program and device are alive, the options end with a zero, and no callback is passed: the call waits.
        Status::check(unsafe { ffi::clBuildProgram(self.raw(), 1, &id, options, None, ptr::null_mut()) })
    }

    /// Returns the compiler's build log of the program; empty if the driver gives none.
    pub(crate) fn build_log(&self, device: &Device) -> String {
        let (id, what) = (device.id.raw(), ffi::CL_PROGRAM_BUILD_LOG);
        let log = lines_of(|size, to, length| {
            // SAFETY: program and device are alive, and there is room for `size` bytes.
            unsafe { ffi::clGetProgramBuildInfo(self.raw(), id, what, size, to, length) }
        });
        log.unwrap_or_default()
    }

    /// Returns the driver's binary of a program that was built for one device; `None` if the driver gives none.
    ///
    /// PoCL compiles every kernel once more for the binary, for work-groups of any size. Call this function only while no kernel of
    /// a program with the same text and options runs, in any context: PoCL before version 6 confuses the two programs.
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

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// The input of the compiler for one kernel file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompilerInput {
    /// The text of the file with the files that it includes.
    pub text: String,
    /// The text as it is passed to the compiler.
    pub source: CString,
    pub options: CString,
}

/// A compiled program with its whole text and its options, for [`ClContext::with_compiled`](super::ClContext::with_compiled).
#[derive(Debug, Clone)]
pub struct CompiledProgram {
    pub(crate) input: CompilerInput,
    pub(crate) program: Program,
    pub(crate) log: String,
}
