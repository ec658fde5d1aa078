//! The graph of frame times by stage over the last seconds: a bar for each presented frame, with the filter at its base.
//!
//! All bars are one mesh, so that a repaint costs the same few shapes for any number of frames.

use std::collections::VecDeque;

use stats::summary::busy;
use stats::{FrameSample, Setting, Stage};

use crate::axes::{Axes, DEFAULT_INTERVAL_MS, add_label, begin_s, round_up, snap_to_pixel};
use crate::facts::{self, filter_name};
use crate::hatch::{Hatch, Pattern};
use crate::prelude::*;

/// Returns the time in milliseconds that a stage took, also if the filter's output differs from the reference; NaN if unknown.
fn spent(sample: &FrameSample, stage: Stage) -> f64 {
    let left_out = sample.left_out_ms.filter(|_| stage == Stage::Filter);
    left_out.unwrap_or(sample.stages.times[stage as usize])
}

/// The time that the graph covers, in seconds.
const SPAN_S: f64 = 5.0;

/// Lays the graph out in `area`. A click on a bar freezes the panel of the timeline at the bar's frame, a click elsewhere opens
/// that panel.
pub(crate) fn show(ui: &mut Ui, area: Rect, hatch: &Hatch, pass: &mut Pass) {
    let view = pass.view;
    let history = view.recorder.history();
    let axes = Axes::new(ui, area, SPAN_S, history);
    if !axes.plot.is_positive() {
        return;
    }
    let top = axis_end(history, view.budget_ms);
    let step = tick_distance(top, axes.plot.height() > 60.0);
    let per_ms = axes.plot.height() / top as f32;
    let y = |ms: f64| axes.plot.bottom() - ms as f32 * per_ms;
    for n in 0..=(top / step + 0.001).floor().clamp(0.0, 100.0) as u32 {
        let ms = f64::from(n) * step;
        let unit = if n == 0 { " ms" } else { "" };
        axes.draw_grid_line(ui, y(ms), &format!("{}{unit}", theme::tick(ms, 2)));
    }
    let bars = bars(&axes, history, view.budget_ms);
    let mut shapes = Vec::new();
    let mesh = bar_mesh(&axes, &bars, top, per_ms, hatch);
    if !mesh.is_empty() {
        shapes.push(Shape::mesh(mesh));
    }
    if let Some(budget) = view.budget_ms {
        let (plot, y) = (axes.plot, snap_to_pixel(y(budget), axes.pixel) + axes.pixel / 2.0);
        let line = [pos2(plot.left(), y), pos2(plot.right(), y)];
        shapes.extend(Shape::dashed_line(&line, Stroke::new(axes.pixel, theme::STRONG), 6.0, 4.0));
        let text = format!("budget {}", theme::ms(budget));
        let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::STRONG);
        // Above the line where there is no room below it.
        let is_low = y + 4.0 + galley.size().y > plot.bottom();
        let (y, anchor) = if is_low { (y - 1.0, Align2::RIGHT_BOTTOM) } else { (y + 1.0, Align2::RIGHT_TOP) };
        add_label(&mut shapes, pos2(plot.right() - 3.0, y), anchor, galley);
    }
    add_filter_changes(ui, &axes, view, &mut shapes);
    ui.painter().extend(shapes);
    let response = ui.interact(axes.plot, Id::unique("stage-graph"), Sense::click());
    let pointed = response.hover_pos().filter(|at| axes.plot.contains(*at));
    let pointed = pointed.and_then(|at| bars.iter().find(|(x0, x1, _)| (*x0..=*x1).contains(&at.x)));
    let pointed = pointed.map(|(.., sample)| *sample);
    let newest = || {
        let Some(sample) = history.back() else { return theme::UNKNOWN.to_owned() };
        let times = theme::STACK.iter().map(|stage| (stage, spent(sample, *stage)));
        let times = times.filter(|(_, ms)| *ms >= 0.005);
        times
            .map(|(stage, ms)| format!("{} {} ms", stage.name(), theme::ms(ms)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let response = response.named(Role::Image, "Frame time by stage").valued(newest);
    show_pointed_frame(response, pointed, pass);
}

/// Shows the hover text of `pointed`, the frame of a graph under the pointer. A click on the graph freezes the panel of the
/// timeline at that frame, or opens the panel if `pointed` is `None`.
pub(crate) fn show_pointed_frame(response: Response, pointed: Option<&FrameSample>, pass: &mut Pass) {
    if response.clicked() {
        let number = pointed.and_then(|sample| pass.view.recorder.number_of(sample));
        pass.actions.push(number.map_or(Action::Toggle(Panel::Timeline), Action::Freeze));
    }
    if let Some(sample) = pointed {
        let view = pass.view;
        response.explain_at_pointer(|ui| show_frame_details(ui, sample, view));
    }
}

/// Lays out the hover text of a frame: the times of its stages, from the top of its bar down.
fn show_frame_details(ui: &mut Ui, sample: &FrameSample, view: &View) {
    let Setting { variant, settings, .. } = sample.setting;
    ui.strong(filter_name((variant, settings), None, facts::edited_version(view, &sample.setting)));
    ui.weak("Click to freeze this frame in the timeline.");
    let interval = sample.interval_ms.unwrap_or(f64::NAN);
    ui.spacing_mut().interact_size.y = 14.0;
    egui::Grid::new("frame").num_columns(2).spacing([18.0, 1.0]).min_row_height(14.0).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.label(name);
            ui.with_layout(egui::Layout::right_to_left(Align::Center), |ui| ui.monospace(value));
            ui.end_row();
        };
        let busy = busy(&sample.stages.times) + sample.left_out_ms.unwrap_or(0.0);
        line("idle", theme::ms((interval - busy).clamp(0.0, f64::INFINITY)));
        for stage in theme::STACK.into_iter().rev() {
            let ms = spent(sample, stage);
            if ms >= 0.005 {
                line(stage.name(), theme::ms(ms));
            }
        }
        line("frame, ms", theme::ms(interval));
    });
    let mut notes = vec![format!("at {}", theme::clock(sample.pts))];
    if sample.late {
        notes.push("late".into());
    }
    if sample.dropped_before > 0 {
        notes.push(format!("{} dropped before", sample.dropped_before));
    }
    ui.weak(notes.join(", "));
}

