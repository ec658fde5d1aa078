//! Upload of a frame's planes to the device.

use std::ptr::NonNull;
use std::sync::Arc;

use ffmpeg_next::frame::Video;
use ocl::ffi;

use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Queue};
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage};
use opencl::transfer::{enqueue_failed, enqueue_map, enqueue_unmap};
use video::color::planes::pack;
use video::color::{Layout, PackedPicture, PlaneMemory};

/// A frame's planes, packed into one block of host memory, and the device memory into which they are uploaded. On devices
/// that compute in host memory, both are the same memory.
///
/// The block must outlive the commands that use it: drop it when they have finished.
pub struct PlaneBlock {
    layout: Layout,
    /// The device memory, a flat buffer that may use the memory of `host`; declared before `host`, so that it drops first.
    /// `None` until it is allocated.
    device: Option<Picture>,
    host: HostMemory,
    /// True if the device computes in host memory, so that the block is mapped instead of uploaded.
    in_place: bool,
    /// True while the block is mapped to the host, which happens only if `in_place`.
    mapped: bool,
    /// True from [`PlaneBlock::to_device`] to [`PlaneBlock::note_back_on_host`]: commands may be reading the host's memory.
    in_use: bool,
}

enum HostMemory {
    /// Memory that [`PlaneBlock::fill`] writes to.
    Own(HostBlock),
    /// Planes that were packed elsewhere; they may be uploaded again later.
    Packed(Arc<PackedPicture>),
}

impl HostMemory {
    fn start(&self) -> NonNull<u8> {
        match self {
            HostMemory::Own(block) => block.start(),
            HostMemory::Packed(packed) => NonNull::from(packed.bytes()).cast(),
        }
    }
}

/// Host memory for planes, pinned by the driver.
pub struct PinnedPlanes(HostBlock);

impl PinnedPlanes {
    /// Allocates this many bytes of host memory; call it on the device's thread. A command in `queue` maps the memory, and the
    /// call waits for the earlier commands in that queue.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn allocate(cl: &ClContext, queue: &Queue, bytes: usize) -> Result<Box<dyn PlaneMemory>> {
        Ok(Box::new(Self(HostBlock::pinned_by(cl, queue, bytes)?)))
    }
}

impl PlaneMemory for PinnedPlanes {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

impl PlaneBlock {
    /// Allocates host memory for pictures of `layout`. The device's memory is allocated at the first upload.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn new(cl: &ClContext, layout: &Layout) -> Result<Self> {
        let in_place = cl.uses_host_memory();
        let bytes = layout.bytes();
        let host = if in_place { HostBlock::new(bytes)? } else { HostBlock::pinned(cl, bytes)? };
        Ok(Self::with_host(*layout, HostMemory::Own(host), in_place))
    }

    /// Creates a block of planes that the decoder's thread has packed, for devices with memory of their own.
    pub fn from_packed(packed: Arc<PackedPicture>) -> Self {
        Self::with_host(*packed.layout(), HostMemory::Packed(packed), false)
    }

    fn with_host(layout: Layout, host: HostMemory, in_place: bool) -> Self {
        Self { layout, device: None, host, in_place, mapped: false, in_use: false }
    }

    /// Replaces the host memory with other packed planes. The device memory stays the same.
    ///
    /// # Errors
    /// Returns an error if commands may still use the block, or the planes have another layout.
    pub fn set_packed(&mut self, packed: Arc<PackedPicture>) -> Result<()> {
        if self.in_use || *packed.layout() != self.layout || self.in_place {
            return Err(not_writable_error());
        }
        self.host = HostMemory::Packed(packed);
        Ok(())
    }

    /// Returns the layout of the block.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the device's memory for the block, allocated at the first call. It contains the planes after
    /// [`PlaneBlock::to_device`].
    ///
    /// # Errors
    /// Returns an error if device memory runs out.
    pub fn on_device(&mut self, cl: &ClContext) -> Result<&Picture> {
        // A picture of one row with four bytes per pixel, for transfers.
        let (width, height) = ((self.layout.bytes() / 4) as u32, 1);
        let device = match self.device.take() {
            Some(device) => device,
            None if !self.in_place => Picture::alloc(cl, Storage::Buffer, width, height)?,
            // SAFETY: the block holds these bytes, is aligned to a page, and drops after `device`.
            None => unsafe { Picture::from_host(cl, Storage::Buffer, (width, height), self.host.start())? },
        };
        Ok(self.device.insert(device))
    }

    /// Copies a frame's planes into the block.
    ///
    /// # Errors
    /// Returns an error if commands may still use the block, the frame has another layout, or the block is for packed planes.
    pub fn fill(&mut self, frame: &Video) -> Result<()> {
        match &mut self.host {
            HostMemory::Own(block) if !self.in_use => pack(frame, &self.layout, block.bytes_mut()),
            _ => Err(not_writable_error()),
        }
    }

    /// Enqueues the upload of the block's planes on `queue`; on a CPU device, enqueues the unmapping of the block instead.
    /// Returns the event of the command; `None` if nothing had to be enqueued. Never waits.
    ///
    /// # Errors
    /// Returns an error if device memory runs out or the command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext, queue: &Queue) -> Result<Option<Event>> {
        let (start, in_place, is_mapped) =
            (self.host.start(), self.in_place, std::mem::take(&mut self.mapped));
        self.in_use = true;
        let device = self.on_device(cl)?;
        if !in_place {
            // SAFETY: the block holds these bytes, and nothing writes them until `note_back_on_host`: `fill` refuses, and
            // packed planes are only read while they are owned here.
            let written = unsafe { device.enqueue_write(queue, start.as_ptr()) };
            return written.map(Some).map_err(enqueue_failed);
        }
        is_mapped.then(|| enqueue_unmap(queue, device, start)).transpose()
    }

    /// Enqueues the mapping of the block to the host on a CPU device, after all commands enqueued so far, and returns its
    /// event; returns `None` on other devices, or if no mapping is needed. When all these commands are complete, call
    /// [`PlaneBlock::note_back_on_host`]. Never waits.
    ///
    /// # Errors
    /// Returns an error if the command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext) -> Result<Option<Event>> {
        let Some(device) = self.device.as_ref().filter(|_| self.in_place && !self.mapped) else {
            return Ok(None);
        };
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let event = enqueue_map(cl, device, flags, self.host.start())?;
        self.mapped = true;
        Ok(Some(event))
    }

    /// Allows the host to write the block again. Call it when the events of the upload and of [`PlaneBlock::to_host`] are
    /// complete.
    pub fn note_back_on_host(&mut self) {
        self.in_use = false;
    }
}

/// Returns the error for a [`PlaneBlock`] that cannot take new planes: enqueued commands may still use the block, or its
/// memory is not meant for planes of this layout or origin.
fn not_writable_error() -> Error {
    Error::new(
        "A picture could not be copied.",
        "The memory for it is the device's, or another picture's.",
        "",
    )
}
