//! The ladder of transposition: an m×n matrix of `f32` is transposed, without arithmetic. Its variants differ in the order in
//! which neighbouring work-items take the numbers. Every variant gives exactly the bytes of [`reference()`].

mod kernels;
mod remark;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::array_kernel::{self, Built, Code};
use crate::device::require_memory;
use base::error::Result;
use base::timing::ms_since;
use base::verify::Floats;
use ladder::arrays::Arrays;
use ladder::measure::Sample;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::variant::Variant;
use opencl::cl::{ClContext, Device};

/// The maximum number of elements of a matrix: kernels count in 32 bits, and round up to whole work-groups.
pub(crate) const MAX_NUMBERS: u64 = 1 << 30;

/// The id of the variant with neighbouring work-items along a row.
const ROW_LINEAR: &str = "row-linear";
/// The id of the variant with neighbouring work-items along a column.
const COLUMN_LINEAR: &str = "column-linear";
/// The id of the variant with a square tile for each work-group.
const GROUP_LINEAR: &str = "group-linear";

/// The variants of the ladder of transposition, in the order of the tables.
static VARIANTS: [Variant<Code, Host>; 5] = [
    Variant::host("serial", "Serial", "One thread, row by row.", transpose_rows),
    Variant::kernels(
        ROW_LINEAR,
        "Row-linear",
        "Neighbours along a row: they read side by side, and write far apart.",
        &kernels::ROW_LINEAR,
    ),
    Variant::kernels(
        COLUMN_LINEAR,
        "Column-linear",
        "Neighbours along a column: they read far apart, and write side by side.",
        &kernels::COLUMN_LINEAR,
    ),
    Variant::kernels(
        GROUP_LINEAR,
        "Group-linear",
        "A square tile for each group: both stay within a few cache lines.",
        &kernels::GROUP_LINEAR,
    ),
    Variant::AUTO,
];

/// The ladder of transposition.
#[derive(Debug, Clone, Copy)]
pub struct Transpose;

/// The size of the matrix that is transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
}

impl Size {
    /// Makes a size of `m` rows and `n` columns.
    ///
    /// # Errors
    /// Returns a sentence for the user if the matrix is empty or too large.
    pub fn new([m, n]: [u32; 2]) -> std::result::Result<Self, String> {
        let count = u64::from(m) * u64::from(n);
        let why = || {
            format!(
                "{m},{n} is no --mn of transpose: choose both from 1 on, and no more than {MAX_NUMBERS} numbers"
            )
        };
        (1..=MAX_NUMBERS).contains(&count).then_some(Self { m, n }).ok_or_else(why)
    }

    /// Returns the number of elements of the matrix.
    fn count(self) -> usize {
        self.m as usize * self.n as usize
    }
}

/// A matrix and its transpose.
#[derive(Debug)]
pub struct Buffers {
    size: Size,
    arrays: Arrays<1>,
}

/// Computes the expected output, column by column, as bytes.
pub(crate) fn reference(size: Size, a: &[f32]) -> Vec<u8> {
    let column = |column: usize| a.iter().skip(column).step_by(size.n as usize);
    (0..size.n as usize).flat_map(column).flat_map(|number| number.to_le_bytes()).collect()
}

/// A variant on the host: a function that transposes a matrix of this size from the first slice into the second one, on one thread.
type Host = fn(Size, &[f32], &mut [f32]);

/// Transposes row by row.
fn transpose_rows(size: Size, from: &[f32], to: &mut [f32]) {
    let (m, n) = (size.m as usize, size.n as usize);
    for (row, from) in from.chunks_exact(n).enumerate() {
        to.iter_mut().skip(row).step_by(m).zip(from).for_each(|(to, number)| *to = *number);
    }
}

impl Ladder for Transpose {
    type Case = Size;
    type Code = Code;
    type Host = Host;
    type Built = Built<Host>;
    type Buffers = Buffers;

    const INFO: LadderInfo = LadderInfo {
        name: "transpose",
        peaks: &[PeakKernel { name: "copy", note: None, computes: false }],
        peak_file: kernels::PEAK_FILE,
        inputs: &["counting", "alternating"],
        options: &["mn"],
        sizes: &["256,256", "1024,1024", "2047,1023", "4096,4096"],
        remark: remark::remark,
        ..LadderInfo::DEFAULT
    };

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Size>, String> {
        sizes.cases("mn", [4096; 2], Size::new)
    }

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &VARIANTS
    }

    /// Returns small matrices for checks: below, at and above the sides of tiles, and thin ones.
    fn small(&self, _: &Built<Host>, _: &Size) -> Vec<Size> {
        [[33, 65], [1, 1], [2, 3], [1, 300], [300, 1], [16, 16], [15, 17], [64, 32], [257, 5], [7, 1023]]
            .map(|[m, n]| Size { m, n })
            .to_vec()
    }

    fn describe(&self, size: &Size) -> CaseInfo {
        let (Size { m, n }, bytes) = (size, size.count() * 4);
        CaseInfo {
            title: format!("{m}×{n}"),
            json: json!(size),
            // Two matrices fit into a core's caches, into those of a whole device, or only into memory.
            class: match size.count() {
                0..=65_536 => "small",
                65_537..=4_194_304 => "medium",
                _ => "large",
            },
            bytes: 2.0 * bytes as f64,
            operations: 0.0,
            output: bytes,
            // Both matrices on host and device; the expected output, and the output before and after a run.
            memory: bytes * (2 + 2 + 3),
            ..CaseInfo::default()
        }
    }

    fn supports(&self, device: &Device, _: Option<&Code>, size: &Size) -> std::result::Result<(), String> {
        require_memory(&device.info, &[size.count() as u64 * 4; 2])
    }

    fn build(&self, part: Part<Code, Host>) -> Result<Built<Host>> {
        Built::new(part, &kernels::PEAK)
    }

    fn allocate(&self, cl: Option<&ClContext>, size: &Size, guard: usize) -> Result<Buffers> {
        let cl = cl.filter(|cl| self.supports(&cl.device, None, size).is_ok());
        Ok(Buffers { size: *size, arrays: Arrays::new(cl, [size.count()], size.count(), guard)? })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        buffers.arrays.load(|[a], _| {
            for (i, number) in a.iter_mut().enumerate() {
                // Each number identifies its index: the sign alternates, or neighbours differ by one.
                let (i, sign) = ((i % 8_388_608) as f32, if i % 2 == 0 { 1.0 } else { -1.0 });
                *number = if input == "counting" { i + 0.5 } else { sign * (i + 1.0) };
            }
        })?;
        let [a] = buffers.arrays.inputs();
        Ok(Expected::new(reference(buffers.size, a), Floats))
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
                let Size { m, n } = buffers.size;
                array_kernel::run(kernel, config, &buffers.arrays, &[m, n])
            }
            Built::Host(host) => {
                let ([from], to) = buffers.arrays.host();
                let begin = Instant::now();
                host(buffers.size, from, to);
                Ok(Sample::on_host(ms_since(begin)))
            }
        }
    }
}
