//! What is said of movies that cannot be read.

use std::path::Path;

use ffmpeg_next as ffmpeg;

use base::error::Error;
use base::text;

/// Result with FFmpeg's own error.
pub(super) type Ffmpeg<T> = std::result::Result<T, ffmpeg::Error>;

/// FFmpeg's description of an error, for the middle of a sentence.
pub(super) fn sentence(error: ffmpeg::Error) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

/// Returns true for the error of a decoder that has no code for what it is given. AV1's without the hardware for it says that
/// the function is not implemented.
pub(super) fn is_unsupported(error: ffmpeg::Error) -> bool {
    matches!(error, ffmpeg::Error::PatchWelcome | ffmpeg::Error::Other { errno: ffmpeg::error::ENOSYS })
}

/// The warning about a time behind the movie's end; `instead` says what is shown.
pub(super) fn behind_the_end(path: &Path, at_s: f64, end_s: f64, instead: &str) -> Error {
    Error::new(
        format!("'{}' has no picture at {at_s:.3} s.", text::name(path)),
        format!("It ends at {end_s:.3} s."),
        instead,
    )
}

/// The error for a movie whose pictures do not fit into memory.
pub(super) fn no_memory(path: &Path) -> Error {
    Error::new(
        format!("There is not enough memory to decode '{}'.", text::name(path)),
        "FFmpeg could not have what it needs for its pictures.",
        "Close other programs, or play a smaller movie.",
    )
}
