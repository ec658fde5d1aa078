//! The samples of planes, for reports of differences.

use base::verify::Elements;
use video::color::Layout;

/// The samples of planes with this layout, as levels of the decoded picture. Bytes between rows may have any value.
#[derive(Debug, Clone)]
pub struct Samples(pub Layout);

impl Samples {
    /// Returns the component, column and row of the sample with this index; `None` between rows.
    fn place(&self, number: usize) -> Option<(usize, usize, usize)> {
        let place = |index: usize| {
            let component = self.0.components[index];
            let [offset, stride, step] =
                [component.offset, component.stride, component.step].map(|number| number as usize);
            let at = number.checked_sub(offset)?;
            let (x, y) = (at % stride, at / stride);
            let (width, height) = self.0.size_of(index);
            let is_inside = x % step == 0 && x / step < width as usize && y < height as usize;
            is_inside.then_some((index, x / step, y))
        };
        (0..self.0.count()).find_map(place)
    }
}

impl Elements for Samples {
    fn name(&self) -> &'static str {
        "samples"
    }

    fn bytes(&self) -> usize {
        if self.0.wide { 2 } else { 1 }
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let sample = bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        f64::from(sample >> self.0.shift) / f64::from(1u32 << self.0.fraction)
    }

    fn position(&self, number: usize) -> String {
        self.place(number)
            .map_or_else(String::new, |(index, x, y)| format!("component {index} at ({x}, {y})"))
    }

    fn is_close(&self, number: usize, _: f64, _: f64) -> bool {
        self.place(number).is_none()
    }
}
