//! The contents of the kernels panel: a row for each version, and the source text of a kernel.

use super::stored::local_time;
use super::*;
use base::error::SourceLine;
use overlay::{EarlierVersion, Speed};

impl Versions {
    /// Updates the rows of the kernels panel for the variant `chosen`. The rows show the times that were measured under the
    /// conditions `of`; they show no times if that is `None`.
    pub(super) fn refresh(&mut self, chosen: VariantId, of: Option<Circumstances>) {
        // In a wipe, the time beside the second filter is shown or, if there is none, the time without a wipe, so that a wipe
        // hides no time.
        let time = |kept: &KeptVersion, of: Circumstances| {
            kept.time(&of).or_else(|| kept.time(&Circumstances { beside: None, ..of }))
        };
        let result = |kept: &KeptVersion, result: &VersionResult| {
            let runs = self.running.get(&result.subject) == Some(&kept.row.number);
            // The conversion has no time here: the time of its stage belongs to no version.
            let (Subject::Variant(variant), Some(of)) = (result.subject, of) else {
                return VersionResult { runs, ..result.clone() };
            };
            let of = Circumstances { variant, ..of };
            // The time of the user's own kernel is shown even if it computes something else.
            let is_timed = result.validation == Validation::Exact || variant.is_own();
            let time = time(kept, of).filter(|_| is_timed);
            let speed = self.pair(kept, &of).map(|pair| {
                // Compared with the version before it.
                Speed { before: pair.versions[0], state: self.comparison.state(pair) }
            });
            VersionResult { runs, time, speed, ..result.clone() }
        };
        let (mut rows, mut failures) = (Vec::new(), 0);
        for kept in &self.kept {
            failures += kept.row.failures;
            // Failed versions that are not in use are summarised as a number.
            let is_over = kept.has_failed() || kept.is_undone_in_vain();
            if is_over && !kept.is_lasting() && !self.is_used(kept.row.number) {
                failures += usize::from(kept.has_failed());
                continue;
            }
            rows.push(Version {
                results: kept.row.results.iter().map(|known| result(kept, known)).collect(),
                time: of.and_then(|of| time(kept, of)),
                failures: std::mem::take(&mut failures),
                ..kept.row.clone()
            });
        }
        rows.reverse();
        let is_earlier = |version: &&StoredVersion| self.kept.iter().all(|kept| kept.hash != version.hash);
        let earlier = self.earlier.iter().filter(is_earlier).map(|version| EarlierVersion {
            hash: version.hash,
            time: local_time(version.saved),
            files: version.files.clone(),
            is_exact: version.is_exact,
        });
        let runs = |subject| {
            self.version_in_use(subject).filter(|kept| !kept.row.refuses(subject)).map(|kept| kept.row.number)
        };
        let as_opened = |id: VariantId, number: u64| {
            let files = id.files(DeviceKind::Cpu).unwrap_or_default();
            !files.is_empty() && files.iter().all(|file| self.is_first_with(file, number))
        };
        let edited = VariantId::all().filter_map(|id| {
            let kept = self.version_in_use(Subject::Variant(id)).filter(|kept| kept.edited.contains(&id))?;
            (!as_opened(id, kept.row.number)).then_some((id, kept.row.number))
        });
        let variants = self.running.keys().filter_map(|subject| match subject {
            Subject::Variant(id) => id.opened().map(|_| *id),
            Subject::Conversion => None,
        });
        let opened = variants.filter_map(|id| {
            let mut numbers = self.kept.iter().map(|kept| kept.row.number);
            numbers.find(|number| as_opened(id, *number)).map(|number| (id, number))
        });
        self.shown = Kernels {
            edited: edited.collect(),
            opened: opened.collect(),
            versions: rows,
            earlier: earlier.collect(),
            has_own: self.version(self.current).is_some_and(|kept| kept.sources.has(OWN_FILE)),
            current: self.current,
            running: runs(Subject::Variant(chosen)),
            conversion: runs(Subject::Conversion),
            ..std::mem::take(&mut self.shown)
        };
    }
}

/// Identifies the source text that the kernels panel shows: the number of the version, the chosen variant, the kind of device,
/// and the lines with errors from the compiler's log.
pub(super) type SourceKey = (u64, VariantId, DeviceKind, Vec<SourceLine>);

/// Returns the source text to show; `None` if it has not changed since the last call, which has set `key`. The text is the file
/// in which the compiler found an error; without errors, the included file that has changed; otherwise the kernels of the chosen
/// variant as they were saved last. The inner value is `None` if there is no such text.
pub(super) fn updated_source(
    key: &mut Option<SourceKey>,
    versions: &Versions,
    chosen: VariantId,
    kind: DeviceKind,
) -> Option<Option<Source>> {
    let current = versions.version(versions.current);
    let result = current.and_then(|kept| result_to_show(&kept.row.results, chosen));
    let errors = match result.and_then(|result| result.validation.refusal()).map(|error| &error.kind) {
        Some(ErrorKind::KernelDoesNotBuild(lines)) => lines.clone(),
        _ => Vec::new(),
    };
    let of = Some((versions.current, chosen, kind, errors.clone()));
    if std::mem::replace(key, of.clone()) == of {
        return None;
    }
    let sources = current.map(|kept| kept.sources.clone()).unwrap_or_default();
    let text = |file: &str| sources.text(file).ok();
    let own = chosen.files(kind).unwrap_or_default();
    let named = || errors.iter().map(|line| line.file.as_str());
    // If several files have errors, the first file that the compiler names is shown.
    let refused =
        named().find(|file| own.contains(file)).or_else(|| named().find(|file| text(file).is_some()));
    let mut before = versions.kept.iter().rev().skip_while(|kept| kept.row.number >= versions.current);
    let earlier = before.find(|kept| !kept.is_undone);
    let included = current.zip(earlier).zip(own.first()).and_then(|((now, before), file)| {
        let is_own = now.sources.text(file).ok() != before.sources.text(file).ok();
        if is_own || now.sources.is_same(&before.sources, file) {
            return None;
        }
        let mut files = now.row.files.iter().map(String::as_str);
        files.find(|file| file.ends_with(".clh") && text(file).is_some())
    });
    Some(refused.or(included).or(own.first().copied()).and_then(|file| {
        let before = earlier.and_then(|kept| kept.sources.text(file).ok());
        let source = Source::new(file.to_owned(), &text(file)?, before.as_deref());
        let source = source.since_version(earlier.map(|kept| kept.row.number));
        Some(source.with_version(versions.current, &errors))
    }))
}
