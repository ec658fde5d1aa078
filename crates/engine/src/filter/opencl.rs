//! Filters that run as OpenCL kernels, on RGBA pictures or on planes.

use std::ops::Range;
use std::time::Instant;

use super::{BandTimes, FinishedBand, FrameFilter, RunningBand};
use crate::stats::{FilterWork, Span, Stage};
use base::error::Result;
use box_filter::Plan;
use opencl::cl::{Event, Queue, flush};
use opencl::clock::Clock;
use opencl::event::{Waker, is_complete, wake_after};
use opencl::timer;

/// The OpenCL kernels of a variant, bound to one picture, and the queue in which they run.
pub(crate) struct Kernels {
    pub(crate) plan: Plan,
    pub(crate) queue: Queue,
}

impl FrameFilter for Kernels {
    fn passes(&self) -> usize {
        self.plan.passes()
    }

    fn rows(&self) -> u32 {
        self.plan.rows()
    }

    fn row_step(&self, pass: usize) -> u32 {
        self.plan.row_step(pass)
    }

    /// Returns the work of a pass, in the unit of the variant's formulas.
    fn work(&self, pass: usize) -> f64 {
        self.plan.work(pass)
    }

    /// Enqueues the kernel of a pass for these rows.
    fn start(
        &mut self,
        pass: usize,
        rows: Range<u32>,
        waker: Option<&Waker>,
    ) -> Result<Box<dyn RunningBand>> {
        let began = Instant::now();
        let event = self.plan.enqueue(&self.queue, pass, rows)?;
        if let Some(waker) = waker {
            wake_after(&event, waker);
        }
        Ok(Box::new(EnqueuedBand { event, began, clock: self.queue.clock().clone() }))
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

/// An enqueued kernel launch.
struct EnqueuedBand {
    event: Event,
    /// The time just before the launch was enqueued.
    began: Instant,
    clock: Clock,
}

impl RunningBand for EnqueuedBand {
    /// Returns the times of the launch once it is complete: device times if they are known, else wall time.
    fn poll(&mut self) -> Result<Option<BandTimes>> {
        if !is_complete(&self.event, "The filter failed on the device.")? {
            return Ok(None);
        }
        let on_device = timer::known_span_ns(&self.event, &self.clock, Some(self.began.elapsed()));
        if let Some(on_device) = on_device {
            return Ok(Some(BandTimes {
                ms: timer::ms(on_device),
                on_device: Some(on_device),
                ..BandTimes::default()
            }));
        }
        let span = Span::since(Stage::Filter, self.began);
        Ok(Some(BandTimes { ms: span.ms(), by_wall: true, on_host: Some(span), ..BandTimes::default() }))
    }
}
