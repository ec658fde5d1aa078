//! Device memory for intermediate results of a filter, kept from frame to frame.

use base::error::Result;
use opencl::cl::{Answer, Buffer, Channel, ClContext, Mem, failed};
use opencl::memory::{Picture, Storage, allocation_flags, image};

/// Memory for the row sums between two passes, and for column sums within a pass. All plans of one in-order queue may share
/// it: a frame's second pass has read it before the next frame's first pass writes it.
pub struct Scratch {
    pub(super) cl: ClContext,
    /// Row sums of image variants and of buffer variants, each with the picture's size.
    row_sums: Vec<((u32, u32), Picture)>,
    column_sums: Option<Buffer>,
}

impl Scratch {
    /// Returns an empty `Scratch`; plans allocate what they need.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), row_sums: Vec::new(), column_sums: None }
    }

    /// Fills all scratch memory with implausible values, so that results of an earlier run cannot make a wrong kernel look
    /// right.
    pub fn poison(&self) -> Result<()> {
        let queue = &self.cl.queue;
        // Four channels.
        let pixel = 0xa7d3_a7d3_a7d3_a7d3_u64.to_le_bytes();
        let fill = |buffer: &Buffer| buffer.enqueue_fill(queue, &pixel, buffer.len()).map(drop);
        let row_sums = self.row_sums.iter().map(|((width, height), picture)| match picture {
            Picture::Image(image) => image.write(queue, &pixel.repeat(*width as usize * *height as usize)),
            Picture::Buffer(buffer) => fill(buffer),
        });
        let written: Answer<()> = row_sums.chain(self.column_sums.iter().map(fill)).collect();
        written.map_err(|e| failed("The row sums could not be prepared for a check.", &e))
    }

    /// Returns memory for column sums, of at least so many bytes.
    pub(super) fn column_sums(&mut self, bytes: usize) -> Result<Mem> {
        let what = "Memory for the column sums could not be allocated on the device.";
        Ok(reserve(&mut self.column_sums, &self.cl, bytes, what)?.clone())
    }

    /// Returns memory for the row sums of a picture, with four 16-bit channels; it is kept until the size changes.
    pub(super) fn row_sums(&mut self, storage: Storage, size: (u32, u32)) -> Result<Mem> {
        self.row_sums.retain(|(of, kept)| *of == size || kept.storage() != storage);
        if let Some((_, kept)) = self.row_sums.iter().find(|(_, kept)| kept.storage() == storage) {
            return Ok(kept.mem().clone());
        }
        let (cl, w, h) = (&self.cl, size.0 as usize, size.1 as usize);
        let made = match storage {
            Storage::Image => image(cl, Channel::Uint16, w, h).map(Picture::Image),
            Storage::Buffer => Buffer::new(&cl.context, allocation_flags(cl), w * h * 8).map(Picture::Buffer),
        };
        let what = "Memory for the row sums could not be allocated on the device.";
        let made = made.map_err(|e| failed(what, &e))?;
        let memory = made.mem().clone();
        self.row_sums.push((size, made));
        Ok(memory)
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
