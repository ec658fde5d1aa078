//! Page-aligned host memory that OpenCL may use in place.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::error::Result;
use crate::media::memory::no_memory;

/// Page-aligned, zeroed host memory that OpenCL may use in place.
pub struct HostBlock {
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
    leaked: bool,
}

impl HostBlock {
    /// `len` bytes, starting at a page and padded to whole pages, as drivers want it for zero-copy use.
    pub fn new(len: usize) -> Result<Self> {
        let padded = len.max(1).checked_next_multiple_of(4096).ok_or_else(|| no_memory(len))?;
        let layout = Layout::from_size_align(padded, 4096).map_err(|_| no_memory(len))?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| no_memory(len))?;
        Ok(Self { start, layout, len, leaked: false })
    }

    /// Never frees it: something else may write to it for ever.
    pub fn leak(&mut self) {
        self.leaked = true;
    }

    /// Where it starts, for OpenCL.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` points to at least `len` initialised bytes that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
