//! A product in blocks, by threads. In: two matrices of floats. Out: their product, in single or double precision.
//!
//! The right matrix is packed into panels a few vectors wide, a few hundred of its rows at a time, which the caches hold. A
//! few rows of the left one meet each panel in registers (after K. Goto, R. A. van de Geijn, "Anatomy of High-Performance
//! Matrix Multiplication", 2008). The compiler makes vectors of the inner loops.

use super::shape::Shape;
use base::error::Result;
use base::threads::share;
use opencl::guarded::zeroed;

/// Rows of the left matrix that meet a panel at once.
const ROWS: usize = 6;
/// Rows of the right matrix that are packed at once.
const DEPTH: usize = 256;
/// Such blocks of rows that a thread takes at once.
const PART: usize = 4;

/// What is added up.
pub(super) trait Number: Copy + Default + Send + Sync {
    /// A float as one.
    fn of(float: f32) -> Self;
    /// `self` + `a`·`b`, rounded twice.
    fn plus(self, a: Self, b: Self) -> Self;
    /// The same, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl Number for $number {
            fn of(float: f32) -> Self {
                float.into()
            }

            #[inline(always)]
            fn plus(self, a: Self, b: Self) -> Self {
                self + a * b
            }

            #[inline(always)]
            fn fused(self, a: Self, b: Self) -> Self {
                a.mul_add(b, self)
            }
        }
    )* };
}

numbers! { f32 f64 }

/// The product of `a` and `b`, into `product`, by so many threads, in panels of `COLUMNS`.
///
/// # Errors
/// When there is not enough memory.
pub(super) fn multiply<T: Number, const COLUMNS: usize>(
    shape: Shape,
    a: &[f32],
    b: &[f32],
    product: &mut [T],
    threads: usize,
) -> Result<()> {
    let (n, k) = (shape.n as usize, shape.k as usize);
    product.fill(T::default());
    let mut packed = zeroed::<T>(n.next_multiple_of(COLUMNS) * DEPTH.min(k))?;
    for first in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - first);
        let b = &b[first * n..(first + depth) * n];
        let panels = packed.chunks_exact_mut(depth * COLUMNS).take(n.div_ceil(COLUMNS)).enumerate();
        share(panels, threads, |(panel, to)| pack::<T, COLUMNS>(b, n, panel * COLUMNS, to));
        let parts = product.chunks_mut(PART * ROWS * n).zip(a.chunks(PART * ROWS * k));
        share(parts, threads, |(product, a)| {
            for (product, a) in product.chunks_mut(ROWS * n).zip(a.chunks(ROWS * k)) {
                rows::<T, COLUMNS>(a, (k, first), &packed[..], depth, product, n);
            }
        });
    }
    Ok(())
}

/// A panel: some columns of `b`, from `left` on, row by row; zeros beyond the last one.
fn pack<T: Number, const COLUMNS: usize>(b: &[f32], n: usize, left: usize, to: &mut [T]) {
    let columns = left..n.min(left + COLUMNS);
    for (to, from) in to.chunks_exact_mut(COLUMNS).zip(b.chunks_exact(n)) {
        let numbers = from[columns.clone()].iter().map(|x| T::of(*x));
        to.iter_mut().zip(numbers.chain(std::iter::repeat(T::default()))).for_each(|(to, x)| *to = x);
    }
}

/// Adds the products of a few rows of `a`, from column `first` on, with all panels.
fn rows<T: Number, const COLUMNS: usize>(
    a: &[f32],
    (k, first): (usize, usize),
    panels: &[T],
    depth: usize,
    product: &mut [T],
    n: usize,
) {
    let mut of_a = [[T::default(); ROWS]; DEPTH];
    for (r, row) in a.chunks_exact(k).enumerate() {
        for (to, x) in of_a.iter_mut().zip(&row[first..first + depth]) {
            to[r] = T::of(*x);
        }
    }
    for (panel, of_b) in panels.chunks_exact(depth * COLUMNS).enumerate().take(n.div_ceil(COLUMNS)) {
        let left = panel * COLUMNS;
        let sums = tile::<T, COLUMNS>(&of_a[..depth], of_b);
        for (row, sums) in product.chunks_exact_mut(n).zip(sums) {
            row[left..].iter_mut().zip(sums).for_each(|(to, sum)| *to = to.plus(T::of(1.0), sum));
        }
    }
}

fn tile<T: Number, const COLUMNS: usize>(of_a: &[[T; ROWS]], of_b: &[T]) -> [[T; COLUMNS]; ROWS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features that it is compiled for.
        return unsafe { tile_fma(of_a, of_b) };
    }
    add_up::<T, COLUMNS, false>(of_a, of_b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tile_fma<T: Number, const COLUMNS: usize>(of_a: &[[T; ROWS]], of_b: &[T]) -> [[T; COLUMNS]; ROWS] {
    add_up::<T, COLUMNS, true>(of_a, of_b)
}

#[inline(always)]
fn add_up<T: Number, const COLUMNS: usize, const FUSED: bool>(
    of_a: &[[T; ROWS]],
    of_b: &[T],
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    for (of_a, of_b) in of_a.iter().zip(of_b.as_chunks::<COLUMNS>().0) {
        for r in 0..ROWS {
            for s in 0..COLUMNS {
                let sum = sums[r][s];
                sums[r][s] = if FUSED { sum.fused(of_a[r], of_b[s]) } else { sum.plus(of_a[r], of_b[s]) };
            }
        }
    }
    sums
}
