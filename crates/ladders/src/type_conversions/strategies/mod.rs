//! The ladder of host strategies: one conversion of many numbers is tried in all its widths, and each rung's host code leaves
//! the device less time without work. In: how many numbers. Out: for each width, how many results are right.
//!
//! A rung makes the numbers, what is right for them, runs the conversion, and compares. What it gives is checked as any ladder's
//! output: also with numbers of which something else is wanted than what is right, so that a rung that compares nothing is
//! caught.

mod run;
mod slot;

use std::ops::Range;

use serde_json::{Value, json};

use super::types::{Case as Conversion, Rounding, Type};
use super::values::MULTIPLE;
use crate::counts;
use base::error::Result;
use base::threads::{Threads, all_threads};
use base::verify::Elements;
use ladder::config::{Config, Param, Tunable};
use ladder::contest::Ladder;
use ladder::measure::Sample;
use ladder::rung::{Rung, Work};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo};

use run::{Memory, Strategy};
use slot::{Device, Kernels};

/// The conversion: 32 bits to 32 bits, and nothing of it is open.
pub(super) const CONVERSION: Conversion =
    Conversion { from: Type::Float, to: Type::Int, saturates: true, rounding: Rounding::Nearest };
/// Widths of vectors; the same order as in the kernels.
pub(super) const WIDTHS: [u8; 6] = [1, 2, 3, 4, 8, 16];
/// Numbers that are made, run and compared at once: all widths divide it.
pub(super) const PART: usize = 48 * 21_845;
/// The same where each thread makes and runs parts of its own.
pub(super) const SHARE: usize = 48 * 5461;
/// The most numbers of a case: all of the conversion's source.
const MOST: u64 = 1 << 32;
/// The device counts right results in 32 bits: after so many numbers its counts are fetched and begin anew. So many take the
/// slowest rung a few seconds, less than a device that does not answer is given.
const STRETCH: u64 = 256 * PART as u64;
/// One of so many numbers has another result than the right one among what is wanted, where faults are planted.
const FAULTS: usize = 997;

const WIDTHS_FILE: &str = "conversions/02_widths.cl";
const CHECKED_FILE: &str = "conversions/03_checked.cl";

/// A rung's kernels, and what the host does with them.
#[derive(Debug)]
pub struct Code {
    file: &'static str,
    strategy: Strategy,
}

const GROUP: Param = Param { name: "GROUP", cpu: 1, gpu: 256, values: &[64, 128, 256, 512] };

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        &[GROUP]
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![config.get("GROUP") as usize]
    }
}

static BLOCKING: Code = Code { file: WIDTHS_FILE, strategy: Strategy::Blocking };
static MAPPED: Code = Code { file: WIDTHS_FILE, strategy: Strategy::Mapped };
static NON_BLOCKING: Code = Code { file: WIDTHS_FILE, strategy: Strategy::NonBlocking };
static DOUBLE_BUFFERED: Code = Code { file: WIDTHS_FILE, strategy: Strategy::DoubleBuffered };
static VERIFIED: Code = Code { file: WIDTHS_FILE, strategy: Strategy::Verified };
static FUSED: Code = Code { file: CHECKED_FILE, strategy: Strategy::Fused };
static ALL_WIDTHS: Code = Code { file: CHECKED_FILE, strategy: Strategy::AllWidths { threads: false } };
static THREADS: Code = Code { file: CHECKED_FILE, strategy: Strategy::AllWidths { threads: true } };

/// The rungs in order.
static RUNGS: [Rung<Code, Host>; 12] = [
    on_device(
        "blocking",
        "Blocking",
        "Write, run, read, compare for each width; each call waits.",
        &BLOCKING,
    ),
    on_device(
        "mapped",
        "Mapped",
        "Numbers are made, and results compared, in memory that the device reaches by itself.",
        &MAPPED,
    ),
    on_device(
        "non-blocking",
        "Non-blocking",
        "All widths are enqueued at once; one is compared while the next one runs.",
        &NON_BLOCKING,
    ),
    on_device(
        "double-buffered",
        "Double-buffered",
        "The next numbers, and what is right for them, are made while these run.",
        &DOUBLE_BUFFERED,
    ),
    on_device(
        "verified-on-device",
        "Verified on the device",
        "A kernel compares; a word for each width comes back.",
        &VERIFIED,
    ),
    on_device("fused", "Fused", "One kernel converts and compares; no result goes to memory.", &FUSED),
    on_device(
        "all-widths",
        "All widths",
        "One kernel for all widths: 16 wide, and halved down to scalars.",
        &ALL_WIDTHS,
    ),
    on_device(
        "threads",
        "Threads",
        "The same, and each core makes parts of its own and lets the device begin with them.",
        &THREADS,
    ),
    host(
        "reference",
        "Reference alone",
        "Making the numbers and what is right, on one thread: no device has a part in it.",
        Host::Reference(Threads::One),
    ),
    host("reference-threads", "Reference, threads", "The same on all cores.", Host::Reference(Threads::All)),
    host(
        "compare-bytes",
        "Comparison, bytes",
        "Comparing the results of all widths alone, byte by byte, on one thread: no device has a part in it.",
        Host::Compare { vectors: false },
    ),
    host(
        "compare-vectors",
        "Comparison, vectors",
        "The same in vectors, as all rungs do it.",
        Host::Compare { vectors: true },
    ),
];

