//! The view of a kernel's source: with highlighted syntax, line numbers, and marks on changed lines and on lines with errors.

use std::sync::Arc;
use std::time::Duration;

use base::error::SourceLine;
use egui::style::ScrollAnimation;
use egui::text::{LayoutJob, TextFormat};
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
        Self { name, text: text.into(), changed: changed.into(), refused: Arc::new([]), version: 0 }
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
    let changed = match source.changed.len() {
        0 => String::new(),
        1 => ", 1 line changed".to_owned(),
        n => format!(", {n} lines changed"),
    };
    let refused = source.refused.first().map(|line| format!(", error in line {}", line + 1));
    let what = format!("{}{changed}{}", source.name, refused.unwrap_or_default());
    panel::line(ui, &what, theme::STRONG);
    let galley = galley(ui, &source.text, FONT_SIZE);
    let height = ui.available_height();
    // The source next to machine code has another identifier, and scrolls by itself.
    let id = ui.make_persistent_id("source-in-sight");
    let target = (source.name.clone(), source.version, source.focus_line());
    let before =
        ui.data_mut(|data| data.get_temp::<ScrollState>(id)).filter(|before| before.target == target);
    // Scroll again if texts above have changed the height, unless the user has scrolled.
    let follows = before.as_ref().is_none_or(|before| before.follows);
    let scrolls = follows && before.as_ref().is_none_or(|before| (before.height - height).abs() > 0.5);
    let area = ScrollArea::both().id_salt("source").auto_shrink(false).min_scrolled_height(0.0);
    let shown = area.show(ui, |ui| show_lines(ui, source, &galley, scrolls));
    let offset = shown.state.clamped_offset().y;
    // The offset changes in the pass after the one that scrolls.
    let stays = before.as_ref().is_some_and(|before| before.scrolled || (before.offset - offset).abs() < 0.5);
    let follows = follows && (scrolls || stays);
    let now = ScrollState { target, height, offset, scrolled: scrolls, follows };
    ui.data_mut(|data| data.insert_temp(id, now));
    // The pass after it counts too: by then the surrounding panel has its size.
    scrolls || before.is_some_and(|before| before.scrolled)
}

/// Lays out source with highlighted syntax in this font size, without wrapping its lines.
pub(super) fn galley(ui: &Ui, source: &str, size: f32) -> Arc<Galley> {
    let mut job = highlight(ui.ctx(), ui.style(), &CodeTheme::dark(size), source, "c");
    job.wrap.max_width = f32::INFINITY;
    ui.painter().layout_job(job)
}

/// Lays out all lines of the source with their numbers. If `scrolls` is true, scrolls to [`Source::focus_line`], without
/// animation, since egui would swing back from a position beyond the end of the previous pass's contents.
fn show_lines(ui: &mut Ui, source: &Source, galley: &Arc<Galley>, scrolls: bool) {
    let numbers = (1..=source.text.lines().count()).map(|n| format!("{n:>4}\n")).collect::<String>();
    let format =
        TextFormat { color: theme::RULE, ..TextFormat::simple(theme::figures(FONT_SIZE), theme::WEAK) };
    let numbers = ui.painter().layout_job(LayoutJob::single_section(numbers, format));
    let left = numbers.size().x + 8.0;
    let width = ui.available_width().max(left + galley.size().x);
    let (area, response) = ui.allocate_exact_size(vec2(width, galley.size().y), Sense::hover());
    response.named(Role::Code, &source.name).valued(|| source.text.to_string());
    let text = Pos2::new(area.left() + left, area.top());
    let painter = ui.painter().with_clip_rect(ui.clip_rect().intersect(area));
    for (marked, color) in [(&source.changed, CHANGED_BACKGROUND), (&source.refused, ERROR_BACKGROUND)] {
        for row in marked.iter().filter_map(|line| galley.rows.get(*line)) {
            let y = row.rect().translate(text.to_vec2()).y_range();
            painter.rect_filled(Rect::from_x_y_ranges(area.x_range(), y), 0, color);
        }
    }
    if scrolls {
        let row = source.focus_line().and_then(|line| galley.rows.get(line)).map(|row| row.rect());
        let [top, height] = row.map_or([0.0; 2], |row| [row.top(), row.height()]);
        // As many lines above as below where there is little room.
        let rows = if height > 0.0 { ui.clip_rect().height() / height } else { 0.0 };
        // The number of lines that stay visible above the line to which the view scrolls.
        let above = ((rows - 1.0) / 2.0).floor().clamp(0.0, 4.0);
        let from = text.y + (top - above * height).max(0.0);
        // Only down: a long line must not move the view to the right.
        let place = Rect::from_x_y_ranges(ui.clip_rect().x_range(), from..=text.y + top + height);
        ui.scroll_to_rect_animation(place, Some(Align::Min), ScrollAnimation::none());
    }
    painter.galley(area.min, numbers, theme::WEAK);
    painter.galley(text, galley.clone(), theme::TEXT);
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
