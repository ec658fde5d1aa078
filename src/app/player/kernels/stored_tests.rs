//! Tests of versions on the disk and in the panel, and of the data of a version, without a window.

use super::super::races::RaceCheck;
use super::stored::Storage;
use super::tests::{
    RADIUS, differs, flat, flat_and_naive, flat_subject, frames, request, save, sources, verdict_on,
};
use super::*;
use crate::app::kernels::history::History;
use crate::app::test_folder;
use box_filter::named;

/// Saves a text of the kernel file of `flat` as a new version, and reports this result of its validation.
fn save_and_validate(live: &mut Versions, text: &str, validation: Validation) {
    live.read(flat(text), false, false);
    live.waits = None;
    request(live, &[named("flat")]);
    live.process(verdict_on(live.current, flat_subject(), validation));
}

/// Returns the state after the start with a folder of built-in kernels.
fn at_start() -> Versions {
    let mut live = Versions::default();
    live.read(Sources::default(), false, true);
    live
}

fn refused() -> Validation {
    Validation::Refused(Error::new("It does not build.", "", ""))
}

/// Returns the number of each version in the panel, with the number of failed versions that are summarised below it.
fn lines(live: &mut Versions) -> Vec<(u64, usize)> {
    live.refresh(named("flat"), None);
    live.shown.versions.iter().map(|version| (version.number, version.failures)).collect()
}

#[test]
fn failed_builds_collapse_and_push_no_exact_version_out() {
    let mut live = at_start();
    save_and_validate(&mut live, "good", Validation::Exact);
    (0..3).for_each(|n| save_and_validate(&mut live, &format!("bad {n}"), refused()));
    assert_eq!(lines(&mut live), [(5, 2), (2, 0), (1, 0)], "the last one is current");
    save_and_validate(&mut live, "better", Validation::Exact);
    assert_eq!(lines(&mut live), [(6, 3), (2, 0), (1, 0)]);
    // A version that was chosen has a line of its own.
    live.use_version(4, false);
    assert_eq!(lines(&mut live), [(6, 1), (4, 1), (2, 0), (1, 0)]);
    live.use_version(6, false);
    (0..200).for_each(|n| save_and_validate(&mut live, &format!("worse {n}"), refused()));
    assert_eq!(lines(&mut live), [(206, 199), (6, 3), (2, 0), (1, 0)], "all are counted");
    assert!(live.kept.len() <= 3 + MAX_OTHERS, "but their texts are not kept");
    // Old exact versions are dropped for new ones, except for versions that run.
    (0..MAX_STORED).for_each(|n| save_and_validate(&mut live, &format!("good {n}"), Validation::Exact));
    let numbers: Vec<u64> = lines(&mut live).into_iter().map(|(number, _)| number).collect();
    assert!(!numbers.contains(&2) && numbers.contains(&1) && numbers.contains(&306), "{numbers:?}");
    assert!(live.kept.iter().filter(|kept| kept.is_exact()).count() <= MAX_STORED);
}

#[test]
fn what_restoring_replaces_is_kept_with_a_line_of_its_own() {
    let mut live = at_start();
    save_and_validate(&mut live, "good", Validation::Exact);
    save_and_validate(&mut live, "bad", refused());
    // Version 2 is restored over the text "bad"; the watcher then reads it from the folder.
    live.keep_replaced(flat("bad"));
    save_and_validate(&mut live, "good", Validation::Exact);
    assert_eq!(lines(&mut live), [(3, 0), (2, 0), (1, 0)], "only version 3 has that text");
    assert_eq!(live.current, 2);
    (0..20).for_each(|n| save_and_validate(&mut live, &format!("worse {n}"), refused()));
    assert!(live.version(3).is_some(), "failures do not push it out");
    // The replaced text was saved so recently that the watcher has not reported it.
    live.keep_replaced(flat("unseen"));
    assert!(live.kept.iter().any(|kept| kept.sources == flat("unseen") && kept.is_replaced));
    let is_current = |live: &Versions| live.version(live.current).unwrap().sources == flat("worse 19");
    assert!(is_current(&live), "it does not run");
    live.read(flat("worse 19"), false, false);
    assert!(is_current(&live) && live.newest() == 24, "the folder's text is known");
}

