//! Which variants a version of the edited kernels changes, so that they must be validated, and which refusals the version ends.

use super::*;

/// Returns true if the kernels of a variant for this kind of device have the same text in the sources `one` and `other`. For
/// `auto`, which runs other variants, the kernels of all variants are compared.
pub(super) fn is_same(variant: VariantId, kind: DeviceKind, one: &Sources, other: &Sources) -> bool {
    match variant.files(kind) {
        Some(files) => files.iter().all(|file| one.is_same(other, file)),
        None => VariantId::ALL
            .into_iter()
            .filter(|id| id.files(kind).is_some())
            .all(|id| is_same(id, kind, one, other)),
    }
}

impl Versions {
    /// Returns the sources with which the current version's kernels of a variant or conversion are compared: those that the
    /// running kernels were built from or, if these were refused, those of the last version with a verdict. `None` if nothing
    /// could be built.
    fn built_from(&self, subject: Subject) -> Option<Sources> {
        match self.version_in_use(subject) {
            // It is refused: the last verdict is known.
            Some(kept) if kept.refuses(subject) => self
                .kept
                .iter()
                .rev()
                .find(|kept| kept.find_judged(subject).is_some())
                .map(|kept| kept.sources.clone()),
            Some(kept) => Some(kept.sources.clone()),
            None if self.is_named && !self.is_built => None,
            None => Some(Sources::default()),
        }
    }

    /// Returns true if the current version is the only one and existed at the start, so that it runs without validation unless
    /// a part of it must be validated first.
    fn is_first(&self) -> bool {
        self.number == 1 && self.is_built
    }

    /// Returns the variants whose kernels the current version changes, `chosen` first. `parts` are the variants that `auto` may
    /// use. If `asked` is true, because the user requests validation, `chosen` is returned even if it is unchanged.
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
            // A verdict on the version before may still arrive, and that version would run.
            let is_asked = self.asked.contains_key(&Subject::Variant(*variant));
            is_asked || asked && *variant == chosen || is_new && is_other()
        };
        let own = self.has_own().then_some(VariantId::Own);
        let mut changed: Vec<VariantId> = VariantId::ALL.into_iter().chain(own).filter(is_changed).collect();
        // `auto` consists of all others, and seldom is the one that is edited.
        changed.sort_by_key(|variant| (*variant != chosen, *variant == VariantId::Auto));
        changed
    }

    /// Returns true if the current version existed before the window was opened and differs from the built-in kernels, in a
    /// variant or in these `files`. Such kernels are validated when they are first used.
    pub(super) fn is_tried_when_chosen(
        &self,
        kind: DeviceKind,
        files: impl IntoIterator<Item = &'static str>,
    ) -> bool {
        let built_in = Sources::default();
        let first = self.version(self.current).filter(|kept| kept.number == 1 && self.is_built);
        let Some(kept) = first else { return false };
        !is_same(VariantId::Auto, kind, &kept.sources, &built_in)
            || files.into_iter().any(|file| !kept.sources.is_same(&built_in, file))
    }

    /// Returns true if the current version changes this kernel file of the conversion. The file is compared with the sources
    /// that run or, if `against_built_in` is true, with the built-in file.
    pub(super) fn changes_conversion(&self, file: &str, asked: bool) -> bool {
        let Some(kept) = self.version(self.current) else { return false };
        let before = match asked {
            true => Some(Sources::default()),
            false => self.built_from(Subject::Conversion),
        };
        let differs = |before: &Sources| !kept.sources.is_same(before, file);
        let is_asked = self.asked.contains_key(&Subject::Conversion);
        is_asked || (asked || !self.is_first()) && before.as_ref().is_none_or(differs)
    }

    /// Records that verdicts on the current version's kernels were requested: on these variants and, if `conversions` is true,
    /// on the YUV to RGBA conversion.
    pub(super) fn note_requested(&mut self, variants: &[VariantId], conversions: bool) {
        let variants = variants.iter().map(|variant| Subject::Variant(*variant));
        let subjects = variants.chain(conversions.then_some(Subject::Conversion));
        self.asked.extend(subjects.map(|subject| (subject, self.current)));
    }

    /// Removes the refusals of kernels that differ in the current version, except where a verdict is pending. `files` are the
    /// conversion's kernel files.
    pub(super) fn end_refusals(&mut self, kind: DeviceKind, files: &[&str]) {
        let Some(current) = self.version(self.current).map(|kept| kept.sources.clone()) else { return };
        self.refusals.end(|subject, refused| {
            let is_other = match subject {
                Subject::Variant(variant) => !is_same(variant, kind, refused, &current),
                Subject::Conversion => files.iter().any(|file| !refused.is_same(&current, file)),
            };
            is_other && !self.asked.contains_key(&subject)
        });
    }
}
