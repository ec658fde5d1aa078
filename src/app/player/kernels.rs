//! Kernels that are edited while the movie plays. Each save is a version, and the newest that may run filters the movie. The
//! last hundred exact versions are kept, also on the disk ([`stored`]), and the last ten others. [`Versions`] stores the versions
//! and the verdicts on them; [`LiveKernels`] watches the folder and handles the user's requests.

mod changes;
mod controller;
mod kept;
mod refusals;
mod remembered;
mod shown;
mod speed;
mod stored;
#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
mod wipes;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::devices::{Devices, Finding, no_own_kernel_error};
use super::movies::Movies;
use super::{PlayerContext, save};
use crate::app::builder::{JudgeRequest, MachineCodeRequest, Request};
use crate::app::kernels::history::{MAX_STORED, StoredVersion, fingerprint};
use crate::app::kernels::{CurrentSources, FolderMessage, FolderWatcher};
use base::error::{Error, ErrorKind, Result, SourceLine};
use base::jobs::{Job, Waker};
use base::stdout;
use box_filter::machine_code::PictureInfo;
use box_filter::{OWN_FILE, VariantId};
use changes::is_same;
pub(super) use controller::LiveKernels;
use engine::stats::SecondSetting;
use kept::{Circumstances, KeptVersion, Median};
use opencl::cl::DeviceKind;
use opencl::sources::{self, Sources};
use overlay::{
    Kernels, Panel, PendingValidation, Source, Subject, Verdict, Version, VersionId, VersionResult,
    result_to_show,
};
use refusals::Refusals;
use speed::SpeedComparison;

/// The maximum number of versions that are kept of those that are neither the first nor exact.
const MAX_OTHERS: usize = 10;
/// The minimum number of measured frames for which a filter's median time is used.
const MIN_TIMED_FRAMES: usize = 5;

/// The stored versions of the edited kernels (a version is the text of all kernels at one save), the verdicts on them, and the
/// contents of the kernels panel.
#[derive(Default)]
struct Versions {
    kept: VecDeque<KeptVersion>,
    /// The numbers of failed versions that are not kept any more.
    failed: BTreeSet<u64>,
    /// The versions that were on the disk when the folder was first read, the newest first, with the hashes of their texts.
    earlier: Vec<(u64, StoredVersion)>,
    /// The texts in the folder when it was last read.
    in_folder: Option<Sources>,
    /// The version whose differences from the files are shown.
    compared: Option<VersionId>,
    /// The number of the newest version; the first one has 1.
    number: u64,
    /// The number of the version that was saved or chosen last.
    current: u64,
    /// `Some` if verdicts on the current version are to be requested: `Some(true)` also on kernels that the version does not
    /// change.
    waits: Option<bool>,
    /// True if the environment names a folder of kernels: if that folder does not exist, no kernels can be built.
    is_named: bool,
    /// True if the first version existed at the start, so that all programs were built from it.
    is_built: bool,
    /// True if the folder that the environment names appeared after the start; reset by [`Versions::take_late_appearance`].
    is_late: bool,
    /// The variants and the conversion that could not be built from the kernels at the start, or could not run, with their
    /// errors.
    refused_first: Vec<(Subject, Error)>,
    /// For each variant, and for the conversion, the number of the version whose kernels run.
    running: HashMap<Subject, u64>,
    /// For each variant, and for the conversion, the number of the version on which a verdict was requested, until the verdict
    /// arrives.
    asked: HashMap<Subject, u64>,
    refusals: Refusals,
    /// The number of the version, the chosen variant and the kind of device for which the source in the kernels panel was made,
    /// and the compiler's log.
    source_of: Option<((u64, VariantId, DeviceKind), Vec<SourceLine>)>,
    /// The machine code that is shown or was requested: number of the version, variant, pictures, and the device's index.
    code_of: Option<(u64, VariantId, PictureInfo, usize)>,
    /// The number of devices used so far: stored times are of the last device only.
    devices: u32,
    /// The number of restarts of the builder so far.
    restarts: u32,
    comparison: SpeedComparison,
    shown: Kernels,
}

impl Versions {
    /// Returns the version with this number, if it is kept.
    fn version(&self, number: u64) -> Option<&KeptVersion> {
        self.kept.iter().find(|kept| kept.number == number)
    }

    /// Returns the version with this number, to change it.
    fn version_mut(&mut self, number: u64) -> Option<&mut KeptVersion> {
        self.kept.iter_mut().find(|kept| kept.number == number)
    }

