//! Rules for the reduction and the histogram, without `limit.cl`, whose output is not used. Code for NVIDIA's devices
//! only, or for OpenCL's sub-groups, has no rules, because no other device compiles it.

use super::super::cases::Runner::{Histogram, Reduction};
use super::{Edit, Rules, edit};

pub(super) const RULES: &[Rules] = &[
    Rules { file: "common/luminance.clh", runners: &[Reduction("wide-64")], edits: LUMINANCE },
    Rules {
        file: "reduction/parts.clh",
        runners: &[Reduction("wide-64"), Reduction("two-stage")],
        edits: PARTS,
    },
    Rules {
        file: "reduction/tiles.clh",
        runners: &[Reduction("wide-64"), Reduction("unrolled")],
        edits: TILES,
    },
    Rules {
        file: "reduction/frames.clh",
        runners: &[Reduction("one-pass"), Reduction("two-stage")],
        edits: FRAMES,
    },
    Rules { file: "reduction/01_interleaved.cl", runners: &[Reduction("interleaved")], edits: INTERLEAVED },
    Rules { file: "reduction/02_sequential.cl", runners: &[Reduction("sequential")], edits: SEQUENTIAL },
    Rules {
        file: "reduction/03_unrolled.cl",
        runners: &[Reduction("unrolled"), Reduction("wide-64")],
        edits: UNROLLED,
    },
    Rules { file: "reduction/04_two_stage.cl", runners: &[Reduction("two-stage")], edits: TWO_STAGE },
    Rules { file: "reduction/05_one_pass.cl", runners: &[Reduction("one-pass")], edits: ONE_PASS },
    Rules { file: "reduction/06_strips.cl", runners: &[Reduction("strips")], edits: STRIPS },
    Rules { file: "histogram/histogram.clh", runners: &[Histogram("copies")], edits: HISTOGRAM },
    Rules { file: "histogram/01_global.cl", runners: &[Histogram("global")], edits: GLOBAL },
    Rules {
        file: "histogram/02_local.cl",
        runners: &[Histogram("local"), Histogram("copies")],
        edits: LOCAL,
    },
    Rules { file: "histogram/03_private.cl", runners: &[Histogram("private")], edits: PRIVATE },
];

const LUMINANCE: &[Edit] = &[
    edit("constant", "13926", "13925", 1),
    edit("constant", "46885", "46884", 1),
    edit("constant", "4725", "4724", 1),
    edit("rounding", "+ 32768", "", 1),
    edit("channel", "pixel >> 16 & 255", "pixel >> 8 & 255", 1),
    edit("alpha", "pixel >> 16 & 255", "pixel >> 24", 1),
];

const PARTS: &[Edit] = &[
    edit("rounding", "sum + count / 2", "sum", 1),
    edit("rounding", "sum + pixels / 2", "sum", 1),
    edit("extreme", "min(a.s2 & 255, b.s2 & 255)", "max(a.s2 & 255, b.s2 & 255)", 1),
    edit("extreme", "max(a.s2 >> 8, b.s2 >> 8)", "min(a.s2 >> 8, b.s2 >> 8)", 1),
    edit("constant", "2 * y + 1", "2 * y + 3", 1),
    edit("operands", "a.s0 + b.s0", "a.s0", 1),
    edit("operands", "a.s3 * b.s3", "a.s3", 1),
    edit("operands", "tree[item].sum += other.sum", "tree[item].sum = other.sum", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE); if (item < stride)", "if (item < stride)", 1),
    edit("size", "stride = items / 2", "stride = items / 4", 1),
];

const TILES: &[Edit] = &[
    edit("width", "x < width && y < height", "y < height", 1),
    edit("last row", "x < width && y < height", "x < width", 1),
    edit("shift", "(1 << p.shift) - 1", "(1 << p.shift) - 2", 1),
    edit("strip", "p.within + n * p.items", "p.within", 1),
    edit("size", "min(block, TILE)", "TILE", 2),
    edit("operands", "sum += part.s0", "sum = part.s0", 1),
    edit("operands", "count += part.s1", "count = part.s1", 1),
    edit("shift", "b % across * each", "b % across", 1),
    edit("width", "min(left + each, cells_across)", "(left + each)", 1),
    edit("one pixel", "luminance(pixels[n])", "luminance(n == 0 ? pixels[n] & 0xfffffffe : pixels[n])", 1),
];

const FRAMES: &[Edit] = &[
    edit("one pixel", "!= groups - 1", "!= groups", 1),
    edit("constant", "*counter = 0", "*counter = 1", 1),
    edit("size", "get_group_id(1) * get_num_groups(0) + get_group_id(0)", "get_group_id(0)", 1),
    edit("last row", "i < count", "i + 1 < count", 1),
    edit("strip", "i = get_local_id(0)", "i = 0", 1),
];

const INTERLEAVED: &[Edit] = &[
    edit("size", "stride < GROUP", "stride < GROUP / 2", 1),
    edit("strip", "2 * stride * get_local_id(0)", "stride * get_local_id(0)", 1)
        .by_device("Where work-items run one after the other, the first sum is correct in either case."),
    edit("operands", "tree[at + stride]", "tree[at]", 1),
    edit("shift", "parts[p.number]", "parts[0]", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);", "", 1),
    edit("constant", "stride *= 2", "stride *= 4", 1),
];

const SEQUENTIAL: &[Edit] = &[
    edit("size", "GROUP / 2", "GROUP / 4", 1),
    edit("last row", "stride > 0", "stride > 1", 1),
    edit("operands", "tree[item + stride]", "tree[item]", 1),
    edit("shift", "parts[p.number]", "parts[0]", 1),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);", "", 1),
];

