//! Tests of the panel of edited kernels: the list of versions, their comparison with the files, folders, the user's own kernel,
//! and the compiler's messages.

use super::kernels::{edited, editing, mismatch, refuse, version};
use super::*;
use base::verify::MismatchReport;
use box_filter::named;

#[test]
fn failed_builds_and_earlier_versions_are_lines_of_a_list_that_scrolls() {
    let mut fixture = editing(720.0);
    fixture.kernels.versions[1].failures = 3;
    fixture.kernels.versions[2].failures = 1;
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&["3 builds failed", "a build failed"]);
    // A long list leaves room for the source.
    let first = fixture.kernels.versions[3].clone();
    fixture.kernels.versions.extend((0..96).map(|_| first.clone()));
    fixture.settle();
    let lines = fixture.texts.iter().filter(|(text, _)| text.starts_with("original: ")).count();
    assert!((3..12).contains(&lines), "{lines} lines");
    fixture.assert_contains(&["box_filter/03_flat.cl, 1 line changed"]);

    let mut fixture = editing(720.0);
    let earlier = |hash, is_exact| EarlierVersion {
        hash,
        time: format!("2026-11-26 14:0{hash}"),
        files: vec!["box_filter/03_flat.cl".to_owned()],
        is_exact,
    };
    fixture.kernels.earlier = vec![earlier(3, true), earlier(2, false)];
    let what = "An earlier version of the kernels cannot be read and is ignored.";
    fixture.kernels.history_error = Some(Error::new(what, "'x.json': It is invalid.", ""));
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&["2026-11-26 14:03  03_flat.cl: exact"]);
    fixture.assert_contains(&["14:02  03_flat.cl: kept before another one was restored"]);
    fixture.assert_shows(&[what]);
    // The last of the buttons is that of the oldest version.
    assert_eq!(fixture.click("diff"), [Action::DiffKernels(Some(VersionId::Earlier(2)))]);
}

#[test]
fn a_comparison_takes_the_place_of_the_source_and_restores_or_saves_the_version() {
    let mut fixture = editing(720.0);
    let id = VersionId::Session(2);
    let files =
        [("box_filter/03_flat.cl".to_owned(), "int y;\nimt x;\n".to_owned(), "int y;\nint x;\n".to_owned())];
    fixture.kernels.diff = Some(VersionDiff::new(id, "version 2".to_owned(), &files));
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&[
        "Restoring version 2 adds 1 line (+) and removes 1 (\u{2212}).",
        "+int x;",
        "-imt x;",
        " int y;",
    ]);
    assert!(!fixture.shows("1 line changed"), "the source is hidden: {:?}", fixture.texts);
    assert_eq!(fixture.click("Restore to file"), [Action::RestoreKernels(id)]);
    assert_eq!(fixture.click("Save as own.cl"), [Action::SaveAsOwnKernel(id)]);
    assert_eq!(fixture.click("Close"), [Action::DiffKernels(None)]);
    // Without a difference there is nothing to restore.
    fixture.set(|f| f.kernels.diff = Some(VersionDiff::new(id, "version 2".to_owned(), &[])));
    fixture.assert_shows(&["The files are as in version 2."]);
    assert_eq!(fixture.click("Restore to file"), []);
}

#[test]
fn folders_of_earlier_edits_are_offered_and_stay_in_sight_beside_a_new_copy() {
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    let folder = |path: &str, edits| EditedFolder {
        path: path.to_owned(),
        edits,
        changed: "2026-11-29 18:03".to_owned(),
    };
    fixture.kernels.remembered = vec![folder("/home/user/kernels", 2), folder("/home/user/old", 0)];
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&[
        "edits of 2 files, last change 2026-11-29 18:03",
        "no edits, last change 2026-11-29 18:03",
    ]);
    assert_eq!(fixture.click("Make an editable copy"), [Action::CopyKernels]);
    assert_eq!(fixture.click("Open old"), [Action::ReopenKernels(1)]);
    assert_eq!(fixture.click("Open kernels"), [Action::ReopenKernels(0)]);
    assert!(fixture.button("Make own.cl").is_none(), "an earlier folder may have one");
    fixture.set(|f| f.kernels.remembered.clear());
    assert_eq!(fixture.click("Make own.cl"), [Action::MakeOwnKernel], "makes the folder, too");
    fixture.kernels.remembered = vec![folder("/home/user/kernels", 2)];
    // While the copy is edited, the edits in the other folder are not forgotten.
    fixture.set(|f| f.kernels.folder = Some("/home/user/clreel-kernels-2".to_owned()));
    fixture.assert_shows(&["/home/user/kernels: edits of 2 files, last change 2026-11-29 18:03"]);
    assert!(fixture.button("Open kernels").is_none());
}

