//! The thread that simulates the walking figures, called walker. It gets a request for each frame, and sends a report with
//! times and vertices. The vertices are in OpenGL's buffer or, if that cannot be shared, in host memory.
//!
//! The thread's OpenCL calls use a separate queue, so that neither the window nor the movie's frames wait for them. The thread
//! makes no OpenGL calls, and handles one request at a time. If the device fails, the simulation continues on the host.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::camera::{Ray, hit_particle};
use super::shared_buffers::{Handover, SharedBuffers};
use base::error::{Error, Result};
use base::jobs::{Job, JobMessage, Reporter, Waker};
use base::timing::log::{self, Track};
use engine::sharing::vertex_buffer::VertexBuffer;
use ladders::cloth::chain::{Chain, Hold, Pull, State, StepExecution};
use ladders::cloth::geometry::Point;
use ladders::cloth::steps::StepId;
use opencl::cl::{ClContext, Event};
use opencl::timer::{DeviceClock, ms};
use stats::ClothTimes;

/// The radius around the mouse pointer within which cloth is dragged, in metres.
const HAND_RADIUS: f32 = 0.12;

/// The action of the mouse pointer on the cloth in a frame.
#[derive(Default, Clone, Copy)]
pub(super) enum Hand {
    /// The mouse holds nothing.
    #[default]
    Off,
    /// The mouse grabs the cloth that this ray meets first.
    Grab(Ray),
    /// The mouse holds the grabbed cloth at this point.
    Hold(Point),
}

/// A request to simulate one frame.
#[derive(Default)]
pub(super) struct FrameRequest {
    /// The number of figures.
    pub army: usize,
    /// The time by which the simulation is advanced, in seconds; 0 while the movie is paused.
    pub dt: f32,
    /// For each of the five simulation steps ([`StepId`]), true if the step is to run on the host.
    pub on_host: [bool; 5],
    /// True if OpenCL is to acquire OpenGL's buffer twice, for skinning and for write-back; false if once for all steps.
    pub twice: bool,
    pub hand: Hand,
    /// `Some` if the device has changed: to the device of this context, or to the host if the inner value is `None`.
    pub device: Option<Option<ClContext>>,
    /// OpenGL's vertex buffer, into which the device writes; `None` if the device does not share it.
    pub lent: Option<Arc<VertexBuffer>>,
    /// Host memory into which the vertices are written; the report returns it.
    pub memory: Vec<u8>,
}

/// The report on a simulated frame.
#[derive(Default)]
pub(super) struct Report {
    pub army: usize,
    /// The lent buffer, which is given back; `None` if the request had none, or the driver failed to release it to OpenGL.
    pub lent: Option<Arc<VertexBuffer>>,
    /// True if the frame's vertices are in the lent buffer.
    pub is_written: bool,
    /// The vertices of all figures for OpenGL; empty if they are only in the lent buffer, or could not be computed. If they are
    /// in the buffer as well, OpenGL must verify that it sees the same vertices there.
    pub vertices: Vec<u8>,
    /// The reason why the lent buffer could not be shared; `None` if it was shared, or there was none.
    pub refused: Option<String>,
    /// The time for which the figures have walked, in seconds.
    pub seconds: f64,
    /// For a request with [`Hand::Grab`], the point where cloth was grabbed; the inner value is `None` if the ray met no cloth.
    pub grabbed: Option<Option<Point>>,
    pub times: ClothTimes,
    /// The wall time per simulation step in seconds; `None` if there was no step.
    pub step: Option<f64>,
    /// An error of the device, after which the simulation continues on the host; `None` if there was none.
    pub error: Option<Error>,
}

/// The handle by which the window's thread communicates with the thread that simulates the figures.
pub(super) struct Walker {
    job: Job<(), Report>,
    requests: Sender<FrameRequest>,
    /// The time at which the running request began; `None` if none is running.
    since: Option<Instant>,
}

impl Walker {
    /// Starts the thread. The figures are created when it gets the first request.
    pub(super) fn start(waker: &Waker) -> Self {
        let (requests, received) = channel();
        // Simulates the requested frames until the window has closed the channel of requests.
        let work = move |reporter: &Reporter<(), Report>| {
            let mut simulation = ArmySimulation::default();
            while let Ok(request) = received.recv() {
                if reporter.is_cancelled() || !reporter.report(simulation.execute(request)) {
                    break;
                }
            }
            Ok(())
        };
        let job = Job::spawn("cloth", "The shirts do not move.", waker, work);
        Self { job, requests, since: None }
    }

    /// Returns the time for which a request has been running; `None` if none is running.
    pub(super) fn busy_for(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }

    /// Sends a request to the thread. No other request may be running.
    pub(super) fn send(&mut self, request: FrameRequest) {
        // If the thread has ended, `report` returns its error.
        let _ = self.requests.send(request);
        self.since = Some(Instant::now());
    }

