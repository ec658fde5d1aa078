//! The stack of filters: the rows above the list of filters.

use base::error::Error;

use crate::facts;
use crate::panel::{line, paragraph};
use crate::prelude::*;

/// A filter of the stack.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackRow {
    /// The name of the filter in its description.
    pub name: String,
    /// The variant and the values of the parameters.
    pub filter: String,
    /// The time on the device in milliseconds; `None` if it does not run.
    pub ms: Option<f64>,
    /// True if the user has it switched on.
    pub is_on: bool,
    /// True for the chosen filter, to which keys and sliders belong.
    pub is_chosen: bool,
    /// The error because of which the filter is skipped; `None` if it runs.
    pub error: Option<Error>,
    /// The error because of which the version that was saved last does not run in place of the one before it; `None` if it does.
    pub fault: Option<Error>,
}

/// The stack of filters as the user sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackView {
    /// The filters in the order in which they run. There is no stack if it has fewer than two.
    pub rows: Vec<StackRow>,
    /// True if there is a change of the stack that can be undone.
    pub can_undo: bool,
    /// The names of the filters of the last stack, which can be made again; `None` if there was none, or a stack runs.
    pub last: Option<String>,
}

/// The maximum number of filters in a stack.
pub const MAX_STACK: usize = stats::MAX_OTHERS + 1;

/// Lays out the rows of the stack, and the buttons that undo a change and make the last stack again.
pub(crate) fn show(ui: &mut Ui, stack: &StackView, actions: &mut Vec<Action>) {
    let is_stack = stack.rows.len() > 1;
    if !is_stack && !stack.can_undo && stack.last.is_none() {
        return;
    }
    egui::Frame::new().inner_margin(Margin::symmetric(8, 2)).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        if is_stack {
            line(ui, "Stack: each filters the picture of the one above it", theme::WEAK);
            for (index, row) in stack.rows.iter().enumerate() {
                show_row(ui, (index, row), actions);
            }
        }
        ui.horizontal_wrapped(|ui| {
            if stack.can_undo {
                let undo = ui.add(Button::new("Undo").small());
                undo.explain("Undo the last change of the stack").on_click(Action::UndoStack, actions);
            }
            if let Some(last) = &stack.last {
                let again = ui.add(Button::new(format!("Again: {last}")).small());
                again.explain("Make the last stack again").on_click(Action::RestoreStack, actions);
            }
        });
    });
}

/// Lays out one filter of the stack. It can be dragged to another place; a click on its name chooses it.
fn show_row(ui: &mut Ui, (index, row): (usize, &StackRow), actions: &mut Vec<Action>) {
    let dropped = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let handle = ui.add(Label::new(RichText::new("=").font(theme::figures(13.0))).sense(Sense::drag()));
        handle.dnd_set_drag_payload(index);
        handle.named(Role::Button, &format!("Move {}", row.name)).explain("Drag to another place");
        let mut is_on = row.is_on;
        let switch = ui.checkbox(&mut is_on, "").named(Role::CheckBox, &format!("Switch {}", row.name));
        ui.ctx().accesskit_node_builder(switch.id, |node| node.set_toggled(row.is_on.into()));
        switch.explain("Switch the filter on or off").on_click(Action::SwitchLayer(index), actions);
        let color = if row.is_chosen { theme::SELECT } else { theme::STRONG };
        let name = RichText::new(&row.name).font(theme::words(13.0)).color(color);
        let name = ui.add(Label::new(name).selectable(false).sense(Sense::click()));
        name.named(Role::Button, &format!("Choose {}", row.name))
            .valued(|| if row.is_chosen { "chosen".to_owned() } else { String::new() })
            .explain("Choose the filter: keys and sliders belong to it")
            .on_click(Action::ChooseLayer(index), actions);
        line(ui, &row.filter, theme::TEXT);
        ui.with_layout(egui::Layout::right_to_left(Align::Center), |ui| {
            let remove = ui.add(Button::new("\u{d7}").small());
            remove
                .named(Role::Button, &format!("Remove {}", row.name))
                .explain("Remove the filter from the stack")
                .on_click(Action::RemoveLayer(index), actions);
            let ms = row.ms.map_or("\u{2013}".to_owned(), |ms| format!("{} ms", theme::ms(ms)));
            let text = ui.add(Label::new(RichText::new(&ms).font(theme::figures(12.0))));
            describe::number(ui, text.rect, &format!("Time of {}", row.name), &ms);
        });
    });
    if let Some(from) = dropped.response.dnd_release_payload::<usize>().filter(|from| **from != index) {
        actions.push(Action::MoveLayer { from: *from, to: index });
    }
    if let Some(error) = &row.error {
        paragraph(ui, &format!("Skipped: {}", facts::sentences(error)), theme::ERROR);
    } else if let Some(error) = &row.fault {
        let text = format!("The version before the last one runs: {}", facts::sentences(error));
        paragraph(ui, &text, theme::WARN);
    }
}
