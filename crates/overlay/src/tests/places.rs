//! Checks that no text is cut, overlaps another one or leaves the window, at the usual sizes of windows and scales of displays,
//! with each panel alone and with all panels open.

use super::*;

/// Returns the size in points and the number of pixels per point of the usual windows, a portrait one and a very small one among
/// them, on displays with scales of 1 and 2.
pub(super) fn windows() -> impl Iterator<Item = (Vec2, f32)> {
    let sizes = [
        (640.0, 360.0, 1.0),
        (640.0, 360.0, 2.0),
        (900.0, 611.0, 1.0),
        (1280.0, 720.0, 1.0),
        (1920.0, 1080.0, 1.0),
        (1080.0, 1920.0, 1.0),
        (3840.0, 2160.0, 2.0),
    ];
    sizes.into_iter().map(|(width, height, scale)| {
        let zoom = crate::zoom(width / scale, height / scale);
        (vec2(width, height) / scale / zoom, scale * zoom)
    })
}

/// The states in which no text may be cut, besides those of open panels.
const STATES: [&str; 6] = ["playing", "paused", "compiling", "slow frame", "wipe", "talk"];

/// Returns an overlay in this state, or with the open panels of these names, and with these times of kernels in milliseconds.
pub(super) fn state((size, scale): (Vec2, f32), state: &str, open: &[Panel], ms: f64) -> Fixture<'static> {
    let mut fixture = if state == "wipe" { super::mouse::wiped(size) } else { Fixture::new(size) };
    fixture.scale = scale;
    fixture.fill();
    fixture.kernels = super::kernels::edited();
    fixture.kernels.running = Some(2);
    for version in &mut fixture.kernels.versions {
        version.results.iter_mut().for_each(|result| result.runs = version.number == 2);
    }
    fixture.sound = sound(80, false);
    for version in &mut fixture.kernels.versions {
        version.results.iter_mut().filter_map(|result| result.time.as_mut()).for_each(|time| time.ms = ms);
    }
    let run = &mut fixture.lab.run;
    for row in run.variants.iter_mut().chain(&mut run.peaks) {
        row.device_ms = row.device_ms.and_then(|_| base::timing::Series::of(&[ms; 9]));
    }
    let wipe = fixture.wipe.take();
    for id in VariantId::all().filter(|id| *id != VariantId::OFF) {
        // The times vary, so that they are noisy and have a mark.
        fixture.push_like(12, |n, sample| {
            let ms = ms * [1.0, 0.7][n % 2];
            sample.setting.variant = id;
            sample.stages.times = [ms / 15.0; Stage::ALL.len()];
            sample.stages.times[Stage::Filter as usize] = ms;
            sample.interval_ms = Some(2.0 * ms);
            sample.beside_filter_ms = wipe.as_ref().map(|_| 2.0 * ms);
        });
    }
    fixture.push_like(40, |_, sample| sample.setting.variant = named("flat"));
    fixture.wipe = wipe;
    fixture.change(|s| s.folded[Panel::Scene as usize] = Some(false));
    fixture.change(|s| s.open = Panel::ALL.map(|panel| open.contains(&panel)));
    fixture.correction = open.contains(&Panel::Correction).then_some(video::color::Correction::NEUTRAL);
    match state {
        "paused" => fixture.paused = true,
        "compiling" => fixture.variants.iter_mut().for_each(|row| row.status = VariantStatus::Building),
        "slow frame" => fixture.busy = Some(busy(named("running-sum"), 31, ms, Some(2.0 * ms))),
        "talk" => super::talk::begin(&mut fixture),
        _ => {}
    }
    fixture.wait(1.0);
    fixture.settle();
    fixture
}

/// The colours of bars that show times.
const BARS: [Color32; 4] = [theme::FILTER, theme::FILTER_DIM, theme::TROUGH, theme::SELECT];

/// The beginnings of texts that may be cut with an ellipsis, since their hover texts have all of them.
const LONG: [&str; 3] = ["0: take, ", "Best so far: ", "int_sat_rte_float, "];

