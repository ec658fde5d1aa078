//! The benchmark of every ladder on one device. In: a [`Bench`], what takes part, cases. Out: for each case a [`CaseRun`],
//! told after each round.
//!
//! Each is checked before it is timed; how long a run takes is predicted, and what would take too long is left out. All of
//! them and the limits take turns in one loop, on the same input. The output of each one's first run is poisoned before it
//! and compared after it, every element: what differs drops out.

use std::cell::RefCell;

use super::Outcome;
use super::bench::{Bench, Prepared, Tried, fail};
use super::rows::{Case, CaseRun, Entry, Row, Turn, not_timed};
use crate::measure::{self, Contender, Sample};
use base::error::{Error, Result};
use base::verify::{Accuracy, MismatchReport};
use opencl::watch;

/// What is asked of a benchmark beside cases and entrants.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Timed rounds; each runs everything once.
    pub rounds: u32,
    /// Whether nothing is checked or timed any more after something that is wrong or failed.
    pub fail_fast: bool,
    /// Whether the entrants were asked for by their names: what takes minutes is left out where they were not.
    pub named: bool,
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
            false => prepare(bench, entrant, &mut room, ask),
        };
        match prepared {
            Ok((rounds, Prepared { ready: one, predicted_ms, chosen, checked })) => {
                (row.chosen, row.checked) = (chosen, checked);
                ready.push((run.rows.len(), (rounds, predicted_ms), one));
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
    let exact: RefCell<Vec<(usize, Accuracy)>> = RefCell::default();
    let contender = |turn: Turn| {
        let (rounds, run) = match turn {
            Turn::Limit(at) => (ask.rounds, plain(bench, limits.get(at)?.as_ref()?, &room)),
            Turn::Row(at) => {
                let (_, (rounds, predicted_ms), one) = ready.iter().find(|(row, ..)| *row == at)?;
                (*rounds, compared(bench, (one, *predicted_ms), &room, (at, &exact)))
            }
        };
        Some((turn, Contender { rounds, run }))
    };
    let (turns, mut contenders): (Vec<Turn>, Vec<Contender<Box<Outcome>>>) =
        turns.into_iter().filter_map(contender).unzip();
    let results = measure::alternate(ask.rounds, &mut contenders, |round, results| {
        if round > 0 {
            watch.so_far(index, run.with(&turns, results, &exact.borrow()));
        }
        watch.next(&format!("timing {short}, round {}", round + 1));
        bench.load(round, &mut room.borrow_mut())
    })?;
    let run = run.with(&turns, &results, &exact.borrow());
    let remark = bench.remark(&run);
    Ok(CaseRun { remark, ..run })
}

/// Makes an entrant ready, decides how often it can run, and checks it.
fn prepare<B: Bench>(
    bench: &mut B,
    entrant: B::Entrant,
    room: &mut B::Room,
    ask: Ask,
) -> Tried<(u32, Prepared<B::Ready>)> {
    let mut prepared = bench.prepare(entrant, room)?;
    let _watched = watch::step("a variant is checked", prepared.predicted_ms);
    let rounds = measure::rounds_for(prepared.predicted_ms, ask.rounds, ask.named);
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

/// Runs that are timed, of which the first is compared as well; how exact it is goes to the row.
fn compared<'a, B: Bench>(
    bench: &'a B,
    (one, predicted_ms): (&'a B::Ready, f64),
    room: &'a RefCell<B::Room>,
    (row, exact): (usize, &'a RefCell<Vec<(usize, Accuracy)>>),
) -> Run<'a> {
    let mut is_compared = false;
    Box::new(move || {
        let _watched = watch::step("a variant is timed", predicted_ms);
        let room = &mut room.borrow_mut();
        if is_compared {
            return bench.run(one, room).map_err(fail);
        }
        let (sample, accuracy) = compare_run(bench, one, room)?;
        exact.borrow_mut().extend(accuracy.map(|accuracy| (row, accuracy)));
        is_compared = true;
        Ok(sample)
    })
}

/// One run as it is timed, of which every element is compared.
pub(super) fn compare_run<B: Bench>(
    bench: &B,
    one: &B::Ready,
    room: &mut B::Room,
) -> Tried<(Sample, Option<Accuracy>)> {
    bench.poison(one, room).map_err(fail)?;
    let sample = bench.run(one, room).map_err(fail)?;
    let timed = |report: MismatchReport| {
        let case = format!("{}, as it is timed", report.case);
        MismatchReport { case, ..report }
    };
    match bench.compare(one, room).map_err(fail)? {
        Ok(accuracy) => Ok((sample, accuracy)),
        Err(report) => Err(Box::new(Outcome::Mismatch(timed(*report)))),
    }
}

/// The same for those who time by themselves: an error where it differs.
///
/// # Errors
/// When the device fails, or the output differs.
pub fn compare_once<B: Bench>(bench: &B, one: &B::Ready, room: &mut B::Room) -> Result<()> {
    compare_run(bench, one, room)
        .map(drop)
        .map_err(|outcome| Error::new("A result is not right.", outcome.reason().unwrap_or_default(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BackEnd;
    use crate::bench::Compared;
    use crate::rows::{LimitName, Worth};
    use base::verify::Checked;

    /// Entrants are called as they behave; all that is done is written down.
    #[derive(Default)]
    struct Made {
        log: RefCell<Vec<String>>,
    }

    impl Made {
        fn note(&self, what: &str, of: &str) {
            self.log.borrow_mut().push(format!("{what} {of}"));
        }
    }

    fn error(what: &str) -> Error {
        Error::new(what, "", "")
    }

    impl Bench for Made {
        type Case = &'static str;
        type Entrant = &'static str;
        type Room = ();
        type Ready = &'static str;

        fn case(&self, case: &&'static str) -> Case {
            let limit = |name| LimitName { key: name, name, note: None, computes: false };
            let (title, short) = (String::new(), (*case).to_owned());
            let limits = vec![limit("first"), limit("second"), limit("nobody's")];
            Case { title, short, json: (*case).into(), worth: Worth::Frames, base: "", limits }
        }

        fn entry(&self, id: &'static str) -> Entry {
            let limit = Some(usize::from(id == "other"));
            Entry { id, name: id.to_owned(), title: id, back_end: BackEnd::Native, limit, beside: None }
        }

        fn room(&mut self, case: &&'static str) -> Result<()> {
            if *case == "full" { Err(error("no memory")) } else { Ok(()) }
        }

        fn prepare(&mut self, id: &'static str, (): &mut ()) -> Tried<Prepared<&'static str>> {
            self.note("prepare", id);
            let predicted_ms = match id {
                "slow" => 1e6,
                "half a minute" => 3e4,
                _ => 1.0,
            };
            let (chosen, checked) = (None, vec![Checked::default()]);
            if id == "unbuilt" {
                return Err(fail(error("does not build")));
            }
            Ok(Prepared { ready: id, predicted_ms, chosen, checked })
        }

        fn check(&mut self, prepared: &mut Prepared<&'static str>, (): &mut ()) -> Tried<()> {
            self.note("check", prepared.ready);
            Ok(())
        }

        fn limit(&mut self, index: usize, (): &mut ()) -> Tried<&'static str> {
            if index == 1 { Err(fail(error("no second limit"))) } else { Ok("limit") }
        }

        fn load(&self, round: u32, (): &mut ()) -> Result<()> {
            self.note("load", &round.to_string());
            Ok(())
        }

        fn poison(&self, ready: &&'static str, (): &mut ()) -> Result<()> {
            self.note("poison", ready);
            Ok(())
        }

        fn run(&self, ready: &&'static str, (): &mut ()) -> Result<Sample> {
            self.note("run", ready);
            if *ready == "broken" {
                return Err(error("broken"));
            }
            Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: 1.0 })
        }

        fn compare(&self, ready: &&'static str, (): &mut ()) -> Result<Compared> {
            self.note("compare", ready);
            let report = MismatchReport { case: "noise".to_owned(), count: 1, ..MismatchReport::default() };
            Ok(if *ready == "wrong" { Err(Box::new(report)) } else { Ok(None) })
        }
    }

    #[derive(Default)]
    struct Told {
        steps: usize,
        runs: Vec<(usize, CaseRun)>,
    }

    impl Watch for Told {
        fn next(&mut self, _: &str) {
            self.steps += 1;
        }

        fn so_far(&mut self, case: usize, run: CaseRun) {
            self.runs.push((case, run));
        }
    }

    fn told(made: &mut Made, entrants: &[&'static str], cases: &[&'static str], fail_fast: bool) -> Told {
        asked(made, entrants, cases, Ask { rounds: 3, fail_fast, named: false })
    }

    fn asked(made: &mut Made, entrants: &[&'static str], cases: &[&'static str], ask: Ask) -> Told {
        let mut told = Told::default();
        run(made, entrants, cases, ask, &mut told);
        told
    }

    fn words(run: &CaseRun) -> Vec<&'static str> {
        run.rows.iter().map(|row| row.outcome.word()).collect()
    }

    #[test]
    fn all_take_turns_on_the_same_input_and_first_runs_are_compared() {
        let mut made = Made::default();
        let told = told(&mut made, &["good", "wrong", "slow"], &["any"], false);
        let log = made.log.take().join(", ");
        let want = "prepare good, check good, prepare wrong, check wrong, prepare slow, run limit, \
                    load 0, run limit, poison good, run good, compare good, poison wrong, run wrong, compare wrong, \
                    load 1, run limit, run good, load 2, run limit, run good";
        assert_eq!(log, want, "what is slow is not even checked, and what differs drops out");
        assert_eq!((told.steps, told.runs.len()), (3 + 3, 3), "told after each round");
        let (_, last) = &told.runs[2];
        assert_eq!(words(last), ["ok", "mismatch", "skipped"]);
        assert_eq!(last.limits[0].measured().map(|m| m.time.n), Some(3));
        assert!(!matches!(last.limits[2], Outcome::Failed(_)), "nobody has asked for it");
        let Outcome::Mismatch(report) = &last.rows[1].outcome else { panic!("{last:?}") };
        assert_eq!(report.case, "noise, as it is timed");
        let times = |index: usize| told.runs[index].1.rows[0].outcome.measured().map(|m| m.time.n);
        assert_eq!([times(0), times(1), times(2)], [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn what_takes_minutes_is_said_and_left_out_unless_it_was_asked_for() {
        let of = |named| {
            let ask = Ask { rounds: 3, fail_fast: false, named };
            let mut made = Made::default();
            let told = asked(&mut made, &["good", "half a minute", "slow"], &["any"], ask);
            let run = told.runs.last().unwrap().1.clone();
            (run, made.log.take().contains(&"run half a minute".to_owned()))
        };
        let (left_out, has_run) = of(false);
        assert_eq!((words(&left_out).as_slice(), has_run), (&["ok", "skipped", "skipped"][..], false));
        let reason = |run: &CaseRun, row: usize| run.rows[row].outcome.reason().unwrap();
        assert_eq!(reason(&left_out, 1), "One run would take about 30 s. It is timed if --variant names it.");
        let (named, has_run) = of(true);
        assert_eq!((words(&named).as_slice(), has_run), (&["ok", "ok", "skipped"][..], true));
        assert_eq!(reason(&named, 2), "One run would take about 1000 s.", "in no case");
    }

    #[test]
    fn what_fails_costs_itself_alone() {
        let told = told(&mut Made::default(), &["unbuilt", "broken", "other"], &["full", "any"], false);
        let of = |case| &told.runs.iter().rfind(|(of, _)| *of == case).unwrap().1;
        assert_eq!(words(of(0)), ["failed"; 3], "nothing of a case without memory");
        assert_eq!(words(of(1)), ["failed", "failed", "ok"]);
        let limits: Vec<_> = of(1).limits.iter().map(Outcome::word).collect();
        assert_eq!(limits, ["ok", "failed", "skipped"]);
        let other = &of(1).rows[2];
        assert!(of(1).limit_of(other).is_none() && of(1).limit_of(&of(1).rows[0]).is_some());
    }

    #[test]
    fn asked_to_fail_fast_it_ends_at_the_first_that_is_wrong() {
        let mut made = Made::default();
        let early = told(&mut made, &["good", "unbuilt", "other"], &["one", "two"], true);
        assert_eq!((early.runs.len(), words(&early.runs[0].1)), (1, vec!["skipped", "failed", "skipped"]));
        assert!(!made.log.take().iter().any(|line| line.starts_with("run") || line.ends_with("other")));
        let late = told(&mut made, &["good", "wrong"], &["one", "two"], true);
        assert!(late.runs.iter().all(|(case, _)| *case == 0));
        assert_eq!(words(&late.runs.last().unwrap().1), ["ok", "mismatch"]);
        let on = told(&mut made, &["good", "wrong"], &["one", "two"], false);
        assert!(on.runs.iter().any(|(case, _)| *case == 1));
    }
}
