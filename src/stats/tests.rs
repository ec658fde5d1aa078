//! Tests of the recorder and of what is written to files.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::ladders::box_filter::VariantId;
use crate::timing::Noise;

/// A frame at `at` seconds whose stages take 1, 2, 3 … times `unit` milliseconds.
/// What [`frame`] gives the filter for a unit of 1.
const FILTER: f64 = (Stage::Filter as usize + 1) as f64;

fn frame(at: f64, interval_ms: f64, unit: f64, variant: VariantId) -> FrameSample {
    FrameSample {
        pts: at,
        presented_at: at,
        interval_ms: Some(interval_ms),
        stages: std::array::from_fn(|n| (n + 1) as f64 * unit),
        filter_by_wall: false,
        pack_ms: None,
        gl: GlTimes::default(),
        late: false,
        dropped_before: 0,
        variant,
        radius: 7,
        size: (1280, 720),
        device: 0,
        others: None,
    }
}

fn context() -> ExportContext {
    ExportContext {
        movie: "clip \"one\".mp4".into(),
        width: 1280,
        height: 720,
        fps: Some(25.0),
        device: None,
        gl_renderer: "renderer".into(),
        sharing: "copy".into(),
        sharing_reason: "no device".into(),
        variant: VariantId::Off,
        radius: 7,
        unpaced: false,
    }
}

/// A directory of the test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clreel-stats-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn three_frames() -> Recorder {
    let mut recorder = Recorder::new(true);
    recorder.push(FrameSample { interval_ms: None, ..frame(0.0, 0.0, 0.5, VariantId::Off) });
    recorder.push(FrameSample {
        late: true,
        dropped_before: 4,
        pack_ms: Some(0.5),
        ..frame(0.04, 40.0, 0.25, VariantId::Naive)
    });
    recorder.push(frame(0.08, 40.5, 0.125, VariantId::Naive));
    recorder.overlay_repaint(16.0);
    recorder.overlay_repaint(18.0);
    recorder
}

#[test]
fn counters_add_up() {
    let recorder = three_frames();
    assert_eq!((recorder.presented(), recorder.late(), recorder.dropped()), (3, 1, 4));
}

#[test]
fn a_summary_covers_the_current_variant_and_radius_only() {
    let mut recorder = Recorder::new(false);
    assert_eq!(recorder.summary(Stage::Filter), None);
    for n in 0..10 {
        recorder.push(frame(f64::from(n) * 0.04, 40.0, 100.0, VariantId::Naive));
    }
    recorder.push(frame(0.40, 40.0, 1.0, VariantId::Flat));
    let filter = recorder.summary(Stage::Filter).unwrap();
    assert_eq!(
        (filter.n, filter.last, filter.max),
        (1, FILTER, FILTER),
        "the slow frames before the switch are out"
    );
    for (n, unit) in [4.0, 2.0, 3.0].into_iter().enumerate() {
        recorder.push(frame(0.44 + 0.04 * n as f64, 41.0, unit, VariantId::Flat));
    }
    let filter = recorder.summary(Stage::Filter).unwrap();
    assert_eq!(
        (filter.n, filter.last, filter.p50, filter.p95, filter.max),
        (4, 3.0 * FILTER, 2.0 * FILTER, 4.0 * FILTER, 4.0 * FILTER)
    );
    assert_eq!(filter.mean, 2.5 * FILTER);
    recorder.push(FrameSample { radius: 8, ..frame(0.6, 42.0, 1.0, VariantId::Flat) });
    assert_eq!(recorder.summary(Stage::Filter).unwrap().n, 1);
    assert_eq!(recorder.frame_interval(), None, "the switch's interval is nobody's");
    recorder.push(FrameSample { radius: 8, ..frame(0.64, 41.0, 1.0, VariantId::Flat) });
    assert_eq!(recorder.frame_interval().unwrap().max, 41.0);
    assert_eq!(recorder.history()[14].interval_ms, Some(42.0), "the graph shows the gap");
    for other in [
        FrameSample { size: (1280, 719), ..frame(0.7, 40.0, 1.0, VariantId::Flat) },
        FrameSample { device: 1, ..frame(0.8, 40.0, 1.0, VariantId::Flat) },
    ] {
        recorder.push(other);
        assert_eq!((recorder.summary(Stage::Filter).unwrap().n, recorder.frame_interval()), (1, None));
    }
}

