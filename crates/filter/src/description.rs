//! The description of a filter as plain data.

use crate::expression::Expression;
use crate::place::Place;

/// A filter, as its `filter.toml` describes it. All references between its parts are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The filter's name on the screen.
    pub name: String,
    /// The effect on a picture, in a sentence.
    pub sentence: String,
    /// The format that kernels read.
    pub input: Format,
    /// The format that kernels write.
    pub output: Format,
    /// The number of frames that kernels read: this one and those before it.
    pub frames: u32,
    /// The reference that variants are compared with; `None` for a single variant without one.
    pub reference: Option<Reference>,
    /// The difference from the reference that correct bytes may have.
    pub accuracy: Accuracy,
    /// The index of the variant that is selected first.
    pub initial: usize,
    /// The index of the variant that *auto* runs before tuning.
    pub auto: usize,
    /// The values that the user sets, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The implementations, in the order of display; at least one.
    pub variants: Vec<Variant>,
}

/// The format of a picture that kernels read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RGBA pixels of four bytes.
    Rgba8,
    /// The planes of the movie, as decoded.
    Planes,
    /// Only of the output: planes of the same sizes, one after the other, with samples of 12 bits in two bytes.
    Planes12,
}

/// The reference that variants are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The variant with this index.
    Variant(usize),
    /// A built-in function of this name.
    BuiltIn(String),
}

/// The difference from the reference that the bytes of a correct variant may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accuracy {
    /// All bytes are equal.
    Exact,
    /// They differ by at most so much.
    Within {
        /// The largest difference of two bytes at one place.
        largest_difference: u8,
        /// The reason why they may differ, in a sentence.
        reason: String,
    },
}

/// A value that the user sets by a slider.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name in expressions, on the command line and on the screen.
    pub name: String,
    /// True for 32-bit whole numbers, false for floats.
    pub is_whole: bool,
    /// The least and the greatest value.
    pub range: [f64; 2],
    /// The step of the slider.
    pub step: f64,
    /// The value at the start.
    pub default: f64,
    /// The unit behind the value; may be empty.
    pub unit: String,
}

impl Parameter {
    /// Returns the number of decimals of values that the user sets in steps: for a float those of its step, as a rule.
    pub fn decimals(&self) -> usize {
        if self.is_whole {
            return 0;
        }
        // A step that is computed from the range may have many digits.
        let written = self.step.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let least = self.shown_decimals() + 1;
        written.clamp(least, least.max(6))
    }

    /// Returns the number of decimals with which a slider shows a value: two for floats, or more if the step is less than 0.01.
    fn shown_decimals(&self) -> usize {
        let least = if self.is_whole { 0.0 } else { 2.0 };
        (-self.step.log10()).ceil().max(least) as usize
    }

    /// Returns a value with its unit as a slider shows it, as in "7 px" or "1.50".
    pub fn value_text(&self, value: f64) -> String {
        format!("{value:.*} {}", self.shown_decimals(), self.unit).trim_end().to_owned()
    }
}

/// An implementation of the filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name on the command line, in JSON and CSV.
    pub id: String,
    /// The title on the screen.
    pub title: String,
    /// The difference from other variants, in a sentence; may be empty.
    pub idea: String,
    /// True if it adds an idea to the variant before it, false if it does more and is listed below such steps.
    pub is_step: bool,
    /// The digit that selects the variant, 1 to 8.
    pub key: Option<u8>,
    /// The code for CPUs and for all other devices.
    pub codes: [Code; 2],
}

/// The code of a variant for a kind of device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Code {
    /// The kernels that run one after the other.
    pub passes: Vec<Pass>,
    /// Memory between passes or within one.
    pub scratch: Vec<Scratch>,
    /// Expressions with names, each after those that it uses.
    pub sizes: Vec<(String, Expression)>,
    /// Macros for the compiler, besides those of the tuning parameters.
    pub defines: Vec<(String, Expression)>,
    /// Macros whose values are tuned.
    pub tuning: Vec<Tuning>,
    /// The conditions for the values of `tuning`.
    pub requires: Vec<Comparison>,
    /// A macro with which the last pass writes an image instead of a buffer.
    pub image_output_define: Option<String>,
}

