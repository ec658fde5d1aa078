//! The reduction ladder, which computes the results of [`compute::reduction`] from a picture, such as the mean luminance of its
//! blocks. There are few operations per pixel, so it measures how many work-items can work together without waiting for each
//! other.

use base::random::Xorshift;
use base::verify::Elements;
use bytemuck::{cast_slice, cast_slice_mut};
use compute::config::Config;
use compute::reduction::{self, BLOCK_EDGES, Case, kernels, reference};
use ladder::arrays::ArrayLadder;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo};
use ladder::sizes::Sizes;
use serde_json::json;

/// The reduction ladder.
pub static REDUCTION: ArrayLadder<Case> = ArrayLadder {
    info: LadderInfo { name: reduction::NAME, options: &["size", "block"], ..PICTURES.info },
    variants: &kernels::VARIANTS,
    describe: |case| {
        let Case { width, height, block } = *case;
        CaseInfo {
            title: format!("{width}×{height}, blocks of {block}"),
            json: json!(case),
            class: case.class(),
            memory: memory(case, case.numbers()),
            ..CaseInfo::default()
        }
    },
    lens: |case| case.lens(case.numbers()),
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

/// The names of the kinds of input; the first one is timed.
const INPUT_NAMES: &[&str] = &["noise", "white", "black", "one pixel", "grey"];

/// A template with the properties that the ladders of reduction and histogram share. Both compute integers from a picture.
pub(crate) const PICTURES: ArrayLadder<Case> = ArrayLadder {
    info: LadderInfo {
        peaks: &[PeakKernel { name: "plain read", note: None, computes: false }],
        peak_file: "reduction/limit.cl",
        inputs: INPUT_NAMES,
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
    lens: |case| case.lens(0),
    fill: |_, input, pictures| pictures.iter_mut().for_each(|to| fill(input, cast_slice_mut(to))),
    expected: |_, _, _| Ok(expected(&[], &[], "")),
    unit: "pixel",
};

/// Fills `picture` with the RGBA picture called `name`. Each call gives the same bytes. Alpha is noise, because reductions
/// ignore it.
fn fill(name: &str, picture: &mut [u8]) {
    let mut random = Xorshift::new(0x9e37_79b9);
    for word in picture.chunks_exact_mut(4) {
        word.copy_from_slice(&random.draw().to_le_bytes());
    }
    let last = picture.len() / 4 - 1;
    for (at, pixel) in picture.chunks_exact_mut(4).enumerate() {
        let level = |byte: u8| match name {
            "white" => 255,
            "black" => 0,
            "one pixel" => u8::from(at == last) * 255,
            // Neither 0 nor 255 is among these values.
            "grey" => 100 + byte % 32,
            _ => byte,
        };
        for byte in &mut pixel[..3] {
            *byte = level(*byte);
        }
    }
}

/// Returns the pictures that the command line options select, without duplicates.
fn cases(sizes: &Sizes) -> Result<Vec<Case>, String> {
    let blocks = sizes.cases("block", [64], |[block]| match BLOCK_EDGES.contains(&block) {
        true => Ok(block),
        false => Err(format!("{block} is no --block of reduction: choose 16, 32 or 64")),
    })?;
    let sizes = sizes.cases("size", [1920, 1080], Ok)?;
    let of_size = |[width, height]: [u32; 2]| blocks.iter().map(move |&block| Case { width, height, block });
    Ok(sizes.into_iter().flat_map(of_size).collect())
}

/// Returns the memory in bytes that a case needs, mainly for the picture on host and device, and read back for a check.
/// `numbers` is the number of results.
pub(crate) fn memory(case: &Case, numbers: usize) -> usize {
    4 * (3 * case.pixels() + 8 * numbers + case.lens(0).scratch[0])
}

/// Returns the expected numbers with the names that reports use: the first ones have `names`; all others have `numbered_name`
/// with an index appended.
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
    /// The names of the first numbers of the output.
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
