//! The expected product in double precision, and the accepted errors of sums in single precision.
//!
//! Rounding depends on the order of the additions, which every variant chooses. A sum of k products differs from the exact one
//! by at most γₖ ∑|aᵢbᵢ| with γₖ = ku / (1 - ku) and u = 2⁻²⁴, in any order and fused or not (N. J. Higham, "Accuracy and
//! Stability of Numerical Algorithms", 2002, section 3.1). That is the worst case, which no long sum approaches: errors that
//! are equally likely in both directions give √k in place of k, with a safety factor (N. J. Higham, T. Mary, "A New Approach to
//! Probabilistic Rounding Error Analysis", 2019). The smaller of both bounds is used, and for ∑|aᵢbᵢ| the product of the
//! Euclidean lengths of a row and a column, which is never smaller (Cauchy-Schwarz).

use std::sync::Arc;

use super::blocks::multiply;
use super::inputs;
use super::shape::Shape;
use base::error::Result;
use base::memory::zeros;
use base::threads::all_threads;
use base::verify::Elements;

/// The unit roundoff of floats: half the distance from 1 to the next float.
const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;
/// The safety factor of √k: fewer than one in 10²⁰ sums of independent errors have a larger error.
const SAFETY_FACTOR: f64 = 10.0;

/// Returns the largest error that a sum of `k` products may have, relative to the product of the lengths of row and column. The
/// bound includes one more rounding, that of the reference.
pub fn bound(k: u32) -> f64 {
    let k = f64::from(k);
    let roundings = k.min(SAFETY_FACTOR * k.sqrt()) + 1.0;
    roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)
}

/// The elements of a product in the comparison with the expected product, each with its own error bound.
#[derive(Debug, Clone)]
pub struct ProductElements {
    /// The number of columns of the product.
    n: usize,
    /// The [`bound`] of the relative error of all elements, or 0 if the elements have to be exact.
    bound: f64,
    /// The Euclidean lengths of the left matrix' rows, and of the right matrix' columns.
    lengths: Arc<(Vec<f64>, Vec<f64>)>,
}

impl ProductElements {
    /// Computes the Euclidean lengths of rows and columns, for matrices with the kind of input `name`.
    pub(super) fn new(name: &str, shape: &Shape, matrices: &[&[f32]]) -> Self {
        let (a, b) = (matrices[0], matrices[1]);
        let (k, n) = (shape.k as usize, shape.n as usize);
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let row = |row: usize| a[row * k..(row + 1) * k].iter().map(square).sum::<f64>();
        let rows = (0..shape.m as usize).map(row).map(f64::sqrt).collect();
        let mut columns = vec![0.0; n];
        for row in b.chunks_exact(n.max(1)) {
            columns.iter_mut().zip(row).for_each(|(sum, x)| *sum += square(x));
        }
        columns.iter_mut().for_each(|sum| *sum = sum.sqrt());
        let bound = if inputs::is_exact(name) { 0.0 } else { bound(shape.k) };
        Self { n, bound, lengths: Arc::new((rows, columns)) }
    }
}

impl Elements for ProductElements {
    fn position(&self, number: usize) -> String {
        format!("row {}, column {}", number / self.n.max(1), number % self.n.max(1))
    }

    /// Returns the error of the element with the index `number`, divided by the product of the Euclidean lengths of its row of
    /// the left matrix and its column of the right one. Returns `None` if `got` equals `want` or, to be accepted, would have
    /// to: because `got` or `want` is infinite or NaN, or a length is 0. Returns `Some(0.0)` if both are NaN.
    fn error(&self, number: usize, got: f64, want: f64) -> Option<f64> {
        if got.is_nan() && want.is_nan() {
            return Some(0.0);
        }
        let (rows, columns) = &*self.lengths;
        let scale = rows.get(number / self.n)? * columns.get(number % self.n)?;
        let is_near = got.is_finite() && want.is_finite() && got != want && scale > 0.0;
        is_near.then(|| (got - want).abs() / scale)
    }

    fn bound(&self) -> Option<f64> {
        Some(self.bound)
    }
}

