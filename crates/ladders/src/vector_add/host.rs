//! Vector addition on threads of this process.

use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;

/// A variant that runs on the host.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    threads: Threads,
    /// Adds the first two slices into the third one; all have the same length.
    add: fn(&[f32], &[f32], &mut [f32]),
}

/// The variant `serial`: adds one number at a time on one thread.
pub(super) const SERIAL: Host = Host { threads: Threads::One, add: add_one_by_one };
/// The variant `threads`: adds one number at a time on all threads.
pub(super) const THREADS: Host = Host { threads: Threads::All, add: add_one_by_one };
/// The variant `threads-vectors`: adds in vectors on all threads.
pub(super) const THREADS_VECTORS: Host = Host { threads: Threads::All, add: add_vectorized };

impl Host {
    /// Adds `a` and `b` into `sum`, all of the same length, and returns the time.
    pub(super) fn run(self, a: &[f32], b: &[f32], sum: &mut [f32]) -> Sample {
        let threads = self.threads.count();
        let begin = Instant::now();
        let part = sum.len().div_ceil(threads.max(1)).max(1);
        let parts = sum.chunks_mut(part).zip(a.chunks(part).zip(b.chunks(part)));
        share(parts, threads, |(sum, (a, b))| (self.add)(a, b, sum));
        Sample::on_host(ms_since(begin))
    }
}

/// Adds one number at a time. A compiler fence in the loop, which generates no instruction, keeps the compiler from vectorizing
/// the loop.
fn add_one_by_one(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
        compiler_fence(Ordering::SeqCst);
    }
}

/// Adds in vectors of the widest kind that the processor has.
fn add_vectorized(a: &[f32], b: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only feature that it is compiled for.
        return unsafe { add_avx2(a, b, sum) };
    }
    add(a, b, sum);
}

/// Adds as [`add`] does, compiled for AVX2.
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
