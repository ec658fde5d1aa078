//! Cropping that the container states, such as Matroska's PixelCrop elements and QuickTime's clean aperture. FFmpeg reports it
//! from version 7.1 on. The decoder itself applies cropping that the codec states.

use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;

/// The number of rows at the top and the bottom and of columns at the left and the right that are not shown.
#[derive(Debug, PartialEq)]
pub(super) struct Cropping([usize; 4]);

impl Cropping {
    /// Reads FFmpeg's side data, four little-endian numbers; `None` if they crop nothing or are too large.
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        let edges = data.as_chunks().0.first_chunk::<4>()?.map(|edge| u32::from_le_bytes(edge) as usize);
        // Larger numbers could overflow when they are added.
        let fits = |edge: &usize| *edge <= i32::MAX as usize / 2;
        (edges != [0; 4] && edges.iter().all(fits)).then_some(Self(edges))
    }

    /// Crops a picture, unless nothing would be left of it.
    pub(super) fn apply(&self, picture: &mut Video) {
        let Self([top, bottom, left, right]) = *self;
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        if left + right >= width || top + bottom >= height {
            return;
        }
        // SAFETY: the frame is valid and owned, and what is cropped lies within it. FFmpeg changes the size and moves the
        // pointers to the planes, which its other owners keep. If it refuses, the picture stays as it is.
        unsafe {
            let frame = picture.as_mut_ptr();
            (*frame).crop_top = top as _;
            (*frame).crop_bottom = bottom as _;
            (*frame).crop_left = left as _;
            (*frame).crop_right = right as _;
            if ffi::av_frame_apply_cropping(frame, ffi::AV_FRAME_CROP_UNALIGNED as libc::c_int) < 0 {
                ((*frame).crop_top, (*frame).crop_bottom) = (0, 0);
                ((*frame).crop_left, (*frame).crop_right) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ffmpeg_next::format::Pixel;

    use super::*;
    use crate::color::RgbaConverter;

    fn side_data(edges: [u32; 4]) -> Vec<u8> {
        edges.iter().flat_map(|edge| edge.to_le_bytes()).collect()
    }

    #[test]
    fn edges_are_cropped_from_pictures_that_have_them() {
        for format in [Pixel::YUV420P, Pixel::NV12, Pixel::RGB24, Pixel::YUV444P10LE, Pixel::YUVA420P] {
            let mut whole = Video::new(format, 40, 24);
            for plane in 0..whole.planes() {
                whole
                    .data_mut(plane)
                    .iter_mut()
                    .enumerate()
                    .for_each(|(at, byte)| *byte = (at * 7 % 120) as u8);
            }
            let rgba_of = |picture: &Video| {
                let mut rgba = vec![0; 4 * (picture.width() * picture.height()) as usize];
                RgbaConverter::new().convert(picture, &mut rgba).unwrap();
                rgba
            };
            let before = rgba_of(&whole);
            Cropping::parse(&side_data([4, 2, 6, 10])).unwrap().apply(&mut whole);
            assert_eq!((whole.width(), whole.height()), (24, 18));
            let after = rgba_of(&whole);
            for (y, row) in after.chunks_exact(4 * 24).enumerate() {
                // At an edge chroma is interpolated from what is left.
                for (x, pixel) in
                    row.chunks_exact(4).enumerate().skip(1).take(22).filter(|_| (1..17).contains(&y))
                {
                    assert_eq!(pixel, &before[4 * ((y + 4) * 40 + x + 6)..][..4], "{format:?} {x},{y}");
                }
            }
        }
        for edges in [[0, 0, 40, 0], [12, 12, 0, 0], [0, 0, 20, 20], [u32::MAX / 2, 0, 0, 0]] {
            let mut picture = Video::new(Pixel::YUV420P, 40, 24);
            if let Some(cropping) = Cropping::parse(&side_data(edges)) {
                cropping.apply(&mut picture);
            }
            assert_eq!((picture.width(), picture.height()), (40, 24), "{edges:?}");
        }
        assert_eq!(Cropping::parse(&side_data([0; 4])), None);
        assert_eq!(Cropping::parse(&side_data([u32::MAX; 4])), None);
        assert_eq!(Cropping::parse(&[1; 15]), None);
    }
}
