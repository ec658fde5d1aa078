//! clreel plays a movie through hand-written OpenCL kernels and shows live what each optimisation is worth.
//!
//! This crate has the command line ([`cli`]), the window and its scenes. `docs/architecture.md` describes the crates below it,
//! the stages of a frame, and the threads.
//!
//! The window's thread makes no OpenCL calls, so that no driver can block it; each device has a thread of its own. The
//! exceptions are drivers that share textures only on the thread with OpenGL's context.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

mod app;
pub mod cli;
#[doc(hidden)]
pub mod fuzzing;
pub mod gl_window;
mod options;
mod probe;
mod scene;
mod window_system;
