//! Measured times: order statistics ([`Series`]), detection of noise ([`Noise`]), comparison ([`Ratio`]), the event log of
//! traces ([`log`]), and CPU load.

pub(crate) mod cpu;
pub mod log;
pub mod noise;
mod period;
mod ranks;
pub mod ratio;
mod run;
pub(crate) mod series;

pub use cpu::{CpuLoad, CpuReading, CpuTimes, load_per_core};
pub use noise::{Noise, Precision, believed, number};
pub use ratio::{Ratio, Verdict};
pub use series::Series;

/// Returns the time since `began` in milliseconds.
pub fn ms_since(began: std::time::Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
