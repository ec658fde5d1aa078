//! The exact work of the kernels of matrix multiplication, as formulas of the shape and the kernels' parameters. They follow the
//! kernel files statement by statement; tests/work.rs compares them with a count. An element is a float. Reads of constant memory
//! count like those of global memory.

use super::codes::{Code, panel_columns, panel_rows, value};
use super::shape::Shape;
use ladder::config::Config;
use ladder::work::{LaunchWork, Transfer};

/// A formula for the work of a launch: completes a launch whose sizes are known.
pub(super) type WorkFormula = fn(Shape, &Config<Code>, LaunchWork) -> LaunchWork;

/// Returns the numbers of rows, columns and products of a shape.
fn sizes(shape: Shape) -> [u64; 3] {
    [shape.m, shape.n, shape.k].map(u64::from)
}

/// Returns the parameter `name` as a divisor.
fn get(config: &Config<Code>, name: &str) -> u64 {
    value(config, name) as u64
}

/// Returns a launch that reads and writes this many floats.
fn moved(launch: LaunchWork, reads: u64, writes: u64) -> LaunchWork {
    LaunchWork { reads: Transfer::new(reads, 4), writes: Transfer::new(writes, 4), ..launch }
}

/// As [`moved`], for a launch that does all multiplications and additions of the product.
fn multiplied(shape: Shape, launch: LaunchWork, reads: u64, writes: u64) -> LaunchWork {
    LaunchWork { operations: 2 * shape.multiplications(), ..moved(launch, reads, writes) }
}

/// No work, for the peak kernel.
pub(super) fn none(_: Shape, _: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    launch
}

/// `naive`: the result is read and written for each product, and set to zero before.
pub(super) fn in_memory(shape: Shape, _: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    multiplied(shape, launch, 3 * m * n * k, m * n * (k + 1))
}

/// A sum in a register: two reads for each product.
pub(super) fn in_register(shape: Shape, _: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    multiplied(shape, launch, 2 * m * n * k, m * n)
}

/// Each element of the right matrix is read and written once.
pub(super) fn transposed(shape: Shape, _: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [_, n, k] = sizes(shape);
    moved(launch, n * k, n * k)
}

/// The work of tiles of `rows` by `columns` results: each tile reads its rows of the left matrix and its columns of the right one.
fn tiled(shape: Shape, launch: LaunchWork, rows: u64, columns: u64, barriers: u64) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    let reads = n.div_ceil(columns) * m * k + m.div_ceil(rows) * n * k;
    LaunchWork { barriers: Some(barriers), ..multiplied(shape, launch, reads, m * n) }
}

/// Square tiles, with a barrier before and after each is used.
pub(super) fn square_tiles(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let side = get(config, "TILE");
    tiled(shape, launch, side, side, 2 * u64::from(shape.k).div_ceil(side))
}

/// Tiles on two levels, with a barrier before and after each is used.
pub(super) fn tiles(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let steps = u64::from(shape.k).div_ceil(get(config, "TILE_K"));
    tiled(shape, launch, get(config, "TILE_M"), get(config, "TILE_N"), 2 * steps)
}

/// As [`tiles`] with two of each tile: one barrier a step, and one before the first.
pub(super) fn double_tiles(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let steps = u64::from(shape.k).div_ceil(get(config, "TILE_K"));
    tiled(shape, launch, get(config, "TILE_M"), get(config, "TILE_N"), steps + 1)
}

/// The left matrix is packed, with zeros in the rows of the last panel that it does not have.
pub(super) fn left_panels(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [m, _, k] = sizes(shape);
    moved(launch, m * k, m.next_multiple_of(panel_rows(config) as u64) * k)
}

/// The right matrix is packed, with zeros in the columns of the last panel that it does not have.
pub(super) fn right_panels(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [_, n, k] = sizes(shape);
    moved(launch, n * k, n.next_multiple_of(panel_columns(config) as u64) * k)
}

/// Each pair of panels is read whole. From the second run of `DEPTH` products on, results are added to those in memory.
pub(super) fn panels(shape: Shape, config: &Config<Code>, launch: LaunchWork) -> LaunchWork {
    let [m, n, k] = sizes(shape);
    let [rows, columns] = [panel_rows(config), panel_columns(config)].map(|side| side as u64);
    let runs = k.div_ceil(get(config, "DEPTH")).max(1);
    let pairs = m.div_ceil(rows) * n.div_ceil(columns);
    // A number of the left matrix is read for each vector of the right one.
    let reads = pairs * k * (rows * get(config, "VECTORS") + columns);
    multiplied(shape, launch, reads + (runs - 1) * m * n, runs * m * n)
}
