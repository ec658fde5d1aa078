//! The box filter in Rust, which runs on a thread of its own and is polled.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::{BAND_MS, BandTimes, FilterShape, FrameFilter, HostMeasurements, RunningBand};
use crate::Slot;
use base::error::{Error, Result};
use base::jobs::{Job, Reporter, Waker};
use base::memory::{rgba_bytes, zeroed};
use box_filter::native::{Input, Lanes, Threads, all_threads};
use opencl::host_block::HostBlock;
use stats::{Measurements, Request, Span, Stage};

/// The thread that runs the Rust filter, one picture after the other. It uses all CPU cores.
pub(crate) struct NativeFilter {
    requests: Sender<FilterRequest>,
    /// The filter's thread. It ends when all senders of requests are dropped.
    _job: Job<()>,
}

/// A request to the filter's thread to filter one picture.
struct FilterRequest {
    src: Arc<HostBlock>,
    dst: Vec<u8>,
    size: (u32, u32),
    radius: u32,
    measurements: Measurements,
    cancelled: Arc<AtomicBool>,
    result: Sender<FilterResult>,
}

/// The result of filtering one picture: its memory, the interval in which the filter ran (`None` if it was cancelled), and the
/// measurements.
type FilterResult = Result<(Vec<u8>, Option<Span>, HostMeasurements)>;

/// The Rust filter, prepared for one picture.
pub(super) struct PreparedNative {
    requests: Sender<FilterRequest>,
    /// The request for the filter's thread, and the receiver of its result; `None` once it was sent.
    request: Option<(FilterRequest, Receiver<FilterResult>)>,
    cancelled: Arc<AtomicBool>,
    size: (u32, u32),
    filtered: SharedResult,
}

/// The filtered picture and its measurements. The prepared filter and its running band share them.
type SharedResult = Rc<RefCell<(Option<Vec<u8>>, Option<HostMeasurements>)>>;

impl NativeFilter {
    /// Starts the filter's thread. It ends when this object and all filters that it prepared are dropped. `waker` is called after each
    /// picture.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn new(waker: Waker) -> Result<Self> {
        let (requests, received) = channel::<FilterRequest>();
        let theirs = waker.clone();
        let filter = move |_: &Reporter<()>| {
            let threads = Threads { count: all_threads(), lanes: Lanes::Vector };
            while let Ok(FilterRequest { src, mut dst, size, radius, measurements, cancelled, result }) =
                received.recv()
            {
                let outcome = if cancelled.load(Ordering::Relaxed) {
                    Ok((dst, None, HostMeasurements::default()))
                } else {
                    let began = Instant::now();
                    let filtered = Input { pixels: src.bytes(), size, radius }.filter(&mut dst, threads);
                    filtered.map(|()| {
                        let span = Span::since(Stage::Filter, began);
                        let measured = HostMeasurements::of(size, &mut dst, measurements);
                        (dst, Some(span), measured)
                    })
                };
                // Dropped before the result is sent, because the receiver may write into the source again.
                drop(src);
                // The receiver is gone if the frame was dropped or the window closes.
                let _ = result.send(outcome);
                theirs();
            }
            Ok(())
        };
        let job = Job::spawn("native", "The filter in Rust could not be started.", &waker, filter);
        if let Some(Err(error)) = job.wait(Duration::ZERO) {
            return Err(error);
        }
        Ok(Self { requests, _job: job })
    }

    /// Prepares the filter of the RGBA picture in a slot. The result goes into the memory of the slot's former picture if that is as
    /// large.
    ///
    /// # Errors
    /// If memory runs out, or the slot has no picture.
    pub(crate) fn prepare(
        &self,
        slot: &mut Slot,
        &Request { settings, measurements, .. }: &Request,
    ) -> Result<impl FrameFilter + use<>> {
        let (src, size, spare) = (slot.lend_input()?, slot.size, slot.host_picture.take());
        let bytes = src.bytes().len();
        let dst = spare.filter(|spare| spare.len() == bytes).map_or_else(|| zeroed(bytes), Ok)?;
        let (sender, result) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let (requests, theirs) = (self.requests.clone(), cancelled.clone());
        let radius = settings.first();
        let request =
            FilterRequest { src, dst, size, radius, measurements, cancelled: theirs, result: sender };
        let request = Some((request, result));
        Ok(PreparedNative { requests, request, cancelled, size, filtered: Rc::default() })
    }
}

