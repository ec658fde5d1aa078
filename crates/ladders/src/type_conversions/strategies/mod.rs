//! The ladder of host strategies: many numbers are converted in all vector widths, and the results are compared with the
//! expected ones. The variants are strategies: they differ in how the host keeps the device busy. The output of a case is the
//! number of right results for each width.
//!
//! A variant generates the numbers, computes the expected results, runs the conversion, and compares. Its counts are checked
//! like any ladder's output. For one kind of input some expected results are altered on purpose, so that a variant that does
//! not compare is detected.

mod run;
mod slot;

use parking_lot::Mutex;
use std::ops::Range;

use serde_json::json;

use super::device::{options, work_items};
use super::types::{Case as Conversion, Rounding, Type};
use super::values::COUNT_MULTIPLE;
use base::device::{DeviceInfo, DeviceKind};
use base::error::Result;
use base::threads::{Threads, all_threads};
use base::verify::Elements;
use compute::config::{Config, Param};
use compute::plan::{self, group};
use compute::sample::Sample;
use compute::variant::Variant;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use opencl::cl::{self, ClContext};
use opencl::kernel::Value;

use run::HostBuffers;
use slot::DeviceBuffers;

/// The conversion of this ladder: `float` to `int`, saturating, so that all results are defined.
pub(super) const CONVERSION: Conversion =
    Conversion { from: Type::Float, to: Type::Int, saturates: true, rounding: Rounding::Nearest };
/// The vector widths, in the order of the kernels.
pub(super) const WIDTHS: [u8; 6] = [1, 2, 3, 4, 8, 16];
/// The count of numbers that are generated, converted and compared at once; all vector widths divide it.
pub(super) const PART_NUMBERS: usize = 48 * 21_845;
/// The count of numbers that are generated, converted and compared at once by variants in which each thread has parts of its
/// own.
pub(super) const THREAD_PART_NUMBERS: usize = 48 * 5461;
/// The maximum count of numbers in a case: all numbers of the source type.
const MAX_COUNT: u64 = 1 << 32;
/// The number of values after which the device's counters of right results are read and set to 0, because they have 32 bits.
/// Even the slowest variant takes only a few seconds for this many values, less than the timeout of a device.
const STRETCH_NUMBERS: u64 = 256 * PART_NUMBERS as u64;
/// The interval between expected results that are made wrong on purpose, in cases that test whether a variant finds wrong
/// results.
const FAULT_INTERVAL: usize = 997;

/// The strategy of a variant: the way in which the host keeps the device busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Copies numbers and results to and from the device, and waits for each copy. The host compares the results.
    Copied,
    /// Maps device memory into the host's memory. The host compares the results.
    Mapped {
        /// The number of parts of the numbers that are in flight at the same time. With two, the host generates one part while
        /// the device works on the other.
        slots: usize,
        /// The number of kernels that the host enqueues before it waits for the first of them.
        batch: usize,
    },
    /// Maps device memory into the host's memory. The device compares the results, and returns a count of right results for
    /// each vector width.
    Checked {
        /// True if each thread generates its own parts of the numbers; false if one thread generates all.
        threads: bool,
    },
}

/// A kernel file, its kernels and the strategy that uses them.
type Code = plan::Code<Launch, Strategy>;
type Program = plan::Program<Launch, Strategy>;
type Arg = plan::Arg<Launch, Strategy>;
type Pass = plan::Pass<Launch, Strategy>;

/// The values on which a launch depends: how many numbers are converted, the kind of the device, and its number of compute
/// units.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    count: usize,
    device: (DeviceKind, u32),
}

impl Launch {
    /// Returns the number of work-groups whose work-items convert `each` numbers at once. It is limited so that every work-item
    /// has numbers to convert, because each adds to the counts.
    fn groups(self, config: &Config<Code>, each: usize) -> [usize; 2] {
        let (kind, units) = self.device;
        let items = work_items(kind, units, self.count).min(self.count.div_ceil(each).max(1));
        [items.div_ceil(config.get("GROUP").max(1) as usize), 1]
    }
}

/// The argument for the numbers to convert.
const IN: Arg = Arg::Memory(0, &["float*"]);
/// The argument for the expected results.
const WANTED: Arg = Arg::Memory(1, &["int*"]);
/// The argument for the counts of right results, one for each width.
const RIGHT: Arg = Arg::Memory(2, &["uint*"]);
/// The argument for the count of numbers.
const COUNT: Arg = Arg::Value(&["uint"], |launch| Value::Uint(launch.count as u32));

/// Returns the launch of a kernel with these arguments.
const fn pass(kernel: &'static str, args: &'static [Arg]) -> Pass {
    Pass { kernel, args, local: group, groups: |config, launch| launch.groups(config, 1), work: None }
}

