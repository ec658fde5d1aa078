//! What is right, in whole-number arithmetic: no rounding mode of a processor has a part in it. In: a case and numbers as
//! bits. Out: the numbers that they become as bits, and which of these bits the language leaves open.
//!
//! The rules are those of the OpenCL C specification, "Explicit Conversions", and of IEEE 754 for what they refer to. A number is
//! taken apart into a whole number and a power of two, and put together in its new type, where it is rounded once.

use super::types::{Case, Format, Kind, Rounding, Type};

/// A number, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// No number.
    Nan,
    /// More than any number.
    Infinite { negative: bool },
    /// `magnitude`·2^`exponent`, or that negated.
    Finite { negative: bool, magnitude: u64, exponent: i32 },
}

/// What a conversion gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The bits.
    pub bits: u64,
    /// A one where the bit counts: none of what is out of range without saturation, and of a NaN those that most have in
    /// common.
    pub care: u64,
}

/// What is right on a device whose own rounding, which is the default for binary numbers, is to nearest. Of many numbers
/// [`bulk`](super::bulk) says the same.
pub fn convert(case: Case, bits: u64) -> Wanted {
    put(case, take(case.from, bits))
}

/// Whether the language leaves some of a case's results open: those of binary numbers that do not fit, and which NaN it is.
pub fn is_open(case: Case) -> bool {
    !(case.from.is_whole() || case.to.is_whole() && case.saturates)
}

/// Whether another result than the wanted one is right as well. `flushes` says of a type whether the device takes its
/// subnormal numbers for zeros.
pub fn accepts(case: Case, input: u64, got: u64, flushes: impl Fn(Type) -> bool) -> bool {
    let wanted = convert(case, input);
    let to = |bits: u64| match case.to.kind() {
        Kind::Binary(format) => Some((format, bits)),
        Kind::Whole { .. } => None,
    };
    if (got ^ wanted.bits) & wanted.care == 0 && !is_nan_of(to(wanted.bits), case.to) {
        return true;
    }
    if is_nan_of(to(wanted.bits), case.to) {
        return is_nan_of(to(got), case.to);
    }
    // A zero of either sign.
    let zero = |format: Format, bits: u64| bits & (mask_of(case.to, format)) == 0;
    let flushed = |(format, bits)| is_subnormal(format, case.to, bits) && zero(format, got);
    if flushes(case.to) && to(wanted.bits).is_some_and(flushed) {
        return true;
    }
    match case.from.kind() {
        Kind::Binary(format) if flushes(case.from) && is_subnormal(format, case.from, input) => {
            [0, 1 << (case.from.bits() - 1)].into_iter().any(|input| convert(case, input).bits == got)
        }
        _ => false,
    }
}

/// Everything but the sign.
fn mask_of(of: Type, _: Format) -> u64 {
    of.mask() >> 1
}

fn exponent_mask(of: Type, format: Format) -> u64 {
    (of.mask() >> 1) & !((1 << (format.precision - 1)) - 1)
}

fn is_nan_of(number: Option<(Format, u64)>, of: Type) -> bool {
    number.is_some_and(|(format, bits)| bits & (of.mask() >> 1) > exponent_mask(of, format))
}

fn is_subnormal(format: Format, of: Type, bits: u64) -> bool {
    bits & exponent_mask(of, format) == 0 && bits & (of.mask() >> 1) != 0
}

/// Takes a number apart.
fn take(from: Type, bits: u64) -> Number {
    match from.kind() {
        Kind::Whole { signed: false } => Number::Finite { negative: false, magnitude: bits, exponent: 0 },
        Kind::Whole { signed: true } => {
            let unused = 64 - from.bits();
            let value = ((bits << unused) as i64) >> unused;
            Number::Finite { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 }
        }
        Kind::Binary(Format { precision, lowest }) => {
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

/// Puts a number together in its new type.
fn put(case: Case, number: Number) -> Wanted {
    let Case { from, to, saturates, rounding } = case;
    match to.kind() {
        Kind::Whole { signed } => whole(number, to, signed, saturates, from.is_whole(), rounding),
        Kind::Binary(format) => binary(number, to, format, rounding),
    }
}

/// `magnitude`·2^-`shift`, rounded.
fn shifted(magnitude: u64, shift: u32, negative: bool, rounding: Rounding) -> u64 {
    // So far down nothing is left but whether there was something: less than a half.
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

fn whole(number: Number, to: Type, signed: bool, saturates: bool, wraps: bool, rounding: Rounding) -> Wanted {
    let all = to.mask();
    let (most, least) = match signed {
        true => (all >> 1, (all >> 1) + 1),
        false => (all, 0),
    };
    let edge = |negative: bool| if negative { least.wrapping_neg() & all } else { most };
    let open = Wanted { bits: 0, care: 0 };
    match number {
        Number::Nan if saturates => Wanted { bits: 0, care: all },
        Number::Infinite { negative } if saturates => Wanted { bits: edge(negative), care: all },
        Number::Nan | Number::Infinite { .. } => open,
        Number::Finite { negative, magnitude, exponent } => {
            let rounded = match exponent {
                0.. if magnitude == 0 || exponent as u32 <= magnitude.leading_zeros() => {
                    Some(magnitude << exponent.min(63))
                }
                0.. => None,
                // The default for whole numbers is to zero.
                _ => Some(shifted(magnitude, exponent.unsigned_abs(), negative, rounding)),
            };
            let limit = if negative { least } else { most };
            match rounded {
                Some(rounded) if rounded <= limit || wraps && !saturates => {
                    let bits = if negative { rounded.wrapping_neg() } else { rounded };
                    Wanted { bits: bits & all, care: all }
                }
                _ if saturates => Wanted { bits: edge(negative), care: all },
                _ => open,
            }
        }
    }
}

fn binary(number: Number, to: Type, format: Format, rounding: Rounding) -> Wanted {
    let stored = format.precision - 1;
    let sign = |negative: bool| u64::from(negative) << (to.bits() - 1);
    let infinity = exponent_mask(to, format);
    let care = to.mask();
    match number {
        // A quiet one. Its sign and the rest of its bits are open.
        Number::Nan => {
            let bits = infinity | 1 << (stored - 1);
            Wanted { bits, care: bits }
        }
        Number::Infinite { negative } => Wanted { bits: sign(negative) | infinity, care },
        Number::Finite { negative, magnitude: 0, .. } => Wanted { bits: sign(negative), care },
        Number::Finite { negative, magnitude, exponent } => {
            let rounding = if rounding == Rounding::Default { Rounding::Nearest } else { rounding };
            let leading = exponent + 63 - magnitude.leading_zeros() as i32;
            // The exponent of the last bit that there is room for.
            let last = leading.max(format.lowest) - stored as i32;
            let kept = match last - exponent {
                down @ 1.. => shifted(magnitude, down.unsigned_abs(), negative, rounding),
                up => magnitude << up.unsigned_abs(),
            };
            // What is stored is one less than that of a normal number, whose leading bit then adds one; so does a carry.
            let exponent = (last + stored as i32 - format.lowest) as u64;
            let bits = if exponent << stored >= infinity { infinity } else { (exponent << stored) + kept };
            let bits = match bits < infinity {
                true => bits,
                false => match (rounding, negative) {
                    (Rounding::Zero, _) | (Rounding::Up, true) | (Rounding::Down, false) => infinity - 1,
                    _ => infinity,
                },
            };
            Wanted { bits: sign(negative) | bits, care }
        }
    }
}
