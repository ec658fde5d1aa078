//! Runs the conversions from one type to another on a device, in all forms: as an assignment, and as a `convert_` function of
//! each width. The output of each form lies between canaries (known bytes, which reveal writes outside the output) and is first
//! filled with junk; after the run it is compared with the expected results.

use std::time::Instant;

use ocl::ffi;

use super::compare::{Failure, JUNK_WORD, Numbers, wrote_outside};
use super::state::{Times, add_elapsed};
use super::types::{Case, Form, Type, Widths};
use super::values::{COUNT_MULTIPLE, Values};
use base::device::{DeviceInfo, DeviceKind};
use base::error::{Error, Result};
use opencl::cl::{self, Buffer, ClContext, Device, Status, enqueue_unmap, failed, flush};
use opencl::kernel::{Kernel, NdRange, Value, enqueue, expect_types};
use opencl::memory::allocation_flags;
use opencl::program;

/// The name of the kernel file with the conversions in all forms.
pub const KERNEL_FILE: &str = "conversions/01_all_forms.cl";
/// The minimum size in bytes of a canary: an area of known bytes before, between or after the outputs that reveals writes
/// outside them. Outputs are aligned to this size.
const MIN_CANARY_BYTES: usize = 4096;
/// The maximum count of numbers that a work-item converts in one launch. A number takes at most four rounds of a kernel's
/// loops, and all loops of a work-item together may end after 65,535 rounds without an error (rusticl 22.3).
const MAX_NUMBERS_PER_ITEM: usize = 4096;

/// The floating-point capabilities of a device.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// The value of `CL_DEVICE_HALF_FP_CONFIG`; 0 if the device has no `half`.
    half: u64,
    /// The value of `CL_DEVICE_SINGLE_FP_CONFIG`.
    float: u64,
    /// The value of `CL_DEVICE_DOUBLE_FP_CONFIG`; 0 if the device has no `double`.
    double: u64,
}

impl Abilities {
    /// Queries the floating-point capabilities of a device.
    pub fn of(device: &Device) -> Self {
        let ask = |what: u32| device.number(what).unwrap_or_default();
        let has = |name: &str| device.info.extensions.iter().any(|extension| extension == name);
        let listed = |name: &str, what: u32| if has(name) { ask(what) } else { 0 };
        Self {
            half: listed("cl_khr_fp16", 0x1033),
            float: ask(0x101b),
            double: listed("cl_khr_fp64", 0x1032),
        }
    }

    /// Returns the types that the device supports.
    pub fn types(self) -> Vec<Type> {
        let has = |ty: &Type| match ty {
            Type::Half => self.half != 0,
            Type::Double => self.double != 0,
            _ => true,
        };
        Type::ALL.into_iter().filter(has).collect()
    }

    /// Returns true if the device may replace subnormal numbers of a type by zeros, because it does not report `CL_FP_DENORM`.
    pub fn flushes(self, ty: Type) -> bool {
        let config = match ty {
            Type::Half => self.half,
            Type::Float => self.float,
            Type::Double => self.double,
            _ => return false,
        };
        config & 1 == 0
    }
}

/// The compiled kernels that convert numbers from one type to another.
#[derive(Debug)]
pub(crate) struct Program {
    /// The kernel of each case, or the error of its compilation.
    pub kernels: Vec<(Case, Result<Kernel>)>,
    /// The vector widths for which the program has conversions.
    pub widths: Widths,
}

