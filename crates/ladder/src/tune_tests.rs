//! A search over kernels that are made up: what is tried, what is timed, what decides.

use std::cell::{Cell, RefCell};

use super::*;
use crate::judge::GoOn;
use crate::made::{MADE, Made, OTHER, config};
use crate::measure::Sample;
use base::verify::MismatchReport;

/// What a configuration does.
#[derive(Clone, Copy)]
struct Does {
    predicted_ms: f64,
    /// The times of its runs; the last stands for all that follow.
    runs_ms: &'static [f64],
    /// The step at which it fails or differs.
    wrong: &'static str,
}

const RIGHT: Does = Does { predicted_ms: 1.0, runs_ms: &[1.0], wrong: "" };

/// A judge of kernels that are made up, which keeps what it was asked.
struct Fake<'a> {
    device: DeviceInfo,
    does: fn(&str, u32, u32) -> Does,
    asked: &'a RefCell<Vec<String>>,
}

struct Ready {
    name: String,
    does: Does,
    runs: Cell<usize>,
}

impl Fake<'_> {
    fn step(&self, step: &str, name: &str) {
        self.asked.borrow_mut().push(format!("{step} {name}"));
    }

    /// Whether it is right at this step.
    fn report(&self, step: &str, ready: &Ready) -> Option<MismatchReport> {
        self.step(step, &ready.name);
        let differs = MismatchReport { count: 1, total: 1, ..MismatchReport::default() };
        (ready.does.wrong == step).then_some(differs)
    }
}

impl Judge for Fake<'_> {
    type Code = Made;
    type Ready = Ready;
    type Limit = ();

    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn try_apart(&mut self, rung: &'static str, config: &Config<Made>, _: f64) -> Option<Status> {
        let does = (self.does)(rung, config.get("A"), config.get("B"));
        (does.wrong == "apart").then(|| Status::Failed("apart".to_owned()))
    }

    fn build(&mut self, rung: &'static str, config: &Config<Made>, _: &mut Option<f64>) -> Result<Ready> {
        let [a, b, c] = ["A", "B", "C"].map(|name| config.get(name));
        let (does, name) = ((self.does)(rung, a, b), format!("{rung} {a} {b} {c}"));
        self.step("build", &name);
        match does.wrong {
            "build" => Err(Error::new("No.", "", "")),
            _ => Ok(Ready { name, does, runs: Cell::new(0) }),
        }
    }

    fn first_look(&mut self, ready: &Ready) -> Result<Option<MismatchReport>> {
        Ok(self.report("look", ready))
    }

    fn predict(&mut self, ready: &Ready) -> Result<f64> {
        self.step("predict", &ready.name);
        Ok(ready.does.predicted_ms)
    }

    fn check(
        &mut self,
        ready: &Ready,
        _: f64,
        _: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        go_on()?;
        Ok(self.report("check", ready))
    }

    fn first_run(&mut self, ready: &Ready) -> Result<std::result::Result<Sample, MismatchReport>> {
        match self.report("first", ready) {
            Some(report) => Ok(Err(report)),
            None => self.run(ready).map(Ok),
        }
    }

    fn run(&self, ready: &Ready) -> Result<Sample> {
        self.step("run", &ready.name);
        let n = ready.runs.replace(ready.runs.get() + 1);
        if ready.does.wrong == "finals" && n >= ROUNDS as usize {
            return Err(Error::new("It fails in its turns.", "", ""));
        }
        let ms = ready.does.runs_ms[n.min(ready.does.runs_ms.len() - 1)];
        Ok(Sample { device_ms: Some(ms), dispatch_ms: None, wall_ms: 9.0 })
    }

    fn limit(&mut self) -> Result<Option<()>> {
        Ok(Some(()))
    }

    fn run_limit(&self, (): &()) -> Result<Sample> {
        Ok(Sample { device_ms: Some(0.25), dispatch_ms: None, wall_ms: 9.0 })
    }
}

/// Ends the search after so many trials.
struct Until(usize, usize);

impl Watch<Made> for Until {
    fn next(&mut self, _: &'static str, _: &Config<Made>, trials: &[Trial<Made>]) {
        self.1 = trials.len();
    }

    fn may_go_on(&mut self) -> bool {
        self.1 < self.0
    }
}

fn rungs() -> Rungs<Made> {
    vec![("one", config(&MADE, 1, 8)), ("two", config(&OTHER, 1, 8))]
}

