//! The reduction ladder: the mean luminance of each block of a picture, and the sum, minimum, maximum, mean and product over
//! the whole picture. There are few operations per pixel, so it measures how many work-items can work together without waiting
//! for each other.
//!
//! All numbers are integers, so every variant gives exactly those of [`reference()`].

pub mod host;
pub mod kernels;
pub mod pictures;
mod reference;
mod work;

use bytemuck::{cast_slice, cast_slice_mut};
use serde_json::json;

use base::verify::Elements;
use ladder::arrays::{ArrayLadder, Lens};
use ladder::cache::Cache;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo, cache_class};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo, DeviceKind};

use kernels::Config;
use pictures::{BLOCK_EDGES, Case};
pub use reference::{FRAME_NUMBERS, luminance, reference};

/// The reduction ladder.
pub static REDUCTION: ArrayLadder<Case> = ArrayLadder {
    info: LadderInfo { name: "reduction", options: &["size", "block"], ..PICTURES.info },
    variants: &kernels::VARIANTS,
    describe: |case| {
        let Case { width, height, block } = *case;
        let edge = BLOCK_EDGES.iter().position(|known| *known == block).unwrap_or_default();
        let class = [
            ["small, 16", "small, 32", "small, 64"],
            ["medium, 16", "medium, 32", "medium, 64"],
            ["large, 16", "large, 32", "large, 64"],
        ][case.size_class()][edge];
        let title = format!("{width}×{height}, blocks of {block}");
        CaseInfo {
            title,
            json: json!(case),
            class,
            memory: memory(case, numbers(case)),
            ..CaseInfo::default()
        }
    },
    lens: |case| lens(case, numbers(case)),
    expected: |case, _, pictures| {
        let names: &[&str] = &[
            "the sum's lower half",
            "the sum's upper half",
            "the minimum",
            "the maximum",
            "the mean",
            "the product",
        ];
        Ok(expected(&reference(cast_slice(pictures[0]), case), names, "the mean of block"))
    },
    ..PICTURES
};

/// The common parts of the ladders that compute integers from a picture.
pub(crate) const PICTURES: ArrayLadder<Case> = ArrayLadder {
    info: LadderInfo {
        peaks: &[PeakKernel { name: "plain read", note: None, computes: false }],
        peak_file: "reduction/limit.cl",
        inputs: pictures::INPUT_NAMES,
        options: &["size"],
        sizes: &["640x360", "1280x720", "1920x1080", "3840x2160"],
        ..LadderInfo::DEFAULT
    },
    variants: &[],
    peak: |device| Config::for_device(&kernels::PEAK, &device.info),
    cases,
    describe: |_| CaseInfo::default(),
    // Sizes below, at and above those of blocks, tiles, vectors and strips, and odd sizes; with rows of whole vectors and
    // others.
    small: &[
        Case { width: 67, height: 33, block: 16 },
        Case { width: 1, height: 1, block: 64 },
        Case { width: 1, height: 40, block: 32 },
        Case { width: 15, height: 17, block: 16 },
        Case { width: 16, height: 16, block: 16 },
        Case { width: 64, height: 64, block: 64 },
        Case { width: 100, height: 70, block: 32 },
        Case { width: 129, height: 65, block: 64 },
        Case { width: 132, height: 129, block: 64 },
        Case { width: 300, height: 40, block: 16 },
        Case { width: 1031, height: 20, block: 64 },
        Case { width: 1284, height: 131, block: 32 },
        Case { width: 2069, height: 35, block: 16 },
    ],
    smaller: |_| Vec::new(),
    lens: |case| lens(case, 0),
    fill: |_, input, pictures| pictures.iter_mut().for_each(|to| pictures::fill(input, cast_slice_mut(to))),
    expected: |_, _, _| Ok(expected(&[], &[], "")),
    unit: "pixel",
};

/// Returns the pictures that the command line options choose, without duplicates.
fn cases(sizes: &Sizes) -> Result<Vec<Case>, String> {
    let blocks = sizes.get("block", &[[64]])?;
    let mut cases = Vec::new();
    for [width, height] in sizes.get("size", &[[1920, 1080]])? {
        for &[block] in &blocks {
            if !BLOCK_EDGES.contains(&block) {
                return Err(format!("{block} is no --block of reduction: choose 16, 32 or 64"));
            }
            let case = Case { width, height, block };
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    Ok(cases)
}

/// Returns the lengths of the arrays for a picture and for `numbers` numbers that are computed from it.
pub(crate) fn lens(case: &Case, numbers: usize) -> Lens {
    Lens { inputs: vec![case.pixels()], output: numbers, scratch: vec![kernels::part_words(case)] }
}

/// Returns the memory for a case in bytes: the picture on host and device, and read back for a check; the numbers are few.
pub(crate) fn memory(case: &Case, numbers: usize) -> usize {
    4 * (3 * case.pixels() + 8 * numbers + kernels::part_words(case))
}

/// Returns the count of numbers in the output of the reduction.
fn numbers(case: &Case) -> usize {
    FRAME_NUMBERS + case.block_counts().iter().product::<usize>()
}

/// Returns the expected numbers with their names: the first ones have `names`; all others have `numbered_name` with an index
/// appended.
pub(crate) fn expected(
    numbers: &[u32],
    names: &'static [&'static str],
    numbered_name: &'static str,
) -> Expected {
    Expected::new(cast_slice(numbers).to_vec(), NumberElements { names, numbered_name })
}

/// The elements of the output: 32-bit integers.
#[derive(Debug, Clone, Copy)]
struct NumberElements {
    /// The names of the numbers before the numbered ones.
    names: &'static [&'static str],
    /// The name of all numbers after those with `names`; their index, from 0 on, is appended.
    numbered_name: &'static str,
}

impl Elements for NumberElements {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn bytes(&self) -> usize {
        4
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(u32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        let rest = || format!("{} {}", self.numbered_name, number - self.names.len());
        self.names.get(number).map_or_else(rest, |name| (*name).to_owned())
    }
}

/// Returns the fastest kernels for reducing a picture in a buffer, with their parameters: those in the tuning cache, or else
/// kernels that are the fastest on most devices of this kind.
pub fn best_config(cl: &ClContext, case: &Case) -> Config {
    let device = &cl.device.info;
    let class = cache_class(&REDUCTION, case);
    let tuned = Cache::load().fastest(device, cl.sources(), &class, |name| {
        Some(((), kernels::VARIANTS.iter().find(|variant| variant.id == name)?.code(device.kind)?))
    });
    let first = match device.kind {
        DeviceKind::Cpu => &kernels::STRIPS,
        _ => &kernels::ONE_PASS,
    };
    tuned.map_or_else(|| Config::for_device(first, device), |((), config)| config)
}

/// Returns the kernels for reducing a picture that is in an OpenCL image instead of a buffer, with their default parameters on
/// this device.
pub fn image_config(device: &DeviceInfo) -> Config {
    Config::for_device(&kernels::ONE_PASS_IMAGE, device)
}
