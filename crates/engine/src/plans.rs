//! What a slot's frames were filtered and converted with last, kept for its next ones: kernels and their arguments.
//! In: what a frame is to be filtered with. Out: the plan of an earlier one that is the same.
//!
//! Plans keep the memory objects that they name alive, but not the host's memory in which those may lie: they go with the
//! slot's device side, before that.

use super::filter::FrameFilter;
use box_filter::color_kernels::KeptKernels;
use opencl::memory::Picture;
use video::color::Layout;

/// What tells one plan from another, in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// Of what was built.
    number: u64,
    radius: u32,
    /// How the planes lie, for what filters planes.
    layout: Option<Layout>,
    /// Handles of the memory objects that it names. No other ones have them while the plan keeps these alive.
    memory: [usize; 2],
}

impl Key {
    pub(super) fn new(number: u64, radius: u32, layout: Option<Layout>, memory: [&Picture; 2]) -> Self {
        Self { number, radius, layout, memory: memory.map(|picture| picture.mem().raw().addr()) }
    }
}

/// The plans of one slot, the one that was used last at the end.
#[derive(Default)]
pub(super) struct Plans {
    filters: Vec<(Key, Box<dyn FrameFilter>)>,
    /// Of conversion and correction.
    pub(super) colors: KeptKernels,
}

impl Plans {
    /// Two filters in turns, each with the radius before.
    const MOST: usize = 4;

    /// The plan, if there is such a one; it is the caller's until it is [put](Plans::put) back.
    pub(super) fn take(&mut self, key: &Key) -> Option<Box<dyn FrameFilter>> {
        let at = self.filters.iter().position(|(kept, _)| kept == key)?;
        Some(self.filters.remove(at).1)
    }

    /// Keeps a plan that is not used any more.
    pub(super) fn put(&mut self, key: Key, filter: Box<dyn FrameFilter>) {
        if self.filters.len() >= Self::MOST {
            self.filters.remove(0);
        }
        self.filters.push((key, filter));
    }
}
