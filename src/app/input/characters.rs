//! Keyboard layouts: the characters that a key stands for. Commands are bound to the characters of a US keyboard.
//!
//! Letters and signs follow the layout, so that commands are where a Dvorak or a French keyboard has them. If the layout has no
//! Latin letter on a letter key, as in Russian or Greek, the key's character on a US keyboard counts; the same is true of a key
//! whose sign has no command. An unshifted key of the digit row is its digit. CapsLock is ignored: the key's character without
//! modifiers is used, and only Shift makes it a capital letter.

use winit::event::KeyEvent;
use winit::keyboard::{Key, KeyCode, PhysicalKey};
use winit::platform::modifier_supplement::KeyEventExtModifierSupplement as _;

/// A pressed key, and what the keyboard layout says about it.
#[derive(Debug, Clone)]
pub(super) struct PressedKey {
    /// The key's position on the keyboard.
    pub physical: PhysicalKey,
    /// The key's meaning in the layout under the modifiers that are pressed or locked.
    pub logical: Key,
    /// The key's meaning in the layout without modifiers; [`Key::Unidentified`] for a dead key.
    pub plain: Key,
    /// True if Shift is pressed.
    pub is_shifted: bool,
}

impl PressedKey {
    /// Reads the pressed key from an event of the window.
    pub(super) fn new(event: &KeyEvent, is_shifted: bool) -> Self {
        let (physical, logical) = (event.physical_key, event.logical_key.clone());
        Self { physical, logical, plain: event.key_without_modifiers(), is_shifted }
    }

    /// Returns the characters that the key may stand for, in order of preference: the first character that has a command
    /// counts.
    pub(super) fn characters(&self) -> impl Iterator<Item = char> + use<> {
        let us = us_characters(self.physical);
        let is_letter_key = us.is_some_and(|(plain, _)| plain.is_ascii_alphabetic());
        let is_digit_key = us.is_some_and(|(plain, _)| plain.is_ascii_digit());
        let us = us.map(|(plain, shifted)| if self.is_shifted { shifted } else { plain });
        let (logical, plain) = (single(&self.logical), single(&self.plain));
        // Other levels of the layout, such as that of AltGr, have other characters.
        // Case does not count. The small letter of the Turkish `İ` counts as `i`.
        let small = |c: char| c.to_lowercase().next();
        let is_plain = plain.is_some() && logical.and_then(small) == plain.and_then(small);
        let own = match plain {
            Some(plain) if is_plain => {
                // Shift makes it a capital letter, if that is one character.
                let mut upper = plain.to_uppercase();
                let upper = upper.next().filter(|_| self.is_shifted && upper.next().is_none());
                upper.or(Some(plain))
            }
            _ => logical,
        };
        let is_base = is_plain || own.is_none() && plain.is_none();
        let candidates = match own {
            _ if is_letter_key && self.is_foreign(plain) => [us, own],
            Some(c) if c.is_ascii_alphanumeric() => [own, None],
            _ if is_digit_key && !self.is_shifted && is_base => [us, own],
            Some(c) if c.is_alphabetic() && !is_digit_key && !is_of_other_script(c) => [own, None],
            _ if is_letter_key => [own, None],
            _ => [own, us],
        };
        candidates.into_iter().flatten()
    }

    /// Returns true if this is a letter key of a US keyboard to which the keyboard layout assigns no Latin letter: a letter of
    /// another script, or no letter.
    fn is_foreign(&self, plain: Option<char>) -> bool {
        match plain {
            Some(c) => {
                is_of_other_script(c) || SIGNS.iter().any(|(key, sign)| self.physical == *key && c == *sign)
            }
            None => !matches!(self.logical, Key::Dead(_)),
        }
    }
}

/// Keys and signs by which layouts of other scripts (Greek, Hebrew, Bulgarian) are recognised: on these letter keys they have
/// these signs in place of letters. Layouts with Latin letters rarely have them: Dvorak has an apostrophe and a comma. (The
/// Dvorak layouts for one hand and a Brazilian layout have one of these signs on the key Q; that key then means `q`, quit.)
const SIGNS: [(KeyCode, char); 4] =
    [(KeyCode::KeyQ, ';'), (KeyCode::KeyQ, '/'), (KeyCode::KeyQ, ','), (KeyCode::KeyW, '\'')];

/// Returns the character of a key whose text is a single character, otherwise `None`. Returns `i` for the Turkish `ı`, since
/// that is the small letter of `I`.
fn single(key: &Key) -> Option<char> {
    let Key::Character(text) = key else { return None };
    let mut chars = text.chars();
    let only = chars.next().filter(|_| chars.next().is_none())?;
    Some(if only == 'ı' { 'i' } else { only })
}

/// Returns true if the character is a letter or mark of a script other than Latin. Returns false for private-use characters,
/// which some Latin layouts have.
fn is_of_other_script(c: char) -> bool {
    c >= '\u{300}' && !('\u{1e00}'..='\u{1eff}').contains(&c) && !('\u{e000}'..='\u{f8ff}').contains(&c)
}

