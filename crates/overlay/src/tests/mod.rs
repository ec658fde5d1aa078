//! Tests that drive the overlay without a window: each pass (layout of the overlay) gets input events and returns the user's
//! actions. Buttons are found in AccessKit's tree, texts among the painted shapes.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use egui::accessibility::is_input;
use egui::{Color32, Event, Key, Modifiers, PointerButton, Pos2, Rect, UiBuilder, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _, by};
use egui_kittest::{Harness, TestRenderer};

mod access;
mod clip;
mod controls;
mod conversions;
mod filters;
mod goldens;
mod hidden;
mod hover;
mod kernel_versions;
mod kernels;
mod lab;
mod machine;
mod mouse;
mod notices;
mod panels;
mod parameters;
mod pictures;
mod places;
mod scoreboard;
mod seekbar;
mod talk;
mod why;

use super::*;
use crate::panel_list::COLUMN_PANELS;
use crate::{panel, theme};
use base::device::{ClockSnapshot, Reading};
use base::error::Error;
use base::timing::CpuReading;
use box_filter::{Settings, VariantId, named};
use stats::{FrameSample, PlayState, Playing, Recorder, Sharing, Stage};

const SIZES: [Vec2; 3] = [vec2(1280.0, 720.0), vec2(640.0, 360.0), vec2(480.0, 800.0)];

/// An overlay in a window of a given size, with the data that it shows and the results of the last pass.
struct Fixture<'a> {
    harness: Harness<'a, State<'a>>,
    deltas: Deltas,
    /// The filled rectangles of the last pass, with their colours.
    rects: Vec<(Rect, Color32)>,
    /// The texts that the last pass painted, with their rectangles.
    texts: Vec<(String, Rect)>,
    /// The texts of the last pass that end with an ellipsis, or are cut at a side.
    cut: Vec<String>,
    /// The text that was copied to the clipboard, if any.
    copied: Option<String>,
}

impl<'a> Deref for Fixture<'a> {
    type Target = State<'a>;

    fn deref(&self) -> &State<'a> {
        self.harness.state()
    }
}

impl DerefMut for Fixture<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.harness.state_mut()
    }
}

/// The changes of textures in all passes, from which tests of pictures draw the overlay.
#[derive(Clone, Default)]
struct Deltas(Rc<RefCell<egui::TexturesDelta>>);

impl TestRenderer for Deltas {
    fn handle_delta(&mut self, delta: &mut egui::TexturesDelta) {
        self.0.borrow_mut().append(std::mem::take(delta));
    }
}

/// The overlay, and the data that its [`View`] borrows.
struct State<'a> {
    overlay: Overlay,
    /// The actions of the last pass.
    actions: Vec<Action>,
    size: Vec2,
    /// The number of pixels per point.
    scale: f32,
    time: f64,
    recorder: Recorder,
    movie: MovieSummary,
    variants: Vec<VariantRow<'static>>,
    notices: Vec<Notice>,
    busy: Option<Busy>,
    part: (Option<f64>, Option<f64>),
    correction: Option<video::color::Correction>,
    readings: Option<stats::Readings>,
    wipe: Option<Wipe>,
    devices: DeviceList<'a>,
    facts: DeviceFacts,
    saved_columns: Vec<LadderColumn>,
    tuning: Tuning,
    lab: Lab,
    conversions: Conversions,
    /// True if the current scene has a panel.
    has_scene: bool,
    kernels: Kernels,
    filters: FilterList,
    device: Option<base::device::DeviceInfo>,
    heart: Option<String>,
    sound: Option<SoundView>,
    chosen: VariantId,
    settings: Settings,
    /// The filter of the sliders; `None` for the chosen one.
    sliders: Option<(VariantId, Settings)>,
    paused: bool,
}

