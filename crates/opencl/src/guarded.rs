//! Arrays of floats in a device's memory, each between two guards, so that checks find writes outside the array.

use super::cl::{Buffer, ClContext, Mem, OrFail as _, Queue};
use super::host_block::HostBlock;
use super::memory::allocation_flags;
use base::error::Result;
use base::memory;

/// An array of floats on the device between two guards, which show whether a kernel writes beyond the array.
#[derive(Debug)]
pub struct GuardedArray {
    queue: Queue,
    /// The array with its guards.
    whole: Buffer,
    /// The array without its guards; the whole buffer where the array or the guards are empty.
    part: Buffer,
    /// The host memory that the buffer uses, if any; dropped after the buffer.
    _block: Option<HostBlock>,
}

/// The first sentence of the error when a copy to or from the device fails.
const NO_COPY: &str = "Numbers could not be copied to or from the device.";
/// The first sentence of the error when memory cannot be allocated.
const NO_ROOM: &str = "Memory for the numbers could not be allocated on the device.";

impl GuardedArray {
    /// Allocates `count` floats on the device, with `guard` floats on each side.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn new(cl: &ClContext, count: usize, guard: usize) -> Result<Self> {
        Self::allocate(cl, count, guard, None)
    }

    /// Allocates as [`GuardedArray::new`] does, but in host memory that the device uses in place (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn in_place(cl: &ClContext, count: usize, guard: usize) -> Result<Self> {
        Self::allocate(cl, count, guard, Some(HostBlock::new(byte_len(count, guard))?))
    }

    /// Creates the array between its guards, in the host memory `block` if there is one.
    fn allocate(cl: &ClContext, count: usize, guard: usize, block: Option<HostBlock>) -> Result<Self> {
        let bytes = byte_len(count, guard);
        let whole = match &block {
            None => Buffer::new(&cl.context, allocation_flags(cl), bytes),
            // SAFETY: the block has so many bytes, nobody else gets it, and it goes after the buffer; whoever puts commands on
            // a queue waits for them before this goes.
            Some(block) => unsafe { Buffer::in_place(&cl.context, block.start().as_ptr(), bytes) },
        };
        let whole = whole.or_fail(NO_ROOM)?;
        let part = match guard.min(count) {
            0 => whole.clone(),
            _ => whole.part(4 * guard, 4 * count).or_fail(NO_ROOM)?,
        };
        Ok(Self { queue: cl.queue.clone(), whole, part, _block: block })
    }

    /// Copies `bytes` to the device, beginning with the first guard, and waits until they are copied.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.whole.write(&self.queue, bytes).or_fail(NO_COPY)
    }

    /// Fills the array and its guards with NaN, and waits.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn fill_with_nan(&self) -> Result<()> {
        let nan = f32::NAN.to_le_bytes();
        let filled = self.whole.enqueue_fill(&self.queue, &nan, self.whole.len());
        filled.and_then(|event| event.wait_for()).or_fail(NO_COPY)
    }

    /// Reads all bytes of the array, guards included.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = memory::zeroed(self.whole.len())?;
        self.whole.read(&self.queue, &mut bytes).or_fail(NO_COPY)?;
        Ok(bytes)
    }

    /// Returns the array without its guards, for a kernel's argument.
    pub fn memory(&self) -> &Mem {
        self.part.mem()
    }

    /// Returns the array without its guards, for copies and mappings.
    pub fn buffer(&self) -> &Buffer {
        &self.part
    }
}

/// Returns the length in bytes of an array of `count` floats with `guard` floats on each side.
fn byte_len(count: usize, guard: usize) -> usize {
    4 * (count + 2 * guard).max(1)
}
