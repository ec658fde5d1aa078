//! Rules for the five steps of the box filter's ladder, and for their shared code.

use box_filter::VariantId::{Flat, Fused, Naive, RunningSum, Separable, Vectorized};
use opencl::cl::DeviceKind::{Cpu, Gpu};

use super::super::cases::Runner::{self, Variant};
use super::{Edit, Rules, edit};

const SYMMETRIC: &str = "The window is symmetric, and integer sums do not depend on their order.";

pub(super) const RULES: &[Rules] = &[
    Rules { file: "box_filter/01_naive.cl", runners: &[Variant(Naive, Cpu)], edits: NAIVE },
    Rules { file: "box_filter/02_separable.cl", runners: &[Variant(Separable, Cpu)], edits: SEPARABLE },
    Rules { file: "box_filter/03_flat.cl", runners: &[Variant(Flat, Cpu)], edits: FLAT },
    Rules { file: "box_filter/04_vectorized.cl", runners: &[Variant(Vectorized, Cpu)], edits: VECTORIZED },
    Rules {
        file: "box_filter/05_running_sum.cl",
        runners: &[Variant(RunningSum, Cpu), Variant(RunningSum, Gpu)],
        edits: RUNNING_SUM,
    },
    Rules { file: "common/mean.clh", runners: &[Variant(Flat, Cpu)], edits: MEAN },
    Rules { file: "common/vectors.clh", runners: &[Variant(Vectorized, Cpu)], edits: VECTORS },
];

const NAIVE: &[Edit] = &[
    edit("window", "j = -radius", "j = 1 - radius", 1),
    edit("window", "j <= radius", "j < radius", 1),
    edit("window", "i = -radius", "i = 1 - radius", 1),
    edit("window", "i <= radius", "i < radius", 1),
    edit("window", "x + i", "x + i + 1", 1),
    edit("window", "y + j", "y + j - 1", 1),
    edit("window", "x + i, y + j", "x - i, y + j", 1).equal(SYMMETRIC),
    edit("window", "x + i, y + j", "x + (radius > 30 && i == radius ? 0 : i), y + j", 1),
    edit("clamp", "CLK_ADDRESS_CLAMP_TO_EDGE", "CLK_ADDRESS_CLAMP", 1),
    edit("clamp", "y + j", "max(y + j, row0)", 1),
    edit("rounding", "int4 sum = 0", "int4 sum = 1", 1),
    edit("radius range", "int4 sum = 0", "int4 sum = (int4)(radius > 100 ? 20000 : 0)", 1),
    edit("scale", "255.0f", "254.0f", 2),
    edit("scale", "side = 2 * radius + 1", "side = 2 * radius + 2", 1),
    edit("channel", "mean4(sum, side * side, scale)", "$&.s2103", 1),
    edit("alpha", "mean4(sum, side * side, scale)", "(int4)($&.s012, 255)", 1),
    edit("band", "y = row0 + row", "y = row", 1),
    edit("band", "row >= rows", "row >= rows - (row0 > 0)", 1),
    edit("band", "y = row0 + row", "y = row0 + row - (row0 % 2)", 1),
    edit("width", "x >= width", "x >= width - (width & 1)", 1),
    edit("last row", "row >= rows", "row0 + row >= height - 1", 1),
    edit("radius range", "mean4(sum, side * side, scale)", "$& ^ (radius >= 20 && radius < 24 ? 1 : 0)", 1),
    edit("radius range", "mean4(sum, side * side, scale)", "$& ^ (radius == 0 ? 1 : 0)", 1),
    edit("one pixel", "mean4(sum, side * side, scale)", "$& ^ (x == 3 && y == 2 ? 1 : 0)", 1),
    edit(
        "one pixel",
        "mean4(sum, side * side, scale)",
        "$& ^ (x == width - 1 && y == height - 1 ? 1 : 0)",
        1,
    ),
    edit("size", "mean4(sum, side * side, scale)", "$& ^ (width == 1280 ? 255 : 0)", 1),
    edit("size", "mean4(sum, side * side, scale)", "$& ^ (x >= 500 ? 1 : 0)", 1),
    edit("extreme", "mean4(sum, side * side, scale)", "min($&, 254)", 1),
    edit("extreme", "mean4(sum, side * side, scale)", "max($&, 1)", 1),
];

