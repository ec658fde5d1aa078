//! Tests of searches over the kernels of a fake ladder.

use super::*;
use crate::fake::{
    Behaviour, CORRECT, FIRST_CODE, FakeCode, FakeLadder, LARGE_CASE, SECOND_CODE, TIMED_CASE, config, device,
};
use compute::trial::Child;

/// An observer that stops a search after some trials: the maximum number of trials, and the number of trials so far.
struct TrialLimit(usize, usize);

impl SearchObserver<FakeCode> for TrialLimit {
    fn begin_trial(&mut self, _: &'static str, _: &Config<FakeCode>, trials: &[Trial<FakeCode>]) {
        self.1 = trials.len();
    }

    fn may_continue(&mut self) -> bool {
        self.1 < self.0
    }
}

fn variants() -> InitialConfigs<FakeCode> {
    vec![("one", config(&FIRST_CODE, 1, 8)), ("two", config(&SECOND_CODE, 1, 8))]
}

/// Searches with fake variants; returns the result, and the recorded calls of the ladder.
fn try_search(
    behaviour: fn(&str, u32, u32) -> Behaviour,
    case: u32,
    max_trials: usize,
) -> (Result<Option<Search<FakeCode>>>, Vec<String>) {
    let (ladder, device) = (FakeLadder::<false>::new(behaviour), device());
    let mut child = Child::new("made", None);
    let runner = LadderRunner::new(&ladder, Some(&device), Sources::default(), &mut child);
    let found = search(&runner, &case, variants(), &mut TrialLimit(max_trials, 0));
    drop(runner);
    (found, ladder.calls.take())
}

fn search_all(behaviour: fn(&str, u32, u32) -> Behaviour) -> (Search<FakeCode>, Vec<String>) {
    let (found, calls) = try_search(behaviour, TIMED_CASE, usize::MAX);
    (found.unwrap().unwrap(), calls)
}

fn trial<'a>(search: &'a Search<FakeCode>, name: &str) -> &'a Trial<FakeCode> {
    let named = |t: &&Trial<FakeCode>| format!("{} {}", t.variant, t.config) == name;
    search.trials.iter().find(named).unwrap_or_else(|| panic!("{name} was not tried"))
}

#[test]
fn the_minimum_scores_a_trial_and_the_median_of_turns_decides() {
    // One of the first runs of `one` was fast by chance; in all later ones it is the slower variant.
    let (found, _) = search_all(|variant, _, _| match variant {
        "one" => Behaviour { runs_ms: &[1.0, 1.0, 4.0], ..CORRECT },
        _ => Behaviour { runs_ms: &[2.0], ..CORRECT },
    });
    let one = trial(&found, "one A=1 B=8 C=1");
    assert_eq!((one.ms(), one.median_ms), (Some(1.0), Some(4.0)));
    assert_eq!(best(&found.trials).map(|(t, ms)| (t.variant, ms)), Some(("two", 2.0)));
    assert_eq!(found.peak.as_ref().map(|peak| peak.time.p50), Some(1.0));
    // Before the final runs only the minimum is known.
    let so_far: Vec<_> = found.trials.iter().map(|t| Trial { median_ms: None, ..t.clone() }).collect();
    assert_eq!(best(&so_far).map(|(t, ms)| (t.variant, ms)), Some(("one", 1.0)));
    // The cache gets one entry for each variant, with its median.
    let class = Class::new("made", "small");
    let entries = found.entries(&DeviceInfo::made_up(), &class).unwrap();
    let entries = serde_json::to_value(entries).unwrap();
    let kept: Vec<_> = entries.as_array().unwrap().iter().map(|e| (&e["variant"], &e["ms"])).collect();
    assert_eq!(kept, [(&"one".into(), &4.0.into()), (&"two".into(), &2.0.into())]);
    assert_eq!((&entries[0]["ladder"], &entries[0]["class"]), (&"made".into(), &"small".into()));
}

#[test]
fn a_failing_finalist_has_no_time_and_without_any_the_search_fails() {
    let (found, _) = search_all(|variant, _, _| match variant {
        "one" => Behaviour { runs: 1 + ROUNDS as usize, ..CORRECT },
        _ => Behaviour { runs_ms: &[2.0], ..CORRECT },
    });
    let failed = found.trials.iter().filter(|t| matches!(t.status, Status::Failed(_)));
    assert_eq!(failed.map(|t| (t.variant, t.median_ms)).collect::<Vec<_>>(), [("one", None)]);
    assert_eq!(best(&found.trials).map(|(t, _)| t.variant), Some("two"));
    let behaviour = |_: &str, _, _| Behaviour { runs: 1 + ROUNDS as usize, ..CORRECT };
    assert!(try_search(behaviour, TIMED_CASE, usize::MAX).0.is_err());
}

