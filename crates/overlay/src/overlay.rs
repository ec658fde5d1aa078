//! [`Overlay`]: the state that outlives a pass (one layout of the overlay), and the order in which a pass lays its parts
//! out.

use egui::{Margin, Rect, Ui};

use crate::action::Action;
use crate::controls::ControlsState;
use crate::hatch::Hatch;
use crate::hidden::{self, HiddenTimers};
use crate::layout::Strip;
use crate::messages::Messages;
use crate::open_panels::OpenPanels;
use crate::panel::{self, Entry, MARGIN, scroll_area};
use crate::panels;
use crate::path_field::{PathField, PathPrompt};
use crate::place::{FoldStates, OpenFlags, Panel, PanelPositions, TitleBarChange, initially_open};
use crate::placement::{Arrangement, Placement};
use crate::switches::Switches;
use crate::table::Numbers;
use crate::view::View;
use crate::wipe::WipeLine;
use crate::{
    conversions, correction, devices, headline, kernels, keys, lab, line, mouse, notices, scopes, scoreboard,
    stages, strip, theme, timeline, tuning,
};

/// Points before the text of the folded headline, where its triangle stands.
const LINE_TEXT_LEFT: f32 = 26.0;

/// The overlay's own state. [`Overlay::show`] lays it out once per pass; its public parts have the methods that keys and
/// clicks need.
#[derive(Debug, Default)]
pub struct Overlay {
    visible: bool,
    /// True if the table of keys is open.
    keys_open: bool,
    /// The open panels, and the order in which they were opened.
    pub panels: OpenPanels,
    /// The switches of the heat map, auto-levels, machine code and patterns.
    pub switches: Switches,
    /// The field in which the user types a movie's path.
    pub path_prompt: PathPrompt,
    /// True if the window system delivers no files that are dropped on the window.
    pub lacks_drops: bool,
    /// The line between the two sides of a wipe.
    pub wipe_line: WipeLine,
    placement: Placement,
    messages: Messages,
    hidden: HiddenTimers,
    /// The variant whose heat map the panel of tuning shows; `None` for the fastest.
    tuning_variant: Option<&'static str>,
    lab: lab::Selection,
    numbers: Numbers,
}

/// The part of the overlay's state that the settings file keeps from one start to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedState {
    /// True if the overlay is shown; serious notices always are.
    pub visible: bool,
    /// True if the hint of the first start has been shown.
    pub hint_seen: bool,
    /// True if stages have patterns in addition to their greys.
    pub hatched: bool,
    /// The panels that the user has opened.
    pub open: OpenFlags,
    /// The panels that the user has folded or unfolded.
    pub folded: FoldStates,
    /// The panels that the user has moved.
    pub places: PanelPositions,
}

impl Default for SavedState {
    /// Returns the state at the first start: the overlay is shown, and its hint is still to come.
    fn default() -> Self {
        Self {
            visible: true,
            hint_seen: false,
            hatched: false,
            open: initially_open(),
            folded: FoldStates::default(),
            places: PanelPositions::default(),
        }
    }
}

impl Overlay {
    /// Creates an overlay with this saved state and everything else at its default.
    pub fn new(saved: SavedState) -> Self {
        let mut overlay = Self::default();
        overlay.restore(saved);
        overlay
    }

    /// Sets fonts, colours and spacing of `ctx`. Call once per context.
    pub fn style(ctx: &egui::Context) {
        theme::apply(ctx);
    }

    /// Returns the state that is to be kept for the next start.
    pub fn saved_state(&self) -> SavedState {
        SavedState {
            visible: self.visible,
            hint_seen: self.messages.hint_seen,
            hatched: self.switches.hatched,
            open: self.panels.opens,
            folded: self.placement.folded,
            places: self.placement.places,
        }
    }

    /// Replaces the part of the state that is kept between starts.
    pub(crate) fn restore(&mut self, saved: SavedState) {
        self.visible = saved.visible;
        self.messages.hint_seen = saved.hint_seen;
        self.switches.hatched = saved.hatched;
        self.panels.opens = saved.open;
        (self.placement.folded, self.placement.places) = (saved.folded, saved.places);
    }

    /// Hides the overlay, or shows it again.
    pub fn toggle_visible(&mut self) {
        self.visible = !self.visible;
    }

