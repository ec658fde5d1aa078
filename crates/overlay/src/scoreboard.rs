//! The panel of the ladder (the list of the filter's variants): a button for each variant with its last measured time as a bar.
//! Without room for this panel, `cells.rs` shows the variants in the strip along the bottom.

use base::timing::noise;
use box_filter::{Group, Settings, VariantId};
use stats::{Score, Scores};

use crate::ladder_column::{LadderColumn, columns};
use crate::prelude::*;
use crate::{Subject, VariantRow, VariantStatus, axes, facts, panel, why, words};

/// The width in points of the ladder's panel.
pub(crate) const WIDTH: f32 = 344.0;
/// Height in points of the panel's title bar, which compares the fastest and the slowest kernel.
pub(crate) const TITLE_HEIGHT: f32 = 42.0;
/// Space in points between two groups of variants.
const GROUP_GAP: f32 = 7.0;
/// Distance in points of a bar from the left edge of its row.
const BAR_LEFT: f32 = 110.0;
/// Width in points of the column with the factor from step to step, between a bar and its time.
const STEP_WIDTH: f32 = 46.0;
/// Width in points that is kept free for the time, right of a bar.
const TIME_WIDTH: f32 = 80.0;
/// Width in points of a column of times, and of the space left of it.
const COLUMN_WIDTH: f32 = 74.0;
/// Height in points of the heads of the columns, which are there if there is more than one.
const COLUMN_HEAD_HEIGHT: f32 = 15.0;
/// The least width in points of the room for a variant's bar in which the bar is drawn.
const MIN_BAR_WIDTH: f32 = 20.0;
/// The least width in points of a verdict in a row of the ladder. Where there is less, only the hover text has it.
const MIN_VERDICT_WIDTH: f32 = 50.0;
/// The least and the greatest height of a row, in points.
const ROW_HEIGHTS: (f32, f32) = (20.0, 27.0);

/// Height in points of the selected variant's idea and the reasons for its time, below the rows.
const NOTE_HEIGHT: f32 = 96.0;
/// Height in points of the panel without its rows and the note below them.
const REST: f32 = TITLE_HEIGHT + GROUP_GAP * (Group::ALL.len() as f32 - 1.0) + theme::PAD;

/// Returns the heights in points of a row, and of the note below the rows, in a panel that is at most `room` points high. The
/// note's height is 0 if the panel has no room for it.
fn row_and_note(variants: usize, room: f32) -> (f32, f32) {
    let (rows, room) = (variants as f32, room - REST);
    let note = if room >= rows * ROW_HEIGHTS.0 + NOTE_HEIGHT { NOTE_HEIGHT } else { 0.0 };
    (((room - note) / rows).clamp(ROW_HEIGHTS.0, ROW_HEIGHTS.1).floor(), note)
}

/// Returns the height in points of the panel for this number of variants, in a space that is `room` points high.
pub(crate) fn height(variants: usize, room: f32) -> f32 {
    let (row, note) = row_and_note(variants, room);
    REST + variants as f32 * row + note
}

/// Returns the greatest height in points of the panel without a note, for this number of variants.
pub(crate) fn height_without_note(variants: usize) -> f32 {
    REST + variants as f32 * ROW_HEIGHTS.1
}

/// Returns the part of the panel `ladder` that has the names of the variants.
pub(crate) fn names(ladder: Rect) -> Rect {
    ladder.with_min_y((ladder.top() + TITLE_HEIGHT).min(ladder.bottom())).with_max_x(ladder.left() + BAR_LEFT)
}

/// The logarithmic axis of the variants' bars. Its ends are logarithms to base 10 of times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// The logarithm at the left end of the axis.
    low: f64,
    /// The logarithm at the right end of the axis.
    high: f64,
}

impl Scale {
    /// Creates an axis that contains these times, which are in milliseconds. On the axis of fewer than two times, which compares
    /// nothing, bars have no length.
    pub(crate) fn for_times(times: impl Iterator<Item = f64>) -> Self {
        let times: Vec<f64> = times.filter(|ms| ms.is_finite() && *ms > 0.0).collect();
        let range = axes::positive_range(times.iter().copied()).filter(|_| times.len() > 1);
        let Some((least, most)) = range else { return Self { low: 0.0, high: f64::INFINITY } };
        // The shortest bar must be visible.
        let low = least.log10() - 0.3;
        // The least number of powers of ten that the axis of the bars spans.
        Self { low, high: (most.log10() + 0.05).max(low + 3.0) }
    }

