//! The panel of the current scene, whose contents the scene provides.

use egui::{Align2, Ui, vec2};

use super::panel::{self, Entry};
use super::place::Panel;

/// The title and contents of a scene's panel.
#[derive(Clone, Copy)]
pub struct ScenePanel<'a> {
    /// The title of the panel.
    pub name: &'static str,
    /// The function that lays out the contents of the panel.
    pub contents: &'a dyn Fn(&mut Ui),
}

/// The panel's width in points.
const WIDTH: f32 = 440.0;

/// This panel's key, line in the menu, size and corner.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Scene,
    key: None,
    menu: ("Scene", "Information about the current scene (v: next scene)"),
    about: "",
    size: vec2(WIDTH, 290.0),
    min_size: vec2(WIDTH, panel::MIN_HEIGHT),
    corner: Align2::LEFT_TOP,
};
