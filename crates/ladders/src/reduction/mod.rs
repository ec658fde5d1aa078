//! The ladder of reductions: a picture becomes the mean luminance of each of its blocks, and the sum, minimum, maximum, mean and
//! product of all of it. There are a few operations for each word that is read: what is measured is how many work-items
//! can work together without waiting for each other.
//!
//! All numbers are whole, so every rung gives exactly those of [`reference()`].

pub mod code;
pub mod digest;
pub mod host;
mod kernels;
mod memory;
pub mod pictures;
mod reference;

use ladder::cache::{Cache, Class};
use ladder::config::Config;
use ladder::contest::Ladder as _;
use ladder::rung::{Rung, Work};
use opencl::cl::{DeviceInfo, DeviceKind};

use code::Code;
use digest::{Digest, Host, OF_SIZES, OfPictures};
use pictures::{BLOCKS, Case};
pub use reference::{OF_FRAME, luminance, reference};

/// A rung of kernels.
const fn rung(
    id: &'static str,
    title: &'static str,
    idea: &'static str,
    code: &'static Code,
) -> Rung<Code, Host> {
    Rung { id, title, idea, work: Work::Kernels(code) }
}

/// The rungs in order.
static RUNGS: [Rung<Code, Host>; 15] = [
    Rung {
        id: "serial",
        title: "Serial",
        idea: "One thread, one pixel at a time.",
        work: Work::Host(host::SERIAL),
    },
    Rung { id: "threads", title: "Threads", idea: "The same on all cores.", work: Work::Host(host::THREADS) },
    Rung {
        id: "threads-vectors",
        title: "Threads, vectors",
        idea: "All cores, several pixels an instruction.",
        work: Work::Host(host::THREADS_VECTORS),
    },
    rung(
        "interleaved",
        "Interleaved",
        "OpenCL, a tree in local memory with strided indices.",
        &kernels::INTERLEAVED,
    ),
    rung(
        "sequential",
        "Sequential",
        "The tree's first half joins with its second: neighbours touch neighbours.",
        &kernels::SEQUENTIAL,
    ),
    rung("unrolled", "Unrolled", "The last steps unrolled, and without barriers.", &kernels::UNROLLED),
    rung("prefetch-2", "Prefetch 2", "Half the work-items, two pixels each.", &kernels::PREFETCH_2),
    rung("prefetch-4", "Prefetch 4", "A quarter of them, four pixels each.", &kernels::PREFETCH_4),
    rung("wide-32", "Wide 32", "A group has 32×32 pixels.", &kernels::WIDE_32),
    rung("wide-64", "Wide 64", "A group has 64×64 pixels.", &kernels::WIDE_64),
    rung(
        "two-stage",
        "Two stages",
        "Few work-items, each of which adds up many pixels in a row before the tree.",
        &kernels::TWO_STAGE,
    ),
    rung(
        "sub-groups",
        "Sub-groups",
        "Four pixels a reading; work-items that run as one join without a tree.",
        &kernels::SUB_GROUPS,
    ),
    rung(
        "one-pass",
        "One pass",
        "The same in one launch: the group that ends last finishes the frame.",
        &kernels::ONE_PASS,
    ),
    rung(
        "strips",
        "Strips",
        "One launch for CPUs: one work-item a strip, vectors of 16 pixels.",
        &kernels::STRIPS,
    ),
    Rung {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
    },
];

/// The ladder.
pub static REDUCTION: OfPictures<Reduction> = OfPictures(Reduction);

/// The kernels for such pictures on this device, with their parameters: what tuning has found the fastest, or else what is so on
/// most devices of its kind.
pub fn chosen(device: &DeviceInfo, case: &Case) -> Config<Code> {
    let class = Class::of(Reduction::NAME, REDUCTION.class(case));
    let tuned =
        Cache::load().fastest(device, &class, |name| match RUNGS.iter().find(|rung| rung.id == name)? {
            Rung { work: Work::Kernels(code), .. } => Some(((), *code)),
            _ => None,
        });
    let first = match device.kind {
        DeviceKind::Cpu => &kernels::STRIPS,
        _ => &kernels::ONE_PASS,
    };
    tuned.map_or_else(|| Config::of(first, device.kind).fitted(device), |((), config)| config)
}

/// The same for images.
pub fn chosen_for_images(device: &DeviceInfo) -> Config<Code> {
    Config::of(&kernels::ONE_PASS_OF_IMAGE, device.kind).fitted(device)
}

/// Means of blocks, and numbers of the frame.
#[derive(Debug, Clone, Copy)]
pub struct Reduction;

impl Digest for Reduction {
    const NAME: &'static str = "reduction";
    const TAKES: &'static [&'static str] = &["size", "block"];
    const SIZES: &'static [&'static str] = OF_SIZES;
    const NUMBERS: &'static [&'static str] = &[
        "the sum's lower half",
        "the sum's upper half",
        "the minimum",
        "the maximum",
        "the mean",
        "the product",
    ];
    const REST: &'static str = "the mean of block";

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &RUNGS
    }

    fn numbers(&self, case: &Case) -> usize {
        let [across, down] = case.blocks();
        OF_FRAME + across * down
    }

    fn part_bytes(&self, case: &Case) -> usize {
        let [across, down] = case.squares(BLOCKS[0]);
        16 * across * down
    }

    fn reference(&self, pixels: &[u8], case: &Case) -> Vec<u32> {
        reference(pixels, case)
    }
}
