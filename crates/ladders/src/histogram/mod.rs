//! The ladder of histograms: how many pixels of a picture have each luminance. It uses the pictures, the memory and the luminance
//! of the [reduction](super::reduction).

mod kernels;

use std::sync::{Mutex, PoisonError};

use super::reduction::code::Code;
use super::reduction::luminance;
use super::reduction::pictures::Case;
use super::reduction::pixel_reduction::{Host, PictureLadder, PixelReduction};
use base::threads::{Threads, share};
pub use kernels::CLEAR;
use ladder::variant::Variant;

/// The number of luminance values.
const BINS: usize = 256;

/// The variants of the histogram ladder, in the order of the tables.
static VARIANTS: [Variant<Code, Host>; 8] = [
    Variant::host("serial", "Serial", "One thread, one pixel at a time.", SERIAL),
    Variant::host("threads", "Threads", "All cores, each with a histogram of its own.", THREADS),
    Variant::kernels("global", "Global atomics", "OpenCL, counted in the device's memory.", &kernels::GLOBAL),
    Variant::kernels("local", "Local memory", "Each group counts in local memory.", &kernels::LOCAL),
    Variant::kernels(
        "several",
        "Several pixels",
        "Several pixels a work-item, so fewer groups.",
        &kernels::SEVERAL,
    ),
    Variant::kernels(
        "copies",
        "Copies",
        "Several histograms a group: neighbours count in different ones.",
        &kernels::COPIES,
    ),
    Variant::kernels(
        "private",
        "Private",
        "For CPUs: one work-item a group, with histograms that nobody else sees.",
        &kernels::PRIVATE,
    ),
    Variant::AUTO,
];

/// The variant `serial`: counts on one thread.
const SERIAL: Host = Host { threads: Threads::One, reduce: count_luminances };
/// The variant `threads`: counts on all threads.
const THREADS: Host = Host { threads: Threads::All, reduce: count_luminances };

/// Counts luminances into `numbers`; each thread counts a part of the picture.
fn count_luminances(pixels: &[u8], case: &Case, numbers: &mut [u32], threads: usize) {
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

/// The ladder of histograms.
pub static HISTOGRAM: PictureLadder<Histogram> = PictureLadder(Histogram);

/// Counts the pixels of each luminance.
#[derive(Debug, Clone, Copy)]
pub struct Histogram;

impl PixelReduction for Histogram {
    const NAME: &'static str = "histogram";
    const OPTIONS: &'static [&'static str] = &["size"];
    const NUMBER_NAMES: &'static [&'static str] = &[];
    const NUMBERED_NAME: &'static str = "the count of luminance";

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &VARIANTS
    }

    fn numbers(&self, _: &Case) -> usize {
        BINS
    }

    fn part_bytes(&self, _: &Case) -> usize {
        // Only the peak kernel uses them.
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
