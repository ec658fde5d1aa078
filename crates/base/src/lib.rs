//! What all other crates stand on: errors, files, jobs, threads, times, checks of memory.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them with what is private.
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
