//! The talk: a view of the ladder (the list of variants) for presentations. The variants that were shown so far have bars. The
//! selected variant has its time, its factor, its idea, and the heart of its kernel (the most important lines), in large type
//! that grows with the window. The picture stays visible beside the bars.

mod heart;

use box_filter::VariantId;
pub use heart::heart;
use stats::Score;

use crate::prelude::*;
use crate::scoreboard::{self, Board, Comparison};
use crate::{Subject, VariantRow, VariantStatus, code, device_name, facts, panel, words};

/// Height of the line over the bars, with the settings, the picture's size and the device.
const HEAD_HEIGHT: f32 = 40.0;
/// Height of a row of the panel of bars.
const ROW_HEIGHT: f32 = 46.0;
/// Space between the edges of a panel and its contents.
const PADDING: f32 = 16.0;
/// The least space between two texts of a line.
const GAP: f32 = 24.0;
/// The text in place of the heart (the most important lines) of a kernel in which no line is marked.
const UNMARKED: &str = "No line of this kernel is marked: end its important lines with // heart.";

/// Returns those variants among `all` that are on the ladder, in the order of the talk: those that do the same work on the same
/// bytes, and whose times are device times.
pub(crate) fn order(all: impl IntoIterator<Item = VariantId>) -> Vec<VariantId> {
    let mut ids: Vec<VariantId> = all.into_iter().filter(|id| id.is_comparable()).collect();
    ids.sort_by_key(|id| id.group as usize);
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

/// The places of the parts of the talk (the presentation view).
pub(crate) struct Places {
    /// The factor by which all sizes in points are multiplied.
    pub unit: f32,
    /// The panel of bars.
    pub ladder: Rect,
    /// The panel of the selected variant.
    pub variant: Rect,
    close: Rect,
    /// The part of the window that stays free for the picture.
    pub free: Rect,
}

impl Places {
    /// Places the parts of the talk in `window`.
    pub(crate) fn new(window: Rect, view: &View) -> Self {
        // The width and height in points of the window to which the sizes in this file refer; in other windows, the sizes grow and
        // shrink with the window. The least factor is for very small windows.
        let unit = (window.size() / vec2(1264.0, 704.0)).min_elem().max(0.1);
        // Height of the panel of the selected variant.
        let variant = window.with_min_y((window.bottom() - 330.0 * unit).max(window.top()));
        let above = window.with_max_y((variant.top() - theme::GAP).max(window.top()));
        let rows = order(view.variants.iter().map(|row| row.id)).len();
        let height = (HEAD_HEIGHT + ROW_HEIGHT * rows as f32) * unit + theme::GAP;
        // Width of the panel of bars.
        let size = vec2(580.0 * unit, height).min(above.size());
        let ladder = Rect::from_min_size(above.min, size);
        let size = Vec2::splat((34.0 * unit).max(theme::CONTROL));
        let close = Rect::from_min_size(above.right_top() - vec2(size.x, 0.0), size);
        let free = above.with_max_x((close.left() - theme::GAP).max(above.left()));
        let free = free.with_min_x((ladder.right() + theme::GAP).min(free.right()));
        Self { unit, ladder, variant, close, free }
    }
}

/// Lays the talk out.
pub(crate) fn show(ui: &mut Ui, places: &Places, pass: &mut Pass) {
    let view = pass.view;
    let &Places { unit, close, .. } = places;
    let ids = order(view.variants.iter().map(|row| row.id));
    let rows = ids.iter().filter_map(|id| view.variants.iter().find(|row| row.id == *id)).collect();
    let talk = Talk { board: Board::new(pass), rows, unit };
    talk.show_ladder(ui, places.ladder, &mut pass.actions);
    talk.show_variant(ui, places.variant);
    let mut ui = panel::ground(ui, close, "talk-close");
    let button = Button::new(RichText::new("\u{d7}").size(22.0 * unit)).frame_when_inactive(false);
    let button = ui.put(close, button).named(Role::Button, "End the talk");
    button.explain("End the talk (F6, Esc)").on_click(Action::ToggleTalk, &mut pass.actions);
}

impl Talk<'_> {
    /// Returns the score (measured time) of a variant with the selected settings and the size of the picture; `None` if it was not
    /// measured there.
    fn score(&self, row: &VariantRow) -> Option<&Score> {
        match scoreboard::time_of(&self.board, row) {
            Ok((score, None)) => Some(score),
            _ => None,
        }
    }

    /// Lays out a bar for each variant of the ladder, below a line about the measurements.
    fn show_ladder(&self, ui: &mut Ui, rect: Rect, actions: &mut Vec<Action>) {
        let (unit, view) = (self.unit, self.board.view);
        let ui = panel::ground(ui, rect, "talk");
        let (width, height) = view.size();
        let device = view.device.map_or_else(
            || facts::without_device(view).0.to_owned(),
            |device| device_name::short_names(device).0,
        );
        let about = facts::settings_text(view.chosen, view.settings);
        let about = format!("{about} \u{b7} {width} \u{d7} {height} \u{b7} {device}");
        let about = about.trim_start_matches(" \u{b7} ");
        let at = rect.left_top() + vec2(PADDING, HEAD_HEIGHT / 2.0) * unit;
        let at = (at, Align2::LEFT_CENTER, rect.width() - 2.0 * PADDING * unit);
        describe::text(&ui, "Measured at", at, about, (18.0 * unit, theme::TEXT));
        let mut top = rect.top() + HEAD_HEIGHT * unit;
        let height =
            ((rect.bottom() - theme::GAP * unit - top) / self.rows.len() as f32).min(ROW_HEIGHT * unit);
        for row in &self.rows {
            let size = vec2(rect.width() - 12.0, height);
            self.show_row(&ui, Rect::from_min_size(pos2(rect.left() + 6.0, top), size), row, actions);
            top += height;
        }
    }

    /// Lays out a variant's row: key, name, bar and time. A click selects the variant.
    fn show_row(&self, ui: &Ui, rect: Rect, row: &VariantRow, actions: &mut Vec<Action>) {
        let (unit, y, view) = (self.unit, rect.center().y, self.board.view);
        let (response, chosen) = scoreboard::variant_ground(ui, rect, &self.board, row);
        // Distances of the name and of the bar from the left edge of a row, and the widths that are kept free for the time, and
        // for the factor from step to step.
        let [name, bar, time, step] = [46.0, 200.0, 158.0, 84.0].map(|place| place * unit);
        let color = scoreboard::name_color(row, chosen);
        let key = pos2(rect.left() + 12.0 * unit, y);
        ui.figures(key, Align2::LEFT_CENTER, row.id.key, 20.0 * unit, theme::WEAK);
        let version = view.kernels.edited_version(row.id).map(|version| format!("edited: version {version}"));
        let shift = if version.is_some() { 8.0 * unit } else { 0.0 };
        let at = pos2(rect.left() + name, y);
        ui.words(at - vec2(0.0, shift), Align2::LEFT_CENTER, row.id, 23.0 * unit, color);
        if let Some(version) = version {
            let at = at + vec2(0.0, 2.0 * shift - 2.0 * unit);
            ui.words(at, Align2::LEFT_CENTER, version, 13.0 * unit, theme::WARN);
        }
        let half = 9.0 * unit;
        let right = rect.right() - time - step;
        let room = Rect::from_min_max(pos2(rect.left() + bar, y - half), pos2(right, y + half));
        if let Some((factor, _)) = self.board.step_factor(row) {
            ui.figures(pos2(right + step, y), Align2::RIGHT_CENTER, factor, 18.0 * unit, theme::TEXT);
        }
        let is_wrong =
            row.status != VariantStatus::Ready || view.kernels.differs(Subject::Variant(row.id), None);
        let at = pos2(rect.right() - 10.0 * unit, y);
        let color = if chosen { theme::FILTER } else { theme::TEXT };
        let mut length = 0.0;
        match scoreboard::time_of(&self.board, row) {
            Ok((score, None)) => {
                length = self.board.scale.bar_length(score.ms);
                ui.figures(at, Align2::RIGHT_CENTER, scoreboard::score_text(score), 21.0 * unit, color)
            }
            Err(why) if is_wrong => {
                // The reason takes the place of the bar.
                ui.words(at, Align2::RIGHT_CENTER, why, 17.0 * unit, color);
                return response.on_click(Action::SetVariant(row.id), actions);
            }
            _ => ui.figures(at, Align2::RIGHT_CENTER, theme::UNKNOWN, 21.0 * unit, color),
        };
        scoreboard::draw_bar(ui.painter(), room, length, chosen);
        response.on_click(Action::SetVariant(row.id), actions);
    }

    /// Lays out the panel of the selected variant: its title and time, its idea and factor, and the heart (the most important
    /// lines) of its kernel.
    fn show_variant(&self, ui: &mut Ui, rect: Rect) {
        let (unit, view) = (self.unit, self.board.view);
        let Some(row) = view.variants.iter().find(|row| row.id == view.chosen) else { return };
        let ui = panel::ground(ui, rect, "talk-variant");
        let inner = rect.shrink(PADDING * unit);
        // Heights of the title and of the idea in the panel of the selected variant.
        let [title, idea] = [62.0, 60.0].map(|height| inner.top() + height * unit);
        let score = self.score(row);
        let time_text = score.map_or_else(|| theme::UNKNOWN.to_owned(), scoreboard::score_text);
        let middle = (inner.top() + title) / 2.0 - 4.0 * unit;
        let at = pos2(inner.right(), middle);
        let time = ui.figures(at, Align2::RIGHT_CENTER, &time_text, 50.0 * unit, theme::FILTER);
        let at = (pos2(inner.left(), middle), Align2::LEFT_CENTER, time.left() - inner.left() - GAP * unit);
        theme::elided_text(&ui, at, row.id.title, (42.0 * unit, theme::STRONG));
        if let Some(busy) = facts::slow_filter(view) {
            // In the space above the title, so that the texts stay where they are.
            let bar =
                Rect::from_x_y_ranges(inner.x_range(), rect.top() + 5.0 * unit..=rect.top() + 13.0 * unit);
            let done = busy.fraction.clamp(0.0, 1.0);
            scoreboard::draw_bar(ui.painter(), bar, done, false);
            let text = facts::frame_progress(view, busy);
            describe::number(&ui, bar, "Frame", &text);
        }
        let busy = facts::pending_filter(view).filter(|busy| busy.variant == row.id);
        let factor = busy.map_or_else(|| self.factor(row, score), |busy| facts::progress(view, busy));
        let both = if factor.is_empty() { time_text } else { format!("{time_text}, {factor}") };
        describe::number(&ui, inner, row.id.title, &both);
        let at = pos2(inner.right(), title);
        let factor = ui.words(at, Align2::RIGHT_TOP, factor, 25.0 * unit, theme::STRONG);
        let room = factor.left() - inner.left() - GAP * unit;
        let galley = ui.painter().layout(row.idea.to_owned(), theme::words(23.0 * unit), theme::TEXT, room);
        ui.painter().galley(pos2(inner.left(), title), galley, theme::TEXT);
        let mut room = inner.with_min_y((title + idea - inner.top()).min(inner.bottom()));
        if let Some(version) = view.kernels.edited_version(row.id) {
            let at = inner.right_bottom() + vec2(0.0, 8.0 * unit);
            let text = words::edited_text(row.id, version);
            let text = ui.words(at, Align2::RIGHT_BOTTOM, text, 20.0 * unit, theme::WARN);
            room = room.with_max_y(text.top().max(room.top()));
        }
        match view.heart {
            None => {}
            Some("") => {
                ui.words(room.min, Align2::LEFT_TOP, UNMARKED, 20.0 * unit, theme::WEAK);
            }
            Some(heart) => {
                // The largest font size of the heart (the most important lines) of the kernel.
                let size = 26.0 * unit;
                let galley = code::galley(&ui, heart, size, f32::INFINITY);
                let fit = (room.size() / galley.size()).min_elem();
                let galley = if fit < 1.0 {
                    code::galley(&ui, heart, size * fit * 0.98, f32::INFINITY)
                } else {
                    galley
                };
                ui.painter().galley(room.min, galley, theme::TEXT);
                describe::number(&ui, room, "Heart of the kernel", heart);
            }
        }
    }

    /// Returns a variant's name with the version of its edited kernels.
    fn name(&self, row: &VariantRow) -> String {
        self.board.view.kernels.name(row.id)
    }

    /// Returns a text that says how many times as fast as the first available variant of the ladder a variant is; empty for one
    /// that was not measured, and for one that other clocks time.
    fn factor(&self, row: &VariantRow, score: Option<&Score>) -> String {
        let is_available = |row: &&&VariantRow| !matches!(row.status, VariantStatus::Unavailable(_));
        let base = self.rows.iter().find(is_available).filter(|_| self.rows.contains(&row));
        let times = base.and_then(|base| Some((base, self.score(base)?, score?)));
        match times {
            Some((base, ..)) if base.id == row.id => "the baseline".to_owned(),
            Some((base, before, this)) => {
                let base = self.name(base);
                let factor = Comparison::between((&base, before), (&self.name(row), this)).factor;
                factor.map_or_else(|progress| progress, |factor| format!("{factor} as fast as {base}"))
            }
            // A factor that will follow is announced; a variant that other clocks time has none.
            None => match base.filter(|base| score.is_some() && base.id != row.id) {
                Some(base) => format!("not compared: {} was not measured", self.name(base)),
                None => String::new(),
            },
        }
    }
}
