//! The ladder of reductions: the mean luminance of each block of a picture, and the sum, minimum, maximum, mean and product
//! over the whole picture. There are a few operations per pixel: it measures how many work-items can work together without
//! waiting for each other.
//!
//! All numbers are integers, so every variant gives exactly those of [`reference()`].

pub mod code;
pub mod host;
pub(crate) mod kernels;
mod memory;
pub mod pictures;
pub mod pixel_reduction;
mod reference;
pub mod work;

use ladder::cache::Cache;
use ladder::config::Config;
use ladder::runner::cache_class;
use ladder::variant::Variant;
use opencl::cl::{ClContext, DeviceInfo, DeviceKind};

use code::Code;
use pictures::{BLOCK_EDGES, Case};
use pixel_reduction::{Host, PictureLadder, PixelReduction};
pub use reference::{FRAME_NUMBERS, luminance, reference};

/// The variants of the ladder of reductions, in the order of the tables.
static VARIANTS: [Variant<Code, Host>; 15] = [
    Variant::host("serial", "Serial", "One thread, one pixel at a time.", host::SERIAL),
    Variant::host("threads", "Threads", "The same on all cores.", host::THREADS),
    Variant::host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, several pixels an instruction.",
        host::THREADS_VECTORS,
    ),
    Variant::kernels(
        "interleaved",
        "Interleaved",
        "OpenCL, a tree in local memory with strided indices.",
        &kernels::INTERLEAVED,
    ),
    Variant::kernels(
        "sequential",
        "Sequential",
        "The tree's first half joins with its second: neighbours touch neighbours.",
        &kernels::SEQUENTIAL,
    ),
    Variant::kernels(
        "unrolled",
        "Unrolled",
        "The last steps unrolled, and without barriers.",
        &kernels::UNROLLED,
    ),
    Variant::kernels(
        "prefetch-2",
        "Prefetch 2",
        "Half the work-items, two pixels each.",
        &kernels::PREFETCH_2,
    ),
    Variant::kernels(
        "prefetch-4",
        "Prefetch 4",
        "A quarter of them, four pixels each.",
        &kernels::PREFETCH_4,
    ),
    Variant::kernels("wide-32", "Wide 32", "A group has 32×32 pixels.", &kernels::WIDE_32),
    Variant::kernels("wide-64", "Wide 64", "A group has 64×64 pixels.", &kernels::WIDE_64),
    Variant::kernels(
        "two-stage",
        "Two stages",
        "Few work-items, each of which adds up many pixels in a row before the tree.",
        &kernels::TWO_STAGE,
    ),
    Variant::kernels(
        "sub-groups",
        "Sub-groups",
        "Four pixels a reading; work-items that run as one join without a tree.",
        &kernels::SUB_GROUPS,
    ),
    Variant::kernels(
        "one-pass",
        "One pass",
        "The same in one launch: the group that ends last finishes the frame.",
        &kernels::ONE_PASS,
    ),
    Variant::kernels(
        "strips",
        "Strips",
        "One launch for CPUs: one work-item a strip, vectors of 16 pixels.",
        &kernels::STRIPS,
    ),
    Variant::AUTO,
];

/// The ladder of reductions.
pub static REDUCTION: PictureLadder<Reduction> = PictureLadder(Reduction);

/// Returns the fastest kernels for reducing a picture in a buffer, with their parameters: those in the tuning cache, or else
/// kernels that are the fastest on most devices of this kind.
pub fn best_config(cl: &ClContext, case: &Case) -> Config<Code> {
    let device = &cl.device.info;
    let class = cache_class(&REDUCTION, case);
    let tuned = Cache::load().fastest(device, cl.sources(), &class, |name| {
        Some(((), VARIANTS.iter().find(|variant| variant.id == name)?.code(device.kind)?))
    });
    let first = match device.kind {
        DeviceKind::Cpu => &kernels::STRIPS,
        _ => &kernels::ONE_PASS,
    };
    tuned.map_or_else(|| Config::for_device(first, device), |((), config)| config)
}

/// Returns the kernels for reducing a picture that is in an OpenCL image instead of a buffer, with their default parameters on
/// this device.
pub fn image_config(device: &DeviceInfo) -> Config<Code> {
    Config::for_device(&kernels::ONE_PASS_IMAGE, device)
}

/// The reduction of a picture to the mean luminance of each block, and to numbers of the whole picture.
#[derive(Debug, Clone, Copy)]
pub struct Reduction;

impl PixelReduction for Reduction {
    const NAME: &'static str = "reduction";
    const OPTIONS: &'static [&'static str] = &["size", "block"];
    const NUMBER_NAMES: &'static [&'static str] = &[
        "the sum's lower half",
        "the sum's upper half",
        "the minimum",
        "the maximum",
        "the mean",
        "the product",
    ];
    const NUMBERED_NAME: &'static str = "the mean of block";

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &VARIANTS
    }

    fn numbers(&self, case: &Case) -> usize {
        let [across, down] = case.block_counts();
        FRAME_NUMBERS + across * down
    }

    fn part_bytes(&self, case: &Case) -> usize {
        let [across, down] = case.square_counts(BLOCK_EDGES[0]);
        16 * across * down
    }

    fn reference(&self, pixels: &[u8], case: &Case) -> Vec<u32> {
        reference(pixels, case)
    }
}
