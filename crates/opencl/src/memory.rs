//! RGBA pictures in a device's memory.

use std::ptr::{self, NonNull};

use ocl::ffi::{CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};
use serde::{Deserialize, Serialize};

use crate::cl::{Answer, Buffer, Channel, ClContext, Event, Image, Mem, MemFlags, OrFail as _, Queue};
use base::device::DeviceKind;
use base::error::Result;
use base::verify::Elements;

/// The kind of memory for pictures that a kernel reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Storage {
    /// An `image2d_t`, which kernels read through a sampler.
    Image,
    /// A buffer of pixels, row after row without gaps.
    Buffer,
}

/// The bytes of RGBA pixels, 8 bits per channel, as the elements that a verification compares and reports.
#[derive(Debug, Clone, Copy)]
pub struct Rgba {
    /// The number of pixels in a row.
    pub width: usize,
}

impl Elements for Rgba {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn bytes(&self) -> usize {
        1
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.first().copied().map_or(f64::NAN, f64::from)
    }

    /// Returns the channel and the position of the byte with this number, as in "red at (3, 4)".
    fn position(&self, number: usize) -> String {
        let (pixel, width) = (number / 4, self.width.max(1));
        channel_at(number % 4, pixel % width, pixel / width)
    }
}

/// Returns the name of a channel (0 is red) with the position of its pixel, as in "red at (3, 4)".
pub fn channel_at(channel: usize, x: usize, y: usize) -> String {
    let name = ["red", "green", "blue", "alpha"].get(channel).unwrap_or(&"?");
    format!("{name} at ({x}, {y})")
}

/// An RGBA picture on a device, 8 bits a channel, without gaps between rows. Clones share the memory.
#[derive(Debug, Clone)]
pub enum Picture {
    /// A normalised image (`CL_RGBA`, `CL_UNORM_INT8`).
    Image(Image),
    /// A buffer of width·height·4 bytes.
    Buffer(Buffer),
}

/// The first sentence of the error when a picture's memory cannot be allocated.
const NO_MEMORY: &str = "Memory for a picture could not be allocated on the device.";

