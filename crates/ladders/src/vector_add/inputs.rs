//! Input arrays for vector addition.

use base::random::mix;

/// The names of the kinds of input; the first one is timed.
pub(super) const INPUT_NAMES: &[&str] = &["noise", "counting", "cancelling", "huge"];

/// Fills both arrays with numbers of the kind `name`, the same numbers each time.
pub(super) fn fill(name: &str, a: &mut [f32], b: &mut [f32]) {
    for (i, (a, b)) in a.iter_mut().zip(b).enumerate() {
        let i = i as u32;
        (*a, *b) = match name {
            // Each number identifies its index.
            "counting" => ((i % 8_388_608) as f32, 0.25),
            // The sums are 0, or a rounding error.
            "cancelling" => (noise(i), -noise(i ^ (i % 2))),
            // The sums exceed the range of a float.
            "huge" => (noise(i) * 3.0e35, noise(i ^ 1) * 3.0e35),
            _ => (noise(i), noise(i.wrapping_add(0x9e37_79b9))),
        };
    }
}

/// Returns a float between 1 and 1024 of either sign, with all bits of its fraction in use.
fn noise(i: u32) -> f32 {
    let bits = mix(i);
    let exponent = 127 + (bits >> 27) % 10;
    f32::from_bits(bits & 0x8000_0000 | exponent << 23 | bits & 0x007f_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_zero_normal_or_infinite() {
        for name in INPUT_NAMES {
            let (mut a, mut b) = (vec![0.0; 100_000], vec![0.0; 100_000]);
            fill(name, &mut a, &mut b);
            assert!(a.iter().chain(&b).all(|n| n.is_normal() || *n == 0.0), "{name}");
            let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            assert!(sums.iter().all(|n| !n.is_subnormal() && !n.is_nan()), "{name}");
            assert_eq!(sums.iter().any(|n| n.is_infinite()), *name == "huge", "{name}");
            assert_eq!(sums.iter().filter(|n| **n == 0.0).count() > 1000, *name == "cancelling", "{name}");
        }
    }
}
