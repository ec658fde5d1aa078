//! Statistics over the newest samples of frames.

use super::{FrameSample, StageTimes};
use base::timing::{Noise, Series};

/// The maximum number of frames in the history, however fast they are presented.
pub const HISTORY_FRAMES: usize = 2_000;
/// The length of the newest part of the history that a [`Summary`] covers, in seconds.
pub const SUMMARY_S: f64 = 5.0;

/// The statistics of the samples at the end of the history, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The newest sample.
    pub last: f64,
    /// The arithmetic mean of the samples.
    pub mean: f64,
    /// The smallest sample.
    pub min: f64,
    /// The median of the samples.
    pub p50: f64,
    /// The 95th percentile of the samples, nearest rank.
    pub p95: f64,
    /// The largest sample.
    pub max: f64,
    /// The number of samples.
    pub n: usize,
    /// The reason why the last digits of these numbers are not reliable; `None` if they are.
    pub noise: Option<Noise>,
}

impl Summary {
    /// Summarises `samples`, oldest first; `None` without samples. Percentiles are nearest-rank, as in [`Series`]. Samples that
    /// are not finite are left out. `others` is the part of the machine's CPU time that other processes used meanwhile, 0 to 1,
    /// if known.
    pub fn of(samples: impl DoubleEndedIterator<Item = f64>, others: Option<f64>) -> Option<Self> {
        let samples: Vec<f64> = samples.filter(|s| s.is_finite()).collect();
        let (last, series) = (*samples.last()?, Series::of(&samples)?);
        let Series { min, p50, p95, max, n, .. } = series;
        let mean = samples.iter().sum::<f64>() / n as f64;
        Some(Self { last, mean, min, p50, p95, max, n, noise: Noise::of(&series, others) })
    }
}

/// Returns the sum of a frame's stage times, in milliseconds.
pub fn busy(stages: &StageTimes) -> f64 {
    stages.iter().filter(|s| s.is_finite()).sum()
}

/// Returns the part of the machine's CPU time that other processes used during these frames, 0 to 1: the mean of the known
/// values, or `None` if there are none.
pub fn mean_others_share<'a>(frames: impl Iterator<Item = &'a FrameSample>) -> Option<f64> {
    let (sum, n) = frames.filter_map(|s| s.others).fold((0.0, 0u32), |(sum, n), part| (sum + part, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
