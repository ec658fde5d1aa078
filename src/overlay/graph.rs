//! The frame-time graph: one bar for each presented frame, stacked by stage, over the last seconds.
//!
//! All bars are one mesh, so a repaint costs the same few shapes whatever the number of frames.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use egui::epaint::Mesh;
use egui::{Align2, Color32, CornerRadius, Galley, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};
use egui_plot::{AxisHints, Plot, PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotTransform};

use super::hatch::{Hatch, Pattern};
use super::place::{self, Panel, Title};
use super::table::Numbers;
use super::{Action, View, theme};
use crate::ladder::VariantId;
use crate::stats::recorder::busy;
use crate::stats::{FrameSample, Stage};

/// Seconds that the graph covers.
pub const SPAN_S: f64 = 5.0;
/// Width of a bar whose frame has no interval (the first one, or after a pause) and no movie rate to go by.
const DEFAULT_INTERVAL_MS: f64 = 40.0;
/// Bars narrower than this many points are merged: the highest one stands for its neighbours.
const NARROWEST: f32 = 1.5;
const TITLE: f32 = 15.0;

/// Lays the graph out over all the space of `ui`, in a panel whose corner is at `corner`. Returns what was done
/// with its title; a click on the bars asks for the time axis of the last frames.
pub fn show(ui: &mut Ui, view: &View, numbers: &Numbers, corner: Pos2, actions: &mut Vec<Action>) -> Title {
    let history = view.recorder.history();
    let hatch = Hatch::new(ui);
    let clicked = title(ui, numbers, &hatch, corner);
    let top = ceiling(history, view.budget_ms);
    let bars = Bars {
        base: PlotItemBase::new(String::new()),
        history,
        top,
        budget_ms: view.budget_ms,
        pixel: 1.0 / ui.pixels_per_point(),
        hatch,
    };
    let step = tick(top, ui.available_height() > 75.0);
    let plot = Plot::new("frame-time")
        .height(ui.available_height())
        .show_x(false)
        .show_y(false)
        .show_crosshair(false)
        .show_background(false)
        .show_axes([false, true])
        .show_grid([true, true])
        .grid_color(theme::RULE)
        .grid_fade(0.0)
        .x_grid_spacer(|_| marks(-SPAN_S, 0.0, 1.0))
        .y_grid_spacer(move |_| marks(0.0, top, step))
        .custom_y_axes(vec![
            AxisHints::new_y()
                .formatter(|mark, _| format!("{}", (mark.value * 100.0).round() / 100.0))
                .min_thickness(30.0)
                .label_spacing(egui::Rangef::new(4.0, 8.0))
                .tick_label_color(theme::WEAK)
                .tick_label_font(theme::words(11.0)),
        ])
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .allow_axis_zoom_drag(false)
        .sense(Sense::click());
    let shown = plot.show(ui, move |plot| {
        plot.set_plot_bounds(PlotBounds::from_min_max([-SPAN_S, 0.0], [0.0, top]));
        plot.add(bars);
    });
    if shown.response.clicked() {
        actions.push(Action::ToggleTimeline);
    }
    let Some(pointer) = shown.response.hover_pos() else { return clicked };
    let Some(newest) = history.back() else { return clicked };
    let at = newest.presented_at + shown.transform.value_from_position(pointer).x;
    let index = history.partition_point(|s| s.presented_at < at);
    let Some(sample) = history.get(index) else { return clicked };
    if at < sample.presented_at - width_ms(sample, view.budget_ms) / 1000.0 {
        return clicked;
    }
    shown.response.on_hover_ui_at_pointer(|ui| frame_details(ui, sample));
    clicked
}

/// What the graph shows, and which colour is which stage; in a narrow window only the latter.
fn title(ui: &mut Ui, numbers: &Numbers, hatch: &Hatch, corner: Pos2) -> Title {
    let (mut rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), TITLE), Sense::hover());
    let (response, mut clicked) = place::handle(ui, Panel::Graph, rect.expand2(vec2(0.0, 4.0)), corner);
    response.on_hover_text(place::HOVER);
    clicked.fold = super::panel::header(ui, rect, "", false);
    rect.min.x += 16.0;
    let painter = ui.painter_at(rect);
    let font = theme::words(11.5);
    // From the right, so that the order on the line is the order in the stack; what is always zero is left out.
    let visible = Stage::ALL.iter().rev().filter(|s| numbers.stage(**s).is_some_and(|n| n.p95 >= 0.05));
    let mut x = rect.right();
    for (name, color, pattern) in std::iter::once(("idle", theme::IDLE, Pattern::Idle))
        .chain(visible.map(|stage| (stage.name(), theme::stage_color(*stage), Pattern::Of(*stage))))
    {
        let galley = painter.layout_no_wrap(name.to_owned(), font.clone(), theme::TEXT);
        let square = pos2(x - galley.size().x - 20.0, rect.top() + 2.0);
        if square.x < rect.left() {
            return clicked;
        }
        painter.galley(pos2(x - galley.size().x, rect.top()), galley, theme::TEXT);
        painter.add(hatch.swatch(Rect::from_min_size(square, vec2(16.0, 11.0)), color, pattern));
        x = square.x - 10.0;
    }
    let name = painter.layout_no_wrap("Frame time by stage, ms, last 5 s".to_owned(), font, theme::WEAK);
    if rect.left() + name.size().x + 6.0 <= x {
        painter.galley(rect.left_top(), name, theme::WEAK);
    }
    clicked
}

