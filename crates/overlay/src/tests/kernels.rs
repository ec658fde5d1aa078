//! The panel of kernels that are edited.

use super::*;
use base::verify::{Difference, MismatchReport};

fn version(number: u64, file: &str, verdict: Verdict) -> Version {
    let (ms, change_ms, is_after) = (Some(8.0), Some(-0.42), true);
    let runs = number == 3;
    let judged = Judged {
        subject: Subject::Variant(VariantId::Flat),
        verdict,
        runs,
        ms,
        change_ms,
        is_after,
        noise: None,
    };
    Version {
        number,
        files: vec![file.to_owned()],
        judged: vec![judged],
        untried: Untried::Now(0),
        ms,
        noise: None,
    }
}

/// A folder with three versions, of which the second runs.
fn edited() -> Kernels {
    let report = MismatchReport {
        count: 12345,
        total: 3_686_400,
        max_abs_diff: 1.0,
        first: Some(Difference { position: "red at (3, 4)".to_owned(), got: 7.0, want: 8.0 }),
        ..MismatchReport::default()
    };
    let why = "The compiler says:\nbox_filter/03_flat.cl:4:5: error: unknown type name 'imt'\n  4 | imt x;";
    let error =
        Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", why, "Correct it.");
    let refused = version(4, "box_filter/03_flat.cl", Verdict::Refused(error));
    let first = Version {
        number: 1,
        files: Vec::new(),
        judged: Vec::new(),
        untried: Untried::Now(0),
        ms: None,
        noise: None,
    };
    Kernels {
        folder: Some("/home/user/kernels".to_owned()),
        versions: vec![
            refused,
            version(3, "box_filter/03_flat.cl", Verdict::Differs(report)),
            version(2, "common/mean.clh", Verdict::Exact),
            first,
        ],
        current: 4,
        running: Some(3),
        source: Some(Source::new(
            "box_filter/03_flat.cl".to_owned(),
            "int y;\nimt x;\n",
            Some("int y;\nint x;\n"),
        )),
        ..Kernels::default()
    }
}

#[test]
fn the_beginning_of_a_long_log_is_in_sight_below_ten_versions() {
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    fixture.kernels = edited();
    let log: Vec<String> =
        (1..60).map(|n| format!("03_flat.cl:{n}: a warning that is long enough to fill it")).collect();
    let error = Error::new("It does not build.", log.join("\n"), "");
    fixture.kernels.versions[0].judged[0].verdict = Verdict::Refused(error);
    let first = fixture.kernels.versions[3].clone();
    fixture.kernels.versions.extend(std::iter::repeat_n(first, 6));
    fixture.overlay.open[Panel::Kernels as usize] = true;
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    for text in ["'flat' goes on with version 3.", "It does not build.", "03_flat.cl:1: a warning"] {
        assert!(fixture.shows(text), "{text}: {:?}", fixture.texts);
    }
    assert!(!fixture.shows("03_flat.cl:59:"), "the rest scrolls");
}

/// The verdict is to be read before the line is cut at the panel's edge.
#[test]
fn what_is_refused_is_said_without_the_files_name_again() {
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    fixture.kernels = edited();
    let why = "The compiler says:\nbox_filter/03_flat.cl:91:5: error: unknown type name 'imt'";
    let error = Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", why, "");
    fixture.kernels.versions[0].judged[0].verdict = Verdict::Refused(error);
    fixture.overlay.open[Panel::Kernels as usize] = true;
    (0..5).for_each(|_| drop(fixture.pass(vec![])));
    let first = "box_filter/03_flat.cl: flat: does not build for 'CPU'.";
    assert!(fixture.find(first).is_some(), "{:?}", fixture.texts);
}

