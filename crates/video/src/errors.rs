//! Errors about movies that cannot be read or decoded.

use std::path::Path;

use ffmpeg_next as ffmpeg;

use base::error::Error;
use base::text;

/// The hint in errors about files whose decoder is missing or incomplete.
pub(super) const CONVERT_HINT: &str = "Install a complete or a newer FFmpeg, or convert the file.";

/// The hint in warnings about damaged files.
pub(super) const DAMAGE_HINT: &str = "What could be decoded is played; a new copy of the file may be whole.";

/// Returns a sentence about packets that could not be decoded; `None` if there are none.
pub(super) fn undecoded_packets(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 packet could not be decoded.".to_owned()),
        n => Some(format!("{n} packets could not be decoded.")),
    }
}

/// The result of a call of FFmpeg.
pub(super) type Ffmpeg<T> = Result<T, ffmpeg::Error>;

/// Returns FFmpeg's description of an error, worded for the middle of a sentence.
pub(super) fn sentence(error: ffmpeg::Error) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

/// Returns true if a decoder does not implement what the file uses. The AV1 decoder returns `ENOSYS` without its hardware.
pub(super) fn is_unsupported(error: ffmpeg::Error) -> bool {
    matches!(error, ffmpeg::Error::PatchWelcome | ffmpeg::Error::Other { errno: ffmpeg::error::ENOSYS })
}

pub(super) fn cannot_open(path: &Path, why: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(format!("Cannot open '{}'.", text::name(path)), why, hint)
}

pub(super) fn cannot_decode(path: &Path, why: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(format!("Cannot decode '{}'.", text::name(path)), why, hint)
}

/// Returns the error for a file that clreel does not play; `hint` is the suggestion to the user.
pub(super) fn not_playable(path: &Path, why: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(format!("'{}' is not a movie that can be played.", text::name(path)), why, hint)
}

/// Returns the error for a file without pictures to play.
pub(super) fn not_a_movie(path: &Path, why: impl Into<String>) -> Error {
    not_playable(path, why, "Try another file, such as an .mp4, .mkv, .webm or .avi.")
}

/// Returns the warning that the requested time `at_s` is after the movie's end `end_s`; `instead` is a sentence about what is
/// shown instead of the requested frame.
pub(super) fn past_the_end(path: &Path, at_s: f64, end_s: f64, instead: &str) -> Error {
    Error::new(
        format!("'{}' has no picture at {at_s:.3} s.", text::name(path)),
        format!("It ends at {end_s:.3} s."),
        instead,
    )
}

pub(super) fn no_memory(path: &Path) -> Error {
    Error::new(
        format!("There is not enough memory to decode '{}'.", text::name(path)),
        "FFmpeg could not have what it needs for its pictures.",
        "Close other programs, or play a smaller movie.",
    )
}
