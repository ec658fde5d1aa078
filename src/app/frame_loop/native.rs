//! The filter in Rust off the window's thread. In: a picture in a slot's memory. Out: a [`Task`], which is asked from
//! time to time whether the filtered picture is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::gpu::event::JobState;
use crate::gpu::event::Waker;
use crate::gpu::host_block::HostBlock;
use crate::ladders::box_filter::native::{self, Lanes};
use crate::memory::zeroed;
use crate::stats::{Span, Stage};

/// The thread that filters one picture after the other; it has the processor's other cores help it.
pub(super) struct NativeFilter {
    orders: Sender<Order>,
    /// Pictures that have been shown, to be written anew.
    spare: Vec<Vec<u8>>,
    /// What a frame took lately, in milliseconds a byte. The radius costs nothing.
    pace: f64,
}

struct Order {
    src: Arc<HostBlock>,
    dst: Vec<u8>,
    size: (u32, u32),
    radius: u32,
    cancelled: Arc<AtomicBool>,
    answer: Sender<Answer>,
}

/// The filtered picture, and when it was filtered; `None` when it was cancelled.
type Answer = Result<Option<(Vec<u8>, Span)>>;

/// A picture that is being filtered.
pub(super) struct Task {
    /// What is ordered when it is started.
    order: Option<Order>,
    answer: Receiver<Answer>,
    cancelled: Arc<AtomicBool>,
    started: Option<Instant>,
    predicted_ms: f64,
    filtered: Option<Vec<u8>>,
    ran: Option<Span>,
}

impl NativeFilter {
    /// Starts the thread; it ends when this goes. `waker` is called after each picture.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn new(waker: Waker) -> Result<Self> {
        let (orders, received) = channel();
        std::thread::Builder::new()
            .name("native".into())
            .spawn(move || run(&received, &waker))
            .map_err(|e| Error::new("The filter in Rust could not be started.", e.to_string(), ""))?;
        Ok(Self { orders, spare: Vec::new(), pace: 0.0 })
    }

    /// Prepares the filter of a picture of `size`; nothing runs yet.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn prepare(&mut self, src: Arc<HostBlock>, size: (u32, u32), radius: u32) -> Result<Task> {
        let bytes = src.bytes().len();
        self.spare.retain(|picture| picture.len() == bytes);
        let dst = self.spare.pop().map_or_else(|| zeroed(bytes), Ok)?;
        let (sender, answer) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let order = Order { src, dst, size, radius, cancelled: cancelled.clone(), answer: sender };
        let predicted_ms = self.pace * bytes as f64;
        let order = Some(order);
        Ok(Task { order, answer, cancelled, started: None, predicted_ms, filtered: None, ran: None })
    }

    /// Has the picture filtered after those that were started before.
    ///
    /// # Errors
    /// When the thread is gone.
    pub(crate) fn start(&self, task: &mut Task) -> Result<()> {
        task.started = Some(Instant::now());
        task.order.take().map_or(Ok(()), |order| self.orders.send(order).map_err(|_| gone()))
    }

    /// Learns from a task that is done, and keeps its picture's memory for another one.
    pub(crate) fn finished(&mut self, task: &mut Task) {
        if let Some(picture) = task.filtered.take() {
            self.pace = task.filter_ms() / picture.len().max(1) as f64;
            self.spare.push(picture);
        }
    }
}

impl Task {
    /// Whether it is done. Never waits.
    ///
    /// # Errors
    /// When the filter failed.
    pub(crate) fn advance(&mut self) -> Result<JobState> {
        match self.answer.try_recv() {
            Ok(Ok(Some((filtered, ran)))) => {
                (self.filtered, self.ran) = (Some(filtered), Some(ran));
                let cancelled = self.cancelled.load(Ordering::Relaxed);
                Ok(if cancelled { JobState::Cancelled } else { JobState::Done })
            }
            Ok(Ok(None)) => Ok(JobState::Cancelled),
            Ok(Err(error)) => Err(error),
            Err(TryRecvError::Empty) => Ok(JobState::Running),
            Err(TryRecvError::Disconnected) => Err(gone()),
        }
    }

