//! Tests of folding the panels, and of the column in which they stand.

use super::machine::searched;
use super::*;
use box_filter::named;
use ladder::tune::Status;

#[test]
fn panels_fold_by_themselves_in_a_small_window_and_by_click() {
    let line = "flat r=7 \u{b7} 8.45 ms \u{b7} 25 fps \u{b7} CPU 60 %";
    let mut fixture = Fixture::new(SIZES[1]);
    assert!(fixture.find(line).is_some() && fixture.find("filter alone").is_none());
    // Nothing is remembered that the user did not choose.
    assert_eq!(fixture.overlay.saved_state().folded, FoldStates::default());
    fixture.press("Unfold headline");
    assert_eq!(fixture.overlay.saved_state().folded[Panel::Numbers as usize], Some(false));
    assert!(fixture.find(line).is_none() && fixture.find("filter alone").is_some(), "{:?}", fixture.texts);

    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find(line).is_none() && fixture.find("filter alone").is_some());
    for title in ["Filter alone", "flat vs. naive", "headline"] {
        fixture.click(&format!("Fold {title}"));
    }
    fixture.pass(vec![]);
    let folded = [Panel::Numbers, Panel::Graph, Panel::Ladder]
        .map(|p| fixture.overlay.saved_state().folded[p as usize]);
    assert_eq!(folded, [Some(true); 3]);
    fixture.assert_shows(&[line, "Filter alone"]);
    assert!(fixture.find("flat vs. naive").is_some() && fixture.find("separable").is_none());
    assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
}

/// Checks that the panel of stages shows remarks and notes about the movie. Remarks are also shown in a banner; notes are not.
#[test]
fn remarks_and_notes_about_the_movie_stand_in_the_stages() {
    let (remark, note) = ("wide gamut (BT.2020)", "2 packets are marked as damaged");
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.movie.remarks = vec![remark.to_owned()];
    fixture.movie.note = Some(note.to_owned());
    fixture.turn(Panel::Stages, true);
    fixture.assert_shows(&[remark, note]);
    fixture.set(|f| f.movie.note = None);
    assert!(fixture.find(note).is_none() && fixture.find(remark).is_some());
}

/// Returns egui's identifier of the area that a panel covers.
fn cover_of(panel: Panel) -> egui::Id {
    let name = if panel == Panel::Numbers { "headline" } else { panel.name() };
    crate::panel::cover_id(name)
}

impl Fixture<'_> {
    /// Opens a panel if `on` is true, otherwise closes it.
    fn turn(&mut self, panel: Panel, on: bool) {
        match panel {
            Panel::Correction => self.correction = on.then_some(video::color::Correction::NEUTRAL),
            panel => self.change(|s| s.open[panel as usize] = on),
        }
        self.pass(vec![]);
    }

    /// Returns the names of the drawn panels and of the strip, and the visible parts of their rectangles.
    fn panels(&self) -> Vec<(&'static str, Rect)> {
        let part = |id| self.harness.ctx.read_response(id).map(|shown| shown.interact_rect);
        let strip = part(crate::panel::cover_id("strip"));
        let of = |panel: &Panel| Some((panel.name(), part(cover_of(*panel))?));
        let all = Panel::ALL.iter().filter_map(of).chain(strip.map(|strip| ("strip", strip)));
        all.filter(|(_, rect)| rect.is_positive()).collect()
    }

    /// Asserts that no panel, banner or message overlaps another or leaves the window. `what` names the case.
    fn check_panels(&self, what: &str) {
        let (panels, window) = (self.panels(), self.window());
        let said = self.texts.iter().filter(|(text, _)| SAID.contains(&text.as_str()));
        let said: Vec<(&str, Rect)> = said.map(|(text, at)| (text.as_str(), *at)).collect();
        for (n, (name, rect)) in panels.iter().chain(&said).enumerate() {
            assert!(window.contains_rect(*rect), "{what}: {name} at {rect} in {window}");
            for (other, at) in panels.iter().chain(&said).take(n) {
                let shared = rect.intersect(*at);
                let apart = shared.width() < 0.5 || shared.height() < 0.5;
                assert!(apart, "{what} in {window}: {name} at {rect}, {other} at {at}");
            }
        }
    }
}

/// The texts of the banners and of the message that the fixture shows.
const SAID: [&str; 4] = ["First.", "The reason.", "Second.", "A message."];

