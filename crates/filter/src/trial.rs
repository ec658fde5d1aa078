//! Computes all expressions of a code for a few pictures, so that divisions by zero and sizes of 0 are found when a description is
//! read.

use crate::code::Context;
use crate::description::{Code, Format, Passed};
use crate::keys::{OUTPUT_NAMES, PLANE_NAMES, of_plane};
use crate::place::Mistake;
use crate::values::Values;

/// Width, height, the choice between least value, default and greatest value of parameters, and true for large pictures.
const CASES: [([i64; 2], usize, bool); 4] =
    [([1920, 1080], 1, false), ([1, 1], 1, false), ([1920, 1080], 0, false), ([3840, 2160], 2, true)];

/// Computes all expressions of a code for CPUs or other devices.
///
/// # Errors
/// Returns the first expression that has no value, or a wrong one.
pub(crate) fn run(code: &Code, is_cpu: bool, context: &Context<'_>) -> Result<(), Mistake> {
    for (size, choice, is_large) in CASES {
        let whole = context.parameters.iter().filter(|parameter| parameter.is_whole);
        let settings: Vec<(&str, i64)> = whole
            .map(|p| (p.name.as_str(), [p.range[0], p.default, p.range[1]][choice] as i64))
            .chain(code.tuning.iter().map(|t| (t.name.as_str(), t.value(is_cpu, is_large).into())))
            .collect();
        let lookup = |name: &str| {
            let setting = settings.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            setting.or_else(|| property(name, size, context.formats))
        };
        all(code, &lookup).map_err(|mut mistake| {
            let [width, height] = size;
            let settings =
                settings.iter().map(|(name, value)| format!(", {name} = {value}")).collect::<String>();
            let case = format!(" This is so with width = {width}, height = {height}{settings}.");
            mistake.error.why.push_str(&case);
            mistake
        })?;
    }
    Ok(())
}

/// Returns a property of a device, or of a picture: one in 4:2:0, or a single pixel in grey.
fn property(name: &str, [width, height]: [i64; 2], formats: [Format; 2]) -> Option<i64> {
    let planes = if width > 1 { 3 } else { 1 };
    let value = match name {
        "width" => width,
        "height" | "rows" => height,
        "first_row" => 0,
        "units" => 4,
        "local_memory" => 32 << 10,
        "planes" => planes,
        "bits" => 8,
        "shift" => 0,
        "sample_bytes" => 1,
        "half_columns" | "half_rows" => i64::from(planes > 1),
        "output_level" => {
            if formats[1] == Format::Planes12 {
                16
            } else {
                1
            }
        }
        _ => {
            let of_output = || of_plane(name, "output", &OUTPUT_NAMES);
            let (plane, of) = of_plane(name, "plane", &PLANE_NAMES).or_else(of_output)?;
            let half = 1 + i64::from(plane > 0);
            match of {
                _ if formats[0] == Format::Rgba8 => return None,
                _ if plane as i64 >= planes => 0,
                "width" | "stride" => (width + half - 1) / half,
                "height" => (height + half - 1) / half,
                "step" => 1,
                _ => 0,
            }
        }
    };
    Some(value)
}

fn all(code: &Code, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<(), Mistake> {
    code.allows(lookup)?;
    let values = Values::new(code, lookup)?;
    for (_, define) in &code.defines {
        values.of(define)?;
    }
    for scratch in &code.scratch {
        values.scratch(scratch)?;
    }
    for pass in &code.passes {
        values.launch(pass)?;
        for argument in &pass.arguments {
            values.number(argument)?;
            if let Passed::LocalBytes(bytes) = &argument.value {
                values.local_bytes(bytes)?;
            }
        }
        if let Some(rows) = &pass.rows {
            values.rows(rows)?;
        }
        let work = pass
            .work
            .iter()
            .flat_map(|w| w.reads.iter().chain(&w.writes).chain([&w.operations, &w.barriers]));
        for count in work.chain(&pass.reads_per_pixel) {
            values.count(count)?;
        }
    }
    Ok(())
}