#[test]
fn a_version_that_differs_is_not_timed_in_headline_scoreboard_and_graph() {
    const SENTENCE: &str = "not timed: output differs";
    // Headline and scoreboard show the sentence alone; the graph, and the line of a small window, show it after the filter.
    for (size, alone) in [(vec2(1280.0, 720.0), 2), (vec2(640.0, 360.0), 0)] {
        let mut fixture = Fixture::new(size);
        fixture.chosen = named("fused");
        // The score is of frames that the version before has filtered.
        fixture.push(named("fused"), 7, 3.5, 3);
        fixture.push(named("flat"), 7, 8.45, 3);
        fixture.recorder.shown.scores.leave_out(named("fused"), 1, true);
        fixture.push(named("fused"), 7, 520.0, 30);
        let differs =
            Validation::Differs(MismatchReport { count: 7, total: 100, ..MismatchReport::default() });
        let fused = Subject::Variant(named("fused"));
        let result = VersionResult { runs: true, ..VersionResult::new(fused, differs) };
        fixture.kernels = edited();
        fixture.kernels.versions[1].results = vec![result];
        fixture.time += 10.0;
        fixture.settle();
        let found = fixture.texts.iter().filter(|(text, _)| text == SENTENCE).count();
        assert_eq!(found, alone, "{size}: {:?}", fixture.texts);
        let follows = |text: &str| text.starts_with("fused r=7") && text.contains(SENTENCE);
        assert!(fixture.texts.iter().any(|(text, _)| follows(text)), "{size}: {:?}", fixture.texts);
        assert!(fixture.cut.iter().all(|text| !text.contains("not timed")), "{size}: {:?}", fixture.cut);
        assert!(!fixture.shows("3.50 ms") && !fixture.shows("520 ms"), "{size}: {:?}", fixture.texts);
        // It takes its time all the same.
        assert_eq!(fixture.shows("one frame: 520 of 40 ms"), alone > 0, "{size}: {:?}", fixture.texts);
        assert!(!fixture.shows("no filtered frame"), "{size}: {:?}", fixture.texts);
    }
}

#[test]
fn ones_own_kernel_has_its_error_and_its_time_and_warnings_and_prints_stand_below() {
    let mut fixture = editing(720.0);
    fixture.open(Panel::Kernels);
    assert_eq!(fixture.click("Make own.cl"), [Action::MakeOwnKernel]);
    fixture.kernels.has_own = true;
    let own = Subject::Variant(VariantId::own());
    let time = Some(FilterTime { ms: 4.2, n: 100, noise: None });
    let result = VersionResult { time, ..VersionResult::new(own, Validation::Differs(mismatch(3.0))) };
    (fixture.kernels.versions[0].results, fixture.chosen) = (vec![result], VariantId::own());
    fixture.settle();
    assert!(fixture.find("Make own.cl").is_none());
    fixture.assert_contains(&[
        "own differs in 12,345 bytes, 4.20 ms (not comparable)",
        "differ by up to 3, first mismatch: red at (3, 4)",
    ]);

    let mut fixture = editing(720.0);
    let mut newest = version(4, "box_filter/03_flat.cl", Validation::Exact);
    let warning = "box_filter/03_flat.cl:31:9: warning: unused variable 'x'\n  31 |     int x;";
    newest.results[0].warnings = warning.to_owned();
    fixture.kernels.versions[0] = newest;
    fixture.open(Panel::Kernels);
    fixture.assert_contains(&[
        "flat: the compiler warns:",
        "warning: unused variable 'x'",
        "31 |     int x;",
    ]);
    assert!(!fixture.shows("Printed by kernels:"), "{:?}", fixture.texts);
    fixture.set(|f| f.kernels.printed = vec!["x is 7".to_owned(), "x is 8".to_owned()]);
    fixture.assert_contains(&["Printed by kernels:", "x is 7", "x is 8"]);
}

/// Checks that the compiler's first error is visible with the lines that belong to it, below a long list of versions and in a
/// small window.
#[test]
fn the_first_error_is_in_sight_whole() {
    let text = "box_filter/03_flat.cl:31:17: error: use of undeclared identifier 'summ'; did you mean 'sum'?";
    let log =
        [text, "   31 |     dst[y] = mean(summ);", "      |                   ^~~~", "2 errors generated."];
    for size in [vec2(1280.0, 720.0), vec2(640.0, 360.0)] {
        let mut fixture = Fixture::new(size);
        fixture.kernels = edited();
        refuse(&mut fixture, Error::new("It does not build.", log.join("\n"), ""), 96);
        fixture.open(Panel::Kernels);
        fixture.settle();
        for line in &log[..3] {
            let at = fixture.texts.iter().find(|(text, _)| text == line).map(|(_, rect)| *rect);
            let is_inside = at.is_some_and(|at| fixture.window().contains_rect(at));
            assert!(is_inside, "{size}: {line}: {:?}", fixture.texts);
        }
    }
}
