//! The one error type of the program: what happened, why, and what to try.
//!
//! Every error that a user can meet is built from three sentences, so that it reads the same on stderr and
//! in the overlay's banner. Library errors (FFmpeg, OpenCL, I/O) are turned into the middle sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{escaped, escaped_lines};

/// Result with clreel's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error in three parts, each a sentence; `why` and `hint` may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What did not work, in the user's terms.
    pub what: String,
    /// The reason, as far as it is known.
    pub why: String,
    /// What the user can do about it.
    pub hint: String,
    /// The status that OpenCL returned, where that was the reason.
    pub opencl_status: Option<i32>,
}

impl Error {
    /// An error with its three sentences. They quote names, titles and logs that others have written: what would control a
    /// terminal is written out. Only the reason may have several lines.
    pub fn new(what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) -> Self {
        let one_line = |text: String| escaped(&text).into_owned();
        let why = escaped_lines(&why.into()).into_owned();
        Self { what: one_line(what.into()), why, hint: one_line(hint.into()), opencl_status: None }
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