impl FrameFilter for PreparedNative {
    /// Returns one pass in one band. The work is the size of the picture in bytes, because the radius does not change the time.
    fn shape(&self) -> FilterShape {
        let (rows, work) = (self.size.1, rgba_bytes(self.size) as f64);
        FilterShape { rows, band_ms: BAND_MS, passes: vec![(rows, work)] }
    }

    /// Sends the picture to the filter's thread. All rows are filtered, regardless of the requested band.
    fn start(&mut self, _: usize, _: Range<u32>, _: Option<&Waker>) -> Result<RunningBand> {
        let (request, result) = self.request.take().ok_or_else(thread_ended_error)?;
        self.requests.send(request).map_err(|_| thread_ended_error())?;
        let shared = self.filtered.clone();
        Ok(Box::new(move || match result.try_recv() {
            Ok(Ok((filtered, span, measured))) => {
                *shared.borrow_mut() = (Some(filtered), Some(measured));
                let ms = span.map_or(f64::NAN, |span| span.ms());
                let cancelled = span.is_none();
                Ok(Some(BandTimes { ms, by_wall: true, on_host: span, cancelled, ..BandTimes::default() }))
            }
            Ok(Err(error)) => Err(error),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(thread_ended_error()),
        }))
    }

    /// Makes the filter's thread skip the picture if it has not begun it.
    fn cancel(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns the filtered picture on the first call after it is finished, else `None`.
    fn take_picture(&mut self) -> Option<Vec<u8>> {
        self.filtered.borrow_mut().0.take()
    }

    /// Returns the measurements of the filtered picture on the first call after it is finished, else `None`.
    fn take_measurements(&mut self) -> Option<HostMeasurements> {
        self.filtered.borrow_mut().1.take()
    }
}

/// Returns the error for when the filter's thread has ended.
fn thread_ended_error() -> Error {
    Error::new("The filter in Rust failed.", "Its thread is gone.", "Choose another variant.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::pictures::noise;
    use box_filter::reference::reference;
    use box_filter::{MAX_RADIUS, named};
    use stats::{Readings, stretch};

    fn picture() -> Slot {
        let mut slot = Slot::in_memory(33, 9);
        slot.input().unwrap().copy_from_slice(&noise(33 * 9 * 4));
        slot
    }

    /// Polls a band until it has finished or failed.
    fn ended(mut poll: RunningBand) -> Result<BandTimes> {
        loop {
            if let Some(ran) = poll()? {
                return Ok(ran);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn pictures_are_filtered_and_impossible_or_cancelled_ones_end() {
        let filter = NativeFilter::new(Arc::new(|| {})).unwrap();
        let (mut slot, measurements) = (picture(), Measurements { readings: true, levels: true });
        for radius in [0, 3, MAX_RADIUS] {
            let request = Request { measurements, ..Request::new(named("native"), radius) };
            let mut task = filter.prepare(&mut slot, &request).unwrap();
            assert!(task.take_picture().is_none(), "not before it is started");
            let ran = ended(task.start(0, 0..9, None).unwrap()).unwrap();
            assert!(ran.by_wall && !ran.cancelled && ran.ms >= 0.0, "{ran:?}");
            let filtered = task.take_picture().unwrap();
            let src = slot.lend_input().unwrap();
            let mut right = reference(src.bytes(), 33, 9, radius as usize);
            let readings = Readings::reference((33, 9), &right);
            stretch(&mut right, readings.ends());
            assert!(filtered == right && task.take_measurements().unwrap().readings == Some(readings));
            assert_eq!(Arc::strong_count(&src), 2, "only the slot and this test have the source");
            slot.keep_host_picture(filtered);
        }
        let (mut slot, request) = (picture(), |radius| Request::new(named("native"), radius));
        let mut task = filter.prepare(&mut slot, &request(1)).unwrap();
        task.cancel();
        assert!(ended(task.start(0, 0..9, None).unwrap()).unwrap().cancelled);
        let mut wrong = filter.prepare(&mut slot, &request(MAX_RADIUS + 1)).unwrap();
        let error = ended(wrong.start(0, 0..9, None).unwrap()).unwrap_err();
        assert!(error.why.contains("33×9 pixels, radius 129"), "{error}");
    }
}
