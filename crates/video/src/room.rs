//! Room for a movie's pictures. In: the memory that is free. Out: bounds for what FFmpeg may ask for, because damaged files
//! ask for any size.

use std::path::Path;

use ffmpeg_next::ffi;
use libc::c_int;

use base::error::Error;
use base::memory;
use base::text;

/// More pixels than a picture of 16384×16384, the most that OpenGL and OpenCL know, has nobody.
const MAX_PIXELS: u64 = 16384 * 16384;
/// Small enough for every machine.
const MIN_PIXELS: u64 = 1920 * 1080;
/// Bytes of a pixel where it takes many, and how many pictures of that kind have to fit.
const PIXEL: u64 = 4;
const PICTURES: u64 = 4;
/// More than the largest plane of the largest picture.
const MAX_BLOCK: u64 = (2 << 30) - 1;
const MIN_BLOCK: u64 = 64 << 20;
/// Pictures besides those of the decoder's threads: up to 16 are kept as references, and some wait to be shown.
const WAITING: u64 = 24;

/// Memory that was free when the movie was opened, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room(u64);

impl Room {
    /// What is free now; as much as one likes where the system does not tell.
    pub(crate) fn now() -> Self {
        Self(memory::free().unwrap_or(u64::MAX))
    }

    /// Pixels of the largest pictures that are taken.
    pub(crate) fn max_pixels(self) -> i64 {
        (self.0 / (PIXEL * PICTURES)).clamp(MIN_PIXELS, MAX_PIXELS) as i64
    }

    /// Lets FFmpeg have no block of memory that is larger than half of what is free.
    pub(crate) fn limit_blocks(self) {
        // SAFETY: it sets a number for the whole process.
        unsafe { ffi::av_max_alloc((self.0 / 2).clamp(MIN_BLOCK, MAX_BLOCK) as usize) };
    }

    /// Threads of the decoder for pictures of this size; 0 lets FFmpeg choose. Each has pictures of its own, so there are
    /// fewer where these are so large that they would fill the memory.
    pub(crate) fn threads(self, width: c_int, height: c_int) -> c_int {
        let side = |side: c_int| u64::from(side.max(0).unsigned_abs());
        let bytes = side(width).saturating_mul(side(height)).saturating_mul(PIXEL).max(1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let fit = self.0 / 2 / bytes;
        if fit >= WAITING + cores { 0 } else { fit.saturating_sub(WAITING).max(1) as c_int }
    }

    /// The error for pictures of more pixels than are taken.
    pub(crate) fn too_large(self, path: &Path, width: c_int, height: c_int) -> Error {
        Error::new(
            format!("The pictures of '{}' are too large.", text::name(path)),
            format!(
                "They have {width}×{height} pixels; at most {} million can be taken here.",
                self.max_pixels() / 1_000_000
            ),
            "Make a smaller copy of it.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_follows_the_memory() {
        let (small, large) = (Room(256 << 20), Room(1 << 40));
        assert_eq!(small.max_pixels(), 16 << 20);
        assert_eq!(large.max_pixels(), 1 << 28);
        assert_eq!(Room(0).max_pixels(), 1920 * 1080);
        assert_eq!(large.threads(3840, 2160), 0);
        assert_eq!(small.threads(3840, 2160), 1, "one thread even where memory is short");
        assert_eq!(small.threads(320, 180), 0);
        assert_eq!(small.threads(-1, -1), 0);
    }
}
