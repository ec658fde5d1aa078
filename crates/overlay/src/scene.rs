//! The panel of the current scene, whose contents the scene provides.

use egui::Ui;

use super::panel::Entry;
use super::panels::Panel;

/// The title and contents of a scene's panel.
#[derive(Clone, Copy)]
pub struct ScenePanel<'a> {
    /// The title of the panel.
    pub name: &'static str,
    /// The function that lays out the contents of the panel.
    pub contents: &'a dyn Fn(&mut Ui),
}

/// The panel's least width in points.
const WIDTH: f32 = 280.0;

/// The entry of this panel in the list of panels: key, line in the menu and width.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Scene,
    key: None,
    menu: ("Scene", "Information about the current scene (v: next scene)"),
    about: "",
    width: WIDTH,
};
