//! Tests of the texts that explain the filter's time in the panel of stages, and of the box filter's benchmark in the Lab.

use std::sync::Arc;

use super::*;
use base::device::{DeviceInfo, DeviceKind, KernelRegisters};
use base::timing::Series;
use box_filter::{Config, named};
use compute::work::{KernelWork, LaunchWork, Transfer};
use ladder::results::{DeviceReport, RowReport, RunReport};
use ladder::why::DevicePeaks;
use stats::FilterWork;

/// Returns the kernels of a variant with two passes, which take these times, and of which each reads a pixel 15 times.
fn two_passes(pass_ms: [f64; 2]) -> FilterWork {
    let code = named("flat").code(DeviceKind::Gpu).unwrap();
    let launch = |kernel| LaunchWork {
        reads: Transfer::new(15_000_000, 4),
        writes: Transfer::new(1_000_000, 8),
        operations: 60_000_000,
        ..LaunchWork::new(kernel, &[1_000_000], &[128])
    };
    let work = KernelWork {
        unit: "pixel",
        units: 1_000_000,
        least_bytes: 8_000_000,
        launches: code.passes.iter().map(|pass| launch(pass.kernel)).collect(),
    };
    let config = Config::new(code, DeviceKind::Gpu);
    FilterWork { config, work: Some(work), pass_ms: pass_ms.to_vec() }
}

/// Returns an overlay with the panel of stages open, in which the filter takes 8.45 ms and consists of these kernels.
fn stages(work: Option<FilterWork>, size: Vec2) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    let work = work.map(Arc::new);
    fixture.push_like(9, |_, sample| sample.stages.work.clone_from(&work));
    fixture.device = Some(DeviceInfo { kind: DeviceKind::Gpu, units: 132, ..DeviceInfo::made_up() });
    fixture.open(Panel::Stages);
    fixture.time += 1.0;
    fixture.settle();
    fixture
}

/// Returns the measured properties of a device, which report the registers of this kernel.
fn facts(kernel: &str) -> DeviceFacts {
    DeviceFacts {
        peaks: Some(DevicePeaks { copy_gb_s: Some(50.0), read_gb_s: None, gflop_s: Some(1000.0) }),
        is_rough: true,
        waits: None,
        registers: vec![KernelRegisters { kernel: kernel.to_owned(), registers: 255, spilled_bytes: 1024 }],
    }
}

/// Returns an overlay with the panel of stages open, which explains the filter's time and has a roofline.
pub(super) fn explained(size: Vec2) -> Fixture<'static> {
    let work = two_passes([8.0, 0.45]);
    let facts = facts(work.config.code().passes[0].kernel);
    let mut fixture = stages(Some(work), size);
    fixture.facts = facts;
    fixture
}

