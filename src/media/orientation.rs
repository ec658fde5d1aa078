//! How a picture is to be turned before it is shown, as cameras and phones write it into the file.

use ffmpeg_next as ffmpeg;

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
    /// The orientation nearest to a display matrix of the ISO base media format (ISO/IEC 14496-12, `tkhd`): the stored
    /// point `(p, q)` is shown at `(m0·p + m3·q, m1·p + m4·q)`.
    pub fn from_matrix(matrix: &[i32; 9]) -> Self {
        let [a, b, _, c, d, ..] = matrix.map(i64::from);
        if a.abs() + d.abs() >= b.abs() + c.abs() {
            Self { swapped: false, flip_x: a < 0, flip_y: d < 0 }
        } else {
            Self { swapped: true, flip_x: c < 0, flip_y: b < 0 }
        }
    }

    /// What the stream's side data say; as stored if they say nothing.
    pub(super) fn of_stream(stream: &ffmpeg::Stream) -> Self {
        let kind = ffmpeg::codec::packet::side_data::Type::DisplayMatrix;
        let Some(data) = stream.side_data().find(|data| data.kind() == kind) else {
            return Self::default();
        };
        let mut matrix = [0; 9];
        let numbers = data.data().as_chunks::<4>().0;
        if numbers.len() < matrix.len() {
            return Self::default();
        }
        matrix.iter_mut().zip(numbers).for_each(|(to, bytes)| *to = i32::from_ne_bytes(*bytes));
        Self::from_matrix(&matrix)
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

    /// Size in pixels and pixel aspect as shown, from those of the stored picture.
    pub fn shown(self, (width, height): (u32, u32), pixel_aspect: f64) -> ((u32, u32), f64) {
        if self.swapped { ((height, width), 1.0 / pixel_aspect) } else { ((width, height), pixel_aspect) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_quarter_turn_swaps_sides_and_pixel_shape() {
        assert_eq!(of(0, ONE, -ONE, 0).shown((720, 576), 2.0), ((576, 720), 0.5));
        assert_eq!(of(-ONE, 0, 0, -ONE).shown((720, 576), 2.0), ((720, 576), 2.0));
    }
}
