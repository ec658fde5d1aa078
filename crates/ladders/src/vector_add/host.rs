//! Vector addition by threads of this process. In: two arrays. Out: their sum, and how long it took.

use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;

/// How it is done.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    threads: Threads,
    /// Adds the first two; all three have the same length.
    add: fn(&[f32], &[f32], &mut [f32]),
}

pub(super) const SERIAL: Host = Host { threads: Threads::One, add: plain };
pub(super) const THREADS: Host = Host { threads: Threads::All, add: plain };
pub(super) const THREADS_VECTORS: Host = Host { threads: Threads::All, add: vectors };

impl Host {
    /// Adds; all three have the same length.
    pub(super) fn run(self, a: &[f32], b: &[f32], sum: &mut [f32]) -> Sample {
        let threads = self.threads.count();
        let begin = Instant::now();
        let part = sum.len().div_ceil(threads.max(1)).max(1);
        let parts = sum.chunks_mut(part).zip(a.chunks(part).zip(b.chunks(part)));
        share(parts, threads, |(sum, (a, b))| (self.add)(a, b, sum));
        Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) }
    }
}

/// One number at a time: the fence, which is no instruction itself, keeps the compiler from making vectors of it.
fn plain(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
        compiler_fence(Ordering::SeqCst);
    }
}

fn vectors(a: &[f32], b: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only feature that it is compiled for.
        return unsafe { vectors_avx2(a, b, sum) };
    }
    add(a, b, sum);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn vectors_avx2(a: &[f32], b: &[f32], sum: &mut [f32]) {
    add(a, b, sum);
}

/// The compiler makes vectors of it, as wide as the caller's processor has.
#[inline(always)]
fn add(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
    }
}
