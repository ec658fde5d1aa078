//! Tests of notices, messages and the progress of a slow frame.

use super::*;
use box_filter::named;

#[test]
fn a_hidden_overlay_shows_serious_notices_only_and_a_build_log_can_be_copied() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.set(|f| f.notices = vec![notice("A trifle.", false), notice("A calamity.", true)]);
    fixture.assert_shows(&["A trifle.", "A calamity."]);
    fixture.change(|s| s.visible = false);
    assert!(fixture.find("A trifle.").is_none());
    assert!(fixture.find("Hide").is_none() && fixture.find("0:01.0 / 0:10.0").is_none());
    let dismissed = fixture.click("Dismiss: A calamity.");
    assert_eq!(dismissed, [Action::DismissNotice(1)], "its place in the list, not on the screen");
    fixture.set(|f| f.notices.clear());
    assert!(fixture.texts.is_empty(), "{:?}", fixture.texts);

    let mut fixture = Fixture::new(SIZES[0]);
    let log = "The compiler says:\nx.cl:2:1: error: no\n  2 | nonsense\n  ^\n1 error generated.";
    let error = Error::new("It does not build.", log, "Correct it.");
    fixture.notices = vec![Notice { error: error.clone(), serious: true }];
    fixture.settle();
    fixture.assert_shows(&[log]);
    assert_eq!(fixture.click("Copy"), []);
    assert_eq!(fixture.copied, Some(error.to_string()));
}

#[test]
fn notices_lie_over_panels_and_leave_the_controls_alone() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        let log = "kernel.cl:1:2: error: something is wrong here\n".repeat(200);
        fixture.notices = (0..5).map(|_| notice(&log, true)).collect();
        fixture.notices.push(Notice { error: Error::new("Build failed.", log, "Hint."), serious: true });
        fixture.settle();
        assert_eq!(fixture.click("running-sum"), [Action::SetVariant(named("running-sum"))], "{size}");

        let mut fixture = Fixture::new(size);
        fixture.correction = Some(video::color::Correction::NEUTRAL);
        fixture.overlay.panels.toggle(Panel::Tuning);
        fixture.set(|f| f.overlay.panels.toggle(Panel::Devices));
        fixture.set(|f| f.notices = vec![notice("A calamity.", true)]);
        assert_eq!(fixture.click("Dismiss: A calamity."), [Action::DismissNotice(0)], "{size}");
    }
}

#[test]
fn an_awaited_picture_has_its_progress_and_no_numbers_of_another_filter() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.assert_shows(&["8.45", "25 fps"]);
    fixture.chosen = named("running-sum");
    fixture.set(|f| f.busy = Some(busy(named("running-sum"), 31, 0.84, None)));
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
    fixture.set(|f| f.busy = Some(busy(named("running-sum"), 31, 3.0, Some(12.2))));
    fixture.assert_shows(&["3.0", "of about 12 s", "34 % of this frame, 3.0 of about 12 s"]);
    fixture.set(|f| f.busy = Some(busy(named("running-sum"), 31, 14.0, Some(12.2))));
    fixture.assert_shows(&["of about 14 s"]);
    // In the line of statistics, too.
    fixture.set(|f| f.size = SIZES[1]);
    fixture.assert_shows(&["running-sum r=31 \u{b7} 14.0 of about 14 s \u{b7} CPU 60 %"]);
    // A time before the kernels are built is no time of a frame.
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.device = Some(machine::device_info(0, "First"));
    let compiling = Busy { awaits_build: true, fraction: 0.0, ..busy(named("running-sum"), 7, 5.3, None) };
    fixture.set(|f| f.busy = Some(compiling));
    fixture.assert_shows(&["5.3", "compiling", "compiling, 5.3 s"]);
    assert!(!fixture.shows("of this frame") && !fixture.shows("estimate"), "{:?}", fixture.texts);
    fixture.set(|f| f.size = SIZES[1]);
    fixture.assert_shows(&["running-sum r=7 \u{b7} compiling, 5.3 s \u{b7} CPU 60 %"]);

    let mut fixture = Fixture::new(SIZES[0]);
    fixture.set(|f| f.busy = Some(busy(named("flat"), 7, 0.84, Some(1.2))));
    fixture.assert_shows(&["8.45", "one frame: 8.45 of 40 ms"]);
    fixture.set(|f| f.busy = Some(busy(named("flat"), 7, 0.84, Some(12.0))));
    fixture.assert_shows(&["8.45", "34 % of this frame, 0.8 of about 12 s"]);
}

#[test]
fn a_message_is_shown_for_a_while() {
    for visible in [true, false] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.change(|s| s.visible = visible);
        fixture.overlay.show_message("Saved a.png".into());
        fixture.pass(vec![]);
        fixture.assert_shows(&["Saved a.png"]);
        fixture.wait(5.5);
        fixture.assert_shows(&["Saved a.png"]);
        fixture.wait(1.0);
        assert!(fixture.find("Saved a.png").is_none());
        // A longer one stays longer.
        let long = format!("Saved {}", "/a long path".repeat(9));
        fixture.overlay.show_message(long.clone());
        fixture.pass(vec![]);
        fixture.wait(10.0);
        fixture.assert_shows(&[&long]);
    }
}

