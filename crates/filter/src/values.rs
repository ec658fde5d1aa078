//! Launches, arguments and sizes of memory, computed from a description.

use crate::description::{Argument, Code, NumberType, Pass, Passed, Rows, Scratch, ScratchMemory};
use crate::expression::Expression;
use crate::place::Mistake;

/// The numbers behind names: `width`, `rows`, parameters, tuning parameters and so on. docs/filters.md lists all of them.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<i64>;

/// The values of a code's expressions for one picture or band.
pub struct Values<'a> {
    lookup: Lookup<'a>,
    sizes: Vec<(&'a str, i64)>,
}

/// The global and local size of a launch, in one to three dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The number of work-items: multiples of the sizes of a group.
    pub global: Vec<usize>,
    /// The size of a work-group.
    pub local: Vec<usize>,
}

/// A number as a kernel gets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// 32 bits.
    Int(i32),
    /// 32 bits without a sign.
    Uint(u32),
    /// 64 bits.
    Long(i64),
    /// 64 bits without a sign.
    Ulong(u64),
    /// A float of 32 bits.
    Float(f32),
    /// Two numbers of 32 bits.
    Int2([i32; 2]),
    /// Four numbers of 32 bits.
    Int4([i32; 4]),
}

impl Code {
    /// Returns true if the values of the tuning parameters suit the device. `lookup` knows these, `units` and `local_memory`.
    ///
    /// # Errors
    /// Returns an error if a number cannot be computed.
    pub fn allows(&self, lookup: Lookup<'_>) -> Result<bool, Mistake> {
        for comparison in &self.requires {
            let [left, right] = &comparison.sides;
            let (left, right) = (left.value(lookup)?, right.value(lookup)?);
            if left > right || (left == right && !comparison.or_equal) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Pass {
    /// Returns the size of a work-group. `lookup` knows the tuning parameters.
    ///
    /// # Errors
    /// Returns an error if a size is below 1 or cannot be computed.
    pub fn group(&self, lookup: Lookup<'_>) -> Result<Vec<usize>, Mistake> {
        self.local.iter().map(|e| size(e, e.value(lookup)?, "A work-group's size")).collect()
    }
}

impl<'a> Values<'a> {
    /// Computes the named sizes of a code.
    ///
    /// # Errors
    /// Returns an error if one cannot be computed.
    pub fn new(code: &'a Code, lookup: Lookup<'a>) -> Result<Self, Mistake> {
        let mut values = Self { lookup, sizes: Vec::new() };
        for (name, expression) in &code.sizes {
            let value = values.of(expression)?;
            values.sizes.push((name, value));
        }
        Ok(values)
    }

    /// Computes an expression.
    ///
    /// # Errors
    /// Returns an error if it has no value.
    pub fn of(&self, expression: &Expression) -> Result<i64, Mistake> {
        let size = |name: &str| self.sizes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        expression.value(&|name| size(name).or_else(|| (self.lookup)(name)))
    }

    /// Computes the sizes of a pass's launch.
    ///
    /// # Errors
    /// Returns an error if a size is below 1, above 32 bits, or cannot be computed.
    pub fn launch(&self, pass: &Pass) -> Result<Launch, Mistake> {
        let local = pass.group(self.lookup)?;
        let whole_groups = |(e, local): (&Expression, &usize)| {
            Ok(size(e, self.of(e)?, "The number of work-items")?.next_multiple_of(*local))
        };
        Ok(Launch {
            global: pass.global.iter().zip(&local).map(whole_groups).collect::<Result<_, _>>()?,
            local,
        })
    }

    /// Computes the number that is passed as an argument; `None` for memory and float parameters.
    ///
    /// # Errors
    /// Returns an error if it does not fit its type, or cannot be computed.
    pub fn number(&self, argument: &Argument) -> Result<Option<Number>, Mistake> {
        Ok(Some(match &argument.value {
            Passed::Whole(e, kind) => {
                let value = self.of(e)?;
                let number = match kind {
                    NumberType::Int => value.try_into().ok().map(Number::Int),
                    NumberType::Uint => value.try_into().ok().map(Number::Uint),
                    NumberType::Long => Some(Number::Long(value)),
                    NumberType::Ulong => value.try_into().ok().map(Number::Ulong),
                    NumberType::Float => Some(Number::Float(value as f32)),
                };
                number.ok_or_else(|| {
                    let what = format!("'{}' does not fit its type.", argument.name);
                    e.place.mistake(&what, format!("It is {value}."), "Give the argument another `type`.")
                })?
            }
            Passed::Quotient([a, b]) => {
                let (dividend, divisor) = (self.of(a)?, self.of(b)?);
                if divisor == 0 {
                    let why = format!("{dividend} is divided by 0.");
                    return Err(b.place.mistake(
                        "This quotient divides by zero.",
                        why,
                        "Divide by max(1, …).",
                    ));
                }
                Number::Float((dividend as f64 / divisor as f64) as f32)
            }
            Passed::Vector(values) => {
                let number = |e: &Expression| {
                    let value = self.of(e)?;
                    i32::try_from(value).map_err(|_| {
                        let what = format!("A number of '{}' does not fit its type.", argument.name);
                        e.place.mistake(&what, format!("It is {value}."), "It must fit an `int`.")
                    })
                };
                let numbers: Vec<i32> = values.iter().map(number).collect::<Result<_, _>>()?;
                match numbers[..] {
                    [a, b] => Number::Int2([a, b]),
                    [a, b, c, d] => Number::Int4([a, b, c, d]),
                    _ => return Ok(None),
                }
            }
            Passed::Picture { .. } | Passed::Scratch(_) | Passed::LocalBytes(_) | Passed::Float(_) => {
                return Ok(None);
            }
        }))
    }

    /// Computes the size of scratch memory: the bytes of a buffer, or width and height of an image. The picture must be whole.
    ///
    /// # Errors
    /// Returns an error if a size is below 1 or cannot be computed.
    pub fn scratch(&self, scratch: &Scratch) -> Result<Vec<u64>, Mistake> {
        let sizes: &[Expression] = match &scratch.memory {
            ScratchMemory::Bytes(bytes) => std::slice::from_ref(bytes),
            ScratchMemory::Image(_, size) => size,
        };
        sizes.iter().map(|e| at_least(1, e, self.of(e)?, "The size of scratch memory")).collect()
    }

    /// Computes the bytes of an argument in local memory.
    ///
    /// # Errors
    /// Returns an error if they are below 1 or cannot be computed.
    pub fn local_bytes(&self, expression: &Expression) -> Result<u64, Mistake> {
        at_least(1, expression, self.of(expression)?, "The size of local memory")
    }

    /// Computes the rows that a band reads above and below, and the step of its rows.
    ///
    /// # Errors
    /// Returns an error if one is negative, the step is 0, or one cannot be computed.
    pub fn rows(&self, rows: &Rows) -> Result<[u64; 3], Mistake> {
        let read = |e| at_least(0, e, self.of(e)?, "The number of rows");
        Ok([
            read(&rows.above)?,
            read(&rows.below)?,
            at_least(1, &rows.step, self.of(&rows.step)?, "The step of rows")?,
        ])
    }

    /// Computes a count, such as the operations of a pass.
    ///
    /// # Errors
    /// Returns an error if it is negative or cannot be computed.
    pub fn count(&self, expression: &Expression) -> Result<u64, Mistake> {
        at_least(0, expression, self.of(expression)?, "This number")
    }
}

/// Returns the value, or an error if it is below `least`.
fn at_least(least: u64, expression: &Expression, value: i64, what: &str) -> Result<u64, Mistake> {
    u64::try_from(value).ok().filter(|value| *value >= least).ok_or_else(|| {
        let hint = format!("Write max({least}, …), or ceil_div(a, b) instead of a / b.");
        expression.place.mistake(
            &format!("{what} is {value}."),
            format!("It must be at least {least}."),
            hint,
        )
    })
}

/// Returns the value as a size of a launch, or an error unless it is from 1 to the largest of 32 bits.
fn size(expression: &Expression, value: i64, what: &str) -> Result<usize, Mistake> {
    let value = at_least(1, expression, value, what)?;
    u32::try_from(value).map(|value| value as usize).map_err(|_| {
        let why = format!("At most {} are allowed in a dimension.", u32::MAX);
        expression.place.mistake(&format!("{what} is {value}."), why, "Let a work-item compute more.")
    })
}
