//! `clreel conformance --compare`. In: two results. Out: what changed from the first to the second, and the exit code.

use serde::Serialize;

use crate::cli::devices::{print_json, print_line};
use crate::cli::exit;
use base::error::Result;
use ladders::type_conversions::saved::{Change, OfDevice, Saved, changes};

#[derive(Serialize)]
struct Compared {
    schema: u32,
    before: Vec<String>,
    after: Vec<String>,
    changes: Vec<Change>,
}

/// Prints them; 3 where something that was right is not any more.
pub(super) fn print(before: &Saved, after: &Saved, json: bool) -> Result<u8> {
    let changes = changes(before, after);
    let broke = changes.iter().filter(|change| change.broke).count();
    let code = if broke > 0 { exit::MISMATCH } else { exit::DONE };
    let named = |one: &OfDevice| format!("{} ({}, driver {})", one.name, one.version, one.driver);
    let names = |saved: &Saved| saved.devices.iter().map(named).collect::<Vec<_>>();
    if json {
        print_json(&Compared { schema: 1, before: names(before), after: names(after), changes })?;
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
