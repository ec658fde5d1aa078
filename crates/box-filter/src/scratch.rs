//! The memory between the passes of a filter. In: a size. Out: row sums on the device, kept from frame to frame.

use base::error::{Error, Result};
use opencl::cl::{Answer, Buffer, Channel, ClContext, Image, Mem, Queue, failed};
use opencl::memory::{Storage, image, new_memory};

/// The row sums between two passes. All plans of one in-order queue may share it: one frame's second pass has
/// read it before the next frame's first pass writes it.
#[derive(Debug, Default)]
pub struct Scratch {
    image: Option<((u32, u32), Image)>,
    buffer: Option<((u32, u32), Buffer)>,
    lines: Option<Buffer>,
}

impl Scratch {
    /// Nothing is allocated before a plan asks for it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fills all of it with numbers that no picture gives, so that nothing is right because of an earlier run.
    pub(super) fn poison(&self, queue: &Queue) -> Result<()> {
        // Four channels.
        let pixel = 0xa7d3_a7d3_a7d3_a7d3_u64.to_le_bytes();
        let image = self.image.as_ref().map(|((width, height), image)| {
            image.write(queue, &pixel.repeat(*width as usize * *height as usize))
        });
        let buffers = self.buffer.as_ref().map(|(_, buffer)| buffer).into_iter().chain(&self.lines);
        let buffers = buffers.map(|buffer| buffer.enqueue_fill(queue, &pixel, 0, buffer.len()).map(drop));
        let written: Answer<()> = image.into_iter().chain(buffers).collect();
        written.map_err(|e| failed("The row sums could not be prepared for a check.", &e))
    }

    /// At least this many pixels of four channels of 16 bits.
    pub(super) fn lines(&mut self, cl: &ClContext, pixels: usize) -> Result<Mem> {
        let what = "Memory for the column sums could not be had on the device.";
        if let Some(lines) = self.lines.as_ref().filter(|l| l.len() >= 8 * pixels) {
            return Ok(lines.mem().clone());
        }
        let new = Buffer::new(&cl.context, new_memory(cl), 8 * pixels).map_err(|e| failed(what, &e))?;
        let mem = new.mem().clone();
        self.lines = Some(new);
        Ok(mem)
    }

    /// Memory for the row sums of a picture, four channels of 16 bits; kept until the size changes.
    pub(super) fn get(&mut self, cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<Mem> {
        let what = "Memory for the row sums could not be had on the device.";
        let (w, h) = (width as usize, height as usize);
        let mem = match storage {
            Storage::Image => {
                if self.image.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.image = None;
                    let new = image(cl, Channel::Uint16, w, h);
                    self.image = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.image.as_ref().map(|(_, i)| i.mem().clone())
            }
            Storage::Buffer => {
                if self.buffer.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.buffer = None;
                    let new = Buffer::new(&cl.context, new_memory(cl), w * h * 8);
                    self.buffer = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.buffer.as_ref().map(|(_, b)| b.mem().clone())
            }
        };
        mem.ok_or_else(|| Error::new(what, "", ""))
    }
}
