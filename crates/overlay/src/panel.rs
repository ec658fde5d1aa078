//! The parts that all panels share: the declaration of a panel in the column, the user's switches and selections, and the frame
//! with its title bar and closing button.

use ladders::LadderSummary;

use crate::open_panels::OpenPanels;
use crate::prelude::*;
use crate::widgets::MAX_HEIGHT;
pub(crate) use crate::widgets::{choice_button, cover_id, line, link, padded, paragraph, resizable};

/// Height in points of a folded panel, and of a panel's title bar.
pub(crate) const HEADER_HEIGHT: f32 = 26.0;

/// The settings of the overlay that the user switches on or off.
#[derive(Debug, Default)]
pub struct Switches {
    /// True to show the heat map of the luminance over the picture.
    pub heat: bool,
    /// True to stretch the filtered picture to the full range of luminance (auto-levels).
    pub levels: bool,
    /// True to show the device's machine code next to the source in the panel of kernels.
    pub machine_code: bool,
    /// True to draw stages with patterns in addition to their colours.
    pub hatched: bool,
    /// True to show the table of keys.
    pub keys: bool,
}

/// Identifies the kernels of a variant in the Lab: their file and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabKernel {
    /// The kernel file's path below `kernels/`.
    pub file: String,
    /// The values of the tuning parameters, such as "STRIP_X=64 QUADS=4"; empty if there are none.
    pub parameters: String,
}

/// The user's selection in the Lab (ladder of variants, size and variant), and in the panel of tuning.
#[derive(Debug)]
pub(crate) struct Selection {
    pub ladders: Vec<LadderSummary>,
    /// The index of the selected ladder; `None` for the box filter.
    pub ladder: Option<usize>,
    pub size: usize,
    /// The id of the selected variant; empty until the user or the Lab selects one.
    pub variant: String,
    /// The kernels of the selected variant, whose code the Lab shows; `None` if it has none.
    pub kernel: Option<LabKernel>,
    /// The variant whose heat map the panel of tuning shows; `None` for the fastest one.
    pub tuning_variant: Option<&'static str>,
}

impl Default for Selection {
    /// Returns the initial selection: the box filter, which plays, at the radius in use.
    fn default() -> Self {
        let (ladder, size, variant) = (None, 0, String::new());
        Self { ladders: ladders::all(), ladder, size, variant, kernel: None, tuning_variant: None }
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

/// A panel in the column, which a key or the menu opens. [`crate::panel_list::COLUMN_PANELS`] lists all of them.
pub(crate) struct ColumnPanel {
    /// The panel's name.
    pub panel: Panel,
    /// The key that opens and closes the panel, and its effect as the table of keys describes it; `None` without a key.
    pub key: Option<(&'static str, &'static str)>,
    /// The panel's name in the menu and in its title bar, and the hover text in the menu.
    pub menu: (&'static str, &'static str),
    /// The hover text of the title bar, which explains the panel; may be empty.
    pub about: &'static str,
    /// The hover text of the closing button; `None` for "Close", with the key.
    pub close_hover: Option<&'static str>,
    /// The least width in points in which the contents are laid out; in a narrower column they scroll horizontally.
    pub width: f32,
    /// The space around the contents in points.
    pub margin: Margin,
    /// Lays out the contents below the title bar, within the margin.
    pub show: fn(&mut Ui, &mut Pane),
    /// Returns what the panel shows, to stand after its name in the title bar; `None` if the name says it.
    pub shown: fn(&View, &OpenPanels) -> Option<String>,
    /// Returns the progress of the panel's background job as text, which is added to the title while the panel is folded;
    /// `None` if no job is under way.
    pub progress: fn(&View) -> Option<String>,
    /// Returns true if the panel is on the screen, unless the overlay is hidden.
    pub is_shown: fn(Panel, &View, &OpenPanels) -> bool,
}

impl ColumnPanel {
    /// Creates a panel without a key, with the usual margin, whose contents `show` lays out. `width` is their least width in
    /// points.
    pub(crate) const fn new(
        panel: Panel,
        menu: (&'static str, &'static str),
        width: f32,
        show: fn(&mut Ui, &mut Pane),
    ) -> Self {
        Self {
            panel,
            key: None,
            menu,
            about: "",
            close_hover: None,
            width,
            margin: Margin { left: 8, right: 8, top: 0, bottom: 8 },
            show,
            shown: |_, _| None,
            progress: |_| None,
            is_shown: |panel, _, panels| panels.is_requested(panel),
        }
    }

    /// Returns the action of the panel's key, of its line in the menu and of its closing button, which opens or closes the
    /// panel.
    pub(crate) fn action(&self) -> Action {
        // This panel is on the screen while colours are corrected.
        if self.panel == Panel::Correction { Action::ToggleCorrection } else { Action::Toggle(self.panel) }
    }
}

/// Lays out the frame of a panel at the cursor: the title bar, and `contents` below it. `contents` gets the rectangle of the
/// title bar. Returns the panel's rectangle.
pub(crate) fn show_frame(
    ui: &mut Ui,
    panel: &ColumnPanel,
    (title, folded): (&str, bool),
    pass: &mut Pass,
    contents: impl FnOnce(&mut Ui, Rect, &mut Pass),
) -> Rect {
    let name = panel.panel.name();
    let at = ui.cursor().min;
    let width = if folded { ui.available_width() } else { ui.available_width().max(panel.width) };
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
            explain_bar(ui, head, panel.about);
            title_bar(ui, inner, title, (panel.panel, folded), pass);
            let at = Rect::from_min_size(pos2(head.right() - 25.0, head.top() + 2.0), vec2(22.0, 22.0));
            let close = ui.put(at, Button::new("\u{d7}").frame_when_inactive(false));
            let close = close.named(Role::Button, &format!("Close {title}"));
            let by_key = || panel.key.map_or("Close".to_owned(), |(key, _)| format!("Close ({key})"));
            let close_hover = panel.close_hover.map_or_else(by_key, str::to_owned);
            close.explain(close_hover).on_click(panel.action(), &mut pass.actions);
            if !folded {
                ui.spacing_mut().item_spacing = spacing;
            }
            contents(ui, head, pass);
        });
        shown.response.rect
    });
    let rect = shown.inner;
    ui.painter().rect_stroke(rect, 6, Stroke::new(1.0, theme::PANEL_EDGE), StrokeKind::Inside);
    ui.interact(rect, cover_id(name), Sense::hover());
    rect
}