    /// Returns the report on the last request; `None` until it has arrived.
    ///
    /// # Errors
    /// If the thread could not be started, or has ended because of a panic.
    pub(super) fn report(&mut self) -> Result<Option<Report>> {
        match self.job.poll() {
            None => Ok(None),
            Some(JobMessage::Progress(report)) => {
                self.since = None;
                Ok(Some(report))
            }
            Some(JobMessage::Done(ended)) => ended.map(|()| None),
        }
    }

    /// Asks the thread to end, and waits for that for at most `patience`; returns true if it has ended.
    pub(super) fn end(self, patience: Duration) -> bool {
        let Self { mut job, requests, .. } = self;
        drop(requests);
        job.end(patience)
    }
}

/// The simulation of all figures and their cloth, on the walker's thread.
#[derive(Default)]
pub(super) struct ArmySimulation {
    cl: Option<ClContext>,
    /// The simulation steps; dropped before the shared OpenGL buffers that they may use.
    chain: Option<Chain>,
    shares: SharedBuffers,
    clock: DeviceClock,
    /// The index of the particle that the mouse holds.
    held: Option<usize>,
    error: Option<Error>,
}

impl ArmySimulation {
    /// Simulates the requested frame. Changes the device and the number of figures first, if the request asks for that.
    pub(super) fn execute(&mut self, mut request: FrameRequest) -> Report {
        if let Some(cl) = request.device.take() {
            self.change_device(cl);
        }
        if self.chain.as_ref().is_none_or(|chain| chain.army() != request.army) {
            self.held = None;
            self.drop_chain();
            self.create_chain(request.army, None);
        }
        let mut report = Report {
            army: request.army,
            lent: request.lent.take(),
            vertices: std::mem::take(&mut request.memory),
            times: ClothTimes {
                figures: request.army,
                ms: [f64::NAN; 8],
                on_host: request.on_host,
                handovers: 0,
            },
            ..Report::default()
        };
        if let Err(error) = self.step(&mut report, &request) {
            // The state on the device is lost.
            self.drop_chain();
            (self.cl, self.held) = (None, None);
            self.error = Some(error);
            self.create_chain(request.army, None);
            request.hand = Hand::Off;
            if self.step(&mut report, &request).is_err() {
                report.vertices.clear();
            }
        }
        report.refused = self.shares.refusal.take();
        report.error = self.error.take();
        report
    }

    /// Drops the simulation steps first, and then the OpenCL objects of OpenGL's buffers, which the steps may use.
    fn drop_chain(&mut self) {
        self.chain = None;
        self.shares.buffers.clear();
    }

