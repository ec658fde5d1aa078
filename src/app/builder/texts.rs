//! The kernel sources from which each variant and the conversions are built: those at the start, then versions that were validated.
//!
//! If a version of the edited kernels is refused, other devices and parameters still use the sources from before that version.
//! Variants that the version does not change are still built; without a watched folder, from the built-in sources.

use std::collections::HashMap;

use box_filter::VariantId;
use opencl::sources::Sources;
use overlay::Subject;

/// The kernel sources from which programs are built. They are kept when a new builder thread replaces one that is stuck in a
/// driver call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct KernelTexts {
    /// The kernel sources when clreel started. Variants and conversions are built from them until a later version of their
    /// kernels has passed validation.
    first: Sources,
    /// The sources from which each variant and the conversions were built last.
    built_from: HashMap<Subject, Sources>,
}

impl KernelTexts {
    /// Creates the state; `first` are the kernel sources when clreel started.
    pub(super) fn begin(first: Sources) -> Self {
        Self { first, ..Self::default() }
    }

    /// Returns true if the folder of kernels that the user named did not exist when clreel started, so that nothing could be
    /// built then.
    pub(super) fn appeared_late(&self) -> bool {
        self.first.is_unreadable()
    }

    /// Returns the sources from which to build a variant or the conversions: those that passed validation last or, if none did,
    /// the sources when clreel started. `newest`, the sources that were saved last, replace the latter for the user's own
    /// kernel, and if the folder of kernels appeared after the start.
    pub(super) fn sources(&mut self, subject: Subject, newest: &Sources) -> Sources {
        // The user's own kernel has no earlier sources; if the named folder appeared later, no kernel has.
        let has_none = subject == Subject::Variant(VariantId::own()) || self.appeared_late();
        let first = if has_none { newest } else { &self.first };
        let built_from = self.built_from.entry(subject).or_insert_with(|| first.clone());
        if built_from.is_unreadable() {
            built_from.clone_from(first);
        }
        built_from.clone()
    }

    /// Sets the sources, which have passed validation, from which a variant or the conversions are built from now on.
    pub(super) fn note_passed(&mut self, subject: Subject, sources: &Sources) {
        self.built_from.insert(subject, sources.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;
    use box_filter::named;

    fn texts(text: &str) -> Sources {
        let root = std::env::temp_dir().join(format!("clreel-texts-{}-{text}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("box_filter")).unwrap();
        std::fs::write(root.join("box_filter/03_flat.cl"), text).unwrap();
        let sources = Sources::read(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        sources
    }

    fn flat_subject() -> Subject {
        Subject::Variant(named("flat"))
    }

    #[test]
    fn a_version_that_must_not_run_keeps_nothing_from_being_built() {
        let [first, good, refused] = ["first", "good", "refused"].map(texts);
        let mut all = KernelTexts::begin(first.clone());
        assert!(!all.appeared_late());
        assert_eq!(all.sources(flat_subject(), &refused), first);
        all.note_passed(flat_subject(), &good);
        assert_eq!(all.sources(flat_subject(), &refused), good);
        assert_eq!(all.sources(Subject::Variant(named("fused")), &refused), first);
        assert_eq!(all.sources(Subject::Variant(VariantId::own()), &refused), refused, "none from before");
        assert_eq!(all.sources(Subject::Conversion, &refused), first);
        all.note_passed(Subject::Conversion, &good);
        assert_eq!(all.sources(Subject::Conversion, &refused), good);
    }

    #[test]
    fn before_there_was_a_folder_that_was_what_is_built_in_unless_one_was_named() {
        let refused = texts("late");
        let mut copied = KernelTexts::begin(Sources::default());
        assert!(!copied.appeared_late());
        assert_eq!(copied.sources(flat_subject(), &refused), Sources::default());
        assert_eq!(copied.sources(Subject::Conversion, &refused), Sources::default());
        let missing = Sources::from(Err(Error::new("There is no folder.", "", "")));
        let mut late = KernelTexts::begin(missing.clone());
        assert!(late.appeared_late());
        assert_eq!(late.sources(flat_subject(), &missing), missing);
        assert_eq!(late.sources(flat_subject(), &refused), refused);
        assert_eq!(late.sources(Subject::Conversion, &refused), refused);
    }
}
