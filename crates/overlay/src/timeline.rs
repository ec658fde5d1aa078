//! The timeline: a panel with the last frames on one time axis. Each frame has a row with a bar for each stage, from its start
//! to its end, which shows which stages overlap and which wait. A click on a frame in a graph freezes the panel at that frame
//! and the frames before it.

use std::time::Instant;

use box_filter::VariantId;
use stats::{Lane, Span, Stage, Timeline};

use crate::axes::round_up;
use crate::hatch::{Hatch, Pattern};
use crate::panel::{self, ColumnPanel, Pane};
use crate::prelude::*;
use crate::words;

/// Space in points between the rows of two frames.
const ROW_GAP: f32 = 5.0;
/// The least length of a bar in points, so that every bar is visible.
const MIN_BAR_LENGTH: f32 = 1.0;
/// Side in points of a square of the legend.
const SWATCH: f32 = 9.0;
/// The explanation of the panel in the hover text of its title bar.
const ABOUT: &str = "When each stage of the last frames ran. Each frame has three lanes: the host's threads (window, device, filter in \
                     Rust), the device's upload queue, and the device's filter queue. Bars above each other in two rows are \
                     frames that overlap in time. Device times are mapped to the host's clock by the time at which a command was \
                     enqueued.";

/// The panel with the last frames on a time axis, or with the frames up to a frozen one.
pub(super) static TIMELINE: ColumnPanel = ColumnPanel {
    key: Some(("g", "timeline of the last frames")),
    about: ABOUT,
    margin: Margin::ZERO,
    shown: |_, panels| panels.frozen.as_ref().map(|frozen| frozen.title.clone()),
    ..ColumnPanel::new(Panel::Timeline, ("Timeline", "When each stage of the last frames ran"), 280.0, show)
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (view, frozen) = (pane.pass.view, pane.panels.frozen.as_ref());
    let live = view.recorder.timeline();
    let filter = frozen.map(|frozen| frozen.filter).or(view.shown.map(|shown| shown.variant));
    let timeline = frozen.map_or(&live, |frozen| &frozen.timeline);
    if timeline.frames.len() > 1 {
        let overlap = timeline.overlap_ms();
        let text = match overlap >= 0.005 {
            true if frozen.is_some() => format!("{} ms overlap", theme::ms(overlap)),
            true => format!("two frames overlap for {} ms", theme::ms(overlap)),
            false => "no overlap".to_owned(),
        };
        let at = pos2(pane.head.right() - 32.0, pane.head.center().y);
        let at = (at, Align2::RIGHT_CENTER, f32::INFINITY);
        describe::text(ui, "Overlap", at, &text, (12.0, theme::TEXT));
    }
    let hatch = Hatch::new(ui, pane.switches.hatched);
    // The height in points of the contents, unless the user has changed it.
    panel::resizable(ui, "timeline", 164.0, |ui| show_frames(ui, timeline, filter, &hatch));
    let has = |stage: &Stage| timeline.frames.iter().flatten().any(|span| span.stage == *stage);
    let stages: Vec<Stage> = theme::STACK.iter().copied().filter(has).collect();
    if !stages.is_empty() {
        let margin = Margin { left: 8, right: 8, top: 0, bottom: 8 };
        panel::padded(ui, margin, |ui| show_legend(ui, &stages, (filter, false), &hatch));
    }
}

