//! The panels that are opened by a click or a key: where each of them lies. In: the [`Layout`] of the rest. Out: what was
//! asked for in them.

use std::time::Duration;

use egui::{Rect, Ui, Vec2, vec2};

use super::place::{self, Panel};
use super::{Action, Layout, Overlay, View, correction, devices, panel, stages, theme, timeline, tuning};

/// Why a pass is done again: a panel is shown only in the height that its contents need.
const OTHER_HEIGHT: &str = "a panel has another height";
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

impl Overlay {
    /// All of them that are open.
    pub(super) fn panels(&mut self, ui: &mut Ui, layout: &Layout, view: &View, actions: &mut Vec<Action>) {
        let (window, free) = (layout.window, layout.free);
        self.stages(ui, layout, view, actions);
        // Under the sliders, where there is no room beside them.
        self.timeline(ui, window, free, view, actions);
        if let Some(correction) = view.correction {
            let size = correction::SIZE;
            let rect = match self.places[Panel::Correction as usize] {
                None => docked(size, free, window, egui::Align2::RIGHT_BOTTOM),
                Some(at) => {
                    let room = if layout.above.height() < size.y { window } else { layout.above };
                    place::floating(at, size, room)
                }
            };
            let title = correction::show(ui, rect, correction, actions);
            self.took(Panel::Correction, title, false);
        }
        self.devices(ui, window, free, view, actions);
        self.tuning(ui, window, free, view, actions);
    }

    /// The table of stages, below the headline.
    fn stages(&mut self, ui: &mut Ui, layout: &Layout, view: &View, actions: &mut Vec<Action>) {
        if !self.stages_open || !is_roomy(layout.window) {
            return;
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
    }

    /// The panel of devices, where it is open or the device changes.
    pub(super) fn devices(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        free: Rect,
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
            None => docked(size, free, window, egui::Align2::LEFT_BOTTOM),
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) = devices::show(ui, rect, &view.devices, folded, actions);
        self.took(Panel::Devices, title, folded);
        if height != self.devices_height && !folded {
            self.devices_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The search for the best parameters, at the upper right of the room that the other panels leave.
    fn tuning(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        if !self.tuning_shown() || !is_roomy(window) {
            return;
        }
        let folded = self.is_folded(Panel::Tuning);
        let size = vec2(tuning::WIDTH, if folded { panel::HEADER } else { self.tuning_height });
        let rect = match self.places[Panel::Tuning as usize] {
            None => {
                let room = if free.width() < size.x || free.height() < size.y { window } else { free };
                place::floating([f32::MAX, room.top()], size, room)
            }
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) =
            tuning::show(ui, rect, (view.tuning, view.auto), folded, &mut self.tuning_of, actions);
        self.took(Panel::Tuning, title, folded);
        if height != self.tuning_height && !folded {
            self.tuning_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The last frames on one time axis, at the lower right of that room, beside the sliders: over the graph, whose stages
    /// they are.
    fn timeline(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        if !self.timeline_shown() || !is_roomy(window) {
            return;
        }
        let folded = self.is_folded(Panel::Timeline);
        let size = if folded { vec2(timeline::SIZE.x, panel::HEADER) } else { timeline::SIZE };
        let rect = match self.places[Panel::Timeline as usize] {
            None => {
                let least = timeline::LEAST;
                let mut room = if free.width() < least.x || free.height() < least.y { window } else { free };
                let sliders = correction::SIZE + vec2(theme::GAP, theme::GAP);
                if view.correction.is_none() || self.places[Panel::Correction as usize].is_some() {
                    // The corner is free.
                } else if room.width() >= size.x + sliders.x {
                    room.max.x -= sliders.x;
                } else if room.height() >= size.y + sliders.y {
                    room.max.y -= sliders.y;
                }
                place::floating([f32::MAX, f32::MAX], size, room)
            }
            Some(at) => place::floating(at, size, window),
        };
        if let Some(frozen) = &mut self.frozen {
            frozen.rect = rect;
        }
        let (frozen, live) = (self.frozen.as_ref(), view.recorder.timeline());
        let title = timeline::show(ui, rect, (live, frozen), (folded, self.hatched), actions);
        self.took(Panel::Timeline, title, folded);
    }
}
