//! Inputs and output of a case that are floats, for ladders whose kernels compute on plain memory. In: lengths, and numbers.
//! Out: memory of the host and, where there is one, of the device, each array between two guards.

use std::array::from_fn;

use base::error::Result;
use base::verify;
use opencl::cl::{Answer, ClContext, Mem, Queue};
use opencl::guarded::{Guarded, bytes, zeroed};
use opencl::kernel::Kernel;

/// `N` inputs and an output.
#[derive(Debug)]
pub struct Arrays<const N: usize> {
    /// Numbers on each side of an array.
    guard: usize,
    inputs: [Vec<f32>; N],
    output: Vec<f32>,
    device: Option<OnDevice<N>>,
}

/// The same in the device's memory, on its queue.
#[derive(Debug)]
pub struct OnDevice<const N: usize> {
    queue: Queue,
    inputs: [Guarded; N],
    output: Guarded,
}

impl<const N: usize> OnDevice<N> {
    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What kernels get, the inputs and the output, without their guards.
    pub fn memory(&self) -> ([&Mem; N], &Mem) {
        (self.inputs.each_ref().map(Guarded::memory), self.output.memory())
    }

    /// Makes them a kernel's first arguments, in their order.
    pub fn bind(&self, kernel: &Kernel) -> Answer<()> {
        let all = self.inputs.iter().chain([&self.output]);
        (0..).zip(all).try_for_each(|(index, array)| kernel.set(index, array.memory()))
    }
}

impl<const N: usize> Arrays<N> {
    /// Room for inputs and an output of so many numbers, with `guard` bytes on both sides of each.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(cl: Option<&ClContext>, inputs: [usize; N], output: usize, guard: usize) -> Result<Self> {
        let guard = guard / 4;
        let on_device = |cl: &ClContext| -> Result<_> {
            let array = |count: usize| Guarded::new(cl, count, guard);
            Ok(OnDevice { queue: cl.queue.clone(), inputs: all(inputs.map(array))?, output: array(output)? })
        };
        let numbers = |count: usize| zeroed::<f32>(count + 2 * guard);
        let device = cl.map(on_device).transpose()?;
        Ok(Self { guard, inputs: all(inputs.map(numbers))?, output: numbers(output)?, device })
    }

    /// Lets `fill` fill the inputs, guards included, and brings them to the device. It gets how many numbers each guard has.
    ///
    /// # Errors
    /// When the device fails.
    pub fn load(&mut self, fill: impl FnOnce(&mut [Vec<f32>; N], usize)) -> Result<()> {
        fill(&mut self.inputs, self.guard);
        let Some(device) = &self.device else { return Ok(()) };
        device.inputs.iter().zip(&self.inputs).try_for_each(|(to, input)| to.write(&bytes(input)))
    }

    /// The inputs and the output in the host's memory, without their guards.
    pub fn host(&mut self) -> ([&[f32]; N], &mut [f32]) {
        let guard = self.guard;
        let inputs = self.inputs.each_ref().map(|input| &input[guard..input.len() - guard]);
        let end = self.output.len() - guard;
        (inputs, &mut self.output[guard..end])
    }

    /// The inputs alone.
    pub fn inputs(&self) -> [&[f32]; N] {
        from_fn(|at| &self.inputs[at][self.guard..self.inputs[at].len() - self.guard])
    }

    /// What kernels compute on, where the device has room for it.
    pub fn device(&self) -> Option<&OnDevice<N>> {
        self.device.as_ref()
    }

    fn device_if(&self, on_device: bool) -> Option<&OnDevice<N>> {
        self.device.as_ref().filter(|_| on_device)
    }

    /// Fills the output, guards included, of the device or of the host.
    ///
    /// # Errors
    /// When the device fails.
    pub fn write(&mut self, on_device: bool, bytes: &[u8]) -> Result<()> {
        if let Some(device) = self.device_if(on_device) {
            return device.output.write(bytes);
        }
        let numbers = bytes.chunks_exact(4).map(|n| f32::from_le_bytes([n[0], n[1], n[2], n[3]]));
        self.output.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
        Ok(())
    }

    /// The output, guards included, of the device or of the host.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read(&self, on_device: bool) -> Result<Vec<u8>> {
        match self.device_if(on_device) {
            Some(device) => device.output.read(),
            None => Ok(bytes(&self.output)),
        }
    }

    /// How many bytes of the device's inputs are not as they were loaded; Rust lends the host's to read only.
    ///
    /// # Errors
    /// When the device fails.
    pub fn changed(&self, on_device: bool) -> Result<usize> {
        let Some(device) = self.device_if(on_device) else { return Ok(0) };
        let changed = |(array, input): (&Guarded, &Vec<f32>)| -> Result<usize> {
            Ok(verify::changed(&bytes(input), &array.read()?))
        };
        device.inputs.iter().zip(&self.inputs).map(changed).sum()
    }
}

/// All of them, or the first error.
fn all<T, const N: usize>(made: [Result<T>; N]) -> Result<[T; N]> {
    let made: Vec<T> = made.into_iter().collect::<Result<_>>()?;
    made.try_into().map_err(|_| base::memory::no_memory(0))
}