const SEPARABLE: &[Edit] = &[
    edit("window", "i = -radius", "i = 1 - radius", 1),
    edit("window", "i <= radius", "i < radius", 1),
    edit("window", "j = -radius", "j = 1 - radius", 1),
    edit("window", "j <= radius", "j < radius", 1),
    edit("window", "x + i", "x + i - 1", 1),
    edit("window", "x + i", "x - i", 1).equal(SYMMETRIC),
    edit("window", "y + j", "y + j + 1", 1),
    edit("clamp", "CLK_ADDRESS_CLAMP_TO_EDGE", "CLK_ADDRESS_CLAMP", 1),
    edit("clamp", "y + j", "max(y + j, row0)", 1),
    edit("clamp", "(int2)(x, y), sum", "(int2)(x, y), min(sum, (uint4)(65000))", 1),
    edit("rounding", "int4 sum = 0", "int4 sum = 1", 1),
    edit("rounding", "uint4 sum = 0", "uint4 sum = (uint4)(radius > 30 ? 9 : 0)", 1),
    edit("scale", "255.0f", "254.0f", 2),
    edit("channel", "(int2)(x, y), sum", "(int2)(x, y), sum.s2103", 1),
    edit("channel", "mean4(sum, side * side, scale)", "$&.s1023", 1),
    edit("alpha", "mean4(sum, side * side, scale)", "(int4)($&.s012, 255)", 1),
    edit("band", "y = row0 + row", "y = row", 2),
    edit("band", "row >= rows", "row >= rows - (row0 > 0)", 2),
    edit("width", "x >= width", "x >= width - (width & 1)", 2),
    edit("last row", "row >= rows", "row0 + row >= height - 1", 2),
    edit("radius range", "mean4(sum, side * side, scale)", "$& ^ (radius >= 20 && radius < 24 ? 1 : 0)", 1),
    edit(
        "radius range",
        "sum += convert_uint4_rte",
        "sum += (i == radius && radius == 128 ? 0 : 1) * convert_uint4_rte",
        1,
    ),
    edit("one pixel", "mean4(sum, side * side, scale)", "$& ^ (x == 0 && y == height - 1 ? 1 : 0)", 1),
    edit("size", "mean4(sum, side * side, scale)", "$& ^ (width == 1280 ? 1 : 0)", 1),
    edit("extreme", "mean4(sum, side * side, scale)", "min($&, 254)", 1),
];

const FLAT: &[Edit] = &[
    edit("window", "i = -radius", "i = 1 - radius", 1),
    edit("window", "i <= radius", "i < radius", 1),
    edit("window", "j = -radius", "j = 1 - radius", 1),
    edit("window", "j <= radius", "j < radius", 1),
    edit("window", "x + i", "x + i + 1", 1),
    edit("window", "y + j", "y - j", 1).equal(SYMMETRIC),
    edit("clamp", "clamp(x + i, 0, width - 1)", "max(x + i, 0)", 1),
    edit("clamp", "clamp(x + i, 0, width - 1)", "min(x + i, width - 1)", 1),
    edit("clamp", "clamp(x + i, 0, width - 1)", "clamp(x + i, 0, width - 2)", 1),
    edit("clamp", "clamp(y + j, 0, height - 1)", "clamp(y + j, 1, height - 1)", 1),
    edit("clamp", "clamp(y + j, 0, height - 1)", "clamp(y + j, 0, height - 2)", 1),
    edit("clamp", "clamp(y + j, 0, height - 1)", "clamp(y + j, 0, row0 + rows + radius - 1)", 1),
    edit("rounding", "int4 sum = 0", "int4 sum = 1", 1),
    edit("scale", "side = 2 * radius + 1", "side = 2 * radius", 1),
    edit("scale", "side * side, scale", "side * side, scale * 1.001f", 1),
    edit("channel", "convert_uchar4(mean4(sum, side * side, scale))", "$&.s0213", 1),
    edit("alpha", "convert_uchar4(mean4(sum, side * side, scale))", "(uchar4)($&.s012, 255)", 1),
    edit(
        "alpha",
        "sums[y * width + x] = sum",
        "sums[y * width + x] = (ushort4)(sum.s012, 255 * (2 * radius + 1))",
        1,
    ),
    edit("band", "y = row0 + row", "y = row", 2),
    edit("band", "src + y * width", "src + row * width", 1),
    edit("band", "row >= rows", "row >= rows - (row0 > 0)", 2),
    edit("width", "x >= width", "x >= width - (width & 1)", 2),
    edit("last row", "row >= rows", "row0 + row >= height - 1", 2),
    edit(
        "radius range",
        "convert_uchar4(mean4(sum, side * side, scale))",
        "$& ^ (uchar)(radius >= 20 && radius < 24)",
        1,
    ),
    edit("radius range", "convert_uchar4(mean4(sum, side * side, scale))", "$& ^ (uchar)(radius > 127)", 1),
    edit(
        "one pixel",
        "convert_uchar4(mean4(sum, side * side, scale))",
        "$& ^ (uchar)(x == width - 1 && y == 0)",
        1,
    ),
    edit("size", "convert_uchar4(mean4(sum, side * side, scale))", "$& ^ (uchar)(width == 1280)", 1),
    edit("size", "convert_uchar4(mean4(sum, side * side, scale))", "$& ^ (uchar)(y >= 400)", 1),
    edit("extreme", "convert_uchar4(mean4(sum, side * side, scale))", "min($&, (uchar)254)", 1),
    edit(
        "outside",
        "sums[y * width + x] = sum",
        "$&; if (y == height - 1 && x == width - 1) ((__global uchar4 *)src)[0] += (uchar4)(1)",
        1,
    ),
    edit("outside", "dst[y * width + x] =", "if (x == 0 && y == 0) dst[width * height] = (uchar4)(7); $&", 1),
    edit(
        "outside",
        "dst[y * width + x] =",
        "if (x == 0 && y == 0) dst[width * height + 1025] = (uchar4)(7); $&",
        1,
    ),
    edit("outside", "dst[y * width + x] =", "if (x == 0 && y == 0) dst[-1500] = (uchar4)(7); $&", 1),
];

