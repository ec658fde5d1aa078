//! Makes a [`Code`] of its table in a file.

use toml::de::{DeTable, DeValue};

use crate::description::{
    Argument, Channels, Code, Comparison, Format, Memory, NumberType, Parameter, Pass, Passed, Rows, Scratch,
    ScratchMemory, Tuning, Work,
};
use crate::expression::Expression;
use crate::folder::check_name;
use crate::keys::{DEVICE_NAMES, OUTPUT_NAMES, PICTURE_NAMES, PLANE_NAMES, SAMPLE_NAMES, is_built_in};
use crate::place::{Mistake, Place, instead};
use crate::shape::{Reader, Value, list, named, table_of, text_of, whole, whole_of};

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
    /// The whole value of an argument, which may also be a float parameter.
    Argument,
    /// The size of a work-group.
    Group,
    /// `requires`.
    Device,
}

/// The parts of a filter on which its variants depend.
pub(crate) struct Context<'a> {
    pub parameters: &'a [Parameter],
    /// The formats of input and output.
    pub formats: [Format; 2],
    pub frames: u32,
    /// The number of frames that the arguments of all variants ask for.
    pub wanted_frames: i64,
}

/// A code that is read from a file.
struct CodeReader<'r, 'a> {
    file: &'r mut Reader<'a>,
    context: &'r Context<'r>,
    scope: Scope,
}

impl Reader<'_> {
    /// Returns the code in a table; `None` if it has mistakes.
    pub(crate) fn code(&mut self, value: &Value<'_>, context: &Context<'_>) -> Option<Code> {
        let table = value.get_ref().as_table()?;
        let before = self.mistakes.len();
        if !table.contains_key("passes") {
            let hint = "Add `[[variants.passes]]`.";
            self.mistake(value, "This code has no passes.", "A pass names a kernel.", hint);
        }
        let tuning = named(table, "tuning").into_iter();
        let tuning: Vec<_> = tuning.filter_map(|(name, at, value)| self.tuning(name, at, value)).collect();
        let scope = self.scope(table, &tuning, context);
        let mut reader = CodeReader { file: self, context, scope };
        let mut code = Code {
            scratch: reader.scratch(table),
            sizes: reader.sizes(table),
            defines: reader.named_expressions(table, "defines"),
            requires: list(table, "requires").iter().filter_map(|value| reader.comparison(value)).collect(),
            image_output_define: text_of(table, "image_output_define"),
            passes: Vec::new(),
            tuning,
        };
        code.passes =
            list(table, "passes").iter().filter_map(|pass| reader.pass(pass, &code.scratch)).collect();
        reader.check_pictures(value, &code.passes);
        (self.mistakes.len() == before).then_some(code)
    }

    /// Returns the names that expressions of a code may use, and adds mistakes for names that several things have.
    fn scope(&mut self, table: &DeTable<'_>, tuning: &[Tuning], context: &Context<'_>) -> Scope {
        let has_planes = context.formats[0] == Format::Planes;
        let mut picture: Vec<String> =
            PICTURE_NAMES.into_iter().chain(DEVICE_NAMES).map(str::to_owned).collect();
        if has_planes {
            picture.extend(SAMPLE_NAMES.map(str::to_owned));
            let names = |plane| {
                let output = OUTPUT_NAMES.map(|name| format!("output{plane}_{name}"));
                PLANE_NAMES.map(|name| format!("plane{plane}_{name}")).into_iter().chain(output)
            };
            picture.extend((0..4).flat_map(names));
        }
        let (whole, floats): (Vec<_>, Vec<_>) =
            context.parameters.iter().partition(|parameter| parameter.is_whole);
        let floats: Vec<String> = floats.into_iter().map(|parameter| parameter.name.clone()).collect();
        picture.extend(whole.into_iter().map(|parameter| parameter.name.clone()));
        for (name, at, _) in ["tuning", "sizes"].into_iter().flat_map(|key| named(table, key)) {
            if is_built_in(name) || picture.iter().chain(&floats).any(|known| known == name) {
                let what = format!("The name '{name}' has another meaning already.");
                let why = "Parameters, tuning parameters, sizes, pictures and devices share their names.";
                self.mistake_at(at, &what, why, "Choose another name.");
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
            self.mistake_at(at, &what, why, "Add `default = 16`.");
        }
        Some(Tuning {
            name: name.to_owned(),
            defaults: [cpu, other].map(|value| value.unwrap_or(1) as u32),
            large: whole_of(table, "large").map(|large| large as u32),
            values: list(table, "values").iter().filter_map(whole).map(|value| value as u32).collect(),
        })
    }
}

