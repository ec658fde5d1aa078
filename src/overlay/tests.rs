//! Drives the overlay without a window: pointer events in, actions out.

use egui::{Context, Event, Modifiers, PointerButton, Pos2, RawInput, Rect, Vec2, pos2, vec2};

use super::*;
use crate::gpu::sharing::Sharing;
use crate::stats::{FrameSample, Stage};

const SIZES: [Vec2; 3] = [vec2(1280.0, 720.0), vec2(640.0, 360.0), vec2(480.0, 800.0)];

/// Everything that a [`View`] borrows.
struct Fixture<'a> {
    ctx: Context,
    overlay: Overlay,
    size: Vec2,
    recorder: Recorder,
    movie: MovieSummary,
    variants: Vec<VariantRow<'static>>,
    notices: Vec<Notice>,
    busy: Option<Busy>,
    part: (Option<f64>, Option<f64>),
    correction: Option<crate::convert::Correction>,
    devices: DeviceList<'a>,
    tuning: Tuning,
    time: f64,
    /// What the last pass painted: every text and the rectangle it covers.
    texts: Vec<(String, Rect)>,
    /// What was copied to the clipboard.
    copied: Option<String>,
}

impl<'a> Fixture<'a> {
    fn new(size: Vec2) -> Self {
        let ctx = Context::default();
        Overlay::style(&ctx);
        let mut recorder = Recorder::new(false);
        for n in 0..40u32 {
            let mut stages = [0.0; Stage::ALL.len()];
            stages[Stage::Filter as usize] = 5.0;
            let at = f64::from(n) * 0.04;
            recorder.push(FrameSample {
                pts: at,
                presented_at: at,
                interval_ms: Some(40.0),
                stages,
                late: false,
                dropped_before: 0,
                variant: if n < 20 { VariantId::Naive } else { VariantId::Flat },
                radius: 7,
            });
        }
        let row = |id| VariantRow { id, title: "Title", idea: "Idea.", status: VariantStatus::Ready };
        let mut fixture = Self {
            ctx,
            overlay: Overlay { hint_seen: true, ..Overlay::new() },
            size,
            recorder,
            movie: MovieSummary {
                file_name: "clip.mp4".into(),
                width: 1280,
                height: 720,
                fps: Some(25.0),
                codec: "h264".into(),
                fields: Fields::Progressive,
                position_s: 1.0,
                duration_s: Some(10.0),
            },
            variants: VariantId::ALL.map(row).to_vec(),
            notices: Vec::new(),
            busy: None,
            part: (None, None),
            correction: None,
            devices: DeviceList::default(),
            tuning: Tuning::NONE,
            time: 0.0,
            texts: Vec::new(),
            copied: None,
        };
        fixture.pass(vec![]);
        fixture
    }

    /// One pass over `events`.
    fn pass(&mut self, events: Vec<Event>) -> Vec<Action> {
        self.time += 0.02;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events,
            ..Default::default()
        };
        let view = View {
            recorder: &self.recorder,
            cpu: CpuReading::default(),
            movie: &self.movie,
            device: None,
            devices: self.devices,
            gl_renderer: "renderer",
            sharing: "copy",
            sharing_reason: "no device",
            variants: &self.variants,
            chosen: VariantId::Flat,
            radius: 7,
            paused: false,
            unpaced: false,
            busy: self.busy.as_ref(),
            notices: &self.notices,
            budget_ms: Some(40.0),
            correction: self.correction,
            speed: 1.0,
            repeats: "",
            target_s: None,
            part: self.part,
            catching_up: false,
            tuning: &self.tuning,
        };
        let mut actions = Vec::new();
        let overlay = &mut self.overlay;
        let output = self.ctx.run_ui(input, |ui| actions = overlay.show(ui, &view));
        for command in &output.platform_output.commands {
            if let egui::OutputCommand::CopyText(text) = command {
                self.copied = Some(text.clone());
            }
        }
        self.texts.clear();
        for shape in &output.shapes {
            collect(&shape.shape, shape.clip_rect, &mut self.texts);
        }
        output.drop_without_applying_deltas();
        actions
    }

    /// Where the text `name` stands, if it is visible; the last one painted.
    fn find(&self, name: &str) -> Option<Rect> {
        self.texts.iter().rev().find(|(text, _)| text == name).map(|(_, rect)| *rect)
    }

    /// Presses and releases the mouse on the text `name`.
    fn click(&mut self, name: &str) -> Vec<Action> {
        let at = self.find(name).unwrap_or_else(|| panic!("no text '{name}' in {:?}", self.texts)).center();
        self.click_at(at)
    }

    fn click_at(&mut self, pos: Pos2) -> Vec<Action> {
        let button = |pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let mut actions = self.pass(vec![Event::PointerMoved(pos)]);
        actions.extend(self.pass(vec![button(true)]));
        actions.extend(self.pass(vec![button(false)]));
        actions
    }
}

