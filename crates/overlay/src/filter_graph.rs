//! The graph of the filter's time over the last seconds, on a logarithmic axis: a line with a step for each frame, interrupted
//! where the variant, kernels, settings, size or device change, with the median of each segment.

use box_filter::VariantId;
use egui::Rangef;
use stats::summary::{SUMMARY_S, mean_others_share};
use stats::{FrameSample, Setting, Summary};

use crate::axes::{Axes, add_label, begin_s, positive_range, snap_to_pixel};
use crate::device_name;
use crate::facts::{self, NOT_TIMED, filter_name};
use crate::prelude::*;
use crate::stage_graph::show_pointed_frame;

/// Height in points of the text with a segment's name.
const NAME_HEIGHT: f32 = 15.0;

/// A step of the graph's line: the filter's time of one frame.
#[derive(Debug, Clone, Copy)]
struct Bar<'a> {
    /// The start of the frame on the time axis, in seconds.
    from: f64,
    /// The end of the frame on the time axis, in seconds.
    to: f64,
    /// The filter's time in milliseconds; 0 if unknown.
    ms: f64,
    sample: &'a FrameSample,
}

/// Consecutive frames with the same filter, whose times the graph joins by one line.
#[derive(Debug, Clone)]
struct Segment<'a> {
    setting: Setting,
    /// The frames of the segment, the oldest first.
    frames: Vec<Bar<'a>>,
    /// Statistics of the filter's times in the last five seconds of the segment; `None` if the filter was off or the times are
    /// left out.
    summary: Option<Summary>,
    /// True if the filter's times are left out, because its output differs from the reference.
    is_left_out: bool,
}

/// Lays the graph out in `area`. A click on a frame freezes the panel of the timeline at that frame, a click elsewhere opens
/// that panel.
pub(crate) fn show(ui: &mut Ui, area: Rect, pass: &mut Pass) {
    let (view, numbers) = (pass.view, pass.numbers);
    let history = view.recorder.history();
    // The time in seconds that the graph covers; it equals the length of the recorder's history of frames.
    let axes = Axes::new(ui, area, 10.0, history);
    if !axes.plot.is_positive() {
        return;
    }
    let shown = &view.recorder.shown;
    let mut segments = segments(axes.frames(history), view.budget_ms, |setting| shown.is_left_out(setting));
    // The newest segment has the headline's number.
    let shown = shown.last().map(|sample| sample.setting);
    if let Some(last) = segments.last_mut().filter(|s| Some(s.setting) == shown && s.summary.is_some()) {
        last.summary = numbers.filter().or(last.summary);
    }
    let (low, high) = decade_range(segments.iter().flat_map(|s| &s.frames).map(|f| f.ms));
    let decade = axes.plot.height() / (high - low) as f32;
    let graph = Graph { axes, segments, low, decade };
    let segments = &graph.segments;
    // A figure for each decade, or for every n-th where they would overlap.
    let every = (13.0 / decade).ceil().max(1.0) as i32;
    for n in (low..=high).filter(|n| (n - low) % every == 0) {
        let unit = if n == low { " ms" } else { "" };
        axes.draw_grid_line(ui, graph.y(10f64.powi(n)), &format!("{}{unit}", decade_name(n)));
    }
    let mut shapes = Vec::new();
    for (n, segment) in segments.iter().enumerate() {
        let Some(first) = segment.frames.first() else { continue };
        let left = axes.x(first.from);
        if n > 0 && left > axes.plot.left() + 2.0 {
            let line = [axes.plot.top(), axes.plot.bottom()].map(|y| pos2(left, y));
            shapes.extend(Shape::dashed_line(&line, Stroke::new(axes.pixel, theme::WEAK), 3.0, 3.0));
        }
        if segment.summary.is_some() {
            let is_newest = n + 1 == segments.len();
            let color = if is_newest { theme::FILTER } else { theme::FILTER_DIM };
            let step = |frame: &Bar| {
                let y = snap_to_pixel(graph.y(frame.ms), axes.pixel);
                [frame.from, frame.to].map(|time| pos2(axes.x(time), y))
            };
            let points = segment.frames.iter().flat_map(step).collect();
            shapes.push(Shape::line(points, Stroke::new(1.8, color)));
        }
    }
    graph.add_names(ui, view, &mut shapes);
    if segments.iter().all(|s| s.summary.is_none() && !s.is_left_out) {
        let none = "no filtered frame was presented in the last 10 s";
        let at = axes.plot.center();
        ui.words(at, Align2::CENTER_CENTER, none, 11.5, theme::WEAK);
    }
    ui.painter().extend(shapes);
    let response = ui.interact(axes.plot, Id::unique("filter-graph"), Sense::click());
    let pointed = response.hover_pos().and_then(|at| axes.frame_at(at, history));
    let names = || (0..segments.len()).map(|n| graph.name(n, view)).collect::<Vec<_>>().join(", ");
    let response = response.named(Role::Image, "Filter alone").valued(names);
    show_pointed_frame(response, pointed, pass);
}