#[test]
fn a_long_message_breaks_between_words_and_keeps_its_end() {
    let path =
        "Saved the statistics to '/home/lecturer/Videos/measurements of a long day/clreel-2026.stats.json'.";
    let panels = [None, Some(Panel::Stages), Some(Panel::Kernels)];
    for ((size, scale), panel) in super::places::windows().flat_map(|at| panels.map(|panel| (at, panel))) {
        let mut fixture = Fixture::new(size);
        fixture.scale = scale;
        panel.into_iter().for_each(|panel| fixture.open(panel));
        fixture.overlay.show_message(path.to_owned());
        fixture.settle();
        fixture.assert_inside(&[path]);
        fixture.assert_wraps(path);
        // So does a notice, with its reason and its hint, to which the wheel scrolls in a low window.
        let reason =
            "No space is left on the device, or on the quota that the administrator has set for this user.";
        let hint =
            "Free some space, or choose another disk for the files that are saved while the movie plays.";
        fixture.wait(20.0);
        fixture.set(|f| f.notices = vec![Notice { error: Error::new(path, reason, hint), serious: true }]);
        let button = fixture.button(&format!("Dismiss: {path}")).unwrap_or_else(|| panic!("{size}")).center();
        // Over a panel, the wheel scrolls the panel.
        let is_over = panel.is_some() && size.y < 240.0;
        let texts = [path, reason, hint];
        for text in &texts[..if is_over { 1 } else { 3 }] {
            for _ in 0..20 {
                if fixture.find(text).is_none() {
                    fixture.scroll(button, -10.0);
                    fixture.passes(5);
                }
            }
            fixture.assert_wraps(text);
        }
    }
}

impl Fixture<'_> {
    /// Asserts that the lines of this text are whole, and break only between words or parts of a path.
    #[track_caller]
    fn assert_wraps(&self, text: &str) {
        let mut rows = Vec::new();
        crate::texts::visit(&self.harness.output().shapes, &mut |shape, clip| match shape {
            egui::Shape::Text(shape) if shape.galley.text() == text => {
                let at = shape.galley.rect.translate(shape.pos.to_vec2());
                let is_cut = at.left() < clip.left() - 1.0 || at.right() > clip.right() + 1.0;
                assert!(
                    !is_cut && !shape.galley.elided,
                    "'{text}' at {at} is cut by {clip} in {}",
                    self.size
                );
                rows = shape.galley.rows.iter().map(|row| row.text()).collect();
            }
            _ => {}
        });
        let (last, others) = rows.split_last().unwrap_or_else(|| panic!("no '{text}' in {}", self.size));
        let is_between = |row: &String| row.ends_with([' ', '/', '-']);
        assert!(text.ends_with(last.as_str()) && others.iter().all(is_between), "{}: {rows:?}", self.size);
    }
}

#[test]
fn a_sentence_says_what_the_program_is_until_the_first_key_and_waits_for_the_news() {
    let hint = crate::keys::HINT;
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.change(|s| s.hint_seen = false);
    for _ in 0..3 {
        fixture.wait(60.0);
        fixture.assert_shows(&[hint]);
    }
    fixture.pass(vec![super::key(Key::A, true)]);
    assert!(fixture.find(hint).is_none() && fixture.overlay.saved_state().hint_seen);

    let mut fixture = Fixture::new(SIZES[1]);
    fixture.notices = vec![notice("A calamity.", true)];
    fixture.change(|s| s.hint_seen = false);
    fixture.wait(60.0);
    assert!(fixture.find(hint).is_none() && !fixture.overlay.saved_state().hint_seen);
    fixture.set(|f| f.notices.clear());
    fixture.assert_shows(&[hint]);
}

#[test]
fn why_frames_are_copied_is_told_in_full_under_the_pointer() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.open(Panel::Stages);
    fixture.set(|f| f.size = vec2(1280.0, 900.0));
    let line = fixture.find("copy: no device").unwrap();
    fixture.hover(line.center());
    fixture.assert_contains(&["Reason: no device."]);
}

#[test]
fn the_graphs_name_what_changed_and_the_table_has_every_stage() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.push(named("naive"), 7, 845.0, 40);
    fixture.present(named("flat"), 7, 8.45, 40);
    // The filter alone, with the median of each segment.
    fixture.assert_shows(&["naive r=7 845 ms", "flat r=7 8.45 ms", "1,000", "100", "1 ms"]);
    fixture.open(Panel::Stages);
    fixture.assert_shows(&["naive r=7", "flat r=7", "budget 40.00", "idle", "frame", "p95", "max"]);
    // Stages that are always zero on this path share a line.
    let zero = "took no time: take, upload, acquire, convert, correct, stack, reduce, levels, release, wipe, difference, present, overlay, swap, collect";
    assert!(fixture.find("filter").is_some() && fixture.find("swap").is_none());
    fixture.assert_shows(&[zero]);
    fixture.push_like(1, |_, sample| sample.stages.times = [1.0; Stage::ALL.len()]);
    fixture.wait(1.0);
    for stage in Stage::ALL {
        assert!(fixture.find(stage.name()).is_some(), "{}", stage.name());
    }
    assert!(!fixture.shows("took no time: "));
    // The legend of the graph has all of them, the filter first, in as many rows as the graph's width needs.
    for size in [SIZES[0], vec2(1920.0, 720.0)] {
        fixture.set(|f| f.size = size);
        let graph = fixture.cover("graph").rect;
        let legend: Vec<Rect> = theme::STACK
            .iter()
            .map(|stage| stage.name())
            .chain(["idle"])
            .map(|name| fixture.texts.iter().find(|(text, at)| text == name && graph.contains_rect(*at)))
            .map(|found| found.unwrap_or_else(|| panic!("{size}: {:?}", fixture.texts)).1)
            .collect();
        let follows = |pair: &[Rect]| pair[1].left() > pair[0].right() || pair[1].top() >= pair[0].bottom();
        assert!(legend.windows(2).all(follows), "{legend:?} at {size}");
    }
}
