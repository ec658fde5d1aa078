//! The user's choice of filter, colour correction and measurements.

use std::collections::HashMap;
use std::time::Instant;

use crate::DeviceStatus;
use box_filter::VariantId;
use stats::{Measurements, Request};
use video::color::Correction;

/// A filter and its radius in pixels.
pub type Filter = (VariantId, u32);

/// The current choice of filter, colour correction and measurements. In a wipe, which shows two filters side by side, the filter is that of
/// the first side. Changes take effect with the next turn of the loop.
pub struct Choice {
    variant: VariantId,
    radius: u32,
    /// When the variant or the radius was last changed.
    pub(super) chosen_at: Option<Instant>,
    /// The last time at which the kernels of the chosen variant were not built yet; `None` if they always were.
    pub(super) unbuilt_at: Option<Instant>,
    /// The colour correction; `None` if it would change nothing.
    pub(super) correction: Option<Correction>,
    /// The measurements that are made of every frame. If no other picture is about to replace the one on the screen when they change, as
    /// in a pause, that one is measured again.
    pub measuring: Measurements,
    /// The request that failed for the picture on the screen. It is not submitted again until the choice changes.
    pub(super) failed: Option<Request>,
    /// The version number of the edited kernels that each variant uses now. A variant without an entry uses version 1: its
    /// kernels as they were when the window was opened.
    pub(super) versions: HashMap<VariantId, u64>,
}

impl Choice {
    pub(super) fn new() -> Self {
        Self {
            variant: VariantId::OFF,
            radius: 0,
            chosen_at: None,
            unbuilt_at: None,
            correction: None,
            measuring: Measurements::default(),
            failed: None,
            versions: HashMap::new(),
        }
    }

    /// Returns the chosen filter. It becomes [`VariantId::OFF`] when the chosen variant fails.
    pub fn filter(&self) -> Filter {
        (self.variant, self.radius)
    }

    /// Chooses the filter for the next frames. Work of the former filter that is not on the device yet is cancelled. If no
    /// other picture is about to replace the one on the screen, as in a pause, that one is filtered again.
    pub fn choose(&mut self, variant: VariantId, radius: u32) {
        if (variant, radius) != self.filter() {
            (self.variant, self.radius, self.chosen_at) = (variant, radius, Some(Instant::now()));
        }
    }

    /// Sets the colour correction for the next frames; `None` switches it off. If no other picture is about to replace the one
    /// on the screen, as in a pause, that one is corrected again.
    pub fn set_correction(&mut self, correction: Option<Correction>) {
        self.correction = correction.filter(|c| !c.is_neutral());
    }

    /// Returns true if the picture on the screen does not have the chosen filter yet. `shown` is the filter of that picture.
    pub fn is_awaited(&self, shown: Option<Filter>) -> bool {
        let is_chosen = |(variant, radius): Filter| {
            variant == self.variant && (radius == self.radius || variant == VariantId::OFF)
        };
        let has_failed = self.failed.is_some_and(|request| is_chosen((request.variant, request.radius)));
        !has_failed && shown.is_some_and(|shown| !is_chosen(shown))
    }

    /// Switches off what has failed: the colour correction if `variant` is [`VariantId::OFF`], otherwise the filter if it is
    /// the chosen variant.
    pub(super) fn disable(&mut self, variant: VariantId) {
        if variant == VariantId::OFF {
            self.correction = None;
        } else if variant == self.variant {
            self.variant = VariantId::OFF;
        }
    }

    /// Returns the request for a frame that is taken now, with the chosen correction and measurements. The filter is the chosen
    /// one if `status`, the device's, shows that it can be used now, else none.
    pub(super) fn current_request(&self, status: &DeviceStatus) -> Request {
        let can_filter = status.can_filter((self.variant, None), self.radius);
        let variant = if can_filter { self.variant } else { VariantId::OFF };
        self.request((variant, self.radius), status)
    }

    /// Returns the request for a frame with this filter, and with the chosen correction and those measurements that can be made.
    pub(super) fn request(&self, (variant, radius): Filter, status: &DeviceStatus) -> Request {
        let can_measure = status.can_measure(variant);
        let measurements = if can_measure { self.measuring } else { Measurements::default() };
        Request { correction: self.correction, measurements, ..Request::new(variant, radius) }
    }

    /// Returns the version number of this variant's kernels that is in use; 1 if they were not edited.
    pub(super) fn version(&self, variant: VariantId) -> u64 {
        self.versions.get(&variant).copied().unwrap_or(1)
    }
}
