//! Kernels that are edited while the movie runs. In: what was saved in a folder, what came of trying it. Out: versions, of which
//! the last ten are kept; the newest that may be shown filters the movie.

mod changes;
mod kept;
mod looked_after;
mod refusals;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::devices::{Devices, Opinion, no_own};
use super::{Player, save};
use crate::app::builder::{Asm, Judge};
use crate::app::kernels::{News, Watching};
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use box_filter::machine_code::Pictures;
use box_filter::{OWN_FILE, VariantId};
use changes::is_same;
use engine::stats::Beside;
use kept::{Circumstances, KeptVersion, Median};
use opencl::cl::DeviceKind;
use opencl::program;
use opencl::sources::{self, Sources};
use overlay::{Judged, Kernels, Panel, Source, Subject, Untried, Verdict, Version, errors_in, told_of};
use refusals::Refusals;

/// Versions that are kept.
const KEPT: usize = 10;
/// A filter's median holds once so many frames were measured.
const ENOUGH: usize = 5;

/// The folder that is watched, and what was saved in it.
#[derive(Default)]
pub(super) struct LiveKernels {
    watching: Option<Watching>,
    copying: Option<Job<PathBuf>>,
    kept: VecDeque<KeptVersion>,
    number: u64,
    current: u64,
    /// The current version is to be judged; by hand: whether or not it changes anything.
    waits: Option<bool>,
    /// The environment names a folder: where that is not there, nothing can be built.
    is_named: bool,
    /// The first version was there by then, and all was built from it.
    is_built: bool,
    /// The named folder came after all was to be built, and that was not told yet.
    is_late: bool,
    /// What could not be built, or run, of what was there before the window.
    refused_first: Vec<(Subject, Error)>,
    /// Which version filters for a variant, or converts.
    running: HashMap<Subject, u64>,
    /// Of which version it was asked what it does, as long as that is not told.
    asked: HashMap<Subject, u64>,
    refusals: Refusals,
    /// What the source is of that is shown, and what a compiler says of it.
    source_of: Option<((u64, VariantId, DeviceKind), String)>,
    /// Whose machine code is shown or asked for: version, variant, pictures, and the device's number.
    code_of: Option<(u64, VariantId, Pictures, usize)>,
    /// Counts the devices: the versions' times are of the last one alone.
    devices: u32,
    /// Counts how often the builder began anew with one of them.
    begun: u32,
    /// Of which variant another version was asked for, to wipe it, and the device that it was built for.
    beside_of: Option<VariantId>,
    beside_on: Option<usize>,
    shown: Kernels,
}

