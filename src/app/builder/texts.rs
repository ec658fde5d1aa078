//! The kernel sources from which each variant and the conversions are built: those at the start, then versions that were validated.
//!
//! If a version of the edited kernels is refused, other devices and parameters still use the sources from before that version.
//! Variants that the version does not change are still built; without a watched folder, from the built-in sources.

use std::collections::HashMap;

use box_filter::VariantId;
use opencl::sources::Sources;

/// The kernel sources that programs are built from. They outlive the builder's thread, which may stay in a driver's call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct KernelTexts {
    /// The kernel sources at the start, for variants whose kernels were not validated in a later version.
    first: Sources,
    /// The sources from which each variant was built last.
    built_from: HashMap<VariantId, Sources>,
    /// The sources from which conversions are built: the last ones that were validated.
    converted_from: Sources,
}

impl KernelTexts {
    /// Creates the state; `first` are the kernel sources at the start of clreel.
    pub(super) fn begin(first: Sources) -> Self {
        Self { converted_from: first.clone(), first, ..Self::default() }
    }

    /// Returns true if the user's folder of kernels did not exist at the start, so that nothing could be built then.
    pub(super) fn appeared_late(&self) -> bool {
        self.first.is_unreadable()
    }

    /// Returns the sources from which to build a variant: those that were validated last for it, or the sources at the start if
    /// there are none. Instead of the sources at the start, returns `newest`, the sources saved last, for the user's own kernel
    /// and if the folder of kernels appeared after the start.
    pub(super) fn variant_sources(&mut self, id: VariantId, newest: &Sources) -> Sources {
        // The user's own kernel has no earlier sources; where the named folder appeared later, nothing has.
        let has_none = id == VariantId::Own || self.appeared_late();
        let first = if has_none { newest } else { &self.first };
        let built_from = self.built_from.remove(&id).filter(|sources| !sources.is_unreadable());
        let built_from = built_from.unwrap_or_else(|| first.clone());
        self.built_from.insert(id, built_from.clone());
        built_from
    }

    /// Returns the sources from which a variant was built last; `newest` if it was not built yet.
    pub(super) fn sources_of_build(&self, id: VariantId, newest: &Sources) -> Sources {
        self.built_from.get(&id).unwrap_or(newest).clone()
    }

    /// Sets the validated sources from which a variant is built from now on.
    pub(super) fn note_passed(&mut self, id: VariantId, sources: &Sources) {
        self.built_from.insert(id, sources.clone());
    }

    /// Returns the sources from which to build conversions: those that were validated last, or the sources at the start if
    /// there are none. Returns `newest`, the sources saved last, if the folder of kernels could not be read at the start.
    pub(super) fn conversion_sources(&self, newest: &Sources) -> Sources {
        if self.converted_from.is_unreadable() { newest.clone() } else { self.converted_from.clone() }
    }

    /// Sets the validated sources from which conversions are built from now on.
    pub(super) fn note_conversions_passed(&mut self, sources: &Sources) {
        self.converted_from = sources.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;

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
        let mut all = KernelTexts::begin(first.clone());
        assert!(!all.appeared_late());
        assert_eq!(all.variant_sources(FLAT, &refused), first);
        all.note_passed(FLAT, &good);
        assert_eq!(all.variant_sources(FLAT, &refused), good);
        assert_eq!(all.sources_of_build(FLAT, &refused), good);
        assert_eq!(all.variant_sources(VariantId::Fused, &refused), first);
        assert_eq!(all.variant_sources(VariantId::Own, &refused), refused, "none from before");
        assert_eq!(all.conversion_sources(&refused), first);
        all.note_conversions_passed(&good);
        assert_eq!(all.conversion_sources(&refused), good);
    }

    #[test]
    fn before_there_was_a_folder_that_was_what_is_built_in_unless_one_was_named() {
        let refused = texts("late");
        let mut copied = KernelTexts::begin(Sources::default());
        assert!(!copied.appeared_late());
        assert_eq!(copied.variant_sources(FLAT, &refused), Sources::default());
        assert_eq!(copied.conversion_sources(&refused), Sources::default());
        let missing = Sources::from(Err(Error::new("There is no folder.", "", "")));
        let mut late = KernelTexts::begin(missing.clone());
        assert!(late.appeared_late());
        assert_eq!(late.variant_sources(FLAT, &missing), missing);
        assert_eq!(late.variant_sources(FLAT, &refused), refused);
        assert_eq!(late.conversion_sources(&refused), refused);
    }
}
