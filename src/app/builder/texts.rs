//! From which texts the builder builds. In: the folder as it was when all began, versions that have come through a trial. Out: the
//! texts of a variant and of the conversions.
//!
//! A version that must not run keeps neither another device nor other parameters from what ran before it, nor a variant that is not
//! its business from being built at all: before there was a folder, that was what is built in.

use std::collections::HashMap;

use box_filter::VariantId;
use opencl::sources::Sources;

/// What is known of them. It outlives the thread that builds, which may stay in a driver's call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Texts {
    /// From when all began: from these a variant is built of which no version has come through a trial.
    first: Option<Sources>,
    /// The environment names a folder.
    is_named: bool,
    /// The texts that each variant was built from last.
    built_from: HashMap<VariantId, Option<Sources>>,
    /// The texts that conversions are built from: the last ones that came through a trial.
    converted_from: Option<Sources>,
}

impl Texts {
    /// All begins with these; `is_named`: the environment names a folder, where there are none because that is not there.
    pub(super) fn begin(first: Option<Sources>, is_named: bool) -> Self {
        Self { converted_from: first.clone(), first, is_named, ..Self::default() }
    }

    /// Whether the folder that the environment names was not there when this began: nothing could be built.
    pub(super) fn came_late(&self) -> bool {
        self.first.is_none() && self.is_named
    }

    /// The texts that a variant is to be built from now, where `newest` are those that were saved last; `None`: what is built in, if
    /// there is no folder.
    pub(super) fn texts_of(&mut self, id: VariantId, newest: Option<&Sources>) -> Option<Sources> {
        // The user's own has none from before; where the named folder came later, there are none at all.
        let has_none = id == VariantId::Own || self.came_late();
        let first = if has_none { newest.cloned() } else { self.first.clone() };
        let built_from = self.built_from.remove(&id).flatten().or(first);
        self.built_from.insert(id, built_from.clone());
        built_from.or_else(|| newest.map(|_| Sources::default()))
    }

    /// The texts that a variant was built from last; without any these are.
    pub(super) fn built(&self, id: VariantId, newest: Option<Sources>) -> Option<Sources> {
        self.built_from.get(&id).cloned().unwrap_or(newest)
    }

    /// A variant is built from these from here on: they came through a trial.
    pub(super) fn passed(&mut self, id: VariantId, sources: &Sources) {
        self.built_from.insert(id, Some(sources.clone()));
    }

    /// The texts that conversions are to be built from now; as of [`Texts::texts_of`].
    pub(super) fn of_conversions(&self, newest: Option<&Sources>) -> Option<Sources> {
        let first = || if self.came_late() { newest.cloned() } else { newest.map(|_| Sources::default()) };
        self.converted_from.clone().or_else(first)
    }

    /// Conversions are built from these from here on.
    pub(super) fn conversions_passed(&mut self, sources: &Sources) {
        self.converted_from = Some(sources.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Sources {
        let root = std::env::temp_dir().join(format!("clreel-texts-{}-{text}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("box_filter")).unwrap();
        std::fs::write(root.join("box_filter/03_flat.cl"), text).unwrap();
        let sources = Sources::read(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        sources
    }

    const FLAT: VariantId = VariantId::Flat;

    #[test]
    fn a_version_that_must_not_run_keeps_nothing_from_being_built() {
        let [first, good, refused] = ["first", "good", "refused"].map(texts);
        let mut all = Texts::begin(Some(first.clone()), true);
        assert!(!all.came_late());
        assert_eq!(all.texts_of(FLAT, Some(&refused)), Some(first.clone()));
        all.passed(FLAT, &good);
        assert_eq!(all.texts_of(FLAT, Some(&refused)), Some(good.clone()));
        assert_eq!(all.built(FLAT, None), Some(good.clone()));
        assert_eq!(all.texts_of(VariantId::Fused, Some(&refused)), Some(first.clone()));
        assert_eq!(all.texts_of(VariantId::Own, Some(&refused)), Some(refused.clone()), "none from before");
        assert_eq!(all.of_conversions(Some(&refused)), Some(first));
        all.conversions_passed(&good);
        assert_eq!(all.of_conversions(Some(&refused)), Some(good));
    }

    #[test]
    fn before_there_was_a_folder_that_was_what_is_built_in_unless_one_was_named() {
        let refused = texts("late");
        let mut copied = Texts::begin(None, false);
        assert!(!copied.came_late());
        assert_eq!(copied.texts_of(FLAT, None), None);
        assert_eq!(copied.texts_of(FLAT, Some(&refused)), Some(Sources::default()));
        assert_eq!(copied.of_conversions(None), None);
        assert_eq!(copied.of_conversions(Some(&refused)), Some(Sources::default()));
        let mut late = Texts::begin(None, true);
        assert!(late.came_late());
        assert_eq!(late.texts_of(FLAT, None), None);
        assert_eq!(late.texts_of(FLAT, Some(&refused)), Some(refused.clone()));
        assert_eq!(late.of_conversions(Some(&refused)), Some(refused));
    }
}
