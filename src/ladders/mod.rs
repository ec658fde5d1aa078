//! The ladders: each is one computation, written several times. What they share is in [`crate::ladder`].

pub mod box_filter;
pub mod color_conversion;
pub mod conversions;
pub mod histogram;
pub mod matmul;
pub mod reduction;
pub mod transpose;
pub mod vector_add;
