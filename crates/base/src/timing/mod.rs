//! Measured times: order statistics ([`Series`]), detection of noise ([`Noise`]), the event log of traces ([`log`]), and
//! CPU load.

pub(crate) mod cpu;
pub mod log;
pub mod noise;
pub(crate) mod series;

pub use cpu::{CpuLoad, CpuReading, CpuTimes, load_per_core};
pub use noise::{Noise, believed, number};
pub use series::Series;

/// Returns the time since `began` in milliseconds.
pub fn ms_since(began: std::time::Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
