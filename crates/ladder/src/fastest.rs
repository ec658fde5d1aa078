//! The variant `auto`: finds the fastest kernels of a ladder for a case, from the tuning cache or else by a short search.

use std::convert::Infallible;

use super::Outcome;
use super::cache::Cache;
use super::config::Config;
use super::outcome::{VariantResult, fail};
use super::runner::{BuiltConfig, CaseBuffers, Ladder, LadderRunner, Part, cache_class};
use super::search::{MAX_RATIO_TO_BEST, TrialResult, coordinate_descent};
use base::error::Error;

/// The number of timed runs of a configuration in a search. The fastest run counts, since it is the least disturbed.
const SEARCH_RUNS: usize = 5;

impl<L: Ladder> LadderRunner<'_, L> {
    /// Builds the variant with the parameters that the tuning cache has for the class of this case; similar cases share a
    /// class. `None` if the cache has no entry for the class, or its variant can no longer be built.
    pub(super) fn build_tuned(&self, buffers: &CaseBuffers<L>) -> Option<BuiltConfig<L>> {
        let (cl, case) = (self.device(buffers).ok()?, &buffers.case);
        let class = cache_class(self.ladder, case);
        let named = |name: &str| self.ladder.variants().iter().find(|variant| variant.id == name);
        let kind = cl.device.info.kind;
        let (id, config) = Cache::load().fastest(&cl.device.info, cl.sources(), &class, |name| {
            named(name).and_then(|variant| Some((variant.id, variant.code(kind)?)))
        })?;
        self.check_config(case, id, &config).ok()?;
        let built = self.ladder.build(Part::Kernels(cl, &config)).ok()?;
        Some((id, config, built))
    }

    /// Finds the ladder's fastest kernels and their parameters by a short search, and builds them. Configurations whose output
    /// differs from the reference are not timed.
    ///
    /// # Errors
    /// Returns an outcome if no variant works: a mismatch if an output differed, otherwise the reason of the first failure.
    pub(super) fn search_fastest(&self, buffers: &mut CaseBuffers<L>) -> VariantResult<BuiltConfig<L>> {
        let cl = self.device(buffers)?;
        let device = &cl.device.info;
        let mut best: Option<(&'static str, Config<L::Code>, f64)> = None;
        let mut reason: Option<Box<Outcome>> = None;
        // Later variants are likely faster: slow ones are then abandoned early.
        for variant in self.ladder.variants().iter().rev() {
            let Some(code) = variant.code(device.kind) else { continue };
            let first = self.default_config(code, cl, &buffers.case);
            let mut is_first = true;
            let hopeless_ms = best.as_ref().map_or(f64::INFINITY, |best| MAX_RATIO_TO_BEST * best.2);
            // If modified kernels fail in the sandbox, other values are not tried: each could take the whole time limit.
            let found = coordinate_descent(first, device, |config| {
                let mut time = || -> VariantResult<f64> {
                    self.check_config(&buffers.case, variant.id, config)?;
                    let built = self.ladder.build(Part::Kernels(cl, config)).map_err(fail)?;
                    let predicted = self.predict(&built, buffers).map_err(fail)?;
                    if predicted > hopeless_ms {
                        return Ok(predicted);
                    }
                    let all = self.check_small_cases(&built, "", buffers, &mut || Ok(())).map_err(fail)?;
                    all.map_err(|report| Box::new(Outcome::Mismatch(*report)))?;
                    let mut least = f64::INFINITY;
                    for _ in 0..SEARCH_RUNS {
                        least = least.min(self.run(&built, buffers).map_err(fail)?.ms());
                    }
                    Ok(least)
                };
                let is_first = std::mem::replace(&mut is_first, false);
                Ok::<_, Infallible>(match time() {
                    Ok(ms) if ms > hopeless_ms && is_first => TrialResult::Stop,
                    Ok(ms) if ms > hopeless_ms => TrialResult::NoTime,
                    Ok(ms) => TrialResult::Time(ms),
                    Err(why) => {
                        let differs = |outcome: &Outcome| matches!(outcome, Outcome::Mismatch(_));
                        if reason.as_deref().is_none_or(|known| differs(&why) && !differs(known)) {
                            reason = Some(why);
                        }
                        if self.has_trial_crashed() { TrialResult::Stop } else { TrialResult::NoTime }
                    }
                })
            });
            let Ok(found) = found;
            if let Some((config, ms)) = found.filter(|(_, ms)| best.as_ref().is_none_or(|best| *ms < best.2))
            {
                best = Some((variant.id, config, ms));
            }
        }
        let Some((id, config, _)) = best else {
            let none = || fail(Error::new("Nothing could be chosen.", "None of the kernels can run.", ""));
            return Err(reason.unwrap_or_else(none));
        };
        let built = self.ladder.build(Part::Kernels(cl, &config)).map_err(fail)?;
        Ok((id, config, built))
    }
}
