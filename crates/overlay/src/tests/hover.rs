//! Tests of hover texts: where they are shown, and that they disappear when the pointer leaves.

use super::*;
use crate::describe;

#[test]
fn hover_texts_stand_near_what_they_explain_and_go_with_the_pointer() {
    // In the higher window, the whole column is visible.
    let sizes = [SIZES[0], vec2(SIZES[0].x, 2.0 * SIZES[0].y)];
    for (size, left) in sizes.into_iter().flat_map(|size| [(size, false), (size, true)]) {
        let mut fixture = Fixture::new(size);
        fixture.change(|s| s.column.left = left);
        for panel in [Panel::Scopes, Panel::Timeline, Panel::Stages] {
            fixture.open(panel);
        }
        fixture.settle();
        let headline = fixture.cover("headline").rect;
        let texts = ["25 fps", "8.45", "separable", "running-sum", "Radius", "Hide", "Timeline", "frame"];
        for text in texts.into_iter().chain(["Frames", "Repaint", "Heat map"]) {
            let Some(at) = fixture.find(text).map(|rect| rect.center()) else {
                assert!(size == SIZES[0] && text == "Heat map", "{text}: {:?}", fixture.texts);
                continue;
            };
            let before = fixture.texts.clone();
            fixture.hover(at);
            let new = fixture.texts.iter().filter(|text| !before.contains(text));
            let shown = new.fold(Rect::NOTHING, |all, (_, rect)| all.union(*rect));
            assert!(shown.is_positive(), "no hover text of {text}");
            assert!(fixture.window().contains_rect(shown), "{text}: {shown}");
            assert!(shown.distance_to_pos(at) < 200.0, "{text}: {shown} is far from {at}");
            assert!(!shown.contains(at), "{text}: {shown} covers {at}");
            assert!(!headline.intersects(shown), "{text} at {shown} is over the headline, {headline}");
            fixture.pass(vec![Event::PointerMoved(pos2(2.0, 2.0))]);
            fixture.pass(vec![]);
            assert_eq!(fixture.texts, before, "it goes with the pointer");
        }
    }
}

#[test]
fn hover_texts_of_the_graph_leave_the_names_of_the_ladder() {
    let fixture = Fixture::new(SIZES[0]);
    let names: Vec<Rect> = VariantId::all().filter_map(|id| fixture.find(id.name)).collect();
    assert!(names.len() > 8, "{names:?}");
    let parts = describe::parts(&fixture.harness.ctx);
    let graph = fixture.cover("graph").rect;
    // The sizes of texts about a frame with few and with all stages.
    for (n, size) in (1..40).flat_map(|n| [vec2(240.0, 90.0), vec2(340.0, 236.0)].map(|size| (n, size))) {
        let at = pos2(graph.left() + graph.width() * n as f32 / 40.0, graph.center().y);
        let frame = Rect::from_center_size(at, Vec2::splat(2.0));
        let (anchor, side) = describe::place(frame, at, size, fixture.window(), &parts);
        let text = side.align_rect(&anchor, size, describe::GAP);
        let over = names.iter().find(|name| name.intersects(text));
        assert_eq!(over, None, "{text} for {at}");
        assert!(fixture.window().contains_rect(text) && !text.contains(at), "{text} for {at}");
    }
}
