//! The columns of the statistics that `--stats` writes, for CSV, JSON and the table of docs/numbers.md.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{ClothTimes, FrameSample, GL_NAMES, Setting, Stage, settings_csv, settings_json};

/// A presented frame whose values are written as one row of the statistics.
pub(super) struct Row<'a> {
    pub frame: u64,
    pub sample: &'a FrameSample,
    /// True if the previous frame was filtered under other conditions (another [`Setting`]).
    pub switched: bool,
}

/// The value of a column for a frame.
enum Cell {
    /// A number, and how many digits are written after the decimal point: no more than the precision of the clock justifies.
    Number(f64, usize),
    Other(Value),
    /// The settings of a filter of a folder, in JSON and in CSV.
    Settings(Value, String),
    /// A value that CSV has as an empty cell, and JSON not at all.
    Absent,
}

impl Cell {
    /// Creates the cell of a measured number, such as milliseconds; an empty cell for `None` or a number that is not finite.
    fn measured(value: impl Into<Option<f64>>) -> Self {
        let value = value.into().filter(|value| value.is_finite());
        value.map_or(Self::Other(Value::Null), |value| Self::Number(value, 4))
    }

    fn seconds(value: f64) -> Self {
        Self::Number(value, 6)
    }

    fn csv(self) -> String {
        match self {
            Self::Number(value, digits) => format!("{value:.digits$}"),
            Self::Other(Value::Null) | Self::Absent => String::new(),
            // Texts have a comma if a filter has several parameters.
            Self::Other(Value::String(text)) if text.contains([',', '"']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Other(Value::String(text)) => text,
            Self::Other(Value::Array(words)) => {
                words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Settings(_, text) => text,
            Self::Other(value) => value.to_string(),
        }
    }

    /// Returns the value in JSON; `None` if JSON does not have it.
    fn json(self) -> Option<Value> {
        Some(match self {
            Self::Number(value, digits) => {
                let per_unit = 10f64.powi(digits as i32);
                ((value * per_unit).round() / per_unit).into()
            }
            Self::Other(value) | Self::Settings(value, _) => value,
            Self::Absent => return None,
        })
    }
}

/// Creates the cell of a value that is not a measured number; an empty cell for `None`.
fn other(value: impl Into<Value>) -> Cell {
    Cell::Other(value.into())
}

/// A column of the statistics.
struct Column {
    /// The name of the column. If the column's group has a JSON object, the column is a field of that object, and in CSV its
    /// name has the object's name as a prefix.
    name: &'static str,
    read: Box<dyn Fn(&Row<'_>) -> Cell + Send + Sync>,
}

/// A group of columns with a common subject.
#[cfg_attr(not(test), expect(dead_code, reason = "a test compares title and meaning with docs/numbers.md"))]
struct Group {
    /// The name of the JSON object that has the values, and the prefix of the names in CSV; empty if the group has no object.
    object: &'static str,
    columns: Vec<Column>,
    /// The heading of the group in docs/numbers.md; empty to list the names of its columns.
    title: &'static str,
    /// The meaning of the columns, for docs/numbers.md.
    about: &'static str,
}

fn column(name: &'static str, read: impl Fn(&Row<'_>) -> Cell + Send + Sync + 'static) -> Column {
    Column { name, read: Box::new(read) }
}

fn group(about: &'static str, columns: Vec<Column>) -> Group {
    Group { object: "", columns, title: "", about }
}

/// Returns a column about the cloth simulation; `read` is not called for frames without it.
fn cloth(name: &'static str, read: impl Fn(&ClothTimes) -> Cell + Send + Sync + 'static) -> Column {
    column(name, move |row| row.sample.cloth.as_deref().map_or(other(Value::Null), &read))
}

/// All columns, by group, in the order in which they are written.
static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let stages = Stage::ALL.map(|stage| column(stage.name(), move |r| Cell::measured(r.sample.stage(stage))));
    let gl = GL_NAMES.into_iter().enumerate();
    let gl = gl.map(|(at, name)| column(name, move |r| Cell::measured(r.sample.gl[at])));
    let steps = ClothTimes::NAMES.into_iter().enumerate();
    let steps = steps.map(|(at, name)| cloth(name, move |of| Cell::measured(of.ms[at])));
    let on_host = |of: &ClothTimes| {
        let steps = ClothTimes::NAMES[ClothTimes::FIRST_STEP..].iter().zip(of.on_host);
        other(steps.filter(|(_, on_host)| *on_host).map(|(name, _)| *name).collect::<Vec<_>>())
    };
    let mut of_cloth = vec![cloth("figures", |of| other(of.figures))];
    of_cloth.extend(steps);
    of_cloth.extend([cloth("on_host", on_host), cloth("handovers", |of| other(of.handovers))]);
    vec![
        group(
            "number of the row, position in the movie, time since playback began",
            vec![
                column("frame", |r| other(r.frame)),
                column("pts_s", |r| Cell::seconds(r.sample.pts)),
                column("presented_at_s", |r| Cell::seconds(r.sample.presented_at)),
            ],
        ),
        group(
            "ms since the previous frame was presented",
            vec![column("interval_ms", |r| Cell::measured(r.sample.interval_ms))],
        ),
        group(
            "filter",
            vec![
                column("variant", |r| other(r.sample.setting.variant.name)),
                column("radius", |r| settings("radius", r)),
            ],
        ),
        group(
            "late or not; frames dropped between the previous one and this one",
            vec![
                column("late", |r| other(r.sample.late)),
                column("dropped_before", |r| other(r.sample.dropped_before)),
            ],
        ),
        Group { title: "a stage's name", ..group("ms", stages.into()) },
        group(
            "ms of the decoder's thread to prepare the planes in pinned memory",
            vec![column("pack", |r| Cell::measured(r.sample.stages.pack_ms))],
        ),
        group(
            "ms of OpenGL's device to fetch the picture, draw it, and draw the overlay; empty with a software OpenGL, which draws in *swap*",
            gl.collect(),
        ),
        group(
            "size; true if the interval is mostly a wait for another variant",
            vec![
                column("width", |r| other(r.sample.setting.size.0)),
                column("height", |r| other(r.sample.setting.size.1)),
                column("switched", |r| other(r.switched)),
            ],
        ),
        group(
            "wall time of `native`, of `glsl` without timer queries, and of kernels whose device has no [trusted clock](#the-devices-clock); their `filter` is empty",
            vec![column("filter_wall", |r| Cell::measured(r.sample.filter_wall_ms()))],
        ),
        group(
            "part of the machine that other processes used",
            vec![column("others", |r| Cell::measured(r.sample.others))],
        ),
        group(
            "second side of a wipe: its filter, whether the sides were compared, and its filter's time",
            vec![
                column("beside", |r| other(r.sample.setting.second_side_text())),
                column("compared", |r| other(r.sample.setting.is_compared())),
                column("beside_filter", |r| Cell::measured(r.sample.beside_filter_ms)),
            ],
        ),
        Group {
            object: "cloth",
            title: "`cloth_…`",
            ..group("steps of the scene [cloth](cloth.md#the-scene); in JSON the object `cloth`", of_cloth)
        },
        group(
            "version of edited kernels, 1 for the first",
            vec![
                column("version", |r| other(r.sample.setting.version)),
                column("beside_version", |r| other(r.sample.setting.beside_version)),
            ],
        ),
        group(
            "ms by which the picture was presented later than its sound was heard; empty without sound",
            vec![column("sound_lag", |r| Cell::measured(r.sample.sound_lag_ms))],
        ),
        group(
            "all filters of a [stack](filters.md#stacks), the lowest one first; `variant` and settings are those of the chosen one",
            vec![column("stack_filters", |r| other(r.sample.setting.stack_text()))],
        ),
        group(
            "settings of a [filter of a folder](filters.md) instead of `radius`, as in `gain=1.5 side=3`, in JSON an object; only for such filters",
            vec![column(SETTINGS, |r| settings(SETTINGS, r))],
        ),
    ]
});

