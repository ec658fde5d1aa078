//! `clreel check-kernels`: data races and bad accesses by Oclgrind. Without Oclgrind only the error message is tested, and the
//! tests are counted as skipped.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::window::{clreel, wait_for_exit};
use testkit::movie::Folder;
use testkit::programs;

/// Returns `03_flat.cl` with the first `from` replaced by `to`.
fn flat(from: &str, to: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/box_filter/03_flat.cl");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Saves it as `03_flat.cl` in a folder of kernels; returns that folder.
fn save(folder: &Folder, text: &str) -> String {
    let kernels = folder.file("kernels");
    std::fs::create_dir_all(kernels.join("box_filter")).unwrap();
    std::fs::write(kernels.join("box_filter/03_flat.cl"), text).unwrap();
    kernels.to_str().unwrap().to_owned()
}

/// Runs check-kernels; returns its exit code, stdout and stderr.
fn check(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let stdout = folder.file("stdout");
    let mut command = clreel(None);
    command.arg("check-kernels").args(arguments).env_remove("CLREEL_KERNELS");
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(Stdio::piped());
    let (code, stderr) = wait_for_exit(command.spawn().unwrap());
    (code, std::fs::read_to_string(stdout).unwrap(), stderr)
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
    assert!(
        stdout.lines().all(|line| line.ends_with(": no data races, no out-of-bounds accesses")),
        "{stdout}"
    );
    // A write one element behind the last row, and one that all work-items make to the same address.
    for (line, words) in [
        ("if (get_global_id(0) == 0) ((__global ushort4 *)sums)[width * height + 7] = 0;", "Invalid write"),
        ("((__global uchar *)sums)[0] = get_global_id(0);", "race"),
    ] {
        let text = flat("sums[y * width + x] = sum;", &format!("sums[y * width + x] = sum; {line}"));
        let kernels = save(&folder, &text);
        let (code, stdout, stderr) = check(&folder, &["--variant", "flat", "--kernels", &kernels]);
        assert_eq!((code, stderr.as_str()), (Some(3), ""), "{stdout}");
        assert!(
            stdout.contains(words) && stdout.contains("box_flat_rows at box_filter/03_flat.cl:"),
            "{stdout}"
        );
        assert!(stdout.contains("get_global_id(0)"), "the line: {stdout}");
    }
}

#[test]
fn a_hang_or_build_failure_does_not_stop_checks_of_other_variants() {
    if !has_oclgrind() {
        return;
    }
    let folder = Folder::new("check-others");
    let naive = "naive: no data races, no out-of-bounds accesses\n";
    let kernels =
        save(&folder, &flat("    const int x", "    for (volatile int q = 0; q < 1;) {}\n    const int x"));
    let began = Instant::now();
    let endless = ["--kernels", &kernels, "--variant", "flat,naive", "--kernel-timeout", "4"];
    let (code, stdout, stderr) = check(&folder, &endless);
    assert_eq!((code, stdout.as_str()), (Some(1), naive), "{stderr}");
    assert!(stderr.contains("'flat' timed out after 4 s under Oclgrind."), "{stderr}");
    assert!(stderr.ends_with("1 of 2 were not checked: flat.\n"), "{stderr}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());

    let wrong = flat("    int4 sum = 0;", "    int4 sum = 0");
    let line = wrong.lines().position(|line| line == "    int4 sum = 0").unwrap() + 1;
    let kernels = save(&folder, &wrong);
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
