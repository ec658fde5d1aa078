//! The period of a series, from its autocorrelation.

/// The maximum number of values that are correlated, since the time is quadratic. In a longer series, successive values are
/// averaged. None are skipped, since a series of every second value has other periods.
const MAX_VALUES: usize = 2048;
/// The minimum correlation of a series with itself one period later.
const MIN_CORRELATION: f64 = 0.5;
/// The minimum correlation of a series with itself one period later, as a multiple of the standard deviation of the correlation
/// of independent values.
const MIN_DEVIATIONS: f64 = 3.0;
/// The correlation below which a series does not resemble the series shifted by a lag. A period is at least as long as the
/// first lag with a lower correlation.
const UNLIKE: f64 = 0.2;
/// The number of partial sums in which products are accumulated, so that the compiler can use vectors.
const LANES: usize = 16;

/// Returns the period of a series as a number of values: the shortest lag after which the series repeats, at most half its
/// length. `None` if the series does not repeat. The period of more than [`MAX_VALUES`] values is not exact.
pub(super) fn of(values: &[f64]) -> Option<usize> {
    let merged = values.len().div_ceil(MAX_VALUES).max(1);
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    let mut values: Vec<f64> = values.chunks_exact(merged).map(mean).collect();
    let all = mean(&values);
    values.iter_mut().for_each(|value| *value -= all);
    let n = values.len();
    let longest = n / 2;
    let scale = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if scale.is_nan() || scale <= 0.0 {
        return None;
    }
    let scaled: Vec<f32> = values.iter().map(|value| (value / scale) as f32).collect();
    let mut sums = vec![0.0];
    sums.extend(scaled.iter().scan(0.0, |sum, value| {
        *sum += f64::from(*value).powi(2);
        Some(*sum)
    }));
    let correlation = |lag: usize| {
        let norm = (sums[n - lag] * (sums[n] - sums[lag])).sqrt();
        if norm > 0.0 { f64::from(product(&scaled[..n - lag], &scaled[lag..])) / norm } else { 0.0 }
    };
    // Two thirds of the length, since what repeats after a third repeats after two.
    let correlations: Vec<f64> = (0..=2 * n / 3).map(correlation).collect();
    let alike = |lag: usize| {
        if 3 * lag <= n { correlations[lag].min(correlations[2 * lag]) } else { correlations[lag] }
    };
    let first = (1..=longest).find(|lag| correlations[*lag] < UNLIKE)?;
    let is_period =
        |lag: &usize| alike(*lag) >= MIN_CORRELATION.max(MIN_DEVIATIONS / ((n - lag) as f64).sqrt());
    let best = (first..=longest).filter(is_period).map(alike).fold(0.0, f64::max);
    if best <= 0.0 {
        return None;
    }
    // A multiple of the period may be better by chance.
    let enough = (0.8 * best).min(best - 2.0 / (n as f64).sqrt());
    let begin = (first..=longest).find(|lag| alike(*lag) >= enough)?;
    (begin..=longest.min(begin + begin / 4))
        .max_by(|a, b| f64::total_cmp(&alike(*a), &alike(*b)).then(b.cmp(a)))
        .map(|period| period * merged)
}

/// Returns the sum of the products of two slices of the same length.
fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = chunks_a.remainder().iter().zip(chunks_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in chunks_a.zip(chunks_b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}
