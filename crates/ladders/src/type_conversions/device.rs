//! A device's conversions of one source and destination. In: types, numbers. Out: the results of every form, each among
//! canaries and over junk, compared with what is right.

use std::time::Instant;

use ocl::ffi;

use super::compare::{Failure, JUNK, Wanted, outside};
use super::trial::{Times, clock};
use super::types::{Case, Form, Type, Widths};
use super::values::MULTIPLE;
use base::error::{Error, Result};
use opencl::cl::{self, Buffer, ClContext, Device, DeviceInfo, Status, enqueue_unmap, failed, flush};
use opencl::kernel::{Kernel, Value, enqueue, expect_types};
use opencl::memory::new_memory;
use opencl::program;

/// The kernels.
pub const FILE: &str = "conversions/01_all_forms.cl";
/// Bytes of the canaries before, between and after the outputs, to which these are aligned as well.
const CANARY: usize = 4096;

/// What a device can do with numbers.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// `CL_DEVICE_HALF_FP_CONFIG`, 0 where it has no `half`.
    half: u64,
    /// `CL_DEVICE_SINGLE_FP_CONFIG`
    float: u64,
    /// `CL_DEVICE_DOUBLE_FP_CONFIG`, 0 where it has no `double`.
    double: u64,
}

impl Abilities {
    /// What the device says.
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

    /// The types that the device has.
    pub fn types(self) -> Vec<Type> {
        let has = |of: &Type| match of {
            Type::Half => self.half != 0,
            Type::Double => self.double != 0,
            _ => true,
        };
        Type::ALL.into_iter().filter(has).collect()
    }

    /// Whether it may take subnormal numbers of a type for zeros: `CL_FP_DENORM` is missing.
    pub fn flushes(self, of: Type) -> bool {
        let config = match of {
            Type::Half => self.half,
            Type::Float => self.float,
            Type::Double => self.double,
            _ => return false,
        };
        config & 1 == 0
    }
}

/// Compiled conversions of one source and destination.
#[derive(Debug)]
pub(crate) struct Program {
    kernels: Vec<(Case, Kernel)>,
    from: Type,
    to: Type,
    /// The forms that they are compiled in.
    pub(crate) widths: Widths,
}

impl Program {
    /// Compiles these cases, which have one source and destination. Where they do not build together, each is tried alone:
    /// those that do not build are returned with the reason.
    pub(crate) fn compile(
        cl: &ClContext,
        cases: &[Case],
        widths: Widths,
    ) -> Result<(Self, Vec<(Case, Error)>)> {
        let Some(&Case { from, to, .. }) = cases.first() else {
            return Err(Error::new("No conversion was asked for.", "", ""));
        };
        let source = program::source(FILE)?;
        let mut options = options(&cl.device.info, from, to);
        if widths != Widths::ALL {
            options.push_str(&format!(" -DWIDTHS={}", widths.bits()));
        }
        let (mut kernels, mut failures) = (Vec::new(), Vec::new());
        let together = (cases.len() > 1).then(|| program::build(cl, FILE, &source, &options));
        for &case in cases {
            let made = match &together {
                Some(Ok(program)) => kernel(program, case),
                _ => program::build(cl, FILE, &source, &format!("{options}{}", alone(case)))
                    .and_then(|program| kernel(&program, case)),
            };
            match made {
                Ok(kernel) => kernels.push((case, kernel)),
                Err(error) => failures.push((case, error)),
            }
        }
        Ok((Self { kernels, from, to, widths }, failures))
    }

    /// The kernel of a case.
    ///
    /// # Errors
    /// When the case is none of those that were compiled: what was not run must not pass for right.
    fn of(&self, case: Case) -> Result<&Kernel> {
        let kernel = self.kernels.iter().find(|(of, _)| *of == case).map(|(_, kernel)| kernel);
        kernel.ok_or_else(|| Error::new(WHAT, format!("There is no kernel for {case}."), AGAIN))
    }
}

/// What leaves all kernels out but that of one case.
fn alone(case: Case) -> String {
    let implicit = if case.forms(Widths::ALL).contains(&Form::Implicit) { " -DIMPLICIT" } else { "" };
    format!(" -DONLY={}{implicit}", case.mode())
}