/// Checks that a text that is saved again is the version that it was, and that what it undoes leaves no line.
#[test]
fn a_known_text_is_the_version_that_it_was() {
    let mut live = at_start();
    save_and_validate(&mut live, "good", Validation::Exact);
    save_and_validate(&mut live, "typo", refused());
    live.read(flat("good"), false, false);
    request(&mut live, &[]);
    assert_eq!((live.current, lines(&mut live)), (2, vec![(2, 0), (1, 0)]));
    // A typing error that is undone before its validation has ended.
    live.read(flat("another typo"), false, false);
    request(&mut live, &[named("flat")]);
    live.read(flat("good"), false, false);
    request(&mut live, &[named("flat")]);
    assert_eq!((live.current, lines(&mut live)), (2, vec![(2, 0), (1, 0)]));
    // A newer save supersedes the repeated validation, whose result was known.
    save_and_validate(&mut live, "better", Validation::Exact);
    assert_eq!(lines(&mut live), [(5, 1), (2, 0), (1, 0)]);
    let result = live.version(2).unwrap().row.result(flat_subject());
    assert_eq!(result.map(|result| &result.validation), Some(&Validation::Exact));
    assert_eq!(live.version(5).unwrap().row.files, ["box_filter/03_flat.cl"]);
    // Removing the user's own kernel is a version, whose line says so.
    let own = sources([("box_filter/03_flat.cl", "better"), (OWN_FILE, "mine")]);
    live.read(own, false, false);
    live.read(flat("better"), false, false);
    assert!(live.current == 7 && live.version(7).unwrap().row.lost_own);
}

#[test]
fn a_version_is_compared_with_the_files_until_they_are_as_in_it() {
    let mut live = at_start();
    save_and_validate(&mut live, "one\ntwo\n", Validation::Exact);
    save_and_validate(&mut live, "one\n2\n", Validation::Exact);
    live.compare_with_files(Some(VersionId::Session(2)));
    let file = |now: &str| ("box_filter/03_flat.cl".to_owned(), now.to_owned(), "one\ntwo\n".to_owned());
    let expected =
        |files: &[_]| Some(overlay::VersionDiff::new(VersionId::Session(2), "version 2".to_owned(), files));
    assert_eq!(live.shown.diff, expected(&[file("one\n2\n")]));
    save_and_validate(&mut live, "none\n", Validation::Exact);
    live.compare_with_files(Some(VersionId::Session(2)));
    assert_eq!(live.shown.diff, expected(&[file("none\n")]), "of the files as they are now");
    save_and_validate(&mut live, "one\ntwo\n", Validation::Exact);
    live.compare_with_files(Some(VersionId::Session(2)));
    assert_eq!(live.shown.diff, expected(&[]));
}

/// Returns the state after the start of clreel, for a folder whose versions are stored below `root`.
fn stored_below(root: &Path, waker: &Waker) -> LiveKernels {
    let kernels = Path::new("/home/user/kernels");
    let mut live = LiveKernels::default();
    live.storage = Storage::open(kernels, Some(History::at(root, kernels)), waker);
    assert!(live.storage.take_earlier(&mut live.versions, Duration::from_secs(60)));
    live
}

/// Returns the texts of `flat` in the versions that are stored from earlier starts, in the order of the panel.
fn earlier(live: &mut LiveKernels) -> Vec<String> {
    live.versions.refresh(named("flat"), None);
    let hashes: Vec<u64> = live.versions.shown.earlier.iter().map(|version| version.hash).collect();
    let find = |hash: &u64| live.versions.earlier.iter().find(|known| known.hash == *hash).unwrap();
    hashes.iter().map(|hash| find(hash).sources.text("box_filter/03_flat.cl").unwrap()).collect()
}

#[test]
fn exact_versions_are_there_at_the_next_start_and_a_full_disk_loses_none() {
    let (folder, waker) = (test_folder("stored"), std::sync::Arc::new(|| {}) as Waker);
    let root = folder.0.join("versions");
    let mut live = stored_below(&root, &waker);
    let versions = &mut live.versions;
    versions.read(Sources::default(), false, true);
    save_and_validate(versions, "good", Validation::Exact);
    save_and_validate(versions, "bad", refused());
    save_and_validate(versions, "wrong", differs());
    versions.keep_replaced(flat("wrong"));
    live.finish_storing(&waker);
    assert_eq!(live.versions.shown.history_error, None);
    // At the next start, the folder has the texts of one of the versions.
    let mut live = stored_below(&root, &waker);
    let mut texts = earlier(&mut live);
    texts.sort_unstable();
    assert_eq!(texts, ["good", "wrong"]);
    live.versions.read(flat("good"), false, false);
    assert_eq!(earlier(&mut live), ["wrong"], "the other one has a line already");
    // The folder of versions becomes a file, to which nothing can be written.
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::write(&root, "").unwrap();
    save_and_validate(&mut live.versions, "unstored", Validation::Exact);
    live.finish_storing(&waker);
    let what = "A version of the kernels could not be kept for the next start.";
    assert_eq!(live.versions.shown.history_error.as_ref().map(|error| error.what.as_str()), Some(what));
    assert!(live.versions.kept.iter().any(|kept| kept.sources == flat("unstored")));
    // With the next version, storing is retried.
    std::fs::remove_file(&root).unwrap();
    save_and_validate(&mut live.versions, "stored", Validation::Exact);
    live.finish_storing(&waker);
    assert_eq!(live.versions.shown.history_error, None);
    let mut texts = earlier(&mut stored_below(&root, &waker));
    texts.sort_unstable();
    assert_eq!(texts, ["stored", "unstored"]);
}

