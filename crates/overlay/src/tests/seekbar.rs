//! Tests of the seek bar, and of the controls of the volume at its end.

use super::*;

/// Returns the rectangle of the rail, on which the handle of the seek bar moves.
fn rail(fixture: &Fixture) -> Rect {
    fixture.assert_shows(&["0:01.0 / 0:10.0"]);
    fixture.button("Position").unwrap()
}

#[test]
fn the_seek_bar_seeks_by_click_and_by_drag() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        let rail = rail(&fixture);
        let middle = rail.center();
        let near = |actions: &[Action], exact: bool, s: f64| {
            assert!(!actions.is_empty());
            for action in actions {
                let Action::Seek { to_s, exact: e } = action else { panic!("{action:?}") };
                assert!(*e == exact && (to_s - s).abs() < 0.1, "{action:?} at {size}, not {s}");
            }
        };
        near(&fixture.click_at(middle), true, 5.0);
        fixture.assert_shows(&["0:05.0"]);

        // A tap between two passes.
        near(&fixture.pass(vec![button(middle, true), button(middle, false)]), true, 5.0);
        near(&fixture.pass(vec![button(middle, true)]), true, 5.0);
        assert_eq!(fixture.pass(vec![]), [], "a button that is held still asks for nothing");
        // Beyond the end of the rail, and away from it.
        let beyond = rail.right_center() + vec2(40.0, -40.0);
        near(&fixture.pass(vec![Event::PointerMoved(beyond)]), false, 10.0);
        near(&fixture.pass(vec![button(beyond, false)]), true, 10.0);
        assert_eq!(fixture.pass(vec![Event::PointerMoved(middle)]), []);
    }
}

#[test]
fn the_seek_bar_tells_an_unknown_length_and_the_part_that_repeats() {
    for (duration_s, words) in [
        (None, "is unknown"),
        (Some(f64::NAN), "is unknown"),
        (Some(-3.0), "is unknown"),
        (Some(0.04), "Still picture"),
    ] {
        let mut fixture = Fixture::new(SIZES[0]);
        let middle = rail(&fixture).center();
        fixture.movie.duration_s = duration_s;
        assert_eq!(fixture.click_at(middle), [], "{duration_s:?}");
        fixture.assert_contains(&[words]);
    }

    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find("A").is_none());
    fixture.set(|f| f.part = (Some(2.0), None));
    assert!(fixture.find("A").is_some() && fixture.find("B").is_none());
    fixture.set(|f| f.part = (Some(2.0), Some(8.0)));
    let (a, b) = (fixture.find("A").unwrap(), fixture.find("B").unwrap());
    assert!((b.left() - a.right()) / rail(&fixture).width() > 0.55, "{a} {b}");
    fixture.set(|f| f.part = (Some(f64::NAN), Some(f64::INFINITY)));
    assert!(fixture.find("A").is_none());
}

/// Returns an overlay with sound at this volume.
fn fixture(size: Vec2, volume: u32, is_muted: bool) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    fixture.sound = sound(volume, is_muted);
    fixture.settle();
    fixture
}

#[test]
fn a_movie_with_sound_has_a_loudspeaker_and_a_slider() {
    for size in SIZES {
        let mut fixture = fixture(size, 80, false);
        let icon = fixture.button("Mute").unwrap();
        let rail = fixture.button("Position").unwrap();
        assert!(rail.right() <= icon.left() && icon.right() <= size.x, "{rail:?}, {icon:?} at {size}");
        fixture.hover(icon.center());
        fixture.assert_contains(&["Volume 80 % (/ and * change it, m mutes)."]);
        assert_eq!(fixture.click("Mute"), [Action::ToggleMute]);
        let slider = icon.right_center() + vec2(20.0, 0.0);
        let actions = fixture.click_at(slider);
        let set = actions.iter().find_map(|action| match *action {
            Action::SetVolume(percent) => Some(percent),
            _ => None,
        });
        assert!(set.is_none_or(|percent| percent < 50), "{actions:?} at {size}");
        assert!(set.is_some() || size.x < 500.0, "there is a slider at {size}");
    }

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.pass(vec![]);
    assert_eq!(fixture.button("Mute"), None);
    let mut muted = self::fixture(SIZES[0], 80, true);
    let icon = muted.button("Unmute").unwrap();
    muted.hover(icon.center());
    assert!(muted.shows("Muted; m switches the sound on."), "{:?}", muted.texts);
}
