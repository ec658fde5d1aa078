//! Kernels that are edited while the movie plays. Each save is a version, and the newest version that may run filters the
//! movie. The last hundred exact versions are kept, also on the disk ([`stored`]), and the last ten other versions.
//! [`Versions`] has the versions with their results; [`LiveKernels`] watches the folder and handles the user's requests.

mod controller;
mod filters;
mod member;
mod shown;
mod speed;
mod stack;
mod stored;
#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
mod thumbnails;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::devices::{Devices, no_own_kernel_error};
use super::notices::is_same_error;
use super::{PlayerContext, save};
use crate::app::builder::{News, Request, Validated, VersionRequest};
use crate::app::kernels::history::{MAX_STORED, StoredVersion, fingerprint};
use crate::app::kernels::{CurrentSources, FolderMessage, FolderWatcher, system_watcher};
use base::device::DeviceKind;
use base::error::{Error, ErrorKind};
use base::jobs::{Job, Waker};
use base::stdout;
use box_filter::machine_code::PictureInfo;
use box_filter::{OWN_FILE, Settings, VariantId};
pub(super) use controller::LiveKernels;
pub(crate) use filters::find as find_filter;
pub(crate) use member::SavedMember;
use opencl::cl::is_device_failure;
use opencl::sources::{self, Sources};
use overlay::{
    FilterTime, Kernels, Panel, Source, Subject, Validation, ValidationRequest, Version, VersionId,
    VersionResult, result_to_show,
};
use speed::SpeedComparison;
use stats::SecondSetting;

/// The maximum number of versions that are kept although they are neither exact nor the first version.
const MAX_OTHERS: usize = 10;
/// The minimum number of measured frames whose median time is stored as the time of a filter.
const MIN_TIMED_FRAMES: usize = 5;

/// The refusal of the kernels of a variant or the conversion, because they cannot be built or must not run.
struct Refusal {
    subject: Subject,
    /// The sources that were refused; `None` for the sources at the start of clreel, until the folder has been read.
    sources: Option<Sources>,
    error: Error,
    /// True if the refusal is obsolete, since other sources run or are being validated.
    is_over: bool,
}

/// Records the result of validating or building these sources of a variant or the conversion: `error` if they were refused,
/// `None` if they may run. Earlier refusals of that variant or conversion become obsolete.
fn note_refusal(
    refusals: &mut Vec<Refusal>,
    subject: Subject,
    sources: Option<Sources>,
    error: Option<Error>,
) {
    let earlier = refusals.iter_mut().filter(|refusal| refusal.subject == subject);
    earlier.for_each(|refusal| refusal.is_over = true);
    refusals.extend(error.map(|error| Refusal { subject, sources, error, is_over: false }));
}

/// The versions of the edited kernels (a version is the text of all kernels at one save), and the contents of the overlay's
/// kernels panel.
#[derive(Default)]
struct Versions {
    /// The versions that are kept, oldest first. The newest version, the current version, and the versions whose kernels run
    /// are among them.
    kept: VecDeque<KeptVersion>,
    /// The versions that were stored on the disk when the folder was first read, newest first.
    earlier: Vec<StoredVersion>,
    /// The texts in the folder when it was last read; `None` before the first time.
    in_folder: Option<Sources>,
    /// The number of the version that was saved or chosen last.
    current: u64,
    /// The pending request to validate the current version; `None` if there is none. `Some(true)` requests validation also of
    /// kernels that the version does not change.
    waits: Option<bool>,
    /// The number of the version whose validation was requested last. Variants, and the conversion, whose validation has not
    /// ended have the result `Pending` in this version.
    asked: u64,
    /// True if the environment names a folder of kernels. If that folder does not exist, no kernels can be built.
    is_named: bool,
    /// True if the first version is that from which all programs were built at the start.
    is_built: bool,
    /// True if the folder that the environment names appeared only after clreel started, until the first validation. Until then
    /// no kernels could be built, not even those that need no validation.
    is_late: bool,
    /// The number of the version whose kernels run, for each variant and for the conversion from YUV to RGBA.
    running: HashMap<Subject, u64>,
    /// The variants (or the conversion) whose kernels were refused when they were last validated or built, with the errors. Once
    /// other sources run in their place, such an error is obsolete and its banner is removed.
    refusals: Vec<Refusal>,
    /// The kernels whose machine code is shown or was requested: number of the version, variant, pictures, and index of the
    /// device. `None` before the first request.
    code_of: Option<(u64, VariantId, PictureInfo, usize)>,
    /// The number of changes of the device so far (stored times are of the last device only), and the number of restarts of the
    /// builder (requests from before a restart may stay unanswered).
    epoch: (u32, u32),
    comparison: SpeedComparison,
    shown: Kernels,
}