fn collect(shape: &egui::Shape, clip: Rect, texts: &mut Vec<(String, Rect)>) {
    match shape {
        egui::Shape::Vec(shapes) => shapes.iter().for_each(|s| collect(s, clip, texts)),
        egui::Shape::Text(text) => {
            let rect = text.galley.rect.translate(text.pos.to_vec2());
            if clip.contains(rect.center()) {
                texts.push((text.galley.text().to_owned(), rect));
            }
        }
        _ => {}
    }
}

fn notice(what: &str, serious: bool) -> Notice {
    Notice { error: Error::new(what, "The reason.", "The hint."), serious }
}

#[test]
fn every_variant_can_be_chosen_by_mouse_at_every_size() {
    for size in SIZES {
        for id in VariantId::ALL {
            let mut fixture = Fixture::new(size);
            let label = format!("{}{id}", id.key());
            assert_eq!(fixture.click(&label), [Action::SetVariant(id)], "{label} at {size}");
        }
    }
}

#[test]
fn a_variant_that_cannot_run_cannot_be_chosen() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.variants[2].status = VariantStatus::Unavailable(Error::new("It does not build.", "", ""));
    assert_eq!(fixture.click("2separable"), []);
}

#[test]
fn pause_hide_and_radius_work_by_mouse_at_every_size() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        assert_eq!(fixture.click("Pause"), [Action::TogglePause], "{size}");
        assert_eq!(fixture.click("Hide"), [Action::ToggleOverlay], "{size}");
        assert_eq!(fixture.click("?"), [Action::ToggleKeys], "{size}");
        assert_eq!(fixture.click("Quit"), [Action::Quit], "{size}");
        assert_eq!(fixture.click("-"), [Action::SetRadius(6)], "{size}");
        assert_eq!(fixture.click("+"), [Action::SetRadius(8)], "{size}");
        // The rail of the slider lies between the two. The radius in the view stays, so the release asks again.
        let (less, more) = (fixture.find("-").unwrap(), fixture.find("+").unwrap());
        let actions = fixture.click_at(less.center() + 0.5 * (more.center() - less.center()));
        let middle = |a: &Action| matches!(a, Action::SetRadius(r) if (54..=74).contains(r));
        assert!(!actions.is_empty() && actions.iter().all(middle), "the middle at {size}: {actions:?}");
    }
}

#[test]
fn keys_reach_the_player_and_not_a_button() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("Something.", true)];
    fixture.click("Pause");
    let key = |key, pressed| Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    for visible in [true, false] {
        fixture.overlay.visible = visible;
        for k in [egui::Key::Tab, egui::Key::Space, egui::Key::Enter, egui::Key::ArrowRight] {
            let mut actions = fixture.pass(vec![key(k, true)]);
            actions.extend(fixture.pass(vec![key(k, false)]));
            assert_eq!(actions, [], "{k:?}, visible: {visible}");
        }
    }
}

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
        Busy { variant: VariantId::Naive, radius: 7, fraction: 0.34, elapsed_s: 0.8, predicted_s: 1.2 };
    fixture.busy = Some(busy.clone());
    fixture.pass(vec![]);
    assert!(fixture.find(text).is_some(), "{:?}", fixture.texts);
    fixture.busy = Some(Busy { elapsed_s: 0.01, predicted_s: 0.02, ..busy });
    fixture.pass(vec![]);
    assert!(!fixture.texts.iter().any(|(t, _)| t.contains("of this frame")));
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
fn no_size_and_no_data_break_it() {
    let sizes = [1.0, 10.0, 50.0, 100.0, 200.0, 330.0, 3000.0];
    for w in sizes {
        for h in sizes {
            let mut fixture = Fixture::new(vec2(w, h));
            fixture.notices = vec![notice("Something.", true)];
            fixture.recorder = Recorder::new(false);
            fixture.movie.fps = None;
            fixture.movie.duration_s = None;
            fixture.pass(vec![]);
            let mut sample = FrameSample {
                pts: f64::NAN,
                presented_at: 0.0,
                interval_ms: None,
                stages: [f64::NAN; Stage::ALL.len()],
                late: true,
                dropped_before: u32::MAX,
                variant: VariantId::Off,
                radius: 128,
            };
            fixture.recorder.push(sample.clone());
            fixture.pass(vec![Event::PointerMoved(pos2(w / 2.0, h * 0.8))]);
            sample.stages = [0.0; Stage::ALL.len()];
            sample.interval_ms = Some(0.0);
            fixture.recorder.push(sample);
            fixture.pass(vec![]);
        }
    }
}