#[test]
fn the_panel_of_stages_says_why_and_nothing_that_is_not_known() {
    let mut fixture = stages(Some(two_passes([8.0, 0.45])), vec2(1280.0, 1600.0));
    let first = two_passes([0.0; 2]).config.code().passes[0].kernel;
    // Without peaks there are rates and no shares, and no sentence that needs them.
    let named = format!("{first} takes");
    let short = first.strip_prefix("box_").unwrap();
    fixture.assert_shows(&["8.00 MB to move, 0.947 GB/s", "14.2 GFLOP/s", short, "128", "15.0"]);
    assert!(fixture.shows(&named) && !fixture.shows("of the copy") && !fixture.shows("is read"));
    let peaks = fixture.harness.query_all_by_label("Peaks").find_map(|node| node.value());
    assert_eq!(peaks.as_deref(), Some("\u{2013}"));
    fixture.facts = facts(first);
    fixture.settle();
    fixture.assert_shows(&[
        "8.00 MB to move, 0.947 GB/s, 2 % of the copy",
        "14.2 GFLOP/s, 1 % of the peak",
        "copy ~50.0 GB/s, read \u{2013} GB/s; ~1,000 GFLOP/s",
        "255",
        "Each pixel is read 30 times; 2 % of the copy's bandwidth.",
        "copy: 50.0 GB/s",
        "multiply-adds: 1,000 GFLOP/s",
    ]);
    fixture.assert_contains(&[&format!("{first} takes 95 % of the time."), "1,024 bytes of each"]);
    // The name of the peak along the plot's upper edge is below the sentences.
    let faults = super::places::faults(&fixture, false);
    assert!(faults.is_empty(), "{faults:?}");
    // The roofline has a dot for the variant that was measured with known work, with the variant's key.
    fixture.assert_shows(&["3  flat: 14.2 GFLOP/s, 15.0 op/byte"]);
    // At another radius there are no measurements.
    fixture.set(|f| f.settings = 8.into());
    assert!(!fixture.shows("op/byte") && !fixture.shows("copy: 50.0 GB/s"), "{:?}", fixture.texts);

    let modified = FilterWork { work: None, ..two_passes([f64::NAN; 2]) };
    for work in [None, Some(modified)] {
        let is_kernel = work.is_some();
        let mut fixture = stages(work, vec2(1280.0, 1600.0));
        fixture.facts.peaks =
            Some(DevicePeaks { copy_gb_s: Some(100.0), read_gb_s: Some(120.0), gflop_s: Some(1000.0) });
        fixture.settle();
        for said in ["to move", "GFLOP/s, ", "of the copy", "is read", "of the time", "op/byte"] {
            assert!(!fixture.shows(said), "'{said}': {:?}", fixture.texts);
        }
        // Both lines, and each cell of both kernels.
        let unknown = fixture.texts.iter().filter(|(text, _)| text == "\u{2013}").count();
        assert!(unknown >= if is_kernel { 14 } else { 2 }, "{unknown}: {:?}", fixture.texts);
    }
}

#[test]
fn the_selected_step_says_its_idea_and_its_reasons_below_the_ladder() {
    let mut fixture = stages(Some(two_passes([8.0, 0.45])), vec2(1600.0, 900.0));
    fixture.facts.peaks = Some(DevicePeaks { copy_gb_s: Some(50.0), ..DevicePeaks::default() });
    fixture.change(|s| s.open[Panel::Stages as usize] = false);
    let reads = "Each pixel is read 30 times; 2 % of the copy's bandwidth.";
    let note = |fixture: &Fixture| fixture.harness.query_by_label("Why").and_then(|node| node.value());
    fixture.assert_shows(&["Idea.", reads]);
    assert!(note(&fixture).is_some_and(|note| note.starts_with("Idea. Each pixel")), "{:?}", note(&fixture));
    // The step before makes the same reads through the sampler.
    let work = fixture.recorder.history().back().unwrap().stages.work.clone();
    let work = work.or(Some(Arc::new(two_passes([8.0, 0.45]))));
    for (variant, ms) in [("separable", 11.6), ("flat", 8.45)] {
        fixture.push_like(9, |_, sample| {
            (sample.setting.variant, sample.stages.work) = (named(variant), work.clone());
            sample.stages.times[Stage::Filter as usize] = ms;
        });
    }
    fixture.wait(1.0);
    let both =
        "The same reads take 11.6 ms through the image sampler (separable), 8.45 ms from buffers (flat).";
    fixture.assert_shows(&[both, reads]);
    // Reasons are of the picture on the screen, the idea is of the selection.
    fixture.set(|f| f.chosen = named("naive"));
    fixture.assert_shows(&["Idea."]);
    assert!(!fixture.shows("same reads") && !fixture.shows(reads), "{:?}", fixture.texts);
}

/// Returns the results of three variants on a device, at each of these radii in pixels. The first two take times that are
/// proportional to the radius; the third one is wrong.
fn benchmarked(name: &str, radii: &[u32], ms_per_pixel: f64) -> DeviceReport {
    let row =
        |name: &str, device_ms| RowReport { device_ms, outcome: "ok".to_owned(), ..RowReport::unknown(name) };
    let run = |radius: &u32| {
        let ms = ms_per_pixel * f64::from(*radius);
        let wrong = RowReport { outcome: "mismatch".to_owned(), ..RowReport::unknown("naive") };
        let timed = [("flat", ms), ("fused", ms / 4.0)].map(|(name, ms)| row(name, Series::of(&[ms; 9])));
        let case = serde_json::json!({ "radius": radius });
        RunReport { case, variants: timed.into_iter().chain([wrong]).collect(), ..RunReport::default() }
    };
    let properties = [("name", name), ("platform", "P"), ("driver", "1.0")];
    let properties = properties.map(|(key, text)| (key.to_owned(), text.into()));
    DeviceReport {
        properties: properties.into_iter().collect(),
        runs: radii.iter().map(run).collect(),
        ..DeviceReport::default()
    }
}

