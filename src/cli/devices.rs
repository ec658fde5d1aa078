//! `clreel devices`: the OpenCL devices of the machine, as a table or JSON on stdout.

use std::io::{ErrorKind, Write as _};

use comfy_table::{Table, presets};
use serde::Serialize;

use crate::cli::{DevicesArgs, exit};
use crate::probe::{self, Probe};
use base::error::{Error, Result};
use base::text::{escaped_lines, is_control};
use engine::sharing::Sharing;
use opencl::cl::{DeviceInfo, UNNAMED, list_devices, no_device};
use opencl::drivers::{self, Driver, Verdict};

/// A device in JSON, here and in `clreel bench --json`.
#[derive(Serialize)]
pub(crate) struct DeviceEntry {
    #[serde(flatten)]
    info: DeviceInfo,
    sharing: &'static str,
    sharing_reason: String,
}

impl DeviceEntry {
    pub(crate) fn new(info: &DeviceInfo, sharing: &Sharing) -> Self {
        let sharing_reason = sharing.reason().to_owned();
        Self { info: info.clone(), sharing: sharing.name(), sharing_reason }
    }
}

#[derive(Serialize)]
struct List {
    schema: u32,
    devices: Vec<DeviceEntry>,
    /// What sharing was tested with.
    opengl: String,
    drivers: Vec<Driver>,
}

/// Prints a line of the result on stdout, or several of them. A reader that has gone away, as in `clreel devices | head`, is
/// no error.
pub(crate) fn print_line(text: impl std::fmt::Display) -> Result<()> {
    print(&escaped_lines(&text.to_string()))
}

fn print(text: &str) -> Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new("The result could not be written to the standard output.", format!("{e}."), ""))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON on stdout.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::new("The result could not be written as JSON.", format!("{e}."), ""))?;
    // It has escapes of its own for what controls, and need not use them for all of that.
    let is_raw = |c: char| is_control(c) && c != '\n';
    let escaped = text.chars().map(|c| if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    print(&if text.contains(is_raw) { escaped.collect() } else { text.clone() })
}

/// Lists the devices, and the drivers without one; returns the exit code. A machine without any device is not an
/// error: the list is empty.
///
/// # Errors
/// When the result cannot be written.
pub(crate) fn run(args: &DevicesArgs) -> Result<u8> {
    let devices = list_devices();
    let Probe { opengl, sharing } = probe::ask(&devices);
    let devices: Vec<_> = devices.iter().zip(&sharing).map(|(d, s)| DeviceEntry::new(&d.info, s)).collect();
    let drivers = drivers::findings();
    if args.json {
        print_json(&List { schema: 1, devices, opengl, drivers })?;
        return Ok(exit::DONE);
    }
    if devices.is_empty() {
        eprintln!("clreel: {}", no_device());
    } else {
        print_line(table(&devices))?;
        for entry in &devices {
            let index = entry.info.index;
            print_line(match entry.sharing_reason.as_str() {
                "" => format!("{index}: shares textures with OpenGL ({opengl})"),
                reason => format!("{index}: frames are copied to OpenGL: {reason}"),
            })?;
        }
    }
    for driver in drivers {
        if let Some(text) = finding(&driver) {
            print_line(text)?;
        }
    }
    Ok(exit::DONE)
}

fn table(devices: &[DeviceEntry]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(["", "device", "type", "units", "MHz", "memory", "images", "OpenCL", "driver"]);
    for d in devices.iter().map(|d| &d.info) {
        let version = d.version.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let images = match (d.image_support, d.max_image) {
            (false, _) => "none".to_owned(),
            (true, (0, _) | (_, 0)) => UNKNOWN.to_owned(),
            (true, (width, height)) => format!("{width}×{height}"),
        };
        table.add_row([
            d.index.to_string(),
            format!("{}\n{}", given(&d.name), given(&d.platform)),
            d.kind.name().to_owned(),
            number(d.units),
            number(d.clock_mhz),
            match d.global_memory_bytes {
                0 => UNKNOWN.to_owned(),
                bytes => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
            },
            images,
            given(&version).to_owned(),
            given(&d.driver).to_owned(),
        ]);
    }
    table
}

/// What stands in the place of what a driver does not tell.
const UNKNOWN: &str = "–";

fn number(number: u32) -> String {
    if number == 0 { UNKNOWN.to_owned() } else { number.to_string() }
}

fn given(text: &str) -> &str {
    if text.is_empty() || text == UNNAMED { UNKNOWN } else { text }
}

/// What there is to say about a driver that gave no device.
fn finding(driver: &Driver) -> Option<String> {
    match &driver.verdict {
        Verdict::Failed { .. } => driver.failure().map(|failure| failure.to_string()),
        _ => driver.left_out(),
    }
}
