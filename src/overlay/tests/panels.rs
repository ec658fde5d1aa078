//! Panels that fold, are moved, and lie over the others.

use super::machine::{Machine, searched};
use super::*;
use crate::ladder::judge::Status;

#[test]
fn panels_fold_by_themselves_in_a_small_window_and_by_click() {
    let line = "flat r=7 \u{b7} 8.45 ms \u{b7} 25 fps \u{b7} CPU 60 %";
    let mut fixture = Fixture::new(SIZES[1]);
    assert!(fixture.find(line).is_some() && fixture.find("the filter alone").is_none());
    assert_eq!(
        fixture.overlay.folded,
        Folds::default(),
        "nothing is remembered that the user did not choose"
    );
    // The triangles stand left of the texts.
    let mark = |fixture: &Fixture, text: &str| fixture.find(text).unwrap().left_center() - vec2(11.0, 0.0);
    fixture.click_at(mark(&fixture, line));
    fixture.pass(vec![]);
    assert_eq!(fixture.overlay.folded[Panel::Numbers as usize], Some(false));
    assert!(
        fixture.find(line).is_none() && fixture.find("the filter alone").is_some(),
        "{:?}",
        fixture.texts
    );

    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find(line).is_none() && fixture.find("the filter alone").is_some());
    for title in ["Filter alone", "naive \u{2192} flat", "clip.mp4"] {
        fixture.click_at(mark(&fixture, title));
    }
    fixture.pass(vec![]);
    let folded = [Panel::Numbers, Panel::Graph, Panel::Ladder].map(|p| fixture.overlay.folded[p as usize]);
    assert_eq!(folded, [Some(true); 3]);
    assert!(fixture.find(line).is_some() && fixture.find("Filter alone").is_some());
    assert!(fixture.find("naive \u{2192} flat").is_some() && fixture.find("separable").is_none());
    assert_eq!(fixture.click_pause(), [Action::TogglePause]);
}

#[test]
fn panels_that_are_open_lie_beside_each_other() {
    let machine = Machine::new();
    let rows = machine.rows();
    for size in [vec2(1280.0, 720.0), vec2(1280.0, 800.0), vec2(1600.0, 900.0), vec2(1920.0, 1080.0)] {
        let mut fixture = Fixture::new(size);
        fixture.devices = DeviceList { rows: Some(&rows), left_out: &machine.left_out, awaited: false };
        fixture.tuning = searched(Status::Abandoned(9.0));
        fixture.tuning.state = TuningState::Done;
        fixture.correction = Some(crate::color::Correction::NEUTRAL);
        fixture.overlay.open[Panel::Stages as usize] = true;
        fixture.overlay.open[Panel::Timeline as usize] = true;
        fixture.overlay.open[Panel::Devices as usize] = true;
        fixture.overlay.open[Panel::Tuning as usize] = true;
        for _ in 0..3 {
            fixture.pass(vec![]);
        }
        let names =
            ["headline", "ladder", "graph", "strip", "stages", "correction", "timeline", "devices", "tuning"];
        let covers = names.map(|name| {
            let cover = fixture.ctx.read_response(crate::overlay::panel::cover_id(name));
            cover.unwrap_or_else(|| panic!("{name} at {size}")).rect
        });
        for (n, one) in covers.iter().enumerate() {
            for (m, other) in covers.iter().enumerate().take(n) {
                let shared = one.intersect(*other);
                assert!(
                    shared.width() < 1.0 || shared.height() < 1.0,
                    "{} at {one} and {} at {other} in {size}",
                    names[n],
                    names[m]
                );
            }
        }
    }
}

#[test]
fn news_cover_no_button_of_a_search() {
    let mut fixture = Fixture::new(vec2(1280.0, 720.0));
    fixture.tuning = searched(Status::Abandoned(9.0));
    fixture.tuning.state = TuningState::Done;
    fixture.overlay.open[Panel::Tuning as usize] = true;
    fixture.notices = vec![notice("First.", true), notice("Second.", false)];
    for _ in 0..3 {
        fixture.pass(vec![]);
    }
    let panel = fixture.ctx.read_response(crate::overlay::panel::cover_id("tuning")).unwrap().rect;
    for what in ["First.", "Second."] {
        let at = fixture.find(what).unwrap_or_else(|| panic!("{what}"));
        assert!(at.top() > panel.bottom(), "{what} at {at} and the search at {panel}");
    }
}

