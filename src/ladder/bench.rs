//! The benchmark of every ladder on one device. In: a [`Bench`], what takes part, cases. Out: for each case a [`CaseRun`],
//! told after each round.
//!
//! Each is checked before it is timed; how long a run takes is predicted, and what would take too long is left out. All of
//! them and the limits take turns in one loop, on the same input. The output of each one's first run is poisoned before it
//! and compared after it, every element: what differs drops out.

use std::cell::RefCell;

use super::Outcome;
use super::rows::{Case, CaseRun, Chosen, Entry, Row, Turn, not_timed};
use crate::error::{Error, Result};
use crate::ladder::measure::{self, Contender, Sample};
use crate::verify::{Checked, MismatchReport};

/// A ladder on one device, as the benchmark needs it. [`Contest`](super::contest::Contest) is one for all ladders whose
/// kernels compute on plain memory.
pub trait Bench {
    /// What is computed once.
    type Case;
    /// What takes part.
    type Entrant: Copy;
    /// A case with its inputs and outputs in memory.
    type Room;
    /// Something that can be run on a case, or a limit.
    type Ready;

    /// What a case is called.
    fn case(&self, case: &Self::Case) -> Case;

    /// What an entrant is called.
    fn entry(&self, entrant: Self::Entrant) -> Entry;

    /// Memory for a case, with the first input in it.
    ///
    /// # Errors
    /// When there is not enough of it, or the device fails.
    fn room(&mut self, case: &Self::Case) -> Result<Self::Room>;

    /// Makes an entrant ready, checks it as far as it takes to run it whole, and predicts how long that takes.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn prepare(&mut self, entrant: Self::Entrant, room: &mut Self::Room) -> Tried<Prepared<Self::Ready>>;

    /// Checks what takes so long that it is for what is not left out alone, and adds what it compared.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn check(&mut self, _prepared: &mut Prepared<Self::Ready>, _room: &mut Self::Room) -> Tried<()> {
        Ok(())
    }

    /// A limit, by its index among those of the case.
    ///
    /// # Errors
    /// What stands in the place of its times.
    fn limit(&mut self, index: usize, room: &mut Self::Room) -> Tried<Self::Ready>;

    /// Brings the input of a round, for all.
    ///
    /// # Errors
    /// When the device fails.
    fn load(&self, _round: u32, _room: &mut Self::Room) -> Result<()> {
        Ok(())
    }

    /// Fills the output with what is nowhere right, and what else no run may rely on.
    ///
    /// # Errors
    /// When the device fails.
    fn poison(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<()>;

    /// One complete run, waited for.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<Sample>;

    /// Compares the output with what is right for the first round's input, and that with what it was. The report's case is
    /// the input.
    ///
    /// # Errors
    /// When the device fails.
    fn compare(&self, ready: &Self::Ready, room: &mut Self::Room) -> Result<Option<MismatchReport>>;
}

/// Something that is to be timed, if it does not take too long.
#[derive(Debug)]
pub struct Prepared<R> {
    /// It.
    pub ready: R,
    /// How long a run takes, in milliseconds.
    pub predicted_ms: f64,
    /// What was chosen for it; only where there was a choice.
    pub chosen: Option<Chosen>,
    /// What was compared.
    pub checked: Vec<Checked>,
}

/// What was asked for, or the outcome that stands in its place.
pub type Tried<T> = std::result::Result<T, Box<Outcome>>;

/// The outcome of what failed.
pub fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

/// The outcome of what differs, if it does, or of a check that failed.
pub(crate) fn passed(report: Result<Option<MismatchReport>>) -> Tried<()> {
    report.map_err(fail)?.map_or(Ok(()), |report| Err(Box::new(Outcome::Mismatch(report))))
}

/// What cannot run for want of a device.
pub(crate) fn without_device() -> Box<Outcome> {
    Box::new(Outcome::Unsupported("There is no OpenCL device.".to_owned()))
}

