//! The search over the parameters of kernels. In: a first configuration, and a way to time one. Out: the fastest that was
//! tried.

use crate::gpu::cl::DeviceInfo;
use crate::ladder::config::{Config, Tunable};

/// Varies one parameter after the other and keeps the best value of each: coordinate descent, a few trials instead of all
/// combinations. `time` gives the milliseconds of a configuration, or `None` for one that is wrong or cannot run. `None` when
/// that is so of all.
pub fn descend<C: Tunable>(
    first: Config<C>,
    device: &DeviceInfo,
    mut time: impl FnMut(&Config<C>) -> Option<f64>,
) -> Option<(Config<C>, f64)> {
    let mut tried: Vec<(Config<C>, Option<f64>)> = Vec::new();
    let mut attempt = |config: Config<C>, tried: &mut Vec<(Config<C>, Option<f64>)>| {
        if tried.iter().all(|(known, _)| *known != config) && config.is_allowed(device) {
            let ms = time(&config);
            tried.push((config, ms));
        }
    };
    let best = |tried: &[(Config<C>, Option<f64>)]| {
        let timed = tried.iter().filter_map(|(config, ms)| Some((config.clone(), (*ms)?)));
        timed.min_by(|a, b| f64::total_cmp(&a.1, &b.1))
    };
    let mut base = first.clone();
    attempt(first, &mut tried);
    for param in base.code().params() {
        for &value in param.values {
            attempt(base.clone().with(param.name, value), &mut tried);
        }
        base = best(&tried).map_or(base, |(config, _)| config);
    }
    best(&tried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::cl::DeviceKind;
    use crate::ladder::config::Param;

    #[derive(Debug)]
    struct Made;

    impl Tunable for Made {
        fn file(&self) -> &'static str {
            "made.cl"
        }

        fn params(&self) -> &'static [Param] {
            &[
                Param { name: "A", cpu: 1, gpu: 1, values: &[1, 2, 4] },
                Param { name: "B", cpu: 8, gpu: 8, values: &[8, 16, 32] },
            ]
        }

        fn groups(&self, config: &Config<Self>) -> Vec<usize> {
            vec![config.get("B") as usize]
        }

        fn allows(&self, config: &Config<Self>, _: &DeviceInfo) -> bool {
            config.get("A") != 4
        }
    }

    #[test]
    fn each_parameter_keeps_its_best_value_and_nothing_is_tried_twice() {
        static MADE: Made = Made;
        let mut tried = Vec::new();
        let found = descend(Config::of(&MADE, DeviceKind::Cpu), &DeviceInfo::made_up(), |config| {
            tried.push(config.to_string());
            // The default is wrong, and 32 the slowest.
            match (config.get("A"), config.get("B")) {
                (1, 8) => None,
                (a, b) => Some(f64::from(a * 10) + f64::from(b.abs_diff(16))),
            }
        });
        assert_eq!(found.map(|(config, ms)| (config.to_string(), ms)), Some(("A=2 B=16".to_owned(), 20.0)));
        assert_eq!(tried, ["A=1 B=8", "A=2 B=8", "A=2 B=16", "A=2 B=32"]);
        assert!(descend(Config::of(&MADE, DeviceKind::Cpu), &DeviceInfo::made_up(), |_| None).is_none());
    }
}
