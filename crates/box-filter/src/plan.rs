//! A variant's kernels bound to a source, a destination and a picture size, ready to be enqueued.

use std::cell::Cell;
use std::ops::Range;

use super::config::{Config, Extent, Launch};
use super::{Kernels, MAX_RADIUS};
use crate::VariantId;
use base::error::{Error, Result};
use ladder::measure::sample;
use ladder::work::{KernelWork, LaunchWork};
use opencl::cl::{Answer, Event, Mem, Queue, failed};
use opencl::kernel::{self, Kernel, Value, expect_count, expect_types};
use opencl::memory::Storage;

/// Indices of the arguments that all kernels of the ladder share.
mod argument {
    /// Index of the argument for the input memory.
    pub(crate) const INPUT: u32 = 0;
    /// Index of the argument for the output memory.
    pub(crate) const OUTPUT: u32 = 1;
    /// Index of the argument for the picture's width in pixels.
    pub(crate) const WIDTH: u32 = 2;
    /// Index of the argument for the picture's height in pixels.
    pub(crate) const HEIGHT: u32 = 3;
    /// Index of the argument for the radius in pixels.
    pub(crate) const RADIUS: u32 = 4;
    /// Index of the argument for the band's first row.
    pub(crate) const ROW0: u32 = 5;
    /// Index of the argument for the number of rows in the band.
    pub(crate) const ROWS: u32 = 6;
    /// Index of the argument for the factor by which sums are multiplied; only the last pass, which divides, has it.
    pub(crate) const SCALE: u32 = 7;
    /// Index of the argument for the scratch memory; only kernels that need such memory have it.
    pub(crate) const SCRATCH: u32 = 8;
}

/// One kernel of a plan, with its arguments.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) kernel: Kernel,
    pub(super) is_last: bool,
    /// True if the kernel has an argument for scratch memory.
    pub(super) has_scratch: bool,
}

impl Pass {
    /// Returns the number of the kernel's arguments.
    fn arguments(&self) -> u32 {
        1 + match (self.is_last, self.has_scratch) {
            (false, _) => argument::ROWS,
            (true, false) => argument::SCALE,
            (true, true) => argument::SCRATCH,
        }
    }

    /// Checks that the kernel `name` in this file takes as many arguments as the plan sets.
    pub(super) fn expect_count(&self, file: &str, name: &str) -> Result<()> {
        expect_count(&self.kernel, &format!("{file} ('{name}')"), self.arguments() as usize)
    }

    /// Sets the arguments that do not change: memory and size.
    pub(super) fn bind(
        &self,
        [input, output]: [&Mem; 2],
        scratch: Option<&Mem>,
        (width, height): (u32, u32),
    ) -> Answer<()> {
        self.kernel.set(argument::INPUT, input)?;
        self.kernel.set(argument::OUTPUT, output)?;
        if let Some(scratch) = scratch {
            self.kernel.set(argument::SCRATCH, scratch)?;
        }
        self.kernel.set(argument::WIDTH, Value::Int(width as i32))?;
        self.kernel.set(argument::HEIGHT, Value::Int(height as i32))
    }

    /// Sets the arguments that depend on the radius.
    pub(super) fn set_radius(&self, radius: u32) -> Answer<()> {
        self.kernel.set(argument::RADIUS, Value::Int(radius as i32))?;
        if self.is_last {
            self.kernel.set(argument::SCALE, Value::Float(scale(radius)))?;
        }
        Ok(())
    }

    /// Enqueues the kernel for a band of rows.
    fn enqueue(&self, queue: &Queue, rows: Range<u32>, launch: &Launch) -> Answer<Event> {
        let count = rows.end - rows.start;
        self.kernel.set(argument::ROW0, Value::Int(rows.start as i32))?;
        self.kernel.set(argument::ROWS, Value::Int(count as i32))?;
        let [across, down] = launch.global;
        let (global, local) = ([across, down, 1], [launch.local[0], launch.local[1], 1]);
        // SAFETY: `bind` and `set_radius` have set every argument, `check_arguments` has compared their types,
        // the memory is as large as the kernels expect, and they stay inside it for any rows of the picture.
        unsafe { kernel::enqueue(queue, &self.kernel, 2, global, local) }
    }
}

