//! A decoded frame: its picture, its times, and its place in the movie.

use std::sync::Arc;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::frame::Video;
use parking_lot::Mutex;

use super::SECOND_NS;
use super::earlier::Earlier;
use super::orientation::Orientation;
use crate::color::planes::{layout_of, pack};
use crate::color::{Layout, PackedPicture, RgbaConverter, has_alpha};
use base::error::Result;
use base::memory::{rgba_bytes, zeroed};

/// The order of a picture's fields. All rows of a progressive picture were captured at the same time; the rows of an
/// interlaced picture, as of television cameras, belong alternately to two fields, of which the first was captured earlier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FieldOrder {
    /// Progressive: all rows were captured at the same time.
    #[default]
    Progressive,
    /// Interlaced: rows 0, 2, 4, … are the first field.
    TopFirst,
    /// Interlaced: rows 1, 3, 5, … are the first field.
    BottomFirst,
}

impl FieldOrder {
    /// Returns the field order that the file states for the picture.
    pub(super) fn of_picture(picture: &Video) -> Self {
        match (picture.is_interlaced(), picture.is_top_first()) {
            (false, _) => Self::Progressive,
            (true, true) => Self::TopFirst,
            (true, false) => Self::BottomFirst,
        }
    }
}

/// A decoded picture with its times, and with its place among the frames of the movie.
pub struct Frame {
    /// The picture from the decoder. Its planes may be shared with other frames: do not write them.
    pub picture: Video,
    /// The pictures of the frames before this one in the movie, as many as [`Decoder`](super::Decoder) was asked for.
    pub earlier: Earlier,
    /// A copy of the picture's planes in memory that a device can upload from, if the decoder's thread packed them. Removed
    /// when the device is closed.
    pub packed: Mutex<Option<Arc<PackedPicture>>>,
    /// The time at which the frame is due on the play timeline, on which times increase across loops and seeks. Strictly
    /// increases from frame to frame. The first frame is at 0, or near the requested start.
    pub pts_ns: i64,
    /// The frame's position in the movie, in seconds from the movie's beginning.
    pub movie_s: f64,
    /// The time until the next frame is due, or the expected time if the next frame is not known.
    pub duration_ns: i64,
    /// The number of frames delivered before this one.
    pub number: u64,
    /// The number of seeks that had been requested when the frame was decoded.
    pub generation: u64,
    /// True for the first frame after a seek. The player sets its clock to the `pts_ns` of this frame.
    pub seeked: bool,
}

impl Frame {
    /// Creates a frame that belongs to no queue, with its position in the movie and its duration in nanoseconds.
    pub(super) fn still(picture: Video, movie_ns: i64, duration_ns: i64) -> Self {
        Self {
            picture,
            earlier: Earlier::default(),
            packed: Default::default(),
            pts_ns: movie_ns,
            movie_s: seconds(movie_ns),
            duration_ns: duration_ns.max(1),
            number: 0,
            generation: 0,
            seeked: false,
        }
    }

    /// Returns the width of the picture in pixels.
    pub fn width(&self) -> u32 {
        self.picture.width()
    }

    /// Returns the height of the picture in pixels.
    pub fn height(&self) -> u32 {
        self.picture.height()
    }

    /// Returns the width of one pixel divided by its height; 1 if the file states no aspect ratio, or one of more than 10
    /// or less than 1/10.
    pub fn pixel_aspect(&self) -> f64 {
        pixel_aspect(&self.picture)
    }

    /// Returns the picture's rotation and mirroring for display.
    pub fn orientation(&self) -> Orientation {
        Orientation::of_picture(&self.picture)
    }

    /// Returns the order of the picture's fields, [`FieldOrder::Progressive`] if it is not interlaced. The picture contains the
    /// rows of both fields.
    pub fn fields(&self) -> FieldOrder {
        FieldOrder::of_picture(&self.picture)
    }

    /// Returns true if the picture may have pixels that are not opaque.
    pub fn has_alpha(&self) -> bool {
        has_alpha(&self.picture)
    }

