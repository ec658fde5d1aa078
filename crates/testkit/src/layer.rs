//! The tests' own OpenCL layer (`tests/gl_sharing`): it shares textures on any driver and injects faults.

use std::ffi::OsString;
use std::path::Path;

/// Returns the environment variables that put the layer between the OpenCL loader and the driver. `options` are the
/// layer's own, without the prefix `CLREEL_LAYER_`: `[("POISON", "1"), ("FAIL", "clFlush:3:-36")]`.
pub fn environment(options: &[(&str, &str)]) -> Vec<(String, OsString)> {
    let library = crate::native::shared_library(
        "clreel_layer",
        "gl_sharing",
        &["layer.c", "sharing.c", "helper.c", "count.c"],
        &["-lGL", "-lX11", "-ldl", "-pthread"],
    );
    let mut environment = vec![("OPENCL_LAYERS".to_owned(), library.into_os_string())];
    environment.extend(options.iter().map(|(name, value)| (format!("CLREEL_LAYER_{name}"), value.into())));
    environment
}

/// Returns true if this process was started with the variables of [`environment`].
pub fn is_active() -> bool {
    std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("CLREEL_LAYER_"))
}

/// Asserts that the layer has recorded no misuse of OpenCL in a process that has ended.
///
/// # Panics
/// Panics if the layer has recorded a misuse, or if its log is missing or empty: then nothing was recorded.
pub fn assert_no_misuse(log: &Path, case: &str) {
    assert_written(log);
    let misuse = calls(log, "misuse");
    assert!(misuse.is_empty(), "{case}: {misuse:?}");
}

/// Asserts that the layer has written its log in a process that has ended.
///
/// # Panics
/// Panics if the log is missing or empty.
pub fn assert_written(log: &Path) {
    let length = std::fs::metadata(log).map_or(0, |file| file.len());
    assert!(length > 0, "the layer has written nothing to {}", log.display());
}

/// Returns the lines of the layer's log for `function`.
pub fn calls(log: &Path, function: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.split(' ').next() == Some(function)).map(str::to_owned).collect()
}
