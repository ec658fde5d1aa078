//! The loop over a filter's bands, the same for all filters. In: a filter that is prepared, and what is known about
//! its pace. Out: its bands begun, about two at a time, until the last one is over; and what that took.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::estimate::Estimate;
use super::filter::{FrameFilter, Ran, Running};
use super::pace::Pace;
use super::scopes::OnHost;
use crate::stats::Span;
use base::error::Result;
use box_filter::VariantId;
use opencl::event::Waker;

/// Part of a pass that has been started.
struct Band {
    running: Box<dyn Running>,
    pass: usize,
    work: f64,
    predicted_ms: f64,
}

/// A filter on its way over one frame.
pub struct Bands {
    variant: VariantId,
    filter: Box<dyn FrameFilter>,
    /// The next rows to begin: pass and first row; the pass is past the last one when all have begun.
    next: (usize, u32),
    begun: VecDeque<Band>,
    cancelled: bool,
    estimate: Estimate,
    predicted_ms: f64,
    /// How long after the frame's start the last finished band was over.
    last_after: Duration,
    took: Took,
}

/// What the finished bands took.
#[derive(Debug, Clone, Default)]
pub(super) struct Took {
    /// All bands of all passes, in milliseconds.
    pub(super) ms: f64,
    /// Some of that is wall time.
    pub(super) by_wall: bool,
    /// When each ran on the device, on its clock, in nanoseconds.
    pub(super) on_device: Vec<(u64, u64)>,
    /// When they ran on the host.
    pub(super) on_host: Option<Span>,
}

impl Bands {
    /// Nothing begins yet; what it will take is predicted.
    pub fn new(variant: VariantId, filter: Box<dyn FrameFilter>, pace: &Pace) -> Self {
        let passes = (0..filter.passes()).map(|pass| (filter.work(pass), pace.known(variant, pass)));
        let predicted = |pass| pace.ms(variant, pass, filter.work(pass));
        Self {
            variant,
            next: (0, 0),
            begun: VecDeque::new(),
            cancelled: false,
            estimate: Estimate::new(passes),
            predicted_ms: (0..filter.passes()).map(predicted).sum(),
            last_after: Duration::ZERO,
            took: Took::default(),
            filter,
        }
    }

    /// Begins bands until about two are on their way; returns whether any was. `waker` is called after long ones.
    ///
    /// # Errors
    /// When the back end refuses.
    pub fn begin(&mut self, pace: &Pace, waker: &Waker) -> Result<bool> {
        let mut any = false;
        while let Some((pass, rows)) = self.next_band(pace) {
            let all = self.filter.rows();
            let work = self.filter.work(pass) * rows.len() as f64 / f64::from(all.max(1));
            let predicted_ms = pace.ms(self.variant, pass, work);
            if !self.begun.is_empty() && self.awaited_ms() + predicted_ms > 2.0 * self.filter.band_ms() {
                break;
            }
            let waker = Some(waker).filter(|_| predicted_ms > self.filter.band_ms() / 2.0);
            let running = self.filter.start(pass, rows.clone(), waker)?;
            self.begun.push_back(Band { running, pass, work, predicted_ms });
            self.next = if rows.end >= all { (pass + 1, 0) } else { (pass, rows.end) };
            any = true;
        }
        Ok(any)
    }

    /// The rows that come next, as many as are predicted to take as long as a band may.
    fn next_band(&self, pace: &Pace) -> Option<(usize, Range<u32>)> {
        if self.all_begun() {
            return None;
        }
        let ((pass, first), all) = (self.next, self.filter.rows());
        let step = self.filter.row_step(pass).max(1);
        let row_ms = pace.ms(self.variant, pass, self.filter.work(pass)) / f64::from(all.max(1));
        let fit = (self.filter.band_ms() / row_ms.max(1e-9)).min(f64::from(all)) as u32;
        let (rows, left) = ((fit / step).max(1).saturating_mul(step), all.saturating_sub(first));
        // What is left is no band of its own where it fits.
        let rows = if left <= fit { left } else { rows };
        Some((pass, first..all.min(first.saturating_add(rows))))
    }