const VECTORIZED: &[Edit] = &[
    edit("window", "begin = x - radius", "begin = x - radius + 1", 1),
    edit("window", "end = x + radius + 1", "end = x + radius", 1),
    edit("window", "j = -radius", "j = 1 - radius", 2),
    edit("window", "j <= radius", "j < radius", 2),
    edit("clamp", "clamp(x, 0, last)", "max(x, 0)", 1),
    edit("clamp", "clamp(x + 1, 0, last)", "clamp(x + 1, 1, last)", 1),
    edit("clamp", "clamp(x + 2, 0, last)", "clamp(x + 2, 0, last - 1)", 1),
    edit("clamp", "clamp(x + 3, 0, last)", "max(x + 3, 0)", 1),
    edit("clamp", "left = clamp(0, begin, end)", "left = begin", 1),
    edit("clamp", "clamp(width - 3, left, end)", "clamp(width - 2, left, end)", 1),
    edit("clamp", "clamp(width - 3, left, end)", "clamp(width - 4, left, end)", 1)
        .equal("One more window takes the code path of the border, which computes the same sums."),
    edit("clamp", "clamp(y + j, 0, height - 1)", "clamp(y + j, 0, height - 2)", 2),
    edit("clamp", "clamp(y + j, 0, height - 1)", "clamp(y + j, 1, height - 1)", 2),
    edit("rounding", "int4 sum = 0", "int4 sum = 1", 1),
    edit("rounding", "int16 sum = 0", "int16 sum = 1", 1),
    edit("scale", "mean16(sum, n, scale)", "mean16(sum, n, scale * 0.999f)", 1),
    edit("scale", "mean4(sum, n, scale)", "mean4(sum, n + 1, scale)", 1),
    edit("channel", "convert_uchar16(mean16(sum, n, scale))", "$&.s10324567ba98cdef", 1),
    edit("channel", "convert_uchar4(mean4(sum, n, scale))", "$&.s2103", 1),
    edit(
        "alpha",
        "convert_uchar16(mean16(sum, n, scale))",
        "$& | (uchar16)(0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255)",
        1,
    ),
    edit("alpha", "convert_uchar4(mean4(sum, n, scale))", "(uchar4)($&.s012, 255)", 1),
    edit("band", "y = row0 + row", "y = row", 2),
    edit("band", "row >= rows", "row >= rows - (row0 > 0)", 2),
    edit("width", "x >= width", "x >= width - 3", 2),
    edit("width", "if (x + 4 <= width) { int16", "if (x + 3 <= width) { int16", 1),
    edit("width", "if (x + 4 <= width) { int16", "if (x + 8 <= width) { int16", 1)
        .equal("The code for the last pixels of a row handles any number of them."),
    edit("width", "i < width - x", "i < width - x - 1", 1),
    edit("width", "i = x; i < width", "i = x; i < width - 1", 1),
    edit("width", "sum.s0123, sum.s4567, sum.s89ab", "sum.s0123, sum.s89ab, sum.s4567", 1),
    edit("last row", "row >= rows", "row0 + row >= height - 1", 2),
    edit(
        "radius range",
        "convert_uchar16(mean16(sum, n, scale))",
        "$& ^ (uchar16)(radius >= 20 && radius < 24)",
        1,
    ),
    edit(
        "radius range",
        "convert_uchar4(mean4(sum, n, scale))",
        "$& ^ (uchar4)(radius >= 20 && radius < 24)",
        1,
    ),
    edit(
        "one pixel",
        "convert_uchar16(mean16(sum, n, scale))",
        "$& ^ (uchar16)(x == 4 && y == height - 1)",
        1,
    ),
    edit("size", "convert_uchar16(mean16(sum, n, scale))", "$& ^ (uchar16)(width == 1280)", 1),
    edit("extreme", "convert_uchar16(mean16(sum, n, scale))", "max($&, (uchar16)(1))", 1),
    edit("extreme", "convert_uchar4(mean4(sum, n, scale))", "min($&, (uchar4)(254))", 1),
];

