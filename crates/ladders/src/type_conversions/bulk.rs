//! The expected results for many numbers at once. They are the same as those of [`convert`], but are computed without a branch
//! for each number, so that the compiler vectorizes the loops. A mask of the defined bits of each result is returned, too.
//!
//! There is a loop for each pair of types, in which rounding and saturation are masks. Numbers are decomposed into sign,
//! magnitude and exponent, in lanes of 32 bits if both types fit, else of 64 bits. The tests compare this code with
//! [`convert`], which does the same in plain code.

use super::reference::{Expected, convert};
use super::types::{Case, Format, Kind, Rounding, Type};

/// The types of a conversion, which are constants after inlining, and its rounding and overflow modes as flags, which become
/// masks.
#[derive(Debug, Clone, Copy)]
struct Modes {
    from: Type,
    to: Type,
    /// True if values out of range become the nearest value in range.
    saturates: bool,
    /// True if the conversion rounds to the nearest value.
    nearest: bool,
    /// True if the conversion rounds away from zero: the first value is for positive numbers, the second for negative ones.
    away: [bool; 2],
    /// True if integers out of range lose their upper bits.
    wraps: bool,
}

/// Converts all numbers in `input`, packed little-endian bytes, into `output`. `care` receives a mask of the defined bits of
/// each result. It has the length of `output`, or is empty if [all bits are defined](super::reference::has_undefined_bits).
pub fn convert_all(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt");
        match has {
            // SAFETY: the CPU has these features, the only ones that the function is compiled for.
            true => unsafe { x86::dispatch(case, input, output, care) },
            false => convert_one_by_one(case, input, output, care),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    match cfg!(target_endian = "little") {
        true => pairs::dispatch(case, input, output, care),
        false => convert_one_by_one(case, input, output, care),
    }
}

/// Converts all numbers one at a time by [`convert`]. If the CPU lacks the features of the vectorized loops, this is as fast.
fn convert_one_by_one(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
    let (from, to) = (case.from.bytes(), case.to.bytes());
    let mut care = care.chunks_exact_mut(to);
    for (input, output) in input.chunks_exact(from).zip(output.chunks_exact_mut(to)) {
        let mut wide = [0; 8];
        wide[..from].copy_from_slice(input);
        let Expected { bits, care: counts } = convert(case, u64::from_le_bytes(wide));
        output.copy_from_slice(&bits.to_le_bytes()[..to]);
        if let Some(care) = care.next() {
            care.copy_from_slice(&counts.to_le_bytes()[..to]);
        }
    }
}

/// Generates a module with a loop for each pair of types, compiled for the CPU features `$feature`. `$index` are the indices of
/// all types.
macro_rules! pairs {
    ($module:ident, [$($index:literal)*] $(, $feature:literal)?) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            /// Converts all numbers by the loop for the two types of `case`.
            pub(super) fn dispatch(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
                match case.from as usize {
                    $($index => dispatch_source::<$index>(case, input, output, care),)*
                    _ => {}
                }
            }

            $(#[target_feature(enable = $feature)])?
            /// Calls the loop for the source type with the index `FROM` and the destination type of a case.
            fn dispatch_source<const FROM: usize>(case: Case, input: &[u8], output: &mut [u8], care: &mut [u8]) {
                match case.to as usize {
                    $($index => convert_pair::<FROM, $index>(case, input, output, care),)*
                    _ => {}
                }
            }

            #[inline(never)]
            $(#[target_feature(enable = $feature)])?
            /// Converts all numbers from the type with the index `FROM` to the type with the index `TO`.
            fn convert_pair<const FROM: usize, const TO: usize>(
                case: Case,
                input: &[u8],
                output: &mut [u8],
                care: &mut [u8],
            ) {
                let (from, to) = (Type::ALL[FROM], Type::ALL[TO]);
                let modes = Modes::new(Case { from, to, ..case });
                if from.bytes() <= 4 && to.bytes() <= 4 {
                    narrow::convert_all_numbers(modes, input, output, care);
                } else {
                    wide::convert_all_numbers(modes, input, output, care);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pairs!(x86, [0 1 2 3 4 5 6 7 8 9 10], "avx2,bmi1,bmi2,lzcnt");
#[cfg(not(target_arch = "x86_64"))]
pairs!(pairs, [0 1 2 3 4 5 6 7 8 9 10]);

impl Modes {
    #[inline(always)]
    fn new(case: Case) -> Self {
        let rounding = match (case.rounding, case.to.is_integer()) {
            (Rounding::Default, true) => Rounding::Zero,
            (Rounding::Default, false) => Rounding::Nearest,
            (rounding, _) => rounding,
        };
        Self {
            from: case.from,
            to: case.to,
            saturates: case.saturates,
            nearest: rounding == Rounding::Nearest,
            away: [rounding == Rounding::Up, rounding == Rounding::Down],
            wraps: case.from.is_integer() && !case.saturates,
        }
    }
}

/// Reads a number's bits from little-endian bytes.
#[inline(always)]
fn read_bits(ty: Type, bytes: &[u8]) -> u64 {
    match (ty.bytes(), bytes) {
        (1, [a]) => u64::from(*a),
        (2, [a, b]) => u64::from(u16::from_le_bytes([*a, *b])),
        (4, [a, b, c, d]) => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        (8, [a, b, c, d, e, f, g, h]) => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => 0,
    }
}

/// Writes a number's bits as little-endian bytes.
#[inline(always)]
fn write_bits(ty: Type, to: &mut [u8], bits: u64) {
    match ty.bytes() {
        1 => to.copy_from_slice(&(bits as u8).to_le_bytes()),
        2 => to.copy_from_slice(&(bits as u16).to_le_bytes()),
        4 => to.copy_from_slice(&(bits as u32).to_le_bytes()),
        _ => to.copy_from_slice(&bits.to_le_bytes()),
    }
}

/// Generates a module that converts numbers in lanes of `$bits` bits. `$word` is the type of magnitudes, and `$signed` that of
/// exponents.
macro_rules! lanes {
    ($module:ident, $word:ident, $signed:ident, $bits:literal) => {
        mod $module {
            use super::*;

            /// A number, decomposed into sign, magnitude and exponent. The magnitude of an infinity or a NaN has no meaning.
            struct Number {
                negative: bool,
                magnitude: $word,
                exponent: $signed,
                infinite: bool,
                nan: bool,
            }

            /// Returns all ones if `flag` is true, else 0.
            #[inline(always)]
            fn mask(flag: bool) -> $word {
                (0 as $word).wrapping_sub(flag as $word)
            }

            /// Returns `one` if `flag` is true, else `other`, without a branch.
            #[inline(always)]
            fn select(flag: bool, one: $word, other: $word) -> $word {
                if flag { one } else { other }
            }

            /// Converts all numbers in `input` to `output`, one after the other, and writes a mask of the defined bits of each
            /// result to `care`, unless that is empty. After inlining, the types are constants here.
            #[inline(always)]
            pub(super) fn convert_all_numbers(
                modes: Modes,
                input: &[u8],
                output: &mut [u8],
                care: &mut [u8],
            ) {
                let Modes { from, to, .. } = modes;
                // No closure, because it would not be inlined into the loop, and would prevent vectorization.
                let numbers = input.chunks_exact(from.bytes());
                let outputs = output.chunks_exact_mut(to.bytes());
                if from.is_integer() || care.is_empty() {
                    for (number, output) in numbers.zip(outputs) {
                        let (bits, _) = convert(modes, read_bits(from, number) as $word);
                        write_bits(to, output, bits.into());
                    }
                } else {
                    for ((number, output), care) in
                        numbers.zip(outputs).zip(care.chunks_exact_mut(to.bytes()))
                    {
                        let (bits, counts) = convert(modes, read_bits(from, number) as $word);
                        write_bits(to, output, bits.into());
                        write_bits(to, care, counts.into());
                    }
                }
            }

            /// Converts the bits of a number; returns the bits of the result, and a mask of the defined bits.
            #[inline(always)]
            fn convert(modes: Modes, bits: $word) -> ($word, $word) {
                let number = decompose(modes.from, bits);
                match modes.to.kind() {
                    Kind::Integer { signed } => to_integer(number, signed, modes),
                    Kind::Float(format) => to_float(number, format, modes),
                }
            }

            /// Returns sign, magnitude and exponent of the number of the type `from` that has these bits.
            #[inline(always)]
            fn decompose(from: Type, bits: $word) -> Number {
                let (infinite, nan, size) = (false, false, from.bits());
                match from.kind() {
                    Kind::Integer { signed: false } => {
                        Number { negative: false, magnitude: bits, exponent: 0, infinite, nan }
                    }
                    Kind::Integer { signed: true } => {
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
                    Kind::Float(format) => {
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

            /// Returns the number to add to a magnitude before its last `shift` bits are cut off, so that the carry rounds it.
            /// `shift` is at least 1.
            #[inline(always)]
            fn rounding_bias(magnitude: $word, shift: $word, negative: bool, modes: Modes) -> $word {
                let half = (1 as $word) << (shift - 1);
                let odd = magnitude >> shift & 1;
                let away = (modes.away[0] & !negative) | (modes.away[1] & negative);
                ((half - 1 + odd) & mask(modes.nearest)) | ((half + (half - 1)) & mask(away))
            }

            /// Composes an integer; returns its bits, and a mask of the defined bits.
            #[inline(always)]
            fn to_integer(number: Number, signed: bool, modes: Modes) -> ($word, $word) {
                let Number { negative, magnitude, exponent, infinite, nan } = number;
                let all = modes.to.mask() as $word;
                let (most, least) = if signed { (all >> 1, (all >> 1) + 1) } else { (all, 0) };
                let limit = select(negative, least, most);
                let (rounded, too_long) = match modes.from.kind() {
                    Kind::Integer { .. } => (magnitude, false),
                    Kind::Float(format) => {
                        // A larger left shift does not fit, and a larger right shift leaves less than a half.
                        let spare = ($bits - format.precision) as $signed;
                        let down = (0 as $signed).wrapping_sub(exponent).clamp(1, $bits - 1) as $word;
                        let cut = (magnitude + rounding_bias(magnitude, down, negative, modes)) >> down;
                        let up = exponent.clamp(0, spare) as $word;
                        (select(exponent >= 0, magnitude << up, cut), exponent > spare)
                    }
                };
                let over = too_long | infinite | (rounded > limit);
                let out = over & !modes.wraps;
                let magnitude = select(out, limit, rounded);
                let bits = select(negative, magnitude.wrapping_neg(), magnitude) & all;
                let open = (out | nan) & !modes.saturates;
                (bits & !mask(open | nan), all & !mask(open))
            }

            /// Composes a floating-point number; returns its bits, and a mask of the defined bits.
            #[inline(always)]
            fn to_float(number: Number, format: Format, modes: Modes) -> ($word, $word) {
                let Number { negative, magnitude, exponent, infinite, nan } = number;
                let (stored, lowest) = (format.precision - 1, format.lowest as $signed);
                let all = modes.to.mask() as $word;
                let infinity = (all >> 1) & !((1 << stored) - 1);
                let zeros = magnitude.leading_zeros() as $word & ($bits - 1);
                // Two bits lower, a carry fits; bits that are cut off leave a one in the last bit.
                let top = magnitude << zeros;
                let top = top >> 2 | (top & 3 != 0) as $word;
                let leading = exponent + ($bits - 1) - zeros as $signed;
                let first = leading.max(lowest);
                let down = ($bits - 3 - stored as $signed + (first - leading)).min($bits - 1) as $word;
                let kept = (top + rounding_bias(top, down, negative, modes)) >> down;
                // The leading bit of a normal number adds one to its exponent, and so does a carry.
                let bits = (((first - lowest) as $word) << stored) + kept;
                let away = (modes.away[0] & !negative) | (modes.away[1] & negative);
                let beyond = infinity - (!modes.nearest & !away) as $word;
                let bits = select(bits >= infinity, beyond, bits) & mask(magnitude != 0);
                let bits = select(infinite, infinity, bits) | (negative as $word) << (modes.to.bits() - 1);
                let quiet = infinity | 1 << (stored - 1);
                (select(nan, quiet, bits), select(nan, quiet, all))
            }
        }
    };
}

lanes!(narrow, u32, i32, 32);
lanes!(wide, u64, i64, 64);
