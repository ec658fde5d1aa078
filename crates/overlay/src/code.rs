//! The view of a kernel's source: with highlighted syntax, line numbers, a search, and marks on changed lines and on lines with
//! errors.

use std::sync::Arc;
use std::time::Duration;

use base::error::SourceLine;
use egui::Layout;
use egui::style::ScrollAnimation;
use egui::text::{CCursor, LayoutJob, TextFormat};
use egui::text_selection::LabelSelectionState;
use egui_extras::syntax_highlighting::{CodeTheme, highlight};
use similar::{ChangeTag, TextDiff};

use crate::panel;
use crate::prelude::*;

/// The source of a variant's kernels, for display.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The file's name in the folder of kernels, such as "box_filter/03_flat.cl".
    pub name: String,
    /// All lines of the source.
    pub text: Arc<str>,
    /// The numbers, counted from 0 and ascending, of the lines that the previous version of the text does not have.
    pub changed: Arc<[usize]>,
    /// The number of the version with the previous text; `None` if that text belongs to no version.
    pub before: Option<u64>,
    /// The numbers, counted from 0 and ascending, of the lines in which the compiler has found errors.
    pub refused: Arc<[usize]>,
    /// The number of the version of the edited kernels (their text at one save) to which the source belongs; 0 for built-in
    /// kernels.
    pub version: u64,
}

/// The maximum time for comparing two texts of a kernel file, since the comparison delays a frame.
pub(super) const MAX_COMPARE_TIME: Duration = Duration::from_millis(20);

impl Source {
    /// Creates the source `text` of the file `name`. Marks the lines as changed that the previous text `before` does not have
    /// in the same order; none if `before` is `None`.
    pub fn new(name: String, text: &str, before: Option<&str>) -> Self {
        let changed = before.map_or_else(Vec::new, |before| changed_lines(before, text));
        let (changed, refused) = (changed.into(), Arc::new([]));
        Self { name, text: text.into(), changed, before: None, refused, version: 0 }
    }

    /// Sets the number of the version with the previous text.
    pub fn since_version(self, before: Option<u64>) -> Self {
        Self { before, ..self }
    }

    /// Sets the number of the version, and marks `errors`, the lines in which the compiler has found errors.
    pub fn with_version(self, version: u64, errors: &[SourceLine]) -> Self {
        let own = errors.iter().filter(|error| error.file == self.name).map(|error| error.number);
        let mut refused: Vec<usize> = own.filter_map(|number| number.checked_sub(1)).collect();
        let count = self.text.lines().count();
        refused.retain(|line| *line < count);
        refused.sort_unstable();
        refused.dedup();
        Self { refused: refused.into(), version, ..self }
    }

    /// Returns the index of the line to which the view scrolls: the first line with an error, otherwise the first changed one,
    /// otherwise the first kernel; `None` if there is none of these.
    fn focus_line(&self) -> Option<usize> {
        let marked = self.refused.first().or(self.changed.first()).copied();
        marked.or_else(|| self.text.lines().position(|line| line.trim_start().starts_with("__kernel")))
    }
}

/// Returns the numbers, counted from 0, of the lines of `now` that a shortest edit script inserts into `before`. If finding the
/// shortest script takes longer than [`MAX_COMPARE_TIME`], the script may be longer.
fn changed_lines(before: &str, now: &str) -> Vec<usize> {
    let (before, now): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let diff = TextDiff::configure().timeout(MAX_COMPARE_TIME).diff_slices(&before, &now);
    diff.iter_all_changes()
        .filter(|line| line.tag() == ChangeTag::Insert)
        .filter_map(|line| line.new_index())
        .collect()
}

/// The background of lines that the previous version of the source does not have.
pub(super) const CHANGED_BACKGROUND: Color32 = Color32::from_rgb(66, 52, 22);
/// The background of lines in which the compiler has found errors.
pub(super) const ERROR_BACKGROUND: Color32 = Color32::from_rgb(96, 28, 28);
/// The font size of the source in points.
const FONT_SIZE: f32 = 11.5;

/// The state of scrolling to a line of the source, kept in egui's memory from pass to pass.
#[derive(Clone)]
struct ScrollState {
    /// The line to which the view scrolls: the file's name, the version's number, and the line's index.
    target: (String, u64, Option<usize>),
    /// Height of the view and scroll offset, in points.
    height: f32,
    offset: f32,
    /// True if this pass (one layout of the overlay) has scrolled to the target line.
    scrolled: bool,
    /// True as long as the user has not scrolled.
    follows: bool,
}

