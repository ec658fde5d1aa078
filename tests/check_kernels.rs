//! What `check-kernels` says of kernels under Oclgrind, and of what it cannot check. Where Oclgrind is not installed, only that.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::window::{clreel, finish};
use testkit::movie::Folder;

/// `03_flat.cl` with another text in the place of its first `from`.
fn flat(from: &str, to: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/box_filter/03_flat.cl");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Saves it into a folder of kernels; where that is.
fn save(folder: &Folder, text: &str) -> String {
    let kernels = folder.file("kernels");
    std::fs::create_dir_all(kernels.join("box_filter")).unwrap();
    std::fs::write(kernels.join("box_filter/03_flat.cl"), text).unwrap();
    kernels.to_str().unwrap().to_owned()
}

/// Its exit code, stdout and stderr.
fn check(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let stdout = folder.file("stdout");
    let mut command = clreel(None);
    command.arg("check-kernels").args(arguments).env_remove("CLREEL_KERNELS");
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(Stdio::piped());
    let (code, stderr) = finish(command.spawn().unwrap());
    (code, std::fs::read_to_string(stdout).unwrap(), stderr)
}

fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).any(|bin| bin.join("oclgrind").is_file())
}

#[test]
fn oclgrind_finds_nothing_in_the_shipped_kernels_and_what_is_planted() {
    let folder = Folder::new("check-shipped");
    let (code, stdout, stderr) = check(&folder, &[]);
    if !is_installed() {
        assert!(code == Some(1) && stderr.contains("Oclgrind is not installed."), "{stderr}");
        return;
    }
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.lines().count() >= 9, "{stdout}");
    assert!(stdout.lines().all(|line| line.ends_with(": no races, no bad accesses")), "{stdout}");
    // One element behind the last row, and one place that all work-items write.
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
fn what_does_not_end_or_does_not_build_keeps_no_other_variant_from_being_checked() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("check-others");
    let naive = "naive: no races, no bad accesses\n";
    let kernels =
        save(&folder, &flat("    const int x", "    for (volatile int q = 0; q < 1;) {}\n    const int x"));
    let began = Instant::now();
    let endless = ["--kernels", &kernels, "--variant", "flat,naive", "--kernel-timeout", "4"];
    let (code, stdout, stderr) = check(&folder, &endless);
    assert_eq!((code, stdout.as_str()), (Some(1), naive), "{stderr}");
    assert!(stderr.contains("flat did not end within 4 s under Oclgrind."), "{stderr}");
    assert!(stderr.ends_with("1 of 2 not checked: flat.\n"), "{stderr}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());

    let wrong = flat("    int4 sum = 0;", "    int4 sum = 0");
    let line = wrong.lines().position(|line| line == "    int4 sum = 0").unwrap() + 1;
    let kernels = save(&folder, &wrong);
    let (code, stdout, stderr) = check(&folder, &["--kernels", &kernels, "--variant", "flat,naive"]);
    assert_eq!((code, stdout.as_str()), (Some(1), naive), "{stderr}");
    assert!(stderr.contains(&format!("\nbox_filter/03_flat.cl:{line}:")), "{stderr}");
    assert!(!stderr.contains("generated."), "what the compiler prints by itself: {stderr}");
    assert!(stderr.ends_with("1 of 2 not checked: flat.\n"), "{stderr}");
}

#[test]
fn what_cannot_be_checked_has_a_reason() {
    let folder = Folder::new("check-nothing");
    for (arguments, code, reason) in [
        (&["--variant", "auto"][..], 2, "'auto' has no kernels of its own"),
        (&["--variant", "off,glsl"], 2, "'glsl' has no kernels, it computes in OpenGL"),
        (&["--variant", "own"], 2, "there is no box_filter/own.cl"),
        (&["--machine-code", "--variant", "native"], 2, "'native' has no kernels"),
        (&["--kernels", "/nonexistent"], 1, "The kernels in /nonexistent cannot be read."),
        (&["--kernels", "/nonexistent"], 1, "or start clreel without --kernels"),
    ] {
        let (got, stdout, stderr) = check(&folder, arguments);
        assert_eq!((got, stdout.as_str()), (Some(code), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
    if is_installed() {
        let (code, stdout, stderr) = check(&folder, &["--variant", "auto,planar"]);
        assert_eq!((code, stdout.lines().count()), (Some(0), 2), "{stdout}{stderr}");
        assert!(stderr.starts_with("clreel: Left out: 'auto' "), "{stderr}");
    }
}
