//! The filter in Rust on a thread of its own. In: a picture in a slot's memory. Out: the filtered picture, which is
//! asked for from time to time.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Instant;

use super::{FrameFilter, OnHost, Ran, Running};
use crate::stats::{Span, Stage};
use base::error::{Error, Result};
use base::jobs::{Job, Teller, Waker};
use base::memory::zeroed;
use box_filter::native::{self, Lanes};
use opencl::host_block::HostBlock;

/// The thread that filters one picture after the other; it has the processor's other cores help it.
pub(crate) struct NativeFilter {
    orders: Sender<Order>,
    /// It ends with the orders.
    _job: Job<()>,
}

struct Order {
    src: Arc<HostBlock>,
    dst: Vec<u8>,
    size: (u32, u32),
    radius: u32,
    measures: Measures,
    cancelled: Arc<AtomicBool>,
    answer: Sender<Answer>,
}

/// What is to be done with the filtered picture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measures {
    /// Its luminance is measured.
    pub(crate) readings: bool,
    /// It is stretched by auto-levels.
    pub(crate) levels: bool,
}

/// The memory for the filtered picture, when that was filtered, `None` when it was cancelled, and what was measured of it.
type Answer = Result<(Vec<u8>, Option<Span>, OnHost)>;

/// A picture that is to be filtered.
pub(super) struct Native {
    orders: Sender<Order>,
    /// What is ordered when it is started.
    order: Option<Order>,
    answer: Option<Receiver<Answer>>,
    cancelled: Arc<AtomicBool>,
    rows: u32,
    bytes: usize,
    filtered: Filtered,
}

/// The filtered picture, and what was measured of it.
type Filtered = Rc<RefCell<(Option<Vec<u8>>, Option<OnHost>)>>;

impl NativeFilter {
    /// Starts the thread; it ends when this and all that it prepared go. `waker` is called after each picture.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn new(waker: Waker) -> Result<Self> {
        let (orders, received) = channel();
        let theirs = waker.clone();
        let filter = move |_: &Teller<()>| {
            run(&received, &theirs);
            Ok(())
        };
        let job = Job::spawn("native", "The filter in Rust could not be started.", &waker, filter)?;
        Ok(Self { orders, _job: job })
    }

    /// Prepares the filter of a picture of `size`; nothing runs yet. `spare` is memory for the result, if there is any.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn prepare(
        &self,
        src: Arc<HostBlock>,
        spare: Option<Vec<u8>>,
        size: (u32, u32),
        radius: u32,
        measures: Measures,
    ) -> Result<impl FrameFilter + use<>> {
        let bytes = src.bytes().len();
        let dst = spare.filter(|spare| spare.len() == bytes).map_or_else(|| zeroed(bytes), Ok)?;
        let (sender, answer) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let order = Order { src, dst, size, radius, measures, cancelled: cancelled.clone(), answer: sender };
        Ok(Native {
            orders: self.orders.clone(),
            order: Some(order),
            answer: Some(answer),
            cancelled,
            rows: size.1,
            bytes,
            filtered: Rc::default(),
        })
    }
}

impl FrameFilter for Native {
    fn rows(&self) -> u32 {
        self.rows
    }

    /// All rows at once.
    fn row_step(&self, _: usize) -> u32 {
        self.rows
    }

    /// Bytes: the radius costs nothing.
    fn work(&self, _: usize) -> f64 {
        self.bytes as f64
    }

    fn start(&mut self, _: usize, _: Range<u32>, _: Option<&Waker>) -> Result<Box<dyn Running>> {
        let (Some(order), Some(answer)) = (self.order.take(), self.answer.take()) else { return Err(gone()) };
        self.orders.send(order).map_err(|_| gone())?;
        Ok(Box::new(Ordered { answer, filtered: self.filtered.clone() }))
    }

