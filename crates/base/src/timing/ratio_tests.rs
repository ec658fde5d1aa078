//! Tests of [`Ratio`] and [`Verdict`]: known intervals, texts, and the rates of false and of missed verdicts.

use super::super::ranks::{MAX_EXACT, PRINTED};
use super::*;
use crate::random::Xorshift;

/// Returns the probability that the interval of these ranks contains the median of `n` samples.
fn coverage(n: usize, (low, high): (usize, usize)) -> f64 {
    // The number of samples below the median is between `low` + 1 and `high`.
    let mut probability = 0.5f64.powi(n as i32);
    let mut sum = 0.0;
    for k in 0..=n {
        if (low + 1..=high).contains(&k) {
            sum += probability;
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    sum
}

#[test]
fn intervals_of_the_median_have_their_confidence_and_are_no_longer_than_needed() {
    // Counted from 1, as in printed tables.
    let ranks = |n, confidence| median_ranks(n, confidence).map(|(low, high)| (low + 1, high + 1));
    assert_eq!(
        [6, 10, 30, 70].map(|n| ranks(n, PRINTED)),
        [Some((1, 6)), Some((2, 9)), Some((10, 21)), Some((27, 44))]
    );
    assert_eq!([8, 10, 30].map(|n| ranks(n, VERDICT)), [Some((1, 8)), Some((1, 10)), Some((8, 23))]);
    assert_eq!((median_ranks(5, PRINTED), median_ranks(MIN_SAMPLES - 1, VERDICT)), (None, None));
    assert_eq!((median_ranks(0, PRINTED), median_ranks(1, VERDICT)), (None, None));
    for n in MIN_SAMPLES..=MAX_EXACT {
        let (low, high) = median_ranks(n, VERDICT).unwrap();
        assert!(coverage(n, (low, high)) >= 0.99, "{n}");
        assert!(high - low < 2 || coverage(n, (low + 1, high - 1)) < 0.99, "{n}: it is too long");
    }
    let ((low, _), (next, last)) =
        (median_ranks(MAX_EXACT, VERDICT).unwrap(), median_ranks(MAX_EXACT + 1, VERDICT).unwrap());
    assert!(
        low.abs_diff(next) <= 2 && next + last == MAX_EXACT,
        "the approximation continues the exact ranks"
    );
}

#[test]
fn verdicts_as_text() {
    let text = |low, estimate, high| Ratio { low, estimate, high }.verdict().to_string();
    assert_eq!(text(1.268, 1.32, 1.357), "1.32× faster, 1.27 to 1.36");
    assert_eq!(text(1.0 / 5.5, 1.0 / 5.03, 1.0 / 4.6), "5.0× slower, 4.6 to 5.5");
    assert_eq!(text(0.181, 0.2, 0.24), "5× slower, 4 to 6");
    assert_eq!(text(0.99, 1.0, 1.022), "no difference shown (below 3 %)");
    assert_eq!(text(0.97, 1.0, 1.0), "no difference shown (below 4 %)");
    assert_eq!(text(0.9995, 1.0, 1.0042), "no difference shown (below 0.5 %)");
    assert_eq!(text(1.0, 1.0, 1.0), "no difference shown (below 0.1 %)");
    assert_eq!(text(0.9906, 1.0, 1.0), "no difference shown (below 1 %)");
    assert_eq!(text(0.5, 1.0, 3.0), "no difference shown (below 200 %)");
    assert_eq!(text(1.004, 1.005, 1.006), "1.005× faster, 1.004 to 1.006");
    assert_eq!(text(1.1, 1.1, 1.1), "1.10× faster, 1.10 to 1.10");
    let slower = Ratio { low: 0.85, estimate: 0.9, high: 0.95 }.verdict();
    assert_eq!(slower.short(), "1.1× slower");
    assert_eq!([5.0, 5.3, -1.0].map(|percent| slower.is_slower_by(percent)), [true, false, true]);
    assert_eq!(Ratio { low: 290.0, estimate: 301.4, high: 311.0 }.to_string(), "301×, 290 to 311");
}

#[test]
fn samples_that_are_no_times_are_left_out() {
    let times = [1.0, 2.0, 1.5, 1.2, 1.1, 1.3, 1.4, 1.6];
    let faster = times.map(|ms| ms / 2.0);
    let ratio = Ratio::of_pairs(&times, &faster).unwrap();
    assert_eq!((ratio.low, ratio.high), (2.0, 2.0));
    for junk in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let with = |times: &[f64]| [times, &[junk]].concat();
        assert_eq!(Ratio::of_pairs(&with(&times), &[&faster[..], &[1.0]].concat()), Some(ratio), "{junk}");
        assert_eq!(Ratio::of_pairs(&with(&times[1..]), &with(&faster[1..])), None, "{junk}");
        assert_eq!(Ratio::of_runs(&with(&times), &faster), Ratio::of_runs(&times, &faster), "{junk}");
        assert_eq!(Ratio::of_runs(&with(&times[1..]), &faster), Err((0, NoInterval::TooFew)), "{junk}");
    }
    assert_eq!(
        (Ratio::of_pairs(&[], &[]), Ratio::of_runs(&[], &[]).ok(), of_medians(&[], &[])),
        (None, None, None)
    );
    for control in [2.0, 0.5] {
        let wide = ratio.widened_by(control);
        assert_eq!((wide.low, wide.estimate, wide.high), (1.0, ratio.estimate, 4.0));
    }
}

/// A generator of times as on a busy machine. A slow drift changes the times of all tasks, each time has noise of its own, and
/// another process slows some of them down.
struct NoisyMachine {
    random: Xorshift,
    drift: f64,
}

impl NoisyMachine {
    fn new(seed: u32) -> Self {
        Self { random: Xorshift::new(seed), drift: 0.0 }
    }

    /// Returns the times of two tasks that run in turns in `rounds` rounds; each takes the given milliseconds on an idle machine.
    fn run(&mut self, rounds: usize, ms: [f64; 2]) -> [Vec<f64>; 2] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            self.drift = 0.9 * self.drift + 0.05 * self.random.normal();
            for (times, ms) in times.iter_mut().zip(ms) {
                let other =
                    if self.random.uniform() < 0.15 { 1.2 + 2.0 * self.random.uniform() } else { 1.0 };
                let own = 0.04 * self.random.normal();
                times.push(ms * other * (self.drift + own).exp());
            }
        }
        times
    }
}

