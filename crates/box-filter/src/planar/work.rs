//! The exact numbers of reads, writes and operations of the filter on planes, as formulas of the layout, the radius and a band
//! of rows. They follow the kernel files statement by statement; tests/work.rs compares them with a count. An element is a
//! sample, or a sum of samples.

use super::Window;
use super::launch::{COLUMNS, GROUP, groups, strips};
use crate::config::Extent;
use compute::work::{LaunchWork, Transfer};

/// The number of bytes of a weighted column sum.
const COLUMN: u64 = 4;
/// The number of bytes of an output sample.
const OUTPUT: u64 = 2;
/// The number of samples of a vector in the kernel for CPUs.
const VECTOR: u64 = 16;

/// A component's size, the distance between its samples, and its window along both axes.
#[derive(Debug, Clone, Copy)]
struct Plane {
    width: u64,
    step: u32,
    is_half_down: bool,
    across: Window,
    down: Window,
}

/// Returns each component of the planes with its index.
fn planes(e: &Extent) -> impl Iterator<Item = (usize, Plane)> {
    let radius = e.radius();
    let components =
        e.layout.into_iter().flat_map(|layout| (0..layout.count()).map(move |index| (layout, index)));
    components.map(move |(layout, index)| {
        let (is_half_across, is_half_down) = layout.subsampled_of(index);
        let (across, down) = (Window::new(radius, is_half_across), Window::new(radius, is_half_down));
        let (width, step) = (u64::from(layout.size_of(index).0), layout.components[index].step);
        (index, Plane { width, step, is_half_down, across, down })
    })
}

fn is_wide(e: &Extent) -> bool {
    e.layout.is_some_and(|layout| layout.wide)
}

/// Returns the numbers of rows of the strips into which kernels divide a band.
fn strip_rows(rows: u32, strips: u32) -> impl Iterator<Item = u64> {
    let begin = move |strip: u32| u64::from(rows) * u64::from(strip) / u64::from(strips.max(1));
    (0..strips).map(move |strip| begin(strip + 1) - begin(strip))
}

impl Plane {
    /// Returns the number of rows of this component in a band of the picture's rows.
    fn rows(&self, band: &Extent) -> u32 {
        let half = u32::from(self.is_half_down);
        ((band.first + band.rows + half) >> half) - ((band.first + half) >> half)
    }

    /// Returns the number of samples with full weight along a column of the window.
    fn line(&self) -> u64 {
        u64::from(2 * self.down.reach + 1)
    }

    /// Returns the number of samples that the kernel for CPUs reads of a row: whole vectors, then single samples. If every
    /// second sample belongs to another component, two vectors are read for each vector of samples.
    fn row_reads(&self) -> u64 {
        let vectors = (self.width - 1) / VECTOR;
        let vector = if self.step == 2 { 2 * VECTOR } else { VECTOR };
        vectors * vector + self.width - vectors * VECTOR
    }
}

/// Returns the launch with the reads, writes and operations of the kernel for CPUs. The kernel's running sums and column sums
/// are in global memory.
pub(super) fn on_cpu(band: &Extent, launch: LaunchWork) -> LaunchWork {
    let strips = strips(band, false);
    let (sample, running) = if is_wide(band) { (2, 4) } else { (1, 2) };
    let (mut reads, mut writes, mut operations) = (Transfer::default(), Transfer::default(), 0);
    for (_, plane) in planes(band) {
        let Plane { width, across, down, .. } = plane;
        let reach = u64::from(across.reach);
        let [has_end_across, has_end_down] = [across, down].map(|window| u64::from(window.end > 0));
        for rows in strip_rows(plane.rows(band), strips).filter(|rows| *rows > 0) {
            // The sums start at zero; each line of the first window is added to them.
            reads +=
                (Transfer::new(plane.row_reads(), sample) + Transfer::new(width, running)) * plane.line();
            writes += Transfer::new(width, running) * (1 + plane.line());
            // Down: the row that enters, the one that leaves, and the weighted ends of the window.
            reads += Transfer::new((2 + has_end_down) * plane.row_reads(), sample) * rows;
            reads += Transfer::new(width, running) * rows;
            writes += (Transfer::new(width, running) + Transfer::new(width, COLUMN)) * rows;
            // The first and the last sum are repeated.
            let edges = [reach + 1, reach + 17].map(|columns| columns.next_multiple_of(VECTOR));
            reads += Transfer::new(2, COLUMN) * rows;
            writes += Transfer::new(edges.iter().sum(), COLUMN) * rows;
            // Along the row: the sums before the first sample, then two vectors, or three, for each vector.
            let vectors = width.div_ceil(VECTOR);
            reads += Transfer::new(1 + reach + (2 + has_end_across) * VECTOR * vectors, COLUMN) * rows;
            writes += Transfer::new(VECTOR * vectors, OUTPUT) * rows;
            let per_column = (2 + 4 * has_end_down) * width;
            let per_sample = (6 + 4 * has_end_across + 1) * VECTOR * vectors;
            operations += width * plane.line() + (per_column + 1 + reach + per_sample) * rows;
        }
    }
    LaunchWork { reads, writes, operations, ..launch }
}

/// Returns the launch with the reads, writes and operations of the kernel for GPUs. A work-item reads whole blocks of columns,
/// also beyond the border.
pub(super) fn on_gpu(band: &Extent, launch: LaunchWork) -> LaunchWork {
    let (columns, group) = (u64::from(COLUMNS), u64::from(GROUP));
    let sample = if is_wide(band) { 2 } else { 1 };
    let (mut samples, mut written, mut operations, mut turns) = (0, 0, 0, 0);
    let groups = groups(band);
    for (index, plane) in planes(band) {
        let [across, down] = groups[index];
        let reach = u64::from(plane.across.reach);
        let blocks = plane.width.div_ceil(columns);
        let readers = group.min(blocks.div_ceil(u64::from(across)) + 2 * (reach + 1).div_ceil(columns));
        let mut lines = 0;
        for rows in strip_rows(plane.rows(band), down) {
            // The first window and three lines, then two lines for each further row.
            lines += plane.line() + 3 + 2 * rows.saturating_sub(1);
            turns = turns.max(rows);
        }
        let read = u64::from(across) * readers * columns * lines;
        let output = blocks * u64::from(plane.rows(band));
        // The first window of a block is made of totals and of two parts of blocks, the next ones of the one before.
        let window = (2 * reach + 1) / columns + reach % columns + (reach + 1) % columns;
        samples += read;
        written += output * columns;
        operations += 2 * read + output * (window + 2 * (columns - 1) + columns);
    }
    LaunchWork {
        reads: Transfer::new(samples, sample),
        writes: Transfer::new(written, OUTPUT),
        operations,
        barriers: Some(turns),
        ..launch
    }
}