/// Returns the height of a frame's bar in milliseconds: the interval since the previous frame, or the sum of the times of the
/// frame's stages if that is longer, as when they overlap the stages of other frames.
fn height_ms(sample: &FrameSample) -> f64 {
    (busy(&sample.stages.times) + sample.left_out_ms.unwrap_or(0.0)).max(sample.interval_ms.unwrap_or(0.0))
}

/// Returns the upper end of the vertical axis in milliseconds: a round number above the budget and above the bars of the last
/// seconds with the newest frame's filter. Single bars that are more than twice as high as the others may be cut off.
fn axis_end(history: &VecDeque<FrameSample>, budget_ms: Option<f64>) -> f64 {
    let Some(newest) = history.back() else {
        return rounded_axis_end(budget_ms.unwrap_or(DEFAULT_INTERVAL_MS) * 1.25);
    };
    let mut heights: Vec<f64> = history
        .iter()
        .rev()
        .take_while(|s| s.setting == newest.setting && s.presented_at >= newest.presented_at - SPAN_S)
        .map(height_ms)
        .collect();
    // A single slow frame, as after a switch, must not flatten all others.
    heights.sort_unstable_by(f64::total_cmp);
    let typical = heights[(heights.len() * 9 / 10).min(heights.len() - 1)];
    let highest = heights[heights.len() - 1].min(typical * 2.0);
    rounded_axis_end((highest * 1.1).max(budget_ms.unwrap_or(0.0) * 1.25).max(1.0))
}

/// Returns a round number, at least `value`, for the end of an axis, so that the axis does not change whenever times vary.
fn rounded_axis_end(value: f64) -> f64 {
    round_up(value.max(1e-3), &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0])
}

/// Returns the distance between the ticks on an axis from 0 to `top`: a round number that divides `top`. If `roomy` is true,
/// there is room for more ticks.
fn tick_distance(top: f64, roomy: bool) -> f64 {
    let counts: &[f64] = if roomy { &[4.0, 5.0, 3.0] } else { &[2.0, 3.0] };
    let round = |step: &f64| {
        let mantissa = step / 10f64.powf((step.log10() + 1e-9).floor());
        [1.0, 2.0, 2.5, 5.0].iter().any(|m| (mantissa - m).abs() < 1e-6)
    };
    counts.iter().map(|n| top / n).find(round).unwrap_or(top)
}

/// The left edge, the right edge and the frame of a bar. Several frames may be merged to one bar; it has the highest one.
type Bar<'a> = (f32, f32, &'a FrameSample);