const ON_GPU: &[Runner] = &[Variant(RunningSum, Gpu)];

const RUNNING_SUM: &[Edit] = &[
    edit("window", "i = begin - radius", "i = begin - radius + 1", 1),
    edit("window", "i <= begin + radius", "i < begin + radius", 1),
    edit("window", "j = y0 - radius", "j = y0 - radius + 1", 2),
    edit("window", "j <= y0 + radius", "j < y0 + radius", 2),
    edit("window", "x - radius - 1", "x - radius", 1),
    edit("window", "y + radius + 1", "y + radius", 2),
    edit("window", "y - radius, 0", "y - radius + 1, 0", 2),
    edit("clamp", "clamp(i, 0, last)", "clamp(i, 1, last)", 1),
    edit("clamp", "clamp(i, 0, last)", "max(i, 0)", 1),
    edit("clamp", "min(x + radius, last)", "min(x + radius, last - 1)", 1),
    edit("clamp", "max(x - radius - 1, 0)", "max(x - radius - 1, 1)", 1),
    edit("clamp", "clamp(j, 0, height - 1)", "clamp(j, 0, height - 2)", 1),
    edit("clamp", "clamp(j, 0, bottom)", "clamp(j, 1, bottom)", 1),
    edit("clamp", "min(y + radius + 1, height - 1)", "min(y + radius + 1, height - 2)", 1),
    edit("clamp", "min(y + radius + 1, bottom)", "min(y + radius + 1, bottom - 1)", 1),
    edit("clamp", "max(y - radius, 0)", "max(y - radius, 1)", 2),
    edit("rounding", "sum[q] = 0", "sum[q] = 1", 1),
    edit("rounding", "int4 sum = 0", "int4 sum = 1", 1),
    edit("scale", "mean16(sum[q], n, scale)", "mean16(sum[q], n, scale * 1.001f)", 1),
    edit("scale", "mean4(sum, n, scale)", "mean4(sum, n, scale * 1.001f)", 1),
    edit("channel", "convert_uchar16(mean16(sum[q], n, scale))", "$&.s21036547a98bedcf", 1),
    edit("channel", "convert_uchar4(mean4(sum, n, scale))", "$&.s1023", 1),
    edit("channel", "4 * q", "4 * (q & 1)", 4),
    edit(
        "alpha",
        "convert_uchar16(mean16(sum[q], n, scale))",
        "$& | (uchar16)(0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255)",
        1,
    ),
    edit("strip", "min(begin + STRIP_X, width)", "min(begin + STRIP_X - 1, width)", 1),
    edit("strip", "x = begin + 1", "x = begin + 1 + (begin > 0)", 1),
    edit("strip", "i = begin - radius", "i = begin - radius + (begin > 0)", 1),
    edit("strip", "row0 + min(first + STRIP_Y, rows)", "row0 + min(first + STRIP_Y - 1, rows)", 1),
    edit("strip", "row0 + min(first + STRIP_Y, rows)", "row0 + first + STRIP_Y", 1),
    edit("strip", "first >= rows", "first >= rows - 1", 1).on(ON_GPU),
    edit("strip", "min(begin + STRIP_X, width)", "min(begin + (STRIP_X == 64 ? 63 : STRIP_X), width)", 1)
        .on(ON_GPU),
    edit("band", "y = row0 + row", "y = row", 1),
    edit("band", "row >= rows", "row >= rows - (row0 > 0)", 1),
    edit("band", "y0 = row0 + first", "y0 = first", 1)
        .equal("Rows above the band are computed a second time, with the same bytes."),
    edit("band", "y0 = row0 + first", "y0 = row0 + first + (row0 > 0)", 1),
    edit("band", "row0 + min(first + STRIP_Y, rows)", "min(first + STRIP_Y, rows)", 1),
    edit("width", "x + 4 * QUADS > width", "x + 4 * QUADS > width + 1", 1),
    edit("width", "x + 4 * QUADS > width", "x + 4 * QUADS >= width", 1)
        .equal("The code for the last pixels of a row handles any number of them."),
    edit("width", "i < width - x", "i < width - x - 1", 1),
    edit("last row", "y < y1", "y < min(y1, height - 1)", 2),
    edit(
        "radius range",
        "convert_uchar16(mean16(sum[q], n, scale))",
        "$& ^ (uchar16)(radius >= 20 && radius < 24)",
        1,
    ),
    edit("one pixel", "convert_uchar4(mean4(sum, n, scale))", "$& ^ (uchar4)(y == height - 1)", 1),
    edit("size", "convert_uchar16(mean16(sum[q], n, scale))", "$& ^ (uchar16)(width == 1280)", 1),
    edit("extreme", "convert_uchar16(mean16(sum[q], n, scale))", "min($&, (uchar16)(254))", 1),
    edit(
        "outside",
        "out[begin] = sum;",
        "$& if (y == height - 1) ((__global uchar4 *)src)[0] += (uchar4)(1);",
        1,
    ),
    edit(
        "outside",
        "__global uchar4 *out = dst + y * width;",
        "$& if (y == height - 1) out[width + 1025] = (uchar4)(9);",
        1,
    ),
];

