//! Runs the host strategies, which are the ways in which the host keeps the device busy. The functions return the number of
//! right results of each vector width.

use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use super::slot::{DeviceBuffers, Mapping, Slot, conversion_error, trace};
use super::{
    Buffers, Built, CONVERSION, FAULT_INTERVAL, Host, PART_NUMBERS, Program, Strategy, THREAD_PART_NUMBERS,
    WIDTHS, parts, stretches,
};
use crate::type_conversions::bulk::convert_all;
use base::error::{Error, Result};
use base::threads::{all_threads, share};
use base::timing::ms_since;
use compute::sample::Sample;
use ocl::ffi;
use opencl::cl::{self, flush};
use opencl::watch;
use parking_lot::Mutex;

/// The host's memory for numbers and results. It is kept from run to run, because the first access to new memory costs as much
/// as filling it.
#[derive(Debug, Default)]
pub(super) struct HostBuffers {
    input: Vec<u8>,
    wanted: [Vec<u8>; 2],
    got: Vec<u8>,
}

/// Returns the first `len` bytes of `memory`; extends it if it is shorter.
fn grown_slice(memory: &mut Vec<u8>, len: usize) -> &mut [u8] {
    memory.resize(memory.len().max(len), 0);
    &mut memory[..len]
}

/// The number of values that are generated and converted at once. Numbers and results of this many fit into a core's cache.
const BLOCK_NUMBERS: usize = 1 << 14;

/// Writes the numbers from index `first` on to `numbers`, and their expected results to `wanted`. The series contains all
/// 2^32 numbers, in a mixed order, before it repeats. If `faults` is true, some of the expected results are made wrong.
fn generate(faults: bool, first: u64, numbers: &mut [u8], wanted: &mut [u8]) {
    trace("numbers and reference", || {
        let blocks = numbers.chunks_mut(4 * BLOCK_NUMBERS).zip(wanted.chunks_mut(4 * BLOCK_NUMBERS));
        for (first, (numbers, wanted)) in (first..).step_by(BLOCK_NUMBERS).zip(blocks) {
            let (words, _) = numbers.as_chunks_mut::<4>();
            for (index, word) in (0..).zip(words) {
                *word = (first as u32).wrapping_add(index).wrapping_mul(0x9e37_79b1).to_le_bytes();
            }
            convert_all(CONVERSION, numbers, wanted, &mut []);
        }
        if faults {
            let before = (FAULT_INTERVAL - (first % FAULT_INTERVAL as u64) as usize) % FAULT_INTERVAL;
            wanted.iter_mut().skip(4 * before).step_by(4 * FAULT_INTERVAL).for_each(|byte| *byte ^= 1);
        }
    });
}

/// Returns the number of results in `got` that equal the expected results `wanted`. Blocks are first compared as bytes, and
/// number by number only if they differ.
fn count_equal(got: &[u8], wanted: &[u8]) -> u32 {
    trace("compare", || {
        let blocks = got.chunks(4 * BLOCK_NUMBERS).zip(wanted.chunks(4 * BLOCK_NUMBERS));
        let of_block = |(got, wanted): (&[u8], &[u8])| match got == wanted {
            true => got.len() as u32 / 4,
            false => {
                let ((got, _), (wanted, _)) = (got.as_chunks::<4>(), wanted.as_chunks::<4>());
                got.iter().zip(wanted).map(|(a, b)| u32::from(a == b)).sum()
            }
        };
        blocks.map(of_block).sum()
    })
}

/// Returns the number of results in `got` that equal the expected results `wanted`, compared byte by byte. A compiler fence in
/// the loop, which generates no instruction, keeps the compiler from vectorizing the loop.
fn count_equal_bytewise(got: &[u8], wanted: &[u8]) -> u32 {
    let ((got, _), (wanted, _)) = (got.as_chunks::<4>(), wanted.as_chunks::<4>());
    let mut right = 0;
    for (got, wanted) in got.iter().zip(wanted) {
        let mut same = true;
        for (a, b) in got.iter().zip(wanted) {
            same &= a == b;
            compiler_fence(Ordering::SeqCst);
        }
        right += u32::from(same);
    }
    right
}