fn frame_details(ui: &mut Ui, sample: &FrameSample) {
    ui.strong(format!("{}, radius {}", sample.variant, sample.radius));
    ui.weak("A click shows the last frames on one time axis.");
    let interval = sample.interval_ms.map_or_else(|| "-".into(), theme::ms);
    let idle = sample.interval_ms.map_or(0.0, |ms| (ms - busy(&sample.stages)).max(0.0));
    ui.spacing_mut().interact_size.y = 14.0;
    egui::Grid::new("frame").num_columns(2).spacing([18.0, 1.0]).min_row_height(14.0).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.label(name);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.monospace(value));
            ui.end_row();
        };
        line("idle", theme::ms(idle));
        for stage in Stage::ALL.into_iter().rev() {
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

/// Time from the frame before, or what stands for it where there was none.
fn width_ms(sample: &FrameSample, budget_ms: Option<f64>) -> f64 {
    sample.interval_ms.or(budget_ms).unwrap_or(DEFAULT_INTERVAL_MS)
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
        .take_while(|s| s.variant == newest.variant && s.presented_at >= newest.presented_at - SPAN_S)
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

fn marks(from: f64, to: f64, step: f64) -> Vec<egui_plot::GridMark> {
    let count = ((to - from) / step + 0.001).floor().clamp(0.0, 100.0) as u32;
    (0..=count).map(|n| egui_plot::GridMark { value: from + f64::from(n) * step, step_size: step }).collect()
}

/// The bars, the line of the budget and the marks of changes, as one plot item.
struct Bars<'a> {
    base: PlotItemBase,
    history: &'a VecDeque<FrameSample>,
    top: f64,
    budget_ms: Option<f64>,
    /// Size of a physical pixel in points.
    pixel: f32,
    hatch: Hatch,
}

impl Bars<'_> {
    /// The bars that are visible, as their left and right edges and their frame.
    fn columns(&self, transform: &PlotTransform) -> Vec<(f32, f32, &FrameSample)> {
        let Some(newest) = self.history.back() else { return Vec::new() };
        let left_edge = transform.frame().left();
        let first = self.history.partition_point(|s| s.presented_at < newest.presented_at - SPAN_S);
        let mut columns: Vec<(f32, f32, &FrameSample)> = Vec::with_capacity(256);
        for sample in self.history.range(first..) {
            let end = sample.presented_at - newest.presented_at;
            let x1 = snap(transform.position_from_point_x(end), self.pixel);
            let start = end - width_ms(sample, self.budget_ms) / 1000.0;
            let x0 = snap(transform.position_from_point_x(start), self.pixel).max(left_edge);
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

    fn mesh(&self, transform: &PlotTransform) -> Mesh {
        let columns = self.columns(transform);
        let mut mesh = self.hatch.mesh();
        mesh.vertices.reserve(columns.len() * 28);
        mesh.indices.reserve(columns.len() * 42);
        let frame = *transform.frame();
        let per_ms = (frame.height() as f64 / self.top) as f32;
        for (x0, x1, sample) in columns {
            // A gap of a pixel shows where one frame ends, as long as there is room for it.
            let x1 = if x1 - x0 >= 4.0 { x1 - self.pixel } else { x1 };
            let mut low = frame.bottom();
            let mut sum = 0.0;
            let mut quad = |sum: f32, color, pattern| {
                let high = snap(frame.bottom() - sum * per_ms, self.pixel).max(frame.top());
                if high < low {
                    let rect = Rect::from_min_max(pos2(x0, high), pos2(x1, low));
                    self.hatch.add(&mut mesh, rect, color, pattern);
                    low = high;
                }
            };
            for stage in Stage::ALL {
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
                let cap = Rect::from_min_max(pos2(x0, frame.top()), pos2(x1, frame.top() + 2.0));
                self.hatch.add(&mut mesh, cap, theme::STRONG, Pattern::Plain);
            }
        }
        mesh
    }

    fn budget(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let Some(budget) = self.budget_ms else { return };
        let frame = transform.frame();
        let y = snap(transform.position_from_point_y(budget), self.pixel) + self.pixel / 2.0;
        let line = [pos2(frame.left(), y), pos2(frame.right(), y)];
        shapes.extend(Shape::dashed_line(&line, Stroke::new(1.0, theme::STRONG), 6.0, 4.0));
        let text = format!("budget {}", theme::ms(budget));
        let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::STRONG);
        tag(shapes, pos2(frame.right() - 3.0, y - 1.0), Align2::RIGHT_BOTTOM, galley, theme::STRONG);
    }

    /// A line and a name wherever the variant or the radius changed, and the name of what the graph begins
    /// with. A name that would reach the next one is left out.
    fn changes(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let Some(newest) = self.history.back() else { return };
        let frame = transform.frame();
        let first = self.history.partition_point(|s| s.presented_at < newest.presented_at - SPAN_S);
        let mut before = first.checked_sub(1).and_then(|n| self.history.get(n));
        let mut names: Vec<(f32, String, Color32)> = Vec::new();
        for sample in self.history.range(first..) {
            let variant_changed = before.is_some_and(|b| b.variant != sample.variant);
            let radius_changed = before.is_some_and(|b| b.radius != sample.radius);
            before = Some(sample);
            if !(variant_changed || radius_changed || names.is_empty()) {
                continue;
            }
            let start = sample.presented_at - newest.presented_at - width_ms(sample, self.budget_ms) / 1000.0;
            let x = snap(transform.position_from_point_x(start).max(frame.left()), self.pixel);
            let color = if variant_changed { theme::STRONG } else { theme::WEAK };
            let text = match sample.variant {
                VariantId::Off if variant_changed || names.is_empty() => "off".to_owned(),
                variant if variant_changed || names.is_empty() => format!("{variant}, r={}", sample.radius),
                _ => format!("r={}", sample.radius),
            };
            // A drag of the slider changes the radius with every frame: one mark stands for all of them.
            if !variant_changed && names.last().is_some_and(|last| x - last.0 < 12.0 && last.2 == color) {
                names.pop();
            } else if variant_changed || radius_changed {
                let line = [pos2(x, frame.top()), pos2(x, frame.bottom())];
                shapes.push(Shape::line_segment(line, Stroke::new(1.0, color)));
            }
            names.push((x, text, color));
        }
        for n in 0..names.len() {
            let (x, text, color) = names[n].clone();
            let end = names.get(n + 1).map_or(frame.right(), |next| next.0);
            let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), color);
            if x + galley.size().x + 14.0 <= end {
                tag(shapes, pos2(x + 3.0, frame.top() + 3.0), Align2::LEFT_TOP, galley, color);
            }
        }
    }
}

