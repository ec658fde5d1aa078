//! What the host does in each rung. In: kernels, how many numbers. Out: how many results of each width are right, and how long
//! it took.

use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::slot::{ALL_WIDTHS, Device, Kernels, Mapped, Slot, trace_device, traced};
use super::{Built, CONVERSION, FAULTS, Host, PART, SHARE, WIDTHS, parts, stretches};
use crate::type_conversions::bulk::convert_all;
use base::error::{Error, Result};
use base::threads::{all_threads, share};
use base::timing::ms_since;
use ladder::measure::Sample;
use opencl::cl::{self, Buffer};
use opencl::watch;

/// How the host keeps the device busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Copies, and waits for each call.
    Blocking,
    /// Maps, and waits for each call.
    Mapped,
    /// Maps, and waits only for what it needs.
    NonBlocking,
    /// Makes the next part meanwhile.
    DoubleBuffered,
    /// … and a kernel compares.
    Verified,
    /// … the same that converts.
    Fused,
    /// … one for all widths.
    AllWidths {
        /// Whether each thread makes parts of its own.
        threads: bool,
    },
}

const CONVERT: [&str; 6] = ["convert1", "convert2", "convert3", "convert4", "convert8", "convert16"];
const CHECK: [&str; 6] = ["check1", "check2", "check3", "check4", "check8", "check16"];

impl Strategy {
    /// The kernels that it runs.
    pub(super) fn kernels(self) -> &'static [&'static str] {
        const VERIFIED: [&str; 7] =
            ["convert1", "convert2", "convert3", "convert4", "convert8", "convert16", "compare"];
        match self {
            Strategy::Verified => &VERIFIED,
            Strategy::Fused => &CHECK,
            Strategy::AllWidths { .. } => ALL_WIDTHS,
            _ => &CONVERT,
        }
    }
}

/// What the host has for itself. It stays from run to run: new memory costs the first who touches it as much as filling it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    input: Vec<u8>,
    wanted: [Vec<u8>; 2],
    got: Vec<u8>,
}

/// The first `len` bytes, of which the memory gets so many the first time.
fn at_least(memory: &mut Vec<u8>, len: usize) -> &mut [u8] {
    memory.resize(memory.len().max(len), 0);
    &mut memory[..len]
}

/// Numbers and what is wanted of them.
#[derive(Debug, Clone, Copy)]
struct Maker {
    faults: bool,
}

/// Numbers that are made and converted at once: both stay in a core's cache.
const BLOCK: usize = 1 << 14;

impl Maker {
    /// The numbers from `first` on, and what is wanted of them. All 2^32 of them come before one comes again, and few of them
    /// look alike.
    fn make(self, first: u64, numbers: &mut [u8], wanted: &mut [u8]) {
        traced("numbers and reference", || {
            let blocks = numbers.chunks_mut(4 * BLOCK).zip(wanted.chunks_mut(4 * BLOCK));
            for (first, (numbers, wanted)) in (first..).step_by(BLOCK).zip(blocks) {
                let (words, _) = numbers.as_chunks_mut::<4>();
                for (index, word) in (0..).zip(words) {
                    *word = (first as u32).wrapping_add(index).wrapping_mul(0x9e37_79b1).to_le_bytes();
                }
                convert_all(CONVERSION, numbers, wanted, &mut []);
            }
            if self.faults {
                let before = (FAULTS - (first % FAULTS as u64) as usize) % FAULTS;
                wanted.iter_mut().skip(4 * before).step_by(4 * FAULTS).for_each(|byte| *byte ^= 1);
            }
        });
    }
}

