//! Checks that the overlay covers no part of the bundled clip that shows what the filter does.

use super::*;
use crate::describe;

/// Returns the parts that the clip shows, by name, from the table in the script that draws the clip. They are in pixels of the
/// clip, which has as many as the window below has points.
fn parts_of_the_clip() -> Vec<(&'static str, Rect)> {
    let script = include_str!("../../../../assets/make-clip");
    let table = script.split("\nPARTS = {\n").nth(1).and_then(|rest| rest.split("}\n").next()).unwrap();
    let part = |line: &'static str| {
        let (name, place) = line.split_once(": ").unwrap();
        let place = place.trim_matches(['(', ')', ',']).split(", ");
        let [x, y, width, height] = place.map(|number| number.parse().unwrap()).collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        (name.trim().trim_matches('"'), Rect::from_min_size(pos2(x, y), vec2(width, height)))
    };
    table.lines().map(part).collect()
}

#[test]
fn the_overlay_leaves_free_what_the_clip_explains() {
    let clip = parts_of_the_clip();
    assert!(clip.len() > 8, "{clip:?}");
    for size in [vec2(1280.0, 720.0), vec2(1920.0, 1080.0)] {
        let zoom = crate::zoom(size.x, size.y);
        let mut fixture = Fixture::new(size / zoom);
        fixture.scale = zoom;
        fixture.overlay = Overlay::new(SavedState::default());
        fixture.settle();
        let parts = describe::parts(&fixture.harness.ctx);
        let mut parts: Vec<Rect> = parts.into_iter().map(|(part, _)| part).collect();
        assert_eq!(parts.len(), 5, "headline, ladder, its names, graph and strip: {parts:?}");
        parts.push(fixture.harness.get_by_label("Message").rect());
        for (name, place) in &clip {
            assert!(Rect::from_min_size(Pos2::ZERO, vec2(1280.0, 720.0)).contains_rect(*place), "{name}");
            let over = parts.iter().find(|part| part.intersects(*place));
            assert_eq!(over, None, "over the clip's {name} at {place} in {size}");
        }
    }
}
