//! The panels that are opened by a click or a key: their list, and where each of them lies. In: the [`Layout`] of the rest.
//! Out: what was asked for in them.

use std::time::Duration;

use egui::{Align2, Rect, Ui, Vec2, vec2};

use super::dock::{self, Narrow, Wish};
use super::place::{self, Folds, Panel, Title};
use super::{
    Action, Layout, Overlay, View, conversions, correction, devices, kernels, lab, panel, scene, scopes,
    stages, timeline, tuning,
};

/// Lays a panel out in a rectangle, and notes what was asked for.
type Show = fn(&mut Overlay, &mut Ui, Rect, &View, &mut Vec<Action>) -> (Title, f32);

/// A panel that is opened by a click or a key. Its file has one, and [`ENTRIES`] lists them.
pub struct Entry {
    /// Which panel.
    pub panel: Panel,
    /// The key that opens and closes it, and what that does in the table of keys.
    pub key: Option<(&'static str, &'static str)>,
    /// Its line in the menu: its name, and what the hover text says.
    pub menu: (&'static str, &'static str),
    /// Its size in points: room of this height is sought for it, less where its contents are lower.
    pub size: Vec2,
    /// The least of that it can be read in: the rest scrolls.
    pub least: Vec2,
    /// The corner of the room that it lies nearest to.
    pub corner: Align2,
    /// Whether it is shown.
    pub is_shown: fn(&Overlay, &View) -> bool,
    /// Lays it out. Returns what was done with its title, and the height that it would like to have.
    pub show: Show,
}

/// All of them, in the order of the menu.
pub const ENTRIES: [Entry; 10] = [
    stages::ENTRY,
    timeline::ENTRY,
    tuning::ENTRY,
    lab::ENTRY,
    conversions::ENTRY,
    kernels::ENTRY,
    scopes::ENTRY,
    correction::ENTRY,
    devices::ENTRY,
    scene::ENTRY,
];

impl Entry {
    /// What its key and its line in the menu do.
    pub fn action(&self) -> Action {
        match self.panel {
            // It is there as long as colours are corrected.
            Panel::Correction => Action::ToggleCorrection,
            panel => Action::Toggle(panel),
        }
    }

    /// Whether there is something to show: not each scene has a panel.
    pub(crate) fn is_there(&self, view: &View) -> bool {
        self.panel != Panel::Scene || view.scene.is_some()
    }
}

/// Why a pass is done again: a panel is shown only in the height that its contents need.
const OTHER_HEIGHT: &str = "a panel has another height";
/// What is left of a panel that scrolls, at least, in points.
pub(super) const LEAST: f32 = 100.0;
/// Width of a panel of which only the title is left.
const FOLDED: f32 = 190.0;
/// Seconds that the devices stay after a change.
const DEVICES_S: f64 = 5.0;

/// Where everything is in a pass.
pub(super) struct Arranged {
    /// What is always there.
    pub layout: Layout,
    /// The panels that are opened and were not moved, as far as there is room.
    pub docks: [Option<Rect>; Panel::ALL.len()],
    /// Where banners and messages are.
    pub banners: Rect,
    pub message: Rect,
}

/// The heights that panels would like to have, before their contents have said so.
pub(super) fn first_heights() -> [f32; Panel::ALL.len()] {
    let mut heights = [0.0; Panel::ALL.len()];
    ENTRIES.iter().for_each(|entry| heights[entry.panel as usize] = entry.size.y);
    heights
}

fn entry(panel: Panel) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.panel == panel)
}

impl Overlay {
    /// Opens or closes a panel.
    pub fn toggle(&mut self, panel: Panel) {
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

    /// Notes which panels are open, in the order in which that was asked for.
    pub(super) fn note_opened(&mut self, view: &View) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.retain(|panel| entry(*panel).is_none_or(|entry| (entry.is_shown)(self, view)));
        for entry in ENTRIES.iter().filter(|entry| (entry.is_shown)(self, view)) {
            if !recent.contains(&entry.panel) {
                recent.push(entry.panel);
            }
        }
        self.recent = recent;
    }

