//! The last frames on one time axis: what overlaps and what waits. In: the recorder's [`Timeline`]. Out: a panel with a row for
//! each frame, and in it a bar for each stage while it ran. A frame that was clicked at in a graph stands there, with those
//! before it, until it is let go.

use std::time::Instant;

use egui::{Align2, Rect, Sense, Ui, Vec2, pos2, vec2};

use super::hatch::{Hatch, Pattern};
use super::panels::Entry;
use super::place::{self, Panel, Title};
use super::{Action, Overlay, panel, theme};
use engine::stats::{Lane, Recorder, Span, Timeline};

/// The panel's size in points where the window has room for it.
const SIZE: Vec2 = vec2(460.0, 190.0);
/// What it needs of that.
const LEAST: Vec2 = vec2(280.0, 120.0);
/// Width of the frames' names, and height of the axis' figures.
const NAMES: f32 = 34.0;
const AXIS: f32 = 14.0;
/// Between two frames' rows.
const ROW_GAP: f32 = 5.0;
/// A bar that is shorter is drawn as long as this, so that it can be seen.
const SHORTEST: f32 = 1.0;
/// Lanes of a frame's row, from above.
const LANES: usize = 3;
const ABOUT: &str = "When each stage of the last frames ran. In a frame's row, from above: the host's threads (the \
                     window's, the device's, the filter in Rust), the device's queue for uploads, the device's queue for the filter. Where bars of \
                     two rows stand over each other, two frames were worked on at once. The device's times are its own, \
                     set on the host's clock by the moment at which a command was enqueued.";

/// A stage's bar.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar {
    rect: Rect,
    span: Span,
}

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Timeline,
    key: Some(("g", "the last frames on one time axis")),
    menu: ("Timeline", "When each stage of the last frames ran"),
    size: SIZE,
    least: LEAST,
    corner: Align2::RIGHT_BOTTOM,
    is_shown: |overlay, _| overlay.timeline_shown(),
    show: |overlay, ui, rect, view, actions| {
        if let Some(frozen) = &mut overlay.frozen {
            frozen.rect = rect;
        }
        let folded = (overlay.is_folded(Panel::Timeline), overlay.hatched);
        (show(ui, rect, (&view.recorder.timeline(), overlay.frozen.as_ref()), folded, actions), SIZE.y)
    },
};

/// Lays the panel out in `rect`; returns what was done with its title.
fn show(
    ui: &mut Ui,
    rect: Rect,
    (live, frozen): (&Timeline, Option<&Frozen>),
    (folded, hatched): (bool, bool),
    actions: &mut Vec<Action>,
) -> Title {
    let timeline = frozen.map_or(live, |frozen| &frozen.timeline);
    let frame = panel::Frame {
        panel: Panel::Timeline,
        id: "timeline",
        name: frozen.map_or("The last frames", |frozen| &frozen.name),
        hover: &format!("{ABOUT}\n{}", place::HOVER),
        close: ("Close this panel: the key g", Action::Toggle(Panel::Timeline)),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(ui) = inner else { return title };
    if timeline.frames().len() > 1 {
        let overlap = timeline.overlap_ms();
        let text = match overlap >= 0.005 {
            true if frozen.is_some() => format!("{} ms at once", theme::ms(overlap)),
            true => format!("two frames at work at once for {} ms", theme::ms(overlap)),
            false => "one frame after the other".to_owned(),
        };
        let at = pos2(rect.right() - 32.0, rect.top() + panel::HEADER / 2.0);
        ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::words(12.0), theme::TEXT);
    }
    let area = panel::below(rect).shrink2(vec2(theme::PAD, 0.0));
    let area = area.with_max_y(rect.bottom() - theme::PAD);
    let plot =
        Rect::from_min_max(pos2(area.left() + NAMES, area.top()), pos2(area.right(), area.bottom() - AXIS));
    let Some((from, to)) = timeline.extent().filter(|_| plot.is_positive()) else {
        let font = theme::words(12.0);
        ui.painter().text(area.center(), Align2::CENTER_CENTER, "No frame yet.", font, theme::WEAK);
        return title;
    };
    let all_ms = to.duration_since(from).as_secs_f64() * 1e3;
    axis(&ui, plot, all_ms);
    names(&ui, plot, timeline.frames().len());
    let hatch = Hatch::new(&ui, hatched);
    let bars = bars(timeline, plot);
    let mut mesh = hatch.mesh();
    for bar in &bars {
        hatch.add(&mut mesh, bar.rect, theme::stage_color(bar.span.stage), Pattern::Of(bar.span.stage));
    }
    ui.painter().add(egui::Shape::mesh(mesh));
    let response = ui.interact(plot, ui.unique_id().with("bars"), Sense::hover());
    let pointed =
        response.hover_pos().and_then(|at| bars.iter().rev().find(|b| b.rect.expand(1.0).contains(at)));
    if let Some(bar) = pointed {
        response.on_hover_text_at_pointer(told(&bar.span, from));
    }
    title
}

