//! Device memory for one picture, which all frames use in turn.

use base::error::Result;
use base::memory::picture_memory;
use opencl::cl::ClContext;
use opencl::memory::{Picture, Storage};

/// Device memory for one picture, which all frames use in turn. It is replaced when another kind of memory (buffer or image) or
/// another size is needed.
#[derive(Default)]
pub(crate) struct PictureBuffer(Option<((u32, u32), Picture)>);

impl PictureBuffer {
    /// Returns memory of this kind (buffer or image) and size; allocates it if the existing memory differs. Frames that still
    /// use the previous memory keep it alive.
    pub(crate) fn get(&mut self, cl: &ClContext, storage: Storage, size: (u32, u32)) -> Result<Picture> {
        if let Some((_, picture)) = self.0.as_ref().filter(|(s, p)| *s == size && p.storage() == storage) {
            return Ok(picture.clone());
        }
        self.0 = None;
        let picture = Picture::alloc(cl, storage, size.0, size.1)?;
        Ok(self.0.insert((size, picture)).1.clone())
    }

    /// Copies the picture in this memory to the host and returns its bytes; waits for the device. Returns `None` if no memory
    /// has been allocated yet.
    pub(crate) fn read(&self, cl: &ClContext) -> Result<Option<Vec<u8>>> {
        let Some(((width, height), picture)) = &self.0 else { return Ok(None) };
        let mut pixels = picture_memory(*width, *height)?;
        picture.read(&cl.queue, &mut pixels)?;
        Ok(Some(pixels))
    }
}
