//! The benchmark harness of every ladder. A ladder is a set of variants, which are implementations of the same computation. The
//! harness checks and times them ([`runner`], [`check`], [`measure`], [`rounds`]), tunes their parameters ([`tune`],
//! [`compute::cache`]), provides the results as data for tables and charts ([`rows`], [`chart`]), and writes, reads and compares results
//! as JSON ([`results`], [`compare`]).

#![warn(missing_docs, unreachable_pub)]
// Docs are built for all items (`./dev check`).
#![allow(rustdoc::private_intra_doc_links)]

pub mod arrays;
pub mod chart;
pub mod check;
pub mod clock_speed;
pub mod compare;
mod definition;
#[cfg(test)]
#[path = "fake_tests.rs"]
mod fake;
mod growth;
pub mod heat;
pub mod ladder_trial;
pub mod measure;
pub mod outcome;
pub mod ratio_chart;
pub mod results;
pub mod roofline;
pub mod rounds;
pub mod rows;
pub mod runner;
mod search;
pub mod sizes;
pub mod tune;
pub mod why;

/// The reason in an [`Outcome::Skipped`] for a variant that has not been timed yet.
pub const NOT_TIMED: &str = "It was not timed.";

/// The outcome of benchmarking one variant at one case: its times, or the reason why it has none.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The output equals the reference. The value has the times.
    Ok(measure::Measurement),
    /// The device cannot run the variant. The value is the reason as a sentence.
    Unsupported(String),
    /// The variant was not timed. The value is the reason as a sentence.
    Skipped(String),
    /// The output differs from the reference, so that there is no time. The value is a report of the difference.
    Mismatch(base::verify::MismatchReport),
    /// The variant could not be built or run. The value is the error.
    Failed(base::error::Error),
}

impl Default for Outcome {
    /// Returns the outcome of a variant that has not been timed yet.
    fn default() -> Self {
        Outcome::Skipped(NOT_TIMED.to_owned())
    }
}

impl Outcome {
    /// Returns the times of an [`Outcome::Ok`]; `None` for any other outcome.
    pub fn measured(&self) -> Option<&measure::Measurement> {
        if let Outcome::Ok(measured) = self { Some(measured) } else { None }
    }

    /// Returns the reason why there are no times; `None` for an [`Outcome::Ok`].
    pub fn reason(&self) -> Option<String> {
        match self {
            Outcome::Ok(_) => None,
            Outcome::Unsupported(why) | Outcome::Skipped(why) => Some(why.clone()),
            Outcome::Mismatch(report) => Some(report.to_string()),
            Outcome::Failed(e) => Some(e.to_string()),
        }
    }

    /// Returns the word for this outcome in tables and JSON, such as "ok" or "mismatch".
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