/// A frame that is shown until it is let go.
#[derive(Debug)]
pub(crate) struct Frozen {
    timeline: Timeline,
    /// What the panel is called meanwhile.
    name: String,
    /// Where the panel is: a click elsewhere lets go.
    pub rect: Rect,
}

impl Overlay {
    /// Shows the time axis of this frame, counted from the first one presented, if it is not too long ago.
    pub fn freeze(&mut self, frame: u64, recorder: &Recorder) {
        self.frozen = recorder.timeline_of(frame).map(|(sample, timeline)| {
            let name = format!("Frame at {}, Esc lets go", theme::clock(sample.pts));
            Frozen { timeline, name, rect: Rect::NOTHING }
        });
    }

    /// Whether a frame is shown until it is let go.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Shows what was shown before.
    pub fn let_go(&mut self) {
        self.frozen = None;
    }

    /// … after a click that is neither at the panel nor at another frame.
    pub(super) fn let_go_by_a_click(&mut self, ui: &Ui, actions: &[Action]) {
        let at = ui.input(|i| i.pointer.interact_pos().filter(|_| i.pointer.any_click()));
        let elsewhere = |frozen: &Frozen| at.is_some_and(|at| !frozen.rect.contains(at));
        if self.frozen.as_ref().is_some_and(elsewhere) && !matches!(actions.last(), Some(Action::Freeze(_))) {
            self.let_go();
        }
    }

    /// Whether the panel is shown.
    pub(super) fn timeline_shown(&self) -> bool {
        self.open[Panel::Timeline as usize] || self.is_frozen()
    }
}

/// A bar in words; times are told from `start` on.
fn told(span: &Span, start: Instant) -> String {
    let ms = |at: Instant| at.saturating_duration_since(start).as_secs_f64() * 1e3;
    let lane = match span.lane {
        Lane::Host => "on the host",
        Lane::Calls => "on the device's thread",
        Lane::Upload => "on the queue for uploads",
        Lane::Device => "on the device",
    };
    let (from, to) = (ms(span.from), ms(span.to));
    let took = theme::ms(to - from);
    format!("{} {lane}: {took} ms, from {} to {}", span.stage.name(), theme::ms(from), theme::ms(to))
}

/// Where the row of a frame is: its upper edge and its height.
fn row(plot: Rect, frame: usize, frames: usize) -> (f32, f32) {
    let pitch = (plot.height() + ROW_GAP) / frames.max(1) as f32;
    (plot.top() + frame as f32 * pitch, (pitch - ROW_GAP).max(1.0))
}

/// The bars of all frames, within `plot`; the time axis covers all of them.
fn bars(timeline: &Timeline, plot: Rect) -> Vec<Bar> {
    let Some((from, to)) = timeline.extent() else { return Vec::new() };
    let all_s = to.duration_since(from).as_secs_f64().max(1e-9);
    let x = |at: Instant| plot.left() + (at.duration_since(from).as_secs_f64() / all_s) as f32 * plot.width();
    let mut bars = Vec::new();
    for (frame, spans) in timeline.frames().iter().enumerate() {
        let (top, height) = row(plot, frame, timeline.frames().len());
        for span in spans.iter().filter(|s| s.from <= s.to) {
            let lane = match span.lane {
                Lane::Host | Lane::Calls => 0,
                Lane::Upload => 1,
                Lane::Device => 2,
            };
            let lane_height = height / LANES as f32;
            let y = top + lane as f32 * lane_height;
            let left = x(span.from).min(plot.right() - SHORTEST);
            let right = x(span.to).max(left + SHORTEST);
            let rect = Rect::from_min_max(pos2(left, y), pos2(right, y + lane_height));
            bars.push(Bar { rect, span: *span });
        }
    }
    bars
}

/// Distance of the axis' marks: a round number, so that there are no more than `most`.
fn step(all_ms: f64, most: f64) -> f64 {
    let least = (all_ms / most).max(1e-3);
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|s| s * decade).find(|s| *s >= least * 0.999).unwrap_or(10.0 * decade)
}

fn axis(ui: &Ui, plot: Rect, all_ms: f64) {
    let step = step(all_ms, f64::from((plot.width() / 60.0).max(1.0)));
    let count = (all_ms / step).floor().clamp(0.0, 100.0) as u32;
    for n in 0..=count {
        let ms = f64::from(n) * step;
        let x = plot.left() + (ms / all_ms.max(1e-9)) as f32 * plot.width();
        ui.painter().vline(x, plot.y_range(), egui::Stroke::new(1.0, theme::RULE));
        let mut text = format!("{}", (ms * 1000.0).round() / 1000.0);
        if n == 0 {
            text += " ms";
        }
        let align = if n == 0 { Align2::LEFT_TOP } else { Align2::CENTER_TOP };
        // The last figure must not reach out of the panel.
        if x + 14.0 <= plot.right() + theme::PAD {
            ui.painter().text(pos2(x, plot.bottom() + 2.0), align, text, theme::words(11.0), theme::WEAK);
        }
    }
}

