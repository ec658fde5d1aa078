//! The keys of `filter.toml`: the one list from which the parser, the tables in docs/filters.md and docs/filter.schema.json are
//! made.

use Kind::{Comparison, Expression, Id, List, Map, Name, Number, Or, Text, Whole, Word};

/// A kind of values.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A text of one line.
    Text,
    /// A name as in C.
    Name,
    /// The id of a variant.
    Id,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// A number.
    Number,
    /// An expression, or a whole number.
    Expression,
    /// Two expressions with `<` or `<=` between them.
    Comparison,
    /// A table with the keys of this list.
    Table(&'static Table),
    /// Between two numbers of values of one kind.
    List(&'static Kind, usize, usize),
    /// A table whose keys are names that the author chooses, for values of one kind.
    Map(&'static Kind),
    /// A value of the first kind; of the second one if it is a table.
    Or(&'static Kind, &'static Table),
}

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// True if the key must be there.
    pub required: bool,
    /// The meaning, in Markdown.
    pub about: &'static str,
}

/// The keys of a table.
#[derive(Debug)]
pub(crate) struct Table {
    /// The heading in the docs, as the table is written in a file.
    pub name: &'static str,
    pub keys: &'static [Key],
    /// A table whose keys may stand in this table, too.
    pub also: Option<&'static Table>,
}

impl Table {
    /// Returns all keys that may stand in the table.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone {
        self.keys.iter().chain(self.also.map_or(&[] as &[Key], |table| table.keys))
    }
}

impl Kind {
    /// Returns the values of this kind in words, for messages and docs.
    pub(crate) fn allowed(&self) -> String {
        match self {
            Self::Text => "a text of one line".into(),
            Self::Name => "a name of letters, digits and `_`".into(),
            Self::Id => "an id of small letters, digits and `-`".into(),
            Self::Word(words) => {
                words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
            }
            Self::Whole(least, most) if least == most => format!("`{least}`"),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number => "a number".into(),
            Self::Expression => "an expression or a whole number".into(),
            Self::Comparison => "two expressions with `<` or `<=` between them".into(),
            Self::Table(table) => format!("a table with the keys of `{}`", table.name),
            Self::List(kind, least, most) if least == most => {
                format!("`[…]` of {least} values, each {}", kind.allowed())
            }
            Self::List(Self::Table(table), _, most) => format!("up to {most} tables `{}`", table.name),
            Self::List(kind, least, most) => {
                format!("`[…]` of {least} to {most} values, each {}", kind.allowed())
            }
            Self::Map(Self::Table(table)) => format!("tables with names and the keys of `{}`", table.name),
            Self::Map(Self::Or(..)) => "a table of `name = argument`".into(),
            Self::Map(_) => "a table of `name = expression`".into(),
            Self::Or(kind, table) => {
                format!("{}, or a table with the keys of `{}`", kind.allowed(), table.name)
            }
        }
    }

    /// Returns an example of a value, as it is written in a file.
    pub(crate) fn example(&self) -> String {
        match self {
            Self::Text => "\"A text\"".into(),
            Self::Name => "\"name\"".into(),
            Self::Id => "\"plain\"".into(),
            Self::Word(words) => format!("\"{}\"", words[0]),
            Self::Whole(least, most) => 1.clamp(*least, *most).to_string(),
            Self::Number => "1.5".into(),
            Self::Expression => "\"ceil_div(width, 4)\"".into(),
            Self::Comparison => "\"16*TILE*TILE <= local_memory\"".into(),
            Self::Table(table) => {
                let keys = table.keys().filter(|key| key.required);
                let keys =
                    keys.map(|key| format!("{} = {}", key.name, key.kind.example())).collect::<Vec<_>>();
                format!("{{ {} }}", keys.join(", "))
            }
            // Two equal numbers would be an empty range.
            Self::List(Self::Number, 2, 2) => "[0, 10]".into(),
            Self::List(kind, least, _) => format!("[{}]", vec![kind.example(); *least.max(&1)].join(", ")),
            Self::Map(kind) => format!("{{ name = {} }}", kind.example()),
            Self::Or(kind, _) => kind.example(),
        }
    }
}

/// Lists the keys of tables. Each line has `must` for a key that must be there, `may` for another one; then the name, the kind
/// and the meaning.
macro_rules! tables {
    ($($table:ident $name:literal $(also $also:ident)? { $($need:ident $key:ident: $kind:expr, $about:literal;)* })*) => {
        $(pub(crate) static $table: Table = Table {
            name: $name,
            also: tables!(also $($also)?),
            keys: &[$(Key { name: stringify!($key), kind: $kind, required: tables!($need), about: $about }),*],
        };)*
        /// All tables, in the order of the docs.
        pub(crate) static TABLES: [&Table; 11] = [$(&$table),*];
    };
    (also) => { None };
    (also $also:ident) => { Some(&$also) };
    (must) => { true };
    (may) => { false };
}

