//! The verifier: it detects each kind of wrong output and passes right ones. Faults are injected into outputs, and into
//! kernels that `bench` runs; the latter need an OpenCL device, and fail without one.

use std::path::Path;
use std::process::Command;

use base::error::Error;
use base::verify::{Floats, check, compare, count_changed, guard_bytes, poisoned};
use opencl::memory::Rgba;
use serde_json::Value;
use testkit::layer;
use testkit::movie::Folder;

use crate::common::ladder::conversions;
use crate::common::process::COMPILED;

const WIDTH: usize = 5;
const ROWS: Rgba = Rgba { width: WIDTH };
/// The number of canary bytes on each side of [`want`].
const GUARD: usize = 65_536;

/// Returns 5 by 4 pixels with every byte value of interest.
fn want() -> Vec<u8> {
    (0..WIDTH * 4 * 4).map(|i| (i * 37) as u8).collect()
}

/// A run that writes the right picture and nothing else.
fn right(before: &[u8]) -> Vec<u8> {
    let mut after = before.to_vec();
    after[GUARD..GUARD + want().len()].copy_from_slice(&want());
    after
}

#[test]
fn the_right_output_passes() {
    assert_eq!(check(&want(), &ROWS, |before| Ok(right(before))).unwrap(), None);
}

#[test]
fn one_wrong_byte_is_found_at_any_position() {
    for at in 0..want().len() {
        let run = |before: &[u8]| {
            let mut after = right(before);
            after[GUARD + at] = after[GUARD + at].wrapping_add(1);
            Ok(after)
        };
        let report = check(&want(), &ROWS, run).unwrap().expect("a wrong byte must be caught");
        let first = report.first.unwrap();
        assert_eq!((report.count, report.overrun), (1, 0));
        let channel = ["red", "green", "blue", "alpha"][at % 4];
        assert_eq!(first.position, format!("{channel} at ({}, {})", at / 4 % WIDTH, at / 4 / WIDTH));
        assert_eq!((first.got, first.want), (want()[at].wrapping_add(1).into(), want()[at].into()));
    }
}

#[test]
fn a_second_run_follows_only_if_the_first_is_inconclusive() {
    let runs_of = |fault: &dyn Fn(&mut Vec<u8>)| {
        let mut runs = 0;
        let run = |before: &[u8]| {
            runs += 1;
            let mut after = right(before);
            fault(&mut after);
            Ok(after)
        };
        let report = check(&want(), &ROWS, run).unwrap();
        (runs, report.is_some())
    };
    assert_eq!(runs_of(&|_| ()), (1, false));
    assert_eq!(runs_of(&|after| after[GUARD + 3] ^= 1), (1, true), "plainly wrong");
    assert_eq!(runs_of(&|after| after[GUARD + 3] = !want()[3]), (2, true), "the poison, or left out");
    assert_eq!(runs_of(&|after| after[GUARD - 1] ^= 1), (2, true), "beside the output");
    assert_eq!(runs_of(&|after| after[GUARD + want().len()] ^= 1), (2, true), "behind it");
}

#[test]
fn unwritten_bytes_are_counted() {
    let report = check(&want(), &ROWS, |before| Ok(before.to_vec())).unwrap().expect("nothing was written");
    assert_eq!((report.count, report.untouched), (want().len(), want().len()));
    // A single missing pixel is found too.
    let run = |before: &[u8]| {
        let mut after = right(before);
        after[GUARD + 12..GUARD + 16].copy_from_slice(&before[GUARD + 12..GUARD + 16]);
        Ok(after)
    };
    let report = check(&want(), &ROWS, run).unwrap().expect("a pixel was left out");
    assert_eq!((report.count, report.untouched), (4, 4));
    assert!(report.to_string().contains("4 bytes were never written"), "{report}");
}

/// A kernel that inverts the picture writes the poison's value in the first run: its output is wrong, but written.
#[test]
fn written_bytes_that_equal_the_poison_count_as_written() {
    let inverted = |before: &[u8]| {
        let mut after = right(before);
        after[GUARD..GUARD + want().len()].iter_mut().for_each(|byte| *byte = !*byte);
        Ok(after)
    };
    let report = check(&want(), &ROWS, inverted).unwrap().expect("all of it is wrong");
    assert_eq!((report.count, report.untouched, report.overrun), (want().len(), 0, 0));
    assert!(!report.to_string().contains("never written"), "{report}");
}