    /// Returns the length of the bar for a time in milliseconds, as a fraction of the axis.
    pub(crate) fn bar_length(self, ms: f64) -> f32 {
        if self.high.is_infinite() {
            return 0.0;
        }
        (((ms.max(1e-9).log10() - self.low) / (self.high - self.low)) as f32).clamp(0.02, 1.0)
    }
}

/// The data that the rows of all variants share: the view, the scores (last measured times), and the axis of the bars.
pub(super) struct Board<'a> {
    pub(super) view: &'a View<'a>,
    scores: &'a Scores,
    pub(super) scale: Scale,
    /// The columns beside the times of the device in use, from left to right.
    columns: Vec<LadderColumn>,
    /// The number of the columns that are left of the times of the device in use.
    left: usize,
    /// The variant that the keys of variants change: the selected one, or that of a wipe's right side.
    target: VariantId,
}

impl<'a> Board<'a> {
    /// Creates the data for the rows of all variants, with an axis that contains all measured times.
    pub(super) fn new(pass: &Pass<'a>) -> Self {
        let (view, scores) = (pass.view, &pass.numbers.scores);
        let times = view.variants.iter().filter_map(|row| Some(scores.of(row.id)?.ms));
        let (mut columns, right) = columns(view);
        let left = columns.len();
        columns.extend(right);
        let keys_side = view.wipe.filter(|_| pass.keys_go_right).map(|wipe| wipe.sides[1].variant);
        let target = keys_side.unwrap_or(view.chosen);
        Self { view, scores, scale: Scale::for_times(times), columns, left, target }
    }

    /// Returns the distances of the right ends of the columns from the right end of the last one: that of the device in use, and
    /// those of the others.
    fn column_shifts(&self) -> (f32, impl Iterator<Item = (f32, &LadderColumn)>) {
        let last = self.columns.len();
        let shift = move |slot: usize| COLUMN_WIDTH * (last - slot) as f32;
        let others = self.columns.iter().enumerate();
        let slots = others.map(move |(n, column)| (shift(n + usize::from(n >= self.left)), column));
        (shift(self.left), slots)
    }

    /// Returns true for each side of the wipe, the left and the right one, that a variant filters.
    fn sides(&self, id: VariantId) -> [bool; 2] {
        self.view.wipe.map_or([false; 2], |wipe| wipe.sides.map(|side| side.variant == id))
    }

    /// Returns a variant's time as text, with its [`Board::step_factor`], or the reason why there is none, and its times in the other
    /// columns.
    fn time_text(&self, row: &VariantRow) -> String {
        let version = self.view.kernels.edited_version(row.id).map(|version| format!("version {version}, "));
        let mut text = side_text(self.sides(row.id)).map_or_else(String::new, |side| format!("{side}, "));
        text.push_str(&version.unwrap_or_default());
        text.push_str(&match time_of(self, row) {
            Ok((score, None)) => match self.step_factor(row) {
                Some((factor, before)) => format!("{}, {factor} as fast as {before}", score_text(score)),
                None => score_text(score),
            },
            Ok((score, Some(setting))) => format!("{} {setting}", score_text(score)),
            Err(why) => why,
        });
        for column in &self.columns {
            text.push_str(&format!("; {}: {}", column.title, self.column_text(column, row)));
            if let Some(verdict) = column.verdicts.sentence(row.id, self.at()) {
                text.push_str(&format!(", {verdict}"));
            }
        }
        text
    }

    /// Returns the current settings and the size of the picture.
    fn at(&self) -> (Settings, (u32, u32)) {
        (self.view.settings, self.view.size())
    }

    /// Returns a variant's time with the current settings and size in another column as text.
    fn column_text(&self, column: &LadderColumn, row: &VariantRow) -> String {
        let score = column.score(row.id, self.at());
        score.map_or_else(|| theme::UNKNOWN.to_owned(), score_text)
    }

