//! The description of a filter: a folder with a `filter.toml` and kernels, read into plain data ([`Description`]). Nothing here
//! needs a device: [`Values`] computes launches, numbers and sizes of memory from a picture's size and parameters.
//!
//! docs/filters.md explains the format to those who write filters; its tables are made from the list of keys of this crate.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

mod code;
mod description;
mod expression;
pub mod folder;
mod keys;
mod parse;
mod place;
mod settings;
mod shape;
mod trial;
mod values;

pub use description::{
    Accuracy, Argument, Channels, Code, Comparison, Description, Format, Memory, NumberType, Parameter, Pass,
    Passed, Reference, Rows, Scratch, ScratchMemory, Tuning, Variant, Work,
};
pub use expression::Expression;
pub use keys::FORMAT;
pub use place::{Mistake, Place, nearest};
pub use settings::{MAX_PARAMETERS, Settings};
pub use values::{Launch, Lookup, Number, Values};

#[cfg(test)]
mod document_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_files;