#[test]
fn writes_to_the_source_are_counted() {
    let source = want();
    let mut other = source.clone();
    other[7] ^= 1;
    assert_eq!(compare(&want(), &want(), &ROWS, count_changed(&source, &source)), None);
    let report =
        compare(&want(), &want(), &ROWS, count_changed(&source, &other)).expect("the source changed");
    assert_eq!((report.count, report.source), (0, 1));
    assert!(report.to_string().contains("1 bytes of the source were overwritten"), "{report}");
    // The comparison finds bytes that were not written, and cannot tell them from written bytes that equal the poison.
    let report = compare(&want(), &poisoned(&want()), &ROWS, 0).expect("nothing was written");
    assert_eq!((report.count, report.untouched), (want().len(), 0));
}

#[test]
fn there_are_as_many_canaries_as_picture_bytes() {
    assert_eq!(guard_bytes(want().len()), GUARD);
    for bytes in [1, 4096, 4100, 1280 * 720 * 4] {
        assert!(guard_bytes(bytes) >= bytes && guard_bytes(bytes).is_multiple_of(4096), "{bytes}");
    }
}

#[test]
fn writes_outside_the_output_are_found_on_both_sides() {
    let end = GUARD + want().len();
    for at in [0, GUARD - 1, end, end + GUARD - 1] {
        // Any value is found, even zero or white.
        for value in [0u8, 255, 128] {
            let run = |before: &[u8]| {
                let mut after = right(before);
                after[at] = if after[at] == value { !value } else { value };
                Ok(after)
            };
            let report = check(&want(), &ROWS, run).unwrap().expect("an overrun must be caught");
            assert_eq!((report.count, report.overrun, &report.first), (0, 1, &None));
            assert!(report.to_string().contains("outside the output"), "{report}");
        }
    }
}

/// Of many equal bytes outside some equal the canary that was there: they are counted too.
#[test]
fn each_byte_outside_the_output_is_counted() {
    for value in [0u8, 255, 0x5c] {
        for at in [0, GUARD - 1024, GUARD + want().len(), GUARD + want().len() + 7] {
            let run = |before: &[u8]| {
                let mut after = right(before);
                after[at..at + 1024].fill(value);
                Ok(after)
            };
            let report = check(&want(), &ROWS, run).unwrap().expect("an overrun must be caught");
            assert_eq!((report.count, report.overrun), (0, 1024), "{value} from {at}");
        }
    }
}

#[test]
fn the_largest_difference_is_reported() {
    let run = |before: &[u8]| {
        let mut after = right(before);
        after[GUARD] = want()[0].wrapping_add(3);
        after[GUARD + 1] = want()[1].wrapping_add(90);
        Ok(after)
    };
    let report = check(&want(), &ROWS, run).unwrap().unwrap();
    assert_eq!((report.count, report.max_abs_diff), (2, 90.0));
}

/// Floats are reported as numbers, and NaN differs from every number.
#[test]
fn floats_are_compared_to_the_last_bit() {
    let numbers = [1.5f32, -0.0, 3.0e-38, 1024.25, 7.0];
    let want: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let with = |at: usize, number: f32| {
        let want = &want;
        move |before: &[u8]| {
            let mut after = before.to_vec();
            after[GUARD..GUARD + want.len()].copy_from_slice(want);
            after[GUARD + 4 * at..][..4].copy_from_slice(&number.to_le_bytes());
            Ok(after)
        }
    };
    assert_eq!(check(&want, &Floats, with(0, 1.5)).unwrap(), None);
    for (at, wrong) in [(0, 1.500_000_1f32), (1, 0.0), (2, 0.0), (3, f32::NAN), (4, f32::INFINITY)] {
        let report = check(&want, &Floats, with(at, wrong)).unwrap().expect("a wrong number is caught");
        assert_eq!((report.count, report.total, report.untouched), (1, 5, 0), "{report}");
        assert_eq!(report.first.as_ref().map(|first| first.position.clone()), Some(format!("number {at}")));
        assert!(report.to_string().contains("1 of 5 floats differ"), "{report}");
    }
    let report = check(&want, &Floats, |before| Ok(before.to_vec())).unwrap().expect("nothing was written");
    assert_eq!((report.count, report.untouched), (5, 5));
}

#[test]
fn a_failing_or_short_run_is_an_error() {
    assert!(check(&want(), &ROWS, |_| Err(Error::new("no", "", ""))).is_err());
    assert!(check(&want(), &ROWS, |before| Ok(before[1..].to_vec())).is_err());
}