#[test]
fn nothing_lies_over_anything_else_whichever_panels_are_open() {
    let sizes = [vec2(640.0, 360.0), vec2(960.0, 540.0), vec2(1280.0, 720.0), vec2(1920.0, 1080.0)];
    // The window of a large screen is laid out in the points of a smaller one.
    let sizes = sizes.map(|size: Vec2| size / crate::zoom(size.x, size.y));
    let panels = COLUMN_PANELS.map(|panel| panel.panel);
    for size in sizes.into_iter().chain([vec2(1920.0, 1080.0), vec2(480.0, 800.0)]) {
        let mut fixture = Fixture::new(size);
        fixture.fill();
        fixture.turn(Panel::Scene, false);
        fixture.change(|s| s.folded[Panel::Scene as usize] = Some(false));
        for (n, one) in panels.iter().enumerate() {
            for (m, other) in panels.iter().enumerate().take(n) {
                let (first, second) = if (n + m) % 2 == 0 { (one, other) } else { (other, one) };
                fixture.turn(*first, true);
                fixture.turn(*second, true);
                fixture.pass(vec![]);
                let what = format!("{} and {}", first.name(), second.name());
                fixture.check_panels(&what);
                // The newest panel is shown unfolded, and its title is visible.
                let newest = fixture.panels().into_iter().find(|(name, _)| *name == second.name());
                let (_, newest) = newest.unwrap_or_else(|| panic!("{what} in {size}"));
                assert!(newest.height() > 2.0 * crate::panel::HEADER_HEIGHT, "{what} in {size}: {newest}");
                fixture.overlay.show_message("A message.".to_owned());
                fixture.pass(vec![]);
                assert!(fixture.find("A message.").is_some(), "{what} in {size}");
                fixture.check_panels(&what);
                let before = fixture.panels();
                // The message disappears.
                fixture.wait(5.0);
                assert_eq!(fixture.panels(), before, "{what} in {size}: a message moves nothing");
                fixture.set(|f| f.notices = vec![notice("First.", true), notice("Second.", false)]);
                assert!(fixture.find("First.").is_some(), "{what} in {size}");
                fixture.check_panels(&what);
                fixture.notices.clear();
                fixture.turn(*first, false);
                fixture.turn(*second, false);
            }
        }
        // All panels, one after the other.
        for panel in &panels {
            fixture.turn(*panel, true);
            fixture.pass(vec![]);
            fixture.check_panels(&format!("up to {}", panel.name()));
        }
    }
}

#[test]
fn a_panel_that_is_opened_or_unfolded_is_scrolled_to() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        for panel in [Panel::Stages, Panel::Scopes, Panel::Timeline, Panel::Kernels] {
            fixture.turn(panel, true);
        }
        fixture.settle();
        let column = fixture.panels().into_iter().find(|(name, _)| *name == "kernels").unwrap().1;
        let scroll = |fixture: &mut Fixture| {
            (0..40).for_each(|_| fixture.scroll(column.left_top() + vec2(40.0, 10.0), -100.0));
        };
        scroll(&mut fixture);
        assert!(fixture.find("Sharing").is_some() && fixture.find("Kernels").is_none(), "{size}");
        // A panel that is opened is at the top, where it is visible.
        fixture.passes(40);
        fixture.turn(Panel::Tuning, true);
        fixture.settle();
        let title = fixture.find("Tuning").unwrap_or_else(|| panic!("{size}: {:?}", fixture.texts));
        assert!(title.top() < column.top() + 26.0 && fixture.find("Tune now").is_some(), "{title} in {size}");
        if size != SIZES[0] {
            continue;
        }
        // A panel that is unfolded stays where it is, and is scrolled into view.
        scroll(&mut fixture);
        fixture.passes(40);
        fixture.click("Fold Stages");
        scroll(&mut fixture);
        fixture.passes(40);
        assert!(fixture.find("frame").is_none(), "it is folded");
        fixture.press("Unfold Stages");
        assert!(fixture.find("Stages").is_some() && fixture.find("Stage, ms").is_some(), "{size}");
        assert!(fixture.find("Tuning").is_none(), "the panels above it are still there");
    }
}

#[test]
fn the_buttons_of_a_search_keep_their_places_whatever_it_says() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.turn(Panel::Tuning, true);
    let mut places = Vec::new();
    let searched = || searched(Status::Abandoned(9.0));
    let states = [
        (Tuning::default(), "Tune now"),
        (Tuning { state: JobState::Waiting(Wait::Plays), trials: Vec::new(), ..searched() }, "Stop"),
        (searched(), "Stop"),
        (Tuning { state: JobState::Waiting(Wait::Late), ..searched() }, "Stop"),
        (Tuning { state: JobState::Failed("It failed, and why. ".repeat(12)), ..searched() }, "Tune now"),
        (Tuning { state: JobState::Done, ..searched() }, "Tune now"),
    ];
    for (tuning, button) in states {
        fixture.set(|f| f.tuning = tuning);
        let center = fixture.find(button).unwrap_or_else(|| panic!("{button}: {:?}", fixture.texts)).center();
        places.push(center);
    }
    assert!(places.iter().all(|at| (*at - places[0]).length() < 1.0), "{places:?}");
}

