//! The histogram ladder, whose variants count a picture's pixels with each luminance. It uses the pictures, the memory and the
//! luminance of the [reduction](mod@super::reduction).

use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;
use serde_json::json;

use super::reduction::{PICTURES, expected, memory};
use base::error::Result;
use base::threads::{Threads, share};
use compute::config::Param;
use compute::plan::{Host, Pass, group};
use compute::reduction::kernels::{BINS, CLEAR, Code, HEIGHT, NUMBERS, PICTURE, WIDTH};
use compute::reduction::{Case, luminance};
use compute::variant::Variant;
use ladder::arrays::ArrayLadder;
use ladder::runner::{CaseInfo, LadderInfo};

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
    variants: &VARIANTS,
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

/// Returns the launch of the kernel with the name `kernel`, which counts pixels, with as many work-groups as the picture needs.
const fn counting(kernel: &'static str) -> Pass<Case> {
    Pass {
        kernel,
        args: &[PICTURE, NUMBERS, WIDTH, HEIGHT],
        local: group,
        groups: |config, case| {
            let of_group = config.get("GROUP") * config.get("EACH");
            [case.pixels().div_ceil(of_group as usize), 1]
        },
        work: None,
    }
}

/// The parameter for the size of the work-groups.
const GROUP: Param = Param::new("GROUP", 256, 256, &[64, 128, 256, 512]);

/// The name of the kernel file of the variants that count in local memory.
const LOCAL_FILE: &str = "histogram/02_local.cl";
/// The launches of the kernels that count in local memory.
const LOCAL_PASSES: &[Pass<Case>] = &[CLEAR, counting("histogram_local")];
/// The parameter for the number of pixels that each work-item counts.
const EACH: Param = Param::new("EACH", 64, 16, &[4, 8, 16, 32, 64, 256]);

/// Returns the implementation that counts on these threads.
const fn on(threads: Threads) -> Host<Case> {
    Host { threads, run: count_luminances }
}

/// The variants of the histogram ladder, in the order in which tables list them.
static VARIANTS: [Variant<Code, Host<Case>>; 8] = [
    Variant::host("serial", "Serial", "One thread, one pixel at a time.", on(Threads::One)),
    Variant::host("threads", "Threads", "All cores, each with a histogram of its own.", on(Threads::All)),
    Variant::kernels(
        "global",
        "Global atomics",
        "OpenCL, counted in the device's memory.",
        &Code::new("histogram/01_global.cl", &[CLEAR, counting("histogram_global")], &[GROUP]),
    ),
    Variant::kernels(
        "local",
        "Local memory",
        "Each group counts in local memory.",
        &Code::new(LOCAL_FILE, LOCAL_PASSES, &[GROUP]),
    ),
    Variant::kernels(
        "several",
        "Several pixels",
        "Several pixels a work-item, so fewer groups.",
        &Code::new(LOCAL_FILE, LOCAL_PASSES, &[GROUP, EACH]),
    ),
    Variant::kernels(
        "copies",
        "Copies",
        "Several histograms a group: neighbours count in different ones.",
        &Code::new(LOCAL_FILE, LOCAL_PASSES, &[GROUP, EACH, Param::new("COPIES", 2, 8, &[2, 4, 8, 16])]),
    ),
    Variant::kernels(
        "private",
        "Private",
        "For CPUs: one work-item a group, with histograms that nobody else sees.",
        &Code::new(
            "histogram/03_private.cl",
            &[CLEAR, counting("histogram_private")],
            &[Param::new("EACH", 65_536, 1024, &[1024, 16_384, 65_536, 262_144])],
        ),
    ),
    Variant::AUTO,
];
