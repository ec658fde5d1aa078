//! Makes a [`Description`] of a file whose keys have the right kinds, and checks what their kinds do not say.

use toml::de::{DeTable, DeValue};

use crate::code::Context;
use crate::description::{Accuracy, Description, Format, Parameter, Reference, Variant};
use crate::keys::{BUILT_IN, CODE, FILTER, FORMAT, is_built_in};
use crate::place::{Mistake, Text, instead};
use crate::settings::MAX_PARAMETERS;
use crate::shape::{Reader, Value, list, named, number, table_of, text_of, whole, whole_of};
use crate::trial;

/// The most bytes of a `filter.toml`.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// The most mistakes that are reported.
const MAX_MISTAKES: usize = 100;

impl Description {
    /// Reads the text of a `filter.toml`; messages name the file `file`.
    ///
    /// # Errors
    /// Returns the mistakes in the text, at least one and at most a hundred, in the order of their places.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader { text: Text::new(text, file), mistakes: Vec::new() };
        if text.len() > MAX_BYTES {
            let why = format!("It has {} bytes, and {MAX_BYTES} are allowed.", text.len());
            return Err(vec![reader.text.place(0).mistake("The file is too long.", why, "Shorten it.")]);
        }
        let (table, wrong) = DeTable::parse_recoverable(text);
        for error in wrong {
            let place = reader.text.place(error.span().map_or(0, |span| span.start.min(text.len())));
            let hint = "TOML has lines `key = value` below headings `[table]`; texts are in quotes, keys stand once.";
            let why = format!("{}.", error.message().trim_end_matches('.'));
            reader.mistakes.push(place.mistake("This is no TOML.", why, hint));
        }
        let table = table.get_ref();
        if let Some(newer) = table.get("format").filter(|value| whole(value).is_some_and(|n| n > FORMAT)) {
            let what = format!("The file has format {}.", whole(newer).unwrap_or_default());
            reader.mistakes.clear();
            reader.mistake(
                newer,
                &what,
                format!("This clreel reads format {FORMAT}."),
                "Use a newer clreel.",
            );
        }
        if reader.mistakes.is_empty() {
            reader.check_table(table, &FILTER, 0);
        }
        let read = if reader.mistakes.is_empty() { reader.description(table) } else { None };
        match read.filter(|_| reader.mistakes.is_empty()) {
            Some(description) => Ok(description),
            None => {
                let mut mistakes = reader.mistakes;
                mistakes.sort_by(|a, b| a.place.cmp(&b.place));
                mistakes.dedup();
                mistakes.truncate(MAX_MISTAKES);
                Err(mistakes)
            }
        }
    }
}

/// Returns the largest `frames_back` in a value and in the tables and arrays within it; 0 if there is none.
fn frames_back(value: &Value<'_>) -> i64 {
    let within = |(key, value): (&str, &Value<'_>)| match key {
        "frames_back" => whole(value).unwrap_or(0),
        _ => frames_back(value),
    };
    match value.get_ref() {
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.get_ref().as_ref(), value));
            entries.map(within).max().unwrap_or(0)
        }
        DeValue::Array(values) => values.iter().map(frames_back).max().unwrap_or(0),
        _ => 0,
    }
}

