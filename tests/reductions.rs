//! The ladder of reductions, by `bench --ladder reduction`: every rung is right for every block, planted faults are caught, sums
//! pass 32 bits, and what is asked wrongly is said. Needs an OpenCL device, and fails without one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ladder::contest::Ladder;
use ladders::histogram::HISTOGRAM;
use ladders::reduction::REDUCTION;
use opencl::cl::{list_devices, select_device};
use serde_json::Value;

fn clreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(args);
    // What the user has tuned must not matter.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    // What the compiler has made before may be used again.
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl"));
    command
}

fn reduction(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "reduction", "--frames", "2", "--json"]);
    command.args(args);
    command
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn runs(report: &Value) -> Vec<Value> {
    report["devices"][0]["runs"].as_array().unwrap().clone()
}

fn rows(run: &Value) -> Vec<Value> {
    run["variants"].as_array().unwrap().clone()
}

#[test]
fn every_rung_is_right_and_timed() {
    // The search of `auto` takes long; another test has it.
    let ids: Vec<&str> = REDUCTION.rungs().iter().map(|rung| rung.id).filter(|id| *id != "auto").collect();
    let output =
        reduction(&["--size", "333x217", "--block", "16,32,64", "--variant", &ids.join(",")]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(report["ladder"], "reduction");
    let device = select_device(&list_devices(), None).unwrap().info;
    let is_listed = device.extensions.iter().any(|extension| extension == "cl_khr_subgroups");
    let has_sub_groups = is_listed || device.platform.contains("NVIDIA");
    let blocks: Vec<u64> = runs(&report).iter().map(|run| run["case"]["block"].as_u64().unwrap()).collect();
    assert_eq!(blocks, [16, 32, 64]);
    for run in runs(&report) {
        assert_eq!((&run["case"]["width"], &run["case"]["height"]), (&333.into(), &217.into()));
        assert_eq!((&run["limit"], &run["limit_ms"]["n"]), (&"plain read".into(), &2.into()));
        let rows = rows(&run);
        assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
        for row in rows {
            if row["outcome"] == "unsupported" {
                let why = row["reason"].as_str().unwrap();
                assert!(!has_sub_groups && row["id"] == "sub-groups", "{row}");
                assert!(why.contains("cl_khr_subgroups") && row["wall_ms"].is_null(), "{row}");
                continue;
            }
            assert_eq!((&row["outcome"], &row["max_error"]), (&"ok".into(), &0.0.into()), "{row}");
            assert!(row["gb_s"].as_f64() > Some(0.0) && row["gflop_s"].is_null(), "{row}");
            let beside = row["checked"].as_array().unwrap().iter().find(|entry| entry["timed"] == false);
            assert_eq!(beside.unwrap()["pictures"].as_array().map(Vec::len), Some(5), "{row}");
        }
    }
}

#[test]
fn histograms_are_right_and_auto_chooses() {
    let output =
        clreel(&["bench", "--ladder", "histogram", "--frames", "2", "--json", "--size", "333x217"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(report["ladder"], "histogram");
    let run = &runs(&report)[0];
    assert_eq!(run["case"], serde_json::json!({ "width": 333, "height": 217 }));
    let rows = rows(run);
    let ids: Vec<&str> = HISTOGRAM.rungs().iter().map(|rung| rung.id).collect();
    assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
    assert!(ids.iter().any(|id| rows[7]["chosen"].as_str().unwrap().starts_with(&format!("{id} "))));
}

/// A white frame has to pass 32 bits to show it, and so does one of noise.
#[test]
fn sums_pass_32_bits() {
    let variants = "threads,threads-vectors,wide-64,two-stage,one-pass,strips";
    let output = reduction(&["--size", "8300x4200", "--variant", variants, "--fail-fast"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(rows(&runs(&json(&output))[0]).iter().all(|row| row["outcome"] == "ok"));
}

#[test]
fn what_has_no_meaning_is_refused() {
    for (args, word) in [
        (&["bench", "--ladder", "reduction", "--block", "48"][..], "48 is no --block"),
        (&["bench", "--ladder", "reduction", "--count", "5"], "--count"),
        (&["bench", "--ladder", "reduction", "--radius", "5"], "--radius"),
        (&["bench", "--ladder", "reduction", "movie.mp4"], "FILE"),
        (&["bench", "--ladder", "reduction", "--variant", "scalar"], "'scalar'"),
        (&["bench", "--ladder", "histogram", "--block", "16"], "--block"),
        (&["bench", "--ladder", "vector-add", "--block", "16"], "--block"),
        (&["bench", "--block", "16"], "--block"),
        (&["tune", "--block", "16"], "--block"),
        (&["tune", "--ladder", "reduction", "--block", "0"], "--block"),
    ] {
        let output = clreel(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

/// A folder with the kernels of the reduction, one of them changed; removed when dropped.
struct Kernels(PathBuf);

impl Kernels {
    fn with(name: &str, file: &str, from: &str, to: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("clreel-reductions-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("reduction")).unwrap();
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/reduction").join(file);
        let text = std::fs::read_to_string(original).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        std::fs::write(folder.join("reduction").join(file), text.replace(from, to)).unwrap();
        Self(folder)
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_planted_fault_is_caught_and_named() {
    for (n, (file, from, to, id, words)) in [
        ("01_interleaved.cl", "stride < GROUP;", "stride < GROUP / 2;", "interleaved", "numbers differ"),
        ("02_sequential.cl", "stride > 0", "stride > 1", "sequential", "numbers differ"),
        ("03_unrolled.cl", "p.within == 0 && p.number >= 0", "p.within == 0", "wide-64", "of the source"),
        ("tiles.clh", "out[MEANS + b] =", "if (b > 0) out[MEANS + b] =", "prefetch-4", "never written"),
        ("04_two_stage.cl", "joined(own, part)", "part", "two-stage", "the minimum"),
        (
            "05_one_pass.cl",
            "r * blocks_across + c]",
            "r * blocks_across + c + 1]",
            "one-pass",
            "outside the output",
        ),
        // Only the second run shows it.
        ("frames.clh", "*counter = 0;", "*counter = 1;", "strips", "numbers differ"),
        ("06_strips.cl", "least = UINT_MAX", "least = 0", "strips", "the minimum"),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&n.to_string(), file, from, to);
        let output = reduction(&["--variant", id, "--size", "132x65", "--block", "16"])
            .env("CLREEL_KERNELS", &kernels.0)
            .output()
            .unwrap();
        let report = json(&output);
        let rows = rows(&runs(&report)[0]);
        assert_eq!(
            (output.status.code(), &rows[0]["outcome"]),
            (Some(3), &"mismatch".into()),
            "{to}: {report}"
        );
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(reason.contains(words) && rows[0]["device_ms"].is_null(), "{to}: {reason}");
    }
}