/// A rung that converts on the device.
const fn on_device(
    id: &'static str,
    title: &'static str,
    idea: &'static str,
    code: &'static Code,
) -> Rung<Code, Host> {
    Rung { id, title, idea, work: Work::Kernels(code) }
}

/// A rung that no device has a part in.
const fn host(id: &'static str, title: &'static str, idea: &'static str, host: Host) -> Rung<Code, Host> {
    Rung { id, title, idea, work: Work::Host(host) }
}

/// The ladder.
#[derive(Debug, Clone, Copy)]
pub struct HostStrategies;

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// No device has a part in it, but so many threads.
    Host(Host, usize),
    /// Compiled kernels, and what is done with them.
    Kernels(Kernels, Strategy),
}

/// What the host does without a device.
#[derive(Debug, Clone, Copy)]
pub enum Host {
    /// Numbers and what is right, on these threads.
    Reference(Threads),
    /// The comparison.
    Compare {
        /// In vectors, else byte by byte.
        vectors: bool,
    },
}

impl Host {
    fn built(self) -> Built {
        let threads = if let Host::Reference(threads) = self { threads } else { Threads::One };
        Built::Host(self, threads.count())
    }
}

/// What a case needs.
#[derive(Debug)]
pub struct Room {
    count: u64,
    /// Whether something else is wanted of some numbers than what is right.
    faults: bool,
    /// How many results of each width are right, between guards.
    output: Vec<u8>,
    guard: usize,
    host: Memory,
    device: Option<Device>,
}

/// Counts of right results.
#[derive(Debug, Clone, Copy)]
pub struct Counts;

impl Elements for Counts {
    const NAME: &'static str = "counts";
    const BYTES: usize = 8;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| u64::from_le_bytes(bytes) as f64)
    }

    fn position(&self, number: usize) -> String {
        format!("right results of width {}", WIDTHS.get(number).unwrap_or(&0))
    }
}

/// How many results of each width are the wanted ones, of the numbers of a stretch: one of [`FAULTS`] is not, where faults are
/// planted.
fn right(numbers: &Range<u64>, faults: bool) -> u64 {
    let all = (numbers.end - numbers.start).next_multiple_of(MULTIPLE as u64);
    let before = |end: u64| end.div_ceil(FAULTS as u64);
    let wrong = before(numbers.start + all) - before(numbers.start);
    if faults { all - wrong } else { all }
}

/// The stretches of so many numbers.
fn stretches(count: u64) -> impl Iterator<Item = Range<u64>> {
    (0..count).step_by(STRETCH as usize).map(move |first| first..count.min(first + STRETCH))
}

/// The first number of each part of a stretch, and how many there are: all have so many but the last.
fn parts(numbers: &Range<u64>, part: usize) -> impl Iterator<Item = (u64, usize)> + use<> {
    let end = numbers.end;
    numbers.clone().step_by(part).map(move |first| {
        let left = (end - first).min(part as u64) as usize;
        (first, left.next_multiple_of(MULTIPLE))
    })
}

impl Ladder for HostStrategies {
    type Case = u64;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Room = Room;
    type Elements = Counts;

