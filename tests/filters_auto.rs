//! Tuning results of folders' filters: the search for them, `auto`, and comparisons of saved results.

use std::path::{Path, PathBuf};

use crate::common::*;
use crate::filters::{SAMPLER, SAMPLER_KERNEL, command, sobel, text_of, window_of};

/// Edits of the example that let `tune` search the width of its work-groups.
const GROUPS: [(&str, &str); 2] = [
    ("[[variants.passes]]", "tuning.GROUP = { default = 16, values = [8, 32] }\n[[variants.passes]]"),
    ("local = [16, 8]", "local = [\"GROUP\", 4]"),
];

/// Returns the variant's parameters in `bench`, if they are those that tuning has found.
fn tuned_in_bench(folder: &Folder, filter: &Path) -> Option<String> {
    let mut command = command("bench", filter, &["--frames", "2", "--size", "96x64", "--json"]);
    let report = finish_json(command.env("XDG_CACHE_HOME", folder.file("cache")), 0);
    let row = &reports::rows(&report)[0];
    assert_eq!(row["outcome"], "ok", "{report}");
    (row["tuned"] == true).then(|| row["chosen"].as_str().unwrap().to_owned())
}

#[test]
fn tune_keeps_parameters_until_the_filter_is_edited() {
    let folder = Folder::new("filters-tune");
    let filter = sobel(&folder, "sobel", &GROUPS);
    let tune = |code| {
        let mut command = command("tune", &filter, &["--size", "96x64", "--set", "gain=2", "--json"]);
        let report = finish_json(command.env("XDG_CACHE_HOME", folder.file("cache")), code);
        let row = |row: &Value| format!("{} {}", row["configuration"].as_str().unwrap(), row["outcome"]);
        reports::rows(&report).iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(tune(0), ["GROUP=16 \"ok\"", "GROUP=8 \"ok\"", "GROUP=32 \"ok\""]);
    // As if another value had been the fastest.
    let path = folder.file("cache/clreel/tuning.json");
    let mut cache = read_json(&path);
    assert_eq!(cache["entries"][0]["filter"], "sobel", "{cache}");
    cache["entries"][0]["params"][0][1] = 8.into();
    std::fs::write(&path, cache.to_string()).unwrap();
    assert_eq!(tuned_in_bench(&folder, &filter).as_deref(), Some("GROUP=8"));
    // An edited kernel or description does not use it.
    for file in ["sobel.cl", "filter.toml"] {
        let before = std::fs::read_to_string(filter.join(file)).unwrap();
        std::fs::write(filter.join(file), before.replace("gain)", "gain )").replace("Shows", "Finds"))
            .unwrap();
        assert_eq!(tuned_in_bench(&folder, &filter), None, "{file}");
        std::fs::write(filter.join(file), before).unwrap();
    }
    // Without values there is nothing to search.
    let plain = sobel(&folder, "plain", &[]);
    assert!(text_of(&mut command("tune", &plain, &[])).contains("there is nothing to tune"));
}

#[test]
fn a_wrong_configuration_is_not_kept_and_a_snapshot_runs_with_the_result() {
    let folder = Folder::new("filters-tune-wrong");
    // The picture shows the value.
    let shown =
        ("(convert_uchar3_sat_rte(gain * sqrt(gx * gx + gy * gy)), 255)", "(GROUP, GROUP, GROUP, 255)");
    let filter = sobel(&folder, "sobel", &[GROUPS[0], GROUPS[1], shown]);
    let cache = folder.file("cache");
    let mut tune = command("tune", &filter, &["--size", "96x64", "--json"]);
    let report = finish_json(tune.env("XDG_CACHE_HOME", &cache), 3);
    let outcomes: Vec<_> = reports::rows(&report).iter().map(|row| row["outcome"].clone()).collect();
    assert_eq!(outcomes, ["ok", "mismatch", "mismatch"], "{report}");
    let path = cache.join("clreel/tuning.json");
    let mut kept = read_json(&path);
    assert_eq!(kept["entries"][0]["params"][0][1], 16, "{kept}");
    let movie = odd_movie(&folder);
    let mut pixel = |value: u32| {
        kept["entries"][0]["params"][0][1] = value.into();
        std::fs::write(&path, kept.to_string()).unwrap();
        let out = folder.file("picture.png");
        let mut command = command("snapshot", &filter, &[]);
        succeed(command.env("XDG_CACHE_HOME", &cache).arg(&movie).arg("--out").arg(&out));
        u32::from(png(&out).2[0])
    };
    // A value that no search can have used is ignored.
    assert_eq!([8, 32, 24].map(&mut pixel), [8, 32, 16]);
}

/// Writes a filter with the variants `sampler` and `plain`, whose pictures show which of them has run: they are 20 and 10. The second
/// one has values to tune.
fn two_constants(folder: &Folder, name: &str, edits: &[(&str, &str)]) -> PathBuf {
    let accuracy = (
        "parameters.gain",
        "accuracy = { largest_difference = 20, reason = \"They show which one has run.\" }\nparameters.gain",
    );
    let ten = ("(convert_uchar3_sat_rte(gain * sqrt(gx * gx + gy * gy)), 255)", "(10, 10, 10, 255)");
    // Before the first variant, so that the edits concern that of the example.
    let edits = [&[accuracy, ten, GROUPS[0], GROUPS[1], SAMPLER][..], edits].concat();
    let filter = sobel(folder, name, &edits);
    let twenty = SAMPLER_KERNEL.replace("(float4)(v / 255, 1)", "(float4)((float3)(20 / 255.0f), 1)");
    folder.with(&format!("{name}/sampler.cl"), twenty);
    filter
}

/// Runs `clreel tune`, and returns the path of its results.
fn tune(folder: &Folder, filter: &Path) -> PathBuf {
    let cache = folder.file("cache");
    let mut tune = command("tune", filter, &["--size", "96x64", "--json"]);
    finish_json(tune.env("XDG_CACHE_HOME", &cache), 0);
    cache.join("clreel/tuning.json")
}

/// Changes the results as if this variant had been kept as the fastest one, for this class of sizes.
fn keep(results: &Path, variant: &str, size: &str) {
    let mut kept = read_json(results);
    for entry in kept["entries"].as_array_mut().unwrap() {
        entry["kept"] = (entry["variant"] == variant).into();
        entry["size"] = size.into();
    }
    std::fs::write(results, kept.to_string()).unwrap();
}

#[test]
fn auto_runs_the_fastest_variant_of_its_class_or_that_of_the_description() {
    let folder = Folder::new("filters-auto");
    let filter = two_constants(&folder, "two", &[]);
    let movie = odd_movie(&folder);
    let value = |filter: &Path| {
        let out = folder.file("picture.png");
        let mut command = command("snapshot", filter, &["--variant", "auto"]);
        command.env("XDG_CACHE_HOME", folder.file("cache"));
        succeed(command.arg(&movie).arg("--out").arg(&out));
        png(&out).2[0]
    };
    assert_eq!(value(&filter), 10, "the last one");
    let named =
        two_constants(&folder, "named", &[("parameters.gain", "auto = \"sampler\"\nparameters.gain")]);
    assert_eq!(value(&named), 20, "the named one");
    let results = tune(&folder, &filter);
    for (variant, size, wanted) in
        [("two/sampler", "small", 20), ("two/plain", "small", 10), ("two/sampler", "large", 10)]
    {
        keep(&results, variant, size);
        assert_eq!(value(&filter), wanted, "{variant}, {size}");
        let args = ["--frames", "2", "--size", "96x64", "--json", "--variant", "auto"];
        let mut command = command("bench", &filter, &args);
        let report = finish_json(command.env("XDG_CACHE_HOME", folder.file("cache")), 0);
        let row = reports::rows(&report).into_iter().find(|row| row["id"] == "two/auto").unwrap();
        let wanted = if wanted == 20 { "two/sampler" } else { "two/plain GROUP=" };
        assert!(row["chosen"].as_str().unwrap().starts_with(wanted), "{row}");
    }
    // The only variant is the fastest one.
    assert_eq!(value(&sobel(&folder, "sobel", &[])), value(&sobel(&folder, "again", &[])));
}

#[test]
fn the_window_says_which_variant_auto_runs() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-auto-window"));
    let filter = two_constants(&folder, "two", &[]);
    keep(&tune(&folder, &filter), "two/sampler", "small");
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    command.env("XDG_CACHE_HOME", folder.file("cache")).arg("--filter").arg(&filter);
    let mut session = Session::with_stats(&display, &mut command);
    session.wait_for_title("two/sampler, gain = 1 ");
    session.wait_for_frames();
    session.display.key("9");
    session.wait_for_title("two/auto");
    session.wait_for_text("two/auto (sampler)");
    let (stats, stderr) = session.stats_and_stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
    let frames = stats["frames"].as_array().unwrap();
    assert!(frames.iter().any(|frame| frame["variant"] == "two/auto"), "{stats}");
}

