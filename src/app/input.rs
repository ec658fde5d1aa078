//! Keys. In: winit's key events. Out: what the user asked for. Letters are logical keys and case matters;
//! digits also work by their physical key, for keyboards on which they need Shift.

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, KeyCode, ModifiersState, NamedKey, PhysicalKey};

use crate::ladders::box_filter::VariantId;
use crate::overlay::{Action, ENTRIES, SWITCHES};

/// What `[` and `]` change the speed by, as in mpv.
const SPEED_STEP: f64 = 1.1;
/// What Ctrl with plus and minus changes the overlay's size by.
const ZOOM_STEP: f32 = 1.1;

/// What a key asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// The same as an action of the overlay.
    Do(Action),
    /// Change the radius by this many pixels.
    RadiusBy(i32),
    /// Play another movie of several: this many further on in their order.
    Movie(isize),
    /// Go this many seconds on in the movie, or back.
    SeekBy {
        /// How far, in seconds.
        seconds: f64,
        /// To that very frame; not so while the key is held.
        exact: bool,
    },
    /// The key of [`Command::SeekBy`] was let go.
    SeekEnd,
    /// Go to a chapter, this many further on; or make the scene so much larger.
    Chapter(isize),
    /// Go to the movie's beginning.
    SeekStart,
    /// Pause, and show the next frame or the one before.
    Step {
        /// The one before.
        back: bool,
    },
    /// Change the speed by this factor; `None`: back to the movie's own.
    Speed(Option<f64>),
    /// Mark the part to repeat: its beginning, its end, none.
    MarkPart,
    /// Repeat the movie or not.
    ToggleLoop,
    /// Go back to the window; nothing where it is one already.
    LeaveFullscreen,
}

/// The command of a key press, if the key has one. A held key repeats only where that makes sense.
pub(crate) fn command(event: &KeyEvent, modifiers: ModifiersState) -> Option<Command> {
    let command =
        if modifiers.intersects(ModifiersState::CONTROL | ModifiersState::ALT | ModifiersState::SUPER) {
            with_modifiers(&event.logical_key, modifiers)?
        } else {
            with_shift(&event.logical_key)
                .filter(|_| modifiers.shift_key())
                .or_else(|| logical(&event.logical_key))
                .or_else(|| by_physical_key(event.physical_key))?
        };
    match (command, event.state) {
        (Command::SeekBy { .. }, ElementState::Released) => Some(Command::SeekEnd),
        (_, ElementState::Released) => None,
        (Command::SeekBy { seconds, .. }, _) => Some(Command::SeekBy { seconds, exact: !event.repeat }),
        (command @ (Command::RadiusBy(_) | Command::Step { .. }), _) => Some(command),
        (command, _) => (!event.repeat).then_some(command),
    }
}

/// Whether Esc was pressed.
pub(crate) fn is_escape(event: &KeyEvent) -> bool {
    event.state == ElementState::Pressed && event.logical_key == Key::Named(NamedKey::Escape)
}

/// Keys together with Ctrl. Other combinations belong to the desktop.
fn with_modifiers(key: &Key, modifiers: ModifiersState) -> Option<Command> {
    let Key::Character(text) = key else { return None };
    match text.as_str() {
        "e" | "E" if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::ExportStats)),
        "o" | "O" if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::AskForMovie)),
        "d" | "D" if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::NextDevice)),
        // Plus needs Shift on many keyboards.
        "+" | "=" if modifiers - ModifiersState::SHIFT == ModifiersState::CONTROL => zoom(ZOOM_STEP),
        "-" if modifiers == ModifiersState::CONTROL => zoom(1.0 / ZOOM_STEP),
        "0" if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::Zoom(None))),
        _ => None,
    }
}

fn zoom(factor: f32) -> Option<Command> {
    Some(Command::Do(Action::Zoom(Some(factor))))
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
                'o' => Some(Command::Do(Action::AskForMovie)),
                'i' => Some(Command::Do(Action::ToggleOverlay)),
                'q' => Some(Command::Do(Action::Quit)),
                '?' => Some(Command::Do(Action::ToggleKeys)),
                's' => Some(Command::Do(Action::SaveFrame)),
                'S' => Some(Command::Do(Action::SaveWindow)),
                '>' => Some(Command::Movie(1)),
                '<' => Some(Command::Movie(-1)),
                '.' => Some(Command::Step { back: false }),
                ',' => Some(Command::Step { back: true }),
                '[' => Some(Command::Speed(Some(1.0 / SPEED_STEP))),
                ']' => Some(Command::Speed(Some(SPEED_STEP))),
                'l' => Some(Command::MarkPart),
                'L' => Some(Command::ToggleLoop),
                'f' => Some(Command::Do(Action::ToggleFullscreen)),
                'v' => Some(Command::Do(Action::NextScene)),
                'w' => Some(Command::Do(Action::ToggleWipe)),
                'x' => Some(Command::Do(Action::SwapSides)),
                'D' => Some(Command::Do(Action::ToggleDifference)),
                key => panel(text).or_else(|| switch(text)).or_else(|| variant(key)),
            }
        }
        Key::Named(NamedKey::F5) => Some(Command::Do(Action::RebuildKernels)),
        Key::Named(NamedKey::F1) => Some(Command::Do(Action::ToggleKeys)),
        Key::Named(NamedKey::Space) => Some(Command::Do(Action::TogglePause)),
        Key::Named(NamedKey::Escape) => Some(Command::LeaveFullscreen),
        Key::Named(NamedKey::ArrowLeft) => seek_by(-5.0),
        Key::Named(NamedKey::ArrowRight) => seek_by(5.0),
        Key::Named(NamedKey::ArrowDown) => seek_by(-60.0),
        Key::Named(NamedKey::ArrowUp) => seek_by(60.0),
        Key::Named(NamedKey::PageUp) => Some(Command::Chapter(1)),
        Key::Named(NamedKey::PageDown) => Some(Command::Chapter(-1)),
        Key::Named(NamedKey::Home) => Some(Command::SeekStart),
        Key::Named(NamedKey::Backspace) => Some(Command::Speed(None)),
        _ => None,
    }
}