#[test]
fn an_idle_overlay_asks_for_no_repaint() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.notices = vec![notice("Something.", true)];
    for _ in 0..5 {
        fixture.pass(vec![]);
    }
    assert!(!fixture.ctx.has_requested_repaint());
}

#[test]
fn panels_fold_by_themselves_in_a_small_window_and_by_click() {
    let mut fixture = Fixture::new(SIZES[1]);
    assert!(fixture.find("budget 40.00").is_none() && fixture.find("Stage, ms").is_none());
    assert_eq!(fixture.overlay.folded, [None; 2], "nothing is remembered that the user did not choose");
    fixture.click("Frame time");
    fixture.click("Numbers");
    fixture.pass(vec![]);
    assert_eq!(fixture.overlay.folded, [Some(false); 2]);
    assert!(fixture.find("budget 40.00").is_some() && fixture.find("Stage, ms").is_some());

    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find("Numbers").is_none() && fixture.find("Frame time").is_none());
    // The triangles stand left of the titles.
    let title = fixture.find("Frame time by stage, ms, last 5 s").unwrap();
    fixture.click_at(title.left_center() - vec2(11.0, 0.0));
    let title = fixture.find("clip.mp4").unwrap();
    fixture.click_at(title.left_center() - vec2(11.0, 0.0));
    fixture.pass(vec![]);
    assert_eq!(fixture.overlay.folded, [Some(true); 2]);
    assert!(fixture.find("Numbers").is_some() && fixture.find("Frame time").is_some());
    assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
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
fn all_keys_are_shown_at_every_size() {
    for size in SIZES {
        for visible in [true, false] {
            let mut fixture = Fixture::new(size);
            fixture.overlay.visible = visible;
            fixture.overlay.keys_open = true;
            fixture.pass(vec![]);
            let window = Rect::from_min_size(Pos2::ZERO, size);
            for key in KEYS {
                let place = fixture.find(key.does).unwrap_or_else(|| panic!("{} at {size}", key.does));
                assert!(window.contains_rect(place), "{} at {size}: {place}", key.does);
            }
            assert_eq!(fixture.click("\u{d7}"), [Action::ToggleKeys]);
        }
    }
}

#[test]
fn a_very_slow_frame_is_told_while_the_overlay_is_hidden() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.visible = false;
    let busy =
        Busy { variant: VariantId::Naive, radius: 31, fraction: 0.0, elapsed_s: 0.0, predicted_s: 12.0 };
    fixture.busy = Some(busy.clone());
    fixture.pass(vec![]);
    let told = |fixture: &Fixture| fixture.texts.iter().any(|(t, _)| t.starts_with("naive, r=31: 0 %"));
    assert!(told(&fixture), "{:?}", fixture.texts);
    fixture.busy = Some(Busy { predicted_s: 0.5, ..busy });
    fixture.pass(vec![]);
    assert!(!told(&fixture));
}

#[test]
fn the_corner_shows_the_hidden_overlay() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.overlay.visible = false;
    let move_to = |x, y| vec![Event::PointerMoved(pos2(x, y))];
    fixture.pass(move_to(640.0, 300.0));
    fixture.pass(move_to(640.0, 710.0));
    assert!(fixture.find("Show").is_none());
    fixture.pass(move_to(30.0, 700.0));
    assert_eq!(fixture.click("Show"), [Action::ToggleOverlay]);
    fixture.time += 2.0;
    fixture.pass(vec![]);
    assert!(fixture.find("Show").is_none());
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

/// The end of the seek bar's row that has the length; the rail lies left of it.
fn rail(fixture: &Fixture) -> (Rect, Rect) {
    (fixture.find("0:01.0").unwrap(), fixture.find("0:10.0").unwrap())
}

