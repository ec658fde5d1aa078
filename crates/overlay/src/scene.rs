//! The panel of the current scene (a way of showing what plays), whose contents the scene provides.

use egui::Ui;

use super::View;
use super::open_panels::OpenPanels;
use super::panel::{ColumnPanel, Entry, Pane};
use super::panels::Panel;

/// The title and contents of a scene's panel.
#[derive(Clone, Copy)]
pub struct ScenePanel<'a> {
    /// The title of the panel.
    pub name: &'static str,
    /// The function that lays out the contents of the panel.
    pub contents: &'a dyn Fn(&mut Ui),
}

/// The panel of the current scene; it is shown only if the scene has one.
pub(super) struct CurrentScene;

impl ColumnPanel for CurrentScene {
    fn entry(&self) -> Entry {
        Entry::new(Panel::Scene, ("Scene", "Information about the current scene (v: next scene)"), 280.0)
    }

    fn title(&self, view: &View, _: &OpenPanels) -> String {
        view.scene.map_or("", |scene| scene.name).to_owned()
    }

    fn close_hover(&self) -> String {
        "Close (reopen with the menu Panels)".to_owned()
    }

    fn is_available(&self, view: &View) -> bool {
        view.scene.is_some()
    }

    fn is_shown(&self, view: &View, panels: &OpenPanels) -> bool {
        view.scene.is_some() && panels.is_open(Panel::Scene)
    }

    fn show(&self, ui: &mut Ui, pane: &mut Pane) {
        pane.pass.view.scene.iter().for_each(|scene| (scene.contents)(ui));
    }
}
