//! The samples of filtered planes, for reports of differences.

use base::verify::Elements;
use video::color::Layout;

/// The samples of filtered planes with this layout, as levels of 8 bits. Bytes between rows may have any value.
#[derive(Debug, Clone)]
pub struct Samples(pub Layout);

impl Samples {
    /// Returns the component, column and row of the sample with this index; `None` between rows.
    fn place(&self, number: usize) -> Option<(usize, usize, usize)> {
        let place = |channel: usize| {
            let plane = self.0.planes[channel];
            let at = (2 * number).checked_sub(plane.offset)?;
            let (x, y) = (at % plane.stride, at / plane.stride);
            (x < plane.row && y < plane.rows).then_some((channel, x / 2, y))
        };
        (0..self.0.count()).find_map(place)
    }
}

impl Elements for Samples {
    fn name(&self) -> &'static str {
        "samples"
    }

    fn bytes(&self) -> usize {
        2
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let sample = bytes.try_into().map_or(0, u16::from_le_bytes);
        f64::from(sample) / f64::from(1u32 << self.0.fraction)
    }

    fn position(&self, number: usize) -> String {
        self.place(number)
            .map_or_else(String::new, |(channel, x, y)| format!("component {channel} at ({x}, {y})"))
    }

    fn is_close(&self, number: usize, _: f64, _: f64) -> bool {
        self.place(number).is_none()
    }
}
