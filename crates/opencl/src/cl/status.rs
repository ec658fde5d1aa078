//! Statuses that OpenCL's calls return, their names, and errors made of them.

use std::fmt;

use num_traits::FromPrimitive as _;

use base::error::{Error, ErrorKind};

/// The status of a failed OpenCL call, as the call returned it. It need not be a status that OpenCL defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of an OpenCL call.
pub type Answer<T> = Result<T, Status>;

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
    match ocl::core::Status::from_i32(code) {
        Some(name) => format!("{name:?} ({code})"),
        None => format!("error {code}"),
    }
}

/// Returns one sentence that describes a status.
pub fn reason(status: &Status) -> String {
    format!("OpenCL returned {}.", status_name(status.0))
}

/// Returns the [`Error`] for a failed OpenCL call; `what` is the first sentence of its message.
pub fn failed(what: &str, status: &Status) -> Error {
    Error { kind: ErrorKind::OpenCl(status.0), ..Error::new(what, reason(status), "") }
}

/// Turns the answer of a call into a result whose error tells the user what could not be done.
pub trait OrFail<T> {
    /// Returns the value.
    ///
    /// # Errors
    /// Returns the error of [`failed`], with `what` as its first sentence, if the driver reported an error.
    fn or_fail(self, what: &str) -> Result<T, Error>;
}

impl<T> OrFail<T> for Answer<T> {
    fn or_fail(self, what: &str) -> Result<T, Error> {
        self.map_err(|status| failed(what, &status))
    }
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
