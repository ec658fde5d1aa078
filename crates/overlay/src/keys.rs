//! The panel with the table of keys, which `?` opens, and the hint that is shown at the first start.

use std::sync::Arc;

use crate::bindings::{BINDINGS, Topic};
use crate::panel;
use crate::prelude::*;

/// The least and the greatest height in points of a line of the table.
const LINE_HEIGHTS: (f32, f32) = (13.5, 20.0);
/// Space in points between the keys and their effects, and between two columns of the table.
const KEY_AND_COLUMN_GAPS: (f32, f32) = (12.0, 24.0);
/// Space in points around the table.
const PADDING: f32 = 7.0;
/// Height in points of the table's title.
const TITLE_HEIGHT: f32 = 25.0;

/// The hint that is shown until the first key is pressed: what the program is, and the key of the table.
pub(crate) const HINT: &str = "clreel plays a movie through OpenCL kernels of one box blur, from the plainest to the fastest, and \
                               measures each frame: 1 to 5 choose a kernel, ? shows all keys.";

/// The hint in place of [`HINT`] while the filter of a folder is selected.
pub(crate) const FILTER_HINT: &str = "clreel runs the kernels of this filter on a movie, and measures each frame: digits choose a \
                                      variant, F another filter, ? shows all keys.";

/// The factors, the largest first, by which the type of the table may be larger than usual.
const SCALES: [f32; 5] = [1.6, 1.45, 1.3, 1.15, 1.0];

/// Lays the table out in the middle of `window`, in as many columns as fit: if `large` is true, in the largest type in which all
/// of it fits. The table scrolls if the window is too low for it.
pub(crate) fn show(ui: &mut Ui, window: Rect, large: bool, pass: &mut Pass) {
    let scales = if large { &SCALES[..] } else { &[1.0] };
    let blocks = scales.iter().map(|scale| (*scale, blocks(ui, *scale, pass.lacks_drops)));
    let fits = |(scale, blocks): &(f32, [Block; 6])| {
        let size = window.size() - vec2(2.0 * PADDING + 6.0, 2.0 * PADDING + TITLE_HEIGHT * scale);
        let (columns, width) = best_columns(blocks, size.x);
        let lines = columns.iter().map(|(blocks, ..)| lines(blocks)).max().unwrap_or(0) as f32;
        width <= size.x && lines * LINE_HEIGHTS.0 * scale <= size.y
    };
    let mut blocks = blocks.collect::<Vec<_>>();
    let found = blocks.iter().position(fits).unwrap_or(blocks.len() - 1);
    let (scale, blocks) = blocks.swap_remove(found);
    let title_height = TITLE_HEIGHT * scale;
    let rest = vec2(2.0 * PADDING + 6.0, 2.0 * PADDING + title_height);
    let room = (window.size() - rest).max(Vec2::ZERO);
    let (columns, width) = best_columns(&blocks, room.x);
    let all_lines = columns.iter().map(|(blocks, ..)| lines(blocks)).max().unwrap_or(0) as f32;
    let height = (room.y / all_lines).clamp(LINE_HEIGHTS.0 * scale, LINE_HEIGHTS.1 * scale).floor();
    let size = (vec2(width, all_lines * height) + rest).min(window.size());
    let rect = Rect::from_center_size(window.center(), size);
    let inner = rect.shrink2(vec2(PADDING + 3.0, PADDING));
    let mut ui = panel::ground_with(ui, rect, "keys", (theme::PANEL.to_opaque(), theme::PAD));
    ui.words(inner.min, Align2::LEFT_TOP, "Keys", 14.0 * scale, theme::STRONG);
    let corner = Rect::from_min_size(pos2(inner.right() - 24.0, inner.top() - 3.0), vec2(24.0, 24.0));
    let close = ui.put(corner, Button::new("\u{d7}").frame_when_inactive(false));
    close.named(Role::Button, "Close the table of keys").on_click(Action::ToggleKeys, &mut pass.actions);
    let reset = Rect::from_min_size(corner.left_top() - vec2(102.0, 0.0), vec2(96.0, 24.0));
    let hover = "Close all panels; those opened later are unfolded, at the right, in the default width";
    ui.put(reset, Button::new("Reset panels"))
        .explain(hover)
        .on_click(Action::ResetPanels, &mut pass.actions);
    let table = Rect::from_min_max(inner.min + vec2(0.0, title_height), inner.max);
    let mut ui = ui.new_child(UiBuilder::new().id_salt("table").max_rect(table));
    ScrollArea::vertical().id_salt("table").auto_shrink(false).show(&mut ui, |ui| {
        let size = vec2(ui.available_width(), all_lines * height);
        let (rows, _) = ui.allocate_exact_size(size, Sense::hover());
        let painter = ui.painter();
        for (blocks, keys_left, effect_left) in columns {
            let at = |x: f32, line: usize| pos2(rows.left() + x, rows.top() + line as f32 * height);
            let mut line = 0;
            for block in blocks {
                painter.galley(at(keys_left, line), Arc::clone(&block.title), theme::STRONG);
                for [keys, effect] in &block.rows {
                    line += 1;
                    let place = Rect::from_min_size(at(effect_left, line), effect.size());
                    describe::number(ui, place, effect.text(), keys.text());
                    painter.galley(at(keys_left, line), Arc::clone(keys), theme::SELECT);
                    painter.galley(place.min, Arc::clone(effect), theme::TEXT);
                }
                // A blank line before the next group.
                line += 2;
            }
        }
    });
}

