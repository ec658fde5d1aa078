//! Tests of the controls along the bottom, and of the keys that must not reach them.

use super::*;
use box_filter::{MAX_RADIUS, named};

#[test]
fn every_variant_that_can_run_is_chosen_by_mouse_at_every_size() {
    for size in SIZES {
        for id in VariantId::all() {
            let mut fixture = Fixture::new(size);
            assert_eq!(fixture.click(id.name), [Action::SetVariant(id)], "{id} at {size}");
            assert!(fixture.find(&id.key.to_string()).is_some(), "the key of {id} at {size}");
        }
    }

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.variants[2].status = unavailable();
    assert_eq!(fixture.click("separable"), []);
}

#[test]
fn the_controls_and_the_menus_work_by_mouse_at_every_size() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        for (name, action) in [
            ("Pause", Action::TogglePause),
            ("Hide", Action::ToggleOverlay),
            ("Keys", Action::ToggleKeys),
            ("Smaller radius", Action::SetSettings(6.into())),
            ("Larger radius", Action::SetSettings(8.into())),
        ] {
            assert_eq!(fixture.click(name), [action], "{size}");
        }
        // The radius in the view stays, so the release requests the radius again.
        let actions = fixture.click("Radius");
        let middle = |a: &Action| matches!(a, Action::SetSettings(s) if (54..=74).contains(&s.first()));
        assert!(!actions.is_empty() && actions.iter().all(middle), "the middle at {size}: {actions:?}");

        for (menu, text, key, action) in [
            ("Picture", "Wipe", "w", Action::ToggleWipe),
            ("Picture", "Swap sides", "x", Action::SwapSides),
            ("Picture", "Difference", "D", Action::ToggleDifference),
            ("Picture", "Next scene", "v", Action::NextScene),
            ("Picture", "Fullscreen", "f", Action::ToggleFullscreen),
            ("Device", "Next device", "Ctrl D", Action::NextDevice),
            ("Device", "List of devices", "Ctrl D", Action::Toggle(Panel::Devices)),
            ("File", "Open", "o", Action::AskForMovie),
            ("File", "Quit", "q", Action::Quit),
            ("File", "Save frame", "s", Action::SaveFrame),
            ("File", "Save window", "S", Action::SaveWindow),
            ("File", "Save run", "Ctrl R", Action::SaveRun),
            ("File", "Export statistics", "Ctrl E", Action::ExportStats),
            ("Sound", "Mute", "m", Action::ToggleMute),
            ("Sound", "Next track", "#", Action::NextTrack),
        ] {
            let mut fixture = Fixture::new(size);
            assert_eq!(fixture.press(menu), [], "{size}");
            fixture.assert_inside(&[text]);
            assert!(fixture.find(key).is_some(), "{key} at {size}");
            assert_eq!(fixture.click(text), [action], "{text} at {size}");
        }

        for panel in COLUMN_PANELS {
            let mut fixture = Fixture::new(size);
            fixture.has_scene = true;
            assert_eq!(fixture.choose(panel.menu.0), [panel.action()], "{size}");
            // The menu is gone after that, and its lines are within the window while it is open.
            fixture.settle();
            assert!(fixture.find("Timeline").is_none(), "{size}");
            fixture.press("Panels");
            for line in COLUMN_PANELS {
                fixture.assert_inside(&[&crate::controls::line_text(line.menu.0, &line.action())]);
                line.key.iter().for_each(|(key, _)| fixture.assert_inside(&[key]));
            }
        }
    }
}

#[test]
fn an_idle_overlay_asks_for_no_repaint_and_keys_reach_the_player_and_not_a_button() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("Something.", true)];
    fixture.passes(5);
    assert!(!fixture.harness.ctx.has_requested_repaint());
    fixture.click("Pause");
    for visible in [true, false] {
        fixture.change(|s| s.visible = visible);
        for k in [egui::Key::Tab, egui::Key::Space, egui::Key::Enter, egui::Key::ArrowRight] {
            let mut actions = fixture.pass(vec![key(k, true)]);
            actions.extend(fixture.pass(vec![key(k, false)]));
            assert_eq!(actions, [], "{k:?}, visible: {visible}");
        }
    }
}

#[test]
fn the_smallest_window_on_the_finest_display_can_be_used() {
    // 640×360 pixels at a scale of 2.
    let size = vec2(320.0, 180.0);
    for id in VariantId::all() {
        let mut fixture = Fixture::new(size);
        assert_eq!(fixture.click(id.name), [Action::SetVariant(id)]);
    }
    let mut fixture = Fixture::new(size);
    assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
    assert_eq!(fixture.click("Smaller radius"), [Action::SetSettings(6.into())]);
    assert_eq!(fixture.click("Larger radius"), [Action::SetSettings(8.into())]);
    fixture.pass(vec![Event::PointerGone]);
    fixture.check_places();
    // A panel gives way to the controls, and the table of keys scrolls.
    fixture.set(|f| f.correction = Some(video::color::Correction::NEUTRAL));
    fixture.assert_shows(&["Colour correction"]);
    assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
    fixture.set(|f| f.overlay.switches.keys ^= true);
    let last = &BINDINGS[BINDINGS.len() - 1].effect;
    assert!(fixture.find(last).is_none());
    fixture.pass(vec![Event::PointerMoved(pos2(160.0, 120.0))]);
    for _ in 0..30 {
        fixture.pass(vec![super::mouse::wheel(egui::MouseWheelUnit::Point, -100.0)]);
    }
    fixture.assert_shows(&[last]);
}