impl CodeReader<'_, '_> {
    /// Returns the named sizes, each after those that it uses.
    fn sizes(&mut self, table: &DeTable<'_>) -> Vec<(String, Expression)> {
        let (mut ordered, mut left) = (Vec::new(), self.named_expressions(table, "sizes"));
        while !left.is_empty() {
            let used = |e: &Expression| {
                e.names().find_map(|(used, _)| left.iter().position(|(name, _)| name == used))
            };
            let Some(ready) = left.iter().position(|(_, e)| used(e).is_none()) else {
                // Each of these uses one of them, so that following the uses leads into a circle.
                let (mut path, mut next) = (Vec::new(), 0);
                while !path.contains(&next) {
                    path.push(next);
                    next = used(&left[next].1).unwrap_or(0);
                }
                let circle = path.iter().skip_while(|at| **at != next).chain([&next]);
                let names: Vec<&str> = circle.map(|at| left[*at].0.as_str()).collect();
                let (what, why) = (format!("'{}' is computed from itself.", names[0]), names.join(" uses "));
                let hint = "Write one of them without the others.";
                self.file.mistakes.push(left[next].1.place.mistake(&what, format!("{why}."), hint));
                return ordered;
            };
            ordered.push(left.remove(ready));
        }
        ordered
    }

    fn named_expressions(&mut self, table: &DeTable<'_>, key: &str) -> Vec<(String, Expression)> {
        let entries = named(table, key).into_iter();
        entries.map(|(name, _, value)| (name.to_owned(), self.expression(value))).collect()
    }

    fn scratch(&mut self, table: &DeTable<'_>) -> Vec<Scratch> {
        let mut all = Vec::new();
        for (name, at, value) in named(table, "scratch") {
            let Some(table) = value.get_ref().as_table() else { continue };
            let image = text_of(table, "image").map(|channels| match channels.as_str() {
                "rgba16ui" => Channels::Rgba16Ui,
                "rgba32f" => Channels::Rgba32F,
                _ => Channels::Rgba8,
            });
            let place = self.file.text.place(at);
            let size: Vec<Expression> = self.expressions(list(table, "size"));
            let memory = match (table.get("bytes"), image, <[Expression; 2]>::try_from(size)) {
                (Some(bytes), None, Err(_)) => ScratchMemory::Bytes(self.expression(bytes)),
                (None, Some(channels), Ok(size)) => ScratchMemory::Image(channels, size),
                (None, Some(channels), Err(_)) => {
                    let whole = ["width", "height"].map(|name| Expression::name(name, place.clone()));
                    ScratchMemory::Image(channels, whole)
                }
                _ => {
                    let why = "Scratch memory has `bytes`, or `image` and perhaps `size`.";
                    let what = format!("The kind of '{name}' is not clear.");
                    let hint = "Write, for example, `bytes = \"8*width*height\"`.";
                    self.file.mistake_at(at, &what, why, hint);
                    ScratchMemory::Bytes(Expression::number(1, self.file.text.place(at)))
                }
            };
            all.push(Scratch { name: name.to_owned(), memory });
        }
        all
    }

    fn pass(&mut self, value: &Value<'_>, scratch: &[Scratch]) -> Option<Pass> {
        let table = value.get_ref().as_table()?;
        let (file_value, kernel_value) = (table.get("file")?, table.get("kernel")?);
        let file = text_of(table, "file")?;
        if let Err(why) = check_name(&file) {
            let hint = "Put the file into the folder, and write its name, such as `file = \"sobel.cl\"`.";
            self.file.mistake(file_value, &format!("'{file}' is no file of this folder."), why, hint);
        }
        let global = self.expressions(list(table, "global"));
        let local =
            list(table, "local").iter().map(|value| self.at_site(value, Site::Group)).collect::<Vec<_>>();
        if global.len() != local.len() {
            let why = format!("`global` has {} numbers, `local` has {}.", global.len(), local.len());
            let hint = "Write one number for each dimension in both.";
            self.file.mistake(table.get("local")?, "The dimensions differ.", why, hint);
        }
        let mut arguments = Vec::new();
        for (name, at, value) in named(table, "arguments") {
            if let Some(passed) = self.argument(name, value, scratch) {
                let place = self.file.text.place(at);
                arguments.push(Argument { name: name.to_owned(), place, value: passed });
            }
        }
        let one = |place| Expression::number(1, place);
        let rows = table.get("rows").and_then(|value| {
            let rows = value.get_ref().as_table()?;
            let mut of = |key: &str| Some(self.expression(rows.get(key)?));
            let (above, below) = (of("above")?, of("below")?);
            Some(Rows { step: of("step").unwrap_or_else(|| one(above.place.clone())), above, below })
        });
        let work = table_of(table, "work").and_then(|work| {
            let mut two = |key: &str| self.expressions(list(work, key)).try_into().ok();
            let (reads, writes) = (two("reads")?, two("writes")?);
            let operations = self.expression(work.get("operations")?);
            let barriers = match work.get("barriers") {
                Some(value) => self.expression(value),
                None => Expression::number(0, operations.place.clone()),
            };
            Some(Work { reads, writes, operations, barriers })
        });
        let reads = table.get("reads_per_pixel");
        Some(Pass {
            file,
            file_place: self.file.place(file_value),
            kernel: text_of(table, "kernel")?,
            kernel_place: self.file.place(kernel_value),
            arguments,
            global,
            local,
            rows,
            reads_per_pixel: reads.map(|value| self.expression(value)),
            work,
        })
    }

