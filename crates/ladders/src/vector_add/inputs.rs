//! Numbers to add. In: a kind of input and a length. Out: two arrays of floats in which a fault shows.

/// Names of the kinds; the first is the one that is timed.
pub(super) const NAMES: &[&str] = &["noise", "counting", "cancelling", "huge"];

/// Fills both arrays, the same each time.
pub(super) fn fill(name: &str, a: &mut [f32], b: &mut [f32]) {
    for (i, (a, b)) in a.iter_mut().zip(b).enumerate() {
        let i = i as u32;
        (*a, *b) = match name {
            // Each number says where it stands.
            "counting" => ((i % 8_388_608) as f32, 0.25),
            // The sums are 0, or what rounding leaves.
            "cancelling" => (noise(i), -noise(i ^ (i % 2))),
            // The sums pass what a float can hold.
            "huge" => (noise(i) * 3.0e35, noise(i ^ 1) * 3.0e35),
            _ => (noise(i), noise(i.wrapping_add(0x9e37_79b9))),
        };
    }
}

/// A float between 1 and 1024, of either sign, with all bits of its fraction in use: by a mix of the bits of `i`
/// (Murmur3's last step: A. Appleby, 2011).
fn noise(i: u32) -> f32 {
    let mut bits = i.wrapping_add(1);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
        bits = (bits ^ bits >> shift).wrapping_mul(factor);
    }
    bits ^= bits >> 16;
    let exponent = 127 + (bits >> 27) % 10;
    f32::from_bits(bits & 0x8000_0000 | exponent << 23 | bits & 0x007f_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_zero_normal_or_infinite() {
        for name in NAMES {
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
