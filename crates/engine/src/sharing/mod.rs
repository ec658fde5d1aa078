//! Sharing of memory between OpenCL and OpenGL.
//!
//! [`open`] opens an OpenCL context and tests whether it shares textures with the window's OpenGL context ([`Sharing`](stats::Sharing)).
//! [`Slot`](crate::Slot)s use the other types of this module.

pub mod cases;
mod context;
mod gl_access;
mod handover;
mod self_test;
pub mod vertex_buffer;

pub use context::{GL_SHARING_NOT_OFFERED, driving_device, lists_gl_sharing, open, shared_context};
pub use gl_access::{GlAccess, GlRequest};
pub(crate) use handover::{hand_over_texture, share_texture};
