//! The sound of painted pictures: a short tone each second, to check by eye and ear that sound and pictures are in sync.

use super::Samples;

/// Seconds between the beginnings of two ticks; the first one is at the movie's beginning.
pub const TICK_INTERVAL_S: f64 = 1.0;
/// The length of a tick in seconds.
pub const TICK_S: f64 = 0.08;
const TONE_HZ: f64 = 1000.0;
const AMPLITUDE: f64 = 0.5;
/// The duration in seconds of the fade at both ends of a tick, so that it does not click.
const RAMP_S: f64 = 0.002;
/// The number of parts in which a second of samples is returned.
const PARTS_PER_S: u32 = 50;

/// Generates the samples of the ticks.
pub(super) struct Ticks {
    rate: u32,
    /// The index of the next sample, from the movie's beginning.
    next: i64,
}

impl Ticks {
    pub(super) fn new(rate: u32) -> Self {
        Self { rate, next: 0 }
    }

    /// Moves to the position `movie_ns` of the movie; always returns true.
    pub(super) fn seek(&mut self, movie_ns: i64) -> bool {
        self.next = (i128::from(movie_ns.max(0)) * i128::from(self.rate) / 1_000_000_000) as i64;
        true
    }

    /// Returns the next samples, 1/[`PARTS_PER_S`] of a second.
    pub(super) fn read(&mut self) -> Samples {
        let first = self.next;
        self.next += i64::from(self.rate / PARTS_PER_S);
        let rate = f64::from(self.rate);
        Samples {
            movie_ns: (first as f64 * 1e9 / rate).round() as i64,
            data: (first..self.next).map(|index| [sample(index as f64 / rate); 2]).collect(),
        }
    }
}

/// Returns the sample of the ticks at `at_s` seconds from the movie's beginning.
fn sample(at_s: f64) -> f32 {
    let in_tick = at_s.rem_euclid(TICK_INTERVAL_S);
    if in_tick >= TICK_S {
        return 0.0;
    }
    let ramp = (in_tick / RAMP_S).min((TICK_S - in_tick) / RAMP_S).min(1.0);
    (AMPLITUDE * ramp * (in_tick * TONE_HZ * std::f64::consts::TAU).sin()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_begins_at_each_second() {
        let mut ticks = Ticks::new(48_000);
        ticks.seek(2_990_000_000);
        let samples = ticks.read();
        assert_eq!((samples.movie_ns, samples.data.len()), (2_990_000_000, 960));
        let first = samples.data.iter().position(|sample| sample[0] != 0.0);
        assert_eq!(first, Some(481), "the tone begins with a zero at 480");
        assert_eq!(ticks.read().movie_ns, 3_010_000_000);
    }
}
