//! Which times can be believed. In: the statistics of a row of times, and what other processes used meanwhile. Out:
//! nothing, or a [`Noise`] that says what disturbed it. `bench`, `tune` and the window share this one rule.
//!
//! A row is noisy where its 95th percentile is more than one and a half times its median, where it has fewer than five
//! samples, or where other processes used more than a tenth of the machine while it was measured.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Series;

/// The fewest samples that say something about each other.
pub const FEWEST: usize = 5;
/// The most that the 95th percentile of a quiet row is of its median.
const SPREAD: f64 = 1.5;
/// The most of the machine that other processes use beside a quiet row.
const OTHERS: f64 = 0.1;
/// Significant digits of what is quiet.
const DIGITS: usize = 3;

/// Why a row of times is noisy; at least one of the reasons is there.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// So few samples.
    pub few: Option<usize>,
    /// The 95th percentile as a multiple of the median.
    pub spread: Option<f64>,
    /// The part of the machine that other processes used, 0 to 1.
    pub others: Option<f64>,
    /// Whether not even a second digit can be believed: the samples lie too far from each other.
    far_apart: bool,
}

impl Noise {
    /// The rule. `others` is the part of the machine that other processes used meanwhile, 0 to 1, where that is known.
    pub fn of(series: &Series, others: Option<f64>) -> Option<Self> {
        Self::between((series.min, series.p50, series.p95), series.n, others)
    }

    /// The same of `n` samples' minimum, median and 95th percentile.
    pub fn between((min, p50, p95): (f64, f64, f64), n: usize, others: Option<f64>) -> Option<Self> {
        let noise = Self {
            few: Some(n).filter(|n| *n < FEWEST),
            spread: Some(p95 / p50).filter(|_| p95 > SPREAD * p50),
            others: others.filter(|part| *part > OTHERS),
            far_apart: p95 - min > 0.1 * p50,
        };
        (noise.few.is_some() || noise.spread.is_some() || noise.others.is_some()).then_some(noise)
    }

    /// The same of intervals that a clock sets, such as those between frames: they lie about a median that is true.
    pub fn of_paced(self) -> Self {
        Self { far_apart: false, ..self }
    }

    /// What remains of the row's numbers: two significant digits, or one where the samples lie further apart than a
    /// tenth.
    pub fn digits(&self) -> usize {
        if self.far_apart { 1 } else { 2 }
    }
}

/// A number above 0 in so many significant digits, and how many decimals that has.
pub fn significant(value: f64, digits: usize) -> (f64, usize) {
    let last = digits as i32 - 1;
    let decimals = |value: f64| last - value.abs().log10().floor() as i32;
    // Rounding may add a digit, as from 9.96 to 10.0.
    let scale = 10f64.powi(decimals(value));
    let value = (value * scale).round() / scale;
    (value, decimals(value).clamp(0, 6) as usize)
}

/// The significant digits of a number that rests on rows of such noise.
pub(crate) fn digits(noise: &[Option<Noise>]) -> usize {
    noise.iter().flatten().map(Noise::digits).min().unwrap_or(DIGITS)
}

/// So many significant digits, so that 0.035 and 701 read equally well.
fn rounded(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let (value, decimals) = significant(value, digits);
    format!("{value:.decimals$}")
}

/// Three significant digits.
pub fn number(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { rounded(value, 3) }
}

/// A number that rests on rows of such noise: all its digits, or a mark and those that can be believed.
pub fn believed(value: f64, noise: &[Option<Noise>]) -> String {
    match noise.iter().all(Option::is_none) {
        true => number(value),
        false => format!("~{}", rounded(value, digits(noise))),
    }
}

/// One sentence.
impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = |n| if n == 1 { "Only 1 run".to_owned() } else { format!("Only {n} runs") };
        let parts = [
            self.few.map(runs),
            self.spread.map(|times| format!("p95 is {times:.1} times p50")),
            self.others.map(|part| format!("other processes used {:.0} % of the machine", 100.0 * part)),
        ];
        let sentence = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let mut letters = sentence.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase()).unwrap_or_default();
        write!(f, "{first}{}.", letters.as_str())
    }
}

/// In JSON: `false`, or the sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noisy(pub Option<Noise>);

impl Serialize for Noisy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            None => serializer.serialize_bool(false),
            Some(noise) => serializer.collect_str(noise),
        }
    }
}

/// One sentence for all rows of a run, each with its name and its noise: how many are noisy, and the worst of each
/// reason. `None` where none is.
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
    // The fewest are the greatest of the negative ones.
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
    fn a_quiet_row_keeps_its_digits() {
        let quiet = series(&[1.0, 1.01, 1.02, 1.0, 1.4]);
        assert_eq!(Noise::of(&quiet, Some(0.1)), None);
        assert_eq!(Noise::of(&quiet, None), None);
        assert_eq!(digits(&[None, None]), 3);
    }

    #[test]
    fn each_reason_alone_makes_a_row_noisy() {
        let few = Noise::of(&series(&[1.0, 1.0, 1.01, 1.0]), None).unwrap();
        assert_eq!((few.few, few.spread, few.others), (Some(4), None, None));
        assert_eq!((few.to_string().as_str(), few.digits()), ("Only 4 runs.", 2));
        let spread = Noise::of(&series(&[1.0, 1.0, 1.0, 1.0, 1.6]), Some(0.02)).unwrap();
        assert_eq!((spread.few, spread.spread, spread.others), (None, Some(1.6), None));
        assert_eq!((spread.to_string().as_str(), spread.digits()), ("P95 is 1.6 times p50.", 1));
        let others = Noise::of(&series(&[1.0; 5]), Some(0.43)).unwrap();
        assert_eq!((others.few, others.spread, others.others), (None, None, Some(0.43)));
        assert_eq!(others.to_string(), "Other processes used 43 % of the machine.");
        // What rests on two rows has the digits of the worse one.
        assert_eq!(digits(&[Some(few), None, Some(spread)]), 1);
        assert_eq!(digits(&[Some(few), None]), 2);
    }

    #[test]
    fn json_has_false_or_the_sentence() {
        let json = |noise| serde_json::to_string(&Noisy(noise)).unwrap();
        assert_eq!(json(None), "false");
        let one = Noise::of(&series(&[2.0]), Some(0.5));
        assert_eq!(json(one), "\"Only 1 run, other processes used 50 % of the machine.\"");
    }

    #[test]
    fn the_summary_names_the_worst_of_each_reason() {
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
    fn numbers_keep_three_digits() {
        let values = [701.4, 3.2, 0.0351, 12.34, 9.996, 1234.5, 0.0];
        assert_eq!(values.map(number), ["701", "3.20", "0.0351", "12.3", "10.0", "1234", "0"]);
    }

    #[test]
    fn noisy_numbers_keep_the_digits_that_can_be_believed() {
        let of = |samples: &[f64]| Noise::of(&series(samples), None);
        let (few, far) = (of(&[1.0; 3]), of(&[1.0, 1.0, 1.0, 1.0, 1.0, 3.0]));
        assert_eq!(believed(267.4, &[None, None]), "267");
        assert_eq!(believed(267.4, &[None, few]), "~270");
        assert_eq!(believed(267.4, &[far, few]), "~300");
        assert_eq!(believed(0.0351, &[far]), "~0.04");
        assert_eq!([believed(0.96, &[far]), believed(9.96, &[few])], ["~1", "~10"]);
        assert_eq!(believed(15_271.0, &[few]), "~15000");
    }
}