/// What a version has changed comes into sight, and what the compiler says of it does before that; once, and below the log.
#[test]
fn what_is_new_in_a_version_is_scrolled_to_once() {
    use crate::code::{CHANGED, REFUSED};
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    fixture.kernels = edited();
    let name = "box_filter/03_flat.cl".to_owned();
    let lines =
        |changed: usize| (0..200).map(|n| format!("int v{}; // {n}\n", n == changed)).collect::<String>();
    let source = |version, changed, log: &str| {
        Source::new(name.clone(), &lines(changed), Some(&lines(300))).of_version(version, log)
    };
    fixture.overlay.open[Panel::Kernels as usize] = true;
    let refused = std::mem::take(&mut fixture.kernels.versions[0].judged);
    let mut marked = |source: Source, color: Color32, events: Vec<Event>| {
        // A log takes some of its room.
        let has_log = !source.refused.is_empty();
        fixture.kernels.versions[0].judged = if has_log { refused.clone() } else { Vec::new() };
        fixture.kernels.source = Some(source);
        drop(fixture.pass(events));
        (0..30).for_each(|_| drop(fixture.pass(vec![])));
        let name = fixture.texts.iter().find(|(text, _)| text.starts_with("box_filter/03_flat.cl, 1 line"));
        let panel = fixture.ctx.read_response(panel::cover_id("kernels")).expect("it is shown").rect;
        let mark = fixture.rects.iter().find(|(_, filled)| *filled == color).expect("it is marked").0;
        let sight = panel.with_min_y(name.expect("it has a name").1.bottom());
        (sight.contains_rect(mark.shrink2(vec2(20.0, 0.0))), mark.top() - sight.top(), sight.center())
    };
    let (is_seen, below, middle) = marked(source(2, 150, ""), CHANGED, vec![]);
    assert!(is_seen && below > 40.0, "with some lines above it: {below}");
    // Who scrolls on is left alone, also when a verdict comes that names no line.
    let moved = Event::PointerMoved(middle);
    let wheel = super::mouse::wheel(egui::MouseWheelUnit::Point, 900.0);
    assert!(!marked(source(2, 150, ""), CHANGED, vec![moved, wheel]).0);
    assert!(!marked(source(2, 150, "It did not end."), CHANGED, vec![]).0);
    // The next version, and the line that its compiler names.
    assert!(marked(source(3, 150, ""), CHANGED, vec![]).0);
    let log = "The compiler says:\nerror: box_filter/03_flat.cl:21:3: no";
    assert!(marked(source(3, 150, log), REFUSED, vec![]).0);
    assert!(marked(source(4, 199, ""), CHANGED, vec![]).0, "the last line");
    assert!(marked(source(4, 199, &log.replace("21", "200")), REFUSED, vec![]).0, "it has less room now");
}

/// The list and the log leave it little room.
#[test]
fn the_line_of_an_error_is_in_sight_below_a_long_list() {
    use crate::code::REFUSED;
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    fixture.kernels = edited();
    let first = fixture.kernels.versions[3].clone();
    fixture.kernels.versions.extend(std::iter::repeat_n(first, 6));
    let text = (0..60).map(|n| format!("int v{n};\n")).collect::<String>();
    let source = |version, log: &str| {
        let before = text.replace("int v21;", "int w;");
        Source::new("box_filter/03_flat.cl".to_owned(), &text, Some(&before)).of_version(version, log)
    };
    fixture.overlay.open[Panel::Kernels as usize] = true;
    let refused = std::mem::take(&mut fixture.kernels.versions[0].judged);
    fixture.kernels.source = Some(source(4, ""));
    (0..5).for_each(|_| drop(fixture.pass(vec![])));
    fixture.kernels.versions[0].judged = refused;
    let log = "The compiler says:\nbox_filter/03_flat.cl:22:3: error: no such\n   22 | int v21;\n      | ^\n1 error generated.";
    let error =
        Error::new("The kernel file 'box_filter/03_flat.cl' does not build for 'CPU'.", log, "Correct it.");
    fixture.kernels.versions[0].judged[0].verdict = Verdict::Refused(error);
    fixture.kernels.source = Some(source(4, log));
    // Beside the machine code, too.
    for machine_code in [false, true, false] {
        fixture.overlay.machine_code = machine_code;
        (0..30).for_each(|_| drop(fixture.pass(vec![])));
        let panel = fixture.ctx.read_response(panel::cover_id("kernels")).expect("it is shown").rect;
        let mark = fixture.rects.iter().find(|(_, filled)| *filled == REFUSED).expect("it is marked").0;
        let name = fixture.texts.iter().find(|(text, _)| text.starts_with("box_filter/03_flat.cl, 1 line"));
        let sight = panel.with_min_y(name.expect("it has a name").1.bottom());
        let is_seen = sight.contains_rect(mark.shrink2(vec2(20.0, 0.0)));
        assert!(is_seen, "{mark:?} in {sight:?}, machine code: {machine_code}");
    }
}

