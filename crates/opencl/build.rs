//! Lists every kernel file below `kernels/`, so that the binary carries them all: a new one needs no entry anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let root = variable("CARGO_MANIFEST_DIR")?.join("../../kernels").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut text = "&[\n".to_owned();
    for file in files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let name =
            name.to_str().ok_or_else(|| io::Error::other("a kernel's file has a name that is no text"))?;
        writeln!(text, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .map_err(io::Error::other)?;
    }
    text.push(']');
    fs::write(variable("OUT_DIR")?.join("kernels.rs"), text)
}

/// Adds the kernel files and their common parts (`.clh`) in a folder and its subfolders.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "cl" || extension == "clh") {
            files.push(path);
        }
    }
    Ok(())
}
