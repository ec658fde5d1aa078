//! The ladders: each is one computation, written several times. What they share is in [`crate::ladder`].

pub mod vector_add;