/// Runs a variant once on the numbers of a case. Returns the count of right results for each width, and the times.
pub(super) fn run(built: &Built, buffers: &mut Buffers) -> Result<([u64; 6], Sample)> {
    let Buffers { count, faults, host, device, .. } = buffers;
    let (began, faults) = (Instant::now(), *faults);
    let (mut all, mut compared_ms) = ([0; 6], None);
    for numbers in stretches(*count) {
        let right = match (built, device.as_mut()) {
            (Built::Host(work), _) => {
                // The watchdog for drivers does not apply here.
                let _no_driver = watch::on_host();
                match work {
                    Host::Reference(threads) => run_reference(&numbers, faults, threads.count(), host),
                    Host::Compare { vectors } => {
                        let (right, ms) = run_comparison(&numbers, faults, *vectors, host);
                        *compared_ms.get_or_insert(0.0) += ms;
                        right
                    }
                }
            }
            (Built::Kernels(program), Some(device)) => {
                DeviceRun { program, numbers, faults }.run(device, host)?
            }
            (Built::Kernels(_), None) => {
                let why = "The device has not enough memory for them.";
                return Err(Error::new("Numbers cannot be converted.", why, ""));
            }
        };
        all.iter_mut().zip(right).for_each(|(all, right)| *all += u64::from(right));
        // The device has answered, however many stretches are left.
        watch::progress();
    }
    let wall_ms = compared_ms.unwrap_or_else(|| ms_since(began));
    Ok((all, Sample::on_host(wall_ms)))
}

/// Generates the numbers and computes the expected results on the host, which is all that this variant is timed for. Returns
/// the counts of right results that a correct device would give.
fn run_reference(numbers: &Range<u64>, faults: bool, threads: usize, host: &mut HostBuffers) -> [u32; 6] {
    let HostBuffers { input, wanted: [wanted, _], .. } = host;
    // Each thread has a part of the memory, and parts of the numbers that fit.
    let share_of = if threads > 1 { THREAD_PART_NUMBERS } else { PART_NUMBERS };
    let all = 4 * share_of * threads;
    let (input, wanted) = (grown_slice(input, all), grown_slice(wanted, all));
    let left = Mutex::new(parts(numbers, share_of));
    let next = || left.lock().next();
    let buffers = input.chunks_mut(4 * share_of).zip(wanted.chunks_mut(4 * share_of));
    share(buffers, threads, |(input, wanted)| {
        while let Some((first, numbers)) = next() {
            generate(faults, first, &mut input[..4 * numbers], &mut wanted[..4 * numbers]);
            std::hint::black_box(&wanted);
        }
    });
    [super::count_right(numbers, faults) as u32; 6]
}

/// Compares results for all vector widths on the host, without a device. Returns the counts of right results, and the time of
/// the comparisons alone in milliseconds.
fn run_comparison(
    numbers: &Range<u64>,
    faults: bool,
    vectors: bool,
    host: &mut HostBuffers,
) -> ([u32; 6], f64) {
    let HostBuffers { input, wanted: [wanted, _], got } = host;
    let (mut right, mut ms) = ([0; 6], 0.0);
    for (first, numbers) in parts(numbers, PART_NUMBERS) {
        let [input, wanted, got] = [&mut *input, wanted, got].map(|memory| grown_slice(memory, 4 * numbers));
        generate(false, first, input, got);
        generate(faults, first, input, wanted);
        let began = Instant::now();
        for right in &mut right {
            *right += match vectors {
                true => count_equal(std::hint::black_box(got), wanted),
                false => count_equal_bytewise(std::hint::black_box(got), wanted),
            };
        }
        ms += ms_since(began);
    }
    (right, ms)
}

/// A run of a variant's kernels on a range of numbers. If `faults` is true, some of the expected results are made wrong.
struct DeviceRun<'a> {
    program: &'a Mutex<Program>,
    numbers: Range<u64>,
    faults: bool,
}

/// A part of the numbers on which the device works: the mappings of its results with their width, the events of its kernels,
/// and the times around their enqueueing.
struct PendingPart {
    got: Vec<(usize, Mapping)>,
    events: Vec<cl::Event>,
    enqueued: (Instant, Instant),
}