/// A folder of kernels with one modified file; removed when dropped.
struct Kernels(Folder);

impl Kernels {
    fn with(test: &str, file: &str, edits: &[(&str, &str)]) -> Self {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/box_filter").join(file);
        let mut text = std::fs::read_to_string(original).unwrap();
        for (from, to) in edits {
            assert!(text.contains(from), "{file} has no {from}");
            text = text.replace(from, to);
        }
        let folder = Folder::new(&format!("verifier-{test}"));
        folder.with(&format!("box_filter/{file}"), text.as_bytes());
        Self(folder)
    }

    /// Runs `bench` for a variant with these kernels and checks the exit code; returns its row.
    fn bench(&self, variant: &str, more: &[&str], code: i32) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
        command.env("POCL_CACHE_DIR", COMPILED);
        command
            .args(["bench", "--json", "--conversions", "none", "--frames", "1", "--variant", variant])
            .args(more);
        if more.contains(&"gpu") {
            command.envs(layer::environment(&[("FAKE_GPU", "1")]));
        }
        let output = command.env("CLREEL_KERNELS", &self.0).env("XDG_CACHE_HOME", &self.0).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["devices"][0]["runs"][0]["variants"][0].clone()
    }

    /// Asserts that the variant is a mismatch whose reason contains all of these words.
    fn assert_mismatch(&self, variant: &str, more: &[&str], words: &[&str]) {
        let entry = self.bench(variant, more, 3);
        assert_eq!(entry["outcome"], "mismatch", "{entry}");
        let reason = entry["reason"].as_str().unwrap();
        assert!(words.iter().all(|word| reason.contains(word)), "{words:?} in {reason}");
        assert!(entry["device_ms"].is_null() && entry["checked"].is_null(), "{entry}");
    }
}

const SMALL: [&str; 4] = ["--size", "192x108", "--radius", "3"];

#[test]
fn the_timed_size_is_checked() {
    // Wrong only at the timed size, and only in a whole picture.
    let edit = (
        "if (x >= width || row >= rows)",
        "if (x >= width || row >= rows || (width == 200 && rows == height && x == 150))",
    );
    let kernels = Kernels::with("size", "01_naive.cl", &[edit]);
    let at = |size| ["--size", size, "--radius", "3"];
    // The engine's frame has this size too, and is compared first.
    kernels.assert_mismatch("naive", &at("200x120"), &["through the engine", "red at (150, 0): "]);
    assert_eq!(kernels.bench("naive", &at("192x120"), 0)["outcome"], "ok");
}

#[test]
fn launches_in_bands_are_checked() {
    for (test, file, variant, edit) in [
        ("band-naive", "01_naive.cl", "naive", ("const int y = row0 + row;", "const int y = row;")),
        (
            "band-vectorized",
            "04_vectorized.cl",
            "vectorized",
            ("const int y = row0 + row;", "const int y = row;"),
        ),
        ("band-fused", "06_fused.cl", "fused", ("const int y1 = row0 + (int)", "const int y1 = (int)")),
    ] {
        Kernels::with(test, file, &[edit]).assert_mismatch(variant, &SMALL, &["bands of"]);
    }
}

#[test]
fn kernels_that_write_behind_the_picture_or_into_the_source_are_a_mismatch() {
    let behind = ("dst[y * width + x] = ", "dst[width * height + 1025] = 7;\n    dst[y * width + x] = ");
    Kernels::with("behind", "03_flat.cl", &[behind]).assert_mismatch(
        "flat",
        &SMALL,
        &["outside the output were overwritten"],
    );
    let source = (
        "    sums[y * width + x] = sum;",
        "    sums[y * width + x] = sum;\n    if (x == width - 1 && y == height - 1) ((__global uchar4 *)src)[0] = (uchar4)(9, 8, 7, 6);",
    );
    Kernels::with("source", "03_flat.cl", &[source]).assert_mismatch(
        "flat",
        &["--size", "192x108", "--radius", "0"],
        &["of the source were overwritten"],
    );
}

#[test]
fn every_layout_of_planes_is_checked() {
    // Samples two bytes apart, as in NV12 and in no plane of 4:2:0.
    let nv12 = (
        "const samples_t high = *(__global const samples_t *)(line + 2 * x + 16);",
        "const samples_t high = *(__global const samples_t *)(line + 2 * x + 15);",
    );
    Kernels::with("nv12", "08_planes.cl", &[nv12]).assert_mismatch("planar", &SMALL, &["nv12"]);
    // Samples of two bytes.
    let wide = ("return (v >> (uint)bits.s0) & (uint)bits.s1;", "return v >> (uint)bits.s0 & 0x3feu;");
    Kernels::with("wide", "08_planes.cl", &[wide]).assert_mismatch("planar", &SMALL, &["yuv420p10le"]);
}

