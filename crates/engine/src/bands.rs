//! Runs a frame's filter in bands of rows, for all kinds of filters alike. About two bands at a time are in flight (started and
//! not finished), until the whole picture is filtered. The measured times of finished bands determine how many rows the next
//! bands have.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::estimate::Estimate;
use super::filter::{BandTimes, FilterShape, FinishedBand, FrameFilter, PassOf, RunningBand};
use super::request::FilterTimes;
use super::speed_model::SpeedModel;
use base::error::Result;
use box_filter::VariantId;
use opencl::event::Waker;
use stats::{KernelsId, Span};

/// A band of rows that one pass of the filter has started.
struct Band {
    running: RunningBand,
    pass: usize,
    rows: u32,
    work: f64,
    predicted_ms: f64,
}

/// The filter of one frame, run in bands of rows.
pub struct Bands {
    kernels: KernelsId,
    pub(super) filter: Box<dyn FrameFilter>,
    shape: FilterShape,
    /// The index of the pass and the first row of the band to start next. The index equals the number of passes once all bands
    /// have been started.
    next: (usize, u32),
    in_flight: VecDeque<Band>,
    cancelled: bool,
    estimate: Estimate,
    /// The prediction, made before the start, of the whole frame's device time in milliseconds. The prediction is a guess if no frame of
    /// this variant has been measured.
    pub(super) predicted_ms: f64,
    /// The time from the frame's start until the last finished band was noticed.
    last_after: Duration,
    took: FilterTimes,
    finished: Vec<FinishedBand>,
}

impl Bands {
    /// Creates the bands of a frame and predicts their total time from `speeds`. No band is started yet.
    pub fn new(kernels: KernelsId, filter: Box<dyn FrameFilter>, speeds: &SpeedModel) -> Self {
        let shape = filter.shape();
        let passes = || shape.passes.iter().enumerate();
        let learned = |pass| learned_by(kernels, filter.pass_of(pass));
        let known = passes().map(|(pass, (_, work))| (*work, speeds.ns_per_unit(learned(pass))));
        let predicted = passes().map(|(pass, (_, work))| speeds.predict_ms(learned(pass), *work));
        Self {
            kernels,
            next: (0, 0),
            in_flight: VecDeque::new(),
            cancelled: false,
            estimate: Estimate::new(known),
            predicted_ms: predicted.sum(),
            last_after: Duration::ZERO,
            took: FilterTimes::default(),
            finished: Vec::new(),
            shape,
            filter,
        }
    }

    /// Starts further bands of rows until about two are in flight. Returns true if it started at least one. `waker` is called when a long
    /// band finishes.
    ///
    /// # Errors
    /// If the back end cannot start a band.
    pub fn start_bands(&mut self, speeds: &SpeedModel, waker: &Waker) -> Result<bool> {
        let mut any = false;
        while let Some((pass, rows)) = self.next_band(speeds) {
            let FilterShape { rows: all, band_ms, .. } = self.shape;
            let work = self.shape.passes[pass].1 * rows.len() as f64 / f64::from(all.max(1));
            let predicted_ms = speeds.predict_ms(self.learned(pass), work);
            if !self.in_flight.is_empty() && self.in_flight_ms() + predicted_ms > 2.0 * band_ms {
                break;
            }
            let waker = Some(waker).filter(|_| predicted_ms > band_ms / 2.0);
            let running = self.filter.start(pass, rows.clone(), waker)?;
            let height = rows.end - rows.start;
            self.in_flight.push_back(Band { running, pass, rows: height, work, predicted_ms });
            self.next = if rows.end >= all { (pass + 1, 0) } else { (pass, rows.end) };
            any = true;
        }
        Ok(any)
    }

    /// Returns the pass and the rows of the next band. The band has as many rows as are predicted to take no longer than
    /// the filter's limit for one band. Returns `None` if all bands have been started.
    fn next_band(&self, speeds: &SpeedModel) -> Option<(usize, Range<u32>)> {
        let (pass, first) = self.next;
        let FilterShape { rows: all, band_ms, .. } = self.shape;
        let (step, work) = *self.shape.passes.get(pass).filter(|_| !self.cancelled)?;
        let step = step.max(1);
        let row_ms = speeds.predict_ms(self.learned(pass), work) / f64::from(all.max(1));
        let fit = (band_ms / row_ms.max(1e-9)).min(f64::from(all)) as u32;
        let (rows, left) = ((fit / step).max(1).saturating_mul(step), all.saturating_sub(first));
        // Remaining rows that fit belong to this band, instead of making another one.
        let rows = if left <= fit { left } else { rows };
        Some((pass, first..all.min(first.saturating_add(rows))))
    }