/// A comparison of two expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The smaller side, and the other one.
    pub sides: [Expression; 2],
    /// True if both may be equal.
    pub or_equal: bool,
}

/// A kernel that runs over a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// The kernel's file in the folder; see [`check_kernels`](crate::folder::check_kernels).
    pub file: String,
    /// The place of the file's name, for messages.
    pub file_place: Place,
    /// The kernel's name.
    pub kernel: String,
    /// The place of the kernel's name, for messages.
    pub kernel_place: Place,
    /// The arguments, in the order of the description, not that of the kernel.
    pub arguments: Vec<Argument>,
    /// The number of work-items in each dimension, before it is rounded up to whole groups.
    pub global: Vec<Expression>,
    /// The size of a group in each dimension.
    pub local: Vec<Expression>,
    /// The rows of bands into which the pass can be cut; `None` if it cannot.
    pub rows: Option<Rows>,
    /// The pixels that are read for each pixel that is written, roughly.
    pub reads_per_pixel: Option<Expression>,
    /// Exact counts.
    pub work: Option<Work>,
}

/// The rows of bands into which a pass can be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The number of rows above the band that are read.
    pub above: Expression,
    /// The number of rows below the band that are read.
    pub below: Expression,
    /// Bands of a multiple of so many rows waste few work-items.
    pub step: Expression,
}

/// The exact counts of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The elements read, and their bytes.
    pub reads: [Expression; 2],
    /// The elements written, and their bytes.
    pub writes: [Expression; 2],
    /// Additions, subtractions and multiplications.
    pub operations: Expression,
    /// The most barriers that a work-item passes.
    pub barriers: Expression,
}

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The name that the kernel gives the argument.
    pub name: String,
    /// The place of the name, for messages.
    pub place: Place,
    /// The number or memory that is passed.
    pub value: Passed,
}

/// A number or memory that is passed as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed {
    /// A picture, or a plane of one.
    Picture {
        /// True for the filtered picture, false for the one to filter.
        is_output: bool,
        /// The kind of memory.
        memory: Memory,
        /// The plane, if the format is [`Format::Planes`].
        plane: Option<u8>,
        /// The number of frames by which it is before this one.
        frames_back: u32,
    },
    /// The scratch memory with this index.
    Scratch(usize),
    /// Local memory of this number of bytes.
    LocalBytes(Expression),
    /// The value of the float parameter with this name.
    Float(String),
    /// A whole number, as this type.
    Whole(Expression, NumberType),
    /// Whole numbers as a vector of two or four `int`.
    Vector(Vec<Expression>),
    /// The first number divided by the second, as a float.
    Quotient([Expression; 2]),
}

/// The kind of memory of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// A buffer.
    Buffer,
    /// An image.
    Image,
}

/// The type of a number in a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// 32 bits.
    Int,
    /// 32 bits without a sign.
    Uint,
    /// 64 bits.
    Long,
    /// 64 bits without a sign.
    Ulong,
    /// A float of 32 bits.
    Float,
}

/// Scratch memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// The name in arguments.
    pub name: String,
    /// The kind of memory and its size.
    pub memory: ScratchMemory,
}

/// The kind and size of scratch memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScratchMemory {
    /// A buffer of so many bytes.
    Bytes(Expression),
    /// An image with these channels, of this width and height.
    Image(Channels, [Expression; 2]),
}

/// The channels of a scratch image, four of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Bytes that kernels read as numbers from 0 to 1.
    Rgba8,
    /// Unsigned integers of 16 bits.
    Rgba16Ui,
    /// Floats of 32 bits.
    Rgba32F,
}

/// A tuning parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// The macro's name.
    pub name: String,
    /// The value on CPUs, and that on all other devices.
    pub defaults: [u32; 2],
    /// The value for large pictures on devices other than CPUs, if it is another one.
    pub large: Option<u32>,
    /// The values that a search tries; empty if the parameter is not tuned.
    pub values: Vec<u32>,
}

impl Tuning {
    /// Returns the value without a tuning result, on CPUs or other devices, for large pictures or others.
    pub fn value(&self, is_cpu: bool, is_large: bool) -> u32 {
        self.large.filter(|_| is_large && !is_cpu).unwrap_or(self.defaults[usize::from(!is_cpu)])
    }
}
