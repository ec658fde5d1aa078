//! Memory for whole pictures. In: a size. Out: the bytes, or a sentence where there is not enough of it: Rust's own
//! containers would end the process.

use std::alloc::{Layout, alloc_zeroed};

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

/// Whether so many bytes could be had now, for work that takes them in many pieces.
///
/// # Errors
/// When there is not enough memory.
pub fn require(len: usize) -> Result<()> {
    zeroed(len).map(drop)
}

/// The error for `len` bytes that could not be had.
pub fn no_memory(len: usize) -> Error {
    Error::new(
        "There is not enough memory for a frame.",
        format!("{} MiB could not be allocated.", len >> 20),
        "Close other programs, or play a smaller movie.",
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
}
