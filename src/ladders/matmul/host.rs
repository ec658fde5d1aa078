//! Matrix multiplication by threads of this process. In: two matrices. Out: their product, and how long it took.

use std::time::Instant;

use super::blocks::multiply;
use super::shape::Shape;
use crate::error::Result;
use crate::ladder::measure::Sample;
use crate::threads::{all_threads, share};
use crate::timing::ms_since;

/// How it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    threads: usize,
    vectors: bool,
}

impl Host {
    /// By the name of the rung.
    pub(super) fn of(id: &str) -> Self {
        let threads = if id == "serial" { 1 } else { all_threads() };
        Self { threads, vectors: id == "threads-vectors" }
    }

    /// Multiplies.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(super) fn run(self, shape: Shape, a: &[f32], b: &[f32], product: &mut [f32]) -> Result<Sample> {
        let begin = Instant::now();
        if self.vectors {
            multiply::<f32, 16>(shape, a, b, product, self.threads)?;
        } else {
            plain(shape, a, b, product, self.threads);
        }
        Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
    }
}

/// One number at a time: a sum that waits for its last addition is no work for vectors.
fn plain(shape: Shape, a: &[f32], b: &[f32], product: &mut [f32], threads: usize) {
    let (n, k) = (shape.n as usize, shape.k as usize);
    share(product.chunks_mut(n).enumerate(), threads, |(row, product)| {
        let a = &a[row * k..(row + 1) * k];
        for (column, to) in product.iter_mut().enumerate() {
            *to = a.iter().zip(b.iter().skip(column).step_by(n)).map(|(a, b)| a * b).sum::<f32>() + 0.0;
        }
    });
}
