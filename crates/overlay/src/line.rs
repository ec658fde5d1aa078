//! The line of statistics, `fused r=7 · 0.37 ms · 25 fps · CPU 60 %`: shown as the folded headline, and for some seconds after
//! a change while the overlay is hidden.

use std::sync::Arc;

use base::timing::Noise;
use box_filter::VariantId;
use egui::TextFormat;
use egui::text::LayoutJob;
use stats::{Stage, Summary};

use crate::facts;
use crate::prelude::*;

/// Returns the parts of the line of statistics with their colours: filter, time, frame rate, CPU load, and others.
fn parts(&Pass { view, numbers, .. }: &Pass) -> Vec<(String, Color32)> {
    let mut parts: Vec<(String, Color32)> = Vec::new();
    let awaited = facts::pending_filter(view);
    if let Some(busy) = awaited {
        parts.push((
            facts::filter_name(
                (busy.variant, busy.settings),
                None,
                view.kernels.edited_version(busy.variant),
            ),
            theme::STRONG,
        ));
        parts.push((facts::progress(view, busy), theme::STRONG));
    } else {
        let (variant, settings) = facts::shown_filter(view);
        let (auto, version) = (facts::auto_variant(view), view.kernels.edited_version(variant));
        let stack = facts::stack_without_selected(view);
        let name = stack.unwrap_or_else(|| facts::filter_name((variant, settings), auto, version));
        parts.push((name, theme::STRONG));
        if variant != VariantId::OFF {
            parts.push(match facts::is_left_out(view) {
                true => (facts::NOT_TIMED.to_owned(), theme::WARN),
                false => (format!("{} ms", numbers.filter_time()), theme::FILTER),
            });
        }
        parts.push((if view.state.plays() { numbers.rate() } else { facts::no_rate() }, theme::TEXT));
    }
    parts.push((facts::cpu(view), theme::TEXT));
    parts.extend(facts::speed_and_loop(view).into_iter().map(|text| (text, theme::TEXT)));
    if !view.state.is_good() && awaited.is_none() {
        let mut state = view.state.to_string();
        state[..1].make_ascii_lowercase();
        parts.push((state, if view.state.is_requested() { theme::TEXT } else { theme::WARN }));
    }
    parts
}

/// Joins the parts of the line of statistics to one text.
fn layout_job(parts: &[(String, Color32)]) -> LayoutJob {
    let mut job = LayoutJob::default();
    for (n, (text, color)) in parts.iter().enumerate() {
        let dot = (n > 0).then_some((" \u{b7} ", theme::WEAK));
        for (text, color) in dot.into_iter().chain([(text.as_str(), *color)]) {
            // The font size of the line in points.
            job.append(text, 0.0, TextFormat::simple(theme::words(13.5), color));
        }
    }
    job
}

/// Lays out the line of statistics in `width` points: without frame rate and CPU load if it is too long with them.
fn layout_galley(ui: &Ui, width: f32, pass: &Pass) -> Arc<Galley> {
    let mut parts = parts(pass);
    while parts.len() > 2 && ui.painter().layout_job(layout_job(&parts)).size().x > width {
        parts.remove(2);
    }
    let mut job = layout_job(&parts);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width);
    ui.painter().layout_job(job)
}

/// Returns the width in points of the line of statistics, with a space of `left` points before it.
pub(crate) fn width(ui: &Ui, left: f32, pass: &Pass) -> f32 {
    layout_galley(ui, f32::INFINITY, pass).size().x + left + theme::PAD
}

/// Draws the line of statistics within `rect`, after a space of `left` points.
pub(crate) fn draw(ui: &Ui, rect: Rect, left: f32, pass: &Pass) {
    let galley = layout_galley(ui, rect.width() - left - theme::PAD, pass);
    describe::number(ui, rect, "Statistics", galley.text());
    let at = rect.left_center() + vec2(left, -galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme::TEXT);
}

impl Numbers {
    /// Returns the statistics of the filter's times; `None` if the filter's time was not measured.
    pub(crate) fn filter(&self) -> Option<Summary> {
        self.stage(Stage::Filter).filter(|filter| filter.p50 > 0.0)
    }

    /// Returns the median of the filter's times in milliseconds as text, rounded to its significant digits.
    pub(crate) fn filter_time(&self) -> String {
        let time = |filter: Summary| theme::with_noise(filter.p50, filter.noise, theme::short_ms);
        self.filter().map_or_else(|| theme::UNKNOWN.into(), time)
    }

    /// Returns the frames per second that correspond to the median frame time, as text.
    pub(crate) fn rate(&self) -> String {
        // Intervals that follow a clock may vary; their median has two significant digits nevertheless.
        let paced = |noise: Noise| Noise { digits: noise.digits.max(2), ..noise };
        let rate = |frame: Summary| theme::fps(frame.p50, frame.noise.map(paced));
        self.frame.map_or_else(facts::no_rate, rate)
    }
}
