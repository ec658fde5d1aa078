//! The exact work of the kernels of the reduction, as formulas of the picture's size and the kernels' parameters. They follow the
//! kernel files statement by statement; tests/work.rs compares them with a count. An element is a pixel, the intermediate result of
//! some pixels (a part), or a number. Atomic operations do not count.

use super::kernels::{Config, is_nvidias};
use super::pictures::Case;
use super::reference::FRAME_NUMBERS;
use ladder::arrays::Launched;
use ladder::work::{LaunchWork, Transfer};

/// Additions and multiplications for a pixel: six for its luminance, the sum, and three for the product.
const OPERATIONS_PER_PIXEL: u64 = 10;

/// Returns true if work-items that run as one exchange values without the group's barriers.
fn has_sub_groups(config: &Config, on: Launched) -> bool {
    is_nvidias(on.device) || !(config.code().options)(on.device).is_empty()
}

/// Returns a transfer of pixels.
fn pixels(case: &Case) -> Transfer {
    Transfer::new(case.pixels() as u64, 4)
}

/// Returns a transfer of intermediate results.
fn parts(count: u64) -> Transfer {
    Transfer::new(count, 16)
}

/// Returns a transfer of numbers of the output.
fn numbers(count: u64) -> Transfer {
    Transfer::new(count, 4)
}

/// Returns the number of squares with this edge that cover the picture.
fn squares(case: &Case, edge: u32) -> u64 {
    case.square_counts(edge).iter().map(|count| *count as u64).product()
}

/// Returns the number of intermediate results of kernels with tiles: one for each block, or for as much of one as a tile has.
fn cells(config: &Config, case: &Case) -> u64 {
    squares(case, case.block.min(config.get("TILE")))
}

/// Returns the number of steps of a tree over `items` work-items.
fn steps(items: u64) -> u64 {
    u64::from(items.max(1).ilog2())
}

/// Returns a launch that reads each pixel once.
fn read_once(case: &Case, launch: LaunchWork) -> LaunchWork {
    let reads = pixels(case);
    LaunchWork { reads, operations: OPERATIONS_PER_PIXEL * reads.elements, ..launch }
}

/// A tree in local memory, with a barrier before each step.
pub(super) fn tree(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    let barriers = Some(steps(on.launch.group_size));
    LaunchWork { writes: parts(cells(config, case)), barriers, ..read_once(case, on.launch) }
}

/// A tree for each cell, whose last steps may do without the group's barriers.
pub(super) fn unrolled(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    /// The number of work-items whose steps are unrolled.
    const WARP: u64 = 32;
    let across = config.get("TILE") / case.block.min(config.get("TILE"));
    let items = on.launch.group_size / u64::from(across * across);
    let barriers =
        (!has_sub_groups(config, on)).then(|| steps(items).saturating_sub(steps(WARP)) + steps(WARP));
    LaunchWork { writes: parts(cells(config, case)), barriers, ..read_once(case, on.launch) }
}

/// The last launch after tiles.
pub(super) fn rest(config: &Config, case: &Case, on: Launched) -> LaunchWork {
    LaunchWork {
        reads: parts(cells(config, case)),
        writes: numbers(FRAME_NUMBERS as u64 + squares(case, case.block)),
        barriers: Some(steps(on.launch.group_size)),
        ..on.launch
    }
}

/// The last launch after kernels that write the blocks' means.
pub(super) fn frame(_: &Config, _: &Case, on: Launched) -> LaunchWork {
    LaunchWork {
        reads: parts(on.groups_before),
        writes: numbers(FRAME_NUMBERS as u64),
        barriers: Some(steps(on.launch.group_size)),
        ..on.launch
    }
}

/// Few work-groups, each of which takes one block after the other.
pub(super) fn two_stage(_: &Config, case: &Case, on: Launched) -> LaunchWork {
    let blocks = squares(case, case.block);
    let tree = steps(on.launch.group_size);
    LaunchWork {
        writes: numbers(blocks) + parts(on.groups),
        barriers: Some(blocks.div_ceil(on.groups.max(1)) * (1 + tree) + tree),
        ..read_once(case, on.launch)
    }
}

/// Adds the work of the group that ends last: it reads the parts of all, resets the counter and writes the picture's numbers.
fn finished(launch: LaunchWork, groups: u64) -> LaunchWork {
    LaunchWork {
        reads: launch.reads + parts(groups),
        writes: launch.writes + numbers(1 + FRAME_NUMBERS as u64),
        ..launch
    }
}

/// Four pixels at once; in one launch if `ONE_PASS` is 1.
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

/// Strips for CPUs, in one launch.
pub(super) fn strips(_: &Config, case: &Case, on: Launched) -> LaunchWork {
    let writes = numbers(squares(case, case.block)) + parts(on.groups);
    finished(LaunchWork { writes, ..read_once(case, on.launch) }, on.groups)
}
