//! The ladder of vector addition: `sum[i] = a[i] + b[i]` for `f32`. With one addition per twelve bytes it measures memory
//! bandwidth. It is the smallest complete ladder; copy it to begin a new one.
//!
//! IEEE 754 defines a sum to the last bit, so every variant gives exactly the bytes of [`reference()`]. Inputs are normal
//! numbers, and no sum is subnormal, since devices may flush subnormal numbers to 0.

mod host;
mod inputs;
mod kernels;

use serde_json::json;

use crate::array_kernel::{self, Built, Code};
use crate::counts;
use crate::device::require_memory;
use base::error::Result;
use base::verify::Floats;
use ladder::arrays::Arrays;
use ladder::measure::Sample;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::variant::Variant;
use opencl::cl::{ClContext, Device};

use host::Host;

/// The maximum count of numbers: kernels count in 32 bits, and round up to whole work-groups.
pub(crate) const MAX_COUNT: u32 = 1 << 30;

/// The variants of the ladder of vector addition, in the order of the tables.
static VARIANTS: [Variant<Code, Host>; 6] = [
    Variant::host("serial", "Serial", "One thread, one number at a time.", host::SERIAL),
    Variant::host("threads", "Threads", "The same on all cores.", host::THREADS),
    Variant::host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, several numbers an instruction.",
        host::THREADS_VECTORS,
    ),
    Variant::kernels("scalar", "Scalar", "OpenCL, one number a work-item.", &kernels::SCALAR),
    Variant::kernels(
        "vector",
        "Vector",
        "OpenCL, several vectors a work-item, neighbours side by side.",
        &kernels::VECTOR,
    ),
    Variant::AUTO,
];

/// The ladder of vector addition.
#[derive(Debug, Clone, Copy)]
pub struct VectorAdd;

/// Two inputs and their sum.
#[derive(Debug)]
pub struct Buffers {
    count: u32,
    arrays: Arrays<2>,
}

/// Computes the expected sums one by one, as bytes.
pub(crate) fn reference(a: &[f32], b: &[f32]) -> Vec<u8> {
    a.iter().zip(b).flat_map(|(a, b)| (a + b).to_le_bytes()).collect()
}

impl Ladder for VectorAdd {
    /// The number of floats in each array.
    type Case = u32;
    type Code = Code;
    type Host = Host;
    type Built = Built<Host>;
    type Buffers = Buffers;

    const INFO: LadderInfo = LadderInfo {
        name: "vector_add",
        peaks: &[PeakKernel { name: "three-stream copy", note: None, computes: false }],
        peak_file: kernels::PEAK_FILE,
        inputs: inputs::INPUT_NAMES,
        options: &["count"],
        sizes: &["65536", "1048576", "16777216"],
        ..LadderInfo::DEFAULT
    };

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<u32>, String> {
        counts::requested_counts(sizes, "vector-add", MAX_COUNT)
    }

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &VARIANTS
    }

    /// Returns small counts for checks: below, at and above the width of a vector and of a group, and odd ones.
    fn small(&self, _: &Built<Host>, _: &u32) -> Vec<u32> {
        vec![1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 255, 257, 1000, 4099]
    }

    fn describe(&self, &count: &u32) -> CaseInfo {
        let bytes = count as usize * 4;
        CaseInfo {
            title: if count == 1 { "1 float".to_owned() } else { format!("{count} floats") },
            json: json!({ "count": count }),
            // Three arrays fit into a core's caches, into those of a whole device, or only into memory.
            class: match count {
                0..=65_536 => "small",
                65_537..=4_194_304 => "medium",
                _ => "large",
            },
            bytes: 3.0 * bytes as f64,
            operations: f64::from(count),
            output: bytes,
            // Inputs and sum on host and device; the expected output, and the output before and after a run.
            memory: bytes * (3 + 3 + 3),
            ..CaseInfo::default()
        }
    }

    fn supports(&self, device: &Device, _: Option<&Code>, count: &u32) -> std::result::Result<(), String> {
        require_memory(&device.info, &[u64::from(*count) * 4; 3])
    }

    fn build(&self, part: Part<Code, Host>) -> Result<Built<Host>> {
        Built::new(part, &kernels::PEAK)
    }

    fn allocate(&self, cl: Option<&ClContext>, count: &u32, guard: usize) -> Result<Buffers> {
        let cl = cl.filter(|cl| self.supports(&cl.device, None, count).is_ok());
        let len = *count as usize;
        Ok(Buffers { count: *count, arrays: Arrays::new(cl, [len; 2], len, guard)? })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        buffers.arrays.load(|[a, b], _| inputs::fill(input, a, b))?;
        let [a, b] = buffers.arrays.inputs();
        Ok(Expected::new(reference(a, b), Floats))
    }

    fn write(&self, built: &Built<Host>, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        buffers.arrays.write(built.is_on_device(), bytes)
    }

    fn read(&self, built: &Built<Host>, buffers: &Buffers) -> Result<Output> {
        buffers.arrays.read(built.is_on_device())
    }

    fn run(&self, built: &Built<Host>, buffers: &mut Buffers) -> Result<Sample> {
        match built {
            Built::Kernel(kernel, config) => {
                array_kernel::run(kernel, config, &buffers.arrays, &[buffers.count])
            }
            Built::Host(host) => {
                let ([a, b], sum) = buffers.arrays.host();
                Ok(host.run(a, b, sum))
            }
        }
    }
}
