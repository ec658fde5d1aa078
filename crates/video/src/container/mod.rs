//! An opened movie file: its FFmpeg context, the stream that is played, and what the file states about itself.

mod chapters;
mod metadata;
mod open;
mod sound;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;

use super::SECOND_NS;
use super::access::{FileAccess, IoContext};
use super::memory_budget::MemoryBudget;

pub use chapters::Chapter;
pub(super) use open::refused_reference;

/// An opened file with one selected stream, of video or of sound. Fields drop in order: FFmpeg reads through `_io` and `access`
/// as long as `input` exists.
pub(super) struct Container {
    pub input: Input,
    _io: IoContext,
    pub access: Box<FileAccess>,
    pub budget: MemoryBudget,
    /// The index of the selected stream in the file.
    pub stream: usize,
    /// The index of the stream of sound that plays with the pictures; `None` without one, and in a file opened for its sound.
    pub sound: Option<usize>,
    /// True if the container itself states a duration for the stream; false if FFmpeg derived that from the duration of the
    /// whole file.
    states_duration: bool,
    /// The unit of the time stamps of the selected stream, in seconds.
    time_base: ffi::AVRational,
}

impl Container {
    /// Returns the selected stream; `None` if it does not exist.
    pub(crate) fn played(&self) -> Option<ffmpeg::Stream<'_>> {
        self.input.stream(self.stream)
    }

    /// Makes FFmpeg skip the packets of all streams except the one that is played and its sound.
    pub(crate) fn discard_other_streams(&mut self) {
        // SAFETY: the context is valid and has nb_streams streams; `discard` is a plain field.
        unsafe {
            let context = self.input.as_mut_ptr();
            for index in (0..(*context).nb_streams as usize).filter(|&index| !self.plays(index)) {
                (*(*(*context).streams.add(index))).discard = ffi::AVDiscard::AVDISCARD_ALL;
            }
        }
    }

    /// Returns true if the stream with this index is the selected one, or the sound that plays with it.
    fn plays(&self, index: usize) -> bool {
        index == self.stream || Some(index) == self.sound
    }

    /// Returns the pixel aspect ratio that the picture or the stream states.
    pub(crate) fn pixel_aspect(&mut self, picture: &mut ffmpeg::frame::Video) -> ffi::AVRational {
        // SAFETY: context, stream and frame are valid; FFmpeg only reads them.
        unsafe {
            let context = self.input.as_mut_ptr();
            let stream = *(*context).streams.add(self.stream);
            ffi::av_guess_sample_aspect_ratio(context, stream, picture.as_mut_ptr())
        }
    }

    /// Converts a time stamp or duration of the stream that is played to nanoseconds.
    pub(crate) fn nanoseconds(&self, stamp: i64) -> i64 {
        to_nanoseconds(stamp, self.time_base)
    }

    /// Converts a time stamp or duration of the stream with this index to nanoseconds.
    pub(crate) fn nanoseconds_of(&self, stream: usize, stamp: i64) -> Option<i64> {
        Some(to_nanoseconds(stamp, self.input.stream(stream)?.time_base().into()))
    }

    /// Converts nanoseconds to a time stamp of the stream that is played.
    pub(crate) fn stamp(&self, ns: i64) -> i64 {
        rescale(ns, (1, SECOND_NS), (self.time_base.num.into(), self.time_base.den.into()))
    }
}

/// Converts a time in units of `base` seconds to nanoseconds.
fn to_nanoseconds(stamp: i64, base: ffi::AVRational) -> i64 {
    rescale(stamp, (base.num.into(), base.den.into()), (1, SECOND_NS))
}

/// Converts `value` from units of `from` to units of `to` (fractions of a second), rounded to the nearest. Values out
/// of range are clamped; without a valid unit the result is 0.
fn rescale(value: i64, from: (i64, i64), to: (i64, i64)) -> i64 {
    let numerator = i128::from(from.0) * i128::from(to.1);
    let denominator = i128::from(from.1) * i128::from(to.0);
    if numerator <= 0 || denominator <= 0 {
        return 0;
    }
    let product = i128::from(value).saturating_mul(numerator);
    let half = denominator / 2;
    let rounded = if product >= 0 { (product + half) / denominator } else { (product - half) / denominator };
    rounded.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescales_with_rounding_and_clamping() {
        assert_eq!(rescale(1, (1, 3), (1, SECOND_NS)), 333_333_333);
        assert_eq!(rescale(2, (1, 3), (1, SECOND_NS)), 666_666_667);
        assert_eq!(rescale(-2, (1, 3), (1, SECOND_NS)), -666_666_667);
        assert_eq!(rescale(i64::MAX, (1000, 1), (1, SECOND_NS)), i64::MAX);
        assert_eq!(rescale(i64::MIN, (1000, 1), (1, SECOND_NS)), i64::MIN);
        assert_eq!(rescale(SECOND_NS, (1, SECOND_NS), (1001, 30_000)), 30);
        assert_eq!(rescale(5, (0, 1), (1, SECOND_NS)), 0);
    }
}
