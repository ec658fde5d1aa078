//! Tests of [`Ratio::of_runs`]: how often runs of equal times are told apart, and runs of different ones are not, by models of what
//! makes successive times depend on each other.

use super::*;
use crate::random::{Xorshift, mix};
use crate::timing::{Ratio, Verdict};

fn seeded(seed: u32) -> Xorshift {
    Xorshift::new(seed.wrapping_mul(7919))
}

/// A model of the times of a run, in milliseconds.
#[derive(Debug, Clone, Copy)]
enum Model {
    /// Independent times; 15 % of them are 1.2 to 3.2 times as long.
    Independent,
    /// Times that follow an autoregressive process with this coefficient.
    Autoregressive(f64),
    /// Times that repeat a pattern with this period, with noise of this size; each run begins anywhere in it.
    Periodic(usize, f64),
    /// The first half of each period takes 1.3 times as long, with noise of this size.
    Alternating(usize, f64),
    /// Two levels, 1.2 times apart, with this probability of a change from one time to the next.
    Switching(f64),
    /// Noise of twelve octaves with the same energy each, so that slower changes are larger, as where other programs come and go.
    Octaves,
}

impl Model {
    fn run(self, n: usize, numbers: &mut Xorshift) -> Vec<f64> {
        let offset = numbers.draw() as usize;
        let mut state = numbers.normal();
        let mut octaves: Vec<f64> = (0..12).map(|_| numbers.normal()).collect();
        let mut log = |at: usize| match self {
            Model::Independent => {
                let other = if numbers.uniform() < 0.15 { (1.2 + 2.0 * numbers.uniform()).ln() } else { 0.0 };
                other + 0.04 * numbers.normal()
            }
            Model::Autoregressive(factor) => {
                state = factor * state + (1.0 - factor * factor).sqrt() * numbers.normal();
                0.05 * state
            }
            Model::Periodic(period, noise) => {
                let mut pattern = seeded(1 + (period + (at + offset) % period * 1000) as u32);
                pattern.uniform();
                0.3 * pattern.uniform() + noise * numbers.normal()
            }
            Model::Alternating(period, noise) => {
                let is_slow = (at + offset) % period < period / 2;
                f64::from(u8::from(is_slow)) * 1.3f64.ln() + noise * numbers.normal()
            }
            Model::Switching(probability) => {
                if numbers.uniform() < probability {
                    state = -state;
                }
                0.1 * state.signum() + 0.02 * numbers.normal()
            }
            Model::Octaves => {
                for (octave, value) in octaves.iter_mut().enumerate() {
                    if numbers.uniform() < 0.5f64.powi(octave as i32) {
                        *value = numbers.normal();
                    }
                }
                0.01 * octaves.iter().sum::<f64>() + 0.03 * numbers.normal()
            }
        };
        (0..n).map(|at| 10.0 * log(at).exp()).collect()
    }
}

/// The number of comparisons of each model.
const COMPARISONS: u32 = 100;

/// Returns how many comparisons of two runs of `n` times tell them apart, and how many find the second one slower if it takes 1.1
/// times as long.
fn rates(model: Model, n: usize) -> (usize, usize) {
    let mut numbers = seeded(n as u32);
    let (mut wrong, mut found) = (0, 0);
    for _ in 0..COMPARISONS {
        let [before, after] = [(); 2].map(|()| model.run(n, &mut numbers));
        let slower: Vec<f64> = after.iter().map(|ms| 1.1 * ms).collect();
        let verdict = |after: &[f64]| Ratio::of_runs(&before, after).ok().map(Ratio::verdict);
        wrong += usize::from(matches!(verdict(&after), Some(Verdict::Faster(_) | Verdict::Slower(_))));
        found += usize::from(matches!(verdict(&slower), Some(Verdict::Slower(_))));
    }
    (wrong, found)
}

#[test]
fn equal_runs_are_rarely_told_apart_and_ten_percent_are_found_in_ten_seconds() {
    let mut models = vec![Model::Independent, Model::Switching(0.3), Model::Switching(0.05), Model::Octaves];
    models.extend([0.5, 0.8, 0.9, 0.95].map(Model::Autoregressive));
    for period in [2, 3, 7, 25, 50] {
        models.extend([0.0, 0.01, 0.05].map(|noise| Model::Periodic(period, noise)));
        models.extend([0.0, 0.02].map(|noise| Model::Alternating(period, noise)));
    }
    for model in models {
        for n in [250, 1001] {
            let (wrong, _) = rates(model, n);
            assert!(wrong <= 4, "{model:?}, {n} samples: {wrong} of {COMPARISONS}");
        }
    }
    let models =
        [Model::Independent, Model::Autoregressive(0.5), Model::Periodic(2, 0.01), Model::Periodic(25, 0.01)];
    for model in models {
        let (_, found) = rates(model, 250);
        assert!(found >= 85, "{model:?}: {found} of {COMPARISONS}");
    }
}

