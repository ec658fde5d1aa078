//! One decoded frame with its times.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ffmpeg_next as ffmpeg;

use super::SECOND_NS;
use super::orientation::Orientation;
use crate::color::{Packed, has_alpha};

/// How the rows of a picture were taken: at one moment, or every other row at a later one, as cameras for television did.
/// The first field is that of the earlier moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Fields {
    /// All rows at one moment.
    #[default]
    Progressive,
    /// Interlaced: rows 0, 2, 4, … are the first field.
    TopFirst,
    /// Interlaced: rows 1, 3, 5, … are the first field.
    BottomFirst,
}

impl Fields {
    /// What the file says of the picture.
    pub(super) fn of_picture(picture: &ffmpeg::frame::Video) -> Self {
        match (picture.is_interlaced(), picture.is_top_first()) {
            (false, _) => Self::Progressive,
            (true, true) => Self::TopFirst,
            (true, false) => Self::BottomFirst,
        }
    }
}

/// A picture's planes in a device's memory, or nothing.
#[derive(Default)]
pub struct PackedPlanes(Mutex<Option<Arc<Packed>>>);

impl PackedPlanes {
    /// These, or none.
    pub(crate) fn new(packed: Option<Arc<Packed>>) -> Self {
        Self(Mutex::new(packed))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Packed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Them.
    pub fn get(&self) -> Option<Arc<Packed>> {
        self.lock().clone()
    }

    /// Takes them out.
    pub fn take(&self) -> Option<Arc<Packed>> {
        self.lock().take()
    }

    /// Puts others in their place.
    pub(crate) fn set(&self, packed: Option<Arc<Packed>>) {
        // Those before go when nobody waits for the lock.
        let _before = std::mem::replace(&mut *self.lock(), packed);
    }
}

/// A decoded picture and its time. Times are in nanoseconds.
pub struct Frame {
    /// The picture as the decoder gave it; its planes may be shared with other frames, so they are only read.
    pub picture: ffmpeg::frame::Video,
    /// Its planes in a device's memory, where the decoder's thread has packed them there. They go with the device.
    pub packed: PackedPlanes,
    /// When it is due on the play timeline: it strictly increases, also from one loop to the next. The first
    /// frame is at 0, or near the start that was asked for.
    pub pts_ns: i64,
    /// Position in the movie, in seconds from its first frame.
    pub movie_s: f64,
    /// Time until the next frame, as far as it is known.
    pub duration_ns: i64,
    /// Frames delivered before this one.
    pub number: u64,
    /// How many seeks had been asked for when it was decoded.
    pub generation: u64,
    /// Whether it is the first frame after a seek: the player's clock goes on from its `pts_ns`.
    pub seeked: bool,
}

impl Frame {
    /// One by itself, of no queue: its time in the movie and its duration are in nanoseconds.
    pub(super) fn still(picture: ffmpeg::frame::Video, movie_ns: i64, duration_ns: i64) -> Self {
        Self {
            picture,
            packed: Default::default(),
            pts_ns: movie_ns,
            movie_s: seconds(movie_ns),
            duration_ns: duration_ns.max(1),
            number: 0,
            generation: 0,
            seeked: false,
        }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.picture.width()
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.picture.height()
    }

    /// Width of one pixel divided by its height; 1 if the file does not say, or states more than 10 or less than 1/10.
    pub fn pixel_aspect(&self) -> f64 {
        pixel_aspect(&self.picture)
    }

    /// How the picture is to be turned before it is shown.
    pub fn orientation(&self) -> Orientation {
        Orientation::of_picture(&self.picture)
    }

    /// Whether it is interlaced. Both fields are woven into the picture, as they are stored.
    pub fn fields(&self) -> Fields {
        Fields::of_picture(&self.picture)
    }

    /// Returns true if the picture may have pixels that are not opaque.
    pub fn has_alpha(&self) -> bool {
        has_alpha(&self.picture)
    }

