//! Statuses that OpenCL's calls return, their names, and errors made of them.

use std::fmt;

use base::error::{Error, ErrorKind};

/// The status of a failed OpenCL call, as the call returned it. It need not be a status that OpenCL defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of an OpenCL call.
pub type Answer<T> = std::result::Result<T, Status>;

impl Status {
    /// Converts the status of an OpenCL call to a result.
    ///
    /// # Errors
    /// Returns an error if the status is not `CL_SUCCESS`.
    pub(crate) fn check(code: i32) -> Answer<()> {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&reason(self))
    }
}

impl std::error::Error for Status {}

/// Returns the name and the number of an OpenCL status, as in "CL_DEVICE_NOT_FOUND (-1)".
pub fn status_name(code: i32) -> String {
    let name = match code {
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -10 => "CL_IMAGE_FORMAT_NOT_SUPPORTED",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -15 => "CL_COMPILE_PROGRAM_FAILURE",
        -16 => "CL_LINKER_NOT_AVAILABLE",
        -17 => "CL_LINK_PROGRAM_FAILURE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -38 => "CL_INVALID_MEM_OBJECT",
        -39 => "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
        -46 => "CL_INVALID_KERNEL_NAME",
        -48 => "CL_INVALID_KERNEL",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -59 => "CL_INVALID_OPERATION",
        -60 => "CL_INVALID_GL_OBJECT",
        -61 => "CL_INVALID_BUFFER_SIZE",
        -64 => "CL_INVALID_PROPERTY",
        -1000 => "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR",
        -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => return format!("error {code}"),
    };
    format!("{name} ({code})")
}

/// Returns one sentence that describes a status.
pub fn reason(status: &Status) -> String {
    format!("OpenCL returned {}.", status_name(status.0))
}

/// Returns the [`Error`] for a failed OpenCL call; `what` is the first sentence of its message.
pub fn failed(what: &str, status: &Status) -> Error {
    Error { kind: ErrorKind::OpenCl(status.0), ..Error::new(what, reason(status), "") }
}

/// Returns true if an error is due to the device: memory or resources ran out, or objects were lost. Returns false for errors that
/// recur on every attempt, such as a program that does not build, a kernel with unexpected arguments, or a size that is not
/// allowed.
pub fn is_device_failure(error: &Error) -> bool {
    let ErrorKind::OpenCl(status) = error.kind else { return false };
    let program = matches!(status, -3 | -11 | -17..=-15 | -43 | -47..=-45 | -52..=-49);
    let size_or_format = matches!(status, -10 | -40..=-39 | -56..=-53 | -61 | -63);
    !program && !size_or_format
}
