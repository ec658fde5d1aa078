//! Groups of picture sizes and ranges of radii with similar speed, which share tuning results.

use serde::Serialize;

use crate::MAX_RADIUS;

/// The ranges of radii that share a tuning result: the last radius of each range, and the radius at which the range is
/// measured.
pub const RADIUS_RANGES: [(u32, u32); 4] = [(3, 2), (15, 7), (63, 31), (MAX_RADIUS, MAX_RADIUS)];

/// Returns the index in [`RADIUS_RANGES`] of the range that contains a radius.
pub fn radius_class(radius: u32) -> usize {
    RADIUS_RANGES.iter().position(|(last, _)| radius <= *last).unwrap_or(RADIUS_RANGES.len() - 1)
}

/// Returns the first and the last radius of the range that contains a radius.
pub fn radius_range(radius: u32) -> (u32, u32) {
    let class = radius_class(radius);
    let first = if class == 0 { 0 } else { RADIUS_RANGES[class - 1].0 + 1 };
    (first, RADIUS_RANGES[class].0)
}

/// A group of picture sizes, by the number of pixels, that share tuning results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeClass {
    /// Pictures of up to half a million pixels.
    Small,
    /// Pictures of up to three million pixels, such as 720p and 1080p.
    Medium,
    /// Pictures of more than three million pixels, such as 4K.
    Large,
}

impl SizeClass {
    pub(crate) const ALL: [SizeClass; 3] = [SizeClass::Small, SizeClass::Medium, SizeClass::Large];

    /// Returns the name of the group in the tuning cache and in messages.
    pub fn as_str(self) -> &'static str {
        ["small", "medium", "large"][self as usize]
    }

    /// Returns the group for pictures of this width and height.
    pub fn of(width: u32, height: u32) -> Self {
        match u64::from(width) * u64::from(height) {
            0..=500_000 => Self::Small,
            500_001..=3_000_000 => Self::Medium,
            _ => Self::Large,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_all_radii() {
        for (class, (last, sample)) in RADIUS_RANGES.into_iter().enumerate() {
            assert_eq!((radius_class(last), radius_class(sample)), (class, class));
        }
        assert_eq!([0, 4, MAX_RADIUS].map(radius_class), [0, 1, 3]);
        assert_eq!([0, 7, MAX_RADIUS].map(radius_range), [(0, 3), (4, 15), (64, MAX_RADIUS)]);
    }
}
