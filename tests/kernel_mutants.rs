//! Mutation testing of `clreel bench`: it reports a mutant of each kernel folder, and the tool detects survivors.
//! `./dev mutants` tries all mutants. Needs an OpenCL device, and fails without one.

use std::path::{Path, PathBuf};

use crate::common::*;
use crate::mutants;
use crate::mutants::files::{Mutant, mutants};
use crate::mutants::trial::{BenchResult, LIMIT, Tools, Verdict, WitnessResult};
use crate::mutants::{Args, is_good, line, quick, root, summary, try_all};
use clap::Parser;

/// The witness process of a trial; returns at once when it is run as a test.
#[test]
fn witness() {
    mutants::witness::run_if_requested(&root().join("kernels"));
}

fn tools(test: &str, clreel: &Path) -> Tools {
    let this = std::env::current_exe().unwrap();
    let witness =
        [this.as_os_str(), "kernel_mutants::witness".as_ref(), "--exact".as_ref()].map(Into::into).to_vec();
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutants-{test}"));
    mutants::tools(clreel.to_owned(), witness, work, COMPILED.into())
}

fn clreel() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_clreel"))
}

fn all() -> Vec<Mutant> {
    mutants(&root().join("kernels")).unwrap()
}

fn first(file: &str, changed: &str) -> Mutant {
    let is_it = |mutant: &Mutant| mutant.file.ends_with(file) && mutant.changed.contains(changed);
    all().into_iter().find(is_it).unwrap()
}

fn verdict(tools: &Tools, mutant: Mutant) -> Verdict {
    let args = Args::parse_from(["mutants", "--fresh"]);
    let tried = try_all(tools, &[mutant], &args, &|_, _| ()).unwrap();
    std::fs::remove_dir_all(&tools.work).unwrap();
    assert_eq!(is_good(&tried), matches!(tried[0].verdict, Verdict::Caught(_) | Verdict::Equal(_)));
    tried.into_iter().next().unwrap().verdict
}

#[test]
fn every_kernel_has_mutants() {
    let mutants: Vec<Mutant> = all().into_iter().filter(|mutant| mutant.is_selected).collect();
    assert!(mutants.len() >= 300, "{}", mutants.len());
    let folders = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap());
    for folder in folders.filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let (folder, file) = (folder.file_name(), file.unwrap().file_name());
            let name = format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy());
            // The result of a peak kernel is not used; tests/conformance.rs plants faults in conversions, and the tests
            // of the engine in the kernels that compare and measure pictures. The clock checks its result itself.
            let others = ["clock/", "conversions/", "difference/", "scopes/"];
            let elsewhere = others.iter().any(|folder| name.starts_with(folder));
            let is_kernel = name.ends_with(".cl") || name.ends_with(".clh");
            if !elsewhere && is_kernel && !name.ends_with("/limit.cl") {
                assert!(mutants.iter().filter(|mutant| mutant.file == name).count() >= 4, "{name}");
            }
        }
    }
    let operators = "argument, barrier, bound, call, clamp, component, constant, equality, factor, first item, index, logic, \
                     min and max, outside, pointer, rounding, saturation, shift, sign";
    for operator in operators.split(", ") {
        assert!(mutants.iter().any(|mutant| mutant.operator == operator), "{operator}");
    }
}

/// Tries one mutant of each folder of kernels. `./dev mutants --quick` tries one of each file, `./dev test --all` all.
#[test]
fn bench_reports_a_mutant_of_each_folder() {
    let tools = tools("quick", &clreel());
    let args = Args::parse_from(["mutants", "--fresh"]);
    let mut chosen = quick(&all());
    chosen.sort_by_key(folder);
    chosen.dedup_by_key(|mutant| folder(mutant));
    assert!(chosen.len() >= 8, "{}", chosen.len());
    let tried = try_all(&tools, &chosen, &args, &|_, _| ()).unwrap();
    let missed: Vec<_> = tried.iter().filter(|tried| !matches!(tried.verdict, Verdict::Caught(_))).collect();
    let lines: Vec<_> = missed.into_iter().map(line).collect();
    assert!(lines.is_empty(), "{}\n{}", summary(&tried), lines.join("\n"));
    std::fs::remove_dir_all(&tools.work).unwrap();
}

