//! Measures the times of tasks (variants and peak kernels). Tasks run in turn in one loop on the same data, so that a
//! disturbance of the machine affects all of them. Slow tasks run in fewer rounds, depending on the predicted time of a run.

use std::sync::Arc;
use std::time::Duration;

use base::error::Error;
use base::timing::{CpuTimes, Noise, Precision, Series, believed, noise};
use compute::sample::Sample;

/// The times of one variant with their statistics, in milliseconds; see [`Sample`] for the three clocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The times by which variants are compared: device times, or wall times if there are no device times.
    pub time: Series,
    /// The device time from OpenCL events or OpenGL queries; `None` unless it is known for every run.
    pub device: Option<Series>,
    /// The dispatch time, from enqueueing a kernel to its start; `None` if it was not measured.
    pub dispatch: Option<Series>,
    /// The wall time of a run, measured by the host; `None` if it was not measured.
    pub wall: Option<Series>,
    /// The share of the machine's CPU time that other processes used during the measurement, from 0 to 1; `None` if it is
    /// unknown.
    pub others: Option<f64>,
    /// The number of runs for which the driver reported an impossible time, such as 0. These runs are left out of all
    /// statistics. If no other run is left, the wall times of all runs are used.
    pub impossible: usize,
    /// The times of each run by all clocks, in order, including runs with impossible times.
    pub samples: Arc<[Sample]>,
}

impl Measurement {
    /// Computes the statistics of `samples`; `None` if there are none.
    pub fn from_samples(samples: &[Sample]) -> Option<Self> {
        let is_possible = |sample: &&Sample| !sample.device_ms.is_some_and(f64::is_nan);
        let possible: Vec<Sample> = samples.iter().filter(is_possible).copied().collect();
        let impossible = samples.len() - possible.len();
        let kept = if possible.is_empty() {
            samples.iter().map(|sample| Sample::on_host(sample.wall_ms)).collect()
        } else {
            possible
        };
        let series =
            |f: fn(&Sample) -> Option<f64>| Series::of(&kept.iter().filter_map(f).collect::<Vec<_>>());
        let (device, wall) = (series(|s| s.device_ms), series(|s| Some(s.wall_ms)));
        let device = device.filter(|device| device.n == kept.len());
        let dispatch = series(|s| s.dispatch_ms).filter(|_| device.is_some());
        let time = device.or(wall)?;
        Some(Self { time, device, dispatch, wall, others: None, impossible, samples: samples.into() })
    }

    /// Returns a copy of this measurement in which wall times replace the device times.
    pub(super) fn by_wall(&self) -> Self {
        let time = self.wall.unwrap_or(self.time);
        Self { time, device: None, dispatch: None, ..self.clone() }
    }

    /// Returns the reasons why the times are noisy, which means that they are not exact to the last digit; `None` if they are
    /// not noisy.
    pub fn noise(&self) -> Option<Noise> {
        Noise::of(&self.time, self.others)
    }

    /// Returns the precision of the times: the number of digits to print, and true if they are noisy.
    pub fn precision(&self) -> Precision {
        Precision::of(&self.time, self.others)
    }

    /// Returns the times by which variants are compared, one for each run in order; NaN for a run with an impossible time.
    pub fn times(&self) -> Vec<f64> {
        let ms = |sample: &Sample| {
            if self.device.is_some() { sample.device_ms.unwrap_or(f64::NAN) } else { sample.wall_ms }
        };
        self.samples.iter().map(ms).collect()
    }

    /// Returns the median of these times divided by the median of `other`, as text that is rounded to the significant digits,
    /// such as "12.3×"; `None` if the median of `other` is 0.
    pub fn ratio(&self, other: &Self) -> Option<String> {
        let ratio = self.time.p50 / other.time.p50;
        (other.time.p50 > 0.0)
            .then(|| format!("{}×", believed(ratio, &[self.precision(), other.precision()])))
    }
}

/// The total time that all timed rounds of one variant should not exceed.
const MAX_TOTAL: Duration = Duration::from_secs(20);
/// The longest predicted time of a run that is started, unless the user has selected the variant by name.
pub const MAX_SINGLE_RUN: Duration = Duration::from_secs(60);
/// The longest predicted time of a run that is started if the user has selected the variant by name.
const MAX_NAMED_RUN: Duration = Duration::from_secs(600);
/// The minimum number of rounds of a variant, which gives a time, but is too small for statistics.
const MIN_ROUNDS: u32 = 3;

