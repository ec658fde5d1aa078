//! Programs that tests need besides the driver, and the record of tests that lack one, which `./dev test` counts.

use std::ffi::OsString;
use std::io::Write as _;
use std::panic::Location;
use std::time::{Duration, Instant};

/// The file to which skipped tests add a line: the test, the Debian package that it lacks or `-`, and the reason, with tabs between.
const SKIPS: &str = "CLREEL_SKIPS";

/// Returns true if a program of this name is in `PATH`.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns true if all these programs are installed. Otherwise the calling test must return, and is counted as skipped.
///
/// # Panics
/// Panics if a program is missing and skipped tests are not counted (`./dev test` counts them): a test must not pass without a
/// result.
#[track_caller]
pub fn has(programs: &[&str]) -> bool {
    let Some(missing) = programs.iter().find(|program| !is_installed(program)) else { return true };
    let package = match *missing {
        "swaymsg" => "sway",
        "rsvg-convert" => "librsvg2-bin",
        "convert" => "imagemagick",
        missing => missing,
    };
    let Some(file) = std::env::var_os(SKIPS) else {
        panic!(
            "{missing} is not installed. Install the package {package}, or run ./dev test, which counts skipped tests."
        );
    };
    record(file, package, &format!("{missing} is not installed"), Location::caller());
    false
}

/// Counts a part of the calling test as skipped for a reason that no package removes, such as a fault of another program.
#[track_caller]
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    if let Some(file) = std::env::var_os(SKIPS) {
        record(file, "-", reason, Location::caller());
    }
}

/// Waits until `is_done` returns true.
///
/// # Panics
/// Panics with `failed` after a minute.
pub(crate) fn wait_until(failed: &str, mut is_done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_done() {
        assert!(began.elapsed() < Duration::from_secs(60), "{failed}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn record(file: OsString, package: &str, reason: &str, caller: &Location) {
    // libtest names a thread by its test, except for the main thread, in which it runs a single test.
    let thread = std::thread::current();
    let place = format!("{}:{}", caller.file(), caller.line());
    let test = thread.name().filter(|name| *name != "main").unwrap_or(&place);
    let mut file =
        std::fs::File::options().append(true).create(true).open(file).expect("the file of skipped tests");
    // One write, since tests of other processes write to it too.
    file.write_all(format!("{test}\t{package}\t{reason}\n").as_bytes()).expect("the file of skipped tests");
}
