//! The talk: a view of the ladder (the list of variants) for presentations. The variants that were shown so far have bars. The
//! selected variant has its time, its factor, its idea, and the heart of its kernel (the most important lines), in large type
//! that grows with the window. The picture stays visible beside the bars.

mod heart;

use egui::{Align2, Button, FontId, Rect, Role, Ui, pos2, vec2};

use super::comparison::Comparison;
use super::pass::Pass;
use super::scoreboard::{self, Board, Time};
use super::{Action, VariantRow, VariantStatus, access, code, device_name, facts, panel, theme};
use crate::access::Access as _;
use crate::hover::Explain as _;
use box_filter::{Group, VariantId, Work};
use engine::stats::Score;
pub use heart::heart;

/// The width and height in points of the window to which the sizes in this file refer; in other windows, the sizes grow and
/// shrink with the window.
const WINDOW: egui::Vec2 = vec2(1264.0, 704.0);
/// The least factor by which the sizes are multiplied in very small windows.
const MIN_UNIT: f32 = 0.1;
/// Width of the panel of bars, in points of a window of size [`WINDOW`], as are the sizes below.
const LADDER_WIDTH: f32 = 500.0;
/// Height of the line over the bars, with the radius, the picture's size and the device.
const HEAD_HEIGHT: f32 = 40.0;
/// Height of a row of the panel of bars.
const ROW_HEIGHT: f32 = 46.0;
/// Distances of the name and of the bar from the left edge of a row, and the width that is kept free for the time.
const ROW_PLACES: [f32; 3] = [46.0, 200.0, 128.0];
/// Height of the panel of the selected variant.
const VARIANT_HEIGHT: f32 = 330.0;
/// Heights of the title and of the idea in the panel of the selected variant.
const TITLE_AND_IDEA: [f32; 2] = [62.0, 60.0];
/// Space between the edges of a panel and its contents.
const PADDING: f32 = 16.0;
/// The least space between two texts of a line.
const GAP: f32 = 24.0;
/// The text in place of the heart (the most important lines) of a kernel in which no line is marked.
const UNMARKED: &str = "No line of this kernel is marked with // heart.";
/// The largest font size of the heart (the most important lines) of the kernel.
const CODE_SIZE: f32 = 26.0;

/// Returns those variants among `all` that are on the ladder, in the order of the talk: those that do the same work on the same
/// bytes, and whose times are device times.
pub(crate) fn order(all: impl IntoIterator<Item = VariantId>) -> Vec<VariantId> {
    let group = |id: &VariantId| Group::ALL.iter().position(|group| *group == id.group);
    let mut ids: Vec<VariantId> = all.into_iter().filter(|id| matches!(id.work, Work::Kernels(_))).collect();
    ids.sort_by_key(group);
    ids
}

/// Returns the variant of the ladder that is `steps` after `chosen`, or before it if `steps` is negative, but no further than
/// the ladder's ends. Skips unavailable variants. Returns `None` if there is no such variant, or it is `chosen`.
pub fn variant_after(
    rows: &[(VariantId, VariantStatus)],
    chosen: VariantId,
    steps: isize,
) -> Option<VariantId> {
    let can = |id: &VariantId| {
        rows.iter().any(|(of, status)| of == id && !matches!(status, VariantStatus::Unavailable(_)))
    };
    let ids: Vec<VariantId> = order(rows.iter().map(|(id, _)| *id)).into_iter().filter(can).collect();
    let count = ids.len() as isize;
    // A variant that is not on the ladder counts as before its first one or after its last one.
    let elsewhere = if steps > 0 { -1 } else { count };
    let at = ids.iter().position(|id| *id == chosen).map_or(elsewhere, |at| at as isize);
    let to = at.saturating_add(steps).min(count - 1).max(0);
    ids.get(to as usize).copied().filter(|id| *id != chosen)
}

/// The data that all parts of the talk (the presentation view) share.
struct Talk<'a> {
    board: Board<'a>,
    rows: Vec<&'a VariantRow<'a>>,
    /// The factor by which all sizes in points are multiplied.
    unit: f32,
}

