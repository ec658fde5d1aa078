//! The expected results of conversions, computed in integer arithmetic, independent of the CPU's rounding modes. Each result
//! has a mask of its defined bits, because OpenCL C leaves some results undefined.
//!
//! The rules are those of the OpenCL C specification, "Explicit Conversions", and of IEEE 754. A number is decomposed into an
//! integer and a power of two, and composed in its new type, where it is rounded once.

use super::types::{Case, Format, Kind, Rounding, Type};

/// A number, decomposed into sign, magnitude and exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinite { negative: bool },
    /// A finite number: `magnitude`·2^`exponent`, negated if `negative` is true.
    Finite { negative: bool, magnitude: u64, exponent: i32 },
}

/// The expected result of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The bits of the result.
    pub bits: u64,
    /// A mask of the bits of the result that are defined. It is 0 for values out of range without saturation. For a NaN it has
    /// the exponent's bits and the highest stored bit of the significand, which all quiet NaNs have set.
    pub care: u64,
}

/// Returns the expected result of a conversion on a device that rounds to nearest by default. [`bulk`](super::bulk) computes
/// the same results for many numbers.
pub fn convert(case: Case, bits: u64) -> Expected {
    let number = decompose(case.from, bits);
    match case.to.kind() {
        Kind::Integer { signed } => to_integer(number, signed, case),
        Kind::Float(format) => to_float(number, case.to, format, case.rounding),
    }
}

/// Returns true if OpenCL C leaves some results of a case undefined: those of floating-point numbers out of range, and the bits
/// of a NaN.
pub fn has_undefined_bits(case: Case) -> bool {
    !(case.from.is_integer() || case.to.is_integer() && case.saturates)
}

/// Returns true if `got` is a correct result for `input`, both given by their bits. `flushes` returns true for types whose
/// subnormal numbers the device may replace by zeros.
pub fn accepts(case: Case, input: u64, got: u64, flushes: impl Fn(Type) -> bool) -> bool {
    let wanted = convert(case, input);
    if let Kind::Float(format) = case.to.kind() {
        let is_nan = |bits: u64| bits & (case.to.mask() >> 1) > exponent_mask(case.to, format);
        if is_nan(wanted.bits) {
            return is_nan(got);
        }
        // A zero of either sign is correct in place of a subnormal result.
        let is_zero = got & (case.to.mask() >> 1) == 0;
        if is_zero && flushes(case.to) && is_subnormal(format, case.to, wanted.bits) {
            return true;
        }
    }
    if (got ^ wanted.bits) & wanted.care == 0 {
        return true;
    }
    match case.from.kind() {
        Kind::Float(format) if flushes(case.from) && is_subnormal(format, case.from, input) => {
            [0, 1 << (case.from.bits() - 1)].into_iter().any(|input| convert(case, input).bits == got)
        }
        _ => false,
    }
}

/// Returns a mask of the exponent's bits; it equals the bits of positive infinity.
fn exponent_mask(ty: Type, format: Format) -> u64 {
    (ty.mask() >> 1) & !((1 << (format.precision - 1)) - 1)
}

/// Returns true if the bits are those of a subnormal number.
fn is_subnormal(format: Format, ty: Type, bits: u64) -> bool {
    bits & exponent_mask(ty, format) == 0 && bits & (ty.mask() >> 1) != 0
}

/// Decomposes a number of the type `from`, given by its bits.
fn decompose(from: Type, bits: u64) -> Number {
    match from.kind() {
        Kind::Integer { signed: false } => Number::Finite { negative: false, magnitude: bits, exponent: 0 },
        Kind::Integer { signed: true } => {
            let unused = 64 - from.bits();
            let value = ((bits << unused) as i64) >> unused;
            Number::Finite { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 }
        }
        Kind::Float(Format { precision, lowest }) => {
            let stored = precision - 1;
            let negative = bits >> (from.bits() - 1) & 1 == 1;
            let fraction = bits & ((1 << stored) - 1);
            let exponent = (bits & (from.mask() >> 1)) >> stored;
            let highest = (from.mask() >> 1) >> stored;
            if exponent == highest {
                return if fraction == 0 { Number::Infinite { negative } } else { Number::Nan };
            }
            let magnitude = if exponent == 0 { fraction } else { fraction | 1 << stored };
            let exponent = exponent.max(1) as i32 - 1 + lowest - stored as i32;
            Number::Finite { negative, magnitude, exponent }
        }
    }
}

