//! The panels that are opened by a click or a key: their list, and where each of them lies. In: the [`Layout`] of the rest.
//! Out: what was asked for in them.

use std::time::Duration;

use egui::{Align2, Rect, Ui, Vec2, vec2};

use super::dock::{self, Wish};
use super::place::{self, Panel, Title};
use super::{
    Action, Layout, Overlay, View, correction, devices, lab, panel, scopes, stages, theme, timeline, tuning,
};

/// Lays a panel out in a rectangle, and notes what was asked for.
type Show = fn(&mut Overlay, &mut Ui, Rect, &View, &mut Vec<Action>) -> (Title, f32);

/// A panel that is opened by a click or a key. Its file has one, and [`ENTRIES`] lists them.
pub(crate) struct Entry {
    /// Which panel.
    pub panel: Panel,
    /// The key that opens and closes it, and what that does in the table of keys.
    pub key: Option<(&'static str, &'static str)>,
    /// Its button: the word, what its hover text says, and how much it matters where not all buttons fit.
    pub button: (&'static str, &'static str, u8),
    /// Its size in points, before its contents have said how high they are.
    pub size: Vec2,
    /// The least of that it can be read in: the rest scrolls.
    pub least: Vec2,
    /// The corner of the room that it lies in.
    pub corner: Align2,
    /// Whether it is shown.
    pub is_shown: fn(&Overlay, &View) -> bool,
    /// Lays it out. Returns what was done with its title, and the height that it would like to have.
    pub show: Show,
}

/// All of them, in the order of their buttons.
pub(crate) const ENTRIES: [Entry; 7] = [
    stages::ENTRY,
    timeline::ENTRY,
    tuning::ENTRY,
    lab::ENTRY,
    scopes::ENTRY,
    correction::ENTRY,
    devices::ENTRY,
];

/// Those that lie beside each other where they were not moved, in the order in which they get room.
const DOCKED: [Entry; 6] =
    [correction::ENTRY, timeline::ENTRY, scopes::ENTRY, devices::ENTRY, tuning::ENTRY, lab::ENTRY];

impl Entry {
    /// What its key and its button do.
    pub(crate) fn action(&self) -> Action {
        match self.panel {
            // It is there as long as colours are corrected.
            Panel::Correction => Action::ToggleCorrection,
            panel => Action::Toggle(panel),
        }
    }
}

/// Why a pass is done again: a panel is shown only in the height that its contents need.
const OTHER_HEIGHT: &str = "a panel has another height";
/// What is left of a panel that scrolls, at least, in points.
pub(super) const LEAST: f32 = 100.0;
/// Where panels lie that were not moved.
type Docks = [Option<Rect>; Panel::ALL.len()];
/// Seconds that the devices stay after a change.
const DEVICES_S: f64 = 5.0;

/// The heights that panels would like to have, before their contents have said so.
pub(super) fn first_heights() -> [f32; Panel::ALL.len()] {
    let mut heights = [0.0; Panel::ALL.len()];
    ENTRIES.iter().for_each(|entry| heights[entry.panel as usize] = entry.size.y);
    heights
}

/// Whether there is room for any panel at all.
fn is_roomy(window: Rect) -> bool {
    window.width() >= 60.0 && window.height() >= 60.0
}

/// The room for news below a panel that lies in it, so that they cover none of its buttons; all of it where too little would
/// be left.
fn beside(news: Rect, panel: Option<Rect>) -> Rect {
    match panel.filter(|panel| panel.intersects(news)) {
        Some(panel) if news.bottom() - panel.bottom() >= LEAST + theme::GAP => {
            news.with_min_y(panel.bottom() + theme::GAP)
        }
        _ => news,
    }
}

impl Overlay {
    /// Opens or closes a panel.
    pub(crate) fn toggle(&mut self, panel: Panel) {
        let is_shown = match panel {
            Panel::Devices => self.devices_shown(),
            Panel::Tuning => self.tuning_shown(),
            Panel::Timeline => self.timeline_shown(),
            panel => self.open[panel as usize],
        };
        self.open[panel as usize] = !is_shown;
        match panel {
            Panel::Devices => self.devices_until = None,
            Panel::Tuning => self.tuning_news = false,
            Panel::Timeline => self.let_go(),
            _ => {}
        }
    }

