//! Tests that drive the overlay without a window: each pass gets input events and returns the user's actions.

use egui::{Color32, Context, Event, Modifiers, PointerButton, Pos2, RawInput, Rect, Vec2, pos2, vec2};

mod controls;
mod conversions;
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
mod pictures;
mod places;
mod scoreboard;
mod seekbar;
mod talk;
mod volume;
mod why;

use super::*;
use crate::{panel, theme};
use base::device::{ClockSnapshot, Reading};
use base::error::Error;
use base::timing::CpuReading;
use box_filter::{VariantId, named};
use engine::sharing::Sharing;
use engine::stats::{FrameSample, PlayState, Playing, Recorder, Stage};
use video::FieldOrder;

const SIZES: [Vec2; 3] = [vec2(1280.0, 720.0), vec2(640.0, 360.0), vec2(480.0, 800.0)];

/// An overlay in a window of a given size, and all data that its [`View`] borrows.
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
    correction: Option<video::color::Correction>,
    readings: Option<engine::Readings>,
    wipe: Option<Wipe>,
    devices: DeviceList<'a>,
    facts: DeviceFacts,
    tuning: Tuning,
    lab: Lab,
    conversions: Conversions,
    /// True if the current scene has a panel.
    has_scene: bool,
    kernels: Kernels,
    races: RaceReport,
    device: Option<base::device::DeviceInfo>,
    clock: base::device::ClockState,
    heart: Option<String>,
    sound: Option<SoundView>,
    chosen: VariantId,
    radius: u32,
    paused: bool,
    time: f64,
    /// The filled rectangles of the last pass, with their colours.
    rects: Vec<(Rect, Color32)>,
    /// The texts that the last pass painted, with their rectangles.
    texts: Vec<(String, Rect)>,
    /// The texts of the last pass that end with an ellipsis, or that are cut at a side.
    cut: Vec<String>,
    /// The number of pixels per point.
    scale: f32,
    /// The shapes of the last pass, and the changes of textures of all passes.
    shapes: Vec<egui::epaint::ClippedShape>,
    deltas: egui::TexturesDelta,
    /// The text that was copied to the clipboard, if any.
    copied: Option<String>,
}

