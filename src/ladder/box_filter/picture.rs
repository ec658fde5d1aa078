//! Pictures in a device's memory, and the memory that passes share.

use ocl::core::{self, MemObjectType};
use ocl::enums::{ImageChannelDataType, ImageChannelOrder};
use ocl::flags::MemFlags;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::gpu::memory::new_memory;
use crate::ladder::Storage;

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
    pub fn storage(&self) -> Storage {
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
    }

    /// The memory object, to be set as a kernel's argument.
    pub fn mem(&self) -> &core::Mem {
        match self {
            Picture::Image(i) => i.as_core(),
            Picture::Buffer(b) => b.as_core(),
        }
    }
}

fn image<T: ocl::OclPrm>(
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

/// The row sums between two passes. All plans of one in-order queue may share it: one frame's second pass has
/// read it before the next frame's first pass writes it.
#[derive(Debug, Default)]
pub struct Scratch {
    image: Option<((u32, u32), ocl::Image<u16>)>,
    buffer: Option<((u32, u32), ocl::Buffer<u16>)>,
    lines: Option<ocl::Buffer<u16>>,
}

impl Scratch {
    /// Nothing is allocated before a plan asks for it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fills all of it with numbers that no picture gives, so that nothing is right because of an earlier run.
    pub(super) fn poison(&self, queue: &ocl::Queue) -> Result<()> {
        let poison = |len: usize| vec![0xa7d3u16; len];
        let image = self.image.as_ref().map(|((width, height), image)| {
            image.write(&poison(*width as usize * *height as usize * 4)).queue(queue).enq()
        });
        let buffers = self.buffer.as_ref().map(|(_, buffer)| buffer).into_iter().chain(&self.lines);
        let buffers = buffers.map(|buffer| buffer.write(&poison(buffer.len())).queue(queue).enq());
        let written: ocl::Result<()> = image.into_iter().chain(buffers).collect();
        written.map_err(|e| failed("The row sums could not be prepared for a check.", &e))
    }

    /// At least this many pixels of four channels of 16 bits.
    pub(super) fn lines(&mut self, cl: &ClContext, pixels: usize) -> Result<core::Mem> {
        let what = "Memory for the column sums could not be had on the device.";
        if let Some(lines) = self.lines.as_ref().filter(|l| l.len() >= 4 * pixels) {
            return Ok(lines.as_core().clone());
        }
        // SAFETY: no host memory is involved.
        let new = unsafe { ocl::Buffer::new(&cl.context, new_memory(cl), 4 * pixels, None) };
        let new: ocl::Buffer<u16> = new.map_err(|e| failed(what, &e))?;
        let mem = new.as_core().clone();
        self.lines = Some(new);
        Ok(mem)
    }

    /// Memory for the row sums of a picture, four channels of 16 bits; kept until the size changes.
    pub(super) fn get(
        &mut self,
        cl: &ClContext,
        storage: Storage,
        width: u32,
        height: u32,
    ) -> Result<core::Mem> {
        let what = "Memory for the row sums could not be had on the device.";
        let (w, h) = (width as usize, height as usize);
        let flags = new_memory(cl);
        let mem = match storage {
            Storage::Image => {
                if self.image.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.image = None;
                    let new = image(cl, ImageChannelDataType::UnsignedInt16, w, h, flags, None);
                    self.image = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.image.as_ref().map(|(_, i)| i.as_core().clone())
            }
            Storage::Buffer => {
                if self.buffer.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.buffer = None;
                    // SAFETY: no host memory is involved.
                    let new = unsafe { ocl::Buffer::new(&cl.context, flags, w * h * 4, None) };
                    self.buffer = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.buffer.as_ref().map(|(_, b)| b.as_core().clone())
            }
        };
        mem.ok_or_else(|| Error::new(what, "", ""))
    }
}
