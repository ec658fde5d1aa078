//! Times and what they are worth. In: samples of a clock. Out: their order statistics ([`Series`]), whether they can be
//! believed ([`Noise`]), what ran when ([`log`]), and what the processors were doing meanwhile.

pub(crate) mod cpu;
pub mod log;
pub mod noise;
pub(crate) mod series;

pub use cpu::{CpuLoad, CpuReading, CpuTimes, MOST_CROWDED, crowding};
pub use noise::{Noise, believed, number};
pub use series::Series;

/// Time since `began`, in milliseconds.
pub fn ms_since(began: std::time::Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
