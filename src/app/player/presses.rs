//! Splitting of egui's events if a mouse button is pressed and released between two redraws. egui ignores a click on a slider
//! or seek bar whose press and release are in one pass, which happens where drawing takes long.

use egui::Event;

/// Delays quick clicks, so that egui sees press and release of a mouse button in different passes. If `events` contain a press
/// and the release of the same button, removes the release and all later events from `events`, and returns them for the next
/// pass; returns nothing otherwise.
pub(super) fn hold_back(events: &mut Vec<Event>) -> Vec<Event> {
    let mut down = Vec::new();
    let at = events.iter().position(|event| match event {
        Event::PointerButton { button, pressed: true, .. } => {
            down.push(*button);
            false
        }
        Event::PointerButton { button, pressed: false, .. } => down.contains(button),
        _ => false,
    });
    at.map_or_else(Vec::new, |at| events.split_off(at))
}

#[cfg(test)]
mod tests {
    use egui::{Modifiers, PointerButton, pos2};

    use super::*;

    fn button(button: PointerButton, pressed: bool) -> Event {
        Event::PointerButton { pos: pos2(1.0, 2.0), button, pressed, modifiers: Modifiers::NONE }
    }

    #[test]
    fn a_release_comes_a_pass_after_its_press() {
        let (left, right) = (PointerButton::Primary, PointerButton::Secondary);
        let moved = Event::PointerMoved(pos2(3.0, 4.0));
        // The release of a button that was pressed before, then two clicks.
        let mut events = vec![
            button(left, false),
            button(left, true),
            button(right, false),
            moved.clone(),
            button(left, false),
            button(left, true),
            button(left, false),
        ];
        let all = events.clone();
        let mut passes = Vec::new();
        while !events.is_empty() {
            let later = hold_back(&mut events);
            passes.push(std::mem::replace(&mut events, later));
        }
        assert_eq!(passes, [all[..4].to_vec(), all[4..6].to_vec(), all[6..].to_vec()]);
        let mut none = vec![moved];
        assert!(hold_back(&mut none).is_empty() && none.len() == 1);
    }
}
