//! The numbers that are converted. In: a source type, how thorough, and a seed. Out: any part of them, as packed bytes: the
//! same numbers each time, whichever parts are asked for.
//!
//! Numbers of 8 and 16 bits are all of them; of 32 bits all, or as those of 64 bits: special ones, the edges of every
//! destination's range with their neighbours, the ties of every narrower significand, and after them random ones.

use serde::{Deserialize, Serialize};

use super::types::{Format, Kind, Type};

/// Numbers are padded to a multiple of this: all widths of vectors divide it.
pub(crate) const MULTIPLE: usize = 48;
/// Random numbers of a quick test.
const QUICK: u64 = 1 << 20;
/// Random numbers of 64 bits of a full test.
const FULL: u64 = 1 << 28;

/// How thorough a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Depth {
    /// 2^20 random numbers of each type of 32 and 64 bits.
    Quick,
    /// All of 32 bits, 2^28 random ones of 64 bits.
    Full,
}

impl Depth {
    /// The word for it in files.
    pub fn name(self) -> &'static str {
        match self {
            Depth::Quick => "quick",
            Depth::Full => "full",
        }
    }
}

/// The numbers of one source.
#[derive(Debug, Clone)]
pub struct Values {
    from: Type,
    seed: u64,
    /// What comes before the random ones; empty where all are tried.
    special: Vec<u64>,
    /// How many there are.
    count: u64,
    is_exhaustive: bool,
}

