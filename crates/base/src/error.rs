//! The error type of all crates: what happened, why, and what to try.
//!
//! Every error is three sentences, so that it reads the same on stderr and in the overlay. Errors of libraries (FFmpeg, OpenCL,
//! I/O) become the second sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{escaped, escaped_lines};

/// A result whose error is clreel's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in three parts, each a sentence; `why` and `hint` may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// The failure, in the user's terms.
    pub what: String,
    /// The reason, if known.
    pub why: String,
    /// A suggestion to the user.
    pub hint: String,
    /// The kind of error, for callers that handle some kinds differently instead of showing the error.
    pub kind: ErrorKind,
}

/// The kinds of errors that callers distinguish.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// An error that is only shown to the user.
    #[default]
    Other,
    /// An OpenCL call returned this error status.
    OpenCl(i32),
    /// A kernel file, or the folder of kernels that the user named, cannot be read.
    KernelsUnreadable,
    /// A kernel file is neither in the folder of kernels nor built in.
    NoKernelFile,
    /// A kernel file does not compile. The list has the lines in which the compiler reported errors, as far as they are known.
    KernelDoesNotBuild(Vec<SourceLine>),
}

/// A line of a kernel file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file's name in the folder of kernels, such as "box_filter/03_flat.cl".
    pub file: String,
    /// The line's number, from 1.
    pub number: usize,
}

impl Error {
    /// Creates an error from its three sentences. Since they quote foreign names, titles and logs, control characters are
    /// escaped; only `why` may have several lines.
    pub fn new(what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) -> Self {
        let one_line = |text: String| escaped(&text).into_owned();
        let why = escaped_lines(&why.into()).into_owned();
        Self { what: one_line(what.into()), why, hint: one_line(hint.into()), kind: ErrorKind::Other }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for part in [&self.why, &self.hint] {
            if !part.is_empty() {
                write!(f, "\n  {part}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
