//! Ladders that filter no pictures, as a test runs them: the program, what it prints, and kernels that are changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// clreel, which has tuned nothing.
pub fn clreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(args);
    // What the user has tuned must not matter.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    // What the compiler has made before may be used again.
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl"));
    command
}

/// What it has printed.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The rows of all cases on all devices.
pub fn rows(report: &Value) -> Vec<Value> {
    let runs = report["devices"].as_array().unwrap().iter().flat_map(|d| d["runs"].as_array().unwrap());
    runs.flat_map(|run| run["variants"].as_array().unwrap().clone()).collect()
}

/// A folder with a kernel that is changed; removed when dropped.
pub struct Kernels(pub PathBuf);

impl Kernels {
    /// With `to` for `from` in a file of a ladder, where it stands once.
    pub fn with(name: &str, ladder: &str, file: &str, from: &str, to: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("clreel-ladders-{ladder}-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join(ladder)).unwrap();
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(ladder).join(file);
        let text = std::fs::read_to_string(original).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        std::fs::write(folder.join(ladder).join(file), text.replace(from, to)).unwrap();
        Self(folder)
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
