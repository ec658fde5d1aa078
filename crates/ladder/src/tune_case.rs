//! Tuning a [`Ladder`]. In: its contest on a device, and a case. Out: what the [search](super::tune) found, which is checked
//! and timed as the benchmark does it.

use std::cell::RefCell;
use std::time::Instant;

use crate::Outcome;
use crate::bench::Bench;
use crate::cache::Class;
use crate::config::Config;
use crate::contest::{Contest, Ladder, Room, check, check_one};
use crate::judge::{GoOn, Judge, Status};
use crate::measure::Sample;
use crate::rounds::compare_run;
use crate::rung::Work;
use crate::tune::{self, Rungs, Search, Watch};
use base::error::{Error, Result};
use base::timing::ms_since;
use base::verify::{self, Checked, MismatchReport};
use opencl::cl::{ClContext, DeviceInfo};

/// The rungs of a ladder that are worth tuning: all that are made of kernels. The later ones are the likely fastest.
pub fn rungs<L: Ladder>(ladder: &L, device: &DeviceInfo) -> Rungs<L::Code> {
    let first = |code| Config::of(code, device.kind).fitted(device);
    let rungs = ladder.rungs().iter().rev();
    rungs
        .filter_map(|r| if let Work::Kernels(code) = r.work { Some((r.id, first(code))) } else { None })
        .collect()
}

/// The cases for which the cache keeps what is found for this one.
pub fn class<L: Ladder>(ladder: &L, case: &L::Case) -> Class {
    Class::of(L::NAME, ladder.class(case))
}

/// Searches the parameters of a ladder's kernels for a case. `None` when `watch` has ended it.
///
/// # Errors
/// When there is no device, it cannot hold the case, or it fails. What goes wrong with a configuration is its [`Status`].
pub fn search<L: Ladder>(
    contest: &mut Contest<L>,
    case: &L::Case,
    watch: &mut dyn Watch<L::Code>,
) -> Result<Option<Search<L::Code>>> {
    let mut room = contest.room(case)?;
    let cl = contest.device(&room).map_err(|outcome| error(*outcome))?.clone();
    let limit = contest.limit(0, &mut room).map_err(|outcome| watch.warn(&error(*outcome))).ok();
    let rungs = rungs(contest.ladder, &cl.device.info);
    tune::search(OfCase { contest, cl, room: RefCell::new(room), limit }, rungs, watch)
}

/// One case on one device.
struct OfCase<'c, 'a, L: Ladder> {
    contest: &'c mut Contest<'a, L>,
    cl: ClContext,
    room: RefCell<Room<L>>,
    /// `None` where it cannot run.
    limit: Option<L::Built>,
}

/// Why something that was to be done was not.
fn error(outcome: Outcome) -> Error {
    let not_run = |why| Error::new("It cannot be tuned.", why, "");
    match outcome {
        Outcome::Failed(error) => error,
        Outcome::Unsupported(why) | Outcome::Skipped(why) => not_run(why),
        Outcome::Mismatch(report) => not_run(report.to_string()),
        Outcome::Ok(_) => not_run(String::new()),
    }
}

/// What stands in the place of what was asked for: a mismatch, or an error.
fn mismatch(outcome: Outcome) -> Result<MismatchReport> {
    if let Outcome::Mismatch(report) = outcome { Ok(report) } else { Err(error(outcome)) }
}

impl<L: Ladder> Judge for OfCase<'_, '_, L> {
    type Code = L::Code;
    type Ready = L::Built;
    type Limit = L::Built;

    fn device(&self) -> &DeviceInfo {
        &self.cl.device.info
    }

    fn try_apart(&mut self, rung: &'static str, config: &Config<L::Code>, _: f64) -> Option<Status> {
        let outcome = self.contest.try_config(&self.room.borrow().case, rung, config).err()?;
        Some(mismatch(*outcome).map_or_else(|error| Status::Failed(error.to_string()), Status::Mismatch))
    }

    fn build(
        &mut self,
        _: &'static str,
        config: &Config<L::Code>,
        compile_ms: &mut Option<f64>,
    ) -> Result<L::Built> {
        let ladder = self.contest.ladder;
        let began = Instant::now();
        let built = ladder.compile(&self.cl, config);
        *compile_ms = Some(ms_since(began));
        let built = built?;
        if let Some(small) = ladder.small().first() {
            let guard = verify::guard(ladder.output_bytes(small));
            let mut room = ladder.room(Some(&self.cl), small, guard)?;
            ladder.load(&mut room, L::INPUTS[0])?;
            let launched_ms = ladder.run(&built, &mut room)?.wall_ms;
            *compile_ms = compile_ms.map(|compiled_ms| compiled_ms + launched_ms);
        }
        Ok(built)
    }

    fn first_look(&mut self, built: &L::Built) -> Result<Option<MismatchReport>> {
        let (ladder, input) = (self.contest.ladder, L::INPUTS[0]);
        let Some(small) = ladder.small().into_iter().next() else { return Ok(None) };
        let case = format!("{input}, {}", ladder.title(&small));
        let report = check_one(ladder, Some(&self.cl), built, &small, input)?;
        Ok(report.map(|report| MismatchReport { case, ..report }))
    }

    fn predict(&mut self, built: &L::Built) -> Result<f64> {
        self.run(built).map(|sample| sample.ms())
    }

    fn check(
        &mut self,
        built: &L::Built,
        _: f64,
        checked: &mut Vec<Checked>,
        go_on: GoOn,
    ) -> Result<Option<MismatchReport>> {
        go_on()?;
        match check(self.contest.ladder, Some(&self.cl), built, &self.room.borrow().case) {
            Ok(all) => {
                *checked = all;
                Ok(None)
            }
            Err(outcome) => mismatch(*outcome).map(Some),
        }
    }

    fn first_run(&mut self, built: &L::Built) -> Result<std::result::Result<Sample, MismatchReport>> {
        let room = self.room.get_mut();
        let outcome = match compare_run(&*self.contest, built, room) {
            Ok((sample, _)) => return Ok(Ok(sample)),
            Err(outcome) => *outcome,
        };
        // It may have changed what all others read.
        self.contest.ladder.load(&mut room.memory, L::INPUTS[0])?;
        mismatch(outcome).map(Err)
    }

    fn run(&self, built: &L::Built) -> Result<Sample> {
        self.contest.run(built, &mut self.room.borrow_mut())
    }

    fn limit(&mut self) -> Result<Option<L::Built>> {
        let limit = self.limit.take();
        if let Some(limit) = &limit {
            self.run(limit)?; // warm up
        }
        Ok(limit)
    }

    fn run_limit(&self, limit: &L::Built) -> Result<Sample> {
        self.run(limit)
    }
}