impl Values {
    /// Those of a type.
    pub fn new(from: Type, depth: Depth, seed: u32) -> Self {
        let bits = from.bits();
        let is_exhaustive = bits <= 16 || bits == 32 && depth == Depth::Full;
        let special = if is_exhaustive { Vec::new() } else { special(from) };
        let count = match (is_exhaustive, depth) {
            (true, _) => 1 << bits,
            (false, Depth::Quick) => special.len() as u64 + QUICK,
            (false, Depth::Full) => special.len() as u64 + FULL,
        };
        Self { from, seed: u64::from(seed), special, count, is_exhaustive }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether they are all that the type has.
    pub fn is_exhaustive(&self) -> bool {
        self.is_exhaustive
    }

    /// Bits of the number at `index`; after the last one the first ones come again.
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

    /// Those from `first` on, `count` of them and as many more as it takes to a multiple of [`MULTIPLE`].
    pub(crate) fn fill(&self, first: u64, count: usize, into: &mut Vec<u8>) {
        let padded = count.next_multiple_of(MULTIPLE) as u64;
        into.clear();
        let bytes = self.from.bytes();
        if self.is_exhaustive && first + padded <= self.count {
            // Numbers in order: no division for each.
            for bits in first..first + padded {
                into.extend_from_slice(&bits.to_le_bytes()[..bytes]);
            }
            return;
        }
        for index in first..first + padded {
            into.extend_from_slice(&self.at(index).to_le_bytes()[..bytes]);
        }
    }

    /// Every second one is of the sizes that have room in some destination.
    fn random(&self, number: u64) -> u64 {
        let drawn = mixed(self.seed << 32 ^ number);
        if number & 1 == 0 {
            return drawn & self.from.mask();
        }
        let more = mixed(!drawn);
        match self.from.kind() {
            Kind::Whole { signed } => {
                let kept = drawn & self.from.mask();
                let shift = (more >> 8) % u64::from(self.from.bits());
                let small = kept >> shift;
                let negative = signed && more & 1 == 1;
                if negative { small.wrapping_neg() & self.from.mask() } else { small }
            }
            Kind::Binary(format) => {
                let stored = format.precision - 1;
                let fraction = drawn & ((1 << stored) - 1);
                // From a quarter to beyond all whole numbers.
                let exponent = (1 - format.lowest) as u64 - 2 + (more >> 8) % 69;
                let highest = (self.from.mask() >> 1) >> stored;
                (more & 1) << (self.from.bits() - 1) | exponent.min(highest) << stored | fraction
            }
        }
    }
}

/// The SplitMix64 generator, at any index of its series (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom
/// Number Generators", 2014).
fn mixed(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Zeros, the smallest and largest numbers, infinities, NaN, and the edges of every destination with what lies beside them.
fn special(from: Type) -> Vec<u64> {
    let mask = from.mask();
    let mut all = vec![0, mask, mask >> 1, (mask >> 1) + 1];
    match from.kind() {
        Kind::Whole { .. } => {
            for power in 0..from.bits() {
                let edge = 1_u64 << power;
                for beside in -2_i64..=2 {
                    let bits = edge.wrapping_add_signed(beside);
                    all.extend([bits, bits.wrapping_neg()]);
                }
                // Ties of numbers that have no room in a significand: the first two of this size, and the last number that has
                // room between two ties. Of `half` that is the largest one, and the tie behind it is too large for it.
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
        Kind::Binary(format) => {
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
                positive.extend(edges_in(from, format, to));
            }
            // What lies just inside and outside the ranges of whole numbers, and halves there.
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

/// Positive numbers of a binary type, as bits, where a narrower binary type `to` rounds: for each power of two from half its
/// smallest number to its largest ones the first number of this size, the tie behind it, and the last number that has room
/// between two ties, each with two neighbours. Among them are the largest number, the tie from which it is infinity, the
/// smallest normal one, the smallest of all, and half of it. None where `to` is not narrower.
fn edges_in(from: Type, format: Format, to: Type) -> Vec<u64> {
    let Kind::Binary(narrow) = to.kind() else { return Vec::new() };
    if to.bits() >= from.bits() {
        return Vec::new();
    }
    let stored = format.precision - 1;
    let lowest = narrow.lowest - narrow.precision as i32;
    let of_power = |exponent: i32| {
        let power = ((exponent - format.lowest + 1) as u64) << stored;
        // Half of what lies between two numbers of `to`; below its normal ones they have the same distance everywhere.
        let tie = 1_u64 << (stored - narrow.precision + (narrow.lowest - exponent).max(0) as u32);
        let next = power + (1 << stored);
        let last = [3, 2, 1].map(|ties| next - (ties * tie).min(1 << stored));
        [power, power + tie].into_iter().chain(last)
    };
    // The largest exponent is that of the smallest normal number with the other sign, and 1 more.
    let ends = (lowest..=1 - narrow.lowest).flat_map(of_power);
    ends.flat_map(|bits| [-2_i64, -1, 0, 1, 2].map(|beside| bits.wrapping_add_signed(beside))).collect()
}

/// A number's bits in a format of 32 or 64 bits; what has no room there may become a neighbour.
fn bits_of(of: Type, number: f64) -> u64 {
    if of == Type::Float { u64::from((number as f32).to_bits()) } else { number.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_has_the_same_numbers() {
        let values = Values::new(Type::Float, Depth::Quick, 7);
        let (mut all, mut part) = (Vec::new(), Vec::new());
        values.fill(0, 96_000, &mut all);
        values.fill(48_000, 48_000, &mut part);
        assert_eq!(all[48_000 * 4..], part[..]);
        assert_ne!(values.at(90_000), Values::new(Type::Float, Depth::Quick, 8).at(90_000));
    }

    #[test]
    fn small_types_have_all_their_numbers_and_others_their_edges() {
        let all: Vec<u64> = (0..1 << 16).collect();
        let half = Values::new(Type::Half, Depth::Quick, 1);
        assert_eq!((0..half.count()).map(|i| half.at(i)).collect::<Vec<_>>(), all);
        assert!(half.is_exhaustive() && !Values::new(Type::Double, Depth::Full, 1).is_exhaustive());
        assert_eq!(Values::new(Type::UInt, Depth::Full, 1).count(), 1 << 32);
        let floats = special(Type::Float);
        for number in
            [0.5_f32, 127.5, 128.0, 255.5, -0.5, -128.5, 4_294_967_296.0, f32::MIN_POSITIVE, f32::MAX]
        {
            assert!(floats.contains(&u64::from(number.to_bits())), "{number}");
        }
        for bits in [0, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 1, 0x8000_0001] {
            assert!(floats.contains(&bits), "{bits:x}");
        }
        let longs = special(Type::Long);
        for number in [i64::MIN, i64::MAX, -1, 127, 128, -129, 1 << 53, (1 << 53) + 1] {
            assert!(longs.contains(&(number as u64)), "{number}");
        }
    }

    /// A number in a binary type, with two neighbours at each side, of both signs.
    fn has_near(from: Type, number: f64) {
        let (all, at) = (special(from), bits_of(from, number));
        for bits in at - 2..=at + 2 {
            for sign in [0, (from.mask() >> 1) + 1] {
                assert!(all.binary_search(&(bits | sign)).is_ok(), "{} of {number:e}: {bits:x}", from.name());
            }
        }
    }

    #[test]
    fn the_edges_of_narrower_binary_types_are_there_with_their_neighbours() {
        let two = |power: i32| 2_f64.powi(power);
        // The largest, the tie to infinity, the tie below the largest; the smallest normal and the largest that is not, and
        // the tie between both; the smallest of all, half of it, and half as much again.
        let half = [65504.0, 65520.0, 65488.0, two(-14), two(-14) - two(-24), two(-14) - two(-25), two(-24)]
            .into_iter()
            .chain([two(-25), 1.5 * two(-24)]);
        for number in half {
            has_near(Type::Float, number);
            has_near(Type::Double, number);
        }
        let largest = f64::from(f32::MAX);
        for number in [largest, largest + two(103), largest - two(103), two(-126), two(-126) - two(-149)]
            .into_iter()
            .chain([two(-126) - two(-150), two(-149), two(-150), 1.5 * two(-149)])
        {
            has_near(Type::Double, number);
        }
        let bits = |number: f64| bits_of(Type::Double, number);
        assert_eq!([bits(largest), bits(largest + two(103))], [0x47ef_ffff_e000_0000, 0x47ef_ffff_f000_0000]);
        // Nothing is narrower than that.
        assert!(edges_in(Type::Float, Format { precision: 24, lowest: -126 }, Type::Float).is_empty());
    }

    #[test]
    fn the_largest_whole_numbers_with_room_and_their_ties_are_there() {
        let near = |from: Type, number: i128| {
            let all = special(from);
            for beside in number - 2..=number + 2 {
                let bits = beside as u64 & from.mask();
                assert!(all.binary_search(&bits).is_ok(), "{} {beside}", from.name());
            }
        };
        for from in [Type::Int, Type::UInt, Type::Long, Type::ULong] {
            let has_sign = matches!(from.kind(), Kind::Whole { signed: true });
            let bits = from.bits() - u32::from(has_sign);
            let top = 1_i128 << bits;
            // To half: the largest, the ties beside it. To float, and to double: the last of all that have room, and the tie.
            let mut numbers = vec![65504, 65520, 65488, top - (1 << (bits - 24)), top - (1 << (bits - 25))];
            if bits > 54 {
                numbers.extend([top - (1 << (bits - 53)), top - (1 << (bits - 54))]);
            }
            for number in numbers {
                near(from, number);
                if has_sign {
                    near(from, -number);
                }
            }
        }
    }
}
