//! The shape of a JSON value: every key with the types of its values, without the values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The path in the JSON of the speed of a device's clock.
const CLOCK: &str = "runs[].clock_mhz";

/// The types of the values at one path of the JSON, such as `devices[].runs`, and how often the key is present.
#[derive(Default)]
struct PathInfo {
    types: BTreeSet<&'static str>,
    /// The number of values at this path, and of objects among them.
    present: usize,
    objects: usize,
}

/// Returns a line for each path: `path: type`, or `path (not always): type` if some objects lack the key. A type that
/// may be null ends in `?`.
pub fn shape(value: &Value) -> String {
    let mut paths = BTreeMap::new();
    visit(value, "", &mut paths);
    let mut text = String::new();
    for (path, info) in paths.iter().filter(|(path, _)| !path.is_empty()) {
        let possible =
            paths.get(path.rfind('.').map_or("", |at| &path[..at])).map_or(0, |parent| parent.objects);
        let not_always = if info.present < possible && !path.ends_with("[]") { " (not always)" } else { "" };
        let nullable = info.types.contains("null");
        let types: Vec<_> = info.types.iter().copied().filter(|kind| *kind != "null").collect();
        let types = match (types.is_empty(), nullable) {
            (true, _) => "null".to_owned(),
            (false, true) => types.join(" or ") + "?",
            (false, false) => types.join(" or "),
        };
        text.push_str(&format!("{path}{not_always}: {types}\n"));
    }
    text
}

/// Returns true if two lines of shapes are equal. A type that may be null equals null, and also the type without null,
/// since the machine determines which values can be measured.
pub fn same(golden: &str, now: &str) -> bool {
    let (Some((path, old)), Some((now_path, new))) = (golden.split_once(": "), now.split_once(": ")) else {
        return golden == now;
    };
    let null = |types: &str, other: &str| types == "null" && other.ends_with('?');
    let is_bare = old.trim_end_matches('?') == new.trim_end_matches('?');
    path == now_path && (is_bare || null(old, new) || null(new, old))
}

fn visit(value: &Value, path: &str, paths: &mut BTreeMap<String, PathInfo>) {
    let info = paths.entry(path.to_owned()).or_default();
    info.present += 1;
    info.objects += usize::from(value.is_object());
    info.types.insert(kind(value, path));
    match value {
        Value::Object(_) if path.ends_with(CLOCK) => {}
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            visit(value, &path, paths);
        }),
        Value::Array(items) => items.iter().for_each(|item| visit(item, &format!("{path}[]"), paths)),
        _ => {}
    }
}

fn kind(value: &Value, path: &str) -> &'static str {
    match value {
        // Noise depends on the machine and the moment.
        Value::Bool(false) | Value::String(_) if path.ends_with("noisy") => "false or string",
        // Not every machine shows its clocks.
        Value::Object(_) | Value::Null if path.ends_with(CLOCK) => "object or null",
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
