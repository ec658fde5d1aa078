//! A variant's kernels bound to sources, a destination and a picture size, ready to be enqueued.

use std::ops::Range;

use super::VariantId;
use super::arguments::{memory_types, wrong_type};
use super::config::{Argument, Code, Config, Extent};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use compute::sample::sample;
use compute::work::{KernelWork, LaunchWork};
use filter::Launch;
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::kernel::{self, Kernel, NdRange, expect_types};
use opencl::memory::Storage;

/// A compiled program: one variant with one configuration.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub id: VariantId,
    /// The context with the sources from which the kernels are compiled.
    pub cl: ClContext,
    /// The compiled kernel files, for planes twice: for samples of one byte, and of two bytes.
    pub compiled: Vec<Compiled>,
    pub config: Config,
    /// The kind of memory of the output.
    pub output: Storage,
    /// True if the kernels are modified, so that their numbers of reads, writes and operations are unknown.
    pub is_modified: bool,
}

/// The kernel files of a code, compiled with the same options.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    /// The options of the compiler, without macros that depend on the extent.
    pub options: String,
    /// The program of each file; none if the macros depend on the extent.
    pub files: Vec<(&'static str, opencl::cl::Program)>,
}

/// A kernel whose memory arguments are set.
#[derive(Debug)]
pub(super) struct BoundKernel {
    pub kernel: Kernel,
    /// For each [argument](super::config::Pass::arguments) of the pass its index in the kernel.
    pub places: Vec<u32>,
    /// The indices of the numbers, in the order of the pass.
    pub numbers: Vec<u32>,
}

/// A variant's kernels with their arguments, for one destination, one size and settings, and one source or those of several frames.
///
/// A plan keeps its device memory alive, but not the host memory of
/// [`Picture::from_host`](opencl::memory::Picture::from_host).
#[derive(Debug)]
pub struct Plan {
    /// The requested variant, such as `auto`.
    pub(super) id: VariantId,
    pub(super) program: Program,
    /// The kernel of each pass, with its memory arguments set.
    pub(super) kernels: Vec<BoundKernel>,
    /// The extent of the whole picture.
    pub(super) whole: Extent,
    /// For each pass the step of its rows, and its work over all rows. Each frame asks for them.
    pub(super) shape: Vec<(Option<u32>, f64)>,
}

impl Plan {
    /// Returns the id of the variant that runs and its parameters, as in `fused STRIPS=2`.
    pub fn description(&self) -> String {
        format!("{} {}", self.program.id, self.program.config).trim_end().to_owned()
    }

    /// Returns the number of passes. Each pass must finish all rows before the next one begins.
    pub fn passes(&self) -> usize {
        self.kernels.len()
    }

    /// Returns the number of rows of the picture.
    pub fn rows(&self) -> u32 {
        self.whole.rows
    }

    /// Returns a number of rows for this pass: bands whose height is a multiple of it waste few work-items. The height of the
    /// bands does not change the output. `None` if the pass runs over all rows at once.
    pub fn row_step(&self, pass: usize) -> Option<u32> {
        self.shape.get(pass).and_then(|(step, _)| *step)
    }

    /// Returns the estimated number of pixels that a pass over all rows reads. Use it to compare radii and sizes within one
    /// variant, and passes with each other.
    pub fn work(&self, pass: usize) -> f64 {
        self.shape.get(pass).map_or(0.0, |(_, work)| *work)
    }

    /// Returns the step of the rows of each pass of a program, and its work over all rows.
    pub(super) fn shape(config: &Config, whole: &Extent) -> Vec<(Option<u32>, f64)> {
        let formulas = config.code().formulas;
        let pixels = f64::from(whole.width) * f64::from(whole.height);
        let of = |pass| {
            let work = pixels * formulas.reads_per_pixel(config, pass, whole);
            (formulas.row_step(config, pass).map(|step| step.max(1)), work)
        };
        (0..config.code().passes.len()).map(of).collect()
    }

    /// Returns the configuration of the program that runs.
    pub fn config(&self) -> &Config {
        &self.program.config
    }

