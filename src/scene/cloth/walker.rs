//! The thread that has the army. In: an order for each frame. Out: a report with the army's vertices and what its steps took.
//!
//! It makes its OpenCL calls on a queue of its own, so that neither the window nor the movie's frames wait for them, and it calls
//! no OpenGL. One order is under way at a time. A device that fails is left, and the army walks on by plain Rust.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::camera::{Point, Ray};
use super::pick;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, Event};
use crate::gpu::timer::device_ms;
use crate::jobs::{Job, Said, Teller, Waker};
use crate::ladders::cloth::chain::{Chain, Done, Hold, State};
use crate::ladders::cloth::steps::StepId;
use crate::timing::ms_since;

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
    pub hand: Hand,
    /// Another device from now on, or none.
    pub device: Option<Option<ClContext>>,
    /// Memory for the vertices.
    pub room: Vec<u8>,
}

/// What a step took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Took {
    /// Milliseconds, of the device's clock or of the host's; not a number where it did not run, or the driver does not tell.
    pub ms: f64,
    pub on_host: bool,
}

/// What came of an order.
pub(super) struct Report {
    pub army: usize,
    /// All vertices as OpenGL takes them; none where there was no memory.
    pub vertices: Vec<u8>,
    /// How long the army has walked.
    pub seconds: f64,
    /// Where the hand has taken hold, if that was asked.
    pub grabbed: Option<Option<Point>>,
    pub took: [Took; 5],
    /// Vertices from the device to the host, in milliseconds of the host's clock; `None` where they were there.
    pub copied_ms: Option<f64>,
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
struct Troop {
    cl: Option<ClContext>,
    chain: Option<Chain>,
    /// The particle that the hand has.
    held: Option<usize>,
    error: Option<Error>,
}

impl Troop {
    fn obey(&mut self, order: Order) -> Report {
        if let Some(cl) = order.device {
            self.change_device(cl);
        }
        if self.chain.as_ref().is_none_or(|chain| chain.army() != order.army) {
            self.held = None;
            self.chain = None;
            self.gather(order.army, None);
        }
        let mut report = Report {
            army: order.army,
            vertices: order.room,
            seconds: 0.0,
            grabbed: None,
            took: order.on_host.map(|on_host| Took { ms: f64::NAN, on_host }),
            copied_ms: None,
            error: None,
        };
        let went = self.go(&mut report, order.dt, order.on_host, order.hand);
        if let Err(error) = went {
            // What was on the device is lost with it.
            (self.chain, self.cl, self.held) = (None, None, None);
            self.error = Some(error);
            self.gather(order.army, None);
            if self.go(&mut report, order.dt, order.on_host, Hand::Off).is_err() {
                report.vertices.clear();
            }
        }
        report.error = self.error.take();
        report
    }

    /// Goes on elsewhere, from where the army is.
    fn change_device(&mut self, cl: Option<ClContext>) {
        let before = self.chain.take().map(|mut chain| (chain.army(), chain.state()));
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
    fn go(&mut self, report: &mut Report, dt: f32, on_host: [bool; 5], hand: Hand) -> Result<()> {
        let Some(chain) = &mut self.chain else {
            report.vertices.clear();
            return Ok(());
        };
        for (step, on_host) in StepId::ALL.into_iter().zip(on_host) {
            chain.put_on_host(step, on_host);
        }
        if let Hand::Grab(ray) = hand {
            let army = chain.army();
            let indices = chain.figure().shirt.indices.clone();
            let found = pick::particle(ray, army, &indices, chain.vertices()?);
            self.held = found.map(|(particle, _)| particle);
            report.grabbed = Some(found.map(|(_, at)| at));
        }
        let drag = match (hand, self.held) {
            (Hand::Hold(to), Some(particle)) => chain.drag_to(dt, Hold { particle, to, radius: HAND })?,
            (Hand::Off, _) => {
                self.held = None;
                None
            }
            _ => None,
        };
        let done = chain.step(dt, drag)?;
        chain.finish()?;
        for (step, done) in &done {
            report.took[*step as usize] = took(done);
        }
        let began = Instant::now();
        let copied = chain.read_vertices(&mut report.vertices)?;
        report.copied_ms = copied.then(|| ms_since(began));
        report.seconds = chain.seconds();
        Ok(())
    }
}

fn took(done: &Done) -> Took {
    match done {
        Done::Host(ms) => Took { ms: *ms, on_host: true },
        Done::Device(events) => {
            let told = |event: &Event| device_ms(event).unwrap_or(f64::NAN);
            Took { ms: events.iter().map(told).sum(), on_host: false }
        }
    }
}

#[cfg(test)]
#[path = "walker_tests.rs"]
mod tests;
