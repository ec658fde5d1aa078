//! The frame-time graph by stage: one bar for each presented frame, the filter at its foot, over the last seconds.
//!
//! All bars are one mesh, so a repaint costs the same few shapes whatever the number of frames. A click on a bar freezes the
//! time axis of that frame.

use std::collections::VecDeque;

use egui::epaint::Mesh;
use egui::{Align2, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::axes::{Axes, DEFAULT_INTERVAL_MS, begin_s, name, snap, tag};
use super::hatch::{Hatch, Pattern};
use super::{Action, View, theme};
use engine::stats::recorder::busy;
use engine::stats::{FrameSample, Stage};

/// Seconds that the graph covers.
const SPAN_S: f64 = 5.0;
/// Bars narrower than this many points are merged: the highest one stands for its neighbours.
const NARROWEST: f32 = 1.5;

/// Lays the graph out in `area`; a click on a bar asks for the time axis of its frame, elsewhere for that of the last frames.
pub(crate) fn show(ui: &mut Ui, area: Rect, view: &View, hatch: &Hatch, actions: &mut Vec<Action>) {
    let history = view.recorder.history();
    let axes = Axes::new(ui, area, SPAN_S, history);
    if !axes.plot.is_positive() {
        return;
    }
    let top = ceiling(history, view.budget_ms);
    let step = tick(top, axes.plot.height() > 60.0);
    let per_ms = axes.plot.height() / top as f32;
    let y = |ms: f64| axes.plot.bottom() - ms as f32 * per_ms;
    for n in 0..=(top / step + 0.001).floor().clamp(0.0, 100.0) as u32 {
        let ms = f64::from(n) * step;
        let unit = if n == 0 { " ms" } else { "" };
        axes.mark(ui, y(ms), &format!("{}{unit}", (ms * 100.0).round() / 100.0));
    }
    let bars = Bars { axes, history, top, budget_ms: view.budget_ms, hatch };
    let mut shapes = Vec::new();
    let mesh = bars.mesh(per_ms);
    if !mesh.is_empty() {
        shapes.push(Shape::mesh(mesh));
    }
    bars.budget(ui, y, &mut shapes);
    bars.changes(ui, &mut shapes);
    ui.painter().extend(shapes);
    let response = ui.interact(axes.plot, egui::Id::unique("stage-graph"), Sense::click());
    let pointed = response.hover_pos().and_then(|at| bars.under(at));
    if response.clicked() {
        actions.push(clicked(view, pointed));
    }
    if let Some(sample) = pointed {
        response.on_hover_ui_at_pointer(|ui| frame_details(ui, sample));
    }
}

/// What a click on this frame asks for.
pub(crate) fn clicked(view: &View, sample: Option<&FrameSample>) -> Action {
    let number = sample.and_then(|sample| view.recorder.number_of(sample));
    number.map_or(Action::Toggle(super::Panel::Timeline), Action::Freeze)
}

/// What a frame took, stage by stage, from the top of its bar to its foot.
pub(crate) fn frame_details(ui: &mut Ui, sample: &FrameSample) {
    ui.strong(name(sample.variant, sample.radius));
    ui.weak("A click freezes this frame on a time axis.");
    let interval = sample.interval_ms.map_or_else(|| theme::UNKNOWN.into(), theme::ms);
    let idle = sample
        .interval_ms
        .map_or_else(|| theme::UNKNOWN.into(), |ms| theme::ms((ms - busy(&sample.stages)).max(0.0)));
    ui.spacing_mut().interact_size.y = 14.0;
    egui::Grid::new("frame").num_columns(2).spacing([18.0, 1.0]).min_row_height(14.0).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.label(name);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.monospace(value));
            ui.end_row();
        };
        line("idle", idle);
        for stage in theme::STACK.into_iter().rev() {
            let ms = sample.stages[stage as usize];
            if ms >= 0.005 {
                line(stage.name(), theme::ms(ms));
            }
        }
        line("frame, ms", interval);
    });
    let mut notes = vec![format!("at {}", theme::clock(sample.pts))];
    if sample.late {
        notes.push("late".into());
    }
    if sample.dropped_before > 0 {
        notes.push(format!("{} dropped before it", sample.dropped_before));
    }
    ui.weak(notes.join(", "));
}

/// Height of a frame's bar: its interval, or its stages where they overlap the neighbours' and take longer.
fn height_ms(sample: &FrameSample) -> f64 {
    busy(&sample.stages).max(sample.interval_ms.unwrap_or(0.0))
}

