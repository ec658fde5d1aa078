//! Measures a device's peak rates: a copy within its memory, a plain read, and multiply-adds in registers.

use crate::matmul::MATMUL;
use crate::matmul::shape::Shape;
use crate::reduction::REDUCTION;
use base::error::Result;
use base::memory::require;
use base::timing::Series;
use compute::reduction::Case;
use compute::sample::{Sample, sample};
use ladder::runner::{Ladder, Part};
use ladder::why::DevicePeaks;
use opencl::cl::{Buffer, ClContext, Device, failed};
use opencl::memory::allocation_flags;
use opencl::sources::Sources;

/// The number of bytes that are copied or read, which is more than the caches of most devices hold.
const BYTES: usize = 128 << 20;
/// The picture, of [`BYTES`] bytes, that is read to measure the peak of reading.
const PICTURE: Case = Case { width: 8192, height: 4096, block: 64 };
/// The matrix product with as many multiply-adds as are timed.
const PRODUCT: Shape = Shape { m: 1024, n: 1024, k: 2048 };
/// The number of timed runs for each peak, of whose times the median is used.
const RUNS: usize = 9;

/// Measures a device's peak rates, which takes a second or two. A rate whose measurement fails is `None`. The built-in kernels
/// are used, even if the user has edited them.
pub fn measure(device: &Device) -> DevicePeaks {
    let Ok(cl) = ClContext::new(device, Sources::default()) else { return DevicePeaks::default() };
    // A copy reads and writes.
    let per_ns = |amount: f64, ms: Result<f64>| ms.ok().filter(|ms| *ms > 0.0).map(|ms| amount / (ms * 1e6));
    DevicePeaks {
        copy_gb_s: per_ns(2.0 * BYTES as f64, copy_ms(&cl)),
        read_gb_s: per_ns(BYTES as f64, peak_ms(&cl, &REDUCTION, &PICTURE, true)),
        gflop_s: per_ns(2.0 * PRODUCT.multiplications() as f64, peak_ms(&cl, &MATMUL, &PRODUCT, false)),
    }
}

/// Returns the median time of several runs in milliseconds, after one warm-up run.
fn median_ms(mut run: impl FnMut() -> Result<Sample>) -> Result<f64> {
    run()?;
    let times = (0..RUNS).map(|_| run().map(|sample| sample.ms())).collect::<Result<Vec<_>>>()?;
    Ok(Series::of(&times).map_or(0.0, |series| series.p50))
}

/// Returns the time of a copy in milliseconds.
fn copy_ms(cl: &ClContext) -> Result<f64> {
    let what = "Memory could not be copied on the device.";
    let buffer = || {
        let buffer = Buffer::new(&cl.context, allocation_flags(cl), BYTES)?;
        // Memory that was never written may not be allocated yet.
        buffer.enqueue_fill(&cl.queue, &[1; 4], BYTES)?.wait_for()?;
        Ok(buffer)
    };
    require(2 * BYTES)?;
    let (from, to) = (buffer().map_err(|e| failed(what, &e))?, buffer().map_err(|e| failed(what, &e))?);
    median_ms(|| {
        sample(&cl.queue, |queue| Ok(vec![from.enqueue_copy(queue, &to).map_err(|e| failed(what, &e))?]))
    })
}

/// Returns the time of the first peak kernel of a ladder in milliseconds. `needs_input` is false for a kernel that reads no input.
fn peak_ms<L: Ladder>(cl: &ClContext, ladder: &L, case: &L::Case, needs_input: bool) -> Result<f64> {
    require(ladder.describe(case).memory)?;
    let built = ladder.build(Part::Peak(cl, 0))?;
    let mut buffers = ladder.allocate(Some(cl), case, 0)?;
    if needs_input {
        ladder.load(&mut buffers, ladder.info().inputs.first().copied().unwrap_or_default())?;
    }
    median_ms(|| ladder.run(&built, &mut buffers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opencl::cl::list_devices;

    #[test]
    fn a_device_has_all_peaks() {
        let device = list_devices().into_iter().next().expect("the tests need an OpenCL device");
        let peaks = measure(&device);
        let all = [peaks.copy_gb_s, peaks.read_gb_s, peaks.gflop_s];
        assert!(all.iter().all(|peak| *peak > Some(0.0)), "{peaks:?}");
        assert_eq!(PICTURE.pixels() * 4, BYTES);
    }
}
