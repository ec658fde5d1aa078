//! The reference against an independent table, against Rust's conversions, and its bulk version against the single one.

use ladders::type_conversions::bulk::convert_all;
use ladders::type_conversions::reference::{accepts, convert, has_undefined_bits};
use ladders::type_conversions::types::{Case, Rounding, Type};
use ladders::type_conversions::values::{Depth, Values};

/// `table.py` computes its results with fractions and by search.
#[test]
fn the_reference_equals_an_independent_table() {
    let table = include_str!("table.txt");
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let (mut inputs, mut cases, mut numbers) = (Vec::new(), Vec::new(), 0);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(' ').unwrap();
        if name == "inputs" {
            inputs = rest.split(' ').skip(1).map(hex).collect();
            continue;
        }
        let case = Case::named(name).unwrap_or_else(|| panic!("{name}"));
        let wanted: Vec<&str> = rest.split(' ').collect();
        assert_eq!(wanted.len(), inputs.len(), "{name}");
        for (&input, wanted) in inputs.iter().zip(wanted) {
            let got = convert(case, input);
            match wanted {
                "-" => assert_eq!(got.care, 0, "{name} of {input:x} is open"),
                "n" => assert!(is_nan(case.to, got.bits), "{name} of {input:x} gives {:x}", got.bits),
                bits => assert_eq!((got.bits, got.care), (hex(bits), case.to.mask()), "{name} of {input:x}"),
            }
            assert!(has_undefined_bits(case) || got.care == case.to.mask(), "{name}");
            numbers += 1;
        }
        cases.push(case);
    }
    cases.sort_unstable();
    let mut all = Case::all(&Type::ALL);
    all.sort_unstable();
    assert_eq!(cases, all);
    assert!(numbers > 30_000, "{numbers}");
}

fn is_nan(of: Type, bits: u64) -> bool {
    match of {
        Type::Half => bits & 0x7fff > 0x7c00,
        Type::Float => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

/// Conversions that Rust has too: more numbers than the table.
#[test]
fn the_reference_equals_conversions_in_rust() {
    let mut state = 1_u64;
    let case = |to, saturates, rounding, from| Case { from, to, saturates, rounding };
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (state ^ (state >> 31)) >> (state >> 60);
        let (single, double) = (f32::from_bits(bits as u32), f64::from_bits(bits));
        let of = |case: Case, bits: u64| convert(case, bits & case.from.mask()).bits;
        // `as` truncates and saturates; from floats to narrower floats it rounds to nearest.
        let saturated = |to, from| of(case(to, true, Rounding::Default, from), bits);
        assert_eq!(saturated(Type::Int, Type::Float), u64::from(single as i32 as u32));
        assert_eq!(saturated(Type::UChar, Type::Float), u64::from(single as u8));
        assert_eq!(saturated(Type::Long, Type::Double), double as i64 as u64);
        assert_eq!(saturated(Type::ULong, Type::Double), double as u64);
        let nearest = |to, from| of(case(to, false, Rounding::Nearest, from), bits);
        assert_eq!(nearest(Type::Float, Type::ULong), u64::from((bits as f32).to_bits()));
        assert_eq!(nearest(Type::Double, Type::Long), (bits as i64 as f64).to_bits());
        if !double.is_nan() {
            assert_eq!(nearest(Type::Float, Type::Double), u64::from((double as f32).to_bits()));
        }
        if !single.is_nan() {
            assert_eq!(nearest(Type::Double, Type::Float), f64::from(single).to_bits());
        }
        let wrapped = of(case(Type::Short, false, Rounding::Up, Type::ULong), bits);
        assert_eq!(wrapped, u64::from(bits as u16));
    }
    let nearest = |to, from, bits: u64| convert(case(to, false, Rounding::Nearest, from), bits).bits;
    for bits in edges(Type::Double).1.filter(|bits| !f64::from_bits(*bits).is_nan()) {
        let single = (f64::from_bits(bits) as f32).to_bits();
        assert_eq!(nearest(Type::Float, Type::Double, bits), u64::from(single), "{bits:x}");
    }
    for bits in edges(Type::Long).1 {
        let single = (bits as i64 as f32).to_bits();
        assert_eq!(nearest(Type::Float, Type::Long, bits), u64::from(single), "{bits:x}");
    }
}

/// Returns the numbers of a quick test, and those of them that are not random: all of a small type, or edges.
fn edges(of: Type) -> (Values, impl Iterator<Item = u64>) {
    let values = Values::new(of, Depth::Quick, 3);
    // The edges come first, then random numbers.
    let special = values.count - if values.is_exhaustive { 0 } else { 1 << 20 };
    let all = values.clone();
    (values, (0..special).map(move |i| all.at(i)))
}

/// The bulk conversion, which is another algorithm, equals the single one: for edges of all ranges, and for random bits.
#[test]
fn the_bulk_reference_equals_the_single_one() {
    const COUNT: u64 = 3000;
    for case in Case::all(&Type::ALL) {
        let (values, edges) = edges(case.from);
        let numbers: Vec<u64> = (0..COUNT)
            .map(|i| match i % 2 {
                0 => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64) & case.from.mask(),
                _ => values.at(i * values.count / COUNT),
            })
            .chain(edges)
            .collect();
        let packed = |numbers: &[u64], bytes: usize| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()[..bytes].to_vec()).collect()
        };
        let (bits, care): (Vec<u64>, Vec<u64>) =
            numbers.iter().map(|&number| convert(case, number)).map(|w| (w.bits, w.care)).unzip();
        let size = case.to.bytes();
        let room = size * numbers.len();
        let (mut got, mut open) = (vec![1; room], vec![1; if has_undefined_bits(case) { room } else { 0 }]);
        convert_all(case, &packed(&numbers, case.from.bytes()), &mut got, &mut open);
        assert!(got == packed(&bits, size), "{case}");
        assert!(!has_undefined_bits(case) || open == packed(&care, size), "{case}");
    }
}

#[test]
fn only_results_that_the_specification_allows_are_accepted() {
    let (never, always) = (|_: Type| false, |_: Type| true);
    let case = |name: &str| Case::named(name).unwrap();
    let float = |number: f32| u64::from(number.to_bits());
    // Undefined results: out of range and NaN without saturation.
    assert!(accepts(case("uchar_float"), float(256.0), 77, never));
    assert!(accepts(case("uchar_float"), float(f32::NAN), 77, never));
    assert!(!accepts(case("uchar_float"), float(255.9), 77, never));
    assert!(!accepts(case("uchar_sat_float"), float(f32::NAN), 255, never));
    assert!(!accepts(case("uchar_sat_float"), float(256.0), 254, never));
    // Any NaN, and nothing but a NaN.
    assert!(accepts(case("double_float"), float(f32::NAN), 0xfff0_0000_0000_0001, never));
    assert!(!accepts(case("double_float"), float(f32::NAN), 0x7ff0_0000_0000_0000, never));
    assert!(!accepts(case("double_float"), float(f32::NAN), 0, never));
    // Zero instead of subnormal numbers, if the device flushes them: before and after the conversion.
    let tiny = 1e-40_f64.to_bits();
    assert!(accepts(case("float_double"), tiny, 0x8000_0000, always));
    assert!(!accepts(case("float_double"), tiny, 0, never));
    assert!(accepts(case("int_rtp_float"), 1, 0, always) && accepts(case("int_rtp_float"), 1, 1, always));
    assert!(!accepts(case("int_rtp_float"), 1, 0, never) && !accepts(case("int_rtp_float"), 1, 2, always));
}