    fn argument(&mut self, name: &str, value: &Value<'_>, scratch: &[Scratch]) -> Option<Passed> {
        let DeValue::Table(table) = value.get_ref() else {
            return Some(self.number_argument(value, None));
        };
        let kinds = ["input", "output", "scratch", "local_bytes", "value", "values", "quotient"];
        let given: Vec<&str> = kinds.into_iter().filter(|kind| table.contains_key(*kind)).collect();
        let &[kind] = given.as_slice() else {
            let what = format!("The kind of argument '{name}' is not clear.");
            let why = format!("An argument has one of {}, and here are {}.", kinds.join(", "), given.len());
            self.file.mistake(value, &what, why, "Write, for example, `src = { input = \"buffer\" }`.");
            return None;
        };
        for (key, with) in [("type", "value"), ("frames_back", "input"), ("plane", "input or output")] {
            if let Some(extra) = table.get(key).filter(|_| !with.contains(kind)) {
                let why = format!("'{key}' belongs to an argument with {with}, and this one has {kind}.");
                self.file.mistake(extra, &format!("'{key}' has no meaning here."), why, "Remove it.");
            }
        }
        let given = table.get(kind)?;
        match kind {
            "input" | "output" => self.picture(given, table, kind == "output"),
            "scratch" => {
                let names: Vec<&str> = scratch.iter().map(|scratch| scratch.name.as_str()).collect();
                let wanted = given.get_ref().as_str()?;
                let found = names.iter().position(|known| *known == wanted);
                if found.is_none() {
                    let (why, hint) = instead(wanted, &names);
                    let what = format!("No scratch memory has the name '{wanted}'.");
                    self.file.mistake(given, &what, why, hint);
                }
                found.map(Passed::Scratch)
            }
            "local_bytes" => Some(Passed::LocalBytes(self.expression(given))),
            "value" => Some(self.number_argument(given, table.get("type"))),
            "values" => {
                let values = self.expressions(list(table, "values"));
                if values.len() == 3 {
                    let why = "A vector has two or four numbers.";
                    self.file.mistake(
                        given,
                        "Three numbers make no vector.",
                        why,
                        "Add a fourth one, such as 0.",
                    );
                }
                Some(Passed::Vector(values))
            }
            _ => {
                let sides = self.expressions(list(table, "quotient"));
                sides.try_into().ok().map(Passed::Quotient)
            }
        }
    }

    /// Returns the argument that is a number, of the type that `kind` names.
    fn number_argument(&mut self, value: &Value<'_>, kind: Option<&Value<'_>>) -> Passed {
        let name = value.get_ref().as_str().map(str::trim);
        let number_type = match kind.and_then(|kind| kind.get_ref().as_str()) {
            Some("uint") => NumberType::Uint,
            Some("long") => NumberType::Long,
            Some("ulong") => NumberType::Ulong,
            Some("float") => NumberType::Float,
            _ => NumberType::Int,
        };
        let Some(name) = name.filter(|name| self.scope.floats.iter().any(|float| float == name)) else {
            // A misspelt name may be meant to be that of a float parameter.
            let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let site = if name.is_some_and(is_name) { Site::Argument } else { Site::Picture };
            return Passed::Whole(self.at_site(value, site), number_type);
        };
        if let Some(kind) = kind.filter(|_| number_type != NumberType::Float) {
            let why = format!("'{name}' is a float parameter.");
            let hint = "Write `type = \"float\"`, or remove it.";
            self.file.mistake(kind, "This type does not suit the value.", why, hint);
        }
        Passed::Float(name.to_owned())
    }

