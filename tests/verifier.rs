//! The verifier: it detects each kind of wrong output and passes right ones. Faults are injected into outputs, and into
//! kernels that `bench` runs; the latter need an OpenCL device, and fail without one.

use crate::common::reports::{clreel, conversions};
use crate::common::*;
use base::error::Error;
use base::verify::{Floats, MismatchReport, check, compare, count_changed, guard_bytes, poisoned};
use opencl::memory::Rgba;

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

/// Checks a run that writes the right picture and then does `fault` to its memory; returns the report, and the number of runs.
fn check_faulty(fault: impl Fn(&mut Vec<u8>)) -> (Option<MismatchReport>, usize) {
    let mut runs = 0;
    let report = check(&want(), &ROWS, |before| {
        runs += 1;
        let mut after = right(before);
        fault(&mut after);
        Ok(after)
    });
    (report.unwrap(), runs)
}

/// Returns the report of a fault.
fn report_of(fault: impl Fn(&mut Vec<u8>)) -> MismatchReport {
    check_faulty(fault).0.expect("a fault must be reported")
}

#[test]
fn one_wrong_byte_is_found_at_any_position() {
    assert_eq!(check_faulty(|_| ()).0, None);
    for at in 0..want().len() {
        let report = report_of(|after| after[GUARD + at] = after[GUARD + at].wrapping_add(1));
        let first = report.first.unwrap();
        assert_eq!((report.count, report.overrun), (1, 0));
        let channel = ["red", "green", "blue", "alpha"][at % 4];
        assert_eq!(first.position, format!("{channel} at ({}, {})", at / 4 % WIDTH, at / 4 / WIDTH));
        assert_eq!((first.got, first.want), (want()[at].wrapping_add(1).into(), want()[at].into()));
    }
    // The largest difference is reported.
    let report = report_of(|after| {
        after[GUARD] = want()[0].wrapping_add(3);
        after[GUARD + 1] = want()[1].wrapping_add(90);
    });
    assert_eq!((report.count, report.max_abs_diff), (2, 90.0));
}

#[test]
fn a_second_run_follows_only_if_the_first_is_inconclusive() {
    let end = GUARD + want().len();
    assert_eq!(check_faulty(|_| ()).1, 1);
    assert_eq!(check_faulty(|after| after[GUARD + 3] ^= 1).1, 1, "plainly wrong");
    assert_eq!(check_faulty(|after| after[GUARD + 3] = !want()[3]).1, 2, "the poison, or left out");
    assert_eq!(check_faulty(|after| after[GUARD - 1] ^= 1).1, 2, "beside the output");
    assert_eq!(check_faulty(|after| after[end] ^= 1).1, 2, "behind it");
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
    // A kernel that inverts the picture writes the poison's value in the first run: its output is wrong, but written.
    let report =
        report_of(|after| after[GUARD..GUARD + want().len()].iter_mut().for_each(|byte| *byte = !*byte));
    assert_eq!((report.count, report.untouched, report.overrun), (want().len(), 0, 0));
    assert!(!report.to_string().contains("never written"), "{report}");
}

#[test]
fn writes_to_the_source_are_counted() {
    let source = want();
    let mut other = source.clone();
    other[7] ^= 1;
    assert_eq!(compare(&want(), &want(), &ROWS, count_changed(&source, &source)), None);
    let report = compare(&want(), &want(), &ROWS, count_changed(&source, &other)).expect("a change");
    assert_eq!((report.count, report.source), (0, 1));
    assert!(report.to_string().contains("1 bytes of the source were overwritten"), "{report}");
    // The comparison finds bytes that were not written, and cannot tell them from written bytes that equal the poison.
    let report = compare(&want(), &poisoned(&want()), &ROWS, 0).expect("nothing was written");
    assert_eq!((report.count, report.untouched), (want().len(), 0));
}