#[test]
fn the_seek_bar_seeks_by_click_and_by_drag() {
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        let (left, right) = rail(&fixture);
        let middle = pos2((left.left() + right.right()) / 2.0, left.center().y);
        let near = |actions: &[Action], exact: bool, s: f64| {
            assert!(!actions.is_empty());
            for action in actions {
                let Action::Seek { to_s, exact: e } = action else { panic!("{action:?}") };
                assert!(*e == exact && (to_s - s).abs() < 0.1, "{action:?} at {size}, not {s}");
            }
        };
        near(&fixture.click_at(middle), true, 5.0);
        assert!(fixture.find("0:05.0").is_some(), "the time under the pointer: {:?}", fixture.texts);

        let button = |pos, pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        // A tap between two passes.
        near(&fixture.pass(vec![button(middle, true), button(middle, false)]), true, 5.0);
        near(&fixture.pass(vec![button(middle, true)]), true, 5.0);
        assert_eq!(fixture.pass(vec![]), [], "a button that is held still asks for nothing");
        // Beyond the end of the rail, and away from it.
        let beyond = right.right_center() + vec2(0.0, -40.0);
        near(&fixture.pass(vec![Event::PointerMoved(beyond)]), false, 10.0);
        near(&fixture.pass(vec![button(beyond, false)]), true, 10.0);
        assert_eq!(fixture.pass(vec![Event::PointerMoved(middle)]), []);
    }
}

#[test]
fn a_movie_of_unknown_length_says_so_at_the_seek_bar() {
    for (duration_s, words) in [
        (None, "does not say how long"),
        (Some(f64::NAN), "does not say how long"),
        (Some(-3.0), "does not say how long"),
        (Some(0.04), "one picture"),
    ] {
        let mut fixture = Fixture::new(SIZES[0]);
        let (left, right) = rail(&fixture);
        fixture.movie.duration_s = duration_s;
        let middle = pos2((left.left() + right.right()) / 2.0, left.center().y);
        assert_eq!(fixture.click_at(middle), [], "{duration_s:?}");
        let told = fixture.texts.iter().any(|(text, _)| text.contains(words));
        assert!(told, "{duration_s:?}: {:?}", fixture.texts);
    }
}

#[test]
fn the_seek_bar_shows_the_part_that_repeats() {
    let mut fixture = Fixture::new(SIZES[0]);
    assert!(fixture.find("A").is_none());
    fixture.part = (Some(2.0), None);
    fixture.pass(vec![]);
    assert!(fixture.find("A").is_some() && fixture.find("B").is_none());
    fixture.part = (Some(2.0), Some(8.0));
    fixture.pass(vec![]);
    let (a, b) = (fixture.find("A").unwrap(), fixture.find("B").unwrap());
    let (left, right) = rail(&fixture);
    let width = right.right() - left.left();
    assert!((b.left() - a.right()) / width > 0.45, "{a} {b}");
    fixture.part = (Some(f64::NAN), Some(f64::INFINITY));
    fixture.pass(vec![]);
    assert!(fixture.find("A").is_none());
}

impl Fixture<'_> {
    /// Presses on the text `name`, moves by `way` in two steps, lets go.
    fn drag(&mut self, name: &str, way: Vec2) {
        let at = self.find(name).unwrap_or_else(|| panic!("no text '{name}' in {:?}", self.texts)).center();
        let button = |pos, pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.pass(vec![Event::PointerMoved(at)]);
        self.pass(vec![button(at, true)]);
        self.pass(vec![Event::PointerMoved(at + 0.5 * way)]);
        self.pass(vec![Event::PointerMoved(at + way)]);
        self.pass(vec![button(at + way, false)]);
        self.pass(vec![]);
    }
}

