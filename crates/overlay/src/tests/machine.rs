//! Tests of the panels of devices, tuning, the timeline and the Lab.

use super::lab::lab;
use super::*;
use base::device::{DeviceInfo, DeviceKind};
use base::timing::Series;
use base::timing::noise::Noisy;
use box_filter::{Config, named};
use ladder::results::{RowReport, RunReport};
use ladder::tune::Status;
use ladders::box_filter::Trial;
use stats::{Lane, Sharing, Span};
use std::time::{Duration, Instant};

pub(super) fn device_info(index: usize, name: &str) -> DeviceInfo {
    DeviceInfo {
        index,
        name: name.into(),
        driver: "1.2".into(),
        kind: DeviceKind::Gpu,
        units: 132,
        clock_mhz: 1980,
        global_memory_bytes: 3 << 29,
        ..DeviceInfo::made_up()
    }
}

/// Returns a reference that is valid until the tests end.
fn leak<T: 'static>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Returns the data of the panel of devices: a device in use, one that failed, one that is being initialized, and a driver that
/// is not used.
pub(super) fn device_list(is_pending: bool) -> DeviceList<'static> {
    let row = |name, sharing, state, failure| {
        let info = leak(device_info(0, name));
        DeviceRow { info, sharing, state, failure }
    };
    let broken = leak(Error::new("It broke.", "The reason.", ""));
    let copy = leak(Sharing::copy("the driver cannot"));
    let rows = leak([
        row("First", Some(&Sharing::ZeroCopy), DeviceState::InUse, None),
        row("Second", Some(copy), DeviceState::Idle, Some(broken)),
        row("Third", None, DeviceState::Preparing, None),
    ]);
    let remarks = leak(["bad.icd: skipped. It crashed.".to_owned()]);
    DeviceList { rows: Some(rows), remarks, is_pending }
}

/// Returns the state of a search for the fastest configuration, with some trials, of which one has this status.
pub(super) fn searched(status: Status) -> Tuning {
    let code = named("running-sum").code(DeviceKind::Cpu).unwrap();
    let trial = |x, status| Trial {
        variant: "running-sum",
        config: Config::new(code, DeviceKind::Cpu).with("STRIP_X", x),
        compile_ms: Some(9.0),
        status,
        median_ms: None,
        is_kept: false,
        noise: None,
    };
    let trials = vec![trial(4096, Status::Scored(2.0)), trial(64, Status::Scored(3.0)), trial(32, status)];
    Tuning {
        state: JobState::Running("running-sum STRIP_X=128".into()),
        case: Some(((1280, 720), 7)),
        settings: None,
        radii: (4, 15),
        trials,
        max_trials: 40,
        copy_ms: None,
    }
}

#[test]
fn the_devices_tell_what_is_known_in_each_column_and_a_click_changes_to_one() {
    for size in [vec2(1280.0, 720.0), vec2(640.0, 500.0)] {
        let mut fixture = Fixture::new(size);
        assert_eq!(fixture.choose("Devices"), [Action::Toggle(Panel::Devices)], "{size}");
        fixture.overlay.panels.toggle(Panel::Devices);
        fixture.devices = device_list(true);
        // The second pass has the height that the first one found.
        fixture.settle();
        fixture.assert_shows(&[
            "0: First",
            "1: Second",
            "2: Third",
            "in use",
            "initializing",
            "Platform: GPU, 132 units at 1980 MHz, 1.5 GiB. OpenCL 3.0, driver 1.2",
            "Shares textures with OpenGL",
            "Frames are copied to OpenGL: the driver cannot",
            "Sharing: being tested in a child process",
            "It broke. The reason.",
            "bad.icd: skipped. It crashed.",
        ]);
        for (n, name) in ["0: First", "1: Second", "2: Third"].into_iter().enumerate() {
            assert_eq!(fixture.click(name), [Action::SetDevice(n)], "{size}");
        }
        // The panel of conversions may have no button of its own where there is no room.
        let asked = fixture.click("Check the type conversions of the device in use");
        assert_eq!(asked, [Action::Toggle(Panel::Conversions)], "{size}");
        fixture.press("Fold Devices");
        assert!(fixture.find("Devices").is_some() && fixture.find("0: First").is_none());
        assert_eq!(fixture.click("Close Devices"), [Action::Toggle(Panel::Devices)]);
    }

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.change(|s| (s.open[Panel::Devices as usize], s.column.width) = (true, Some(1.0)));
    fixture.devices = DeviceList { remarks: &[], ..device_list(true) };
    fixture.settle();
    fixture.assert_shows(&["0: First", "in use", "2: Third", "initializing"]);
}

