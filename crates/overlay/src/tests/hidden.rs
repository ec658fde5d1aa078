//! Tests of the hidden overlay: the line of statistics after a key, slow pictures, and the controls at the lower edge.

use super::*;
use box_filter::named;

const LINE: &str = "flat r=7 \u{b7} 8.45 ms \u{b7} 25 fps \u{b7} CPU 60 %";

fn hidden() -> Fixture<'static> {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.change(|s| s.visible = false);
    assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
    fixture
}

#[test]
fn changes_and_slow_pictures_are_told_in_the_line() {
    type Change = fn(&mut Fixture);
    let changes: [(&str, Change); 5] = [
        (LINE, |f| f.chosen = named("naive")),
        (LINE, |f| f.settings = 8.into()),
        ("flat r=7 \u{b7} 8.45 ms \u{b7} \u{2013} fps \u{b7} CPU 60 % \u{b7} paused", |f| f.paused = true),
        (LINE, |f| f.correction = Some(video::color::Correction::NEUTRAL)),
        (LINE, |f| f.part = (Some(1.0), None)),
    ];
    for (line, change) in changes {
        let mut fixture = hidden();
        change(&mut fixture);
        fixture.pass(vec![]);
        fixture.assert_shows(&[line]);
        assert!(fixture.harness.ctx.has_requested_repaint() || fixture.find(line).is_some());
        fixture.wait(2.0);
        assert!(fixture.find(line).is_some(), "it stays for some seconds");
        fixture.wait(2.0);
        assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
    }

    let mut fixture = hidden();
    fixture.chosen = named("fused");
    fixture.set(|f| f.busy = Some(busy(named("fused"), 7, 0.3, None)));
    fixture.assert_shows(&["fused r=7 \u{b7} 0.3 s \u{b7} CPU 60 %"]);
    fixture.busy = None;
    fixture.present(named("fused"), 7, 0.37, 40);
    let line = "fused r=7 \u{b7} 0.37 ms \u{b7} 25 fps \u{b7} CPU 60 %";
    fixture.assert_shows(&[line]);

    let mut fixture = hidden();
    fixture.busy = Some(busy(named("naive"), 31, 0.0, Some(12.0)));
    for _ in 0..3 {
        fixture.wait(60.0);
        fixture.assert_contains(&["naive r=31 \u{b7} 0.0 of about 12 s"]);
    }
    fixture.set(|f| f.busy = Some(busy(named("naive"), 31, 0.0, Some(0.5))));
    assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
}

#[test]
fn the_mouse_at_the_lower_edge_brings_the_controls_back() {
    let move_to = |x, y| vec![Event::PointerMoved(pos2(x, y))];
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.change(|s| s.visible = false);
        fixture.pass(move_to(size.x / 2.0, size.y / 3.0));
        fixture.pass(move_to(size.x / 2.0, size.y / 3.0 + 5.0));
        assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
        fixture.pass(move_to(size.x / 2.0, size.y - 3.0));
        assert_eq!(fixture.click("Pause"), [Action::TogglePause], "{size}");
        assert_eq!(fixture.click("fused"), [Action::SetVariant(named("fused"))], "{size}");
        let rail = fixture.button("Position").unwrap();
        assert!(matches!(fixture.click_at(rail.center())[0], Action::Seek { .. }), "{size}");
        assert_eq!(fixture.click("Show"), [Action::ToggleOverlay], "{size}");
        // The controls disappear when the mouse rests.
        fixture.wait(2.0);
        assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
    }
}
