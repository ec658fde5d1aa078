//! Memory for whole pictures. In: a size. Out: the bytes, or a sentence where there is not enough of it: Rust's own
//! containers would end the process.

use std::alloc::{Layout, alloc_zeroed};

use sysinfo::System;

use crate::error::{Error, Result};

/// Memory for a picture of `width` by `height` pixels, RGBA8, tightly packed; all zero.
///
/// # Errors
/// When there is not enough of it.
pub fn picture_memory(width: u32, height: u32) -> Result<Vec<u8>> {
    let bytes = u128::from(width) * u128::from(height) * 4;
    zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// So many bytes, all zero.
///
/// # Errors
/// When there is not enough memory.
pub fn zeroed(len: usize) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(len).map_err(|_| no_memory(len))?;
    // SAFETY: the layout has a size above zero. It is that of a vector of `len` bytes, which owns it from here on; all
    // of them are initialised. The system gives zeroed pages only when they are touched, as for `vec![0; len]`.
    unsafe {
        let start = alloc_zeroed(layout);
        if start.is_null() { Err(no_memory(len)) } else { Ok(Vec::from_raw_parts(start, len, len)) }
    }
}

/// Whether so many bytes could be had now, for work that takes them in many pieces. The system promises more than it
/// has, and ends a process that uses it: so what is free counts too, where the system tells.
///
/// # Errors
/// When there is not enough memory.
pub fn require(len: usize) -> Result<()> {
    if free().is_some_and(|free| len as u64 > free) { Err(no_memory(len)) } else { zeroed(len).map(drop) }
}

/// How many of `count` pictures of `bytes` each may be kept: those that fit a quarter of the memory that is free, at
/// least one.
pub fn affordable(count: usize, bytes: usize) -> usize {
    let fit = |free: u64| usize::try_from(free / 4 / (bytes as u64).max(1)).unwrap_or(usize::MAX);
    free().map_or(count, |free| count.min(fit(free).max(1)))
}

/// Bytes that this process could still use, by what the machine has and what a container's limit leaves; `None` where
/// the system does not tell.
pub fn free() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    if system.total_memory() == 0 {
        return None;
    }
    let machine = system.available_memory().saturating_add(system.free_swap());
    // Files that the system keeps in memory make room when it is needed, so only what is resident counts.
    let left = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(machine.min(left.unwrap_or(u64::MAX)))
}

/// The error for `len` bytes that could not be had.
pub fn no_memory(len: usize) -> Error {
    Error::new(
        "There is not enough memory for frames of this size.",
        format!("{} MiB could not be had.", len >> 20),
        "Close other programs, or choose a smaller movie or size.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_or_a_sentence() {
        assert_eq!(picture_memory(3, 2).unwrap(), [0; 24]);
        assert_eq!(picture_memory(0, 2).unwrap(), [0; 0]);
        for size in [(u32::MAX, u32::MAX), (1 << 30, 1 << 29)] {
            let error = picture_memory(size.0, size.1).unwrap_err();
            assert!(error.what.contains("not enough memory"), "{error}");
        }
    }

    #[test]
    fn more_than_is_free_is_refused_although_the_system_would_promise_it() {
        let free = free().expect("Linux tells how much memory is free");
        assert!(require(usize::try_from(free).unwrap() + (1 << 32)).is_err());
        require(1 << 20).unwrap();
        assert_eq!(affordable(3, 1), 3);
        assert_eq!(affordable(3, usize::MAX), 1);
    }
}
