//! The panel with the table of keys, which `?` opens, and the hint that is shown at the first start.

use std::sync::Arc;

use egui::{Align2, Galley, Rect, Role, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2, vec2};

use super::bindings::{BINDINGS, Topic};
use super::pass::Pass;
use super::{Action, access, panel, theme};
use crate::access::Access as _;
use crate::hover::Explain as _;

/// The row that the table has in addition if the window system does not report dropped files: its key and effect.
const NO_DROPS: (&str, &str) = ("Drop", "not on Wayland: o opens a file");

/// The least and the greatest height in points of a line of the table.
const LINE_HEIGHTS: (f32, f32) = (13.5, 20.0);
/// Space in points between the keys and their effects, and between two columns of the table.
const KEY_AND_COLUMN_GAPS: (f32, f32) = (12.0, 24.0);
/// The greatest number of columns of the table.
const MAX_COLUMNS: usize = 4;
/// Space in points around the table.
const PADDING: f32 = 7.0;
/// Height in points of the table's title.
const TITLE_HEIGHT: f32 = 25.0;

/// The hint that is shown at the first start, which names the key of the table.
pub(crate) const HINT: &str = "Press ? for all keys";

/// Lays the table out in the middle of `window`, in as many columns as fit. The table scrolls if the window is too low for it.
pub(crate) fn show(ui: &mut Ui, window: Rect, pass: &mut Pass) {
    let rest = vec2(2.0 * PADDING + 6.0, 2.0 * PADDING + TITLE_HEIGHT);
    let room = (window.size() - rest).max(Vec2::ZERO);
    let blocks = group_blocks(ui, pass.lacks_drops);
    let fits = |columns: &Columns| columns.columns.len() <= MAX_COLUMNS && columns.width <= room.x;
    let columns =
        (1..lines(&blocks)).filter_map(|lines| Some(Columns::new(split(&blocks, lines)?))).find(fits);
    let columns = columns.unwrap_or_else(|| Columns::new(vec![&blocks]));
    let height = (room.y / columns.lines as f32).clamp(LINE_HEIGHTS.0, LINE_HEIGHTS.1).floor();
    let size = (vec2(columns.width, columns.lines as f32 * height) + rest).min(window.size());
    let rect = Rect::from_center_size(window.center(), size);
    let inner = rect.shrink2(vec2(PADDING + 3.0, PADDING));
    let mut ui = panel::opaque_ground(ui, rect, "keys");
    ui.painter().text(inner.min, Align2::LEFT_TOP, "Keys", theme::words(14.0), theme::STRONG);
    let corner = Rect::from_min_size(pos2(inner.right() - 24.0, inner.top() - 3.0), vec2(24.0, 24.0));
    let close = ui.put(corner, egui::Button::new("\u{d7}").frame_when_inactive(false));
    if close.named(Role::Button, "Close the table of keys").clicked() {
        pass.actions.push(Action::ToggleKeys);
    }
    let reset = Rect::from_min_size(corner.left_top() - vec2(102.0, 0.0), vec2(96.0, 24.0));
    let hover = "Unfold all panels, and dock them to the right at the default width";
    if ui.put(reset, egui::Button::new("Reset panels")).explain(hover).clicked() {
        pass.actions.push(Action::ResetPanels);
    }
    let table = Rect::from_min_max(inner.min + vec2(0.0, TITLE_HEIGHT), inner.max);
    let mut ui = ui.new_child(UiBuilder::new().id_salt("table").max_rect(table));
    ScrollArea::vertical().id_salt("table").auto_shrink(false).show(&mut ui, |ui| {
        let size = vec2(ui.available_width(), columns.lines as f32 * height);
        let (rows, _) = ui.allocate_exact_size(size, Sense::hover());
        let painter = ui.painter();
        for column in columns.columns {
            let at = |x: f32, line: usize| pos2(rows.left() + x, rows.top() + line as f32 * height);
            let mut line = 0;
            for block in column.blocks {
                painter.galley(at(column.keys, line), Arc::clone(&block.title), theme::STRONG);
                for (n, [keys, effect]) in block.rows.iter().enumerate() {
                    let place = Rect::from_min_size(at(column.effect, line + 1 + n), effect.size());
                    access::number(ui, place, effect.text(), keys.text());
                    painter.galley(at(column.keys, line + 1 + n), Arc::clone(keys), theme::SELECT);
                    painter.galley(at(column.effect, line + 1 + n), Arc::clone(effect), theme::TEXT);
                }
                // A blank line before the next group.
                line += block.lines() + 1;
            }
        }
    });
}

