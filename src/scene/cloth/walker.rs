//! The thread that has the army. In: an order for each frame, and a vertex buffer of OpenGL's that nobody uses meanwhile. Out: a
//! report with what the steps took, and the army's vertices in that buffer or, where it cannot be shared, beside it.
//!
//! It makes its OpenCL calls on a queue of its own, so that neither the window nor the movie's frames wait for them, and it calls
//! no OpenGL. One order is under way at a time. A device that fails is left, and the army walks on by plain Rust.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::camera::{Point, Ray};
use super::pick;
use super::shares::{Handover, Shares};
use super::taken::{Begun, Taken};
use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use engine::sharing::vertex_buffer::VertexBuffer;
use engine::stats::ClothTimes;
use ladders::cloth::chain::{Chain, Hold, Pull, State};
use ladders::cloth::steps::StepId;
use opencl::cl::ClContext;
use opencl::timer::DeviceClock;

/// How far around the hand cloth goes with it, in metres.
const HAND: f32 = 0.12;

/// What the mouse does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Hand {
    /// Nothing.
    Off,
    /// It takes hold of what it is over.
    Grab(Ray),
    /// It keeps what it has at this point.
    Hold(Point),
}

/// What is asked for.
pub(super) struct Order {
    /// How many figures there are.
    pub army: usize,
    /// How many seconds have passed; 0 is a pause.
    pub dt: f32,
    /// Which steps are on the host.
    pub on_host: [bool; 5],
    /// OpenGL's buffer is handed over twice: for skinning, and for write-back.
    pub twice: bool,
    pub hand: Hand,
    /// Another device from now on, or none.
    pub device: Option<Option<ClContext>>,
    /// OpenGL's buffer for the vertices, where the device shares such.
    pub lent: Option<Arc<VertexBuffer>>,
    /// Memory for the vertices.
    pub room: Vec<u8>,
}

/// What came of an order.
pub(super) struct Report {
    pub army: usize,
    /// The buffer that was lent, unless the driver refused to give it back to OpenGL.
    pub lent: Option<Arc<VertexBuffer>>,
    /// The vertices are in it.
    pub is_written: bool,
    /// All vertices as OpenGL takes them; none where there was no memory. Where they are in the buffer, too, OpenGL is to look
    /// whether it sees them there; else there are none.
    pub vertices: Vec<u8>,
    /// Why the buffer could not be shared, if that is so.
    pub refused: Option<String>,
    /// How long the army has walked.
    pub seconds: f64,
    /// Where the hand has taken hold, if that was asked.
    pub grabbed: Option<Option<Point>>,
    pub times: ClothTimes,
    /// How long each step of the cloth took, in seconds, if there was one.
    pub step: Option<f64>,
    /// What went wrong; the army walks on without it.
    pub error: Option<Error>,
}

/// The thread, seen from the window.
pub(super) struct Walker {
    job: Job<(), Report>,
    orders: Sender<Order>,
    /// An order is under way, since then.
    since: Option<Instant>,
}

impl Walker {
    /// Starts it, with nobody on its floor.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(waker: &Waker) -> Result<Self> {
        let (orders, received) = channel();
        let work = move |teller: &Teller<(), Report>| {
            walk(&received, teller);
            Ok(())
        };
        let job = Job::spawn("cloth", "The shirts do not move.", waker, work)?;
        Ok(Self { job, orders, since: None })
    }

    /// For how long an order has been under way.
    pub(super) fn busy_for(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }

    /// Gives an order; one must not be under way.
    pub(super) fn order(&mut self, order: Order) {
        // A thread that has ended says so with what it reports.
        let _ = self.orders.send(order);
        self.since = Some(Instant::now());
    }

    /// What came of the order, once that is there.
    ///
    /// # Errors
    /// When the thread came to an unexpected end.
    pub(super) fn report(&mut self) -> Result<Option<Report>> {
        match self.job.poll() {
            None => Ok(None),
            Some(Said::Progress(report)) => {
                self.since = None;
                Ok(Some(report))
            }
            Some(Said::Done(ended)) => ended.map(|()| None),
        }
    }

    /// Ends the thread, and waits so long for that; whether it has ended.
    pub(super) fn end(self, patience: Duration) -> bool {
        let Self { mut job, orders, .. } = self;
        drop(orders);
        job.end(patience)
    }
}

fn walk(orders: &Receiver<Order>, teller: &Teller<(), Report>) {
    let mut troop = Troop::default();
    while let Ok(order) = orders.recv() {
        if teller.is_cancelled() || !teller.tell(troop.obey(order)) {
            return;
        }
    }
}

/// The army on its thread.
#[derive(Default)]
pub(super) struct Troop {
    cl: Option<ClContext>,
    /// It may still name buffers of OpenGL's, and must go before them.
    chain: Option<Chain>,
    shares: Shares,
    clock: DeviceClock,
    /// The particle that the hand has.
    held: Option<usize>,
    error: Option<Error>,
}

