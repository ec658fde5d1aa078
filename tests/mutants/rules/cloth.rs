//! Rules for the cloth, without `limit.cl`, whose output is not used.

use super::super::cases::Runner::{self, Cloth};
use super::{Edit, Rules, edit};

pub(super) const RULES: &[Rules] = &[
    Rules { file: "cloth/01_single.cl", runners: &[Cloth("single")], edits: SINGLE },
    Rules { file: "cloth/02_scalar.cl", runners: SCALAR, edits: SKIN },
    Rules { file: "cloth/03_local.cl", runners: &[Cloth("local")], edits: LOCAL },
    Rules { file: "cloth/04_planes.cl", runners: PLANES, edits: DISTANCES },
    Rules { file: "cloth/05_coloured.cl", runners: &[Cloth("coloured")], edits: COLOURED },
    Rules { file: "cloth/06_group.cl", runners: &[Cloth("group")], edits: GROUP },
    Rules { file: "cloth/07_octets.cl", runners: &[Cloth("octets")], edits: OCTETS },
    Rules { file: "cloth/distance.clh", runners: DISTANCE_RUNGS, edits: DISTANCE },
    Rules { file: "cloth/figure.clh", runners: PLANES, edits: FIGURE },
    Rules { file: "cloth/structs.clh", runners: SCALAR, edits: ELEMENTS },
    Rules { file: "cloth/scalar.clh", runners: SCALAR, edits: STEPS },
    Rules { file: "cloth/planes.clh", runners: PLANES, edits: STEPS_ON_PLANES },
];

const SCALAR: &[Runner] = &[Cloth("scalar")];
const PLANES: &[Runner] = &[Cloth("planes")];
/// Kernels with several figures in a vector.
const LANES: &[Runner] = &[Cloth("lanes")];
/// Kernels whose work-items have several indices.
const SEVERAL: &[Runner] = &[Cloth("several")];
/// A constraint in global memory, and in local memory.
const DISTANCE_RUNGS: &[Runner] = &[Cloth("planes"), Cloth("group")];

const SINGLE: &[Edit] = &[
    edit("last element", "v < SKINNED", "v + 1 < SKINNED", 1),
    edit("characters", "pose + character * (BONES * 12)", "pose", 1),
    edit("characters", "army * PARTICLES", "(army - 1) * PARTICLES", 1),
    edit("previous", "previous[i]", "positions[i]", 1),
    edit("constraints", "iteration < ITERATIONS", "iteration <= ITERATIONS", 1),
    edit("constraints", "c < end", "c + 1 < end", 1),
    edit("last element", "i < PARTICLES", "i + 1 < PARTICLES", 1),
    edit("characters", "moved + character * PARTICLES", "moved", 1),
    edit("driver", "BODY + p", "BODY", 1),
    edit("last element", "v < SHIRT", "v + 1 < SHIRT", 1),
    edit("characters", "army * SHIRT", "SHIRT", 1),
];

const SKIN: &[Edit] = &[
    edit("last element", "v < SKINNED", "v + 1 < SKINNED", 1),
    edit("characters", "pose + character * (BONES * 12)", "pose", 1),
    edit("bones", "BONES * 12", "BONES * 16", 1),
    edit("layout", "2 * (character * SKINNED + v)", "(character * SKINNED + v)", 1),
    edit("shift", "vertices[v]", "vertices[v > 0 ? v - 1 : 0]", 1),
    edit("characters", "first + get_global_id(1)", "first", 1),
];

const LOCAL: &[Edit] = &[
    edit("size", "count * 5", "count * 4", 1),
    edit("band", "vertices + begin", "vertices", 1),
    edit("band", "get_group_id(0) * GROUP", "get_group_id(0) * (GROUP - 1)", 1),
    edit("last element", "SKINNED - begin", "SKINNED - begin - 1", 1),
    edit("last element", "own >= count", "own + 1 >= count", 1),
    edit("operands", "copied[own * 5 + 1]", "copied[own * 5]", 1),
    edit("bones", "as_uint4(", "convert_uint4(", 1),
    edit("barrier", "wait_group_events(1, (event_t *)&copy);", "", 1).by_device(
        "PoCL completes the copy before it continues; on a graphics card the copy may come later.",
    ),
    edit("characters", "pose + character * (BONES * 12)", "pose", 1),
];

const DISTANCES: &[Edit] = &[
    edit("constraints", "iteration < ITERATIONS", "iteration + 1 < ITERATIONS", 1),
    edit("constraints", "c < end", "c + 1 < end", 1),
    edit("layout", "i < 3 * PARTICLES", "i < 2 * PARTICLES", 1),
    edit("previous", "positions != moved", "positions == moved", 1),
    edit("characters", "(__global real *)moved + block * (3 * PARTICLES)", "(__global real *)moved", 1),
    edit("characters", "block * LANES >= army", "block * LANES + LANES > army", 1).on(LANES),
    edit("operands", "lengths[c]", "lengths[begin]", 1),
];

