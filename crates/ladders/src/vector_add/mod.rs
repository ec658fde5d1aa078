//! The vector addition ladder: `sum[i] = a[i] + b[i]` for `f32`. With one addition per twelve bytes it measures memory
//! bandwidth. It is the smallest complete ladder; copy it to begin a new one.
//!
//! IEEE 754 defines a sum to the last bit, so every variant gives exactly the bytes of [`reference()`]. Inputs are normal
//! numbers, and no sum is subnormal, because devices may flush subnormal numbers to 0.

use std::sync::atomic::{Ordering, compiler_fence};

use serde_json::json;

use base::error::Result;
use base::random::mix;
use base::threads::{Threads, share};
use base::verify::Floats;
use compute::config::{Config, Param};
use compute::plan::{Arg, Code, Host, Lens, Pass, Types, group};
use compute::variant::Variant;
use ladder::arrays::ArrayLadder;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo};
use opencl::kernel::Value;

/// The maximum count of numbers. Kernels count in 32 bits, and round up to whole work-groups.
pub(crate) const MAX_COUNT: u32 = 1 << 30;

/// The parameter for the size of the work-groups.
const GROUP: Param = Param::new("GROUP", 1024, 256, &[64, 128, 256, 512, 1024, 4096]);
/// The OpenCL types of arrays; the peak kernel copies them as integers.
const ARRAY: Types = &["float*", "uint*"];

/// Returns the launch of a kernel whose arguments are both inputs, their sum and the count of numbers. A work-item adds
/// `WIDTH`·`ITEMS` numbers; parameters that a kernel file does not have are 1.
const fn pass(kernel: &'static str) -> Pass<u32> {
    Pass {
        kernel,
        args: &[
            Arg::Memory(0, ARRAY),
            Arg::Memory(1, ARRAY),
            Arg::Memory(2, ARRAY),
            Arg::Value(&["uint"], |count| Value::Uint(*count)),
        ],
        local: group,
        // One work-item more than there are whole vectors, for the remaining numbers.
        groups: |config, count| {
            let items = count / (config.get("WIDTH") * config.get("ITEMS")) + 1;
            [items.div_ceil(config.get("GROUP")) as usize, 1]
        },
        work: None,
    }
}

/// The peak kernel: reads two arrays and writes their bitwise xor.
static PEAK: Code<u32> =
    Code::new("vector_add/limit.cl", &[pass("three_streams")], &[Param::new("WIDTH", 8, 4, &[]), GROUP]);

/// The vector addition ladder. A case is the number of floats in each array.
pub static VECTOR_ADD: ArrayLadder<u32> = ArrayLadder {
    info: LadderInfo {
        name: "vector_add",
        peaks: &[PeakKernel { name: "three-stream copy", note: None, computes: false }],
        peak_file: PEAK.file,
        inputs: INPUT_NAMES,
        options: &["count"],
        sizes: &["65536", "1048576", "16777216"],
        ..LadderInfo::DEFAULT
    },
    variants: &[
        Variant::host("serial", "Serial", "One thread, one number at a time.", SERIAL),
        Variant::host("threads", "Threads", "The same on all cores.", THREADS),
        Variant::host(
            "threads-vectors",
            "Threads, vectors",
            "All cores, several numbers an instruction.",
            THREADS_VECTORS,
        ),
        Variant::kernels(
            "scalar",
            "Scalar",
            "OpenCL, one number a work-item.",
            &Code::new("vector_add/01_scalar.cl", &[pass("vector_add_scalar")], &[GROUP]),
        ),
        Variant::kernels(
            "vector",
            "Vector",
            "OpenCL, several vectors a work-item, neighbours side by side.",
            &Code::new(
                "vector_add/02_vector.cl",
                &[pass("vector_add_vector")],
                &[Param::new("WIDTH", 8, 4, &[2, 4, 8, 16]), GROUP, Param::new("ITEMS", 1, 1, &[1, 2, 4, 8])],
            ),
        ),
        Variant::AUTO,
    ],
    peak: |device| Config::for_device(&PEAK, &device.info),
    cases: |sizes| {
        sizes.cases("count", [1_u64 << 24], |[count]| {
            let in_range = u32::try_from(count).ok().filter(|count| (1..=MAX_COUNT).contains(count));
            in_range.ok_or_else(|| format!("{count} is no --count of vector-add: choose 1 to {MAX_COUNT}"))
        })
    },
    describe: |&count| CaseInfo {
        title: if count == 1 { "1 float".to_owned() } else { format!("{count} floats") },
        json: json!({ "count": count }),
        // Three arrays fit into a core's caches, into those of a whole device, or only into memory.
        class: match count {
            0..=65_536 => "small",
            65_537..=4_194_304 => "medium",
            _ => "large",
        },
        operations: f64::from(count),
        // Inputs and sum on host and device; the expected output, and the output before and after a run.
        memory: 4 * count as usize * (3 + 3 + 3),
        ..CaseInfo::default()
    },
    // Counts below, at and above the width of a vector and of a work-group, and odd counts.
    small: &[1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 255, 257, 1000, 4099],
    smaller: |_| Vec::new(),
    lens: |&count| Lens { inputs: vec![count as usize; 2], output: count as usize, scratch: Vec::new() },
    fill: |_, input, arrays| {
        if let [a, b] = arrays {
            fill(input, a, b);
        }
    },
    expected: |_, _, arrays| Ok(Expected::new(reference(arrays[0], arrays[1]), Floats)),
    unit: "number",
};

