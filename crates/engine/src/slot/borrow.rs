//! A slot whose unfiltered picture is another one's. In: the host's memory that both read, or nothing where the device has the
//! picture. Out: a slot that can be filtered as if it had been loaded.

use std::sync::Arc;

use super::{Loaded, ResultIn, Slot, still_in_use};
use base::error::Result;
use opencl::host_block::HostBlock;

impl Slot {
    /// Takes another slot's unfiltered picture for its own, until [`Slot::give_input_back`]: nothing is copied.
    ///
    /// # Errors
    /// When the device has its own.
    pub(crate) fn borrow_input(&mut self, block: Arc<HostBlock>) -> Result<()> {
        if self.device.handed_over {
            return Err(still_in_use());
        }
        if self.input.as_ref().is_none_or(|own| !Arc::ptr_eq(own, &block)) {
            self.replace_input(Some(block));
        }
        (self.loaded, self.borrows) = (Loaded::Rgba, true);
        self.result_is_in(ResultIn::Input);
        Ok(())
    }

    /// Lets a borrowed picture go.
    pub(crate) fn give_input_back(&mut self) {
        if std::mem::take(&mut self.borrows) {
            self.replace_input(None);
        }
    }

    /// What the device has of the input lies in the block before, and goes first.
    pub(super) fn replace_input(&mut self, block: Option<Arc<HostBlock>>) {
        self.forget_source();
        self.input = block;
    }

    /// Loads nothing: the device has the unfiltered picture already.
    pub(crate) fn load_nothing(&mut self) {
        self.loaded = Loaded::Nothing;
    }
}
