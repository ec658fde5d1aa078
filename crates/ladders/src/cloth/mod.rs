//! The cloth ladder: a walking figure in a shirt, skinned and simulated by five kernels in a row.
//!
//! The outputs of kernels and plain Rust are compared with results in double precision, each step within a tolerance of its
//! own: 0.02 mm for skinning, integration, drivers and write-back, 0.05 mm for constraints, whose errors propagate through all
//! that follow, 1 mm for all five steps. A normal may have an error of ten times as much, in parts of its length.

mod buffers;
mod case;
pub mod chain;
mod codes;
mod data;
pub mod geometry;
mod host;
mod kernels;
mod ladder;
mod layout;
pub(crate) mod level_of_detail;
pub mod model;
mod reference;
mod shirt;
pub mod steps;
mod transfers;
mod walk;

pub use ladder::Cloth;