#[test]
fn panels_are_moved_by_their_titles_and_stay_in_the_window() {
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.correction = Some(crate::convert::Correction::NEUTRAL);
    fixture.pass(vec![]);
    let graph = "Frame time by stage, ms, last 5 s";
    let titles = ["clip.mp4", graph, "Colour correction"];
    let docked = titles.map(|t| fixture.find(t).unwrap());
    let ways = [vec2(700.0, 4.0), vec2(40.0, -300.0), vec2(-300.0, -200.0)];
    for (title, way) in titles.into_iter().zip(ways) {
        let from = fixture.find(title).unwrap();
        fixture.drag(title, way);
        let to = fixture.find(title).unwrap();
        assert!((to.min - from.min - way).length() < 1.0, "{title}: from {from} to {to}");
    }
    assert!(fixture.overlay.places[..3].iter().all(Option::is_some));
    // Nothing else was clicked on the way.
    assert_eq!(fixture.overlay.folded, [None; 2]);

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
    assert_eq!(fixture.find("Colour correction").unwrap().left(), docked[2].left());

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
    assert_eq!(titles.map(|t| fixture.find(t).unwrap()), docked);
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

#[test]
fn the_smallest_window_on_the_finest_display_can_be_used() {
    // 640×360 pixels at a scale of 2.
    let size = vec2(320.0, 180.0);
    for id in VariantId::ALL {
        let mut fixture = Fixture::new(size);
        let label = format!("{}{id}", id.key());
        assert_eq!(fixture.click(&label), [Action::SetVariant(id)]);
    }
    let mut fixture = Fixture::new(size);
    assert_eq!(fixture.click("Pause"), [Action::TogglePause]);
    assert_eq!(fixture.click("-"), [Action::SetRadius(6)]);
    assert_eq!(fixture.click("+"), [Action::SetRadius(8)]);
    let buttons: Vec<Rect> = fixture.texts.iter().map(|(_, rect)| *rect).collect();
    for (n, a) in buttons.iter().enumerate() {
        for b in &buttons[n + 1..] {
            assert!(!a.shrink(1.0).intersects(b.shrink(1.0)), "{a} and {b}: {:?}", fixture.texts);
        }
    }
    // The sliders lie over the rest, and the table of keys scrolls.
    fixture.correction = Some(crate::convert::Correction::NEUTRAL);
    fixture.pass(vec![]);
    for text in ["Colour correction", "brightness", "contrast", "saturation", "gamma"] {
        assert!(fixture.find(text).is_some(), "{text}: {:?}", fixture.texts);
    }
    fixture.overlay.keys_open = true;
    fixture.pass(vec![]);
    let last = KEYS[KEYS.len() - 1].does;
    assert!(fixture.find(last).is_none());
    fixture.pass(vec![Event::PointerMoved(pos2(160.0, 120.0))]);
    for _ in 0..30 {
        fixture.pass(vec![Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            delta: vec2(0.0, -100.0),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers: Modifiers::NONE,
        }]);
    }
    assert!(fixture.find(last).is_some(), "{:?}", fixture.texts);
}

fn device_info(index: usize, name: &str) -> DeviceInfo {
    DeviceInfo {
        index,
        name: name.into(),
        platform: "Platform".into(),
        version: "OpenCL 3.0".into(),
        driver: "1.2".into(),
        kind: crate::gpu::cl::DeviceKind::Gpu,
        units: 132,
        clock_mhz: 1980,
        global_memory_bytes: 3 << 29,
        max_allocation_bytes: 1 << 28,
        local_memory_bytes: 1 << 15,
        max_work_group_size: 256,
        image_support: true,
        max_image: (4096, 4096),
        extensions: Vec::new(),
    }
}

/// What a search has found so far, in the fixture.
fn searched(status: crate::ladder::tune::Status) -> Tuning {
    use crate::gpu::cl::DeviceKind;
    use crate::ladder::box_filter::{Config, info};
    use crate::ladder::tune::{Status, Trial};
    let code = info(VariantId::RunningSum).unwrap().code(DeviceKind::Cpu);
    let trial = |x, status| Trial {
        variant: VariantId::RunningSum,
        config: Config::of(code, DeviceKind::Cpu).with("STRIP_X", x),
        compile_ms: 9.0,
        status,
        best: false,
    };
    let trials = vec![trial(4096, Status::Scored(2.0)), trial(64, Status::Scored(3.0)), trial(32, status)];
    Tuning {
        state: TuningState::Running("running-sum STRIP_X=128".into()),
        of: Some(((1280, 720), 7)),
        radii: (4, 15),
        trials,
        most: 40,
        copy_ms: None,
    }
}