#[test]
fn parameters_are_varied_and_then_the_grid_around_the_best() {
    let (found, calls) = search_all(|variant, a, b| match (variant, a, b) {
        ("two", 2, 32) => Behaviour { runs_ms: &[1.0], ..CORRECT },
        ("two", ..) => Behaviour { runs_ms: &[2.0], ..CORRECT },
        _ => Behaviour { runs_ms: &[2.5], ..CORRECT },
    });
    let names = |step: &str| -> Vec<String> {
        let named = calls.iter().filter_map(|line| line.strip_prefix(step));
        named.filter(|name| *name != "peak").map(str::to_owned).collect()
    };
    let (built, mut once) = (names("build "), names("build "));
    once.sort();
    once.dedup();
    assert_eq!(once.len(), built.len(), "{built:?}");
    assert_eq!(built.len(), found.trials.len());
    // Values that are good only together are found only by the search of pairs.
    assert_eq!(built[..6], ["one 1 8 1", "one 2 8 1", "one 1 16 1", "one 1 32 1", "one 1 64 1", "one 1 8 2"]);
    assert_eq!(best(&found.trials).map(|(t, _)| t.config.to_string()).as_deref(), Some("A=2 B=32 C=1"));
    for b in [8, 16, 32, 64] {
        for a in [1, 2] {
            assert!(trial(&found, &format!("two A={a} B={b} C=1")).ms().is_some());
        }
    }
    assert!(built.iter().all(|name| !name.starts_with("two 4 ")), "the device does not allow it");
    assert!(found.trials.len() <= max_trials(&variants()));
    assert_eq!(max_trials(&variants()), 2 * (1 + 3 + 4 + 2) + 3 * 4);
}

#[test]
fn slow_predictions_are_abandoned_before_checks() {
    let (found, calls) = search_all(|_, a, b| match (a, b) {
        (2, 8) => Behaviour { runs_ms: &[40.0], ..CORRECT },
        (1, 16) => Behaviour { runs_ms: &[60.0], ..CORRECT },
        // Less than three times as long.
        (1, 32) => Behaviour { runs_ms: &[3.0], ..CORRECT },
        _ => CORRECT,
    });
    for (name, ms, predictions) in [("2 8 1", 40.0, 2), ("1 16 1", 60.0, 1)] {
        let about: Vec<_> = calls.iter().filter(|line| line.ends_with(&format!("one {name}"))).collect();
        let steps: Vec<_> = about.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(steps, [&["build", "look"][..], &["run"].repeat(predictions)].concat(), "{name}");
        let [a, b, c]: [&str; 3] = name.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let trial = trial(&found, &format!("one A={a} B={b} C={c}"));
        assert!(matches!(trial.status, Status::Abandoned(predicted) if predicted == ms), "{trial:?}");
        assert!(trial.ms().is_none() && trial.median_ms.is_none());
    }
    assert!(trial(&found, "one A=1 B=32 C=1").ms().is_some());
}

#[test]
fn a_variant_whose_first_trial_is_abandoned_is_dropped() {
    let (found, _) = search_all(|variant, _, _| match variant {
        "one" => CORRECT,
        _ => Behaviour { runs_ms: &[99.0], ..CORRECT },
    });
    assert_eq!(found.trials.iter().filter(|t| t.variant == "two").count(), 1);
    assert_eq!(found.trials.iter().filter(|t| t.median_ms.is_some()).count(), 1);
}