#[test]
fn panels_are_moved_by_their_titles_and_stay_in_the_window() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.correction = Some(crate::color::Correction::NEUTRAL);
    fixture.overlay.open[Panel::Stages as usize] = true;
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    let graph = "Frame time by stage, ms";
    let titles = ["clip.mp4", graph, "Colour correction", "naive \u{2192} flat", "Stages"];
    let docked = titles.map(|t| fixture.find(t).unwrap());
    let ways =
        [vec2(500.0, 4.0), vec2(40.0, -300.0), vec2(-300.0, -200.0), vec2(-250.0, 40.0), vec2(90.0, 20.0)];
    for (title, way) in titles.into_iter().zip(ways) {
        let from = fixture.find(title).unwrap();
        fixture.drag(title, way);
        let to = fixture.find(title).unwrap();
        assert!((to.min - from.min - way).length() < 1.0, "{title}: from {from} to {to}");
    }
    let moved = [Panel::Numbers, Panel::Graph, Panel::Correction, Panel::Ladder, Panel::Stages];
    assert!(moved.iter().all(|p| fixture.overlay.places[*p as usize].is_some()));
    // Nothing else was clicked on the way.
    assert_eq!(fixture.overlay.folded, Folds::default());

    // A smaller window keeps them inside, and a larger one gives them back their places.
    let before = titles.map(|t| fixture.find(t).unwrap());
    for size in [vec2(700.0, 600.0), vec2(640.0, 360.0), vec2(300.0, 200.0)] {
        fixture.size = size;
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        let window = Rect::from_min_size(Pos2::ZERO, size);
        for (text, rect) in &fixture.texts {
            assert!(window.expand(1.0).contains(rect.left_top()), "'{text}' at {rect} in {size}");
        }
    }
    fixture.size = SIZES[0];
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    assert_eq!(titles.map(|t| fixture.find(t).unwrap()), before);

    // Far outside ends at the edge.
    fixture.drag("Colour correction", vec2(5000.0, 5000.0));
    let edge = fixture.find("Colour correction").unwrap();
    assert!(edge.left() > docked[2].left() && edge.right() < 1280.0, "{edge}");

    // Two clicks put one back, a button all of them.
    let at = fixture.find("clip.mp4").unwrap().center();
    fixture.click_at(at);
    fixture.click_at(at);
    fixture.pass(vec![]);
    assert_eq!(fixture.find("clip.mp4"), Some(docked[0]));
    fixture.overlay.keys_open = true;
    fixture.pass(vec![]);
    assert_eq!(fixture.click("Reset panels"), [Action::ResetPanels]);
    fixture.overlay.keys_open = false;
    fixture.overlay.reset_panels();
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    assert_eq!(titles.map(|t| fixture.find(t).unwrap()), docked);
}

#[test]
fn the_stages_open_by_click_and_the_graph_goes_with_them() {
    for size in [SIZES[0], vec2(960.0, 540.0)] {
        let mut fixture = Fixture::new(size);
        assert!(fixture.find("Filter alone").is_some() && fixture.find("Stage, ms").is_none());
        assert_eq!(fixture.click("stages"), [Action::Toggle(Panel::Stages)]);
        assert_eq!(fixture.click("Stages"), [Action::Toggle(Panel::Stages)]);
        fixture.overlay.open[Panel::Stages as usize] = true;
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        assert!(fixture.find("Frame time by stage, ms").is_some() && fixture.find("Stage, ms").is_some());
        assert_eq!(fixture.click("\u{d7}"), [Action::Toggle(Panel::Stages)]);
        // Patterns on demand.
        assert!(!fixture.overlay.hatched);
        fixture.click("patterns");
        fixture.pass(vec![]);
        assert!(fixture.overlay.hatched && fixture.find("greys").is_some());
    }
}

#[test]
fn all_keys_are_shown_at_every_size() {
    for size in SIZES {
        for visible in [true, false] {
            let mut fixture = Fixture::new(size);
            fixture.overlay.visible = visible;
            fixture.overlay.keys_open = true;
            fixture.pass(vec![]);
            let window = Rect::from_min_size(Pos2::ZERO, size);
            for key in KEYS.iter() {
                let place = fixture.find(&key.does).unwrap_or_else(|| panic!("{} at {size}", key.does));
                assert!(window.contains_rect(place), "{} at {size}: {place}", key.does);
            }
            assert_eq!(fixture.click("\u{d7}"), [Action::ToggleKeys]);
        }
    }
}

#[test]
fn a_path_can_be_typed_and_the_keys_stay_in_the_field() {
    let key = |key| Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    let text = |text: &str| Event::Text(text.to_owned());
    for size in SIZES {
        for visible in [true, false] {
            let mut fixture = Fixture::new(size);
            fixture.overlay.visible = visible;
            fixture.overlay.ask_for_path();
            assert!(fixture.overlay.takes_keys());
            // The key that opened it is not typed into it, the next one is.
            assert_eq!(fixture.pass(vec![key(egui::Key::O), text("o"), text("/")]), []);
            let actions = fixture.pass(vec![key(egui::Key::Space), text("q o.mkv")]);
            assert_eq!(actions, []);
            // A click beside it takes nothing away.
            fixture.click_at(pos2(size.x / 2.0, 20.0));
            fixture.pass(vec![key(egui::Key::Tab)]);
            let has = |fixture: &Fixture, path: &str| fixture.find(path).is_some();
            let texts: Vec<_> = fixture.texts.iter().map(|(t, _)| t).rev().take(12).collect();
            assert!(has(&fixture, "/q o.mkv"), "{texts:?}");
            let actions = fixture.pass(vec![key(egui::Key::Enter)]);
            assert_eq!(actions, [Action::Open("/q o.mkv".to_owned())], "at {size}");
            assert!(!fixture.overlay.takes_keys());

            // Again: what is typed replaces what was there; Esc and the button close it.
            fixture.overlay.ask_for_path();
            fixture.pass(vec![text("o")]);
            assert!(fixture.find("/q o.mkv").is_some());
            fixture.pass(vec![text("new")]);
            assert!(fixture.find("new").is_some() && fixture.find("/q o.mkv").is_none());
            assert_eq!(fixture.pass(vec![key(egui::Key::Escape)]), []);
            assert!(!fixture.overlay.takes_keys());
            fixture.overlay.ask_for_path();
            fixture.pass(vec![]);
            fixture.pass(vec![]);
            assert_eq!(fixture.click("Open"), [Action::Open("new".to_owned())]);
            fixture.overlay.ask_for_path();
            fixture.pass(vec![]);
            fixture.pass(vec![text("  ")]);
            assert_eq!(fixture.pass(vec![key(egui::Key::Enter)]), [], "no path");
            fixture.pass(vec![]);
            assert!(fixture.find("Cancel").is_none());
        }
    }
}