    /// Returns true if this panel is open and the overlay is not hidden.
    pub fn is_panel_visible(&self, panel: Panel) -> bool {
        self.visible && self.panels.is_open(panel)
    }

    /// Opens or closes the table of keys.
    pub fn toggle_key_table(&mut self) {
        self.keys_open = !self.keys_open;
    }

    /// Returns true if the table of keys is open.
    pub fn is_key_table_open(&self) -> bool {
        self.keys_open
    }

    /// Removes the hint of the first start for good; called for the first key that is pressed.
    pub fn dismiss_hint(&mut self) {
        self.messages.hint_seen = true;
    }

    /// Shows a short message for some seconds, also while the overlay is hidden.
    pub fn show_message(&mut self, text: String) {
        self.messages.show(text);
    }

    /// Returns true if the panel of devices is on the screen, also if only for the change of a device.
    pub fn is_device_list_visible(&self) -> bool {
        self.is_panel_visible(Panel::Devices) || self.panels.device_change_is_shown()
    }

    /// Returns true if the overlay shows measurements of the picture (scopes or heat map), which cost device time.
    pub fn needs_readings(&self) -> bool {
        self.visible && (self.switches.heat || self.panels.is_open(Panel::Scopes))
    }

    /// Puts all panels back to their default places, unfolded.
    pub fn reset_panels(&mut self) {
        (self.placement.folded, self.placement.places) = Default::default();
    }

    /// Lays the overlay out over `ui`, which covers the window, and returns the actions that the user requested in this
    /// pass.
    pub fn show(&mut self, ui: &mut Ui, view: &View) -> Vec<Action> {
        // Keys belong to the player: a button that kept the focus would react to Space as well.
        let field = self.path_prompt.is_open().then(PathField::id);
        ui.memory_mut(|memory| {
            if let Some(id) = memory.focused().filter(|id| Some(*id) != field) {
                memory.surrender_focus(id);
            }
        });
        let mut actions = Vec::new();
        mouse::handle_picture_input(ui, &mut actions);
        let window = ui.max_rect().shrink(theme::GAP);
        self.numbers.refresh(view.recorder, ui.input(|i| i.time));
        let changed = self.hidden.note_changes(view);
        if self.visible {
            self.show_visible(ui, window, view, &mut actions);
        } else {
            self.show_hidden(ui, window, view, changed, &mut actions);
        }
        actions
    }

    /// Lays out all parts of the overlay while it is not hidden.
    fn show_visible(&mut self, ui: &mut Ui, window: Rect, view: &View, actions: &mut Vec<Action>) {
        if let (true, Some(readings), Some(placed)) = (self.switches.heat, view.readings, view.picture_place)
        {
            let left = self.wipe_line.first_filter_rect(view, placed.rect(ui));
            scopes::draw_heat_map(&ui.painter().with_clip_rect(left), ui, readings, &placed);
        }
        let line_width = line::width(ui, view, &self.numbers, LINE_TEXT_LEFT);
        self.panels.expire_device_change(ui, view.devices.is_preparing());
        self.panels.update_recent(view);
        let arranged = self.placement.arrange(window, line_width, view, &self.panels, &self.switches);
        let layout = &arranged.layout;
        let docks: Vec<_> = arranged.docks.iter().flatten().copied().collect();
        self.wipe_line.show(ui, (layout.free, &docks), view, &self.numbers, actions);
        if layout.above.height() >= panel::HEADER_HEIGHT && layout.headline.width() > 60.0 {
            let (rect, folded) = (layout.headline, layout.line);
            let title = headline::show(ui, rect, view, &self.numbers, folded, actions);
            self.apply_title(Panel::Numbers, title, folded);
        }
        if let Some(rect) = layout.graph {
            let folded = self.placement.is_folded(Panel::Graph);
            let shows_stages = self.panels.is_open(Panel::Stages);
            let hatch = shows_stages.then(|| Hatch::new(ui, self.switches.hatched));
            let title = strip::show_graph(ui, rect, view, &self.numbers, hatch.as_ref(), folded, actions);
            self.apply_title(Panel::Graph, title, folded);
        }
        if let Some(rect) = layout.ladder {
            let folded = self.placement.is_folded(Panel::Ladder);
            let title = scoreboard::show(ui, rect, (view, &self.numbers.scores), folded, actions);
            self.apply_title(Panel::Ladder, title, folded);
        }
        self.show_strip(ui, &layout.strip, view, actions);
        self.show_panels(ui, &arranged, view, actions);
        self.panels.unfreeze_on_click(ui, actions);
        self.show_banners(ui, arranged.banners, view, false, actions);
        self.show_on_top(ui, window, arranged.message, !view.notices.is_empty(), actions);
    }

