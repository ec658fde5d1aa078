//! The device's memory objects of a slot.

use std::ptr::NonNull;

use super::no_picture_error;
use crate::plans::Plans;
use crate::sharing::SharedTexture;
use base::error::Result;
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};

/// The index of the RGBA input among [`DeviceSide::pictures`].
pub(super) const SOURCE: usize = 0;
/// The index of the output among [`DeviceSide::pictures`]: the filtered picture, which is copied to the host.
pub(super) const TARGET: usize = 1;

/// The device's memory objects of a slot. With `CL_MEM_USE_HOST_PTR` their memory lies in the slot's host memory, so they must be dropped
/// before it.
#[derive(Default)]
pub(crate) struct DeviceSide {
    /// The plans, which are kernels with the memory objects below as arguments.
    pub(crate) plans: Plans,
    /// The memory objects of the input and the output.
    pub(super) pictures: [Option<Picture>; 2],
    /// The memory object of the shared texture; `None` before its first use.
    pub(super) shared: Option<SharedTexture>,
    /// True if the host has mapped the input or the output. They are not mapped before their first use: a new memory object has
    /// the contents of its host memory, so that nothing has to be mapped and waited for.
    pub(super) mapped: [bool; 2],
    /// True while the device may use the slot's host memory or texture.
    pub(super) handed_over: bool,
}

impl DeviceSide {
    /// Returns the memory object of the input or the output, or creates one: on a CPU device in the host memory at `host`, else in the
    /// device's memory. The host memory must have room for a picture of this size, and is dropped after this object.
    ///
    /// # Errors
    /// If the device cannot hold a picture of this size and storage.
    pub(super) fn picture(
        &mut self,
        side: usize,
        cl: &ClContext,
        storage: Storage,
        (width, height): (u32, u32),
        host: NonNull<u8>,
    ) -> Result<Picture> {
        if let Some(picture) = &self.pictures[side] {
            if picture.storage() == storage {
                return Ok(picture.clone());
            }
            self.drop_picture(side);
        }
        let picture = if cl.uses_host_memory() {
            // SAFETY: the slot's memory holds width·height·4 bytes, is aligned to a page, and outlives the picture: the slot's
            // device side is dropped before it.
            unsafe { Picture::from_host(cl, storage, width, height, host.as_ptr())? }
        } else {
            Picture::alloc(cl, storage, width, height)?
        };
        Ok(self.pictures[side].insert(picture).clone())
    }

    /// Drops the memory object of the input or the output. Also drops all plans, because some have this memory object as an
    /// argument.
    pub(super) fn drop_picture(&mut self, side: usize) {
        if self.pictures[side].is_some() {
            self.plans = Plans::default();
            self.pictures[side] = None;
            self.mapped[side] = false;
        }
    }

    /// Returns the OpenCL memory object of the texture.
    ///
    /// # Errors
    /// If the texture is not shared.
    pub(crate) fn shared_texture(&self) -> Result<&SharedTexture> {
        self.shared.as_ref().ok_or_else(no_picture_error)
    }
}