impl Versions {
    /// Returns the version with this number; `None` if it is not kept.
    fn version(&self, number: u64) -> Option<&KeptVersion> {
        self.kept.iter().find(|kept| kept.row.number == number)
    }

    fn version_mut(&mut self, number: u64) -> Option<&mut KeptVersion> {
        self.kept.iter_mut().find(|kept| kept.row.number == number)
    }

    /// Returns the number of the newest version; the first version has the number 1, and 0 is returned if there is none.
    fn newest(&self) -> u64 {
        self.kept.back().map_or(0, |kept| kept.row.number)
    }

    /// Returns the version whose kernels are in use for a variant or the conversion; `None` if the built-in kernels are in use.
    fn version_in_use(&self, subject: Subject) -> Option<&KeptVersion> {
        self.version(*self.running.get(&subject)?)
    }

    /// Returns true if this version is the first one with a file that is not built in: the files of a filter's folder are no edits as
    /// they were opened.
    fn is_first_with(&self, file: &str, number: u64) -> bool {
        let first = self.kept.iter().find(|kept| kept.sources.has(file));
        Sources::default().text(file).is_err() && first.is_some_and(|kept| kept.row.number == number)
    }

    /// Returns true if this version is in use: it is the current one or the one whose validation was requested last, or its
    /// kernels run.
    fn is_used(&self, number: u64) -> bool {
        [self.current, self.asked].contains(&number)
            || self.running.values().any(|running| *running == number)
    }

    /// Returns true if the kernels of a variant or the conversion are being validated in the version whose validation was
    /// requested last.
    fn is_asked(&self, subject: Subject) -> bool {
        let result = self.version(self.asked).and_then(|kept| kept.row.result(subject));
        result.is_some_and(|result| result.validation == Validation::Pending)
    }

    /// Makes the version with the sources in the folder the current one, if they differ from the sources at the last call. Adds
    /// a version if no kept version has these sources. If the user wants them to be validated (`asked`), requests validation
    /// even if they do not differ. `is_built` is true if all programs were built from them.
    fn read(&mut self, sources: Sources, asked: bool, is_built: bool) {
        self.shown.problem = None;
        if self.in_folder.as_ref() == Some(&sources) {
            if asked {
                self.waits = Some(true);
            }
            return;
        }
        // The line of a new version says that the user's own kernel was removed.
        let loses_own =
            self.in_folder.as_ref().is_some_and(|before| before.has(OWN_FILE)) && !sources.has(OWN_FILE);
        let known = self.kept.iter().rev().find(|kept| kept.sources == sources && !loses_own);
        let known = known.map(|kept| kept.row.number);
        if let Some(known) = known {
            for kept in &mut self.kept {
                let is_replaced = self.in_folder.as_ref() == Some(&kept.sources);
                kept.is_undone =
                    kept.row.number != known && (kept.is_undone || is_replaced && kept.row.number > known);
            }
        } else {
            self.keep(sources.clone(), is_built);
        }
        self.in_folder = Some(sources);
        self.use_version(known.unwrap_or_else(|| self.newest()), asked);
    }

    /// Adds a version with these sources. If too many versions are kept, drops the oldest ones that are not needed. `is_built`
    /// is true if all programs were built from these sources.
    fn keep(&mut self, sources: Sources, is_built: bool) {
        let newest = self.kept.back().map(|kept| &kept.sources);
        let before = self.in_folder.as_ref().or(newest).cloned().unwrap_or_default();
        let number = self.newest() + 1;
        self.kept.push_back(KeptVersion::new(number, sources, &before));
        for (are_lasting, most) in [(true, MAX_STORED), (false, MAX_OTHERS)] {
            let of_kind = |kept: &&KeptVersion| kept.is_lasting() == are_lasting;
            let too_many = self.kept.iter().filter(of_kind).count().saturating_sub(most);
            for _ in 0..too_many {
                let is_dispensable =
                    |kept: &KeptVersion| !self.is_used(kept.row.number) && kept.row.number != number;
                let oldest = self.kept.iter().position(|kept| of_kind(&kept) && is_dispensable(kept));
                let Some((at, dropped)) = oldest.and_then(|at| Some((at, self.kept.remove(at)?))) else {
                    break;
                };
                if let Some(next) = self.kept.get_mut(at) {
                    next.row.failures += dropped.row.failures + usize::from(dropped.has_failed());
                }
            }
        }
        if number == 1 {
            (self.is_built, self.is_late) = (is_built, self.is_named && !is_built);
        }
        if number == 1 && is_built {
            let variants = VariantId::all().map(Subject::Variant);
            self.running = variants.chain([Subject::Conversion]).map(|subject| (subject, 1)).collect();
            self.note_refused_first();
        }
    }

