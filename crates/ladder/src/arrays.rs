//! Ladders whose inputs and output are arrays of 32-bit numbers. An [`ArrayLadder`] describes such a ladder as data. Each array
//! lies between two guards, which are memory with known contents that reveals reads and writes outside the array.

use std::fmt::Debug;
use std::time::Instant;

use bytemuck::{cast_slice, cast_slice_mut};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::definition::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use crate::sizes::Sizes;
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::memory::zeros;
use base::timing::ms_since;
use base::verify;
use compute::config::Config;
use compute::plan::{Arg, Code, Host, Launch, Lens, Operands, Program, require_memory};
use compute::sample::{Sample, sample};
use compute::variant::Variant;
use compute::work::KernelWork;
use opencl::cl::{ClContext, Device, Mem};
use opencl::guarded::GuardedArray;

/// A ladder whose inputs and output are arrays of 32-bit numbers; `S` is the type of its cases.
#[derive(Debug)]
pub struct ArrayLadder<S: 'static> {
    /// The ladder's name, peak kernels, kinds of input and other properties that all of its cases share.
    pub info: LadderInfo,
    /// The variants, from the plainest to the fastest.
    pub variants: &'static [Variant<Code<S>, Host<S>>],
    /// Returns the peak kernel (the kernel whose speed no variant can exceed) for a device.
    pub peak: fn(&Device) -> Config<Code<S>>,
    /// Returns the cases that the command line options choose, as [`Ladder::cases`] does.
    pub cases: fn(&Sizes) -> Result<Vec<S>, String>,
    /// Returns the title, the work and other properties of a case. The sizes that follow from the lengths of its arrays are
    /// filled in later.
    pub describe: fn(&S) -> CaseInfo,
    /// Small and unusual cases for checks, such as lengths of 1 or lengths that no work-group size divides; the smallest case
    /// first.
    pub small: &'static [S],
    /// Returns smaller cases than the given one, for predicting its time, as [`Ladder::smaller`] does.
    pub smaller: fn(&S) -> Vec<S>,
    /// Returns the lengths of a case's arrays.
    pub lens: fn(&S) -> Lens,
    /// Fills the inputs of a case. The text is one of [`LadderInfo::inputs`] and selects the kind of values.
    pub fill: fn(&S, &str, &mut [&mut [f32]]),
    /// Computes the expected output of a case from its inputs, with the reference. The text is the kind of input, as for
    /// [`fill`](Self::fill).
    pub expected: fn(&S, &str, &[&[f32]]) -> Result<Expected>,
    /// The word for an element of the input in reports, such as "number".
    pub unit: &'static str,
}

/// A variant of an [`ArrayLadder`] that is ready to run.
#[derive(Debug)]
pub enum Built<S: 'static> {
    /// An implementation on threads of this process.
    Host(Host<S>),
    /// Compiled kernels.
    Kernels(Box<Program<S>>),
}

/// The inputs and the output of a case on the host and, if there is a device, on the device.
#[derive(Debug)]
pub struct Buffers<S> {
    case: S,
    /// The number of floats in each guard.
    guard: usize,
    /// The inputs on the host, with their guards.
    inputs: Vec<Vec<f32>>,
    /// The output on the host, with its guards.
    output: Vec<f32>,
    device: Option<DeviceArrays>,
}

/// The inputs, the output and the intermediate results of a case in the device's memory.
#[derive(Debug)]
struct DeviceArrays {
    cl: ClContext,
    inputs: Vec<GuardedArray>,
    output: GuardedArray,
    /// The arrays for intermediate results. An array is allocated when a program needs it, and allocated again when a program
    /// needs a longer one. It is filled with NaN before a run whose output is compared, so that no run can use the results of
    /// an earlier one.
    scratch: Vec<GuardedArray>,
}

