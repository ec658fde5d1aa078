//! The mouse where there is no button: its clicks on the picture, and its wheel over what it changes.

use egui::{Event, Id, MouseWheelUnit, PointerButton, Response, Sense, Ui, Vec2};

use super::Action;

/// Points of a touch pad that count as a step of a wheel.
const STEP: f32 = 40.0;

/// Clicks on the picture, and drags of it: what is laid out later lies over it.
pub(super) fn picture(ui: &Ui, actions: &mut Vec<Action>) {
    let response = ui.interact(ui.max_rect(), Id::unique("picture"), Sense::click_and_drag());
    if response.dragged_by(PointerButton::Primary) && response.drag_delta() != Vec2::ZERO {
        let by = response.drag_delta() / ui.max_rect().height().max(1.0);
        actions.push(Action::Drag(by.into()));
    }
    if response.double_clicked() {
        actions.push(Action::ToggleFullscreen);
    }
    if response.secondary_clicked() {
        actions.push(Action::TogglePause);
    }
}

/// Whole steps that the wheel was turned by over this since the last pass; up, away from the user, is positive.
pub(super) fn wheel(ui: &Ui, over: &Response) -> i32 {
    let turned = |event: &Event| match event {
        Event::MouseWheel { unit: MouseWheelUnit::Point, delta, .. } => delta.y / STEP,
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
