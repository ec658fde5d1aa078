//! Keyboard input: finds the actions of pressed keys in [`overlay::BINDINGS`]. Upper and lower case differ, as with Shift;
//! [`characters`] maps keyboard layouts to characters.

mod characters;

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, ModifiersState};

use characters::PressedKey;

use overlay::Action;

/// Returns the action of a key event; `None` if the key has none. If `talks` is true, the presentation view (the talk) is
/// shown, in which some keys have other actions. While a key is held, only actions that make sense as repetitions are returned
/// again.
pub(crate) fn action(event: &KeyEvent, modifiers: ModifiersState, talks: bool) -> Option<Action> {
    let action = action_of(&PressedKey::new(event, modifiers.shift_key()), modifiers, talks)?;
    match (action, event.state) {
        (Action::SeekBy { .. }, ElementState::Released) => Some(Action::EndSeek),
        (_, ElementState::Released) => None,
        (Action::SeekBy { seconds, .. }, _) => Some(Action::SeekBy { seconds, exact: !event.repeat }),
        (action, _) => (!event.repeat || action.repeats()).then_some(action),
    }
}

/// Returns the action of a key; `None` if the key has none. If `talks` is true, the keys of the presentation view count.
fn action_of(key: &PressedKey, modifiers: ModifiersState, talks: bool) -> Option<Action> {
    let is_shortcut =
        modifiers.intersects(ModifiersState::CONTROL | ModifiersState::ALT | ModifiersState::SUPER);
    match key.logical {
        Key::Named(_) if is_shortcut => None,
        Key::Named(name) => {
            let name = format!("{name:?}");
            let name = name.trim_start_matches("Arrow");
            let shifted = key.is_shifted.then(|| overlay::action_of(&format!("Shift+{name}"), talks));
            shifted.flatten().or_else(|| overlay::action_of(name, talks))
        }
        _ if is_shortcut => key.characters().find_map(|c| {
            // On many keyboards, a plus sign needs Shift. Combinations with other modifiers are left to the desktop.
            let ignored =
                if matches!(c, '+' | '=') { ModifiersState::SHIFT } else { ModifiersState::empty() };
            let is_control = modifiers - ignored == ModifiersState::CONTROL;
            is_control.then(|| overlay::action_of(&format!("Ctrl+{c}"), false)).flatten()
        }),
        _ => key.characters().find_map(|c| overlay::action_of(&c.to_string(), talks)),
    }
}

#[cfg(test)]
mod tests {
    use box_filter::named;
    use winit::keyboard::{KeyCode, NamedKey, PhysicalKey};

    use super::*;

    #[test]
    fn every_key_has_one_action() {
        for talk in [false, true] {
            let rows = overlay::BINDINGS.iter().filter(|row| row.talk == talk);
            let mut keys: Vec<&str> =
                rows.flat_map(|row| &row.presses).map(|(press, _)| press.as_str()).collect();
            assert!(keys.len() >= 8);
            keys.sort_unstable();
            assert!(keys.windows(2).all(|two| two[0] != two[1]), "{keys:?}");
        }
        let digits: String =
            box_filter::VariantId::all().map(|id| id.key).filter(char::is_ascii_digit).collect();
        assert!(digits.starts_with("012345"), "{digits}");
        assert_eq!(overlay::action_of("Q", false), None);
    }

    /// Creates a pressed key. `plain` is the key's character without modifiers.
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
        let variant = |id| Some(Action::SetVariant(id));
        let (none, control) = (ModifiersState::empty(), ModifiersState::CONTROL);
        let pause = Some(Action::TogglePause);
        for (code, logical, plain, modifiers, action) in [
            (KeyCode::KeyP, "з", "з", none, pause.clone()),
            (KeyCode::KeyP, "P", "p", none, pause),
            (KeyCode::Digit1, "+", "+", none, variant(named("naive"))),
            (KeyCode::Digit6, "-", "-", none, variant(named("glsl"))),
            (KeyCode::Numpad6, "6", "6", none, variant(named("glsl"))),
            (KeyCode::NumpadSubtract, "-", "-", none, Some(Action::ChangeSettings(-1))),
            (KeyCode::BracketRight, "ъ", "ъ", none, Some(Action::ChangeSpeed(Some(1.1)))),
            (KeyCode::KeyD, "в", "в", control, Some(Action::NextDevice)),
            (KeyCode::KeyD, "D", "d", control, Some(Action::NextDevice)),
            // With Ctrl, digits have no commands, so the sign counts: minus on a French keyboard, plus on a Czech one.
            (KeyCode::Digit6, "-", "-", control, Some(Action::Zoom(Some(1.0 / 1.1)))),
            (KeyCode::Digit1, "+", "+", control, Some(Action::Zoom(Some(1.1)))),
            (KeyCode::Digit0, "à", "à", control, Some(Action::Zoom(None))),
            (KeyCode::KeyD, "в", "в", ModifiersState::ALT, None),
        ] {
            let key = key(code, text(logical), plain, false);
            assert_eq!(action_of(&key, modifiers, false), action, "{logical} at {code:?}, {modifiers:?}");
        }
        let shift = ModifiersState::SHIFT;
        let loops = key(KeyCode::KeyL, text("Д"), "д", true);
        assert_eq!(action_of(&loops, shift, false), Some(Action::ToggleLoop));
        // Without NumLock.
        let home = key(KeyCode::Numpad7, Key::Named(NamedKey::Home), "7", false);
        assert_eq!(action_of(&home, none, false), Some(Action::SeekStart));
    }

    #[test]
    fn arrows_and_remote_controls_go_on_in_the_talk() {
        let action = |name, is_shifted, talks| {
            let modifiers = if is_shifted { ModifiersState::SHIFT } else { ModifiersState::empty() };
            action_of(&key(KeyCode::F24, Key::Named(name), "", is_shifted), modifiers, talks)
        };
        for (name, places) in [
            (NamedKey::ArrowRight, 1),
            (NamedKey::PageDown, 1),
            (NamedKey::ArrowLeft, -1),
            (NamedKey::PageUp, -1),
            (NamedKey::Home, isize::MIN),
            (NamedKey::End, isize::MAX),
        ] {
            assert_eq!(action(name, false, true), Some(Action::ChangeVariant(places)), "{name:?}");
            assert_ne!(action(name, false, false), Some(Action::ChangeVariant(places)), "{name:?}");
        }
        let seek = Action::SeekBy { seconds: 1.0, exact: true };
        assert_eq!(action(NamedKey::ArrowRight, true, true), Some(seek), "Shift seeks");
        assert_eq!(action(NamedKey::Space, false, true), Some(Action::TogglePause));
    }
}
