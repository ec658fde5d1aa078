//! The kernel sources from which the window compiles.

use std::sync::Arc;

use opencl::sources::Sources;
use parking_lot::Mutex;

/// The kernel sources from which new contexts compile: the version of the edited kernels that was saved or chosen last. Before
/// the first version, these are the files in the folder that the environment names, or else the built-in files. Clones share
/// the sources. The window's thread must not wait for a disk, so the first of the other threads that needs the sources reads
/// the folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentSources(Arc<Mutex<Option<Sources>>>);

impl CurrentSources {
    /// Returns the sources. The first call reads the folder; as long as the folder cannot be read, each call attempts it again.
    pub(crate) fn get(&self) -> Sources {
        let mut current = self.0.lock();
        if let Some(sources) = &*current {
            return sources.clone();
        }
        let sources = Sources::from_environment();
        if !sources.is_unreadable() {
            *current = Some(sources.clone());
        }
        sources
    }

    /// Returns the sources if they were already read or set; `None` otherwise, or while another thread reads them. Never waits.
    pub(crate) fn loaded(&self) -> Option<Sources> {
        self.0.try_lock()?.clone()
    }

    /// Sets the sources from which contexts compile that are created from now on.
    pub(crate) fn set(&self, sources: Sources) {
        *self.0.lock() = Some(sources);
    }
}
