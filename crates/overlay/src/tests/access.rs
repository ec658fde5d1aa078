//! Tests of names and values in AccessKit's tree, which screen readers read.

use egui::Role;
use egui_kittest::Node;

use super::*;

/// Returns all nodes of AccessKit's tree.
fn nodes<'t>(fixture: &'t Fixture) -> Vec<Node<'t>> {
    fixture.harness.root().children_recursive().collect()
}

/// Returns the texts of a node: its name, value and description.
fn texts_of(node: &Node) -> Vec<String> {
    let node = node.accesskit_node();
    [node.label(), node.value(), node.description()].into_iter().flatten().collect()
}

/// Asserts that the overlay's buttons have names, that its numbers and graphs have names and values, and that each number on
/// the screen is part of one of these. `what` names the case in failures.
fn check(what: &str, fixture: &Fixture) {
    fixture.harness.check_accessibility();
    let nodes = nodes(fixture);
    let is = |node: &Node, roles: &[Role]| roles.contains(&node.accesskit_node().role());
    for node in nodes.iter().filter(|node| is(node, &[Role::Status, Role::Image, Role::Row, Role::Cell])) {
        let has = |text: Option<String>| text.is_some_and(|text| !text.trim().is_empty());
        let node = node.accesskit_node();
        assert!(has(node.label()) && has(node.value()), "{what}: {:?} {:?}", node.label(), node.value());
    }
    let all: Vec<String> = nodes.iter().flat_map(texts_of).collect();
    // The numbers of a graph's axes and of lines of code are beside it.
    let graphs = nodes.iter().filter(|node| is(node, &[Role::Image, Role::Code]));
    let graphs: Vec<Rect> = graphs.map(Node::rect).collect();
    let is_known = |text: &str, at: &Rect| {
        let is_axis = graphs.iter().any(|graph| graph.expand2(vec2(60.0, 24.0)).contains(at.center()));
        is_axis || text.chars().count() == 1 || all.iter().any(|known| known.contains(text))
    };
    let has_digit = |text: &str| text.chars().any(|c| c.is_ascii_digit());
    let unknown = fixture.texts.iter().filter(|(text, at)| has_digit(text) && !is_known(text, at));
    let unknown: Vec<&String> = unknown.map(|(text, _)| text).collect();
    assert!(unknown.is_empty(), "{what}: {unknown:?}");
}

#[test]
fn every_button_number_and_graph_has_a_name_and_a_value() {
    for panel in COLUMN_PANELS.map(|panel| panel.panel) {
        let mut fixture = Fixture::new(vec2(1920.0, 1080.0));
        fixture.fill();
        fixture.lab.state = JobState::Done;
        fixture.sound = sound(80, false);
        fixture.correction = (panel == Panel::Correction).then_some(video::color::Correction::NEUTRAL);
        fixture.readings = Some(stats::Readings::reference((2, 1), &[10, 10, 10, 0, 200, 200, 200, 0]));
        fixture.open(panel);
        check(panel.name(), &fixture);
    }
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        check("the window", &fixture);
        fixture.set(|f| f.overlay.switches.keys = true);
        check("the table of keys", &fixture);
    }
    check("the talk", &super::talk::talk(SIZES[0]));
}

#[test]
fn a_screen_reader_reads_values_and_presses_buttons() {
    let mut fixture = Fixture::new(SIZES[0]);
    for (name, value) in [
        ("Filter time", "8.45 ms, filter alone, 118 fps"),
        ("Frame rate", "25 fps"),
        ("CPU load", "CPU 60 %"),
        ("naive", "845 ms"),
        ("Filter alone", "naive r=7 845 ms, flat r=7 8.45 ms"),
        ("Position", "0:01.0 / 0:10.0"),
        ("flat vs. naive", "100\u{d7} faster"),
    ] {
        let found = fixture.harness.query_all_by_label(name).find_map(|node| node.value());
        assert_eq!(found.as_deref(), Some(value), "{name}");
    }
    fixture.harness.get_by_label("fused").click_accesskit();
    assert_eq!(fixture.pass(vec![]), [Action::SetVariant(named("fused"))]);
}
