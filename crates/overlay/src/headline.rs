//! The headline: what filtered the picture on the screen, what that took in figures that read from the last row, and one
//! frame as one bar. While another picture is awaited, its variant with the time counting up, and no number of the one before.

use egui::{Align2, CornerRadius, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::place::{self, Panel, Title};
use super::table::Numbers;
use super::{Action, Busy, View, axes, device_name, facts, line, panel, stages, theme, words};
use box_filter::VariantId;
use engine::stats::{PlayState, Stage};
use opencl::timer;

/// The headline's width and height in points.
pub(crate) const SIZE: egui::Vec2 = vec2(388.0, 190.0);
/// Times that are awaited for longer have their progress in place of the frame's bar.
const LONG_S: f64 = 2.0;

/// Lays the headline out in `rect`, or the line that it folds to. Returns what was done with its title.
pub(crate) fn show(
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    numbers: &Numbers,
    folded: bool,
    actions: &mut Vec<Action>,
) -> Title {
    panel::cover(ui, rect, "headline");
    theme::ground(ui.painter(), rect, theme::PANEL);
    let mut ui = ui.new_child(egui::UiBuilder::new().id_salt("headline").max_rect(rect));
    ui.set_clip_rect(rect);
    let inner = rect.shrink2(vec2(12.0, 8.0));
    let head = if folded { rect } else { rect.with_max_y(inner.top() + 18.0) };
    let (response, mut title) = place::handle(&ui, Panel::Numbers, head, rect.min);
    if folded {
        response.on_hover_text(format!(
            "{}\n{}\n{}",
            words::FILTER,
            words::cpu(view.cpu.cores),
            place::HOVER
        ));
        title.fold = panel::header(&mut ui, rect.shrink2(vec2(10.0, 3.0)), "", true);
        line::draw(&ui, rect, view, numbers, 26.0);
        return title;
    }
    response.on_hover_text(format!("{}\n{}", view.movie.name(), place::HOVER));
    title.fold = self::title(&mut ui, inner.with_max_y(inner.top() + 16.0), view);
    let awaited = facts::awaited(view);
    name(&ui, inner.left_top() + vec2(0.0, 36.0), inner, view, awaited);
    match awaited {
        Some(busy) => waiting(&ui, inner, busy),
        None => measured(&mut ui, inner, view, numbers),
    }
    rates(&mut ui, inner, view, numbers, awaited.is_none(), actions);
    let bar = Rect::from_min_max(
        pos2(inner.left(), inner.bottom() - 34.0),
        pos2(inner.right(), inner.bottom() - 22.0),
    );
    let slow = view.busy.filter(|b| b.predicted_s.unwrap_or(0.0).max(b.elapsed_s) >= LONG_S);
    let caption = match awaited.or(slow) {
        Some(busy) => progress(&ui, bar, busy),
        None => frame_bar(&mut ui, bar, view, numbers),
    };
    let (text, color) = caption;
    let below = pos2(inner.left(), inner.bottom() - 8.0);
    ui.painter().text(below, Align2::LEFT_CENTER, text, theme::words(12.5), color);
    link(&mut ui, pos2(inner.right(), below.y), actions);
    title
}

/// The movie's name, and what the player is doing.
fn title(ui: &mut Ui, row: Rect, view: &View) -> bool {
    let color = match view.state {
        state if state.is_asked_for() => theme::TEXT,
        state if state.is_good() => theme::GOOD,
        _ => theme::WARN,
    };
    let mut state = view.state.to_string();
    if view.speed != 1.0 {
        state.push_str(&format!(", {:.2}\u{d7}", view.speed));
    }
    if !view.repeats.is_empty() && view.state != PlayState::Ended {
        state.push_str(", ");
        state.push_str(view.repeats);
    }
    let most = row.width() * 0.6;
    let galley = theme::elided(ui, &state, theme::words(12.0), color, most);
    let left = row.right() - galley.size().x;
    ui.painter().galley(pos2(left, row.center().y - galley.size().y / 2.0), galley, color);
    ui.painter().circle_filled(pos2(left - 9.0, row.center().y), 3.5, color);
    let fold = panel::header(ui, row.with_max_x(row.left() + 16.0), "", false);
    let text = match view.movie.in_list {
        Some((number, count)) => format!("{number}/{count} \u{b7} {}", view.movie.name()),
        None => view.movie.name().into_owned(),
    };
    let name = theme::elided(ui, &text, theme::words(12.5), theme::TEXT, left - row.left() - 36.0);
    ui.painter().galley(pos2(row.left() + 16.0, row.center().y - name.size().y / 2.0), name, theme::TEXT);
    fold
}

/// The variant, its radius and the picture's size, on a line whose middle is at `y` of `at`.
fn name(ui: &Ui, at: Pos2, inner: Rect, view: &View, awaited: Option<&Busy>) {
    let (variant, radius) = awaited.map_or_else(|| facts::of(view), |b| (b.variant, b.radius));
    let mut text = variant.to_string();
    if let Some(auto) = facts::auto(view).filter(|_| awaited.is_none()) {
        text.push_str(&format!(" ({auto})"));
    }
    let size = if text.len() > 13 { 21.0 } else { 25.0 };
    let name = ui.painter().text(at, Align2::LEFT_CENTER, text, theme::words(size), theme::STRONG);
    let (w, h) = view.size();
    let about = match variant {
        _ if w == 0 => stages::OPENING.to_owned(),
        VariantId::Off => format!("{w} \u{d7} {h}"),
        _ => format!("r = {radius} \u{b7} {w} \u{d7} {h}"),
    };
    let galley =
        theme::elided(ui, &about, theme::words(14.0), theme::TEXT, inner.right() - name.right() - 10.0);
    let at = pos2(inner.right() - galley.size().x, at.y + 3.0 - galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme::TEXT);
}

/// Middle of the large figures.
const FIGURES: f32 = 78.0;

/// The filter's median, and the rate that goes with it.
fn measured(ui: &mut Ui, inner: Rect, view: &View, numbers: &Numbers) {
    let y = inner.top() + FIGURES;
    let off = facts::of(view).0 == VariantId::Off;
    let filter = numbers.filter().filter(|_| !off);
    let text = if off { theme::UNKNOWN.to_owned() } else { numbers.filter_time() };
    let time = ui.painter().text(
        pos2(inner.left(), y),
        Align2::LEFT_CENTER,
        text,
        theme::figures(46.0),
        theme::FILTER,
    );
    let unit = pos2(time.right() + 8.0, y + 9.0);
    ui.painter().text(unit, Align2::LEFT_CENTER, "ms", theme::words(20.0), theme::FILTER);
    let right = inner.right();
    let by_wall = view.recorder.shown().is_some_and(|s| s.filter_by_wall);
    let (above, below) = match filter {
        Some(filter) if by_wall => ("the filter, wall time", theme::fps(filter.p50, filter.noise)),
        Some(filter) => ("the filter alone", theme::fps(filter.p50, filter.noise)),
        None if off => ("no filter", String::new()),
        None => ("not measured", String::new()),
    };
    ui.painter().text(pos2(right, y - 8.0), Align2::RIGHT_CENTER, above, theme::words(12.0), theme::WEAK);
    ui.painter().text(pos2(right, y + 10.0), Align2::RIGHT_CENTER, below, theme::words(15.0), theme::TEXT);
    let area = Rect::from_min_max(pos2(inner.left(), y - 24.0), pos2(inner.right(), y + 22.0));
    let mut hover = if by_wall { words::FILTER_BY_WALL } else { words::FILTER }.to_owned();
    if let Some(noise) = filter.and_then(|filter| filter.noise) {
        hover = format!("{hover}\n{}", words::noisy(&noise));
    }
    if filter.is_none() && !off && timer::any_impossible() {
        hover = format!("{hover}\n{}", timer::IMPOSSIBLE);
    }
    ui.interact(area, ui.unique_id().with("filter"), Sense::hover()).on_hover_text(hover);
}

/// The time since the picture was asked for, and the estimate.
fn waiting(ui: &Ui, inner: Rect, busy: &Busy) {
    let y = inner.top() + FIGURES;
    let text = facts::seconds(busy.elapsed_s);
    let time = ui.painter().text(
        pos2(inner.left(), y),
        Align2::LEFT_CENTER,
        text,
        theme::figures(46.0),
        theme::STRONG,
    );
    let unit = pos2(time.right() + 8.0, y + 9.0);
    ui.painter().text(unit, Align2::LEFT_CENTER, "s", theme::words(20.0), theme::STRONG);
    let about = match facts::estimate(busy) {
        Some(all) => format!("of about {all} s"),
        None => "first picture".to_owned(),
    };
    ui.painter().text(
        pos2(inner.right(), y + 9.0),
        Align2::RIGHT_CENTER,
        about,
        theme::words(15.0),
        theme::TEXT,
    );
}

/// Frames a second, CPU load, device.
fn rates(
    ui: &mut Ui,
    inner: Rect,
    view: &View,
    numbers: &Numbers,
    measured: bool,
    actions: &mut Vec<Action>,
) {
    let y = inner.bottom() - 54.0;
    let measured = measured && view.state.plays();
    let rate = if measured { numbers.rate() } else { facts::no_rate() };
    let over =
        matches!((numbers.frame, view.budget_ms), (Some(f), Some(b)) if f.p50 > b * 1.1 && !view.unpaced);
    let color = if over && measured { theme::WARN } else { theme::STRONG };
    let painter = ui.painter();
    let rate = painter.text(pos2(inner.left(), y), Align2::LEFT_CENTER, rate, theme::words(16.0), color);
    let cpu = pos2(rate.right() + 18.0, y);
    let cpu = painter.text(cpu, Align2::LEFT_CENTER, facts::cpu(view), theme::words(16.0), theme::STRONG);
    let (device, hover) = match view.device {
        Some(device) => {
            let (name, driver) = device_name::short(device);
            (format!("{name} \u{b7} {driver}"), words::device(device))
        }
        None => {
            let (text, hover) = facts::without_device(view);
            (text.to_owned(), hover.to_owned())
        }
    };
    let missing = view.device.is_none() && !view.devices.awaited;
    let color = if missing { theme::WARN } else { theme::WEAK };
    let galley = theme::elided(ui, &device, theme::words(12.0), color, inner.right() - cpu.right() - 16.0);
    let at = Rect::from_min_size(
        pos2(inner.right() - galley.size().x, y + 1.0 - galley.size().y / 2.0),
        galley.size(),
    );
    ui.painter().galley(at.min, galley, color);
    let hovers = [(rate, "rate", words::FRAME_RATE.to_owned()), (cpu, "cpu", words::cpu(view.cpu.cores))];
    for (rect, id, hover) in hovers {
        ui.interact(rect, ui.unique_id().with(id), Sense::hover()).on_hover_text(hover);
    }
    let device = ui.interact(at, ui.unique_id().with("device"), Sense::click());
    if device.on_hover_text(hover).clicked() {
        actions.push(Action::Toggle(Panel::Devices));
    }
}

/// One frame as one bar against the budget: the filter first, in its colour, the other stages in greys. Returns what
/// stands below it.
fn frame_bar(ui: &mut Ui, bar: Rect, view: &View, numbers: &Numbers) -> (String, egui::Color32) {
    let pixel = 1.0 / ui.pixels_per_point();
    let stages = theme::STACK.map(|stage| (stage, numbers.stage(stage).map_or(0.0, |s| s.p50)));
    let sum: f64 = stages.iter().map(|(_, ms)| ms.max(0.0)).sum();
    let budget = view.budget_ms.filter(|b| b.is_finite() && *b > 0.0 && !view.unpaced);
    let whole = budget.unwrap_or(0.0).max(sum);
    ui.painter().rect_filled(bar, CornerRadius::same(2), theme::TROUGH);
    let response = ui.interact(bar.expand2(vec2(0.0, 6.0)), ui.unique_id().with("frame"), Sense::hover());
    response.on_hover_text(words::FRAME_BAR);
    if !(sum > 0.0 && sum.is_finite()) {
        return (format!("one frame: {}", theme::UNKNOWN), theme::WEAK);
    }
    let x = |ms: f64| axes::snap(bar.left() + bar.width() * (ms / whole) as f32, pixel);
    let mut at = 0.0;
    for (stage, ms) in stages {
        let (from, to) = (x(at), x(at + ms));
        // The filter is seen however short it is.
        let to = if stage == Stage::Filter && ms > 0.0 { to.max(from + 2.0) } else { to };
        let part = Rect::from_min_max(pos2(from, bar.top()), pos2(to, bar.bottom()));
        // A pixel of the ground shows where one stage ends, as long as there is room for it.
        let part = if part.width() > 4.0 * pixel { part.with_max_x(part.right() - pixel) } else { part };
        if part.width() >= pixel {
            ui.painter().rect_filled(part, CornerRadius::ZERO, theme::stage_color(stage));
        }
        at += ms;
    }
    // As noisy as what takes most of it.
    let longest = theme::STACK.iter().filter_map(|stage| numbers.stage(*stage));
    let noise = longest.max_by(|a, b| a.p50.total_cmp(&b.p50)).and_then(|longest| longest.noise);
    let told = format!("one frame: {} ", theme::believed(sum, noise, theme::short_ms));
    let Some(budget) = budget else { return (format!("{told}ms"), theme::TEXT) };
    if sum > budget {
        let line = [pos2(x(budget), bar.top() - 3.0), pos2(x(budget), bar.bottom() + 3.0)];
        ui.painter().line_segment(line, Stroke::new(2.0, theme::WARN));
    }
    let color = if sum > budget { theme::WARN } else { theme::TEXT };
    (format!("{told}of {} ms", theme::rounded(budget)), color)
}

/// How far the picture is that is awaited. Returns what stands below.
fn progress(ui: &Ui, bar: Rect, busy: &Busy) -> (String, egui::Color32) {
    let done = busy.fraction.clamp(0.0, 1.0);
    ui.painter().rect_filled(bar, CornerRadius::same(2), theme::TROUGH);
    let part = bar.with_max_x(bar.left() + bar.width() * done);
    ui.painter().rect_filled(part, CornerRadius::same(2), theme::FILTER_DIM);
    let mut text = format!("{:.0} % of this frame, {}", done * 100.0, facts::seconds(busy.elapsed_s));
    match facts::estimate(busy) {
        Some(all) => text.push_str(&format!(" of about {all} s")),
        None => text.push_str(" s"),
    }
    (text, theme::TEXT)
}

/// The way to the stages, with its right end at `at`.
fn link(ui: &mut Ui, at: Pos2, actions: &mut Vec<Action>) {
    let galley = ui.painter().layout_no_wrap("stages".to_owned(), theme::words(12.5), theme::SELECT);
    let rect = Rect::from_min_max(
        at - vec2(galley.size().x + 12.0, galley.size().y / 2.0),
        at + vec2(0.0, galley.size().y / 2.0),
    );
    let response = ui.interact(rect.expand(3.0), ui.unique_id().with("stages"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::SELECT };
    ui.painter().galley_with_override_text_color(rect.min, galley, color);
    let tip = pos2(at.x - 5.0, at.y + 0.5);
    let points = [vec2(-3.0, -4.0), vec2(3.0, 0.0), vec2(-3.0, 4.0)].map(|p| tip + p).to_vec();
    ui.painter().add(Shape::convex_polygon(points, color, Stroke::NONE));
    if response.on_hover_text("All stages of a frame, with percentiles: key d").clicked() {
        actions.push(Action::Toggle(Panel::Stages));
    }
}
