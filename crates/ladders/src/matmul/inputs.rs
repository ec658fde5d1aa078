//! Input matrices for matrix multiplication.

use super::shape::Shape;
use base::random::mix;

/// The names of the kinds of input; the first one is timed.
pub(super) const INPUT_NAMES: &[&str] = &["noise", "whole", "zeros", "huge", "special"];

/// Returns true if the order of additions does not matter for this kind of input: all products and sums are integers that a float
/// can hold.
pub(super) fn is_exact(name: &str) -> bool {
    matches!(name, "whole" | "zeros")
}

/// Fills both matrices with numbers of the kind `name`, the same numbers each time.
pub(super) fn fill(name: &str, shape: &Shape, a: &mut [f32], b: &mut [f32]) {
    let (k, n) = (shape.k.max(1) as usize, shape.n.max(1) as usize);
    for (matrix, numbers, width) in [(0, a, k), (1, b, n)] {
        for (at, number) in numbers.iter_mut().enumerate() {
            let bits = mix(2 * at as u32 + matrix);
            *number = match name {
                // From -8 to 8: sums of up to 260,000 products stay below 2²⁴.
                "whole" => (bits % 17) as f32 - 8.0,
                "zeros" => [0.0, -0.0, -0.0, 1.0][(bits % 4) as usize],
                // Sums come near the largest float.
                "huge" => noise(bits) * 2.0_f32.powi(58),
                "special" => special(bits, matrix == 0, [at / width, at % width], k),
                _ => noise(bits),
            };
        }
    }
}

/// Returns a number of the input `special`: noise, except that some rows of the left matrix and some columns of the right one have
/// one infinity or NaN each, or are all zeros. In odd rows and columns the infinity or NaN is the first element, so that a read
/// beyond the end of the preceding row finds it.
fn special(bits: u32, is_left: bool, [row, column]: [usize; 2], k: usize) -> f32 {
    let (line, across) = if is_left { (row, column) } else { (column, row) };
    let here = across == if line % 2 == 1 { 0 } else { (7 * line + 3) % k };
    match line % 7 {
        1 if here => f32::INFINITY,
        2 if here => f32::NEG_INFINITY,
        3 if here => f32::NAN,
        // 0 times infinity is NaN.
        4 => [0.0, -0.0][(bits % 2) as usize],
        _ => noise(bits),
    }
}

/// Returns a float of either sign whose magnitude is between 1/1024 and 1, with all bits of its fraction in use. The product of two
/// such floats is not subnormal.
fn noise(bits: u32) -> f32 {
    // Larger magnitudes are more frequent, so that all of them count: exponents from -1 to -10 by the zeros at the end.
    let exponent = 126 - (bits >> 23 & 0xff | 1 << 9).trailing_zeros();
    f32::from_bits(bits & 0x8000_0000 | exponent << 23 | bits & 0x007f_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_input_has_its_properties() {
        let shape = Shape { m: 40, n: 50, k: 60 };
        let (mut a, mut b) = (vec![0.0; 2400], vec![0.0; 3000]);
        for name in INPUT_NAMES {
            fill(name, &shape, &mut a, &mut b);
            for matrix in [&a, &b] {
                assert!(matrix.iter().all(|x| !x.is_subnormal()), "{name}");
                assert!(matrix.iter().any(|x| *x != matrix[0]), "{name}");
                assert_eq!(matrix.iter().any(|x| x.is_nan()), *name == "special", "{name}");
                let both = matrix.contains(&f32::INFINITY) && matrix.contains(&f32::NEG_INFINITY);
                assert_eq!(both, *name == "special", "{name}");
                let zero = |sign: bool| matrix.iter().any(|x| *x == 0.0 && x.is_sign_negative() == sign);
                assert_eq!(zero(true), ["zeros", "special"].contains(name), "{name}");
                let whole = matrix.iter().all(|x| x.fract() == 0.0 && x.abs() <= 8.0);
                assert_eq!(whole, is_exact(name), "{name}");
            }
            assert_ne!(a[..60], b[..60], "{name}");
        }
        fill("noise", &shape, &mut a, &mut b);
        assert!(a.iter().chain(&b).all(|x| (1.0 / 1024.0..1.0).contains(&x.abs())));
    }
}