/// Upper end of the axis: room for the budget and for the frames of the current variant. A slower variant's
/// bars may reach out of the picture, so that the current one can be read at once.
fn ceiling(history: &VecDeque<FrameSample>, budget_ms: Option<f64>) -> f64 {
    let Some(newest) = history.back() else { return nice(budget_ms.unwrap_or(DEFAULT_INTERVAL_MS) * 1.25) };
    let mut heights: Vec<f64> = history
        .iter()
        .rev()
        .take_while(|s| s.setting() == newest.setting() && s.presented_at >= newest.presented_at - SPAN_S)
        .map(height_ms)
        .collect();
    // A single slow frame (a switch, a hiccup) does not press all others flat.
    heights.sort_unstable_by(f64::total_cmp);
    let typical = heights[(heights.len() * 9 / 10).min(heights.len() - 1)];
    let highest = heights[heights.len() - 1].min(typical * 2.0);
    nice((highest * 1.1).max(budget_ms.unwrap_or(0.0) * 1.25).max(1.0))
}

/// The next round number, so that the axis keeps still while the times jitter.
fn nice(value: f64) -> f64 {
    let decade = 10f64.powf(value.max(1e-3).log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|s| s * decade).find(|s| *s >= value * 0.999).unwrap_or(10.0 * decade)
}

/// Distance of the ticks on an axis that ends at `top`: a round number that divides it.
fn tick(top: f64, room: bool) -> f64 {
    let counts: &[f64] = if room { &[4.0, 5.0, 3.0] } else { &[2.0, 3.0] };
    let round = |step: &f64| {
        let mantissa = step / 10f64.powf((step.log10() + 1e-9).floor());
        [1.0, 2.0, 2.5, 5.0].iter().any(|m| (mantissa - m).abs() < 1e-6)
    };
    counts.iter().map(|n| top / n).find(round).unwrap_or(top)
}

/// The bars, the line of the budget and the marks of changes.
struct Bars<'a> {
    axes: Axes,
    history: &'a VecDeque<FrameSample>,
    top: f64,
    budget_ms: Option<f64>,
    hatch: &'a Hatch,
}

