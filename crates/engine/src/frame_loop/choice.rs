//! The user's choice of filter, colour correction and measurements.

use std::collections::HashMap;
use std::time::Instant;

use crate::DeviceStatus;
use box_filter::{Settings, VariantId};
use compute::BackEnd;
use stats::{Measurements, Request, Stack};
use video::color::Correction;

/// A variant and the values of its filter's parameters.
pub type Filter = (VariantId, Settings);

/// The current choice of filter, colour correction and measurements. In a wipe, which shows two filters side by side, the filter is that of
/// the first side. Changes take effect with the next turn of the loop.
pub struct Choice {
    variant: VariantId,
    settings: Settings,
    /// The last settings of each filter that was chosen, by its name.
    remembered: HashMap<&'static str, Settings>,
    /// The other filters of a stack. Those that the device cannot run are left out of requests.
    pub stack: Stack,
    /// When the variant or the settings were last changed.
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
            settings: 0.into(),
            stack: Stack::default(),
            remembered: HashMap::new(),
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
        (self.variant, self.settings)
    }

    /// Chooses the filter for the next frames. Work of the former filter that is not on the device yet is cancelled. If no
    /// other picture is about to replace the one on the screen, as in a pause, that one is filtered again.
    pub fn choose(&mut self, variant: VariantId, settings: impl Into<Settings>) {
        let settings = settings.into();
        self.remembered.insert(&variant.filter().name, settings);
        if (variant, settings) != self.filter() {
            (self.variant, self.settings, self.chosen_at) = (variant, settings, Some(Instant::now()));
        }
    }

    /// Keeps these settings for the filter of a variant until that is chosen.
    pub fn remember(&mut self, variant: VariantId, settings: Settings) {
        self.remembered.insert(&variant.filter().name, settings);
    }

    /// Chooses this variant with the last settings of its filter, as [`Choice::choose`] does.
    pub fn choose_variant(&mut self, variant: VariantId) {
        self.choose(variant, self.settings_of(variant));
    }

    /// Returns the last settings of the filter to which a variant belongs, at first the defaults of its parameters.
    /// [`VariantId::OFF`] belongs to the box filter.
    pub fn settings_of(&self, variant: VariantId) -> Settings {
        let filter = variant.filter();
        let last = self.remembered.get(filter.name.as_str()).copied();
        // The folder may have changed.
        last.filter(|last| last.suit(&filter.description.parameters)).unwrap_or_else(|| filter.defaults())
    }

    /// Returns the last chosen radius of the box filter in pixels.
    pub fn box_radius(&self) -> u32 {
        self.settings_of(VariantId::OFF).first()
    }

    /// Sets the colour correction for the next frames; `None` switches it off. If no other picture is about to replace the one
    /// on the screen, as in a pause, that one is corrected again.
    pub fn set_correction(&mut self, correction: Option<Correction>) {
        self.correction = correction.filter(|c| !c.is_neutral());
    }

    /// Returns true if the picture on the screen does not have the chosen filter yet. `shown` is the filter of that picture.
    pub fn is_awaited(&self, shown: Option<Filter>) -> bool {
        let is_chosen = |(variant, settings): Filter| {
            variant == self.variant && (settings == self.settings || variant == VariantId::OFF)
        };
        let has_failed = self.failed.is_some_and(|request| is_chosen((request.variant, request.settings)));
        !has_failed && shown.is_some_and(|shown| !is_chosen(shown))
    }

    /// Switches off what has failed: the colour correction if `variant` is [`VariantId::OFF`], otherwise the filter if it is
    /// the chosen variant.
    pub(super) fn disable(&mut self, variant: VariantId) {
        if variant == VariantId::OFF {
            self.correction = None;
        } else if variant == self.variant {
            (self.variant, self.settings) = (VariantId::OFF, self.settings_of(VariantId::OFF));
        }
    }

    /// Returns the request for a frame that is taken now, with the chosen correction and measurements. The filter is the chosen
    /// one if `status`, the device's, shows that it can be used now, else none.
    pub(super) fn current_request(&self, status: &DeviceStatus) -> Request {
        let can_filter = status.can_filter((self.variant, None), self.settings);
        let variant = if can_filter { self.variant } else { VariantId::OFF };
        self.request((variant, self.settings), status)
    }

    /// Returns the request for a frame with this filter, and with the chosen correction and those measurements that can be made.
    pub(super) fn request(&self, (variant, settings): Filter, status: &DeviceStatus) -> Request {
        let can_measure = status.can_measure(variant);
        let measurements = if can_measure { self.measuring } else { Measurements::default() };
        let stack = self.stack.filtered(|layer| {
            let is_kernel = layer.variant.back_end() == BackEnd::OpenCl && !layer.variant.reads_planes();
            is_kernel && status.can_filter((layer.variant, None), layer.settings)
        });
        Request { stack, correction: self.correction, measurements, ..Request::new(variant, settings) }
    }

    /// Returns the request for the stack with this filter in the place of the chosen one, whatever the device can do now.
    pub(super) fn wanted(&self, (variant, settings): Filter) -> Request {
        Request { stack: self.stack, ..Request::new(variant, settings) }
    }

    /// Returns the number of frames that the stack with this filter in the place of the chosen one reads.
    pub(super) fn frames(&self, filter: Filter) -> usize {
        self.wanted(filter).frames()
    }

    /// Returns the version number of this variant's kernels that is in use; 1 if they were not edited.
    pub(super) fn version(&self, variant: VariantId) -> u64 {
        self.versions.get(&variant).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::{Filter, named};

    #[test]
    fn each_filter_keeps_its_settings() {
        let gain = "parameters.gain = { type = \"float\", range = [0.25, 8.0], default = 2.0 }";
        let edges = Filter::made_up("edges", gain);
        let variants: Vec<VariantId> = edges.variants().collect();
        let mut choice = Choice::new();
        choice.choose(named("flat"), 7);
        choice.choose_variant(variants[0]);
        assert_eq!(choice.filter(), (variants[0], edges.defaults()));
        let louder = edges.defaults().with(&edges.description.parameters, 0, 4.5);
        choice.choose(variants[0], louder);
        choice.choose_variant(named("fused"));
        assert_eq!(choice.filter(), (named("fused"), 7.into()));
        choice.choose(named("fused"), 9);
        choice.choose_variant(variants[1]);
        assert_eq!(choice.filter(), (variants[1], louder));
        // A variant that fails leaves the picture without a filter, and with the radius of the box filter.
        choice.disable(variants[1]);
        assert_eq!(choice.filter(), (VariantId::OFF, 9.into()));
        // A folder of this name whose parameters have other ranges begins with its defaults.
        let changed = Filter::made_up("edges", &gain.replace("8.0", "4.0"));
        assert_eq!(choice.settings_of(changed.initial()), changed.defaults());
    }
}