/// Returns the factor by which kernels multiply sums to divide by the window's pixels; see common/mean.clh.
fn scale(radius: u32) -> f32 {
    let side = 2 * radius + 1;
    1.0 / (side * side) as f32
}

/// A variant's kernels with their arguments, for one source, one destination and one size.
///
/// A plan keeps its device memory alive, but not the host memory of
/// [`Picture::from_host`](opencl::memory::Picture::from_host).
#[derive(Debug)]
pub struct Plan {
    pub(super) kernels: &'static Kernels,
    pub(super) variant: VariantId,
    pub(super) config: Config,
    pub(super) is_modified: bool,
    pub(super) passes: Vec<Pass>,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) units: u32,
    pub(super) radius: Cell<u32>,
}

impl Plan {
    /// Returns the id of the variant that runs and its parameters, as in `fused STRIPS=2`.
    pub fn description(&self) -> String {
        format!("{} {}", self.variant, self.config).trim_end().to_owned()
    }

    /// Returns the number of passes. Each must finish all rows before the next one begins.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Returns the number of rows of the picture.
    pub fn rows(&self) -> u32 {
        self.height
    }

    /// Returns a number of rows for this pass: bands whose height is a multiple of it waste no work-items. Bands of any
    /// height give the same bytes.
    pub fn row_step(&self, pass: usize) -> u32 {
        (self.config.code().row_step)(&self.config, pass).max(1)
    }

    /// Returns the estimated work of a pass over all rows, in pixels read. Use it to compare radii and sizes within one
    /// variant, and passes with each other.
    pub fn work(&self, pass: usize) -> f64 {
        if pass >= self.passes.len() {
            return 0.0;
        }
        let pixels = f64::from(self.width) * f64::from(self.height);
        pixels * (self.config.code().reads_per_pixel)(&self.config, pass, &self.extent(self.height))
    }

    /// Returns the code with its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the exact work of a run, given the pass and the number of rows of each of its launches: one entry for each pass.
    /// Returns `None` if the kernels are modified, or clreel has no formula for them.
    pub fn kernel_work(&self, bands: impl Iterator<Item = (usize, u32)>) -> Option<KernelWork> {
        let mut launches: Vec<LaunchWork> = Vec::with_capacity(self.passes());
        for (pass, rows) in bands.filter(|_| !self.is_modified) {
            let launch = self.config.code().work_of(&self.config, pass, &self.extent(rows))?;
            match launches.get_mut(pass) {
                Some(known) => known.add_launch(&launch),
                None => launches.push(launch),
            }
        }
        let units = u64::from(self.width) * u64::from(self.height);
        // Each pixel of four bytes is read once and written once.
        let work = KernelWork { unit: "pixel", units, least_bytes: 2 * 4 * units, launches };
        (work.launches.len() == self.passes()).then_some(work)
    }

    /// Returns the extent of a band of this many rows.
    pub(super) fn extent(&self, rows: u32) -> Extent {
        Extent { width: self.width, rows, radius: self.radius.get(), units: self.units }
    }

    /// Sets the radius of later launches; launches that are already enqueued keep their radius.
    pub fn set_radius(&self, radius: u32) -> Result<()> {
        let what = "The radius could not be set.";
        if radius > MAX_RADIUS {
            return Err(Error::new(what, format!("{radius} is more than {MAX_RADIUS}."), ""));
        }
        for pass in &self.passes {
            pass.set_radius(radius).map_err(|e| failed(what, &e))?;
        }
        self.radius.set(radius);
        Ok(())
    }

