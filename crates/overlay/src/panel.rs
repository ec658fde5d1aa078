//! The parts that all panels share: the trait of the panels in the column, and the frame with its title bar and closing button.

use egui::{
    Align2, Button, Color32, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2,
};

use crate::access::Access as _;
use crate::action::Action;
use crate::hover::Explain as _;
use crate::open_panels::OpenPanels;
use crate::panels::Panel;
use crate::pass::Pass;
use crate::selection::Selection;
use crate::switches::Switches;
use crate::theme;
use crate::view::View;
use crate::widgets::MAX_HEIGHT;
pub(crate) use crate::widgets::{choice_button, cover_id, line, link, padded, paragraph, resizable};

/// Height in points of a folded panel, and of a panel's title bar.
pub(crate) const HEADER_HEIGHT: f32 = 26.0;

/// The properties of a panel in the column: its entries in the table of keys and in the menu, and its size.
pub(crate) struct Entry {
    /// The panel to which the properties belong.
    pub panel: Panel,
    /// The key that opens and closes the panel, and its effect as the table of keys describes it; `None` without a key.
    pub key: Option<(&'static str, &'static str)>,
    /// The panel's name in the menu, and the hover text there.
    pub menu: (&'static str, &'static str),
    /// The hover text of the title bar, which explains the panel; may be empty.
    pub about: &'static str,
    /// The least width in points in which the contents are laid out; in a narrower column they scroll horizontally.
    pub width: f32,
    /// The space around the contents in points.
    pub margin: Margin,
}

impl Entry {
    /// Creates the properties of a panel without a key. `width` is the least width of its contents in points.
    pub(crate) const fn new(panel: Panel, menu: (&'static str, &'static str), width: f32) -> Self {
        Self {
            panel,
            key: None,
            menu,
            about: "",
            width,
            margin: Margin { left: 8, right: 8, top: 0, bottom: 8 },
        }
    }

    /// Sets the key, and its effect as the table of keys describes it.
    pub(crate) const fn with_key(self, key: &'static str, effect: &'static str) -> Self {
        Self { key: Some((key, effect)), ..self }
    }
}

/// The input for laying out a panel's contents: the space, the state of the overlay, and the pass.
pub(crate) struct Pane<'p, 'a> {
    pub pass: &'p mut Pass<'a>,
    /// The rectangle of the title bar.
    pub head: Rect,
    /// The height in points that the other panels of the column leave free.
    pub room: f32,
    pub switches: &'p mut Switches,
    pub panels: &'p OpenPanels,
    pub selection: &'p mut Selection,
}

/// A panel in the column, which a key or the menu opens. Its file implements this trait, and
/// [`crate::panel_list::COLUMN_PANELS`] lists it.
pub(crate) trait ColumnPanel: Sync {
    /// Returns the properties of the panel, such as its key, its line in the menu and its width.
    fn entry(&self) -> Entry;

    /// Lays out the contents below the title bar, within the margin.
    fn show(&self, ui: &mut Ui, pane: &mut Pane);

    /// Returns the title in the title bar.
    fn title(&self, _: &View, _: &OpenPanels) -> String {
        self.entry().menu.0.to_owned()
    }

    /// Returns the progress of the panel's background job as text, which is added to the title while the panel is folded;
    /// `None` if no job is under way.
    fn progress(&self, _: &View) -> Option<String> {
        None
    }

    /// Returns the action of the panel's key, of its line in the menu and of its closing button, which opens or closes the
    /// panel.
    fn action(&self) -> Action {
        Action::Toggle(self.entry().panel)
    }

    /// Returns the hover text of the closing button.
    fn close_hover(&self) -> String {
        self.entry().key.map_or("Close".to_owned(), |(key, _)| format!("Close ({key})"))
    }

    /// Returns true if the menu lists the panel.
    fn is_available(&self, _: &View) -> bool {
        true
    }

    /// Returns true if the panel is on the screen, unless the overlay is hidden.
    fn is_shown(&self, _: &View, panels: &OpenPanels) -> bool {
        panels.is_requested(self.entry().panel)
    }
}