impl DeviceArrays {
    /// Allocates the memory for intermediate results that a program needs for a case.
    fn reserve<S>(&mut self, program: &Program<S>, case: &S, guard: usize) -> Result<()> {
        for arg in program.config.code().passes.iter().flat_map(|pass| pass.args) {
            let Arg::Scratch(at, _, len) = arg else { continue };
            let len = len(&program.config, case);
            while self.scratch.len() <= *at {
                self.scratch.push(GuardedArray::new(&self.cl, 0, 0)?);
            }
            if self.scratch[*at].buffer().len() < 4 * len {
                self.scratch[*at] = GuardedArray::new(&self.cl, len, guard)?;
                self.scratch[*at].fill_with_nan()?;
            }
        }
        Ok(())
    }
}

/// Returns an array without the `guard` floats at either end.
fn inner(array: &[f32], guard: usize) -> &[f32] {
    &array[guard..array.len() - guard]
}

impl<S: Debug + Copy + PartialEq + Serialize + DeserializeOwned> Ladder for ArrayLadder<S> {
    type Case = S;
    type Code = Code<S>;
    type Host = Host<S>;
    type Built = Built<S>;
    type Buffers = Buffers<S>;

    fn info(&self) -> &LadderInfo {
        &self.info
    }

    fn variants(&self) -> &'static [Variant<Code<S>, Host<S>>] {
        self.variants
    }

    fn cases(&self, sizes: &Sizes) -> Result<Vec<S>, String> {
        (self.cases)(sizes)
    }

    fn describe(&self, case: &S) -> CaseInfo {
        let Lens { inputs, output, .. } = (self.lens)(case);
        let output = 4 * output;
        let bytes = (4 * inputs.iter().sum::<usize>() + output) as f64;
        CaseInfo { output, bytes, ..(self.describe)(case) }
    }

    fn small(&self, _: &Built<S>, _: &S) -> Vec<S> {
        self.small.to_vec()
    }

    fn smaller(&self, case: &S) -> Vec<S> {
        (self.smaller)(case)
    }

    fn supports(&self, device: &Device, code: Option<&Code<S>>, case: &S) -> Result<(), String> {
        let Lens { inputs, output, scratch } = (self.lens)(case);
        let arrays = inputs.iter().chain(&scratch).chain([&output]).map(|len| 4 * *len as u64);
        require_memory(&device.info, &arrays.collect::<Vec<_>>())?;
        code.map_or(Ok(()), |code| (code.supports)(device, case))
    }

    fn build(&self, part: Part<Code<S>, Host<S>>) -> Result<Built<S>> {
        let (cl, config) = match part {
            Part::Host(host) => return Ok(Built::Host(host)),
            Part::Kernels(cl, config) => (cl, config.clone()),
            Part::Peak(cl, _) => (cl, (self.peak)(&cl.device)),
        };
        Ok(Built::Kernels(Box::new(Program::compile(cl, &config)?)))
    }

    fn work(&self, config: &Config<Code<S>>, device: &DeviceInfo, case: &S) -> Option<KernelWork> {
        let launches = Code::work(config, device, case)?;
        let Lens { inputs, output, .. } = (self.lens)(case);
        let units = inputs.iter().map(|len| *len as u64).sum();
        Some(KernelWork { unit: self.unit, units, least_bytes: 4 * (units + output as u64), launches })
    }

    fn allocate(&self, cl: Option<&ClContext>, case: &S, guard: usize) -> Result<Buffers<S>> {
        let Lens { inputs, output, .. } = (self.lens)(case);
        let guard = guard / 4;
        let on_device = |cl: &ClContext| -> Result<DeviceArrays> {
            let array = |len: usize| GuardedArray::new(cl, len, guard);
            Ok(DeviceArrays {
                cl: cl.clone(),
                inputs: inputs.iter().map(|len| array(*len)).collect::<Result<_>>()?,
                output: array(output)?,
                scratch: Vec::new(),
            })
        };
        let on_host = |len: usize| zeros::<f32>(len + 2 * guard);
        let device = cl.filter(|cl| self.supports(&cl.device, None, case).is_ok());
        Ok(Buffers {
            case: *case,
            guard,
            device: device.map(on_device).transpose()?,
            inputs: inputs.iter().map(|len| on_host(*len)).collect::<Result<_>>()?,
            output: on_host(output)?,
        })
    }

    fn load(&self, buffers: &mut Buffers<S>, input: &str) -> Result<Expected> {
        let Buffers { case, guard, inputs, device, .. } = buffers;
        let parts = inputs.iter_mut().map(|array| {
            // A read beyond the ends gets NaN, which spoils the result.
            let end = array.len() - *guard;
            array[..*guard].fill(f32::NAN);
            array[end..].fill(f32::NAN);
            &mut array[*guard..end]
        });
        (self.fill)(case, input, &mut parts.collect::<Vec<_>>());
        for (to, array) in device.iter().flat_map(|device| device.inputs.iter().zip(&*inputs)) {
            to.write(cast_slice(array))?;
        }
        let inputs: Vec<&[f32]> = inputs.iter().map(|array| inner(array, *guard)).collect();
        (self.expected)(case, input, &inputs)
    }

    fn write(&self, built: &Built<S>, buffers: &mut Buffers<S>, bytes: &[u8]) -> Result<()> {
        if let (Built::Kernels(_), Some(device)) = (built, &buffers.device) {
            device.scratch.iter().try_for_each(GuardedArray::fill_with_nan)?;
            return device.output.write(bytes);
        }
        cast_slice_mut(&mut buffers.output).iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        Ok(())
    }

    fn read(&self, built: &Built<S>, buffers: &Buffers<S>) -> Result<Output> {
        let (Built::Kernels(_), Some(device)) = (built, &buffers.device) else {
            // Inputs on the host cannot change, since variants borrow them immutably.
            return Ok(Output { bytes: cast_slice(&buffers.output).to_vec(), changed: 0 });
        };
        let mut changed = 0;
        for (array, input) in device.inputs.iter().zip(&buffers.inputs) {
            changed += verify::count_changed(cast_slice(input), &array.read()?);
        }
        let guard = vec![f32::NAN; buffers.guard];
        let guard: &[u8] = cast_slice(&guard);
        for array in device.scratch.iter().filter(|_| !guard.is_empty()) {
            let now = array.read()?;
            let ends = [now.get(..guard.len()), now.len().checked_sub(guard.len()).map(|end| &now[end..])];
            changed += ends.iter().flatten().map(|end| verify::count_changed(guard, end)).sum::<usize>();
        }
        Ok(Output { bytes: device.output.read()?, changed })
    }

    fn run(&self, built: &Built<S>, buffers: &mut Buffers<S>) -> Result<Sample> {
        let Buffers { case, guard, inputs, output, device } = buffers;
        let (program, device) = match (built, device) {
            (Built::Kernels(program), Some(device)) => (program, device),
            (Built::Kernels(program), None) => {
                let what = format!("{} cannot run.", program.config.code().file);
                return Err(Error::new(what, "The device has not enough memory for the case.", ""));
            }
            (Built::Host(host), _) => {
                let (threads, end) = (host.threads.count(), output.len() - *guard);
                let inputs: Vec<&[f32]> = inputs.iter().map(|array| inner(array, *guard)).collect();
                let begin = Instant::now();
                (host.run)(case, &inputs, &mut output[*guard..end], threads)?;
                return Ok(Sample::on_host(ms_since(begin)));
            }
        };
        device.reserve(program, case, *guard)?;
        let memory: Vec<&Mem> =
            device.inputs.iter().chain([&device.output]).map(GuardedArray::memory).collect();
        let scratch: Vec<&Mem> = device.scratch.iter().map(GuardedArray::memory).collect();
        let launches = program.bind_all(Operands { memory: &memory, scratch: &scratch }, case);
        let launches = launches.map_err(|e| program.failed(&e))?;
        let ran = sample(&device.cl.queue, |queue| {
            let launch = |launch: &Launch| launch.enqueue(queue, &[]).map_err(|e| program.failed(&e));
            launches.iter().map(launch).collect()
        });
        // The kernels must not keep memory of this case alive.
        program.forget_memory();
        ran
    }
}
