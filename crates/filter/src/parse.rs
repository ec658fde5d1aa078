//! Makes a [`Description`] of a file whose keys have the right kinds, and checks what their kinds do not say.

use toml::de::{DeTable, DeValue};

use crate::description::{
    Accuracy, Argument, Channels, Code, Comparison, Description, Format, Memory, NumberType, Parameter, Pass,
    Passed, Reference, Rows, Scratch, ScratchMemory, Tuning, Variant, Work,
};
use crate::expression::Expression;
use crate::folder::check_name;
use crate::keys::{BUILT_IN, CODE, DEVICE_NAMES, FILTER, FORMAT, PICTURE_NAMES, PLANE_NAMES, SAMPLE_NAMES};
use crate::place::{Mistake, Place, Text, instead};
use crate::shape::{Reader, Value, entries, number, whole};
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

/// The names that expressions may use.
#[derive(Debug)]
struct Scope {
    /// Those in expressions about a picture.
    picture: Vec<String>,
    /// Tuning parameters.
    tuning: Vec<String>,
    /// Float parameters, which expressions may not use.
    floats: Vec<String>,
    has_planes: bool,
}

/// The place of an expression in a description, which decides its names.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Site {
    Picture,
    /// The size of a work-group.
    Group,
    /// `requires`.
    Device,
}

/// The parts of a filter on which its variants depend.
struct Context<'a> {
    parameters: &'a [Parameter],
    formats: [Format; 2],
    frames: u32,
}

fn text_of(table: &DeTable<'_>, key: &str) -> Option<String> {
    Some(table.get(key)?.get_ref().as_str()?.to_owned())
}

fn whole_of(table: &DeTable<'_>, key: &str) -> Option<i64> {
    whole(table.get(key)?)
}

fn table_of<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// Returns the entries of the table behind a key, in the order of the file; none if there is no such key.
fn named<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Vec<(&'t str, usize, &'t Value<'i>)> {
    table_of(table, key).map(entries).unwrap_or_default()
}

/// Returns the values of the array behind a key; none if there is no such key.
fn list<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> &'t [Value<'i>] {
    table.get(key).and_then(|value| value.get_ref().as_array()).map_or(&[], |array| array.as_ref())
}

