//! Wipes: a second filter on each frame, shown side by side with the first one, and the comparison of both pictures.
//!
//! ```text
//! submit ─▶ first side ──▶ engine ─┐
//!      └──▶ second side ─▶ engine ─┴─▶ (compare) ─▶ ready
//! ```
//!
//! The times of the second side are not added to those of the first side: the second side and the comparison are stages of their own in
//! the statistics.

use super::choice::{Choice, Filter};
use super::flights::SecondSide;
use crate::DeviceStatus;
use base::error::Error;
use box_filter::{Settings, VariantId};
use compute::BackEnd;
use stats::{Difference, Measurements, Request};

/// The filter of the second side of a wipe, which may use another version of the kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondFilter {
    /// The variant and the values of its filter's parameters.
    pub filter: Filter,
    /// The version number of the variant's edited kernels; `None` for the version in use, which filters the first side.
    pub version: Option<u64>,
}

impl SecondFilter {
    /// Returns true if this filter uses the kernels of `variant` in the version that the first side uses, too.
    pub fn is_running(&self, variant: VariantId) -> bool {
        self.filter.0 == variant && self.version.is_none()
    }
}

impl<S: Into<Settings>> From<(VariantId, S)> for SecondFilter {
    /// Creates the filter of the second side with the version of the kernels that is in use.
    fn from((variant, settings): (VariantId, S)) -> Self {
        Self { filter: (variant, settings.into()), version: None }
    }
}

/// The wipe on the screen: the filters of its two sides, and what is drawn.
#[derive(Debug, Clone)]
pub struct ShownWipe {
    /// The requests with which the first and the second side were filtered.
    pub sides: [Request; 2],
    /// True for each side whose filter time is wall time.
    pub by_wall: [bool; 2],
    /// The second side's picture, or the map of the differences, which is drawn in place of both sides.
    pub texture: glow::Texture,
    /// The differences of the two sides; `None` if they were not compared.
    pub difference: Option<Difference>,
}

/// The choice of the second side and of its comparison with the first one. Changes take effect with the next turn of the loop.
#[derive(Default)]
pub struct Wipe {
    second: Option<SecondFilter>,
    /// The last filter of the second side, with which the next wipe begins; `None` before the first wipe.
    previous: Option<SecondFilter>,
    compares: bool,
    /// True while the current movie is shown with one filter only. The wipe continues with the next movie.
    pub is_suspended: bool,
    /// The error that ended the wipe or the comparison, until the window takes it.
    pub error: Option<Error>,
}

impl Wipe {
    /// Returns the chosen filter of the second side; `None` without a wipe.
    pub fn second(&self) -> Option<SecondFilter> {
        self.second
    }

    /// Sets the filter of the second side for the next frames; `None` ends the wipe.
    pub fn set_second(&mut self, second: Option<SecondFilter>) {
        self.previous = second.or(self.second).or(self.previous);
        self.compares &= second.is_some();
        self.second = second;
    }

    /// Begins a wipe with the next frame, or ends it. The second side gets the filter that it had last, or at first [`VariantId::OFF`] with
    /// these settings. Returns the filter of the second side; `None` if the wipe has ended.
    pub fn toggle(&mut self, settings: Settings) -> Option<SecondFilter> {
        let first = self.previous.unwrap_or_else(|| (VariantId::OFF, settings).into());
        let second = self.second.is_none().then_some(first);
        self.set_second(second);
        second
    }

    /// Ends the wipe because of an error.
    pub fn end(&mut self, error: Error) {
        self.error = Some(error);
        self.set_second(None);
    }

    /// Returns true if the two sides are compared and the map of their differences is shown.
    pub fn compares(&self) -> bool {
        self.second.is_some() && self.compares
    }

    /// Sets whether the two sides are compared and the map of their differences is shown.
    pub fn set_comparing(&mut self, compare: bool) {
        self.compares = compare;
    }

    /// Stops comparing the sides because of an error.
    pub fn stop_comparing(&mut self, error: Error) {
        self.error = Some(error);
        self.compares = false;
    }

    /// Returns the filter of the second side; `None` without a wipe, and while the wipe is suspended.
    fn active_second(&self) -> Option<SecondFilter> {
        self.second.filter(|_| !self.is_suspended)
    }

    /// Returns the request for the second side of a frame; `None` if there is no second side or its filter cannot be used now.
    pub(super) fn request(&self, choice: &Choice, status: &DeviceStatus) -> Option<Request> {
        let SecondFilter { filter: (variant, settings), version } = self.active_second()?;
        let can = variant == VariantId::OFF || status.can_filter((variant, version), settings);
        let request = choice.request((variant, settings), status);
        // The scopes show the first side.
        let measurements = Measurements { readings: false, ..request.measurements };
        can.then_some(Request { version, measurements, ..request })
    }

    /// Returns true if frames must wait until the second side's filter or the comparison's kernels are built.
    pub(super) fn must_wait(&self, choice: &Choice, status: &DeviceStatus) -> bool {
        let lacks_map = self.compares && status.has_device() && !status.has_comparer;
        self.active_second().is_some() && (self.request(choice, status).is_none() || lacks_map)
    }

    /// Returns true if a picture with this second side needs no further filter or comparison: the second side has the chosen
    /// filter, and was compared with the first side if that is wanted and possible.
    pub(super) fn is_satisfied(
        &self,
        second: Option<&SecondSide>,
        choice: &Choice,
        status: &DeviceStatus,
    ) -> bool {
        match (second, self.request(choice, status)) {
            (None, None) => true,
            (Some(second), Some(wanted)) => {
                let can_compare = self.compares && status.has_comparer;
                second.picture.request.makes_same_picture(&wanted)
                    && second.difference().is_some() == can_compare
            }
            _ => false,
        }
    }
}

/// Returns true if the filters of the two sides must not run at the same time, because they would use the same CPU or GPU and
/// prolong each other's times.
pub(super) fn must_take_turns(sides: [VariantId; 2]) -> bool {
    sides.iter().any(|id| matches!(id.back_end(), BackEnd::Native | BackEnd::Glsl))
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn a_wipe_begins_with_the_second_filter_of_the_last_one() {
        let mut wipe = Wipe::default();
        let native = SecondFilter::from((named("native"), 5));
        assert_eq!(wipe.toggle(3.into()), Some((VariantId::OFF, 3).into()), "the first wipe");
        wipe.set_second(Some(native));
        wipe.set_comparing(true);
        assert!(wipe.compares());
        assert_eq!(wipe.toggle(3.into()), None);
        wipe.end(Error::new("", "", ""));
        assert_eq!(wipe.toggle(3.into()), Some(native));
        assert!(!wipe.compares(), "the comparison has ended with the former wipe");
    }
}
