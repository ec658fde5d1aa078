//! Comparisons of the speed of versions: in a background task ([`comparison`]), the version that runs and the version before it
//! are timed in turns, for the chosen variant at the size and radius of the movie's frames. There is no verdict until the task
//! has ended.

use std::time::Instant;

use super::controller::circumstances;
use super::*;
use crate::app::comparison::{self, ComparisonRequest};
use crate::app::lane::{Slot, Task, Worker};
use overlay::{JobState, SpeedState};

/// The delay before a comparison starts after a change of version, variant, settings or size: a slider may move on, and the first
/// pictures of a new version need the device.
const DELAY: Duration = Duration::from_millis(500);

/// Two versions of a variant's kernels, and the conditions and the device with which their speed is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// The numbers of the earlier and of the later version. The verdict says how fast the later one is.
    pub versions: [u64; 2],
    pub of: Circumstances,
    /// The number of changes of the device so far, which identifies the device.
    pub device: u32,
}

/// The comparison of the speed of two versions that is running, and the results of earlier comparisons.
#[derive(Default)]
pub(super) struct SpeedComparison {
    task: Slot<SpeedState, (u32, u32)>,
    /// The numbers of finished and of all pairs of runs of the running task; `None` before the first pair.
    pairs: Option<(u32, u32)>,
    /// The comparison that the task makes or made last; `None` before the first one.
    of: Option<Pair>,
    /// The comparison to make, and the time since which it has been wanted; `None` if none is wanted.
    wanted: Option<(Pair, Instant)>,
    results: Vec<(Pair, SpeedState)>,
}

impl SpeedComparison {
    /// Returns the state of the comparison of two versions.
    pub(super) fn state(&self, of: Pair) -> SpeedState {
        match self.results.iter().find(|(known, _)| *known == of) {
            Some((_, state)) => state.clone(),
            None if self.wanted.is_some_and(|(wanted, _)| wanted == of) => {
                let is_running = self.task.is_under_way() && self.of == Some(of);
                let waits = match self.task.state {
                    JobState::Waiting(waits) if is_running => Some(waits),
                    _ => None,
                };
                SpeedState::Comparing { pairs: self.pairs.filter(|_| is_running), waits }
            }
            None => SpeedState::Unknown,
        }
    }

    /// Returns true if the comparison of two versions has a result.
    fn is_known(&self, of: Pair) -> bool {
        self.results.iter().any(|(known, _)| *known == of)
    }

    /// Stores the result of a comparison. Drops those of another device.
    pub(super) fn store(&mut self, of: Pair, result: SpeedState) {
        self.results.retain(|(known, _)| *known != of && known.device == of.device);
        self.results.push((of, result));
    }

    /// Sets the comparison to make. Returns it, with the time for which it has been wanted; `None` if none is wanted or a task is
    /// running. Cancels a task that makes another comparison.
    pub(super) fn want(&mut self, wanted: Option<Pair>) -> Option<(Pair, Duration)> {
        if wanted != self.wanted.map(|(pair, _)| pair) {
            self.wanted = wanted.map(|pair| (pair, Instant::now()));
        }
        if self.of != wanted {
            self.task.stop();
        }
        let (pair, since) = self.wanted.filter(|_| !self.task.is_under_way())?;
        Some((pair, since.elapsed()))
    }
}

impl Versions {
    /// Returns the comparison that shows the speed of the version `kept` for a variant: with the older version whose kernels it
    /// replaced. Skips replaced versions whose output differs. Returns `None` if the version's kernels of this variant are not
    /// exact, or there is no version to compare with.
    pub(super) fn pair(&self, kept: &KeptVersion, of: &Circumstances) -> Option<Pair> {
        let subject = Subject::Variant(of.variant);
        kept.row.result(subject).filter(|result| result.validation == Validation::Exact)?;
        let before = |kept: &KeptVersion| self.version(kept.row.result(subject)?.replaced?);
        // Versions whose output differs have no times.
        let differs = |result: &VersionResult| matches!(result.validation, Validation::Differs(_));
        let mut all = std::iter::successors(before(kept), |kept| before(kept));
        let before = all.find(|kept| !kept.row.result(subject).is_some_and(differs))?.row.number;
        let (versions, device) = ([before, kept.row.number], self.epoch.0);
        Some(Pair { versions, of: Circumstances { beside: None, ..*of }, device })
    }