#[test]
fn a_picture_filtered_anew_is_measured_but_is_no_frame() {
    let mut recorder = Recorder::new(true);
    assert!(recorder.shown().is_none());
    for n in 0..5 {
        recorder.push(frame(f64::from(n) * 0.04, 40.0, 1.0, VariantId::Fused));
    }
    // While it is being drawn nothing is known of it, and nothing is said of the one before.
    let count = recorder.shown_count();
    let again = frame(3.0, 2_800.0, 100.0, VariantId::Separable);
    recorder.begin(again.setting());
    assert_eq!((recorder.summary(Stage::Filter), recorder.shown_setting()), (None, None));
    assert_ne!(recorder.shown_count(), count);
    recorder.push_again(again);
    assert_eq!(recorder.shown().unwrap().variant, VariantId::Separable);
    let filter = recorder.summary(Stage::Filter).unwrap();
    assert_eq!((filter.n, filter.max), (1, 100.0 * FILTER));
    assert_eq!((recorder.frame_interval(), recorder.idle()), (None, None), "nothing of it was measured");
    assert_eq!((recorder.presented(), recorder.frames().len(), recorder.history().len()), (5, 5, 5));
    // OpenGL's times of the last frame come late, and are not this picture's.
    recorder.set_gl_times(4, GlTimes { present: Some(1.0), ..GlTimes::default() });
    assert_eq!(recorder.gl_summary(|gl| gl.present), None);
    // Playing goes on as it was filtered before: what was measured then is not mixed in.
    recorder.mark_discontinuity();
    recorder.push(frame(3.1, 40.0, 2.0, VariantId::Fused));
    assert_eq!(recorder.summary(Stage::Filter).unwrap().max, 2.0 * FILTER);
}

#[test]
fn scores_are_medians_that_survive_a_switch() {
    let mut recorder = Recorder::new(false);
    let mut at = 0.0;
    let mut push = |recorder: &mut Recorder, unit, variant, radius| {
        at += 0.04;
        recorder.push(FrameSample { radius, ..frame(at, 40.0, unit, variant) });
    };
    let at_7 = |r: &Recorder, variant| r.scores().of(variant).map(|s| (s.ms, s.n, s.is_at(7, (1280, 720))));
    push(&mut recorder, 1.0, VariantId::Off, 7);
    assert_eq!(at_7(&recorder, VariantId::Off), None);
    for unit in [900.0, 100.0, 101.0, 102.0, 103.0] {
        push(&mut recorder, unit, VariantId::Naive, 7);
    }
    assert_eq!(at_7(&recorder, VariantId::Naive), Some((102.0 * FILTER, 5, true)));
    assert_eq!(at_7(&recorder, VariantId::Fused), None);
    push(&mut recorder, 1.0, VariantId::Fused, 7);
    assert_eq!(at_7(&recorder, VariantId::Fused), Some((FILTER, 1, true)));
    // Back again: one cold frame does not stand for it.
    push(&mut recorder, 900.0, VariantId::Naive, 7);
    assert_eq!(at_7(&recorder, VariantId::Naive), Some((102.0 * FILTER, 5, true)));
    push(&mut recorder, 50.0, VariantId::Naive, 7);
    push(&mut recorder, 51.0, VariantId::Naive, 7);
    assert_eq!(at_7(&recorder, VariantId::Naive), Some((51.0 * FILTER, 3, true)));
    // Another radius: what was measured before is of earlier, until it is measured again.
    push(&mut recorder, 2.0, VariantId::Fused, 8);
    assert_eq!(at_7(&recorder, VariantId::Naive), Some((51.0 * FILTER, 3, true)));
    assert!(recorder.scores().of(VariantId::Fused).unwrap().is_at(8, (1280, 720)));
    assert!(!recorder.scores().of(VariantId::Naive).unwrap().is_at(8, (1280, 720)));
    assert!(!recorder.scores().of(VariantId::Naive).unwrap().is_at(7, (1280, 719)));
    // What was not measured is no score.
    let mut unknown = frame(at + 1.0, 40.0, 1.0, VariantId::Flat);
    unknown.stages[Stage::Filter as usize] = f64::NAN;
    recorder.push(unknown);
    assert_eq!(recorder.scores().of(VariantId::Flat), None);
    recorder.push(FrameSample { device: 1, ..frame(at + 2.0, 40.0, 1.0, VariantId::Native) });
    assert_eq!(recorder.scores().of(VariantId::Naive), None, "of another device");
    assert!(recorder.scores().of(VariantId::Native).is_some());
}