impl<'a> Fixture<'a> {
    fn new(size: Vec2) -> Self {
        let mut recorder = Recorder::new(false);
        for n in 0..40u32 {
            let mut stages = [0.0; Stage::ALL.len()];
            // Two variants that differ by a factor of 100.
            let (variant, ms) = if n < 20 { (named("naive"), 845.0) } else { (named("flat"), 8.45) };
            stages[Stage::Filter as usize] = ms;
            recorder.push(FrameSample::made_up(f64::from(n) * 0.04, variant, stages));
        }
        let row = |id| VariantRow { id, idea: "Idea.", status: VariantStatus::Ready };
        let state = State {
            overlay: Overlay::new(SavedState { hint_seen: true, ..SavedState::default() }),
            actions: Vec::new(),
            size,
            scale: 1.0,
            // The passes of the harness come first.
            time: 10.0,
            recorder,
            movie: MovieSummary {
                file_name: "clip.mp4".into(),
                width: 1280,
                height: 720,
                fps: Some(25.0),
                format: "h264, yuv420p, BT.709, limited".into(),
                position_s: 1.0,
                duration_s: Some(10.0),
                ..MovieSummary::default()
            },
            variants: VariantId::all().map(row).collect(),
            notices: Vec::new(),
            busy: None,
            part: (None, None),
            correction: None,
            readings: None,
            wipe: None,
            devices: DeviceList::default(),
            facts: DeviceFacts::default(),
            saved_columns: Vec::new(),
            tuning: Tuning::default(),
            lab: Lab::default(),
            conversions: Conversions::default(),
            has_scene: false,
            kernels: Kernels::default(),
            filters: FilterList::default(),
            device: None,
            heart: None,
            sound: None,
            chosen: named("flat"),
            settings: 7.into(),
            sliders: None,
            paused: false,
        };
        let deltas = Deltas::default();
        let harness = Harness::builder().with_size(size).renderer(deltas.clone());
        let harness = harness.with_step_dt(1.0 / 60.0).allow_missing_glyphs().with_accessibility_check(false);
        let harness = harness.with_context_setup(|ctx| {
            theme::apply(ctx);
            // The harness fills the window.
            ctx.all_styles_mut(|style| style.visuals.panel_fill = Color32::TRANSPARENT);
        });
        let harness = harness.build_ui_state(|ui, state: &mut State| state.show(ui), state);
        let (rects, texts, cut, copied) = (Vec::new(), Vec::new(), Vec::new(), None);
        let mut fixture = Self { harness, deltas, rects, texts, cut, copied };
        fixture.pass(vec![]);
        fixture
    }