/// The name of the column of the settings of filters of folders.
const SETTINGS: &str = "settings";

/// Creates the cell of the settings in the column with this name, which is that of the box filter or that of filters of folders.
fn settings(name: &str, row: &Row<'_>) -> Cell {
    let Setting { variant, settings, .. } = row.sample.setting;
    let (key, value) = settings_json(variant, settings);
    match value {
        _ if key != name => Cell::Absent,
        Value::Object(_) => Cell::Settings(value, settings_csv(variant, settings)),
        value => other(value),
    }
}

/// Returns the groups of columns in CSV. The last one, with the settings, is left out unless `has_settings` is true.
fn csv_groups(has_settings: bool) -> &'static [Group] {
    let count = GROUPS.len() - usize::from(!has_settings);
    &GROUPS[..count]
}

/// Returns the names of the columns in CSV, with that of the settings if `has_settings` is true.
pub(super) fn csv_header(has_settings: bool) -> String {
    let names = csv_groups(has_settings).iter().flat_map(|Group { object, columns, .. }| {
        columns.iter().map(move |Column { name, .. }| match object.is_empty() {
            true => (*name).to_owned(),
            false => format!("{object}_{name}"),
        })
    });
    names.collect::<Vec<_>>().join(",")
}

/// Returns a row of CSV, with the settings if `has_settings` is true.
pub(super) fn csv(row: &Row<'_>, has_settings: bool) -> String {
    let columns = csv_groups(has_settings).iter().flat_map(|group| &group.columns);
    columns.map(|column| (column.read)(row).csv()).collect::<Vec<_>>().join(",")
}

/// Returns a row of JSON. The object of a group is `null` if none of its columns has a value.
pub(super) fn json(row: &Row<'_>) -> Value {
    let mut fields = Map::new();
    for group in GROUPS.iter() {
        let value = |column: &Column| Some((column.name.to_owned(), (column.read)(row).json()?));
        let values = group.columns.iter().filter_map(value);
        if group.object.is_empty() {
            fields.extend(values);
        } else {
            let object: Map<String, Value> = values.collect();
            let has_values = object.values().any(|value| !value.is_null());
            fields.insert(group.object.to_owned(), Some(object).filter(|_| has_values).into());
        }
    }
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that the documentation has the table of the columns.
    #[test]
    fn the_documentation_has_the_table_of_the_columns() {
        let line = |group: &Group| {
            let names: Vec<_> = group.columns.iter().map(|column| format!("`{}`", column.name)).collect();
            let title = if group.title.is_empty() { &names.join(", ") } else { group.title };
            format!("| {title} | {} |\n", group.about)
        };
        let table: String = GROUPS.iter().map(line).collect();
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/numbers.md");
        let text = std::fs::read_to_string(page).unwrap();
        assert!(
            text.contains(&format!("| column | meaning |\n|---|---|\n{table}\n")),
            "docs/numbers.md lacks:\n{table}"
        );
    }
}
