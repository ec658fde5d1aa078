//! [`Overlay`]: the state that outlives a pass (one layout of the overlay), and the order in which a pass lays its parts
//! out.

use egui::style::ScrollAnimation;

use crate::cells::CellDetail;
use crate::column::{Column, ColumnState};
use crate::controls::ControlsState;
use crate::hatch::Hatch;
use crate::hidden::{self, HiddenTimers};
use crate::layout::{self, Layout};
use crate::notices::Messages;
use crate::open_panels::{self, OpenPanels};
use crate::panel::{self, ColumnPanel, LabKernel, Pane, Selection, Switches};
use crate::panel_list::COLUMN_PANELS;
use crate::panels::{FoldStates, OpenFlags};
use crate::path_field::PathPrompt;
use crate::prelude::*;
use crate::strip::Strip;
use crate::wipe::WipeLine;
use crate::{code, headline, keys, line, mouse, notices, parameters, scopes, scoreboard, strip, talk};

/// The state of the overlay, which [`Overlay::show`] lays out once per pass. For keys and clicks, the player calls its methods
/// and those of its public fields.
#[derive(Debug, Default)]
pub struct Overlay {
    visible: bool,
    /// True while the talk (the presentation view) is shown in place of the panels.
    talks: bool,
    /// The open panels, and their order in the column.
    pub panels: OpenPanels,
    /// The switches of the heat map, auto-levels, machine code, patterns and the table of keys.
    pub switches: Switches,
    /// The field in which the user types a movie's path.
    pub path_prompt: PathPrompt,
    /// True if the window system does not report files that the user drops on the window.
    pub lacks_drops: bool,
    /// The field of a search in a source that has the keyboard's focus; `None` if there is none.
    search: Option<Id>,
    /// The line between the two sides of a wipe.
    pub wipe_line: WipeLine,
    /// Flags of the panels that the user has folded or unfolded.
    folded: FoldStates,
    column: Column,
    /// The height in points of each panel in the last pass, indexed by [`Panel`]; 0 for panels that were not shown.
    heights: [f32; Panel::ALL.len()],
    messages: Messages,
    hidden: HiddenTimers,
    pub(crate) selection: Selection,
    numbers: Numbers,
}

/// The part of the overlay's state that the settings file keeps from one start to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedState {
    /// True if the overlay is shown; serious notices (banners with errors) are always shown.
    pub visible: bool,
    /// True if a key was pressed, after which the sentence about the program is not shown any more.
    pub hint_seen: bool,
    /// True if stages are drawn with patterns in addition to their colours.
    pub hatched: bool,
    /// Flags of the panels that the user has opened.
    pub open: OpenFlags,
    /// Flags of the panels that the user has folded or unfolded.
    pub folded: FoldStates,
    /// The side and the width of the column of panels.
    pub column: ColumnState,
}