#[test]
fn the_column_is_resized_by_its_edge_and_moved_by_the_menu() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.turn(Panel::Stages, true);
    fixture.turn(Panel::Kernels, true);
    let column =
        |fixture: &Fixture| fixture.panels().into_iter().find(|(name, _)| *name == "kernels").unwrap().1;
    let at_first = column(&fixture);
    assert!(at_first.right() > 1260.0 && (460.0..480.0).contains(&at_first.width()), "{at_first}");
    let drag_edge = |fixture: &mut Fixture, from: f32, by: f32| {
        let at = pos2(from, at_first.center().y);
        fixture.drag(at, at + vec2(by, 0.0));
        fixture.settle();
    };
    drag_edge(&mut fixture, at_first.left(), -200.0);
    let wide = column(&fixture);
    assert!((wide.width() - at_first.width() - 200.0).abs() < 2.0, "{wide}");
    fixture.check_panels("a wide column");
    let saved = fixture.overlay.saved_state().column.width.unwrap();
    assert!((saved - 676.0).abs() < 2.0, "{saved}");
    // A smaller window narrows the column, and a larger one restores its width; so does the next start.
    fixture.set(|f| f.size = vec2(700.0, 600.0));
    assert!(column(&fixture).left() > 64.0);
    fixture.check_panels("a narrow window");
    fixture.set(|f| f.size = SIZES[0]);
    assert_eq!(column(&fixture).min, wide.min);
    let saved = fixture.overlay.saved_state();
    let mut next = Fixture::new(SIZES[0]);
    next.overlay.restore(saved);
    next.settle();
    assert_eq!(column(&next).left(), wide.left());
    // A drag far outside ends where some room is left for the picture.
    drag_edge(&mut fixture, wide.left(), -5000.0);
    assert!(column(&fixture).left() > 64.0, "{}", column(&fixture));
    // The column is at the left, where its edge is dragged to the right.
    assert_eq!(fixture.choose("Dock to the left"), [Action::MoveColumn]);
    fixture.change(|s| s.column = crate::column::ColumnState::default());
    fixture.overlay.move_column();
    fixture.settle();
    let left = column(&fixture);
    assert!(left.left() < 10.0 && (left.width() - at_first.width()).abs() < 1.0, "{left}");
    fixture.check_panels("at the left");
    assert!(fixture.overlay.saved_state().column.left);
    // The scroll bar stands between the panels and the edge.
    drag_edge(&mut fixture, left.right() + 6.0, 150.0);
    assert!((column(&fixture).width() - left.width() - 150.0).abs() < 8.0, "{}", column(&fixture));
    // A button resets all changes of the column, and closes the panels, also one that an event shows.
    fixture.overlay.panels.show_tuning();
    fixture.set(|f| f.overlay.switches.keys ^= true);
    assert_eq!(fixture.click("Reset panels"), [Action::ResetPanels]);
    fixture.overlay.switches.keys ^= true;
    fixture.overlay.reset_panels();
    fixture.settle();
    assert_eq!(fixture.overlay.panels.order, []);
    fixture.turn(Panel::Stages, true);
    fixture.turn(Panel::Kernels, true);
    assert_eq!(column(&fixture), at_first);
}

#[test]
fn the_title_of_a_panel_is_its_name_in_the_menu() {
    for panel in COLUMN_PANELS {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.has_scene = true;
        fixture.correction = Some(video::color::Correction::NEUTRAL);
        fixture.open(panel.panel);
        fixture.settle();
        let name = panel.menu.0;
        let is_named = |(text, _): &(String, Rect)| text == name || text.starts_with(&format!("{name}: "));
        assert!(fixture.texts.iter().any(is_named), "{name}: {:?}", fixture.texts);
    }
}

