//! Mouse input outside the overlay's buttons: clicks on the picture, drags of it, and the wheel.

use egui::{Event, MouseWheelUnit, PointerButton};

use crate::prelude::*;

/// Adds the actions for clicks on the picture and drags of it to `actions`. Call this first: widgets that are laid out later
/// take precedence.
pub(super) fn handle_picture_input(ui: &Ui, actions: &mut Vec<Action>) {
    let response = ui.interact(ui.max_rect(), Id::unique("picture"), Sense::CLICK | Sense::DRAG);
    let all = ui.max_rect();
    let part =
        |at: Pos2| [(at.x - all.left()) / all.width().max(1.0), (at.y - all.top()) / all.height().max(1.0)];
    if response.drag_started_by(PointerButton::Primary) {
        // A drag starts after the mouse has moved away from where it was pressed.
        let origin = ui.input(|i| i.pointer.press_origin()).or(response.interact_pointer_pos());
        actions.extend(origin.map(|at| Action::StartDrag(part(at))));
    }
    if response.dragged_by(PointerButton::Primary)
        && response.drag_delta() != Vec2::ZERO
        && let Some(at) = response.interact_pointer_pos()
    {
        let by = response.drag_delta() / all.height().max(1.0);
        actions.push(Action::Drag { by: by.into(), at: part(at) });
    }
    if response.drag_stopped_by(PointerButton::Primary) {
        actions.push(Action::EndDrag);
    }
    if response.double_clicked() {
        actions.push(Action::ToggleFullscreen);
    }
    if response.secondary_clicked() {
        actions.push(Action::TogglePause);
    }
}

/// Returns the number of whole steps by which the wheel was turned over `rect`, the place of `name`, since the last pass (layout
/// of the overlay). Positive is up, away from the user.
pub(super) fn wheel_steps(ui: &Ui, rect: Rect, name: &str) -> i32 {
    let over = ui.interact(rect, ui.unique_id().with(("wheel", name)), Sense::hover());
    let turned = |event: &Event| match event {
        // The distance in points scrolled on a touch pad that counts as one step of a mouse wheel.
        Event::MouseWheel { unit: MouseWheelUnit::Point, delta, .. } => delta.y / 40.0,
        Event::MouseWheel { delta, .. } => delta.y,
        _ => 0.0,
    };
    let steps: f32 = match over.contains_pointer() {
        true => ui.input(|i| i.events.iter().map(turned).sum()),
        false => return 0,
    };
    ui.data_mut(|data| {
        let rest: &mut f32 = data.get_temp_mut_or_default(over.id);
        let sum = if steps.is_finite() { *rest + steps } else { 0.0 };
        *rest = sum.fract();
        sum.trunc() as i32
    })
}