/// What a search gives, and what the judge was asked.
fn searched(does: fn(&str, u32, u32) -> Does) -> (Search<Made>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let fake = Fake { device: DeviceInfo::made_up(), does, asked: &asked };
    let found = search(fake, rungs(), &mut Until(usize::MAX, 0)).unwrap().unwrap();
    (found, asked.into_inner())
}

fn trial<'a>(search: &'a Search<Made>, name: &str) -> &'a Trial<Made> {
    let named = |t: &&Trial<Made>| format!("{} {}", t.rung, t.config) == name;
    search.trials.iter().find(named).unwrap_or_else(|| panic!("{name} was not tried"))
}

#[test]
fn the_minimum_scores_a_trial_and_the_median_of_turns_decides() {
    // One of the runs of `one` was lucky; from the second on it is the slower one.
    let (found, _) = searched(|rung, _, _| match rung {
        "one" => Does { runs_ms: &[1.0, 4.0], ..RIGHT },
        _ => Does { runs_ms: &[2.0], ..RIGHT },
    });
    let one = trial(&found, "one A=1 B=8 C=1");
    assert_eq!((one.ms(), one.median_ms), (Some(1.0), Some(4.0)));
    assert_eq!(best(&found.trials).map(|(t, ms)| (t.rung, ms)), Some(("two", 2.0)));
    assert_eq!(found.limit.map(|limit| limit.time.p50), Some(0.25));
    // Before the end the minimum is all that is known.
    let so_far: Vec<_> = found.trials.iter().map(|t| Trial { median_ms: None, ..t.clone() }).collect();
    assert_eq!(best(&so_far).map(|(t, ms)| (t.rung, ms)), Some(("one", 1.0)));
    // The cache is given one of each rung, by its median.
    let class = Class::of("made", "small");
    let entries = found.entries(&DeviceInfo::made_up(), &class).unwrap();
    let entries = serde_json::to_value(entries).unwrap();
    let kept: Vec<_> = entries.as_array().unwrap().iter().map(|e| (&e["variant"], &e["ms"])).collect();
    assert_eq!(kept, [(&"one".into(), &4.0.into()), (&"two".into(), &2.0.into())]);
    assert_eq!((&entries[0]["ladder"], &entries[0]["class"]), (&"made".into(), &"small".into()));
}

#[test]
fn what_fails_in_its_turns_has_no_time_and_where_all_do_the_search_fails() {
    let (found, _) = searched(|rung, _, _| match rung {
        "one" => Does { wrong: "finals", ..RIGHT },
        _ => Does { runs_ms: &[2.0], ..RIGHT },
    });
    let failed = found.trials.iter().filter(|t| matches!(t.status, Status::Failed(_)));
    assert_eq!(failed.map(|t| (t.rung, t.median_ms)).collect::<Vec<_>>(), [("one", None)]);
    assert_eq!(best(&found.trials).map(|(t, _)| t.rung), Some("two"));
    let asked = RefCell::new(Vec::new());
    let does = |_: &str, _, _| Does { wrong: "finals", ..RIGHT };
    let fake = Fake { device: DeviceInfo::made_up(), does, asked: &asked };
    assert!(search(fake, rungs(), &mut Until(usize::MAX, 0)).is_err());
}

#[test]
fn each_parameter_is_varied_and_the_map_goes_round_the_best_and_nothing_is_tried_twice() {
    let (found, asked) = searched(|rung, a, b| match (rung, a, b) {
        ("two", 2, 32) => Does { runs_ms: &[1.0], ..RIGHT },
        ("two", ..) => Does { runs_ms: &[2.0], ..RIGHT },
        _ => Does { runs_ms: &[2.5], ..RIGHT },
    });
    let names = |step: &str| -> Vec<String> {
        asked.iter().filter_map(|line| line.strip_prefix(step)).map(str::to_owned).collect()
    };
    let (built, mut once) = (names("build "), names("build "));
    once.sort();
    once.dedup();
    assert_eq!(once.len(), built.len(), "{built:?}");
    assert_eq!(built.len(), found.trials.len());
    // What is best only together is found in the map alone.
    assert_eq!(built[..6], ["one 1 8 1", "one 2 8 1", "one 1 16 1", "one 1 32 1", "one 1 64 1", "one 1 8 2"]);
    assert_eq!(best(&found.trials).map(|(t, _)| t.config.to_string()).as_deref(), Some("A=2 B=32 C=1"));
    for b in [8, 16, 32, 64] {
        for a in [1, 2] {
            assert!(trial(&found, &format!("two A={a} B={b} C=1")).ms().is_some());
        }
    }
    assert!(built.iter().all(|name| !name.starts_with("two 4 ")), "the device does not allow it");
    assert!(found.trials.len() <= most_trials(&rungs()));
    assert_eq!(most_trials(&rungs()), 2 * (1 + 3 + 4 + 2) + 3 * 4);
}