#[test]
fn a_state_says_what_happened() {
    let mut recorder = Recorder::new(false);
    let playing = Playing::default();
    let mut at = 0.0;
    let mut state = |late, dropped_before| {
        at += 0.04;
        recorder.push(FrameSample { late, dropped_before, ..frame(at, 40.0, 1.0, VariantId::Flat) });
        PlayState::of(playing, &recorder).to_string()
    };
    assert_eq!(state(false, 0), "Playing in time");
    assert_eq!(state(true, 0), "1 frame late");
    assert_eq!(state(true, 0), "2 frames late");
    assert_eq!(state(true, 3), "Too slow, 3 frames dropped");
    for _ in 0..24 {
        assert_ne!(state(false, 0), "Playing in time");
    }
    assert_eq!(state(false, 0), "Playing in time");
    let waiting = Playing { waiting: true, ..playing };
    assert_eq!(PlayState::of(waiting, &recorder), PlayState::Waiting);
    assert_eq!(PlayState::of(Playing { paused: true, ..waiting }, &recorder), PlayState::Paused);
    let opening = Playing { opening: true, paused: true, ..waiting };
    assert_eq!(PlayState::of(opening, &recorder), PlayState::Opening);
}

#[test]
fn a_summary_forgets_after_its_window_and_the_history_after_its_own() {
    let mut recorder = Recorder::new(false);
    recorder.push(frame(0.0, 40.0, 9.0, VariantId::Flat));
    recorder.push(frame(recorder::SUMMARY_S + 0.5, 40.0, 1.0, VariantId::Flat));
    assert_eq!(recorder.summary(Stage::Take).unwrap().n, 1);
    assert_eq!(recorder.history().len(), 2);
    recorder.push(frame(recorder::HISTORY_S + 0.25, 40.0, 1.0, VariantId::Flat));
    assert_eq!(recorder.history().len(), 2);
    for n in 0..2 * recorder::HISTORY_FRAMES {
        recorder.push(frame(20.0 + n as f64 * 1e-6, 0.001, 1.0, VariantId::Flat));
    }
    assert_eq!(recorder.history().len(), recorder::HISTORY_FRAMES);
    assert_eq!(recorder.first_frame(), (3 + recorder::HISTORY_FRAMES) as u64);
}

#[test]
fn idle_is_what_the_stages_leave() {
    let mut recorder = Recorder::new(false);
    recorder.push(frame(0.0, 100.0, 1.0, VariantId::Flat)); // stages: 1 + 2 + … + 11 = 66 ms
    assert_eq!(recorder.idle().unwrap().last, 34.0);
    recorder.push(frame(0.1, 30.0, 1.0, VariantId::Flat));
    assert_eq!(recorder.idle().unwrap().last, 0.0, "overlapping stages leave nothing, not less");
}

#[test]
fn a_discontinuity_costs_one_interval_of_each_kind() {
    let mut recorder = Recorder::new(true);
    recorder.push(frame(0.0, 40.0, 1.0, VariantId::Flat));
    recorder.overlay_repaint(16.0);
    recorder.mark_discontinuity();
    recorder.push(frame(9.0, 9000.0, 1.0, VariantId::Flat));
    recorder.overlay_repaint(9000.0);
    recorder.push(frame(9.04, 41.0, 1.0, VariantId::Flat));
    recorder.overlay_repaint(17.0);
    let intervals: Vec<_> = recorder.frames().iter().map(|s| s.interval_ms).collect();
    assert_eq!(intervals, [Some(40.0), None, Some(41.0)]);
    let repaint = recorder.repaint_interval().unwrap();
    assert_eq!((repaint.n, repaint.max), (2, 17.0));
}

