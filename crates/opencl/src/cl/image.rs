//! Images of a device, released with their last clone, and copies between them and the host.

use std::ptr::{self, NonNull};

use ocl::ffi::{self, CL_INVALID_VALUE, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR};

use super::buffer::{Buffer, Mem, MemFlags};
use super::queue::{Context, Event, Queue};
use super::status::{Answer, Status};

/// The data type of the four channels of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Integers of 8 bits, which kernels read as numbers from 0 to 1.
    Unorm8,
    /// Unsigned integers of 16 bits.
    Uint16,
    /// Floats of 32 bits.
    Float,
}

impl Channel {
    /// Returns the bytes of a pixel of four such channels.
    pub fn pixel_bytes(self) -> usize {
        match self {
            Channel::Unorm8 => 4,
            Channel::Uint16 => 8,
            Channel::Float => 16,
        }
    }
}

/// A two-dimensional image in a device's memory. Clones share it.
#[derive(Debug, Clone)]
pub struct Image {
    mem: Mem,
    /// The region of the whole image in OpenCL calls: width and height in pixels, and the depth 1.
    region: [usize; 3],
    pixel_bytes: usize,
}

impl Image {
    /// Allocates an image of `size` pixels (width and height); its contents are undefined. `flags` must not name host memory.
    ///
    /// # Errors
    /// Returns an error if there is no memory, or the driver reports an error.
    pub(crate) fn new(
        context: &Context,
        flags: MemFlags,
        channel: Channel,
        size: (usize, usize),
    ) -> Answer<Self> {
        // SAFETY: no host memory is involved.
        unsafe { Self::create(context, flags & !CL_MEM_USE_HOST_PTR, channel, size, ptr::null_mut()) }
    }

    /// Creates an image of `size` pixels (width and height) that uses host memory in place (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Errors
    /// Returns an error as [`Image::new`] does.
    ///
    /// # Safety
    /// `host` must hold the whole image without gaps between rows, under the conditions of [`Buffer::in_place`].
    pub(crate) unsafe fn in_place(
        context: &Context,
        channel: Channel,
        size: (usize, usize),
        host: *mut u8,
    ) -> Answer<Self> {
        // SAFETY: the caller vouches for the memory.
        unsafe { Self::create(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, channel, size, host) }
    }

    /// Creates an image of `size` pixels (width and height).
    ///
    /// # Errors
    /// Returns an error if there is no memory, or the driver reports an error.
    ///
    /// # Safety
    /// `host` must fit `flags`: it must be null, or hold the whole image.
    unsafe fn create(
        context: &Context,
        flags: MemFlags,
        channel: Channel,
        (width, height): (usize, usize),
        host: *mut u8,
    ) -> Answer<Self> {
        let shape = ffi::cl_image_desc {
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
        };
        let kind = match channel {
            Channel::Unorm8 => ffi::CL_UNORM_INT8,
            Channel::Uint16 => ffi::CL_UNSIGNED_INT16,
            Channel::Float => ffi::CL_FLOAT,
        };
        let pixel_bytes = channel.pixel_bytes();
        let format =
            ffi::cl_image_format { image_channel_order: ffi::CL_RGBA, image_channel_data_type: kind };
        let context = context.raw();
        // SAFETY: the context is alive, the description has no pitch and no parent, and the caller vouches for the memory.
        let mem = unsafe {
            Mem::create(|status| ffi::clCreateImage(context, flags, &format, &shape, host.cast(), status))
        }?;
        Ok(Self { mem, region: [width, height, 1], pixel_bytes })
    }

    /// Creates an image that shares the OpenGL texture `texture`, which has `size` pixels (width and height) of `pixel_bytes`
    /// bytes.
    ///
    /// # Errors
    /// Returns an error if the driver does not share the texture.
    ///
    /// # Safety
    /// The context must share objects with the OpenGL context that the texture belongs to.
    pub unsafe fn from_gl(
        context: &Context,
        texture: u32,
        size: (usize, usize),
        pixel_bytes: usize,
    ) -> Answer<Self> {
        let (context, flags) = (context.raw(), CL_MEM_READ_WRITE);
        // SAFETY: the context is alive, and the caller vouches for the texture.
        let mem = unsafe {
            Mem::create(|status| ffi::clCreateFromGLTexture(context, flags, TEXTURE_2D, 0, texture, status))
        }?;
        Ok(Self { mem, region: [size.0, size.1, 1], pixel_bytes })
    }

