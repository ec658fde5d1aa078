//! Timing. In: things to run, each giving one [`Sample`] a call. Out: a [`Measurement`] for each.
//!
//! All of them alternate in one loop on the same data, so that whatever disturbs the machine disturbs all.
//! A prediction from a short probe decides how many rounds a slow one gets.

use std::time::{Duration, Instant};

use base::error::{Error, Result};
use base::timing::log::{self, Track};
use base::timing::{CpuTimes, Noise, Series, believed, ms_since, noise};
use opencl::cl::{Event, Queue, failed};
use opencl::timer::{self, DeviceClock};
use opencl::watch;

/// One timed run, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// START to END of the device's events, summed over the passes; `None` where no device tells, and not a number where its
    /// driver tells [impossible times](timer::IMPOSSIBLE).
    pub device_ms: Option<f64>,
    /// QUEUED to START of the first event; `None` where there is no queue.
    pub dispatch_ms: Option<f64>,
    /// From the first enqueue to completion; data resident, no transfers.
    pub wall_ms: f64,
}

impl Sample {
    /// What it is compared by, in milliseconds: the device time, or the wall time where no device tells.
    pub fn ms(&self) -> f64 {
        self.device_ms.unwrap_or(self.wall_ms)
    }
}

/// Times of one variant, in milliseconds; see [`Sample`] for the three clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// What it is compared by: the device time, or the wall time where no device tells.
    pub time: Series,
    /// Device time, by OpenCL's events or OpenGL's queries: the sum of all passes, each from its start to its end; `None`
    /// where it is not known of every run.
    pub device: Option<Series>,
    /// Dispatch time; `None` where it was not measured.
    pub dispatch: Option<Series>,
    /// Wall time; `None` where it was not measured.
    pub wall: Option<Series>,
    /// The part of the machine that other processes used meanwhile, 0 to 1; `None` where that is not known.
    pub others: Option<f64>,
}

impl Measurement {
    /// The statistics of some runs; `None` when there are none, or a device's time is not a number: the wall's must not stand in
    /// its place beside times of kernels.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        if samples.iter().any(|sample| sample.device_ms.is_some_and(f64::is_nan)) {
            return None;
        }
        let series =
            |f: fn(&Sample) -> Option<f64>| Series::of(&samples.iter().filter_map(f).collect::<Vec<_>>());
        let (device, wall) = (series(|s| s.device_ms), series(|s| Some(s.wall_ms)));
        let device = device.filter(|device| device.n == samples.len());
        Some(Self { time: device.or(wall)?, device, dispatch: series(|s| s.dispatch_ms), wall, others: None })
    }

    /// Why its times are not to be trusted to the last digit, if they are not.
    pub fn noise(&self) -> Option<Noise> {
        Noise::of(&self.time, self.others)
    }

    /// How many times as long as another it takes, by their medians, as far as that can be believed: as in "12.3×". `None`
    /// where the other takes no time.
    pub fn ratio(&self, other: &Self) -> Option<String> {
        let ratio = self.time.p50 / other.time.p50;
        (other.time.p50 > 0.0).then(|| format!("{}×", believed(ratio, &[self.noise(), other.noise()])))
    }
}

/// Puts commands on the queue, waits for them, and times them. `enqueue` returns their events in order.
pub fn sample(queue: &Queue, enqueue: impl FnOnce(&Queue) -> Result<Vec<Event>>) -> Result<Sample> {
    let begin = Instant::now();
    let events = enqueue(queue)?;
    let enqueued = Instant::now();
    queue.finish().map_err(|e| failed("The device failed while it was timed.", &e))?;
    let (wall_ms, wall) = (ms_since(begin), begin.elapsed());
    let mut device_ms = 0.0;
    for event in &events {
        device_ms += timer::device_ms_within(event, Some(wall))?;
    }
    let dispatch_ms = events.first().map(|first| timer::dispatch_ms(first, wall)).transpose()?.flatten();
    log::record(|| traced(&events, begin, enqueued, wall_ms));
    watch::progress();
    Ok(Sample { device_ms: Some(device_ms), dispatch_ms, wall_ms })
}

/// A timed run, and on the device its commands.
fn traced(events: &[Event], begin: Instant, enqueued: Instant, wall_ms: f64) -> Vec<log::Event> {
    let to = begin + Duration::try_from_secs_f64(wall_ms / 1e3).unwrap_or_default();
    let mut traced = vec![log::Event::span(Track::of_thread(), "measure", begin, to)];
    let mut clock = DeviceClock::default();
    if events.first().is_some_and(|first| clock.look(first, begin, enqueued).is_ok()) {
        let told = events.iter().filter_map(|event| timer::known_span_ns(event, Some(to - begin)));
        let told = told.filter_map(|(from, to)| Some((clock.instant(from)?, clock.instant(to)?)));
        traced.extend(told.map(|(from, to)| log::Event::span(Track::Device, "command", from, to)));
    }
    traced
}

