//! Reads single frames of a movie: the frame that is shown at a time, or the first frames as RGBA.

use std::path::Path;

use super::decoder::{picture_remarks, remarks_message};
use super::errors::past_the_end;
use super::frame::{Frame, nanoseconds, seconds};
use super::pass::Pass;
use super::read_control::{Cancel, OpenPolicy, ReadControl, run_with_timeout};
use crate::color::RgbaConverter;
use base::error::{Error, Result};
use base::memory::{count_in_free_memory, picture_memory, rgba_bytes};

/// Returns the frame that is shown at `at_s` seconds, with the pictures of `earlier` frames before it, and a warning about the
/// file. If the movie ends before `at_s`, returns the last frame and a warning.
///
/// # Errors
/// As for [`Decoder::open`](super::Decoder::open).
pub fn read_frame_at(
    path: &Path,
    at_s: f64,
    earlier: usize,
    policy: impl Into<OpenPolicy>,
) -> Result<(Frame, Option<Error>)> {
    let read_control = ReadControl::new(policy, Cancel::default());
    read_control.set_earlier(earlier);
    run_with_timeout(path, &read_control, move |path, read_control| {
        let (mut pass, reached) = Pass::open_at(path, nanoseconds(at_s), read_control)?;
        let end_s = seconds(pass.movie_end_ns());
        let alpha_warning = pass.source.alpha_warning();
        let Some(picture) = pass.next() else { return Err(pass.source.no_pictures_error()) };
        let warning = (!reached).then(|| {
            pass.warning().unwrap_or_else(|| past_the_end(path, at_s, end_s, "Its last picture is used."))
        });
        let remarks = || remarks_message(path, &picture_remarks(&pass.source, &picture.video));
        let warning = warning.or(alpha_warning).or_else(remarks);
        let still = Frame::still(picture.video, picture.movie_ns, picture.duration_ns);
        Ok((Frame { earlier: picture.earlier, ..still }, warning))
    })
}

/// The first frames of a movie as RGBA8, all of one size.
#[derive(Debug, Clone)]
pub struct RgbaFrames {
    /// Width of the frames in pixels.
    pub width: u32,
    /// Height of the frames in pixels.
    pub height: u32,
    /// The pixels of each frame: width × height × 4 bytes, rows from top to bottom.
    pub frames: Vec<Vec<u8>>,
    /// A warning about the movie, if there is one.
    pub warning: Option<Error>,
}

/// Returns the first `count` frames of the movie at `path`, scaled to `size` (width and height in pixels) or to the size of
/// the first frame. Returns fewer frames if the movie is shorter or memory is short.
///
/// # Errors
/// As for [`Decoder::open`](super::Decoder::open), and when the pictures cannot be converted.
pub fn read_frames_rgba(
    path: &Path,
    count: usize,
    size: Option<(u32, u32)>,
    policy: impl Into<OpenPolicy>,
) -> Result<RgbaFrames> {
    let read_control = ReadControl::new(policy, Cancel::default());
    run_with_timeout(path, &read_control, move |path, read_control| {
        let mut pass = Pass::open(path, read_control)?;
        let Some(first) = pass.peek() else { return Err(pass.source.no_pictures_error()) };
        let (width, height) = size.unwrap_or((first.video.width(), first.video.height()));
        let count = count_in_free_memory(count, rgba_bytes((width, height)));
        let mut converter = RgbaConverter::new();
        let mut frames = Vec::new();
        let mut warning = remarks_message(path, &picture_remarks(&pass.source, &first.video));
        while frames.len() < count {
            let Some(picture) = pass.next() else {
                warning = pass.warning().or(warning);
                break;
            };
            let mut rgba = picture_memory(width, height)?;
            converter.convert_scaled(&picture.video, (width, height), &mut rgba)?;
            frames.push(rgba);
        }
        Ok(RgbaFrames { width, height, frames, warning })
    })
}

/// Returns the frame that is shown at `at_s` seconds as RGBA, scaled to `size` (width and height in pixels) or in its own size.
///
/// # Errors
/// As for [`read_frames_rgba`].
pub fn read_frame_rgba_at(
    path: &Path,
    at_s: f64,
    size: Option<(u32, u32)>,
    policy: impl Into<OpenPolicy>,
) -> Result<RgbaFrames> {
    let (frame, warning) = read_frame_at(path, at_s, 0, policy)?;
    let (width, height) = size.unwrap_or((frame.width(), frame.height()));
    let mut rgba = picture_memory(width, height)?;
    RgbaConverter::new().convert_scaled(&frame.picture, (width, height), &mut rgba)?;
    Ok(RgbaFrames { width, height, frames: vec![rgba], warning })
}
