//! Arrays of floats in a device's memory, each between two guards, for checks. In: a length. Out: memory that a kernel gets
//! without its guards, and that is written and read with them.

use super::cl::{Answer, Buffer, ClContext, Mem, Queue, failed};
use super::host_block::HostBlock;
use super::memory::new_memory;
use base::error::Result;
use base::memory;

/// An array on the device, on its queue.
#[derive(Debug)]
pub struct Guarded {
    queue: Queue,
    /// All of it.
    whole: Buffer,
    /// What lies between the guards; of none at all something that nobody reads.
    part: Buffer,
    /// The memory in which it lies, where that is the host's; it must go last.
    _block: Option<HostBlock>,
}

const NO_COPY: &str = "Numbers could not be copied to or from the device.";
const NO_ROOM: &str = "Memory for the numbers could not be had on the device.";

/// Numbers as they lie in memory.
pub fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// So many zeros in the host's memory.
///
/// # Errors
/// When there is not enough of it.
pub fn zeroed<T: Default + Clone>(count: usize) -> Result<Vec<T>> {
    let mut numbers = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    numbers.try_reserve_exact(count).map_err(|_| memory::no_memory(bytes))?;
    numbers.resize(count, T::default());
    Ok(numbers)
}

impl Guarded {
    /// Room for `count` floats, and for `guard` on both sides.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(cl: &ClContext, count: usize, guard: usize) -> Result<Self> {
        let whole = Buffer::new(&cl.context, new_memory(cl), len(count, guard));
        Self::of(cl, whole, count, guard, None)
    }

    /// The same in the host's memory, where the device works in it (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn in_place(cl: &ClContext, count: usize, guard: usize) -> Result<Self> {
        let block = HostBlock::new(len(count, guard))?;
        // SAFETY: the block has so many bytes, nobody else gets it, and it goes after the buffer; whoever puts commands on a
        // queue waits for them before this goes.
        let whole = unsafe { Buffer::in_place(&cl.context, block.start().as_ptr(), len(count, guard)) };
        Self::of(cl, whole, count, guard, Some(block))
    }

    fn of(
        cl: &ClContext,
        whole: Answer<Buffer>,
        count: usize,
        guard: usize,
        block: Option<HostBlock>,
    ) -> Result<Self> {
        let whole = whole.map_err(|e| failed(NO_ROOM, &e))?;
        let part = match guard.min(count) {
            0 => whole.clone(),
            _ => whole.part(4 * guard, 4 * count).map_err(|e| failed(NO_ROOM, &e))?,
        };
        Ok(Self { queue: cl.queue.clone(), whole, part, _block: block })
    }

    /// Fills it from its beginning on, guards included.
    ///
    /// # Errors
    /// When the device fails.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.whole.write(&self.queue, bytes).map_err(|e| failed(NO_COPY, &e))
    }

    /// All of it, guards included.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = memory::zeroed(self.whole.len())?;
        self.whole.read(&self.queue, &mut bytes).map_err(|e| failed(NO_COPY, &e))?;
        Ok(bytes)
    }

    /// What kernels get: what lies between the guards.
    pub fn memory(&self) -> &Mem {
        self.part.mem()
    }

    /// The same, to be moved or mapped.
    pub fn buffer(&self) -> &Buffer {
        &self.part
    }
}

/// Bytes of so many floats with their guards.
fn len(count: usize, guard: usize) -> usize {
    4 * (count + 2 * guard).max(1)
}
