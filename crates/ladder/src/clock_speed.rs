//! The speed of the device's clock during the timed rounds of a case, and how much it changed: times at different speeds are not
//! comparable.

use base::device::Reading;
use base::numbers::thousands;
use opencl::clock_speed::ClockReader;

/// The number of parts into which the timed rounds are divided; the mean clock speeds of the parts are compared, as NVBench
/// does.
const QUARTERS: usize = 4;
/// The largest difference of the mean clock speeds of two quarters of the rounds, relative to the faster one, at which the
/// clock counts as steady.
const STEADY: f64 = 0.05;

/// The speed of a device's clock while a case was timed, in MHz.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockSpeed {
    /// The mean of all readings of the speed.
    pub mean: f64,
    /// The highest speed at which the device's clock can run; `None` if it is not known.
    pub limit: Option<f64>,
    /// The mean speeds in the slowest and in the fastest quarter of the timed rounds; `None` if there are fewer than four
    /// readings of the speed.
    pub quarters: Option<(f64, f64)>,
    /// The reasons that the device's driver gives for slowing the clock down, each once; empty if it was not slowed down.
    pub throttle: Vec<String>,
    /// The frequency governor of the CPU's clock; `None` for other devices.
    pub governor: Option<String>,
}

impl ClockSpeed {
    /// Computes the speed from `readings`, which `reader` made during the timed rounds and which are in the order of the
    /// rounds.
    ///
    /// # Errors
    /// Returns the reason why the speed is not known, as a sentence; for example, that the device's clock cannot be read.
    pub(super) fn new(reader: &Result<ClockReader, String>, readings: &[Reading]) -> Result<Self, String> {
        let reader = reader.as_ref().map_err(Clone::clone)?;
        if readings.is_empty() {
            return Err("No speed was shown while this was timed.".to_owned());
        }
        let mean = |part: &[Reading]| part.iter().map(|one| one.mhz).sum::<f64>() / part.len() as f64;
        let at = |quarter: usize| quarter * readings.len() / QUARTERS;
        let quarters = (readings.len() >= QUARTERS).then(|| {
            let means = (0..QUARTERS).map(|quarter| mean(&readings[at(quarter)..at(quarter + 1)]));
            means.fold((f64::INFINITY, 0.0), |(min, max), mean| (mean.min(min), mean.max(max)))
        });
        let mut throttle: Vec<String> = Vec::new();
        for reason in readings.iter().flat_map(|reading| &reading.throttle) {
            if !throttle.contains(reason) {
                throttle.push(reason.clone());
            }
        }
        let (limit, governor) = (reader.limit_mhz, reader.governor.clone());
        Ok(Self { mean: mean(readings), limit, quarters, throttle, governor })
    }

    /// Returns the difference between the mean speeds in the fastest and the slowest quarter of the rounds, relative to the
    /// faster one; `None` if it is not larger than 5 %, or not known.
    pub fn change(&self) -> Option<f64> {
        let (min, max) = self.quarters?;
        Some((max - min) / max).filter(|change| *change > STEADY)
    }

    /// Returns the reasons why the clock was slowed down as one text; `None` if there are none.
    pub fn throttled(&self) -> Option<String> {
        (!self.throttle.is_empty()).then(|| self.throttle.join(", "))
    }

    /// Returns lines of text for the user: the speed of the clock, and a warning if it changed.
    pub fn notes(&self) -> Vec<String> {
        let mut line = format!("clock {} MHz", thousands(self.mean));
        line += &self.limit.map(|limit| format!(" of {}", thousands(limit))).unwrap_or_default();
        line += &self.governor.as_ref().map(|governor| format!("; governor {governor}")).unwrap_or_default();
        line += &self.throttled().map(|reasons| format!("; slowed down: {reasons}")).unwrap_or_default();
        let change = self.change().zip(self.quarters).map(|(change, (min, max))| {
            format!(
                "The clock changed by {:.0} % while this was timed ({} to {} MHz): times are noisy.",
                100.0 * change,
                thousands(min),
                thousands(max)
            )
        });
        [line].into_iter().chain(change).collect()
    }
}