    const NAME: &'static str = "conversions";
    const LIMIT: &'static str = "reference alone, on all cores";
    const LIMIT_FILE: &'static str = WIDTHS_FILE;
    const INPUTS: &'static [&'static str] = &["right", "some wanted wrong"];
    const TAKES: &'static [&'static str] = &["count"];
    const SIZES: &'static [&'static str] = &["65536", "1048576", "16777216"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<u64>, String> {
        counts::asked(sizes, "conversions", MOST)
    }

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &RUNGS
    }

    fn small(&self) -> Vec<u64> {
        // One, less and more than all widths divide, and more than two parts.
        vec![1, 47, 49, 1000, 2 * PART as u64 + 77]
    }

    fn title(&self, count: &u64) -> String {
        format!("{CONVERSION} of {count} floats")
    }

    fn json(&self, count: &u64) -> Value {
        json!({ "conversion": CONVERSION.to_string(), "count": count })
    }

    fn class(&self, _: &u64) -> &'static str {
        "any"
    }

    fn case(&self, json: &Value) -> Option<u64> {
        counts::from_json(json, MOST)
    }

    fn bytes(&self, count: &u64) -> f64 {
        // A number and a result for each width.
        8.0 * WIDTHS.len() as f64 * *count as f64
    }

    fn operations(&self, count: &u64) -> f64 {
        WIDTHS.len() as f64 * *count as f64
    }

    fn output_bytes(&self, _: &u64) -> usize {
        Counts::BYTES * WIDTHS.len()
    }

    fn memory(&self, _: &u64) -> usize {
        // Two slots with numbers, what is wanted and six results each, and the host's own; two small ones for each thread.
        PART * 4 * (2 * (6 + 2) + 4) + SHARE * 4 * (2 + 1) * 2 * all_threads()
    }

    fn supports(&self, device: &DeviceInfo, _: &u64) -> std::result::Result<(), String> {
        match device.max_allocation_bytes >= PART as u64 * 4 {
            true => Ok(()),
            false => Err(format!("'{}' has no room for {PART} numbers.", device.name)),
        }
    }

    fn host(&self, host: Host) -> Built {
        host.built()
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        let Code { file, strategy } = *config.code();
        let names = strategy.kernels();
        let kernels = Kernels::compile(cl, file, names, config.get("GROUP") as usize)?;
        Ok(Built::Kernels(kernels, strategy))
    }

    fn compile_limit(&self, _: &ClContext) -> Result<Built> {
        Ok(Host::Reference(Threads::All).built())
    }

    fn room(&self, cl: Option<&ClContext>, count: &u64, guard: usize) -> Result<Room> {
        let output = base::memory::zeroed(self.output_bytes(count) + 2 * guard)?;
        let largest = ((*count).min(PART as u64) as usize).next_multiple_of(MULTIPLE);
        let device = cl.map(|cl| Device::new(cl, largest, all_threads())).transpose()?;
        Ok(Room { count: *count, faults: false, output, guard, host: Memory::default(), device })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        room.faults = input != Self::INPUTS[0];
        let right = right(&(0..room.count), room.faults);
        Ok(WIDTHS.iter().flat_map(|_| right.to_le_bytes()).collect())
    }

    fn write(&self, _: &Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        room.output.clone_from_slice(bytes);
        Ok(())
    }

    fn read(&self, _: &Built, room: &Room) -> Result<Vec<u8>> {
        Ok(room.output.clone())
    }

    fn changed(&self, _: &Built, _: &Room) -> Result<usize> {
        // The numbers are made in each run.
        Ok(0)
    }

    fn run(&self, built: &Built, room: &mut Room) -> Result<Sample> {
        let Room { count, faults, output, guard, host, device } = room;
        let (right, sample) = run::run(built, *count, *faults, host, device.as_mut())?;
        let bytes = right.iter().flat_map(|right| right.to_le_bytes());
        output.iter_mut().skip(*guard).zip(bytes).for_each(|(to, from)| *to = from);
        Ok(sample)
    }

    fn elements(&self, _: &Room) -> Counts {
        Counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_and_their_parts_have_every_number_once_and_all_the_planted_faults() {
        // What the device counts has room in its 32 bits.
        assert!(STRETCH < u64::from(u32::MAX));
        for count in [1, 49, STRETCH - 1, STRETCH, STRETCH + 1, 3 * STRETCH + 1000, MOST] {
            for part in [PART, SHARE] {
                let mut next = 0;
                for stretch in stretches(count) {
                    for (first, numbers) in parts(&stretch, part) {
                        assert_eq!(first, next, "{count}");
                        next += numbers as u64;
                    }
                }
                assert_eq!(next, count.next_multiple_of(MULTIPLE as u64), "{count}");
            }
            for faults in [false, true] {
                let all: u64 = stretches(count).map(|stretch| right(&stretch, faults)).sum();
                assert_eq!(all, right(&(0..count), faults), "{count}");
            }
        }
        assert_eq!((right(&(0..1), true), right(&(0..1000), true)), (47, 1008 - 2));
    }
}
