//! The egui overlay: draws a [`View`], plain data about this moment, and returns the [`Action`]s that the user asked for.
//!
//! The headline says what filtered the picture on the screen and what that took, the rungs are buttons and scoreboard in
//! one, a graph has the filter alone, a strip the seek bar and the controls. Everything else opens by a click or a key.
//! Nothing here asks for a repaint or touches the movie.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod axes;
mod cells;
mod code;
mod controls;
mod conversions;
mod correction;
mod device_name;
mod devices;
mod dock;
mod facts;
mod filter_graph;
mod hatch;
mod headline;
mod hidden;
mod kernels;
mod keys;
mod lab;
mod layout;
mod line;
mod mouse;
mod notices;
mod on_top;
mod panel;
mod panels;
mod path_field;
mod place;
mod scene;
mod scopes;
mod scoreboard;
mod seekbar;
mod stage_graph;
mod stages;
mod story;
mod strip;
mod table;
mod texts;
pub mod theme;
mod timeline;
mod tuning;
mod view;
mod wipe;
mod words;

use egui::Ui;

use engine::frame_loop::{Busy, VariantStatus};

pub use code::{Source, errors_in};
pub use conversions::{CheckState, Conversions};
pub use devices::{DeviceList, DeviceRow, DeviceState};
pub use kernels::{Checked, Judged, Kernels, Races, Subject, Untried, Verdict, Version, told_of};
pub use keys::{KEYS, KeyHelp};
pub use lab::{Lab, LabRow, LabState};
use layout::Layout;
pub use panels::ENTRIES;
use path_field::PathField;
use place::Title;
pub use place::{Folds, Opens, Panel, Places, opens_at_first};
pub use scene::ScenePanel;
pub use scopes::{Placed, SWITCHES};
pub use texts::texts;
use timeline::Frozen;
pub use tuning::{Tuning, TuningState};
pub use view::{Action, MovieSummary, Notice, Shown, VariantRow, View};
pub use wipe::Wipe;
pub use words::Wait;

/// The overlay's own state.
#[derive(Debug)]
pub struct Overlay {
    /// Whether the panels are shown; serious notices always are.
    pub visible: bool,
    /// Whether the first-run hint has been shown.
    pub hint_seen: bool,
    /// Whether the panel with the keys is open.
    keys_open: bool,
    /// Which panels the user has opened.
    pub open: Opens,
    /// The search for the best parameters is shown because it has begun by itself.
    tuning_news: bool,
    /// The frame that the panel of the last frames shows instead, until it is let go.
    frozen: Option<Frozen>,
    /// The variant whose map the search shows; `None`: the fastest.
    tuning_of: Option<&'static str>,
    /// The ladder and the size that the Lab is to measure.
    lab: lab::Choice,
    /// The heat map lies over the picture.
    heat: bool,
    /// Auto-levels are on.
    pub levels: bool,
    /// The panel of kernels shows what the device runs beside the source.
    pub machine_code: bool,
    /// Whether the stages have patterns beside their greys.
    pub hatched: bool,
    /// Which panels are folded.
    pub folded: Folds,
    /// Where the panels were moved to.
    pub places: Places,
    /// The field for a path while it is open, and what was typed into it the last time.
    path_field: Option<PathField>,
    typed: String,
    /// The heights that the panels would like to have, and the banners together.
    heights: [f32; Panel::ALL.len()],
    banners_height: f32,
    /// The panels that are open or were unfolded, the newest last; and which ones are folded because others need the room.
    recent: Vec<Panel>,
    gives_way: [bool; Panel::ALL.len()],
    /// While the devices are shown for a change of device alone: until when, in seconds; that is not known before the
    /// first drawing.
    devices_until: Option<Option<f64>>,
    /// When the hint, the message, and while the overlay is hidden the line and the controls go, in seconds.
    hint_until: Option<f64>,
    said: Option<(String, Option<f64>)>,
    line_until: f64,
    controls_until: f64,
    /// What held in the last pass, and what a key may have changed since.
    before: Option<line::Changes>,
    numbers: table::Numbers,
    wipe: wipe::State,
}

