//! The ladder of the cloth: a figure that walks in a shirt, skinned and moved by five kernels in a row.
//!
//! Kernels and plain Rust are compared with double precision, each step within a tolerance of its own: 0.02 mm for skinning,
//! integration, drivers and write-back, 0.05 mm for constraints, whose errors go through all that follow, 1 mm for all five.
//! A normal may be off by ten times as much in parts of its length.

mod case;
pub mod chain;
mod codes;
mod data;
mod geometry;
mod host;
mod kernels;
mod ladder;
mod layout;
pub mod model;
mod reference;
mod room;
mod shirt;
pub mod steps;
pub(crate) mod thin;
mod walk;
mod ways;

pub use ladder::Cloth;