/// The sense of areas that keep clicks from what lies below them, but are not buttons.
pub(crate) const COVER: Sense = Sense::CLICK.union(Sense::DRAG);

/// Lays out a clickable word in the title bar `head`, left of the closing button. Returns true if it was clicked.
pub(crate) fn title_link(ui: &mut Ui, head: Rect, text: &str, hover: &str) -> bool {
    link(ui, pos2(head.right() - 34.0, head.center().y), text, hover)
}

/// Draws the background of the panel that `id` names, and keeps clicks on the panel from reaching the picture and the panels
/// below. Returns the [`Ui`] for the panel's contents.
pub(crate) fn ground(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    ground_with(ui, rect, id, (theme::PANEL, 0.0))
}

/// Draws the background as [`ground`] does, in this colour. Returns the [`Ui`] for the contents, with this margin.
pub(crate) fn ground_with(ui: &mut Ui, rect: Rect, id: &str, (fill, margin): (Color32, f32)) -> Ui {
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

/// Lays out the title and a triangle at the left of `rect`. A click on them folds or unfolds the panel.
pub(crate) fn title_bar(
    ui: &mut Ui,
    rect: Rect,
    title: &str,
    (panel, folded): (Panel, bool),
    pass: &mut Pass,
) {
    let center = pos2(rect.left() + 5.0, rect.center().y);
    let points = if folded {
        [vec2(-3.0, -5.0), vec2(4.0, 0.0), vec2(-3.0, 5.0)]
    } else {
        [vec2(-5.0, -3.0), vec2(5.0, -3.0), vec2(0.0, 4.0)]
    };
    let at = (rect.left_center() + vec2(16.0, 0.0), Align2::LEFT_CENTER, rect.width() - 16.0);
    let text = theme::elided_text(ui, at, title, (12.5, theme::TEXT));
    let active = Rect::from_center_size(center, vec2(16.0, 20.0)).union(text);
    let response = ui.interact(active, ui.unique_id().with("fold"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::WEAK };
    let points = points.map(|p| center + p).to_vec();
    ui.painter().add(Shape::convex_polygon(points, color, Stroke::NONE));
    let verb = if folded { "Unfold" } else { "Fold" };
    // The headline's title is painted beside the bar.
    let name = format!("{verb} {}", if title.is_empty() { "headline" } else { title });
    if response.named(Role::Button, &name).explain(verb).clicked() {
        pass.fold = Some((panel, !folded));
    }
}
