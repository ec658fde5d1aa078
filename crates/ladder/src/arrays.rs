//! Inputs and output of a case as arrays of floats, in the host's memory and, where there is a device, in the device's too. Each
//! array lies between two guards, which show reads and writes outside it.

use std::array::from_fn;

use crate::runner::Output;
use base::error::{Error, Result};
use base::verify;
use opencl::cl::{Answer, ClContext, Mem, Queue};
use opencl::guarded::{GuardedArray, bytes, zeroed};
use opencl::kernel::Kernel;

/// `N` input arrays and one output array of `f32`.
#[derive(Debug)]
pub struct Arrays<const N: usize> {
    /// The number of floats in each guard.
    guard: usize,
    /// The inputs on the host, with their guards.
    inputs: [Vec<f32>; N],
    /// The output on the host, with its guards.
    output: Vec<f32>,
    device: Option<DeviceArrays<N>>,
}

/// Input and output arrays in the device's memory, and the queue for kernels that use them.
#[derive(Debug)]
pub struct DeviceArrays<const N: usize> {
    queue: Queue,
    inputs: [GuardedArray; N],
    output: GuardedArray,
}

impl<const N: usize> DeviceArrays<N> {
    /// Returns the queue on which kernels for these arrays are enqueued.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Returns the inputs and the output without their guards, as kernel arguments.
    pub fn memory(&self) -> ([&Mem; N], &Mem) {
        (self.inputs.each_ref().map(GuardedArray::memory), self.output.memory())
    }

    /// Sets the inputs and then the output as the kernel's first `N` + 1 arguments.
    pub fn bind(&self, kernel: &Kernel) -> Answer<()> {
        let all = self.inputs.iter().chain([&self.output]);
        (0..).zip(all).try_for_each(|(index, array)| kernel.set(index, array.memory()))
    }
}

impl<const N: usize> Arrays<N> {
    /// Allocates `N` input arrays and the output array with these lengths in floats, and `guard` bytes before and after each array.
    /// Without `cl` they are allocated on the host only.
    ///
    /// # Errors
    /// Returns an error if host or device has not enough memory.
    pub fn new(cl: Option<&ClContext>, inputs: [usize; N], output: usize, guard: usize) -> Result<Self> {
        let guard = guard / 4;
        let on_device = |cl: &ClContext| -> Result<_> {
            let array = |count: usize| GuardedArray::new(cl, count, guard);
            Ok(DeviceArrays {
                queue: cl.queue.clone(),
                inputs: collect(inputs.map(array))?,
                output: array(output)?,
            })
        };
        let numbers = |count: usize| zeroed::<f32>(count + 2 * guard);
        let device = cl.map(on_device).transpose()?;
        Ok(Self { guard, inputs: collect(inputs.map(numbers))?, output: numbers(output)?, device })
    }

    /// Calls `fill` with the input arrays, guards included, and the number of floats in each guard, then uploads them.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn load(&mut self, fill: impl FnOnce(&mut [Vec<f32>; N], usize)) -> Result<()> {
        fill(&mut self.inputs, self.guard);
        let Some(device) = &self.device else { return Ok(()) };
        device.inputs.iter().zip(&self.inputs).try_for_each(|(to, input)| to.write(&bytes(input)))
    }

    /// Returns the inputs and the output in the host's memory, without their guards.
    pub fn host(&mut self) -> ([&[f32]; N], &mut [f32]) {
        let guard = self.guard;
        let inputs = self.inputs.each_ref().map(|input| &input[guard..input.len() - guard]);
        let end = self.output.len() - guard;
        (inputs, &mut self.output[guard..end])
    }

    /// Returns the inputs in the host's memory, without their guards.
    pub fn inputs(&self) -> [&[f32]; N] {
        from_fn(|at| &self.inputs[at][self.guard..self.inputs[at].len() - self.guard])
    }

    /// Returns the arrays in the device's memory. The error names `file`, the kernel file that needs the arrays.
    ///
    /// # Errors
    /// Returns an error if the arrays were allocated without a device.
    pub fn on_device(&self, file: &str) -> Result<&DeviceArrays<N>> {
        let why = "The device has not enough memory for the case.";
        self.device.as_ref().ok_or_else(|| Error::new(format!("{file} cannot run."), why, ""))
    }

    /// Returns the arrays in the device's memory if `on_device` is true and they were allocated.
    fn device_if(&self, on_device: bool) -> Option<&DeviceArrays<N>> {
        self.device.as_ref().filter(|_| on_device)
    }

    /// Overwrites the output array and its guards with `bytes`: on the device if `on_device` is true and there is one, otherwise on
    /// the host.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn write(&mut self, on_device: bool, bytes: &[u8]) -> Result<()> {
        if let Some(device) = self.device_if(on_device) {
            return device.output.write(bytes);
        }
        let numbers = bytes.chunks_exact(4).map(|n| f32::from_le_bytes([n[0], n[1], n[2], n[3]]));
        self.output.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
        Ok(())
    }

    /// Returns the output array with its guards, and the number of bytes of the device's inputs that differ from the loaded ones.
    /// Reads from the device if `on_device` is true and there is one, otherwise from the host. Inputs on the host cannot change,
    /// since variants borrow them immutably.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn read(&self, on_device: bool) -> Result<Output> {
        let Some(device) = self.device_if(on_device) else {
            return Ok(Output { bytes: bytes(&self.output), changed: 0 });
        };
        let changed = |(array, input): (&GuardedArray, &Vec<f32>)| -> Result<usize> {
            Ok(verify::count_changed(&bytes(input), &array.read()?))
        };
        let changed = device.inputs.iter().zip(&self.inputs).map(changed).sum::<Result<usize>>()?;
        Ok(Output { bytes: device.output.read()?, changed })
    }
}

/// Converts an array of results to a result that holds the array, or the first error.
fn collect<T, const N: usize>(results: [Result<T>; N]) -> Result<[T; N]> {
    let results: Vec<T> = results.into_iter().collect::<Result<_>>()?;
    results.try_into().map_err(|_| base::memory::no_memory(0))
}