/// Lays the talk out in `window`. Returns the part of `window` that stays free for the picture.
pub(crate) fn show(ui: &mut Ui, window: Rect, pass: &mut Pass) -> Rect {
    let view = pass.view;
    let ids = order(view.variants.iter().map(|row| row.id));
    let rows = ids.iter().filter_map(|id| view.variants.iter().find(|row| row.id == *id)).collect();
    let unit = (window.size() / WINDOW).min_elem().max(MIN_UNIT);
    let talk = Talk { board: Board::new(pass), rows, unit };
    let bottom = window.with_min_y((window.bottom() - VARIANT_HEIGHT * unit).max(window.top()));
    let above = window.with_max_y((bottom.top() - theme::GAP).max(window.top()));
    let height = (HEAD_HEIGHT + ROW_HEIGHT * talk.rows.len() as f32) * unit + theme::GAP;
    let size = vec2(LADDER_WIDTH * unit, height).min(above.size());
    let ladder = Rect::from_min_size(above.min, size);
    talk.show_ladder(ui, ladder, &mut pass.actions);
    talk.show_variant(ui, bottom);
    let close = show_close(ui, above, unit, &mut pass.actions);
    let free = above.with_max_x((close.left() - theme::GAP).max(above.left()));
    free.with_min_x((ladder.right() + theme::GAP).min(free.right()))
}

