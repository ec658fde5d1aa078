//! Pictures that nobody has decoded. In: what paints one. Out: a picture as a decoder gives it, or a frame of its own.

use ffmpeg_next as ffmpeg;

use ffmpeg::format::Pixel;
use ffmpeg::util::color::{Range, Space};

use super::frame::Frame;
use base::error::{Error, Result};

/// The planes of a picture to paint: 8 bits, 4:2:0, BT.709, limited range, rows without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canvas {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Luma, width times height bytes, and the two planes of chroma, each of half as many rows and columns, rounded up.
    pub planes: [Vec<u8>; 3],
}

impl Canvas {
    /// A black picture.
    pub fn new(width: usize, height: usize) -> Self {
        let chroma = width.div_ceil(2) * height.div_ceil(2);
        Self { width, height, planes: [vec![16; width * height], vec![128; chroma], vec![128; chroma]] }
    }

    /// The same as a frame.
    ///
    /// # Errors
    /// When memory has run out.
    pub fn to_frame(&self) -> Result<Frame> {
        let why = "There is no memory for it.";
        let picture = self.to_video().ok_or_else(|| Error::new("The picture cannot be painted.", why, ""))?;
        Ok(Frame::still(picture, 0, 1))
    }

    /// The same as a decoder's picture; `None` when memory has run out.
    pub(super) fn to_video(&self) -> Option<ffmpeg::frame::Video> {
        let mut video = ffmpeg::frame::Video::empty();
        video.set_format(Pixel::YUV420P);
        video.set_width(self.width.try_into().ok()?);
        video.set_height(self.height.try_into().ok()?);
        // SAFETY: the frame is valid, and has a format, a width and a height; it gets memory of its own.
        if unsafe { ffmpeg::ffi::av_frame_get_buffer(video.as_mut_ptr(), 0) } < 0 {
            return None;
        }
        video.set_color_space(Space::BT709);
        video.set_color_range(Range::MPEG);
        for (n, plane) in self.planes.iter().enumerate() {
            let width = if n == 0 { self.width } else { self.width.div_ceil(2) };
            let stride = video.stride(n);
            let rows = video.data_mut(n).chunks_mut(stride);
            rows.zip(plane.chunks_exact(width)).for_each(|(to, from)| to[..width].copy_from_slice(from));
        }
        Some(video)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_what_was_painted() {
        let mut canvas = Canvas::new(35, 7);
        for (n, plane) in canvas.planes.iter_mut().enumerate() {
            plane.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 + n) as u8);
        }
        let video = canvas.to_video().unwrap();
        assert_eq!((video.width(), video.height(), video.format()), (35, 7, Pixel::YUV420P));
        for (n, (width, height)) in [(35, 7), (18, 4), (18, 4)].into_iter().enumerate() {
            for y in 0..height {
                let row = &video.data(n)[y * video.stride(n)..][..width];
                assert_eq!(row, &canvas.planes[n][y * width..][..width], "plane {n}, row {y}");
            }
        }
        let (matrix, range) = crate::color::matrix::of_picture(&video);
        assert_eq!(format!("{matrix}, {range}"), "BT.709, limited");
    }
}