/// Returns the argument for the results of the width with the index `WIDTH`.
const fn out<const WIDTH: usize>() -> Arg {
    Arg::Memory(3 + WIDTH, &["int*"])
}

/// Returns the launch of a kernel that converts in the width with the index `WIDTH`.
const fn convert<const WIDTH: usize>(kernel: &'static str) -> Pass {
    pass(kernel, const { &[IN, out::<WIDTH>(), COUNT] })
}

/// Returns the launch of the kernel that compares the results of the width with the index `WIDTH`.
const fn compare<const WIDTH: usize>() -> Pass {
    let args = const {
        &[out::<WIDTH>(), WANTED, RIGHT, COUNT, Arg::Value(&["uint"], |_| Value::Uint(WIDTH as u32))]
    };
    pass("compare", args)
}

/// Returns the launch of a kernel that converts the numbers and compares the results.
const fn check(kernel: &'static str) -> Pass {
    pass(kernel, &[IN, WANTED, RIGHT, COUNT])
}

/// The launches of the kernels that convert, one for each vector width in [`WIDTHS`].
const CONVERT: &[Pass] = &[
    convert::<0>("convert1"),
    convert::<1>("convert2"),
    convert::<2>("convert3"),
    convert::<3>("convert4"),
    convert::<4>("convert8"),
    convert::<5>("convert16"),
];
/// The launches of the kernels that convert, one for each vector width, each followed by the launch of the kernel that compares
/// its results.
const CONVERT_AND_COMPARE: &[Pass] = &[
    convert::<0>("convert1"),
    compare::<0>(),
    convert::<1>("convert2"),
    compare::<1>(),
    convert::<2>("convert3"),
    compare::<2>(),
    convert::<3>("convert4"),
    compare::<3>(),
    convert::<4>("convert8"),
    compare::<4>(),
    convert::<5>("convert16"),
    compare::<5>(),
];
/// The launches of the kernels that both convert and compare, one for each vector width in [`WIDTHS`].
const CHECK: &[Pass] =
    &[check("check1"), check("check2"), check("check3"), check("check4"), check("check8"), check("check16")];
/// The launch of the kernel that converts in all vector widths and compares.
const CHECK_ALL: &[Pass] =
    &[Pass { groups: |config, launch| launch.groups(config, 16), ..check("check_all") }];

/// The name of the kernel file with a kernel for each vector width, and one that compares results.
const WIDTHS_FILE: &str = "conversions/02_widths.cl";
/// The name of the kernel file with kernels that convert and compare.
const CHECKED_FILE: &str = "conversions/03_checked.cl";

/// The parameter for the size of the work-groups.
const GROUP: Param = Param::new("GROUP", 1, 256, &[64, 128, 256, 512]);

/// Describes a kernel file with these launches.
const fn code(file: &'static str, passes: &'static [Pass], strategy: Strategy) -> Code {
    let options = |device: &DeviceInfo| {
        format!("{} -DMODE={}", options(device, CONVERSION.from, CONVERSION.to), CONVERSION.mode())
    };
    Code { options, ..Code::with(file, passes, &[GROUP], strategy) }
}

/// The variants of the ladder of host strategies, in the order in which tables list them.
static VARIANTS: [Variant<Code, Host>; 12] = [
    Variant::kernels(
        "blocking",
        "Blocking",
        "Write, run, read, compare for each width; each call waits.",
        &code(WIDTHS_FILE, CONVERT, Strategy::Copied),
    ),
    Variant::kernels(
        "mapped",
        "Mapped",
        "Numbers are made, and results compared, in memory that the device reaches by itself.",
        &code(WIDTHS_FILE, CONVERT, Strategy::Mapped { slots: 1, batch: 1 }),
    ),
    Variant::kernels(
        "non-blocking",
        "Non-blocking",
        "All widths are enqueued at once; one is compared while the next one runs.",
        &code(WIDTHS_FILE, CONVERT, Strategy::Mapped { slots: 1, batch: WIDTHS.len() }),
    ),
    Variant::kernels(
        "double-buffered",
        "Double-buffered",
        "The next numbers, and what is right for them, are made while these run.",
        &code(WIDTHS_FILE, CONVERT, Strategy::Mapped { slots: 2, batch: WIDTHS.len() }),
    ),
    Variant::kernels(
        "verified-on-device",
        "Verified on the device",
        "A kernel compares; a word for each width comes back.",
        &code(WIDTHS_FILE, CONVERT_AND_COMPARE, Strategy::Checked { threads: false }),
    ),
    Variant::kernels(
        "fused",
        "Fused",
        "One kernel converts and compares; no result goes to memory.",
        &code(CHECKED_FILE, CHECK, Strategy::Checked { threads: false }),
    ),
    Variant::kernels(
        "all-widths",
        "All widths",
        "One kernel for all widths: 16 wide, and halved down to scalars.",
        &code(CHECKED_FILE, CHECK_ALL, Strategy::Checked { threads: false }),
    ),
    Variant::kernels(
        "threads",
        "Threads",
        "The same, and each core makes parts of its own and lets the device begin with them.",
        &code(CHECKED_FILE, CHECK_ALL, Strategy::Checked { threads: true }),
    ),
    Variant::host(
        "reference",
        "Reference alone",
        "Making the numbers and what is right, on one thread: no device has a part in it.",
        Host::Reference(Threads::One),
    ),
    Variant::host(
        "reference-threads",
        "Reference, threads",
        "The same on all cores.",
        Host::Reference(Threads::All),
    ),
    Variant::host(
        "compare-bytes",
        "Comparison, bytes",
        "Comparing the results of all widths alone, byte by byte, on one thread: no device has a part in it.",
        Host::Compare { vectors: false },
    ),
    Variant::host(
        "compare-vectors",
        "Comparison, vectors",
        "The same in vectors, as all variants do it.",
        Host::Compare { vectors: true },
    ),
];

