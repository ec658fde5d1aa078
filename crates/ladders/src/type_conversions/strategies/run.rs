//! Runs the host strategies, that is the ways in which the host keeps the device busy. The functions `run…` return how many
//! results of each vector width are right.

use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::slot::{ALL_WIDTHS, DeviceBuffers, Kernels, Mapping, Slot, trace};
use super::{
    Built, CONVERSION, FAULT_INTERVAL, Host, PART_NUMBERS, THREAD_PART_NUMBERS, WIDTHS, parts, stretches,
};
use crate::type_conversions::bulk::convert_all;
use base::error::{Error, Result};
use base::threads::{all_threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;
use opencl::cl::{self, Buffer};
use opencl::watch;

/// The way in which the host keeps the device busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Copies data to and from the device, and waits for each call.
    Blocking,
    /// Maps device memory for the host, and waits for each call.
    Mapped,
    /// Maps device memory for the host, and waits only for the data that it needs.
    NonBlocking,
    /// Like `NonBlocking`, and the host generates the next part while the device works.
    DoubleBuffered,
    /// Like `DoubleBuffered`, and a second kernel compares the results on the device.
    Verified,
    /// Like `DoubleBuffered`, and the kernel that converts also compares the results.
    Fused,
    /// Like `Fused`, with one kernel for all vector widths.
    AllWidths {
        /// True if each thread generates parts of its own.
        threads: bool,
    },
}

/// Names of the kernels that convert, one for each of the [`WIDTHS`].
const CONVERT_KERNELS: [&str; 6] = ["convert1", "convert2", "convert3", "convert4", "convert8", "convert16"];
/// Names of the kernels that convert and compare the results, one for each of the [`WIDTHS`].
const CHECK_KERNELS: [&str; 6] = ["check1", "check2", "check3", "check4", "check8", "check16"];

impl Strategy {
    /// Returns the names of the kernels that the strategy runs.
    pub(super) fn kernels(self) -> &'static [&'static str] {
        /// Names of the kernels that convert, and of the kernel that compares.
        const KERNEL_NAMES: [&str; 7] =
            ["convert1", "convert2", "convert3", "convert4", "convert8", "convert16", "compare"];
        match self {
            Strategy::Verified => &KERNEL_NAMES,
            Strategy::Fused => &CHECK_KERNELS,
            Strategy::AllWidths { .. } => ALL_WIDTHS,
            _ => &CONVERT_KERNELS,
        }
    }
}

/// The host's memory for numbers and results. It is kept from run to run, since the first access to new memory costs as much as
/// filling it.
#[derive(Debug, Default)]
pub(super) struct HostBuffers {
    input: Vec<u8>,
    wanted: [Vec<u8>; 2],
    got: Vec<u8>,
}

/// Returns the first `len` bytes of `memory`, which grows if it is shorter.
fn grown_slice(memory: &mut Vec<u8>, len: usize) -> &mut [u8] {
    memory.resize(memory.len().max(len), 0);
    &mut memory[..len]
}

/// Generates numbers and their expected results.
#[derive(Debug, Clone, Copy)]
struct InputGenerator {
    faults: bool,
}

/// The count of numbers that are generated and converted at once. Numbers and results fit into a core's cache.
const BLOCK_NUMBERS: usize = 1 << 14;

