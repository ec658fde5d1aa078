//! Compares a file with the list of its [keys](crate::keys): which keys are there, and the kinds of their values.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{Key, Kind, TABLES, Table};
use crate::place::{Mistake, Place, Text, instead, nearest};

pub(crate) type Value<'i> = Spanned<DeValue<'i>>;

/// The most characters of a text, and of a name.
const MAX_TEXT: usize = 200;
/// The most entries of a table whose keys are names.
const MAX_NAMES: usize = 64;

/// A file that is read, and its mistakes so far.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub text: Text<'a>,
    pub mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    /// Returns the place of a value.
    pub(crate) fn place(&self, value: &Value<'_>) -> Place {
        self.text.place(value.span().start)
    }

    /// Adds a mistake at the beginning of a value.
    pub(crate) fn mistake(
        &mut self,
        value: &Value<'_>,
        what: &str,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.mistake_at(value.span().start, what, why, hint);
    }

    /// Adds a mistake at an offset in the file.
    pub(crate) fn mistake_at(
        &mut self,
        at: usize,
        what: &str,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let place = self.text.place(at);
        self.mistakes.push(place.mistake(what, why, hint));
    }

    /// Compares a table that begins at `start` with its list of keys.
    pub(crate) fn check_table(&mut self, table: &DeTable<'_>, keys: &'static Table, start: usize) {
        let mut meant = Vec::new();
        for (key, at, value) in entries(table) {
            match keys.keys().find(|known| known.name == key) {
                Some(known) => self.check(key, value, &known.kind),
                None => {
                    let names: Vec<_> = keys.keys().map(|known| known.name).collect();
                    let (why, mut hint) = instead(key, &names);
                    let owner =
                        TABLES.into_iter().find(|table| table.keys.iter().any(|known| known.name == key));
                    let near = nearest(key, names);
                    meant.extend(near);
                    if let Some(owner) = owner.filter(|_| near.is_none()) {
                        hint = format!("'{key}' is a key of `{}`: move it there.", owner.name);
                    }
                    let what = format!("'{key}' is no key of `{}`.", keys.name);
                    self.mistake_at(at, &what, why, hint);
                }
            }
        }
        // A misspelt key is not missing, too.
        let is_missing =
            |key: &&Key| key.required && !table.contains_key(key.name) && !meant.contains(&key.name);
        for Key { name, kind, about, .. } in keys.keys().filter(is_missing) {
            let hint = match kind {
                Kind::List(Kind::Table(table), ..) => format!("Add a table `{}`.", table.name),
                _ => format!("Add `{name} = {}`.", kind.example()),
            };
            let what = format!("`{}` has no '{name}'.", keys.name);
            self.mistakes.push(self.text.place(start).mistake(&what, *about, hint));
        }
    }

    /// Compares the value of a key with the kind that it must have.
    fn check(&mut self, key: &str, value: &Value<'_>, kind: &'static Kind) {
        let is_right = match (kind, value.get_ref()) {
            (Kind::Table(keys) | Kind::Or(_, keys), DeValue::Table(table)) => {
                return self.check_table(table, keys, value.span().start);
            }
            (Kind::Or(kind, _), _) => return self.check(key, value, kind),
            (Kind::Map(kind), DeValue::Table(table)) => {
                for (name, at, value) in entries(table) {
                    if !is_name(name) {
                        let what = format!("'{name}' is no name.");
                        let why =
                            "Names have at most 40 letters, digits and `_`, and do not begin with a digit.";
                        self.mistakes.push(self.text.place(at).mistake(
                            &what,
                            why,
                            "Write, for example, `radius_2`.",
                        ));
                    }
                    self.check(name, value, kind);
                }
                table.len() <= MAX_NAMES
            }
            (Kind::List(kind, least, most), DeValue::Array(values)) => {
                values.iter().for_each(|value| self.check(key, value, kind));
                (*least..=*most).contains(&values.len())
            }
            (Kind::Text, DeValue::String(text)) => {
                (1..=MAX_TEXT).contains(&text.chars().count()) && !text.contains(base::text::is_control)
            }
            (Kind::Name, DeValue::String(text)) => is_name(text),
            (Kind::Id, DeValue::String(text)) => {
                let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                (1..=40).contains(&text.len()) && text.chars().all(is_small) && !text.starts_with('-')
            }
            (Kind::Word(words), DeValue::String(text)) => words.contains(&text.as_ref()),
            (Kind::Expression | Kind::Comparison, DeValue::String(_)) => true,
            (Kind::Whole(least, most), DeValue::Integer(_)) => {
                whole(value).is_some_and(|number| (*least..=*most).contains(&number))
            }
            (Kind::Expression, DeValue::Integer(_)) => whole(value).is_some(),
            (Kind::Number, DeValue::Integer(_) | DeValue::Float(_)) => {
                number(value).is_some_and(f64::is_finite)
            }
            _ => false,
        };
        if !is_right {
            let what = format!("'{key}' is {}, which is not allowed.", found(value));
            let why = format!("Allowed: {}.", kind.allowed());
            let hint = match (kind, value.get_ref()) {
                (Kind::List(Kind::Table(table), ..), DeValue::Table(_)) => {
                    format!("Write `{}` with two brackets.", table.name)
                }
                (Kind::Word(words), DeValue::String(text)) => instead(text, words).1,
                _ => format!("Write, for example, `{key} = {}`.", kind.example()),
            };
            self.mistake(value, &what, why, hint);
        }
    }
}

/// Returns the keys of a table with their offsets and values, in the order of the file.
pub(crate) fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, usize, &'t Value<'i>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span().start, value)).collect();
    entries.sort_by_key(|(_, at, _)| *at);
    entries
}

/// Returns a whole number; `None` for other values, and for numbers that do not fit in 64 bits.
pub(crate) fn whole(value: &Value<'_>) -> Option<i64> {
    let integer = value.get_ref().as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Returns a number; `None` for other values.
pub(crate) fn number(value: &Value<'_>) -> Option<f64> {
    let float = || value.get_ref().as_float()?.as_str().parse().ok();
    whole(value).map(|whole| whole as f64).or_else(float)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=40).contains(&text.len())
        && text.chars().all(is_part)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns a value in words.
fn found(value: &Value<'_>) -> String {
    match value.get_ref() {
        DeValue::String(text) if text.is_empty() => "an empty text".into(),
        DeValue::String(text) if text.chars().count() <= 40 => format!("\"{text}\""),
        DeValue::String(_) => "a long text".into(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date or time".into(),
        DeValue::Array(values) => format!("an array of {}", values.len()),
        DeValue::Table(table) => format!("a table of {}", table.len()),
    }
}

pub(crate) fn text_of(table: &DeTable<'_>, key: &str) -> Option<String> {
    Some(table.get(key)?.get_ref().as_str()?.to_owned())
}

pub(crate) fn whole_of(table: &DeTable<'_>, key: &str) -> Option<i64> {
    whole(table.get(key)?)
}

pub(crate) fn table_of<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// Returns the entries of the table behind a key, in the order of the file; none if there is no such key.
pub(crate) fn named<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Vec<(&'t str, usize, &'t Value<'i>)> {
    table_of(table, key).map(entries).unwrap_or_default()
}

/// Returns the values of the array behind a key; none if there is no such key.
pub(crate) fn list<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> &'t [Value<'i>] {
    table.get(key).and_then(|value| value.get_ref().as_array()).map_or(&[], |array| array.as_ref())
}
