//! A pool of host memory that a device can upload from. The decoder's thread packs planes into it, so that the device's
//! thread only starts the upload.
//!
//! The device's thread allocates the blocks; the decoder's thread only writes to free ones. If none is free, the device's
//! thread packs the picture itself.

use std::sync::Arc;
use std::time::Instant;

use ffmpeg_next::frame::Video;
use parking_lot::Mutex;

use super::planes::{layout_of, pack};
use crate::color::Layout;
use base::error::Result;
use base::timing::log::{self, Event};
use base::timing::ms_since;

/// The number of blocks beyond which a pool grows only while all its blocks are in use: enough for a full queue, the frames on
/// the device, and the frame on the screen.
const MAX_BLOCKS: usize = 14;
/// The number of blocks that a pool may have however large they are: as many as the shortest queue needs.
const MIN_BLOCKS: usize = 8;
/// The maximum size in bytes of all blocks of a pool together. If [`MAX_BLOCKS`] blocks would need more, fewer are allocated,
/// unless all are in use.
const MAX_TOTAL_BYTES: usize = 256 << 20;

/// A block of host memory that a device can upload from.
pub trait PlaneMemory: Send + Sync {
    /// Returns the block's bytes.
    fn bytes(&self) -> &[u8];
    /// Returns the block's bytes for writing.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// The pool of blocks of one device; clones share it.
///
/// Blocks must be freed on the device's thread, because that calls the driver. To close a device, call
/// [`close`](Staging::close) and keep the pool until it [is unused](Staging::is_unused).
#[derive(Clone, Default)]
pub struct Staging(Arc<Mutex<Blocks>>);

/// The state of a pool: its free blocks, and the number of all its blocks.
#[derive(Default)]
struct Blocks {
    free: Vec<Box<dyn PlaneMemory>>,
    /// True if the pool was closed, so that no further picture is packed.
    is_closed: bool,
    /// The size in bytes of the blocks for the present picture size.
    block_bytes: usize,
    /// The number of allocated blocks of the size `block_bytes`, free or in use.
    allocated: usize,
}

impl Staging {
    /// Packs the planes of `picture` into a free block. Returns `None` if no block of this size is free, or if no kernel
    /// converts pictures of this format.
    pub(crate) fn try_pack(&self, picture: &Video) -> Option<PackedPicture> {
        let layout = layout_of(picture)?;
        let free = {
            let mut blocks = self.0.lock();
            if blocks.is_closed {
                return None;
            }
            let at = blocks.free.iter().position(|block| block.bytes().len() == layout.bytes())?;
            blocks.free.swap_remove(at)
        };
        self.fill(picture, layout, free).ok()
    }

    /// Packs the planes of `picture` on the device's thread. `layout` must be the result of [`layout_of`] for the picture.
    ///
    /// Calls `allocate` for a new block while at most one is free, up to a maximum, and whenever none is free; otherwise uses
    /// a free one. So the pool grows until the decoder's thread always finds a free block.
    ///
    /// # Errors
    /// When memory runs out, or the planes are not in memory.
    pub fn pack(
        &self,
        picture: &Video,
        layout: &Layout,
        allocate: impl FnOnce() -> Result<Box<dyn PlaneMemory>>,
    ) -> Result<PackedPicture> {
        let size = layout.bytes();
        let max_blocks = (MAX_TOTAL_BYTES / size.max(1)).clamp(MIN_BLOCKS, MAX_BLOCKS);
        let (free, other_sizes) = {
            let mut blocks = self.0.lock();
            if blocks.block_bytes != size {
                // Blocks of the previous size that are in use are freed when they return.
                (blocks.block_bytes, blocks.allocated) = (size, 0);
            }
            let (mut fitting, other_sizes): (Vec<_>, Vec<_>) =
                blocks.free.drain(..).partition(|block| block.bytes().len() == size);
            let is_full = blocks.allocated >= max_blocks || fitting.len() > 1;
            let free = if is_full { fitting.pop() } else { None };
            blocks.free = fitting;
            (free, other_sizes)
        };
        // Freeing blocks calls the driver, so not under the lock.
        drop(other_sizes);
        let block = match free {
            Some(block) => block,
            None => {
                let block = allocate()?;
                self.0.lock().allocated += 1;
                block
            }
        };
        self.fill(picture, *layout, block)
    }

    /// Closes the pool: stops packing, and frees the blocks that are not in use.
    pub fn close(&self) {
        let free = {
            let mut blocks = self.0.lock();
            blocks.is_closed = true;
            std::mem::take(&mut blocks.free)
        };
        drop(free);
    }