    /// Marks kernels that could not be built at the start as refused in the first version, except built-in kernels, which the
    /// device does not support.
    fn note_refused_first(&mut self) {
        let is_built = self.is_built;
        let Some(first) = self.kept.iter_mut().find(|kept| kept.row.number == 1 && is_built) else { return };
        let built_in = Sources::default();
        for refusal in self.refusals.iter_mut().filter(|refusal| refusal.sources.is_none()) {
            refusal.sources = Some(first.sources.clone());
            let Subject::Variant(variant) = refusal.subject else { continue };
            let mut kinds = [DeviceKind::Cpu, DeviceKind::Gpu].into_iter();
            if first.row.result(refusal.subject).is_none()
                && kinds.any(|kind| !is_same(variant, kind, &first.sources, &built_in))
            {
                first.set(refusal.subject, Validation::Refused(refusal.error.clone()));
            }
        }
    }

    /// Makes the version with this number the current one, so that its kernels run once they have passed validation. If `asked`
    /// is true, kernels that the version does not change are validated too.
    fn use_version(&mut self, number: u64, asked: bool) {
        if self.version(number).is_some() {
            (self.current, self.waits) = (number, Some(asked));
        }
    }

    /// Processes a result of the builder. Returns the variant or the conversion that the result is about, with the result of
    /// validation to show to the user; `None` if there is nothing to show.
    fn process(&mut self, news: News) -> Option<(Subject, Validation)> {
        let (subject, error) = match news {
            // This result begins a wipe; it is not about the version that runs.
            News::Validated(validated) if validated.second_side.is_some() => return None,
            News::Validated(validated) => return self.process_verdict(validated),
            News::Tried(case, Ok(report)) if case.version.is_none() => {
                let subject = Subject::Variant(case.variant);
                let number = self.version_in_use(subject)?.row.number;
                let kept = self.version_mut(number)?;
                let known = kept.row.result(subject).map(|result| &result.validation);
                let is_known = known.is_some_and(Validation::may_run) && report.is_none();
                // The result of a pending validation takes precedence.
                if is_known || known == Some(&Validation::Pending) {
                    return None;
                }
                let validation = Validation::from(report);
                kept.set(subject, validation.clone());
                return (validation != Validation::Exact).then_some((subject, validation));
            }
            News::MachineCode(number, variant, code) => {
                if self.code_of.is_some_and(|of| (of.0, of.1) == (number, variant)) {
                    self.shown.machine_code = Some(code);
                }
                return None;
            }
            News::Variant(id, Err(error)) => (Subject::Variant(id), error),
            News::Tried(case, Err(error)) if case.version.is_none() => {
                (Subject::Variant(case.variant), error)
            }
            News::NoConversion(error) => (Subject::Conversion, error),
            _ => return None,
        };
        // Failures of the device itself are reported by `Devices`.
        if !is_device_failure(&error) {
            let runs = self.version_in_use(subject).filter(|kept| kept.row.number > 1 || !self.is_built);
            let sources = runs.map(|kept| kept.sources.clone());
            note_refusal(&mut self.refusals, subject, sources, Some(error));
            self.note_refused_first();
        }
        None
    }