#[test]
fn the_lab_benchmarks_the_frame_on_the_screen_and_keeps_a_column_for_each_device() {
    let mut fixture = Fixture::new(vec2(1600.0, 1200.0));
    fixture.paused = true;
    fixture.open(Panel::Lab);
    fixture.press("box filter");
    assert_eq!(fixture.click("Measure"), [Action::Benchmark(vec![7])]);
    assert!(fixture.find("Save run").is_none() && fixture.find("Copy").is_none(), "there is nothing to save");
    let frame = BenchmarkFrame { movie: "clip.mp4".to_owned(), position_s: 61.5, size: (1280, 720) };
    let devices = vec![benchmarked("A | B", &[7], 1.0), benchmarked("Second", &[7], 0.5)];
    fixture.lab.benchmark = Benchmark { frame: frame.clone(), radii: vec![7], devices };
    fixture.settle();
    let frame_text = "clip.mp4 at 1:01.5, 1280 \u{d7} 720";
    fixture.assert_shows(&[frame_text, "A | B", "Second", "7.00", "3.50", "0.875", "mismatch"]);
    assert_eq!(fixture.click("Save run"), [Action::SaveBenchmark]);
    fixture.click("Copy");
    let want = "Box filter, clip.mp4 at 1:01.5, 1280 × 720, median ms\n\n| r = 7 | A \\| B, P 1.0 | Second, P 1.0 |\n|---|---:|---:|\n\
                | flat | 7.00 | 3.50 |\n| fused | 1.75 | 0.875 |\n| naive | mismatch | mismatch |\n";
    assert_eq!(fixture.copied.as_deref(), Some(want));
    fixture.press("r = 1 to 31");
    assert_eq!(fixture.click("Measure"), [Action::Benchmark(vec![1, 3, 7, 15, 31])]);
    let radii = vec![1, 3, 7, 15, 31];
    let devices = vec![benchmarked("First", &radii, 1.0), benchmarked("Second", &radii[..2], 0.5)];
    fixture.lab.benchmark = Benchmark { frame, radii, devices };
    fixture.settle();
    fixture.assert_shows(&["First", "Second", "31", "100 ms", "radius"]);
    // In the legend, and at the ends of the lines of both devices, right of their last radius.
    let last = |radius: &str, n: usize| {
        let found = fixture.texts.iter().filter(|(text, at)| text == radius && at.height() < 14.0).nth(n);
        found.unwrap_or_else(|| panic!("{radius}: {:?}", fixture.texts)).1
    };
    for name in ["flat", "fused"] {
        let at: Vec<Rect> =
            fixture.texts.iter().filter(|(text, _)| text == name).map(|(_, at)| *at).collect();
        let ends = [last("31", 0), last("3", 2)].map(|radius| radius.center().x);
        let is_end = |x: &f32| at.iter().any(|at| (at.left() - x - 6.0).abs() < 2.0);
        assert!(ends.iter().all(is_end), "{name} at {at:?}, {ends:?}");
    }
    fixture.click("Copy");
    let want = "\n| Second, P 1.0 | r = 1 | r = 3 | r = 7 | r = 15 | r = 31 |\n|---|---:|---:|---:|---:|---:|\n\
                | flat | 0.500 | 1.50 | – | – | – |\n| fused | 0.125 | 0.375 | – | – | – |\n\
                | naive | mismatch | mismatch | – | – | – |\n";
    assert!(fixture.copied.as_ref().is_some_and(|copied| copied.ends_with(want)), "{:?}", fixture.copied);
}