#[test]
fn writes_outside_the_output_are_found_on_both_sides() {
    // There are as many canaries as bytes of the picture.
    assert_eq!(guard_bytes(want().len()), GUARD);
    for bytes in [1, 4096, 4100, 1280 * 720 * 4] {
        assert!(guard_bytes(bytes) >= bytes && guard_bytes(bytes).is_multiple_of(4096), "{bytes}");
    }
    let end = GUARD + want().len();
    for at in [0, GUARD - 1, end, end + GUARD - 1] {
        // Any value is found, even zero or white.
        for value in [0u8, 255, 128] {
            let report = report_of(|after| after[at] = if after[at] == value { !value } else { value });
            assert_eq!((report.count, report.overrun, &report.first), (0, 1, &None));
            assert!(report.to_string().contains("outside the output"), "{report}");
        }
    }
    // Of many equal bytes outside some equal the canary that was there: they are counted too.
    for value in [0u8, 255, 0x5c] {
        for at in [0, GUARD - 1024, end, end + 7] {
            let report = report_of(|after| after[at..at + 1024].fill(value));
            assert_eq!((report.count, report.overrun), (0, 1024), "{value} from {at}");
        }
    }
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

/// Runs `bench` for a variant with a modified kernel file, and requires this exit code; returns its row.
fn bench(variant: &str, file: &str, edits: &[(&str, &str)], more: &[&str], code: i32) -> Value {
    let kernels = edited_kernels("verifier", &format!("box_filter/{file}"), edits);
    let mut command = clreel(&["bench", "--json", "--conversions", "none", "--frames", "1"]);
    command.args(["--variant", variant]).args(more);
    if more.contains(&"gpu") {
        command.envs(layer::environment(&[("FAKE_GPU", "1")]));
    }
    let report = finish_json(command.env("CLREEL_KERNELS", &kernels).env("XDG_CACHE_HOME", &kernels), code);
    report["devices"][0]["runs"][0]["variants"][0].clone()
}

/// Asserts that a variant with an edit is a mismatch whose reason contains these words, which are separated by "|".
fn assert_mismatch(variant: &str, file: &str, from: &str, to: &str, more: &[&str], words: &str) {
    let entry = bench(variant, file, &[(from, to)], more, 3);
    assert_eq!(entry["outcome"], "mismatch", "{entry}");
    let reason = entry["reason"].as_str().unwrap();
    assert!(words.split('|').all(|word| reason.contains(word)), "{words} in {reason}");
    assert!(entry["device_ms"].is_null() && entry["checked"].is_null(), "{entry}");
}

const SMALL: [&str; 4] = ["--size", "192x108", "--radius", "3"];

#[test]
fn the_timed_size_is_checked() {
    // Wrong only at the timed size, and only in a whole picture.
    let (from, to) = (
        "if (x >= width || row >= rows)",
        "if (x >= width || row >= rows || (width == 200 && rows == height && x == 150))",
    );
    let at = |size| ["--size", size, "--radius", "3"];
    // The engine's frame has this size too, and is compared first.
    assert_mismatch("naive", "01_naive.cl", from, to, &at("200x120"), "through the engine|red at (150, 0): ");
    assert_eq!(bench("naive", "01_naive.cl", &[(from, to)], &at("192x120"), 0)["outcome"], "ok");
}

#[test]
fn every_picture_layout_and_launch_is_checked() {
    let row = "const int y = row0 + row;";
    let bands = [
        ("01_naive.cl", "naive", row, "const int y = row;"),
        ("04_vectorized.cl", "vectorized", row, "const int y = row;"),
        ("06_fused.cl", "fused", "const int y1 = row0 + (int)", "const int y1 = (int)"),
    ];
    for (file, variant, from, to) in bands {
        assert_mismatch(variant, file, from, to, &SMALL, "bands of");
    }
    let side = "    const int side = 2 * radius + 1;\n    dst";
    let store = "    sums[y * width + x] = sum;";
    let samples = "const samples_t high = *(__global const samples_t *)(line + 2 * x + 16);";
    let source = "if (x == width - 1 && y == height - 1) ((__global uchar4 *)src)[0] = (uchar4)(9, 8, 7, 6);";
    for (variant, file, from, to, words) in [
        (
            "flat",
            "03_flat.cl",
            "dst[y * width + x] = ",
            "dst[width * height + 1025] = 7;\n    dst[y * width + x] = ",
            "outside the output were overwritten",
        ),
        // Samples two bytes apart, as in NV12 and in no plane of 4:2:0.
        ("planar", "08_planes.cl", samples, &samples.replace("16", "15"), "nv12"),
        // Samples of two bytes.
        (
            "planar",
            "08_planes.cl",
            "return (v >> (uint)bits.s0) & (uint)bits.s1;",
            "return v >> (uint)bits.s0 & 0x3feu;",
            "yuv420p10le",
        ),
        // With the default for CPUs, 4, nothing is wrong.
        (
            "running-sum",
            "05_running_sum.cl",
            "    int16 sum[QUADS];",
            "    if (QUADS == 2 && x == 0) return;\n    int16 sum[QUADS];",
            "QUADS=2|never written",
        ),
        // Only a window that is entirely white has this sum.
        (
            "flat",
            "03_flat.cl",
            side,
            &side.replace("    dst", "    sum = min(sum, 254 * side * side + side);\n    dst"),
            "white",
        ),
        // Wrong at the largest radii only, at which nothing is timed.
        ("flat", "03_flat.cl", "int4 sum = 0;", "int4 sum = radius > 126 ? 1 << 20 : 0;", "r=127"),
    ] {
        assert_mismatch(variant, file, from, to, &SMALL, words);
    }
    let radius_0 = ["--size", "192x108", "--radius", "0"];
    let source = format!("{store} {source}");
    assert_mismatch("flat", "03_flat.cl", store, &source, &radius_0, "of the source were overwritten");
    // Kernels that write an image.
    let pixel = "convert_float4(as_uchar4(pixels[c])) * (1.0f / 255.0f)";
    let gpu = [&SMALL[..], &["--device", "gpu"]].concat();
    assert_mismatch("fused", "07_march.cl", pixel, &pixel.replace("255", "254"), &gpu, "into an image");
}

#[test]
fn fail_fast_stops_at_the_first_mismatch() {
    let kernels = edited_kernels("verifier", "box_filter/03_flat.cl", &[("j <= radius", "j < radius")]);
    let report = |more: &[&str]| -> Value {
        let mut command = clreel(&["bench", "--json", "--conversions", "input", "--frames", "1"]);
        command.args(["--size", "64x48", "--variant", "running-sum,flat,fused", "--radius", "3,5"]);
        command.args(more);
        command.env("CLREEL_KERNELS", &kernels).env("XDG_CACHE_HOME", &kernels);
        finish_json(command, 3)["devices"][0].clone()
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
fn json_lists_the_checked_sizes() {
    let checked = bench("native", "03_flat.cl", &[], &SMALL, 0)["checked"].to_string();
    assert!(["1x1", "5x3", "67x33", "192x108"].iter().all(|size| checked.contains(size)), "{checked}");
    let edit = ("// Box filter, step 3: flat.", "// Box filter, step 3.");
    let checked = bench("flat", "03_flat.cl", &[edit], &SMALL, 0)["checked"].clone();
    assert!(checked[0]["timed"] == true && checked[0]["sizes"][0] == "192x108", "{checked}");
    let text = checked.to_string();
    for word in
        ["129x65", "1x1", "stripes down", "checkerboard", "bands of 1, 3", "bands as the window", "128"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
}