/// The newest version of the format that this crate reads.
pub const FORMAT: i64 = 1;
/// The built-in references, with the whole-number parameters that each needs.
pub(crate) const BUILT_IN: [(&str, &str); 1] = [("box", "radius")];
/// The names of the planes' properties, after `plane0_` to `plane3_`.
pub(crate) const PLANE_NAMES: [&str; 5] = ["width", "height", "offset", "stride", "step"];
/// The names of the output planes' properties, after `output0_` to `output3_`.
pub(crate) const OUTPUT_NAMES: [&str; 3] = ["offset", "stride", "step"];
/// The names that every expression about a picture may use.
pub(crate) const PICTURE_NAMES: [&str; 4] = ["width", "height", "first_row", "rows"];
/// The names of the device's properties.
pub(crate) const DEVICE_NAMES: [&str; 2] = ["units", "local_memory"];
/// The names of what all planes have in common.
pub(crate) const SAMPLE_NAMES: [&str; 7] =
    ["planes", "bits", "shift", "sample_bytes", "half_columns", "half_rows", "output_level"];

/// Returns the number of the plane and its property in a name such as `plane1_width`; `None` for other names.
pub(crate) fn of_plane<'a>(name: &'a str, prefix: &str, properties: &[&str]) -> Option<(usize, &'a str)> {
    let (plane, of) = name.strip_prefix(prefix)?.split_once('_')?;
    let plane = ["0", "1", "2", "3"].iter().position(|known| *known == plane)?;
    properties.contains(&of).then_some((plane, of))
}

/// Returns true for names that expressions have without any parameters.
pub(crate) fn is_built_in(name: &str) -> bool {
    [&PICTURE_NAMES[..], &DEVICE_NAMES, &SAMPLE_NAMES].concat().contains(&name)
        || of_plane(name, "plane", &PLANE_NAMES).is_some()
        || of_plane(name, "output", &OUTPUT_NAMES).is_some()
}

/// The greatest value of a tuning parameter.
const TUNING_MAX: i64 = 1 << 20;

