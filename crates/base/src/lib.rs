//! Errors, files, background jobs, threads and checks of memory, for all other crates.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod environment;
pub mod error;
pub mod exit;
pub mod jobs;
pub mod leftovers;
pub mod load;
pub mod memory;
pub mod numbers;
pub mod random;
pub mod save;
pub mod text;
pub mod threads;
pub mod timing;
pub mod verify;
