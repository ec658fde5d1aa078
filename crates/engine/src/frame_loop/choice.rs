//! How frames are to be filtered. In: what the user chooses, and what cannot be had. Out: the request for the next frame.

use std::time::{Duration, Instant};

use crate::Request;
use box_filter::VariantId;
use video::color::Correction;

/// What is measured of every frame on the device, and done with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measuring {
    /// Its luminance, for scopes and heat map.
    pub readings: bool,
    /// Auto-levels.
    pub levels: bool,
}

/// What is wanted.
pub(super) struct Choice {
    variant: VariantId,
    radius: u32,
    /// When variant and radius were chosen.
    at: Option<Instant>,
    /// What colours are corrected with, if they are; never a neutral one.
    correction: Option<Correction>,
    measuring: Measuring,
    /// What the picture on the screen could not be filtered with, so that it is not tried over and over.
    failed: Option<Request>,
    /// No frame is taken before the chosen variant is built.
    pub(super) waits_for_filter: bool,
    /// No frame is converted on the host while the device's program for it is being built.
    pub(super) waits_for_conversions: bool,
}

impl Choice {
    /// Nothing is filtered yet.
    pub(super) fn new() -> Self {
        Self {
            variant: VariantId::Off,
            radius: 0,
            at: None,
            correction: None,
            measuring: Measuring::default(),
            failed: None,
            waits_for_filter: false,
            waits_for_conversions: false,
        }
    }

    /// The variant and the radius.
    pub(super) fn filter(&self) -> (VariantId, u32) {
        (self.variant, self.radius)
    }

    /// When they were chosen.
    pub(super) fn since(&self) -> Option<Instant> {
        self.at
    }

    /// So much time counts for nothing.
    pub(super) fn leave_out(&mut self, time: Duration) {
        self.at = self.at.map(|at| at.checked_add(time).unwrap_or(at));
    }

    /// Whether this is what was chosen.
    pub(super) fn is(&self, (variant, radius): (VariantId, u32)) -> bool {
        variant == self.variant && (radius == self.radius || variant == VariantId::Off)
    }

    /// Another filter.
    pub(super) fn choose(&mut self, variant: VariantId, radius: u32) {
        (self.variant, self.radius, self.at) = (variant, radius, Some(Instant::now()));
        self.try_again();
    }

    /// Another colour correction, or none.
    pub(super) fn correct(&mut self, correction: Option<Correction>) {
        self.correction = correction.filter(|c| !c.is_neutral());
        self.try_again();
    }

    /// Measures frames, or not; whether that is new.
    pub(super) fn measure(&mut self, measuring: Measuring) -> bool {
        let is_new = std::mem::replace(&mut self.measuring, measuring) != measuring;
        if is_new {
            self.try_again();
        }
        is_new
    }

    /// Whether anything is to be measured.
    pub(super) fn measures(&self) -> bool {
        self.measuring != Measuring::default()
    }

    /// What cannot be had is not wanted: this variant, or where it is none the colour correction.
    pub(super) fn do_without(&mut self, variant: VariantId) {
        if variant == VariantId::Off {
            self.correction = None;
        } else if variant == self.variant {
            self.variant = VariantId::Off;
        }
    }

    /// The request for the next frame; `can` is whether the chosen variant is there, `can_measure` whether frames of a variant
    /// can be measured.
    pub(super) fn request(&self, can: bool, can_measure: impl FnOnce(VariantId) -> bool) -> Request {
        let variant = if can { self.variant } else { VariantId::Off };
        self.request_of((variant, self.radius), || can_measure(variant))
    }

    /// The same for another filter; `can_measure` is whether its frames can be measured.
    pub(super) fn request_of(
        &self,
        (variant, radius): (VariantId, u32),
        can_measure: impl FnOnce() -> bool,
    ) -> Request {
        let Measuring { readings, levels } = self.measuring;
        let can = self.measures() && can_measure();
        Request {
            variant,
            radius,
            correction: self.correction,
            readings: can && readings,
            levels: can && levels,
        }
    }

    /// The picture on the screen cannot be filtered so.
    pub(super) fn failed(&mut self, request: Request) {
        self.failed = Some(request);
    }

    /// What could not be had may be there now.
    pub(super) fn try_again(&mut self) {
        self.failed = None;
    }

    /// Whether the picture on the screen could not be filtered as is wanted.
    pub(super) fn has_failed(&self, wanted: impl FnOnce(&Request) -> bool) -> bool {
        self.failed.as_ref().is_some_and(wanted)
    }
}