#[test]
fn what_was_overtaken_is_not_said_to_be_tried() {
    let mut fixture = Fixture::new(vec2(1280.0, 800.0));
    fixture.kernels = edited();
    for version in &mut fixture.kernels.versions[..2] {
        (version.judged, version.untried) = (Vec::new(), Untried::Now(3));
    }
    fixture.kernels.versions[2].untried = Untried::Now(2);
    fixture.overlay.open[Panel::Kernels as usize] = true;
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    for text in [
        "box_filter/03_flat.cl: is being tried",
        "box_filter/03_flat.cl: not tried, the next one came before",
        "common/mean.clh: flat exact, 8.00 ms, \u{2212}0.42 ms (2 more not tried)",
    ] {
        assert!(fixture.find(text).is_some(), "{text}: {:?}", fixture.texts);
    }
}

#[test]
fn what_cannot_be_tried_yet_says_what_it_waits_for() {
    let mut fixture = Fixture::new(vec2(1280.0, 800.0));
    fixture.kernels = edited();
    (fixture.kernels.versions[0].judged, fixture.kernels.versions[0].untried) =
        (Vec::new(), Untried::Unknown);
    (fixture.kernels.versions[2].judged, fixture.kernels.versions[2].untried) =
        (Vec::new(), Untried::Unknown);
    fixture.kernels.versions[3].files = vec!["box_filter/01_naive.cl".to_owned()];
    fixture.kernels.versions[3].untried = Untried::WhenChosen;
    fixture.overlay.open[Panel::Kernels as usize] = true;
    let info = machine::Machine::new().infos[0].clone();
    for (awaited, device, newest) in [
        (true, None, "is tried when the device is ready"),
        // Another one is being made ready beside it.
        (true, Some(info.clone()), "is tried when the device is ready"),
        (false, Some(info), "is tried with the next frame"),
        (false, None, "not tried, no OpenCL device runs"),
    ] {
        (fixture.devices.awaited, fixture.device) = (awaited, device);
        (0..3).for_each(|_| drop(fixture.pass(vec![])));
        for text in [
            &format!("box_filter/03_flat.cl: {newest}"),
            "common/mean.clh: not tried, the next one came before",
            "box_filter/01_naive.cl: each variant is tried when it is chosen",
        ] {
            assert!(fixture.find(text).is_some(), "{text}: {:?}", fixture.texts);
        }
        assert!(!fixture.shows("changes nothing"), "{:?}", fixture.texts);
    }
    fixture.kernels.versions[0].untried = Untried::Now(0);
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    assert!(fixture.find("box_filter/03_flat.cl: changes nothing that runs here").is_some());
    fixture.kernels.versions[0].files = vec!["box_filter/own.cl".to_owned()];
    fixture.kernels.versions[0].untried = Untried::OwnGone;
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    assert!(
        fixture.find("box_filter/own.cl: own.cl is gone, 'own' with it").is_some(),
        "{:?}",
        fixture.texts
    );
}

