//! Keyboard commands. Upper and lower case differ, as with Shift; [`characters`] maps keyboard layouts to characters.

mod characters;

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, ModifiersState, NamedKey};

use characters::PressedKey;

use box_filter::VariantId;
use overlay::{Action, ENTRIES, SWITCHES};

/// The factor by which `[` and `]` change the speed, as in mpv.
const SPEED_STEP: f64 = 1.1;
/// The step of the keys for the volume, in percent.
const VOLUME_STEP: i32 = 5;
/// The factor by which Ctrl with plus and minus changes the overlay's size.
const ZOOM_STEP: f32 = 1.1;

/// The command that a key gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// An action that can also be chosen in the overlay.
    Do(Action),
    /// Change the radius by this many pixels.
    RadiusBy(i32),
    /// Play the movie this many places later in the list.
    Movie(isize),
    /// Seek by this many seconds.
    SeekBy {
        /// The distance in seconds; negative: back.
        seconds: f64,
        /// True for the exact frame; false while the key is held.
        exact: bool,
    },
    /// Stop seeking: the key of [`Command::SeekBy`] was released.
    SeekEnd,
    /// Seek by this many chapters, or change the size of a scene that has sizes by this many steps.
    Chapter(isize),
    /// Seek to the movie's beginning.
    SeekStart,
    /// Pause, and show the next frame or the previous one.
    Step {
        /// True for the previous frame.
        back: bool,
    },
    /// Change the speed by this factor; `None` restores the movie's own speed.
    Speed(Option<f64>),
    /// Mark the beginning of the section to repeat, then its end, then remove both marks.
    MarkPart,
    /// Switch repeating of the movie on or off.
    ToggleLoop,
    /// In the talk: select the variant this many places later on the ladder.
    Variant(isize),
    /// Close what is open over the picture, or leave fullscreen mode; does nothing in a window.
    LeaveFullscreen,
}

/// Returns the command of a key event, if the key has one; during the talk, if `talks`, some keys have other commands. While a key
/// is held, only commands for which that makes sense are repeated.
pub(crate) fn command(event: &KeyEvent, modifiers: ModifiersState, talks: bool) -> Option<Command> {
    let command = command_of(&PressedKey::new(event, modifiers.shift_key()), modifiers, talks)?;
    match (command, event.state) {
        (Command::SeekBy { .. }, ElementState::Released) => Some(Command::SeekEnd),
        (_, ElementState::Released) => None,
        (Command::SeekBy { seconds, .. }, _) => Some(Command::SeekBy { seconds, exact: !event.repeat }),
        (
            command @ (Command::RadiusBy(_) | Command::Step { .. } | Command::Do(Action::ChangeVolume(_))),
            _,
        ) => Some(command),
        (command, _) => (!event.repeat).then_some(command),
    }
}

/// Returns the command of a key, pressed or released.
fn command_of(key: &PressedKey, modifiers: ModifiersState, talks: bool) -> Option<Command> {
    let is_shortcut =
        modifiers.intersects(ModifiersState::CONTROL | ModifiersState::ALT | ModifiersState::SUPER);
    match key.logical {
        Key::Named(_) if is_shortcut => None,
        Key::Named(name) => {
            let shifted = shift_command(name).filter(|_| key.is_shifted);
            shifted.or_else(|| talk_command(name).filter(|_| talks)).or_else(|| named_key(name))
        }
        _ if is_shortcut => key.characters().find_map(|c| ctrl_command(c, modifiers)),
        _ => key.characters().find_map(character_key),
    }
}

/// Returns true if Esc was pressed.
pub(crate) fn is_escape(event: &KeyEvent) -> bool {
    event.state == ElementState::Pressed && event.logical_key == Key::Named(NamedKey::Escape)
}