fn names(ui: &Ui, plot: Rect, frames: usize) {
    for frame in 0..frames {
        let (top, height) = row(plot, frame, frames);
        let name = match frames - 1 - frame {
            0 => "n".to_owned(),
            back => format!("n \u{2212} {back}"),
        };
        let at = pos2(plot.left() - 6.0, top + height / 2.0);
        ui.painter().text(at, Align2::RIGHT_CENTER, name, theme::words(11.0), theme::TEXT);
        if frame > 0 {
            let y = top - ROW_GAP / 2.0;
            ui.painter().hline(plot.x_range(), y, egui::Stroke::new(1.0, theme::RULE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::stats::Stage;
    use std::time::Duration;

    fn span(base: Instant, stage: Stage, lane: Lane, from_ms: u64, to_ms: u64) -> Span {
        let at = |ms| base + Duration::from_millis(ms);
        Span { stage, lane, from: at(from_ms), to: at(to_ms) }
    }

    fn plot() -> Rect {
        Rect::from_min_size(pos2(40.0, 20.0), vec2(300.0, 115.0))
    }

    #[test]
    fn frames_have_rows_and_lanes_and_share_the_axis() {
        let base = Instant::now();
        let mut timeline = Timeline::default();
        timeline.push(vec![
            span(base, Stage::Convert, Lane::Host, 0, 10),
            span(base, Stage::Filter, Lane::Device, 10, 40),
        ]);
        timeline.push(vec![
            span(base, Stage::Upload, Lane::Upload, 20, 40),
            span(base, Stage::Filter, Lane::Device, 40, 100),
        ]);
        let bars = bars(&timeline, plot());
        assert_eq!(bars.len(), 4);
        // The axis goes from 0 to 100 ms, three points for each.
        let x: Vec<_> = bars.iter().map(|b| (b.rect.left(), b.rect.right())).collect();
        for (found, wanted) in x.iter().zip([(40.0, 70.0), (70.0, 160.0), (100.0, 160.0), (160.0, 340.0)]) {
            assert!((found.0 - wanted.0).abs() < 0.1 && (found.1 - wanted.1).abs() < 0.1, "{x:?}");
        }
        // Below each other: host and device of the first frame, then upload and device of the second one.
        assert!(bars.windows(2).all(|b| b[0].rect.bottom() <= b[1].rect.top() + 0.01), "{bars:?}");
        assert!(bars.iter().all(|b| plot().expand(0.01).contains_rect(b.rect)), "{bars:?}");
        // What overlaps in time stands over each other.
        assert!(bars[1].rect.x_range().intersection(bars[2].rect.x_range()).span() > 59.0);
    }

    #[test]
    fn the_shortest_stage_can_be_seen_and_stays_inside() {
        let base = Instant::now();
        let mut timeline = Timeline::default();
        timeline.push(vec![
            span(base, Stage::Take, Lane::Host, 0, 0),
            span(base, Stage::Filter, Lane::Device, 0, 100_000),
            span(base, Stage::Release, Lane::Device, 100_000, 100_000),
        ]);
        for bar in bars(&timeline, plot()) {
            assert!(bar.rect.width() >= SHORTEST * 0.99, "{bar:?}");
            assert!(plot().expand(0.01).contains_rect(bar.rect), "{bar:?}");
        }
        assert!(bars(&Timeline::default(), plot()).is_empty());
        // One moment alone has no length: nothing is divided by it.
        let mut moment = Timeline::default();
        moment.push(vec![span(base, Stage::Take, Lane::Host, 5, 5)]);
        assert!(bars(&moment, plot()).iter().all(|b| b.rect.is_finite()));
    }

    #[test]
    fn marks_are_round_and_not_too_many() {
        for all_ms in [0.004, 0.9, 3.0, 17.0, 120.0, 4321.0, 90_000.0] {
            for most in [1.0, 5.0, 9.0] {
                let step = step(all_ms, most);
                assert!(all_ms / step <= most * 1.01, "{all_ms} by {step}");
                let mantissa = step / 10f64.powf((step.log10() + 1e-9).floor());
                assert!([1.0, 2.0, 5.0].iter().any(|m| (mantissa - m).abs() < 1e-6), "{step}");
            }
        }
    }

    #[test]
    fn a_bar_tells_its_stage_and_time() {
        let base = Instant::now();
        let told = told(&span(base, Stage::Upload, Lane::Upload, 2, 5), base);
        assert!(
            told.contains("upload") && told.contains("queue for uploads") && told.contains("3.00 ms"),
            "{told}"
        );
    }
}