    /// Returns how many times as fast as the step before it a variant of the ladder is, and that step's name. Returns `None` if one of
    /// them has too few times with these settings and this size.
    pub(super) fn step_factor(&self, row: &VariantRow) -> Option<(String, String)> {
        let is_step = |other: &&VariantRow| {
            other.id.is_comparable()
                && other.id.group != Group::Others
                && !matches!(other.status, VariantStatus::Unavailable(_))
        };
        let steps: Vec<_> = variants_by_group(self.view).into_iter().filter(is_step).collect();
        let before = steps[..steps.iter().position(|step| step.id == row.id)?].last()?;
        let score =
            |row| time_of(self, row).ok().filter(|(_, other)| other.is_none()).map(|(score, _)| score);
        let name = |row: &VariantRow| self.view.kernels.name(row.id);
        let before_name = name(before);
        let compared = Comparison::between((&before_name, score(before)?), (&name(row), score(row)?));
        Some((compared.factor.ok()?, before_name))
    }
}

/// Draws a bar whose length is this fraction of the width of `room`. `shown` is true for the variant of the picture on the
/// screen.
pub(super) fn draw_bar(painter: &Painter, room: Rect, length: f32, shown: bool) {
    painter.rect_filled(room, 2, theme::TROUGH);
    let color = if shown { theme::FILTER } else { theme::FILTER_DIM };
    if length > 0.0 {
        painter.rect_filled(room.with_max_x(room.left() + room.width() * length), 2, color);
    }
}

/// Returns the last measured filter time of a variant, and the settings or the size with which it was measured as text if these are
/// not the current ones; otherwise the reason why there is no time.
pub(super) fn time_of<'a>(
    board: &Board<'a>,
    row: &VariantRow,
) -> Result<(&'a Score, Option<String>), String> {
    let view = board.view;
    match (board.scores.of(row.id), &row.status) {
        (_, VariantStatus::Unavailable(_)) => Err("not available".to_owned()),
        // A score may be of a frame that was filtered by the version before.
        _ if view.kernels.differs(Subject::Variant(row.id), None) => Err(facts::NOT_TIMED.to_owned()),
        (Some(score), _) if score.is_at(view.settings, view.size()) => Ok((score, None)),
        (Some(score), _) if score.settings == view.settings => {
            Ok((score, Some(format!("at {} \u{d7} {}", score.size.0, score.size.1))))
        }
        (Some(score), _) => Ok((score, Some(other_settings(row.id, score)))),
        (None, _) if row.id == VariantId::OFF => Err(String::new()),
        (None, VariantStatus::Building) => Err("compiling".to_owned()),
        (None, _) => Err("not measured".to_owned()),
    }
}

/// Returns the settings of a score that are not the current ones as text, as in "at r = 7" or "at gain = 1.5".
fn other_settings(id: VariantId, score: &Score) -> String {
    format!("at {}", facts::settings_text(id, score.settings))
}

/// Returns the time of a score (a measured time) as text, such as "8.45 ms", rounded to its significant digits.
pub(crate) fn score_text(score: &Score) -> String {
    format!("{} ms", theme::with_noise(score.ms, score.noise, theme::short_ms))
}

/// Returns the variants sorted by group.
pub(super) fn variants_by_group<'a>(view: &'a View) -> Vec<&'a VariantRow<'a>> {
    let mut rows: Vec<_> = view.variants.iter().collect();
    rows.sort_by_key(|row| row.id.group as usize);
    rows
}

/// Returns the hint that names the keys of the steps.
fn select_hint(view: &View) -> String {
    let steps =
        view.variants.iter().filter(|row| row.id.group == Group::Steps && row.id.key.is_ascii_digit());
    let keys: Vec<char> = steps.map(|row| row.id.key).collect();
    match keys[..] {
        [] => "select a variant".to_owned(),
        [key] => format!("select a variant: key {key}"),
        [first, .., last] => format!("select a variant: keys {first} to {last}"),
    }
}