#[test]
fn the_text_of_another_kernel_becomes_ones_own_with_its_contract() {
    let own = super::stored::own_text;
    let text = "// mine\n__kernel void own(int x) {}\n";
    assert_eq!(own(text), text);
    let renamed = own("__kernel __attribute__((x(1, 2, 3)))\nvoid box_fused(int x) { box_fused_step(); }\n");
    assert!(renamed.starts_with("// "), "{renamed}");
    assert!(renamed.contains("void own(int x) { box_fused_step(); }"), "{renamed}");
    let mentioned = own("// sum() adds.\n__kernel void sum(int x) {}\n");
    assert!(mentioned.ends_with("// sum() adds.\n__kernel void own(int x) {}\n"), "{mentioned}");
    let two = "__kernel void rows(int x) {}\n__kernel void columns(int x) {}\n";
    assert!(own(two).ends_with(two), "which of them is not known");
}

#[test]
fn findings_of_oclgrind_are_shown_only_with_the_kernels_that_have_them() {
    let mut live = LiveKernels::default();
    live.versions.read(Sources::default(), false, true);
    save_and_validate(&mut live.versions, "race", Validation::Exact);
    let of = overlay::CheckedKernels { variant: named("flat"), version: Some(2) };
    let mut check = RaceCheck::with_fault(of, flat("race"));
    let mut is_shown = |live: &LiveKernels| {
        check.compare(live, DeviceKind::Cpu);
        matches!(check.shown(), overlay::RaceReport::Found(..))
    };
    assert!(is_shown(&live));
    live.versions.read(flat_and_naive("race", "mine"), false, false);
    assert!(is_shown(&live), "another file was saved");
    save_and_validate(&mut live.versions, "no race", Validation::Exact);
    assert!(!is_shown(&live));
    live.versions.use_version(2, false);
    assert!(is_shown(&live), "its version is chosen again");
}

#[test]
fn saving_ones_own_kernel_changes_no_other_variant() {
    let mut live = at_start();
    for text in ["one", "two"] {
        let own = sources([(OWN_FILE, text)]);
        assert_eq!(save(&mut live, own), [VariantId::own()]);
        live.process(verdict_on(live.newest(), Subject::Variant(VariantId::own()), Validation::Exact));
    }
}

#[test]
fn warnings_belong_to_the_version_whose_compiler_gave_them() {
    let mut live = at_start();
    live.read(flat("unused"), false, false);
    let News::Validated(validated) = verdict_on(2, flat_subject(), Validation::Exact) else { unreachable!() };
    live.process(News::Validated(Validated { warnings: "warning: unused".to_owned(), ..validated }));
    save_and_validate(&mut live, "used", Validation::Exact);
    live.refresh(named("flat"), None);
    let warnings = |at: usize| live.shown.versions[at].results[0].warnings.as_str();
    assert_eq!([warnings(0), warnings(1)], ["", "warning: unused"]);
}

/// Checks that the time of the user's own kernel is shown although its output differs, that it is in no comparison, and that no
/// other variant gets it.
#[test]
fn a_wrong_kernel_of_ones_own_has_a_time() {
    let mut live = Versions::default();
    live.read(sources([(OWN_FILE, "mine")]), false, false);
    live.process(verdict_on(1, Subject::Variant(VariantId::own()), differs()));
    live.process(verdict_on(1, flat_subject(), differs()));
    for variant in [VariantId::own(), named("flat")] {
        let of = frames(variant, RADIUS, None);
        live.time(of, FilterTime { ms: 4.0, n: 1000, noise: None });
    }
    live.refresh(VariantId::own(), Some(frames(VariantId::own(), RADIUS, None)));
    let times: Vec<_> =
        live.shown.versions[0].results.iter().map(|result| result.time.map(|time| time.ms)).collect();
    assert_eq!(times, [Some(4.0), None]);
    assert_eq!(live.pair(live.version(1).unwrap(), &frames(VariantId::own(), RADIUS, None)), None);
}