/// The segments and axes of the graph.
struct Graph<'a> {
    axes: Axes,
    segments: Vec<Segment<'a>>,
    /// The lower end of the vertical axis, as an exponent of a power of ten.
    low: i32,
    /// The height in points of a power of ten.
    decade: f32,
}

impl Graph<'_> {
    /// Returns the vertical position of a time in milliseconds.
    fn y(&self, ms: f64) -> f32 {
        let (plot, up) = (self.axes.plot, (ms.log10() - f64::from(self.low)) as f32 * self.decade);
        (plot.bottom() - up).clamp(plot.top(), plot.bottom())
    }

    /// Returns the text of the segment with this index: the filter's name and the median of its times.
    fn name(&self, n: usize, view: &View) -> String {
        let (segments, segment) = (&self.segments, &self.segments[n]);
        let Setting { variant, settings, version, device, .. } = segment.setting;
        // Versions are named as soon as an edited one is on the screen.
        let mut same = segments.iter().map(|s| s.setting).filter(|setting| setting.variant == variant);
        let is_named = same.any(|setting| facts::edited_version(view, &setting).is_some());
        let mut name = filter_name((variant, settings), None, is_named.then_some(version));
        // Devices are named where they change.
        let has_changed = segments.windows(2).any(|two| two[0].setting.device != two[1].setting.device);
        if has_changed && let Some(device) = view.recorder.shown.device(device) {
            name.push_str(&format!(" on {}", device_name::short_names(device).0));
        }
        match segment.summary {
            Some(s) => format!("{name} {} ms", theme::with_noise(s.p50, s.noise, theme::short_ms)),
            None if segment.is_left_out => format!("{name} {NOT_TIMED}"),
            None => name,
        }
    }

    /// Adds the text of each segment (name and median) above its line. The newest segment's text is shifted to the left if the
    /// segment is too short for it; texts of other segments are left out if they would overlap the next text.
    fn add_names(&self, ui: &Ui, view: &View, shapes: &mut Vec<Shape>) {
        let (axes, segments) = (&self.axes, &self.segments);
        let mut end = axes.plot.right();
        for (n, segment) in segments.iter().enumerate().rev() {
            let Some(first) = segment.frames.first() else { continue };
            let text = self.name(n, view);
            let current = n + 1 == segments.len();
            let ink = if current { theme::STRONG } else { theme::TEXT };
            let galley = ui.painter().layout_no_wrap(text, theme::words(11.5), ink);
            let (begin, width) = (axes.x(first.from), galley.size().x + 12.0);
            let left = if current { begin.min(end - width).max(axes.plot.left()) } else { begin };
            if left + width <= end || current {
                let is_below =
                    |f: &&Bar| f.ms > 0.0 && axes.x(f.to) >= left && axes.x(f.from) <= left + width;
                let line = segments.iter().flat_map(|s| &s.frames).filter(is_below).map(|f| self.y(f.ms));
                let range = line.fold(Rangef::NOTHING, |range, y| range.union(Rangef::point(y)));
                let top = name_top(axes.plot.y_range(), (range.min <= range.max).then_some(range));
                add_label(shapes, pos2(left + 3.0, top), Align2::LEFT_TOP, galley);
            }
            end = begin.min(left);
        }
    }
}

/// Returns the vertical position in points of the upper edge of a segment's text. `line` is the vertical range of the graph's
/// line next to the text. The text goes above the line, or below it if there is no room above, or else to the edge of the plot
/// with more room.
fn name_top(plot: Rangef, line: Option<Rangef>) -> f32 {
    let Some(line) = line else { return plot.center() - NAME_HEIGHT - 4.0 };
    let (above, below) = (line.min - NAME_HEIGHT - 4.0, line.max + 4.0);
    let (room_above, room_below) = (line.min - plot.min, plot.max - line.max);
    if above >= plot.min {
        above
    } else if below + NAME_HEIGHT <= plot.max {
        below
    } else if room_above >= room_below {
        plot.min
    } else {
        plot.max - NAME_HEIGHT
    }
}

/// Divides frames into segments of consecutive frames with the same filter. `is_left_out` returns true for settings whose times
/// are left out.
fn segments<'a>(
    frames: impl Iterator<Item = &'a FrameSample>,
    budget_ms: Option<f64>,
    is_left_out: impl Fn(&Setting) -> bool,
) -> Vec<Segment<'a>> {
    let mut segments: Vec<Segment> = Vec::new();
    for sample in frames {
        let ms = sample.stages.filter_ms();
        let ms = if ms.is_finite() { ms } else { 0.0 };
        let (setting, to) = (sample.setting, sample.presented_at);
        let before = segments.last().and_then(|s| s.frames.last()).map(|f| f.to);
        match segments.last_mut().filter(|last| last.setting == setting) {
            Some(last) => last.frames.push(Bar { from: before.unwrap_or(to), to, ms, sample }),
            None => {
                let from = begin_s(sample, budget_ms).max(before.unwrap_or(f64::NEG_INFINITY));
                let frames = vec![Bar { from, to, ms, sample }];
                segments.push(Segment { setting, frames, summary: None, is_left_out: is_left_out(&setting) });
            }
        }
    }
    for segment in segments.iter_mut().filter(|s| s.setting.variant != VariantId::OFF && !s.is_left_out) {
        segment.frames.retain(|f| f.ms > 0.0);
        let end = segment.frames.last().map_or(0.0, |f| f.to);
        let newest = || segment.frames.iter().filter(|f| f.to >= end - SUMMARY_S);
        segment.summary = Summary::of(newest().map(|f| f.ms), mean_others_share(newest().map(|f| f.sample)));
    }
    segments.retain(|s| !s.frames.is_empty());
    segments
}

