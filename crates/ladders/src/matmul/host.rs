//! Matrix multiplication on threads of this process.

use super::blocks::multiply;
use super::shape::Shape;
use base::error::Result;
use base::threads::{Threads, share};
use compute::plan::Host;

/// The variant `serial`, which adds one product at a time on one thread.
pub(super) const SERIAL: Host<Shape> = Host { threads: Threads::One, run: multiply_one_by_one };
/// The variant `threads`, which adds one product at a time on all threads.
pub(super) const THREADS: Host<Shape> = Host { threads: Threads::All, run: multiply_one_by_one };
/// The variant `threads-vectors`, which multiplies blocks of the matrices in vectors on all threads.
pub(super) const THREADS_VECTORS: Host<Shape> = Host { threads: Threads::All, run: multiply::<f32, 16> };

/// Computes each element of the product by adding one product at a time. Each addition waits for the preceding one, so the compiler
/// cannot vectorize the sum.
fn multiply_one_by_one(
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