impl Program {
    /// Compiles kernels for `cases`, which all have the same types. If the cases do not compile together, each is compiled
    /// alone.
    pub(crate) fn compile(cl: &ClContext, cases: &[Case], widths: Widths) -> Result<Self> {
        let Some(&Case { from, to, .. }) = cases.first() else {
            return Err(Error::new("No conversion was asked for.", "", ""));
        };
        let mut options = options(&cl.device.info, from, to);
        if widths != Widths::ALL {
            options.push_str(&format!(" -DWIDTHS={}", widths.0));
        }
        let together = (cases.len() > 1).then(|| program::build(cl, KERNEL_FILE, &options));
        let kernel = |&case: &Case| {
            let made = match &together {
                Some(Ok(program)) => kernel(program, case),
                _ => {
                    let implicit = case.forms(Widths::ALL).contains(&Form::Implicit);
                    // These options leave out all kernels except that of this case.
                    let only =
                        format!(" -DONLY={}{}", case.mode(), if implicit { " -DIMPLICIT" } else { "" });
                    program::build(cl, KERNEL_FILE, &(options.clone() + &only))
                        .and_then(|program| kernel(&program, case))
                }
            };
            (case, made)
        };
        Ok(Self { kernels: cases.iter().map(kernel).collect(), widths })
    }
}

fn kernel(program: &cl::Program, case: Case) -> Result<Kernel> {
    let name = format!("run{}", case.mode());
    let kernel = Kernel::new(program, &name)
        .map_err(|e| failed(&format!("The kernel {name} in {KERNEL_FILE} could not be prepared."), &e))?;
    // Drivers report unsigned types as `uint*` or as `unsigned int*`, for example.
    let names = |ty: Type| {
        let long = ty.name().strip_prefix('u').map_or(String::new(), |rest| format!("unsigned {rest}*"));
        [format!("{}*", ty.name()), long]
    };
    let (from, to, count) = (names(case.from), names(case.to), ["uint", "unsigned int"]);
    expect_types(&kernel, KERNEL_FILE, &[&[&from[0], &from[1]], &[&to[0], &to[1]], &count, &count])?;
    Ok(kernel)
}

/// Returns the compiler options for conversions from one type to another on a device.
pub(crate) fn options(device: &DeviceInfo, from: Type, to: Type) -> String {
    let mut options = format!(
        "-DFROM={} -DTO={} -DWHOLE={} -DRUNS={}",
        from.name(),
        to.name(),
        u8::from(to.is_integer()),
        u8::from(device.kind == DeviceKind::Cpu)
    );
    for (of, word) in [(Type::Half, " -DHALF"), (Type::Double, " -DDOUBLE")] {
        if from == of || to == of {
            options.push_str(word);
        }
    }
    options
}

/// The layout of the outputs of all forms, with canaries before, between and after them.
#[derive(Debug, Clone, Copy)]
struct OutputLayout {
    /// The size of one output in bytes.
    bytes: usize,
    /// The number of bytes from the beginning of one output to the beginning of the next.
    stride: usize,
}

impl OutputLayout {
    /// Returns the layout for outputs of `count` numbers of the type `to`.
    fn new(count: usize, to: Type) -> Self {
        let bytes = count * to.bytes();
        Self { bytes, stride: bytes.next_multiple_of(MIN_CANARY_BYTES) + MIN_CANARY_BYTES }
    }

    /// Returns the size of the buffer with all outputs and canaries, in bytes.
    fn total_bytes(self) -> usize {
        MIN_CANARY_BYTES + Form::ALL.len() * self.stride
    }
}

/// Device buffers for the numbers to convert and their results, for tests of conversions between any types.
#[derive(Debug)]
pub(crate) struct TestBuffers {
    cl: ClContext,
    abilities: Abilities,
    numbers: Numbers,
    input: Option<Buffer>,
    output: Option<Buffer>,
}

/// The first sentence of the error if a conversion cannot be run.
const CONVERSION_FAILED: &str = "Conversions could not be run on the device.";
/// The hint for the user, after an error of the program, to test a conversion alone.
const RETRY_HINT: &str = "Try the conversion again alone, with --type.";

impl TestBuffers {
    /// Creates test buffers. The device memory is allocated when it is first used.
    pub(crate) fn new(cl: &ClContext) -> Self {
        let abilities = Abilities::of(&cl.device);
        Self { cl: cl.clone(), abilities, numbers: Numbers::default(), input: None, output: None }
    }

