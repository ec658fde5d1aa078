//! Tests of the panel of edited kernels.

use super::*;
use base::error::{ErrorKind, SourceLine};
use base::verify::{Difference, MismatchReport};
use box_filter::named;

/// Returns a version of the kernels in which this file has changed, with this result for the variant `flat`.
pub(super) fn version(number: u64, file: &str, validation: Validation) -> Version {
    let time = Some(FilterTime { ms: 8.0, n: 100, noise: None });
    let ratio = base::timing::Ratio { low: 1.27, estimate: 1.32, high: 1.36 };
    let state = SpeedState::Compared { verdict: ratio.verdict(), rounds: 200, rows: Some(64) };
    let speed = (validation == Validation::Exact).then_some(Speed { before: 1, state });
    let runs = number == 3;
    let subject = Subject::Variant(named("flat"));
    let result = VersionResult { runs, time, speed, ..VersionResult::new(subject, validation) };
    Version {
        number,
        files: vec![file.to_owned()],
        results: vec![result],
        request: ValidationRequest::Made,
        lost_own: false,
        time,
        failures: 0,
    }
}

/// Returns a report of some bytes that differ by at most this much.
pub(super) fn mismatch(max_abs_diff: f64) -> MismatchReport {
    let first = Some(Difference { position: "red at (3, 4)".to_owned(), got: 7.0, want: 8.0 });
    MismatchReport { count: 12345, total: 3_686_400, max_abs_diff, first, ..MismatchReport::default() }
}

/// Returns the state of a folder of edited kernels with four versions, of which the one with number 3 is running.
pub(super) fn edited() -> Kernels {
    let why = "The compiler says:\nbox_filter/03_flat.cl:4:5: error: unknown type name 'imt'\n  4 | imt x;";
    let error =
        Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", why, "Correct it.");
    let refused = version(4, "box_filter/03_flat.cl", Validation::Refused(error));
    let (files, results) = (Vec::new(), Vec::new());
    let first = Version { files, results, time: None, ..version(1, "", Validation::Exact) };
    let (before, now) = ("int y;\nint x;\n", "int y;\nimt x;\n");
    Kernels {
        folder: Some("/home/user/kernels".to_owned()),
        versions: vec![
            refused,
            version(3, "box_filter/03_flat.cl", Validation::Differs(mismatch(1.0))),
            version(2, "common/mean.clh", Validation::Exact),
            first,
        ],
        current: 4,
        running: Some(3),
        source: Some(Source::new("box_filter/03_flat.cl".to_owned(), now, Some(before))),
        ..Kernels::default()
    }
}

/// Returns an overlay in a window of this height, in points, with edited kernels.
pub(super) fn editing(height: f32) -> Fixture<'static> {
    let mut fixture = Fixture::new(vec2(1280.0, height));
    fixture.kernels = edited();
    fixture
}

/// Returns an overlay with the panel of kernels, in which a version was refused with this error below `older` further versions.
fn refused(error: Error, older: usize) -> Fixture<'static> {
    let mut fixture = editing(720.0);
    refuse(&mut fixture, error, older);
    fixture.open(Panel::Kernels);
    fixture
}

/// Sets the error with which the newest version was refused, and adds `older` copies of the first version.
pub(super) fn refuse(fixture: &mut Fixture, error: Error, older: usize) {
    let first = fixture.kernels.versions[3].clone();
    fixture.kernels.versions.extend(std::iter::repeat_n(first, older));
    fixture.kernels.versions[0].results[0].validation = Validation::Refused(error);
}