#[test]
fn a_very_long_run_forgets_its_beginning_and_says_so() {
    let mut recorder = Recorder::with_limit(true, 5);
    for n in 0..8 {
        recorder.push(frame(f64::from(n), 40.0, 1.0, VariantId::Flat));
    }
    assert_eq!((recorder.frames().len(), recorder.forgotten(), recorder.presented()), (5, 3, 8));
    assert_eq!(recorder.first_frame(), 3);
    let scratch = Scratch::new("long");
    let path = scratch.0.join("s.json");
    export(&path, &recorder, &context()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["rows_forgotten"], 3);
    assert_eq!(json["frames"][0]["frame"], 3);
}

#[test]
fn times_of_opengl_come_later_and_go_to_their_frame() {
    let times = |ms| GlTimes { texture: None, present: Some(ms), overlay: Some(2.0 * ms) };
    for keep_all in [false, true] {
        let mut recorder = Recorder::with_limit(keep_all, 3);
        for n in 0..5 {
            recorder.push(frame(f64::from(n) * 0.04, 40.0, 1.0, VariantId::Flat));
        }
        // The oldest is kept in the history only, and one has not been presented yet.
        for (n, ms) in [(0, 0.5), (3, 3.0), (4, 4.0), (5, 5.0)] {
            recorder.set_gl_times(n, times(ms));
        }
        let present: Vec<_> = recorder.history().iter().map(|s| s.gl.present).collect();
        assert_eq!(present, [Some(0.5), None, None, Some(3.0), Some(4.0)]);
        let of_frames: Vec<_> = recorder.frames().iter().map(|s| s.gl.overlay).collect();
        assert_eq!(of_frames[of_frames.len() - 3..], [None, Some(6.0), Some(8.0)]);
        let summary = recorder.gl_summary(|gl| gl.present).unwrap();
        assert_eq!((summary.n, summary.last, summary.max), (3, 4.0, 4.0));
        assert_eq!(recorder.gl_summary(|gl| gl.texture), None);
    }
}

#[test]
fn csv_has_a_row_for_each_frame_and_a_column_for_each_stage() {
    let scratch = Scratch::new("csv");
    let path = scratch.0.join("s.csv");
    export(&path, &three_frames(), &context()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == 8 + Stage::ALL.len() + 9), "{text}");
    assert_eq!(
        rows[0][8 + Stage::ALL.len()..],
        [
            "pack",
            "gl_texture",
            "gl_present",
            "gl_overlay",
            "width",
            "height",
            "switched",
            "filter_wall",
            "others"
        ]
    );
    assert_eq!(rows[1][8 + Stage::ALL.len()..], ["", "", "", "", "1280", "720", "false", "", ""]);
    assert_eq!(rows[2][8 + Stage::ALL.len()..], ["0.5000", "", "", "", "1280", "720", "true", "", ""]);
    assert_eq!(rows[3][8 + Stage::ALL.len() + 6], "false");
    assert_eq!(rows[0][..4], ["frame", "pts_s", "presented_at_s", "interval_ms"]);
    assert_eq!(rows[0][8 + Stage::Filter as usize], "filter");
    assert_eq!(rows[1][..8], ["0", "0.000000", "0.000000", "", "off", "7", "false", "0"]);
    assert_eq!(rows[2][3..8], ["40.0000", "naive", "7", "true", "4"]);
    assert_eq!(rows[2][8 + Stage::Filter as usize], format!("{:.4}", 0.25 * FILTER));
    assert_eq!(scratch.names(), ["s.csv"], "nothing is left beside it");
}

