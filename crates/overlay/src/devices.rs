//! The panel of devices. In: every device with what is known about it, and the drivers that were left out. Out: which
//! device the user clicked.

use std::fmt::Write as _;
use std::sync::Arc;

use egui::{Align2, Color32, Galley, Rect, Sense, Ui, pos2, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, panel, theme};
use base::error::Error;
use engine::sharing::Sharing;
use opencl::cl::{DeviceInfo, DeviceKind};

/// The panel's width in points.
pub(crate) const WIDTH: f32 = 430.0;
const INSET: f32 = 8.0;

/// What a device does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// Nothing.
    Idle,
    /// It filters the movie.
    InUse,
    /// A context is made and programs are built; another device filters meanwhile.
    Preparing,
}

/// A device as the overlay lists it.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRow<'a> {
    /// What it says about itself.
    pub info: &'a DeviceInfo,
    /// What came of trying to share textures with it; `None` while it is being tried.
    pub sharing: Option<&'a Sharing>,
    /// What it does.
    pub state: DeviceState,
    /// Why it could not be used the last time.
    pub failure: Option<&'a Error>,
}

/// All that the panel shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceList<'a> {
    /// In the order of `clreel devices`; `None` while they are still being looked for.
    pub rows: Option<&'a [DeviceRow<'a>]>,
    /// A sentence for each driver that gives no device.
    pub left_out: &'a [String],
    /// One is still looked for, chosen or made ready.
    pub awaited: bool,
}

impl DeviceList<'_> {
    /// Whether a device is being made ready.
    pub(crate) fn is_preparing(&self) -> bool {
        self.rows.is_some_and(|rows| rows.iter().any(|row| row.state == DeviceState::Preparing))
    }
}

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Devices,
    key: None,
    menu: ("Devices", "All OpenCL devices: change to another one. Key Ctrl+D takes the next"),
    size: vec2(WIDTH, 270.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::LEFT_BOTTOM,
    is_shown: |overlay, _| overlay.devices_shown(),
    show: |overlay, ui, rect, view, actions| {
        show(ui, rect, &view.devices, overlay.is_folded(Panel::Devices), actions)
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low. Returns what was done with its title, and the
/// height that it would like to have.
pub(crate) fn show(
    ui: &mut Ui,
    rect: Rect,
    list: &DeviceList,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let frame = panel::Frame {
        panel: Panel::Devices,
        id: "devices",
        name: "OpenCL devices",
        hover: place::HOVER,
        close: ("Close this panel", Action::Toggle(Panel::Devices)),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(mut ui) = inner else { return (title, panel::HEADER) };
    let height = panel::scrolled(&mut ui, rect, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        rows(ui, list, actions);
    });
    (title, panel::HEADER + height + 6.0)
}

fn rows(ui: &mut Ui, list: &DeviceList, actions: &mut Vec<Action>) {
    match list.rows {
        None => note(ui, "Looking for devices.", theme::TEXT),
        Some([]) => note(ui, "There is no OpenCL device on this machine.", theme::WARN),
        Some(rows) => {
            for (index, row) in rows.iter().enumerate() {
                if device(ui, index, row) {
                    actions.push(Action::SetDevice(index));
                }
            }
            // Who asks that looks at the devices.
            let width = ui.available_width() - 2.0 * INSET;
            let lines = [line(ui, "Are the conversions of the one in use right?", 12.0, theme::TEXT, width)];
            let asked = block(ui, &lines, Sense::click(), |_, _| ());
            if asked.on_hover_text("Open the panel that tries every convert_ on it: key k").clicked() {
                actions.push(Action::Toggle(Panel::Conversions));
            }
        }
    }
    for sentence in list.left_out {
        note(ui, sentence, theme::WEAK);
    }
}

fn note(ui: &mut Ui, text: &str, color: Color32) {
    let lines = [line(ui, text, 12.0, color, ui.available_width() - 2.0 * INSET)];
    block(ui, &lines, Sense::hover(), |_, _| ());
}

/// One device; whether it was clicked.
fn device(ui: &mut Ui, index: usize, row: &DeviceRow) -> bool {
    let width = ui.available_width() - 2.0 * INSET;
    let (state, color) = match row.state {
        DeviceState::Idle => ("", theme::TEXT),
        DeviceState::InUse => ("in use", theme::GOOD),
        DeviceState::Preparing => ("being made ready", theme::WARN),
    };
    let state = line(ui, state, 12.0, color, width);
    // The state stands right of the name.
    let name = format!("{index}: {}", row.info.name);
    let mut lines = vec![line(ui, &name, 13.0, theme::STRONG, width - state.size().x - 10.0)];
    lines.push(line(ui, &about(row.info), 12.0, theme::TEXT, width));
    let (sharing, color) = sharing_line(row.sharing);
    lines.push(line(ui, &sharing, 12.0, color, width));
    if let Some(error) = row.failure {
        lines.push(line(ui, format!("{} {}", error.what, error.why).trim_end(), 12.0, theme::ERROR, width));
    }
    let clicked = block(ui, &lines, Sense::click(), |ui, rect| {
        let at = pos2(rect.right() - INSET - state.size().x, rect.top() + 4.0);
        ui.painter().galley(at, state, theme::TEXT);
    });
    let hover = match row.state {
        DeviceState::InUse => "Start this device anew",
        _ => "Filter the movie on this device",
    };
    clicked.on_hover_text(hover).clicked()
}

/// Lines below each other, lighter under the pointer where they can be clicked.
fn block(
    ui: &mut Ui,
    lines: &[Arc<Galley>],
    sense: Sense,
    beside: impl FnOnce(&mut Ui, Rect),
) -> egui::Response {
    let height: f32 = lines.iter().map(|galley| galley.size().y).sum();
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height + 8.0), sense);
    if sense.senses_click() {
        let fill = Color32::from_white_alpha(if response.hovered() { 22 } else { 8 });
        ui.painter().rect_filled(rect, 4, fill);
    }
    let mut at = rect.min + vec2(INSET, 4.0);
    for galley in lines {
        ui.painter().galley(at, galley.clone(), theme::TEXT);
        at.y += galley.size().y;
    }
    beside(ui, rect);
    response
}

