//! A kernel's source as text that can be read: its lines with their numbers, coloured, and those marked that are others than in
//! the version before, or that the compiler has refused. In: a [`Source`]. Out: nothing.

use std::sync::Arc;

use egui::style::ScrollAnimation;
use egui::text::{LayoutJob, TextFormat};
use egui::{Align, Color32, Galley, Pos2, Rect, ScrollArea, Ui, vec2};
use egui_extras::syntax_highlighting::{CodeTheme, highlight};

use super::{kernels, theme};

/// The text of a variant's kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Where it stands, in words.
    pub name: String,
    /// All lines.
    pub text: Arc<str>,
    /// Which of its lines are others than before, from 0, in their order.
    pub changed: Arc<[usize]>,
    /// Those in which the compiler has found errors, from 0, in their order.
    pub refused: Arc<[usize]>,
    /// Which version of the kernels it is of; 0: it is built in.
    pub version: u64,
}

/// More lines than that in the part that differs are not compared one by one.
const COMPARED: usize = 1500;

impl Source {
    /// The text, and which of its lines are not in `before` in the same order.
    pub fn new(name: String, text: &str, before: Option<&str>) -> Self {
        let changed = before.map_or_else(Vec::new, |before| changed_lines(before, text));
        Self { name, text: text.into(), changed: changed.into(), refused: Arc::new([]), version: 0 }
    }

    /// The same as the text of a version of which a compiler says this; nothing, where it builds.
    pub fn of_version(self, version: u64, log: &str) -> Self {
        let count = self.text.lines().count();
        let of_it = errors_in(log).filter(|(file, line)| *file == self.name && *line < count);
        let mut refused: Vec<usize> = of_it.map(|(_, line)| line).collect();
        refused.sort_unstable();
        refused.dedup();
        Self { refused: refused.into(), version, ..self }
    }

    /// The line that is to be in sight first: an error, or what has changed.
    fn first(&self) -> Option<usize> {
        self.refused.first().or(self.changed.first()).copied()
    }
}

/// The places in kernel files, lines from 0, that a compiler's log calls errors: "error: box_filter/own.cl:4:5: …", or
/// "box_filter/own.cl:4:5: error: …".
pub fn errors_in(log: &str) -> impl Iterator<Item = (&str, usize)> {
    let errors = log.lines().filter(|line| line.contains("error: "));
    errors.filter_map(|line| line.split_whitespace().find_map(place))
}

/// A file's name and a line, of "box_filter/own.cl:4:5:".
fn place(word: &str) -> Option<(&str, usize)> {
    let mut parts = word.split(':');
    let file = parts.next().filter(|file| file.ends_with(".cl") || file.ends_with(".clh"))?;
    Some((file, parts.next()?.parse::<usize>().ok()?.checked_sub(1)?))
}

/// The lines of `now` that are not among the longest common lines of both (dynamic programming; R. A. Wagner and M. J. Fischer,
/// "The String-to-String Correction Problem", 1974).
fn changed_lines(before: &str, now: &str) -> Vec<usize> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, rest) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, rest) = (&old[..old.len() - tail], &rest[..rest.len() - tail]);
    if old.len() > COMPARED || rest.len() > COMPARED {
        return (head..head + rest.len()).collect();
    }
    // The length of the longest common lines from here to the end.
    let width = rest.len() + 1;
    let mut longest = vec![0u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..rest.len()).rev() {
            longest[i * width + j] = match old[i] == rest[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut changed) = (0, 0, Vec::new());
    while j < rest.len() {
        if i < old.len() && old[i] == rest[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            changed.push(head + j);
            j += 1;
        }
    }
    changed
}

pub(super) const CHANGED: Color32 = Color32::from_rgb(66, 52, 22);
pub(super) const REFUSED: Color32 = Color32::from_rgb(96, 28, 28);
const SIZE: f32 = 11.5;
/// Lines that stay in sight above the one that is scrolled to.
const ABOVE: f32 = 4.0;

/// What was brought into sight.
#[derive(Clone)]
struct InSight {
    /// A file, its version, and a line.
    of: (String, u64, Option<usize>),
    /// In so many points, scrolled by so many.
    height: f32,
    offset: f32,
    /// It was scrolled to in the last pass.
    scrolls: bool,
    /// Nobody has scrolled since.
    holds: bool,
}

/// The source, below its name, in `height` points, beyond which it scrolls; long lines are cut at the panel's edge. What a
/// version has changed, or what was refused in it, comes into sight once. Returns whether it is just doing so.
pub(super) fn show(ui: &mut Ui, source: &Source, height: f32) -> bool {
    let changed = match source.changed.len() {
        0 => String::new(),
        1 => ", 1 line changed".to_owned(),
        n => format!(", {n} lines changed"),
    };
    let refused = source.refused.first().map(|line| format!(", error in line {}", line + 1));
    let what = format!("{}{changed}{}", source.name, refused.unwrap_or_default());
    kernels::line(ui, &what, theme::STRONG);
    let theme = CodeTheme::dark(SIZE);
    let mut job = highlight(ui.ctx(), ui.style(), &theme, &source.text, "c");
    job.wrap.max_width = f32::INFINITY;
    let galley = ui.painter().layout_job(job);
    // Another place, as beside machine code, scrolls by itself.
    let id = ui.make_persistent_id("source-in-sight");
    let of = (source.name.clone(), source.version, source.first());
    let before = ui.data_mut(|data| data.get_temp::<InSight>(id)).filter(|before| before.of == of);
    // What is said above it may take some of its room later on; but whoever has scrolled is left alone.
    let holds = before.as_ref().is_none_or(|before| before.holds);
    let scrolls = holds && before.as_ref().is_none_or(|before| (before.height - height).abs() > 0.5);
    let area = ScrollArea::vertical().id_salt("source").auto_shrink([false, true]);
    let area = area.max_height(height).min_scrolled_height(0.0);
    let shown = area.show(ui, |ui| lines(ui, source, &galley, scrolls));
    let offset = shown.state.clamped_offset().y;
    // It is there from the next pass on.
    let stays = before.as_ref().is_some_and(|before| before.scrolls || (before.offset - offset).abs() < 0.5);
    let now = InSight { of, height, offset, scrolls, holds: holds && (scrolls || stays) };
    ui.data_mut(|data| data.insert_temp(id, now));
    // In the pass after it, too: what is around it has its size by then.
    scrolls || before.is_some_and(|before| before.scrolls)
}