#[test]
fn the_window_searches_the_filter_that_was_opened_in_it() {
    let (display, folder) = (Display::start(&[]), Folder::new("filters-tune-now"));
    two_constants(&folder, "here/clreel-filters/two", &[("\"Sobel\"", "\"Two constants\"")]);
    sobel(&folder, "here/clreel-filters/sobel", &[]);
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = window_of(&display, &folder, &movie);
    let here = folder.folder("here");
    command.current_dir(&here).env("HOME", &here).env_remove("XDG_CONFIG_HOME");
    let cache = folder.file("cache");
    let mut session = Session::start(&display, command.env("XDG_CACHE_HOME", &cache));
    session.resize(1280, 720);
    session.wait_for_frames();
    session.display.key("F");
    session.click("Sobel");
    session.wait_for_title("sobel/plain, gain = 1 ");
    session.wait_for_frames();
    session.display.key("t");
    session.click_until("Tune now", "Sobel: there is nothing to tune");
    session.click("Two constants");
    session.wait_for_title("two/plain, gain = 1 ");
    session.wait_for_frames();
    session.display.key("equal");
    // On a busy machine a movie that plays leaves the search little time.
    session.press_until_title("space", "paused");
    session.click("Tune now");
    session.wait_for_result("Done: ");
    session.wait_for_text("used at all settings");
    let kept = read_json(&cache.join("clreel/tuning.json"));
    let entries = kept["entries"].as_array().unwrap();
    let mut variants: Vec<&str> = entries.iter().map(|entry| entry["variant"].as_str().unwrap()).collect();
    variants.sort_unstable();
    assert_eq!(variants, ["two/plain", "two/sampler"], "{kept}");
    assert!(
        entries.iter().all(|entry| (&entry["filter"], &entry["size"]) == (&"two".into(), &"small".into()))
    );
    // The result is used at once.
    let fastest = entries.iter().find(|entry| entry["kept"] == true).unwrap()["variant"].as_str().unwrap();
    session.display.key("9");
    session.wait_for_title("two/auto");
    session.wait_for_text(&format!("two/auto ({})", fastest.trim_start_matches("two/")));
    assert_eq!(session.quit(), "");
}

