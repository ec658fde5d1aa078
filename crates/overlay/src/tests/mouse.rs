//! Tests of the mouse on the picture and on a wipe, and of the wheel.

use box_filter::named;
use egui::{MouseWheelUnit, Rangef, TouchPhase};

use super::*;
use crate::describe;
use stats::{Difference, Request, SecondSetting};

pub(super) fn wheel(unit: MouseWheelUnit, y: f32) -> Event {
    let (delta, phase, source) = (vec2(0.0, y), TouchPhase::Move, egui::MouseWheelSource::Unknown);
    Event::MouseWheel { unit, delta, phase, source, modifiers: Modifiers::NONE }
}

/// Clicks the right mouse button at `pos`, and returns the actions.
fn right_click(fixture: &mut Fixture, pos: Pos2) -> Vec<Action> {
    let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
    let event = |pressed| Event::PointerButton { pos, button, pressed, modifiers };
    let mut actions = fixture.pass(vec![Event::PointerMoved(pos)]);
    actions.extend(fixture.pass(vec![event(true)]));
    actions.extend(fixture.pass(vec![event(false)]));
    actions
}

#[test]
fn clicks_on_the_picture_fill_the_screen_and_pause() {
    for (size, visible) in SIZES.into_iter().flat_map(|size| [(size, true), (size, false)]) {
        let mut fixture = Fixture::new(size);
        fixture.change(|s| s.visible = visible);
        let picture = pos2(size.x * 0.5, size.y * 0.35);
        assert_eq!(fixture.click_at(picture), [], "one click does nothing at {size}");
        assert_eq!(fixture.click_at(picture), [Action::ToggleFullscreen], "{size}, visible: {visible}");
        assert_eq!(right_click(&mut fixture, picture), [Action::TogglePause], "{size}, visible: {visible}");
    }
    // A click on a part of the overlay does not reach the picture.
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("Something.", true)];
    fixture.open(Panel::Stages);
    // A click on a panel's title folds the panel.
    for text in ["clip.mp4", "filter alone", "Something.", "The hint.", "frame"] {
        let at = fixture.find(text).unwrap_or_else(|| panic!("{text} in {:?}", fixture.texts));
        fixture.click_at(at.center());
        assert_eq!(fixture.click_at(at.center()), [], "{text}");
        assert_eq!(right_click(&mut fixture, at.center()), [], "{text}");
    }
}

/// Returns an overlay with a wipe of two filters, which both have measured times.
pub(super) fn wiped(size: Vec2) -> Fixture<'static> {
    let mut fixture = Fixture::new(size);
    let sides = [(named("flat"), 7), (named("native"), 3)].map(|(id, radius)| Request::new(id, radius));
    fixture.wipe = Some(Wipe { sides, by_wall: [false, true], difference: None });
    let beside = SecondSetting { variant: named("native"), settings: 3.into(), compared: false };
    fixture.push_like(39, |_, sample| {
        sample.beside_filter_ms = Some(2.0 * sample.stages.filter_ms());
        sample.setting.beside = Some(beside);
    });
    fixture.wait(10.0);
    fixture
}

