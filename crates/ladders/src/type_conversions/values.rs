//! The numbers that a conformance test converts. Any part of them can be generated on its own, and is the same each time.
//!
//! All numbers of types with 8 and 16 bits are tested, and in a full test all numbers of types with 32 bits. Of other types a
//! selection is tested: special numbers, the edges of every destination type's range with their neighbours, the ties of every
//! narrower significand, and then random numbers.

use serde::{Deserialize, Serialize};

use super::types::{Format, Kind, Type};

/// The number of which the count of generated numbers is a multiple, after padding. All vector widths divide it.
pub(crate) const COUNT_MULTIPLE: usize = 48;
/// The count of random numbers in a quick test.
const QUICK_RANDOM_NUMBERS: u64 = 1 << 20;
/// The count of random 64-bit numbers in a full test.
const FULL_RANDOM_NUMBERS: u64 = 1 << 28;

/// The thoroughness of a conformance test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Depth {
    /// A quick test: 2^20 random numbers of each type with 32 or 64 bits.
    Quick,
    /// A full test: all numbers with 32 bits, and 2^28 random ones with 64 bits.
    Full,
}

impl Depth {
    /// Returns the name of this thoroughness in saved results: "quick" or "full".
    pub fn name(self) -> &'static str {
        ["quick", "full"][self as usize]
    }
}

/// The numbers of one source type that are tested.
#[derive(Debug, Clone)]
pub struct Values {
    from: Type,
    seed: u64,
    /// The numbers that are tested before the random ones; empty if all numbers of the type are tested.
    special: Vec<u64>,
    /// The count of numbers that are tested.
    pub count: u64,
    /// True if these are all numbers of the type.
    pub is_exhaustive: bool,
}

impl Values {
    /// Selects the numbers of the type `from` that are tested. `seed` is the seed of the random numbers.
    pub fn new(from: Type, depth: Depth, seed: u32) -> Self {
        let bits = from.bits();
        let is_exhaustive = bits <= 16 || bits == 32 && depth == Depth::Full;
        let special = if is_exhaustive { Vec::new() } else { special_numbers(from) };
        let count = match (is_exhaustive, depth) {
            (true, _) => 1 << bits,
            (false, Depth::Quick) => special.len() as u64 + QUICK_RANDOM_NUMBERS,
            (false, Depth::Full) => special.len() as u64 + FULL_RANDOM_NUMBERS,
        };
        Self { from, seed: u64::from(seed), special, count, is_exhaustive }
    }

    /// Returns the bits of the number at `index`. Beyond the last number the series repeats.
    pub fn at(&self, index: u64) -> u64 {
        let index = index % self.count;
        if self.is_exhaustive {
            return index;
        }
        let special = self.special.len() as u64;
        match usize::try_from(index).ok().and_then(|at| self.special.get(at)) {
            Some(bits) => *bits,
            None => self.random(index - special),
        }
    }

    /// Writes `count` numbers from index `first` on into `into`, padded with further numbers to a multiple of
    /// [`COUNT_MULTIPLE`].
    pub(crate) fn fill(&self, first: u64, count: usize, into: &mut Vec<u8>) {
        let padded = count.next_multiple_of(COUNT_MULTIPLE) as u64;
        into.clear();
        let bytes = self.from.bytes();
        // Consecutive numbers need no division each.
        let is_index = self.is_exhaustive && first + padded <= self.count;
        for index in first..first + padded {
            let bits = if is_index { index } else { self.at(index) };
            into.extend_from_slice(&bits.to_le_bytes()[..bytes]);
        }
    }

    /// Returns the random number with the index `number`. Every second one has a magnitude that fits into some destination
    /// type.
    fn random(&self, number: u64) -> u64 {
        let drawn = splitmix64(self.seed << 32 ^ number);
        if number & 1 == 0 {
            return drawn & self.from.mask();
        }
        let more = splitmix64(!drawn);
        match self.from.kind() {
            Kind::Integer { signed } => {
                let kept = drawn & self.from.mask();
                let shift = (more >> 8) % u64::from(self.from.bits());
                let small = kept >> shift;
                let negative = signed && more & 1 == 1;
                if negative { small.wrapping_neg() & self.from.mask() } else { small }
            }
            Kind::Float(format) => {
                let stored = format.precision - 1;
                let fraction = drawn & ((1 << stored) - 1);
                // Exponents from a quarter to beyond all integers.
                let exponent = (1 - format.lowest) as u64 - 2 + (more >> 8) % 69;
                let highest = (self.from.mask() >> 1) >> stored;
                (more & 1) << (self.from.bits() - 1) | exponent.min(highest) << stored | fraction
            }
        }
    }
}

