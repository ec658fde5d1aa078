//! The difference of two pictures.

use std::fmt;

use base::numbers::{counted, thousands};
use video::Orientation;

/// The number and size of the differences of two pictures. A pixel's difference is the largest of its four channels'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The number of pixels of each picture.
    pub pixels: u64,
    /// The number of pixels that differ.
    pub differing: u64,
    /// The largest difference in levels, and the column and row of the first pixel that has it; `None` if the pictures are identical.
    pub largest: Option<(u8, (u32, u32))>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_in((0, 0), Orientation::default()))
    }
}

impl Difference {
    /// Returns the differences of two pictures of this stored `size` as text, with the position of the largest one in the picture
    /// as it is shown in this orientation.
    pub fn text_in(&self, size: (u32, u32), orientation: Orientation) -> String {
        let Self { pixels, differing, largest } = *self;
        let (count, all) = (thousands(differing as f64), counted(pixels, "pixel"));
        let Some((levels, at)) = largest else { return format!("identical: {all} compared") };
        let (x, y) = orientation.display_position(size, at);
        let verb = if differing == 1 { "differs" } else { "differ" };
        let levels = counted(levels.into(), "level");
        // It is the first one in the order of the stored picture only.
        let first = if orientation == Orientation::default() { "first " } else { "" };
        format!("{count} of {all} {verb}, by at most {levels}, {first}so at ({x}, {y})")
    }
}