impl InputGenerator {
    /// Writes the numbers from index `first` on to `numbers`, and their expected results to `wanted`. The series has all 2^32
    /// numbers, in a mixed order, before it repeats.
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

/// Returns how many of the results `got` equal the expected results `wanted`. Blocks are compared as bytes first, and number by
/// number only if they differ.
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

/// Returns how many of the results `got` equal the expected results `wanted`, compared byte by byte. A compiler fence in the
/// loop, which generates no instruction, keeps the compiler from vectorizing the loop.
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

/// Runs a variant once on `count` numbers; `faults` is true if some expected results are altered. Returns the count of right
/// results for each width, and the times.
pub(super) fn run(
    built: &Built,
    count: u64,
    faults: bool,
    host: &mut HostBuffers,
    mut device: Option<&mut DeviceBuffers>,
) -> Result<([u64; 6], Sample)> {
    let (began, generator) = (Instant::now(), InputGenerator { faults });
    let (mut all, mut compared_ms) = ([0; 6], None);
    for numbers in stretches(count) {
        let numbers = &numbers;
        let right = match (built, device.as_deref_mut()) {
            (Built::Host(work, threads), _) => {
                // The watchdog for drivers does not apply here.
                let _no_driver = watch::on_host();
                match work {
                    Host::Reference(_) => run_reference(numbers, generator, *threads, host),
                    Host::Compare { vectors } => {
                        let (right, ms) = run_comparison(numbers, generator, *vectors, host);
                        *compared_ms.get_or_insert(0.0) += ms;
                        right
                    }
                }
            }
            (Built::Kernels(kernels, strategy), Some(device)) => {
                run_on_device(device, kernels, *strategy, numbers, generator, host)?
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

/// Runs a variant's kernels on a range of numbers; returns the count of right results for each width.
fn run_on_device(
    device: &mut DeviceBuffers,
    kernels: &Kernels,
    strategy: Strategy,
    numbers: &Range<u64>,
    generator: InputGenerator,
    host: &mut HostBuffers,
) -> Result<[u32; 6]> {
    let wanted = &mut host.wanted;
    match strategy {
        Strategy::Blocking => run_blocking(kernels, numbers, generator, &device.slots[0], host),
        Strategy::Mapped => run_mapped(kernels, numbers, generator, &device.slots[0], &mut wanted[0]),
        Strategy::NonBlocking => {
            run_pipelined(kernels, numbers, generator, &device.slots[..1], &mut wanted[..1])
        }
        Strategy::DoubleBuffered => run_pipelined(kernels, numbers, generator, &device.slots, wanted),
        Strategy::AllWidths { threads: true } => run_on_threads(kernels, numbers, generator, device),
        _ => run_checked_on_device(kernels, strategy, numbers, generator, device),
    }
}

/// Generates numbers and expected results without a device; the counts are those that a correct device would give.
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
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let buffers = input.chunks_mut(4 * share_of).zip(wanted.chunks_mut(4 * share_of));
    share(buffers, threads, |(input, wanted)| {
        while let Some((first, numbers)) = next() {
            generator.generate(first, &mut input[..4 * numbers], &mut wanted[..4 * numbers]);
            std::hint::black_box(&wanted);
        }
    });
    [super::count_right(numbers, generator.faults) as u32; 6]
}

/// Compares results for all widths without a device. Returns the counts of right results, and the time of the comparisons alone
/// in milliseconds.
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

/// Runs [`Strategy::Blocking`] on a range of numbers; returns the count of right results for each width.
fn run_blocking(
    kernels: &Kernels,
    numbers: &Range<u64>,
    generator: InputGenerator,
    slot: &Slot,
    host: &mut HostBuffers,
) -> Result<[u32; 6]> {
    let HostBuffers { input, wanted: [wanted, _], got } = host;
    let mut right = [0; 6];
    for (first, numbers) in parts(numbers, PART_NUMBERS) {
        let [input, wanted, got] = [&mut *input, wanted, got].map(|memory| grown_slice(memory, 4 * numbers));
        generator.generate(first, input, wanted);
        for ((name, output), right) in CONVERT_KERNELS.iter().zip(&slot.outputs).zip(&mut right) {
            slot.write(&slot.input, input)?;
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            slot.trace_device(event.as_slice(), (enqueued, until));
            slot.read(output, got)?;
            *right += count_equal(got, wanted);
        }
    }
    Ok(right)
}

/// Runs [`Strategy::Mapped`] on a range of numbers; returns the count of right results for each width.
fn run_mapped(
    kernels: &Kernels,
    numbers: &Range<u64>,
    generator: InputGenerator,
    slot: &Slot,
    wanted: &mut Vec<u8>,
) -> Result<[u32; 6]> {
    let mut right = [0; 6];
    for (first, numbers) in parts(numbers, PART_NUMBERS) {
        let wanted = grown_slice(wanted, 4 * numbers);
        generate(generator, first, slot, wanted)?;
        for ((name, output), right) in CONVERT_KERNELS.iter().zip(&slot.outputs).zip(&mut right) {
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            slot.trace_device(event.as_slice(), (enqueued, until));
            let mut got = slot.map_for_reading(output, 4 * numbers)?;
            got.wait()?;
            *right += count_equal(got.bytes(), wanted);
            slot.unmap(output, &got)?;
        }
    }
    Ok(right)
}

/// Generates numbers in mapped device memory, and their expected results on the host.
fn generate(generator: InputGenerator, first: u64, slot: &Slot, wanted: &mut [u8]) -> Result<()> {
    let mut input = slot.map_for_writing(&slot.input, wanted.len())?;
    input.wait()?;
    generator.generate(first, input.bytes(), wanted);
    slot.unmap(&slot.input, &input)
}

/// A part of the numbers that the device works on: the mappings of its results, the events of its kernels, and when they were
/// enqueued.
struct PendingPart {
    got: Vec<Mapping>,
    events: Vec<cl::Event>,
    enqueued: (Instant, Instant),
}

/// Runs the strategies that wait only for the data that they need. With one slot the host generates a part when the preceding
/// part is done; with two slots, while the device works on the preceding part.
fn run_pipelined(
    kernels: &Kernels,
    numbers: &Range<u64>,
    generator: InputGenerator,
    slots: &[Slot],
    wanted: &mut [Vec<u8>],
) -> Result<[u32; 6]> {
    let mut right = [0; 6];
    let mut pending: Option<(usize, PendingPart)> = None;
    let mut done = |at: usize, started: PendingPart, wanted: &[u8]| -> Result<()> {
        let slot = &slots[at];
        for ((mut got, output), right) in started.got.into_iter().zip(&slot.outputs).zip(&mut right) {
            got.wait()?;
            let got_bytes = got.bytes();
            *right += count_equal(got_bytes, &wanted[..got_bytes.len()]);
            slot.unmap(output, &got)?;
        }
        slot.trace_device(&started.events, started.enqueued);
        Ok(())
    };
    for (index, (first, numbers)) in parts(numbers, PART_NUMBERS).enumerate() {
        let at = index % slots.len();
        let slot = &slots[at];
        generate(generator, first, slot, grown_slice(&mut wanted[at], 4 * numbers))?;
        let began = Instant::now();
        let mut started = PendingPart { got: Vec::new(), events: Vec::new(), enqueued: (began, began) };
        for (name, output) in CONVERT_KERNELS.iter().zip(&slot.outputs) {
            started.events.extend(slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?);
            started.got.push(slot.map_for_reading(output, 4 * numbers)?);
        }
        slot.flush()?;
        started.enqueued.1 = Instant::now();
        if slots.len() == 1 {
            done(at, started, &wanted[at])?;
        } else if let Some((before, started)) = pending.replace((at, started)) {
            done(before, started, &wanted[before])?;
        }
    }
    if let Some((at, started)) = pending {
        done(at, started, &wanted[at])?;
    }
    Ok(right)
}

/// Generates numbers and expected results in mapped device memory. The mapping waits only for kernels that still read this
/// slot.
fn generate_both(generator: InputGenerator, first: u64, slot: &Slot, numbers: usize) -> Result<()> {
    let mut wanted = slot.map_for_writing(&slot.wanted, 4 * numbers)?;
    wanted.wait()?;
    generate(generator, first, slot, wanted.bytes())?;
    slot.unmap(&slot.wanted, &wanted)
}

/// Enqueues the kernel that converts the first `number` numbers of a slot and compares the results in all widths. The kernel
/// adds its counts of right results to `right`. Returns `None` if the kernel does not exist.
fn check_all(kernels: &Kernels, slot: &Slot, right: &Buffer, number: u32) -> Result<Option<cl::Event>> {
    slot.run(kernels, ALL_WIDTHS[0], &[&slot.input, &slot.wanted, right], &[number])
}

/// Runs the variant in which each thread generates parts of its own and enqueues their kernels, without waiting for another
/// thread.
fn run_on_threads(
    kernels: &Kernels,
    numbers: &Range<u64>,
    generator: InputGenerator,
    device: &mut DeviceBuffers,
) -> Result<[u32; 6]> {
    device.clear()?;
    let left = Mutex::new(parts(numbers, THREAD_PART_NUMBERS));
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = Mutex::new((Vec::new(), Ok(())));
    let right = device.right_counts().clone();
    share(device.thread_slots.chunks_mut(2), all_threads(), |slots| {
        let mut traces = Vec::new();
        let mut work = || {
            for at in (0..slots.len()).cycle() {
                let (slot, Some((first, numbers))) = (&slots[at], next()) else { break };
                generate_both(generator, first, slot, numbers)?;
                let enqueued = Instant::now();
                let event = check_all(kernels, slot, &right, numbers as u32)?;
                slot.flush()?;
                traces.push((event, (enqueued, Instant::now())));
            }
            Ok(())
        };
        let worked = work();
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0.append(&mut traces);
        done.1 = std::mem::replace(&mut done.1, Ok(())).and(worked);
    });
    let (traces, worked) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let right = device.read_counts()?;
    worked?;
    for (event, enqueued) in traces {
        device.slots[0].trace_device(event.as_slice(), enqueued);
    }
    Ok(right)
}

/// Runs the strategies that compare on the device: expected results are uploaded, and a count for each width is read back.
fn run_checked_on_device(
    kernels: &Kernels,
    strategy: Strategy,
    numbers: &Range<u64>,
    generator: InputGenerator,
    device: &DeviceBuffers,
) -> Result<[u32; 6]> {
    device.clear()?;
    let mut traces = Vec::new();
    for (index, (first, numbers)) in parts(numbers, PART_NUMBERS).enumerate() {
        let slot = &device.slots[index % 2];
        let number = numbers as u32;
        generate_both(generator, first, slot, numbers)?;
        let enqueued = Instant::now();
        let mut events = Vec::new();
        match strategy {
            Strategy::AllWidths { .. } => {
                events.extend(check_all(kernels, slot, device.right_counts(), number)?)
            }
            Strategy::Fused => {
                for name in CHECK_KERNELS {
                    let memory = [&slot.input, &slot.wanted, device.right_counts()];
                    events.extend(slot.run(kernels, name, &memory, &[number])?);
                }
            }
            _ => {
                for (at, (name, output)) in (0..).zip(CONVERT_KERNELS.iter().zip(&slot.outputs)) {
                    events.extend(slot.run(kernels, name, &[&slot.input, output], &[number])?);
                    let memory = [output, &slot.wanted, device.right_counts()];
                    events.extend(slot.run(kernels, "compare", &memory, &[number, at])?);
                }
            }
        }
        slot.flush()?;
        traces.push((events, (enqueued, Instant::now())));
    }
    let right = device.read_counts()?;
    for (events, enqueued) in traces {
        device.slots[0].trace_device(&events, enqueued);
    }
    debug_assert_eq!(right.len(), WIDTHS.len());
    Ok(right)
}
