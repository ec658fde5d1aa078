//! What the tests of several crates share: goldens, movies, displays, an OpenCL layer of their own.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them with what is private.
#![allow(rustdoc::private_intra_doc_links)]

pub mod display;
pub mod golden;
pub mod layer;
pub mod movie;
pub mod native;
pub mod pair;
pub mod shape;
