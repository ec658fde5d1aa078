//! The box filter: each pixel becomes the mean of the (2r+1)² pixels around it. With it stand the kernels that convert a
//! decoder's planes ([`color_kernels`]), their checks ([`color_trial`]) and their times ([`yuv_to_rgba`]).
//!
//! The contract: radius 0 to 128; the border repeats the edge; RGBA, 8 bits a channel, each channel on its
//! own; out = (sum + N/2) / N in whole numbers with N = (2r+1)². Row sums stay whole, 16 bits a channel.
//! Every variant gives exactly the bytes of [`mod@reference`].

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod bench;
mod candidates;
mod checks;
pub mod color_kernels;
pub mod color_trial;
pub mod config;
pub mod entrants;
pub mod machine_code;
pub mod native;
pub mod opencl;
pub mod pictures;
mod plan;
pub mod planar;
pub mod reference;
mod run;
mod rungs;
mod scratch;
pub mod suite;
pub mod trial;
pub mod tune;
pub mod tuned;
pub mod whole;
pub mod yuv_to_rgba;

pub use config::{Code, Config};
pub use opencl::BuiltVariant;
pub use plan::Plan;
pub use run::filter_once;
pub(crate) use rungs::Kernels;
pub use rungs::{Group, OWN_FILE, VariantId, Work, listed};
pub use scratch::Scratch;

/// Largest radius, in pixels: 255·(2·128+1) is the largest row sum that fits 16 bits.
pub const MAX_RADIUS: u32 = 128;

#[cfg(test)]
mod tests {
    use opencl::program;

    #[test]
    fn the_kernels_know_the_largest_radius() {
        for file in ["box_filter/06_fused.cl", "box_filter/08_planes.cl"] {
            let text = program::source(file).unwrap();
            let defined = text.lines().find_map(|line| line.strip_prefix("#define MAX_RADIUS "));
            assert_eq!(defined, Some(super::MAX_RADIUS.to_string().as_str()), "{file}");
        }
    }
}