const VECTOR_WAY: &[Runner] = &[Variant(Vectorized, Cpu)];
const FUSED_WAY: &[Runner] = &[Variant(Fused, Cpu)];

const MEAN: &[Edit] = &[
    edit("scale", "sum - 128 * n", "sum - 127 * n", 2).on(VECTOR_WAY),
    edit("rounding", "convert_int4_rte", "convert_int4_rtz", 1),
    edit("rounding", "convert_int4_rte", "convert_int4_rtn", 1),
    edit("rounding", "convert_int16_rte", "convert_int16_rtp", 1).on(VECTOR_WAY),
    edit("rounding", "convert_int16_rte", "convert_int16_rtz", 1).on(VECTOR_WAY),
    edit("rounding", "8388736.0f", "8388736.5f", 1)
        .on(FUSED_WAY)
        .equal("A float of this size has no fraction bits: the compiler rounds the constant to 8388736."),
    edit("rounding", "* scale + 8388736.0f", "* scale - 0.25f + 8388736.0f", 1).on(FUSED_WAY),
    edit("rounding", "8388736.0f", "8388737.0f", 1).on(FUSED_WAY),
    edit("extreme", "convert_int4_rte(convert_float4(sum - 128 * n) * scale) + 128", "min($&, 254)", 1),
    edit("extreme", "convert_int16_rte(convert_float16(sum - 128 * n) * scale) + 128", "max($&, 1)", 1)
        .on(VECTOR_WAY),
    edit("radius range", "convert_float16(centred) * scale", "$& * (scale < 0.0001f ? 0.99f : 1.0f)", 1)
        .on(FUSED_WAY),
];

const VECTORS: &[Edit] = &[
    edit("channel", "(*(__global const uchar16_at4 *)(pixels))", "($&.s103254769ab8dcfe)", 1),
    edit("channel", "(*(__global const ushort16_at8 *)(pixels))", "($&.s4567012389abcdef)", 1),
    edit(
        "alpha",
        "(*(__global uchar16_at4 *)(pixels) = (value))",
        "(*(__global uchar16_at4 *)(pixels) = (value) | (uchar16)(0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))",
        1,
    ),
    edit(
        "extreme",
        "(*(__global ushort16_at8 *)(pixels) = (value))",
        "(*(__global ushort16_at8 *)(pixels) = min((value), (ushort16)(32767)))",
        1,
    ),
    edit(
        "one pixel",
        "(*(__global uchar16_at4 *)(pixels) = (value))",
        "(*(__global uchar16_at4 *)(pixels) = (value) ^ (uchar16)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0))",
        1,
    ),
];
