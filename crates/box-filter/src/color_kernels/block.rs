//! A frame's planes on their way to the device.

use std::ptr::NonNull;
use std::sync::Arc;

use ffmpeg_next::frame::Video;
use ocl::ffi;

use super::launch::NOT_STARTED;
use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Queue};
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage};
use opencl::transfer::{enqueue_map, enqueue_unmap, enqueue_write};
use video::color::Layout;
use video::color::planes::pack;
use video::color::{Packed, PlaneMemory, Staging};

/// A frame's planes in one block of host memory, and the device's memory for them. Where the device
/// computes in the host's memory both are the same.
///
/// Like a slot's blocks, the host's block must outlive the commands that use it: drop it when they have finished.
pub struct PlaneBlock {
    layout: Layout,
    /// A flat buffer. Declared before `host`, so that it drops first: it may lie there.
    device: Option<Picture>,
    host: Host,
    in_place: bool,
    mapped: bool,
    handed_over: bool,
}

/// The host's side of a block.
enum Host {
    /// Filled by [`PlaneBlock::fill`].
    Own(HostBlock),
    /// Filled elsewhere; the same planes may be uploaded again later.
    Packed(Arc<Packed>),
}

impl Host {
    fn start(&self) -> NonNull<u8> {
        match self {
            Host::Own(block) => block.start(),
            Host::Packed(packed) => NonNull::from(packed.bytes()).cast(),
        }
    }
}

/// Memory for planes that the driver has pinned.
struct PinnedPlanes(HostBlock);

impl PlaneMemory for PinnedPlanes {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

/// The planes of `picture`, which lie as `layout` says, in `staging`'s memory, on this thread; more of that memory is made
/// where it is short, and mapped in `queue`: the call waits for what is in that.
///
/// # Errors
/// When memory runs out, or the planes are not in memory.
pub fn pack_pinned(
    cl: &ClContext,
    queue: &Queue,
    staging: &Staging,
    picture: &Video,
    layout: &Layout,
) -> Result<Packed> {
    let make = || HostBlock::pinned_by(cl, queue, layout.bytes());
    staging.pack(picture, layout, || Ok(Box::new(PinnedPlanes(make()?))))
}

impl PlaneBlock {
    /// Host memory for pictures of `layout`; the device's memory is made at the first upload.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(cl: &ClContext, layout: &Layout) -> Result<Self> {
        let in_place = cl.uses_host_memory();
        let bytes = layout.bytes();
        let host = if in_place { HostBlock::new(bytes)? } else { HostBlock::pinned(cl, bytes)? };
        Ok(Self {
            layout: *layout,
            device: None,
            host: Host::Own(host),
            in_place,
            mapped: false,
            handed_over: false,
        })
    }

    /// A block for planes that are packed already, for devices with memory of their own.
    pub fn of_packed(packed: Arc<Packed>) -> Self {
        Self {
            layout: *packed.layout(),
            device: None,
            host: Host::Packed(packed),
            in_place: false,
            mapped: false,
            handed_over: false,
        }
    }

    /// Takes other planes that are packed already, in place of what the host has; the device's memory stays.
    ///
    /// # Errors
    /// When the device still has the block, or the planes lie otherwise.
    pub fn take_packed(&mut self, packed: Arc<Packed>) -> Result<()> {
        if self.handed_over || *packed.layout() != self.layout || self.in_place {
            return Err(in_use());
        }
        self.host = Host::Packed(packed);
        Ok(())
    }

    /// What the block holds.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The device's memory for the block, made when it is first asked for; it has the planes after [`PlaneBlock::to_device`].
    ///
    /// # Errors
    /// When device memory runs out.
    pub fn device(&mut self, cl: &ClContext) -> Result<&Picture> {
        let (width, height) = self.row();
        let device = match self.device.take() {
            Some(device) => device,
            None if !self.in_place => Picture::alloc(cl, Storage::Buffer, width, height)?,
            // SAFETY: the block holds these bytes, is aligned to a page, and drops after `device`.
            None => unsafe {
                Picture::from_host(cl, Storage::Buffer, width, height, self.host.start().as_ptr())?
            },
        };
        Ok(self.device.insert(device))
    }

    /// The block as the device has it.
    ///
    /// # Errors
    /// Before [`PlaneBlock::to_device`].
    pub fn on_device(&self) -> Result<&Picture> {
        let missing = || Error::new(NOT_STARTED, "Its planes are not on the device.", "");
        self.device.as_ref().ok_or_else(missing)
    }

    /// Bytes that [`PlaneBlock::to_device`] hands over.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Copies a frame's planes into the block.
    ///
    /// # Errors
    /// When the device still has the block, the frame has another layout, or the block is for packed planes.
    pub fn fill(&mut self, frame: &Video) -> Result<()> {
        match &mut self.host {
            Host::Own(block) if !self.handed_over => pack(frame, &self.layout, block.bytes_mut()),
            _ => Err(in_use()),
        }
    }

    /// The same memory as a picture of one row, four bytes a pixel, for the commands that move it.
    fn row(&self) -> (u32, u32) {
        ((self.bytes() / 4) as u32, 1)
    }

    /// Hands the block to the device: enqueues the upload on `queue`, or on a CPU device the unmapping. The event, if
    /// there is anything to do, is the upload's. Never waits.
    ///
    /// # Errors
    /// When device memory runs out or the command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext, queue: &Queue) -> Result<Option<Event>> {
        let start = self.host.start();
        self.handed_over = true;
        let in_place = self.in_place;
        let device = self.device(cl)?;
        if !in_place {
            // SAFETY: the block holds these bytes, and nobody writes them until `back_on_host`: `fill` refuses, and packed
            // planes are only read while they are owned here.
            return unsafe { enqueue_write(queue, device, start) }.map(Some);
        }
        if !std::mem::take(&mut self.mapped) {
            return Ok(None);
        }
        let device = self.device(cl)?;
        enqueue_unmap(queue, device, start).map(Some)
    }

    /// Asks for the block back after the commands enqueued so far: on a CPU device enqueues the mapping, elsewhere
    /// there is nothing to do. When all of them are complete, call [`PlaneBlock::back_on_host`]. Never waits.
    ///
    /// # Errors
    /// When the command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext) -> Result<Option<Event>> {
        let (width, _) = self.row();
        let Some(device) = self.device.as_ref().filter(|_| self.in_place && !self.mapped) else {
            return Ok(None);
        };
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let event = enqueue_map(cl, device, width, flags, self.host.start())?;
        self.mapped = true;
        Ok(Some(event))
    }

    /// Notes that the upload's event, and that of [`PlaneBlock::to_host`] if there was one, are complete.
    pub fn back_on_host(&mut self) {
        self.handed_over = false;
    }
}

fn in_use() -> Error {
    Error::new(
        "A picture could not be copied.",
        "The memory for it is the device's, or another picture's.",
        "",
    )
}
