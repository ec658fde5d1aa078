//! Memory in which planes lie ready for a device. In: a decoded picture. Out: its planes in one block, packed on the
//! decoder's thread, so that the device's thread has only to hand them over.
//!
//! The memory is the device's business: its thread makes it, and the decoder's thread only writes into what is
//! free. Where nothing is free the picture goes on as it is, and the device's thread packs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ffmpeg_next::frame::Video;

use super::planes::{layout_of, pack};
use crate::color::Layout;
use base::error::Result;
use base::timing::log::{self, Event};
use base::timing::ms_since;

/// Blocks that a full queue, the frames on the device, and the one on the screen need.
const MOST: usize = 14;
/// … and those that the shortest queue needs.
const LEAST: usize = 8;
/// Where [`MOST`] blocks have more bytes than this, there are fewer; only where all are in use one more is made.
const MOST_BYTES: usize = 256 << 20;

/// A block of the host's memory that a device can fetch from.
pub trait PlaneMemory: Send + Sync {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// Its bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// The blocks of one device, shared by the threads that pack and those that hand over. The device has them back when the
/// last owner of them and of what is packed in them drops: whoever gives the device up [closes](Staging::close) them, and
/// keeps them until they are [unused](Staging::is_unused), so that no other thread calls the driver.
#[derive(Clone, Default)]
pub struct Staging(Arc<Pool>);

#[derive(Default)]
struct Pool(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    free: Vec<Box<dyn PlaneMemory>>,
    /// Nothing is packed there any more.
    closed: bool,
    /// Bytes of the blocks that are made now, and how many there are, free or not.
    size: usize,
    made: usize,
}

impl Pool {
    // A panic while the lock was held leaves the blocks whole: none of what is done with it calls anything that panics.
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Staging {
    /// The planes of `picture` in a block that is free; `None` where there is none of this size, or no kernel converts
    /// such pictures.
    pub(crate) fn try_pack(&self, picture: &Video) -> Option<Packed> {
        let layout = layout_of(picture)?;
        let free = {
            let mut blocks = self.0.lock();
            if blocks.closed {
                return None;
            }
            let at = blocks.free.iter().position(|block| block.bytes().len() == layout.bytes())?;
            blocks.free.swap_remove(at)
        };
        self.fill(picture, layout, free).ok()
    }

    /// The planes of `picture`, of which [`layout_of`] gave `layout`, in a free block, or in one from `make` as long as
    /// there is hardly a free one. So there are more each time that the decoder's thread had none, and in the end it always
    /// has one.
    ///
    /// # Errors
    /// When memory runs out, or the planes are not in memory.
    pub fn pack(
        &self,
        picture: &Video,
        layout: &Layout,
        make: impl FnOnce() -> Result<Box<dyn PlaneMemory>>,
    ) -> Result<Packed> {
        let size = layout.bytes();
        let most = (MOST_BYTES / size.max(1)).clamp(LEAST, MOST);
        let (free, others) = {
            let mut blocks = self.0.lock();
            if blocks.size != size {
                // Those in use come back later, and go then.
                (blocks.size, blocks.made) = (size, 0);
            }
            let (mut fitting, others): (Vec<_>, Vec<_>) =
                blocks.free.drain(..).partition(|block| block.bytes().len() == size);
            let enough = blocks.made >= most || fitting.len() > 1;
            let free = if enough { fitting.pop() } else { None };
            blocks.free = fitting;
            (free, others)
        };
        // The driver is not called while others wait for the lock.
        drop(others);
        let block = match free {
            Some(block) => block,
            None => {
                let block = make()?;
                self.0.lock().made += 1;
                block
            }
        };
        self.fill(picture, *layout, block)
    }

    /// Packs nothing more, and gives back what is free.
    pub fn close(&self) {
        let free = {
            let mut blocks = self.0.lock();
            blocks.closed = true;
            std::mem::take(&mut blocks.free)
        };
        drop(free);
    }

    /// Whether nobody else has a block, or could get one.
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn fill(&self, picture: &Video, layout: Layout, memory: Box<dyn PlaneMemory>) -> Result<Packed> {
        let began = Instant::now();
        let mut packed = Packed { layout, took_ms: 0.0, memory: Some(memory), pool: self.0.clone() };
        if let Some(memory) = &mut packed.memory {
            pack(picture, &layout, memory.bytes_mut())?;
        }
        packed.took_ms = ms_since(began);
        log::record(|| [Event::since("pack", began)]);
        Ok(packed)
    }
}

/// The planes of one picture in a block of a [`Staging`], which has the block back when this drops.
pub struct Packed {
    layout: Layout,
    took_ms: f64,
    /// Taken only when this drops.
    memory: Option<Box<dyn PlaneMemory>>,
    pool: Arc<Pool>,
}

impl Packed {
    /// How the planes lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What packing took, in milliseconds.
    pub fn took_ms(&self) -> f64 {
        self.took_ms
    }