impl PlotItem for Bars<'_> {
    fn shapes(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let mesh = self.mesh(transform);
        if !mesh.is_empty() {
            shapes.push(Shape::Mesh(Arc::new(mesh)));
        }
        self.budget(ui, transform, shapes);
        self.changes(ui, transform, shapes);
    }

    fn initialize(&mut self, _: RangeInclusive<f64>) {}

    fn color(&self) -> Color32 {
        Color32::TRANSPARENT
    }

    fn allow_hover(&self) -> bool {
        false
    }

    fn geometry(&self) -> PlotGeometry<'_> {
        PlotGeometry::None
    }

    fn bounds(&self) -> PlotBounds {
        PlotBounds::from_min_max([-SPAN_S, 0.0], [0.0, self.top])
    }

    fn base(&self) -> &PlotItemBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut PlotItemBase {
        &mut self.base
    }
}

/// Small text on a dark patch, readable over bars of any colour.
fn tag(shapes: &mut Vec<Shape>, at: Pos2, anchor: Align2, galley: Arc<Galley>, color: Color32) {
    let rect = anchor.anchor_size(at, galley.size() + vec2(8.0, 2.0));
    shapes.push(Shape::rect_filled(rect, CornerRadius::same(3), theme::PANEL));
    shapes.push(Shape::galley(rect.min + vec2(4.0, 1.0), galley, color));
}

/// The nearest edge of a physical pixel: bars then look the same wherever they stand.
fn snap(position: f32, pixel: f32) -> f32 {
    (position / pixel).round() * pixel
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
                let marks = marks(0.0, top, tick(top, room));
                assert!((2..=6).contains(&marks.len()), "{top}: {} ticks", marks.len());
                assert!((marks[marks.len() - 1].value - top).abs() < 1e-9, "{top}");
            }
        }
    }
}
