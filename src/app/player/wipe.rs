//! The wipe as the user chooses it: which filter is on the other side, and whether the sides are compared.

use super::Player;
use crate::app::input::Command;
use base::error::Error;
use box_filter::MAX_RADIUS;
use box_filter::VariantId;
use engine::frame_loop::Filter;
use engine::frame_loop::VariantStatus;
use overlay::Action;

impl Player<'_> {
    /// Does what a key asks for on the side that the mouse is on; whether that is the other one, and the key a filter's.
    pub(super) fn obey_on_other(&mut self, command: &Command) -> bool {
        // The key may come before a drawing that knows where the mouse is.
        if let Some(mouse) = self.surface.mouse() {
            self.overlay.mouse_is_at(mouse);
        }
        let on_other = self.overlay.is_right_of_wipe() && self.movies.is_movie();
        let Some((id, radius)) = self.frames.other().filter(|_| on_other) else { return false };
        let other = match command {
            Command::Do(Action::SetVariant(id)) => (*id, radius),
            Command::RadiusBy(step) => (id, radius.saturating_add_signed(*step).min(MAX_RADIUS)),
            _ => return false,
        };
        if self.want_other(other) {
            self.frames.set_other(Some(other));
        }
        true
    }

    pub(super) fn toggle_wipe(&mut self) {
        let Some(other) = self.frames.toggle_wipe() else { return };
        // Where it cannot be had, the wipe ends at once, and that is told.
        let _ = self.devices.want(other.0);
        if !self.movies.is_movie() {
            self.overlay.say("This scene shows one filter: v goes to the movie and its wipe.".to_owned());
        }
    }

    pub(super) fn swap_sides(&mut self) {
        match self.frames.other() {
            None => self.overlay.say("There is one filter: w puts a second one beside it.".to_owned()),
            Some((VariantId::Version, _)) => {
                self.overlay
                    .say("The version on the left is the one that runs: choose it in the list.".to_owned());
            }
            Some(other) => {
                if self.want_other(other) {
                    self.frames.swap_sides();
                }
            }
        }
    }

    pub(super) fn toggle_difference(&mut self) {
        let compares = !self.frames.compares();
        if compares && self.frames.other().is_none() {
            self.toggle_wipe();
        }
        self.frames.compare(compares);
    }

    /// Has the builder make a variant, unless it cannot be had, which is told.
    fn want_other(&mut self, (id, _): Filter) -> bool {
        let wanted = self.devices.want(id);
        wanted.map_err(|error| self.notify(error, true)).is_ok()
    }

    /// Ends a wipe whose other side cannot be had, and tells why one has ended.
    pub(super) fn look_after_wipe(&mut self) {
        self.frames.let_wipe(self.movies.is_movie());
        self.look_after_versions();
        if let Some((other, _)) = self.frames.other()
            && let Some(VariantStatus::Unavailable(error)) = self.devices.status_of(other)
        {
            self.frames.end_wipe(error.clone());
        }
        let is_without = self.devices.info().is_none() && !self.devices.is_awaited();
        if is_without && self.frames.compares() {
            let why = "An OpenCL device compares them, and there is none.";
            let hint = "Choose a device with Ctrl+D.";
            self.frames.do_without_map(Error::new("Two pictures could not be compared.", why, hint));
        }
        if let Some(error) = self.frames.take_wipe_error() {
            self.notify(error, true);
        }
    }
}