#[test]
fn the_beginning_of_a_log_or_its_first_error_is_in_sight_without_the_files_name() {
    let log = |numbers: std::ops::Range<usize>, text: &str| -> String {
        numbers.map(|n| format!("03_flat.cl:{n}: {text}\n")).collect()
    };
    let warnings = log(1..60, "a warning that is long enough to fill it");
    let fixture = refused(Error::new("It does not build.", warnings, ""), 6);
    let first = "03_flat.cl:1: a warning";
    fixture.assert_contains(&["flat: still running version 3", "It does not build.", first]);
    assert!(!fixture.shows("03_flat.cl:59:"), "the rest scrolls");
    let error = "03_flat.cl:31: error: expected ';' after an expression\n";
    let unused = "warning: unused variable";
    let warnings = format!("{}{error}{}", log(1..30, unused), log(32..60, unused));
    let fixture = refused(Error::new("It does not build.", warnings, ""), 0);
    fixture.assert_contains(&["03_flat.cl:31: error: "]);
    assert!(!fixture.shows("03_flat.cl:1: warning"), "{:?}", fixture.texts);
    // The line of a refused version begins with the result, before the part that is cut off at the panel's edge.
    let why = "The compiler says:\nbox_filter/03_flat.cl:91:5: error: unknown type name 'imt'";
    let what = "The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.";
    let error = Error { kind: ErrorKind::KernelDoesNotBuild(Vec::new()), ..Error::new(what, why, "") };
    refused(error, 0).assert_shows(&["03_flat.cl: flat: does not build."]);
}

/// Checks that the view of the source scrolls once for a new version: to the first line with an error if there is one,
/// otherwise to the first changed line.
#[test]
fn a_version_is_scrolled_once_to_its_changes() {
    use crate::code::{CHANGED_BACKGROUND, ERROR_BACKGROUND};
    let mut fixture = editing(720.0);
    let name = "box_filter/03_flat.cl".to_owned();
    let lines =
        |changed: usize| (0..200).map(|n| format!("int v{}; // {n}\n", n == changed)).collect::<String>();
    let source = |version, changed, error: Option<usize>| {
        let errors: Vec<_> = error.into_iter().map(line).collect();
        Source::new(name.clone(), &lines(changed), Some(&lines(300))).with_version(version, &errors)
    };
    fixture.open(Panel::Kernels);
    let refused = std::mem::take(&mut fixture.kernels.versions[0].results);
    let mut marked = |source: Source, color: Color32, events: Vec<Event>| {
        // A log takes a part of the source's room.
        let has_log = !source.refused.is_empty();
        fixture.kernels.versions[0].results = if has_log { refused.clone() } else { Vec::new() };
        fixture.kernels.source = Some(source);
        drop(fixture.pass(events));
        fixture.passes(30);
        let (mark, sight) = mark_and_sight(&fixture, color);
        (sight.contains_rect(mark), mark.top() - sight.top(), sight.center())
    };
    let (is_seen, below, middle) = marked(source(2, 150, None), CHANGED_BACKGROUND, vec![]);
    assert!(is_seen && below > 40.0, "with some lines above it: {below}");
    // The view stays where the user has scrolled it.
    let moved = Event::PointerMoved(middle);
    let wheel = super::mouse::wheel(egui::MouseWheelUnit::Point, 900.0);
    assert!(!marked(source(2, 150, None), CHANGED_BACKGROUND, vec![moved, wheel]).0);
    assert!(!marked(source(2, 150, None), CHANGED_BACKGROUND, vec![]).0);
    // The next version, and the line that its compiler names.
    assert!(marked(source(3, 150, None), CHANGED_BACKGROUND, vec![]).0);
    assert!(marked(source(3, 150, Some(21)), ERROR_BACKGROUND, vec![]).0);
    assert!(marked(source(4, 199, None), CHANGED_BACKGROUND, vec![]).0, "the last line");
    assert!(marked(source(4, 199, Some(200)), ERROR_BACKGROUND, vec![]).0, "it has less room now");
}

/// Returns the rectangle of a line of the source that is marked with this colour, and that of the source below its name.
fn mark_and_sight(fixture: &Fixture, color: Color32) -> (Rect, Rect) {
    let name = fixture.texts.iter().find(|(text, _)| text.starts_with("box_filter/03_flat.cl, 1 line"));
    let panel = fixture.cover("kernels").rect;
    let mark = fixture.rects.iter().find(|(_, filled)| *filled == color).expect("it is marked").0;
    (mark.shrink2(vec2(20.0, 0.0)), panel.with_min_y(name.expect("it has a name").1.bottom()))
}