/// Returns the visible bars.
fn bars<'a>(axes: &Axes, history: &'a VecDeque<FrameSample>, budget_ms: Option<f64>) -> Vec<Bar<'a>> {
    let mut bars: Vec<Bar> = Vec::with_capacity(256);
    for sample in axes.frames(history) {
        let x1 = axes.x(sample.presented_at);
        let x0 = axes.x(begin_s(sample, budget_ms));
        match bars.last_mut() {
            // Bars that would be narrower than this, in points, are merged: only the highest of neighbouring bars is drawn.
            Some(last) if x1 - last.0 < 1.5 => {
                last.1 = last.1.max(x1);
                if height_ms(sample) > height_ms(last.2) {
                    last.2 = sample;
                }
            }
            last => {
                let x0 = last.map_or(x0, |last| x0.max(last.1));
                bars.push((x0, x1.max(x0), sample));
            }
        }
    }
    bars
}

/// Returns the bars as a mesh, filled with the colours and patterns of the stages; `per_ms` is the height in points of a
/// millisecond, and `top` the upper end of the axis in milliseconds.
fn bar_mesh(axes: &Axes, bars: &[Bar], top: f64, per_ms: f32, hatch: &Hatch) -> Mesh {
    let mut mesh = hatch.mesh();
    mesh.vertices.reserve(bars.len() * 28);
    mesh.indices.reserve(bars.len() * 42);
    let (plot, pixel) = (axes.plot, axes.pixel);
    for &(x0, x1, sample) in bars {
        // A gap of a pixel separates frames that are wide enough.
        let x1 = if x1 - x0 >= 4.0 { x1 - pixel } else { x1 };
        let mut low = plot.bottom();
        let mut sum = 0.0;
        let mut quad = |sum: f32, color, pattern| {
            let high = snap_to_pixel(plot.bottom() - sum * per_ms, pixel).max(plot.top());
            if high < low {
                let rect = Rect::from_min_max(pos2(x0, high), pos2(x1, low));
                hatch.add(&mut mesh, rect, (color, pattern));
                low = high;
            }
        };
        for stage in *theme::STACK {
            let ms = spent(sample, stage) as f32;
            if ms > 0.0 {
                sum += ms;
                quad(sum, theme::stage_color(stage), Pattern::Stage(stage));
            }
        }
        if let Some(interval) = sample.interval_ms {
            quad(interval as f32, theme::IDLE, Pattern::Idle);
        }
        if height_ms(sample) > top {
            // Mark a bar that is cut off.
            let cap = Rect::from_min_max(pos2(x0, plot.top()), pos2(x1, plot.top() + 2.0));
            hatch.add(&mut mesh, cap, (theme::WARN, Pattern::Plain));
        }
    }
    mesh
}

/// Adds a vertical line and a name at each change of the filter, and the name of the first filter. Leaves out names that
/// would overlap the next one.
fn add_filter_changes(ui: &Ui, axes: &Axes, view: &View, shapes: &mut Vec<Shape>) {
    let plot = axes.plot;
    let mut names: Vec<(f32, String)> = Vec::new();
    let mut before = None;
    for sample in axes.frames(view.recorder.history()) {
        let setting = sample.setting;
        if before.replace(setting) == Some(setting) {
            continue;
        }
        let x = axes.x(begin_s(sample, view.budget_ms));
        // A drag of the slider changes the settings with every frame: one mark for all of them.
        if names.last().is_some_and(|last| x - last.0 < 12.0) {
            names.pop();
        }
        names.push((
            x,
            filter_name((setting.variant, setting.settings), None, facts::edited_version(view, &setting)),
        ));
    }
    for n in 0..names.len() {
        let (x, text) = names[n].clone();
        if x > plot.left() {
            shapes.push(Shape::vline(x, plot.y_range(), Stroke::new(axes.pixel, theme::STRONG)));
        }
        let end = names.get(n + 1).map_or(plot.right(), |next| next.0);
        let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::STRONG);
        if x + galley.size().x + 14.0 <= end {
            add_label(shapes, pos2(x + 3.0, plot.top() + 3.0), Align2::LEFT_TOP, galley);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_round_numbers_and_with_a_tick() {
        assert_eq!(rounded_axis_end(41.7), 50.0);
        assert_eq!(rounded_axis_end(50.0), 50.0);
        assert_eq!(rounded_axis_end(0.9), 1.0);
        assert_eq!(rounded_axis_end(1100.0), 1500.0);

        for top in [1.0, 1.5, 2.0, 25.0, 30.0, 40.0, 50.0, 60.0, 800.0, 1500.0] {
            for room in [true, false] {
                let steps = top / tick_distance(top, room);
                assert!((1.0..=5.0).contains(&steps), "{top}: {steps} steps");
                assert!((steps - steps.round()).abs() < 1e-9, "{top}");
            }
        }
    }
}
