//! The conversions of OpenCL C: types, rounding modes, forms (an assignment, or a `convert_` function of one vector width), and
//! cases (one conversion each). A case's name is `destination[_sat][_rounding]_source`, such as `uchar_sat_rtp_float`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A numeric type of OpenCL C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Type {
    /// The type `char`, 8 bits, signed.
    Char,
    /// The type `uchar`, 8 bits, unsigned.
    UChar,
    /// The type `short`, 16 bits, signed.
    Short,
    /// The type `ushort`, 16 bits, unsigned.
    UShort,
    /// The type `int`, 32 bits, signed.
    Int,
    /// The type `uint`, 32 bits, unsigned.
    UInt,
    /// The type `long`, 64 bits, signed.
    Long,
    /// The type `ulong`, 64 bits, unsigned.
    ULong,
    /// The type `half`, 16 bits; not every device has it.
    Half,
    /// The type `float`, 32 bits.
    Float,
    /// The type `double`, 64 bits; not every device has it.
    Double,
}

/// The representation of a numeric type: integer or floating point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An integer, in two's complement if it is signed.
    Integer {
        /// True if the type has negative numbers.
        signed: bool,
    },
    /// A floating-point number of IEEE 754.
    Float(Format),
}

/// A floating-point format of IEEE 754.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// The number of bits of the significand, including the one that is not stored.
    pub precision: u32,
    /// The exponent of the smallest normal number.
    pub lowest: i32,
}

impl Type {
    /// All types whose conversions are tested.
    pub const ALL: [Type; 11] = {
        use Type::*;
        [Char, UChar, Short, UShort, Int, UInt, Long, ULong, Half, Float, Double]
    };

    /// The name in OpenCL C, the size in bytes and the representation of each type, in the order of [`ALL`](Self::ALL).
    const PROPERTIES: [(&str, usize, Kind); 11] = [
        ("char", 1, Kind::Integer { signed: true }),
        ("uchar", 1, Kind::Integer { signed: false }),
        ("short", 2, Kind::Integer { signed: true }),
        ("ushort", 2, Kind::Integer { signed: false }),
        ("int", 4, Kind::Integer { signed: true }),
        ("uint", 4, Kind::Integer { signed: false }),
        ("long", 8, Kind::Integer { signed: true }),
        ("ulong", 8, Kind::Integer { signed: false }),
        ("half", 2, Kind::Float(Format { precision: 11, lowest: -14 })),
        ("float", 4, Kind::Float(Format { precision: 24, lowest: -126 })),
        ("double", 8, Kind::Float(Format { precision: 53, lowest: -1022 })),
    ];

    /// Returns the name of the type in OpenCL C.
    pub fn name(self) -> &'static str {
        Self::PROPERTIES[self as usize].0
    }

    /// Returns the size of the type in bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        Self::PROPERTIES[self as usize].1
    }

    #[inline]
    pub(crate) fn bits(self) -> u32 {
        8 * self.bytes() as u32
    }

    /// Returns a mask with a one for each bit of the type.
    #[inline]
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the representation of the type: a signed or unsigned integer, or a floating-point format.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Self::PROPERTIES[self as usize].2
    }

    /// Returns true for an integer type.
    #[inline]
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Integer { .. })
    }
}

/// A rounding mode of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rounding {
    /// The mode of a conversion whose name has no mode: toward zero if the destination is an integer type, otherwise the
    /// device's default mode, to nearest.
    Default,
    /// The mode `_rte`: to the nearest, ties to even.
    Nearest,
    /// The mode `_rtz`: toward zero.
    Zero,
    /// The mode `_rtp`: toward positive infinity.
    Up,
    /// The mode `_rtn`: toward negative infinity.
    Down,
}

impl Rounding {
    /// All rounding modes.
    pub const ALL: [Rounding; 5] =
        [Rounding::Default, Rounding::Nearest, Rounding::Zero, Rounding::Up, Rounding::Down];

    /// Returns the suffix that names this rounding mode in the name of a conversion, such as `_rte`; empty for
    /// [`Rounding::Default`].
    pub(crate) fn suffix(self) -> &'static str {
        ["", "_rte", "_rtz", "_rtp", "_rtn"][self as usize]
    }
}

/// A form in which a conversion can be written in OpenCL C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// The assignment of a scalar to a variable of another type.
    Implicit,
    /// The `convert_` function of vectors with this many components; 1 is a scalar.
    Width(u8),
}

impl Form {
    /// All forms of a conversion, in the order in which the kernels write their outputs.
    pub(crate) const ALL: [Form; 7] = {
        use Form::{Implicit, Width};
        [Width(1), Width(2), Width(3), Width(4), Width(8), Width(16), Implicit]
    };
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Implicit => f.write_str("implicit"),
            Form::Width(width) => write!(f, "width {width}"),
        }
    }
}

/// A set of vector widths, as a bit mask: the lowest bit stands for width 1, the next bits for widths 2, 3, 4, 8 and 16. Width
/// 1 stands for scalars, converted by a `convert_` function or implicitly by an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widths(pub(crate) u8);