/// Returns a pseudo-random number: the one at `index` in the series of the SplitMix64 generator (G. L. Steele, D. Lea, C. H.
/// Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
fn splitmix64(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns zeros, the smallest and largest numbers, infinities, NaN, and the edges of every destination's range with their
/// neighbours.
fn special_numbers(from: Type) -> Vec<u64> {
    let mask = from.mask();
    let mut all = vec![0, mask, mask >> 1, (mask >> 1) + 1];
    match from.kind() {
        Kind::Integer { .. } => {
            for power in 0..from.bits() {
                let edge = 1_u64 << power;
                for beside in -2_i64..=2 {
                    let bits = edge.wrapping_add_signed(beside);
                    all.extend([bits, bits.wrapping_neg()]);
                }
                // Ties of numbers that do not fit into a significand: the first two of this size, and the last number that fits
                // between two ties. For `half` that is the largest number, and the tie above it is too large for it.
                for precision in [11, 24, 53] {
                    if power >= precision {
                        let (tie, next) = (1_u64 << (power - precision), edge << 1);
                        let odd = [edge | tie, edge | tie << 1 | tie];
                        let last = [3, 2, 1].map(|ties| next.wrapping_sub(ties * tie));
                        for number in odd.into_iter().chain(last) {
                            let near = [-2_i64, -1, 0, 1, 2].map(|beside| number.wrapping_add_signed(beside));
                            all.extend(near.iter().flat_map(|bits| [*bits, bits.wrapping_neg()]));
                        }
                    }
                }
            }
        }
        Kind::Float(format) => {
            let stored = format.precision - 1;
            let infinity = ((mask >> 1) >> stored) << stored;
            let top = (mask >> 1) + 1;
            let mut positive = vec![1, 2, 3, infinity, infinity + 1, infinity | 1 << (stored - 1)];
            // Every power of two, halves below and between the small whole numbers, and ties of narrower significands.
            for exponent in 0..=infinity >> stored {
                let power = exponent << stored;
                let near = [0_i64, 1, -1, 2, -2];
                positive.extend(near.map(|beside| power.wrapping_add_signed(beside) & (mask >> 1)));
                for precision in [8, 10, 11, 16, 23, 24, 32] {
                    if precision < stored {
                        let tie = 1 << (stored - precision);
                        positive.extend([power + tie - 1, power + tie, power + tie + 1, power + 3 * tie]);
                    }
                }
                positive.extend([power | 1 << (stored - 1), power | 3 << (stored - 2)]);
            }
            for to in [Type::Half, Type::Float] {
                positive.extend(rounding_edges(from, format, to));
            }
            // Numbers just inside and outside the ranges of integers, and halves there.
            for power in [7, 8, 15, 16, 31, 32, 63, 64] {
                for halves in -6_i64..=6 {
                    let number = 2_f64.powi(power) + halves as f64 / 2.0;
                    positive.push(bits_of(from, number) & (mask >> 1));
                }
            }
            for halves in 0..1200 {
                positive.push(bits_of(from, f64::from(halves) / 2.0));
            }
            all.extend(positive.iter().flat_map(|&bits| [bits, bits | top]));
        }
    }
    all.iter_mut().for_each(|bits| *bits &= mask);
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns positive numbers of a floating-point type, as bits, around which a conversion to the narrower type `to` rounds in
/// different directions. A tie is a number in the middle between two neighbouring numbers of `to`. For each power of two in the
/// range of `to` there are the power itself, the first tie above it, and the last ties and numbers of `to` below the next
/// power, each with two neighbours on either side. These include the largest number of `to` and the tie above it, which rounds
/// to infinity, its smallest normal and its smallest subnormal number, and half of the latter. Empty if `to` is not narrower.
fn rounding_edges(from: Type, format: Format, to: Type) -> Vec<u64> {
    let Kind::Float(narrow) = to.kind() else { return Vec::new() };
    if to.bits() >= from.bits() {
        return Vec::new();
    }
    let stored = format.precision - 1;
    let lowest = narrow.lowest - narrow.precision as i32;
    let of_power = |exponent: i32| {
        let power = ((exponent - format.lowest + 1) as u64) << stored;
        // Half the distance between two neighbouring numbers of `to`; its subnormal numbers have the same distance everywhere.
        let tie = 1_u64 << (stored - narrow.precision + (narrow.lowest - exponent).max(0) as u32);
        let next = power + (1 << stored);
        let last = [3, 2, 1].map(|ties| next - (ties * tie).min(1 << stored));
        [power, power + tie].into_iter().chain(last)
    };
    // The largest exponent is that of the smallest normal number with the other sign, and 1 more.
    let ends = (lowest..=1 - narrow.lowest).flat_map(of_power);
    ends.flat_map(|bits| [-2_i64, -1, 0, 1, 2].map(|beside| bits.wrapping_add_signed(beside))).collect()
}

/// Returns the bits of a number in `float` or `double`. For `float` the number is rounded.
fn bits_of(ty: Type, number: f64) -> u64 {
    if ty == Type::Float { u64::from((number as f32).to_bits()) } else { number.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_depend_on_the_division_into_parts() {
        let values = Values::new(Type::Float, Depth::Quick, 7);
        let (mut all, mut part) = (Vec::new(), Vec::new());
        values.fill(0, 96_000, &mut all);
        values.fill(48_000, 48_000, &mut part);
        assert_eq!(all[48_000 * 4..], part[..]);
        assert_ne!(values.at(90_000), Values::new(Type::Float, Depth::Quick, 8).at(90_000));
    }

    #[test]
    fn small_types_are_tested_with_all_values_and_others_with_special_ones() {
        let all: Vec<u64> = (0..1 << 16).collect();
        let half = Values::new(Type::Half, Depth::Quick, 1);
        assert_eq!((0..half.count).map(|i| half.at(i)).collect::<Vec<_>>(), all);
        assert!(half.is_exhaustive && !Values::new(Type::Double, Depth::Full, 1).is_exhaustive);
        assert_eq!(Values::new(Type::UInt, Depth::Full, 1).count, 1 << 32);
        let numbers =
            [0.5_f32, 127.5, 128.0, 255.5, -0.5, -128.5, 4_294_967_296.0, f32::MIN_POSITIVE, f32::MAX];
        has_all(Type::Float, numbers.into_iter().map(|number| number.to_bits().into()));
        let bits = [0, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 1, 0x8000_0001];
        has_all(Type::Float, bits.into_iter());
        let longs = [i64::MIN, i64::MAX, -1, 127, 128, -129, 1 << 53, (1 << 53) + 1];
        has_all(Type::Long, longs.into_iter().map(|number| number as u64));
    }

    /// Asserts that numbers, given by their bits, are among the special ones.
    fn has_all(from: Type, numbers: impl Iterator<Item = u64>) {
        let all = special_numbers(from);
        for bits in numbers.map(|bits| bits & from.mask()) {
            assert!(all.binary_search(&bits).is_ok(), "{}: {bits:x}", from.name());
        }
    }

    /// Asserts that a number with two neighbours on each side is among the special ones, with both signs.
    fn has_near(from: Type, number: f64) {
        let (at, sign) = (bits_of(from, number), (from.mask() >> 1) + 1);
        has_all(from, (at - 2..=at + 2).flat_map(|bits| [bits, bits | sign]));
    }

    #[test]
    fn the_limits_of_narrower_float_types_and_their_neighbours_are_included() {
        let two = |power: i32| 2_f64.powi(power);
        // The largest, the tie to infinity, the tie below the largest; the smallest normal and the largest that is not, and
        // the tie between both; the smallest of all, half of it, and half as much again.
        let (normal, least) = (two(-14), two(-24));
        let [small, tie, half, more] = [normal - least, normal - least / 2.0, least / 2.0, 1.5 * least];
        let of_half = [65504.0, 65520.0, 65488.0, normal, small, tie, least, half, more];
        let (largest, normal, least) = (f64::from(f32::MAX), two(-126), two(-149));
        let [small, tie, half, more] = [normal - least, normal - least / 2.0, least / 2.0, 1.5 * least];
        let of_float =
            [largest, largest + two(103), largest - two(103), normal, small, tie, least, half, more];
        for (from, numbers) in [(Type::Float, of_half), (Type::Double, of_half), (Type::Double, of_float)] {
            numbers.into_iter().for_each(|number| has_near(from, number));
        }
        let bits = |number: f64| bits_of(Type::Double, number);
        assert_eq!([bits(largest), bits(largest + two(103))], [0x47ef_ffff_e000_0000, 0x47ef_ffff_f000_0000]);
        // No type is narrower than that.
        assert!(rounding_edges(Type::Float, Format { precision: 24, lowest: -126 }, Type::Float).is_empty());
    }

    #[test]
    fn the_largest_exact_integers_and_the_ties_beside_them_are_included() {
        let near = |number: i128| (number - 2..=number + 2).map(|beside| beside as u64);
        for from in [Type::Int, Type::UInt, Type::Long, Type::ULong] {
            let has_sign = matches!(from.kind(), Kind::Integer { signed: true });
            let bits = from.bits() - u32::from(has_sign);
            let top = 1_i128 << bits;
            // To half: the largest, the ties beside it. To float, and to double: the last of all that have room, and the tie.
            let mut numbers = vec![65504, 65520, 65488, top - (1 << (bits - 24)), top - (1 << (bits - 25))];
            if bits > 54 {
                numbers.extend([top - (1 << (bits - 53)), top - (1 << (bits - 54))]);
            }
            let negative = numbers.iter().filter(|_| has_sign).map(|number| -number).collect::<Vec<_>>();
            has_all(from, numbers.into_iter().chain(negative).flat_map(near));
        }
    }
}