    /// The panels that give way, from the one that does so first: the graph, the one that was opened or unfolded longest
    /// ago, the rungs, the headline, and the newest one last.
    fn giving_way(&self) -> Vec<Panel> {
        let untouched = |panel: &Panel| !self.recent.contains(panel);
        let mut order: Vec<Panel> = [Panel::Graph].into_iter().filter(untouched).collect();
        let (newest, older) =
            self.recent.split_last().map_or((None, &[][..]), |(last, rest)| (Some(*last), rest));
        order.extend(older);
        order.extend([Panel::Ladder, Panel::Numbers].into_iter().filter(untouched));
        order.extend(newest);
        // Who moved a panel chose what it covers.
        order.retain(|panel| self.is_docked(*panel));
        order
    }

    /// Finds a place for everything in `window` so that nothing lies over anything else: where there is no room for all,
    /// older panels are folded to their titles, and left out where there is none even for these. `line` is the width that
    /// the folded headline would like to have.
    pub(super) fn arrange(&mut self, window: Rect, line: f32, view: &View) -> Arranged {
        let order = self.giving_way();
        let opened: Vec<&Entry> = self.recent.iter().filter_map(|panel| entry(*panel)).collect();
        let opened: Vec<&Entry> = opened.into_iter().filter(|entry| self.is_docked(entry.panel)).collect();
        let banners = (!view.notices.is_empty()).then_some(self.banners_height);
        let most = match banners {
            // They are newer than the newest panel.
            Some(_) => order.len(),
            None if opened.is_empty() => 0,
            None => order.len().saturating_sub(1),
        };
        let layout = |folded: &[Panel]| {
            let mut folds: Folds = self.folded;
            folded.iter().for_each(|panel| folds[*panel as usize] = Some(true));
            // Without a panel of their own the rungs leave the strip.
            let variants = (view.variants.len(), !folded.contains(&Panel::Ladder));
            Layout::new(window, variants, &folds, &self.places, line)
        };
        let attempt = |&(folded, left_out, narrow): &(usize, usize, Narrow)| {
            let layout = layout(&order[..folded]);
            let is_folded = |panel| order[..folded].contains(&panel) || self.is_folded_by_user(panel);
            let wishes = opened[left_out..].iter().map(|entry| self.wish(entry, is_folded(entry.panel)));
            let wishes: Vec<Wish> = wishes.collect();
            let docks = dock::arrange(layout.above, &self.taken(&layout), &wishes, narrow, banners)?;
            Some((layout, docks, folded, left_out))
        };
        // The newest one keeps its size as long as another can give way.
        let full = (0..=most).flat_map(|folded| [(folded, 0, Narrow::Nobody), (folded, 0, Narrow::Older)]);
        let narrow = [Narrow::Half, Narrow::All].into_iter();
        let narrow = narrow.flat_map(|narrow| (0..=most).map(move |folded| (folded, 0, narrow)));
        let fewer = (1..opened.len()).map(|left_out| (most, left_out, Narrow::All));
        let found = full.chain(narrow).chain(fewer).find_map(|way| attempt(&way));
        let mut docks = [None; Panel::ALL.len()];
        let (arranged, folded) = match found {
            Some((layout, found, folded, left_out)) => {
                for (entry, rect) in opened[left_out..].iter().zip(found.panels) {
                    docks[entry.panel as usize] = Some(rect);
                }
                let banners = found.banners.unwrap_or(layout.free);
                (Arranged { layout, docks, banners, message: found.message }, folded)
            }
            None => {
                // In a window as small as this the newest lies over the rest.
                let layout = layout(&order[..most]);
                if let Some(entry) = opened.last() {
                    docks[entry.panel as usize] = Some(self.over_all(entry, window));
                }
                (Arranged { layout, docks, banners: layout.free, message: layout.free }, most)
            }
        };
        self.gives_way = Panel::ALL.map(|panel| order[..folded].contains(&panel));
        arranged
    }

    fn over_all(&self, entry: &Entry, window: Rect) -> Rect {
        let size = vec2(self.width_of(entry), self.heights[entry.panel as usize]);
        place::floating([f32::MAX, 0.0], size, window)
    }

