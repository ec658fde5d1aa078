//! Pictures that are painted by code instead of decoded, such as the test card.

use ffmpeg_next as ffmpeg;

use ffmpeg::format::Pixel;
use ffmpeg::util::color::{Range, Space};

use super::frame::Frame;
use super::libav;
use base::error::{Error, Result};

/// A picture that code paints, as planes of 8-bit samples: 4:2:0, BT.709, limited range, rows without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canvas {
    /// Width of the picture in pixels.
    pub width: usize,
    /// Height of the picture in pixels.
    pub height: usize,
    /// The planes Y, Cb and Cr. Y has `width × height` bytes; Cb and Cr have half as many columns and rows, both rounded up.
    pub planes: [Vec<u8>; 3],
}

impl Canvas {
    /// Creates a black canvas of this size in pixels.
    pub fn new(width: usize, height: usize) -> Self {
        let chroma = width.div_ceil(2) * height.div_ceil(2);
        Self { width, height, planes: [vec![16; width * height], vec![128; chroma], vec![128; chroma]] }
    }

    /// Copies the painted picture to a frame.
    ///
    /// # Errors
    /// When memory has run out.
    pub fn to_frame(&self) -> Result<Frame> {
        let why = "There is no memory for it.";
        let picture =
            self.to_picture().ok_or_else(|| Error::new("The picture cannot be painted.", why, ""))?;
        Ok(Frame::still(picture, 0, 1))
    }

    /// Copies the painted picture to an FFmpeg frame; `None` when memory has run out.
    pub(super) fn to_picture(&self) -> Option<ffmpeg::frame::Video> {
        let (width, height) = (self.width.try_into().ok()?, self.height.try_into().ok()?);
        let mut video = libav::allocate_picture(Pixel::YUV420P, width, height)?;
        video.set_color_space(Space::BT709);
        video.set_color_range(Range::MPEG);
        for (n, plane) in self.planes.iter().enumerate() {
            let width = if n == 0 { self.width } else { self.width.div_ceil(2) };
            libav::fill_plane(&mut video, n, plane, width);
        }
        Some(video)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canvas_is_copied_to_a_picture() {
        let mut canvas = Canvas::new(35, 7);
        for (n, plane) in canvas.planes.iter_mut().enumerate() {
            plane.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 + n) as u8);
        }
        let video = canvas.to_picture().unwrap();
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
