//! The parts that the graph of the filter's time and the graph of all stages' times share: the time axis, whose right end is
//! the newest frame, the grid, and labels.

use std::collections::VecDeque;
use std::sync::Arc;

use stats::FrameSample;

use crate::prelude::*;

/// The frame interval in milliseconds that is assumed if neither the time since the previous frame (unknown for the first
/// frame, or the first after a pause) nor the frame rate is known.
pub(crate) const DEFAULT_INTERVAL_MS: f64 = 40.0;

/// The area of a graph, with a time axis over the frames presented in the last seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    /// The area of the graph itself, right of the numbers.
    pub plot: Rect,
    /// The time that the axis covers, in seconds.
    pub span_s: f64,
    /// The time in seconds at which the newest frame was presented.
    pub newest_s: f64,
    /// The size of a physical pixel in points.
    pub pixel: f32,
}

impl Axes {
    /// Creates axes in `area` with room for numbers at the left. The time axis covers `span_s` seconds and ends with the
    /// newest frame of `history`.
    pub(crate) fn new(ui: &Ui, area: Rect, span_s: f64, history: &VecDeque<FrameSample>) -> Self {
        let pixel = 1.0 / ui.pixels_per_point();
        // Width in points of the column of numbers left of the graph.
        let left = snap_to_pixel(area.left() + 66.0, pixel);
        let plot = Rect::from_min_max(pos2(left, snap_to_pixel(area.top(), pixel)), area.max);
        Self { plot, span_s, newest_s: history.back().map_or(0.0, |s| s.presented_at), pixel }
    }

    /// Returns the horizontal position in points of the time `presented_at` in seconds, rounded to the edge of a physical
    /// pixel.
    pub(crate) fn x(&self, presented_at: f64) -> f32 {
        let part = (presented_at - self.newest_s) / self.span_s;
        snap_to_pixel(self.plot.right() + self.plot.width() * part as f32, self.pixel).max(self.plot.left())
    }

    /// Returns the frames of `history` that were presented in the time that the axis covers.
    pub(crate) fn frames<'a>(
        &self,
        history: &'a VecDeque<FrameSample>,
    ) -> impl Iterator<Item = &'a FrameSample> + use<'a> {
        let from = self.newest_s - self.span_s;
        history.range(history.partition_point(|s| s.presented_at < from)..)
    }

    /// Draws a horizontal line of the grid at the vertical position `y` in points, with the label `figure` at its left.
    pub(crate) fn draw_grid_line(&self, ui: &Ui, y: f32, figure: &str) {
        let y = snap_to_pixel(y, self.pixel) + self.pixel / 2.0;
        ui.painter().hline(self.plot.x_range(), y, Stroke::new(self.pixel, theme::RULE));
        let at = pos2(self.plot.left() - 7.0, y);
        ui.figures(at, Align2::RIGHT_CENTER, figure, 10.5, theme::WEAK);
    }

    /// Returns the frame of `history` whose time span contains the pointer; `None` if the pointer is outside the graph or on no
    /// frame.
    pub(crate) fn frame_at<'a>(
        &self,
        pointer: Pos2,
        history: &'a VecDeque<FrameSample>,
    ) -> Option<&'a FrameSample> {
        if !self.plot.contains(pointer) {
            return None;
        }
        let at = self.newest_s + f64::from((pointer.x - self.plot.right()) / self.plot.width()) * self.span_s;
        let sample = history.get(history.partition_point(|s| s.presented_at < at))?;
        (at >= begin_s(sample, None)).then_some(sample)
    }
}

/// Returns the time in seconds at which a frame's bar begins: one interval before the frame was presented, or `budget_ms`
/// if the frame has no interval.
pub(crate) fn begin_s(sample: &FrameSample, budget_ms: Option<f64>) -> f64 {
    let ms = sample.interval_ms.or(budget_ms).unwrap_or(DEFAULT_INTERVAL_MS);
    sample.presented_at - if ms.is_finite() { ms } else { DEFAULT_INTERVAL_MS } / 1e3
}

/// Adds the label `galley` to `shapes`, on a dark patch so that it can be read over bars of any colour. `anchor` is the
/// point of the label that is placed at `at`.
pub(crate) fn add_label(shapes: &mut Vec<Shape>, at: Pos2, anchor: Align2, galley: Arc<Galley>) {
    let rect = anchor.anchor_size(at, galley.size() + vec2(8.0, 2.0));
    shapes.push(Shape::rect_filled(rect, 3, theme::PANEL));
    shapes.push(Shape::galley(rect.min + vec2(4.0, 1.0), galley, theme::TEXT));
}

/// Returns `position` rounded to the edge of a physical pixel, both in points; `pixel` is the size of a pixel. Lines on
/// such edges are sharp and have the same width everywhere.
pub(crate) fn snap_to_pixel(position: f32, pixel: f32) -> f32 {
    (position / pixel).round() * pixel
}

/// Returns the least round number that is not less than `value`: one of `steps`, which are from 1 to below 10, times a power of
/// ten.
pub(crate) fn round_up(value: f64, steps: &[f64]) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let round = steps.iter().map(|step| step * decade).find(|round| *round >= value * 0.999);
    round.unwrap_or(10.0 * decade)
}

/// Returns the least and the greatest of those values that are positive and finite; `None` if there are none.
pub(crate) fn positive_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = values.filter(|value| value.is_finite() && *value > 0.0).map(|value| (value, value));
    ends.reduce(|(least, most), (value, _)| (least.min(value), most.max(value)))
}