/// Lays the panel out in `rect`.
pub(crate) fn show(ui: &mut Ui, (rect, folded): (Rect, bool), pass: &mut Pass) {
    let view = pass.view;
    let mut ui = panel::ground(ui, rect, "ladder");
    let head = rect.with_max_y((rect.top() + TITLE_HEIGHT).min(rect.bottom()));
    let inner = head.shrink2(vec2(10.0, 3.0));
    let comparison = compare(&pass.numbers.scores, (view.chosen, view.settings, view.size()), |id| {
        view.kernels.short_name(id)
    });
    let name = comparison.as_ref().map_or("The ladder", |comparison| &comparison.title);
    let can = |row: &VariantRow| {
        row.id.group == Group::Steps && !matches!(row.status, VariantStatus::Unavailable(_))
    };
    let (text, size, color) = match comparison.as_ref().map(|comparison| &comparison.factor) {
        Some(Ok(factor)) => {
            // A factor that is 1 within its digits says nothing.
            let is_one = factor.trim_start_matches('~') == "1\u{d7}";
            let (text, size) =
                if is_one { ("as fast".to_owned(), 18.0) } else { (format!("{factor} faster"), 25.0) };
            describe::number(&ui, inner, name, &text);
            (text, size, theme::FILTER)
        }
        Some(Err(progress)) => (progress.clone(), 12.0, theme::WEAK),
        None if view.variants.iter().any(can) => (select_hint(view), 12.0, theme::WEAK),
        None => (String::new(), 12.0, theme::WEAK),
    };
    let factor = ui.words(inner.right_center(), Align2::RIGHT_CENTER, text, size, color);
    let mut left = inner.with_max_x(factor.left() - 8.0);
    if let Some(few) = comparison.as_ref().and_then(|comparison| comparison.few_frames.as_ref()) {
        let at = (left.left_bottom() + vec2(16.0, 0.0), Align2::LEFT_BOTTOM, left.width() - 16.0);
        theme::elided_text(&ui, at, few, (11.0, theme::WEAK));
        left.max.y -= 14.0;
    }
    panel::explain_bar(&ui, head, ABOUT);
    panel::title_bar(&mut ui, left, name, (Panel::Ladder, folded), pass);
    if folded {
        return;
    }
    let rows = variants_by_group(view);
    let board = Board::new(pass);
    let heads = head.bottom() + show_column_heads(&ui, rect.with_min_y(head.bottom()), &board);
    let (height, note) = row_and_note(rows.len(), rect.bottom() - heads + TITLE_HEIGHT);
    // The heads of the columns may leave less room than the least height of the rows.
    let room = rect.bottom() - theme::PAD - heads - GROUP_GAP * (Group::ALL.len() as f32 - 1.0);
    let height = height.min((room / rows.len().max(1) as f32).floor());
    let mut top = heads;
    let mut before = Group::Off;
    for row in rows {
        if std::mem::replace(&mut before, row.id.group) != row.id.group {
            top += GROUP_GAP;
        }
        let area = Rect::from_min_size(pos2(rect.left() + 6.0, top), vec2(rect.width() - 12.0, height));
        show_variant_row(&ui, area, &board, row, &mut pass.actions);
        top += height;
    }
    if note > 0.0 {
        let area = rect.shrink2(vec2(12.0, theme::PAD)).with_min_y(top + 4.0);
        show_note(&ui, area, view, pass.numbers);
    }
}

/// Lays out the idea of the selected variant, and the reasons for its time if it has filtered the picture on the screen; only
/// as many sentences as `area` has room for.
fn show_note(ui: &Ui, area: Rect, view: &View, numbers: &Numbers) {
    let Some(row) = view.variants.iter().find(|row| row.id == view.chosen) else { return };
    let is_shown = facts::shown_filter(view) == (view.chosen, view.settings);
    let reasons = if is_shown { why::reasons(view, numbers) } else { Vec::new() };
    let auto = view.auto.filter(|_| row.id.is_auto()).map(words::auto_text);
    let edited =
        view.kernels.edited_version(row.id).map(|version| (words::edited_text(row.id, version), theme::WARN));
    let said = edited.into_iter().chain([(row.idea.to_owned(), theme::TEXT)]);
    let (mut top, mut all) = (area.top(), Vec::new());
    for (text, color) in said.chain(auto.into_iter().chain(reasons).map(|text| (text, theme::STRONG))) {
        let galley = ui.painter().layout(text.clone(), theme::words(12.0), color, area.width());
        let at = pos2(area.left(), top);
        top += galley.size().y + 2.0;
        if top > area.bottom() + 2.0 {
            break;
        }
        ui.painter().galley(at, galley, color);
        all.push(text);
    }
    describe::number(ui, area, "Why", &all.join(" "));
}