#[test]
fn json_gives_back_what_was_measured() {
    let scratch = Scratch::new("json");
    let path = scratch.0.join("s.json");
    fs::write(&path, "something older").unwrap();
    export(&path, &three_frames(), &context()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["movie"]["file"], "clip \"one\".mp4");
    assert_eq!(json["device"], serde_json::Value::Null);
    assert_eq!((&json["presented"], &json["late"], &json["dropped"]), (&3.into(), &1.into(), &4.into()));
    assert_eq!(json["repaint_ms"]["max"], 18.0);
    // The switch's interval is in its row, and in no summary.
    assert_eq!(json["frames"][1]["interval_ms"], 40.0);
    assert_eq!((&json["interval_ms"]["n"], &json["interval_ms"]["max"]), (&1.into(), &40.5.into()));
    let naive = &json["settings"][1];
    assert_eq!(
        (&naive["variant"], &naive["radius"], &naive["presented"]),
        (&"naive".into(), &7.into(), &2.into())
    );
    assert_eq!((&naive["interval_ms"]["n"], &naive["stages"]["filter"]["n"]), (&1.into(), &2.into()));
    assert_eq!(json["settings"].as_array().unwrap().len(), 2);
    assert_eq!(json["stages"].as_object().unwrap().len(), Stage::ALL.len());
    assert_eq!(json["stages"]["filter"]["p50"], 0.25 * FILTER);
    assert_eq!(json["frames"].as_array().unwrap().len(), 3);
    assert_eq!(json["frames"][0]["interval_ms"], serde_json::Value::Null);
    assert_eq!(json["frames"][2]["filter"], 0.125 * FILTER);
    assert_eq!(json["frames"][1]["variant"], "naive");
}