/// Lays the source out below its name in the available space, in which it scrolls. For each new version, scrolls once to the
/// first line with an error, or to the first changed line, or else to the first kernel. Returns true in the pass that scrolls
/// and in the next one.
pub(super) fn show(ui: &mut Ui, source: &Source) -> bool {
    let since = source.before.map_or_else(String::new, |before| format!(" since version {before}"));
    let changed = match source.changed.len() {
        0 => String::new(),
        1 => format!(", 1 line changed{since}"),
        n => format!(", {n} lines changed{since}"),
    };
    let refused = source.refused.first().map(|line| format!(", error in line {}", line + 1));
    let what = format!("{}{changed}{}", source.name, refused.unwrap_or_default());
    let id = ui.make_persistent_id("source-search");
    let search = show_head(ui, id, &what, source);
    let height = ui.available_height();
    // The source next to machine code has another identifier, and scrolls by itself.
    let id = ui.make_persistent_id("source-in-sight");
    let target = (source.name.clone(), source.version, source.focus_line());
    let before =
        ui.data_mut(|data| data.get_temp::<ScrollState>(id)).filter(|before| before.target == target);
    // Scroll again if texts above have changed the height, unless the user has scrolled.
    let follows = before.as_ref().is_none_or(|before| before.follows);
    let scrolls = follows && before.as_ref().is_none_or(|before| (before.height - height).abs() > 0.5);
    let area = ScrollArea::vertical().id_salt("source").auto_shrink(false).min_scrolled_height(0.0);
    let shown = area.show(ui, |ui| show_lines(ui, source, scrolls, &search));
    let offset = shown.state.clamped_offset().y;
    // The offset changes in the pass after the one that scrolls.
    let stays = before.as_ref().is_some_and(|before| before.scrolled || (before.offset - offset).abs() < 0.5);
    let follows = follows && (scrolls || stays);
    let now = ScrollState { target, height, offset, scrolled: scrolls, follows };
    ui.data_mut(|data| data.insert_temp(id, now));
    // The pass after it counts too: by then the surrounding panel has its size.
    scrolls || before.is_some_and(|before| before.scrolled)
}

/// A search in a source, kept in egui's memory from pass to pass.
#[derive(Clone, Default)]
struct Search {
    /// The text to find, in capitals or not; empty if there is no search.
    text: String,
    /// The number of times that the user has gone on to the next place.
    step: usize,
    /// True in the pass in which the view scrolls to the place.
    jumps: bool,
}

impl Search {
    /// Returns the places of the text in `source`, as the number of characters before each.
    fn places(&self, source: &str) -> Vec<usize> {
        if self.text.is_empty() {
            return Vec::new();
        }
        let (source, text) = (source.to_ascii_lowercase(), self.text.to_ascii_lowercase());
        source.match_indices(&text).map(|(at, _)| source[..at].chars().count()).collect()
    }
}

/// The place in egui's memory of the identifier of the search field that had the keyboard's focus last.
fn focus_id() -> Id {
    Id::unique("focused-search")
}

/// Returns the identifier of the field of a search that has the keyboard's focus; `None` if none has it.
pub(super) fn focused_search(ui: &Ui) -> Option<Id> {
    let focused = ui.memory(|memory| memory.focused());
    focused.filter(|id| ui.data(|data| data.get_temp::<Id>(focus_id())) == Some(*id))
}

/// Lays out the line above a source: the text `what`, a field that searches the source, and a button that copies it. Ctrl+F
/// goes to the field, Enter to the next place. Returns the search.
fn show_head(ui: &mut Ui, id: Id, what: &str, source: &Source) -> Search {
    let mut search = ui.data(|data| data.get_temp::<Search>(id)).unwrap_or_default();
    search.jumps = false;
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.small_button("Copy").explain("Copy the whole source").clicked() {
                ui.copy_text(source.text.to_string());
            }
            let field =
                egui::TextEdit::singleline(&mut search.text).id(id).hint_text("Find").desired_width(84.0);
            let field = ui.add(field).named(Role::TextInput, "Find in the source");
            let goes_on = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
            if goes_on || ui.input_mut(|i| i.consume_key(egui::Modifiers::COMMAND, egui::Key::F)) {
                field.request_focus();
            }
            if field.has_focus() {
                ui.data_mut(|data| data.insert_temp(focus_id(), id));
            }
            search.step = if field.changed() { 0 } else { search.step + usize::from(goes_on) };
            search.jumps = goes_on || field.changed();
            if !search.text.is_empty() {
                let count = search.places(&source.text).len();
                let text = if count == 0 {
                    "none".to_owned()
                } else {
                    format!("{} of {count}", search.step % count + 1)
                };
                panel::line(ui, &text, theme::WEAK);
            }
            field.explain("Find in the source (Ctrl+F); Enter goes to the next place");
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| panel::line(ui, what, theme::STRONG));
        });
    });
    ui.data_mut(|data| data.insert_temp(id, search.clone()));
    search
}

