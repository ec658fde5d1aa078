//! Limits on FFmpeg's allocations, derived from the free memory and the file's size, because damaged files can request any
//! size.

use std::path::Path;

use ffmpeg_next::ffi;
use libc::c_int;

use base::error::Error;
use base::text;

/// The maximum number of pixels of a picture, however much memory is free: OpenGL and OpenCL support at most 16384×16384.
const MAX_PIXELS: u64 = 16384 * 16384;
/// The number of pixels, that of Full HD, up to which pictures are decoded however little memory is free.
const MIN_PIXELS: u64 = 1920 * 1080;
/// The number of pixels, twice that of 4K, up to which pictures are decoded however small the file is.
const SMALL_FILE_PIXELS: u64 = 4096 * 4096;
/// The maximum number of pixels for each byte of the file, for pictures larger than [`SMALL_FILE_PIXELS`]. A black picture in
/// MJPEG has about as many; a flipped bit in the header of a file of 60 KB may declare 185 million pixels, which fill 2 GB.
const PIXELS_PER_BYTE: u64 = 512;
/// The number of bytes that a pixel is assumed to take in memory.
const PIXEL_BYTES: u64 = 4;
/// The number of pictures that must fit into the free memory; it limits the size of pictures that are decoded.
const MIN_PICTURES: u64 = 4;
/// The maximum in bytes of the limit on a single allocation of FFmpeg; it exceeds the largest plane of the largest picture.
const MAX_ALLOCATION: u64 = (2 << 30) - 1;
/// The minimum in bytes of the limit on a single allocation of FFmpeg.
const MIN_ALLOCATION: u64 = 64 << 20;
/// The number of decoded pictures that are in memory besides those of the decoder's threads: up to 16 reference pictures, and
/// some that wait to be shown.
const OTHER_PICTURES: u64 = 24;

/// Limits on a movie's pictures and on FFmpeg's allocations, derived from the free memory and the file's size, both in bytes,
/// when the movie was opened.
#[derive(Clone, Copy)]
pub(super) struct MemoryBudget {
    /// The memory that is free; `u64::MAX` where the system does not report it.
    pub free: u64,
    /// The size of the movie's file; `u64::MAX` if its pictures may be in other files.
    pub file: u64,
}

impl MemoryBudget {
    /// Returns the maximum number of pixels of a picture that is decoded.
    pub(crate) fn max_pixels(self) -> i64 {
        let plausible = self.file.saturating_mul(PIXELS_PER_BYTE).max(SMALL_FILE_PIXELS);
        let fit = (self.free / (PIXEL_BYTES * MIN_PICTURES)).max(MIN_PIXELS);
        fit.min(plausible).min(MAX_PIXELS) as i64
    }

    /// Limits each allocation of FFmpeg, in the whole process, to half of the free memory.
    pub(crate) fn limit_allocations(self) {
        // SAFETY: the function sets a number for the whole process.
        unsafe { ffi::av_max_alloc((self.free / 2).clamp(MIN_ALLOCATION, MAX_ALLOCATION) as usize) };
    }

    /// Returns the number of decoder threads for pictures of this size; 0 lets FFmpeg choose. Each thread has pictures of its
    /// own, so large pictures get fewer threads.
    pub(crate) fn threads(self, width: c_int, height: c_int) -> c_int {
        let side = |side: c_int| u64::from(side.max(0).unsigned_abs());
        let bytes = side(width).saturating_mul(side(height)).saturating_mul(PIXEL_BYTES).max(1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let fit = self.free / 2 / bytes;
        if fit >= OTHER_PICTURES + cores { 0 } else { fit.saturating_sub(OTHER_PICTURES).max(1) as c_int }
    }

    /// Returns the error for pictures with too many pixels.
    pub(crate) fn too_large(self, path: &Path, width: c_int, height: c_int) -> Error {
        let what = format!("The pictures of '{}' are too large.", text::name(path));
        let most = self.max_pixels() / 1_000_000;
        let why = format!("They have {width}×{height} pixels; at most {most} million can be taken here.");
        Error::new(what, why, "Make a smaller copy of it.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_free_memory_and_the_size_of_the_file() {
        let budget = |free| MemoryBudget { free, file: u64::MAX };
        let (small, large) = (budget(256 << 20), budget(1 << 40));
        assert_eq!(small.max_pixels(), 16 << 20);
        assert_eq!(large.max_pixels(), 1 << 28);
        assert_eq!(budget(0).max_pixels(), 1920 * 1080);
        assert_eq!(large.threads(3840, 2160), 0);
        assert_eq!(small.threads(3840, 2160), 1, "one thread even where memory is short");
        assert_eq!(small.threads(320, 180), 0);
        assert_eq!(small.threads(-1, -1), 0);
        // Small files have no huge pictures.
        let max_pixels = |file| MemoryBudget { free: 1 << 40, file }.max_pixels();
        assert_eq!((max_pixels(0), max_pixels(32 << 10)), (1 << 24, 1 << 24), "4K twice in any file");
        // A file of 60 KB whose header has a flipped bit, and a flat 8K picture in MJPEG.
        assert!(max_pixels(61_641) < 13_616 * 13_616);
        assert!(max_pixels(583_000) > 7680 * 4320);
        assert_eq!((max_pixels(1 << 20), max_pixels(u64::MAX)), (1 << 28, 1 << 28));
    }
}
