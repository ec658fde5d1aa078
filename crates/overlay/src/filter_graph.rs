//! The filter alone over the last seconds, on a logarithmic axis. In: the frames presented. Out: a line of steps, cut where
//! variant, its kernels, radius, size or device changed, and over each stretch its median.

use egui::{Align2, Rect, Sense, Shape, Stroke, Ui, pos2};

use super::axes::{Axes, begin_s, name, snap, tag};
use super::table::Numbers;
use super::{Action, View, theme};
use box_filter::VariantId;
use engine::stats::recorder::{SUMMARY_S, others};
use engine::stats::{FrameSample, Setting, Stage, Summary};

/// Seconds that the graph covers: all that the history has.
const SPAN_S: f64 = 10.0;
/// Decades that the axis has at least: noise of a few percent is no mountain.
const LEAST_DECADES: i32 = 2;
/// Points for a stretch's name over its line.
const NAME: f32 = 15.0;

/// A frame on the axis.
#[derive(Debug, Clone, Copy)]
struct Bar<'a> {
    /// When it began and ended, in seconds.
    from: f64,
    to: f64,
    /// What its filter took, in milliseconds; 0 where that is not known.
    ms: f64,
    sample: &'a FrameSample,
}

/// Frames that follow each other and were filtered alike.
#[derive(Debug, Clone)]
struct Stretch<'a> {
    setting: Setting,
    /// Oldest first.
    frames: Vec<Bar<'a>>,
    /// Summary of the last five seconds of these times, as everywhere; `None` where nothing was filtered.
    summary: Option<Summary>,
}

/// Lays the graph out in `area`; a click on a frame asks for its time axis, elsewhere for that of the last frames.
pub(crate) fn show(ui: &mut Ui, area: Rect, view: &View, numbers: &Numbers, actions: &mut Vec<Action>) {
    let history = view.recorder.history();
    let axes = Axes::new(ui, area, SPAN_S, history);
    if !axes.plot.is_positive() {
        return;
    }
    let mut stretches = stretches(axes.frames(history), view.budget_ms);
    // The newest stretch's median is the headline's number.
    let shown = view.recorder.shown_setting();
    if let Some(last) = stretches.last_mut().filter(|s| Some(s.setting) == shown && s.summary.is_some()) {
        last.summary = numbers.filter().or(last.summary);
    }
    let (low, high) = decades(stretches.iter().flat_map(|s| &s.frames).map(|f| f.ms));
    let decade = axes.plot.height() / (high - low) as f32;
    let y = |ms: f64| {
        let up = (ms.log10() - f64::from(low)) as f32 * decade;
        (axes.plot.bottom() - up).clamp(axes.plot.top(), axes.plot.bottom())
    };
    // One figure for a decade as long as they don't touch.
    let every = (13.0 / decade).ceil().max(1.0) as i32;
    for n in (low..=high).filter(|n| (n - low) % every == 0) {
        let unit = if n == low { " ms" } else { "" };
        axes.mark(ui, y(10f64.powi(n)), &format!("{}{unit}", decade_name(n)));
    }
    let mut shapes = Vec::new();
    for (n, stretch) in stretches.iter().enumerate() {
        let Some(first) = stretch.frames.first() else { continue };
        let left = axes.x(first.from);
        if n > 0 && left > axes.plot.left() + 2.0 {
            let line = [pos2(left, axes.plot.top()), pos2(left, axes.plot.bottom())];
            shapes.extend(Shape::dashed_line(&line, Stroke::new(axes.pixel, theme::WEAK), 3.0, 3.0));
        }
        let current = n + 1 == stretches.len();
        let color = if current { theme::FILTER } else { theme::FILTER_DIM };
        if stretch.summary.is_some() {
            let mut points: Vec<egui::Pos2> = Vec::with_capacity(2 * stretch.frames.len());
            for frame in &stretch.frames {
                let at = snap(y(frame.ms), axes.pixel);
                points.extend([pos2(axes.x(frame.from), at), pos2(axes.x(frame.to), at)]);
            }
            shapes.push(Shape::line(points, Stroke::new(1.8, color)));
        }
    }
    names(ui, &axes, &stretches, &y, &mut shapes);
    if stretches.iter().all(|s| s.summary.is_none()) {
        let none = "no frame of the last 10 s was filtered while it played";
        let at = axes.plot.center();
        ui.painter().text(at, Align2::CENTER_CENTER, none, theme::words(11.5), theme::WEAK);
    }
    ui.painter().extend(shapes);
    let response = ui.interact(axes.plot, egui::Id::unique("filter-graph"), Sense::click());
    let pointed = response.hover_pos().and_then(|at| axes.under(at, history));
    if response.clicked() {
        actions.push(super::stage_graph::clicked(view, pointed));
    }
    if let Some(sample) = pointed {
        response.on_hover_ui_at_pointer(|ui| super::stage_graph::frame_details(ui, sample));
    }
}

