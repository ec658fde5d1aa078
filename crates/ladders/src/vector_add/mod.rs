//! The vector addition ladder: `sum[i] = a[i] + b[i]` for `f32`. With one addition per twelve bytes it measures memory
//! bandwidth. It is the smallest complete ladder; copy it to begin a new one.
//!
//! IEEE 754 defines a sum to the last bit, so every variant gives exactly the bytes of [`reference()`]. Inputs are normal
//! numbers, and no sum is subnormal, because devices may flush subnormal numbers to 0.

mod host;
mod inputs;

use serde_json::json;

use crate::counts;
use base::verify::Floats;
use compute::config::{Config, Param};
use compute::plan::{Arg, Code, Lens, Pass, Types, group};
use compute::variant::Variant;
use ladder::arrays::ArrayLadder;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo};
use opencl::kernel::Value;

/// The maximum count of numbers. Kernels count in 32 bits, and round up to whole work-groups.
pub(crate) const MAX_COUNT: u32 = 1 << 30;

/// The parameter for the size of the work-groups.
const GROUP: Param = Param { name: "GROUP", cpu: 1024, gpu: 256, values: &[64, 128, 256, 512, 1024, 4096] };
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
static PEAK: Code<u32> = Code::new(
    "vector_add/limit.cl",
    &[pass("three_streams")],
    &[Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[] }, GROUP],
);

/// The vector addition ladder. A case is the number of floats in each array.
pub static VECTOR_ADD: ArrayLadder<u32> = ArrayLadder {
    info: LadderInfo {
        name: "vector_add",
        peaks: &[PeakKernel { name: "three-stream copy", note: None, computes: false }],
        peak_file: PEAK.file,
        inputs: inputs::INPUT_NAMES,
        options: &["count"],
        sizes: &["65536", "1048576", "16777216"],
        ..LadderInfo::DEFAULT
    },
    variants: &[
        Variant::host("serial", "Serial", "One thread, one number at a time.", host::SERIAL),
        Variant::host("threads", "Threads", "The same on all cores.", host::THREADS),
        Variant::host(
            "threads-vectors",
            "Threads, vectors",
            "All cores, several numbers an instruction.",
            host::THREADS_VECTORS,
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
                &[
                    Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[2, 4, 8, 16] },
                    GROUP,
                    Param { name: "ITEMS", cpu: 1, gpu: 1, values: &[1, 2, 4, 8] },
                ],
            ),
        ),
        Variant::AUTO,
    ],
    peak: |device| Config::for_device(&PEAK, &device.info),
    cases: |sizes| counts::requested_counts(sizes, "vector-add", MAX_COUNT),
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
            inputs::fill(input, a, b);
        }
    },
    expected: |_, _, arrays| Ok(Expected::new(reference(arrays[0], arrays[1]), Floats)),
    unit: "number",
};

/// Returns the expected sums as bytes. They are computed one number at a time.
pub(crate) fn reference(a: &[f32], b: &[f32]) -> Vec<u8> {
    a.iter().zip(b).flat_map(|(a, b)| (a + b).to_le_bytes()).collect()
}
