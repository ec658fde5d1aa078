//! The ladder of histograms: how many pixels of a picture have each luminance. It has the pictures, the memory and the
//! luminance of the [reduction](super::reduction).

mod kernels;

use std::sync::{Mutex, PoisonError};

use super::reduction::code::Code;
use super::reduction::digest::{Digest, Host, OF_SIZES, OfPictures};
use super::reduction::luminance;
use super::reduction::pictures::Case;
use base::threads::{Threads, share};
pub use kernels::CLEAR;
use ladder::rung::{Rung, Work};

/// Luminances that there are.
const BINS: usize = 256;

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
static RUNGS: [Rung<Code, Host>; 8] = [
    Rung {
        id: "serial",
        title: "Serial",
        idea: "One thread, one pixel at a time.",
        work: Work::Host(SERIAL),
    },
    Rung {
        id: "threads",
        title: "Threads",
        idea: "All cores, each with a histogram of its own.",
        work: Work::Host(THREADS),
    },
    rung("global", "Global atomics", "OpenCL, counted in the device's memory.", &kernels::GLOBAL),
    rung("local", "Local memory", "Each group counts in local memory.", &kernels::LOCAL),
    rung("several", "Several pixels", "Several pixels a work-item, so fewer groups.", &kernels::SEVERAL),
    rung(
        "copies",
        "Copies",
        "Several histograms a group: neighbours count in different ones.",
        &kernels::COPIES,
    ),
    rung(
        "private",
        "Private",
        "For CPUs: one work-item a group, with histograms that nobody else sees.",
        &kernels::PRIVATE,
    ),
    Rung {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
    },
];

const SERIAL: Host = Host { threads: Threads::One, digest: count };
const THREADS: Host = Host { threads: Threads::All, digest: count };

/// Each thread counts a part of the picture.
fn count(pixels: &[u8], case: &Case, numbers: &mut [u32], threads: usize) {
    numbers.fill(0);
    let numbers = Mutex::new(numbers);
    let part = 4 * case.pixels().div_ceil(threads.max(1)).max(1);
    share(pixels.chunks(part), threads, |part| {
        let mut bins = [0; BINS];
        for pixel in part.chunks_exact(4) {
            bins[luminance(pixel) as usize & (BINS - 1)] += 1;
        }
        let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.iter_mut().zip(&bins).for_each(|(number, bin)| *number += bin);
    });
}

/// The ladder.
pub static HISTOGRAM: OfPictures<Histogram> = OfPictures(Histogram);

/// How many pixels have each luminance.
#[derive(Debug, Clone, Copy)]
pub struct Histogram;

impl Digest for Histogram {
    const NAME: &'static str = "histogram";
    const TAKES: &'static [&'static str] = &["size"];
    const SIZES: &'static [&'static str] = OF_SIZES;
    const NUMBERS: &'static [&'static str] = &[];
    const REST: &'static str = "the count of luminance";

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &RUNGS
    }

    fn numbers(&self, _: &Case) -> usize {
        BINS
    }

    fn part_bytes(&self, _: &Case) -> usize {
        // For the limit alone.
        16
    }

    fn reference(&self, pixels: &[u8], _: &Case) -> Vec<u32> {
        let mut bins = vec![0; BINS];
        for pixel in pixels.chunks_exact(4) {
            bins[luminance(pixel) as usize] += 1;
        }
        bins
    }
}
