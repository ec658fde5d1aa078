//! The table of keys, which `?` opens, and the hint of the first start.

use std::sync::{Arc, LazyLock};

use egui::{Align2, Galley, Rect, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2, vec2};

use super::panels::Panel;
use super::switches::SWITCHES;
use super::{Action, ENTRIES, panel, theme};
use crate::hover::Explain as _;
use box_filter::Group;
use box_filter::VariantId;

/// A group of rows in the table of keys. The table lists the groups in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The twelve most useful rows of the table.
    Everyday,
    /// Seeking, speed and loops.
    Playing,
    /// Variants, radius, colour correction and wipe.
    Filter,
    /// Panels, scenes, sizes and fullscreen.
    View,
    /// Keys of panels with measurements.
    Measure,
    /// Opening and saving of files.
    Files,
}

impl Topic {
    /// All groups, in the order of the table.
    const ALL: [Self; 6] =
        [Self::Everyday, Self::Playing, Self::Filter, Self::View, Self::Measure, Self::Files];

    /// Returns the title of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::Everyday => "Everyday",
            Self::Playing => "Playing",
            Self::Filter => "Filter",
            Self::View => "View",
            Self::Measure => "Measure",
            Self::Files => "Files",
        }
    }
}

/// A row of the table of keys.
#[derive(Debug)]
pub struct KeyHelp {
    /// The group in which the row is listed.
    pub topic: Topic,
    /// The keys, as the table shows them.
    pub keys: String,
    /// Each key separately, such as `Ctrl+e`, `q`, `Space`.
    pub presses: Vec<String>,
    /// The effect of the keys, in a few words.
    pub effect: String,
}

/// Returns a row of the table of keys.
fn key(topic: Topic, keys: &str, presses: &[&str], effect: &str) -> KeyHelp {
    let presses = presses.iter().map(|&press| press.to_owned()).collect();
    KeyHelp { topic, keys: keys.to_owned(), presses, effect: effect.to_owned() }
}

/// Returns the rows of the table of keys that select variants; consecutive keys share a row, as in "1 to 5".
fn variant_keys() -> Vec<KeyHelp> {
    let row = |ids: &[VariantId], effect: &str| KeyHelp {
        // Digits are everyday keys, letters are not.
        topic: if ids[0].key().is_ascii_digit() { Topic::Everyday } else { Topic::Filter },
        keys: match ids {
            [first, .., last] => format!("{} to {}", first.key(), last.key()),
            _ => ids.iter().map(|id| id.key()).collect(),
        },
        presses: ids.iter().map(|id| id.key().to_string()).collect(),
        effect: effect.to_owned(),
    };
    let steps: Vec<VariantId> = Group::Steps.variants().collect();
    let mut keys = vec![row(&[VariantId::Off], "filter off"), row(&steps, "the steps of the ladder")];
    let mut others: Vec<VariantId> = Group::Beyond.variants().chain(Group::Others.variants()).collect();
    others.sort_by_key(|id| id.key());
    for ids in others.chunk_by(|a, b| a.key() as u32 + 1 == b.key() as u32) {
        let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        keys.push(row(ids, &names.join(", ")));
    }
    keys.push(row(&[VariantId::Own], "your own kernel"));
    keys
}

/// Returns the row of the table of keys for a panel's key.
fn panel_key(panel: Panel, (press, effect): (&str, &str)) -> KeyHelp {
    let topic = match panel {
        Panel::Kernels | Panel::Correction => Topic::Filter,
        _ => Topic::Measure,
    };
    key(topic, press, &[press], effect)
}

