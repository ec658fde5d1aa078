//! Pictures in a device's memory. In: a size and a kind of memory. Out: the memory, to be filled, read and given to kernels.

use ocl::core::{self, MemObjectType};
use ocl::enums::{ImageChannelDataType, ImageChannelOrder};
use ocl::flags::MemFlags;

use crate::error::Result;
use crate::gpu::cl::{ClContext, DeviceKind, failed};
use crate::verify::Elements;

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
pub(crate) fn channel_at(channel: usize, x: usize, y: usize) -> String {
    let name = ["red", "green", "blue", "alpha"].get(channel).unwrap_or(&"?");
    format!("{name} at ({x}, {y})")
}

/// An RGBA picture on a device, 8 bits a channel, without gaps between rows. Clones share the memory.
#[derive(Debug, Clone)]
pub enum Picture {
    /// A normalised image (`CL_RGBA`, `CL_UNORM_INT8`).
    Image(ocl::Image<u8>),
    /// Width·height·4 bytes.
    Buffer(ocl::Buffer<u8>),
}

impl Picture {
    /// New memory for `width` by `height` pixels; its contents are undefined.
    pub fn alloc(cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<Self> {
        Self::make(cl, storage, width, height, new_memory(cl), None)
    }

    /// A buffer that holds these bytes, such as planes packed into a block: a whole number of pixels. Waits.
    pub fn block(cl: &ClContext, queue: &ocl::Queue, bytes: &[u8]) -> Result<Self> {
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
        let flags = MemFlags::new().read_write().use_host_ptr();
        // SAFETY: the caller vouches for the length and the lifetime.
        let memory = unsafe { std::slice::from_raw_parts(memory, width as usize * height as usize * 4) };
        Self::make(cl, storage, width, height, flags, Some(memory))
    }

    fn make(
        cl: &ClContext,
        storage: Storage,
        width: u32,
        height: u32,
        flags: MemFlags,
        host: Option<&[u8]>,
    ) -> Result<Self> {
        let what = "Memory for a picture could not be had on the device.";
        let (w, h) = (width as usize, height as usize);
        match storage {
            Storage::Image => image(cl, ImageChannelDataType::UnormInt8, w, h, flags, host)
                .map(Picture::Image)
                .map_err(|e| failed(what, &e)),
            // SAFETY: the flags fit the host memory, which `from_host` vouches for.
            Storage::Buffer => unsafe { ocl::Buffer::new(&cl.context, flags, w * h * 4, host) }
                .map(Picture::Buffer)
                .map_err(|e| failed(what, &e)),
        }
    }

    /// What it is stored in.
    pub(crate) fn storage(&self) -> Storage {
        match self {
            Picture::Image(_) => Storage::Image,
            Picture::Buffer(_) => Storage::Buffer,
        }
    }

    /// Copies pixels from the host and waits. `pixels` must be as long as the picture.
    pub fn write(&self, queue: &ocl::Queue, pixels: &[u8]) -> Result<()> {
        match self {
            Picture::Image(i) => i.write(pixels).queue(queue).enq(),
            Picture::Buffer(b) => b.write(pixels).queue(queue).enq(),
        }
        .map_err(|e| failed("A picture could not be copied to the device.", &e))
    }

    /// Copies the pixels to the host and waits. `pixels` must be as long as the picture.
    pub fn read(&self, queue: &ocl::Queue, pixels: &mut [u8]) -> Result<()> {
        match self {
            Picture::Image(i) => i.read(pixels).queue(queue).enq(),
            Picture::Buffer(b) => b.read(pixels).queue(queue).enq(),
        }
        .map_err(|e| failed("A picture could not be copied from the device.", &e))
        .inspect(|()| super::watch::progress())
    }

    /// The memory object, to be set as a kernel's argument.
    pub(crate) fn mem(&self) -> &core::Mem {
        match self {
            Picture::Image(i) => i.as_core(),
            Picture::Buffer(b) => b.as_core(),
        }
    }
}

/// Flags of memory without contents. PoCL would have it only when a command needs it, and end the process where there is
/// not enough; asked for the host's memory it has it at once, or says no.
pub(crate) fn new_memory(cl: &ClContext) -> MemFlags {
    let flags = MemFlags::new().read_write();
    if cl.device.info.kind == DeviceKind::Cpu { flags.alloc_host_ptr() } else { flags }
}

pub(crate) fn image<T: ocl::OclPrm>(
    cl: &ClContext,
    data_type: ImageChannelDataType,
    width: usize,
    height: usize,
    flags: MemFlags,
    host: Option<&[T]>,
) -> ocl::Result<ocl::Image<T>> {
    let format = core::ImageFormat::new(ImageChannelOrder::Rgba, data_type);
    let shape = core::ImageDescriptor::new(MemObjectType::Image2d, width, height, 1, 0, 0, 0, None);
    // SAFETY: the description has no pitch and no parent, and host memory, if any, is as long as it says.
    unsafe { ocl::Image::new(&cl.context, flags, format, shape, host) }
}

/// A buffer on the device with `guard` bytes on both sides of so many: all of it, and the part between them. `guard` is a
/// multiple of what the device aligns parts of buffers to.
pub(crate) fn guarded(cl: &ClContext, bytes: usize, guard: usize) -> Result<(Picture, Picture)> {
    let what = "Memory for a check could not be had on the device.";
    // SAFETY: no host memory is involved.
    let whole = unsafe { ocl::Buffer::<u8>::new(&cl.context, new_memory(cl), bytes + 2 * guard, None) };
    let whole = whole.map_err(|e| failed(what, &e))?;
    let part = whole.create_sub_buffer(None, guard, bytes);
    Ok((Picture::Buffer(whole), Picture::Buffer(part.map_err(|e| failed(what, &e))?)))
}