    /// Processes the result of validating kernels of a version. Returns the variant or the conversion, with the result to show
    /// to the user; `None` if the version is not the current one.
    fn process_verdict(&mut self, validated: Validated) -> Option<(Subject, Validation)> {
        let Validated { version: number, subject, validation, warnings, .. } = validated;
        let sources = self.version(number)?.sources.clone();
        note_refusal(&mut self.refusals, subject, Some(sources), validation.refusal().cloned());
        // A version that runs again keeps the older version that it is compared with.
        let replaced = |number: &u64| self.version(*number)?.row.result(subject)?.replaced;
        let running = self.version_in_use(subject).map(|kept| kept.row.number);
        let older = std::iter::successors(running, replaced).find(|before| *before < number);
        let known = replaced(&number).filter(|before| self.version(*before).is_some());
        let kept = self.version_mut(number)?;
        let result = kept.set(subject, validation.clone());
        result.warnings = warnings;
        if validation.may_run() {
            result.replaced = known.or(older);
            kept.times.retain(|(of, _)| Subject::Variant(of.variant) != subject);
            self.running.insert(subject, number);
            // Lines that kernels have printed until now came from the previous version.
            stdout::PRINTED.lock().clear();
        }
        // Results of older versions are not reported.
        (number == self.current).then_some((subject, validation))
    }

    /// Removes the obsolete refusals. Returns their errors, except those that another refusal shares, so that the banners can
    /// be removed.
    fn take_obsolete_errors(&mut self) -> Vec<Error> {
        let over: Vec<Refusal> = self.refusals.extract_if(.., |refusal| refusal.is_over).collect();
        let is_repeated =
            |error: &Error| self.refusals.iter().any(|other| is_same_error(error, &other.error));
        over.into_iter().map(|refusal| refusal.error).filter(|error| !is_repeated(error)).collect()
    }

    /// Takes the numbers of changes of the device and of restarts of the builder. If the device has changed, drops times
    /// measured on the previous device. If either number has changed, repeats the requests that were not answered.
    fn note_device(&mut self, devices: u32, restarts: u32) {
        let before = std::mem::replace(&mut self.epoch, (devices, restarts));
        if before.0 != devices {
            self.kept.iter_mut().for_each(|kept| kept.times.clear());
        }
        if before == self.epoch {
            return;
        }
        if self.version(self.asked).is_some_and(|kept| kept.row.pending() > 0) {
            self.waits.get_or_insert(false);
        }
        if self.shown.machine_code.is_none() {
            self.code_of = None;
        }
    }

    /// Stores the time of a filter with the version whose kernels the filter runs. Does nothing if too few frames were measured.
    /// Keeps a stored time if that was measured with more frames than `time`, and `time` with fewer than [`MIN_MEDIAN_FRAMES`].
    fn time(&mut self, of: Circumstances, time: FilterTime) {
        let running = self.running.get(&Subject::Variant(of.variant));
        let number = running.copied().filter(|_| time.n >= MIN_TIMED_FRAMES);
        let Some(kept) = number.and_then(|number| self.version_mut(number)) else { return };
        match kept.times.iter_mut().find(|(known, _)| *known == of) {
            // After a seek, a median of few frames is less reliable than the stored one of many.
            Some((_, known)) if time.n < known.n.min(MIN_MEDIAN_FRAMES) => {}
            Some((_, known)) => *known = time,
            None => kept.times.push((of, time)),
        }
    }

    /// Returns the sources with which the current version is compared to see whether it changes the kernels of a variant or the
    /// conversion: those from which the running kernels were built or, if these were refused, those of the last version whose
    /// validation has ended. `None` if nothing could be built.
    fn built_from(&self, subject: Subject) -> Option<Sources> {
        let has_verdict = |kept: &&KeptVersion| {
            kept.row.result(subject).is_some_and(|result| result.validation != Validation::Pending)
        };
        match self.version_in_use(subject) {
            // The version is refused: its validation has ended.
            Some(kept) if kept.row.refuses(subject) => {
                self.kept.iter().rev().find(has_verdict).map(|kept| kept.sources.clone())
            }
            Some(kept) => Some(kept.sources.clone()),
            None if self.is_named && !self.is_built => None,
            None => Some(Sources::default()),
        }
    }

