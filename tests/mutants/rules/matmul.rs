//! Rules for matrix multiplication, without `limit.cl`, whose output is not used.

use super::super::cases::Runner::{self, Matmul};
use super::{Edit, Rules, edit};

pub(super) const RULES: &[Rules] = &[
    Rules { file: "matmul/01_naive.cl", runners: &[Matmul("naive")], edits: NAIVE },
    Rules { file: "matmul/02_private.cl", runners: &[Matmul("private")], edits: SUM },
    Rules { file: "matmul/03_transposed.cl", runners: &[Matmul("transposed")], edits: TRANSPOSED },
    Rules { file: "matmul/04_work_group.cl", runners: &[Matmul("work-group")], edits: SUM },
    Rules { file: "matmul/05_local_tiles.cl", runners: &[Matmul("local-tiles")], edits: TILES },
    Rules { file: "matmul/06_constant.cl", runners: &[Matmul("constant")], edits: SUM },
    Rules { file: "matmul/07_padded.cl", runners: &[Matmul("padded")], edits: TILES },
    Rules { file: "matmul/08_register_tiles.cl", runners: &[Matmul("register-tiles")], edits: REGISTERS },
    Rules { file: "matmul/09_vector_loads.cl", runners: &[Matmul("vector-loads")], edits: VECTORS },
    Rules { file: "matmul/10_double_buffered.cl", runners: BUFFERED_RUNNERS, edits: BUFFERED },
    Rules { file: "matmul/11_panels.cl", runners: &[Matmul("panels")], edits: PANELS },
    Rules {
        file: "matmul/tiles.clh",
        runners: &[Matmul("register-tiles"), Matmul("vector-loads")],
        edits: CORNERS,
    },
    Rules { file: "matmul/quads.clh", runners: &[Matmul("vector-loads")], edits: QUADS },
];

const BUFFERED_RUNNERS: &[Runner] = &[Matmul("double-buffered")];

/// Numbers that are read but not used.
const BEYOND: &str =
    "Values read beyond the last row or column enter no result; few devices fault on such a read.";

const NAIVE: &[Edit] = &[
    edit("width", "column < n", "column + 1 < n", 1),
    edit("last row", "row < m", "row + 1 < m", 1),
    edit("outside", "column < n", "column <= n", 1),
    edit("outside", "c[row * n + column] = 0.0f", "((__global float *)b)[0] = 0.0f; $&", 1),
    edit("constant", "= 0.0f", "= -0.0f", 1),
    edit("constant", "c[row * n + column] = 0.0f", "if (k > 0) $&", 1),
    edit("operands", "+= a[row * k + i]", "-= a[row * k + i]", 1),
    edit("shift", "b[i * n + column]", "b[i * n + (column > 0 ? column - 1 : 0)]", 1),
    edit("rounding", "b[i * n + column]", "($& * 1.00002f)", 1),
    edit("size", "i < k", "i < min(k, 250u)", 1),
    edit("extreme", "a[row * k + i]", "clamp($&, -1e17f, 1e17f)", 1),
];

/// For all kernels that keep one sum.
const SUM: &[Edit] = &[
    edit("width", "column < n", "column + 1 < n", 1),
    edit("width", "column < n", "column < (n & ~1u)", 1),
    edit("last row", "row < m", "row + 1 < m", 1),
    edit("outside", "column < n", "column <= n", 1),
    edit("constant", "sum = 0.0f", "sum = -0.0f", 1),
    edit("operands", "a[row * k + i] *", "a[row * k + i] +", 1),
    edit("shift", "a[row * k + i]", "a[row * k + k - 1 - i]", 1),
    edit("rounding", "sum += a[row * k + i]", "sum += 1.00002f * a[row * k + i]", 1),
    edit(
        "one pixel",
        "c[row * n + column] = sum",
        "c[row * n + column] = row == 2 && column == 1 ? 0.5f : sum",
        1,
    ),
    edit("size", "i < k", "i < min(k, 250u)", 1),
    edit("extreme", "b[i * n + column]", "clamp($&, -1e17f, 1e17f)", 1),
];