/// Returns the characters of a key on a US keyboard, without Shift and with it; `None` for a key without characters.
fn us_characters(key: PhysicalKey) -> Option<(char, char)> {
    let PhysicalKey::Code(code) = key else { return None };
    let name = format!("{code:?}");
    if let Some(letter) = name.strip_prefix("Key").and_then(|name| name.chars().next()) {
        return Some((letter.to_ascii_lowercase(), letter));
    }
    if let Some(digit) = name.strip_prefix("Digit").and_then(|name| name.chars().next()) {
        return Some(digit).zip(")!@#$%^&*(".chars().nth(digit.to_digit(10)? as usize));
    }
    Some(match code {
        KeyCode::Minus => ('-', '_'),
        KeyCode::Equal => ('=', '+'),
        KeyCode::BracketLeft => ('[', '{'),
        KeyCode::BracketRight => (']', '}'),
        KeyCode::Backslash => ('\\', '|'),
        KeyCode::Semicolon => (';', ':'),
        KeyCode::Quote => ('\'', '"'),
        KeyCode::Backquote => ('`', '~'),
        KeyCode::Comma => (',', '<'),
        KeyCode::Period => ('.', '>'),
        KeyCode::Slash => ('/', '?'),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use winit::keyboard::NativeKey;

    use super::*;
    use KeyCode::*;

    /// A layout's name, and keys with their character and the characters that they must stand for.
    type Layout<'a> = (&'a str, &'a [(KeyCode, &'a str, &'a str)]);
    /// A layout's name, a flag of the test, and keys with their characters and those that they must stand for.
    type ShiftedLayout<'a> = (&'a str, bool, &'a [(KeyCode, &'a str, &'a str, &'a str)]);

    /// Creates a pressed key of a layout; the text `""` stands for a dead key.
    fn key(code: KeyCode, logical: &str, plain: &str, is_shifted: bool) -> PressedKey {
        let of = |text: &str, none: Key| if text.is_empty() { none } else { Key::Character(text.into()) };
        PressedKey {
            physical: PhysicalKey::Code(code),
            logical: of(logical, Key::Dead(None)),
            plain: of(plain, Key::Unidentified(NativeKey::Unidentified)),
            is_shifted,
        }
    }

    fn characters(key: &PressedKey) -> String {
        key.characters().collect()
    }

    /// Keys of the layouts of X without Shift, and the characters that they must stand for.
    #[test]
    fn each_layout_has_its_letters_its_digits_and_its_signs() {
        let layouts: &[Layout] = &[
            ("us", &[(KeyP, "p", "p"), (Digit6, "6", "6"), (Minus, "-", "--")]),
            ("dvorak", &[(KeyR, "p", "p"), (Quote, "-", "-'"), (KeyQ, "'", "'"), (KeyW, ",", ",")]),
            ("dvorak", &[(KeyE, ".", "."), (KeyZ, ";", ";"), (Minus, "[", "[-")]),
            ("colemak", &[(KeyP, ";", ";")]),
            ("ru", &[(KeyP, "з", "pз"), (KeyQ, "й", "qй"), (BracketLeft, "х", "х["), (Comma, "б", "б,")]),
            ("ru", &[(Slash, ".", "./"), (Digit1, "1", "1")]),
            ("gr", &[(KeyY, "υ", "yυ"), (KeyQ, ";", "q;"), (BracketLeft, "[", "[[")]),
            ("bg", &[(KeyQ, ",", "q,")]),
            ("il", &[(KeyQ, "/", "q/"), (KeyW, "'", "w'"), (KeyP, "פ", "pפ"), (Comma, "ת", "ת,")]),
            ("ar", &[(KeyY, "غ", "yغ")]),
            ("ir", &[(Digit4, "۴", "4۴")]),
            ("th", &[(KeyP, "ย", "pย")]),
            // A vowel sign, which is no letter by itself.
            ("th", &[(KeyU, "\u{e35}", "u\u{e35}"), (Digit3, "-", "3-"), (Digit2, "/", "2/")]),
            ("th", &[(Minus, "ข", "ข-")]),
            ("in", &[(KeyD, "\u{94d}", "d\u{94d}")]),
            ("kz", &[(Digit6, ",", "6,"), (Digit2, "ә", "2ә")]),
            ("jp", &[(BracketRight, "[", "[]")]),
            ("cz", &[(Digit1, "+", "1+"), (Digit2, "ě", "2ě"), (KeyZ, "y", "y"), (Minus, "=", "=-")]),
            ("cz", &[(BracketLeft, "ú", "ú")]),
            ("fr", &[(Digit6, "-", "6-"), (Digit0, "à", "0à"), (KeyQ, "a", "a"), (KeyM, ",", ",")]),
            ("fr", &[(Semicolon, "m", "m"), (Minus, ")", ")-"), (BracketLeft, "", "[")]),
            ("bepo", &[(KeyY, "", ""), (KeyW, "é", "é"), (Digit8, "-", "8-")]),
            ("de", &[(Slash, "-", "-/"), (BracketRight, "+", "+]"), (BracketLeft, "ü", "ü")]),
            ("de", &[(Backquote, "", "`"), (Minus, "ß", "ß")]),
            ("hu", &[(Backquote, "0", "0"), (Digit0, "ö", "0ö")]),
            ("tr", &[(KeyI, "ı", "i"), (Quote, "i", "i")]),
            ("tr f", &[(KeyE, "ğ", "ğ")]),
            ("vn", &[(Digit8, "\u{301}", "8\u{301}")]),
            ("lt", &[(Digit1, "ą", "1ą")]),
            ("numpad", &[(Numpad6, "6", "6")]),
        ];
        for (layout, keys) in layouts {
            for &(code, text, stands_for) in *keys {
                let found = characters(&key(code, text, text, false));
                assert_eq!(found, stands_for, "{layout}: {code:?} {text}");
            }
        }
    }

    #[test]
    fn shift_makes_capital_letters_and_signs_and_what_alt_gr_gives_is_taken_as_it_is() {
        let layouts: &[ShiftedLayout] = &[
            ("us", true, &[(KeyD, "D", "d", "D"), (Slash, "?", "/", "??"), (Digit1, "!", "1", "!!")]),
            ("dvorak", true, &[(KeyH, "D", "d", "D")]),
            ("ru", true, &[(KeyD, "В", "в", "DВ"), (KeyL, "Д", "д", "LД"), (Digit7, "?", "7", "?&")]),
            ("ru", true, &[(Comma, "Б", "б", "Б<"), (Slash, ",", ".", ",?")]),
            ("gr", true, &[(KeyS, "Σ", "σ", "SΣ"), (KeyQ, ":", ";", "Q:")]),
            ("il", true, &[(KeyD, "D", "ג", "DD")]),
            ("ar", true, &[(KeyD, "]", "ي", "D]"), (KeyL, "/", "م", "L/")]),
            ("th", true, &[(KeyM, "?", "ท", "M?")]),
            ("fr", true, &[(Digit6, "6", "-", "6"), (Comma, ".", ";", ".<")]),
            ("cz", true, &[(Digit1, "1", "+", "1")]),
            ("de", true, &[(Digit0, "=", "0", "=)"), (Minus, "?", "ß", "?_")]),
            ("tr", true, &[(Quote, "İ", "i", "I")]),
            // With AltGr, and an old form of the letter s.
            ("de", false, &[(Digit8, "[", "8", "[8"), (KeyQ, "@", "q", "@"), (KeyE, "€", "e", "€")]),
            ("de", false, &[(KeyL, "ł", "l", "ł"), (KeyS, "ſ", "s", "ſ")]),
            ("hu", false, &[(KeyG, "]", "g", "]")]),
            ("cz", false, &[(Comma, "<", ",", "<,")]),
        ];
        for (layout, is_shifted, keys) in layouts {
            for &(code, text, plain, stands_for) in *keys {
                let found = characters(&key(code, text, plain, *is_shifted));
                assert_eq!(found, stands_for, "{layout}: {code:?} {text}");
            }
        }
    }

    #[test]
    fn caps_lock_changes_nothing() {
        let layouts: &[Layout] = &[
            ("us", &[(KeyP, "P", "p"), (KeyS, "S", "s")]),
            ("ru", &[(KeyY, "Н", "н")]),
            ("gr", &[(KeyP, "Π", "π")]),
            // Layouts with Latin letters on some keys only.
            ("il", &[(KeyQ, "Q", "/"), (KeyS, "S", "ד")]),
            ("cz", &[(Digit2, "Ě", "ě")]),
            ("fr", &[(Digit2, "É", "é")]),
            ("bepo", &[(Digit8, "8", "-")]),
            ("tr", &[(Quote, "İ", "i"), (KeyI, "I", "ı")]),
            ("ca multix", &[(Digit1, "!", "1"), (Minus, "_", "-")]),
        ];
        for (layout, keys) in layouts {
            for &(code, locked, plain) in *keys {
                let is_ours =
                    |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-=[],.".contains(*c);
                let first = |logical| key(code, logical, plain, false).characters().find(is_ours);
                assert_eq!(first(locked), first(plain), "{layout}: {code:?}");
            }
        }
        // CapsLock has no effect together with Shift either, although other programs then produce a small letter.
        assert_eq!(characters(&key(KeyD, "d", "d", true)), "D");
        assert_eq!(characters(&key(KeyD, "в", "в", true)), "DВ");
    }

    #[test]
    fn a_letter_key_without_any_character_is_what_it_is_on_a_us_keyboard() {
        let none = || Key::Unidentified(NativeKey::Unidentified);
        let physical = PhysicalKey::Code(KeyB);
        let empty = PressedKey { physical, logical: none(), plain: none(), is_shifted: false };
        assert_eq!(characters(&empty), "b");
        // An Arabic keyboard has two letters on this one.
        let two = PressedKey { logical: Key::Character("لا".into()), ..empty };
        assert_eq!(characters(&two), "b");
    }
}
