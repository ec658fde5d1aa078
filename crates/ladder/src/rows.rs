//! What comes out of a benchmark, as data: for each case a [`CaseRun`] with the limits and the rows. Reports read nothing
//! else, so they are the same for all ladders.

use serde_json::Value;

use super::{BackEnd, NOT_TIMED, Outcome};
use crate::measure::{Measurement, Results, Timed};
use base::verify::{Accuracy, Checked};
use opencl::timer::IMPOSSIBLE;

/// What is computed, for those who read of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// As a person would say it, as in "16777216 floats".
    pub title: String,
    /// The same in a word or two, where what is computed with is known, as in "r=7".
    pub short: String,
    /// The same in JSON.
    pub json: Value,
    /// What its times are worth.
    pub worth: Worth,
    /// The rung that the speed of the others is compared with, where it has a time; else the slowest.
    pub base: &'static str,
    /// What nothing that moves so many bytes can pass. The first is always shown, others where something takes part whose
    /// limit they are.
    pub limits: Vec<LimitName>,
}

/// What a time is turned into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Worth {
    /// Runs a second: each computes a frame.
    Frames,
    /// Bytes and operations a second.
    Amounts {
        /// Bytes that have to be moved between memory and processor.
        bytes: f64,
        /// Operations on floats that have to be done; 0 where there are none, and then nothing is said of them.
        operations: f64,
    },
}

/// A limit, as it is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitName {
    /// The beginning of its keys in JSON.
    pub key: &'static str,
    /// For people.
    pub name: &'static str,
    /// What there is to know of the rows that it is the limit of.
    pub note: Option<&'static str>,
    /// It does the operations and moves no bytes; otherwise it moves the bytes and computes nothing.
    pub computes: bool,
}

/// What takes part, as it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name on the command line and in JSON.
    pub id: &'static str,
    /// Its name in tables: the same, where it is the only one with this id.
    pub name: String,
    /// Its name for people, one to three words.
    pub title: &'static str,
    /// What computes it.
    pub back_end: BackEnd,
    /// Which of the limits it can be compared with, if any.
    pub limit: Option<usize>,
    /// What is beside the ladder's own rungs says in JSON what it is.
    pub beside: Option<Value>,
}

/// What the fastest rung is on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The rung and its parameters, as in `name WIDTH=4`.
    pub what: String,
    /// Whether tuning had found it before; otherwise a short search did. `None` where there is no such search.
    pub tuned: Option<bool>,
}

/// What came of something that took part.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is.
    pub entry: Entry,
    /// Its times, or what stands in their place.
    pub outcome: Outcome,
    /// What was chosen for it; only where there was a choice.
    pub chosen: Option<Chosen>,
    /// What was compared; nothing of one that was not checked to its end.
    pub checked: Vec<Checked>,
    /// How exact what was timed is, where it need not be right to the last bit.
    pub accuracy: Option<Accuracy>,
}

impl Row {
    /// One with nothing but an outcome.
    pub fn new(entry: Entry, outcome: Outcome) -> Self {
        Self { entry, outcome, chosen: None, checked: Vec::new(), accuracy: None }
    }
}

/// What came out for one case.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// The case.
    pub case: Case,
    /// One for each of the case's limits: they take turns with the rows.
    pub limits: Vec<Outcome>,
    /// One for each that takes part, in the order asked for.
    pub rows: Vec<Row>,
    /// What the times say, where there is a question that they answer.
    pub remark: Option<String>,
}

/// What a contender's times are for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Turn {
    /// By the limit's index.
    Limit(usize),
    /// By the row's index.
    Row(usize),
}

/// What has no time yet.
pub(super) fn not_timed() -> Outcome {
    Outcome::Skipped(NOT_TIMED.to_owned())
}

impl CaseRun {
    /// One of which nothing is known yet.
    pub fn new(case: Case) -> Self {
        let limits = vec![not_timed(); case.limits.len()];
        Self { case, limits, rows: Vec::new(), remark: None }
    }

    /// The limits that have times, with their names.
    pub fn timed_limits(&self) -> impl Iterator<Item = (LimitName, &Measurement)> {
        let limits = self.case.limits.iter().zip(&self.limits);
        limits.filter_map(|(name, outcome)| Some((*name, outcome.measured()?)))
    }

    /// The time of the limit that a row can be compared with.
    pub fn limit_of(&self, row: &Row) -> Option<&Measurement> {
        row.entry.limit.and_then(|at| self.limits.get(at)).and_then(Outcome::measured)
    }

    /// The rows that have times.
    pub fn timed(&self) -> impl Iterator<Item = (&Row, &Measurement)> + Clone {
        self.rows.iter().filter_map(|row| Some((row, row.outcome.measured()?)))
    }

    /// What the speed of the others is compared with: the case's base, or the slowest where that has no time.
    pub fn base(&self) -> Option<(&Row, &Measurement)> {
        let base = self.timed().find(|(row, _)| row.entry.id == self.case.base);
        base.or_else(|| self.timed().max_by(|(_, a), (_, b)| f64::total_cmp(&a.time.p50, &b.time.p50)))
    }

    /// The rows that have the wall's time, since no device tells theirs; each id once.
    pub fn by_wall(&self) -> Vec<&'static str> {
        let mut ids = Vec::new();
        for (row, measured) in self.timed() {
            if measured.device.is_none() && !ids.contains(&row.entry.id) {
                ids.push(row.entry.id);
            }
        }
        ids
    }

    /// What came of limits and rows.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.limits.iter().chain(self.rows.iter().map(|row| &row.outcome))
    }

    /// Whether anything is wrong or failed.
    pub(super) fn is_wrong(&self) -> bool {
        self.outcomes().any(|outcome| matches!(outcome, Outcome::Mismatch(_) | Outcome::Failed(_)))
    }

    /// The same with what has been measured, and how exact rows are, by their index.
    pub(super) fn with(
        &self,
        turns: &[Turn],
        results: &Results<Box<Outcome>>,
        exact: &[(usize, Accuracy)],
    ) -> Self {
        let mut run = self.clone();
        for (at, accuracy) in exact {
            run.rows.iter_mut().skip(*at).take(1).for_each(|row| row.accuracy = Some(*accuracy));
        }
        for (turn, timed) in turns.iter().zip(results) {
            let to = match *turn {
                Turn::Limit(at) => run.limits.get_mut(at),
                Turn::Row(at) => run.rows.get_mut(at).map(|row| &mut row.outcome),
            };
            let Some(to) = to else { continue };
            match timed.as_ref().map(Timed::measurement) {
                Ok(Some(measured)) => *to = Outcome::Ok(measured),
                // Ran, and has no time all the same.
                Ok(None) if timed.as_ref().is_ok_and(|timed| !timed.samples.is_empty()) => {
                    *to = Outcome::Skipped(IMPOSSIBLE.to_owned());
                }
                Ok(None) => {}
                Err(instead) => *to = (**instead).clone(),
            }
        }
        run
    }
}
