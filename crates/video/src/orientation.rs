//! How a picture is to be turned before it is shown, as cameras and phones write it into the file.

use std::ops::Range;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;

use base::error::Result;
use base::memory::picture_memory;

/// A display matrix of the ISO base media format (ISO/IEC 14496-12, `tkhd`), row by row.
pub(super) type Matrix = [i32; 9];

/// One of the eight ways to turn and mirror a picture by right angles. A shown point `(x, y)`, `y` downwards, is the
/// stored point with its axes exchanged if `swapped`, each shown axis then reversed as said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Orientation {
    /// Stored rows are shown as columns.
    pub swapped: bool,
    /// The shown picture's horizontal axis runs against the stored one.
    pub flip_x: bool,
    /// The shown picture's vertical axis runs against the stored one.
    pub flip_y: bool,
}

impl Orientation {
    /// The orientation nearest to a display matrix of the ISO base media format (ISO/IEC 14496-12, `tkhd`), row by row:
    /// the stored point `(p, q)` is shown at `(m0·p + m3·q, m1·p + m4·q)`.
    pub(crate) fn from_matrix(matrix: &[i32; 9]) -> Self {
        let [a, b, _, c, d, ..] = matrix.map(i64::from);
        if a.abs() + d.abs() >= b.abs() + c.abs() {
            Self { swapped: false, flip_x: a < 0, flip_y: d < 0 }
        } else {
            Self { swapped: true, flip_x: c < 0, flip_y: b < 0 }
        }
    }

    /// What the picture's side data say, which are the stream's where it had none of its own; as stored if they say
    /// nothing.
    pub(super) fn of_picture(picture: &ffmpeg::frame::Video) -> Self {
        let data = picture.side_data(ffmpeg::frame::side_data::Type::DisplayMatrix);
        data.and_then(|data| matrix(data.data())).map_or_else(Self::default, |m| Self::from_matrix(&m))
    }

    /// Degrees clockwise, after [`Orientation::is_mirrored`].
    pub fn rotation(self) -> u32 {
        match (self.swapped, self.flip_x, self.flip_y) {
            (false, _, false) => 0,
            (false, _, true) => 180,
            (true, true, _) => 90,
            (true, false, _) => 270,
        }
    }

    /// Whether left and right are exchanged, before the rotation.
    pub fn is_mirrored(self) -> bool {
        self.swapped ^ self.flip_x ^ self.flip_y
    }

    /// The picture as it is shown. In: its size as stored and its RGBA8 pixels, tightly packed, top row first. Out: the
    /// same of the turned picture.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn turn(self, (width, height): (u32, u32), rgba: Vec<u8>) -> Result<((u32, u32), Vec<u8>)> {
        let ((across, down), _) = self.shown((width, height), 1.0);
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

    /// Where a pixel of the stored picture of this size is in the shown one: column and row.
    pub fn shown_at(self, size: (u32, u32), (p, q): (u32, u32)) -> (u32, u32) {
        let ((across, down), _) = self.shown(size, 1.0);
        let (x, y) = if self.swapped { (q, p) } else { (p, q) };
        let turned = |flip: bool, at: u32, of: u32| if flip { of.saturating_sub(at + 1) } else { at };
        (turned(self.flip_x, x, across), turned(self.flip_y, y, down))
    }

    /// Which columns and rows are stored of what is shown in these columns, in pixels, of a picture of that stored size.
    pub fn stored(self, size: (u32, u32), columns: Range<u32>) -> [Range<u32>; 2] {
        let ((across, _), _) = self.shown(size, 1.0);
        let Range { start, end } = columns.start.min(across)..columns.end.min(across);
        let columns = if self.flip_x { across - end..across - start } else { start..end };
        if self.swapped { [0..size.0, columns] } else { [columns, 0..size.1] }
    }

    /// Size in pixels and pixel aspect as shown, from those of the stored picture.
    pub fn shown(self, (width, height): (u32, u32), pixel_aspect: f64) -> ((u32, u32), f64) {
        if self.swapped { ((height, width), 1.0 / pixel_aspect) } else { ((width, height), pixel_aspect) }
    }
}

/// The matrix in side data; `None` if they are too short.
fn matrix(data: &[u8]) -> Option<Matrix> {
    let mut matrix = Matrix::default();
    let numbers = data.as_chunks::<4>().0.get(..matrix.len())?;
    matrix.iter_mut().zip(numbers).for_each(|(to, bytes)| *to = i32::from_ne_bytes(*bytes));
    Some(matrix)
}

/// What the stream's side data say.
pub(super) fn matrix_of_stream(stream: &ffmpeg::Stream) -> Option<Matrix> {
    let kind = ffmpeg::codec::packet::side_data::Type::DisplayMatrix;
    let data = stream.side_data().find(|data| data.kind() == kind)?;
    matrix(data.data())
}

