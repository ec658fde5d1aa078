//! Rotation and mirroring of a picture for display, as cameras and phones store them in the file.

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;

use base::error::Result;
use base::memory::picture_memory;

/// A display matrix of the ISO base media format (ISO/IEC 14496-12, `tkhd`), row by row.
pub(super) type Matrix = [i32; 9];

/// One of the eight combinations of rotation by right angles and mirroring. To display a stored picture, exchange its axes
/// if `swapped`, then reverse the horizontal axis if `flip_x` and the vertical axis if `flip_y`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Orientation {
    /// True if the picture's axes are exchanged: stored rows are shown as columns.
    pub swapped: bool,
    /// True if the horizontal axis is reversed, after the axes were exchanged.
    pub flip_x: bool,
    /// True if the vertical axis is reversed, after the axes were exchanged.
    pub flip_y: bool,
}

impl Orientation {
    /// Returns the orientation nearest to a display matrix: the stored point `(p, q)` is shown at
    /// `(m0·p + m3·q, m1·p + m4·q)`.
    pub(crate) fn from_matrix(matrix: &[i32; 9]) -> Self {
        let [a, b, _, c, d, ..] = matrix.map(i64::from);
        if a.abs() + d.abs() >= b.abs() + c.abs() {
            Self { swapped: false, flip_x: a < 0, flip_y: d < 0 }
        } else {
            Self { swapped: true, flip_x: c < 0, flip_y: b < 0 }
        }
    }

    /// Returns the orientation by the picture's display matrix; if it has none, the orientation in which the picture is
    /// displayed as stored.
    pub(super) fn of_picture(picture: &Video) -> Self {
        let data = picture.side_data(ffmpeg::frame::side_data::Type::DisplayMatrix);
        data.and_then(|data| matrix(data.data())).map_or_else(Self::default, |m| Self::from_matrix(&m))
    }

    /// Rotates and mirrors a picture for display. Takes and returns its size in pixels and its RGBA8 pixels, rows without gaps
    /// from the top.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn turn(self, (width, height): (u32, u32), rgba: Vec<u8>) -> Result<((u32, u32), Vec<u8>)> {
        let ((across, down), _) = self.display_size((width, height), 1.0);
        if self == Self::default() || width == 0 || height == 0 {
            return Ok(((across, down), rgba));
        }
        let pixels = rgba.as_chunks::<4>().0;
        let mut turned = picture_memory(across, down)?;
        for (y, row) in turned.chunks_exact_mut(across as usize * 4).enumerate() {
            let y = if self.flip_y { down as usize - 1 - y } else { y };
            for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let x = if self.flip_x { across as usize - 1 - x } else { x };
                let (p, q) = if self.swapped { (y, x) } else { (x, y) };
                *pixel = pixels[q * width as usize + p];
            }
        }
        Ok(((across, down), turned))
    }

    /// Converts the column and row of a pixel from the stored picture of this size to the displayed one.
    pub fn display_position(self, size: (u32, u32), (p, q): (u32, u32)) -> (u32, u32) {
        let ((across, down), _) = self.display_size(size, 1.0);
        let (x, y) = if self.swapped { (q, p) } else { (p, q) };
        let turned = |flip: bool, at: u32, of: u32| if flip { of.saturating_sub(at + 1) } else { at };
        (turned(self.flip_x, x, across), turned(self.flip_y, y, down))
    }

    /// Converts the size in pixels and the pixel aspect ratio from the stored picture to the displayed one.
    pub fn display_size(self, (width, height): (u32, u32), pixel_aspect: f64) -> ((u32, u32), f64) {
        if self.swapped { ((height, width), 1.0 / pixel_aspect) } else { ((width, height), pixel_aspect) }
    }
}

/// Reads a display matrix from side data; `None` if the data are too short.
pub(super) fn matrix(data: &[u8]) -> Option<Matrix> {
    let mut matrix = Matrix::default();
    let numbers = data.as_chunks::<4>().0.get(..matrix.len())?;
    matrix.iter_mut().zip(numbers).for_each(|(to, bytes)| *to = i32::from_ne_bytes(*bytes));
    Some(matrix)
}