#[test]
fn results_of_a_filter_are_compared_with_those_of_the_same_filter_and_settings() {
    let folder = Folder::new("filters-compare");
    let [one, other] = ["one", "other"].map(|name| sobel(&folder, name, &[]));
    let save = |filter: &Path, set: &str, name: &str| {
        let file = folder.file(name);
        let args = ["--frames", "10", "--size", "96x64", "--set", set, "--save"];
        succeed(command("bench", filter, &args).arg(&file));
        file
    };
    let first = save(&one, "gain=2", "first.json");
    // The exit code depends on the times.
    let reasons = |second: &Path| {
        let mut compare = clreel(None);
        let output = compare.args(["compare", "--json"]).arg(&first).arg(second).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["comparisons"][0]["rows"].as_array().unwrap().iter();
        rows.map(|row| format!("{}: {}", row["row"].as_str().unwrap(), row["reason"])).collect::<Vec<_>>()
    };
    assert!(reasons(&save(&one, "gain=2", "second.json")).contains(&"one/plain: null".to_owned()));
    let found = reasons(&save(&one, "gain=2.00001", "settings.json"));
    assert!(found.iter().any(|row| row.contains("one/plain: \"other case: ")), "{found:?}");
    let found = reasons(&save(&other, "gain=2", "filter.json"));
    assert!(!found.is_empty() && found.iter().all(|row| !row.ends_with(": null")), "{found:?}");
    assert!(found.iter().any(|row| row.contains("one/plain: \"the later result does not have")), "{found:?}");

    // Only a filter, settings and variants that are named.
    let compared = |args: &[&str]| {
        let mut compare = clreel(None);
        let compare = compare.args(["compare", "--json"]).arg(&first).arg(folder.file("second.json"));
        let output = compare.args(args).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = report["comparisons"][0]["rows"].as_array().map_or(&[][..], Vec::as_slice).iter();
        rows.filter_map(|row| row["row"].as_str()).filter(|row| row.contains('/')).count()
    };
    let [one, other] = [one, other].map(|path| path.to_str().unwrap().to_owned());
    assert_eq!(compared(&["--filter", &one, "--set", "gain=2", "--variant", "plain"]), 1);
    for nothing in [["--filter", &one, "--set", "gain=3"], ["--filter", &one, "--variant", "other"]] {
        assert_eq!(compared(&nothing), 0, "{nothing:?}");
    }
    assert_eq!(compared(&["--filter", &other]), 0);
    assert_eq!(compared(&["--filter", &other, "--filter", &one]), 0, "there was no stack");
}

#[test]
fn a_reference_that_leaves_a_pixel_out_has_a_sentence_of_its_own() {
    let folder = Folder::new("filters-left-out");
    let left_out = ("if (x >= width ||", "if (x >= width || x == 3 ||");
    let filter = sobel(&folder, "left-out", &[left_out]);
    let mut command = command("snapshot", &filter, &["--out"]);
    let stderr = text_of(command.arg(folder.file("picture.png")));
    assert!(stderr.contains("'left-out/plain' does not write the same picture twice: "), "{stderr}");
    assert!(!stderr.contains("odified kernels"), "{stderr}");
}