/// Lays out the heads of the columns of times along the upper edge of `rect`, if there is more than one. Returns their height.
fn show_column_heads(ui: &Ui, rect: Rect, board: &Board) -> f32 {
    if board.columns.is_empty() {
        return 0.0;
    }
    let now = LadderColumn::of_scores(board.view.device, |_| None);
    let (shift, others) = board.column_shifts();
    for (shift, column) in others.chain([(shift, &now)]) {
        let right = rect.right() - 14.0 - shift;
        let at = pos2(right, rect.top() + COLUMN_HEAD_HEIGHT / 2.0);
        let at = (at, Align2::RIGHT_CENTER, COLUMN_WIDTH - 6.0);
        describe::text(ui, "Times of", at, &column.title, (11.0, theme::WEAK)).explain(&column.about);
    }
    COLUMN_HEAD_HEIGHT
}

/// Returns the words for the sides of the wipe that a variant filters; `None` if it filters none.
fn side_text(sides: [bool; 2]) -> Option<&'static str> {
    match sides {
        [true, true] => Some("both sides of the wipe"),
        [true, false] => Some("left side of the wipe"),
        [false, true] => Some("right side of the wipe"),
        [false, false] => None,
    }
}

/// Draws the background of a variant's button, with a mark at the edge of each side of the wipe that the variant filters. Returns
/// the widget, and true if the variant is the one that keys change.
pub(super) fn variant_ground(ui: &Ui, rect: Rect, board: &Board, row: &VariantRow) -> (Response, bool) {
    let can = !matches!(row.status, VariantStatus::Unavailable(_));
    let sense = if can { Sense::click() } else { Sense::hover() };
    let response = ui.interact(rect, ui.unique_id().with(row.id.name), sense);
    let response = response.named(Role::Button, row.id.name).valued(|| board.time_text(row));
    let chosen = row.id == board.target;
    if chosen {
        let edge = Stroke::new(1.0, theme::SELECT);
        ui.painter().rect(rect, 5, theme::SELECTION_BACKGROUND, edge, StrokeKind::Inside);
    } else if response.hovered() && can {
        ui.painter().rect_filled(rect, 5, Color32::from_white_alpha(18));
    }
    let [left, right] = board.sides(row.id);
    for (edge, _) in
        [(rect.with_max_x(rect.left() + 3.0), left), (rect.with_min_x(rect.right() - 3.0), right)]
            .into_iter()
            .filter(|(_, is_there)| *is_there)
    {
        ui.painter().rect_filled(edge.shrink2(vec2(0.0, 2.0)), 1, theme::STRONG);
    }
    (response, chosen)
}

/// Draws the key that selects a variant as a key cap, with its left edge at `left`.
pub(super) fn draw_key(ui: &Ui, left: f32, y: f32, row: &VariantRow) {
    let cap = Rect::from_center_size(pos2(left + 8.0, y), vec2(16.0, 15.0));
    ui.painter().rect_filled(cap, 3, theme::TROUGH);
    ui.figures(cap.center(), Align2::CENTER_CENTER, row.id.key, 11.0, theme::TEXT);
}

/// Returns the colour of a variant's name, which depends on whether the variant is available and selected.
pub(super) fn name_color(row: &VariantRow, chosen: bool) -> Color32 {
    match row.status {
        VariantStatus::Unavailable(_) => theme::RULE,
        VariantStatus::Building => theme::WEAK,
        VariantStatus::Ready if chosen => theme::STRONG,
        VariantStatus::Ready => theme::TEXT,
    }
}

