//! Keys. In: winit's key events. Out: what the user asked for. Case matters, as Shift makes it; what a key is called
//! on which layout is told in [`characters`].

mod characters;

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, ModifiersState, NamedKey};

use characters::PressedKey;

use box_filter::VariantId;
use overlay::{Action, ENTRIES, SWITCHES};

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
    let command = command_of(&PressedKey::new(event, modifiers.shift_key()), modifiers)?;
    match (command, event.state) {
        (Command::SeekBy { .. }, ElementState::Released) => Some(Command::SeekEnd),
        (_, ElementState::Released) => None,
        (Command::SeekBy { seconds, .. }, _) => Some(Command::SeekBy { seconds, exact: !event.repeat }),
        (command @ (Command::RadiusBy(_) | Command::Step { .. }), _) => Some(command),
        (command, _) => (!event.repeat).then_some(command),
    }
}

/// The command of a key, whether it goes down or up.
fn command_of(key: &PressedKey, modifiers: ModifiersState) -> Option<Command> {
    let is_shortcut =
        modifiers.intersects(ModifiersState::CONTROL | ModifiersState::ALT | ModifiersState::SUPER);
    match key.logical {
        Key::Named(_) if is_shortcut => None,
        Key::Named(name) => with_shift(name).filter(|_| key.is_shifted).or_else(|| named(name)),
        _ if is_shortcut => key.characters().find_map(|c| with_modifiers(c, modifiers)),
        _ => key.characters().find_map(character),
    }
}

/// Whether Esc was pressed.
pub(crate) fn is_escape(event: &KeyEvent) -> bool {
    event.state == ElementState::Pressed && event.logical_key == Key::Named(NamedKey::Escape)
}

/// Keys together with Ctrl. Other combinations belong to the desktop.
fn with_modifiers(key: char, modifiers: ModifiersState) -> Option<Command> {
    match key {
        'e' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::ExportStats)),
        'o' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::AskForMovie)),
        'd' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::NextDevice)),
        // Plus needs Shift on many keyboards.
        '+' | '=' if modifiers - ModifiersState::SHIFT == ModifiersState::CONTROL => zoom(ZOOM_STEP),
        '-' if modifiers == ModifiersState::CONTROL => zoom(1.0 / ZOOM_STEP),
        '0' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::Zoom(None))),
        _ => None,
    }
}

fn zoom(factor: f32) -> Option<Command> {
    Some(Command::Do(Action::Zoom(Some(factor))))
}

fn character(key: char) -> Option<Command> {
    match key {
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
        _ => panel(key).or_else(|| switch(key)).or_else(|| variant(key)),
    }
}

fn named(key: NamedKey) -> Option<Command> {
    match key {
        NamedKey::F5 => Some(Command::Do(Action::RebuildKernels)),
        NamedKey::F1 => Some(Command::Do(Action::ToggleKeys)),
        NamedKey::Space => Some(Command::Do(Action::TogglePause)),
        NamedKey::Escape => Some(Command::LeaveFullscreen),
        NamedKey::ArrowLeft => seek_by(-5.0),
        NamedKey::ArrowRight => seek_by(5.0),
        NamedKey::ArrowDown => seek_by(-60.0),
        NamedKey::ArrowUp => seek_by(60.0),
        NamedKey::PageUp => Some(Command::Chapter(1)),
        NamedKey::PageDown => Some(Command::Chapter(-1)),
        NamedKey::Home => Some(Command::SeekStart),
        NamedKey::Backspace => Some(Command::Speed(None)),
        _ => None,
    }
}

/// Keys that do something else together with Shift: small steps, as in mpv.
fn with_shift(key: NamedKey) -> Option<Command> {
    match key {
        NamedKey::ArrowLeft => seek_by(-1.0),
        NamedKey::ArrowRight => seek_by(1.0),
        NamedKey::ArrowDown => seek_by(-5.0),
        NamedKey::ArrowUp => seek_by(5.0),
        _ => None,
    }
}

fn seek_by(seconds: f64) -> Option<Command> {
    Some(Command::SeekBy { seconds, exact: true })
}

/// Keys that open and close panels.
fn panel(key: char) -> Option<Command> {
    let panel = ENTRIES.iter().find(|panel| panel.key.is_some_and(|(own, _)| own.chars().eq([key])))?;
    Some(Command::Do(panel.action()))
}

/// Keys of the scopes' switches.
fn switch(key: char) -> Option<Command> {
    let switch = SWITCHES.into_iter().find(|switch| switch.key.0.chars().eq([key]))?;
    Some(Command::Do(switch.action))
}

