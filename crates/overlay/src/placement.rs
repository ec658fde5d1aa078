//! Places all panels in the window so that none covers another, except for those that the user has moved.

use egui::{Rect, vec2};

use crate::dock::{self, DockRequest, DockedPlaces, ShrinkMode};
use crate::layout::Layout;
use crate::open_panels::OpenPanels;
use crate::panel::{self, Entry};
use crate::panels::{self, ENTRIES};
use crate::place::{self, FoldStates, Panel, PanelPositions};
use crate::switches::Switches;
use crate::view::View;

/// Width in points of a panel of which only the title bar is shown.
const FOLDED_WIDTH: f32 = 190.0;
/// Assumed height in points of banners that were not laid out yet.
const INITIAL_BANNERS_HEIGHT: f32 = 120.0;

/// The rectangles of all parts of the overlay in one pass.
pub(crate) struct Arrangement {
    /// The parts that are always shown.
    pub layout: Layout,
    /// The rectangles of the open panels that the user has not moved, indexed by [`Panel`]; `None` for a panel without
    /// room.
    pub docks: [Option<Rect>; Panel::ALL.len()],
    pub banners: Rect,
    pub message: Rect,
}

/// The folded and the moved panels, and the heights that all panels need.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The panels that the user has folded or unfolded.
    pub folded: FoldStates,
    /// The places to which the user has moved panels.
    pub places: PanelPositions,
    /// The heights in points that the contents of the panels and the banners need, as of the last pass.
    heights: [f32; Panel::ALL.len()],
    banners_height: f32,
    /// True for each panel that the last [`Placement::arrange`] has folded because newer panels need the room.
    auto_folded: [bool; Panel::ALL.len()],
}

impl Default for Placement {
    /// Creates a placement in which no panel is folded by the user or moved.
    fn default() -> Self {
        let mut heights = [0.0; Panel::ALL.len()];
        ENTRIES.iter().for_each(|entry| heights[entry.panel as usize] = entry.size.y);
        Self {
            folded: FoldStates::default(),
            places: PanelPositions::default(),
            heights,
            banners_height: INITIAL_BANNERS_HEIGHT,
            auto_folded: [false; Panel::ALL.len()],
        }
    }
}

impl Placement {
    /// Returns true if a panel is folded, by the user or because another panel needs the room.
    pub(crate) fn is_folded(&self, panel: Panel) -> bool {
        self.auto_folded[panel as usize] || self.is_folded_by_user(panel)
    }

    /// Returns true if the user has folded the panel. Without a choice of the user, only the panel of a scene is folded.
    fn is_folded_by_user(&self, panel: Panel) -> bool {
        self.folded[panel as usize].unwrap_or(panel == Panel::Scene)
    }

    /// Returns true if the panel has its default place, that is, the user has not moved it.
    fn has_default_place(&self, panel: Panel) -> bool {
        self.places[panel as usize].is_none()
    }

    /// Stores the height that a panel's contents need. Returns true if it has changed.
    pub(crate) fn set_height(&mut self, panel: Panel, height: f32) -> bool {
        std::mem::replace(&mut self.heights[panel as usize], height) != height
    }

    /// Stores the height that the banners need. Returns true if it has changed.
    pub(crate) fn set_banners_height(&mut self, height: f32) -> bool {
        std::mem::replace(&mut self.banners_height, height) != height
    }

    /// Finds a place for everything in `window` so that nothing covers anything else. If there is not enough room, older
    /// panels are folded to their title bars, and left out if there is no room for these. `line_width` is the width in
    /// points that the folded headline needs.
    pub(crate) fn arrange(
        &mut self,
        window: Rect,
        line_width: f32,
        view: &View,
        open: &OpenPanels,
        switches: &Switches,
    ) -> Arrangement {
        let order = self.fold_order(open.recent());
        let opened = open.recent().iter().filter_map(|panel| panels::entry_of(*panel));
        let opened: Vec<&Entry> = opened.filter(|entry| self.has_default_place(entry.panel)).collect();
        let banners = (!view.notices.is_empty()).then_some(self.banners_height);
        let most = match banners {
            // Banners are newer than the newest panel.
            Some(_) => order.len(),
            None if opened.is_empty() => 0,
            None => order.len().saturating_sub(1),
        };
        let layout = |folded: &[Panel]| {
            let mut folds: FoldStates = self.folded;
            folded.iter().for_each(|panel| folds[*panel as usize] = Some(true));
            // Without a panel of their own the variants leave the strip too.
            let variants = (view.variants.len(), !folded.contains(&Panel::Ladder));
            Layout::new(window, variants, &folds, &self.places, line_width)
        };
        let attempt = |&(folded, left_out, narrow): &(usize, usize, ShrinkMode)| {
            let layout = layout(&order[..folded]);
            let is_folded = |panel| order[..folded].contains(&panel) || self.is_folded_by_user(panel);
            let request = |entry: &&Entry| {
                self.dock_request(entry, panel_width(entry, switches), is_folded(entry.panel))
            };
            let requests: Vec<DockRequest> = opened[left_out..].iter().map(request).collect();
            let docks =
                dock::arrange(layout.above, &self.occupied_rects(&layout), &requests, narrow, banners)?;
            Some((layout, docks, folded, left_out))
        };
        // The newest panel keeps its size as long as another one can be folded or narrowed.
        let full =
            (0..=most).flat_map(|folded| [(folded, 0, ShrinkMode::None), (folded, 0, ShrinkMode::Older)]);
        let narrow = [ShrinkMode::Half, ShrinkMode::All].into_iter();
        let narrow = narrow.flat_map(|narrow| (0..=most).map(move |folded| (folded, 0, narrow)));
        let fewer = (1..opened.len()).map(|left_out| (most, left_out, ShrinkMode::All));
        let found = full.chain(narrow).chain(fewer).find_map(|attempted| attempt(&attempted));
        let mut docks = [None; Panel::ALL.len()];
        let (arranged, folded) = match found {
            Some((layout, found, folded, left_out)) => {
                for (entry, rect) in opened[left_out..].iter().zip(found.panels) {
                    docks[entry.panel as usize] = Some(rect);
                }
                let banners = found.banners.unwrap_or(layout.free);
                (Arrangement { layout, docks, banners, message: found.message }, folded)
            }
            None => {
                // In a window as small as this the newest panel covers the rest.
                let layout = layout(&order[..most]);
                if let Some(entry) = opened.last() {
                    docks[entry.panel as usize] =
                        Some(self.corner_rect(entry, panel_width(entry, switches), window));
                }
                (Arrangement { layout, docks, banners: layout.free, message: layout.free }, most)
            }
        };
        self.auto_folded = Panel::ALL.map(|panel| order[..folded].contains(&panel));
        arranged
    }