/// The longest that all rounds of one variant together should take.
const TOTAL: Duration = Duration::from_secs(20);
/// A single run that takes longer than this is not started.
pub const SINGLE: Duration = Duration::from_secs(60);
/// A single run that takes longer than this is not started either where it was asked for by its name.
const NAMED: Duration = Duration::from_secs(600);
/// The fewest rounds of all: they say little about each other, but the row is there.
const FEWEST: u32 = 3;

/// How often to run something that is predicted to take `predicted_ms` a run, when `wanted` rounds are asked
/// for: all rounds if they take at most 20 s together, otherwise fewer, but at least the five that a row without noise
/// has, or three where five take more than a minute. `Err` is a sentence for the user: a single run over 60 s is left
/// out, and so is what takes longer with all of the fewest rounds, unless it is `named` and a run takes no more than ten
/// minutes.
pub fn rounds_for(predicted_ms: f64, wanted: u32, named: bool) -> std::result::Result<u32, String> {
    let single_ms = SINGLE.as_secs_f64() * 1e3;
    let most_ms = if named { NAMED.as_secs_f64() * 1e3 } else { single_ms };
    let needed = if named { 1 } else { wanted.min(FEWEST) };
    if predicted_ms * f64::from(needed) > most_ms {
        let ask = if predicted_ms <= NAMED.as_secs_f64() * 1e3 {
            " It is timed if --variant names it."
        } else {
            ""
        };
        return Err(format!("One run would take about {:.0} s.{ask}", predicted_ms / 1e3));
    }
    let affordable = (TOTAL.as_secs_f64() * 1e3 / predicted_ms.max(1e-6)).min(f64::from(u32::MAX)) as u32;
    let quiet = noise::FEWEST as u32;
    let fewest = if predicted_ms * f64::from(quiet) <= single_ms { quiet } else { FEWEST };
    Ok(wanted.min(affordable.max(fewest)))
}

/// What takes less, in milliseconds, is a matter of what ran before it.
const SHORT_MS: f64 = 1.0;

/// Something to time: how many rounds it takes part in, and one run of it.
pub struct Contender<'a, E = Error> {
    /// How many rounds it takes part in.
    pub rounds: u32,
    /// One complete run, waited for.
    #[allow(clippy::type_complexity)]
    pub run: Box<dyn FnMut() -> std::result::Result<Sample, E> + 'a>,
}

/// The runs of one contender.
#[derive(Debug, Clone, Default)]
pub struct Timed {
    /// One for each round.
    pub samples: Vec<Sample>,
    /// The part of the machine that other processes used from its first round to its last one, 0 to 1.
    pub others: Option<f64>,
}

impl Timed {
    /// The statistics of its runs; `None` when there are none.
    pub fn measurement(&self) -> Option<Measurement> {
        Measurement::of(&self.samples).map(|m| Measurement { others: self.others, ..m })
    }
}

/// What came of each contender, in their order.
pub type Results<E = Error> = Vec<std::result::Result<Timed, E>>;

