//! The check of the device's conversions.

use super::*;
use ladders::type_conversions::run::State;
use ladders::type_conversions::types::{Case, Type};

/// What is wrong in [`checked`].
const WRONG: &str =
    "width 3: of NaN (0x7fc00000) got -2147483648 (0x80000000), wanted 0 (0x00000000); 2 of 7 are wrong";

/// Some conversions: two right, one wrong, one that failed, and one that is not yet known.
pub(super) fn checked() -> Conversions {
    let names = ["int_float", "int_sat_rte_float", "uchar_float", "float_int", "uint_int"];
    let cases = names.map(|name| Case::named(name).unwrap());
    let mut check = Conversions::begun("A device", 1);
    check.begin_with(cases.to_vec());
    let wrong = ladders::type_conversions::Failure {
        form: "width 3".into(),
        what: "differs".into(),
        input_bits: "0x7fc00000".into(),
        input: "NaN".into(),
        got_bits: "0x80000000".into(),
        got: "-2147483648".into(),
        wanted_bits: "0x00000000".into(),
        wanted: "0".into(),
        wrong: 2,
        tried: 7,
    };
    let states = [
        State::Ok(7),
        State::Wrong(7, Box::new(wrong)),
        State::Failed("It ends the process.".into()),
        State::Ok(7),
        State::Going(3),
    ];
    cases.into_iter().zip(states).for_each(|(case, state)| check.note(case, state));
    check.state = CheckState::Running(Some(12.0));
    check
}

/// How many squares have each colour: what is right, wrong, could not be tried, is not known.
fn squares(fixture: &Fixture) -> [usize; 4] {
    [theme::GOOD, theme::ERROR, theme::WEAK, theme::IDLE].map(|color| {
        fixture.rects.iter().filter(|(rect, fill)| *fill == color && rect.height() > 7.0).count()
    })
}

#[test]
fn each_case_is_a_square_that_is_green_only_where_it_is_right() {
    let mut fixture = Fixture::new(vec2(1600.0, 1000.0));
    let plain = squares(&fixture);
    fixture.overlay.toggle(Panel::Conversions);
    fixture.conversions = Conversions::begun("A device", 1);
    fixture.conversions.begin_with(Case::all(&Type::ALL));
    (0..2).for_each(|_| drop(fixture.pass(vec![])));
    let none = squares(&fixture);
    assert_eq!([none[0] - plain[0], none[1] - plain[1], none[2] - plain[2]], [0; 3], "nothing is known");
    assert_eq!(none[3] - plain[3], 1045);
    fixture.conversions = checked();
    (0..2).for_each(|_| drop(fixture.pass(vec![])));
    let found = squares(&fixture);
    let new: Vec<usize> = found.iter().zip(plain).map(|(now, before)| now - before).collect();
    assert_eq!(new, [2, 1, 1, 1]);
    assert!(fixture.shows("4 of 5: 2 right, 1 wrong, 1 failed, about 12 s left"), "{:?}", fixture.texts);
    assert!(fixture.shows("int_sat_rte_float, width 3: of NaN"), "{:?}", fixture.texts);
    // A square says which case it is of, and what to do about it.
    let red = fixture.rects.iter().find(|(rect, fill)| *fill == theme::ERROR && rect.height() > 7.0);
    let at = red.unwrap().0.center();
    fixture.pass(vec![Event::PointerMoved(at)]);
    (0..60).for_each(|_| drop(fixture.pass(vec![])));
    let told = format!("convert_int_sat_rte_float is wrong, {WRONG}");
    assert!(fixture.shows(&told), "{:?}", fixture.texts);
    assert!(fixture.shows("--type int_sat_rte_float --seed 1"), "{:?}", fixture.texts);
}

#[test]
fn the_check_begins_and_ends_with_a_button() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.overlay.toggle(Panel::Conversions);
        (0..2).for_each(|_| drop(fixture.pass(vec![])));
        assert_eq!(fixture.click("Check now"), [Action::CheckConversions], "{size}");
        fixture.conversions = checked();
        (0..2).for_each(|_| drop(fixture.pass(vec![])));
        assert_eq!(fixture.click("Stop"), [Action::StopChecking], "{size}");
        for (state, part) in [
            (CheckState::Stopped, "Ended at 4 of 5: 2 right, 1 wrong, 1 failed."),
            (CheckState::Done, "All 5 conversions: 2 right, 1 wrong, 1 failed."),
            (CheckState::Failed("The device is gone.".to_owned()), "The device is gone."),
        ] {
            fixture.conversions.state = state;
            fixture.pass(vec![]);
            assert!(fixture.shows(part), "{part} at {size}: {:?}", fixture.texts);
        }
        assert_eq!(fixture.click("\u{d7}"), [Action::Toggle(Panel::Conversions)]);
    }
}

/// Where its own button has no room, the list of devices has one.
#[test]
fn the_mouse_opens_it_where_buttons_have_no_room() {
    let machine = super::machine::Machine::new();
    let rows = machine.rows();
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.toggle(Panel::Devices);
    fixture.devices = DeviceList { rows: Some(&rows), left_out: &machine.left_out, awaited: false };
    (0..2).for_each(|_| drop(fixture.pass(vec![])));
    let asked = fixture.click("Are the conversions of the one in use right?");
    assert_eq!(asked, [Action::Toggle(Panel::Conversions)]);
}

#[test]
fn the_time_that_is_left_is_told_when_enough_is_known() {
    let mut check = Conversions::begun("A device", 1);
    let cases = Case::all(&Type::ALL);
    assert_eq!(check.seconds_left(3.0), None, "not even the cases are known");
    check.begin_with(cases.clone());
    cases.iter().take(20).for_each(|case| check.note(*case, State::Ok(1)));
    assert_eq!(check.seconds_left(3.0), None);
    cases.iter().take(209).for_each(|case| check.note(*case, State::Ok(1)));
    assert_eq!(check.seconds_left(3.0), Some(12.0));
}