/// All lines, numbered. `scrolls`: what is to be in sight first comes there: egui would swing back from a place that
/// is beyond the end of a pass before.
fn lines(ui: &mut Ui, source: &Source, galley: &Arc<Galley>, scrolls: bool) {
    let numbers = (1..=source.text.lines().count()).map(|n| format!("{n:>4}\n")).collect::<String>();
    let format = TextFormat { color: theme::RULE, ..TextFormat::simple(theme::figures(SIZE), theme::WEAK) };
    let numbers = ui.painter().layout_job(LayoutJob::single_section(numbers, format));
    let left = numbers.size().x + 8.0;
    let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), galley.size().y), egui::Sense::hover());
    let text = Pos2::new(area.left() + left, area.top());
    let painter = ui.painter().with_clip_rect(ui.clip_rect().intersect(area));
    for (marked, color) in [(&source.changed, CHANGED), (&source.refused, REFUSED)] {
        for row in marked.iter().filter_map(|line| galley.rows.get(*line)) {
            let y = row.rect().translate(text.to_vec2()).y_range();
            painter.rect_filled(Rect::from_x_y_ranges(area.x_range(), y), 0, color);
        }
    }
    if scrolls {
        let row = source.first().and_then(|line| galley.rows.get(line)).map(|row| row.rect());
        let [top, height] = row.map_or([0.0; 2], |row| [row.top(), row.height()]);
        // As many above it as below it where there is little room.
        let rows = if height > 0.0 { ui.clip_rect().height() / height } else { 0.0 };
        let above = ABOVE.min(((rows - 1.0) / 2.0).floor().max(0.0));
        let from = text.y + (top - above * height).max(0.0);
        let place = Rect::from_x_y_ranges(area.x_range(), from..=text.y + top + height);
        ui.scroll_to_rect_animation(place, Some(Align::Min), ScrollAnimation::none());
    }
    painter.galley(area.min, numbers, theme::WEAK);
    painter.galley(text, galley.clone(), theme::TEXT);
}

/// Text that is no source, uncoloured; only the rows in sight are laid out.
pub(super) fn plain(ui: &mut Ui, text: &str) {
    let height = ui.fonts_mut(|fonts| fonts.row_height(&theme::figures(SIZE)));
    let rows = text.lines().count();
    let (area, _) =
        ui.allocate_exact_size(vec2(ui.available_width(), height * rows as f32), egui::Sense::hover());
    let clip = ui.clip_rect().intersect(area);
    let painter = ui.painter().with_clip_rect(clip);
    let first = ((clip.top() - area.top()) / height).floor().max(0.0) as usize;
    let count = (clip.height().max(0.0) / height).ceil() as usize + 1;
    for (row, line) in text.lines().enumerate().skip(first).take(count) {
        let at = Pos2::new(area.left(), area.top() + row as f32 * height);
        painter.text(at, egui::Align2::LEFT_TOP, line, theme::figures(SIZE), theme::TEXT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_found_in_the_logs_of_several_compilers() {
        let log = "The compiler says:\nerror: a/b.cl:37:5: unknown type name 'imt4'\n  37 | imt4 sum;\n\
                   a/b.cl:4:5: warning: unused\na/b.cl:9:1: error: no\na/c.clh:3: error: no\nerror: a/b.cl:x\nerror: a/b.cl:0:1";
        assert_eq!(errors_in(log).collect::<Vec<_>>(), [("a/b.cl", 36), ("a/b.cl", 8), ("a/c.clh", 2)]);
        let source = |name: &str| Source::new(name.to_owned(), &"x\n".repeat(40), None).of_version(2, log);
        assert_eq!((&*source("a/b.cl").refused, source("a/b.cl").first()), (&[8, 36][..], Some(8)));
        let short = Source::new("a/b.cl".to_owned(), "x\ny", Some("x")).of_version(2, log);
        assert!(short.refused.is_empty() && short.first() == Some(1), "it has no such lines");
    }

    #[test]
    fn lines_that_are_others_are_marked() {
        assert_eq!(changed_lines("a\nb\nc", "a\nB\nc"), [1]);
        assert_eq!(changed_lines("a\nb\nc", "a\nb\nc"), Vec::<usize>::new());
        assert_eq!(changed_lines("a\nb\nc", "a\nc"), Vec::<usize>::new(), "one that is gone marks no other");
        assert_eq!(changed_lines("a\nc", "a\nb\nc\nd"), [1, 3]);
        assert_eq!(changed_lines("a\nb\na\nc", "b\nx\na"), [1]);
        assert_eq!(changed_lines("", "a\nb"), [0, 1]);
        let long = "x\n".repeat(COMPARED + 1);
        assert_eq!(changed_lines("y\nz", &long).len(), COMPARED + 1);
    }
}
