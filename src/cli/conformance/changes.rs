//! `clreel compare` for saved results of `clreel conformance`: lists the changes from one result to the other.

use serde::Serialize;

use crate::cli::exit;
use crate::cli::output::{print_json, print_line};
use base::error::Result;
use ladders::type_conversions::saved::{Change, DeviceResult, Saved, changes};

/// The JSON output on the changes between two saved results.
#[derive(Serialize)]
struct ComparisonReport {
    schema: u32,
    before: Vec<String>,
    after: Vec<String>,
    changes: Vec<Change>,
}

/// Prints the changes from the saved result `before` to the saved result `after`, as text or JSON; returns the exit code: 3 if a
/// conversion is right in `before` and not in `after`.
pub(crate) fn print(before: &Saved, after: &Saved, json: bool) -> Result<u8> {
    let changes = changes(before, after);
    let broke = changes.iter().filter(|change| change.broke).count();
    let code = if broke > 0 { exit::MISMATCH } else { exit::DONE };
    let describe =
        |device: &DeviceResult| format!("{} ({}, driver {})", device.name, device.version, device.driver);
    let names = |saved: &Saved| saved.devices.iter().map(describe).collect::<Vec<_>>();
    if json {
        print_json(&ComparisonReport { schema: 1, before: names(before), after: names(after), changes })?;
        return Ok(code);
    }
    for (word, saved) in [("before", before), ("after", after)] {
        let name = names(saved).join(", ");
        print_line(format!("{word}: {name}; {}, seed {}, {}", saved.depth, saved.seed, saved.program))?;
    }
    let several = after.devices.len() > 1;
    for change in &changes {
        let Change { device, case, before, after, reason, broke } = change;
        let mark = if *broke { "BROKE " } else { "" };
        let on = if several { format!(" on {device}") } else { String::new() };
        print_line(format!("{mark}{case}{on}: was {before}, is {after}"))?;
        if let Some(reason) = reason {
            print_line(format!("  {reason}"))?;
        }
    }
    print_line(match changes.len() {
        0 => "Nothing changed.".to_owned(),
        count => format!("{count} changed, {broke} broke."),
    })?;
    Ok(code)
}
