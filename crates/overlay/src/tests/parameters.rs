//! Tests of the sliders of parameters of filters from folders.

use super::*;
use box_filter::Filter;

const GAIN: &str =
    "parameters.gain = { type = \"float\", range = [0.25, 8.0], default = 1.0, step = 0.25 }\n";
const SIDE: &str =
    "parameters.side = { type = \"int\", range = [1, 9], default = 3, step = 2, unit = \"px\" }\n";

/// Returns an overlay in which a filter with these parameters is selected.
fn with_filter(size: Vec2, name: &str, parameters: &str) -> (Fixture<'static>, &'static Filter) {
    let filter = Filter::made_up(name, parameters);
    let mut fixture = Fixture::new(size);
    let row = |id| VariantRow { id, idea: "Idea.", status: VariantStatus::Ready };
    fixture.set(|f| {
        f.variants = filter.variants().map(row).collect();
        (f.chosen, f.settings) = (filter.initial(), filter.defaults());
    });
    let (variant, settings) = (filter.initial(), filter.defaults());
    fixture.push_like(20, |_, sample| {
        (sample.setting.variant, sample.setting.settings) = (variant, settings);
    });
    fixture.wait(1.0);
    fixture.settle();
    (fixture, filter)
}

#[test]
fn a_slider_of_a_float_sends_its_value() {
    for size in SIZES {
        let (mut fixture, filter) = with_filter(size, "one", GAIN);
        let gain =
            |value| Action::SetSettings(filter.defaults().with(&filter.description.parameters, 0, value));
        assert_eq!(fixture.click("Smaller gain"), [gain(0.75)], "{size}");
        assert_eq!(fixture.click("Larger gain"), [gain(1.25)], "{size}");
        let actions = fixture.click("gain");
        let middle = |action: &Action| [4.0, 4.25].map(gain).contains(action);
        assert!(!actions.is_empty() && actions.iter().all(middle), "the middle at {size}: {actions:?}");
        fixture.assert_shows(&["1.00"]);
        assert!(!fixture.shows("Radius") && !fixture.shows("r ="), "{size}: {:?}", fixture.texts);
        fixture.assert_contains(&["gain = 1"]);
        fixture.set(|f| f.settings = f.settings.with(&filter.description.parameters, 0, 8.0));
        assert_eq!(fixture.click("Larger gain"), [], "the end of the range");
    }
}

#[test]
fn several_parameters_stand_above_the_strip_and_not_over_the_ladder() {
    let (mut fixture, filter) = with_filter(SIZES[0], "two", &[GAIN, SIDE].concat());
    let side = |value| Action::SetSettings(filter.defaults().with(&filter.description.parameters, 1, value));
    assert_eq!(fixture.click("Smaller side"), [side(1.0)]);
    assert_eq!(fixture.click("Larger side"), [side(5.0)]);
    fixture.assert_inside(&["gain", "side", "1.00", "3 px"]);
    let group = fixture.cover("parameters").interact_rect;
    for part in ["ladder", "strip", "graph"] {
        let part = fixture.cover(part).interact_rect;
        assert!(!group.intersects(part), "{group} and {part}");
    }
    fixture.check_places();
    // Where there is no room for the group, the first parameter stands in the strip.
    let (mut fixture, filter) = with_filter(vec2(320.0, 180.0), "two", &[GAIN, SIDE].concat());
    let gain = Action::SetSettings(filter.defaults().stepped(&filter.description.parameters, 0, 1));
    assert_eq!(fixture.click("Larger gain"), [gain]);
}