impl Default for SavedState {
    /// Returns the state at the first start: the overlay is visible, and no key was pressed yet.
    fn default() -> Self {
        Self {
            visible: true,
            hint_seen: false,
            hatched: false,
            open: open_panels::INITIAL,
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

    /// Returns the state to keep for the next start.
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

    /// Begins or ends the talk, a presentation view that shows the ladder of variants in large type. It begins also while the
    /// overlay is hidden.
    pub fn toggle_talk(&mut self) {
        self.talks = !self.is_talk_visible();
        self.visible |= self.talks;
    }

    /// Returns the kernels of the variant that is selected in the Lab; `None` if it has none, or while the Lab is not shown.
    pub fn lab_kernel(&self) -> Option<&LabKernel> {
        self.selection.kernel.as_ref().filter(|_| self.is_panel_visible(Panel::Lab))
    }

    /// Returns true if the talk (the presentation view) is on the screen.
    pub fn is_talk_visible(&self) -> bool {
        self.visible && self.talks
    }

    /// Returns true if the user types into a field, which then gets all keys.
    pub fn has_field(&self) -> bool {
        self.path_prompt.is_open() || self.search.is_some()
    }

    /// Takes the keyboard's focus from the field into which the user types.
    pub fn leave_field(&mut self) {
        self.path_prompt.close();
        self.search = None;
    }

    /// Removes the sentence about the program permanently; called for the first key that is pressed.
    pub fn dismiss_hint(&mut self) {
        self.messages.hint_seen = true;
    }

    /// Shows a short message for some seconds, also while the overlay is hidden.
    pub fn show_message(&mut self, text: String) {
        self.messages.show(text);
    }

    /// Returns true if the panel of devices is on the screen, also if it is only shown because the device changes.
    pub fn is_device_list_visible(&self) -> bool {
        self.is_panel_visible(Panel::Devices) || self.panels.device_change.is_running()
    }

    /// Returns true if the overlay shows measurements of the picture (scopes or heat map), which cost device time.
    pub fn needs_readings(&self) -> bool {
        self.visible && !self.talks && (self.switches.heat || self.panels.is_open(Panel::Scopes))
    }

    /// Closes the panels, and puts their column back to its default side and width, as at the first start.
    pub fn reset_panels(&mut self) {
        (self.folded, self.column.state) = Default::default();
        self.panels.close_all();
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
        let field = if self.path_prompt.is_open() { Some(PathPrompt::id()) } else { self.search };
        ui.memory_mut(|memory| {
            if let Some(id) = memory.focused().filter(|id| Some(*id) != field) {
                memory.surrender_focus(id);
            }
        });
        // The parts get `self`, to which the numbers belong.
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.refresh(view.recorder, ui.input(|i| i.time));
        let (lacks_drops, keys_go_right) = (self.lacks_drops, self.wipe_line.pointer_is_right);
        let (actions, fold) = (Vec::new(), None);
        let mut pass = Pass { view, numbers: &numbers, lacks_drops, keys_go_right, actions, fold };
        mouse::handle_picture_input(ui, &mut pass.actions);
        let window = ui.max_rect().shrink(theme::GAP);
        self.hidden.note_changes(view);
        if self.is_talk_visible() {
            let places = talk::Places::new(window, view);
            let [_, other] = describe::COVER_COSTS;
            describe::set_parts(ui.ctx(), vec![(places.ladder, other), (places.variant, other)]);
            // The closing button stands right of the free part.
            let room = window.with_max_x(places.free.right());
            self.wipe_line.show(ui, (room, places.free), &mut pass);
            talk::show(ui, &places, &mut pass);
            self.show_notices(ui, places.free, &mut pass);
        } else if self.visible {
            self.show_visible(ui, window, &mut pass);
        } else {
            self.show_hidden(ui, window, &mut pass);
        }
        let Pass { actions, fold, .. } = pass;
        if let Some((panel, folds)) = fold {
            self.folded[panel as usize] = Some(folds);
            // A panel that is unfolded has its height in the next pass.
            self.panels.target =
                if folds { self.panels.target } else { Some((panel, open_panels::SCROLL_PASSES)) };
        }
        self.numbers = numbers;
        self.search = code::focused_search(ui);
        actions
    }

    /// Lays out all parts of the overlay while it is not hidden.
    fn show_visible(&mut self, ui: &mut Ui, window: Rect, pass: &mut Pass) {
        let view = pass.view;
        if let (true, Some(readings), Some(placed)) = (self.switches.heat, view.readings, view.picture_place)
        {
            let left = self.wipe_line.first_filter_rect(view, placed.rect(ui));
            scopes::draw_heat_map(&ui.painter().with_clip_rect(left), ui, readings, &placed);
        }
        self.panels.expire_device_change(ui, view.devices.is_preparing());
        let shown = COLUMN_PANELS.iter().filter(|panel| (panel.is_shown)(panel.panel, view, &self.panels));
        self.panels.update_order(shown.map(|panel| panel.panel).collect());
        let column = self.column_place(window, view);
        // Space in points left of the text of the folded headline, for the triangle that unfolds it.
        let line = line::width(ui, 26.0, pass);
        let fills = self.panels.order.iter().any(|panel| !self.is_folded(*panel));
        let gives_way = (fills, self.panels.is_open(Panel::Stages));
        let layout = Layout::new(window, (column, &self.folded), line, view, gives_way);
        let docks = column.map(|(width, left)| match left {
            true => layout.docks.with_max_x(layout.docks.left() + width),
            false => layout.docks.with_min_x(layout.docks.right() - width),
        });
        let (group, free) = parameters::place(layout.free, (!layout.line).then_some(layout.headline), view);
        let [read, other] = describe::COVER_COSTS;
        let parts = [
            (Some(layout.headline), read),
            (layout.ladder, other),
            (layout.ladder.map(scoreboard::names), read),
            (layout.graph, other),
            (Some(layout.strip.rect), other),
            (docks, other),
            (group, other),
        ];
        let parts = parts.into_iter().filter_map(|(part, cost)| Some((part?, cost)));
        describe::set_parts(ui.ctx(), parts.collect());
        self.wipe_line.show(ui, (window, free), pass);
        if layout.headline.height() >= panel::HEADER_HEIGHT && layout.headline.width() > 60.0 {
            headline::show(ui, (layout.headline, layout.line), pass);
        }
        if let Some(rect) = layout.graph {
            let shows_stages = self.panels.is_open(Panel::Stages);
            let hatch = shows_stages.then(|| Hatch::new(ui, self.switches.hatched));
            strip::show_graph(ui, (rect, self.is_folded(Panel::Graph)), hatch.as_ref(), pass);
        }
        if let Some(rect) = layout.ladder {
            scoreboard::show(ui, (rect, self.is_folded(Panel::Ladder)), pass);
        }
        self.show_strip(ui, &layout.strip, group, pass);
        self.show_column(ui, layout.docks, column, pass);
        self.panels.unfreeze_on_click(ui, &pass.actions);
        self.show_notices(ui, free, pass);
    }

    /// Returns the width of the column of panels, and true if it is at the left side of `window`; `None` if no panel is open.
    fn column_place(&mut self, window: Rect, view: &View) -> layout::ColumnPlace {
        let is_unfolded = |panel: &Panel| !self.is_folded(*panel);
        let unfolded: Vec<Panel> = self.panels.order.iter().copied().filter(is_unfolded).collect();
        let widths =
            COLUMN_PANELS.iter().filter(|panel| unfolded.contains(&panel.panel)).map(|panel| panel.width);
        let least = widths.fold(0.0, f32::max);
        let width = self.column.width(window, unfolded.is_empty(), least, view.variants.len());
        (!self.panels.order.is_empty()).then_some((width, self.column.state.left))
    }

    /// Lays out the parts that are shown while the overlay is hidden: the line of statistics for some seconds after a change,
    /// the controls while the mouse is at the lower edge, the panel of devices while the device changes, and serious notices.
    fn show_hidden(&mut self, ui: &mut Ui, window: Rect, pass: &mut Pass) {
        self.panels.unfreeze();
        let view = pass.view;
        let detail = CellDetail::for_height(window.height());
        let strip = Strip::new(window, Some(view.variants.len()), detail);
        let mut room = window;
        let shows_line = self.hidden.shows_line(ui, view);
        let shows_controls = self.hidden.shows_controls(ui, window, strip.rect.top());
        if shows_controls {
            room.max.y = (strip.rect.top() - theme::GAP).max(window.top());
        }
        room.min.y = (room.top() + panel::HEADER_HEIGHT + theme::GAP).min(room.bottom());
        self.panels.expire_device_change(ui, view.devices.is_preparing());
        let shown = self.panels.device_change.is_running().then_some(Panel::Devices);
        self.panels.update_order(shown.into_iter().collect());
        let column = self.column_place(window, view);
        let free = layout::beside_column(room, column);
        let docks = column.map(|(width, left)| match left {
            true => room.with_max_x(room.left() + width),
            false => room.with_min_x(room.right() - width),
        });
        let (group, free) = match shows_controls {
            true => parameters::place(free, None, view),
            false => (None, free),
        };
        let parts = shows_controls.then_some(strip.rect).into_iter().chain(docks).chain(group);
        let [_, other] = describe::COVER_COSTS;
        describe::set_parts(ui.ctx(), parts.map(|part| (part, other)).collect());
        self.wipe_line.show(ui, (room, free), pass);
        if shows_line {
            hidden::draw_line(ui, window, pass);
        }
        if shows_controls {
            self.show_strip(ui, &strip, group, pass);
        }
        self.show_column(ui, room, column, pass);
        self.show_notices(ui, free, pass);
    }

    /// Lays out the strip along the bottom, and the group of the filter's parameters in `group`; `None` if there is none.
    fn show_strip(&self, ui: &mut Ui, strip: &Strip, group: Option<Rect>, pass: &mut Pass) {
        if let Some(rect) = group {
            parameters::show_group(ui, rect, pass);
        }
        let state = ControlsState {
            visible: self.visible,
            keys_open: self.switches.keys,
            panels: &self.panels,
            column_left: self.column.state.left,
            has_group: group.is_some(),
        };
        strip::show(ui, strip, &state, pass);
    }

    /// Lays out the column of panels at the left or right side of `docks`, if a panel is open and its title has room.
    fn show_column(&mut self, ui: &mut Ui, docks: Rect, column: layout::ColumnPlace, pass: &mut Pass) {
        let Some((width, _)) = column.filter(|_| docks.height() >= panel::HEADER_HEIGHT) else { return };
        let order = self.panels.order.clone();
        let folded = order.iter().all(|panel| self.is_folded(*panel));
        // The panels get `self`, to which the column belongs.
        let mut column = std::mem::take(&mut self.column);
        column.show(ui, docks, (width, folded), |ui| {
            let panel = |id: &Panel| COLUMN_PANELS.iter().find(|listed| listed.panel == *id);
            let mut place = None;
            for panel in order.iter().filter_map(panel) {
                let rect = self.show_panel(ui, panel, pass);
                place =
                    place.or(self.panels.target.filter(|(target, _)| *target == panel.panel).map(|_| rect));
            }
            // After all panels, since one of them may scroll to a line of its source.
            if let Some((rect, (target, passes))) = place.zip(self.panels.target) {
                // The title of a panel that is higher than the column must not scroll out of sight.
                let align = (rect.height() > ui.clip_rect().height()).then_some(Align::Min);
                ui.scroll_to_rect_animation(rect, align, ScrollAnimation::none());
                self.panels.target = (passes > 1).then_some((target, passes - 1));
                ui.ctx().request_repaint();
            }
        });
        self.column = column;
    }

    /// Lays a panel out below the previous one. Returns its rectangle.
    fn show_panel(&mut self, ui: &mut Ui, panel: &ColumnPanel, pass: &mut Pass) -> Rect {
        let id = panel.panel;
        let folded = self.is_folded(id);
        let mut title = panel.menu.0.to_owned();
        if let Some(shown) = (panel.shown)(pass.view, &self.panels) {
            title = format!("{title}: {shown}");
        }
        if folded && let Some(progress) = (panel.progress)(pass.view) {
            title = format!("{title}, {progress}");
        }
        let others = self.panels.order.iter().filter(|other| **other != id);
        let others: f32 = others.map(|other| self.heights[*other as usize] + theme::GAP).sum();
        let room = ui.clip_rect().height() - others - panel::HEADER_HEIGHT;
        let rect = panel::show_frame(ui, panel, (&title, folded), pass, |ui, head, pass| {
            if !folded {
                let (switches, panels, selection) = (&mut self.switches, &self.panels, &mut self.selection);
                let mut pane = Pane { pass, head, room, switches, panels, selection };
                panel::padded(ui, panel.margin, |ui| (panel.show)(ui, &mut pane));
            }
        });
        self.heights[id as usize] = rect.height();
        rect
    }

    /// Lays out the banners in `free`, only the serious ones in the talk and while the overlay is hidden, and the parts that
    /// lie over all panels: the hint or the message, the table of keys, and the field for a path. Postpones the hint while
    /// there are banners.
    fn show_notices(&mut self, ui: &mut Ui, free: Rect, pass: &mut Pass) {
        let window = ui.max_rect().shrink(theme::GAP);
        let (banners, message) = notices::places(free);
        notices::show(ui, banners, self.talks || !self.visible, pass);
        let of_filter = pass.view.chosen.opened().is_some();
        let hint = if of_filter { keys::FILTER_HINT } else { keys::HINT };
        let may_hint = self.visible && pass.view.notices.is_empty();
        self.messages.show_current(ui, message, may_hint.then_some(hint));
        if self.switches.keys {
            keys::show(ui, window, self.talks, pass);
        }
        self.path_prompt.show(ui, window, self.talks, pass);
    }
}

/// Returns the factor, from 1 to 4, by which everything is larger than in a window of 1280×720 points, since a full screen is
/// seen from farther away. `width` and `height` are the window's size in points. The factor is never below 1: a small window
/// shows less instead.
pub fn zoom(width: f32, height: f32) -> f32 {
    let zoom = (width / 1280.0).min(height / 720.0);
    if zoom.is_finite() { zoom.clamp(1.0, 4.0) } else { 1.0 }
}