/// Runs all contenders in turn for up to `rounds` rounds, each as often as it wants to. `prepare` is called
/// before each round with its number and with what has been measured so far, and is not timed: it brings the next input.
/// One that fails drops out with its error.
///
/// One that takes less than [`SHORT_MS`] runs once more before each run that counts: what ran before it decides what is in the
/// caches and how fast a device's clock is, and so short a run would be measured with that.
///
/// # Errors
/// What `prepare` returns; it ends all.
pub fn alternate<E>(
    rounds: u32,
    contenders: &mut [Contender<E>],
    mut prepare: impl FnMut(u32, &Results<E>) -> Result<()>,
) -> Result<Results<E>> {
    let mut results: Results<E> = contenders.iter().map(|_| Ok(Timed::default())).collect();
    let began = CpuTimes::now();
    let others = || CpuTimes::now()?.others_since(began.as_ref()?);
    for round in 0..rounds {
        prepare(round, &results)?;
        for (contender, result) in contenders.iter_mut().zip(&mut results) {
            let Ok(timed) = result else { continue };
            if round >= contender.rounds {
                continue;
            }
            let is_short = timed.samples.last().is_some_and(|sample| sample.ms() < SHORT_MS);
            let warm = if is_short { (contender.run)().map(drop) } else { Ok(()) };
            match warm.and_then(|()| (contender.run)()) {
                Ok(sample) => timed.samples.push(sample),
                Err(e) => *result = Err(e),
            }
        }
        let now = others();
        for (contender, result) in contenders.iter().zip(&mut results) {
            if let (Ok(timed), true) = (result, round < contender.rounds) {
                timed.others = now;
            }
        }
    }
    // What took no time to speak of is judged by the moment after it as well.
    let is_short = |result: &std::result::Result<Timed, E>| result.as_ref().is_ok_and(|t| t.others.is_none());
    if let (Some(began), true) = (&began, results.iter().any(is_short)) {
        std::thread::sleep(began.too_short_by());
        let now = others();
        for timed in results.iter_mut().flatten() {
            timed.others = timed.others.or(now);
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn slow_ones_get_fewer_rounds() {
        assert_eq!(rounds_for(1.0, 30, false), Ok(30));
        assert_eq!(rounds_for(1000.0, 30, false), Ok(20));
        assert_eq!(rounds_for(7000.0, 30, false), Ok(5), "the fewest of a row without noise");
        assert_eq!(rounds_for(12_000.0, 30, false), Ok(5));
        assert_eq!(rounds_for(13_000.0, 30, false), Ok(3));
        assert_eq!(rounds_for(12_000.0, 2, false), Ok(2));
        assert_eq!(rounds_for(0.0, 30, false), Ok(30));
        assert!(rounds_for(21_000.0, 30, false).unwrap_err().contains("--variant"), "minutes together");
        assert_eq!(rounds_for(21_000.0, 1, false), Ok(1));
        assert!(rounds_for(206_000.0, 30, false).unwrap_err().contains("206 s"));
        assert_eq!(rounds_for(206_000.0, 30, true), Ok(3), "it was asked for");
        assert!(rounds_for(601_000.0, 30, true).unwrap_err().contains("601 s"));
    }

    #[test]
    fn short_ones_run_once_more_before_each_run_that_counts() {
        let runs = RefCell::new(String::new());
        let contender = |name: char, wall_ms: f64, fails_at: usize| {
            let runs = &runs;
            let run = move || {
                runs.borrow_mut().push(name);
                match runs.borrow().matches(name).count() == fails_at {
                    true => Err(Error::new("no", "", "")),
                    false => Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms }),
                }
            };
            Contender { rounds: 3, run: Box::new(run) }
        };
        let mut contenders = [contender('a', 0.5, 99), contender('b', 2.0, 99), contender('c', 0.5, 2)];
        let results = alternate(3, &mut contenders, |_, _| Ok(())).unwrap();
        drop(contenders);
        assert_eq!(runs.into_inner(), "abcaabcaab", "the one that fails in the run before drops out, too");
        let counts = results.iter().map(|one| one.as_ref().map(|timed| timed.samples.len()).ok());
        assert_eq!(counts.collect::<Vec<_>>(), [Some(3), Some(3), None]);
    }

    #[test]
    fn contenders_alternate_and_a_failing_one_drops_out() {
        let log = RefCell::new(String::new());
        let s = Sample { device_ms: Some(1.0), dispatch_ms: Some(0.5), wall_ms: 2.0 };
        let mut contenders = vec![
            Contender { rounds: 3, run: Box::new(|| (log.borrow_mut().push('a'), Ok(s)).1) },
            Contender { rounds: 2, run: Box::new(|| (log.borrow_mut().push('b'), Ok(s)).1) },
            Contender {
                rounds: 3,
                run: Box::new(|| (log.borrow_mut().push('c'), Err(Error::new("no", "", ""))).1),
            },
        ];
        let results = alternate(3, &mut contenders, |round, so_far| {
            assert!(so_far[0].as_ref().is_ok_and(|timed| timed.samples.len() == round as usize));
            log.borrow_mut().push_str(&round.to_string());
            Ok(())
        })
        .unwrap();
        drop(contenders);
        assert_eq!(log.into_inner(), "0abc1ab2a");
        let counts: Vec<_> =
            results.iter().map(|r| r.as_ref().map(|timed| timed.samples.len()).ok()).collect();
        assert_eq!(counts, [Some(3), Some(2), None]);
        let measured = results[0].as_ref().unwrap().measurement().unwrap();
        assert_eq!((measured.time.n, measured.device, measured.time.p50), (3, Some(measured.time), 1.0));
        assert_eq!(measured.noise().unwrap().few, Some(3), "three runs are few");
        assert_eq!(measured.others.is_some(), CpuTimes::now().is_some(), "also of what takes no time");
        assert_eq!(Measurement::of(&[]), None);
        // Where no device tells, the wall's time is compared, and does not stand for the device's.
        let by_wall =
            Measurement::of(&[Sample { device_ms: None, dispatch_ms: None, wall_ms: 2.0 }]).unwrap();
        assert_eq!((by_wall.device, by_wall.dispatch, by_wall.wall), (None, None, Some(by_wall.time)));
        assert_eq!(by_wall.time.p50, 2.0);
        let impossible = Sample { device_ms: Some(f64::NAN), ..s };
        assert_eq!(Measurement::of(&[s, impossible, s]), None, "one that cannot be is enough");
        let sometimes = Measurement::of(&[Sample { device_ms: None, ..s }, s]).unwrap();
        assert_eq!((sometimes.device, sometimes.time.n, sometimes.time.p50), (None, 2, 2.0));
    }
}
