//! A picture and what comes of it, in the memory of host and device, each between two guards. In: a case's sizes. Out:
//! memory to fill, to give to kernels and to read.

use super::code::Operands;
use base::error::Result;
use base::memory::zeroed;
use base::verify;
use opencl::cl::{Buffer, ClContext, Queue, failed};
use opencl::memory::new_memory;

const NO_COPY: &str = "Pictures or numbers could not be copied to or from the device.";

/// Bytes on the device between guards.
#[derive(Debug)]
struct Guarded {
    /// All of it.
    whole: Buffer,
    /// What lies between the guards.
    part: Buffer,
}

fn new(cl: &ClContext, bytes: usize) -> Result<Buffer> {
    Buffer::new(&cl.context, new_memory(cl), bytes)
        .map_err(|e| failed("Memory for a picture could not be had on the device.", &e))
}

impl Guarded {
    fn new(cl: &ClContext, bytes: usize, guard: usize) -> Result<Self> {
        let whole = new(cl, bytes + 2 * guard)?;
        let part = match guard {
            0 => whole.clone(),
            _ => whole
                .part(guard, bytes)
                .map_err(|e| failed("A part of the device's memory could not be had.", &e))?,
        };
        Ok(Self { whole, part })
    }
}

/// The same on a device, with room for what the stages hand on.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) queue: Queue,
    picture: Guarded,
    numbers: Guarded,
    parts: Guarded,
    guard: usize,
}

impl Memory {
    /// Bytes of the picture, of the numbers, of what stages hand on, and of each guard.
    pub(super) fn new(
        cl: &ClContext,
        picture: usize,
        numbers: usize,
        parts: usize,
        guard: usize,
    ) -> Result<Self> {
        Ok(Self {
            queue: cl.queue.clone(),
            picture: Guarded::new(cl, picture, guard)?,
            numbers: Guarded::new(cl, numbers, guard)?,
            parts: Guarded::new(cl, parts, guard)?,
            guard,
        })
    }

    /// What kernels are given.
    pub(super) fn operands(&self) -> Operands<'_> {
        let (picture, parts, numbers) = (&self.picture.part, &self.parts.part, &self.numbers.part);
        Operands { picture: picture.mem(), parts: parts.mem(), numbers: numbers.mem() }
    }

    /// Fills the picture, guards included.
    pub(super) fn load(&self, bytes: &[u8]) -> Result<()> {
        self.picture.whole.write(&self.queue, bytes).map_err(|e| failed(NO_COPY, &e))
    }

    /// The picture, guards included.
    pub(super) fn loaded(&self) -> Result<Vec<u8>> {
        self.get(&self.picture.whole)
    }

    /// Fills the numbers, guards included, and what the stages hand on: no run may find another's there.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.parts.whole.write(&self.queue, &self.poison()).map_err(|e| failed(NO_COPY, &e))?;
        self.numbers.whole.write(&self.queue, bytes).map_err(|e| failed(NO_COPY, &e))
    }

    fn poison(&self) -> Vec<u8> {
        (0..self.parts.whole.len()).map(|at| (at % 251) as u8 ^ 0xa5).collect()
    }

    /// How many bytes on both sides of what stages hand on are not as [`Memory::write`] left them.
    pub(super) fn overrun(&self) -> Result<usize> {
        let (poison, now) = (self.poison(), self.get(&self.parts.whole)?);
        let changed = |part: std::ops::Range<usize>| verify::changed(&poison[part.clone()], &now[part]);
        Ok(changed(0..self.guard) + changed(now.len() - self.guard..now.len()))
    }

    /// The numbers, guards included.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        self.get(&self.numbers.whole)
    }

    fn get(&self, buffer: &Buffer) -> Result<Vec<u8>> {
        let mut bytes = zeroed(buffer.len())?;
        buffer.read(&self.queue, &mut bytes).map_err(|e| failed(NO_COPY, &e))?;
        Ok(bytes)
    }
}