/// The ladder of host strategies: of the ways in which the host keeps the device busy while many numbers are converted and the
/// results are compared with the expected ones.
#[derive(Debug, Clone, Copy)]
pub struct HostStrategies;

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built {
    /// A variant that runs on the host alone.
    Host(Host),
    /// The compiled kernels, which one thread at a time may use.
    Kernels(Box<Mutex<Program>>),
}

/// A variant that runs on the host alone, to measure what the host's part of the test costs.
#[derive(Debug, Clone, Copy)]
pub enum Host {
    /// Generates numbers and computes the expected results, on these threads.
    Reference(Threads),
    /// Compares results on one thread.
    Compare {
        /// True if results are compared with vector instructions, false if byte by byte.
        vectors: bool,
    },
}

/// The memory for the numbers and the results of a case.
#[derive(Debug)]
pub struct Buffers {
    count: u64,
    /// True if some expected results are made wrong on purpose, to test that the variant finds them.
    faults: bool,
    /// The counts of right results for each vector width, between guards (known bytes that reveal writes outside the output).
    output: Vec<u8>,
    /// The number of bytes in each guard.
    guard: usize,
    host: HostBuffers,
    device: Option<DeviceBuffers>,
}

/// The elements of the output: a count of right results for each width.
#[derive(Debug, Clone, Copy)]
pub struct Counts;

impl Elements for Counts {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| u64::from_le_bytes(bytes) as f64)
    }

    fn position(&self, number: usize) -> String {
        format!("right results of width {}", WIDTHS.get(number).unwrap_or(&0))
    }
}

/// Returns how many results of each width a variant must count as right in this range of numbers. `faults` is true if some
/// expected results are made wrong on purpose.
fn count_right(numbers: &Range<u64>, faults: bool) -> u64 {
    let all = (numbers.end - numbers.start).next_multiple_of(COUNT_MULTIPLE as u64);
    let before = |end: u64| end.div_ceil(FAULT_INTERVAL as u64);
    let wrong = before(numbers.start + all) - before(numbers.start);
    if faults { all - wrong } else { all }
}

/// Divides the first `count` numbers into ranges whose right results the device can count in 32 bits.
fn stretches(count: u64) -> impl Iterator<Item = Range<u64>> {
    (0..count).step_by(STRETCH_NUMBERS as usize).map(move |first| first..count.min(first + STRETCH_NUMBERS))
}

/// Divides a range of numbers into parts of `part` numbers. Returns the first number of each part, and its length rounded up to
/// a multiple of all vector widths.
fn parts(numbers: &Range<u64>, part: usize) -> impl Iterator<Item = (u64, usize)> + use<> {
    let end = numbers.end;
    numbers.clone().step_by(part).map(move |first| {
        let left = (end - first).min(part as u64) as usize;
        (first, left.next_multiple_of(COUNT_MULTIPLE))
    })
}

/// The size of the output, in bytes.
const OUTPUT_BYTES: usize = 8 * WIDTHS.len();

impl Ladder for HostStrategies {
    type Case = u64;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Buffers = Buffers;

    fn info(&self) -> &LadderInfo {
        &const {
            LadderInfo {
                name: "conversions",
                peaks: &[PeakKernel { name: "reference alone, on all cores", note: None, computes: false }],
                peak_file: WIDTHS_FILE,
                inputs: &["right", "some wanted wrong"],
                options: &["count"],
                sizes: &["65536", "1048576", "16777216"],
                ..LadderInfo::DEFAULT
            }
        }
    }

