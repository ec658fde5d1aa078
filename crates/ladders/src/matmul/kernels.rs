//! Matrix multiplication on an OpenCL device. Times include all packing and transposition.

use std::cell::RefCell;

use super::codes::{Code, Role, Step};
use super::shape::Shape;
use crate::device::typed_kernel;
use base::error::{Error, Result};
use ladder::arrays::Arrays;
use ladder::config::{Config, Tunable};
use ladder::measure::{self, Sample};
use opencl::cl::{Answer, Buffer, ClContext, failed};
use opencl::kernel::{Kernel, Value, enqueue};
use opencl::memory::allocation_flags;
use opencl::program;

/// Buffers for the packed left and right matrix, shared by all variants.
#[derive(Debug, Default)]
pub(crate) struct PackedMatrices(RefCell<[Option<Buffer>; 2]>);

/// The first sentence of the error if a buffer for a packed matrix cannot be allocated.
const NO_PACKING_MEMORY: &str = "Memory for the packed matrices could not be had on the device.";

impl PackedMatrices {
    /// Returns a buffer for `count` packed floats of the left (`side` 0) or the right matrix (`side` 1). A new buffer is filled
    /// with NaN, so that elements that were not packed show in the product.
    fn buffer_for(&self, cl: &ClContext, side: usize, count: usize) -> Result<Buffer> {
        let mut packed = self.0.borrow_mut();
        let slot = packed
            .get_mut(side)
            .ok_or_else(|| Error::new(NO_PACKING_MEMORY, "There are two matrices.", ""))?;
        let bytes = 4 * count.max(1);
        if let Some(buffer) = slot.as_ref().filter(|buffer| buffer.len() >= bytes) {
            return Ok(buffer.clone());
        }
        let allocate = || {
            let buffer = Buffer::new(&cl.context, allocation_flags(cl), bytes)?;
            buffer.enqueue_fill(&cl.queue, &f32::NAN.to_le_bytes(), 0, bytes)?.wait_for()?;
            Ok(buffer)
        };
        let buffer = allocate().map_err(|e| failed(NO_PACKING_MEMORY, &e))?;
        Ok(slot.insert(buffer).clone())
    }
}

/// Compiled kernels with their parameters.
#[derive(Debug)]
pub struct Program {
    cl: ClContext,
    steps: Vec<(&'static Step, Kernel)>,
    config: Config<Code>,
}

impl Program {
    /// Compiles the kernels with these parameters.
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        let code = config.code();
        let file = code.file();
        let program = program::build(cl, file, &config.options())?;
        let kernel = |step: &'static Step| {
            let (numbers, sizes): (&[&str], &[&str]) = (&["float*"], &["uint"]);
            let matrices = if step.role == Role::Multiply { 3 } else { 2 };
            let types = [vec![numbers; matrices], vec![sizes; 3]].concat();
            Ok((step, typed_kernel(&program, file, step.kernel, &types)?))
        };
        let steps = code.steps.iter().map(kernel).collect::<Result<_>>()?;
        Ok(Self { cl: cl.clone(), steps, config: config.clone() })
    }

    /// Multiplies the matrices, waits, and returns the times.
    pub(super) fn run(&self, arrays: &Arrays<2>, packed: &PackedMatrices, shape: Shape) -> Result<Sample> {
        let what = "Matrices could not be multiplied on the device.";
        let arrays = arrays.on_device(self.config.code().file())?;
        let ([left, right], product) = arrays.memory();
        let (mut left, mut right) = (left.clone(), right.clone());
        let mut launches = Vec::new();
        for (step, kernel) in &self.steps {
            let memories = match step.role {
                Role::PackLeft => {
                    let to = packed.buffer_for(&self.cl, 0, step.packed(shape, &self.config))?;
                    let from = std::mem::replace(&mut left, to.mem().clone());
                    vec![from, left.clone()]
                }
                Role::PackRight => {
                    let to = packed.buffer_for(&self.cl, 1, step.packed(shape, &self.config))?;
                    let from = std::mem::replace(&mut right, to.mem().clone());
                    vec![from, right.clone()]
                }
                Role::Multiply => vec![left.clone(), right.clone(), product.clone()],
            };
            let bind = || -> Answer<()> {
                for (index, memory) in (0..).zip(&memories) {
                    kernel.set(index, memory)?;
                }
                for (index, size) in (memories.len() as u32..).zip([shape.m, shape.n, shape.k]) {
                    kernel.set(index, Value::Uint(size))?;
                }
                Ok(())
            };
            bind().map_err(|e| failed(what, &e))?;
            let (global, local) = step.launch(shape, &self.config);
            if global.iter().all(|items| *items > 0) {
                launches.push((kernel, global, local));
            }
        }
        let ran = measure::sample(arrays.queue(), |queue| {
            let launch = |(kernel, global, local): (&Kernel, [usize; 3], [usize; 3])| {
                // SAFETY: the arguments are set, their types were compared, and the kernels look at the sizes.
                let event = unsafe { enqueue(queue, kernel, 2, global, local) };
                event.map_err(|e| failed(what, &e))
            };
            launches.into_iter().map(launch).collect()
        });
        // The kernels must not keep memory of this case alive.
        self.steps.iter().for_each(|(_, kernel)| kernel.forget_memory());
        ran
    }
}