/// The rows of all keys, sorted by group. A test compares them with the bindings.
pub static KEYS: LazyLock<Vec<KeyHelp>> = LazyLock::new(|| {
    use Topic::{Everyday, Files, Filter, Playing, View};
    let mut keys = variant_keys();
    keys.extend(ENTRIES.iter().filter_map(|entry| Some(panel_key(entry.panel, entry.key?))));
    keys.extend([
        key(Everyday, "- =", &["-", "=", "+"], "radius: smaller, larger"),
        key(Everyday, "Space p", &["Space", "p"], "pause, resume"),
        key(Everyday, "Left Right", &["Left", "Right"], "5 seconds back, forward"),
        key(Everyday, "w x D", &["w", "x", "D"], "wipe, swap sides, difference"),
        key(Everyday, "o Ctrl O", &["o", "Ctrl+o"], "open a movie"),
        key(Everyday, "f", &["f"], "fullscreen"),
        key(Everyday, "i", &["i"], "show or hide the overlay"),
        key(Everyday, "? F1", &["?", "F1"], "this table"),
        key(Everyday, "q", &["q"], "quit"),
        key(Playing, ". ,", &[".", ","], "next frame, previous frame"),
        key(Playing, "Down Up", &["Down", "Up"], "1 minute back, forward"),
        key(
            Playing,
            "Shift arrows",
            &["Shift+Left", "Shift+Right", "Shift+Down", "Shift+Up"],
            "1 second, or 5 seconds",
        ),
        key(Playing, "Home", &["Home"], "start of the movie"),
        key(Playing, "PgUp PgDn", &["PageUp", "PageDown"], "chapter: next, previous; scene: size"),
        key(Playing, "[ ]", &["[", "]"], "slower, faster"),
        key(Playing, "Backspace", &["Backspace"], "normal speed"),
        key(Playing, "m", &["m"], "sound: off, on"),
        key(Playing, "/ *", &["/", "*"], "volume: lower, higher"),
        key(Playing, "#", &["#"], "next track of sound"),
        key(Playing, "l", &["l"], "A-B loop: start, end, off"),
        key(Playing, "L", &["L"], "loop the movie: on, off"),
        key(Playing, "< >", &["<", ">"], "previous movie, next movie"),
        key(Playing, "Right click", &[], "pause, resume"),
        key(Filter, "F5", &["F5"], "rebuild edited kernels"),
        key(Filter, "Ctrl D", &["Ctrl+d"], "next OpenCL device"),
        key(Filter, "Wheel", &[], "radius or time under the pointer"),
        key(View, "v", &["v"], "next scene: test card, cloth"),
        key(View, "F6", &["F6"], "talk: the ladder in large type"),
        key(View, "Arrows", &[], "in the talk: next, previous variant"),
        key(View, "Esc", &["Escape"], "leave the table, the talk, fullscreen"),
        key(View, "Double click", &[], "fullscreen"),
        key(View, "Ctrl + - 0", &["Ctrl++", "Ctrl+=", "Ctrl+-", "Ctrl+0"], "size of the overlay"),
        key(Files, "s", &["s"], "save the frame as PNG"),
        key(Files, "S", &["S"], "save the window as PNG"),
        key(Files, "Ctrl E", &["Ctrl+e"], "save statistics and a trace"),
        key(Files, "Ctrl R", &["Ctrl+r"], "save the run for clreel compare"),
    ]);
    keys.extend(SWITCHES.map(|switch| switch.key).map(|(press, effect)| key(View, press, &[press], effect)));
    keys.sort_by_key(|row| row.topic as u8);
    keys
});

/// The row of the table for a window on which files cannot be dropped.
const NO_DROPS: (&str, &str) = ("Drop", "not on Wayland: o opens a file");

/// The least and the greatest height in points of a line of the table.
const LINE_HEIGHTS: (f32, f32) = (13.5, 20.0);
/// Space in points between keys and their effects, and between two columns of the table.
const KEY_AND_COLUMN_GAPS: (f32, f32) = (12.0, 24.0);
/// The greatest number of columns of the table.
const MAX_COLUMNS: usize = 4;
/// Space in points around the table.
const PADDING: f32 = 7.0;
/// Height in points of the table's title.
const TITLE_HEIGHT: f32 = 25.0;