fn folder(mutant: &Mutant) -> &'static str {
    mutant.file.split_once('/').unwrap().0
}

#[test]
#[ignore = "makes every check three times: ./dev test --all"]
fn a_mutant_that_changes_no_case_must_be_marked_equal() {
    let tools = tools("equal", &clreel());
    let equal = first("03_flat.cl", "y - j");
    let Some(why) = equal.equal else { panic!("{equal:?}") };
    assert_eq!(verdict(&tools, equal.clone()), Verdict::Equal(why));
    assert_eq!(verdict(&tools, Mutant { equal: None, ..equal }), Verdict::Unseen);
    let other = Mutant { equal: Some("It is said to be."), ..first("03_flat.cl", "i < radius") };
    let Verdict::Broken(why) = verdict(&tools, other) else { panic!("it changes bytes") };
    assert!(why.contains("listed as equal"), "{why}");
}

#[test]
fn a_device_dependent_mutant_may_be_caught_or_equal() {
    let mutant = first("03_flat.cl", "i < radius");
    let (case, caught) =
        (WitnessResult::Case(0, "a case".to_owned()), BenchResult::Caught("somehow".to_owned()));
    let of = |by_device, seen: &WitnessResult, said: &BenchResult| {
        mutants::trial::verdict(&Mutant { equal: Some("a race"), by_device, ..mutant.clone() }, seen, said)
    };
    for seen in [&case, &WitnessResult::Nowhere] {
        assert_eq!(of(true, seen, &caught), Verdict::Caught("somehow".to_owned()));
        assert_eq!(of(true, seen, &BenchResult::Fine), Verdict::Equal("a race"));
    }
    assert!(matches!(of(false, &case, &caught), Verdict::Broken(_)));
    assert!(matches!(of(true, &case, &BenchResult::Broken("no".to_owned())), Verdict::Broken(_)));
}

#[test]
fn a_mutant_that_passes_bench_survives() {
    // This bench always passes.
    let tools = tools("blind", Path::new("/bin/true"));
    assert_eq!(verdict(&tools, first("03_flat.cl", "i < radius")), Verdict::Survives);
    let mutant = first("03_flat.cl", "i < radius");
    let text = mutant.text.replace("ushort4 sum = 0", "ushort4 sum = nothing");
    let Verdict::Broken(why) = verdict(&tools, Mutant { text, ..mutant }) else {
        panic!("it does not compile")
    };
    assert!(why.contains("does not build"), "{why}");
}

#[test]
fn a_trial_is_broken_if_the_original_kernels_fail() {
    // This bench always fails.
    let tools = tools("wrong", Path::new("/bin/false"));
    let Verdict::Broken(why) = verdict(&tools, first("03_flat.cl", "i < radius")) else {
        panic!("bench fails")
    };
    assert!(why.contains("as they are"), "{why}");
}

#[test]
#[ignore = "makes every check: ./dev test --all"]
fn the_original_kernels_pass_and_differ_in_no_case() {
    let tools = tools("control", &clreel());
    std::fs::create_dir_all(&tools.work).unwrap();
    assert_eq!(tools.run_witness(None), WitnessResult::Nowhere);
    let mutant = first("03_flat.cl", "i < radius");
    let case = mutants::witness::cases_of(&mutant)[0];
    assert_eq!(tools.bench(None, &case, "control", LIMIT), BenchResult::Fine);
    assert!(matches!(tools.bench(Some(&mutant), &case, "mutant", LIMIT), BenchResult::Caught(_)));
    std::fs::remove_dir_all(&tools.work).unwrap();
}