    /// Lays out the parts that are shown while the overlay is hidden: the line of numbers for some seconds after a change,
    /// the controls while the mouse is at the lower edge, a change of the device, and serious notices.
    fn show_hidden(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        view: &View,
        changed: bool,
        actions: &mut Vec<Action>,
    ) {
        let below = window.with_min_y(window.top() + panel::HEADER_HEIGHT);
        self.wipe_line.show(ui, (below, &[]), view, &self.numbers, actions);
        self.panels.unfreeze();
        let line = self.hidden.shows_line(ui, view, changed);
        let line = line.then(|| hidden::draw_line(ui, window, view, &self.numbers));
        let strip = Strip::new(window, Some(view.variants.len()));
        let mut room = window;
        if self.hidden.shows_controls(ui, window, strip.rect.top()) {
            self.show_strip(ui, &strip, view, actions);
            room.max.y = (strip.rect.top() - theme::GAP).max(window.top());
        }
        self.panels.expire_device_change(ui, view.devices.is_preparing());
        let is_device_list_visible = self.panels.device_change_is_shown();
        let places = self.placement.arrange_hidden(room, line, view, is_device_list_visible);
        if let Some(entry) = panels::entry_of(Panel::Devices).filter(|_| is_device_list_visible) {
            self.show_panel(ui, entry, places.panels.first().copied(), room, view, actions);
        }
        self.show_banners(ui, places.banners.unwrap_or(room), view, true, actions);
        self.show_on_top(ui, window, places.message, !view.notices.is_empty(), actions);
    }

    /// Lays out the strip along the bottom of the window.
    fn show_strip(&self, ui: &mut Ui, strip: &Strip, view: &View, actions: &mut Vec<Action>) {
        let state = ControlsState { visible: self.visible, keys_open: self.keys_open, panels: &self.panels };
        strip::show(ui, strip, view, &self.numbers.scores, &state, actions);
    }

    /// Lays out all open panels, the one opened last on top.
    fn show_panels(&mut self, ui: &mut Ui, arranged: &Arrangement, view: &View, actions: &mut Vec<Action>) {
        for entry in self.panels.recent().to_vec().into_iter().filter_map(panels::entry_of) {
            let dock = arranged.docks[entry.panel as usize];
            self.show_panel(ui, entry, dock, arranged.layout.window, view, actions);
        }
    }

    /// Lays a panel out in `dock`, the place that was found for it, or where the user has moved it in `window`.
    fn show_panel(
        &mut self,
        ui: &mut Ui,
        entry: &Entry,
        dock: Option<Rect>,
        window: Rect,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let folded = self.placement.is_folded(entry.panel);
        let Some(rect) = self.placement.panel_rect(entry, &self.switches, dock, window) else { return };
        let name = self.title(entry.panel, view, folded);
        let (title, inner) = entry.show_frame(ui, rect, &name, folded, actions);
        self.apply_title(entry.panel, title, folded);
        if let Some(mut ui) = inner {
            let height = self.show_contents(&mut ui, entry.panel, rect, view, actions);
            if self.placement.set_height(entry.panel, height) {
                // The pass is repeated, so that the panel is never shown in the wrong height.
                ui.ctx().request_discard("a panel has another height");
            }
        }
    }

    /// Returns the title of a panel that can be closed. While it is folded, it has the progress of the panel's job.
    fn title(&self, panel: Panel, view: &View, folded: bool) -> String {
        let name = match panel {
            Panel::Timeline => self.panels.frozen_frame().map_or("Last frames", |frozen| &frozen.title),
            Panel::Scene => view.scene.map_or("", |scene| scene.name),
            Panel::Correction => "Colour correction",
            Panel::Devices => "OpenCL devices",
            panel => panels::entry_of(panel).map_or("", |entry| entry.menu.0),
        };
        let (tested, cases) = view.conversions.progress();
        let (job, progress) = match panel {
            Panel::Tuning => (&view.tuning.state, tuning::progress(view.tuning)),
            Panel::Lab => (&view.lab.state, lab::progress(view.lab)),
            Panel::Conversions => (&view.conversions.state, format!("{tested} of {cases}")),
            _ => return name.to_owned(),
        };
        if folded && job.is_under_way() { format!("{name}, {progress}") } else { name.to_owned() }
    }

