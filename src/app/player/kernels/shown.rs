//! What the panel of kernels shows. In: versions, and what is chosen. Out: a row for each version, and the source beside them.

use super::kept::SETTLED;
use super::*;
use base::timing::Noise;

impl LiveKernels {
    /// Puts together what is shown.
    pub(super) fn refresh(
        &mut self,
        chosen: VariantId,
        radius: u32,
        size: Option<(u32, u32)>,
        beside: Option<Beside>,
    ) {
        let of = |variant, beside| size.map(|size| Circumstances { variant, radius, size, beside });
        // As it is measured now, else as it was alone: a wipe takes no version its time.
        let ways = if beside.is_some() { &[beside, None][..] } else { &[None] };
        let row = |kept: &KeptVersion| {
            let judged = kept.judged.iter().map(|judged| {
                let is_exact = judged.verdict == Verdict::Exact;
                let time = |kept: &KeptVersion, beside| match judged.subject {
                    Subject::Variant(variant) => kept.time(&of(variant, beside).filter(|_| is_exact)?),
                    // Its stage has a time, which is of no version.
                    Subject::Conversion => None,
                };
                let before = self.measured_before(kept, judged.subject);
                let settled = |median: &Median| median.n >= SETTLED;
                let change = ways.iter().find_map(|beside| {
                    let now = time(kept, *beside).filter(settled)?;
                    Some((now, time(before?, *beside).filter(settled)?))
                });
                let now = change.map(|(now, _)| now).or_else(|| ways.iter().find_map(|b| time(kept, *b)));
                Judged {
                    ms: now.map(|now| now.ms),
                    change_ms: change.map(|(now, before)| now.ms - before.ms),
                    noise: match change {
                        Some((now, before)) => noisier(now.noise, before.noise),
                        None => now.and_then(|now| now.noise),
                    },
                    is_after: kept.before.contains_key(&judged.subject),
                    runs: self.running.get(&judged.subject) == Some(&kept.number),
                    ..judged.clone()
                }
            });
            let differs =
                kept.of(Subject::Variant(chosen)).is_some_and(|judged| judged.verdict != Verdict::Exact);
            let time = |beside: &Option<Beside>| kept.time(&of(chosen, *beside).filter(|_| !differs)?);
            let median = ways.iter().find_map(time);
            Version {
                number: kept.number,
                files: kept.files.clone(),
                judged: judged.collect(),
                untried: kept.untried,
                ms: median.map(|median| median.ms),
                noise: median.and_then(|median| median.noise),
            }
        };
        let versions = self.kept.iter().rev().map(row).collect();
        self.shown.versions = versions;
        self.shown.current = self.current;
        let runs = |subject| self.runs(subject).filter(|kept| !kept.refuses(subject)).map(|kept| kept.number);
        let (running, converts) = (runs(Subject::Variant(chosen)), runs(Subject::Conversion));
        (self.shown.running, self.shown.converts) = (running, converts);
        self.shown.copying = self.copying.is_some();
    }

    /// The last version that ran before one and was exact: what makes another picture has no time.
    fn measured_before(&self, kept: &KeptVersion, subject: Subject) -> Option<&KeptVersion> {
        let before = |kept: &KeptVersion| self.version(*kept.before.get(&subject)?);
        let differs = |kept: &&KeptVersion| {
            kept.of(subject).is_some_and(|judged| matches!(judged.verdict, Verdict::Differs(_)))
        };
        // Whoever goes back and forth makes a circle of them.
        std::iter::successors(before(kept), |kept| before(kept)).take(KEPT).find(|kept| !differs(kept))
    }

    /// The chosen variant's kernels as they were saved last; where a compiler has found an error in another file, or only a file
    /// that they include has changed, that one.
    pub(super) fn source(&mut self, chosen: VariantId, kind: DeviceKind) {
        let current = self.version(self.current);
        let told = current.and_then(|kept| told_of(&kept.judged, chosen));
        let log = match told.map(|judged| &judged.verdict) {
            Some(Verdict::Refused(error)) => error.why.as_str(),
            _ => "",
        };
        let of = (self.current, chosen, kind);
        if self.source_of.as_ref().is_some_and(|(shown, said)| (shown, said.as_str()) == (&of, log)) {
            return;
        }
        let text =
            |file: &str| current.map_or_else(|| program::built_in(file), |kept| kept.sources.text(file)).ok();
        let own = chosen.files(kind).unwrap_or_default();
        let named = || errors_in(log).map(|(file, _)| file);
        // Several of its files may have errors: the first one of the log.
        let refused =
            named().find(|file| own.contains(file)).or_else(|| named().find(|file| text(file).is_some()));
        let earlier = self.kept.iter().rev().find(|kept| kept.number < self.current);
        let included = current.zip(earlier).zip(own.first()).and_then(|((now, before), file)| {
            let is_own = now.sources.text(file).ok() != before.sources.text(file).ok();
            if is_own || program::is_same_in(file, &now.sources, &before.sources) {
                return None;
            }
            now.files.iter().map(String::as_str).find(|file| file.ends_with(".clh") && text(file).is_some())
        });
        let shown = refused.or(included).or(own.first().copied()).and_then(|file| {
            let before = earlier.and_then(|kept| kept.sources.text(file).ok());
            let source = Source::new(file.to_owned(), &text(file)?, before.as_deref());
            Some(source.of_version(self.current, log))
        });
        self.source_of = Some((of, log.to_owned()));
        self.shown.source = shown;
    }
}

/// The one of which fewer digits can be believed.
fn noisier(one: Option<Noise>, other: Option<Noise>) -> Option<Noise> {
    [one, other].into_iter().flatten().min_by_key(Noise::digits)
}