/// Lays out the texts of all groups, in type that is larger than usual by the factor `scale`. `lacks_drops` adds a row.
fn blocks(ui: &Ui, scale: f32, lacks_drops: bool) -> [Block; 6] {
    let text = |text: &str, font, color| ui.painter().layout_no_wrap(text.to_owned(), font, color);
    let row = |(keys, effect): (&str, &str)| {
        let keys = text(keys, theme::figures(12.0 * scale), theme::SELECT);
        [keys, text(effect, theme::words(12.5 * scale), theme::TEXT)]
    };
    Topic::ALL.map(|topic| {
        let rows = BINDINGS.iter().filter(|row| row.topic == topic);
        // The first row, in addition, if the window system does not report dropped files: its key and effect.
        let no_drops =
            (lacks_drops && topic == Topic::Files).then_some(("Drop", "not on Wayland: o opens a file"));
        Block {
            title: text(&format!("{topic:?}"), theme::words(12.5 * scale), theme::STRONG),
            rows: no_drops.into_iter().chain(rows.map(|row| (&*row.keys, &*row.effect))).map(row).collect(),
        }
    })
}

/// Divides the groups into at most four columns, the lowest that are at most `room` points wide together. Returns them and their
/// width.
fn best_columns(blocks: &[Block], room: f32) -> (Vec<Column<'_>>, f32) {
    let fits = |(columns, width): &(Vec<Column>, f32)| columns.len() <= 4 && *width <= room;
    let least = blocks.chunks(1).map(lines).max().unwrap_or(1);
    let found = (least..lines(blocks)).map(|most| columns(split(blocks, most))).find(fits);
    found.unwrap_or_else(|| columns(vec![blocks]))
}

/// A group of rows in the table of keys, whose texts have been laid out.
struct Block {
    title: Arc<Galley>,
    /// The texts of the keys and of the effect in each row.
    rows: Vec<[Arc<Galley>; 2]>,
}

/// A column of the table: whole groups, one below the other, and the horizontal positions in points of the left edges of the
/// keys and of their effects.
type Column<'a> = (&'a [Block], f32, f32);

/// Returns a column for each of `parts`, from left to right, as wide as its texts, and the width in points of all columns.
fn columns(parts: Vec<&[Block]>) -> (Vec<Column<'_>>, f32) {
    let (mut columns, mut left) = (Vec::new(), 0.0);
    for blocks in parts {
        let rows = || blocks.iter().flat_map(|block| &block.rows);
        let widest = |which: usize| rows().map(|row| row[which].size().x).fold(0.0, f32::max);
        let effect = left + widest(0) + KEY_AND_COLUMN_GAPS.0;
        columns.push((blocks, left, effect));
        left = effect + widest(1) + KEY_AND_COLUMN_GAPS.1;
    }
    (columns, left - KEY_AND_COLUMN_GAPS.1)
}

/// Returns the number of lines of a column with these groups: their titles and rows, and a blank line between two groups.
fn lines(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.rows.len() + 2).sum::<usize>().saturating_sub(1)
}

/// Divides the groups into columns of at most `most` lines; no group has more.
fn split(blocks: &[Block], most: usize) -> Vec<&[Block]> {
    let (mut parts, mut first) = (Vec::new(), 0);
    for n in 0..blocks.len() {
        if lines(&blocks[first..=n]) > most {
            parts.push(&blocks[first..n]);
            first = n;
        }
    }
    parts.push(&blocks[first..]);
    parts
}
