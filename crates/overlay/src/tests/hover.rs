//! Tests of hover texts: where they are shown, and that they disappear when the pointer leaves.

use super::*;

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
                assert!(size == SIZES[0], "{text}: {:?}", fixture.texts);
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
    let mut fixture = Fixture::new(SIZES[0]);
    let names: Vec<Rect> = VariantId::all().filter_map(|id| fixture.find(id.name)).collect();
    assert!(names.len() > 8, "{names:?}");
    let graph = fixture.cover("graph").rect;
    let mut count = 0;
    for n in 1..20 {
        let at = pos2(graph.left() + graph.width() * n as f32 / 20.0, graph.center().y);
        let before = fixture.texts.clone();
        fixture.hover(at);
        let new = fixture.texts.iter().filter(|text| !before.contains(text));
        let shown = new.fold(Rect::NOTHING, |all, (_, rect)| all.union(*rect));
        count += usize::from(shown.is_positive());
        let over = names.iter().find(|name| name.intersects(shown));
        assert_eq!(over, None, "{shown} for {at}");
        fixture.pass(vec![Event::PointerMoved(pos2(2.0, 2.0))]);
        fixture.pass(vec![]);
    }
    assert!(count > 0, "no hover text");
}
