//! The ladder of host strategies: one conversion of many numbers is tried in all its widths, and each rung's host code leaves
//! the device less time without work. In: how many numbers. Out: for each width, how many results are right.
//!
//! A rung makes the numbers, what is right for them, runs the conversion, and compares. What it gives is checked as any ladder's
//! output: also with numbers of which something else is wanted than what is right, so that a rung that compares nothing is
//! caught.

mod run;
mod slot;

use serde_json::{Value, json};

use super::types::{Case as Conversion, Rounding, Type};
use crate::error::Result;
use crate::gpu::cl::{ClContext, DeviceInfo};
use crate::ladder::config::{Config, Param, Tunable};
use crate::ladder::contest::{Ladder, Sizes};
use crate::ladder::measure::Sample;
use crate::ladder::rung::{Rung, Work};
use crate::threads::all_threads;
use crate::verify::Elements;

use run::Strategy;
use slot::{Device, Kernels};

/// The conversion: 32 bits to 32 bits, and nothing of it is open.
pub(super) const CONVERSION: Conversion =
    Conversion { from: Type::Float, to: Type::Int, saturates: true, rounding: Rounding::Nearest };
/// Widths of vectors; the same order as in the kernels.
pub(super) const WIDTHS: [u8; 6] = [1, 2, 3, 4, 8, 16];
/// Numbers that are made, run and compared at once: all widths divide it.
pub(super) const PART: usize = 48 * 21_845;
/// So many times as large is a part that many threads make.
pub(super) const MOST_PARTS: usize = 4;
/// The most numbers of a case: right ones are counted in 32 bits.
const MOST: u32 = 1 << 30;
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

    fn allows(&self, _: &Config<Self>, _: &DeviceInfo) -> bool {
        true
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
static RUNGS: [Rung<Code>; 12] = [
    Rung {
        id: "blocking",
        title: "Blocking",
        idea: "Write, run, read, compare for each width; each call waits.",
        work: Work::Kernels(&BLOCKING),
    },
    Rung {
        id: "mapped",
        title: "Mapped",
        idea: "Numbers are made, and results compared, in the device's own memory, without copies.",
        work: Work::Kernels(&MAPPED),
    },
    Rung {
        id: "non-blocking",
        title: "Non-blocking",
        idea: "All widths are enqueued at once; one is compared while the next one runs.",
        work: Work::Kernels(&NON_BLOCKING),
    },
    Rung {
        id: "double-buffered",
        title: "Double-buffered",
        idea: "The next numbers, and what is right for them, are made while these run.",
        work: Work::Kernels(&DOUBLE_BUFFERED),
    },
    Rung {
        id: "verified-on-device",
        title: "Verified on the device",
        idea: "A kernel compares; a word for each width comes back.",
        work: Work::Kernels(&VERIFIED),
    },
    Rung {
        id: "fused",
        title: "Fused",
        idea: "One kernel converts and compares; no result goes to memory.",
        work: Work::Kernels(&FUSED),
    },
    Rung {
        id: "all-widths",
        title: "All widths",
        idea: "One kernel for all widths: 16 wide, and halved down to scalars.",
        work: Work::Kernels(&ALL_WIDTHS),
    },
    Rung {
        id: "threads",
        title: "Threads",
        idea: "The same, and all cores compute what is right.",
        work: Work::Kernels(&THREADS),
    },
    Rung {
        id: "reference",
        title: "Reference alone",
        idea: "Making the numbers and what is right, on one thread: no device has a part in it.",
        work: Work::Host,
    },
    Rung {
        id: "reference-threads",
        title: "Reference, threads",
        idea: "The same on all cores.",
        work: Work::Host,
    },
    Rung {
        id: "compare-bytes",
        title: "Comparison, bytes",
        idea: "Comparing the results of all widths alone, byte by byte, on one thread: no device has a part in it.",
        work: Work::Host,
    },
    Rung {
        id: "compare-vectors",
        title: "Comparison, vectors",
        idea: "The same in vectors, as all rungs do it.",
        work: Work::Host,
    },
];

/// The ladder.
#[derive(Debug, Clone, Copy)]
pub struct HostStrategies;

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// No device has a part in it.
    Host(Host),
    /// Compiled kernels, and what is done with them.
    Kernels(Kernels, Strategy),
}

/// What the host does without a device.
#[derive(Debug, Clone, Copy)]
pub enum Host {
    /// Numbers and what is right, on so many threads.
    Reference(usize),
    /// The comparison.
    Compare {
        /// In vectors, else byte by byte.
        vectors: bool,
    },
}

/// What a case needs.
#[derive(Debug)]
pub struct Room {
    count: u32,
    /// Whether something else is wanted of some numbers than what is right.
    faults: bool,
    /// How many results of each width are right, between guards.
    output: Vec<u8>,
    guard: usize,
    device: Option<Device>,
}

/// Counts of right results.
#[derive(Debug, Clone, Copy)]
pub struct Counts;

impl Elements for Counts {
    const NAME: &'static str = "counts";
    const BYTES: usize = 4;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(u32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        format!("right results of width {}", WIDTHS.get(number).unwrap_or(&0))
    }
}