    /// Runs a pass with these input events, and returns the user's actions.
    fn pass(&mut self, events: Vec<Event>) -> Vec<Action> {
        self.time += 0.02;
        let (time, size, scale) = (self.time, self.size, self.scale);
        let input = self.harness.input_mut();
        input.screen_rect = Some(Rect::from_min_size(Pos2::ZERO, size));
        input.time = Some(time);
        input.events.extend(events);
        input.viewports.entry(egui::ViewportId::ROOT).or_default().native_pixels_per_point = Some(scale);
        self.harness.step();
        let output = self.harness.output();
        let copied = output.platform_output.commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        });
        self.texts = texts(&output.shapes);
        (self.rects, self.cut) = (Vec::new(), Vec::new());
        let (rects, cut) = (&mut self.rects, &mut self.cut);
        crate::texts::visit(&output.shapes, &mut |shape, clip| match shape {
            egui::Shape::Rect(shape) => rects.push((shape.rect, shape.fill)),
            egui::Shape::Text(text) => {
                let rect = text.galley.rect.translate(text.pos.to_vec2());
                let is_cut = rect.left() < clip.left() - 1.0 || rect.right() > clip.right() + 1.0;
                if clip.contains(rect.center()) && (text.galley.elided || is_cut) {
                    cut.push(text.galley.text().to_owned());
                }
            }
            _ => {}
        });
        self.copied = copied.or(self.copied.take());
        std::mem::take(&mut self.actions)
    }

    /// Runs some passes, until the layout no longer changes.
    fn settle(&mut self) {
        self.passes(3);
    }

    /// Runs a pass some seconds later.
    fn wait(&mut self, seconds: f64) {
        self.time += seconds;
        self.pass(vec![]);
    }

    fn passes(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.pass(vec![])));
    }

    /// Changes the part of the overlay's state that is kept between starts, and runs a pass.
    fn change(&mut self, change: impl FnOnce(&mut SavedState)) {
        let mut saved = self.overlay.saved_state();
        change(&mut saved);
        self.set(|state| state.overlay.restore(saved));
    }

    /// Changes the data that the overlay shows, and runs passes until the layout no longer changes.
    fn set(&mut self, change: impl FnOnce(&mut State<'a>)) {
        change(self.harness.state_mut());
        self.settle();
    }

    /// Presents `count` frames of this filter, and runs a pass.
    fn present(&mut self, variant: VariantId, radius: u32, ms: f64, count: usize) {
        self.push(variant, radius, ms, count);
        self.pass(vec![]);
    }

    /// Presents `count` frames of this filter.
    fn push(&mut self, variant: VariantId, radius: u32, ms: f64, count: usize) {
        self.push_like(count, |_, sample| {
            (sample.setting.variant, sample.setting.settings) = (variant, radius.into());
            sample.stages.times[Stage::Filter as usize] = if variant == VariantId::OFF { 0.0 } else { ms };
        });
    }

    /// Presents `count` frames like the last one, after `change` has changed them, which gets their numbers from 0 on.
    fn push_like(&mut self, count: usize, change: impl Fn(usize, &mut FrameSample)) {
        let mut sample = self.recorder.history().back().expect("there are some").clone();
        for n in 0..count {
            sample.presented_at += 0.04;
            change(n, &mut sample);
            self.recorder.push(sample.clone());
        }
    }

    /// Presents `count` frames of this filter, whose times alternate between the two values of `ms`.
    fn push_noisy(&mut self, variant: VariantId, radius: u32, ms: [f64; 2], count: usize) {
        (0..count).for_each(|n| self.push(variant, radius, ms[n % 2], 1));
    }

    /// Returns the rectangle of the visible text `name`; of the one that was painted last, if there are several.
    fn find(&self, name: &str) -> Option<Rect> {
        self.texts.iter().rev().find(|(text, _)| text == name).map(|(_, rect)| *rect)
    }

    /// Asserts that each of these texts is visible.
    #[track_caller]
    fn assert_shows(&self, texts: &[&str]) {
        texts.iter().for_each(|text| assert!(self.find(text).is_some(), "no '{text}' in {:?}", self.texts));
    }

    /// Asserts that each of these parts of texts is visible.
    #[track_caller]
    fn assert_contains(&self, parts: &[&str]) {
        parts.iter().for_each(|part| assert!(self.shows(part), "no '{part}' in {:?}", self.texts));
    }

    /// Returns the rectangle of the visible button with this name; of the last one, if there are several.
    fn button(&self, name: &str) -> Option<Rect> {
        let window = self.window();
        let nodes = self.harness.query_all(by().label(name).predicate(|node| is_input(node.role())));
        nodes.map(|node| node.rect()).rfind(|rect| window.contains(rect.center()))
    }

    /// Presses and releases the mouse on the button with this name. Returns the actions.
    #[track_caller]
    fn click(&mut self, name: &str) -> Vec<Action> {
        let at = self.button(name).unwrap_or_else(|| panic!("no '{name}' in {:?}", self.harness.root()));
        self.click_at(at.center())
    }

    /// Like [`Fixture::click`], then runs passes until the layout no longer changes.
    #[track_caller]
    fn press(&mut self, name: &str) -> Vec<Action> {
        let actions = self.click(name);
        self.settle();
        actions
    }

    /// Presses and releases the mouse on the text `text`. Returns the actions.
    #[track_caller]
    fn click_text(&mut self, text: &str) -> Vec<Action> {
        let at = self.find(text).unwrap_or_else(|| panic!("no text '{text}' in {:?}", self.texts)).center();
        self.click_at(at)
    }

    fn open(&mut self, panel: Panel) {
        self.change(|s| s.open[panel as usize] = true);
    }

    /// Sets data for the panels of devices, tuning, the Lab, conversions and the scene.
    fn fill(&mut self) {
        self.devices = machine::device_list(false);
        self.device = Some(machine::device_info(0, "First"));
        self.tuning = machine::searched(ladder::tune::Status::Abandoned(9.0));
        self.lab = machine::measured(JobState::Waiting(Wait::Plays));
        self.conversions = conversions::checked();
        self.has_scene = true;
    }

    /// Returns the window's rectangle in points.
    fn window(&self) -> Rect {
        Rect::from_min_size(Pos2::ZERO, self.size)
    }

    /// Asserts that these texts are visible, and lie in the window.
    #[track_caller]
    fn assert_inside(&self, texts: &[&str]) {
        for text in texts {
            let at =
                self.find(text).unwrap_or_else(|| panic!("no '{text}' at {}: {:?}", self.size, self.texts));
            assert!(self.window().contains_rect(at), "'{text}' at {at} in {}", self.size);
        }
    }

    /// Returns how many texts equal `text`.
    fn count(&self, text: &str) -> usize {
        self.texts.iter().filter(|(other, _)| other == text).count()
    }

    /// Moves the mouse to `at`, and waits until the hover text is shown.
    fn hover(&mut self, at: Pos2) {
        self.pass(vec![Event::PointerMoved(at)]);
        (0..4).for_each(|_| self.wait(0.5));
    }

    /// Scrolls the panel of this name until the text `name` is visible, and returns the text's rectangle.
    #[track_caller]
    fn reach(&mut self, panel: &str, name: &str) -> Rect {
        let panel = self.cover(panel).interact_rect;
        let ways = std::iter::repeat_n(-10.0, 40).chain(std::iter::repeat_n(10.0, 80));
        for way in ways {
            if self.find(name).is_some() {
                // The view continues to move for some passes after the wheel.
                self.passes(20);
            }
            if let Some(at) = self.find(name) {
                return at;
            }
            self.scroll(panel.center(), way);
        }
        panic!("no '{name}' in {panel} of {}: {:?}", self.size, self.texts)
    }

    /// Moves the mouse to `at`, and turns its wheel by this many points.
    fn scroll(&mut self, at: Pos2, points: f32) {
        self.pass(vec![Event::PointerMoved(at), mouse::wheel(egui::MouseWheelUnit::Point, points)]);
    }

    /// Drags the mouse from `from` to `to` with its left button. Returns the actions of the last movement.
    fn drag(&mut self, from: Pos2, to: Pos2) -> Vec<Action> {
        self.pass(vec![Event::PointerMoved(from)]);
        self.pass(vec![button(from, true)]);
        self.pass(vec![Event::PointerMoved(from + (to - from) / 2.0)]);
        let actions = self.pass(vec![Event::PointerMoved(to)]);
        self.pass(vec![button(to, false)]);
        actions
    }

    /// Returns the area that the panel with this name covers, which must be on the screen.
    #[track_caller]
    fn cover(&self, name: &str) -> egui::Response {
        self.harness.ctx.read_response(panel::cover_id(name)).expect("it is shown")
    }

    /// Clicks the line with this name in the menu of panels, and returns the actions.
    fn choose(&mut self, name: &str) -> Vec<Action> {
        assert_eq!(self.press("Panels"), []);
        self.click(name)
    }

    /// Returns true if a painted text contains `part`.
    fn shows(&self, part: &str) -> bool {
        self.texts.iter().any(|(text, _)| text.contains(part))
    }

    fn click_at(&mut self, pos: Pos2) -> Vec<Action> {
        let mut actions = self.pass(vec![Event::PointerMoved(pos)]);
        actions.extend(self.pass(vec![button(pos, true)]));
        actions.extend(self.pass(vec![button(pos, false)]));
        actions
    }
}

