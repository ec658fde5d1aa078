//! Rules for the fused kernel for CPUs.

use box_filter::VariantId::Fused;
use opencl::cl::DeviceKind::Cpu;

use super::super::cases::Runner::Variant;
use super::{Edit, Rules, edit};

pub(super) const RULES: Rules =
    Rules { file: "box_filter/06_fused.cl", runners: &[Variant(Fused, Cpu)], edits: FUSED };

const EDGE: &str = "Left of the row the edge pixel repeats: both expressions are the same sum.";
const REST: &str = "The loop for the last pixels of a row handles any number of them.";
const WIDER: &str = "32-bit sums are exact for every radius; 16-bit sums are only faster.";

const FUSED: &[Edit] = &[
    // The first window of a row.
    edit("window", "columns[-1])", "columns[0])", 1).equal(EDGE),
    edit("window", "i <= radius", "i < radius", 1),
    edit("window", "i = 1", "i = 2", 1),
    edit("window", "columns[radius - 1]", "columns[radius]", 1),
    edit("window", "columns[-radius - 2]", "columns[-radius - 1]", 1).equal(EDGE),
    edit("window", "columns[radius - 2]", "columns[radius - 1]", 1),
    edit("window", "columns[-radius - 3]", "columns[-radius - 2]", 1).equal(EDGE),
    edit("window", "columns[radius - 3]", "columns[radius - 2]", 1),
    edit("window", "columns[-radius - 4]", "columns[-radius - 3]", 1).equal(EDGE),
    edit("channel", "(s4, s3, s2, s)", "(s3, s4, s2, s)", 1),
    // From one window to the next.
    edit("window", "columns + x + radius;", "columns + x + radius - 1;", 1),
    edit("window", "columns + x - radius;", "columns + x - radius + 1;", 1),
    edit("window", "LOAD_USHORT16(right - 1)", "LOAD_USHORT16(right)", 1),
    edit("window", "LOAD_USHORT16(left - 2)", "LOAD_USHORT16(left - 1)", 1),
    edit("window", "x + radius - 1)", "x + radius)", 1),
    edit("window", "x - radius - 1)", "x - radius)", 1),
    edit("window", "x - radius - 2)", "x - radius - 1)", 1),
    edit("window", "pair32(columns, -4, radius, wide)", "pair32(columns, 0, radius, wide)", 1),
    edit("window", "pair16(columns, -4, radius)", "pair16(columns, 0, radius)", 1),
    edit("window", "(before.s89abcdef, pair.s01234567)", "(pair.s01234567, before.s89abcdef)", 2),
    // Sums that overflow 16 bits.
    edit("radius range", "if (wide)", "if (false)", 1),
    edit("radius range", "if (wide)", "if (true)", 1).equal(WIDER),
    edit("radius range", "radius < 64", "radius < 65", 1),
    edit("radius range", "radius <= 7", "radius <= 8", 1),
    edit("radius range", "radius <= 7", "radius <= 6", 1).equal(WIDER),
    edit("radius range", "radius >= 8", "radius >= 9", 1).equal(WIDER),
    edit("radius range", "radius <= 42", "radius <= 41", 1).equal(WIDER),
    edit("radius range", "radius <= 42", "radius <= 63", 1),
    edit("radius range", "radius >= 1", "radius >= 0", 1),
    edit("radius range", "(255 + 2 * radius) / (2 * radius + 1)", "255 / (2 * radius + 1)", 1),
    edit(
        "radius range",
        "LOAD_UCHAR16(above + x)) - most",
        "LOAD_UCHAR16(above + x)) - (ushort)(most - 1)",
        1,
    ),
    edit(
        "radius range",
        "convert_ushort4(above[x + i]) - most",
        "convert_ushort4(above[x + i]) - (ushort)(most - 1)",
        1,
    ),
    edit(
        "radius range",
        "STORE_UCHAR16(out + x, convert_uchar16(mean))",
        "STORE_UCHAR16(out + x, convert_uchar16(mean) ^ (uchar16)(radius >= 20 && radius < 24))",
        1,
    ),
    edit("radius range", "uchar16 pixels = centred_mean16(sum, scale)", "$& ^ (uchar16)(radius == 128)", 1),
    // Dividing.
    edit("scale", "128 * (2 * radius + 1)", "127 * (2 * radius + 1)", 1),
    edit("scale", "n = (2 * radius + 1)", "n = (2 * radius + 2)", 1),
    edit("scale", "+ n - 1) / n", ") / n", 1),
    edit("shift", "(ushort)shift", "(ushort)(shift + 1)", 1),
    edit("shift", "31 - clz(n)", "24 - clz(n)", 1),
    edit("rounding", "(ushort)(n / 2)", "(ushort)(n / 2 + 1)", 1),
    edit("rounding", "(ushort)(n / 2)", "(ushort)(n / 2 - (radius > 30))", 1),
    edit("rounding", "most = above ? (255", "most = above ? (0", 1),
    // The ends of a row.
    edit("clamp", "columns[0];", "columns[1];", 1),
    edit("clamp", "columns[width - 1]", "columns[width - 2]", 1),
    edit("clamp", "radius + 8", "radius - 4", 1),
    edit("width", "i < count", "i < count - 1", 1),
    edit("width", "i < count", "i <= count", 1),
    edit("width", "pixels.s0123, pixels.s4567, pixels.s89ab", "pixels.s0123, pixels.s89ab, pixels.s4567", 1),
    edit("width", "if (x + 4 <= width) STORE_UCHAR16", "if (x + 3 <= width) STORE_UCHAR16", 1),
    edit("width", "if (x + 4 <= width) { ushort16 mean", "if (x + 3 <= width) { ushort16 mean", 1),
    edit("width", "for (; x + 4 <= width; x += 4)", "for (; x + 8 <= width; x += 4)", 2).equal(REST),
    edit("width", "for (; x + 4 <= width; x += 4)", "for (; x + 3 <= width; x += 4)", 2)
        .equal("The sum beyond the row is overwritten with the repeated edge before it is used."),
    edit("width", "i < width - x", "i < width - x - 1", 1),
    edit("width", "columns[x] += convert_ushort4(line[x])", "columns[x] = convert_ushort4(line[x])", 1),
    edit("width", "- convert_ushort4(leaves[x])", "", 1),
    // From row to row.
    edit("window", "j = y0 - 1 - radius", "j = y0 - radius", 1),
    edit("window", "j < y0 + radius", "j < y0 + radius - 1", 1),
    edit("clamp", "clamp(j, 0, height - 1)", "clamp(j, 0, height - 2)", 1),
    edit("clamp", "clamp(j, 0, height - 1)", "clamp(j, row0, height - 1)", 1),
    edit("clamp", "min(y + radius, height - 1)", "min(y + radius, height - 2)", 1),
    edit("clamp", "max(y - 1 - radius, 0)", "max(y - 1 - radius, 1)", 1),
    edit("window", "min(y + radius, height - 1)", "min(y + radius - 1, height - 1)", 1),
    edit("window", "max(y - 1 - radius, 0)", "max(y - radius, 0)", 1),
    edit("band", "row0 + (int)((long)rows * strip / strips)", "(int)((long)rows * strip / strips)", 1)
        .equal("Rows above the band are computed a second time, with the same bytes."),
    edit(
        "band",
        "row0 + (int)((long)rows * (strip + 1) / strips)",
        "(int)((long)rows * (strip + 1) / strips)",
        1,
    ),
    edit(
        "band",
        "row0 + (int)((long)rows * (strip + 1) / strips)",
        "$& - (row0 > 0 && strip == strips - 1)",
        1,
    ),
    edit("strip", "(long)rows * (strip + 1) / strips", "(long)rows / strips * (strip + 1)", 1),
    edit("strip", "scratch + strip * LINE", "scratch + (strip & 1) * LINE", 1),
    edit("strip", "y > y0", "y >= y0", 1),
    edit("strip", "out - width", "out", 1),
    edit("last row", "y < y1", "y < min(y1, height - 1)", 1),
    edit("channel", "convert_uchar16(mean))", "convert_uchar16(mean).s0213465789abcdfe)", 1),
    edit("channel", "centred_mean16(sum, scale)", "$&.s10325476ab89cdef", 1),
    edit(
        "alpha",
        "STORE_UCHAR16(out + x, convert_uchar16(mean))",
        "STORE_UCHAR16(out + x, convert_uchar16(mean) | (uchar16)(0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255))",
        1,
    ),
    edit(
        "alpha",
        "store_tail(out + x, convert_uchar16(mean), width - x)",
        "store_tail(out + x, convert_uchar16(mean) | (uchar16)(0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255), width - x)",
        1,
    ),
    edit(
        "one pixel",
        "STORE_UCHAR16(out + x, convert_uchar16(mean))",
        "STORE_UCHAR16(out + x, convert_uchar16(mean) ^ (uchar16)(x == 8))",
        1,
    ),
    edit(
        "size",
        "STORE_UCHAR16(out + x, convert_uchar16(mean))",
        "STORE_UCHAR16(out + x, convert_uchar16(mean) ^ (uchar16)(width == 1280))",
        1,
    ),
    edit(
        "extreme",
        "STORE_UCHAR16(out + x, convert_uchar16(mean))",
        "STORE_UCHAR16(out + x, min(convert_uchar16(mean), (uchar16)(254)))",
        1,
    ),
    edit(
        "outside",
        "__global uchar4 *out = dst + y * width;",
        "$& if (y == height - 1) out[width + 1025] = (uchar4)(9);",
        1,
    ),
    edit(
        "outside",
        "__global uchar4 *out = dst + y * width;",
        "$& if (y == height - 1) ((__global uchar4 *)src)[0] += (uchar4)(1);",
        1,
    ),
];
