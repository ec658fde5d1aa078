//! Vector addition on threads of this process.

use std::sync::atomic::{Ordering, compiler_fence};

use base::error::Result;
use base::threads::{Threads, share};
use compute::plan::Host;

/// The variant `serial`, which adds one number at a time on one thread.
pub(super) const SERIAL: Host<u32> = Host { threads: Threads::One, run: run_one_by_one };
/// The variant `threads`, which adds one number at a time on all threads.
pub(super) const THREADS: Host<u32> = Host { threads: Threads::All, run: run_one_by_one };
/// The variant `threads-vectors`, which adds in vectors on all threads.
pub(super) const THREADS_VECTORS: Host<u32> = Host { threads: Threads::All, run: run_vectorized };

/// Adds both inputs one number at a time.
fn run_one_by_one(_: &u32, inputs: &[&[f32]], sum: &mut [f32], threads: usize) -> Result<()> {
    add_parts(inputs, sum, threads, add_one_by_one)
}

/// Adds both inputs in vectors.
fn run_vectorized(_: &u32, inputs: &[&[f32]], sum: &mut [f32], threads: usize) -> Result<()> {
    add_parts(inputs, sum, threads, add_vectorized)
}

/// Adds both inputs into `sum`, all of the same length; each thread adds a part.
fn add_parts(
    inputs: &[&[f32]],
    sum: &mut [f32],
    threads: usize,
    add: fn(&[f32], &[f32], &mut [f32]),
) -> Result<()> {
    let part = sum.len().div_ceil(threads.max(1)).max(1);
    let parts = sum.chunks_mut(part).zip(inputs[0].chunks(part).zip(inputs[1].chunks(part)));
    share(parts, threads, |(sum, (a, b))| add(a, b, sum));
    Ok(())
}

/// Adds one number at a time. A compiler fence in the loop, which generates no instruction, keeps the compiler from vectorizing
/// the loop.
fn add_one_by_one(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
        compiler_fence(Ordering::SeqCst);
    }
}

/// Adds in vectors of the widest kind that the CPU has.
fn add_vectorized(a: &[f32], b: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2, the only feature that the function is compiled for.
        return unsafe { add_avx2(a, b, sum) };
    }
    add(a, b, sum);
}

/// Adds as [`add`] does; compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(a: &[f32], b: &[f32], sum: &mut [f32]) {
    add(a, b, sum);
}

/// Adds in a loop that the compiler vectorizes for the caller's target features.
#[inline(always)]
fn add(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
    }
}