impl State<'_> {
    /// Lays the overlay out in the whole window.
    fn show(&mut self, ui: &mut egui::Ui) {
        let window = ui.ctx().content_rect();
        let mut ui = ui.new_child(UiBuilder::new().max_rect(window));
        ui.set_clip_rect(window);
        let contents =
            |ui: &mut egui::Ui| (0..6).for_each(|n| drop(ui.label(format!("Line {n} of the scene"))));
        let reading = Reading { mhz: 1500.0, throttle: vec!["power".to_owned()] };
        let clock_speed =
            Ok(ClockSnapshot { reading: Some(reading), limit_mhz: Some(1980.0), governor: None });
        let view = View {
            wipe: self.wipe.as_ref(),
            recorder: &self.recorder,
            cpu: CpuReading { process: Some(60.0), machine: Some(30.0), others: None, cores: 2 },
            movie: &self.movie,
            scene: self.has_scene.then_some(ScenePanel { name: "A scene", contents: &contents }),
            device: self.device.as_ref(),
            clock: &base::device::ClockState::Trusted,
            clock_speed: Some(&clock_speed),
            facts: &self.facts,
            saved_columns: &self.saved_columns,
            devices: self.devices,
            gl_renderer: "renderer",
            sharing: &Sharing::copy("no device"),
            variants: &self.variants,
            chosen: self.chosen,
            settings: self.settings,
            sliders: self.sliders.unwrap_or((self.chosen, self.settings)),
            box_radius: if self.chosen.opened().is_none() { self.settings.first() } else { 7 },
            paused: self.paused,
            unpaced: false,
            shown: self.recorder.shown.last().map(|s| ShownFilter {
                variant: s.setting.variant,
                settings: s.setting.settings,
                size: s.setting.size,
            }),
            state: PlayState::of(
                Playing { paused: self.paused, waiting: self.busy.is_some(), ..Playing::default() },
                &self.recorder,
            ),
            busy: self.busy.as_ref(),
            notices: &self.notices,
            budget_ms: Some(40.0),
            correction: self.correction,
            speed: 1.0,
            loop_text: "",
            target_s: None,
            loop_range: self.part,
            tuning: &self.tuning,
            lab: &self.lab,
            conversions: &self.conversions,
            kernels: &self.kernels,
            filters: &self.filters,
            races: &RaceReport::Unknown,
            heart: self.heart.as_deref(),
            sound: self.sound.as_ref(),
            auto: None,
            readings: self.readings.as_ref(),
            readings_error: None,
            picture_place: Some(PicturePlace {
                at: [0.0, 0.0, self.size.x * self.scale, self.size.y * self.scale],
                orientation: Default::default(),
            }),
        };
        self.actions.extend(self.overlay.show(&mut ui, &view));
    }
}

impl Drop for Fixture<'_> {
    fn drop(&mut self) {
        self.deltas.0.borrow_mut().clear();
    }
}

/// Returns the event that a key is pressed or released.
fn key(key: Key, pressed: bool) -> Event {
    Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE }
}

/// Returns the event that the left mouse button is pressed or released.
fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

fn notice(what: &str, serious: bool) -> Notice {
    Notice { error: Error::new(what, "The reason.", "The hint."), serious }
}

fn unavailable() -> VariantStatus {
    VariantStatus::Unavailable(Error::new("It does not build.", "", ""))
}

/// Returns the sound of a movie at this volume in percent.
fn sound(volume: u32, is_muted: bool) -> Option<SoundView> {
    Some(SoundView { volume, is_muted, text: "Sound: aac, 48000 Hz.".into() })
}

/// Returns the progress of a picture that is being filtered, as the overlay gets it.
fn busy(variant: VariantId, radius: u32, elapsed_s: f64, predicted_s: Option<f64>) -> Busy {
    Busy { variant, settings: radius.into(), awaits_build: false, fraction: 0.34, elapsed_s, predicted_s }
}
