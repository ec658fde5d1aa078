//! The panels that are opened by a click or a key: where each of them lies. In: the [`Layout`] of the rest. Out: what was
//! asked for in them.

use std::time::Duration;

use egui::{Rect, Ui, Vec2, vec2};

use super::dock::{self, Wish};
use super::place::{self, Panel};
use super::{Action, Layout, Overlay, View, correction, devices, panel, stages, theme, timeline, tuning};

/// Why a pass is done again: a panel is shown only in the height that its contents need.
const OTHER_HEIGHT: &str = "a panel has another height";
/// What is left of a panel that scrolls, at least, in points.
const LEAST: f32 = 100.0;
/// Where panels lie that were not moved.
type Docks = [Option<Rect>; 8];
/// Seconds that the devices stay after a change.
const DEVICES_S: f64 = 5.0;

/// Where a panel of `size` lies that was not moved: within `free`, at the corner that `at` says; over everything else, at
/// the right, where there is no room.
fn docked(size: Vec2, free: Rect, window: Rect, at: egui::Align2) -> Rect {
    if free.width() < size.x || free.height() < size.y {
        place::floating([f32::MAX, 0.0], size, window)
    } else {
        at.align_size_within_rect(size, free)
    }
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
    /// All of them that are open. Returns where there is room for news.
    pub(super) fn panels(
        &mut self,
        ui: &mut Ui,
        layout: &Layout,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Rect {
        let window = layout.window;
        let stages = self.stages(ui, layout, view, actions);
        // Where the headline is a line, the table of stages takes the left.
        let mut free = layout.free;
        let aside = |stages: &Rect| free.right() - stages.right() >= devices::WIDTH + theme::GAP;
        if let Some(stages) = stages.filter(|stages| stages.intersects(free) && aside(stages)) {
            free.min.x = stages.right() + theme::GAP;
        }
        let docks = self.docks(free, view);
        self.timeline(ui, window, free, &docks, view, actions);
        if let Some(correction) = view.correction {
            let size = correction::SIZE;
            let rect = match self.places[Panel::Correction as usize] {
                None => docks[Panel::Correction as usize]
                    .unwrap_or_else(|| docked(size, free, window, egui::Align2::RIGHT_BOTTOM)),
                Some(at) => {
                    let room = if layout.above.height() < size.y { window } else { layout.above };
                    place::floating(at, size, room)
                }
            };
            let title = correction::show(ui, rect, correction, actions);
            self.took(Panel::Correction, title, false);
        }
        self.devices(ui, window, free, docks[Panel::Devices as usize], view, actions);
        let tuning = self.tuning(ui, window, free, &docks, view, actions);
        beside(layout.news(), tuning)
    }

    /// Where the panels lie that are open and were not moved; nothing where they cannot all be read there.
    fn docks(&self, free: Rect, view: &View) -> Docks {
        let height = |panel, height: f32| if self.is_folded(panel) { panel::HEADER } else { height };
        let wish = |size: Vec2, least: Vec2, top, right| Wish { size, least: least.min(size), top, right };
        let scrolls = |panel, width, h| {
            let h = height(panel, h);
            // It gives way to others, not to a room that is too low for it alone.
            let least = if h <= free.height() { h.min(LEAST) } else { h };
            (vec2(width, h), vec2(width, least))
        };
        let (devices, least_devices) = scrolls(Panel::Devices, devices::WIDTH, self.devices_height);
        let (tuning, least_tuning) = scrolls(Panel::Tuning, tuning::WIDTH, self.tuning_height);
        let timeline = vec2(timeline::SIZE.x, height(Panel::Timeline, timeline::SIZE.y));
        let sliders = correction::SIZE;
        let all = [
            (Panel::Correction, view.correction.is_some(), wish(sliders, sliders, false, true)),
            (Panel::Timeline, self.timeline_shown(), wish(timeline, timeline::LEAST, false, true)),
            (Panel::Devices, self.devices_shown(), wish(devices, least_devices, false, false)),
            (Panel::Tuning, self.tuning_shown(), wish(tuning, least_tuning, true, true)),
        ];
        let open = all.into_iter().filter(|(panel, open, _)| *open && self.places[*panel as usize].is_none());
        let (panels, wishes): (Vec<_>, Vec<_>) = open.map(|(panel, _, wish)| (panel, wish)).unzip();
        let mut docks = Docks::default();
        for (panel, rect) in panels.into_iter().zip(dock::arrange(free, &wishes).unwrap_or_default()) {
            docks[panel as usize] = Some(rect);
        }
        docks
    }

    /// The table of stages, below the headline. Returns where it is, unless it was moved.
    fn stages(
        &mut self,
        ui: &mut Ui,
        layout: &Layout,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Option<Rect> {
        if !self.stages_open || !is_roomy(layout.window) {
            return None;
        }
        let folded = self.is_folded(Panel::Stages);
        let size = vec2(stages::WIDTH, if folded { panel::HEADER } else { self.stages_height });
        let rect = match self.places[Panel::Stages as usize] {
            None => layout.stages(size),
            Some(at) => place::floating(at, size, layout.window),
        };
        let (title, height) = stages::show(ui, rect, view, &self.numbers, folded, &mut self.hatched, actions);
        self.took(Panel::Stages, title, folded);
        if height != self.stages_height && !folded {
            self.stages_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
        self.places[Panel::Stages as usize].is_none().then_some(rect)
    }

    /// The panel of devices, where it is open or the device changes.
    pub(super) fn devices(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
        dock: Option<Rect>,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
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
        if !self.devices_shown() || !is_roomy(window) {
            return;
        }
        let folded = self.is_folded(Panel::Devices);
        let height = if folded { panel::HEADER } else { self.devices_height };
        let size = vec2(devices::WIDTH, height);
        let rect = match self.places[Panel::Devices as usize] {
            None => dock.unwrap_or_else(|| docked(size, free, window, egui::Align2::LEFT_BOTTOM)),
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) = devices::show(ui, rect, &view.devices, folded, actions);
        self.took(Panel::Devices, title, folded);
        if height != self.devices_height && !folded {
            self.devices_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The search for the best parameters, at the upper right of the room that the other panels leave. Returns where it is.
    fn tuning(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
        docks: &Docks,
        view: &View,
        actions: &mut Vec<Action>,
    ) -> Option<Rect> {
        if !self.tuning_shown() || !is_roomy(window) {
            return None;
        }
        let folded = self.is_folded(Panel::Tuning);
        let size = vec2(tuning::WIDTH, if folded { panel::HEADER } else { self.tuning_height });
        let rect = match (self.places[Panel::Tuning as usize], docks[Panel::Tuning as usize]) {
            (Some(at), _) => place::floating(at, size, window),
            (None, Some(dock)) => dock,
            (None, None) => docked(size, free, window, egui::Align2::RIGHT_TOP),
        };
        let (title, height) =
            tuning::show(ui, rect, (view.tuning, view.auto), folded, &mut self.tuning_of, actions);
        self.took(Panel::Tuning, title, folded);
        if height != self.tuning_height && !folded {
            self.tuning_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
        Some(rect)
    }

    /// The last frames on one time axis, at the lower right of that room: over the graph, whose stages they are.
    fn timeline(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
        docks: &Docks,
        view: &View,
        actions: &mut Vec<Action>,
    ) {
        if !self.timeline_shown() || !is_roomy(window) {
            return;
        }
        let folded = self.is_folded(Panel::Timeline);
        let size = if folded { vec2(timeline::SIZE.x, panel::HEADER) } else { timeline::SIZE };
        let rect = match (self.places[Panel::Timeline as usize], docks[Panel::Timeline as usize]) {
            (Some(at), _) => place::floating(at, size, window),
            (None, Some(dock)) => dock,
            (None, None) => {
                let least = timeline::LEAST;
                let room = if free.width() < least.x || free.height() < least.y { window } else { free };
                place::floating([f32::MAX, f32::MAX], size, room)
            }
        };
        if let Some(frozen) = &mut self.frozen {
            frozen.rect = rect;
        }
        let (frozen, live) = (self.frozen.as_ref(), view.recorder.timeline());
        let title = timeline::show(ui, rect, (live, frozen), (folded, self.hatched), actions);
        self.took(Panel::Timeline, title, folded);
    }
}
