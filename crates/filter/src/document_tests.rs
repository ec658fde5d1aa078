//! Makes the tables of docs/filters.md and docs/filter.schema.json of the list of keys, and compares them with the files.
//! `UPDATE_GOLDENS=1` writes the files instead.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::Description;
use crate::keys::{Key, Kind, TABLES, Table};

fn docs(file: &str) -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    (path, text)
}

/// Asserts that a file of the docs has this content, in the form that `read` makes of its text.
fn assert_is<T: PartialEq>(file: &str, want: &str, read: impl Fn(&str) -> T) {
    let (path, text) = docs(file);
    if testkit::golden::is_update() {
        std::fs::write(path, want).unwrap();
    } else {
        let hint = "see UPDATE_GOLDENS=1 cargo test -p filter";
        assert!(read(&text) == read(want), "{file} differs from the list of keys: {hint}");
    }
}

#[test]
fn the_page_has_the_tables_of_all_keys() {
    let mut tables = String::new();
    for table in TABLES {
        write!(tables, "\n### `{}`\n\n| key | value | meaning |\n|---|---|---|\n", table.name).unwrap();
        for Key { name, kind, required, about } in table.keys {
            let needed = if *required { " (needed)" } else { "" };
            writeln!(tables, "| `{name}`{needed} | {} | {about} |", kind.allowed()).unwrap();
        }
    }
    let (_, page) = docs("filters.md");
    let (before, rest) = page.split_once("<!-- keys -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /keys -->").unwrap();
    assert_is(
        "filters.md",
        &format!("{before}<!-- keys -->\n{tables}\n<!-- /keys -->{after}"),
        str::to_owned,
    );
}

#[test]
fn examples_of_the_page_are_right() {
    let (_, page) = docs("filters.md");
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let names: Vec<String> =
        examples.iter().map(|text| Description::parse(text, "page").unwrap().name).collect();
    assert_eq!(names, ["Sobel", "Mean of three", "Luma", "Blur"]);
    let wrong = examples[0].replace("kernel =", "kernal =");
    let mistake = Description::parse(&wrong, "sobel/filter.toml").unwrap_err()[0].to_string();
    assert!(page.contains(&mistake), "the page should show\n{mistake}");
}

fn object(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the name of a table in the schema.
fn id(table: &Table) -> String {
    let last = table.name.trim_matches(['[', ']']).trim_start_matches("variants.");
    last.split(['.', ']']).next().unwrap_or_default().to_owned()
}

fn schema(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!({"type": "string", "minLength": 1, "maxLength": 200}),
        Kind::Name => json!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": 40}),
        Kind::Id => json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$", "maxLength": 40}),
        Kind::Word(words) => json!({"enum": words}),
        Kind::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Number => json!({"type": "number"}),
        Kind::Expression => json!({"type": ["string", "integer"]}),
        Kind::Comparison => json!({"type": "string", "pattern": "<"}),
        Kind::Table(table) => json!({"$ref": format!("#/$defs/{}", id(table))}),
        Kind::List(kind, least, most) => {
            json!({"type": "array", "items": schema(kind), "minItems": least, "maxItems": most})
        }
        Kind::Map(kind) => {
            json!({"type": "object", "additionalProperties": schema(kind), "maxProperties": 64})
        }
        Kind::Or(kind, table) => json!({"anyOf": [schema(kind), schema(&Kind::Table(table))]}),
    }
}

#[test]
fn the_schema_has_all_keys() {
    let table = |table: &Table| {
        let properties = table.keys().map(|key| {
            let mut schema = schema(&key.kind);
            schema["description"] = key.about.replace('`', "").into();
            (key.name, schema)
        });
        let required: Vec<&str> = table.keys().filter(|key| key.required).map(|key| key.name).collect();
        let properties = object(properties);
        object([
            ("type", "object".into()),
            ("properties", properties.into()),
            ("required", required.into()),
            ("additionalProperties", false.into()),
        ])
    };
    let mut whole = object([
        ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
        ("title", "clreel's filter.toml, format 1".into()),
    ]);
    whole.append(&mut table(TABLES[0]));
    let others = TABLES[1..].iter().map(|other| (id(other), Value::from(table(other))));
    let others: Map<String, Value> = others.collect();
    assert_eq!(others.len(), TABLES.len() - 1, "two tables have one name");
    whole.insert("$defs".to_owned(), others.into());
    assert_is(
        "filter.schema.json",
        &format!("{}\n", serde_json::to_string_pretty(&whole).unwrap()),
        |text| serde_json::from_str::<Value>(text).unwrap_or_default(),
    );
}