impl DeviceRun<'_> {
    /// Runs the kernels according to their strategy; returns the counts of right results for each vector width.
    fn run(&self, device: &mut DeviceBuffers, host: &mut HostBuffers) -> Result<[u32; 6]> {
        let strategy = self.program.lock().config.code().extra;
        match strategy {
            Strategy::Copied => self.run_copied(device, host),
            Strategy::Mapped { slots, batch } => self.run_mapped((slots, batch), device, &mut host.wanted),
            Strategy::Checked { threads } => self.run_checked(device, threads),
        }
    }

    /// Runs the strategy [`Strategy::Copied`].
    fn run_copied(&self, device: &DeviceBuffers, host: &mut HostBuffers) -> Result<[u32; 6]> {
        let HostBuffers { input, wanted: [wanted, _], got } = host;
        let (slot, mut right) = (&device.slots[0], [0; 6]);
        for (first, numbers) in parts(&self.numbers, PART_NUMBERS) {
            let [input, wanted, got] =
                [&mut *input, wanted, got].map(|memory| grown_slice(memory, 4 * numbers));
            generate(self.faults, first, input, wanted);
            for (at, (output, right)) in slot.outputs.iter().zip(&mut right).enumerate() {
                trace("write", || slot.input.write(&slot.queue, input).map_err(conversion_error))?;
                let enqueued = Instant::now();
                let events = slot.run(self.program, at..=at, numbers)?;
                let until = Instant::now();
                slot.finish()?;
                slot.trace_device(&events, (enqueued, until));
                trace("read", || output.read(&slot.queue, got).map_err(conversion_error))?;
                *right += count_equal(got, wanted);
            }
        }
        Ok(right)
    }

    /// Runs the strategy [`Strategy::Mapped`]. With one slot, the host generates a part when the previous part is done; with
    /// two slots, while the device works on the previous part.
    fn run_mapped(
        &self,
        (slots, batch): (usize, usize),
        device: &DeviceBuffers,
        wanted: &mut [Vec<u8>],
    ) -> Result<[u32; 6]> {
        let mut right = [0; 6];
        let mut done = |slot: &Slot, started: PendingPart, wanted: &[u8]| -> Result<()> {
            for (width, mut got) in started.got {
                let got_bytes = got.wait()?;
                right[width] += count_equal(got_bytes, &wanted[..got_bytes.len()]);
                slot.unmap(&slot.outputs[width], &got)?;
            }
            slot.trace_device(&started.events, started.enqueued);
            Ok(())
        };
        let mut pending: Option<(usize, PendingPart)> = None;
        for (index, (first, numbers)) in parts(&self.numbers, PART_NUMBERS).enumerate() {
            let at = index % slots;
            let slot = &device.slots[at];
            generate_mapped(self.faults, first, slot, grown_slice(&mut wanted[at], 4 * numbers))?;
            for left in (0..WIDTHS.len()).step_by(batch) {
                let began = Instant::now();
                let (mut got, mut events) = (Vec::new(), Vec::new());
                for width in left..left + batch {
                    events.extend(slot.run(self.program, width..=width, numbers)?);
                    got.push((width, slot.map(&slot.outputs[width], ffi::CL_MAP_READ, 4 * numbers)?));
                }
                flush(&slot.queue)?;
                let started = PendingPart { got, events, enqueued: (began, Instant::now()) };
                if slots == 1 {
                    done(slot, started, &wanted[at])?;
                } else if let Some((before, started)) = pending.replace((at, started)) {
                    done(&device.slots[before], started, &wanted[before])?;
                }
            }
        }
        if let Some((at, started)) = pending {
            done(&device.slots[at], started, &wanted[at])?;
        }
        Ok(right)
    }

    /// Runs the strategy [`Strategy::Checked`]: expected results are uploaded, the kernels convert and compare on the device, and
    /// a count of right results for each vector width is read back. If `threads` is true, each thread generates its own parts of
    /// the numbers and enqueues their kernels, without waiting for another thread.
    fn run_checked(&self, device: &mut DeviceBuffers, threads: bool) -> Result<[u32; 6]> {
        device.clear()?;
        let kernels = self.program.lock().config.code().passes.len();
        let (slots, threads, part) = match threads {
            true => (device.thread_slots.as_mut_slice(), all_threads(), THREAD_PART_NUMBERS),
            false => (device.slots.as_mut_slice(), 1, PART_NUMBERS),
        };
        let left = Mutex::new(parts(&self.numbers, part));
        let next = || left.lock().next();
        let done = Mutex::new((Vec::new(), Ok(())));
        share(slots.chunks_mut(2), threads, |slots| {
            let mut traces = Vec::new();
            let mut work = || {
                for at in (0..slots.len()).cycle() {
                    let (slot, Some((first, numbers))) = (&slots[at], next()) else { break };
                    // The mapping waits only for kernels that still read this slot.
                    let mut wanted = slot.map(&slot.wanted, WRITE, 4 * numbers)?;
                    generate_mapped(self.faults, first, slot, wanted.wait()?)?;
                    slot.unmap(&slot.wanted, &wanted)?;
                    let enqueued = Instant::now();
                    let events = slot.run(self.program, 0..kernels, numbers)?;
                    flush(&slot.queue)?;
                    traces.push((events, (enqueued, Instant::now())));
                }
                Ok(())
            };
            let worked = work();
            let mut done = done.lock();
            done.0.append(&mut traces);
            done.1 = std::mem::replace(&mut done.1, Ok(())).and(worked);
        });
        let (traces, worked) = done.into_inner();
        let right = device.read_counts()?;
        worked?;
        for (events, enqueued) in traces {
            device.slots[0].trace_device(&events, enqueued);
        }
        Ok(right)
    }
}

/// Maps memory for the host to write; its old contents are lost.
const WRITE: ffi::cl_map_flags = ffi::CL_MAP_WRITE_INVALIDATE_REGION;

/// Generates numbers in mapped device memory, and their expected results on the host.
fn generate_mapped(faults: bool, first: u64, slot: &Slot, wanted: &mut [u8]) -> Result<()> {
    let mut input = slot.map(&slot.input, WRITE, wanted.len())?;
    generate(faults, first, input.wait()?, wanted);
    slot.unmap(&slot.input, &input)
}
