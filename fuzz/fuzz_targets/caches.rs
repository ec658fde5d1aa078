//! The caches: of tuning, of sharing tests, of compiled programs, and versions of edited kernels. The first byte selects one.

#![no_main]

use clreel::fuzzing::{kernel_version, sharing_cache};
use compute::cache::Cache;
use libfuzzer_sys::fuzz_target;
use opencl::binaries::{MAGIC, binary_of};
use opencl::sources::{hash, is_kernel_name};

/// The key of the program whose binary is looked up.
const KEY: &str = "key";

/// Returns the contents of a file with a valid hash, so that what follows the hash is parsed, too.
fn hashed(rest: &[u8]) -> Vec<u8> {
    [MAGIC, &hash(rest).to_le_bytes(), rest].concat()
}

fuzz_target!(|input: &[u8]| {
    let Some((selected, contents)) = input.split_first() else { return };
    match selected % 5 {
        0 => drop(Cache::parse(contents)),
        1 => drop(sharing_cache(contents)),
        2 => drop(binary_of(contents, KEY)),
        3 => {
            let file = hashed(contents);
            assert!(binary_of(&file, KEY).is_none_or(|binary| file.ends_with(binary)));
        }
        _ => assert!(
            kernel_version(contents).is_none_or(|names| names.iter().all(|name| is_kernel_name(name)))
        ),
    }
});
