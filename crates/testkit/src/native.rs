//! C code of the tests, compiled once into the build folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C files of `tests/` into a shared library and returns its path. A library that is newer than every file in
/// the source folder is not compiled again.
///
/// # Panics
/// Panics if there is no C compiler, or if the files do not compile.
pub fn shared_library(name: &str, folder: &str, files: &[&str], arguments: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    // Cargo sets CARGO_TARGET_TMPDIR for integration tests only. All test executables and examples lie two folders below it.
    let program = std::env::current_exe().unwrap();
    let build = program.ancestors().nth(3).unwrap().join("tmp");
    std::fs::create_dir_all(&build).unwrap();
    let library = build.join(format!("lib{name}.so"));
    let changed = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    let sources = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let newest = sources.filter_map(|path| changed(&path)).max();
    if changed(&library) > newest {
        return library;
    }
    // Tests run concurrently: each compiles to a name of its own, and the last rename wins.
    let id = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let unfinished = library.with_extension(id.replace(['(', ')'], ""));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".to_owned());
    let output = Command::new(&compiler)
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"])
        .arg(&unfinished)
        .args(files.iter().map(|file| folder.join(file)))
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("'{compiler}' must be installed ({e}): ./dev test does that"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{folder:?} does not compile (headers: ./dev test installs them):\n{messages}"
    );
    std::fs::rename(&unfinished, &library).unwrap();
    library
}