/// Lays out source with highlighted syntax in this font size, in lines of at most `width` points.
pub(super) fn galley(ui: &Ui, source: &str, size: f32, width: f32) -> Arc<Galley> {
    let mut job = highlight(ui.ctx(), ui.style(), &CodeTheme::dark(size), source, "c");
    job.wrap.max_width = width;
    ui.painter().layout_job(job)
}

/// Returns the index of the row of `galley` with which each line of its text begins: a long line has several rows.
fn first_rows(galley: &Galley) -> Vec<usize> {
    let ends = galley.rows.iter().enumerate().filter(|(_, row)| row.ends_with_newline);
    std::iter::once(0).chain(ends.map(|(row, _)| row + 1)).collect()
}

/// Lays out all lines of the source, which the user can select, with their numbers and the places that `search` has found. If
/// `scrolls` is true, scrolls to [`Source::focus_line`], without animation, since egui would swing back from a position beyond
/// the end of the previous pass's contents.
fn show_lines(ui: &mut Ui, source: &Source, scrolls: bool, search: &Search) {
    let font = theme::figures(FONT_SIZE);
    let left = 4.0 * ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0')) + 8.0;
    let galley = galley(ui, &source.text, FONT_SIZE, ui.available_width() - left);
    let rows = first_rows(&galley);
    let count = source.text.lines().count();
    let mut numbers = String::new();
    for row in 0..galley.rows.len() {
        let line = rows.binary_search(&row).ok().filter(|line| *line < count);
        numbers.push_str(&line.map_or("\n".to_owned(), |line| format!("{:>4}\n", line + 1)));
    }
    let format = TextFormat { color: theme::RULE, ..TextFormat::simple(font, theme::WEAK) };
    let numbers = ui.painter().layout_job(LayoutJob::single_section(numbers, format));
    let size = vec2(ui.available_width(), galley.size().y);
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    let response = response.named(Role::Code, &source.name).valued(|| source.text.to_string());
    let text = area.with_min_x(area.left() + left);
    // The rectangle of a line, in all of its rows.
    let place_of = |line: usize| {
        let first = galley.rows.get(*rows.get(line)?)?.rect();
        let last = rows.get(line + 1).map_or(galley.rows.len(), |row| *row) - 1;
        Some(first.union(galley.rows.get(last)?.rect()).translate(text.min.to_vec2()))
    };
    let painter = ui.painter().with_clip_rect(ui.clip_rect().intersect(area));
    for (marked, color) in [(&source.changed, CHANGED_BACKGROUND), (&source.refused, ERROR_BACKGROUND)] {
        for place in marked.iter().filter_map(|line| place_of(*line)) {
            painter.rect_filled(Rect::from_x_y_ranges(area.x_range(), place.y_range()), 0, color);
        }
    }
    let found = search.places(&source.text);
    for (n, at) in found.iter().enumerate() {
        let [from, to] =
            [*at, at + search.text.chars().count()].map(|at| galley.pos_from_cursor(CCursor::new(at)));
        let end = if from.top() == to.top() { to.left() } else { galley.size().x };
        let place = from.with_max_x(end).translate(text.min.to_vec2());
        let is_current = n == search.step % found.len();
        let color = if is_current { theme::SELECTION_BACKGROUND } else { theme::RULE };
        painter.rect_filled(place, 2, color);
        if is_current && search.jumps {
            ui.scroll_to_rect_animation(place, Some(Align::Center), ScrollAnimation::none());
        }
    }
    if scrolls {
        let place = source.focus_line().and_then(place_of);
        let [top, height] = place.map_or([text.top(), 0.0], |place| [place.top(), place.height()]);
        // As many lines above as below where there is little room.
        let lines = if height > 0.0 { ui.clip_rect().height() / height } else { 0.0 };
        // The number of lines that stay visible above the line to which the view scrolls.
        let above = ((lines - 1.0) / 2.0).floor().clamp(0.0, 4.0);
        let from = (top - above * height).max(text.top());
        let place = Rect::from_x_y_ranges(ui.clip_rect().x_range(), from..=top + height);
        ui.scroll_to_rect_animation(place, Some(Align::Min), ScrollAnimation::none());
    }
    painter.galley(area.min, numbers, theme::WEAK);
    let selection = &mut ui.visuals_mut().selection;
    (selection.stroke.color, selection.bg_fill) = theme::SELECTED_TEXT_COLORS;
    let selectable = ui.interact(text, response.id.with("text"), Sense::click_and_drag());
    LabelSelectionState::label_text_selection(ui, &selectable, text.min, galley, theme::TEXT, Stroke::NONE);
}

