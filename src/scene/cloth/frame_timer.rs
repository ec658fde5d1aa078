//! Measures the times of a simulated frame of the figures, and records its events for the trace.

use std::time::{Duration, Instant};

use base::timing::log::{self, Track};
use engine::stats::ClothTimes;
use ladders::cloth::chain::StepExecution;
use ladders::cloth::steps::StepId;
use opencl::cl::Event;
use opencl::timer::{DeviceClock, ms};

/// The names in the trace of the acquisition of a vertex buffer by OpenCL and of its release to OpenGL. They differ from the
/// names for the movie's frames.
const HANDOVER_NAMES: [&str; 2] = ["cloth acquire", "cloth release"];
/// The name in the trace of copying vertices from the device to the host.
const COPY_NAME: &str = "cloth copy";
/// The index in [`ClothTimes::NAMES`] of releasing the vertex buffer to OpenGL.
const RELEASE_INDEX: usize = 6;
/// The index in [`ClothTimes::NAMES`] of copying vertices to the host.
const COPY_INDEX: usize = 7;

/// A timer for one simulated frame: the times at which its simulation began and at which all its steps were enqueued.
pub(super) struct FrameTimer {
    began: Instant,
    enqueued: Instant,
}

/// The commands of a completed frame, whose times are recorded.
pub(super) struct FrameCommands<'a> {
    pub done: &'a [(StepId, StepExecution)],
    /// The OpenCL events of the acquisitions of the vertex buffer (first element), and of its releases (second element).
    pub handed: &'a [Vec<Event>; 2],
    /// The start and the end of copying vertices to the host; `None` if they were not copied.
    pub copied: Option<(Instant, Instant)>,
}

impl FrameTimer {
    /// Starts the measurement; must be called before the frame's first command.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, enqueued: now }
    }

    /// Stores the current time, at which all steps have been enqueued on the device, or done on the host.
    pub(super) fn note_enqueued(&mut self) {
        self.enqueued = Instant::now();
    }

    /// Returns the time since [`begin`](Self::begin).
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Stores the times of a completed frame in `times`, and records the frame's events for the trace.
    pub(super) fn note(&self, times: &mut ClothTimes, clock: &mut DeviceClock, begun: &FrameCommands) {
        let duration = |event: &Event| clock.span_ns(event, Some(self.elapsed())).map_or(f64::NAN, ms);
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        for (step, done) in begun.done {
            let (ms, on_host) = match done {
                StepExecution::Host(from, to) => (between(*from, *to), true),
                StepExecution::Device(events) => (events.iter().map(duration).sum::<f64>(), false),
            };
            let step = *step as usize;
            let all = &mut times.ms[ClothTimes::FIRST_STEP + step];
            // A late frame runs each step several times.
            *all = if all.is_nan() { ms } else { *all + ms };
            times.on_host[step] = on_host;
        }
        for (at, events) in [0, RELEASE_INDEX].into_iter().zip(begun.handed) {
            times.ms[at] = events.iter().map(duration).reduce(|sum, ms| sum + ms).unwrap_or(f64::NAN);
        }
        times.handovers = begun.handed[0].len();
        times.ms[COPY_INDEX] = begun.copied.map_or(f64::NAN, |(from, to)| between(from, to));
        log::record(|| self.events(times.figures, clock, begun));
    }

    /// Returns the trace events of a completed frame.
    fn events(&self, figures: usize, clock: &mut DeviceClock, begun: &FrameCommands) -> Vec<log::Event> {
        let whole = log::Event::span(Track::Cloth, "cloth frame", self.began, Instant::now());
        let mut events = vec![whole.with(format!("an army of {figures}"))];
        let mut commands: Vec<(&'static str, &Event)> = Vec::new();
        for (step, done) in begun.done {
            match done {
                StepExecution::Host(from, to) => {
                    events.push(log::Event::span(Track::Cloth, step.name(), *from, *to));
                }
                StepExecution::Device(all) => commands.extend(all.iter().map(|event| (step.name(), event))),
            }
        }
        events.extend(begun.copied.map(|(from, to)| log::Event::span(Track::Cloth, COPY_NAME, from, to)));
        let first = begun.handed[0].first().or(commands.first().map(|(_, event)| *event));
        if first.is_none_or(|first| clock.adjust(first, self.began, self.enqueued).is_err()) {
            return events;
        }
        for (name, handed) in HANDOVER_NAMES.into_iter().zip(begun.handed) {
            commands.extend(handed.iter().map(|event| (name, event)));
        }
        events.extend(commands.into_iter().filter_map(|(name, event)| {
            let (from, to) = clock.span_ns(event, Some(self.elapsed()))?;
            Some(log::Event::span(Track::ClothQueue, name, clock.instant(from)?, clock.instant(to)?))
        }));
        events
    }
}