impl<'a> Fixture<'a> {
    fn new(size: Vec2) -> Self {
        let ctx = Context::default();
        Overlay::style(&ctx);
        let mut recorder = Recorder::new(false);
        for n in 0..40u32 {
            let mut stages = [0.0; Stage::ALL.len()];
            // Two variants that differ by a factor of 100.
            let (variant, ms) = if n < 20 { (named("naive"), 845.0) } else { (named("flat"), 8.45) };
            stages[Stage::Filter as usize] = ms;
            let at = f64::from(n) * 0.04;
            recorder.push(FrameSample::made_up(at, variant, stages));
        }
        let row = |id| VariantRow { id, title: "Title", idea: "Idea.", status: VariantStatus::Ready };
        let mut fixture = Self {
            ctx,
            overlay: Overlay::new(SavedState { hint_seen: true, ..SavedState::default() }),
            size,
            recorder,
            movie: MovieSummary {
                file_name: "clip.mp4".into(),
                width: 1280,
                height: 720,
                fps: Some(25.0),
                format: "h264, yuv420p, BT.709, limited".into(),
                in_list: None,
                remarks: Vec::new(),
                note: None,
                fields: FieldOrder::Progressive,
                position_s: 1.0,
                duration_s: Some(10.0),
                chapters: Vec::new(),
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
            tuning: Tuning::default(),
            lab: Lab::default(),
            conversions: Conversions::default(),
            has_scene: false,
            kernels: Kernels::default(),
            races: RaceReport::default(),
            device: None,
            clock: base::device::ClockState::Trusted,
            heart: None,
            sound: None,
            chosen: named("flat"),
            radius: 7,
            paused: false,
            time: 0.0,
            rects: Vec::new(),
            texts: Vec::new(),
            cut: Vec::new(),
            scale: 1.0,
            shapes: Vec::new(),
            deltas: egui::TexturesDelta::default(),
            copied: None,
        };
        fixture.pass(vec![]);
        fixture
    }

    /// Runs a pass with these input events, and returns the user's actions.
    fn pass(&mut self, events: Vec<Event>) -> Vec<Action> {
        self.time += 0.02;
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events,
            ..Default::default()
        };
        input.viewports.entry(egui::ViewportId::ROOT).or_default().native_pixels_per_point = Some(self.scale);
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
            clock: &self.clock,
            clock_speed: Some(&clock_speed),
            facts: &self.facts,
            devices: self.devices,
            gl_renderer: "renderer",
            sharing: &Sharing::copy("no device"),
            variants: &self.variants,
            chosen: self.chosen,
            radius: self.radius,
            paused: self.paused,
            unpaced: false,
            shown: self.recorder.shown.last().map(|s| ShownFilter {
                variant: s.variant,
                radius: s.radius,
                size: s.size,
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
            races: &self.races,
            heart: self.heart.as_deref(),
            sound: self.sound.as_ref(),
            auto: None,
            readings: self.readings.as_ref(),
            readings_error: None,
            picture_place: Some(PicturePlace {
                at: [0.0, 0.0, self.size.x, self.size.y],
                orientation: Default::default(),
            }),
        };
        let mut actions = Vec::new();
        let overlay = &mut self.overlay;
        let mut output = self.ctx.run_ui(input, |ui| actions.extend(overlay.show(ui, &view)));
        for command in &output.platform_output.commands {
            if let egui::OutputCommand::CopyText(text) = command {
                self.copied = Some(text.clone());
            }
        }
        self.texts = texts(&output.shapes);
        self.rects = rects(&output.shapes);
        self.cut = cut_texts(&output.shapes);
        self.deltas.append(std::mem::take(&mut output.textures_delta));
        self.shapes = std::mem::take(&mut output.shapes);
        actions
    }

    /// Changes the part of the overlay's state that is kept between starts.
    fn change(&mut self, change: impl FnOnce(&mut SavedState)) {
        let mut saved = self.overlay.saved_state();
        change(&mut saved);
        self.overlay.restore(saved);
    }

    /// Presents `count` frames of this filter.
    fn push(&mut self, variant: VariantId, radius: u32, ms: f64, count: usize) {
        let mut sample = self.recorder.history().back().expect("there are some").clone();
        for _ in 0..count {
            sample.presented_at += 0.04;
            (sample.variant, sample.radius) = (variant, radius);
            sample.stages[Stage::Filter as usize] = if variant == VariantId::OFF { 0.0 } else { ms };
            self.recorder.push(sample.clone());
        }
    }

    /// Presents `count` frames of this filter, whose times alternate between the two values of `ms`.
    fn push_noisy(&mut self, variant: VariantId, radius: u32, ms: [f64; 2], count: usize) {
        (0..count).for_each(|n| self.push(variant, radius, ms[n % 2], 1));
    }

    /// Returns the rectangle of the visible text `name`, of the last one painted if there are several.
    fn find(&self, name: &str) -> Option<Rect> {
        self.texts.iter().rev().find(|(text, _)| text == name).map(|(_, rect)| *rect)
    }

    /// Presses and releases the mouse on the text `name`.
    fn click(&mut self, name: &str) -> Vec<Action> {
        let at = self.find(name).unwrap_or_else(|| panic!("no text '{name}' in {:?}", self.texts)).center();
        self.click_at(at)
    }

    /// Returns the rectangle of the text `name` in the panel of tuning, after scrolling the panel until the text is
    /// visible.
    fn reach(&mut self, name: &str) -> Rect {
        let panel = self.ctx.read_response(panel::cover_id("tuning")).expect("it is shown").interact_rect;
        let ways = std::iter::repeat_n(-30.0, 10).chain(std::iter::repeat_n(30.0, 20));
        for way in ways {
            if self.find(name).is_some() {
                // The view continues to move for some passes after the wheel.
                (0..20).for_each(|_| drop(self.pass(vec![])));
            }
            if let Some(at) = self.find(name) {
                return at;
            }
            let wheel = mouse::wheel(egui::MouseWheelUnit::Point, way);
            self.pass(vec![Event::PointerMoved(panel.center()), wheel]);
        }
        panic!("no '{name}' in {:?}", self.texts)
    }

    /// Clicks the button that closes the panel with this title.
    fn close(&mut self, title: &str) -> Vec<Action> {
        let title = self.find(title).unwrap_or_else(|| panic!("no '{title}' in {:?}", self.texts));
        let beside =
            |(text, at): &&(String, Rect)| text == "\u{d7}" && (at.center().y - title.center().y).abs() < 6.0;
        let at = self.texts.iter().find(beside).expect("a button beside the title").1.center();
        self.click_at(at)
    }

    /// Clicks the line of a panel in the menu, and returns the actions.
    fn choose(&mut self, name: &str) -> Vec<Action> {
        assert_eq!(self.click("Panels"), []);
        self.pass(vec![]);
        self.click(name)
    }

    /// Returns true if a painted text contains `part`.
    fn shows(&self, part: &str) -> bool {
        self.texts.iter().any(|(text, _)| text.contains(part))
    }

    fn click_id(&mut self, id: egui::Id) -> Vec<Action> {
        let at = self.ctx.read_response(id).expect("it is shown").rect.center();
        self.click_at(at)
    }

    fn click_pause(&mut self) -> Vec<Action> {
        self.click_id(crate::seekbar::pause_button_id())
    }

    fn click_at(&mut self, pos: Pos2) -> Vec<Action> {
        let mut actions = self.pass(vec![Event::PointerMoved(pos)]);
        actions.extend(self.pass(vec![button(pos, true)]));
        actions.extend(self.pass(vec![button(pos, false)]));
        actions
    }
}

impl Drop for Fixture<'_> {
    fn drop(&mut self) {
        // Only pictures need the textures.
        self.deltas.clear();
    }
}