/// Returns the lower and the upper end of the vertical axis for these filter times in milliseconds, as exponents of powers of
/// ten.
fn decade_range(times: impl Iterator<Item = f64>) -> (i32, i32) {
    let Some((least, most)) = positive_range(times) else { return (-1, 2) };
    let low = (least * 0.999).log10().floor().clamp(-6.0, 6.0) as i32;
    let high = (most * 1.001).log10().ceil().clamp(-5.0, 7.0) as i32;
    // The least number of powers of ten on the vertical axis, so that noise of a few percent looks small.
    (low, high.max(low + 2))
}

/// Returns the label of 10^`n` milliseconds on the vertical axis.
fn decade_name(n: i32) -> String {
    theme::tick(10f64.powi(n), n.min(0).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;
    use stats::{Recorder, Stage};

    fn sample(n: u32, variant: VariantId, radius: u32, ms: f64) -> FrameSample {
        let mut stages = [0.0; Stage::ALL.len()];
        stages[Stage::Filter as usize] = ms;
        let mut sample = FrameSample::made_up(f64::from(n) * 0.04, variant, stages);
        sample.setting.settings = radius.into();
        sample
    }

    #[test]
    fn segments_have_their_median_and_a_name_beside_the_line() {
        let mut recorder = Recorder::new(false);
        let frames = [(named("flat"), 7, 14.0), (named("flat"), 7, 15.0), (named("flat"), 7, 90.0)];
        let more = [(named("flat"), 3, 8.0), (VariantId::OFF, 3, 0.0), (named("fused"), 3, 0.4)];
        for (n, (variant, radius, ms)) in frames.into_iter().chain(more).enumerate() {
            recorder.push(sample(n as u32, variant, radius, ms));
        }
        let found = segments(recorder.history().iter(), Some(40.0), |_| false);
        let median = |s: &Segment| s.summary.map(|summary| summary.p50);
        let found_settings: Vec<_> =
            found.iter().map(|s| (s.setting.variant, s.setting.settings.first(), median(s))).collect();
        let wanted = [
            (named("flat"), 7, Some(15.0)),
            (named("flat"), 3, Some(8.0)),
            (VariantId::OFF, 3, None),
            (named("fused"), 3, Some(0.4)),
        ];
        assert_eq!(found_settings, wanted);
        // Each frame begins where the one before it ended.
        let all: Vec<_> = found.iter().flat_map(|s| &s.frames).collect();
        assert!(all.windows(2).all(|w| (w[0].to - w[1].from).abs() < 1e-9), "{all:?}");
        // Another version of the same kernels is another segment, and one that makes another picture has no line between them.
        for (n, (version, ms)) in [(1, 8.0), (2, f64::NAN), (1, 8.5), (3, 4.0)].into_iter().enumerate() {
            let mut next = sample(10 + n as u32, named("flat"), 3, ms);
            next.setting.version = version;
            recorder.push(next);
        }
        let versions = segments(recorder.history().iter().skip(6), Some(40.0), |_| false);
        let found_settings: Vec<_> = versions.iter().map(|s| (s.setting.version, median(s))).collect();
        assert_eq!(found_settings, [(1, Some(8.0)), (1, Some(8.5)), (3, Some(4.0))]);

        let range = Rangef::new;
        let plot = range(100.0, 200.0);
        let apart = |line: Rangef| {
            let top = name_top(plot, Some(line));
            assert!(top >= plot.min && top + NAME_HEIGHT <= plot.max, "{line:?}: {top}");
            top + NAME_HEIGHT <= line.min || top >= line.max
        };
        // A flat line, one that jumps high up, one that lies high.
        for line in [range(150.0, 150.0), range(130.0, 190.0), range(104.0, 160.0), range(100.0, 181.0)] {
            assert!(apart(line), "{line:?}");
        }
        // Nothing helps where it goes all the way.
        assert!(!apart(range(105.0, 198.0)));
        assert!(plot.contains(name_top(plot, None)));

        assert_eq!(decade_range([14.8, 0.37].into_iter()), (-1, 2));
        assert_eq!(decade_range([0.37, 0.38].into_iter()), (-1, 1));
        assert_eq!(decade_range([0.012, 3992.0].into_iter()), (-2, 4));
        assert_eq!(decade_range([1.0, 10.0].into_iter()), (-1, 2));
        assert_eq!(decade_range([0.0, f64::NAN].into_iter()), (-1, 2));
        assert_eq!([-2, -1, 0, 3].map(decade_name), ["0.01", "0.1", "1", "1,000"]);
    }
}