    /// Enqueues `pass` for a band of rows, and returns its event without waiting. Flush the queue to start it.
    ///
    /// # Errors
    /// When the band is empty or leaves the picture, or the device refuses.
    pub fn enqueue(&self, queue: &Queue, pass: usize, rows: Range<u32>) -> Result<Event> {
        let what = || format!("'{}' could not be started.", self.kernels.id);
        let Some(p) = self.passes.get(pass).filter(|_| rows.start < rows.end && rows.end <= self.height)
        else {
            let why = format!("Pass {pass} has no rows {} to {}.", rows.start, rows.end);
            return Err(Error::new(what(), why, ""));
        };
        let launch = (self.config.code().launch)(&self.config, pass, &self.extent(rows.end - rows.start));
        p.enqueue(queue, rows, &launch).map_err(|e| failed(&what(), &e))
    }

    /// Predicts the wall time of one run in milliseconds, from bands of increasing height until one takes long enough to be
    /// reliable. A fast plan has then run completely, which also warms it up.
    ///
    /// # Errors
    /// When the device fails.
    pub fn predict(&self, queue: &Queue) -> Result<f64> {
        self.predict_above(queue, 0.0)
    }

    /// As [`Plan::predict`], but less precise for short runs: a pass that is predicted to take less than `short_ms` is not
    /// repeated with more rows. Such a prediction is rarely too low, since it scales the overhead of a launch too.
    ///
    /// # Errors
    /// As [`Plan::predict`].
    pub(super) fn predict_above(&self, queue: &Queue, short_ms: f64) -> Result<f64> {
        /// Bands that take at least this many milliseconds give a reliable prediction.
        const TRUSTED_MS: f64 = 30.0;
        let mut total = 0.0;
        for pass in 0..self.passes() {
            let mut rows = self.row_step(pass).min(self.rows());
            total += loop {
                let run = sample(queue, |q| Ok(vec![self.enqueue(q, pass, 0..rows)?]))?;
                let all_ms = run.wall_ms * f64::from(self.rows()) / f64::from(rows);
                if rows == self.rows() || run.wall_ms > TRUSTED_MS || all_ms < short_ms {
                    break all_ms;
                }
                rows = rows.saturating_mul(4).min(self.rows());
            };
        }
        Ok(total)
    }

    /// Enqueues all passes over all rows, and returns their events without waiting.
    pub fn enqueue_all(&self, queue: &Queue) -> Result<Vec<Event>> {
        (0..self.passes()).map(|pass| self.enqueue(queue, pass, 0..self.height)).collect()
    }