    /// Returns the variants that must be validated since the current version changes their kernels. `parts` are the variants
    /// that `auto` may use. `asked` is the chosen variant if the user has requested validation: it is returned even if it is
    /// unchanged.
    fn changed(&self, kind: DeviceKind, parts: &[VariantId], asked: Option<VariantId>) -> Vec<VariantId> {
        let Some(kept) = self.version(self.current) else { return Vec::new() };
        // The only version, from which all programs were built: it runs without validation unless a part must be validated
        // first.
        let is_first = self.newest() == 1 && self.is_built;
        let is_changed = |variant: &VariantId| {
            if variant.files(kind).is_some_and(|files| files.is_empty()) {
                return false;
            }
            let subject = Subject::Variant(*variant);
            let before = if is_first { Some(Sources::default()) } else { self.built_from(subject) };
            let is_new = !is_first || asked.is_some() || variant.is_own();
            let own = std::slice::from_ref(variant);
            let made_of = if variant.is_auto() { parts } else { own };
            let differs =
                |before: &Sources| made_of.iter().any(|id| !is_same(*id, kind, &kept.sources, before));
            // The previous version may still pass validation, and would then run.
            self.is_asked(subject) || asked == Some(*variant) || is_new && before.as_ref().is_none_or(differs)
        };
        let own = kept.sources.has(OWN_FILE).then_some(VariantId::own());
        VariantId::all().chain(own).filter(is_changed).collect()
    }

    /// Returns true if the current version changes this kernel file of the conversion from YUV to RGBA, compared with the
    /// sources that run or, if `asked` is true, with the built-in file.
    fn changes_conversion(&self, file: &str, asked: bool) -> bool {
        let Some(kept) = self.version(self.current) else { return false };
        let is_first = self.newest() == 1 && self.is_built;
        let before = if asked { Some(Sources::default()) } else { self.built_from(Subject::Conversion) };
        let differs = |before: &Sources| !kept.sources.is_same(before, file);
        self.is_asked(Subject::Conversion) || (asked || !is_first) && before.as_ref().is_none_or(differs)
    }

    /// Records that validation of these variants or the conversion was requested for the current version. `files` are the
    /// kernel files of the conversion. Refusals of other sources become obsolete, unless a validation is pending.
    fn note_requested(&mut self, subjects: &[Subject], kind: DeviceKind, files: &[&str]) {
        let before = std::mem::replace(&mut self.asked, self.current);
        if before != self.current
            && let Some(superseded) = self.version_mut(before)
        {
            superseded.restore_known();
        }
        let is_first = self.current == 1 && self.is_built;
        let Some(kept) = self.kept.iter_mut().find(|kept| kept.row.number == self.current) else { return };
        let is_due = |subject: &Subject| subjects.contains(subject);
        kept.row.results.retain(|result| result.validation != Validation::Pending || is_due(&result.subject));
        for subject in subjects {
            kept.set(*subject, Validation::Pending);
        }
        let differs = |subject, other: &Sources| match subject {
            Subject::Variant(variant) => !is_same(variant, kind, &kept.sources, other),
            Subject::Conversion => files.iter().any(|file| !kept.sources.is_same(other, file)),
        };
        for refusal in &mut self.refusals {
            let differs = |refused| differs(refusal.subject, refused);
            refusal.is_over |= !is_due(&refusal.subject) && refusal.sources.as_ref().is_some_and(differs);
        }
        let all = [Subject::Variant(VariantId::auto()), Subject::Conversion];
        let is_edited = all.into_iter().any(|subject| differs(subject, &Sources::default()));
        kept.row.request = match subjects.is_empty() && is_first && is_edited {
            // The version was edited before the window was opened.
            true => ValidationRequest::WhenChosen,
            false => ValidationRequest::Made,
        };
    }
}

/// Returns true if the kernels of a variant for this kind of device are equal in both sources. For `auto`, which runs other
/// variants, the kernels of all variants are compared.
pub(super) fn is_same(variant: VariantId, kind: DeviceKind, one: &Sources, other: &Sources) -> bool {
    match variant.files(kind) {
        Some(files) => files.iter().all(|file| one.is_same(other, file)),
        None => {
            VariantId::all().filter(|id| id.files(kind).is_some()).all(|id| is_same(id, kind, one, other))
        }
    }
}

/// The minimum number of measured frames for which a new median time replaces one of more frames: during the first frames,
/// caches are cold and other kernels are being validated.
const MIN_MEDIAN_FRAMES: usize = 20;

/// The conditions under which a filter was timed. Times of two versions are comparable if these are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Circumstances {
    variant: VariantId,
    settings: Settings,
    size: (u32, u32),
    beside: Option<SecondSetting>,
}

