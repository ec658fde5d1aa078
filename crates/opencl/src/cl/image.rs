//! Images of a device: the driver's objects, released with their last clone, and the commands that move pixels between them
//! and the host.

use std::ptr::{self, NonNull};

use ocl::ffi::{self, CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR};

use super::buffer::{Buffer, Mem, MemFlags};
use super::queue::{Context, Event, Queue};
use super::status::{Answer, Status};

/// What a pixel of an image is made of: four channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// 8 bits, as numbers from 0 to 1.
    Unorm8,
    /// Whole numbers of 16 bits.
    Uint16,
}

impl Channel {
    fn format(self) -> ffi::cl_image_format {
        let kind = match self {
            Channel::Unorm8 => ffi::CL_UNORM_INT8,
            Channel::Uint16 => ffi::CL_UNSIGNED_INT16,
        };
        ffi::cl_image_format { image_channel_order: ffi::CL_RGBA, image_channel_data_type: kind }
    }

    fn pixel_bytes(self) -> usize {
        match self {
            Channel::Unorm8 => 4,
            Channel::Uint16 => 8,
        }
    }
}

/// A two-dimensional image of four channels in a device's memory. Clones share it.
#[derive(Debug, Clone)]
pub struct Image {
    mem: Mem,
    size: (usize, usize),
    channel: Channel,
}

impl Image {
    /// A new image of `size` pixels, width and height, in `host`'s memory where there is some; else what is in it is
    /// undefined.
    ///
    /// # Errors
    /// When there is no memory, or the driver refuses.
    ///
    /// # Safety
    /// `host` must hold the whole image without gaps; for the rest as of [`Buffer::in_place`].
    pub(crate) unsafe fn new(
        context: &Context,
        flags: MemFlags,
        channel: Channel,
        size: (usize, usize),
        host: Option<NonNull<u8>>,
    ) -> Answer<Self> {
        let (format, shape) = (channel.format(), shape(size));
        let flags = if host.is_some() { flags | CL_MEM_USE_HOST_PTR } else { flags };
        let host = host.map_or(ptr::null_mut(), NonNull::as_ptr).cast();
        let mut status = 0;
        // SAFETY: the context is alive, the description has no pitch and no parent, and the caller vouches for the memory.
        // The reference that comes back is given away.
        let mem = unsafe {
            let raw = ffi::clCreateImage(context.raw(), flags, &format, &shape, host, &mut status);
            Mem::new(raw, status)
        }?;
        Ok(Self { mem, size, channel })
    }

    /// OpenCL's side of a texture of OpenGL's, RGBA8 and of `size` pixels.
    ///
    /// # Errors
    /// When the driver does not share it.
    ///
    /// # Safety
    /// The context must share with the OpenGL context that the texture belongs to.
    pub unsafe fn of_gl(
        context: &Context,
        flags: MemFlags,
        texture: u32,
        size: (usize, usize),
    ) -> Answer<Self> {
        let mut status = 0;
        // SAFETY: the context is alive, and the caller vouches for the texture. The reference that comes back is given away.
        let mem = unsafe {
            let raw = ffi::clCreateFromGLTexture(context.raw(), flags, TEXTURE_2D, 0, texture, &mut status);
            Mem::new(raw, status)
        }?;
        Ok(Self { mem, size, channel: Channel::Unorm8 })
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// The memory object, to be set as a kernel's argument.
    pub fn mem(&self) -> &Mem {
        &self.mem
    }

    /// Whether so many bytes are the whole image.
    ///
    /// # Errors
    /// When they are not.
    fn expect_whole(&self, bytes: usize) -> Answer<()> {
        let whole = self.size.0 * self.size.1 * self.channel.pixel_bytes();
        if bytes == whole { Ok(()) } else { Err(Status(CL_INVALID_VALUE)) }
    }

    /// Copies the whole image from the host, and waits.
    ///
    /// # Errors
    /// When it has another length, or the driver refuses.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Answer<()> {
        self.expect_whole(bytes.len())?;
        // SAFETY: these are the bytes of the whole image, and the call waits.
        unsafe { self.enqueue_write(queue, bytes.as_ptr(), true) }.map(drop)
    }

    /// Copies the whole image to the host, and waits.
    ///
    /// # Errors
    /// When there is another length, or the driver refuses.
    pub(crate) fn read(&self, queue: &Queue, bytes: &mut [u8]) -> Answer<()> {
        self.expect_whole(bytes.len())?;
        // SAFETY: there is room for the whole image, and the call waits.
        unsafe { self.enqueue_read(queue, bytes.as_mut_ptr(), true) }.map(drop)
    }