#[test]
fn the_mouse_drags_the_line_of_a_wipe_in_a_band_around_it() {
    for (size, visible) in SIZES.into_iter().flat_map(|size| [(size, true), (size, false)]) {
        let mut fixture = wiped(size);
        fixture.change(|s| s.visible = visible);
        let y = size.y * 0.45;
        let at = |fixture: &Fixture| fixture.overlay.wipe_line.position * size.x;
        let drag = |fixture: &mut Fixture, from: f32, to: f32| fixture.drag(pos2(from, y), pos2(to, y));
        assert_eq!(at(&fixture), size.x / 2.0);
        // The line's handle is where the picture is divided.
        let handle = |fixture: &Fixture| {
            let is_it = |rect: &Rect| rect.size() == vec2(8.0, 34.0);
            let found = fixture.rects.iter().map(|(rect, _)| *rect).find(is_it);
            found.unwrap_or_else(|| panic!("{:?}", fixture.rects)).center().x
        };
        assert_eq!(handle(&fixture), at(&fixture), "{size}");
        // Outside the band, the picture is dragged.
        assert!(!drag(&mut fixture, size.x * 0.55, size.x * 0.6).is_empty(), "{size}");
        assert_eq!(at(&fixture), size.x / 2.0, "{size}");
        assert_eq!(drag(&mut fixture, size.x / 2.0 + 10.0, size.x * 0.62), [], "{size} {visible}");
        assert!((at(&fixture) - size.x * 0.62).abs() < 1.0, "{size}: {}", at(&fixture));
        assert!((handle(&fixture) - at(&fixture)).abs() < 0.01, "{size}: {}", handle(&fixture));
        for (x, right) in [(0.61, false), (0.63, true)] {
            fixture.pass(vec![Event::PointerMoved(pos2(size.x * x, y))]);
            assert_eq!(fixture.overlay.wipe_line.pointer_is_right, right, "{size} {x}");
            // Even before the line is drawn again.
            fixture.overlay.wipe_line.set_pointer(pos2(size.x * (1.24 - x), y));
            assert_eq!(fixture.overlay.wipe_line.pointer_is_right, !right, "{size} {x}");
        }
        // A double click counts for the picture everywhere else, and a right click pauses in the band, too.
        let (line, beside) = (pos2(size.x * 0.62, y), pos2(size.x * 0.55, y));
        fixture.click_at(line);
        assert_eq!(fixture.click_at(line), [], "{size}");
        assert_eq!(right_click(&mut fixture, line), [Action::TogglePause], "{size}");
        fixture.time += 10.0;
        fixture.click_at(beside);
        assert_eq!(fixture.click_at(beside), [Action::ToggleFullscreen], "{size}");
        drag(&mut fixture, size.x * 0.62, size.x + 500.0);
        assert!(at(&fixture) < size.x, "it stays inside: {}", at(&fixture));
    }
}

#[test]
fn the_labels_of_a_wipe_can_be_read_wherever_the_line_is_and_beside_a_panel() {
    for (size, visible) in SIZES.into_iter().flat_map(|size| [(size, true), (size, false)]) {
        let mut fixture = wiped(size);
        fixture.change(|s| s.visible = visible);
        let y = size.y * 0.45;
        let mut from = size.x / 2.0;
        for to in [0.0, 0.1, 0.3, 0.7, 0.9, 1.0].map(|part| part * size.x) {
            fixture.drag(pos2(from, y), pos2(to, y));
            from = fixture.overlay.wipe_line.position * size.x;
            fixture.pass(vec![]);
            let find = |part: &str| {
                // A label that has no room for one line has several.
                let mut texts = fixture.texts.iter().map(|(text, rect)| (text.replace('\n', "   "), *rect));
                let found = texts.find(|(text, _)| text.starts_with(part));
                found.unwrap_or_else(|| panic!("{size} {to}: {part} in {:?}", fixture.texts))
            };
            let (left, right) = (find("flat r=7   p50 "), find("native r=3   p50 "));
            let ends = [(&left, "2.00\u{d7} faster"), (&right, "wall time   2.00\u{d7} slower")];
            for ((text, rect), end) in ends {
                assert!(text.ends_with(end), "{text}");
                assert!(fixture.window().contains_rect(*rect), "{text} at {rect} in {size}");
            }
            assert!(left.1.right() < from && from < right.1.left(), "{left:?} {from} {right:?} in {size}");
        }
        let difference = |largest| Difference { pixels: 100, differing: 3, largest };
        fixture.wipe.as_mut().unwrap().difference = Some(difference(Some((9, (5, 6)))));
        fixture.pass(vec![]);
        assert!(fixture.shows("3 of 100 pixels differ, by at most 9 levels, first so at (5, 6)"), "{size}");
        fixture.wipe.as_mut().unwrap().difference = Some(difference(None));
        fixture.pass(vec![]);
        assert!(fixture.shows("identical: 100 pixels compared"), "{size}");
    }

    let mut fixture = wiped(SIZES[0]);
    fixture.open(Panel::Kernels);
    for compared in [false, true] {
        let difference = Difference { pixels: 100, differing: 0, largest: None };
        fixture.wipe.as_mut().unwrap().difference = compared.then_some(difference);
        fixture.settle();
        let labels = ["flat r=7", "native r=3", "identical: "];
        for label in &labels[..if compared { 3 } else { 2 }] {
            let at = fixture.texts.iter().position(|(text, _)| text.starts_with(label)).unwrap();
            let (rect, later) = (fixture.texts[at].1, &fixture.texts[at + 1..]);
            let over = later.iter().find(|(_, other)| other.intersects(rect));
            assert_eq!(over, None, "over {label} at {rect}");
            let line = fixture.overlay.wipe_line.position * SIZES[0].x;
            assert!(
                compared || (rect.right() < line) == (*label == "flat r=7"),
                "{label} at {rect}, line {line}"
            );
        }
    }
}

