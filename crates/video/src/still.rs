//! Single frames, without a thread. In: a movie file. Out: the frame at a time, or the first frames as RGBA.

use std::path::Path;

use super::decoder::{remark, remarks};
use super::failures::behind_the_end;
use super::frame::{Frame, nanoseconds, seconds};
use super::pass::{Pass, nothing_decoded};
use super::reading::{Cancel, Reading, References, watched};
use crate::color::RgbaConverter;
use base::error::{Error, Result};
use base::memory::{affordable, picture_memory};

/// The frame that is shown at `at_s` seconds: the last one whose time has come by then. Behind the end it is the
/// last frame, with a warning.
///
/// # Errors
/// As for [`Decoder::open`](super::Decoder::open).
pub fn read_frame_at(path: &Path, at_s: f64, references: References) -> Result<(Frame, Option<Error>)> {
    let reading = Reading::new(references, Cancel::default());
    let (owned, shared) = (path.to_owned(), reading.clone());
    watched(path, &reading, move || frame_at(&owned, at_s, &shared))
}

fn frame_at(path: &Path, at_s: f64, reading: &Reading) -> Result<(Frame, Option<Error>)> {
    let (mut pass, reached) = Pass::open_at(path, nanoseconds(at_s), reading)?;
    let end_s = seconds(pass.end_ns());
    let of_alpha = pass.source().alpha_warning(path);
    let Some(placed) = pass.next() else {
        return Err(nothing_decoded(path, &pass));
    };
    let warning = (!reached).then(|| {
        pass.warning(path).unwrap_or_else(|| behind_the_end(path, at_s, end_s, "Its last picture is used."))
    });
    let warning = warning.or(of_alpha).or_else(|| remark(path, &remarks(&placed.video)));
    Ok((Frame::still(placed.video, placed.movie_ns, placed.duration_ns), warning))
}

/// The first frames of a movie as RGBA8, all of one size.
#[derive(Debug, Clone)]
pub struct RgbaFrames {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// width × height × 4 bytes each.
    pub frames: Vec<Vec<u8>>,
    /// What is wrong with the movie although frames could be read.
    pub warning: Option<Error>,
}

/// The first `count` frames of the movie at `path`, fewer if it has fewer or memory is short, scaled to `size` (width
/// and height in pixels) or to the size of the first one.
///
/// # Errors
/// As for [`Decoder::open`](super::Decoder::open), and when the pictures cannot be converted.
pub fn read_frames_rgba(
    path: &Path,
    count: usize,
    size: Option<(u32, u32)>,
    references: References,
) -> Result<RgbaFrames> {
    let reading = Reading::new(references, Cancel::default());
    let (owned, shared) = (path.to_owned(), reading.clone());
    watched(path, &reading, move || frames_rgba(&owned, count, size, &shared))
}

fn frames_rgba(path: &Path, count: usize, size: Option<(u32, u32)>, reading: &Reading) -> Result<RgbaFrames> {
    let mut pass = Pass::open(path, reading)?;
    let Some(first) = pass.peek() else {
        return Err(nothing_decoded(path, &pass));
    };
    let (width, height) = size.unwrap_or((first.video.width(), first.video.height()));
    let count = affordable(count, width as usize * height as usize * 4);
    let mut converter = RgbaConverter::new();
    let mut frames = Vec::new();
    let mut warning = remark(path, &remarks(&first.video));
    while frames.len() < count {
        let Some(placed) = pass.next() else {
            warning = pass.warning(path).or(warning);
            break;
        };
        let mut rgba = picture_memory(width, height)?;
        converter.convert_scaled(&placed.video, (width, height), &mut rgba)?;
        frames.push(rgba);
    }
    Ok(RgbaFrames { width, height, frames, warning })
}