    fn is_docked(&self, panel: Panel) -> bool {
        self.places[panel as usize].is_none()
    }

    /// What is always there and was not moved, in the room of the panels.
    fn taken(&self, layout: &Layout) -> Vec<Rect> {
        let parts = [(Panel::Numbers, Some(layout.headline)), (Panel::Ladder, layout.ladder)];
        let docked = |(panel, rect): (Panel, Option<Rect>)| rect.filter(|_| self.is_docked(panel));
        parts.into_iter().filter_map(docked).collect()
    }

    /// What a panel would like to have.
    fn wish(&self, entry: &Entry, folded: bool) -> Wish {
        if folded {
            let size = vec2(entry.size.x.min(FOLDED), panel::HEADER);
            return Wish { size, least: size, height: size.y, corner: entry.corner };
        }
        let height = self.heights[entry.panel as usize];
        let size = vec2(self.width_of(entry), entry.size.y.min(height));
        Wish { size, least: entry.least.min(size), height, corner: entry.corner }
    }

    /// All of them that are open, the newest last.
    pub(super) fn panels(
        &mut self,
        ui: &mut Ui,
        arranged: &Arranged,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        for entry in self.recent.clone().into_iter().filter_map(entry) {
            let dock = arranged.docks[entry.panel as usize];
            self.open_panel(ui, entry, dock, arranged.layout.window, view, actions);
        }
    }

    /// The devices in the hidden overlay, which are shown for a change alone, in a room that a line of numbers may take
    /// a part of. Returns where banners and messages are.
    pub(super) fn devices_alone(
        &mut self,
        ui: &mut Ui,
        (room, line): (Rect, Option<Rect>),
        view: &View,
        actions: &mut Vec<Action>,
    ) -> (Rect, Rect) {
        self.look_after_devices(ui, view);
        let is_shown = self.devices_shown();
        let is_docked = is_shown && self.is_docked(Panel::Devices);
        let wishes = is_docked.then(|| self.wish(&devices::ENTRY, self.is_folded_by_user(Panel::Devices)));
        let banners = view.notices.iter().any(|notice| notice.serious).then_some(self.banners_height);
        let taken: Vec<Rect> = line.into_iter().collect();
        let narrow = [Narrow::Nobody, Narrow::All];
        let docks = narrow
            .into_iter()
            .find_map(|narrow| dock::arrange(room, &taken, wishes.as_slice(), narrow, banners));
        if is_shown {
            let dock = docks.as_ref().and_then(|docks| docks.panels.first().copied());
            let dock = dock.unwrap_or_else(|| self.over_all(&devices::ENTRY, room));
            self.open_panel(ui, &devices::ENTRY, Some(dock), room, view, actions);
        }
        docks.map_or((room, room), |docks| (docks.banners.unwrap_or(room), docks.message))
    }

    /// A panel in its `dock`, or where it was moved to in the `window`.
    fn open_panel(
        &mut self,
        ui: &mut Ui,
        entry: &Entry,
        dock: Option<Rect>,
        window: Rect,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        let at = entry.panel as usize;
        let folded = self.is_folded(entry.panel);
        let size = vec2(self.width_of(entry), if folded { panel::HEADER } else { self.heights[at] });
        let rect = match self.places[at] {
            None => dock,
            Some(place) => Some(place::floating(place, size, window)),
        };
        let Some(rect) = rect.filter(|rect| rect.width() >= 60.0 && rect.height() >= panel::HEADER - 1.0)
        else {
            return;
        };
        let (title, height) = (entry.show)(self, ui, rect, view, actions);
        self.took(entry.panel, title, folded);
        if height != self.heights[at] && !folded {
            self.heights[at] = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The width that a panel would like to have.
    fn width_of(&self, entry: &Entry) -> f32 {
        match (entry.panel, self.machine_code) {
            (Panel::Kernels, true) => 2.0 * entry.size.x,
            _ => entry.size.x,
        }
    }

    /// Takes the devices away that were shown for a change alone, after a while.
    pub(super) fn look_after_devices(&mut self, ui: &Ui, view: &View) {
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
    }
}
