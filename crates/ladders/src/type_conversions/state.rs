//! The options of a conformance test, and its results so far.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use super::types::{Case, Widths};
use super::values::Depth;

/// The number of values that are generated and converted at once.
pub(super) const PART_NUMBERS: usize = 1 << 21;

/// The options of a conformance test.
#[derive(Debug, Clone)]
pub struct TestOptions {
    /// The cases to test, each with the number of values for which it has been tested already.
    pub cases: Vec<(Case, u64)>,
    /// The vector widths that are tested.
    pub widths: Widths,
    /// The thoroughness of the test.
    pub depth: Depth,
    /// The seed of the random numbers.
    pub seed: u32,
    /// The timeout of a step in a child process, as the user set it; `None` for the default.
    pub limit: Option<Duration>,
}

/// The state of a case in a conformance test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// All results so far are right, and the test is not finished. The value is the number of values tested.
    Partial(u64),
    /// The test is finished, and all results are right. The value is the number of values tested.
    Ok(u64),
    /// A result is wrong. The fields are the number of values tested and the first failure.
    Wrong(u64, Box<Failure>),
    /// The device does not have one of the types. The text is the reason as a sentence.
    Unsupported(String),
    /// The driver has no `convert_` function of this name, although OpenCL C requires it. The text is the reason as a sentence.
    MissingInDriver(String),
    /// The case could not be compiled or run. The text is the reason as a sentence.
    Failed(String),
}

/// The time spent in each stage of a test, in seconds, summed over all child processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Time for loading drivers and opening the device, in seconds.
    pub start: f64,
    /// Time for compiling kernels, in seconds.
    pub compile: f64,
    /// Time for generating and uploading numbers, in seconds.
    pub numbers: f64,
    /// Time for computing expected results, in seconds.
    pub reference: f64,
    /// Time for waiting for the device and for results, in seconds.
    pub device: f64,
    /// Time for comparing results, in seconds.
    pub compare: f64,
}

impl Times {
    /// Adds the times of another part of the test.
    pub fn add(&mut self, other: Times) {
        self.start += other.start;
        self.compile += other.compile;
        self.numbers += other.numbers;
        self.reference += other.reference;
        self.device += other.device;
        self.compare += other.compare;
    }
}

/// Adds the time since `began` to `time`, and sets `began` to now.
pub(super) fn add_elapsed(began: &mut Instant, time: &mut f64) {
    *time += began.elapsed().as_secs_f64();
    *began = Instant::now();
}
