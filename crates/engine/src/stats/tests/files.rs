//! Tests of the statistics files.

use box_filter::named;
use std::collections::HashMap;

use super::*;

/// Returns the lines of CSV without the metadata.
fn csv_rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

#[test]
fn csv_has_a_row_for_each_frame_and_a_column_for_each_stage() {
    let scratch = Scratch::new("csv");
    let path = scratch.0.join("s.csv");
    export(&path, &three_frames(), &context()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let (comments, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    assert!(comments[0] == "# program: clreel 1" && comments[1].starts_with("# date: 20"), "{text}");
    assert_eq!(comments.last(), Some(&"# kernel: naive version 1, box_filter/01_naive.cl, 12ab, verified"));
    let rows: Vec<Vec<&str>> = rows.into_iter().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == 8 + Stage::ALL.len() + 26), "{text}");
    assert_eq!(
        rows[0][8 + Stage::ALL.len()..][..12],
        [
            "pack",
            "gl_texture",
            "gl_present",
            "gl_overlay",
            "width",
            "height",
            "switched",
            "filter_wall",
            "others",
            "beside",
            "compared",
            "beside_filter"
        ]
    );
    let none = ["", "", "", "false", ""];
    assert_eq!(rows[1][8 + Stage::ALL.len()..][..7], ["", "", "", "", "1280", "720", "false"]);
    assert_eq!(rows[1][8 + Stage::ALL.len() + 7..][..5], none);
    assert_eq!(rows[2][8 + Stage::ALL.len()..][..7], ["0.5000", "", "", "", "1280", "720", "true"]);
    assert_eq!(rows[2][8 + Stage::ALL.len() + 7..][..5], none);
    assert_eq!(rows[3][8 + Stage::ALL.len() + 6], "false");
    assert_eq!(rows[0][..4], ["frame", "pts_s", "presented_at_s", "interval_ms"]);
    assert_eq!(rows[0][8 + Stage::Filter as usize], "filter");
    assert_eq!(rows[1][..8], ["0", "0.000000", "0.000000", "", "off", "7", "false", "0"]);
    assert_eq!(
        (rows[0].last(), rows[1].last(), rows[2].last()),
        (Some(&"sound_lag"), Some(&""), Some(&"-3.2500"))
    );
    assert_eq!(rows[2][3..8], ["40.0000", "naive", "7", "true", "4"]);
    assert_eq!(rows[2][8 + Stage::Filter as usize], format!("{:.4}", 0.25 * FILTER));
    assert_eq!(scratch.names(), ["s.csv"], "nothing is left beside it");
}