/// Lays out a variant's row: key, name, bar and time. A click selects the variant.
fn show_variant_row(ui: &Ui, rect: Rect, board: &Board, row: &VariantRow, actions: &mut Vec<Action>) {
    let (response, chosen) = variant_ground(ui, rect, board, row);
    let y = rect.center().y;
    draw_key(ui, rect.left() + 5.0, y, row);
    // Distance in points of a variant's name from the left edge of its row.
    let at = pos2(rect.left() + 28.0, y);
    let version = board.view.kernels.edited_version(row.id).map(|version| format!("v{version}"));
    // With the version beside it, the longest name has room in smaller type.
    let size = if version.is_some() { 10.5 } else { 13.5 };
    let name = ui.words(at, Align2::LEFT_CENTER, row.id.short_name(), size, name_color(row, chosen));
    if let Some(version) = version {
        let at = pos2(name.right() + 2.0, y);
        ui.words(at, Align2::LEFT_CENTER, version, 10.5, theme::WARN);
    }
    // The right end of the time on the device in use.
    let (shift, others) = board.column_shifts();
    let right = rect.right() - 8.0 - shift;
    for (shift, column) in others {
        let (at, text) = (pos2(rect.right() - 8.0 - shift, y), board.column_text(column, row));
        ui.figures(at, Align2::RIGHT_CENTER, text, 12.5, theme::WEAK);
    }
    let end = right - COLUMN_WIDTH * board.left as f32 - TIME_WIDTH - STEP_WIDTH;
    let bar = Rect::from_x_y_ranges(rect.left() + BAR_LEFT..=end, y - 5.0..=y + 5.0);
    let shown = board.view.shown.is_some_and(|s| s.variant == row.id);
    match time_of(board, row) {
        Ok((score, setting)) => {
            let length = board.scale.bar_length(score.ms);
            let color = match setting {
                None if bar.width() < MIN_BAR_WIDTH => theme::STRONG,
                None => {
                    draw_bar(ui.painter(), bar, length, shown);
                    if shown { theme::FILTER } else { theme::STRONG }
                }
                Some(_) if bar.width() < MIN_BAR_WIDTH => theme::WEAK,
                Some(setting) => {
                    let line = bar.with_min_y(bar.bottom() - 1.0).with_max_y(bar.bottom() + 2.0);
                    let line = line.with_max_x(line.left() + line.width() * length);
                    ui.painter().rect_filled(line, 1, theme::IDLE);
                    let at = pos2(bar.left(), y - 2.0);
                    let at = (at, Align2::LEFT_CENTER, bar.width());
                    theme::elided_text(ui, at, &setting, (11.0, theme::WEAK));
                    theme::WEAK
                }
            };
            if let Some((factor, _)) = board.step_factor(row).filter(|_| bar.width() >= MIN_BAR_WIDTH) {
                let at = pos2(bar.right() + STEP_WIDTH - 2.0, y);
                ui.figures(at, Align2::RIGHT_CENTER, factor, 11.0, theme::TEXT);
            }
            let time = ui.figures(pos2(right, y), Align2::RIGHT_CENTER, score_text(score), 12.5, color);
            // The verdict has the place of the bar, and of the factor beside it.
            let verdict = board.columns.iter().find_map(|column| column.verdicts.short(row.id, board.at()));
            let room = time.left() - bar.left() - 4.0;
            let has_room = bar.width() < MIN_BAR_WIDTH && board.left == 0 && room >= MIN_VERDICT_WIDTH;
            if let Some(verdict) = verdict.filter(|_| has_room) {
                let at = (pos2(bar.left(), y), Align2::LEFT_CENTER, room);
                theme::elided_text(ui, at, &verdict, (11.0, theme::TEXT));
            }
        }
        Err(why) if bar.width() < MIN_BAR_WIDTH && !why.is_empty() => {
            ui.figures(pos2(right, y), Align2::RIGHT_CENTER, theme::UNKNOWN, 12.5, theme::WEAK);
        }
        Err(why) => {
            let at = (pos2(bar.left(), y), Align2::LEFT_CENTER, right - bar.left());
            theme::elided_text(ui, at, &why, (12.0, theme::WEAK));
        }
    }
    response.explain_by(|ui| show_hover_text(ui, board, row)).on_click(Action::SetVariant(row.id), actions);
}

