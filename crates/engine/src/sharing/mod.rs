//! The only place that shares memory between OpenCL and OpenGL, or copies between them.
//!
//! In: a device and the window's OpenGL context. Out: an OpenCL context for it, the answer whether the two share
//! textures ([`Sharing`]), and what brings frames from the one to the other, with which
//! [`Slot`](crate::Slot)s are made.

mod context;
mod handover;
mod on_gl;
mod self_test;
mod shared_texture;
pub mod vertex_buffer;

pub use context::{NOT_OFFERED, driving_device, is_listed, open, open_on};
pub use on_gl::{Ask, OnGl};
pub(crate) use shared_texture::Shared;

/// Whether frames stay on the device between OpenCL and OpenGL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// OpenCL writes into OpenGL's textures.
    ZeroCopy,
    /// Frames are copied, and why.
    Copy {
        /// One sentence for the overlay, without its full stop.
        reason: String,
    },
}

impl Sharing {
    /// The path that copies, because of `reason`.
    pub fn copy(reason: impl Into<String>) -> Self {
        Sharing::Copy { reason: reason.into() }
    }

    /// "zero-copy" or "copy", as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Sharing::ZeroCopy => "zero-copy",
            Sharing::Copy { .. } => "copy",
        }
    }

    /// The reason for copying; empty when nothing is copied.
    pub fn reason(&self) -> &str {
        match self {
            Sharing::ZeroCopy => "",
            Sharing::Copy { reason } => reason,
        }
    }
}