#[test]
fn kernels_that_write_an_image_are_checked() {
    let edit = (
        "convert_float4(as_uchar4(pixels[c])) * (1.0f / 255.0f)",
        "convert_float4(as_uchar4(pixels[c])) * (1.0f / 254.0f)",
    );
    let kernels = Kernels::with("image", "07_march.cl", &[edit]);
    kernels.assert_mismatch("fused", &[&SMALL[..], &["--device", "gpu"]].concat(), &["into an image"]);
}

#[test]
fn other_parameter_values_of_modified_kernels_are_checked() {
    // With the default for CPUs, 4, nothing is wrong.
    let edit = ("    int16 sum[QUADS];", "    if (QUADS == 2 && x == 0) return;\n    int16 sum[QUADS];");
    let kernels = Kernels::with("quads", "05_running_sum.cl", &[edit]);
    kernels.assert_mismatch("running-sum", &SMALL, &["QUADS=2", "never written"]);
}

#[test]
fn extreme_pictures_and_every_range_of_radii_are_checked() {
    // Only a window that is entirely white has this sum.
    let white = (
        "    const int side = 2 * radius + 1;\n    dst",
        "    const int side = 2 * radius + 1;\n    sum = min(sum, 254 * side * side + side);\n    dst",
    );
    Kernels::with("white", "03_flat.cl", &[white]).assert_mismatch("flat", &SMALL, &["white"]);
    // Wrong at the largest radii only, at which nothing is timed.
    let far = ("int4 sum = 0;", "int4 sum = radius > 126 ? 1 << 20 : 0;");
    Kernels::with("radius", "03_flat.cl", &[far]).assert_mismatch("flat", &SMALL, &["r=127"]);
}

#[test]
fn fail_fast_stops_at_the_first_mismatch() {
    let kernels = Kernels::with("fast", "03_flat.cl", &[("j <= radius", "j < radius")]);
    let report = |more: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
        command.env("POCL_CACHE_DIR", COMPILED);
        command.args(["bench", "--json", "--conversions", "input", "--frames", "1", "--size", "64x48"]);
        command.args(["--variant", "running-sum,flat,fused", "--radius", "3,5"]).args(more);
        let output =
            command.env("CLREEL_KERNELS", &kernels.0).env("XDG_CACHE_HOME", &kernels.0).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["devices"][0].clone()
    };
    let outcomes = |device: &Value| {
        let runs = device["runs"].as_array().unwrap().iter().filter(|run| run["title"] != "conversions");
        let of = |run: &Value| {
            let variants = run["variants"].as_array().unwrap().iter();
            variants.map(|one| one["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        runs.map(of).collect::<Vec<_>>()
    };
    let whole = report(&[]);
    assert_eq!(outcomes(&whole), [["ok", "mismatch", "ok"]; 2]);
    assert!(!conversions(&whole).is_empty());
    let fast = report(&["--fail-fast"]);
    assert_eq!(outcomes(&fast), [["skipped", "mismatch", "skipped"]]);
    assert!(conversions(&fast).is_empty(), "{fast}");
}

#[test]
fn the_filter_in_rust_is_checked_at_small_sizes() {
    let kernels = Kernels::with("native", "03_flat.cl", &[]);
    let entry = kernels.bench("native", &SMALL, 0);
    let checked = entry["checked"].to_string();
    assert!(["1x1", "5x3", "67x33", "192x108"].iter().all(|size| checked.contains(size)), "{checked}");
}

#[test]
fn json_lists_the_checked_sizes() {
    let kernels =
        Kernels::with("said", "03_flat.cl", &[("// Box filter, step 3: flat.", "// Box filter, step 3.")]);
    let checked = kernels.bench("flat", &SMALL, 0)["checked"].clone();
    let timed = &checked[0];
    assert_eq!((&timed["timed"], &timed["sizes"][0]), (&true.into(), &"192x108".into()), "{checked}");
    let text = checked.to_string();
    for word in
        ["129x65", "1x1", "stripes down", "checkerboard", "bands of 1, 3", "bands as the window", "128"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
}
