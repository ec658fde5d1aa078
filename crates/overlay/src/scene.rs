//! The panel of the scene that fills the window, where it has one. In: its title, and what lays its contents out. Out: both, in
//! the frame that all panels have.

use egui::{Align2, Rect, Ui, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, panel};

/// What a scene has to tell.
#[derive(Clone, Copy)]
pub struct ScenePanel<'a> {
    /// The title.
    pub name: &'static str,
    /// Lays the contents out.
    pub contents: &'a dyn Fn(&mut Ui),
}

/// The panel's width in points.
const WIDTH: f32 = 440.0;

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Scene,
    key: None,
    menu: ("Scene", "What the scene that fills the window has to tell; v goes round the scenes"),
    size: vec2(WIDTH, 290.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::LEFT_TOP,
    is_shown: |overlay, view| view.scene.is_some() && overlay.open[Panel::Scene as usize],
    show: |overlay, ui, rect, view, actions| match &view.scene {
        Some(scene) => show(ui, rect, scene, overlay.is_folded(Panel::Scene), actions),
        None => (Title::default(), panel::HEADER),
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low. Returns what was done with the title, and the height
/// that the panel would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    scene: &ScenePanel,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let frame = panel::Frame {
        panel: Panel::Scene,
        id: "scene",
        name: scene.name,
        hover: place::HOVER,
        close: ("Close this panel: the menu Panels opens it again", Action::Toggle(Panel::Scene)),
    };
    frame.around(ui, rect, folded, actions, |ui, _| (scene.contents)(ui))
}