impl Talk<'_> {
    fn words(&self, size: f32) -> FontId {
        theme::words(size * self.unit)
    }

    fn figures(&self, size: f32) -> FontId {
        theme::figures(size * self.unit)
    }

    /// Returns the score (measured time) of a variant at the selected radius and the size of the picture; `None` if it was not
    /// measured there.
    fn score<'b>(&'b self, row: &VariantRow) -> Option<&'b Score> {
        match scoreboard::time_of(&self.board, row) {
            Time::Current(score) => Some(score),
            Time::Old(_) | Time::Unknown(_) => None,
        }
    }

    /// Lays out a bar for each variant of the ladder, below a line about the measurements.
    fn show_ladder(&self, ui: &mut Ui, rect: Rect, actions: &mut Vec<Action>) {
        let (unit, view) = (self.unit, self.board.view);
        let mut ui = panel::ground(ui, rect, "talk");
        let (width, height) = view.size();
        let device = view.device.map_or_else(
            || facts::without_device(view).0.to_owned(),
            |device| device_name::short_names(device).0,
        );
        let about = format!("r = {} \u{b7} {width} \u{d7} {height} \u{b7} {device}", view.radius);
        let at = rect.left_top() + vec2(PADDING, HEAD_HEIGHT / 2.0) * unit;
        let at = (at, Align2::LEFT_CENTER, rect.width() - 2.0 * PADDING * unit);
        let place = theme::elided_text(&ui, at, &about, (self.words(18.0), theme::TEXT));
        access::number(&ui, place, "Measured at", &about);
        let mut top = rect.top() + HEAD_HEIGHT * unit;
        for row in &self.rows {
            let size = vec2(rect.width() - 12.0, ROW_HEIGHT * unit);
            if self.show_row(&mut ui, Rect::from_min_size(pos2(rect.left() + 6.0, top), size), row) {
                actions.push(Action::SetVariant(row.id));
            }
            top += ROW_HEIGHT * unit;
        }
    }

    /// Lays out a variant's row: key, name, bar and time. Returns true if the user clicked it.
    fn show_row(&self, ui: &mut Ui, rect: Rect, row: &VariantRow) -> bool {
        let (unit, y) = (self.unit, rect.center().y);
        let (response, chosen) = scoreboard::variant_ground(ui, rect, &self.board, row);
        let [name, bar, time] = ROW_PLACES.map(|place| place * unit);
        let color = scoreboard::name_color(row, chosen);
        let text = |x: f32, align, text: String, font, color| {
            ui.painter().text(pos2(x, y), align, text, font, color);
        };
        text(
            rect.left() + 12.0 * unit,
            Align2::LEFT_CENTER,
            row.id.key.to_string(),
            self.figures(20.0),
            theme::WEAK,
        );
        text(rect.left() + name, Align2::LEFT_CENTER, row.id.to_string(), self.words(23.0), color);
        let half = 9.0 * unit;
        let room = Rect::from_min_max(pos2(rect.left() + bar, y - half), pos2(rect.right() - time, y + half));
        let is_wrong = row.status != VariantStatus::Ready || self.board.view.kernels.differs(row.id, None);
        let (value, font) = match scoreboard::time_of(&self.board, row) {
            Time::Current(score) => (format!("{} ms", scoreboard::score_text(score)), self.figures(21.0)),
            Time::Unknown(why) if is_wrong => (why, self.words(17.0)),
            Time::Old(_) | Time::Unknown(_) => (theme::UNKNOWN.to_owned(), self.figures(21.0)),
        };
        match self.score(row) {
            Some(score) => scoreboard::draw_bar(ui.painter(), room, self.board.bar_length(score), chosen),
            None => drop(ui.painter().rect_filled(room, 2, theme::TROUGH)),
        }
        let color = if chosen { theme::FILTER } else { theme::TEXT };
        text(rect.right() - 10.0 * unit, Align2::RIGHT_CENTER, value, font, color);
        response.clicked()
    }

    /// Lays out the panel of the selected variant: its title and time, its idea and factor, and the heart (the most important
    /// lines) of its kernel.
    fn show_variant(&self, ui: &mut Ui, rect: Rect) {
        let (unit, view) = (self.unit, self.board.view);
        let Some(row) = view.variants.iter().find(|row| row.id == view.chosen) else { return };
        let ui = panel::ground(ui, rect, "talk-variant");
        let inner = rect.shrink(PADDING * unit);
        let [title, idea] = TITLE_AND_IDEA.map(|height| inner.top() + height * unit);
        let score = self.score(row);
        let time_text = score.map_or_else(
            || theme::UNKNOWN.to_owned(),
            |score| format!("{} ms", scoreboard::score_text(score)),
        );
        let middle = (inner.top() + title) / 2.0 - 4.0 * unit;
        let at = pos2(inner.right(), middle);
        let time = ui.painter().text(at, Align2::RIGHT_CENTER, &time_text, self.figures(50.0), theme::FILTER);
        let at = (pos2(inner.left(), middle), Align2::LEFT_CENTER, time.left() - inner.left() - GAP * unit);
        theme::elided_text(&ui, at, row.title, (self.words(42.0), theme::STRONG));
        let busy = facts::pending_filter(view).filter(|busy| busy.variant == row.id);
        let factor = busy.map_or_else(|| self.factor(row, score), facts::progress);
        access::number(&ui, inner, row.title, &format!("{time_text}, {factor}"));
        let at = pos2(inner.right(), title);
        let factor = ui.painter().text(at, Align2::RIGHT_TOP, factor, self.words(25.0), theme::STRONG);
        let room = factor.left() - inner.left() - GAP * unit;
        let galley = ui.painter().layout(row.idea.to_owned(), self.words(23.0), theme::TEXT, room);
        ui.painter().galley(pos2(inner.left(), title), galley, theme::TEXT);
        let room = inner.with_min_y((title + idea - inner.top()).min(inner.bottom()));
        match view.heart {
            None => {}
            Some("") => {
                ui.painter().text(room.min, Align2::LEFT_TOP, UNMARKED, self.words(20.0), theme::WEAK);
            }
            Some(heart) => {
                let size = CODE_SIZE * unit;
                let galley = code::galley(&ui, heart, size);
                let fit = (room.size() / galley.size()).min_elem();
                let galley = if fit < 1.0 { code::galley(&ui, heart, size * fit * 0.98) } else { galley };
                ui.painter().galley(room.min, galley, theme::TEXT);
                access::number(&ui, room, "Heart of the kernel", heart);
            }
        }
    }

    /// Returns a text that says how many times as fast as the first available variant of the ladder a variant is.
    fn factor(&self, row: &VariantRow, score: Option<&Score>) -> String {
        let is_available = |row: &&&VariantRow| !matches!(row.status, VariantStatus::Unavailable(_));
        let base = self.rows.iter().find(is_available).filter(|_| self.rows.contains(&row));
        let times = base.and_then(|base| Some(((base.id, self.score(base)?), (row.id, score?))));
        match times {
            Some(((base, _), (id, _))) if base == id => "the baseline".to_owned(),
            Some((base, this)) => {
                let comparison = Comparison::between(base, this);
                let factor = comparison.factor().map(|factor| format!("{factor} as fast as {}", base.0));
                factor.or_else(|| comparison.progress()).unwrap_or_default()
            }
            None => theme::UNKNOWN.to_owned(),
        }
    }
}

/// Lays out the button that ends the talk, in the upper right corner of `area`. Returns its rectangle.
fn show_close(ui: &mut Ui, area: Rect, unit: f32, actions: &mut Vec<Action>) -> Rect {
    let size = egui::Vec2::splat((34.0 * unit).max(theme::CONTROL));
    let rect = Rect::from_min_size(area.right_top() - vec2(size.x, 0.0), size);
    let mut ui = panel::ground(ui, rect, "talk-close");
    let text = egui::RichText::new("\u{d7}").size(22.0 * unit);
    let button = Button::new(text).frame_when_inactive(false);
    let button = ui.put(rect, button).named(Role::Button, "End the talk");
    if button.explain("End the talk (F6, Esc)").clicked() {
        actions.push(Action::ToggleTalk);
    }
    rect
}
