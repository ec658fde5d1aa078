//! `auto` of a folder's filter, and the search for its tuning results in the window.

use std::path::{Path, PathBuf};

use crate::common::*;
use crate::filters::{GROUPS, SAMPLER, SAMPLER_KERNEL, command, sobel, window_of};

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
        let mut command = command("bench", &filter, &["--frames", "2", "--size", "96x64", "--json"]);
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