    /// Finds places in the hidden overlay, where only a change of device shows a panel. `line` is the part of `room` that
    /// the line of statistics covers.
    pub(crate) fn arrange_hidden(
        &self,
        room: Rect,
        line: Option<Rect>,
        view: &View,
        is_device_list_visible: bool,
    ) -> DockedPlaces {
        let entry = panels::entry_of(Panel::Devices).filter(|_| is_device_list_visible);
        let docked = entry.filter(|entry| self.has_default_place(entry.panel));
        let request =
            docked.map(|entry| self.dock_request(entry, entry.size.x, self.is_folded_by_user(entry.panel)));
        let banners = view.notices.iter().any(|notice| notice.serious).then_some(self.banners_height);
        let mut narrow = [ShrinkMode::None, ShrinkMode::All].into_iter();
        let arranged = narrow
            .find_map(|narrow| dock::arrange(room, line.as_slice(), request.as_slice(), narrow, banners));
        arranged.unwrap_or_else(|| DockedPlaces {
            panels: docked.iter().map(|entry| self.corner_rect(entry, entry.size.x, room)).collect(),
            banners: None,
            message: room,
        })
    }

    /// Returns the rectangle of a panel: `dock`, the place found for it, or the place in `window` to which the user has
    /// moved it. Returns `None` if there is no room.
    pub(crate) fn panel_rect(
        &self,
        entry: &Entry,
        switches: &Switches,
        dock: Option<Rect>,
        window: Rect,
    ) -> Option<Rect> {
        let at = entry.panel as usize;
        let height = if self.is_folded(entry.panel) { panel::HEADER_HEIGHT } else { self.heights[at] };
        let rect = match self.places[at] {
            None => dock?,
            Some(place) => place::clamped_rect(place, vec2(panel_width(entry, switches), height), window),
        };
        (rect.width() >= 60.0 && rect.height() >= panel::HEADER_HEIGHT - 1.0).then_some(rect)
    }

    /// Returns the docked panels in the order in which they are folded to make room: the graph, the open panels from the
    /// oldest, the ladder, the headline, and the newest open panel last. `recent` has the open panels, the newest last.
    fn fold_order(&self, recent: &[Panel]) -> Vec<Panel> {
        let not_recent = |panel: &Panel| !recent.contains(panel);
        let mut order: Vec<Panel> = [Panel::Graph].into_iter().filter(not_recent).collect();
        let (newest, older) = recent.split_last().map_or((None, &[][..]), |(last, rest)| (Some(*last), rest));
        order.extend(older);
        order.extend([Panel::Ladder, Panel::Numbers].into_iter().filter(not_recent));
        order.extend(newest);
        // A panel that the user moved may cover others.
        order.retain(|panel| self.has_default_place(*panel));
        order
    }

    /// Returns the rectangle of a panel in the upper right corner of `window`, over everything else.
    fn corner_rect(&self, entry: &Entry, width: f32, window: Rect) -> Rect {
        let size = vec2(width, self.heights[entry.panel as usize]);
        place::clamped_rect([f32::MAX, 0.0], size, window)
    }

    /// Returns the rectangles of the headline and the ladder, if they were not moved: no panel may cover them.
    fn occupied_rects(&self, layout: &Layout) -> Vec<Rect> {
        let parts = [(Panel::Numbers, Some(layout.headline)), (Panel::Ladder, layout.ladder)];
        let docked = |(panel, rect): (Panel, Option<Rect>)| rect.filter(|_| self.has_default_place(panel));
        parts.into_iter().filter_map(docked).collect()
    }

    /// Returns the request for a place for the panel of `entry`, with this width in points unless the panel is folded.
    fn dock_request(&self, entry: &Entry, width: f32, folded: bool) -> DockRequest {
        if folded {
            let size = vec2(entry.size.x.min(FOLDED_WIDTH), panel::HEADER_HEIGHT);
            return DockRequest { size, min_size: size, height: size.y, corner: entry.corner };
        }
        let height = self.heights[entry.panel as usize];
        let size = vec2(width, entry.size.y.min(height));
        DockRequest { size, min_size: entry.min_size.min(size), height, corner: entry.corner }
    }
}

/// Returns the width in points that a panel needs: that of its entry, or twice as much for the panel of kernels while it
/// shows machine code.
fn panel_width(entry: &Entry, switches: &Switches) -> f32 {
    match (entry.panel, switches.machine_code) {
        (Panel::Kernels, true) => 2.0 * entry.size.x,
        _ => entry.size.x,
    }
}