#[test]
fn open_panels_leave_two_fifths_of_the_window_for_the_picture() {
    let sizes = [vec2(900.0, 611.0), vec2(1280.0, 720.0), vec2(1920.0, 1080.0), vec2(1080.0, 1920.0)];
    for size in sizes.map(|size: Vec2| size / crate::zoom(size.x, size.y)) {
        for panel in COLUMN_PANELS.map(|panel| panel.panel) {
            let mut fixture = Fixture::new(size);
            fixture.fill();
            fixture.change(|s| s.folded[Panel::Scene as usize] = Some(false));
            fixture.turn(panel, true);
            fixture.settle();
            let mut parts: Vec<Rect> = fixture.panels().into_iter().map(|(_, rect)| rect).collect();
            parts.dedup();
            let covered: f32 = parts.iter().map(|rect| rect.area()).sum();
            let left = 1.0 - covered / (size.x * size.y);
            // The least width of the widest panels takes precedence in the smallest window.
            let least = if size.x < 1000.0 { 0.36 } else { 0.4 };
            assert!(left >= least, "{} in {size}: {left}", panel.name());
        }
    }
}

#[test]
fn every_variant_is_chosen_and_has_its_time_beside_any_panel_at_every_size() {
    for (size, scale) in super::places::windows() {
        for panel in COLUMN_PANELS.map(|panel| panel.panel) {
            let at = format!("with {} in {size}", panel.name());
            let mut fixture = super::places::state((size, scale), panel.name(), &[panel], 99.0);
            let strip = fixture.cover("strip").rect;
            for id in VariantId::all().filter(|id| *id != VariantId::OFF) {
                let cell = {
                    let mut cells = fixture.harness.query_all_by_label(id.name).map(|node| node.rect());
                    cells.find(|cell| strip.contains_rect(*cell))
                };
                let cell = cell.unwrap_or_else(|| panic!("no {id} {at}"));
                let is_inside = |(text, place): &(String, Rect), part| {
                    text.contains(part) && cell.contains(place.center())
                };
                let has = |part| fixture.texts.iter().any(|text| is_inside(text, part));
                assert!(has(id.name), "{id} {at}");
                assert!(size.x < 1000.0 || has(" ms"), "{id} {at}: {:?}", fixture.texts);
                assert_eq!(fixture.click_at(cell.center()), [Action::SetVariant(id)], "{id} {at}");
            }
        }
    }
    // A very wide window has room for the ladder, too.
    let mut fixture = Fixture::new(vec2(2560.0, 720.0));
    fixture.turn(Panel::Stages, true);
    fixture.settle();
    fixture.assert_shows(&["flat vs. naive", "Stage, ms"]);
    assert_eq!(fixture.click("fused"), [Action::SetVariant(named("fused"))]);
}

#[test]
fn panels_give_way_before_the_controls() {
    for size in [vec2(320.0, 240.0), vec2(320.0, 180.0), vec2(400.0, 200.0)] {
        let mut fixture = Fixture::new(size);
        fixture.turn(Panel::Kernels, true);
        fixture.settle();
        assert_eq!(fixture.click("Pause"), [Action::TogglePause], "{size}");
        assert_eq!(fixture.click("fused"), [Action::SetVariant(named("fused"))], "{size}");
        assert!(fixture.button("Panels").is_some(), "{size}");
        fixture.check_panels("a very small window");
    }
}

#[test]
fn the_column_is_wide_enough_for_its_panels_whatever_width_is_kept() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.fill();
    fixture.change(|s| s.column.width = Some(1.0));
    for panel in COLUMN_PANELS.iter().filter(|panel| panel.panel != Panel::Scene) {
        fixture.turn(panel.panel, true);
        fixture.settle();
        let shown = fixture.panels().into_iter().find(|(name, _)| *name == panel.panel.name()).unwrap().1;
        assert!(shown.width() >= panel.width, "{shown}");
        fixture.turn(panel.panel, false);
    }
    assert_eq!(fixture.overlay.saved_state().column.width, Some(1.0), "what the user chose is kept");
}

#[test]
fn cells_replace_the_ladder_beside_panels_and_the_graph_goes_with_the_stages() {
    for cells in [false, true] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.turn(Panel::Stages, cells);
        fixture.settle();
        assert_eq!(fixture.find("flat vs. naive").is_none(), cells, "{:?}", fixture.texts);
        assert_eq!(fixture.click("fused"), [Action::SetVariant(named("fused"))]);
    }

    for size in [SIZES[0], vec2(1600.0, 900.0)] {
        let mut fixture = Fixture::new(size);
        assert!(fixture.find("Filter alone").is_some() && fixture.find("Stage, ms").is_none());
        assert_eq!(fixture.click("stages"), [Action::Toggle(Panel::Stages)]);
        assert_eq!(fixture.choose("Stages"), [Action::Toggle(Panel::Stages)]);
        fixture.open(Panel::Stages);
        fixture.assert_shows(&["Frame time by stage, ms", "Stage, ms"]);
        assert_eq!(fixture.click("Close Stages"), [Action::Toggle(Panel::Stages)]);
        // Patterns are drawn on request.
        assert!(!fixture.overlay.saved_state().hatched);
        fixture.press("patterns");
        assert!(fixture.overlay.saved_state().hatched && fixture.find("plain").is_some());
    }
}