/// Each stretch's name and median over its line. The newest one's stands at the end of the axis where its stretch is too
/// short for it; of the others one that would reach the next is left out.
fn names(ui: &Ui, axes: &Axes, stretches: &[Stretch], y: &dyn Fn(f64) -> f32, shapes: &mut Vec<Shape>) {
    let mut end = axes.plot.right();
    // Of which version it is, as soon as that is not the one that it began with.
    let is_edited = |variant: VariantId| {
        stretches.iter().any(|s| s.setting.variant == variant && s.setting.versions.first > 1)
    };
    for (n, stretch) in stretches.iter().enumerate().rev() {
        let Some(first) = stretch.frames.first() else { continue };
        let mut name = name(stretch.setting.variant, stretch.setting.radius);
        if is_edited(stretch.setting.variant) {
            name.push_str(&format!(", version {}", stretch.setting.versions.first));
        }
        let text = match stretch.summary {
            Some(s) => format!("{name} {} ms", theme::believed(s.p50, s.noise, theme::short_ms)),
            None => name,
        };
        let current = n + 1 == stretches.len();
        let ink = if current { theme::STRONG } else { theme::TEXT };
        let galley = ui.painter().layout_no_wrap(text, theme::words(11.5), ink);
        let (begin, width) = (axes.x(first.from), galley.size().x + 12.0);
        let left = if current { begin.min(end - width).max(axes.plot.left()) } else { begin };
        if left + width <= end || current {
            let is_below = |f: &&Bar| f.ms > 0.0 && axes.x(f.to) >= left && axes.x(f.from) <= left + width;
            let line = stretches.iter().flat_map(|s| &s.frames).filter(is_below).map(|f| y(f.ms));
            let (high, low) = line.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
            let top = beside(axes.plot.y_range(), (high <= low).then(|| egui::Rangef::new(high, low)));
            tag(shapes, pos2(left + 3.0, top), Align2::LEFT_TOP, galley, ink);
        }
        end = begin.min(left);
    }
}

/// Upper edge of a name over the line that reaches so far up and down below it; under it where there is no room above, and
/// where there is none at all on the side with more of it.
fn beside(plot: egui::Rangef, line: Option<egui::Rangef>) -> f32 {
    let Some(line) = line else { return plot.center() - NAME - 4.0 };
    let (above, below) = (line.min - NAME - 4.0, line.max + 4.0);
    let (room_above, room_below) = (line.min - plot.min, plot.max - line.max);
    if above >= plot.min {
        above
    } else if below + NAME <= plot.max {
        below
    } else if room_above >= room_below {
        plot.min
    } else {
        plot.max - NAME
    }
}

/// Cuts frames where the setting changes.
fn stretches<'a>(frames: impl Iterator<Item = &'a FrameSample>, budget_ms: Option<f64>) -> Vec<Stretch<'a>> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for sample in frames {
        let ms = sample.stages[Stage::Filter as usize];
        let ms = if ms.is_finite() { ms } else { 0.0 };
        let (setting, to) = (sample.setting(), sample.presented_at);
        match stretches.last_mut().filter(|last| last.setting == setting) {
            Some(last) => {
                let from = last.frames.last().map_or(to, |f| f.to);
                last.frames.push(Bar { from, to, ms, sample });
            }
            None => {
                let before =
                    stretches.last().and_then(|s| s.frames.last()).map_or(f64::NEG_INFINITY, |f| f.to);
                let from = begin_s(sample, budget_ms).max(before);
                stretches.push(Stretch {
                    setting,
                    frames: vec![Bar { from, to, ms, sample }],
                    summary: None,
                });
            }
        }
    }
    for stretch in stretches.iter_mut().filter(|s| s.setting.variant != VariantId::Off) {
        stretch.frames.retain(|f| f.ms > 0.0);
        let end = stretch.frames.last().map_or(0.0, |f| f.to);
        let newest = || stretch.frames.iter().filter(|f| f.to >= end - SUMMARY_S);
        stretch.summary = Summary::of(newest().map(|f| f.ms), others(newest().map(|f| f.sample)));
    }
    stretches.retain(|s| !s.frames.is_empty());
    stretches
}

/// The axis' first and last decade.
fn decades(times: impl Iterator<Item = f64>) -> (i32, i32) {
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for ms in times.filter(|ms| *ms > 0.0) {
        (least, most) = (least.min(ms), most.max(ms));
    }
    if !least.is_finite() {
        return (-1, 2);
    }
    let low = (least * 0.999).log10().floor().clamp(-6.0, 6.0) as i32;
    let high = (most * 1.001).log10().ceil().clamp(-5.0, 7.0) as i32;
    (low, high.max(low + LEAST_DECADES))
}

