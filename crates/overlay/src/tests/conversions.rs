//! Tests of the panel that checks the device's type conversions.

use super::*;
use ladders::type_conversions::state::State;
use ladders::type_conversions::types::{Case, Type};

/// The description of the fault in the wrong case of [`checked`].
const WRONG: &str =
    "width 3: of NaN (0x7fc00000) got -2147483648 (0x80000000), wanted 0 (0x00000000); 2 of 7 are wrong";

/// Returns a check of type conversions with five cases: two correct, one wrong, one that failed, and one that is still running.
pub(super) fn checked() -> Conversions {
    let names = ["int_float", "int_sat_rte_float", "uchar_float", "float_int", "uint_int"];
    let cases = names.map(|name| Case::named(name).unwrap());
    let mut check = Conversions::new("A device", 1);
    check.set_cases(cases.to_vec());
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
        State::Partial(3),
    ];
    cases.into_iter().zip(states).for_each(|(case, state)| drop(check.cases.insert(case, state)));
    check.state = JobState::Running(", about 12 s left".to_owned());
    check
}

/// Returns the number of the matrix's squares of each colour: correct, wrong, failed, not tested.
fn squares(fixture: &Fixture) -> [usize; 4] {
    [theme::GOOD, theme::ERROR, theme::WEAK, theme::IDLE].map(|color| {
        fixture.rects.iter().filter(|(rect, fill)| *fill == color && rect.height() > 7.0).count()
    })
}

#[test]
fn each_case_is_a_square_that_is_green_only_where_it_is_right() {
    let mut fixture = Fixture::new(vec2(1600.0, 1000.0));
    let plain = squares(&fixture);
    fixture.overlay.panels.toggle(Panel::Conversions);
    fixture.conversions = Conversions::new("A device", 1);
    fixture.conversions.set_cases(Case::all(&Type::ALL));
    fixture.settle();
    let none = squares(&fixture);
    assert_eq!([none[0] - plain[0], none[1] - plain[1], none[2] - plain[2]], [0; 3], "nothing is known");
    assert_eq!(none[3] - plain[3], 1045);
    fixture.set(|f| f.conversions = checked());
    let found = squares(&fixture);
    let new: Vec<usize> = found.iter().zip(plain).map(|(now, before)| now - before).collect();
    assert_eq!(new, [2, 1, 1, 1]);
    fixture.assert_contains(&[
        "4 of 5: 2 correct, 1 wrong, 1 failed, about 12 s left",
        "int_sat_rte_float, width 3: of NaN",
    ]);
    // The hover text of a square names its case and the command that reproduces a fault.
    let red = fixture.rects.iter().find(|(rect, fill)| *fill == theme::ERROR && rect.height() > 7.0);
    let at = red.unwrap().0.center();
    fixture.hover(at);
    let told = format!("convert_int_sat_rte_float: wrong, {WRONG}");
    fixture.assert_contains(&[&told, "--type int_sat_rte_float --seed 1"]);
}

#[test]
fn the_check_begins_and_ends_with_a_button_and_tells_the_time_that_is_left() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.set(|f| f.overlay.panels.toggle(Panel::Conversions));
        assert_eq!(fixture.click("Check now"), [Action::CheckConversions], "{size}");
        fixture.set(|f| f.conversions = checked());
        assert_eq!(fixture.click("Stop"), [Action::StopChecking], "{size}");
        for (state, part) in [
            (JobState::Stopped, "Stopped at 4 of 5: 2 correct, 1 wrong, 1 failed."),
            (JobState::Done, "5 conversions tested: 2 correct, 1 wrong, 1 failed."),
            (JobState::Failed("The device is gone.".to_owned()), "The device is gone."),
        ] {
            fixture.set(|f| f.conversions.state = state);
            assert!(fixture.shows(part), "{part} at {size}: {:?}", fixture.texts);
        }
        assert_eq!(fixture.click("Close Conversions"), [Action::Toggle(Panel::Conversions)]);
    }

    let mut check = Conversions::new("A device", 1);
    let cases = Case::all(&Type::ALL);
    assert_eq!(check.time_left(3.0), "", "not even the cases are known");
    check.set_cases(cases.clone());
    cases.iter().take(20).for_each(|case| drop(check.cases.insert(*case, State::Ok(1))));
    assert_eq!(check.time_left(3.0), "");
    cases.iter().take(209).for_each(|case| drop(check.cases.insert(*case, State::Ok(1))));
    assert_eq!(check.time_left(3.0), ", about 12 s left");
}
