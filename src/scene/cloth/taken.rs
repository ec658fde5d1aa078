//! What a frame of the army took, and when. In: what the steps have begun, and what was handed over. Out: its times, and events of
//! the trace.

use std::time::{Duration, Instant};

use base::timing::log::{self, Track};
use engine::stats::ClothTimes;
use ladders::cloth::chain::Done;
use ladders::cloth::steps::StepId;
use opencl::cl::Event;
use opencl::timer::{DeviceClock, known_span_ns, ms};

/// Names in the trace: the movie's frames are handed over and copied, too.
const HANDED: [&str; 2] = ["cloth acquire", "cloth release"];
const COPY: &str = "cloth copy";
/// Places among [`ClothTimes::NAMES`].
const RELEASED: usize = 6;
const COPIED: usize = 7;

/// A frame that is under way.
pub(super) struct Taken {
    began: Instant,
    enqueued: Instant,
}

/// What it has begun, all of it complete.
pub(super) struct Begun<'a> {
    pub done: &'a [(StepId, Done)],
    /// The handovers to OpenCL, and those back.
    pub handed: &'a [Vec<Event>; 2],
    /// When vertices were copied to the host.
    pub copied: Option<(Instant, Instant)>,
}

impl Taken {
    /// It begins, before its first command.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, enqueued: now }
    }

    /// All of its steps are on the queue, or done.
    pub(super) fn is_enqueued(&mut self) {
        self.enqueued = Instant::now();
    }

    /// How long it has been under way.
    pub(super) fn so_far(&self) -> Duration {
        self.began.elapsed()
    }

    /// Fills in what it took, and records it.
    pub(super) fn note(&self, times: &mut ClothTimes, clock: &mut DeviceClock, begun: &Begun) {
        let told = |event: &Event| known_span_ns(event, Some(self.so_far())).map_or(f64::NAN, ms);
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        for (step, done) in begun.done {
            let (ms, on_host) = match done {
                Done::Host(from, to) => (between(*from, *to), true),
                Done::Device(events) => (events.iter().map(told).sum::<f64>(), false),
            };
            let step = *step as usize;
            let all = &mut times.ms[ClothTimes::FIRST_STEP + step];
            // A late frame has it several times.
            *all = if all.is_nan() { ms } else { *all + ms };
            times.on_host[step] = on_host;
        }
        for (at, events) in [0, RELEASED].into_iter().zip(begun.handed) {
            times.ms[at] = events.iter().map(told).reduce(|sum, ms| sum + ms).unwrap_or(f64::NAN);
        }
        times.handovers = begun.handed[0].len();
        times.ms[COPIED] = begun.copied.map_or(f64::NAN, |(from, to)| between(from, to));
        log::record(|| self.events(times.figures, clock, begun));
    }

    fn events(&self, figures: usize, clock: &mut DeviceClock, begun: &Begun) -> Vec<log::Event> {
        let whole = log::Event::span(Track::Cloth, "cloth frame", self.began, Instant::now());
        let mut events = vec![whole.with(format!("an army of {figures}"))];
        let mut commands: Vec<(&'static str, &Event)> = Vec::new();
        for (step, done) in begun.done {
            match done {
                Done::Host(from, to) => {
                    events.push(log::Event::span(Track::Cloth, step.name(), *from, *to));
                }
                Done::Device(all) => commands.extend(all.iter().map(|event| (step.name(), event))),
            }
        }
        events.extend(begun.copied.map(|(from, to)| log::Event::span(Track::Cloth, COPY, from, to)));
        let first = begun.handed[0].first().or(commands.first().map(|(_, event)| *event));
        if first.is_none_or(|first| clock.look(first, self.began, self.enqueued).is_err()) {
            return events;
        }
        for (name, handed) in HANDED.into_iter().zip(begun.handed) {
            commands.extend(handed.iter().map(|event| (name, event)));
        }
        events.extend(commands.into_iter().filter_map(|(name, event)| {
            let (from, to) = known_span_ns(event, Some(self.so_far()))?;
            Some(log::Event::span(Track::ClothQueue, name, clock.instant(from)?, clock.instant(to)?))
        }));
        events
    }
}
