//! Device memory for intermediate results of a filter, kept from frame to frame.

use base::error::Result;
use opencl::cl::{Answer, Buffer, Channel, ClContext, Image, Mem, failed};
use opencl::memory::{Storage, allocation_flags, image};

/// Memory for the row sums between two passes, and for column sums within a pass. All plans of one in-order queue may share
/// it: a frame's second pass has read it before the next frame's first pass writes it.
pub struct Scratch {
    pub(super) cl: ClContext,
    /// Row sums of image variants, with the picture's size.
    image: Option<((u32, u32), Image)>,
    /// Row sums of buffer variants, with the picture's size.
    buffer: Option<((u32, u32), Buffer)>,
    column_sums: Option<Buffer>,
}

impl Scratch {
    /// Returns an empty `Scratch`; plans allocate what they need.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), image: None, buffer: None, column_sums: None }
    }

    /// Fills all scratch memory with implausible values, so that results of an earlier run cannot make a wrong kernel look
    /// right.
    pub fn poison(&self) -> Result<()> {
        let queue = &self.cl.queue;
        // Four channels.
        let pixel = 0xa7d3_a7d3_a7d3_a7d3_u64.to_le_bytes();
        let image = self.image.as_ref().map(|((width, height), image)| {
            image.write(queue, &pixel.repeat(*width as usize * *height as usize))
        });
        let buffers = self.buffer.as_ref().map(|(_, buffer)| buffer).into_iter().chain(&self.column_sums);
        let buffers = buffers.map(|buffer| buffer.enqueue_fill(queue, &pixel, buffer.len()).map(drop));
        let written: Answer<()> = image.into_iter().chain(buffers).collect();
        written.map_err(|e| failed("The row sums could not be prepared for a check.", &e))
    }

    /// Returns memory for column sums: at least this many pixels of four 16-bit channels.
    pub(super) fn column_sums(&mut self, pixels: usize) -> Result<Mem> {
        let what = "Memory for the column sums could not be allocated on the device.";
        Ok(reserve(&mut self.column_sums, &self.cl, 8 * pixels, what)?.clone())
    }

    /// Returns memory for the row sums of a picture, with four 16-bit channels; it is kept until the size changes.
    pub(super) fn row_sums(&mut self, storage: Storage, size: (u32, u32)) -> Result<Mem> {
        let failed = |e| failed("Memory for the row sums could not be allocated on the device.", &e);
        let (cl, w, h) = (&self.cl, size.0 as usize, size.1 as usize);
        Ok(match storage {
            Storage::Image => {
                let new = || image(cl, Channel::Uint16, w, h).map_err(failed);
                kept(&mut self.image, size, new)?.mem().clone()
            }
            Storage::Buffer => {
                let new = || Buffer::new(&cl.context, allocation_flags(cl), w * h * 8).map_err(failed);
                kept(&mut self.buffer, size, new)?.mem().clone()
            }
        })
    }
}

/// Returns the buffer in `slot` if it has at least `bytes` bytes, or replaces it by a larger one. `what` is the first sentence of
/// the error if memory runs out.
pub(crate) fn reserve<'a>(
    slot: &'a mut Option<Buffer>,
    cl: &ClContext,
    bytes: usize,
    what: &str,
) -> Result<&'a Mem> {
    let buffer = match slot.take().filter(|kept| kept.len() >= bytes) {
        Some(kept) => kept,
        None => Buffer::new(&cl.context, allocation_flags(cl), bytes).map_err(|e| failed(what, &e))?,
    };
    Ok(slot.insert(buffer).mem())
}

/// Returns the memory that was kept for this size, or replaces it by new memory.
fn kept<T>(
    memory: &mut Option<((u32, u32), T)>,
    size: (u32, u32),
    new: impl FnOnce() -> Result<T>,
) -> Result<&T> {
    let of_size = match memory.take().filter(|(of, _)| *of == size) {
        Some(kept) => kept,
        None => (size, new()?),
    };
    Ok(&memory.insert(of_size).1)
}