#[test]
fn the_line_of_a_wipe_goes_below_the_overlay_and_its_labels_keep_their_sides() {
    for talks in [false, true] {
        let mut fixture = wiped(SIZES[0]);
        if talks {
            super::talk::begin(&mut fixture);
        }
        let mut reached = Rangef::NOTHING;
        // To the right until the mouse meets the end of the line's way, and back.
        for step in (-60..=60).chain((-60..60).rev()) {
            let to = 640.0 + step as f32 * 10.0;
            fixture.set(|f| f.overlay.wipe_line.put(to / SIZES[0].x));
            let x = fixture.overlay.wipe_line.position * SIZES[0].x;
            reached = Rangef::new(reached.min.min(x), reached.max.max(x));
            let parts = describe::parts(&fixture.harness.ctx);
            for (name, is_left) in [("Left side", true), ("Right side", false)] {
                let label = fixture.harness.get_by_label(name).rect();
                assert_eq!(is_left, label.center().x < x, "{name} at {label}, line {x}");
                assert!(label.right() < x || label.left() > x, "{name} at {label} on the line {x}");
                let over = parts.iter().find(|(part, _)| part.intersects(label));
                assert_eq!(over, None, "over {name} at {label}, line {x}");
            }
        }
        if !talks {
            fixture.set(|f| f.overlay.wipe_line.put(0.5));
            let top = fixture.harness.get_by_label("Left side").rect().top();
            assert!(top < 40.0, "the labels stand at the top where there is room: {top}");
            assert!(reached.min <= 140.0 && reached.max >= 1140.0, "{reached:?}");
        }
    }
}

#[test]
fn the_wheel_changes_what_it_is_over() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        let radius = fixture.find("+").unwrap().center();
        let rail = fixture.button("Position").unwrap().center();
        let mut turn = |at: Pos2, unit, y| {
            fixture.pass(vec![Event::PointerMoved(at)]);
            fixture.pass(vec![wheel(unit, y)])
        };
        let line = MouseWheelUnit::Line;
        assert_eq!(turn(radius, line, 1.0), [Action::SetSettings(8.into())], "{size}");
        assert_eq!(turn(radius, line, -2.0), [Action::SetSettings(5.into())], "{size}");
        assert_eq!(turn(radius, line, -20.0), [Action::SetSettings(0.into())], "{size}");
        assert_eq!(turn(rail, line, 1.0), [Action::Seek { to_s: 6.0, exact: true }], "{size}");
        assert_eq!(turn(rail, line, -1.0), [Action::Seek { to_s: 0.0, exact: true }], "{size}");
        // A touch pad moves by points, many times a second.
        assert_eq!(turn(radius, MouseWheelUnit::Point, 30.0), [], "{size}");
        assert_eq!(turn(radius, MouseWheelUnit::Point, 15.0), [Action::SetSettings(8.into())], "{size}");
        assert_eq!(turn(pos2(size.x * 0.5, size.y * 0.35), line, 1.0), [], "{size}");
    }
}

