//! Allocation of memory for whole pictures. Failures are errors; Rust's collections would abort the process.

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use sysinfo::System;

use crate::error::{Error, Result};

/// Returns the size in bytes of a picture of `width`×`height` pixels, RGBA8, without padding.
pub fn rgba_bytes((width, height): (u32, u32)) -> usize {
    width as usize * height as usize * 4
}

/// Allocates zeroed memory for a picture of `width`×`height` pixels, RGBA8, without padding.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn picture_memory(width: u32, height: u32) -> Result<Vec<u8>> {
    let bytes = u128::from(width) * u128::from(height) * 4;
    zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Allocates `len` zeroed bytes.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn zeroed(len: usize) -> Result<Vec<u8>> {
    zeros(len)
}

/// Allocates `count` zeros. The system gives zeroed pages only when they are touched, as for `vec![0; len]`.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn zeros<T: Zeroable>(count: usize) -> Result<Vec<T>> {
    try_zeroed_vec(count).map_err(|()| no_memory(count.saturating_mul(size_of::<T>())))
}

/// Checks that `len` bytes are free, for work that allocates them in many pieces. Linux promises more memory than it has and
/// kills processes that use it, so this compares `len` with the free memory, if that is known.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn require(len: usize) -> Result<()> {
    if free().is_some_and(|free| len as u64 > free) { Err(no_memory(len)) } else { zeroed(len).map(drop) }
}

/// Returns how many of `count` pictures of `bytes` bytes each fit in a quarter of the free memory: at least one, and `count` if
/// the free memory is unknown.
pub fn count_in_free_memory(count: usize, bytes: usize) -> usize {
    let fit = |free: u64| usize::try_from(free / 4 / (bytes as u64).max(1)).unwrap_or(usize::MAX);
    free().map_or(count, |free| count.min(fit(free).max(1)))
}

/// Returns the bytes that this process can still use, within the machine's memory and a container's limit; `None` if unknown.
pub fn free() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    if system.total_memory() == 0 {
        return None;
    }
    let machine = system.available_memory().saturating_add(system.free_swap());
    // Only resident memory counts, since cached files are dropped when memory is needed.
    let left = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(machine.min(left.unwrap_or(u64::MAX)))
}

/// Returns the error for `len` bytes that could not be allocated.
pub fn no_memory(len: usize) -> Error {
    Error::new(
        "There is not enough memory for frames of this size.",
        format!("{} MiB could not be allocated.", len >> 20),
        "Close other programs, or choose a smaller movie or size.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_or_an_error() {
        assert_eq!(picture_memory(3, 2).unwrap(), [0; 24]);
        assert_eq!(picture_memory(0, 2).unwrap(), [0; 0]);
        for size in [(u32::MAX, u32::MAX), (1 << 30, 1 << 29)] {
            let error = picture_memory(size.0, size.1).unwrap_err();
            assert!(error.what.contains("not enough memory"), "{error}");
        }
        let free = free().expect("Linux reports the free memory");
        assert!(require(usize::try_from(free).unwrap() + (1 << 32)).is_err());
        require(1 << 20).unwrap();
        assert_eq!(count_in_free_memory(3, 1), 3);
        assert_eq!(count_in_free_memory(3, usize::MAX), 1);
    }
}