/// Tests that the times of the cloth simulation have columns of their own next to the movie's stages, and appear once.
#[test]
fn an_armys_frame_is_told_beside_the_movies() {
    let scratch = Scratch::new("cloth");
    let mut recorder = Recorder::new(true);
    let ms = [0.25, 1.0, 2.0, 3.0, 4.0, f64::NAN, 0.5, f64::NAN];
    let army = ClothTimes { figures: 25, ms, on_host: [false, true, false, true, false], handovers: 2 };
    for cloth in [None, Some(Box::new(army))] {
        recorder.push(FrameSample { cloth, ..frame(0.0, 40.0, 1.0, named("flat")) });
    }
    let [csv, json] = ["s.csv", "s.json"].map(|name| {
        export(&scratch.0.join(name), &recorder, &context()).unwrap();
        fs::read_to_string(scratch.0.join(name)).unwrap()
    });
    let rows: Vec<Vec<&str>> = csv_rows(&csv).map(|line| line.split(',').collect()).collect();
    let told: Vec<_> = rows[0].iter().zip(&rows[2]).filter(|(name, _)| name.starts_with("cloth_")).collect();
    let wanted = [
        ("cloth_figures", "25"),
        ("cloth_acquire", "0.2500"),
        ("cloth_skin", "1.0000"),
        ("cloth_integrate", "2.0000"),
        ("cloth_distances", "3.0000"),
        ("cloth_drive", "4.0000"),
        ("cloth_write-back", ""),
        ("cloth_release", "0.5000"),
        ("cloth_copy", ""),
        ("cloth_on_host", "integrate drive"),
        ("cloth_handovers", "2"),
    ];
    assert_eq!(told.iter().map(|(name, value)| (**name, **value)).collect::<Vec<_>>(), wanted);
    let end = rows[1].len() - 14;
    assert_eq!((&rows[1][end..end + 11], &rows[1][end + 11..]), (&[""; 11][..], &["1", "", ""][..]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["frames"][0]["cloth"].is_null());
    let cloth = &json["frames"][1]["cloth"];
    assert_eq!((cloth["figures"].as_u64(), cloth["skin"].as_f64()), (Some(25), Some(1.0)));
    assert_eq!(cloth["handovers"], 2);
    assert!(cloth["write-back"].is_null() && cloth["on_host"] == serde_json::json!(["integrate", "drive"]));
    // The movie's stages include none of these times.
    let (with, without) = (&json["frames"][1], &json["frames"][0]);
    assert!(Stage::ALL.iter().all(|stage| with[stage.name()] == without[stage.name()]));
}

/// Tests that times of kernels before and after an edit are never mixed.
#[test]
fn each_version_of_the_kernels_is_a_setting_of_its_own() {
    let scratch = Scratch::new("versions");
    let mut recorder = Recorder::new(true);
    let beside = Some(SecondSetting { variant: named("flat"), radius: 3, compared: false });
    for (n, (first, beside)) in [(1, None), (2, None), (1, None), (2, beside)].into_iter().enumerate() {
        let versions = Versions { first, beside: 1 };
        let sample = frame(n as f64 * 0.04, 40.0, first as f64, named("flat"));
        recorder.push(FrameSample { beside, versions, ..sample });
    }
    let [csv, json] = ["s.csv", "s.json"].map(|name| {
        export(&scratch.0.join(name), &recorder, &context()).unwrap();
        fs::read_to_string(scratch.0.join(name)).unwrap()
    });
    assert!(csv_rows(&csv).next().unwrap().ends_with(",version,beside_version,sound_lag"));
    let ends: Vec<_> =
        csv_rows(&csv).skip(1).map(|row| row.rsplitn(4, ',').skip(1).take(2).collect::<Vec<_>>()).collect();
    assert_eq!(ends, [["", "1"], ["", "2"], ["", "1"], ["1", "2"]]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let told = |of: &serde_json::Value| {
        let numbers = ["version", "beside_version", "presented"].map(|name| of[name].as_u64());
        (numbers, of["beside"].as_str().map(str::to_owned), of["stages"]["filter"]["p50"].as_f64())
    };
    let wanted = [
        ([Some(1), None, Some(2)], None, Some(FILTER)),
        ([Some(2), None, Some(1)], None, Some(2.0 * FILTER)),
        ([Some(2), Some(1), Some(1)], Some("flat r=3".to_owned()), Some(2.0 * FILTER)),
    ];
    assert_eq!(json["settings"].as_array().unwrap().iter().map(told).collect::<Vec<_>>(), wanted);
}

/// Tests that the intervals of frames with two filters are not counted for a setting with one filter.
#[test]
fn frames_of_a_wipe_are_a_setting_of_their_own() {
    let scratch = Scratch::new("wipe");
    let mut recorder = Recorder::new(true);
    let beside = |variant, compared| Some(SecondSetting { variant, radius: 3, compared });
    let ways =
        [None, beside(named("fused"), false), beside(named("fused"), true), beside(VariantId::OFF, false)];
    for (n, way) in ways.into_iter().flat_map(|way| [way; 4]).enumerate() {
        let sample = frame(n as f64 * 0.04, 40.0, 1.0, named("flat"));
        recorder.push(FrameSample { beside: way, beside_filter_ms: way.map(|_| 2.5), ..sample });
        assert_eq!(recorder.shown.beside().map(|summary| summary.p50), way.map(|_| 2.5));
    }
    let [csv, json] = ["s.csv", "s.json"].map(|name| {
        export(&scratch.0.join(name), &recorder, &context()).unwrap();
        fs::read_to_string(scratch.0.join(name)).unwrap()
    });
    // The columns of the cloth simulation are empty.
    let ends: Vec<&str> = csv_rows(&csv)
        .skip(1)
        .step_by(4)
        .filter_map(|row| row.strip_suffix(",,,,,,,,,,,,1,,").or(row.strip_suffix(",,,,,,,,,,,,1,1,")))
        .collect();
    assert!(ends[0].ends_with(",,false,") && ends[1].ends_with(",fused r=3,false,2.5000"), "{ends:?}");
    assert!(
        ends[2].ends_with(",fused r=3,true,2.5000") && ends[3].ends_with(",off,false,2.5000"),
        "{ends:?}"
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let settings = json["settings"].as_array().unwrap();
    let told = |of: &serde_json::Value| {
        (of["beside"].as_str().map(str::to_owned), of["compared"] == true, of["presented"].as_u64())
    };
    let wanted = ways.map(|way| {
        (
            way.map(|way| {
                if way.variant == VariantId::OFF { "off".to_owned() } else { format!("{} r=3", way.variant) }
            }),
            way.is_some_and(|way| way.compared),
            Some(4),
        )
    });
    assert_eq!(settings.iter().map(told).collect::<Vec<_>>(), wanted);
    // The first interval of each setting is left out, because the setting has just changed.
    assert!(settings[1..].iter().all(|of| of["interval_ms"]["n"] == 3), "{settings:?}");
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
    // The interval after the change of the setting is in its row, and in no summary.
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

/// Exports the recorder. Returns the rows of the CSV file, keyed by column name, and the JSON document.
fn both(scratch: &Scratch, recorder: &Recorder) -> (Vec<HashMap<String, String>>, serde_json::Value) {
    for name in ["s.csv", "s.json"] {
        export(&scratch.0.join(name), recorder, &context()).unwrap();
    }
    let csv = fs::read_to_string(scratch.0.join("s.csv")).unwrap();
    let mut lines = csv_rows(&csv).map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    let rows = lines.map(|row| names.iter().cloned().zip(row).collect()).collect();
    (rows, serde_json::from_slice(&fs::read(scratch.0.join("s.json")).unwrap()).unwrap())
}

#[test]
fn what_was_not_measured_is_empty_and_what_was_not_done_is_zero() {
    let scratch = Scratch::new("unknown");
    for stage in Stage::ALL {
        let mut recorder = Recorder::new(true);
        let mut sample = frame(0.0, 40.0, 1.0, named("flat"));
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
        let sample = frame(at, 40.0, 0.25, named("glsl"));
        recorder.push(FrameSample { filter_by_wall: true, ..sample });
    }
    assert_eq!(recorder.shown.summary(Stage::Filter).unwrap().p50, 0.25 * FILTER, "the window shows it");
    let (rows, json) = both(&scratch, &recorder);
    assert_eq!((rows[0]["filter"].as_str(), rows[0]["filter_wall"].as_str()), ("", "1.5000"));
    let (frame, setting) = (&json["frames"][5], &json["settings"][0]);
    assert!(frame["filter"].is_null() && frame["filter_wall"] == 1.5, "{frame}");
    for all in [&json, setting] {
        assert!(all["stages"]["filter"].is_null(), "{all}");
        assert_eq!((&all["filter_wall_ms"]["p50"], &all["filter_wall_ms"]["n"]), (&1.5.into(), &6.into()));
    }
    assert_eq!(setting["noisy"], false);
    // A frame whose device time is known has no wall time.
    let mut recorder = Recorder::new(true);
    recorder.push(self::frame(0.0, 40.0, 0.25, named("flat")));
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
    push(&mut recorder, named("flat"), &[1.0; 8]);
    push(&mut recorder, named("naive"), &[1.0; 4]);
    push(&mut recorder, named("fused"), &[1.0, 1.0, 1.0, 1.0, 2.0]);
    recorder.set_others_share(Some(0.43));
    push(&mut recorder, named("separable"), &[1.0; 8]);
    recorder.set_others_share(Some(0.05));
    // The filter takes no time, so the intervals of the frames count.
    push(&mut recorder, VariantId::OFF, &[0.0; 8]);
    let summary = recorder.shown.summary(Stage::Take).unwrap();
    assert_eq!((summary.n, summary.noise), (8, None));
    let score = |id| recorder.shown.scores().of(id).unwrap().noise.map(|noise: Noise| noise.to_string());
    let (rows, json) = both(&scratch, &recorder);
    let wanted = [
        (named("flat"), None),
        (named("naive"), Some("Only 4 runs.")),
        (named("fused"), Some("P95 is 2.0 times p50.")),
        (named("separable"), Some("Other processes used 43 % of the machine.")),
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
    assert_eq!(csv_rows(&fs::read_to_string(scratch.0.join("s.csv")).unwrap()).count(), 1);
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