    /// Returns the version whose kernels are in use for a variant or the conversion; `None` if the built-in kernels are in use.
    fn version_in_use(&self, subject: Subject) -> Option<&KeptVersion> {
        self.version(*self.running.get(&subject)?)
    }

    /// Adds the sources of the folder as a new version and makes it the current one, unless they are unchanged. If `asked` is
    /// true, because the user wants them validated, unchanged sources are not ignored. `is_built` is true if all programs were
    /// built from them.
    fn read(&mut self, sources: Sources, asked: bool, is_built: bool) {
        self.shown.problem = None;
        if self.in_folder.as_ref() == Some(&sources) {
            if asked {
                self.waits = Some(true);
            }
            return;
        }
        self.in_folder = Some(sources.clone());
        self.keep(sources, is_built);
        self.use_version(self.number, asked);
    }

    /// Adds a version with these sources, and drops versions of which there are too many.
    fn keep(&mut self, sources: Sources, is_built: bool) {
        let newest = self.kept.back().map(|kept| kept.sources.clone());
        let files = sources.changed_since(&newest.unwrap_or_default());
        self.number += 1;
        let kept = KeptVersion {
            number: self.number,
            hash: fingerprint(&sources),
            sources,
            is_replaced: false,
            is_stored: false,
            files,
            judged: Vec::new(),
            untried: PendingValidation::Unknown,
            before: HashMap::new(),
            times: Vec::new(),
        };
        self.kept.push_back(kept);
        self.drop_oldest(true, MAX_STORED);
        self.drop_oldest(false, MAX_OTHERS);
        self.is_late |= self.is_named && !is_built && self.number == 1;
        if is_built && self.number == 1 {
            self.is_built = true;
            let variants = VariantId::ALL.into_iter().map(Subject::Variant);
            self.running = variants.chain([Subject::Conversion]).map(|subject| (subject, 1)).collect();
            self.note_refused_first();
        }
    }

    /// Drops the oldest versions that are lasting, or that are not, while there are more than `most` of them. Versions that run,
    /// the current one and the newest stay in any case.
    fn drop_oldest(&mut self, are_lasting: bool, most: usize) {
        let of_kind = |kept: &KeptVersion| kept.is_lasting() == are_lasting;
        while self.kept.iter().filter(|kept| of_kind(kept)).count() > most {
            let oldest = self.kept.iter().position(|kept| {
                let is_used = self.running.values().any(|number| *number == kept.number)
                    || [self.current, self.number].contains(&kept.number);
                of_kind(kept) && !is_used
            });
            let Some(dropped) = oldest.and_then(|oldest| self.kept.remove(oldest)) else { return };
            if dropped.has_failed() {
                self.failed.insert(dropped.number);
            }
        }
    }

    /// Records the kernels of the first version that could not be built as refused. Leaves out built-in kernels, which the
    /// device does not support.
    fn note_refused_first(&mut self) {
        if !self.is_built {
            return;
        }
        let refused = std::mem::take(&mut self.refused_first);
        let Some(first) = self.version(1).map(|first| first.sources.clone()) else { return };
        refused.iter().for_each(|(subject, error)| self.refusals.note(*subject, &first, Some(error)));
        let Some(first) = self.version_mut(1) else { return };
        for (subject, error) in refused {
            let Subject::Variant(variant) = subject else { continue };
            let kinds = [DeviceKind::Cpu, DeviceKind::Gpu];
            let built_in = Sources::default();
            if first.find_judged(subject).is_none()
                && kinds.iter().any(|kind| !is_same(variant, *kind, &first.sources, &built_in))
            {
                first.judged.push(VersionResult::new(subject, Verdict::Refused(error)));
            }
        }
    }

    /// Makes the version with this number the current one: its kernels are used once they are validated. If `asked` is true,
    /// kernels that the version does not change are also validated.
    fn use_version(&mut self, number: u64, asked: bool) {
        let Some(kept) = self.version(number) else { return };
        (self.current, self.waits) = (kept.number, Some(asked));
    }

    /// Returns true if the current version of the edited kernels has the user's own kernel, the file `box_filter/own.cl`.
    fn has_own(&self) -> bool {
        self.version(self.current).is_some_and(|kept| kept.sources.has(OWN_FILE))
    }