/// Returns the command of a key pressed together with Ctrl. Combinations with other modifiers belong to the desktop.
fn ctrl_command(key: char, modifiers: ModifiersState) -> Option<Command> {
    match key {
        'e' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::ExportStats)),
        'r' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::SaveRun)),
        'o' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::AskForMovie)),
        'd' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::NextDevice)),
        // Plus needs Shift on many keyboards.
        '+' | '=' if modifiers - ModifiersState::SHIFT == ModifiersState::CONTROL => zoom_command(ZOOM_STEP),
        '-' if modifiers == ModifiersState::CONTROL => zoom_command(1.0 / ZOOM_STEP),
        '0' if modifiers == ModifiersState::CONTROL => Some(Command::Do(Action::Zoom(None))),
        _ => None,
    }
}

/// Returns the command that multiplies the overlay's size by this factor.
fn zoom_command(factor: f32) -> Option<Command> {
    Some(Command::Do(Action::Zoom(Some(factor))))
}

/// Returns the command of a key with this character, pressed without Ctrl.
fn character_key(key: char) -> Option<Command> {
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
        'm' => Some(Command::Do(Action::ToggleMute)),
        '/' => Some(Command::Do(Action::ChangeVolume(-VOLUME_STEP))),
        '*' => Some(Command::Do(Action::ChangeVolume(VOLUME_STEP))),
        '#' => Some(Command::Do(Action::NextTrack)),
        'l' => Some(Command::MarkPart),
        'L' => Some(Command::ToggleLoop),
        'f' => Some(Command::Do(Action::ToggleFullscreen)),
        'v' => Some(Command::Do(Action::NextScene)),
        'w' => Some(Command::Do(Action::ToggleWipe)),
        'x' => Some(Command::Do(Action::SwapSides)),
        'D' => Some(Command::Do(Action::ToggleDifference)),
        _ => panel_command(key).or_else(|| scope_switch_command(key)).or_else(|| variant_command(key)),
    }
}

/// Returns the command of a key without a character, such as an arrow key.
fn named_key(key: NamedKey) -> Option<Command> {
    match key {
        NamedKey::F5 => Some(Command::Do(Action::RebuildKernels)),
        NamedKey::F6 => Some(Command::Do(Action::ToggleTalk)),
        NamedKey::F1 => Some(Command::Do(Action::ToggleKeys)),
        NamedKey::Space => Some(Command::Do(Action::TogglePause)),
        NamedKey::Escape => Some(Command::LeaveFullscreen),
        NamedKey::ArrowLeft => seek_by_command(-5.0),
        NamedKey::ArrowRight => seek_by_command(5.0),
        NamedKey::ArrowDown => seek_by_command(-60.0),
        NamedKey::ArrowUp => seek_by_command(60.0),
        NamedKey::PageUp => Some(Command::Chapter(1)),
        NamedKey::PageDown => Some(Command::Chapter(-1)),
        NamedKey::Home => Some(Command::SeekStart),
        NamedKey::Backspace => Some(Command::Speed(None)),
        _ => None,
    }
}

/// Returns the command of a key during the talk, if it has another one than otherwise. The remote controls of lecturers send
/// PageUp and PageDown.
fn talk_command(key: NamedKey) -> Option<Command> {
    match key {
        NamedKey::ArrowRight | NamedKey::ArrowDown | NamedKey::PageDown => Some(Command::Variant(1)),
        NamedKey::ArrowLeft | NamedKey::ArrowUp | NamedKey::PageUp => Some(Command::Variant(-1)),
        NamedKey::Home => Some(Command::Variant(isize::MIN)),
        NamedKey::End => Some(Command::Variant(isize::MAX)),
        _ => None,
    }
}

/// Returns the command of a key that is pressed together with Shift, if the command differs from that of the key alone: smaller
/// steps, as in mpv.
fn shift_command(key: NamedKey) -> Option<Command> {
    match key {
        NamedKey::ArrowLeft => seek_by_command(-1.0),
        NamedKey::ArrowRight => seek_by_command(1.0),
        NamedKey::ArrowDown => seek_by_command(-5.0),
        NamedKey::ArrowUp => seek_by_command(5.0),
        _ => None,
    }
}

/// Returns the command that seeks by this many seconds, to the exact frame.
fn seek_by_command(seconds: f64) -> Option<Command> {
    Some(Command::SeekBy { seconds, exact: true })
}