    fn cases(&self, sizes: &Sizes) -> Result<Vec<u64>, String> {
        sizes.cases("count", [1_u64 << 24], |[count]| match count {
            1..=MAX_COUNT => Ok(count),
            _ => Err(format!("{count} is no --count of conversions: choose 1 to {MAX_COUNT}")),
        })
    }

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &VARIANTS
    }

    /// Returns small cases for checks: one number, less and more than a multiple of all vector widths, and more than two parts.
    fn small(&self, _: &Built, _: &u64) -> Vec<u64> {
        vec![1, 47, 49, 1000, 2 * PART_NUMBERS as u64 + 77]
    }

    fn describe(&self, count: &u64) -> CaseInfo {
        let results = WIDTHS.len() as f64 * *count as f64;
        CaseInfo {
            title: format!("{CONVERSION} of {count} floats"),
            json: json!({ "conversion": CONVERSION.to_string(), "count": count }),
            class: "any",
            // A number and a result for each width.
            bytes: 8.0 * results,
            operations: results,
            output: OUTPUT_BYTES,
            // Two slots with numbers, expected results and six actual results each, and the host's own; two small slots for
            // each thread.
            memory: PART_NUMBERS * 4 * (2 * (6 + 2) + 4)
                + THREAD_PART_NUMBERS * 4 * (2 + 1) * 2 * all_threads(),
            ..CaseInfo::default()
        }
    }

    fn supports(&self, device: &cl::Device, _: Option<&Code>, _: &u64) -> Result<(), String> {
        match device.info.max_allocation_bytes >= PART_NUMBERS as u64 * 4 {
            true => Ok(()),
            false => Err(format!("'{}' has no memory for {PART_NUMBERS} numbers.", device.info.name)),
        }
    }

    fn build(&self, part: Part<Code, Host>) -> Result<Built> {
        match part {
            Part::Host(host) => Ok(Built::Host(host)),
            Part::Peak(..) => Ok(Built::Host(Host::Reference(Threads::All))),
            Part::Kernels(cl, config) => {
                Ok(Built::Kernels(Box::new(Mutex::new(Program::compile(cl, config)?))))
            }
        }
    }

    fn allocate(&self, cl: Option<&ClContext>, count: &u64, guard: usize) -> Result<Buffers> {
        let output = base::memory::zeroed(OUTPUT_BYTES + 2 * guard)?;
        let largest = ((*count).min(PART_NUMBERS as u64) as usize).next_multiple_of(COUNT_MULTIPLE);
        let device = cl.map(|cl| DeviceBuffers::new(cl, largest, all_threads())).transpose()?;
        Ok(Buffers { count: *count, faults: false, output, guard, host: HostBuffers::default(), device })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        buffers.faults = input != self.info().inputs[0];
        let right = count_right(&(0..buffers.count), buffers.faults);
        let bytes = WIDTHS.iter().flat_map(|_| right.to_le_bytes()).collect();
        Ok(Expected::new(bytes, Counts))
    }

    fn write(&self, _: &Built, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        buffers.output.clone_from_slice(bytes);
        Ok(())
    }

    fn read(&self, _: &Built, buffers: &Buffers) -> Result<Output> {
        // The numbers are generated in each run, so there are no inputs that could change.
        Ok(Output { bytes: buffers.output.clone(), changed: 0 })
    }

    fn run(&self, built: &Built, buffers: &mut Buffers) -> Result<Sample> {
        let (right, sample) = run::run(built, buffers)?;
        let bytes = right.iter().flat_map(|right| right.to_le_bytes());
        buffers.output.iter_mut().skip(buffers.guard).zip(bytes).for_each(|(to, from)| *to = from);
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_and_parts_cover_each_number_and_each_fault_once() {
        // The device's counts fit into their 32 bits.
        assert!(STRETCH_NUMBERS < u64::from(u32::MAX));
        for count in [
            1,
            49,
            STRETCH_NUMBERS - 1,
            STRETCH_NUMBERS,
            STRETCH_NUMBERS + 1,
            3 * STRETCH_NUMBERS + 1000,
            MAX_COUNT,
        ] {
            for part in [PART_NUMBERS, THREAD_PART_NUMBERS] {
                let mut next = 0;
                for stretch in stretches(count) {
                    for (first, numbers) in parts(&stretch, part) {
                        assert_eq!(first, next, "{count}");
                        next += numbers as u64;
                    }
                }
                assert_eq!(next, count.next_multiple_of(COUNT_MULTIPLE as u64), "{count}");
            }
            for faults in [false, true] {
                let all: u64 = stretches(count).map(|stretch| count_right(&stretch, faults)).sum();
                assert_eq!(all, count_right(&(0..count), faults), "{count}");
            }
        }
        assert_eq!((count_right(&(0..1), true), count_right(&(0..1000), true)), (47, 1008 - 2));
    }
}
