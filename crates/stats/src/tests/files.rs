//! Tests of the statistics files.

use std::collections::HashMap;

use super::*;
use serde_json::{Value, json};

/// Exports the recorder. Returns the rows of the CSV file, keyed by column name, and the JSON document.
pub(super) fn both(recorder: &Recorder) -> (Vec<HashMap<String, String>>, Value) {
    let folder = Folder::new("stats-both");
    let [csv, json] = ["s.csv", "s.json"].map(|name| {
        export(&folder.file(name), recorder, &ExportContext::made_up()).unwrap();
        fs::read_to_string(folder.file(name)).unwrap()
    });
    let lines = csv.lines().filter(|line| !line.starts_with('#'));
    let mut lines = lines.map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    let rows = lines.map(|row| names.iter().cloned().zip(row).collect()).collect();
    (rows, serde_json::from_str(&json).unwrap())
}

#[test]
fn csv_has_a_row_for_each_frame_and_a_column_for_each_stage() {
    let folder = Folder::new("stats-csv");
    let path = folder.file("s.csv");
    export(&path, &three_frames(), &ExportContext::made_up()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let (comments, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    assert!(comments[0] == "# program: clreel 1" && comments[1].starts_with("# date: 20"), "{text}");
    assert_eq!(comments.last(), Some(&"# kernel: naive version 1, box_filter/01_naive.cl, 12ab, verified"));
    let names = Stage::ALL.map(Stage::name).join(",");
    let cloth = ["figures"].iter().chain(&ClothTimes::NAMES).chain(&["on_host", "handovers"]);
    let cloth = cloth.map(|name| format!("cloth_{name}")).collect::<Vec<_>>().join(",");
    let header = format!(
        "frame,pts_s,presented_at_s,interval_ms,variant,radius,late,dropped_before,{names},pack,gl_texture,gl_present,gl_overlay,width,\
         height,switched,filter_wall,others,beside,compared,beside_filter,{cloth},version,beside_version,sound_lag,stack_filters"
    );
    let row = |first: &str, unit: f64, pack: &str, switched: bool, sound_lag: &str| {
        let stages = Stage::ALL.map(|stage| format!("{:.4}", (stage as usize + 1) as f64 * unit)).join(",");
        // Neither the second side's filter nor the cloth simulation has times.
        let none = [""; 12].join(",");
        format!("{first},{stages},{pack},,,,1280,720,{switched},,,,false,{none},1,,{sound_lag},")
    };
    let wanted = [
        header,
        row("0,0.000000,0.000000,,off,7,false,0", 0.5, "", false, ""),
        row("1,0.040000,0.040000,40.0000,naive,7,true,4", 0.25, "0.5000", true, "-3.2500"),
        row("2,0.080000,0.080000,40.5000,naive,7,false,0", 0.125, "", false, ""),
    ];
    assert_eq!(rows, wanted);
    assert_eq!(file_names(&folder), ["s.csv"], "nothing is left beside it");
    let error =
        export(&folder.file("no/such/place.csv"), &three_frames(), &ExportContext::made_up()).unwrap_err();
    assert!(error.what.contains("place.csv") && error.hint.contains("folder"), "{error}");
    assert!(export(&folder.file("s.txt"), &three_frames(), &ExportContext::made_up()).is_err());
}

/// Tests that the times of the cloth simulation have columns of their own next to the movie's stages, and appear once.
#[test]
fn an_armys_frame_is_told_beside_the_movies() {
    let mut recorder = Recorder::new(true);
    let ms = [0.25, 1.0, 2.0, 3.0, 4.0, f64::NAN, 0.5, f64::NAN];
    let army = ClothTimes { figures: 25, ms, on_host: [false, true, false, true, false], handovers: 2 };
    for cloth in [None, Some(Box::new(army))] {
        recorder.push(FrameSample { cloth, ..frame(0.0, 40.0, 1.0, named("flat")) });
    }
    let (rows, json) = both(&recorder);
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
    assert_eq!(rows[0].keys().filter(|name| name.starts_with("cloth_")).count(), wanted.len());
    assert!(
        wanted.iter().all(|(name, value)| rows[0][*name].is_empty() && rows[1][*name] == *value),
        "{rows:?}"
    );
    let (without, with) = (&json["frames"][0], &json["frames"][1]);
    let cloth = json!({
        "figures": 25, "acquire": 0.25, "skin": 1.0, "integrate": 2.0, "distances": 3.0, "drive": 4.0, "write-back": null,
        "release": 0.5, "copy": null, "on_host": ["integrate", "drive"], "handovers": 2,
    });
    assert_eq!((&without["cloth"], &with["cloth"]), (&Value::Null, &cloth));
    // The movie's stages include none of these times.
    assert!(Stage::ALL.iter().all(|stage| with[stage.name()] == without[stage.name()]));
}

/// Tests that times of kernels before and after an edit are never mixed.
#[test]
fn each_version_of_the_kernels_is_a_setting_of_its_own() {
    let mut recorder = Recorder::new(true);
    let beside = Some(SecondSetting { variant: named("flat"), settings: 3.into(), compared: false });
    for (n, (version, beside)) in [(1, None), (2, None), (1, None), (2, beside)].into_iter().enumerate() {
        let mut sample = frame(n as f64 * 0.04, 40.0, version as f64, named("flat"));
        sample.setting = Setting { version, beside, beside_version: beside.map(|_| 1), ..sample.setting };
        recorder.push(sample);
    }
    let (rows, json) = both(&recorder);
    let versions = rows.iter().map(|row| [&*row["version"], &*row["beside_version"]]).collect::<Vec<_>>();
    assert_eq!(versions, [["1", ""], ["2", ""], ["1", ""], ["2", "1"]]);
    let told = |of: &Value| {
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

/// Tests that the settings of a filter of a folder are written with their names, in place of the radius.
#[test]
fn filters_of_folders_have_names_of_settings() {
    let parameters = "parameters.gain = { type = \"float\", range = [0.25, 8.0], default = 1.0 }\n\
                      parameters.side = { type = \"int\", range = [1, 9], default = 3, unit = \"px\" }";
    let filter = Filter::made_up("edges", parameters);
    let (variant, settings) =
        (filter.initial(), filter.defaults().with(&filter.description.parameters, 0, 1.5));
    let mut recorder = Recorder::new(true);
    recorder.push(frame(0.0, 40.0, 1.0, named("flat")));
    let beside = Some(SecondSetting { variant, settings, compared: false });
    recorder.push(with(frame(0.04, 40.0, 1.0, variant), |sample| {
        sample.setting = Setting { settings, beside, ..sample.setting };
    }));
    let (_, json) = both(&recorder);
    let named = json!({ "gain": 1.5, "side": 3 });
    for list in ["frames", "settings"] {
        assert_eq!((&json[list][0]["radius"], json[list][0].get("settings")), (&json!(7), None));
        assert_eq!((json[list][1].get("radius"), &json[list][1]["settings"]), (None, &named));
        assert_eq!(json[list][1]["beside"], "edges/plain gain = 1.5, side = 3 px");
        assert_eq!(settings_from_json(variant, &json[list][1]), Some(settings));
    }
    assert_eq!(json["radius"], 7);
    let folder = Folder::new("stats-folder");
    let context = ExportContext { filter: (variant, settings), ..ExportContext::made_up() };
    let path = folder.file("s.json");
    export(&path, &recorder, &context).unwrap();
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((&json["variant_settings"], json.get("radius")), (&named, None));
    assert_eq!((&json["variant"], json["settings"].as_array().unwrap().len()), (&json!("edges/plain"), 2));
    let path = folder.file("s.csv");
    export(&path, &recorder, &context).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(
        rows[0].ends_with(",sound_lag,stack_filters,settings")
            && rows[1].contains(",flat,7,")
            && rows[1].ends_with(',')
    );
    assert!(rows[2].contains(",edges/plain,,") && rows[2].ends_with(",gain=1.5 side=3"), "{text}");
    assert!(rows[2].contains(",\"edges/plain gain = 1.5, side = 3 px\","), "{text}");
}

/// Tests that the intervals of frames with two filters are not counted for a setting with one filter.
#[test]
fn frames_of_a_wipe_are_a_setting_of_their_own() {
    let mut recorder = Recorder::new(true);
    let ways = [
        (None, ["", "false", ""]),
        (Some((named("fused"), false)), ["fused r=3", "false", "2.5000"]),
        (Some((named("fused"), true)), ["fused r=3", "true", "2.5000"]),
        (Some((VariantId::OFF, false)), ["off", "false", "2.5000"]),
    ];
    for (n, (way, _)) in ways.into_iter().flat_map(|way| [way; 4]).enumerate() {
        let mut sample = frame(n as f64 * 0.04, 40.0, 1.0, named("flat"));
        sample.setting.beside =
            way.map(|(variant, compared)| SecondSetting { variant, settings: 3.into(), compared });
        recorder.push(FrameSample { beside_filter_ms: way.map(|_| 2.5), ..sample });
        assert_eq!(recorder.shown.beside().map(|summary| summary.p50), way.map(|_| 2.5));
    }
    let (rows, json) = both(&recorder);
    let settings = json["settings"].as_array().unwrap();
    assert_eq!(settings.len(), ways.len());
    for (n, (way, told)) in ways.into_iter().enumerate() {
        assert_eq!(["beside", "compared", "beside_filter"].map(|name| &*rows[4 * n][name]), told);
        let beside = Some(told[0]).filter(|_| way.is_some());
        assert_eq!((settings[n]["beside"].as_str(), &settings[n]["presented"]), (beside, &4.into()));
        assert_eq!(settings[n]["compared"], told[1] == "true");
        // The first interval of each setting is left out, because the setting has just changed.
        assert_eq!(settings[n]["interval_ms"]["n"], if n == 0 { 4 } else { 3 });
    }
}

#[test]
fn json_gives_back_what_was_measured() {
    let folder = Folder::new("stats-json");
    let path = folder.file("s.json");
    fs::write(&path, "something older").unwrap();
    export(&path, &three_frames(), &ExportContext::made_up()).unwrap();
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let wanted = [
        ("/schema", json!(1)),
        ("/movie/file", json!("clip \"one\".mp4")),
        ("/device", json!(null)),
        ("/presented", json!(3)),
        ("/late", json!(1)),
        ("/dropped", json!(4)),
        ("/repaint_ms/max", json!(18.0)),
        // The interval after the change of the setting is in its row, and in no summary.
        ("/frames/1/interval_ms", json!(40.0)),
        ("/interval_ms/n", json!(1)),
        ("/interval_ms/max", json!(40.5)),
        ("/settings/1/variant", json!("naive")),
        ("/settings/1/radius", json!(7)),
        ("/settings/1/presented", json!(2)),
        ("/settings/1/interval_ms/n", json!(1)),
        ("/settings/1/stages/filter/n", json!(2)),
        ("/stages/filter/p50", json!(0.25 * FILTER)),
        ("/frames/0/interval_ms", json!(null)),
        ("/frames/2/filter", json!(0.125 * FILTER)),
        ("/frames/1/variant", json!("naive")),
    ];
    for (at, value) in wanted {
        assert_eq!(json.pointer(at), Some(&value), "{at}");
    }
    let lengths = ["settings", "frames"].map(|list| json[list].as_array().unwrap().len());
    assert_eq!((lengths, json["stages"].as_object().unwrap().len()), ([2, 3], Stage::ALL.len()));
    let (rows, json) = both(&Recorder::new(true));
    assert!(rows.is_empty() && json["interval_ms"].is_null() && json["repaint_ms"].is_null());
}

#[test]
fn what_was_not_measured_is_empty_as_is_a_device_time_of_what_was_timed_by_the_wall() {
    for stage in Stage::ALL {
        let mut recorder = Recorder::new(true);
        recorder.push(with(frame(0.0, 40.0, 0.0, named("flat")), |sample| {
            sample.stages.times[stage as usize] = f64::NAN;
        }));
        let (rows, json) = both(&recorder);
        for other in Stage::ALL {
            let (name, unknown) = (other.name(), other == stage);
            assert_eq!(rows[0][name], if unknown { "" } else { "0.0000" }, "{other:?} of {stage:?}");
            let values = [&json["frames"][0], &json["stages"], &json["settings"][0]["stages"]];
            assert!(values.iter().all(|of| of[name].is_null() == unknown), "{other:?} of {stage:?}");
        }
    }
    let mut recorder = Recorder::new(true);
    for n in 0..6 {
        let sample = frame(f64::from(n) * 0.04, 40.0, 0.25, named("glsl"));
        recorder.push(with(sample, |sample| sample.stages.filter_by_wall = true));
    }
    assert_eq!(recorder.shown.summary(Stage::Filter).unwrap().p50, 0.25 * FILTER, "the window shows it");
    let (rows, json) = both(&recorder);
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
    let (rows, json) = both(&recorder);
    assert_eq!((rows[0]["filter"].as_str(), rows[0]["filter_wall"].as_str()), ("1.5000", ""));
    assert!(json["settings"][0]["filter_wall_ms"].is_null() && json["frames"][0]["filter_wall"].is_null());
}

#[test]
fn each_setting_says_whether_its_times_are_noisy_and_why() {
    let mut recorder = Recorder::new(true);
    let runs: [(_, &[f64], _, _); 5] = [
        (named("flat"), &[1.0; 8], None, None),
        (named("naive"), &[1.0; 4], None, Some("Only 4 runs.")),
        (named("fused"), &[1.0, 1.0, 1.0, 1.0, 2.0], None, Some("P95 is 2.0 times p50.")),
        (named("separable"), &[1.0; 8], Some(0.43), Some("Other processes used 43 % of the machine.")),
        // The filter takes no time, so the intervals of the frames count.
        (VariantId::OFF, &[0.0; 8], Some(0.05), None),
    ];
    let mut at = 0.0;
    for (variant, units, others, _) in runs {
        recorder.others = others;
        for unit in units {
            at += 0.04;
            // Without intervals the scores are of all frames, as the settings in JSON are.
            let interval_ms = (variant == VariantId::OFF).then_some(40.0);
            recorder.push(FrameSample { interval_ms, ..frame(at, 40.0, *unit, variant) });
        }
    }
    let summary = recorder.shown.summary(Stage::Take).unwrap();
    assert_eq!((summary.n, summary.noise), (7, None), "the first of eight has no interval");
    let (rows, json) = both(&recorder);
    for (n, (id, .., why)) in runs.into_iter().enumerate() {
        let told = &json["settings"][n]["noisy"];
        assert!(told.as_str() == why && (why.is_some() || *told == false), "{id}: {told}");
        let noise = recorder.shown.scores.of(id).map(|score| score.noise.map(|noise| noise.to_string()));
        let wanted = Some(why.map(str::to_owned)).filter(|_| id != VariantId::OFF);
        assert_eq!(noise, wanted, "{id}");
    }
    assert_eq!((rows[0]["others"].as_str(), rows[17]["others"].as_str()), ("", "0.4300"));
    assert_eq!(json["frames"][17]["others"], 0.43);
}

/// `/dev/full` is a disk with no space left.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_device_survives() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new("stats-full");
    for name in ["s.csv", "s.json"] {
        let path = folder.file(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = export(&path, &three_frames(), &ExportContext::made_up()).unwrap_err();
        assert!(error.hint.contains("space"), "{error}");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert_eq!(file_names(&folder).len(), 2, "nothing is left beside them");
}