/// Lays out the legend with the colours and names of these stages, in as many rows as they need. `filter` is the variant that is
/// named with the filter; if `has_idle` is true, the idle time comes last.
pub(crate) fn show_legend(
    ui: &mut Ui,
    stages: &[Stage],
    (filter, has_idle): (Option<VariantId>, bool),
    hatch: &Hatch,
) {
    let entry = |stage: &Stage| {
        let text = match (stage, filter) {
            (Stage::Filter, Some(filter)) => format!("filter: {filter}"),
            _ => stage.name().to_owned(),
        };
        (text, (theme::stage_color(*stage), Pattern::Stage(*stage)), words::stage_text(*stage, None))
    };
    let idle = || ("idle".to_owned(), (theme::IDLE, Pattern::Idle), words::IDLE.to_owned());
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(10.0, 1.0);
        ui.spacing_mut().interact_size.y = 14.0;
        for (text, fill, hover) in stages.iter().map(entry).chain(has_idle.then(idle)) {
            let galley = ui.painter().layout_no_wrap(text, theme::words(11.0), theme::TEXT);
            let size = vec2(SWATCH + 4.0 + galley.size().x, galley.size().y.max(SWATCH));
            let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
            let swatch =
                Rect::from_min_size(pos2(rect.left(), rect.center().y - SWATCH / 2.0), Vec2::splat(SWATCH));
            ui.painter().add(hatch.swatch(swatch, fill));
            let at = pos2(swatch.right() + 4.0, rect.center().y - galley.size().y / 2.0);
            ui.painter().galley(at, galley, theme::TEXT);
            response.explain(hover);
        }
    });
}

/// Lays out the time axis and the rows of all frames in the available space.
fn show_frames(ui: &mut Ui, timeline: &Timeline, filter: Option<VariantId>, hatch: &Hatch) {
    let area = ui.available_rect_before_wrap().shrink2(vec2(theme::PAD, 0.0));
    let area = area.with_max_y(area.bottom() - theme::PAD);
    // Height in points of the labels of the time axis.
    // Width in points of the frames' names left of the rows.
    let plot = area.with_min_x(area.left() + 34.0).with_max_y(area.bottom() - 14.0);
    let Some((from, to)) = timeline.extent().filter(|_| plot.is_positive()) else {
        ui.words(area.center(), Align2::CENTER_CENTER, "No frames yet.", 12.0, theme::WEAK);
        return;
    };
    draw_axis(ui, plot, to.duration_since(from).as_secs_f64() * 1e3);
    let frames = timeline.frames.len();
    for frame in 0..frames {
        let (top, height) = row(plot, frame, frames);
        let name = match frames - 1 - frame {
            0 => "n".to_owned(),
            back => format!("n \u{2212} {back}"),
        };
        let at = pos2(plot.left() - 6.0, top + height / 2.0);
        ui.words(at, Align2::RIGHT_CENTER, name, 11.0, theme::TEXT);
        if frame > 0 {
            ui.painter().hline(plot.x_range(), top - ROW_GAP / 2.0, Stroke::new(1.0, theme::RULE));
        }
    }
    let bars = bars(timeline, plot);
    let mut mesh = hatch.mesh();
    for (rect, span) in &bars {
        hatch.add(&mut mesh, *rect, (theme::stage_color(span.stage), Pattern::Stage(span.stage)));
    }
    ui.painter().add(mesh);
    for (rect, span) in &bars {
        let name = match (span.stage, filter) {
            (Stage::Filter, Some(filter)) => filter.name,
            (stage, _) => stage.name(),
        };
        let galley = ui.painter().layout_no_wrap(name.to_owned(), theme::words(10.0), Color32::BLACK);
        if galley.size().x + 6.0 <= rect.width() && galley.size().y <= rect.height() + 2.0 {
            let at = Align2::LEFT_CENTER.anchor_size(rect.left_center() + vec2(3.0, 0.0), galley.size());
            ui.painter().galley(at.min, galley, Color32::BLACK);
        }
    }
    let response = ui.interact(plot, ui.unique_id().with("bars"), Sense::hover());
    let spans = || bars.iter().map(|(_, span)| span_text(span, from)).collect::<Vec<_>>().join("; ");
    let response = response.named(Role::Image, "Timeline").valued(spans);
    let at = response.hover_pos();
    let is_pointed = |(rect, _): &&(Rect, Span)| at.is_some_and(|at| rect.expand(1.0).contains(at));
    if let Some((_, span)) = bars.iter().rfind(is_pointed) {
        response.explain_at_pointer(|ui| _ = ui.label(span_text(span, from)));
    }
}