#[test]
fn a_change_of_device_is_shown_and_that_there_is_none_is_said_at_the_end() {
    let info = device_info(0, "First");
    let row = |state| [DeviceRow { info: &info, sharing: None, state, failure: None }];
    let (preparing, in_use) = (row(DeviceState::Preparing), row(DeviceState::InUse));
    for visible in [true, false] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.visible = visible);
        fixture.devices = DeviceList { rows: Some(&preparing), remarks: &[], is_pending: true };
        fixture.pass(vec![]);
        assert!(fixture.find("initializing").is_none(), "nobody asked");
        fixture.overlay.panels.show_devices();
        fixture.pass(vec![]);
        fixture.assert_shows(&["initializing"]);
        for _ in 0..3 {
            fixture.wait(60.0);
            fixture.assert_shows(&["initializing"]);
        }
        // A paused window may not be drawn between the last pass with the old state and the device's first picture.
        fixture.time += 60.0;
        fixture.devices = DeviceList { rows: Some(&in_use), remarks: &[], is_pending: false };
        fixture.pass(vec![]);
        fixture.assert_shows(&["in use"]);
        fixture.time += 60.0;
        fixture.settle();
        assert!(fixture.find("in use").is_none() && !fixture.overlay.is_device_list_visible());
    }

    let none = "no OpenCL device";
    for stages_open in [false, true] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.open[Panel::Stages as usize] = stages_open);
        fixture.devices = DeviceList { rows: None, remarks: &[], is_pending: true };
        fixture.settle();
        let places = if stages_open { 2 } else { 1 };
        assert_eq!((fixture.count(none), fixture.count("searching for OpenCL devices")), (0, places));
        fixture.devices = DeviceList { rows: Some(&preparing), remarks: &[], is_pending: true };
        fixture.pass(vec![]);
        assert_eq!((fixture.count(none), fixture.count("initializing the OpenCL device")), (0, places));
        fixture.devices = DeviceList { rows: Some(&[]), remarks: &[], is_pending: false };
        fixture.pass(vec![]);
        assert_eq!(fixture.count(none), places, "{:?}", fixture.texts);
    }
}

#[test]
fn a_search_is_shown_when_it_begins_and_its_heat_map_has_texts() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.panels.show_tuning();
    fixture.pass(vec![]);
    assert!(fixture.find("Tuning").is_some() && !fixture.overlay.panels.is_open(Panel::Tuning));
    // The panel's button closes it, and opens it permanently.
    fixture.set(|f| f.overlay.panels.toggle(Panel::Tuning));
    assert!(fixture.find("Tuning").is_none() && !fixture.overlay.panels.is_open(Panel::Tuning));
    fixture.overlay.panels.toggle(Panel::Tuning);
    fixture.overlay.panels.show_tuning();
    fixture.pass(vec![]);
    assert!(fixture.find("Tuning").is_some() && fixture.overlay.panels.is_open(Panel::Tuning));

    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.set(|f| f.tuning = searched(Status::Failed("no".into())));
        assert!(fixture.find("Tuning").is_none(), "it is closed at first");
        fixture.open(Panel::Tuning);
        for text in ["1.00", "1.50", "F", "STRIP_Y", "4096"] {
            let at = fixture.reach("tuning", text);
            assert!(fixture.window().contains_rect(at), "'{text}' at {at} in {size}");
        }
        fixture.reach("tuning", "Stop");
        assert_eq!(fixture.click("Stop"), [Action::StopTuning]);
        fixture.set(|f| f.tuning.state = JobState::Done);
        assert_eq!(fixture.click("Tune now"), [Action::TuneNow]);
        assert_eq!(fixture.click("Close Tuning"), [Action::Toggle(Panel::Tuning)]);
    }
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.tuning = searched(Status::Abandoned(9.0));
    fixture.open(Panel::Tuning);
    assert!(fixture.find("A").is_some() && fixture.find("F").is_none());
    // A neighbour may have had a faster single run than the best of the final runs.
    (fixture.tuning.trials[0].median_ms, fixture.tuning.trials[0].is_kept) = (Some(2.1), true);
    fixture.tuning.trials[1].status = Status::Scored(1.94);
    fixture.settle();
    fixture.assert_shows(&["0.97"]);
    fixture.assert_contains(&["Below 1.00: not shown to be faster"]);
}