#[test]
fn the_devices_tell_what_is_known_and_a_click_changes_to_one() {
    for size in [vec2(1280.0, 720.0), vec2(640.0, 500.0)] {
        let infos = ["First", "Second", "Third"].map(|name| device_info(0, name));
        let copy = Sharing::copy("the driver cannot");
        let broken = Error::new("It broke.", "The compiler says no.", "");
        let row = |n: usize, sharing, state, failure| DeviceRow { info: &infos[n], sharing, state, failure };
        let rows = [
            row(0, Some(&Sharing::ZeroCopy), DeviceState::InUse, None),
            row(1, Some(&copy), DeviceState::Idle, Some(&broken)),
            row(2, None, DeviceState::Preparing, None),
        ];
        let left_out = ["bad.icd: left out. It crashed.".to_owned()];
        let mut fixture = Fixture::new(size);
        assert_eq!(fixture.click("Devices"), [Action::ToggleDevices], "{size}");
        fixture.overlay.toggle_devices();
        let list = DeviceList { rows: Some(&rows), left_out: &left_out };
        fixture.devices = list;
        // The second pass has the height that the first one found.
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        for text in [
            "0: First",
            "1: Second",
            "2: Third",
            "in use",
            "being made ready",
            "Platform: GPU, 132 units at 1980 MHz, 1.5 GiB. OpenCL 3.0, driver 1.2",
            "Shares textures with OpenGL",
            "Frames are copied to OpenGL: the driver cannot",
            "Sharing: not tried in this window",
            "It broke. The compiler says no.",
            "bad.icd: left out. It crashed.",
        ] {
            assert!(fixture.find(text).is_some(), "'{text}' is missing at {size}: {:?}", fixture.texts);
        }
        for (n, info) in infos.iter().enumerate() {
            let name = format!("{n}: {}", info.name);
            assert_eq!(fixture.click(&name), [Action::SetDevice(n)], "{size}");
        }
        let title = fixture.find("OpenCL devices").unwrap();
        fixture.click_at(title.left_center() - vec2(11.0, 0.0));
        fixture.pass(vec![]);
        assert!(fixture.find("OpenCL devices").is_some() && fixture.find("0: First").is_none());
        assert_eq!(fixture.click("\u{d7}"), [Action::ToggleDevices]);
    }
}

#[test]
fn a_change_of_device_shows_the_list_for_some_seconds_and_as_long_as_it_takes() {
    let info = device_info(0, "First");
    let row = |state| [DeviceRow { info: &info, sharing: None, state, failure: None }];
    let (preparing, in_use) = (row(DeviceState::Preparing), row(DeviceState::InUse));
    for visible in [true, false] {
        let mut fixture = Fixture::new(SIZES[0]);
        fixture.overlay.visible = visible;
        fixture.devices = DeviceList { rows: Some(&preparing), left_out: &[] };
        fixture.pass(vec![]);
        assert!(fixture.find("being made ready").is_none(), "nobody asked");
        fixture.overlay.show_devices();
        fixture.pass(vec![]);
        assert!(fixture.find("being made ready").is_some());
        for _ in 0..3 {
            fixture.time += 60.0;
            fixture.pass(vec![]);
            assert!(fixture.find("being made ready").is_some());
        }
        fixture.devices = DeviceList { rows: Some(&in_use), left_out: &[] };
        fixture.pass(vec![]);
        assert!(fixture.find("in use").is_some());
        fixture.time += 60.0;
        fixture.pass(vec![]);
        fixture.pass(vec![]);
        assert!(fixture.find("in use").is_none() && !fixture.overlay.devices_shown());
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
fn the_heat_map_says_in_text_what_its_colours_say() {
    use crate::ladder::tune::Status;
    for size in SIZES {
        let mut fixture = Fixture::new(size);
        fixture.tuning = searched(Status::Failed("no".into()));
        fixture.pass(vec![]);
        assert!(fixture.find("Tuning").is_none(), "it is closed at first");
        fixture.overlay.tuning_open = true;
        fixture.pass(vec![]);
        let window = Rect::from_min_size(Pos2::ZERO, size);
        for text in ["1.00", "1.50", "F", "STRIP_Y", "4096"] {
            let at = fixture.find(text).unwrap_or_else(|| panic!("no '{text}' at {size}"));
            assert!(window.contains_rect(at), "'{text}' at {at} in {size}");
        }
        assert_eq!(fixture.click("Stop"), [Action::StopTuning]);
        fixture.tuning.state = TuningState::Done;
        fixture.pass(vec![]);
        assert_eq!(fixture.click("Tune now"), [Action::TuneNow]);
        assert_eq!(fixture.click("Close"), [Action::ToggleTuning]);
    }
    let mut fixture = Fixture::new(SIZES[0]);
    fixture.tuning = searched(Status::Abandoned(9.0));
    fixture.overlay.tuning_open = true;
    fixture.pass(vec![]);
    assert!(fixture.find("A").is_some() && fixture.find("F").is_none());
}