/// A first run that takes so long needs no second one to predict the others, in milliseconds.
const COLD_MS: f64 = 300.0;

/// Predicts how long a run takes, in milliseconds, from a second one where the first was short: that also warms up.
///
/// # Errors
/// What `run` returns.
pub(crate) fn predict(mut run: impl FnMut() -> Result<Sample>) -> Result<f64> {
    let cold = run()?.wall_ms;
    if cold > COLD_MS { Ok(cold) } else { Ok(run()?.wall_ms) }
}

/// What is asked of a benchmark beside cases and entrants.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Timed rounds; each runs everything once.
    pub rounds: u32,
    /// Whether nothing is checked or timed any more after something that is wrong or failed.
    pub fail_fast: bool,
}

/// Told how a benchmark goes on.
pub trait Watch {
    /// What happens next; called once for each entrant that is checked and each round that is timed.
    fn next(&mut self, what: &str);

    /// What is known so far of a case, by its index, after each of its rounds. What has not had one yet is
    /// [left out](Outcome::Skipped), as [`NOT_TIMED`](super::NOT_TIMED) says.
    fn so_far(&mut self, case: usize, run: CaseRun);
}

/// Checks and times `entrants` for each of `cases`. What has been measured goes to `watch`, the last time for each case when
/// all of it is there. What goes wrong with one entrant or limit is its [`Outcome`], and what goes wrong with a case, that
/// of all its rows.
pub fn run<B: Bench>(
    bench: &mut B,
    entrants: &[B::Entrant],
    cases: &[B::Case],
    ask: Ask,
    watch: &mut dyn Watch,
) {
    for (index, case) in cases.iter().enumerate() {
        let run = match run_case(bench, entrants, (index, case), ask, watch) {
            Ok(run) => run,
            Err(error) => failed(bench.case(case), entrants.iter().map(|one| bench.entry(*one)), &error),
        };
        let is_wrong = run.is_wrong();
        watch.so_far(index, run);
        if is_wrong && ask.fail_fast {
            break;
        }
    }
}

/// A case of which nothing could be run.
pub fn failed(case: Case, entries: impl Iterator<Item = Entry>, error: &Error) -> CaseRun {
    let rows = entries.map(|entry| Row::new(entry, Outcome::Failed(error.clone()))).collect();
    CaseRun { rows, ..CaseRun::new(case) }
}

