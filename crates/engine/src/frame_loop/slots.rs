//! A pool of slots that wait for their next picture. A slot is the memory and the texture of one picture.

use std::sync::Arc;

use super::flights::WipeSide;
use super::workers::Workers;
use crate::Slot;
use base::error::Result;
use video::Frame;

/// The pool of slots that wait for their next picture. Each side of a wipe has its own slots, because a slot's memory on the
/// device fits one filter. Maps of differences use the slots of the second side.
pub(super) struct SlotPool {
    gl: Arc<glow::Context>,
    /// The unused slots, indexed by the side of a wipe that they belong to.
    free: [Vec<Slot>; 2],
}

impl SlotPool {
    pub(super) fn new(gl: Arc<glow::Context>) -> Self {
        Self { gl, free: Default::default() }
    }

    /// Returns a slot of the frame's size for this side of the wipe. Unused slots of another size are discarded.
    ///
    /// # Errors
    /// If the frame is larger than the driver's textures, or memory runs out.
    pub(super) fn take(&mut self, frame: &Frame, side: WipeSide, workers: &mut Workers) -> Result<Slot> {
        let size = (frame.width(), frame.height());
        let slots = &mut self.free[side as usize];
        slots.extract_if(.., |slot| slot.size != size).for_each(|slot| workers.discard(slot));
        match slots.pop() {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.gl, size.0, size.1),
        }
    }

    /// Puts slots back for later pictures. OpenGL must have received its last command that uses their textures.
    pub(super) fn put(&mut self, slots: impl IntoIterator<Item = (WipeSide, Slot)>) {
        for (side, mut slot) in slots {
            slot.retire();
            self.free[side as usize].push(slot);
        }
    }

    pub(super) fn discard_second(&mut self, workers: &mut Workers) {
        self.free[WipeSide::Second as usize].drain(..).for_each(|slot| workers.discard(slot));
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Slot> {
        self.free.iter_mut().flat_map(|slots| slots.drain(..))
    }
}
