//! Tests of hover texts: where they are shown, and that they disappear when the pointer leaves.

use super::*;

/// Returns the visible rectangle of the part of the overlay (panel, strip) that contains `at`.
fn part_at(fixture: &Fixture, at: Pos2) -> Option<Rect> {
    let names = ["headline", "ladder", "graph", "strip"].into_iter();
    let names = names.chain(Panel::ALL.map(Panel::name));
    let mut rects = names
        .filter_map(|name| Some(fixture.harness.ctx.read_response(panel::cover_id(name))?.interact_rect));
    rects.rfind(|rect| rect.contains(at))
}

#[test]
fn hover_texts_stand_beside_the_part_that_they_explain_and_go_with_the_pointer() {
    // In the higher window, the whole column is visible.
    let sizes = [SIZES[0], vec2(SIZES[0].x, 2.0 * SIZES[0].y)];
    for (size, left) in sizes.into_iter().flat_map(|size| [(size, false), (size, true)]) {
        let mut fixture = Fixture::new(size);
        fixture.change(|s| s.column.left = left);
        for panel in [Panel::Scopes, Panel::Timeline, Panel::Stages] {
            fixture.open(panel);
        }
        fixture.settle();
        let (headline, timeline) = (fixture.cover("headline").rect, fixture.cover("timeline").interact_rect);
        let texts = ["25 fps", "8.45", "separable", "running-sum", "Radius", "Hide", "Timeline", "frame"];
        for text in texts.into_iter().chain(["Frames", "Repaint", "Heat map"]) {
            let Some(at) = fixture.find(text).map(|rect| rect.center()) else {
                let is_below = size == SIZES[0] && ["Heat map", "Timeline"].contains(&text);
                assert!(is_below, "{text}: {:?}", fixture.texts);
                continue;
            };
            let before = fixture.texts.clone();
            fixture.hover(at);
            let new = fixture.texts.iter().filter(|text| !before.contains(text));
            let shown = new.fold(Rect::NOTHING, |all, (_, rect)| all.union(*rect));
            assert!(shown.is_positive(), "no hover text of {text}");
            assert!(fixture.window().contains_rect(shown), "{text}: {shown}");
            let part = part_at(&fixture, at).expect("a part");
            for (name, covered) in [("its part", part), ("the headline", headline), ("timeline", timeline)] {
                assert!(!covered.intersects(shown), "{text} at {shown} is over {name}, {covered}");
            }
            fixture.pass(vec![Event::PointerMoved(pos2(2.0, 2.0))]);
            fixture.pass(vec![]);
            assert_eq!(fixture.texts, before, "it goes with the pointer");
        }
    }
}