impl Reader<'_> {
    fn description(&mut self, table: &DeTable<'_>) -> Option<Description> {
        let parameters = self.parameters(table);
        let [input, output] = ["input", "output"].map(|key| match text_of(table, key).as_deref() {
            Some("planes") => Format::Planes,
            Some("planes12") => Format::Planes12,
            _ => Format::Rgba8,
        });
        if let Some(value) = table.get("output").filter(|_| output != Format::Rgba8 && input == Format::Rgba8)
        {
            let why = "Planes of the output have the sizes of those of the input.";
            let hint = "Add `input = \"planes\"`.";
            self.mistake(value, "The output has planes, the input has none.", why, hint);
        }
        let frames = whole_of(table, "frames").unwrap_or(1) as u32;
        let wanted_frames = 1 + list(table, "variants").iter().map(frames_back).max().unwrap_or(0);
        let context = Context { parameters: &parameters, formats: [input, output], frames, wanted_frames };
        let variants: Vec<Variant> =
            list(table, "variants").iter().filter_map(|value| self.variant(value, &context)).collect();
        self.check_unique(list(table, "variants"));

        // Of all variants, also those with mistakes.
        let id = |value| text_of(Value::get_ref(value).as_table()?, "id");
        let ids: Vec<String> = list(table, "variants").iter().filter_map(id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut index = |key: &str| self.variant_index(table.get(key)?, &ids);
        let initial = index("initial").unwrap_or(0);
        let auto = index("auto").unwrap_or(variants.len().saturating_sub(1));
        let reference = self.reference(table, &ids, &context);
        let accuracy = match table_of(table, "accuracy") {
            Some(within) => Accuracy::Within {
                largest_difference: whole_of(within, "largest_difference")? as u8,
                reason: text_of(within, "reason")?,
            },
            None => Accuracy::Exact,
        };
        let [name, sentence] = ["name", "sentence"].map(|key| text_of(table, key));
        Some(Description {
            name: name?,
            sentence: sentence?,
            input,
            output,
            frames,
            reference,
            accuracy,
            initial,
            auto,
            parameters,
            variants,
        })
    }

    fn parameters(&mut self, table: &DeTable<'_>) -> Vec<Parameter> {
        if let Some((name, at, _)) = named(table, "parameters").get(MAX_PARAMETERS) {
            let what = format!("'{name}' is one parameter too many.");
            let why = format!("A filter has at most {MAX_PARAMETERS}.");
            self.mistake_at(*at, &what, &why, "Make it a constant of the kernels.");
        }
        let read = named(table, "parameters").into_iter().filter_map(|(name, at, value)| {
            if is_built_in(name) {
                let hint = format!("Call it `{name}_2`, for example.");
                let what = format!("'{name}' cannot be a parameter's name.");
                self.mistake_at(at, &what, "Expressions have this name already.", hint);
            }
            self.parameter(name, value.get_ref().as_table()?)
        });
        read.collect()
    }

    fn parameter(&mut self, name: &str, table: &DeTable<'_>) -> Option<Parameter> {
        let is_whole = text_of(table, "type")? == "int";
        let range_value = table.get("range")?;
        let mut numbers: Vec<&Value<'_>> = list(table, "range").iter().collect();
        let [least, most] = [number(numbers.first()?)?, number(numbers.get(1)?)?];
        let default = number(table.get("default")?)?;
        let step =
            table.get("step").and_then(number).unwrap_or(if is_whole { 1.0 } else { (most - least) / 100.0 });
        numbers.extend([table.get("default")?].into_iter().chain(table.get("step")));
        for value in numbers.into_iter().filter(|_| is_whole) {
            if whole(value).is_none_or(|number| i32::try_from(number).is_err()) {
                let why = "A parameter of type \"int\" has whole numbers of 32 bits.";
                let hint = "Round it, or write `type = \"float\"`.";
                self.mistake(value, "This is no whole number of 32 bits.", why, hint);
            }
        }
        if least >= most {
            let what = format!("The range of '{name}' is empty.");
            let why = format!("It begins at {least} and ends at {most}.");
            // The two numbers in order; in place of one of two equal ones another.
            let other = match (least > most, least == 0.0) {
                (true, _) => least,
                (false, true) => 10.0,
                (false, false) => 0.0,
            };
            let hint = format!("Write, for example, `range = [{}, {}]`.", most.min(other), most.max(other));
            self.mistake(range_value, &what, why, hint);
        } else if !(least..=most).contains(&default) {
            let what = format!("The default of '{name}' is outside of its range.");
            let why = format!("The range is {least} to {most}, the default {default}.");
            self.mistake(table.get("default")?, &what, why, "Change the default, or widen the range.");
        } else if !(step > 0.0 && step <= most - least) {
            let what = format!("The step of '{name}' does not suit its range.");
            let why = format!("A step is above 0, and at most {}.", most - least);
            self.mistake(table.get("step").unwrap_or(range_value), &what, why, "Change the step.");
        }
        let unit = text_of(table, "unit").unwrap_or_default();
        Some(Parameter { name: name.to_owned(), is_whole, range: [least, most], step, default, unit })
    }

    /// Adds mistakes for ids and keys that several variants have, and for ids that are taken.
    fn check_unique(&mut self, variants: &[Value<'_>]) {
        let mut seen: Vec<(&str, String)> = Vec::new();
        for table in variants.iter().filter_map(|value| value.get_ref().as_table()) {
            for key in ["id", "key"] {
                let Some(value) = table.get(key) else { continue };
                let text =
                    text_of(table, key).or_else(|| whole(value).map(|n| n.to_string())).unwrap_or_default();
                let is_taken = ["off", "auto"].contains(&text.as_str())
                    || BUILT_IN.iter().any(|(name, _)| *name == text);
                if seen.contains(&(key, text.clone())) {
                    let what = format!("Two variants have the {key} {text}.");
                    let why = format!("Each {key} chooses one variant.");
                    self.mistake(value, &what, why, format!("Change one {key}, or remove it."));
                } else if is_taken {
                    let what = format!("No variant can have the id '{text}'.");
                    let why = "'off', 'auto' and the built-in 'box' have a meaning already.";
                    self.mistake(value, &what, why, format!("Write `id = \"my-{text}\"`."));
                }
                seen.push((key, text));
            }
        }
    }

    fn variant_index(&mut self, value: &Value<'_>, ids: &[&str]) -> Option<usize> {
        let id = value.get_ref().as_str()?;
        let found = ids.iter().position(|known| *known == id);
        if found.is_none() {
            let (why, hint) = instead(id, ids);
            self.mistake(value, &format!("No variant has the id '{id}'."), why, hint);
        }
        found
    }

    fn reference(&mut self, table: &DeTable<'_>, ids: &[&str], context: &Context<'_>) -> Option<Reference> {
        let Some(value) = table.get("reference") else {
            return (ids.len() > 1).then_some(Reference::Variant(0));
        };
        let Some((name, parameter)) =
            BUILT_IN.iter().find(|(name, _)| Some(*name) == value.get_ref().as_str())
        else {
            let known: Vec<&str> = ids.iter().copied().chain(BUILT_IN.map(|(name, _)| name)).collect();
            return self.variant_index(value, &known).map(Reference::Variant);
        };
        let suits =
            |p: &Parameter| p.name == *parameter && p.is_whole && p.range[0] >= 0.0 && p.range[1] <= 128.0;
        if !context.parameters.iter().any(suits)
            || ![[Format::Rgba8; 2], [Format::Planes, Format::Planes12]].contains(&context.formats)
            || context.frames != 1
        {
            let why = format!(
                "It takes one RGBA picture, or planes that become `planes12`, and a whole number `{parameter}` from 0 to 128."
            );
            let hint = "Add `[parameters.radius]`, or choose a variant as the reference.";
            self.mistake(value, &format!("This filter does not suit the reference '{name}'."), why, hint);
        }
        Some(Reference::BuiltIn((*name).to_owned()))
    }

    fn variant(&mut self, value: &Value<'_>, context: &Context<'_>) -> Option<Variant> {
        let table = value.get_ref().as_table()?;
        let id = text_of(table, "id")?;
        let parts = ["cpu", "other"].map(|key| table.get(key));
        let codes = match parts {
            [None, None] => {
                let code = self.code(value, context)?;
                [code.clone(), code]
            }
            [Some(cpu), Some(other)] => {
                for misplaced in CODE.keys.iter().filter_map(|key| table.get(key.name)) {
                    let why = "The variant has `cpu` and `other`, which have code of their own.";
                    self.mistake(misplaced, "This belongs to no code.", why, "Move it to `cpu` and `other`.");
                }
                [self.code(cpu, context)?, self.code(other, context)?]
            }
            [Some(one), None] | [None, Some(one)] => {
                let why = "A variant has one code for all devices, or `cpu` and `other`.";
                self.mistake(one, "One of `cpu` and `other` is missing.", why, "Add the other one.");
                return None;
            }
        };
        // What is wrong already would only be wrong again.
        let is_right = self.mistakes.is_empty();
        for (code, is_cpu) in codes.iter().zip([true, false]).filter(|_| is_right) {
            if let Err(mistake) = trial::run(code, is_cpu, context) {
                self.mistakes.push(mistake);
            }
        }
        Some(Variant {
            title: text_of(table, "title").unwrap_or_else(|| id.clone()),
            id,
            idea: text_of(table, "idea").unwrap_or_default(),
            is_step: text_of(table, "group").is_none_or(|group| group == "step"),
            key: whole_of(table, "key").map(|key| key as u8),
            codes,
        })
    }
}