    /// Checks that the kernels declare their arguments with the types that the plan sets: OpenCL itself checks only sizes.
    pub(super) fn check_arguments(&self, output: Storage) -> Result<()> {
        let code = self.config.code();
        for (pass, name) in self.passes.iter().zip(code.kernels) {
            let memory = |storage| -> &[&str] {
                match storage {
                    Storage::Image => &["image2d_t"],
                    Storage::Buffer => &["uchar4*", "ushort4*"],
                }
            };
            let wanted = |position| match position {
                argument::OUTPUT if pass.is_last => memory(output),
                argument::INPUT | argument::OUTPUT => memory(self.kernels.storage),
                argument::SCRATCH => &["ushort4*"],
                argument::SCALE => &["float"],
                _ => &["int"],
            };
            let types: Vec<&[&str]> = (0..pass.arguments()).map(wanted).collect();
            expect_types(&pass.kernel, &format!("{} ('{name}')", code.file), &types)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the mean as common/mean.clh does, in the same types.
    fn mean(sum: i32, n: i32, scale: f32) -> i32 {
        ((sum - 128 * n) as f32 * scale).round_ties_even() as i32 + 128
    }

    /// Computes the mean as 07_march.cl does, in the same types: adding the large number `lift` leaves the mean in the
    /// lowest bits of a float. Returns the bits of that float if the compiler rounds the product separately, and if it
    /// rounds only after the addition.
    fn march_mean(sum: i32, n: i32, scale: f32, lift: f32) -> [u32; 2] {
        let sum = (sum - 128 * n) as f32;
        [sum * scale + lift, sum.mul_add(scale, lift)].map(f32::to_bits)
    }

    #[test]
    fn adding_the_mean_to_a_large_float_is_exact_for_every_radius_and_every_sum() {
        // Each step keeps the order of the sums, rounding included: what holds for the least and the greatest sum
        // that have a mean holds for those between.
        for (lift, zero) in [(12_583_040.0, 0x4b40_0000), (12_583_040.0 - 35_648.0, 0x4b40_0000 - 0x8b40)] {
            for radius in 0..=MAX_RADIUS {
                let n = ((2 * radius + 1) * (2 * radius + 1)) as i32;
                for mean in 0..=255 {
                    for sum in [mean * n - n / 2, mean * n + n / 2].map(|sum| sum.clamp(0, 255 * n)) {
                        let want = zero + mean as u32;
                        let got = march_mean(sum, n, scale(radius), lift);
                        assert_eq!(got, [want; 2], "radius {radius}, sum {sum}");
                    }
                }
            }
        }
        // What the third channel takes back, times 2^16, is what the others leave above their lowest bits.
        let exponents = [0, 8, 24].iter().fold(0u32, |all, shift| all.wrapping_add(0x4b40_0000 << shift));
        assert_eq!(exponents.wrapping_add((0x4b40_0000_u32 - 0x8b40) << 16), 0);
    }

    /// The number 2²³ + 128, which is added to round a float to an integer: the lowest bit of a float of this size stands
    /// for 1.
    const MAGIC: f32 = 8_388_736.0;

    /// `centred_mean16` where the compiler rounds the product and then the sum.
    fn centred_in_two_steps(sum: i32, n: i32, scale: f32) -> i32 {
        i32::from((((sum - 128 * n) as f32 * scale) + MAGIC).to_bits() as u8)
    }

    /// `centred_mean16` where the compiler joins the product and the sum and rounds once. Here the product is exact, 24
    /// bits by 24, and the sum in 64 bits is off by less than 2⁻²⁹: that changes nothing so far from a tie.
    fn centred_in_one_step(sum: i32, n: i32, scale: f32) -> i32 {
        let product = f64::from(sum - 128 * n) * f64::from(scale);
        let joined = product + f64::from(MAGIC);
        assert!((joined.fract() - 0.5).abs() > 1e-6, "too near a tie for two roundings: {sum}/{n}");
        i32::from((joined as f32).to_bits() as u8)
    }

    #[test]
    fn the_mean_is_exact_for_every_radius_and_every_sum() {
        for radius in 0..=MAX_RADIUS {
            let n = ((2 * radius + 1) * (2 * radius + 1)) as i32;
            let scale = scale(radius);
            for sum in 0..=255 * n {
                let want = (sum + n / 2) / n;
                assert_eq!(mean(sum, n, scale), want, "radius {radius}, sum {sum}");
                assert_eq!(centred_in_two_steps(sum, n, scale), want, "radius {radius}, sum {sum}");
                assert_eq!(centred_in_one_step(sum, n, scale), want, "radius {radius}, sum {sum}");
            }
        }
    }

    #[test]
    fn dividing_16_bits_in_the_fused_kernel_is_exact_for_every_radius_and_every_number() {
        // What 06_fused.cl computes: up to radius 7 for whole sums, up to 42 for what the pixel above leaves.
        for radius in 1..=42_u32 {
            let side = 2 * radius + 1;
            let n = side * side;
            let shift = n.ilog2();
            let factor = (1_u32 << (16 + shift)).div_ceil(n);
            // From row to row a sum changes by 255 in each of the window's columns at most.
            let most = if radius <= 7 { 0 } else { 255_u32.div_ceil(side) };
            let end = if radius <= 7 { 255 * n + n } else { (2 * most + 1) * n };
            assert!(factor <= 0xffff && end <= 0x1_0000, "radius {radius} does not fit");
            for v in 0..end {
                assert_eq!((v * factor) >> 16 >> shift, v / n, "radius {radius}, {v}");
            }
        }
    }
}
