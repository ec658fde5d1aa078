//! Checks that no text is cut, overlaps another one or leaves the window, at the usual sizes of windows and scales of displays,
//! with each panel alone and with all panels open.

use super::*;

/// Returns the size in points and the number of pixels per point of the usual windows, on displays with scales of 1 and 2.
pub(super) fn windows() -> impl Iterator<Item = (Vec2, f32)> {
    let sizes = [vec2(640.0, 360.0), vec2(1280.0, 720.0), vec2(1920.0, 1080.0), vec2(3840.0, 2160.0)];
    sizes.into_iter().flat_map(|pixels| [(pixels, 1.0), (pixels, 2.0)]).map(|(pixels, scale)| {
        let zoom = crate::zoom(pixels.x / scale, pixels.y / scale);
        (pixels / scale / zoom, scale * zoom)
    })
}

/// The beginnings of texts that may be cut with an ellipsis, since their hover texts have all of them.
const LONG: [&str; 4] = ["0: take, ", "Best so far: ", "03_flat.cl: flat", "int_sat_rte_float, "];

/// Returns a description of each text of the last pass that overlaps another text, or leaves the window although `wide` returns
/// false for it.
pub(super) fn misplaced(fixture: &Fixture, wide: impl Fn(&str) -> bool) -> Vec<String> {
    let window = fixture.window();
    let mut faults = Vec::new();
    for (n, (text, rect)) in fixture.texts.iter().enumerate() {
        if !wide(text) && !window.expand(0.5).contains_rect(*rect) {
            faults.push(format!("'{text}' at {rect} leaves the window"));
        }
        let over = |(_, at): &&(String, Rect)| rect.shrink(1.5).intersects(at.shrink(1.5));
        if let Some((other, at)) = fixture.texts[n + 1..].iter().find(over) {
            faults.push(format!("'{text}' at {rect} lies over '{other}' at {at}"));
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
fn no_text_is_cut_or_lies_over_another_at_any_size() {
    let mut found = Vec::new();
    for (size, scale) in windows() {
        let panels = COLUMN_PANELS.map(|panel| panel.panel);
        let mut cases: Vec<Vec<Panel>> = panels.iter().map(|panel| vec![*panel]).collect();
        cases.extend([Vec::new(), panels.to_vec()]);
        for case in cases {
            let mut fixture = Fixture::new(size);
            fixture.scale = scale;
            fixture.fill();
            fixture.kernels = super::kernels::edited();
            fixture.sound = sound(80, false);
            fixture.change(|s| s.folded[Panel::Scene as usize] = Some(false));
            fixture.change(|s| s.open = Panel::ALL.map(|panel| case.contains(&panel)));
            fixture.correction =
                case.contains(&Panel::Correction).then_some(video::color::Correction::NEUTRAL);
            fixture.settle();
            let names: Vec<&str> = case.iter().map(|panel| panel.name()).collect();
            let with = if case.len() > 1 { "all".to_owned() } else { names.concat() };
            let at = format!("{size} with {with}");
            let scrolls = size.x < 400.0 && !case.is_empty();
            found.extend(faults(&fixture, scrolls).into_iter().map(|fault| format!("{at}: {fault}")));
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}