/// Returns `magnitude`·2^-`shift`, rounded.
fn shift_rounded(magnitude: u64, shift: u32, negative: bool, rounding: Rounding) -> u64 {
    // A larger shift leaves less than a half.
    let wide = u128::from(magnitude);
    let shift = shift.min(100);
    if shift == 0 {
        return magnitude;
    }
    let kept = (wide >> shift) as u64;
    let rest = wide & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || rest == half && kept & 1 == 1,
        Rounding::Up => rest > 0 && !negative,
        Rounding::Down => rest > 0 && negative,
        Rounding::Zero | Rounding::Default => false,
    };
    kept + u64::from(up)
}

/// Composes an integer. An integer out of range loses its upper bits, unless the conversion saturates.
fn to_integer(number: Number, signed: bool, case: Case) -> Expected {
    let Case { from, to, saturates, rounding } = case;
    let all = to.mask();
    let (most, least) = if signed { (all >> 1, (all >> 1) + 1) } else { (all, 0) };
    let edge = |negative: bool| if negative { least.wrapping_neg() & all } else { most };
    let open = Expected { bits: 0, care: 0 };
    match number {
        Number::Nan if saturates => Expected { bits: 0, care: all },
        Number::Infinite { negative } if saturates => Expected { bits: edge(negative), care: all },
        Number::Nan | Number::Infinite { .. } => open,
        Number::Finite { negative, magnitude, exponent } => {
            let rounded = match exponent {
                0.. if magnitude == 0 || exponent as u32 <= magnitude.leading_zeros() => {
                    Some(magnitude << exponent.min(63))
                }
                0.. => None,
                // By default, conversions to integers round toward zero.
                _ => Some(shift_rounded(magnitude, exponent.unsigned_abs(), negative, rounding)),
            };
            let limit = if negative { least } else { most };
            match rounded {
                Some(rounded) if rounded <= limit || from.is_integer() && !saturates => {
                    let bits = if negative { rounded.wrapping_neg() } else { rounded };
                    Expected { bits: bits & all, care: all }
                }
                _ if saturates => Expected { bits: edge(negative), care: all },
                _ => open,
            }
        }
    }
}

/// Composes a floating-point number.
fn to_float(number: Number, to: Type, format: Format, rounding: Rounding) -> Expected {
    let stored = format.precision - 1;
    let sign = |negative: bool| u64::from(negative) << (to.bits() - 1);
    let infinity = exponent_mask(to, format);
    let care = to.mask();
    match number {
        // A quiet NaN. Its sign and its other bits are undefined.
        Number::Nan => {
            let bits = infinity | 1 << (stored - 1);
            Expected { bits, care: bits }
        }
        Number::Infinite { negative } => Expected { bits: sign(negative) | infinity, care },
        Number::Finite { negative, magnitude: 0, .. } => Expected { bits: sign(negative), care },
        Number::Finite { negative, magnitude, exponent } => {
            let rounding = if rounding == Rounding::Default { Rounding::Nearest } else { rounding };
            let leading = exponent + 63 - magnitude.leading_zeros() as i32;
            // The exponent of the last bit that is kept.
            let last = leading.max(format.lowest) - stored as i32;
            let kept = match last - exponent {
                down @ 1.. => shift_rounded(magnitude, down.unsigned_abs(), negative, rounding),
                up => magnitude << up.unsigned_abs(),
            };
            // The stored exponent is one less than that of a normal number, whose leading bit then adds one; so does a carry.
            let exponent = (last + stored as i32 - format.lowest) as u64;
            let bits = if exponent << stored >= infinity { infinity } else { (exponent << stored) + kept };
            let bits = match bits < infinity {
                true => bits,
                false => match (rounding, negative) {
                    (Rounding::Zero, _) | (Rounding::Up, true) | (Rounding::Down, false) => infinity - 1,
                    _ => infinity,
                },
            };
            Expected { bits: sign(negative) | bits, care }
        }
    }
}