/// Keys that do something else together with Shift: small steps, as in mpv.
fn with_shift(key: &Key) -> Option<Command> {
    match key {
        Key::Named(NamedKey::ArrowLeft) => seek_by(-1.0),
        Key::Named(NamedKey::ArrowRight) => seek_by(1.0),
        Key::Named(NamedKey::ArrowDown) => seek_by(-5.0),
        Key::Named(NamedKey::ArrowUp) => seek_by(5.0),
        _ => None,
    }
}

fn seek_by(seconds: f64) -> Option<Command> {
    Some(Command::SeekBy { seconds, exact: true })
}

fn by_physical_key(key: PhysicalKey) -> Option<Command> {
    let digit = match key {
        PhysicalKey::Code(KeyCode::Digit0) => '0',
        PhysicalKey::Code(KeyCode::Digit1) => '1',
        PhysicalKey::Code(KeyCode::Digit2) => '2',
        PhysicalKey::Code(KeyCode::Digit3) => '3',
        PhysicalKey::Code(KeyCode::Digit4) => '4',
        PhysicalKey::Code(KeyCode::Digit5) => '5',
        PhysicalKey::Code(KeyCode::Digit6) => '6',
        PhysicalKey::Code(KeyCode::Digit7) => '7',
        PhysicalKey::Code(KeyCode::Digit8) => '8',
        PhysicalKey::Code(KeyCode::Digit9) => '9',
        _ => return None,
    };
    variant(digit)
}

/// Keys that open and close panels.
fn panel(key: &str) -> Option<Command> {
    let panel = ENTRIES.iter().find(|panel| panel.key.is_some_and(|(own, _)| own == key))?;
    Some(Command::Do(panel.action()))
}

/// Keys of the scopes' switches.
fn switch(key: &str) -> Option<Command> {
    let switch = SWITCHES.into_iter().find(|switch| switch.key.0 == key)?;
    Some(Command::Do(switch.action))
}

fn variant(key: char) -> Option<Command> {
    let id = VariantId::ALL.into_iter().chain([VariantId::Own]).find(|v| v.key() == key)?;
    Some(Command::Do(Action::SetVariant(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_a_letter_choose_the_ladder_in_order() {
        // A key that something else has too would choose that, or the first of both.
        for id in VariantId::ALL {
            let key = Key::Character(id.key().to_string().into());
            assert_eq!(logical(&key), Some(Command::Do(Action::SetVariant(id))));
        }
        let digits = VariantId::ALL.map(VariantId::key).into_iter().filter(char::is_ascii_digit);
        assert!(digits.collect::<String>().starts_with("012345"), "the steps have their numbers");
    }

    #[test]
    fn digits_work_by_physical_key_where_the_layout_hides_them() {
        assert_eq!(logical(&Key::Character("&".into())), None);
        use KeyCode::*;
        let digits = [Digit0, Digit1, Digit2, Digit3, Digit4, Digit5, Digit6, Digit7, Digit8, Digit9];
        let by_digit = VariantId::ALL.into_iter().filter(|id| id.key().is_ascii_digit());
        for (code, id) in digits.into_iter().zip(by_digit) {
            assert_eq!(by_physical_key(PhysicalKey::Code(code)), Some(Command::Do(Action::SetVariant(id))));
        }
    }

    #[test]
    fn the_table_of_keys_has_them_all_and_no_others() {
        let mut bound = Vec::new();
        for c in ' '..='~' {
            let key = Key::Character(c.to_string().into());
            if logical(&key).is_some() {
                bound.push(c.to_string());
            }
            // With Ctrl the letters are small.
            if !c.is_ascii_uppercase() && with_modifiers(&key, ModifiersState::CONTROL).is_some() {
                bound.push(format!("Ctrl+{c}"));
            }
        }
        let named = [
            ("Space", NamedKey::Space),
            ("Escape", NamedKey::Escape),
            ("Tab", NamedKey::Tab),
            ("Backspace", NamedKey::Backspace),
            ("Home", NamedKey::Home),
            ("End", NamedKey::End),
            ("Left", NamedKey::ArrowLeft),
            ("Right", NamedKey::ArrowRight),
            ("Up", NamedKey::ArrowUp),
            ("Down", NamedKey::ArrowDown),
            ("PageUp", NamedKey::PageUp),
            ("PageDown", NamedKey::PageDown),
            ("F1", NamedKey::F1),
            ("F5", NamedKey::F5),
        ];
        for (name, key) in named {
            if logical(&Key::Named(key)).is_some() {
                bound.push(name.to_owned());
            }
            if with_shift(&Key::Named(key)).is_some() {
                bound.push(format!("Shift+{name}"));
            }
        }
        bound.sort();
        let mut told: Vec<_> = crate::overlay::KEYS.iter().flat_map(|k| k.presses.clone()).collect();
        told.sort();
        assert_eq!(told, bound);
    }

    #[test]
    fn case_matters() {
        assert_eq!(logical(&Key::Character("q".into())), Some(Command::Do(Action::Quit)));
        assert_eq!(logical(&Key::Character("Q".into())), None);
    }
}
