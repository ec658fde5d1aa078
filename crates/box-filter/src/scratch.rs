//! Device memory for intermediate results of a filter, kept from frame to frame.

use super::config::ScratchSize;
use base::error::{Error, Result};
use base::numbers::thousands;
use opencl::cl::{Answer, Buffer, Channel, ClContext, Image, Mem, failed};
use opencl::memory::{allocation_flags, image};

/// Scratch memory between the passes of a variant and within them. All plans of one in-order queue may share it: a frame's
/// passes have read it before the next frame's first pass writes it.
pub struct Scratch {
    pub(super) cl: ClContext,
    /// The buffer with each index.
    buffers: Vec<Option<Buffer>>,
    /// Images, each with its index and channels.
    images: Vec<(usize, Channel, Image)>,
}

impl Scratch {
    /// Returns an empty `Scratch`; plans allocate what they need.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), buffers: Vec::new(), images: Vec::new() }
    }

    /// Fills all scratch memory with implausible values, so that results of an earlier run cannot make a wrong kernel look
    /// right.
    pub fn poison(&self) -> Result<()> {
        let queue = &self.cl.queue;
        let pattern = 0xa7d3_a7d3_a7d3_a7d3_u64.to_le_bytes();
        let fill = |buffer: &Buffer| {
            let whole = buffer.len() / pattern.len() * pattern.len();
            if whole > 0 { buffer.enqueue_fill(queue, &pattern, whole).map(drop) } else { Ok(()) }
        };
        let images = self.images.iter().map(|(.., image)| {
            let mut bytes = pattern.repeat(image.bytes().div_ceil(pattern.len()));
            bytes.truncate(image.bytes());
            image.write(queue, &bytes)
        });
        let written: Answer<()> = images.chain(self.buffers.iter().flatten().map(fill)).collect();
        written.map_err(|e| failed("Scratch memory could not be prepared for a check.", &e))
    }

    /// Returns the memory with this index. A buffer is kept until a larger one is needed, an image until its size changes.
    pub(super) fn memory(&mut self, index: usize, size: ScratchSize) -> Result<Mem> {
        let what = "Scratch memory could not be allocated on the device.";
        let wanted = match size {
            ScratchSize::Bytes(bytes) => bytes as u64,
            ScratchSize::Image(channel, (width, height)) => {
                (width as u64).saturating_mul(height as u64).saturating_mul(channel.pixel_bytes() as u64)
            }
        };
        let device = &self.cl.device.info;
        if !device.has_room(wanted, wanted) {
            let (wanted, most) = (thousands(wanted as f64), thousands(device.max_allocation_bytes as f64));
            let why = format!("It needs {wanted} bytes in one piece; the device allows {most}.");
            return Err(Error::new(
                what,
                why,
                "Use a smaller picture, or make it smaller in the description.",
            ));
        }
        match size {
            ScratchSize::Bytes(bytes) => {
                if self.buffers.len() <= index {
                    self.buffers.resize_with(index + 1, || None);
                }
                Ok(reserve(&mut self.buffers[index], &self.cl, bytes, what)?.clone())
            }
            ScratchSize::Image(channel, (width, height)) => {
                let is_of =
                    |(of, channels, _): &(usize, Channel, Image)| *of == index && *channels == channel;
                self.images.retain(|kept| !is_of(kept) || kept.2.size() == (width, height));
                if let Some((.., kept)) = self.images.iter().find(|kept| is_of(kept)) {
                    return Ok(kept.mem().clone());
                }
                let made = image(&self.cl, channel, width, height).map_err(|e| failed(what, &e))?;
                let memory = made.mem().clone();
                self.images.push((index, channel, made));
                Ok(memory)
            }
        }
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
