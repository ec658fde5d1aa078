//! Plans: the kernels of a filter with their arguments set, kept in a slot for its next frames.
//!
//! Plans keep the OpenCL memory objects that their arguments name alive, but not the host memory in which those may lie. So they are
//! dropped with the slot's device side, before the host memory.

use super::filter::FrameFilter;
use box_filter::Extent;
use box_filter::color_kernels::KernelCache;

/// Identifies a plan (the kernels of a filter with their arguments set) within one slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlanKey {
    /// For each filter, the number that identifies its built variant, and the extent of its picture.
    pub filters: Vec<(u64, Extent)>,
    /// The handles of the memory objects that the plan reads and writes. No other objects have these handles while the plan keeps its own
    /// alive.
    pub memory: Vec<usize>,
}

/// The plans of one slot, the last used plan at the end. A plan is the kernels of a filter with their arguments set.
#[derive(Default)]
pub(super) struct Plans {
    filters: Vec<(PlanKey, Box<dyn FrameFilter>)>,
    /// The kernels of conversion and correction.
    pub colors: KernelCache,
}

impl Plans {
    /// The maximum number of plans: enough for two filters that alternate, each with its current and its former settings.
    const MAX_PLANS: usize = 4;

    /// Removes and returns the plan with this key; `None` if there is none. [`Plans::put`] puts it back.
    pub(super) fn take(&mut self, key: &PlanKey) -> Option<Box<dyn FrameFilter>> {
        let at = self.filters.iter().position(|(kept, _)| kept == key)?;
        Some(self.filters.remove(at).1)
    }

    /// Keeps a plan for later frames. If there are too many plans, the least recently used one is dropped.
    pub(super) fn put(&mut self, key: PlanKey, filter: Box<dyn FrameFilter>) {
        if self.filters.len() >= Self::MAX_PLANS {
            self.filters.remove(0);
        }
        self.filters.push((key, filter));
    }
}
