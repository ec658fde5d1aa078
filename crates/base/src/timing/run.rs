//! The median of the times of one run, with a confidence interval for comparisons with another run. Successive times depend on
//! each other: they alternate between buffers, repeat with the movie, and change slowly with the machine.
//!
//! The interval is that between two order statistics (J. S. Woodruff, "Confidence Intervals for Medians and Other Position
//! Measures", 1952). How far these ranks are apart follows from the series that says which times are above the median: from its
//! eight slowest cosine waves (E. Lazarus, D. Lewis, J. Stock, M. Watson, "HAR Inference: Recommendations for Practice", 2018).
//! Waves of half the run to a sixteenth of it have the energy of all that does not average out within the run, whatever its
//! cause, while a period that the run has often enough has none there. A bootstrap of blocks needs the right length of a block,
//! and one of n^(1/3) samples found differences between a third of the equal runs whose times changed slowly.

use super::period;
use super::ranks::{VERDICT, median, median_ranks};

/// The number of slow waves. If the times of a run repeat, the run must have at least as many periods, so that the period is
/// not among the slow waves.
pub(super) const SLOW_WAVES: usize = 8;
/// The quantile of Student's distribution for [`VERDICT`], with a degree of freedom for each slow wave.
const STUDENT: f64 = 3.355;
/// The number of all waves: the slow ones, and the faster ones of the next two octaves, with which they are compared.
const WAVES: usize = 32;
/// The factor by which slow waves may be stronger than faster ones by chance, or because noise lasts for some samples.
const LIKE: f64 = 2.0;

/// The median of a run, and its confidence interval, as natural logarithms of the times.
pub(super) struct RunMedian {
    pub low: f64,
    pub estimate: f64,
    pub high: f64,
}

/// The reason why the median of a run has no confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoInterval {
    /// The run has fewer than [`MIN_SAMPLES`](super::ratio::MIN_SAMPLES) times.
    TooFew,
    /// The times repeat too seldom: their period is longer than an eighth of the run.
    LongPeriod {
        /// The period in samples.
        period: usize,
        /// The number of samples of the run.
        samples: usize,
    },
}

impl RunMedian {
    /// Returns the median of a run with its confidence interval. `logs` are the logarithms of the run's times, in the order in
    /// which they were measured.
    ///
    /// # Errors
    /// Returns the reason if there is no confidence interval, for example because the run has too few times.
    pub(super) fn of(logs: &[f64]) -> Result<Self, NoInterval> {
        let n = logs.len();
        let mut sorted = logs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (independent, _) = median_ranks(n, VERDICT).ok_or(NoInterval::TooFew)?;
        let estimate = median(&mut sorted.clone());
        let sides: Vec<f64> = logs.iter().map(|log| side(*log, estimate)).collect();
        let periods = [logs, sides.as_slice()].into_iter().filter_map(period::of);
        if let Some(period) = periods.max().filter(|period| period * SLOW_WAVES > n) {
            return Err(NoInterval::LongPeriod { period, samples: n });
        }
        let half_width = STUDENT * (n as f64 * slow_variance(&sides)).sqrt();
        let dependent = (0.5 * n as f64 - half_width).floor() - 1.0;
        let first = independent.min(dependent.max(0.0) as usize);
        Ok(Self { low: sorted[first], estimate, high: sorted[n - 1 - first] })
    }
}

/// Returns the side of the median that a value is on: −0.5, 0 or 0.5.
fn side(value: f64, median: f64) -> f64 {
    if value > median {
        0.5
    } else if value < median {
        -0.5
    } else {
        0.0
    }
}

/// Returns the variance with which the mean of a series varies from run to run, times the number of values: 0.25 for independent
/// values of −0.5 and 0.5.
///
/// The excess of slow waves over faster ones changes slowly, so that another run may have another part of it. Therefore the
/// excess is not divided by the number of waves, as if this run had seen all of it.
fn slow_variance(values: &[f64]) -> f64 {
    let waves = WAVES.min(values.len() - 1);
    let energies: Vec<f64> = (1..=waves).map(|wave| energy(values, wave)).collect();
    let mean = |energies: &[f64]| energies.iter().sum::<f64>() / energies.len() as f64;
    let (slow, faster) = energies.split_at(SLOW_WAVES.min(waves));
    let slow = mean(slow);
    let excess = if faster.is_empty() { 0.0 } else { (slow - LIKE * mean(faster)).max(0.0) };
    slow + SLOW_WAVES as f64 * excess
}

/// Returns the energy of a series in the cosine wave that has `halves` half periods in its length.
fn energy(values: &[f64], halves: usize) -> f64 {
    let n = values.len() as f64;
    let step = std::f64::consts::PI * halves as f64 / n;
    let ((turn_sin, turn_cos), (mut sin, mut cos)) = (step.sin_cos(), (0.5 * step).sin_cos());
    let mut sum = 0.0;
    for value in values {
        sum += value * cos;
        (sin, cos) = (sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin);
    }
    2.0 / n * sum * sum
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