/// How many results of each width are the wanted ones: one of [`FAULTS`] is not, where faults are planted.
fn right(count: u32, faults: bool) -> u32 {
    let all = (count as usize).next_multiple_of(super::values::MULTIPLE);
    (if faults { all - all.div_ceil(FAULTS) } else { all }) as u32
}

/// The first number of each part, and how many there are: all have so many but the last.
fn parts(count: u32, part: usize) -> impl Iterator<Item = (u32, usize)> {
    (0..count).step_by(part).map(move |first| {
        let left = ((count - first) as usize).min(part);
        (first, left.next_multiple_of(super::values::MULTIPLE))
    })
}

impl Ladder for HostStrategies {
    type Case = u32;
    type Code = Code;
    type Built = Built;
    type Room = Room;
    type Elements = Counts;

    const NAME: &'static str = "conversions";
    const LIMIT: &'static str = "reference alone, on all cores";
    const LIMIT_FILE: &'static str = WIDTHS_FILE;
    const INPUTS: &'static [&'static str] = &["right", "some wanted wrong"];
    const TAKES: &'static [&'static str] = &["count"];
    const SIZES: &'static [&'static str] = &["65536", "1048576", "16777216"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<u32>, String> {
        let mut cases = Vec::new();
        for &count in sizes.count.unwrap_or(&[1 << 24]) {
            if !(1..=MOST).contains(&count) {
                return Err(format!("{count} is no --count of conversions: choose 1 to {MOST}"));
            }
            if !cases.contains(&count) {
                cases.push(count);
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code>] {
        &RUNGS
    }

    fn small(&self) -> Vec<u32> {
        // One, less and more than all widths divide, and more than two parts.
        vec![1, 47, 49, 1000, 2 * PART as u32 + 77]
    }

    fn title(&self, count: &u32) -> String {
        format!("{CONVERSION} of {count} floats")
    }

    fn json(&self, count: &u32) -> Value {
        json!({ "conversion": CONVERSION.to_string(), "count": count })
    }

    fn class(&self, _: &u32) -> &'static str {
        "any"
    }

    fn case(&self, json: &Value) -> Option<u32> {
        let count = json["count"].as_u64().and_then(|count| u32::try_from(count).ok());
        count.filter(|count| (1..=MOST).contains(count))
    }

    fn bytes(&self, count: &u32) -> f64 {
        // A number and a result for each width.
        8.0 * WIDTHS.len() as f64 * f64::from(*count)
    }

    fn operations(&self, count: &u32) -> f64 {
        WIDTHS.len() as f64 * f64::from(*count)
    }

    fn output_bytes(&self, _: &u32) -> usize {
        4 * WIDTHS.len()
    }

    fn memory(&self, _: &u32) -> usize {
        // Two slots with numbers, what is wanted and six results each, and the host's own.
        PART * 4 * (2 * (6 + 2 * MOST_PARTS) + 4 * MOST_PARTS)
    }

    fn supports(&self, device: &DeviceInfo, _: &u32) -> std::result::Result<(), String> {
        match device.max_allocation_bytes >= (MOST_PARTS * PART) as u64 * 4 {
            true => Ok(()),
            false => Err(format!("'{}' has no room for {} numbers.", device.name, MOST_PARTS * PART)),
        }
    }

    fn host(&self, rung: &Rung<Code>) -> Built {
        Built::Host(match rung.id {
            "compare-bytes" => Host::Compare { vectors: false },
            "compare-vectors" => Host::Compare { vectors: true },
            "reference" => Host::Reference(1),
            _ => Host::Reference(all_threads()),
        })
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        let Code { file, strategy } = *config.code();
        let names = strategy.kernels();
        let kernels = Kernels::compile(cl, file, names, config.get("GROUP") as usize)?;
        Ok(Built::Kernels(kernels, strategy))
    }

    fn compile_limit(&self, _: &ClContext) -> Result<Built> {
        Ok(Built::Host(Host::Reference(all_threads())))
    }

    fn room(&self, cl: Option<&ClContext>, count: &u32, guard: usize) -> Result<Room> {
        let output = crate::memory::zeroed(self.output_bytes(count) + 2 * guard)?;
        let largest = |part| (*count as usize).min(part).next_multiple_of(super::values::MULTIPLE);
        let device = cl.map(|cl| Device::new(cl, largest(PART), largest(MOST_PARTS * PART))).transpose()?;
        Ok(Room { count: *count, faults: false, output, guard, device })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        room.faults = input != Self::INPUTS[0];
        let right = right(room.count, room.faults);
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
        let Room { count, faults, output, guard, device } = room;
        let (right, sample) = run::run(built, *count, *faults, device.as_mut())?;
        let bytes = right.iter().flat_map(|right| right.to_le_bytes());
        output.iter_mut().skip(*guard).zip(bytes).for_each(|(to, from)| *to = from);
        Ok(sample)
    }

    fn elements(&self, _: &Room) -> Counts {
        Counts
    }
}
