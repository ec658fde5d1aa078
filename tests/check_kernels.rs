//! `clreel check-kernels`: data races and bad accesses by Oclgrind. Without Oclgrind only the error message is tested, and the
//! tests are counted as skipped.

use std::time::{Duration, Instant};

use crate::common::*;
use testkit::programs;

/// Saves `03_flat.cl` with `from` replaced by `to` in a folder of kernels; returns that folder, and the text.
fn save(folder: &Folder, from: &str, to: &str) -> (String, String) {
    let text = edited_kernel("box_filter/03_flat.cl", &[(from, to)]);
    folder.with("kernels/box_filter/03_flat.cl", &text);
    (folder.file("kernels").to_str().unwrap().to_owned(), text)
}

/// Runs check-kernels; returns its exit code, stdout and stderr.
fn check(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    output(folder, clreel(None).arg("check-kernels").args(arguments))
}

/// Returns true if Oclgrind is installed; otherwise the calling test is counted as skipped.
#[track_caller]
pub fn has_oclgrind() -> bool {
    programs::has(&["oclgrind"])
}

#[test]
fn oclgrind_finds_injected_faults_and_none_in_the_built_in_kernels() {
    let folder = Folder::new("check-shipped");
    let (code, stdout, stderr) = check(&folder, &[]);
    if !has_oclgrind() {
        assert!(code == Some(1) && stderr.contains("Oclgrind is not installed."), "{stderr}");
        return;
    }
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.lines().count() >= 9, "{stdout}");
    let is_fine = |line: &str| line.ends_with(": no data races, no out-of-bounds accesses");
    assert!(stdout.lines().all(is_fine), "{stdout}");
    // A write one element behind the last row, and one that all work-items make to the same address.
    for (line, words) in [
        ("if (get_global_id(0) == 0) ((__global ushort4 *)sums)[width * height + 7] = 0;", "Invalid write"),
        ("((__global uchar *)sums)[0] = get_global_id(0);", "race"),
    ] {
        let store = "sums[y * width + x] = sum;";
        let (kernels, _) = save(&folder, store, &format!("{store} {line}"));
        let (code, stdout, stderr) = check(&folder, &["--variant", "flat", "--kernels", &kernels]);
        assert_eq!((code, stderr.as_str()), (Some(3), ""), "{stdout}");
        for part in [words, "box_flat_rows at box_filter/03_flat.cl:", "get_global_id(0)"] {
            assert!(stdout.contains(part), "{part}: {stdout}");
        }
    }
}

#[test]
fn a_hang_or_build_failure_does_not_stop_checks_of_other_variants() {
    if !has_oclgrind() {
        return;
    }
    let folder = Folder::new("check-others");
    let naive = "naive: no data races, no out-of-bounds accesses\n";
    let endless = "    for (volatile int q = 0; q < 1;) {}\n    const int x";
    let (kernels, _) = save(&folder, "    const int x", endless);
    let began = Instant::now();
    let endless = ["--kernels", &kernels, "--variant", "flat,naive", "--kernel-timeout", "4"];
    let (code, stdout, stderr) = check(&folder, &endless);
    assert_eq!((code, stdout.as_str()), (Some(1), naive), "{stderr}");
    assert!(stderr.contains("'flat' timed out after 4 s under Oclgrind."), "{stderr}");
    assert!(stderr.ends_with("1 of 2 were not checked: flat.\n"), "{stderr}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());

    let (kernels, wrong) = save(&folder, "    int4 sum = 0;", "    int4 sum = 0");
    let line = wrong.lines().position(|line| line == "    int4 sum = 0").unwrap() + 1;
    let (code, stdout, stderr) = check(&folder, &["--kernels", &kernels, "--variant", "flat,naive"]);
    assert_eq!((code, stdout.as_str()), (Some(1), naive), "{stderr}");
    assert!(stderr.contains(&format!("\nbox_filter/03_flat.cl:{line}:")), "{stderr}");
    assert!(!stderr.contains("generated."), "what the compiler prints by itself: {stderr}");
    assert!(stderr.ends_with("1 of 2 were not checked: flat.\n"), "{stderr}");
}

#[test]
fn variants_that_cannot_be_checked_are_reported_with_the_reason() {
    let folder = Folder::new("check-nothing");
    for (arguments, code, reason) in [
        (&["--variant", "auto"][..], 2, "'auto' has no kernels of its own"),
        (&["--variant", "off,glsl"], 2, "'glsl' has no kernels, since it runs in OpenGL"),
        (&["--variant", "own"], 2, "box_filter/own.cl is missing"),
        (&["--machine-code", "--variant", "native"], 2, "'native' has no kernels"),
        (&["--kernels", "/nonexistent"], 1, "The kernels in /nonexistent cannot be read."),
        (&["--kernels", "/nonexistent"], 1, "start clreel without --kernels"),
    ] {
        let (got, stdout, stderr) = check(&folder, arguments);
        assert_eq!((got, stdout.as_str()), (Some(code), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
    if has_oclgrind() {
        let (code, stdout, stderr) = check(&folder, &["--variant", "auto,planar"]);
        assert_eq!((code, stdout.lines().count()), (Some(0), 2), "{stdout}{stderr}");
        assert!(stderr.starts_with("clreel: Skipped: 'auto' "), "{stderr}");
    }
}
