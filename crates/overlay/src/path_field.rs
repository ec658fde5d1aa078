//! The field in which the user types the path of a movie or of a saved run, and the list of files below it.

use std::path::PathBuf;

use base::text::escaped;
use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Key, Layout, TextEdit};

use crate::panel;
use crate::prelude::*;

/// The greatest number of movies that are remembered as opened.
pub const MAX_RECENT_FILES: usize = 8;
/// The greatest number of files that the list shows; typing the beginning of a name shortens it.
const MAX_ROWS: usize = 300;
/// The endings of the names of movies; files with other names are not in the list, but can be typed.
const MOVIES: [&str; 20] = [
    "3gp", "avi", "flv", "gif", "m2ts", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "mts", "mxf", "ogv", "ts",
    "vob", "webm", "wmv", "y4m", "apng",
];

/// The kind of file for which the field asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathPurpose {
    /// A movie to play.
    #[default]
    Movie,
    /// A saved run with which the ladder is compared.
    Run,
    /// The `filter.toml` of a filter.
    Filter,
}

impl PathPurpose {
    /// Returns true if the list shows a file or folder with this name.
    pub fn lists(self, name: &str) -> bool {
        let is =
            |ending: &&str| name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(ending));
        name.ends_with('/')
            || match self {
                Self::Movie => MOVIES.iter().any(is),
                Self::Run => is(&"json"),
                Self::Filter => name == "filter.toml",
            }
    }
}

/// The prompt for a path: a field into which the user types it, above a list from which files are chosen.
#[derive(Debug, Default)]
pub struct PathPrompt {
    is_open: bool,
    purpose: PathPurpose,
    /// The paths of the movies that were opened last, newest first.
    pub recent: Vec<String>,
    /// The path of the bundled clip, which is listed after the recent movies; `None` if it was not found.
    pub clip: Option<PathBuf>,
    /// The text in the field; while the field is closed, the text that was last typed into it.
    text: String,
    /// True if the text has changed since the field was opened. Until then all files of its folder are listed.
    is_edited: bool,
    /// The path whose files are listed or awaited; `None` before the first request.
    requested: Option<String>,
    /// The folder of the listed files, as a prefix of paths.
    folder: String,
    /// The path whose files are listed; `None` while they are awaited.
    listed: Option<String>,
    /// The names of the listed files, those of folders with a slash at the end.
    names: Vec<String>,
    /// True if no file begins with the typed path.
    is_unknown: bool,
    /// The index of the selected row among those that can be chosen; `None` if the typed path is to be opened.
    selected: Option<usize>,
    /// True if the awaited completion replaces the text, since the user has pressed Tab.
    completes: bool,
    /// True if the next pass must move the cursor to the end of the text.
    to_end: bool,
    /// True once the field was laid out since it was opened.
    ready: bool,
}