/// Returns the line with this number of the edited kernel file.
fn line(number: usize) -> SourceLine {
    SourceLine { file: "box_filter/03_flat.cl".to_owned(), number }
}

/// Checks that the line of an error is visible although the list of versions and the log leave little room for the source.
#[test]
fn the_line_of_an_error_is_in_sight_below_a_long_list() {
    use crate::code::ERROR_BACKGROUND;
    let mut fixture = editing(720.0);
    let log = "The compiler says:\nbox_filter/03_flat.cl:22:3: error: no such\n   22 | int v21;\n      | ^\n1 error generated.";
    let error =
        Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", log, "Correct it.");
    refuse(&mut fixture, error, 6);
    let text = (0..60).map(|n| format!("int v{n};\n")).collect::<String>();
    let source = |errors: &[SourceLine]| {
        let before = text.replace("int v21;", "int w;");
        Source::new("box_filter/03_flat.cl".to_owned(), &text, Some(&before)).with_version(4, errors)
    };
    fixture.open(Panel::Kernels);
    let refused = std::mem::take(&mut fixture.kernels.versions[0].results);
    fixture.set(|f| f.kernels.source = Some(source(&[])));
    fixture.kernels.versions[0].results = refused;
    fixture.kernels.source = Some(source(&[line(22)]));
    // Checked beside the machine code, too.
    for machine_code in [false, true, false] {
        fixture.overlay.switches.machine_code = machine_code;
        fixture.passes(30);
        let (mark, sight) = mark_and_sight(&fixture, ERROR_BACKGROUND);
        assert!(sight.contains_rect(mark), "{mark:?} in {sight:?}, machine code: {machine_code}");
    }
}

#[test]
fn a_version_that_is_not_validated_has_the_reason() {
    let mut fixture = editing(800.0);
    let pending = |variant| VersionResult::new(Subject::Variant(variant), Validation::Pending);
    for version in &mut fixture.kernels.versions[..2] {
        version.results = [named("flat"), named("naive"), VariantId::auto()].map(pending).into();
    }
    fixture.kernels.versions[2].results.extend([named("naive"), VariantId::auto()].map(pending));
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&[
        "03_flat.cl: validating",
        "03_flat.cl: not validated, superseded",
        "mean.clh: flat exact, 8.00 ms in the movie (2 more not validated)",
    ]);

    let mut fixture = editing(800.0);
    for number in [0, 2] {
        let version = &mut fixture.kernels.versions[number];
        (version.results, version.request) = (Vec::new(), ValidationRequest::Waiting);
    }
    fixture.kernels.versions[3].files = vec!["box_filter/01_naive.cl".to_owned()];
    fixture.kernels.versions[3].request = ValidationRequest::WhenChosen;
    fixture.open(Panel::Kernels);
    let info = machine::device_info(0, "First");
    for (awaited, device, newest) in [
        (true, None, "waiting for the device"),
        // Another device is being initialized meanwhile.
        (true, Some(info.clone()), "waiting for the device"),
        (false, Some(info), "waiting for the next frame"),
        (false, None, "not validated, no OpenCL device"),
    ] {
        (fixture.devices.is_pending, fixture.device) = (awaited, device);
        fixture.settle();
        fixture.assert_shows(&[
            &format!("03_flat.cl: {newest}"),
            "mean.clh: not validated, superseded",
            "01_naive.cl: validated when a variant is selected",
        ]);
        assert!(!fixture.shows("no effect"), "{:?}", fixture.texts);
    }
    fixture.set(|f| f.kernels.versions[0].request = ValidationRequest::Made);
    fixture.assert_shows(&["03_flat.cl: no effect on this device"]);
    fixture.kernels.versions[0].files = vec!["box_filter/own.cl".to_owned()];
    fixture.kernels.versions[0].lost_own = true;
    // The line has this text even before a result of a variant that is not in use.
    for subject in [None, Some(Subject::Variant(VariantId::auto()))] {
        let result = |subject| VersionResult::new(subject, Validation::Exact);
        fixture.set(|f| f.kernels.versions[0].results = subject.into_iter().map(result).collect());
        fixture.assert_shows(&["own.cl: own.cl was removed, and 'own' with it"]);
    }
}