fn run_case<B: Bench>(
    bench: &mut B,
    entrants: &[B::Entrant],
    (index, case): (usize, &B::Case),
    ask: Ask,
    watch: &mut dyn Watch,
) -> Result<CaseRun> {
    let mut room = bench.room(case)?;
    let mut run = CaseRun::new(bench.case(case));
    let short = run.case.short.clone();
    let mut ready = Vec::new();
    for &entrant in entrants {
        let mut row = Row::new(bench.entry(entrant), not_timed());
        watch.next(&format!("checking {}, {short}", row.entry.id));
        let prepared = match ask.fail_fast && run.is_wrong() {
            true => Err(Box::new(Outcome::Skipped("Something before it is wrong.".to_owned()))),
            false => prepare(bench, entrant, &mut room, ask.rounds),
        };
        match prepared {
            Ok((rounds, Prepared { ready: one, chosen, checked, .. })) => {
                (row.chosen, row.checked) = (chosen, checked);
                ready.push((run.rows.len(), rounds, one));
            }
            Err(outcome) => row.outcome = *outcome,
        }
        run.rows.push(row);
    }
    if ask.fail_fast && run.is_wrong() {
        return Ok(run);
    }
    // The first limit is always timed, another one where something takes part whose limit it is.
    let mut limits: Vec<Option<B::Ready>> = Vec::new();
    for at in 0..run.limits.len() {
        let is_wanted = at == 0 || ready.iter().any(|(row, ..)| run.rows[*row].entry.limit == Some(at));
        let limit = is_wanted.then(|| warm_limit(bench, at, &mut room));
        let (outcome, limit) = match limit {
            Some(Ok(limit)) => (not_timed(), Some(limit)),
            Some(Err(outcome)) => (*outcome, None),
            None => (not_timed(), None),
        };
        run.limits[at] = outcome;
        limits.push(limit);
    }
    // A limit comes right before what it is the limit of, with the same in the caches.
    let mut turns = vec![Turn::Limit(0)];
    for (row, ..) in &ready {
        let limit = run.rows[*row].entry.limit.map(Turn::Limit);
        turns.extend(limit.filter(|limit| !turns.contains(limit)));
        turns.push(Turn::Row(*row));
    }
    let (bench, room) = (&*bench, RefCell::new(room));
    let contender = |turn: Turn| {
        let (rounds, run) = match turn {
            Turn::Limit(at) => (ask.rounds, plain(bench, limits.get(at)?.as_ref()?, &room)),
            Turn::Row(at) => {
                let (_, rounds, one) = ready.iter().find(|(row, ..)| *row == at)?;
                (*rounds, compared(bench, one, &room))
            }
        };
        Some((turn, Contender { rounds, run }))
    };
    let (turns, mut contenders): (Vec<Turn>, Vec<Contender<Box<Outcome>>>) =
        turns.into_iter().filter_map(contender).unzip();
    let results = measure::alternate(ask.rounds, &mut contenders, |round, results| {
        if round > 0 {
            watch.so_far(index, run.with(&turns, results));
        }
        watch.next(&format!("timing {short}, round {}", round + 1));
        bench.load(round, &mut room.borrow_mut())
    })?;
    Ok(run.with(&turns, &results))
}

/// Makes an entrant ready, decides how often it can run, and checks it.
fn prepare<B: Bench>(
    bench: &mut B,
    entrant: B::Entrant,
    room: &mut B::Room,
    rounds: u32,
) -> Tried<(u32, Prepared<B::Ready>)> {
    let mut prepared = bench.prepare(entrant, room)?;
    let rounds = measure::rounds_for(prepared.predicted_ms, rounds);
    let rounds = rounds.map_err(|why| Box::new(Outcome::Skipped(why)))?;
    bench.check(&mut prepared, room)?;
    Ok((rounds, prepared))
}

/// A limit that has run once.
fn warm_limit<B: Bench>(bench: &mut B, index: usize, room: &mut B::Room) -> Tried<B::Ready> {
    let limit = bench.limit(index, room)?;
    bench.run(&limit, room).map_err(fail)?;
    Ok(limit)
}

type Run<'a> = Box<dyn FnMut() -> Tried<Sample> + 'a>;

/// Runs that are timed.
fn plain<'a, B: Bench>(bench: &'a B, one: &'a B::Ready, room: &'a RefCell<B::Room>) -> Run<'a> {
    Box::new(move || bench.run(one, &mut room.borrow_mut()).map_err(fail))
}

/// Runs that are timed, of which the first is compared as well.
fn compared<'a, B: Bench>(bench: &'a B, one: &'a B::Ready, room: &'a RefCell<B::Room>) -> Run<'a> {
    let mut is_compared = false;
    Box::new(move || {
        let room = &mut room.borrow_mut();
        if is_compared {
            return bench.run(one, room).map_err(fail);
        }
        let sample = compare_run(bench, one, room)?;
        is_compared = true;
        Ok(sample)
    })
}

/// One run as it is timed, of which every element is compared.
pub(super) fn compare_run<B: Bench>(bench: &B, one: &B::Ready, room: &mut B::Room) -> Tried<Sample> {
    bench.poison(one, room).map_err(fail)?;
    let sample = bench.run(one, room).map_err(fail)?;
    let timed = |report: MismatchReport| {
        let case = format!("{}, as it is timed", report.case);
        MismatchReport { case, ..report }
    };
    passed(bench.compare(one, room).map(|report| report.map(timed)))?;
    Ok(sample)
}