#[test]
fn the_search_and_the_devices_are_folded_by_their_titles() {
    for size in SIZES {
        let panels = [("Tuning", Panel::Tuning), ("Devices", Panel::Devices), ("Timeline", Panel::Timeline)];
        for (title, panel) in panels {
            let mut fixture = Fixture::new(size);
            fixture.tuning = searched(Status::Abandoned(9.0));
            fixture.open(panel);
            let docked = fixture.find(title).unwrap();
            fixture.press(&format!("Fold {title}"));
            assert_eq!(fixture.overlay.saved_state().folded[panel as usize], Some(true), "{title} at {size}");
            // While a search runs, the folded panel shows its progress.
            let folded = if panel == Panel::Tuning { "Tuning, 3 of at most 40" } else { title };
            assert!(fixture.find(folded).is_some(), "{title} at {size}");
            assert!(fixture.find("Stop").is_none() && fixture.find("Searching for devices.").is_none());
            fixture.press(&format!("Unfold {folded}"));
            assert_eq!(fixture.overlay.saved_state().folded[panel as usize], Some(false));

            fixture.settle();
            assert_eq!(fixture.find(title), Some(docked), "{title} at {size}");
        }
    }
}

#[test]
fn the_last_frames_are_shown_on_one_axis_with_what_ran_at_once() {
    let base = Instant::now();
    let span = |stage, lane, from: u64, to: u64| {
        let at = |ms| base + Duration::from_millis(ms);
        Span { stage, lane, from: at(from), to: at(to) }
    };
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.pass(vec![]);
        assert!(fixture.find("Timeline").is_none(), "it is closed at first");
        fixture.open(Panel::Timeline);
        assert!(fixture.find("No frames yet.").is_some(), "samples without spans are no frames here");
        let mut sample = fixture.recorder.history()[0].clone();
        let first = vec![span(Stage::Filter, Lane::Device, 0, 30)];
        let second =
            vec![span(Stage::Upload, Lane::Upload, 20, 30), span(Stage::Filter, Lane::Device, 30, 50)];
        for spans in [first, second] {
            sample.stages.spans = spans;
            fixture.recorder.push(sample.clone());
        }
        fixture.pass(vec![]);
        // The legend names the stages that occur, and the filter's kernels.
        for text in ["upload", "filter: naive"] {
            assert!(size == SIZES[1] || fixture.find(text).is_some(), "{text}: {:?}", fixture.texts);
        }
        assert!(!fixture.shows("convert"), "there was none");
        fixture.assert_inside(&["n", "n \u{2212} 1", "two frames overlap for 10.00 ms", "0 ms", "20"]);
        fixture.set(|f| f.correction = Some(video::color::Correction::NEUTRAL));
        assert_eq!(fixture.click("Close Colour correction"), [Action::ToggleCorrection], "at {size}");
        fixture.correction = None;
        // The controls below stay free.
        assert_eq!(fixture.click("Pause"), [Action::TogglePause], "at {size}");
        assert_eq!(fixture.click("Close Timeline"), [Action::Toggle(Panel::Timeline)]);
    }
}

