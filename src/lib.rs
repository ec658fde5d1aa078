//! clreel plays a movie through hand-written OpenCL kernels and shows, live, what each optimisation is worth.

pub mod cli;
pub mod error;
pub mod gpu;
pub mod ladder;
pub mod media;
pub mod overlay;
pub mod stats;
