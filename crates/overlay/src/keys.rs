//! The keys: one table for the panel that `?` opens and for the first-run hint.

use std::sync::{Arc, LazyLock};

use egui::{Align2, Galley, Rect, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2, vec2};

use super::scopes::SWITCHES;
use super::{Action, ENTRIES, panel, theme};
use box_filter::Group;
use box_filter::VariantId;

/// A line of the table.
#[derive(Debug)]
pub struct KeyHelp {
    /// The keys as they are shown.
    pub keys: String,
    /// The same keys one by one, as in `Ctrl+e`, `q`, `Space`.
    pub presses: Vec<String>,
    /// What they do, in a few words.
    pub does: String,
}

fn key(keys: &str, presses: &[&str], does: &str) -> KeyHelp {
    let presses = presses.iter().map(|&press| press.to_owned()).collect();
    KeyHelp { keys: keys.to_owned(), presses, does: does.to_owned() }
}

/// The keys of some rungs: those that follow each other are one line, as in "1 to 5".
fn of_rungs(rungs: impl Iterator<Item = VariantId>, does: impl Fn(&[VariantId]) -> String) -> Vec<KeyHelp> {
    let mut rungs: Vec<VariantId> = rungs.collect();
    rungs.sort_by_key(|id| id.key());
    let lines = rungs.chunk_by(|a, b| a.key() as u32 + 1 == b.key() as u32);
    let line = |ids: &[VariantId]| KeyHelp {
        keys: match ids {
            [first, .., last] => format!("{} to {}", first.key(), last.key()),
            _ => ids.iter().map(|id| id.key()).collect(),
        },
        presses: ids.iter().map(|id| id.key().to_string()).collect(),
        does: does(ids),
    };
    lines.map(line).collect()
}

/// The keys of all rungs.
fn rungs() -> Vec<KeyHelp> {
    let names = |ids: &[VariantId]| ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
    let others = Group::Beyond.rungs().chain(Group::Others.rungs());
    let mut keys = of_rungs(Group::Off.rungs(), |_| "filter off".to_owned());
    keys.extend(of_rungs(Group::Steps.rungs(), |_| "the ladder's variants".to_owned()));
    keys.extend(of_rungs(others, names));
    keys.extend(of_rungs([VariantId::Own].into_iter(), |_| "a kernel of your own".to_owned()));
    keys
}

/// All keys. A test holds it against the bindings.
pub static KEYS: LazyLock<Vec<KeyHelp>> = LazyLock::new(|| {
    let mut keys = rungs();
    keys.extend([
        key("- =", &["-", "=", "+"], "radius"),
        key("Space p", &["Space", "p"], "pause, go on"),
        key(". ,", &[".", ","], "next frame, frame before"),
        key("Left Right", &["Left", "Right"], "5 seconds back, on"),
        key("Down Up", &["Down", "Up"], "a minute back, on"),
        key(
            "Shift arrows",
            &["Shift+Left", "Shift+Right", "Shift+Down", "Shift+Up"],
            "a second, 5 seconds back or on",
        ),
        key("Home", &["Home"], "to the beginning"),
        key("v", &["v"], "next scene: movie, test card, shirts"),
        key("w x D", &["w", "x", "D"], "wipe, swap, how they differ"),
        key("PgUp PgDn", &["PageUp", "PageDown"], "chapter, or size of the scene"),
        key("[ ]", &["[", "]"], "slower, faster"),
        key("Backspace", &["Backspace"], "the movie's own speed"),
        key("l", &["l"], "repeat a part: begin, end, none"),
        key("L", &["L"], "repeat the movie or not"),
    ]);
    keys.extend(ENTRIES.iter().filter_map(|panel| panel.key).map(|(press, does)| key(press, &[press], does)));
    keys.extend(SWITCHES.map(|switch| switch.key).map(|(press, does)| key(press, &[press], does)));
    keys.extend([
        key("F5", &["F5"], "build edited kernels now"),
        key("f", &["f"], "fullscreen"),
        key("Esc", &["Escape"], "leave this panel, fullscreen"),
        key("i", &["i"], "overlay"),
        key("? F1", &["?", "F1"], "these keys"),
        key("o Ctrl O", &["o", "Ctrl+o"], "open a movie"),
        key("< >", &["<", ">"], "previous, next movie"),
        key("s", &["s"], "save the frame as PNG"),
        key("S", &["S"], "save the window as PNG"),
        key("Ctrl D", &["Ctrl+d"], "next OpenCL device"),
        key("Ctrl E", &["Ctrl+e"], "save the statistics and a trace"),
        key("Ctrl + - 0", &["Ctrl++", "Ctrl+=", "Ctrl+-", "Ctrl+0"], "size of the overlay"),
        key("q", &["q"], "quit"),
        key("Double click", &[], "fullscreen"),
        key("Right click", &[], "pause, go on"),
        key("Wheel", &[], "radius, time: over either"),
    ]);
    keys
});