/// All times of a long run count. If every second one of 4,000 alternating times were skipped, the rest would be of one buffer.
#[test]
fn long_runs_are_not_thinned_out() {
    for model in [Model::Alternating(2, 0.0), Model::Periodic(25, 0.0)] {
        let mut numbers = seeded(1);
        let [before, after] = [(); 2].map(|()| model.run(4000, &mut numbers));
        let ratio = Ratio::of_runs(&before, &after).unwrap();
        assert!((ratio.estimate - 1.0).abs() < 1e-9, "{model:?}: {ratio}");
        assert!(matches!(ratio.verdict(), Verdict::NoDifferenceShown { .. }), "{model:?}: {ratio}");
    }
}

#[test]
fn a_period_beyond_an_eighth_of_the_run_is_named_and_what_does_not_repeat_has_none() {
    let mut numbers = seeded(3);
    let steady = vec![10.0; 4000];
    for (n, period) in [(100, 13), (100, 50), (200, 30), (390, 50), (1000, 130), (1000, 400), (4000, 1000)] {
        for model in [Model::Periodic(period, 0.01), Model::Alternating(period, 0.01)] {
            let times = model.run(n, &mut numbers);
            let named = match Ratio::of_runs(&steady, &times) {
                Err((1, NoInterval::LongPeriod { period, samples })) if samples == n => period,
                other => panic!("{model:?}, {n} samples: {other:?}"),
            };
            assert!(named.abs_diff(period) <= 1 + period / 50, "{model:?}, {n} samples: {named}");
            assert!(matches!(Ratio::of_runs(&times, &steady), Err((0, _))), "{model:?}");
        }
    }
    // Eight periods are enough.
    for model in [Model::Periodic(50, 0.01), Model::Alternating(50, 0.01)] {
        let times = model.run(400, &mut numbers);
        assert!(Ratio::of_runs(&steady, &times).is_ok(), "{model:?}");
    }
    let models = [
        Model::Independent,
        Model::Autoregressive(0.5),
        Model::Autoregressive(0.95),
        Model::Switching(0.05),
        Model::Octaves,
    ];
    for model in models {
        for n in [8, 20, 60, 250, 1000] {
            let mut numbers = seeded(n as u32);
            let has_period = |_: &u32| {
                let logs: Vec<f64> = model.run(n, &mut numbers).iter().map(|ms| ms.ln()).collect();
                matches!(RunMedian::of(&logs), Err(NoInterval::LongPeriod { .. }))
            };
            let named = (0..COMPARISONS).filter(has_period).count();
            assert!(named <= 15, "{model:?}, {n} samples: {named} of {COMPARISONS}");
        }
    }
}

/// Returns the width of the interval of a run's median, as a logarithm.
fn width(model: Model, n: usize) -> f64 {
    let mut numbers = seeded(5);
    let logs: Vec<f64> = model.run(n, &mut numbers).iter().map(|ms| ms.ln()).collect();
    let RunMedian { low, high, .. } = RunMedian::of(&logs).unwrap();
    high - low
}

#[test]
fn slow_changes_make_an_interval_wider_and_more_samples_narrower() {
    assert!(width(Model::Independent, 4000) < width(Model::Independent, 250));
    let [slow, fast] = [0.95, 0.0].map(|factor| width(Model::Autoregressive(factor), 250));
    assert!(slow > 2.0 * fast, "{slow}, {fast}");
    // Constant times have an interval, too.
    assert_eq!(RunMedian::of(&[1.0; 300]).map(|median| (median.low, median.high)).ok(), Some((1.0, 1.0)));
}

#[test]
fn periods_are_the_smallest_ones() {
    for period in 2..=50 {
        for n in [8 * period, 1000, 1999, 2047, 2049, 5000] {
            // The first value of each period is larger, so that no shorter period is nearly one.
            let first = |at: usize| if at.is_multiple_of(period) { 2000.0 } else { 0.0 };
            let pattern = |at: usize| first(at) + f64::from(mix((at % period) as u32) % 1000);
            let values: Vec<f64> = (0..n.max(16)).map(pattern).collect();
            // Above 2,048 values the means of several are compared.
            let found = period::of(&values);
            assert!(found.is_none_or(|found| n > 2048 || found == period), "{period}, {n}: {found:?}");
            assert!(found.is_none_or(|found| found * 8 <= n.max(16)), "{period}, {n}: {found:?}");
        }
    }
}