/// Computes the product in double precision and rounds its elements to floats; returns their bytes row by row.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn reference(shape: &Shape, matrices: &[&[f32]]) -> Result<Vec<u8>> {
    let mut product = zeros::<f64>(shape.product_len())?;
    multiply::<f64, 8>(shape, matrices, &mut product, all_threads())?;
    Ok(product.into_iter().flat_map(|sum| (sum as f32).to_le_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(name: &str, shape: Shape) -> (Vec<f32>, Vec<f32>) {
        let (mut a, mut b) = (vec![0.0; shape.left_len()], vec![0.0; shape.right_len()]);
        inputs::fill(name, &shape, &mut a, &mut b);
        (a, b)
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
    }

    /// Computes the product with one number type, adding the products of each element in the given order.
    fn plain<T: Copy>(
        shape: Shape,
        order: impl Iterator<Item = u32> + Clone,
        zero: T,
        add: impl Fn(T, usize, usize) -> T,
    ) -> Vec<T> {
        let Shape { m, n, k } = shape;
        let at = |row, column| {
            order.clone().fold(zero, |sum, i| add(sum, (row * k + i) as usize, (i * n + column) as usize))
        };
        (0..m)
            .flat_map(|row| (0..n).map(move |column| (row, column)))
            .map(|(row, column)| at(row, column))
            .collect()
    }

    const SHAPES: [[u32; 3]; 7] =
        [[1, 1, 1], [3, 2, 0], [7, 19, 5], [17, 33, 300], [40, 9, 513], [64, 64, 64], [13, 70, 1025]];

    #[test]
    fn the_reference_is_the_sum_of_the_products_and_sums_in_any_order_are_within_the_bound() {
        for shape in SHAPES.map(|mnk| Shape::new(mnk).unwrap()) {
            for name in inputs::INPUT_NAMES {
                let (a, b) = matrices(name, shape);
                let bytes = reference(&shape, &[&a, &b]).unwrap();
                let (want, sums) = (floats(&bytes), ProductElements::new(name, &shape, &[&a, &b]));
                let exact =
                    plain(shape, 0..shape.k, 0.0, |sum, x, y| sum + f64::from(a[x]) * f64::from(b[y]));
                assert_eq!(want.len(), exact.len());
                for (want, exact) in want.iter().zip(&exact) {
                    let same = *want == *exact as f32 || want.is_nan() && exact.is_nan();
                    // Sums in double precision in another order differ slightly before they are rounded.
                    let near = (f64::from(*want) - exact).abs() <= exact.abs() * UNIT_ROUNDOFF * 1.01 + 1e-12;
                    assert!(same || *name == "noise" && near, "{name} {shape:?}: {want} {exact}");
                    assert!(*want != 0.0 || want.is_sign_positive(), "{name} {shape:?}");
                }
                let add = |sum: f32, x: usize, y: usize| sum + a[x] * b[y];
                let fused = |sum: f32, x: usize, y: usize| a[x].mul_add(b[y], sum);
                for got in [
                    plain(shape, 0..shape.k, 0.0, add),
                    plain(shape, (0..shape.k).rev(), 0.0, add),
                    plain(shape, (0..shape.k).step_by(2).chain((1..shape.k).step_by(2)), 0.0, fused),
                ] {
                    let got: Vec<u8> = got.iter().flat_map(|x| x.to_le_bytes()).collect();
                    let report = base::verify::compare(&bytes, &got, &sums, 0);
                    assert!(report.is_none(), "{name} {shape:?}: {report:?}");
                }
                for (at, value) in want.iter().map(|want| f64::from(*want)).enumerate() {
                    if !value.is_finite() || shape.k == 0 {
                        continue;
                    }
                    let (rows, columns) = &*sums.lengths;
                    let allowed = sums.bound * rows[at / sums.n] * columns[at % sums.n];
                    let is_close = |got: f64| sums.is_close(at, got, value);
                    let near = |times: f64| is_close(value + times * allowed);
                    if allowed > 0.0 {
                        assert!(near(0.99) && near(-0.99) && !near(1.01) && !near(-1.01), "{name} {shape:?}");
                    }
                    let far = if value == 0.0 { 1.0 } else { 2.0 * value };
                    assert!(sums.bound > 0.0 || !is_close(far));
                    assert!(!is_close(f64::NAN) && !is_close(f64::INFINITY));
                }
            }
        }
    }

    #[test]
    fn a_missing_product_exceeds_the_bound() {
        // The missing product exceeds the bound in most elements, but not in those where it is 0 or, in long sums of noise,
        // small.
        for (name, shape, least) in [("whole", [9, 8, 300], 0.6), ("noise", [9, 8, 1025], 0.6)] {
            let shape = Shape::new(shape).unwrap();
            let (a, b) = matrices(name, shape);
            let want = floats(&reference(&shape, &[&a, &b]).unwrap());
            let sums = ProductElements::new(name, &shape, &[&a, &b]);
            let short = plain(shape, 1..shape.k, 0.0, |sum, x, y| sum + a[x] * b[y]);
            let seen = (0..want.len())
                .filter(|&at| !sums.is_close(at, short[at].into(), want[at].into()) && short[at] != want[at]);
            assert!(seen.count() as f64 >= least * want.len() as f64, "{name}");
        }
    }

    #[test]
    fn the_bound_grows_with_k() {
        assert!((bound(1) / UNIT_ROUNDOFF - 2.0).abs() < 1e-3);
        assert!((bound(100) / UNIT_ROUNDOFF - 101.0).abs() < 0.01);
        assert!((bound(10_000) / UNIT_ROUNDOFF - 1001.0).abs() < 0.1);
        let shape = Shape { m: 2, n: 3, k: 2 };
        let (a, b) = ([0.0, 0.0, 3.0, 4.0], [1.0, 2.0, 3.0, 1.0, 2.0, 4.0]);
        let sums = ProductElements::new("special", &shape, &[&a, &b]);
        assert_eq!(sums.lengths.0, [0.0, 5.0]);
        assert!((sums.lengths.1[2] - 5.0).abs() < 1e-12);
        assert_eq!(sums.position(4), "row 1, column 1");
        // NaN is right where NaN is expected; zeros have no sign; infinities have one.
        assert_eq!(sums.error(4, f64::NAN, f64::NAN), Some(0.0));
        for (got, want) in [(-0.0, 0.0), (f64::INFINITY, f64::NEG_INFINITY), (f64::NAN, 1.0), (1.0, f64::NAN)]
        {
            assert!(!sums.is_close(4, got, want), "{got} {want}");
        }
    }
}