    fn cancel(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    fn take_picture(&mut self) -> Option<Vec<u8>> {
        self.filtered.borrow_mut().0.take()
    }

    fn take_measured(&mut self) -> Option<OnHost> {
        self.filtered.borrow_mut().1.take()
    }
}

/// A picture that the thread has.
struct Ordered {
    answer: Receiver<Answer>,
    filtered: Filtered,
}

impl Running for Ordered {
    fn poll(&mut self) -> Result<Option<Ran>> {
        match self.answer.try_recv() {
            Ok(Ok((filtered, span, measured))) => {
                *self.filtered.borrow_mut() = (Some(filtered), Some(measured));
                let ms = span.map_or(f64::NAN, |span| span.ms());
                let cancelled = span.is_none();
                Ok(Some(Ran { ms, by_wall: true, on_host: span, cancelled, ..Ran::default() }))
            }
            Ok(Err(error)) => Err(error),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(gone()),
        }
    }
}

fn run(orders: &Receiver<Order>, waker: &Waker) {
    let threads = native::all_threads();
    while let Ok(Order { src, mut dst, size, radius, measures, cancelled, answer }) = orders.recv() {
        let answered = if cancelled.load(Ordering::Relaxed) {
            Ok((dst, None, OnHost::default()))
        } else {
            let began = Instant::now();
            let (width, height) = (size.0 as usize, size.1 as usize);
            let filtered =
                native::filter(src.bytes(), &mut dst, (width, height), radius, threads, Lanes::Vector);
            filtered.map(|()| {
                let span = Span::since(Stage::Filter, began);
                let measured = OnHost::of(size, &mut dst, measures.readings, measures.levels);
                (dst, Some(span), measured)
            })
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
    use crate::{Readings, stretch};
    use box_filter::MAX_RADIUS;
    use box_filter::pictures::noise;
    use box_filter::reference::reference;

    const BOTH: Measures = Measures { readings: true, levels: true };

    fn picture() -> Arc<HostBlock> {
        let mut block = HostBlock::new(33 * 9 * 4).unwrap();
        block.bytes_mut().copy_from_slice(&noise(33 * 9 * 4));
        Arc::new(block)
    }

    /// Asks until it is over, or has failed.
    fn ended(mut running: Box<dyn Running>) -> Result<Ran> {
        loop {
            match running.poll()? {
                None => std::thread::sleep(Duration::from_millis(1)),
                Some(ran) => return Ok(ran),
            }
        }
    }

    #[test]
    fn pictures_come_filtered_and_give_their_source_back() {
        let filter = NativeFilter::new(Arc::new(|| {})).unwrap();
        let src = picture();
        let mut spare = None;
        for radius in [0, 3, MAX_RADIUS] {
            let mut task = filter.prepare(src.clone(), spare.take(), (33, 9), radius, BOTH).unwrap();
            assert!(task.take_picture().is_none(), "not before it is started");
            let ran = ended(task.start(0, 0..9, None).unwrap()).unwrap();
            assert!(ran.by_wall && !ran.cancelled && ran.ms >= 0.0, "{ran:?}");
            let filtered = task.take_picture().unwrap();
            let mut right = reference(src.bytes(), 33, 9, radius as usize);
            let readings = Readings::reference((33, 9), &right);
            stretch(&mut right, readings.ends());
            assert!(filtered == right && task.take_measured().unwrap().readings == Some(readings));
            assert_eq!(Arc::strong_count(&src), 1, "the source may be written again");
            spare = Some(filtered);
        }
    }

    #[test]
    fn a_cancelled_picture_ends_and_an_impossible_one_is_an_error() {
        let filter = NativeFilter::new(Arc::new(|| {})).unwrap();
        let src = picture();
        let mut task = filter.prepare(src.clone(), None, (33, 9), 1, Measures::default()).unwrap();
        task.cancel();
        assert!(ended(task.start(0, 0..9, None).unwrap()).unwrap().cancelled);
        let mut wrong = filter.prepare(src.clone(), None, (34, 9), 1, Measures::default()).unwrap();
        let error = ended(wrong.start(0, 0..9, None).unwrap()).unwrap_err();
        assert!(error.why.contains("34×9"), "{error}");
    }
}
