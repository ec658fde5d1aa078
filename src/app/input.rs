//! Keys. In: winit's key events. Out: what the user asked for. Letters are logical keys and case matters;
//! digits also work by their place, for keyboards on which they need Shift.

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, KeyCode, NamedKey, PhysicalKey};

use crate::ladder::VariantId;
use crate::overlay::Action;

/// What a key asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The same as an action of the overlay.
    Do(Action),
    /// Change the radius by this many pixels.
    RadiusBy(i32),
    /// Play another movie of several: this many further on in their order.
    Movie(isize),
    /// Fill the screen, or go back to the window.
    ToggleFullscreen,
    /// Go back to the window; nothing where it is one already.
    LeaveFullscreen,
}

/// The command of a key press, if the key has one. A held key repeats only where that makes sense.
pub fn command(event: &KeyEvent) -> Option<Command> {
    if event.state != ElementState::Pressed {
        return None;
    }
    let command = logical(&event.logical_key).or_else(|| by_place(event.physical_key))?;
    let repeats = matches!(command, Command::RadiusBy(_));
    (repeats || !event.repeat).then_some(command)
}

fn logical(key: &Key) -> Option<Command> {
    match key {
        Key::Character(text) => {
            let mut chars = text.chars();
            let (Some(c), None) = (chars.next(), chars.next()) else { return None };
            match c {
                '-' => Some(Command::RadiusBy(-1)),
                '=' | '+' => Some(Command::RadiusBy(1)),
                'p' => Some(Command::Do(Action::TogglePause)),
                'i' => Some(Command::Do(Action::ToggleOverlay)),
                'q' => Some(Command::Do(Action::Quit)),
                '>' => Some(Command::Movie(1)),
                '<' => Some(Command::Movie(-1)),
                'f' => Some(Command::ToggleFullscreen),
                digit => variant(digit),
            }
        }
        Key::Named(NamedKey::Space) => Some(Command::Do(Action::TogglePause)),
        Key::Named(NamedKey::Escape) => Some(Command::LeaveFullscreen),
        _ => None,
    }
}

fn by_place(key: PhysicalKey) -> Option<Command> {
    let digit = match key {
        PhysicalKey::Code(KeyCode::Digit0) => '0',
        PhysicalKey::Code(KeyCode::Digit1) => '1',
        PhysicalKey::Code(KeyCode::Digit2) => '2',
        PhysicalKey::Code(KeyCode::Digit3) => '3',
        PhysicalKey::Code(KeyCode::Digit4) => '4',
        PhysicalKey::Code(KeyCode::Digit5) => '5',
        _ => return None,
    };
    variant(digit)
}

fn variant(digit: char) -> Option<Command> {
    let id = VariantId::ALL.into_iter().find(|v| v.key() == digit)?;
    Some(Command::Do(Action::SetVariant(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_choose_the_ladder_in_order() {
        for (digit, id) in "012345".chars().zip(VariantId::ALL) {
            let key = Key::Character(digit.to_string().into());
            assert_eq!(logical(&key), Some(Command::Do(Action::SetVariant(id))));
        }
        assert_eq!(logical(&Key::Character("6".into())), None);
    }

    #[test]
    fn digits_work_by_place_where_the_layout_hides_them() {
        assert_eq!(logical(&Key::Character("&".into())), None);
        let first = by_place(PhysicalKey::Code(KeyCode::Digit1));
        assert_eq!(first, Some(Command::Do(Action::SetVariant(VariantId::Naive))));
    }

    #[test]
    fn case_matters() {
        assert_eq!(logical(&Key::Character("q".into())), Some(Command::Do(Action::Quit)));
        assert_eq!(logical(&Key::Character("Q".into())), None);
    }
}
