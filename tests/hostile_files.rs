//! Paths that clreel reads on its own, with something else in their place: a pipe without a writer, an endless device, a
//! folder; and a compiler's log of megabytes. Each gives a message, and nothing in those places is changed.

use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::common::*;
use testkit::movie;

/// Creates a named pipe in the folder, and returns its path.
fn make_pipe(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.file(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    movie::make_pipe(&path);
    path
}

fn is_pipe(path: &Path) -> bool {
    std::fs::symlink_metadata(path).unwrap().file_type().is_fifo()
}

/// Runs a small bench with its cache in `folder`.
fn bench(folder: &Folder, more: &[&str]) -> (Option<i32>, String, String) {
    let mut command = clreel(None);
    command.env("XDG_CACHE_HOME", folder.file("cache"));
    command.env("CLREEL_KERNELS", folder.file("")).args(["bench", "--frames", "1", "--radius", "2"]);
    command.args(["--size", "48x32"]).args(more);
    output(folder, command)
}

#[test]
fn settings_that_are_no_regular_file_are_left_alone() {
    let (display, folder) = (Display::start(&[]), Folder::new("hostile-settings"));
    make_pipe(&folder, "pipe");
    symlink("/dev/zero", folder.file("zero")).unwrap();
    folder.folder("folder");
    for (name, what) in [("pipe", "a pipe"), ("zero", "a device"), ("folder", "a folder")] {
        let mut command = clreel(Some(&display));
        command.env("CLREEL_SETTINGS", folder.file(name)).args(["--variant", "off"]);
        let mut session = Session::start(&display, &mut command);
        session.wait_for_title("- off");
        // A change that would be remembered.
        session.display.key("i");
        session.wait("a hidden overlay", |s| s.texts().is_empty());
        // A signal ends clreel as usual.
        session.signal(libc::SIGTERM);
        let (code, stderr) = session.end();
        assert_eq!((code, stderr.matches(what).count()), (Some(0), 1), "{stderr}");
        assert!(stderr.contains("not remembered"), "{stderr}");
    }
    assert!(is_pipe(&folder.file("pipe")) && folder.file("folder").is_dir());
    assert_eq!(std::fs::read_link(folder.file("zero")).unwrap(), Path::new("/dev/zero"));
    assert!(!std::fs::exists(folder.file("pipe.bad")).unwrap());
}

#[test]
fn a_cache_of_sharing_tests_that_is_a_pipe_is_left_alone() {
    let (display, folder) = (Display::start(&[]), Folder::new("hostile-sharing"));
    let pipe = make_pipe(&folder, "cache/clreel/sharing.json");
    let mut command = clreel(Some(&display));
    command.env("XDG_CACHE_HOME", folder.file("cache")).args(["--variant", "flat", "--frames", "2"]);
    let stderr = succeed(command);
    assert_eq!(stderr.matches("It is a pipe").count(), 1, "{stderr}");
    assert!(is_pipe(&pipe));
}

#[test]
fn a_tuning_cache_that_is_a_pipe_or_device_is_left_alone() {
    let folder = Folder::new("hostile-tuning");
    let cache = make_pipe(&folder, "cache/clreel/tuning.json");
    let (code, stdout, stderr) = bench(&folder, &["--variant", "auto"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("auto: fused"), "{stdout}");
    assert_eq!(stderr.matches("It is a pipe").count(), 1, "{stderr}");
    assert!(is_pipe(&cache));
    std::fs::remove_file(&cache).unwrap();
    symlink("/dev/zero", &cache).unwrap();
    let (code, _, stderr) = bench(&folder, &["--variant", "auto"]);
    assert_eq!((code, stderr.matches("It is a device").count()), (Some(0), 1), "{stderr}");
}

#[test]
fn tune_refuses_an_unwritable_cache_before_tuning() {
    let folder = Folder::new("hostile-cache");
    // PoCL's cache stays empty: nothing was built, so nothing was tuned.
    let compiled = folder.folder("compiled");
    let tune = || {
        let mut command = clreel(None);
        command.env("XDG_CACHE_HOME", folder.file("cache")).env("POCL_CACHE_DIR", &compiled);
        command.args(["tune", "--radius", "2", "--size", "64x48"]);
        let (code, stdout, stderr) = output(&folder, command);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(!holds_a_program(&compiled), "it searched first");
        stderr
    };
    let cache = make_pipe(&folder, "cache/clreel/tuning.json");
    let stderr = tune();
    assert!(stderr.contains("cannot be kept") && stderr.contains("It is a pipe"), "{stderr}");
    assert!(is_pipe(&cache));
    // A file instead of the folder, into which even root cannot write.
    std::fs::remove_dir_all(folder.file("cache")).unwrap();
    folder.with("cache", b"precious");
    let stderr = tune();
    assert!(stderr.contains("cannot be kept"), "{stderr}");
    assert_eq!(std::fs::read(folder.file("cache")).unwrap(), b"precious");
}

/// Returns true if PoCL has cached a program below a folder.
fn holds_a_program(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".bc") || name.ends_with(".so") || path.is_dir() && holds_a_program(&path)
    })
}

