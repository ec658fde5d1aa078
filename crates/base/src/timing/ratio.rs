//! The comparison of two measurements: the interval of the ratio of their times, and the [`Verdict`] that follows from it. All
//! parts of clreel that call something faster or slower use this module.
//!
//! - The interval of a median lies between two order statistics, whose confidence follows from the binomial distribution
//!   whatever the distribution of the samples is (W. J. Conover, "Practical Nonparametric Statistics", 3rd edition, 1999,
//!   section 3.2; J.-Y. Le Boudec, "Performance Evaluation of Computer and Communication Systems", 2010, theorem 2.1).
//! - Times that were measured in turns form pairs. The ratio of each pair cancels what slows down both, so that
//!   the median of these ratios and its interval are used.
//! - Times of different runs form no pairs. Each run has the interval of its median ([`super::run`]), and the interval of the ratio
//!   follows from both (G. Y. Zou and A. Donner, "Construction of Confidence Limits about Effect Measures", 2008). It is never
//!   narrower than the difference between two processes that do the same work.

use std::fmt;

use super::ranks::{VERDICT, median, median_ranks};
pub use super::run::NoInterval;
use super::run::RunMedian;

/// The minimum number of samples, or of pairs, for a ratio: fewer have no interval with the confidence [`VERDICT`].
pub const MIN_SAMPLES: usize = 8;
/// The natural logarithm of the ratio by which the medians of two processes may differ, although they do the same work on the
/// same machine: their memory and code have different addresses (T. Mytkowicz and others, "Producing Wrong Data Without Doing
/// Anything Obviously Wrong!", 2009). No time within a run shows this difference.
const BETWEEN_RUNS: f64 = 0.03;

/// The time before a change divided by the time after it, with an interval that contains the true ratio with a confidence of
/// 99 %. It is above 1 if the change made something faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The lower end of the interval.
    pub low: f64,
    /// The ratio of the medians of unpaired times, or the median of the ratios of pairs.
    pub estimate: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// Compares times that were measured in turns: `before[i]` and `after[i]` belong to the same round. Pairs with a time that is
    /// not a positive number are left out. Returns `None` if fewer than [`MIN_SAMPLES`] pairs are left.
    pub fn of_pairs(before: &[f64], after: &[f64]) -> Option<Self> {
        let pairs = before.iter().zip(after).filter(|(a, b)| is_time(a) && is_time(b));
        let mut logs: Vec<f64> = pairs.map(|(a, b)| (a / b).ln()).collect();
        logs.sort_unstable_by(f64::total_cmp);
        let (low, high) = median_ranks(logs.len(), VERDICT)?;
        let (low, high) = (logs[low].exp(), logs[high].exp());
        Some(Self { low, estimate: median(&mut logs).exp(), high })
    }

    /// Compares times of different runs, in the order in which they were measured. Times that are not positive numbers are left
    /// out.
    ///
    /// # Errors
    /// Returns the index of a run that has no interval (0 for `before`, 1 for `after`), and the reason.
    pub fn of_runs(before: &[f64], after: &[f64]) -> Result<Self, (usize, NoInterval)> {
        let of = |run: usize, times: &[f64]| RunMedian::of(&logs(times)).map_err(|why| (run, why));
        let (before, after) = (of(0, before)?, of(1, after)?);
        let estimate = before.estimate - after.estimate;
        let width = |a: f64, b: f64| a.hypot(b).hypot(BETWEEN_RUNS);
        let low = estimate - width(before.estimate - before.low, after.high - after.estimate);
        let high = estimate + width(before.high - before.estimate, after.estimate - after.low);
        Ok(Self { low: low.exp(), estimate: estimate.exp(), high: high.exp() })
    }

    /// Returns this ratio with a wider interval, for times of two runs. `control` is the ratio of the times of work that is the
    /// same in both runs. Whatever changed the times of that work may have changed other times, too: the interval is widened by
    /// this factor on both sides.
    #[must_use]
    pub fn widened_by(self, control: f64) -> Self {
        let factor = control.max(1.0 / control);
        Self { low: self.low / factor, high: self.high * factor, ..self }
    }

    /// Returns the ratio of the time after to the time before.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { low: 1.0 / self.high, estimate: 1.0 / self.estimate, high: 1.0 / self.low }
    }

    /// Returns the verdict: a difference is shown if the interval does not contain 1.
    pub fn verdict(self) -> Verdict {
        match self {
            Self { low, .. } if low > 1.0 => Verdict::Faster(self),
            Self { high, .. } if high < 1.0 => Verdict::Slower(self.inverse()),
            Self { low, high, .. } => {
                Verdict::NoDifferenceShown { below: 100.0 * (high.max(1.0 / low) - 1.0) }
            }
        }
    }

    /// Returns the number of decimal places that the interval allows: 1.3 to 1.4 allows one, 1.32 to 1.34 two. At most three digits
    /// are shown, and close to 1 four, so that small differences can be seen.
    fn decimals(&self) -> usize {
        let most = match self.estimate {
            ..1.1 => 3.0,
            ..10.0 => 2.0,
            ..100.0 => 1.0,
            _ => 0.0,
        };
        (-(self.high - self.low).log10().floor()).clamp(0.0, most) as usize
    }

    /// Formats the ratio with the digits that the interval allows.
    fn factor_text(&self) -> String {
        format!("{:.*}", self.decimals(), self.estimate)
    }

    /// Formats the interval as in "1.27 to 1.36".
    fn interval_text(&self) -> String {
        let decimals = self.decimals();
        format!("{:.decimals$} to {:.decimals$}", self.low, self.high)
    }
}