    /// Puts a copy of the whole image from the host on the queue.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// Its bytes must be there, without gaps, and stay untouched until the event is complete.
    pub(crate) unsafe fn enqueue_write(&self, queue: &Queue, from: *const u8, waits: bool) -> Answer<Event> {
        let (queue, mem, waits) = (queue.raw(), self.mem.raw(), u32::from(waits));
        let (origin, region) = (ORIGIN.as_ptr(), [self.size.0, self.size.1, 1]);
        let (region, none) = (region.as_ptr(), ptr::null());
        Event::of(|event| {
            // SAFETY: queue and image are alive; the caller vouches for the bytes.
            unsafe {
                ffi::clEnqueueWriteImage(queue, mem, waits, origin, region, 0, 0, from.cast(), 0, none, event)
            }
        })
    }

    /// Puts a copy of the whole image to the host on the queue.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// There must be room, which stays untouched until the event is complete.
    pub(crate) unsafe fn enqueue_read(&self, queue: &Queue, into: *mut u8, waits: bool) -> Answer<Event> {
        let (queue, mem, waits) = (queue.raw(), self.mem.raw(), u32::from(waits));
        let (origin, region) = (ORIGIN.as_ptr(), [self.size.0, self.size.1, 1]);
        let (region, none) = (region.as_ptr(), ptr::null());
        Event::of(|event| {
            // SAFETY: queue and image are alive; the caller vouches for the room.
            unsafe {
                ffi::clEnqueueReadImage(queue, mem, waits, origin, region, 0, 0, into.cast(), 0, none, event)
            }
        })
    }

    /// Puts a copy of a buffer to the whole image on the queue.
    ///
    /// # Errors
    /// When the buffer is too short, or the driver refuses.
    pub fn enqueue_copy_from(&self, queue: &Queue, from: &Buffer) -> Answer<Event> {
        let (queue, from, mem) = (queue.raw(), from.mem().raw(), self.mem.raw());
        let (origin, region) = (ORIGIN.as_ptr(), [self.size.0, self.size.1, 1]);
        let (region, none) = (region.as_ptr(), ptr::null());
        Event::of(|event| {
            // SAFETY: queue and memory objects are alive; the driver refuses a region that is too large.
            unsafe { ffi::clEnqueueCopyBufferToImage(queue, from, mem, 0, origin, region, 0, none, event) }
        })
    }

    /// Puts a copy of the whole image to a buffer on the queue.
    ///
    /// # Errors
    /// When the buffer is too short, or the driver refuses.
    pub fn enqueue_copy_to(&self, queue: &Queue, to: &Buffer) -> Answer<Event> {
        let (queue, to, mem) = (queue.raw(), to.mem().raw(), self.mem.raw());
        let (origin, region) = (ORIGIN.as_ptr(), [self.size.0, self.size.1, 1]);
        let (region, none) = (region.as_ptr(), ptr::null());
        Event::of(|event| {
            // SAFETY: queue and memory objects are alive; the driver refuses a region that is too large.
            unsafe { ffi::clEnqueueCopyImageToBuffer(queue, mem, to, origin, region, 0, 0, none, event) }
        })
    }

    /// Puts the mapping of the whole image on the queue: where it will be, the bytes of a row there, and its event. Before
    /// that is complete, the host must leave the memory alone.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn enqueue_map(
        &self,
        queue: &Queue,
        flags: ffi::cl_map_flags,
    ) -> Answer<(NonNull<u8>, usize, Event)> {
        let (queue, mem) = (queue.raw(), self.mem.raw());
        let (origin, region) = (ORIGIN.as_ptr(), [self.size.0, self.size.1, 1]);
        let (region, none) = (region.as_ptr(), ptr::null());
        let (mut at, mut status, mut row, mut slice) = (ptr::null_mut(), 0, 0, 0);
        let event = Event::of(|event| {
            // SAFETY: queue and image are alive; the region is the whole image.
            at = unsafe {
                ffi::clEnqueueMapImage(
                    queue,
                    mem,
                    0,
                    flags,
                    origin,
                    region,
                    &mut row,
                    &mut slice,
                    0,
                    none,
                    event,
                    &mut status,
                )
            };
            status
        })?;
        let at = NonNull::new(at.cast()).ok_or(Status(ffi::CL_MAP_FAILURE))?;
        Ok((at, row, event))
    }
}

const ORIGIN: [usize; 3] = [0; 3];
/// OpenGL's `GL_TEXTURE_2D`.
const TEXTURE_2D: u32 = 0x0de1;

fn shape((width, height): (usize, usize)) -> ffi::cl_image_desc {
    ffi::cl_image_desc {
        image_type: ffi::CL_MEM_OBJECT_IMAGE2D,
        image_width: width,
        image_height: height,
        image_depth: 1,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: ptr::null_mut(),
    }
}
