//! Matrix multiplication on threads of this process.

use std::time::Instant;

use super::blocks::multiply;
use super::shape::Shape;
use base::error::Result;
use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;

/// A variant that runs on the host.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    threads: Threads,
    multiply: Multiply,
}

/// Multiplies the first two matrices into the third one. The last argument is the number of threads.
type Multiply = fn(Shape, &[f32], &[f32], &mut [f32], usize) -> Result<()>;

/// The variant `serial`: adds one product at a time on one thread.
pub(super) const SERIAL: Host = Host { threads: Threads::One, multiply: multiply_one_by_one };
/// The variant `threads`: adds one product at a time on all threads.
pub(super) const THREADS: Host = Host { threads: Threads::All, multiply: multiply_one_by_one };
/// The variant `threads-vectors`: multiplies blocks of the matrices in vectors on all threads.
pub(super) const THREADS_VECTORS: Host = Host { threads: Threads::All, multiply: multiply::<f32, 16> };

impl Host {
    /// Multiplies `a` and `b` into `product` and returns the time.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(super) fn run(self, shape: Shape, a: &[f32], b: &[f32], product: &mut [f32]) -> Result<Sample> {
        let threads = self.threads.count();
        let begin = Instant::now();
        (self.multiply)(shape, a, b, product, threads)?;
        Ok(Sample::on_host(ms_since(begin)))
    }
}

/// Computes each element of the product by adding one product at a time. Each addition waits for the preceding one, so the compiler
/// cannot vectorize the sum.
fn multiply_one_by_one(
    shape: Shape,
    a: &[f32],
    b: &[f32],
    product: &mut [f32],
    threads: usize,
) -> Result<()> {
    let (n, k) = (shape.n as usize, shape.k as usize);
    share(product.chunks_mut(n).enumerate(), threads, |(row, product)| {
        let a = &a[row * k..(row + 1) * k];
        for (column, to) in product.iter_mut().enumerate() {
            *to = a.iter().zip(b.iter().skip(column).step_by(n)).map(|(a, b)| a * b).sum::<f32>() + 0.0;
        }
    });
    Ok(())
}
