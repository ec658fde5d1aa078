//! Detection of noisy measurements, for `bench`, `tune` and the window.
//!
//! A series is noisy if its 95th percentile exceeds 1.5 times its median, if it has fewer than five samples, or if other
//! processes used more than a tenth of the machine meanwhile.
//!
//! Noisy or not, a number is printed with the digits that the interval of its median allows ([`Precision`]): a median between
//! 0.409 and 0.418 has three, one between 18 and 23 has two.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Series;
use super::ranks::{PRINTED, median_ranks};
use crate::numbers::thousands;

/// Minimum number of samples of a series that is not noisy.
pub const MIN_SAMPLES: usize = 5;
/// Maximum ratio of 95th percentile to median of a series that is not noisy.
const MAX_SPREAD: f64 = 1.5;
/// Maximum fraction of the machine that other processes use while a series that is not noisy is measured, 0 to 1.
pub const MAX_OTHERS: f64 = 0.1;
/// The maximum number of significant digits of a printed number.
const DIGITS: usize = 3;
/// The maximum number of significant digits of a median of fewer than [`MIN_SAMPLES`] samples.
const FEW_DIGITS: usize = 2;

/// The reasons why a series is noisy: at least one of `few`, `spread` and `others` is set, unless they are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// The number of samples if there are too few; otherwise `None`.
    pub few: Option<usize>,
    /// The ratio of 95th percentile to median if it is too large; otherwise `None`.
    pub spread: Option<f64>,
    /// The fraction of the machine that other processes used, 0 to 1, if it is too large; otherwise `None`.
    pub others: Option<f64>,
    /// The number of significant digits that the interval of the median allows.
    pub digits: usize,
}

impl Noise {
    /// Returns the noise of a series; `None` if the series is not noisy. `others` is the fraction of the machine that other
    /// processes used meanwhile, 0 to 1, if known.
    pub fn of(series: &Series, others: Option<f64>) -> Option<Self> {
        let Series { p50, p95, p50_low, p50_high, n, .. } = *series;
        Self::from_percentiles((p50, p95), (p50_low, p50_high), n, others)
    }

    /// Returns the noise of a series that is known to be noisy, although neither its times nor the load say why.
    pub fn without_reason(series: &Series) -> Self {
        let digits = interval_digits(series.p50, (series.p50_low, series.p50_high), series.n);
        Self { digits, ..Self::default() }
    }

    /// Returns the noise of `n` samples from their median and 95th percentile; `None` if they are not noisy. `interval` has the
    /// two ends of the median's interval ([`median_interval_ranks`]). `others` is the fraction of the machine that other
    /// processes used meanwhile, 0 to 1, if known.
    pub fn from_percentiles(
        (p50, p95): (f64, f64),
        interval: (f64, f64),
        n: usize,
        others: Option<f64>,
    ) -> Option<Self> {
        let noise = Self {
            few: Some(n).filter(|n| *n < MIN_SAMPLES),
            spread: Some(p95 / p50).filter(|_| p95 > MAX_SPREAD * p50),
            others: others.filter(|part| *part > MAX_OTHERS),
            digits: interval_digits(p50, interval, n),
        };
        (noise.few.is_some() || noise.spread.is_some() || noise.others.is_some()).then_some(noise)
    }
}

/// Returns the indices of the two among `n` sorted samples that are the ends of the 95 % confidence interval of the median;
/// with fewer than six samples, the first and the last index.
pub fn median_interval_ranks(n: usize) -> (usize, usize) {
    median_ranks(n, PRINTED).unwrap_or((0, n.saturating_sub(1)))
}

/// Returns the number of significant digits of a median of `n` samples with this interval. The last of these digits has the
/// same place as the first digit of the interval's width.
fn interval_digits(p50: f64, (low, high): (f64, f64), n: usize) -> usize {
    let most = if n < MIN_SAMPLES { FEW_DIGITS } else { DIGITS };
    let place = |value: f64| value.log10().floor();
    let digits = place(p50) - place(high - low) + 1.0;
    // NaN without a median, infinite without a width.
    if digits.is_nan() { most } else { digits.clamp(1.0, most as f64) as usize }
}

/// The format of a measured number: its significant digits, and the mark `~` if it is noisy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    digits: usize,
    is_noisy: bool,
}

impl Precision {
    /// Returns the precision of a series. `others` is the fraction of the machine that other processes used meanwhile, 0 to 1, if
    /// known.
    pub fn of(series: &Series, others: Option<f64>) -> Self {
        let digits = interval_digits(series.p50, (series.p50_low, series.p50_high), series.n);
        Self { digits, is_noisy: Noise::of(series, others).is_some() }
    }