impl Overlay {
    /// A visible overlay.
    pub fn new() -> Self {
        Self {
            visible: true,
            hint_seen: false,
            keys_open: false,
            open: place::opens_at_first(),
            tuning_news: false,
            frozen: None,
            heat: false,
            levels: false,
            machine_code: false,
            hatched: false,
            tuning_of: None,
            lab: lab::Choice::default(),
            folded: Folds::default(),
            places: Places::default(),
            path_field: None,
            typed: String::new(),
            heights: panels::first_heights(),
            banners_height: notices::FIRST_HEIGHT,
            recent: Vec::new(),
            gives_way: [false; Panel::ALL.len()],
            devices_until: None,
            hint_until: None,
            said: None,
            line_until: f64::NEG_INFINITY,
            controls_until: f64::NEG_INFINITY,
            before: None,
            numbers: table::Numbers::default(),
            wipe: wipe::State::default(),
        }
    }

    /// Sets fonts, colours and spacing; once, after the context is made.
    pub fn style(ctx: &egui::Context) {
        theme::apply(ctx);
    }

    /// Hides the overlay, or shows it again.
    pub fn toggle_visible(&mut self) {
        self.visible = !self.visible;
    }

    /// Opens or closes the table of keys.
    pub fn toggle_keys(&mut self) {
        self.keys_open = !self.keys_open;
    }

    /// Whether it is open.
    pub fn keys_open(&self) -> bool {
        self.keys_open
    }

    /// Lays the heat map over the picture, or takes it away.
    pub fn toggle_heat(&mut self) {
        self.heat = !self.heat;
    }

    /// Switches auto-levels on or off.
    pub fn toggle_levels(&mut self) {
        self.levels = !self.levels;
    }

    /// The user knows keys: there is no hint any more.
    pub fn needs_no_hint(&mut self) {
        self.hint_seen = true;
    }

    /// Shows a short message for some seconds, also while the overlay is hidden.
    pub fn say(&mut self, text: String) {
        self.said = Some((text, None));
    }

    /// Shows the devices for some seconds, also while the overlay is hidden: the device changes.
    pub fn show_devices(&mut self) {
        self.devices_until = Some(None);
    }

    /// Whether the panel of devices is shown.
    pub fn devices_shown(&self) -> bool {
        self.open[Panel::Devices as usize] && self.visible || self.devices_until.is_some()
    }

    /// Shows the search for the best parameters, until it is closed: one has begun. It is not open for that at the next
    /// start.
    pub fn show_tuning(&mut self) {
        self.tuning_news = true;
    }

    /// Whether the panel of that search is shown.
    pub(crate) fn tuning_shown(&self) -> bool {
        self.open[Panel::Tuning as usize] || self.tuning_news
    }

    /// Opens the field for a movie's path, also while the overlay is hidden.
    pub fn ask_for_path(&mut self) {
        if self.path_field.is_none() {
            self.path_field = Some(PathField::new(std::mem::take(&mut self.typed)));
        }
    }

    /// Closes the field; what was typed stays for the next time.
    pub fn close_path_field(&mut self) {
        if let Some(field) = self.path_field.take() {
            self.typed = field.into_text();
        }
    }

    /// What the path that stood in the field becomes, and the names to choose from; nothing where it has changed since.
    pub fn complete_path(&mut self, typed: &str, text: String, names: &[String]) {
        if let Some(field) = &mut self.path_field {
            field.complete(typed, text, names);
        }
    }

    /// Whether keys are being typed into a field: they are not the player's then.
    pub fn takes_keys(&self) -> bool {
        self.path_field.is_some()
    }