    /// Does not filter it any more if that has not begun.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The filtered picture, once the task is done.
    pub(crate) fn filtered(&self) -> Option<&[u8]> {
        self.filtered.as_deref()
    }

    /// What the filter took, in milliseconds of wall time.
    pub(crate) fn filter_ms(&self) -> f64 {
        self.ran.map_or(0.0, |ran| ran.ms())
    }

    /// When it was filtered, once the task is done.
    pub(crate) fn ran(&self) -> Option<Span> {
        self.ran
    }

    /// What it is predicted to take, in milliseconds; 0 before the first one was measured.
    pub(crate) fn predicted_ms(&self) -> f64 {
        self.predicted_ms
    }

    /// Time since it was started, in seconds; 0 before.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.started.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }
}

fn run(orders: &Receiver<Order>, waker: &Waker) {
    let threads = native::all_threads();
    while let Ok(Order { src, mut dst, size, radius, cancelled, answer }) = orders.recv() {
        let answered = if cancelled.load(Ordering::Relaxed) {
            Ok(None)
        } else {
            let began = Instant::now();
            let size = (size.0 as usize, size.1 as usize);
            let filtered = native::filter(src.bytes(), &mut dst, size, radius, threads, Lanes::Vector);
            filtered.map(|()| Some((dst, Span::since(Stage::Filter, began))))
        };
        // Before the answer: who has it may write the source anew.
        drop(src);
        // Nobody listens when the window closes.
        let _ = answer.send(answered);
        waker();
    }
}

fn gone() -> Error {
    Error::new("The filter in Rust failed.", "Its thread is gone.", "Choose another variant.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ladders::box_filter::pictures::noise;
    use crate::ladders::box_filter::reference::reference;

    fn picture() -> Arc<HostBlock> {
        let mut block = HostBlock::new(33 * 9 * 4).unwrap();
        block.bytes_mut().copy_from_slice(&noise(33 * 9 * 4));
        Arc::new(block)
    }

    /// Asks until it is no longer running, and what it says then.
    fn ended(task: &mut Task) -> JobState {
        loop {
            match task.advance().unwrap() {
                JobState::Running => std::thread::sleep(Duration::from_millis(1)),
                state => return state,
            }
        }
    }

    #[test]
    fn pictures_come_filtered_and_give_their_memory_back() {
        let mut filter = NativeFilter::new(Arc::new(|| {})).unwrap();
        let src = picture();
        for radius in [0, 3, 128] {
            let mut task = filter.prepare(src.clone(), (33, 9), radius).unwrap();
            assert_eq!(task.advance().unwrap(), JobState::Running, "not before it is started");
            filter.start(&mut task).unwrap();
            assert_eq!(ended(&mut task), JobState::Done);
            assert!(task.filtered().unwrap() == reference(src.bytes(), 33, 9, radius as usize));
            assert_eq!(Arc::strong_count(&src), 1, "the source may be written again");
            filter.finished(&mut task);
            assert_eq!(filter.spare.len(), 1);
        }
    }

    #[test]
    fn a_cancelled_picture_ends_and_an_impossible_one_is_an_error() {
        let mut filter = NativeFilter::new(Arc::new(|| {})).unwrap();
        let src = picture();
        let mut task = filter.prepare(src.clone(), (33, 9), 1).unwrap();
        task.cancel();
        filter.start(&mut task).unwrap();
        assert_eq!(ended(&mut task), JobState::Cancelled);
        let mut wrong = filter.prepare(src.clone(), (34, 9), 1).unwrap();
        filter.start(&mut wrong).unwrap();
        let error = loop {
            match wrong.advance() {
                Ok(state) => assert_eq!(state, JobState::Running),
                Err(error) => break error,
            }
        };
        assert!(error.why.contains("34×9"), "{error}");
    }
}