/// Checks the line of a version whose conversion kernels have a worse result than its filter kernels: the conversion takes part
/// in every picture, so the line shows its result.
#[test]
fn a_conversion_that_differs_or_is_refused_is_told_and_marked() {
    let mut fixture = editing(900.0);
    // A GPU.
    fixture.device = Some(machine::device_info(0, "First"));
    fixture.open(Panel::Kernels);
    fixture.open(Panel::Stages);
    fixture.push_like(40, |_, sample| sample.stages.times[Stage::Convert as usize] = 1.5);
    fixture.time += 10.0;
    let told = |fixture: &mut Fixture, validation: Validation, text: &str, marked: bool| {
        let newest = &mut fixture.kernels.versions[0];
        newest.files = vec!["common/convert.clh".to_owned()];
        let runs = !matches!(validation, Validation::Refused(_));
        let result = |subject, validation| VersionResult { runs, ..VersionResult::new(subject, validation) };
        let flat = result(Subject::Variant(named("flat")), Validation::Exact);
        newest.results = vec![flat, result(Subject::Conversion, validation)];
        fixture.set(|f| f.kernels.conversion = Some(3));
        assert!(fixture.shows(text), "{text}: {:?}", fixture.texts);
        assert_eq!(fixture.find("convert, differs").is_some(), marked, "{text}");
        assert!(marked || fixture.find("convert").is_some(), "{text}");
    };
    let report = MismatchReport { count: 77, total: 100, ..MismatchReport::default() };
    told(&mut fixture, Validation::Exact, "convert.clh: flat exact", false);
    told(&mut fixture, Validation::Differs(report.clone()), "YUV to RGBA differs in 77 of 100 bytes", true);
    fixture.assert_contains(&["YUV to RGBA output differs: "]);
    let error = Error::new("It does not build.", "line 1\nline 2", "");
    told(&mut fixture, Validation::Refused(error), "YUV to RGBA: It does not build.", false);
    fixture.assert_shows(&["YUV to RGBA: still running version 3."]);
    // On a CPU, kernels convert for `planar` alone.
    fixture.device.as_mut().unwrap().kind = base::device::DeviceKind::Cpu;
    told(&mut fixture, Validation::Differs(report), "YUV to RGBA differs in 77 of 100 bytes", false);
}

