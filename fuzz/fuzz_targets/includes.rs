//! `#include` lines of kernel files. The input is a text in which lines of `=` followed by a name begin another file.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use opencl::sources::Sources;

/// The name of the file with which the input begins.
const FIRST: &str = "box_filter/01_naive.cl";

/// Splits the input into files.
fn files(input: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut name = FIRST.to_owned();
    for line in input.split_inclusive('\n') {
        match line.strip_prefix('=') {
            Some(other) => name = other.trim_end().to_owned(),
            None => files.entry(name.clone()).or_insert_with(String::new).push_str(line),
        }
    }
    files
}

fuzz_target!(|input: &str| {
    let files = files(input);
    let names: Vec<String> = files.keys().cloned().collect();
    let Ok(sources) = Sources::from_texts(files) else { return };
    for name in &names {
        let _ = (sources.fingerprint(name), sources.is_changed(name));
    }
});
