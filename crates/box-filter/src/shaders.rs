//! The interface to the filter as OpenGL shaders. A crate above this one implements it.

use base::error::Result;
use compute::sample::Sample;

/// The filter as OpenGL shaders, in a context of its own, for one picture size.
pub trait Shaders {
    /// Uploads the picture to filter, and waits for the upload.
    fn load(&self, rgba: &[u8]);

    /// Fills the output with these pixels, so that pixels that are not drawn are detected.
    fn poison(&self, rgba: &[u8]);

    /// Filters the uploaded picture, and waits. Without timer queries of OpenGL there is no device time.
    ///
    /// # Errors
    /// Returns an error if the driver cannot draw into the textures.
    fn run(&self, radius: u32) -> Result<Sample>;

    /// Returns the filtered picture as RGBA pixels.
    ///
    /// # Errors
    /// Returns an error if memory runs out, or the driver does not read textures back.
    fn read(&self) -> Result<Vec<u8>>;
}