/// The hint of the first start, which names the key of the table.
pub(crate) const HINT: &str = "Press ? for all keys";

/// Lays the table out in the middle of `window`, in as many columns as fit; it scrolls where the window is too low. With
/// `lacks_drops`, a further row says that files cannot be dropped on the window.
pub(crate) fn show(ui: &mut Ui, window: Rect, lacks_drops: bool, actions: &mut Vec<Action>) {
    let rest = vec2(2.0 * PADDING + 6.0, 2.0 * PADDING + TITLE_HEIGHT);
    let room = (window.size() - rest).max(Vec2::ZERO);
    let blocks = group_blocks(ui, lacks_drops);
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
    let close = Rect::from_min_size(pos2(inner.right() - 24.0, inner.top() - 3.0), vec2(24.0, 24.0));
    if ui.put(close, egui::Button::new("\u{d7}").frame_when_inactive(false)).clicked() {
        actions.push(Action::ToggleKeys);
    }
    let reset = Rect::from_min_size(close.left_top() - vec2(102.0, 0.0), vec2(96.0, 24.0));
    let hover = "Unfold all panels, and dock them to the right at the default width";
    if ui.put(reset, egui::Button::new("Reset panels")).explain(hover).clicked() {
        actions.push(Action::ResetPanels);
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
                    painter.galley(at(column.keys, line + 1 + n), Arc::clone(keys), theme::SELECT);
                    painter.galley(at(column.effect, line + 1 + n), Arc::clone(effect), theme::TEXT);
                }
                // A blank line before the next group.
                line += block.lines() + 1;
            }
        }
    });
}

/// The laid-out texts of a group of keys.
struct Block {
    title: Arc<Galley>,
    /// The keys and the effect of each row.
    rows: Vec<[Arc<Galley>; 2]>,
}

impl Block {
    /// Returns the number of lines that the group takes, including the title.
    fn lines(&self) -> usize {
        1 + self.rows.len()
    }

    /// Returns the width in points of the widest text in one column of the group's rows: in the column of keys if `which`
    /// is 0, in that of effects if it is 1.
    fn width(&self, which: usize) -> f32 {
        self.rows.iter().map(|row| row[which].size().x).fold(0.0, f32::max)
    }
}

/// Lays out the texts of all groups; with `lacks_drops` also that of [`NO_DROPS`].
fn group_blocks(ui: &Ui, lacks_drops: bool) -> Vec<Block> {
    let no_drops = lacks_drops.then(|| key(Topic::Files, NO_DROPS.0, &[], NO_DROPS.1));
    let text = |text: &str, font, color| ui.painter().layout_no_wrap(text.to_owned(), font, color);
    let row = |row: &KeyHelp| {
        let keys = text(&row.keys, theme::figures(12.0), theme::SELECT);
        [keys, text(&row.effect, theme::words(12.5), theme::TEXT)]
    };
    let block = |topic: Topic| Block {
        title: text(topic.title(), theme::words(12.5), theme::STRONG),
        rows: KEYS.iter().chain(&no_drops).filter(|key| key.topic == topic).map(row).collect(),
    };
    Topic::ALL.map(block).into()
}

/// A column of the table: whole groups, one below the other.
struct Column<'a> {
    blocks: &'a [Block],
    /// The left edge of the texts of keys, in points.
    keys: f32,
    /// The left edge of the texts of effects, in points.
    effect: f32,
}

/// The table in columns that are as wide as their texts.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    lines: usize,
    width: f32,
}

impl<'a> Columns<'a> {
    /// Lays out a column for each of `parts`.
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

/// Returns the number of lines of a column with these groups, which blank lines separate.
fn lines(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.lines() + 1).sum::<usize>().saturating_sub(1)
}

/// Divides the groups into columns of at most `most` lines. Returns `None` if a group is longer than a column.
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