    /// Returns true if the number is printed with the mark `~`.
    pub fn is_noisy(self) -> bool {
        self.is_noisy
    }
}

/// Converts the noise of a number whose interval is not known. Without noise, the number has three digits.
impl From<Option<Noise>> for Precision {
    fn from(noise: Option<Noise>) -> Self {
        Self { digits: noise.map_or(DIGITS, |noise| noise.digits), is_noisy: noise.is_some() }
    }
}

/// Rounds a nonzero number to `digits` significant digits. Returns the rounded number and the number of decimal places to
/// print, at most 6.
pub fn round_significant(value: f64, digits: usize) -> (f64, usize) {
    let last = digits as i32 - 1;
    let decimals = |value: f64| last - value.abs().log10().floor() as i32;
    // Rounding may add a digit, as from 9.96 to 10.0.
    let scale = 10f64.powi(decimals(value));
    let value = (value * scale).round() / scale;
    (value, decimals(value).clamp(0, 6) as usize)
}

/// Formats a number with `digits` significant digits, as in 0.035 and 701.
fn significant_digits_text(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    match round_significant(value, digits) {
        (value, 0) => thousands(value),
        (value, decimals) => format!("{value:.decimals$}"),
    }
}

/// Formats a number with three significant digits, or as an integer in groups of three digits from 1,000 on.
pub fn number(value: f64) -> String {
    if value >= 1000.0 { thousands(value) } else { significant_digits_text(value, 3) }
}

/// Formats a value that is derived from several series of measurements, with as many digits as the least precise series
/// justifies, and with the mark `~` if any of them is noisy. `precision` has an entry for each series.
pub fn believed(value: f64, precision: &[Precision]) -> String {
    let digits = precision.iter().map(|one| one.digits).min().unwrap_or(DIGITS);
    match precision.iter().any(|one| one.is_noisy) {
        true => format!("~{}", significant_digits_text(value, digits)),
        false if digits == DIGITS => number(value),
        false => significant_digits_text(value, digits),
    }
}

/// Formats the reasons of the noise as one sentence.
impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = |n| if n == 1 { "Only 1 run".to_owned() } else { format!("Only {n} runs") };
        let parts = [
            self.few.map(runs),
            self.spread.map(|times| format!("p95 is {times:.1} times p50")),
            self.others.map(|part| format!("other processes used {:.0} % of the machine", 100.0 * part)),
        ];
        let sentence = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let mut chars = sentence.chars();
        match chars.next() {
            Some(first) => write!(f, "{}{}.", first.to_ascii_uppercase(), chars.as_str()),
            None => Ok(()),
        }
    }
}

/// The value of the field `noisy` in JSON: `false`, or the reasons as a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noisy(pub Option<String>);

impl From<Option<Noise>> for Noisy {
    fn from(noise: Option<Noise>) -> Self {
        Self(noise.map(|noise| noise.to_string()))
    }
}

impl Serialize for Noisy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            None => serializer.serialize_bool(false),
            Some(why) => serializer.serialize_str(why),
        }
    }
}

impl<'a> Deserialize<'a> for Noisy {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Sentence(String),
            Flag(Option<bool>),
        }
        match Value::deserialize(from)? {
            Value::Sentence(why) => Ok(Self(Some(why))),
            Value::Flag(Some(true)) => Err(D::Error::custom("noisy without a reason")),
            Value::Flag(_) => Ok(Self(None)),
        }
    }
}