#[test]
fn a_click_on_a_spike_freezes_its_frame_until_it_is_let_go() {
    const FROZEN: &str = "Timeline: frame at 0:01.2 (Esc to unfreeze)";
    for stages in [false, true] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.open[Panel::Stages as usize] = stages);
        let from = Instant::now();
        fixture.push_like(60, |n, sample| {
            let ms = if n == 30 { 300 } else { 4 };
            sample.pts = n as f64 * 0.04;
            sample.stages.times[Stage::Filter as usize] = ms as f64;
            let to = from + Duration::from_millis(ms);
            sample.stages.spans = vec![Span { stage: Stage::Filter, lane: Lane::Device, from, to }];
        });
        fixture.settle();
        // The bars reach from the graph's left to its right edge; the newest frame's ends there.
        let id: &str = if stages { "stage-graph" } else { "filter-graph" };
        let plot = fixture.harness.ctx.read_response(egui::Id::unique(id)).unwrap().rect;
        let seconds = if stages { 5.0 } else { 10.0 };
        let x = plot.right() - plot.width() * (29.5 * 0.04 / seconds) as f32;
        let spike = pos2(x, plot.bottom() - 2.0);
        let actions = fixture.click_at(spike);
        assert_eq!(actions, [Action::Freeze(70)], "the fortieth and thirty more");
        let freeze = |fixture: &mut Fixture| {
            let State { overlay, recorder, .. } = fixture.harness.state_mut();
            overlay.panels.freeze(70, recorder);
            fixture.settle();
            fixture.assert_shows(&[FROZEN]);
            assert!(fixture.find("n \u{2212} 2").is_some() && fixture.find("No frames yet.").is_none());
        };
        freeze(&mut fixture);
        // New frames change nothing, nor does a click on the panel.
        fixture.push_like(1, |_, sample| sample.stages.spans.clear());
        fixture.click_text("n");
        assert!(fixture.overlay.panels.is_frozen());
        fixture.assert_shows(&[FROZEN]);
        // The bar of another frame takes its place, beside the column with the timeline.
        let plot = fixture.harness.ctx.read_response(egui::Id::unique(id)).unwrap().rect;
        let other = pos2(plot.right() - plot.width() * (20.5 * 0.04 / seconds) as f32, plot.bottom() - 2.0);
        assert_eq!(fixture.click_at(other).len(), 1);
        assert!(fixture.overlay.panels.is_frozen(), "the action is the window's to do");
        fixture.click_text("clip.mp4");
        assert!(!fixture.overlay.panels.is_frozen());
        fixture.pass(vec![]);
        assert!(fixture.find(FROZEN).is_none());
        // The closing button and the key leave nothing open.
        freeze(&mut fixture);
        fixture.overlay.panels.toggle(Panel::Timeline);
        assert!(!fixture.overlay.panels.is_frozen() && !fixture.shows_timeline());
        freeze(&mut fixture);
        fixture.overlay.panels.unfreeze();
        assert!(!fixture.shows_timeline(), "it was closed before");
        // A frame that is too old to be kept is not shown.
        let State { overlay, recorder, .. } = fixture.harness.state_mut();
        overlay.panels.freeze(1_000, recorder);
        assert!(!fixture.overlay.panels.is_frozen());
    }
}

/// Returns a Lab in this state with four rows: a fast variant, a noisy one, one that cannot run, and one that was not measured
/// yet.
pub(super) fn measured(state: JobState) -> Lab {
    let time = |ms: f64| Series::of(&[ms; 9]);
    let row = |name: &str, ms: Option<f64>| RowReport {
        device_ms: ms.and_then(time),
        gflop_s: ms.map(|ms| 268.4 / ms),
        ..RowReport::unknown(name)
    };
    let mut rows =
        vec![row("serial", Some(80.0)), row("naive", Some(120.0)), row("constant", None), row("auto", None)];
    rows[1].noisy = Noisy(Some("Other processes used 40 % of the machine.".to_owned()));
    (rows[2].outcome, rows[2].reason) = ("unsupported".to_owned(), Some("No room.".to_owned()));
    Lab {
        state,
        case: Some(("matmul", "256,256,256")),
        device: "First".to_owned(),
        steps: (17, 24),
        run: RunReport {
            peaks: vec![row("multiply-adds alone", Some(2.0))],
            variants: rows,
            ..RunReport::default()
        },
        ..Lab::default()
    }
}