#[test]
fn each_slider_is_reached_and_dragged_at_every_size() {
    let smallest = [(vec2(320.0, 240.0), 1.0), (vec2(320.0, 180.0), 2.0)];
    for (size, scale) in super::places::windows().chain(smallest) {
        let mut fixture = Fixture::new(size);
        fixture.scale = scale;
        fixture.set(|f| f.correction = Some(video::color::Correction::NEUTRAL));
        for name in ["brightness", "contrast", "saturation", "gamma"] {
            let at = fixture.reach("correction", name);
            assert!(fixture.window().contains_rect(at), "{name} at {at} in {size}");
            let panel = fixture.cover("correction").interact_rect;
            let rail = pos2(panel.left() + 20.0, at.center().y);
            let actions = fixture.click_at(rail);
            assert!(
                matches!(actions.as_slice(), [Action::SetCorrection(_), ..]),
                "{name} in {size}: {actions:?}"
            );
        }
        assert_eq!(fixture.click("Pause"), [Action::TogglePause], "{size}");
        let radius = fixture.button("Larger radius").unwrap();
        assert!(fixture.window().contains_rect(radius), "{radius} in {size}");
    }
}

impl Fixture<'_> {
    /// Asserts that no text overlaps another or leaves the window.
    pub(super) fn check_places(&self) {
        let faults = super::places::misplaced(self, |_| false);
        assert!(faults.is_empty(), "{}: {faults:?}", self.size);
    }
}

#[test]
fn texts_keep_apart_and_inside_at_every_size() {
    let device = super::scoreboard::pocl();
    let sizes =
        [(1280, 720), (960, 540), (640, 360), (480, 800), (480, 270), (427, 240), (320, 180), (1706, 720)];
    for (w, h) in sizes.into_iter().chain([(800, 600), (900, 480), (1000, 420), (1150, 700), (760, 1000)]) {
        let mut fixture = Fixture::new(vec2(w as f32, h as f32));
        fixture.device = Some(device.clone());
        for long in [false, true] {
            if long {
                fixture.movie.file_name = "a very long name of a movie, with more words than fit.mkv".into();
                fixture.movie.duration_s = Some(36_000.0);
                (fixture.paused, fixture.settings) = (true, MAX_RADIUS.into());
            }
            for variant in [named("flat"), VariantId::auto(), VariantId::OFF, named("running-sum")] {
                fixture.push(variant, MAX_RADIUS, 14_896.0, 40);
                fixture.wait(1.0);
                fixture.check_places();
            }
            let busy = busy(named("running-sum"), MAX_RADIUS, 199.9, Some(1234.0));
            fixture.set(|f| f.busy = Some(busy));
            fixture.check_places();
            fixture.busy = None;
            fixture.change(|s| s.folded = [Some(true); Panel::ALL.len()]);
            fixture.pass(vec![]);
            fixture.check_places();
            fixture.change(|s| s.folded = FoldStates::default());
        }
    }
}

#[test]
fn no_size_and_no_data_break_the_controls() {
    let sizes = [1.0, 10.0, 50.0, 100.0, 200.0, 330.0, 3000.0];
    for w in sizes {
        for h in sizes {
            let mut fixture = Fixture::new(vec2(w, h));
            fixture.notices = vec![notice("Something.", true)];
            let sample = fixture.recorder.history()[0].clone();
            fixture.recorder = Recorder::new(false);
            fixture.movie.fps = None;
            fixture.set(|f| f.movie.duration_s = None);
            let mut sample = FrameSample {
                pts: f64::NAN,
                interval_ms: None,
                gl: [None, Some(f64::NAN), Some(f64::MAX)],
                late: true,
                dropped_before: u32::MAX,
                ..sample
            };
            (sample.stages.filter_by_wall, sample.stages.pack_ms) = (true, Some(f64::INFINITY));
            sample.stages.times = [f64::NAN; Stage::ALL.len()];
            (sample.setting.variant, sample.setting.settings) = (VariantId::OFF, MAX_RADIUS.into());
            sample.setting.size = (1, 1);
            fixture.recorder.push(sample.clone());
            fixture.pass(vec![Event::PointerMoved(pos2(w / 2.0, h * 0.8))]);
            sample.stages.times = [0.0; Stage::ALL.len()];
            sample.interval_ms = Some(0.0);
            fixture.recorder.push(sample);
            fixture.pass(vec![]);
        }
    }
}

#[test]
fn a_click_is_heeded_however_long_it_takes() {
    let mut fixture = Fixture::new(SIZES[0]);
    let at = fixture.find("Hide").unwrap().center();
    fixture.pass(vec![Event::PointerMoved(at)]);
    fixture.pass(vec![button(at, true)]);
    // The window did not respond for a while, or the finger stayed down.
    fixture.time += 5.0;
    assert_eq!(fixture.pass(vec![button(at, false)]), [Action::ToggleOverlay]);
    // All events between two passes.
    let all = vec![Event::PointerMoved(at), button(at, true), button(at, false)];
    assert_eq!(fixture.pass(all), [Action::ToggleOverlay]);
}