    /// Returns the frame's RGBA picture and those of the frames before it, nearest first, one after another: `count` pictures in all,
    /// of which the last one is repeated where there are no others.
    ///
    /// # Errors
    /// If memory runs out, or a picture cannot be converted.
    pub fn to_rgba(&self, count: usize) -> Result<Vec<u8>> {
        let bytes = rgba_bytes((self.width(), self.height()));
        let earlier = self.earlier.pictures.iter().map(Arc::as_ref);
        let mut rgba = zeroed(bytes * count)?;
        let mut converter = RgbaConverter::new();
        let pictures = std::iter::once(&self.picture).chain(earlier);
        let mut converted = 0;
        for (to, picture) in rgba.chunks_exact_mut(bytes).zip(pictures) {
            converter.convert(picture, to)?;
            converted += bytes;
        }
        for at in (converted..rgba.len()).step_by(bytes) {
            rgba.copy_within(at - bytes..at, at);
        }
        Ok(rgba)
    }

    /// Returns the frame's planes and those of the frames before it, nearest first, one block after another, each padded to a multiple of
    /// four bytes: `count` blocks in all. The last one is repeated where there are no others that are stored in this way.
    ///
    /// # Errors
    /// If memory runs out, or the frame has another layout.
    pub fn to_planes(&self, layout: &Layout, count: usize) -> Result<Vec<u8>> {
        let bytes = layout.bytes().next_multiple_of(4);
        let mut blocks = zeroed(bytes * count)?;
        let is_stored_so = |picture: &&Video| layout_of(picture).is_some_and(|own| own.is_stored_as(layout));
        let earlier = self.earlier.pictures.iter().map(Arc::as_ref).take_while(is_stored_so);
        let mut packed = 0;
        for (to, picture) in blocks.chunks_exact_mut(bytes).zip(std::iter::once(&self.picture).chain(earlier))
        {
            pack(picture, layout, &mut to[..layout.bytes()])?;
            packed += bytes;
        }
        for at in (packed..blocks.len()).step_by(bytes) {
            blocks.copy_within(at - bytes..at, at);
        }
        Ok(blocks)
    }

    /// Makes the picture of `before`, and those before it, the earlier pictures of this frame.
    pub fn follow(&mut self, before: Self) {
        let Self { picture, mut earlier, .. } = before;
        earlier.pictures.insert(0, Arc::new(picture));
        self.earlier = earlier;
    }

    /// Returns the size of the picture's planes in bytes, without the packed copy.
    pub(crate) fn bytes(&self) -> usize {
        picture_bytes(&self.picture)
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, pts_ns, movie_s, duration_ns, .. } = self;
        let (width, height) = (self.width(), self.height());
        write!(f, "frame {number}: {pts_ns} ns, movie {movie_s} s, for {duration_ns} ns, {width}×{height}")
    }
}

