//! Filters that run as OpenCL kernels, on RGBA pictures or on planes.

use std::ops::Range;
use std::time::Instant;

use super::{BAND_MS, BandTimes, FilterShape, FinishedBand, FrameFilter, RunningBand};
use base::error::Result;
use box_filter::Plan;
use opencl::cl::{Queue, flush};
use opencl::event::{Waker, is_complete, wake_after};
use opencl::timer;
use stats::{FilterWork, Span, Stage};

/// The OpenCL kernels of a variant, bound to one picture, and the queue in which they run.
pub(crate) struct Kernels {
    pub plan: Plan,
    pub queue: Queue,
}

impl FrameFilter for Kernels {
    /// Returns the passes with their work in the unit of the variant's formulas.
    fn shape(&self) -> FilterShape {
        let passes = (0..self.plan.passes())
            .map(|pass| (self.plan.row_step(pass).unwrap_or(self.plan.rows()), self.plan.work(pass)));
        FilterShape { rows: self.plan.rows(), band_ms: BAND_MS, passes: passes.collect() }
    }

    /// Enqueues the kernel of a pass for these rows.
    fn start(&mut self, pass: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<RunningBand> {
        let began = Instant::now();
        let event = self.plan.enqueue(&self.queue, pass, rows)?;
        if let Some(waker) = waker {
            wake_after(&event, waker);
        }
        let clock = self.queue.clock().clone();
        Ok(Box::new(move || {
            if !is_complete(&event, "The filter failed on the device.")? {
                return Ok(None);
            }
            // Device times if they are known, else wall time.
            let on_device = timer::known_span_ns(&event, &clock, Some(began.elapsed()));
            let on_host = on_device.is_none().then(|| Span::since(Stage::Filter, began));
            let ms = on_host.map_or(on_device.map_or(f64::NAN, timer::ms), |span| span.ms());
            Ok(Some(BandTimes { ms, by_wall: on_host.is_some(), on_device, on_host, cancelled: false }))
        }))
    }

    fn flush(&self) -> Result<()> {
        flush(&self.queue)
    }

    /// Returns the bytes and operations of these bands by the formulas of the kernels; `None` for kernels on planes.
    fn explain(&self, bands: &[FinishedBand]) -> Option<FilterWork> {
        if self.plan.reads_planes() {
            return None;
        }
        let mut pass_ms = vec![0.0; self.plan.passes()];
        for band in bands {
            *pass_ms.get_mut(band.pass)? += band.device_ms;
        }
        let work = self.plan.kernel_work(bands.iter().map(|band| (band.pass, band.rows)));
        Some(FilterWork { config: self.plan.config().clone(), work, pass_ms })
    }
}