impl LiveKernels {
    /// Watches the folder that the environment names, if it names one.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn begin(waker: &Waker) -> Result<Self> {
        let mut live = Self::default();
        if let Some(folder) = program::named_folder() {
            live.is_named = true;
            live.watch(&folder, waker)?;
        }
        Ok(live)
    }

    fn watch(&mut self, folder: &Path, waker: &Waker) -> Result<()> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        self.shown.folder = Some(base::text::name(&folder));
        self.watching = Some(Watching::begin(folder, waker)?);
        Ok(())
    }

    /// What the overlay shows of it.
    pub(crate) fn shown(&self) -> &Kernels {
        &self.shown
    }

    fn version(&self, number: u64) -> Option<&KeptVersion> {
        self.kept.iter().find(|kept| kept.number == number)
    }

    fn version_mut(&mut self, number: u64) -> Option<&mut KeptVersion> {
        self.kept.iter_mut().find(|kept| kept.number == number)
    }

    /// The texts from which a variant's kernels, or the conversion's, were built that run now.
    fn runs(&self, subject: Subject) -> Option<&KeptVersion> {
        self.version(*self.running.get(&subject)?)
    }

    /// Takes what was saved. `is_built`: all that runs was built from it.
    fn read(&mut self, sources: Sources, asked: bool, is_built: bool) {
        self.shown.problem = None;
        if self.kept.back().is_some_and(|newest| newest.sources == sources) {
            if asked {
                self.waits = Some(true);
            }
            return;
        }
        self.keep(sources, is_built);
        self.use_version(self.number, asked);
    }

    /// Makes a version of it.
    fn keep(&mut self, sources: Sources, is_built: bool) {
        let newest = self.kept.back().map(|kept| kept.sources.clone());
        let files = sources.changed_since(&newest.unwrap_or_default());
        self.number += 1;
        let kept = KeptVersion {
            number: self.number,
            sources,
            files,
            judged: Vec::new(),
            untried: Untried::Unknown,
            before: HashMap::new(),
            times: Vec::new(),
        };
        self.kept.push_back(kept);
        while self.kept.len() > KEPT {
            // What filters now is kept, too.
            let oldest = self.kept.iter().position(|kept| !self.running.values().any(|n| *n == kept.number));
            self.kept.remove(oldest.unwrap_or(0));
        }
        self.is_late |= self.is_named && !is_built && self.number == 1;
        if is_built && self.number == 1 {
            self.is_built = true;
            let variants = VariantId::ALL.into_iter().map(Subject::Variant);
            self.running = variants.chain([Subject::Conversion]).map(|subject| (subject, 1)).collect();
            self.note_refused_first();
        }
    }

    /// Notes what of the first version could not be built: what the device cannot do with kernels that are built in is no fault
    /// of that version.
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
            if first.of(subject).is_none()
                && kinds.iter().any(|kind| !is_same(variant, *kind, &first.sources, &built_in))
            {
                first.judged.push(Judged::new(subject, Verdict::Refused(error)));
            }
        }
    }

    /// Has this version's kernels filter, if they may.
    fn use_version(&mut self, number: u64, asked: bool) {
        let Some(kept) = self.version(number) else { return };
        sources::set_current(kept.sources.clone());
        (self.current, self.waits) = (number, Some(asked));
    }

    /// The version that was saved or chosen last: its number and its texts. `None` where no folder is watched.
    pub(crate) fn saved(&self) -> Option<(u64, Sources)> {
        self.version(self.current).map(|kept| (kept.number, kept.sources.clone()))
    }

    /// Whether the current version has a kernel of the user's own.
    fn has_own(&self) -> bool {
        self.version(self.current).is_some_and(|kept| kept.sources.has(OWN_FILE))
    }

    /// Notes what came of a version; returns what is to be said of it.
    fn note(&mut self, opinion: Opinion) -> Option<(Subject, Verdict)> {
        match opinion {
            Opinion::Of(number, subject @ Subject::Variant(VariantId::Version), verdict) => {
                if !matches!(verdict, Verdict::Refused(_)) {
                    self.shown.beside = self.beside_of.map(|variant| (variant, number));
                }
                Some((subject, verdict))
            }
            Opinion::Of(number, subject, verdict) => {
                if self.asked.get(&subject) == Some(&number) {
                    self.asked.remove(&subject);
                }
                let before = self.runs(subject).map(|kept| kept.number);
                let refused = match &verdict {
                    Verdict::Refused(error) => Some(error),
                    Verdict::Exact | Verdict::Differs(_) => None,
                };
                let may_run = refused.is_none();
                let sources = self.version(number)?.sources.clone();
                self.refusals.note(subject, &sources, refused);
                let kept = self.version_mut(number)?;
                kept.judged.retain(|judged| judged.subject != subject);
                kept.judged.push(Judged::new(subject, verdict.clone()));
                if let Untried::Now(left) = &mut kept.untried {
                    *left = left.saturating_sub(1);
                }
                if let Some(before) = before.filter(|before| may_run && *before != number) {
                    kept.before.insert(subject, before);
                }
                if may_run {
                    kept.times.retain(|(of, _)| Subject::Variant(of.variant) != subject);
                    self.running.insert(subject, number);
                }
                // Of one before it nothing is to be said any more.
                (number == self.current).then_some((subject, verdict))
            }
            Opinion::Runs(number, variant, code) => {
                if self.code_of.is_some_and(|of| (of.0, of.1) == (number, variant)) {
                    self.shown.machine_code = Some(code);
                }
                None
            }
            Opinion::CannotRun(subject, error) => {
                // The window says so.
                let runs = self.runs(subject).map(|kept| (kept.number, kept.sources.clone()));
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
            Opinion::Ran(variant, report) => {
                let subject = Subject::Variant(variant);
                let number = self.runs(subject)?.number;
                let all = &mut self.version_mut(number)?.judged;
                let is_refused = |judged: &Judged| matches!(judged.verdict, Verdict::Refused(_));
                let is_known = all.iter().any(|judged| judged.subject == subject && !is_refused(judged));
                if is_known && report.is_none() {
                    return None;
                }
                let verdict = report.map_or(Verdict::Exact, Verdict::Differs);
                all.retain(|judged| judged.subject != subject);
                all.push(Judged::new(subject, verdict.clone()));
                (verdict != Verdict::Exact).then_some((subject, verdict))
            }
        }
    }

    /// Forgets what filters took on another device, and asks this one, or its builder that began anew, what is
    /// not known yet.
    fn is_on(&mut self, devices: u32, begun: u32) {
        let is_other = std::mem::replace(&mut self.devices, devices) != devices;
        if is_other {
            self.kept.iter_mut().for_each(|kept| kept.times.clear());
        }
        if std::mem::replace(&mut self.begun, begun) == begun && !is_other {
            return;
        }
        // What was asked before may never be told.
        if !self.asked.is_empty() {
            self.waits.get_or_insert(false);
        }
        if self.shown.machine_code.is_none() {
            self.code_of = None;
        }
    }

    /// Whether this is the first version of a folder that was named and not there, told once: what is not
    /// judged could not be built either.
    fn came_late(&mut self) -> bool {
        std::mem::take(&mut self.is_late)
    }

    /// Notes what the chosen variant's filter takes.
    fn time(&mut self, of: Circumstances, median: Median) {
        let Some(number) = self.runs(Subject::Variant(of.variant)).map(|kept| kept.number) else { return };
        if let Some(kept) = self.version_mut(number) {
            kept.note(of, median);
        }
    }
}

/// Writes all kernels into a new folder.
fn copy() -> Result<PathBuf> {
    let mut why = "There is no folder for them.".to_owned();
    for parent in save::folders() {
        for n in 1..1000 {
            let name = if n == 1 { "clreel-kernels".to_owned() } else { format!("clreel-kernels-{n}") };
            let folder = parent.join(name);
            match sources::write_built_in(&folder) {
                Ok(()) => return Ok(folder),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    why = format!("The system says of '{}': {e}.", base::text::name(folder));
                    break;
                }
            }
        }
    }
    Err(Error::new(
        "The kernels could not be copied.",
        why,
        "Start clreel in a folder that you may write to.",
    ))
}
