//! OpenGL without a window: contexts, programs, textures, buffers and timer queries.

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod headless;
pub mod names;
pub mod pixel_buffer;
pub mod read_texture;
pub mod renderer;
pub mod shader;
pub mod texture;
pub mod timer;
