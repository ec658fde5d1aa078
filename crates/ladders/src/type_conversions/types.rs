//! The conversions of OpenCL C. In: nothing, or a name. Out: types, roundings, forms, and the cases with their names in the
//! field's grammar, as in `uchar_sat_rtp_float`: destination, saturation, rounding, source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Type {
    /// `char`, 8 bits
    Char,
    /// `uchar`
    UChar,
    /// `short`, 16 bits
    Short,
    /// `ushort`
    UShort,
    /// `int`, 32 bits
    Int,
    /// `uint`
    UInt,
    /// `long`, 64 bits
    Long,
    /// `ulong`
    ULong,
    /// `half`, 16 bits; not every device has it
    Half,
    /// `float`, 32 bits
    Float,
    /// `double`, 64 bits; not every device has it
    Double,
}

/// What the bits of a type mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number, in two's complement where it has a sign.
    Whole {
        /// Whether there are negative ones.
        signed: bool,
    },
    /// A binary number of IEEE 754.
    Binary(Format),
}

/// A binary format of IEEE 754.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the significand, the one that is not stored included.
    pub precision: u32,
    /// The exponent of the smallest normal number: 1 less than the bias, negated.
    pub lowest: i32,
}

impl Type {
    /// All of them.
    pub const ALL: [Type; 11] = [
        Type::Char,
        Type::UChar,
        Type::Short,
        Type::UShort,
        Type::Int,
        Type::UInt,
        Type::Long,
        Type::ULong,
        Type::Half,
        Type::Float,
        Type::Double,
    ];

    /// Its name in OpenCL C.
    pub fn name(self) -> &'static str {
        match self {
            Type::Char => "char",
            Type::UChar => "uchar",
            Type::Short => "short",
            Type::UShort => "ushort",
            Type::Int => "int",
            Type::UInt => "uint",
            Type::Long => "long",
            Type::ULong => "ulong",
            Type::Half => "half",
            Type::Float => "float",
            Type::Double => "double",
        }
    }

    /// Its size in bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        match self {
            Type::Char | Type::UChar => 1,
            Type::Short | Type::UShort | Type::Half => 2,
            Type::Int | Type::UInt | Type::Float => 4,
            Type::Long | Type::ULong | Type::Double => 8,
        }
    }

    /// Its size in bits.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        8 * self.bytes() as u32
    }

    /// A one in each of its bits.
    #[inline]
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// What its bits mean.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self {
            Type::Char | Type::Short | Type::Int | Type::Long => Kind::Whole { signed: true },
            Type::UChar | Type::UShort | Type::UInt | Type::ULong => Kind::Whole { signed: false },
            Type::Half => Kind::Binary(Format { precision: 11, lowest: -14 }),
            Type::Float => Kind::Binary(Format { precision: 24, lowest: -126 }),
            Type::Double => Kind::Binary(Format { precision: 53, lowest: -1022 }),
        }
    }

    /// Whether it holds whole numbers only.
    #[inline]
    pub fn is_whole(self) -> bool {
        matches!(self.kind(), Kind::Whole { .. })
    }
}

/// How what lies between two numbers becomes one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rounding {
    /// As the language has it where none is named: to zero for whole numbers, else as the device rounds, to nearest.
    Default,
    /// `_rte`: to the nearest, and to the even one of two that are as near
    Nearest,
    /// `_rtz`: to zero
    Zero,
    /// `_rtp`: up
    Up,
    /// `_rtn`: down
    Down,
}

impl Rounding {
    /// All of them.
    pub const ALL: [Rounding; 5] =
        [Rounding::Default, Rounding::Nearest, Rounding::Zero, Rounding::Up, Rounding::Down];

    /// What it adds to a name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Rounding::Default => "",
            Rounding::Nearest => "_rte",
            Rounding::Zero => "_rtz",
            Rounding::Up => "_rtp",
            Rounding::Down => "_rtn",
        }
    }
}

/// How a conversion is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// An assignment of a scalar.
    Implicit,
    /// `convert_` of so many at once: 1, 2, 3, 4, 8 or 16.
    Width(u8),
}

impl Form {
    /// All of them, as they lie in the output.
    pub(crate) const ALL: [Form; 7] = [
        Form::Width(1),
        Form::Width(2),
        Form::Width(3),
        Form::Width(4),
        Form::Width(8),
        Form::Width(16),
        Form::Implicit,
    ];
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Implicit => f.write_str("implicit"),
            Form::Width(width) => write!(f, "width {width}"),
        }
    }
}

/// Some widths of vectors, each of them once; 1 is scalars, and assignments of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widths(u8);

impl Widths {
    /// All that the language has.
    pub const ALL: Widths = Widths(0x3f);

