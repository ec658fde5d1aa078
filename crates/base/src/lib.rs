//! Errors, files, background jobs, threads, timing and verification, for all other crates.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod cleanup;
pub mod date;
pub mod device;
pub mod environment;
pub mod error;
pub mod exit;
pub mod jobs;
pub mod load;
pub mod memory;
pub mod metadata;
pub mod numbers;
pub mod random;
pub mod save;
pub mod stderr;
pub mod stdout;
pub mod text;
pub mod threads;
pub mod timing;
pub mod verify;