    /// Returns the comparison to make now: that of the version that runs or, once that has a result, that of the version before
    /// it, which the save of the newer one may have cancelled. `None` if a newer version is being validated or both have results.
    pub(super) fn wanted_pair(&self, of: &Circumstances) -> Option<Pair> {
        let subject = Subject::Variant(of.variant);
        let is_settled = self.waits.is_none() && !self.is_asked(subject);
        let newest = self.pair(self.version_in_use(subject).filter(|_| is_settled)?, of)?;
        let before = self.version(newest.versions[0]).and_then(|kept| self.pair(kept, of));
        [Some(newest), before].into_iter().flatten().find(|pair| !self.comparison.is_known(*pair))
    }
}

impl LiveKernels {
    /// Starts or cancels the comparisons of the two newest versions that ran, each with the version before it, and shows the
    /// verdicts.
    pub(crate) fn compare(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        let versions = &mut self.versions;
        let news = versions.comparison.task.poll();
        if let Some(pairs) = news.progress.last() {
            versions.comparison.pairs = Some(*pairs);
        }
        if news.is_new {
            cx.repaints.redraw_soon();
        }
        if let (Some(result), Some(pair)) = (news.result, versions.comparison.of) {
            let failed = |error: Error| format!("{} {}", error.what, error.why).trim().to_owned();
            let result = result.unwrap_or_else(|error| SpeedState::Failed(failed(error)));
            if let SpeedState::Compared { verdict, .. } = &result {
                let [before, now] = pair.versions;
                let verdict = verdict.text_against(&format!("version {before}"));
                cx.overlay.show_message(format!("{}, version {now}: {verdict}", pair.of.variant));
            }
            let kept: Vec<u64> = versions.kept.iter().map(|kept| kept.row.number).collect();
            versions.comparison.results.retain(|(of, _)| of.versions.iter().all(|of| kept.contains(of)));
            versions.comparison.store(pair, result);
            self.refresh(cx);
            cx.repaints.redraw_soon();
        }
        // A script that counts frames measures the movie alone.
        if cx.args.frames.is_some() {
            return;
        }
        let versions = &mut self.versions;
        let wanted = circumstances(cx).and_then(|of| versions.wanted_pair(&of));
        if let Some((pair, since)) = versions.comparison.want(wanted) {
            let wait = DELAY.saturating_sub(since);
            let kept = pair.versions.map(|number| versions.version(number));
            if !wait.is_zero() {
                cx.repaints.redraw_within(wait);
            } else if let (Some(device), Some(frame), [Some(before), Some(now)]) =
                (devices.running.device().cloned(), cx.frames.presenter.screen.frame(), kept)
            {
                let Circumstances { variant, settings, .. } = pair.of;
                let time = now.time(&pair.of).or_else(|| before.time(&pair.of));
                let (sources, frame_ms) =
                    ([before, now].map(|kept| kept.sources.clone()), time.map(|time| time.ms));
                let kernel_timeout = cx.args.trial.timeouts.kernel_timeout;
                let request =
                    ComparisonRequest { device, sources, variant, frame, settings, frame_ms, kernel_timeout };
                let compare = move |worker: &Worker<'_, SpeedState, _>| comparison::compare(&request, worker);
                let comparison = &mut versions.comparison;
                (comparison.of, comparison.pairs) = (Some(pair), None);
                comparison.task.start((&mut cx.lane, Task::Versions), "", compare);
            }
        }
    }
}