impl Troop {
    pub(super) fn obey(&mut self, mut order: Order) -> Report {
        if let Some(cl) = order.device.take() {
            self.change_device(cl);
        }
        if self.chain.as_ref().is_none_or(|chain| chain.army() != order.army) {
            self.held = None;
            self.leave_chain();
            self.gather(order.army, None);
        }
        let mut report = Report {
            army: order.army,
            lent: order.lent.take(),
            is_written: false,
            vertices: std::mem::take(&mut order.room),
            refused: None,
            seconds: 0.0,
            grabbed: None,
            times: ClothTimes {
                figures: order.army,
                ms: [f64::NAN; 8],
                on_host: order.on_host,
                handovers: 0,
            },
            step: None,
            error: None,
        };
        let went = self.go(&mut report, &order);
        if let Err(error) = went {
            // What was on the device is lost with it.
            self.leave_chain();
            (self.cl, self.held) = (None, None);
            self.error = Some(error);
            self.gather(order.army, None);
            order.hand = Hand::Off;
            if self.go(&mut report, &order).is_err() {
                report.vertices.clear();
            }
        }
        report.refused = self.shares.take_refusal();
        report.error = self.error.take();
        report
    }

    /// Lets go what is of the device, what names buffers first.
    fn leave_chain(&mut self) {
        self.chain = None;
        self.shares.forget();
    }

    /// Goes on elsewhere, from where the army is.
    fn change_device(&mut self, cl: Option<ClContext>) {
        let before = self.chain.as_mut().map(|chain| (chain.army(), chain.state()));
        self.leave_chain();
        (self.shares, self.clock) = (Shares::default(), DeviceClock::default());
        self.cl = cl.and_then(|cl| match cl.extra_queue() {
            Ok(queue) => Some(ClContext { queue, ..cl }),
            Err(error) => {
                self.error = Some(error);
                None
            }
        });
        if let Some((army, state)) = before {
            // A device that has failed has told what there is to tell.
            self.gather(army, state.ok().as_ref());
        }
    }

    /// Makes an army, where one was or at the beginning of its walk.
    fn gather(&mut self, army: usize, state: Option<&State>) {
        let made = Chain::new(army, self.cl.as_ref()).or_else(|error| {
            self.cl = None;
            self.error = Some(error);
            Chain::new(army, None)
        });
        match made {
            Ok(mut chain) => {
                if let Some(state) = state {
                    chain.set_state(state);
                }
                self.chain = Some(chain);
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// One frame.
    fn go(&mut self, report: &mut Report, order: &Order) -> Result<()> {
        let Some(chain) = &mut self.chain else {
            report.vertices.clear();
            return Ok(());
        };
        for (step, on_host) in StepId::ALL.into_iter().zip(order.on_host) {
            chain.put_on_host(step, on_host);
        }
        let pull = match (order.hand, self.held) {
            (Hand::Hold(to), Some(particle)) => Pull::Hold(Hold { particle, to, radius: HAND }),
            (Hand::Off, _) => {
                self.held = None;
                Pull::Nothing
            }
            _ => Pull::Nothing,
        };
        let mut taken = Taken::begin();
        let mut handover = match (&self.cl, &report.lent) {
            (Some(cl), Some(lent)) if !chain.is_on_host(StepId::Write) => {
                self.shares.begin(cl, lent, order.twice)
            }
            _ => None,
        };
        chain.write_to(handover.as_ref().map(|handover| handover.memory().clone()));
        let done = chain.step_between(order.dt, pull, &mut |step| {
            handover.as_mut().map_or_else(|| Some(Vec::new()), |handover| handover.before(step))
        });
        taken.is_enqueued();
        let looked = done.and_then(|done| {
            if let Hand::Grab(ray) = order.hand {
                let (army, indices) = (chain.army(), chain.figure().shirt.indices.clone());
                let found = pick::particle(ray, army, &indices, chain.vertices()?);
                self.held = found.map(|(particle, _)| particle);
                report.grabbed = Some(found.map(|(_, at)| at));
            }
            report.vertices.clear();
            if handover.as_ref().is_some_and(Handover::is_to_be_tested) {
                chain.read_vertices(&mut report.vertices)?;
            }
            Ok(done)
        });
        // Whatever went wrong, what was acquired is released.
        let handed = handover.map_or_else(Default::default, Handover::end);
        if handed.is_kept {
            // Who lent it does not see it again, and makes another one.
            report.lent = None;
        }
        let done = looked?;
        chain.finish()?;
        let steps = done.iter().filter(|(step, _)| *step == StepId::Integrate).count();
        report.step = (steps > 0).then(|| taken.so_far().as_secs_f64() / steps as f64);
        report.is_written = handed.is_written;
        let began = Instant::now();
        let is_copied = !report.is_written && chain.read_vertices(&mut report.vertices)?;
        let copied = is_copied.then(|| (began, Instant::now()));
        report.seconds = chain.seconds();
        taken.note(
            &mut report.times,
            &mut self.clock,
            &Begun { done: &done, handed: &handed.events, copied },
        );
        Ok(())
    }
}

#[cfg(test)]
#[path = "walker_tests.rs"]
mod tests;
