//! The box filter: each pixel becomes the mean of the (2r+1)² pixels around it. The crate also has the kernels that convert a
//! decoder's planes to RGBA ([`color_kernels`]), and the pictures for their checks ([`color_test_pictures`]).
//!
//! The contract: radius 0 to 128; pixels beyond the border repeat the edge; RGBA with 8 bits per channel, each channel
//! filtered independently; out = (sum + N/2) / N in integers with N = (2r+1)². Row sums are exact, 16 bits per channel.
//! Every variant gives exactly the bytes of [`mod@reference`].

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod arguments;
mod classes;
pub mod color_kernels;
pub mod color_test_pictures;
pub mod config;
mod described;
mod filter;
pub mod guarded;
pub mod machine_code;
pub mod native;
pub mod opencl;
pub mod pictures;
mod plan;
pub mod planar;
pub mod reference;
mod registry;
mod run;
mod scratch;
pub mod shaders;
mod table;
pub mod trial;
pub mod tuned;
mod variants;

pub use ::filter::folder::argument_names;
pub use ::filter::{Parameter, Settings};
pub use config::{Code, Config, Extent};
pub use filter::{Group, Variant, Work};
pub use opencl::BuiltVariant;
pub use plan::Plan;
pub use registry::{Filter, OutputElements, opened_variants};
pub use run::{Bands, filter_once};
pub use scratch::Scratch;
pub use table::OWN_FILE;
pub use variants::{VariantId, join_ids, named};

/// Largest radius, in pixels: 255·(2·128+1) is the largest row sum that fits 16 bits.
pub const MAX_RADIUS: u32 = 128;

#[cfg(test)]
mod tests {
    use opencl::sources::Sources;

    #[test]
    fn kernels_define_the_same_largest_radius() {
        for file in ["box_filter/06_fused.cl", "box_filter/08_planes.cl"] {
            let text = Sources::default().text(file).unwrap();
            let defined = text.lines().find_map(|line| line.strip_prefix("#define MAX_RADIUS "));
            assert_eq!(defined, Some(super::MAX_RADIUS.to_string().as_str()), "{file}");
        }
    }
}
