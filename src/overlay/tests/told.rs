//! Notices, messages and the progress of a slow frame.

use super::*;

#[test]
fn a_hidden_overlay_shows_serious_notices_only() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("A trifle.", false), notice("A calamity.", true)];
    fixture.pass(vec![]);
    assert!(fixture.find("A trifle.").is_some() && fixture.find("A calamity.").is_some());
    fixture.overlay.visible = false;
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    assert!(fixture.find("A trifle.").is_none());
    assert!(fixture.find("Pause").is_none());
    assert_eq!(
        fixture.click("\u{d7}"),
        [Action::DismissNotice(1)],
        "its place in the list, not on the screen"
    );
    fixture.notices.clear();
    fixture.pass(vec![]);
    assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);
}

#[test]
fn a_long_log_leaves_the_controls_alone() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        let log = "kernel.cl:1:2: error: something is wrong here\n".repeat(200);
        fixture.notices = (0..5).map(|_| notice(&log, true)).collect();
        fixture.notices.push(Notice { error: Error::new("Build failed.", log, "Hint."), serious: true });
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        assert_eq!(fixture.click("5running-sum"), [Action::SetVariant(VariantId::RunningSum)], "{size}");
    }
}

#[test]
fn a_slow_frame_shows_its_progress() {
    let mut fixture = Fixture::new(SIZES[0]);
    let text = "naive, r=7: 34 % of this frame, 0.8 of about 1.2 s";
    assert!(fixture.find(text).is_none());
    let busy =
        Busy { variant: VariantId::Naive, radius: 7, fraction: 0.34, elapsed_s: 0.8, predicted_s: Some(1.2) };
    fixture.busy = Some(busy.clone());
    fixture.pass(vec![]);
    assert!(fixture.find(text).is_some(), "{:?}", fixture.texts);
    fixture.busy = Some(Busy { elapsed_s: 0.01, predicted_s: Some(0.02), ..busy });
    fixture.pass(vec![]);
    assert!(!fixture.texts.iter().any(|(t, _)| t.contains("of this frame")));
}

#[test]
fn a_very_slow_frame_is_told_while_the_overlay_is_hidden() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.visible = false;
    let busy = Busy {
        variant: VariantId::Naive,
        radius: 31,
        fraction: 0.0,
        elapsed_s: 0.0,
        predicted_s: Some(12.0),
    };
    fixture.busy = Some(busy.clone());
    fixture.pass(vec![]);
    let told = |fixture: &Fixture| fixture.texts.iter().any(|(t, _)| t.starts_with("naive, r=31: 0 %"));
    assert!(told(&fixture), "{:?}", fixture.texts);
    fixture.busy = Some(Busy { predicted_s: Some(0.5), ..busy });
    fixture.pass(vec![]);
    assert!(!told(&fixture));
}

#[test]
fn a_message_is_shown_for_a_while() {
    for visible in [true, false] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.overlay.visible = visible;
        fixture.overlay.say("Saved a.png".into());
        fixture.pass(vec![]);
        assert!(fixture.find("Saved a.png").is_some());
        fixture.time += 4.0;
        fixture.pass(vec![]);
        assert!(fixture.find("Saved a.png").is_none());
    }
}

#[test]
fn a_build_log_can_be_copied() {
    let mut fixture = Fixture::new(SIZES[0]);
    let log = "The compiler says:\nx.cl:2:1: error: no\n  2 | nonsense\n  ^\n1 error generated.";
    let error = Error::new("It does not build.", log, "Correct it.");
    fixture.notices = vec![Notice { error: error.clone(), serious: true }];
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    assert!(fixture.find(log).is_some());
    assert_eq!(fixture.click("Copy"), []);
    assert_eq!(fixture.copied, Some(error.to_string()));
}

#[test]
fn the_first_run_hint_goes_with_time_or_a_key() {
    let hint = "? shows the keys";
    for key in [false, true] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.overlay.hint_seen = false;
        for _ in 0..3 {
            fixture.pass(vec![]);
            assert!(fixture.find(hint).is_some());
        }
        let mut events = vec![];
        if key {
            events.push(Event::Key {
                key: egui::Key::A,
                physical_key: None,
                pressed: true,
                repeat: false,
                modifiers: Modifiers::NONE,
            });
        } else {
            fixture.time += 10.0;
        }
        fixture.pass(events);
        assert!(fixture.find(hint).is_none() && fixture.overlay.hint_seen);
    }
}

#[test]
fn why_frames_are_copied_is_told_in_full_under_the_pointer() {
    let mut fixture = Fixture::new(SIZES[0]);
    let line = fixture.find("copy: no device").unwrap();
    fixture.pass(vec![Event::PointerMoved(line.center())]);
    for _ in 0..3 {
        fixture.time += 1.0;
        fixture.pass(vec![]);
    }
    assert!(
        fixture.texts.iter().any(|(text, _)| text.contains("Because: no device.")),
        "{:?}",
        fixture.texts
    );
}

#[test]
fn the_graph_names_what_changed_and_the_table_has_every_stage() {
    let fixture = Fixture::new(SIZES[0]);
    for text in ["naive, r=7", "flat, r=7", "budget 40.00", "idle", "frame"] {
        assert!(fixture.find(text).is_some(), "'{text}' is missing: {:?}", fixture.texts);
    }
    for stage in Stage::ALL {
        assert!(fixture.find(stage.name()).is_some(), "{}", stage.name());
    }
}

#[test]
fn a_notice_lies_over_every_panel_and_can_be_dismissed() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.correction = Some(crate::convert::Correction::NEUTRAL);
        (fixture.overlay.tuning_open, fixture.overlay.devices_open) = (true, true);
        fixture.pass(vec![]);
        fixture.notices = vec![notice("A calamity.", true)];
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        let at = fixture.find("A calamity.").unwrap();
        let close = |(text, rect): &&(String, Rect)| text == "\u{d7}" && (rect.top() - at.top()).abs() < 12.0;
        let close = fixture.texts.iter().rfind(close).unwrap().1;
        assert_eq!(fixture.click_at(close.center()), [Action::DismissNotice(0)], "{size}");
    }
}
