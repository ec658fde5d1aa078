//! One frame's commands on the device, and what they took.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::Slot;
use super::estimate::Estimate;
use super::plans::Key;
use crate::color::Correction;
use crate::color::Matrix;
use crate::error::{Error, Result};
use crate::gpu::event::is_complete;
use crate::gpu::memory::Picture;
use crate::gpu::timer::{self, DeviceClock};
use crate::ladders::box_filter::Plan;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::planar::PlanarPlan;
use crate::stats::{Lane, Span, Stage};

/// Part of a pass that is in the queue.
pub(super) struct Band {
    pub(super) event: ocl::Event,
    pub(super) pass: usize,
    pub(super) work: f64,
    pub(super) predicted_ms: f64,
}

/// One frame's commands on the device.
pub struct Job {
    pub(super) variant: VariantId,
    pub(super) colors: Option<Colors>,
    /// The filter, which goes back to the slot in the end; `None` where the picture is converted or corrected only.
    pub(super) plan: Option<(Key, Filter)>,
    /// The filtered buffer that is to be copied into the texture, on the device.
    pub(super) to_copy: Option<Picture>,
    pub(super) to_texture: bool,
    /// The next rows to enqueue: pass and first row; the pass is past the last one when all are in the queue.
    pub(super) next: (usize, u32),
    pub(super) bands: VecDeque<Band>,
    pub(super) events: Events,
    pub(super) cancelled: bool,
    pub(super) started: Option<Instant>,
    pub(super) estimate: Estimate,
    /// How long after the start the last finished band was over.
    pub(super) band_after: Duration,
    pub(super) predicted_ms: f64,
    /// What the finished steps took.
    pub times: JobTimes,
    /// When each finished band ran, on the device's clock.
    pub(super) bands_ns: Vec<(u64, u64)>,
    /// When the finished steps ran.
    pub spans: Vec<Span>,
}

/// The filter of a job.
pub(super) enum Filter {
    /// After the conversion, on RGBA.
    Pixels(Plan),
    /// Before the conversion, on the slot's planes.
    Planes(Box<PlanarPlan>),
}

impl Filter {
    pub(super) fn passes(&self) -> usize {
        match self {
            Filter::Pixels(plan) => plan.passes(),
            Filter::Planes(_) => 1,
        }
    }

    pub(super) fn rows(&self) -> u32 {
        match self {
            Filter::Pixels(plan) => plan.rows(),
            Filter::Planes(plan) => plan.rows(),
        }
    }

    pub(super) fn row_step(&self, pass: usize) -> u32 {
        match self {
            Filter::Pixels(plan) => plan.row_step(pass),
            Filter::Planes(plan) => plan.row_step(),
        }
    }

    pub(super) fn work(&self, pass: usize) -> f64 {
        match self {
            Filter::Pixels(plan) => plan.work(pass),
            Filter::Planes(plan) => plan.work(),
        }
    }

    pub(super) fn enqueue(
        &self,
        queue: &ocl::Queue,
        slot: &Slot,
        pass: usize,
        rows: Range<u32>,
    ) -> Result<ocl::Event> {
        match self {
            Filter::Pixels(plan) => plan.enqueue(queue, pass, rows),
            Filter::Planes(plan) => plan.enqueue(queue, slot.planes_on_device()?, rows),
        }
    }
}

/// When a command ran, on the device's clock; within, whether the driver tells, and without, whether there was one.
type Step = Option<Option<(u64, u64)>>;

/// When the commands around the filter ran.
pub(super) struct Ran {
    pub(super) upload: Step,
    pub(super) acquire: Step,
    pub(super) colors: Step,
    pub(super) copied: Step,
    pub(super) last: Step,
}

/// What is said when a band fails.
pub(super) const FILTER_FAILED: &str = "The filter failed on the device.";
/// … and when a frame's last command does.
pub(super) const RETURN_FAILED: &str = "A filtered frame could not be had back from the device.";

