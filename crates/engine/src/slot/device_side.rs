//! The OpenCL memory objects of a slot, the memory of one picture.

use super::no_picture_error;
use crate::plans::Plans;
use base::error::Result;
use opencl::memory::Picture;

/// The index of the RGBA input among [`DeviceSide::pictures`].
pub(super) const SOURCE: usize = 0;
/// The index of the output among [`DeviceSide::pictures`]: the filtered picture, which is copied to the host.
pub(super) const TARGET: usize = 1;

/// The OpenCL memory objects of a slot (the memory of one picture). With `CL_MEM_USE_HOST_PTR` their contents lie in the slot's
/// host memory, so they must be dropped before it.
#[derive(Default)]
pub(crate) struct DeviceSide {
    /// The plans, which are kernels with the memory objects below as arguments.
    pub plans: Plans,
    /// The memory objects of the RGBA input and of the output, indexed by [`SOURCE`] and [`TARGET`].
    pub pictures: [Option<Picture>; 2],
    /// The memory object of the shared texture; `None` before its first use.
    pub shared: Option<Picture>,
    /// True if the host has mapped the input or the output. They are not mapped before their first use: a new memory object has
    /// the contents of its host memory, so that nothing has to be mapped and waited for.
    pub mapped: [bool; 2],
    /// True while the device may use the slot's host memory or texture.
    pub handed_over: bool,
}

impl DeviceSide {
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
    pub(crate) fn shared_texture(&self) -> Result<&Picture> {
        self.shared.as_ref().ok_or_else(no_picture_error)
    }
}