/// The conversion makes the picture whatever filters it: where it is the worse of both, its verdict is told.
#[test]
fn a_conversion_that_differs_or_is_refused_is_told_and_marked() {
    let mut fixture = Fixture::new(vec2(1280.0, 800.0));
    fixture.kernels = edited();
    fixture.device = Some(opencl::cl::DeviceInfo {
        kind: opencl::cl::DeviceKind::Gpu,
        ..machine::Machine::new().infos[0].clone()
    });
    fixture.overlay.open[Panel::Kernels as usize] = true;
    fixture.overlay.open[Panel::Stages as usize] = true;
    let mut sample = fixture.recorder.history().back().unwrap().clone();
    sample.stages[Stage::Convert as usize] = 1.5;
    (0..40).for_each(|n| {
        let presented_at = sample.presented_at + 0.04 * f64::from(n);
        fixture.recorder.push(FrameSample { presented_at, ..sample.clone() });
    });
    fixture.time += 10.0;
    let told = |fixture: &mut Fixture, verdict: Verdict, text: &str, marked: bool| {
        let newest = &mut fixture.kernels.versions[0];
        newest.files = vec!["common/convert.clh".to_owned()];
        let runs = !matches!(verdict, Verdict::Refused(_));
        let judged = |subject, verdict| Judged { runs, ..Judged::new(subject, verdict) };
        newest.judged = vec![
            judged(Subject::Variant(VariantId::Flat), Verdict::Exact),
            judged(Subject::Conversion, verdict),
        ];
        fixture.kernels.converts = Some(3);
        (0..3).for_each(|_| drop(fixture.pass(vec![])));
        assert!(fixture.shows(text), "{text}: {:?}", fixture.texts);
        assert_eq!(fixture.find("convert, differs").is_some(), marked, "{text}");
        assert!(marked || fixture.find("convert").is_some(), "{text}");
    };
    let report = MismatchReport { count: 77, total: 100, ..MismatchReport::default() };
    told(&mut fixture, Verdict::Exact, "common/convert.clh: flat exact", false);
    told(&mut fixture, Verdict::Differs(report.clone()), "conversion differs in 77 of 100 bytes", true);
    assert!(fixture.shows("The conversion differs: "), "{:?}", fixture.texts);
    let error = Error::new("It does not build.", "line 1\nline 2", "");
    told(&mut fixture, Verdict::Refused(error), "conversion: It does not build.", false);
    assert!(fixture.find("The conversion goes on with version 3.").is_some(), "{:?}", fixture.texts);
    // On a processor kernels convert for `planar` alone.
    fixture.device.as_mut().unwrap().kind = opencl::cl::DeviceKind::Cpu;
    told(&mut fixture, Verdict::Differs(report), "conversion differs in 77 of 100 bytes", false);
}

#[test]
fn versions_say_what_came_of_them_and_a_click_goes_back() {
    let mut fixture = Fixture::new(vec2(1280.0, 800.0));
    fixture.kernels = edited();
    fixture.overlay.open[Panel::Kernels as usize] = true;
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    for text in [
        "Edit the files in /home/user/kernels",
        "common/mean.clh: flat exact, 8.00 ms, \u{2212}0.42 ms",
        "box_filter/03_flat.cl: flat differs in 12,345 bytes, first red at (3, 4)",
        "'flat' goes on with version 3.",
        "as it began: flat \u{2013}",
        "box_filter/03_flat.cl, 1 line changed",
    ] {
        let all = || fixture.texts.iter().map(|(text, _)| text).collect::<Vec<_>>();
        assert!(fixture.find(text).is_some(), "{text}: {:?}", all());
    }
    assert!(fixture.texts.iter().any(|(text, _)| text.contains("unknown type name 'imt'")), "the log");
    assert_eq!(fixture.click("Rebuild"), [Action::RebuildKernels]);
    assert_eq!(fixture.click("3"), [Action::UseKernels(3)]);
    // What differs has no time in the table; what runs is what counts, not what was refused after it.
    assert!(fixture.kernels.differs(VariantId::Flat) && !fixture.kernels.differs(VariantId::Naive));
    // Nor what is newer than what the user has gone back to.
    for (version, runs) in fixture.kernels.versions.iter_mut().zip([false, false, true]) {
        version.judged.iter_mut().for_each(|judged| judged.runs = runs);
    }
    assert!(!fixture.kernels.differs(VariantId::Flat));
    // But beside it in a wipe.
    fixture.kernels.beside = Some((VariantId::Flat, 3));
    assert!(fixture.kernels.differs(VariantId::Version) && !fixture.kernels.differs(VariantId::Flat));
    fixture.kernels.beside = Some((VariantId::Flat, 2));
    assert!(!fixture.kernels.differs(VariantId::Version));
    // What was not measured has no number.
    fixture.kernels.versions[2].judged[0].change_ms = None;
    fixture.kernels.versions[3].ms = Some(9.5);
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    assert!(fixture.find("common/mean.clh: flat exact, 8.00 ms, \u{2013}").is_some(), "{:?}", fixture.texts);
    assert!(fixture.find("as it began: flat 9.50 ms").is_some(), "{:?}", fixture.texts);
    fixture.kernels = Kernels::default();
    (0..3).for_each(|_| drop(fixture.pass(vec![])));
    assert_eq!(fixture.click("Make an editable copy"), [Action::CopyKernels]);
}