/// Returns the number of rounds in which a variant is timed if a run is predicted to take `predicted_ms`. The number is
/// `max_rounds` if that many rounds take at most 20 s together. Otherwise it is smaller, but at least five, which a time
/// without noise needs, or three if five rounds take more than a minute.
///
/// # Errors
/// Returns a sentence for the user if the variant should not be timed, because a run or the minimum number of rounds together
/// take over 60 s. A variant that is `selected_by_name` may take ten minutes per run.
pub fn rounds_for(predicted_ms: f64, max_rounds: u32, selected_by_name: bool) -> Result<u32, String> {
    let single_ms = MAX_SINGLE_RUN.as_secs_f64() * 1e3;
    let most_ms = if selected_by_name { MAX_NAMED_RUN.as_secs_f64() * 1e3 } else { single_ms };
    let needed = if selected_by_name { 1 } else { max_rounds.min(MIN_ROUNDS) };
    if predicted_ms * f64::from(needed) > most_ms {
        let ask = if predicted_ms <= MAX_NAMED_RUN.as_secs_f64() * 1e3 {
            " It is timed if --variant names it."
        } else {
            ""
        };
        return Err(format!("One run would take about {:.0} s.{ask}", predicted_ms / 1e3));
    }
    let affordable = (MAX_TOTAL.as_secs_f64() * 1e3 / predicted_ms.max(1e-6)).min(f64::from(u32::MAX)) as u32;
    let quiet = noise::MIN_SAMPLES as u32;
    let fewest = if predicted_ms * f64::from(quiet) <= single_ms { quiet } else { MIN_ROUNDS };
    Ok(max_rounds.min(affordable.max(fewest)))
}

/// The time in milliseconds below which a run counts as short. The time of a short run depends on what ran before it, so the
/// task runs once more before each timed run.
const SHORT_MS: f64 = 1.0;

/// The times of all timed runs of one task.
#[derive(Debug, Clone, Default)]
pub struct TaskSamples {
    /// A sample for each round.
    pub samples: Vec<Sample>,
    /// The share of the machine's CPU time that other processes used from the first to the last round, from 0 to 1; `None` if
    /// it is unknown.
    pub others: Option<f64>,
}

impl TaskSamples {
    /// Computes the statistics of the runs; `None` if there are none.
    pub fn measurement(&self) -> Option<Measurement> {
        Measurement::from_samples(&self.samples).map(|m| Measurement { others: self.others, ..m })
    }
}

/// The times of each task, or its error, in the order of the tasks.
pub type TaskResults<E = Error> = Vec<Result<TaskSamples, E>>;

/// The loop in which tasks run in turn, so that a disturbance of the machine affects all of them. A task that fails does not
/// run again; its result is the error.
///
/// A task that takes less than [`SHORT_MS`] runs once more before each timed run: otherwise what ran before it would determine
/// the contents of the caches and the speed of the device's clock, and thereby most of so short a time.
pub struct Alternation<E = Error> {
    /// The number of rounds in which each task runs.
    rounds: Vec<u32>,
    /// The index of the first task of each pair of tasks that are compared with each other. The second task of the pair runs
    /// after the first in even rounds and before it in odd ones, so that neither profits from the order.
    pairs: Vec<usize>,
    /// The times measured so far, or the error of a task that has failed.
    pub results: TaskResults<E>,
    began: Option<CpuTimes>,
}

impl<E> Alternation<E> {
    /// Creates the loop for tasks that run in these numbers of rounds; no round has been run yet. `pairs` contains the index of
    /// the first task of each pair of tasks that are compared with each other.
    pub fn new(rounds: Vec<u32>, pairs: Vec<usize>) -> Self {
        let results = rounds.iter().map(|_| Ok(TaskSamples::default())).collect();
        Self { rounds, pairs, results, began: CpuTimes::now() }
    }

    /// Returns the share of the machine's CPU time that other processes have used since this loop was created, from 0 to 1;
    /// `None` if it is unknown.
    fn others(&self) -> Option<f64> {
        CpuTimes::now()?.others_since(self.began.as_ref()?)
    }

    /// Runs each task that takes part in this round. `run` receives the index of the task, and the number of the round, or
    /// `None` for an additional run that only warms up for the timed one.
    pub fn round(&mut self, round: u32, mut run: impl FnMut(usize, Option<u32>) -> Result<Sample, E>) {
        for at in 0..self.rounds.len() {
            let at = match round % 2 {
                1 if self.pairs.contains(&at) => at + 1,
                1 if at > 0 && self.pairs.contains(&(at - 1)) => at - 1,
                _ => at,
            };
            let (Some(rounds), Some(result)) = (self.rounds.get(at), self.results.get_mut(at)) else {
                continue;
            };
            let Ok(timed) = result else { continue };
            if round >= *rounds {
                continue;
            }
            let is_short = timed.samples.last().is_some_and(|sample| sample.ms() < SHORT_MS);
            let warm = if is_short { run(at, None).map(drop) } else { Ok(()) };
            match warm.and_then(|()| run(at, Some(round))) {
                Ok(sample) => timed.samples.push(sample),
                Err(e) => *result = Err(e),
            }
        }
        let now = self.others();
        for (rounds, result) in self.rounds.iter().zip(&mut self.results) {
            if let (Ok(timed), true) = (result, round < *rounds) {
                timed.others = now;
            }
        }
    }

