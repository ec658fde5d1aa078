//! A kernel's source as text that can be read: its lines with their numbers, coloured, and those marked that are others than in
//! the version before. In: a [`Source`]. Out: nothing.

use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, Pos2, Rect, Ui, vec2};
use egui_extras::syntax_highlighting::{CodeTheme, highlight};

use super::{kernels, theme};

/// The text of a variant's kernels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// Where it stands, in words.
    pub name: String,
    /// All lines.
    pub text: Arc<str>,
    /// Which of its lines are others than before, from 0, in their order.
    pub changed: Arc<[usize]>,
}

/// More lines than that in the part that differs are not compared one by one.
const COMPARED: usize = 1500;

impl Source {
    /// The text, and which of its lines are not in `before` in the same order.
    pub(crate) fn new(name: String, text: &str, before: Option<&str>) -> Self {
        let changed = before.map_or_else(Vec::new, |before| changed_lines(before, text));
        Self { name, text: text.into(), changed: changed.into() }
    }
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

const CHANGED: Color32 = Color32::from_rgb(66, 52, 22);
const SIZE: f32 = 11.5;

/// The source, below its name; long lines are cut at the panel's edge.
pub(super) fn show(ui: &mut Ui, source: &Source) {
    let what = match source.changed.len() {
        0 => source.name.clone(),
        1 => format!("{}, 1 line changed", source.name),
        n => format!("{}, {n} lines changed", source.name),
    };
    kernels::line(ui, &what, theme::STRONG);
    let theme = CodeTheme::dark(SIZE);
    let mut job = highlight(ui.ctx(), ui.style(), &theme, &source.text, "c");
    job.wrap.max_width = f32::INFINITY;
    let numbers = (1..=source.text.lines().count()).map(|n| format!("{n:>4}\n")).collect::<String>();
    let format = TextFormat { color: theme::RULE, ..TextFormat::simple(theme::figures(SIZE), theme::WEAK) };
    let numbers = ui.painter().layout_job(LayoutJob::single_section(numbers, format));
    let galley = ui.painter().layout_job(job);
    let left = numbers.size().x + 8.0;
    let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), galley.size().y), egui::Sense::hover());
    let text = Pos2::new(area.left() + left, area.top());
    let painter = ui.painter().with_clip_rect(ui.clip_rect().intersect(area));
    for row in source.changed.iter().filter_map(|line| galley.rows.get(*line)) {
        let y = row.rect().translate(text.to_vec2()).y_range();
        painter.rect_filled(Rect::from_x_y_ranges(area.x_range(), y), 0, CHANGED);
    }
    painter.galley(area.min, numbers, theme::WEAK);
    painter.galley(text, galley, theme::TEXT);
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
