//! The headline, a panel with the filter of the picture on the screen, the filter's time in large figures, and a bar of one
//! frame's stages. While the first picture of another filter is computed, it shows that filter and the elapsed time instead.

use base::device::ClockState;
use box_filter::VariantId;
use compute::BackEnd;
use stats::Stage;

use crate::prelude::*;
use crate::{Busy, axes, device_name, facts, line, panel, scoreboard, stages, words};

/// The headline's width and height in points.
pub(crate) const SIZE: Vec2 = vec2(388.0, 190.0);

/// Lays the headline out in `rect`, or as one line of text if it is `folded`.
pub(crate) fn show(ui: &mut Ui, (rect, folded): (Rect, bool), pass: &mut Pass) {
    let (view, numbers) = (pass.view, pass.numbers);
    let mut ui = panel::ground(ui, rect, "headline");
    if folded {
        let about = format!("{}\n{}", words::FILTER, words::cpu_text(view.cpu.cores));
        panel::explain_bar(&ui, rect, &about);
        panel::title_bar(&mut ui, rect.shrink2(vec2(10.0, 3.0)), "", (Panel::Numbers, true), pass);
        return line::draw(&ui, rect, 26.0, pass);
    }
    let inner = rect.shrink2(vec2(12.0, 8.0));
    let row = inner.with_max_y(inner.top() + 16.0);
    panel::explain_bar(&ui, rect.with_max_y(inner.top() + 18.0), &view.movie.name());
    panel::title_bar(&mut ui, row.with_max_x(row.left() + 16.0), "", (Panel::Numbers, false), pass);
    draw_movie_and_state(&ui, row, view);
    let awaited = facts::pending_filter(view);
    draw_filter_name(&ui, inner, view, awaited);
    match awaited {
        Some(busy) => {
            let place = draw_large_time(&ui, inner, (&facts::seconds(busy.elapsed_s), "s"), theme::STRONG);
            describe::number(&ui, place, "Elapsed time", &facts::progress(view, busy));
            let about = facts::estimate(busy).map(|all| format!("of about {all} s"));
            let about = facts::preparation(view, busy).or(about.as_deref()).unwrap_or("no estimate yet");
            let at = pos2(inner.right(), inner.top() + FIGURES_OFFSET + 9.0);
            ui.words(at, Align2::RIGHT_CENTER, about, 15.0, theme::TEXT);
        }
        None => show_filter_time(&mut ui, inner, view, numbers),
    }
    show_rates(&mut ui, inner, awaited.is_none(), pass);
    let bar = Rect::from_x_y_ranges(inner.x_range(), inner.bottom() - 34.0..=inner.bottom() - 22.0);
    let (text, color) = match facts::slow_filter(view) {
        Some(busy) => {
            let done = busy.fraction.clamp(0.0, 1.0);
            scoreboard::draw_bar(ui.painter(), bar, done, false);
            (facts::frame_progress(view, busy), theme::TEXT)
        }
        None => draw_frame_bar(&ui, bar, view, numbers),
    };
    let y = inner.bottom() - 8.0;
    describe::number(&ui, bar, "Frame", &text);
    ui.words(pos2(inner.left(), y), Align2::LEFT_CENTER, text, 12.5, color);
    let (at, hover) = (pos2(inner.right() - 12.0, y), "Times of all stages, with percentiles (d)");
    if panel::link(&mut ui, at, "stages", hover) {
        pass.actions.push(Action::Toggle(Panel::Stages));
    }
    let tip = pos2(inner.right() - 5.0, y + 0.5);
    let points = [vec2(-3.0, -4.0), vec2(3.0, 0.0), vec2(-3.0, 4.0)].map(|p| tip + p).to_vec();
    ui.painter().add(Shape::convex_polygon(points, theme::SELECT, Stroke::NONE));
}

