//! Order statistics of samples, for tables, the overlay and JSON.

use serde::{Deserialize, Serialize};

use super::noise::median_interval_ranks;

/// Minimum, median, 95th and 99th percentile, maximum and count of a set of samples, and the interval of the median, in the
/// samples' unit (milliseconds throughout clreel).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Smallest sample.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// Lower end of the interval that contains the true median with a confidence of 95 %; the minimum of fewer than six samples.
    pub p50_low: f64,
    /// Upper end of the interval that begins at `p50_low`; the maximum of fewer than six samples.
    pub p50_high: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest sample.
    pub max: f64,
    /// Number of samples.
    pub n: usize,
}

impl Series {
    /// Computes the statistics of `samples` without those that are not finite; `None` if none are left. Percentiles are
    /// nearest-rank, so that they are always measured values.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|s| s.is_finite()).collect();
        if sorted.is_empty() {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (low, high) = median_interval_ranks(n);
        let rank = |p: f64| sorted[((p * n as f64).ceil() as usize).clamp(1, n) - 1];
        Some(Self {
            min: sorted[0],
            p50: rank(0.50),
            p50_low: sorted[low],
            p50_high: sorted[high],
            p95: rank(0.95),
            p99: rank(0.99),
            max: sorted[n - 1],
            n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank_and_none_without_samples() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let s = Series::of(&samples).unwrap();
        assert_eq!((s.min, s.p50, s.p95, s.p99, s.max, s.n), (1.0, 50.0, 95.0, 99.0, 100.0, 100));
        assert_eq!((s.p50_low, s.p50_high), (40.0, 61.0));
        let few = Series::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((few.p50_low, few.p50_high), (1.0, 3.0), "too few for an interval");
        let one = Series::of(&[3.5]).unwrap();
        assert_eq!((one.min, one.p50, one.p95, one.p99, one.max, one.n), (3.5, 3.5, 3.5, 3.5, 3.5, 1));
        assert_eq!(Series::of(&[]), None);
        assert_eq!(Series::of(&[f64::NAN]), None);
    }
}