    /// Processes a finding about edited kernels; returns the verdict that is to be shown to the user, if any.
    fn process_finding(&mut self, finding: Finding) -> Option<(Subject, Verdict)> {
        match finding {
            // It begins a wipe, and is no verdict on the version that runs.
            Finding::OtherVersion(..) => None,
            Finding::Verdict(number, subject, verdict) => {
                if self.asked.get(&subject) == Some(&number) {
                    self.asked.remove(&subject);
                }
                let before = self.version_in_use(subject).map(|kept| kept.number);
                let refused = match &verdict {
                    Verdict::Refused(error) => Some(error),
                    Verdict::Exact | Verdict::Differs(_) => None,
                };
                let may_run = refused.is_none();
                let sources = self.version(number)?.sources.clone();
                self.refusals.note(subject, &sources, refused);
                let kept = self.version_mut(number)?;
                kept.judged.retain(|judged| judged.subject != subject);
                kept.judged.push(VersionResult::new(subject, verdict.clone()));
                if let PendingValidation::Now(left) = &mut kept.untried {
                    *left = left.saturating_sub(1);
                }
                if let Some(before) = before.filter(|before| may_run && *before != number) {
                    kept.before.insert(subject, before);
                }
                if may_run {
                    kept.times.retain(|(of, _)| Subject::Variant(of.variant) != subject);
                    self.running.insert(subject, number);
                    // Kept until now were those of the version before.
                    stdout::forget_printed_lines();
                }
                // Verdicts on older versions are not reported.
                (number == self.current).then_some((subject, verdict))
            }
            Finding::Warnings(number, variant, warnings) => {
                let judged = &mut self.version_mut(number)?.judged;
                let subject = Subject::Variant(variant);
                judged.iter_mut().find(|judged| judged.subject == subject)?.warnings = warnings;
                None
            }
            Finding::MachineCode(number, variant, code) => {
                if self.code_of.is_some_and(|of| (of.0, of.1) == (number, variant)) {
                    self.shown.machine_code = Some(code);
                }
                None
            }
            Finding::Unavailable(subject, error) => {
                // Reported by the devices.
                let runs = self.version_in_use(subject).map(|kept| (kept.number, kept.sources.clone()));
                match runs {
                    Some((number, sources)) if number > 1 => {
                        self.refusals.note(subject, &sources, Some(&error))
                    }
                    _ => {
                        self.refused_first.push((subject, error));
                        self.note_refused_first();
                    }
                }
                None
            }
            Finding::Output(variant, report) => {
                let subject = Subject::Variant(variant);
                let number = self.version_in_use(subject)?.number;
                let all = &mut self.version_mut(number)?.judged;
                let is_refused = |judged: &VersionResult| matches!(judged.verdict, Verdict::Refused(_));
                let is_known = all.iter().any(|judged| judged.subject == subject && !is_refused(judged));
                if is_known && report.is_none() {
                    return None;
                }
                let verdict = report.map_or(Verdict::Exact, Verdict::Differs);
                all.retain(|judged| judged.subject != subject);
                all.push(VersionResult::new(subject, verdict.clone()));
                (verdict != Verdict::Exact).then_some((subject, verdict))
            }
        }
    }

    /// Notes the number of changes of the device and of restarts of the builder. If the device has changed, drops the times
    /// that were measured on another device. If one of the numbers has changed, repeats the requests without an answer.
    fn note_device(&mut self, devices: u32, restarts: u32) {
        let is_other = std::mem::replace(&mut self.devices, devices) != devices;
        if is_other {
            self.kept.iter_mut().for_each(|kept| kept.times.clear());
        }
        if std::mem::replace(&mut self.restarts, restarts) == restarts && !is_other {
            return;
        }
        // Earlier requests may never be answered.
        if !self.asked.is_empty() {
            self.waits.get_or_insert(false);
        }
        if self.shown.machine_code.is_none() {
            self.code_of = None;
        }
    }

    /// Returns true once if the folder that the environment names appeared after the start of clreel. Until then nothing could
    /// be built, not even kernels that need no validation.
    fn take_late_appearance(&mut self) -> bool {
        std::mem::take(&mut self.is_late)
    }

    /// Stores the median time of a filter with the version of the edited kernels that is in use for it.
    fn time(&mut self, of: Circumstances, median: Median) {
        let Some(number) = self.version_in_use(Subject::Variant(of.variant)).map(|kept| kept.number) else {
            return;
        };
        if let Some(kept) = self.version_mut(number) {
            kept.note(of, median);
        }
    }
}