fn draw_movie_and_state(ui: &Ui, row: Rect, view: &View) {
    let color = match view.state {
        state if state.is_requested() => theme::TEXT,
        state if state.is_good() => theme::GOOD,
        _ => theme::WARN,
    };
    let mut state = vec![view.state.to_string()];
    state.extend(facts::speed_and_loop(view));
    let at = (row.right_center(), Align2::RIGHT_CENTER, row.width() * 0.6);
    let place = describe::text(ui, "State", at, &state.join(", "), (12.0, color));
    let left = place.rect.left();
    ui.painter().circle_filled(pos2(left - 9.0, row.center().y), 3.5, color);
    let text = match view.movie.in_list {
        Some((number, count)) => format!("{number}/{count} \u{b7} {}", view.movie.name()),
        None => view.movie.name().into_owned(),
    };
    let at = (row.left_center() + vec2(16.0, 0.0), Align2::LEFT_CENTER, left - row.left() - 36.0);
    describe::text(ui, "Movie", at, &text, (12.5, theme::TEXT));
}

/// Draws the variant and the settings of the picture on the screen, or those of `awaited`, the picture that is being filtered,
/// and the picture's size.
fn draw_filter_name(ui: &Ui, inner: Rect, view: &View, awaited: Option<&Busy>) {
    let at = inner.left_top() + vec2(0.0, 36.0);
    let (variant, settings) = awaited.map_or_else(|| facts::shown_filter(view), |b| (b.variant, b.settings));
    let mut text = variant.to_string();
    if let Some(auto) = facts::auto_variant(view).filter(|_| awaited.is_none()) {
        text.push_str(&format!(" ({})", auto.short_name()));
    }
    text = facts::with_version(text, view.kernels.edited_version(variant));
    let (w, h) = view.size();
    if let Some(stack) = facts::stack_without_selected(view).filter(|_| awaited.is_none()) {
        let at = (at, Align2::LEFT_CENTER, inner.width());
        describe::text(ui, "Filter", at, &stack, (21.0, theme::STRONG));
        return;
    }
    let size = if text.len() > 13 { 21.0 } else { 25.0 };
    let name = ui.words(at, Align2::LEFT_CENTER, &text, size, theme::STRONG);
    let about = match (w, variant == VariantId::OFF) {
        (0, _) => stages::OPENING_TEXT.to_owned(),
        (_, true) => format!("{w} \u{d7} {h}"),
        (_, false) => format!("{} \u{b7} {w} \u{d7} {h}", facts::settings_text(variant, settings)),
    };
    describe::number(ui, name, "Filter", &format!("{text}, {about}"));
    let room = inner.right() - name.right() - 10.0;
    let at = (pos2(inner.right(), at.y + 3.0), Align2::RIGHT_CENTER, room);
    theme::elided_text(ui, at, &about, (14.0, theme::TEXT));
}

/// The distance in points of the middle of the filter's time, in large figures, from the headline's upper edge.
const FIGURES_OFFSET: f32 = 78.0;

/// Lays out the filter's median time, and the frame rate at which the filter alone would run.
fn show_filter_time(ui: &mut Ui, inner: Rect, view: &View, numbers: &Numbers) {
    let off = facts::shown_filter(view).0 == VariantId::OFF;
    let filter = numbers.filter().filter(|_| !off);
    let text = if off { theme::UNKNOWN.to_owned() } else { numbers.filter_time() };
    draw_large_time(ui, inner, (&text, "ms"), theme::FILTER);
    let by_wall = view.recorder.shown.last().is_some_and(|s| s.stages.filter_by_wall);
    let is_kernel = view.shown.is_some_and(|shown| shown.variant.back_end() == BackEnd::OpenCl);
    let is_uncalibrated = is_kernel && matches!(view.clock, ClockState::Uncalibrated(_));
    let above = match filter {
        Some(_) if by_wall => "filter, wall time",
        Some(_) if is_uncalibrated => "filter, uncalibrated",
        Some(_) => "filter alone",
        None if facts::stack_without_selected(view).is_some() => "the selected filter is off",
        None if off => "no filter",
        None if facts::is_left_out(view) => facts::NOT_TIMED,
        None => "not measured",
    };
    let below = filter.map_or_else(String::new, |filter| theme::fps(filter.p50, filter.noise));
    let (right, y) = (inner.right(), inner.top() + FIGURES_OFFSET);
    ui.words(pos2(right, y - 8.0), Align2::RIGHT_CENTER, above, 12.0, theme::WEAK);
    ui.words(pos2(right, y + 10.0), Align2::RIGHT_CENTER, &below, 15.0, theme::TEXT);
    let area = Rect::from_x_y_ranges(inner.x_range(), y - 24.0..=y + 22.0);
    let mut hover = vec![if by_wall { words::FILTER_BY_WALL } else { words::FILTER }.to_owned()];
    hover.extend(filter.and_then(|filter| filter.noise).map(|noise| words::noise_text(&noise)));
    hover.extend(view.clock.note().filter(|_| is_kernel));
    hover.extend(is_uncalibrated.then(|| words::UNCALIBRATED.to_owned()));
    let value = format!("{text} ms, {above}, {below}");
    describe::number(ui, area, "Filter time", &value).explain(hover.join("\n"));
}

