//! Printing of results on stdout: text, JSON and tables.

use std::io::{ErrorKind, Write as _};
use std::ops::Range;

use comfy_table::{CellAlignment, Row, Table, presets};
use serde::Serialize;

use base::error::{Error, Result};
use base::stdout;
use base::text::{escaped_lines, is_control};
use ladder::clock_speed::ClockSpeed;

/// Prints one or more lines of the result on stdout, with control characters escaped. A closed pipe, as in `clreel devices |
/// head`, is no error.
pub(crate) fn print_line(text: impl std::fmt::Display) -> Result<()> {
    print(&escaped_lines(&text.to_string()))
}

/// Prints a text and a line end on stdout; a closed pipe is no error.
fn print(text: &str) -> Result<()> {
    match stdout::results().and_then(|mut out| out.write_all(format!("{text}\n").as_bytes())) {
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
    // JSON need not escape all control characters; the terminal needs it.
    let is_raw = |c: char| is_control(c) && c != '\n';
    let escaped = text.chars().map(|c| if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    print(&if text.contains(is_raw) { escaped.collect() } else { text.clone() })
}

/// The speed of the device's clock in the timed rounds, in MHz, in the JSON report.
#[derive(Serialize)]
pub(crate) struct ClockEntry<'a> {
    mean: f64,
    limit: Option<f64>,
    /// The means of the slowest and the fastest quarter of the rounds; `null` if they are fewer than five.
    min_quarter: Option<f64>,
    max_quarter: Option<f64>,
    /// True if the quarters differ by more than 5 %.
    changed: bool,
    /// The reasons for which the clock was slowed down.
    throttled: Option<String>,
    governor: Option<&'a str>,
}

impl<'a> ClockEntry<'a> {
    /// Converts a speed to its entry.
    pub(crate) fn new(speed: &'a ClockSpeed) -> Self {
        Self {
            mean: speed.mean.round(),
            limit: speed.limit.map(f64::round),
            min_quarter: speed.quarters.map(|(min, _)| min.round()),
            max_quarter: speed.quarters.map(|(_, max)| max.round()),
            changed: speed.change().is_some(),
            throttled: speed.throttled(),
            governor: speed.governor.as_deref(),
        }
    }
}

/// Creates a table with this header; the columns with indices in `numeric` are right-aligned.
pub(crate) fn table(header: impl Into<Row>, numeric: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(header);
    for column in table.column_iter_mut().take(numeric.end).skip(numeric.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_speed_of_a_clock_as_json() {
        let speed = ClockSpeed {
            mean: 1900.4,
            limit: Some(1980.0),
            quarters: Some((1740.3, 1979.6)),
            throttle: vec!["power cap".to_owned(), "temperature".to_owned()],
            governor: None,
        };
        let want = json!({
            "mean": 1900.0, "limit": 1980.0, "min_quarter": 1740.0, "max_quarter": 1980.0, "changed": true,
            "throttled": "power cap, temperature", "governor": null,
        });
        assert_eq!(serde_json::to_value(ClockEntry::new(&speed)).unwrap(), want);
        let few = ClockSpeed { limit: None, quarters: None, throttle: Vec::new(), ..speed };
        let want = json!({
            "mean": 1900.0, "limit": null, "min_quarter": null, "max_quarter": null, "changed": false,
            "throttled": null, "governor": null,
        });
        assert_eq!(serde_json::to_value(ClockEntry::new(&few)).unwrap(), want);
    }
}
