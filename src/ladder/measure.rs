//! Timing. In: things to run, each giving one [`Sample`] a call. Out: a [`Measurement`] for each.
//!
//! All of them alternate in one loop on the same data, so that whatever disturbs the machine disturbs all.
//! A prediction from a short probe decides how many rounds a slow one gets.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::gpu::cl::failed;
use crate::gpu::timer;
use crate::ladder::box_filter::Plan;
use crate::stats::{Series, ms_since};

/// One timed run, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// START to END of the device's events, summed over the passes.
    pub device_ms: f64,
    /// QUEUED to START of the first event.
    pub dispatch_ms: f64,
    /// From the first enqueue to completion; data resident, no transfers.
    pub wall_ms: f64,
}

/// Times of one variant, in milliseconds; see [`Sample`] for the three clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Device time: first start to last end by OpenCL's events.
    pub device: Series,
    /// Dispatch time; `None` where it was not measured.
    pub dispatch: Option<Series>,
    /// Wall time; `None` where it was not measured.
    pub wall: Option<Series>,
}

impl Measurement {
    /// The statistics of some runs; `None` when there are none.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let series = |f: fn(&Sample) -> f64| Series::of(&samples.iter().map(f).collect::<Vec<_>>());
        Some(Self {
            device: series(|s| s.device_ms)?,
            dispatch: series(|s| s.dispatch_ms),
            wall: series(|s| s.wall_ms),
        })
    }
}

/// Puts commands on the queue, waits for them, and times them. `enqueue` returns their events in order.
pub fn sample(
    queue: &ocl::Queue,
    enqueue: impl FnOnce(&ocl::Queue) -> Result<Vec<ocl::Event>>,
) -> Result<Sample> {
    let begin = Instant::now();
    let events = enqueue(queue)?;
    queue.finish().map_err(|e| failed("The device failed while it was timed.", &e))?;
    let wall_ms = ms_since(begin);
    let mut device_ms = 0.0;
    for event in &events {
        device_ms += timer::device_ms(event)?;
    }
    let dispatch_ms = events.first().map_or(Ok(0.0), timer::dispatch_ms)?;
    Ok(Sample { device_ms, dispatch_ms, wall_ms })
}

/// The longest that all rounds of one variant together should take.
const TOTAL: Duration = Duration::from_secs(20);
/// A single run that takes longer than this is not started.
pub(crate) const SINGLE: Duration = Duration::from_secs(60);
/// The fewest rounds that are worth quoting.
const FEWEST: u32 = 3;

/// How often to run something that is predicted to take `predicted_ms` a run, when `wanted` rounds are asked
/// for: all rounds if they take at most 20 s together, otherwise fewer, but at least three. `Err` is a
/// sentence for the user: a single run over 60 s is left out.
pub fn rounds_for(predicted_ms: f64, wanted: u32) -> std::result::Result<u32, String> {
    if predicted_ms > SINGLE.as_secs_f64() * 1e3 {
        return Err(format!("One run would take about {:.0} s.", predicted_ms / 1e3));
    }
    let affordable = (TOTAL.as_secs_f64() * 1e3 / predicted_ms.max(1e-6)).min(f64::from(u32::MAX)) as u32;
    Ok(wanted.min(affordable.max(FEWEST)))
}

/// Predicts the wall time of one run of `plan`, in milliseconds, from bands of growing height until one takes
/// long enough to be trusted. A fast plan has then run completely, which also warms it up.
pub fn predict(plan: &Plan, queue: &ocl::Queue) -> Result<f64> {
    const TRUSTED_MS: f64 = 30.0;
    let mut total = 0.0;
    for pass in 0..plan.passes() {
        let mut rows = plan.row_step(pass).min(plan.rows());
        total += loop {
            let run = sample(queue, |q| Ok(vec![plan.enqueue(q, pass, 0..rows)?]))?;
            if rows == plan.rows() || run.wall_ms > TRUSTED_MS {
                break run.wall_ms * f64::from(plan.rows()) / f64::from(rows);
            }
            rows = rows.saturating_mul(4).min(plan.rows());
        };
    }
    Ok(total)
}

/// Something to time: how many rounds it takes part in, and one run of it.
pub struct Contender<'a> {
    /// How many rounds it takes part in.
    pub rounds: u32,
    /// One complete run, waited for.
    #[allow(clippy::type_complexity)]
    pub run: Box<dyn FnMut() -> Result<Sample> + 'a>,
}

/// Runs all contenders in turn for up to `rounds` rounds, each as often as it wants to. `prepare` is called
/// before each round with its number, and is not timed: it brings the next frame. One that fails drops out
/// with its error. The samples come back in the contenders' order.
pub fn alternate(
    rounds: u32,
    contenders: &mut [Contender],
    mut prepare: impl FnMut(u32) -> Result<()>,
) -> Result<Vec<Result<Vec<Sample>>>> {
    let mut results: Vec<Result<Vec<Sample>>> = contenders.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..rounds {
        prepare(round)?;
        for (contender, result) in contenders.iter_mut().zip(&mut results) {
            let Ok(samples) = result else { continue };
            if round >= contender.rounds {
                continue;
            }
            match (contender.run)() {
                Ok(sample) => samples.push(sample),
                Err(e) => *result = Err(e),
            }
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::RefCell;

    #[test]
    fn slow_ones_get_fewer_rounds() {
        assert_eq!(rounds_for(1.0, 30), Ok(30));
        assert_eq!(rounds_for(1000.0, 30), Ok(20));
        assert_eq!(rounds_for(12_000.0, 30), Ok(3));
        assert_eq!(rounds_for(12_000.0, 2), Ok(2));
        assert_eq!(rounds_for(0.0, 30), Ok(30));
        assert!(rounds_for(206_000.0, 30).unwrap_err().contains("206 s"));
    }

    #[test]
    fn contenders_alternate_and_a_failing_one_drops_out() {
        let log = RefCell::new(String::new());
        let s = Sample { device_ms: 1.0, dispatch_ms: 0.5, wall_ms: 2.0 };
        let mut contenders = vec![
            Contender { rounds: 3, run: Box::new(|| (log.borrow_mut().push('a'), Ok(s)).1) },
            Contender { rounds: 2, run: Box::new(|| (log.borrow_mut().push('b'), Ok(s)).1) },
            Contender {
                rounds: 3,
                run: Box::new(|| (log.borrow_mut().push('c'), Err(Error::new("no", "", ""))).1),
            },
        ];
        let results = alternate(3, &mut contenders, |round| {
            log.borrow_mut().push_str(&round.to_string());
            Ok(())
        })
        .unwrap();
        drop(contenders);
        assert_eq!(log.into_inner(), "0abc1ab2a");
        let counts: Vec<_> = results.iter().map(|r| r.as_ref().map(Vec::len).ok()).collect();
        assert_eq!(counts, [Some(3), Some(2), None]);
        assert_eq!(Measurement::of(results[0].as_ref().unwrap()).unwrap().device.n, 3);
        assert_eq!(Measurement::of(&[]), None);
    }
}