/// Lays out the frame of a panel at the cursor: the title bar, and `contents` below it. `contents` gets the rectangle of the
/// title bar, and true if the closing button was clicked. Returns true if the user folded or unfolded the panel, and the
/// panel's rectangle.
pub(crate) fn show_frame(
    ui: &mut Ui,
    panel: &dyn ColumnPanel,
    (title, folded): (&str, bool),
    contents: impl FnOnce(&mut Ui, Rect, bool),
) -> (bool, Rect) {
    let entry = panel.entry();
    let name = entry.panel.name();
    let at = ui.cursor().min;
    let width = if folded { ui.available_width() } else { ui.available_width().max(entry.width) };
    let room = Rect::from_min_size(at, vec2(width, MAX_HEIGHT));
    // The closing button stays visible where the contents are wider than the column.
    let head = Rect::from_min_size(at, vec2(width, HEADER_HEIGHT));
    let head = head.with_max_x(head.right().min(ui.clip_rect().right()));
    // A click on the panel must not reach the picture.
    let over = UiBuilder::new().id_salt(name).max_rect(room).sense(COVER).accessibility_label(title);
    let fill = if folded { theme::PANEL } else { theme::PANEL.to_opaque() };
    let frame = egui::Frame::new().fill(fill).corner_radius(6);
    let spacing = ui.ctx().global_style().spacing.item_spacing;
    let shown = ui.scope_builder(over, |ui| {
        let shown = frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            ui.set_width(width);
            ui.allocate_space(vec2(width, HEADER_HEIGHT));
            // The closing button stands at the right.
            let inner = head.shrink2(vec2(10.0, 3.0)).with_max_x(head.right() - 28.0);
            explain_bar(ui, head, entry.about);
            let folds = title_bar(ui, inner, title, folded);
            let at = Rect::from_min_size(pos2(head.right() - 25.0, head.top() + 2.0), vec2(22.0, 22.0));
            let close = ui.put(at, Button::new("\u{d7}").frame_when_inactive(false));
            let close = close.named(Role::Button, &format!("Close {title}"));
            let closes = close.explain(panel.close_hover()).clicked();
            if !folded {
                ui.spacing_mut().item_spacing = spacing;
            }
            contents(ui, head, closes);
            folds
        });
        (shown.inner, shown.response.rect)
    });
    let (folds, rect) = shown.inner;
    ui.painter().rect_stroke(rect, 6, Stroke::new(1.0, theme::PANEL_EDGE), StrokeKind::Inside);
    ui.interact(rect, cover_id(name), Sense::hover());
    (folds, rect)
}

/// The sense of areas that keep clicks from what lies below them, but are not buttons.
pub(crate) const COVER: Sense = Sense::CLICK.union(Sense::DRAG);

/// Lays out a clickable word in the title bar `head`, left of the closing button. Returns true if it was clicked.
pub(crate) fn title_link(ui: &mut Ui, head: Rect, text: &str, hover: &str) -> bool {
    link(ui, pos2(head.right() - 34.0, head.center().y), text, hover)
}

/// Draws the opaque background of a panel that may cover others. Returns the [`Ui`] for its contents, with a margin.
pub(crate) fn opaque_ground(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    ground_with(ui, rect, id, (theme::PANEL.to_opaque(), theme::PAD))
}

/// Draws the background of the panel that `id` names, and keeps clicks on the panel from reaching the picture and the panels
/// below. Returns the [`Ui`] for the panel's contents.
pub(crate) fn ground(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    ground_with(ui, rect, id, (theme::PANEL, 0.0))
}

fn ground_with(ui: &mut Ui, rect: Rect, id: &str, (fill, margin): (Color32, f32)) -> Ui {
    ui.interact(rect, cover_id(id), COVER);
    theme::draw_ground(ui.painter(), rect, fill);
    let space = UiBuilder::new().id_salt(id).max_rect(rect.shrink(margin)).accessibility_label(id);
    let mut ui = ui.new_child(space);
    ui.set_clip_rect(rect);
    ui
}

/// Shows `about` as hover text while the pointer is over a title bar; nothing if `about` is empty. Call this before
/// [`title_bar`].
pub(crate) fn explain_bar(ui: &Ui, bar: Rect, about: &str) {
    if !about.is_empty() {
        ui.interact(bar, ui.unique_id().with("about"), Sense::hover()).explain(about);
    }
}

/// Lays out the title and a triangle at the left of `rect`. Returns true if the user clicked them, which folds or unfolds the
/// panel.
pub(crate) fn title_bar(ui: &mut Ui, rect: Rect, title: &str, folded: bool) -> bool {
    let center = pos2(rect.left() + 5.0, rect.center().y);
    let points = if folded {
        [vec2(-3.0, -5.0), vec2(4.0, 0.0), vec2(-3.0, 5.0)]
    } else {
        [vec2(-5.0, -3.0), vec2(5.0, -3.0), vec2(0.0, 4.0)]
    };
    let at = (rect.left_center() + vec2(16.0, 0.0), Align2::LEFT_CENTER, rect.width() - 16.0);
    let text = theme::elided_text(ui, at, title, (theme::words(12.5), theme::TEXT));
    let active = Rect::from_center_size(center, vec2(16.0, 20.0)).union(text);
    let response = ui.interact(active, ui.unique_id().with("fold"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::WEAK };
    let points = points.map(|p| center + p).to_vec();
    ui.painter().add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
    let verb = if folded { "Unfold" } else { "Fold" };
    // The headline's title is painted beside the bar.
    let name = format!("{verb} {}", if title.is_empty() { "headline" } else { title });
    response.named(Role::Button, &name).explain(verb).clicked()
}
