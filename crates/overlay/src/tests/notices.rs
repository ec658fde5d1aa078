//! Tests of notices, messages and the progress of a slow frame.

use super::*;
use box_filter::named;

#[test]
fn a_hidden_overlay_shows_serious_notices_only() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("A trifle.", false), notice("A calamity.", true)];
    fixture.pass(vec![]);
    assert!(fixture.find("A trifle.").is_some() && fixture.find("A calamity.").is_some());
    fixture.change(|s| s.visible = false);
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    assert!(fixture.find("A trifle.").is_none());
    assert!(fixture.find("Hide").is_none() && fixture.find("0:01.0 / 0:10.0").is_none());
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
        assert_eq!(fixture.click("running-sum"), [Action::SetVariant(named("running-sum"))], "{size}");
    }
}

#[test]
fn while_another_picture_is_awaited_no_number_is_of_the_one_before() {
    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find("8.45").is_some() && fixture.find("25 fps").is_some());
    fixture.chosen = named("running-sum");
    fixture.busy = Some(busy(named("running-sum"), 31, 0.84, None));
    fixture.pass(vec![]);
    let headline = |fixture: &Fixture| -> Vec<String> {
        let left = |rect: &Rect| rect.right() < 400.0 && rect.bottom() < 200.0;
        fixture.texts.iter().filter(|(_, rect)| left(rect)).map(|(text, _)| text.clone()).collect()
    };
    let texts = headline(&fixture);
    for text in ["running-sum", "r = 31 \u{b7} 1280 \u{d7} 720", "0.8", "s", "\u{2013} fps", "CPU 60 %"] {
        assert!(texts.iter().any(|t| t == text), "'{text}' is missing: {texts:?}");
    }
    for text in ["8.45", "25 fps", "flat", "118 fps", "ms"] {
        assert!(texts.iter().all(|t| t != text), "'{text}': {texts:?}");
    }
    // The elapsed time counts up, with the estimate as soon as there is one, which is never shorter than the elapsed time.
    fixture.busy = Some(busy(named("running-sum"), 31, 3.0, Some(12.2)));
    fixture.pass(vec![]);
    assert!(fixture.find("3.0").is_some() && fixture.find("of about 12 s").is_some());
    assert!(fixture.find("34 % of this frame, 3.0 of about 12 s").is_some(), "{:?}", fixture.texts);
    fixture.busy = Some(busy(named("running-sum"), 31, 14.0, Some(12.2)));
    fixture.pass(vec![]);
    assert!(fixture.find("of about 14 s").is_some());
    // In the line of statistics, too.
    fixture.size = SIZES[1];
    fixture.pass(vec![]);
    let line = "running-sum r=31 \u{b7} 14.0 of about 14 s \u{b7} CPU 60 %";
    assert!(fixture.find(line).is_some(), "{:?}", fixture.texts);
}

#[test]
fn the_next_picture_of_the_same_filter_leaves_the_numbers_and_shows_its_progress() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.busy = Some(busy(named("flat"), 7, 0.84, Some(1.2)));
    fixture.pass(vec![]);
    assert!(fixture.find("8.45").is_some() && fixture.find("one frame: 8.45 of 40 ms").is_some());
    fixture.busy = Some(busy(named("flat"), 7, 0.84, Some(12.0)));
    fixture.pass(vec![]);
    assert!(
        fixture.find("8.45").is_some() && fixture.find("34 % of this frame, 0.8 of about 12 s").is_some()
    );
}

#[test]
fn a_message_is_shown_for_a_while() {
    for visible in [true, false] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.visible = visible);
        fixture.overlay.show_message("Saved a.png".into());
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
    let hint = "Press ? for all keys";
    for key in [false, true] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.hint_seen = false);
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
        assert!(fixture.find(hint).is_none() && fixture.overlay.saved_state().hint_seen);
    }
}

#[test]
fn the_first_run_hint_waits_for_the_news() {
    let mut fixture = Fixture::new(SIZES[1]);
    fixture.change(|s| s.hint_seen = false);
    fixture.notices = vec![notice("A calamity.", true)];
    fixture.pass(vec![]);
    fixture.time += 60.0;
    fixture.pass(vec![]);
    assert!(fixture.find("Press ? for all keys").is_none() && !fixture.overlay.saved_state().hint_seen);
    fixture.notices.clear();
    fixture.pass(vec![]);
    assert!(fixture.find("Press ? for all keys").is_some());
}

#[test]
fn why_frames_are_copied_is_told_in_full_under_the_pointer() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.change(|s| s.open[Panel::Stages as usize] = true);
    fixture.size = vec2(1280.0, 900.0);
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    let line = fixture.find("copy: no device").unwrap();
    fixture.pass(vec![Event::PointerMoved(line.center())]);
    for _ in 0..3 {
        fixture.time += 1.0;
        fixture.pass(vec![]);
    }
    assert!(fixture.texts.iter().any(|(text, _)| text.contains("Reason: no device.")), "{:?}", fixture.texts);
}

#[test]
fn the_graphs_name_what_changed_and_the_table_has_every_stage() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.push(named("naive"), 7, 845.0, 40);
    fixture.push(named("flat"), 7, 8.45, 40);
    fixture.pass(vec![]);
    // The filter alone, with the median of each segment.
    for text in ["naive r=7 845 ms", "flat r=7 8.45 ms", "1,000", "100", "1 ms"] {
        assert!(fixture.find(text).is_some(), "'{text}' is missing: {:?}", fixture.texts);
    }
    fixture.change(|s| s.open[Panel::Stages as usize] = true);
    fixture.pass(vec![]);
    fixture.pass(vec![]);
    for text in ["naive r=7", "flat r=7", "budget 40.00", "idle", "frame", "p95", "max"] {
        assert!(fixture.find(text).is_some(), "'{text}' is missing: {:?}", fixture.texts);
    }
    // Stages that are always zero on this path share a line.
    let zero = "0: take, upload, acquire, convert, correct, reduce, levels, release, wipe, difference, present, overlay, swap, collect";
    assert!(fixture.find("filter").is_some() && fixture.find("swap").is_none());
    assert!(fixture.find(zero).is_some(), "{:?}", fixture.texts);
    let mut sample = fixture.recorder.history().back().unwrap().clone();
    (sample.presented_at, sample.stages) = (sample.presented_at + 0.04, [1.0; Stage::ALL.len()]);
    fixture.recorder.push(sample);
    fixture.time += 1.0;
    fixture.pass(vec![]);
    for stage in Stage::ALL {
        assert!(fixture.find(stage.name()).is_some(), "{}", stage.name());
    }
    assert!(!fixture.shows("0: "));
}

#[test]
fn a_notice_lies_over_every_panel_and_can_be_dismissed() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.correction = Some(video::color::Correction::NEUTRAL);
        fixture.overlay.panels.toggle(Panel::Tuning);
        fixture.overlay.panels.toggle(Panel::Devices);
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