    /// Lays the contents of the panel in `rect` out; they scroll if they are higher. Returns the height in points that the
    /// panel needs.
    fn show_contents(
        &mut self,
        ui: &mut Ui,
        panel: Panel,
        rect: Rect,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> f32 {
        let (numbers, switches) = (&self.numbers, &mut self.switches);
        match panel {
            Panel::Stages => stages::show(ui, rect, view, numbers, switches, actions),
            Panel::Correction => correction::show(ui, rect, view, actions),
            Panel::Timeline => {
                let (live, frozen) = (view.recorder.timeline(), self.panels.frozen_frame());
                timeline::show(ui, rect, &live, frozen, switches.hatched);
                timeline::SIZE.y
            }
            Panel::Tuning => scroll_area(ui, rect, MARGIN, |ui| {
                tuning::show(ui, view.tuning, view.auto, &mut self.tuning_variant, actions);
            }),
            Panel::Lab => scroll_area(ui, rect, MARGIN, |ui| lab::show(ui, view, &mut self.lab, actions)),
            Panel::Conversions => {
                scroll_area(ui, rect, MARGIN, |ui| conversions::show(ui, view.conversions, actions))
            }
            Panel::Kernels => scroll_area(ui, rect, MARGIN, |ui| kernels::show(ui, view, switches, actions))
                .min(kernels::MAX_HEIGHT),
            Panel::Scopes => {
                let margin = Margin { bottom: 0, ..MARGIN };
                scroll_area(ui, rect, margin, |ui| scopes::show(ui, view, switches, actions))
            }
            Panel::Devices => {
                let margin = Margin { bottom: 4, ..Margin::ZERO };
                scroll_area(ui, rect, margin, |ui| devices::show(ui, &view.devices, actions))
            }
            Panel::Scene => scroll_area(ui, rect, MARGIN, |ui| {
                view.scene.iter().for_each(|scene| (scene.contents)(ui));
            }),
            // These are always shown, and laid out by `show_visible`.
            Panel::Numbers | Panel::Graph | Panel::Ladder => panel::HEADER_HEIGHT,
        }
    }

    /// Folds, unfolds or moves a panel as the user requested by its title bar. `folded` is true if the panel is folded in
    /// this pass.
    fn apply_title(&mut self, panel: Panel, title: TitleBarChange, folded: bool) {
        if let Some(place) = title.moved {
            self.placement.places[panel as usize] = place;
        }
        if title.fold {
            self.placement.folded[panel as usize] = Some(!folded);
            if folded {
                // Others give way to a panel that the user unfolds.
                self.panels.raise(panel);
            }
        }
    }

    /// Lays out the banners in `area`, or only the serious ones if `only_serious`, and stores the height that they need.
    fn show_banners(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        view: &View,
        only_serious: bool,
        actions: &mut Vec<Action>,
    ) {
        let height = notices::show(ui, area, view.notices, only_serious, actions);
        if height.is_some_and(|height| self.placement.set_banners_height(height)) {
            ui.ctx().request_discard("the banners have another height");
        }
    }

    /// Lays out the parts that lie over all panels: the hint or the message, the table of keys, and the field for a path. The
    /// hint is postponed while there are `notices`.
    fn show_on_top(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        message: Rect,
        notices: bool,
        actions: &mut Vec<Action>,
    ) {
        if let Some(text) = self.messages.current(ui, self.visible && !notices) {
            notices::show_message(ui, message, text);
        }
        if self.keys_open {
            keys::show(ui, window, self.lacks_drops, actions);
        }
        self.path_prompt.show(ui, window, self.lacks_drops, actions);
    }
}

/// Returns the factor by which everything is larger than in a window of 1280×720 points, from 1 to 4: a full screen is seen
/// from farther away. `width` and `height` are the window's size in points. The factor is never below 1: a small window
/// shows less instead.
pub fn zoom(width: f32, height: f32) -> f32 {
    let zoom = (width / 1280.0).min(height / 720.0);
    if zoom.is_finite() { zoom.clamp(1.0, 4.0) } else { 1.0 }
}