#[test]
fn wrong_configurations_are_never_timed() {
    for (wrong, word) in [("look", "m"), ("check", "m"), ("run", "m"), ("build", "f")] {
        // The type is a function pointer: a closure cannot capture the step.
        let behaviour: fn(&str, u32, u32) -> Behaviour = match wrong {
            "look" => |_, a, _| if a == 1 { Behaviour { wrong: "look", ..CORRECT } } else { CORRECT },
            "check" => |_, a, _| if a == 1 { Behaviour { wrong: "check", ..CORRECT } } else { CORRECT },
            "run" => |_, a, _| if a == 1 { Behaviour { wrong: "run", ..CORRECT } } else { CORRECT },
            _ => |_, a, _| if a == 1 { Behaviour { wrong: "build", ..CORRECT } } else { CORRECT },
        };
        let (found, calls) = search_all(behaviour);
        assert!(calls.iter().any(|line| line.starts_with("run one 2 ")), "{wrong}");
        // One run predicts the time, and one is compared.
        let most = usize::from(wrong == "check") + 2 * usize::from(wrong == "run");
        assert_eq!(calls.iter().filter(|line| *line == "run one 1 8 1").count(), most, "{wrong}");
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
    let (found, _) = search_all(|_, _, _| Behaviour { wrong: "check", ..CORRECT });
    assert!(best(&found.trials).is_none() && found.peak.is_some());
}

#[test]
fn the_observer_stops_a_search_before_the_next_run() {
    let (found, calls) = try_search(|_, _, _| CORRECT, TIMED_CASE, 3);
    assert!(found.unwrap().is_none());
    assert_eq!(calls.iter().filter(|line| line.starts_with("build one")).count(), 4);
    let last = calls.last().cloned();
    assert_eq!(last.as_deref(), Some("build one 1 32 1"), "nothing runs after that");
}

#[test]
fn a_configuration_that_smaller_cases_predict_to_be_slow_never_runs_at_full_size() {
    let slow = |_: &str, a, _| if a == 2 { Behaviour { runs_ms: &[40.0], ..CORRECT } } else { CORRECT };
    let (found, calls) = try_search(slow, LARGE_CASE, usize::MAX);
    let found = found.unwrap().unwrap();
    let trial = trial(&found, "one A=2 B=8 C=1");
    assert!(matches!(trial.status, Status::Abandoned(predicted) if predicted == 40_000.0), "{trial:?}");
    let steps = |name: &str| -> Vec<&str> {
        let of_name = calls.iter().filter_map(|call| call.split_once(' ')).filter(|(_, of)| *of == name);
        of_name.map(|(step, _)| step).collect()
    };
    assert_eq!(steps("one 2 8 1"), ["build", "look", "smaller", "smaller"]);
    // A prediction of a second is made once more by a run.
    assert_eq!(steps("one 1 8 1")[..5], ["build", "look", "smaller", "smaller", "run"]);
}

/// Returns the name of the configuration that is kept for `auto`, and the sentence that says why.
fn kept(found: &Search<FakeCode>) -> (String, String) {
    let kept: Vec<_> = found.trials.iter().filter(|t| t.is_kept).map(Trial::name).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(best(&found.trials).map(|(t, _)| t.name()), kept.first().cloned());
    // `auto` uses the same configuration.
    let entries = found.entries(&DeviceInfo::made_up(), &Class::new("made", "small")).unwrap();
    let entries = serde_json::to_value(entries).unwrap();
    let marked: Vec<_> = entries.as_array().unwrap().iter().filter(|entry| entry["kept"] == true).collect();
    assert!(marked.len() == 1 && kept[0].starts_with(marked[0]["variant"].as_str().unwrap()), "{entries}");
    (kept[0].clone(), found.choice_text().unwrap())
}

#[test]
fn a_tie_is_broken_for_the_default_and_a_faster_configuration_is_kept() {
    // A lucky run makes it the best trial, and in turns it is 1 ‰ faster in half of the rounds.
    let (tie, _) = search_all(|variant, _, b| match (variant, b) {
        ("one", 32) => Behaviour { runs_ms: &[0.9, 1.0], ..CORRECT },
        ("two", _) => Behaviour { runs_ms: &[2.0], ..CORRECT },
        _ => CORRECT,
    });
    // The default of the variant that is likely the fastest is preferred to another variant, too.
    let (other, _) = search_all(|variant, _, _| match variant {
        "two" => Behaviour { runs_ms: &[0.9, 1.0], ..CORRECT },
        _ => CORRECT,
    });
    for found in [tie, other] {
        let (name, text) = kept(&found);
        assert!(name == "one A=1 B=8 C=1" && text.starts_with("one A=1 B=8 C=1 is kept"), "{text}");
    }
    let (faster, _) = search_all(|variant, _, b| match (variant, b) {
        ("one", 32) => Behaviour { runs_ms: &[0.5], ..CORRECT },
        ("two", _) => Behaviour { runs_ms: &[2.0], ..CORRECT },
        _ => CORRECT,
    });
    let (name, text) = kept(&faster);
    assert_eq!(name, "one A=1 B=32 C=1");
    assert!(text.contains("2.00× faster") && text.contains("the default, one A=1 B=8 C=1"), "{text}");
}

#[test]
fn the_choice_says_what_it_was_compared_with() {
    let sample = |ms: f64| Sample { device_ms: Some(ms), dispatch_ms: None, wall_ms: ms };
    let times = |factor: f64, n: usize| {
        let all: Vec<_> = (0..n).map(|round| sample(factor * (1.0 + 0.1 * (round % 3) as f64))).collect();
        Measurement::from_samples(&all).unwrap()
    };
    let (found, _) = search_all(|_, _, _| CORRECT);
    let choice =
        |one: Measurement, other: Measurement| choose(&found.trials, &[(0, one), (1, other)]).unwrap();
    // In turns with the default, which is the first trial.
    assert!(matches!(choice(times(1.0, 40), times(0.999, 40)).other, Some((0, Some(Verdict::Faster(_))))));
    let noisy: Vec<_> = (0..40).map(|round| sample(if round % 2 == 0 { 0.9 } else { 1.25 })).collect();
    let tie = choice(times(1.0, 40), Measurement::from_samples(&noisy).unwrap());
    assert!(tie.kept == 0, "{tie:?}");
    assert!(matches!(tie.other, Some((1, Some(Verdict::NoDifferenceShown { .. })))), "{tie:?}");
    // Too few rounds for a verdict.
    let few = choice(times(1.0, 5), times(0.5, 5));
    assert!(few.kept == 1 && matches!(few.other, Some((0, None))), "{few:?}");
}
