//! The panel of the current scene (a way of showing what plays), whose contents the scene provides.

use crate::panel::ColumnPanel;
use crate::prelude::*;

/// The title and contents of a scene's panel.
#[derive(Clone, Copy)]
pub struct ScenePanel<'a> {
    /// The name of the scene, which stands in the panel's title bar.
    pub name: &'static str,
    /// The function that lays out the contents of the panel.
    pub contents: &'a dyn Fn(&mut Ui),
}

/// The panel of the current scene; it is shown only if the scene has one.
pub(super) static SCENE: ColumnPanel = ColumnPanel {
    shown: |view, _| view.scene.map(|scene| scene.name.to_lowercase()),
    close_hover: Some("Close (reopen with the menu Panels)"),
    is_shown: |panel, view, panels| view.scene.is_some() && panels.is_open(panel),
    ..ColumnPanel::new(
        Panel::Scene,
        ("Scene", "Information about the current scene (v: next scene)"),
        280.0,
        |ui, pane| pane.pass.view.scene.iter().for_each(|scene| (scene.contents)(ui)),
    )
};