    fn picture(&mut self, value: &Value<'_>, table: &DeTable<'_>, is_output: bool) -> Option<Passed> {
        let is_image = value.get_ref().as_str()? == "image";
        let plane = table.get("plane");
        let has_planes = self.context.formats[usize::from(is_output)] != Format::Rgba8;
        match plane {
            None if has_planes => {
                let why = "This filter has planes, and an argument has one of them.";
                let hint = "Write, for example, `{ input = \"buffer\", plane = 0 }`.";
                self.file.mistake(value, "Which plane?", why, hint);
            }
            Some(plane) if !has_planes => {
                let why = "The pictures of this filter are RGBA.";
                let hint = "Remove it, or add `input = \"planes\"` at the top.";
                self.file.mistake(plane, "There are no planes.", why, hint);
            }
            Some(_) if is_image => {
                let why = "Planes are in buffers.";
                self.file.mistake(value, "A plane is no image.", why, "Write \"buffer\".");
            }
            _ => {}
        }
        let frames_back = whole_of(table, "frames_back").unwrap_or(0) as u32;
        if let Some(back) = table.get("frames_back").filter(|_| frames_back >= self.context.frames) {
            let why = format!("`frames` is {}, this one included.", self.context.frames);
            let hint = format!("Write `frames = {}` at the top.", self.context.wanted_frames);
            self.file.mistake(
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
    fn check_pictures(&mut self, value: &Value<'_>, passes: &[Pass]) {
        for (wanted, key) in [(false, "input"), (true, "output")] {
            let pictures =
                passes.iter().flat_map(|pass| &pass.arguments).filter_map(|argument| match argument.value {
                    Passed::Picture { is_output, memory, .. } if is_output == wanted => {
                        Some((memory, &argument.place))
                    }
                    _ => None,
                });
            let pictures: Vec<(Memory, &Place)> = pictures.collect();
            if wanted && pictures.is_empty() && !passes.is_empty() {
                let hint = "Add an argument such as `dst = { output = \"buffer\" }`.";
                self.file.mistake(
                    value,
                    "No pass writes the output.",
                    "One of the kernels must have it as an argument.",
                    hint,
                );
            }
            if let Some((memory, place)) = pictures.iter().find(|(memory, _)| *memory != pictures[0].0) {
                let [here, there] = if *memory == Memory::Buffer {
                    ["a buffer", "an image"]
                } else {
                    ["an image", "a buffer"]
                };
                let what = format!("The {key} is {here} here and {there} at {}.", pictures[0].1);
                let why = "All passes of a code have it in one kind of memory.";
                let hint = "Write \"buffer\" in all passes, or \"image\".";
                self.file.mistakes.push(place.mistake(&what, why, hint));
            }
        }
    }

    fn expressions(&mut self, values: &[Value<'_>]) -> Vec<Expression> {
        values.iter().map(|value| self.expression(value)).collect()
    }

    fn expression(&mut self, value: &Value<'_>) -> Expression {
        self.at_site(value, Site::Picture)
    }

    /// Reads an expression; with a mistake, returns another one in its place.
    fn at_site(&mut self, value: &Value<'_>, site: Site) -> Expression {
        let place = self.file.place(value);
        let Some(text) = value.get_ref().as_str() else {
            return Expression::number(whole(value).unwrap_or_default(), place);
        };
        self.part(value, text, 0, site).unwrap_or_else(|| Expression::number(1, place))
    }

    /// Reads the expression in a part of a text that begins at this byte.
    fn part(&mut self, value: &Value<'_>, text: &str, from: usize, site: Site) -> Option<Expression> {
        let whole_text = value.get_ref().as_str().unwrap_or_default();
        let span = value.span();
        // Texts with escapes or several lines have other offsets than the file: then all places are the text's.
        let is_plain =
            self.file.text.text.get(span.start + 1..span.end.saturating_sub(1)) == Some(whole_text);
        let place =
            |offset| self.file.text.place(if is_plain { span.start + 1 + from + offset } else { span.start });
        let read = Expression::parse(text, &place).and_then(|expression| {
            let mistake = expression.names().find_map(|(name, place)| self.scope.mistake(name, place, site));
            mistake.map_or(Ok(expression), Err)
        });
        read.map_err(|mistake| self.file.mistakes.push(mistake)).ok()
    }

    fn comparison(&mut self, value: &Value<'_>) -> Option<Comparison> {
        let text = value.get_ref().as_str()?;
        let Some((left, right)) = text.split_once('<') else {
            let hint = "Write, for example, \"16*TILE*TILE <= local_memory\"; a > b is \"b < a\".";
            self.file.mistake(
                value,
                "This is no comparison.",
                "It has two expressions with `<` or `<=` between them.",
                hint,
            );
            return None;
        };
        let or_equal = right.starts_with('=');
        let right = right.strip_prefix('=').unwrap_or(right);
        let left = self.part(value, left, 0, Site::Device);
        let right = self.part(value, right, text.len() - right.len(), Site::Device);
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
            Site::Argument => {
                (self.picture.iter().chain(&self.floats).map(String::as_str).collect(), "no name here")
            }
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
