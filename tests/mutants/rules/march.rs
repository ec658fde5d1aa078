//! Rules for the fused kernel for GPUs. It runs on any device, so that a machine without a graphics card can try them.

use box_filter::VariantId::Fused;
use opencl::cl::DeviceKind::Gpu;

use super::super::cases::Runner::{self, IntoImage, Tuned, Variant};
use super::{Edit, Rules, edit};

pub(super) const RULES: Rules =
    Rules { file: "box_filter/07_march.cl", runners: &[Variant(Fused, Gpu)], edits: MARCH };

const IMAGE: &[Runner] = &[IntoImage(Fused, Gpu)];
const TWO_ROWS: &[Runner] = &[Tuned(Fused, Gpu, "ROWS", 2)];
const BEHIND: &[Runner] = &[Tuned(Fused, Gpu, "AHEAD", 0)];

const MARCH: &[Edit] = &[
    // Two channels in 32 bits.
    edit("channel", "(pixel >> 8) & 0x00ff00ff)", "(pixel >> 8) & 0x00ff00fe)", 1),
    edit(
        "channel",
        "(column_t)(pixel & 0x00ff00ff, (pixel >> 8)",
        "(column_t)(pixel & 0x00fe00ff, (pixel >> 8)",
        1,
    ),
    edit(
        "channel",
        "(column_t)(pixel & 0x00ff00ff, (pixel >> 8)",
        "(column_t)(pixel & 0x00ff00ff, (pixel >> 16)",
        1,
    ),
    edit("extreme", "(c & 0xffff)", "(c & 0x7fff)", 1),
    edit("extreme", "(c >> 16) + 0x4b000000", "((c >> 16) & 0x7fff) + 0x4b000000", 1),
    edit("scale", "(c >> 16) + 0x4b000000", "(c >> 16) + 0x4b000001", 1)
        .equal("Only differences of two of these values are used."),
    edit("channel", "total + (uint4)(c, c >> 16)", "total + (uint4)(c, c >> 17)", 1),
    edit("channel", "total.s23 << 16", "total.s23 << 15", 1),
    edit("rounding", "total.s23)) - less", "total.s23)) - less + 1", 1),
    // Pixels at the border.
    edit("clamp", "clamp(x, 0, last)", "max(x, 0)", 1),
    edit("clamp", "clamp(x + 1, 0, last)", "clamp(x + 1, 1, last)", 1),
    edit("clamp", "clamp(x + 2, 0, last)", "clamp(x + 2, 0, last - 1)", 1),
    edit("clamp", "clamp(x + 3, 0, last)", "min(x + 3, last)", 1),
    edit("channel", "i == 1 ? four.s1", "i == 1 ? four.s2", 1),
    edit("clamp", "last = width - 1", "last = width - 2", 1),
    edit("clamp", "bottom = height - 1", "bottom = height - 2", 1),
    edit("width", "&& width % 4 == 0", "", 1)
        .by_device("Vectors then start at any pixel, which the compiler's code for a device may allow."),
    edit("clamp", "inside = x >= 0 && whole", "inside = whole", 1),
    // The mean.
    edit("scale", "sum * scale + (float4)", "sum * (scale * 1.001f) + (float4)", 1),
    edit("channel", "12583040.0f - 0x8b40", "12583040.0f", 1),
    edit("channel", "m.s1 << 8", "m.s1 << 9", 1),
    edit("alpha", "m.s0 + (m.s1 << 8) + (m.s2 << 16) + (m.s3 << 24)", "($&) | 0xff000000", 1),
    edit(
        "extreme",
        "m.s0 + (m.s1 << 8) + (m.s2 << 16) + (m.s3 << 24)",
        "as_uint(min(as_uchar4($&), (uchar4)(254)))",
        1,
    ),
    edit(
        "radius range",
        "mean_pixel(window, scale);",
        "mean_pixel(window, scale) ^ (uint)(radius >= 20 && radius < 24);",
        2,
    ),
    edit(
        "radius range",
        "mean_pixel(window, scale);",
        "mean_pixel(window, scale) ^ (uint)(radius == 128);",
        2,
    ),
    edit(
        "one pixel",
        "totals[turn][i], item, radius, scale);",
        "$& pixels[0] ^= (uint)(x == 0 && y + i == 0);",
        1,
    ),
    edit("size", "totals[turn][i], item, radius, scale);", "$& pixels[0] ^= (uint)(width == 1280);", 1),
    // Into an image and into a buffer.
    edit("target", "(1.0f / 255.0f)", "(1.0f / 254.0f)", 1).on(IMAGE),
    edit("target", "if (x + c < width) write_imagef", "if (x + c < width - 1) write_imagef", 1).on(IMAGE),
    edit("target", "convert_float4(as_uchar4(pixels[c]))", "$&.s2103", 1).on(IMAGE),
    edit("target", "convert_float4(as_uchar4(pixels[c]))", "(float4)($&.s012, 255.0f)", 1).on(IMAGE),
    edit("target", "(int2)(x + c, y + i)", "(int2)(x + c, max(y + i, 1))", 1).on(IMAGE),
    edit("width", "if (x + i < width) out[i]", "if (x + i < width - 1) out[i]", 1),
    edit("width", "if (x + i < width) out[i]", "if (x + i <= width) out[i]", 1),
    edit("channel", "pixels[i + 1], pixels[i + 2]", "pixels[i + 2], pixels[i + 1]", 1),
    edit(
        "outside",
        "__global uint *out = (__global uint *)dst + y * width + x;",
        "$& if (x == 0 && y == 0) ((__global uint *)dst)[-1030] = 7;",
        1,
    ),
    // The first window of a work-item.
    edit("strip", "COLUMNS == 8 ? 3 : 4", "COLUMNS == 8 ? 2 : 4", 1),
    edit("window", "item - radius / COLUMNS", "item - radius / COLUMNS + 1", 1),
    edit("window", "item + (radius + 1) / COLUMNS", "item + radius / COLUMNS", 1),
    edit("window", "left_part = radius % COLUMNS", "left_part = (radius + 1) % COLUMNS", 1),
    edit("window", "right_part = (radius + 1) % COLUMNS", "right_part = radius % COLUMNS", 1),
    edit("window", "b + i < right", "b + i <= right", 1),
    edit("window", "row[COLUMNS - 1 - c - i][left - 1]", "row[c + i][left - 1]", 1),
    edit("window", "row[COLUMNS - 1 - c - i][left - 1]", "row[COLUMNS - 1 - c - i][left]", 1),
    edit("window", "row[c + i][right]", "row[c + i][right - 1]", 1),
    edit("scale", "channels(sum, 128", "channels(sum, 127", 1),
    // From one pixel to the next.
    edit("window", "column_at(row, c + radius, item)", "column_at(row, c + radius - 1, item)", 1),
    edit("window", "column_at(row, c - radius - 1, item)", "column_at(row, c - radius, item)", 1),
    // The strip of a group.
    edit(
        "strip",
        "share = (blocks + (int)get_num_groups(0) - 1)",
        "share = (blocks + (int)get_num_groups(0) - 2)",
        1,
    ),
    edit("strip", "halo = (radius + COLUMNS - 1) / COLUMNS", "halo = radius / COLUMNS", 1),
    edit("strip", "reads = item < share + 2 * halo", "reads = item < share + halo", 1),
    edit("strip", "item >= halo && item < halo + share", "item > halo && item < halo + share", 1),
    edit("strip", "item < halo + share && x", "item < halo + share - 1 && x", 1),
    edit("strip", "(long)(get_group_id(1) + 1)", "(long)get_group_id(1)", 1),
    edit("band", "y0 = row0 + (int)", "y0 = (int)", 1)
        .equal("Rows above the band are computed a second time, with the same bytes."),
    edit("band", "y1 = row0 + (int)", "y1 = (int)", 1),
    edit("last row", "if (y + i >= y1)", "if (y + i >= min(y1, height - 1))", 1),
    edit("band", "if (y + i >= y1)", "if (y + i >= y1 - (row0 > 0))", 1),
    edit("band", "if (y + i >= y1)", "if (y + i > y1)", 1),
    // Rows that enter and leave.
    edit("window", "y = y0 - radius - 1", "y = y0 - radius", 1),
    edit("window", "y + i < y0 + radius ?", "y + i <= y0 + radius ?", 1),
    edit("clamp", "clamp(y + i, 0, bottom)", "clamp(y + i, 1, bottom)", 1),
    edit("clamp", "min((first) + i + radius, bottom)", "min((first) + i + radius, bottom - 1)", 1),
    edit(
        "clamp",
        "clamp((first) + i - radius - 1, 0, bottom)",
        "clamp((first) + i - radius - 1, 1, bottom)",
        1,
    ),
    edit("window", "(first) + i + radius", "(first) + i + radius - 1", 1),
    edit("window", "(first) + i - radius - 1", "(first) + i - radius", 1),
    edit("channel", "sum[4 * c + 2] +=", "sum[4 * c + 1] +=", 1),
    edit("strip", "READ_ROWS(y + ROWS)", "READ_ROWS(y + 1)", 1).on(TWO_ROWS),
    edit("strip", "y += ROWS", "y += 1", 1).on(TWO_ROWS),
    edit("strip", "READ_ROWS(y)", "READ_ROWS(y + 1)", 1).on(BEHIND),
    edit("strip", "sum[c] -= column_of", "sum[c] -= (y == y0 && y > 0 ? 0 : 1) * column_of", 1),
    // Local memory.
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);", "", 1),
    edit("barrier", "columns[turn][i][c][item]", "columns[0][i][c][item]", 1),
    edit("barrier", "filter_row(pixels, columns[turn][i]", "filter_row(pixels, columns[1 - turn][i]", 1),
    edit("barrier", "totals[turn][i][item]", "totals[0][i][item]", 1),
];