/// Returns a sentence about the noise in a table: how many rows are noisy, and the largest value of each kind of noise. `rows`
/// has the name and the noise of each row. Returns `None` if no row is noisy.
pub fn summary(rows: &[(String, Option<Noise>)]) -> Option<String> {
    let noisy: Vec<(&str, Noise)> =
        rows.iter().filter_map(|(name, n)| Some((name.as_str(), (*n)?))).collect();
    if noisy.is_empty() {
        return None;
    }
    let worst = |of: fn(&Noise) -> Option<f64>| {
        let with = noisy.iter().filter_map(|(name, noise)| Some((*name, of(noise)?)));
        with.max_by(|a, b| f64::total_cmp(&a.1, &b.1))
    };
    let others = worst(|n| n.others)
        .map(|(_, part)| format!("other processes used up to {:.0} % of the machine", 100.0 * part));
    let spread =
        worst(|n| n.spread).map(|(name, times)| format!("p95 is up to {times:.1} times p50 ({name})"));
    // Negated, since `worst` takes the maximum.
    let few = worst(|n| n.few.map(|n| -(n as f64)))
        .map(|(name, n)| format!("{name} ran only {:.0} time{}", -n, if n == -1.0 { "" } else { "s" }));
    let why = [others, spread, few].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Some(format!("{} of {} rows are noisy: {why}.", noisy.len(), rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(samples: &[f64]) -> Series {
        Series::of(samples).unwrap()
    }

    #[test]
    fn each_reason_alone_makes_a_row_noisy_in_json_and_in_the_summary() {
        let quiet = series(&[1.0, 1.01, 1.02, 1.0, 1.4]);
        assert_eq!((Noise::of(&quiet, Some(0.1)), Noise::of(&quiet, None)), (None, None));
        let few = Noise::of(&series(&[1.0, 1.0, 1.01, 1.0]), None).unwrap();
        assert_eq!((few.few, few.spread, few.others), (Some(4), None, None));
        assert_eq!((few.to_string().as_str(), few.digits), ("Only 4 runs.", 2));
        let spread = Noise::of(&series(&[1.0, 1.0, 1.0, 1.0, 1.6]), Some(0.02)).unwrap();
        assert_eq!((spread.few, spread.spread, spread.others), (None, Some(1.6), None));
        assert_eq!((spread.to_string().as_str(), spread.digits), ("P95 is 1.6 times p50.", 2));
        let others = Noise::of(&series(&[1.0; 5]), Some(0.43)).unwrap();
        assert_eq!((others.few, others.spread, others.others), (None, None, Some(0.43)));
        assert_eq!(others.to_string(), "Other processes used 43 % of the machine.");
        let json = |noise| serde_json::to_string(&Noisy::from(noise)).unwrap();
        assert_eq!(json(None), "false");
        let read = |text| serde_json::from_str::<Noisy>(text).ok().map(|noisy| noisy.0);
        assert_eq!([read("false"), read("null"), read("1")], [Some(None), Some(None), None]);
        assert_eq!(read("\"Only 1 run.\""), Some(Some("Only 1 run.".to_owned())));
        let one = Noise::of(&series(&[2.0]), Some(0.5));
        assert_eq!(json(one), "\"Only 1 run, other processes used 50 % of the machine.\"");
        let of = |samples: &[f64], others| Noise::of(&series(samples), others);
        let rows = [
            ("copy, r=7".to_owned(), None),
            ("naive, r=7".to_owned(), of(&[9.0; 3], Some(0.2))),
            ("flat, r=7".to_owned(), of(&[1.0, 1.0, 1.0, 1.0, 3.0], Some(0.6))),
        ];
        assert_eq!(
            summary(&rows).unwrap(),
            "2 of 3 rows are noisy: other processes used up to 60 % of the machine; \
             p95 is up to 3.0 times p50 (flat, r=7); naive, r=7 ran only 3 times."
        );
        assert_eq!(summary(&rows[..1]), None);
    }

    #[test]
    fn numbers_keep_three_digits_or_those_that_the_interval_of_their_median_allows() {
        let values = [701.4, 3.2, 0.0351, 12.34, 9.996, 1234.5, 0.0];
        assert_eq!(values.map(number), ["701", "3.20", "0.0351", "12.3", "10.0", "1,234", "0"]);
        let of = |samples: &[f64]| Precision::of(&series(samples), None);
        let (few, far) = (of(&[1.0; 3]), of(&[1.0, 1.0, 1.0, 1.0, 3.0]));
        let good = of(&[1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 1.006, 1.006, 1.006, 1.1]);
        assert_eq!(believed(267.4, &[good, Precision::from(None)]), "267");
        assert_eq!(believed(267.4, &[good, few]), "~270");
        let wide = of(&[18.0, 19.0, 19.5, 20.0, 22.0, 23.0, 24.0]);
        assert_eq!(believed(20.4, &[good, wide]), "20", "18 to 24, which is no noise");
        assert_eq!(believed(1234.6, &[wide]), "1,200");
        // 40 runs of which three were disturbed: the mark, and all digits of the median.
        let disturbed: Vec<f64> =
            (0..40).map(|n| if n > 36 { 0.9 } else { 0.41 + 1e-4 * f64::from(n) }).collect();
        assert_eq!(believed(0.412, &[of(&disturbed)]), "~0.412");
        assert_eq!(believed(267.4, &[far, few]), "~300");
        assert_eq!(believed(0.0351, &[far]), "~0.04");
        assert_eq!([believed(0.96, &[far]), believed(9.96, &[few])], ["~1", "~10"]);
        assert_eq!(believed(15_271.0, &[few]), "~15,000");
    }
}