/// Returns the hover text of a bar: its stage and its times, relative to `start`.
fn span_text(span: &Span, start: Instant) -> String {
    let ms = |at: Instant| at.saturating_duration_since(start).as_secs_f64() * 1e3;
    let lane = match span.lane {
        Lane::Host => "on the host",
        Lane::Calls => "on the device's thread",
        Lane::Upload => "on the upload queue",
        Lane::Device => "on the device",
    };
    let (from, to) = (ms(span.from), ms(span.to));
    let took = theme::ms(to - from);
    format!("{} {lane}: {took} ms, from {} to {}", span.stage.name(), theme::ms(from), theme::ms(to))
}

/// Returns the upper edge and the height, in points, of the row of the frame with the index `frame`, if `plot` has `frames`
/// rows.
fn row(plot: Rect, frame: usize, frames: usize) -> (f32, f32) {
    let pitch = (plot.height() + ROW_GAP) / frames.max(1) as f32;
    (plot.top() + frame as f32 * pitch, (pitch - ROW_GAP).max(1.0))
}

/// Returns the bars of all frames in `plot`, each with its stage. The time axis goes from the first start to the last end of the
/// stages.
fn bars(timeline: &Timeline, plot: Rect) -> Vec<(Rect, Span)> {
    let Some((from, to)) = timeline.extent() else { return Vec::new() };
    let all_s = to.duration_since(from).as_secs_f64().max(1e-9);
    let x = |at: Instant| plot.left() + (at.duration_since(from).as_secs_f64() / all_s) as f32 * plot.width();
    let mut bars = Vec::new();
    for (frame, spans) in timeline.frames.iter().enumerate() {
        let (top, height) = row(plot, frame, timeline.frames.len());
        for span in spans.iter().filter(|s| s.from <= s.to) {
            let lane = match span.lane {
                Lane::Host | Lane::Calls => 0,
                Lane::Upload => 1,
                Lane::Device => 2,
            };
            // The number of lanes (sub-rows) in a frame's row: host, upload queue, filter queue.
            let lane_height = height / 3.0;
            let y = top + lane as f32 * lane_height;
            let left = x(span.from).min(plot.right() - MIN_BAR_LENGTH);
            let right = x(span.to).max(left + MIN_BAR_LENGTH);
            let rect = Rect::from_min_max(pos2(left, y), pos2(right, y + lane_height));
            bars.push((rect, *span));
        }
    }
    bars
}

/// Returns the distance in milliseconds between the marks on a time axis that covers `all_ms`: the least round number that
/// gives at most `most` marks.
fn mark_distance(all_ms: f64, most: f64) -> f64 {
    round_up((all_ms / most).max(1e-3), &[1.0, 2.0, 5.0])
}

