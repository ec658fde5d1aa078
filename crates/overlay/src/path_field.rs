//! The field in which the user types a movie's path.

use base::text::escaped;
use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Key, TextEdit};

use crate::panel;
use crate::prelude::*;

/// The greatest number of completions that the field lists.
const MAX_NAMES: usize = 12;

/// The prompt for a movie's path: a field into which the user types the path.
#[derive(Debug, Default)]
pub struct PathPrompt {
    is_open: bool,
    /// The text in the field; while the field is closed, the text that was last typed into it.
    text: String,
    /// The file names with which the typed path can continue, joined to one text, or the reason why there are none.
    names: String,
    /// True if the next pass must move the cursor to the end of the text.
    to_end: bool,
    /// True once the field was laid out since it was opened.
    ready: bool,
}

impl PathPrompt {
    /// Opens the field, even while the overlay is hidden.
    pub fn open(&mut self) {
        if !self.is_open {
            *self = Self { is_open: true, text: std::mem::take(&mut self.text), ..Self::default() };
        }
    }

    /// Closes the field and keeps its text for the next time.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// Returns true if the field is open; it then gets all keys.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Replaces the typed text by its completion `text`, and lists `names`, the file names with which the path can continue.
    /// Does nothing if the text in the field is no longer `typed`.
    pub fn complete(&mut self, typed: &str, text: String, names: &[String]) {
        if !self.is_open || self.text != typed {
            return;
        }
        let shown = names.iter().take(MAX_NAMES).map(|name| escaped(name)).collect::<Vec<_>>().join("   ");
        self.names = match names.len() {
            0 if text == typed => "No matching file".to_owned(),
            0 | 1 => String::new(),
            n if n > MAX_NAMES => format!("{n} files: {shown} \u{2026}"),
            _ => shown,
        };
        (self.text, self.to_end) = (text, true);
    }

    /// Returns egui's identifier of the field, by which the overlay lets the field keep the keyboard focus.
    pub(crate) fn id() -> Id {
        Id::unique("path-field")
    }

    /// Lays the field out in the middle of `window` if it is open, in larger type if `large` is true.
    pub(crate) fn show(&mut self, ui: &mut Ui, window: Rect, large: bool, pass: &mut Pass) {
        if !self.is_open {
            return;
        }
        // The size of the field's box in points.
        let scale = if large { 1.6 } else { 1.0 };
        let size = (vec2(560.0, 114.0) * scale).min(window.size());
        let rect = Rect::from_center_size(window.center(), size);
        let mut ui = panel::ground_with(ui, rect, "path", (theme::PANEL.to_opaque(), theme::PAD));
        ui.label(RichText::new("Open a movie").font(theme::words(14.0 * scale)).color(theme::STRONG));

        let first = !std::mem::replace(&mut self.ready, true);
        let tab = ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, Key::Tab));
        if tab {
            pass.actions.push(Action::Complete(self.text.clone()));
        }
        let (enter, escape) = ui.input(|i| (i.key_pressed(Key::Enter), i.key_pressed(Key::Escape)));
        // The field keeps the keys whatever else is clicked.
        ui.memory_mut(|memory| {
            if !memory.has_focus(Self::id()) {
                memory.request_focus(Self::id());
            }
        });
        if first || std::mem::take(&mut self.to_end) {
            // The text that was typed last time is selected, so that typing replaces it.
            let mut state = TextEditState::load(&ui, Self::id()).unwrap_or_default();
            let end = CCursor::new(self.text.chars().count());
            let range = if first { CCursorRange::two(CCursor::new(0), end) } else { CCursorRange::one(end) };
            state.cursor.set_char_range(Some(range));
            state.store(&ui, Self::id());
        }
        let field = TextEdit::singleline(&mut self.text)
            .id(Self::id())
            // Tab completes and does not move the focus to the buttons.
            .lock_focus(true)
            .font(theme::words(12.5 * scale))
            .desired_width(f32::INFINITY)
            .hint_text(
                RichText::new("/home/me/movie.mp4, ~/movie.mp4 or a relative path").size(12.5 * scale),
            );
        let selection = &mut ui.visuals_mut().selection;
        (selection.stroke.color, selection.bg_fill) = theme::SELECTED_TEXT_COLORS;
        let field = field.show(&mut ui).response.response.clone();
        if field.named(Role::TextInput, "Path of the movie").changed() {
            self.names.clear();
        }
        let names = match (self.names.as_str(), pass.lacks_drops) {
            ("", false) => "Tab completes",
            ("", true) => {
                "Tab completes. Files cannot be dropped on the window on Wayland; copy and paste one instead."
            }
            (names, _) => names,
        };
        let names = RichText::new(names).font(theme::words(12.0 * scale)).color(theme::WEAK);
        ui.add(Label::new(names).truncate());
        let (mut open, mut close) = (enter, escape);
        ui.horizontal(|ui| {
            open |= ui.button(RichText::new("Open").size(12.5 * scale)).explain("Enter").clicked();
            close |= ui.button(RichText::new("Cancel").size(12.5 * scale)).explain("Esc").clicked();
        });
        if open && !close && !self.text.trim().is_empty() {
            pass.actions.push(Action::Open(self.text.clone()));
        }
        if open || close {
            self.close();
            ui.request_repaint();
        }
    }
}