    /// Returns the buffer in `slot` if it has at least `bytes` bytes; otherwise allocates a larger one in its place.
    fn reserve(cl: &ClContext, slot: &mut Option<Buffer>, bytes: usize) -> Result<Buffer> {
        if let Some(buffer) = slot.as_ref().filter(|buffer| buffer.len() >= bytes) {
            return Ok(buffer.clone());
        }
        *slot = None;
        let buffer = Buffer::new(&cl.context, allocation_flags(cl), bytes)
            .map_err(|e| failed("Memory for conversions could not be had on the device.", &e))?;
        Ok(slot.insert(buffer).clone())
    }

    /// Generates `count` of the numbers in `values` from index `first` on, and uploads them. `count` is a multiple of
    /// [`COUNT_MULTIPLE`].
    pub(crate) fn load(&mut self, values: &Values, first: u64, count: usize) -> Result<()> {
        let input = &mut self.numbers.input;
        values.fill(first, count, input);
        let buffer = Self::reserve(&self.cl, &mut self.input, input.len())?;
        buffer.write(&self.cl.queue, input).map_err(|e| failed(CONVERSION_FAILED, &e))
    }

    /// Runs a case on the loaded numbers in all forms and compares the results with the expected ones, which are computed while
    /// the device works. Returns the first failure; `None` if all results are right. Adds the time of each stage to `times`.
    pub(crate) fn check(
        &mut self,
        kernel: &Kernel,
        (case, widths): (Case, Widths),
        times: &mut Times,
    ) -> Result<Option<Failure>> {
        let mut began = Instant::now();
        let count = self.numbers.input.len() / case.from.bytes();
        debug_assert_eq!(count % COUNT_MULTIPLE, 0);
        let layout = OutputLayout::new(count, case.to);
        let output = Self::reserve(&self.cl, &mut self.output, layout.total_bytes())?;
        let none = || Error::new(CONVERSION_FAILED, "No numbers were brought to it.", RETRY_HINT);
        let from = self.input.as_ref().ok_or_else(none)?;
        let whole = |e: Status| failed(CONVERSION_FAILED, &e);
        let first = output.part(MIN_CANARY_BYTES, layout.total_bytes() - MIN_CANARY_BYTES).map_err(whole)?;
        let queue = &self.cl.queue;
        let stride = (layout.stride / case.to.bytes()) as u32;
        kernel.set(0, from.mem()).map_err(whole)?;
        kernel.set(1, first.mem()).map_err(whole)?;
        kernel.set(2, Value::Uint(count as u32)).map_err(whole)?;
        kernel.set(3, Value::Uint(stride)).map_err(whole)?;
        let junk = output.enqueue_fill(queue, &JUNK_WORD.to_ne_bytes(), layout.total_bytes());
        drop(junk.map_err(whole)?);
        let (items, group) = work_size(&self.cl.device.info, count);
        // SAFETY: the arguments are set, their types were compared, and the kernel stays within `count` numbers of each form.
        let enqueued = unsafe { enqueue(queue, kernel, NdRange::line(items, group), &[]) };
        // The kernel must not keep these buffers alive.
        kernel.forget_memory();
        drop(enqueued.map_err(whole)?);
        flush(queue)?;
        add_elapsed(&mut began, &mut times.device);
        self.numbers.convert(case);
        add_elapsed(&mut began, &mut times.reference);
        let mapped = output.enqueue_map(queue, ffi::CL_MAP_READ, layout.total_bytes());
        let (mapped, event) = mapped.map_err(whole)?;
        event.wait_for().map_err(whole)?;
        // SAFETY: the mapping is complete and has this many bytes.
        let got = unsafe { std::slice::from_raw_parts(mapped.as_ptr(), layout.total_bytes()) };
        add_elapsed(&mut began, &mut times.device);
        let failure = self.compare((case, widths), layout, got);
        add_elapsed(&mut began, &mut times.compare);
        drop(enqueue_unmap(queue, output.mem(), mapped).map_err(whole)?);
        Ok(failure)
    }

