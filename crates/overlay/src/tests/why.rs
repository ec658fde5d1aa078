//! Tests of the texts that explain the filter's time in the panel of stages, and of the box filter's benchmark in the Lab.

use std::sync::Arc;

use super::*;
use base::device::{DeviceInfo, DeviceKind, KernelRegisters};
use base::timing::Series;
use box_filter::{Config, named};
use compute::work::{KernelWork, LaunchWork, Transfer};
use engine::stats::FilterWork;
use ladder::results::{DeviceReport, RowReport, RunReport};
use ladder::why::DevicePeaks;

/// Returns the kernels of a variant with two passes, which take these times, and of which each reads a pixel 15 times.
fn two_passes(pass_ms: [f64; 2]) -> FilterWork {
    let code = named("flat").kernels(DeviceKind::Gpu).unwrap();
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

#[test]
fn the_panel_of_stages_says_why_and_nothing_that_is_not_known() {
    let mut fixture = stages(Some(two_passes([8.0, 0.45])), vec2(1280.0, 1600.0));
    let first = two_passes([0.0; 2]).config.code().passes[0].kernel;
    // Without peaks there are rates and no shares, and no sentence that needs them.
    let named = format!("{first} takes");
    let short = first.strip_prefix("box_").unwrap();
    fixture.assert_shows(&["8.00 MB to move, 0.947 GB/s", "14.2 GFLOP/s", short, "128", "15.0"]);
    assert!(fixture.shows(&named) && !fixture.shows("of the copy") && !fixture.shows("is read"));
    fixture.facts = DeviceFacts {
        peaks: Some(DevicePeaks { copy_gb_s: Some(50.0), read_gb_s: None, gflop_s: Some(1000.0) }),
        waits: None,
        registers: vec![KernelRegisters { kernel: first.to_owned(), registers: 255, spilled_bytes: 1024 }],
    };
    fixture.settle();
    fixture.assert_shows(&[
        "8.00 MB to move, 0.947 GB/s, 2 % of the copy",
        "14.2 GFLOP/s, 1 % of the peak",
        "copy 50.0, read \u{2013} GB/s; 1000 GFLOP/s",
        "255",
        "Each pixel is read 30 times; 2 % of the copy's bandwidth.",
        "copy: 50.0 GB/s",
        "multiply-adds: 1000 GFLOP/s",
    ]);
    fixture.assert_contains(&[&format!("{first} takes 95 % of the time."), "1,024 bytes of each"]);
    // The roofline has a dot for the variant that was measured with known work.
    fixture.assert_shows(&["1  flat: 14.2 GFLOP/s, 15.0 op/byte"]);
    // At another radius there are no measurements.
    fixture.set(|f| f.radius = 8);
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

/// Returns the results of two variants on a device, at each of these radii in pixels.
fn benchmarked(name: &str, radii: &[u32], ms: f64) -> DeviceReport {
    let row =
        |name: &str, device_ms| RowReport { device_ms, outcome: "ok".to_owned(), ..RowReport::unknown(name) };
    let run = |radius: &u32| RunReport {
        case: serde_json::json!({ "radius": radius }),
        variants: vec![row("flat", Series::of(&[ms; 9])), row("fused", Series::of(&[ms / 4.0; 9]))],
        ..RunReport::default()
    };
    let properties = [("name", name), ("driver", "1.0")].map(|(key, text)| (key.to_owned(), text.into()));
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
    let devices = vec![benchmarked("First", &[7], 8.0), benchmarked("Second", &[7], 2.0)];
    fixture.lab.benchmark = Benchmark { frame: frame.clone(), radii: vec![7], devices };
    fixture.settle();
    let frame_text = "clip.mp4 at 1:01.5, 1280 \u{d7} 720";
    fixture.assert_shows(&[frame_text, "First", "Second", "8.00", "2.00", "0.500"]);
    assert_eq!(fixture.click("Save run"), [Action::SaveBenchmark]);
    fixture.click("Copy");
    let copied = fixture.copied.as_deref().unwrap_or_default();
    assert!(copied.contains("| flat | 8.00 | 2.00 |"), "{copied}");
    fixture.press("r = 1 to 31");
    assert_eq!(fixture.click("Measure"), [Action::Benchmark(vec![1, 3, 7, 15, 31])]);
    let radii = vec![1, 3, 7, 15, 31];
    let devices = vec![benchmarked("First", &radii, 8.0), benchmarked("Second", &radii[..2], 2.0)];
    fixture.lab.benchmark = Benchmark { frame, radii, devices };
    fixture.settle();
    fixture.assert_shows(&["First", "Second", "31", "10 ms", "flat", "fused"]);
}
