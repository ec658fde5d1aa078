//! The search over the parameters of kernels. In: a first configuration, and a way to try one. Out: the fastest that was
//! tried.

use crate::config::{Config, Tunable};
use opencl::cl::DeviceInfo;

/// What came of trying a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Attempt {
    /// It is right, and took so many milliseconds.
    Timed(f64),
    /// It is wrong, too slow, or cannot run.
    Without,
    /// The same, and no other values are to be tried.
    GiveUp,
}

/// Varies one parameter after the other and keeps the best value of each: coordinate descent, a few trials instead of all
/// combinations. The first is tried in any case, of the others those that the device allows. `None` when none has a time.
///
/// # Errors
/// What `attempt` returns; it ends the search.
pub(crate) fn descend<C: Tunable, E>(
    first: Config<C>,
    device: &DeviceInfo,
    mut attempt: impl FnMut(&Config<C>) -> Result<Attempt, E>,
) -> Result<Option<(Config<C>, f64)>, E> {
    let best = |tried: &[(Config<C>, Option<f64>)]| {
        let timed = tried.iter().filter_map(|(config, ms)| Some((config.clone(), (*ms)?)));
        timed.min_by(|a, b| f64::total_cmp(&a.1, &b.1))
    };
    let mut tried: Vec<(Config<C>, Option<f64>)> = Vec::new();
    let mut base = first.clone();
    match attempt(&first)? {
        Attempt::Timed(ms) => tried.push((first, Some(ms))),
        Attempt::Without => tried.push((first, None)),
        Attempt::GiveUp => return Ok(None),
    }
    for param in base.code().params() {
        for &value in param.values {
            let config = base.clone().with(param.name, value);
            if tried.iter().any(|(known, _)| *known == config) || !config.is_allowed(device) {
                continue;
            }
            let ms = match attempt(&config)? {
                Attempt::Timed(ms) => Some(ms),
                Attempt::Without => None,
                Attempt::GiveUp => return Ok(best(&tried)),
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
    use crate::made::{MADE, Made, config};

    /// The fastest, and what was tried for it.
    fn search(mut attempt: impl FnMut(u32, u32) -> Attempt) -> (Option<String>, Vec<String>) {
        let mut tried = Vec::new();
        let found = descend(config(&MADE, 1, 8), &DeviceInfo::made_up(), |config: &Config<Made>| {
            tried.push(["A", "B", "C"].map(|name| config.get(name).to_string()).join(" "));
            Ok::<_, std::convert::Infallible>(attempt(config.get("A"), config.get("B")))
        });
        (found.unwrap().map(|(config, ms)| format!("{config}: {ms}")), tried)
    }

    #[test]
    fn each_parameter_keeps_its_best_value_and_nothing_is_tried_twice() {
        let (found, tried) = search(|a, b| match (a, b) {
            // The default is wrong, and 64 the slowest.
            (1, 8) => Attempt::Without,
            (a, b) => Attempt::Timed(f64::from(a * 10) + f64::from(b.abs_diff(16))),
        });
        assert_eq!(found.as_deref(), Some("A=2 B=16 C=1: 20"));
        assert_eq!(tried, ["1 8 1", "2 8 1", "2 16 1", "2 32 1", "2 64 1", "2 16 2"]);
        assert_eq!(search(|_, _| Attempt::Without).0, None);
    }

    #[test]
    fn what_gives_up_is_the_last_that_is_tried() {
        let (found, tried) = search(|_, _| Attempt::GiveUp);
        assert_eq!((found, tried.len()), (None, 1));
        let (found, tried) =
            search(|_, b| if b == 16 { Attempt::GiveUp } else { Attempt::Timed(f64::from(b)) });
        assert_eq!((found.as_deref(), tried.len()), (Some("A=1 B=8 C=1: 8"), 3));
    }

    #[test]
    fn an_error_ends_it() {
        let mut calls = 0;
        let found = descend(config(&MADE, 1, 8), &DeviceInfo::made_up(), |_| {
            calls += 1;
            if calls == 2 { Err("no") } else { Ok(Attempt::Timed(1.0)) }
        });
        assert_eq!((found.err(), calls), (Some("no"), 2));
    }
}
