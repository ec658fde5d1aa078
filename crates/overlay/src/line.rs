//! The numbers in one line: `fused r=7 · 0.37 ms · 25 fps · CPU 60 %`. In: a [`View`]. Out: the line, where there is no room
//! for more, and for some seconds while the overlay is hidden and something has changed.

use egui::text::LayoutJob;
use egui::{Color32, Galley, Rect, TextFormat, Ui, vec2};
use std::sync::Arc;

use super::table::Numbers;
use super::{Busy, View, facts, theme};
use base::timing::Noise;
use box_filter::VariantId;
use engine::stats::{PlayState, Stage, Summary};

const SIZE: f32 = 13.5;

/// The line as text, with the filter's time in its colour.
fn job(view: &View, numbers: &Numbers) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut add = |text: &str, color: Color32| {
        job.append(text, 0.0, TextFormat::simple(theme::words(SIZE), color));
    };
    let dot = |add: &mut dyn FnMut(&str, Color32)| add(" \u{b7} ", theme::WEAK);
    if let Some(busy) = facts::awaited(view) {
        add(&name(busy.variant, busy.radius, None), theme::STRONG);
        dot(&mut add);
        add(&awaiting(busy), theme::STRONG);
    } else {
        let (variant, radius) = facts::of(view);
        add(&name(variant, radius, facts::auto(view)), theme::STRONG);
        if variant != VariantId::Off {
            dot(&mut add);
            add(&format!("{} ms", numbers.filter_time()), theme::FILTER);
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
    if !view.repeats.is_empty() && view.state != PlayState::Ended {
        dot(&mut add);
        add(view.repeats, theme::TEXT);
    }
    if !view.state.is_good() && facts::awaited(view).is_none() {
        dot(&mut add);
        let state = view.state.to_string();
        add(&lower(&state), if view.state.is_asked_for() { theme::TEXT } else { theme::WARN });
    }
    job
}

fn name(variant: VariantId, radius: u32, auto: Option<&str>) -> String {
    let auto = auto.map_or_else(String::new, |auto| format!(" ({auto})"));
    match variant {
        VariantId::Off => variant.to_string(),
        _ => format!("{variant}{auto} r={radius}"),
    }
}

/// A word as it stands within a line.
fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// How long a picture has been awaited, and how long it will be: "1.3 of about 12 s".
fn awaiting(busy: &Busy) -> String {
    match facts::estimate(busy) {
        Some(all) => format!("{} of about {all} s", facts::seconds(busy.elapsed_s)),
        None => format!("{} s", facts::seconds(busy.elapsed_s)),
    }
}

fn galley(ui: &Ui, view: &View, numbers: &Numbers, width: f32) -> Arc<Galley> {
    let mut job = job(view, numbers);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width);
    ui.painter().layout_job(job)
}

/// Width that the line would like to have, with `left` points before it.
pub(crate) fn width(ui: &Ui, view: &View, numbers: &Numbers, left: f32) -> f32 {
    galley(ui, view, numbers, f32::INFINITY).size().x + left + theme::PAD
}

/// Draws the line within `rect`, after `left` points.
pub(crate) fn draw(ui: &Ui, rect: Rect, view: &View, numbers: &Numbers, left: f32) {
    let galley = galley(ui, view, numbers, rect.width() - left - theme::PAD);
    let at = rect.left_center() + vec2(left, -galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme::TEXT);
}

/// What a key may have changed while the overlay is hidden.
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
    /// What holds now.
    pub(crate) fn of(view: &View) -> Self {
        Self {
            chosen: view.chosen,
            radius: view.radius,
            paused: view.paused,
            speed: view.speed,
            repeats: view.repeats.to_owned(),
            part: view.part,
            target_s: view.target_s,
            corrects: view.correction.is_some(),
        }
    }

    /// Whether something that the user sees has changed since `before`. A seek that has arrived is none.
    pub(crate) fn since(&self, before: &Self) -> bool {
        let arrived = self.target_s.is_none();
        *self != Self { target_s: if arrived { None } else { before.target_s }, ..before.clone() }
    }
}

impl Numbers {
    /// What the filter took; `None` where it was not measured.
    pub(crate) fn filter(&self) -> Option<Summary> {
        self.stage(Stage::Filter).filter(|filter| filter.p50 > 0.0)
    }

    /// The filter's median in milliseconds, as far as it can be believed.
    pub(crate) fn filter_time(&self) -> String {
        let time = |filter: Summary| theme::believed(filter.p50, filter.noise, theme::short_ms);
        self.filter().map_or_else(|| theme::UNKNOWN.into(), time)
    }

    /// Frames a second that go with the median of the frame time.
    pub(crate) fn rate(&self) -> String {
        let rate = |frame: Summary| theme::fps(frame.p50, frame.noise.map(Noise::of_paced));
        self.frame.map_or_else(facts::no_rate, rate)
    }
}