fn line(ui: &Ui, text: &str, size: f32, color: Color32, width: f32) -> Arc<Galley> {
    ui.painter().layout(text.to_owned(), theme::words(size), color, width.max(40.0))
}

/// Platform, kind, units, clock, memory, versions.
fn about(info: &DeviceInfo) -> String {
    let kind = match info.kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Accelerator => "accelerator",
    };
    let mut text =
        if info.platform.is_empty() { kind.to_owned() } else { format!("{}: {kind}", info.platform) };
    if info.units > 0 {
        let _ = write!(text, ", {} units", info.units);
    }
    if info.clock_mhz > 0 {
        let _ = write!(text, " at {} MHz", info.clock_mhz);
    }
    if info.global_memory_bytes > 0 {
        let _ = write!(text, ", {:.1} GiB", info.global_memory_bytes as f64 / f64::from(1 << 30));
    }
    let driver = if info.driver.is_empty() { String::new() } else { format!("driver {}", info.driver) };
    let versions: Vec<&str> =
        [info.version.as_str(), &driver].into_iter().filter(|v| !v.is_empty()).collect();
    if !versions.is_empty() {
        let _ = write!(text, ". {}", versions.join(", "));
    }
    text
}

fn sharing_line(sharing: Option<&Sharing>) -> (String, Color32) {
    match sharing {
        None => ("Sharing: being tried in a process of its own".to_owned(), theme::WEAK),
        Some(Sharing::ZeroCopy) => ("Shares textures with OpenGL".to_owned(), theme::GOOD),
        Some(Sharing::Copy { reason }) => (format!("Frames are copied to OpenGL: {reason}"), theme::TEXT),
    }
}
