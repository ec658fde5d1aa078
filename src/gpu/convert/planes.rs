//! A frame's planes on their way to the device.

use ffmpeg_next::frame::Video;
use ocl::ffi;

use super::launch::NOT_STARTED;
use crate::convert::Layout;
use crate::error::{Error, Result};
use crate::gpu::cl::ClContext;
use crate::gpu::host_block::HostBlock;
use crate::gpu::transfer::{enqueue_map, enqueue_unmap, enqueue_write};
use crate::ladder::Storage;
use crate::ladder::box_filter::Picture;
use crate::media::planes::pack;

/// A frame's planes in one block of host memory, and the device's memory for them. On CPU devices both are the same.
///
/// Like a slot's blocks, the host's block must outlive the commands that use it: drop it when they have finished.
pub struct PlaneBlock {
    layout: Layout,
    /// A flat buffer. Declared before `host`, so that it drops first: it may lie there.
    device: Option<Picture>,
    host: HostBlock,
    in_place: bool,
    mapped: bool,
    handed_over: bool,
}

impl PlaneBlock {
    /// Host memory for pictures of `layout`; the device's memory is made at the first upload.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(cl: &ClContext, layout: &Layout) -> Result<Self> {
        let in_place = cl.is_cpu();
        let bytes = layout.bytes();
        let host = if in_place { HostBlock::new(bytes)? } else { HostBlock::pinned(cl, bytes)? };
        Ok(Self { layout: *layout, device: None, host, in_place, mapped: false, handed_over: false })
    }

    /// What the block holds.
    pub fn layout(&self) -> &Layout {
        &self.layout
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
    pub fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Copies a frame's planes into the block.
    ///
    /// # Errors
    /// When the device still has the block, or the frame has another layout.
    pub fn fill(&mut self, frame: &Video) -> Result<()> {
        if self.handed_over {
            return Err(Error::new("A picture could not be copied.", "The device has its memory.", ""));
        }
        pack(frame, &self.layout, self.host.bytes_mut())
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
    pub fn to_device(&mut self, cl: &ClContext, queue: &ocl::Queue) -> Result<Option<ocl::Event>> {
        let (width, height) = self.row();
        let device = match self.device.take() {
            Some(device) => device,
            None if !self.in_place => Picture::alloc(cl, Storage::Buffer, width, height)?,
            // SAFETY: the block holds these bytes, is aligned to a page, and drops after `device`.
            None => unsafe {
                Picture::from_host(cl, Storage::Buffer, width, height, self.host.start().as_ptr())?
            },
        };
        let device = self.device.insert(device);
        self.handed_over = true;
        if !self.in_place {
            // SAFETY: the block holds these bytes, and `fill` refuses until `back_on_host`.
            return unsafe { enqueue_write(queue, device, width, height, self.host.start()) }.map(Some);
        }
        if !std::mem::take(&mut self.mapped) {
            return Ok(None);
        }
        enqueue_unmap(queue, device, self.host.start()).map(Some)
    }

    /// Asks for the block back after the commands enqueued so far: on a CPU device enqueues the mapping, elsewhere
    /// there is nothing to do. When all of them are complete, call [`PlaneBlock::back_on_host`]. Never waits.
    ///
    /// # Errors
    /// When the command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext) -> Result<Option<ocl::Event>> {
        let (width, height) = self.row();
        let Some(device) = self.device.as_ref().filter(|_| self.in_place && !self.mapped) else {
            return Ok(None);
        };
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let event = enqueue_map(cl, device, width, height, flags, self.host.start())?;
        self.mapped = true;
        Ok(Some(event))
    }

    /// Notes that the upload's event, and that of [`PlaneBlock::to_host`] if there was one, are complete.
    pub fn back_on_host(&mut self) {
        self.handed_over = false;
    }
}