fn variant(key: char) -> Option<Command> {
    let id = VariantId::ALL.into_iter().chain([VariantId::Own]).find(|v| v.key() == key)?;
    Some(Command::Do(Action::SetVariant(id)))
}

#[cfg(test)]
mod tests {
    use winit::keyboard::{KeyCode, PhysicalKey};

    use super::*;

    #[test]
    fn digits_and_a_letter_choose_the_ladder_in_order() {
        // A key that something else has too would choose that, or the first of both.
        for id in VariantId::ALL {
            assert_eq!(character(id.key()), Some(Command::Do(Action::SetVariant(id))));
        }
        let digits = VariantId::ALL.map(VariantId::key).into_iter().filter(char::is_ascii_digit);
        assert!(digits.collect::<String>().starts_with("012345"), "the steps have their numbers");
    }

    #[test]
    fn the_table_of_keys_has_them_all_and_no_others() {
        let mut bound = Vec::new();
        for c in ' '..='~' {
            if character(c).is_some() {
                bound.push(c.to_string());
            }
            if with_modifiers(c, ModifiersState::CONTROL).is_some() {
                bound.push(format!("Ctrl+{c}"));
            }
        }
        let names = [
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
        for (name, key) in names {
            if named(key).is_some() {
                bound.push(name.to_owned());
            }
            if with_shift(key).is_some() {
                bound.push(format!("Shift+{name}"));
            }
        }
        bound.sort();
        let mut told: Vec<_> = overlay::KEYS.iter().flat_map(|k| k.presses.clone()).collect();
        told.sort();
        assert_eq!(told, bound);
    }

    #[test]
    fn case_matters() {
        assert_eq!(character('q'), Some(Command::Do(Action::Quit)));
        assert_eq!(character('Q'), None);
    }

    /// A key with one character on all levels but that of Shift.
    fn key(code: KeyCode, logical: Key, plain: &str, is_shifted: bool) -> PressedKey {
        PressedKey {
            physical: PhysicalKey::Code(code),
            logical,
            plain: Key::Character(plain.into()),
            is_shifted,
        }
    }

    #[test]
    fn keys_of_other_layouts_have_their_commands() {
        let text = |text: &str| Key::Character(text.into());
        let variant = |id| Some(Command::Do(Action::SetVariant(id)));
        let (none, control) = (ModifiersState::empty(), ModifiersState::CONTROL);
        let pause = Some(Command::Do(Action::TogglePause));
        for (code, logical, plain, modifiers, command) in [
            (KeyCode::KeyP, "з", "з", none, pause.clone()),
            (KeyCode::KeyP, "P", "p", none, pause),
            (KeyCode::Digit1, "+", "+", none, variant(VariantId::Naive)),
            (KeyCode::Digit6, "-", "-", none, variant(VariantId::Glsl)),
            (KeyCode::Numpad6, "6", "6", none, variant(VariantId::Glsl)),
            (KeyCode::NumpadSubtract, "-", "-", none, Some(Command::RadiusBy(-1))),
            (KeyCode::BracketRight, "ъ", "ъ", none, Some(Command::Speed(Some(SPEED_STEP)))),
            (KeyCode::KeyD, "в", "в", control, Some(Command::Do(Action::NextDevice))),
            (KeyCode::KeyD, "D", "d", control, Some(Command::Do(Action::NextDevice))),
            // A French keyboard has a minus sign there, and a Czech one a plus sign: digits say nothing beside Ctrl.
            (KeyCode::Digit6, "-", "-", control, zoom(1.0 / ZOOM_STEP)),
            (KeyCode::Digit1, "+", "+", control, zoom(ZOOM_STEP)),
            (KeyCode::Digit0, "à", "à", control, Some(Command::Do(Action::Zoom(None)))),
            (KeyCode::KeyD, "в", "в", ModifiersState::ALT, None),
        ] {
            let key = key(code, text(logical), plain, false);
            assert_eq!(command_of(&key, modifiers), command, "{logical} at {code:?}, {modifiers:?}");
        }
        let shift = ModifiersState::SHIFT;
        assert_eq!(command_of(&key(KeyCode::KeyL, text("Д"), "д", true), shift), Some(Command::ToggleLoop));
        // Without NumLock.
        let home = key(KeyCode::Numpad7, Key::Named(NamedKey::Home), "7", false);
        assert_eq!(command_of(&home, none), Some(Command::SeekStart));
    }
}