/// Gives the picture `matrix`, unless it has one of its own.
pub(super) fn default_matrix(picture: &mut ffmpeg::frame::Video, matrix: &Matrix) {
    let kind = ffi::AVFrameSideDataType::AV_FRAME_DATA_DISPLAYMATRIX;
    // SAFETY: the frame is valid and owned. Side data of this size are made for it and filled; where memory has run
    // out there are none, and the picture is shown as stored.
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
    fn a_pixel_is_found_where_the_turned_picture_has_it() {
        let size = (3, 2);
        for n in 0..8 {
            let orientation = Orientation { swapped: n & 1 > 0, flip_x: n & 2 > 0, flip_y: n & 4 > 0 };
            let pixels = (0..6).flat_map(|pixel| [pixel; 4]).collect();
            let ((across, _), turned) = orientation.turn(size, pixels).unwrap();
            for at in 0..6 {
                let (x, y) = orientation.shown_at(size, (at % 3, at / 3));
                assert_eq!(turned[4 * (y * across + x) as usize], at as u8, "{orientation:?} {at}");
            }
        }
    }

    const ONE: i32 = 1 << 16;

    fn of(a: i32, b: i32, c: i32, d: i32) -> Orientation {
        Orientation::from_matrix(&[a, b, 0, c, d, 0, 0, 0, 1 << 30])
    }

    #[test]
    fn matrices_are_rotations_and_mirrors() {
        let cases = [
            (of(ONE, 0, 0, ONE), 0, false),
            // Clockwise: stored right is shown down, stored down is shown left.
            (of(0, ONE, -ONE, 0), 90, false),
            (of(-ONE, 0, 0, -ONE), 180, false),
            (of(0, -ONE, ONE, 0), 270, false),
            (of(-ONE, 0, 0, ONE), 0, true),
            // Mirrored first, then turned: stored left is shown down, stored down is shown left.
            (of(0, -ONE, -ONE, 0), 90, true),
            (of(ONE, 0, 0, -ONE), 180, true),
            (of(0, ONE, ONE, 0), 270, true),
        ];
        for (orientation, rotation, mirrored) in cases {
            assert_eq!(
                (orientation.rotation(), orientation.is_mirrored()),
                (rotation, mirrored),
                "{orientation:?}"
            );
        }
        assert_eq!(of(0, 0, 0, 0), Orientation::default());
        assert_eq!(of(i32::MIN, 0, 0, i32::MIN).rotation(), 180);
        // One degree off is as good as straight.
        assert_eq!(of(1144, 65526, -65526, 1144).rotation(), 90);
    }

    #[test]
    fn pictures_are_turned_as_they_are_shown() {
        // 1 2 3
        // 4 5 6
        let stored: Vec<u8> = (1..=6).flat_map(|i| [i, i + 10, i + 20, 255]).collect();
        let turned = |a, b, c, d| {
            let (size, rgba) = of(a, b, c, d).turn((3, 2), stored.clone()).unwrap();
            let whole = |p: &[u8; 4]| p[1] == p[0] + 10 && p[2] == p[0] + 20 && p[3] == 255;
            assert!(rgba.as_chunks().0.iter().all(whole));
            (size, rgba.iter().step_by(4).copied().collect::<Vec<_>>())
        };
        assert_eq!(turned(ONE, 0, 0, ONE), ((3, 2), vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(turned(0, ONE, -ONE, 0), ((2, 3), vec![4, 1, 5, 2, 6, 3]), "clockwise");
        assert_eq!(turned(-ONE, 0, 0, -ONE), ((3, 2), vec![6, 5, 4, 3, 2, 1]));
        assert_eq!(turned(0, -ONE, ONE, 0), ((2, 3), vec![3, 6, 2, 5, 1, 4]), "anticlockwise");
        assert_eq!(turned(-ONE, 0, 0, ONE), ((3, 2), vec![3, 2, 1, 6, 5, 4]), "mirrored");
        assert_eq!(turned(0, ONE, ONE, 0), ((2, 3), vec![1, 4, 2, 5, 3, 6]), "along the diagonal");
    }

    #[test]
    fn a_picture_keeps_a_matrix_of_its_own() {
        let mut picture = ffmpeg::frame::Video::new(ffmpeg::format::Pixel::GRAY8, 2, 2);
        assert_eq!(Orientation::of_picture(&picture), Orientation::default());
        default_matrix(&mut picture, &[0, ONE, 0, -ONE, 0, 0, 0, 0, 1 << 30]);
        assert_eq!(Orientation::of_picture(&picture).rotation(), 90);
        default_matrix(&mut picture, &[-ONE, 0, 0, 0, -ONE, 0, 0, 0, 1 << 30]);
        assert_eq!(Orientation::of_picture(&picture).rotation(), 90);
    }

    #[test]
    fn columns_that_are_shown_are_those_that_are_stored() {
        let size = (5, 4);
        for turn in 0..8 {
            let [swapped, flip_x, flip_y] = [1, 2, 4].map(|bit| turn & bit != 0);
            let orientation = Orientation { swapped, flip_x, flip_y };
            let ((across, _), _) = orientation.shown(size, 1.0);
            for columns in [0..0, 0..2, 1..3, 2..across, 0..across + 9, across + 1..across + 2] {
                let [x, y] = orientation.stored(size, columns.clone());
                for at in (0..size.0).flat_map(|p| (0..size.1).map(move |q| (p, q))) {
                    let is_shown = columns.contains(&orientation.shown_at(size, at).0);
                    let is_stored = x.contains(&at.0) && y.contains(&at.1);
                    assert_eq!(is_shown, is_stored, "{orientation:?} {columns:?} {at:?}");
                }
            }
        }
    }

    #[test]
    fn a_quarter_turn_swaps_sides_and_pixel_shape() {
        assert_eq!(of(0, ONE, -ONE, 0).shown((720, 576), 2.0), ((576, 720), 0.5));
        assert_eq!(of(-ONE, 0, 0, -ONE).shown((720, 576), 2.0), ((720, 576), 2.0));
    }
}