/// Returns a description of each text of the last pass that overlaps another text or a bar, leaves its part, or leaves the window
/// although `wide` returns false for it.
pub(super) fn misplaced(fixture: &Fixture, wide: impl Fn(&str) -> bool) -> Vec<String> {
    // The rows of all texts, since a text may begin in the middle of its first row, beside another one.
    let (mut texts, mut bars) = (Vec::new(), Vec::new());
    crate::texts::visit(&fixture.harness.output().shapes, &mut |shape, clip| match shape {
        egui::Shape::Text(text) => {
            for row in &text.galley.rows {
                // The first row of a label may begin right of other widgets.
                let left = row.glyphs.first().map_or(0.0, |glyph| glyph.pos.x);
                let rect = row.rect().with_min_x(row.pos.x + left).translate(text.pos.to_vec2());
                if clip.contains(rect.center()) && rect.is_positive() {
                    texts.push((row.text(), rect));
                }
            }
        }
        egui::Shape::Rect(bar) if BARS.contains(&bar.fill) => bars.push((bar.rect, bar.rect.intersect(clip))),
        _ => {}
    });
    bars.retain(|(_, visible)| visible.is_positive());
    // Parts that do not scroll cut no text at their upper or lower edge.
    let parts = ["headline", "ladder", "graph", "strip", "talk", "talk-variant"].map(panel::cover_id);
    let parts = parts.map(|id| fixture.harness.ctx.read_response(id).map(|shown| shown.rect));
    let (window, mut faults) = (fixture.window(), Vec::new());
    for (n, (text, rect)) in texts.iter().enumerate() {
        if !wide(text) && !window.expand(0.5).contains_rect(*rect) {
            faults.push(format!("'{text}' at {rect} leaves the window"));
        }
        let part = parts.iter().flatten().find(|part| part.contains(rect.center()));
        if let Some(part) =
            part.filter(|part| rect.top() < part.top() - 1.0 || rect.bottom() > part.bottom() + 1.0)
        {
            faults.push(format!("'{text}' at {rect} leaves its part {part}"));
        }
        let over = |(_, at): &&(String, Rect)| rect.shrink(1.5).intersects(at.shrink(1.5));
        if let Some((other, at)) = texts[n + 1..].iter().find(over) {
            faults.push(format!("'{text}' at {rect} lies over '{other}' at {at}"));
        }
        let over = |(bar, visible): &&(Rect, Rect)| {
            !bar.contains_rect(*rect) && rect.shrink(1.5).intersects(visible.shrink(1.0))
        };
        if let Some((bar, _)) = bars.iter().find(over) {
            faults.push(format!("'{text}' at {rect} lies over a bar at {bar}"));
        }
    }
    faults
}

/// Returns a description of each misplaced or cut text in the last pass. If `scrolls` is true, panels are wider than the
/// window, and their texts scroll horizontally.
pub(super) fn faults(fixture: &Fixture, scrolls: bool) -> Vec<String> {
    let is_wide = |text: &str| scrolls || LONG.iter().any(|long| text.starts_with(long));
    let mut faults = misplaced(fixture, is_wide);
    let cut = fixture.cut.iter().filter(|text| !is_wide(text));
    faults.extend(cut.map(|text| format!("'{text}' is cut")));
    faults
}

#[test]
fn no_text_is_cut_or_lies_over_another_at_any_size_in_any_state() {
    let panels = COLUMN_PANELS.map(|panel| panel.panel);
    let mut cases: Vec<(&str, Vec<Panel>)> = STATES.map(|state| (state, Vec::new())).into();
    cases.extend(panels.iter().map(|panel| (panel.name(), vec![*panel])));
    cases.extend([("all panels", panels.to_vec()), ("wipe", vec![Panel::Kernels])]);
    let mut found = Vec::new();
    for (window, (name, open)) in windows().flat_map(|window| cases.iter().map(move |case| (window, case))) {
        for ms in [1.0, 99.0, 99_999.0] {
            let fixture = state(window, name, open, ms);
            let faults = faults(&fixture, window.0.x < 400.0 && !open.is_empty());
            found.extend(
                faults.into_iter().map(|fault| format!("{} with {name}, {ms} ms: {fault}", window.0)),
            );
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}