/// Attaches the display matrix `matrix` to a picture that has none of its own.
pub(super) fn default_matrix(picture: &mut Video, matrix: &Matrix) {
    let kind = ffi::AVFrameSideDataType::AV_FRAME_DATA_DISPLAYMATRIX;
    // SAFETY: the frame is valid and owned. The side data are allocated with this size and filled; without memory there are
    // none, and the picture is shown as stored.
    unsafe {
        let frame = picture.as_mut_ptr();
        if !ffi::av_frame_get_side_data(frame, kind).is_null() {
            return;
        }
        let made = ffi::av_frame_new_side_data(frame, kind, size_of::<Matrix>());
        if !made.is_null() {
            std::ptr::copy_nonoverlapping(matrix.as_ptr().cast(), (*made).data, size_of::<Matrix>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_match_the_turned_picture() {
        let size = (3, 2);
        for n in 0..8 {
            let orientation = Orientation { swapped: n & 1 > 0, flip_x: n & 2 > 0, flip_y: n & 4 > 0 };
            let pixels = (0..6).flat_map(|pixel| [pixel; 4]).collect();
            let ((across, _), turned) = orientation.turn(size, pixels).unwrap();
            for at in 0..6 {
                let (x, y) = orientation.display_position(size, (at % 3, at / 3));
                assert_eq!(turned[4 * (y * across + x) as usize], at as u8, "{orientation:?} {at}");
            }
        }
    }

    const ONE: i32 = 1 << 16;

    fn of(a: i32, b: i32, c: i32, d: i32) -> Orientation {
        Orientation::from_matrix(&[a, b, 0, c, d, 0, 0, 0, 1 << 30])
    }

    #[test]
    fn matrices_are_rotations_and_mirrors_and_pictures_are_turned_as_they_are_shown() {
        // 1 2 3
        // 4 5 6
        let stored: Vec<u8> = (1..=6).flat_map(|i| [i, i + 10, i + 20, 255]).collect();
        for (matrix, [swapped, flip_x, flip_y], shown) in [
            ([ONE, 0, 0, ONE], [false, false, false], [1, 2, 3, 4, 5, 6]),
            // Clockwise: stored right is shown down, stored down is shown left.
            ([0, ONE, -ONE, 0], [true, true, false], [4, 1, 5, 2, 6, 3]),
            ([-ONE, 0, 0, -ONE], [false, true, true], [6, 5, 4, 3, 2, 1]),
            ([0, -ONE, ONE, 0], [true, false, true], [3, 6, 2, 5, 1, 4]),
            ([-ONE, 0, 0, ONE], [false, true, false], [3, 2, 1, 6, 5, 4]),
            // Mirrored first, then turned: stored left is shown down, stored down is shown left.
            ([0, -ONE, -ONE, 0], [true, true, true], [6, 3, 5, 2, 4, 1]),
            ([ONE, 0, 0, -ONE], [false, false, true], [4, 5, 6, 1, 2, 3]),
            ([0, ONE, ONE, 0], [true, false, false], [1, 4, 2, 5, 3, 6]),
        ] {
            let [a, b, c, d] = matrix;
            let orientation = of(a, b, c, d);
            assert_eq!(orientation, Orientation { swapped, flip_x, flip_y }, "{matrix:?}");
            let (size, rgba) = orientation.turn((3, 2), stored.clone()).unwrap();
            assert_eq!(size, if swapped { (2, 3) } else { (3, 2) });
            let whole = |p: &[u8; 4]| p[1] == p[0] + 10 && p[2] == p[0] + 20 && p[3] == 255;
            assert!(rgba.as_chunks().0.iter().all(whole));
            assert!(rgba.iter().step_by(4).eq(&shown), "{matrix:?}");
        }
        assert_eq!(of(0, 0, 0, 0), Orientation::default());
        assert_eq!(of(i32::MIN, 0, 0, i32::MIN), of(-ONE, 0, 0, -ONE));
        // One degree off is as good as straight.
        assert_eq!(of(1144, 65526, -65526, 1144), of(0, ONE, -ONE, 0));
        // A quarter turn swaps the sides and the shape of pixels.
        assert_eq!(of(0, ONE, -ONE, 0).display_size((720, 576), 2.0), ((576, 720), 0.5));
        assert_eq!(of(-ONE, 0, 0, -ONE).display_size((720, 576), 2.0), ((720, 576), 2.0));
        // A picture keeps a matrix of its own.
        let mut picture = Video::new(ffmpeg::format::Pixel::GRAY8, 2, 2);
        assert_eq!(Orientation::of_picture(&picture), Orientation::default());
        default_matrix(&mut picture, &[0, ONE, 0, -ONE, 0, 0, 0, 0, 1 << 30]);
        assert_eq!(Orientation::of_picture(&picture), of(0, ONE, -ONE, 0));
        default_matrix(&mut picture, &[-ONE, 0, 0, 0, -ONE, 0, 0, 0, 1 << 30]);
        assert_eq!(Orientation::of_picture(&picture), of(0, ONE, -ONE, 0));
    }
}