    /// All of them that are open. Returns where there is room for news.
    pub(super) fn panels(
        &mut self,
        ui: &mut Ui,
        layout: &Layout,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Rect {
        let window = layout.window;
        let home = |size: Vec2| layout.stages(size);
        let stages = self.open_panel(ui, &stages::ENTRY, window, &home, view, actions);
        // Where the headline is a line, the table of stages takes the left.
        let mut free = layout.free;
        let aside = |stages: &Rect| free.right() - stages.right() >= devices::WIDTH + theme::GAP;
        let is_home = self.places[Panel::Stages as usize].is_none();
        if let Some(stages) = stages.filter(|stages| is_home && stages.intersects(free) && aside(stages)) {
            free.min.x = stages.right() + theme::GAP;
        }
        let docks = self.docks(free, view);
        let mut in_news = None;
        for panel in
            [Panel::Timeline, Panel::Correction, Panel::Scopes, Panel::Devices, Panel::Tuning, Panel::Lab]
        {
            let Some(entry) = DOCKED.iter().find(|entry| entry.panel == panel) else { continue };
            let rect = match panel {
                Panel::Devices => self.devices(ui, window, free, docks[panel as usize], view, actions),
                _ => {
                    let home =
                        |size| docks[panel as usize].unwrap_or_else(|| entry.docked(size, free, window));
                    // The sliders stay above the strip where there is room.
                    let small = layout.above.height() < entry.size.y;
                    let area = if panel == Panel::Correction && !small { layout.above } else { window };
                    self.open_panel(ui, entry, area, &home, view, actions)
                }
            };
            if matches!(panel, Panel::Tuning | Panel::Lab) && rect.is_some() {
                in_news = rect;
            }
        }
        beside(layout.news(), in_news)
    }

    /// A panel, if it is open: at its `home`, which has this size, or where it was moved to within `area`. Returns where it
    /// is.
    fn open_panel(
        &mut self,
        ui: &mut Ui,
        entry: &Entry,
        area: Rect,
        home: &dyn Fn(Vec2) -> Rect,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Option<Rect> {
        if !(entry.is_shown)(self, view) || !is_roomy(area) {
            return None;
        }
        let at = entry.panel as usize;
        let folded = self.is_folded(entry.panel);
        let size = vec2(entry.size.x, if folded { panel::HEADER } else { self.heights[at] });
        let rect = match self.places[at] {
            None => home(size),
            Some(place) => place::floating(place, size, area),
        };
        let (title, height) = (entry.show)(self, ui, rect, view, actions);
        self.took(entry.panel, title, folded);
        if height != self.heights[at] && !folded {
            self.heights[at] = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
        Some(rect)
    }

    /// Where the panels lie that are open and were not moved; nothing where they cannot all be read there.
    fn docks(&self, free: Rect, view: &View) -> Docks {
        let wish = |entry: &Entry| {
            let folded = self.is_folded(entry.panel);
            let height = if folded { panel::HEADER } else { self.heights[entry.panel as usize] };
            let size = vec2(entry.size.x, height);
            // What scrolls gives way to others, not to a room that is too low for it alone.
            let alone = entry.least.y == LEAST && height > free.height();
            let least = if alone { size } else { entry.least.min(size) };
            let (top, right) = (entry.corner.y() == egui::Align::Min, entry.corner.x() == egui::Align::Max);
            Wish { size, least, top, right }
        };
        let is_docked =
            |entry: &&Entry| (entry.is_shown)(self, view) && self.places[entry.panel as usize].is_none();
        let open: Vec<&Entry> = DOCKED.iter().filter(is_docked).collect();
        let wishes: Vec<Wish> = open.iter().map(|entry| wish(entry)).collect();
        let mut docks = Docks::default();
        for (entry, rect) in open.into_iter().zip(dock::arrange(free, &wishes).unwrap_or_default()) {
            docks[entry.panel as usize] = Some(rect);
        }
        docks
    }

    /// The panel of devices, where it is open or the device changes. Returns where it is.
    pub(super) fn devices(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
        dock: Option<Rect>,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Option<Rect> {
        let now = ui.input(|i| i.time);
        if let Some(until) = &mut self.devices_until {
            let at = until.get_or_insert(now + DEVICES_S);
            // As long as one is being made ready, that is news.
            if view.devices.is_preparing() {
                *at = at.max(now + DEVICES_S);
            }
            if now < *at {
                ui.ctx().request_repaint_after(Duration::from_secs_f64(*at - now));
            } else {
                self.devices_until = None;
            }
        }
        let home = |size| dock.unwrap_or_else(|| devices::ENTRY.docked(size, free, window));
        self.open_panel(ui, &devices::ENTRY, window, &home, view, actions)
    }
}

impl Entry {
    /// Where it lies that was not moved and has no dock: in its corner of `free`; over everything else, at the right, where
    /// there is no room.
    fn docked(&self, size: Vec2, free: Rect, window: Rect) -> Rect {
        let least = self.least.min(size);
        match self.least.y == LEAST || self.least == self.size {
            true if free.width() < size.x || free.height() < size.y => {
                place::floating([f32::MAX, 0.0], size, window)
            }
            true => self.corner.align_size_within_rect(size, free),
            // What can be smaller lies over the graph.
            false if free.width() < least.x || free.height() < least.y => {
                place::floating([f32::MAX, f32::MAX], size, window)
            }
            false => place::floating([f32::MAX, f32::MAX], size, free),
        }
    }
}