#[test]
fn all_keys_can_be_seen_at_every_size() {
    for size in SIZES {
        for visible in [true, false] {
            let mut fixture = Fixture::new(size);
            fixture.change(|s| s.visible = visible);
            fixture.set(|f| f.overlay.switches.keys ^= true);
            let mut shown: Vec<&str> = Vec::new();
            // The wheel scrolls to the part without room.
            for _ in 0..20 {
                let inside =
                    |text: &str| fixture.find(text).is_some_and(|at| fixture.window().contains_rect(at));
                let news = BINDINGS.iter().map(|key| key.effect.as_str()).filter(|does| inside(does));
                shown.extend(news);
                fixture.scroll((size / 2.0).to_pos2(), -40.0);
            }
            for key in BINDINGS.iter() {
                assert!(shown.contains(&key.effect.as_str()), "{} at {size}", key.effect);
            }
            assert_eq!(fixture.click("Close the table of keys"), [Action::ToggleKeys]);
        }
    }
}

#[test]
fn a_window_without_drops_says_so_in_the_table_of_keys_and_beside_the_path() {
    for size in SIZES {
        for lacks_drops in [false, true] {
            let mut fixture = Fixture::new(size);
            fixture.overlay.lacks_drops = lacks_drops;
            fixture.overlay.path_prompt.open(PathPurpose::Movie);
            fixture.pass(vec![]);
            assert_eq!(fixture.shows("dropped"), lacks_drops, "{size}");
            fixture.overlay.path_prompt.close();
            fixture.set(|f| f.overlay.switches.keys ^= true);
            if size == SIZES[0] {
                assert_eq!(fixture.find("not on Wayland: o opens a file").is_some(), lacks_drops);
            }
        }
    }
}

#[test]
fn a_path_can_be_typed_and_the_keys_stay_in_the_field() {
    let key = |key| super::key(key, true);
    let text = |text: &str| Event::Text(text.to_owned());
    for size in SIZES {
        for visible in [true, false] {
            let mut fixture = Fixture::new(size);
            fixture.change(|s| s.visible = visible);
            fixture.overlay.path_prompt.open(PathPurpose::Movie);
            assert!(fixture.overlay.path_prompt.is_open());
            let complete = |path: &str| Action::Complete(path.to_owned());
            assert_eq!(fixture.pass(vec![key(egui::Key::O), text("/")]), [complete("/")]);
            let actions = fixture.pass(vec![key(egui::Key::Space), text("q o.mkv")]);
            assert_eq!(actions, [complete("/q o.mkv")]);
            // A click beside the field does not take its focus.
            fixture.click_at(pos2(size.x / 2.0, 20.0));
            fixture.pass(vec![key(egui::Key::Tab)]);
            fixture.assert_shows(&["/q o.mkv"]);
            let actions = fixture.pass(vec![key(egui::Key::Enter)]);
            assert_eq!(actions, [Action::Open("/q o.mkv".to_owned())], "at {size}");
            assert!(!fixture.overlay.path_prompt.is_open());

            // The field is opened again: typing replaces the old text; Esc and the button close the field.
            fixture.overlay.path_prompt.open(PathPurpose::Movie);
            fixture.pass(vec![]);
            fixture.assert_shows(&["/q o.mkv"]);
            fixture.pass(vec![text("new")]);
            assert!(fixture.find("new").is_some() && fixture.find("/q o.mkv").is_none());
            assert_eq!(fixture.pass(vec![key(egui::Key::Escape)]), []);
            assert!(!fixture.overlay.path_prompt.is_open());
            fixture.overlay.path_prompt.open(PathPurpose::Movie);
            fixture.settle();
            assert_eq!(fixture.click("Open"), [Action::Open("new".to_owned())]);
            fixture.overlay.path_prompt.open(PathPurpose::Movie);
            fixture.pass(vec![]);
            fixture.pass(vec![text("  ")]);
            assert_eq!(fixture.pass(vec![key(egui::Key::Enter)]), [], "no path");
            fixture.pass(vec![]);
            assert!(fixture.find("Cancel").is_none());
        }
    }
}