/// Formats the ratio and its interval with the digits that the interval allows, as in "1.32×, 1.27 to 1.36".
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×, {}", self.factor_text(), self.interval_text())
    }
}

/// Returns the ratio of the medians of two runs; `None` if one of them has fewer than [`MIN_SAMPLES`] times.
pub fn of_medians(before: &[f64], after: &[f64]) -> Option<f64> {
    let [before, after] = [before, after].map(logs);
    let has_enough = before.len().min(after.len()) >= MIN_SAMPLES;
    has_enough.then(|| (median(&mut { before }) - median(&mut { after })).exp())
}

/// Returns the logarithms of the times that are positive numbers.
fn logs(times: &[f64]) -> Vec<f64> {
    times.iter().filter(|ms| is_time(ms)).map(|ms| ms.ln()).collect()
}

/// Returns true for a finite number above 0.
fn is_time(ms: &f64) -> bool {
    ms.is_finite() && *ms > 0.0
}

/// The percentage of [`Verdict::NoDifferenceShown`] above which the times are too noisy for a statement.
const MAX_BELOW: f64 = 100.0;
/// The reason for times that are too noisy.
const NOISY: &str = "the times vary too much";

/// The result of a comparison of two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The second time is shorter. The ratio is that of the first time to the second, above 1.
    Faster(Ratio),
    /// The second time is longer. The ratio is that of the second time to the first, above 1.
    Slower(Ratio),
    /// The interval of the ratio contains 1.
    NoDifferenceShown {
        /// The largest difference that the interval contains, in percent: a larger one would have been shown.
        below: f64,
    },
}

impl Verdict {
    /// Returns the verdict without the interval, as in "1.32× faster"; "no difference shown" is not shortened.
    pub fn short(&self) -> String {
        match self {
            Self::Faster(ratio) => format!("{}× faster", ratio.factor_text()),
            Self::Slower(ratio) => format!("{}× slower", ratio.factor_text()),
            Self::NoDifferenceShown { .. } => self.to_string(),
        }
    }

    /// Returns the verdict for the window, with the name of what the first time belongs to: "1.32× faster than version 4, 1.27 to
    /// 1.36", "no difference shown against version 4 (below 3 %)", or that the times are too noisy.
    pub fn text_against(&self, other: &str) -> String {
        match self {
            Self::Faster(ratio) | Self::Slower(ratio) => {
                format!("{} than {other}, {}", self.short(), ratio.interval_text())
            }
            _ if self.is_too_noisy() => format!("too noisy to tell from {other}: {NOISY}"),
            Self::NoDifferenceShown { .. } => {
                self.to_string().replace("shown", &format!("shown against {other}"))
            }
        }
    }

    /// Returns the verdict in few words, as in "1.32× faster" or "no difference shown (below 3 %)"; says that the times are too
    /// noisy if they would not show a factor of two.
    pub fn words(&self) -> String {
        if self.is_too_noisy() { format!("too noisy to tell: {NOISY}") } else { self.short() }
    }

    /// Returns true if the times are too noisy for a statement: a factor of two would not have been shown.
    pub fn is_too_noisy(&self) -> bool {
        matches!(self, Self::NoDifferenceShown { below } if *below > MAX_BELOW)
    }

    /// Returns true if the second time is longer by more than `percent` percent, even at the lower end of the interval.
    pub fn is_slower_by(&self, percent: f64) -> bool {
        matches!(self, Self::Slower(ratio) if 100.0 * (ratio.low - 1.0) > percent)
    }
}

/// Formats the verdict as in "1.32× faster, 1.27 to 1.36" and "no difference shown (below 3 %)".
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faster(ratio) | Self::Slower(ratio) => {
                write!(f, "{}, {}", self.short(), ratio.interval_text())
            }
            Self::NoDifferenceShown { below } => {
                // Rounded up, so that the sentence is true.
                let (below, decimals) = match *below {
                    below if below > 1.0 => (below.ceil(), 0),
                    below => ((10.0 * below).ceil().max(1.0) / 10.0, usize::from(below <= 0.9)),
                };
                write!(f, "no difference shown (below {below:.decimals$} %)")
            }
        }
    }
}

#[cfg(test)]
#[path = "ratio_tests.rs"]
mod tests;