    /// Looks which bands are over, `elapsed` after the frame's start, and learns from them. Never waits.
    ///
    /// # Errors
    /// When one failed.
    pub fn look(&mut self, pace: &mut Pace, elapsed: Duration) -> Result<()> {
        while let Some(band) = self.begun.front_mut() {
            let Some(ran) = band.running.poll()? else { break };
            let Some(band) = self.begun.pop_front() else { break };
            self.cancelled |= ran.cancelled;
            self.note(&band, &ran, elapsed);
            pace.learn(self.variant, band.pass, band.work, ran.ms);
        }
        Ok(())
    }

    fn note(&mut self, band: &Band, ran: &Ran, elapsed: Duration) {
        // Who does not tell leaves it at when that was seen.
        let seen = (self.last_after.as_nanos() as u64, elapsed.as_nanos() as u64);
        self.estimate.band(band.pass, band.work, ran.on_device.unwrap_or(seen));
        self.last_after = elapsed;
        let took = &mut self.took;
        took.ms += ran.ms;
        took.by_wall |= ran.by_wall;
        took.on_host = ran.on_host.or(took.on_host);
        took.on_device.extend(ran.on_device);
    }

    /// Whether no band is left to begin.
    pub(crate) fn all_begun(&self) -> bool {
        self.cancelled || self.next.0 >= self.filter.passes()
    }

    /// Whether all bands are over, and none is left to begin.
    pub fn is_over(&self) -> bool {
        self.all_begun() && self.begun.is_empty()
    }

    /// Whether it was cancelled before all of it had begun.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Begins no more bands. Those that have begun go on to their end.
    pub fn cancel(&mut self) {
        self.cancelled |= !self.all_begun();
        self.filter.cancel();
    }

    /// Has the back end begin.
    ///
    /// # Errors
    /// When it refuses.
    pub(super) fn flush(&self) -> Result<()> {
        self.filter.flush()
    }

    /// The failure of a band that has begun, if one has failed.
    pub(super) fn failure(&mut self) -> Option<base::error::Error> {
        self.begun.iter_mut().find_map(|band| band.running.poll().err())
    }

    /// What the finished bands took, in milliseconds; not a number where nobody tells.
    pub fn filter_ms(&self) -> f64 {
        self.took.ms
    }

    /// What the finished bands took.
    pub(super) fn took(&self) -> Took {
        self.took.clone()
    }

    /// Device time of the whole frame as it was predicted before it began, in milliseconds: a guess, where nothing was
    /// known.
    pub(crate) fn predicted_ms(&self) -> f64 {
        self.predicted_ms
    }

    /// What the bands that have begun were predicted to take, in milliseconds.
    pub(super) fn awaited_ms(&self) -> f64 {
        self.begun.iter().map(|band| band.predicted_ms).sum()
    }

    /// Part of the work that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.estimate.fraction()
    }

    /// The best prediction of the whole frame's time, in seconds: what was measured so far and is still to come;
    /// `None` while nothing was measured.
    pub(super) fn total_s(&self) -> Option<f64> {
        self.estimate.left_ms().map(|ms| self.last_after.as_secs_f64() + ms / 1e3)
    }

    /// The filtered picture, where the filter has it in memory of its own.
    pub(super) fn take_picture(&mut self) -> Option<Vec<u8>> {
        self.filter.take_picture()
    }

    /// What was measured on the host, when the last band is over.
    pub(super) fn take_measured(&mut self) -> Option<OnHost> {
        self.filter.take_measured()
    }

    /// The filter, for another frame.
    pub(super) fn into_filter(self) -> Box<dyn FrameFilter> {
        self.filter
    }
}