    /// The block.
    pub fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| memory.bytes())
    }

    /// Whether its device has been given up.
    pub(crate) fn is_closed(&self) -> bool {
        self.pool.lock().closed
    }

    /// Whether the block is one of `staging`'s.
    pub fn is_of(&self, staging: &Staging) -> bool {
        Arc::ptr_eq(&self.pool, &staging.0)
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // Never freed here: that is a matter for the device's thread, and a device may have been lost meanwhile.
        if let Some(memory) = self.memory.take() {
            self.pool.lock().free.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;
    use ffmpeg_next::format::Pixel;

    struct Plain(Vec<u8>);

    impl PlaneMemory for Plain {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }

    fn picture(width: u32, grey: u8) -> Video {
        let mut picture = Video::new(Pixel::GRAY8, width, 4);
        picture.data_mut(0).fill(grey);
        picture
    }

    /// As the device's thread packs: the flag tells whether a block was made.
    fn pack_here(staging: &Staging, picture: &Video) -> (Packed, bool) {
        let layout = layout_of(picture).unwrap();
        let mut made = false;
        let packed = staging.pack(picture, &layout, || {
            made = true;
            Ok(Box::new(Plain(vec![0x5a; layout.bytes()])))
        });
        (packed.unwrap(), made)
    }

    #[test]
    fn a_block_comes_back_and_is_filled_by_the_other_thread() {
        let staging = Staging::default();
        assert!(staging.try_pack(&picture(16, 1)).is_none(), "nothing was made yet");
        let (first, made) = pack_here(&staging, &picture(16, 1));
        assert!(made && first.bytes().iter().all(|b| *b == 1) && first.is_of(&staging));
        assert!(!first.is_of(&Staging::default()));
        assert!(staging.try_pack(&picture(16, 2)).is_none(), "the only block is in use");
        drop(first);
        let other = staging.clone();
        let second = std::thread::spawn(move || other.try_pack(&picture(16, 2)).unwrap()).join().unwrap();
        assert!(second.bytes().iter().all(|b| *b == 2) && second.bytes().len() == 64);
        assert_eq!(second.layout().width, 16);
    }

    #[test]
    fn blocks_of_another_size_are_not_used_and_go() {
        let staging = Staging::default();
        drop(pack_here(&staging, &picture(16, 1)));
        assert!(staging.try_pack(&picture(32, 1)).is_none());
        let (large, made) = pack_here(&staging, &picture(32, 3));
        assert!(made && large.bytes().len() == 128);
        assert!(staging.0.lock().free.is_empty(), "the small one has gone");
        assert!(staging.try_pack(&picture(16, 1)).is_none());
    }

    #[test]
    fn there_are_never_more_blocks_than_are_needed() {
        let staging = Staging::default();
        // One is in use at a time, and one more is free for the decoder's thread.
        let made = (0..MOST).filter(|_| pack_here(&staging, &picture(16, 1)).1).count();
        assert_eq!(made, 2);
        // Who holds many has as many made, and more than are needed only where all are in use.
        let held: Vec<_> = (0..MOST + 2).map(|_| pack_here(&staging, &picture(16, 1))).collect();
        assert_eq!(made + held.iter().filter(|(_, made)| *made).count(), MOST + 2);
        drop(held);
        assert!(!pack_here(&staging, &picture(16, 1)).1);
    }

    #[test]
    fn blocks_of_a_device_that_was_given_up_wait_for_its_owner() {
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
    }

    #[test]
    fn no_memory_is_told_and_leaves_the_blocks_alone() {
        let staging = Staging::default();
        let source = picture(16, 1);
        let layout = layout_of(&source).unwrap();
        let none = staging.pack(&source, &layout, || Err(Error::new("No.", "", "")));
        assert_eq!(none.err().unwrap().what, "No.");
        // A picture that is not as it was said to be gives its block back.
        assert!(staging.pack(&picture(32, 1), &layout, || Ok(Box::new(Plain(vec![0; 64])))).is_err());
        assert_eq!(staging.0.lock().free.len(), 1);
        assert!(staging.try_pack(&source).is_some());
    }
}