/// With sub-groups, which PoCL has from version 5 on.
const WIDE_SUB_GROUP: &str =
    "A sub-group as large as the work-group does every step without the group's barrier.";

const UNROLLED: &[Edit] = &[
    edit("size", "p.items / 2", "p.items / 4", 1).by_device(WIDE_SUB_GROUP),
    edit("size", "stride >= WARP", "stride > WARP", 1).by_device(WIDE_SUB_GROUP),
    edit("strip", "p.within < stride && stride < p.items", "p.within < stride", 1),
    edit("last row", "stride > 0", "stride > 1", 1),
    edit("operands", "tree[item + stride]", "tree[item]", 2).by_device(WIDE_SUB_GROUP),
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE);", "", 1).by_device(WIDE_SUB_GROUP),
    edit("barrier", "WARP_BARRIER();", "", 1).by_device(
        "Work-items that run as one, or that wait for each other before the branch, need no barrier.",
    ),
    edit("outside", "p.within == 0 && p.number >= 0", "p.within == 0", 1),
];

const TWO_STAGE: &[Edit] = &[
    edit("strip", "b += get_num_groups(0)", "b++", 1),
    edit("size", "columns * rows", "block * block", 1),
    edit("last row", "x < columns && y < rows", "x < columns", 1),
    edit("width", "x < columns && y < rows", "y < rows", 1),
    edit("strip", "at += GROUP", "at += GROUP + 1", 1),
    edit("operands", "total += sums[0]", "total = sums[0]", 1),
    edit("operands", "joined(own, part)", "part", 1),
    edit("size", "stride > 0", "stride > 1", 2),
];

const ONE_PASS: &[Edit] = &[
    edit("width", "width % 4 == 0", "width % 4 != 1", 1),
    edit("width", "x < width && y < height", "y < height", 2),
    edit("shift", "4 * (at & ((1 << in_row) - 1))", "(at & ((1 << in_row) - 1))", 1),
    edit("shift", "at >> in_row", "at >> shift", 1),
    edit("strip", "item >> share >> across_tile", "0", 1),
    edit("operands", "both(tree[item], tree[item + stride])", "tree[item]", 2),
    edit("size", "stride = items;", "stride = items * 2;", 1),
    edit("outside", "r * blocks_across + c]", "r * blocks_across + c + 1]", 1),
    edit("extreme", "min(s->least, y)", "min(s->least, y + 1)", 1),
    edit("extreme", "max(s->most, y)", "max(s->most, y / 2)", 1),
    edit("constant", "2 * y + 1", "2 * y - 1", 1),
];

const STRIPS: &[Edit] = &[
    edit("last row", "y + 1 < rows", "1", 1),
    edit("width", "x = 16 * whole", "x = 16 * whole + 1", 1),
    edit("extreme", "least = UINT_MAX", "least = 0", 1),
    edit("constant", "(l + l) | 0x00010001", "(l + l)", 1),
    edit("operands", "sums[v] += l", "sums[v] = l", 1),
    edit("size", "(b + 1) * block >= columns", "b == 0", 1),
    edit("extreme", "i < 16", "i < 15", 1),
    edit("constant", "23443 << 16", "23442 << 16", 1),
    edit("rounding", "+ 32768", "", 1),
    edit("shift", "left / block + b", "b", 1),
];

const HISTOGRAM: &[Edit] = &[
    edit("constant", "out[get_group_id(0)] = 0", "out[get_group_id(0)] = 1", 1),
    edit("one pixel", "out[get_group_id(0)] = 0", "if (get_group_id(0) != 7) $&", 1),
    edit("strip", "bin += GROUP", "bin += 2 * GROUP", 1)
        .by_device("A group of 256 work-items has one work-item for each luminance."),
    edit("operands", "sum += copies[copy * BINS + bin]", "sum = copies[copy * BINS + bin]", 1),
    edit("size", "copy < count", "copy < 1", 1),
    edit("shift", "atomic_add(&out[bin], sum)", "atomic_add(&out[bin ^ 1], sum)", 1),
];

const GLOBAL: &[Edit] = &[
    edit("outside", "at < width * height", "at <= width * height", 1),
    edit("last row", "at < width * height", "at < width * (height - 1)", 1),
    edit("strip", "get_group_id(0) * GROUP", "0", 1),
    edit("shift", "src[at]", "src[at > 0 ? at - 1 : 0]", 1),
    edit("channel", "luminance(src[at])", "(src[at] >> 8 & 255)", 1),
];

const LOCAL: &[Edit] = &[
    edit("size", "bin < COPIES * BINS", "bin < BINS / 2", 1),
    edit("strip", "item % COPIES * BINS", "item % 2 * COPIES", 1),
    edit("last row", "at < width * height", "at + 1 < width * height", 1),
    edit("strip", "first + n * GROUP", "first + n", 1),
    edit("strip", "(GROUP * EACH)", "GROUP", 1),
    edit("operands", "atomic_inc(&own[luminance(src[at])])", "own[0]++", 1),
    edit("constant", "merge(out, bins, COPIES)", "merge(out, bins, 1)", 1),
];

const PRIVATE: &[Edit] = &[
    edit("width", "at + 16 <= end", "at + 15 <= end", 1),
    edit("last row", "at < end", "at + 1 < end", 1),
    edit("strip", "get_group_id(0) * EACH", "0", 1),
    edit("constant", "46885", "46884", 1),
    edit("rounding", "+ 32768", "", 1),
    edit("operands", "sum += bins[copy][bin]", "sum = bins[copy][bin]", 1),
    edit("operands", "bins[i % COPIES][bin[i]]++", "bins[i % COPIES][bin[0]]++", 1),
];
