//! The colour correction. In: what the sliders say, and whether it is switched on. Out: the frames' correction.

use engine::frame_loop::FrameLoop;
use video::color::Correction;

/// The sliders and the switch.
pub(super) struct Colors {
    sliders: Correction,
    on: bool,
}

impl Colors {
    /// Switched off.
    pub(super) fn new() -> Self {
        Self { sliders: Correction::NEUTRAL, on: false }
    }

    /// What colours are corrected with; `None` where that is switched off.
    pub(super) fn now(&self) -> Option<Correction> {
        self.on.then_some(self.sliders)
    }

    /// Moves the sliders.
    pub(super) fn set(&mut self, sliders: Correction, frames: &mut FrameLoop) {
        self.sliders = sliders.limited();
        frames.correct(self.now());
    }

    /// Switches it on or off.
    pub(super) fn toggle(&mut self, frames: &mut FrameLoop) {
        self.on = !self.on;
        frames.correct(self.now());
    }
}