#[test]
fn a_path_is_completed_where_it_still_stands() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.path_prompt.open(PathPurpose::Movie);
    assert_eq!(fixture.pass(vec![]), [Action::Complete(String::new())], "the files of the current folder");
    assert_eq!(fixture.pass(vec![Event::Text("/tm".into())]), [Action::Complete("/tm".into())]);
    let tab = |pressed| key(Key::Tab, pressed);
    assert_eq!(fixture.pass(vec![tab(true)]), [Action::Complete("/tm".into())]);
    fixture.pass(vec![tab(false)]);
    let complete = |fixture: &mut Fixture, typed: &str, text: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let folder = typed.rfind('/').map_or("", |slash| &typed[..=slash]);
        fixture.overlay.path_prompt.complete(typed, text.into(), folder.into(), names);
    };
    complete(&mut fixture, "/t", "/toolate", &[]);
    fixture.pass(vec![]);
    fixture.assert_shows(&["/tm"]);
    complete(&mut fixture, "/tm", "/tmp/", &["tmp/"]);
    fixture.pass(vec![]);
    fixture.assert_shows(&["/tmp/"]);
    // Further text is appended to the completion.
    fixture.pass(vec![Event::Text("m".into())]);
    // Without Tab, files are only listed: folders and movies.
    let names = ["movie1.mkv", "movie2.MP4", "moved.txt", "movies/"];
    complete(&mut fixture, "/tmp/m", "/tmp/mov", &names);
    fixture.pass(vec![]);
    fixture.assert_shows(&["/tmp/m", "movie1.mkv", "movie2.MP4", "movies/"]);
    assert!(fixture.find("moved.txt").is_none());
    fixture.pass(vec![tab(true)]);
    fixture.pass(vec![tab(false)]);
    complete(&mut fixture, "/tmp/m", "/tmp/mov", &names);
    fixture.pass(vec![]);
    fixture.assert_shows(&["/tmp/mov"]);
    fixture.pass(vec![Event::Text("ie1".into())]);
    // A text that changes without listed names, such as `~`, was completed; an unchanged text was not.
    for (text, is_completed) in [("/tmp/movie1/", true), ("/tmp/movie1/", false)] {
        let typed = if is_completed { "/tmp/movie1" } else { text };
        fixture.pass(vec![tab(true)]);
        fixture.pass(vec![tab(false)]);
        complete(&mut fixture, typed, text, &[]);
        fixture.pass(vec![]);
        fixture.assert_shows(&[text]);
        assert_eq!(fixture.find("No matching file").is_none(), is_completed);
    }
}

#[test]
fn files_are_chosen_from_the_list_by_keys_and_mouse() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.overlay.path_prompt.recent = vec!["/old/one.mkv".into()];
        let press = |fixture: &mut Fixture, of: Key| {
            [true, false].map(|pressed| fixture.pass(vec![key(of, pressed)])).concat()
        };
        fixture.overlay.path_prompt.open(PathPurpose::Movie);
        fixture.pass(vec![]);
        let names =
            || vec!["a.mkv".to_owned(), "b/".to_owned(), "notes.txt".to_owned(), "run.json".to_owned()];
        fixture.overlay.path_prompt.complete("", String::new(), String::new(), names());
        fixture.settle();
        fixture.assert_inside(&["/old/one.mkv", "../", "b/", "a.mkv", "Open", "Cancel"]);
        assert!(fixture.find("notes.txt").is_none() && fixture.find("run.json").is_none(), "{size}");
        // A folder is entered, and only then a file is chosen.
        (0..4).for_each(|_| drop(press(&mut fixture, Key::ArrowDown)));
        press(&mut fixture, Key::ArrowUp);
        assert_eq!(press(&mut fixture, Key::Enter), [Action::Complete("b/".into())], "{size}");
        fixture.overlay.path_prompt.complete("b/", "b/c.mp4".into(), "b/".into(), vec!["c.mp4".into()]);
        fixture.settle();
        assert!(fixture.find("/old/one.mkv").is_none(), "recent files are no part of a folder");
        assert_eq!(fixture.click("c.mp4"), [Action::Open("b/c.mp4".into())], "{size}");
        assert!(!fixture.overlay.path_prompt.is_open());
        fixture.overlay.path_prompt.open(PathPurpose::Movie);
        fixture.settle();
        press(&mut fixture, Key::ArrowDown);
        assert_eq!(press(&mut fixture, Key::Enter), [Action::Open("/old/one.mkv".into())], "{size}");
        // Saved runs have a list of their own.
        fixture.overlay.path_prompt.open(PathPurpose::Run);
        fixture.pass(vec![]);
        fixture.overlay.path_prompt.complete("", String::new(), String::new(), names());
        fixture.settle();
        assert!(fixture.find("a.mkv").is_none() && fixture.find("/old/one.mkv").is_none());
        fixture.click("../");
        fixture.assert_shows(&["../"]);
        fixture.overlay.path_prompt.close();
        fixture.overlay.path_prompt.open(PathPurpose::Run);
        fixture.settle();
        fixture.overlay.path_prompt.complete("../", "../".into(), "../".into(), names());
        fixture.settle();
        assert_eq!(fixture.click("run.json"), [Action::OpenRun("../run.json".into())], "{size}");
        // A comparison is ended by the first line only.
        fixture.saved_columns = super::scoreboard::compared(size).saved_columns.clone();
        fixture.overlay.path_prompt.open(PathPurpose::Run);
        fixture.settle();
        press(&mut fixture, Key::ArrowDown);
        assert_eq!(press(&mut fixture, Key::Enter), [Action::EndComparison], "{size}");
        assert!(!fixture.overlay.path_prompt.is_open());
    }
}

