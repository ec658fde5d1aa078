//! Filters that are OpenCL kernels, on RGBA pictures and on planes.

use std::ops::Range;
use std::time::Instant;

use super::{FrameFilter, Ran, Running};
use base::error::Result;
use box_filter::Plan;
use box_filter::planar::PlanarPlan;
use opencl::cl::{Event, Queue, flush};
use opencl::event::{Waker, is_complete, wake_after};
use opencl::memory::Picture;
use opencl::timer;

/// Kernels on an RGBA picture.
pub(crate) struct OnPixels {
    pub(crate) plan: Plan,
    pub(crate) queue: Queue,
}

impl FrameFilter for OnPixels {
    fn passes(&self) -> usize {
        self.plan.passes()
    }

    fn rows(&self) -> u32 {
        self.plan.rows()
    }

    fn row_step(&self, pass: usize) -> u32 {
        self.plan.row_step(pass)
    }

    fn work(&self, pass: usize) -> f64 {
        self.plan.work(pass)
    }

    fn start(&mut self, pass: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<Box<dyn Running>> {
        let began = Instant::now();
        started(self.plan.enqueue(&self.queue, pass, rows)?, began, waker)
    }

    fn flush(&self) -> Result<()> {
        flush(&self.queue)
    }
}

/// The kernel on packed planes.
pub(crate) struct OnPlanes {
    pub(crate) plan: PlanarPlan,
    /// The slot's planes as the device has them.
    pub(crate) from: Picture,
    pub(crate) queue: Queue,
}

impl FrameFilter for OnPlanes {
    fn rows(&self) -> u32 {
        self.plan.rows()
    }

    fn row_step(&self, _: usize) -> u32 {
        self.plan.row_step()
    }

    fn work(&self, _: usize) -> f64 {
        self.plan.work()
    }

    fn start(&mut self, _: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<Box<dyn Running>> {
        let began = Instant::now();
        started(self.plan.enqueue(&self.queue, &self.from, rows)?, began, waker)
    }

    fn flush(&self) -> Result<()> {
        flush(&self.queue)
    }
}

/// A launch in the queue, and when it came there.
struct Launch(Event, Instant);

fn started(event: Event, began: Instant, waker: Option<&Waker>) -> Result<Box<dyn Running>> {
    if let Some(waker) = waker {
        wake_after(&event, waker);
    }
    Ok(Box::new(Launch(event, began)))
}

impl Running for Launch {
    fn poll(&mut self) -> Result<Option<Ran>> {
        if !is_complete(&self.0, "The filter failed on the device.")? {
            return Ok(None);
        }
        let on_device = timer::known_span_ns(&self.0, Some(self.1.elapsed()));
        Ok(Some(Ran { ms: on_device.map_or(f64::NAN, timer::ms), on_device, ..Ran::default() }))
    }
}