/// A version of the edited kernels that is kept (the text of all kernels at one save), with the results of validation and the
/// times.
struct KeptVersion {
    sources: Sources,
    /// The hash of the texts, which also is in the names of stored versions.
    hash: u64,
    /// The variants whose kernels differ from the built-in ones on some kind of device; the user's own kernel is not among them.
    edited: Vec<VariantId>,
    /// True if the texts were in the folder when another version was restored over them, so that they may exist in this version
    /// only.
    is_replaced: bool,
    /// True if the version is stored on the disk.
    is_stored: bool,
    /// True if the texts of an older version were saved or restored over this one.
    is_undone: bool,
    /// The results before the last validation was requested; a validation that is superseded leaves them valid.
    known: HashMap<Subject, Validation>,
    times: Vec<(Circumstances, FilterTime)>,
    /// The version as the kernels panel shows it. [`Versions::refresh`] adds its times and comparisons. Its number of failed
    /// versions counts only those that are no longer kept.
    row: Version,
}

impl KeptVersion {
    /// Creates a version without results; `before` are the sources of the version before it, with which its files are compared.
    fn new(number: u64, sources: Sources, before: &Sources) -> Self {
        let files = sources.changed_since(before);
        let lost_own = files.iter().any(|file| file == OWN_FILE) && !sources.has(OWN_FILE);
        let (results, time, failures) = (Vec::new(), None, 0);
        let request = ValidationRequest::Waiting;
        let row = Version { number, files, results, request, lost_own, time, failures };
        let hash = fingerprint(&sources);
        let (is_replaced, is_stored, is_undone) = (false, false, false);
        let (known, times) = (HashMap::new(), Vec::new());
        let built_in = Sources::default();
        let kinds = [DeviceKind::Cpu, DeviceKind::Gpu];
        let is_edited = |id: &VariantId| kinds.iter().any(|kind| !is_same(*id, *kind, &sources, &built_in));
        let edited = VariantId::all().filter(|id| !id.is_auto() && is_edited(id)).collect();
        Self { sources, hash, edited, is_replaced, is_stored, is_undone, known, times, row }
    }

    /// Returns the time that was measured under these conditions; `None` if there is none.
    fn time(&self, of: &Circumstances) -> Option<FilterTime> {
        self.times.iter().find(|(known, _)| known == of).map(|(_, time)| *time)
    }

    /// Sets the result of validating the kernels of a variant or the conversion in this version. Returns the entry that was
    /// changed.
    fn set(&mut self, subject: Subject, validation: Validation) -> &mut VersionResult {
        let results = &mut self.row.results;
        let known = results.iter().position(|result| result.subject == subject);
        let at = known.unwrap_or(results.len());
        if known.is_none() {
            results.push(VersionResult::new(subject, Validation::Pending));
        }
        let before = std::mem::replace(&mut results[at].validation, validation);
        if results[at].validation == Validation::Pending && before != Validation::Pending {
            self.known.insert(subject, before);
        }
        &mut results[at]
    }

    /// Replaces pending results by those of earlier validations, as far as there are any, since the validation is superseded.
    fn restore_known(&mut self) {
        for result in self.row.results.iter_mut().filter(|result| result.validation == Validation::Pending) {
            if let Some(known) = self.known.remove(&result.subject) {
                result.validation = known;
            }
        }
    }

    /// Returns true if validation of this version has ended and the output of all validated kernels equals the reference.
    fn is_exact(&self) -> bool {
        let mut results = self.row.results.iter();
        let is_over = self.row.request != ValidationRequest::Waiting && results.len() > 0;
        is_over && results.all(|result| result.validation == Validation::Exact)
    }

    /// Returns true if all kernels of this version that were validated were refused.
    fn has_failed(&self) -> bool {
        let is =
            |known: fn(&Validation) -> bool| self.row.results.iter().any(|result| known(&result.validation));
        is(|known| known.refusal().is_some()) && !is(Validation::may_run)
    }

    /// Returns true if this version was undone before any of its kernels could run, such as a typing error.
    fn is_undone_in_vain(&self) -> bool {
        let needs_validation = self.row.request == ValidationRequest::Waiting || !self.row.results.is_empty();
        self.is_undone
            && needs_validation
            && !self.row.results.iter().any(|result| result.validation.may_run())
    }

    /// Returns true if the user may want to return to this version: it is the first version, it is exact, or no other version
    /// has its texts.
    fn is_lasting(&self) -> bool {
        self.row.number == 1 || self.is_replaced || self.is_exact()
    }
}