#[test]
fn what_is_predicted_to_be_slow_is_abandoned_before_it_is_checked_and_timed() {
    let (found, asked) = searched(|_, a, b| match (a, b) {
        (2, 8) => Does { predicted_ms: 40.0, ..RIGHT },
        (1, 16) => Does { predicted_ms: 60.0, ..RIGHT },
        // Not three times as long.
        (1, 32) => Does { predicted_ms: 3.0, ..RIGHT },
        _ => RIGHT,
    });
    for (name, ms, predictions) in [("2 8 1", 40.0, 2), ("1 16 1", 60.0, 1)] {
        let about: Vec<_> = asked.iter().filter(|line| line.ends_with(&format!("one {name}"))).collect();
        let steps: Vec<_> = about.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(steps, [&["build", "look"][..], &["predict"].repeat(predictions)].concat(), "{name}");
        let [a, b, c]: [&str; 3] = name.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let trial = trial(&found, &format!("one A={a} B={b} C={c}"));
        assert!(matches!(trial.status, Status::Abandoned(predicted) if predicted == ms), "{trial:?}");
        assert!(trial.ms().is_none() && trial.median_ms.is_none());
    }
    assert!(trial(&found, "one A=1 B=32 C=1").ms().is_some());
}

#[test]
fn a_rung_whose_first_trial_is_abandoned_is_left() {
    let (found, _) = searched(|rung, _, _| match rung {
        "one" => RIGHT,
        _ => Does { predicted_ms: 99.0, ..RIGHT },
    });
    assert_eq!(found.trials.iter().filter(|t| t.rung == "two").count(), 1);
    assert_eq!(found.trials.iter().filter(|t| t.median_ms.is_some()).count(), 1);
}

#[test]
fn what_differs_or_fails_is_never_timed_and_the_others_are() {
    for (wrong, word) in [("look", "m"), ("check", "m"), ("first", "m"), ("build", "f"), ("apart", "f")] {
        // A function without surroundings is asked for, so each is written down.
        let does: fn(&str, u32, u32) -> Does = match wrong {
            "look" => |_, a, _| if a == 1 { Does { wrong: "look", ..RIGHT } } else { RIGHT },
            "check" => |_, a, _| if a == 1 { Does { wrong: "check", ..RIGHT } } else { RIGHT },
            "first" => |_, a, _| if a == 1 { Does { wrong: "first", ..RIGHT } } else { RIGHT },
            "build" => |_, a, _| if a == 1 { Does { wrong: "build", ..RIGHT } } else { RIGHT },
            _ => |_, a, _| if a == 1 { Does { wrong: "apart", ..RIGHT } } else { RIGHT },
        };
        let (found, asked) = searched(does);
        assert!(asked.iter().any(|line| line.starts_with("run one 2 ")), "{wrong}");
        assert!(!asked.iter().any(|line| line.starts_with("run one 1 ")), "{wrong}");
        let first = trial(&found, "one A=1 B=8 C=1");
        assert!(first.ms().is_none() && first.median_ms.is_none(), "{wrong}");
        let is = match first.status {
            Status::Mismatch(_) => "m",
            Status::Failed(_) => "f",
            _ => "",
        };
        assert_eq!(is, word, "{wrong}");
        assert_eq!(best(&found.trials).map(|(t, _)| t.config.get("A")), Some(2), "{wrong}");
    }
    let (found, _) = searched(|_, _, _| Does { wrong: "check", ..RIGHT });
    assert!(best(&found.trials).is_none() && found.limit.is_some());
}

#[test]
fn the_watch_ends_a_search_before_the_next_work_for_the_device() {
    let asked = RefCell::new(Vec::new());
    let fake = Fake { device: DeviceInfo::made_up(), does: |_, _, _| RIGHT, asked: &asked };
    assert!(search(fake, rungs(), &mut Until(3, 0)).unwrap().is_none());
    assert_eq!(asked.borrow().iter().filter(|line| line.starts_with("build")).count(), 4);
    let last = asked.borrow().last().cloned();
    assert_eq!(last.as_deref(), Some("build one 1 32 1"), "nothing runs after that");
}
