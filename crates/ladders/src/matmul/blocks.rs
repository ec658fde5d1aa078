//! A matrix product in blocks, on several threads.
//!
//! A few hundred rows of the right matrix at a time are packed into panels that are a few vectors wide, so that they fit into
//! the caches. A few rows of the left matrix are multiplied with each panel in registers (after K. Goto, R. A. van de Geijn,
//! "Anatomy of High-Performance Matrix Multiplication", 2008). The compiler vectorizes the inner loops.

use bytemuck::Zeroable;

use super::shape::Shape;
use base::error::Result;
use base::memory::zeros;
use base::threads::share;

/// The number of rows of the left matrix that are multiplied with a panel at once.
const ROWS: usize = 6;
/// The number of rows of the right matrix that are packed at once.
const DEPTH: usize = 256;
/// The number of blocks of [`ROWS`] rows that a thread takes at once.
const BLOCKS_PER_TASK: usize = 4;

/// A number type in which products are summed.
pub(super) trait Accumulator: Copy + Default + Send + Sync + Zeroable {
    /// Converts a float.
    fn from_f32(float: f32) -> Self;
    /// Returns `self` + `a`·`b`, with separate rounding of product and sum.
    fn add_product(self, a: Self, b: Self) -> Self;
    /// Returns `self` + `a`·`b`, rounded once (fused multiply-add).
    fn add_product_fused(self, a: Self, b: Self) -> Self;
}

/// Implements [`Accumulator`] for floating-point types.
macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl Accumulator for $number {
            fn from_f32(float: f32) -> Self {
                float.into()
            }

            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                self + a * b
            }

            #[inline(always)]
            fn add_product_fused(self, a: Self, b: Self) -> Self {
                a.mul_add(b, self)
            }
        }
    )* };
}

numbers! { f32 f64 }

/// Multiplies two matrices into `product` on `threads` threads, in panels of `COLUMNS` columns.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub(super) fn multiply<T: Accumulator, const COLUMNS: usize>(
    shape: &Shape,
    matrices: &[&[f32]],
    product: &mut [T],
    threads: usize,
) -> Result<()> {
    let (n, k, a) = (shape.n as usize, shape.k as usize, matrices[0]);
    product.fill(T::default());
    let mut packed = zeros::<T>(n.next_multiple_of(COLUMNS) * DEPTH.min(k))?;
    for first in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - first);
        let b = &matrices[1][first * n..(first + depth) * n];
        let panels = packed.chunks_exact_mut(depth * COLUMNS).take(n.div_ceil(COLUMNS)).enumerate();
        share(panels, threads, |(panel, to)| pack::<T, COLUMNS>(b, n, panel * COLUMNS, to));
        let panels = Panels { packed: &packed, first, depth, n };
        let parts = product.chunks_mut(BLOCKS_PER_TASK * ROWS * n).zip(a.chunks(BLOCKS_PER_TASK * ROWS * k));
        share(parts, threads, |(product, a)| {
            for (product, a) in product.chunks_mut(ROWS * n).zip(a.chunks(ROWS * k)) {
                panels.multiply_rows::<COLUMNS>(a, k, product);
            }
        });
    }
    Ok(())
}

/// Some rows of the right matrix, packed into panels.
struct Panels<'a, T> {
    packed: &'a [T],
    /// The index in the right matrix of the first packed row.
    first: usize,
    /// The number of packed rows.
    depth: usize,
    /// The number of columns of the right matrix.
    n: usize,
}

/// Packs a panel into `to`: the columns of `b` from the column `left` on, row by row. Columns beyond the last one are filled
/// with zeros.
fn pack<T: Accumulator, const COLUMNS: usize>(b: &[f32], n: usize, left: usize, to: &mut [T]) {
    let columns = left..n.min(left + COLUMNS);
    for (to, from) in to.chunks_exact_mut(COLUMNS).zip(b.chunks_exact(n)) {
        let numbers = from[columns.clone()].iter().map(|x| T::from_f32(*x));
        to.iter_mut().zip(numbers.chain(std::iter::repeat(T::default()))).for_each(|(to, x)| *to = x);
    }
}

impl<T: Accumulator> Panels<'_, T> {
    /// Multiplies a few rows of `a`, which has `k` columns, with all panels, and adds the results to `product`.
    fn multiply_rows<const COLUMNS: usize>(&self, a: &[f32], k: usize, product: &mut [T]) {
        let Self { packed, first, depth, n } = *self;
        let mut a_values = [[T::default(); ROWS]; DEPTH];
        for (r, row) in a.chunks_exact(k).enumerate() {
            for (to, x) in a_values.iter_mut().zip(&row[first..first + depth]) {
                to[r] = T::from_f32(*x);
            }
        }
        for (panel, b_panel) in packed.chunks_exact(depth * COLUMNS).enumerate().take(n.div_ceil(COLUMNS)) {
            let left = panel * COLUMNS;
            let sums = tile_sums::<T, COLUMNS>(&a_values[..depth], b_panel);
            for (row, sums) in product.chunks_exact_mut(n).zip(sums) {
                let columns = row[left..].iter_mut().zip(sums);
                columns.for_each(|(to, sum)| *to = to.add_product(T::from_f32(1.0), sum));
            }
        }
    }
}

/// Returns the products of a few rows of `a` with one panel, by fused multiply-add if the CPU has it.
fn tile_sums<T: Accumulator, const COLUMNS: usize>(
    a_values: &[[T; ROWS]],
    b_panel: &[T],
) -> [[T; COLUMNS]; ROWS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has both features that the function is compiled for.
        return unsafe { tile_sums_fma(a_values, b_panel) };
    }
    sum_products::<T, COLUMNS, false>(a_values, b_panel)
}

/// Computes the same sums as [`tile_sums`]; compiled for fused multiply-add.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tile_sums_fma<T: Accumulator, const COLUMNS: usize>(
    a_values: &[[T; ROWS]],
    b_panel: &[T],
) -> [[T; COLUMNS]; ROWS] {
    sum_products::<T, COLUMNS, true>(a_values, b_panel)
}

/// Sums the products of a few rows of `a` with one panel.
#[inline(always)]
fn sum_products<T: Accumulator, const COLUMNS: usize, const FUSED: bool>(
    a_values: &[[T; ROWS]],
    b_panel: &[T],
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    for (a_values, b_panel) in a_values.iter().zip(b_panel.as_chunks::<COLUMNS>().0) {
        for r in 0..ROWS {
            for s in 0..COLUMNS {
                let sum = sums[r][s];
                sums[r][s] = if FUSED {
                    sum.add_product_fused(a_values[r], b_panel[s])
                } else {
                    sum.add_product(a_values[r], b_panel[s])
                };
            }
        }
    }
    sums
}

/// Computes each element of the product by adding one product at a time. Each addition waits for the preceding one, so the
/// compiler cannot vectorize the sum.
pub(super) fn multiply_one_by_one(
    shape: &Shape,
    matrices: &[&[f32]],
    product: &mut [f32],
    threads: usize,
) -> Result<()> {
    let (n, k) = (shape.n as usize, shape.k as usize);
    share(product.chunks_mut(n).enumerate(), threads, |(row, product)| {
        let a = &matrices[0][row * k..(row + 1) * k];
        for (column, to) in product.iter_mut().enumerate() {
            let b = matrices[1].iter().skip(column).step_by(n);
            *to = a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() + 0.0;
        }
    });
    Ok(())
}
