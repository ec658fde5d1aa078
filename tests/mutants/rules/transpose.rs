//! Rules for transposition, without `limit.cl`, whose output is not used.

use super::super::cases::Runner::Transpose;
use super::{Edit, Rules, edit};

pub(super) const RULES: &[Rules] = &[
    Rules { file: "transpose/01_row_linear.cl", runners: &[Transpose("row-linear")], edits: ROWS },
    Rules { file: "transpose/02_column_linear.cl", runners: &[Transpose("column-linear")], edits: COLUMNS },
    Rules { file: "transpose/03_group_linear.cl", runners: &[Transpose("group-linear")], edits: TILES },
];

const ROWS: &[Edit] = &[
    edit("last row", "row < m", "row + 1 < m", 1),
    edit("outside", "row < m", "row <= m", 1),
    edit("layout", "transposed[column * m + row]", "transposed[row * n + column]", 1),
    edit("shift", "= a[row * n + column]", "= a[row * n + (column > 0 ? column - 1 : 0)]", 1),
    edit("one pixel", "= a[row * n + column]", "= at == 7 ? 0.0f : a[row * n + column]", 1),
    edit("outside", "transposed[column * m + row]", "((__global float *)a)[0] = 0.0f; $&", 1),
    edit("size", "at / n", "min(at / n, 90u)", 1),
];

const COLUMNS: &[Edit] = &[
    edit("width", "column < n", "column + 1 < n", 1),
    edit("outside", "column < n", "column <= n", 1),
    edit("layout", "transposed[column * m + row]", "transposed[row * n + column]", 1),
    edit("shift", "= a[row * n + column]", "= a[(row > 0 ? row - 1 : 0) * n + column]", 1),
    edit("one pixel", "= a[row * n + column]", "= at == 7 ? 0.0f : a[row * n + column]", 1),
    edit("size", "at / m", "min(at / m, 250u)", 1),
];

const TILES: &[Edit] = &[
    edit("last row", "row < m", "row + 1 < m", 1),
    edit("width", "column < n", "column + 1 < n", 1),
    edit("outside", "row < m && column < n", "column < n", 1),
    edit("strip", "id / TILE", "id / TILE / 2 * 2", 1),
    edit("strip", "id % TILE", "id % (TILE / 2)", 1),
    edit("band", "get_group_id(0) / tiles", "0", 1),
    edit("layout", "transposed[column * m + row]", "transposed[row * n + column]", 1),
];
