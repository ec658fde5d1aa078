//! Tests of the controls of the volume at the end of the seek bar.

use super::*;

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
