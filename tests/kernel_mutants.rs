//! The verifier against changed kernels: `clreel bench` notices a mutant of each kernel file, and the tool that tries them
//! tells one that survives. `./dev mutants` tries them all. Needs an OpenCL device, and fails without one.

use std::path::{Path, PathBuf};

use crate::mutants;
use crate::mutants::rules::{Mutant, mutants};
use crate::mutants::trial::{LIMIT, Said, Seen, Tools, Verdict};
use crate::mutants::{Args, is_good, line, quick, root, summary, try_all};
use clap::Parser;

/// The part of the process that a trial starts; for anybody else it is nothing.
#[test]
fn witness() {
    mutants::witness::attend(&root().join("kernels"));
}

fn tools(test: &str, clreel: &Path) -> Tools {
    let this = std::env::current_exe().unwrap();
    let witness =
        [this.as_os_str(), "kernel_mutants::witness".as_ref(), "--exact".as_ref()].map(Into::into).to_vec();
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutants-{test}"));
    mutants::tools(clreel.to_owned(), witness, work)
}

fn clreel() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_clreel"))
}

fn all() -> Vec<Mutant> {
    mutants(&root().join("kernels")).unwrap()
}

fn first(file: &str, to: &str) -> Mutant {
    all().into_iter().find(|mutant| mutant.file.ends_with(file) && mutant.to == to).unwrap()
}

fn verdict(tools: &Tools, mutant: Mutant) -> Verdict {
    let args = Args::parse_from(["mutants", "--fresh"]);
    let tried = try_all(tools, &[mutant], &args, &|_, _| ()).unwrap();
    std::fs::remove_dir_all(&tools.work).unwrap();
    assert_eq!(is_good(&tried), matches!(tried[0].verdict, Verdict::Caught(_) | Verdict::Equal(_)));
    tried.into_iter().next().unwrap().verdict
}

#[test]
fn there_are_enough_and_every_kernel_has_some() {
    let mutants = all();
    assert!(mutants.len() >= 300, "{}", mutants.len());
    let folders = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap());
    for folder in folders.filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let (folder, file) = (folder.file_name(), file.unwrap().file_name());
            let name = format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy());
            // What a limit computes is nobody's result, tests/conformance.rs plants faults in conversions, and the engine's own
            // tests in what compares pictures and what measures them.
            let elsewhere =
                ["conversions/", "difference/", "scopes/"].iter().any(|folder| name.starts_with(folder));
            if !elsewhere && !name.ends_with(".md") && !name.ends_with("/limit.cl") {
                assert!(mutants.iter().filter(|mutant| mutant.file == name).count() >= 5, "{name}");
            }
        }
    }
    for rule in [
        "window",
        "clamp",
        "rounding",
        "scale",
        "channel",
        "alpha",
        "strip",
        "barrier",
        "band",
        "width",
        "last row",
        "radius range",
        "one pixel",
        "constant",
        "siting",
        "shift",
        "layout",
        "target",
        "outside",
        "size",
        "extreme",
    ] {
        assert!(mutants.iter().any(|mutant| mutant.rule == rule), "{rule}");
    }
}

#[test]
fn bench_notices_one_in_each_file() {
    let tools = tools("quick", &clreel());
    let args = Args::parse_from(["mutants", "--fresh"]);
    let mut chosen = quick(&all());
    // Of the cloth, each of whose trials takes six cases, the file with most of the steps stands for the others.
    chosen.retain(|mutant| !mutant.file.starts_with("cloth/") || mutant.file == "cloth/planes.clh");
    assert!(chosen.len() >= 30, "{}", chosen.len());
    let tried = try_all(&tools, &chosen, &args, &|_, _| ()).unwrap();
    let missed: Vec<_> = tried.iter().filter(|tried| !matches!(tried.verdict, Verdict::Caught(_))).collect();
    let lines: Vec<_> = missed.into_iter().map(line).collect();
    assert!(lines.is_empty(), "{}\n{}", summary(&tried), lines.join("\n"));
    std::fs::remove_dir_all(&tools.work).unwrap();
}

#[test]
fn a_mutant_that_no_case_tells_apart_is_a_survivor_unless_it_is_listed() {
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
fn what_only_some_devices_show_may_be_noticed_or_not() {
    let mutant = first("03_flat.cl", "i < radius");
    let (case, caught) = (Seen::Case(0, "a case".to_owned()), Said::Caught("somehow".to_owned()));
    let of = |by_device, seen: &Seen, said: &Said| {
        mutants::trial::verdict(&Mutant { equal: Some("a race"), by_device, ..mutant.clone() }, seen, said)
    };
    for seen in [&case, &Seen::Nowhere] {
        assert_eq!(of(true, seen, &caught), Verdict::Caught("somehow".to_owned()));
        assert_eq!(of(true, seen, &Said::Fine), Verdict::Equal("a race"));
    }
    assert!(matches!(of(false, &case, &caught), Verdict::Broken(_)));
    assert!(matches!(of(true, &case, &Said::Broken("no".to_owned())), Verdict::Broken(_)));
}

#[test]
fn a_mutant_that_bench_does_not_notice_is_a_survivor() {
    // Whatever this is asked, all is well.
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
fn the_kernels_as_they_are_must_pass() {
    // Whatever this is asked, something is wrong.
    let tools = tools("wrong", Path::new("/bin/false"));
    let Verdict::Broken(why) = verdict(&tools, first("03_flat.cl", "i < radius")) else {
        panic!("bench fails")
    };
    assert!(why.contains("as they are"), "{why}");
}

#[test]
fn the_kernels_as_they_are_differ_in_no_case() {
    let tools = tools("control", &clreel());
    std::fs::create_dir_all(&tools.work).unwrap();
    assert_eq!(tools.see(None), Seen::Nowhere);
    let mutant = first("03_flat.cl", "i < radius");
    let case = mutants::witness::cases_of(&mutant)[0];
    assert_eq!(tools.bench(None, &case, "control", LIMIT), Said::Fine);
    assert!(matches!(tools.bench(Some(&mutant), &case, "mutant", LIMIT), Said::Caught(_)));
    std::fs::remove_dir_all(&tools.work).unwrap();
}
