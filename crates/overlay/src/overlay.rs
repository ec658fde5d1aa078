//! [`Overlay`]: the state that outlives a pass (one layout of the overlay), and the order in which a pass lays its parts
//! out.

use egui::style::ScrollAnimation;
use egui::{Align, Margin, Rect, Ui};

use crate::action::Action;
use crate::cells::CellDetail;
use crate::column::{Column, ColumnState};
use crate::controls::ControlsState;
use crate::hatch::Hatch;
use crate::hidden::{self, HiddenTimers};
use crate::lab::LabKernel;
use crate::layout::{self, Layout};
use crate::messages::Messages;
use crate::open_panels::OpenPanels;
use crate::panel::{self, Entry, MARGIN, padded};
use crate::panels::{self, FoldStates, OpenFlags, Panel, initially_open};
use crate::path_field::{PathField, PathPrompt};
use crate::strip::Strip;
use crate::switches::Switches;
use crate::table::Numbers;
use crate::view::View;
use crate::wipe::WipeLine;
use crate::{
    conversions, correction, devices, headline, hover, kernels, keys, lab, line, mouse, notices, scopes,
    scoreboard, stages, strip, talk, theme, timeline, tuning,
};

/// Points before the text of the folded headline, where its triangle stands.
const LINE_TEXT_LEFT: f32 = 26.0;

