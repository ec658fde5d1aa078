//! The kernels of transposition as data: files, parameters and launches.

use crate::array_kernel::Code;
use ladder::config::{Config, Param};

/// The size of the work-groups.
const GROUP: &[Param] =
    &[Param { name: "GROUP", cpu: 1024, gpu: 256, values: &[64, 128, 256, 512, 1024, 4096] }];
/// The edge of square tiles, which are also the work-groups.
const TILE: &[Param] = &[Param { name: "TILE", cpu: 16, gpu: 16, values: &[8, 16, 32] }];

/// Returns the description of a kernel file; parameters that a file does not have are 1.
const fn code(file: &'static str, kernel: &'static str, params: &'static [Param]) -> Code {
    Code { file, kernel, arguments: [2, 2], params, group: group_items, items: work_items }
}

/// The kernels of the variant `row-linear`.
pub(super) static ROW_LINEAR: Code = code("transpose/01_row_linear.cl", "transpose_row_linear", GROUP);
/// The kernels of the variant `column-linear`.
pub(super) static COLUMN_LINEAR: Code =
    code("transpose/02_column_linear.cl", "transpose_column_linear", GROUP);
/// The kernels of the variant `group-linear`.
pub(super) static GROUP_LINEAR: Code = code("transpose/03_group_linear.cl", "transpose_group_linear", TILE);
/// The file with the peak kernel.
pub(super) const PEAK_FILE: &str = "transpose/limit.cl";
/// The peak kernel: copies the matrix in order, without transposing it.
pub(super) static PEAK: Code = code(PEAK_FILE, "transpose_copy", GROUP);

/// Returns the number of work-items in a work-group.
fn group_items(config: &Config<Code>) -> usize {
    let tile = config.get("TILE") as usize;
    config.get("GROUP") as usize * tile * tile
}

/// Returns the number of work-items for a matrix of these rows and columns: one for each number, in whole tiles.
fn work_items(config: &Config<Code>, size: &[u32]) -> usize {
    let tile = config.get("TILE");
    size.iter().map(|side| side.next_multiple_of(tile) as usize).product()
}
