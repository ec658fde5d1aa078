//! The contents of the kernels panel: a row for each version, and the source of a kernel.

use super::stored::local_time;
use super::*;
use overlay::EarlierVersion;

impl Versions {
    /// Updates the rows of the kernels panel for the chosen variant, with the times that were measured at this radius and picture
    /// size; `beside` is the second filter of a wipe, if there is one.
    pub(super) fn refresh(
        &mut self,
        chosen: VariantId,
        radius: u32,
        size: Option<(u32, u32)>,
        beside: Option<SecondSetting>,
    ) {
        let of = |variant, beside| size.map(|size| Circumstances { variant, radius, size, beside });
        // The time beside the second filter, else the time alone: a wipe hides no version's time.
        let ways = if beside.is_some() { &[beside, None][..] } else { &[None] };
        let row = |kept: &KeptVersion| {
            let judged = kept.judged.iter().map(|judged| {
                // The user may want to know how long another filter takes.
                let is_own = judged.subject == Subject::Variant(VariantId::Own);
                let is_timed = judged.verdict == Verdict::Exact || is_own;
                let time = |beside| match judged.subject {
                    Subject::Variant(variant) => kept.time(&of(variant, beside).filter(|_| is_timed)?),
                    // Its stage has a time, which is of no version.
                    Subject::Conversion => None,
                };
                let now = ways.iter().find_map(|beside| time(*beside));
                VersionResult {
                    ms: now.map(|now| now.ms),
                    noise: now.and_then(|now| now.noise),
                    speed: match judged.subject {
                        Subject::Variant(variant) => self.speed(kept, variant, radius, size),
                        Subject::Conversion => None,
                    },
                    runs: self.running.get(&judged.subject) == Some(&kept.number),
                    ..judged.clone()
                }
            });
            let differs = kept
                .find_judged(Subject::Variant(chosen))
                .is_some_and(|judged| judged.verdict != Verdict::Exact);
            let time = |beside: &Option<SecondSetting>| kept.time(&of(chosen, *beside).filter(|_| !differs)?);
            let median = ways.iter().find_map(time);
            Version {
                number: kept.number,
                files: kept.files.clone(),
                results: judged.collect(),
                pending: kept.untried,
                lost_own: kept.lost_own_kernel(),
                ms: median.map(|median| median.ms),
                noise: median.and_then(|median| median.noise),
                failures: self.failures_before(kept.number),
            }
        };
        let versions = self.kept.iter().rev().filter(|kept| !self.is_collapsed(kept)).map(row).collect();
        self.shown.versions = versions;
        self.shown.earlier = self.earlier_rows();
        self.shown.has_own = self.has_own();
        self.shown.current = self.current;
        let runs = |subject| {
            self.version_in_use(subject).filter(|kept| !kept.refuses(subject)).map(|kept| kept.number)
        };
        let (running, converts) = (runs(Subject::Variant(chosen)), runs(Subject::Conversion));
        (self.shown.running, self.shown.conversion) = (running, converts);
    }

    /// Returns true if a version has no line of its own, because it has failed, and nobody uses it.
    fn is_collapsed(&self, kept: &KeptVersion) -> bool {
        let is_used = [self.current, self.number].contains(&kept.number)
            || self.running.values().any(|number| *number == kept.number);
        kept.has_failed() && !kept.is_lasting() && !is_used
    }

    /// Returns the number of failed versions without lines of their own between the version with this number and the one that
    /// has the next line.
    fn failures_before(&self, number: u64) -> usize {
        let has_line = |kept: &&KeptVersion| kept.number < number && !self.is_collapsed(kept);
        let from = self.kept.iter().rev().find(has_line).map_or(0, |kept| kept.number);
        let collapsed = self.kept.iter().filter(|kept| self.is_collapsed(kept)).map(|kept| kept.number);
        collapsed.chain(self.failed.iter().copied()).filter(|failed| (from..number).contains(failed)).count()
    }

    /// Returns the lines of the versions that were on the disk when the folder was first read, without those that are kept.
    fn earlier_rows(&self) -> Vec<EarlierVersion> {
        let is_kept = |hash: u64| self.kept.iter().any(|kept| kept.hash == hash);
        let others = self.earlier.iter().filter(|(hash, _)| !is_kept(*hash));
        let row = |(hash, version): &(u64, StoredVersion)| EarlierVersion {
            hash: *hash,
            time: local_time(version.saved),
            files: version.files.clone(),
            is_exact: version.is_exact,
        };
        others.map(row).collect()
    }

    /// Returns the version to compare the speed with: the last one that ran before `kept` for this variant or conversion and whose
    /// output does not differ from the reference. Versions whose output differs have no times.
    pub(super) fn measured_before(&self, kept: &KeptVersion, subject: Subject) -> Option<&KeptVersion> {
        let before = |kept: &KeptVersion| self.version(*kept.before.get(&subject)?);
        let differs = |kept: &&KeptVersion| {
            kept.find_judged(subject).is_some_and(|judged| matches!(judged.verdict, Verdict::Differs(_)))
        };
        // Going back and forth makes a cycle of versions.
        std::iter::successors(before(kept), |kept| before(kept))
            .take(self.kept.len())
            .find(|kept| !differs(kept))
    }

    /// Updates the source text in the kernels panel. It shows the file in which the compiler has found an error; otherwise the
    /// included file that has changed; otherwise the chosen variant's kernels as they were saved last.
    pub(super) fn update_source(&mut self, chosen: VariantId, kind: DeviceKind) {
        let current = self.version(self.current);
        let judged = current.and_then(|kept| result_to_show(&kept.judged, chosen));
        let errors = match judged.map(|judged| &judged.verdict) {
            Some(Verdict::Refused(Error { kind: ErrorKind::KernelDoesNotBuild(lines), .. })) => {
                lines.as_slice()
            }
            _ => &[],
        };
        let of = (self.current, chosen, kind);
        if self.source_of.as_ref().is_some_and(|(shown, marked)| *shown == of && marked == errors) {
            return;
        }
        let sources = current.map(|kept| kept.sources.clone()).unwrap_or_default();
        let text = |file: &str| sources.text(file).ok();
        let own = chosen.files(kind).unwrap_or_default();
        let named = || errors.iter().map(|line| line.file.as_str());
        // Of several files with errors the first one that the compiler names.
        let refused =
            named().find(|file| own.contains(file)).or_else(|| named().find(|file| text(file).is_some()));
        let earlier = self.kept.iter().rev().find(|kept| kept.number < self.current);
        let included = current.zip(earlier).zip(own.first()).and_then(|((now, before), file)| {
            let is_own = now.sources.text(file).ok() != before.sources.text(file).ok();
            if is_own || now.sources.is_same(&before.sources, file) {
                return None;
            }
            now.files.iter().map(String::as_str).find(|file| file.ends_with(".clh") && text(file).is_some())
        });
        let shown = refused.or(included).or(own.first().copied()).and_then(|file| {
            let before = earlier.and_then(|kept| kept.sources.text(file).ok());
            let source = Source::new(file.to_owned(), &text(file)?, before.as_deref());
            Some(source.with_version(self.current, errors))
        });
        let source_of = Some((of, errors.to_vec()));
        (self.source_of, self.shown.source) = (source_of, shown);
    }
}
