//! A picture and the numbers computed from it in the device's memory, each between two guards, which show writes outside them.

use super::code::Operands;
use base::error::Result;
use base::verify;
use opencl::cl::{ClContext, Queue};
use opencl::guarded::GuardedArray;

/// Device memory for a picture, the numbers computed from it, and intermediate results.
#[derive(Debug)]
pub(super) struct DeviceBuffers {
    pub(super) queue: Queue,
    picture: GuardedArray,
    numbers: GuardedArray,
    parts: GuardedArray,
    /// The intermediate results before a run, with their guards.
    poison: Vec<u8>,
    /// The number of bytes in each guard.
    guard: usize,
}

impl DeviceBuffers {
    /// Allocates the memory. `sizes` are those of the picture, the numbers and the intermediate results in bytes, `guard` is that
    /// of each guard.
    pub(super) fn new(cl: &ClContext, sizes: [usize; 3], guard: usize) -> Result<Self> {
        let new = |bytes: usize| GuardedArray::new(cl, bytes / 4, guard / 4);
        let [picture, numbers, parts] = sizes;
        Ok(Self {
            queue: cl.queue.clone(),
            picture: new(picture)?,
            numbers: new(numbers)?,
            parts: new(parts)?,
            poison: (0..parts + 2 * guard).map(|at| (at % 251) as u8 ^ 0xa5).collect(),
            guard,
        })
    }

    /// Returns the memory objects that kernels work on.
    pub(super) fn operands(&self) -> Operands<'_> {
        let [picture, parts, numbers] = [&self.picture, &self.parts, &self.numbers].map(GuardedArray::memory);
        Operands { picture, parts, numbers }
    }

    /// Writes the picture with its guards.
    pub(super) fn write_picture(&self, bytes: &[u8]) -> Result<()> {
        self.picture.write(bytes)
    }

    /// Writes the numbers with their guards, and overwrites intermediate results, so that no run finds the intermediate results of
    /// another.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.parts.write(&self.poison)?;
        self.numbers.write(bytes)
    }

    /// Reads the numbers with their guards.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        self.numbers.read()
    }

    /// Returns how many bytes differ from those of `picture` with its guards, and from the guards of the intermediate results.
    pub(super) fn count_changed(&self, picture: &[u8]) -> Result<usize> {
        let parts = self.parts.read()?;
        let end = parts.len() - self.guard;
        let changed =
            |part: std::ops::Range<usize>| verify::count_changed(&self.poison[part.clone()], &parts[part]);
        let picture = verify::count_changed(picture, &self.picture.read()?);
        Ok(picture + changed(0..self.guard) + changed(end..parts.len()))
    }
}
