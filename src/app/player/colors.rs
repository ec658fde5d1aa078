//! The user's colour correction: the sliders, and the switch that turns it on.

use engine::frame_loop::FrameLoop;
use video::color::Correction;

/// The user's colour correction: the values of the sliders, and whether the switch is on.
pub(super) struct Colors {
    sliders: Correction,
    on: bool,
}

impl Colors {
    /// Creates the colour correction with neutral sliders, switched off.
    pub(super) fn new() -> Self {
        Self { sliders: Correction::NEUTRAL, on: false }
    }

    /// Returns the colour correction in use; `None` if it is switched off.
    pub(super) fn current(&self) -> Option<Correction> {
        self.on.then_some(self.sliders)
    }

    /// Sets the sliders. If the correction is switched on, frames are corrected with the new values.
    pub(super) fn set(&mut self, sliders: Correction, frames: &mut FrameLoop) {
        self.sliders = sliders.limited();
        frames.choice.set_correction(self.current());
    }

    /// Switches the colour correction of the frames on or off.
    pub(super) fn toggle(&mut self, frames: &mut FrameLoop) {
        self.on = !self.on;
        frames.choice.set_correction(self.current());
    }
}
