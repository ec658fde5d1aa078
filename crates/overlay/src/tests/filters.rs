//! Tests of the panel of filters.

use super::*;

#[test]
fn filters_are_chosen_shown_beside_each_other_written_and_opened() {
    let mut fixture = Fixture::new(SIZES[0]);
    let error = Error::new("filter.toml:3:1: 'nam' is no key.", "Write 'name'.", "");
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
    fixture.set(|f| f.filters = FilterList { rows, selected: 1, is_pending: false });
    assert_eq!(fixture.click("Filters"), [Action::Toggle(Panel::Filters)]);
    fixture.open(Panel::Filters);
    fixture.settle();
    fixture.assert_shows(&["The effect of Sobel.", "filter.toml:3:1: 'nam' is no key. Write 'name'."]);
    assert_eq!(fixture.click("Box filter"), [Action::SelectFilter(0)]);
    // Neither the selected filter nor one with an error can be put beside another one.
    assert_eq!(fixture.texts.iter().filter(|(text, _)| text == "Beside the present one").count(), 1);
    assert_eq!(fixture.click("Beside the present one"), [Action::WipeFilter(0)]);
    assert_eq!(fixture.click("New filter\u{2026}"), [Action::NewFilter]);
    assert_eq!(fixture.click("Open\u{2026}"), [Action::AskForFilter]);
    fixture.set(|f| f.filters.is_pending = true);
    fixture.assert_shows(&["Opening the folder\u{2026}"]);
}