/// Returns the filled rectangles among the shapes, with their colours.
fn rects(shapes: &[egui::epaint::ClippedShape]) -> Vec<(Rect, Color32)> {
    fn within(shape: &egui::Shape, found: &mut Vec<(Rect, Color32)>) {
        match shape {
            egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| within(shape, found)),
            egui::Shape::Rect(shape) => found.push((shape.rect, shape.fill)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    shapes.iter().for_each(|clipped| within(&clipped.shape, &mut found));
    found
}

/// Returns the visible texts that end with an ellipsis, or that are cut at the left or the right.
fn cut_texts(shapes: &[egui::epaint::ClippedShape]) -> Vec<String> {
    fn within(shape: &egui::Shape, clip: Rect, found: &mut Vec<String>) {
        match shape {
            egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| within(shape, clip, found)),
            egui::Shape::Text(text) => {
                let rect = text.galley.rect.translate(text.pos.to_vec2());
                let is_cut = rect.left() < clip.left() - 1.0 || rect.right() > clip.right() + 1.0;
                if clip.contains(rect.center()) && (text.galley.elided || is_cut) {
                    found.push(text.galley.text().to_owned());
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    shapes.iter().for_each(|clipped| within(&clipped.shape, clipped.clip_rect, &mut found));
    found
}

/// Returns the event of pressing or releasing the left mouse button.
fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

fn notice(what: &str, serious: bool) -> Notice {
    Notice { error: Error::new(what, "The reason.", "The hint."), serious }
}

/// Returns the progress of a picture that is being filtered.
fn busy(variant: VariantId, radius: u32, elapsed_s: f64, predicted_s: Option<f64>) -> Busy {
    Busy { variant, radius, fraction: 0.34, elapsed_s, predicted_s }
}