#[test]
fn versions_say_what_came_of_them_and_a_click_goes_back() {
    let mut fixture = editing(800.0);
    fixture.open(Panel::Kernels);
    fixture.assert_shows(&[
        "Edit the files in /home/user/kernels",
        "mean.clh: flat exact, 8.00 ms in the movie",
        "1.32× faster than version 1, 1.27 to 1.36",
        "03_flat.cl: flat differs in 12,345 bytes, first mismatch: red at (3, 4)",
        "flat: still running version 3 (output differs).",
        "original: flat \u{2013}",
        "box_filter/03_flat.cl, 1 line changed",
    ]);
    fixture.assert_contains(&["unknown type name 'imt'"]);
    assert_eq!(fixture.click("Rebuild"), [Action::RebuildKernels]);
    assert_eq!(fixture.click("3"), [Action::UseKernels(3)]);
    // A variant whose output differs has no time in the table; the running version counts, not a refused newer one.
    let [flat, naive] = ["flat", "naive"].map(|name| Subject::Variant(named(name)));
    assert!(fixture.kernels.differs(flat, None) && !fixture.kernels.differs(naive, None));
    // Versions newer than the one that the user has selected do not count.
    for (version, runs) in fixture.kernels.versions.iter_mut().zip([false, false, true]) {
        version.results.iter_mut().for_each(|validated| validated.runs = runs);
    }
    assert!(!fixture.kernels.differs(flat, None));
    // In a wipe, version 3 counts beside it.
    assert!(fixture.kernels.differs(flat, Some(3)));
    assert!(!fixture.kernels.differs(flat, Some(2)));
    // A version that was not measured has no number.
    let speed = |state| Some(Speed { before: 1, state });
    fixture.kernels.versions[2].results[0].speed = speed(SpeedState::Unknown);
    fixture.kernels.versions[3].time = Some(FilterTime { ms: 9.5, n: 100, noise: None });
    fixture.settle();
    fixture.assert_shows(&["mean.clh: flat exact, 8.00 ms"]);
    assert!(fixture.find("1.32× faster than version 1, 1.27 to 1.36").is_none(), "{:?}", fixture.texts);
    fixture.set(|f| {
        f.kernels.versions[2].results[0].speed = speed(SpeedState::Comparing { pairs: None, waits: None })
    });
    fixture.assert_shows(&["timing against version 1\u{2026}", "original: flat 9.50 ms"]);
    let comparing = SpeedState::Comparing { pairs: Some((40, 200)), waits: Some(Wait::Late) };
    fixture.set(|f| f.kernels.versions[2].results[0].speed = speed(comparing));
    fixture.assert_shows(&["timing against version 1: 40 of 200 pairs, waiting: frames are late\u{2026}"]);
    // The user's own kernel has no original.
    fixture.kernels.versions[3].time = None;
    fixture.set(|f| f.chosen = VariantId::own());
    fixture.assert_shows(&["original"]);
    fixture.set(|f| f.kernels = Kernels::default());
    assert_eq!(fixture.click("Make an editable copy"), [Action::CopyKernels]);
}

#[test]
fn the_source_wraps_and_can_be_searched_selected_and_copied() {
    let mut fixture = editing(720.0);
    let long = format!("// {}end", "many words of a comment ".repeat(8));
    let lines: String = (0..200).map(|n| format!("int x{n};\n")).collect();
    let text = format!("__kernel void f() {{}}\n{long}\n{lines}float needle;\n");
    fixture.kernels.source = Some(Source::new("a.cl".to_owned(), &text, None));
    fixture.open(Panel::Kernels);
    fixture.settle();
    // Most of the text is scrolled out of sight.
    let code = |fixture: &Fixture| {
        let mut found = Rect::NOTHING;
        crate::texts::visit(&fixture.harness.output().shapes, &mut |shape, _| match shape {
            egui::Shape::Text(shape) if shape.galley.text() == text => {
                found = shape.galley.rect.translate(shape.pos.to_vec2());
            }
            _ => {}
        });
        found
    };
    let panel = fixture.cover("kernels").rect;
    assert!(code(&fixture).right() <= panel.right(), "{} in {panel}", code(&fixture));

    // Keys belong to the player until the field has the focus.
    assert!(!fixture.overlay.has_field());
    fixture.press("Find in the source");
    assert!(fixture.overlay.has_field());
    let before = code(&fixture).top();
    fixture.pass(vec![Event::Text("NEEDLE".to_owned())]);
    fixture.passes(20);
    fixture.assert_shows(&["1 of 1"]);
    assert!(code(&fixture).top() < before - 1000.0, "it has scrolled to the place");
    fixture.pass(vec![super::key(Key::Enter, true)]);
    fixture.settle();
    assert!(fixture.overlay.has_field(), "Enter goes on to the next place");
    fixture.overlay.leave_field();
    fixture.settle();
    assert!(!fixture.overlay.has_field());

    assert_eq!(fixture.click("Copy"), []);
    assert_eq!(fixture.copied.as_deref(), Some(&*text));
    let at = pos2(code(&fixture).left() + 2.0, code(&fixture).bottom() - 20.0);
    fixture.drag(at, at + vec2(200.0, 0.0));
    fixture.pass(vec![Event::Copy]);
    assert_eq!(fixture.copied.as_deref(), Some("float needle;"));
}