impl Picture {
    /// Allocates memory for `width` by `height` pixels; its contents are undefined.
    ///
    /// # Errors
    /// Returns an error if memory runs out, or the driver reports an error.
    pub fn alloc(cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<Self> {
        let (w, h) = (width as usize, height as usize);
        let made = match storage {
            Storage::Image => image(cl, Channel::Unorm8, w, h).map(Picture::Image),
            Storage::Buffer => Buffer::new(&cl.context, allocation_flags(cl), w * h * 4).map(Picture::Buffer),
        };
        made.or_fail(NO_MEMORY)
    }

    /// Allocates a buffer and copies `bytes` into it, such as packed planes. Waits until they are copied. The number of bytes
    /// must be a multiple of 4, the size of a pixel.
    ///
    /// # Errors
    /// Returns an error as [`Picture::alloc`] does.
    pub fn block(cl: &ClContext, queue: &Queue, bytes: &[u8]) -> Result<Self> {
        let block = Self::alloc(cl, Storage::Buffer, (bytes.len() / 4) as u32, 1)?;
        block.write(queue, bytes)?;
        Ok(block)
    }

    /// Creates a picture that uses host memory: on CPU devices kernels work in place, and mapping copies nothing. `memory`
    /// should start at a page boundary.
    ///
    /// # Safety
    /// `memory` must point to `width`·`height`·4 bytes that stay valid, and that nothing else writes while
    /// commands use them, until the last command and the last clone of the picture are gone.
    pub unsafe fn from_host(
        cl: &ClContext,
        storage: Storage,
        (width, height): (u32, u32),
        memory: NonNull<u8>,
    ) -> Result<Self> {
        let (size, memory) = ((width as usize, height as usize), memory.as_ptr());
        // SAFETY: the caller vouches for the length and the lifetime.
        let made = unsafe {
            match storage {
                Storage::Image => {
                    Image::in_place(&cl.context, Channel::Unorm8, size, memory).map(Picture::Image)
                }
                Storage::Buffer => {
                    Buffer::in_place(&cl.context, memory, size.0 * size.1 * 4).map(Picture::Buffer)
                }
            }
        };
        made.or_fail(NO_MEMORY)
    }

    /// Returns the kind of memory that holds the picture.
    pub fn storage(&self) -> Storage {
        match self {
            Picture::Image(_) => Storage::Image,
            Picture::Buffer(_) => Storage::Buffer,
        }
    }

    /// Copies pixels from the host to the picture, and waits. `pixels` must be as long as the picture.
    pub fn write(&self, queue: &Queue, pixels: &[u8]) -> Result<()> {
        match self {
            Picture::Image(image) => image.write(queue, pixels),
            Picture::Buffer(buffer) => buffer.write(queue, pixels),
        }
        .or_fail("A picture could not be copied to the device.")
    }

    /// Copies the picture's pixels to the host, and waits. `pixels` must be as long as the picture.
    pub fn read(&self, queue: &Queue, pixels: &mut [u8]) -> Result<()> {
        match self {
            Picture::Image(image) => image.read(queue, pixels),
            Picture::Buffer(buffer) => buffer.read(queue, pixels),
        }
        .or_fail("A picture could not be copied from the device.")
        .inspect(|()| super::watch::progress())
    }

    /// Enqueues a copy of the whole picture from the host address `from` to the device. Does not wait.
    ///
    /// # Safety
    /// `from` must hold the whole picture and stay untouched until the event is complete.
    pub unsafe fn enqueue_write(&self, queue: &Queue, from: *const u8) -> Answer<Event> {
        // SAFETY: the caller vouches for the memory.
        unsafe {
            match self {
                Picture::Image(image) => image.enqueue_write(queue, from, false),
                Picture::Buffer(buffer) => {
                    buffer.enqueue_write(queue, ptr::slice_from_raw_parts(from, buffer.len()), false)
                }
            }
        }
    }

    /// Enqueues a copy of the whole picture from the device to the host address `into`. Does not wait.
    ///
    /// # Safety
    /// `into` must have room for the whole picture and stay untouched until the event is complete.
    pub unsafe fn enqueue_read(&self, queue: &Queue, into: *mut u8) -> Answer<Event> {
        // SAFETY: the caller vouches for the memory.
        unsafe {
            match self {
                Picture::Image(image) => image.enqueue_read(queue, into, false),
                Picture::Buffer(buffer) => {
                    buffer.enqueue_read(queue, ptr::slice_from_raw_parts_mut(into, buffer.len()), false)
                }
            }
        }
    }

    /// Returns the memory object, for a kernel's argument.
    pub fn mem(&self) -> &Mem {
        match self {
            Picture::Image(image) => image.mem(),
            Picture::Buffer(buffer) => buffer.mem(),
        }
    }
}

/// Returns the flags for allocating memory without initial contents. On CPU devices they request host memory, so that PoCL
/// allocates at once and reports an error if memory runs out. Otherwise PoCL would allocate at the first command, and end the
/// process if memory runs out.
pub fn allocation_flags(cl: &ClContext) -> MemFlags {
    let host = if cl.device.info.kind == DeviceKind::Cpu { CL_MEM_ALLOC_HOST_PTR } else { 0 };
    CL_MEM_READ_WRITE | host
}

/// Allocates an image; its contents are undefined.
pub fn image(cl: &ClContext, channel: Channel, width: usize, height: usize) -> Answer<Image> {
    Image::new(&cl.context, allocation_flags(cl), channel, (width, height))
}

/// Allocates a buffer of `bytes` bytes with `guard` bytes on each side. Returns the whole buffer, and the part between the guards.
/// `guard` must be a multiple of the device's alignment of sub-buffers.
///
/// # Errors
/// Returns an error if memory runs out, or the driver reports an error.
pub fn guarded_buffer(cl: &ClContext, bytes: usize, guard: usize) -> Result<(Picture, Picture)> {
    let what = "Memory for a check could not be allocated on the device.";
    let whole = Buffer::new(&cl.context, allocation_flags(cl), bytes + 2 * guard).or_fail(what)?;
    let part = whole.part(guard, bytes);
    Ok((Picture::Buffer(whole), Picture::Buffer(part.or_fail(what)?)))
}