const TRANSPOSED: &[Edit] = &[
    edit("width", "i < k && column < n", "i < k && column + 1 < n", 1),
    edit("last row", "i < k && column < n", "i + 1 < k && column < n", 1),
    edit("outside", "row < m && column < n", "row < m && column <= n", 1),
    edit("layout", "transposed[column * k + i] =", "transposed[i * n + column] =", 1),
    edit("shift", "= b[i * n + column]", "= b[i * n + (column > 0 ? column - 1 : 0)]", 1),
    edit("constant", "sum = 0.0f", "sum = -0.0f", 1),
    edit("size", "uint i = 0; i < k", "uint i = 0; i < min(k, 250u)", 1),
    edit("rounding", "c[row * n + column] = sum", "c[row * n + column] = sum * 1.00002f", 1),
];

const TILES: &[Edit] = &[
    edit("width", "column < n && first + y < k", "column + 1 < n && first + y < k", 1),
    edit("width", "column < n && first + y < k", "first + y < k", 1).by_device(BEYOND),
    edit("strip", "row < m && first + x < k", "row < m", 1),
    edit("strip", "column < n && first + y < k", "column < n", 1),
    edit("strip", "first < k", "first + TILE <= k", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n        for", "for", 1).by_device(
        "A compiler that runs work-items one after the other may fill the whole tile first in either case.",
    ),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n    }", "}", 1)
        .by_device("A data race: the result differs only if one work-item overtakes another."),
    edit("layout", "tile_b[x][y] =", "tile_b[y][x] =", 1),
    edit("window", "i < TILE", "i + 1 < TILE", 1),
    edit("outside", "row < m && column < n)", "row <= m && column < n)", 1),
    edit("constant", "sum = 0.0f", "sum = -0.0f", 1),
    edit("last row", "row < m && column < n)", "row + 1 < m && column < n)", 1),
];

