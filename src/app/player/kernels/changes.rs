//! What a version changes. In: its texts, and those that run. Out: what is to be judged, and which refusals hold no more.

use super::*;

/// Whether a variant's kernels are the same in both.
pub(super) fn is_same(variant: VariantId, kind: DeviceKind, one: &Sources, other: &Sources) -> bool {
    match variant.files(kind) {
        Some(files) => files.iter().all(|file| program::is_same_in(file, one, other)),
        None => VariantId::ALL
            .into_iter()
            .filter(|id| id.files(kind).is_some())
            .all(|id| is_same(id, kind, one, other)),
    }
}

impl LiveKernels {
    /// The texts that its kernels were built from; `None` where they could not be.
    fn built_from(&self, subject: Subject) -> Option<Sources> {
        match self.runs(subject) {
            // It does not: what was found last is known.
            Some(kept) if kept.refuses(subject) => self
                .kept
                .iter()
                .rev()
                .find(|kept| kept.of(subject).is_some())
                .map(|kept| kept.sources.clone()),
            Some(kept) => Some(kept.sources.clone()),
            None if self.is_named && !self.is_built => None,
            None => Some(Sources::default()),
        }
    }

    /// Whether the current version is the only one, and runs unless something of it is to be tried first.
    fn is_first(&self) -> bool {
        self.number == 1 && self.is_built
    }

    /// The variants that the current version changes, `chosen` first. `auto` may be made of these `parts`.
    pub(super) fn changed(
        &self,
        chosen: VariantId,
        kind: DeviceKind,
        parts: &[VariantId],
        asked: bool,
    ) -> Vec<VariantId> {
        let Some(kept) = self.version(self.current) else { return Vec::new() };
        let is_first = self.is_first();
        let is_changed = |variant: &VariantId| {
            if variant.files(kind).is_some_and(|files| files.is_empty()) {
                return false;
            }
            let before = match is_first {
                true => Some(Sources::default()),
                false => self.built_from(Subject::Variant(*variant)),
            };
            let is_new = !is_first || asked || *variant == VariantId::Own;
            let own = std::slice::from_ref(variant);
            let made_of = if *variant == VariantId::Auto { parts } else { own };
            let is_other = || {
                let differs =
                    |before: &Sources| made_of.iter().any(|id| !is_same(*id, kind, &kept.sources, before));
                before.as_ref().is_none_or(differs)
            };
            // What is said of the version before may never come, or come now: then that one would run.
            let is_asked = self.asked.contains_key(&Subject::Variant(*variant));
            is_asked || asked && *variant == chosen || is_new && is_other()
        };
        let own = self.has_own().then_some(VariantId::Own);
        let mut changed: Vec<VariantId> = VariantId::ALL.into_iter().chain(own).filter(is_changed).collect();
        // It is made of all others, and seldom the one that is edited.
        changed.sort_by_key(|variant| (*variant != chosen, *variant == VariantId::Auto));
        changed
    }

    /// Whether the current version was there before the window, and has kernels of its own of a variant, or in these files: each is
    /// tried where it is first wanted.
    pub(super) fn is_tried_when_chosen(
        &self,
        kind: DeviceKind,
        files: impl IntoIterator<Item = &'static str>,
    ) -> bool {
        let built_in = Sources::default();
        let first = self.version(self.current).filter(|kept| kept.number == 1 && self.is_built);
        let Some(kept) = first else { return false };
        !is_same(VariantId::Auto, kind, &kept.sources, &built_in)
            || files.into_iter().any(|file| !program::is_same_in(file, &kept.sources, &built_in))
    }

    /// Whether the current version changes a kernel file of the conversion; by hand: whether or not it ran before.
    pub(super) fn changes_conversion(&self, file: &str, asked: bool) -> bool {
        let Some(kept) = self.version(self.current) else { return false };
        let before = match asked {
            true => Some(Sources::default()),
            false => self.built_from(Subject::Conversion),
        };
        let differs = |before: &Sources| !program::is_same_in(file, &kept.sources, before);
        let is_asked = self.asked.contains_key(&Subject::Conversion);
        is_asked || (asked || !self.is_first()) && before.as_ref().is_none_or(differs)
    }

    /// Notes that the current version is judged.
    pub(super) fn asks(&mut self, variants: &[VariantId], conversions: bool) {
        let variants = variants.iter().map(|variant| Subject::Variant(*variant));
        let subjects = variants.chain(conversions.then_some(Subject::Conversion));
        self.asked.extend(subjects.map(|subject| (subject, self.current)));
    }

    /// Ends what was said of other texts than the current ones: those that are not judged run already. `files` are the
    /// conversion's.
    pub(super) fn end_refusals(&mut self, kind: DeviceKind, files: &[&str]) {
        let Some(current) = self.version(self.current).map(|kept| kept.sources.clone()) else { return };
        self.refusals.end(|subject, refused| {
            let is_other = match subject {
                Subject::Variant(variant) => !is_same(variant, kind, refused, &current),
                Subject::Conversion => files.iter().any(|file| !program::is_same_in(file, refused, &current)),
            };
            is_other && !self.asked.contains_key(&subject)
        });
    }
}
