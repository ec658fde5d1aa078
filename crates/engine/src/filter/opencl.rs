//! Filters that run as OpenCL kernels, on RGBA pictures or on planes: one filter, or a stack of them.

use std::ops::Range;
use std::time::Instant;

use super::{BAND_MS, BandTimes, FilterShape, FinishedBand, FrameFilter, PassOf, RunningBand};
use base::error::Result;
use box_filter::Plan;
use opencl::cl::{Event, Queue, flush};
use opencl::event::{Waker, is_complete, wake_after};
use opencl::memory::Picture;
use opencl::timer;
use opencl::transfer::enqueue_copy;
use stats::{FilterWork, KernelsId, Span, Stage};

/// The OpenCL commands that filter one picture, and the queue in which they run.
pub(crate) struct Kernels {
    steps: Vec<Step>,
    /// For each pass, the step to which it belongs, and its index there.
    passes: Vec<(usize, usize)>,
    queue: Queue,
}

/// A step of [`Kernels`].
pub(crate) enum Step {
    /// The kernels of the chosen variant.
    Chosen(Plan),
    /// The kernels of a layer of the stack, with its index.
    Layer(usize, KernelsId, Plan),
    /// A copy between a buffer and an image, where two filters use different kinds of memory.
    Copy { from: Picture, to: Picture, rows: u32 },
}

impl Step {
    /// Returns the kernels, bound to a picture; `None` for a copy.
    fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Chosen(plan) | Self::Layer(.., plan) => Some(plan),
            Self::Copy { .. } => None,
        }
    }
}

impl Kernels {
    /// Creates a filter of these steps, which run in their order in `queue`.
    pub(crate) fn new(steps: Vec<Step>, queue: Queue) -> Self {
        let count = |step: &Step| step.plan().map_or(1, Plan::passes);
        let passes = steps.iter().enumerate();
        let passes = passes.flat_map(|(at, step)| (0..count(step)).map(move |pass| (at, pass))).collect();
        Self { steps, passes, queue }
    }

    /// Returns the plan of the chosen variant; `None` if only other filters of the stack run.
    fn chosen(&self) -> Option<&Plan> {
        self.steps.iter().find_map(|step| if let Step::Chosen(plan) = step { Some(plan) } else { None })
    }
}

impl FrameFilter for Kernels {
    /// Returns the passes with their work in the unit of the variants' formulas.
    fn shape(&self) -> FilterShape {
        let rows = match &self.steps[0] {
            Step::Copy { rows, .. } => *rows,
            Step::Chosen(plan) | Step::Layer(.., plan) => plan.rows(),
        };
        let pass = |(at, pass): &(usize, usize)| match self.steps[*at].plan() {
            Some(plan) => (plan.row_step(*pass).unwrap_or(rows), plan.work(*pass)),
            // Not divided.
            None => (rows, f64::from(rows)),
        };
        FilterShape { rows, band_ms: BAND_MS, passes: self.passes.iter().map(pass).collect() }
    }

    fn pass_of(&self, pass: usize) -> PassOf {
        let (at, pass) = self.passes[pass];
        match &self.steps[at] {
            Step::Chosen(_) => PassOf::Chosen(pass),
            Step::Layer(index, kernels, _) => PassOf::Layer(*index, *kernels, pass),
            Step::Copy { .. } => PassOf::Copy,
        }
    }

    /// Enqueues the kernel of a pass for these rows, or a copy.
    fn start(&mut self, pass: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<RunningBand> {
        let began = Instant::now();
        let (at, pass) = self.passes[pass];
        let event: Event = match &self.steps[at] {
            Step::Chosen(plan) | Step::Layer(.., plan) => plan.enqueue(&self.queue, pass, rows)?,
            Step::Copy { from, to, .. } => enqueue_copy(&self.queue, from, to)?,
        };
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

    /// Returns the bytes and operations of the chosen variant's bands by the formulas of its kernels; `None` for kernels on planes.
    fn explain(&self, bands: &[FinishedBand]) -> Option<FilterWork> {
        let plan = self.chosen().filter(|plan| !plan.reads_planes())?;
        let of_chosen = |band: &FinishedBand| match self.pass_of(band.pass) {
            PassOf::Chosen(pass) => Some(FinishedBand { pass, ..*band }),
            PassOf::Layer(..) | PassOf::Copy => None,
        };
        let bands: Vec<FinishedBand> = bands.iter().filter_map(of_chosen).collect();
        let mut pass_ms = vec![0.0; plan.passes()];
        for band in &bands {
            *pass_ms.get_mut(band.pass)? += band.device_ms;
        }
        let work = plan.kernel_work(bands.iter().map(|band| (band.pass, band.rows)));
        Some(FilterWork { config: plan.config().clone(), work, pass_ms })
    }
}