tables! {
    FILTER "filter.toml" {
        must format: Whole(FORMAT, FORMAT), "The version of this format. A file with a newer one is refused.";
        must name: Text, "The filter's name on the screen, one to three words.";
        must sentence: Text, "The effect on a picture, in a sentence.";
        may input: Word(&["rgba8", "planes"]), "The format that kernels read: RGBA pixels of 4 bytes, or the movie's planes as decoded. \
            Without it `\"rgba8\"`.";
        may output: Word(&["rgba8", "planes", "planes12"]), "The format that kernels write. `\"planes\"` is that of the input, which must be \
            planes, too; with `\"planes12\"` samples have 12 bits in two bytes, and one plane follows the other. Without it `\"rgba8\"`.";
        may frames: Whole(1, 16), "The number of frames that kernels read: this one and those before it. Without it 1.";
        may reference: Id, "The id of the variant that all others are compared with, or `\"box\"` for the built-in box filter. \
            Without it the first variant.";
        may accuracy: Or(&Word(&["exact"]), &ACCURACY), "The difference from the reference that bytes of a correct variant may have. Without \
            it `\"exact\"`.";
        may initial: Id, "The id of the variant that is selected first. Without it the first one.";
        may auto: Id, "The id of the variant that *auto* runs before tuning. Without it the last one.";
        may parameters: Map(&Kind::Table(&PARAMETER)), "The values that the user sets by sliders, in this order.";
        must variants: List(&Kind::Table(&VARIANT), 1, 32), "The implementations, in the order of display.";
    }

    ACCURACY "accuracy" {
        must largest_difference: Whole(1, 255), "The largest difference of two bytes at one place.";
        must reason: Text, "Why they may differ, in a sentence.";
    }

    PARAMETER "[parameters.NAME]" {
        must type: Word(&["int", "float"]), "`\"int\"` for expressions and kernels, `\"float\"` for kernels only.";
        must range: List(&Number, 2, 2), "The least and the greatest value.";
        must default: Number, "The value at the start.";
        may step: Number, "The step of the slider. Without it 1, for floats a hundredth of the range.";
        may unit: Text, "The unit behind the value, such as `\"px\"`.";
    }

    VARIANT "[[variants]]" also CODE {
        must id: Id, "The name on the command line, in JSON and CSV. It should never change.";
        may title: Text, "The title on the screen, one to three words. Without it the id.";
        may idea: Text, "The difference from other variants, in one sentence.";
        may group: Word(&["step", "beyond"]), "`\"step\"` for one that adds an idea to the variant before it, `\"beyond\"` for one that \
            does more, which is listed below these. Without it `\"step\"`.";
        may key: Whole(1, 8), "The digit that selects the variant; 0 is *off*, 9 *auto*. Variants without it get those that are left.";
        may cpu: Kind::Table(&CODE), "The code for CPUs. Without it the keys of `[variants.cpu]` stand in the variant itself, for all \
            devices.";
        may other: Kind::Table(&CODE), "The code for all other devices; `cpu` and `other` need each other. Their passes are \
            `[[variants.cpu.passes]]`, and so on.";
    }

    CODE "[variants.cpu] or [variants.other]" {
        may passes: List(&Kind::Table(&PASS), 1, 16), "The kernels that run one after the other. Needed in each code.";
        may scratch: Map(&Kind::Table(&SCRATCH)), "Memory between passes or within one. Its contents are undefined when a frame \
            begins.";
        may sizes: Map(&Expression), "Expressions with names, which other expressions of this code may use.";
        may defines: Map(&Expression), "Macros for the compiler, `-D NAME=VALUE`, for the whole picture.";
        may tuning: Map(&Kind::Table(&TUNING)), "Macros whose values `clreel tune` searches; expressions may use them. `GROUP…` are \
            sizes of work-groups, which are halved until the device allows them.";
        may requires: List(&Comparison, 1, 16), "Conditions for the values of `tuning`, made of tuning parameters, `units` and \
            `local_memory`, such as `\"16*TILE*TILE <= local_memory\"`.";
        may image_output_define: Name, "A macro with which the last pass writes an image instead of a buffer, which saves a copy \
            on the way to the screen.";
    }

    PASS "[[variants.passes]]" {
        must file: Text, "The kernel's file in the folder, such as `\"sobel.cl\"`.";
        must kernel: Name, "The kernel's name.";
        must arguments: Map(&Or(&Expression, &ARGUMENT)), "A value for each argument, by the name that the kernel gives it, in \
            any order.";
        must global: List(&Expression, 1, 3), "The number of work-items; rounded up to whole groups, so that kernels must return \
            beyond it.";
        must local: List(&Expression, 1, 3), "The size of a work-group, as many numbers as `global`; whole numbers and tuning \
            parameters only.";
        may rows: Kind::Table(&ROWS), "With it the pass can be cut into bands: `first_row` and `rows` are those of a band. Without it \
            they are 0 and `height`.";
        may reads_per_pixel: Expression, "Roughly the pixels read for each pixel written, from which times are predicted. \
            Without it they follow from `work`, or are 1.";
        may work: Kind::Table(&WORK), "Exact counts, for *why* a variant is fast.";
    }

    ARGUMENT "arguments" {
        may input: Word(&["buffer", "image"]), "The picture to filter: `\"buffer\"` is packed rows, `__global const uchar4 *`, \
            pixel (x, y) at y·width + x; `\"image\"` is a `read_only image2d_t` of normalised channels.";
        may output: Word(&["buffer", "image"]), "The filtered picture, likewise, to be written.";
        may plane: Whole(0, 3), "Which plane of `planes`, from 0; buffers only. It begins at sample `plane0_offset`, its rows \
            are `plane0_stride` apart, and its samples `plane0_step`. Those of an output begin at `output0_offset`.";
        may frames_back: Whole(1, 15), "With `input`: the number of frames by which the picture is before this one, less than `frames`.";
        may scratch: Name, "Scratch memory of this name.";
        may local_bytes: Expression, "Local memory of this number of bytes, for `__local` arguments.";
        may value: Expression, "A number, as without a table.";
        may type: Word(&["int", "uint", "long", "ulong", "float"]), "With `value`: the type in the kernel. Without it `int`, for \
            a float parameter `float`.";
        may values: List(&Expression, 2, 4), "Two or four whole numbers as an `int2` or `int4`.";
        may quotient: List(&Expression, 2, 2), "A `float`: the first divided by the second, such as `[1, \"side*side\"]`.";
    }

    ROWS "rows" {
        must above: Expression, "The number of rows above the band that the pass reads, of the input or of scratch memory.";
        must below: Expression, "The number of rows below the band that the pass reads.";
        may step: Expression, "Bands whose height is a multiple of it waste few work-items. Without it 1.";
    }

    SCRATCH "[variants.scratch.NAME]" {
        may bytes: Expression, "A buffer of this number of bytes.";
        may image: Word(&["rgba8", "rgba16ui", "rgba32f"]), "An image instead: four channels of normalised bytes, 16-bit \
            unsigned integers, or floats.";
        may size: List(&Expression, 2, 2), "Width and height of the image. Without it those of the picture.";
    }

    TUNING "[variants.tuning.NAME]" {
        may default: Whole(0, TUNING_MAX), "The value without a tuning result.";
        may cpu: Whole(0, TUNING_MAX), "The value on CPUs instead.";
        may other: Whole(0, TUNING_MAX), "The value on all other devices instead.";
        may large: Whole(0, TUNING_MAX), "The value for pictures of more than three million pixels instead, except on CPUs.";
        may values: List(&Whole(0, TUNING_MAX), 1, 64), "The values that `clreel tune` tries; without it the parameter is not \
            tuned.";
    }

    WORK "work" {
        must reads: List(&Expression, 2, 2), "The elements that are read from global memory or images, and their bytes.";
        must writes: List(&Expression, 2, 2), "The elements that are written, and their bytes.";
        must operations: Expression, "Additions, subtractions and multiplications of channels; addresses and conversions do not \
            count.";
        may barriers: Expression, "The most barriers that a work-item passes. Without it 0.";
    }
}