/// Returns the command of a key that opens and closes a panel of the overlay.
fn panel_command(key: char) -> Option<Command> {
    let panel = ENTRIES.iter().find(|panel| panel.key.is_some_and(|(own, _)| own.chars().eq([key])))?;
    Some(Command::Do(panel.action()))
}

/// Returns the command of a key that switches a display of the scopes on or off.
fn scope_switch_command(key: char) -> Option<Command> {
    let switch = SWITCHES.into_iter().find(|switch| switch.key.0.chars().eq([key]))?;
    Some(Command::Do(switch.action))
}

/// Returns the command that chooses the variant with this key.
fn variant_command(key: char) -> Option<Command> {
    let id = VariantId::WITH_OWN.into_iter().find(|v| v.key() == key)?;
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
            assert_eq!(character_key(id.key()), Some(Command::Do(Action::SetVariant(id))));
        }
        let digits = VariantId::ALL.map(VariantId::key).into_iter().filter(char::is_ascii_digit);
        assert!(digits.collect::<String>().starts_with("012345"), "the steps have their numbers");
    }

    #[test]
    fn the_table_of_keys_has_them_all_and_no_others() {
        let mut bound = Vec::new();
        for c in ' '..='~' {
            if character_key(c).is_some() {
                bound.push(c.to_string());
            }
            if ctrl_command(c, ModifiersState::CONTROL).is_some() {
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
            ("F6", NamedKey::F6),
        ];
        for (name, key) in names {
            if named_key(key).is_some() {
                bound.push(name.to_owned());
            }
            if shift_command(key).is_some() {
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
        assert_eq!(character_key('q'), Some(Command::Do(Action::Quit)));
        assert_eq!(character_key('Q'), None);
    }

    /// Returns a pressed key whose character is `plain` at all levels of the layout except that of Shift.
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
            (KeyCode::Digit6, "-", "-", control, zoom_command(1.0 / ZOOM_STEP)),
            (KeyCode::Digit1, "+", "+", control, zoom_command(ZOOM_STEP)),
            (KeyCode::Digit0, "à", "à", control, Some(Command::Do(Action::Zoom(None)))),
            (KeyCode::KeyD, "в", "в", ModifiersState::ALT, None),
        ] {
            let key = key(code, text(logical), plain, false);
            assert_eq!(command_of(&key, modifiers, false), command, "{logical} at {code:?}, {modifiers:?}");
        }
        let shift = ModifiersState::SHIFT;
        let loops = key(KeyCode::KeyL, text("Д"), "д", true);
        assert_eq!(command_of(&loops, shift, false), Some(Command::ToggleLoop));
        // Without NumLock.
        let home = key(KeyCode::Numpad7, Key::Named(NamedKey::Home), "7", false);
        assert_eq!(command_of(&home, none, false), Some(Command::SeekStart));
    }

    #[test]
    fn arrows_and_remote_controls_go_on_in_the_talk() {
        let command = |name, is_shifted, talks| {
            let modifiers = if is_shifted { ModifiersState::SHIFT } else { ModifiersState::empty() };
            let key = PressedKey {
                physical: PhysicalKey::Code(KeyCode::F24),
                logical: Key::Named(name),
                plain: Key::Named(name),
                is_shifted,
            };
            command_of(&key, modifiers, talks)
        };
        for (name, places) in [
            (NamedKey::ArrowRight, 1),
            (NamedKey::PageDown, 1),
            (NamedKey::ArrowLeft, -1),
            (NamedKey::PageUp, -1),
            (NamedKey::Home, isize::MIN),
            (NamedKey::End, isize::MAX),
        ] {
            assert_eq!(command(name, false, true), Some(Command::Variant(places)), "{name:?}");
            assert_ne!(command(name, false, false), Some(Command::Variant(places)), "{name:?}");
        }
        assert_eq!(command(NamedKey::ArrowRight, true, true), seek_by_command(1.0), "Shift seeks");
        assert_eq!(command(NamedKey::Space, false, true), Some(Command::Do(Action::TogglePause)));
    }
}
