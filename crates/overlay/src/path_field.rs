//! The field for a movie's path. In: what is typed. Out: the wish to open it.

use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Id, Key, Rect, TextEdit, Ui, vec2};

use super::{Action, panel, theme};
use base::text::escaped;

const SIZE: egui::Vec2 = vec2(560.0, 114.0);
/// So many names to choose from are shown.
const NAMES: usize = 12;

/// The field's state while it is open.
#[derive(Debug, Default)]
pub(crate) struct PathField {
    text: String,
    /// What Tab could not choose from.
    names: String,
    /// The cursor goes to the end of the text.
    to_end: bool,
    /// Its first pass is over.
    ready: bool,
}

impl PathField {
    /// A field with what was typed the last time.
    pub(crate) fn new(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// What stands in it.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The field's name in egui, which keeps the focus for it.
    pub(crate) fn id() -> Id {
        Id::unique("path-field")
    }

    /// Takes what `typed` becomes, and the names to choose from, unless something else stands there by now.
    pub(crate) fn complete(&mut self, typed: &str, text: String, names: &[String]) {
        if self.text != typed {
            return;
        }
        let completed = text != typed;
        (self.text, self.to_end) = (text, true);
        let shown = names.iter().take(NAMES).map(|name| escaped(name)).collect::<Vec<_>>().join("   ");
        self.names = match names.len() {
            0 if !completed => "No file begins so".to_owned(),
            0 | 1 => String::new(),
            n if n > NAMES => format!("{n} files: {shown} \u{2026}"),
            _ => shown,
        };
    }

    /// Lays the field out in the middle of `window`; whether it stays open.
    pub(crate) fn show(&mut self, ui: &mut Ui, window: Rect, actions: &mut Vec<Action>) -> bool {
        let size = SIZE.min(window.size());
        let rect = Rect::from_center_size(window.center(), size);
        let mut ui = panel::over(ui, rect, "path");
        ui.label(egui::RichText::new("Open a movie").font(theme::words(14.0)).color(theme::STRONG));

        let first = !std::mem::replace(&mut self.ready, true);
        let tab = ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, Key::Tab));
        if tab {
            actions.push(Action::Complete(self.text.clone()));
        }
        let (enter, escape) = ui.input(|i| (i.key_pressed(Key::Enter), i.key_pressed(Key::Escape)));
        // Whatever else is clicked: the keys stay here.
        ui.memory_mut(|memory| {
            if !memory.has_focus(Self::id()) {
                memory.request_focus(Self::id());
            }
        });
        if first || std::mem::take(&mut self.to_end) {
            // What is typed takes the place of what was typed the last time.
            let mut state = TextEditState::load(&ui, Self::id()).unwrap_or_default();
            let end = CCursor::new(self.text.chars().count());
            let range = if first { CCursorRange::two(CCursor::new(0), end) } else { CCursorRange::one(end) };
            state.cursor.set_char_range(Some(range));
            state.store(&ui, Self::id());
        }
        let field = TextEdit::singleline(&mut self.text)
            .id(Self::id())
            // Tab completes, and does not lead to the buttons.
            .lock_focus(true)
            .desired_width(f32::INFINITY)
            .hint_text("/home/me/movie.mp4, ~/movie.mp4 or a path from here");
        let selection = &mut ui.visuals_mut().selection;
        (selection.stroke.color, selection.bg_fill) = theme::SELECTED;
        if field.show(&mut ui).response.changed() {
            self.names.clear();
        }
        let names = if self.names.is_empty() { "Tab completes" } else { &self.names };
        let names = egui::RichText::new(names).font(theme::words(12.0)).color(theme::WEAK);
        ui.add(egui::Label::new(names).truncate());
        let (mut open, mut close) = (enter, escape);
        ui.horizontal(|ui| {
            open |= ui.button("Open").on_hover_text("Enter").clicked();
            close |= ui.button("Cancel").on_hover_text("Esc").clicked();
        });
        if close {
            return false;
        }
        if open && !self.text.trim().is_empty() {
            actions.push(Action::Open(self.text.clone()));
        }
        !open
    }
}
