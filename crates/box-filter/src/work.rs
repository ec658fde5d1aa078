//! The exact numbers of reads, writes and operations of each launch of the box filter's kernels, as formulas of the width, the
//! rows of a band, the radius and the kernel's parameters. They follow the kernel files statement by statement, borders and
//! strips included, and tests/work.rs compares them with a count. Whoever changes a kernel must change its formula.
//!
//! An element is a pixel: four channels of 8 bits in pictures, of 16 bits in row and column sums.

use super::MAX_RADIUS;
use super::config::{Config, Extent};
use compute::work::{LaunchWork, Transfer};

/// The number of bytes of a pixel in pictures.
const PIXEL: u64 = 4;
/// The number of bytes of a pixel in row sums and column sums.
const SUM: u64 = 8;
/// The number of channels of a pixel; each of them takes an addition.
const CHANNELS: u64 = 4;

/// Returns the number of pixels in a row or column of the window.
fn line(e: &Extent) -> u64 {
    u64::from(2 * e.radius + 1)
}

/// Returns the number of pixels in the band.
fn pixels(e: &Extent) -> u64 {
    u64::from(e.width) * u64::from(e.rows)
}

/// Returns the bytes of each element that the pass with this index reads, and of each element that it writes. The first of two
/// passes reads pictures and writes row sums; the second pass reads row sums and writes pictures.
fn sizes(pass: usize) -> [u64; 2] {
    if pass == 0 { [PIXEL, SUM] } else { [SUM, PIXEL] }
}

/// Returns the launch with these reads and writes, and with an addition for each channel of each pixel that is read.
fn summed(launch: LaunchWork, reads: Transfer, writes: Transfer) -> LaunchWork {
    LaunchWork { reads, writes, operations: CHANNELS * reads.elements, ..launch }
}

/// Returns the launch with the reads, writes and operations of the kernel of `naive`: for each pixel it reads the whole window.
pub(super) fn naive(_: &Config, _: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let reads = Transfer::new(pixels(e) * line(e) * line(e), PIXEL);
    summed(launch, reads, Transfer::new(pixels(e), PIXEL))
}

/// Returns the launch with the reads, writes and operations of a kernel of `separable` or `flat`: for each pixel it reads one
/// row or one column of the window.
pub(super) fn two_passes(_: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let [read, written] = sizes(pass);
    summed(launch, Transfer::new(pixels(e) * line(e), read), Transfer::new(pixels(e), written))
}

/// Returns the launch with the reads, writes and operations of a kernel of `vectorized`: along the rows it always reads four
/// pixels together, also beyond the right border.
pub(super) fn vectorized(_: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let [read, written] = sizes(pass);
    let width = if pass == 0 { e.width.next_multiple_of(4) } else { e.width };
    let reads = Transfer::new(u64::from(width) * u64::from(e.rows) * line(e), read);
    summed(launch, reads, Transfer::new(pixels(e), written))
}

/// Returns the launch with the reads, writes and operations of a kernel of `running-sum`: each strip begins with a row or
/// column of the window. Down a column, the last pixel is followed by one more step, whose sum is not used.
pub(super) fn running_sum(config: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let [read, written] = sizes(pass);
    let (width, rows) = (u64::from(e.width), u64::from(e.rows));
    let reads = match pass {
        0 => {
            let strips = width.div_ceil(u64::from(config.get("STRIP_X").max(1)));
            rows * (strips * line(e) + 2 * (width - strips))
        }
        _ => {
            let strips = rows.div_ceil(u64::from(config.get("STRIP_Y").max(1)));
            width * (strips * line(e) + 2 * rows)
        }
    };
    summed(launch, Transfer::new(reads, read), Transfer::new(pixels(e), written))
}

/// Returns the numbers of rows of the strips into which kernels divide a band.
pub(crate) fn strip_rows(rows: u32, strips: u32) -> impl Iterator<Item = u64> {
    let begin = move |strip: u32| u64::from(rows) * u64::from(strip) / u64::from(strips.max(1));
    (0..strips).map(move |strip| begin(strip + 1) - begin(strip))
}

