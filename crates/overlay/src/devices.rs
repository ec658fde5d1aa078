//! The panel that lists the OpenCL devices and switches between them.

use base::device::DeviceInfo;
use base::error::Error;
use egui::Layout;
use stats::Sharing;

use crate::device_name;
use crate::panel::{ColumnPanel, Pane, paragraph};
use crate::prelude::*;

/// The state of an OpenCL device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// The device is available, but not in use.
    Idle,
    /// The device filters the movie.
    InUse,
    /// The device is being initialized: its context is created and its programs are built, while another device filters the
    /// movie.
    Preparing,
}

/// An OpenCL device in the panel's list.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRow<'a> {
    /// The properties that the driver reports.
    pub info: &'a DeviceInfo,
    /// How the device hands frames to OpenGL: in shared textures or as copies; `None` while that is being tested.
    pub sharing: Option<&'a Sharing>,
    /// The device's state.
    pub state: DeviceState,
    /// The error of the last attempt to use the device; `None` if it succeeded or there was none.
    pub failure: Option<&'a Error>,
}

/// The data that the panel of OpenCL devices shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceList<'a> {
    /// The devices in the order of `clreel devices`; `None` while the search for devices is running.
    pub rows: Option<&'a [DeviceRow<'a>]>,
    /// A text for each driver that is not used, and for each GPU that has no OpenCL device or several.
    pub remarks: &'a [String],
    /// True while the search for devices is running, or a device is being initialized.
    pub is_pending: bool,
}

impl DeviceList<'_> {
    /// Returns true if a device is being initialized (its context is created and its programs are built).
    pub(crate) fn is_preparing(&self) -> bool {
        self.rows.is_some_and(|rows| rows.iter().any(|row| row.state == DeviceState::Preparing))
    }
}

pub(super) static DEVICES: ColumnPanel = ColumnPanel {
    margin: Margin { bottom: 4, ..Margin::ZERO },
    ..ColumnPanel::new(
        Panel::Devices,
        ("Devices", "List and switch OpenCL devices (Ctrl+D: next device)"),
        220.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (list, actions) = (&pane.pass.view.devices, &mut pane.pass.actions);
    ui.spacing_mut().item_spacing.y = 2.0;
    match list.rows {
        None => show_note(ui, "Searching for devices.", theme::TEXT),
        Some([]) => show_note(ui, "No OpenCL device found.", theme::WARN),
        Some(rows) => {
            for (index, row) in rows.iter().enumerate() {
                show_device(ui, index, row, actions);
            }
            let columns =
                "Each device keeps its times: once two were in use, the ladder has a column for each.";
            show_note(ui, columns, theme::WEAK);
            // The check belongs to a device, so it can be reached from here.
            let check = show_block(ui, Sense::click(), |ui| {
                paragraph(ui, "Check the type conversions of the device in use", theme::TEXT);
            });
            let check = check.named(Role::Button, "Check the type conversions of the device in use");
            check
                .explain("Open the panel that tests every convert_*() (k)")
                .on_click(Action::Toggle(Panel::Conversions), actions);
        }
    }
    for remark in list.remarks {
        show_note(ui, remark, theme::WEAK);
    }
}

/// Lays out a paragraph about drivers or the search for devices, on a background like those of the devices.
fn show_note(ui: &mut Ui, text: &str, color: Color32) {
    show_block(ui, Sense::hover(), |ui| drop(paragraph(ui, text, color)));
}

/// Lays one device out. A click changes to it.
fn show_device(ui: &mut Ui, index: usize, row: &DeviceRow, actions: &mut Vec<Action>) {
    let (state, state_color) = match row.state {
        DeviceState::Idle => ("", theme::TEXT),
        DeviceState::InUse => ("in use", theme::GOOD),
        DeviceState::Preparing => ("initializing", theme::WARN),
    };
    let (sharing, sharing_color) = match row.sharing {
        None => ("Sharing: being tested in a child process".to_owned(), theme::WEAK),
        Some(Sharing::ZeroCopy) => ("Shares textures with OpenGL".to_owned(), theme::GOOD),
        Some(Sharing::Copy { reason }) => (format!("Frames are copied to OpenGL: {reason}"), theme::TEXT),
    };
    let name = format!("{index}: {}", row.info.name);
    let device = show_block(ui, Sense::click(), |ui| {
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            paragraph(ui, state, state_color);
            let text = RichText::new(&name).font(theme::words(13.0)).color(theme::STRONG);
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| ui.label(text));
        });
        paragraph(ui, &device_text(row.info), theme::TEXT);
        paragraph(ui, &sharing, sharing_color);
        if let Some(error) = row.failure {
            paragraph(ui, format!("{} {}", error.what, error.why).trim_end(), theme::ERROR);
        }
    });
    let hover = if row.state == DeviceState::InUse { "Restart this device" } else { "Use this device" };
    let device = device.named(Role::Button, &name).valued(|| format!("{state} {sharing}"));
    device.explain(hover).on_click(Action::SetDevice(index), actions);
}

/// Lays `contents` out on a background, which is lighter under the pointer if `sense` includes clicks. Returns the response of
/// the background.
fn show_block(ui: &mut Ui, sense: Sense, contents: impl FnOnce(&mut Ui)) -> Response {
    let block = ui.scope_builder(UiBuilder::new().sense(sense), |ui| {
        let alpha = match sense.senses_click() {
            true if ui.response().hovered() => 22,
            true => 8,
            false => 0,
        };
        let frame = egui::Frame::new().fill(Color32::from_white_alpha(alpha)).corner_radius(4);
        frame.inner_margin(Margin::symmetric(8, 4)).show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 0.0;
            contents(ui);
        });
    });
    block.response
}

/// Returns the platform, kind, compute units, clock rate, memory and versions of a device as text.
fn device_text(info: &DeviceInfo) -> String {
    let mut text = device_name::kind_and_units(info);
    if !info.platform.is_empty() {
        text = format!("{}: {text}", info.platform);
    }
    if info.global_memory_bytes > 0 {
        text.push_str(&format!(", {:.1} GiB", info.global_memory_bytes as f64 / f64::from(1 << 30)));
    }
    let driver = (!info.driver.is_empty()).then(|| format!("driver {}", info.driver));
    let version = Some(info.version.clone()).filter(|version| !version.is_empty());
    let versions: Vec<String> = version.into_iter().chain(driver).collect();
    if versions.is_empty() { text } else { format!("{text}. {}", versions.join(", ")) }
}
