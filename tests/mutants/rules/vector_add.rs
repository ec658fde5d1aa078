//! Rules for vector addition, without `limit.cl`, whose output is not used.

use super::super::cases::Runner::VectorAdd;
use super::{Edit, Rules, edit};

pub(super) const RULES: &[Rules] = &[
    Rules { file: "vector_add/01_scalar.cl", runners: &[VectorAdd("scalar")], edits: SCALAR },
    Rules { file: "vector_add/02_vector.cl", runners: &[VectorAdd("vector")], edits: VECTOR },
];

const SCALAR: &[Edit] = &[
    edit("width", "i < count", "i + 1 < count", 1),
    edit("width", "i < count", "i < (count & ~1u)", 1),
    edit("outside", "i < count", "i <= count", 1),
    edit("outside", "sum[i] =", "if (i == 0) sum[-1] = 0.0f; sum[i] =", 1),
    edit("outside", "sum[i] =", "((__global float *)b)[i] = 0.0f; sum[i] =", 1),
    edit("operands", "a[i] + b[i]", "a[i] - b[i]", 1),
    edit("operands", "a[i] + b[i]", "a[i] + a[i]", 1),
    edit("shift", "sum[i] = a[i]", "sum[i] = a[i > 0 ? i - 1 : 0]", 1),
    edit("rounding", "a[i] + b[i]", "($&) * 1.0000002f", 1),
    edit("one pixel", "a[i] + b[i]", "$& * (i == 7 ? 0.0f : 1.0f)", 1),
    edit("size", "a[i] + b[i]", "$& * (count > 4000 ? 0.0f : 1.0f)", 1),
    edit("last row", "a[i] + b[i]", "$& * (i + 1 == count ? 0.0f : 1.0f)", 1),
    edit("extreme", "a[i] + b[i]", "min($&, 1e30f)", 1),
];

const VECTOR: &[Edit] = &[
    edit("width", "v == whole", "v == whole && whole > 0", 1),
    edit("width", "v == whole", "v == whole && (count & 1)", 1),
    edit("width", "i < count", "i + 1 < count", 1),
    edit("width", "i = whole * WIDTH", "i = whole * WIDTH + 1", 1),
    edit("width", "count / WIDTH", "(count - 1) / WIDTH", 1)
        .equal("The last vector is then added element by element, with the same result."),
    edit("outside", "v < whole", "v <= whole", 1),
    edit("outside", "i < count", "i <= count", 1),
    edit("outside", "sums[v] =", "((__global float *)b)[v] = 0.0f; sums[v] =", 1),
    edit("strip", "get_group_id(0)", "0", 1),
    edit("strip", "(GROUP * ITEMS)", "(GROUP * ITEMS + 1)", 1),
    edit("strip", "get_local_id(0)", "get_local_id(0) / 2", 1),
    edit("operands", "as[v] + bs[v]", "as[v] - bs[v]", 1),
    edit("operands", "a[i] + b[i]", "a[i] - b[i]", 1),
    edit("operands", "sum[i] = a[i]", "sum[i] = a[whole * WIDTH]", 1),
    edit("shift", "sums[v] = as[v]", "sums[v] = as[v > 0 ? v - 1 : 0]", 1),
    edit("rounding", "as[v] + bs[v]", "($&) * 1.0000002f", 1),
    edit("one pixel", "as[v] + bs[v]", "($&) * (v == 7 ? 0.0f : 1.0f)", 1),
    edit("size", "as[v] + bs[v]", "($&) * (count > 4000 ? 0.0f : 1.0f)", 1),
    edit("extreme", "as[v] + bs[v]", "min($&, 1e30f)", 1),
];
