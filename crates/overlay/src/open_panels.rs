//! The panels that are open: those that the user has opened, and those that an event shows for some seconds, such as a change
//! of the device.

use box_filter::VariantId;
use stats::{Recorder, Timeline};

use crate::panels::OpenFlags;
use crate::prelude::*;
use crate::timer::Timer;
use crate::widgets::cover_id;

/// Flags of the panels that are open at the first start: that of a scene, which is folded to its title bar.
pub(crate) const INITIAL: OpenFlags = {
    let mut open = [false; Panel::ALL.len()];
    open[Panel::Scene as usize] = true;
    open
};

/// A frozen frame and the frames before it, which the panel of the timeline shows in place of the last frames.
#[derive(Debug)]
pub(crate) struct FrozenFrame {
    pub timeline: Timeline,
    /// The words after the panel's name in its title bar.
    pub title: String,
    /// The variant that filtered the frame.
    pub filter: VariantId,
}

/// The number of passes in which the column scrolls to a panel that was opened or unfolded.
pub(crate) const SCROLL_PASSES: u8 = 2;

/// The panels that are open, and their order in the column of panels.
#[derive(Debug, Default)]
pub struct OpenPanels {
    /// Flags of the panels that the user has opened. Only these panels are open at the next start.
    pub(crate) opens: OpenFlags,
    /// The panels on the screen, from the top of the column down: the panel that was opened last comes first.
    pub(crate) order: Vec<Panel>,
    /// The panel to which the column scrolls in the next passes because it was opened or unfolded, and their number; `None` if the
    /// column does not scroll. There are several since other panels have their new heights one pass later.
    pub(crate) target: Option<(Panel, u8)>,
    /// True if a search for the fastest configuration has started since the panel of tuning was last closed.
    tuning_started: bool,
    /// The timer that runs while a change of the OpenCL device shows the panel of devices.
    pub(crate) device_change: Timer,
    /// True if a device was being initialized in the previous pass.
    device_was_preparing: bool,
    /// The frame at which the panel of the timeline is frozen; `None` if the panel shows the last frames.
    pub(crate) frozen: Option<FrozenFrame>,
}

impl OpenPanels {
    /// Returns true if the user has opened this panel. Panels that an event shows do not count.
    pub fn is_open(&self, panel: Panel) -> bool {
        self.opens[panel as usize]
    }

    /// Opens a panel, or closes it if it is open, because the user has requested that.
    pub fn toggle(&mut self, panel: Panel) {
        self.opens[panel as usize] = !self.is_requested(panel);
        match panel {
            Panel::Devices => self.device_change = Timer::Over,
            Panel::Tuning => self.tuning_started = false,
            Panel::Timeline => self.unfreeze(),
            _ => {}
        }
    }

    /// Closes all panels that are not open at the first start, also those that an event shows.
    pub(crate) fn close_all(&mut self) {
        (self.opens, self.tuning_started, self.device_change) = (INITIAL, false, Timer::Over);
        self.unfreeze();
    }

    /// Shows the panel of tuning until it is closed, because a search for the fastest configuration has started. The panel does
    /// not count as opened by the user.
    pub fn show_tuning(&mut self) {
        self.tuning_started = true;
    }

    /// Shows the panel of devices for some seconds, even while the overlay is hidden, because the device changes.
    pub fn show_devices(&mut self) {
        self.device_change.start();
    }

    /// Freezes the panel of the timeline at a frame: the panel shows this frame and the ones before it in place of the last
    /// frames. `frame` is the frame's number, counted from 0 at the first presented frame. If `recorder` no longer has the
    /// frame, the panel shows the last frames.
    pub fn freeze(&mut self, frame: u64, recorder: &Recorder) {
        self.frozen = recorder.timeline_of(frame).map(|(sample, timeline)| {
            let title = format!("frame at {} (Esc to unfreeze)", theme::clock(sample.pts));
            FrozenFrame { timeline, title, filter: sample.setting.variant }
        });
    }

    /// Returns true if the panel of the timeline is frozen at a frame, and so does not show the last frames.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Unfreezes the panel of the timeline: it shows the last frames again, or closes if the user had not opened it.
    pub fn unfreeze(&mut self) {
        self.frozen = None;
    }

    /// Unfreezes the panel of the timeline after a click that is neither on the panel nor on another frame of a graph.
    pub(crate) fn unfreeze_on_click(&mut self, ui: &Ui, actions: &[Action]) {
        let at = ui.input(|i| i.pointer.interact_pos().filter(|_| i.pointer.any_click()));
        let timeline = ui.ctx().read_response(cover_id(Panel::Timeline.name()));
        let is_outside = at.is_some_and(|at| timeline.is_none_or(|t| !t.interact_rect.contains(at)));
        if is_outside && !matches!(actions.last(), Some(Action::Freeze(_))) {
            self.unfreeze();
        }
    }

    /// Stops showing the panel of devices for a change of device when its time is over. The time restarts as long as
    /// `is_preparing` is true (a device is being initialized), and when that ends: a paused window may not have been drawn for
    /// longer than the time lasts.
    pub(crate) fn expire_device_change(&mut self, ui: &Ui, is_preparing: bool) {
        let was_preparing = std::mem::replace(&mut self.device_was_preparing, is_preparing);
        if (is_preparing || was_preparing) && self.device_change.is_running() {
            self.device_change.start();
        }
        // Seconds for which a change of the OpenCL device shows the panel of devices.
        self.device_change.update(ui, 5.0);
    }

    /// Returns true if the user has opened this panel, or an event shows it.
    pub(crate) fn is_requested(&self, panel: Panel) -> bool {
        let by_event = match panel {
            Panel::Devices => self.device_change.is_running(),
            Panel::Tuning => self.tuning_started,
            Panel::Timeline => self.is_frozen(),
            _ => false,
        };
        self.is_open(panel) || by_event
    }

    /// Updates [`OpenPanels::order`], given `shown`, the panels on the screen in the order of the menu: puts those that were
    /// opened since the last pass at the top, and removes those that were closed.
    pub(crate) fn update_order(&mut self, mut shown: Vec<Panel>) {
        self.order.retain(|panel| shown.contains(panel));
        shown.retain(|panel| !self.order.contains(panel));
        self.target = shown.first().map(|panel| (*panel, SCROLL_PASSES)).or(self.target);
        self.order.splice(0..0, shown);
    }
}
