//! What the host does in each rung. In: kernels, how many numbers. Out: how many results of each width are right, and how long
//! it took.

use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Instant;

use super::slot::{Device, Kernels, Mapped, Slot, trace_device, traced};
use super::{Built, CONVERSION, FAULTS, Host, MOST_PARTS, PART, WIDTHS, parts};
use crate::error::{Error, Result};
use crate::gpu::cl;
use crate::ladder::measure::Sample;
use crate::ladders::conversions::bulk::convert_all;
use crate::threads::{all_threads, share};
use crate::timing::ms_since;

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
        /// Whether all cores compute what is right.
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
            Strategy::AllWidths { .. } => &["check_all"],
            _ => &CONVERT,
        }
    }

    fn threads(self) -> usize {
        if self == (Strategy::AllWidths { threads: true }) { all_threads() } else { 1 }
    }
}

/// Numbers and what is wanted of them.
struct Maker {
    faults: bool,
    threads: usize,
}

/// Numbers that are made and converted at once: both stay in a core's cache.
const BLOCK: usize = 1 << 14;

impl Maker {
    /// The numbers from `first` on, and what is wanted of them. All 2^32 of them come before one comes again, and few of them
    /// look alike.
    fn make(&self, first: u32, numbers: &mut [u8], wanted: &mut [u8]) {
        traced("numbers and reference", || {
            let part = (numbers.len() / 4 / self.threads).next_multiple_of(BLOCK).max(BLOCK);
            let firsts = (first..).step_by(part);
            let parts = firsts.zip(numbers.chunks_mut(4 * part).zip(wanted.chunks_mut(4 * part)));
            share(parts, self.threads, |(first, (numbers, wanted))| {
                let blocks = numbers.chunks_mut(4 * BLOCK).zip(wanted.chunks_mut(4 * BLOCK));
                for (first, (numbers, wanted)) in (first..).step_by(BLOCK).zip(blocks) {
                    let (words, _) = numbers.as_chunks_mut::<4>();
                    for (index, word) in (first..).zip(words) {
                        *word = index.wrapping_mul(0x9e37_79b1).to_le_bytes();
                    }
                    convert_all(CONVERSION, numbers, wanted, &mut []);
                }
            });
            if self.faults {
                let before = (FAULTS - first as usize % FAULTS) % FAULTS;
                wanted.iter_mut().skip(4 * before).step_by(4 * FAULTS).for_each(|byte| *byte ^= 1);
            }
        });
    }