    /// Moves the simulation with its current state to another device, or to the host if `cl` is `None`.
    fn change_device(&mut self, cl: Option<ClContext>) {
        let before = self.chain.as_mut().map(|chain| (chain.army(), chain.state()));
        self.drop_chain();
        let clock = cl.as_ref().map(|cl| DeviceClock::new(cl.clock()));
        (self.shares, self.clock) = (SharedBuffers::default(), clock.unwrap_or_default());
        self.cl = cl.and_then(|mut cl| match cl.extra_queue() {
            Ok(queue) => {
                cl.queue = queue;
                Some(cl)
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        });
        if let Some((army, state)) = before {
            // The error of a failed device has been reported already.
            self.create_chain(army, state.ok().as_ref());
        }
    }

    /// Creates the chain of simulation steps for `army` figures: on the device, or on the host if there is no device or it
    /// fails. Continues from `state`; if `state` is `None`, the figures begin to walk. Stores an error in `self.error`.
    fn create_chain(&mut self, army: usize, state: Option<&State>) {
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

    /// Simulates one frame, and writes its times and vertices into the report.
    fn step(&mut self, report: &mut Report, request: &FrameRequest) -> Result<()> {
        let Some(chain) = &mut self.chain else {
            report.vertices.clear();
            return Ok(());
        };
        for (step, on_host) in StepId::ALL.into_iter().zip(request.on_host) {
            chain.put_on_host(step, on_host);
        }
        let pull = match (request.hand, self.held) {
            (Hand::Hold(to), Some(particle)) => Pull::Hold(Hold { particle, to, radius: HAND_RADIUS }),
            (Hand::Off, _) => {
                self.held = None;
                Pull::Nothing
            }
            _ => Pull::Nothing,
        };
        let began = Instant::now();
        let mut handover = match (&self.cl, &report.lent) {
            (Some(cl), Some(lent)) if !chain.is_on_host(StepId::Write) => {
                self.shares.begin(cl, lent, request.twice)
            }
            _ => None,
        };
        chain.write_to(handover.as_ref().map(|handover| handover.shared.memory.clone()));
        let done = chain.step_between(request.dt, pull, &mut |step| {
            handover.as_mut().map_or_else(|| Some(Vec::new()), |handover| handover.prepare_step(step))
        });
        let enqueued = Instant::now();
        let picked = done.and_then(|done| {
            if let Hand::Grab(ray) = request.hand {
                let indices = chain.figure.shirt.indices.clone();
                let found = hit_particle(ray, chain.army(), &indices, chain.vertices()?);
                self.held = found.map(|(particle, _)| particle);
                report.grabbed = Some(found.map(|(_, at)| at));
            }
            report.vertices.clear();
            if handover.as_ref().is_some_and(|handover| handover.is_new) {
                chain.read_vertices(&mut report.vertices)?;
            }
            Ok(done)
        });
        // Releases the buffer also after an error.
        let (is_written, is_kept, handed) = handover.map(Handover::end).unwrap_or_default();
        if is_kept {
            // The crowd of figures replaces a buffer that is not given back.
            report.lent = None;
        }
        let done = picked?;
        chain.finish()?;
        let steps = done.iter().filter(|(step, _)| *step == StepId::Integrate).count();
        report.step = (steps > 0).then(|| began.elapsed().as_secs_f64() / steps as f64);
        report.is_written = is_written;
        let copying = Instant::now();
        let is_copied = !is_written && chain.read_vertices(&mut report.vertices)?;
        let copied = is_copied.then(|| (copying, Instant::now()));
        report.seconds = chain.seconds;
        let commands = FrameCommands { began, enqueued, done: &done, handed: &handed, copied };
        commands.note(&mut report.times, &mut self.clock);
        Ok(())
    }
}

/// The commands of a completed frame, whose times are recorded.
struct FrameCommands<'a> {
    /// The time before the frame's first command.
    began: Instant,
    /// The time at which all steps had been enqueued on the device, or done on the host.
    enqueued: Instant,
    done: &'a [(StepId, StepExecution)],
    /// The OpenCL events of the acquisitions of the vertex buffer (first element), and of its releases (second element).
    handed: &'a [Vec<Event>; 2],
    /// The start and the end of copying vertices to the host; `None` if they were not copied.
    copied: Option<(Instant, Instant)>,
}

impl FrameCommands<'_> {
    /// Stores the times of the frame in `times`, and records the frame's events for the trace.
    fn note(&self, times: &mut ClothTimes, clock: &mut DeviceClock) {
        let duration = |event: &Event| clock.span_ns(event, Some(self.began.elapsed())).map_or(f64::NAN, ms);
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        let [acquired, steps @ .., released, copied] = &mut times.ms;
        for (step, done) in self.done {
            let (ms, on_host) = match done {
                StepExecution::Host(from, to) => (between(*from, *to), true),
                StepExecution::Device(events) => (events.iter().map(duration).sum::<f64>(), false),
            };
            let all = &mut steps[*step as usize];
            // A late frame runs each step several times.
            *all = if all.is_nan() { ms } else { *all + ms };
            times.on_host[*step as usize] = on_host;
        }
        for (all, events) in [acquired, released].into_iter().zip(self.handed) {
            *all = events.iter().map(duration).reduce(|sum, ms| sum + ms).unwrap_or(f64::NAN);
        }
        times.handovers = self.handed[0].len();
        *copied = self.copied.map_or(f64::NAN, |(from, to)| between(from, to));
        log::record(|| self.events(times.figures, clock));
    }

    /// Returns the trace events of the frame.
    fn events(&self, figures: usize, clock: &mut DeviceClock) -> Vec<log::Event> {
        let whole = log::Event::span(Track::Cloth, "cloth frame", self.began, Instant::now());
        let mut events = vec![whole.with(format!("an army of {figures}"))];
        let mut commands: Vec<(&'static str, &Event)> = Vec::new();
        for (step, done) in self.done {
            match done {
                StepExecution::Host(from, to) => {
                    events.push(log::Event::span(Track::Cloth, step.name(), *from, *to));
                }
                StepExecution::Device(all) => commands.extend(all.iter().map(|event| (step.name(), event))),
            }
        }
        events.extend(self.copied.map(|(from, to)| log::Event::span(Track::Cloth, "cloth copy", from, to)));
        let first = self.handed[0].first().or(commands.first().map(|(_, event)| *event));
        if first.is_none_or(|first| clock.adjust(first, self.began, self.enqueued).is_err()) {
            return events;
        }
        // These names differ from those for the movie's frames.
        for (name, handed) in ["cloth acquire", "cloth release"].into_iter().zip(self.handed) {
            commands.extend(handed.iter().map(|event| (name, event)));
        }
        events.extend(commands.into_iter().filter_map(|(name, event)| {
            let (from, to) = clock.span_ns(event, Some(self.began.elapsed()))?;
            Some(log::Event::span(Track::ClothQueue, name, clock.instant(from)?, clock.instant(to)?))
        }));
        events
    }
}

#[cfg(test)]
#[path = "walker_tests.rs"]
mod tests;
