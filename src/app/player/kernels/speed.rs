//! Comparisons of the speed of versions: the version that runs is timed in turns with the version before it, in a background
//! task ([`comparison`]), for the chosen variant at the size and radius of the movie's frames. Until the task has ended, there
//! is no verdict.

use std::time::Instant;

use super::controller::circumstances;
use super::*;
use crate::app::comparison::{self, Compared, ComparisonRequest};
use crate::app::lane::{Slot, Task, Worker};
use overlay::{Speed, SpeedState};

/// The delay from the last change of version, variant, radius or size to the start of a comparison: a slider may move on, and a
/// new version's first pictures need the device.
const DELAY: Duration = Duration::from_millis(500);

/// Two versions of a variant's kernels, and the case in which they are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// The number of the earlier version, and of the later one, which the verdict is about.
    pub versions: [u64; 2],
    pub variant: VariantId,
    pub radius: u32,
    pub size: (u32, u32),
    /// The number of devices used so far.
    pub device: u32,
}

/// The running comparison, and the results of earlier ones.
#[derive(Default)]
pub(super) struct SpeedComparison {
    task: Slot<Compared>,
    /// The versions that the task compares, or has compared.
    of: Option<Pair>,
    /// The versions to compare, and the time since which they have been wanted.
    wanted: Option<(Pair, Instant)>,
    results: Vec<(Pair, Result<Compared, String>)>,
}

impl SpeedComparison {
    /// Returns the state of the comparison of two versions.
    pub(super) fn state(&self, of: Pair) -> SpeedState {
        match self.results.iter().find(|(known, _)| *known == of) {
            Some((_, Ok(compared))) => SpeedState::Compared {
                verdict: compared.ratio.verdict(),
                rounds: compared.rounds,
                rows: compared.rows,
            },
            Some((_, Err(why))) => SpeedState::Failed(why.clone()),
            None if self.wanted.is_some_and(|(wanted, _)| wanted == of) => SpeedState::Comparing,
            None => SpeedState::Unknown,
        }
    }

    /// Stores the result of a comparison, and drops results that can no longer be shown: those of another device, and of
    /// versions for which `is_kept` returns false.
    pub(super) fn store(
        &mut self,
        of: Pair,
        result: Result<Compared, String>,
        is_kept: impl Fn(u64) -> bool,
    ) {
        self.results.retain(|(known, _)| {
            *known != of && known.device == of.device && known.versions.into_iter().all(&is_kept)
        });
        self.results.push((of, result));
    }

    /// Sets the versions to compare. Returns them, with the time for which they have been wanted, unless a task is running or
    /// they have a result. Cancels a task that compares other versions.
    pub(super) fn want(&mut self, wanted: Option<Pair>) -> Option<(Pair, Duration)> {
        if wanted != self.wanted.map(|(pair, _)| pair) {
            self.wanted = wanted.map(|pair| (pair, Instant::now()));
        }
        if self.of != wanted {
            self.task.stop();
        }
        let (pair, since) = self.wanted.filter(|_| !self.task.is_under_way())?;
        self.results.iter().all(|(known, _)| *known != pair).then(|| (pair, since.elapsed()))
    }
}

impl Versions {
    /// Returns the versions to compare for the speed of `kept` in a variant's kernels: `None` if these are not exact, or no exact
    /// version ran before.
    fn pair(&self, kept: &KeptVersion, of: &Circumstances) -> Option<Pair> {
        let subject = Subject::Variant(of.variant);
        kept.row.result(subject).filter(|result| result.validation == Validation::Exact)?;
        let before = |kept: &KeptVersion| self.version(kept.row.result(subject)?.replaced?);
        // Versions whose output differs have no times.
        let differs = |result: &VersionResult| matches!(result.validation, Validation::Differs(_));
        // Going back and forth makes a cycle of versions.
        let mut all = std::iter::successors(before(kept), |kept| before(kept)).take(self.kept.len());
        let before = all.find(|kept| !kept.row.result(subject).is_some_and(differs))?.row.number;
        let (versions, device) = ([before, kept.row.number], self.epoch.0);
        let Circumstances { variant, radius, size, .. } = *of;
        (before != kept.row.number).then_some(Pair { versions, variant, radius, size, device })
    }

    /// Returns the versions to compare now: the one that runs, unless a newer one is being validated, and the one before.
    pub(super) fn wanted_pair(&self, of: &Circumstances) -> Option<Pair> {
        let subject = Subject::Variant(of.variant);
        let is_settled = self.waits.is_none() && !self.is_asked(subject);
        self.pair(self.version_in_use(subject).filter(|_| is_settled)?, of)
    }

    /// Returns the comparison of the speed of `kept` in a variant's kernels.
    pub(super) fn speed(&self, kept: &KeptVersion, of: &Circumstances) -> Option<Speed> {
        let pair = self.pair(kept, of)?;
        Some(Speed { before: pair.versions[0], state: self.comparison.state(pair) })
    }
}

impl LiveKernels {
    /// Starts or ends the comparison of the version that runs with the one before, and shows its verdict.
    pub(crate) fn compare(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let versions = &mut self.versions;
        let result = versions.comparison.task.poll().result;
        if let (Some(result), Some(of)) = (result, versions.comparison.of) {
            if let Ok(compared) = &result {
                let text = compared.ratio.verdict();
                let [before, now] = of.versions;
                cx.overlay.show_message(format!("{} {now} against {before}: {text}", of.variant));
            }
            let kept: Vec<u64> = versions.kept.iter().map(|kept| kept.row.number).collect();
            let result = result.map_err(|error| format!("{} {}", error.what, error.why).trim().to_owned());
            versions.comparison.store(of, result, |number| kept.contains(&number));
            self.refresh(cx);
            cx.repaints.redraw_soon();
        }
        // A script that counts frames measures the movie alone.
        if cx.args.frames.is_some() {
            return;
        }
        let of = circumstances(cx).map(|of| Circumstances { beside: None, ..of });
        let versions = &mut self.versions;
        let wanted = of.and_then(|of| versions.wanted_pair(&of));
        if let Some((pair, since)) = versions.comparison.want(wanted) {
            let wait = DELAY.saturating_sub(since);
            if !wait.is_zero() {
                cx.repaints.redraw_within(wait);
            } else if let (Some(device), Some(frame)) =
                (devices.running.device().cloned(), cx.frames.presenter.screen.frame())
            {
                let sources =
                    pair.versions.map(|number| versions.version(number).map(|kept| kept.sources.clone()));
                let [Some(before), Some(now)] = sources else { return };
                let Pair { variant, radius, size, .. } = pair;
                let of = Circumstances { variant, radius, size, beside: None };
                let known = |number: u64| versions.version(number).and_then(|kept| kept.time(&of));
                let [before_version, now_version] = pair.versions;
                let frame_ms = known(now_version).or_else(|| known(before_version)).map(|time| time.ms);
                let sources = [before, now];
                let kernel_timeout = cx.args.trial.timeouts.kernel_timeout;
                let request =
                    ComparisonRequest { device, sources, variant, frame, radius, frame_ms, kernel_timeout };
                let compare = move |worker: &Worker<'_, Compared>| comparison::compare(&request, worker);
                let comparison = &mut versions.comparison;
                comparison.of = Some(pair);
                if let Err(error) = comparison.task.start((&mut cx.lane, Task::Versions), "", compare) {
                    comparison.store(pair, Err(error.to_string()), |_| true);
                }
            }
        }
    }
}
