//! The headline, a panel with the filter of the picture on the screen, the filter's time in large figures, and a bar of one
//! frame's stages. While the first picture of another filter is computed, it shows that filter and the elapsed time instead.

use egui::{Align2, Color32, CornerRadius, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::panels::Panel;
use super::pass::Pass;
use super::table::Numbers;
use super::{Action, Busy, View, access, axes, device_name, facts, line, panel, stages, theme, words};
use crate::access::Access as _;
use crate::hover::Explain as _;
use base::device::ClockState;
use box_filter::VariantId;
use compute::BackEnd;
use engine::stats::{PlayState, Stage};

/// The headline's width and height in points.
pub(crate) const SIZE: egui::Vec2 = vec2(388.0, 190.0);
/// The least time in seconds of a picture that is being filtered for which the headline shows a progress bar in place of the
/// bar of the frame.
const MIN_PROGRESS_S: f64 = 2.0;

/// Lays the headline out in `rect`, or as one line of text if it is `folded`. Returns true if the user folded or unfolded it.
pub(crate) fn show(ui: &mut Ui, (rect, folded): (Rect, bool), pass: &mut Pass) -> bool {
    let (view, numbers) = (pass.view, pass.numbers);
    let mut ui = panel::ground(ui, rect, "headline");
    if folded {
        let about = format!("{}\n{}", words::FILTER, words::cpu_text(view.cpu.cores));
        panel::explain_bar(&ui, rect, &about);
        let title = panel::title_bar(&mut ui, rect.shrink2(vec2(10.0, 3.0)), "", true);
        line::draw(&ui, rect, 26.0, pass);
        return title;
    }
    let inner = rect.shrink2(vec2(12.0, 8.0));
    let row = inner.with_max_y(inner.top() + 16.0);
    panel::explain_bar(&ui, rect.with_max_y(inner.top() + 18.0), &view.movie.name());
    let title = panel::title_bar(&mut ui, row.with_max_x(row.left() + 16.0), "", false);
    draw_movie_and_state(&ui, row, view);
    let awaited = facts::pending_filter(view);
    draw_filter_name(&ui, inner, view, awaited);
    match awaited {
        Some(busy) => draw_elapsed_time(&ui, inner, busy),
        None => show_filter_time(&mut ui, inner, view, numbers),
    }
    show_rates(&mut ui, inner, awaited.is_none(), pass);
    let bar = Rect::from_min_max(
        pos2(inner.left(), inner.bottom() - 34.0),
        pos2(inner.right(), inner.bottom() - 22.0),
    );
    let slow = view.busy.filter(|b| b.predicted_s.unwrap_or(0.0).max(b.elapsed_s) >= MIN_PROGRESS_S);
    let caption = match awaited.or(slow) {
        Some(busy) => draw_progress(&ui, bar, busy),
        None => draw_frame_bar(&mut ui, bar, view, numbers),
    };
    let (text, color) = caption;
    let below = pos2(inner.left(), inner.bottom() - 8.0);
    access::number(&ui, bar, "Frame", &text);
    ui.painter().text(below, Align2::LEFT_CENTER, text, theme::words(12.5), color);
    show_stages_link(&mut ui, pos2(inner.right(), below.y), pass);
    title
}

fn draw_movie_and_state(ui: &Ui, row: Rect, view: &View) {
    let color = match view.state {
        state if state.is_requested() => theme::TEXT,
        state if state.is_good() => theme::GOOD,
        _ => theme::WARN,
    };
    let mut state = view.state.to_string();
    if view.speed != 1.0 {
        state.push_str(&format!(", {:.2}\u{d7}", view.speed));
    }
    if !view.loop_text.is_empty() && view.state != PlayState::Ended {
        state.push_str(", ");
        state.push_str(view.loop_text);
    }
    let at = (row.right_center(), Align2::RIGHT_CENTER, row.width() * 0.6);
    let place = theme::elided_text(ui, at, &state, (theme::words(12.0), color));
    access::number(ui, place, "State", &state);
    let left = place.left();
    ui.painter().circle_filled(pos2(left - 9.0, row.center().y), 3.5, color);
    let text = match view.movie.in_list {
        Some((number, count)) => format!("{number}/{count} \u{b7} {}", view.movie.name()),
        None => view.movie.name().into_owned(),
    };
    let at = (row.left_center() + vec2(16.0, 0.0), Align2::LEFT_CENTER, left - row.left() - 36.0);
    let place = theme::elided_text(ui, at, &text, (theme::words(12.5), theme::TEXT));
    access::number(ui, place, "Movie", &text);
}

/// Draws the variant and the radius of the picture on the screen, or those of `awaited`, the picture that is being filtered,
/// and the picture's size.
fn draw_filter_name(ui: &Ui, inner: Rect, view: &View, awaited: Option<&Busy>) {
    let at = inner.left_top() + vec2(0.0, 36.0);
    let (variant, radius) = awaited.map_or_else(|| facts::shown_filter(view), |b| (b.variant, b.radius));
    let mut text = variant.to_string();
    if let Some(auto) = facts::auto_variant(view).filter(|_| awaited.is_none()) {
        text.push_str(&format!(" ({auto})"));
    }
    let size = if text.len() > 13 { 21.0 } else { 25.0 };
    let name = ui.painter().text(at, Align2::LEFT_CENTER, &text, theme::words(size), theme::STRONG);
    let (w, h) = view.size();
    let about = match (w, variant == VariantId::OFF) {
        (0, _) => stages::OPENING_TEXT.to_owned(),
        (_, true) => format!("{w} \u{d7} {h}"),
        (_, false) => format!("r = {radius} \u{b7} {w} \u{d7} {h}"),
    };
    access::number(ui, name, "Filter", &format!("{text}, {about}"));
    let room = inner.right() - name.right() - 10.0;
    let at = (pos2(inner.right(), at.y + 3.0), Align2::RIGHT_CENTER, room);
    theme::elided_text(ui, at, &about, (theme::words(14.0), theme::TEXT));
}

/// The distance in points of the middle of the filter's time, in large figures, from the headline's upper edge.
const FIGURES_OFFSET: f32 = 78.0;

/// Lays out the filter's median time, and the frame rate at which the filter alone would run.
fn show_filter_time(ui: &mut Ui, inner: Rect, view: &View, numbers: &Numbers) {
    let y = inner.top() + FIGURES_OFFSET;
    let off = facts::shown_filter(view).0 == VariantId::OFF;
    let filter = numbers.filter().filter(|_| !off);
    let text = if off { theme::UNKNOWN.to_owned() } else { numbers.filter_time() };
    draw_large_time(ui, inner, (&text, "ms"), theme::FILTER);
    let right = inner.right();
    let by_wall = view.recorder.shown.last().is_some_and(|s| s.stages.filter_by_wall);
    let is_kernel = view.shown.is_some_and(|shown| shown.variant.back_end() == BackEnd::OpenCl);
    let is_uncalibrated = is_kernel && matches!(view.clock, ClockState::Uncalibrated(_));
    let (above, below) = match filter {
        Some(filter) if by_wall => ("filter, wall time", theme::fps(filter.p50, filter.noise)),
        Some(filter) if is_uncalibrated => ("filter, uncalibrated", theme::fps(filter.p50, filter.noise)),
        Some(filter) => ("filter alone", theme::fps(filter.p50, filter.noise)),
        None if off => ("no filter", String::new()),
        None if facts::is_left_out(view) => (facts::NOT_TIMED, String::new()),
        None => ("not measured", String::new()),
    };
    ui.painter().text(pos2(right, y - 8.0), Align2::RIGHT_CENTER, above, theme::words(12.0), theme::WEAK);
    ui.painter().text(pos2(right, y + 10.0), Align2::RIGHT_CENTER, &below, theme::words(15.0), theme::TEXT);
    let area = Rect::from_min_max(pos2(inner.left(), y - 24.0), pos2(inner.right(), y + 22.0));
    let mut hover = if by_wall { words::FILTER_BY_WALL } else { words::FILTER }.to_owned();
    if let Some(noise) = filter.and_then(|filter| filter.noise) {
        hover = format!("{hover}\n{}", words::noise_text(&noise));
    }
    if let Some(note) = view.clock.note().filter(|_| is_kernel) {
        hover = format!("{hover}\n{note}");
    }
    if is_uncalibrated {
        hover = format!("{hover}\n{}", words::UNCALIBRATED);
    }
    access::number(ui, area, "Filter time", &format!("{text} ms, {above}, {below}")).explain(hover);
}

/// Draws the time since the picture that is being filtered was requested, and the estimated total time.
fn draw_elapsed_time(ui: &Ui, inner: Rect, busy: &Busy) {
    let elapsed = facts::seconds(busy.elapsed_s);
    let place = draw_large_time(ui, inner, (&elapsed, "s"), theme::STRONG);
    access::number(ui, place, "Elapsed time", &facts::progress(busy));
    let about = facts::estimate(busy);
    let about = about.map_or_else(|| "no estimate yet".to_owned(), |all| format!("of about {all} s"));
    let at = pos2(inner.right(), inner.top() + FIGURES_OFFSET + 9.0);
    ui.painter().text(at, Align2::RIGHT_CENTER, about, theme::words(15.0), theme::TEXT);
}

/// Draws a time in large figures, and its unit. Returns the rectangle of the time.
fn draw_large_time(ui: &Ui, inner: Rect, (time, unit): (&str, &str), color: Color32) -> Rect {
    let at = pos2(inner.left(), inner.top() + FIGURES_OFFSET);
    let time = ui.painter().text(at, Align2::LEFT_CENTER, time, theme::figures(46.0), color);
    let at = pos2(time.right() + 8.0, at.y + 9.0);
    ui.painter().text(at, Align2::LEFT_CENTER, unit, theme::words(20.0), color);
    time
}

/// Lays out the frame rate, the CPU load and the device. Shows the frame rate as unknown unless `measured` is true.
fn show_rates(ui: &mut Ui, inner: Rect, measured: bool, pass: &mut Pass) {
    let (view, numbers) = (pass.view, pass.numbers);
    let y = inner.bottom() - 54.0;
    let measured = measured && view.state.plays();
    let rate = if measured { numbers.rate() } else { facts::no_rate() };
    let over =
        matches!((numbers.frame, view.budget_ms), (Some(f), Some(b)) if f.p50 > b * 1.1 && !view.unpaced);
    let color = if over && measured { theme::WARN } else { theme::STRONG };
    let painter = ui.painter();
    let (rate_text, cpu_text) = (rate, facts::cpu(view));
    let at = pos2(inner.left(), y);
    let rate = painter.text(at, Align2::LEFT_CENTER, &rate_text, theme::words(16.0), color);
    let cpu = pos2(rate.right() + 18.0, y);
    let cpu = painter.text(cpu, Align2::LEFT_CENTER, &cpu_text, theme::words(16.0), theme::STRONG);
    let (device, hover) = match view.device {
        Some(device) => {
            let (name, driver) = device_name::short_names(device);
            (format!("{name} \u{b7} {driver}"), words::device_text(device))
        }
        None => {
            let (text, hover) = facts::without_device(view);
            (text.to_owned(), hover.to_owned())
        }
    };
    let missing = view.device.is_none() && !view.devices.is_pending;
    let color = if missing { theme::WARN } else { theme::WEAK };
    let room = inner.right() - cpu.right() - 16.0;
    let at = (pos2(inner.right(), y + 1.0), Align2::RIGHT_CENTER, room);
    let at = theme::elided_text(ui, at, &device, (theme::words(12.0), color));
    access::number(ui, rate, "Frame rate", &rate_text).explain(words::FRAME_RATE);
    access::number(ui, cpu, "CPU load", &cpu_text).explain(words::cpu_text(view.cpu.cores));
    let response = ui.interact(at, ui.unique_id().with("device"), Sense::click());
    let response = response.named(Role::Button, "Device").valued(|| device);
    if response.explain(hover).clicked() {
        pass.actions.push(Action::Toggle(Panel::Devices));
    }
}

/// Draws the stages of one frame as one bar, against the budget (the time that a frame may take): the filter first, in its
/// colour, the other stages in greys. Returns the caption and its colour.
fn draw_frame_bar(ui: &mut Ui, bar: Rect, view: &View, numbers: &Numbers) -> (String, Color32) {
    let pixel = 1.0 / ui.pixels_per_point();
    let stages = theme::STACK.map(|stage| (stage, numbers.stage(stage).map_or(0.0, |s| s.p50)));
    let sum: f64 = stages.iter().map(|(_, ms)| ms.max(0.0)).sum();
    let budget = view.budget_ms.filter(|b| b.is_finite() && *b > 0.0 && !view.unpaced);
    let whole = budget.unwrap_or(0.0).max(sum);
    ui.painter().rect_filled(bar, CornerRadius::same(2), theme::TROUGH);
    let response = ui.interact(bar.expand2(vec2(0.0, 6.0)), ui.unique_id().with("frame"), Sense::hover());
    response.explain(words::FRAME_BAR);
    if !(sum > 0.0 && sum.is_finite()) {
        return (format!("one frame: {}", theme::UNKNOWN), theme::WEAK);
    }
    let x = |ms: f64| axes::snap_to_pixel(bar.left() + bar.width() * (ms / whole) as f32, pixel);
    let mut at = 0.0;
    for (stage, ms) in stages {
        let (from, to) = (x(at), x(at + ms));
        // The filter is always visible.
        let to = if stage == Stage::Filter && ms > 0.0 { to.max(from + 2.0) } else { to };
        let part = Rect::from_min_max(pos2(from, bar.top()), pos2(to, bar.bottom()));
        // A gap of a pixel separates stages that are wide enough.
        let part = if part.width() > 4.0 * pixel { part.with_max_x(part.right() - pixel) } else { part };
        if part.width() >= pixel {
            ui.painter().rect_filled(part, CornerRadius::ZERO, theme::stage_color(stage));
        }
        at += ms;
    }
    // The noise of the sum is that of the longest stage.
    let longest = theme::STACK.iter().filter_map(|stage| numbers.stage(*stage));
    let noise = longest.max_by(|a, b| a.p50.total_cmp(&b.p50)).and_then(|longest| longest.noise);
    let sum_text = format!("one frame: {} ", theme::with_noise(sum, noise, theme::short_ms));
    let Some(budget) = budget else { return (format!("{sum_text}ms"), theme::TEXT) };
    if sum > budget {
        let line = [pos2(x(budget), bar.top() - 3.0), pos2(x(budget), bar.bottom() + 3.0)];
        ui.painter().line_segment(line, Stroke::new(2.0, theme::WARN));
    }
    let color = if sum > budget { theme::WARN } else { theme::TEXT };
    (format!("{sum_text}of {} ms", theme::short_number(budget)), color)
}

/// Draws a progress bar of the picture that is being filtered. Returns the caption and its colour.
fn draw_progress(ui: &Ui, bar: Rect, busy: &Busy) -> (String, Color32) {
    let done = busy.fraction.clamp(0.0, 1.0);
    ui.painter().rect_filled(bar, CornerRadius::same(2), theme::TROUGH);
    let part = bar.with_max_x(bar.left() + bar.width() * done);
    ui.painter().rect_filled(part, CornerRadius::same(2), theme::FILTER_DIM);
    (format!("{:.0} % of this frame, {}", done * 100.0, facts::progress(busy)), theme::TEXT)
}

/// Lays out the link that opens the panel of stages (the table of their times), with its right end at `at`.
fn show_stages_link(ui: &mut Ui, at: Pos2, pass: &mut Pass) {
    let hover = "Times of all stages, with percentiles (d)";
    if panel::link(ui, at - vec2(12.0, 0.0), "stages", hover) {
        pass.actions.push(Action::Toggle(Panel::Stages));
    }
    let tip = pos2(at.x - 5.0, at.y + 0.5);
    let points = [vec2(-3.0, -4.0), vec2(3.0, 0.0), vec2(-3.0, 4.0)].map(|p| tip + p).to_vec();
    ui.painter().add(Shape::convex_polygon(points, theme::SELECT, Stroke::NONE));
}
