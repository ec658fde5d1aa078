//! `clreel devices`: lists the OpenCL devices as a table or JSON.

use comfy_table::Table;
use serde::Serialize;

use crate::cli::exit;
use crate::cli::output::{print_json, print_line, table};
use crate::probe;
use base::device::{DeviceInfo, UNNAMED};
use base::error::Result;
use base::stderr::print_message;
use opencl::cards;
use opencl::cl::{list_devices, no_device};
use opencl::drivers::{self, Driver, Verdict};

/// An OpenCL device in the JSON output of `clreel devices`.
#[derive(Serialize)]
struct DeviceEntry<'a> {
    #[serde(flatten)]
    info: &'a DeviceInfo,
    sharing: &'static str,
    sharing_reason: &'a str,
}

/// The JSON output of `clreel devices`.
#[derive(Serialize)]
struct List<'a> {
    schema: u32,
    devices: Vec<DeviceEntry<'a>>,
    /// The OpenGL driver with which it was tested whether the devices share textures.
    opengl: String,
    drivers: Vec<Driver>,
}

/// Runs `clreel devices`: lists the devices, the drivers without devices, and the GPUs without devices; returns the exit code.
/// It is no error if there are no devices: then the list is empty.
///
/// # Errors
/// If writing to stdout fails.
pub(crate) fn run(json: bool) -> Result<u8> {
    let listed = list_devices();
    let (opengl, sharing) = probe::test_all(&listed);
    let entries = listed.iter().zip(&sharing).map(|(device, sharing)| DeviceEntry {
        info: &device.info,
        sharing: sharing.name(),
        sharing_reason: sharing.reason(),
    });
    let devices: Vec<_> = entries.collect();
    let drivers = drivers::findings();
    if json {
        print_json(&List { schema: 1, devices, opengl, drivers })?;
        return Ok(exit::DONE);
    }
    if devices.is_empty() {
        print_message(no_device());
    } else {
        print_line(device_table(&devices))?;
        for entry in &devices {
            let index = entry.info.index;
            print_line(match entry.sharing_reason {
                "" => format!("{index}: shares textures with OpenGL ({opengl})"),
                reason => format!("{index}: copies frames to OpenGL: {reason}"),
            })?;
        }
    }
    for driver in drivers {
        // Sentences that explain why a driver provides no device.
        let problem = match &driver.verdict {
            Verdict::Failed { .. } => driver.failure().map(|failure| failure.to_string()),
            _ => driver.left_out(),
        };
        problem.into_iter().try_for_each(print_line)?;
    }
    cards::remarks(&listed).into_iter().try_for_each(print_line)?;
    Ok(exit::DONE)
}

/// Returns the table of the devices.
fn device_table(devices: &[DeviceEntry]) -> Table {
    let header = ["", "device", "type", "units", "MHz", "memory", "images", "OpenCL", "driver"];
    let mut table = table(header, 0..0);
    for d in devices.iter().map(|d| d.info) {
        let version = d.version.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let images = match (d.image_support, d.max_image) {
            (false, _) => "none".to_owned(),
            (true, (0, _) | (_, 0)) => UNKNOWN.to_owned(),
            (true, (width, height)) => format!("{width}×{height}"),
        };
        table.add_row([
            d.index.to_string(),
            format!("{}\n{}", text_or_dash(&d.name), text_or_dash(&d.platform)),
            d.kind.name().to_owned(),
            format_number(d.units),
            format_number(d.clock_mhz),
            match d.global_memory_bytes {
                0 => UNKNOWN.to_owned(),
                bytes => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
            },
            images,
            text_or_dash(&version).to_owned(),
            text_or_dash(&d.driver).to_owned(),
        ]);
    }
    table
}

/// The text in the table for values that the driver does not report.
const UNKNOWN: &str = "–";

/// Formats a number for the table; 0, which means that the driver does not report the number, becomes [`UNKNOWN`].
fn format_number(number: u32) -> String {
    if number == 0 { UNKNOWN.to_owned() } else { number.to_string() }
}

/// Returns a text for the table: `text`, or [`UNKNOWN`] if it is empty because the driver does not report it.
fn text_or_dash(text: &str) -> &str {
    if text.is_empty() || text == UNNAMED { UNKNOWN } else { text }
}