/// Draws a time in large figures, and its unit. Returns the rectangle of the time.
fn draw_large_time(ui: &Ui, inner: Rect, (time, unit): (&str, &str), color: Color32) -> Rect {
    let at = pos2(inner.left(), inner.top() + FIGURES_OFFSET);
    let time = ui.figures(at, Align2::LEFT_CENTER, time, 46.0, color);
    let at = pos2(time.right() + 8.0, at.y + 9.0);
    ui.words(at, Align2::LEFT_CENTER, unit, 20.0, color);
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
    let at = |x: f32| (pos2(x, y), Align2::LEFT_CENTER, f32::INFINITY);
    let rate = describe::text(ui, "Frame rate", at(inner.left()), &rate, (16.0, color));
    let at = at(rate.rect.right() + 18.0);
    let cpu = describe::text(ui, "CPU load", at, &facts::cpu(view), (16.0, theme::STRONG));
    rate.explain(words::FRAME_RATE);
    let cpu = cpu.explain(words::cpu_text(view.cpu.cores)).rect;
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
    let at = theme::elided_text(ui, at, &device, (12.0, color));
    let response = ui.interact(at, ui.unique_id().with("device"), Sense::click());
    let response = response.named(Role::Button, "Device").valued(|| device);
    response.explain(hover).on_click(Action::Toggle(Panel::Devices), &mut pass.actions);
}

/// Draws the stages of one frame as one bar, against the budget (the time that a frame may take): the filter first, in its
/// colour. Returns the caption and its colour.
fn draw_frame_bar(ui: &Ui, bar: Rect, view: &View, numbers: &Numbers) -> (String, Color32) {
    let pixel = 1.0 / ui.pixels_per_point();
    let stages = theme::STACK.map(|stage| (stage, numbers.spent(stage).map_or(0.0, |s| s.p50)));
    let sum: f64 = stages.iter().map(|(_, ms)| ms.max(0.0)).sum();
    let budget = view.budget_ms.filter(|b| b.is_finite() && *b > 0.0 && !view.unpaced);
    let whole = budget.unwrap_or(0.0).max(sum);
    ui.painter().rect_filled(bar, 2, theme::TROUGH);
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
            ui.painter().rect_filled(part, 0, theme::stage_color(stage));
        }
        at += ms;
    }
    // The noise of the sum is that of the longest stage.
    let measured = theme::STACK.iter().filter_map(|stage| numbers.spent(*stage));
    let noise = measured.max_by(|a, b| a.p50.total_cmp(&b.p50)).and_then(|longest| longest.noise);
    let sum_text = format!("one frame: {} ", theme::with_noise(sum, noise, theme::short_ms));
    let Some(budget) = budget else { return (format!("{sum_text}ms"), theme::TEXT) };
    if sum > budget {
        ui.painter().vline(x(budget), bar.y_range().expand(3.0), Stroke::new(2.0, theme::WARN));
    }
    let color = if sum > budget { theme::WARN } else { theme::TEXT };
    (format!("{sum_text}of {} ms", theme::short_number(budget)), color)
}