    /// Lays the overlay out over `ui`, which covers the window, and returns what the user asked for.
    pub fn show(&mut self, ui: &mut Ui, view: &View) -> Vec<Action> {
        // Keys belong to the player: a button that kept the focus would answer Space as well.
        let field = self.path_field.as_ref().map(|_| PathField::id());
        ui.memory_mut(|memory| {
            if let Some(id) = memory.focused().filter(|id| Some(*id) != field) {
                memory.surrender_focus(id);
            }
        });
        let mut actions = Vec::new();
        mouse::picture(ui, &mut actions);
        let window = ui.max_rect().shrink(theme::GAP);
        self.numbers.refresh(view.recorder, ui.input(|i| i.time));
        let changes = line::Changes::of(view);
        let changed = self.before.replace(changes.clone()).is_some_and(|before| changes.since(&before));
        if !self.visible {
            let below = window.with_min_y(window.top() + panel::HEADER);
            self.wipe(ui, below, &[], view, &mut actions);
            self.let_go();
            self.hidden(ui, window, view, changed, &mut actions);
            return actions;
        }
        if let (true, Some(readings), Some(placed)) = (self.heat, view.readings, view.placed) {
            let left = self.left_of_wipe(view, placed.rect(ui));
            scopes::heat_map(&ui.painter().with_clip_rect(left), ui, readings, &placed);
        }
        let line = line::width(ui, view, &self.numbers, LINE_LEFT);
        self.look_after_devices(ui, view);
        self.note_opened(view);
        let arranged = self.arrange(window, line, view);
        let layout = &arranged.layout;
        let docks: Vec<_> = arranged.docks.iter().flatten().copied().collect();
        self.wipe(ui, layout.free, &docks, view, &mut actions);
        if layout.above.height() >= panel::HEADER && layout.headline.width() > 60.0 {
            let (rect, folded) = (layout.headline, layout.line);
            let title = headline::show(ui, rect, view, &self.numbers, folded, &mut actions);
            self.took(Panel::Numbers, title, folded);
        }
        if let Some(rect) = layout.graph {
            let folded = self.is_folded(Panel::Graph);
            let title = self.graph(ui, rect, view, folded, &mut actions);
            self.took(Panel::Graph, title, folded);
        }
        if let Some(rect) = layout.ladder {
            let folded = self.is_folded(Panel::Ladder);
            let title = scoreboard::show(ui, rect, (view, &self.numbers.scores), folded, &mut actions);
            self.took(Panel::Ladder, title, folded);
        }
        self.strip(ui, &layout.strip, view, &mut actions);
        self.panels(ui, &arranged, view, &mut actions);
        self.let_go_by_a_click(ui, &actions);
        self.banners(ui, arranged.banners, view, false, &mut actions);
        self.on_top(ui, window, arranged.message, !view.notices.is_empty(), &mut actions);
        actions
    }

    /// Whether what it shows is measured of the picture.
    pub fn wants_readings(&self) -> bool {
        self.visible && (self.heat || self.open[Panel::Scopes as usize])
    }

    /// Puts the panels back where they belong.
    pub fn reset_panels(&mut self) {
        (self.places, self.folded) = (Places::default(), Folds::default());
    }

    /// Does what was asked for at a panel's title.
    fn took(&mut self, panel: Panel, title: Title, folded: bool) {
        if let Some(place) = title.moved {
            self.places[panel as usize] = place;
        }
        if title.fold {
            self.folded[panel as usize] = Some(!folded);
            // What is unfolded is looked at: others give way.
            self.recent.retain(|other| *other != panel || !folded);
            if folded {
                self.recent.push(panel);
            }
        }
    }

    /// Whether it is folded, by the user or because another needs the room.
    fn is_folded(&self, panel: Panel) -> bool {
        self.gives_way[panel as usize] || self.is_folded_by_user(panel)
    }

    fn is_folded_by_user(&self, panel: Panel) -> bool {
        self.folded[panel as usize].unwrap_or(panel == Panel::Scene)
    }
}

/// Points before the folded headline's text: its triangle stands there.
const LINE_LEFT: f32 = 26.0;

/// How much larger than at 1280×720 points everything is in a window of this size in points: a full screen is looked at
/// from farther away. Never smaller: in a small window there is less to see.
pub fn zoom(width: f32, height: f32) -> f32 {
    let zoom = (width / 1280.0).min(height / 720.0);
    if zoom.is_finite() { zoom.clamp(1.0, 4.0) } else { 1.0 }
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
