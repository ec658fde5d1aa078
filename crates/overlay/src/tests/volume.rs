//! Tests of the volume at the end of the seek bar.

use super::*;

/// Returns a fixture with sound.
fn fixture(size: Vec2, volume: u32, is_muted: bool) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    fixture.sound = Some(SoundView { volume, is_muted, text: "Sound: aac, 48000 Hz.".into() });
    (0..2).for_each(|_| drop(fixture.pass(vec![])));
    fixture
}

/// Returns the rectangle of the loudspeaker.
fn icon(fixture: &Fixture) -> Option<Rect> {
    fixture.ctx.read_response(crate::volume::icon_id()).map(|response| response.rect)
}

/// Moves the pointer to the loudspeaker and waits for its hover text.
fn hover(fixture: &mut Fixture) {
    let at = icon(fixture).unwrap().center();
    fixture.pass(vec![Event::PointerMoved(at)]);
    for _ in 0..4 {
        fixture.time += 0.5;
        fixture.pass(vec![]);
    }
}

#[test]
fn the_loudspeaker_mutes_and_the_slider_sets_the_volume() {
    for size in SIZES {
        let mut fixture = fixture(size, 80, false);
        let icon = icon(&fixture).unwrap();
        let rail = fixture.ctx.read_response(crate::seekbar::rail_id()).unwrap().rect;
        assert!(rail.right() <= icon.left() && icon.right() <= size.x, "{rail:?}, {icon:?} at {size}");
        hover(&mut fixture);
        assert!(fixture.shows("Volume 80 % (/ and * change it, m mutes)."), "{:?}", fixture.texts);
        assert_eq!(fixture.click_at(icon.center()), [Action::ToggleMute]);
        let slider = icon.right_center() + vec2(20.0, 0.0);
        let actions = fixture.click_at(slider);
        let set = actions.iter().find_map(|action| match *action {
            Action::SetVolume(percent) => Some(percent),
            _ => None,
        });
        assert!(set.is_none_or(|percent| percent < 50), "{actions:?} at {size}");
        assert!(set.is_some() || size.x < 500.0, "there is a slider at {size}");
    }
}

#[test]
fn a_movie_without_sound_has_no_loudspeaker() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.pass(vec![]);
    assert_eq!(icon(&fixture), None);
    let mut muted = self::fixture(SIZES[0], 80, true);
    hover(&mut muted);
    assert!(muted.shows("Muted; m switches the sound on."), "{:?}", muted.texts);
}