/// The rows of a CSV by their columns' names, and the JSON of the same.
fn both(scratch: &Scratch, recorder: &Recorder) -> (Vec<HashMap<String, String>>, serde_json::Value) {
    for name in ["s.csv", "s.json"] {
        export(&scratch.0.join(name), recorder, &context()).unwrap();
    }
    let csv = fs::read_to_string(scratch.0.join("s.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    let rows = lines.map(|row| names.iter().cloned().zip(row).collect()).collect();
    (rows, serde_json::from_slice(&fs::read(scratch.0.join("s.json")).unwrap()).unwrap())
}

#[test]
fn what_was_not_measured_is_empty_and_what_was_not_done_is_zero() {
    let scratch = Scratch::new("unknown");
    for stage in Stage::ALL {
        let mut recorder = Recorder::new(true);
        let mut sample = frame(0.0, 40.0, 1.0, VariantId::Flat);
        sample.stages = [0.0; Stage::ALL.len()];
        sample.stages[stage as usize] = f64::NAN;
        recorder.push(sample);
        let (rows, json) = both(&scratch, &recorder);
        for other in Stage::ALL {
            let unknown = other == stage;
            assert_eq!(rows[0][other.name()], if unknown { "" } else { "0.0000" }, "{other:?} of {stage:?}");
            assert_eq!(json["frames"][0][other.name()].is_null(), unknown, "{other:?} of {stage:?}");
            assert_eq!(json["stages"][other.name()].is_null(), unknown);
            assert_eq!(json["settings"][0]["stages"][other.name()].is_null(), unknown);
        }
    }
}

#[test]
fn a_time_by_the_wall_does_not_stand_in_the_devices_column() {
    let scratch = Scratch::new("wall");
    let mut recorder = Recorder::new(true);
    for n in 0..6 {
        let at = f64::from(n) * 0.04;
        let sample = frame(at, 40.0, 0.25, VariantId::Glsl);
        recorder.push(FrameSample { filter_by_wall: true, ..sample });
    }
    assert_eq!(recorder.summary(Stage::Filter).unwrap().p50, 0.25 * FILTER, "the window shows it");
    let (rows, json) = both(&scratch, &recorder);
    assert_eq!((rows[0]["filter"].as_str(), rows[0]["filter_wall"].as_str()), ("", "1.5000"));
    let (frame, setting) = (&json["frames"][5], &json["settings"][0]);
    assert!(frame["filter"].is_null() && frame["filter_wall"] == 1.5, "{frame}");
    for all in [&json, setting] {
        assert!(all["stages"]["filter"].is_null(), "{all}");
        assert_eq!((&all["filter_wall_ms"]["p50"], &all["filter_wall_ms"]["n"]), (&1.5.into(), &6.into()));
    }
    assert_eq!(setting["noisy"], false);
    // What a device has timed has no time by the wall.
    let mut recorder = Recorder::new(true);
    recorder.push(self::frame(0.0, 40.0, 0.25, VariantId::Flat));
    let (rows, json) = both(&scratch, &recorder);
    assert_eq!((rows[0]["filter"].as_str(), rows[0]["filter_wall"].as_str()), ("1.5000", ""));
    assert!(json["settings"][0]["filter_wall_ms"].is_null() && json["frames"][0]["filter_wall"].is_null());
}

#[test]
fn each_setting_says_whether_its_times_are_noisy_and_why() {
    let scratch = Scratch::new("noisy");
    let mut recorder = Recorder::new(true);
    let mut at = 0.0;
    let mut push = |recorder: &mut Recorder, variant, units: &[f64]| {
        for unit in units {
            at += 0.04;
            recorder.push(frame(at, 40.0, *unit, variant));
        }
    };
    push(&mut recorder, VariantId::Flat, &[1.0; 8]);
    push(&mut recorder, VariantId::Naive, &[1.0; 4]);
    push(&mut recorder, VariantId::Fused, &[1.0, 1.0, 1.0, 1.0, 2.0]);
    recorder.note_others(Some(0.43));
    push(&mut recorder, VariantId::Separable, &[1.0; 8]);
    recorder.note_others(Some(0.05));
    // The filter takes no time, so the frames' own is looked at.
    push(&mut recorder, VariantId::Off, &[0.0; 8]);
    let summary = recorder.summary(Stage::Take).unwrap();
    assert_eq!((summary.n, summary.noise), (8, None));
    let score = |id| recorder.scores().of(id).unwrap().noise.map(|noise: Noise| noise.to_string());
    let (rows, json) = both(&scratch, &recorder);
    let wanted = [
        (VariantId::Flat, None),
        (VariantId::Naive, Some("Only 4 runs.")),
        (VariantId::Fused, Some("P95 is 2.0 times p50.")),
        (VariantId::Separable, Some("Other processes used 43 % of the machine.")),
    ];
    for (n, (id, why)) in wanted.into_iter().enumerate() {
        let told = &json["settings"][n]["noisy"];
        assert_eq!(told.as_str(), why, "{id}");
        assert!(why.is_some() || *told == false);
        assert_eq!(score(id).as_deref(), why, "{id}");
    }
    assert_eq!(json["settings"][4]["noisy"], false);
    assert_eq!((rows[0]["others"].as_str(), rows[17]["others"].as_str()), ("", "0.4300"));
    assert_eq!(json["frames"][17]["others"], 0.43);
}

#[test]
fn nothing_measured_is_a_valid_file() {
    let scratch = Scratch::new("empty");
    for name in ["s.csv", "s.json"] {
        export(&scratch.0.join(name), &Recorder::new(true), &context()).unwrap();
    }
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(scratch.0.join("s.json")).unwrap()).unwrap();
    assert_eq!(
        (&json["interval_ms"], &json["repaint_ms"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(fs::read_to_string(scratch.0.join("s.csv")).unwrap().lines().count(), 1);
}

#[test]
fn a_missing_directory_is_named() {
    let scratch = Scratch::new("missing");
    let path = scratch.0.join("no/such/place.csv");
    let error = export(&path, &three_frames(), &context()).unwrap_err();
    assert!(error.what.contains("place.csv"), "{error}");
    assert!(error.hint.contains("folder"), "{error}");
    assert!(export(&scratch.0.join("s.txt"), &three_frames(), &context()).is_err());
}

/// `/dev/full` is a disk with no space left.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_device_survives() {
    use std::os::unix::fs::FileTypeExt;
    let scratch = Scratch::new("full");
    for name in ["s.csv", "s.json"] {
        let path = scratch.0.join(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = export(&path, &three_frames(), &context()).unwrap_err();
        assert!(error.hint.contains("space"), "{error}");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert_eq!(scratch.names().len(), 2, "nothing is left beside them");
}