/// Lays out the hover text of a variant.
pub(super) fn show_hover_text(ui: &mut Ui, board: &Board, row: &VariantRow) {
    ui.strong(row.id.title);
    if let Some(version) = board.view.kernels.edited_version(row.id) {
        ui.colored_label(theme::WARN, words::edited_text(row.id, version));
    }
    if let Some(side) = side_text(board.sides(row.id)) {
        ui.weak(format!("On the {side}."));
    }
    ui.label(row.idea);
    if let Some(auto) = board.view.auto.filter(|_| row.id.is_auto()) {
        ui.label(words::auto_text(auto));
    }
    if let Ok((score, _)) = time_of(board, row) {
        let (w, h) = score.size;
        let frames = if score.n == 1 { "1 frame".to_owned() } else { format!("{} frames", score.n) };
        let ms = score_text(score);
        ui.weak(format!(
            "{ms}: median of {frames}, {w} \u{d7} {h}, {}.",
            facts::settings_text(row.id, score.settings)
        ));
        if let Some((factor, before)) = board.step_factor(row) {
            ui.weak(format!("{factor} as fast as {before}, the step before."));
        }
        ui.weak("Bars are logarithmic; the factor beside a time is against the row above.");
        if let Some(noise) = &score.noise {
            ui.weak(words::noise_text(noise));
        }
    }
    for column in &board.columns {
        ui.weak(format!("{}: {}.", column.about, board.column_text(column, row)));
        if let Some(noise) = column.score(row.id, board.at()).and_then(|score| score.noise) {
            ui.weak(words::noise_text(&noise));
        }
        if let Some(verdict) = column.verdicts.sentence(row.id, board.at()) {
            ui.label(format!("Against this run: {verdict}."));
        }
    }
    match &row.status {
        VariantStatus::Ready => {}
        VariantStatus::Building => _ = ui.colored_label(theme::WARN, "Its kernels are being compiled."),
        VariantStatus::Unavailable(error) => {
            ui.colored_label(theme::WARN, &error.what);
            if let Some(reason) = error.why.lines().next().filter(|reason| !reason.is_empty()) {
                ui.label(reason);
            }
        }
    }
}

/// The least number of measured frames of each kernel for a comparison. The slowest kernel takes a second or more for a frame.
const MIN_FRAMES: usize = 2;

/// A comparison of two kernels, as texts.
pub(crate) struct Comparison {
    /// The title of the ladder's panel: the fastest and the slowest measured kernel, such as "fused vs. naive", or "The ladder"
    /// before both have enough frames.
    pub title: String,
    /// The slow kernel's time divided by the fast one's: "2,300×", or "~2,000×" if it is noisy. While too few frames were
    /// measured, the progress instead, such as "naive: 1 of 2 frames".
    pub factor: Result<String, String>,
    /// A text with a kernel and its number of measured frames, such as "naive: 2 frames", while these are so few that the factor
    /// may still change, or "naive: 1 of 2 frames" for one that is to take part with its next frame; `None` otherwise.
    pub few_frames: Option<String>,
}

impl Comparison {
    /// Compares two variants, each with its name, by their scores (measured times), the slow one first.
    pub(crate) fn between(slow: (&str, &Score), fast: (&str, &Score)) -> Self {
        let (fewest, n) = if slow.1.n <= fast.1.n { (slow.0, slow.1.n) } else { (fast.0, fast.1.n) };
        if n < MIN_FRAMES {
            let factor = Err(frame_progress(fewest, n));
            return Self { title: "The ladder".to_owned(), factor, few_frames: None };
        }
        // The noise that leaves fewer digits.
        let noise = [slow.1.noise, fast.1.noise].into_iter().flatten().min_by_key(|noise| noise.digits);
        let factor = theme::with_noise(slow.1.ms / fast.1.ms, noise, theme::short_number);
        let few_frames = (n < noise::MIN_SAMPLES).then(|| format!("{fewest}: {n} frames"));
        Self {
            title: format!("{} vs. {}", fast.0, slow.0),
            factor: Ok(format!("{factor}\u{d7}")),
            few_frames,
        }
    }
}

