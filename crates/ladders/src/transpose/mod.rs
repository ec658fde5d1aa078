//! The transposition ladder: an m×n matrix of `f32` is transposed, without arithmetic. Its variants differ in the order in
//! which neighbouring work-items process the numbers. Every variant gives exactly the bytes of [`reference()`].

mod remark;

use serde::{Deserialize, Serialize};
use serde_json::json;

use base::threads::Threads;
use base::verify::Floats;
use compute::config::{Config, Param};
use compute::plan::{Arg, Code, Host, Lens, Pass, Types};
use compute::variant::Variant;
use ladder::arrays::ArrayLadder;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo};
use opencl::kernel::Value;

/// The maximum number of elements of a matrix. Kernels count in 32 bits, and round up to whole work-groups.
pub(crate) const MAX_NUMBERS: u64 = 1 << 30;

/// The id of the variant with neighbouring work-items along a row.
const ROW_LINEAR: &str = "row-linear";
/// The id of the variant with neighbouring work-items along a column.
const COLUMN_LINEAR: &str = "column-linear";
/// The id of the variant with a square tile for each work-group.
const GROUP_LINEAR: &str = "group-linear";

/// The size of the matrix that is transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// The number of rows.
    pub m: u32,
    /// The number of columns.
    pub n: u32,
}

impl Size {
    /// Creates a size of `m` rows and `n` columns.
    ///
    /// # Errors
    /// Returns a sentence for the user if the matrix is empty or too large.
    pub fn new([m, n]: [u32; 2]) -> Result<Self, String> {
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

/// The parameter for the size of the work-groups.
const GROUP: &[Param] = &[Param::new("GROUP", 1024, 256, &[64, 128, 256, 512, 1024, 4096])];
/// The parameter for the side of square tiles, each of which is a work-group.
const TILE: &[Param] = &[Param::new("TILE", 16, 16, &[8, 16, 32])];
/// The OpenCL types of matrices; the peak kernel copies them as integers.
const MATRIX: Types = &["float*", "uint*"];

/// Returns the launch of a kernel with a work-item for each number, in whole tiles. Parameters that a kernel file does not have
/// are 1.
const fn pass(kernel: &'static str) -> Pass<Size> {
    Pass {
        kernel,
        args: &[
            Arg::Memory(0, MATRIX),
            Arg::Memory(1, MATRIX),
            Arg::Value(&["uint"], |size| Value::Uint(size.m)),
            Arg::Value(&["uint"], |size| Value::Uint(size.n)),
        ],
        local: |config| [group_items(config), 1],
        groups: |config, size| {
            let side = |side: u32| side.next_multiple_of(config.get("TILE")) as usize;
            [(side(size.m) * side(size.n)).div_ceil(group_items(config)), 1]
        },
        work: None,
    }
}

/// Returns the number of work-items in a work-group of this configuration.
fn group_items(config: &Config<Code<Size>>) -> usize {
    let tile = config.get("TILE") as usize;
    config.get("GROUP") as usize * tile * tile
}

/// The peak kernel: copies the matrix in order, without transposing it.
static PEAK: Code<Size> = Code::new("transpose/limit.cl", &[pass("transpose_copy")], GROUP);

/// The variant `serial`, which transposes on one thread.
const SERIAL: Host<Size> = Host {
    threads: Threads::One,
    run: |size, inputs, to, _| {
        for (row, from) in inputs[0].chunks_exact(size.n as usize).enumerate() {
            to.iter_mut().skip(row).step_by(size.m as usize).zip(from).for_each(|(to, number)| *to = *number);
        }
        Ok(())
    },
};

/// The transposition ladder.
pub static TRANSPOSE: ArrayLadder<Size> = ArrayLadder {
    info: LadderInfo {
        name: "transpose",
        peaks: &[PeakKernel { name: "copy", note: None, computes: false }],
        peak_file: PEAK.file,
        inputs: &["counting", "alternating"],
        options: &["mn"],
        sizes: &["256,256", "1024,1024", "2047,1023", "4096,4096"],
        remark: remark::remark,
        ..LadderInfo::DEFAULT
    },
    variants: &[
        Variant::host("serial", "Serial", "One thread, row by row.", SERIAL),
        Variant::kernels(
            ROW_LINEAR,
            "Row-linear",
            "Neighbours along a row: they read side by side, and write far apart.",
            &Code::new("transpose/01_row_linear.cl", &[pass("transpose_row_linear")], GROUP),
        ),
        Variant::kernels(
            COLUMN_LINEAR,
            "Column-linear",
            "Neighbours along a column: they read far apart, and write side by side.",
            &Code::new("transpose/02_column_linear.cl", &[pass("transpose_column_linear")], GROUP),
        ),
        Variant::kernels(
            GROUP_LINEAR,
            "Group-linear",
            "A square tile for each group: both stay within a few cache lines.",
            &Code::new("transpose/03_group_linear.cl", &[pass("transpose_group_linear")], TILE),
        ),
        Variant::AUTO,
    ],
    peak: |device| Config::for_device(&PEAK, &device.info),
    cases: |sizes| sizes.cases("mn", [4096; 2], Size::new),
    describe: |size| CaseInfo {
        title: format!("{}×{}", size.m, size.n),
        json: json!(size),
        // Two matrices fit into a core's caches, into those of a whole device, or only into memory.
        class: match size.count() {
            0..=65_536 => "small",
            65_537..=4_194_304 => "medium",
            _ => "large",
        },
        // Both matrices on host and device; the expected output, and the output before and after a run.
        memory: 4 * size.count() * (2 + 2 + 3),
        ..CaseInfo::default()
    },
    // Sizes below, at and above the sides of tiles, and thin matrices.
    small: &[
        Size { m: 33, n: 65 },
        Size { m: 1, n: 1 },
        Size { m: 2, n: 3 },
        Size { m: 1, n: 300 },
        Size { m: 300, n: 1 },
        Size { m: 16, n: 16 },
        Size { m: 15, n: 17 },
        Size { m: 64, n: 32 },
        Size { m: 257, n: 5 },
        Size { m: 7, n: 1023 },
    ],
    smaller: |_| Vec::new(),
    lens: |size| Lens { inputs: vec![size.count()], output: size.count(), scratch: Vec::new() },
    fill: |_, input, arrays| {
        for (i, number) in arrays.iter_mut().flat_map(|array| array.iter_mut()).enumerate() {
            // Each number identifies its index: the sign alternates, or neighbours differ by one.
            let (i, sign) = ((i % 8_388_608) as f32, if i % 2 == 0 { 1.0 } else { -1.0 });
            *number = if input == "counting" { i + 0.5 } else { sign * (i + 1.0) };
        }
    },
    expected: |size, _, arrays| Ok(Expected::new(reference(*size, arrays[0]), Floats)),
    unit: "number",
};

/// Returns the expected output as bytes, computed column by column.
pub(crate) fn reference(size: Size, a: &[f32]) -> Vec<u8> {
    let column = |column: usize| a.iter().skip(column).step_by(size.n as usize);
    (0..size.n as usize).flat_map(column).flat_map(|number| number.to_le_bytes()).collect()
}
