//! The panel that lists filters, the box filter and those of folders, and changes between them.

use std::sync::Arc;

use base::error::Error;
use egui::{ColorImage, Image, TextureHandle, TextureOptions};

use crate::facts;
use crate::panel::{ColumnPanel, Pane, line, paragraph};
use crate::prelude::*;
use crate::stack::{self, MAX_STACK, StackView};

/// The width and the height in points of the place of a thumbnail.
const THUMBNAIL: Vec2 = vec2(72.0, 40.5);

/// A filter in the list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FilterRow {
    /// The name of the filter in its description; that of the folder if the description is wrong.
    pub name: String,
    /// The effect of the filter, in a sentence.
    pub sentence: String,
    /// The path of the folder; `None` for the box filter, which is built in.
    pub folder: Option<String>,
    /// The error in the description of the filter; `None` if it is right.
    pub error: Option<Error>,
    /// The picture of the filter's effect; `None` if none was made.
    pub thumbnail: Option<Thumbnail>,
}

/// A small picture: its width, height and RGBA bytes. It is shared, and equal to its clones alone.
#[derive(Debug, Clone)]
pub struct Thumbnail(pub Arc<([usize; 2], Vec<u8>)>);

impl PartialEq for Thumbnail {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The state of the list of filters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FilterList {
    /// The filters: first the box filter, then the others in the order in which they were used, the last one first.
    pub rows: Vec<FilterRow>,
    /// The index of the selected filter.
    pub selected: usize,
    /// The filters that run one after the other.
    pub stack: StackView,
    /// True while a folder is being opened or written.
    pub is_pending: bool,
}

pub(super) static FILTERS: ColumnPanel = ColumnPanel {
    key: Some(("F", "filters: the box filter, your own")),
    about: "A filter is a folder with a filter.toml and kernels. Files that are saved there take effect at once.",
    margin: Margin { bottom: 4, ..Margin::ZERO },
    ..ColumnPanel::new(
        Panel::Filters,
        ("Filters", "Choose the filter: the box filter, or one of your own"),
        220.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (list, actions) = (pane.pass.view.filters, &mut pane.pass.actions);
    ui.spacing_mut().item_spacing.y = 2.0;
    stack::show(ui, &list.stack, actions);
    for index in 0..list.rows.len() {
        show_row(ui, list, index, actions);
    }
    egui::Frame::new().inner_margin(Margin::symmetric(8, 4)).show(ui, |ui| {
        if list.is_pending {
            line(ui, "Opening the folder\u{2026}", theme::WEAK);
            return;
        }
        ui.horizontal(|ui| {
            let new = ui.button("New filter\u{2026}");
            new.explain("Write a folder with a filter that runs, to edit while the movie plays")
                .on_click(Action::NewFilter, actions);
            let open = ui.button("Open\u{2026}");
            open.explain("Open the folder of a filter").on_click(Action::AskForFilter, actions);
        });
    });
}

/// Lays one filter out. A click changes to it.
fn show_row(ui: &mut Ui, list: &FilterList, index: usize, actions: &mut Vec<Action>) {
    let (row, is_selected) = (&list.rows[index], list.selected == index);
    let block = ui.scope_builder(UiBuilder::new().sense(Sense::click()), |ui| {
        let alpha = if ui.response().hovered() { 22 } else { 8 };
        let frame = egui::Frame::new().fill(Color32::from_white_alpha(alpha)).corner_radius(4);
        frame.inner_margin(Margin::symmetric(8, 4)).show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal_top(|ui| {
                show_thumbnail(ui, row);
                ui.vertical(|ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    let color = if is_selected { theme::SELECT } else { theme::STRONG };
                    ui.add(Label::new(RichText::new(&row.name).font(theme::words(13.0)).color(color)));
                    match &row.error {
                        Some(error) => paragraph(ui, &facts::sentences(error), theme::ERROR),
                        None => paragraph(ui, &row.sentence, theme::TEXT),
                    };
                    if row.error.is_none() {
                        ui.horizontal_wrapped(|ui| show_buttons(ui, (list, index), actions));
                    }
                });
            });
        });
    });
    let place = row.folder.as_deref().unwrap_or("Built in");
    let response = block.response.named(Role::Button, &row.name);
    let response = response.valued(|| if is_selected { "selected".to_owned() } else { String::new() });
    response.explain(place).on_click(Action::SelectFilter(index), actions);
}

/// Lays out the buttons of a filter: for a wipe and for the stack.
fn show_buttons(ui: &mut Ui, (list, index): (&FilterList, usize), actions: &mut Vec<Action>) {
    ui.spacing_mut().item_spacing.x = 4.0;
    if list.selected != index {
        let beside = ui.add(Button::new("Beside the present one").small());
        beside
            .explain("Show this filter at the left of a wipe, and the present one at the right")
            .on_click(Action::WipeFilter(index), actions);
    }
    if list.stack.rows.len() < MAX_STACK {
        let stack = ui.add(Button::new("On the stack").small());
        stack
            .explain("Filter the picture of the present filter once more, by this one")
            .on_click(Action::StackFilter(index), actions);
    }
}

/// Draws the picture of a filter, or an empty place if there is none.
fn show_thumbnail(ui: &mut Ui, row: &FilterRow) {
    let (rect, _) = ui.allocate_exact_size(THUMBNAIL, Sense::hover());
    ui.painter().rect_filled(rect, 2, Color32::from_white_alpha(12));
    let Some(Thumbnail(picture)) = &row.thumbnail else { return };
    let id = Id::unique(("thumbnail", Arc::as_ptr(picture) as usize));
    let known = ui.data(|data| data.get_temp::<TextureHandle>(id));
    let texture = known.unwrap_or_else(|| {
        let image = ColorImage::from_rgba_unmultiplied(picture.0, &picture.1);
        ui.ctx().load_texture("thumbnail", image, TextureOptions::LINEAR)
    });
    let size = texture.size_vec2();
    let size = size * (THUMBNAIL / size).min_elem();
    Image::from_texture(&texture).paint_at(ui, Rect::from_center_size(rect.center(), size));
    ui.data_mut(|data| data.insert_temp(id, texture));
}