/// Compares the slowest and the fastest kernels of the chosen filter with enough frames at these settings and this size; if there are not two such
/// kernels, those of all measured kernels. Returns `None` if no two measured kernels differ in speed. Compares only variants
/// that do the same work on the same bytes, and whose times are device times: other back ends are measured by other clocks,
/// `planar` filters other bytes, and `auto` is one of the compared variants under another name.
fn compare(
    scores: &Scores,
    (chosen, settings, size): (VariantId, Settings, (u32, u32)),
    name: impl Fn(VariantId) -> String,
) -> Option<Comparison> {
    let mut variants = facts::variants_of_filter(chosen);
    variants.retain(|id| id.is_comparable());
    let kernels = || variants.iter().copied();
    let between = |fewest: usize| {
        let is_here = |s: &&Score| s.is_at(settings, size) && s.ms > 0.0 && s.n >= fewest;
        let mut measured: Vec<_> =
            kernels().filter_map(|id| Some((id, scores.of(id).filter(is_here)?))).collect();
        measured.sort_by(|a, b| a.1.ms.total_cmp(&b.1.ms));
        let (fast, slow) = (*measured.first()?, *measured.last()?);
        let factor = slow.1.ms / fast.1.ms;
        // Kernels that are equally fast within the digits shown are not compared.
        let differs = slow.0 != fast.0 && factor.is_finite() && factor >= 1.05;
        let compared = || Comparison::between((&name(slow.0), slow.1), (&name(fast.0), fast.1));
        differs.then(|| (compared(), slow.1.ms, fast.1.ms))
    };
    let (mut comparison, slowest, fastest) = between(MIN_FRAMES).or_else(|| between(0))?;
    // The title may change with the next frame of this kernel.
    let awaited = kernels().find_map(|id| {
        let score = scores.of(id).filter(|score| score.is_at(settings, size) && score.n < MIN_FRAMES)?;
        (score.ms > slowest || score.ms > 0.0 && score.ms < fastest).then_some((id, score.n))
    });
    if let Some((id, n)) = awaited {
        comparison.few_frames = Some(frame_progress(&name(id), n));
    }
    Some(comparison)
}

/// Returns the number of frames that were measured of a kernel, and the number that a comparison needs: "naive: 1 of 2 frames".
fn frame_progress(name: &str, n: usize) -> String {
    format!("{name}: {n} of {MIN_FRAMES} frames")
}

/// The explanation of the panel in the hover text of its title bar.
const ABOUT: &str = "The last measured filter time of each variant, on a logarithmic scale. Select a variant by a click or its \
                     key.\nThe factor beside a time compares it with the step before. Times measured at other settings or another size are grey. The title compares the fastest kernel on this device \
                     with the slowest, at the current settings and size.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_can_be_seen_and_the_panel_is_as_high_as_its_room() {
        let scale = Scale::for_times([845.0, 105.0, 0.37].into_iter());
        let [naive, separable, fused] = [845.0, 105.0, 0.37].map(|ms| scale.bar_length(ms));
        assert!(naive <= 1.0 && naive > 0.97 && fused > 0.05 && fused < 0.15, "{naive} {fused}");
        // Equal factors are equal lengths.
        let [one, ten, hundred] = [1.0, 10.0, 100.0].map(|ms| scale.bar_length(ms));
        assert!((hundred - ten - (ten - one)).abs() < 1e-4 && separable > hundred);
        // Two bars that are nearly equal look equal.
        let close = Scale::for_times([1.0, 1.1].into_iter());
        assert!(close.bar_length(1.1) - close.bar_length(1.0) < 0.05);
        for odd in [0.0, f64::NAN, f64::INFINITY] {
            let part = Scale::for_times([odd].into_iter()).bar_length(odd);
            assert!((0.0..=1.0).contains(&part), "{odd}: {part}");
        }

        for rows in [VariantId::all().count(), VariantId::all().count() + 1] {
            let (least, most) = (height(rows, 0.0), height(rows, 1e6));
            assert_eq!(most - least, rows as f32 * (ROW_HEIGHTS.1 - ROW_HEIGHTS.0) + NOTE_HEIGHT);
            for room in [least, (least + most) / 2.0, least + NOTE_HEIGHT, most] {
                let height = height(rows, room);
                // The note is there as a whole or not at all.
                assert!((room - rows as f32..=room).contains(&height) || row_and_note(rows, room).1 == 0.0);
                assert_eq!(row_and_note(rows, height), row_and_note(rows, room), "{room}: {height}");
            }
        }
    }
}
