//! The variants that are built for one device.

use std::collections::HashMap;

use box_filter::{BuiltVariant, VariantId};
use stats::{AutoChoice, KernelsId};

/// The variants that the builder has built for one device.
#[derive(Default)]
pub struct BuiltVariants {
    /// The variants that are built with the version of their kernels in use.
    built: HashMap<VariantId, BuiltVariant>,
    /// A variant that was built from another version of its edited kernels, for a wipe that shows two versions.
    other_version: Option<BuiltVariant>,
}

impl BuiltVariants {
    /// Adds a built variant. A variant with a version number replaces the one with a version number that was added before.
    pub fn add(&mut self, variant: BuiltVariant) {
        match variant.version {
            None => drop(self.built.insert(variant.id(), variant)),
            Some(_) => self.other_version = Some(variant),
        }
    }

    /// Returns true if these kernels (a variant, and the number of a version or `None` for the version in use) are built, so
    /// that frames can be submitted with them.
    pub fn has(&self, kernels: KernelsId) -> bool {
        self.get(kernels).is_some()
    }

    /// Returns all kernels that are built.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = KernelsId> {
        let other = self.other_version.iter().map(|built| (built.id(), built.version));
        self.built.keys().map(|id| (*id, None)).chain(other)
    }

    /// Returns the built kernels of a variant; `None` if they are not built. A `version` of `None` stands for
    /// the version in use.
    pub(super) fn get(&self, (variant, version): KernelsId) -> Option<&BuiltVariant> {
        match version {
            None => self.built.get(&variant),
            Some(_) => self.other_version.as_ref().filter(|b| (b.id(), b.version) == (variant, version)),
        }
    }

    /// Returns the variant and parameters that the automatic choice (`auto`) runs at this picture size and radius; `None` if
    /// `auto` is not built.
    pub(super) fn auto(&self, size: (u32, u32), radius: u32) -> Option<AutoChoice> {
        let (variant, config) = self.built.get(&VariantId::auto())?.config(size, radius)?;
        Some(AutoChoice { variant, config: config.to_string() })
    }
}