fn decade_name(n: i32) -> String {
    if n < 0 {
        format!("{:.*}", n.unsigned_abs() as usize, 10f64.powi(n))
    } else {
        theme::thousands(10f64.powi(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::stats::{GlTimes, Recorder};

    fn sample(n: u32, variant: VariantId, radius: u32, ms: f64) -> FrameSample {
        let mut stages = [0.0; Stage::ALL.len()];
        stages[Stage::Filter as usize] = ms;
        FrameSample {
            pts: 0.0,
            presented_at: f64::from(n) * 0.04,
            interval_ms: Some(40.0),
            stages,
            filter_by_wall: false,
            pack_ms: None,
            gl: GlTimes::default(),
            late: false,
            dropped_before: 0,
            variant,
            radius,
            size: (1280, 720),
            device: 0,
            beside: None,
            versions: Default::default(),
            beside_filter_ms: None,
            others: None,
            cloth: None,
        }
    }

    #[test]
    fn stretches_are_cut_where_the_setting_changes_and_have_their_own_median() {
        let mut recorder = Recorder::new(false);
        let frames = [(VariantId::Flat, 7, 14.0), (VariantId::Flat, 7, 15.0), (VariantId::Flat, 7, 90.0)];
        let more = [(VariantId::Flat, 3, 8.0), (VariantId::Off, 3, 0.0), (VariantId::Fused, 3, 0.4)];
        for (n, (variant, radius, ms)) in frames.into_iter().chain(more).enumerate() {
            recorder.push(sample(n as u32, variant, radius, ms));
        }
        let found = stretches(recorder.history().iter(), Some(40.0));
        let median = |s: &Stretch| s.summary.map(|summary| summary.p50);
        let told: Vec<_> = found.iter().map(|s| (s.setting.variant, s.setting.radius, median(s))).collect();
        let wanted = [
            (VariantId::Flat, 7, Some(15.0)),
            (VariantId::Flat, 3, Some(8.0)),
            (VariantId::Off, 3, None),
            (VariantId::Fused, 3, Some(0.4)),
        ];
        assert_eq!(told, wanted);
        // Each frame begins where the one before it ended.
        let all: Vec<_> = found.iter().flat_map(|s| &s.frames).collect();
        assert!(all.windows(2).all(|w| (w[0].to - w[1].from).abs() < 1e-9), "{all:?}");
        // Another version of the same kernels is another stretch, and one that makes another picture has no line between them.
        for (n, (version, ms)) in [(1, 8.0), (2, f64::NAN), (1, 8.5), (3, 4.0)].into_iter().enumerate() {
            let mut next = sample(10 + n as u32, VariantId::Flat, 3, ms);
            next.versions.first = version;
            recorder.push(next);
        }
        let versions = stretches(recorder.history().iter().skip(6), Some(40.0));
        let told: Vec<_> = versions.iter().map(|s| (s.setting.versions.first, median(s))).collect();
        assert_eq!(told, [(1, Some(8.0)), (1, Some(8.5)), (3, Some(4.0))]);
    }

    #[test]
    fn a_name_stands_beside_the_line_and_not_on_it() {
        let range = egui::Rangef::new;
        let plot = range(100.0, 200.0);
        let apart = |line: egui::Rangef| {
            let top = beside(plot, Some(line));
            assert!(top >= plot.min && top + NAME <= plot.max, "{line:?}: {top}");
            top + NAME <= line.min || top >= line.max
        };
        // A flat line, one that jumps high up, one that lies high.
        for line in [range(150.0, 150.0), range(130.0, 190.0), range(104.0, 160.0), range(100.0, 181.0)] {
            assert!(apart(line), "{line:?}");
        }
        // Nothing helps where it goes all the way.
        assert!(!apart(range(105.0, 198.0)));
        assert!(plot.contains(beside(plot, None)));
    }

    #[test]
    fn the_axis_has_whole_decades_around_what_it_shows() {
        assert_eq!(decades([14.8, 0.37].into_iter()), (-1, 2));
        assert_eq!(decades([0.37, 0.38].into_iter()), (-1, 1));
        assert_eq!(decades([0.012, 3992.0].into_iter()), (-2, 4));
        assert_eq!(decades([1.0, 10.0].into_iter()), (-1, 2));
        assert_eq!(decades([0.0, f64::NAN].into_iter()), (-1, 2));
        assert_eq!([-2, -1, 0, 3].map(decade_name), ["0.01", "0.1", "1", "1,000"]);
    }
}