    /// Completes the results with the load of other processes. If the rounds together were too short to measure that load,
    /// continues to measure it for a short time after them.
    pub fn finish(&mut self) {
        let is_short = |result: &Result<TaskSamples, E>| result.as_ref().is_ok_and(|t| t.others.is_none());
        if let (Some(began), true) = (&self.began, self.results.iter().any(is_short)) {
            std::thread::sleep(began.remaining_interval());
            let now = self.others();
            for timed in self.results.iter_mut().flatten() {
                timed.others = timed.others.or(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tasks_get_fewer_rounds() {
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

    /// Returns the number of timed runs of each task; `None` for a task that has failed.
    fn counts(turns: &Alternation) -> Vec<Option<usize>> {
        turns.results.iter().map(|one| one.as_ref().map(|timed| timed.samples.len()).ok()).collect()
    }

    /// Runs three rounds of tasks with the names a, b, …; returns the names in the order of the runs, those of timed runs in
    /// upper case, and a space after each round.
    fn run_rounds(
        rounds: Vec<u32>,
        pairs: Vec<usize>,
        run: impl Fn(char) -> Result<Sample, Error>,
    ) -> (Alternation, String) {
        let (mut turns, mut names) = (Alternation::new(rounds, pairs), String::new());
        for round in 0..3 {
            turns.round(round, |at, round| {
                let name = ['a', 'b', 'c', 'd'][at];
                names.push(if round.is_some() { name.to_ascii_uppercase() } else { name });
                run(names.chars().last().unwrap())
            });
            names.push(' ');
        }
        (turns, names)
    }

    #[test]
    fn short_tasks_run_once_more_before_each_timed_run() {
        let (turns, names) = run_rounds(vec![3; 3], Vec::new(), |name| match name {
            'c' => Err(Error::new("no", "", "")),
            'b' | 'B' => Ok(Sample::on_host(2.0)),
            _ => Ok(Sample::on_host(0.5)),
        });
        assert_eq!(names, "ABC aABc aAB ", "the one that fails in the run before drops out, too");
        assert_eq!(counts(&turns), [Some(3), Some(3), None]);
    }

    #[test]
    fn neither_task_of_a_pair_always_comes_first() {
        let (turns, names) = run_rounds(vec![3; 4], vec![1], |_| Ok(Sample::on_host(2.0)));
        assert_eq!(names, "ABCD ACBD ABCD ");
        assert_eq!(counts(&turns), [Some(3); 4]);
    }

    #[test]
    fn tasks_alternate_and_a_failing_one_is_dropped() {
        let s = Sample { device_ms: Some(1.0), dispatch_ms: Some(0.5), wall_ms: 2.0 };
        let fail = || Err(Error::new("no", "", ""));
        let (mut turns, names) =
            run_rounds(vec![3, 2, 3], Vec::new(), |name| if name == 'C' { fail() } else { Ok(s) });
        turns.finish();
        assert_eq!(names, "ABC AB A ");
        assert_eq!(counts(&turns), [Some(3), Some(2), None]);
        let results = turns.results;
        let measured = results[0].as_ref().unwrap().measurement().unwrap();
        assert_eq!((measured.time.n, measured.device, measured.time.p50), (3, Some(measured.time), 1.0));
        assert_eq!(measured.noise().unwrap().few, Some(3), "three runs are few");
        assert_eq!(measured.others.is_some(), CpuTimes::now().is_some(), "also of what takes no time");
        assert_eq!(Measurement::from_samples(&[]), None);
        // Without a device time, wall times are compared, and are not reported as device times.
        let by_wall = Measurement::from_samples(&[Sample::on_host(2.0)]).unwrap();
        assert_eq!((by_wall.device, by_wall.dispatch, by_wall.wall), (None, None, Some(by_wall.time)));
        assert_eq!(by_wall.time.p50, 2.0);
        let impossible = Sample { device_ms: Some(f64::NAN), ..s };
        let rest = Measurement::from_samples(&[s, impossible, s]).unwrap();
        assert_eq!((rest.time.n, rest.impossible, rest.device), (2, 1, Some(rest.time)));
        let none = Measurement::from_samples(&[impossible, impossible]).unwrap();
        assert_eq!((none.time.n, none.impossible, none.device, none.dispatch), (2, 2, None, None));
        assert_eq!(none.times(), [s.wall_ms; 2]);
        let times = rest.times();
        assert_eq!((times[0], times[1].is_nan(), times[2]), (1.0, true, 1.0), "each in its round");
        assert_eq!(none.time.p50, s.wall_ms, "wall times take the place of impossible ones");
        let sometimes = Measurement::from_samples(&[Sample { device_ms: None, ..s }, s]).unwrap();
        assert_eq!((sometimes.device, sometimes.time.n, sometimes.time.p50), (None, 2, 2.0));
    }
}