/// The commands around the filter.
#[derive(Default)]
pub(super) struct Events {
    pub(super) upload: Option<ocl::Event>,
    pub(super) acquire: Option<ocl::Event>,
    pub(super) colors: Option<ocl::Event>,
    pub(super) copied: Option<ocl::Event>,
    /// The last command: when it is complete, all are.
    pub(super) last: Option<ocl::Event>,
    /// The command that was enqueued in the shortest time, and before and after that.
    noted: Option<(ocl::Event, Instant, Instant)>,
}

/// Device times of a finished job's steps, in milliseconds; of `acquire` and `release` also what the host waited. 0 where there
/// is no such step; not a number where the driver does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobTimes {
    /// Planes or picture to the device.
    pub upload: f64,
    /// The texture to OpenCL.
    pub acquire: f64,
    /// Planes to RGBA.
    pub convert: f64,
    /// The colour correction; where the conversion's kernel does it, what that takes longer than without.
    pub correct: f64,
    /// All bands of all passes.
    pub filter: f64,
    /// The picture to OpenGL: the copy into the texture and its release, or the download.
    pub release: f64,
}

/// What is done to the colours of a frame before the filter, or after one on planes, and where.
pub(super) enum Colors {
    Convert { correction: Correction, to: Picture },
    Correct { correction: Correction, matrix: Matrix, size: (u32, u32), from: Picture, to: Picture },
}

/// What the kernel for a frame's colours is called.
fn colors_stage(colors: &Option<Colors>) -> Stage {
    match colors {
        Some(Colors::Correct { .. }) => Stage::Correct,
        _ => Stage::Convert,
    }
}

impl Job {
    pub(super) fn passes(&self) -> usize {
        self.plan.as_ref().map_or(0, |(_, plan)| plan.passes())
    }

    /// Notes that a command has been enqueued since `before`: the shorter that took, the better the device's clock can be
    /// told from it.
    pub(super) fn enqueued(&mut self, event: &ocl::Event, before: Instant) {
        let after = Instant::now();
        let shortest = self.events.noted.as_ref().map(|(_, before, after)| after.duration_since(*before));
        if shortest.is_none_or(|shortest| after.duration_since(before) < shortest) {
            self.events.noted = Some((event.clone(), before, after));
        }
    }

    /// A command failed: the first one that did, since all after it fail with it.
    pub(super) fn first_failure(&self, seen: Error) -> Error {
        let events = &self.events;
        let colors = match self.colors {
            Some(Colors::Correct { .. }) => "The correction of a frame's colours failed on the device.",
            _ => "The conversion of a frame failed on the device.",
        };
        let before = [
            (&events.upload, "A frame could not be brought to the device."),
            (&events.acquire, "A texture could not be handed over to OpenCL."),
            (if self.converts_last() { &None } else { &events.colors }, colors),
        ];
        let bands = self.bands.iter().map(|band| (&band.event, FILTER_FAILED));
        let after = [
            (if self.converts_last() { &events.colors } else { &None }, colors),
            (&events.copied, "A filtered frame could not be copied into its texture."),
        ];
        let known = |(event, what): (&'_ Option<ocl::Event>, &'static str)| Some((event.clone()?, what));
        let before = before.into_iter().filter_map(known);
        let after = after.into_iter().filter_map(known);
        let bands = bands.map(|(event, what)| (event.clone(), what));
        let mut steps = before.chain(bands).chain(after);
        steps.find_map(|(event, what)| is_complete(&event, what).err()).unwrap_or(seen)
    }

    /// Whether the planes are filtered before they are converted.
    fn converts_last(&self) -> bool {
        matches!(self.plan, Some((_, Filter::Planes(_))))
    }

    /// Notes when a finished band ran; a driver that does not tell leaves it at when that was seen. What it took, in
    /// milliseconds; not a number where that is not known.
    pub(super) fn band_ran(&mut self, band: &Band) -> f64 {
        let seen = self.started.map_or(Duration::ZERO, |at| at.elapsed());
        let (ran, ms) = match timer::span_ns(&band.event) {
            Ok((start, end)) => {
                self.bands_ns.push((start, end));
                ((start, end), timer::ms((start, end)))
            }
            Err(_) => ((self.band_after.as_nanos() as u64, seen.as_nanos() as u64), f64::NAN),
        };
        self.estimate.band(band.pass, band.work, ran);
        self.band_after = seen;
        ms
    }

