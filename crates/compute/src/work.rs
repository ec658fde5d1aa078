//! The work of a variant's kernels on one case in exact numbers: what each launch reads and writes in global memory, how many
//! operations it makes, and how many work-items share them. A ladder computes these numbers from the sizes of the case and the
//! parameters of the kernels; tests compare them with the counts of Oclgrind.
//!
//! An element is a number or a sample, depending on the ladder. A vector load of four numbers reads four elements, and
//! a call of `read_imagef` reads one. Local and private memory are not counted.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

/// An amount of data moved between global memory (including images) and work-items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The number of elements moved.
    pub elements: u64,
    /// The size of all these elements in bytes.
    pub bytes: u64,
}

impl Transfer {
    /// Returns a transfer of `elements` elements of `size` bytes each.
    pub const fn new(elements: u64, size: u64) -> Self {
        Self { elements, bytes: elements * size }
    }
}

impl Add for Transfer {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { elements: self.elements + other.elements, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for Transfer {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Transfer {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self { elements: self.elements * times, bytes: self.bytes * times }
    }
}

impl Sum for Transfer {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// The work of one launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LaunchWork {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Elements read from global memory and images.
    pub reads: Transfer,
    /// Elements written to global memory and images.
    pub writes: Transfer,
    /// Additions, subtractions and multiplications of numbers or channels. Addresses, conversions and comparisons do not count.
    pub operations: u64,
    /// The maximum number of work-group barriers that a work-item passes; `None` if it depends on how the device groups
    /// work-items.
    pub barriers: Option<u64>,
    /// The number of work-items, including those beyond the edges.
    pub work_items: u64,
    /// The number of work-items of a work-group.
    pub group_size: u64,
}

impl LaunchWork {
    /// Returns the work of a launch with this global and local size, without any reads, writes and operations.
    pub fn new(kernel: &'static str, global: &[usize], local: &[usize]) -> Self {
        let product = |sizes: &[usize]| sizes.iter().map(|size| *size as u64).product();
        Self {
            kernel,
            reads: Transfer::default(),
            writes: Transfer::default(),
            operations: 0,
            barriers: Some(0),
            work_items: product(global),
            group_size: product(local),
        }
    }

    /// Adds the work of another launch of the same kernel, such as that of another band of rows.
    pub fn add_launch(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.operations += other.operations;
        self.barriers = self.barriers.zip(other.barriers).map(|(one, other)| one.max(other));
        self.work_items += other.work_items;
    }
}

/// The totals of a run's work. Its rates, and the shares of a device's peak rates that it reaches, are computed from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkTotals {
    /// The number of bytes that any kernel must move: the input, read once, and the output.
    pub least_bytes: u64,
    /// The number of operations of all launches.
    pub operations: u64,
}

/// The work of all launches of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelWork {
    /// The name for one element of the input, such as "number".
    pub unit: &'static str,
    /// The number of elements of the input, by which reads and writes are divided for display.
    pub units: u64,
    /// The number of bytes that any kernel must move: the input, read once, and the output.
    pub least_bytes: u64,
    /// The work of each launch, in order.
    pub launches: Vec<LaunchWork>,
}

impl KernelWork {
    /// Returns the sum of the reads of all launches.
    pub fn reads(&self) -> Transfer {
        self.launches.iter().map(|launch| launch.reads).sum()
    }

    /// Returns the sum of the writes of all launches.
    pub fn writes(&self) -> Transfer {
        self.launches.iter().map(|launch| launch.writes).sum()
    }

    /// Returns the number of bytes that all launches read and write.
    pub fn bytes(&self) -> u64 {
        self.reads().bytes + self.writes().bytes
    }

    /// Returns the number of operations of all launches.
    pub fn operations(&self) -> u64 {
        self.launches.iter().map(|launch| launch.operations).sum()
    }

    /// Returns the bytes that any kernel must move, and the operations of all launches.
    pub fn totals(&self) -> WorkTotals {
        WorkTotals { least_bytes: self.least_bytes, operations: self.operations() }
    }

    /// Returns the number of elements read by all launches, divided by the number of elements of the input.
    pub fn reads_per_unit(&self) -> f64 {
        self.reads().elements as f64 / self.units.max(1) as f64
    }

    /// Returns the number of elements written by all launches, divided by the number of elements of the input.
    pub fn writes_per_unit(&self) -> f64 {
        self.writes().elements as f64 / self.units.max(1) as f64
    }
}