#[test]
fn a_kernel_that_is_no_regular_file_fails_its_own_variant_only() {
    let folder = Folder::new("hostile-kernel");
    let pipe = make_pipe(&folder, "box_filter/03_flat.cl");
    symlink("/dev/zero", folder.file("box_filter/04_vectorized.cl")).unwrap();
    folder.folder("box_filter/02_separable.cl");
    let long = std::fs::File::create(folder.file("box_filter/01_naive.cl")).unwrap();
    long.set_len(4 << 30).unwrap();
    let variants = "naive,separable,flat,vectorized,fused";
    let (code, stdout, stderr) = bench(&folder, &["--json", "--variant", variants]);
    assert_eq!(code, Some(1), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let variants = report["devices"][0]["runs"][0]["variants"].as_array().unwrap();
    let reasons = ["longer than 1 MiB", "a folder", "a pipe (FIFO)", "a device", ""];
    for (variant, why) in variants.iter().zip(reasons) {
        if why.is_empty() {
            assert_eq!(variant["outcome"], "ok", "{variant}");
        } else {
            let reason = variant["reason"].as_str().unwrap();
            assert!(variant["outcome"] == "failed" && reason.contains(why), "{variant}");
            assert!(reason.contains("CLREEL_KERNELS"), "{reason}");
        }
    }
    assert!(is_pipe(&pipe));
}

#[test]
fn a_compiler_log_of_megabytes_is_truncated_with_its_length() {
    let (display, folder) = (Display::start(&[]), Folder::new("hostile-log"));
    // Several lines of a megabyte.
    folder.with("box_filter/long.clh", format!("#error {}\n", "no ".repeat(300_000)));
    folder.with("box_filter/03_flat.cl", "#include \"long.clh\"\n".repeat(4));
    let (code, stdout, stderr) = bench(&folder, &["--json", "--variant", "flat,fused"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.len() < 30_000, "{} bytes", stderr.len());
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let variants = &report["devices"][0]["runs"][0]["variants"];
    let reason = variants[0]["reason"].as_str().unwrap();
    assert!(reason.len() < 20_000, "{} bytes", reason.len());
    assert!(reason.contains("03_flat.cl") && reason.contains("… and 899 KB more"), "{reason}");
    assert_eq!(variants[1]["outcome"], "ok");
    // The banner has the truncated log.
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", &folder).args(["--variant", "flat"]);
    let mut session = Session::start(&display, &mut command);
    session.resize(1280, 720);
    session.wait_for_text("does not build");
    session.press_until_title("8", "fused, r=7");
    session.quit();
    // With --frames the text of the banner is also on stderr.
    let stderr = succeed(command.args(["--frames", "2"]));
    assert!(stderr.contains("KB more") && stderr.len() < 30_000, "{} bytes", stderr.len());
}