    /// When the steps of a finished job ran, as the driver tells it: not known where there is none, or it does not tell.
    pub(super) fn ran(&self) -> Ran {
        let told = |event: &Option<ocl::Event>| Some(timer::span_ns(event.as_ref()?).ok());
        let Events { upload, acquire, colors, copied, last, .. } = &self.events;
        Ran {
            upload: told(upload),
            acquire: told(acquire),
            colors: told(colors),
            copied: told(copied),
            last: told(last),
        }
    }

    /// Notes when the steps of a finished job ran on the device, each band by itself. A driver that does not tell leaves
    /// none.
    pub(super) fn note_spans(&mut self, uploads: Lane, ran: &Ran, clock: &mut DeviceClock) {
        let events = &self.events;
        let Some((event, before, after)) = &events.noted else { return };
        if clock.look(event, *before, *after).is_err() {
            return;
        }
        // A conversion that corrects too: what that takes longer stands at its end.
        let corrects_too = |(from, to): (u64, u64)| {
            let ns = (self.times.correct * 1e6) as u64;
            (colors_stage(&self.colors) == Stage::Convert && ns > 0)
                .then(|| (to.saturating_sub(ns).max(from), to))
        };
        let corrected = ran.colors.map(|told| told.and_then(corrects_too));
        let steps = [
            (Stage::Upload, uploads, ran.upload),
            (Stage::Acquire, Lane::Device, ran.acquire),
            (colors_stage(&self.colors), Lane::Device, ran.colors),
            (Stage::Correct, Lane::Device, corrected),
            (Stage::Release, Lane::Device, ran.copied),
            (Stage::Release, Lane::Device, ran.last),
        ];
        let ran = steps.into_iter().filter_map(|(stage, lane, ran)| Some((stage, lane, ran??)));
        let bands = self.bands_ns.drain(..).map(|ns| (Stage::Filter, Lane::Device, ns));
        self.spans.extend(ran.chain(bands).filter_map(|(stage, lane, (from, to))| {
            Some(Span { stage, lane, from: clock.instant(from)?, to: clock.instant(to)? })
        }));
    }

    /// Drops the bands that are not in the queue yet. The job ends when those that are have finished.
    pub(crate) fn cancel(&mut self) {
        if self.events.last.is_none() {
            self.cancelled = true;
        }
    }

    /// Whether all of its commands are in the queue. Until then no other job may be started.
    pub(crate) fn is_all_enqueued(&self) -> bool {
        self.events.last.is_some()
    }

    /// Whether its picture is in the slot's texture when it is done.
    pub(crate) fn fills_texture(&self) -> bool {
        self.to_texture
    }

    /// Whether anything of it is or was on the device.
    pub(crate) fn was_started(&self) -> bool {
        self.started.is_some()
    }

    /// Predicted time of what is left to do, in milliseconds: a guess, where nothing is known.
    pub(crate) fn remaining_ms(&self) -> f64 {
        let left = || self.predicted_ms * (1.0 - self.fraction());
        self.total_s().map_or_else(left, |total| (total - self.elapsed_s()).max(0.0) * 1e3)
    }

    /// Device time of the whole frame as it was predicted before it began, in milliseconds: a guess, where nothing was known.
    pub(crate) fn predicted_ms(&self) -> f64 {
        self.predicted_ms
    }

    /// Part of the filter's work that is done, 0 to 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.estimate.fraction()
    }

    /// Time since the job was started, in seconds; 0 before.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.started.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }

    /// The best prediction of the whole frame's time: what was measured so far and is still to come, in seconds; `None`
    /// while nothing was measured.
    pub(crate) fn total_s(&self) -> Option<f64> {
        self.estimate.left_ms().map(|ms| (self.band_after.as_secs_f64() + ms / 1e3).max(self.elapsed_s()))
    }
}