impl PathPrompt {
    /// Opens the field for a file of this kind, even while the overlay is hidden.
    pub fn open(&mut self, purpose: PathPurpose) {
        if !self.is_open {
            let (recent, text) = (std::mem::take(&mut self.recent), std::mem::take(&mut self.text));
            let text = if purpose == self.purpose { text } else { String::new() };
            let clip = self.clip.take();
            *self = Self { is_open: true, purpose, recent, clip, text, ..Self::default() };
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

    /// Returns the kind of file for which the field asks.
    pub fn purpose(&self) -> PathPurpose {
        self.purpose
    }

    /// Remembers a movie that was opened.
    pub fn add_recent(&mut self, path: String) {
        self.recent.retain(|known| *known != path);
        self.recent.insert(0, path);
        self.recent.truncate(MAX_RECENT_FILES);
    }

    /// Lists `names`, the sorted names of the files in `folder` with which the path `typed` can continue; names of folders end
    /// with a slash. Replaces the typed text by its completion `text` if the user has pressed Tab. Does nothing if another path
    /// has been requested meanwhile.
    pub fn complete(&mut self, typed: &str, text: String, folder: String, names: Vec<String>) {
        if !self.is_open || self.requested.as_deref() != Some(typed) {
            return;
        }
        self.is_unknown = names.is_empty() && text == typed;
        (self.folder, self.names, self.selected) = (folder, names, None);
        self.names.retain(|name| self.purpose.lists(name));
        self.names.sort_by_key(|name| !name.ends_with('/'));
        self.listed = Some(typed.to_owned());
        if std::mem::take(&mut self.completes) && self.text == typed {
            (self.text, self.to_end, self.is_edited) = (text, true, true);
        }
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
        let size = (vec2(560.0, 420.0) * scale).min(window.size());
        let rect = Rect::from_center_size(window.center(), size);
        let mut ui = panel::ground_with(ui, rect, "path", (theme::PANEL.to_opaque(), theme::PAD));
        let (title, name, hint) = match self.purpose {
            PathPurpose::Movie => {
                ("Open a movie", "Path of the movie", "/home/me/movie.mp4, ~/movie.mp4 or a relative path")
            }
            PathPurpose::Run => (
                "Compare with a saved run",
                "Path of the saved run",
                "A file by Save run or clreel bench --save",
            ),
            PathPurpose::Filter => {
                ("Open a filter", "Path of the filter", "The filter.toml in the folder of the filter")
            }
        };
        ui.label(RichText::new(title).font(theme::words(14.0 * scale)).color(theme::STRONG));

        let first = !std::mem::replace(&mut self.ready, true);
        let consume = |ui: &mut Ui, key| ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key));
        let [tab, down, up] = [Key::Tab, Key::ArrowDown, Key::ArrowUp].map(|key| consume(&mut ui, key));
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
            .hint_text(RichText::new(hint).size(12.5 * scale));
        let selection = &mut ui.visuals_mut().selection;
        (selection.stroke.color, selection.bg_fill) = theme::SELECTED_TEXT_COLORS;
        let field = field.show(&mut ui).response.response.clone();
        if field.named(Role::TextInput, name).changed() {
            (self.is_edited, self.selected) = (true, None);
        }
        if tab {
            (self.is_edited, self.selected) = (true, None);
        }
        let wanted = if self.is_edited { self.text.as_str() } else { folder_of(&self.text) };
        if tab || self.requested.as_ref().is_none_or(|requested| requested != wanted) {
            pass.actions.push(Action::Complete(wanted.to_owned()));
            (self.requested, self.completes) = (Some(wanted.to_owned()), tab);
        }
        let help = match (self.is_unknown, pass.lacks_drops) {
            (true, _) => "No matching file",
            (false, false) => "Tab completes; arrow keys choose from the list",
            (false, true) => {
                "Tab completes. Files cannot be dropped on the window on Wayland; copy and paste one instead."
            }
        };
        let help = RichText::new(help).font(theme::words(12.0 * scale)).color(theme::WEAK);
        ui.add(Label::new(help).truncate());
        let is_compared = self.purpose == PathPurpose::Run && !pass.view.saved_columns.is_empty();
        let rows = self.rows(is_compared);
        let only = self.only_candidate();
        let mut chosen = self.show_list(&mut ui, &rows, (down, up), scale);
        let (mut open, mut close) = (false, escape);
        ui.horizontal(|ui| {
            open |= ui.button(RichText::new("Open").size(12.5 * scale)).explain("Enter").clicked();
            close |= ui.button(RichText::new("Cancel").size(12.5 * scale)).explain("Esc").clicked();
        });
        if enter || open {
            let selected = self.selected.and_then(|row| targets(&rows).nth(row)).cloned();
            let typed = || only.map_or_else(|| self.text.clone(), |name| format!("{}{name}", self.folder));
            chosen = chosen.or(selected).or_else(|| Some(Target::Path(typed())));
        }
        let chosen = chosen.filter(|_| !close);
        if chosen == Some(Target::EndComparison) {
            pass.actions.push(Action::EndComparison);
            close = true;
        }
        let path = chosen.and_then(|target| if let Target::Path(path) = target { Some(path) } else { None });
        match path {
            Some(folder) if folder.ends_with('/') => {
                (self.text, self.to_end, self.is_edited, self.selected) = (folder, true, true, None);
                ui.request_repaint();
            }
            Some(path) => {
                close = true;
                let action = match self.purpose {
                    PathPurpose::Movie => Action::Open,
                    PathPurpose::Run => Action::OpenRun,
                    PathPurpose::Filter => Action::OpenFilter,
                };
                pass.actions.extend((!path.trim().is_empty()).then(|| action(path.clone())));
                self.text = path;
            }
            None => {}
        }
        if close {
            self.close();
            ui.request_repaint();
        }
    }

