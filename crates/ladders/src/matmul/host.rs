//! Matrix multiplication by threads of this process. In: two matrices. Out: their product, and how long it took.

use std::time::Instant;

use super::blocks::multiply;
use super::shape::Shape;
use base::error::Result;
use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;

/// How it is done.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    threads: Threads,
    multiply: Multiply,
}

/// Multiplies two matrices into the third one, on so many threads.
type Multiply = fn(Shape, &[f32], &[f32], &mut [f32], usize) -> Result<()>;

pub(super) const SERIAL: Host = Host { threads: Threads::One, multiply: plain };
pub(super) const THREADS: Host = Host { threads: Threads::All, multiply: plain };
pub(super) const THREADS_VECTORS: Host = Host { threads: Threads::All, multiply: multiply::<f32, 16> };

impl Host {
    /// Multiplies.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(super) fn run(self, shape: Shape, a: &[f32], b: &[f32], product: &mut [f32]) -> Result<Sample> {
        let threads = self.threads.count();
        let begin = Instant::now();
        (self.multiply)(shape, a, b, product, threads)?;
        Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
    }
}

/// One number at a time: a sum that waits for its last addition is no work for vectors.
fn plain(shape: Shape, a: &[f32], b: &[f32], product: &mut [f32], threads: usize) -> Result<()> {
    let (n, k) = (shape.n as usize, shape.k as usize);
    share(product.chunks_mut(n).enumerate(), threads, |(row, product)| {
        let a = &a[row * k..(row + 1) * k];
        for (column, to) in product.iter_mut().enumerate() {
            *to = a.iter().zip(b.iter().skip(column).step_by(n)).map(|(a, b)| a * b).sum::<f32>() + 0.0;
        }
    });
    Ok(())
}
