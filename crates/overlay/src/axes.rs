//! What the two graphs have in common: time goes from left to right and ends with the newest frame, a grid lies behind, and
//! small texts name what stands there.

use std::collections::VecDeque;
use std::sync::Arc;

use egui::{Align2, Color32, CornerRadius, Galley, Pos2, Rect, Shape, Stroke, Ui, pos2, vec2};

use super::theme;
use box_filter::VariantId;
use engine::stats::FrameSample;

/// Width of the figures left of the grid.
const FIGURES: f32 = 46.0;
/// Duration of a frame that has no interval (the first one, or after a pause) and no movie rate to go by.
pub(crate) const DEFAULT_INTERVAL_MS: f64 = 40.0;

/// The room of a graph: a time axis over the last seconds of what was presented.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    /// Where the graph is drawn.
    pub plot: Rect,
    /// Seconds that it covers.
    pub span_s: f64,
    /// When the newest frame was presented.
    pub newest_s: f64,
    /// Size of a physical pixel in points.
    pub pixel: f32,
}

impl Axes {
    /// Axes in `area`, whose figures stand left of the grid.
    pub(crate) fn new(ui: &Ui, area: Rect, span_s: f64, history: &VecDeque<FrameSample>) -> Self {
        let pixel = 1.0 / ui.pixels_per_point();
        let left = snap(area.left() + FIGURES, pixel);
        let plot = Rect::from_min_max(pos2(left, snap(area.top(), pixel)), area.max);
        Self { plot, span_s, newest_s: history.back().map_or(0.0, |s| s.presented_at), pixel }
    }

    /// Where a moment is, on the edge of a pixel.
    pub(crate) fn x(&self, presented_at: f64) -> f32 {
        let part = (presented_at - self.newest_s) / self.span_s;
        snap(self.plot.right() + self.plot.width() * part as f32, self.pixel).max(self.plot.left())
    }

    /// The moment at a place.
    pub(crate) fn time(&self, x: f32) -> f64 {
        self.newest_s + f64::from((x - self.plot.right()) / self.plot.width()) * self.span_s
    }

    /// The frames that it covers.
    pub(crate) fn frames<'a>(
        &self,
        history: &'a VecDeque<FrameSample>,
    ) -> impl Iterator<Item = &'a FrameSample> + use<'a> {
        let from = self.newest_s - self.span_s;
        history.range(history.partition_point(|s| s.presented_at < from)..)
    }

    /// A line across the grid, and its figure.
    pub(crate) fn mark(&self, ui: &Ui, y: f32, figure: &str) {
        let y = snap(y, self.pixel) + self.pixel / 2.0;
        ui.painter().hline(self.plot.x_range(), y, Stroke::new(self.pixel, theme::RULE));
        let at = pos2(self.plot.left() - 7.0, y);
        ui.painter().text(at, Align2::RIGHT_CENTER, figure, theme::figures(10.5), theme::WEAK);
    }

    /// The frame under the pointer.
    pub(crate) fn under<'a>(
        &self,
        pointer: Pos2,
        history: &'a VecDeque<FrameSample>,
    ) -> Option<&'a FrameSample> {
        if !self.plot.contains(pointer) {
            return None;
        }
        let at = self.time(pointer.x);
        let sample = history.get(history.partition_point(|s| s.presented_at < at))?;
        (at >= begin_s(sample, None)).then_some(sample)
    }
}

/// When a frame's bar begins: an interval before it was presented, or what stands for one.
pub(crate) fn begin_s(sample: &FrameSample, budget_ms: Option<f64>) -> f64 {
    let ms = sample.interval_ms.or(budget_ms).unwrap_or(DEFAULT_INTERVAL_MS);
    sample.presented_at - if ms.is_finite() { ms } else { DEFAULT_INTERVAL_MS } / 1e3
}

/// How a stretch of frames that were filtered alike is called.
pub(crate) fn name(variant: VariantId, radius: u32) -> String {
    match variant {
        VariantId::Off => variant.to_string(),
        _ => format!("{variant} r={radius}"),
    }
}

/// Small text on a dark patch, readable over bars of any colour.
pub(crate) fn tag(shapes: &mut Vec<Shape>, at: Pos2, anchor: Align2, galley: Arc<Galley>, color: Color32) {
    let rect = anchor.anchor_size(at, galley.size() + vec2(8.0, 2.0));
    shapes.push(Shape::rect_filled(rect, CornerRadius::same(3), theme::PANEL));
    shapes.push(Shape::galley(rect.min + vec2(4.0, 1.0), galley, color));
}

/// The nearest edge of a physical pixel: what stands on it is sharp, and looks the same everywhere.
pub(crate) fn snap(position: f32, pixel: f32) -> f32 {
    (position / pixel).round() * pixel
}