/// Returns the expected sums as bytes. They are computed one number at a time.
pub(crate) fn reference(a: &[f32], b: &[f32]) -> Vec<u8> {
    a.iter().zip(b).flat_map(|(a, b)| (a + b).to_le_bytes()).collect()
}

/// The names of the kinds of input; the first one is timed.
const INPUT_NAMES: &[&str] = &["noise", "counting", "cancelling", "huge"];

/// Fills both arrays with numbers of the kind `name`, the same numbers each time.
fn fill(name: &str, a: &mut [f32], b: &mut [f32]) {
    for (i, (a, b)) in a.iter_mut().zip(b).enumerate() {
        let i = i as u32;
        (*a, *b) = match name {
            // Each number identifies its index.
            "counting" => ((i % 8_388_608) as f32, 0.25),
            // The sums are 0, or a rounding error.
            "cancelling" => (noise(i), -noise(i ^ (i % 2))),
            // The sums exceed the range of a float.
            "huge" => (noise(i) * 3.0e35, noise(i ^ 1) * 3.0e35),
            _ => (noise(i), noise(i.wrapping_add(0x9e37_79b9))),
        };
    }
}

/// Returns a float between 1 and 1024 of either sign, with all bits of its fraction in use.
fn noise(i: u32) -> f32 {
    let bits = mix(i);
    let exponent = 127 + (bits >> 27) % 10;
    f32::from_bits(bits & 0x8000_0000 | exponent << 23 | bits & 0x007f_ffff)
}

/// The variant `serial`, which adds one number at a time on one thread.
const SERIAL: Host<u32> = Host {
    threads: Threads::One,
    run: |_, inputs, sum, threads| add_parts(inputs, sum, threads, add_one_by_one),
};
/// The variant `threads`, which adds one number at a time on all threads.
const THREADS: Host<u32> = Host { threads: Threads::All, ..SERIAL };
/// The variant `threads-vectors`, which adds in vectors on all threads.
const THREADS_VECTORS: Host<u32> = Host {
    threads: Threads::All,
    run: |_, inputs, sum, threads| add_parts(inputs, sum, threads, add_vectorized),
};

/// Adds both inputs into `sum`, all of the same length; each thread adds a part.
fn add_parts(
    inputs: &[&[f32]],
    sum: &mut [f32],
    threads: usize,
    add: fn(&[f32], &[f32], &mut [f32]),
) -> Result<()> {
    let part = sum.len().div_ceil(threads.max(1)).max(1);
    let parts = sum.chunks_mut(part).zip(inputs[0].chunks(part).zip(inputs[1].chunks(part)));
    share(parts, threads, |(sum, (a, b))| add(a, b, sum));
    Ok(())
}

/// Adds one number at a time. A compiler fence in the loop, which generates no instruction, keeps the compiler from vectorizing
/// the loop.
fn add_one_by_one(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
        compiler_fence(Ordering::SeqCst);
    }
}

/// Adds in vectors of the widest kind that the CPU has.
fn add_vectorized(a: &[f32], b: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2, the only feature that the function is compiled for.
        return unsafe { add_avx2(a, b, sum) };
    }
    add(a, b, sum);
}

/// Adds as [`add`] does; compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(a: &[f32], b: &[f32], sum: &mut [f32]) {
    add(a, b, sum);
}

/// Adds in a loop that the compiler vectorizes for the caller's target features.
#[inline(always)]
fn add(a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a + b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_zero_normal_or_infinite() {
        for name in INPUT_NAMES {
            let (mut a, mut b) = (vec![0.0; 100_000], vec![0.0; 100_000]);
            fill(name, &mut a, &mut b);
            assert!(a.iter().chain(&b).all(|n| n.is_normal() || *n == 0.0), "{name}");
            let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            assert!(sums.iter().all(|n| !n.is_subnormal() && !n.is_nan()), "{name}");
            assert_eq!(sums.iter().any(|n| n.is_infinite()), *name == "huge", "{name}");
            assert_eq!(sums.iter().filter(|n| **n == 0.0).count() > 1000, *name == "cancelling", "{name}");
        }
    }
}
