//! Runs the host strategies, which are the ways in which the host keeps the device busy. The functions return the number of
//! right results of each vector width.

use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use super::slot::{DeviceBuffers, Kernels, Mapping, Slot, trace};
use super::{
    Buffers, Built, CONVERSION, FAULT_INTERVAL, Host, PART_NUMBERS, Strategy, THREAD_PART_NUMBERS, WIDTHS,
    parts, stretches,
};
use crate::type_conversions::bulk::convert_all;
use base::error::{Error, Result};
use base::threads::{all_threads, share};
use base::timing::ms_since;
use compute::sample::Sample;
use opencl::cl;
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

/// A generator of numbers and their expected results.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputGenerator {
    faults: bool,
}

/// The number of values that are generated and converted at once. Numbers and results of this many fit into a core's cache.
const BLOCK_NUMBERS: usize = 1 << 14;

impl InputGenerator {
    /// Writes the numbers from index `first` on to `numbers`, and their expected results to `wanted`. The series contains all
    /// 2^32 numbers, in a mixed order, before it repeats.
    fn generate(self, first: u64, numbers: &mut [u8], wanted: &mut [u8]) {
        trace("numbers and reference", || {
            let blocks = numbers.chunks_mut(4 * BLOCK_NUMBERS).zip(wanted.chunks_mut(4 * BLOCK_NUMBERS));
            for (first, (numbers, wanted)) in (first..).step_by(BLOCK_NUMBERS).zip(blocks) {
                let (words, _) = numbers.as_chunks_mut::<4>();
                for (index, word) in (0..).zip(words) {
                    *word = (first as u32).wrapping_add(index).wrapping_mul(0x9e37_79b1).to_le_bytes();
                }
                convert_all(CONVERSION, numbers, wanted, &mut []);
            }
            if self.faults {
                let before = (FAULT_INTERVAL - (first % FAULT_INTERVAL as u64) as usize) % FAULT_INTERVAL;
                wanted.iter_mut().skip(4 * before).step_by(4 * FAULT_INTERVAL).for_each(|byte| *byte ^= 1);
            }
        });
    }
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
    let (began, generator) = (Instant::now(), InputGenerator { faults: *faults });
    let (mut all, mut compared_ms) = ([0; 6], None);
    for numbers in stretches(*count) {
        let right = match (built, device.as_mut()) {
            (Built::Host(work, threads), _) => {
                // The watchdog for drivers does not apply here.
                let _no_driver = watch::on_host();
                match work {
                    Host::Reference(_) => run_reference(&numbers, generator, *threads, host),
                    Host::Compare { vectors } => {
                        let (right, ms) = run_comparison(&numbers, generator, *vectors, host);
                        *compared_ms.get_or_insert(0.0) += ms;
                        right
                    }
                }
            }
            (Built::Kernels(program, kind), Some(device)) => {
                DeviceRun { kernels: Kernels { program, device: *kind }, numbers, generator }
                    .run(device, host)?
            }
            (Built::Kernels(..), None) => {
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
fn run_reference(
    numbers: &Range<u64>,
    generator: InputGenerator,
    threads: usize,
    host: &mut HostBuffers,
) -> [u32; 6] {
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
            generator.generate(first, &mut input[..4 * numbers], &mut wanted[..4 * numbers]);
            std::hint::black_box(&wanted);
        }
    });
    [super::count_right(numbers, generator.faults) as u32; 6]
}

/// Compares results for all vector widths on the host, without a device. Returns the counts of right results, and the time of
/// the comparisons alone in milliseconds.
fn run_comparison(
    numbers: &Range<u64>,
    generator: InputGenerator,
    vectors: bool,
    host: &mut HostBuffers,
) -> ([u32; 6], f64) {
    let HostBuffers { input, wanted: [wanted, _], got } = host;
    let (mut right, mut ms) = ([0; 6], 0.0);
    for (first, numbers) in parts(numbers, PART_NUMBERS) {
        let [input, wanted, got] = [&mut *input, wanted, got].map(|memory| grown_slice(memory, 4 * numbers));
        InputGenerator { faults: false }.generate(first, input, got);
        generator.generate(first, input, wanted);
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

/// A run of a variant's kernels on a range of numbers.
struct DeviceRun<'a> {
    kernels: Kernels<'a>,
    numbers: Range<u64>,
    generator: InputGenerator,
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
        let code = self.kernels.program.lock().config.code();
        match code.extra {
            Strategy::Copied => self.run_copied(device, host),
            Strategy::Mapped { slots, batch } => self.run_mapped((slots, batch), device, &mut host.wanted),
            Strategy::Checked { threads: true } => self.run_on_threads(device),
            Strategy::Checked { threads: false } => self.run_checked(device, code.passes.len()),
        }
    }

    /// Runs the strategy [`Strategy::Copied`].
    fn run_copied(&self, device: &DeviceBuffers, host: &mut HostBuffers) -> Result<[u32; 6]> {
        let HostBuffers { input, wanted: [wanted, _], got } = host;
        let (slot, mut right) = (&device.slots[0], [0; 6]);
        for (first, numbers) in parts(&self.numbers, PART_NUMBERS) {
            let [input, wanted, got] =
                [&mut *input, wanted, got].map(|memory| grown_slice(memory, 4 * numbers));
            self.generator.generate(first, input, wanted);
            for (at, (output, right)) in slot.outputs.iter().zip(&mut right).enumerate() {
                slot.write(&slot.input, input)?;
                let enqueued = Instant::now();
                let events = slot.run(self.kernels, at..=at, numbers)?;
                let until = Instant::now();
                slot.finish()?;
                slot.trace_device(&events, (enqueued, until));
                slot.read(output, got)?;
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
                got.wait()?;
                let got_bytes = got.bytes();
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
            generate(self.generator, first, slot, grown_slice(&mut wanted[at], 4 * numbers))?;
            for left in (0..WIDTHS.len()).step_by(batch) {
                let began = Instant::now();
                let (mut got, mut events) = (Vec::new(), Vec::new());
                for width in left..left + batch {
                    events.extend(slot.run(self.kernels, width..=width, numbers)?);
                    got.push((width, slot.map_for_reading(&slot.outputs[width], 4 * numbers)?));
                }
                slot.flush()?;
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

    /// Runs the strategy [`Strategy::Checked`] with threads: each thread generates its own parts of the numbers and enqueues
    /// their kernels, without waiting for another thread.
    fn run_on_threads(&self, device: &mut DeviceBuffers) -> Result<[u32; 6]> {
        device.clear()?;
        let left = Mutex::new(parts(&self.numbers, THREAD_PART_NUMBERS));
        let next = || left.lock().next();
        let done = Mutex::new((Vec::new(), Ok(())));
        share(device.thread_slots.chunks_mut(2), all_threads(), |slots| {
            let mut traces = Vec::new();
            let mut work = || {
                for at in (0..slots.len()).cycle() {
                    let (slot, Some((first, numbers))) = (&slots[at], next()) else { break };
                    generate_both(self.generator, first, slot, numbers)?;
                    let enqueued = Instant::now();
                    let events = slot.run(self.kernels, 0..1, numbers)?;
                    slot.flush()?;
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

    /// Runs the first `kernels` kernels, which convert and compare on the device: expected results are uploaded, and a count of
    /// right results for each vector width is read back.
    fn run_checked(&self, device: &DeviceBuffers, kernels: usize) -> Result<[u32; 6]> {
        device.clear()?;
        let mut traces = Vec::new();
        for (index, (first, numbers)) in parts(&self.numbers, PART_NUMBERS).enumerate() {
            let slot = &device.slots[index % 2];
            generate_both(self.generator, first, slot, numbers)?;
            let enqueued = Instant::now();
            let events = slot.run(self.kernels, 0..kernels, numbers)?;
            slot.flush()?;
            traces.push((events, (enqueued, Instant::now())));
        }
        let right = device.read_counts()?;
        for (events, enqueued) in traces {
            device.slots[0].trace_device(&events, enqueued);
        }
        Ok(right)
    }
}

/// Generates numbers in mapped device memory, and their expected results on the host.
fn generate(generator: InputGenerator, first: u64, slot: &Slot, wanted: &mut [u8]) -> Result<()> {
    let mut input = slot.map_for_writing(&slot.input, wanted.len())?;
    input.wait()?;
    generator.generate(first, input.bytes(), wanted);
    slot.unmap(&slot.input, &input)
}

/// Generates numbers and expected results in mapped device memory. The mapping waits only for kernels that still read this
/// slot.
fn generate_both(generator: InputGenerator, first: u64, slot: &Slot, numbers: usize) -> Result<()> {
    let mut wanted = slot.map_for_writing(&slot.wanted, 4 * numbers)?;
    wanted.wait()?;
    generate(generator, first, slot, wanted.bytes())?;
    slot.unmap(&slot.wanted, &wanted)
}