impl<'a> Bars<'a> {
    /// The frame whose bar is under the pointer: of neighbours that share a bar, that which is drawn.
    fn under(&self, pointer: Pos2) -> Option<&'a FrameSample> {
        let columns = self.axes.plot.contains(pointer).then(|| self.columns())?;
        columns.iter().find(|(x0, x1, _)| (*x0..=*x1).contains(&pointer.x)).map(|(_, _, sample)| *sample)
    }

    /// The bars that are visible, as their left and right edges and their frame.
    fn columns(&self) -> Vec<(f32, f32, &'a FrameSample)> {
        let mut columns: Vec<(f32, f32, &'a FrameSample)> = Vec::with_capacity(256);
        for sample in self.axes.frames(self.history) {
            let x1 = self.axes.x(sample.presented_at);
            let x0 = self.axes.x(begin_s(sample, self.budget_ms));
            match columns.last_mut() {
                Some(last) if x1 - last.0 < NARROWEST => {
                    last.1 = last.1.max(x1);
                    if height_ms(sample) > height_ms(last.2) {
                        last.2 = sample;
                    }
                }
                Some(last) => {
                    let x0 = x0.max(last.1);
                    columns.push((x0, x1.max(x0), sample));
                }
                None => columns.push((x0, x1.max(x0), sample)),
            }
        }
        columns
    }

    fn mesh(&self, per_ms: f32) -> Mesh {
        let columns = self.columns();
        let mut mesh = self.hatch.mesh();
        mesh.vertices.reserve(columns.len() * 28);
        mesh.indices.reserve(columns.len() * 42);
        let (plot, pixel) = (self.axes.plot, self.axes.pixel);
        for (x0, x1, sample) in columns {
            // A gap of a pixel shows where one frame ends, as long as there is room for it.
            let x1 = if x1 - x0 >= 4.0 { x1 - pixel } else { x1 };
            let mut low = plot.bottom();
            let mut sum = 0.0;
            let mut quad = |sum: f32, color, pattern| {
                let high = snap(plot.bottom() - sum * per_ms, pixel).max(plot.top());
                if high < low {
                    let rect = Rect::from_min_max(pos2(x0, high), pos2(x1, low));
                    self.hatch.add(&mut mesh, rect, color, pattern);
                    low = high;
                }
            };
            for stage in theme::STACK {
                let ms = sample.stages[stage as usize] as f32;
                if ms > 0.0 {
                    sum += ms;
                    quad(sum, theme::stage_color(stage), Pattern::Of(stage));
                }
            }
            if let Some(interval) = sample.interval_ms {
                quad(interval as f32, theme::IDLE, Pattern::Idle);
            }
            if height_ms(sample) > self.top {
                // The bar goes on above the graph.
                let cap = Rect::from_min_max(pos2(x0, plot.top()), pos2(x1, plot.top() + 2.0));
                self.hatch.add(&mut mesh, cap, theme::WARN, Pattern::Plain);
            }
        }
        mesh
    }

    fn budget(&self, ui: &Ui, y: impl Fn(f64) -> f32, shapes: &mut Vec<Shape>) {
        let Some(budget) = self.budget_ms else { return };
        let plot = self.axes.plot;
        let y = snap(y(budget), self.axes.pixel) + self.axes.pixel / 2.0;
        let line = [pos2(plot.left(), y), pos2(plot.right(), y)];
        shapes.extend(Shape::dashed_line(&line, Stroke::new(self.axes.pixel, theme::STRONG), 6.0, 4.0));
        let text = format!("budget {}", theme::ms(budget));
        let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::STRONG);
        tag(shapes, pos2(plot.right() - 3.0, y - 1.0), Align2::RIGHT_BOTTOM, galley, theme::STRONG);
    }

    /// A line and a name wherever the setting changed, and the name of what the graph begins with. A name that would
    /// reach the next one is left out.
    fn changes(&self, ui: &Ui, shapes: &mut Vec<Shape>) {
        let plot = self.axes.plot;
        let mut names: Vec<(f32, String)> = Vec::new();
        let mut before = None;
        for sample in self.axes.frames(self.history) {
            let setting = sample.setting();
            if before.replace(setting) == Some(setting) {
                continue;
            }
            let x = self.axes.x(begin_s(sample, self.budget_ms));
            // A drag of the slider changes the radius with every frame: one mark stands for all of them.
            if names.last().is_some_and(|last| x - last.0 < 12.0) {
                names.pop();
            }
            names.push((x, name(setting.variant, setting.radius)));
        }
        for n in 0..names.len() {
            let (x, text) = names[n].clone();
            if x > plot.left() {
                let line = [pos2(x, plot.top()), pos2(x, plot.bottom())];
                shapes.push(Shape::line_segment(line, Stroke::new(self.axes.pixel, theme::STRONG)));
            }
            let end = names.get(n + 1).map_or(plot.right(), |next| next.0);
            let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::STRONG);
            if x + galley.size().x + 14.0 <= end {
                tag(shapes, pos2(x + 3.0, plot.top() + 3.0), Align2::LEFT_TOP, galley, theme::STRONG);
            }
        }
    }
}

/// The names of the stages that cost something, with their colours, right-aligned in `row`; a click on them shows or hides
/// the patterns.
pub(crate) fn legend(ui: &Ui, row: Rect, stages: &[Stage], hatch: &Hatch) {
    let font = theme::words(11.5);
    let painter = ui.painter_at(row);
    let mut x = row.right();
    // From the right, so that the order on the line is the order in the stack.
    let named = stages.iter().rev().map(|s| (s.name(), theme::stage_color(*s), Pattern::Of(*s)));
    for (name, color, pattern) in std::iter::once(("idle", theme::IDLE, Pattern::Idle)).chain(named) {
        let galley = painter.layout_no_wrap(name.to_owned(), font.clone(), theme::TEXT);
        let square = pos2(x - galley.size().x - 20.0, row.center().y - 5.0);
        if square.x < row.left() {
            return;
        }
        painter.galley(
            pos2(x - galley.size().x, row.center().y - galley.size().y / 2.0),
            galley,
            theme::TEXT,
        );
        painter.add(hatch.swatch(Rect::from_min_size(square, vec2(16.0, 10.0)), color, pattern));
        x = square.x - 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_round_numbers() {
        assert_eq!(nice(41.7), 50.0);
        assert_eq!(nice(50.0), 50.0);
        assert_eq!(nice(0.9), 1.0);
        assert_eq!(nice(1100.0), 1500.0);
    }

    #[test]
    fn the_last_tick_is_the_end_of_the_axis() {
        for top in [1.0, 1.5, 2.0, 25.0, 30.0, 40.0, 50.0, 60.0, 800.0, 1500.0] {
            for room in [true, false] {
                let steps = top / tick(top, room);
                assert!((1.0..=5.0).contains(&steps), "{top}: {steps} steps");
                assert!((steps - steps.round()).abs() < 1e-9, "{top}");
            }
        }
    }
}
