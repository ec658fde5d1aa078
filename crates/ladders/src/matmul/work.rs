//! Formulas for the exact numbers of memory accesses, operations and barriers of the kernels of matrix multiplication. They
//! depend on the shape and the kernels' parameters, and follow the kernel files statement by statement; tests/work.rs compares
//! them with a count. An element is a float. Reads of constant memory count like those of global memory.

use super::shape::{Config, Shape, panel_columns, panel_rows, value};
use compute::plan::Launched;
use compute::work::{LaunchWork, Transfer};

/// Returns the number of rows of the product, that of its columns, and that of the products in each sum (m, n and k).
fn sizes(shape: &Shape) -> [u64; 3] {
    [shape.m, shape.n, shape.k].map(u64::from)
}

/// Returns the parameter `name`, at least 1, so that it can be a divisor.
fn get(config: &Config, name: &str) -> u64 {
    value(config, name) as u64
}

/// Describes a launch that reads and writes this many floats, and computes nothing.
fn moved(on: Launched, reads: u64, writes: u64) -> LaunchWork {
    LaunchWork { reads: Transfer::new(reads, 4), writes: Transfer::new(writes, 4), ..on.launch }
}

/// Describes a launch that reads and writes this many floats, and does all multiplications and additions of the matrix product.
fn multiplied(shape: &Shape, on: Launched, reads: u64, writes: u64) -> LaunchWork {
    LaunchWork { operations: 2 * shape.multiplications(), ..moved(on, reads, writes) }
}

/// Counts accesses and operations of the variant `naive`: each result is set to zero, and then read and written for each of its
/// products.
pub(super) fn in_memory(_: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    multiplied(shape, on, 3 * m * n * k, m * n * (k + 1))
}

/// Counts accesses and operations of kernels that sum in a register: they read two floats for each product.
pub(super) fn in_register(_: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    multiplied(shape, on, 2 * m * n * k, m * n)
}

/// Counts the accesses of the kernel that transposes the right matrix: each element is read and written once.
pub(super) fn transposed(_: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [_, n, k] = sizes(shape);
    moved(on, n * k, n * k)
}

/// Counts accesses and operations of kernels that compute tiles of `rows` by `columns` results: for each tile, its rows of the
/// left matrix and its columns of the right one are read.
fn tiled(shape: &Shape, on: Launched, [rows, columns]: [u64; 2], barriers: u64) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    let reads = n.div_ceil(columns) * m * k + m.div_ceil(rows) * n * k;
    LaunchWork { barriers: Some(barriers), ..multiplied(shape, on, reads, m * n) }
}

/// Counts accesses, operations and barriers of the kernel with square tiles, which has a barrier before and after each tile is
/// used.
pub(super) fn square_tiles(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let side = get(config, "TILE");
    tiled(shape, on, [side; 2], 2 * u64::from(shape.k).div_ceil(side))
}

/// Counts accesses, operations and barriers of the kernel with tiles on two levels, which has a barrier before and after each
/// tile is used.
pub(super) fn tiles(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let steps = u64::from(shape.k).div_ceil(get(config, "TILE_K"));
    let sides = [get(config, "TILE_M"), get(config, "TILE_N")];
    tiled(shape, on, sides, 2 * steps)
}

/// Counts accesses, operations and barriers of the kernel with tiles on two levels and two buffers for each tile, which has one
/// barrier for each step, and one before the first step.
pub(super) fn double_tiles(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let single = tiles(config, shape, on);
    LaunchWork { barriers: single.barriers.map(|barriers| barriers / 2 + 1), ..single }
}

/// Counts the accesses of the kernel that packs the left matrix, and writes zeros to the missing rows of the last panel.
pub(super) fn left_panels(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [m, _, k] = sizes(shape);
    moved(on, m * k, m.next_multiple_of(panel_rows(config) as u64) * k)
}

/// Counts the accesses of the kernel that packs the right matrix, and writes zeros to the missing columns of the last panel.
pub(super) fn right_panels(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [_, n, k] = sizes(shape);
    moved(on, n * k, n.next_multiple_of(panel_columns(config) as u64) * k)
}

/// Counts accesses and operations of the kernel that multiplies panels, which reads both panels of each pair whole. `DEPTH`
/// products of each element are summed at a time; from the second time on, the sums are added to those in memory.
pub(super) fn panels(config: &Config, shape: &Shape, on: Launched) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    let [rows, columns] = [panel_rows(config), panel_columns(config)].map(|side| side as u64);
    let runs = k.div_ceil(get(config, "DEPTH")).max(1);
    let pairs = m.div_ceil(rows) * n.div_ceil(columns);
    // For each vector of the right matrix, one number of the left matrix is read.
    let reads = pairs * k * (rows * get(config, "VECTORS") + columns);
    multiplied(shape, on, reads + (runs - 1) * m * n, runs * m * n)
}
