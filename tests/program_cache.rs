//! The cache of compiled programs: a second start loads them and makes the same picture, and damaged files are compiled
//! again. Needs an OpenCL device.

use std::path::{Path, PathBuf};

use crate::common::*;

/// Takes a snapshot; returns its pixels, and how many programs were compiled and how many loaded.
fn snapshot(folder: &Folder, movie: &Path, variables: &[(&str, &str)]) -> (Vec<u8>, usize, usize) {
    let (picture, trace) = (folder.file("s.png"), folder.file("t.json"));
    let mut command = clreel(None);
    command.env("XDG_CACHE_HOME", folder.file("cache")).env_remove("CLREEL_BINARIES");
    command.envs(variables.iter().copied()).arg("snapshot").arg(movie);
    command.args(["--variant", "flat", "--radius", "3", "--device", "0"]);
    succeed(command.arg("--out").arg(&picture).arg("--trace").arg(&trace));
    let trace = read_json(&trace);
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    (png(&picture).2, count("build"), count("load"))
}

fn cached_files(folder: &Folder) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.file("cache/clreel/programs")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn programs_are_compiled_once_and_damaged_binaries_again() {
    let folder = Folder::new("binaries");
    let movie = folder.movie("small.mkv", &Movie::default());
    let on = [("CLREEL_BINARIES", "1")];
    // Disabled, no program is cached.
    let off = [("CLREEL_BINARIES", "0")];
    let (picture, built, _) = snapshot(&folder, &movie, &off);
    assert!(built > 0 && cached_files(&folder).is_empty(), "{built} built");
    // The default, without the environment variable.
    assert_eq!(snapshot(&folder, &movie, &[]), (picture.clone(), built, 0));
    let files = cached_files(&folder);
    assert_eq!(files.len(), built, "{files:?}");
    // Loaded programs give the same bytes.
    assert_eq!(snapshot(&folder, &movie, &on), (picture.clone(), 0, built));
    assert_eq!(cached_files(&folder), files);

    for damage in [
        |bytes: &mut Vec<u8>| bytes.truncate(1000),
        |bytes: &mut Vec<u8>| {
            // In the middle of the driver's binary.
            let at = bytes.len() - 100;
            bytes[at] ^= 1;
        },
    ] {
        let mut bytes = std::fs::read(&files[0]).unwrap();
        damage(&mut bytes);
        std::fs::write(&files[0], bytes).unwrap();
        let (again, rebuilt, loaded) = snapshot(&folder, &movie, &on);
        assert!(again == picture && (rebuilt, loaded) == (1, built - 1), "{rebuilt} built, {loaded} loaded");
        // The damaged file was replaced.
        assert_eq!(snapshot(&folder, &movie, &on), (picture.clone(), 0, built));
    }
    // Disabled, no cached program is used.
    assert_eq!(snapshot(&folder, &movie, &off), (picture.clone(), built, 0));
    // Modified kernels are always compiled, even if their text is unchanged.
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
    let changed = [on[0], ("CLREEL_KERNELS", kernels)];
    assert_eq!(snapshot(&folder, &movie, &changed).2, 0);
    assert_eq!(cached_files(&folder), files);
    // The benchmark does not use the cache.
    let mut command = clreel(None);
    command.env("XDG_CACHE_HOME", folder.file("bench")).env_remove("CLREEL_BINARIES");
    command.arg("bench").arg(&movie).args(["--variant", "flat", "--frames", "3", "--conversions", "none"]);
    succeed(command);
    assert!(!folder.file("bench/clreel/programs").exists());
    // A file instead of the folder.
    let folder = Folder::new("binaries-none");
    folder.with("cache/clreel/programs", "");
    assert_eq!(snapshot(&folder, &movie, &on), (picture, built, 0));
}

/// To return a binary, a driver may compile the program again.
#[test]
fn binaries_are_requested_from_the_driver_only_if_cached() {
    let folder = Folder::new("binaries-asked");
    let movie = folder.movie("small.mkv", &Movie::default());
    for (kept, asked_of_each) in [("0", 0), ("1", 2)] {
        let log = folder.file(kept);
        let mut variables = layer::environment(&[("CALLS", log.to_str().unwrap())]);
        variables.push(("CLREEL_BINARIES".to_owned(), kept.into()));
        let variables: Vec<_> = variables.iter().map(|(name, to)| (&**name, to.to_str().unwrap())).collect();
        let (_, built, _) = snapshot(&folder, &movie, &variables);
        let asked = layer::calls(&log, "clGetProgramInfo").len();
        assert!(built > 0 && asked == asked_of_each * built, "{kept}: {built} built, {asked} asked");
    }
}
