//! Pictures on a device between canaries (known bytes that detect writes out of bounds), for checks.

use std::ops::Range;

use super::config::Extent;
use base::error::Result;
use base::memory::rgba_bytes;
use base::verify;
use opencl::cl::{ClContext, Queue};
use opencl::memory::{Picture, Storage, guarded_buffer};

/// A picture, or planes in a buffer, between canaries. An image has no canaries on the device, since it cannot be written
/// beyond its border.
#[derive(Debug)]
pub struct GuardedPicture {
    whole: Picture,
    /// The picture without its canaries, for kernels.
    pub picture: Picture,
    /// The number of canary bytes on each side.
    guard: usize,
}

impl GuardedPicture {
    /// Allocates a picture of this width and height, or a buffer of `bytes` bytes, with `guard` bytes of canaries on each side.
    fn new(cl: &ClContext, storage: Storage, size: (u32, u32), bytes: usize, guard: usize) -> Result<Self> {
        let (whole, picture) = match storage {
            Storage::Buffer if guard > 0 => guarded_buffer(cl, bytes, guard)?,
            _ => {
                let (width, height) = if storage == Storage::Image { size } else { ((bytes / 4) as u32, 1) };
                let picture = Picture::alloc(cl, storage, width, height)?;
                (picture.clone(), picture)
            }
        };
        Ok(Self { whole, picture, guard })
    }

    /// Allocates a picture of RGBA pixels for the output of a check, with canaries on each side.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn of_output(cl: &ClContext, storage: Storage, size: (u32, u32)) -> Result<Self> {
        let bytes = rgba_bytes(size);
        Self::new(cl, storage, size, bytes, verify::guard_bytes(bytes))
    }

    /// Returns the range of `bytes`, a picture with its canaries, that is stored on the device: all of it for a buffer, the
    /// picture alone for an image.
    fn range(&self, bytes: &[u8]) -> Range<usize> {
        match self.whole.storage() {
            Storage::Image => self.guard..bytes.len() - self.guard,
            Storage::Buffer => 0..bytes.len(),
        }
    }

    /// Copies `bytes`, a picture with its canaries, to the device, and waits.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Result<()> {
        self.whole.write(queue, &bytes[self.range(bytes)])
    }

    /// Copies the picture and its canaries to `after`, and waits. The canaries of an image are those of `before`.
    pub fn read(&self, queue: &Queue, before: &[u8], after: &mut [u8]) -> Result<()> {
        let range = self.range(after);
        if range.len() < after.len() {
            after.copy_from_slice(before);
        }
        self.whole.read(queue, &mut after[range])
    }
}

/// The input of a filter on a device: the picture to filter, and those of the frames before it, nearest first. Each is between
/// canaries.
#[derive(Debug)]
pub struct GuardedInput(Vec<GuardedPicture>);

impl GuardedInput {
    /// Allocates memory for the input and for the filtered output in these two kinds of memory. Buffers get `guard` canary bytes on
    /// each side of a picture, which detect writes out of bounds.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn with_output(
        cl: &ClContext,
        [input, output]: [Storage; 2],
        whole: &Extent,
        guard: usize,
    ) -> Result<(Self, GuardedPicture)> {
        let ([from, to], size) = (whole.bytes(), (whole.width, whole.height));
        let picture = |_| GuardedPicture::new(cl, input, size, from / whole.frames as usize, guard);
        let pictures = (0..whole.frames).map(picture).collect::<Result<_>>()?;
        Ok((Self(pictures), GuardedPicture::new(cl, output, size, to, guard)?))
    }

    /// Returns the pictures without their canaries, for [`BuiltVariant::plan`](super::BuiltVariant::plan).
    pub fn pictures(&self) -> Vec<&Picture> {
        self.0.iter().map(|guarded| &guarded.picture).collect()
    }

    /// Returns the bytes of all pictures, which follow each other in `input`, each with its canaries.
    pub fn between_canaries(&self, input: &[u8]) -> Vec<u8> {
        let pictures = input.chunks(input.len() / self.0.len());
        let guarded = self.0.iter().zip(pictures);
        let guarded = guarded.map(|(of, picture)| verify::between_canaries(picture, of.guard));
        // Whole pictures at once: byte by byte would take longer than filtering one.
        guarded.collect::<Vec<_>>().concat()
    }

    /// Copies `bytes`, all pictures with their canaries, to the device, and waits.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Result<()> {
        let pictures = bytes.chunks(bytes.len() / self.0.len());
        self.0.iter().zip(pictures).try_for_each(|(guarded, bytes)| guarded.write(queue, bytes))
    }

    /// Copies all pictures and their canaries to `after`, and waits. The canaries of an image are those of `before`.
    pub fn read(&self, queue: &Queue, before: &[u8], after: &mut [u8]) -> Result<()> {
        let length = before.len() / self.0.len();
        let pictures = before.chunks(length).zip(after.chunks_mut(length));
        self.0
            .iter()
            .zip(pictures)
            .try_for_each(|(guarded, (before, after))| guarded.read(queue, before, after))
    }
}
