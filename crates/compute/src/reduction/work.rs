//! The exact work of the kernels of the reduction, as formulas of the picture's size and the kernels' parameters. They follow
//! the kernel files statement by statement; tests/work.rs compares them with a count. An element of a transfer is a pixel, the
//! intermediate result of some pixels (a part), or a number of the output. Atomic operations do not count.

use super::kernels::{Config, is_nvidias};
use super::{Case, FRAME_NUMBERS};
use crate::plan::Launched;
use crate::work::{LaunchWork, Transfer};

/// The number of additions and multiplications for a pixel: six for its luminance y, one to add y to the sum of the luminances,
/// and three to multiply 2 y + 1 into their product.
const OPERATIONS_PER_PIXEL: u64 = 10;

/// Returns true if the work-items of a sub-group, or of an NVIDIA warp, exchange values without the work-group's barriers.
fn has_sub_groups(config: &Config, on: Launched) -> bool {
    is_nvidias(on.device) || !(config.code().options)(on.device).is_empty()
}

/// Returns the transfer of all pixels of a picture.
fn pixels(case: &Case) -> Transfer {
    Transfer::new(case.pixels() as u64, 4)
}

/// Returns the transfer of `count` intermediate results.
fn parts(count: u64) -> Transfer {
    Transfer::new(count, 16)
}

/// Returns the transfer of `count` results.
fn numbers(count: u64) -> Transfer {
    Transfer::new(count, 4)
}

/// Returns the number of squares of this width that cover the picture.
fn squares(case: &Case, edge: u32) -> u64 {
    case.square_counts(edge).iter().map(|count| *count as u64).product()
}

/// Returns the number of intermediate results of kernels that process the picture in tiles: one for each block, or one for each
/// tile if a tile is smaller than a block.
fn cells(config: &Config, case: &Case) -> u64 {
    squares(case, case.block.min(config.get("TILE")))
}

/// Returns the number of steps of a tree reduction over `items` work-items.
fn steps(items: u64) -> u64 {
    u64::from(items.max(1).ilog2())
}

/// Returns the work of a launch that reads each pixel once.
fn read_once(case: &Case, launch: LaunchWork) -> LaunchWork {
    let reads = pixels(case);
    LaunchWork { reads, operations: OPERATIONS_PER_PIXEL * reads.elements, ..launch }
}

/// Returns the work of a tree reduction of each tile in local memory, with a barrier before each step.
pub(super) fn tree(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    let barriers = Some(steps(on.launch.group_size));
    LaunchWork { writes: parts(cells(config, case)), barriers, ..read_once(case, on.launch) }
}

/// Returns the work of a tree reduction of each tile, whose last steps may need no barriers of the work-group.
pub(super) fn unrolled(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    /// The number of work-items whose steps are unrolled.
    const WARP: u64 = 32;
    let across = config.get("TILE") / case.block.min(config.get("TILE"));
    let items = on.launch.group_size / u64::from(across * across);
    let barriers =
        (!has_sub_groups(config, on)).then(|| steps(items).saturating_sub(steps(WARP)) + steps(WARP));
    LaunchWork { writes: parts(cells(config, case)), barriers, ..read_once(case, on.launch) }
}

/// Returns the work of the last launch of variants that process the picture in tiles: from the tiles' intermediate results, it
/// computes the blocks' means and the results for the whole picture.
pub(super) fn rest(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    LaunchWork {
        reads: parts(cells(config, case)),
        writes: numbers(FRAME_NUMBERS as u64 + squares(case, case.block)),
        barriers: Some(steps(on.launch.group_size)),
        ..on.launch
    }
}

/// Returns the work of the last launch of variants whose first launch has already written the blocks' means: it computes the
/// results for the whole picture.
pub(super) fn frame(_: &Config, _: &Case, on: Launched) -> LaunchWork {
    LaunchWork {
        reads: parts(on.groups_before),
        writes: numbers(FRAME_NUMBERS as u64),
        barriers: Some(steps(on.launch.group_size)),
        ..on.launch
    }
}

/// Returns the work of a kernel with few work-groups, each of which processes one block after another.
pub(super) fn two_stage(_: &Config, case: &Case, on: Launched) -> LaunchWork {
    let blocks = squares(case, case.block);
    let tree = steps(on.launch.group_size);
    LaunchWork {
        writes: numbers(blocks) + parts(on.groups),
        barriers: Some(blocks.div_ceil(on.groups.max(1)) * (1 + tree) + tree),
        ..read_once(case, on.launch)
    }
}

/// Adds to a launch the work of the work-group that finishes last. It reads the intermediate results of all work-groups, resets
/// the counter and writes the results for the whole picture.
fn finished(launch: LaunchWork, groups: u64) -> LaunchWork {
    LaunchWork {
        reads: launch.reads + parts(groups),
        writes: launch.writes + numbers(1 + FRAME_NUMBERS as u64),
        ..launch
    }
}

/// Returns the work of the kernel that processes four pixels at once. If the parameter `ONE_PASS` is 1, the same launch also
/// combines the intermediate results of all work-groups, and that work is included.
pub(super) fn one_pass(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    let writes = numbers(squares(case, case.block)) + parts(on.groups);
    let launch = LaunchWork { writes, ..read_once(case, on.launch) };
    let tree = steps(on.launch.group_size);
    match (config.get("ONE_PASS") == 1, has_sub_groups(config, on)) {
        (true, true) => LaunchWork { barriers: None, ..finished(launch, on.groups) },
        (true, false) => LaunchWork { barriers: Some(2 * tree + 1), ..finished(launch, on.groups) },
        (false, true) => LaunchWork { barriers: None, ..launch },
        (false, false) => LaunchWork { barriers: Some(tree), ..launch },
    }
}

/// Returns the work of the kernel for CPUs that processes strips of the picture, in a single launch.
pub(super) fn strips(_: &Config, case: &Case, on: Launched) -> LaunchWork {
    let writes = numbers(squares(case, case.block)) + parts(on.groups);
    finished(LaunchWork { writes, ..read_once(case, on.launch) }, on.groups)
}