#[test]
fn the_lab_shows_nothing_that_was_not_measured_and_factors_of_what_was() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.open_matmul();
        fixture.settle();
        let variants = (ladders::all()[0].variants)().len();
        // Texts that scroll out of a low window are not painted.
        let unknown = fixture.count("\u{2013}");
        assert!(unknown > 0 && (size != SIZES[0] || unknown >= 2 * variants), "{unknown} at {size}");
        let want = Action::Measure { ladder: "matmul", size: "256,256,256" };
        assert_eq!(fixture.click("Pause and measure"), [want, Action::TogglePause], "{size}");
        assert_eq!(fixture.click("Close Lab"), [Action::Toggle(Panel::Lab)]);
    }
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.paused = true;
    fixture.open_matmul();
    fixture.set(|f| {
        f.lab = Lab { left_s: Some(31.4), ..measured(JobState::Running("timing, round 3".to_owned())) };
    });
    fixture.assert_shows(&[
        "step 18 of 24, about 31 s left: timing, round 3",
        "(multiply-adds alone)",
        "80.0",
        "1",
        "~0.667",
        "unsupported",
    ]);
    assert_eq!(fixture.click("Stop"), [Action::StopMeasuring]);
    // Of another size there are no results.
    fixture.press("512\u{b3}");
    assert!(fixture.find("80.0").is_none() && fixture.find("panels").is_some());
    fixture.set(|f| f.lab.state = JobState::Done);
    let want = Action::Measure { ladder: "matmul", size: "512,512,512" };
    assert_eq!(fixture.click("Measure"), [want]);
    fixture.click("vector add");
    fixture.press("65,536");
    let want = Action::Measure { ladder: "vector_add", size: "65536" };
    assert_eq!(fixture.click("Measure"), [want]);
}

#[test]
fn the_lab_says_what_is_wrong_why_it_waits_and_what_it_disturbs() {
    let mut fixture = lab(JobState::Done);
    let wrong = |row: &mut RowReport, outcome: &str, reason: &str| {
        (row.outcome, row.reason, row.device_ms) = (outcome.to_owned(), Some(reason.to_owned()), None);
    };
    wrong(&mut fixture.lab.run.variants[1], "mismatch", "3 of 9 floats differ");
    wrong(&mut fixture.lab.run.variants[3], "failed", "It does not build.\n  Line 7.");
    wrong(&mut fixture.lab.run.peaks[0], "failed", "It did not end.");
    fixture.settle();
    fixture.assert_shows(&["naive: 3 of 9 floats differ", "auto: It does not build.", "mismatch", "80.0"]);
    fixture.assert_shows(&["multiply-adds alone: It did not end.", "(multiply-adds alone)"]);
    // An unsupported variant is no fault.
    assert!(!fixture.shows("No room.") && !fixture.shows("120"), "{:?}", fixture.texts);

    for (state, part) in [
        (JobState::Waiting(Wait::Plays), "waiting: the movie is playing. Pause to continue (Space)."),
        (
            JobState::Waiting(Wait::Check),
            "waiting: type conversions are being checked. Continues afterwards.",
        ),
        (JobState::Waiting(Wait::Filter), "waiting: the filter is running. Continues afterwards."),
        (JobState::Ending(Wait::Plays), "Finishing a step, which affects the movie's times"),
        (JobState::Failed("It does not answer.".to_owned()), "It does not answer."),
        (JobState::Done, "Which: naive."),
    ] {
        let mut fixture = lab(state);
        fixture.set(|f| f.lab.run.remark = Some("Which: naive.".to_owned()));
        assert!(fixture.shows(part), "{part}: {:?}", fixture.texts);
    }
}

impl Fixture<'_> {
    /// Runs a pass, and returns true if the panel of the timeline is on the screen.
    fn shows_timeline(&mut self) -> bool {
        self.pass(vec![]);
        self.shows("Timeline")
    }
}

#[test]
fn the_lab_marks_variants_that_were_measured_with_edited_kernels() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.open_matmul();
    let mut lab = measured(JobState::Done);
    for (row, hash) in lab.run.variants.iter_mut().zip(["1", "2"]) {
        let (file, hash) = ("matmul/01_naive.cl".to_owned(), hash.to_owned());
        row.kernel = Some(compute::KernelFile { file, hash, filter: None });
    }
    lab.edited.insert("2".to_owned(), 5);
    fixture.set(|f| f.lab = lab);
    fixture.assert_shows(&["serial", "naive, version 5"]);
}
