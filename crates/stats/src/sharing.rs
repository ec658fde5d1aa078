//! The path of pictures from OpenCL to OpenGL.

/// The path of pictures from OpenCL to OpenGL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// OpenCL writes into OpenGL's textures, without a copy.
    ZeroCopy,
    /// Pictures are copied through host memory.
    Copy {
        /// The reason for copying, as one sentence for the overlay, without its full stop.
        reason: String,
    },
}

impl Sharing {
    /// Returns [`Sharing::Copy`] with this reason.
    pub fn copy(reason: impl Into<String>) -> Self {
        Sharing::Copy { reason: reason.into() }
    }

    /// Returns "zero-copy" or "copy", as in JSON.
    pub fn name(&self) -> &'static str {
        if *self == Sharing::ZeroCopy { "zero-copy" } else { "copy" }
    }

    /// Returns the reason for copying pictures; empty if textures are shared.
    pub fn reason(&self) -> &str {
        if let Sharing::Copy { reason } = self { reason } else { "" }
    }
}