/// The number of comparisons in each of the following tests.
const COMPARISONS: u32 = 200;

#[test]
fn the_window_names_what_a_verdict_is_against_and_says_what_is_too_noisy() {
    let of = |low, estimate, high| Ratio { low, estimate, high }.verdict();
    let faster = of(1.27, 1.32, 1.36);
    assert_eq!(faster.text_against("version 4"), "1.32× faster than version 4, 1.27 to 1.36");
    assert_eq!(faster.words(), "1.32× faster");
    let same = of(0.98, 1.0, 1.025);
    assert_eq!(same.text_against("version 4"), "no difference shown against version 4 (below 3 %)");
    assert_eq!(same.words(), "no difference shown (below 3 %)");
    let noisy = of(0.5, 1.3, 10.715);
    assert_eq!(noisy.text_against("version 4"), "too noisy to tell from version 4: the times vary too much");
    assert_eq!(noisy.words(), "too noisy to tell: the times vary too much");
    assert_eq!(noisy.to_string(), "no difference shown (below 972 %)", "as `clreel compare` prints it");
}

/// Returns how many of the comparisons of two tasks have a verdict that `is` counts.
fn count(rounds: usize, ms: [f64; 2], is: impl Fn(Verdict) -> bool) -> usize {
    let verdict = |seed: u32| {
        let [before, after] = NoisyMachine::new(seed).run(rounds, ms);
        Ratio::of_pairs(&before, &after).unwrap().verdict()
    };
    (1..=COMPARISONS).filter(|seed| is(verdict(*seed * 7919))).count()
}

#[test]
fn equal_tasks_are_rarely_told_apart_and_five_percent_are_found_with_two_hundred_rounds() {
    let is_false = |verdict| !matches!(verdict, Verdict::NoDifferenceShown { .. });
    for rounds in [8, 30, 100, 1000] {
        let found = count(rounds, [10.0, 10.0], is_false);
        assert!(found <= 10, "{found} of {COMPARISONS} with {rounds} rounds");
    }
    for (ms, is_slower) in [([10.0, 10.5], true), ([10.5, 10.0], false)] {
        let is_right = |verdict| match verdict {
            Verdict::Slower(_) => is_slower,
            Verdict::Faster(_) => !is_slower,
            Verdict::NoDifferenceShown { .. } => false,
        };
        let found = count(200, ms, is_right);
        assert!(found >= 190, "{found} of {COMPARISONS}");
        let few = count(8, ms, is_right);
        assert!(few < 100, "{few}: the test would find no difference between numbers of rounds");
    }
}
