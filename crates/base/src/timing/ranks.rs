//! The median of samples, and the ranks between which it lies with a confidence.

/// The level of confidence of an interval.
pub(super) struct Confidence {
    /// The probability that the interval does not contain the true value.
    error: f64,
    /// The quantile of the standard normal distribution at 1 − `error` / 2.
    z: f64,
}

/// The confidence of the interval that limits the digits of a printed median.
pub(super) const PRINTED: Confidence = Confidence { error: 0.05, z: 1.960 };
/// The confidence of the intervals of ratios, on which verdicts are based.
pub(super) const VERDICT: Confidence = Confidence { error: 0.01, z: 2.576 };

/// The number of samples above which the normal distribution approximates the binomial one.
pub(super) const MAX_EXACT: usize = 1000;

/// Returns the indices of the two of `n` sorted samples between which the median lies with this confidence; `None` if there are
/// too few samples.
pub(super) fn median_ranks(n: usize, confidence: Confidence) -> Option<(usize, usize)> {
    let first = if n > MAX_EXACT {
        // Rounded down, so that the interval is not too short.
        (0.5 * n as f64 - 0.5 * confidence.z * (n as f64).sqrt()).floor() as usize - 1
    } else {
        // The interval from the sample k to the sample n − 1 − k misses the median if at most k samples are on one side of it.
        let mut probability = 0.5f64.powi(n as i32);
        let mut missed = 2.0 * probability;
        let mut within = 0;
        while missed <= confidence.error && within < n {
            within += 1;
            probability *= (n + 1 - within) as f64 / within as f64;
            missed += 2.0 * probability;
        }
        within.checked_sub(1)?
    };
    Some((first, n - 1 - first))
}

/// Returns the median of samples, and changes their order; NaN if there are none.
pub(super) fn median(samples: &mut [f64]) -> f64 {
    let n = samples.len();
    if n == 0 {
        return f64::NAN;
    }
    let (lower, upper, _) = samples.select_nth_unstable_by(n / 2, f64::total_cmp);
    let lower =
        if n.is_multiple_of(2) { lower.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { *upper };
    0.5 * (lower + *upper)
}
