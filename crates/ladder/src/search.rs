//! Coordinate descent over the parameters of kernels: a search that varies one parameter after the other.

use base::device::DeviceInfo;
use compute::config::{Config, Tunable};

/// The largest ratio of a configuration's predicted time to the time of the best configuration so far. Configurations with a
/// larger ratio are not timed.
pub(crate) const MAX_RATIO_TO_BEST: f64 = 3.0;

/// The result of measuring a configuration in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TrialResult {
    /// The output equals the reference. The value is the time in milliseconds.
    Time(f64),
    /// The output differs, the run is too slow, or the kernels fail.
    NoTime,
    /// The configuration has no time, and no further parameter values of this variant should be measured.
    Stop,
}

/// Finds good parameter values by coordinate descent: varies one parameter after the other and keeps the best value of each,
/// which takes few measurements instead of all combinations. `attempt` measures a configuration. `first` is always measured,
/// other configurations only if the device allows them. Returns the best configuration and its time in milliseconds; `None` if
/// no configuration has a time.
///
/// # Errors
/// Returns the error of `attempt`, which ends the search.
pub(crate) fn coordinate_descent<C: Tunable, E>(
    first: Config<C>,
    device: &DeviceInfo,
    mut attempt: impl FnMut(&Config<C>) -> Result<TrialResult, E>,
) -> Result<Option<(Config<C>, f64)>, E> {
    let best = |tried: &[(Config<C>, Option<f64>)]| {
        let timed = tried.iter().filter_map(|(config, ms)| Some((config.clone(), (*ms)?)));
        timed.min_by(|a, b| f64::total_cmp(&a.1, &b.1))
    };
    let mut tried: Vec<(Config<C>, Option<f64>)> = Vec::new();
    let mut base = first.clone();
    match attempt(&first)? {
        TrialResult::Time(ms) => tried.push((first, Some(ms))),
        TrialResult::NoTime => tried.push((first, None)),
        TrialResult::Stop => return Ok(None),
    }
    for param in base.code().params() {
        for &value in param.values {
            let config = base.clone().with(param.name, value);
            if tried.iter().any(|(known, _)| *known == config) || !config.is_allowed(device) {
                continue;
            }
            let ms = match attempt(&config)? {
                TrialResult::Time(ms) => Some(ms),
                TrialResult::NoTime => None,
                TrialResult::Stop => return Ok(best(&tried)),
            };
            tried.push((config, ms));
        }
        base = best(&tried).map_or(base, |(config, _)| config);
    }
    Ok(best(&tried))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FIRST_CODE, FakeCode, config};

    /// Returns the best configuration with its time, and all configurations that were measured.
    fn search(mut attempt: impl FnMut(u32, u32) -> TrialResult) -> (Option<String>, Vec<String>) {
        let mut tried = Vec::new();
        let found = coordinate_descent(
            config(&FIRST_CODE, 1, 8),
            &DeviceInfo::made_up(),
            |config: &Config<FakeCode>| {
                tried.push(["A", "B", "C"].map(|name| config.get(name).to_string()).join(" "));
                Ok::<_, std::convert::Infallible>(attempt(config.get("A"), config.get("B")))
            },
        );
        (found.unwrap().map(|(config, ms)| format!("{config}: {ms}")), tried)
    }

    #[test]
    fn each_parameter_keeps_its_best_value_and_nothing_is_tried_twice() {
        let (found, tried) = search(|a, b| match (a, b) {
            // The output of the default is wrong, and 64 is the slowest value.
            (1, 8) => TrialResult::NoTime,
            (a, b) => TrialResult::Time(f64::from(a * 10) + f64::from(b.abs_diff(16))),
        });
        assert_eq!(found.as_deref(), Some("A=2 B=16 C=1: 20"));
        assert_eq!(tried, ["1 8 1", "2 8 1", "2 16 1", "2 32 1", "2 64 1", "2 16 2"]);
        assert_eq!(search(|_, _| TrialResult::NoTime).0, None);
    }

    #[test]
    fn stop_and_an_error_end_the_search() {
        let (found, tried) = search(|_, _| TrialResult::Stop);
        assert_eq!((found, tried.len()), (None, 1));
        let (found, tried) =
            search(|_, b| if b == 16 { TrialResult::Stop } else { TrialResult::Time(f64::from(b)) });
        assert_eq!((found.as_deref(), tried.len()), (Some("A=1 B=8 C=1: 8"), 3));
        let mut calls = 0;
        let found = coordinate_descent(config(&FIRST_CODE, 1, 8), &DeviceInfo::made_up(), |_| {
            calls += 1;
            if calls == 2 { Err("no") } else { Ok(TrialResult::Time(1.0)) }
        });
        assert_eq!((found.err(), calls), (Some("no"), 2));
    }
}