    fn code(&self) -> &'static Code {
        self.config().code()
    }

    /// Returns true if the variant filters planes.
    pub fn reads_planes(&self) -> bool {
        self.whole.layout.is_some()
    }

    /// Returns the exact numbers of reads, writes, operations and barriers of a run: one entry for each pass. `bands` has the
    /// pass and the number of rows of each launch. Returns `None` if the kernels are modified, or clreel has no formula for
    /// them.
    pub fn kernel_work(&self, bands: impl Iterator<Item = (usize, u32)>) -> Option<KernelWork> {
        let mut launches: Vec<LaunchWork> = Vec::with_capacity(self.passes());
        for (pass, rows) in bands.filter(|_| !self.program.is_modified) {
            let launch = self.code().work_of(self.config(), pass, &self.band(0..rows))?;
            match launches.get_mut(pass) {
                Some(known) => known.add_launch(&launch),
                None => launches.push(launch),
            }
        }
        let work = self.whole.work(launches);
        (work.launches.len() == self.passes()).then_some(work)
    }

    fn band(&self, rows: Range<u32>) -> Extent {
        Extent { first: rows.start, rows: rows.end - rows.start, ..self.whole }
    }

    /// Enqueues `pass` for a band of rows, and returns its event without waiting. Flush the queue to start it.
    ///
    /// # Errors
    /// Returns an error if the band is empty or leaves the picture, or the device refuses.
    pub fn enqueue(&self, queue: &Queue, pass: usize, rows: Range<u32>) -> Result<Event> {
        let what = || format!("'{}' could not be started.", self.id);
        let is_inside = rows.start < rows.end && rows.end <= self.rows();
        let Some(kernel) = self.kernels.get(pass).filter(|_| is_inside) else {
            let why = format!("Pass {pass} has no rows {} to {}.", rows.start, rows.end);
            return Err(Error::new(what(), why, ""));
        };
        let band = self.band(rows);
        let (Launch { global, local }, numbers) = self.code().formulas.launch(self.config(), pass, &band)?;
        for (index, number) in kernel.numbers.iter().zip(numbers) {
            kernel.kernel.set(*index, number).map_err(|e| failed(&what(), &e))?;
        }
        let range = NdRange::new(&global, &local);
        // SAFETY: every argument is set, `check_arguments` has compared their types, the memory is as large as the kernels
        // expect, and they stay inside it for any rows of the picture.
        unsafe { kernel::enqueue(queue, &kernel.kernel, range, &[]) }.map_err(|e| failed(&what(), &e))
    }

    /// Predicts the wall time of one run in milliseconds, from bands of increasing height until one takes long enough to be
    /// reliable. A fast plan has then run completely, which also warms it up. A pass that is predicted to take less than
    /// `short_ms` is not repeated with more rows. Such a prediction is rarely too low, since it scales the overhead of a launch
    /// too.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn predict_above(&self, queue: &Queue, short_ms: f64) -> Result<f64> {
        /// The time of a band in milliseconds from which on its prediction is reliable.
        const TRUSTED_MS: f64 = 30.0;
        let mut total = 0.0;
        for pass in 0..self.passes() {
            let mut rows = self.row_step(pass).unwrap_or(u32::MAX).min(self.rows());
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
        (0..self.passes()).map(|pass| self.enqueue(queue, pass, 0..self.rows())).collect()
    }

    /// Returns an error unless the kernels declare their arguments with the types that the plan sets, and the device has the local
    /// memory of arguments: OpenCL itself checks only sizes, and some drivers abort at the launch.
    pub(super) fn check_arguments(&self, device: &DeviceInfo, output: Storage) -> Result<()> {
        let memory = memory_types;
        let code = self.code();
        for (index, (bound, pass)) in self.kernels.iter().zip(code.passes).enumerate() {
            let numbers = code.formulas.launch(self.config(), index, &self.whole)?.1;
            let local = |number: &kernel::Argument| {
                if let kernel::Argument::Local(bytes) = number { *bytes as u64 } else { 0 }
            };
            let (wanted, available) = (numbers.iter().map(local).sum::<u64>(), device.local_memory());
            if wanted > available {
                let what = format!(
                    "The kernel '{}' in {} needs more local memory than the device has.",
                    pass.kernel, pass.file
                );
                let why = format!(
                    "Its arguments have {wanted} bytes for each work-group; the device has {available} bytes."
                );
                return Err(Error::new(what, why, "Make `local_bytes` smaller in the description."));
            }
            let mut numbers = numbers.into_iter();
            let mut types: Vec<&[&str]> = vec![&[]; pass.arguments.len()];
            for (at, (argument, place)) in pass.arguments.iter().zip(&bound.places).enumerate() {
                let wanted = match argument {
                    Argument::Source(_) => memory(code.storage),
                    Argument::Destination => memory(output),
                    Argument::Scratch(scratch) => {
                        memory(code.formulas.scratch(self.config(), *scratch, &self.whole)?.storage())
                    }
                    Argument::Number => match numbers.next() {
                        Some(kernel::Argument::Value(value)) => value.type_names(),
                        Some(kernel::Argument::Local(_)) => memory(Storage::Buffer),
                        _ => &[],
                    },
                };
                if let Some(error) = wrong_type(&bound.kernel, pass, (at, *place), wanted) {
                    return Err(error);
                }
                if let Some(known) = types.get_mut(*place as usize) {
                    *known = wanted;
                }
            }
            expect_types(&bound.kernel, &format!("{} ('{}')", pass.file, pass.kernel), &types)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::MAX_RADIUS;

    /// Returns the factor by which kernels multiply sums to divide by the window's pixels; see common/mean.clh.
    fn scale(radius: u32) -> f32 {
        let side = 2 * radius + 1;
        1.0 / (side * side) as f32
    }

    /// Computes the mean as common/mean.clh does, in the same types.
    fn mean(sum: i32, n: i32, scale: f32) -> i32 {
        ((sum - 128 * n) as f32 * scale).round_ties_even() as i32 + 128
    }

    /// Computes the mean as 07_march.cl does, in the same types: adding the large number `lift` leaves the mean in the lowest
    /// bits of a float. Returns the bits of that float as computed in two ways: by a multiplication and an addition, each of
    /// which rounds, and by a fused multiply-add, which rounds only once.
    fn march_mean(sum: i32, n: i32, scale: f32, lift: f32) -> [u32; 2] {
        let sum = (sum - 128 * n) as f32;
        [sum * scale + lift, sum.mul_add(scale, lift)].map(f32::to_bits)
    }

    #[test]
    fn adding_the_mean_to_a_large_float_is_exact_for_every_radius_and_every_sum() {
        // Each operation is monotonic, with its rounding: if the least and the greatest of the sums with the same mean give
        // that mean, so does each sum between them.
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
        // 07_march.cl shifts the bits of the four floats by 0, 8, 16 and 24 and adds them. The bits above the means cancel,
        // since the third channel has a smaller `lift`.
        let exponents = [0, 8, 24].iter().fold(0u32, |all, shift| all.wrapping_add(0x4b40_0000 << shift));
        assert_eq!(exponents.wrapping_add((0x4b40_0000_u32 - 0x8b40) << 16), 0);
    }

    /// The number 2²³ + 128, which is added to round a float to an integer: the lowest bit of a float of this size stands
    /// for 1.
    const MAGIC: f32 = 8_388_736.0;

    /// Returns `centred_mean16` as computed by a multiplication and an addition, each of which rounds.
    fn centred_in_two_steps(sum: i32, n: i32, scale: f32) -> i32 {
        i32::from((((sum - 128 * n) as f32 * scale) + MAGIC).to_bits() as u8)
    }

    /// Returns `centred_mean16` as computed by a fused multiply-add, which rounds only once. In `f64` the product of two 24-bit
    /// numbers is exact, and the error of the sum is less than 2⁻²⁹. That cannot change how the sum is rounded to `f32`, since
    /// no sum is that close to a tie.
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
        // 06_fused.cl divides these numbers: whole sums up to radius 7, and up to radius 42 the difference from the mean of the
        // pixel above.
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
