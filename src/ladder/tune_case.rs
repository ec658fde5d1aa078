//! Tuning a [`Ladder`]. In: a device and a case. Out: what the [search](super::tune) found, which is checked and timed as
//! the benchmark does it.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, DeviceInfo};
use crate::ladder::Outcome;
use crate::ladder::cache::Class;
use crate::ladder::config::Config;
use crate::ladder::contest::{Contest, Ladder};
use crate::ladder::measure::Sample;
use crate::ladder::rung::Work;
use crate::ladder::trial::Child;
use crate::ladder::tune::{self, GoOn, Judge, Rungs, Search, Status, Watch};
use crate::memory::require;
use crate::verify::{self, Checked, MismatchReport};

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

/// Searches the parameters of a ladder's kernels for a case. `None` when `watch` has ended it. Changed kernels are tried in
/// `child` first.
///
/// # Errors
/// When the device cannot hold the case or fails, or the ladder's limit cannot run. What goes wrong with a configuration is
/// its [`Status`].
pub fn search<L: Ladder>(
    ladder: &L,
    cl: &ClContext,
    case: &L::Case,
    child: &mut Child,
    watch: &mut dyn Watch<L::Code>,
) -> Result<Option<Search<L::Code>>> {
    let device = &cl.device.info;
    let supported = ladder.supports(device, case);
    supported.map_err(|why| Error::new("It cannot be tuned for this.", why, "Choose a smaller case."))?;
    require(ladder.memory(case))?;
    let mut room = ladder.room(Some(cl), case, 0)?;
    let want = ladder.load(&mut room, L::INPUTS[0])?;
    let contest = Contest { ladder, cl: Some(cl), case, rounds: 0 };
    contest.try_first(child, None, L::LIMIT, L::LIMIT_FILE, &[])?;
    tune::search(OfCase { contest, cl, child, room: RefCell::new(room), want }, rungs(ladder, device), watch)
}

/// One case on one device.
struct OfCase<'a, L: Ladder> {
    contest: Contest<'a, L>,
    cl: &'a ClContext,
    child: &'a mut Child,
    room: RefCell<L::Room>,
    want: Vec<u8>,
}

/// What stands in the place of what was asked for: a mismatch, or an error.
fn mismatch(outcome: Outcome) -> Result<MismatchReport> {
    let not_run = |why| Err(Error::new("It was not run.", why, ""));
    match outcome {
        Outcome::Mismatch(report) => Ok(report),
        Outcome::Failed(error) => Err(error),
        Outcome::Unsupported(why) | Outcome::Skipped(why) => not_run(why),
        Outcome::Ok(_) => not_run(String::new()),
    }
}

impl<L: Ladder> Judge for OfCase<'_, L> {
    type Code = L::Code;
    type Ready = L::Built;
    type Limit = L::Built;

    fn device(&self) -> &DeviceInfo {
        &self.cl.device.info
    }

    fn try_apart(&mut self, rung: &'static str, config: &Config<L::Code>, _: f64) -> Option<Status> {
        let outcome = self.contest.try_config(self.child, rung, config).err()?;
        Some(mismatch(*outcome).map_or_else(|error| Status::Failed(error.to_string()), Status::Mismatch))
    }

    fn build(&mut self, _: &'static str, config: &Config<L::Code>) -> Result<L::Built> {
        let ladder = self.contest.ladder;
        let built = ladder.compile(self.cl, config)?;
        if let Some(small) = ladder.small().first() {
            let guard = verify::guard(ladder.output_bytes(small));
            let mut room = ladder.room(Some(self.cl), small, guard)?;
            ladder.load(&mut room, L::INPUTS[0])?;
            ladder.run(&built, &mut room)?;
        }
        Ok(built)
    }

    fn first_look(&mut self, built: &L::Built) -> Result<Option<MismatchReport>> {
        let (ladder, input) = (self.contest.ladder, L::INPUTS[0]);
        let Some(small) = ladder.small().into_iter().next() else { return Ok(None) };
        let case = format!("{input}, {}", ladder.title(&small));
        let report = self.contest.check_one(built, &small, input)?;
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
        match self.contest.check(built) {
            Ok(all) => {
                *checked = all;
                Ok(None)
            }
            Err(outcome) => mismatch(*outcome).map(Some),
        }
    }

    fn first_run(&mut self, built: &L::Built) -> Result<std::result::Result<Sample, MismatchReport>> {
        let ran = self.contest.compared(built, &self.room, &self.want)();
        let outcome = match ran {
            Ok(sample) => return Ok(Ok(sample)),
            Err(outcome) => *outcome,
        };
        // It may have changed what all others read.
        self.contest.ladder.load(&mut self.room.borrow_mut(), L::INPUTS[0])?;
        mismatch(outcome).map(Err)
    }

    fn run(&self, built: &L::Built) -> Result<Sample> {
        self.contest.ladder.run(built, &mut self.room.borrow_mut())
    }

    fn limit(&mut self) -> Result<L::Built> {
        let limit = self.contest.ladder.compile_limit(self.cl)?;
        self.run(&limit)?; // warm up
        Ok(limit)
    }

    fn run_limit(&self, limit: &L::Built) -> Result<Sample> {
        self.run(limit)
    }
}
