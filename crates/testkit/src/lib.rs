//! Test fixtures: goldens, movies, virtual displays, an audio server and an OpenCL layer.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod audio;
pub mod display;
pub mod golden;
pub mod layer;
pub mod movie;
pub mod native;
pub mod pair;
pub mod programs;
pub mod shape;
pub mod sway;
pub mod track;