#[test]
fn the_only_file_that_is_left_is_opened_and_the_bundled_clip_is_a_recent_one() {
    let mut fixture = Fixture::new(SIZES[0]);
    let enter = |fixture: &mut Fixture| {
        [true, false].map(|pressed| fixture.pass(vec![key(Key::Enter, pressed)])).concat()
    };
    let list = |fixture: &mut Fixture, typed: &str, names: &[&str]| {
        fixture.pass(vec![Event::Text(typed.into())]);
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        fixture.overlay.path_prompt.complete(typed, typed.into(), "/a/".into(), names);
    };
    fixture.overlay.path_prompt.open(PathPurpose::Movie);
    fixture.pass(vec![]);
    list(&mut fixture, "/a/m.", &["m.mp4", "m.png"]);
    assert_eq!(enter(&mut fixture), [Action::Open("/a/m.mp4".into())]);
    // Of several, none is meant.
    fixture.overlay.path_prompt.open(PathPurpose::Movie);
    fixture.pass(vec![]);
    list(&mut fixture, "/a/n", &["n1.mp4", "n2.mp4"]);
    assert_eq!(enter(&mut fixture), [Action::Open("/a/n".into())]);

    fixture.overlay.path_prompt.clip = Some("/share/clip.mp4".into());
    fixture.overlay.path_prompt.recent = vec!["/old/one.mkv".into()];
    fixture.overlay.path_prompt.open(PathPurpose::Movie);
    fixture.settle();
    fixture.assert_shows(&["Recent", "/old/one.mkv", "Folder /a/"]);
    assert_eq!(fixture.click("The bundled clip"), [Action::Open("/share/clip.mp4".into())]);
}

#[test]
fn chapters_are_told_at_the_seek_bar_and_the_place_in_a_list_by_the_name() {
    let mut fixture = Fixture::new(SIZES[0]);
    let chapter = |start_s, title: &str| video::Chapter { start_s, title: title.into() };
    let chapters = vec![chapter(0.0, "Begin"), chapter(4.0, ""), chapter(8.0, "The end")];
    fixture.set(|f| f.movie.chapters = chapters);
    let rail = fixture.button("Position").unwrap();
    // A stroke at the start of each segment except the first one.
    let is_stroke = |(rect, color): &&(Rect, Color32)| {
        *color == theme::TEXT && rect.width() == 1.0 && rail.intersects(*rect)
    };
    let strokes = fixture.rects.iter().filter(is_stroke);
    let strokes: Vec<f32> = strokes.map(|(at, _)| (at.center().x - rail.left()) / rail.width()).collect();
    assert_eq!(strokes.len(), 2);
    assert!((strokes[0] - 0.4).abs() < 0.05 && (strokes[1] - 0.8).abs() < 0.05, "{strokes:?}");
    for (part, told) in [(0.2, "Begin"), (0.9, "The end")] {
        let at = pos2(rail.left() + part * rail.width(), rail.center().y);
        fixture.pass(vec![Event::PointerMoved(at)]);
        fixture.pass(vec![]);
        assert!(fixture.shows(told), "{told}: {:?}", fixture.texts);
    }
    fixture.pass(vec![Event::PointerMoved(rail.center())]);
    fixture.pass(vec![]);
    assert!(!fixture.shows("Begin") && !fixture.shows("The end"));
    fixture.set(|f| f.movie.in_list = Some((2, 3)));
    fixture.assert_shows(&["2/3 \u{b7} clip.mp4"]);
}