    /// These; `None` where there is none, or one that the language has not.
    pub fn of(widths: &[u8]) -> Option<Widths> {
        let bit = |width: &u8| Form::ALL.iter().position(|form| *form == Form::Width(*width));
        let bits = widths.iter().try_fold(0, |bits, width| Some(bits | 1 << bit(width)?))?;
        (bits != 0).then_some(Widths(bits))
    }

    /// Those of some forms, as they are called.
    pub(crate) fn named(forms: &[String]) -> Option<Widths> {
        let width = |name: &String| name.strip_prefix("width ").and_then(|width| width.parse().ok());
        Widths::of(&forms.iter().filter_map(width).collect::<Vec<_>>())
    }

    /// Whether this form is of one of them.
    pub(crate) fn have(self, form: Form) -> bool {
        let scalar = if form == Form::Implicit { Form::Width(1) } else { form };
        Form::ALL.iter().position(|of| *of == scalar).is_some_and(|bit| self.0 >> bit & 1 == 1)
    }

    /// A bit for each, the lowest for scalars.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Widths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = Form::ALL.into_iter().filter(|form| self.have(*form));
        let names = widths.filter_map(|form| match form {
            Form::Width(width) => Some(width.to_string()),
            Form::Implicit => None,
        });
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}

/// One conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    /// The source.
    pub from: Type,
    /// The destination.
    pub to: Type,
    /// `_sat`: what is out of range becomes the nearest number that is not. Only for whole numbers.
    pub saturates: bool,
    /// How it rounds.
    pub rounding: Rounding,
}

impl Case {
    /// All that there are among `types`, those of one source and destination together.
    pub fn all(types: &[Type]) -> Vec<Case> {
        let mut cases = Vec::new();
        for &from in types {
            for &to in types {
                cases.extend(Case::of(from, to));
            }
        }
        cases
    }

    /// Those of one source and destination.
    fn of(from: Type, to: Type) -> impl Iterator<Item = Case> {
        let kinds = if to.is_whole() { &[false, true][..] } else { &[false] };
        kinds.iter().flat_map(move |&saturates| {
            Rounding::ALL.into_iter().map(move |rounding| Case { from, to, saturates, rounding })
        })
    }

    /// The case of a name, as [`Display`](fmt::Display) writes it.
    pub fn named(name: &str) -> Option<Case> {
        Case::all(&Type::ALL).into_iter().find(|case| case.to_string() == name)
    }

    /// What it adds to `convert_` and a type: `_sat_rte`.
    pub(crate) fn mode(&self) -> String {
        format!("{}{}", if self.saturates { "_sat" } else { "" }, self.rounding.suffix())
    }

    /// The forms that it can be written in, as they lie in the output: of these widths.
    pub(crate) fn forms(&self, widths: Widths) -> Vec<Form> {
        let plain = !self.saturates && self.rounding == Rounding::Default;
        let all = if plain { &Form::ALL[..] } else { &Form::ALL[..6] };
        all.iter().copied().filter(|form| widths.have(*form)).collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}_{}", self.to.name(), self.mode(), self.from.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_cases_as_the_field_counts() {
        let without_half: Vec<Type> = Type::ALL.into_iter().filter(|&t| t != Type::Half).collect();
        assert_eq!(Case::all(&without_half).len(), 900);
        assert_eq!(Case::all(&Type::ALL).len(), 1045);
    }

    #[test]
    fn widths_choose_forms() {
        let case = Case::named("int_float").unwrap();
        assert_eq!(case.forms(Widths::ALL), Form::ALL);
        let some = Widths::of(&[16, 1, 16]).unwrap();
        assert_eq!((some.to_string().as_str(), some.bits()), ("1,16", 0b10_0001));
        assert_eq!(case.forms(some), [Form::Width(1), Form::Width(16), Form::Implicit]);
        let names: Vec<String> = case.forms(some).iter().map(Form::to_string).collect();
        assert_eq!(Widths::named(&names), Some(some));
        assert_eq!(Case::named("int_sat_float").unwrap().forms(some).len(), 2);
        assert!(Widths::of(&[]).is_none() && Widths::of(&[1, 5]).is_none());
        assert_eq!(Widths::of(&[1, 2, 3, 4, 8, 16]), Some(Widths::ALL));
    }

    #[test]
    fn a_name_leads_back_to_its_case() {
        for case in Case::all(&Type::ALL) {
            assert_eq!(Case::named(&case.to_string()), Some(case));
        }
        let named = Case { from: Type::Float, to: Type::UChar, saturates: true, rounding: Rounding::Up };
        assert_eq!(named.to_string(), "uchar_sat_rtp_float");
        assert_eq!(Case::named("float_sat_int"), None);
    }
}