/// The state of the overlay, which [`Overlay::show`] lays out once per pass. The methods of its public fields are called for
/// keys and clicks.
#[derive(Debug, Default)]
pub struct Overlay {
    visible: bool,
    /// True while the talk is shown in place of the panels.
    talks: bool,
    keys_open: bool,
    /// The open panels, and their order in the column.
    pub panels: OpenPanels,
    /// The switches of the heat map, auto-levels, machine code and patterns.
    pub switches: Switches,
    /// The field in which the user types a movie's path.
    pub path_prompt: PathPrompt,
    /// True if the window system does not report files that are dropped on the window.
    pub lacks_drops: bool,
    /// The line between the two sides of a wipe.
    pub wipe_line: WipeLine,
    /// The panels that the user has folded or unfolded.
    folded: FoldStates,
    column: Column,
    /// The height in points of each panel in the last pass, indexed by [`Panel`]; 0 for panels that were not shown.
    heights: [f32; Panel::ALL.len()],
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
    /// Side and width of the column of panels.
    pub column: ColumnState,
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
            column: ColumnState::default(),
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
            folded: self.folded,
            column: self.column.state,
        }
    }

    /// Replaces the part of the state that is kept between starts.
    pub(crate) fn restore(&mut self, saved: SavedState) {
        self.visible = saved.visible;
        self.messages.hint_seen = saved.hint_seen;
        self.switches.hatched = saved.hatched;
        self.panels.opens = saved.open;
        (self.folded, self.column.state) = (saved.folded, saved.column);
    }

    /// Hides the overlay, or shows it again.
    pub fn toggle_visible(&mut self) {
        self.visible = !self.visible;
    }

    /// Returns true if this panel is open and the overlay is not hidden.
    pub fn is_panel_visible(&self, panel: Panel) -> bool {
        self.visible && !self.talks && self.panels.is_open(panel)
    }

    /// Begins or ends the talk, which shows the ladder in large type. It begins also while the overlay is hidden.
    pub fn toggle_talk(&mut self) {
        self.talks = !self.is_talk_visible();
        self.visible |= self.talks;
    }

    /// Returns the kernels of the variant that is selected in the Lab; `None` if it has none, or while the Lab is not shown.
    pub fn lab_kernel(&self) -> Option<&LabKernel> {
        self.lab.kernel().filter(|_| self.is_panel_visible(Panel::Lab))
    }

    /// Returns true if the talk is on the screen.
    pub fn is_talk_visible(&self) -> bool {
        self.visible && self.talks
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
        self.visible && !self.talks && (self.switches.heat || self.panels.is_open(Panel::Scopes))
    }

    /// Puts the column of panels back to its default side and width, with unfolded panels.
    pub fn reset_panels(&mut self) {
        (self.folded, self.column.state) = Default::default();
    }

    /// Moves the column of panels to the other side of the window.
    pub fn move_column(&mut self) {
        self.column.state.left ^= true;
    }

    /// Returns true if a panel is folded. Until the user folds or unfolds panels, only the panel of a scene is folded.
    fn is_folded(&self, panel: Panel) -> bool {
        self.folded[panel as usize].unwrap_or(panel == Panel::Scene)
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
        if self.is_talk_visible() {
            let free = talk::show(ui, window, view, &self.numbers.scores, &mut actions);
            self.wipe_line.show(ui, free, view, &self.numbers, &mut actions);
            self.show_notices(ui, window, free, view, true, &mut actions);
        } else if self.visible {
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
        self.panels.update_order(|panels, panel| panels.is_shown(panel, view));
        let column = self.column_place(window);
        let line = (line_width, !view.notices.is_empty());
        let layout = Layout::new(window, column, view.variants.len(), &self.folded, line);
        let docks = column.map(|(width, left)| match left {
            true => layout.docks.with_max_x(layout.docks.left() + width),
            false => layout.docks.with_min_x(layout.docks.right() - width),
        });
        let parts = [Some(layout.headline), layout.ladder, layout.graph, Some(layout.strip.rect), docks];
        hover::set_parts(ui.ctx(), parts.into_iter().flatten().collect());
        if layout.covered {
            self.show_column(ui, layout.docks, column, view, actions);
            self.show_notices(ui, window, layout.free, view, false, actions);
            return;
        }
        self.wipe_line.show(ui, layout.free, view, &self.numbers, actions);
        if layout.headline.height() >= panel::HEADER_HEIGHT && layout.headline.width() > 60.0 {
            let (rect, folded) = (layout.headline, layout.line);
            let folds = headline::show(ui, rect, view, &self.numbers, folded, actions);
            self.apply_fold(Panel::Numbers, folds, folded);
        }
        if let Some(rect) = layout.graph {
            let folded = self.is_folded(Panel::Graph);
            let shows_stages = self.panels.is_open(Panel::Stages);
            let hatch = shows_stages.then(|| Hatch::new(ui, self.switches.hatched));
            let folds = strip::show_graph(ui, rect, view, &self.numbers, hatch.as_ref(), folded, actions);
            self.apply_fold(Panel::Graph, folds, folded);
        }
        if let Some(rect) = layout.ladder {
            let folded = self.is_folded(Panel::Ladder);
            let folds = scoreboard::show(ui, rect, (view, &self.numbers.scores), folded, actions);
            self.apply_fold(Panel::Ladder, folds, folded);
        }
        self.show_strip(ui, &layout.strip, view, actions);
        self.show_column(ui, layout.docks, column, view, actions);
        self.panels.unfreeze_on_click(ui, actions);
        self.show_notices(ui, window, layout.free, view, false, actions);
    }

    /// Returns the width of the column and true if it is at the left side of `window`; `None` if no panel is open.
    fn column_place(&self, window: Rect) -> layout::ColumnPlace {
        let order = self.panels.order();
        let folded = order.iter().all(|panel| self.is_folded(*panel));
        (!order.is_empty()).then(|| (self.column.width(window, folded), self.column.state.left))
    }

    /// Lays out the parts that are shown while the overlay is hidden: the line of statistics for some seconds after a change,
    /// the controls while the mouse is at the lower edge, a change of the device, and serious notices.
    fn show_hidden(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        view: &View,
        changed: bool,
        actions: &mut Vec<Action>,
    ) {
        self.panels.unfreeze();
        let line = self.hidden.shows_line(ui, view, changed);
        if line {
            hidden::draw_line(ui, window, view, &self.numbers);
        }
        let detail = CellDetail::for_height(window.height());
        let strip = Strip::new(window, Some(view.variants.len()), detail);
        let mut room = window;
        if self.hidden.shows_controls(ui, window, strip.rect.top()) {
            self.show_strip(ui, &strip, view, actions);
            room.max.y = (strip.rect.top() - theme::GAP).max(window.top());
        }
        room.min.y = (room.top() + panel::HEADER_HEIGHT + theme::GAP).min(room.bottom());
        self.panels.expire_device_change(ui, view.devices.is_preparing());
        let is_device_change = self.panels.device_change_is_shown();
        self.panels.update_order(|_, panel| panel == Panel::Devices && is_device_change);
        let column = self.column_place(window);
        let free = layout::beside_column(room, column);
        self.wipe_line.show(ui, free, view, &self.numbers, actions);
        self.show_column(ui, room, column, view, actions);
        self.show_notices(ui, window, free, view, true, actions);
    }

    fn show_strip(&self, ui: &mut Ui, strip: &Strip, view: &View, actions: &mut Vec<Action>) {
        let state = ControlsState {
            visible: self.visible,
            keys_open: self.keys_open,
            panels: &self.panels,
            column_left: self.column.state.left,
        };
        strip::show(ui, strip, view, &self.numbers.scores, &state, actions);
    }

    /// Lays out the column of panels, if there is one, at its side of `docks`.
    fn show_column(
        &mut self,
        ui: &mut Ui,
        docks: Rect,
        column: layout::ColumnPlace,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let Some((width, _)) = column else { return };
        let order = self.panels.order().to_vec();
        let folded = order.iter().all(|panel| self.is_folded(*panel));
        // The panels get `self`, to which the column belongs.
        let mut column = std::mem::take(&mut self.column);
        column.show(ui, docks, (width, folded), |ui| {
            for entry in order.iter().filter_map(|panel| panels::entry_of(*panel)) {
                self.show_panel(ui, entry, &order, view, actions);
            }
        });
        self.column = column;
    }

    /// Lays a panel out below the one before, and scrolls to it if it was opened or unfolded. `order` has all panels of
    /// the column.
    fn show_panel(
        &mut self,
        ui: &mut Ui,
        entry: &Entry,
        order: &[Panel],
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let panel = entry.panel;
        let folded = self.is_folded(panel);
        let name = self.title(panel, view, folded);
        let others = order.iter().filter(|other| **other != panel);
        let others: f32 = others.map(|other| self.heights[*other as usize] + theme::GAP).sum();
        let room = ui.clip_rect().height() - others - panel::HEADER_HEIGHT;
        let (folds, rect) = entry.show(ui, &name, folded, actions, |ui, head, actions| {
            self.show_contents(ui, panel, (head, room), view, actions);
        });
        self.heights[panel as usize] = rect.height();
        if self.panels.take_target(panel) {
            // The title of a panel that is higher than the column must not scroll out of sight.
            let align = (rect.height() > ui.clip_rect().height()).then_some(Align::Min);
            ui.scroll_to_rect_animation(rect, align, ScrollAnimation::none());
        }
        // A panel that is unfolded has its height in the next pass.
        self.apply_fold(panel, folds, folded);
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

    /// Lays the contents of a panel out below its title bar `head`. `room` is the height in points that the other panels
    /// of the column leave.
    fn show_contents(
        &mut self,
        ui: &mut Ui,
        panel: Panel,
        (head, room): (Rect, f32),
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let (numbers, switches) = (&self.numbers, &mut self.switches);
        match panel {
            Panel::Stages => stages::show(ui, head, view, numbers, switches, actions),
            Panel::Correction => correction::show(ui, head, view, actions),
            Panel::Timeline => {
                let (live, frozen) = (view.recorder.timeline(), self.panels.frozen_frame());
                let filter = view.shown.map(|shown| shown.variant);
                timeline::show(ui, head, (&live, filter), frozen, switches.hatched);
            }
            Panel::Tuning => padded(ui, MARGIN, |ui| {
                tuning::show(ui, view.tuning, view.auto, &mut self.tuning_variant, actions);
            }),
            Panel::Lab => padded(ui, MARGIN, |ui| lab::show(ui, view, &mut self.lab, switches, actions)),
            Panel::Conversions => padded(ui, MARGIN, |ui| conversions::show(ui, view.conversions, actions)),
            Panel::Kernels => padded(ui, MARGIN, |ui| {
                kernels::show(ui, room - MARGIN.sum().y, view, switches, actions);
            }),
            Panel::Scopes => {
                let margin = Margin { bottom: 0, ..MARGIN };
                padded(ui, margin, |ui| scopes::show(ui, view, switches, actions));
            }
            Panel::Devices => {
                let margin = Margin { bottom: 4, ..Margin::ZERO };
                padded(ui, margin, |ui| devices::show(ui, &view.devices, actions));
            }
            Panel::Scene => padded(ui, MARGIN, |ui| view.scene.iter().for_each(|scene| (scene.contents)(ui))),
            // These are always shown, and laid out by `show_visible`.
            Panel::Numbers | Panel::Graph | Panel::Ladder => {}
        }
    }

    /// Folds or unfolds a panel if the user has requested that. `folded` is true if the panel is folded in this pass.
    fn apply_fold(&mut self, panel: Panel, folds: bool, folded: bool) {
        if folds {
            self.folded[panel as usize] = Some(!folded);
            if folded {
                self.panels.scroll_to(panel);
            }
        }
    }

    /// Lays out the banners in `free`, or only the serious ones if `only_serious`, and the parts that lie over all panels:
    /// the hint or the message, the table of keys, and the field for a path. The hint is postponed while there are banners.
    fn show_notices(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
        view: &View,
        only_serious: bool,
        actions: &mut Vec<Action>,
    ) {
        let (banners, message) = notices::places(free);
        notices::show(ui, banners, view.notices, only_serious, actions);
        if let Some(text) = self.messages.current(ui, self.visible && view.notices.is_empty()) {
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