/// Height of a line, at least and at most.
const LINE: (f32, f32) = (13.5, 20.0);
/// Between the keys and what they do, and between two columns.
const APART: (f32, f32) = (12.0, 24.0);
const MOST_COLUMNS: usize = 4;
/// Space round the table and height of its title.
const EDGE: f32 = 7.0;
const HEAD: f32 = 25.0;

/// What the first start says.
pub(crate) fn hint() -> String {
    "? shows the keys".to_owned()
}

/// The table in the middle of `window`: in the fewest columns that show all of it, as far as the width goes; it scrolls where
/// that is too little.
pub(crate) fn show(ui: &mut Ui, window: Rect, actions: &mut Vec<Action>) {
    let rest = vec2(2.0 * EDGE + 6.0, 2.0 * EDGE + HEAD);
    let room = (window.size() - rest).max(Vec2::ZERO);
    let wide = |count: &usize| Columns::new(ui, *count).filter(|columns| columns.width <= room.x);
    let least = Columns::new(ui, 1);
    let columns = (1..=MOST_COLUMNS).map_while(|count| wide(&count));
    let Some(columns) = fewest(columns, room.y).or(least) else { return };
    let height = (room.y / columns.lines as f32).clamp(LINE.0, LINE.1).floor();
    let size = (vec2(columns.width, columns.lines as f32 * height) + rest).min(window.size());
    let rect = Rect::from_center_size(window.center(), size);
    let inner = rect.shrink2(vec2(EDGE + 3.0, EDGE));
    let mut ui = panel::over(ui, rect, "keys");
    ui.painter().text(inner.min, Align2::LEFT_TOP, "Keys", theme::words(14.0), theme::STRONG);
    let close = Rect::from_min_size(pos2(inner.right() - 24.0, inner.top() - 3.0), vec2(24.0, 24.0));
    if ui.put(close, egui::Button::new("\u{d7}").frame_when_inactive(false)).clicked() {
        actions.push(Action::ToggleKeys);
    }
    let reset = Rect::from_min_size(close.left_top() - vec2(102.0, 0.0), vec2(96.0, 24.0));
    let hover = "Put the panels back where they belong, unfolded where there is room";
    if ui.put(reset, egui::Button::new("Reset panels")).on_hover_text(hover).clicked() {
        actions.push(Action::ResetPanels);
    }
    let table = Rect::from_min_max(inner.min + vec2(0.0, HEAD), inner.max);
    let mut ui = ui.new_child(UiBuilder::new().id_salt("table").max_rect(table));
    ScrollArea::vertical().id_salt("table").auto_shrink(false).show(&mut ui, |ui| {
        let size = vec2(ui.available_width(), columns.lines as f32 * height);
        let (rows, _) = ui.allocate_exact_size(size, Sense::hover());
        for (n, [keys, does]) in columns.texts.into_iter().enumerate() {
            let (keys_x, does_x) = columns.at[n / columns.lines];
            let y = rows.top() + (n % columns.lines) as f32 * height;
            ui.painter().galley(pos2(rows.left() + keys_x, y), keys, theme::SELECT);
            ui.painter().galley(pos2(rows.left() + does_x, y), does, theme::TEXT);
        }
    });
}

/// The first that shows all in this height; else the last.
fn fewest(columns: impl Iterator<Item = Columns>, height: f32) -> Option<Columns> {
    let mut last = None;
    for columns in columns {
        let fits = columns.lines as f32 * LINE.0 <= height;
        last = Some(columns);
        if fits {
            break;
        }
    }
    last
}

/// The table in columns that are as wide as their texts.
struct Columns {
    texts: Vec<[Arc<Galley>; 2]>,
    lines: usize,
    /// Where the keys of each begin, and what they do.
    at: Vec<(f32, f32)>,
    width: f32,
}

impl Columns {
    fn new(ui: &Ui, count: usize) -> Option<Self> {
        let text = |text: &str, font, color| ui.painter().layout_no_wrap(text.to_owned(), font, color);
        let texts = KEYS.iter().map(|line| {
            let keys = text(&line.keys, theme::figures(12.0), theme::SELECT);
            [keys, text(&line.does, theme::words(12.5), theme::TEXT)]
        });
        let texts: Vec<[Arc<Galley>; 2]> = texts.collect();
        let lines = texts.len().div_ceil(count.max(1)).max(1);
        let (mut at, mut left) = (Vec::new(), 0.0);
        for column in texts.chunks(lines) {
            let widest = |which: usize| column.iter().map(|line| line[which].size().x).fold(0.0, f32::max);
            let does = left + widest(0) + APART.0;
            at.push((left, does));
            left = does + widest(1) + APART.1;
        }
        (!texts.is_empty()).then_some(Self { texts, lines, at, width: left - APART.1 })
    }
}