fn kernel(program: &cl::Program, case: Case) -> Result<Kernel> {
    let name = format!("run{}", case.mode());
    let kernel = Kernel::new(program, &name)
        .map_err(|e| failed(&format!("The kernel {name} in {FILE} could not be prepared."), &e))?;
    // Drivers call them so or so.
    let names = |of: Type| {
        let long = of.name().strip_prefix('u').map_or(String::new(), |rest| format!("unsigned {rest}*"));
        [format!("{}*", of.name()), long]
    };
    let (from, to, count) = (names(case.from), names(case.to), ["uint", "unsigned int"]);
    expect_types(&kernel, FILE, &[&[&from[0], &from[1]], &[&to[0], &to[1]], &count, &count])?;
    Ok(kernel)
}

/// What the kernels are told of types and device.
pub(crate) fn options(device: &DeviceInfo, from: Type, to: Type) -> String {
    let mut options = format!(
        "-DFROM={} -DTO={} -DWHOLE={} -DRUNS={}",
        from.name(),
        to.name(),
        u8::from(to.is_whole()),
        u8::from(device.kind == opencl::cl::DeviceKind::Cpu)
    );
    for (of, word) in [(Type::Half, " -DHALF"), (Type::Double, " -DDOUBLE")] {
        if from == of || to == of {
            options.push_str(word);
        }
    }
    options
}

/// How the outputs lie: one after the other with canaries before, between and after them.
#[derive(Debug, Clone, Copy)]
struct Strides {
    /// Bytes of one.
    bytes: usize,
    /// From the beginning of one to that of the next.
    apart: usize,
}

impl Strides {
    fn new(count: usize, to: Type) -> Self {
        let bytes = count * to.bytes();
        Self { bytes, apart: bytes.next_multiple_of(CANARY) + CANARY }
    }

    fn all(self) -> usize {
        CANARY + Form::ALL.len() * self.apart
    }
}

/// Memory on a device for conversions of any types.
#[derive(Debug)]
pub(crate) struct Memory {
    cl: ClContext,
    abilities: Abilities,
    input: Option<Buffer>,
    output: Option<Buffer>,
}

const WHAT: &str = "Conversions could not be run on the device.";
const AGAIN: &str = "Try the conversion again alone, with --type.";

impl Memory {
    /// None is taken yet.
    pub(crate) fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), abilities: Abilities::of(&cl.device), input: None, output: None }
    }

    /// A buffer of at least so many bytes: the one that is there, or a new one.
    fn at_least(cl: &ClContext, slot: &mut Option<Buffer>, bytes: usize) -> Result<Buffer> {
        if let Some(buffer) = slot.as_ref().filter(|buffer| buffer.len() >= bytes) {
            return Ok(buffer.clone());
        }
        *slot = None;
        let buffer = Buffer::new(&cl.context, new_memory(cl), bytes)
            .map_err(|e| failed("Memory for conversions could not be had on the device.", &e))?;
        Ok(slot.insert(buffer).clone())
    }

    /// Brings the numbers that are converted next. Their count is a multiple of [`MULTIPLE`].
    pub(crate) fn load(&mut self, input: &[u8]) -> Result<()> {
        let buffer = Self::at_least(&self.cl, &mut self.input, input.len())?;
        buffer.write(&self.cl.queue, input).map_err(|e| failed(WHAT, &e))
    }

    /// Runs a case on the loaded numbers in all its forms, and compares them. `wanted` is computed meanwhile.
    pub(crate) fn check(
        &mut self,
        program: &Program,
        case: Case,
        input: &[u8],
        wanted: &mut Wanted,
        times: &mut Times,
    ) -> Result<Option<Failure>> {
        let mut began = Instant::now();
        let kernel = program.of(case)?;
        let count = input.len() / program.from.bytes();
        debug_assert_eq!(count % MULTIPLE, 0);
        let strides = Strides::new(count, program.to);
        let output = Self::at_least(&self.cl, &mut self.output, strides.all())?;
        let none = || Error::new(WHAT, "No numbers were brought to it.", AGAIN);
        let from = self.input.as_ref().ok_or_else(none)?;
        let whole = |e: Status| failed(WHAT, &e);
        let first = output.part(CANARY, strides.all() - CANARY).map_err(whole)?;
        let queue = &self.cl.queue;
        let apart = (strides.apart / program.to.bytes()) as u32;
        kernel.set(0, from.mem()).map_err(whole)?;
        kernel.set(1, first.mem()).map_err(whole)?;
        kernel.set(2, Value::Uint(count as u32)).map_err(whole)?;
        kernel.set(3, Value::Uint(apart)).map_err(whole)?;
        let junk = output.enqueue_fill(queue, &JUNK.to_ne_bytes(), 0, strides.all());
        drop(junk.map_err(whole)?);
        let (items, group) = shape(&self.cl.device.info, count);
        // SAFETY: the arguments are set, their types were compared, and the kernel stays within `count` numbers of each form.
        let enqueued = unsafe { enqueue(queue, kernel, 1, [items, 1, 1], [group, 1, 1]) };
        // Other types may have other memory.
        kernel.forget_memory();
        drop(enqueued.map_err(whole)?);
        flush(queue)?;
        clock(&mut began, &mut times.device);
        wanted.fill(case, input);
        clock(&mut began, &mut times.reference);
        let mapped = output.enqueue_map(queue, ffi::CL_MAP_READ, strides.all(), true, &[]);
        let (mapped, _event) = mapped.map_err(whole)?;
        // SAFETY: the mapping is complete and has so many bytes.
        let got = unsafe { std::slice::from_raw_parts(mapped.as_ptr(), strides.all()) };
        clock(&mut began, &mut times.device);
        let abilities = self.abilities;
        let failure =
            compare((case, program.widths), input, got, strides, wanted, &|of| abilities.flushes(of));
        clock(&mut began, &mut times.compare);
        drop(enqueue_unmap(queue, output.mem(), mapped).map_err(whole)?);
        Ok(failure)
    }
}

