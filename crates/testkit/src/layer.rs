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

/// Returns the lines of the layer's log for `function`.
pub fn calls(log: &Path, function: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.split(' ').next() == Some(function)).map(str::to_owned).collect()
}