    /// Returns true if there is no other clone of the pool, and no packed picture.
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn fill(&self, picture: &Video, layout: Layout, memory: Box<dyn PlaneMemory>) -> Result<PackedPicture> {
        let began = Instant::now();
        let mut packed =
            PackedPicture { layout, packing_ms: 0.0, memory: Some(memory), pool: self.0.clone() };
        if let Some(memory) = &mut packed.memory {
            pack(picture, &layout, memory.bytes_mut())?;
        }
        packed.packing_ms = ms_since(began);
        log::record(|| [Event::since("pack", began)]);
        Ok(packed)
    }
}

/// The planes of one picture in a block of a [`Staging`] pool. Dropping it returns the block to the pool.
pub struct PackedPicture {
    layout: Layout,
    /// The time that packing took, in milliseconds.
    pub packing_ms: f64,
    /// The block with the packed planes; `None` only during drop.
    memory: Option<Box<dyn PlaneMemory>>,
    pool: Arc<Mutex<Blocks>>,
}

impl PackedPicture {
    /// Returns the layout of the planes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the block with the packed planes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| memory.bytes())
    }

    /// Returns true if the pool was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.pool.lock().is_closed
    }

    /// Returns true if the block comes from the pool `staging`.
    pub fn belongs_to(&self, staging: &Staging) -> bool {
        Arc::ptr_eq(&self.pool, &staging.0)
    }
}

impl Drop for PackedPicture {
    fn drop(&mut self) {
        // The block is not freed here: only the device's thread may, and the device may be lost.
        if let Some(memory) = self.memory.take() {
            self.pool.lock().free.push(memory);
        }
    }
}

/// Ordinary memory in the place of a device's, for tests.
#[cfg(test)]
impl PlaneMemory for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;
    use ffmpeg_next::format::Pixel;

    fn picture(width: u32, grey: u8) -> Video {
        let mut picture = Video::new(Pixel::GRAY8, width, 4);
        picture.data_mut(0).fill(grey);
        picture
    }

    /// Packs a picture as the device's thread does. Returns the packed picture, and true if a block was allocated for it.
    fn pack_here(staging: &Staging, picture: &Video) -> (PackedPicture, bool) {
        let layout = layout_of(picture).unwrap();
        let mut allocated = false;
        let packed = staging.pack(picture, &layout, || {
            allocated = true;
            Ok(Box::new(vec![0x5a; layout.bytes()]))
        });
        (packed.unwrap(), allocated)
    }

    #[test]
    fn a_returned_block_is_used_by_another_thread() {
        let staging = Staging::default();
        assert!(staging.try_pack(&picture(16, 1)).is_none(), "nothing was made yet");
        let (first, allocated) = pack_here(&staging, &picture(16, 1));
        assert!(allocated && first.bytes().iter().all(|b| *b == 1) && first.belongs_to(&staging));
        assert!(!first.belongs_to(&Staging::default()));
        assert!(staging.try_pack(&picture(16, 2)).is_none(), "the only block is in use");
        drop(first);
        let other = staging.clone();
        let second = std::thread::spawn(move || other.try_pack(&picture(16, 2)).unwrap()).join().unwrap();
        assert!(second.bytes().iter().all(|b| *b == 2) && second.bytes().len() == 64);
        assert_eq!(second.layout().width, 16);
    }

    #[test]
    fn blocks_of_another_size_are_freed_and_the_pool_grows_only_as_needed() {
        let staging = Staging::default();
        drop(pack_here(&staging, &picture(16, 1)));
        assert!(staging.try_pack(&picture(32, 1)).is_none());
        let (large, allocated) = pack_here(&staging, &picture(32, 3));
        assert!(allocated && large.bytes().len() == 128);
        assert!(staging.0.lock().free.is_empty(), "the small one has gone");
        assert!(staging.try_pack(&picture(16, 1)).is_none());
        let staging = Staging::default();
        // One is in use at a time, and one more is free for the decoder's thread.
        let allocated = (0..MAX_BLOCKS).filter(|_| pack_here(&staging, &picture(16, 1)).1).count();
        assert_eq!(allocated, 2);
        // Blocks in use make the pool grow, beyond the maximum only while all are in use.
        let held: Vec<_> = (0..MAX_BLOCKS + 2).map(|_| pack_here(&staging, &picture(16, 1))).collect();
        assert_eq!(allocated + held.iter().filter(|(_, allocated)| *allocated).count(), MAX_BLOCKS + 2);
        drop(held);
        assert!(!pack_here(&staging, &picture(16, 1)).1);
    }

    #[test]
    fn blocks_of_a_closed_pool_wait_for_its_owner_and_errors_return_them() {
        let staging = Staging::default();
        let (packed, _) = pack_here(&staging, &picture(16, 1));
        let decoders = staging.clone();
        staging.close();
        assert!(packed.is_closed() && !staging.is_unused());
        drop(packed);
        // The block has come back, and is not packed into any more.
        assert!(decoders.try_pack(&picture(16, 1)).is_none());
        assert_eq!(staging.0.lock().free.len(), 1);
        drop(decoders);
        assert!(staging.is_unused());
        let staging = Staging::default();
        let source = picture(16, 1);
        let layout = layout_of(&source).unwrap();
        let none = staging.pack(&source, &layout, || Err(Error::new("No.", "", "")));
        assert_eq!(none.err().unwrap().what, "No.");
        // A picture that does not fit the layout returns its block.
        assert!(staging.pack(&picture(32, 1), &layout, || Ok(Box::new(vec![0; 64]))).is_err());
        assert_eq!(staging.0.lock().free.len(), 1);
        assert!(staging.try_pack(&source).is_some());
    }
}
