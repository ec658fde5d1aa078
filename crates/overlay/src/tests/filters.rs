//! Tests of the panel of filters.

use super::*;

#[test]
fn filters_are_chosen_shown_beside_each_other_written_and_opened() {
    let mut fixture = Fixture::new(SIZES[0]);
    let error = Error::new("filter.toml:3:1: 'nam' is no key.", "A key may be misspelt.", "Write 'name'.");
    let picture = Thumbnail(([2, 1], vec![255; 8]).into());
    let row = |name: &str, folder: Option<&str>| FilterRow {
        name: name.to_owned(),
        sentence: format!("The effect of {name}."),
        folder: folder.map(str::to_owned),
        ..FilterRow::default()
    };
    let sobel = FilterRow { thumbnail: Some(picture), ..row("Sobel", Some("/home/user/sobel")) };
    let broken = FilterRow { error: Some(error), ..row("broken", Some("/home/user/broken")) };
    let rows = vec![row("Box filter", None), sobel, broken];
    fixture.set(|f| f.filters = FilterList { rows, selected: 1, ..FilterList::default() });
    assert_eq!(fixture.click("Filters"), [Action::Toggle(Panel::Filters)]);
    fixture.open(Panel::Filters);
    fixture.settle();
    let error = "filter.toml:3:1: 'nam' is no key. A key may be misspelt. Write 'name'.";
    fixture.assert_shows(&["The effect of Sobel.", error]);
    assert_eq!(fixture.click("Box filter"), [Action::SelectFilter(0)]);
    // Neither the selected filter nor one with an error can be put beside another one.
    assert_eq!(fixture.texts.iter().filter(|(text, _)| text == "Beside the present one").count(), 1);
    assert_eq!(fixture.click("Beside the present one"), [Action::WipeFilter(0)]);
    assert_eq!(fixture.click("New filter\u{2026}"), [Action::NewFilter]);
    assert_eq!(fixture.click("Open\u{2026}"), [Action::AskForFilter]);
    fixture.set(|f| f.filters.is_pending = true);
    fixture.assert_shows(&["Opening the folder\u{2026}"]);
}

#[test]
fn filters_of_a_stack_are_chosen_switched_moved_and_removed() {
    let mut fixture = Fixture::new(SIZES[0]);
    let row = |name: &str| StackRow {
        name: name.to_owned(),
        filter: "plain gain = 1".to_owned(),
        ms: Some(1.25),
        is_on: true,
        ..StackRow::default()
    };
    let error = Error::new("It does not build.", "A type is unknown.", "");
    let fault = Error::new("It crashed.", "It writes elsewhere.", "Correct it.");
    let rows = vec![
        StackRow { is_chosen: true, ..row("Sobel") },
        StackRow { error: Some(error), ms: None, ..row("Broken") },
        StackRow { fault: Some(fault), ..row("Saved") },
    ];
    let stack = StackView { rows, can_undo: true, last: None };
    let list = vec![FilterRow { name: "Box filter".to_owned(), ..FilterRow::default() }];
    fixture.set(|f| f.filters = FilterList { rows: list, stack, ..FilterList::default() });
    fixture.open(Panel::Filters);
    fixture.settle();
    fixture.assert_shows(&["1.25 ms", "Skipped: It does not build. A type is unknown."]);
    let fault = "The version before the last one runs: It crashed. It writes elsewhere. Correct it.";
    fixture.assert_shows(&[fault]);
    assert_eq!(fixture.click("Choose Broken"), [Action::ChooseLayer(1)]);
    assert_eq!(fixture.click("Undo"), [Action::UndoStack]);
    assert_eq!(fixture.click("On the stack"), [Action::StackFilter(0)]);
    fixture.set(|f| {
        let stack = &mut f.filters.stack;
        (stack.rows, stack.can_undo, stack.last) = (Vec::new(), false, Some("sobel + Box filter".to_owned()));
    });
    assert_eq!(fixture.click("Again: sobel + Box filter"), [Action::RestoreStack]);
}

#[test]
fn sliders_of_a_filter_that_is_switched_off_stay_and_the_headline_names_the_others() {
    let mut fixture = Fixture::new(SIZES[0]);
    let gain = "parameters.gain = { type = \"float\", range = [0.0, 4.0], default = 1.0 }";
    let filter = box_filter::Filter::made_up("edges", gain);
    let off = VariantId::OFF;
    let others = stats::Stack::new([stats::Layer { variant: named("flat"), settings: 7.into() }], []);
    fixture.set(|f| {
        (f.chosen, f.sliders) = (off, Some((filter.initial(), filter.defaults())));
        let mut sample = FrameSample::made_up(2.0, off, [0.0; Stage::ALL.len()]);
        sample.setting.stack = others;
        f.recorder.push(sample);
    });
    fixture.assert_shows(&["gain", "flat r=7", "the selected filter is off"]);
    assert!(fixture.button("Larger radius").is_none());
    let louder = filter.defaults().stepped(&filter.description.parameters, 0, 1);
    assert_eq!(fixture.click("Larger gain"), [Action::SetSettings(louder)]);
}

#[test]
fn definitions_suit_filters_without_a_radius() {
    use crate::words;
    for text in [words::FRAME_RATE, words::FILTER, words::FILTER_BY_WALL, words::STAGES_TABLE] {
        assert!(!text.contains("radius"), "{text}");
    }
}