const DISTANCE: &[Edit] = &[
    edit("operands", "+ dz * dz", "", 1),
    edit("operands", "(pair).y", "(pair).x", 1),
    edit("shares", "error * goal.z", "error * goal.y", 1),
    edit("sign", "pz[b] -= dz * to_b", "pz[b] += dz * to_b", 1),
    edit("shares", "py[a] += dy * to_a;", "", 1),
    edit("shares", "px[b] -= dx * to_b;", "", 1),
];

const OCTETS: &[Edit] = &[
    edit("operands", "both.odd", "both.even", 1),
    edit("layout", "vload16(1, lengths)", "vload16(0, lengths)", 1),
    edit("layout", "more.s048c", "more.s159d", 1),
    edit("shares", "more.s26ae", "more.s159d", 1),
    edit("layout", "from[at.s7]", "from[at.s6]", 1),
    edit("layout", "to[at.s3] = moved_to.s3;", "", 1),
    edit("sign", "bz - dz * to_b", "bz + dz * to_b", 1),
    edit("constraints", "c += 8", "c += 9", 1),
    edit("colours", "colour < colours", "colour + 1 < colours", 1),
    edit("constraints", "c < ends[colour]", "c + 1 < ends[colour]", 1),
    edit("constraints", "iteration < ITERATIONS", "iteration + 1 < ITERATIONS", 1),
    edit("layout", "i < 3 * PARTICLES", "i < 2 * PARTICLES", 1),
    edit("characters", "positions[character * (3 * PARTICLES) + i]", "positions[i]", 1),
];

const COLOURED: &[Edit] = &[
    edit("layout", "i < 3 * PARTICLES", "i < 2 * PARTICLES", 1),
    edit("characters", "positions[(first + get_global_id(1)) * (3 * PARTICLES) + i]", "positions[i]", 1),
    edit("colours", "begin + get_global_id(0)", "get_global_id(0)", 1),
    edit("constraints", "c >= end", "c + 1 >= end", 1),
    edit("operands", "pairs[c]", "pairs[begin]", 1),
    edit("layout", "*z = y + PARTICLES", "*z = x + PARTICLES", 1),
];

const GROUP: &[Edit] = &[
    edit("barrier", "barrier(CLK_LOCAL_MEM_FENCE); for", "for", 1)
        .by_device("PoCL synchronises the work-items before a loop with barriers."),
    edit("barrier", "lengths[c]); barrier(CLK_LOCAL_MEM_FENCE); }", "lengths[c]); }", 1),
    edit("constraints", "iteration < ITERATIONS", "iteration + 1 < ITERATIONS", 1),
    edit("colours", "colour < colours", "colour + 1 < colours", 1),
    edit("colours", "colour > 0 ?", "colour > 1 ?", 1),
    edit("constraints", "c < until", "c + 1 < until", 1),
    edit("characters", "(first + get_global_id(1))", "first", 1),
    edit("last element", "i < PARTICLES", "i + 1 < PARTICLES", 2),
    edit("layout", "positions[base + 2 * PARTICLES + i]", "positions[base + PARTICLES + i]", 1),
    edit("operands", "= z[i]", "= y[i]", 1),
    edit("operands", "lengths[c]", "lengths[own]", 1),
];

const FIGURE: &[Edit] = &[
    edit("size", "(ROWS * COLUMNS)", "((ROWS - 1) * COLUMNS)", 1),
    edit("size", "(ROWS * (COLUMNS + 1))", "(ROWS * COLUMNS)", 1),
    edit("size", "(BODY + PARTICLES)", "BODY", 1),
    edit("constant", "0.25f", "0.5f", 1),
    edit("constant", "0.25f", "0.2f", 1),
    edit("constant", "0.004f", "0.0f", 1),
    edit("rounding", "0.004f", "0.0045f", 1),
];

const ELEMENTS: &[Edit] = &[
    edit("bones", "bone * 12", "bone * 16", 1),
    edit("bones", "pose, v.bones.z", "pose, v.bones.y", 1),
    edit("bones", "add_bone(rows, pose, v.bones.z, v.weights.z);", "", 1),
    edit("bones", "add_bone(rows, pose, v.bones.w, v.weights.w);", "", 1),
    edit("bones", "rows[1] += weight *", "rows[1] +=", 1),
    edit("normal", "normal / sqrt(fmax(dot(normal, normal), 1e-20f))", "normal", 1),
    edit("sign", "p.xyz - previous.xyz", "previous.xyz - p.xyz", 1),
    edit("sign", "step.y += fall", "step.y -= fall", 1),
    edit("extreme", "FURTHEST / sqrt(square)", "FURTHEST / square", 1),
    edit("extreme", "near > 0.0f", "true", 1),
    edit("shares", "error * length.y", "error * length.z", 1),
    edit("sign", "b.xyz - error", "b.xyz + error", 1),
    edit("sign", "- GAP", "+ GAP", 1),
    edit("sign", "inside < 0.0f", "inside > 0.0f", 1),
    edit("reach", "off *= reach / far", "off *= 1.0f", 1),
    edit("last row", "row + 1 < ROWS ? row + 1 : ROWS - 1", "row + 1", 1),
    edit("last column", "along % COLUMNS", "min(along, (uint)COLUMNS - 1)", 1),
    edit("normal", "cross(downward, sideward)", "cross(sideward, downward)", 1),
    edit("scale", "row / (ROWS - 1)", "row / ROWS", 1),
];

