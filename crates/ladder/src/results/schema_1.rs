//! Converts saved results of schema 1, in which each ladder had keys of its own. Only the keys that `compare` needs are
//! converted.

use serde_json::{Map, Value, json};

/// Converts a document to schema 2. Parts with unexpected types stay as they are, so that reading them fails.
pub(super) fn convert(mut document: Value) -> Value {
    if let Value::Object(fields) = &mut document {
        fields.insert("schema".to_owned(), super::SCHEMA.into());
        if fields.get("ladder").is_none_or(Value::is_null) {
            fields.insert("ladder".to_owned(), "box_filter".into());
        }
        let devices = fields.get_mut("devices").and_then(Value::as_array_mut);
        devices.into_iter().flatten().filter_map(Value::as_object_mut).for_each(convert_device);
    }
    document
}

/// Removes a list from its object and returns it; returns an empty list if there is none.
fn take_list(from: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    if let Some(Value::Array(list)) = from.remove(key) { list } else { Vec::new() }
}

/// Converts the results of a device: its lists of whole frames and of type conversions become cases.
fn convert_device(device: &mut Map<String, Value>) {
    let mut added: Vec<(Value, Vec<Value>)> = Vec::new();
    for row in take_list(device, "whole_frames") {
        let title = row["title"].clone();
        match added.last_mut().filter(|(of, _)| *of == title) {
            Some((_, rows)) => rows.push(verified(row)),
            None => added.push((title, vec![verified(row)])),
        }
    }
    let conversions: Vec<Value> =
        take_list(device, "conversions").into_iter().map(convert_conversion).collect();
    if !conversions.is_empty() {
        added.push(("conversions".into(), conversions));
    }
    let runs = device.entry("runs").or_insert_with(|| json!([]));
    if let Value::Array(runs) = runs {
        runs.iter_mut().filter_map(Value::as_object_mut).for_each(convert_run);
        runs.extend(added.into_iter().map(|(title, rows)| json!({ "title": title, "variants": rows })));
    }
}

/// Converts the results of a case: the keys for peak kernels and for filters in Rust become rows.
fn convert_run(run: &mut Map<String, Value>) {
    let prefix = |key: &str| Some(key.strip_suffix("_samples").or(key.strip_suffix("_ms"))?.to_owned());
    let mut keys: Vec<String> = run.keys().filter_map(|key| prefix(key)).collect();
    // The peak kernel that moves the same bytes comes first: its name is the shortest.
    keys.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    keys.dedup();
    let peak = |key: &String| {
        let name = match key.as_str() {
            "limit" => run.get("limit").cloned().unwrap_or_else(|| "limit".into()),
            "planes_copy" => "copy of planes".into(),
            other => other.into(),
        };
        let of = |what: &str| run.get(&format!("{key}_{what}")).cloned().unwrap_or_default();
        json!({ "id": name, "outcome": "ok", "noisy": of("noisy"), "samples": of("samples") })
    };
    let peaks = keys.iter().map(peak).collect();
    run.insert("peaks".to_owned(), peaks);
    let native = take_list(run, "native").into_iter().map(|row| {
        let lanes = if row["vectors"] == true { "vectors" } else { "plain" };
        with(verified(row.clone()), "id", format!("native, {} × {lanes}", row["threads"]).into())
    });
    if let Value::Array(rows) = run.entry("variants").or_insert_with(|| json!([])) {
        rows.extend(native);
    }
}

/// Converts the row of a type conversion, so that its id alone identifies it.
fn convert_conversion(row: Value) -> Value {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let corrected = if row["corrected"] == true { ", corrected" } else { "" };
    let id = format!("{} to {}{corrected}", text("id"), text("to"));
    // Unlike a variant's, this kernel is a path.
    with(with(verified(row), "kernel", Value::Null), "id", id.into())
}

/// Marks a row as verified. Conversions, whole frames and filters in Rust were timed only if their output had been compared
/// with the reference.
fn verified(row: Value) -> Value {
    with(row, "checked", json!([{}]))
}

fn with(mut row: Value, key: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut row {
        fields.insert(key.to_owned(), value);
    }
    row
}