/// Draws the time axis, which covers `all_ms` milliseconds, with its marks and labels.
fn draw_axis(ui: &Ui, plot: Rect, all_ms: f64) {
    let step = mark_distance(all_ms, f64::from((plot.width() / 60.0).max(1.0)));
    let count = (all_ms / step).floor().clamp(0.0, 100.0) as u32;
    for n in 0..=count {
        let ms = f64::from(n) * step;
        let x = plot.left() + (ms / all_ms.max(1e-9)) as f32 * plot.width();
        ui.painter().vline(x, plot.y_range(), Stroke::new(1.0, theme::RULE));
        let (unit, align) = if n == 0 { (" ms", Align2::LEFT_TOP) } else { ("", Align2::CENTER_TOP) };
        let text = format!("{}{unit}", theme::tick(ms, 3));
        // The last figure must not leave the panel.
        if x + 14.0 <= plot.right() + theme::PAD {
            ui.words(pos2(x, plot.bottom() + 2.0), align, text, 11.0, theme::WEAK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn span(base: Instant, stage: Stage, lane: Lane, from_ms: u64, to_ms: u64) -> Span {
        let at = |ms| base + Duration::from_millis(ms);
        Span { stage, lane, from: at(from_ms), to: at(to_ms) }
    }

    const PLOT: Rect = Rect::from_min_max(pos2(40.0, 20.0), pos2(340.0, 135.0));

    #[test]
    fn frames_have_rows_and_lanes_and_share_the_axis() {
        let base = Instant::now();
        let mut timeline = Timeline::default();
        for (first, filter) in [
            ((Stage::Convert, Lane::Host, 0, 10), (10, 40)),
            ((Stage::Upload, Lane::Upload, 20, 40), (40, 100)),
        ] {
            let (stage, lane, from, to) = first;
            let filter = span(base, Stage::Filter, Lane::Device, filter.0, filter.1);
            timeline.frames.push(vec![span(base, stage, lane, from, to), filter]);
        }
        let bars = bars(&timeline, PLOT);
        assert_eq!(bars.len(), 4);
        // The axis goes from 0 to 100 ms, three points for each.
        let x: Vec<_> = bars.iter().map(|(rect, _)| (rect.left(), rect.right())).collect();
        for (found, wanted) in x.iter().zip([(40.0, 70.0), (70.0, 160.0), (100.0, 160.0), (160.0, 340.0)]) {
            assert!((found.0 - wanted.0).abs() < 0.1 && (found.1 - wanted.1).abs() < 0.1, "{x:?}");
        }
        // Below each other: host and device of the first frame, then upload and device of the second one.
        assert!(bars.windows(2).all(|b| b[0].0.bottom() <= b[1].0.top() + 0.01), "{bars:?}");
        assert!(bars.iter().all(|b| PLOT.expand(0.01).contains_rect(b.0)), "{bars:?}");
        // Bars that overlap in time are one above the other.
        assert!(bars[1].0.x_range().intersection(bars[2].0.x_range()).span() > 59.0);
    }

    #[test]
    fn a_bar_has_its_stage_and_time_as_text_and_the_shortest_can_be_seen() {
        let base = Instant::now();
        let mut timeline = Timeline::default();
        timeline.frames.push(vec![
            span(base, Stage::Take, Lane::Host, 0, 0),
            span(base, Stage::Filter, Lane::Device, 0, 100_000),
            span(base, Stage::Release, Lane::Device, 100_000, 100_000),
        ]);
        for bar in bars(&timeline, PLOT) {
            assert!(bar.0.width() >= MIN_BAR_LENGTH * 0.99, "{bar:?}");
            assert!(PLOT.expand(0.01).contains_rect(bar.0), "{bar:?}");
        }
        assert!(bars(&Timeline::default(), PLOT).is_empty());
        // A single moment has no length, by which nothing may be divided.
        let mut moment = Timeline::default();
        moment.frames.push(vec![span(base, Stage::Take, Lane::Host, 5, 5)]);
        assert!(bars(&moment, PLOT).iter().all(|b| b.0.is_finite()));

        let base = Instant::now();
        let text = span_text(&span(base, Stage::Upload, Lane::Upload, 2, 5), base);
        assert!(text.contains("upload on the upload queue: 3.00 ms"), "{text}");
    }

    #[test]
    fn marks_are_round_and_not_too_many() {
        for all_ms in [0.004, 0.9, 3.0, 17.0, 120.0, 4321.0, 90_000.0] {
            for most in [1.0, 5.0, 9.0] {
                let step = mark_distance(all_ms, most);
                assert!(all_ms / step <= most * 1.01, "{all_ms} by {step}");
                let mantissa = step / 10f64.powf((step.log10() + 1e-9).floor());
                assert!([1.0, 2.0, 5.0].iter().any(|m| (mantissa - m).abs() < 1e-6), "{step}");
            }
        }
    }
}