/// Returns the launch with the reads, writes and operations of the kernel of `fused` for CPUs. The kernel's column sums are in
/// global memory, too.
pub(super) fn fused_cpu(config: &Config, _: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let (width, radius) = (u64::from(e.width), u64::from(e.radius));
    let quads = width.div_ceil(4);
    let (mut reads, mut writes, mut added) = (Transfer::default(), Transfer::default(), 0);
    for rows in strip_rows(e.rows, fused_strips(config, e)) {
        // The sums start at zero; each line of the first window is added to them.
        reads += (Transfer::new(width, PIXEL) + Transfer::new(width, SUM)) * line(e);
        writes += Transfer::new(width, SUM) * (1 + line(e));
        added += width * line(e);
        for row in 0..rows {
            // The sums, the row that enters, and the one that leaves; then the first and the last sum, which are repeated.
            reads += Transfer::new(2 * width, PIXEL) + Transfer::new(width + 2, SUM);
            writes += Transfer::new(width + 2 * 4 * (radius + 8).div_ceil(4), SUM);
            // Along the row: the sums before the first pixel, and four vectors for each four pixels and for the four before
            // them.
            reads += Transfer::new(2 * radius + 7 + 16 * (quads + 1), SUM);
            writes += Transfer::new(width, PIXEL);
            added += 2 * width + 2 * radius + 6 + 4 * (5 * quads + 3);
            let from_above = (8..=42).contains(&radius) && row > 0;
            if (1..=7).contains(&radius) || from_above {
                // The factor is stored once and loaded for each four pixels.
                writes += Transfer::new(4, SUM);
                reads += Transfer::new(4 * quads, SUM);
            }
            if from_above {
                reads += Transfer::new(width, PIXEL);
            }
        }
    }
    LaunchWork { reads, writes, operations: CHANNELS * added, ..launch }
}

/// Returns the launch with the reads, writes and operations of the kernel of `fused` for devices other than CPUs. A work-item
/// reads whole blocks of columns, also beyond the border.
pub(super) fn fused_gpu(config: &Config, _: usize, e: &Extent, launch: LaunchWork) -> LaunchWork {
    let [columns, group, together] =
        ["COLUMNS", "GROUP", "ROWS"].map(|name| u64::from(config.get(name).max(1)));
    let [across, down] = fused_gpu_groups(config, e);
    let radius = u64::from(e.radius);
    let blocks = u64::from(e.width).div_ceil(columns);
    let share = blocks.div_ceil(u64::from(across));
    let readers = group.min(share + 2 * radius.div_ceil(columns));
    let (mut lines, mut turns) = (0, 0);
    for rows in strip_rows(e.rows, down) {
        lines += line(e) + 2 * together * rows.div_ceil(together);
        // Two turns of the loop share a test of its end.
        turns = turns.max(2 * rows.div_ceil(2 * together));
    }
    let reads = Transfer::new(u64::from(across) * readers * columns * lines, PIXEL);
    // Each pixel that is read is added to its column's sum and to the total of its block. The first window of a block's row is
    // made of totals and of two parts of blocks, the next ones of the one before.
    let window = (2 * radius + 1) / columns + radius % columns + (radius + 1) % columns;
    let written_blocks = blocks * u64::from(e.rows);
    let added = 2 * reads.elements + written_blocks * (window + 2 * (columns - 1));
    LaunchWork {
        reads,
        writes: Transfer::new(pixels(e), PIXEL),
        operations: CHANNELS * added,
        barriers: Some(turns),
        ..launch
    }
}

/// Returns the number of work-items of the fused kernel for CPUs: a few strips of rows per core, so that a delayed core
/// costs little.
pub(super) fn fused_strips(config: &Config, e: &Extent) -> u32 {
    (config.get("STRIPS") * e.units.max(1)).min(e.rows).max(1)
}

/// Returns the numbers of work-groups of the fused kernel for GPUs, horizontally and vertically. Horizontally, a group
/// writes only the blocks of columns whose whole window it has; vertically, there are enough strips to keep every compute
/// unit busy.
pub(super) fn fused_gpu_groups(config: &Config, e: &Extent) -> [u32; 2] {
    let columns = config.get("COLUMNS").max(1);
    let halo = 2 * e.radius.div_ceil(columns);
    let most = config.get("GROUP").saturating_sub(halo).max(1);
    let across = e.width.div_ceil(columns).div_ceil(most).max(1);
    let down = (config.get("STRIPS") * e.units / across).clamp(1, e.rows.max(1));
    [across, down]
}

/// Returns the length of a strip's column sums: the row with its edges repeated for the largest radius, and padding for
/// vectors that extend beyond both ends. `LINE` in 06_fused.cl computes the same.
pub(super) const fn fused_line_len(width: u32) -> usize {
    (width as usize + 2 * MAX_RADIUS as usize + 64).next_multiple_of(32)
}
