//! Host memory for transfers to and from a device: whole pages, which OpenCL may use in place, or memory pinned by the driver,
//! which a device with memory of its own reads without an intermediate copy.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use ocl::ffi;

use crate::cl::{Buffer, ClContext, Queue, enqueue_unmap};
use base::error::Result;
use base::memory::no_memory;

/// Zeroed host memory that starts at a page boundary.
#[derive(Debug)]
pub struct HostBlock {
    start: NonNull<u8>,
    len: usize,
    memory: Memory,
}

// SAFETY: the memory belongs to the block, not to a thread; buffer and queue are OpenCL objects, which any thread may
// use and release.
unsafe impl Send for HostBlock {}
// SAFETY: as above; a shared block only lends its bytes to be read.
unsafe impl Sync for HostBlock {}

/// The source of the memory, which decides how the memory is released.
#[derive(Debug)]
enum Memory {
    Allocator(Layout),
    /// A device buffer that stays mapped for the host; it is never a kernel's argument.
    Driver(Buffer, Queue),
}

impl HostBlock {
    /// Allocates `len` bytes from a page boundary, padded to whole pages, as drivers require for zero-copy use.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn new(len: usize) -> Result<Self> {
        let padded = len.max(1).checked_next_multiple_of(4096).ok_or_else(|| no_memory(len))?;
        let layout = Layout::from_size_align(padded, 4096).map_err(|_| no_memory(len))?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| no_memory(len))?;
        Ok(Self { start, len, memory: Memory::Allocator(layout) })
    }

    /// Allocates `len` bytes of the driver's host memory (`CL_MEM_ALLOC_HOST_PTR`, mapped once), which drivers of GPUs pin.
    /// Falls back to memory that is not pinned if the driver provides none.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn pinned(cl: &ClContext, len: usize) -> Result<Self> {
        Self::pinned_by(cl, &cl.queue, len)
    }

    /// Allocates as [`HostBlock::pinned`] does, and maps the memory on `queue`: the call waits for the commands in that queue.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn pinned_by(cl: &ClContext, queue: &Queue, len: usize) -> Result<Self> {
        let flags = ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_ALLOC_HOST_PTR;
        let Ok(buffer) = Buffer::new(&cl.context, flags, len.max(1)) else { return Self::new(len) };
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let mapped = buffer.enqueue_map(queue, flags, len.max(1));
        let Ok(start) = mapped.and_then(|(start, event)| event.wait_for().map(|()| start)) else {
            return Self::new(len);
        };
        // SAFETY: the driver mapped so many bytes for writing.
        unsafe { start.as_ptr().write_bytes(0, len.max(1)) };
        Ok(Self { start, len, memory: Memory::Driver(buffer, queue.clone()) })
    }

    /// Returns the address of the block.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the bytes of the block.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` points to at least `len` initialised bytes that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Returns the bytes of the block for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        match &self.memory {
            // SAFETY: allocated with this layout in `new`.
            Memory::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), *layout) },
            Memory::Driver(buffer, queue) => {
                // If the driver refuses, it has lost the memory already.
                let _refused = enqueue_unmap(queue, buffer.mem(), self.start);
            }
        }
    }
}