    /// Returns the name of the only file or folder with which the typed path can continue; `None` if there are others, or if they
    /// are not known yet.
    fn only_candidate(&self) -> Option<String> {
        let is_listed = self.is_edited && self.listed.as_ref() == Some(&self.text);
        self.names.first().filter(|_| is_listed && self.names.len() == 1).cloned()
    }

    /// Returns the rows of the list: each has a text and what a click on it does, or `None` if it is a heading. `is_compared` is
    /// true if a comparison can be ended.
    fn rows(&self, is_compared: bool) -> Vec<(String, Option<Target>)> {
        let path = |text: &str, path: String| (text.to_owned(), Some(Target::Path(path)));
        let mut rows = Vec::new();
        if is_compared {
            rows.push(("End comparison".to_owned(), Some(Target::EndComparison)));
        }
        if !self.is_edited && self.purpose == PathPurpose::Movie {
            rows.extend(self.recent.iter().map(|recent| path(recent, recent.clone())));
            let clip = self.clip.as_ref().and_then(|clip| clip.to_str());
            rows.extend(clip.map(|clip| path("The bundled clip", clip.to_owned())));
            if !rows.is_empty() {
                rows.insert(0, ("Recent".to_owned(), None));
                let folder = match folder_of(&self.text) {
                    "" => "This folder".to_owned(),
                    folder => format!("Folder {folder}"),
                };
                rows.push((folder, None));
            }
        }
        rows.push(path("../", parent(&self.folder)));
        rows.extend(self.names.iter().map(|name| path(name, format!("{}{name}", self.folder))));
        rows.truncate(MAX_ROWS);
        rows
    }

    /// Lays out the list of files, and selects the next or the previous row. Returns what the user has clicked.
    fn show_list(
        &mut self,
        ui: &mut Ui,
        rows: &[(String, Option<Target>)],
        (down, up): (bool, bool),
        scale: f32,
    ) -> Option<Target> {
        let before = self.selected;
        if down {
            let last = targets(rows).count().saturating_sub(1);
            self.selected = Some(self.selected.map_or(0, |row| row + 1).min(last));
        } else if up {
            self.selected = self.selected.and_then(|row| row.checked_sub(1));
        }
        let mut chosen = None;
        // The buttons stand below the list.
        let height = (ui.available_height() - theme::CONTROL * scale - theme::GAP).max(0.0);
        let list = ScrollArea::vertical().id_salt("files").auto_shrink(false).max_height(height);
        list.min_scrolled_height(0.0).show(ui, |ui| {
            ui.with_layout(Layout::top_down_justified(Align::LEFT), |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                let mut n = 0;
                for (text, target) in rows {
                    let text = RichText::new(escaped(text));
                    let Some(target) = target else {
                        let text = text.font(theme::words(11.0 * scale)).color(theme::WEAK);
                        ui.add(Label::new(text).truncate());
                        continue;
                    };
                    let is_selected = self.selected == Some(n);
                    n += 1;
                    let text = text.font(theme::words(12.5 * scale));
                    let row = ui.add(Button::selectable(is_selected, text).truncate());
                    if is_selected && before != self.selected {
                        row.scroll_to_me(None);
                    }
                    if row.clicked() {
                        chosen = Some(target.clone());
                    }
                }
            });
        });
        chosen
    }
}

/// The effect of a row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Opens this path, or enters it if it ends with a slash.
    Path(String),
    /// Ends the comparison with a saved run.
    EndComparison,
}

/// Returns what the rows that can be chosen do.
fn targets(rows: &[(String, Option<Target>)]) -> impl Iterator<Item = &Target> {
    rows.iter().filter_map(|(_, target)| target.as_ref())
}

/// Returns the part of a path up to its last slash; empty if it has none.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

/// Returns the folder above a folder, which ends with a slash or is empty for the current folder.
fn parent(folder: &str) -> String {
    match folder.strip_suffix('/') {
        Some("") => "/".to_owned(),
        Some(path) if path != "~" && !path.ends_with("..") && path != "." => match folder_of(path) {
            "" => "./".to_owned(),
            above => above.to_owned(),
        },
        _ => format!("{folder}../"),
    }
}