    /// Polls the bands in flight, records the times of those that have finished, and updates `speeds` with them. `elapsed` is the time since
    /// the frame was started. Never waits.
    ///
    /// # Errors
    /// If a band failed.
    pub fn poll(&mut self, speeds: &mut SpeedModel, elapsed: Duration) -> Result<()> {
        while let Some(band) = self.in_flight.front_mut() {
            let Some(ran) = (band.running)()? else { break };
            let Some(band) = self.in_flight.pop_front() else { break };
            self.cancelled |= ran.cancelled;
            let ran = self.without_wait(ran);
            self.record(&band, &ran, elapsed);
            speeds.record(self.learned(band.pass), ran.ms * 1e6 / band.work);
        }
        Ok(())
    }

    /// Returns the kernels and their pass whose measured speed predicts the times of a pass.
    fn learned(&self, pass: usize) -> (KernelsId, usize) {
        learned_by(self.kernels, self.filter.pass_of(pass))
    }

    /// Returns the times of a band. If they are wall times, leaves out the time in which the band waited for the one before it.
    fn without_wait(&self, ran: BandTimes) -> BandTimes {
        match (ran.on_host, self.took.on_host) {
            (Some(span), Some(before)) if ran.by_wall => {
                let span = Span { from: span.from.max(before.to).min(span.to), ..span };
                BandTimes { ms: span.ms(), on_host: Some(span), ..ran }
            }
            _ => ran,
        }
    }

    /// Adds the times of a finished band to the frame's times and to the estimate of the remaining time. `elapsed` is the time
    /// since the frame was started.
    fn record(&mut self, band: &Band, ran: &BandTimes, elapsed: Duration) {
        // Without device times, a band is assumed to have run from the previous poll to this one.
        let seen = (self.last_after.as_nanos() as u64, elapsed.as_nanos() as u64);
        self.estimate.record_band(band.pass, band.work, ran.on_device.unwrap_or(seen));
        self.last_after = elapsed;
        let took = &mut self.took;
        took.by_wall |= ran.by_wall;
        match self.filter.pass_of(band.pass) {
            PassOf::Chosen(_) => {
                took.ms += ran.ms;
                took.on_device.extend(ran.on_device);
            }
            other => {
                took.stack_ms += ran.ms;
                took.stack_on_device.extend(ran.on_device);
                if let PassOf::Layer(index, ..) = other {
                    took.layer_ms[index] += ran.ms;
                }
            }
        }
        if let Some(span) = ran.on_host {
            took.on_host = Some(Span { from: took.on_host.map_or(span.from, |first| first.from), ..span });
        }
        let device_ms = if ran.by_wall { f64::NAN } else { ran.ms };
        self.finished.push(FinishedBand { pass: band.pass, rows: band.rows, device_ms });
    }

    /// Returns true if every band has been started, or if the filter was cancelled and starts no more.
    pub(crate) fn all_started(&self) -> bool {
        self.cancelled || self.next.0 >= self.shape.passes.len()
    }

    /// Returns true if no band is left to start and none is in flight.
    pub fn is_over(&self) -> bool {
        self.all_started() && self.in_flight.is_empty()
    }

    /// Returns true if the filter was cancelled before every band had been started or run.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Stops starting further bands. Bands in flight run to their end unless the filter can drop them.
    pub fn cancel(&mut self) {
        self.cancelled |= !self.all_started();
        self.filter.cancel();
    }

    /// Returns the error of the first band in flight that has failed, if any.
    pub(super) fn failure(&mut self) -> Option<base::error::Error> {
        self.in_flight.iter_mut().find_map(|band| (band.running)().err())
    }

    /// Returns the sum of the times of the finished bands, in milliseconds; NaN if unknown.
    pub fn filter_ms(&self) -> f64 {
        self.took.ms
    }

    /// Returns the times of the bands that have finished so far.
    pub(super) fn filter_times(&self) -> FilterTimes {
        FilterTimes { work: self.filter.explain(&self.finished).map(Arc::new), ..self.took.clone() }
    }

    /// Returns the predicted time of all bands in flight, in milliseconds.
    pub(super) fn in_flight_ms(&self) -> f64 {
        self.in_flight.iter().map(|band| band.predicted_ms).sum()
    }

    /// Returns the part of the frame's filter work that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.estimate.fraction()
    }

    /// Returns the predicted time of the whole frame from its start, in seconds: the measured time of the finished bands plus the
    /// predicted time of the others. Returns `None` before anything was measured.
    pub(super) fn total_s(&self) -> Option<f64> {
        self.estimate.remaining_ms().map(|ms| self.last_after.as_secs_f64() + ms / 1e3)
    }
}

/// Returns the kernels and their pass whose measured speed predicts the times of a pass, in a frame with these kernels of the chosen
/// variant.
fn learned_by(kernels: KernelsId, pass: PassOf) -> (KernelsId, usize) {
    match pass {
        PassOf::Chosen(pass) => (kernels, pass),
        PassOf::Layer(_, kernels, pass) => (kernels, pass),
        PassOf::Copy => ((VariantId::OFF, None), 0),
    }
}
