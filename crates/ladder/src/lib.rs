//! The benchmark harness of every ladder: variants and cases, checks, timing ([`measure`]), tuning, tables and JSON.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod answer;
pub mod arrays;
pub mod bench;
pub mod cache;
pub mod chart;
pub mod config;
pub mod contest;
mod fastest;
mod growth;
pub mod heat;
pub mod judge;
#[cfg(test)]
mod made;
pub mod measure;
pub mod rounds;
pub mod rows;
pub mod rung;
mod search;
pub mod sizes;
pub mod trial;
pub mod tune;
pub mod tune_case;

/// What computes a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackEnd {
    /// There is nothing to compute.
    Nothing,
    /// Kernels on an OpenCL device.
    OpenCl,
    /// Shaders in OpenGL.
    Glsl,
    /// Threads of this process.
    Native,
}

impl BackEnd {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            BackEnd::Nothing => "none",
            BackEnd::OpenCl => "opencl",
            BackEnd::Glsl => "glsl",
            BackEnd::Native => "native",
        }
    }

    /// Whether it filters without OpenCL.
    pub fn does_without_opencl(self) -> bool {
        !matches!(self, BackEnd::Nothing | BackEnd::OpenCl)
    }
}

/// Why something that was to be timed has no time yet.
pub const NOT_TIMED: &str = "It was not timed.";

/// What came of running a variant.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It equals the reference, and this is its time.
    Ok(measure::Measurement),
    /// The device cannot run it, and why.
    Unsupported(String),
    /// It was left out, and why.
    Skipped(String),
    /// It differs from the reference, so it has no time.
    Mismatch(base::verify::MismatchReport),
    /// It could not be built or run.
    Failed(base::error::Error),
}

impl Outcome {
    /// Its times, where it has some.
    pub fn measured(&self) -> Option<&measure::Measurement> {
        if let Outcome::Ok(measured) = self { Some(measured) } else { None }
    }

    /// Why it has no times.
    pub fn reason(&self) -> Option<String> {
        match self {
            Outcome::Ok(_) => None,
            Outcome::Unsupported(why) | Outcome::Skipped(why) => Some(why.clone()),
            Outcome::Mismatch(report) => Some(report.to_string()),
            Outcome::Failed(e) => Some(e.to_string()),
        }
    }

    /// The word for it in tables and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Ok(_) => "ok",
            Outcome::Unsupported(_) => "unsupported",
            Outcome::Skipped(_) => "skipped",
            Outcome::Mismatch(_) => "mismatch",
            Outcome::Failed(_) => "failed",
        }
    }
}