impl Widths {
    /// The set of all vector widths of OpenCL C: 1 (scalars), 2, 3, 4, 8 and 16.
    pub const ALL: Widths = Widths(0x3f);

    /// Creates a set from a list of widths; `None` if the list is empty or has a width that is no vector width of OpenCL C.
    pub fn new(widths: &[u8]) -> Option<Widths> {
        let bit = |width: &u8| Form::ALL.iter().position(|form| *form == Form::Width(*width));
        let bits = widths.iter().try_fold(0, |bits, width| Some(bits | 1 << bit(width)?))?;
        (bits != 0).then_some(Widths(bits))
    }

    /// Creates a set from the names of forms of conversions, such as "width 4"; forms without a width are ignored. `None` if no
    /// form has a width.
    pub(crate) fn from_forms(forms: &[String]) -> Option<Widths> {
        let width = |name: &String| name.strip_prefix("width ").and_then(|width| width.parse().ok());
        Widths::new(&forms.iter().filter_map(width).collect::<Vec<_>>())
    }

    /// Returns true if the set contains the vector width of `form`. An assignment of a scalar counts as width 1.
    pub(crate) fn contains(self, form: Form) -> bool {
        let scalar = if form == Form::Implicit { Form::Width(1) } else { form };
        Form::ALL.iter().position(|of| *of == scalar).is_some_and(|bit| self.0 >> bit & 1 == 1)
    }
}

impl fmt::Display for Widths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = Form::ALL.into_iter().filter(|form| self.contains(*form));
        let names = widths.filter_map(|form| match form {
            Form::Width(width) => Some(width.to_string()),
            Form::Implicit => None,
        });
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}

/// One conversion: its types, saturation and rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    /// The source type.
    pub from: Type,
    /// The destination type.
    pub to: Type,
    /// True if values out of range become the nearest value in range (`_sat`). Only for integer destinations.
    pub saturates: bool,
    /// The rounding mode.
    pub rounding: Rounding,
}

impl Case {
    /// Returns all conversions among `types`. Those with the same source and destination follow each other.
    pub fn all(types: &[Type]) -> Vec<Case> {
        let mut cases = Vec::new();
        for &from in types {
            for &to in types {
                let saturations = if to.is_integer() { &[false, true][..] } else { &[false] };
                for &saturates in saturations {
                    cases.extend(Rounding::ALL.map(|rounding| Case { from, to, saturates, rounding }));
                }
            }
        }
        cases
    }

    /// Returns the case with this name, as [`Display`](fmt::Display) writes it; `None` if there is no such case.
    pub fn named(name: &str) -> Option<Case> {
        Case::all(&Type::ALL).into_iter().find(|case| case.to_string() == name)
    }

    /// Returns the suffix that follows the destination type in the name of a `convert_` function, such as `_sat_rte`.
    pub fn mode(&self) -> String {
        format!("{}{}", if self.saturates { "_sat" } else { "" }, self.rounding.suffix())
    }

    /// Returns the forms in which the conversion can be written with these widths, in the order of the kernels' outputs.
    pub(crate) fn forms(&self, widths: Widths) -> Vec<Form> {
        let plain = !self.saturates && self.rounding == Rounding::Default;
        let all = if plain { &Form::ALL[..] } else { &Form::ALL[..6] };
        all.iter().copied().filter(|form| widths.contains(*form)).collect()
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
    fn widths_choose_forms() {
        let case = Case::named("int_float").unwrap();
        assert_eq!(case.forms(Widths::ALL), Form::ALL);
        let some = Widths::new(&[16, 1, 16]).unwrap();
        assert_eq!((some.to_string().as_str(), some.0), ("1,16", 0b10_0001));
        assert_eq!(case.forms(some), [Form::Width(1), Form::Width(16), Form::Implicit]);
        let names: Vec<String> = case.forms(some).iter().map(Form::to_string).collect();
        assert_eq!(Widths::from_forms(&names), Some(some));
        assert_eq!(Case::named("int_sat_float").unwrap().forms(some).len(), 2);
        assert!(Widths::new(&[]).is_none() && Widths::new(&[1, 5]).is_none());
        assert_eq!(Widths::new(&[1, 2, 3, 4, 8, 16]), Some(Widths::ALL));
    }

    #[test]
    fn all_cases_are_there_and_have_names() {
        let without_half: Vec<Type> = Type::ALL.into_iter().filter(|&t| t != Type::Half).collect();
        assert_eq!(Case::all(&without_half).len(), 900);
        assert_eq!(Case::all(&Type::ALL).len(), 1045);
        for case in Case::all(&Type::ALL) {
            assert_eq!(Case::named(&case.to_string()), Some(case));
        }
        let named = Case { from: Type::Float, to: Type::UChar, saturates: true, rounding: Rounding::Up };
        assert_eq!(named.to_string(), "uchar_sat_rtp_float");
        assert_eq!(Case::named("float_sat_int"), None);
    }
}