pub(super) fn seconds(ns: i64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// The largest plausible pixel aspect ratio, and the inverse of the smallest. Anamorphic films have 2, television at most 3;
/// FFmpeg accepts up to 65535.
const MAX_PIXEL_ASPECT: f64 = 10.0;

/// Returns the width of a picture's pixels divided by their height; 1 if the file states no aspect ratio, or an implausible
/// one.
pub(super) fn pixel_aspect(picture: &Video) -> f64 {
    let ratio = f64::from(picture.aspect_ratio());
    if (1.0 / MAX_PIXEL_ASPECT..=MAX_PIXEL_ASPECT).contains(&ratio) { ratio } else { 1.0 }
}

/// Returns the width and height of a pixel as the file states them, if their ratio is implausible and was therefore ignored;
/// otherwise `None`.
pub(super) fn ignored_aspect(picture: &Video) -> Option<(i32, i32)> {
    let ratio = picture.aspect_ratio();
    let (width, height) = (ratio.numerator(), ratio.denominator());
    (width > 0 && height > 0 && f64::from(ratio) != pixel_aspect(picture)).then_some((width, height))
}

// The field's type depends on FFmpeg's version.
/// Returns the memory of a picture's planes in bytes.
#[allow(clippy::unnecessary_cast)]
pub(super) fn picture_bytes(picture: &Video) -> usize {
    // SAFETY: the frame is valid for as long as `picture`; its buffer references are null or valid.
    unsafe {
        let frame = picture.as_ptr();
        (*frame).buf.iter().filter(|buf| !buf.is_null()).map(|&buf| (*buf).size as usize).sum()
    }
}

/// Returns a picture that references the same planes as `picture`; `None` when memory has run out.
pub(super) fn share_picture(picture: &Video) -> Option<Video> {
    let mut copy = Video::empty();
    // SAFETY: both frames are valid and `copy` is empty, as av_frame_ref requires.
    let result = unsafe {
        if copy.as_ptr().is_null() {
            return None;
        }
        ffmpeg::ffi::av_frame_ref(copy.as_mut_ptr(), picture.as_ptr())
    };
    (result >= 0).then_some(copy)
}

/// A picture with its position in the movie and the time until the next picture, in nanoseconds.
pub(super) struct TimedPicture {
    pub video: Video,
    /// The pictures before it; none until it is taken from its [`Pass`](super::pass::Pass).
    pub earlier: Earlier,
    pub movie_ns: i64,
    pub duration_ns: i64,
}

impl TimedPicture {
    /// Returns a picture that references the same planes; `None` when memory has run out.
    pub(super) fn share(&self) -> Option<Self> {
        Some(Self { video: share_picture(&self.video)?, earlier: self.earlier.clone(), ..*self })
    }
}

/// Converts seconds to nanoseconds; NaN and negative times count as 0.
pub(super) fn nanoseconds(seconds: f64) -> i64 {
    // The cast saturates, and turns NaN into 0.
    (seconds.max(0.0) * SECOND_NS as f64).round() as i64
}

/// Returns the rate in frames per second; `None` if it is not plausible for a movie.
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
        let picture = Video::new(ffmpeg::format::Pixel::YUV420P, 33, 7);
        let copy = share_picture(&picture).unwrap();
        // SAFETY: both frames are valid.
        unsafe { assert_eq!((*copy.as_ptr()).data[0], (*picture.as_ptr()).data[0]) };
        assert!(picture_bytes(&copy) >= 33 * 7 * 3 / 2);
    }

    #[test]
    fn pixel_aspect_defaults_to_square() {
        let mut picture = Video::new(ffmpeg::format::Pixel::GRAY8, 2, 2);
        assert_eq!(pixel_aspect(&picture), 1.0);
        for (ratio, aspect, is_ignored) in [
            ((16, 15), 16.0 / 15.0, false),
            ((10, 1), 10.0, false),
            ((1, 10), 0.1, false),
            ((4, 1), 4.0, false),
            ((1, 65535), 1.0, true),
            ((65535, 1), 1.0, true),
            ((11, 1), 1.0, true),
            ((1, 11), 1.0, true),
            ((i32::MAX, 1), 1.0, true),
            ((0, 1), 1.0, false),
            ((0, 0), 1.0, false),
            ((1, 0), 1.0, false),
            ((-1, 1), 1.0, false),
        ] {
            // SAFETY: the frame is valid and owned.
            unsafe {
                (*picture.as_mut_ptr()).sample_aspect_ratio = ffmpeg::Rational(ratio.0, ratio.1).into()
            };
            let ignored = is_ignored.then_some(ratio);
            assert_eq!((pixel_aspect(&picture), ignored_aspect(&picture)), (aspect, ignored), "{ratio:?}");
        }
    }

    #[test]
    fn seconds_become_nanoseconds_and_implausible_rates_are_rejected() {
        assert_eq!(nanoseconds(1.5), 1_500_000_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f64::NAN), 0);
        assert_eq!(nanoseconds(1e300), i64::MAX);
        assert_eq!(usable_rate(ffmpeg::Rational(25, 1)), Some(25.0));
        assert_eq!(usable_rate(ffmpeg::Rational(0, 0)), None);
        assert_eq!(usable_rate(ffmpeg::Rational(90_000, 1)), None);
        assert_eq!(usable_rate(ffmpeg::Rational(25, 0)), None);
    }
}