impl Reader<'_> {
    fn description(&mut self, table: &DeTable<'_>) -> Option<Description> {
        let parameters = self.parameters(table);
        let [input, output] = ["input", "output"].map(|key| match text_of(table, key).as_deref() {
            Some("planes") => Format::Planes,
            _ => Format::Rgba8,
        });
        if let Some(value) =
            table.get("output").filter(|_| output == Format::Planes && input == Format::Rgba8)
        {
            let why = "Planes of the output have the sizes of those of the input.";
            self.mistake(
                value,
                "The output has planes, the input has none.",
                why,
                "Add `input = \"planes\"`.",
            );
        }
        let frames = whole_of(table, "frames").unwrap_or(1) as u32;
        let context = Context { parameters: &parameters, formats: [input, output], frames };
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
        let read = named(table, "parameters").into_iter().filter_map(|(name, at, value)| {
            if is_built_in(name) {
                let hint = format!("Call it `{name}_2`, for example.");
                let what = format!("'{name}' cannot be a parameter's name.");
                self.mistakes.push(self.text.place(at).mistake(
                    &what,
                    "Expressions have this name already.",
                    hint,
                ));
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
                self.mistake(
                    value,
                    "This is no whole number of 32 bits.",
                    why,
                    "Round it, or write `type = \"float\"`.",
                );
            }
        }
        if least >= most {
            let what = format!("The range of '{name}' is empty.");
            let why = format!("It begins at {least} and ends at {most}.");
            self.mistake(
                range_value,
                &what,
                why,
                format!("Write, for example, `range = [{least}, {}]`.", least + 10.0),
            );
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
                    self.mistake(
                        value,
                        &what,
                        format!("Each {key} chooses one variant."),
                        format!("Change one {key}, or remove it."),
                    );
                } else if is_taken {
                    let what = format!("No variant can have the id '{text}'.");
                    self.mistake(
                        value,
                        &what,
                        "'off', 'auto' and the built-in 'box' have a meaning already.",
                        format!("Write `id = \"my-{text}\"`."),
                    );
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
            || context.formats != [Format::Rgba8; 2]
            || context.frames != 1
        {
            let why = format!("It takes one RGBA picture and a whole number `{parameter}` from 0 to 128.");
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
            if let Err(mistake) = trial::run(code, is_cpu, context.parameters, context.formats[0]) {
                self.mistakes.push(mistake);
            }
        }
        Some(Variant {
            title: text_of(table, "title").unwrap_or_else(|| id.clone()),
            id,
            idea: text_of(table, "idea").unwrap_or_default(),
            key: whole_of(table, "key").map(|key| key as u8),
            codes,
        })
    }

    fn code(&mut self, value: &Value<'_>, context: &Context<'_>) -> Option<Code> {
        let table = value.get_ref().as_table()?;
        let before = self.mistakes.len();
        if !table.contains_key("passes") {
            self.mistake(
                value,
                "This code has no passes.",
                "A pass names a kernel.",
                "Add `[[variants.passes]]`.",
            );
        }
        let tuning =
            named(table, "tuning").into_iter().filter_map(|(name, at, value)| self.tuning(name, at, value));
        let tuning: Vec<Tuning> = tuning.collect();
        let scope = self.scope(table, &tuning, context);
        let sizes = self.sizes(table, &scope);
        let defines = named(table, "defines").into_iter();
        let code = Code {
            scratch: self.scratch(table, &scope),
            sizes,
            defines: defines
                .map(|(name, _, value)| (name.to_owned(), self.expression(value, &scope, Site::Picture)))
                .collect(),
            requires: list(table, "requires")
                .iter()
                .filter_map(|value| self.comparison(value, &scope))
                .collect(),
            image_output_define: text_of(table, "image_output_define"),
            passes: Vec::new(),
            tuning,
        };
        let passes =
            list(table, "passes").iter().filter_map(|pass| self.pass(pass, &code, &scope, context)).collect();
        let code = Code { passes, ..code };
        self.check_pictures(value, &code);
        (self.mistakes.len() == before).then_some(code)
    }

    /// Returns the names that expressions of a code may use, and adds mistakes for names that several things have.
    fn scope(&mut self, table: &DeTable<'_>, tuning: &[Tuning], context: &Context<'_>) -> Scope {
        let has_planes = context.formats[0] == Format::Planes;
        let mut picture: Vec<String> =
            PICTURE_NAMES.into_iter().chain(DEVICE_NAMES).map(str::to_owned).collect();
        if has_planes {
            picture.extend(SAMPLE_NAMES.map(str::to_owned));
            picture.extend((0..4).flat_map(|plane| PLANE_NAMES.map(|name| format!("plane{plane}_{name}"))));
        }
        let (whole, floats): (Vec<_>, Vec<_>) =
            context.parameters.iter().partition(|parameter| parameter.is_whole);
        let floats: Vec<String> = floats.into_iter().map(|parameter| parameter.name.clone()).collect();
        picture.extend(whole.into_iter().map(|parameter| parameter.name.clone()));
        for (name, at, _) in ["tuning", "sizes"].into_iter().flat_map(|key| named(table, key)) {
            if is_built_in(name) || picture.iter().chain(&floats).any(|known| known == name) {
                let what = format!("The name '{name}' has another meaning already.");
                let why = "Parameters, tuning parameters, sizes, pictures and devices share their names.";
                self.mistakes.push(self.text.place(at).mistake(&what, why, "Choose another name."));
            }
            picture.push(name.to_owned());
        }
        Scope { picture, tuning: tuning.iter().map(|t| t.name.clone()).collect(), floats, has_planes }
    }

    fn tuning(&mut self, name: &str, at: usize, value: &Value<'_>) -> Option<Tuning> {
        let table = value.get_ref().as_table()?;
        let default = whole_of(table, "default");
        let [cpu, other] = ["cpu", "other"].map(|key| whole_of(table, key).or(default));
        if cpu.is_none() || other.is_none() {
            let what = format!("'{name}' has no value.");
            let why = "It needs `default`, or both `cpu` and `other`.";
            self.mistakes.push(self.text.place(at).mistake(&what, why, "Add `default = 16`."));
        }
        Some(Tuning {
            name: name.to_owned(),
            defaults: [cpu, other].map(|value| value.unwrap_or(1) as u32),
            large: whole_of(table, "large").map(|large| large as u32),
            values: list(table, "values").iter().filter_map(whole).map(|value| value as u32).collect(),
        })
    }

    /// Returns the named sizes, each after those that it uses.
    fn sizes(&mut self, table: &DeTable<'_>, scope: &Scope) -> Vec<(String, Expression)> {
        let mut left: Vec<(String, Expression)> = Vec::new();
        for (name, _, value) in named(table, "sizes") {
            left.push((name.to_owned(), self.expression(value, scope, Site::Picture)));
        }
        let mut ordered: Vec<(String, Expression)> = Vec::new();
        while !left.is_empty() {
            let waits = |e: &Expression| e.names().any(|(used, _)| left.iter().any(|(name, _)| name == used));
            let (ready, others): (Vec<_>, Vec<_>) = left.iter().cloned().partition(|(_, e)| !waits(e));
            if ready.is_empty() {
                // Each of these uses one of them, so that following the uses leads into a circle.
                let mut path: Vec<&(String, Expression)> = vec![&left[0]];
                while let Some(next) = path.last().and_then(|(_, e)| {
                    e.names().find_map(|(used, _)| left.iter().find(|(name, _)| name == used))
                }) {
                    let again = path.iter().position(|known| known.0 == next.0);
                    path.push(next);
                    if let Some(first) = again {
                        path.drain(..first);
                        break;
                    }
                }
                let names: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
                let what = format!("'{}' is computed from itself.", names[0]);
                let why = format!("{}.", names.join(" uses "));
                self.mistakes.push(path[0].1.place.mistake(
                    &what,
                    why,
                    "Write one of them without the others.",
                ));
                return ordered;
            }
            ordered.extend(ready);
            left = others;
        }
        ordered
    }

    fn scratch(&mut self, table: &DeTable<'_>, scope: &Scope) -> Vec<Scratch> {
        let mut all = Vec::new();
        for (name, at, value) in named(table, "scratch") {
            let Some(table) = value.get_ref().as_table() else { continue };
            let image = text_of(table, "image").map(|channels| match channels.as_str() {
                "rgba16ui" => Channels::Rgba16Ui,
                "rgba32f" => Channels::Rgba32F,
                _ => Channels::Rgba8,
            });
            let place = self.text.place(at);
            let size: Vec<Expression> = self.expressions(list(table, "size"), scope, Site::Picture);
            let memory = match (table.get("bytes"), image, <[Expression; 2]>::try_from(size)) {
                (Some(bytes), None, Err(_)) => {
                    ScratchMemory::Bytes(self.expression(bytes, scope, Site::Picture))
                }
                (None, Some(channels), Ok(size)) => ScratchMemory::Image(channels, size),
                (None, Some(channels), Err(_)) => {
                    let whole = ["width", "height"].map(|name| Expression::name(name, place.clone()));
                    ScratchMemory::Image(channels, whole)
                }
                _ => {
                    let why = "Scratch memory has `bytes`, or `image` and perhaps `size`.";
                    let what = format!("The kind of '{name}' is not clear.");
                    self.mistakes.push(place.mistake(
                        &what,
                        why,
                        "Write, for example, `bytes = \"8*width*height\"`.",
                    ));
                    ScratchMemory::Bytes(Expression::number(1, self.text.place(at)))
                }
            };
            all.push(Scratch { name: name.to_owned(), memory });
        }
        all
    }

    fn pass(&mut self, value: &Value<'_>, code: &Code, scope: &Scope, context: &Context<'_>) -> Option<Pass> {
        let table = value.get_ref().as_table()?;
        let (file_value, kernel_value) = (table.get("file")?, table.get("kernel")?);
        let file = text_of(table, "file")?;
        if let Err(why) = check_name(&file) {
            let hint = "Put the file into the folder, and write its name, such as `file = \"sobel.cl\"`.";
            self.mistake(file_value, &format!("'{file}' is no file of this folder."), why, hint);
        }
        let global = self.expressions(list(table, "global"), scope, Site::Picture);
        let local = self.expressions(list(table, "local"), scope, Site::Group);
        if global.len() != local.len() {
            let why = format!("`global` has {} numbers, `local` has {}.", global.len(), local.len());
            let hint = "Write one number for each dimension in both.";
            self.mistake(table.get("local")?, "The dimensions differ.", why, hint);
        }
        let mut arguments = Vec::new();
        for (name, at, value) in named(table, "arguments") {
            if let Some(passed) = self.argument(name, value, code, scope, context) {
                arguments.push(Argument { name: name.to_owned(), place: self.text.place(at), value: passed });
            }
        }
        let one = |place| Expression::number(1, place);
        let rows = table.get("rows").and_then(|value| {
            let rows = value.get_ref().as_table()?;
            let mut of = |key: &str| Some(self.expression(rows.get(key)?, scope, Site::Picture));
            let (above, below) = (of("above")?, of("below")?);
            Some(Rows { step: of("step").unwrap_or_else(|| one(above.place.clone())), above, below })
        });
        let work = table_of(table, "work").and_then(|work| {
            let mut two = |key: &str| self.expressions(list(work, key), scope, Site::Picture).try_into().ok();
            let (reads, writes) = (two("reads")?, two("writes")?);
            let operations = self.expression(work.get("operations")?, scope, Site::Picture);
            let barriers = match work.get("barriers") {
                Some(value) => self.expression(value, scope, Site::Picture),
                None => Expression::number(0, operations.place.clone()),
            };
            Some(Work { reads, writes, operations, barriers })
        });
        let reads = table.get("reads_per_pixel");
        Some(Pass {
            file,
            file_place: self.place(file_value),
            kernel: text_of(table, "kernel")?,
            kernel_place: self.place(kernel_value),
            arguments,
            global,
            local,
            rows,
            reads_per_pixel: reads.map(|value| self.expression(value, scope, Site::Picture)),
            work,
        })
    }

    fn argument(
        &mut self,
        name: &str,
        value: &Value<'_>,
        code: &Code,
        scope: &Scope,
        context: &Context<'_>,
    ) -> Option<Passed> {
        let DeValue::Table(table) = value.get_ref() else {
            return Some(self.number_argument(value, None, scope));
        };
        let kinds = ["input", "output", "scratch", "local_bytes", "value", "quotient"];
        let given: Vec<&str> = kinds.into_iter().filter(|kind| table.contains_key(*kind)).collect();
        let &[kind] = given.as_slice() else {
            let what = format!("The kind of argument '{name}' is not clear.");
            let why = format!("An argument has one of {}, and here are {}.", kinds.join(", "), given.len());
            self.mistake(value, &what, why, "Write, for example, `src = { input = \"buffer\" }`.");
            return None;
        };
        for (key, with) in [("type", "value"), ("frames_back", "input"), ("plane", "input or output")] {
            if let Some(extra) = table.get(key).filter(|_| !with.contains(kind)) {
                let why = format!("'{key}' belongs to an argument with {with}, and this one has {kind}.");
                self.mistake(extra, &format!("'{key}' has no meaning here."), why, "Remove it.");
            }
        }
        let given = table.get(kind)?;
        match kind {
            "input" | "output" => self.picture(given, table, kind == "output", context),
            "scratch" => {
                let names: Vec<&str> = code.scratch.iter().map(|scratch| scratch.name.as_str()).collect();
                let wanted = given.get_ref().as_str()?;
                let found = names.iter().position(|known| *known == wanted);
                if found.is_none() {
                    let (why, hint) = instead(wanted, &names);
                    self.mistake(given, &format!("No scratch memory has the name '{wanted}'."), why, hint);
                }
                found.map(Passed::Scratch)
            }
            "local_bytes" => Some(Passed::LocalBytes(self.expression(given, scope, Site::Picture))),
            "value" => Some(self.number_argument(given, table.get("type"), scope)),
            _ => {
                let sides = self.expressions(list(table, "quotient"), scope, Site::Picture);
                sides.try_into().ok().map(Passed::Quotient)
            }
        }
    }

    /// Returns the argument that is a number, of the type that `kind` names.
    fn number_argument(&mut self, value: &Value<'_>, kind: Option<&Value<'_>>, scope: &Scope) -> Passed {
        let name = value.get_ref().as_str().map(str::trim);
        let number_type = match kind.and_then(|kind| kind.get_ref().as_str()) {
            Some("uint") => NumberType::Uint,
            Some("long") => NumberType::Long,
            Some("ulong") => NumberType::Ulong,
            Some("float") => NumberType::Float,
            _ => NumberType::Int,
        };
        let Some(name) = name.filter(|name| scope.floats.iter().any(|float| float == name)) else {
            return Passed::Whole(self.expression(value, scope, Site::Picture), number_type);
        };
        if let Some(kind) = kind.filter(|_| number_type != NumberType::Float) {
            let why = format!("'{name}' is a float parameter.");
            self.mistake(
                kind,
                "This type does not suit the value.",
                why,
                "Write `type = \"float\"`, or remove it.",
            );
        }
        Passed::Float(name.to_owned())
    }

    fn picture(
        &mut self,
        value: &Value<'_>,
        table: &DeTable<'_>,
        is_output: bool,
        context: &Context<'_>,
    ) -> Option<Passed> {
        let is_image = value.get_ref().as_str()? == "image";
        let plane = table.get("plane");
        let has_planes = context.formats[usize::from(is_output)] == Format::Planes;
        match plane {
            None if has_planes => {
                let why = "This filter has planes, and an argument has one of them.";
                self.mistake(
                    value,
                    "Which plane?",
                    why,
                    "Write, for example, `{ input = \"buffer\", plane = 0 }`.",
                );
            }
            Some(plane) if !has_planes => {
                let why = "The pictures of this filter are RGBA.";
                self.mistake(
                    plane,
                    "There are no planes.",
                    why,
                    "Remove it, or add `input = \"planes\"` at the top.",
                );
            }
            Some(_) if is_image => {
                let why = "Planes are in buffers.";
                self.mistake(value, "A plane is no image.", why, "Write \"buffer\".");
            }
            _ => {}
        }
        let frames_back = whole_of(table, "frames_back").unwrap_or(0) as u32;
        if let Some(back) = table.get("frames_back").filter(|_| frames_back >= context.frames) {
            let why = format!("`frames` is {}, this one included.", context.frames);
            let hint = format!("Write `frames = {}` at the top.", frames_back + 1);
            self.mistake(
                back,
                &format!("There is no frame {frames_back} frames before this one."),
                why,
                hint,
            );
        }
        let memory = if is_image { Memory::Image } else { Memory::Buffer };
        let plane = plane.and_then(whole).map(|plane| plane as u8);
        Some(Passed::Picture { is_output, memory, plane, frames_back })
    }

    /// Adds a mistake if no pass writes the output, or if a picture is to be in two kinds of memory.
    fn check_pictures(&mut self, value: &Value<'_>, code: &Code) {
        for (wanted, key) in [(false, "input"), (true, "output")] {
            let pictures = code.passes.iter().flat_map(|pass| &pass.arguments).filter_map(|argument| {
                match argument.value {
                    Passed::Picture { is_output, memory, .. } if is_output == wanted => {
                        Some((memory, &argument.place))
                    }
                    _ => None,
                }
            });
            let pictures: Vec<(Memory, &Place)> = pictures.collect();
            if wanted && pictures.is_empty() && !code.passes.is_empty() {
                let hint = "Add an argument such as `dst = { output = \"buffer\" }`.";
                self.mistake(
                    value,
                    "No pass writes the output.",
                    "One of the kernels must have it as an argument.",
                    hint,
                );
            }
            if let Some((_, place)) = pictures.iter().find(|(memory, _)| *memory != pictures[0].0) {
                let what = format!("The {key} is a buffer here and an image there.");
                let why = "All passes of a code have it in one kind of memory.";
                self.mistakes.push(place.mistake(
                    &what,
                    why,
                    "Write \"buffer\" in all passes, or \"image\".",
                ));
            }
        }
    }

    fn expressions(&mut self, values: &[Value<'_>], scope: &Scope, site: Site) -> Vec<Expression> {
        values.iter().map(|value| self.expression(value, scope, site)).collect()
    }

    /// Reads an expression; with a mistake, returns another one in its place.
    fn expression(&mut self, value: &Value<'_>, scope: &Scope, site: Site) -> Expression {
        let place = self.place(value);
        let Some(text) = value.get_ref().as_str() else {
            return Expression::number(whole(value).unwrap_or_default(), place);
        };
        self.part(value, text, 0, scope, site).unwrap_or_else(|| Expression::number(1, place))
    }

    /// Reads the expression in a part of a text that begins at this byte.
    fn part(
        &mut self,
        value: &Value<'_>,
        text: &str,
        from: usize,
        scope: &Scope,
        site: Site,
    ) -> Option<Expression> {
        let whole_text = value.get_ref().as_str().unwrap_or_default();
        let span = value.span();
        // Texts with escapes or several lines have other offsets than the file: then all places are the text's.
        let is_plain = self.text.text.get(span.start + 1..span.end.saturating_sub(1)) == Some(whole_text);
        let place =
            |offset| self.text.place(if is_plain { span.start + 1 + from + offset } else { span.start });
        let mistake = match Expression::parse(text, &place) {
            Ok(expression) => {
                let mistakes: Vec<_> =
                    expression.names().filter_map(|(name, place)| scope.mistake(name, place, site)).collect();
                let is_right = mistakes.is_empty();
                self.mistakes.extend(mistakes);
                return is_right.then_some(expression);
            }
            Err(mistake) => mistake,
        };
        self.mistakes.push(mistake);
        None
    }

    fn comparison(&mut self, value: &Value<'_>, scope: &Scope) -> Option<Comparison> {
        let text = value.get_ref().as_str()?;
        let Some((left, right)) = text.split_once('<') else {
            let hint = "Write, for example, \"16*TILE*TILE <= local_memory\"; a > b is \"b < a\".";
            self.mistake(
                value,
                "This is no comparison.",
                "It has two expressions with `<` or `<=` between them.",
                hint,
            );
            return None;
        };
        let or_equal = right.starts_with('=');
        let right = right.strip_prefix('=').unwrap_or(right);
        let left = self.part(value, left, 0, scope, Site::Device);
        let right = self.part(value, right, text.len() - right.len(), scope, Site::Device);
        Some(Comparison { sides: [left?, right?], or_equal })
    }
}

impl Scope {
    /// Returns the mistake if an expression may not use this name.
    fn mistake(&self, name: &str, place: &Place, site: Site) -> Option<Mistake> {
        let has = |names: &[String]| names.iter().any(|known| known == name);
        let tuning = || self.tuning.iter().map(String::as_str);
        let (known, what): (Vec<&str>, _) = match site {
            Site::Picture => (self.picture.iter().map(String::as_str).collect(), "no name here"),
            Site::Group => (tuning().collect(), "no part of a work-group's size"),
            Site::Device => (tuning().chain(DEVICE_NAMES).collect(), "nothing that can be required"),
        };
        let what = format!("'{name}' is {what}.");
        if known.contains(&name) {
            return None;
        }
        if has(&self.floats) {
            let what = format!("'{name}' is a float parameter.");
            let hint = format!("Write `type = \"int\"` for it, or pass it alone, as in `gain = \"{name}\"`.");
            return Some(place.mistake(&what, "Float parameters reach kernels only, not expressions.", hint));
        }
        if is_built_in(name) && !self.has_planes && !has(&self.picture) {
            let hint = "Add `input = \"planes\"` at the top, or use another name.";
            return Some(place.mistake(&what, "Only filters of planes have this name.", hint));
        }
        let (why, hint) = instead(name, &known);
        if site == Site::Group && self.picture.iter().any(|known| known == name) {
            let why =
                "It has tuning parameters and whole numbers only: drivers compile a kernel for each size.";
            return Some(place.mistake(
                &what,
                why,
                "Write a whole number, or add `tuning.GROUP = { default = 64 }`.",
            ));
        }
        Some(place.mistake(&what, why, hint))
    }
}

/// Returns true for names that expressions have without any parameters.
fn is_built_in(name: &str) -> bool {
    let of_plane = name.strip_prefix("plane").and_then(|rest| rest.split_once('_'));
    PICTURE_NAMES.contains(&name)
        || DEVICE_NAMES.contains(&name)
        || SAMPLE_NAMES.contains(&name)
        || of_plane
            .is_some_and(|(plane, of)| ["0", "1", "2", "3"].contains(&plane) && PLANE_NAMES.contains(&of))
}