/// How many numbers are the wanted ones. Blocks of bytes are compared first, and only where they differ the numbers in them.
fn equal(got: &[u8], wanted: &[u8]) -> u32 {
    traced("compare", || {
        let blocks = got.chunks(4 * BLOCK).zip(wanted.chunks(4 * BLOCK));
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

/// The same byte by byte: the fence, which is no instruction itself, keeps the compiler from making vectors of it.
fn equal_by_bytes(got: &[u8], wanted: &[u8]) -> u32 {
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

/// Runs a rung once.
pub(super) fn run(
    built: &Built,
    count: u64,
    faults: bool,
    host: &mut Memory,
    mut device: Option<&mut Device>,
) -> Result<([u64; 6], Sample)> {
    let (began, maker) = (Instant::now(), Maker { faults });
    let (mut all, mut compared_ms) = ([0; 6], None);
    for numbers in stretches(count) {
        let numbers = &numbers;
        let right = match (built, device.as_deref_mut()) {
            (Built::Host(work, threads), _) => {
                // However long it takes, no driver keeps anybody waiting.
                let _no_driver = watch::on_host();
                match work {
                    Host::Reference(_) => reference(numbers, maker, *threads, host),
                    Host::Compare { vectors } => {
                        let (right, ms) = compare(numbers, maker, *vectors, host);
                        *compared_ms.get_or_insert(0.0) += ms;
                        right
                    }
                }
            }
            (Built::Kernels(kernels, strategy), Some(device)) => {
                on(device, kernels, *strategy, numbers, maker, host)?
            }
            (Built::Kernels(..), None) => {
                let why = "The device has no room for them.";
                return Err(Error::new("Numbers cannot be converted.", why, ""));
            }
        };
        all.iter_mut().zip(right).for_each(|(all, right)| *all += u64::from(right));
        // The device has answered, however many stretches are left.
        watch::progress();
    }
    let wall_ms = compared_ms.unwrap_or_else(|| ms_since(began));
    Ok((all, Sample { device_ms: None, dispatch_ms: None, wall_ms }))
}

/// Runs a rung's kernels on the numbers of a stretch.
fn on(
    device: &mut Device,
    kernels: &Kernels,
    strategy: Strategy,
    numbers: &Range<u64>,
    maker: Maker,
    host: &mut Memory,
) -> Result<[u32; 6]> {
    let wanted = &mut host.wanted;
    match strategy {
        Strategy::Blocking => blocking(kernels, numbers, maker, &device.slots[0], host),
        Strategy::Mapped => mapped(kernels, numbers, maker, &device.slots[0], &mut wanted[0]),
        Strategy::NonBlocking => ahead(kernels, numbers, maker, &device.slots[..1], &mut wanted[..1]),
        Strategy::DoubleBuffered => ahead(kernels, numbers, maker, &device.slots, wanted),
        Strategy::AllWidths { threads: true } => on_threads(kernels, numbers, maker, device),
        _ => on_device(kernels, strategy, numbers, maker, device),
    }
}

/// No device: the results are what the reference says, and the planted faults are taken out of the count.
fn reference(numbers: &Range<u64>, maker: Maker, threads: usize, host: &mut Memory) -> [u32; 6] {
    let Memory { input, wanted: [wanted, _], .. } = host;
    // Each thread has a share of the memory, and parts that fit.
    let share_of = if threads > 1 { SHARE } else { PART };
    let all = 4 * share_of * threads;
    let (input, wanted) = (at_least(input, all), at_least(wanted, all));
    let left = Mutex::new(parts(numbers, share_of));
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let rooms = input.chunks_mut(4 * share_of).zip(wanted.chunks_mut(4 * share_of));
    share(rooms, threads, |(input, wanted)| {
        while let Some((first, numbers)) = next() {
            maker.make(first, &mut input[..4 * numbers], &mut wanted[..4 * numbers]);
            std::hint::black_box(&wanted);
        }
    });
    [super::right(numbers, maker.faults) as u32; 6]
}

/// No device, and the comparison of six times the numbers alone is timed, in milliseconds.
fn compare(numbers: &Range<u64>, maker: Maker, vectors: bool, host: &mut Memory) -> ([u32; 6], f64) {
    let Memory { input, wanted: [wanted, _], got } = host;
    let (mut right, mut ms) = ([0; 6], 0.0);
    for (first, numbers) in parts(numbers, PART) {
        let [input, wanted, got] = [&mut *input, wanted, got].map(|memory| at_least(memory, 4 * numbers));
        Maker { faults: false }.make(first, input, got);
        maker.make(first, input, wanted);
        let began = Instant::now();
        for right in &mut right {
            *right += match vectors {
                true => equal(std::hint::black_box(got), wanted),
                false => equal_by_bytes(std::hint::black_box(got), wanted),
            };
        }
        ms += ms_since(began);
    }
    (right, ms)
}

fn blocking(
    kernels: &Kernels,
    numbers: &Range<u64>,
    maker: Maker,
    slot: &Slot,
    host: &mut Memory,
) -> Result<[u32; 6]> {
    let Memory { input, wanted: [wanted, _], got } = host;
    let mut right = [0; 6];
    for (first, numbers) in parts(numbers, PART) {
        let [input, wanted, got] = [&mut *input, wanted, got].map(|memory| at_least(memory, 4 * numbers));
        maker.make(first, input, wanted);
        for ((name, output), right) in CONVERT.iter().zip(&slot.outputs).zip(&mut right) {
            slot.write(&slot.input, input)?;
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            trace_device(event.as_slice(), (enqueued, until));
            slot.read(output, got)?;
            *right += equal(got, wanted);
        }
    }
    Ok(right)
}

fn mapped(
    kernels: &Kernels,
    numbers: &Range<u64>,
    maker: Maker,
    slot: &Slot,
    wanted: &mut Vec<u8>,
) -> Result<[u32; 6]> {
    let mut right = [0; 6];
    for (first, numbers) in parts(numbers, PART) {
        let wanted = at_least(wanted, 4 * numbers);
        make(maker, first, slot, wanted)?;
        for ((name, output), right) in CONVERT.iter().zip(&slot.outputs).zip(&mut right) {
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            trace_device(event.as_slice(), (enqueued, until));
            let mut got = slot.map(output, 4 * numbers)?;
            got.wait()?;
            *right += equal(got.bytes(), wanted);
            slot.unmap(output, &got)?;
        }
    }
    Ok(right)
}

/// Makes numbers right in the device's memory, and what is wanted of them.
fn make(maker: Maker, first: u64, slot: &Slot, wanted: &mut [u8]) -> Result<()> {
    let mut input = slot.open(&slot.input, wanted.len())?;
    input.wait()?;
    maker.make(first, input.bytes(), wanted);
    slot.unmap(&slot.input, &input)
}

/// A part that is under way: the results' mappings, the kernels' events and when they were enqueued.
struct Started {
    got: Vec<Mapped>,
    events: Vec<cl::Event>,
    enqueued: (Instant, Instant),
}

/// With one slot the host makes a part when the one before is done; with two while it runs.
fn ahead(
    kernels: &Kernels,
    numbers: &Range<u64>,
    maker: Maker,
    slots: &[Slot],
    wanted: &mut [Vec<u8>],
) -> Result<[u32; 6]> {
    let mut right = [0; 6];
    let mut under_way: Option<(usize, Started)> = None;
    let mut done = |at: usize, started: Started, wanted: &[u8]| -> Result<()> {
        let slot = &slots[at];
        for ((mut got, output), right) in started.got.into_iter().zip(&slot.outputs).zip(&mut right) {
            got.wait()?;
            let got_bytes = got.bytes();
            *right += equal(got_bytes, &wanted[..got_bytes.len()]);
            slot.unmap(output, &got)?;
        }
        trace_device(&started.events, started.enqueued);
        Ok(())
    };
    for (index, (first, numbers)) in parts(numbers, PART).enumerate() {
        let at = index % slots.len();
        let slot = &slots[at];
        make(maker, first, slot, at_least(&mut wanted[at], 4 * numbers))?;
        let began = Instant::now();
        let mut started = Started { got: Vec::new(), events: Vec::new(), enqueued: (began, began) };
        for (name, output) in CONVERT.iter().zip(&slot.outputs) {
            started.events.extend(slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?);
            started.got.push(slot.map(output, 4 * numbers)?);
        }
        slot.flush()?;
        started.enqueued.1 = Instant::now();
        if slots.len() == 1 {
            done(at, started, &wanted[at])?;
        } else if let Some((before, started)) = under_way.replace((at, started)) {
            done(before, started, &wanted[before])?;
        }
    }
    if let Some((at, started)) = under_way {
        done(at, started, &wanted[at])?;
    }
    Ok(right)
}

/// Makes numbers and what is wanted of them in the device's memory. Both wait for what still reads this slot, and for nothing
/// else.
fn make_both(maker: Maker, first: u64, slot: &Slot, numbers: usize) -> Result<()> {
    let mut wanted = slot.open(&slot.wanted, 4 * numbers)?;
    wanted.wait()?;
    make(maker, first, slot, wanted.bytes())?;
    slot.unmap(&slot.wanted, &wanted)
}

fn check_all(kernels: &Kernels, slot: &Slot, right: &Buffer, number: u32) -> Result<Option<cl::Event>> {
    slot.run(kernels, ALL_WIDTHS[0], &[&slot.input, &slot.wanted, right], &[number])
}

/// Each thread makes parts of its own and lets the device begin with them: none waits for another, nor for one thread that
/// talks to the device.
fn on_threads(
    kernels: &Kernels,
    numbers: &Range<u64>,
    maker: Maker,
    device: &mut Device,
) -> Result<[u32; 6]> {
    device.clear()?;
    let left = Mutex::new(parts(numbers, SHARE));
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = Mutex::new((Vec::new(), Ok(())));
    let right = device.right().clone();
    share(device.crew.chunks_mut(2), all_threads(), |slots| {
        let mut traces = Vec::new();
        let mut work = || {
            for at in (0..slots.len()).cycle() {
                let (slot, Some((first, numbers))) = (&slots[at], next()) else { break };
                make_both(maker, first, slot, numbers)?;
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
    let right = device.counted()?;
    worked?;
    for (event, enqueued) in traces {
        trace_device(event.as_slice(), enqueued);
    }
    Ok(right)
}

/// The device compares: what is wanted goes to it, and a word for each width comes back.
fn on_device(
    kernels: &Kernels,
    strategy: Strategy,
    numbers: &Range<u64>,
    maker: Maker,
    device: &Device,
) -> Result<[u32; 6]> {
    device.clear()?;
    let mut traces = Vec::new();
    for (index, (first, numbers)) in parts(numbers, PART).enumerate() {
        let slot = &device.slots[index % 2];
        let number = numbers as u32;
        make_both(maker, first, slot, numbers)?;
        let enqueued = Instant::now();
        let mut events = Vec::new();
        match strategy {
            Strategy::AllWidths { .. } => events.extend(check_all(kernels, slot, device.right(), number)?),
            Strategy::Fused => {
                for name in CHECK {
                    let memory = [&slot.input, &slot.wanted, device.right()];
                    events.extend(slot.run(kernels, name, &memory, &[number])?);
                }
            }
            _ => {
                for (at, (name, output)) in (0..).zip(CONVERT.iter().zip(&slot.outputs)) {
                    events.extend(slot.run(kernels, name, &[&slot.input, output], &[number])?);
                    let memory = [output, &slot.wanted, device.right()];
                    events.extend(slot.run(kernels, "compare", &memory, &[number, at])?);
                }
            }
        }
        slot.flush()?;
        traces.push((events, (enqueued, Instant::now())));
    }
    let right = device.counted()?;
    for (events, enqueued) in traces {
        trace_device(&events, enqueued);
    }
    debug_assert_eq!(right.len(), WIDTHS.len());
    Ok(right)
}
