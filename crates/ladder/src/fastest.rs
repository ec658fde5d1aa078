//! What the rung `auto` takes. In: a case of a ladder on a device. Out: the fastest of its kernels, by what tuning has kept
//! or else by a short search, ready to run.

use std::convert::Infallible;

use super::Outcome;
use super::bench::{Tried, fail, passed};
use super::cache::{Cache, Class};
use super::config::Config;
use super::contest::{Contest, Ladder, Room, check_one};
use super::rung::{Rung, Work};
use super::search::{Attempt, descend};
use base::error::Error;

/// What is predicted to take so many times as long as the best rung before it is left.
const HOPELESS: f64 = 3.0;
/// Runs of a configuration in a search, of which the least disturbed counts.
const SEARCH_RUNS: usize = 5;

/// What `auto` takes: the rung, its parameters, and it ready to run.
pub(super) type Fastest<L> = (&'static str, Config<<L as Ladder>::Code>, <L as Ladder>::Built);

impl<L: Ladder> Contest<'_, L> {
    /// The fastest of the ladder's kernels, and its parameters, by what tuning has found for such cases; `None` where it has
    /// found nothing, or what can no longer be built.
    pub(super) fn tuned(&self, room: &Room<L>) -> Option<Fastest<L>> {
        let (cl, case) = (self.device(room).ok()?, &room.case);
        let class = Class::of(L::NAME, self.ladder.class(case));
        let named = |name: &str| self.ladder.rungs().iter().find(|rung| rung.id == name);
        let (id, config) = Cache::load().fastest(&cl.device.info, &class, |name| match named(name)? {
            Rung { id, work: Work::Kernels(code), .. } => Some((*id, *code)),
            _ => None,
        })?;
        self.try_config(case, id, &config).ok()?;
        let built = self.ladder.compile(cl, &config).ok()?;
        Some((id, config, built))
    }

    /// The fastest of the ladder's kernels, and its parameters, by a short search. What differs is not timed.
    ///
    /// # Errors
    /// Where none is right: how one differs, or else why the first one cannot run.
    pub(super) fn fastest(&self, room: &mut Room<L>) -> Tried<Fastest<L>> {
        let cl = self.device(room)?;
        let device = &cl.device.info;
        let small = self.ladder.small();
        let mut best: Option<(&'static str, Config<L::Code>, f64)> = None;
        let mut reason: Option<Box<Outcome>> = None;
        // The later ones are the likely fastest: what is far behind is then left soon.
        for rung in self.ladder.rungs().iter().rev() {
            let &Work::Kernels(code) = &rung.work else { continue };
            let first = Config::of(code, device.kind).fitted(device);
            let mut is_first = true;
            let hopeless_ms = best.as_ref().map_or(f64::INFINITY, |best| HOPELESS * best.2);
            // Changed kernels that do not come through are not asked again with each value: that could take the limit's time.
            let found = descend(first, device, |config| {
                let mut time = || -> Tried<f64> {
                    self.try_config(&room.case, rung.id, config)?;
                    let built = self.ladder.compile(cl, config).map_err(fail)?;
                    let predicted = self.predict(&built, room).map_err(fail)?;
                    if predicted > hopeless_ms {
                        return Ok(predicted);
                    }
                    for case in &small {
                        passed(check_one(self.ladder, Some(cl), &built, case, L::INPUTS[0]))?;
                    }
                    let mut least = f64::INFINITY;
                    for _ in 0..SEARCH_RUNS {
                        least = least.min(self.ladder.run(&built, &mut room.memory).map_err(fail)?.ms());
                    }
                    Ok(least)
                };
                let is_first = std::mem::replace(&mut is_first, false);
                Ok::<_, Infallible>(match time() {
                    Ok(ms) if ms > hopeless_ms && is_first => Attempt::GiveUp,
                    Ok(ms) if ms > hopeless_ms => Attempt::Without,
                    Ok(ms) => Attempt::Timed(ms),
                    Err(why) => {
                        let differs = |outcome: &Outcome| matches!(outcome, Outcome::Mismatch(_));
                        if reason.as_deref().is_none_or(|known| differs(&why) && !differs(known)) {
                            reason = Some(why);
                        }
                        let is_fault = self.child.borrow().is_fault();
                        if is_fault { Attempt::GiveUp } else { Attempt::Without }
                    }
                })
            });
            let Ok(found) = found;
            if let Some((config, ms)) = found.filter(|(_, ms)| best.as_ref().is_none_or(|best| *ms < best.2))
            {
                best = Some((rung.id, config, ms));
            }
        }
        let Some((id, config, _)) = best else {
            let none = || fail(Error::new("Nothing could be chosen.", "None of the kernels can run.", ""));
            return Err(reason.unwrap_or_else(none));
        };
        let built = self.ladder.compile(cl, &config).map_err(fail)?;
        Ok((id, config, built))
    }
}