/// Work-items and their groups.
fn shape(device: &DeviceInfo, count: usize) -> (usize, usize) {
    if device.kind == opencl::cl::DeviceKind::Cpu {
        // A few runs for each core.
        return ((device.units as usize * 4).min(count / MULTIPLE).max(1), 1);
    }
    let group = device.max_work_group_size.clamp(1, 256);
    let most = device.units.max(1) as usize * 2048;
    ((count / MULTIPLE).clamp(1, most).next_multiple_of(group), group)
}

/// How many bytes are no junk any more, of `bytes` that lie `from` so many behind its beginning.
fn changed(bytes: &[u8], from: usize) -> u64 {
    let junk = JUNK.to_ne_bytes();
    let expected: [u8; 64] = std::array::from_fn(|at| junk[(from + at) % 4]);
    let of_block = |block: &[u8]| match block == &expected[..block.len()] {
        true => 0,
        false => block.iter().zip(&expected).filter(|(byte, junk)| byte != junk).count() as u64,
    };
    bytes.chunks(expected.len()).map(of_block).sum()
}

/// Compares every form that the case has; what others would have written must be junk still.
fn compare(
    (case, widths): (Case, Widths),
    input: &[u8],
    got: &[u8],
    strides: Strides,
    wanted: &Wanted,
    flushes: &dyn Fn(Type) -> bool,
) -> Option<Failure> {
    let forms = case.forms(widths);
    for (index, form) in forms.iter().enumerate() {
        let start = CANARY + index * strides.apart;
        let part = &got[start..start + strides.bytes];
        if let Some(failure) = wanted.compare((case, *form), input, part, flushes) {
            return Some(failure);
        }
    }
    let before = changed(&got[..CANARY], 0);
    if before > 0 {
        return forms.first().map(|first| outside(*first, before));
    }
    for (index, form) in forms.iter().enumerate() {
        let end = CANARY + index * strides.apart + strides.bytes;
        // Behind the last one also where another form would be.
        let is_last = index + 1 == forms.len();
        let next = if is_last { strides.all() } else { CANARY + (index + 1) * strides.apart };
        let changed = changed(&got[end..next], end);
        if changed > 0 {
            return Some(outside(*form, changed));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_compiled_does_not_pass_for_right() {
        let case = Case::named("int_rte_float").unwrap();
        let none = Program { kernels: Vec::new(), from: case.from, to: case.to, widths: Widths::ALL };
        let error = none.of(case).map(drop).unwrap_err().to_string();
        assert!(error.contains("There is no kernel for int_rte_float."), "{error}");
    }
}
