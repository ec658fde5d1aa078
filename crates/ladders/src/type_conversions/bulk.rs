//! What is right for many numbers at once: the same as [`convert`], without a branch for each number, so that
//! the compiler makes vectors of it. In: a case and packed numbers. Out: what they become, and which bits of it count.
//!
//! A loop for each pair of types; rounding and saturation are masks in it. Numbers are taken apart into sign, magnitude and
//! exponent, in lanes of 32 bits where both types fit, else of 64. [`convert`] says the same in plain words, and the tests hold
//! both together.

use super::reference::{Wanted, convert};
use super::types::{Case, Kind, Rounding, Type};

/// A case as masks.
#[derive(Debug, Clone, Copy)]
struct How {
    saturates: bool,
    nearest: bool,
    /// Whether what lies between goes away from zero, of positive and of negative numbers.
    away: [bool; 2],
    /// Of whole numbers without saturation what does not fit loses its upper bits.
    wraps: bool,
}

/// What all of `input` becomes, packed bytes in the processor's order; `care` may be empty where
/// [nothing is open](super::reference::is_open), else it is as long as `output`.
pub fn convert_all(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt");
        match has {
            // SAFETY: the processor has these features, the only ones that it is compiled for.
            true => unsafe { x86::vectors(case, input, output, care) },
            false => one_by_one(case, input, output, care),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    match cfg!(target_endian = "little") {
        true => pairs::of_sources(case, input, output, care),
        false => one_by_one(case, input, output, care),
    }
}

/// Without vectors it is as fast as anything.
fn one_by_one(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
    let (from, to) = (case.from.bytes(), case.to.bytes());
    let mut care = care.chunks_exact_mut(to);
    for (input, output) in input.chunks_exact(from).zip(output.chunks_exact_mut(to)) {
        let mut wide = [0; 8];
        wide[..from].copy_from_slice(input);
        let Wanted { bits, care: counts } = convert(case, u64::from_le_bytes(wide));
        output.copy_from_slice(&bits.to_le_bytes()[..to]);
        if let Some(care) = care.next() {
            care.copy_from_slice(&counts.to_le_bytes()[..to]);
        }
    }
}

/// A loop for each source and destination, for the processor's features `$feature`.
macro_rules! pairs {
    ($module:ident, $entry:ident $(, $feature:literal)?) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            pub(super) fn $entry(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
                match case.from as usize {
                    0 => to::<0>(case, input, output, care),
                    1 => to::<1>(case, input, output, care),
                    2 => to::<2>(case, input, output, care),
                    3 => to::<3>(case, input, output, care),
                    4 => to::<4>(case, input, output, care),
                    5 => to::<5>(case, input, output, care),
                    6 => to::<6>(case, input, output, care),
                    7 => to::<7>(case, input, output, care),
                    8 => to::<8>(case, input, output, care),
                    9 => to::<9>(case, input, output, care),
                    _ => to::<10>(case, input, output, care),
                }
            }

            $(#[target_feature(enable = $feature)])?
            fn to<const FROM: usize>(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
                match case.to as usize {
                    0 => pair::<FROM, 0>(case, input, output, care),
                    1 => pair::<FROM, 1>(case, input, output, care),
                    2 => pair::<FROM, 2>(case, input, output, care),
                    3 => pair::<FROM, 3>(case, input, output, care),
                    4 => pair::<FROM, 4>(case, input, output, care),
                    5 => pair::<FROM, 5>(case, input, output, care),
                    6 => pair::<FROM, 6>(case, input, output, care),
                    7 => pair::<FROM, 7>(case, input, output, care),
                    8 => pair::<FROM, 8>(case, input, output, care),
                    9 => pair::<FROM, 9>(case, input, output, care),
                    _ => pair::<FROM, 10>(case, input, output, care),
                }
            }

            #[inline(never)]
            $(#[target_feature(enable = $feature)])?
            fn pair<const FROM: usize, const TO: usize>(
                case: Case,
                input: &[u8],
                output: &mut [u8],
                care: &mut [u8],
            ) {
                let (from, to) = (Type::ALL[FROM], Type::ALL[TO]);
                let how = How::of(case);
                if from.bytes() <= 4 && to.bytes() <= 4 {
                    narrow::each((from, to), how, input, output, care);
                } else {
                    wide::each((from, to), how, input, output, care);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pairs!(x86, vectors, "avx2,bmi1,bmi2,lzcnt");
#[cfg(not(target_arch = "x86_64"))]
pairs!(pairs, of_sources);

impl How {
    fn of(case: Case) -> Self {
        let rounding = match (case.rounding, case.to.is_whole()) {
            (Rounding::Default, true) => Rounding::Zero,
            (Rounding::Default, false) => Rounding::Nearest,
            (rounding, _) => rounding,
        };
        Self {
            saturates: case.saturates,
            nearest: rounding == Rounding::Nearest,
            away: [rounding == Rounding::Up, rounding == Rounding::Down],
            wraps: case.from.is_whole() && !case.saturates,
        }
    }
}

#[inline(always)]
fn get(of: Type, bytes: &[u8]) -> u64 {
    match (of.bytes(), bytes) {
        (1, [a]) => u64::from(*a),
        (2, [a, b]) => u64::from(u16::from_le_bytes([*a, *b])),
        (4, [a, b, c, d]) => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        (8, [a, b, c, d, e, f, g, h]) => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => 0,
    }
}

#[inline(always)]
fn put(of: Type, to: &mut [u8], bits: u64) {
    match of.bytes() {
        1 => to.copy_from_slice(&(bits as u8).to_le_bytes()),
        2 => to.copy_from_slice(&(bits as u16).to_le_bytes()),
        4 => to.copy_from_slice(&(bits as u32).to_le_bytes()),
        _ => to.copy_from_slice(&bits.to_le_bytes()),
    }
}

/// One number in a lane of `$bits` bits: `$word`, and `$signed` for exponents.
macro_rules! lanes {
    ($module:ident, $word:ident, $signed:ident, $bits:literal) => {
        mod $module {
            use super::*;

            /// A number, taken apart. Of infinities and NaN the magnitude says nothing.
            struct Number {
                negative: bool,
                magnitude: $word,
                exponent: $signed,
                infinite: bool,
                nan: bool,
            }

            /// All ones, or none.
            #[inline(always)]
            fn mask(of: bool) -> $word {
                (0 as $word).wrapping_sub(of as $word)
            }

            #[inline(always)]
            fn select(of: bool, one: $word, other: $word) -> $word {
                if of { one } else { other }
            }

            /// All numbers, one after the other, with what is known of their types.
            // No closure: it would not become a part of the caller's loop, and so no vectors.
            #[inline(always)]
            pub(super) fn each(
                (from, to): (Type, Type),
                how: How,
                input: &[u8],
                output: &mut [u8],
                care: &mut [u8],
            ) {
                let numbers = input.chunks_exact(from.bytes());
                let outputs = output.chunks_exact_mut(to.bytes());
                if from.is_whole() || care.is_empty() {
                    for (number, output) in numbers.zip(outputs) {
                        let (bits, _) = convert(from, to, how, get(from, number) as $word);
                        put(to, output, bits.into());
                    }
                } else {
                    for ((number, output), care) in
                        numbers.zip(outputs).zip(care.chunks_exact_mut(to.bytes()))
                    {
                        let (bits, counts) = convert(from, to, how, get(from, number) as $word);
                        put(to, output, bits.into());
                        put(to, care, counts.into());
                    }
                }
            }

            /// The bits that a number becomes, and those that count.
            #[inline(always)]
            fn convert(from: Type, to: Type, how: How, bits: $word) -> ($word, $word) {
                let number = take(from, bits);
                match to.kind() {
                    Kind::Whole { signed } => whole(number, from, to, signed, how),
                    Kind::Binary(format) => {
                        binary(number, to, format.precision - 1, format.lowest as $signed, how)
                    }
                }
            }

            #[inline(always)]
            fn take(from: Type, bits: $word) -> Number {
                let (infinite, nan, size) = (false, false, from.bits());
                match from.kind() {
                    Kind::Whole { signed: false } => {
                        Number { negative: false, magnitude: bits, exponent: 0, infinite, nan }
                    }
                    Kind::Whole { signed: true } => {
                        let unused = $bits - size;
                        let value = ((bits << unused) as $signed) >> unused;
                        Number {
                            negative: value < 0,
                            magnitude: value.unsigned_abs(),
                            exponent: 0,
                            infinite,
                            nan,
                        }
                    }
                    Kind::Binary(format) => {
                        let stored = format.precision - 1;
                        let fraction = bits & ((1 << stored) - 1);
                        let all = from.mask() as $word >> 1;
                        let exponent = (bits & all) >> stored;
                        let special = exponent == all >> stored;
                        let normal = (exponent != 0) as $word;
                        Number {
                            negative: bits >> (size - 1) & 1 == 1,
                            magnitude: fraction | normal << stored,
                            exponent: (exponent + (1 - normal)) as $signed - 1 + format.lowest as $signed
                                - stored as $signed,
                            infinite: special & (fraction == 0),
                            nan: special & (fraction != 0),
                        }
                    }
                }
            }

            /// What is added before the last `shift` bits are cut off: so much that a carry rounds. At least one is cut.
            #[inline(always)]
            fn bias(magnitude: $word, shift: $word, negative: bool, how: How) -> $word {
                let half = (1 as $word) << (shift - 1);
                let odd = magnitude >> shift & 1;
                let away = (how.away[0] & !negative) | (how.away[1] & negative);
                ((half - 1 + odd) & mask(how.nearest)) | ((half + (half - 1)) & mask(away))
            }

            #[inline(always)]
            fn whole(number: Number, from: Type, to: Type, signed: bool, how: How) -> ($word, $word) {
                let Number { negative, magnitude, exponent, infinite, nan } = number;
                let all = to.mask() as $word;
                let (most, least) = if signed { (all >> 1, (all >> 1) + 1) } else { (all, 0) };
                let limit = select(negative, least, most);
                let (rounded, too_long) = match from.kind() {
                    Kind::Whole { .. } => (magnitude, false),
                    Kind::Binary(format) => {
                        // So far up there is room, and so far down nothing but whether there was something: less than a half.
                        let room = ($bits - format.precision) as $signed;
                        let down = (0 as $signed).wrapping_sub(exponent).clamp(1, $bits - 1) as $word;
                        let cut = (magnitude + bias(magnitude, down, negative, how)) >> down;
                        let up = exponent.clamp(0, room) as $word;
                        (select(exponent >= 0, magnitude << up, cut), exponent > room)
                    }
                };
                let over = too_long | infinite | (rounded > limit);
                let out = over & !how.wraps;
                let magnitude = select(out, limit, rounded);
                let bits = select(negative, magnitude.wrapping_neg(), magnitude) & all;
                let open = (out | nan) & !how.saturates;
                (bits & !mask(open | nan), all & !mask(open))
            }

            #[inline(always)]
            fn binary(number: Number, to: Type, stored: u32, lowest: $signed, how: How) -> ($word, $word) {
                let Number { negative, magnitude, exponent, infinite, nan } = number;
                let all = to.mask() as $word;
                let infinity = (all >> 1) & !((1 << stored) - 1);
                let zeros = magnitude.leading_zeros() as $word & ($bits - 1);
                // Two places further down there is room for the carry, and for all that can be cut off: what is lost there
                // leaves a trace in the last bit.
                let top = magnitude << zeros;
                let top = top >> 2 | (top & 3 != 0) as $word;
                let leading = exponent + ($bits - 1) - zeros as $signed;
                let first = leading.max(lowest);
                let down = ($bits - 3 - stored as $signed + (first - leading)).min($bits - 1) as $word;
                let kept = (top + bias(top, down, negative, how)) >> down;
                // The leading bit of a normal number adds one to its exponent; so does a carry.
                let bits = (((first - lowest) as $word) << stored) + kept;
                let away = (how.away[0] & !negative) | (how.away[1] & negative);
                let beyond = infinity - (!how.nearest & !away) as $word;
                let bits = select(bits >= infinity, beyond, bits) & mask(magnitude != 0);
                let bits = select(infinite, infinity, bits) | (negative as $word) << (to.bits() - 1);
                let quiet = infinity | 1 << (stored - 1);
                (select(nan, quiet, bits), select(nan, quiet, all))
            }
        }
    };
}

lanes!(narrow, u32, i32, 32);
lanes!(wide, u64, i64, 64);