    /// Compares the outputs of a case, which are in `got`, with the expected results: one output for each form (a `convert_`
    /// function of each of `widths`, or an assignment). Then verifies that the canaries and the outputs of other forms still
    /// have the bytes with which the memory was filled before the run (`JUNK_WORD`). Returns the first failure; `None` if all
    /// is right.
    fn compare(&self, (case, widths): (Case, Widths), layout: OutputLayout, got: &[u8]) -> Option<Failure> {
        let flushes = |ty| self.abilities.flushes(ty);
        let (forms, start) = (case.forms(widths), |index: usize| MIN_CANARY_BYTES + index * layout.stride);
        for (index, form) in forms.iter().enumerate() {
            let part = &got[start(index)..][..layout.bytes];
            if let Some(failure) = self.numbers.compare((case, *form), part, &flushes) {
                return Some(failure);
            }
        }
        // The canaries before the first output and after each output. After the last output, the outputs of unused forms are
        // compared as well.
        (0..=forms.len()).find_map(|gap| {
            let from = if gap == 0 { 0 } else { start(gap - 1) + layout.bytes };
            let to = if gap == forms.len() { layout.total_bytes() } else { start(gap) };
            let changed = changed_junk_bytes(&got[from..to], from);
            forms.get(gap.saturating_sub(1)).filter(|_| changed > 0).map(|form| wrote_outside(*form, changed))
        })
    }
}

/// Returns the number of work-items of a launch, and that of a work-group.
fn work_size(device: &DeviceInfo, count: usize) -> (usize, usize) {
    let items = work_items(device.kind, device.units, count).min(count / COUNT_MULTIPLE).max(1);
    if device.kind == DeviceKind::Cpu {
        return (items, 1);
    }
    let group = device.max_work_group_size.clamp(1, 256);
    (items.next_multiple_of(group), group)
}

/// Returns the number of work-items that convert `count` numbers together: as many as keep a device with `units` compute units
/// busy, and more if each would have too many numbers.
pub(super) fn work_items(kind: DeviceKind, units: u32, count: usize) -> usize {
    // A CPU gets a few ranges of numbers for each core.
    let per_unit = if kind == DeviceKind::Cpu { 4 } else { 2048 };
    (units.max(1) as usize * per_unit).max(count.div_ceil(MAX_NUMBERS_PER_ITEM))
}

/// Returns the number of bytes in `bytes` that differ from those with which the buffer was filled before the run (`JUNK_WORD`).
/// `bytes` begin `from` bytes after the beginning of the buffer.
fn changed_junk_bytes(bytes: &[u8], from: usize) -> u64 {
    let junk = JUNK_WORD.to_ne_bytes();
    let expected: [u8; 64] = std::array::from_fn(|at| junk[(from + at) % 4]);
    let of_block = |block: &[u8]| match block == &expected[..block.len()] {
        true => 0,
        false => block.iter().zip(&expected).filter(|(byte, junk)| byte != junk).count() as u64,
    };
    bytes.chunks(expected.len()).map(of_block).sum()
}

#[cfg(test)]
mod tests {
    use super::super::state::PART_NUMBERS;
    use super::*;

    #[test]
    fn loops_of_a_work_item_stay_short() {
        let forms = [1, 1, 2, 3, 4, 8, 16]; // of the widths and of the assignment
        for kind in [DeviceKind::Cpu, DeviceKind::Gpu, DeviceKind::Accelerator] {
            for units in [0, 1, 2, 64] {
                let device = DeviceInfo { kind, units, ..DeviceInfo::made_up() };
                for count in
                    [1, 47, 999, 1 << 20, PART_NUMBERS].map(|n: usize| n.next_multiple_of(COUNT_MULTIPLE))
                {
                    let (items, group) = work_size(&device, count);
                    let rounds: usize = forms.iter().map(|width| (count / width).div_ceil(items)).sum();
                    assert!(rounds <= 16_384, "{kind:?}, {units} units, {count} numbers: {rounds} rounds");
                    assert!(items % group == 0 && items > 0, "{kind:?}, {units} units, {count} numbers");
                }
            }
        }
    }
}