/// Lays out plain text, such as machine code, as [`show_plain_lines`] does.
pub(super) fn show_plain_text(ui: &mut Ui, id: &str, text: &str) {
    let lines: Vec<(&str, Color32)> = text.lines().map(|line| (line, theme::TEXT)).collect();
    show_plain_lines(ui, id, &lines);
}

/// Lays out lines of text, each in its colour, in the available space, in which they scroll; only the visible rows take time. `id`
/// names the place of the lines.
pub(super) fn show_plain_lines(ui: &mut Ui, id: &str, lines: &[(&str, Color32)]) {
    let area = ScrollArea::both().id_salt(id).auto_shrink(false).min_scrolled_height(0.0);
    area.show(ui, |ui| {
        let font = theme::figures(FONT_SIZE);
        let (height, glyph) = ui.fonts_mut(|fonts| (fonts.row_height(&font), fonts.glyph_width(&font, 'm')));
        let longest = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0) as f32;
        let size = vec2(ui.available_width().max(longest * glyph), height * lines.len() as f32);
        let (area, response) = ui.allocate_exact_size(size, Sense::hover());
        let text = || lines.iter().map(|(line, _)| *line).collect::<Vec<_>>().join("\n");
        response.named(Role::Code, "Code").valued(text);
        let clip = ui.clip_rect().intersect(area);
        let painter = ui.painter().with_clip_rect(clip);
        let first = ((clip.top() - area.top()) / height).floor().max(0.0) as usize;
        let count = (clip.height().max(0.0) / height).ceil() as usize + 1;
        for (row, (line, color)) in lines.iter().enumerate().skip(first).take(count) {
            let at = Pos2::new(area.left(), area.top() + row as f32 * height);
            painter.text(at, Align2::LEFT_TOP, line, font.clone(), *color);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_and_scrolled_to() {
        assert_eq!(changed_lines("a\nb\nc", "a\nB\nc"), [1]);
        assert_eq!(changed_lines("a\nb\nc", "a\nb\nc"), Vec::<usize>::new());
        assert_eq!(changed_lines("a\nb\nc", "a\nc"), Vec::<usize>::new(), "one that is gone marks no other");
        assert_eq!(changed_lines("a\nc", "a\nb\nc\nd"), [1, 3]);
        assert_eq!(changed_lines("a\nb\na\nc", "b\nx\na"), [1]);
        assert_eq!(changed_lines("", "a\nb"), [0, 1]);
        let long = "x\n".repeat(100_000);
        assert_eq!(changed_lines("y\nz", &long).len(), 100_000);

        let error = |(file, number): (&str, usize)| SourceLine { file: file.to_owned(), number };
        let errors = [("a/b.cl", 37), ("a/b.cl", 9), ("a/c.clh", 3)].map(error);
        let source =
            |name: &str| Source::new(name.to_owned(), &"x\n".repeat(40), None).with_version(2, &errors);
        assert_eq!((&*source("a/b.cl").refused, source("a/b.cl").focus_line()), (&[8, 36][..], Some(8)));
        let short = Source::new("a/b.cl".to_owned(), "x\ny", Some("x")).with_version(2, &errors);
        assert!(short.refused.is_empty() && short.focus_line() == Some(1), "it has no such lines");

        let source = |text: &str| Source::new("a/b.cl".to_owned(), text, None);
        let text = "// About.\n#define N 4\n\n__kernel void f() {}\n__kernel void g() {}\n";
        assert_eq!(source(text).focus_line(), Some(3));
        assert_eq!(source("int x;\n").focus_line(), None);
        let changed = Source::new("a/b.cl".to_owned(), text, Some(&text.replace("N 4", "N 8")));
        assert_eq!(changed.focus_line(), Some(1));
    }
}
