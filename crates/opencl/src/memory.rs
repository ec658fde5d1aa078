//! Pictures in a device's memory. In: a size and a kind of memory. Out: the memory, to be filled, read and given to kernels.

use std::ptr::NonNull;

use ocl::ffi::{CL_INVALID_VALUE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};

use crate::cl::{
    Answer, Buffer, Channel, ClContext, DeviceKind, Image, Mem, MemFlags, Queue, Status, failed,
};
use base::error::Result;
use base::verify::Elements;

/// What a kernel reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// `image2d_t` through a sampler.
    Image,
    /// A flat buffer of pixels without gaps.
    Buffer,
}

/// Pixels of 8 bits a channel, in rows of so many.
#[derive(Debug, Clone, Copy)]
pub struct Rgba {
    /// Pixels of a row.
    pub width: usize,
}

impl Elements for Rgba {
    const NAME: &'static str = "bytes";
    const BYTES: usize = 1;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.first().copied().map_or(f64::NAN, f64::from)
    }

    fn position(&self, number: usize) -> String {
        let (pixel, width) = (number / 4, self.width.max(1));
        channel_at(number % 4, pixel % width, pixel / width)
    }
}

/// A channel of the pixel in column `x` and row `y`, as in "red at (3, 4)".
pub fn channel_at(channel: usize, x: usize, y: usize) -> String {
    let name = ["red", "green", "blue", "alpha"].get(channel).unwrap_or(&"?");
    format!("{name} at ({x}, {y})")
}

/// An RGBA picture on a device, 8 bits a channel, without gaps between rows. Clones share the memory.
#[derive(Debug, Clone)]
pub enum Picture {
    /// A normalised image (`CL_RGBA`, `CL_UNORM_INT8`).
    Image(Image),
    /// Width·height·4 bytes.
    Buffer(Buffer),
}

const NO_MEMORY: &str = "Memory for a picture could not be had on the device.";

impl Picture {
    /// New memory for `width` by `height` pixels; its contents are undefined.
    pub fn alloc(cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<Self> {
        let (w, h) = (width as usize, height as usize);
        let made = match storage {
            Storage::Image => image(cl, Channel::Unorm8, w, h).map(Picture::Image),
            Storage::Buffer => Buffer::new(&cl.context, new_memory(cl), w * h * 4).map(Picture::Buffer),
        };
        made.map_err(|e| failed(NO_MEMORY, &e))
    }

    /// A buffer that holds these bytes, such as planes packed into a block: a whole number of pixels. Waits.
    pub fn block(cl: &ClContext, queue: &Queue, bytes: &[u8]) -> Result<Self> {
        let block = Self::alloc(cl, Storage::Buffer, (bytes.len() / 4) as u32, 1)?;
        block.write(queue, bytes)?;
        Ok(block)
    }

    /// A picture in the host's memory at `memory`: on CPU devices the kernels work right there, and a mapping
    /// copies nothing. Align it to a page.
    ///
    /// # Safety
    /// `memory` must point to `width`·`height`·4 bytes that stay valid, and that nothing else writes while
    /// commands use them, until the last command and the last clone of the picture are gone.
    pub unsafe fn from_host(
        cl: &ClContext,
        storage: Storage,
        width: u32,
        height: u32,
        memory: *mut u8,
    ) -> Result<Self> {
        let (w, h) = (width as usize, height as usize);
        let memory = NonNull::new(memory).ok_or_else(|| failed(NO_MEMORY, &Status(CL_INVALID_VALUE)))?;
        // SAFETY: the caller vouches for the length and the lifetime.
        let made = unsafe {
            match storage {
                Storage::Image => {
                    let size = (w, h);
                    Image::new(&cl.context, CL_MEM_READ_WRITE, Channel::Unorm8, size, Some(memory))
                        .map(Picture::Image)
                }
                Storage::Buffer => {
                    Buffer::in_place(&cl.context, memory.as_ptr(), w * h * 4).map(Picture::Buffer)
                }
            }
        };
        made.map_err(|e| failed(NO_MEMORY, &e))
    }

    /// What it is stored in.
    pub fn storage(&self) -> Storage {
        match self {
            Picture::Image(_) => Storage::Image,
            Picture::Buffer(_) => Storage::Buffer,
        }
    }

    /// Copies pixels from the host and waits. `pixels` must be as long as the picture.
    pub fn write(&self, queue: &Queue, pixels: &[u8]) -> Result<()> {
        match self {
            Picture::Image(image) => image.write(queue, pixels),
            Picture::Buffer(buffer) => buffer.write(queue, pixels),
        }
        .map_err(|e| failed("A picture could not be copied to the device.", &e))
    }

    /// Copies the pixels to the host and waits. `pixels` must be as long as the picture.
    pub fn read(&self, queue: &Queue, pixels: &mut [u8]) -> Result<()> {
        match self {
            Picture::Image(image) => image.read(queue, pixels),
            Picture::Buffer(buffer) => buffer.read(queue, pixels),
        }
        .map_err(|e| failed("A picture could not be copied from the device.", &e))
        .inspect(|()| super::watch::progress())
    }

    /// The memory object, to be set as a kernel's argument.
    pub fn mem(&self) -> &Mem {
        match self {
            Picture::Image(image) => image.mem(),
            Picture::Buffer(buffer) => buffer.mem(),
        }
    }
}

/// Flags of memory without contents. PoCL would have it only when a command needs it, and end the process where there is
/// not enough; asked for the host's memory it has it at once, or says no.
pub fn new_memory(cl: &ClContext) -> MemFlags {
    let host = if cl.device.info.kind == DeviceKind::Cpu { CL_MEM_ALLOC_HOST_PTR } else { 0 };
    CL_MEM_READ_WRITE | host
}

/// An image without contents.
pub fn image(cl: &ClContext, channel: Channel, width: usize, height: usize) -> Answer<Image> {
    // SAFETY: no host memory is involved.
    unsafe { Image::new(&cl.context, new_memory(cl), channel, (width, height), None) }
}

/// A buffer on the device with `guard` bytes on both sides of so many: all of it, and the part between them. `guard` is a
/// multiple of what the device aligns parts of buffers to.
pub fn guarded(cl: &ClContext, bytes: usize, guard: usize) -> Result<(Picture, Picture)> {
    let what = "Memory for a check could not be had on the device.";
    let whole = Buffer::new(&cl.context, new_memory(cl), bytes + 2 * guard).map_err(|e| failed(what, &e))?;
    let part = whole.part(guard, bytes);
    Ok((Picture::Buffer(whole), Picture::Buffer(part.map_err(|e| failed(what, &e))?)))
}
