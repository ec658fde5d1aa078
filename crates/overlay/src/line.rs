//! The line of statistics, `fused r=7 · 0.37 ms · 25 fps · CPU 60 %`: shown as the folded headline, and for some seconds after
//! a change while the overlay is hidden.

use egui::text::LayoutJob;
use egui::{Color32, Galley, Rect, TextFormat, Ui, vec2};
use std::sync::Arc;

use super::pass::Pass;
use super::table::Numbers;
use super::{View, access, facts, theme};
use base::timing::Noise;
use box_filter::VariantId;
use engine::stats::{PlayState, Stage, Summary};

/// The font size of the line in points.
const FONT_SIZE: f32 = 13.5;

/// Returns the text of the line of statistics, with the filter's time in its colour.
fn layout_job(&Pass { view, numbers, .. }: &Pass) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut add = |text: &str, color: Color32| {
        job.append(text, 0.0, TextFormat::simple(theme::words(FONT_SIZE), color));
    };
    let dot = |add: &mut dyn FnMut(&str, Color32)| add(" \u{b7} ", theme::WEAK);
    if let Some(busy) = facts::pending_filter(view) {
        add(&facts::filter_name(busy.variant, busy.radius, None), theme::STRONG);
        dot(&mut add);
        add(&facts::progress(busy), theme::STRONG);
    } else {
        let (variant, radius) = facts::shown_filter(view);
        add(&facts::filter_name(variant, radius, facts::auto_variant(view)), theme::STRONG);
        if variant != VariantId::OFF {
            dot(&mut add);
            match facts::is_left_out(view) {
                true => add(facts::NOT_TIMED, theme::WARN),
                false => add(&format!("{} ms", numbers.filter_time()), theme::FILTER),
            }
        }
        dot(&mut add);
        add(&if view.state.plays() { numbers.rate() } else { facts::no_rate() }, theme::TEXT);
    }
    dot(&mut add);
    add(&facts::cpu(view), theme::TEXT);
    if view.speed != 1.0 {
        dot(&mut add);
        add(&format!("{:.2}\u{d7}", view.speed), theme::TEXT);
    }
    if !view.loop_text.is_empty() && view.state != PlayState::Ended {
        dot(&mut add);
        add(view.loop_text, theme::TEXT);
    }
    if !view.state.is_good() && facts::pending_filter(view).is_none() {
        dot(&mut add);
        let state = view.state.to_string();
        add(&lower_first(&state), if view.state.is_requested() { theme::TEXT } else { theme::WARN });
    }
    job
}

/// Returns `text` with its first letter in lower case.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Lays out the line of statistics, cut at `width` points.
fn layout_galley(ui: &Ui, width: f32, pass: &Pass) -> Arc<Galley> {
    let mut job = layout_job(pass);
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
    access::number(ui, rect, "Statistics", galley.text());
    let at = rect.left_center() + vec2(left, -galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme::TEXT);
}

/// The settings whose changes show the line of statistics while the overlay is hidden.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Changes {
    chosen: VariantId,
    radius: u32,
    paused: bool,
    speed: f64,
    repeats: String,
    part: (Option<f64>, Option<f64>),
    target_s: Option<f64>,
    corrects: bool,
}

impl Changes {
    pub(crate) fn from_view(view: &View) -> Self {
        Self {
            chosen: view.chosen,
            radius: view.radius,
            paused: view.paused,
            speed: view.speed,
            repeats: view.loop_text.to_owned(),
            part: view.loop_range,
            target_s: view.target_s,
            corrects: view.correction.is_some(),
        }
    }

    /// Returns true if a setting differs from that in `before`. The end of a seek does not count as a difference.
    pub(crate) fn differ_from(&self, before: &Self) -> bool {
        let arrived = self.target_s.is_none();
        *self != Self { target_s: if arrived { None } else { before.target_s }, ..before.clone() }
    }
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
        let rate = |frame: Summary| theme::fps(frame.p50, frame.noise.map(Noise::for_paced_frames));
        self.frame.map_or_else(facts::no_rate, rate)
    }
}