    /// Numbers of a part: more where many threads share one, so that they are worth starting.
    fn part(&self) -> usize {
        PART * (self.threads / 4).clamp(1, MOST_PARTS)
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
    count: u32,
    faults: bool,
    device: Option<&mut Device>,
) -> Result<([u32; 6], Sample)> {
    let began = Instant::now();
    let right = match (built, device) {
        (Built::Host(Host::Reference(threads)), _) => reference(count, &Maker { faults, threads: *threads }),
        (Built::Host(Host::Compare { vectors }), _) => return Ok(compare(count, faults, *vectors)),
        (Built::Kernels(kernels, strategy), Some(device)) => {
            let maker = Maker { faults, threads: strategy.threads() };
            match strategy {
                Strategy::Blocking => blocking(kernels, count, &maker, &device.slots[0])?,
                Strategy::Mapped => mapped(kernels, count, &maker, &device.slots[0])?,
                Strategy::NonBlocking => ahead(kernels, count, &maker, &device.slots[..1])?,
                Strategy::DoubleBuffered => ahead(kernels, count, &maker, &device.slots)?,
                _ => on_device(kernels, *strategy, count, &maker, device)?,
            }
        }
        (Built::Kernels(..), None) => {
            return Err(Error::new("Numbers cannot be converted.", "The device has no room for them.", ""));
        }
    };
    Ok((right, sample(ms_since(began))))
}

fn sample(wall_ms: f64) -> Sample {
    Sample { device_ms: None, dispatch_ms: None, wall_ms }
}

/// No device: the results are what the reference says, and the planted faults are taken out of the count.
fn reference(count: u32, maker: &Maker) -> [u32; 6] {
    let (mut input, mut wanted) = (Vec::new(), Vec::new());
    for (first, numbers) in parts(count, maker.part()) {
        input.resize(4 * numbers, 0);
        wanted.resize(4 * numbers, 0);
        maker.make(first, &mut input, &mut wanted);
        std::hint::black_box(&wanted);
    }
    [super::right(count, maker.faults); 6]
}

/// No device, and the comparison of six times the numbers alone is timed.
fn compare(count: u32, faults: bool, vectors: bool) -> ([u32; 6], Sample) {
    let (mut input, mut got, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    let (mut right, mut ms) = ([0; 6], 0.0);
    for (first, numbers) in parts(count, PART) {
        for bytes in [&mut input, &mut got, &mut wanted] {
            bytes.resize(4 * numbers, 0);
        }
        Maker { faults: false, threads: 1 }.make(first, &mut input, &mut got);
        Maker { faults, threads: 1 }.make(first, &mut input, &mut wanted);
        let began = Instant::now();
        for right in &mut right {
            *right += match vectors {
                true => equal(std::hint::black_box(&got), &wanted),
                false => equal_by_bytes(std::hint::black_box(&got), &wanted),
            };
        }
        ms += ms_since(began);
    }
    (right, sample(ms))
}

fn blocking(kernels: &Kernels, count: u32, maker: &Maker, slot: &Slot) -> Result<[u32; 6]> {
    let (mut input, mut wanted, mut got) = (Vec::new(), Vec::new(), Vec::new());
    let mut right = [0; 6];
    for (first, numbers) in parts(count, PART) {
        for bytes in [&mut input, &mut wanted, &mut got] {
            bytes.resize(4 * numbers, 0);
        }
        maker.make(first, &mut input, &mut wanted);
        for ((name, output), right) in CONVERT.iter().zip(&slot.outputs).zip(&mut right) {
            slot.write(&slot.input, &input)?;
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            trace_device(event.as_slice(), (enqueued, until));
            slot.read(output, &mut got)?;
            *right += equal(&got, &wanted);
        }
    }
    Ok(right)
}

fn mapped(kernels: &Kernels, count: u32, maker: &Maker, slot: &Slot) -> Result<[u32; 6]> {
    let mut wanted = Vec::new();
    let mut right = [0; 6];
    for (first, numbers) in parts(count, PART) {
        wanted.resize(4 * numbers, 0);
        make(maker, first, slot, &mut wanted)?;
        for ((name, output), right) in CONVERT.iter().zip(&slot.outputs).zip(&mut right) {
            let enqueued = Instant::now();
            let event = slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?;
            let until = Instant::now();
            slot.finish()?;
            trace_device(event.as_slice(), (enqueued, until));
            let mut got = slot.map(output, 4 * numbers, true)?;
            got.wait()?;
            *right += equal(got.bytes(), &wanted);
            slot.unmap(output, &got)?;
        }
    }
    Ok(right)
}

/// Makes numbers right in the device's memory, and what is wanted of them.
fn make(maker: &Maker, first: u32, slot: &Slot, wanted: &mut [u8]) -> Result<()> {
    let mut input = slot.map(&slot.input, wanted.len(), false)?;
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
fn ahead(kernels: &Kernels, count: u32, maker: &Maker, slots: &[Slot]) -> Result<[u32; 6]> {
    let mut wanted = vec![Vec::new(); slots.len()];
    let mut right = [0; 6];
    let mut under_way: Option<(usize, Started)> = None;
    let mut done = |at: usize, started: Started, wanted: &[u8]| -> Result<()> {
        let slot = &slots[at];
        for ((mut got, output), right) in started.got.into_iter().zip(&slot.outputs).zip(&mut right) {
            got.wait()?;
            *right += equal(got.bytes(), wanted);
            slot.unmap(output, &got)?;
        }
        trace_device(&started.events, started.enqueued);
        Ok(())
    };
    for (index, (first, numbers)) in parts(count, PART).enumerate() {
        let at = index % slots.len();
        let slot = &slots[at];
        wanted[at].resize(4 * numbers, 0);
        make(maker, first, slot, &mut wanted[at])?;
        let began = Instant::now();
        let mut started = Started { got: Vec::new(), events: Vec::new(), enqueued: (began, began) };
        for (name, output) in CONVERT.iter().zip(&slot.outputs) {
            started.events.extend(slot.run(kernels, name, &[&slot.input, output], &[numbers as u32])?);
            started.got.push(slot.map(output, 4 * numbers, true)?);
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

/// The device compares: what is wanted goes to it, and a word for each width comes back.
fn on_device(
    kernels: &Kernels,
    strategy: Strategy,
    count: u32,
    maker: &Maker,
    device: &Device,
) -> Result<[u32; 6]> {
    device.clear()?;
    let mut traces = Vec::new();
    for (index, (first, numbers)) in parts(count, maker.part()).enumerate() {
        let slot = &device.slots[index % 2];
        let number = numbers as u32;
        // Both wait for the kernels that still read this slot, and for nothing else.
        let mut wanted = slot.map(&slot.wanted, 4 * numbers, false)?;
        wanted.wait()?;
        make(maker, first, slot, wanted.bytes())?;
        slot.unmap(&slot.wanted, &wanted)?;
        let enqueued = Instant::now();
        let mut events = Vec::new();
        match strategy {
            Strategy::AllWidths { .. } => {
                let memory = [&slot.input, &slot.wanted, device.right()];
                events.extend(slot.run(kernels, "check_all", &memory, &[number])?);
            }
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