/// A group of rows in the table of keys, whose texts have been laid out.
struct Block {
    title: Arc<Galley>,
    /// The texts of the keys and of the effect in each row.
    rows: Vec<[Arc<Galley>; 2]>,
}

impl Block {
    /// Returns the number of lines that the group takes, including its title.
    fn lines(&self) -> usize {
        1 + self.rows.len()
    }

    /// Returns the width in points of the widest text in one column of the group's rows: of the keys if `which` is 0, of the
    /// effects if it is 1.
    fn width(&self, which: usize) -> f32 {
        self.rows.iter().map(|row| row[which].size().x).fold(0.0, f32::max)
    }
}

/// Lays out the texts of all groups of the table; with the row [`NO_DROPS`] if `lacks_drops` is true.
fn group_blocks(ui: &Ui, lacks_drops: bool) -> Vec<Block> {
    let text = |text: &str, font, color| ui.painter().layout_no_wrap(text.to_owned(), font, color);
    let row = |(keys, effect): (&str, &str)| {
        let keys = text(keys, theme::figures(12.0), theme::SELECT);
        [keys, text(effect, theme::words(12.5), theme::TEXT)]
    };
    let block = |topic: Topic| {
        let rows = BINDINGS.iter().filter(|row| row.topic == topic);
        let no_drops = (lacks_drops && topic == Topic::Files).then_some(NO_DROPS);
        Block {
            title: text(topic.title(), theme::words(12.5), theme::STRONG),
            rows: rows.map(|row| (&*row.keys, &*row.effect)).chain(no_drops).map(row).collect(),
        }
    };
    Topic::ALL.map(block).into()
}

/// A column of the table: whole groups, one below the other.
struct Column<'a> {
    blocks: &'a [Block],
    /// The horizontal position in points of the keys' left edge.
    keys: f32,
    /// The horizontal position in points of the effects' left edge.
    effect: f32,
}

/// The table of keys, divided into columns that are as wide as their texts.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    lines: usize,
    width: f32,
}

impl<'a> Columns<'a> {
    /// Creates a column for each of `parts`, from left to right.
    fn new(parts: Vec<&'a [Block]>) -> Self {
        let lines = parts.iter().map(|blocks| lines(blocks)).max().unwrap_or(0);
        let (mut columns, mut left) = (Vec::new(), 0.0);
        for blocks in parts {
            let widest = |which: usize| blocks.iter().map(|block| block.width(which)).fold(0.0, f32::max);
            let effect = left + widest(0) + KEY_AND_COLUMN_GAPS.0;
            columns.push(Column { blocks, keys: left, effect });
            left = effect + widest(1) + KEY_AND_COLUMN_GAPS.1;
        }
        Self { columns, lines, width: left - KEY_AND_COLUMN_GAPS.1 }
    }
}

/// Returns the number of lines of a column with these groups, including a blank line between two groups.
fn lines(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.lines() + 1).sum::<usize>().saturating_sub(1)
}

/// Divides the groups into columns of at most `most` lines. Returns `None` if a group has more lines.
fn split(blocks: &[Block], most: usize) -> Option<Vec<&[Block]>> {
    let (mut parts, mut first) = (Vec::new(), 0);
    for (n, block) in blocks.iter().enumerate() {
        if block.lines() > most {
            return None;
        }
        if lines(&blocks[first..=n]) > most {
            parts.push(&blocks[first..n]);
            first = n;
        }
    }
    parts.push(&blocks[first..]);
    Some(parts)
}