const STEPS: &[Edit] = &[
    edit("last element", "p < PARTICLES", "p + 1 < PARTICLES", 1),
    edit("outside", "p < PARTICLES", "p <= PARTICLES", 1),
    edit("characters", "(first + get_global_id(1)) * PARTICLES + p", "p", 1),
    edit("previous", "previous[i]", "positions[i]", 1),
    edit("characters", "positions[character * PARTICLES + i]", "positions[i]", 1),
    edit("constraints", "iteration < ITERATIONS", "iteration + 1 < ITERATIONS", 1),
    edit("constraints", "c < end", "c + 1 < end", 1),
    edit("operands", "lengths[c]", "lengths[begin]", 1),
    edit("last element", "p >= PARTICLES", "p + 1 >= PARTICLES", 1),
    edit("driver", "BODY + p", "p", 1),
    edit("reach", "reach[p]", "reach[0]", 1),
    edit("layout", "8 * (character * SHIRT + v)", "8 * (character * PARTICLES + v)", 1),
    edit("characters", "army * SHIRT + character * BODY + v", "SHIRT + character * BODY + v", 1),
    edit("layout", "uv[v]", "uv[v].yx", 1),
];

const STEPS_ON_PLANES: &[Edit] = &[
    edit("last element", "INDICES(v, SKINNED)", "INDICES(v, SKINNED - 1)", 1),
    edit("last element", "turn < ITEMS", "turn + 1 < ITEMS", 1).on(SEVERAL),
    edit("shift", "i += GROUP)", "i += GROUP + 1)", 1).on(SEVERAL),
    edit("band", "GROUP * ITEMS", "GROUP", 1).on(SEVERAL),
    edit("bones", "n < 4", "n < 2", 1),
    edit("bones", "n < 4", "n < 3", 1),
    edit("bones", "m[k] += weight * bone[k]", "m[k] = weight * bone[k]", 1),
    edit("bones", "as_uint(vertices[12 * SKINNED + v])", "as_uint(vertices[13 * SKINNED + v])", 1),
    edit("operands", "m[10] * z + m[11]", "m[10] * z", 1),
    edit("normal", "c * one", "c", 1),
    edit("layout", "vertices[4 * SKINNED + v]", "vertices[3 * SKINNED + v]", 1),
    edit("last element", "INDICES(p, PARTICLES)", "INDICES(p, PARTICLES - 1)", 2),
    edit("sign", "carry + fall", "carry - fall", 1),
    edit("sign", "x - before[0]", "before[0] - x", 1),
    edit("extreme", "dz * less", "dz", 1),
    edit("sign", "nz - GAP", "nz + GAP", 1),
    edit("sign", "y -= ny * inside", "y += ny * inside", 1),
    edit("driver", "+ BODY + p", "+ p", 1),
    edit("reach", "reach[p]", "reach[0]", 1),
    edit("reach", "qy + y * less", "qy + y", 1),
    edit("last row", "row + 1 < ROWS ? row + 1 : ROWS - 1", "row + 1", 1),
    edit("last column", "along == COLUMNS ? 0 : along", "min(along, (uint)COLUMNS - 1)", 1),
    edit("last column", "column > 0 ? column - 1 : COLUMNS - 1", "column > 0 ? column - 1 : 0", 1),
    edit("last column", "v / (COLUMNS + 1)", "v / COLUMNS", 1),
    edit("normal", "dy * sz - dz * sy", "dz * sy - dy * sz", 1),
    edit("normal", "nz * one", "nz", 1),
    edit("scale", "row / (ROWS - 1)", "row / ROWS", 1),
    edit("characters", "army * SHIRT + v", "SHIRT + v", 1),
    edit("layout", "uv[v].y", "uv[v].x", 1),
    edit("layout", "PAIRS(n[2], n[3])", "PAIRS(n[3], n[2])", 1).on(LANES),
    edit("layout", "lo[k].lo, hi[k].lo", "lo[k].lo, hi[k].hi", 1).on(LANES),
    edit("characters", "character + k < army", "character + k <= army", 1).on(LANES),
    edit("characters", "character + k + 4 < army", "true", 1).on(LANES),
    edit("characters", "character + k + 4 < army", "character + k + 5 < army", 1).on(LANES),
];