    /// Memory that the picture's planes take, in bytes. Packed ones are a device's.
    pub(crate) fn bytes(&self) -> usize {
        picture_bytes(&self.picture)
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame")
            .field("number", &self.number)
            .field("pts_ns", &self.pts_ns)
            .field("movie_s", &self.movie_s)
            .field("duration_ns", &self.duration_ns)
            .field("size", &(self.width(), self.height()))
            .finish()
    }
}

/// Seconds of a time in nanoseconds.
pub(super) fn seconds(ns: i64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// Pixels are at most so many times as wide as they are high, and the other way round: anamorphic films have 2, television at
/// most 3. FFmpeg takes ratios of up to 65535 from files, which nobody means.
const MAX_ASPECT: f64 = 10.0;

/// Width of a picture's pixels divided by their height; 1 if the file does not say, or says what cannot be.
pub(super) fn pixel_aspect(picture: &ffmpeg::frame::Video) -> f64 {
    let ratio = f64::from(picture.aspect_ratio());
    if (1.0 / MAX_ASPECT..=MAX_ASPECT).contains(&ratio) { ratio } else { 1.0 }
}

/// The ratio that the file states for a picture's pixels where it cannot be and is ignored.
pub(super) fn ignored_aspect(picture: &ffmpeg::frame::Video) -> Option<(i32, i32)> {
    let ratio = picture.aspect_ratio();
    let (width, height) = (ratio.numerator(), ratio.denominator());
    (width > 0 && height > 0 && f64::from(ratio) != pixel_aspect(picture)).then_some((width, height))
}

/// Memory behind a picture's planes, in bytes.
// The field's type depends on FFmpeg's version.
#[allow(clippy::unnecessary_cast)]
pub(super) fn picture_bytes(picture: &ffmpeg::frame::Video) -> usize {
    // SAFETY: the frame is valid for as long as `picture`; its buffer references are null or valid.
    unsafe {
        let frame = picture.as_ptr();
        (*frame).buf.iter().filter(|buf| !buf.is_null()).map(|&buf| (*buf).size as usize).sum()
    }
}

/// A second owner of the same planes; `None` when memory has run out.
pub(super) fn share(picture: &ffmpeg::frame::Video) -> Option<ffmpeg::frame::Video> {
    let mut copy = ffmpeg::frame::Video::empty();
    // SAFETY: both frames are valid and `copy` is empty, which is what av_frame_ref asks for.
    let result = unsafe {
        if copy.as_ptr().is_null() {
            return None;
        }
        ffmpeg::ffi::av_frame_ref(copy.as_mut_ptr(), picture.as_ptr())
    };
    (result >= 0).then_some(copy)
}

/// A picture, its position in the movie and the time to the next picture, in nanoseconds.
pub(super) struct Timed {
    pub video: ffmpeg::frame::Video,
    pub movie_ns: i64,
    pub duration_ns: i64,
}

/// Nanoseconds of a time in seconds; not a number and negative times count as 0.
pub(super) fn nanoseconds(seconds: f64) -> i64 {
    // The cast saturates, and turns what is not a number into 0.
    (seconds.max(0.0) * SECOND_NS as f64).round() as i64
}

/// A rate that can be one of a movie, in frames a second.
pub(super) fn usable_rate(rate: ffmpeg::Rational) -> Option<f64> {
    let (numerator, denominator) = (rate.numerator(), rate.denominator());
    let fps = f64::from(numerator) / f64::from(denominator.max(1));
    (numerator > 0 && denominator > 0 && (0.001..=1000.0).contains(&fps)).then_some(fps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_picture_has_the_same_planes() {
        let picture = ffmpeg::frame::Video::new(ffmpeg::format::Pixel::YUV420P, 33, 7);
        let copy = share(&picture).unwrap();
        // SAFETY: both frames are valid.
        unsafe { assert_eq!((*copy.as_ptr()).data[0], (*picture.as_ptr()).data[0]) };
        assert!(picture_bytes(&copy) >= 33 * 7 * 3 / 2);
    }

    #[test]
    fn pixel_aspect_defaults_to_square() {
        let mut frame = Frame {
            picture: ffmpeg::frame::Video::new(ffmpeg::format::Pixel::GRAY8, 2, 2),
            packed: PackedPlanes::default(),
            pts_ns: 0,
            movie_s: 0.0,
            duration_ns: 1,
            number: 0,
            generation: 0,
            seeked: false,
        };
        assert_eq!(frame.pixel_aspect(), 1.0);
        // SAFETY: the frame is valid and owned.
        unsafe { (*frame.picture.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational(16, 15).into() };
        assert_eq!(frame.pixel_aspect(), 16.0 / 15.0);
        for (ratio, aspect) in [((10, 1), 10.0), ((1, 10), 0.1), ((4, 1), 4.0)] {
            // SAFETY: as above.
            unsafe {
                (*frame.picture.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational::from(ratio).into()
            };
            assert_eq!((frame.pixel_aspect(), ignored_aspect(&frame.picture)), (aspect, None), "{ratio:?}");
        }
        for ratio in [(1, 65535), (65535, 1), (11, 1), (1, 11), (i32::MAX, 1)] {
            // SAFETY: as above.
            unsafe {
                (*frame.picture.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational(ratio.0, ratio.1).into()
            };
            assert_eq!((frame.pixel_aspect(), ignored_aspect(&frame.picture)), (1.0, Some(ratio)));
        }
        for ratio in [(0, 1), (0, 0), (1, 0), (-1, 1)] {
            // SAFETY: as above.
            unsafe {
                (*frame.picture.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational(ratio.0, ratio.1).into()
            };
            assert_eq!((frame.pixel_aspect(), ignored_aspect(&frame.picture)), (1.0, None), "{ratio:?}");
        }
    }

    #[test]
    fn seconds_become_nanoseconds() {
        assert_eq!(nanoseconds(1.5), 1_500_000_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f64::NAN), 0);
        assert_eq!(nanoseconds(1e300), i64::MAX);
    }

    #[test]
    fn a_rate_must_be_one_of_a_movie() {
        assert_eq!(usable_rate(ffmpeg::Rational(25, 1)), Some(25.0));
        assert_eq!(usable_rate(ffmpeg::Rational(0, 0)), None);
        assert_eq!(usable_rate(ffmpeg::Rational(90_000, 1)), None);
        assert_eq!(usable_rate(ffmpeg::Rational(25, 0)), None);
    }
}