    /// Returns the width and height of the image in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.region[0], self.region[1])
    }

    /// Returns the number of bytes of the whole image.
    pub fn bytes(&self) -> usize {
        self.region[0] * self.region[1] * self.pixel_bytes
    }

    /// Returns the channel order and the channel type of the image (`CL_IMAGE_FORMAT`).
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn format(&self) -> Answer<(u32, u32)> {
        let mut format = [0_u32; 2];
        let (size, value) = (size_of_val(&format), format.as_mut_ptr().cast());
        // SAFETY: the image is alive, and a format is two numbers of 32 bits (cl.h).
        Status::check(unsafe {
            ffi::clGetImageInfo(self.mem.raw(), ffi::CL_IMAGE_FORMAT, size, value, ptr::null_mut())
        })?;
        Ok((format[0], format[1]))
    }

    /// Returns the memory object, for a kernel's argument.
    pub fn mem(&self) -> &Mem {
        &self.mem
    }

    /// Returns an error unless the whole image is `bytes` bytes long.
    ///
    /// # Errors
    /// Returns an error if the image has another length.
    fn expect_whole(&self, bytes: usize) -> Answer<()> {
        if bytes == self.bytes() { Ok(()) } else { Err(Status(CL_INVALID_VALUE)) }
    }

    /// Copies the whole image from the host to the device, and waits until it is copied.
    ///
    /// # Errors
    /// Returns an error if `bytes` and the image differ in length, or the driver reports an error.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Answer<()> {
        self.expect_whole(bytes.len())?;
        // SAFETY: these are the bytes of the whole image, and the call waits.
        unsafe { self.enqueue_write(queue, bytes.as_ptr(), true) }.map(drop)
    }

    /// Copies the whole image from the device to the host, and waits until it is copied.
    ///
    /// # Errors
    /// Returns an error if `bytes` and the image differ in length, or the driver reports an error.
    pub(crate) fn read(&self, queue: &Queue, bytes: &mut [u8]) -> Answer<()> {
        self.expect_whole(bytes.len())?;
        // SAFETY: there is room for the whole image, and the call waits.
        unsafe { self.enqueue_read(queue, bytes.as_mut_ptr(), true) }.map(drop)
    }

    /// Enqueues a copy of the whole image from the host address `from` to the device. If `waits` is true, the call returns after
    /// the copy.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    ///
    /// # Safety
    /// The bytes of the whole image must be at `from`, without gaps between rows, and stay unchanged until the event is complete.
    pub unsafe fn enqueue_write(&self, queue: &Queue, from: *const u8, waits: bool) -> Answer<Event> {
        let (queue, mem, waits) = (queue.raw(), self.mem.raw(), u32::from(waits));
        let (origin, region, none) = (ORIGIN.as_ptr(), self.region.as_ptr(), ptr::null());
        Event::from_call(|event| {
            // SAFETY: queue and image are alive; the caller vouches for the bytes.
            unsafe {
                ffi::clEnqueueWriteImage(queue, mem, waits, origin, region, 0, 0, from.cast(), 0, none, event)
            }
        })
    }

    /// Enqueues a copy of the whole image from the device to the host address `into`. If `waits` is true, the call returns after
    /// the copy.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    ///
    /// # Safety
    /// `into` must have room for the whole image, and nothing else may access it until the event is complete.
    pub unsafe fn enqueue_read(&self, queue: &Queue, into: *mut u8, waits: bool) -> Answer<Event> {
        let (queue, mem, waits) = (queue.raw(), self.mem.raw(), u32::from(waits));
        let (origin, region, none) = (ORIGIN.as_ptr(), self.region.as_ptr(), ptr::null());
        Event::from_call(|event| {
            // SAFETY: queue and image are alive; the caller vouches for the room.
            unsafe {
                ffi::clEnqueueReadImage(queue, mem, waits, origin, region, 0, 0, into.cast(), 0, none, event)
            }
        })
    }

    /// Enqueues a copy of the buffer `from` to the whole image.
    ///
    /// # Errors
    /// Returns an error if the buffer is too short, or the driver reports an error.
    pub fn enqueue_copy_from(&self, queue: &Queue, from: &Buffer) -> Answer<Event> {
        let (queue, from, mem) = (queue.raw(), from.mem().raw(), self.mem.raw());
        let (origin, region, none) = (ORIGIN.as_ptr(), self.region.as_ptr(), ptr::null());
        Event::from_call(|event| {
            // SAFETY: queue and memory objects are alive; the driver refuses a region that is too large.
            unsafe { ffi::clEnqueueCopyBufferToImage(queue, from, mem, 0, origin, region, 0, none, event) }
        })
    }

    /// Enqueues a copy of the whole image to the buffer `to`.
    ///
    /// # Errors
    /// Returns an error if the buffer is too short, or the driver reports an error.
    pub fn enqueue_copy_to(&self, queue: &Queue, to: &Buffer) -> Answer<Event> {
        let (queue, to, mem) = (queue.raw(), to.mem().raw(), self.mem.raw());
        let (origin, region, none) = (ORIGIN.as_ptr(), self.region.as_ptr(), ptr::null());
        Event::from_call(|event| {
            // SAFETY: queue and memory objects are alive; the driver refuses a region that is too large.
            unsafe { ffi::clEnqueueCopyImageToBuffer(queue, mem, to, origin, region, 0, 0, none, event) }
        })
    }

    /// Enqueues a command that maps the whole image for the host. Returns the mapped address, the number of bytes from one row
    /// to the next, and the command's event; the host must not access the memory before the event is complete.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub(crate) fn enqueue_map(
        &self,
        queue: &Queue,
        flags: ffi::cl_map_flags,
    ) -> Answer<(NonNull<u8>, usize, Event)> {
        let (queue, mem) = (queue.raw(), self.mem.raw());
        let (origin, region, none) = (ORIGIN.as_ptr(), self.region.as_ptr(), ptr::null());
        let (mut at, mut status, mut row, mut slice) = (ptr::null_mut(), 0, 0, 0);
        let event = Event::from_call(|event| {
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

/// The coordinates of the first pixel of an image.
const ORIGIN: [usize; 3] = [0; 3];
/// OpenGL's constant `GL_TEXTURE_2D`.
const TEXTURE_2D: u32 = 0x0de1;
