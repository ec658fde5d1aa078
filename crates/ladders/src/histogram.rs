//! The histogram ladder, whose variants count a picture's pixels with each luminance. It uses the pictures, the memory and the
//! luminance of the [reduction](mod@super::reduction).

mod kernels;

use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;
use serde_json::json;

use super::reduction::{PICTURES, expected, memory};
use base::error::Result;
use base::threads::{Threads, share};
use compute::plan::Host;
use compute::reduction::kernels::BINS;
use compute::reduction::{Case, luminance};
use ladder::arrays::ArrayLadder;
use ladder::runner::{CaseInfo, LadderInfo};

/// The variant `serial`, which counts on one thread.
const SERIAL: Host<Case> = Host { threads: Threads::One, run: count_luminances };
/// The variant `threads`, which counts on all threads.
const THREADS: Host<Case> = Host { threads: Threads::All, run: count_luminances };

/// Counts the luminances of a picture's pixels into `numbers`; each thread counts a part of the picture.
fn count_luminances(case: &Case, inputs: &[&[f32]], numbers: &mut [f32], threads: usize) -> Result<()> {
    let (pixels, numbers): (&[u8], &mut [u32]) = (cast_slice(inputs[0]), cast_slice_mut(numbers));
    numbers.fill(0);
    let numbers = Mutex::new(numbers);
    let part = 4 * case.pixels().div_ceil(threads.max(1)).max(1);
    share(pixels.chunks(part), threads, |part| {
        let mut bins = [0; BINS];
        for pixel in part.chunks_exact(4) {
            bins[luminance(pixel) as usize & (BINS - 1)] += 1;
        }
        let mut numbers = numbers.lock();
        numbers.iter_mut().zip(&bins).for_each(|(number, bin)| *number += bin);
    });
    Ok(())
}

/// The histogram ladder.
pub static HISTOGRAM: ArrayLadder<Case> = ArrayLadder {
    info: LadderInfo { name: "histogram", ..PICTURES.info },
    variants: &kernels::VARIANTS,
    describe: |case| {
        let Case { width, height, .. } = *case;
        CaseInfo {
            title: format!("{width}×{height}"),
            json: json!({ "width": width, "height": height }),
            class: ["small", "medium", "large"][case.size_class()],
            memory: memory(case, BINS),
            ..CaseInfo::default()
        }
    },
    lens: |case| case.lens(BINS),
    expected: |_, _, pictures| {
        let mut bins = [0; BINS];
        for pixel in cast_slice::<_, u8>(pictures[0]).chunks_exact(4) {
            bins[luminance(pixel) as usize] += 1;
        }
        Ok(expected(&bins, &[], "the count of luminance"))
    },
    ..PICTURES
};