const REGISTERS: &[Edit] = &[
    edit("width", "i < k && column < n", "i < k", 1).by_device(BEYOND),
    edit("strip", "row < m && i < k", "row < m", 1),
    edit("strip", "i < k && column < n", "column < n", 1),
    edit("strip", "first < k", "first + TILE_K <= k", 1),
    edit("strip", "y + r * DOWN];", "y * ROWS + r];", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n#pragma", "#pragma", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n    }", "}", 1)
        .by_device("A data race: the result differs only if one work-item overtakes another."),
    edit("constant", "sums[r][s] = 0.0f", "sums[r][s] = -0.0f", 1),
    edit("window", "i < TILE_K", "i + 1 < TILE_K", 1),
    edit("outside", "row < m && column < n)", "row <= m && column < n)", 1),
    edit("last row", "row < m && column < n)", "row + 1 < m && column < n)", 1),
    edit("operands", "of_a[r] * of_b[s]", "of_a[r] - of_b[s]", 1),
];

const VECTORS: &[Edit] = &[
    edit("layout", "whole_a = k % 4 == 0", "whole_a = true", 1)
        .by_device("Where vectors may begin anywhere, rows of a are read right as far as they go."),
    edit("strip", "first < k", "first + TILE_K <= k", 1),
    edit("strip", "(i + 3) * STRIDE_A", "(i + 2) * STRIDE_A", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n#pragma", "#pragma", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);\n    }", "}", 1)
        .by_device("A data race: the result differs only if one work-item overtakes another."),
    edit("constant", "sums[r][s] = (float4)(0.0f)", "sums[r][s] = (float4)(-0.0f)", 1),
    edit("window", "i < TILE_K; i++", "i + 1 < TILE_K; i++", 1),
    edit("operands", "of_a[r].z", "of_a[r].w", 1),
    edit("last row", "(r / 4 * DOWN + y) * 4 + r % 4", "(r / 4 * DOWN + y) * 4 + r % 2", 1),
];

const CORNERS: &[Edit] = &[
    edit("band", "group / tiles * TILE_M", "0", 1),
    edit("band", "group % tiles * TILE_N", "0", 1),
    edit(
        "layout",
        "(uint2)(group % tiles * TILE_N, group / tiles * TILE_M)",
        "(uint2)(group / tiles * TILE_N, group % tiles * TILE_M)",
        1,
    ),
    edit("size", "group % tiles", "group % (tiles + 1)", 1),
    edit("shift", "group / tiles * TILE_M", "group / tiles * TILE_M + (group > 0)", 1),
];

const BUFFERED: &[Edit] = &[
    edit("band", "min((uint)BAND, tiles_m - band * BAND)", "BAND", 1),
    edit("band", "in_band / height", "in_band % height", 1),
    edit("strip", "tile <= tiles", "tile < tiles", 1),
    edit("strip", "AT_A(i + 1, row)", "AT_A(i, row)", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);", "", 1),
    edit("barrier", "from_a = tile_a[(tile + 1) % 2]", "from_a = tile_a[tile % 2]", 1),
    edit("barrier", "tile_b[tile % 2][at] = next_b[e]", "tile_b[0][at] = next_b[e]", 1),
    edit("constant", "sums[r][s] = (float4)(0.0f)", "sums[r][s] = (float4)(-0.0f)", 1),
    edit("window", "i < TILE_K; i++", "i + 1 < TILE_K; i++", 1),
    edit("operands", "of_a[r].y", "of_a[r].x", 1),
    edit("last row", "(r / 4 * DOWN + y) * 4 + r % 4", "(r / 4 * DOWN + y) * 4 + r % 2", 1),
    edit("rounding", "m, n, whole_b, sums[r][s]", "m, n, whole_b, sums[r][s] * 1.00002f", 1),
];

const PANELS: &[Edit] = &[
    edit("last row", "if (row < m) {\n            __global", "if (row + 1 < m) {\n            __global", 1),
    edit("last row", "if (row < m) {\n#pragma", "if (row <= m) {\n#pragma", 1),
    edit("constant", "to[i * ROWS + r] = 0.0f", "to[i * ROWS + r] = 1.0f", 1)
        .equal("These rows enter no result."),
    edit("layout", "to[i * ROWS + r] = from[i]", "to[i * ROWS + r] = from[first]", 1),
    edit("strip", "min(first + CHUNK, k);\n", "min(first + CHUNK - 1, k);\n", 1),
    edit("strip", "min(first + CHUNK, k), left", "min(first + CHUNK - 1, k), left", 1),
    edit("width", "left + s < n ?", "left + s + 1 < n ?", 1),
    edit("width", "whole = left + COLUMNS <= n", "whole = true", 1),
    edit("outside", "left + v * WIDTH + s < n", "left + v * WIDTH + s <= n", 1),
    edit("constant", "(VECTOR)(0.0f)", "(VECTOR)(-0.0f)", 1),
    edit("window", "uint i = 0; i < count", "uint i = 1; i < count", 1),
    edit("size", "first += DEPTH", "first += DEPTH + 1", 1),
    edit("barrier", "first == 0", "true", 1),
    edit("outside", "min(first_m + DOWN, panels_m)", "first_m + DOWN", 1).by_device(BEYOND),
    edit("operands", "from_a[r] * row_b[v]", "from_a[0] * row_b[v]", 1),
    edit("strip", "from_a += ROWS", "from_a += ROWS - 1", 1),
];

const QUADS: &[Edit] = &[
    edit("width", "row < rows && column < columns ?", "row < rows ?", 1),
    edit("last row", "row < rows && column < columns ?", "column < columns ?", 1),
    edit("last row", "row >= rows", "row > rows", 1),
    edit(
        "width",
        "column + 3 < columns)\n            quad.w",
        "column + 5 < columns)\n            quad.w",
        1,
    ),
    // One number of the next row, multiplied by zero: only infinity and NaN show that.
    edit(
        "width",
        "column + 3 < columns)\n            quad.w",
        "column + 2 < columns)\n            quad.w",
        1,
    ),
    edit(
        "width",
        "column + 2 < columns)\n            quad.z",
        "column + 1 < columns)\n            quad.z",
        1,
    ),
    edit("outside", "column + 1 < columns)\n        to", "column < columns)\n        to", 1),
    edit("operands", "to[2] = quad.z", "to[2] = quad.y", 1),
    edit("operands", "quad.y = from[1]", "quad.y = from[0]", 1),
];
